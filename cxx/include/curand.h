#error "mx has no cuRAND for the host: libraries of an SDK are out of its reach"

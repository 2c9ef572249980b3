#error "mx has no thrust: libraries of an SDK are out of its reach"

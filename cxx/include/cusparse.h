#error "mx has no cuSPARSE: libraries of an SDK are out of its reach"

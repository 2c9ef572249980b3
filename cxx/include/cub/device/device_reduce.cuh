#error "mx has no cub: libraries of an SDK are out of its reach"

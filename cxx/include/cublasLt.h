#error "mx has no cuBLAS: libraries of an SDK are out of its reach"

#error "mx has no cuDNN: libraries of an SDK are out of its reach"

#error "mx has no cuSOLVER: libraries of an SDK are out of its reach"

#error "mx has no cuFFT: libraries of an SDK are out of its reach"

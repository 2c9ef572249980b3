#error "mx has no NVRTC: libraries of an SDK are out of its reach"

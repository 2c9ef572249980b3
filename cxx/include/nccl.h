#error "mx has no NCCL: libraries of an SDK are out of its reach"

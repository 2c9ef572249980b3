"""What rounds.mxs leaves in memory, by a plain model: rounds.py > rounds.bin (two devices, grids of 4 blocks of 128 threads)."""
import struct
import sys

devices, threads = 2, 512
v = list(range(devices * threads))
for _ in range(3): v = [v[t] + v[(t + 100) % len(v)] for t in range(len(v))]
words = [v[t] + t // threads * 1000000 for t in range(len(v))] + [0] * 1024
sys.stdout.buffer.write(struct.pack("<2048I", *words))

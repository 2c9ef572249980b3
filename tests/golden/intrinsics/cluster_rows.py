"""What cluster_rows.mxs leaves in memory, by a plain model: cluster_rows.py > cluster_rows.bin (4 x 2 blocks of 16 x 4
threads in clusters of 2 x 2)."""
import struct
import sys

threads = 64
for block in range(8):
    x, y = block % 4, block // 4
    column = x - x % 2  # where the cluster begins
    rank = x % 2 + 2 * y
    before = (rank + 3) % 4  # who writes here
    writer = column + before % 2 + 4 * (before // 2)
    for t in range(threads):
        words = [rank * threads + t, 4 * threads, 4 * threads, rank, 4, x % 2, y, 0, 2, 2, 1, (rank + 1) % 4]
        words += [writer * 1000 + t, rank, writer * 100000 + t, 0]
        sys.stdout.buffer.write(struct.pack("<16I", *words))

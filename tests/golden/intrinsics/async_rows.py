"""What async_rows.mxs leaves in memory, by a plain model: async_rows.py > async_rows.bin (a block of 128 threads)."""
import struct
import sys

threads, mask = 128, 0xFFFFFFFF
words = list(range(512))
data = struct.pack("<512I", *words)


def mbarrier(expected, arrivals):
    """What is pending before each arrival, and how many arrivals the next phase expects: 'd' drops out."""
    pending, next_phase, seen = expected, expected, []
    for a in arrivals:
        seen.append(pending)
        next_phase -= a == "d"
        pending -= 1
        if not pending: pending = next_phase
    return seen


def rolling(values, factor):
    sum = 0
    for v in values: sum = sum * factor + v & mask
    return sum


for me in range(threads):
    other = me ^ 1
    produces = me & 32 == 0
    row = {0: words[other], 1: data[1 + me] if me < 61 else 0xEE}
    row[2] = words[(7 - me // 16) * 16 + (me % 16 ^ 15)]
    row[3] = words[threads - 1 - me]
    row[4] = words[128 + other]
    row[5] = words[256 + me]
    row[6] = 16 * me
    row[7] = (1 << 20) - 1
    expected = me % 4 + 3
    pending = mbarrier(expected, "a" * (expected - 1) + "da")
    row[8], row[10], row[11], row[13] = pending[0], pending[1], pending[-1], pending[-2]
    row[12] = 2  # not before the last arrival; after it; not the next phase, which has only begun
    row[9] = 9 * 100 + 77
    row[14], row[15], row[16], row[17] = 1, other, 1000 + other, 2000 + other
    row[18] = 0 if me % 2 else 3000
    at = me * 4 // 16 * 16
    a, b, c, d = struct.unpack("<4I", data[at : at + 10] + bytes(6))
    row[19] = a + b + 1000 * c + 1000000 * d & mask
    row[20] = words[me]
    row[21] = words[128 + me] + 1000 * words[256 + me] & mask
    row[22] = words[128 + other]
    row[23] = rolling([words[16 * batch + other] for batch in range(5)], 3)
    batches, found = range(6), [words[32 * batch + me % 32] for batch in range(6)]
    row[24] = 0 if produces else 5000 + found[5]
    row[26] = rolling([1] * 6, 2) if produces else 0
    row[27] = rolling(batches, 3) if produces else 0
    row[28] = 0 if produces else rolling(found, 3)
    row[29] = 0 if produces else rolling(batches, 5)
    row[25], row[30], row[31] = words[me], words[128 + me], words[256 + me]
    sys.stdout.buffer.write(struct.pack("<32I", *[row[n] for n in range(32)]))

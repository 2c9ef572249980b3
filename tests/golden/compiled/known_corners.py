"""What the two kernels of known_corners.mxs leave in memory, by a plain model: known_corners.bin, and known_partial.bin."""
import struct

out = []


def put(f):
    """f: of the thread's warp and lane; values of other lanes by v(lane)"""
    for thread in range(64):
        v = lambda lane: 3 * (thread // 32 * 32 + lane) + 1
        out.append(int(f(thread % 32, v)) & 0xFFFFFFFF)


def tile(lane, n):
    return range(lane - lane % n, lane - lane % n + n)


def total(lane, v, n):
    return sum(v(other) for other in tile(lane, n))


def rounds(lane, v):
    r = 0
    for n in (1, 2, 4, 8, 16):
        r = 3 * r + total(lane, v, n)
    return r


def either(values):
    r = 0
    for v in values:
        r |= v
    return r


put(lambda lane, v: total(lane, v, 16))
put(rounds)
put(lambda lane, v: v(lane ^ 3))
put(lambda lane, v: v(lane ^ 3))
put(lambda lane, v: 7 if lane >= 16 else v(lane + 1 if lane % 8 < 7 else lane))
put(lambda lane, v: v(lane | 1))
put(lambda lane, v: v(lane & -4))
put(lambda lane, v: sum(v(other) for other in range(lane % 2, 32, 2)))
put(lambda lane, v: v(lane - 3) + 1000 if lane % 8 >= 3 else v(lane))
put(lambda lane, v: v(lane + 3) + 1000 if lane % 8 < 5 else v(lane))
put(lambda lane, v: v(lane) + 1000)
put(lambda lane, v: v(lane & -4 | 2))
put(lambda lane, v: v(31 - lane))
put(lambda lane, v: v(lane ^ 1))
put(lambda lane, v: total(lane, v, 8))
put(lambda lane, v: v(lane ^ 1))
put(lambda lane, v: either(v(other) for other in tile(lane, 4)))
open("known_corners.bin", "wb").write(struct.pack(f"<{len(out)}I", *out))
partial = [sum(tile(t, 8)) * 1000 + (t ^ 5) for t in range(40)]
open("known_partial.bin", "wb").write(struct.pack("<40I", *partial))
print(4 * len(out))

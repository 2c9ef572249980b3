"""What tiles_of_warps.mxs reads and leaves in memory, by a plain model: tiles_of_warps.py LANES writes
tiles_of_warps_LANES.masks.bin and tiles_of_warps_LANES.bin; and known_LANES.bin, what known.mxs leaves: the rows of tiles
alone."""
import struct
import sys

lanes = int(sys.argv[1])
value = [lane * 0x9E3779B1 & 0xFFFFFFFF for lane in range(lanes)]
chosen = [v >> 28 for v in value]
holds = [c < 6 for c in chosen]
signed = lambda v: v - (1 << 32) if v >> 31 else v


def tiles(size):
    return [lane // size for lane in range(lanes)]


rows = [tiles(1 << k) for k in range(lanes.bit_length())]
rows.append([lane % 2 for lane in range(lanes)])  # lanes in turn
rows.append(tiles(3))
rows.append([lane // 8 if lane < 16 else lane // 4 + 100 for lane in range(lanes)])
rows.append([lane * 7 % lanes // 4 for lane in range(lanes)])
rows = rows[: 11 if lanes == 64 else 10]
masks, out = [], []
for row in rows:
    group = [[t for t in range(lanes) if row[t] == row[lane]] for lane in range(lanes)]
    masks += [sum(1 << t for t in group[lane]) if lane < lanes else 0 for lane in range(lanes)] + [0] * (64 - lanes)
    put = lambda f: out.extend([int(f(lane)) & 0xFFFFFFFF for lane in range(lanes)] + [0] * (64 - lanes))

    def shuffle(source, last, within):
        """source: the lane asked for; last: whether it is in range"""
        def taken(lane):
            s = source(lane)
            return value[s] if last(lane, s) and s in group[lane] else value[lane]

        put(taken)
        if within: put(lambda lane: last(lane, source(lane)))

    shuffle(lambda lane: lane - 3, lambda lane, s: s >= 0, True)
    shuffle(lambda lane: lane + 2, lambda lane, s: s < lanes, True)
    shuffle(lambda lane: lane ^ 5, lambda lane, s: s < lanes, True)
    shuffle(lambda lane: chosen[lane], lambda lane, s: True, True)
    shuffle(lambda lane: lane & 0x18 | 1, lambda lane, s: True, False)
    yes = lambda lane: [holds[t] for t in group[lane]]
    put(lambda lane: all(yes(lane)))
    put(lambda lane: any(yes(lane)))
    put(lambda lane: len(set(yes(lane))) == 1)
    ballot = lambda lane: sum(1 << t for t in group[lane] if holds[t])
    put(ballot)
    put(lambda lane: ballot(lane) >> 32)
    of = lambda lane: [value[t] for t in group[lane]]
    put(lambda lane: sum(of(lane)))
    put(lambda lane: min(of(lane)))
    put(lambda lane: max(of(lane)))
    put(lambda lane: sum(of(lane)))
    put(lambda lane: min(map(signed, of(lane))))
    put(lambda lane: max(map(signed, of(lane))))
    for join in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b):
        def joined(lane):
            r = of(lane)[0]
            for v in of(lane)[1:]: r = join(r, v)
            return r

        put(joined)
    put(lambda lane: group[lane][0])
    put(lambda lane: group[lane][0] == lane)
open(f"tiles_of_warps_{lanes}.masks.bin", "wb").write(struct.pack(f"<{len(masks)}Q", *masks))
open(f"tiles_of_warps_{lanes}.bin", "wb").write(struct.pack(f"<{len(out)}I", *out))
tile_words = len(out) // len(rows) * lanes.bit_length()
open(f"known_{lanes}.bin", "wb").write(struct.pack(f"<{tile_words}I", *out[:tile_words]))
print(len(rows), 4 * len(out))

"""What groups.mxs leaves in memory, by a plain model: groups.py LANES > groups_LANES.bin (1 x 2 blocks of 32 x 2 threads)."""
import struct
import sys

lanes = int(sys.argv[1])
grid, block = (1, 2, 1), (32, 2, 1)
per, total = block[0] * block[1], 2 * block[0] * block[1]
out = [[] for _ in range(total)]
mask32 = 0xFFFFFFFF


def bits(which, group):
    return sum(1 << k for k, t in enumerate(group) if which(t))


for me in range(total):
    b, r = divmod(me, per)
    first = b * per
    v = lambda t: t * 7 & mask32
    v64 = lambda t: v(t) * 65537 & mask32
    third = lambda t: t % 3 == 0
    put = out[me].append
    for x in [r, per, per, 0, b, 0, r % 32, r // 32, 0, 32, 2, 1, 1, (first + per - 1 - r) * 9 + 1]: put(x)
    for x in [total, b, 2, 1, 2, 1, b, 1, 0, total]: put(x)
    tile = lambda n: [t for t in range(first + r // n * n, first + r // n * n + n)]
    eight, four, pair = tile(8), tile(4), tile(2)
    for x in [r % 4, 4, r % 8 // 4, 2, r // 2, per // 8]: put(x)
    k = r % 8
    for x in [10 % 8, k - 3 if k >= 3 else k, k + 3 if k + 3 < 8 else k, k ^ 5]: put(v(eight[x]))
    put(v64(four[r % 4 ^ 1]))
    put(any(map(third, pair))); put(all(map(third, pair))); put(any(t % 3 for t in four))
    put(bits(third, eight)); put(bits(lambda t: t % 3 == me % 3, eight)); put(255); put(1)
    put(sum(map(v, eight)) & mask32); put(r % 4 == 0); put(1); put(r % 4)
    for x in [1, 2, 1, total, 1]: put(x)

    def part_of(group, key):
        own = [t for t in group if key(t) == key(me)]
        heads = sorted(min(t for t in group if key(t) == c) for c in {key(t) for t in group})
        return own.index(me), len(own), heads.index(own[0]), len(heads)

    for x in part_of(eight, lambda t: t % 3): put(x)
    own = [t for t in eight if t % 3 == me % 3]
    put(v(own[1] if len(own) > 1 else me))
    for x in part_of(eight, third)[:3]: put(x)
    put((me ^ 7) * 5 + 2)
    if not third(me): continue
    some = [t for t in range(first + r // lanes * lanes, first + r // lanes * lanes + lanes) if third(t)]
    n, k = len(some), some.index(me)
    inside = lambda j: some[j] if 0 <= j < n else me
    for x in [k, n, 1]: put(x)
    for x in [inside(3), inside(k - 1), inside(k + 2), inside(k ^ 1)]: put(v(x))
    put(v64(inside(k + 1)))
    odd = lambda t: t % 4 == 1
    put(bits(odd, some) & mask32); put(any(map(odd, some))); put(bits(lambda t: t % 4 == me % 4, some) & mask32); put(0); put(0); put(v(some[-1]))
    for x in part_of(some, lambda t: t % 4): put(x)
    for x in part_of(some, odd)[1:3]: put(x)
    put(some[n - 1 - k] * 11 + 3)
    for x in [all(map(odd, some)), odd(me), n]: put(x)
for me in range(total):
    words = [int(x) for x in out[me]] + [0] * (128 - len(out[me]))
    words[127], words[126], words[125] = me * 3 + 1, (total - 1 - me) * 3 + 1, me * 5 + 2
    words[124], words[123] = me * 9 + 1, (me * 11 + 3) * (me % 3 == 0)
    sys.stdout.buffer.write(struct.pack("<128I", *words))

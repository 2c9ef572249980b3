"""What local_memory.mxs leaves in memory, by a plain model: local_memory.py writes local_memory_0.bin, and
local_memory_end_0.bin of the launch in which thread 250 makes its last store far behind what it reads."""
import struct

WORDS = 64


def load(own, at, kind):
    return struct.unpack_from("<" + kind, own, at)[0]


def store(own, at, kind, v):
    struct.pack_into("<" + kind, own, at, v & ((1 << 8 * struct.calcsize(kind)) - 1))


def mix(s, v):
    return (s * 3 + v) & 0xFFFFFFFF


def result(t, far):
    own, v = bytearray(4 * WORDS), (t * 7919 + 12345) & 0xFFFFFFFF
    for k in range(WORDS):
        store(own, 4 * k, "I", v)
        v = (v * 1103515 + 12345) & 0xFFFFFFFF
    i = t * 5 & 31
    d = 4 * i
    s = load(own, d, "I")
    for at, kind in (128, "I"), (3, "B"), (1, "b"), (2, "H"), (126, "h"):
        s = mix(s, load(own, d + at, kind))
    a = s + t
    store(own, d + 8, "I", a)
    store(own, d + 17, "B", a)
    store(own, d + 22, "H", a)
    y = 8 * i
    x = load(own, 248 - y, "Q")
    store(own, 248 - y, "Q", y)
    s = mix(s, x & 0xFFFFFFFF)
    a = x >> 32
    s = mix(s, a)
    some = t & 3 == 2
    if some:
        store(own, 100, "I", s)
    else:
        a = load(own, d + 64, "I")
    s = mix(s, a)
    if some:
        a = load(own, 100, "I")
        s = mix(s, a)
        store(own, d + 12, "I", a)
        store(own, 8, "Q", y)
    d = 16 * (i & 7)
    a, b, c, k = (load(own, d + 32 + 4 * e, "I") for e in range(4))
    for e in a, b, c, k:
        s = mix(s, e)
    for e, word in enumerate((s, a, b, t)):
        store(own, d + 4 * e, "I", word)
    a, b = load(own, 16, "I"), load(own, 20, "I")
    s = mix(mix(s, a), b)
    store(own, 24, "I", b)
    store(own, 28, "I", s)
    a = load(own, d + 64, "Q") + load(own, d + 72, "Q")
    s = mix(s, a & 0xFFFFFFFF)
    d = 4 * i
    s = mix(s, load(own, d + 128, "I"))
    if not far:
        store(own, d + 64, "I", s)
    for k in range(WORDS):
        s = mix(s, load(own, 4 * k, "I"))
    return s


for name, far in ("local_memory_0.bin", None), ("local_memory_end_0.bin", 250):
    with open(name, "wb") as f:
        f.write(struct.pack("<256I", *(result(t, t == far) for t in range(256))))

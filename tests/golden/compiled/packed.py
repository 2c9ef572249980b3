"""What packed.mxs reads and leaves in memory: packed.py writes packed_in.bin and packed_0.bin."""
import struct

words = [(k * 2654435761 + 2024) & 0xFFFFFFFF for k in range(64)]
data = struct.pack("<64I", *words)
out = bytearray(1152)
for t in range(64):
    a, b, c, d = data[4 * t : 4 * t + 4]
    out[4 * t : 4 * t + 4] = bytes((d, c, b, a))
    i = t * 5 & 63
    a, b = struct.unpack_from("<2h", data, 4 * i)
    c = a + b
    struct.pack_into("<2H", out, 256 + 4 * t, b & 0xFFFF, c & 0xFFFF)
    c >>= 16
    struct.pack_into("<2H", out, 512 + 4 * i, c & 0xFFFF, a & 0xFFFF)
    a, b = struct.unpack_from("<2b", data, 2 * t)
    out[768 + 2 * t : 768 + 2 * t + 2] = bytes((b & 0xFF, a & 0xFF))
    d = data[4 * t + 3]
    if t & 6 == 2:
        a, b, c, d = struct.unpack_from("<4b", data, 64)
    struct.pack_into("<I", out, 896 + 4 * t, ((a + d) << 16 | b & 0xFFFF) & 0xFFFFFFFF)
for name, content in ("packed_in.bin", data), ("packed_0.bin", out):
    with open(name, "wb") as f:
        f.write(content)

"""What mbarriers.mxs leaves in memory, by a plain model: mbarriers.py LANES writes mbarriers_LANES.bin. The lanes of a warp
arrive in the order of their numbers."""
import struct
import sys

lanes, threads, rounds = int(sys.argv[1]), 128, 50
h = [0] * threads


def note(t, v):
    h[t] = (h[t] * 31 + v) & 0xFFFFFFFF


lacks = 1048575  # of bars[0]; its phase has parity 0 for ever
for k in range(rounds):
    for t in range(threads):
        lane = t % lanes
        note(t, lane)
        note(t, lane)
        # of the first arrivals, even lanes still have the states; the odd ones arrived once more, behind all others of the warp
        note(t, 2 * lanes + lane // 2 if t % 2 else lane)
        note(t, lane)
        lacks -= 2 + t % 2
    for t in range(threads):
        note(t, 1)
        note(t, 1)
        # the phase of parity k mod 2 has ended, the other one goes on
        note(t, 0 if t % 2 else 1)
        # odd threads ask with a state of bars[0], of parity 0
        note(t, int(k % 2 == 0) if t % 2 else 1)
        note(t, 0)
    note(0, lacks)
    lacks -= 1
open(f"mbarriers_{lanes}.bin", "wb").write(struct.pack(f"<{threads}I", *h))

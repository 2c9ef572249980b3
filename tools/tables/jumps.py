#!/usr/bin/env python3
"""Writes cxx/include/mx/random_jumps.h (jumps.py FILE): how the generators of curand_kernel.h go many steps forward.
Not part of the build.

A step of XORWOW's shift register is a linear map of 160 bits over GF(2). By its minimal polynomial, of degree 160,
which Berlekamp and Massey's algorithm finds from the register's own bits, n steps are a polynomial in one step of
degree below 160: z^n modulo the minimal one. MRG32k3a's two recurrences are matrices of three rows, modulo a prime."""
import sys

WORD = 0xFFFFFFFF
DEGREE = 160


def step(v):
    t = v[0] ^ v[0] >> 2
    return v[1:] + [(v[4] ^ v[4] << 4 ^ t ^ t << 1) & WORD]


def minimal():
    v, bits = [1, 2, 3, 4, 5], []
    for _ in range(2 * DEGREE + 64):
        bits.append(v[4] & 1)
        v = step(v)
    c, b, length, shift = 1, 1, 0, 1
    for n in range(len(bits)):
        if sum(bits[n - i] for i in range(length + 1) if c >> i & 1) & 1:
            c, old = c ^ b << shift, c
            if 2 * length <= n:
                length, b, shift = n + 1 - length, old, 0
        shift += 1
    assert length == DEGREE
    return sum(1 << (length - i) for i in range(length + 1) if c >> i & 1)


MINIMAL = minimal()


def product(a, b):
    r = 0
    while b:
        if b & 1:
            r ^= a
        a, b = a << 1, b >> 1
        if a >> DEGREE & 1:
            a ^= MINIMAL
    return r


def power(n):
    r, z = 1, 2
    while n:
        if n & 1:
            r = product(r, z)
        z, n = product(z, z), n >> 1
    return r


def matrix_power(a, n, m):
    r = [[int(i == j) for j in range(3)] for i in range(3)]
    times = lambda x, y: [[sum(x[i][k] * y[k][j] for k in range(3)) % m for j in range(3)] for i in range(3)]
    while n:
        if n & 1:
            r = times(r, a)
        a, n = times(a, a), n >> 1
    return r


def polynomials(f, name, what, exponents):
    f.write(f"/* {what} */\n__device__ const unsigned int {name}[{len(exponents)}][5] = {{\n")
    for n in exponents:
        p = power(n)
        f.write("    {" + ", ".join(f"0x{p >> 32 * k & WORD:08X}" for k in range(5)) + "},\n")
    f.write("};\n")


def matrix(f, name, what, rows):
    f.write(f"/* {what} */\n__device__ const unsigned int {name}[9] = {{\n")
    f.write("".join("    " + ", ".join(f"{x}u" for x in row) + ",\n" for row in rows) + "};\n")


with open(sys.argv[1], "w") as f:
    f.write("/* Made by tools/tables/jumps.py, which says what these are: powers of the steps of random generators. */"
            "\n")
    f.write("#ifndef MX_CXX_RANDOM_JUMPS_H\n#define MX_CXX_RANDOM_JUMPS_H\n// clang-format off\n")
    digits = [d << (67 + 4 * k) for k in range(8) for d in range(1, 16)]
    polynomials(f, "__mx_xorwow_sequences",
                "XORWOW: 1 to 15 times 16^k sequences forward, of 2^67 steps each; k below 8", digits)
    polynomials(f, "__mx_xorwow_powers", "XORWOW: 2^k steps forward, k below 131", [1 << k for k in range(131)])
    m1, m2 = 4294967087, 4294944443
    a1 = [[0, 1, 0], [0, 0, 1], [-810728 % m1, 1403580, 0]]
    a2 = [[0, 1, 0], [0, 0, 1], [-1370589 % m2, 0, 527612]]
    for name, n in (("step", 1), ("subsequence", 1 << 76), ("sequence", 1 << 127)):
        matrix(f, f"__mx_mrg_{name}1", f"MRG32k3a: one {name} forward", matrix_power(a1, n, m1))
        matrix(f, f"__mx_mrg_{name}2", "and of the second recurrence", matrix_power(a2, n, m2))
    f.write("// clang-format on\n#endif\n")

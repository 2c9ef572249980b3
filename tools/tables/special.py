#!/usr/bin/env python3
"""Writes the polynomials of vm/exec/lanes/tables_erf.h (special.py erf FILE) and tables_bessel.h (special.py bessel
FILE). Needs mpmath; not part of the build.

A table holds polynomials for pieces of an interval: the first for [0, low), the others for equal parts, 2^bits of them,
of each binade from low on. A piece's polynomial is in x - centre (the sum of two doubles where the function has a zero
there) and interpolates the function at Chebyshev's nodes."""
import struct
import sys
from mpmath import mp, mpf, cos, pi

mp.dps = 60

def hexd(v):
    return float(v).hex().replace("0x0.0p+0", "0")

def fit(f, a, b, centre, degree, zero=False):
    """Coefficients about centre. zero: the constant is 0, the rest is fitted to f(x)/(x - centre)."""
    a, b, centre = mpf(a), mpf(b), mpf(centre)
    n = degree if zero else degree + 1
    mid, half = (a + b) / 2, (b - a) / 2
    nodes = [mid + half * cos(pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    values = [f(x) / (x - centre) if zero else f(x) for x in nodes]
    # Newton's divided differences, then expanded about the centre
    c = list(values)
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            c[i] = (c[i] - c[i - 1]) / (nodes[i] - nodes[i - j])
    poly = [mpf(0)]
    for i in range(n - 1, -1, -1):
        shift = nodes[i] - centre
        new = [mpf(0)] * (len(poly) + 1)
        for k, v in enumerate(poly):
            new[k + 1] += v
            new[k] -= v * shift
        new[0] += c[i]
        poly = new
    poly = poly[:n]
    return [mpf(0)] + poly if zero else poly

def pieces(low, high, bits):
    edges = [mpf(0)]
    x = mpf(low)
    while x < high:
        edges += [x * (1 + mpf(k) / 2**bits) for k in range(2**bits)]
        x *= 2
    edges = [e for e in edges if e < high] + [mpf(high)]
    return list(zip(edges, edges[1:]))

def table(out, name, f, low, high, bits, degree, zeros=(), near=mpf(0), first=None):
    """zeros: centres of the pieces that hold them or lie nearer than `near`."""
    rows = []
    worst = mpf(0)
    for a, b in pieces(low, high, bits):
        centre, zero = (a + b) / 2, False
        for z in zeros:
            if a - near < z < b + near:
                centre, zero = z, True
        hi = mpf(float(centre))
        lo = mpf(float(centre - hi))
        if first is not None and a == 0:
            rows.append(first)
            continue
        co = fit(f, a, b, centre, degree, zero)
        rows.append([hi, lo] + co)
        for k in range(7):
            x = a + (b - a) * (mpf(k) + mpf("0.37")) / 7
            d, s = x - centre, mpf(0)
            for v in reversed(co):
                s = s * d + v
            worst = max(worst, abs((s - f(x)) / f(x)))
    width = 2 + degree + 1
    lines = []
    for k in range(width):
        vals = [hexd(r[k]) for r in rows]
        lines.append("  {" + ", ".join(vals) + "},")
    wrapped = []
    for l in lines:
        cur = ""
        for tok in l.split(" "):
            if len(cur) + len(tok) + 1 > 118:
                wrapped.append(cur)
                cur = "   " + tok
            else:
                cur = cur + " " + tok if cur else tok
        wrapped.append(cur)
    count = len(rows)
    print(f"{name}: {count} pieces, degree {degree}, error {float(worst):.2g}", file=sys.stderr)
    out.append(f"static const double {name}[{width}][{count}] = {{")
    out += wrapped
    out.append("};")
    out.append("")

def poly(out, name, co):
    out.append(f"static const double {name}[{len(co)}] = {{")
    out.append("  " + ",\n  ".join(", ".join(hexd(v) for v in co[k:k + 5]) for k in range(0, len(co), 5)))
    out.append("};")
    out.append("")
    print(f"{name}: degree {len(co) - 1}", file=sys.stderr)

def header(text):
    return [f"/* {text} Written by tools/tables/special.py: rows are the pieces'",
            " * centres, high and low part, then the coefficients from the constant up. */",
            "// clang-format off", ""]

def write(path, out):
    with open(path, "w") as f:
        f.write("\n".join(out).rstrip() + "\n")

# ---- error functions ---------------------------------------------------------------------------------------------
def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)

def erfcinv(y):
    x = mp.sqrt(-mp.log(y * (2 - y))) if y < mpf("0.9") else (1 - y) * mp.sqrt(mp.pi) / 2
    for _ in range(100):
        g = mp.erfc(x)
        step = mp.log(g / y) * g * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
        x += step
        if abs(step) < mpf(10) ** -50 * abs(x):
            break
    return x

def slope(w):
    """erfinv(x)/x for w = -log(1 - x^2)"""
    if w < mpf(10) ** -20:
        return mp.sqrt(mp.pi) / 2 * (1 + w * mp.pi / 12)
    e = mp.exp(-w)
    x = mp.sqrt(-mp.expm1(-w))
    return erfcinv(e / (1 + x)) / x

def errors(path):
    out = header("Polynomials of the scaled complementary error function, and of the inverse error function.")
    table(out, "scaled_erfc", erfcx, 0.25, 32, 3, 11)
    out.append("/* erfinv(x)/x in w = -log(1 - x*x) */")
    table(out, "inverse_erf", slope, 0.25, 1024, 3, 11)
    write(path, out)

# ---- Bessel functions --------------------------------------------------------------------------------------------
def bessel(path):
    out = header("Polynomials of Bessel functions.")
    out.append("/* I0(x) e^-x, and I1(x) e^-x / x */")
    mp.dps = 80
    table(out, "scaled_i0", lambda x: mp.besseli(0, x) * mp.exp(-x), 0.25, 1024, 3, 11)
    table(out, "scaled_i1", lambda x: mp.besseli(1, x) * mp.exp(-x) / x if x else mpf("0.5"), 0.25, 1024, 3, 11)
    mp.dps = 60
    near = mpf("0.26")
    j0 = lambda x: mp.besselj(0, x)
    j1 = lambda x: mp.besselj(1, x)
    y0 = lambda x: mp.bessely(0, x)
    y1 = lambda x: mp.bessely(1, x)
    z = lambda f, starts: [mp.findroot(f, mpf(s)) for s in starts]
    table(out, "bessel_j0", j0, 0.25, 8, 3, 11, z(j0, ["2.4", "5.5", "8.65"]), near,
          [0, 0] + [mp.taylor(j0, 0, 11)[k] if k % 2 == 0 else 0 for k in range(12)])
    table(out, "bessel_j1", j1, 0.25, 8, 3, 11, z(j1, ["3.8", "7.0"]), near,
          [0, 0] + [mp.taylor(j1, 0, 11)[k] if k % 2 else 0 for k in range(12)])
    table(out, "bessel_y0", y0, 0.25, 8, 3, 12, z(y0, ["0.89", "3.95", "7.08"]), near, [0] * 15)
    table(out, "bessel_y1", y1, 0.25, 8, 3, 12, z(y1, ["2.19", "5.43", "8.59"]), near, [0] * 15)
    # below 0.25: y0 = 2/pi log(x) j0 + even, y1 = 2/pi (log(x) j1 - 1/x) + x even
    tp = 2 / mp.pi
    def in_square(f, n):
        """coefficients of f in x^2, by the power series"""
        nodes = [mpf("0.0625") * (1 + cos(pi * (2 * k + 1) / (2 * n))) / 2 for k in range(n)]
        return fit(lambda u: f(mp.sqrt(u)), 0, mpf("0.0625"), 0, n - 1)
    out.append("/* below 0.25, in x*x: Y0(x) - 2/pi log(x) J0(x), and (Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x */")
    poly(out, "small_y0", in_square(lambda x: y0(x) - tp * mp.log(x) * j0(x), 8))
    poly(out, "small_y1", in_square(lambda x: (y1(x) - tp * (mp.log(x) * j1(x) - 1 / x)) / x, 8))
    out.append("/* from 8 on, in u = 64/x^2, about 1/2: P, and Q x/8 */")
    def amplitude(n, which):
        def f(u):
            if u < mpf(10) ** -12:
                mu = mpf(4 * n * n)
                return mpf(1) if which == 0 else (mu - 1) / 64
            x = 8 / mp.sqrt(u)
            chi = x - (2 * n + 1) * mp.pi / 4
            s = mp.sqrt(mp.pi * x / 2)
            j, y = mp.besselj(n, x) * s, mp.bessely(n, x) * s
            p = j * mp.cos(chi) + y * mp.sin(chi)
            q = y * mp.cos(chi) - j * mp.sin(chi)
            return p if which == 0 else q * x / 8
        return f
    for n in (0, 1):
        poly(out, f"far_p{n}", fit(amplitude(n, 0), 0, 1, mpf("0.5"), 13))
        poly(out, f"far_q{n}", fit(amplitude(n, 1), 0, 1, mpf("0.5"), 13))
    write(path, out)

if __name__ == "__main__":
    which = sys.argv[1]
    (errors if which == "erf" else bessel)(sys.argv[2])

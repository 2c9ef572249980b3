/* Bounds of the approximate rows, against double-precision references. Separate from the bit-exact comparison, because
 * a recording of an approximation is one of many right answers. */
#include "tests/vectors/approximate.h"

#include <math.h>
#include <string.h>

static double of_f32(uint64_t x) { float f; uint32_t u = (uint32_t)x; memcpy(&f, &u, sizeof f); return f; }
static double of_f64(uint64_t x) { double f; memcpy(&f, &x, sizeof f); return f; }
static double of_bf16(uint64_t x) { return of_f32((x & 0xFFFF) << 16); }
static double of_f16(uint64_t x) {
  int e = (int)(x >> 10 & 31);
  double m = (double)(x & 0x3FF), v = e == 31 ? (m > 0 ? NAN : INFINITY) : e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
  return x & 0x8000 ? -v : v;
}

static double div_(double x, double y) { return x / y; }
static double rcp(double x, double y) { (void)y; return 1 / x; }
static double root(double x, double y) { (void)y; return sqrt(x); }
static double rroot(double x, double y) { (void)y; return 1 / sqrt(x); }
static double sine(double x, double y) { (void)y; return sin(x); }
static double cosine(double x, double y) { (void)y; return cos(x); }
static double lg2(double x, double y) { (void)y; return log2(x); }
static double ex2(double x, double y) { (void)y; return exp2(x); }
static double tanh_(double x, double y) { (void)y; return tanh(x); }

/* Errors as PTX states them: relative, absolute (the larger allowance counts), for first operands up to a magnitude, and
 * for div.approx second operands up to 2^126, beyond which the GPU gives zeros. */
static const struct bound {
  const char *start, *type;
  double (*value)(double, double);
  double relative, absolute, reach, reach2;
} bounds[] = {
  {"div.approx", "f32", div_, 0x1p-22, 0, INFINITY, 0x1p126}, {"div.full", "f32", div_, 0x1p-22, 0, INFINITY, INFINITY},
  {"rcp.approx", "f32", rcp, 0x1p-23, 0, INFINITY, 0}, {"sqrt.approx", "f32", root, 0x1p-23, 0, INFINITY, 0},
  {"rsqrt.approx", "f32", rroot, 0x1.12p-23, 0, INFINITY, 0}, /* 2^-22.9 */
  {"sin.approx", "f32", sine, 0, 0x1.6p-21, M_PI, 0}, {"cos.approx", "f32", cosine, 0, 0x1.6p-21, M_PI, 0}, /* 2^-20.5 */
  {"lg2.approx", "f32", lg2, 0x1p-22, 0x1p-22, INFINITY, 0}, {"ex2.approx", "f32", ex2, 0x1p-22, 0, INFINITY, 0},
  {"tanh.approx", "f32", tanh_, 0x1p-11, 0, INFINITY, 0},
  {"rcp.approx", "f64", rcp, 0x1p-20, 0, INFINITY, 0}, {"rsqrt.approx", "f64", rroot, 0x1p-20, 0, INFINITY, 0},
  {"ex2.approx", "bf16", ex2, 0x1p-7, 0, INFINITY, 0}, {"ex2.approx", "f16", ex2, 0x1.12p-10, 0x1p-24, INFINITY, 0}, /* 2^-9.9 */
  {"tanh.approx", "bf16", tanh_, 0, 0x1p-8, INFINITY, 0}, {"tanh.approx", "f16", tanh_, 0, 0x1.02p-11, INFINITY, 0}, /* 2^-10.987 */
};

static bool near(const struct bound *b, bool ftz, double least, double x, double y, double want, double got) {
  if (isnan(want)) return isnan(got);
  if (ftz && fabs(x) < least) x = copysign(0, x);
  if (ftz && fabs(y) < least) y = copysign(0, y);
  if (isinf(want)) return got == want || fabs(b->value(x, y)) >= 0x1.fffffep127; /* the GPU overflowed early */
  if (fabs(x) > b->reach || fabs(y) > b->reach2) return isfinite(got);
  double right = b->value(x, y), allowed = fmax(fabs(right) * b->relative, b->absolute);
  if (ftz && fabs(right) < least) allowed = fmax(allowed, least);
  /* half a last place of the result's own rounding, where it is subnormal */
  return fabs(got - right) <= allowed + least * 0x1p-23;
}

bool mx__close_enough(const char *name, const uint64_t *in, uint64_t want, uint64_t got) {
  const char *type = strrchr(name, '.') + 1;
  bool pair = strstr(type, "x2"), ftz = strstr(name, ".ftz");
  for (const struct bound *b = bounds; b < bounds + sizeof bounds / sizeof bounds[0]; b++) {
    if (strncmp(name, b->start, strlen(b->start)) || strncmp(type, b->type, strlen(b->type))) continue;
    for (int half = 0; half <= pair; half++) {
      double (*of)(uint64_t) = !strcmp(b->type, "f32") ? of_f32 : !strcmp(b->type, "f64") ? of_f64 : !strcmp(b->type, "f16") ? of_f16 : of_bf16;
      double least = !strcmp(b->type, "f64") ? 0x1p-1022 : !strcmp(b->type, "f16") ? 0x1p-14 : 0x1p-126;
      uint64_t mask = pair ? 0xFFFF : ~0ull, s = half ? 16 : 0;
      if (ftz && least == 0x1p-1022) mask &= 0xFFFFFFFF00000000; /* those see the high word only */
      double y = b->value == div_ ? of(in[1]) : 0;
      if (!near(b, ftz, least, of(in[0] >> s & mask), y, of(want >> s & mask), of(got >> s & mask))) return false;
    }
    return true;
  }
  return false;
}

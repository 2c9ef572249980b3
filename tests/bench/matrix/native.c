#include "tests/bench/matrix/native.h"

#include <string.h>

enum { STEP = 16, FRACTION = 25, NONE = -1000 };
struct factor {
  int32_t exponent, significand;
}; /* with its sign; 10 bits of fraction */

static struct factor factor_of(uint16_t h) {
  const int32_t field = h >> 10 & 31, m = (h & 1023) | (field ? 1024 : 0);
  return (struct factor){field ? field - 15 : -14, h >> 15 ? -m : m};
}

static float step(float c, const uint16_t *a, const uint16_t *b, unsigned pitch) {
  int64_t term[STEP + 1];
  int32_t exponent[STEP + 1], most = NONE;
  uint32_t bits;
  for (unsigned k = 0; k < STEP; k++) {
    const uint16_t x = a[k], y = b[k * pitch];
    if ((x & 0x7C00) == 0x7C00 || (y & 0x7C00) == 0x7C00) return __builtin_nanf(""); /* none in what is measured */
    const struct factor p = factor_of(x), q = factor_of(y);
    term[k] = (int64_t)p.significand * q.significand * (1 << 25); /* 45 bits of fraction */
    exponent[k] = p.exponent + q.exponent;
  }
  memcpy(&bits, &c, 4);
  const int32_t field = bits >> 23 & 255;
  const int64_t m = (int64_t)((bits & 0x7FFFFF) | (field ? 0x800000u : 0)) << 22;
  exponent[STEP] = field ? field - 127 : -126;
  term[STEP] = bits >> 31 ? -m : m;
  for (unsigned k = 0; k <= STEP; k++)
    if (term[k] && exponent[k] > most) most = exponent[k];
  int64_t sum = 0;
  for (unsigned k = 0; k <= STEP; k++) {
    const int32_t down = most - exponent[k] + 45 - FRACTION;
    if (!term[k] || down > 62) continue;
    sum += term[k] < 0 ? -(-term[k] >> down) : term[k] >> down;
  }
  if (!sum) return 0;
  const uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
  const int32_t top = 63 - __builtin_clzll(size), e = top + most - FRACTION;
  uint32_t f;
  if (e > 127) f = 0x7F800000;
  else if (e < -126) { /* a subnormal: bits below 2^-149 are cut off */ const int32_t down = -149 - (most - FRACTION);
    f = (uint32_t)(down > 0 ? size >> down : size << -down);
  } else f = (uint32_t)(e + 127) << 23 | ((uint32_t)(top > 23 ? size >> (top - 23) : size << (23 - top)) & 0x7FFFFF);
  f |= sum < 0 ? 0x80000000 : 0;
  if (f == 0x80000000) f = 0;
  memcpy(&c, &f, 4);
  return c;
}

void exact_f16(const uint16_t *a, const uint16_t *b, float *c, unsigned n, unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++)
    for (unsigned j = 0; j < n; j++) {
      float s = 0;
      for (unsigned k = 0; k < n; k += STEP) s = step(s, a + i * n + k, b + k * n + j, n);
      c[i * n + j] = s;
    }
}

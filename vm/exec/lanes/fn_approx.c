/* Lane functions of the f64 approximations, which programs take as first guesses: the upper 20 bits of the hardware's
 * reciprocal and reciprocal square root, and the root that its compiler makes of them. Bit for bit what an H200
 * answers.
 *
 * The hardware looks the mantissa's first bits up and adds c0 + c1 x + c2 x^2 of the rest in fixed point. Its squarer
 * leaves out the partial products of low weight; nothing else is inexact. */
#include "approx.h"
#include "fn.h"
#include "core/vocab.h"

/* The first 15 of 32 bits of the square of a 16-bit number, but without the products x_i x_j of weight below 2^17. */
MX__INL uint32_t square(uint32_t x) {
  uint32_t left_out = (x & 0x100) << 8;
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++) {
    uint32_t others = (0xFFFFu >> i) & (0xFFFFu << (i + 1)), bit = x >> i & 1;
    left_out += (0 - bit) & (((x & others) << (i + 1)) | 1u << 2 * i);
  }
  return (x * x - left_out) >> 17;
}

/* 24 bits of the function in a segment, at the 17 bits x of the mantissa's rest. bias: half a unit, less what is left
 * out. */
MX__INL uint32_t interpolate(const struct mx__segment *s, uint32_t x, int32_t bias) {
  int64_t sum =
      ((int64_t)s->c0 << 15) + bias + (int64_t)s->c1 * (int32_t)x + (int64_t)s->c2 * (int32_t)(4 * square(x >> 1));
  return (uint32_t)((uint64_t)sum >> 17);
}

/* Upper words of f64, of which 20 bits are mantissa. A result is y = 1.f * 2^23 in 24 bits, cut off to 1.f of 20 bits;
 * 2^24 only for the powers of two (of four) themselves. */
enum { FIRST = 0x00100000, INFINITE = 0x7FF00000, NOT_A_NUMBER = 0x7FFFFFFF };
MX__INL uint32_t upper(int32_t exponent, uint32_t y) { return (uint32_t)(exponent * FIRST) + (y >> 3) - FIRST; }

MX__INL uint32_t reciprocal(uint32_t word) {
  uint32_t sign = word & 0x80000000, m = word & 0xFFFFF,
           y = interpolate(&mx__rcp_segments[m >> 13], (m & 0x1FFF) << 4, 8092);
  int32_t magnitude = (int32_t)(word ^ sign), exponent = magnitude >> 20, e = 2045 - exponent;
  uint32_t normal = upper(e, y), r = normal < FIRST || e < 0 ? 0 : normal;
  r = magnitude < FIRST ? INFINITE : r;
  return magnitude > INFINITE ? NOT_A_NUMBER : (magnitude == INFINITE ? 0 : r) | sign;
}

MX__INL uint32_t reciprocal_root(uint32_t word) {
  uint32_t sign = word & 0x80000000, m = word & 0xFFFFF,
           odd = ~word >> 20 & 1; /* the exponent is odd: 1023 is its zero */
  uint32_t y = interpolate(&mx__rsqrt_segments[odd << 6 | m >> 14], (m & 0x3FFF) << 3, 32767);
  y = (m | odd) == 0 ? 1 << 24 : y;
  int32_t magnitude = (int32_t)(word ^ sign), exponent = magnitude >> 20, half = (exponent - 1023 - (int32_t)odd) / 2;
  uint32_t r = sign ? NOT_A_NUMBER : upper(1022 - half, y);
  r = magnitude < FIRST ? INFINITE | sign : r;
  return magnitude > INFINITE || (sign && magnitude == INFINITE) ? NOT_A_NUMBER : magnitude == INFINITE ? 0 : r;
}

void MX_FN(rcp_approx_f64)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  const uint64_t *x = a;
  uint64_t *r = d;
#pragma GCC ivdep
  for (unsigned l = 0; l < lanes; l++) r[l] = (uint64_t)reciprocal((uint32_t)(x[l] >> 32)) << 32;
}

void MX_FN(rsqrt_approx_ftz_f64)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  const uint64_t *x = a;
  uint64_t *r = d;
#pragma GCC ivdep
  for (unsigned l = 0; l < lanes; l++) r[l] = (uint64_t)reciprocal_root((uint32_t)(x[l] >> 32)) << 32;
}

/* One step of third order from the guess; subnormal numbers are scaled by 2^54 before it. */
void MX_FN(rsqrt_approx_f64)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  const double *x = a;
  double *r = d;
#pragma GCC ivdep
  for (unsigned l = 0; l < lanes; l++) {
    double w = x[l], large = __builtin_fabs(w) < 0x1p-1022 ? w * 0x1p54 : w;
    double y = mx__of_f64((uint64_t)reciprocal_root((uint32_t)(mx__raw_f64(large) >> 32)) << 32);
    double error = FMA(f64, large, -(y * y), 1), root = FMA(f64, FMA(f64, error, 0.375, 0.5), y * error, y);
    root = w < 0x1p-1022 ? root * 0x1p27 : root;
    double special = w < 0    ? mx__of_f64(0xFFF8000000000000)
                     : w == 0 ? mx__of_f64((mx__raw_f64(w) & 0x8000000000000000) | 0x7FF0000000000000)
                              : 0;
    root = w > 0 && w <= 0x1.fffffffffffffp1023 ? root : special;
    r[l] = w == w ? root : w + w;
  }
}

/* One rounding from an exact value to any binary float format: shared by the conversion lane functions. Integer
 * arithmetic only, so neither the processor's rounding mode nor its handling of subnormals matters. */
#ifndef MX_LANES_NARROW_H
#define MX_LANES_NARROW_H

#include "rounding.h"
#include "core/vocab.h"

enum { MX__RNA = MX__RN + 1 }; /* nearest, ties away from zero */

/* Bits of fraction and of exponent, the largest finite pattern, and what an overflow gives; NaN. */
struct mx__format {
  int fraction, exponent;
  uint64_t max, over, nan;
};
static const struct mx__format mx__f16 = {10, 5, 0x7BFF, 0x7C00, 0x7FFF}, mx__bf16 = {7, 8, 0x7F7F, 0x7F80, 0x7FFF},
                               mx__f32 = {23, 8, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF},
                               mx__tf32 = {10, 8, 0x3FBFF, 0x3FC00, 0x3FFFF},
                               mx__f64 = {52, 11, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF},
                               mx__e4m3 = {3, 4, 0x7E, 0x7F, 0x7F}, mx__e5m2 = {2, 5, 0x7B, 0x7C, 0x7F};

/* The magnitude pattern of m * 2^e in the format; neg is the value's sign, which directed modes need. */
static inline uint64_t mx__narrow(bool neg, uint64_t m, int e, const struct mx__format *f, unsigned mode) {
  if (!m) return 0;
  int lead = __builtin_clzll(m), top = e + 63 - lead, least = 2 - (1 << (f->exponent - 1));
  m <<= lead;
  int shift = 63 - f->fraction + (top < least ? least - top : 0);
  uint64_t q = shift > 63 ? 0 : m >> shift;
  uint64_t rest = shift > 64 ? 1 : shift == 64 ? m : m << (64 - shift); /* as a fraction of 2^64 */
  const uint64_t half = 0x8000000000000000;
  bool up = mode == MX__RN    ? rest > half || (rest == half && q & 1)
            : mode == MX__RNA ? rest >= half
            : mode == MX__RM  ? neg && rest
            : mode == MX__RP  ? !neg && rest
                              : false;
  uint64_t bits = ((uint64_t)(top < least ? 0 : top - least) << f->fraction) + q + up;
  if (bits <= f->max) return bits;
  return mode == MX__RZ || mode == (neg ? MX__RP : MX__RM) ? f->max : f->over;
}

/* The same for a double, NaN and infinities included; the sign on top of the pattern, none on a NaN. */
static inline uint64_t mx__narrow_f64(double x, const struct mx__format *f, unsigned mode) {
  uint64_t b = mx__raw_f64(x), m = b & 0xFFFFFFFFFFFFF;
  bool neg = b >> 63;
  int e = (int)(b >> 52 & 0x7FF);
  uint64_t sign = (uint64_t)neg << (f->fraction + f->exponent);
  if (e == 0x7FF) return m ? f->nan : sign | f->over;
  return sign | mx__narrow(neg, e ? m | 0x10000000000000 : m, (e ? e : 1) - 1075, f, mode);
}

#endif

/* The words of the table's meanings as C: what the words that opcodes.def lists do to one lane. Lane bodies, tests and
 * tests' reference models include this; the JIT has its own expansion of the same words. Knows only isa.h's types.
 *
 * Everything here is branch-free after inlining, so that a loop over lanes vectorises. Compile with
 * -ffp-contract=off -fno-math-errno -fno-trapping-math: the first for exactness, the others so that SQRT and the
 * ROUND words become instructions instead of calls. */
#ifndef MX_LANES_VOCAB_H
#define MX_LANES_VOCAB_H

#include <string.h>

#include "core/isa.h"

/* Meanings mix signs by design, the word's type argument says which is meant; nested LETs may reuse a name. */
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wshadow"

#define MX__INL static inline __attribute__((always_inline))

/* The types in which ADD, SUB and MUL of each type compute: unsigned ones, in which arithmetic wraps. */
typedef uint32_t mx__c_pred, mx__c_u8, mx__c_s8, mx__c_b8, mx__c_u16, mx__c_s16, mx__c_b16, mx__c_u32, mx__c_s32,
    mx__c_b32;
typedef uint64_t mx__c_u64, mx__c_s64, mx__c_b64;
typedef float mx__c_f32;
typedef double mx__c_f64;

/* Bits of a value, and the value of bits. */
MX__INL uint32_t mx__raw_f32(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
MX__INL uint64_t mx__raw_f64(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
MX__INL float mx__of_f32(uint32_t x) {
  float f;
  memcpy(&f, &x, sizeof f);
  return f;
}
MX__INL double mx__of_f64(uint64_t x) {
  double f;
  memcpy(&f, &x, sizeof f);
  return f;
}
/* Bit-preserving conversions are casts rather than inline functions: they are expanded tens of thousands of times, and
 * inlining them took a twentieth of the time to compile. */
#define mx__raw_u8 (mx_u8)
#define mx__raw_s8 (mx_s8)
#define mx__raw_b8 (mx_b8)
#define mx__raw_u16 (mx_u16)
#define mx__raw_s16 (mx_s16)
#define mx__raw_b16 (mx_b16)
#define mx__raw_f16 (mx_f16)
#define mx__raw_bf16 (mx_bf16)
#define mx__raw_u32 (mx_u32)
#define mx__raw_s32 (mx_s32)
#define mx__raw_b32 (mx_b32)
#define mx__raw_f16x2 (mx_f16x2)
#define mx__raw_bf16x2 (mx_bf16x2)
#define mx__raw_u64 (mx_u64)
#define mx__raw_s64 (mx_s64)
#define mx__raw_b64 (mx_b64)
#define mx__of_u8 (mx_u8)
#define mx__of_s8 (mx_s8)
#define mx__of_b8 (mx_b8)
#define mx__of_u16 (mx_u16)
#define mx__of_s16 (mx_s16)
#define mx__of_b16 (mx_b16)
#define mx__of_f16 (mx_f16)
#define mx__of_bf16 (mx_bf16)
#define mx__of_u32 (mx_u32)
#define mx__of_s32 (mx_s32)
#define mx__of_b32 (mx_b32)
#define mx__of_f16x2 (mx_f16x2)
#define mx__of_bf16x2 (mx_bf16x2)
#define mx__of_u64 (mx_u64)
#define mx__of_s64 (mx_s64)
#define mx__of_b64 (mx_b64)

#define K(t_, v_) ((mx_##t_)(v_))
#define BITS(to_, from_, x_) mx__of_##to_((mx__bits_##to_)mx__raw_##from_(x_))
typedef uint8_t mx__bits_u8, mx__bits_s8, mx__bits_b8;
typedef uint16_t mx__bits_u16, mx__bits_s16, mx__bits_b16, mx__bits_f16, mx__bits_bf16;
typedef uint32_t mx__bits_u32, mx__bits_s32, mx__bits_b32, mx__bits_f32, mx__bits_f16x2, mx__bits_bf16x2;
typedef uint64_t mx__bits_u64, mx__bits_s64, mx__bits_b64, mx__bits_f64;
#define CVT(to_, from_, x_) ((mx_##to_)(mx_##from_)(x_))

#define MX__ARITH(t_, x_, op_, y_) ((mx_##t_)((mx__c_##t_)(x_)op_(mx__c_##t_)(y_)))
#define ADD(t_, x_, y_) MX__ARITH(t_, x_, +, y_)
#define SUB(t_, x_, y_) MX__ARITH(t_, x_, -, y_)
#define MUL(t_, x_, y_) MX__ARITH(t_, x_, *, y_)
#define DIV(t_, x_, y_) ((mx_##t_)((mx_##t_)(x_) / (mx_##t_)(y_)))
#define REM(t_, x_, y_) ((mx_##t_)((mx_##t_)(x_) % (mx_##t_)(y_)))
#define MULHI(t_, x_, y_) mx__mulhi_##t_((x_), (y_))
#define NEG(t_, x_) mx__neg_##t_(x_)
#define NOT(t_, x_) mx__not_##t_(x_)
#define AND(t_, x_, y_) ((mx_##t_)((x_) & (y_)))
#define OR(t_, x_, y_) ((mx_##t_)((x_) | (y_)))
#define XOR(t_, x_, y_) ((mx_##t_)((x_) ^ (y_)))
#define SHL(t_, x_, n_) ((mx_##t_)((mx__c_##t_)(x_) << (n_)))
#define SHR(t_, x_, n_) ((mx_##t_)((mx_##t_)(x_) >> (n_)))
#define LT(t_, x_, y_) ((mx_##t_)(x_) < (mx_##t_)(y_))
#define LE(t_, x_, y_) ((mx_##t_)(x_) <= (mx_##t_)(y_))
#define GT(t_, x_, y_) ((mx_##t_)(x_) > (mx_##t_)(y_))
#define GE(t_, x_, y_) ((mx_##t_)(x_) >= (mx_##t_)(y_))
#define EQ(t_, x_, y_) ((mx_##t_)(x_) == (mx_##t_)(y_))
#define NE(t_, x_, y_) ((mx_##t_)(x_) != (mx_##t_)(y_))
#define SEL(t_, c_, x_, y_) ((c_) ? (mx_##t_)(x_) : (mx_##t_)(y_))
#define LET(t_, name_, value_, body_) \
  (__extension__({ \
    const mx_##t_ name_ = (mx_##t_)(value_); \
    body_; \
  }))
#define FMA(t_, x_, y_, z_) mx__fma_##t_((x_), (y_), (z_))
#define SQRT(t_, x_) mx__sqrt_##t_(x_)
#define RINT(t_, x_) mx__rint_##t_(x_)
#define FLOOR(t_, x_) mx__floor_##t_(x_)
#define CEIL(t_, x_) mx__ceil_##t_(x_)
#define TRUNC(t_, x_) mx__trunc_##t_(x_)
#define POPC(t_, x_) mx__popc_##t_(x_)
#define CLZ(t_, x_) mx__clz_##t_(x_)
/* Both results of an RR shape: a body declares the lvalues D and Q and evaluates the meaning for its effect. */
#define TWO(x_, y_) ((void)(D = (__typeof__(D))(x_)), (void)(Q = (__typeof__(Q))(y_)))

/* Atomics of 128 bits. */
#define CAS128(old_, b_, c_) mx__cas128((old_), (b_), (c_))
MX__INL mx_b128 mx__cas128(mx_b128 old, mx_b128 b, mx_b128 c) { return old.lo == b.lo && old.hi == b.hi ? c : old; }

/* A NaN result of a row flagged CANON; other types pass unchanged. */
#define CANON(t_, x_) mx__canon_##t_(x_)

#define MX__INT(t_) \
  MX__INL mx_##t_ mx__neg_##t_(mx_##t_ x) { return (mx_##t_)(0 - (mx__c_##t_)x); } \
  MX__INL mx_##t_ mx__not_##t_(mx_##t_ x) { return (mx_##t_) ~x; }
MX__INT(u8)
MX__INT(s8)
MX__INT(b8)
MX__INT(u16)
MX__INT(s16)
MX__INT(b16)
MX__INT(u32)
MX__INT(s32)
MX__INT(b32)
MX__INT(u64)
MX__INT(s64)
MX__INT(b64)
#undef MX__INT
MX__INL mx_pred mx__not_pred(int x) { return !x; }
MX__INL float mx__neg_f32(float x) { return -x; }
MX__INL double mx__neg_f64(double x) { return -x; }

MX__INL uint16_t mx__mulhi_u16(uint16_t x, uint16_t y) { return (uint16_t)((uint32_t)x * y >> 16); }
MX__INL int16_t mx__mulhi_s16(int16_t x, int16_t y) { return (int16_t)(x * y >> 16); }
MX__INL uint32_t mx__mulhi_u32(uint32_t x, uint32_t y) { return (uint32_t)((uint64_t)x * y >> 32); }
MX__INL int32_t mx__mulhi_s32(int32_t x, int32_t y) { return (int32_t)((int64_t)x * y >> 32); }
MX__INL uint64_t mx__mulhi_u64(uint64_t x, uint64_t y) { return (uint64_t)((unsigned __int128)x * y >> 64); }
MX__INL int64_t mx__mulhi_s64(int64_t x, int64_t y) { return (int64_t)((__int128)x * y >> 64); }

MX__INL uint32_t mx__popc_u32(uint32_t x) { return (uint32_t)__builtin_popcount(x); }
MX__INL uint32_t mx__popc_u64(uint64_t x) { return (uint32_t)__builtin_popcountll(x); }
MX__INL uint32_t mx__clz_u32(uint32_t x) { return x ? (uint32_t)__builtin_clz(x) : 32; }
MX__INL uint32_t mx__clz_u64(uint64_t x) { return x ? (uint32_t)__builtin_clzll(x) : 64; }

MX__INL float mx__sqrt_f32(float x) { return __builtin_sqrtf(x); }
MX__INL double mx__sqrt_f64(double x) { return __builtin_sqrt(x); }
MX__INL float mx__rint_f32(float x) { return __builtin_rintf(x); }
MX__INL double mx__rint_f64(double x) { return __builtin_rint(x); }
MX__INL float mx__floor_f32(float x) { return __builtin_floorf(x); }
MX__INL double mx__floor_f64(double x) { return __builtin_floor(x); }
MX__INL float mx__ceil_f32(float x) { return __builtin_ceilf(x); }
MX__INL double mx__ceil_f64(double x) { return __builtin_ceil(x); }
MX__INL float mx__trunc_f32(float x) { return __builtin_truncf(x); }
MX__INL double mx__trunc_f64(double x) { return __builtin_trunc(x); }

MX__INL double mx__fma_f64(double x, double y, double z) { return __builtin_fma(x, y, z); }
#if defined __FMA__ || !defined __x86_64__
MX__INL float mx__fma_f32(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
#else
/* For processors without the instruction, where a call of libm would keep loops from being vectorised. The product is
 * exact in double; the sum is rounded to odd there (its last bit set when inexact), after which rounding to float gives
 * what rounding once would have. */
MX__INL float mx__fma_f32(float x, float y, float z) {
  double p = (double)x * y, c = z, s = p + c, t = s - p, e = (p - (s - t)) + (c - t);
  uint64_t b = mx__raw_f64(s);
  /* e has the sign of exact - s: step towards zero when it points there, then mark; NaN and infinities pass */
  uint64_t toward = (uint64_t)((e < 0) != (s < 0));
  uint64_t odd = (b - toward) | 1;
  uint64_t inexact = (uint64_t)((e < 0) | (e > 0));
  return (float)mx__of_f64(inexact ? odd : b);
}
#endif

MX__INL float mx__canon_f32(float x) { return x == x ? x : mx__of_f32(0x7FFFFFFF); }
MX__INL uint16_t mx__canon_f16(uint16_t x) { return (x & 0x7FFF) > 0x7C00 ? 0x7FFF : x; }
MX__INL uint16_t mx__canon_bf16(uint16_t x) { return (x & 0x7FFF) > 0x7F80 ? 0x7FFF : x; }
MX__INL uint32_t mx__canon_f16x2(uint32_t x) {
  return ((x & 0x7FFF) > 0x7C00 ? 0x7FFF : x & 0xFFFF) | ((x & 0x7FFF0000) > 0x7C000000 ? 0x7FFF0000 : x & 0xFFFF0000);
}
MX__INL uint32_t mx__canon_bf16x2(uint32_t x) {
  return ((x & 0x7FFF) > 0x7F80 ? 0x7FFF : x & 0xFFFF) | ((x & 0x7FFF0000) > 0x7F800000 ? 0x7FFF0000 : x & 0xFFFF0000);
}
#define mx__canon_pred(x_) (x_)
#define mx__canon_u8(x_) (x_)
#define mx__canon_s8(x_) (x_)
#define mx__canon_b8(x_) (x_)
#define mx__canon_u16(x_) (x_)
#define mx__canon_s16(x_) (x_)
#define mx__canon_b16(x_) (x_)
#define mx__canon_u32(x_) (x_)
#define mx__canon_s32(x_) (x_)
#define mx__canon_b32(x_) (x_)
#define mx__canon_u64(x_) (x_)
#define mx__canon_s64(x_) (x_)
#define mx__canon_b64(x_) (x_)
#define mx__canon_f64(x_) (x_)
#define mx__canon_b128(x_) (x_)

#endif

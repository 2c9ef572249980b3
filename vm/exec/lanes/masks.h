/* Masks of lanes as 64-bit words, as bytes, and as what blends a result into a slot. Separate, because these few loops
 * are the ones that compilers do not vectorise from plain C; each has a plain form and, where it pays, one with
 * intrinsics. */
#ifndef MX_LANES_MASKS_H
#define MX_LANES_MASKS_H

#include <stdint.h>
#include <string.h>

/* Operations on vectors are gcc's builtins here: to read <immintrin.h> takes as long as to compile a dozen rows, and
 * each family at each level would read it. */
#if defined __AVX512BW__ && defined __AVX512VL__ && !defined __clang__
#define MX__AVX512 1
typedef int32_t mx__16x32 __attribute__((vector_size(64), may_alias, aligned(4)));
typedef long long mx__8x64 __attribute__((vector_size(64), may_alias, aligned(8)));
#elif defined __AVX2__
typedef int32_t mx__8x32 __attribute__((vector_size(32), may_alias, aligned(4)));
typedef float mx__8xf32 __attribute__((vector_size(32)));
#elif defined __SSE2__
typedef int32_t mx__4x32 __attribute__((vector_size(16), may_alias, aligned(4)));
typedef float mx__4xf32 __attribute__((vector_size(16)));
#endif

/* The longest vectors of the level, of lanes as they lie in slots. */
#if defined MX__AVX512
#define MX__VECTOR 64
#elif defined __AVX2__
#define MX__VECTOR 32
#else
#define MX__VECTOR 16
#endif
typedef uint32_t mx__v32 __attribute__((vector_size(MX__VECTOR), may_alias, aligned(4)));
typedef uint64_t mx__v64 __attribute__((vector_size(MX__VECTOR), may_alias, aligned(8)));

/* Without AVX-512 these loops are long: one copy a file, instead of one a body, halves the code and the time to compile
 * it. */
#ifdef MX__AVX512
#define MX__MASKS static inline __attribute__((always_inline))
#else
#define MX__MASKS static __attribute__((noinline, unused))
#endif

/* The bit of a lane in its half of a mask. */
static const uint32_t mx__bit[64] __attribute__((aligned(64), unused)) = {
#define BITS8(n_) \
  1u << (n_), 1u << ((n_) + 1), 1u << ((n_) + 2), 1u << ((n_) + 3), 1u << ((n_) + 4), 1u << ((n_) + 5), \
      1u << ((n_) + 6), 1u << ((n_) + 7)
    BITS8(0), BITS8(8),  BITS8(16), BITS8(24), BITS8(0),
    BITS8(8), BITS8(16), BITS8(24)
#undef BITS8
};

#ifndef MX__AVX512
/* bytes[l] = 0 or 1 */
MX__MASKS void mx__expand01(uint64_t mask, uint8_t bytes[64]) {
  for (unsigned k = 0; k < 8; k++) { /* spread the bits of a byte over eight bytes */
    uint64_t b = (mask >> 8 * k & 0xFF) * 0x0101010101010101u & 0x8040201008040201u;        /* byte j keeps bit j */
    b = (((b & 0x7F7F7F7F7F7F7F7Fu) + 0x7F7F7F7F7F7F7F7Fu) | b) >> 7 & 0x0101010101010101u; /* not 0: 1 */
    memcpy(bytes + 8 * k, &b, 8);
  }
}

/* The mask of the bytes that are not 0; they are 0 or 1. */
MX__MASKS uint64_t mx__pack01(const uint8_t *bytes, unsigned lanes) {
  uint64_t mask = 0;
  for (unsigned k = 0; k < lanes / 8; k++) {
    uint64_t b;
    memcpy(&b, bytes + 8 * k, 8);
    mask |= (b * 0x0102040810204080u >> 56) << 8 * k;
  }
  return mask;
}
#endif

/* The mask of 32 words that are not 0: comparisons leave such words, since narrowing them to bytes costs more than the
 * comparison itself. They are 0 or 1. */
static inline __attribute__((always_inline)) uint32_t mx__pack_half(const uint32_t *words) {
#ifdef MX__AVX512
  typedef int32_t whole __attribute__((vector_size(64)));
  const whole a = *(const mx__16x32 *)words, b = *(const mx__16x32 *)(words + 16);
  return __builtin_ia32_ptestmd512(a, a, 0xFFFF) | (uint32_t)__builtin_ia32_ptestmd512(b, b, 0xFFFF) << 16;
#else
  uint32_t mask = 0;
#ifdef __AVX2__
  for (unsigned l = 0; l < 32; l += 8)
    mask |= (uint32_t)__builtin_ia32_movmskps256((mx__8xf32)(*(const mx__8x32 *)(words + l) << 31)) << l;
#elif defined __SSE2__
  for (unsigned l = 0; l < 32; l += 4)
    mask |= (uint32_t)__builtin_ia32_movmskps((mx__4xf32)(*(const mx__4x32 *)(words + l) << 31)) << l;
#else
  for (unsigned l = 0; l < 32; l++) mask |= (words[l] & 1) << l;
#endif
  return mask;
#endif
}
/* The same of all lanes, 32 or 64. */
MX__MASKS uint64_t mx__pack32(const uint32_t *words, unsigned lanes) {
  return mx__pack_half(words) | (lanes > 32 ? (uint64_t)mx__pack_half(words + 32) << 32 : 0);
}

/* Whole vectors are stored: what a masked store leaves, the next instruction's loads would have to wait for. */
#ifdef MX__AVX512
MX__MASKS void mx__blend32(uint32_t *d, const uint32_t *s, uint64_t mask, unsigned lanes) {
  for (unsigned l = 0; l < lanes; l += 16) {
    mx__16x32 *to = (mx__16x32 *)(d + l);
    *to = __builtin_ia32_blendmd_512_mask(*to, *(const mx__16x32 *)(s + l), (uint16_t)(mask >> l));
  }
}
MX__MASKS void mx__blend64(uint64_t *d, const uint64_t *s, uint64_t mask, unsigned lanes) {
  for (unsigned l = 0; l < lanes; l += 8) {
    mx__8x64 *to = (mx__8x64 *)(d + l);
    *to = __builtin_ia32_blendmq_512_mask(*to, *(const mx__8x64 *)(s + l), (uint8_t)(mask >> l));
  }
}
#else
static const uint64_t mx__bit64[4] __attribute__((aligned(32), unused)) = {1, 2, 4, 8};
MX__MASKS void mx__blend32(uint32_t *d, const uint32_t *s, uint64_t mask, unsigned lanes) {
  for (unsigned l = 0; l < lanes; l += MX__VECTOR / 4) {
    mx__v32 *to = (mx__v32 *)(d + l);
    const mx__v32 bit = *(const mx__v32 *)(mx__bit + l), on = (mx__v32)((bit & (uint32_t)(mask >> (l & 32))) == bit);
    *to = (*(const mx__v32 *)(s + l) & on) | (*to & ~on);
  }
}
MX__MASKS void mx__blend64(uint64_t *d, const uint64_t *s, uint64_t mask, unsigned lanes) {
  mx__v64 bit = *(const mx__v64 *)mx__bit64;
  for (unsigned l = 0; l < lanes; l += MX__VECTOR / 8, bit <<= MX__VECTOR / 8) {
    mx__v64 *to = (mx__v64 *)(d + l);
    const mx__v64 on = (mx__v64)((bit & mask) == bit);
    *to = (*(const mx__v64 *)(s + l) & on) | (*to & ~on);
  }
}
#endif

#endif

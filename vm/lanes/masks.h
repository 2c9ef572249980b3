/* Masks of lanes as 64-bit words, as bytes, and as what blends a result into a slot. Separate, because these few loops
 * are the ones that compilers do not vectorise from plain C; each has a plain form and, where it pays, one with
 * intrinsics. */
#ifndef MX_LANES_MASKS_H
#define MX_LANES_MASKS_H

#include <stdint.h>
#include <string.h>

#if defined __AVX512BW__ && defined __AVX512VL__
#define MX__AVX512 1
#endif
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* bytes[l] = 0 or 1 */
static inline __attribute__((always_inline)) void mx__expand01(uint64_t mask, uint8_t bytes[64]) {
#ifdef MX__AVX512
  _mm512_storeu_si512(bytes, _mm512_maskz_set1_epi8((__mmask64)mask, 1));
#else
  for (unsigned k = 0; k < 8; k++) { /* spread the bits of a byte over eight bytes */
    uint64_t b = (mask >> 8 * k & 0xFF) * 0x0101010101010101u & 0x8040201008040201u; /* byte j keeps bit j */
    b = (((b & 0x7F7F7F7F7F7F7F7Fu) + 0x7F7F7F7F7F7F7F7Fu) | b) >> 7 & 0x0101010101010101u; /* not 0: 1 */
    memcpy(bytes + 8 * k, &b, 8);
  }
#endif
}

/* The mask of the bytes that are not 0; they are 0 or 1. */
static inline __attribute__((always_inline)) uint64_t mx__pack01(const uint8_t *bytes, unsigned lanes) {
#ifdef MX__AVX512
  if (lanes == 64) return (uint64_t)_mm512_test_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(1));
  return (uint64_t)_mm256_test_epi8_mask(_mm256_loadu_si256((const __m256i *)bytes), _mm256_set1_epi8(1));
#else
  uint64_t mask = 0;
  for (unsigned k = 0; k < lanes / 8; k++) {
    uint64_t b;
    memcpy(&b, bytes + 8 * k, 8);
    mask |= (b * 0x0102040810204080u >> 56) << 8 * k;
  }
  return mask;
#endif
}

/* The mask of the 32-bit words that are not 0: comparisons leave such words, since narrowing them to bytes costs more than
 * the comparison itself. They are 0 or 1. */
static inline __attribute__((always_inline)) uint64_t mx__pack32(const uint32_t *words, unsigned lanes) {
  uint64_t mask = 0;
#ifdef MX__AVX512
  /* spelled out: four independent tests, not a chain through one mask */
  const __m512i a = _mm512_loadu_si512(words), b = _mm512_loadu_si512(words + 16);
  mask = _mm512_test_epi32_mask(a, a) | (uint64_t)_mm512_test_epi32_mask(b, b) << 16;
  if (lanes == 64) {
    const __m512i c = _mm512_loadu_si512(words + 32), e = _mm512_loadu_si512(words + 48);
    mask |= (uint64_t)_mm512_test_epi32_mask(c, c) << 32 | (uint64_t)_mm512_test_epi32_mask(e, e) << 48;
  }
#elif defined __AVX2__
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m256i v = _mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)(words + l)), 31);
    mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << l;
  }
#elif defined __SSE2__
  for (unsigned l = 0; l < lanes; l += 4) {
    const __m128i v = _mm_slli_epi32(_mm_loadu_si128((const __m128i *)(words + l)), 31);
    mask |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_castsi128_ps(v)) << l;
  }
#else
  for (unsigned l = 0; l < lanes; l++) mask |= (uint64_t)(words[l] & 1) << l;
#endif
  return mask;
}

static inline __attribute__((always_inline)) void mx__blend32(uint32_t *d, const uint32_t *s, uint64_t mask, unsigned lanes) {
#ifdef MX__AVX512
  _mm512_mask_storeu_epi32(d, (__mmask16)mask, _mm512_loadu_si512(s));
  _mm512_mask_storeu_epi32(d + 16, (__mmask16)(mask >> 16), _mm512_loadu_si512(s + 16));
  if (lanes == 64) {
    _mm512_mask_storeu_epi32(d + 32, (__mmask16)(mask >> 32), _mm512_loadu_si512(s + 32));
    _mm512_mask_storeu_epi32(d + 48, (__mmask16)(mask >> 48), _mm512_loadu_si512(s + 48));
  }
#else
  uint8_t m[64];
  mx__expand01(mask, m);
  for (unsigned l = 0; l < lanes; l++) d[l] = m[l] ? s[l] : d[l];
#endif
}

static inline __attribute__((always_inline)) void mx__blend64(uint64_t *d, const uint64_t *s, uint64_t mask, unsigned lanes) {
#ifdef MX__AVX512
  for (unsigned l = 0; l < lanes; l += 8)
    _mm512_mask_storeu_epi64(d + l, (__mmask8)(mask >> l), _mm512_loadu_si512(s + l));
#else
  uint8_t m[64];
  mx__expand01(mask, m);
  for (unsigned l = 0; l < lanes; l++) d[l] = m[l] ? s[l] : d[l];
#endif
}

#endif

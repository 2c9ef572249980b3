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

/* Without AVX-512 these loops are long: one copy a file, instead of one a body, halves the code and the time to compile it. */
#ifdef MX__AVX512
#define MX__MASKS static inline __attribute__((always_inline))
#else
#define MX__MASKS static __attribute__((noinline, unused))
#endif

/* The bit of a lane in its half of a mask. */
static const uint32_t mx__bit[64] __attribute__((aligned(64), unused)) = {
#define BITS8(n_) 1u << (n_), 1u << ((n_) + 1), 1u << ((n_) + 2), 1u << ((n_) + 3), 1u << ((n_) + 4), 1u << ((n_) + 5), 1u << ((n_) + 6), 1u << ((n_) + 7)
  BITS8(0), BITS8(8), BITS8(16), BITS8(24), BITS8(0), BITS8(8), BITS8(16), BITS8(24)
#undef BITS8
};

#ifndef MX__AVX512
/* bytes[l] = 0 or 1 */
MX__MASKS void mx__expand01(uint64_t mask, uint8_t bytes[64]) {
  for (unsigned k = 0; k < 8; k++) { /* spread the bits of a byte over eight bytes */
    uint64_t b = (mask >> 8 * k & 0xFF) * 0x0101010101010101u & 0x8040201008040201u; /* byte j keeps bit j */
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

/* The mask of 32 words that are not 0: comparisons leave such words, since narrowing them to bytes costs more than the comparison
 * itself. They are 0 or 1. */
static inline __attribute__((always_inline)) uint32_t mx__pack_half(const uint32_t *words) {
#ifdef MX__AVX512
  const __m512i a = _mm512_loadu_si512(words), b = _mm512_loadu_si512(words + 16);
  return _mm512_test_epi32_mask(a, a) | (uint32_t)_mm512_test_epi32_mask(b, b) << 16;
#else
  uint32_t mask = 0;
#ifdef __AVX2__
  for (unsigned l = 0; l < 32; l += 8) {
    const __m256i v = _mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)(words + l)), 31);
    mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << l;
  }
#elif defined __SSE2__
  for (unsigned l = 0; l < 32; l += 4) {
    const __m128i v = _mm_slli_epi32(_mm_loadu_si128((const __m128i *)(words + l)), 31);
    mask |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(v)) << l;
  }
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
MX__MASKS void mx__blend32(uint32_t *d, const uint32_t *s, uint64_t mask, unsigned lanes) {
#ifdef MX__AVX512
  for (unsigned l = 0; l < lanes; l += 16)
    _mm512_storeu_si512(d + l, _mm512_mask_blend_epi32((__mmask16)(mask >> l), _mm512_loadu_si512(d + l), _mm512_loadu_si512(s + l)));
#else
  uint8_t m[64];
  mx__expand01(mask, m);
  for (unsigned l = 0; l < lanes; l++) d[l] = m[l] ? s[l] : d[l];
#endif
}

MX__MASKS void mx__blend64(uint64_t *d, const uint64_t *s, uint64_t mask, unsigned lanes) {
#ifdef MX__AVX512
  for (unsigned l = 0; l < lanes; l += 8)
    _mm512_storeu_si512(d + l, _mm512_mask_blend_epi64((__mmask8)(mask >> l), _mm512_loadu_si512(d + l), _mm512_loadu_si512(s + l)));
#else
  uint8_t m[64];
  mx__expand01(mask, m);
  for (unsigned l = 0; l < lanes; l++) d[l] = m[l] ? s[l] : d[l];
#endif
}

/* ---- lanes whose addresses are not as expected -----------------------------------------------------------------*/
#ifdef MX__AVX512
/* The mask that `test_` gives for the 16 or 8 lanes from l on, for all lanes. */
#define MX__MASK_OF_16(test_) \
  for (unsigned h = 0, l; h < lanes; h += 32) \
    l = h, mask |= (uint64_t)(test_) << l, l += 16, mask |= (uint64_t)(test_) << l;
#define MX__MASK_OF_8(test_) \
  for (unsigned h = 0, l; h < lanes; h += 32) { \
    uint32_t part; \
    l = h, part = (uint32_t)(test_), l += 8, part |= (uint32_t)(test_) << 8, l += 8, part |= (uint32_t)(test_) << 16; \
    l += 8, part |= (uint32_t)(test_) << 24, mask |= (uint64_t)part << h; \
  }
#define MX__IOTA32 _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define MX__IOTA64 _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#else
#define MX__MASK_OF_BYTES(test_) \
  uint8_t wrong[64]; \
  for (unsigned l = 0; l < lanes; l++) wrong[l] = (test_); \
  mask = mx__pack01(wrong, lanes);
#endif
/* a[l] is not start + l * pitch */
MX__MASKS uint64_t mx__unlike32(const uint32_t *a, uint32_t start, uint32_t pitch, unsigned lanes) {
  uint64_t mask = 0;
#ifdef MX__AVX512
  const __m512i row = _mm512_add_epi32(_mm512_set1_epi32((int)start), _mm512_mullo_epi32(_mm512_set1_epi32((int)pitch), MX__IOTA32));
  MX__MASK_OF_16(_mm512_cmpneq_epi32_mask(_mm512_loadu_si512(a + l), _mm512_add_epi32(row, _mm512_set1_epi32((int)(l * pitch)))))
#else
  MX__MASK_OF_BYTES(a[l] != (uint32_t)(start + l * pitch))
#endif
  return mask;
}
MX__MASKS uint64_t mx__unlike64(const uint64_t *a, uint64_t start, uint64_t pitch, unsigned lanes) {
  uint64_t mask = 0;
#ifdef MX__AVX512
  const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)start), _mm512_mullo_epi64(_mm512_set1_epi64((long long)pitch), MX__IOTA64));
  MX__MASK_OF_8(_mm512_cmpneq_epi64_mask(_mm512_loadu_si512(a + l), _mm512_add_epi64(row, _mm512_set1_epi64((long long)(l * pitch)))))
#else
  MX__MASK_OF_BYTES(a[l] != start + l * pitch)
#endif
  return mask;
}
/* a[l] is not the address of its group of 16 plus its number there times pitch */
MX__MASKS uint64_t mx__unlike_groups(const uint32_t *a, uint32_t pitch, unsigned lanes) {
  uint64_t mask = 0;
#ifdef MX__AVX512
  const __m512i row = _mm512_mullo_epi32(_mm512_set1_epi32((int)pitch), MX__IOTA32);
  MX__MASK_OF_16(_mm512_cmpneq_epi32_mask(_mm512_loadu_si512(a + l), _mm512_add_epi32(row, _mm512_set1_epi32((int)a[l]))))
#else
  MX__MASK_OF_BYTES(a[l] != (uint32_t)(a[l & ~15u] + (l & 15u) * pitch))
#endif
  return mask;
}
/* a[l] + off - lo is above limit, or a[l] + off has one of the bits `odd` */
MX__MASKS uint64_t mx__outside32(const uint32_t *a, uint32_t off, uint32_t lo, uint32_t limit, uint32_t odd, unsigned lanes) {
  uint64_t mask = 0;
#ifdef MX__AVX512
  const __m512i shift = _mm512_set1_epi32((int)off), low = _mm512_set1_epi32((int)lo), most = _mm512_set1_epi32((int)limit), bits = _mm512_set1_epi32((int)odd);
#define V _mm512_add_epi32(_mm512_loadu_si512(a + l), shift)
  MX__MASK_OF_16(_mm512_cmpgt_epu32_mask(_mm512_sub_epi32(V, low), most) | _mm512_test_epi32_mask(V, bits))
#undef V
#else
  MX__MASK_OF_BYTES((uint32_t)(a[l] + off - lo) > limit || ((a[l] + off) & odd))
#endif
  return mask;
}
MX__MASKS uint64_t mx__outside64(const uint64_t *a, uint64_t off, uint64_t lo, uint64_t limit, uint64_t odd, unsigned lanes) {
  uint64_t mask = 0;
#ifdef MX__AVX512
  const __m512i shift = _mm512_set1_epi64((long long)off), low = _mm512_set1_epi64((long long)lo), most = _mm512_set1_epi64((long long)limit), bits = _mm512_set1_epi64((long long)odd);
#define V _mm512_add_epi64(_mm512_loadu_si512(a + l), shift)
  MX__MASK_OF_8(_mm512_cmpgt_epu64_mask(_mm512_sub_epi64(V, low), most) | _mm512_test_epi64_mask(V, bits))
#undef V
#else
  MX__MASK_OF_BYTES(a[l] + off - lo > limit || ((a[l] + off) & odd))
#endif
  return mask;
}

#endif

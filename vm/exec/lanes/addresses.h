/* The lanes whose addresses are not as expected, as masks. For memory.c alone, apart from masks.h, since it takes the compiler's
 * header of vector operations, which is long to read. */
#ifndef MX_LANES_ADDRESSES_H
#define MX_LANES_ADDRESSES_H

#include "masks.h"

#ifdef MX__AVX512
#include <immintrin.h>

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

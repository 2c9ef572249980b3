/* The rule of the texture unit by hand, in AVX2: a sample's four channels are one vector. The texels' places are found
 * for four samples at once, in f64 as the rule has them. */
#include "native.h"

#include <immintrin.h>

struct four {
  int32_t first[4], second[4], part[4];
};
static inline struct four along(const float *x, int32_t size) {
  struct four r;
  const __m256d place = _mm256_floor_pd(
      _mm256_sub_pd(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x)), _mm256_set1_pd(256)), _mm256_set1_pd(127.5)));
  const __m128i p = _mm256_cvttpd_epi32(place), i = _mm_srai_epi32(p, 8), zero = _mm_setzero_si128(),
                last = _mm_set1_epi32(size - 1);
  const __m128i outside = _mm_or_si128(_mm_cmplt_epi32(i, zero), _mm_cmpgt_epi32(i, _mm_set1_epi32(size - 2)));
  _mm_storeu_si128((__m128i *)r.part, _mm_andnot_si128(outside, _mm_and_si128(p, _mm_set1_epi32(255))));
  _mm_storeu_si128((__m128i *)r.first, _mm_min_epi32(_mm_max_epi32(i, zero), last));
  _mm_storeu_si128((__m128i *)r.second, _mm_min_epi32(_mm_max_epi32(_mm_add_epi32(i, _mm_set1_epi32(1)), zero), last));
  return r;
}
static inline void weigh(int32_t a, int32_t b, int32_t w[4]) {
  w[3] = (a * b + 128) >> 8, w[1] = a - w[3];
  w[0] = ((256 - a) * (256 - b) + 128) >> 8, w[2] = 256 - a - w[0];
}

/* Of texels that are numbers, not all of them 0: cut to 4 bits below the last one of the greatest, the sum rounded
 * once, halves away from zero. */
static inline __m128 sum_of(const __m128 *v, const int32_t *w) {
  const __m128i exponent = _mm_set1_epi32(0x7F800000);
  __m128i top = _mm_setzero_si128();
  for (int k = 0; k < 4; k++)
    if (w[k]) top = _mm_max_epi32(top, _mm_and_si128(_mm_castps_si128(v[k]), exponent));
  const __m256i t = _mm256_cvtepi32_epi64(_mm_srli_epi32(top, 23));
  const __m256d up = _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_sub_epi64(_mm256_set1_epi64x(1177), t), 52)),
                down = _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi64(_mm256_set1_epi64x(861), t), 52));
  __m256d sum = _mm256_setzero_pd();
  for (int k = 0; k < 4; k++) {
    const __m256d texel = _mm256_cvtepi32_pd(_mm256_cvttpd_epi32(_mm256_mul_pd(_mm256_cvtps_pd(v[k]), up)));
    sum = _mm256_fmadd_pd(texel, _mm256_set1_pd(w[k]), sum);
  }
  return _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_mul_pd(sum, down), _mm256_set1_pd(1 + 0x1p-50)));
}
void native_floats(const float *texels, int32_t size, const float *x, const float *y, uint32_t n, float *out) {
  for (uint32_t s = 0; s < n; s += 4) {
    const struct four across = along(x + s, size), below = along(y + s, size);
    for (int l = 0; l < 4; l++) {
      int32_t w[4];
      const float *upper = texels + (int64_t)below.first[l] * size * 4,
                  *lower = texels + (int64_t)below.second[l] * size * 4;
      weigh(across.part[l], below.part[l], w);
      const __m128 v[4] = {_mm_loadu_ps(upper + 4 * across.first[l]), _mm_loadu_ps(upper + 4 * across.second[l]),
                           _mm_loadu_ps(lower + 4 * across.first[l]), _mm_loadu_ps(lower + 4 * across.second[l])};
      _mm_storeu_ps(out + 4 * (s + (uint32_t)l), sum_of(v, w));
    }
  }
}
static inline __m128i texel(const uint8_t *at, int32_t w) {
  return _mm_mullo_epi32(_mm_cvtepu8_epi32(_mm_loadu_si32(at)), _mm_set1_epi32(w));
}
void native_bytes(const uint8_t *texels, int32_t size, const float *x, const float *y, uint32_t n, float *out) {
  for (uint32_t s = 0; s < n; s += 4) {
    const struct four across = along(x + s, size), below = along(y + s, size);
    for (int l = 0; l < 4; l++) {
      int32_t w[4];
      const uint8_t *upper = texels + (int64_t)below.first[l] * size * 4,
                    *lower = texels + (int64_t)below.second[l] * size * 4;
      weigh(across.part[l], below.part[l], w);
      __m128i sum = _mm_add_epi32(
          _mm_add_epi32(texel(upper + 4 * across.first[l], w[0]), texel(upper + 4 * across.second[l], w[1])),
          _mm_add_epi32(texel(lower + 4 * across.first[l], w[2]), texel(lower + 4 * across.second[l], w[3])));
      sum = _mm_srli_epi32(_mm_add_epi32(_mm_mullo_epi32(sum, _mm_set1_epi32(257)), _mm_set1_epi32(128)), 8);
      _mm_storeu_ps(out + 4 * (s + (uint32_t)l),
                    _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtepi32_pd(sum), _mm256_set1_pd(1.0 / 65535))));
    }
  }
}

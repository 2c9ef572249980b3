/* Five more kernels by hand with AVX-512, for the bench's "best" column: whatever the processor does best with the same
 * work. */
#include "bench.h"

#include <immintrin.h>
#include <omp.h>
#include <string.h>

/* Each thread adds up its part, then goes over it again with the sums of those before: 16 words in four steps. */
static __m512i up(__m512i v, int n) { /* lanes moved up by n, zeros below */
  const __m512i zero = _mm512_setzero_si512();
  switch (n) {
  case 1: return _mm512_alignr_epi32(v, zero, 15);
  case 2: return _mm512_alignr_epi32(v, zero, 14);
  case 4: return _mm512_alignr_epi32(v, zero, 12);
  default: return _mm512_alignr_epi32(v, zero, 8);
  }
}
static void scan(struct bench_data *d) {
  const uint32_t *x = d->buffer[BENCH_WORDS];
  uint32_t *out = d->buffer[BENCH_C], sums[256] = {0};
#pragma omp parallel
  {
    const size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num(),
                 part = (d->n / threads + 63) & ~(size_t)63;
    const size_t from = me * part < d->n ? me * part : d->n, to = from + part < d->n ? from + part : d->n;
    __m512i s0 = _mm512_setzero_si512(), s1 = s0;
    for (size_t i = from; i < to; i += 32) {
      s0 = _mm512_add_epi32(s0, _mm512_load_si512(x + i));
      s1 = _mm512_add_epi32(s1, _mm512_load_si512(x + i + 16));
    }
    sums[me & 255] = (uint32_t)_mm512_reduce_add_epi32(_mm512_add_epi32(s0, s1));
#pragma omp barrier
    uint32_t before = 0;
    for (size_t k = 0; k < me; k++) before += sums[k & 255];
    __m512i carry = _mm512_set1_epi32((int)before);
    const __m512i last = _mm512_set1_epi32(15);
    for (size_t i = from; i < to; i += 16) {
      __m512i v = _mm512_load_si512(x + i);
      v = _mm512_add_epi32(v, up(v, 1));
      v = _mm512_add_epi32(v, up(v, 2));
      v = _mm512_add_epi32(v, up(v, 4));
      v = _mm512_add_epi32(v, up(v, 8));
      v = _mm512_add_epi32(v, carry);
      carry = _mm512_permutexvar_epi32(last, v);
      _mm512_store_si512(out + i, v);
    }
  }
}

/* 16 x 16 floats in registers, four steps of pairs. */
static void turn(const float *a, float *b, size_t side) {
  __m512i r[16], t[16];
  for (int k = 0; k < 16; k++) r[k] = _mm512_loadu_si512(a + (size_t)k * side);
  for (int k = 0; k < 16; k += 2)
    t[k] = _mm512_unpacklo_epi32(r[k], r[k + 1]), t[k + 1] = _mm512_unpackhi_epi32(r[k], r[k + 1]);
  for (int k = 0; k < 16; k += 4)
    for (int h = 0; h < 2; h++)
      r[k + 2 * h] = _mm512_unpacklo_epi64(t[k + h], t[k + 2 + h]),
                r[k + 2 * h + 1] = _mm512_unpackhi_epi64(t[k + h], t[k + 2 + h]);
  for (int k = 0; k < 4; k++) {
    t[k] = _mm512_shuffle_i32x4(r[k], r[k + 4], 0x88), t[k + 4] = _mm512_shuffle_i32x4(r[k], r[k + 4], 0xdd);
    t[k + 8] = _mm512_shuffle_i32x4(r[k + 8], r[k + 12], 0x88),
          t[k + 12] = _mm512_shuffle_i32x4(r[k + 8], r[k + 12], 0xdd);
  }
  for (int k = 0; k < 8; k++)
    r[k] = _mm512_shuffle_i32x4(t[k], t[k + 8], 0x88), r[k + 8] = _mm512_shuffle_i32x4(t[k], t[k + 8], 0xdd);
  for (int k = 0; k < 16; k++) _mm512_storeu_si512(b + (size_t)k * side, r[k]);
}
static void transpose(struct bench_data *d) {
  const size_t side = bench_side(d->n);
  const float *a = d->buffer[BENCH_A];
  float *b = d->buffer[BENCH_C];
#pragma omp parallel for
  for (size_t row = 0; row < side; row += 16)
    for (size_t column = 0; column < side; column += 16) turn(a + column * side + row, b + row * side + column, side);
}

/* Four lines of 32 pixels in registers; each line of the image is loaded once for all of them. */
static void edge_pixel(const float *image, float *out, int side, int x, int y, const float f[5][5]) {
  float s = 0;
  for (int j = 0; j < 5; j++)
    for (int i = 0; i < 5; i++) {
      int c = x + i - 2, r = y + j - 2;
      c = c < 0 ? 0 : c >= side ? side - 1 : c;
      r = r < 0 ? 0 : r >= side ? side - 1 : r;
      s += f[j][i] * image[r * side + c];
    }
  out[y * side + x] = s;
}
static void convolution(struct bench_data *d) {
  static const float row[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  const int side = (int)bench_side(d->n);
  const float *image = d->buffer[BENCH_A];
  float *out = d->buffer[BENCH_C], f[5][5];
  for (int j = 0; j < 5; j++)
    for (int i = 0; i < 5; i++) f[j][i] = row[j] * row[i];
#pragma omp parallel for
  for (int y = 0; y < side; y += 4) {
    for (int x = 2; x + 34 <= side; x += 32) {
      __m512 s[4][2];
      for (int k = 0; k < 4; k++) s[k][0] = s[k][1] = _mm512_setzero_ps();
#pragma GCC unroll 8
      for (int j = 0; j < 8; j++) {
        int r = y + j - 2;
        r = r < 0 ? 0 : r >= side ? side - 1 : r;
        const float *line = image + r * side + x - 2;
#pragma GCC unroll 5
        for (int i = 0; i < 5; i++) {
          const __m512 v0 = _mm512_loadu_ps(line + i), v1 = _mm512_loadu_ps(line + i + 16);
#pragma GCC unroll 4
          for (int k = 0; k < 4; k++)
            if (j - k >= 0 && j - k < 5) {
              const __m512 c = _mm512_set1_ps(f[j - k][i]);
              s[k][0] = _mm512_fmadd_ps(c, v0, s[k][0]);
              s[k][1] = _mm512_fmadd_ps(c, v1, s[k][1]);
            }
        }
      }
      for (int k = 0; k < 4; k++)
        _mm512_storeu_ps(out + (y + k) * side + x, s[k][0]), _mm512_storeu_ps(out + (y + k) * side + x + 16, s[k][1]);
    }
    const int done = 2 + (side - 4) / 32 * 32;
    for (int k = 0; k < 4; k++) {
      for (int x = 0; x < 2; x++) edge_pixel(image, out, side, x, y + k, f);
      for (int x = done; x < side; x++) edge_pixel(image, out, side, x, y + k, f);
    }
  }
}

/* 16 messages, a word of each in a register; rotations and logic of three are single instructions. */
#define X3(a_, b_, c_) _mm512_ternarylogic_epi32(a_, b_, c_, 0x96)
#define R(x_, n_) _mm512_ror_epi32(x_, n_)
#define S(x_, n_) _mm512_srli_epi32(x_, n_)
#define ADD(x_, y_) _mm512_add_epi32(x_, y_)
#define ROUND(a_, b_, c_, d_, e_, f_, g_, h_, k_) \
  h_ = ADD(h_, ADD(_mm512_set1_epi32((int)bench_sha_k[t + k_]), w[k_])); \
  h_ = ADD(h_, ADD(X3(R(e_, 6), R(e_, 11), R(e_, 25)), _mm512_ternarylogic_epi32(e_, f_, g_, 0xCA))); \
  d_ = ADD(d_, h_); \
  h_ = ADD(h_, ADD(X3(R(a_, 2), R(a_, 13), R(a_, 22)), _mm512_ternarylogic_epi32(a_, b_, c_, 0xE8)));
#define EIGHT(k_) \
  ROUND(a, b, c, e0, e, f, g, h, k_) \
  ROUND(h, a, b, c, e0, e, f, g, k_ + 1) \
  ROUND(g, h, a, b, c, e0, e, f, k_ + 2) \
  ROUND(f, g, h, a, b, c, e0, e, k_ + 3) \
  ROUND(e, f, g, h, a, b, c, e0, k_ + 4) \
  ROUND(e0, e, f, g, h, a, b, c, k_ + 5) ROUND(c, e0, e, f, g, h, a, b, k_ + 6) ROUND(b, c, e0, e, f, g, h, a, k_ + 7)
static __m512i swapped(__m512i v) {
  return _mm512_shuffle_epi8(v, _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203));
}
static void sha256(struct bench_data *d) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint32_t *x = d->buffer[BENCH_WORDS];
  uint32_t *digests = d->buffer[BENCH_C];
  const __m512i at =
      _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32(8));
#pragma omp parallel for
  for (size_t m = 0; m < d->n / 8; m += 16) {
    __m512i w[16];
    for (int k = 0; k < 8; k++) w[k] = swapped(_mm512_i32gather_epi32(at, x + 8 * m + (size_t)k, 4));
    for (int k = 9; k < 15; k++) w[k] = _mm512_setzero_si512();
    w[8] = _mm512_set1_epi32((int)0x80000000);
    w[15] = _mm512_set1_epi32(256);
    __m512i a = _mm512_set1_epi32((int)start[0]), b = _mm512_set1_epi32((int)start[1]),
            c = _mm512_set1_epi32((int)start[2]);
    __m512i e0 = _mm512_set1_epi32((int)start[3]), e = _mm512_set1_epi32((int)start[4]),
            f = _mm512_set1_epi32((int)start[5]);
    __m512i g = _mm512_set1_epi32((int)start[6]), h = _mm512_set1_epi32((int)start[7]);
    for (int t = 0;; t += 16) {
      EIGHT(0) EIGHT(8) if (t == 48) break;
#pragma GCC unroll 16
      for (int k = 0; k < 16; k++) {
        const __m512i p = w[(k + 1) & 15], q = w[(k + 14) & 15];
        w[k] = ADD(ADD(w[k], w[(k + 9) & 15]), ADD(X3(R(p, 7), R(p, 18), S(p, 3)), X3(R(q, 17), R(q, 19), S(q, 10))));
      }
    }
    const __m512i s[8] = {a, b, c, e0, e, f, g, h};
    for (int k = 0; k < 8; k++)
      _mm512_i32scatter_epi32(digests + 8 * m + (size_t)k, at, swapped(ADD(s[k], _mm512_set1_epi32((int)start[k]))), 4);
  }
}

/* Runs of 512 are 32 vectors: distances from 16 on are between vectors, shorter ones inside of them. */
static void bitonic(struct bench_data *d) {
  enum { RUN = 512 };
  uint32_t *keys = d->buffer[BENCH_KEYS];
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#pragma omp parallel for
  for (size_t run = 0; run < d->n / 4; run += RUN) {
    __m512i v[32];
    for (int i = 0; i < 32; i++) v[i] = _mm512_loadu_si512(keys + run + 16 * i);
#pragma GCC unroll 9
    for (int k = 2; k <= RUN; k *= 2) {
#pragma GCC unroll 9
      for (int j = k / 2; j >= 16; j /= 2)
#pragma GCC unroll 32
        for (int i = 0; i < 32; i++) {
          if (i & j / 16) continue;
          const __m512i lo = _mm512_min_epu32(v[i], v[i + j / 16]), hi = _mm512_max_epu32(v[i], v[i + j / 16]);
          const bool down = 16 * i & k;
          v[i] = down ? hi : lo;
          v[i + j / 16] = down ? lo : hi;
        }
#pragma GCC unroll 9
      for (int j = k / 2 < 16 ? k / 2 : 8; j; j /= 2) {
        const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(j)),
                        falls = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(k));
        const __m512i other = _mm512_xor_si512(lane, _mm512_set1_epi32(j));
#pragma GCC unroll 32
        for (int i = 0; i < 32; i++) {
          const __m512i p = _mm512_permutexvar_epi32(other, v[i]);
          const __mmask16 down = k >= 16 ? (16 * i & k ? 0xffff : 0) : falls;
          v[i] =
              _mm512_mask_blend_epi32((__mmask16)(upper ^ down), _mm512_min_epu32(v[i], p), _mm512_max_epu32(v[i], p));
        }
      }
    }
    for (int i = 0; i < 32; i++) _mm512_storeu_si512(keys + run + 16 * i, v[i]);
  }
}

void (*const bench_best[BENCH_KERNELS - BENCH_FIRST])(struct bench_data *) = {scan, transpose, convolution, sha256,
                                                                              bitonic};

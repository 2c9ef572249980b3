/* Vectors for loops over the addresses of all lanes. */
#ifndef MX_LANES_ADDRESSES_H
#define MX_LANES_ADDRESSES_H

#include "body.h"

/* Loops over lanes are written with explicit vectors (mx__v64 and mx__v32 of masks.h), since the code that gcc makes of
 * plain loops takes many more instructions to widen 32-bit addresses. */
enum { LANES_A_VECTOR = MX__VECTOR / 8 };
typedef int64_t lanes_s __attribute__((vector_size(MX__VECTOR)));
typedef uint32_t lanes_h __attribute__((vector_size(MX__VECTOR / 2), may_alias, aligned(4)));
static const uint64_t lanes_numbers[8] __attribute__((aligned(64))) = {0, 1, 2, 3, 4, 5, 6, 7};
static const uint64_t lanes_bits[8] __attribute__((aligned(64))) = {1, 2, 4, 8, 16, 32, 64, 128};

/* The lower and the upper 32-bit words of the elements of two vectors of 64-bit numbers. */
typedef uint32_t lanes_words __attribute__((vector_size(MX__VECTOR)));
#if MX__VECTOR == 64
#define EVEN_ 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_ 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif MX__VECTOR == 32
#define EVEN_ 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_ 1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVEN_ 0, 2, 4, 6
#define ODD_ 1, 3, 5, 7
#endif
#define EVEN_WORDS(x_, y_) __builtin_shufflevector((lanes_words)(x_), (lanes_words)(y_), EVEN_)
#define ODD_WORDS(x_, y_) __builtin_shufflevector((lanes_words)(x_), (lanes_words)(y_), ODD_)
static const uint32_t words_numbers[16]
    __attribute__((aligned(64))) = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
/* All elements, by OR. */
MX__INL uint32_t words_any(mx__v32 v) {
  uint32_t all = 0;
  for (unsigned k = 0; k < 2 * LANES_A_VECTOR; k++) all |= v[k];
  return all;
}
MX__INL uint64_t lanes_any(mx__v64 v) {
  uint64_t all = 0;
  for (unsigned k = 0; k < LANES_A_VECTOR; k++) all |= v[k];
  return all;
}
/* Whether a bit of the vector is set. */
MX__INL bool any_bit(mx__v64 v) {
#if defined MX__AVX512
  typedef long long longs __attribute__((vector_size(64)));
  return __builtin_ia32_ptestmq512((longs)v, (longs)v, 0xFF);
#elif defined __AVX2__ && !defined __clang__
  typedef long long longs __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256((longs)v, (longs)v);
#else
  return lanes_any(v);
#endif
}

#endif

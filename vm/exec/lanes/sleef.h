/* SLEEF's deterministic functions at this CPU level's width: the `finz` forms, which compute with fused multiply-adds
 * and give the same bits at every width. Levels without vectors of floats take the scalar ones, which need the
 * processor's fused instruction all the same; where it lacks that, the `cinz` forms, whose errors have the same bounds.
 */
#ifndef MX_LANES_SLEEF_H
#define MX_LANES_SLEEF_H

#include <stdbool.h>
#include <string.h>

#include "core/vocab.h"

#ifndef FP_FAST_FMA /* the header's condition for declaring the scalar fused forms, which the library has in any case \
                     */
#define FP_FAST_FMA 1
#include <sleef.h>
#undef FP_FAST_FMA
#else
#include <sleef.h>
#endif

#if defined __AVX512F__ && defined __AVX512DQ__
typedef __m512 mx__vf32;
typedef __m512d mx__vf64;
typedef Sleef___m512_2 mx__vf32x2;
typedef Sleef___m512d_2 mx__vf64x2;
#define MX__SLEEF_f32(name_, u_) Sleef_finz_##name_##f16_##u_##avx512f
#define MX__SLEEF_f64(name_, u_) Sleef_finz_##name_##d8_##u_##avx512f
#elif defined __AVX2__ && defined __FMA__
typedef __m256 mx__vf32;
typedef __m256d mx__vf64;
typedef Sleef___m256_2 mx__vf32x2;
typedef Sleef___m256d_2 mx__vf64x2;
#define MX__SLEEF_f32(name_, u_) Sleef_finz_##name_##f8_##u_##avx2
#define MX__SLEEF_f64(name_, u_) Sleef_finz_##name_##d4_##u_##avx2
#else
typedef float mx__vf32;
typedef double mx__vf64;
typedef Sleef_float_2 mx__vf32x2;
typedef Sleef_double_2 mx__vf64x2;
#if defined __x86_64__
static inline bool mx__fuses(void) { return __builtin_cpu_supports("fma"); }
#define MX__SLEEF_f32(name_, u_) \
  (mx__fuses() ? Sleef_finz_##name_##f1_##u_##purecfma : Sleef_cinz_##name_##f1_##u_##purec)
#define MX__SLEEF_f64(name_, u_) \
  (mx__fuses() ? Sleef_finz_##name_##d1_##u_##purecfma : Sleef_cinz_##name_##d1_##u_##purec)
#else
#define MX__SLEEF_f32(name_, u_) Sleef_finz_##name_##f1_##u_##purecfma
#define MX__SLEEF_f64(name_, u_) Sleef_finz_##name_##d1_##u_##purecfma
#endif
#endif

/* A result's NaN as fn_math.c says, without leaving the vector: r of x. */
#if defined __AVX2__ && defined __FMA__
static inline mx__vf64 mend_f64(mx__vf64 r, mx__vf64 x) {
  typedef uint64_t bits __attribute__((vector_size(sizeof(mx__vf64))));
  const bits number = (bits)(r == r), nan = (bits)(x != x);
  return (mx__vf64)(((bits)r & number) |
                    (((((bits)x | 0x0008000000000000u) & nan) | (0xFFF8000000000000u & ~nan)) & ~number));
}
static inline mx__vf32 mend_f32(mx__vf32 r, mx__vf32 x) {
  typedef uint32_t bits __attribute__((vector_size(sizeof(mx__vf32))));
  const bits number = (bits)(r == r);
  (void)x;
  return (mx__vf32)(((bits)r & number) | (0x7FFFFFFF & ~number));
}
#else
static inline double mend_f64(double r, double x) {
  return r == r ? r : x == x ? mx__of_f64(0xFFF8000000000000u) : mx__of_f64(mx__raw_f64(x) | 0x0008000000000000u);
}
static inline float mend_f32(float r, float x) {
  (void)x;
  return r == r ? r : mx__of_f32(0x7FFFFFFF);
}
#endif

/* pass_NAME_TYPE(r, x[, y], lanes): the function over arrays; r may be x or y. */
#define MX__PASS1(name_, t_, u_) \
  static inline void pass_##name_##_##t_(mx_##t_ *r, const mx_##t_ *x, unsigned lanes) { \
    for (unsigned l = 0; l < lanes; l += sizeof(mx__v##t_) / sizeof *r) { \
      mx__v##t_ v; \
      memcpy(&v, x + l, sizeof v); \
      v = MX__SLEEF_##t_(name_, u_)(v); \
      memcpy(r + l, &v, sizeof v); \
    } \
  }
#define MX__PASS2(name_, t_, u_) \
  static inline void pass_##name_##_##t_(mx_##t_ *r, const mx_##t_ *x, const mx_##t_ *y, unsigned lanes) { \
    for (unsigned l = 0; l < lanes; l += sizeof(mx__v##t_) / sizeof *r) { \
      mx__v##t_ v, w; \
      memcpy(&v, x + l, sizeof v); \
      memcpy(&w, y + l, sizeof w); \
      v = MX__SLEEF_##t_(name_, u_)(v, w); \
      memcpy(r + l, &v, sizeof v); \
    } \
  }
/* two results */
#define MX__PASS11(name_, t_, u_) \
  static inline void pass_##name_##_##t_(mx_##t_ *r, mx_##t_ *s, const mx_##t_ *x, unsigned lanes) { \
    for (unsigned l = 0; l < lanes; l += sizeof(mx__v##t_) / sizeof *r) { \
      mx__v##t_ v; \
      memcpy(&v, x + l, sizeof v); \
      const mx__v##t_##x2 w = MX__SLEEF_##t_(name_, u_)(v); \
      memcpy(r + l, &w.x, sizeof v); \
      memcpy(s + l, &w.y, sizeof v); \
    } \
  }

#endif

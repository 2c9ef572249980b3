/* Lane functions of reciprocal roots and of the roots of sums of squares. Squares are summed with the rounding errors
 * kept, after scaling by a power of two, so that nothing overflows or vanishes that matters. */
#include "fn.h"
#include "vm/exec/norm.h"
#include "sleef.h"
#include "core/vocab.h"

MX__PASS1(cbrt, f64, u10)

/* One step of Newton's method with the residual exact. */
MX__INL double rsqrt(double x) {
  const bool tiny = x < 0x1p-1000;
  const double v = tiny ? x * 0x1p54 : x, y = 1 / SQRT(f64, v);
  const double h = v * y, low = FMA(f64, v, y, -h), rest = FMA(f64, -h, y, 1) - low * y;
  const double r = v > 0 && v < __builtin_inf() ? FMA(f64, y * 0.5, rest, y) : y;
  return tiny ? r * 0x1p27 : r;
}
void MX_FN(rsqrt_f64)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  double *r = d;
  const double *x = a;
  for (unsigned l = 0; l < lanes; l++) {
    const double A = x[l];
    r[l] = NAN1(rsqrt(A));
  }
}
/* 1 / cbrt(x): the quotient, mended by 1 - x r^3 */
static void rcbrt(double *r, const double *x, unsigned lanes) {
  pass_cbrt_f64(r, x, lanes);
  for (unsigned l = 0; l < lanes; l++) {
    const double m = __builtin_fabs(x[l]);
    const bool tiny = m<0x1p-900, large = m> 0x1p900;
    const double v = tiny    ? x[l] * 0x1p300
                     : large ? x[l] * 0x1p-300
                             : x[l],
                 y = (tiny    ? 0x1p-100
                      : large ? 0x1p100
                              : 1) /
                     r[l];
    const double s = y * y, sl = FMA(f64, y, y, -s), t = v * s, tl = FMA(f64, v, s, -t) + v * sl;
    const double rest = FMA(f64, -t, y, 1) - tl * y;
    const double z = FMA(f64, y * 0x1.5555555555555p-2, rest, y);
    r[l] = m > 0 && m < __builtin_inf() ? z * (tiny ? 0x1p100 : large ? 0x1p-100 : 1) : 1 / r[l];
  }
}
void MX_FN(rcbrt_f64)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  double r[MX_MAX_LANES];
  const double *x = a;
  rcbrt(r, x, lanes);
  for (unsigned l = 0; l < lanes; l++) {
    const double A = x[l];
    r[l] = NAN1(r[l]);
  }
  memcpy(d, r, lanes * sizeof r[0]);
}
void MX_FN(rcbrt_f32)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  double r[MX_MAX_LANES];
  float *to = d;
  const float *x = a;
  for (unsigned l = 0; l < lanes; l++) r[l] = x[l];
  pass_cbrt_f64(r, r, lanes);
  for (unsigned l = 0; l < lanes; l++) to[l] = CANON(f32, (float)(1 / r[l]));
}

/* Operands 0 to n_ - 1 of a, b, c, e. */
#define NORM(name_, n_, value_, float_) \
  void MX_FN(name_##_f64)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e, (void)mod; \
    const double *in[4] = {a, b, c, e}; \
    double r[MX_MAX_LANES]; \
    for (unsigned l = 0; l < lanes; l++) { \
      double x[n_]; \
      for (unsigned k = 0; k < n_; k++) x[k] = in[k][l]; \
      r[l] = value_(x, n_, mx__double_at); \
    } \
    memcpy(d, r, lanes * sizeof r[0]); \
  } \
  void MX_FN(name_##_f32)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e, (void)mod; \
    const float *in[4] = {a, b, c, e}; \
    float r[MX_MAX_LANES]; \
    for (unsigned l = 0; l < lanes; l++) { \
      double x[n_]; \
      for (unsigned k = 0; k < n_; k++) x[k] = in[k][l]; \
      r[l] = CANON(f32, (float)float_); \
    } \
    memcpy(d, r, lanes * sizeof r[0]); \
  }
#define ROOT(n_) mx__norm_of_floats(x, n_, mx__double_at)
NORM(rhypot, 2, mx__rnorm, 1 / ROOT(2))
NORM(norm3d, 3, mx__norm, ROOT(3))
NORM(rnorm3d, 3, mx__rnorm, 1 / ROOT(3))
NORM(norm4d, 4, mx__norm, ROOT(4))
NORM(rnorm4d, 4, mx__rnorm, 1 / ROOT(4))

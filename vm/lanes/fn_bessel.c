/* Lane functions of Bessel functions. */
#include "vm/lanes/exponential.h"
#include "vm/lanes/fn.h"
#include "vm/lanes/own.h"
#include "vm/lanes/sleef.h"
#include "vm/lanes/tables_bessel.h"

MX__PASS1(log, f64, u10)
MX__PASS11(sincos, f64, u10)

/* ---- modified ------------------------------------------------------------------------------------------------------------ */

#define MODIFIED(table_, factor_) { \
  for (unsigned l = 0; l < lanes; l++) { \
    double m = __builtin_fabs(x[l]), n; \
    m = m > 1000 ? 1000 : m; \
    const double p = mx__exp_parts(m, 0, &n); \
    r[l] = mx__scale(factor_ * PIECE(table_, m, 0x1p-2, 3) * p, n); \
  } \
}
OWN1(cyl_bessel_i0, MODIFIED(scaled_i0, 1))
OWN1(cyl_bessel_i1, MODIFIED(scaled_i1, __builtin_copysign(m, x[l])))

/* ---- orders 0 and 1 ---------------------------------------------------------------------------------------------------------- */

#define POLY(name_, u_) poly(name_, sizeof name_ / sizeof name_[0], u_)
MX__INL double poly(const double *c, size_t n, double u) {
  double s = c[n - 1];
  for (size_t j = n - 1; j-- > 0;) s = FMA(f64, s, u, c[j]);
  return s;
}

/* From 8 on: 1/sqrt(pi x) times P times one sum of sine and cosine and Q times the other. */
#define FAR(n_, p_, q_) \
  (0x1.20dd750429b6dp-1 / SQRT(f64, m) * (POLY(far_p##n_, u - 0.5) * (p_) + POLY(far_q##n_, u - 0.5) * (8 / m) * (q_)))
#define WAVE(near_, far_) \
  double s[MX_MAX_LANES], c[MX_MAX_LANES]; \
  unsigned beyond = 0; \
  for (unsigned l = 0; l < lanes; l++) { \
    const double m = __builtin_fabs(x[l]); \
    beyond |= m >= 8; \
    s[l] = m >= 8 && m < __builtin_inf() ? m : 0; \
    r[l] = near_; \
  } \
  if (beyond) { \
    pass_sincos_f64(s, c, s, lanes); \
    for (unsigned l = 0; l < lanes; l++) { \
      const double m = __builtin_fabs(x[l]), v = 8 / m, u = v * v; \
      r[l] = m >= 8 ? m < __builtin_inf() ? (far_) : 0 : r[l]; \
    } \
  }
static void j0_near(double *r, const double *x, unsigned lanes) {
  WAVE(PIECE(bessel_j0, m, 0x1p-2, 3), FAR(0, c[l] + s[l], c[l] - s[l]))
}
static void j1_near(double *r, const double *x, unsigned lanes) {
  WAVE(PIECE(bessel_j1, m, 0x1p-2, 3), FAR(1, s[l] - c[l], s[l] + c[l]))
  for (unsigned l = 0; l < lanes; l++) r[l] = x[l] < 0 ? -r[l] : x[l] == 0 ? x[l] : r[l];
}
/* Below 1/4 the logarithm is apart. */
#define SECOND(table_, small_, n_, p_, q_) \
  double w[MX_MAX_LANES]; \
  for (unsigned l = 0; l < lanes; l++) w[l] = x[l]; \
  pass_log_f64(w, w, lanes); \
  { WAVE(PIECE(table_, m, 0x1p-2, 3), FAR(n_, p_, q_)) } \
  for (unsigned l = 0; l < lanes; l++) { \
    const double u = x[l] * x[l]; \
    r[l] = x[l] < 0x1p-2 ? (small_) : r[l]; \
    r[l] = x[l] > 0 ? r[l] : x[l] == 0 ? -__builtin_inf() : __builtin_nan(""); \
  }
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
static void y0_near(double *r, const double *x, unsigned lanes) {
  SECOND(bessel_y0, FMA(f64, TWO_OVER_PI * w[l], PIECE(bessel_j0, x[l], 0x1p-2, 3), POLY(small_y0, u)), 0, s[l] - c[l], c[l] + s[l])
}
static void y1_near(double *r, const double *x, unsigned lanes) {
  SECOND(bessel_y1, FMA(f64, TWO_OVER_PI * w[l], PIECE(bessel_j1, x[l], 0x1p-2, 3), x[l] * POLY(small_y1, u)) - TWO_OVER_PI / x[l], 1, -(s[l] + c[l]), s[l] - c[l])
}
OWN1(j0, { j0_near(r, x, lanes); })
OWN1(j1, { j1_near(r, x, lanes); })
OWN1(y0, { y0_near(r, x, lanes); })
OWN1(y1, { y1_near(r, x, lanes); })

/* Lane functions of Bessel functions. */
#include "exponential.h"
#include "fn.h"
#include "own.h"
#include "sleef.h"
#include "tables_bessel.h"

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
static void j0_all(double *r, const double *x, unsigned lanes) {
  WAVE(PIECE(bessel_j0, m, 0x1p-2, 3), FAR(0, c[l] + s[l], c[l] - s[l]))
}
static void j1_all(double *r, const double *x, unsigned lanes) {
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
static void y0_all(double *r, const double *x, unsigned lanes) {
  SECOND(bessel_y0, FMA(f64, TWO_OVER_PI * w[l], PIECE(bessel_j0, x[l], 0x1p-2, 3), POLY(small_y0, u)), 0, s[l] - c[l], c[l] + s[l])
}
static void y1_all(double *r, const double *x, unsigned lanes) {
  SECOND(bessel_y1, FMA(f64, TWO_OVER_PI * w[l], PIECE(bessel_j1, x[l], 0x1p-2, 3), x[l] * POLY(small_y1, u)) - TWO_OVER_PI / x[l], 1, -(s[l] + c[l]), s[l] - c[l])
}
OWN1(j0, { j0_all(r, x, lanes); })
OWN1(j1, { j1_all(r, x, lanes); })
OWN1(y0, { y0_all(r, x, lanes); })
OWN1(y1, { y1_all(r, x, lanes); })

/* ---- any order ---------------------------------------------------------------------------------------------------------- */

/* Upwards from orders 0 and 1: stable for Y, and for J up to order x. Ends early where nothing more can change. */
static double upwards(int32_t n, double x, double first, double second) {
  for (int32_t k = 1; k < n && second - second == 0; k++) {
    const double next = 2 * (double)k / x * second - first;
    first = second, second = next;
  }
  return n ? second : first;
}
/* Downwards from where J is negligible, then scaled by what order 0 or 1 is. */
static double downwards(int32_t n, double x, double first, double second) {
  if (x < 1e-8) { /* (x/2)^n / n! */
    double t = 1;
    for (int32_t k = 1; k <= n && t != 0; k++) t *= x / 2 / k;
    return t;
  }
  double above = 0, here = 1e-300, wanted = 0, one = 0;
  for (int32_t k = n + 20 + (int32_t)SQRT(f64, 60. * n); k > 0; k--) {
    if (k == n) wanted = here;
    if (k == 1) one = here;
    const double below = 2 * (double)k / x * here - above;
    above = here, here = below;
    if (__builtin_fabs(here) > 1e200) here *= 1e-200, above *= 1e-200, wanted *= 1e-200, one *= 1e-200;
  }
  return __builtin_fabs(first) > __builtin_fabs(second) ? wanted * (first / here) : wanted * (second / one);
}
static double first_kind(int32_t n, double x, double first, double second) {
  if (n < 0 || x != x) return __builtin_nan("");
  if (n < 2) return n ? second : first;
  const double m = __builtin_fabs(x);
  if (m > 0x1.fffffffffffffp1023) return 0;
  if (x < 0) second = -second; /* J1 is odd */
  const double r = n <= m ? upwards(n, m, first, second) : downwards(n, m, first, second);
  return x < 0 && n % 2 ? -r : r;
}
static double second_kind(int32_t n, double x, double first, double second) {
  return n < 0 || !(x >= 0) ? __builtin_nan("") : upwards(n, x, first, second);
}
/* Orders beyond this, whose recurrences would take too long, are taken to be this. */
enum { MOST_ORDER = 1 << 20 };
#define ORDER(name_, t_, value_, zero_, one_, nan_) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e, (void)mod; \
    mx_##t_ *to = d; \
    const mx_##t_ *from = b; \
    const int32_t *n = a; \
    double x[MX_MAX_LANES], first[MX_MAX_LANES], second[MX_MAX_LANES]; \
    for (unsigned l = 0; l < lanes; l++) x[l] = from[l]; \
    zero_(first, x, lanes); \
    one_(second, x, lanes); \
    for (unsigned l = 0; l < lanes; l++) { \
      const mx_##t_ r = (mx_##t_)value_(n[l] < MOST_ORDER ? n[l] : MOST_ORDER, x[l], first[l], second[l]); \
      to[l] = nan_(from[l], r); \
    } \
  }
#define NAN_f32(a_, r_) CANON(f32, r_)
#define NAN_f64(a_, r_) LET(f64, A, a_, NAN1(r_))
ORDER(jn, f32, first_kind, j0_all, j1_all, NAN_f32)
ORDER(yn, f32, second_kind, y0_all, y1_all, NAN_f32)
ORDER(jn, f64, first_kind, j0_all, j1_all, NAN_f64)
ORDER(yn, f64, second_kind, y0_all, y1_all, NAN_f64)

/* Lane functions of Bessel functions. */
#include "exponential.h"
#include "fn.h"
#include "own.h"
#include "sleef.h"
#include "tables_bessel.h"

MX__PASS1(log, f64, u10)
MX__PASS11(sincos, f64, u10)

/* ---- modified ---------------------------------------------------------------------------------------------------*/

#define MODIFIED(table_, factor_) \
  { \
    for (unsigned l = 0; l < lanes; l++) { \
      double m = __builtin_fabs(x[l]), n; \
      m = m > 1000 ? 1000 : m; \
      const double p = mx__exp_parts(m, 0, &n); \
      r[l] = mx__scale(factor_ * PIECE(table_, m, 0x1p-2, 3) * p, n); \
    } \
  }
OWN1(cyl_bessel_i0, MODIFIED(scaled_i0, 1))
OWN1(cyl_bessel_i1, MODIFIED(scaled_i1, __builtin_copysign(m, x[l])))

/* ---- orders 0 and 1 ---------------------------------------------------------------------------------------------*/

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
/* Below 1/4 small_ gives the result: a polynomial and the logarithmic term, w being log(x). */
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
  SECOND(bessel_y0, FMA(f64, TWO_OVER_PI * w[l], PIECE(bessel_j0, x[l], 0x1p-2, 3), POLY(small_y0, u)), 0, s[l] - c[l],
         c[l] + s[l])
}
static void y1_all(double *r, const double *x, unsigned lanes){
    SECOND(bessel_y1,
           FMA(f64, TWO_OVER_PI *w[l], PIECE(bessel_j1, x[l], 0x1p-2, 3), x[l] * POLY(small_y1, u)) -
               TWO_OVER_PI / x[l],
           1, -(s[l] + c[l]), s[l] - c[l])} OWN1(j0, { j0_all(r, x, lanes); }) OWN1(j1, { j1_all(r, x, lanes); })
    OWN1(y0, { y0_all(r, x, lanes); }) OWN1(y1, { y1_all(r, x, lanes); })

    /* ---- any order
       --------------------------------------------------------------------------------------------------*/

    /* A recurrence takes as many rounds as the order says: lanes go through them together, unless few have many. Orders
     * beyond this, which would take too long, are taken to be this. */
    enum {
      MOST_ORDER = 1 << 20,
      AT_ONCE = 32
    };
static bool few_have_many(const int32_t *n, unsigned lanes) {
  int64_t all = 0, most = 0;
  for (unsigned l = 0; l < lanes; l++) all += n[l] > 0 ? n[l] : 0, most = n[l] > most ? n[l] : most;
  return lanes > 1 && all * 4 < most * lanes;
}

/* Upwards from orders 0 and 1, in first and second, to order n[l], in second: stable for Y, and for J up to order x.
 * Ends early where nothing more can change. */
static void upwards(double *first, double *second, const int32_t *n, const double *x, unsigned lanes) {
  if (few_have_many(n, lanes)) {
    for (unsigned l = 0; l < lanes; l++) upwards(first + l, second + l, n + l, x + l, 1);
    return;
  }
  int32_t most = 0;
  for (unsigned l = 0; l < lanes; l++) most = n[l] > most ? n[l] : most;
  uint32_t on = 1;
  for (int32_t k = 1; on && k < most;) {
    const int32_t end = most - k > AT_ONCE ? k + AT_ONCE : most;
    for (on = 0; k < end; k++)
      for (unsigned l = 0; l < lanes; l++) {
        const bool goes = (k < n[l]) & (second[l] - second[l] == 0);
        const double next = 2 * (double)k / x[l] * second[l] - first[l];
        first[l] = goes ? second[l] : first[l];
        second[l] = goes ? next : second[l];
        on |= goes;
      }
  }
}
/* Downwards from where J is negligible, then scaled by the known value of order 0 or 1; lanes with n[l] 0 are left out.
 */
static void downwards(double *r, const double *first, const double *second, const int32_t *n, const double *x,
                      unsigned lanes) {
  if (few_have_many(n, lanes)) {
    for (unsigned l = 0; l < lanes; l++)
      if (n[l]) downwards(r + l, first + l, second + l, n + l, x + l, 1);
    return;
  }
  double above[MX_MAX_LANES], here[MX_MAX_LANES], wanted[MX_MAX_LANES], one[MX_MAX_LANES];
  int32_t begin[MX_MAX_LANES], most = 0;
  for (unsigned l = 0; l < lanes; l++) {
    above[l] = wanted[l] = one[l] = 0;
    here[l] = 1e-300;
    begin[l] = n[l] ? n[l] + 20 + (int32_t)SQRT(f64, 60. * n[l]) : 0;
    most = begin[l] > most ? begin[l] : most;
  }
  for (int32_t k = most; k > 0; k--)
    for (unsigned l = 0; l < lanes; l++) {
      const bool goes = k <= begin[l];
      const double below = 2 * (double)k / x[l] * here[l] - above[l];
      wanted[l] = k == n[l] ? here[l] : wanted[l];
      one[l] = k == 1 ? here[l] : one[l];
      above[l] = goes ? here[l] : above[l];
      here[l] = goes ? below : here[l];
      const double scale = __builtin_fabs(here[l]) > 1e200 ? 1e-200 : 1;
      here[l] *= scale, above[l] *= scale, wanted[l] *= scale, one[l] *= scale;
    }
  for (unsigned l = 0; l < lanes; l++)
    if (n[l])
      r[l] = __builtin_fabs(first[l]) > __builtin_fabs(second[l]) ? wanted[l] * (first[l] / here[l])
                                                                  : wanted[l] * (second[l] / one[l]);
}
static double small(int32_t n, double x) { /* (x/2)^n / n! */
  double t = 1;
  for (int32_t k = 1; k <= n && t != 0; k++) t *= x / 2 / k;
  return t;
}
static void first_kind(double *r, const int32_t *n, const double *x, double *first, double *second, unsigned lanes) {
  double m[MX_MAX_LANES], w[MX_MAX_LANES];
  int32_t up[MX_MAX_LANES], down[MX_MAX_LANES];
  for (unsigned l = 0; l < lanes; l++) {
    m[l] = __builtin_fabs(x[l]);
    w[l] = 0x1.5bf0a8b145769p0 * m[l] / n[l]; /* e x / 2n: to the power of n it is more than J */
  }
  pass_log_f64(w, w, lanes);
  for (unsigned l = 0; l < lanes; l++) {
    const bool recurs = n[l] >= 2 && m[l] <= 0x1.fffffffffffffp1023;
    r[l] = n[l] < 0 || x[l] != x[l] ? __builtin_nan("") : n[l] >= 2 ? 0 : n[l] ? second[l] : first[l];
    up[l] = recurs && n[l] <= m[l] ? n[l] : 0;
    down[l] = recurs && n[l] > m[l] && m[l] >= 1e-8 && n[l] * w[l] > -760
                  ? n[l]
                  : 0; /* below that it is less than any number */
    if (recurs && m[l] < 1e-8) r[l] = small(n[l], m[l]);
    second[l] = x[l] < 0 ? -second[l] : second[l]; /* J1 is odd */
  }
  upwards(first, second, up, m, lanes);
  downwards(r, first, second, down, m, lanes);
  for (unsigned l = 0; l < lanes; l++) {
    r[l] = up[l] ? second[l] : r[l];
    r[l] = n[l] >= 2 && x[l] < 0 && m[l] <= 0x1.fffffffffffffp1023 && n[l] % 2 ? -r[l] : r[l];
  }
}
static void second_kind(double *r, const int32_t *n, const double *x, double *first, double *second, unsigned lanes) {
  int32_t up[MX_MAX_LANES];
  for (unsigned l = 0; l < lanes; l++) up[l] = x[l] >= 0 ? n[l] : 0;
  upwards(first, second, up, x, lanes);
  for (unsigned l = 0; l < lanes; l++)
    r[l] = n[l] < 0 || !(x[l] >= 0) ? __builtin_nan("") : n[l] ? second[l] : first[l];
}
#define ORDER(name_, t_, value_, zero_, one_, nan_) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e, (void)mod; \
    mx_##t_ *to = d; \
    const mx_##t_ *from = b; \
    const int32_t *n = a; \
    double x[MX_MAX_LANES], first[MX_MAX_LANES], second[MX_MAX_LANES], r[MX_MAX_LANES]; \
    int32_t order[MX_MAX_LANES]; \
    for (unsigned l = 0; l < lanes; l++) x[l] = from[l], order[l] = n[l] < MOST_ORDER ? n[l] : MOST_ORDER; \
    zero_(first, x, lanes); \
    one_(second, x, lanes); \
    value_(r, order, x, first, second, lanes); \
    for (unsigned l = 0; l < lanes; l++) to[l] = nan_(from[l], (mx_##t_)r[l]); \
  }
#define NAN_f32(a_, r_) CANON(f32, r_)
#define NAN_f64(a_, r_) LET(f64, A, a_, NAN1(r_))
ORDER(jn, f32, first_kind, j0_all, j1_all, NAN_f32)
ORDER(yn, f32, second_kind, y0_all, y1_all, NAN_f32)
ORDER(jn, f64, first_kind, j0_all, j1_all, NAN_f64)
ORDER(yn, f64, second_kind, y0_all, y1_all, NAN_f64)

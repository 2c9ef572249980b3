/* Lane functions of the mathematical functions that SLEEF has, mended where its results end before the type's range
 * does. A NaN is the canonical one of f32; for f64 the first NaN operand, quieted, or the default. */
#include "exponential.h"
#include "fn.h"
#include "sleef.h"

#define NANS1_f32(r_) \
  for (unsigned l = 0; l < lanes; l++) r_[l] = CANON(f32, r_[l]);
#define NANS2_f32(r_) NANS1_f32(r_)
#define NANS1_f64(r_) \
  for (unsigned l = 0; l < lanes; l++) { \
    const double A = x[l]; \
    r_[l] = NAN1(r_[l]); \
  }
#define NANS2_f64(r_) \
  for (unsigned l = 0; l < lanes; l++) { \
    const double A = x[l], B = y[l]; \
    r_[l] = NAN2(r_[l]); \
  }

/* The last argument leaves the results in r (and s), from x (and y) */
#define FN1(name_, t_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    const mx_##t_ *x = a; \
    mx_##t_ r[MX_MAX_LANES]; \
    __VA_ARGS__; \
    NANS1_##t_(r) memcpy(d, r, lanes * sizeof r[0]); \
  }
#define FN2(name_, t_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e, (void)mod; \
    const mx_##t_ *x = a, *y = b; \
    mx_##t_ r[MX_MAX_LANES]; \
    __VA_ARGS__; \
    NANS2_##t_(r) memcpy(d, r, lanes * sizeof r[0]); \
  }
#define FN11(name_, t_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)b, (void)c, (void)e, (void)mod; \
    const mx_##t_ *x = a; \
    mx_##t_ r[MX_MAX_LANES], s[MX_MAX_LANES]; \
    __VA_ARGS__; \
    NANS1_##t_(r) NANS1_##t_(s) memcpy(d, r, lanes * sizeof r[0]); \
    memcpy(q, s, lanes * sizeof s[0]); \
  }

/* SLEEF's function as it is: results go straight to their slots. */
#define F1(name_, t_, u_) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    for (unsigned l = 0; l < lanes; l += sizeof(mx__v##t_) / sizeof(mx_##t_)) { \
      mx__v##t_ x, r; \
      memcpy(&x, (const mx_##t_ *)a + l, sizeof x); \
      r = mend_##t_(MX__SLEEF_##t_(name_, u_)(x), x); \
      memcpy((mx_##t_ *)d + l, &r, sizeof r); \
    } \
  }
#define F2(name_, t_, u_) MX__PASS2(name_, t_, u_) FN2(name_, t_, pass_##name_##_##t_(r, x, y, lanes))
#define BOTH(shape_, name_, u_) shape_(name_, f32, u_) shape_(name_, f64, u_)
BOTH(F1, acos, u10)
BOTH(F1, asin, u10)
BOTH(F1, atan, u10)
BOTH(F1, atanh, u10)
BOTH(F1, cbrt, u10)
BOTH(F1, cos, u10)
BOTH(F1, erf, u10)
BOTH(F1, erfc, u15)
BOTH(F1, exp10, u10)
BOTH(F1, exp2, u10)
BOTH(F1, expm1, u10)
BOTH(F1, lgamma, u10)
BOTH(F1, log, u10)
BOTH(F1, log10, u10)
BOTH(F1, log2, u10)
BOTH(F1, sin, u10)
BOTH(F1, tan, u10)
BOTH(F1, tanh, u10)
BOTH(F2, atan2, u10)
BOTH(F2, hypot, u05)

#define SINCOS(t_) MX__PASS11(sincos, t_, u10) FN11(sincos, t_, pass_sincos_##t_(r, s, x, lanes))
SINCOS(f32)
SINCOS(f64)

/* ---- beyond a limit, another function ---------------------------------------------------------------------------*/

MX__PASS1(log, f32, u10)
MX__PASS1(log, f64, u10)
/* asinh, acosh and log1p are the logarithm of twice, or once, a large number. */
#define LOGARITHMIC(name_, t_, limit_, more_) \
  MX__PASS1(name_, t_, u10) \
  FN1(name_, t_, { \
    mx_##t_ w[MX_MAX_LANES]; \
    unsigned large = 0; \
    for (unsigned l = 0; l < lanes; l++) { \
      const mx_##t_ m = x[l] < 0 ? -x[l] : x[l]; \
      large |= m >= limit_; \
      w[l] = m >= limit_ ? m : 1; \
    } \
    pass_##name_##_##t_(r, x, lanes); \
    if (large) { \
      pass_log_##t_(w, w, lanes); \
      for (unsigned l = 0; l < lanes; l++) { \
        const mx_##t_ v = w[l] + (mx_##t_)more_; \
        r[l] = x[l] >= limit_ ? v : x[l] <= -limit_ && r[l] == r[l] ? -v : r[l]; \
      } \
    } \
  })
LOGARITHMIC(asinh, f32, 0x1p60f, 0x1.62e42fefa39efp-1)
LOGARITHMIC(asinh, f64, 0x1p500, 0x1.62e42fefa39efp-1)
LOGARITHMIC(acosh, f32, 0x1p60f, 0x1.62e42fefa39efp-1)
LOGARITHMIC(acosh, f64, 0x1p500, 0x1.62e42fefa39efp-1)
LOGARITHMIC(log1p, f32, 0x1p60f, 0)
LOGARITHMIC(log1p, f64, 0x1p500, 0)

/* Close to the overflow: e^x times 2^-less, its exponent put in last. */
MX__INL double scaled_exp(double x, int less) {
  double n;
  const double p = mx__exp_parts(x < 1400 ? x : 1400, 0, &n);
  return mx__scale(p, n - less);
}
#define HALF_EXP(name_, t_, limit_, negative_) \
  MX__PASS1(name_, t_, u10) \
  FN1(name_, t_, { \
    unsigned large = 0; \
    for (unsigned l = 0; l < lanes; l++) large |= x[l] >= limit_ || x[l] <= -limit_; \
    pass_##name_##_##t_(r, x, lanes); \
    if (large) \
      for (unsigned l = 0; l < lanes; l++) { \
        const double m = x[l] < 0 ? -(double)x[l] : (double)x[l], v = scaled_exp(m >= limit_ ? m : 0, 1); \
        r[l] = x[l] >= limit_ ? (mx_##t_)v : x[l] <= -limit_ ? (mx_##t_)(negative_) : r[l]; \
      } \
  })
HALF_EXP(sinh, f32, 88.f, -v)
HALF_EXP(sinh, f64, 709., -v)
HALF_EXP(cosh, f32, 88.f, v)
HALF_EXP(cosh, f64, 709., v)
F1(exp, f32, u10)
void MX_FN(exp_f64)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  double *to = d, kept[MX_MAX_LANES]; /* a result may replace its operand */
  unsigned large = 0;
  for (unsigned l = 0; l < lanes; l += sizeof(mx__vf64) / sizeof *to) {
    mx__vf64 x, r;
    memcpy(&x, (const double *)a + l, sizeof x);
    memcpy(kept + l, &x, sizeof x);
    r = mend_f64(MX__SLEEF_f64(exp, u10)(x), x);
    memcpy(to + l, &r, sizeof r);
  }
  for (unsigned l = 0; l < lanes; l++) large |= kept[l] >= 709;
  if (large)
    for (unsigned l = 0; l < lanes; l++) to[l] = kept[l] >= 709 ? scaled_exp(kept[l], 0) : to[l];
}

/* Close to the overflow, the square of the power to half the exponent. */
#define POW(t_, max_) \
  MX__PASS2(pow, t_, u10) \
  FN2(pow, t_, { \
    mx_##t_ w[MX_MAX_LANES], z[MX_MAX_LANES]; \
    unsigned again = 0; \
    pass_pow_##t_(r, x, y, lanes); \
    for (unsigned l = 0; l < lanes; l++) { \
      const mx_##t_ u = x[l] < 0 ? -x[l] : x[l], v = y[l] < 0 ? -y[l] : y[l], p = r[l] < 0 ? -r[l] : r[l]; \
      const unsigned over = (p > max_) & (u > 0) & (u <= max_) & (v <= max_); \
      again |= over; \
      w[l] = over ? u : 1; \
      z[l] = over ? y[l] * (mx_##t_)0.5 : 1; \
    } \
    if (again) { \
      pass_pow_##t_(w, w, z, lanes); \
      for (unsigned l = 0; l < lanes; l++) { \
        const mx_##t_ v = w[l] * w[l]; \
        r[l] = w[l] == 1 ? r[l] : r[l] < 0 ? -v : v; \
      } \
    } \
  })
POW(f32, 0x1.fffffep127f)
POW(f64, 0x1.fffffffffffffp1023)

/* ---- other corrections ------------------------------------------------------------------------------------------*/

/* sinpi and cospi of what is left after whole turns; a zero of sinpi has the operand's sign. */
#define REST(t_, abs_, rint_) \
  for (unsigned l = 0; l < lanes; l++) { \
    const mx_##t_ v = abs_(x[l]); \
    w[l] = v - 2 * rint_(v * (mx_##t_)0.5); \
  }
#define SIGNED(t_, copysign_, r_) \
  for (unsigned l = 0; l < lanes; l++) r_[l] = r_[l] == 0 ? copysign_(0, x[l]) : x[l] < 0 ? -r_[l] : r_[l];
#define TURNS(t_, abs_, rint_, copysign_) \
  MX__PASS1(sinpi, t_, u05) \
  MX__PASS1(cospi, t_, u05) \
  MX__PASS11(sincospi, t_, u05) \
  FN1(sinpi, t_, mx_##t_ w[MX_MAX_LANES]; REST(t_, abs_, rint_) pass_sinpi_##t_(r, w, lanes); \
      SIGNED(t_, copysign_, r)) \
  FN1(cospi, t_, mx_##t_ w[MX_MAX_LANES]; REST(t_, abs_, rint_) pass_cospi_##t_(r, w, lanes)) \
  FN11(sincospi, t_, mx_##t_ w[MX_MAX_LANES]; REST(t_, abs_, rint_) pass_sincospi_##t_(r, s, w, lanes); \
       SIGNED(t_, copysign_, r))
TURNS(f32, __builtin_fabsf, __builtin_rintf, __builtin_copysignf)
TURNS(f64, __builtin_fabs, __builtin_rint, __builtin_copysign)

/* SLEEF's single-precision gamma function is too coarse where it is subnormal. */
MX__PASS1(tgamma, f32, u10)
MX__PASS1(tgamma, f64, u10)
F1(tgamma, f64, u10)
FN1(tgamma, f32, {
  unsigned small = 0;
  for (unsigned l = 0; l < lanes; l++) small |= x[l] < -30;
  pass_tgamma_f32(r, x, lanes);
  if (small) {
    double w[MX_MAX_LANES];
    for (unsigned l = 0; l < lanes; l++) w[l] = x[l];
    pass_tgamma_f64(w, w, lanes);
    for (unsigned l = 0; l < lanes; l++) r[l] = x[l] < -30 ? (float)w[l] : r[l];
  }
})

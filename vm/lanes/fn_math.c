/* Lane functions of the mathematical functions that SLEEF has, mended where its results end before the type's range does.
 * A NaN is the canonical one of f32; for f64 the first NaN operand, quieted, or the default. */
#include "vm/lanes/exponential.h"
#include "vm/lanes/fn.h"
#include "vm/lanes/sleef.h"

#define NANS1_f32(r_) for (unsigned l = 0; l < lanes; l++) r_[l] = CANON(f32, r_[l]);
#define NANS2_f32(r_) NANS1_f32(r_)
#define NANS1_f64(r_) for (unsigned l = 0; l < lanes; l++) { const double A = x[l]; r_[l] = NAN1(r_[l]); }
#define NANS2_f64(r_) for (unsigned l = 0; l < lanes; l++) { const double A = x[l], B = y[l]; r_[l] = NAN2(r_[l]); }

/* The last argument leaves the results in r (and s), from x (and y) */
#define FN1(name_, t_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    const mx_##t_ *x = a; \
    mx_##t_ r[MX_MAX_LANES]; \
    __VA_ARGS__; \
    NANS1_##t_(r) \
    memcpy(d, r, lanes * sizeof r[0]); \
  }
#define FN2(name_, t_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e, (void)mod; \
    const mx_##t_ *x = a, *y = b; \
    mx_##t_ r[MX_MAX_LANES]; \
    __VA_ARGS__; \
    NANS2_##t_(r) \
    memcpy(d, r, lanes * sizeof r[0]); \
  }
#define FN11(name_, t_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)b, (void)c, (void)e, (void)mod; \
    const mx_##t_ *x = a; \
    mx_##t_ r[MX_MAX_LANES], s[MX_MAX_LANES]; \
    __VA_ARGS__; \
    NANS1_##t_(r) \
    NANS1_##t_(s) \
    memcpy(d, r, lanes * sizeof r[0]); \
    memcpy(q, s, lanes * sizeof s[0]); \
  }

#define F1(name_, t_, u_) MX__PASS1(name_, t_, u_) FN1(name_, t_, pass_##name_##_##t_(r, x, lanes))
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

/* ---- beyond a limit, another function ------------------------------------------------------------------------------ */

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

/* exp, sinh and cosh close to the overflow: half of e^|x|, or all of it, its exponent put in last. */
#define EXPONENTIAL(name_, t_, limit_, less_, negative_) \
  MX__PASS1(name_, t_, u10) \
  FN1(name_, t_, { \
    unsigned large = 0; \
    for (unsigned l = 0; l < lanes; l++) large |= x[l] >= limit_ || x[l] <= -limit_; \
    pass_##name_##_##t_(r, x, lanes); \
    if (large) \
      for (unsigned l = 0; l < lanes; l++) { \
        double m = x[l] < 0 ? -(double)x[l] : (double)x[l], n; \
        m = m >= limit_ ? m < 1400 ? m : 1400 : 0; \
        double v = mx__exp_parts(m, 0, &n); \
        v = mx__scale(v, n - less_); \
        r[l] = x[l] >= limit_ ? (mx_##t_)v : x[l] <= -limit_ ? (mx_##t_)(negative_) : r[l]; \
      } \
  })
EXPONENTIAL(exp, f64, 709., 0, r[l])
EXPONENTIAL(sinh, f32, 88.f, 1, -v)
EXPONENTIAL(sinh, f64, 709., 1, -v)
EXPONENTIAL(cosh, f32, 88.f, 1, v)
EXPONENTIAL(cosh, f64, 709., 1, v)
F1(exp, f32, u10)

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

/* ---- other bends ------------------------------------------------------------------------------------------------------ */

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
  FN1(sinpi, t_, mx_##t_ w[MX_MAX_LANES]; REST(t_, abs_, rint_) pass_sinpi_##t_(r, w, lanes); SIGNED(t_, copysign_, r)) \
  FN1(cospi, t_, mx_##t_ w[MX_MAX_LANES]; REST(t_, abs_, rint_) pass_cospi_##t_(r, w, lanes)) \
  FN11(sincospi, t_, mx_##t_ w[MX_MAX_LANES]; REST(t_, abs_, rint_) pass_sincospi_##t_(r, s, w, lanes); SIGNED(t_, copysign_, r))
TURNS(f32, __builtin_fabsf, __builtin_rintf, __builtin_copysignf)
TURNS(f64, __builtin_fabs, __builtin_rint, __builtin_copysign)

/* SLEEF's single-precision gamma function is too coarse where it is subnormal. */
F1(tgamma, f64, u10)
FN1(tgamma, f32, {
  double w[MX_MAX_LANES];
  for (unsigned l = 0; l < lanes; l++) w[l] = x[l];
  pass_tgamma_f64(w, w, lanes);
  for (unsigned l = 0; l < lanes; l++) r[l] = (float)w[l];
})

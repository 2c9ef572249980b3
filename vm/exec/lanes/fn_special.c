/* Lane functions of the error function's relatives: scaled, normal distribution, inverses. */
#include "exponential.h"
#include "fn.h"
#include "own.h"
#include "sleef.h"
#include "tables_erf.h"

MX__PASS1(log, f64, u10)

/* x not negative */
MX__INL double scaled(double x) {
  const double u = 1 / (x * x);
  const double far = FMA(
      f64, u, FMA(f64, u, FMA(f64, u, FMA(f64, u, FMA(f64, u, 162.421875, -29.53125), 6.5625), -1.875), 0.75), -0.5);
  return x < 32 ? PIECE(scaled_erfc, x, 0x1p-2, 3) : FMA(f64, far, u, 1) * (0x1.20dd750429b6dp-1 / x); /* 1/sqrt(pi) */
}

OWN1(erfcx, {
  for (unsigned l = 0; l < lanes; l++) {
    double m = __builtin_fabs(x[l]), v = x[l] < 0 ? m < 37 ? m : 37 : 0, h = v * v, n;
    const double p = mx__exp_parts(h, FMA(f64, v, v, -h), &n), s = scaled(m);
    r[l] = x[l] < 0 ? mx__scale(2 * p, n) - s : s;
  }
})

OWN1(normcdf, {
  for (unsigned l = 0; l < lanes; l++) {
    double m = __builtin_fabs(x[l]), n;
    m = m > 40 ? 40 : m;
    const double h = m * m, p = mx__exp_parts(-0.5 * h, -0.5 * FMA(f64, m, m, -h), &n);
    const double tail = mx__scale(0.5 * p * scaled(m * 0x1.6a09e667f3bcdp-1), n);
    r[l] = x[l] > 0 ? 1 - tail : tail;
  }
})

/* All inverses are x P(w), w = -log(1 - x^2), with 1 - x^2 found from what is exact. */
#define INVERSE(product_, factor_, infinite_) \
  for (unsigned l = 0; l < lanes; l++) w[l] = product_; \
  pass_log_f64(w, w, lanes); \
  for (unsigned l = 0; l < lanes; l++) { \
    const double s = -w[l]; \
    const double v = (factor_)*PIECE(inverse_erf, (s > 0 || s != s ? s : 0), 0x1p-2, 3); \
    r[l] = (infinite_) ? __builtin_copysign(__builtin_inf(), factor_) : v; \
  }
OWN1(erfinv, {
  double w[MX_MAX_LANES];
  INVERSE((1 - x[l]) * (1 + x[l]), x[l], x[l] == 1 || x[l] == -1)
})
OWN1(erfcinv, {
  double w[MX_MAX_LANES];
  INVERSE(x[l] * (2 - x[l]), 1 - x[l], x[l] == 0 || x[l] == 2)
})
OWN1(normcdfinv, {
  double w[MX_MAX_LANES];
  INVERSE(2 * x[l] * (2 - 2 * x[l]), 0x1.6a09e667f3bcdp+0 * (2 * x[l] - 1), x[l] == 0 || x[l] == 1)
})

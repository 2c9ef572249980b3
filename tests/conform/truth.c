/* The true values of the mathematical functions, computed with MPFR. Knows names and real numbers only; formats, bounds
 * and rounding are the caller's. */
#include "tests/conform/truth.h"

#include <string.h>

#define RN MPFR_RNDN
typedef void function(mpfr_t r, const mpfr_t *x);

/* Sums that cancel, and inverses, are computed with this many bits more than the result has. */
enum { MORE = 2200 };

static int sign_of_gamma;
#define ONE(name_) \
  static void f_##name_(mpfr_t r, const mpfr_t *x) { mpfr_##name_(r, x[0], RN); }
ONE(acos)
ONE(acosh)
ONE(asin)
ONE(asinh)
ONE(atan)
ONE(atanh)
ONE(cbrt)
ONE(cos)
ONE(cosh)
ONE(erf)
ONE(erfc)
ONE(exp)
ONE(exp10)
ONE(exp2)
ONE(expm1)
ONE(log)
ONE(log10)
ONE(log1p)
ONE(log2)
ONE(sin)
ONE(sinh) ONE(sqrt) ONE(tan) ONE(tanh) ONE(j0) ONE(j1) ONE(y0) ONE(y1) static void f_rsqrt(mpfr_t r, const mpfr_t *x) {
  mpfr_rec_sqrt(r, x[0], RN);
}
static void f_rcp(mpfr_t r, const mpfr_t *x) { mpfr_ui_div(r, 1, x[0], RN); }
static void f_rcbrt(mpfr_t r, const mpfr_t *x) {
  mpfr_cbrt(r, x[0], RN);
  mpfr_ui_div(r, 1, r, RN);
}
static void f_sinpi(mpfr_t r, const mpfr_t *x) { mpfr_sinu(r, x[0], 2, RN); }
static void f_cospi(mpfr_t r, const mpfr_t *x) { mpfr_cosu(r, x[0], 2, RN); }
static void f_lgamma(mpfr_t r, const mpfr_t *x) { mpfr_lgamma(r, &sign_of_gamma, x[0], RN); }
static void f_tgamma(mpfr_t r, const mpfr_t *x) { mpfr_gamma(r, x[0], RN); }
static void f_atan2(mpfr_t r, const mpfr_t *x) { mpfr_atan2(r, x[0], x[1], RN); }
static void f_pow(mpfr_t r, const mpfr_t *x) { mpfr_pow(r, x[0], x[1], RN); }
static void f_div(mpfr_t r, const mpfr_t *x) { mpfr_div(r, x[0], x[1], RN); }
/* Orders up to x by recurrence from 0 and 1, which is stable there; MPFR's own sum would want too much memory for large
 * x. */
typedef int order(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding);
static bool upwards(mpfr_t r, long n, const mpfr_t x, order *zero, order *one) {
  if (n < 2 || mpfr_nan_p(x) || mpfr_inf_p(x) || mpfr_cmpabs_ui(x, (unsigned long)n) < 0 || mpfr_cmpabs_ui(x, 100) < 0)
    return false;
  mpfr_t a, b, c;
  mpfr_inits2(mpfr_get_prec(r) + 200, a, b, c, NULL);
  zero(a, x, RN);
  one(b, x, RN);
  for (long k = 1; k < n; k++) {
    mpfr_mul_ui(c, b, 2 * (unsigned long)k, RN);
    mpfr_div(c, c, x, RN);
    mpfr_sub(a, c, a, RN);
    mpfr_swap(a, b);
  }
  mpfr_set(r, b, RN);
  mpfr_clears(a, b, c, NULL);
  return true;
}
static void f_jn(mpfr_t r, const mpfr_t *x) {
  const long n = mpfr_get_si(x[0], RN);
  if (n < 0) mpfr_set_nan(r);
  else if (!upwards(r, n, x[1], mpfr_j0, mpfr_j1)) mpfr_jn(r, n, x[1], RN);
}
static void f_yn(mpfr_t r, const mpfr_t *x) {
  const long n = mpfr_get_si(x[0], RN);
  if (n < 0) mpfr_set_nan(r);
  else if (!upwards(r, n, x[1], mpfr_y0, mpfr_y1)) mpfr_yn(r, n, x[1], RN);
}

/* Roots of sums of squares. An infinity wins over a NaN. */
static void norm(mpfr_t r, const mpfr_t *x, int n) {
  bool infinite = false;
  mpfr_t t;
  mpfr_init2(t, mpfr_get_prec(r));
  mpfr_set_zero(r, 1);
  for (int k = 0; k < n; k++) {
    infinite |= mpfr_inf_p(x[k]);
    mpfr_sqr(t, x[k], RN);
    mpfr_add(r, r, t, RN);
  }
  mpfr_sqrt(r, r, RN);
  if (infinite) mpfr_set_inf(r, 1);
  mpfr_clear(t);
}
#define NORM(name_, x_, n_) \
  static void f_##name_(mpfr_t r, const mpfr_t *x) { norm(r, x_, n_); } \
  static void f_r##name_(mpfr_t r, const mpfr_t *x) { \
    norm(r, x_, n_); \
    mpfr_ui_div(r, 1, r, RN); \
  }
NORM(hypot, x, 2)
NORM(norm3d, x, 3)
NORM(norm4d, x, 4)
static int dimension(const mpfr_t n) {
  return mpfr_cmp_ui(n, 1) < 0 ? 1 : (int)mpfr_get_si(n, RN);
} /* below 1 the GPU takes 1 */
NORM(norm, x + 1, dimension(x[0]))

static void f_erfcx(mpfr_t r, const mpfr_t *x) {
  mpfr_t big;
  mpfr_init2(big, MORE);
  if (mpfr_cmp_si(x[0], 20000) > 0) { /* 1/(x sqrt(pi)) (1 - 1/(2 x^2) + 3/(4 x^4) ...) */
    mpfr_const_pi(big, RN);
    mpfr_sqrt(big, big, RN);
    mpfr_mul(big, big, x[0], RN);
    mpfr_t s, u;
    mpfr_inits2(MORE, s, u, NULL);
    mpfr_sqr(u, x[0], RN);
    mpfr_ui_div(u, 1, u, RN);
    mpfr_mul_d(s, u, 0.75, RN);
    mpfr_sub_d(s, s, 0.5, RN);
    mpfr_mul(s, s, u, RN);
    mpfr_add_ui(s, s, 1, RN);
    mpfr_div(r, s, big, RN);
    mpfr_clears(s, u, NULL);
  } else {
    mpfr_sqr(big, x[0], RN);
    mpfr_exp(big, big, RN);
    mpfr_erfc(r, x[0], RN);
    mpfr_mul(r, big, r, RN);
  }
  mpfr_clear(big);
}
/* y/sqrt(2), a little more exactly than the result */
static void f_normcdf(mpfr_t r, const mpfr_t *x) {
  mpfr_t t;
  mpfr_init2(t, MORE);
  mpfr_sqrt_ui(t, 2, RN);
  mpfr_div(t, x[0], t, RN);
  mpfr_neg(t, t, RN);
  mpfr_erfc(r, t, RN);
  mpfr_div_ui(r, r, 2, RN);
  mpfr_clear(t);
}
/* The root of erfc(r) = y for y in (0, 1]: bisection for a start, for which few digits do, then Newton. */
static void erfc_root(mpfr_t r, const mpfr_t y) {
  enum { START = 100 };
  mpfr_t f, g, lo, hi, middle, there;
  mpfr_inits2(START, lo, hi, middle, there, NULL);
  mpfr_set_ui(lo, 0, RN);
  mpfr_set_ui(hi, 40, RN);
  for (int k = 0; k < 30; k++) {
    mpfr_add(middle, lo, hi, RN);
    mpfr_div_ui(middle, middle, 2, RN);
    mpfr_erfc(there, middle, RN);
    mpfr_set(mpfr_cmp(there, y) > 0 ? lo : hi, middle, RN);
  }
  mpfr_set(r, middle, RN);
  mpfr_clears(lo, hi, middle, there, NULL);
  mpfr_inits2(mpfr_get_prec(r), f, g, NULL);
  for (int k = 0; k < 5; k++) { /* r += (erfc(r) - y) / (2/sqrt(pi) exp(-r^2)) */
    mpfr_erfc(f, r, RN);
    mpfr_sub(f, f, y, RN);
    mpfr_sqr(g, r, RN);
    mpfr_exp(g, g, RN);
    mpfr_mul(f, f, g, RN);
    mpfr_const_pi(g, RN);
    mpfr_sqrt(g, g, RN);
    mpfr_div_ui(g, g, 2, RN);
    mpfr_mul(f, f, g, RN);
    mpfr_add(r, r, f, RN);
  }
  mpfr_clears(f, g, NULL);
}
static void f_erfcinv(mpfr_t r, const mpfr_t *x) {
  if (mpfr_nan_p(x[0]) || mpfr_sgn(x[0]) < 0 || mpfr_cmp_ui(x[0], 2) > 0) {
    mpfr_set_nan(r);
    return;
  }
  if (mpfr_zero_p(x[0])) {
    mpfr_set_inf(r, 1);
    return;
  }
  if (mpfr_cmp_ui(x[0], 2) == 0) {
    mpfr_set_inf(r, -1);
    return;
  }
  mpfr_t y, wide;
  mpfr_inits2(MORE, y, wide, NULL);
  bool above = mpfr_cmp_ui(x[0], 1) > 0;
  if (above) mpfr_ui_sub(y, 2, x[0], RN);
  else mpfr_set(y, x[0], RN);
  mpfr_set_prec(wide, mpfr_get_prec(r) + 1200); /* near 1 the root is small, and the digits of y all count */
  if (mpfr_get_exp(y) < -4) mpfr_set_prec(wide, mpfr_get_prec(r) + 100);
  erfc_root(wide, y);
  mpfr_set(r, wide, RN);
  if (above) mpfr_neg(r, r, RN);
  mpfr_clears(y, wide, NULL);
}
static void f_erfinv(mpfr_t r, const mpfr_t *x) {
  mpfr_t y;
  mpfr_init2(y, MORE);
  mpfr_abs(y, x[0], RN);
  mpfr_ui_sub(y, 1, y, RN);
  if (mpfr_zero_p(x[0])) mpfr_set(r, x[0], RN);
  else if (mpfr_sgn(y) < 0 || mpfr_nan_p(y)) mpfr_set_nan(r);
  else if (mpfr_get_exp(x[0]) < -200) { /* linear there */ mpfr_const_pi(r, RN);
    mpfr_sqrt(r, r, RN);
    mpfr_div_ui(r, r, 2, RN);
    mpfr_mul(r, r, x[0], RN);
  } else {
    const mpfr_t *in = (const mpfr_t *)&y;
    f_erfcinv(r, in);
    if (mpfr_sgn(x[0]) < 0) mpfr_neg(r, r, RN);
  }
  mpfr_clear(y);
}
static void f_normcdfinv(mpfr_t r, const mpfr_t *x) {
  mpfr_t y;
  mpfr_init2(y, MORE);
  mpfr_mul_ui(y, x[0], 2, RN);
  const mpfr_t *in = (const mpfr_t *)&y;
  f_erfcinv(r, in);
  mpfr_sqrt_ui(y, 2, RN);
  mpfr_mul(r, r, y, RN);
  mpfr_neg(r, r, RN);
  mpfr_clear(y);
}
/* I_n(x): the power series, all of whose terms have one sign. */
static void bessel_i(mpfr_t r, const mpfr_t x, unsigned n) {
  if (!mpfr_number_p(x) || mpfr_cmpabs_ui(x, 2000) > 0) {
    if (mpfr_nan_p(x)) mpfr_set_nan(r);
    else mpfr_set_inf(r, n && mpfr_sgn(x) < 0 ? -1 : 1);
    return;
  }
  mpfr_t term, square;
  mpfr_inits2(mpfr_get_prec(r), term, square, NULL);
  mpfr_sqr(square, x, RN);
  mpfr_div_ui(square, square, 4, RN);
  mpfr_set_ui(term, 1, RN);
  if (n) mpfr_div_ui(term, x, 2, RN);
  mpfr_set(r, term, RN);
  for (unsigned k = 1; k < 4000 && !mpfr_zero_p(term) && mpfr_get_exp(term) > mpfr_get_exp(r) - mpfr_get_prec(r); k++) {
    mpfr_mul(term, term, square, RN);
    mpfr_div_ui(term, term, k, RN);
    mpfr_div_ui(term, term, k + n, RN);
    mpfr_add(r, r, term, RN);
  }
  mpfr_clears(term, square, NULL);
}
static void f_cyl_bessel_i0(mpfr_t r, const mpfr_t *x) { bessel_i(r, x[0], 0); }
static void f_cyl_bessel_i1(mpfr_t r, const mpfr_t *x) { bessel_i(r, x[0], 1); }

static const struct {
  const char *name;
  unsigned nin;
  function *value, *second;
} functions[] = {
#define F(name_, n_) {#name_, n_, f_##name_, NULL},
    F(acos, 1) F(acosh, 1) F(asin, 1) F(asinh, 1) F(atan, 1) F(atanh, 1) F(cbrt, 1) F(cos, 1) F(cosh, 1) F(cospi, 1)
        F(cyl_bessel_i0, 1) F(cyl_bessel_i1, 1) F(erf, 1) F(erfc, 1) F(erfcinv, 1) F(erfcx, 1) F(erfinv, 1) F(exp, 1)
            F(exp10, 1) F(exp2, 1) F(expm1, 1) F(j0, 1) F(j1, 1) F(lgamma, 1) F(log, 1) F(log10, 1) F(log1p, 1)
                F(log2, 1) F(normcdf, 1) F(normcdfinv, 1) F(rcbrt, 1) F(rcp, 1) F(rsqrt, 1) F(sin, 1) F(sinh, 1)
                    F(sinpi, 1) F(sqrt, 1) F(tan, 1) F(tanh, 1) F(tgamma, 1) F(y0, 1) F(y1, 1) F(atan2, 2) F(div, 2)
                        F(hypot, 2) F(pow, 2) F(rhypot, 2) F(jn, 2) F(yn, 2) F(norm3d, 3) F(rnorm3d, 3) F(norm4d, 4)
                            F(rnorm4d, 4) F(norm, 6) F(rnorm, 6){"sincos", 1, f_sin, f_cos},
    {"sincospi", 1, f_sinpi, f_cospi},
#undef F
};

bool mx__truth(const char *name, unsigned nin, const mpfr_t *in, unsigned which, mpfr_t out) {
  for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
    if (strcmp(functions[k].name, name)) continue;
    function *f = which ? functions[k].second : functions[k].value;
    if (!f || nin != functions[k].nin) return false;
    f(out, in);
    return true;
  }
  return false;
}

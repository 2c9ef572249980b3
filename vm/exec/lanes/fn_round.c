/* Lane functions of the directed roundings of f32 and f64 arithmetic. The loops run in the mode asked for; what is done
 * to results afterwards only moves bits and compares, which no mode changes. */
#include "fn.h"
#include "rounding.h"
#include "core/vocab.h"

/* mod: mode, ftz, sat. With ftz, operands are flushed first, and a result is a zero where `scaled`, the result for
 * operands scaled by 2^24, says that rounding with any exponent would have left it below the least normal number. (Only
 * for small results: scaling large operands saturates.) */
static void finish_f32(float *r, const float *scaled, unsigned lanes, bool ftz, bool sat) {
  if (ftz)
    for (unsigned l = 0; l < lanes; l++)
      r[l] = __builtin_fabsf(r[l]) <= 0x1p-126f && __builtin_fabsf(scaled[l]) < 0x1p-102f ? __builtin_copysignf(0, r[l])
                                                                                          : r[l];
  if (sat)
    for (unsigned l = 0; l < lanes; l++) r[l] = SAT01(f32, 1, r[l]);
  for (unsigned l = 0; l < lanes; l++) r[l] = CANON(f32, r[l]);
}
static const float *flushed(float *to, const float *x, unsigned lanes, bool ftz) {
  if (!ftz) return x;
  for (unsigned l = 0; l < lanes; l++) to[l] = FLUSH(1, x[l]);
  return to;
}

#define UP(x_) ((x_)*0x1p24f)
#define F32_ROW(name_, nin_, expression_, scaled_) \
  void MX_FN(name_##_dir_f32)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    float r[MX_MAX_LANES], s[MX_MAX_LANES], fa[MX_MAX_LANES], fb[MX_MAX_LANES], fc[MX_MAX_LANES]; \
    bool ftz = mod / 3 & 1; \
    const float *x = flushed(fa, a, lanes, ftz), *y = nin_ > 1 ? flushed(fb, b, lanes, ftz) : x; \
    const float *z = nin_ > 2 ? flushed(fc, c, lanes, ftz) : x; \
    (void)y, (void)z; \
    unsigned old = mx__set_rounding(mod % 3); \
    for (unsigned l = 0; l < lanes; l++) r[l] = expression_; \
    if (ftz) \
      for (unsigned l = 0; l < lanes; l++) s[l] = scaled_; \
    mx__restore_rounding(old); \
    finish_f32(r, s, lanes, ftz, mod / 6); \
    memcpy(d, r, lanes * sizeof r[0]); \
  }
F32_ROW(add, 2, x[l] + y[l], UP(x[l]) + UP(y[l]))
F32_ROW(sub, 2, x[l] - y[l], UP(x[l]) - UP(y[l]))
F32_ROW(mul, 2, x[l] * y[l], UP(x[l]) * y[l])
F32_ROW(div, 2, x[l] / y[l], UP(x[l]) / y[l])
F32_ROW(rcp, 1, 1 / x[l], 0x1p24f / x[l])
F32_ROW(sqrt, 1, __builtin_sqrtf(x[l]), 0x1p24f * x[l])
F32_ROW(fma, 3, __builtin_fmaf(x[l], y[l], z[l]), __builtin_fmaf(UP(x[l]), y[l], UP(z[l])))

#define F64_ROW(name_, nin_, expression_) \
  void MX_FN(name_##_dir_f64)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    double r[MX_MAX_LANES], *t = d; \
    const double *x = a, *y = nin_ > 1 ? b : a, *z = nin_ > 2 ? c : a; \
    (void)y, (void)z; \
    unsigned old = mx__set_rounding(mod); \
    for (unsigned l = 0; l < lanes; l++) r[l] = expression_; \
    mx__restore_rounding(old); \
    for (unsigned l = 0; l < lanes; l++) { \
      const double A = x[l], B = y[l], C = z[l]; \
      t[l] = NAN3(r[l]); \
    } \
  }
F64_ROW(add, 2, x[l] + y[l])
F64_ROW(sub, 2, x[l] - y[l])
F64_ROW(mul, 2, x[l] * y[l])
F64_ROW(div, 2, x[l] / y[l])
F64_ROW(rcp, 1, 1 / x[l])
F64_ROW(sqrt, 1, __builtin_sqrt(x[l]))
F64_ROW(fma, 3, __builtin_fma(x[l], y[l], z[l]))

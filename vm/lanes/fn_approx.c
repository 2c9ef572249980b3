/* Lane functions of the approximate transcendental rows. Own polynomials, fitted over reduced ranges; plain arithmetic in
 * vectorisable loops, the same bits on every CPU level (no fused steps), errors well inside PTX's bounds (tested). */
#include "vm/lanes/fn.h"
#include "vm/lanes/vocab.h"

/* Sine of (x + quadrant * pi/2). Reduction in double: exact enough for all of f32's useful range; from 2^31 quadrants on
 * the result carries no information, as on the hardware, but stays within [-1, 1]. */
static inline float sine(float x, int quadrant) {
  double turns = (double)x * 0.63661977236758134308;
  double k = __builtin_rint(turns);
  double r = ((double)x - k * 1.57079632679489655800) - k * 6.12323399573676603587e-17;
  double kq = k + quadrant, n = kq - 4 * __builtin_floor(kq * 0.25); /* 0 to 3 */
  double s = r * r;
  double odd = r + r * s * (-1.6666666641626524e-1 + s * (8.3333293858894632e-3 + s * (-1.9839334836096632e-4 + s * 2.7181216275479732e-6)));
  double even = 1 + s * (-4.9999999725103100e-1 + s * (4.1666623323739063e-2 + s * (-1.3886763774609929e-3 + s * 2.4390448796277409e-5)));
  double v = n == 1 || n == 3 ? even : odd;
  v = n >= 2 ? -v : v;
  v = v > 1 ? 1 : v < -1 ? -1 : v;
  return __builtin_fabsf(x) < __builtin_inff() ? (float)v : __builtin_nanf("");
}

/* 2^x: integer part into the exponent, a polynomial for the rest; the scale in two steps so that subnormals round once. */
static inline float exp2_(float x) {
  float t = x > 130 ? 130 : x < -160 ? -160 : x;
  float k = __builtin_rintf(t);
  double f = (double)t - k;
  double p = 1 + f * (6.9314718055994531e-1 + f * (2.4022650695910071e-1 + f * (5.5504108664821580e-2 +
             f * (9.6181291076284772e-3 + f * (1.3333558146428443e-3 + f * (1.5403530393381606e-4 + f * 1.5252733804059841e-5))))));
  double scale = mx__of_f64((uint64_t)((int64_t)(int32_t)k + 1023) << 52);
  return x == x ? (float)(p * scale) : x;
}

/* Binary logarithm: exponent, and 2/ln2 * atanh((m-1)/(m+1)) for m in [sqrt(1/2), sqrt(2)). */
static inline float log2_(float x) {
  double v = x;
  uint64_t b = mx__raw_f64(v);
  int64_t e = (int64_t)(b - 0x3FE6A09E667F3BCDull) >> 52;
  double m = mx__of_f64(b - ((uint64_t)e << 52));
  double s = (m - 1) / (m + 1), q = s * s;
  double p = s * (2.8853900817779268 + q * (9.6179669392597560e-1 + q * (5.7707801635558535e-1 + q * (4.1219858311113240e-1 +
             q * (3.2059889797532520e-1 + q * 2.6230818925253880e-1)))));
  float r = (float)((double)(int32_t)e + p);
  r = x == __builtin_inff() ? x : r;
  r = x == 0 ? -__builtin_inff() : r;
  return x >= 0 ? r : __builtin_nanf("");
}

/* tanh by exp2: 1 - 2 / (2^(2x/ln2) + 1); near zero the odd series, which keeps the relative error. */
static inline float tanh_(float x) {
  float a = __builtin_fabsf(x), t = a > 10 ? 10 : a;
  double s = (double)a * a;
  double big = 1 - 2 / ((double)exp2_(t * 2.885390082f) + 1);
  double small = a * (1 + s * (-3.3333333333333333e-1 + s * (1.3333333333333333e-1 + s * -5.3968253968253968e-2)));
  float r = a < 0.25f ? (float)small : (float)big;
  return x == x ? __builtin_copysignf(r, x) : x;
}

#define ROW(name_, value_) \
  void MX_FN(name_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    float *r = d; \
    const float *in = a; \
    if (mod) { \
      for (unsigned l = 0; l < lanes; l++) { \
        const float x = FLUSH(1, in[l]), y = value_; \
        r[l] = CANON(f32, FLUSH(1, y)); \
      } \
    } else { \
      for (unsigned l = 0; l < lanes; l++) { \
        const float x = in[l], y = value_; \
        r[l] = CANON(f32, y); \
      } \
    } \
  }
ROW(sin_approx, sine(x, 0))
ROW(cos_approx, sine(x, 1))
ROW(ex2_approx, exp2_(x))
ROW(lg2_approx, log2_(x))
ROW(tanh_approx, tanh_(x))

/* 16-bit floats: the same functions, then one more rounding. bf16's ex2 flushes subnormals. */
#define ROW16(name_, type_, widen_, value_, narrow_) \
  static inline uint32_t name_##_##type_(uint32_t v) { \
    const float x = widen_((uint16_t)v), y = value_; \
    return narrow_(y); \
  } \
  void MX_FN(name_##_##type_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    uint32_t *r = d; \
    const uint32_t *in = a; \
    for (unsigned l = 0; l < lanes; l++) r[l] = name_##_##type_(in[l]); \
  } \
  void MX_FN(name_##_##type_##x2)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    uint32_t *r = d; \
    const uint32_t *in = a; \
    for (unsigned l = 0; l < lanes; l++) r[l] = name_##_##type_(in[l]) | name_##_##type_(in[l] >> 16) << 16; \
  }
ROW16(ex2, f16, H2F, exp2_(x), F2H)
ROW16(ex2, bf16, B2F, FLUSH(1, exp2_(FLUSH(1, x))), F2B)
ROW16(tanh, f16, H2F, tanh_(x), F2H)
ROW16(tanh, bf16, B2F, tanh_(x), F2B)

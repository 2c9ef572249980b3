/* Lane functions of f16 and bf16 mathematics, one or a pair to a register: correctly rounded. They are SLEEF's f32
 * functions, rounded; where an error of two units in their last place could change that, the f64 ones decide. */
#include "fn.h"
#include "sleef.h"
#include "core/vocab.h"

enum half_function { SIN, COS, EXP, EXP2, EXP10, LOG, LOG2, LOG10, TANH_, RSQRT };

#define EACH(X) \
  X(SIN, sin) \
  X(COS, cos) X(EXP, exp) X(EXP2, exp2) X(EXP10, exp10) X(LOG, log) X(LOG2, log2) X(LOG10, log10) X(TANH_, tanh)
#define PASSES(id_, name_) MX__PASS1(name_, f32, u10) MX__PASS1(name_, f64, u10)
EACH(PASSES)

static inline uint32_t to_f16(float x) { return F2H(x); }
static inline uint32_t to_bf16(float x) { return F2B(x); }
static inline float of_f16(uint32_t x) { return H2F(x); }
static inline float of_bf16(uint32_t x) { return B2F(x); }

static void narrowly(enum half_function f, float *r, const float *x, unsigned lanes) {
  switch (f) {
#define CASE(id_, name_) \
  case id_: pass_##name_##_f32(r, x, lanes); break;
    EACH(CASE)
#undef CASE
  case RSQRT:
    for (unsigned l = 0; l < lanes; l++) r[l] = 1 / SQRT(f32, x[l]);
  }
}
static void widely(enum half_function f, double *x, unsigned lanes) {
  switch (f) {
#define CASE(id_, name_) \
  case id_: pass_##name_##_f64(x, x, lanes); break;
    EACH(CASE)
#undef CASE
  case RSQRT:
    for (unsigned l = 0; l < lanes; l++) x[l] = 1 / SQRT(f64, x[l]);
  }
}

/* so many last places away, in magnitude */
static inline float beside(float x, int32_t by) {
  const uint32_t u = mx__raw_f32(x), m = u & 0x7FFFFFFF;
  return mx__of_f32(m > 2 && m < 0x7F800000 ? u + (uint32_t)by : u);
}
#define COMPUTE(t_) \
  static inline void compute_##t_(enum half_function f, uint32_t *r, const uint32_t *a, unsigned shift, \
                                  unsigned lanes) { \
    float x[MX_MAX_LANES], y[MX_MAX_LANES]; \
    for (unsigned l = 0; l < lanes; l++) x[l] = of_##t_(a[l] >> shift & 0xFFFF); \
    narrowly(f, y, x, lanes); \
    uint32_t doubt = 0; \
    for (unsigned l = 0; l < lanes; l++) { \
      const uint32_t low = to_##t_(beside(y[l], -2)), high = to_##t_(beside(y[l], 2)); \
      doubt |= low ^ high; \
      r[l] = high; \
    } \
    if (!doubt) return; \
    double w[MX_MAX_LANES]; \
    for (unsigned l = 0; l < lanes; l++) w[l] = x[l]; \
    widely(f, w, lanes); \
    for (unsigned l = 0; l < lanes; l++) r[l] = to_##t_(D2ODD(w[l])); \
  } \
  void MX_FN(math_##t_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    compute_##t_(mod, d, a, 0, lanes); \
  } \
  void MX_FN(math_##t_##x2)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    uint32_t low[MX_MAX_LANES], high[MX_MAX_LANES], *r = d; \
    compute_##t_(mod, low, a, 0, lanes); \
    compute_##t_(mod, high, a, 16, lanes); \
    for (unsigned l = 0; l < lanes; l++) r[l] = low[l] | high[l] << 16; \
  }
COMPUTE(f16)
COMPUTE(bf16)

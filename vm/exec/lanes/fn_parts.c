/* Lane functions that take numbers apart and put them together, exactly: exponents, fractions, rounding, neighbours,
 * remainders. NaN results as in fn_math.c. */
#include "fn.h"
#include "core/vocab.h"

#define NAN_f32(r_) CANON(f32, r_)
#define NANS_f32(r_) CANON(f32, r_)
#define NAN_f64(r_) NAN1(r_)
#define NANS_f64(r_) \
  LET(f64, ns_, r_, SEL(f64, EQ(f64, ns_, ns_), ns_, NAN_IS(B, NAN_IS(A, NAN_DEFAULT)))) /* as recorded: B's first */

/* What differs between the formats. */
typedef uint32_t bits_f32;
typedef uint64_t bits_f64;
enum { DIGITS_f32 = 23, DIGITS_f64 = 52, BIAS_f32 = 127, BIAS_f64 = 1023 };
#define SIGN_f32 0x80000000u
#define SIGN_f64 0x8000000000000000u
#define INF_f32 0x7F800000u
#define INF_f64 0x7FF0000000000000u
#define ONE_DIGIT(t_) ((bits_##t_)1 << DIGITS_##t_)
#define MAGNITUDE(t_, x_) (mx__raw_##t_(x_) & ~SIGN_##t_)

#define FN1(name_, t_, r_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    MX_WARP_OF(lanes); \
    r_ *to = d; \
    const mx_##t_ *from = a; \
    for (unsigned l = 0; l < lanes; l++) { \
      const mx_##t_ A = from[l]; \
      to[l] = (r_)(__VA_ARGS__); \
    } \
  }
#define FN11(name_, t_, r_, s_, first_, second_) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)b, (void)c, (void)e, (void)mod; \
    MX_WARP_OF(lanes); \
    r_ *to = d; \
    s_ *also = q; \
    const mx_##t_ *from = a; \
    for (unsigned l = 0; l < lanes; l++) { \
      const mx_##t_ A = from[l]; \
      to[l] = (r_)(first_); \
      also[l] = (s_)(second_); \
    } \
  }
#define FN2(name_, t_, u_, ...) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e, (void)mod; \
    MX_WARP_OF(lanes); \
    mx_##t_ *to = d; \
    const mx_##t_ *from = a; \
    const u_ *with = b; \
    for (unsigned l = 0; l < lanes; l++) { \
      const mx_##t_ A = from[l]; \
      const u_ B = with[l]; \
      to[l] = (mx_##t_)(__VA_ARGS__); \
    } \
  }

/* ---- exponent and fraction --------------------------------------------------------------------------------------*/

/* A number as fraction in [1/2, 1) and exponent; zeros, infinities and NaNs stand for themselves, with exponent 0. */
#define PARTS(t_, scale_) \
  MX__INL bits_##t_ normal_##t_(mx_##t_ x, int32_t *less) { /* its magnitude's bits, or those of it times 2^DIGITS */ \
    const bool small = MAGNITUDE(t_, x) < ONE_DIGIT(t_); \
    *less = small ? DIGITS_##t_ : 0; \
    return MAGNITUDE(t_, small ? x * scale_ : x); \
  } \
  MX__INL bool parted_##t_(mx_##t_ x) { return MAGNITUDE(t_, x) - 1 < INF_##t_ - 1; } \
  MX__INL mx_##t_ fraction_##t_(mx_##t_ x) { \
    int32_t less; \
    const bits_##t_ m = normal_##t_(x, &less); \
    return parted_##t_(x) ? mx__of_##t_((m & (ONE_DIGIT(t_) - 1)) | (mx__raw_##t_(x) & SIGN_##t_) | \
                                        (bits_##t_)(BIAS_##t_ - 1) << DIGITS_##t_) \
                          : x; \
  } \
  MX__INL int32_t exponent_##t_(mx_##t_ x) { \
    int32_t less; \
    const bits_##t_ m = normal_##t_(x, &less); \
    return parted_##t_(x) ? (int32_t)(m >> DIGITS_##t_) - (BIAS_##t_ - 1) - less : 0; \
  }
PARTS(f32, 0x1p23f)
PARTS(f64, 0x1p52)
FN11(frexp, f32, float, int32_t, NAN_f32(fraction_f32(A)), exponent_f32(A))
FN11(frexp, f64, double, uint32_t, NAN_f64(fraction_f64(A)), exponent_f64(A))

#define SPECIAL(t_, x_, zero_, inf_, nan_, else_) \
  (MAGNITUDE(t_, x_) == 0          ? (zero_) \
   : MAGNITUDE(t_, x_) == INF_##t_ ? (inf_) \
   : MAGNITUDE(t_, x_) > INF_##t_  ? (nan_) \
                                   : (else_))
FN1(ilogb, f32, int32_t, SPECIAL(f32, A, INT32_MIN, INT32_MAX, INT32_MIN, exponent_f32(A) - 1))
FN1(ilogb, f64, uint32_t, SPECIAL(f64, A, INT32_MIN, INT32_MAX, INT32_MIN, exponent_f64(A) - 1))
FN1(logb, f32, float, NAN_f32(SPECIAL(f32, A, -__builtin_inff(), __builtin_inff(), A, (float)(exponent_f32(A) - 1))))
FN1(logb, f64, double, NAN_f64(SPECIAL(f64, A, -__builtin_inf(), __builtin_inf(), A, (double)(exponent_f64(A) - 1))))

/* A fraction times a power of two, rounded once: both steps but the last are exact. */
MX__INL double power(int32_t n) { return mx__of_f64((uint64_t)(n + 1023) << 52); }
MX__INL int32_t clamped(int64_t n) { return (int32_t)(n < -4000 ? -4000 : n > 4000 ? 4000 : n); }
MX__INL double scaled_f64(double x, int64_t by) {
  const int32_t n = exponent_f64(x) + clamped(by), m = n < -1200 ? -1200 : n > 1200 ? 1200 : n, half = m >> 1;
  return fraction_f64(x) * power(half) * power(m - half);
}
MX__INL float scaled_f32(float x, int64_t by) {
  const int32_t n = clamped(by);
  return (float)((double)x * power(n < -320 ? -320 : n > 320 ? 320 : n));
}
FN2(ldexp, f32, int32_t, NAN_f32(scaled_f32(A, B)))
FN2(ldexp, f64, int32_t, NAN_f64(scaled_f64(A, B)))
FN2(scalbln, f32, int64_t, NAN_f32(scaled_f32(A, B)))
FN2(scalbln, f64, int64_t, NAN_f64(scaled_f64(A, B)))

/* ---- integral and fractional parts ------------------------------------------------------------------------------*/

MX__INL float left_f32(float x) {
  float t = TRUNC(f32, x);
  return __builtin_copysignf(x == t ? 0 : x - t, x);
}
MX__INL double left_f64(double x) {
  double t = TRUNC(f64, x);
  return __builtin_copysign(x == t ? 0 : x - t, x);
}
FN11(modf, f32, float, float, NAN_f32(left_f32(A)), NAN_f32(TRUNC(f32, A)))
FN11(modf, f64, double, double, NAN_f64(left_f64(A)), NAN_f64(TRUNC(f64, A)))

/* halves away from zero */
MX__INL float round_f32(float x) {
  float t = TRUNC(f32, x), more = __builtin_fabsf(x - t) >= 0.5f ? 1 : 0;
  return __builtin_copysignf(__builtin_fabsf(t) + more, x);
}
MX__INL double round_f64(double x) {
  double t = TRUNC(f64, x), more = __builtin_fabs(x - t) >= 0.5 ? 1 : 0;
  return __builtin_copysign(__builtin_fabs(t) + more, x);
}
FN1(round, f32, float, NAN_f32(round_f32(A)))
FN1(round, f64, double, NAN_f64(round_f64(A)))
MX__INL int64_t whole(double x) { return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : INT64_MIN; }
FN1(lround, f32, int64_t, whole(round_f32(A)))
FN1(lround, f64, int64_t, whole(round_f64(A)))

/* ---- neighbours -------------------------------------------------------------------------------------------------*/

#define NEXT(t_) \
  MX__INL mx_##t_ next_##t_(mx_##t_ x, mx_##t_ y) { \
    const bits_##t_ u = mx__raw_##t_(x), away = (y > x) == (x > 0) ? 1 : (bits_##t_) - 1; \
    const bits_##t_ least = (y < x ? SIGN_##t_ : 0) | 1; \
    return x != x || y != y ? x + y : x == y ? y : mx__of_##t_(u & ~SIGN_##t_ ? u + away : least); \
  }
NEXT(f32)
NEXT(f64)
FN2(nextafter, f32, float, NANS_f32(next_f32(A, B)))
FN2(nextafter, f64, double, NANS_f64(next_f64(A, B)))

/* ---- remainders, by long division of the integers that the numbers are multiples of -----------------------------*/

enum nearest { CHOPPED, NEAREST };
/* x less the quotient times y; *quotient: its sign and three low bits. */
#define REMAINDER(t_) \
  static mx_##t_ remainder_##t_(mx_##t_ x, mx_##t_ y, enum nearest how, int32_t *quotient) { \
    const bits_##t_ sign = mx__raw_##t_(x) & SIGN_##t_, my = MAGNITUDE(t_, y); \
    *quotient = 0; \
    if (MAGNITUDE(t_, x) >= INF_##t_ || my > INF_##t_ || !my) return mx__of_##t_(INF_##t_ | ONE_DIGIT(t_) >> 1); \
    if (my == INF_##t_ || !MAGNITUDE(t_, x)) return x; \
    uint64_t u = MAGNITUDE(t_, x), v = my; \
    int32_t eu = (int32_t)(u >> DIGITS_##t_), ev = (int32_t)(v >> DIGITS_##t_); \
    u = (u & (ONE_DIGIT(t_) - 1)) | (eu ? ONE_DIGIT(t_) : 0); \
    v = (v & (ONE_DIGIT(t_) - 1)) | (ev ? ONE_DIGIT(t_) : 0); \
    eu += !eu, ev += !ev; \
    uint64_t low = 0; /* of the quotient so far */ \
    if (eu < ev) {    /* below y; more than half of it only if close */ \
      if (how == CHOPPED || ev - eu > 1) return x; \
      v <<= 1, ev--; \
    } \
    low = u / v, u %= v; \
    while (eu > ev && u) { \
      const int32_t room = __builtin_clzll(v), step = eu - ev < room ? eu - ev : room; \
      u <<= step, eu -= step; \
      low = low << step | u / v; \
      u %= v; \
    } \
    if (eu > ev) low = eu - ev > 2 ? 0 : low << (eu - ev); \
    bool over = false; \
    if (how == NEAREST && (u > v - u || (u == v - u && (low & 1)))) over = true, low++, u = v - u; \
    *quotient = (int32_t)(low & 7); \
    if ((sign != 0) != (mx__raw_##t_(y) >= SIGN_##t_)) *quotient = -*quotient; \
    /* u times 2^ev, which is exact */ \
    bits_##t_ r = 0; \
    if (u) { \
      const int32_t up = __builtin_clzll(u) - (63 - DIGITS_##t_); \
      r = ev > up ? (bits_##t_)(u << up) - ONE_DIGIT(t_) + ((bits_##t_)(ev - up) << DIGITS_##t_) \
                  : (bits_##t_)(u << (ev - 1)); \
    } \
    return mx__of_##t_(r | (over && u ? sign ^ SIGN_##t_ : sign)); \
  }
REMAINDER(f32)
REMAINDER(f64)
#define FMOD(name_, t_, how_, nan_) \
  void MX_FN(name_##_##t_)(MX_FN_ARGS) { \
    (void)c, (void)e, (void)mod; \
    mx_##t_ *to = d; \
    int32_t *quotients = q, ignored; \
    const mx_##t_ *x = a, *y = b; \
    for (unsigned l = 0; l < lanes; l++) { \
      const mx_##t_ A = x[l], B = y[l], r = remainder_##t_(A, B, how_, quotients ? quotients + l : &ignored); \
      to[l] = nan_(r); \
    } \
  }
FMOD(fmod, f32, CHOPPED, NANS_f32)
FMOD(fmod, f64, CHOPPED, NANS_f64)
FMOD(remainder, f32, NEAREST, NANS_f32)
FMOD(remainder, f64, NEAREST, NANS_f64)

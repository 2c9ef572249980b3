/* Lane functions of the conversion rows that compilers seldom write: saturating between integers, to narrow integers,
 * all directed roundings, tf32 and fp8. The modifier is read at run time. */
#include "fn.h"
#include "narrow.h"

/* ---- integers; kinds in the order u8 s8 u16 s16 u32 s32 u64 s64 -------------------------------------------------*/

static inline unsigned width(unsigned kind) { return 8u << (kind >> 1); }

/* The value's low bits as the kind says: its magnitude, and whether it is below zero. */
static inline uint64_t magnitude(uint64_t v, unsigned kind, bool *neg) {
  unsigned unused = 64 - width(kind);
  uint64_t x = v << unused;
  *neg = kind & 1 && x >> 63;
  x = *neg ? (uint64_t)((int64_t)x >> unused) : x >> unused;
  return *neg ? 0 - x : x;
}

/* Clamped to a kind; as a bit pattern extended by the kind's sign. */
static inline uint64_t clamp(bool neg, uint64_t m, unsigned kind) {
  uint64_t top = 1ull << (width(kind) - 1);
  if (kind & 1) return neg ? 0 - (m > top ? top : m) : m > top - 1 ? top - 1 : m;
  uint64_t max = top - 1 + top;
  return neg ? 0 : m > max ? max : m;
}

/* mod: kind of the result, least significant, then of the source. */
#define SATURATE(d_, nd_, first_, s_, ns_) \
  void MX_FN(cvt_sat_##d_##_##s_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    uint##d_##_t_ *r = d; \
    const uint##s_##_t_ *v = a; \
    for (unsigned l = 0; l < lanes; l++) { \
      bool neg; \
      uint64_t m = magnitude(v[l], mod / nd_ % ns_, &neg); \
      r[l] = (uint##d_##_t_)(uint##d_##_t)clamp(neg, m, first_ + mod % nd_); \
    } \
  }
typedef uint32_t uint16_t_, uint32_t_; /* slots, not values */
typedef uint64_t uint64_t_;
SATURATE(16, 4, 0, 16, 4)
SATURATE(16, 4, 0, 32, 6)
SATURATE(16, 4, 0, 64, 8)
SATURATE(32, 6, 0, 16, 4)
SATURATE(32, 6, 0, 32, 6)
SATURATE(32, 6, 0, 64, 8)
SATURATE(64, 8, 0, 16, 4)
SATURATE(64, 8, 0, 32, 6)
SATURATE(64, 8, 0, 64, 8)

/* Cut to a kind narrower than the 64-bit register, and extended to it; mod: the result's kind, then the source's.
 */
static inline uint64_t extended(uint64_t v, unsigned kind) {
  unsigned unused = 64 - width(kind);
  return kind & 1 ? (uint64_t)((int64_t)(v << unused) >> unused) : v << unused >> unused;
}
#define WIDEN(s_) \
  void MX_FN(cvt_32_in_64_##s_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    uint64_t *r = d; \
    const uint##s_##_t_ *v = a; \
    for (unsigned l = 0; l < lanes; l++) r[l] = extended(extended(v[l], mod / 6), mod % 6); \
  }
WIDEN(16)
WIDEN(32)
WIDEN(64)

/* ---- float to 8 and 16 bits
   -------------------------------------------------------------------------------------*/

static inline double integral(double x, unsigned how) {
  return how == 0   ? __builtin_rint(x)
         : how == 1 ? __builtin_trunc(x)
         : how == 2 ? __builtin_floor(x)
                    : __builtin_ceil(x);
}
static inline uint64_t to_small(double x, unsigned how, unsigned kind, bool nan_is_sign) {
  double r = integral(x, how), m = __builtin_fabs(r);
  if (x != x) return nan_is_sign ? 0 - (1ull << (width(kind) - 1)) : 0;
  return clamp(r < 0, m < 0x1p64 ? (uint64_t)m : ~0ull, kind);
}
static inline double of_f16(uint32_t x) { return H2F((uint16_t)x); }
static inline double of_bf16(uint32_t x) { return B2F((uint16_t)x); }
static inline float flush(float x, bool on) { return on ? FLUSH(1, x) : x; }
/* mod: rounding, ftz where ftzs_ is 2, kind. The NaN pattern of an unsigned kind is cut to it, as a value would be. */
#define SMALL(n_, name_, slot_, widen_, ftzs_, wide_) \
  void MX_FN(cvt_small##n_##_##name_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    uint##n_##_t_ *r = d; \
    const slot_ *v = a; \
    bool ftz = ftzs_ > 1 && mod / 4 % 2; \
    unsigned kind = mod / (4 * ftzs_); \
    (void)ftz; \
    for (unsigned l = 0; l < lanes; l++) { \
      uint64_t x = to_small(widen_(v[l]), mod % 4, kind, wide_); \
      r[l] = (uint##n_##_t)extended(x, kind); \
    } \
  }
#define WIDEN_F32(x_) flush(x_, ftz)
#define SAME(x_) (x_)
#define SMALLS(n_) \
  SMALL(n_, f64, double, SAME, 1, true) \
  SMALL(n_, f16, uint32_t, of_f16, 1, false) SMALL(n_, bf16, uint32_t, of_bf16, 1, false)
SMALLS(16)
SMALLS(32)
SMALLS(64)
SMALL(64, f32, float, WIDEN_F32, 2, false)
#define WHOLE(name_, widen_) \
  void MX_FN(cvt_whole64_##name_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    uint64_t *r = d; \
    const uint32_t *v = a; \
    for (unsigned l = 0; l < lanes; l++) r[l] = to_small(widen_(v[l]), mod % 4, 6 + mod / 4, true); \
  }
WHOLE(f16, of_f16)
WHOLE(bf16, of_bf16)

/* ---- integer to float
   -------------------------------------------------------------------------------------------*/

static inline uint64_t of_integer(uint64_t v, unsigned kind, const struct mx__format *f, unsigned mode, bool sat) {
  bool neg;
  uint64_t m = magnitude(v, kind, &neg);
  if (sat) return neg || !m ? 0 : mx__narrow(false, 1, 0, f, MX__RN);
  return (uint64_t)(neg && m) << (f->fraction + f->exponent) | mx__narrow(neg, m, 0, f, mode);
}
#define FROM_INTEGER(name_, f_, out_, w_, slot_, first_, mode_, sat_, kind_) \
  void MX_FN(cvt_##name_##_##f_##_i##w_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    out_ *r = d; \
    const slot_ *v = a; \
    for (unsigned l = 0; l < lanes; l++) r[l] = (out_)of_integer(v[l], first_ + kind_, &mx__##f_, mode_, sat_); \
  }
#define FROM_INTEGERS(name_, f_, out_, mode_, sat_, kind_) \
  FROM_INTEGER(name_, f_, out_, 16, uint32_t, 0, mode_, sat_, kind_) \
  FROM_INTEGER(name_, f_, out_, 32, uint32_t, 0, mode_, sat_, kind_) \
  FROM_INTEGER(name_, f_, out_, 64, uint64_t, 0, mode_, sat_, kind_)
FROM_INTEGERS(dir, f16, uint32_t, mod % 3, mod / 3 % 2, mod / 6)
FROM_INTEGERS(dir, bf16, uint32_t, mod % 3, mod / 3 % 2, mod / 6)
FROM_INTEGERS(dir, f32, uint32_t, mod % 3, mod / 3 % 2, mod / 6)
FROM_INTEGERS(dir, f64, uint64_t, mod % 3, mod / 3 % 2, mod / 6)
FROM_INTEGERS(rn, bf16, uint32_t, MX__RN, false, mod)
FROM_INTEGER(rn, f16, uint32_t, 64, uint64_t, 0, MX__RN, false, mod)
FROM_INTEGER(rn, f32, uint32_t, 64, uint64_t, 0, MX__RN, false, mod)
FROM_INTEGER(rn, f64, uint64_t, 64, uint64_t, 0, MX__RN, false, mod)
FROM_INTEGERS(rnsat, f16, uint32_t, MX__RN, true, mod)
FROM_INTEGERS(rnsat, f32, uint32_t, MX__RN, true, mod)
FROM_INTEGERS(rnsat, f64, uint64_t, MX__RN, true, mod)

/* ---- float to narrower float, directed --------------------------------------------------------------------------*/

static inline double unit(double x) { return x > 0 ? x < 1 ? x : 1 : 0; }
/* A NaN of f64 keeps its sign and the top of its payload, quieted. */
static inline uint32_t nan_of_f64(double x, const struct mx__format *f) {
  uint64_t b = mx__raw_f64(x) | 0x8000000000000;
  return (uint32_t)(b >> 63) << (f->fraction + f->exponent) | (uint32_t)f->over |
         (uint32_t)((b & 0xFFFFFFFFFFFFF) >> (52 - f->fraction));
}
/* Whether f32's ftz makes a zero of x: whether x, rounded to 24 bits and whatever exponent, is below the least normal
 * number. */
static inline bool tiny(double x, unsigned mode) {
  bool away = mode == (x < 0 ? MX__RM : MX__RP);
  return away ? __builtin_fabs(x) <= 0x1.fffffep-127 : __builtin_fabs(x) < 0x1p-126;
}
/* mod: mode, ftz (f32 from f64, bf16 from f32), sat. */
#define DIRECTED(to_, from_, slot_, widen_, ftzs_, nan_) \
  void MX_FN(cvt_dir_##to_##_##from_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e; \
    uint32_t *r = d; \
    const slot_ *v = a; \
    bool ftz = ftzs_ > 1 && mod / 3 % 2, sat = mod / (3 * ftzs_); \
    for (unsigned l = 0; l < lanes; l++) { \
      double x = widen_(v[l]); \
      if (ftz && tiny(x, mod % 3)) x = __builtin_copysign(0, x); \
      uint32_t y = (uint32_t)mx__narrow_f64(sat ? unit(x) : x, &mx__##to_, mod % 3); \
      r[l] = x != x && !sat ? nan_ : y; \
    } \
  }
DIRECTED(f16, f32, float, SAME, 1, y)
DIRECTED(f16, f64, double, SAME, 1, nan_of_f64(x, &mx__f16))
DIRECTED(f32, f64, double, SAME, 2, nan_of_f64(x, &mx__f32))
DIRECTED(bf16, f32, float, SAME, 2, y)
DIRECTED(bf16, f64, double, SAME, 1, nan_of_f64(x, &mx__bf16))
DIRECTED(bf16, f16, uint32_t, of_f16, 1, y)
DIRECTED(f16, bf16, uint32_t, of_bf16, 1, y)

/* relu (bit 0) and satfinite (bit 1) of a finished pattern. */
static inline uint32_t limit(uint32_t x, const struct mx__format *f, unsigned how) {
  uint32_t sign = 1u << (f->fraction + f->exponent);
  if (how & 1 && x & sign) return 0;
  return how & 2 && (x & (sign - 1)) == f->over && f->over != f->nan ? x - 1 : x;
}
#define ROW(name_) \
  void MX_FN(name_)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    uint32_t *r = d; \
    for (unsigned l = 0; l < lanes; l++) { VALUE } \
  }
#define A_F32 ((const float *)a)[l]
#define B_F32 ((const float *)b)[l]
#define A_F64 ((const double *)a)[l]
#define A_U32 ((const uint32_t *)a)[l]
#define RZ(f_, x_, how_) limit((uint32_t)mx__narrow_f64(x_, &f_, MX__RZ), &f_, how_)
#define VALUE r[l] = RZ(mx__f16, A_F32, mod) << 16 | RZ(mx__f16, B_F32, mod);
ROW(cvt_rz_f16x2)
#undef VALUE
#define VALUE r[l] = RZ(mx__bf16, A_F32, mod) << 16 | RZ(mx__bf16, B_F32, mod);
ROW(cvt_rz_bf16x2)
#undef VALUE
#define VALUE r[l] = RZ(mx__f16, A_F32, mod + 1);
ROW(cvt_rz_limit_f16)
#undef VALUE
#define VALUE r[l] = RZ(mx__bf16, A_F32, mod + 1);
ROW(cvt_rz_limit_bf16)
#undef VALUE

/* tf32. With rna the hardware only adds and cuts, and satfinite steps down whatever has the top exponent, NaN too. */
static uint32_t tf32(float x, unsigned how, bool relu, bool satfinite) {
  uint32_t u = mx__raw_f32(x), r;
  if (how == 2) {
    r = ((u & 0x7F800000) == 0x7F800000 ? u : u + 0x1000) & 0xFFFFE000;
    if (relu && r >> 31) r = 0;
    return satfinite && (r & 0x7F800000) == 0x7F800000 ? r - 0x2000 : r;
  }
  r = (uint32_t)mx__narrow_f64(x, &mx__tf32, how ? MX__RZ : MX__RN);
  return limit(r, &mx__tf32, relu | (unsigned)satfinite << 1) << 13;
}
#define VALUE r[l] = tf32(A_F32, mod % 3, mod / 3 % 2, mod / 6);
ROW(cvt_tf32)
#undef VALUE

/* ---- fp8 --------------------------------------------------------------------------------------------------------*/

/* kind 0: e4m3, 1: e5m2. Without satfinite an overflow is the format's NaN or infinity. */
static inline uint32_t to_fp8(double x, unsigned kind, bool satfinite, bool relu) {
  const struct mx__format *f = kind ? &mx__e5m2 : &mx__e4m3;
  uint32_t y = (uint32_t)mx__narrow_f64(x, f, MX__RN);
  if (relu && y & 0x80) return 0;
  return satfinite && x == x && (y & 0x7F) > f->max ? (y & 0x80) | (uint32_t)f->max : y;
}
static inline uint32_t of_fp8(uint32_t x, unsigned kind) {
  if (kind) return (x & 0x7F) > 0x7C ? 0x7FFF : x << 8; /* e5m2 is f16's upper byte */
  if ((x & 0x7F) == 0x7F) return 0x7FFF;
  float v = mx__of_f32((x & 0x7F) << 20) * 0x1p120f; /* e4m3's fields in f32's place, rebiased */
  return (x & 0x80) << 8 | F2H(v);
}
static inline uint32_t half_relu(uint32_t x, bool relu) { return relu && x & 0x8000 ? 0 : x; }
#define VALUE r[l] = to_fp8(A_F32, mod >> 1, true, mod & 1) << 8 | to_fp8(B_F32, mod >> 1, true, mod & 1);
ROW(cvt_fp8x2_f32)
#undef VALUE
#define VALUE \
  r[l] = to_fp8(of_f16(A_U32 >> 16), mod >> 1, true, mod & 1) << 8 | to_fp8(of_f16(A_U32), mod >> 1, true, mod & 1);
ROW(cvt_fp8x2_f16x2)
#undef VALUE
#define VALUE \
  r[l] = half_relu(of_fp8(A_U32 >> 8, mod >> 1), mod & 1) << 16 | half_relu(of_fp8(A_U32 & 0xFF, mod >> 1), mod & 1);
ROW(cvt_f16x2_fp8x2)
#undef VALUE
#define VALUE r[l] = to_fp8(A_F32, mod & 1, mod >> 1, false);
ROW(nv_fp8_f32)
#undef VALUE
/* from double a NaN keeps its sign, and e5m2 its payload's top */
static inline uint32_t f64_to_fp8(double x, unsigned kind, bool satfinite) {
  if (x == x) return to_fp8(x, kind, satfinite, false);
  return kind ? nan_of_f64(x, &mx__e5m2) : 0x7F | (uint32_t)(mx__raw_f64(x) >> 56 & 0x80);
}
#define VALUE r[l] = f64_to_fp8(A_F64, mod & 1, mod >> 1);
ROW(nv_fp8_f64)
#undef VALUE
#define VALUE r[l] = to_fp8(of_f16(A_U32), mod & 1, mod >> 1, false);
ROW(nv_fp8_f16)
#undef VALUE
#define VALUE r[l] = to_fp8(of_bf16(A_U32), mod & 1, mod >> 1, false);
ROW(nv_fp8_bf16)
#undef VALUE
#define VALUE r[l] = to_fp8(B_F32, mod & 1, mod >> 1, false) << 8 | to_fp8(A_F32, mod & 1, mod >> 1, false);
ROW(nv_fp8x2_f32)
#undef VALUE
#define VALUE \
  r[l] = to_fp8(of_f16(A_U32 >> 16), mod & 1, mod >> 1, false) << 8 | to_fp8(of_f16(A_U32), mod & 1, mod >> 1, false);
ROW(nv_fp8x2_f16x2)
#undef VALUE
#define VALUE r[l] = of_fp8(A_U32 & 0xFF, mod);
ROW(nv_f16_fp8)
#undef VALUE
#define VALUE r[l] = of_fp8(A_U32 >> 8, mod) << 16 | of_fp8(A_U32 & 0xFF, mod);
ROW(nv_f16x2_fp8x2)
#undef VALUE

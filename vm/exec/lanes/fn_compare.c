/* Lane functions of the comparing rows: setp with a second or a combining predicate, and set. One comparing loop per
 * type and comparison; what is done with the outcome is a second, cheap loop. */
#include "fn.h"
#include "masks.h"
#include "core/vocab.h"

/* The mask of x <cmp> y for all lanes, through words: narrowing the outcome inside the loop costs more than comparing.
 * X(comparison) names each comparison of the type's family. */
#define INT_CASES(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define FLOAT_CASES(X) INT_CASES(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define LOOP(m_, holds_) \
  case m_: \
    for (unsigned half = 0; half < MX_MAX_LANES && half < lanes; half += 32) { \
      _Alignas(64) uint32_t t[32]; \
      for (unsigned k = 0; k < 32; k++) { \
        const unsigned l = half + k; \
        VALUES t[k] = (uint32_t)(holds_); \
      } \
      mask |= (uint64_t)mx__pack_half(t) << half; \
    } \
    break;
#define INT_LOOP(m_) LOOP(m_, ICOND(T, m_, x, y))
#define FLOAT_LOOP(m_) LOOP(m_, FCOND(T, m_, x, y))
#define COMPARE(name_, slot_, cases_, loop_) \
  static uint64_t compare_##name_(const slot_ *a, const slot_ *b, unsigned lanes, unsigned cmp, bool ftz) { \
    uint64_t mask = 0; \
    (void)ftz; \
    MX_WARP_OF(lanes); \
    switch (cmp) { cases_(loop_) } \
    return mask; \
  }

#define VALUES const mx_u16 x = (mx_u16)a[l], y = (mx_u16)b[l];
#define T u16
COMPARE(u16, uint32_t, INT_CASES, INT_LOOP)
#undef VALUES
#undef T
#define VALUES const mx_s16 x = (mx_s16)a[l], y = (mx_s16)b[l];
#define T s16
COMPARE(s16, uint32_t, INT_CASES, INT_LOOP)
#undef VALUES
#undef T
#define VALUES const mx_u32 x = a[l], y = b[l];
#define T u32
COMPARE(u32, uint32_t, INT_CASES, INT_LOOP)
#undef VALUES
#undef T
#define VALUES const mx_s32 x = (mx_s32)a[l], y = (mx_s32)b[l];
#define T s32
COMPARE(s32, uint32_t, INT_CASES, INT_LOOP)
#undef VALUES
#undef T
#define VALUES const mx_u64 x = a[l], y = b[l];
#define T u64
COMPARE(u64, uint64_t, INT_CASES, INT_LOOP)
#undef VALUES
#undef T
#define VALUES const mx_s64 x = (mx_s64)a[l], y = (mx_s64)b[l];
#define T s64
COMPARE(s64, uint64_t, INT_CASES, INT_LOOP)
#undef VALUES
#undef T
#define VALUES const mx_f64 x = mx__of_f64(a[l]), y = mx__of_f64(b[l]);
#define T f64
COMPARE(f64, uint64_t, FLOAT_CASES, FLOAT_LOOP)
#undef VALUES
#undef T
/* the narrow floats are widened first, flushed where asked */
#define VALUES const mx_f32 x = a[l], y = b[l];
#define T f32
COMPARE(floats, float, FLOAT_CASES, FLOAT_LOOP)
#undef VALUES
#undef T
#define WIDENED(name_, widen_) \
  static uint64_t compare_##name_(const uint32_t *a, const uint32_t *b, unsigned lanes, unsigned cmp, bool ftz) { \
    float x[MX_MAX_LANES], y[MX_MAX_LANES]; \
    (void)ftz; \
    for (unsigned l = 0; l < lanes; l++) { \
      x[l] = widen_(a[l]); \
      y[l] = widen_(b[l]); \
    } \
    return compare_floats(x, y, lanes, cmp, false); \
  }
static inline uint16_t flush16(uint16_t x, bool on) { return on && !(x & 0x7C00) ? x & 0x8000 : x; }
static inline uint32_t flush32(uint32_t x) { return (x & 0x7FFFFFFF) < 0x00800000 ? x & 0x80000000 : x; }
#define WIDEN_F32(x_) mx__of_f32(flush32(x_))
#define WIDEN_F16(x_) H2F(flush16((uint16_t)(x_), ftz))
#define WIDEN_F16_HI(x_) H2F(flush16((uint16_t)((x_) >> 16), ftz))
#define WIDEN_BF16(x_) B2F(x_)
#define WIDEN_BF16_HI(x_) B2F((x_) >> 16)
WIDENED(flushed, WIDEN_F32)
WIDENED(f16, WIDEN_F16)
WIDENED(f16_hi, WIDEN_F16_HI)
WIDENED(bf16, WIDEN_BF16)
WIDENED(bf16_hi, WIDEN_BF16_HI)
static uint64_t compare_f32(const void *a, const void *b, unsigned lanes, unsigned cmp, bool ftz) {
  return ftz ? compare_flushed(a, b, lanes, cmp, true) : compare_floats(a, b, lanes, cmp, false);
}

/* The modifier: comparison, then the combination where there is a combining predicate, then ftz. */
struct way {
  unsigned cmp, join;
  bool ftz;
};
static struct way way_of(unsigned mod, unsigned n, bool joined) {
  struct way w = {.cmp = mod % n};
  mod /= n;
  if (joined) {
    w.join = mod % 3;
    mod /= 3;
  }
  w.ftz = mod;
  return w;
}

/* A comparison's outcome combined with a predicate, if there is one. */
static uint64_t join(uint64_t t, const uint64_t *p, unsigned how) {
  return !p ? t : how == 0 ? t & *p : how == 1 ? t | *p : t ^ *p;
}

static void spread(uint32_t *d, uint64_t t, uint32_t one, unsigned lanes) {
  for (unsigned l = 0; l < lanes; l++) d[l] = (uint32_t)(t >> (l & ~31u)) & mx__bit[l] ? one : 0;
}

#define ROWS(t_, n_) \
  void MX_FN(setp_##t_)(MX_FN_ARGS) { \
    (void)e; \
    const struct way w = way_of(mod, n_, c); \
    const uint64_t t = compare_##t_(a, b, lanes, w.cmp, w.ftz); \
    *(uint64_t *)d = join(t, c, w.join); \
    if (q) *(uint64_t *)q = join(~t, c, w.join); /* d has not changed *c: bodies pass masks of their own as results */ \
  } \
  SET(t_, n_, U32, 0xFFFFFFFF) \
  SET(t_, n_, F32, 0x3F800000) SET(t_, n_, U16, 0xFFFF) SET(t_, n_, F16, 0x3C00) SET(t_, n_, BF16, 0x3F80)
#define SET(t_, n_, to_, one_) \
  void MX_FN(set_##to_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)e; \
    const struct way w = way_of(mod, n_, c); \
    spread(d, join(compare_##t_(a, b, lanes, w.cmp, w.ftz), c, w.join), one_, lanes); \
  }
ROWS(u16, 6)
ROWS(s16, 6)
ROWS(u32, 6)
ROWS(s32, 6)
ROWS(u64, 6)
ROWS(s64, 6)
ROWS(f16, 14)
ROWS(bf16, 14)
ROWS(f32, 14)
ROWS(f64, 14)

#define PAIRS(t_, half_, to_, one_) \
  void MX_FN(setp_##t_)(MX_FN_ARGS) { \
    (void)e; \
    const struct way w = way_of(mod, 14, c); \
    *(uint64_t *)d = join(compare_##half_(a, b, lanes, w.cmp, w.ftz), c, w.join); \
    *(uint64_t *)q = join(compare_##half_##_hi(a, b, lanes, w.cmp, w.ftz), c, w.join); \
  } \
  SET_PAIRS(t_, half_, to_, one_) SET_PAIRS(t_, half_, U32, 0xFFFF)
#define SET_PAIRS(t_, half_, to_, one_) \
  void MX_FN(set_##to_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)e; \
    uint32_t high[MX_MAX_LANES], *r = d; \
    const struct way w = way_of(mod, 14, c); \
    spread(high, join(compare_##half_##_hi(a, b, lanes, w.cmp, w.ftz), c, w.join), (uint32_t)one_ << 16, lanes); \
    spread(r, join(compare_##half_(a, b, lanes, w.cmp, w.ftz), c, w.join), one_, lanes); \
    for (unsigned l = 0; l < lanes; l++) r[l] |= high[l]; \
  }
PAIRS(f16x2, f16, F16X2, 0x3C00u) PAIRS(bf16x2, bf16, BF16X2, 0x3F80u)

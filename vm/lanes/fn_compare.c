/* Lane functions of the comparing rows: setp with a second or a combining predicate, and set. One comparing loop per
 * type and comparison; what is done with the outcome is a second, cheap loop. */
#include "vm/lanes/fn.h"
#include "vm/lanes/masks.h"
#include "vm/lanes/vocab.h"

/* t[l] = x <cmp> y for all lanes, in words: narrowing the outcome inside the loop costs more than comparing; X(comparison) names each comparison of the type's family. */
#define INT_CASES(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define FLOAT_CASES(X) INT_CASES(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define INT_LOOP(m_) case m_: for (unsigned l = 0; l < lanes; l++) { VALUES t[l] = (uint32_t)ICOND(T, m_, x, y); } break;
#define FLOAT_LOOP(m_) case m_: for (unsigned l = 0; l < lanes; l++) { VALUES t[l] = (uint32_t)FCOND(T, m_, x, y); } break;
#define COMPARE(name_, slot_, cases_, loop_) \
  static void compare_##name_(uint32_t *t, const slot_ *a, const slot_ *b, unsigned lanes, unsigned cmp, bool ftz) { \
    (void)ftz; \
    switch (cmp) { cases_(loop_) } \
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
  static void compare_##name_(uint32_t *t, const uint32_t *a, const uint32_t *b, unsigned lanes, unsigned cmp, bool ftz) { \
    float x[MX_MAX_LANES], y[MX_MAX_LANES]; \
    (void)ftz; \
    for (unsigned l = 0; l < lanes; l++) { \
      x[l] = widen_(a[l]); \
      y[l] = widen_(b[l]); \
    } \
    compare_floats(t, x, y, lanes, cmp, false); \
  }
static inline uint16_t flush16(uint16_t x, bool on) { return on && !(x & 0x7C00) ? x & 0x8000 : x; }
static inline uint32_t flush32(uint32_t x, bool on) { return on && (x & 0x7FFFFFFF) < 0x00800000 ? x & 0x80000000 : x; }
#define WIDEN_F32(x_) mx__of_f32(flush32((x_), ftz))
#define WIDEN_F16(x_) H2F(flush16((uint16_t)(x_), ftz))
#define WIDEN_F16_HI(x_) H2F(flush16((uint16_t)((x_) >> 16), ftz))
#define WIDEN_BF16(x_) B2F(x_)
#define WIDEN_BF16_HI(x_) B2F((x_) >> 16)
WIDENED(f32, WIDEN_F32)
WIDENED(f16, WIDEN_F16)
WIDENED(f16_hi, WIDEN_F16_HI)
WIDENED(bf16, WIDEN_BF16)
WIDENED(bf16_hi, WIDEN_BF16_HI)

/* The modifier: comparison, then the combination where there is a combining predicate, then ftz. */
struct way { unsigned cmp, join; bool ftz; };
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

/* r = t (flipped: not t) combined with p, if there is one. */
static void join(uint8_t *restrict r, const uint32_t *restrict t, bool flip, const uint8_t *restrict p, unsigned how, unsigned lanes) {
  uint32_t x = flip;
#ifdef MX__AVX512
  if (lanes % 32 == 0) { /* as masks: bytes that were stored one way and are loaded another have to wait */
    const uint64_t m = mx__pack32(t, lanes) ^ (flip ? UINT64_MAX : 0), with = p ? mx__pack01(p, lanes) : 0;
    const uint64_t all = !p ? m : how == 0 ? m & with : how == 1 ? m | with : m ^ with;
    if (lanes == 64) mx__expand01(all, r);
    else _mm256_storeu_si256((__m256i *)r, _mm256_maskz_set1_epi8((__mmask32)all, 1));
    return;
  }
#endif
  if (!p) for (unsigned l = 0; l < lanes; l++) r[l] = (uint8_t)(t[l] ^ x);
  else if (how == 0) for (unsigned l = 0; l < lanes; l++) r[l] = (uint8_t)((t[l] ^ x) & p[l]);
  else if (how == 1) for (unsigned l = 0; l < lanes; l++) r[l] = (uint8_t)((t[l] ^ x) | p[l]);
  else for (unsigned l = 0; l < lanes; l++) r[l] = (uint8_t)(t[l] ^ x ^ p[l]);
}

static void spread(uint32_t *d, const uint8_t *t, uint32_t one, unsigned lanes) {
  for (unsigned l = 0; l < lanes; l++) d[l] = t[l] ? one : 0;
}

#define ROWS(t_, n_) \
  void MX_FN(setp_##t_)(MX_FN_ARGS) { \
    (void)e; \
    _Alignas(64) uint32_t t[MX_MAX_LANES]; \
    struct way w = way_of(mod, n_, c); \
    compare_##t_(t, a, b, lanes, w.cmp, w.ftz); \
    join(d, t, false, c, w.join, lanes); /* predicates' bytes are the body's own: d is never c */ \
    if (q) join(q, t, true, c, w.join, lanes); \
  } \
  SET(t_, n_, U32, 0xFFFFFFFF) SET(t_, n_, F32, 0x3F800000) SET(t_, n_, U16, 0xFFFF) SET(t_, n_, F16, 0x3C00) SET(t_, n_, BF16, 0x3F80)
#define SET(t_, n_, to_, one_) \
  void MX_FN(set_##to_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)e; \
    _Alignas(64) uint32_t t[MX_MAX_LANES]; \
    uint8_t p[MX_MAX_LANES]; \
    struct way w = way_of(mod, n_, c); \
    compare_##t_(t, a, b, lanes, w.cmp, w.ftz); \
    join(p, t, false, c, w.join, lanes); \
    spread(d, p, one_, lanes); \
  }
ROWS(u16, 6) ROWS(s16, 6) ROWS(u32, 6) ROWS(s32, 6) ROWS(u64, 6) ROWS(s64, 6)
ROWS(f16, 14) ROWS(bf16, 14) ROWS(f32, 14) ROWS(f64, 14)

#define PAIRS(t_, half_, to_, one_) \
  void MX_FN(setp_##t_)(MX_FN_ARGS) { \
    (void)e; \
    uint32_t lo[MX_MAX_LANES], hi[MX_MAX_LANES]; \
    uint8_t pl[MX_MAX_LANES], ph[MX_MAX_LANES]; \
    struct way w = way_of(mod, 14, c); \
    compare_##half_(lo, a, b, lanes, w.cmp, w.ftz); \
    compare_##half_##_hi(hi, a, b, lanes, w.cmp, w.ftz); \
    join(pl, lo, false, c, w.join, lanes); \
    join(ph, hi, false, c, w.join, lanes); \
    memcpy(d, pl, lanes); \
    memcpy(q, ph, lanes); \
  } \
  SET_PAIRS(t_, half_, to_, one_) SET_PAIRS(t_, half_, U32, 0xFFFF)
#define SET_PAIRS(t_, half_, to_, one_) \
  void MX_FN(set_##to_##_##t_)(MX_FN_ARGS) { \
    (void)q, (void)e; \
    uint32_t lo[MX_MAX_LANES], hi[MX_MAX_LANES]; \
    uint8_t pl[MX_MAX_LANES], ph[MX_MAX_LANES]; \
    struct way w = way_of(mod, 14, c); \
    uint32_t *r = d; \
    compare_##half_(lo, a, b, lanes, w.cmp, w.ftz); \
    compare_##half_##_hi(hi, a, b, lanes, w.cmp, w.ftz); \
    join(pl, lo, false, c, w.join, lanes); \
    join(ph, hi, false, c, w.join, lanes); \
    for (unsigned l = 0; l < lanes; l++) r[l] = (pl[l] ? one_ : 0u) | (ph[l] ? (uint32_t)one_ << 16 : 0); \
  }
PAIRS(f16x2, f16, F16X2, 0x3C00u)
PAIRS(bf16x2, bf16, BF16X2, 0x3F80u)

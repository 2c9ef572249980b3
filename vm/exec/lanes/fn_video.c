/* Lane functions of the video rows. Rare in today's code, so they are plain: one lane at a time, in 64 bits, which hold
 * every intermediate of PTX's definitions. */
#include "fn.h"

enum op { ADD_, SUB_, ABSDIFF, MIN_, MAX_, AVRG };

static int64_t apply(enum op op, int64_t x, int64_t y) {
  switch (op) {
  case ADD_: return x + y;
  case SUB_: return x - y;
  case ABSDIFF: return x < y ? y - x : x - y;
  case MIN_: return x < y ? x : y;
  case MAX_: return x > y ? x : y;
  default: return (x + y + (x + y >= 0)) >> 1;
  }
}

static bool compare(unsigned cmp, int64_t x, int64_t y) {
  switch (cmp) {
  case 0: return x == y;
  case 1: return x != y;
  case 2: return x < y;
  case 3: return x <= y;
  case 4: return x > y;
  default: return x >= y;
  }
}

/* `bits` bits of x from `at`, extended by sign. */
static int64_t part(uint64_t x, unsigned at, unsigned bits, bool is_signed) {
  uint64_t v = x >> at << (64 - bits);
  return is_signed ? (int64_t)v >> (64 - bits) : (int64_t)(v >> (64 - bits));
}
static int64_t clamp(int64_t x, unsigned bits, bool is_signed) {
  int64_t max = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1, min = is_signed ? -max - 1 : 0;
  return x < min ? min : x > max ? max : x;
}

/* ---- scalar: a selector is 0 for the whole, 1 to 4 a byte, 5 and 6 a half ---------------------------------------*/

static unsigned at(unsigned sel) { return sel == 0 ? 0 : sel < 5 ? 8 * (sel - 1) : 16 * ((sel - 5) & 1); }
static unsigned size(unsigned sel) { return sel == 0 ? 32 : sel < 5 ? 8 : 16; }
static int64_t selected(uint32_t x, unsigned sel, bool is_signed) { return part(x, at(sel), size(sel), is_signed); }

/* The end of every scalar instruction but vmad: x, already saturated, goes into a part of c or is combined with it. As
 * on the hardware, .h1 of d gets the upper half of x, and minimum and maximum compare all 64 bits of x with c. */
static uint32_t finish(int64_t x, uint32_t c, unsigned dsel, bool is_signed, unsigned op2) {
  if (op2 == 1) return (uint32_t)x + c;
  if (op2) {
    int64_t w = part(c, 0, 32, is_signed);
    bool below = is_signed ? x < w : (uint64_t)x < (uint64_t)w;
    return (uint32_t)(below == (op2 == 2) ? x : w);
  }
  if (!dsel) return (uint32_t)x;
  uint32_t v = (uint32_t)(dsel == 6 ? x >> 16 : x), mask = (size(dsel) == 8 ? 0xFFu : 0xFFFFu) << at(dsel);
  return (v << at(dsel) & mask) | (c & ~mask);
}

/* Saturation as the hardware does it: to a whole unsigned word only negatives change (to 0); to a part, what does not
 * fit 32 unsigned bits, negatives among them, counts as too large. */
static int64_t saturated(int64_t x, unsigned dsel, bool is_signed) {
  if (dsel) {
    uint64_t max = (1ull << (size(dsel) - is_signed)) - 1;
    return (int64_t)((uint64_t)x > max ? max : (uint64_t)x);
  }
  return is_signed ? clamp(x, 32, true) : x < 0 ? 0 : x;
}
static int64_t word(int64_t x) { return (int32_t)(uint32_t)x; }

#define SCALAR(name_, ...) \
  void MX_FN(name_)(MX_FN_ARGS) { \
    (void)q; \
    uint32_t *r = d; \
    const uint32_t *va = a, *vb = b, *vc = c, *vs = e; \
    for (unsigned l = 0; l < lanes; l++) { \
      const uint32_t s = vs[l], z = vc[l]; \
      const unsigned ds = s & 7, as = s >> 3 & 7, bs = s >> 6 & 7; \
      __VA_ARGS__ \
    } \
  }
/* mod: types of d, a, b; sat; second operation, which sees sums and differences as signed words */
#define ARITHMETIC(name_, op_) \
  SCALAR(name_, { \
    int64_t x = selected(va[l], as, mod >> 1 & 1), y = selected(vb[l], bs, mod >> 2 & 1), t = apply(op_, x, y); \
    if (mod >> 3 & 1) t = saturated(t, ds, mod & 1); \
    if (op_ == ADD_ || op_ == SUB_) t = word(t); \
    r[l] = finish(t, z, ds, mod & 1, mod >> 4); \
  })
ARITHMETIC(vadd, ADD_)
ARITHMETIC(vsub, SUB_)
ARITHMETIC(vabsdiff, ABSDIFF)
ARITHMETIC(vmin, MIN_)
ARITHMETIC(vmax, MAX_)
/* mod: types of d, a; sat; clamp or wrap; second operation. As on the hardware, saturation keeps two bits above the
 * word, as its sign, and clamps to 32 bits whatever part of d the result goes to. */
#define COUNT ((mod >> 3 & 1) ? y & 31 : y > 32 ? 32 : y)
#define SHIFT(name_, shifted_) \
  SCALAR(name_, { \
    int64_t x = selected(va[l], as, mod >> 1 & 1), y = selected(vb[l], bs, false), t = shifted_; \
    if (mod >> 2 & 1) t = word(clamp((int64_t)((uint64_t)t << 30) >> 30, 32, mod & 1)); \
    r[l] = finish(t, z, ds, mod & 1, mod >> 4); \
  })
SHIFT(vshl, (int64_t)((uint64_t)x << COUNT))
SHIFT(vshr, x >> COUNT)
/* mod: types of a, b; comparison; second operation */
SCALAR(vset, {
  int64_t x = selected(va[l], as, mod & 1), y = selected(vb[l], bs, mod >> 1 & 1);
  r[l] = finish(compare(mod / 4 % 6, x, y), z, ds, mod & 1, mod / 24);
})
/* mod: types of d, a, b; po; sat; shift. As on the hardware: whole operands are multiplied as signed ones, c is
 * extended by its sign, all in 64 bits; only the shift and the clamp know whether the result is a signed one. */
SCALAR(vmad, {
  (void)ds;
  bool negate = (s >> 9 ^ s >> 10) & 1;
  bool negate_c = s >> 11 & 1;
  bool is_signed = (mod >> 1 & 1) || (mod >> 2 & 1) || negate || negate_c;
  int64_t product = (int64_t)(int32_t)selected(va[l], as, mod >> 1 & 1) * (int32_t)selected(vb[l], bs, mod >> 2 & 1);
  uint64_t t = negate ? 0 - (uint64_t)product : (uint64_t)product;
  t += (uint64_t)(int64_t)(int32_t)(negate_c ? ~z : z) + ((mod >> 3 & 1) || negate_c);
  unsigned shift = (unsigned[]){0, 7, 15}[mod / 32 % 3];
  t = is_signed ? (uint64_t)((int64_t)t >> shift) : t >> shift;
  r[l] = (uint32_t)(mod >> 4 & 1 ? clamp((int64_t)t, 32, is_signed) : (int64_t)t);
})

/* ---- two halves or four bytes -----------------------------------------------------------------------------------*/

/* Selectors: mask from bit 0, sources of a's and b's elements from bits 4 and 16; sources count through a, then b. */
#define VECTOR(name_, n_, each_, signed_, sat_, add_) \
  void MX_FN(name_)(MX_FN_ARGS) { \
    (void)q; \
    uint32_t *r = d; \
    const uint32_t *va = a, *vb = b, *vc = c, *vs = e; \
    for (unsigned l = 0; l < lanes; l++) { \
      const uint64_t both = (uint64_t)vb[l] << 32 | va[l]; \
      const uint32_t s = vs[l]; \
      const unsigned bits = 32 / n_; \
      uint32_t merged = vc[l]; \
      int64_t sum = signed_ ? (int64_t)(int32_t)vc[l] : (int64_t)vc[l]; \
      for (unsigned k = 0; k < n_; k++) { \
        if (!(s >> k & 1)) continue; \
        unsigned from = s >> (4 + 3 * k) & (2 * n_ - 1), with = s >> (16 + 3 * k) & (2 * n_ - 1); \
        int64_t x = part(both, bits * from, bits, A_SIGNED), y = part(both, bits * with, bits, B_SIGNED); \
        int64_t v = each_; \
        if (sat_) v = clamp(v, bits, signed_); \
        sum += v; \
        uint32_t mask = (uint32_t)((1ull << bits) - 1) << (bits * k); \
        merged = (merged & ~mask) | ((uint32_t)v << (bits * k) & mask); \
      } \
      r[l] = add_ ? (uint32_t)sum : merged; \
    } \
  }
/* mod: types of d, a, b; nothing, sat or add */
#define A_SIGNED (mod >> 1 & 1)
#define B_SIGNED (mod >> 2 & 1)
#define ROW(name_, op_) \
  VECTOR(name_##2, 2, apply(op_, x, y), (mod & 1), mod >> 3 == 1, mod >> 3 == 2) \
  VECTOR(name_##4, 4, apply(op_, x, y), (mod & 1), mod >> 3 == 1, mod >> 3 == 2)
ROW(vadd, ADD_)
ROW(vsub, SUB_)
ROW(vabsdiff, ABSDIFF)
ROW(vmin, MIN_)
ROW(vmax, MAX_)
ROW(vavrg, AVRG)
#undef A_SIGNED
#undef B_SIGNED
/* mod: types of a, b; comparison; add */
#define A_SIGNED (mod & 1)
#define B_SIGNED (mod >> 1 & 1)
VECTOR(vset2, 2, compare(mod / 4 % 6, x, y), false, false, mod / 24)
VECTOR(vset4, 4, compare(mod / 4 % 6, x, y), false, false, mod / 24)

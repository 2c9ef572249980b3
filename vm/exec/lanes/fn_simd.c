/* Lane functions of SIMD in a word, and the bodies of their rows, core/ops/simd.def: such a function is so short that
 * calling it would take as long again. The slots are arrays of halves or bytes here, so that the loops vectorise whole.
 */
#define MX_FN_OF_BODY(name_) own_##name_
#include "body.h"

typedef uint16_t __attribute__((may_alias)) word;
typedef int16_t __attribute__((may_alias)) sword;
typedef uint8_t __attribute__((may_alias)) byte;
typedef int8_t __attribute__((may_alias)) sbyte;

/* One operation: u_ and s_ the part's types, n_ parts to a lane, x and y the operands. The result may share its slots
 * with an operand, part for part. */
#define EACH(t_, r_, n_, ...) \
  { \
    r_ *to = d; \
    const t_ *from = a, *with = b; \
    for (unsigned half = 0; half < 2 && half < lanes / 32; half++, to += 32 * n_, from += 32 * n_, with += 32 * n_) \
      _Pragma("GCC ivdep") for (unsigned k = 0; k < 32 * n_; k++) { \
        const t_ x = from[k], y = with[k]; \
        (void)y; \
        to[k] = (r_)(__VA_ARGS__); \
      } \
    break; \
  }
/* Not inlined: these loops need more registers than all others, and a function that had both would always save them. */
#define SUM(name_, t_, n_) \
  static __attribute__((noinline)) void name_(uint32_t *to, const t_ *from, const t_ *with, unsigned lanes) { \
    MX_WARP_OF(lanes); \
    for (unsigned l = 0; l < lanes; l++) { \
      uint32_t sum = 0; \
      for (unsigned k = n_ * l; k < n_ * (l + 1); k++) \
        sum += (uint32_t)(from[k] < with[k] ? with[k] - from[k] : from[k] - with[k]); \
      to[l] = sum; \
    } \
  }
#define MIN(x_, y_) ((x_) < (y_) ? (x_) : (y_))
#define MAX(x_, y_) ((x_) > (y_) ? (x_) : (y_))
#define CLAMP(lo_, hi_, z_) ((z_) < (lo_) ? (lo_) : (z_) > (hi_) ? (hi_) : (z_))
#define COMPARED(from_, u_, s_, n_, yes_) \
  case from_: EACH(u_, u_, n_, x == y ? yes_ : 0) \
  case from_ + 1: EACH(u_, u_, n_, x != y ? yes_ : 0) \
  case from_ + 2: EACH(s_, u_, n_, x < y ? yes_ : 0) \
  case from_ + 3: EACH(u_, u_, n_, x < y ? yes_ : 0) \
  case from_ + 4: EACH(s_, u_, n_, x <= y ? yes_ : 0) \
  case from_ + 5: EACH(u_, u_, n_, x <= y ? yes_ : 0) \
  case from_ + 6: EACH(s_, u_, n_, x > y ? yes_ : 0) \
  case from_ + 7: EACH(u_, u_, n_, x > y ? yes_ : 0) \
  case from_ + 8: EACH(s_, u_, n_, x >= y ? yes_ : 0) \
  case from_ + 9: \
    EACH(u_, u_, n_, x >= y ? yes_ : 0)

#define PARTS(n_, u_, s_, min_, max_, umax_) \
  SUM(sum_##u_, u_, n_) \
  SUM(sum_##s_, s_, n_) \
  static inline __attribute__((always_inline)) void own_simd_unary##n_(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e; \
    MX_WARP_OF(lanes); \
    b = a; \
    switch (mod) { \
    case 0: EACH(s_, u_, n_, x < 0 ? -x : x) \
    case 1: EACH(s_, u_, n_, x < 0 ? CLAMP(min_, max_, -x) : x) \
    case 2: EACH(s_, u_, n_, -x) \
    default: EACH(s_, u_, n_, CLAMP(min_, max_, -x)) \
    } \
  } \
  void MX_FN(simd_unary##n_)(MX_FN_ARGS) { own_simd_unary##n_(d, q, a, b, c, e, lanes, mod); } \
  static inline __attribute__((always_inline)) void own_simd_binary##n_(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e; \
    MX_WARP_OF(lanes); \
    switch (mod) { \
    case 0: EACH(s_, u_, n_, MAX(x, y) - MIN(x, y)) \
    case 1: EACH(u_, u_, n_, MAX(x, y) - MIN(x, y)) \
    case 2: EACH(u_, u_, n_, x + y) \
    case 3: EACH(s_, u_, n_, CLAMP(min_, max_, x + y)) \
    case 4: EACH(u_, u_, n_, CLAMP(0, umax_, x + y)) \
    case 5: EACH(s_, u_, n_, (x + y + (x + y >= 0)) >> 1) \
    case 6: EACH(u_, u_, n_, (x + y + 1) >> 1) \
    case 7: EACH(u_, u_, n_, (x + y) >> 1) \
    case 8: EACH(s_, s_, n_, MAX(x, y)) \
    case 9: EACH(u_, u_, n_, MAX(x, y)) \
    case 10: EACH(s_, s_, n_, MIN(x, y)) \
    case 11: EACH(u_, u_, n_, MIN(x, y)) \
    case 12: EACH(u_, u_, n_, x - y) \
    case 13: EACH(s_, u_, n_, CLAMP(min_, max_, x - y)) \
    case 14: \
      EACH(u_, u_, n_, CLAMP(0, umax_, x - y)) \
      COMPARED(15, u_, s_, n_, umax_) \
      COMPARED(25, u_, s_, n_, 1) \
    case 35: sum_##s_(d, a, b, lanes); break; \
    default: sum_##u_(d, a, b, lanes); \
    } \
  } \
  void MX_FN(simd_binary##n_)(MX_FN_ARGS) { own_simd_binary##n_(d, q, a, b, c, e, lanes, mod); }
PARTS(2, word, sword, -32768, 32767, 65535)
PARTS(4, byte, sbyte, -128, 127, 255)

#include "core/ops/simd.def"

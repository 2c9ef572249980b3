/* Lane functions of SIMD in a word. The slots are arrays of halves or bytes here, so that the loops vectorise whole. */
#include "vm/lanes/fn.h"

typedef uint16_t __attribute__((may_alias)) half;
typedef int16_t __attribute__((may_alias)) shalf;
typedef uint8_t __attribute__((may_alias)) byte;
typedef int8_t __attribute__((may_alias)) sbyte;

/* One operation: u_ and s_ the part's types, n_ parts to a lane, x and y the operands. The result may share its slots with
 * an operand, part for part. */
#define EACH(t_, r_, n_, ...) \
  { \
    r_ *to = d; \
    const t_ *from = a, *with = b; \
    _Pragma("GCC ivdep") for (unsigned k = 0; k < n_ * lanes; k++) { \
      const int x = from[k], y = with[k]; \
      (void)y; \
      to[k] = (r_)(__VA_ARGS__); \
    } \
    break; \
  }
#define SUM(t_, n_) \
  { \
    uint32_t *to = d; \
    const t_ *from = a, *with = b; \
    for (unsigned l = 0; l < lanes; l++) { \
      uint32_t sum = 0; \
      for (unsigned k = n_ * l; k < n_ * (l + 1); k++) sum += (uint32_t)(from[k] < with[k] ? with[k] - from[k] : from[k] - with[k]); \
      to[l] = sum; \
    } \
    break; \
  }
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
  case from_ + 9: EACH(u_, u_, n_, x >= y ? yes_ : 0)

#define PARTS(n_, u_, s_, min_, max_, umax_) \
  void MX_FN(simd_unary##n_)(MX_FN_ARGS) { \
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
  void MX_FN(simd_binary##n_)(MX_FN_ARGS) { \
    (void)q, (void)c, (void)e; \
    MX_WARP_OF(lanes); \
    switch (mod) { \
      case 0: EACH(s_, u_, n_, x < y ? y - x : x - y) \
      case 1: EACH(u_, u_, n_, x < y ? y - x : x - y) \
      case 2: EACH(u_, u_, n_, x + y) \
      case 3: EACH(s_, u_, n_, CLAMP(min_, max_, x + y)) \
      case 4: EACH(u_, u_, n_, CLAMP(0, umax_, x + y)) \
      case 5: EACH(s_, u_, n_, (x + y + (x + y >= 0)) >> 1) \
      case 6: EACH(u_, u_, n_, (x + y + 1) >> 1) \
      case 7: EACH(u_, u_, n_, (x + y) >> 1) \
      case 8: EACH(s_, u_, n_, x > y ? x : y) \
      case 9: EACH(u_, u_, n_, x > y ? x : y) \
      case 10: EACH(s_, u_, n_, x < y ? x : y) \
      case 11: EACH(u_, u_, n_, x < y ? x : y) \
      case 12: EACH(u_, u_, n_, x - y) \
      case 13: EACH(s_, u_, n_, CLAMP(min_, max_, x - y)) \
      case 14: EACH(u_, u_, n_, CLAMP(0, umax_, x - y)) \
      COMPARED(15, u_, s_, n_, umax_) \
      COMPARED(25, u_, s_, n_, 1) \
      case 35: SUM(s_, n_) \
      default: SUM(u_, n_) \
    } \
  }
PARTS(2, half, shalf, -32768, 32767, 65535)
PARTS(4, byte, sbyte, -128, 127, 255)

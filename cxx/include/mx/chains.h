/* The DPX functions for dynamic programming, for host and kernels: minimum and maximum of three values (__vimax3_s32),
 * of a sum and a value (__viaddmax_s32) and with a flag that tells which was taken (__vibmax_s32), on 32-bit integers
 * and on pairs of 16-bit ones. With _relu the result is at least zero. */
#ifndef MX_CXX_CHAINS_H
#define MX_CXX_CHAINS_H
#include "mx/keywords.h"

template <class T> __MX_BOTH T __mx_pick(T a, T b, bool greatest) { return (greatest ? a >= b : a <= b) ? a : b; }
template <class T> __MX_BOTH T __mx_sum(T a, T b) { return (T)((unsigned int)a + (unsigned int)b); }
__MX_BOTH int __mx_not_below_zero(int a) { return a < 0 ? 0 : a; }
/* Applies f to the low halves and to the high halves of words. */
template <class T, class F> __MX_BOTH unsigned int __mx_halves(unsigned int a, unsigned int b, unsigned int c, F f) {
  const T low = f((T)a, (T)b, (T)c), high = f((T)(a >> 16), (T)(b >> 16), (T)(c >> 16));
  return (unsigned int)(unsigned short)high << 16 | (unsigned short)low;
}

#define __MX_CHAINS(s_, t_, word_, greatest_) \
  __MX_BOTH t_ __vi##word_##3_##s_(t_ a, t_ b, t_ c) { return __mx_pick(__mx_pick(a, b, greatest_), c, greatest_); } \
  __MX_BOTH t_ __viadd##word_##_##s_(t_ a, t_ b, t_ c) { return __mx_pick(__mx_sum(a, b), c, greatest_); } \
  __MX_BOTH t_ __vib##word_##_##s_(t_ a, t_ b, bool *first) { \
    *first = greatest_ ? a >= b : a <= b; \
    return *first ? a : b; \
  }
#define __MX_CHAINS2(s_, t_, word_, greatest_) \
  __MX_BOTH unsigned int __vi##word_##3_##s_##x2(unsigned int a, unsigned int b, unsigned int c) { \
    return __mx_halves<t_>( \
        a, b, c, [](t_ x, t_ y, t_ z) -> t_ { return __mx_pick(__mx_pick(x, y, greatest_), z, greatest_); }); \
  } \
  __MX_BOTH unsigned int __viadd##word_##_##s_##x2(unsigned int a, unsigned int b, unsigned int c) { \
    return __mx_halves<t_>(a, b, c, [](t_ x, t_ y, t_ z) -> t_ { return __mx_pick((t_)(x + y), z, greatest_); }); \
  } \
  __MX_BOTH unsigned int __vib##word_##_##s_##x2(unsigned int a, unsigned int b, bool *high, bool *low) { \
    *high = greatest_ ? (t_)(a >> 16) >= (t_)(b >> 16) : (t_)(a >> 16) <= (t_)(b >> 16); \
    *low = greatest_ ? (t_)a >= (t_)b : (t_)a <= (t_)b; \
    return ((*high ? a : b) & 0xFFFF0000u) | ((*low ? a : b) & 0xFFFFu); \
  }
#define __MX_CHAINS_RELU(word_, greatest_) \
  __MX_BOTH int __vi##word_##_s32_relu(int a, int b) { return __mx_not_below_zero(__mx_pick(a, b, greatest_)); } \
  __MX_BOTH int __vi##word_##3_s32_relu(int a, int b, int c) { \
    return __mx_not_below_zero(__vi##word_##3_s32(a, b, c)); \
  } \
  __MX_BOTH int __viadd##word_##_s32_relu(int a, int b, int c) { \
    return __mx_not_below_zero(__viadd##word_##_s32(a, b, c)); \
  } \
  __MX_BOTH unsigned int __mx_relu_of_##word_(unsigned int a) { \
    return __mx_halves<short>(a, 0, 0, [](short x, short, short) -> short { return x < 0 ? 0 : x; }); \
  } \
  __MX_BOTH unsigned int __vi##word_##_s16x2_relu(unsigned int a, unsigned int b) { \
    return __mx_relu_of_##word_(__vi##word_##3_s16x2(a, b, b)); \
  } \
  __MX_BOTH unsigned int __vi##word_##3_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) { \
    return __mx_relu_of_##word_(__vi##word_##3_s16x2(a, b, c)); \
  } \
  __MX_BOTH unsigned int __viadd##word_##_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) { \
    return __mx_relu_of_##word_(__viadd##word_##_s16x2(a, b, c)); \
  }
#define __MX_CHAINS_OF(word_, greatest_) \
  __MX_CHAINS(s32, int, word_, greatest_) \
  __MX_CHAINS(u32, unsigned int, word_, greatest_) \
  __MX_CHAINS2(s16, short, word_, greatest_) \
  __MX_CHAINS2(u16, unsigned short, word_, greatest_) \
  __MX_CHAINS_RELU(word_, greatest_)
__MX_CHAINS_OF(max, true)
__MX_CHAINS_OF(min, false)
#undef __MX_CHAINS_OF
#undef __MX_CHAINS_RELU
#undef __MX_CHAINS2
#undef __MX_CHAINS
#endif

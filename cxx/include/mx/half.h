/* __half and __half2: types, conversions, operators and some functions for both host and kernels, and the programming
 * guides' other functions for kernels. */
#ifndef MX_CXX_HALF_H
#define MX_CXX_HALF_H
#include "mx/vector.h"

/* The half that is nearest to a float, ties to even, and the float that equals a half. They are for the host, which may
 * have no instruction for it. */
__MX_HOST unsigned short __mx_half_bits(float f) {
  unsigned u = __builtin_bit_cast(unsigned, f), sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFF;
  if (a > 0x7F800000) return 0x7FFF;
  if (a >= 0x477FF000) return (unsigned short)(sign | 0x7C00); /* 65520 and above */
  if (a < 0x38800000) { /* a subnormal half is a multiple of 2^-24, which is the last bit of a float in [0.5, 1) */
    float scaled = __builtin_bit_cast(float, a) + 0.5f;
    return (unsigned short)(sign | (__builtin_bit_cast(unsigned, scaled) - 0x3F000000));
  }
  return (unsigned short)(sign | ((a + 0xFFF + (a >> 13 & 1) - 0x38000000) >> 13));
}
__MX_HOST float __mx_half_value(unsigned short h) {
  unsigned sign = (unsigned)(h & 0x8000) << 16, a = h & 0x7FFF;
  if (a >= 0x7C00) return __builtin_bit_cast(float, sign | 0x7F800000 | (a & 0x3FF ? 0x7FFFFF : 0));
  if (a < 0x400) {
    float f = (float)a * 0x1p-24f;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(unsigned, f));
  }
  return __builtin_bit_cast(float, sign | ((a << 13) + 0x38000000));
}

#define __MX_T __half
#define __MX_T2 __half2
#define __MX_RAW __half_raw
#define __MX_RAW2 __half2_raw
#define __MX_BITS __mx_half_bits
#define __MX_VALUE __mx_half_value
#define __MX_NAME(a_, b_) a_##half##b_
#define __MX_NAME2(a_, b_) a_##half2##b_
#define __MX_TO_FLOAT2 __half22float2
#define __MX_FROM_FLOAT2 __float22half2_rn
#define __MX_SUFFIX ".f16"
#define __MX_FUNCTIONS "mx/functions_half.h"
#include "mx/narrow.h"

__MX_DEVICE __half __int2half_rz(int i) { /* the guides' lists have it for the other rounding modes */
  __half_raw r;
  __asm__("cvt.rz.f16.s32 %0, %1;" : "=h"(r.x) : "r"(i));
  return r;
}

typedef __half half;
typedef __half2 half2;
#endif

/* __nv_bfloat16 and the pair __nv_bfloat162, which are also called maca_bfloat16 and maca_bfloat162. */
#ifndef MX_CXX_BFLOAT16_H
#define MX_CXX_BFLOAT16_H
#include "mx/vector.h"

__MX_HOST unsigned short __mx_bfloat16_bits(float f) {
  unsigned u = __builtin_bit_cast(unsigned, f);
  return (u & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFF : (unsigned short)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}
__MX_HOST float __mx_bfloat16_value(unsigned short h) { return __builtin_bit_cast(float, (unsigned)h << 16); }

#define maca_bfloat16 __nv_bfloat16
#define maca_bfloat162 __nv_bfloat162
#define __MX_T __nv_bfloat16
#define __MX_T2 __nv_bfloat162
#define __MX_RAW __nv_bfloat16_raw
#define __MX_RAW2 __nv_bfloat162_raw
#define __MX_BITS __mx_bfloat16_bits
#define __MX_VALUE __mx_bfloat16_value
#define __MX_NAME(a_, b_) a_##bfloat16##b_
#define __MX_NAME2(a_, b_) a_##bfloat162##b_
#define __MX_TO_FLOAT2 __bfloat1622float2
#define __MX_FROM_FLOAT2 __float22bfloat162_rn
#define __MX_SUFFIX ".bf16"
#define __MX_FUNCTIONS "mx/functions_bfloat16.h"
#include "mx/narrow.h"
#undef maca_bfloat16
#undef maca_bfloat162
/* The vendors' lists have these two for __half only. */
__MX_DEVICE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
__MX_DEVICE __nv_bfloat16 __short_as_bfloat16(short i) { return __nv_bfloat16_raw{(unsigned short)i}; }
typedef __nv_bfloat16 maca_bfloat16;
typedef __nv_bfloat162 maca_bfloat162;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#endif

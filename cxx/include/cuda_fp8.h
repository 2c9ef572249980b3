/* The 8-bit floating-point types __nv_fp8_e4m3 and __nv_fp8_e5m2, and vectors of two and four of them. */
#ifndef MX_CXX_CUDA_FP8_H
#define MX_CXX_CUDA_FP8_H
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

/* Rounds to the nearest, ties to even. Narrower floating-point types are converted to double first, which is exact. */
__MX_BOTH __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                    __nv_fp8_interpretation_t kind) {
  const bool wide = kind == __NV_E5M2;
  const int mantissa = wide ? 2 : 3, bias = wide ? 15 : 7;
  const unsigned most = wide ? 0x7B : 0x7E, beyond = wide ? 0x7C : 0x7F;
  const unsigned long long u = __builtin_bit_cast(unsigned long long, x), a = u & 0x7FFFFFFFFFFFFFFFull;
  const unsigned sign = (unsigned)(u >> 56) & 0x80;
  if (a > 0x7FF0000000000000ull) return (__nv_fp8_storage_t)(sign | (wide ? 0x7E : 0x7F));
  int e = (int)(a >> 52) - 1023;
  unsigned code = most + 1;
  if (e < 16) {
    const bool small = e < 1 - bias;
    if (small) e = 1 - bias;
    const int shift = e - mantissa; /* a unit of the last place is 2^shift */
    const double units =
        __builtin_bit_cast(double, a) * __builtin_bit_cast(double, (unsigned long long)(1023 - shift) << 52);
    unsigned n = (unsigned)units;
    const double rest = units - n;
    if (rest > 0.5 || (rest == 0.5 && (n & 1))) n++;
    code = small ? n : ((unsigned)(e + bias) << mantissa) + n - (1u << mantissa);
  }
  if (code > most) code = saturate == __NV_SATFINITE ? most : beyond;
  return (__nv_fp8_storage_t)(sign | code);
}
/* A NaN of a type narrower than double becomes 0x7F, without its sign. */
__MX_BOTH __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                   __nv_fp8_interpretation_t kind) {
  return x != x ? 0x7F : __nv_cvt_double_to_fp8(x, saturate, kind);
}
__MX_BOTH __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                     __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8((float)__half(x), saturate, kind);
}
__MX_BOTH __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                         __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8((float)__nv_bfloat16(x), saturate, kind);
}
#define __MX_PAIR(name_, type_, one_, x_, y_) \
  __MX_BOTH __nv_fp8x2_storage_t name_(type_ v, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) { \
    return (__nv_fp8x2_storage_t)(one_(x_, saturate, kind) | one_(y_, saturate, kind) << 8); \
  }
__MX_PAIR(__nv_cvt_double2_to_fp8x2, double2, __nv_cvt_double_to_fp8, v.x, v.y)
__MX_PAIR(__nv_cvt_float2_to_fp8x2, float2, __nv_cvt_float_to_fp8, v.x, v.y)
__MX_PAIR(__nv_cvt_halfraw2_to_fp8x2, __half2_raw, __nv_cvt_halfraw_to_fp8, __half_raw{v.x}, __half_raw{v.y})
__MX_PAIR(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_bfloat162_raw, __nv_cvt_bfloat16raw_to_fp8, __nv_bfloat16_raw{v.x},
          __nv_bfloat16_raw{v.y})
#undef __MX_PAIR

/* A half can represent every value of both types. */
__MX_BOTH __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  unsigned u = (unsigned)x << 8;
  if (kind == __NV_E5M2) return __half_raw{(unsigned short)((u & 0x7FFF) > 0x7C00 ? 0x7FFF : u)};
  const unsigned sign = u & 0x8000, a = x & 0x7F;
  if (a == 0x7F) return __half_raw{0x7FFF};
  if (a >= 8) return __half_raw{(unsigned short)(sign | ((a << 7) + 0x2000))};
  unsigned bits = 0; /* a subnormal, of the value a * 2^-9, which a half represents as a normal number */
  if (a) {
    const int top = a >= 4 ? 2 : a >= 2 ? 1 : 0;
    bits = (unsigned)(top + 6) << 10 | (a << (10 - top) & 0x3FF);
  }
  return __half_raw{(unsigned short)(sign | bits)};
}
__MX_BOTH __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half2_raw{__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)x, kind).x,
                     __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), kind).x};
}

#define __MX_FP8(name_, kind_) \
  struct name_ { \
    __nv_fp8_storage_t __x; \
    name_() = default; \
    __attribute__((host, device)) explicit name_(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, kind_)) {} \
    __attribute__((host, device)) explicit name_(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, kind_)) {} \
    __attribute__((host, device)) explicit name_(__half x) : name_((float)x) {} \
    __attribute__((host, device)) explicit name_(__nv_bfloat16 x) : name_((float)x) {} \
    __attribute__((host, device)) explicit name_(int x) : name_((double)x) {} \
    __attribute__((host, device)) explicit name_(unsigned int x) : name_((double)x) {} \
    __attribute__((host, device)) explicit name_(short x) : name_((double)x) {} \
    __attribute__((host, device)) explicit name_(unsigned short x) : name_((double)x) {} \
    __attribute__((host, device)) explicit name_(long x) : name_((double)x) {} \
    __attribute__((host, device)) explicit name_(unsigned long x) : name_((double)x) {} \
    __attribute__((host, device)) explicit name_(long long x) : name_((double)x) {} \
    __attribute__((host, device)) explicit name_(unsigned long long x) : name_((double)x) {} \
    __attribute__((host, device)) explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, kind_); } \
    __attribute__((host, device)) explicit operator float() const { return (float)(__half) * this; } \
    __attribute__((host, device)) explicit operator double() const { return (double)(float)*this; } \
    __attribute__((host, device)) explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); } \
    __attribute__((host, device)) explicit operator bool() const { return (__x & 0x7F) != 0; } \
    __attribute__((host, device)) explicit operator int() const { return (int)(float)*this; } \
    __attribute__((host, device)) explicit operator unsigned int() const { return (unsigned int)(float)*this; } \
    __attribute__((host, device)) explicit operator short() const { return (short)(float)*this; } \
    __attribute__((host, device)) explicit operator char() const { return (char)(float)*this; } \
    __attribute__((host, device)) explicit operator signed char() const { return (signed char)(float)*this; } \
    __attribute__((host, device)) explicit operator unsigned char() const { return (unsigned char)(float)*this; } \
  }; \
  struct __attribute__((aligned(2))) __MX_PASTE(name_, x2) { \
    __nv_fp8x2_storage_t __x; \
    __MX_PASTE(name_, x2)() = default; \
    __attribute__((host, device)) explicit __MX_PASTE(name_, x2)(float2 v) \
        : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, kind_)) {} \
    __attribute__((host, device)) explicit __MX_PASTE(name_, x2)(double2 v) \
        : __x(__nv_cvt_double2_to_fp8x2(v, __NV_SATFINITE, kind_)) {} \
    __attribute__((host, device)) explicit __MX_PASTE(name_, x2)(__half2 v) \
        : __x(__nv_cvt_halfraw2_to_fp8x2(v, __NV_SATFINITE, kind_)) {} \
    __attribute__((host, device)) explicit __MX_PASTE(name_, x2)(__nv_bfloat162 v) \
        : __x(__nv_cvt_bfloat16raw2_to_fp8x2(v, __NV_SATFINITE, kind_)) {} \
    __attribute__((host, device)) explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, kind_); } \
    __attribute__((host, device)) explicit operator float2() const { \
      const __half2_raw h = __nv_cvt_fp8x2_to_halfraw2(__x, kind_); \
      return float2{(float)__half(__half_raw{h.x}), (float)__half(__half_raw{h.y})}; \
    } \
  }; \
  struct __attribute__((aligned(4))) __MX_PASTE(name_, x4) { \
    __nv_fp8x4_storage_t __x; \
    __MX_PASTE(name_, x4)() = default; \
    __attribute__((host, device)) explicit __MX_PASTE(name_, x4)(float4 v) \
        : __x(__nv_cvt_float2_to_fp8x2(float2{v.x, v.y}, __NV_SATFINITE, kind_) | \
              (unsigned)__nv_cvt_float2_to_fp8x2(float2{v.z, v.w}, __NV_SATFINITE, kind_) << 16) {} \
    __attribute__((host, device)) explicit __MX_PASTE(name_, x4)(__half2 a, __half2 b) \
        : __x(__nv_cvt_halfraw2_to_fp8x2(a, __NV_SATFINITE, kind_) | \
              (unsigned)__nv_cvt_halfraw2_to_fp8x2(b, __NV_SATFINITE, kind_) << 16) {} \
    __attribute__((host, device)) explicit operator float4() const { \
      const __half2_raw a = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)__x, kind_), \
                        b = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(__x >> 16), kind_); \
      return float4{(float)__half(__half_raw{a.x}), (float)__half(__half_raw{a.y}), (float)__half(__half_raw{b.x}), \
                    (float)__half(__half_raw{b.y})}; \
    } \
  };
/* The vector of two __nv_fp8_e4m3 is called __nv_fp8x2_e4m3, with the size in the middle of the name, which pasting at
 * its end cannot give. */
#define __MX_PASTE(name_, n_) __MX_NAME_##n_##_##name_
#define __MX_NAME_x2___nv_fp8_e4m3 __nv_fp8x2_e4m3
#define __MX_NAME_x4___nv_fp8_e4m3 __nv_fp8x4_e4m3
#define __MX_NAME_x2___nv_fp8_e5m2 __nv_fp8x2_e5m2
#define __MX_NAME_x4___nv_fp8_e5m2 __nv_fp8x4_e5m2
__MX_FP8(__nv_fp8_e4m3, __NV_E4M3)
__MX_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef __MX_FP8
#undef __MX_PASTE

#endif

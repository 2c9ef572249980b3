/* The programming guides' functions for kernels: overloads and templates are written here, all others come from
 * docs/guide.tsv (functions_device.h). */
#ifndef MX_CXX_DEVICE_H
#define MX_CXX_DEVICE_H
#include "mx/vector.h"

#if __MX_LANES == 64
typedef unsigned long __mx_mask;
#define __MX_MASK "l"
#else
typedef unsigned int __mx_mask;
#define __MX_MASK "r"
#endif

#include "mx/chains.h"
#if __MX_LANES == 32 /* the vendors' list has these for warps of 64 lanes only; see below for 32 */
#define __any __mx_any_of_64
#define __all __mx_all_of_64
#define __ballot __mx_ballot_of_64
#endif
#include "mx/functions_device.h"
#undef __any
#undef __all
#undef __ballot

/* The position of the offset-th set bit of mask, counted upwards from bit base, or downwards if offset is negative; all
 * ones if there is none. */
__MX_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  unsigned int r;
  __asm__("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(mask), "r"(base), "r"(offset));
  return r;
}

/* ---- between lanes ----------------------------------------------------------------------------------------------*/
#define __MX_SHUFFLE(t_, c_, s_) \
  __MX_SHUFFLE_(t_, c_, s_, "__shfl_sync", __shfl_sync, int) \
  __MX_SHUFFLE_(t_, c_, s_, "__shfl_up_sync", __shfl_up_sync, unsigned int) \
  __MX_SHUFFLE_(t_, c_, s_, "__shfl_down_sync", __shfl_down_sync, unsigned int) \
  __MX_SHUFFLE_(t_, c_, s_, "__shfl_xor_sync", __shfl_xor_sync, int)
#define __MX_SHUFFLE_(t_, c_, s_, name_, fn_, how_) \
  __MX_DEVICE t_ fn_(__mx_mask mask, t_ var, how_ lane, int width = warpSize) { \
    t_ r; \
    __asm__ volatile(name_ s_ " %0, %1, %2, %3, %4;" \
                     : "=" c_(r) \
                     : __MX_MASK(mask), c_(var), "r"(lane), "r"(width) \
                     : "memory"); \
    return r; \
  }
__MX_SHUFFLE(int, "r", ".s32")
__MX_SHUFFLE(unsigned int, "r", ".u32")
__MX_SHUFFLE(float, "f", ".f32")
__MX_SHUFFLE(long, "l", ".s64")
__MX_SHUFFLE(unsigned long, "l", ".u64")
__MX_SHUFFLE(long long, "l", ".s64")
__MX_SHUFFLE(unsigned long long, "l", ".u64")
__MX_SHUFFLE(double, "d", ".f64")
#undef __MX_SHUFFLE
#undef __MX_SHUFFLE_

#define __MX_MATCH(t_, c_, s_) \
  __MX_DEVICE __mx_mask __match_any_sync(__mx_mask mask, t_ value) { \
    __mx_mask r; \
    __asm__ volatile("__match_any_sync" s_ " %0, %1, %2;" : "=" __MX_MASK(r) : __MX_MASK(mask), c_(value) : "memory"); \
    return r; \
  } \
  __MX_DEVICE __mx_mask __match_all_sync(__mx_mask mask, t_ value, int *pred) { \
    __mx_mask r; \
    int all; \
    __asm__ volatile("__match_all_sync" s_ " %0, %1, %2, %3;" \
                     : "=" __MX_MASK(r), "=r"(all) \
                     : __MX_MASK(mask), c_(value) \
                     : "memory"); \
    *pred = all; \
    return r; \
  }
__MX_MATCH(int, "r", ".s32")
__MX_MATCH(unsigned int, "r", ".u32")
__MX_MATCH(float, "f", ".f32")
__MX_MATCH(long, "l", ".s64")
__MX_MATCH(unsigned long, "l", ".u64")
__MX_MATCH(long long, "l", ".s64")
__MX_MATCH(unsigned long long, "l", ".u64")
__MX_MATCH(double, "d", ".f64")
#undef __MX_MATCH

__MX_DEVICE void __syncwarp(__mx_mask mask = (__mx_mask)-1) {
  __asm__ volatile("__syncwarp %0;" : : __MX_MASK(mask) : "memory");
}
/* The forms without a mask, for the active lanes. */
#if __MX_LANES == 64
#define __MX_SHUFFLE_(t_, c_, s_, fn_, how_) \
  __MX_DEVICE t_ fn_(t_ var, how_ lane, int width = warpSize) { \
    t_ r; \
    __asm__ volatile(#fn_ s_ " %0, %1, %2, %3;" : "=" c_(r) : c_(var), "r"(lane), "r"(width) : "memory"); \
    return r; \
  }
#else
#define __MX_SHUFFLE_(t_, c_, s_, fn_, how_) \
  __MX_DEVICE t_ fn_(t_ var, how_ lane, int width = warpSize) { return fn_##_sync(__activemask(), var, lane, width); }
__MX_DEVICE int __any(int predicate) { return __any_sync(__activemask(), predicate); }
__MX_DEVICE int __all(int predicate) { return __all_sync(__activemask(), predicate); }
__MX_DEVICE __mx_mask __ballot(int predicate) { return __ballot_sync(__activemask(), predicate); }
#endif
#define __MX_SHUFFLE(t_, c_, s_) \
  __MX_SHUFFLE_(t_, c_, s_, __shfl, int) \
  __MX_SHUFFLE_(t_, c_, s_, __shfl_up, unsigned int) \
  __MX_SHUFFLE_(t_, c_, s_, __shfl_down, unsigned int) \
  __MX_SHUFFLE_(t_, c_, s_, __shfl_xor, int)
__MX_SHUFFLE(int, "r", ".s32")
__MX_SHUFFLE(unsigned int, "r", ".s32")
__MX_SHUFFLE(float, "f", ".f32")
#undef __MX_SHUFFLE
#undef __MX_SHUFFLE_

/* clang's headers declare these two, but do not define them. */
__MX_DEVICE float nanf(const char *tag) {
  float r;
  __asm__("nanf.f32 %0, %1;" : "=f"(r) : "l"(tag));
  return r;
}
__MX_DEVICE double nan(const char *tag) {
  double r;
  __asm__("nan.f64 %0, %1;" : "=d"(r) : "l"(tag));
  return r;
}

/* ---- memory -----------------------------------------------------------------------------------------------------*/
#define __MX_LOAD(name_) \
  template <class T> __MX_DEVICE T name_(const T *address) { return *address; }
#define __MX_STORE(name_) \
  template <class T> __MX_DEVICE void name_(T *address, T value) { *address = value; }
__MX_LOAD(__ldg)
__MX_LOAD(__ldca)
__MX_LOAD(__ldcg)
__MX_LOAD(__ldcs)
__MX_LOAD(__ldlu)
__MX_LOAD(__ldcv)
__MX_STORE(__stwb)
__MX_STORE(__stcg)
__MX_STORE(__stcs)
__MX_STORE(__stwt)
#undef __MX_LOAD
#undef __MX_STORE
/* The vendors' list has this for unsigned long long only, which is as wide as unsigned long here. */
__MX_DEVICE unsigned long atomicAdd(unsigned long *address, unsigned long val) {
  return atomicAdd((unsigned long long *)address, (unsigned long long)val);
}
/* Each component is added atomically, but not all of them at once. */
__MX_DEVICE float2 atomicAdd(float2 *address, float2 val) {
  return float2{atomicAdd(&address->x, val.x), atomicAdd(&address->y, val.y)};
}
__MX_DEVICE float4 atomicAdd(float4 *address, float4 val) {
  return float4{atomicAdd(&address->x, val.x), atomicAdd(&address->y, val.y), atomicAdd(&address->z, val.z),
                atomicAdd(&address->w, val.w)};
}
__MX_DEVICE void *__nv_aligned_device_malloc(size_t size, size_t align) {
  void *r;
  __asm__ volatile("__nv_aligned_device_malloc %0, %1, %2;" : "=l"(r) : "l"(size), "l"(align) : "memory");
  return r;
}

/* ---- hints ------------------------------------------------------------------------------------------------------*/
__MX_DEVICE void __assume(bool exp) { __builtin_assume(exp); }
#define __prof_trigger(counter_) __asm__ volatile("__prof_trigger %0;" : : "n"(counter_) : "memory")

/* ---- what clang's headers leave out of the mathematical functions -----------------------------------------------*/
/* The result of two integers is unsigned if one of them is. Of two NaNs, max and min in kernels give the first. */
#define __MX_SMALLER_LARGER(t_, a_, b_) \
  __MX_BOTH t_ max(a_ a, b_ b) { return (t_)a > (t_)b ? (t_)a : (t_)b; } \
  __MX_BOTH t_ min(a_ a, b_ b) { return (t_)a < (t_)b ? (t_)a : (t_)b; }
#define __MX_SIGNS(s_, u_) \
  __MX_SMALLER_LARGER(u_, u_, u_) __MX_SMALLER_LARGER(u_, u_, s_) __MX_SMALLER_LARGER(u_, s_, u_)
__MX_SIGNS(int, unsigned int)
__MX_SIGNS(long, unsigned long)
__MX_SIGNS(long long, unsigned long long)
__MX_SMALLER_LARGER(long, long, long)
__MX_SMALLER_LARGER(long long, long long, long long)
__MX_HOST int max(int a, int b) { return a > b ? a : b; }
__MX_HOST int min(int a, int b) { return a < b ? a : b; }
#undef __MX_SIGNS
#undef __MX_SMALLER_LARGER
#define __MX_SMALLER_LARGER(t_, a_, b_, f_) \
  __MX_DEVICE t_ max(a_ a, b_ b) { return __nv_fmax##f_((t_)a, (t_)b); } \
  __MX_DEVICE t_ min(a_ a, b_ b) { return __nv_fmin##f_((t_)a, (t_)b); } \
  __MX_HOST t_ max(a_ a, b_ b) { return __builtin_fmax##f_((t_)a, (t_)b); } \
  __MX_HOST t_ min(a_ a, b_ b) { return __builtin_fmin##f_((t_)a, (t_)b); }
__MX_SMALLER_LARGER(float, float, float, f)
__MX_SMALLER_LARGER(double, double, double, )
__MX_SMALLER_LARGER(double, float, double, )
__MX_SMALLER_LARGER(double, double, float, )
#undef __MX_SMALLER_LARGER

/* Overloads for float under the names of the functions of double, which clang's headers declare, but do not define. */
#define __MX_FLOAT1(r_, name_) \
  __MX_DEVICE r_ name_(float a) { return name_##f(a); }
#define __MX_FLOAT2(name_, b_) \
  __MX_DEVICE float name_(float a, b_ b) { return name_##f(a, b); }
__MX_FLOAT1(float, acosh)
__MX_FLOAT1(float, asinh)
__MX_FLOAT1(float, atanh)
__MX_FLOAT1(float, cbrt)
__MX_FLOAT1(float, erf)
__MX_FLOAT1(float, erfc)
__MX_FLOAT1(float, exp2)
__MX_FLOAT1(float, expm1)
__MX_FLOAT1(float, lgamma)
__MX_FLOAT1(float, log1p)
__MX_FLOAT1(float, log2)
__MX_FLOAT1(float, logb)
__MX_FLOAT1(float, nearbyint)
__MX_FLOAT1(float, rint)
__MX_FLOAT1(float, round)
__MX_FLOAT1(float, tgamma)
__MX_FLOAT1(float, trunc)
__MX_FLOAT1(float, rsqrt)
__MX_FLOAT1(float, rcbrt)
__MX_FLOAT1(float, sinpi)
__MX_FLOAT1(float, cospi)
__MX_FLOAT1(float, exp10)
__MX_FLOAT1(float, erfinv)
__MX_FLOAT1(float, erfcinv)
__MX_FLOAT1(float, erfcx)
__MX_FLOAT1(float, normcdf)
__MX_FLOAT1(float, normcdfinv)
__MX_FLOAT1(int, ilogb)
__MX_FLOAT1(long, lrint)
__MX_FLOAT1(long, lround)
__MX_FLOAT1(long long, llrint)
__MX_FLOAT1(long long, llround)
__MX_FLOAT2(copysign, float)
__MX_FLOAT2(fdim, float)
__MX_FLOAT2(fmax, float)
__MX_FLOAT2(fmin, float)
__MX_FLOAT2(hypot, float)
__MX_FLOAT2(nextafter, float)
__MX_FLOAT2(remainder, float)
__MX_FLOAT2(scalbln, long)
__MX_FLOAT2(scalbn, int)
__MX_FLOAT2(rhypot, float)
#undef __MX_FLOAT1
#undef __MX_FLOAT2
__MX_DEVICE float fma(float a, float b, float c) { return fmaf(a, b, c); }
__MX_DEVICE float remquo(float a, float b, int *c) { return remquof(a, b, c); }
__MX_DEVICE void sincospi(float a, float *s, float *c) { sincospif(a, s, c); }
__MX_DEVICE void sincos(float a, float *s, float *c) { sincosf(a, s, c); }
__MX_DEVICE float __tanhf(float a) {
  float r;
  __asm__("__tanhf.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}

#define __MX_DOT(t_, s_) \
  __MX_DOT_(t_, "__dp4a", s_, __dp4a) \
  __MX_DOT_(t_, "__dp2a_lo", s_, __dp2a_lo) __MX_DOT_(t_, "__dp2a_hi", s_, __dp2a_hi)
#define __MX_DOT_(t_, name_, s_, fn_) \
  __MX_DEVICE t_ fn_(t_ a, t_ b, t_ c) { \
    t_ r; \
    __asm__(name_ s_ " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
    return r; \
  }
__MX_DOT(int, ".s32")
__MX_DOT(unsigned int, ".u32")
#undef __MX_DOT
#undef __MX_DOT_

#endif

/* A 16-bit floating-point type and the pair of two. half.h and bfloat16.h include this file, each with macros that give
 * the type's names. On the host, the result of an operation is rounded to float and then to the type. A float has more
 * than twice as many bits of significand, so that this gives the same as rounding once; for a double or an integer,
 * which has more bits than a float, rounding to odd does so. */
#include "mx/odd.h"

struct __MX_T2;
struct __MX_T;
struct __attribute__((aligned(2))) __MX_RAW {
  unsigned short x;
};
struct __attribute__((aligned(4))) __MX_RAW2 {
  unsigned short x, y;
};

struct __attribute__((aligned(2))) __MX_T {
  unsigned short __x;
  __MX_T() = default;
  __attribute__((host, device)) __MX_T(__MX_RAW r) : __x(r.x) {}
  __attribute__((host)) __MX_T(float f) : __x(__MX_BITS(f)) {}
  __attribute__((device)) __MX_T(float f) { __asm__("cvt.rn" __MX_SUFFIX ".f32 %0, %1;" : "=h"(__x) : "f"(f)); }
#define __MX_FROM(t_, c_, s_) \
  __attribute__((host)) __MX_T(t_ v) : __x(__MX_BITS(__mx_odd(v))) {} \
  __attribute__((device)) __MX_T(t_ v) { __asm__("cvt.rn" __MX_SUFFIX s_ " %0, %1;" : "=h"(__x) : c_(v)); }
  __MX_FROM(double, "d", ".f64")
  __MX_FROM(int, "r", ".s32")
  __MX_FROM(unsigned int, "r", ".u32")
  __MX_FROM(long, "l", ".s64")
  __MX_FROM(unsigned long, "l", ".u64")
  __MX_FROM(long long, "l", ".s64")
  __MX_FROM(unsigned long long, "l", ".u64")
#undef __MX_FROM
  __attribute__((host, device)) __MX_T(short i) : __MX_T((float)i) {}
  __attribute__((host, device)) __MX_T(unsigned short i) : __MX_T((float)i) {}
  __attribute__((host)) operator float() const { return __MX_VALUE(__x); }
  __attribute__((device)) operator float() const {
    float f;
    __asm__("cvt.f32" __MX_SUFFIX " %0, %1;" : "=f"(f) : "h"(__x));
    return f;
  }
  __attribute__((host, device)) operator __MX_RAW() const { return __MX_RAW{__x}; }
  __attribute__((host, device)) explicit operator double() const { return (double)(float)*this; }
  __attribute__((host, device)) explicit operator bool() const { return (__x & 0x7FFF) != 0; }
  __attribute__((host, device)) explicit operator int() const { return (int)(float)*this; }
  __attribute__((host, device)) explicit operator unsigned int() const { return (unsigned int)(float)*this; }
  __attribute__((host, device)) explicit operator short() const { return (short)(float)*this; }
  __attribute__((host, device)) explicit operator unsigned short() const { return (unsigned short)(float)*this; }
  __attribute__((host, device)) explicit operator char() const { return (char)(float)*this; }
  __attribute__((host, device)) explicit operator signed char() const { return (signed char)(float)*this; }
  __attribute__((host, device)) explicit operator unsigned char() const { return (unsigned char)(float)*this; }
  __attribute__((host, device)) explicit operator long() const { return (long)(float)*this; }
  __attribute__((host, device)) explicit operator unsigned long() const { return (unsigned long)(float)*this; }
  __attribute__((host, device)) explicit operator long long() const { return (long long)(float)*this; }
  __attribute__((host, device)) explicit operator unsigned long long() const {
    return (unsigned long long)(float)*this;
  }
  __attribute__((host, device)) __MX_T &operator=(float f) { return *this = __MX_T(f); }
  __attribute__((host, device)) __MX_T &operator=(double f) { return *this = __MX_T(f); }
  __attribute__((host, device)) __MX_T &operator=(int i) { return *this = __MX_T(i); }
};

struct __attribute__((aligned(4))) __MX_T2 {
  __MX_T x, y;
  __MX_T2() = default;
  __attribute__((host, device)) __MX_T2(const __MX_T &a, const __MX_T &b) : x(a), y(b) {}
  __attribute__((host, device)) __MX_T2(__MX_RAW2 r) : x(__MX_RAW{r.x}), y(__MX_RAW{r.y}) {}
  __attribute__((host, device)) operator __MX_RAW2() const { return __MX_RAW2{x.__x, y.__x}; }
};

#include __MX_FUNCTIONS

/* ---- functions that the host has, too ---------------------------------------------------------------------------*/
__MX_HOST __MX_T __MX_NAME(__float2, )(float f) { return __MX_T(f); }
__MX_HOST __MX_T __MX_NAME(__float2, _rn)(float f) { return __MX_T(f); }
__MX_HOST __MX_T __MX_NAME(__double2, )(double f) { return __MX_T(f); }
__MX_HOST __MX_T __MX_NAME(__int2, _rn)(int i) { return __MX_T(i); }
__MX_HOST float __MX_NAME(__, 2float)(__MX_T h) { return (float)h; }
__MX_HOST __MX_T2 __MX_NAME2(__floats2, _rn)(float a, float b) { return __MX_T2(__MX_T(a), __MX_T(b)); }
__MX_HOST __MX_T2 __MX_NAME2(__float2, _rn)(float a) { return __MX_T2(__MX_T(a), __MX_T(a)); }
__MX_HOST __MX_T2 __MX_FROM_FLOAT2(float2 a) { return __MX_T2(__MX_T(a.x), __MX_T(a.y)); }
__MX_HOST float2 __MX_TO_FLOAT2(__MX_T2 a) { return float2{(float)a.x, (float)a.y}; }
__MX_HOST __MX_T2 __MX_NAME2(__halves2, )(__MX_T a, __MX_T b) { return __MX_T2(a, b); }
__MX_BOTH __MX_T2 __MX_NAME2(make_, )(__MX_T a, __MX_T b) { return __MX_T2(a, b); }
__MX_HOST float __low2float(__MX_T2 a) { return (float)a.x; }
__MX_HOST float __high2float(__MX_T2 a) { return (float)a.y; }
__MX_HOST __MX_T __MX_NAME(__low2, )(__MX_T2 a) { return a.x; }
__MX_HOST __MX_T __MX_NAME(__high2, )(__MX_T2 a) { return a.y; }
__MX_HOST unsigned short __MX_NAME(__, _as_ushort)(__MX_T h) { return h.__x; }
__MX_HOST short __MX_NAME(__, _as_short)(__MX_T h) { return (short)h.__x; }
__MX_HOST __MX_T __MX_NAME(__ushort_as_, )(unsigned short i) { return __MX_RAW{i}; }
__MX_HOST __MX_T __MX_NAME(__short_as_, )(short i) { return __MX_RAW{(unsigned short)i}; }
__MX_HOST bool __hisnan(__MX_T a) { return (a.__x & 0x7FFF) > (__MX_BITS(__builtin_inff())); }

#define __MX_HOST_COMPARE(name_, op_) \
  __MX_HOST bool __h##name_(__MX_T a, __MX_T b) { return (float)a op_(float) b; } \
  __MX_HOST bool __h##name_##u(__MX_T a, __MX_T b) { return __hisnan(a) || __hisnan(b) || (float)a op_(float) b; } \
  __MX_HOST_PAIRS(__h##name_) __MX_HOST_PAIRS(__h##name_##u) __MX_HOST bool __hb##name_##2(__MX_T2 a, __MX_T2 b) { \
    return __h##name_(a.x, b.x) && __h##name_(a.y, b.y); \
  } \
  __MX_HOST bool __hb##name_##u2(__MX_T2 a, __MX_T2 b) { return __h##name_##u(a.x, b.x) && __h##name_##u(a.y, b.y); }
#define __MX_HOST_PAIRS(name_) \
  __MX_HOST __MX_T2 name_##2(__MX_T2 a, __MX_T2 b) { return __MX_T2((float)name_(a.x, b.x), (float)name_(a.y, b.y)); }
__MX_HOST_COMPARE(eq, ==)
__MX_HOST_COMPARE(ne, !=)
__MX_HOST_COMPARE(lt, <)
__MX_HOST_COMPARE(le, <=)
__MX_HOST_COMPARE(gt, >)
__MX_HOST_COMPARE(ge, >=)
#undef __MX_HOST_COMPARE
#undef __MX_HOST_PAIRS
#define __MX_HOST_EACH(name_, value_) \
  __MX_HOST __MX_T name_(__MX_T a) { return value_; } \
  __MX_HOST __MX_T2 name_##2(__MX_T2 a) { return __MX_T2(name_(a.x), name_(a.y)); }
__MX_HOST_EACH(__habs, __MX_RAW{(unsigned short)(a.__x & 0x7FFF)})
__MX_HOST_EACH(__hneg, __MX_RAW{(unsigned short)(a.__x ^ 0x8000)})
#undef __MX_HOST_EACH
#define __MX_HOST_BOTH_OF(name_, value_) \
  __MX_HOST __MX_T name_(__MX_T a, __MX_T b) { return value_; } \
  __MX_HOST __MX_T2 name_##2(__MX_T2 a, __MX_T2 b) { return __MX_T2(name_(a.x, b.x), name_(a.y, b.y)); }
__MX_HOST_BOTH_OF(__hmax, __hisnan(a) || (float)a < (float)b ? b : a)
__MX_HOST_BOTH_OF(__hmin, __hisnan(a) || (float)b < (float)a ? b : a)
#undef __MX_HOST_BOTH_OF
/* Conversion to an integer, rounded towards zero and saturated; a NaN becomes zero. */
#define __MX_HOST_INTEGER(t_, name_, low_, high_) \
  __MX_HOST t_ __MX_NAME(__, 2##name_##_rz)(__MX_T a) { \
    const float f = (float)a; \
    return __hisnan(a) ? (t_)0 : f <= (float)(low_) ? (t_)(low_) : f >= (float)(high_) ? (t_)(high_) : (t_)f; \
  }
__MX_HOST_INTEGER(int, int, -2147483647 - 1, 2147483647)
__MX_HOST_INTEGER(unsigned int, uint, 0, 4294967295u)
__MX_HOST_INTEGER(short, short, -32768, 32767)
__MX_HOST_INTEGER(unsigned short, ushort, 0, 65535)
__MX_HOST_INTEGER(long long, ll, -9223372036854775807ll - 1, 9223372036854775807ll)
__MX_HOST_INTEGER(unsigned long long, ull, 0, 18446744073709551615ull)
#undef __MX_HOST_INTEGER
__MX_HOST __MX_T __MX_NAME(__uint2, _rn)(unsigned int i) { return __MX_T(i); }
__MX_HOST __MX_T __MX_NAME(__short2, _rn)(short i) { return __MX_T((float)i); }
__MX_HOST __MX_T __MX_NAME(__ushort2, _rn)(unsigned short i) { return __MX_T((float)i); }
__MX_HOST __MX_T2 __MX_NAME2(__low2, )(__MX_T2 a) { return __MX_T2(a.x, a.x); }
__MX_HOST __MX_T2 __MX_NAME2(__high2, )(__MX_T2 a) { return __MX_T2(a.y, a.y); }
__MX_HOST __MX_T2 __MX_NAME2(__lows2, )(__MX_T2 a, __MX_T2 b) { return __MX_T2(a.x, b.x); }
__MX_HOST __MX_T2 __MX_NAME2(__highs2, )(__MX_T2 a, __MX_T2 b) { return __MX_T2(a.y, b.y); }
__MX_HOST __MX_T2 __lowhigh2highlow(__MX_T2 a) { return __MX_T2(a.y, a.x); }

/* ---- functions that the vendors' lists lack ---------------------------------------------------------------------*/
/* The forms with _rn are never contracted to a fused multiply-add. Here the others are not contracted either. */
#define __MX_NEAREST(name_) \
  __MX_DEVICE __MX_T name_##_rn(__MX_T a, __MX_T b) { return name_(a, b); } \
  __MX_DEVICE __MX_T2 name_##2_rn(__MX_T2 a, __MX_T2 b) { return name_##2(a, b); }
__MX_NEAREST(__hadd)
__MX_NEAREST(__hsub)
__MX_NEAREST(__hmul)
#undef __MX_NEAREST
#define __MX_MASKS(name_) \
  __MX_BOTH unsigned int __h##name_##2_mask(__MX_T2 a, __MX_T2 b) { \
    return (__h##name_(a.x, b.x) ? 0xFFFFu : 0u) | (__h##name_(a.y, b.y) ? 0xFFFF0000u : 0u); \
  }
__MX_MASKS(eq)
__MX_MASKS(ne)
__MX_MASKS(lt)
__MX_MASKS(le)
__MX_MASKS(gt)
__MX_MASKS(ge)
__MX_MASKS(equ)
__MX_MASKS(neu)
__MX_MASKS(ltu)
__MX_MASKS(leu)
__MX_MASKS(gtu)
__MX_MASKS(geu)
#undef __MX_MASKS
__MX_DEVICE __MX_T htanh(__MX_T a) { return __MX_T(tanhf((float)a)); }
__MX_DEVICE __MX_T2 h2tanh(__MX_T2 a) { return __MX_T2(htanh(a.x), htanh(a.y)); }
__MX_DEVICE __MX_T htanh_approx(__MX_T a) {
  __asm__("tanh.approx" __MX_SUFFIX " %0, %1;" : "=h"(a.__x) : "h"(a.__x));
  return a;
}
__MX_DEVICE __MX_T2 h2tanh_approx(__MX_T2 a) { return __MX_T2(htanh_approx(a.x), htanh_approx(a.y)); }
__MX_DEVICE signed char __MX_NAME(__, 2char_rz)(__MX_T a) {
  int r;
  __asm__("cvt.rzi.sat.s8.f32 %0, %1;" : "=r"(r) : "f"(__builtin_truncf((float)a)));
  return (signed char)r;
}
__MX_DEVICE unsigned char __MX_NAME(__, 2uchar_rz)(__MX_T a) {
  unsigned int r;
  __asm__("cvt.rzi.sat.u8.f32 %0, %1;" : "=r"(r) : "f"(__builtin_truncf((float)a)));
  return (unsigned char)r;
}

/* ---- operators --------------------------------------------------------------------------------------------------*/
#define __MX_HOST_ARITHMETIC(name_, name2_, op_) \
  __MX_HOST __MX_T name_(__MX_T a, __MX_T b) { return __MX_T((float)a op_(float) b); } \
  __MX_HOST __MX_T2 name2_(__MX_T2 a, __MX_T2 b) { return __MX_T2(name_(a.x, b.x), name_(a.y, b.y)); }
__MX_HOST_ARITHMETIC(__hadd, __hadd2, +)
__MX_HOST_ARITHMETIC(__hsub, __hsub2, -)
__MX_HOST_ARITHMETIC(__hmul, __hmul2, *)
__MX_HOST_ARITHMETIC(__hdiv, __h2div, /)
#undef __MX_HOST_ARITHMETIC
#define __MX_ARITHMETIC(name_, name2_, op_) \
  __MX_BOTH __MX_T operator op_(const __MX_T &a, const __MX_T &b) { return name_(a, b); } \
  __MX_BOTH __MX_T2 operator op_(const __MX_T2 &a, const __MX_T2 &b) { return name2_(a, b); } \
  __MX_BOTH __MX_T &operator op_##=(__MX_T &a, const __MX_T &b) { return a = name_(a, b); } \
  __MX_BOTH __MX_T2 &operator op_##=(__MX_T2 &a, const __MX_T2 &b) { return a = name2_(a, b); }
__MX_ARITHMETIC(__hadd, __hadd2, +)
__MX_ARITHMETIC(__hsub, __hsub2, -)
__MX_ARITHMETIC(__hmul, __hmul2, *)
__MX_ARITHMETIC(__hdiv, __h2div, /)
#undef __MX_ARITHMETIC
__MX_BOTH __MX_T operator-(const __MX_T &a) { return __MX_RAW{(unsigned short)(a.__x ^ 0x8000)}; }
__MX_BOTH __MX_T operator+(const __MX_T &a) { return a; }
__MX_BOTH __MX_T2 operator-(const __MX_T2 &a) { return __MX_T2(-a.x, -a.y); }
__MX_BOTH __MX_T2 operator+(const __MX_T2 &a) { return a; }
__MX_BOTH __MX_T &operator++(__MX_T &a) { return a = __hadd(a, __MX_T(1.0f)); }
__MX_BOTH __MX_T &operator--(__MX_T &a) { return a = __hsub(a, __MX_T(1.0f)); }
__MX_BOTH __MX_T2 &operator++(__MX_T2 &a) { return a = __hadd2(a, __MX_T2(__MX_T(1.0f), __MX_T(1.0f))); }
__MX_BOTH __MX_T2 &operator--(__MX_T2 &a) { return a = __hsub2(a, __MX_T2(__MX_T(1.0f), __MX_T(1.0f))); }
#define __MX_POSTFIX(t_, op_) \
  __MX_BOTH t_ operator op_(t_ &a, int) { \
    const t_ before = a; \
    op_ a; \
    return before; \
  }
__MX_POSTFIX(__MX_T, ++)
__MX_POSTFIX(__MX_T, --)
__MX_POSTFIX(__MX_T2, ++)
__MX_POSTFIX(__MX_T2, --)
#undef __MX_POSTFIX
#define __MX_COMPARE(op_) \
  __MX_BOTH bool operator op_(const __MX_T &a, const __MX_T &b) { return (float)a op_(float) b; } \
  __MX_BOTH bool operator op_(const __MX_T2 &a, const __MX_T2 &b) { return a.x op_ b.x && a.y op_ b.y; }
__MX_COMPARE(==) __MX_COMPARE(!=) __MX_COMPARE(<) __MX_COMPARE(>) __MX_COMPARE(<=) __MX_COMPARE(>=)
#undef __MX_COMPARE

#undef __MX_T
#undef __MX_T2
#undef __MX_RAW
#undef __MX_RAW2
#undef __MX_BITS
#undef __MX_VALUE
#undef __MX_NAME
#undef __MX_NAME2
#undef __MX_TO_FLOAT2
#undef __MX_FROM_FLOAT2
#undef __MX_SUFFIX
#undef __MX_FUNCTIONS

/* The loops of native.h: one line for each operation. */
#include "tests/bench-intrinsics/native.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef _Float16 f16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef uint16_t u16, bf16;
typedef uint8_t u8;
typedef int16_t s16;
typedef float f32;
typedef double f64;

static inline f32 wide(bf16 x) {
  u32 u = (u32)x << 16;
  f32 f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static inline bf16 narrow(f32 x) {
  u32 u;
  memcpy(&u, &x, sizeof u);
  return x != x ? 0x7FFF : (bf16)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}
static inline u32 reversed(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
  return __builtin_bswap32(x);
}

/* name, types of inputs and result, parts of a word, instruction, a lane's result of x, y, z */
#define LOOPS(X) \
  X(add32, u32, u32, 1, "add.u32", x + y) \
  X(mul32, u32, u32, 1, "mul.lo.u32", x *y) \
  X(mad32, u32, u32, 1, "mad.lo.u32", x *y + z) \
  X(high32, u32, u32, 1, "mul.hi.u32", (u32)((u64)x * y >> 32)) \
  X(min32, s32, s32, 1, "min.s32", x < y ? x : y) \
  X(abs32, s32, s32, 1, "abs.s32", abs(x)) \
  X(and32, u32, u32, 1, "and.b32", x &y) \
  X(shl32, u32, u32, 1, "shl.b32", y < 32 ? x << y : 0) \
  X(popc32, u32, u32, 1, "popc.b32", (u32)__builtin_popcount(x)) \
  X(clz32, u32, u32, 1, "clz.b32", x ? (u32)__builtin_clz(x) : 32) \
  X(brev32, u32, u32, 1, "brev.b32", reversed(x)) \
  X(add64, u64, u64, 1, "add.u64", x + y) \
  X(mul64, u64, u64, 1, "mul.lo.u64", x *y) \
  X(hadd, f16, f16, 1, "add.f16", x + y) \
  X(hmul, f16, f16, 1, "mul.f16", x *y) \
  X(hfma, f16, f16, 1, "fma.rn.f16", (f16)((f64)x * (f64)y + (f64)z)) \
  X(hadd2, f16, f16, 2, "add.f16x2", x + y) \
  X(badd, bf16, bf16, 1, "add.bf16", narrow(wide(x) + wide(y))) \
  X(bfma, bf16, bf16, 1, "fma.rn.bf16", narrow((f32)((f64)wide(x) * (f64)wide(y) + (f64)wide(z)))) \
  X(badd2, bf16, bf16, 2, "add.bf16x2", narrow(wide(x) + wide(y))) \
  X(vadd2, u16, u16, 2, "__vadd2", x + y) \
  X(vadd4, u8, u8, 4, "__vadd4", x + y) \
  X(vmaxs2, s16, s16, 2, "__vmaxs2", x > y ? x : y) \
  X(vabsdiffu4, u8, u8, 4, "__vabsdiffu4", x > y ? x - y : y - x) \
  X(vaddus4, u8, u8, 4, "__vaddus4", x + y > 255 ? 255 : x + y) \
  X(vcmpeq4, u8, u8, 4, "__vcmpeq4", x == y ? 255 : 0) \
  X(f32_s32, s32, f32, 1, "cvt.rn.f32.s32", (f32)x) \
  X(s32_f32, f32, s32, 1, "cvt.rzi.s32.f32", \
    x >= 0x1p31f    ? INT32_MAX \
    : x >= -0x1p31f ? (s32)x \
    : x != x        ? 0 \
                    : INT32_MIN) \
  X(f64_f32, f32, f64, 1, "cvt.f64.f32", (f64)x) \
  X(f32_f64, f64, f32, 1, "cvt.rn.f32.f64", (f32)x) \
  X(f16_f32, f32, f16, 1, "cvt.rn.f16.f32", (f16)x) \
  X(f32_f16, f16, f32, 1, "cvt.f32.f16", (f32)x) \
  X(bf16_f32, f32, bf16, 1, "cvt.rn.bf16.f32", narrow(x)) \
  X(s64_f64, f64, int64_t, 1, "cvt.rni.s64.f64", \
    x >= 0x1p63    ? INT64_MAX \
    : x >= -0x1p63 ? (int64_t)rint(x) \
                   : INT64_MIN) \
  X(f64_s64, int64_t, f64, 1, "cvt.rn.f64.s64", (f64)x)

#define LOOP(name_, in_, out_, parts_, instruction_, ...) \
  static void name_(void *r, const void *a, const void *b, const void *c) { \
    out_ *to = r; \
    const in_ *p = a, *q = b, *s = c; \
    _Pragma("GCC ivdep") for (int l = 0; l < LANES * parts_; l++) { \
      const in_ x = p[l], y = q[l], z = s[l]; \
      (void)x, (void)y, (void)z; \
      to[l] = (out_)(__VA_ARGS__); \
    } \
  }
LOOPS(LOOP)

const struct native natives[] = {
#define ROW(name_, in_, out_, parts_, instruction_, ...) \
  {instruction_, 8 * sizeof(in_) * parts_, 8 * sizeof(out_) * parts_, name_},
    LOOPS(ROW)};
const unsigned native_count = sizeof natives / sizeof natives[0];

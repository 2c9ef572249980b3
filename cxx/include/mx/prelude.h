/* Before every source: mxcc includes it, as other compilers of this language include their own headers. The order is
 * the one in which clang's own headers for this language go together; they bring threadIdx and the mathematical
 * functions, which become calls of __nv_NAME, and mx's assembler knows these names. */
#ifndef MX_CXX_PRELUDE_H
#define MX_CXX_PRELUDE_H
#include "mx/keywords.h"

#include <climits>
#include <__clang_cuda_math_forward_declares.h>
#include <cmath>
#include <cstdlib>
#include <stdint.h> /* these few programs use without asking: others' headers of the runtime bring them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>

#include "mx/vector.h"

#pragma push_macro("CUDA_VERSION")
#undef CUDA_VERSION
#define CUDA_VERSION 9000 /* the one whose functions on words of bytes are calls, each an instruction of mx */
#define warpSize __mx_warp_size_of_32
#include <__clang_cuda_builtin_vars.h>
#undef warpSize
#include <__clang_cuda_libdevice_declares.h>
#define __all __mx_all_of_32
#define __any __mx_any_of_32
#define __ballot __mx_ballot_of_32
#if __clang_major__ < 15
/* clang 14 takes its barriers and fences to leave a variable alone whose address goes nowhere, and moves loads of it
 * across them; it does not move them across these. */
#define __MX_FENCED(result, name, parameters, arguments) \
  static __inline__ __attribute__((device, always_inline, convergent)) result __mx_fenced_##name parameters { \
    struct __mx_memory { \
      __attribute__((device)) __mx_memory() { __asm__ volatile("" ::: "memory"); } \
      __attribute__((device)) ~__mx_memory() { __asm__ volatile("" ::: "memory"); } \
    } both_sides; \
    return name arguments; \
  }
__MX_FENCED(void, __syncthreads, (), ())
__MX_FENCED(int, __nvvm_bar0_and, (int a), (a))
__MX_FENCED(int, __nvvm_bar0_or, (int a), (a))
__MX_FENCED(int, __nvvm_bar0_popc, (int a), (a))
__MX_FENCED(void, __nvvm_membar_cta, (), ())
__MX_FENCED(void, __nvvm_membar_gl, (), ())
__MX_FENCED(void, __nvvm_membar_sys, (), ())
#undef __MX_FENCED
#define __syncthreads __mx_fenced___syncthreads
#define __nvvm_bar0_and __mx_fenced___nvvm_bar0_and
#define __nvvm_bar0_or __mx_fenced___nvvm_bar0_or
#define __nvvm_bar0_popc __mx_fenced___nvvm_bar0_popc
#define __nvvm_membar_cta __mx_fenced___nvvm_membar_cta
#define __nvvm_membar_gl __mx_fenced___nvvm_membar_gl
#define __nvvm_membar_sys __mx_fenced___nvvm_membar_sys
#endif
#include <__clang_cuda_device_functions.h>
#undef __all
#undef __any
#undef __ballot
/* clang's own make an infinity of zeros and of NaN where the exponent is no int */
#define scalbln __mx_other_scalbln
#define scalblnf __mx_other_scalblnf
#include <__clang_cuda_math.h>
#undef scalbln
#undef scalblnf
#define __MX_EXPONENT(n_) ((int)((n_) > 0x10000 ? 0x10000 : (n_) < -0x10000 ? -0x10000 : (n_)))
static __inline__ __attribute__((device, always_inline)) double scalbln(double x, long n) {
  return scalbn(x, __MX_EXPONENT(n));
}
static __inline__ __attribute__((device, always_inline)) float scalblnf(float x, long n) {
  return scalbnf(x, __MX_EXPONENT(n));
}
#undef __MX_EXPONENT
#include <__clang_cuda_cmath.h>
#pragma pop_macro("CUDA_VERSION")

__attribute__((device)) const int warpSize = __MX_LANES;
__attribute__((device)) inline __cuda_builtin_threadIdx_t::operator dim3() const { return dim3(x, y, z); }
__attribute__((device)) inline __cuda_builtin_threadIdx_t::operator uint3() const { return uint3{x, y, z}; }
__attribute__((device)) inline __cuda_builtin_blockIdx_t::operator dim3() const { return dim3(x, y, z); }
__attribute__((device)) inline __cuda_builtin_blockIdx_t::operator uint3() const { return uint3{x, y, z}; }
__attribute__((device)) inline __cuda_builtin_blockDim_t::operator dim3() const { return dim3(x, y, z); }
__attribute__((device)) inline __cuda_builtin_blockDim_t::operator uint3() const { return uint3{x, y, z}; }
__attribute__((device)) inline __cuda_builtin_gridDim_t::operator dim3() const { return dim3(x, y, z); }
__attribute__((device)) inline __cuda_builtin_gridDim_t::operator uint3() const { return uint3{x, y, z}; }

extern "C" {
__device__ int vprintf(const char *, const char *);
__device__ int printf(const char *, ...);
__device__ void free(void *) __attribute__((nothrow));
__device__ void *malloc(size_t) __attribute__((nothrow, malloc));
__device__ void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t size)
    __attribute__((noreturn));
static __device__ __attribute__((noreturn)) inline void __assert_fail(const char *message, const char *file,
                                                                      unsigned line, const char *function) __THROW {
  __assertfail(message, file, line, function, sizeof(char));
}
}

#ifdef __CUDA_ARCH__
/* Memory of a size that is known late, until the function returns: of clang's, those before 18 have no code for it. */
__MX_BOTH void *__mx_alloca(size_t size) {
  void *p;
  __asm__ volatile("{ .reg .b64 place; alloca.u64 place, %1, 16; cvta.local.u64 %0, place; }"
                   : "=l"(p)
                   : "l"(size)
                   : "memory");
  return p;
}
#define __builtin_alloca(size_) __mx_alloca(size_)
#endif
#include <new> /* clang's own, in front of the library's: objects in the heap of kernels */

#include "mx/device.h"
#include "mx/runtime.h"
#include "mx/texture.h"
#ifdef __MX_REFERENCES
#include "mx/references.h"
#endif

#ifndef __CUDA_ARCH__
/* Which variables are managed is told by where they lie. */
extern "C" const char __start_mx_managed[] __attribute__((weak, visibility("hidden")));
extern "C" const char __stop_mx_managed[] __attribute__((weak, visibility("hidden")));
static __attribute__((constructor(101))) void __mx_tell_managed_variables() {
  __mx_managed_variables(__start_mx_managed, __stop_mx_managed);
}
#endif

/* `__shared__ alignas(16) int s[4];` is what programs write, and clang takes no alignas behind an attribute in a
 * function. */
namespace __mx {
template <class T> constexpr unsigned long alignment() { return alignof(T); }
template <unsigned long N> constexpr unsigned long alignment() { return N; }
} // namespace __mx
#define alignas(...) __attribute__((aligned(__mx::alignment<__VA_ARGS__>())))
#endif

/* mxcc includes this header before every source, as other compilers of this language include theirs. The order is the
 * one that clang's own headers for this language need. These declare threadIdx and the like, and the mathematical
 * functions, which become calls of __nv_NAME; mx's assembler knows these names. */
#ifndef MX_CXX_PRELUDE_H
#define MX_CXX_PRELUDE_H
#include "mx/keywords.h"

#include <climits>
#include <__clang_cuda_math_forward_declares.h>
#include <cmath>
#include <cstdlib>
#include <stdint.h> /* programs use these headers without including them, since CUDA's runtime headers include them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>

#include "mx/vector.h"

#pragma push_macro("CUDA_VERSION")
#undef CUDA_VERSION
/* For this version clang's headers make __vadd4 and the like calls of functions whose names mx's assembler knows. */
#define CUDA_VERSION 9000
#define warpSize __mx_warp_size_of_32
#include <__clang_cuda_builtin_vars.h>
#undef warpSize
#include <__clang_cuda_libdevice_declares.h>
#define __all __mx_all_of_32
#define __any __mx_any_of_32
#define __ballot __mx_ballot_of_32
#if __clang_major__ < 15
/* clang 14 assumes that barriers and fences do not change a variable whose address does not escape, and moves loads of
 * it across them. It moves none across inline assembly that clobbers memory, so that stands before and after each. */
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
/* clang's own are wrong for zeros and NaNs if the exponent does not fit into an int. */
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
/* Memory until the function returns, of a size that is known only when the kernel runs: clang before version 18 cannot
 * generate code for it. */
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
#include <new> /* clang's own, which adds operators for the heap of kernels to the library's */

#include "mx/device.h"
#include "mx/runtime.h"
#include "mx/texture.h"
#ifdef __MX_REFERENCES
#include "mx/references.h"
#endif

#ifndef __CUDA_ARCH__
/* All managed variables are in one section, whose bounds the linker defines. */
extern "C" const char __start_mx_managed[] __attribute__((weak, visibility("hidden")));
extern "C" const char __stop_mx_managed[] __attribute__((weak, visibility("hidden")));
static __attribute__((constructor(101))) void __mx_tell_managed_variables() {
  __mx_managed_variables(__start_mx_managed, __stop_mx_managed);
}
#endif

/* Programs write `__shared__ alignas(16) int s[4];`. In a function, clang does not accept alignas after an attribute,
 * so it becomes an attribute. */
namespace __mx {
template <class T> constexpr unsigned long alignment() { return alignof(T); }
template <unsigned long N> constexpr unsigned long alignment() { return N; }
} // namespace __mx
#define alignas(...) __attribute__((aligned(__mx::alignment<__VA_ARGS__>())))
#endif

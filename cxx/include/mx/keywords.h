/* The keywords that kernels' C++ adds to the language, as attributes of clang, and macros that programs test. */
#ifndef MX_CXX_KEYWORDS_H
#define MX_CXX_KEYWORDS_H

#if defined(__CUDA__) && !defined(__CUDACC__)
#define __CUDACC__ 1
#endif
#define __MACACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define CUDART_VERSION 12000
/* The include guards of CUDA's own headers: programs test them before they use what such a header declares. */
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
#ifdef __CUDA_ARCH__
#define __MACA_ARCH__ __CUDA_ARCH__
#endif
#ifndef __MX_LANES
#define __MX_LANES 32
#endif

#ifdef __CUDA__
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#ifdef __CUDA_ARCH__
#define __managed__ __attribute__((device))
#else /* the host's variable of that name, which the runtime finds by its section */
#define __managed__ __attribute__((device, section("mx_managed")))
#endif
#define __grid_constant__
/* The size of a cluster is in the name of the section in which the kernel's stub on the host lies; the runtime finds it
 * there (cxx/runtime/cluster.c). */
#ifdef __CUDA_ARCH__
#define __cluster_dims__(...)
#else
#define __cluster_dims__(...) __MX_CLUSTER(__VA_ARGS__, 1, 1, 1)
#define __MX_CLUSTER(x_, y_, z_, ...) __attribute__((section("mx_cluster." #x_ "." #y_ "." #z_)))
#endif
#define __forceinline__ __inline__ __attribute__((always_inline))
#if __clang_major__ < 15 /* later versions have the keyword */
#define __noinline__ __attribute__((noinline))
#endif
/* The third argument, the most blocks of a cluster, is dropped, since not every version of clang accepts it. */
#define __launch_bounds__(...) __attribute__((launch_bounds(__MX_BOUNDS(__VA_ARGS__, 3, 2, 1, 0)(__VA_ARGS__))))
#define __MX_BOUNDS(a_, b_, c_, n_, ...) __MX_BOUNDS_##n_
#define __MX_BOUNDS_1(a_) a_
#define __MX_BOUNDS_2(a_, b_) a_, b_
#define __MX_BOUNDS_3(a_, b_, c_) a_, b_
#define __MX_BOTH static __inline__ __attribute__((always_inline, host, device))
#define __MX_DEVICE static __inline__ __attribute__((always_inline, device))
#define __MX_HOST static __inline__ __attribute__((always_inline, host))
#else /* a source without kernels, as the runtime's own */
#define __host__
#define __device__
#define __MX_BOTH static inline
#define __MX_HOST static inline
#endif
#define __align__(n_) __attribute__((aligned(n_)))
#define __builtin_align__(n_) __attribute__((aligned(n_)))
#define __device_builtin__
#define CUDARTAPI
#define CUDART_CB

#endif

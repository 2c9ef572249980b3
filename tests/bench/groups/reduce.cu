/* Sums over tiles of a warp: by cooperative_groups::reduce, and by shuffles written by hand, which name all lanes of the
 * warp. Both kernels of a pair leave the same bits. See main.c. */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <int SIZE, class T> static __device__ T by_shuffles(T v) {
  for (int d = SIZE / 2; d; d /= 2) v += __shfl_xor_sync(0xFFFFFFFF, v, d);
  return v;
}
template <int SIZE, class T> static __device__ T by_reduce(T v) {
  return cg::reduce(cg::tiled_partition<SIZE>(cg::this_thread_block()), v, cg::plus<T>());
}

#define KERNEL(name_, how_, type_, size_) \
  extern "C" __global__ void name_##_##how_##_##size_(const type_ *in, type_ *out, unsigned n) { \
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x; \
    const type_ v = in[at]; \
    type_ sum = 0; \
    for (unsigned k = 0; k < n; k++) sum += by_##how_<size_>(v + (type_)k); \
    out[at] = sum; \
  }
#define EACH_SIZE(name_, how_, type_) \
  KERNEL(name_, how_, type_, 4) KERNEL(name_, how_, type_, 8) KERNEL(name_, how_, type_, 16) \
  KERNEL(name_, how_, type_, 32)
#define EACH(name_, type_) EACH_SIZE(name_, reduce, type_) EACH_SIZE(name_, shuffles, type_)
EACH(u32, unsigned)
EACH(f32, float)
EACH(u64, unsigned long long)
EACH(f64, double)

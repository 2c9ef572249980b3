// lanes: 32. Reductions of several kinds over several types, as sample suites have them: templates with a shared-memory
// helper, warp shuffles, cooperative groups, a functor for the operation, atomics on float and double, dynamic shared
// memory, occupancy.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>
namespace cg = cooperative_groups;

template <class T> struct SharedMemory {
  __device__ inline operator T *() {
    extern __shared__ int __smem[];
    return (T *)__smem;
  }
  __device__ inline operator const T *() const {
    extern __shared__ int __smem[];
    return (T *)__smem;
  }
};
template <> struct SharedMemory<double> {
  __device__ inline operator double *() {
    extern __shared__ double __smem_d[];
    return (double *)__smem_d;
  }
};

template <typename T> struct Sum {
  static constexpr const char *name = "sum";
  __host__ __device__ T operator()(T a, T b) const { return a + b; }
  __host__ __device__ static T zero() { return T(0); }
};
template <typename T> struct Max {
  static constexpr const char *name = "max";
  __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
  __host__ __device__ static T zero() { return std::numeric_limits<T>::lowest(); }
};

bool isPow2(unsigned int x) { return ((x & (x - 1)) == 0); }

template <typename T, typename Op, unsigned int blockSize, bool nIsPow2>
__global__ void reduce6(const T *g_idata, T *g_odata, unsigned int n, Op op) {
  cg::thread_block cta = cg::this_thread_block();
  T *sdata = SharedMemory<T>();
  unsigned int tid = threadIdx.x, i = blockIdx.x * blockSize * 2 + threadIdx.x, gridSize = blockSize * 2 * gridDim.x;
  T mine = Op::zero();
  while (i < n) {
    mine = op(mine, g_idata[i]);
    if (nIsPow2 || i + blockSize < n) mine = op(mine, g_idata[i + blockSize]);
    i += gridSize;
  }
  sdata[tid] = mine;
  cg::sync(cta);
  if constexpr (blockSize >= 512) {
    if (tid < 256) sdata[tid] = mine = op(mine, sdata[tid + 256]);
    cg::sync(cta);
  }
  if constexpr (blockSize >= 256) {
    if (tid < 128) sdata[tid] = mine = op(mine, sdata[tid + 128]);
    cg::sync(cta);
  }
  if constexpr (blockSize >= 128) {
    if (tid < 64) sdata[tid] = mine = op(mine, sdata[tid + 64]);
    cg::sync(cta);
  }
  cg::thread_block_tile<32> tile32 = cg::tiled_partition<32>(cta);
  if (cta.thread_rank() < 32) {
    if constexpr (blockSize >= 64) mine = op(mine, sdata[tid + 32]);
    for (int offset = tile32.size() / 2; offset > 0; offset /= 2) mine = op(mine, tile32.shfl_down(mine, offset));
  }
  if (cta.thread_rank() == 0) g_odata[blockIdx.x] = mine;
}

template <typename T> __inline__ __device__ T warpReduceSum(T val) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) val += __shfl_xor_sync(0xffffffffu, val, mask, 32);
  return val;
}
template <typename T> __global__ void reduceAtomic(const T *in, T *out, int N) {
  T sum = T();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) sum += in[i];
  sum = warpReduceSum(sum);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}
__global__ void reduceCg(const int *in, int *out, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = 0;
  for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) v += in[i];
  int s = cg::reduce(tile, v, cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(out, s);
  int most = cg::reduce(tile, v, cg::greater<int>());
  if (tile.thread_rank() == 0) atomicMax(out + 1, most);
}

template <typename T, typename Op> T run(const T *d, T *o, unsigned n, int threads, int blocks) {
  Op op;
  size_t smem = (threads <= 32) ? 2 * threads * sizeof(T) : threads * sizeof(T);
#define GO(size) \
  case size: \
    if (isPow2(n)) reduce6<T, Op, size, true><<<blocks, threads, smem>>>(d, o, n, op); \
    else reduce6<T, Op, size, false><<<blocks, threads, smem>>>(d, o, n, op); \
    break
  switch (threads) {
    GO(512);
    GO(256);
    GO(128);
    GO(64);
  }
  std::vector<T> h(blocks);
  cudaMemcpy(h.data(), o, blocks * sizeof(T), cudaMemcpyDeviceToHost);
  T r = Op::zero();
  for (T x : h) r = op(r, x);
  return r;
}

template <typename T, template <typename> class Op> bool check(const char *type) {
  bool good = true;
  for (unsigned n : {1u << 14, 10000u, 777u}) {
    std::vector<T> h(n);
    T want = Op<T>::zero();
    for (unsigned i = 0; i < n; i++)
      h[i] = T((i * 7919u) % 1000) - T(std::is_signed<T>::value ? 300 : 0), want = Op<T>()(want, h[i]);
    T *d, *o;
    cudaMalloc(&d, n * sizeof(T));
    cudaMalloc(&o, 64 * sizeof(T));
    cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    for (int threads : {64, 128, 256, 512})
      if (run<T, Op<T>>(d, o, n, threads, 6) != want)
        good = false, printf("%s %s of %u with %d threads is wrong\n", type, Op<T>::name, n, threads);
    cudaFree(d);
    cudaFree(o);
  }
  printf("%s %s %s\n", type, Op<T>::name, good ? "ok" : "wrong");
  return good;
}
template <typename T> bool checkAtomic(const char *type) {
  const int n = 5000;
  T *in, *out, want = 0;
  cudaMallocManaged(&in, n * sizeof(T));
  cudaMallocManaged(&out, sizeof(T));
  for (int i = 0; i < n; i++) in[i] = T(i % 64), want += in[i];
  *out = 0;
  int minGrid, block;
  cudaOccupancyMaxPotentialBlockSize(&minGrid, &block, reduceAtomic<T>, 0, 256);
  reduceAtomic<T><<<4, block / 32 * 32 ? block / 32 * 32 : 32>>>(in, out, n);
  cudaDeviceSynchronize();
  bool good = *out == want;
  printf("atomic %s %s\n", type, good ? "ok" : "wrong");
  cudaFree(in);
  cudaFree(out);
  return good;
}

int main() {
  bool good = check<int, Sum>("int") & check<float, Sum>("float") & check<double, Sum>("double") &
              check<long long, Sum>("long long") & check<int, Max>("int") & check<float, Max>("float") &
              check<unsigned, Max>("unsigned");
  good &= checkAtomic<float>("float") & checkAtomic<double>("double") & checkAtomic<int>("int") &
          checkAtomic<unsigned long long>("unsigned long long");
  int *in, *out;
  cudaMallocManaged(&in, 3000 * sizeof(int));
  cudaMallocManaged(&out, 2 * sizeof(int));
  out[0] = 0, out[1] = -1;
  for (int i = 0; i < 3000; i++) in[i] = i;
  reduceCg<<<3, 128>>>(in, out, 3000);
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e)), good = false;
  good &= out[0] == 2999 * 3000 / 2 && out[1] > 2900;
  puts(good ? "passed" : "failed");
  return !good;
}

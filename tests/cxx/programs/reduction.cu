// Sums, smallest and largest values by warps' shuffles, shared memory and atomics; block sizes as template arguments.
#include "check.h"
#include <algorithm>
#include <climits>
#include <numeric>
#include <vector>

template <class T, class Op> __device__ T over_warp(T v, Op op) {
  for (int d = warpSize / 2; d; d /= 2) v = op(v, __shfl_down_sync(-1, v, d));
  return v;
}

template <int BLOCK, class T, class Op> __device__ T over_block(T v, Op op, T neutral) {
  __shared__ T part[32];
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = over_warp(v, op);
  if (!lane) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < BLOCK / warpSize ? part[threadIdx.x] : neutral;
  if (!warp) v = over_warp(v, op);
  __syncthreads();
  return v;
}

struct Sum { __device__ long long operator()(long long a, long long b) const { return a + b; } };
struct Least { __device__ int operator()(int a, int b) const { return min(a, b); } };
struct Most { __device__ int operator()(int a, int b) const { return max(a, b); } };

struct Result { unsigned long long sum; int least, most; };

template <int BLOCK> __global__ void reduce(const int *v, int n, Result *r) {
  long long sum = 0;
  int least = INT_MAX, most = INT_MIN;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) sum += v[i], least = min(least, v[i]), most = max(most, v[i]);
  sum = over_block<BLOCK>(sum, Sum(), 0ll);
  least = over_block<BLOCK>(least, Least(), INT_MAX);
  most = over_block<BLOCK>(most, Most(), INT_MIN);
  if (threadIdx.x) return;
  atomicAdd(&r->sum, (unsigned long long)sum);
  atomicMin(&r->least, least);
  atomicMax(&r->most, most);
}

template <int BLOCK> void run(const Buffer<int> &v, const std::vector<int> &host) {
  Result r = {0, INT_MAX, INT_MIN};
  Buffer<Result> d(1);
  d.put(&r);
  reduce<BLOCK><<<7, BLOCK>>>(v.p, (int)v.n, d.p);
  CHECK(cudaGetLastError());
  d.get(&r);
  EXPECT((long long)r.sum == std::accumulate(host.begin(), host.end(), 0ll));
  EXPECT(r.least == *std::min_element(host.begin(), host.end()) && r.most == *std::max_element(host.begin(), host.end()));
  printf("block %4d: sum %lld, from %d to %d\n", BLOCK, (long long)r.sum, r.least, r.most);
}

int main() {
  std::vector<int> v(20011);
  unsigned state = 1;
  for (int &x : v) x = (int)(random_of(state) % 200001) - 100000;
  Buffer<int> d(v.size());
  d.put(v.data());
  run<64>(d, v);
  run<256>(d, v);
  run<1024>(d, v);
  puts("passed");
}

// What the lanes of a warp do together, for warps of any size: votes, matches, sums, exchanges of every type, barriers
// of warps, and barriers of the block that count.
#include "check.h"

typedef decltype(__activemask()) Mask; // as many bits as a warp has lanes

static int *out;
static void done(const char *row) {
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 128; i++) EXPECT(!out[i]);
  printf("%s: so\n", row);
}

__device__ int lane() { return threadIdx.x % warpSize; }
__device__ Mask all_lanes() { return (Mask)-1; }
__device__ Mask lanes_of(int step, int from) { // every step-th lane
  Mask m = 0;
  for (int i = from; i < warpSize; i += step) m |= (Mask)1 << i;
  return m;
}

__global__ void votes(int *bad) {
  int n = __ballot_sync(all_lanes(), lane() % 3 == 0) != lanes_of(3, 0);
  n += !__all_sync(all_lanes(), 1) + (__all_sync(all_lanes(), lane() != 5) != 0);
  n += !__any_sync(all_lanes(), lane() == 5) + (__any_sync(all_lanes(), lane() < 0) != 0);
  if (lane() % 2) n += __ballot_sync(lanes_of(2, 1), 1) != lanes_of(2, 1);
  bad[threadIdx.x] = n;
}
__global__ void matches(int *bad) {
  int same;
  int n = __match_any_sync(all_lanes(), lane() % 4) != lanes_of(4, lane() % 4);
  n += __match_any_sync(all_lanes(), (lane() % 2) * 0.5) != lanes_of(2, lane() % 2);
  n += __match_all_sync(all_lanes(), 7ull << 40, &same) != all_lanes() || !same;
  n += __match_all_sync(all_lanes(), lane(), &same) != 0 || same;
  bad[threadIdx.x] = n;
}
__global__ void sums(int *bad) {
  const int last = warpSize - 1;
  int n = __reduce_add_sync(all_lanes(), lane()) != warpSize * last / 2;
  n += __reduce_max_sync(all_lanes(), -lane()) != 0 || __reduce_min_sync(all_lanes(), -lane()) != -last;
  n += __reduce_max_sync(all_lanes(), (unsigned)lane()) != (unsigned)last;
  n += __reduce_and_sync(all_lanes(), 0xF0u | lane() % 2) != 0xF0u;
  n += __reduce_or_sync(all_lanes(), 1u << lane() % 8) != 0xFFu;
  n += __reduce_xor_sync(all_lanes(), (unsigned)lane()) != 0;
  bad[threadIdx.x] = n;
}
template <class T> __device__ int exchanges() {
  const T own = (T)(lane() * 3 + 1);
  const int l = lane(), half = warpSize / 2;
  int n = __shfl_sync(all_lanes(), own, 5) != (T)16;
  n += __shfl_sync(all_lanes(), own, 3, 8) != (T)((l / 8 * 8 + 3) * 3 + 1);
  n += __shfl_up_sync(all_lanes(), own, 2) != (T)((l < 2 ? l : l - 2) * 3 + 1);
  n += __shfl_down_sync(all_lanes(), own, 1, 4) != (T)((l % 4 == 3 ? l : l + 1) * 3 + 1);
  n += __shfl_xor_sync(all_lanes(), own, half) != (T)((l ^ half) * 3 + 1);
  return n;
}
__global__ void shuffles(int *bad) {
  bad[threadIdx.x] = exchanges<int>() + exchanges<unsigned>() + exchanges<float>() + exchanges<double>() +
                     exchanges<long long>() + exchanges<unsigned long long>() + exchanges<long>();
}
__global__ void warp_barrier(int *bad) {
  __shared__ int cells[128];
  int n = 0;
  for (int round = 0; round < 4; round++) {
    cells[threadIdx.x] = threadIdx.x + round;
    __syncwarp();
    const int next = threadIdx.x / warpSize * warpSize + (lane() + 1) % warpSize;
    n += cells[next] != next + round;
    __syncwarp();
  }
  bad[threadIdx.x] = n;
}
__global__ void active(int *bad) {
  int n = 0;
  if (lane() % 4 == 1) n = __activemask() != lanes_of(4, 1);
  bad[threadIdx.x] = n + (__activemask() != all_lanes());
}
__global__ void diverge(int *bad) {
  __shared__ int order[128];
  if (lane() & 1) order[threadIdx.x] = 1;
  else order[threadIdx.x] = 2;
  __syncwarp();
  bad[threadIdx.x] = order[threadIdx.x ^ 1] != (lane() & 1 ? 2 : 1) || __activemask() != all_lanes();
}
__global__ void counted(int *bad) {
  const int t = threadIdx.x;
  int n = __syncthreads_count(t % 3 == 0) != 43;
  n += __syncthreads_and(t >= 0) == 0 || __syncthreads_and(t != 100) != 0;
  n += __syncthreads_or(t == 100) == 0 || __syncthreads_or(t < 0) != 0;
  bad[t] = n;
}
__global__ void same_branch(int *bad, int k) {
  __shared__ int cells[128];
  if (k) { // all threads of the block come here
    cells[threadIdx.x] = threadIdx.x;
    __syncthreads();
    bad[threadIdx.x] = cells[127 - threadIdx.x] != 127 - threadIdx.x;
  }
}
__global__ void largest(int *bad) {
  const int a = -1;
  const unsigned b = 2;
  int n = max(a, b) != 0xFFFFFFFFu || min(a, b) != 2u || max(-3, 4) != 4 || max(2.5f, 1.0) != 2.5;
  n += min(5ll, -6ll) != -6 || max(7ull, 9ull) != 9 || fmaxf(NAN, 1) != 1 || fmin(NAN, 2.0) != 2;
  bad[threadIdx.x] = n;
}

int main() {
  CHECK(cudaMallocManaged(&out, 128 * sizeof *out));
  votes<<<1, 128>>>(out);
  done("warp vote");
  matches<<<1, 128>>>(out);
  done("warp match");
  sums<<<1, 128>>>(out);
  done("warp reduce");
  shuffles<<<1, 128>>>(out);
  done("warp shuffle");
  warp_barrier<<<1, 128>>>(out);
  done("warp barrier");
  active<<<1, 128>>>(out);
  done("active-lane discovery");
  diverge<<<1, 128>>>(out);
  done("divergence and reconvergence");
  counted<<<1, 128>>>(out);
  done("barrier with predicate (count/and/or)");
  same_branch<<<1, 128>>>(out, 1);
  done("barrier in conditional code");
  largest<<<1, 128>>>(out);
  done("overloaded max/min");
  printf("passed\n");
}

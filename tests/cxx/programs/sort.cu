// Two sorts: bitonic in shared memory and across blocks, radix with ranks by ballots.
#include "check.h"
#include <algorithm>
#include <vector>

__global__ void bitonic_step(unsigned *v, unsigned j, unsigned k) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
  if (other <= i) return;
  bool up = (i & k) == 0;
  unsigned a = v[i], b = v[other];
  if (a > b == up) v[i] = b, v[other] = a;
}
__global__ void bitonic_block(unsigned *v) {
  extern __shared__ unsigned s[];
  unsigned t = threadIdx.x, n = blockDim.x;
  s[t] = v[blockIdx.x * n + t];
  for (unsigned k = 2; k <= n; k *= 2)
    for (unsigned j = k / 2; j; j /= 2) {
      __syncthreads();
      unsigned other = t ^ j, a = s[t], b = s[other];
      bool up = ((blockIdx.x * n + t) & k) == 0, keep_less = (t < other) == up;
      unsigned mine = keep_less ? min(a, b) : max(a, b);
      __syncthreads();
      s[t] = mine;
    }
  __syncthreads();
  v[blockIdx.x * n + t] = s[t];
}

// one bit: zeros to the front, ones behind them, in order; one block
__global__ void split(const unsigned *in, unsigned *out, int n, int bit) {
  __shared__ int warps[32], zeros, base_zero, base_one;
  int lanes = warpSize, lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
  if (threadIdx.x == 0) zeros = 0, base_zero = 0;
  __syncthreads();
  int own = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) own += !(in[i] >> bit & 1);
  atomicAdd(&zeros, own);
  __syncthreads();
  if (threadIdx.x == 0) base_one = zeros;
  for (int from = 0; from < n; from += blockDim.x) {
    int i = from + threadIdx.x;
    bool there = i < n, one = there && in[i] >> bit & 1;
    auto ones = __ballot_sync(-1, one), all = __ballot_sync(-1, there);
    decltype(ones) below = ((decltype(ones))1 << lane) - 1;
    int rank_one = __popcll((unsigned long long)(ones & below)), rank = __popcll((unsigned long long)(all & below));
    if (lane == 0) warps[warp] = __popcll((unsigned long long)ones) << 16 | __popcll((unsigned long long)all);
    __syncthreads();
    int before_one = 0, before = 0, all_one = 0, sum = 0;
    for (int w = 0; w < blockDim.x / lanes; w++) {
      if (w < warp) before_one += warps[w] >> 16, before += warps[w] & 0xFFFF;
      all_one += warps[w] >> 16, sum += warps[w] & 0xFFFF;
    }
    int at = one ? base_one + before_one + rank_one : base_zero + (before - before_one) + (rank - rank_one);
    if (there) out[at] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) base_one += all_one, base_zero += sum - all_one;
    __syncthreads();
  }
}

int main() {
  const int n = 4096, block = 256, m = 3001;
  std::vector<unsigned> v(n), sorted, w(m);
  unsigned state = 77;
  for (unsigned &x : v) x = random_of(state);
  for (unsigned &x : w) x = random_of(state) & 0xFFF;
  Buffer<unsigned> d(n), a(m), b(m);
  d.put(v.data());
  bitonic_block<<<n / block, block, block * sizeof(unsigned)>>>(d.p);
  for (unsigned k = 2 * block; k <= n; k *= 2)
    for (unsigned j = k / 2; j; j /= 2) bitonic_step<<<n / block, block>>>(d.p, j, k);
  CHECK(cudaGetLastError());
  sorted = v;
  std::sort(sorted.begin(), sorted.end());
  d.get(v.data());
  EXPECT(v == sorted);
  a.put(w.data());
  for (int bit = 0; bit < 12; bit++) {
    split<<<1, 512>>>(a.p, b.p, m, bit);
    std::swap(a.p, b.p);
  }
  sorted = w;
  std::sort(sorted.begin(), sorted.end());
  a.get(w.data());
  EXPECT(w == sorted);
  printf("%u %u, %u %u\npassed\n", v[0], v[n - 1], w[0], w[m - 1]);
}

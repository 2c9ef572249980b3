// Asynchronous copies into shared memory: a stencil in two stages by the primitives, by pipelines of a thread and of a
// block with roles, and by barriers that wait and arrive apart.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <vector>

namespace cg = cooperative_groups;
constexpr int THREADS = 128;

__device__ int work(const int *tile, int i) { return tile[i] * 3 + tile[(i + 1) % THREADS] - tile[(i + THREADS - 1) % THREADS]; }

__global__ void primitives(const int *in, int *out, int tiles) {
  __shared__ int s[2][THREADS];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][t], &in[t], sizeof(int));
  __pipeline_commit();
  for (int k = 0; k < tiles; k++) {
    if (k + 1 < tiles) __pipeline_memcpy_async(&s[(k + 1) % 2][t], &in[(k + 1) * THREADS + t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[k * THREADS + t] = work(s[k % 2], t);
    __syncthreads();
  }
}

__global__ void stages(const int *in, int *out, int tiles) {
  constexpr int N = 3;
  __shared__ int s[N][THREADS];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, N> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int k = 0, ahead = 0; k < tiles; k++) {
    for (; ahead < tiles && ahead < k + N; ahead++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[ahead % N], in + ahead * THREADS, sizeof(int) * THREADS, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[k * THREADS + threadIdx.x] = work(s[k % N], threadIdx.x);
    pipe.consumer_release();
  }
}

// The first half of the block brings tiles, the second works on them.
__global__ void roles(const int *in, int *out, int tiles) {
  __shared__ int s[2][THREADS];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  const bool brings = block.thread_rank() < THREADS;
  auto pipe = cuda::make_pipeline(block, &state, brings ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int t = threadIdx.x % THREADS;
  for (int k = 0; k < tiles; k++)
    if (brings) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[k % 2][t], &in[k * THREADS + t], sizeof(int), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      out[k * THREADS + t] = work(s[k % 2], t);
      pipe.consumer_release();
    }
}

__global__ void apart(const int *in, int *out, int tiles) {
  __shared__ int s[THREADS];
  __shared__ cuda::barrier<cuda::thread_scope_block> filled;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&filled, block.size());
  block.sync();
  for (int k = 0; k < tiles; k++) {
    cuda::memcpy_async(block, s, in + k * THREADS, cuda::aligned_size_t<16>(sizeof s), filled);
    auto token = filled.arrive();
    int mine = k; // work between the two
    filled.wait(std::move(token));
    out[k * THREADS + threadIdx.x] = work(s, threadIdx.x) + mine - k;
    filled.arrive_and_wait();
  }
}

__global__ void group(const int *in, int *out, int tiles) {
  __shared__ int s[THREADS];
  auto block = cg::this_thread_block();
  for (int k = 0; k < tiles; k++) {
    cg::memcpy_async(block, s, in + k * THREADS, sizeof s);
    cg::wait(block);
    out[k * THREADS + threadIdx.x] = work(s, threadIdx.x);
    block.sync();
  }
}

int main() {
  const int tiles = 7, n = tiles * THREADS;
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; i++) in[i] = i * i % 1000;
  Buffer<int> di(n), dout(n);
  di.put(in.data());
  void (*kernels[])(const int *, int *, int) = {primitives, stages, roles, apart, group};
  long long sum = 0;
  for (auto kernel : kernels) {
    CHECK(cudaMemset(dout.p, 0, n * sizeof(int)));
    kernel<<<1, kernel == roles ? 2 * THREADS : THREADS>>>(di.p, dout.p, tiles);
    CHECK(cudaDeviceSynchronize());
    dout.get(out.data());
    for (int i = 0; i < n; i++) {
      const int *t = &in[i / THREADS * THREADS], k = i % THREADS;
      EXPECT(out[i] == t[k] * 3 + t[(k + 1) % THREADS] - t[(k + THREADS - 1) % THREADS]);
      sum += out[i];
    }
  }
  printf("%lld\npassed\n", sum);
}

// Rows of the features' table about order, fences, masks, barriers and copies: what each guarantees.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

static int *out;
static void clear() { CHECK(cudaMemset(out, 0, 4096 * sizeof(int))); }
static void done(const char *row) { printf("%s: so\n", row); }
static void finish() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

/* ---- order ------------------------------------------------------------------------------------------------------*/
__device__ volatile int X = 1, Y = 2;
__global__ void both_orders(int *p) {
  if (blockIdx.x == 0) X = 10, Y = 20;
  else p[0] = Y, p[1] = X;
}
template <int SCOPE> __device__ void fence() {
  if (SCOPE == 0) __threadfence_block();
  if (SCOPE == 1) __threadfence();
  if (SCOPE == 2) __threadfence_system();
}
template <int SCOPE> __global__ void message(volatile int *data, volatile int *flag, int *seen) {
  const bool writes = SCOPE ? blockIdx.x == 0 : threadIdx.x < warpSize;
  if (threadIdx.x % warpSize) return;
  if (writes) {
    *data = 42;
    fence<SCOPE>();
    *flag = 1;
  } else {
    while (!*flag) {}
    fence<SCOPE>();
    *seen = *data;
  }
}
__device__ unsigned finished;
__global__ void last_block_sums(const int *in, int n, volatile int *parts, int *total) {
  __shared__ bool last;
  __shared__ int sum;
  if (!threadIdx.x) sum = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&sum, in[i]);
  __syncthreads();
  if (!threadIdx.x) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x) return;
  int all = 0;
  for (unsigned b = 0; b < gridDim.x; b++) all += parts[b];
  *total = all;
}
__device__ int lock, counter;
__global__ void mutex() {
  unsigned ns = 8;
  for (bool mine = false; !mine;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      *(volatile int *)&counter = *(volatile int *)&counter + 1;
      __threadfence();
      atomicExch(&lock, 0);
      mine = true;
    } else {
      __nanosleep(ns);
      if (ns < 256) ns *= 2;
    }
  }
}

static void order() {
  int h[8];
  both_orders<<<2, 1>>>(out);
  finish();
  CHECK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
  EXPECT((h[0] == 2 || h[0] == 20) && (h[1] == 1 || h[1] == 10));
  done("weak memory order, data races");
  for (int scope = 0; scope < 3; scope++) {
    clear();
    if (scope == 0) message<0><<<1, 128>>>(out, out + 1, out + 2);
    if (scope == 1) message<1><<<2, 1>>>(out, out + 1, out + 2);
    if (scope == 2) message<2><<<2, 1>>>(out, out + 1, out + 2);
    finish();
    CHECK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[2] == 42);
  }
  done("fence scope choice");
  done("atomics are not fences");
  Buffer<int> in(1000);
  int numbers[1000], sum = 0;
  for (int i = 0; i < 1000; i++) sum += numbers[i] = i * 7 % 31;
  in.put(numbers);
  for (int k = 0; k < 2; k++) last_block_sums<<<5, 64>>>(in.p, 1000, out + 10, out);
  finish();
  CHECK(cudaMemcpy(h, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == sum);
  done("fence is not visibility");
  mutex<<<2, 96>>>();
  finish();
  CHECK(cudaMemcpyFromSymbol(h, counter, 4));
  EXPECT(h[0] == 192);
  done("forward progress in the mutex example");
}

/* ---- lanes ------------------------------------------------------------------------------------------------------*/
__global__ void masks(int *p) {
  const int lane = threadIdx.x;
  if (lane < warpSize / 2) p[lane] = __popcll(__ballot_sync((1ull << (warpSize / 2)) - 1, lane % 2));
  else p[lane] = __shfl_sync((decltype(__activemask()))~((1ull << (warpSize / 2)) - 1), lane, warpSize / 2 + 3);
  __syncwarp();
  if (lane == 5) p[100] = __any_sync(1u << 5, 1) + 2 * __shfl_sync(1u << 5, 21, 5);
}
static void lanes() {
  int h[128], warp = 0;
  cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0);
  masks<<<1, warp>>>(out);
  finish();
  CHECK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < warp; i++) EXPECT(h[i] == (i < warp / 2 ? warp / 4 : warp / 2 + 3));
  EXPECT(h[100] == 43);
  done("lane masks");
}

/* ---- barriers ---------------------------------------------------------------------------------------------------*/
__global__ void phases(int *p) {
  __shared__ barrier bar;
  __shared__ int n[5];
  if (!threadIdx.x) init(&bar, blockDim.x);
  if (threadIdx.x < 5) n[threadIdx.x] = 0;
  __syncthreads();
  int wrong = 0;
  for (int k = 0; k < 5; k++) {
    atomicAdd(&n[k], 1);
    bar.wait(bar.arrive());
    wrong += *(volatile int *)&n[k] != (int)blockDim.x;
  }
  atomicAdd(p, wrong);
  atomicAdd(p + 1, 1);
}
__global__ void produce(const int *in, int *sums, int batches) {
  constexpr int SIZE = 32;
  __shared__ int buffer[2][SIZE];
  __shared__ barrier bars[4]; // ready[2], filled[2]
  barrier *ready = bars, *filled = bars + 2;
  if (threadIdx.x < 4) init(bars + threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x < warpSize) {
    for (int k = 0; k < batches; k++) {
      ready[k % 2].arrive_and_wait();
      if (threadIdx.x < SIZE) buffer[k % 2][threadIdx.x] = in[k * SIZE + threadIdx.x];
      barrier::arrival_token token = filled[k % 2].arrive();
      (void)token;
    }
  } else {
    barrier::arrival_token a = ready[0].arrive(), b = ready[1].arrive();
    (void)a, (void)b;
    int sum = 0;
    for (int k = 0; k < batches; k++) {
      filled[k % 2].arrive_and_wait();
      for (int i = 0; i < SIZE; i++) sum += buffer[k % 2][i];
      barrier::arrival_token c = ready[k % 2].arrive();
      (void)c;
    }
    sums[threadIdx.x - warpSize] = sum;
  }
}
__global__ void drop(int *p) {
  __shared__ barrier bar;
  __shared__ int n;
  if (!threadIdx.x) init(&bar, blockDim.x), n = 0;
  __syncthreads();
  for (int k = 0; k < 10; k++) {
    if (k == (int)threadIdx.x % 10 + 1) {
      bar.arrive_and_drop();
      break;
    }
    atomicAdd(&n, 1);
    bar.arrive_and_wait();
  }
  __syncthreads();
  if (!threadIdx.x) *p = n;
}
__global__ void primitives(int *p) {
  __shared__ __mbarrier_t bar;
  if (!threadIdx.x) __mbarrier_init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x < 3) p[1 + threadIdx.x] = 0;
  __mbarrier_token_t token = __mbarrier_arrive(&bar);
  if (!threadIdx.x)
    p[0] = __mbarrier_token_pending_count(token) <= blockDim.x && (int)__mbarrier_maximum_count() > 1000;
  while (!__mbarrier_test_wait(&bar, token)) {}
  atomicAdd(p + 1, 1);
  token = threadIdx.x == 1 ? __mbarrier_arrive_and_drop(&bar) : __mbarrier_arrive(&bar);
  while (!__mbarrier_test_wait(&bar, token)) {}
  if (threadIdx.x != 1) {
    token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {}
    atomicAdd(p + 2, 1);
  }
  __syncthreads();
  if (!threadIdx.x) __mbarrier_inval(&bar);
}
static void barriers() {
  int h[128], batches[32 * 6], sum = 0;
  clear();
  phases<<<2, 96>>>(out);
  finish();
  CHECK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == 0 && h[1] == 192);
  done("barrier initialisation");
  done("barrier phases");
  for (int i = 0; i < 32 * 6; i++) sum += batches[i] = i * i % 97;
  Buffer<int> in(32 * 6);
  in.put(batches);
  produce<<<1, 128>>>(in.p, out, 6);
  finish();
  CHECK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) EXPECT(h[i] == sum);
  done("producer/consumer barriers");
  drop<<<1, 100>>>(out);
  finish();
  CHECK(cudaMemcpy(h, out, 4, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == 10 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10));
  done("dropping out of a barrier");
  clear();
  primitives<<<1, 80>>>(out);
  finish();
  CHECK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == 1 && h[1] == 80 && h[2] == 79);
  done("mbarrier primitives");
}

/* ---- copies -----------------------------------------------------------------------------------------------------*/
__global__ void by_barrier(const int *in, int *p) {
  __shared__ barrier bar;
  __shared__ alignas(16) int s[256];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(block, s, in, sizeof s, bar);
  bar.arrive_and_wait();
  int wrong = 0;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) wrong += s[i] != in[i];
  block.sync();
  cuda::memcpy_async(block, s, in + 256, cuda::aligned_size_t<16>(sizeof s), bar);
  bar.arrive_and_wait();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) wrong += s[i] != in[256 + i];
  atomicAdd(p, wrong);
}
__global__ void by_layout(const int *in, int *p) {
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  for (int i = threadIdx.x; i < 128; i += blockDim.x) s[i] = -1;
  block.sync();
  cg::memcpy_async(block, s, 128, in, 100); // the smaller count
  cg::wait(block);
  int wrong = 0;
  for (int i = threadIdx.x; i < 128; i += blockDim.x) wrong += s[i] != (i < 100 ? in[i] : -1);
  block.sync();
  cg::memcpy_async(block, s, in + 7, 4 * 50);
  cg::wait(block);
  for (int i = threadIdx.x; i < 50; i += blockDim.x) wrong += s[i] != in[7 + i];
  atomicAdd(p, wrong);
}
__global__ void entangled(const int *in, int *p) {
  __shared__ int s[4][128];
  __shared__ barrier bar;
  if (!threadIdx.x) init(&bar, blockDim.x);
  __syncthreads();
  for (unsigned k = 0; k <= threadIdx.x % 4; k++) { // lanes commit a different number of batches
    __pipeline_memcpy_async(&s[k][threadIdx.x], &in[k * 128 + threadIdx.x], sizeof(int));
    __pipeline_commit();
  }
  __pipeline_wait_prior(0);
  int wrong = 0;
  for (unsigned k = 0; k <= threadIdx.x % 4; k++) wrong += s[k][threadIdx.x] != in[k * 128 + threadIdx.x];
  __syncwarp();
  if (threadIdx.x % 2) __pipeline_memcpy_async(&s[0][threadIdx.x], &in[128 + threadIdx.x], sizeof(int));
  else __pipeline_memcpy_async(&s[0][threadIdx.x], &in[256 + threadIdx.x], sizeof(int));
  __syncwarp();
  __pipeline_arrive_on((__mbarrier_t *)&bar);
  bar.arrive_and_wait();
  wrong += s[0][threadIdx.x] != in[(threadIdx.x % 2 ? 128 : 256) + threadIdx.x];
  atomicAdd(p, wrong);
}
__global__ void alone(const int *in, int *p) {
  __shared__ int s[4];
  auto one = cg::this_thread();
  if (threadIdx.x < 4) {
    cg::memcpy_async(one, &s[threadIdx.x], &in[threadIdx.x], sizeof(int));
    cg::wait(one);
    p[threadIdx.x] = s[threadIdx.x] + 100 * (int)one.size();
  }
}
__global__ void syncs(int *p) {
  auto grid = cg::this_grid();
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  __shared__ int s;
  if (!threadIdx.x) s = 0;
  cg::sync(block);
  if (tile.thread_rank() == 0) atomicAdd(&s, 1);
  cg::sync(tile);
  cg::sync(block);
  if (!threadIdx.x) atomicAdd(p, s);
  cg::sync(grid);
  if (threadIdx.x % 2) {
    auto some = cg::coalesced_threads();
    cg::sync(some);
  }
  if (!threadIdx.x) p[1 + blockIdx.x] = *(volatile int *)p;
}
static void copies() {
  int h[128], numbers[512];
  for (int i = 0; i < 512; i++) numbers[i] = i * 13 % 257;
  Buffer<int> in(512);
  in.put(numbers);
  clear();
  by_barrier<<<1, 64>>>(in.p, out);
  by_layout<<<1, 64>>>(in.p, out + 1);
  entangled<<<1, 128>>>(in.p, out + 2);
  alone<<<1, 32>>>(in.p, out + 3);
  int *p = out + 10;
  void *args[] = {&p};
  CHECK(cudaLaunchCooperativeKernel((void *)syncs, dim3(3), dim3(64), args, 0, 0));
  finish();
  CHECK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
  EXPECT(h[0] == 0);
  done("barrier-bound copy");
  done("copy alignment promises");
  EXPECT(h[1] == 0);
  done("copy size and layout forms");
  EXPECT(h[2] == 0);
  done("warp entanglement: commit");
  done("warp entanglement: wait");
  done("warp entanglement: arrive-on");
  for (int i = 0; i < 4; i++) EXPECT(h[3 + i] == numbers[i] + 100);
  done("single-thread group");
  for (int i = 0; i < 4; i++) EXPECT(h[10 + i] == 12);
  done("group sync function");
  done("implicit groups");
}

int main() {
  CHECK(cudaMalloc(&out, 4096 * sizeof(int)));
  order();
  lanes();
  barriers();
  copies();
  puts("passed");
}

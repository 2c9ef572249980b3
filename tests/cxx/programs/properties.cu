// What devices and kernels say of themselves: properties, attributes, occupancy, limits, errors that stay and that go,
// memory that is left, pointers, streams of priorities, clocks.
#include "check.h"
#include <cstring>

__global__ void __launch_bounds__(64) bounded(int *p) { p[threadIdx.x] = threadIdx.x; }
__global__ void shared_memory(int *p) {
  __shared__ int s[1000];
  extern __shared__ int more[];
  s[threadIdx.x] = p[threadIdx.x];
  more[threadIdx.x] = s[threadIdx.x] + 1;
  __syncthreads();
  p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + more[threadIdx.x];
}
__global__ void clocks(long long *out, int turns) {
  long long a = clock64();
  clock_t c = clock();
  volatile int x = 0;
  for (int i = 0; i < turns; i++) x = x + i;
  out[0] = clock64() - a;
  out[1] = clock() - c;
}
template <int N> __global__ void deep(int *out) {
  int local[N];
  for (int i = 0; i < N; i++) local[i] = i * (int)threadIdx.x;
  for (int i = 0; i < N; i++) local[(i * 7 + out[0]) % N] += local[(i * 3) % N];
  out[1 + threadIdx.x] = local[out[0] + 1];
}

int main() {
  cudaDeviceProp prop;
  int device = -1, count = 0, value = 0;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&prop, device));
  EXPECT(count >= 1 && device == 0 && strlen(prop.name) > 0 && prop.major >= 7 && prop.maxThreadsPerBlock >= 1024);
  EXPECT(prop.totalGlobalMem > 1 << 20 && prop.multiProcessorCount > 0 && prop.sharedMemPerBlock >= 48 << 10);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
  EXPECT(value == prop.warpSize);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
  EXPECT(value == prop.maxThreadsPerBlock);
  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, bounded));
  EXPECT(a.maxThreadsPerBlock == 64 && a.sharedSizeBytes == 0);
  CHECK(cudaFuncGetAttributes(&a, shared_memory));
  EXPECT(a.sharedSizeBytes == 4000);
  CHECK(cudaFuncGetAttributes(&a, deep<100>));
  EXPECT(a.localSizeBytes >= 400);
  int blocks = 0, grid = 0, block = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 64, 0));
  EXPECT(blocks >= 1);
  size_t room = 0;
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&room, bounded, 1, 64));
  EXPECT(room > 0);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, bounded, 64, 0, cudaOccupancyDefault));
  EXPECT(blocks > 0);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
  EXPECT(grid >= 1 && block >= 32 && block <= 64);

  Buffer<int> p(128);
  CHECK(cudaMemset(p.p, 0, 128 * sizeof(int)));
  bounded<<<1, 128>>>(p.p); // more than it says
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue || cudaPeekAtLastError() == cudaErrorInvalidConfiguration || cudaPeekAtLastError() == cudaErrorLaunchOutOfResources);
  EXPECT(cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess);
  bounded<<<0, 32>>>(p.p);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  bounded<<<1, 64>>>(p.p);
  CHECK(cudaGetLastError());
  CHECK(cudaFuncSetAttribute(shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  shared_memory<<<1, 64, 60000>>>(p.p);
  CHECK(cudaDeviceSynchronize());
  int got[128];
  p.get(got);
  for (int i = 0; i < 64; i++) EXPECT(got[i] == 64);
  Buffer<long long> ticks(2);
  clocks<<<1, 1>>>(ticks.p, 100);
  long long t[2];
  ticks.get(t);
  EXPECT(t[0] > 0 && t[1] > 0);
  got[0] = 0;
  p.put(got);
  deep<100><<<1, 4>>>(p.p);
  CHECK(cudaDeviceSynchronize());
  p.get(got);
  EXPECT(got[1] == 0 && got[3] == 2 * got[2]);

  size_t heap = 0, left = 0, total = 0, after = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  EXPECT(heap >= 16 << 20);
  CHECK(cudaMemGetInfo(&left, &total));
  void *big;
  CHECK(cudaMalloc(&big, 8 << 20));
  CHECK(cudaMemGetInfo(&after, &total));
  EXPECT(after + (8 << 20) <= left && left <= total);
  cudaPointerAttributes where;
  CHECK(cudaPointerGetAttributes(&where, big));
  EXPECT(where.type == cudaMemoryTypeDevice && where.device == 0 && where.devicePointer == big);
  CHECK(cudaFree(big));
  EXPECT(cudaFree((char *)p.p + 4) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(got, p.p, sizeof got + (1 << 20), cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") && !strcmp(cudaGetErrorString(cudaSuccess), "no error"));
  int least, greatest;
  cudaStream_t s;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
  CHECK(cudaStreamGetPriority(s, &value));
  EXPECT(value == greatest);
  CHECK(cudaStreamDestroy(s));
  CHECK(cudaDeviceReset());
  printf("%zu\npassed\n", sizeof prop.name);
}

// Memory in the order of streams: cudaMallocAsync, cudaFreeAsync, a pool of the program's own and its threshold.
#include "check.h"
#include <vector>

__global__ void fill(int *p, int n, int v) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = v + i;
}
__global__ void sum(const int *p, int n, unsigned long long *out) {
  unsigned long long s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += p[i];
  atomicAdd(out, s);
}

int main() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  EXPECT(supported);
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  cudaMemPool_t pool, own;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = ~0ull, back = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &back));
  EXPECT(back == threshold);
  unsigned long long *total, host = 0, want = 0;
  CHECK(cudaMallocAsync((void **)&total, sizeof *total, s));
  CHECK(cudaMemsetAsync(total, 0, sizeof *total, s));
  for (int k = 0; k < 10; k++) {
    int n = 100 * (k + 1), *p;
    CHECK(cudaMallocAsync((void **)&p, n * sizeof(int), s));
    fill<<<1, 128, 0, s>>>(p, n, k);
    sum<<<1, 64, 0, s>>>(p, n, total);
    CHECK(cudaFreeAsync(p, s));
    for (int i = 0; i < n; i++) want += k + i;
  }
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemPoolCreate(&own, &props));
  int *p;
  CHECK(cudaMallocFromPoolAsync((void **)&p, 4000, own, s));
  fill<<<1, 128, 0, s>>>(p, 1000, 5);
  sum<<<1, 64, 0, s>>>(p, 1000, total);
  for (int i = 0; i < 1000; i++) want += 5 + i;
  CHECK(cudaFreeAsync(p, s));
  CHECK(cudaMemcpyAsync(&host, total, sizeof host, cudaMemcpyDeviceToHost, s));
  CHECK(cudaFreeAsync(total, s));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolDestroy(own));
  CHECK(cudaStreamDestroy(s));
  EXPECT(host == want);
  printf("%llu\npassed\n", host);
}

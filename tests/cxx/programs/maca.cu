// no nvcc: The runtime under the MACA guide's names: memory, symbols, streams, events, attributes, bfloat16.
#include <maca_bfloat16.h>
#include <mc_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call_) \
  do { \
    mcError_t e_ = (call_); \
    if (e_ != mcSuccess) printf("%s: %s\n", #call_, mcGetErrorString(e_)), exit(1); \
  } while (0)

__constant__ float factor;
__global__ void scale(maca_bfloat16 *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef __MACA_ARCH__
  if (i < n) p[i] = __hmul(p[i], __float2bfloat16(factor));
#endif
}

int main() {
  const int n = 300;
  maca_bfloat16 *h, *d;
  CHECK(mcMallocHost(&h, n * sizeof *h));
  CHECK(mcMalloc(&d, n * sizeof *d));
  for (int i = 0; i < n; i++) h[i] = __float2bfloat16(i % 50);
  float f = 2.5f;
  CHECK(mcMemcpyToSymbol(factor, &f, sizeof f));
  mcStream_t s;
  mcEvent_t a, b;
  CHECK(mcStreamCreate(&s));
  CHECK(mcEventCreate(&a));
  CHECK(mcEventCreate(&b));
  CHECK(mcEventRecord(a, s));
  CHECK(mcMemcpyAsync(d, h, n * sizeof *h, mcMemcpyHostToDevice, s));
  scale<<<(n + 63) / 64, 64, 0, s>>>(d, n);
  CHECK(mcMemcpyAsync(h, d, n * sizeof *h, mcMemcpyDeviceToHost, s));
  CHECK(mcEventRecord(b, s));
  CHECK(mcStreamSynchronize(s));
  float ms = -1;
  CHECK(mcEventElapsedTime(&ms, a, b));
  int lanes = 0;
  mcDeviceProp p;
  CHECK(mcDeviceGetAttribute(&lanes, mcDevAttrWarpSize, 0));
  CHECK(mcGetDeviceProperties(&p, 0));
  if (ms < 0 || lanes != p.warpSize || __bfloat162float(h[49]) != 122.5f || __bfloat162float(h[2]) != 5.0f) return puts("wrong"), 1;
  CHECK(mcFreeHost(h));
  CHECK(mcFree(d));
  CHECK(mcStreamDestroy(s));
  printf("%s\npassed\n", mcGetErrorName(mcErrorInvalidValue));
}

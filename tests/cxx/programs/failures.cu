// What fails, and how it is told: wrong launches, wrong arguments, a kernel that goes wrong, an assertion, and the device after a reset.
#include "check.h"
#include <cassert>

__global__ void nothing() {}
__global__ void beyond(int *p) { p[1 << 20] = 1; }
__global__ void fails(int n) { assert(n == 1); }
__global__ void stops() { __trap(); }
__global__ void crooked(char *p) { *(int *)(p + 1) = 1; }

static void show(const char *what, cudaError_t e) { printf("%s: %s\n", what, cudaGetErrorName(e)); }

int main() {
  nothing<<<1, 2000>>>();
  show("2000 threads", cudaGetLastError());
  nothing<<<dim3(0), 32>>>();
  show("no blocks", cudaGetLastError());
  show("again", cudaGetLastError());
  int *p = nullptr, x = 0;
  show("host pointer", cudaMemcpy(&x, &x, 4, cudaMemcpyDeviceToDevice));
  show("null", cudaMemset(nullptr, 0, 4));
  show("free twice", (cudaMalloc(&p, 4), cudaFree(p), cudaFree(p)));
  show("no device", cudaSetDevice(99));
  show("no stream", cudaEventRecord(nullptr));
  show("peeked", cudaPeekAtLastError());
  cudaGetLastError();
  CHECK(cudaMalloc(&p, 4));
  beyond<<<1, 1>>>(p);
  show("beyond", cudaDeviceSynchronize());
  show("then", cudaMemcpy(&x, p, 4, cudaMemcpyDeviceToHost));
  CHECK(cudaDeviceReset());
  fails<<<1, 1>>>(1);
  CHECK(cudaDeviceSynchronize());
  fails<<<1, 1>>>(2);
  show("assertion", cudaDeviceSynchronize());
  CHECK(cudaDeviceReset());
  CHECK(cudaMalloc(&p, 16));
  crooked<<<1, 1>>>((char *)p);
  show("misaligned", cudaDeviceSynchronize());
  CHECK(cudaDeviceReset());
  stops<<<1, 1>>>();
  show("trap", cudaDeviceSynchronize());
  CHECK(cudaDeviceReset());
  nothing<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  printf("%s\npassed\n", cudaGetErrorString(cudaErrorIllegalAddress));
}

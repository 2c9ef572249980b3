// Two devices: each has its variables and its part of the work; copies between them, peer access, managed memory that both see.
#include "check.h"
#include <vector>

__device__ int mark;
__global__ void put(int *p, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i * by + mark;
}
__global__ void gather(const int *a, const int *b, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

int main() {
  setenv("MX_DEVICES", "2", 1);
  const int n = 500;
  int count = 0, can = 0, *p[2], *copy, *both;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count == 2);
  CHECK(cudaMallocManaged(&both, n * sizeof(int)));
  for (int d = 0; d < 2; d++) {
    CHECK(cudaSetDevice(d));
    int m = 1000 * (d + 1);
    CHECK(cudaMemcpyToSymbol(mark, &m, sizeof m));
    CHECK(cudaMalloc(&p[d], n * sizeof(int)));
    put<<<4, 128>>>(p[d], n, d + 1);
    CHECK(cudaDeviceSynchronize());
  }
  EXPECT(p[0] != p[1]);
  CHECK(cudaMalloc(&copy, n * sizeof(int)));
  CHECK(cudaMemcpyPeer(copy, 1, p[0], 0, n * sizeof(int)));
  gather<<<4, 128>>>(copy, p[1], both, n);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) EXPECT(both[i] == 3 * i + 3000);
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT(can == 1);
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
  cudaGetLastError();
  gather<<<4, 128>>>(p[0], p[1], both, n);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) EXPECT(both[i] == 3 * i + 3000);
  cudaPointerAttributes a;
  CHECK(cudaPointerGetAttributes(&a, p[1]));
  EXPECT(a.device == 1 && a.type == cudaMemoryTypeDevice);
  for (int d = 0; d < 2; d++) CHECK(cudaFree(p[d]));
  CHECK(cudaFree(copy));
  CHECK(cudaFree(both));
  printf("%d devices\npassed\n", count);
}

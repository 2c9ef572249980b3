// printf from kernels: what comes out when, formats; assertions that hold.
#include "check.h"
#include <cassert>

__global__ void hello(int n, double x, const char *word, int k) {
  assert(n == 7);
  if (threadIdx.x == 0) printf("launch %d of %d: %s %5.2f %#x %c%%\n", k, gridDim.x * 3, word, x, n, 'a' + k);
}
__global__ void wide(long long a, unsigned long long b, float f) { printf("%lld %llu %g %e\n", a, b, f, (double)f * 2); }

int main() {
  char *word;
  CHECK(cudaMalloc(&word, 8));
  CHECK(cudaMemcpy(word, "device", 7, cudaMemcpyHostToDevice));
  for (int k = 0; k < 3; k++) hello<<<1, 64>>>(7, 2.5, word, k);
  printf("first what the host prints\n");
  CHECK(cudaDeviceSynchronize());
  wide<<<1, 1>>>(-5000000000ll, 18446744073709551615ull, 0.1f);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(word));
  puts("passed");
}

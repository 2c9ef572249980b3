// Variables: constant tables, device counters, static arrays, structs; addresses and sizes of symbols; copies in both directions.
#include "check.h"
#include <cmath>

struct Filter { float weight[5]; int radius; };
__constant__ Filter filter;
__constant__ int powers[4] = {1, 10, 100, 1000};
__device__ int calls;
__device__ double table[16];
static __device__ short names[3] = {7, 8, 9};
__device__ int *where;

__global__ void smooth(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) atomicAdd(&calls, 1);
  if (i >= n) return;
  float sum = 0;
  for (int k = -filter.radius; k <= filter.radius; k++) sum += filter.weight[k + filter.radius] * in[min(max(i + k, 0), n - 1)];
  out[i] = sum;
}
__global__ void fill() {
  if (threadIdx.x < 16) table[threadIdx.x] = threadIdx.x * powers[threadIdx.x % 4] + names[threadIdx.x % 3];
}
__global__ void through() { where[threadIdx.x] += powers[1]; }

int main() {
  const int n = 200;
  float in[n], out[n];
  for (int i = 0; i < n; i++) in[i] = (float)(i % 10);
  Filter f = {{0.1f, 0.2f, 0.4f, 0.2f, 0.1f}, 2};
  CHECK(cudaMemcpyToSymbol(filter, &f, sizeof f));
  Buffer<float> a(n), b(n);
  a.put(in);
  for (int k = 0; k < 3; k++) smooth<<<2, 128>>>(a.p, b.p, n);
  b.get(out);
  for (int i = 2; i < n - 2; i++) EXPECT(std::fabs(out[i] - (0.1f * in[i - 2] + 0.2f * in[i - 1] + 0.4f * in[i] + 0.2f * in[i + 1] + 0.1f * in[i + 2])) < 1e-5f);
  int times = 0, zero = 0, *p;
  CHECK(cudaMemcpyFromSymbol(&times, calls, sizeof times));
  EXPECT(times == 3);
  CHECK(cudaMemcpyToSymbol(calls, &zero, sizeof zero));
  size_t size;
  CHECK(cudaGetSymbolSize(&size, table));
  EXPECT(size == sizeof table);
  fill<<<1, 32>>>();
  double t[16], one;
  CHECK(cudaMemcpyFromSymbol(t, table, sizeof t));
  CHECK(cudaMemcpyFromSymbol(&one, table, sizeof one, 5 * sizeof one));
  EXPECT(t[5] == 5 * 10 + 9 && one == t[5] && t[15] == 15000 + 7);
  CHECK(cudaMalloc(&p, 32 * sizeof(int)));
  CHECK(cudaMemset(p, 0, 32 * sizeof(int)));
  CHECK(cudaMemcpyToSymbol(where, &p, sizeof p));
  through<<<1, 32>>>();
  int ten[32];
  CHECK(cudaMemcpy(ten, p, sizeof ten, cudaMemcpyDeviceToHost));
  EXPECT(ten[31] == 10);
  void *address;
  CHECK(cudaGetSymbolAddress(&address, calls));
  CHECK(cudaMemset(address, 1, sizeof(int)));
  CHECK(cudaMemcpyFromSymbol(&times, calls, sizeof times));
  EXPECT(times == 0x01010101);
  EXPECT(cudaMemcpyFromSymbol(t, table, sizeof t, 8) == cudaErrorInvalidValue);
  CHECK(cudaFree(p));
  printf("%.3f %g\npassed\n", out[50], t[15]);
}

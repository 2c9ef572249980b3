// Products of matrices in tiles, for float and double, sizes that are no multiples of a tile; events around it.
#include "check.h"
#include <cmath>
#include <vector>

template <class T, int TILE> __global__ void __launch_bounds__(TILE *TILE) multiply(const T *a, const T *b, T *c, int m, int n, int k) {
  __shared__ T as[TILE][TILE], bs[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int t = 0; t < k; t += TILE) {
    as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : T(0);
    bs[threadIdx.y][threadIdx.x] = col < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + col] : T(0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

template <class T> double run(int m, int n, int k) {
  constexpr int TILE = 16;
  std::vector<T> a(m * k), b(k * n), c(m * n);
  for (int i = 0; i < m * k; i++) a[i] = T(i % 13 - 6);
  for (int i = 0; i < k * n; i++) b[i] = T(i % 7 - 3);
  Buffer<T> da(a.size()), db(b.size()), dc(c.size());
  da.put(a.data());
  db.put(b.data());
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  multiply<T, TILE><<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE)>>>(da.p, db.p, dc.p, m, n, k);
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(ms >= 0);
  dc.get(c.data());
  double trace = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      T sum = 0;
      for (int x = 0; x < k; x++) sum += a[i * k + x] * b[x * n + j];
      EXPECT(std::fabs(sum - c[i * n + j]) < T(1e-3)); // whole numbers
      if (i == j) trace += c[i * n + j];
    }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return trace;
}

int main() {
  printf("float %.0f\n", run<float>(70, 45, 33));
  printf("double %.0f\npassed\n", run<double>(32, 64, 17));
}

// lanes: 32
// Matrix fragments: products of f16, of bytes, of bf16 and of doubles in tiles, compared with plain loops.
#include "check.h"
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

using namespace nvcuda;

template <class T, class Sum, int M, int N, int K, class LayoutB>
__global__ void product(const T *a, const T *b, Sum *c, int m, int n, int k) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
  const bool columns = std::is_same<LayoutB, wmma::col_major>::value;
  int row = blockIdx.y * M, column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * N;
  wmma::fill_fragment(fc, (Sum)0);
  for (int i = 0; i < k; i += K) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    if (columns) wmma::load_matrix_sync(fb, b + column * k + i, k);
    else wmma::load_matrix_sync(fb, b + i * n + column, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
  wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

template <class T, class Sum, int M, int N, int K, class LayoutB, class Make> static double check(int m, int n, int k, Make make) {
  std::vector<T> a(m * k), b(n * k);
  std::vector<Sum> c(m * n);
  std::vector<int> ia(m * k), ib(n * k);
  unsigned state = M * 7 + K;
  for (int i = 0; i < m * k; i++) a[i] = make(ia[i] = (int)(random_of(state) % 9));
  for (int i = 0; i < n * k; i++) b[i] = make(ib[i] = (int)(random_of(state) % 7));
  Buffer<T> da(a.size()), db(b.size());
  Buffer<Sum> dc(c.size());
  da.put(a.data()), db.put(b.data());
  product<T, Sum, M, N, K, LayoutB><<<dim3(n / N / 2, m / M), 64>>>(da.p, db.p, dc.p, m, n, k);
  CHECK(cudaDeviceSynchronize());
  dc.get(c.data());
  double sum = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int want = 0;
      for (int x = 0; x < k; x++) want += ia[i * k + x] * (std::is_same<LayoutB, wmma::col_major>::value ? ib[j * k + x] : ib[x * n + j]);
      EXPECT((double)c[i * n + j] == 2.0 * want);
      sum += (double)c[i * n + j];
    }
  return sum;
}

int main() {
  auto half_of = [](int v) { return __float2half((float)v); };
  auto bf16_of = [](int v) { return __float2bfloat16((float)v); };
  double s1 = check<half, float, 16, 16, 16, wmma::col_major>(32, 64, 48, half_of);
  double s2 = check<half, float, 32, 8, 16, wmma::row_major>(64, 32, 32, half_of);
  double s3 = check<unsigned char, int, 16, 16, 16, wmma::col_major>(16, 32, 32, [](int v) { return (unsigned char)v; });
  double s4 = check<signed char, int, 8, 32, 16, wmma::row_major>(16, 64, 16, [](int v) { return (signed char)v; });
  double s5 = check<__nv_bfloat16, float, 16, 16, 16, wmma::row_major>(16, 32, 32, bf16_of);
  double s6 = check<double, double, 8, 8, 4, wmma::col_major>(16, 32, 8, [](int v) { return (double)v; });
  printf("%.0f %.0f %.0f %.0f %.0f %.0f\npassed\n", s1, s2, s3, s4, s5, s6);
}

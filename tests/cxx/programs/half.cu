// half and half2: a polynomial and dot products in 16 bits, operators and functions, against float with rounding after each step.
#include "check.h"
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

__global__ void polynomial(const __half2 *x, __half2 *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 a = __float2half2_rn(0.5f), b = __floats2half2_rn(-1.25f, 2.0f), v = x[i];
  y[i] = __hfma2(__hfma2(a, v, b), v, __half2half2(__float2half(0.125f)));
}

__global__ void dot(const __half *x, const __half *y, int n, float *sum, __half *largest) {
  float s = 0;
  __half most = __float2half(-65504.0f);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    s += __half2float(x[i] * y[i]);
    if (x[i] > most) most = x[i];
  }
  for (int d = 16; d; d /= 2) { // one warp of 32, or half of one
    s += __shfl_xor_sync(0xFFFFFFFF, s, d, 32);
    most = __hmax(most, __shfl_xor_sync(0xFFFFFFFF, most, d, 32));
  }
  if (threadIdx.x == 0) *sum = s, *largest = most;
}

__global__ void brain(const float *x, __nv_bfloat16 *y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(x[i]) * __float2bfloat16(3.0f);
}

// doubles and integers next to the middle of two numbers of 16 bits, which rounding to float first would make that middle
template <class T> __global__ void wide(const double *x, T *y, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  y[4 * i] = T(x[i]), y[4 * i + 1] = T((long long)x[i]), y[4 * i + 2] = T((unsigned long long)fabs(x[i])), y[4 * i + 3] = T((int)x[i]);
}
template <class T, class Raw> static void check_wide() {
  std::vector<double> x = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 1 + 0x1p-11 - 0x1p-40, 1 + 0x1p-8 + 0x1p-40, -1 - 0x1p-8 - 0x1p-40, 65519.99999999, 65520, 65519,
                           0x1p-25 + 0x1p-70, 0x1p-25, -0x1p-25 - 0x1p-70, 0x1p-200, -0x1p-200, 1e300, -1e300, 0x1p24 + 0x1p16 + 1, -0x1p24 - 0x1p16 - 1,
                           0x1p24 + 0x1p16, 0x1p62 + 0x1p54 + 0x1p10, -0x1p62 - 0x1p54 - 0x1p10, 0x1p53 + 0x1p45 + 2, 0x1p31 - 1, 3.4e38, 0x1.fefffffffffp127, INFINITY, 0, -0.0};
  const int n = (int)x.size();
  Buffer<double> dx(n);
  Buffer<T> dy(4 * n);
  std::vector<T> y(4 * n);
  dx.put(x.data());
  wide<T><<<1, 32>>>(dx.p, dy.p, n);
  CHECK(cudaGetLastError());
  dy.get(y.data());
  for (int i = 0; i < n; i++) {
    EXPECT(Raw(y[4 * i]).x == Raw(T(x[i])).x);
    if (fabs(x[i]) > 0x1p63) continue; // no number of 64 bits
    EXPECT(Raw(y[4 * i + 1]).x == Raw(T((long long)x[i])).x);
    EXPECT(Raw(y[4 * i + 2]).x == Raw(T((unsigned long long)fabs(x[i]))).x);
    if (fabs(x[i]) < 0x1p31) EXPECT(Raw(y[4 * i + 3]).x == Raw(T((int)x[i])).x);
  }
}

int main() {
  check_wide<__half, __half_raw>();
  check_wide<__nv_bfloat16, __nv_bfloat16_raw>();
  EXPECT(__half_raw(__half(1 + 0x1p-11 + 0x1p-40)).x == 0x3C01);
  EXPECT(__nv_bfloat16_raw(__nv_bfloat16((1ll << 24) + (1 << 16) + 1)).x == 0x4B81);
  const int n = 512;
  std::vector<__half2> x(n), y(n);
  for (int i = 0; i < n; i++) x[i] = __floats2half2_rn((i - 256) / 64.0f, i / 128.0f);
  Buffer<__half2> dx(n), dy(n);
  dx.put(x.data());
  polynomial<<<n / 128, 128>>>(dx.p, dy.p, n);
  CHECK(cudaGetLastError());
  dy.get(y.data());
  double sum = 0;
  for (int i = 0; i < n; i++) {
    float v = __low2float(x[i]), step = __half2float(__float2half(0.5f * v - 1.25f)), expected = __half2float(__float2half(step * v + 0.125f));
    EXPECT(__low2float(y[i]) == expected);
    v = __high2float(x[i]), step = __half2float(__float2half(0.5f * v + 2.0f)), expected = __half2float(__float2half(step * v + 0.125f));
    EXPECT(__high2float(y[i]) == expected);
    sum += expected;
  }
  Buffer<float> s(1);
  Buffer<__half> most(1);
  dot<<<1, 32>>>((const __half *)dx.p, (const __half *)dy.p, 2 * n, s.p, most.p);
  float total;
  __half largest;
  s.get(&total);
  most.get(&largest);
  EXPECT(__half2float(largest) == 3.990234375f || __half2float(largest) == 3.9921875f);
  std::vector<float> f(64);
  std::vector<__nv_bfloat16> b(64);
  for (int i = 0; i < 64; i++) f[i] = 1.0f + i / 7.0f;
  Buffer<float> df(64);
  Buffer<__nv_bfloat16> db(64);
  df.put(f.data());
  brain<<<1, 64>>>(df.p, db.p, 64);
  db.get(b.data());
  for (int i = 0; i < 64; i++) EXPECT(fabs(__bfloat162float(b[i]) / (3 * f[i]) - 1) < 1.0 / 128);
  printf("%.3f %.1f %g\npassed\n", sum, total, __bfloat162float(b[9]));
}

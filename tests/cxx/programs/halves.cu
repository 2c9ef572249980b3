// Half precision in whole kernels: a product of matrices in half2, softmax, layer norm, an activation in bf16, a dot
// product with atomics of half2, and conversions of everything.
#include "check.h"
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

__global__ void product(const half2 *a, const half2 *b, half *c, int n) { // b is transposed
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  half2 s = __float2half2_rn(0);
  for (int k = 0; k < n / 2; k++) s = __hfma2(a[y * n / 2 + k], b[x * n / 2 + k], s);
  c[y * n + x] = __hadd(__low2half(s), __high2half(s));
}

// what templates over number types write, and a conversion to the small integers
template <class T> __global__ void steps(float *out, T x) {
  T y = x++, z = x--;
  out[0] = (float)y + 8 * (float)z + 64 * (float)x + 512 * (float)++x + (float)(char)y + (float)(unsigned char)y + (float)(long)y;
}

template <class T> __device__ T block_sum(T v) {
  __shared__ T s[128];
  s[threadIdx.x] = v;
  for (int d = blockDim.x / 2; d; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
  }
  __syncthreads();
  T r = s[0];
  __syncthreads();
  return r;
}
__global__ void softmax(const half *in, half *out, int n) {
  float v = __half2float(in[blockIdx.x * n + threadIdx.x]), e = expf(v), sum = block_sum(e);
  out[blockIdx.x * n + threadIdx.x] = __float2half_rn(e / sum);
}
__global__ void norm(const __nv_bfloat16 *in, __nv_bfloat16 *out, int n, float eps) {
  float v = __bfloat162float(in[blockIdx.x * n + threadIdx.x]), mean = block_sum(v) / n, d = v - mean, var = block_sum(d * d) / n;
  out[blockIdx.x * n + threadIdx.x] = __float2bfloat16(d * rsqrtf(var + eps));
}
__global__ void gelu(const half2 *in, half2 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 v = __half22float2(in[i]);
  v.x *= normcdff(v.x), v.y *= normcdff(v.y);
  half2 r = __floats2half2_rn(v.x, v.y);
  out[i] = __hmax2(r, __hneg2(__float2half2_rn(0.125f)));
}
__global__ void dot(const half2 *a, int n, half2 *sum, float *exact) {
  half2 s = __floats2half2_rn(0, 0);
  float f = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    s = s + a[i] * __halves2half2(__ushort_as_half(0x3C00), __int2half_rn(2));
    f += __low2float(a[i]) + 2 * __high2float(a[i]);
  }
  atomicAdd(sum, s);
  atomicAdd(exact, f);
}
__global__ void convert(float *out) {
  half h = __float2half(2.75f);
  out[0] = __half2int_rn(h), out[1] = __half2int_rz(h), out[2] = __half2int_ru(h), out[3] = (float)__half_as_ushort(h);
  out[4] = __half2float(hsqrt(__float2half(16))), out[5] = __hgt(h, __float2half(2)), out[6] = __hisnan(__ushort_as_half(0x7e00));
  out[7] = (float)(h * h), out[8] = __bfloat162float(__hadd(__float2bfloat16(1.5f), __float2bfloat16(2))), out[9] = __half2float(hexp2(__float2half(3)));
}

int main() {
  const int n = 64;
  std::vector<half> a(n * n), b(n * n), c(n * n);
  std::vector<float> fa(n * n), fb(n * n);
  for (int i = 0; i < n * n; i++) a[i] = __float2half(fa[i] = (float)(i % 5) - 2), b[i] = __float2half(fb[i] = (float)(i % 7) / 4);
  Buffer<half> da(n * n), db(n * n), dc(n * n);
  da.put(a.data()), db.put(b.data());
  product<<<dim3(1, n), n>>>((half2 *)da.p, (half2 *)db.p, dc.p, n);
  dc.get(c.data());
  for (int i = 0; i < n * n; i += 11) {
    float s = 0;
    for (int k = 0; k < n; k++) s += fa[i / n * n + k] * fb[i % n * n + k];
    EXPECT(__half2float(c[i]) == s);
  }
  softmax<<<n, n>>>(da.p, dc.p, n);
  dc.get(c.data());
  for (int y = 0; y < n; y++) {
    double s = 0;
    for (int x = 0; x < n; x++) s += __half2float(c[y * n + x]);
    EXPECT(fabs(s - 1) < 5e-3);
  }
  gelu<<<8, 256>>>((half2 *)da.p, (half2 *)dc.p, n * n / 2);
  dc.get(c.data());
  for (int i = 0; i < n * n; i += 7) EXPECT(fabs(__half2float(c[i]) - fmax(fa[i] * 0.5 * erfc(-fa[i] * M_SQRT1_2), -0.125)) < 2e-3);
  std::vector<__nv_bfloat16> v(n * n);
  for (int i = 0; i < n * n; i++) v[i] = __float2bfloat16(fb[i] * 3 + (float)(i / n));
  Buffer<__nv_bfloat16> dv(n * n), dw(n * n);
  dv.put(v.data());
  norm<<<n, n>>>(dv.p, dw.p, n, 1e-5f);
  dw.get(v.data());
  for (int y = 0; y < n; y++) {
    double s = 0, q = 0;
    for (int x = 0; x < n; x++) s += __bfloat162float(v[y * n + x]), q += pow(__bfloat162float(v[y * n + x]), 2);
    EXPECT(fabs(s) < 0.3 && fabs(q / n - 1) < 0.02);
  }
  Buffer<half2> sum(1);
  Buffer<float> exact(16);
  CHECK(cudaMemset(sum.p, 0, sizeof(half2)));
  CHECK(cudaMemset(exact.p, 0, 16 * sizeof(float)));
  dot<<<1, 64>>>((half2 *)da.p, 100, sum.p, exact.p);
  half2 s;
  float e[16];
  sum.get(&s), exact.get(e);
  EXPECT(__low2float(s) + __high2float(s) == e[0]);
  convert<<<1, 1>>>(exact.p);
  exact.get(e);
  const float want[] = {3, 2, 3, 0x4180, 4, 1, 1, 7.5625f, 3.5f, 8};
  for (int i = 0; i < 10; i++) EXPECT(e[i] == want[i]);
  steps<<<1, 1>>>(exact.p, half(2.0f));
  exact.get(e);
  EXPECT(e[0] == 2 + 24 + 128 + 1536 + 6);
  steps<<<1, 1>>>(exact.p, __nv_bfloat16(2.0f));
  exact.get(e);
  EXPECT(e[0] == 2 + 24 + 128 + 1536 + 6);
  printf("%g\npassed\n", __low2float(s));
}

// lanes: 32
// Layers of networks in every precision: normalised rows, softmax of pairs of halves, activations; halves on the host.
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T> struct Accumulator { using type = float; };
template <> struct Accumulator<double> { using type = double; };

template <typename T> __device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}

template <typename T> __global__ void centred(const T *__restrict__ x, T *__restrict__ y, int n) {
  using A = typename Accumulator<T>::type;
  __shared__ A parts[32];
  A sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += static_cast<A>(x[blockIdx.x * n + i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : A(0));
    if (!threadIdx.x) parts[0] = sum;
  }
  __syncthreads();
  const A mean = parts[0] / n;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[blockIdx.x * n + i] = static_cast<T>(static_cast<A>(x[blockIdx.x * n + i]) - mean);
}

template <typename T> static void show(const char *name) {
  const int n = 100;
  T *x, *y;
  CHECK(cudaMallocManaged(&x, 4 * n * sizeof(T)));
  CHECK(cudaMallocManaged(&y, 4 * n * sizeof(T)));
  for (int i = 0; i < 4 * n; i++) x[i] = T(float(i % 17));
  centred<T><<<4, 128>>>(x, y, n);
  CHECK(cudaDeviceSynchronize());
  printf("%s", name);
  for (int i = 0; i < 4 * n; i += 77) printf(" %g", (double)(float)y[i]);
  printf("\n");
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
}

__global__ void softmax(half2 *p, int n) {
  const int i = threadIdx.x;
  half2 most = p[0], sum = __float2half2_rn(0.f);
  for (int k = 1; k < n; k++) most = __hmax2(most, p[k]);
  for (int k = 0; k < n; k++) sum = __hadd2(sum, h2exp(__hsub2(p[k], most)));
  __syncthreads();
  if (i < n) p[i] = __h2div(h2exp(__hsub2(p[i], most)), make_half2(sum.x, sum.y));
}

__global__ void activate(__nv_bfloat16 *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = __bfloat162float(x[i]);
  x[i] = __float2bfloat16(0.5f * v * (1.f + tanhf(0.79788456f * (v + 0.044715f * v * v * v))));
}

__global__ void halved(const uint4 *from, uint4 *to) {
  uint4 words = __ldcs(from + threadIdx.x);
  half2 *pairs = reinterpret_cast<half2 *>(&words);
  for (int k = 0; k < 4; k++) pairs[k] = __hmul2(pairs[k], __half2half2(__float2half(0.5f)));
  __stcs(to + threadIdx.x, words);
}

__global__ void masks(unsigned *out) {
  const half2 a = __floats2half2_rn(threadIdx.x, 3.f), b = __floats2half2_rn(3.f, threadIdx.x);
  out[threadIdx.x] = __heq2_mask(a, b) ^ __hlt2_mask(a, b) << 1 ^ __hgeu2_mask(a, b) << 2;
  const half t = htanh(__float2half(threadIdx.x * 0.25f)), c = __float2half(threadIdx.x * 40.f - 100.f);
  out[threadIdx.x] += (unsigned)(__half2float(t) * 64.f) + (unsigned char)__half2char_rz(c) + __half2uchar_rz(c);
}

static void on_the_host() {
  half h = __float2half(1.5f), nan = __ushort_as_half(0x7FFF), inf = __ushort_as_half(0x7C00);
  h = h + half(2.0f);
  h *= h;
  h = -h;
  EXPECT(h < half(0.f) && __hlt(h, half(0.f)) && !__hlt(nan, h) && __hltu(nan, h) && __hneu(h, h) == 0);
  EXPECT(__half2float(h) == -12.25f && __half2float(__habs(h)) == 12.25f && __half2float(__hneg(h)) == 12.25f);
  EXPECT(__half2int_rz(h) == -12 && __half2uint_rz(h) == 0 && __half2short_rz(inf) == 32767 && __half2int_rz(nan) == 0);
  EXPECT(__half2float(__hmax(nan, h)) == -12.25f && __half2float(__hmin(h, inf)) == -12.25f);
  const half2 p = __floats2half2_rn(1.f, -2.f), q = __lowhigh2highlow(p);
  EXPECT(__low2float(q) == -2.f && __high2float(__hmax2(p, q)) == 1.f && __hbge2(p, p) && !__hbgt2(p, q));
  EXPECT(__low2float(__hgt2(p, q)) == 1.f && __high2float(__hgt2(p, q)) == 0.f && __hgt2_mask(p, q) == 0xFFFF);
  EXPECT(__half2float(__int2half_rn(7)) == 7.f && __half2float(__uint2half_rn(70000u)) == INFINITY);
}

int main() {
  show<float>("float");
  show<double>("double");
  show<__half>("half");
  show<__nv_bfloat16>("bfloat16");
  half2 *p;
  __nv_bfloat16 *b;
  unsigned *m;
  CHECK(cudaMallocManaged(&p, 128 * sizeof *p));
  CHECK(cudaMallocManaged(&b, 64 * sizeof *b));
  CHECK(cudaMallocManaged(&m, 64 * sizeof *m));
  for (int i = 0; i < 64; i++) p[i] = __floats2half2_rn(i * 0.01f, -i * 0.02f), b[i] = __float2bfloat16(i * .1f - 3);
  softmax<<<1, 64>>>(p, 64);
  halved<<<1, 16>>>((uint4 *)p, (uint4 *)(p + 64));
  activate<<<1, 64>>>(b, 64);
  masks<<<1, 64>>>(m);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i += 13)
    printf("%.4f %.4f %.4f %.3f %x\n", __low2float(p[i]), __half2float(p[i].y), __low2float(p[i + 64]),
           __bfloat162float(b[i]), m[i]);
  on_the_host();
  printf("passed\n");
}

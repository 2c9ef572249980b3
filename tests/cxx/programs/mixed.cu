// lanes: 32. Small kernels with what sample programs use of the device's functions: bits, casts, fast mathematics,
// votes, video instructions, clocks, atomics of all kinds, vector loads, unions, bit fields, switch tables, local
// arrays, structures returned, operators, constant structures.
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#include <cuComplex.h>
#include <math_constants.h>
#include <vector_types.h>

#ifndef MIN
#define MIN(x, y) ((x < y) ? x : y)
#endif
#define FULL_MASK 0xffffffff
#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)
template <typename T> void check(T result, char const *const func, const char *const file, int const line) {
  if (result) {
    fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, static_cast<unsigned int>(result),
            cudaGetErrorName(result), func);
    exit(EXIT_FAILURE);
  }
}
inline __device__ float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
inline __host__ __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline __host__ __device__ float3 operator*(float s, const float3 &v) { return make_float3(s * v.x, s * v.y, s * v.z); }

enum class Op : uint8_t { Add, Sub, Mul, Div, Mod, Last };
struct __align__(8) Particle {
  float x, y;
  uint32_t id : 24;
  uint32_t kind : 8;
};
union Bits {
  float f;
  uint32_t u;
  struct {
    uint32_t mantissa : 23, exponent : 8, sign : 1;
  };
};
struct Config {
  int n;
  float scale[4];
  Op ops[8];
};
__constant__ Config config;
__device__ __managed__ unsigned long long ticks;
__device__ float table[64];
static __device__ const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};

__device__ int apply(Op op, int a, int b) {
  switch (op) {
  case Op::Add: return a + b;
  case Op::Sub: return a - b;
  case Op::Mul: return a * b;
  case Op::Div: return b ? a / b : 0;
  case Op::Mod: return b ? a % b : 0;
  default: assert(0 && "no such operation"); return 0;
  }
}
__global__ void interpret(const int2 *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= config.n) return;
  out[i] = apply(config.ops[i % 5], in[i].x, in[i].y);
}
__global__ void bits(unsigned *p, unsigned long long *q) {
  unsigned i = threadIdx.x;
  p[i] = __popc(i) + 100 * __clz(i) + 10000 * __ffs(i);
  p[i] += __brev(i) >> 26;
  p[i] ^= __byte_perm(i, 0x12345678, 0x5410) + __umulhi(i << 28, 77) + __mul24(i, 3) + __sad(i, 5, 1) + __rhadd(i, 3) +
          __funnelshift_l(i, i, 3);
  q[i] = __brevll(i) + __popcll(~0ull >> i) + __clzll(i + 1) + (unsigned long long)__double_as_longlong((double)i) +
         __umul64hi(0x123456789abcdefull, i);
}
__global__ void numbers(float *p, double *d) {
  const float x = 0.1f * (threadIdx.x + 1);
  float s, c;
  sincosf(x, &s, &c);
  p[threadIdx.x] = s * s + c * c + __fdividef(x, 2.0f) + rsqrtf(x * x) * x + __powf(x, 2.0f) / (x * x) + fmaf(x, 0, 1) +
                   __saturatef(x - 100) + copysignf(1, -x) + rintf(0.4f) + exp2f(log2f(x)) / x;
  Bits b;
  b.f = x;
  p[threadIdx.x] += b.sign + (b.exponent > 100) + (__float_as_uint(x) == b.u) + __uint_as_float(b.u) / x +
                    isnan(CUDART_NAN_F) + (x < FLT_MAX);
  d[threadIdx.x] = fma((double)x, 1.0, 0.0) + erf(0.0) + cbrt(27.0) + hypot(3.0, 4.0) + norm3d(1.0, 2.0, 2.0) +
                   sinpi(0.5) + tgamma(5.0) + lgamma(1.0) + fmod(7.5, 2.0) + __dsqrt_rn(16.0) + trunc(CUDART_PI);
  int e;
  d[threadIdx.x] += frexp(8.0, &e) + e + ldexp(1.0, 3) + nextafter(1.0, 2.0) - (double)x + max(1, 2) + min(3u, 2u) +
                    max(1.5, 2.5) + abs(-3) + fabs(-1.0) + llabs(-4LL);
}
__global__ void vectors(const float4 *in, float4 *out, Particle *parts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = in[i];
  reinterpret_cast<float2 *>(out)[2 * i] = make_float2(v.y, v.x);
  reinterpret_cast<float2 *>(out)[2 * i + 1] = make_float2(v.w, v.z);
  Particle q = {v.x, v.y, (uint32_t)i, (uint32_t)(i & 255)};
  q.id += 5;
  parts[i] = q;
  uchar4 b = make_uchar4(i, i + 1, i + 2, i + 3);
  table[i % 64] = dot(2.0f * make_float3(b.x, b.y, b.z), make_float3(1, 1, 1));
}
__global__ void atomics(int *p, unsigned *u, float *f, unsigned long long *l) {
  const int i = threadIdx.x;
  atomicAdd(p, 1);
  atomicSub(p + 1, 2);
  atomicMax(p + 2, i);
  atomicMin(p + 3, -i);
  atomicOr(p + 4, 1 << (i % 31));
  atomicAnd(p + 5, ~(1 << (i % 31)));
  atomicXor(p + 6, i);
  atomicInc(u, 9);
  atomicDec(u + 1, 6);
  atomicExch(f, 1.5f);
  atomicAdd(f + 1, 0.5f);
  atomicAdd(l, 1ull << 33);
  int old = p[7], assumed;
  do {
    assumed = old;
    old = atomicCAS(p + 7, assumed, assumed + primes[i % 8]);
  } while (assumed != old);
  atomicAdd_block(p + 8, 1);
  atomicAdd_system(p + 9, 1);
  const long long start = clock64();
  if (clock64() >= start) atomicAdd(&ticks, 1ull);
  unsigned votes = __ballot_sync(FULL_MASK, i & 1);
  if (i % 32 == 0) atomicAdd(p + 10, __popc(votes));
}
__global__ void mandel(unsigned char *img, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  cuFloatComplex z = make_cuFloatComplex(0, 0), c = make_cuFloatComplex(3.0f * x / w - 2, 2.0f * y / h - 1);
  int k = 0;
  while (cuCabsf(z) < 2 && ++k < 50) z = cuCaddf(cuCmulf(z, z), c);
  img[y * w + x] = k;
}
__global__ void histogram(const unsigned char *data, int n, unsigned *out) {
  extern __shared__ unsigned bins[];
  for (int b = threadIdx.x; b < 64; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 64; b += blockDim.x)
    if (bins[b]) atomicAdd(out + b, bins[b]);
}
__device__ void sort3(int *a, int n) { // insertion, in memory of the thread
  for (int i = 1; i < n; ++i) {
    int key = a[i], j = i - 1;
    while (j >= 0 && a[j] > key) a[j + 1] = a[j], j--;
    a[j + 1] = key;
  }
}
__global__ void medians(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int window[5];
  for (int k = 0; k < 5; k++) window[k] = in[MIN(i + k, n - 1)];
  sort3(window, 5);
  out[i] = window[2];
}

int main(int argc, char **argv) {
  printf("%s Starting...\n\n", "mixed");
  int devID = 0;
  cudaDeviceProp props;
  checkCudaErrors(cudaSetDevice(devID));
  checkCudaErrors(cudaGetDeviceProperties(&props, devID));
  if (props.major < 3 || props.warpSize != 32 || !props.managedMemory) return 2;
  int bad = 0;
  Config h_config = {64, {1, 2, 3, 4}, {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Mod}};
  checkCudaErrors(cudaMemcpyToSymbol(config, &h_config, sizeof(Config)));
  int2 h_in[64];
  int h_out[64];
  for (int i = 0; i < 64; i++) h_in[i] = make_int2(i * 3 - 40, i % 7);
  int2 *d_in;
  int *d_out;
  checkCudaErrors(cudaMalloc(&d_in, sizeof h_in));
  checkCudaErrors(cudaMalloc(&d_out, sizeof h_out));
  checkCudaErrors(cudaMemcpy(d_in, h_in, sizeof h_in, cudaMemcpyHostToDevice));
  interpret<<<2, 32>>>(d_in, d_out);
  checkCudaErrors(cudaMemcpy(h_out, d_out, sizeof h_out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) {
    int a = h_in[i].x, b = h_in[i].y,
        w = i % 5 == 0   ? a + b
            : i % 5 == 1 ? a - b
            : i % 5 == 2 ? a * b
            : i % 5 == 3 ? (b ? a / b : 0)
                         : (b ? a % b : 0);
    bad += h_out[i] != w;
  }
  printf("interpreter %d\n", bad);
  unsigned *u;
  unsigned long long *q;
  float *f;
  double *d;
  checkCudaErrors(cudaMallocManaged(&u, 64 * sizeof *u));
  checkCudaErrors(cudaMallocManaged(&q, 64 * sizeof *q));
  checkCudaErrors(cudaMallocManaged(&f, 64 * sizeof *f));
  checkCudaErrors(cudaMallocManaged(&d, 64 * sizeof *d));
  bits<<<1, 64>>>(u, q);
  numbers<<<1, 64>>>(f, d);
  checkCudaErrors(cudaDeviceSynchronize());
  unsigned hash = 0;
  unsigned long long qh = 0;
  double fs = 0, ds = 0;
  for (int i = 0; i < 64; i++) hash = hash * 31 + u[i], qh = qh * 31 + q[i], fs += f[i], ds += d[i];
  printf("bits %u %llu, numbers %.3f %.3f\n", hash, qh, fs, ds);
  float4 *v, *w;
  Particle *parts;
  checkCudaErrors(cudaMallocManaged(&v, 64 * sizeof *v));
  checkCudaErrors(cudaMallocManaged(&w, 64 * sizeof *w));
  checkCudaErrors(cudaMallocManaged(&parts, 64 * sizeof *parts));
  for (int i = 0; i < 64; i++) v[i] = make_float4(i, i + 0.25f, i + 0.5f, i + 0.75f);
  vectors<<<1, 64>>>(v, w, parts, 64);
  checkCudaErrors(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++)
    bad += w[i].x != v[i].y || w[i].w != v[i].z || parts[i].id != (unsigned)i + 5 || parts[i].kind != (unsigned)i ||
           sizeof(Particle) != 16;
  float h_table[64];
  checkCudaErrors(cudaMemcpyFromSymbol(h_table, table, sizeof h_table));
  for (int i = 0; i < 64; i++) bad += h_table[i] != 2.0f * (3 * i + 3);
  printf("vectors %d\n", bad);
  int *p;
  checkCudaErrors(cudaMallocManaged(&p, 16 * sizeof(int)));
  memset(p, 0, 16 * sizeof(int));
  p[5] = -1;
  memset(u, 0, 64 * sizeof *u);
  memset(f, 0, 64 * sizeof *f);
  memset(q, 0, 64 * sizeof *q);
  atomics<<<1, 64>>>(p, u, f, q);
  checkCudaErrors(cudaDeviceSynchronize());
  for (int i = 0; i < 11; i++) printf("%d ", p[i]);
  printf("%u %u %g %g %llu %llu\n", u[0], u[1], f[0], f[1], q[0] >> 33, ticks);
  unsigned char *img;
  unsigned *hist;
  checkCudaErrors(cudaMallocManaged(&img, 80 * 60));
  checkCudaErrors(cudaMallocManaged(&hist, 64 * sizeof(unsigned)));
  checkCudaErrors(cudaMemset(hist, 0, 64 * sizeof(unsigned)));
  mandel<<<dim3(5, 8), dim3(16, 8)>>>(img, 80, 60);
  histogram<<<4, 128, 64 * sizeof(unsigned)>>>(img, 80 * 60, hist);
  checkCudaErrors(cudaDeviceSynchronize());
  unsigned sum = 0;
  for (int b = 0; b < 64; b++) sum += hist[b];
  bad += sum != 80 * 60;
  printf("inside %u of %u\n", hist[50], sum);
  medians<<<2, 32>>>((int *)d_in, d_out, 64);
  checkCudaErrors(cudaMemcpy(h_out, d_out, sizeof h_out, cudaMemcpyDeviceToHost));
  int med = 0;
  for (int i = 0; i < 64; i++) med = med * 7 + h_out[i];
  printf("medians %d\n", med);
  printf(bad ? "failed\n" : "passed\n");
  exit(bad ? EXIT_FAILURE : EXIT_SUCCESS);
}

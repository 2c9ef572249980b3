// Features of the language, one function of the host for each: it says the row's name and that the row is so. What
// other programs here show is in the table features.tsv.
#include "check.h"
#include <cassert>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstring>

static int *out;
static void done(const char *row) {
  CHECK(cudaDeviceSynchronize());
  printf("%s: so\n", row);
}

/* ---- functions --------------------------------------------------------------------------------------------------*/
__device__ void by_pointer(int x, int *r) { *r = 2 * x; }
__device__ int by_value(int x) { return x + 1; }
__global__ void calls(int *p) {
  int r;
  by_pointer(threadIdx.x, &r);
  p[threadIdx.x] = by_value(r);
}
__host__ __device__ int sides(int x) {
#ifdef __CUDA_ARCH__
  return x + 1000;
#else
  return x + 1;
#endif
}
__global__ void both(int *p) { *p = sides(1); }
__device__ __noinline__ int called(int x) { return 3 * x; }
__device__ __forceinline__ int in_place(int x) { return 3 * x; }
__global__ void inlining(int *p) { p[threadIdx.x] = called(threadIdx.x) - in_place(threadIdx.x); }
__device__ unsigned long long factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__global__ void recursion(unsigned long long *p) { p[threadIdx.x] = factorial(threadIdx.x); }

static void functions() {
  calls<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[63] == 127);
  done("device function (__device__)");
  both<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*out == 1001 && sides(1) == 2);
  done("host function and __host__ __device__");
  inlining<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) EXPECT(!out[i]);
  done("__noinline__ / __forceinline__");
  recursion<<<1, 20>>>((unsigned long long *)out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(((unsigned long long *)out)[19] == 121645100408832000ull);
  done("recursion and device function calls");
}

/* ---- memory -----------------------------------------------------------------------------------------------------*/
__device__ int global;
__constant__ int constant;
extern __shared__ int first[];
extern __shared__ float second[];
__global__ void spaces(int *p, int k) {
  __shared__ int shared;
  int local[16];
  for (int i = 0; i < 16; i++) local[i] = i * threadIdx.x;
  int bad = local[(k + threadIdx.x) % 16] != (int)((k + threadIdx.x) % 16 * threadIdx.x);
  const void *all[] = {&global, &shared, &constant, &local[k]};
  for (int i = 0; i < 4; i++) {
    bad += (__isGlobal(all[i]) != 0) != (i == 0);
    bad += (__isShared(all[i]) != 0) != (i == 1);
    bad += (__isConstant(all[i]) != 0) != (i == 2);
    bad += (__isLocal(all[i]) != 0) != (i == 3);
  }
  bad += __cvta_shared_to_generic(__cvta_generic_to_shared(&shared)) != &shared;
  bad += __cvta_global_to_generic(__cvta_generic_to_global(&global)) != &global;
  bad += __cvta_local_to_generic(__cvta_generic_to_local(local)) != (void *)local;
  bad += __cvta_constant_to_generic(__cvta_generic_to_constant(&constant)) != (const void *)&constant;
  p[threadIdx.x] = bad;
}
__global__ void own_of_block(int *p) {
  __shared__ int mine;
  if (!threadIdx.x) mine = blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 40) p[blockIdx.x] = mine;
}
__global__ void dynamic(int *p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) first[i] = i;
  __syncthreads();
  if (!threadIdx.x) *p = (void *)first == (void *)second && first[n - 1] == n - 1;
}
__global__ void restricted(int *__restrict__ a, const int *__restrict__ b) { a[threadIdx.x] = b[0] + threadIdx.x; }
__global__ void stack_of_lane(int *p) {
  char *a = (char *)__builtin_alloca(16 + 8 * threadIdx.x);
  memset(a, (int)threadIdx.x, 16 + 8 * threadIdx.x);
  p[threadIdx.x] = (uintptr_t)a % 16 == 0 && a[15 + 8 * threadIdx.x] == (char)threadIdx.x;
}
__global__ void flags(volatile int *flag, int *p) {
  if (blockIdx.x) {
    *p = 77;
    __threadfence();
    *flag = 1;
  } else {
    while (!*flag) {}
    __threadfence();
    p[1] = *p;
  }
}
__global__ void hints(int *p) {
  const int v = __ldg(p) + __ldca(p) + __ldcg(p) + __ldcs(p) + __ldlu(p) + __ldcv(p);
  __stwb(p + 1, v), __stcg(p + 2, v), __stcs(p + 3, v), __stwt(p + 4, v);
}

static void memory() {
  spaces<<<1, 64>>>(out, 5);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) EXPECT(!out[i]);
  done("automatic variables, local memory");
  done("generic pointers and address-space predicates");
  done("address-space conversion");
  own_of_block<<<50, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 50; i++) EXPECT(out[i] == i);
  done("__shared__ variable");
  dynamic<<<1, 64, 4096>>>(out, 1024);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*out == 1);
  done("dynamic shared memory");
  out[64] = 9;
  restricted<<<1, 64>>>(out, out + 64);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[63] == 72);
  done("__restrict__ pointers");
  stack_of_lane<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) EXPECT(out[i] == 1);
  done("alloca");
  CHECK(cudaMemset(out, 0, 1024));
  flags<<<2, 1>>>(out, out + 1);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[2] == 77);
  done("volatile");
  *out = 5;
  hints<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 1; i < 5; i++) EXPECT(out[i] == 30);
  done("cache-hint loads and stores");
}

/* ---- numbers ----------------------------------------------------------------------------------------------------*/
__global__ void formats(int *p) {
  const unsigned short bits[] = {0x0001, 0x03FF, 0x0400, 0x3BFF, 0x3C00, 0x7BFF, 0x7C00};
  const float values[] = {0x1p-24f, 0x1.FF8p-15f, 0x1p-14f, 0x1.FFCp-1f, 1, 65504, INFINITY};
  int bad = 0;
  for (int i = 0; i < 7; i++) bad += __half2float(__ushort_as_half(bits[i])) != values[i];
  bad += __half_as_ushort(__float2half(NAN)) != 0x7FFF && __half_as_ushort(__float2half(NAN)) != 0x7E00;
  *p = bad;
  bad = __bfloat16_as_ushort(__float2bfloat16(1.0f)) != 0x3F80;
  bad += __bfloat16_as_ushort(__float2bfloat16(INFINITY)) != 0x7F80;
  bad += __bfloat162float(__ushort_as_bfloat16(0x0080)) != 0x1p-126f;
  p[1] = bad;
  const __half2 pair = __halves2half2(__float2half(1), __float2half(-2)), sum = __hadd2(pair, pair);
  p[2] = __low2float(sum) != 2 || __high2float(sum) != -4;
}
__global__ void builtins(int *p) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  atomicAdd(&p[block * blockDim.x * blockDim.y * blockDim.z + thread], 1);
}
__global__ void lanes_gone(int *p) {
  if (threadIdx.x % 2) return;
  __syncwarp(__activemask());
  const int n = __popcll(__ballot_sync(__activemask(), 1));
  __syncthreads();
  if (!threadIdx.x) *p = n == warpSize / 2;
}
__global__ void clocks(int *p) {
  const long long from = clock64();
  const clock_t small = clock();
  float x = threadIdx.x;
  for (int i = 0; i < 100; i++) x = x * 1.5f + 1;
  __nanosleep(20);
  p[threadIdx.x] = clock64() > from && clock() != small && x > 0;
}

static void numbers() {
  formats<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(!out[0] && !out[1] && !out[2]);
  done("half format (IEEE binary16)");
  done("bfloat16 format");
  done("half2 / maca_bfloat162");
  const dim3 d(5), e;
  EXPECT(d.x == 5 && d.y == 1 && d.z == 1 && e.x == 1);
  done("dim3");
  CHECK(cudaMemset(out, 0, 8 * 24 * sizeof(int)));
  builtins<<<dim3(2, 2, 2), dim3(4, 3, 2)>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 8 * 24; i++) EXPECT(out[i] == 1);
  done("gridDim, blockIdx, blockDim, threadIdx");
  lanes_gone<<<1, 128>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*out == 1);
  done("exited lanes");
  clocks<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) EXPECT(out[i] == 1);
  done("clock counters");
  done("nanosleep");
}

/* ---- the heap, launches, hints ----------------------------------------------------------------------------------*/
__device__ char *kept;
__global__ void take() {
  kept = (char *)malloc(100);
  memset(kept, 7, 100);
}
__global__ void look(int *p) {
  char copy[100];
  memcpy(copy + 1, kept + 3, 97);
  *p = copy[97] == 7 && (uintptr_t)kept % 16 == 0;
}
__global__ void give_back() {
  free(kept);
  free(nullptr);
}
__global__ void exhaust(int *p) {
  int n = 0;
  void *last = nullptr, *chain = nullptr;
  while ((last = malloc(1 << 16))) {
    *(void **)last = chain;
    chain = last;
    n++;
  }
  while (chain) {
    void *next = *(void **)chain;
    free(chain);
    chain = next;
  }
  p[0] = n;
  p[1] = (chain = malloc(1 << 16)) != nullptr;
  free(chain);
}
__global__ void of_block(int *p) {
  __shared__ int *data;
  if (!threadIdx.x) data = (int *)malloc(blockDim.x * sizeof(int));
  __syncthreads();
  data[threadIdx.x] = threadIdx.x;
  __syncthreads();
  p[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (!threadIdx.x) free(data);
}
__global__ void __launch_bounds__(64) bounded(int *p) { p[threadIdx.x] = 1; }
template <int WAY> __global__ void loops(int *p) {
  int sum = 0;
  if (WAY == 0)
#pragma unroll
    for (int i = 0; i < 37; i++) sum += i * threadIdx.x;
  if (WAY == 1)
#pragma unroll 1
    for (int i = 0; i < 37; i++) sum += i * threadIdx.x;
  if (WAY == 2)
#pragma unroll 8
    for (int i = 0; i < 37; i++) sum += i * threadIdx.x;
  p[threadIdx.x] += WAY == 1 ? -2 * sum : sum;
}
__global__ void assumed(int *p) {
  int *q = (int *)__builtin_assume_aligned(p, 16);
  const int x = __builtin_expect(threadIdx.x, 0);
  __builtin_assume(x >= 0);
  if (x < 0) __builtin_unreachable();
  q[x] = x;
}

static void launches() {
  size_t heap;
  CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  EXPECT(heap >= 8 << 20);
  take<<<1, 1>>>();
  look<<<1, 1>>>(out);
  give_back<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT(*out == 1);
  done("heap alignment");
  done("heap lifetime and sharing");
  done("device memcpy and memset");
  exhaust<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[0] >= 64 && out[1] == 1);
  done("device heap");
  of_block<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[0] == 63 && out[63] == 0);
  done("per-block allocation pattern");
  bounded<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[63] == 1);
  done("launch bounds");
  CHECK(cudaMemset(out, 0, 64 * sizeof(int)));
  loops<0><<<1, 64>>>(out);
  loops<1><<<1, 64>>>(out);
  loops<2><<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; i++) EXPECT(!out[i]);
  done("unroll pragma");
  assumed<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[63] == 63);
  done("optimiser hints");
}

/* ---- what is told, and what only some compilers know -----------------------------------------------------------*/
#pragma nv_diag_suppress 177
__global__ void tells(int *p) {
  int unused;
  *p = printf("%d %s\n", 12, "words");
}
__global__ void video(int *p) {
  unsigned r, a = 0x01FF10F0, b = 0x02011008;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(7));
  p[0] = r; // 1 + 254 + 0 + 232 + 7
  asm("vadd.u32.u32.u32 %0, %1.b1, %2.h1;" : "=r"(r) : "r"(a), "r"(b));
  p[1] = r; // 0x10 + 0x201
  asm("vsub.s32.u32.u32.sat %0, %1.b0, %2.b3;" : "=r"(r) : "r"(a), "r"(b));
  p[2] = r; // 0xF0 - 2
}
__global__ void counted() { __prof_trigger(3); }
__global__ void keep() { kept = (char *)malloc(64); }

static void others() {
  tells<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*out == 2);
  done("printf return value");
  done("diagnostic pragmas");
  video<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[0] == 494 && out[1] == 0x211 && out[2] == 0xEE);
  done("scalar video modifiers");
  done("vector video modifiers");
  counted<<<4, 64>>>();
  done("profiler counters");
  char *heap;
  keep<<<1, 1>>>();
  CHECK(cudaMemcpyFromSymbol(&heap, kept, sizeof heap));
  EXPECT(heap && cudaFree(heap) != cudaSuccess);
  cudaGetLastError();
  done("heap and host API");
}

__global__ void asserts(int n) { assert(n > 3 || threadIdx.x > 1); }

/* the last: the device is of no use behind it */
static void failed() {
  asserts<<<1, 32>>>(2);
  EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
  bounded<<<1, 64>>>(out);
  EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
  printf("assert aftermath: so\n");
}

static void refused() {
  bounded<<<1, 128>>>(out);
  EXPECT(cudaGetLastError() != cudaSuccess);
  bounded<<<1, 4096>>>(out);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  bounded<<<dim3(1, 1 << 20), 1>>>(out);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  bounded<<<1, 1, 1 << 30>>>(out);
  EXPECT(cudaGetLastError() != cudaSuccess);
  done("launch checks");
}

int main() {
  CHECK(cudaMallocManaged(&out, 4096));
  functions();
  memory();
  numbers();
  launches();
  others();
  refused();
  failed();
  printf("passed\n");
}

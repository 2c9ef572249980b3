// lanes: 32. Dynamic programming over a grid, with function pointers for the reduction, half2 blending, warp-aggregated
// atomics, unified memory with prefetch and advice, graphs, lambdas.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
#include <vector>
#include <cuda_fp16.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
using namespace cooperative_groups;

#define gpuErrchk(ans) \
  { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    if (abort) exit(code);
  }
}
typedef int (*combine_t)(int, int);
__device__ int smaller(int a, int b) { return min(a, b); }
__device__ int larger(int a, int b) { return max(a, b); }
__device__ combine_t table[2] = {smaller, larger};

template <int THREADS>
__global__ void dynproc(const int *wall, const int *src, int *dst, int cols, int row, int which) {
  __shared__ int prev[THREADS + 2];
  const int x = blockIdx.x * THREADS + threadIdx.x;
  const auto f = table[which];
  prev[threadIdx.x + 1] = src[min(x, cols - 1)];
  if (threadIdx.x == 0) prev[0] = src[max(x - 1, 0)];
  if (threadIdx.x == THREADS - 1) prev[THREADS + 1] = src[min(x + 1, cols - 1)];
  __syncthreads();
  if (x >= cols) return;
  const int left = prev[threadIdx.x], up = prev[threadIdx.x + 1], right = x + 1 < cols ? prev[threadIdx.x + 2] : up;
  dst[x] = f(f(left, up), right) + __ldg(wall + row * cols + x);
}
__device__ int atomicAggInc(int *ctr) {
  auto g = coalesced_threads();
  int warp_res;
  if (g.thread_rank() == 0) warp_res = atomicAdd(ctr, g.size());
  return g.shfl(warp_res, 0) + g.thread_rank();
}
__global__ void filter_k(int *dst, int *nres, const int *src, int n, int threshold) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
    if (src[i] > threshold) dst[atomicAggInc(nres)] = src[i];
}
__global__ void blend(const half2 *a, const half2 *b, half2 *c, int n, float alpha) {
  const half2 k = __float2half2_rn(alpha), one = __float2half2_rn(1.0f);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = __hfma2(k, a[i], __hmul2(__hsub2(one, k), b[i]));
}
template <typename F> __global__ void parallel_for(int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
struct Matrix {
  int width, height, stride;
  float *elements;
  __host__ __device__ float &at(int r, int c) const { return elements[r * stride + c]; }
};
__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C) {
  extern __shared__ __align__(16) unsigned char raw[];
  float(*As)[8] = reinterpret_cast<float(*)[8]>(raw), (*Bs)[8] = As + 8;
  int row = threadIdx.y, col = threadIdx.x, R = blockIdx.y * 8 + row, C0 = blockIdx.x * 8 + col;
  float v = 0;
  for (int m = 0; m < A.width / 8; ++m) {
    As[row][col] = A.at(R, m * 8 + col);
    Bs[row][col] = B.at(m * 8 + row, C0);
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 8; ++e) v += As[row][e] * Bs[e][col];
    __syncthreads();
  }
  C.at(R, C0) = v;
}

int main(int argc, char *argv[]) {
  const int rows = 40, cols = argc > 1 ? atoi(argv[1]) : 1000;
  bool ok = true;
  std::mt19937 gen(19937);
  std::uniform_int_distribution<> dis(0, 9);
  std::vector<int> wall(rows * cols);
  std::generate(wall.begin(), wall.end(), [&]() { return dis(gen); });
  int *d_wall, *d_buf[2];
  gpuErrchk(cudaMallocManaged(&d_wall, wall.size() * sizeof(int)));
  std::copy(wall.begin(), wall.end(), d_wall);
  int device = -1;
  gpuErrchk(cudaGetDevice(&device));
  for (auto &b : d_buf) gpuErrchk(cudaMalloc((void **)&b, cols * sizeof(int)));
  cudaStream_t stream;
  gpuErrchk(cudaStreamCreate(&stream));
  for (int which = 0; which < 2; which++) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    gpuErrchk(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    gpuErrchk(cudaMemcpyAsync(d_buf[0], d_wall, cols * sizeof(int), cudaMemcpyDefault, stream));
    for (int r = 1; r < rows; r++)
      dynproc<128><<<(cols + 127) / 128, 128, 0, stream>>>(d_wall, d_buf[(r + 1) & 1], d_buf[r & 1], cols, r, which);
    gpuErrchk(cudaStreamEndCapture(stream, &graph));
    gpuErrchk(cudaGraphInstantiate(&exec, graph, 0));
    for (int k = 0; k < 2; k++) gpuErrchk(cudaGraphLaunch(exec, stream));
    gpuErrchk(cudaStreamSynchronize(stream));
    std::vector<int> got(cols), want(wall.begin(), wall.begin() + cols), next(cols);
    gpuErrchk(cudaMemcpy(got.data(), d_buf[(rows - 1) & 1], cols * sizeof(int), cudaMemcpyDeviceToHost));
    for (int r = 1; r < rows; r++) {
      for (int x = 0; x < cols; x++) {
        int best = want[x];
        for (int dx : {-1, 1})
          if (x + dx >= 0 && x + dx < cols) best = which ? std::max(best, want[x + dx]) : std::min(best, want[x + dx]);
        next[x] = best + wall[r * cols + x];
      }
      want.swap(next);
    }
    ok &= got == want;
    printf("%s paths %s\n", which ? "longest" : "shortest", got == want ? "agree" : "differ");
    gpuErrchk(cudaGraphExecDestroy(exec));
    gpuErrchk(cudaGraphDestroy(graph));
  }
  int *nres, *filtered;
  gpuErrchk(cudaMallocManaged(&nres, sizeof(int)));
  gpuErrchk(cudaMallocManaged(&filtered, wall.size() * sizeof(int)));
  *nres = 0;
  filter_k<<<8, 128>>>(filtered, nres, d_wall, wall.size(), 6);
  gpuErrchk(cudaDeviceSynchronize());
  const long want_n = std::count_if(wall.begin(), wall.end(), [](int x) { return x > 6; });
  ok &= *nres == want_n &&
        std::accumulate(filtered, filtered + *nres, 0L) ==
            std::accumulate(wall.begin(), wall.end(), 0L, [](long s, int x) { return s + (x > 6 ? x : 0); });
  printf("filter %s\n", ok ? "agrees" : "differs");

  const int n = 500;
  std::vector<__half2> ha(n), hb(n), hc(n);
  for (int i = 0; i < n; i++)
    ha[i] = __floats2half2_rn(i, -i), hb[i] = __halves2half2(__float2half(1.0f), __float2half_rn(2.0f));
  __half2 *da, *db, *dc;
  gpuErrchk(cudaMalloc(&da, n * sizeof(half2)));
  gpuErrchk(cudaMalloc(&db, n * sizeof(half2)));
  gpuErrchk(cudaMalloc(&dc, n * sizeof(half2)));
  gpuErrchk(cudaMemcpy(da, ha.data(), n * sizeof(half2), cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(db, hb.data(), n * sizeof(half2), cudaMemcpyHostToDevice));
  blend<<<2, 64>>>(da, db, dc, n, 0.25f);
  gpuErrchk(cudaMemcpy(hc.data(), dc, n * sizeof(half2), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) {
    float2 f = __half22float2(hc[i]);
    ok &= fabsf(f.x - (0.25f * i + 0.75f)) < 0.1f && fabsf(__high2float(hc[i]) - (-0.25f * i + 1.5f)) < 0.1f;
  }
  printf("half2 %s\n", ok ? "agrees" : "differs");

  Matrix A{32, 24, 32, nullptr}, B{16, 32, 16, nullptr}, C{16, 24, 16, nullptr};
  for (Matrix *m : {&A, &B, &C}) gpuErrchk(cudaMallocManaged(&m->elements, m->stride * m->height * sizeof(float)));
  float *ae = A.elements, *be = B.elements;
  parallel_for<<<4, 256>>>(32 * 24, [=] __device__(int i) { ae[i] = i % 7 - 3; });
  parallel_for<<<4, 256>>>(32 * 16, [ae, be] __device__(int i) { be[i] = i % 5 - 2; });
  MatMulKernel<<<dim3(2, 3), dim3(8, 8), 2 * 64 * sizeof(float)>>>(A, B, C);
  gpuErrchk(cudaDeviceSynchronize());
  for (int r = 0; r < 24; r++)
    for (int c = 0; c < 16; c++) {
      float s = 0;
      for (int k = 0; k < 32; k++) s += A.at(r, k) * B.at(k, c);
      ok &= s == C.at(r, c);
    }
  printf("matrices %s\n", ok ? "agree" : "differ");
  cudaFuncAttributes attr;
  gpuErrchk(cudaFuncGetAttributes(&attr, MatMulKernel));
  int blocks = 0;
  gpuErrchk(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, filter_k, 128, 0));
  size_t free_b, total_b;
  gpuErrchk(cudaMemGetInfo(&free_b, &total_b));
  ok &= attr.maxThreadsPerBlock >= 64 && blocks > 0 && free_b <= total_b;
  puts(ok ? "passed" : "failed");
  return !ok;
}

// Speckle reducing diffusion on an image, and a 2D convolution with textures: texture objects, surfaces written, pinned
// memory, streams that wait for one another's events, structures of kernel arguments.
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>
#include <cuda_runtime.h>
#include "device_launch_parameters.h"

static void HandleError(cudaError_t err, const char *file, int line) {
  if (err != cudaSuccess) {
    printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
    exit(EXIT_FAILURE);
  }
}
#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))

struct Params {
  int w, h;
  float lambda;
  float3 tint;
};
constexpr int R = 2;
__constant__ float gauss[2 * R + 1];

__global__ void blur(cudaTextureObject_t tex, cudaSurfaceObject_t out, Params p) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= p.w || y >= p.h) return;
  float s = 0;
#pragma unroll
  for (int j = -R; j <= R; j++)
#pragma unroll
    for (int i = -R; i <= R; i++) s += gauss[i + R] * gauss[j + R] * tex2D<float>(tex, x + i + 0.5f, y + j + 0.5f);
  surf2Dwrite(s, out, x * (int)sizeof(float), y, cudaBoundaryModeZero);
}
__global__ void coefficient(const float *J, float *c, float *dN, float *dS, float *dW, float *dE, float q0sqr,
                            Params p) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= p.w || y >= p.h) return;
  int i = y * p.w + x;
  float j = J[i];
  dN[i] = J[max(y - 1, 0) * p.w + x] - j;
  dS[i] = J[min(y + 1, p.h - 1) * p.w + x] - j;
  dW[i] = J[y * p.w + max(x - 1, 0)] - j;
  dE[i] = J[y * p.w + min(x + 1, p.w - 1)] - j;
  float g2 = (dN[i] * dN[i] + dS[i] * dS[i] + dW[i] * dW[i] + dE[i] * dE[i]) / (j * j),
        l = (dN[i] + dS[i] + dW[i] + dE[i]) / j;
  float num = 0.5f * g2 - (1.0f / 16.0f) * (l * l), den = 1 + .25f * l;
  float q = num / (den * den);
  den = (q - q0sqr) / (q0sqr * (1 + q0sqr));
  c[i] = __saturatef(1.0f / (1.0f + den));
}
__global__ void diffuse(float *J, const float *c, const float *dN, const float *dS, const float *dW, const float *dE,
                        const Params p) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= p.w || y >= p.h) return;
  int i = y * p.w + x;
  float D =
      c[i] * dN[i] + c[min(y + 1, p.h - 1) * p.w + x] * dS[i] + c[i] * dW[i] + c[y * p.w + min(x + 1, p.w - 1)] * dE[i];
  J[i] += 0.25f * p.lambda * D;
}
__global__ void sums(const float *J, int n, double *out) {
  __shared__ double s1[128], s2[128];
  double a = 0, b = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) a += J[i], b += (double)J[i] * J[i];
  s1[threadIdx.x] = a;
  s2[threadIdx.x] = b;
  for (int k = 64; k; k >>= 1) {
    __syncthreads();
    if (threadIdx.x < k) s1[threadIdx.x] += s1[threadIdx.x + k], s2[threadIdx.x] += s2[threadIdx.x + k];
  }
  if (!threadIdx.x) out[0] = s1[0], out[1] = s2[0];
}

int main(void) {
  Params p{61, 45, 0.5f, make_float3(1, 2, 3)};
  const int n = p.w * p.h;
  float *h_img;
  HANDLE_ERROR(cudaHostAlloc((void **)&h_img, n * sizeof(float), cudaHostAllocDefault));
  for (int i = 0; i < n; i++) h_img[i] = expf(((i * 37) % 255) / 255.0f);
  float w[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  HANDLE_ERROR(cudaMemcpyToSymbol(gauss, w, sizeof w));

  cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t in, out;
  HANDLE_ERROR(cudaMallocArray(&in, &desc, p.w, p.h));
  HANDLE_ERROR(cudaMallocArray(&out, &desc, p.w, p.h, cudaArraySurfaceLoadStore));
  HANDLE_ERROR(
      cudaMemcpy2DToArray(in, 0, 0, h_img, p.w * sizeof(float), p.w * sizeof(float), p.h, cudaMemcpyHostToDevice));
  cudaResourceDesc res;
  memset(&res, 0, sizeof(res));
  res.resType = cudaResourceTypeArray;
  res.res.array.array = in;
  cudaTextureDesc td;
  memset(&td, 0, sizeof(td));
  td.addressMode[0] = cudaAddressModeClamp;
  td.addressMode[1] = cudaAddressModeClamp;
  td.filterMode = cudaFilterModePoint;
  td.readMode = cudaReadModeElementType;
  cudaTextureObject_t tex = 0;
  HANDLE_ERROR(cudaCreateTextureObject(&tex, &res, &td, NULL));
  res.res.array.array = out;
  cudaSurfaceObject_t surf = 0;
  HANDLE_ERROR(cudaCreateSurfaceObject(&surf, &res));

  cudaStream_t s[2];
  cudaEvent_t blurred;
  for (auto &x : s) HANDLE_ERROR(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
  HANDLE_ERROR(cudaEventCreateWithFlags(&blurred, cudaEventDisableTiming));
  dim3 block(16, 8), grid((p.w + block.x - 1) / block.x, (p.h + block.y - 1) / block.y);
  blur<<<grid, block, 0, s[0]>>>(tex, surf, p);
  HANDLE_ERROR(cudaEventRecord(blurred, s[0]));
  HANDLE_ERROR(cudaStreamWaitEvent(s[1], blurred, 0));
  float *J, *c, *d[4];
  double *d_sums;
  HANDLE_ERROR(cudaMalloc(&J, n * sizeof(*J)));
  HANDLE_ERROR(cudaMalloc(&c, n * sizeof(*c)));
  for (auto &x : d) HANDLE_ERROR(cudaMalloc(&x, n * sizeof(*x)));
  HANDLE_ERROR(cudaMalloc(&d_sums, 2 * sizeof(double)));
  HANDLE_ERROR(cudaMemcpy2DFromArrayAsync(J, p.w * sizeof(float), out, 0, 0, p.w * sizeof(float), p.h,
                                          cudaMemcpyDeviceToDevice, s[1]));
  std::vector<float> first(n);
  HANDLE_ERROR(cudaMemcpyAsync(first.data(), J, n * sizeof(float), cudaMemcpyDeviceToHost, s[1]));
  for (int it = 0; it < 3; it++) {
    double hs[2];
    sums<<<1, 128, 0, s[1]>>>(J, n, d_sums);
    HANDLE_ERROR(cudaMemcpyAsync(hs, d_sums, sizeof hs, cudaMemcpyDeviceToHost, s[1]));
    HANDLE_ERROR(cudaStreamSynchronize(s[1]));
    double mean = hs[0] / n, var = hs[1] / n - mean * mean;
    coefficient<<<grid, block, 0, s[1]>>>(J, c, d[0], d[1], d[2], d[3], (float)(var / (mean * mean)), p);
    diffuse<<<grid, block, 0, s[1]>>>(J, c, d[0], d[1], d[2], d[3], p);
  }
  HANDLE_ERROR(cudaGetLastError());
  std::unique_ptr<float[]> got(new float[n]);
  HANDLE_ERROR(cudaMemcpyAsync(got.get(), J, n * sizeof(float), cudaMemcpyDeviceToHost, s[1]));
  HANDLE_ERROR(cudaStreamSynchronize(s[1]));

  double worst = 0, total = 0;
  for (int y = 0; y < p.h; y++)
    for (int x = 0; x < p.w; x++) {
      float v = 0;
      for (int j = -R; j <= R; j++)
        for (int i = -R; i <= R; i++)
          v += w[i + R] * w[j + R] *
               h_img[std::min(std::max(y + j, 0), p.h - 1) * p.w + std::min(std::max(x + i, 0), p.w - 1)];
      worst = fmax(worst, fabs(v - first[y * p.w + x]));
    }
  double lo = 1e9, hi = 0;
  for (int i = 0; i < n; i++) total += got[i], lo = fmin(lo, got[i]), hi = fmax(hi, got[i]);
  double fl = 1e9, fh = 0;
  for (float f : first) fl = fmin(fl, f), fh = fmax(fh, f);
  bool good = worst < 1e-5 && lo >= fl - 1e-4 && hi <= fh + 1e-4 && hi - lo < fh - fl;
  printf("mean %.3f, smoother %d\n", total / n, hi - lo < fh - fl);
  HANDLE_ERROR(cudaDestroyTextureObject(tex));
  HANDLE_ERROR(cudaDestroySurfaceObject(surf));
  HANDLE_ERROR(cudaFreeArray(in));
  HANDLE_ERROR(cudaFreeArray(out));
  HANDLE_ERROR(cudaFreeHost(h_img));
  for (auto x : s) HANDLE_ERROR(cudaStreamDestroy(x));
  puts(good ? "passed" : "failed");
  return good ? 0 : 1;
}

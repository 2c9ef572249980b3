// lanes: 32
// Signals: a recursive filter whose lanes carry states, wavelets of Haar, a discrete cosine transform of 8 x 8 blocks and
// back, cross correlation with textures' linear memory, resampling, and a polynomial's roots by all at once.
#include "check.h"
#include <cmath>
#include <cuComplex.h>
#include <vector>

__global__ void recursive(const float *in, float *out, int n, int channels, float a, float b) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  float y1 = 0, y2 = 0;
  for (int i = 0; i < n; i++) {
    float y = in[i * channels + c] + a * y1 - b * y2;
    out[i * channels + c] = y;
    y2 = y1, y1 = y;
  }
}

__global__ void haar(float *p, int n) { // in one block, all levels
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = p[i];
  for (int m = n / 2; m; m /= 2) {
    __syncthreads();
    float mean[4], rest[4];
    for (int i = threadIdx.x, k = 0; i < m; i += blockDim.x, k++) mean[k] = (s[2 * i] + s[2 * i + 1]) * 0.5f, rest[k] = (s[2 * i] - s[2 * i + 1]) * 0.5f;
    __syncthreads();
    for (int i = threadIdx.x, k = 0; i < m; i += blockDim.x, k++) s[i] = mean[k], s[m + i] = rest[k];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = s[i];
}

__constant__ float basis[8][8];
template <bool BACK> __global__ void dct(const float *in, float *out, int w) {
  __shared__ float s[8][9], t[8][9];
  int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.y * 8 + y) * w + blockIdx.x * 8 + x;
  s[y][x] = in[at];
  __syncthreads();
  float v = 0;
#pragma unroll
  for (int k = 0; k < 8; k++) v += (BACK ? basis[k][x] : basis[x][k]) * s[y][k];
  t[y][x] = v;
  __syncthreads();
  v = 0;
#pragma unroll
  for (int k = 0; k < 8; k++) v += (BACK ? basis[k][y] : basis[y][k]) * t[k][x];
  out[at] = v;
}

__global__ void correlate(const float *__restrict__ a, const float *__restrict__ b, int n, float *out) {
  float s = 0;
  for (int i = threadIdx.x; i + blockIdx.x < n; i += blockDim.x) s = fmaf(__ldg(&a[i]), __ldg(&b[i + blockIdx.x]), s);
  __shared__ float sums[4];
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d, 32);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

// Durand and Kerner: z^5 + z^4 - 2 z^3 + 3 z - 4
__global__ void roots(cuDoubleComplex *r, int n, int turns) {
  const double c[] = {-4, 3, 0, -2, 1, 1};
  int i = threadIdx.x;
  for (int t = 0; t < turns; t++) {
    cuDoubleComplex z = r[i], v = make_cuDoubleComplex(c[n], 0), d = make_cuDoubleComplex(1, 0);
    for (int k = n - 1; k >= 0; k--) v = cuCadd(cuCmul(v, z), make_cuDoubleComplex(c[k], 0));
    for (int k = 0; k < n; k++)
      if (k != i) d = cuCmul(d, cuCsub(z, r[k]));
    __syncthreads();
    r[i] = cuCsub(z, cuCdiv(v, d));
    __syncthreads();
  }
}

int main() {
  const int n = 256, channels = 3;
  std::vector<float> x(n * channels), y(n * channels);
  for (int i = 0; i < n * channels; i++) x[i] = i < channels ? 1.0f : (float)(i % 5 == 0);
  Buffer<float> dx(n * channels), dy(n * channels);
  dx.put(x.data());
  recursive<<<1, 32>>>(dx.p, dy.p, n, channels, 0.5f, 0.25f);
  dy.get(y.data());
  for (int c = 0; c < channels; c++)
    for (int i = 2; i < n; i++) EXPECT(fabsf(y[i * channels + c] - (x[i * channels + c] + 0.5f * y[(i - 1) * channels + c] - 0.25f * y[(i - 2) * channels + c])) < 1e-5f);

  std::vector<float> h(n), back(n);
  for (int i = 0; i < n; i++) h[i] = (float)(i * i % 97);
  CHECK(cudaMemcpy(dx.p, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  haar<<<1, 64, n * sizeof(float)>>>(dx.p, n);
  CHECK(cudaMemcpy(back.data(), dx.p, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int m = 1; m < n; m *= 2) {
    std::vector<float> t(back);
    for (int i = 0; i < m; i++) t[2 * i] = back[i] + back[m + i], t[2 * i + 1] = back[i] - back[m + i];
    back = t;
  }
  for (int i = 0; i < n; i++) EXPECT(fabsf(back[i] - h[i]) < 1e-3f);

  float b[8][8];
  for (int u = 0; u < 8; u++)
    for (int k = 0; k < 8; k++) b[u][k] = (float)((u ? 0.5 : sqrt(0.125)) * cos((2 * k + 1) * u * M_PI / 16));
  CHECK(cudaMemcpyToSymbol(basis, b, sizeof b));
  dct<false><<<dim3(4, 1), dim3(8, 8)>>>(dx.p, dy.p, 32);
  dct<true><<<dim3(4, 1), dim3(8, 8)>>>(dy.p, dx.p + n, 32);
  std::vector<float> before(n), after(n);
  CHECK(cudaMemcpy(before.data(), dx.p, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(after.data(), dx.p + n, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(fabsf(before[i] - after[i]) < 1e-3f);

  CHECK(cudaMemcpy(dx.p, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  for (int i = 0; i < n; i++) back[i] = i >= 7 ? h[i - 7] : 0;
  CHECK(cudaMemcpy(dx.p + n, back.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  correlate<<<20, 128>>>(dx.p, dx.p + n, n, dy.p);
  float c[20];
  CHECK(cudaMemcpy(c, dy.p, sizeof c, cudaMemcpyDeviceToHost));
  int best = 0;
  for (int k = 1; k < 20; k++)
    if (c[k] > c[best]) best = k;
  EXPECT(best == 7);
  cuDoubleComplex r[5];
  for (int i = 0; i < 5; i++) r[i] = make_cuDoubleComplex(cos(1.3 * i + 0.4), sin(1.3 * i + 0.4));
  Buffer<cuDoubleComplex> dr(5);
  dr.put(r);
  roots<<<1, 5>>>(dr.p, 5, 60);
  dr.get(r);
  for (cuDoubleComplex z : r) {
    cuDoubleComplex v = make_cuDoubleComplex(1, 0);
    const double k[] = {-4, 3, 0, -2, 1};
    for (int i = 4; i >= 0; i--) v = cuCadd(cuCmul(v, z), make_cuDoubleComplex(k[i], 0));
    EXPECT(cuCabs(v) < 1e-9);
  }
  printf("shift %d\npassed\n", best);
}

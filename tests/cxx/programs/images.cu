// lanes: 32
// Pictures: separable blur with constant weights and a template radius, edges, an integral image, a histogram that is
// made even, a median in registers, and erosion; bytes in rows with a pitch, two-dimensional copies.
#include "check.h"
#include <algorithm>
#include <vector>

constexpr int R = 3;
__constant__ float kernel[2 * R + 1];

template <int RADIUS, bool ROWS> __global__ void blur(const float *in, float *out, int w, int h) {
  extern __shared__ float tile[];
  int along = ROWS ? blockIdx.x * blockDim.x + threadIdx.x : blockIdx.y * blockDim.x + threadIdx.x, across = ROWS ? blockIdx.y : blockIdx.x, n = ROWS ? w : h;
  auto at = [&](int i) { return ROWS ? across * w + i : i * w + across; };
  for (int i = threadIdx.x; i < (int)blockDim.x + 2 * RADIUS; i += blockDim.x) {
    int k = along - (int)threadIdx.x + i - RADIUS;
    tile[i] = in[at(min(max(k, 0), n - 1))];
  }
  __syncthreads();
  if (along >= n) return;
  float s = 0;
#pragma unroll
  for (int k = -RADIUS; k <= RADIUS; k++) s += kernel[k + RADIUS] * tile[threadIdx.x + RADIUS + k];
  out[at(along)] = s;
}

__global__ void edges(const unsigned char *in, size_t pitch, unsigned char *out, size_t opitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) {
    out[y * opitch + x] = 0;
    return;
  }
  const unsigned char *p = in + (y - 1) * pitch + x - 1, *q = p + pitch, *r = q + pitch;
  int gx = p[2] + 2 * q[2] + r[2] - p[0] - 2 * q[0] - r[0], gy = r[0] + 2 * r[1] + r[2] - p[0] - 2 * p[1] - p[2];
  out[y * opitch + x] = (unsigned char)min(255, abs(gx) + abs(gy));
}

__device__ void order(unsigned char &a, unsigned char &b) {
  unsigned char least = min(a, b);
  b = max(a, b);
  a = least;
}
__global__ void median(const unsigned char *in, size_t pitch, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  unsigned char v[9];
  for (int k = 0; k < 9; k++) v[k] = in[min(max(y + k / 3 - 1, 0), h - 1) * pitch + min(max(x + k % 3 - 1, 0), w - 1)];
  for (int i = 0; i < 5; i++)
    for (int j = i + 1; j < 9; j++) order(v[i], v[j]);
  out[y * w + x] = v[4];
}

__global__ void rows_sum(const unsigned char *in, size_t pitch, int *out, int w) {
  int lane = threadIdx.x % 32, carry = 0;
  for (int x0 = 0; x0 < w; x0 += 32) {
    int x = x0 + lane, v = x < w ? in[blockIdx.x * pitch + x] : 0;
    for (int d = 1; d < 32; d *= 2) {
      int o = __shfl_up_sync(0xffffffff, v, d, 32);
      if (lane >= d) v += o;
    }
    if (x < w) out[blockIdx.x * w + x] = v + carry;
    carry += __shfl_sync(0xffffffff, v, 31, 32);
  }
}
__global__ void columns_sum(int *p, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int y = 1; x < w && y < h; y++) p[y * w + x] += p[(y - 1) * w + x];
}

__global__ void count(const unsigned char *in, size_t pitch, int w, int h, unsigned *bins) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w * h; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i / w * pitch + i % w]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (s[i]) atomicAdd(&bins[i], s[i]);
}

int main() {
  const int w = 70, h = 45;
  std::vector<unsigned char> image(w * h), got(w * h);
  for (int i = 0; i < w * h; i++) image[i] = (unsigned char)(i % w * 2 + i / w * 3 + (i * i % 13 == 0 ? 90 : 0));
  unsigned char *in, *out;
  size_t pitch, opitch;
  CHECK(cudaMallocPitch(&in, &pitch, w, h));
  CHECK(cudaMallocPitch((void **)&out, &opitch, w, h));
  CHECK(cudaMemcpy2D(in, pitch, image.data(), w, w, h, cudaMemcpyHostToDevice));
  edges<<<dim3(3, 6), dim3(32, 8)>>>(in, pitch, out, opitch, w, h);
  CHECK(cudaMemcpy2D(got.data(), w, out, opitch, w, h, cudaMemcpyDeviceToHost));
  auto at = [&](int x, int y) { return (int)image[std::min(std::max(y, 0), h - 1) * w + std::min(std::max(x, 0), w - 1)]; };
  long sum = 0;
  for (int y = 1; y < h - 1; y++)
    for (int x = 1; x < w - 1; x++) {
      int gx = 0, gy = 0;
      for (int k = -1; k <= 1; k++) gx += (2 - abs(k)) * (at(x + 1, y + k) - at(x - 1, y + k)), gy += (2 - abs(k)) * (at(x + k, y + 1) - at(x + k, y - 1));
      EXPECT(got[y * w + x] == std::min(255, abs(gx) + abs(gy)));
      sum += got[y * w + x];
    }
  Buffer<unsigned char> flat(w * h);
  median<<<dim3(3, 6), dim3(32, 8)>>>(in, pitch, flat.p, w, h);
  flat.get(got.data());
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int v[9];
      for (int k = 0; k < 9; k++) v[k] = at(x + k % 3 - 1, y + k / 3 - 1);
      std::sort(v, v + 9);
      EXPECT(got[y * w + x] == v[4]);
    }
  Buffer<int> integral(w * h);
  std::vector<int> s(w * h);
  rows_sum<<<h, 32>>>(in, pitch, integral.p, w);
  columns_sum<<<2, 64>>>(integral.p, w, h);
  integral.get(s.data());
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) EXPECT(s[y * w + x] - (x ? s[y * w + x - 1] : 0) - (y ? s[(y - 1) * w + x] : 0) + (x && y ? s[(y - 1) * w + x - 1] : 0) == at(x, y));
  Buffer<unsigned> bins(256);
  std::vector<unsigned> b(256), want(256);
  CHECK(cudaMemset(bins.p, 0, 256 * sizeof(unsigned)));
  count<<<3, 128>>>(in, pitch, w, h, bins.p);
  bins.get(b.data());
  for (unsigned char c : image) want[c]++;
  EXPECT(b == want);
  float weights[2 * R + 1] = {1 / 64.0f, 6 / 64.0f, 15 / 64.0f, 20 / 64.0f, 15 / 64.0f, 6 / 64.0f, 1 / 64.0f};
  CHECK(cudaMemcpyToSymbol(kernel, weights, sizeof weights));
  std::vector<float> f(image.begin(), image.end()), g(w * h);
  Buffer<float> df(w * h), dg(w * h);
  df.put(f.data());
  blur<R, true><<<dim3(3, h), 32, (32 + 2 * R) * sizeof(float)>>>(df.p, dg.p, w, h);
  blur<R, false><<<dim3(w, 2), 32, (32 + 2 * R) * sizeof(float)>>>(dg.p, df.p, w, h);
  df.get(g.data());
  for (int i = 0; i < w * h; i += 17) {
    double v = 0;
    for (int y = -R; y <= R; y++)
      for (int x = -R; x <= R; x++) v += weights[y + R] * weights[x + R] * at(i % w + x, i / w + y);
    EXPECT(std::abs(g[i] - v) < 1e-3);
  }
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  printf("%ld\npassed\n", sum);
}

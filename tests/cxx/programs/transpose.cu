// A matrix in pitched memory is transposed through shared memory, and copied with cudaMemcpy2D and cudaMemcpy3D.
#include "check.h"
#include <vector>

constexpr int TILE = 32, ROWS = 8;

__global__ void transpose(const float *in, size_t inpitch, float *out, size_t outpitch, int w, int h) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = *(const float *)((const char *)in + (y + j) * inpitch + x * sizeof(float));
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < h && y + j < w) *(float *)((char *)out + (y + j) * outpitch + x * sizeof(float)) = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void scale(cudaPitchedPtr p, int w, int h, int d, float by) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int z = 0; z < d; z++)
    for (int y = 0; x < w && y < h; y++) ((float *)((char *)p.ptr + (z * p.ysize + y) * p.pitch))[x] *= by;
}

int main() {
  const int w = 100, h = 37, d = 3;
  std::vector<float> in(w * h), out(w * h);
  for (int i = 0; i < w * h; i++) in[i] = i * 0.5f;
  float *a, *b;
  size_t apitch, bpitch;
  CHECK(cudaMallocPitch(&a, &apitch, w * sizeof(float), h));
  CHECK(cudaMallocPitch(&b, &bpitch, h * sizeof(float), w));
  EXPECT(apitch >= w * sizeof(float) && apitch % 256 == 0);
  CHECK(cudaMemcpy2D(a, apitch, in.data(), w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice));
  CHECK(cudaMemset2D(b, bpitch, 0xFF, h * sizeof(float), w));
  transpose<<<dim3((w + TILE - 1) / TILE, (h + TILE - 1) / TILE), dim3(TILE, ROWS)>>>(a, apitch, b, bpitch, w, h);
  CHECK(cudaMemcpy2D(out.data(), h * sizeof(float), b, bpitch, h * sizeof(float), w, cudaMemcpyDeviceToHost));
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) EXPECT(out[x * h + y] == in[y * w + x]);
  cudaExtent extent = make_cudaExtent(w * sizeof(float), h, d);
  cudaPitchedPtr box;
  CHECK(cudaMalloc3D(&box, extent));
  std::vector<float> cube(w * h * d), back(w * h * d);
  for (size_t i = 0; i < cube.size(); i++) cube[i] = (float)i;
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(cube.data(), w * sizeof(float), w, h);
  p.dstPtr = box;
  p.extent = extent;
  p.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&p));
  scale<<<4, 32>>>(box, w, h, d, 3);
  p.srcPtr = box;
  p.dstPtr = make_cudaPitchedPtr(back.data(), w * sizeof(float), w, h);
  p.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&p));
  for (size_t i = 0; i < cube.size(); i++) EXPECT(back[i] == cube[i] * 3);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(box.ptr));
  printf("%g %g\npassed\n", out[5], back.back());
}

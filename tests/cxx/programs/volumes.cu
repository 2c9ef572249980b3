// Copies of two and three dimensions: boxes out of boxes, pitches, between devices' and the host's memory; parameters of
// many bytes, structs with arrays and bit fields, unions; launches by pointers and by configurations.
#include "check.h"
#include <cstring>
#include <vector>

struct Big {
  int table[200];
  double scale;
  unsigned low : 5, high : 11;
  union {
    float f;
    unsigned u;
  } bits;
  char name[9];
};
static_assert(sizeof(Big) > 800, "larger than registers");

__global__ void use(const Big b, int *out, double *scaled) {
  int i = threadIdx.x;
  out[i] = b.table[(i * 7) % 200] + (int)b.low + (int)b.high + (int)(b.bits.u >> 23) + b.name[i % 8];
  scaled[i] = b.scale * i;
}

struct Volume {
  char *base;
  size_t pitch, slice;
  __device__ short *row(int y, int z) const { return (short *)(base + z * slice + y * pitch); }
};
__global__ void fill(Volume v, int w, int h, int d) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < w && y < h && z < d) v.row(y, z)[x] = (short)(x + 100 * y + 1000 * z);
}

int main() {
  Big b;
  memset(&b, 0, sizeof b);
  for (int i = 0; i < 200; i++) b.table[i] = i * i;
  b.scale = 0.5, b.low = 21, b.high = 1234, b.bits.f = 1.5f;
  strcpy(b.name, "abcdefgh");
  Buffer<int> out(64);
  Buffer<double> scaled(64);
  use<<<1, 64>>>(b, out.p, scaled.p);
  void *args[] = {&b, &out.p, &scaled.p};
  CHECK(cudaLaunchKernel((const void *)use, dim3(1), dim3(64), args, 0, nullptr));
  int got[64];
  double s[64];
  out.get(got), scaled.get(s);
  for (int i = 0; i < 64; i++) EXPECT(got[i] == b.table[(i * 7) % 200] + 21 + 1234 + 127 + b.name[i % 8] && s[i] == 0.5 * i);

  const int w = 20, h = 10, d = 6;
  cudaPitchedPtr p;
  CHECK(cudaMalloc3D(&p, make_cudaExtent(w * sizeof(short), h, d)));
  EXPECT(p.pitch >= w * sizeof(short) && p.ysize == h);
  CHECK(cudaMemset3D(p, 0, make_cudaExtent(w * sizeof(short), h, d)));
  fill<<<dim3(3, 3, 3), dim3(8, 4, 2)>>>(Volume{(char *)p.ptr, p.pitch, p.pitch * p.ysize}, w, h, d);
  std::vector<short> whole(w * h * d), part(5 * 4 * 3, -1);
  cudaMemcpy3DParms c = {};
  c.srcPtr = p;
  c.dstPtr = make_cudaPitchedPtr(whole.data(), w * sizeof(short), w, h);
  c.extent = make_cudaExtent(w * sizeof(short), h, d);
  c.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&c));
  for (int i = 0; i < w * h * d; i++) EXPECT(whole[i] == i % w + 100 * (i / w % h) + 1000 * (i / w / h));
  c.srcPos = make_cudaPos(3 * sizeof(short), 2, 1);
  c.dstPtr = make_cudaPitchedPtr(part.data(), 5 * sizeof(short), 5, 4);
  c.extent = make_cudaExtent(5 * sizeof(short), 4, 3);
  CHECK(cudaMemcpy3D(&c));
  for (int i = 0; i < 60; i++) EXPECT(part[i] == i % 5 + 3 + 100 * (i / 5 % 4 + 2) + 1000 * (i / 20 + 1));
  short *flat;
  size_t pitch;
  CHECK(cudaMallocPitch(&flat, &pitch, w * sizeof(short), h));
  CHECK(cudaMemset2D(flat, pitch, 0x11, w * sizeof(short), h));
  CHECK(cudaMemcpy2D((char *)flat + 2 * pitch + 4, pitch, p.ptr, p.pitch, 6 * sizeof(short), 5, cudaMemcpyDeviceToDevice));
  std::vector<short> square(w * h);
  CHECK(cudaMemcpy2DAsync(square.data(), w * sizeof(short), flat, pitch, w * sizeof(short), h, cudaMemcpyDefault, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
  for (int i = 0; i < w * h; i++) {
    int x = i % w - 2, y = i / w - 2;
    EXPECT(square[i] == (x >= 0 && x < 6 && y >= 0 && y < 5 ? x + 100 * y : 0x1111));
  }
  EXPECT(cudaMemcpy2D(flat, 2, square.data(), w * 2, w * 2, h, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
  cudaGetLastError();
  CHECK(cudaFree(p.ptr));
  CHECK(cudaFree(flat));
  printf("%d %d\npassed\n", got[3], part[59]);
}

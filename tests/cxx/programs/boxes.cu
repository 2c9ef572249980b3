// Boxes of volumes in every direction: pitched memory, arrays of three dimensions, surfaces, a texture with filtering
// between slices, parts of rows, and copies within an array.
#include "check.h"
#include <cstring>
#include <vector>

__global__ void twice(cudaSurfaceObject_t s, int w, int h, int d) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= w || y >= h || z >= d) return;
  float v;
  surf3Dread(&v, s, x * (int)sizeof(float), y, z);
  surf3Dwrite(2 * v + 1, s, x * (int)sizeof(float), y, z);
}
__global__ void between(cudaTextureObject_t t, float *out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = tex3D<float>(t, 2.5f, 1.5f, 0.5f + i * 0.25f);
}
__global__ void sum_rows(cudaPitchedPtr p, int w, int h, int d, float *out) {
  int y = threadIdx.x, z = blockIdx.x;
  if (y >= h || z >= d) return;
  const float *row = (const float *)((const char *)p.ptr + ((size_t)z * p.ysize + y) * p.pitch);
  float s = 0;
  for (int x = 0; x < w; x++) s += row[x];
  out[z * h + y] = s;
}

int main() {
  const int w = 13, h = 7, d = 5, n = w * h * d;
  std::vector<float> a(n), b(n, -1);
  for (int i = 0; i < n; i++) a[i] = i % 29;
  const cudaExtent bytes = make_cudaExtent(w * sizeof(float), h, d), texels = make_cudaExtent(w, h, d);
  cudaPitchedPtr host = make_cudaPitchedPtr(a.data(), w * sizeof(float), w * sizeof(float), h),
                 host2 = make_cudaPitchedPtr(b.data(), w * sizeof(float), w * sizeof(float), h), device;
  CHECK(cudaMalloc3D(&device, bytes));
  EXPECT(device.pitch >= w * sizeof(float) && device.ysize == (size_t)h);
  CHECK(cudaMemset3D(device, 0x7F, bytes));
  cudaMemcpy3DParms p = {};
  p.srcPtr = host, p.dstPtr = device, p.extent = bytes, p.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&p));
  // to an array, through a surface, and part of it home
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc3DArray(&array, &format, texels, cudaArraySurfaceLoadStore));
  cudaMemcpy3DParms q = {};
  q.srcPtr = device, q.dstArray = array, q.extent = texels, q.kind = cudaMemcpyDeviceToDevice;
  CHECK(cudaMemcpy3D(&q));
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray, r.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &r));
  twice<<<dim3(2, 1, d), dim3(8, 8)>>>(surface, w, h, d);
  cudaMemcpy3DParms home = {};
  home.srcArray = array, home.srcPos = make_cudaPos(1, 2, 1), home.dstPtr = host2;
  home.dstPos = make_cudaPos(3 * sizeof(float), 1, 2);
  home.extent = make_cudaExtent(6, 4, 3), home.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&home));
  int wrong = 0;
  for (int z = 0; z < d; z++)
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++) {
        const bool in = x >= 3 && x < 9 && y >= 1 && y < 5 && z >= 2 && z < 5;
        const float want = in ? 2 * a[((z - 1) * h + y + 1) * w + x - 2] + 1 : -1;
        wrong += b[(z * h + y) * w + x] != want;
      }
  printf("%d wrong in the box\n", wrong);
  // a texture of it
  cudaTextureDesc t = {};
  t.filterMode = cudaFilterModeLinear;
  t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = cudaAddressModeClamp;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &r, &t, nullptr));
  Buffer<float> out(35);
  between<<<1, 32>>>(texture, out.p, 20);
  float f[35];
  out.get(f);
  for (int i = 0; i < 20; i++) printf("%g%c", f[i], i % 10 == 9 ? '\n' : ' ');
  // rows of pitched memory, a part of them set, in a stream
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaMemset2DAsync((char *)device.ptr + 2 * sizeof(float), device.pitch, 0, 3 * sizeof(float), h * 2, s));
  CHECK(cudaMemcpy2DAsync((char *)device.ptr + 4 * h * device.pitch, device.pitch, a.data(), w * sizeof(float),
                          w * sizeof(float), 2, cudaMemcpyDefault, s));
  sum_rows<<<d, 32, 0, s>>>(device, w, h, d, out.p);
  CHECK(cudaStreamSynchronize(s));
  out.get(f);
  for (int i = 0; i < 35; i++) printf("%g%c", f[i], i % 7 == 6 ? '\n' : ' ');
  // two dimensions: rows of one array to another, and bytes across rows
  cudaArray_t one, two;
  cudaChannelFormatDesc chars = cudaCreateChannelDesc<uchar4>();
  CHECK(cudaMallocArray(&one, &chars, 8, 4));
  CHECK(cudaMallocArray(&two, &chars, 8, 4));
  unsigned char c[128], e[128] = {};
  for (int i = 0; i < 128; i++) c[i] = i;
  CHECK(cudaMemcpy2DToArray(one, 0, 0, c, 32, 32, 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DToArray(two, 0, 0, e, 32, 32, 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DArrayToArray(two, 8, 1, one, 4, 0, 16, 2, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy2DFromArray(e, 32, two, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 4; y++) printf("%d %d %d %d\n", e[32 * y + 7], e[32 * y + 8], e[32 * y + 23], e[32 * y + 24]);
  cudaMemcpy3DParms no = {};
  no.srcArray = array, no.srcPos = make_cudaPos(10, 0, 0), no.dstPtr = host2, no.extent = make_cudaExtent(6, 1, 1);
  no.kind = cudaMemcpyDeviceToHost;
  EXPECT(cudaMemcpy3D(&no) == cudaErrorInvalidValue);
  cudaGetLastError();
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  puts("passed");
}

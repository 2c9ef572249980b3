// Textures and surfaces: a 2-D array read with linear filters, texels as they are, linear memory, pitched memory, three
// dimensions, layers, and a surface that kernels write.
#include "check.h"
#include <cmath>
#include <cstring>
#include <vector>

__global__ void turn(cudaTextureObject_t t, float *out, int w, int h, float angle) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float u = (x + 0.5f) / w - 0.5f, v = (y + 0.5f) / h - 0.5f, s = sinf(angle), c = cosf(angle);
  out[y * w + x] = tex2D<float>(t, u * c - v * s + 0.5f, u * s + v * c + 0.5f);
}
__global__ void texels(cudaTextureObject_t t, uchar4 *out, int w) {
  int x = threadIdx.x, y = blockIdx.x;
  out[y * w + x] = tex2D<uchar4>(t, x + 0.5f, y + 0.5f);
}
__global__ void line(cudaTextureObject_t t, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<int>(t, n - 1 - i) + tex1Dfetch<int>(t, i);
}
__global__ void volume(cudaTextureObject_t t, float *out, int n) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  out[(z * n + y) * n + x] = tex3D<float>(t, x + 1.0f, y + 0.5f, z + 0.5f); // between two
}
__global__ void invert(cudaSurfaceObject_t s, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float v;
  surf2Dread(&v, s, x * sizeof(float), y);
  surf2Dwrite(1.0f - v, s, x * sizeof(float), y);
}
__global__ void layers(cudaTextureObject_t t, float *out, int n) {
  out[blockIdx.x * n + threadIdx.x] = tex2DLayered<float>(t, threadIdx.x + 0.5f, 0.5f, blockIdx.x);
}

static cudaTextureObject_t texture_of(const cudaResourceDesc &r, cudaTextureFilterMode filter, cudaTextureReadMode read, bool normalized, cudaTextureAddressMode mode) {
  cudaTextureDesc d;
  memset(&d, 0, sizeof d);
  d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = mode;
  d.filterMode = filter;
  d.readMode = read;
  d.normalizedCoords = normalized;
  cudaTextureObject_t t = 0;
  CHECK(cudaCreateTextureObject(&t, &r, &d, nullptr));
  return t;
}

int main() {
  const int w = 48, h = 32;
  std::vector<float> image(w * h), got(w * h);
  for (int i = 0; i < w * h; i++) image[i] = (float)(i % w * 3 + i / w * 5) / 512;
  cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
  EXPECT(f.x == 32 && f.y == 0 && f.f == cudaChannelFormatKindFloat);
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &f, w, h, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  cudaResourceDesc r;
  memset(&r, 0, sizeof r);
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  cudaTextureObject_t t = texture_of(r, cudaFilterModeLinear, cudaReadModeElementType, true, cudaAddressModeWrap);
  Buffer<float> out(w * h);
  turn<<<dim3(3, 4), dim3(16, 8)>>>(t, out.p, w, h, 0.0f);
  out.get(got.data());
  for (int i = 0; i < w * h; i++) EXPECT(fabsf(got[i] - image[i]) < 1e-2f);
  turn<<<dim3(3, 4), dim3(16, 8)>>>(t, out.p, w, h, 0.5f);
  out.get(got.data());
  double sum = 0;
  for (float v : got) sum += v;
  CHECK(cudaDestroyTextureObject(t));

  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &r));
  invert<<<dim3(1, h), 64>>>(surface, w, h);
  CHECK(cudaMemcpy2DFromArray(got.data(), w * 4, array, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; i++) EXPECT(got[i] == 1.0f - image[i]);
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));

  std::vector<uchar4> pixels(w * h), seen(w * h);
  for (int i = 0; i < w * h; i++) pixels[i] = make_uchar4(i, i >> 3, 255 - i, i * 7);
  uchar4 *pitched;
  size_t pitch;
  CHECK(cudaMallocPitch(&pitched, &pitch, w * sizeof(uchar4), h));
  CHECK(cudaMemcpy2D(pitched, pitch, pixels.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  memset(&r, 0, sizeof r);
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D.devPtr = pitched;
  r.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  r.res.pitch2D.width = w, r.res.pitch2D.height = h, r.res.pitch2D.pitchInBytes = pitch;
  t = texture_of(r, cudaFilterModePoint, cudaReadModeElementType, false, cudaAddressModeClamp);
  Buffer<uchar4> copied(w * h);
  texels<<<h, w>>>(t, copied.p, w);
  copied.get(seen.data());
  EXPECT(!memcmp(seen.data(), pixels.data(), w * h * 4));
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFree(pitched));

  const int n = 300;
  std::vector<int> numbers(n), sums(n);
  for (int i = 0; i < n; i++) numbers[i] = i * i - 1000;
  Buffer<int> dn(n), ds(n);
  dn.put(numbers.data());
  memset(&r, 0, sizeof r);
  r.resType = cudaResourceTypeLinear;
  r.res.linear.devPtr = dn.p;
  r.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
  r.res.linear.sizeInBytes = n * sizeof(int);
  t = texture_of(r, cudaFilterModePoint, cudaReadModeElementType, false, cudaAddressModeClamp);
  line<<<3, 128>>>(t, ds.p, n);
  ds.get(sums.data());
  for (int i = 0; i < n; i++) EXPECT(sums[i] == numbers[i] + numbers[n - 1 - i]);
  CHECK(cudaDestroyTextureObject(t));

  const int side = 8;
  std::vector<float> cube(side * side * side), cube_got(cube.size());
  for (size_t i = 0; i < cube.size(); i++) cube[i] = (float)(i % 97);
  cudaArray_t box;
  CHECK(cudaMalloc3DArray(&box, &f, make_cudaExtent(side, side, side)));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(cube.data(), side * 4, side, side);
  p.dstArray = box;
  p.extent = make_cudaExtent(side, side, side);
  p.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&p));
  memset(&r, 0, sizeof r);
  r.resType = cudaResourceTypeArray;
  r.res.array.array = box;
  t = texture_of(r, cudaFilterModeLinear, cudaReadModeElementType, false, cudaAddressModeClamp);
  Buffer<float> dc(cube.size());
  volume<<<side, dim3(side, side)>>>(t, dc.p, side);
  dc.get(cube_got.data());
  for (size_t i = 0; i < cube.size(); i++) {
    float a = cube[i], b = i % side == side - 1 ? a : cube[i + 1];
    EXPECT(cube_got[i] == (a + b) / 2);
  }
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(box));

  CHECK(cudaMalloc3DArray(&box, &f, make_cudaExtent(side, side, 3), cudaArrayLayered));
  p.dstArray = box;
  p.extent = make_cudaExtent(side, side, 3);
  CHECK(cudaMemcpy3D(&p));
  r.res.array.array = box;
  t = texture_of(r, cudaFilterModePoint, cudaReadModeElementType, false, cudaAddressModeClamp);
  layers<<<3, side>>>(t, dc.p, side);
  dc.get(cube_got.data());
  for (int l = 0; l < 3; l++)
    for (int x = 0; x < side; x++) EXPECT(cube_got[l * side + x] == cube[l * side * side + x]);
  printf("%.2f\npassed\n", sum);
}

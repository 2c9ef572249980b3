// Texture and surface references, as older guides have them: variables of file scope with a type, a dimensionality and
// a way of reading, to which the host binds memory, rows of it, arrays, layers, levels; bound anew and unbound.
// no nvcc: newer versions have no references
#include "check.h"
#include <cmath>
#include <cstring>
#include <vector>

texture<float, 1, cudaReadModeElementType> weights;
texture<int2> pairs; // two words of a double, as programs did that had no other way
texture<unsigned char, 2, cudaReadModeNormalizedFloat> picture(1, cudaFilterModeLinear, cudaAddressModeClamp);
static texture<float4, cudaTextureType2D, cudaReadModeElementType> rows;
texture<short, cudaTextureType3D, cudaReadModeElementType> volume;
texture<float, cudaTextureType2DLayered> layers;
texture<float, cudaTextureType2D> pyramid;
surface<void, cudaSurfaceType2D> canvas;
__constant__ float factor = 2;

__global__ void scaled(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = factor * tex1Dfetch(weights, i);
}
__device__ double fetch_double(texture<int2, 1> t, int i) {
  const int2 v = tex1Dfetch(t, i);
  return __hiloint2double(v.y, v.x);
}
__global__ void doubles(double *out) { out[threadIdx.x] = fetch_double(pairs, threadIdx.x); }
__global__ void shrunk(float *out, int w, int h) {
  int x = threadIdx.x, y = threadIdx.y;
  out[y * w + x] = tex2D(picture, (x + .5f) / w, (y + .5f) / h);
}
__global__ void sums(float *out, int w) {
  const float4 v = tex2D(rows, threadIdx.x, threadIdx.y);
  out[threadIdx.y * w + threadIdx.x] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
}
__global__ void corners(int *out) {
  const int i = threadIdx.x;
  out[i] = tex3D(volume, i % 2, i / 2 % 2, i / 4);
}
__global__ void of_layers(float *out) { out[threadIdx.x] = tex2DLayered(layers, 1, 2, threadIdx.x); }
__global__ void of_levels(float *out) { out[threadIdx.x] = tex2DLod(pyramid, .5f, .5f, (float)threadIdx.x); }
__global__ void paint(int w) {
  const unsigned char before = surf2Dread<unsigned char>(canvas, threadIdx.x, threadIdx.y);
  unsigned char same;
  surf2Dread(&same, canvas, threadIdx.x, threadIdx.y, cudaBoundaryModeClamp);
  surf2Dwrite((unsigned char)(before + same + threadIdx.x), canvas, threadIdx.x, threadIdx.y);
}

template <class T> static T *on_device(const std::vector<T> &from) {
  T *p;
  CHECK(cudaMalloc(&p, from.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

int main() {
  float *out, got[64];
  CHECK(cudaMalloc(&out, 64 * sizeof(float)));

  // memory: bound, bound anew between launches in a stream, unbound
  std::vector<float> a(50), b(50);
  for (int i = 0; i < 50; i++) a[i] = i, b[i] = -i;
  float *da = on_device(a), *db = on_device(b), *second;
  CHECK(cudaMalloc(&second, 64 * sizeof(float)));
  size_t offset = 1;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaBindTexture(&offset, weights, da, 50 * sizeof(float)));
  EXPECT(offset == 0);
  scaled<<<2, 32, 0, stream>>>(out, 50);
  CHECK(cudaBindTexture(0, weights, db));
  scaled<<<2, 32, 0, stream>>>(second, 50);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(got, out, 50 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got[3] == 6 && got[49] == 98);
  CHECK(cudaMemcpy(got, second, 50 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got[3] == -6 && got[49] == -98);
  CHECK(cudaGetTextureAlignmentOffset(&offset, weights));
  CHECK(cudaUnbindTexture(weights));
  EXPECT(cudaGetTextureAlignmentOffset(&offset, weights) == cudaErrorInvalidTextureBinding);
  const textureReference *named;
  CHECK(cudaGetTextureReference(&named, &weights));
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  CHECK(cudaBindTexture(NULL, named, da, &floats, 50 * sizeof(float)));
  scaled<<<1, 64>>>(out, 2);
  CHECK(cudaMemcpy(got, out, 2 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got[1] == 2);

  std::vector<double> d = {3.25, -1e300, 7};
  double *dd = on_device(d), *dout, dgot[3];
  CHECK(cudaMalloc(&dout, sizeof dgot));
  CHECK(cudaBindTexture(0, pairs, dd, sizeof dgot));
  doubles<<<1, 3>>>(dout);
  CHECK(cudaMemcpy(dgot, dout, sizeof dgot, cudaMemcpyDeviceToHost));
  EXPECT(!memcmp(dgot, d.data(), sizeof dgot));

  // an array, read as fractions with a filter; what the reference says is read when it is bound
  std::vector<unsigned char> bytes(16 * 16);
  for (int i = 0; i < 256; i++) bytes[i] = i;
  cudaArray *array;
  const cudaChannelFormatDesc byte = cudaCreateChannelDesc<unsigned char>();
  CHECK(cudaMallocArray(&array, &byte, 16, 16, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, bytes.data(), 16, 16, 16, cudaMemcpyHostToDevice));
  CHECK(cudaBindTextureToArray(picture, array, byte));
  shrunk<<<1, dim3(8, 8)>>>(out, 8, 8);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(fabsf(got[0] * 255 - 8.5f) < .01f && fabsf(got[63] * 255 - 246.5f) < .01f);
  picture.filterMode = cudaFilterModePoint;
  CHECK(cudaBindTextureToArray(picture, array));
  shrunk<<<1, dim3(8, 8)>>>(out, 8, 8);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got[0] * 255 == 17 && got[63] == 1);

  // the same array as a surface
  CHECK(cudaBindSurfaceToArray(canvas, array));
  paint<<<1, dim3(16, 2)>>>(16);
  CHECK(cudaMemcpy2DFromArray(bytes.data(), 16, array, 0, 0, 16, 16, cudaMemcpyDeviceToHost));
  EXPECT(bytes[0] == 0 && bytes[5] == 15 && bytes[31] == 77 && bytes[32] == 32);

  // rows with a pitch
  std::vector<float4> texels(6 * 3);
  for (int i = 0; i < 18; i++) texels[i] = make_float4(i, 1, 2, i % 6);
  void *p;
  size_t pitch;
  CHECK(cudaMallocPitch(&p, &pitch, 6 * sizeof(float4), 3));
  CHECK(cudaMemcpy2D(p, pitch, texels.data(), 6 * sizeof(float4), 6 * sizeof(float4), 3, cudaMemcpyHostToDevice));
  rows.addressMode[0] = rows.addressMode[1] = cudaAddressModeClamp;
  CHECK(cudaBindTexture2D(&offset, rows, p, 6, 3, pitch));
  sums<<<1, dim3(6, 3)>>>(out, 6);
  CHECK(cudaMemcpy(got, out, 18 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 210 && got[17] == 17 + 210 + 5000);

  // boxes, layers, levels
  std::vector<short> box = {1, -2, 3, -4, 5, -6, 7, -8};
  cudaArray *cube;
  const cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
  CHECK(cudaMalloc3DArray(&cube, &shorts, make_cudaExtent(2, 2, 2)));
  cudaMemcpy3DParms copy = {0};
  copy.srcPtr = make_cudaPitchedPtr(box.data(), 2 * sizeof(short), 2, 2);
  copy.dstArray = cube;
  copy.extent = make_cudaExtent(2, 2, 2);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  CHECK(cudaBindTextureToArray(volume, cube));
  corners<<<1, 8>>>((int *)out);
  int whole[8];
  CHECK(cudaMemcpy(whole, out, sizeof whole, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; i++) EXPECT(whole[i] == box[i]);

  std::vector<float> plane(4 * 4 * 3);
  for (int i = 0; i < 48; i++) plane[i] = i;
  cudaArray *pile;
  CHECK(cudaMalloc3DArray(&pile, &floats, make_cudaExtent(4, 4, 3), cudaArrayLayered));
  copy.srcPtr = make_cudaPitchedPtr(plane.data(), 4 * sizeof(float), 4, 4);
  copy.dstArray = pile;
  copy.extent = make_cudaExtent(4, 4, 3);
  CHECK(cudaMemcpy3D(&copy));
  CHECK(cudaBindTextureToArray(layers, pile));
  of_layers<<<1, 3>>>(out);
  CHECK(cudaMemcpy(got, out, 3 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 9 && got[1] == 25 && got[2] == 41);

  cudaMipmappedArray_t levels;
  CHECK(cudaMallocMipmappedArray(&levels, &floats, make_cudaExtent(4, 4, 0), 3));
  for (int l = 0; l < 3; l++) {
    cudaArray_t level;
    std::vector<float> same(16, 100 * l);
    CHECK(cudaGetMipmappedArrayLevel(&level, levels, l));
    CHECK(cudaMemcpy2DToArray(level, 0, 0, same.data(), (4 >> l) * sizeof(float), (4 >> l) * sizeof(float), 4 >> l,
                              cudaMemcpyHostToDevice));
  }
  pyramid.normalized = true;
  pyramid.maxMipmapLevelClamp = 2;
  CHECK(cudaBindTextureToMipmappedArray(pyramid, levels));
  of_levels<<<1, 3>>>(out);
  CHECK(cudaMemcpy(got, out, 3 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 0 && got[1] == 100 && got[2] == 200);

  // a reset unbinds
  CHECK(cudaDeviceReset());
  EXPECT(cudaGetTextureAlignmentOffset(&offset, weights) == cudaErrorInvalidTextureBinding);
  CHECK(cudaMalloc(&da, sizeof(float)));
  CHECK(cudaBindTexture(0, weights, da));
  CHECK(cudaGetTextureAlignmentOffset(&offset, weights));

  textureReference other = {};
  EXPECT(cudaUnbindTexture(&other) == cudaErrorInvalidTexture);
  puts("passed");
}

// Rows of the features' table about textures, surfaces, matrices and formatted output at their edges.
// no nvcc: it has no shuffles without masks, and functions of clang
#include "check.h"
#include <cmath>
#include <cstring>
#include <cuda_fp16.h>
#include <mma.h>
#include <string>
#include <unistd.h>
#include <vector>
using namespace nvcuda;

static float *out;
static void done(const char *row) { printf("%s: so\n", row); }
static int lanes() {
  int n = 0;
  CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0));
  return n;
}
static std::vector<float> results(int n) {
  std::vector<float> h(n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  return h;
}

/* ---- textures ---------------------------------------------------------------------------------------------------*/
template <class T> static cudaArray_t array_of(const T *texels, int w, int h, unsigned flags = 0) {
  cudaArray_t a;
  cudaChannelFormatDesc d = cudaCreateChannelDesc<T>();
  CHECK(cudaMallocArray(&a, &d, w, h, flags));
  CHECK(cudaMemcpy2DToArray(a, 0, 0, texels, w * sizeof(T), w * sizeof(T), h ? h : 1, cudaMemcpyHostToDevice));
  return a;
}
static cudaTextureObject_t texture_of(cudaArray_t a, cudaTextureAddressMode mode, bool normalized_read,
                                      bool normalized) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = a;
  cudaTextureDesc t = {};
  t.addressMode[0] = t.addressMode[1] = mode;
  t.readMode = normalized_read ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  t.normalizedCoords = normalized;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &r, &t, nullptr));
  return object;
}
__global__ void bytes(cudaTextureObject_t read, cudaTextureObject_t element, float *p) {
  p[0] = tex2D<float>(read, 0.5f, 0.5f), p[1] = tex2D<float>(read, 1.5f, 0.5f);
  p[2] = tex2D<unsigned char>(element, 0.5f, 0.5f), p[3] = tex2D<unsigned char>(element, 1.5f, 0.5f);
}
__global__ void outside(cudaTextureObject_t clamp, cudaTextureObject_t border, cudaTextureObject_t wrap, float *p) {
  p[0] = tex2D<float>(clamp, -1, 0.5f), p[1] = tex2D<float>(clamp, 9, 0.5f);
  p[2] = tex2D<float>(border, -1, 0.5f), p[3] = tex2D<float>(border, 9, 0.5f);
  p[4] = tex2D<float>(wrap, 1.125f, 0.1f), p[5] = tex2D<float>(wrap, -0.125f, 0.1f);
}
__global__ void gathered(cudaTextureObject_t t, float *p) {
  float4 v = tex2Dgather<float4>(t, 1, 1, 0);
  p[0] = v.x, p[1] = v.y, p[2] = v.z, p[3] = v.w;
}
__global__ void by_level(cudaTextureObject_t t, float *p) {
  for (int k = 0; k < 3; k++) p[k] = tex2DLod<float>(t, 0.5f, 0.5f, k);
  p[3] = tex2DGrad<float>(t, 0.5f, 0.5f, make_float2(0.125f, 0), make_float2(0, 0.125f));
  p[4] = tex2DGrad<float>(t, 0.5f, 0.5f, make_float2(0.25f, 0), make_float2(0, 0.25f));
}
__global__ void edges(cudaSurfaceObject_t s, float *p) {
  p[0] = surf2Dread<float>(s, -4, 0, cudaBoundaryModeClamp), p[1] = surf2Dread<float>(s, 16, 1, cudaBoundaryModeClamp);
  p[2] = surf2Dread<float>(s, -4, 0, cudaBoundaryModeZero), p[3] = surf2Dread<float>(s, 16, 1, cudaBoundaryModeZero);
  surf2Dwrite(99.0f, s, 16, 0, cudaBoundaryModeZero);
  surf2Dwrite(77.0f, s, -4, 1, cudaBoundaryModeClamp);
  p[4] = surf2Dread<float>(s, 12, 0), p[5] = surf2Dread<float>(s, 0, 1);
}
__global__ void trapping(cudaSurfaceObject_t s, float *p) { *p = surf2Dread<float>(s, 16, 0); }
static cudaSurfaceObject_t surface_of(cudaArray_t a) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = a;
  cudaSurfaceObject_t s;
  CHECK(cudaCreateSurfaceObject(&s, &r));
  return s;
}

static void textures() {
  const unsigned char letters[] = {255, 51};
  cudaArray_t a = array_of(letters, 2, 1);
  bytes<<<1, 1>>>(texture_of(a, cudaAddressModeClamp, true, false), texture_of(a, cudaAddressModeClamp, false, false),
                  out);
  auto h = results(6);
  EXPECT(h[0] == 1 && h[1] == 51 / 255.0f && h[2] == 255 && h[3] == 51);
  done("texture read mode");
  const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};
  a = array_of(numbers, 4, 2);
  outside<<<1, 1>>>(texture_of(a, cudaAddressModeClamp, false, false),
                    texture_of(a, cudaAddressModeBorder, false, false), texture_of(a, cudaAddressModeWrap, false, true),
                    out);
  h = results(6);
  EXPECT(h[0] == 1 && h[1] == 4 && h[2] == 0 && h[3] == 0 && h[4] == 1 && h[5] == 4);
  done("texture coordinates and addressing");
  gathered<<<1, 1>>>(texture_of(a, cudaAddressModeClamp, false, false), out);
  h = results(4);
  EXPECT(h[0] == 5 && h[1] == 6 && h[2] == 2 && h[3] == 1);
  done("texture gather");
  cudaMipmappedArray_t m;
  cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocMipmappedArray(&m, &d, make_cudaExtent(8, 8, 0), 3));
  for (int k = 0; k < 3; k++) {
    cudaArray_t level;
    std::vector<float> texels(64, 10.0f * (k + 1));
    CHECK(cudaGetMipmappedArrayLevel(&level, m, k));
    CHECK(cudaMemcpy2DToArray(level, 0, 0, texels.data(), (8 >> k) * 4, (8 >> k) * 4, 8 >> k, cudaMemcpyHostToDevice));
  }
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeMipmappedArray;
  r.res.mipmap.mipmap = m;
  cudaTextureDesc t = {};
  t.normalizedCoords = 1;
  t.maxMipmapLevelClamp = 2;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &r, &t, nullptr));
  by_level<<<1, 1>>>(object, out);
  h = results(5);
  EXPECT(h[0] == 10 && h[1] == 20 && h[2] == 30 && h[3] == 10 && h[4] == 20);
  done("texture level of detail and gradients");
  a = array_of(numbers, 4, 2, cudaArraySurfaceLoadStore);
  edges<<<1, 1>>>(surface_of(a), out);
  h = results(6);
  EXPECT(h[0] == 1 && h[1] == 8 && h[2] == 0 && h[3] == 0 && h[4] == 4 && h[5] == 77);
  done("surface boundary modes");
}

/* ---- numbers ----------------------------------------------------------------------------------------------------*/
__global__ void small(float *p, float least) {
  p[0] = __fmaf_ieee_rn(least, 0.5f, least), p[1] = __fmaf_rn(least, 0.5f, least), p[2] = least * 0.5f;
  p[3] = sqrtf(-1.0f), p[4] = logf(0.0f), p[5] = expf(1000.0f), p[6] = nanf("") + (float)nan("");
}
__global__ void without_masks(float *p) {
  if (threadIdx.x % 2) return;
  const int lane = threadIdx.x;
  p[lane] = __any(lane == 4) + 2 * __all(lane % 2 == 0) + 4 * (__popcll(__ballot(1)) == warpSize / 2);
  p[lane + 1] =
      __shfl(lane, 6) + 100 * __shfl_xor(lane, 2) + 10000 * __shfl_up(lane, 2) + 1000000 * __shfl_down(lane, 2);
}

/* ---- matrices ---------------------------------------------------------------------------------------------------*/
__global__ void tf32(const float *a, const float *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 8);
  wmma::load_matrix_sync(fb, b, 24); // a tile of wider rows
  for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] *= 0.5f;
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
__global__ void bits(const unsigned *a, const unsigned *b, int *c, bool skip) {
  if (threadIdx.x >= warpSize || skip) return; // the other warp goes its own way
  using wmma::experimental::precision::b1;
  wmma::fragment<wmma::matrix_a, 8, 8, 128, b1, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, b1, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
  wmma::fill_fragment(fc, 0);
  wmma::load_matrix_sync(fa, a, 128);
  wmma::load_matrix_sync(fb, b, 128);
  wmma::bmma_sync(fc, fa, fb, fc, wmma::experimental::bmmaBitOpXOR, wmma::experimental::bmmaAccumulateOpPOPC);
  wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
}
template <class T> __global__ void nibbles(const unsigned *a, const unsigned *b, int *c) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
  wmma::fill_fragment(fc, 7);
  wmma::load_matrix_sync(fa, a, 32);
  wmma::load_matrix_sync(fb, b, 32);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
}
__global__ void overflowing(float *p, float x, bool brk) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
  wmma::fill_fragment(a, __float2half(x));
  wmma::fill_fragment(b, __float2half(200.0f));
  wmma::fill_fragment(c, __float2half(0.0f));
  wmma::mma_sync(c, a, b, c, true);
  if (threadIdx.x == 0) *p = __half2float(c.x[0]);
  if (brk) __brkpt();
}
template <bool IS_SIGNED> static bool right(const unsigned *a, const unsigned *b, const int *c) {
  for (int i = 0; i < 64; i++) {
    int sum = 7;
    for (int k = 0; k < 32; k++) {
      int x = a[i / 8 * 4 + k / 8] >> k % 8 * 4 & 15, y = b[i % 8 * 4 + k / 8] >> k % 8 * 4 & 15;
      if (IS_SIGNED) x -= x & 8 ? 16 : 0, y -= y & 8 ? 16 : 0;
      sum += x * y;
    }
    if (c[i] != sum) return false;
  }
  return true;
}
static void matrices() {
  float a[16 * 8], b[16 * 24];
  for (int i = 0; i < 16 * 8; i++) a[i] = 1 + i % 7 / 8192.0f;
  for (int i = 0; i < 16 * 24; i++) b[i] = i % 5;
  Buffer<float> da(16 * 8), db(16 * 24);
  da.put(a);
  db.put(b);
  tf32<<<1, lanes()>>>(da.p, db.p, out);
  auto h = results(256);
  for (int i = 0; i < 256; i++) {
    float sum = 0;
    for (int k = 0; k < 8; k++) sum += 0.5f * b[i % 16 * 24 + k]; // a's last bits are beyond the format
    EXPECT(std::fabs(h[i] - sum) < 0.02f);
  }
  done("wmma tf32");
  done("wmma element access");
  done("wmma alignment");
  unsigned state = 5, x[64], y[64];
  int c[64];
  for (int i = 0; i < 64; i++) x[i] = random_of(state) * 2654435761u, y[i] = random_of(state) * 40503u;
  Buffer<unsigned> dx(64), dy(64);
  Buffer<int> dc(64);
  dx.put(x);
  dy.put(y);
  const int warp = lanes();
  bits<<<1, 2 * warp>>>(dx.p, dy.p, dc.p, false);
  dc.get(c);
  for (int i = 0; i < 64; i++) {
    int sum = 0;
    for (int k = 0; k < 4; k++) sum += __builtin_popcount(x[i / 8 * 4 + k] ^ y[i % 8 * 4 + k]);
    EXPECT(c[i] == sum);
  }
  done("matrix operations are warp-wide");
  nibbles<wmma::experimental::precision::u4><<<1, warp>>>(dx.p, dy.p, dc.p);
  dc.get(c);
  EXPECT(right<false>(x, y, c));
  nibbles<wmma::experimental::precision::s4><<<1, warp>>>(dx.p, dy.p, dc.p);
  dc.get(c);
  EXPECT(right<true>(x, y, c));
  done("wmma sub-byte");
  float most[3];
  overflowing<<<1, warp>>>(out, 100, true);
  overflowing<<<1, warp>>>(out + 1, -100, false);
  overflowing<<<1, warp>>>(out + 2, NAN, false);
  CHECK(cudaMemcpy(most, out, sizeof most, cudaMemcpyDeviceToHost));
  EXPECT(most[0] == 65504 && most[1] == -65504 && most[2] == 0);
  done("wmma saturation to finite");
  done("breakpoint");
}

/* ---- formatted output -------------------------------------------------------------------------------------------*/
/* What a call prints, by way of a pipe in the place of stdout. */
template <class F> static std::string printed(F f) {
  fflush(stdout);
  FILE *file = tmpfile();
  const int kept = dup(1);
  dup2(fileno(file), 1);
  f();
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
  std::string text(lseek(fileno(file), 0, SEEK_END), 0);
  EXPECT(pread(fileno(file), &text[0], text.size(), 0) == (ssize_t)text.size());
  fclose(file);
  return text;
}
__global__ void many() {
  printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2,
         3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
         32, 33);
}
__global__ void odd() { printf("%5.2f|%-4d|%s|%x|%c|%%\n", 3.14159, 7, "text", 255u, 'c'); }
__global__ void line_of_lane() { printf("%d\n", (int)threadIdx.x); }
__global__ void numbered(int n) {
  for (int i = 0; i < n; i++) printf("line %06d\n", i);
}
static void output() {
  std::string s = printed([] { many<<<1, 1>>>(), cudaDeviceSynchronize(); });
  EXPECT(s.find(" 31 32 %d") != std::string::npos);
  done("printf limits");
  EXPECT(printed([] { odd<<<1, 1>>>(), cudaDeviceSynchronize(); }) == " 3.14|7   |text|ff|c|%\n");
  done("printf any combination accepted");
  std::string want;
  for (int i = 0; i < 64; i++) want += std::to_string(i) + "\n";
  EXPECT(printed([] { line_of_lane<<<1, 64>>>(), cudaDeviceSynchronize(); }) == want);
  done("printf ordering");
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  EXPECT(printed([&] { odd<<<1, 1, 0, stream>>>(); }).empty());
  EXPECT(!printed([&] { cudaStreamSynchronize(stream); }).empty());
  done("printf flush points");
  CHECK(cudaDeviceReset());
  CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4096));
  s = printed([] { numbered<<<1, 1>>>(1000), cudaDeviceSynchronize(); });
  EXPECT(s.size() > 100 && s.size() < 8000 && s.find("line 000999\n") != std::string::npos &&
         s.find("line 000000") == std::string::npos && s.compare(0, 5, "line ") == 0);
  done("printf buffer");
}

int main() {
  CHECK(cudaMalloc(&out, 256 * sizeof(float)));
  textures();
  small<<<1, 1>>>(out, 1e-38f * 0.01f);
  auto h = results(7);
  const float least = 1e-38f * 0.01f;
  EXPECT(h[0] == least * 1.5f && h[1] == least * 1.5f && h[2] == least * 0.5f && h[2] > 0);
  done("subnormals and -ftz");
  EXPECT(std::isnan(h[3]) && std::isinf(h[4]) && std::isinf(h[5]) && std::isnan(h[6]));
  done("math functions have no errno");
  const int warp = lanes();
  without_masks<<<1, warp>>>(out);
  h = results(warp);
  for (int lane = 0; lane < warp; lane += 2) {
    const int up = lane < 2 ? lane : lane - 2, down = lane + 2 < warp ? lane + 2 : lane;
    EXPECT(h[lane] == 7 && h[lane + 1] == (float)(6 + 100 * (lane ^ 2) + 10000 * up + 1000000 * down));
  }
  done("legacy maskless warp functions");
  matrices();
  output();
  puts("passed");
}

// Numbers of eight bits: every half as both kinds and back, sums of products of quantised values, pairs and fours.
#include "check.h"
#include <cmath>
#include <cuda_fp8.h>
#include <nvtx3/nvToolsExt.h>

__global__ void convert(unsigned char *e4, unsigned char *e5, unsigned char *free4, unsigned char *free5) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half_raw h;
  h.x = i;
  e4[i] = __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E4M3);
  e5[i] = __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E5M2);
  free4[i] = __nv_cvt_float_to_fp8(__half2float(__half(h)) * 1.5f, __NV_NOSAT, __NV_E4M3);
  free5[i] = __nv_cvt_float_to_fp8(__half2float(__half(h)) * 1.125f, __NV_NOSAT, __NV_E5M2);
}
__global__ void back(unsigned short *out) {
  int i = threadIdx.x;
  out[i] = __nv_cvt_fp8_to_halfraw(i, __NV_E4M3).x;
  out[256 + i] = __nv_cvt_fp8_to_halfraw(i, __NV_E5M2).x;
}
__global__ void quantise(const float4 *in, __nv_fp8x4_e4m3 *out, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __nv_fp8x4_e4m3(float4{in[i].x * scale, in[i].y * scale, in[i].z * scale, in[i].w * scale});
}
__global__ void dot(const __nv_fp8_e4m3 *a, const __nv_fp8_e5m2 *b, float *out, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += float(a[i]) * float(b[i]);
  out[threadIdx.x] = s;
}
static unsigned long hash(const unsigned char *p, size_t n) {
  unsigned long h = 1469598103934665603ul;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211ul;
  return h;
}

int main() {
  const int n = 1 << 16;
  static unsigned char out[4][n];
  Buffer<unsigned char> d(4 * n);
  nvtxRangePush("all halves");
  convert<<<n / 256, 256>>>(d.p, d.p + n, d.p + 2 * n, d.p + 3 * n);
  nvtxRangePop();
  d.get(out[0]);
  for (auto &o : out) printf("%016lx\n", hash(o, n));
  for (int i = 0; i < n; i++) { // the host agrees
    __half_raw h;
    h.x = i;
    EXPECT(out[0][i] == __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E4M3));
    EXPECT(out[1][i] == __nv_fp8_e5m2(__half(h)).__x);
  }
  Buffer<unsigned short> b(512);
  unsigned short halves[512];
  back<<<1, 256>>>(b.p);
  b.get(halves);
  printf("%016lx\n", hash((unsigned char *)halves, sizeof halves));
  for (int k : {0x01, 0x07, 0x08, 0x38, 0x7E, 0x7F, 0xB8}) printf("%04x %04x\n", halves[k], halves[256 + k]);

  const int m = 1000;
  Buffer<float4> in(m / 4);
  Buffer<__nv_fp8x4_e4m3> q(m / 4);
  Buffer<__nv_fp8_e5m2> other(m);
  Buffer<float> sums(64);
  float f[m], s[64], total = 0, exact = 0;
  __nv_fp8_e5m2 e[m];
  for (int i = 0; i < m; i++)
    f[i] = std::sin(i * 0.37f), e[i] = __nv_fp8_e5m2(std::cos(i * 0.11f)), exact += f[i] * float(e[i]);
  in.put((float4 *)f);
  other.put(e);
  quantise<<<2, 128>>>(in.p, q.p, 16, m / 4);
  dot<<<1, 64>>>((const __nv_fp8_e4m3 *)q.p, other.p, sums.p, m);
  sums.get(s);
  for (float x : s) total += x / 16;
  EXPECT(std::fabs(total - exact) < 2);
  __nv_fp8x2_e5m2 pair(float2{1.3f, -700.f});
  float2 p = float2(pair);
  printf("%.4f %g %g\n", total, p.x, p.y);
  puts("passed");
}

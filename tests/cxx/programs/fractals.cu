// Pictures of numbers: the Mandelbrot set in doubles and floats over streams, an escape by a template's function, Newton's
// basins with complex arithmetic, a ray tracer of spheres with reflections, and Perlin's noise from a constant table.
#include "check.h"
#include <cmath>
#include <vector>

template <class T> __global__ void mandelbrot(unsigned char *out, int w, int h, T x0, T y0, T step, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  T cx = x0 + x * step, cy = y0 + y * step, zx = 0, zy = 0;
  int n = 0;
  while (n < most && zx * zx + zy * zy < 4) {
    T t = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy, zx = t;
    n++;
  }
  out[y * w + x] = (unsigned char)n;
}

struct Sphere {
  float3 at;
  float radius, mirror;
};
__constant__ Sphere spheres[4];
__device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ bool meet(float3 from, float3 way, float &t, int &which) {
  which = -1;
  for (int i = 0; i < 4; i++) {
    float3 d = from - spheres[i].at;
    float b = dot(d, way), c = dot(d, d) - spheres[i].radius * spheres[i].radius, q = b * b - c;
    if (q <= 0) continue;
    float s = -b - sqrtf(q);
    if (s > 1e-3f && (which < 0 || s < t)) t = s, which = i;
  }
  return which >= 0;
}
__device__ float trace(float3 from, float3 way, int depth) {
  float t;
  int i;
  if (!meet(from, way, t, i)) return 0.2f + 0.3f * fmaxf(way.y, 0);
  float3 p = from + t * way, n = (1 / spheres[i].radius) * (p - spheres[i].at), light = make_float3(0.6f, 0.7f, -0.38729833f);
  float shade = fmaxf(dot(n, light), 0), far;
  int other;
  if (meet(p, light, far, other)) shade *= 0.3f;
  if (depth == 0 || spheres[i].mirror == 0) return shade;
  return (1 - spheres[i].mirror) * shade + spheres[i].mirror * trace(p, way - 2 * dot(way, n) * n, depth - 1);
}
__global__ void scene(float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float3 way = make_float3((x + 0.5f) / w - 0.5f, 0.5f - (y + 0.5f) / h, 1);
  out[y * w + x] = trace(make_float3(0, 0, -3), rsqrtf(dot(way, way)) * way, 3);
}

__global__ void newton(unsigned char *out, int w) {
  int x = threadIdx.x, y = blockIdx.x;
  double re = (x + 0.5) / w * 4 - 2, im = (y + 0.5) / w * 4 - 2;
  for (int k = 0; k < 40; k++) { // z - (z^3 - 1) / (3 z^2)
    double a = re * re - im * im, b = 2 * re * im, d = 3 * (a * a + b * b);
    double nr = re * a - im * b - 1, ni = re * b + im * a;
    re -= (nr * a + ni * b) * 3 / d / 3, im -= (ni * a - nr * b) * 3 / d / 3;
  }
  out[y * w + x] = re > 0.5 ? 0 : im > 0 ? 1 : 2;
}

int main() {
  const int w = 64, h = 48;
  Buffer<unsigned char> a(w * h), b(w * h);
  cudaStream_t s[2];
  for (cudaStream_t &x : s) CHECK(cudaStreamCreate(&x));
  mandelbrot<double><<<dim3(4, 6), dim3(16, 8), 0, s[0]>>>(a.p, w, h, -2.0, -1.2, 0.05, 200);
  mandelbrot<float><<<dim3(2, 12), dim3(32, 4), 0, s[1]>>>(b.p, w, h, -2.0f, -1.2f, 0.05f, 200);
  for (cudaStream_t x : s) CHECK(cudaStreamSynchronize(x));
  std::vector<unsigned char> d(w * h), f(w * h);
  a.get(d.data()), b.get(f.data());
  int same = 0, inside = 0;
  for (int i = 0; i < w * h; i++) same += abs(d[i] - f[i]) <= 1, inside += d[i] == 200;
  EXPECT(same > w * h * 95 / 100 && inside > 300);
  EXPECT(d[24 * w] >= 1 && d[24 * w + 40] == 200 && d[0] <= 2);
  newton<<<48, 48>>>(a.p, 48);
  CHECK(cudaMemcpy(d.data(), a.p, 48 * 48, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 48; y++)
    for (int x = 0; x < 48; x++) { // the picture is the same upside down, with two colours changed
      int p = d[y * 48 + x], q = d[(47 - y) * 48 + x];
      EXPECT(p == 0 ? q == 0 : p + q == 3);
    }
  Sphere list[4] = {{{0, 0, 0}, 0.5f, 0.5f}, {{0.9f, 0.3f, 1}, 0.5f, 0}, {{-1, 0.2f, 0.6f}, 0.4f, 0.3f}, {{0, -100.5f, 0}, 100, 0}};
  CHECK(cudaMemcpyToSymbol(spheres, list, sizeof list));
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  Buffer<float> picture(w * h);
  std::vector<float> g(w * h);
  scene<<<dim3(1, h), w>>>(picture.p, w, h);
  CHECK(cudaDeviceSynchronize());
  picture.get(g.data());
  double sum = 0;
  for (float v : g) {
    EXPECT(v >= 0 && v <= 1.01f);
    sum += v;
  }
  EXPECT(g[24 * w + 32] > 0.05f && g[24 * w + 32] < 0.95f && fabsf(g[2 * w + 3] - 0.2f) < 0.2f);
  for (cudaStream_t x : s) CHECK(cudaStreamDestroy(x));
  printf("%d inside, %.1f\npassed\n", inside, sum);
}

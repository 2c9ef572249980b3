// A fast Fourier transform by Stockham's method, its inverse, and a convolution by it, on float2 with a table of roots.
#include "check.h"
#include <cmath>
#include <vector>

__host__ __device__ inline float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__host__ __device__ inline float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__host__ __device__ inline float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

__global__ void roots(float2 *table, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s, c;
  sincospif(-2.0f * i / n, &s, &c);
  table[i] = make_float2(c, s);
}

// One pass: butterflies of two halves, written where the next pass finds them in order.
__global__ void pass(const float2 *__restrict__ in, float2 *__restrict__ out, const float2 *__restrict__ table, int n, int span, bool inverse) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 2) return;
  int k = i & (span - 1);
  float2 w = table[k * (n / 2 / span)];
  if (inverse) w.y = -w.y;
  float2 a = in[i], b = w * in[i + n / 2];
  int at = ((i - k) << 1) + k;
  out[at] = a + b;
  out[at + span] = a - b;
}

__global__ void multiply(float2 *a, const float2 *b, int n, float scale) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float2 c = a[i] * b[i];
    a[i] = make_float2(c.x * scale, c.y * scale);
  }
}

static float2 *transform(float2 *a, float2 *b, const float2 *table, int n, bool inverse) {
  for (int span = 1; span < n; span *= 2) {
    pass<<<(n / 2 + 127) / 128, 128>>>(a, b, table, n, span, inverse);
    CHECK(cudaGetLastError());
    std::swap(a, b);
  }
  return a;
}

int main() {
  const int n = 1024;
  std::vector<float2> x(n), y(n), got(n);
  unsigned state = 11;
  for (int i = 0; i < n; i++) {
    x[i] = make_float2(i < n / 2 ? (float)(random_of(state) % 17) - 8 : 0, 0);
    y[i] = make_float2(i < 9 ? (float)(i + 1) : 0, 0);
  }
  Buffer<float2> a(n), b(n), c(n), d(n), table(n);
  roots<<<8, 128>>>(table.p, n);
  a.put(x.data()), b.put(y.data());
  float2 *fx = transform(a.p, c.p, table.p, n, false);
  CHECK(cudaMemcpy(got.data(), fx, n * sizeof(float2), cudaMemcpyDeviceToHost));
  double worst = 0;
  for (int k = 0; k < n; k += 37) { // a few of the sums, done plainly
    double re = 0, im = 0;
    for (int i = 0; i < n; i++) {
      double t = -2 * M_PI * ((long)i * k % n) / n;
      re += x[i].x * cos(t), im += x[i].x * sin(t);
    }
    worst = fmax(worst, fmax(fabs(re - got[k].x), fabs(im - got[k].y)));
  }
  EXPECT(worst < 1e-2);
  float2 *fy = transform(b.p, d.p, table.p, n, false);
  multiply<<<4, 64>>>(fx, fy, n, 1.0f / n);
  float2 *back = transform(fx, fx == a.p ? c.p : a.p, table.p, n, true);
  CHECK(cudaMemcpy(got.data(), back, n * sizeof(float2), cudaMemcpyDeviceToHost));
  long long sum = 0;
  for (int i = 0; i < n; i++) {
    float want = 0;
    for (int k = 0; k < 9 && k <= i; k++) want += x[i - k].x * y[k].x;
    EXPECT(fabsf(got[i].x - want) < 1e-2f && fabsf(got[i].y) < 1e-2f);
    sum += llrintf(got[i].x);
  }
  printf("sum of the convolution %lld\npassed\n", sum);
}

// Mathematical functions under all of their names, float and double, against the host's within a few units in the last place.
#include "check.h"
#include <algorithm>
#include <cmath>
#include <vector>

template <class T> __host__ __device__ void functions(T x, T *r) {
  using namespace std;
  int e;
  T whole;
  r[0] = sin(x), r[1] = cos(x), r[2] = tan(x / 8), r[3] = exp(x / 4), r[4] = log(fabs(x) + 1), r[5] = sqrt(fabs(x));
  r[6] = pow(fabs(x), T(1.5)), r[7] = atan2(x, T(2)), r[8] = floor(x), r[9] = ceil(x), r[10] = fmod(x, T(0.75)), r[11] = cbrt(x);
  r[12] = frexp(x, &e), r[13] = e, r[14] = modf(x, &whole), r[15] = whole, r[16] = hypot(x, T(3)), r[17] = erf(x), r[18] = tgamma(fabs(x) + T(0.5));
  r[19] = fma(x, x, T(-1)), r[20] = copysign(T(2), x), r[21] = round(x), r[22] = trunc(x), r[23] = rint(x), r[24] = log2(fabs(x) + 1);
  r[25] = fmin(x, T(1)), r[26] = fmax(x, T(-1)), r[27] = sinh(x / 4), r[28] = asinh(x), r[29] = isnan(x) + 2 * isinf(x) + 4 * signbit(x);
  r[30] = ldexp(x, 3), r[31] = remainder(x, T(0.7)), r[32] = abs(x), r[33] = expm1(x / 16), r[34] = log1p(fabs(x)), r[35] = exp2(x);
}
constexpr int COUNT = 36;

template <class T> __global__ void run(const T *x, T *r, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) functions(x[i], r + i * COUNT);
}
__global__ void fast(float *r) {
  float x = threadIdx.x * 0.25f + 0.5f, s, c;
  __sincosf(x, &s, &c);
  r[threadIdx.x] = __expf(-x) + s * s + c * c + __fdividef(x, 2.0f) + rsqrtf(x * x) * x + __powf(x, 2.0f) / (x * x) + normcdff(0.0f) + __saturatef(x + 1);
}

template <class T> int compare(const char *name, double units) {
  const int n = 96;
  std::vector<T> x(n), r(n * COUNT), h(COUNT);
  for (int i = 0; i < n; i++) x[i] = T(i - 48) / T(9) + T(0.01);
  Buffer<T> dx(n), dr(n * COUNT);
  dx.put(x.data());
  run<<<3, 32>>>(dx.p, dr.p, n);
  CHECK(cudaGetLastError());
  dr.get(r.data());
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    functions(x[i], h.data());
    for (int k = 0; k < COUNT; k++) {
      double a = r[i * COUNT + k], b = h[k], unit = std::ldexp(1.0, std::max(std::ilogb(b), -100) - (sizeof(T) == 4 ? 23 : 52));
      if (std::fabs(a - b) > units * unit) printf("%s %d of %g: %.17g, not %.17g\n", name, k, (double)x[i], a, b), wrong++;
    }
  }
  return wrong;
}

int main() {
  EXPECT(compare<float>("float", 12) == 0);
  EXPECT(compare<double>("double", 16) == 0);
  Buffer<float> d(32);
  float r[32];
  fast<<<1, 32>>>(d.p);
  d.get(r);
  for (int t = 0; t < 32; t++) {
    float x = t * 0.25f + 0.5f;
    EXPECT(std::fabs(r[t] - (std::exp(-x) + 1 + x / 2 + 1 + 1 + 0.5f + 1)) < 1e-4f);
  }
  puts("passed");
}

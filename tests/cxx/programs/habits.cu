// Habits of programs that other compilers take, some with a warning: words of old C++, numbers that are narrowed,
// constants and constexpr functions of the host in kernels, operators on vector types, much of the library beside it.
#include "check.h"
#include <common_functions.h>
#include <sm_20_intrinsics.h>
#include <sm_61_intrinsics.h>
#include <algorithm>
#include <array>
#include <cfloat>
#include <cinttypes>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
using namespace std;

const float PI_F = 3.14159f;
const int N = 100;
static const double EPSILON = 1e-6;
constexpr int TABLE[4] = {1, 2, 3, 4};

struct Settings {
  int a, b;
  float c;
};
__constant__ Settings settings;
__constant__ float weights[3][3];

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator*(float s, const float3 &a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__host__ __device__ inline float dot(const float3 &a, const float3 &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline __host__ __device__ float3 normalize(float3 v) { return 1.0f / sqrtf(dot(v, v)) * v; }
inline __device__ __host__ float clamp(float f, float a, float b) { return fmaxf(a, fminf(f, b)); }
inline __host__ __device__ float4 make_float4(float3 a, float w) { return make_float4(a.x, a.y, a.z, w); }
__host__ __device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
static __noinline__ __device__ void exchange(int &a, int &b) {
  int t = a;
  a = b;
  b = t;
}

__global__ void mixture(float *out, int n) {
  register int i = threadIdx.x;
  if (i >= n) return;
  const float3 v = normalize(make_float3(i + 1, 2, 3) + make_float3(0, 1, 0));
  const float4 w = make_float4(v, 1.f);
  float sum = w.x + w.w + PI_F * N + EPSILON + TABLE[2] + settings.c + weights[1][2];
  sum += clamp(i * .5f, 1.f, 3.f) + lerp(1, 2, .5f) + std::min(i, 5) + max(i, 3) + std::max(1.0f, 2.0f);
  sum += numeric_limits<short>::max() + (numeric_limits<float>::epsilon() > 0) + FLT_MAX * 0;
  int a = 1, b = i;
  exchange(a, b);
  const uint32_t u = i;
  const std::array<int, 3> three = {1, 2, i};
  sum += a + u % 3 + (int64_t)u + three[2] + three.size() + std::clamp(i, 1, 3) + std::abs(-i);
  sum += std::isnan(v.x) + std::signbit(v.y) + std::fma(v.x, v.y, v.z) + std::hypot(v.x, v.y);
  out[i] = sum;
}

template <class T, T (*F)(T)> __global__ void each(T *p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = F(p[i]);
}
__device__ float squared(float x) { return x * x; }

template <typename... A> __global__ void sum_of(int *out, A... a) {
  int s = 0;
  ((s += a), ...);
  *out = s;
}

struct Large {
  int v[900];
};
__global__ void large(Large p, int *out) { *out = p.v[threadIdx.x + 5] + p.v[899]; }

// words that older guides had for templates are free again
struct surface {
  int a, b;
};
template <class T> class texture {
  T value;

public:
  __device__ texture(T v) : value(v) {}
  __device__ T at(surface s) const { return value + s.a * s.b; }
};
__global__ void words(int *out) { *out = texture<int>(7).at({2, 3}); }

class Solver {
  float *data;
  int n;
  static int count;

public:
  Solver(int n_) : n(n_) {
    CHECK(cudaMallocManaged(&data, n * sizeof(float)));
    count++;
  }
  ~Solver() { cudaFree(data); }
  static __device__ float next(float x) { return x + 1; }
  void run();
  float at(int i) { return data[i]; }
};
int Solver::count = 0;
__global__ void solve(float *d, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = Solver::next(i);
}
void Solver::run() {
  dim3 grid = {(n + 63) / 64}, block{64};
  solve<<<grid, block>>>(data, n);
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char *argv[]) {
  float *out, w[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  int *number, n = argc + 2;
  const Settings s = {1, 2, 3.5f};
  CHECK(cudaMemcpyToSymbol(settings, &s, sizeof s));
  CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
  CHECK(cudaMallocManaged((void **)&out, 1024));
  CHECK(cudaMallocManaged(&number, 64));
  mixture<<<1, 32>>>(out, 32);
  CHECK(cudaDeviceSynchronize());
  printf("%.3f %.3f\n", out[0], out[31]);
  words<<<1, 1>>>(number);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*number == 13);
  each<float, squared><<<1, 32>>>(out, 32);
  CHECK(cudaDeviceSynchronize());
  printf("%.4g\n", out[2]);
  sum_of<<<1, 1>>>(number, 1, 2.5f, 3L);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*number == 6);
  Large l;
  for (int i = 0; i < 900; i++) l.v[i] = i;
  large<<<1, 1>>>(l, number);
  CHECK(cudaDeviceSynchronize());
  EXPECT(*number == 904);
  Solver solver(100);
  solver.run();
  EXPECT(solver.at(99) == 100);
  void (*kernel)(float *, int) = solve;
  kernel<<<1, 32>>>(out, 32);
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[31] == 32);

  const unsigned narrowed[2] = {n, 4};
  float rows[n];
  rows[0] = narrowed[0];
  std::unique_ptr<int[]> owned = std::make_unique<int[]>(5);
  std::shared_ptr<Settings> shared = std::make_shared<Settings>(s);
  std::thread([&] { owned[0] = shared->b; }).join();
  std::function<int(int)> next = [](int x) { return x + 1; };
  std::map<std::string, int> count;
  std::ostringstream text;
  text << next(owned[0]) << ' ' << ++count["a"] << ' ' << rows[0];
  printf("%s %" PRIu64 "\npassed\n", text.str().c_str(), (uint64_t)5);
}

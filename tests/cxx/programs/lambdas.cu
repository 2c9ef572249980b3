// Lambdas of both sides as arguments of kernels, variadic templates, folds, constexpr tables, if constexpr, tuples,
// iterators of one's own, CRTP, enumerations as classes, structured bindings, user-defined literals.
#include "check.h"
#include <array>
#include <functional>
#include <type_traits>

template <class F> __global__ void for_each(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
template <class F, class... A> __global__ void apply(int n, F f, A... a) {
  int i = threadIdx.x;
  if (i < n) f(i, a...);
}
template <class F> void parallel(int n, F f) {
  int grid, block;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, for_each<F>));
  for_each<<<(n + 127) / 128, 128>>>(n, f);
  CHECK(cudaGetLastError());
}
template <class T, class Map, class Join> __global__ void reduce(int n, T init, Map map, Join join, T *out) {
  __shared__ T s[128];
  T v = init;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v = join(v, map(i));
  s[threadIdx.x] = v;
  for (int k = blockDim.x / 2; k; k /= 2) {
    __syncthreads();
    if (threadIdx.x < k) s[threadIdx.x] = join(s[threadIdx.x], s[threadIdx.x + k]);
  }
  if (threadIdx.x == 0) *out = s[0];
}
template <class Map, class Join, class T> T reduced(int n, T init, Map map, Join join) {
  T *out, h;
  CHECK(cudaMallocManaged(&out, sizeof(T)));
  reduce<<<1, 128>>>(n, init, map, join, out);
  CHECK(cudaDeviceSynchronize());
  h = *out;
  cudaFree(out);
  return h;
}

constexpr int primes_below = 60;
struct Sieve {
  bool is[primes_below];
  constexpr Sieve() : is{} {
    for (int i = 2; i < primes_below; i++) is[i] = true;
    for (int i = 2; i * i < primes_below; i++)
      for (int j = i * i; is[i] && j < primes_below; j += i) is[j] = false;
  }
  __host__ __device__ constexpr int count() const {
    int n = 0;
    for (int i = 0; i < primes_below; i++) n += is[i];
    return n;
  }
};
constexpr int many = Sieve().count();
__constant__ Sieve sieve;
constexpr unsigned long long operator""_k(unsigned long long n) { return n * 1024; }

enum class Op : unsigned char { plus, times, less };
template <Op op, class T> __host__ __device__ constexpr auto does(T a, T b) {
  if constexpr (op == Op::plus) return a + b;
  else if constexpr (op == Op::times) return a * b;
  else return a < b;
}
template <class... T> __host__ __device__ constexpr auto sum_of(T... v) { return (v + ... + 0); }
template <class... T> __device__ bool all_even(T... v) { return ((v % 2 == 0) && ...); }

template <class D> struct Shape {
  __host__ __device__ float area() const { return static_cast<const D *>(this)->area_(); }
};
struct Square : Shape<Square> {
  float a;
  __host__ __device__ explicit Square(float x) : a(x) {}
  __host__ __device__ float area_() const { return a * a; }
};
struct Circle : Shape<Circle> {
  float r;
  __host__ __device__ explicit Circle(float x) : r(x) {}
  __host__ __device__ float area_() const { return 3 * r * r; }
};
template <class T> struct Strided {
  T *p;
  int stride;
  __host__ __device__ T &operator[](int i) const { return p[i * stride]; }
  struct Iterator {
    T *p;
    int stride;
    __host__ __device__ T &operator*() const { return *p; }
    __host__ __device__ Iterator &operator++() { return p += stride, *this; }
    __host__ __device__ bool operator!=(const Iterator &o) const { return p < o.p; }
  };
  int n;
  __host__ __device__ Iterator begin() const { return {p, stride}; }
  __host__ __device__ Iterator end() const { return {p + n * stride, stride}; }
};
struct Functor {
  const int *p;
  __device__ int operator()(int i) const { return p[i] % 7; }
};

int main() {
  const int n = 1000;
  int *a, *b;
  float *f;
  CHECK(cudaMallocManaged(&a, n * sizeof(int)));
  CHECK(cudaMallocManaged(&b, n * sizeof(int)));
  CHECK(cudaMallocManaged(&f, n * sizeof(float)));
  int base = 5;
  parallel(n, [=] __device__(int i) { a[i] = i * base; });
  parallel(n, [=] __host__ __device__(int i) { b[i] = does<Op::plus>(a[i], 1) + does<Op::less>(i, 10); });
  apply<<<1, 64>>>(
      40, [=] __device__(int i, float x, short y, const int *q) { f[i] = x * i + y + q[i]; }, 0.5f, (short)3, b);
  CHECK(cudaDeviceSynchronize());
  printf("%d %d %g\n", a[999], b[9], f[39]);
  auto plus = [] __host__ __device__(long a, long b) { return a + b; };
  auto largest = [] __device__(int a, int b) { return a > b ? a : b; };
  printf("%ld %d %ld\n",
         reduced(
             n, 0l, [=] __device__(int i) { return (long)a[i]; }, plus),
         reduced(
             n, -1, [=] __device__(int i) { return b[i] ^ 21; }, largest),
         reduced(n, 0l, Functor{a}, plus));
  constexpr Sieve s;
  CHECK(cudaMemcpyToSymbol(sieve, &s, sizeof s));
  printf("%d primes, on the device %d, 4k is %llu\n", many,
         reduced(
             primes_below, 0, [] __device__(int i) { return (int)sieve.is[i]; },
             [] __device__(int a, int b) { return a + b; }),
         4_k);
  std::array<int, 5> weights = {1, -2, 3, -4, 5};
  parallel(n, [=] __device__(int i) {
    Square q(i);
    Circle c(i * 0.5f);
    auto total = [&](const auto &x, const auto &y) { return x.area() + y.area(); };
    struct Pair {
      int first;
      float second;
    } pair = {weights[i % 5], total(q, c)};
    auto [w, area] = pair;
    f[i] = w * area + (all_even(i, i + 2, w * 2) ? 0.5f : 0.f) + sum_of(1, 2, i % 3);
  });
  CHECK(cudaDeviceSynchronize());
  double t = 0;
  for (int i = 0; i < n; i++) t += f[i];
  printf("%.2f %g\n", t, f[10]);
  parallel(1, [=] __device__(int) {
    Strided<int> odd{a + 1, 2, n / 2};
    int sum = 0;
    for (int &v : odd) sum += v, v = -v;
    b[0] = sum + odd[3];
  });
  CHECK(cudaDeviceSynchronize());
  printf("%d %d\n", b[0], a[1]);
  puts("passed");
}

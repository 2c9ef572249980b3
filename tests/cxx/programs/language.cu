// The language: classes, templates with variadic arguments, lambdas, recursion, pointers to functions, virtual functions of objects that kernels
// made, constexpr tables, default arguments, loops without bounds, device malloc, structs by value.
#include "check.h"
#include <cstring>
#include <new>

template <class T> __host__ __device__ T sum_of(T v) { return v; }
template <class T, class... R> __host__ __device__ T sum_of(T v, R... rest) { return v + sum_of(rest...); }

__host__ __device__ constexpr int square(int x) { return x * x; }
__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }

class Shape {
public:
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
};
class Circle : public Shape {
  float r;

public:
  __device__ explicit Circle(float r_) : r(r_) {}
  __device__ float area() const override { return 3.0f * r * r; }
};
class Box : public Shape {
  float a, b;

public:
  __device__ Box(float a_, float b_) : a(a_), b(b_) {}
  __device__ float area() const override { return a * b; }
};

struct Parameters {
  char name[13];
  double factor;
  int3 shift;
};

template <class F> __global__ void apply(F f, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(i);
}

__global__ void features(Parameters p, int *out, float *areas) {
  int t = threadIdx.x;
  constexpr int nine = square(3);
  int (*fn)(int) = t % 2 ? twice : thrice;
  Shape *s;
  if (t % 3 == 0) s = new Circle(t);
  else s = new Box(t, 2);
  areas[t] = s->area();
  delete s;
  int *own = (int *)malloc(8 * sizeof(int));
  for (int k = 0; k < 8; k++) own[(k * 5 + t) % 8] = k * t;
  int total = 0;
  for (int k = 0; k < 8; k++) total += own[k];
  free(own);
  auto add = [=](int x) { return x + p.shift.y; };
  out[t] = sum_of(fn(t), nine, factorial(t % 8), total, add(t), (int)(p.factor * 2), (int)p.name[t % 5]);
}

int main() {
  const int n = 64;
  Buffer<int> d(n);
  Buffer<float> da(n);
  int out[n], plus = 5;
  float areas[n];
  Parameters p = {};
  strcpy(p.name, "kernel");
  p.factor = 1.5, p.shift = make_int3(1, 20, 3);
  features<<<1, n>>>(p, d.p, da.p);
  d.get(out);
  da.get(areas);
  long long sum = 0;
  for (int t = 0; t < n; t++) {
    int f = 1;
    for (int k = 2; k <= t % 8; k++) f *= k;
    EXPECT(out[t] == (t % 2 ? 2 : 3) * t + 9 + f + 28 * t + t + 20 + 3 + p.name[t % 5]);
    EXPECT(areas[t] == (t % 3 ? 2.0f * t : 3.0f * t * t));
    sum += out[t];
  }
  apply<<<2, 32>>>([=] __device__(int i) { return i * i + plus; }, d.p, n);
  d.get(out);
  for (int t = 0; t < n; t++) EXPECT(out[t] == t * t + 5);
  EXPECT(sum_of(1, 2, 3) == 6);
  printf("%lld\npassed\n", sum);
}

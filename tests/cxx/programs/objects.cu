// Objects in kernels: virtual functions, made by new in one kernel and ended by delete in another; function pointers in
// a table, to kernels' functions by their address on the host; operators, lambdas, templates of templates, recursion.
#include "check.h"
#include <cmath>
#include <vector>

class Shape {
public:
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 0; }
};
class Circle : public Shape {
  float r;

public:
  __device__ explicit Circle(float r_) : r(r_) {}
  __device__ float area() const override { return 3.14159265f * r * r; }
};
class Box : public Shape {
protected:
  float w, h;

public:
  __device__ Box(float w_, float h_) : w(w_), h(h_) {}
  __device__ float area() const override { return w * h; }
  __device__ int corners() const override { return 4; }
};
class Square final : public Box {
  int *ended;

public:
  __device__ Square(float a, int *e) : Box(a, a), ended(e) {}
  __device__ ~Square() override { atomicAdd(ended, 1); }
};

__global__ void make(Shape **shapes, int n, int *ended) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 3 == 0) shapes[i] = new Circle(i);
  else if (i % 3 == 1) shapes[i] = new Box(i, 2);
  else shapes[i] = new Square(i, ended);
}
__global__ void measure(Shape *const *shapes, int n, float *area, int *corners) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) area[i] = shapes[i]->area(), atomicAdd(corners, shapes[i]->corners());
}
__global__ void end(Shape **shapes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) delete shapes[i];
}

typedef float (*Function)(float, float);
__device__ float plus(float a, float b) { return a + b; }
__device__ float times(float a, float b) { return a * b; }
__device__ float power(float a, float b) { return b < 0.5f ? 1 : a * power(a, b - 1); }
__device__ Function table[] = {plus, times, power};
__device__ Function chosen = times;
__global__ void apply(const int *which, const float *a, float b, float *out, int n, Function extra) {
  int i = threadIdx.x;
  if (i < n) out[i] = which[i] < 3 ? table[which[i]](a[i], b) : extra(a[i], b + 1);
}

template <class F> __global__ void each(float *p, int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = f(p[i], i);
}
template <template <class> class Op, class T> struct Twice {
  __host__ __device__ T operator()(T v, int i) const { return Op<T>()(Op<T>()(v, i), i); }
};
template <class T> struct AddIndex {
  __host__ __device__ T operator()(T v, int i) const { return v + i; }
};
template <class... A> __host__ __device__ float sum(A... a) { return (a + ... + 0.0f); }

struct Ackermann {
  __device__ static int of(int m, int n) { return m == 0 ? n + 1 : n == 0 ? of(m - 1, 1) : of(m - 1, of(m, n - 1)); }
};
__device__ int queens(int n, unsigned columns, unsigned left, unsigned right) {
  unsigned all = (1u << n) - 1, open = all & ~(columns | left | right);
  if (columns == all) return 1;
  int found = 0;
  while (open) {
    unsigned bit = open & (0u - open);
    open ^= bit;
    found += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return found;
}
__global__ void recursion(int *out) {
  if (threadIdx.x == 0) out[0] = Ackermann::of(2, 3);
  if (threadIdx.x < 6) atomicAdd(&out[1], queens(6, 1u << threadIdx.x, 2u << threadIdx.x, 1u << threadIdx.x >> 1));
}

int main() {
  const int n = 60;
  Shape **shapes;
  CHECK(cudaMalloc(&shapes, n * sizeof *shapes));
  Buffer<float> area(n), a(n);
  Buffer<int> counts(2), which(n);
  CHECK(cudaMemset(counts.p, 0, 8));
  make<<<2, 32>>>(shapes, n, counts.p + 1);
  measure<<<2, 32>>>(shapes, n, area.p, counts.p);
  end<<<2, 32>>>(shapes, n);
  CHECK(cudaDeviceSynchronize());
  float f[n], g[n];
  int c[2], w[n];
  area.get(f), counts.get(c);
  for (int i = 0; i < n; i++) EXPECT(fabsf(f[i] - (i % 3 == 0 ? 3.14159265f * i * i : i % 3 == 1 ? 2 * i : i * i)) <= 1e-6f * f[i]);
  EXPECT(c[0] == 160 && c[1] == 20);
  for (int i = 0; i < n; i++) w[i] = i % 4, f[i] = 1 + i % 5;
  which.put(w), a.put(f);
  Function extra;
  CHECK(cudaMemcpyFromSymbol(&extra, chosen, sizeof extra));
  apply<<<1, 64>>>(which.p, a.p, 3, area.p, n, extra);
  area.get(g);
  for (int i = 0; i < n; i++) EXPECT(g[i] == (w[i] == 0 ? f[i] + 3 : w[i] == 1 ? f[i] * 3 : w[i] == 2 ? f[i] * f[i] * f[i] : f[i] * 4));
  float by = 2;
  each<<<1, 64>>>(a.p, n, [=] __device__(float v, int i) { return v * by + sum(i, 0.5f, 1); });
  each<<<1, 64>>>(a.p, n, Twice<AddIndex, float>());
  a.get(g);
  for (int i = 0; i < n; i++) EXPECT(g[i] == f[i] * 2 + i + 1.5f + 2 * i);
  CHECK(cudaMemset(counts.p, 0, 8));
  recursion<<<1, 32>>>(counts.p);
  counts.get(c);
  EXPECT(c[0] == 9 && c[1] == 4);
  CHECK(cudaFree(shapes));
  printf("%d %d\npassed\n", c[0], c[1]);
}

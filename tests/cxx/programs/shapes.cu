// Classes with virtual functions in kernels: a scene made of objects that a kernel allocates, rays through it; tables
// of function pointers, unions, bit fields, placement new, templates of templates, static members, operators.
#include "check.h"
#include <cmath>
#include <new>

struct Vec {
  float x, y, z;
  __host__ __device__ Vec(float a = 0, float b = 0, float c = 0) : x(a), y(b), z(c) {}
  __host__ __device__ Vec operator+(const Vec &o) const { return {x + o.x, y + o.y, z + o.z}; }
  __host__ __device__ Vec operator-(const Vec &o) const { return {x - o.x, y - o.y, z - o.z}; }
  __host__ __device__ Vec operator*(float s) const { return {x * s, y * s, z * s}; }
  __host__ __device__ float operator,(const Vec &o) const { return x * o.x + y * o.y + z * o.z; }
};
struct Ray {
  Vec from, along;
};
class Shape {
protected:
  int id;

public:
  __device__ explicit Shape(int i) : id(i) {}
  __device__ virtual ~Shape() {}
  __device__ virtual float hit(const Ray &r) const = 0;
  __device__ virtual int colour() const { return id; }
};
class Ball : public Shape {
  Vec middle;
  float radius;

public:
  __device__ Ball(int i, Vec m, float r) : Shape(i), middle(m), radius(r) {}
  __device__ float hit(const Ray &r) const override {
    Vec d = r.from - middle;
    float b = (d, r.along), c = (d, d) - radius * radius, q = b * b - c;
    return q < 0 ? -1 : -b - sqrtf(q);
  }
};
class Floor : public Shape {
  float at;

public:
  __device__ Floor(int i, float y) : Shape(i), at(y) {}
  __device__ float hit(const Ray &r) const override { return r.along.y < 0 ? (at - r.from.y) / r.along.y : -1; }
  __device__ int colour() const final { return 100 + Shape::colour(); }
};
__device__ int destroyed;
class Counted : public Ball {
public:
  using Ball::Ball;
  __device__ ~Counted() override { atomicAdd(&destroyed, id); }
};

__global__ void make(Shape **scene, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  if (i % 3 == 0) scene[i] = new Ball(i, Vec(i - 4, 0, 6 + i % 2), 0.9f);
  else if (i % 3 == 1) scene[i] = new Counted(i, Vec(i - 4, 1, 5), 0.6f);
  else scene[i] = new Floor(i, -1.f - i * 0.1f);
}
__global__ void look(Shape *const *scene, int n, unsigned char *picture, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  Vec to((x - w / 2) * 2.f / w, (h / 2 - y) * 2.f / h, 1);
  Ray r = {Vec(), to * rsqrtf((to, to))};
  float nearest = 1e30f;
  const Shape *seen = nullptr;
  for (int i = 0; i < n; i++) {
    float t = scene[i]->hit(r);
    if (t > 0 && t < nearest) nearest = t, seen = scene[i];
  }
  picture[y * w + x] = seen ? seen->colour() : 255;
}
__global__ void drop(Shape **scene, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) delete scene[i];
}

// a table of functions, in constant memory
typedef float (*Function)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float mul(float a, float b) { return a * b; }
template <int K> __device__ float power(float a, float) { return K ? a * power<(K > 0 ? K - 1 : 0)>(a, 0) : 1; }
__constant__ Function table[] = {add, mul, power<3>};

union Word {
  float f;
  unsigned u;
  struct {
    unsigned fraction : 23, exponent : 8, sign : 1;
  };
};
struct Packed {
  int a : 5;
  unsigned b : 11;
  long long c : 40;
  bool d : 1;
};
template <template <class> class Op, class T> struct Fold {
  static __device__ T of(const T *p, int n) {
    T r = Op<T>::neutral;
    for (int i = 0; i < n; i++) r = Op<T>()(r, p[i]);
    return r;
  }
};
template <class T> struct Sum {
  static constexpr T neutral = 0;
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T> struct Product {
  static constexpr T neutral = 1;
  __device__ T operator()(T a, T b) const { return a * b; }
};
__global__ void mixed(const float *in, float *out, Packed *packed) {
  int i = threadIdx.x;
  out[i] = table[i % 3](in[i], 2);
  Word w;
  w.f = in[i];
  w.exponent += 2;
  out[32 + i] = w.f;
  packed[i].a = i - 16, packed[i].b = i * 70, packed[i].c = (long long)i << 33, packed[i].d = i & 1;
  if (i == 0) out[64] = Fold<Sum, float>::of(in, 8), out[65] = Fold<Product, float>::of(in, 8);
  alignas(8) char room[sizeof(double) * 2];
  double *d = new (room) double[2]{in[i] * 0.5, 1.5};
  out[66 + i] = d[0] + d[1];
}

int main() {
  const int n = 9, w = 60, h = 24;
  Buffer<Shape *> scene(n);
  Buffer<unsigned char> picture(w * h);
  unsigned char p[w * h];
  make<<<1, 32>>>(scene.p, n);
  look<<<dim3(4, 3), dim3(16, 8)>>>(scene.p, n, picture.p, w, h);
  drop<<<1, 4>>>(scene.p, n);
  picture.get(p);
  for (int y = 0; y < h; y += 2) {
    for (int x = 0; x < w; x++) putchar(p[y * w + x] == 255 ? '.' : p[y * w + x] >= 100 ? '_' : '0' + p[y * w + x]);
    putchar('\n');
  }
  int d;
  CHECK(cudaMemcpyFromSymbol(&d, destroyed, sizeof d));
  printf("destroyed %d\n", d);
  float in[32], out[98];
  for (int i = 0; i < 32; i++) in[i] = 0.5f + i * 0.25f;
  Buffer<float> a(32), b(98);
  Buffer<Packed> c(32);
  Packed packed[32];
  a.put(in);
  mixed<<<1, 32>>>(a.p, b.p, c.p);
  b.get(out);
  c.get(packed);
  for (int i = 0; i < 32; i += 5)
    printf("%g %g %g, %d %u %lld %d\n", out[i], out[32 + i], out[66 + i], packed[i].a, packed[i].b,
           (long long)packed[i].c, packed[i].d);
  printf("%g %g\n", out[64], out[65]);
  puts("passed");
}

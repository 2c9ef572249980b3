// Built-in vector types: sizes and alignments of all 48, constructors, loads of four at once, layouts of arrays of structs
// and of structs of arrays, dim3, and operators of the program's own.
#include "check.h"
#include <cstddef>
#include <vector>

#define TYPES(X) \
  X(char, 1, 1, 2, 1, 4) X(uchar, 1, 1, 2, 1, 4) X(short, 2, 2, 4, 2, 8) X(ushort, 2, 2, 4, 2, 8) X(int, 4, 4, 8, 4, 16) \
  X(uint, 4, 4, 8, 4, 16) X(float, 4, 4, 8, 4, 16) X(double, 8, 8, 16, 8, 16) X(longlong, 8, 8, 16, 8, 16) \
  X(ulonglong, 8, 8, 16, 8, 16) X(long, 8, 8, 16, 8, 16) X(ulong, 8, 8, 16, 8, 16)
#define X(t_, s_, a1_, a2_, a3_, a4_) \
  static_assert(sizeof(t_##1) == s_ && sizeof(t_##2) == 2 * s_ && sizeof(t_##3) == 3 * s_ && sizeof(t_##4) == 4 * s_, "sizes"); \
  static_assert(alignof(t_##1) == a1_ && alignof(t_##2) == a2_ && alignof(t_##3) == a3_ && alignof(t_##4) == a4_, "alignments");
TYPES(X)
#undef X

__global__ void construct(double *out) {
  int k = 0;
#define X(t_, s_, a1_, a2_, a3_, a4_) \
  { \
    t_##1 a = make_##t_##1(1); \
    t_##2 b = make_##t_##2(1, 2); \
    t_##3 c = make_##t_##3(1, 2, 3); \
    t_##4 d = make_##t_##4(1, 2, 3, 4); \
    out[k++] = (double)a.x + (double)b.y * 10 + (double)c.z * 100 + (double)d.w * 1000; \
  }
  TYPES(X)
#undef X
}

struct Particle {
  float3 at;
  float mass;
  uchar4 colour;
};
struct Particles {
  float4 *at;
  uchar4 *colour;
};
__device__ __forceinline__ float4 operator*(float s, float4 v) { return make_float4(s * v.x, s * v.y, s * v.z, s * v.w); }
__device__ __forceinline__ float4 &operator+=(float4 &a, const float4 &b) {
  a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w;
  return a;
}
__global__ void turn(const Particle *in, Particles out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    Particle p = in[i];
    float4 v = make_float4(p.at.x, p.at.y, p.at.z, p.mass);
    v += 2.0f * v;
    out.at[i] = v;
    out.colour[i] = make_uchar4(p.colour.w, p.colour.z, p.colour.y, p.colour.x);
  }
}
__global__ void sum4(const float4 *__restrict__ in, int n, double4 *out) {
  double s[4] = {0, 0, 0, 0};
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float4 v = __ldg(&in[i]);
    s[0] += v.x, s[1] += v.y, s[2] += v.z, s[3] += v.w;
  }
  atomicAdd(&out->x, s[0]), atomicAdd(&out->y, s[1]), atomicAdd(&out->z, s[2]), atomicAdd(&out->w, s[3]);
}
__global__ void shape(uint3 *out) {
  dim3 d(5), e = blockDim, f(make_uint3(7, 8, 9));
  if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) out[0] = make_uint3(d.x, d.y, d.z), out[1] = e, out[2] = f, out[3] = gridDim, out[4] = make_uint3(threadIdx.x, blockIdx.y, warpSize > 0);
}

int main() {
  Buffer<double> sums(12);
  construct<<<1, 1>>>(sums.p);
  double s[12];
  sums.get(s);
  for (double x : s) EXPECT(x == 4321);
  const int n = 300;
  std::vector<Particle> p(n);
  for (int i = 0; i < n; i++) p[i].at = make_float3((float)i, (float)i / 2, 1), p[i].mass = 3, p[i].colour = make_uchar4((unsigned char)i, 1, 2, 3);
  static_assert(sizeof(Particle) == 20 && offsetof(Particle, colour) == 16, "no padding");
  Buffer<Particle> dp(n);
  Buffer<float4> at(n);
  Buffer<uchar4> colour(n);
  Buffer<double4> total(1);
  dp.put(p.data());
  turn<<<2, 64>>>(dp.p, Particles{at.p, colour.p}, n);
  CHECK(cudaMemset(total.p, 0, sizeof(double4)));
  sum4<<<1, 96>>>(at.p, n, total.p);
  double4 t;
  std::vector<uchar4> c(n);
  total.get(&t), colour.get(c.data());
  EXPECT(t.x == 3.0 * n * (n - 1) / 2 && t.y == t.x / 2 && t.z == 3 * n && t.w == 9 * n);
  for (int i = 0; i < n; i++) EXPECT(c[i].w == (unsigned char)i && c[i].x == 3);
  Buffer<uint3> shapes(5);
  shape<<<dim3(2, 3, 2), dim3(4, 2, 3)>>>(shapes.p);
  uint3 u[5];
  shapes.get(u);
  EXPECT(u[0].x == 5 && u[0].y == 1 && u[0].z == 1 && u[1].y == 2 && u[1].z == 3 && u[2].z == 9 && u[3].y == 3 && u[4].z == 1);
  printf("%.0f %.0f\npassed\n", t.x, t.w);
}

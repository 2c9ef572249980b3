// Bodies that attract each other: float4 in shared memory, rsqrtf; energy stays what it was.
#include "check.h"
#include <cmath>
#include <vector>

constexpr int N = 256, BLOCK = 64;
__constant__ float softening;

__device__ float3 pull(float4 on, float4 by, float3 a) {
  float3 r = make_float3(by.x - on.x, by.y - on.y, by.z - on.z);
  float s = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + softening), f = by.w * s * s * s;
  return make_float3(a.x + r.x * f, a.y + r.y * f, a.z + r.z * f);
}
__global__ void accelerate(const float4 *at, float4 *v, float dt) {
  __shared__ float4 tile[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  float4 me = at[i];
  float3 a = make_float3(0, 0, 0);
  for (int t = 0; t < N; t += BLOCK) {
    tile[threadIdx.x] = at[t + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < BLOCK; k++) a = pull(me, tile[k], a);
    __syncthreads();
  }
  v[i].x += a.x * dt, v[i].y += a.y * dt, v[i].z += a.z * dt;
}
__global__ void move(float4 *at, const float4 *v, float dt) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  at[i].x += v[i].x * dt, at[i].y += v[i].y * dt, at[i].z += v[i].z * dt;
}

static double energy(const std::vector<float4> &p, const std::vector<float4> &v) {
  double e = 0;
  for (int i = 0; i < N; i++) {
    e += 0.5 * p[i].w * ((double)v[i].x * v[i].x + (double)v[i].y * v[i].y + (double)v[i].z * v[i].z);
    for (int j = 0; j < i; j++) {
      double x = p[i].x - p[j].x, y = p[i].y - p[j].y, z = p[i].z - p[j].z;
      e -= (double)p[i].w * p[j].w / sqrt(x * x + y * y + z * z + 0.01);
    }
  }
  return e;
}

int main() {
  std::vector<float4> p(N), v(N);
  unsigned state = 9;
  auto unit = [&] { return random_of(state) % 10000 / 5000.0f - 1; };
  for (int i = 0; i < N; i++) p[i] = make_float4(unit(), unit(), unit(), 1.0f / N), v[i] = make_float4(unit() * 0.3f, unit() * 0.3f, unit() * 0.3f, 0);
  float s = 0.01f;
  CHECK(cudaMemcpyToSymbol(softening, &s, sizeof s));
  Buffer<float4> dp(N), dv(N);
  dp.put(p.data());
  dv.put(v.data());
  double before = energy(p, v);
  for (int k = 0; k < 40; k++) {
    accelerate<<<N / BLOCK, BLOCK>>>(dp.p, dv.p, 0.005f);
    move<<<N / BLOCK, BLOCK>>>(dp.p, dv.p, 0.005f);
  }
  dp.get(p.data());
  dv.get(v.data());
  double after = energy(p, v);
  EXPECT(fabs(after - before) < 0.01 * fabs(before));
  printf("energy %.3f, then %.3f\npassed\n", before, after);
}

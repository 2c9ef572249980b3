// Device code across files (-rdc=true): functions, variables and constants of one file that kernels of the other use; both
// have a static function, a static variable and a kernel in no named namespace, under the same names.
#include "../check.h"
#include "physics.h"
#include <cmath>
#include <vector>

__device__ int steps = 0;
static __device__ int own = 100;
static __device__ float calls;

__device__ float energy(const Body &b) { return squared(b.v) / scale() + gravity * b.x; }

namespace {
__global__ void kernel(Body *b, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  move(b[i], dt);
  atomicAdd(&steps, 1);
  atomicAdd(&own, 1);
  atomicAdd(&calls, scale());
}
} // namespace

int main() {
  const int n = 50;
  std::vector<Body> b(n), want(n);
  for (int i = 0; i < n; i++) want[i] = b[i] = {100.0f + i, (float)i};
  Buffer<Body> db(n);
  Buffer<float> de(n);
  db.put(b.data());
  for (int t = 0; t < 3; t++) {
    kernel<<<1, 64>>>(db.p, n, 0.5f);
    for (Body &x : want) x.v -= 9.5f * 0.5f, x.x += x.v * 0.5f;
  }
  launch_second(db.p, de.p, n);
  CHECK(cudaDeviceSynchronize());
  db.get(b.data());
  std::vector<float> e(n);
  de.get(e.data());
  int s, o;
  float c;
  CHECK(cudaMemcpyFromSymbol(&s, steps, sizeof s));
  CHECK(cudaMemcpyFromSymbol(&o, own, sizeof o));
  CHECK(cudaMemcpyFromSymbol(&c, calls, sizeof c));
  EXPECT(s == 3 * n + 1000 && o == 100 + 3 * n && c == 3 * n * 2);
  for (int i = 0; i < n; i++) {
    EXPECT(b[i].x == want[i].x && b[i].v == want[i].v);
    EXPECT(fabsf(e[i] - (want[i].v * want[i].v / 2 + 9.5f * want[i].x)) < 1e-3f);
  }
  printf("%d steps\npassed\n", s);
}

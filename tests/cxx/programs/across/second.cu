#define SECOND
#include "physics.h"
#include "../check.h"

__constant__ float gravity = 9.5f;
static __device__ int own = 7;

__device__ void move(Body &b, float dt) {
  b.v -= gravity * dt;
  b.x += b.v * dt;
}

namespace {
__global__ void kernel(const Body *b, float *e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) e[i] = energy(b[i]) + squared(0.0f);
  if (i == 0) atomicAdd(&steps, 1000), own += (int)scale();
}
} // namespace

void launch_second(Body *bodies, float *energies, int n) {
  int before, after;
  CHECK(cudaMemcpyFromSymbol(&before, own, sizeof before));
  kernel<<<1, 64>>>(bodies, energies, n);
  CHECK(cudaMemcpyFromSymbol(&after, own, sizeof after));
  EXPECT(before == 7 && after == 10);
}

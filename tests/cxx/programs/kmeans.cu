// k-means: distances with centres in shared memory, sums by atomics in shared memory and then in global memory, until
// nothing moves; the same on the host.
#include "check.h"
#include <cfloat>
#include <cstring>
#include <cmath>
#include <vector>

constexpr int DIMENSIONS = 3, CENTRES = 5;
struct Sums {
  int sum[CENTRES][DIMENSIONS], count[CENTRES], moved;
};

__global__ void assign(const short3 *points, int n, const float *centres, unsigned char *member, Sums *sums) {
  __shared__ float c[CENTRES * DIMENSIONS];
  __shared__ Sums s;
  for (int i = threadIdx.x; i < CENTRES * DIMENSIONS; i += blockDim.x) c[i] = centres[i];
  for (int i = threadIdx.x; i < (int)(sizeof s / sizeof(int)); i += blockDim.x) ((int *)&s)[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    short3 p = points[i];
    float least = FLT_MAX;
    int best = 0;
#pragma unroll
    for (int k = 0; k < CENTRES; k++) {
      float dx = p.x - c[k * 3], dy = p.y - c[k * 3 + 1], dz = p.z - c[k * 3 + 2], d = fmaf(dx, dx, fmaf(dy, dy, dz * dz));
      if (d < least) least = d, best = k;
    }
    if (member[i] != best) {
      member[i] = (unsigned char)best;
      atomicAdd(&s.moved, 1);
    }
    atomicAdd(&s.sum[best][0], p.x), atomicAdd(&s.sum[best][1], p.y), atomicAdd(&s.sum[best][2], p.z);
    atomicAdd(&s.count[best], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < (int)(sizeof s / sizeof(int)); i += blockDim.x) atomicAdd((int *)sums + i, ((int *)&s)[i]);
}
__global__ void move(const Sums *s, float *centres) {
  int k = threadIdx.y, d = threadIdx.x;
  if (s->count[k]) centres[k * DIMENSIONS + d] = (float)s->sum[k][d] / s->count[k];
}

int main() {
  const int n = 3000;
  std::vector<short3> p(n);
  unsigned state = 21;
  for (int i = 0; i < n; i++) {
    int k = i % CENTRES;
    p[i].x = (short)(k * 100 + random_of(state) % 60);
    p[i].y = (short)(k * k * 30 + random_of(state) % 60);
    p[i].z = (short)(random_of(state) % 80);
  }
  float first[CENTRES][DIMENSIONS], centres[CENTRES][DIMENSIONS], got[CENTRES][DIMENSIONS];
  for (int k = 0; k < CENTRES; k++) first[k][0] = p[k * 7].x, first[k][1] = p[k * 7].y, first[k][2] = p[k * 7].z;
  Buffer<short3> dp(n);
  Buffer<float> dc(CENTRES * DIMENSIONS);
  Buffer<unsigned char> member(n);
  Buffer<Sums> ds(1);
  dp.put(p.data()), dc.put(first[0]);
  CHECK(cudaMemset(member.p, 255, n));
  int rounds = 0;
  Sums s;
  do {
    CHECK(cudaMemset(ds.p, 0, sizeof(Sums)));
    assign<<<6, 96>>>(dp.p, n, dc.p, member.p, ds.p);
    move<<<1, dim3(DIMENSIONS, CENTRES)>>>(ds.p, dc.p);
    ds.get(&s);
    rounds++;
  } while (s.moved && rounds < 100);
  dc.get(got[0]);
  memcpy(centres, first, sizeof first);
  std::vector<int> own(n, -1);
  for (int r = 0; r < rounds; r++) {
    Sums h = {};
    for (int i = 0; i < n; i++) {
      float least = FLT_MAX;
      int best = 0;
      for (int k = 0; k < CENTRES; k++) {
        float dx = p[i].x - centres[k][0], dy = p[i].y - centres[k][1], dz = p[i].z - centres[k][2], d = fmaf(dx, dx, fmaf(dy, dy, dz * dz));
        if (d < least) least = d, best = k;
      }
      own[i] = best;
      h.sum[best][0] += p[i].x, h.sum[best][1] += p[i].y, h.sum[best][2] += p[i].z, h.count[best]++;
    }
    for (int k = 0; k < CENTRES; k++)
      for (int d = 0; d < DIMENSIONS; d++)
        if (h.count[k]) centres[k][d] = (float)h.sum[k][d] / h.count[k];
  }
  std::vector<unsigned char> m(n);
  member.get(m.data());
  for (int i = 0; i < n; i++) EXPECT(m[i] == own[i]);
  EXPECT(!memcmp(got, centres, sizeof got));
  printf("%d rounds\npassed\n", rounds);
}

// lanes: 32
// Particles: a list of cells by counting sort, forces of Lennard-Jones with neighbours from the cells, steps by Verlet in
// doubles, and the same by all pairs; the momentum stays.
#include "check.h"
#include <cmath>
#include <vector>

constexpr double CUT = 2.5, DT = 0.002;
struct Box {
  double side;
  int cells;
};

__host__ __device__ inline double nearest(double d, double side) { return d - side * rint(d / side); }
__host__ __device__ inline void pair_force(double3 a, double3 b, double side, double3 &f, double &energy) {
  double x = nearest(a.x - b.x, side), y = nearest(a.y - b.y, side), z = nearest(a.z - b.z, side), r2 = x * x + y * y + z * z;
  if (r2 >= CUT * CUT || r2 == 0) return;
  double s = 1 / r2, s6 = s * s * s, strength = 48 * s6 * (s6 - 0.5) * s;
  f.x += strength * x, f.y += strength * y, f.z += strength * z;
  energy += 2 * s6 * (s6 - 1);
}
__device__ int cell_of(double3 p, Box b) {
  int x = (int)floor(p.x / b.side * b.cells), y = (int)floor(p.y / b.side * b.cells), z = (int)floor(p.z / b.side * b.cells);
  x = (x % b.cells + b.cells) % b.cells, y = (y % b.cells + b.cells) % b.cells, z = (z % b.cells + b.cells) % b.cells;
  return (z * b.cells + y) * b.cells + x;
}
__global__ void count(const double3 *p, int n, Box b, int *cell, int *counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[cell[i] = cell_of(p[i], b)], 1);
}
__global__ void starts(const int *counts, int *start, int n) {
  if (threadIdx.x) return;
  int s = 0;
  for (int i = 0; i < n; i++) start[i] = s, s += counts[i];
  start[n] = s;
}
__global__ void place(const int *cell, int n, const int *start, int *filled, int *members) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) members[start[cell[i]] + atomicAdd(&filled[cell[i]], 1)] = i;
}
__global__ void forces(const double3 *__restrict__ p, int n, Box b, const int *__restrict__ cell, const int *__restrict__ start, const int *__restrict__ members, double3 *f, double *energy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double e = 0;
  if (i < n) {
    double3 a = p[i], sum = make_double3(0, 0, 0);
    int c = cell[i], x = c % b.cells, y = c / b.cells % b.cells, z = c / b.cells / b.cells;
    for (int k = 0; k < 27; k++) {
      int nx = (x + k % 3 + b.cells - 1) % b.cells, ny = (y + k / 3 % 3 + b.cells - 1) % b.cells, nz = (z + k / 9 + b.cells - 1) % b.cells, o = (nz * b.cells + ny) * b.cells + nx;
      for (int m = start[o]; m < start[o + 1]; m++)
        if (members[m] != i) pair_force(a, p[members[m]], b.side, sum, e);
    }
    f[i] = sum;
  }
  for (int d = 16; d; d /= 2) e += __shfl_xor_sync(0xffffffff, e, d, 32);
  if (threadIdx.x % 32 == 0) atomicAdd(energy, e);
}
__global__ void kick(double3 *p, double3 *v, const double3 *f, int n, bool drift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  v[i].x += 0.5 * DT * f[i].x, v[i].y += 0.5 * DT * f[i].y, v[i].z += 0.5 * DT * f[i].z;
  if (drift) p[i].x += DT * v[i].x, p[i].y += DT * v[i].y, p[i].z += DT * v[i].z;
}

int main() {
  const int side = 6, n = side * side * side, steps = 3, threads = 64, blocks = (n + threads - 1) / threads;
  Box box = {side * 1.3, 3};
  const int cells = box.cells * box.cells * box.cells;
  std::vector<double3> p(n), v(n), f(n), got(n);
  unsigned state = 6;
  auto noise = [&] { return (double)(random_of(state) % 1001) / 1000 - 0.5; };
  for (int i = 0; i < n; i++) {
    p[i] = make_double3(i % side * 1.3, i / side % side * 1.3, i / side / side * 1.3);
    p[i].x += 0.1 * noise();
    v[i].x = noise();
    v[i].y = noise();
    v[i].z = noise();
  }
  Buffer<double3> dp(n), dv(n), df(n);
  Buffer<int> cell(n), counts(cells), start(cells + 1), members(n);
  Buffer<double> energy(1);
  dp.put(p.data()), dv.put(v.data());
  CHECK(cudaMemset(df.p, 0, n * sizeof(double3)));
  double e = 0, want = 0;
  for (int t = 0; t <= steps; t++) {
    if (t) kick<<<blocks, threads>>>(dp.p, dv.p, df.p, n, true);
    CHECK(cudaMemset(counts.p, 0, cells * sizeof(int)));
    CHECK(cudaMemset(energy.p, 0, sizeof(double)));
    count<<<blocks, threads>>>(dp.p, n, box, cell.p, counts.p);
    starts<<<1, 32>>>(counts.p, start.p, cells);
    CHECK(cudaMemset(counts.p, 0, cells * sizeof(int)));
    place<<<blocks, threads>>>(cell.p, n, start.p, counts.p, members.p);
    forces<<<blocks, threads>>>(dp.p, n, box, cell.p, start.p, members.p, df.p, energy.p);
    if (t) kick<<<blocks, threads>>>(dp.p, dv.p, df.p, n, false);
    energy.get(&e);
    if (t)
      for (int i = 0; i < n; i++) v[i].x += 0.5 * DT * f[i].x, v[i].y += 0.5 * DT * f[i].y, v[i].z += 0.5 * DT * f[i].z, p[i].x += DT * v[i].x, p[i].y += DT * v[i].y, p[i].z += DT * v[i].z;
    want = 0;
    for (int i = 0; i < n; i++) {
      f[i] = make_double3(0, 0, 0);
      for (int k = 0; k < n; k++)
        if (k != i) pair_force(p[i], p[k], box.side, f[i], want);
    }
    if (t)
      for (int i = 0; i < n; i++) v[i].x += 0.5 * DT * f[i].x, v[i].y += 0.5 * DT * f[i].y, v[i].z += 0.5 * DT * f[i].z;
    EXPECT(fabs(e - want) < 1e-8 * fabs(want));
  }
  dp.get(got.data());
  for (int i = 0; i < n; i++) EXPECT(fabs(got[i].x - p[i].x) < 1e-9 && fabs(got[i].y - p[i].y) < 1e-9 && fabs(got[i].z - p[i].z) < 1e-9);
  printf("energy %.6f\npassed\n", e);
}

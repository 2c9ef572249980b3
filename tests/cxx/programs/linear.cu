// Systems of equations: LU in tiles, Gauss with pivots, conjugate gradients in one cooperative launch, and Jacobi.
#include "check.h"
#include <cmath>
#include <cooperative_groups.h>
#include <vector>

namespace cg = cooperative_groups;
constexpr int T = 16;

__global__ void lu_diagonal(double *a, int n, int k) {
  __shared__ double s[T][T + 1];
  int x = threadIdx.x;
  for (int y = 0; y < T; y++) s[y][x] = a[(k + y) * n + k + x];
  __syncthreads();
  for (int i = 0; i < T - 1; i++) {
    if (x > i) {
      s[x][i] /= s[i][i];
      for (int j = i + 1; j < T; j++) s[x][j] -= s[x][i] * s[i][j];
    }
    __syncthreads();
  }
  for (int y = 0; y < T; y++) a[(k + y) * n + k + x] = s[y][x];
}
__global__ void lu_border(double *a, int n, int k) {
  int x = threadIdx.x, b = k + (blockIdx.x + 1) * T;
  if (blockIdx.y == 0) { // a column of the upper part
    for (int i = 0; i < T; i++)
      for (int j = 0; j < i; j++) a[(k + i) * n + b + x] -= a[(k + i) * n + k + j] * a[(k + j) * n + b + x];
  } else // a row of the lower part
    for (int i = 0; i < T; i++) {
      for (int j = 0; j < i; j++) a[(b + x) * n + k + i] -= a[(b + x) * n + k + j] * a[(k + j) * n + k + i];
      a[(b + x) * n + k + i] /= a[(k + i) * n + k + i];
    }
}
__global__ void lu_inner(double *a, int n, int k) {
  __shared__ double l[T][T], u[T][T];
  int x = threadIdx.x, y = threadIdx.y, row = k + (blockIdx.y + 1) * T + y, column = k + (blockIdx.x + 1) * T + x;
  l[y][x] = a[row * n + k + x];
  u[y][x] = a[(k + y) * n + column];
  __syncthreads();
  double s = 0;
  for (int i = 0; i < T; i++) s += l[y][i] * u[i][x];
  a[row * n + column] -= s;
}

__global__ void pivot(double *a, int n, int k, int *chosen) {
  __shared__ double best[64];
  __shared__ int at[64];
  int t = threadIdx.x;
  best[t] = -1;
  for (int r = k + t; r < n; r += blockDim.x)
    if (fabs(a[r * (n + 1) + k]) > best[t]) best[t] = fabs(a[r * (n + 1) + k]), at[t] = r;
  for (int d = blockDim.x / 2; d; d /= 2) {
    __syncthreads();
    if (t < d && best[t + d] > best[t]) best[t] = best[t + d], at[t] = at[t + d];
  }
  __syncthreads();
  int p = at[0];
  if (t == 0) chosen[k] = p;
  for (int c = k + t; c <= n && p != k; c += blockDim.x) {
    double v = a[p * (n + 1) + c];
    a[p * (n + 1) + c] = a[k * (n + 1) + c], a[k * (n + 1) + c] = v;
  }
}
__global__ void eliminate(double *a, int n, int k) {
  int r = blockIdx.x < (unsigned)k ? blockIdx.x : blockIdx.x + 1;
  double f = a[r * (n + 1) + k] / a[k * (n + 1) + k];
  __syncthreads();
  for (int c = k + threadIdx.x; c <= n; c += blockDim.x) a[r * (n + 1) + c] -= f * a[k * (n + 1) + c];
}

__device__ double dot(cg::grid_group g, const double *x, const double *y, int n, double *cell) {
  if (g.thread_rank() == 0) *cell = 0;
  g.sync();
  double s = 0;
  for (int i = g.thread_rank(); i < n; i += g.size()) s += x[i] * y[i];
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(__activemask(), s, d, 32);
  if (threadIdx.x % 32 == 0) atomicAdd(cell, s);
  g.sync();
  return *(volatile double *)cell;
}
// A symmetric matrix of three diagonals: 4 in the middle and -1 beside.
__global__ void conjugate(int n, const double *b, double *x, double *r, double *p, double *q, double *cells, int *turns) {
  cg::grid_group g = cg::this_grid();
  for (int i = g.thread_rank(); i < n; i += g.size()) x[i] = 0, r[i] = p[i] = b[i];
  g.sync();
  double rr = dot(g, r, r, n, cells);
  int t = 0;
  for (; t < 100 && rr > 1e-20; t++) {
    for (int i = g.thread_rank(); i < n; i += g.size()) q[i] = 4 * p[i] - (i ? p[i - 1] : 0) - (i + 1 < n ? p[i + 1] : 0);
    double alpha = rr / dot(g, p, q, n, cells + 1);
    for (int i = g.thread_rank(); i < n; i += g.size()) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    double next = dot(g, r, r, n, cells + 2 + t % 2);
    for (int i = g.thread_rank(); i < n; i += g.size()) p[i] = r[i] + next / rr * p[i];
    rr = next;
    g.sync();
  }
  if (g.thread_rank() == 0) *turns = t;
}

int main() {
  const int n = 64;
  std::vector<double> a(n * n), lu(n * n), wide(n * (n + 1)), x(n);
  unsigned state = 31;
  for (int i = 0; i < n * n; i++) a[i] = (int)(random_of(state) % 19) - 9 + (i % (n + 1) ? 0 : 200);
  Buffer<double> da(n * n), dw(n * (n + 1)), v(5 * n), cells(4);
  Buffer<int> chosen(n), turns(1);
  da.put(a.data());
  for (int k = 0; k < n; k += T) {
    lu_diagonal<<<1, T>>>(da.p, n, k);
    int rest = (n - k) / T - 1;
    if (!rest) break;
    lu_border<<<dim3(rest, 2), T>>>(da.p, n, k);
    lu_inner<<<dim3(rest, rest), dim3(T, T)>>>(da.p, n, k);
  }
  da.get(lu.data());
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k <= (i < j ? i : j); k++) s += (k == i ? 1 : lu[i * n + k]) * lu[k * n + j];
      EXPECT(fabs(s - a[i * n + j]) < 1e-9);
    }
  for (int i = 0; i < n; i++) {
    double s = 0;
    for (int j = 0; j < n; j++) s += (wide[i * (n + 1) + j] = (int)(random_of(state) % 19) - 9) * (j + 1);
    wide[i * (n + 1) + n] = s;
  }
  dw.put(wide.data());
  for (int k = 0; k < n; k++) {
    pivot<<<1, 64>>>(dw.p, n, k, chosen.p);
    eliminate<<<n - 1, 32>>>(dw.p, n, k);
  }
  dw.get(wide.data());
  for (int i = 0; i < n; i++) EXPECT(fabs(wide[i * (n + 1) + n] / wide[i * (n + 1) + i] - (i + 1)) < 1e-6);
  std::vector<double> b(n);
  for (int i = 0; i < n; i++) b[i] = 4 * (i % 5) - (i ? (i - 1) % 5 : 0) - (i + 1 < n ? (i + 1) % 5 : 0);
  CHECK(cudaMemcpy(v.p, b.data(), n * sizeof(double), cudaMemcpyHostToDevice));
  int m = n, count;
  double *p[5] = {v.p, v.p + n, v.p + 2 * n, v.p + 3 * n, v.p + 4 * n};
  void *args[] = {&m, &p[0], &p[1], &p[2], &p[3], &p[4], &cells.p, &turns.p};
  CHECK(cudaLaunchCooperativeKernel((void *)conjugate, dim3(2), dim3(32), args, 0, 0));
  CHECK(cudaMemcpy(x.data(), p[1], n * sizeof(double), cudaMemcpyDeviceToHost));
  turns.get(&count);
  for (int i = 0; i < n; i++) EXPECT(fabs(x[i] - i % 5) < 1e-8);
  EXPECT(count > 5 && count < 60);
  printf("solved\npassed\n");
}

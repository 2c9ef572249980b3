// A sparse matrix in compressed rows times a vector, a warp for each row; conjugate gradients on it until they have converged.
#include "check.h"
#include <cmath>
#include <vector>

struct Matrix { const int *first, *column; const double *value; int n; };

__global__ void multiply(Matrix m, const double *x, double *y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x % warpSize;
  if (row >= m.n) return;
  double sum = 0;
  for (int e = m.first[row] + lane; e < m.first[row + 1]; e += warpSize) sum += m.value[e] * x[m.column[e]];
  for (int d = warpSize / 2; d; d /= 2) sum += __shfl_down_sync(-1, sum, d);
  if (!lane) y[row] = sum;
}
__global__ void dot(const double *a, const double *b, int n, double *out) {
  __shared__ double s[128];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += a[i] * b[i];
  s[threadIdx.x] = sum;
  for (int d = 64; d; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
  }
  if (!threadIdx.x) *out = s[0];
}
__global__ void axpy(double a, const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
__global__ void direction(double b, const double *r, double *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = r[i] + b * p[i];
}

int main() {
  const int side = 16, n = side * side;
  std::vector<int> first(1, 0), column;
  std::vector<double> value, x(n, 0.0), b(n);
  for (int i = 0; i < n; i++) {
    int u = i % side, v = i / side;
    auto add = [&](int j, double a) { column.push_back(j), value.push_back(a); };
    if (v) add(i - side, -1);
    if (u) add(i - 1, -1);
    add(i, 4.1);
    if (u < side - 1) add(i + 1, -1);
    if (v < side - 1) add(i + side, -1);
    first.push_back((int)column.size());
    b[i] = i % 5 - 1;
  }
  Buffer<int> df(first.size()), dc(column.size());
  Buffer<double> dv(value.size()), dx(n), r(n), p(n), ap(n), s(1);
  df.put(first.data());
  dc.put(column.data());
  dv.put(value.data());
  dx.put(x.data());
  r.put(b.data());
  p.put(b.data());
  Matrix m = {df.p, dc.p, dv.p, n};
  auto product = [&](const double *a, const double *c) {
    double v;
    dot<<<1, 128>>>(a, c, n, s.p);
    s.get(&v);
    return v;
  };
  double rr = product(r.p, r.p);
  int turns = 0;
  for (; rr > 1e-20 && turns < 200; turns++) {
    multiply<<<n, 64>>>(m, p.p, ap.p);
    double a = rr / product(p.p, ap.p);
    axpy<<<2, 128>>>(a, p.p, dx.p, n);
    axpy<<<2, 128>>>(-a, ap.p, r.p, n);
    double next = product(r.p, r.p);
    direction<<<2, 128>>>(next / rr, r.p, p.p, n);
    rr = next;
  }
  dx.get(x.data());
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int e = first[i]; e < first[i + 1]; e++) sum += value[e] * x[column[e]];
    EXPECT(std::fabs(sum - b[i]) < 1e-8);
  }
  printf("%s, x[7] = %.6f\npassed\n", turns < 100 ? "converged" : "slow", x[7]);
}

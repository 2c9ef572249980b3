// Matrices as old suites have them: LU in blocks with kernels for the corner, the border and the inside, Gaussian
// elimination with a kernel for each column, a triangular solve, all in unpitched memory with macros for indices.
#include "check.h"
#include <cmath>
#include <vector>
#define BS 16
#define AT(m_, i_, j_) (m_)[(i_)*n + (j_)]

__global__ void corner(float *m, int n, int offset) {
  __shared__ float s[BS][BS];
  for (int i = 0; i < BS; i++) s[i][threadIdx.x] = AT(m, offset + i, offset + threadIdx.x);
  __syncthreads();
  for (int i = 0; i < BS - 1; i++) {
    if (threadIdx.x > i) {
      for (int j = 0; j < i; j++) s[threadIdx.x][i] -= s[threadIdx.x][j] * s[j][i];
      s[threadIdx.x][i] /= s[i][i];
    }
    __syncthreads();
    if (threadIdx.x > i)
      for (int j = 0; j < i + 1; j++) s[i + 1][threadIdx.x] -= s[i + 1][j] * s[j][threadIdx.x];
    __syncthreads();
  }
  for (int i = 1; i < BS; i++) AT(m, offset + i, offset + threadIdx.x) = s[i][threadIdx.x];
}
__global__ void border(float *m, int n, int offset) {
  __shared__ float d[BS][BS], row[BS][BS], col[BS][BS];
  const int lane = threadIdx.x % BS, at = offset + (blockIdx.x + 1) * BS;
  if (threadIdx.x < BS)
    for (int i = 0; i < BS; i++)
      d[i][lane] = AT(m, offset + i, offset + lane), row[i][lane] = AT(m, offset + i, at + lane);
  else
    for (int i = 0; i < BS; i++) col[i][lane] = AT(m, at + i, offset + lane);
  __syncthreads();
  if (threadIdx.x < BS) {
    for (int i = 1; i < BS; i++)
      for (int j = 0; j < i; j++) row[i][lane] -= d[i][j] * row[j][lane];
  } else {
    for (int i = 0; i < BS; i++) {
      for (int j = 0; j < i; j++) col[lane][i] -= col[lane][j] * d[j][i];
      col[lane][i] /= d[i][i];
    }
  }
  __syncthreads();
  if (threadIdx.x < BS)
    for (int i = 1; i < BS; i++) AT(m, offset + i, at + lane) = row[i][lane];
  else
    for (int i = 0; i < BS; i++) AT(m, at + i, offset + lane) = col[i][lane];
}
__global__ void inside(float *m, int n, int offset) {
  __shared__ float row[BS][BS], col[BS][BS];
  const int i = offset + (blockIdx.y + 1) * BS + threadIdx.y, j = offset + (blockIdx.x + 1) * BS + threadIdx.x;
  row[threadIdx.y][threadIdx.x] = AT(m, offset + threadIdx.y, j);
  col[threadIdx.y][threadIdx.x] = AT(m, i, offset + threadIdx.x);
  __syncthreads();
  float s = 0;
#pragma unroll
  for (int k = 0; k < BS; k++) s += col[threadIdx.y][k] * row[k][threadIdx.x];
  AT(m, i, j) -= s;
}
__global__ void fan1(const double *a, double *factor, int n, int t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1 - t) AT(factor, i + t + 1, t) = AT(a, i + t + 1, t) / AT(a, t, t);
}
__global__ void fan2(double *a, double *b, const double *factor, int n, int t) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n - 1 - t || y >= n - t) return;
  AT(a, x + 1 + t, y + t) -= AT(factor, x + 1 + t, t) * AT(a, t, y + t);
  if (y == 0) b[x + 1 + t] -= AT(factor, x + 1 + t, t) * b[t];
}
// one block: a row waits for those below it
__global__ void back(const double *a, const double *b, double *x, int n) {
  extern __shared__ double s[];
  for (int i = n - 1; i >= 0; i--) {
    double v = 0;
    for (int j = i + 1 + threadIdx.x; j < n; j += blockDim.x) v += AT(a, i, j) * x[j];
    s[threadIdx.x] = v;
    for (int k = blockDim.x / 2; k; k >>= 1) {
      __syncthreads();
      if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    }
    if (threadIdx.x == 0) x[i] = (b[i] - s[0]) / AT(a, i, i);
    __syncthreads();
  }
}

int main() {
  const int n = 6 * BS;
  std::vector<float> m(n * n), lu(n * n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) m[i * n + j] = 10 * std::exp(-0.01f * std::abs(i - j)) + (i == j ? 5 : 0);
  Buffer<float> d(n * n);
  d.put(m.data());
  int offset = 0;
  for (; offset < n - BS; offset += BS) {
    const int left = (n - offset) / BS - 1;
    corner<<<1, BS>>>(d.p, n, offset);
    border<<<left, 2 * BS>>>(d.p, n, offset);
    inside<<<dim3(left, left), dim3(BS, BS)>>>(d.p, n, offset);
  }
  corner<<<1, BS>>>(d.p, n, offset);
  d.get(lu.data());
  double worst = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k <= i && k <= j; k++) s += (i == k ? 1. : lu[i * n + k]) * lu[k * n + j];
      worst = std::fmax(worst, std::fabs(s - m[i * n + j]));
    }
  printf("LU of %d: %s\n", n, worst < 1e-3 ? "exact enough" : "wrong");
  EXPECT(worst < 1e-3);

  const int k = 75;
  std::vector<double> a(k * k), b(k), x(k), want(k);
  for (int i = 0; i < k; i++) want[i] = 1 + i % 7;
  for (int i = 0; i < k; i++) {
    for (int j = 0; j < k; j++) a[i * k + j] = 1. / (1 + (i * 5 + j * 3) % 11) + (i == j ? 20 : 0);
    for (int j = 0; j < k; j++) b[i] += a[i * k + j] * want[j];
  }
  Buffer<double> da(k * k), db(k), df(k * k), dx(k);
  da.put(a.data());
  db.put(b.data());
  CHECK(cudaMemset(df.p, 0, k * k * sizeof(double)));
  for (int t = 0; t < k - 1; t++) {
    fan1<<<(k + 63) / 64, 64>>>(da.p, df.p, k, t);
    fan2<<<dim3((k + 3) / 4, (k + 3) / 4), dim3(4, 4)>>>(da.p, db.p, df.p, k, t);
  }
  back<<<1, 64, 64 * sizeof(double)>>>(da.p, db.p, dx.p, k);
  dx.get(x.data());
  for (int i = 0; i < k; i++) EXPECT(std::fabs(x[i] - want[i]) < 1e-9);
  printf("%d launches, x[10] %.6f\n", 2 * (k - 1) + 1, x[10]);
  puts("passed");
}

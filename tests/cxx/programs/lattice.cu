// A lattice of fluid (D2Q9) whose mass stays, the game of life in packed bits, and heat in three dimensions in planes
// that travel through registers.
#include "check.h"
#include <cmath>
#include <vector>

__constant__ float weight[9] = {4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
__constant__ int2 velocity[9] = {{0, 0}, {1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
__constant__ int opposite[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};

__global__ void flow(const float *f, float *g, const unsigned char *wall, int w, int h, float omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float in[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
  for (int k = 0; k < 9; k++) {
    int fx = (x - velocity[k].x + w) % w, fy = (y - velocity[k].y + h) % h;
    in[k] = f[(k * h + fy) * w + fx];
    rho += in[k], ux += in[k] * velocity[k].x, uy += in[k] * velocity[k].y;
  }
  ux /= rho, uy /= rho;
  for (int k = 0; k < 9; k++) {
    float cu = 3 * (velocity[k].x * ux + velocity[k].y * uy);
    float eq = weight[k] * rho * (1 + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
    g[(k * h + y) * w + x] = wall[y * w + x] ? in[opposite[k]] : in[k] + omega * (eq - in[k]);
  }
}

// 32 cells in a word; the sums of eight neighbours by bits.
__global__ void life(const unsigned *in, unsigned *out, int words, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, y = i / words, x = i % words;
  if (y >= rows) return;
  unsigned ones = 0, twos = 0, fours = 0, self = in[i];
  for (int dy = -1; dy <= 1; dy++) {
    int r = (y + dy + rows) % rows * words;
    unsigned c = in[r + x], l = in[r + (x + words - 1) % words], n = in[r + (x + 1) % words];
    unsigned near[3] = {__funnelshift_l(l, c, 1), __funnelshift_r(c, n, 1), dy ? c : 0};
    for (unsigned b : near) {
      unsigned carry = ones & b;
      ones ^= b;
      unsigned carry2 = twos & carry;
      twos ^= carry;
      fours |= carry2;
    }
  }
  out[i] = twos & ~fours & (ones | self);
}

template <int B> __global__ void heat(const float *__restrict__ t, float *__restrict__ next, int nx, int ny, int nz, float c) {
  __shared__ float s[B + 2][B + 2];
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = blockIdx.x * B + threadIdx.x, y = blockIdx.y * B + threadIdx.y, plane = nx * ny;
  int west = max(x - 1, 0), east = min(x + 1, nx - 1), north = max(y - 1, 0), south = min(y + 1, ny - 1);
  float below = t[y * nx + x], here = below, above = t[plane + y * nx + x];
  for (int z = 0; z < nz; z++) {
    const float *p = t + z * plane;
    __syncthreads();
    s[ty][tx] = here;
    if (tx == 1) s[ty][0] = p[y * nx + west];
    if (tx == B) s[ty][B + 1] = p[y * nx + east];
    if (ty == 1) s[0][tx] = p[north * nx + x];
    if (ty == B) s[B + 1][tx] = p[south * nx + x];
    __syncthreads();
    next[z * plane + y * nx + x] = here + c * (s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx] + below + above - 6 * here);
    below = here, here = above;
    above = t[min(z + 2, nz - 1) * plane + y * nx + x];
  }
}

int main() {
  const int w = 40, h = 24;
  std::vector<float> f(9 * w * h), g(9 * w * h);
  std::vector<unsigned char> wall(w * h);
  for (int i = 0; i < w * h; i++) wall[i] = i / w == 0 || i / w == h - 1 || (abs(i % w - 10) < 3 && abs(i / w - 12) < 4);
  for (int i = 0; i < 9 * w * h; i++) f[i] = 0.1f + i / (w * h) * 0.01f;
  Buffer<float> df(9 * w * h), dg(9 * w * h);
  Buffer<unsigned char> dw(w * h);
  df.put(f.data()), dw.put(wall.data());
  for (int t = 0; t < 20; t++) {
    flow<<<dim3(2, 6), dim3(32, 4)>>>(df.p, dg.p, dw.p, w, h, 1.2f);
    std::swap(df.p, dg.p);
  }
  df.get(g.data());
  double before = 0, after = 0;
  for (int i = 0; i < 9 * w * h; i++) before += f[i], after += g[i], (void)0;
  EXPECT(fabs(before - after) < 1e-4 * before && g[5] == g[5]);

  const int words = 3, rows = 60, columns = words * 32;
  std::vector<unsigned> cells(words * rows), got(words * rows);
  unsigned state = 4;
  for (unsigned &c : cells) {
    unsigned high = random_of(state) << 12;
    c = high ^ random_of(state);
  }
  Buffer<unsigned> a(cells.size()), b(cells.size());
  a.put(cells.data());
  auto bit = [&](int x, int y) { return cells[(y + rows) % rows * words + (x + columns) % columns / 32] >> (x + columns) % 32 & 1; };
  for (int t = 0; t < 6; t++) {
    life<<<3, 64>>>(a.p, b.p, words, rows);
    std::swap(a.p, b.p);
    std::vector<unsigned> next(words * rows);
    for (int y = 0; y < rows; y++)
      for (int x = 0; x < columns; x++) {
        int n = 0;
        for (int k = 0; k < 9; k++)
          if (k != 4) n += bit(x + k % 3 - 1, y + k / 3 - 1);
        if (n == 3 || (n == 2 && bit(x, y))) next[y * words + x / 32] |= 1u << x % 32;
      }
    cells = next;
  }
  a.get(got.data());
  EXPECT(got == cells);

  const int nx = 16, ny = 16, nz = 9;
  std::vector<float> t0(nx * ny * nz), t1(t0.size());
  for (size_t i = 0; i < t0.size(); i++) t0[i] = (float)(i * 7 % 31);
  Buffer<float> ta(t0.size()), tb(t0.size());
  ta.put(t0.data());
  heat<8><<<dim3(2, 2), dim3(8, 8)>>>(ta.p, tb.p, nx, ny, nz, 0.125f);
  tb.get(t1.data());
  auto at = [&](int x, int y, int z) { return t0[(std::min(std::max(z, 0), nz - 1) * ny + std::min(std::max(y, 0), ny - 1)) * nx + std::min(std::max(x, 0), nx - 1)]; };
  for (int z = 0; z < nz; z++)
    for (int y = 0; y < ny; y++)
      for (int x = 0; x < nx; x++) {
        float s = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1) - 6 * at(x, y, z);
        EXPECT(fabsf(t1[(z * ny + y) * nx + x] - (at(x, y, z) + 0.125f * s)) < 1e-4f);
      }
  int alive = 0;
  for (unsigned c : cells) alive += __builtin_popcount(c);
  printf("%d alive\npassed\n", alive);
}

// Local alignment of two sequences (Smith and Waterman), by antidiagonals: one launch for each, and once more in tiles that
// keep their borders in shared memory.
#include "check.h"
#include <algorithm>
#include <string>
#include <vector>

constexpr int TILE = 16, MATCH = 3, MISMATCH = -2, GAP = 2;
__constant__ int blosum[4][4];

__global__ void diagonal(const char *a, const char *b, int n, int m, int d, int *h) {
  int lo = max(1, d - m), i = lo + blockIdx.x * blockDim.x + threadIdx.x, j = d - i;
  if (i > min(n, d - 1)) return;
  const int w = m + 1;
  int best = h[(i - 1) * w + j - 1] + blosum[a[i - 1] & 3][b[j - 1] & 3];
  best = max(best, max(h[(i - 1) * w + j], h[i * w + j - 1]) - GAP);
  h[i * w + j] = max(best, 0);
}

__global__ void tiles(const char *a, const char *b, int n, int m, int d, int *h) {
  __shared__ int s[TILE + 1][TILE + 1];
  const int w = m + 1, ty = max(0, d - m / TILE + 1) + blockIdx.x, tx = d - ty, t = threadIdx.x;
  const int i0 = ty * TILE, j0 = tx * TILE;
  s[0][t + 1] = h[i0 * w + j0 + t + 1];
  s[t + 1][0] = h[(i0 + t + 1) * w + j0];
  if (t == 0) s[0][0] = h[i0 * w + j0];
  __syncthreads();
  for (int k = 0; k < 2 * TILE - 1; k++) {
    int y = t, x = k - t;
    if (x >= 0 && x < TILE) {
      int best = s[y][x] + blosum[a[i0 + y] & 3][b[j0 + x] & 3];
      s[y + 1][x + 1] = max(0, max(best, max(s[y][x + 1], s[y + 1][x]) - GAP));
    }
    __syncthreads();
  }
  for (int y = 0; y < TILE; y++) h[(i0 + y + 1) * w + j0 + t + 1] = s[y + 1][t + 1];
}

__global__ void greatest(const int *h, int n, unsigned long long *best) {
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    mine = max(mine, (unsigned long long)h[i] << 32 | (unsigned)(n - i));
  atomicMax(best, mine);
}

int main() {
  const int n = 96, m = 128;
  std::string a, b;
  unsigned state = 3;
  for (int i = 0; i < n; i++) a += (char)random_of(state);
  for (int i = 0; i < m; i++) b += i > 20 && i < 70 && random_of(state) % 8 ? a[i] : (char)random_of(state);
  int score[4][4];
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) score[i][k] = i == k ? MATCH : MISMATCH;
  CHECK(cudaMemcpyToSymbol(blosum, score, sizeof score));
  std::vector<int> want((n + 1) * (m + 1)), got(want.size());
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      int *h = &want[i * (m + 1) + j];
      *h = std::max({0, h[-m - 2] + score[a[i - 1] & 3][b[j - 1] & 3], h[-m - 1] - GAP, h[-1] - GAP});
    }
  Buffer<char> da(n), db(m);
  Buffer<int> h(want.size());
  Buffer<unsigned long long> best(1);
  da.put(a.data()), db.put(b.data());
  for (int way = 0; way < 2; way++) {
    CHECK(cudaMemset(h.p, 0, want.size() * sizeof(int)));
    if (way == 0)
      for (int d = 2; d <= n + m; d++) diagonal<<<(std::min(n, m) + 63) / 64, 64>>>(da.p, db.p, n, m, d, h.p);
    else
      for (int d = 0; d < n / TILE + m / TILE - 1; d++) {
        int first = std::max(0, d - m / TILE + 1), last = std::min(d, n / TILE - 1);
        tiles<<<last - first + 1, TILE>>>(da.p, db.p, n, m, d, h.p);
      }
    CHECK(cudaDeviceSynchronize());
    h.get(got.data());
    EXPECT(got == want);
  }
  CHECK(cudaMemset(best.p, 0, 8));
  greatest<<<3, 96>>>(h.p, (int)want.size(), best.p);
  unsigned long long found;
  best.get(&found);
  int at = (int)(want.size() - (unsigned)found), top = *std::max_element(want.begin(), want.end());
  EXPECT((int)(found >> 32) == top && want[at] == top);
  printf("score %d, ends at %d %d\npassed\n", top, at / (m + 1), at % (m + 1));
}

// Dynamic programming: a knapsack by rows, the longest common subsequence with bits in words, edit distance in one block
// for each pair, the shortest way down a grid in pyramids, and the order of matrix products by diagonals.
#include "check.h"
#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

__global__ void knapsack(const int *before, int *after, int capacity, int weight, int value) {
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c <= capacity; c += gridDim.x * blockDim.x) after[c] = c < weight ? before[c] : max(before[c], before[c - weight] + value);
}

__global__ void edit(const char *words, const int *length, int stride, int *out) {
  extern __shared__ int row[]; // two rows
  const int a = blockIdx.x, b = blockIdx.y, n = length[a], m = length[b], t = threadIdx.x;
  const char *x = words + a * stride, *y = words + b * stride;
  int *old = row, *now = row + stride + 1, *older = row + 2 * (stride + 1);
  for (int d = 0; d <= n + m; d++) { // diagonals: position i of x, d - i of y
    for (int i = t; i <= n && i <= d; i += blockDim.x) {
      int j = d - i;
      if (j > m) continue;
      int v;
      if (i == 0) v = j;
      else if (j == 0) v = i;
      else v = min(min(old[i - 1], old[i]) + 1, older[i - 1] + (x[i - 1] != y[j - 1]));
      now[i] = v;
    }
    __syncthreads();
    int *t3 = older;
    older = old, old = now, now = t3;
    __syncthreads();
  }
  if (t == 0) out[a * gridDim.y + b] = old[n];
}

constexpr int STEPS = 4;
__global__ void paths(const unsigned char *wall, const int *from, int *to, int w, int first, int rows) {
  __shared__ int s[2][128];
  int t = threadIdx.x, x = blockIdx.x * (blockDim.x - 2 * STEPS) + t - STEPS;
  bool in = x >= 0 && x < w;
  s[0][t] = in ? from[x] : INT_MAX / 2;
  __syncthreads();
  int k = 0;
  for (; k < STEPS && first + k < rows; k++) {
    int least = s[k % 2][t];
    if (t > 0) least = min(least, s[k % 2][t - 1]);
    if (t + 1 < (int)blockDim.x) least = min(least, s[k % 2][t + 1]);
    s[(k + 1) % 2][t] = in ? least + wall[(first + k) * w + x] : INT_MAX / 2;
    __syncthreads();
  }
  if (in && t >= STEPS && t < (int)blockDim.x - STEPS) to[x] = s[k % 2][t];
}

__global__ void chain(const int *size, int *cost, int n, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = i + length;
  if (j >= n) return;
  int best = INT_MAX;
  for (int k = i; k < j; k++) best = min(best, cost[i * n + k] + cost[(k + 1) * n + j] + size[i] * size[k + 1] * size[j + 1]);
  cost[i * n + j] = best;
}

int main() {
  const int items = 30, capacity = 500;
  std::vector<int> best(capacity + 1), got(capacity + 1);
  Buffer<int> a(capacity + 1), b(capacity + 1);
  CHECK(cudaMemset(a.p, 0, (capacity + 1) * sizeof(int)));
  for (int i = 0; i < items; i++) {
    int w = 7 + i * 13 % 40, v = 10 + i * i % 57;
    knapsack<<<2, 128>>>(a.p, b.p, capacity, w, v);
    std::swap(a.p, b.p);
    for (int c = capacity; c >= w; c--) best[c] = std::max(best[c], best[c - w] + v);
  }
  a.get(got.data());
  EXPECT(got == best);

  const char *list[] = {"kernel", "colonel", "", "sitting", "kitten", "abcdefghijklmnopqrstuvwxyz"};
  const int n = 6, stride = 32;
  std::vector<char> words(n * stride);
  std::vector<int> length(n), distance(n * n);
  for (int i = 0; i < n; i++) strcpy(&words[i * stride], list[i]), length[i] = (int)strlen(list[i]);
  Buffer<char> dw(words.size());
  Buffer<int> dl(n), dd(n * n);
  dw.put(words.data()), dl.put(length.data());
  edit<<<dim3(n, n), 16, 3 * (stride + 1) * sizeof(int)>>>(dw.p, dl.p, stride, dd.p);
  dd.get(distance.data());
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      std::vector<int> r(length[j] + 1);
      for (int k = 0; k <= length[j]; k++) r[k] = k;
      for (int x = 1; x <= length[i]; x++)
        for (int y = 1, corner = x - 1 + 0 * (r[0] = x); y <= length[j]; y++) {
          int old = r[y];
          r[y] = std::min({r[y] + 1, r[y - 1] + 1, corner + (list[i][x - 1] != list[j][y - 1])});
          corner = old;
        }
      EXPECT(distance[i * n + j] == r[length[j]]);
    }

  const int w = 300, rows = 22;
  std::vector<unsigned char> wall(w * rows);
  unsigned state = 8;
  for (unsigned char &c : wall) c = (unsigned char)(random_of(state) % 10);
  std::vector<int> way(w), next(w);
  Buffer<unsigned char> dwall(w * rows);
  Buffer<int> p(w), q(w);
  dwall.put(wall.data());
  for (int x = 0; x < w; x++) way[x] = wall[x];
  p.put(way.data());
  for (int y = 1; y < rows; y += STEPS) {
    paths<<<(w + 63) / 64, 64 + 2 * STEPS>>>(dwall.p, p.p, q.p, w, y, rows);
    std::swap(p.p, q.p);
  }
  for (int y = 1; y < rows; y++, way = next)
    for (int x = 0; x < w; x++) next[x] = std::min({way[std::max(x - 1, 0)], way[x], way[std::min(x + 1, w - 1)]}) + wall[y * w + x];
  p.get(next.data());
  EXPECT(next == way);

  const int m = 24;
  std::vector<int> size(m + 1), cost(m * m), want(m * m);
  for (int i = 0; i <= m; i++) size[i] = 3 + i * 17 % 29;
  Buffer<int> ds(m + 1), dc(m * m);
  ds.put(size.data());
  CHECK(cudaMemset(dc.p, 0, m * m * sizeof(int)));
  for (int l = 1; l < m; l++) {
    chain<<<1, 32>>>(ds.p, dc.p, m, l);
    for (int i = 0; i + l < m; i++) {
      int &c = want[i * m + i + l] = INT_MAX;
      for (int k = i; k < i + l; k++) c = std::min(c, want[i * m + k] + want[(k + 1) * m + i + l] + size[i] * size[k + 1] * size[i + l + 1]);
    }
  }
  dc.get(cost.data());
  EXPECT(cost == want);
  printf("%d %d %d %d\npassed\n", best[capacity], distance[1], *std::min_element(way.begin(), way.end()), want[m - 1]);
}

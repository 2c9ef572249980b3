// Shortest paths: Floyd and Warshall in tiles, Bellman and Ford with a flag, and a frontier with atomicMin.
#include "check.h"
#include <algorithm>
#include <climits>
#include <vector>

constexpr int TILE = 16, FAR = INT_MAX / 4;

__global__ void diagonal_tile(int *d, int n, int k) {
  __shared__ int s[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, at = (k * TILE + y) * n + k * TILE + x;
  s[y][x] = d[at];
  for (int i = 0; i < TILE; i++) {
    __syncthreads();
    int via = s[y][i] + s[i][x];
    __syncthreads();
    if (via < s[y][x]) s[y][x] = via;
  }
  d[at] = s[y][x];
}
__global__ void other_tiles(int *d, int n, int k, bool cross) {
  __shared__ int left[TILE][TILE], top[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, bx = cross ? (blockIdx.y ? (int)blockIdx.x : k) : (int)blockIdx.x, by = cross ? (blockIdx.y ? k : (int)blockIdx.x) : (int)blockIdx.y;
  if (cross ? (int)blockIdx.x == k : bx == k || by == k) return;
  left[y][x] = d[(by * TILE + y) * n + k * TILE + x];
  top[y][x] = d[(k * TILE + y) * n + bx * TILE + x];
  int at = (by * TILE + y) * n + bx * TILE + x, best = d[at];
  for (int i = 0; i < TILE; i++) {
    __syncthreads();
    best = min(best, left[y][i] + top[i][x]);
    __syncthreads();
    if (cross) (blockIdx.y ? top : left)[y][x] = best;
  }
  d[at] = best;
}

__global__ void relax(const int *from, const int *to, const int *weight, int m, int *dist, int *changed) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m || dist[from[e]] >= FAR) return;
  int via = dist[from[e]] + weight[e];
  if (via < atomicMin(&dist[to[e]], via)) *changed = 1;
}

__global__ void frontier(const int *row, const int *to, const int *weight, const int *now, int count, int *next, int *ncount, int *mark, int round, int *dist) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int v = now[i];
  for (int e = row[v]; e < row[v + 1]; e++) {
    int via = dist[v] + weight[e];
    if (via < atomicMin(&dist[to[e]], via) && atomicExch(&mark[to[e]], round) != round) next[atomicAdd(ncount, 1)] = to[e];
  }
}

int main() {
  const int n = 96, degree = 4, m = n * degree;
  std::vector<int> row(n + 1), from(m), to(m), weight(m), all(n * n, FAR);
  unsigned state = 77;
  for (int v = 0; v < n; v++) {
    row[v + 1] = (v + 1) * degree;
    all[v * n + v] = 0;
    for (int e = v * degree; e < (v + 1) * degree; e++) {
      from[e] = v, to[e] = e % degree ? (int)(random_of(state) % n) : (v + 1) % n, weight[e] = 1 + (int)(random_of(state) % 50);
      all[v * n + to[e]] = std::min(all[v * n + to[e]], weight[e]);
    }
  }
  std::vector<int> want = all, got(n * n);
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) want[i * n + j] = std::min(want[i * n + j], want[i * n + k] + want[k * n + j]);
  Buffer<int> d(n * n), drow(n + 1), dfrom(m), dto(m), dweight(m), dist(n), flag(2), lists(2 * n), mark(n);
  d.put(all.data()), drow.put(row.data()), dfrom.put(from.data()), dto.put(to.data()), dweight.put(weight.data());
  for (int k = 0; k < n / TILE; k++) {
    diagonal_tile<<<1, dim3(TILE, TILE)>>>(d.p, n, k);
    other_tiles<<<dim3(n / TILE, 2), dim3(TILE, TILE)>>>(d.p, n, k, true);
    other_tiles<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(d.p, n, k, false);
  }
  d.get(got.data());
  EXPECT(got == want);
  std::vector<int> start(n, FAR);
  start[0] = 0;
  dist.put(start.data());
  int changed = 1, rounds = 0;
  while (changed) {
    CHECK(cudaMemset(flag.p, 0, sizeof(int)));
    relax<<<(m + 63) / 64, 64>>>(dfrom.p, dto.p, dweight.p, m, dist.p, flag.p);
    CHECK(cudaMemcpy(&changed, flag.p, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(++rounds <= n);
  }
  dist.get(got.data());
  EXPECT(std::equal(want.begin(), want.begin() + n, got.begin()));
  dist.put(start.data());
  CHECK(cudaMemset(mark.p, 0, n * sizeof(int)));
  CHECK(cudaMemset(lists.p, 0, sizeof(int)));
  for (int count = 1, round = 1; count; round++) {
    CHECK(cudaMemset(flag.p, 0, sizeof(int)));
    frontier<<<(count + 31) / 32, 32>>>(drow.p, dto.p, dweight.p, lists.p + (round + 1) % 2 * n, count, lists.p + round % 2 * n, flag.p, mark.p, round, dist.p);
    CHECK(cudaMemcpy(&count, flag.p, sizeof(int), cudaMemcpyDeviceToHost));
  }
  dist.get(got.data());
  EXPECT(std::equal(want.begin(), want.begin() + n, got.begin()));
  long sum = 0;
  for (int x : want) sum += x;
  printf("%ld\npassed\n", sum);
}

// Graphs: connected components by union and find, colours by independent sets, page rank, triangles, and a topological
// order that blocks take from a queue.
#include "check.h"
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

__device__ int root(int *parent, int v) {
  while (parent[v] != v) {
    int up = parent[v], next = parent[up];
    parent[v] = next;
    v = up;
  }
  return v;
}
__global__ void unite(const int2 *edges, int m, int *parent) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m) return;
  int a = edges[e].x, b = edges[e].y;
  for (;;) {
    a = root(parent, a), b = root(parent, b);
    if (a == b) return;
    if (a < b) {
      int t = a;
      a = b, b = t;
    }
    if (atomicCAS(&parent[a], a, b) == a) return;
  }
}
__global__ void flatten(int *parent, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) parent[v] = root(parent, v);
}

__host__ __device__ inline unsigned mix(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352dU, x ^= x >> 15, x *= 0x846ca68bU;
  return x ^ x >> 16;
}
__global__ void colour(const int *row, const int *to, int n, int c, int *colours, int *left) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || colours[v] >= 0) return;
  bool greatest = true;
  for (int e = row[v]; e < row[v + 1]; e++) {
    int other = colours[to[e]];
    if (other >= 0 && other != c) continue;
    if (mix(to[e]) > mix(v) || (mix(to[e]) == mix(v) && to[e] > v)) greatest = false;
  }
  if (greatest) colours[v] = c;
  else atomicAdd(left, 1);
}

__global__ void rank(const int *row, const int *to, const float *old, float *now, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  float s = 0;
  for (int e = row[v]; e < row[v + 1]; e++) s += old[to[e]] / (row[to[e] + 1] - row[to[e]]);
  now[v] = 0.15f / n + 0.85f * s;
}

// A warp for each node: lanes look for pairs of neighbours that are neighbours.
__global__ void triangles(const int *row, const int *to, int n, unsigned *count) {
  int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (v >= n) return;
  unsigned found = 0;
  int first = row[v], degree = row[v + 1] - first;
  for (int k = lane; k < degree * degree; k += 32) {
    int a = to[first + k / degree], b = to[first + k % degree];
    if (a <= v || b <= a) continue;
    int lo = row[a], hi = row[a + 1];
    while (lo < hi) {
      int mid = (lo + hi) / 2;
      if (to[mid] < b) lo = mid + 1;
      else hi = mid;
    }
    found += lo < row[a + 1] && to[lo] == b;
  }
  if (found) atomicAdd(count, found);
}

int main() {
  const int n = 400;
  std::vector<std::set<int>> near(n);
  unsigned state = 5;
  for (int k = 0; k < 700; k++) {
    int a = (int)(random_of(state) % n), b = (a + 1 + (int)(random_of(state) % 20)) % n;
    if (a % 7 == 0 || b % 7 == 0 || a == b) continue;
    near[a].insert(b), near[b].insert(a);
  }
  std::vector<int> row(1), to, parent(n);
  std::vector<int2> edges;
  for (int v = 0; v < n; v++) {
    for (int w : near[v]) {
      to.push_back(w);
      if (v < w) edges.push_back(make_int2(v, w));
    }
    row.push_back((int)to.size());
  }
  std::iota(parent.begin(), parent.end(), 0);
  Buffer<int> drow(n + 1), dto(to.size()), dp(n), left(1);
  Buffer<int2> de(edges.size());
  drow.put(row.data()), dto.put(to.data()), dp.put(parent.data()), de.put(edges.data());
  unite<<<((int)edges.size() + 63) / 64, 64>>>(de.p, (int)edges.size(), dp.p);
  flatten<<<(n + 63) / 64, 64>>>(dp.p, n);
  std::vector<int> got(n), label(n, -1);
  dp.get(got.data());
  int components = 0;
  for (int v = 0; v < n; v++) { // labels by the least node, as unions of roots give them
    if (label[v] >= 0) continue;
    components++;
    std::vector<int> stack(1, v);
    while (!stack.empty()) {
      int x = stack.back();
      stack.pop_back();
      if (label[x] >= 0) continue;
      label[x] = v;
      for (int w : near[x]) stack.push_back(w);
    }
  }
  EXPECT(got == label);
  CHECK(cudaMemset(dp.p, 255, n * sizeof(int)));
  int colours = 0;
  for (int rest = 1; rest; colours++) {
    CHECK(cudaMemset(left.p, 0, sizeof(int)));
    colour<<<(n + 63) / 64, 64>>>(drow.p, dto.p, n, colours, dp.p, left.p);
    left.get(&rest);
    EXPECT(colours < n);
  }
  dp.get(got.data());
  for (int2 e : edges) EXPECT(got[e.x] != got[e.y]);
  Buffer<float> ranks(2 * n);
  std::vector<float> r(n, 1.0f / n), next(n);
  CHECK(cudaMemcpy(ranks.p, r.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  for (int t = 0; t < 10; t++) {
    rank<<<(n + 127) / 128, 128>>>(drow.p, dto.p, ranks.p + t % 2 * n, ranks.p + (t + 1) % 2 * n, n);
    for (int v = 0; v < n; v++) {
      float s = 0;
      for (int w : near[v]) s += r[w] / near[w].size();
      next[v] = 0.15f / n + 0.85f * s;
    }
    r.swap(next);
  }
  CHECK(cudaMemcpy(next.data(), ranks.p, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int v = 0; v < n; v++) EXPECT(fabsf(r[v] - next[v]) < 1e-6f);
  Buffer<unsigned> count(1);
  CHECK(cudaMemset(count.p, 0, 4));
  triangles<<<(n * 32 + 127) / 128, 128>>>(drow.p, dto.p, n, count.p);
  unsigned found, want = 0;
  count.get(&found);
  for (int2 e : edges)
    for (int w : near[e.y]) want += w > e.y && near[e.x].count(w);
  EXPECT(found == want);
  printf("%d components, %u triangles\npassed\n", components, found);
}

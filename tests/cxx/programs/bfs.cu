// Distances in a graph, level by level, with a frontier in a queue; the host asks after each level whether there is more.
#include "check.h"
#include <queue>
#include <vector>

struct Graph { const int *first, *to; int n; };

__global__ void expand(Graph g, const int *frontier, int size, int *next, int *count, int *distance, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int from = frontier[i];
  for (int e = g.first[from]; e < g.first[from + 1]; e++) {
    int to = g.to[e];
    if (atomicCAS(&distance[to], -1, level) == -1) next[atomicAdd(count, 1)] = to;
  }
}

int main() {
  const int n = 3000;
  std::vector<std::vector<int>> edges(n);
  unsigned state = 4;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) edges[i].push_back((i + 1 + (int)(random_of(state) % 50)) % n);
  std::vector<int> first(1, 0), to, distance(n, -1), expected(n, -1);
  for (auto &e : edges) {
    to.insert(to.end(), e.begin(), e.end());
    first.push_back((int)to.size());
  }
  Buffer<int> df(first.size()), dt(to.size()), a(n), b(n), count(1), dd(n);
  df.put(first.data());
  dt.put(to.data());
  distance[0] = 0;
  dd.put(distance.data());
  CHECK(cudaMemset(a.p, 0, sizeof(int)));
  Graph g = {df.p, dt.p, n};
  int size = 1, level = 0, widest = 0;
  while (size) {
    CHECK(cudaMemset(count.p, 0, sizeof(int)));
    expand<<<(size + 63) / 64, 64>>>(g, a.p, size, b.p, count.p, dd.p, ++level);
    count.get(&size);
    widest = size > widest ? size : widest;
    std::swap(a.p, b.p);
  }
  dd.get(distance.data());
  std::queue<int> q;
  q.push(0);
  expected[0] = 0;
  while (!q.empty()) {
    int x = q.front();
    q.pop();
    for (int y : edges[x])
      if (expected[y] < 0) expected[y] = expected[x] + 1, q.push(y);
  }
  EXPECT(distance == expected);
  printf("%d levels, widest %d\npassed\n", level, widest);
}

// Trees: a k-d tree in an array searched for the nearest point with a stack, a hierarchy of boxes that rays meet, a
// segment tree of minima, Barnes and Hut's cells in one dimension, and an octree's Morton codes sorted by radix.
#include "check.h"
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

__global__ void nearest(const float2 *tree, int n, const float2 *queries, int m, int *found) { // node i: children 2i+1, 2i+2
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= m) return;
  float2 p = queries[q];
  int stack[32], top = 0, best = -1;
  float least = FLT_MAX;
  stack[top++] = 0;
  while (top) {
    int i = stack[--top];
    if (i >= n) continue;
    float2 t = tree[i];
    float d = (t.x - p.x) * (t.x - p.x) + (t.y - p.y) * (t.y - p.y);
    if (d < least) least = d, best = i;
    int level = 31 - __clz(i + 1);
    float side = level % 2 ? p.y - t.y : p.x - t.x;
    int near = 2 * i + 1 + (side > 0), far = 4 * i + 3 - near;
    if (side * side < least) stack[top++] = far;
    stack[top++] = near;
  }
  found[q] = best;
}

__device__ uint32_t spread(uint32_t v) {
  v = (v * 0x00010001u) & 0xFF0000FFu, v = (v * 0x00000101u) & 0x0F00F00Fu;
  v = (v * 0x00000011u) & 0xC30C30C3u, v = (v * 0x00000005u) & 0x49249249u;
  return v;
}
__global__ void morton(const float3 *p, int n, uint32_t *code, int *index) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  code[i] = spread((uint32_t)(p[i].x * 1023)) << 2 | spread((uint32_t)(p[i].y * 1023)) << 1 | spread((uint32_t)(p[i].z * 1023));
  index[i] = i;
}
// One bit at a time, in one block; a split by a scan.
__global__ void radix(uint32_t *key, int *value, int n) {
  extern __shared__ uint32_t s[];
  uint32_t *k = s;
  int *v = (int *)(s + n), *ones = v + n, t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) k[i] = key[i], v[i] = value[i];
  for (int bit = 0; bit < 30; bit++) {
    __syncthreads();
    uint32_t mine = k[t];
    int own = v[t], one = mine >> bit & 1;
    ones[t] = one;
    for (int d = 1; d < n; d *= 2) {
      __syncthreads();
      int x = t >= d ? ones[t - d] : 0;
      __syncthreads();
      ones[t] += x;
    }
    __syncthreads();
    int zeros = n - ones[n - 1], to = one ? zeros + ones[t] - 1 : t - ones[t];
    k[to] = mine, v[to] = own;
  }
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) key[i] = k[i], value[i] = v[i];
}

__global__ void build(float4 *box, int leaves) { // intervals: node i covers 2i and 2i+1
  for (int level = leaves / 2; level; level /= 2) {
    for (int i = level + threadIdx.x; i < 2 * level; i += blockDim.x) {
      float4 a = box[2 * i], b = box[2 * i + 1];
      box[i] = make_float4(fminf(a.x, b.x), fminf(a.y, b.y), fmaxf(a.z, b.z), fmaxf(a.w, b.w));
    }
    __syncthreads();
  }
}
__global__ void rays(const float4 *box, int leaves, int n, int *hits) { // upright rays through a plane of boxes
  int r = blockIdx.x * blockDim.x + threadIdx.x, stack[24], top = 0, count = 0;
  if (r >= n) return;
  float x = (r % 16 + 0.5f) / 16, y = (r / 16 + 0.5f) / 16;
  stack[top++] = 1;
  do {
    int i = stack[--top];
    float4 b = box[i];
    if (x < b.x || y < b.y || x > b.z || y > b.w) continue;
    if (i >= leaves) count++;
    else stack[top++] = 2 * i, stack[top++] = 2 * i + 1;
  } while (top);
  hits[r] = count;
}

static void arrange(std::vector<float2> &p, size_t from, size_t to, int node, int level, std::vector<float2> &tree) {
  if (from >= to) return;
  size_t n = to - from, h = 1, left; // the left part of a complete tree
  while (2 * h <= n + 1) h *= 2;
  left = std::min(h - 1, n - h / 2);
  if (n == 1) left = 0;
  std::sort(p.begin() + from, p.begin() + to, [=](float2 a, float2 b) { return level % 2 ? a.y < b.y : a.x < b.x; });
  tree[node] = p[from + left];
  arrange(p, from, from + left, 2 * node + 1, level + 1, tree);
  arrange(p, from + left + 1, to, 2 * node + 2, level + 1, tree);
}

int main() {
  unsigned state = 12;
  auto number = [&] { return (float)(random_of(state) % 10000) / 10000; };
  const int n = 255, m = 100;
  std::vector<float2> p(n), tree(n), queries(m);
  for (float2 &x : p) x.x = number(), x.y = number();
  for (float2 &x : queries) x.x = number(), x.y = number();
  std::vector<float2> copy = p;
  arrange(copy, 0, n, 0, 0, tree);
  Buffer<float2> dt(n), dq(m);
  Buffer<int> found(m);
  dt.put(tree.data()), dq.put(queries.data());
  nearest<<<2, 64>>>(dt.p, n, dq.p, m, found.p);
  std::vector<int> f(m);
  found.get(f.data());
  auto distance = [](float2 a, float2 b) { return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y); };
  for (int q = 0; q < m; q++) {
    float least = FLT_MAX;
    for (float2 x : p) least = std::min(least, distance(x, queries[q]));
    EXPECT(fabsf(distance(tree[f[q]], queries[q]) - least) < 1e-9f);
  }
  const int k = 256;
  std::vector<float3> points(k);
  for (float3 &x : points) x.x = number(), x.y = number(), x.z = number();
  Buffer<float3> dp(k);
  Buffer<uint32_t> code(k);
  Buffer<int> index(k);
  dp.put(points.data());
  morton<<<2, 128>>>(dp.p, k, code.p, index.p);
  std::vector<uint32_t> before(k), after(k);
  std::vector<int> order(k);
  code.get(before.data());
  radix<<<1, k, 3 * k * sizeof(int)>>>(code.p, index.p, k);
  CHECK(cudaDeviceSynchronize());
  code.get(after.data()), index.get(order.data());
  for (int i = 0; i < k; i++) EXPECT(after[i] == before[order[i]] && (!i || after[i - 1] < after[i] || (after[i - 1] == after[i] && order[i - 1] < order[i])));
  const int leaves = 128;
  std::vector<float4> boxes(2 * leaves);
  for (int i = leaves; i < 2 * leaves; i++) {
    float x = number(), y = number();
    boxes[i] = make_float4(x, y, x + 0.1f, y + 0.1f);
  }
  Buffer<float4> db(2 * leaves);
  Buffer<int> hits(256);
  db.put(boxes.data());
  build<<<1, 32>>>(db.p, leaves);
  rays<<<4, 64>>>(db.p, leaves, 256, hits.p);
  std::vector<int> h(256);
  hits.get(h.data());
  int total = 0;
  for (int r = 0; r < 256; r++) {
    float x = (r % 16 + 0.5f) / 16, y = (r / 16 + 0.5f) / 16;
    int want = 0;
    for (int i = leaves; i < 2 * leaves; i++) want += x >= boxes[i].x && y >= boxes[i].y && x <= boxes[i].z && y <= boxes[i].w;
    EXPECT(h[r] == want);
    total += want;
  }
  printf("%d hits\npassed\n", total);
}

// Each function of the guides on cooperative groups, under its own name, against a plain model on the host; and what the
// groups' algorithms are: reductions, scans, and what one thread does for all.
// no nvcc: clusters are beyond compute_80
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda.h>
#include <vector>

namespace cg = cooperative_groups;
typedef unsigned long long u64;

constexpr int X = 16, Y = 4, Z = 2, PER = X * Y * Z, GX = 2, GY = 3, BLOCKS = GX * GY, N = PER * BLOCKS, ROOM = 64;

struct Out {
  u64 *at;
  __device__ void operator()(u64 v) { *at++ = v; }
};
__host__ __device__ int value_of(int i) { return (int)((unsigned)i * 2654435761u >> 7) - 5000000; }
__host__ __device__ float real_of(int i) { return (float)(value_of(i) % 1000) * 0.25f; }

// ---- block and grid
__global__ void wholes(u64 *to) {
  cg::thread_block b = cg::this_thread_block();
  cg::grid_group g = cg::this_grid();
  cg::multi_grid_group m = cg::this_multi_grid();
  Out out{to + g.thread_rank() * ROOM};
  b.sync();
  out(b.thread_rank());
  out(b.group_index().x), out(b.group_index().y), out(b.group_index().z);
  out(b.thread_index().x), out(b.thread_index().y), out(b.thread_index().z);
  out(b.dim_threads().x), out(b.dim_threads().y), out(b.dim_threads().z);
  out(b.num_threads()), out(b.size());
  out(b.group_dim().x), out(b.group_dim().y), out(b.group_dim().z);
  out(g.is_valid()), out(g.thread_rank()), out(g.block_rank()), out(g.num_threads()), out(g.num_blocks());
  out(g.dim_blocks().x), out(g.dim_blocks().y), out(g.dim_blocks().z);
  out(g.block_index().x), out(g.block_index().y), out(g.block_index().z);
  out(g.size()), out(g.group_dim().x), out(g.group_dim().y), out(g.group_dim().z);
  out(m.is_valid()), out(m.num_threads()), out(m.thread_rank()), out(m.grid_rank()), out(m.size());
  g.sync();
  m.sync();
  cg::sync(b);
  cg::sync(g);
  out(to[(g.size() - 1 - g.thread_rank()) * ROOM]); // what another block has stored before
}
static void expect_wholes(const u64 *at, int i) {
  const int r = i % PER, b = i / PER, far = N - 1 - i;
  const u64 want[] = {(u64)r, (u64)(b % GX), (u64)(b / GX), 0, (u64)(r % X), (u64)(r / X % Y), (u64)(r / X / Y), X, Y, Z, PER, PER, X, Y, Z,
                      1, (u64)i, (u64)b, N, BLOCKS, GX, GY, 1, (u64)(b % GX), (u64)(b / GX), 0, N, GX, GY, 1,
                      1, N, (u64)i, 0, N, (u64)(far % PER)};
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) EXPECT(at[k] == want[k]);
}

// ---- groups of lanes: the same for tiles and for coalesced lanes
struct Big {
  int word[8];
};
template <class G> __device__ void of_lanes(const G &g, Out &out, int me) {
  const int v = value_of(me);
  g.sync();
  out(g.num_threads()), out(g.size()), out(g.thread_rank()), out(g.meta_group_size()), out(g.meta_group_rank());
  out((unsigned)g.shfl(v, 1 % g.size())), out((unsigned)g.shfl_up(v, 2)), out((unsigned)g.shfl_down(v, 1)), out((unsigned)g.shfl_xor(v, 1));
  Big big;
  for (int k = 0; k < 8; k++) big.word[k] = v + k;
  big = g.shfl_down(big, 1);
  out((unsigned)big.word[7]);
  const int odd = v & 1, label = (unsigned)v % 3;
  int same = 5;
  out(g.any(odd) != 0), out(g.all(odd) != 0), out(g.ballot(odd)), out(g.match_any(label)), out(g.match_any((long long)label << 40));
  const u64 of_all = g.match_all(label, same);
  out(of_all), out(same != 0);
  out((unsigned)cg::reduce(g, v, cg::plus<int>())), out((unsigned)cg::reduce(g, v, cg::less<int>())), out((unsigned)cg::reduce(g, v, cg::greater<int>()));
  out(cg::reduce(g, (unsigned)v, cg::bit_and<unsigned>())), out(cg::reduce(g, (unsigned)v, cg::bit_or<unsigned>())), out(cg::reduce(g, (unsigned)v, cg::bit_xor<unsigned>()));
  out((u64)(long long)(cg::reduce(g, real_of(me), cg::plus<float>()) * 4)), out((u64)(long long)(cg::reduce(g, real_of(me), cg::less<float>()) * 4));
  out((u64)cg::reduce(g, (long long)v, [](long long a, long long b) { return a + b; }));
  out((unsigned)cg::inclusive_scan(g, v)), out((unsigned)cg::exclusive_scan(g, v));
  out((unsigned)cg::inclusive_scan(g, v, cg::greater<int>()));
  out((u64)(long long)(cg::inclusive_scan(g, real_of(me), [](float a, float b) { return a + b; }) * 4));
  int one = 0;
  cg::invoke_one(g, [&] { one = 1; });
  out(one);
  out((unsigned)cg::invoke_one_broadcast(g, [&](int plus) { return v + plus; }, 3));
  cg::coalesced_group part = cg::labeled_partition(g, label);
  out(part.size()), out(part.thread_rank()), out(part.meta_group_size()), out(part.meta_group_rank());
  cg::coalesced_group half = cg::binary_partition(g, odd);
  out(half.num_threads()), out(half.meta_group_rank());
  cg::thread_group any = g;
  cg::sync(any);
  out(any.size()), out(any.thread_rank());
}
// The group's members, in order of their ranks, and the caller's; `whole`: parts of the parent, and which this is.
static void expect_lanes(const u64 *at, const std::vector<int> &members, int rank, u64 parts, u64 part) {
  const int n = (int)members.size(), me = members[rank];
  std::vector<int> v;
  for (int t : members) v.push_back(value_of(t));
  auto take = [&](int r) { return (unsigned)(r >= 0 && r < n ? v[r] : v[rank]); };
  auto bits = [&](auto holds) {
    u64 m = 0;
    for (int k = 0; k < n; k++) m |= (u64)holds(v[k]) << k;
    return m;
  };
  auto is_odd = [](int x) { return (x & 1) != 0; };
  auto label = [](int x) { return (int)((unsigned)x % 3); };
  const u64 all = n == 64 ? ~0ull : (1ull << n) - 1, like = bits([&](int x) { return label(x) == label(v[rank]); });
  int sum = 0, least = v[0], most = v[0], up = 0, highest = v[0];
  unsigned both = ~0u, some = 0, odd_bits = 0;
  double real = 0, real_least = real_of(members[0]), real_up = 0;
  long long wide = 0;
  for (int k = 0; k < n; k++) {
    const double f = real_of(members[k]);
    sum = (int)((unsigned)sum + (unsigned)v[k]), wide += v[k], real += f;
    if (v[k] < least) least = v[k];
    if (v[k] > most) most = v[k];
    if (f < real_least) real_least = f;
    if (k <= rank) up = (int)((unsigned)up + (unsigned)v[k]), real_up += f, highest = v[k] > highest ? v[k] : highest;
    both &= (unsigned)v[k], some |= (unsigned)v[k], odd_bits ^= (unsigned)v[k];
  }
  auto part_of = [&](auto key, u64 out[4]) {
    std::vector<int> heads, seen;
    u64 size = 0, before = 0;
    for (int k = 0; k < n; k++) {
      bool known = false;
      for (int s : seen) known |= s == key(v[k]);
      if (!known) seen.push_back(key(v[k]));
      if (key(v[k]) == key(v[rank])) size++, before += k < rank;
    }
    out[0] = size, out[1] = before, out[2] = seen.size(), out[3] = 0;
    while (seen[out[3]] != key(v[rank])) out[3]++;
  };
  u64 by_label[4], by_odd[4];
  part_of(label, by_label), part_of([](int x) { return x & 1; }, by_odd);
  const bool alike = like == all;
  const u64 want[] = {(u64)n, (u64)n, (u64)rank, parts, part, take(1 % n), take(rank - 2), take(rank + 1), take(rank ^ 1),
                      take(rank + 1) + 7, bits(is_odd) != 0, bits(is_odd) == all, bits(is_odd), like, like, alike ? all : 0, alike,
                      (unsigned)sum, (unsigned)least, (unsigned)most, both, some, odd_bits, (u64)(long long)(real * 4), (u64)(long long)(real_least * 4),
                      (u64)wide, (unsigned)up, (unsigned)up - (unsigned)v[rank], (unsigned)highest, (u64)(long long)(real_up * 4), rank == 0,
                      (unsigned)v[0] + 3, by_label[0], by_label[1], by_label[2], by_label[3], by_odd[0], by_odd[3], (u64)n, (u64)rank};
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
    if (at[k] != want[k]) printf("thread %d of %d, number %zu: %llx, not %llx\n", me, n, k, at[k], want[k]);
    EXPECT(at[k] == want[k]);
  }
}

template <unsigned SIZE> __global__ void tiles(u64 *to) {
  cg::thread_block b = cg::this_thread_block();
  auto tile = cg::tiled_partition<SIZE>(b);
  Out out{to + cg::this_grid().thread_rank() * ROOM};
  of_lanes(tile, out, (int)cg::this_grid().thread_rank());
}
template <unsigned SIZE> static void run_tiles(Buffer<u64> &d, std::vector<u64> &h) {
  tiles<SIZE><<<dim3(GX, GY), dim3(X, Y, Z)>>>(d.p);
  d.get(h.data());
  for (int i = 0; i < N; i++) {
    std::vector<int> members;
    for (unsigned k = 0; k < SIZE; k++) members.push_back(i / (int)SIZE * (int)SIZE + (int)k);
    expect_lanes(&h[i * ROOM], members, i % (int)SIZE, PER / SIZE, i % PER / SIZE);
  }
}

// every third thread; tiles of tiles; a size known only here; the thread alone
__global__ void coalesced(u64 *to) {
  const int me = (int)cg::this_grid().thread_rank();
  Out out{to + me * ROOM};
  if (me % 3 == 0) {
    cg::coalesced_group g = cg::coalesced_threads();
    of_lanes(g, out, me);
  }
}
__global__ void parts(u64 *to, unsigned size) {
  cg::thread_block b = cg::this_thread_block();
  Out out{to + cg::this_grid().thread_rank() * ROOM};
  auto sixteen = cg::tiled_partition<16>(b);
  auto four = cg::tiled_partition<4>(sixteen);
  cg::thread_group given = cg::tiled_partition(b, size);
  out(four.thread_rank()), out(four.meta_group_rank()), out(four.meta_group_size());
  given.sync();
  out(given.size()), out(given.thread_rank());
  auto alone = cg::this_thread();
  alone.sync();
  out(alone.size()), out(alone.thread_rank()), out(alone.num_threads());
}

// copies that land when the group waits
__global__ void copies(const int *in, int *out, int n) {
  __shared__ __align__(16) int row[512];
  cg::thread_block b = cg::this_thread_block();
  cg::memcpy_async(b, row, in, sizeof(int) * n);
  cg::memcpy_async(b, row + 256, in + 1, sizeof(int) * 7);
  cg::wait_prior<1>(b);
  int v = row[(threadIdx.x + 1) % n];
  cg::wait(b);
  out[threadIdx.x] = v + row[256 + threadIdx.x % 7] + row[(threadIdx.x + 9) % n];
}

// ---- clusters: by the launch, and by the kernel itself
__device__ void around(u64 *to) {
  __shared__ int cell[2];
  cg::cluster_group c = cg::this_cluster();
  Out out{to + cg::this_grid().thread_rank() * ROOM};
  if (threadIdx.x == 0) cell[0] = (int)blockIdx.x * 10;
  c.sync();
  const unsigned next = (c.block_rank() + 1) % c.num_blocks();
  int *there = c.map_shared_rank(cell, (int)next);
  if (threadIdx.x == 0) atomicAdd(there + 0, 1000);
  auto token = c.barrier_arrive();
  c.barrier_wait(static_cast<decltype(token) &&>(token));
  out((unsigned)*there), out(c.query_shared_rank(there)), out(c.thread_rank()), out(c.num_threads()), out(c.size()), out(c.num_blocks()), out(c.block_rank());
  out(c.block_index().x), out(c.dim_blocks().x), out(c.dim_blocks().y), out(c.thread_index().x), out(c.dim_threads().x);
  c.sync();
}
__global__ void clusters(u64 *to, int turns) {
  for (int k = 0; k < turns; k++) around(to);
}
__global__ void __cluster_dims__(4, 1, 1) clusters_of_four(u64 *to) { around(to); }
static void expect_clusters(Buffer<u64> &d, std::vector<u64> &h, int size) {
  d.get(h.data());
  for (int i = 0; i < 8 * 32; i++) {
    const int b = i / 32, rank = b % size, next = b - rank + (rank + 1) % size;
    const u64 want[] = {(u64)next * 10 + 1000, (u64)((rank + 1) % size), (u64)(rank * 32 + i % 32), (u64)size * 32, (u64)size * 32, (u64)size, (u64)rank,
                        (u64)rank, (u64)size, 1, (u64)(rank * 32 + i % 32), (u64)size * 32};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) EXPECT(h[i * ROOM + k] == want[k]);
  }
}

int main() {
  Buffer<u64> d(N * ROOM);
  std::vector<u64> h(N * ROOM);
  // a cooperative launch by its attribute
  cudaLaunchAttribute attribute[1];
  cudaLaunchConfig_t config = {};
  attribute[0].id = cudaLaunchAttributeCooperative;
  attribute[0].val.cooperative = 1;
  config.gridDim = dim3(GX, GY), config.blockDim = dim3(X, Y, Z), config.attrs = attribute, config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, wholes, d.p));
  d.get(h.data());
  for (int i = 0; i < N; i++) expect_wholes(&h[i * ROOM], i);

  run_tiles<1>(d, h), run_tiles<2>(d, h), run_tiles<4>(d, h), run_tiles<8>(d, h), run_tiles<16>(d, h), run_tiles<32>(d, h);
#if __MX_LANES == 64
  run_tiles<64>(d, h);
#endif
  coalesced<<<dim3(GX, GY), dim3(X, Y, Z)>>>(d.p);
  d.get(h.data());
  for (int i = 0; i < N; i += 3) {
    std::vector<int> members;
    int rank = 0;
    for (int k = i / __MX_LANES * __MX_LANES; k < (i / __MX_LANES + 1) * __MX_LANES; k++)
      if (k % 3 == 0) {
        if (k == i) rank = (int)members.size();
        members.push_back(k);
      }
    expect_lanes(&h[i * ROOM], members, rank, 1, 0);
  }
  parts<<<dim3(GX, GY), dim3(X, Y, Z)>>>(d.p, 8);
  d.get(h.data());
  for (int i = 0; i < N; i++) {
    const u64 want[] = {(u64)(i % 4), (u64)(i % 16 / 4), 4, 8, (u64)(i % 8), 1, 0, 1};
    for (int k = 0; k < 8; k++) EXPECT(h[i * ROOM + k] == want[k]);
  }

  Buffer<int> in(256), out(64);
  int values[256], got[64];
  for (int i = 0; i < 256; i++) values[i] = value_of(i);
  in.put(values);
  copies<<<1, 64>>>(in.p, out.p, 200);
  out.get(got);
  for (int i = 0; i < 64; i++) EXPECT((unsigned)got[i] == (unsigned)values[(i + 1) % 200] + (unsigned)values[1 + i % 7] + (unsigned)values[(i + 9) % 200]);

  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = 2, attribute[0].val.clusterDim.y = 1, attribute[0].val.clusterDim.z = 1;
  config.gridDim = dim3(8), config.blockDim = dim3(32);
  CHECK(cudaLaunchKernelEx(&config, clusters, d.p, 3));
  expect_clusters(d, h, 2);
  clusters_of_four<<<8, 32>>>(d.p);
  CHECK(cudaDeviceSynchronize());
  expect_clusters(d, h, 4);
  clusters<<<8, 32>>>(d.p, 1); // each block alone
  CHECK(cudaDeviceSynchronize());
  // the same by the driver's names
  cudaFunction_t function;
  CHECK(cudaGetFuncBySymbol(&function, (const void *)clusters));
  CUlaunchAttribute of_driver[1];
  CUlaunchConfig wanted = {};
  of_driver[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  of_driver[0].value.clusterDim.x = 8, of_driver[0].value.clusterDim.y = 1, of_driver[0].value.clusterDim.z = 1;
  wanted.gridDimX = 8, wanted.gridDimY = wanted.gridDimZ = 1, wanted.blockDimX = 32, wanted.blockDimY = wanted.blockDimZ = 1;
  wanted.attrs = of_driver, wanted.numAttrs = 1;
  int turns = 2;
  void *args[] = {&d.p, &turns};
  EXPECT(cuLaunchKernelEx(&wanted, (CUfunction)function, args, nullptr) == CUDA_SUCCESS);
  CHECK(cudaDeviceSynchronize());
  expect_clusters(d, h, 8);
  config.gridDim = dim3(7); // no multiple of the cluster
  EXPECT(cudaLaunchKernelEx(&config, clusters, d.p, 1) != cudaSuccess);
  cudaGetLastError();
  printf("passed\n");
}

// Cooperative groups: tiles, coalesced lanes that share an atomic, partitions, scans, and a grid that synchronises.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <vector>

namespace cg = cooperative_groups;

__global__ void tiles(const int *in, int *out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  auto quad = cg::tiled_partition<4>(tile);
  int v = in[blockIdx.x * blockDim.x + block.thread_rank()];
  int sum = cg::reduce(tile, v, cg::plus<int>()), least = cg::reduce(quad, v, cg::less<int>()), up = cg::inclusive_scan(tile, v);
  unsigned odd = (unsigned)tile.ballot(v & 1);
  block.sync();
  int *o = out + (blockIdx.x * blockDim.x + block.thread_rank()) * 4;
  o[0] = sum, o[1] = least, o[2] = up, o[3] = (int)odd;
}

__device__ int reserve(int *counter) {
  cg::coalesced_group g = cg::coalesced_threads();
  int at = 0;
  if (g.thread_rank() == 0) at = atomicAdd(counter, (int)g.size());
  return g.shfl(at, 0) + (int)g.thread_rank();
}
__global__ void filter(const int *in, int n, int *out, int *counter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) out[reserve(counter)] = in[i];
}

struct Pair { double a; short b; };
__global__ void labels(double *out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  auto part = cg::labeled_partition(tile, (int)(tile.thread_rank() % 3));
  Pair p = {tile.thread_rank() * 0.5, (short)tile.thread_rank()};
  Pair last = part.shfl(p, part.size() - 1);
  out[threadIdx.x] = last.a + last.b + part.size();
}

// a part of a tile counts among the parts of that tile, not of the block
__global__ void parts(int *out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  auto part = cg::tiled_partition<8>(tile);
  out[threadIdx.x] = (int)(part.meta_group_rank() * 100 + part.meta_group_size() * 10 + part.thread_rank());
}

__global__ void rounds(int *v, int n, int turns) {
  cg::grid_group grid = cg::this_grid();
  for (int t = 0; t < turns; t++) {
    for (int i = (int)grid.thread_rank(); i < n / 2; i += (int)grid.size()) {
      int a = 2 * i + t % 2, b = a + 1;
      if (b < n && v[a] > v[b]) {
        int x = v[a];
        v[a] = v[b], v[b] = x;
      }
    }
    grid.sync();
  }
}

int main() {
  const int n = 512;
  std::vector<int> in(n), out(n * 4);
  unsigned state = 5;
  for (int &x : in) x = (int)(random_of(state) % 1000);
  Buffer<int> din(n), dout(n * 4);
  din.put(in.data());
  tiles<<<2, 256>>>(din.p, dout.p);
  dout.get(out.data());
  for (int i = 0; i < n; i++) {
    int sum = 0, least = 1000, up = 0;
    unsigned odd = 0;
    for (int k = 0; k < 16; k++) {
      int x = in[i / 16 * 16 + k];
      sum += x, odd |= (unsigned)(x & 1) << k;
      if (k <= i % 16) up += x;
      if (k / 4 == i % 16 / 4 && x < least) least = x;
    }
    EXPECT(out[i * 4] == sum && out[i * 4 + 1] == least && out[i * 4 + 2] == up && out[i * 4 + 3] == (int)odd);
  }
  Buffer<int> counter(1);
  CHECK(cudaMemset(counter.p, 0, sizeof(int)));
  filter<<<4, 128>>>(din.p, n, dout.p, counter.p);
  int found = 0, expected = 0;
  counter.get(&found);
  for (int x : in) expected += x % 3 == 0;
  EXPECT(found == expected);
  Buffer<double> dl(32);
  double l[32];
  labels<<<1, 32>>>(dl.p);
  dl.get(l);
  for (int i = 0; i < 32; i++) {
    int last = i % 3 == 0 ? 30 : i % 3 == 1 ? 31 : 29, size = i % 3 == 2 ? 10 : 11;
    EXPECT(l[i] == last * 1.5 + size);
  }
  Buffer<int> ranks(64);
  int r[64];
  parts<<<1, 64>>>(ranks.p);
  ranks.get(r);
  for (int i = 0; i < 64; i++) EXPECT(r[i] == i % 32 / 8 * 100 + 40 + i % 8);
  int blocks = 0, processors = 0, turns = n, m = n;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rounds, 64, 0));
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(blocks * processors >= 3);
  void *args[] = {&din.p, &m, &turns};
  CHECK(cudaLaunchCooperativeKernel((void *)rounds, dim3(3), dim3(64), args, 0, 0));
  CHECK(cudaDeviceSynchronize());
  din.get(in.data());
  for (int i = 1; i < n; i++) EXPECT(in[i - 1] <= in[i]);
  printf("%d of %d, from %d to %d\npassed\n", found, n, in[0], in[n - 1]);
}

// Grids on several devices that wait for one another: each passes values through the memory of its neighbour.
// no nvcc: its runtime has launches on several devices no more
#include <cstdlib>
__attribute__((constructor)) static void devices() { setenv("MX_DEVICES", "3", 1); }
#include "check.h"
#include <cooperative_groups.h>
#include <vector>
namespace cg = cooperative_groups;
__device__ int of_device; // each device has its own

__global__ void rotate(int **part, int n, int rounds) {
  cg::multi_grid_group all = cg::this_multi_grid();
  cg::grid_group grid = cg::this_grid();
  const unsigned me = all.grid_rank(), next = (me + 1) % all.num_grids();
  if (grid.thread_rank() == 0) of_device = me + 1;
  for (int r = 0; r < rounds; r++) {
    const int *from = part[me] + (r & 1) * n;
    int *to = part[next] + (~r & 1) * n;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) to[i] = from[i] + of_device * (r ? 1 : 0);
    all.sync();
  }
}
int main() {
  const int n = 1000, count = 3;
  int devices, can;
  CHECK(cudaGetDeviceCount(&devices));
  EXPECT(devices == count);
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT(can);
  CHECK(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 2));
  EXPECT(can);
  int *part[count], **list, rounds = 4;
  cudaStream_t stream[count];
  cudaLaunchParams launch[count];
  void *arguments[count][3];
  CHECK(cudaMallocManaged(&list, sizeof part));
  for (int d = 0; d < count; d++) {
    CHECK(cudaSetDevice(d));
    for (int peer = 0; peer < count; peer++)
      if (peer != d) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    CHECK(cudaStreamCreate(&stream[d]));
    CHECK(cudaMalloc(&part[d], 2 * n * sizeof(int)));
    std::vector<int> h(n, 100 * d);
    CHECK(cudaMemcpy(part[d], h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    list[d] = part[d];
  }
  int size = n;
  for (int d = 0; d < count; d++) {
    arguments[d][0] = &list, arguments[d][1] = &size, arguments[d][2] = &rounds;
    launch[d] = {(void *)rotate, dim3(4), dim3(64), arguments[d], 0, stream[d]};
  }
  CHECK(cudaLaunchCooperativeKernelMultiDevice(launch, count));
  for (int d = 0; d < count; d++) {
    int first, own;
    CHECK(cudaSetDevice(d));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&first, part[d] + n - 1, sizeof first, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&own, of_device, sizeof own));
    printf("device %d: %d, its own %d\n", d, first, own);
  }
  launch[1].blockDim = dim3(32); // all or nothing
  EXPECT(cudaLaunchCooperativeKernelMultiDevice(launch, count) == cudaErrorInvalidValue);
  puts("passed");
}

#include "parts.h"

__constant__ int limit = 7;
__device__ int list[2] = {1, 2};
namespace {
__device__ int hidden = 2;
__constant__ int table[2] = {3, 4};
__global__ void look(int *o) {
  o[0] = hidden, o[1] = table[1], o[2] = single;
  o[3] = limit, o[4] = list[1], o[5] = last<int>, o[6] = unnamed.x;
}
} // namespace
static __device__ int single_here = 50;

void second(int *o) {
  look<<<1, 1>>>(o);
  CHECK(cudaDeviceSynchronize());
  EXPECT(o[0] == 2 && o[1] == 4 && o[2] == 3 && o[3] == 13 && o[4] == 14 && o[5] == 15 && o[6] == 0);
  to(hidden, 20), to(table, 21, 4), to(single, 22);
  to(limit, 23), to(list, 24, 4), to(last<int>, 25), to(unnamed, 26);
  look<<<1, 1>>>(o);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 7; k++) EXPECT(o[k] == k + 20);
  EXPECT(from(single_here) == 50);
}

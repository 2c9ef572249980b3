// Device code across files (-rdc=true): variables of the other file that the host writes here; and in both files, under
// the same names, variables that each has for itself, and templates', inline and weak ones that are the same in both.
#include "parts.h"

namespace {
__device__ int hidden = 1;
__constant__ int table[2] = {1, 2};
__global__ void look(int *o) {
  o[0] = hidden, o[1] = table[1], o[2] = single;
  o[3] = limit, o[4] = list[1], o[5] = last<int>, o[6] = unnamed.x;
}
} // namespace
static __device__ int single_here = 5;

int main() {
  int *o;
  CHECK(cudaMallocManaged(&o, 8 * sizeof *o));
  to(hidden, 10), to(table, 11, 4), to(single, 12);
  to(limit, 13), to(list, 14, 4), to(last<int>, 15), to(unnamed, 16);
  look<<<1, 1>>>(o);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 7; k++) printf("%d%c", o[k], k < 6 ? ' ' : '\n');
  for (int k = 0; k < 7; k++) EXPECT(o[k] == k + 10);
  second(o);
  look<<<1, 1>>>(o);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 7; k++) EXPECT(o[k] == (k < 3 || k == 6 ? k + 10 : k + 20));
  EXPECT(from(single_here) == 5);
  CHECK(cudaFree(o));
  printf("passed\n");
}

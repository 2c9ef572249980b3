// A kernel in CUDA C++, for run.c: y = a*x + y. Thread 0 says hello.
#include <cstdio>

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) printf("hello from a kernel of %d blocks\n", gridDim.x);
  if (i < n) y[i] = a * x[i] + y[i];
}

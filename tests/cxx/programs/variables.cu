// Managed variables, as the host and kernels see them in turn, and memory of the host that is registered: by the
// device's address, and by the host's own.
#include "check.h"
#include <vector>

__device__ __managed__ int counter = 5;
__managed__ float table[100];
static __managed__ double sum;
__device__ __managed__ int *list;
struct Point {
  int x, y;
};
__managed__ Point point = {3, 4};

__global__ void count() { atomicAdd(&counter, 1); }
__global__ void square() { table[threadIdx.x] = table[threadIdx.x] * table[threadIdx.x]; }
__global__ void add(const float *values, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&sum, (double)values[i]);
}
__global__ void fill(int n) {
  if (threadIdx.x < n) list[threadIdx.x] = point.x * 100 + point.y + threadIdx.x;
}
__global__ void twice(int *p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= 2;
}
struct Job {
  long long n;
  int *p;
};
__global__ void job(Job j) {
  if (threadIdx.x < j.n) j.p[threadIdx.x] += 7;
}

int main() {
  EXPECT(counter == 5 && point.y == 4 && table[99] == 0 && !list);
  counter += 10;
  count<<<4, 32>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT(counter == 143);
  for (int k = 0; k < 3; k++) {
    counter = k;
    count<<<1, 10>>>();
    CHECK(cudaDeviceSynchronize());
    EXPECT(counter == k + 10);
  }

  for (int i = 0; i < 100; i++) table[i] = i;
  square<<<1, 100>>>();
  add<<<1, 64>>>(table, 100); // the host's address of it
  CHECK(cudaDeviceSynchronize());
  printf("%g %g\n", table[99], sum);
  EXPECT(sum == 328350);

  CHECK(cudaMallocManaged(&list, 32 * sizeof *list));
  point.x = 9;
  fill<<<1, 64>>>(32);
  CHECK(cudaDeviceSynchronize());
  EXPECT(list[31] == 935);

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  count<<<1, 1, 0, stream>>>();
  count<<<1, 1, 0, stream>>>();
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(counter == 14);
  int value = 50;
  CHECK(cudaMemcpyToSymbol(counter, &value, sizeof value));
  EXPECT(counter == 50);
  count<<<1, 1>>>();
  CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  EXPECT(value == 51);
  float some[4];
  CHECK(cudaMemcpy(some, table + 2, sizeof some, cudaMemcpyDefault));
  EXPECT(some[1] == 9);

  const int n = 1000;
  std::vector<int> host(n);
  for (int i = 0; i < n; i++) host[i] = i;
  CHECK(cudaHostRegister(host.data(), n * sizeof(int), cudaHostRegisterMapped));
  int *device, direct;
  CHECK(cudaDeviceGetAttribute(&direct, cudaDevAttrCanUseHostPointerForRegisteredMem, 0));
  CHECK(cudaHostGetDevicePointer(&device, host.data(), 0));
  twice<<<8, 128>>>(device, n);
  CHECK(cudaDeviceSynchronize());
  EXPECT(direct && host[999] == 1998);
  host[999] = 5;
  twice<<<8, 128, 0, stream>>>(host.data(), n);
  job<<<1, 32, 0, stream>>>(Job{10, host.data() + 990});
  CHECK(cudaStreamSynchronize(stream));
  printf("%d %d %d\n", host[1], host[990], host[999]);
  EXPECT(host[1] == 4 && host[990] == 3967 && host[999] == 17);
  CHECK(cudaHostUnregister(host.data()));
  EXPECT(cudaHostUnregister(host.data()) == cudaErrorHostMemoryNotRegistered);
  host[5] = 1;
  cudaGetLastError();
  CHECK(cudaStreamDestroy(stream));
  printf("passed\n");
}

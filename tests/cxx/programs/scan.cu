// Prefix sums of a long array in three kernels: blocks by themselves in dynamic shared memory, their sums, and both together.
#include "check.h"
#include <vector>

template <class T> __global__ void scan_blocks(const T *in, T *out, T *sums, int n) {
  extern __shared__ unsigned char raw[];
  T *s = reinterpret_cast<T *>(raw);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    T v = threadIdx.x >= d ? s[threadIdx.x - d] : T(0);
    __syncthreads();
    s[threadIdx.x] += v;
    __syncthreads();
  }
  if (i < n) out[i] = s[threadIdx.x];
  if (sums && threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = s[threadIdx.x];
}
template <class T> __global__ void add_sums(T *out, const T *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x && i < n) out[i] += sums[blockIdx.x - 1];
}

template <class T> void scan(const std::vector<T> &in) {
  const int block = 256, n = (int)in.size(), blocks = (n + block - 1) / block;
  Buffer<T> a(n), b(n), sums(blocks), all(blocks);
  a.put(in.data());
  scan_blocks<T><<<blocks, block, block * sizeof(T)>>>(a.p, b.p, sums.p, n);
  scan_blocks<T><<<1, 512, 512 * sizeof(T)>>>(sums.p, all.p, nullptr, blocks);
  add_sums<T><<<blocks, block>>>(b.p, all.p, n);
  CHECK(cudaGetLastError());
  std::vector<T> out(n);
  b.get(out.data());
  T sum = 0;
  for (int i = 0; i < n; i++) EXPECT(out[i] == (sum += in[i]));
  printf("%d numbers of %zu bytes: %lld\n", n, sizeof(T), (long long)sum);
}

int main() {
  std::vector<int> a(100000);
  std::vector<double> b(33333);
  unsigned state = 3;
  for (int &x : a) x = (int)(random_of(state) % 100);
  for (double &x : b) x = random_of(state) % 1000 / 4.0;
  scan(a);
  scan(b);
  puts("passed");
}

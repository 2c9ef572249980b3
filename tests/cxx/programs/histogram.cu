// Histograms of bytes: in shared memory by each block, then added; the same with global atomics alone.
#include "check.h"
#include <vector>

__global__ void by_blocks(const unsigned char *text, int n, unsigned *bins) {
  __shared__ unsigned own[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[text[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (own[b]) atomicAdd(&bins[b], own[b]);
}
__global__ void direct(const uchar4 *text, int n, unsigned *bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar4 c = text[i];
  atomicInc(&bins[c.x], 0xFFFFFFFFu);
  atomicInc(&bins[c.y], 0xFFFFFFFFu);
  atomicInc(&bins[c.z], 0xFFFFFFFFu);
  atomicInc(&bins[c.w], 0xFFFFFFFFu);
}

int main() {
  const int n = 64000;
  std::vector<unsigned char> text(n);
  unsigned state = 11, expected[256] = {}, a[256], b[256];
  for (unsigned char &c : text) c = (unsigned char)((random_of(state) % 16) * (random_of(state) % 17)), expected[c]++;
  Buffer<unsigned char> dt(n);
  Buffer<unsigned> da(256), db(256);
  dt.put(text.data());
  CHECK(cudaMemset(da.p, 0, 1024));
  CHECK(cudaMemset(db.p, 0, 1024));
  by_blocks<<<8, 192>>>(dt.p, n, da.p);
  direct<<<(n / 4 + 127) / 128, 128>>>((const uchar4 *)dt.p, n / 4, db.p);
  da.get(a);
  db.get(b);
  int used = 0;
  for (int k = 0; k < 256; k++) {
    EXPECT(a[k] == expected[k] && b[k] == expected[k]);
    used += a[k] != 0;
  }
  printf("%d of 256 values, %u zeros\npassed\n", used, a[0]);
}

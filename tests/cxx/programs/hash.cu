// A hash table with open addresses: threads insert with atomicCAS, count, look up; a checksum of words by rotations.
#include "check.h"
#include <map>
#include <vector>

constexpr unsigned EMPTY = 0xFFFFFFFFu, SLOTS = 4096;
struct Slot { unsigned key, count; };

__host__ __device__ inline unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  return x ^ x >> 16;
}
__global__ void clear(Slot *t) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < SLOTS) t[i] = Slot{EMPTY, 0};
}
__global__ void insert(Slot *t, const unsigned *keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i], at = mix(key) % SLOTS;
  for (;; at = (at + 1) % SLOTS) {
    unsigned old = atomicCAS(&t[at].key, EMPTY, key);
    if (old == EMPTY || old == key) break;
  }
  atomicAdd(&t[at].count, 1u);
}
__device__ unsigned find(const Slot *t, unsigned key) {
  for (unsigned at = mix(key) % SLOTS;; at = (at + 1) % SLOTS) {
    if (t[at].key == key) return t[at].count;
    if (t[at].key == EMPTY) return 0;
  }
}
__global__ void lookup(const Slot *t, const unsigned *keys, unsigned *counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) counts[i] = find(t, keys[i]);
}
__global__ void checksum(const unsigned *words, int n, unsigned long long *sum) {
  unsigned long long h = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) h += (unsigned long long)__brev(mix(words[i])) << (i % 3) ^ __funnelshift_l(words[i], words[i], i);
  atomicAdd(sum, h);
}

int main() {
  const int n = 5000;
  std::vector<unsigned> keys(n), counts(n);
  std::map<unsigned, unsigned> expected;
  unsigned state = 21;
  for (unsigned &k : keys) k = random_of(state) % 1500, expected[k]++;
  Buffer<Slot> t(SLOTS);
  Buffer<unsigned> dk(n), dc(n);
  Buffer<unsigned long long> sum(1);
  dk.put(keys.data());
  clear<<<SLOTS / 256, 256>>>(t.p);
  insert<<<(n + 127) / 128, 128>>>(t.p, dk.p, n);
  lookup<<<(n + 127) / 128, 128>>>(t.p, dk.p, dc.p, n);
  dc.get(counts.data());
  for (int i = 0; i < n; i++) EXPECT(counts[i] == expected[keys[i]]);
  CHECK(cudaMemset(sum.p, 0, 8));
  checksum<<<1, 256>>>(dk.p, n, sum.p);
  unsigned long long got, want = 0;
  sum.get(&got);
  for (int i = 0; i < n; i++) {
    unsigned m = mix(keys[i]), r = 0;
    for (int b = 0; b < 32; b++) r |= (m >> b & 1) << (31 - b);
    want += (unsigned long long)r << (i % 3) ^ (i % 32 ? keys[i] << i % 32 | keys[i] >> (32 - i % 32) : keys[i]);
  }
  EXPECT(got == want);
  printf("%zu keys, %llx\npassed\n", expected.size(), got);
}

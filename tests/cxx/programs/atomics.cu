// All atomics on global and shared memory, their old values, and a lock made of them; counting with scopes.
#include "check.h"

struct Cells {
  int i, least, most, exchanged, lock, guarded;
  unsigned u, inc, dec, bits_and, bits_or, bits_xor;
  unsigned long long l, lmax;
  float f;
  double d;
  long long spare;
};

__global__ void all(Cells *c, int *seen) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int old = atomicAdd(&c->i, 1);
  seen[old] = 1;
  atomicSub(&c->u, 3u);
  atomicMin(&c->least, -t);
  atomicMax(&c->most, t * 2);
  atomicInc(&c->inc, 9);
  atomicDec(&c->dec, 5);
  atomicAnd(&c->bits_and, ~(1u << t % 20));
  atomicOr(&c->bits_or, 1u << t % 30);
  atomicXor(&c->bits_xor, 1u << t % 32);
  atomicAdd(&c->l, 1ull << 33);
  atomicMax(&c->lmax, (unsigned long long)t << 35);
  atomicAdd(&c->f, 0.5f);
  atomicAdd(&c->d, 0.25);
  atomicAdd_system(&c->spare == nullptr ? &c->i : &c->exchanged, 1);
}
__global__ void locked(Cells *c) {
  for (bool done = false; !done;) {
    if (atomicCAS(&c->lock, 0, 1) == 0) {
      int v = *(volatile int *)&c->guarded;
      *(volatile int *)&c->guarded = v + 1;
      __threadfence();
      atomicExch(&c->lock, 0);
      done = true;
    }
  }
}
__global__ void in_shared(int *out) {
  __shared__ int sum, most;
  __shared__ double d;
  if (!threadIdx.x) sum = 0, most = -1, d = 0;
  __syncthreads();
  atomicAdd_block(&sum, (int)threadIdx.x);
  atomicMax(&most, (int)(threadIdx.x * 7 % 100));
  atomicAdd(&d, 1.5);
  __syncthreads();
  if (!threadIdx.x) out[0] = sum, out[1] = most, out[2] = (int)d;
}

int main() {
  const int n = 640;
  Cells c = {};
  c.bits_and = 0xFFFFFFFFu, c.dec = 100;
  Buffer<Cells> d(1);
  Buffer<int> seen(n), out(3);
  d.put(&c);
  CHECK(cudaMemset(seen.p, 0, n * sizeof(int)));
  all<<<n / 64, 64>>>(d.p, seen.p);
  locked<<<4, 32>>>(d.p);
  in_shared<<<1, 100>>>(out.p);
  int s[n], o[3];
  d.get(&c);
  seen.get(s);
  out.get(o);
  for (int x : s) EXPECT(x == 1);
  EXPECT(c.i == n && c.u == 0u - 3 * n && c.least == -(n - 1) && c.most == 2 * (n - 1));
  EXPECT(c.inc == n % 10 && c.bits_and == 0xFFF00000u && c.bits_or == 0x3FFFFFFF && c.bits_xor == 0);
  EXPECT(c.l == (unsigned long long)n << 33 && c.lmax == (unsigned long long)(n - 1) << 35 && c.f == n / 2 && c.d == n / 4.0);
  EXPECT(c.guarded == 128 && c.lock == 0 && c.exchanged == n);
  EXPECT(o[0] == 4950 && o[1] == 99 && o[2] == 150);
  printf("%d %u %d\npassed\n", c.i, c.dec, c.guarded);
}

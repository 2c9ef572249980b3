// Atomics of every kind and what is made of them: sums aggregated over a warp's lanes, minima of floats by their bits,
// locks by tickets, a queue that blocks share, bits set in words, atomics within a block's scope and of the system's,
// 64-bit and 16-bit ones, the pattern of the last block, votes and matches.
#include "check.h"
#include <cooperative_groups.h>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>
namespace cg = cooperative_groups;

struct Counters {
  unsigned long long sum, most;
  int least, ored, anded, xored, exchanged, wrapped, down;
  float lowest, total;
  double precise;
  unsigned words[4];
};
__device__ float atomicMinFloat(float *p, float v) {
  return v >= 0 ? __int_as_float(atomicMin((int *)p, __float_as_int(v)))
                : __uint_as_float(atomicMax((unsigned *)p, __float_as_uint(v)));
}
__device__ double atomicMulDouble(double *p, double v) {
  unsigned long long *at = (unsigned long long *)p, old = *at, seen;
  do {
    seen = old;
    old = atomicCAS(at, seen, __double_as_longlong(v * __longlong_as_double(seen)));
  } while (seen != old);
  return __longlong_as_double(old);
}
__global__ void count(Counters *c, const int *in, int n) {
  __shared__ int in_block[3];
  if (threadIdx.x < 3) in_block[threadIdx.x] = threadIdx.x == 2 ? 1 << 30 : 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&c->sum, (unsigned long long)in[i]);
    atomicMax(&c->most, (unsigned long long)in[i] << 33);
    atomicAdd_block(&in_block[0], in[i]);
    atomicMax_block(&in_block[1], in[i]);
    atomicMin_block(&in_block[2], in[i]);
    atomicOr(&c->ored, in[i]);
    atomicAnd(&c->anded, in[i] | 0x1000);
    atomicXor(&c->xored, in[i]);
    atomicInc((unsigned *)&c->wrapped, 36);
    atomicDec((unsigned *)&c->down, 100);
    atomicMinFloat(&c->lowest, in[i] - 500.5f);
    atomicAdd_system(&c->words[in[i] & 3], 1u);
    if (i % 97 == 0) atomicMulDouble(&c->precise, 1.25);
    if (i == 5) c->exchanged = atomicExch(&c->exchanged, 77) + 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&c->total, (float)in_block[0]);
    atomicMin(&c->least, in_block[2] - in_block[1]);
  }
}
// the lanes that are there add together
__device__ int add_together(int *counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0) first = atomicAdd(counter, (int)active.size());
  return active.shfl(first, 0) + active.thread_rank();
}
__global__ void filter(const int *in, int n, int *out, int *counter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) out[add_together(counter)] = in[i];
}
// a lock by tickets, one thread of a block at a time
struct Lock {
  unsigned ticket, now;
};
__global__ void under_lock(Lock *lock, volatile int *list, volatile int *length) {
  if (threadIdx.x % 8 == 0) {
    const unsigned mine = atomicAdd(&lock->ticket, 1);
    while (atomicAdd(&lock->now, 0) != mine) __nanosleep(50);
    __threadfence();
    const int n = *length;
    list[n] = blockIdx.x * blockDim.x + threadIdx.x;
    *length = n + 1;
    __threadfence();
    atomicAdd(&lock->now, 1);
  }
}
// blocks take pieces of work until none is left
__device__ unsigned next_piece;
__global__ void take(const int *in, int pieces, int size, long long *out) {
  __shared__ unsigned piece;
  __shared__ long long s;
  for (;;) {
    if (threadIdx.x == 0) piece = atomicAdd(&next_piece, 1), s = 0;
    __syncthreads();
    if (piece >= pieces) return;
    long long v = 0;
    for (int i = threadIdx.x; i < size; i += blockDim.x) v += in[piece * size + i];
    atomicAdd((unsigned long long *)&s, (unsigned long long)v);
    __syncthreads();
    if (threadIdx.x == 0) out[piece] = s;
    __syncthreads();
  }
}
__global__ void narrow(__half *h, __half2 *h2, __nv_bfloat16 *b, unsigned short *cas) {
  atomicAdd(h, __float2half(0.5f));
  atomicAdd(h2, __floats2half2_rn(1.f, 0.25f));
  atomicAdd(b, __float2bfloat16(0.5f));
  for (unsigned short old = *cas, seen;; old = seen)
    if ((seen = atomicCAS(cas, old, (unsigned short)(old + 3))) == old) break;
}
// components by themselves: compilers for older processors have none of these
__global__ void vectors(float4 *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#if __CUDA_ARCH__ >= 900 || defined(__MX_LANES)
  atomicAdd((float2 *)&sums->z, make_float2(1, i % 2));
  atomicAdd(sums, make_float4(i % 3, 0.5f, 0, 0));
#else
  atomicAdd(&sums->x, i % 3), atomicAdd(&sums->y, 0.5f), atomicAdd(&sums->z, 1), atomicAdd(&sums->w, i % 2);
#endif
}
__global__ void votes(const int *in, int *out) {
  const int v = in[threadIdx.x] % 5, lane = threadIdx.x % 32;
  const unsigned all = 0xFFFFFFFF;
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
  int r = tile.any(v == 4) + 2 * tile.all(v < 5) + 4 * __popc((unsigned)tile.ballot(v > 2));
  r += 256 * __popc((unsigned)tile.match_any(v));
  r += (tile.shfl_xor(v, 7) + tile.shfl_down(v, 3) * (lane < 29)) << 16;
  out[threadIdx.x] = r;
  (void)all;
}

int main() {
  const int n = 3000;
  std::vector<int> in(n);
  unsigned state = 11;
  for (auto &v : in) v = random_of(state) % 1000;
  Buffer<int> a(n), out(n), counter(2);
  a.put(in.data());
  Buffer<Counters> c(1);
  Counters h = {};
  h.least = 1 << 20, h.anded = ~0, h.exchanged = 5, h.lowest = 1e9, h.precise = 1, h.down = 50;
  c.put(&h);
  count<<<(n + 127) / 128, 128>>>(c.p, a.p, n);
  c.get(&h);
  printf("%llu %llu %d %x %x %x %d %d %d %g %g %.6g %u %u %u %u\n", h.sum, h.most >> 33, h.least, h.ored, h.anded,
         h.xored, h.exchanged, h.wrapped, h.down, h.lowest, h.total, h.precise, h.words[0], h.words[1], h.words[2],
         h.words[3]);
  CHECK(cudaMemset(counter.p, 0, 8));
  filter<<<(n + 255) / 256, 256>>>(a.p, n, out.p, counter.p);
  int got[2];
  counter.get(got);
  std::vector<int> list(n);
  out.get(list.data());
  long sum = 0;
  for (int i = 0; i < got[0]; i++) sum += list[i];
  printf("%d kept, %ld\n", got[0], sum);
  Buffer<Lock> lock(1);
  CHECK(cudaMemset(lock.p, 0, sizeof(Lock)));
  CHECK(cudaMemset(counter.p, 0, 8));
  under_lock<<<6, 64>>>(lock.p, out.p, counter.p);
  counter.get(got);
  out.get(list.data());
  sum = 0;
  for (int i = 0; i < got[0]; i++) sum += list[i];
  printf("%d under the lock, %ld\n", got[0], sum);
  Buffer<long long> parts(30);
  long long p[30];
  take<<<4, 64>>>(a.p, 30, 100, parts.p);
  parts.get(p);
  printf("%lld %lld %lld\n", p[0], p[15], p[29]);
  Buffer<unsigned> small(4);
  CHECK(cudaMemset(small.p, 0, 16));
  narrow<<<2, 64>>>((__half *)small.p, (__half2 *)(small.p + 1), (__nv_bfloat16 *)(small.p + 2),
                    (unsigned short *)(small.p + 3));
  unsigned w[4];
  small.get(w);
  printf("%04x %08x %04x %u\n", w[0], w[1], w[2], w[3]);
  Buffer<float4> sums(1);
  float4 vector;
  CHECK(cudaMemset(sums.p, 0, 16));
  vectors<<<3, 100>>>(sums.p, 250);
  sums.get(&vector);
  printf("%g %g %g %g\n", vector.x, vector.y, vector.z, vector.w);
  votes<<<1, 96>>>(a.p, out.p);
  out.get(list.data());
  unsigned long x = 0;
  for (int i = 0; i < 96; i++) x = x * 31 + list[i];
  printf("%lx\n", x);
  CHECK(cudaDeviceSynchronize());
  puts("passed");
}

// Inline assembly as libraries write it: arithmetic with carries, permutations, bit fields, predicates, votes, atomics
// and reductions, vector loads, conversions, special registers, copies without registers, addresses of shared memory.
#include "check.h"
#include <cstdint>

__device__ __forceinline__ uint32_t lop3(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ __forceinline__ uint64_t wide(uint32_t a, uint32_t b, uint64_t c) {
  uint64_t d;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(d) : "r"(a), "r"(b), "l"(c));
  return d;
}
// 128 bits by the chain of carries
__device__ void add128(uint32_t *r, const uint32_t *a, const uint32_t *b) {
  asm volatile("add.cc.u32 %0, %4, %8;\n\t"
               "addc.cc.u32 %1, %5, %9;\n\t"
               "addc.cc.u32 %2, %6, %10;\n\t"
               "addc.u32 %3, %7, %11;"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
}
__device__ uint32_t shared_address(const void *p) {
  uint32_t a;
  asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(a) : "l"(p));
  return a;
}
template <int N> __device__ uint32_t rotate(uint32_t x) {
  uint32_t r;
  asm("shf.l.wrap.b32 %0, %1, %1, %2;" : "=r"(r) : "r"(x), "n"(N));
  return r;
}

__global__ void run(const uint32_t *in, uint32_t *out, float *f, unsigned long long *total, int n) {
  __shared__ __align__(16) uint32_t tile[256];
  const int i = threadIdx.x;
  uint32_t v = in[i], r, s, p;
  uint32_t *to = out + 16 * i;
  to[0] = lop3(v, v >> 3, 0x0f0f0f0f);
  asm("prmt.b32 %0, %1, %2, 0x3210;" : "=r"(r) : "r"(v), "r"(~v));
  asm("prmt.b32.b4e %0, %1, %2, 2;" : "=r"(s) : "r"(v), "r"(~v));
  to[1] = r ^ s;
  asm("bfe.u32 %0, %1, 5, 11;" : "=r"(r) : "r"(v));
  asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(s) : "r"(r), "r"(v));
  to[2] = s;
  asm("{\n\t.reg .pred q;\n\tsetp.gt.u32 q, %1, %2;\n\tselp.u32 %0, 1, 0, q;\n\t@q add.u32 %0, %0, 10;\n\t}"
      : "=r"(r)
      : "r"(v), "r"(0x80000000u));
  to[3] = r;
  to[4] = (uint32_t)(wide(v, v, v) >> 32);
  uint32_t a[4] = {v, ~v, v * 3, 7}, b[4] = {~0u, 1, ~0u, 0}, c[4];
  add128(c, a, b);
  to[5] = c[0] ^ c[1] ^ c[2], to[6] = c[3];
  asm("clz.b32 %0, %2; popc.b32 %1, %2;" : "=r"(r), "=r"(s) : "r"(v));
  to[7] = r * 64 + s;
  asm("brev.b32 %0, %1;" : "=r"(r) : "r"(v));
  asm("sad.u32 %0, %1, %2, %3;" : "=r"(s) : "r"(v), "r"(r), "r"(1u));
  to[8] = s;
  asm("mul24.lo.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(s));
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(s) : "r"(v), "r"(0x01020304), "r"(r));
  to[9] = s;
  asm("mov.u32 %0, %%laneid; mov.u32 %1, %%ntid.x;" : "=r"(r), "=r"(s));
  to[10] = r % 32 + s;
  to[11] = rotate<7>(v) + rotate<25>(v);
  // shared memory by its own addresses, four words at a time
  const uint32_t at = shared_address(tile) + i * 4;
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
  __syncthreads();
  uint4 q;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w)
               : "r"(shared_address(tile) + (i / 4) * 16));
  to[12] = q.x + q.y + q.z + q.w;
  asm volatile("red.global.add.u64 [%0], %1;" ::"l"(total), "l"((unsigned long long)v) : "memory");
  asm volatile("atom.shared.max.u32 %0, [%1], %2;" : "=r"(p) : "r"(shared_address(tile)), "r"(v) : "memory");
  __syncthreads();
  to[13] = tile[0];
  asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }" : "=r"(r) : "r"(v));
  to[14] = r;
  asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(r) : "f"(v * 1e-7f));
  to[15] = r & 255;
  float x, y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(x) : "f"((float)(i % 8)));
  asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(x), "f"(0.5f), "f"((float)i));
  f[i] = y;
}
__global__ void pipeline(const uint32_t *in, uint32_t *out, int n) {
  __shared__ __align__(16) uint32_t tile[2][64];
  const uint32_t to = shared_address(tile[0]) + threadIdx.x * 16;
  uint32_t sum = 0;
  if (threadIdx.x < 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + threadIdx.x * 4) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int k = 0; k < n / 64; k++) {
    if (threadIdx.x < 16 && k + 1 < n / 64)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 256 * (~k & 1)),
                   "l"(in + (k + 1) * 64 + threadIdx.x * 4)
                   : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    sum += tile[k & 1][threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

int main() {
  const int n = 256;
  static uint32_t in[n], out[16 * n];
  static float f[n];
  unsigned state = 5;
  for (auto &v : in) v = random_of(state) * 1103515245u;
  Buffer<uint32_t> a(n), b(16 * n);
  Buffer<float> c(n);
  Buffer<unsigned long long> t(1);
  a.put(in);
  CHECK(cudaMemset(t.p, 0, 8));
  run<<<1, n>>>(a.p, b.p, c.p, t.p, n);
  b.get(out);
  c.get(f);
  for (int k = 0; k < 16; k++) {
    if (k == 11) continue;
    unsigned long h = 0;
    for (int i = 0; i < n; i++) h = h * 31 + out[16 * i + k];
    printf("%2d %016lx\n", k, h);
  }
  unsigned long long total = 0, want = 0;
  t.get(&total);
  for (auto v : in) want += v;
  EXPECT(total == want);
  double s = 0;
  for (float x : f) s += x;
  printf("%.3f\n", s);
  pipeline<<<1, 64>>>(a.p, b.p, n);
  CHECK(cudaMemcpy(out, b.p, 256, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) EXPECT(out[i] == in[i] + in[64 + i] + in[128 + i] + in[192 + i]);
  puts("passed");
}

// lanes: 32
// Inline assembly as programs write it: registers, bits, wide products, loads and stores with hints, reductions,
// asynchronous copies, fragments.
#include "check.h"
#include <cuda_fp16.h>
#include <stdint.h>

#define UNARY(name_, type_, c_, text_) \
  static __device__ __forceinline__ type_ name_(type_ x) { \
    type_ r; \
    asm(text_ : "=" c_(r) : c_(x)); \
    return r; \
  }
UNARY(exponential, float, "f", "ex2.approx.ftz.f32 %0, %1;")
UNARY(inverse, float, "f", "rcp.approx.ftz.f32 %0, %1;")
UNARY(root, float, "f", "sqrt.rn.f32 %0, %1;")
UNARY(highest, unsigned, "r", "bfind.u32 %0, %1;")
UNARY(reversed, unsigned, "r", "brev.b32 %0, %1;")
UNARY(swapped, uint64_t, "l", "{ .reg .b32 a, b; mov.b64 {a, b}, %1; mov.b64 %0, {b, a}; }")

#define REGISTER(name_) \
  static __device__ __forceinline__ unsigned name_() { \
    unsigned r; \
    asm volatile("mov.u32 %0, %%" #name_ ";" : "=r"(r)); \
    return r; \
  }
REGISTER(laneid)
REGISTER(lanemask_lt)
REGISTER(lanemask_ge)

static __device__ __forceinline__ unsigned field(unsigned x, unsigned from, unsigned bits) {
  unsigned r;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(from), "r"(bits));
  return r;
}
static __device__ __forceinline__ unsigned bytes(unsigned a, unsigned b, unsigned which) {
  unsigned r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(which));
  return r;
}
template <int TABLE> static __device__ __forceinline__ unsigned logic(unsigned a, unsigned b, unsigned c) {
  unsigned r;
  asm volatile("lop3.b32 %0, %1, %2, %3, %4;\n" : "=r"(r) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
  return r;
}
static __device__ __forceinline__ uint64_t wide(unsigned a, unsigned b, uint64_t c) {
  asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(c) : "r"(a), "r"(b));
  return c;
}
static __device__ __forceinline__ unsigned carried(unsigned a, unsigned b, unsigned c, unsigned d) {
  unsigned low, high;
  asm volatile("add.cc.u32 %0, %2, %3;\n\t"
               "addc.u32 %1, %4, %5;\n"
               : "=r"(low), "=r"(high)
               : "r"(a), "r"(b), "r"(c), "r"(d));
  return low ^ high;
}
static __device__ __forceinline__ int chosen(int a, int b, int p) {
  int r;
  asm("{\n  .reg .pred p;\n  setp.ne.s32 p, %3, 0;\n  selp.s32 %0, %1, %2, p;\n}\n" : "=r"(r) : "r"(a), "r"(b), "r"(p));
  return r;
}
static __device__ __forceinline__ unsigned lanes_where(int p) {
  unsigned r;
  asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.sync.ballot.b32 %0, q, 0xffffffff; }" : "=r"(r) : "r"(p));
  return r;
}
static __device__ __forceinline__ int summed(int v, int d) {
  int r;
  asm volatile("{ .reg .s32 t; .reg .pred p; shfl.sync.up.b32 t|p, %1, %2, 0, 0xffffffff; @p add.s32 t, t, %1; "
               "mov.s32 %0, t; }"
               : "=r"(r)
               : "r"(v), "r"(d));
  return r;
}
static __device__ __forceinline__ int4 constant(const int4 *p) {
  int4 r;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
               : "l"(p));
  return r;
}
static __device__ __forceinline__ void count(int *p, int v) {
  asm volatile("red.global.add.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
  asm volatile("fence.acq_rel.gpu;\nred.release.gpu.global.add.s32 [%0], %1;\n" ::"l"(p + 1), "r"(2) : "memory");
}
static __device__ __forceinline__ int acquired(const int *p) { // in the order in which such loads are written
  int r;
  asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(r) : "l"(p) : "memory");
  return r;
}
static __device__ __forceinline__ unsigned place(const void *shared) {
  unsigned r;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(r) : "l"(shared));
  return r;
}
static __device__ __forceinline__ void multiply(float *d, const unsigned *a, const unsigned *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

enum { ROWS = 34, THREADS = 64 };

__global__ void __launch_bounds__(THREADS) all(int *out, const int *in, float *floats, int *sums) {
  __shared__ __align__(16) int tile[512];
  __shared__ int words[THREADS];
  const int t = threadIdx.x;
  int row = 0;
#define PUT(value_) out[THREADS * row++ + t] = (int)(value_)
  PUT(laneid());
  PUT(lanemask_lt());
  PUT(lanemask_ge());
  PUT(field(0xABCD1234u + t, t & 7, 9));
  PUT(bytes(0x03020100, 0x07060504, 0x3210 + t));
  PUT(logic<(0xF0 & 0xCC) | 0xAA>(t, 0x55, 0x33));
  PUT(logic<0x96>(t, 0x55, 0x33));
  const uint64_t product = wide(0xFFFFFFFFu, t, 5);
  PUT(product);
  PUT(swapped(product));
  PUT(carried(0xFFFFFFF0u, t, 3, 4));
  PUT(exponential(t * 0.125f) * 1000);
  PUT(inverse(t + 1.0f) * 1e6f);
  PUT(root(t) * 1e6f);
  PUT(highest(t));
  PUT(reversed(t));
  PUT(chosen(1, 2, t & 1));
  PUT(lanes_where(t % 3 == 0));
  PUT(summed(t, 1));
  const int4 four = constant((const int4 *)in + t / 4);
  PUT(four.x + four.y * 2 + four.z * 3 + four.w * 5);
  count(sums, t);
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(floats + t), "f"((float)t));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in));

  if (t < 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(place(tile + 4 * t)), "l"(in + 4 * t));
  const int bytesOf = t & 1 ? 4 : 0; // the others are filled with zeros
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(place(words + t)), "l"(in + t), "r"(bytesOf));
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  asm volatile("bar.sync %0, %1;" ::"r"(1), "r"(THREADS) : "memory");
  PUT(tile[THREADS - 1 - t]);
  PUT(words[t]);
  float back;
  asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(back) : "l"(floats + t));
  PUT(back);
  PUT(acquired(sums) >= 0);
  __syncthreads();

  __half *halves = (__half *)tile;
  for (int k = t; k < 512; k += THREADS) halves[k] = __float2half(k % 17);
  __syncthreads();
  unsigned a[4], b[2];
  const int lane = t % 32;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(place(halves + lane % 16 * 16 + lane / 16 * 8)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(place(halves + 256 + lane % 16 * 16)));
  float d[4] = {0, 1, 2, 3};
  multiply(d, a, b);
  for (int k = 0; k < 4; k++) PUT(a[k]);
  for (int k = 0; k < 2; k++) PUT(b[k]);
  for (int k = 0; k < 4; k++) PUT(d[k]);
  if (!t) out[THREADS * (ROWS - 1)] = row;
}

int main() {
  static int result[ROWS * THREADS], values[THREADS];
  int sums[2] = {0, 0};
  for (int i = 0; i < THREADS; i++) values[i] = i * i - 30;
  Buffer<int> out(ROWS * THREADS), in(THREADS), counts(2);
  Buffer<float> floats(THREADS);
  in.put(values);
  counts.put(sums);
  all<<<1, THREADS>>>(out.p, in.p, floats.p, counts.p);
  CHECK(cudaDeviceSynchronize());
  out.get(result);
  counts.get(sums);
  const int rows = result[THREADS * (ROWS - 1)];
  EXPECT(rows < ROWS);
  for (int r = 0; r < rows; r++) {
    printf("%d:", r);
    for (int t = 0; t < THREADS; t += 7) printf(" %d", result[THREADS * r + t]);
    printf("\n");
  }
  EXPECT(sums[0] == THREADS * (THREADS - 1) / 2 && sums[1] == 2 * THREADS);
  printf("passed\n");
}

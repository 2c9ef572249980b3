// Integer functions, words of bytes, permutations and inline assembly, each against plain C on the host.
#include "check.h"
#include <algorithm>
#include <cstdint>
#include <vector>

enum { COUNT = 26 };
__device__ uint32_t asm_lop3(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ uint32_t asm_field(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("{\n\t.reg .u32 t;\n\tbfe.u32 t, %1, 5, 9;\n\tbfi.b32 %0, t, %2, 11, 9;\n}" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ uint32_t asm_select(uint32_t a, uint32_t b) {
  uint32_t r;
  asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, %2; @p mov.u32 %0, 1; @!p mov.u32 %0, 2; }" : "=r"(r) : "r"(a), "r"(b));
  return r;
}

__global__ void functions(const uint32_t *in, int n, uint64_t *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
  uint64_t l = (uint64_t)a << 32 | b, m = (uint64_t)b << 32 | c;
  uint64_t *o = out + i * COUNT;
  int k = 0;
  o[k++] = __popc(a), o[k++] = __popcll(l), o[k++] = __clz(a >> (b & 31)), o[k++] = __clzll(l >> (c & 63));
  o[k++] = __ffs(a << (b & 31)), o[k++] = __ffsll(l << (c & 63)), o[k++] = __brev(a), o[k++] = __brevll(l);
  o[k++] = __byte_perm(a, b, c & 0x7777), o[k++] = __umulhi(a, b), o[k++] = (uint32_t)__mulhi((int)a, (int)b);
  o[k++] = __umul64hi(l, m), o[k++] = __mul24((int)(a & 0xFFFF), (int)(b & 0xFF)), o[k++] = __sad((int)a >> 2, (int)b >> 2, c);
  o[k++] = __uhadd(a, b), o[k++] = __urhadd(a, b), o[k++] = __funnelshift_l(a, b, c), o[k++] = __funnelshift_rc(a, b, c & 63);
  o[k++] = __vadd4(a, b), o[k++] = __vabsdiffu4(a, b), o[k++] = __vcmpgtu2(a, b), o[k++] = __dp4a(a, b, c);
  o[k++] = asm_lop3(a, b, c), o[k++] = asm_field(a, b), o[k++] = asm_select(a, b), o[k++] = min(max(a, b), c);
}

static uint32_t bytes(uint32_t a, uint32_t b, uint32_t (*f)(uint32_t, uint32_t)) {
  uint32_t r = 0;
  for (int k = 0; k < 32; k += 8) r |= (f(a >> k & 255, b >> k & 255) & 255) << k;
  return r;
}

int main() {
  const int n = 500;
  std::vector<uint32_t> in(n);
  std::vector<uint64_t> out(n * COUNT);
  unsigned state = 2;
  for (uint32_t &x : in) {
    x = random_of(state) << 16;
    x ^= random_of(state);
  }
  in[3] = 0, in[4] = ~0u, in[5] = 0x80000000u;
  Buffer<uint32_t> din(n);
  Buffer<uint64_t> dout(n * COUNT);
  din.put(in.data());
  functions<<<4, 128>>>(din.p, n, dout.p);
  dout.get(out.data());
  uint64_t sum = 0;
  for (int i = 0; i < n; i++) {
    uint32_t a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n], s = c & 31, s63 = c & 63;
    uint64_t l = (uint64_t)a << 32 | b, m = (uint64_t)b << 32 | c, x = l >> s63, y = l << s63, *o = &out[i * COUNT];
    uint32_t p = a >> (b & 31), q = a << (b & 31), r = 0, perm = 0, gt = 0, dot = c;
    uint64_t rl = 0;
    for (int k = 0; k < 32; k++) r |= (a >> k & 1) << (31 - k);
    for (int k = 0; k < 64; k++) rl |= (l >> k & 1) << (63 - k);
    for (int k = 0; k < 4; k++) perm |= (uint32_t)((uint64_t)b << 32 >> 8 * (c >> 4 * k & 7) & 255 | ((c >> 4 * k & 7) < 4 ? a >> 8 * (c >> 4 * k & 7) & 255 : 0)) << 8 * k, dot += (a >> 8 * k & 255) * (b >> 8 * k & 255);
    gt = ((a & 0xFFFF) > (b & 0xFFFF) ? 0xFFFF : 0) | ((a >> 16) > (b >> 16) ? 0xFFFF0000 : 0);
    uint64_t funnel = (uint64_t)b << 32 | a;
    int64_t d = (int64_t)((int)a >> 2) - ((int)b >> 2);
    uint64_t want[COUNT] = {(uint64_t)__builtin_popcount(a), (uint64_t)__builtin_popcountll(l), (uint64_t)(p ? __builtin_clz(p) : 32), (uint64_t)(x ? __builtin_clzll(x) : 64),
                            (uint64_t)__builtin_ffs((int)q), (uint64_t)__builtin_ffsll((long long)y), r, rl, perm, (uint64_t)a * b >> 32, (uint32_t)((int64_t)(int)a * (int)b >> 32),
                            (uint64_t)((unsigned __int128)l * m >> 64), (uint64_t)(a & 0xFFFF) * (b & 0xFF), (uint32_t)(c + (d < 0 ? -d : d)), ((uint64_t)a + b) >> 1, ((uint64_t)a + b + 1) >> 1,
                            s ? b << s | a >> (32 - s) : b, (c & 63) >= 32 ? b : (uint32_t)(funnel >> s), bytes(a, b, [](uint32_t u, uint32_t v) { return u + v; }),
                            bytes(a, b, [](uint32_t u, uint32_t v) { return u > v ? u - v : v - u; }), gt, dot, (a & b) | (a & c) | (b & c),
                            (b & ~(511u << 11)) | (a >> 5 & 511) << 11, (int)a < (int)b ? 1u : 2u, std::min(std::max(a, b), c)};
    for (int k = 0; k < COUNT; k++) {
      if (o[k] != want[k]) printf("function %d of %08x %08x %08x: %llx, not %llx\n", k, a, b, c, (unsigned long long)o[k], (unsigned long long)want[k]);
      EXPECT(o[k] == want[k]);
      sum = sum * 31 + o[k];
    }
  }
  printf("%016llx\npassed\n", (unsigned long long)sum);
}

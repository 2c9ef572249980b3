/* What addresses of a warp look like, for compiled code that then uses them many times. */
#include "vm/jitabi.h"

uint32_t mx__jit_shape(struct mx_exec *x, uint32_t form, uint64_t mask) {
  const uint32_t wide = form & 1, chunk = form >> 1;
  struct mx_jit_shape s = {.min = UINT64_MAX, .max = 0, .low = 0, .kind = MX_JIT_SAME | MX_JIT_ROWS1 | MX_JIT_ROWS4 | MX_JIT_ROWS8};
  uint64_t a[MX_MAX_LANES];
  for (uint32_t l = 0; l < x->lanes; l++) a[l] = wide ? ((const uint64_t *)(const void *)x->tmp)[l] : ((const uint32_t *)(const void *)x->tmp)[l];
  for (uint32_t c = 0; c < x->lanes; c += chunk) {
    const uint64_t first = a[c];
    uint64_t same = 0, rows1 = 0, rows4 = 0, rows8 = 0;
    for (uint32_t l = c; l < c + chunk; l++) {
      const uint64_t on = -(mask >> l & 1);
      const uint64_t least = a[l] | ~on, most = a[l] & on;
      s.min = least < s.min ? least : s.min;
      s.max = most > s.max ? most : s.max;
      s.low |= most;
      same |= (a[l] ^ first) & on;
      rows1 |= (a[l] ^ (first + (l - c))) & on;
      rows4 |= (a[l] ^ (first + (l - c) * 4)) & on;
      rows8 |= (a[l] ^ (first + (l - c) * 8)) & on;
    }
    s.kind &= (same ? 0 : MX_JIT_SAME) | (rows1 ? 0 : MX_JIT_ROWS1) | (rows4 ? 0 : MX_JIT_ROWS4) | (rows8 ? 0 : MX_JIT_ROWS8);
  }
  *(struct mx_jit_shape *)(void *)x->tmp = s;
  return 0;
}

/* What addresses of a warp look like, for compiled code that then uses them many times. Plain loops over all lanes, which the
 * compiler makes into vectors: this is called once for each address. */
#include "jitabi.h"

#define LOOK(name_, type_) \
  static inline __attribute__((always_inline)) struct mx_jit_shape name_(const type_ *a, const type_ *on, uint32_t lanes, uint32_t chunk) { \
    type_ first[MX_MAX_LANES], far[MX_MAX_LANES]; /* each lane's chunk's first address; its distance from that lane */ \
    type_ min = (type_)-1, max = 0, low = 0, same = 0, rows1 = 0, rows2 = 0, rows4 = 0, rows8 = 0; \
    for (uint32_t c = 0; c < lanes; c += chunk) \
      for (uint32_t l = 0; l < chunk; l++) first[c + l] = a[c], far[c + l] = l; \
    for (uint32_t l = 0; l < lanes; l++) { \
      const type_ least = a[l] | ~on[l], most = a[l] & on[l]; \
      min = least < min ? least : min; \
      max = most > max ? most : max; \
      low |= most; \
      same |= (a[l] ^ first[l]) & on[l]; \
      rows1 |= (a[l] ^ (first[l] + far[l])) & on[l]; \
      rows2 |= (a[l] ^ (first[l] + far[l] * 2)) & on[l]; \
      rows4 |= (a[l] ^ (first[l] + far[l] * 4)) & on[l]; \
      rows8 |= (a[l] ^ (first[l] + far[l] * 8)) & on[l]; \
    } \
    const uint64_t kind = (same ? 0 : MX_JIT_SAME) | (rows1 ? 0 : MX_JIT_ROWS1) | (rows2 ? 0 : MX_JIT_ROWS2) | (rows4 ? 0 : MX_JIT_ROWS4) | (rows8 ? 0 : MX_JIT_ROWS8); \
    return (struct mx_jit_shape){.min = min, .max = max, .low = low, .kind = kind}; \
  }
LOOK(look32, uint32_t)
LOOK(look64, uint64_t)

#if defined __x86_64__ && !defined __clang__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
__attribute__((target_clones("default", "avx2", "avx512f"), optimize("O3")))
#endif
uint32_t mx__jit_shape(struct mx_exec *x, uint32_t form, uint64_t mask) {
  const uint32_t chunk = form >> 1;
  uint64_t on64[MX_MAX_LANES];
  uint32_t on32[MX_MAX_LANES];
  if (form & 1) {
    for (uint32_t l = 0; l < x->lanes; l++) on64[l] = -(mask >> l & 1);
    *(struct mx_jit_shape *)(void *)x->tmp = look64((const uint64_t *)(const void *)x->tmp, on64, x->lanes, chunk);
  } else {
    for (uint32_t l = 0; l < x->lanes; l++) on32[l] = (uint32_t)-(mask >> l & 1);
    *(struct mx_jit_shape *)(void *)x->tmp = look32((const uint32_t *)(const void *)x->tmp, on32, x->lanes, chunk);
  }
  return 0;
}

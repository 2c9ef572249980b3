/* What addresses of a warp look like, for compiled code that then uses them many times. */
#include "addresses.h"
#include "vm/exec/jitabi.h"

/* Addresses are asked in vectors of 64 bits, whatever their width: sums of 32 bits wrap by a mask. */
struct look {
  lanes_v min, max, low, same, rows[4];
};
MX__INL lanes_v either(lanes_v on, lanes_v yes, lanes_v no) { return (yes & on) | (no & ~on); }
MX__INL void look(struct mx_exec *x, bool narrow, uint32_t chunk, uint64_t mask, struct mx_jit_shape *to) {
  const unsigned n = mx__lanes(x);
  const uint64_t width = narrow ? UINT32_MAX : UINT64_MAX, none = (uint64_t)INT64_MIN;
  const lanes_v numbers = *(const lanes_v *)(const void *)lanes_numbers, sign = {0};
  lanes_v bit = *(const lanes_v *)(const void *)lanes_bits;
  /* signed comparisons are the ones that all processors have: so are numbers with their upper bit turned */
  struct look k = {.min = sign + INT64_MAX, .max = sign + none};
  for (uint32_t c = 0; c < n; c += chunk) {
    const uint64_t first =
        narrow ? ((const uint32_t *)(const void *)x->tmp)[c] : ((const uint64_t *)(const void *)x->tmp)[c];
    lanes_v number = numbers;
    for (uint32_t l = c; l < c + chunk; l += LANES_A_VECTOR, bit <<= LANES_A_VECTOR, number += LANES_A_VECTOR) {
      const lanes_v a =
          narrow ? __builtin_convertvector(*(const lanes_h *)(const void *)((const uint32_t *)(const void *)x->tmp + l),
                                           lanes_v)
                 : *(const lanes_v *)(const void *)((const uint64_t *)(const void *)x->tmp + l);
      const lanes_v on = (lanes_v)((bit & mask) == bit), order = a ^ none, least = either(on, order, k.min),
                    most = either(on, order, k.max), d = a - first;
      k.min = either((lanes_v)((lanes_s)least < (lanes_s)k.min), least, k.min);
      k.max = either((lanes_v)((lanes_s)most > (lanes_s)k.max), most, k.max);
      k.low |= a & on;
      k.same |= d & on & width;
      for (unsigned r = 0; r < 4; r++) k.rows[r] |= (d - (number << r)) & on & width;
    }
  }
  *to = (struct mx_jit_shape){.min = UINT64_MAX, .low = lanes_any(k.low)};
  for (unsigned l = 0; l < LANES_A_VECTOR; l++) {
    const uint64_t least = k.min[l] ^ none, most = k.max[l] ^ none;
    to->min = least < to->min ? least : to->min;
    to->max = most > to->max ? most : to->max;
  }
  if (narrow && to->min > UINT32_MAX) to->min = UINT32_MAX; /* no lane runs */
  static const uint64_t kinds[4] = {MX_JIT_ROWS1, MX_JIT_ROWS2, MX_JIT_ROWS4, MX_JIT_ROWS8};
  to->kind = lanes_any(k.same) ? 0 : MX_JIT_SAME;
  for (unsigned r = 0; r < 4; r++) to->kind |= lanes_any(k.rows[r]) ? 0 : kinds[r];
}
uint32_t MX_LV(mx__jit_shape)(struct mx_exec *x, uint32_t form, uint64_t mask);
uint32_t MX_LV(mx__jit_shape)(struct mx_exec *x, uint32_t form, uint64_t mask) {
  struct mx_jit_shape found;
  if (form & 1) look(x, false, form >> 1, mask, &found);
  else look(x, true, form >> 1, mask, &found);
  memcpy(x->tmp, &found, sizeof found);
  return 0;
}

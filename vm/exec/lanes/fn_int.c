/* Lane functions of the integer rows. */
#include "fn.h"
#include "core/vocab.h"

/* fns: find the n-th set bit. n > 0 counts from bit `base` up, n < 0 down; n = 0 asks for bit `base` itself. */
static uint32_t fns(uint32_t mask, uint32_t base, int32_t n) {
  uint32_t at = base;
  if (base > 31) return 0xFFFFFFFF;
  if (n == 0) return mask >> base & 1 ? base : 0xFFFFFFFF;
  uint32_t need = n < 0 ? 0u - (uint32_t)n : (uint32_t)n;
  int32_t step = n < 0 ? -1 : 1;
  for (; at < 32; at += (uint32_t)step)
    if (mask >> at & 1 && --need == 0) return at;
  return 0xFFFFFFFF;
}

void MX_FN(fns)(MX_FN_ARGS) {
  (void)q, (void)e, (void)mod;
  uint32_t *r = d;
  const uint32_t *mask = a, *base = b, *n = c;
  for (unsigned l = 0; l < lanes; l++) r[l] = fns(mask[l], base[l], (int32_t)n[l]);
}

/* Lane functions of moves of 128 bits: the low halves of all lanes, then the high ones. */
#include "fn.h"

void MX_FN(mov128)(MX_FN_ARGS) {
  (void)q, (void)b, (void)c, (void)e, (void)mod;
  uint64_t *r = d;
  const uint64_t *x = a;
  for (unsigned l = 0; l < 2 * lanes; l++) r[l] = x[l];
}

/* A half may be the other half of the result: both are read before either is written. */
void MX_FN(pack128)(MX_FN_ARGS) {
  (void)q, (void)c, (void)e, (void)mod;
  uint64_t *r = d;
  const uint64_t *low = a, *high = b;
  for (unsigned l = 0; l < lanes; l++) {
    const uint64_t x = low[l], y = high[l];
    r[l] = x;
    r[lanes + l] = y;
  }
}

void MX_FN(unpack128)(MX_FN_ARGS) {
  (void)b, (void)c, (void)e, (void)mod;
  uint64_t *low = d, *high = q;
  const uint64_t *v = a;
  for (unsigned l = 0; l < lanes; l++) {
    const uint64_t x = v[l], y = v[lanes + l];
    low[l] = x;
    high[l] = y;
  }
}

void MX_FN(pack128_32)(MX_FN_ARGS) {
  (void)q, (void)mod;
  uint64_t *r = d;
  const uint32_t *w = a, *x = b, *y = c, *z = e;
  for (unsigned l = 0; l < lanes; l++) {
    r[l] = w[l] | (uint64_t)x[l] << 32;
    r[lanes + l] = y[l] | (uint64_t)z[l] << 32;
  }
}

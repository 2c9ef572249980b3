/* Lane functions of the dynamic programming rows with three results. */
#include "fn.h"
#include "masks.h"
#include "core/vocab.h"

/* d: both halves; q, e: whether A's was taken in the high and in the low half. */
#define ROW(name_, type_, pick_) \
  void MX_FN(name_)(MX_FN_ARGS) { \
    (void)c, (void)mod; \
    uint32_t *r = d; \
    uint32_t high[MX_MAX_LANES], low[MX_MAX_LANES]; \
    const uint32_t *x = a, *y = b; \
    for (unsigned l = 0; l < lanes; l++) { \
      const type_ xl = (type_)x[l], yl = (type_)y[l], xh = (type_)(x[l] >> 16), yh = (type_)(y[l] >> 16); \
      low[l] = xl pick_ yl; \
      high[l] = xh pick_ yh; \
      r[l] = (uint32_t)(uint16_t)(low[l] ? xl : yl) | (uint32_t)(uint16_t)(high[l] ? xh : yh) << 16; \
    } \
    *(uint64_t *)q = mx__pack32(high, lanes); \
    *(uint64_t *)e = mx__pack32(low, lanes); \
  }
ROW(vibMAX_s16x2, int16_t, >=)
ROW(vibMAX_u16x2, uint16_t, >=)
ROW(vibMIN_s16x2, int16_t, <=)
ROW(vibMIN_u16x2, uint16_t, <=)

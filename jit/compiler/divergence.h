/* Where lanes may diverge. Each block has a mask of the lanes that wait before it. A divergent branch adds lanes to the
 * masks of both targets, and control goes to the first block, in the machine's order (vm/load/order.h), whose mask is
 * not empty. So the graph determines which blocks may run after a block, and before which blocks lanes may wait while
 * it runs. Knows nothing of gccjit. */
#ifndef MX_JITC_DIVERGENCE_H
#define MX_JITC_DIVERGENCE_H

#include "analyse.h"

/* Computes the blocks' ranks, and where lanes meet. False: out of memory. */
bool ja_order(struct ja *a);
/* From `divergent` of blocks, computes which of these branches are hidden, and each block's sets `pending`, `open` and
 * `then`. */
void ja_plan_divergence(struct ja *a);
/* The number that a branch's join has in sets like `open`; JA_NONE: no lane is expected there. */
uint32_t ja_join_of(const struct ja *a, uint32_t branch);
/* Lists the blocks of the set that come before block b in the machine's order, first ones first; returns how many there
 * are. */
uint32_t ja_before(const struct ja *a, const uint64_t *set, uint32_t b, uint32_t *blocks);

#endif

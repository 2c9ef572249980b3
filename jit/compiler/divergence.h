/* Where lanes may diverge. Compiled code runs blocks under masks in the machine's order (vm/load/order.h): a branch
 * that lanes leave in both directions gives each side its lanes, and control goes to the first block that has some; a
 * block has a mask of lanes that stand before it. So what may run after a block, and which lanes may stand where while
 * it runs, follows from the graph. Knows nothing of gccjit. */
#ifndef MX_JITC_DIVERGENCE_H
#define MX_JITC_DIVERGENCE_H

#include "analyse.h"

/* Ranks, and where lanes meet. False: out of memory. */
bool ja_order(struct ja *a);
/* From `divergent` of blocks: which of these branches are hidden, and by block `pending`, `open`, `then`. */
void ja_plan_divergence(struct ja *a);
/* The number of a branch's join among bits of `open`; JA_NONE: nobody waits there. */
uint32_t ja_join_of(const struct ja *a, uint32_t branch);
/* Blocks of the set that come before block b, the first of them first: as many as returned. */
uint32_t ja_before(const struct ja *a, const uint64_t *set, uint32_t b, uint32_t *blocks);

#endif

/* When a warp ends in compiled code, the code may start the block's next warp by itself; in a chain it also goes from
 * warp to warp at barriers (struct mx_warp_chain). Meanwhile x->warp is still the warp that was entered, and the
 * others' splits are out of date: these functions bring them up to date. */
#ifndef MX_VM_CHAIN_H
#define MX_VM_CHAIN_H

#include "block.h"
#include "jitabi.h"

/* Brings everything up to date, for callers that look at warps or splits; of warps outside of a chain, too. */
void mx__chain_refresh(struct mx_exec *x);
/* Whether something is out of date. */
static inline bool mx__chain_is_stale(const struct mx_exec *x) {
  return x->warps_begun || (x->chain && x->chain->stale);
}
/* The number of the current warp, even when things are out of date. */
static inline uint32_t mx__chain_warp(const struct mx_exec *x) {
  return x->chain && x->chain->stale ? x->chain->at : x->warp->number + x->warps_begun;
}

/* Brings the warps of x->chain up to date. */
void mx__chain_update(struct mx_exec *x);
/* Counts the warps that began in compiled code; all but the last one have ended there. */
static inline void mx__chain_count_ended(struct mx_exec *x) {
  const uint32_t n = x->warps_begun;
  x->warps_begun = 0;
  x->block->begun += n;
  x->stats.warps += n, x->stats.warps_compiled += n, x->stats.enters += n;
  x->stats.exits[MX_EXIT_DONE] += n;
}
/* A shorter mx__select(), for when only the frame changes. */
static inline void mx__chain_select(struct mx_exec *x, struct mx_warp *warp) {
  struct mx_split *split = &warp->splits[0];
  x->split = split;
  x->mask = split->mask;
  x->frame = split->frame;
  x->base[0] = split->frame->slots;
}
static inline void mx__chain_end(struct mx_warp *warp) {
  warp->live = 0;
  warp->nsplits = 0;
}

#endif

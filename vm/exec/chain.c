/* Warps that compiled code starts and ends by itself: bringing their state up to date; see chain.h. */
#include "chain.h"

#include "block.h"
#include "launch.h"
#include "warp.h"

void mx__chain_update(struct mx_exec *x) {
  struct mx_warp_chain *chain = x->chain;
  struct mx_block *b = x->block;
  for (uint32_t k = 0, w = chain->at; k < chain->n; k++, w = w + 1 == chain->n ? 0 : w + 1) {
    const bool here = k == 0, waits = k >= chain->n - chain->arrived, has_ended = k >= chain->n - chain->ended;
    struct mx_warp *warp = &b->warps[w];
    struct mx_split *s = &warp->splits[0];
    if (!chain->begun) {
      mx__warp_begin(warp, mx__block_lanes(b, w), chain->frame[w]);
      warp->ran_jit = true;
    }
    s->state = waits ? MX_WAIT_BAR : MX_RUNNABLE;
    s->barrier = 0;
    s->pc = waits ? chain->barrier_pc : chain->code->entries[chain->resume_entry].pc;
    warp->resume = here || has_ended ? 0 : waits ? chain->barrier_entry : chain->resume_entry;
    if (!has_ended || !warp->live) continue;
    mx__frame_end(x, s->frame);
    mx__chain_end(warp);
  }
  if (!chain->begun) x->stats.warps += chain->n, x->stats.warps_compiled += chain->n, chain->nframes = 0;
  chain->begun = true;
  mx__warp_registers(x, &b->warps[chain->at]); /* its turn has begun before */
  mx__chain_select(x, x->warp);
  b->round.alive = b->round.went_on = false;
  for (uint32_t w = 0; w < chain->at; w++) b->round.alive |= b->warps[w].live != 0, b->round.went_on = true;
  chain->stale = 0;
}

void mx__chain_refresh(struct mx_exec *x) {
  if (x->chain) {
    mx__chain_update(x);
    return;
  }
  struct mx_warp *warp = x->warp + x->warps_begun;
  mx__chain_end(x->warp);
  mx__chain_count_ended(x);
  mx__warp_begin(warp, x->mask, x->frame);
  warp->ran_jit = true;
  mx__warp_registers(x, warp); /* its slice has begun before */
  x->split = &warp->splits[0];
}

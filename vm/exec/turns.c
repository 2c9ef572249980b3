/* The turns of a unit: its blocks one after the other, and the warps of a block round robin from warp 0, each until it
 * has used its slice, waits, or ends. */
#include "async.h"
#include "block.h"
#include "compiled_block.h"
#include "hooks.h"
#include "launch.h"
#include "queue.h"
#include "warp.h"

#include <string.h>

/* A warp's turn in this round has ended; `ran`: it executed something. */
static void note_turn(struct mx_block *b, enum mx_turn turn, bool ran) {
  b->round.alive |= turn != MX_TURN_DONE;
  b->round.spun |= turn == MX_TURN_SPUN;
  b->round.went_on |= turn == MX_TURN_DONE || (turn == MX_TURN_BLOCKED && ran);
}

/* Runs all warps in compiled code alone: with `code` from the block's beginning on; with NULL, from the barrier on at
 * which all have arrived. True: the block's turn has ended, and *status says how; otherwise that of warp b->round.warp
 * has, and *turn says how. */
static bool run_compiled(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code, struct mx_taken *then,
                         enum mx_turn *turn, enum mx_block_status *status) {
  do {
    uint32_t w;
    const struct mx_insn *i;
    const uint64_t before = x->steps;
    const enum mx_block_exit left_by =
        code ? mx__compiled_block_run(x, b, code, then, &w, &i) : mx__compiled_block_resume(x, b, then, &w, &i);
    code = NULL;
    if (b->launch->debug)
      b->launch->hooks->ran_compiled(b->launch->debug, x, x->steps - before, left_by == MX_BLOCK_EXIT_MACHINE && !i);
    switch (left_by) {
    case MX_BLOCK_EXIT_DONE: return *status = MX_BLOCK_DONE, true;
    case MX_BLOCK_EXIT_STOPPED: return *status = MX_BLOCK_STOPPED, true;
    case MX_BLOCK_EXIT_PAUSES: return b->round.warp = w + 1, *status = MX_BLOCK_STOPPED, true;
    case MX_BLOCK_EXIT_YIELDS: return *status = MX_BLOCK_YIELDED, true;
    case MX_BLOCK_EXIT_MACHINE: break;
    }
    b->round.warp = w;
    *turn = mx__warp_go_on(x, &b->warps[w], i);
  } while (*turn == MX_TURN_ALL_ARRIVED);
  *status = MX_BLOCK_STOPPED;
  return *turn == MX_TURN_STOPPED;
}
/* Runs block b of a unit until none of its warps can go on: then MX_BLOCK_PARKED. */
static enum mx_block_status run_member(struct mx_exec *x, struct mx_block *b, struct mx_taken *then) {
  enum mx_block_status status;
  enum mx_turn turn;
  mx__block_enter(x, b);
  if (!b->started) {
    struct mx_jit_code *code = mx__compiled_block_code(x);
    b->started = true;
    if (code) {
      b->leader->pass.went_on = true;
      if (run_compiled(x, b, code, then, &turn, &status)) return status;
      note_turn(b, turn, true);
      b->round.warp++; /* the rest of that round */
    } else if (!mx__block_begin_warps(x, b, 0)) {
      mx__launch_stop(b->launch, MX_STOP_HOST_MEMORY);
      return MX_BLOCK_STOPPED;
    }
  }
  for (;;) {
    for (; b->round.warp < b->nwarps; b->round.warp++) {
      struct mx_warp *warp = &b->warps[b->round.warp];
      if (!warp->live) continue;
      if (b->launch->debug) b->launch->hooks->turn(b->launch->debug, x, b);
      uint64_t before = x->steps;
      turn = mx__warp_run(x, warp);
      if (turn == MX_TURN_ALL_ARRIVED && run_compiled(x, b, NULL, then, &turn, &status)) return status;
      if (turn == MX_TURN_STOPPED) return MX_BLOCK_STOPPED;
      note_turn(b, turn, x->steps != before);
    }
    const bool alive = b->round.alive, went_on = b->round.went_on, spun = b->round.spun;
    memset(&b->round, 0, sizeof b->round);
    if (!alive) return MX_BLOCK_DONE;
    b->leader->pass.went_on |= went_on;
    b->leader->pass.spun |= !went_on && spun;
    if (!went_on) return MX_BLOCK_PARKED;
    mx__async_round(x, b->leader);
    if (mx__queue_yields(b, then)) return MX_BLOCK_YIELDED;
  }
}
/* One pass over the blocks of the unit, each of which runs until none of its warps can go on. False: stopped. */
static bool run_pass(struct mx_exec *x, struct mx_block *leader, struct mx_taken *then) {
  struct mx_taken none = {0};
  for (; leader->pass.member < leader->nmembers; leader->pass.member++) {
    struct mx_block *b = leader->members[leader->pass.member];
    if (b->ended) continue;
    mx__cluster_recheck(leader); /* compiled code does not check this when lanes end */
    const enum mx_block_status status = run_member(x, b, leader->nmembers > 1 ? &none : then);
    if (status == MX_BLOCK_STOPPED) return false;
    leader->pass.yielded |= status == MX_BLOCK_YIELDED;
    leader->pass.alive |= status != MX_BLOCK_DONE;
    leader->pass.went_on |= status == MX_BLOCK_DONE;
    if (status != MX_BLOCK_DONE) continue;
    b->ended = true;
    if (!mx__async_end(b)) return false;
    MX_TELL(b->launch, block_ended, x, b);
  }
  return true;
}
static enum mx_block_status run_unit(struct mx_exec *x, struct mx_block *leader, struct mx_taken *then) {
  const bool alone = leader->nmembers == 1;
  if (leader->time_over) mx__mbarrier_time_out(x, leader);
  for (;;) {
    if (!run_pass(x, leader, then)) return MX_BLOCK_STOPPED;
    const bool alive = leader->pass.alive, yielded = leader->pass.yielded, spun = leader->pass.spun,
               went_on = leader->pass.went_on;
    memset(&leader->pass, 0, sizeof leader->pass);
    if (!alive) return MX_BLOCK_DONE;
    if (yielded && (alone || mx__queue_others_wait(leader->launch, then))) return MX_BLOCK_YIELDED;
    if (went_on && !alone) continue; /* a block may have enabled an earlier one to go on */
    if (mx__async_land_wanted(x, leader)) {
      if (atomic_load_explicit(x->stop, memory_order_relaxed) != MX_STOP_NOT)
        return MX_BLOCK_STOPPED; /* a landing copy may trap */
      continue;
    }
    bool released = false;
    if (spun && ++leader->spins < MX_SPIN_LIMIT) return MX_BLOCK_PARKED;
    leader->spins = 0;
    for (uint32_t k = 0; k < leader->nmembers; k++)
      for (uint32_t w = 0; w < leader->members[k]->nwarps; w++) {
        struct mx_warp *warp = &leader->members[k]->warps[w];
        if (warp->live) released |= mx__warp_release(x, warp, true);
      }
    if (released) continue;
    const bool over = mx__mbarrier_time_over(leader);
    leader->timeouts += over && !spun; /* lanes may be spinning on a word that another launch or the host writes */
    if (over || spun) return MX_BLOCK_PARKED;
    mx__trap_deadlock(x, leader);
    return MX_BLOCK_STOPPED;
  }
}
enum mx_block_status mx__block_run(struct mx_exec *x, struct mx_block *b, struct mx_taken *then) {
  struct mx_block *leader = b->leader;
  for (;;) {
    const enum mx_block_status status = run_unit(x, leader, then);
    if (status != MX_BLOCK_DONE || then->next == then->end) return status;
    if (atomic_load_explicit(x->stop, memory_order_relaxed) != MX_STOP_NOT) return status;
    mx__block_start(leader, then->next++);
  }
}

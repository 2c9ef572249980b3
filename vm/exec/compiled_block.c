/* See compiled_block.h. A warp runs until it ends or arrives at barrier 0 with all its lanes; the warp that arrives
 * last goes on at once, as barrier.h says. All other cases are left to the interpreter: the state of the waiting warps
 * is written back, and turns.c runs them until all have arrived at barrier 0 again.
 *
 * A warp begins when its first turn comes, mostly in the frame of the warp that has just ended. For warps of few
 * instructions, the code here before the first and after the last one is most of their cost. */
#include "compiled_block.h"

#include "attach.h"
#include "barrier.h"
#include "chain.h"
#include "hooks.h"
#include "launch.h"
#include "queue.h"

#include <string.h>

static void release(struct mx_block *b) {
  MX_TELL(b->launch, released, b, 0);
  for (uint32_t w = 0; w < b->nwarps; w++) {
    struct mx_split *s = &b->warps[w].splits[0];
    if (!b->warps[w].live || s->state != MX_WAIT_BAR) continue;
    mx__barrier_pass(s);
  }
}

/* Warp `at`, if there is one, leaves the chain; the machine knows what it waits for. */
static void record_arrivals(struct mx_block *b, uint32_t at) {
  struct mx_barrier *bar = &b->barriers[0];
  for (uint32_t w = 0; w < b->nwarps; w++) {
    const struct mx_warp *warp = &b->warps[w];
    if (w == at || !warp->live || warp->splits[0].state != MX_WAIT_BAR) continue;
    b->barriers_used |= 1;
    bar->want = 0;
    bar->arrived[w] = warp->live;
  }
}

static void settle(struct mx_exec *x, struct mx_block *b) {
  for (uint32_t w = 0; w < b->nwarps; w++) mx__jit_settle(x, &b->warps[w]);
}

/* ---- beginnings and ends -----------------------------------------------------------------------------------*/
struct block_run {
  struct mx_jit_code *code;
  struct mx_jit_state state; /* its large members are not written before they are needed */
  struct mx_frame *left;     /* the frame of a warp that has ended, for the next one; NULL, or the current frame */
  struct mx_taken *then;     /* blocks that the worker has taken */
  /* registers must begin as zeros, because code reads them before it writes them, or a debugger may stop it */
  bool clean, looked_at;
  bool alone; /* nobody looks on, and the block is a unit of its own */
  /* How many warps, from the first on, have all their lanes, or 1 for a block's only warp. 0 if somebody counts each
   * warp's steps, or reads clocks. */
  uint32_t alike_warps;
  struct mx_warp_chain chain;
  uint32_t first_warp, left_at_begin; /* where it began */
};

/* Begins the warp's turn, with a whole slice, as mx__warp_enter() does. */
static void turn_to(struct mx_exec *x, struct mx_warp *warp) {
  mx__warp_registers(x, warp);
  x->slice = MX_SLICE;
  x->reserve = 0;
}

enum { ARRIVALS = 128 }; /* how many arrivals at barriers until the launch's stop flag is polled */

/* How many arrivals compiled code may process, that of warp `at` first: at most those before the one with which the
 * block's turn ends. The last of n warps goes on at once, so n arrivals are n - 1 turns. */
static uint32_t arrivals_left(const struct mx_block *b, uint32_t at) {
  const uint64_t n = b->nwarps, turns = (uint64_t)(MX_TURN_PASSES - b->passes) * n - at;
  const uint64_t arrivals = n > 1 ? turns - 1 + (turns - 1) / (n - 1) : ARRIVALS;
  return arrivals < ARRIVALS ? (uint32_t)arrivals : ARRIVALS;
}

/* All warps wait at the barrier, and may go on in compiled code alone if all are at one place. */
static void begin_chain(struct mx_exec *x, struct mx_block *b, struct block_run *run) {
  struct mx_warp_chain *chain = &run->chain;
  for (uint32_t w = 0; w < b->nwarps; w++) {
    if (b->warps[w].resume != x->warp->resume) return;
    chain->spill_area[w] = mx__jit_spill_in_frame(b->warps[w].splits[0].frame);
  }
  chain->n = b->nwarps, chain->at = x->warp->number, chain->arrived = chain->ended = 0;
  chain->resume_entry = x->warp->resume;
  chain->arrivals_left = run->left_at_begin = arrivals_left(b, run->first_warp = chain->at), chain->stale = 0;
  chain->code = run->code;
  chain->begun = true;
  x->chain = chain;
}
/* The same for a block whose warps begin; the first becomes the current one. */
static bool begin_in_chain(struct mx_exec *x, struct mx_block *b, struct block_run *run) {
  struct mx_warp_chain *chain = &run->chain;
  for (; chain->nframes < b->nwarps; chain->nframes++)
    if (!(chain->frame[chain->nframes] = mx__frame_first(x, run->code->spill_bytes, false))) return false;
  for (uint32_t w = 0; w < b->nwarps; w++) chain->spill_area[w] = mx__jit_spill_in_frame(chain->frame[w]);
  chain->n = b->nwarps, chain->at = chain->arrived = chain->ended = chain->resume_entry = 0;
  chain->arrivals_left = run->left_at_begin = arrivals_left(b, run->first_warp = 0), chain->stale = 1;
  chain->code = run->code;
  chain->begun = false;
  x->chain = chain;
  b->begun = b->nwarps;
  turn_to(x, b->warps);
  x->warp->resume = 0;
  x->split = &x->warp->splits[0];
  x->mask = mx__block_lanes(b, 0);
  x->frame = chain->frame[0];
  x->base[0] = x->frame->slots;
  run->state.spill_area = chain->spill_area[0];
  return true;
}
/* Updates the chain when code has been left; false: all warps have ended, and only x->stats needs an update. */
static bool end_chain(struct mx_exec *x, const struct block_run *run, uint32_t kind) {
  struct mx_warp_chain *chain = x->chain;
  const uint32_t arrivals = run->left_at_begin - chain->arrivals_left,
                 turns = arrivals - arrivals / chain->n + chain->ended;
  x->block->passes += (run->first_warp + turns) / chain->n;
  const bool over = kind == MX_JIT_DONE && chain->ended + 1 == chain->n;
  if (over && !chain->begun) x->stats.warps += chain->n, x->stats.warps_compiled += chain->n;
  for (uint32_t w = 0; over && chain->begun && w < chain->n; w++) {
    struct mx_warp *warp = &x->block->warps[w];
    if (!warp->live) continue; /* it was reported before */
    if (chain->nframes < chain->n) chain->frame[chain->nframes++] = warp->splits[0].frame;
    else mx__frame_end(x, warp->splits[0].frame);
    mx__chain_end(warp);
  }
  if (!over && chain->stale) mx__chain_update(x);
  x->stats.enters += arrivals + chain->ended;
  x->stats.exits[MX_EXIT_BLOCK] += arrivals, x->stats.exits[MX_EXIT_DONE] += chain->ended;
  x->chain = NULL;
  return !over;
}

static bool spills(const struct mx_func *f) { return f->nspill32 || f->nspill64 || f->nspillpred; }

/* Warp w begins and becomes the current one. */
static bool begin(struct mx_exec *x, struct mx_block *b, uint32_t w, struct block_run *r) {
  struct mx_warp *warp = &b->warps[w];
  struct mx_frame *f = r->left;
  r->left = NULL;
  if (!f) f = mx__frame_first(x, r->code->spill_bytes, r->clean || r->looked_at);
  else if (r->clean || (r->looked_at && (x->frame_dirty || spills(f->fn->func))))
    memset(f->slots, 0, f->fn->frame_bytes);
  if (!f) return false;
  x->frame_dirty = false;
  mx__warp_begin(warp, mx__block_lanes(b, w), f);
  turn_to(x, warp);
  mx__chain_select(x, warp);
  b->begun++;
  warp->ran_jit = true;
  x->stats.warps++, x->stats.warps_compiled++;
  r->state.spill_area = mx__jit_spill_in_frame(f);
  if (r->clean)
    mx__jit_frame_to_spill(x, r->code, r->code->entries[0].first, r->code->entries[0].n, r->state.spill_area);
  return true;
}
static enum mx_block_exit no_memory(struct mx_block *b) {
  mx__launch_stop(b->launch, MX_STOP_HOST_MEMORY);
  return MX_BLOCK_EXIT_STOPPED;
}
static void count(struct mx_exec *x, const struct mx_jit_state *s, enum mx_exit_reason why) {
  x->steps += s->steps;
  x->stats.steps_compiled += s->steps;
  x->warp->clock += s->ticks;
  x->stats.exits[why]++;
}

/* Prepares the state between two rounds for the machine. */
static enum mx_block_exit yield(struct mx_exec *x, struct mx_block *b) {
  record_arrivals(b, b->nwarps);
  settle(x, b);
  memset(&b->round, 0, sizeof b->round);
  return MX_BLOCK_EXIT_YIELDS;
}

/* ---- coming back -------------------------------------------------------------------------------------------*/
/* Number of the entry at pc; 0: there is none, or that of the first instruction. */
static uint32_t entry_at(const struct mx_jit_code *code, uint32_t pc) {
  uint32_t from = 0, n = code->table->nentries;
  while (n > 1) {
    if (code->entries[from + n / 2].pc <= pc) from += n / 2, n -= n / 2;
    else n /= 2;
  }
  return code->entries[from].pc == pc ? from : 0;
}
/* The warp's frame gets room for compiled code's state, if it has none; false: out of memory. */
static bool make_room(struct mx_exec *x, struct mx_warp *warp, const struct mx_jit_code *code) {
  struct mx_frame *f = warp->splits[0].frame;
  if (mx__jit_has_room(f, code)) return true;
  struct mx_frame *new = mx__frame_first(x, code->spill_bytes, false);
  if (!new) return false;
  memcpy(new->slots, f->slots, f->fn->frame_bytes);
  new->lanes = f->lanes, new->open = f->open, new->local_dyn = f->local_dyn;
  warp->splits[0].frame = new;
  mx__frame_end(x, f);
  return true;
}
/* Converts the state of a warp that is at an entry to compiled code's form; false: it is elsewhere, or its values are
 * not as the code expects. */
static bool take_up(struct mx_exec *x, struct mx_warp *warp, const struct mx_jit_code *code) {
  const struct mx_split *s = &warp->splits[0];
  if (warp->nsplits != 1 || s->state != MX_RUNNABLE || s->frame->depth || s->frame->open || s->mask != warp->live)
    return false;
  const uint32_t entry = entry_at(code, s->pc);
  if (!entry || !make_room(x, warp, code)) return false;
  mx__chain_select(x, warp);
  if (!mx__jit_frame_to_spill(x, code, code->entries[entry].first, code->entries[entry].n,
                              mx__jit_spill_in_frame(s->frame)))
    return false;
  warp->resume = entry;
  return true;
}
static bool take_up_all(struct mx_exec *x, struct mx_block *b, const struct mx_jit_code *code) {
  uint64_t taken[(MX_MAX_BLOCK_THREADS / 32 + 63) / 64] = {0};
  uint32_t w = 0;
  for (; w < b->nwarps; w++) {
    struct mx_warp *warp = &b->warps[w];
    /* warps that have been waiting since code was left still have their state in that form */
    if (!warp->live || warp->resume) continue;
    if (!take_up(x, warp, code)) break;
    taken[w / 64] |= 1ull << (w % 64);
  }
  const bool all = w == b->nwarps;
  for (w = 0; w < b->nwarps && !all; w++)
    if (taken[w / 64] >> (w % 64) & 1) b->warps[w].resume = 0; /* their frames are still up to date */
  mx__chain_select(x, x->warp);
  return all;
}
/* Whether no lane of a warp has ended. */
static bool are_whole(const struct mx_block *b) {
  for (uint32_t w = 0; w < b->nwarps; w++)
    if (b->warps[w].live != mx__block_lanes(b, w)) return false;
  return true;
}

/* All warps of the block, which began in code, have ended there. If the worker has taken the next block, too, and there
 * is nothing to clear away, its first warp takes the place of this one's: of kernels of few instructions, the longer
 * way through mx__block_start() and begin() takes as long as the block. */
static bool begin_next(struct mx_exec *x, struct mx_block *b, const struct block_run *r) {
  if (r->then->next == r->then->end || r->then->next != b->unit + 1 || b->barriers_used || b->async ||
      atomic_load_explicit(x->stop, memory_order_relaxed) != MX_STOP_NOT)
    return false;
  r->then->next++;
  mx__block_follow(x, b);
  mx__warp_begin(b->warps, b->warps->splits[0].mask, x->frame);
  b->warps->ran_jit = true;
  turn_to(x, b->warps);
  return true;
}
/* Enters code, and again for each block that follows in this way. */
static uint32_t run_code(struct mx_exec *x, struct mx_block *b, const struct block_run *r, uint32_t entry,
                         struct mx_jit_state *s) {
  const uint32_t allowed = x->warps_allowed;
  const bool whole = r->alone && !entry && !x->chain && b->begun == 1 && allowed + 1 == b->nwarps;
  uint64_t more = 0;
  uint32_t kind;
  while ((kind = r->code->run(x, entry, s)) == MX_JIT_DONE && whole && x->warps_begun == allowed &&
         x->warp == b->warps && begin_next(x, b, r)) {
    more++;
    x->steps += s->steps, x->stats.steps_compiled += s->steps;
    x->warps_begun = s->steps = s->ticks = 0;
    x->warps_allowed = allowed;
  }
  more *= b->nwarps;
  x->stats.warps += more, x->stats.warps_compiled += more, x->stats.enters += more;
  x->stats.exits[MX_EXIT_DONE] += more;
  return kind;
}

/* ---- turns ---------------------------------------------------------------------------------------------------*/
/* `back`: the current warp's turn goes on. */
static enum mx_block_exit run(struct mx_exec *x, struct mx_block *b, struct block_run *r, bool back, uint32_t *at,
                              const struct mx_insn **next) {
  struct mx_jit_state *s = &r->state;
  uint32_t alive = b->nwarps, waiting = 0;
  bool began = back;
  const bool alike = r->alike_warps == b->nwarps && b->nwarps <= MX_CHAIN_WARPS && (!back || are_whole(b)),
             chains = alike && r->code->table->waits && !r->clean && !r->looked_at;
  if (!back) b->begun = 0;
  for (uint32_t w = 0; w < b->nwarps && back; w++) alive -= !b->warps[w].live;
  for (uint32_t w = back ? x->warp->number : 0; alive; w = w + 1 == b->nwarps ? 0 : w + 1) {
    struct mx_warp *warp = &b->warps[w];
    if (!w && !back) {
      if (began && mx__queue_yields(b, r->then)) return yield(x, b);
      began = true;
      b->round.alive = b->round.went_on = b->round.spun = false;
    }
    if (back) {
      s->spill_area = mx__jit_spill_in_frame(x->frame);
      if (alike && alive == b->nwarps) begin_chain(x, b, r);
      back = false;
    } else if (w == b->begun) {
      if (!(chains ? begin_in_chain(x, b, r) : begin(x, b, w, r))) return no_memory(b);
    } else {
      if (!warp->live) continue;
      turn_to(x, warp);
      mx__chain_select(x, warp);
      s->spill_area = mx__jit_spill_in_frame(x->frame);
    }
    if (x->launch->debug) x->launch->hooks->enters_compiled(x);
    for (;;) {
      s->steps = s->ticks = 0;
      const uint32_t entry = warp->resume; /* 0 is the first instruction */
      warp->resume = 0;
      x->warps_allowed = entry || b->begun >= r->alike_warps ? 0 : r->alike_warps - b->begun;
      if (x->probed && !x->launch->probe->enters(x, s, NULL)) return no_memory(b);
      const uint32_t kind = run_code(x, b, r, entry, s);
      if (x->probed) x->launch->probe->ran(x, kind, s);
      x->warps_allowed = 0;
      x->stats.enters++;
      if (x->chain) {
        if (!end_chain(x, r, kind)) {
          count(x, s, MX_EXIT_DONE);
          return MX_BLOCK_EXIT_DONE;
        }
        waiting = r->chain.arrived;
        alive = b->nwarps - r->chain.ended;
        w = x->warp->number;
        s->spill_area = mx__jit_spill_in_frame(x->frame);
      } else {
        const uint32_t here =
            x->warp->number + x->warps_begun; /* x->warp may have changed, if a body has brought it up to date */
        alive -= here - w;
        w = here;
        /* the last one's state is not needed any more */
        if (x->warps_begun && kind == MX_JIT_DONE) mx__chain_count_ended(x);
        else if (x->warps_begun) mx__chain_refresh(x);
      }
      warp = x->warp;
      if (kind == MX_JIT_BARRIER) {
        count(x, s, MX_EXIT_BLOCK);
        mx__barrier_wait(x->split, 0, s->pc);
        warp->resume = s->resume;
        if (mx__barrier_move_of_warps(MX_BARRIER_ARRIVAL, ++waiting, alive).waits) break;
        waiting = 0;
        release(b);
        if (alike && alive == b->nwarps) begin_chain(x, b, r);
        continue;
      }
      if (kind == MX_JIT_DONE) {
        count(x, s, MX_EXIT_DONE);
        mx__chain_end(warp);
        alive--;
        if (mx__barrier_move_of_warps(MX_BARRIER_END, waiting, alive).releases) release(b), waiting = 0;
        if (r->left) mx__frame_end(x, r->left);
        r->left = x->frame;
        break;
      }
      if (!mx__block_begin_warps(x, b, b->begun)) return no_memory(b);
      record_arrivals(b, w);
      if (x->launch->debug) settle(x, b);
      *at = w;
      const uint64_t before = x->steps;
      *next = mx__jit_after(x, r->code, kind, s, mx__insn_of(x->split));
      x->stats.steps_compiled += x->steps - before;
      const enum mx_exit_reason why = mx__exit_reason(x, *next);
      x->stats.exits[why]++;
      if (x->probed) x->launch->probe->left(x, why, *next);
      return MX_BLOCK_EXIT_MACHINE;
    }
    b->round.alive |=
        warp->live != 0; /* the machine's record of this round, in case it has to go on in the middle of it */
    b->round.went_on = true;
    if (alive && mx__told_to_stop(x)) {
      if (atomic_load(x->stop) != MX_STOP_REST) return MX_BLOCK_EXIT_STOPPED;
      if (!mx__block_begin_warps(x, b, b->begun)) return no_memory(b);
      record_arrivals(b, b->nwarps);
      settle(x, b);
      *at = w;
      return MX_BLOCK_EXIT_PAUSES;
    }
  }
  return MX_BLOCK_EXIT_DONE;
}

static enum mx_block_exit run_blocks(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code, bool back,
                                     struct mx_taken *then, uint32_t *at, const struct mx_insn **next) {
  const struct mx_launch *l = x->launch;
  struct block_run r;
  r.code = code;
  r.left = NULL;
  r.then = then;
  r.clean = code->table->clean || mx__sees_accesses(l); /* a checker's shadows in frames begin empty */
  r.looked_at = l->debug;
  r.alone = !l->debug && !l->probe && b->nmembers == 1 && !r.clean;
  r.chain.nframes = 0;
  r.alike_warps = l->steps_limit || l->prep->clocks || l->probe ? 0 : l->threads < l->lanes ? 1 : l->threads / l->lanes;
  r.state.help = &mx__jit_help;
  r.state.exec = x;
  r.state.code = code;
  r.state.park = MX_JIT_PARK_BARRIER | (l->debug || l->probe ? 0 : MX_JIT_PARK_MBARRIER);
  x->fn = &x->prep->funcs[x->prep->kernel];
  x->base[1] = x->fn->pool;
  x->resched_rank = UINT32_MAX;
  enum mx_block_exit end;
  for (; (end = run(x, b, &r, back, at, next)) == MX_BLOCK_EXIT_DONE && then->next < then->end &&
         atomic_load_explicit(x->stop, memory_order_relaxed) == MX_STOP_NOT;
       back = false) {
    MX_TELL(l, block_ended, x, b);
    mx__block_start(b, then->next++);
    mx__block_enter(x, b);
    b->started = true;
  }
  if (r.left) mx__frame_end(x, r.left);
  while (r.chain.nframes) mx__frame_end(x, r.chain.frame[--r.chain.nframes]);
  return end;
}
enum mx_block_exit mx__compiled_block_run(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code,
                                          struct mx_taken *then, uint32_t *w, const struct mx_insn **i) {
  return run_blocks(x, b, code, false, then, w, i);
}
enum mx_block_exit mx__compiled_block_resume(struct mx_exec *x, struct mx_block *b, struct mx_taken *then, uint32_t *w,
                                             const struct mx_insn **i) {
  struct mx_jit_code *code = mx__compiled_block_code(x);
  if (code && take_up_all(x, b, code)) return run_blocks(x, b, code, true, then, w, i);
  mx__select(x, x->split);
  *w = x->warp->number;
  *i = mx__at(x->fn, x->split->pc);
  return MX_BLOCK_EXIT_MACHINE;
}

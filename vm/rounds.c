/* See rounds.h. A warp runs until it ends, or arrives at barrier 0 with all its lanes; whoever arrives last goes on at
 * once, as in barrier.c. Anything else is the machine's: the waiting warps are made known to it, and it goes on.
 *
 * A warp begins when its first turn comes, mostly in the frame of the one that has just ended: what a warp of few
 * instructions costs is what is written here before its first and after its last. */
#include "vm/rounds.h"

#include "vm/attach.h"
#include "vm/debug.h"
#include "vm/launch.h"
#include "vm/warp.h"

#include <string.h>

struct mx_jit_code *mx__rounds_code(const struct mx_exec *x) {
  if (x->stress || x->jit_off || (x->launch->debug && !mx__compiled_rounds(x->launch->debug, x))) return NULL;
  struct mx_jit_code *code = atomic_load_explicit(&x->prep->funcs[x->prep->kernel].jit, memory_order_acquire);
  return code && atomic_load_explicit(&code->attached, memory_order_acquire) ? code : NULL; /* what waits must find its way back */
}

static void release(struct mx_block *b) {
  for (uint32_t w = 0; w < b->nwarps; w++) {
    struct mx_split *s = &b->warps[w].splits[0];
    if (!b->warps[w].live || s->state != MX_WAIT_BAR) continue;
    s->state = MX_RUNNABLE;
    s->pc += mx_w_length(s->frame->fn->func->code[s->pc]);
  }
}

/* Warp `at` leaves; what it waits for, if anything, the machine knows. */
static void tell_barrier(struct mx_block *b, uint32_t at) {
  struct mx_barrier *bar = &b->barriers[0];
  for (uint32_t w = 0; w < b->nwarps; w++) {
    const struct mx_warp *warp = &b->warps[w];
    if (w == at || !warp->live || warp->splits[0].state != MX_WAIT_BAR) continue;
    bar->used = true;
    bar->want = 0;
    bar->arrived[w] = warp->live;
  }
}

/* Warps that have their registers in compiled code's form get them into their frames, where a debugger sees and changes them. */
static void settle(struct mx_exec *x, struct mx_block *b, const struct mx_jit_code *code) {
  unsigned char *const base = x->base[0];
  const uint64_t mask = x->mask;
  for (uint32_t w = 0; w < b->nwarps; w++) {
    struct mx_warp *warp = &b->warps[w];
    if (!warp->live || !warp->resume) continue;
    const struct mx_jit_site at = {.first = code->entries[warp->resume].first, .n = code->entries[warp->resume].n};
    x->base[0] = warp->splits[0].frame->slots;
    x->mask = warp->splits[0].mask;
    mx__jit_fetch(x, code, &at, mx__jit_keep(warp->splits[0].frame));
    warp->resume = 0;
  }
  x->base[0] = base;
  x->mask = mask;
}

/* Warp w begins in the current frame, which another one has left. */
static void begin_here(struct mx_exec *x, struct mx_warp *warp, uint64_t lanes) {
  mx__warp_begin(warp, lanes, x->frame);
  x->split = &warp->splits[0]; /* the rest of mx__select() would change nothing */
  x->mask = lanes;
}
static void end(struct mx_warp *warp) {
  warp->live = 0;
  warp->nsplits = 0;
}
void mx__rounds_catch_up(struct mx_exec *x) {
  struct mx_warp *warp = x->warp + x->ahead;
  const int32_t slice = x->slice;
  end(x->warp);
  begin_here(x, warp, x->mask);
  mx__warp_enter(x, warp);
  x->slice = slice; /* it has begun before */
  warp->ran_jit = true;
  x->stats.warps += x->ahead, x->stats.warps_compiled += x->ahead, x->stats.enters += x->ahead;
  x->stats.exits[MX_EXIT_DONE] += x->ahead;
  x->block->begun += x->ahead;
  x->ahead = 0;
}

/* Warp w begins and becomes the current one: in frame *left, if there is one, which is the current frame still. */
static bool begin(struct mx_exec *x, struct mx_block *b, uint32_t w, const struct mx_jit_code *code, struct mx_frame **left) {
  struct mx_warp *warp = &b->warps[w];
  struct mx_frame *f = *left;
  *left = NULL;
  if (f) {
    if (code->table->clean || b->launch->debug) memset(f->slots, 0, f->fn->frame_bytes);
    begin_here(x, warp, mx__block_lanes(b, w));
  } else {
    if (!(f = mx__frame_first(x, code->table->home_bytes, code->table->clean || b->launch->debug))) return false;
    mx__warp_begin(warp, mx__block_lanes(b, w), f);
    mx__select(x, &warp->splits[0]);
  }
  mx__warp_enter(x, warp);
  warp->ran_jit = true;
  x->stats.warps++, x->stats.warps_compiled++;
  return true;
}
static enum mx_rounds no_memory(struct mx_block *b) {
  mx__launch_stop(b->launch, MX_STOP_HOST_MEMORY);
  return MX_ROUNDS_STOPPED;
}
static void count(struct mx_exec *x, uint64_t steps, enum mx_exit_reason why) {
  x->steps += steps;
  x->stats.steps_compiled += steps;
  x->stats.exits[why]++;
}

enum mx_rounds mx__rounds_run(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code, uint32_t *at, const struct mx_insn **next) {
  uint32_t alive = b->nwarps, waiting = 0;
  struct mx_frame *left = NULL; /* by a warp that has ended, for the next one to begin */
  struct mx_jit_state s;        /* its records are not touched before they are needed */
  s.help = &mx__jit_help;
  s.park = 1;
  b->begun = 0;
  /* warps with all their lanes; or none, where somebody counts with every step */
  const uint32_t whole = x->launch->debug || x->launch->steps_limit ? 0 : x->launch->threads / x->launch->lanes;
  for (uint32_t w = 0; alive; w = w + 1 == b->nwarps ? 0 : w + 1) {
    struct mx_warp *warp = &b->warps[w];
    if (!w) b->round.alive = b->round.went_on = false;
    if (w == b->begun) {
      if (!begin(x, b, w, code, &left)) return no_memory(b);
      b->begun++;
    } else {
      if (!warp->live) continue;
      mx__warp_enter(x, warp);
      mx__select(x, &warp->splits[0]);
    }
    struct mx_split *split = x->split;
    s.home = mx__jit_keep(x->frame);
    if (!warp->resume && code->table->clean) mx__jit_bring(x, code, 0, s.home);
    if (x->launch->debug) mx__compiled_enters(x);
    for (;;) {
      s.steps = 0;
      const uint32_t entry = warp->resume;
      warp->resume = 0;
      x->more = entry || b->begun >= whole ? 0 : whole - b->begun;
      const uint32_t kind = code->run(x, entry, &s); /* entry 0 is the first instruction */
      x->more = 0;
      x->stats.enters++;
      if (x->ahead) mx__rounds_catch_up(x);
      alive -= x->warp->number - w;
      w = x->warp->number;
      warp = x->warp;
      split = x->split;
      if (kind == MX_JIT_BARRIER) {
        count(x, s.steps, MX_EXIT_BLOCK);
        split->state = MX_WAIT_BAR;
        split->barrier = 0;
        split->pc = s.pc;
        warp->resume = s.resume;
        if (++waiting < alive) break;
        waiting = 0;
        release(b);
        continue;
      }
      if (kind == MX_JIT_DONE) {
        count(x, s.steps, MX_EXIT_DONE);
        end(warp);
        if (waiting == --alive) release(b), waiting = 0;
        if (b->begun < b->nwarps) left = x->frame;
        else mx__frame_end(x, x->frame);
        break;
      }
      if (!mx__block_begin_warps(x, b, b->begun)) return no_memory(b);
      tell_barrier(b, w);
      if (x->launch->debug) settle(x, b, code);
      *at = w;
      const uint64_t before = x->steps;
      const struct mx_insn *here = mx__insn_of(split);
      *next = mx__jit_after(x, code, kind, &s, here);
      x->stats.steps_compiled += x->steps - before;
      x->stats.exits[mx__exit_reason(x, *next)]++;
      return MX_ROUNDS_MACHINE;
    }
    b->round.alive |= warp->live != 0; /* what the machine will ask about this round, should it go on in the middle of it */
    b->round.went_on = true;
    if (mx__told_to_stop(x)) {
      if (left) mx__frame_end(x, left);
      return MX_ROUNDS_STOPPED;
    }
  }
  return MX_ROUNDS_DONE;
}

/* Splits, joins and frames of a warp: what happens to them when lanes diverge, meet, call, return, wait and end. The
 * order in which splits run is fixed here; see the head of exec.h and docs/architecture.md. */
#ifndef MX_VM_WARP_H
#define MX_VM_WARP_H

#include "block.h"
#include "interp.h"
#include "launch.h"

/* The instruction that a split stands at. */
static inline const struct mx_insn *mx__insn_of(const struct mx_split *s) {
  const struct mx_insn *i = mx__at(s->frame->fn, s->pc);
  return i->kind == MX_INSN_JOIN ? i + 1 : i;
}
/* Where a frame's local memory ends, and that of its next callee begins. */
static inline uint64_t mx__local_top(const struct mx_frame *f) {
  return f->local_base + f->fn->func->local_bytes + f->local_dyn;
}

/* A frame below f that instruction i of its function, a call of `fn`, makes for `lanes`, but for its arguments. NULL:
 * *why. */
struct mx_frame *mx__frame_push(struct mx_exec *x, struct mx_frame *f, const struct mx_insn *i,
                                const struct mx_pfunc *fn, uint64_t lanes, mx_trap_kind *why);
/* A frame for a warp that begins: `room` bytes behind its slots; `clean`: these are zero. NULL: out of memory. */
struct mx_frame *mx__frame_first(struct mx_exec *x, uint32_t room, bool clean);
/* Begins a warp at the kernel's entry with the lanes of `live`. */
static inline void mx__warp_begin(struct mx_warp *w, uint64_t live, struct mx_frame *f) {
  f->lanes = live;
  f->open = 0;
  f->local_dyn = 0;
  w->live = live;
  w->clock = MX_CLOCK_START;
  w->ran_jit = false;
  w->spins = w->resume = 0;
  w->spin_limit = MX_SPIN_LIMIT;
  w->nsplits = 1;
  w->splits[0] = (struct mx_split){.state = MX_RUNNABLE, .mask = live, .frame = f};
}
/* Ends a warp that was stopped: frees its frames. */
void mx__warp_end(struct mx_warp *w);

/* The last lanes of a frame have ended. */
void mx__frame_end(struct mx_exec *x, struct mx_frame *f);
/* What is the warp's own: windows, special registers. */
static inline void mx__warp_registers(struct mx_exec *x, struct mx_warp *w) {
  x->warp = w;
  x->window[MX_LOCAL] = w->local;
  for (unsigned d = 0; d < 3; d++) x->sreg_lanes32[MX_SR_TID_X + d] = w->tid[d];
  x->sreg[MX_SR_WARPID] = w->number;
}
/* What i adds to a clock. */
static inline uint32_t mx__ticks(const struct mx_insn *i) {
  return i->kind == MX_INSN_OP ? mx_ticks(mx__ops[i->op].cls) : 0;
}
/* Instruction i of the current warp counts, or is to count no more: where the loop over instructions does not see to
 * it. */
static inline void mx__count(struct mx_exec *x, const struct mx_insn *i) { x->steps++, x->warp->clock += mx__ticks(i); }
static inline void mx__uncount(struct mx_exec *x, const struct mx_insn *i) {
  x->steps--, x->warp->clock -= mx__ticks(i);
}

/* What a turn of w needs of x. */
void mx__warp_enter(struct mx_exec *x, struct mx_warp *w);

/* Lanes m of the current split end: they leave its frames and the warp. True: none is left, and the split is gone. Who
 * calls this sees to those who wait for them; mx__exit_lanes does (end.c). */
bool mx__take_lanes_out(struct mx_exec *x, uint64_t m);
/* The current split returns to its caller at i, together with those that stand there. */
const struct mx_insn *mx__return_lanes(struct mx_exec *x, const struct mx_insn *i);

/* Splits that stand at one pc of one frame become one. */
void mx__merge_equal(struct mx_exec *x);
/* Picks the split that runs next in the current warp, of those that can the first in the order of order.h, in the
 * deepest frame; all that stand where it does go on with it. NULL: none can, x->event is RESCHED. */
const struct mx_insn *mx__next_split(struct mx_exec *x);
/* Finds x->resched_rank for the current split: up to where it need not be asked who goes first. Whoever lets other
 * splits of the warp go on, and not the machine choose anew, calls this. */
void mx__find_resched_rank(struct mx_exec *x);
bool mx__goes_before(const struct mx_split *s, const struct mx_split *t);
/* Whether lanes are expected where it stands, among them its own, that have not come. */
bool mx__waits_at_join(const struct mx_split *s);
/* The n-th join, from the innermost, at which lanes of the split are expected: its number in frame *f; MX_NO_JOIN:
 * there are fewer. Who is expected there, and who has come. */
uint32_t mx__join_above(const struct mx_split *s, uint32_t n, struct mx_frame **f);
uint64_t mx__expected_at(const struct mx_frame *f, uint32_t join);
uint64_t mx__arrived_at(const struct mx_warp *w, const struct mx_frame *f, uint32_t join);
/* Inserts a split in the current warp, above position `at` (at == nsplits: on top). */
struct mx_split *mx__split_insert(struct mx_exec *x, uint32_t at, const struct mx_split *s);
void mx__split_remove(struct mx_exec *x, uint32_t at);
static inline uint32_t mx__split_index(const struct mx_exec *x) { return (uint32_t)(x->split - x->warp->splits); }

/* Takes `lanes` out of the current split: they become a split of their own, at `pc` in `state`, below it. */
struct mx_split *mx__split_off(struct mx_exec *x, uint64_t lanes, uint32_t pc, enum mx_split_state state);

/* When nobody in the warp can go on: lets the lanes go that wait at the innermost join at which those are expected that
 * spin or wait for lanes (any_wait: also those that wait for barriers). False: there is no such join. */
bool mx__warp_release(struct mx_exec *x, struct mx_warp *w, bool any_wait);

/* sync.c: the lane from which lane l of a shuffle with these operands reads; its own, if that is out of range. */
unsigned mx__shuffle_source(unsigned mod, unsigned l, unsigned lanes, uint32_t b, uint32_t c, bool *in_range);
/* sync.c: lanes have ended; waiting splits whose masks are complete now go on. */
void mx__sync_recheck(struct mx_exec *x, struct mx_warp *w);
/* sync.c: a trap's text: these lanes are missing where all of the warp must execute an instruction together. */
char *mx__missing_lanes_text(uint64_t lanes);
/* barrier.c: the same for barriers of the block. */
void mx__barrier_recheck(struct mx_exec *x, struct mx_block *b);

/* report.c: of a unit, who waits where, for what: a SYNC or DEADLOCK trap. */
void mx__trap_deadlock(struct mx_exec *x, struct mx_block *leader);

#endif

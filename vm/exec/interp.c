/* The loop over instructions, and the bodies of instructions that concern one warp: branches, special registers,
 * constants, spills, addresses, traps. Instructions that involve several splits are in warp.c and sync.c, those that
 * involve several warps in barrier.c. */
#include "interp.h"

#include "core/format.h"
#include "launch.h"
#include "warp.h"

#include <stdlib.h>
#include <string.h>

const struct mx_insn *mx__op_join(struct mx_exec *x, const struct mx_insn *i) {
  x->steps--; /* it is no instruction of the program, and does not advance the clock */
  return i->rank < x->resched_rank ? i + 1 : mx__meet(x, i);
}

/* ---- branches -------------------------------------------------------------------------------------------*/
/* Lanes `t` of the current split go to `target`, an instruction of the same function; the others, if any, to next_pc.
 */
static const struct mx_insn *branch(struct mx_exec *x, const struct mx_insn *i, uint64_t t,
                                    const struct mx_insn *target, uint32_t next_pc, uint32_t reconv) {
  bool back = target->pc <= i->pc;
  if (back) x->slice--;
  if (t == x->mask) return back && x->slice <= 0 ? mx__leave(x, target->pc, MX_EV_SLICE) : target;
  x->split->pc = i->pc;
  const struct mx_insn *next = mx__diverge(x, (struct mx_way[]){{t, target->pc}, {x->mask & ~t, next_pc}}, 2, reconv);
  return next && back && x->slice <= 0 ? mx__leave(x, x->split->pc, MX_EV_SLICE) : next;
}

const struct mx_insn *mx__op_bra(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t t = mx__lanes_of(x, i);
  return t ? branch(x, i, t, &x->fn->insns[i->index], i->pc + 1, i->reconv) : i + 1;
}

const struct mx_insn *mx__op_brx(struct mx_exec *x, const struct mx_insn *i) {
  const uint32_t *index = mx__operand(x, i->o[0]);
  const struct mx_table *table = &x->fn->func->tables[i->o[1]];
  const uint32_t reconv = (uint32_t)i->o[2] | (uint32_t)i->o[3] << 10;
  uint64_t wrong = 0;
  MX_FOR_LANES (l, x->mask) wrong |= (uint64_t)(index[l] >= table->ntargets) << l;
  if (wrong) return mx__trap_at(x, i, MX_TRAP_BAD_BRANCH, wrong, NULL);
  struct mx_way ways[MX_MAX_LANES];
  unsigned n = 0;
  bool back = false;
  for (uint64_t rest = x->mask, same = 0; rest; rest &= ~same, same = 0) {
    const uint32_t target = table->targets[index[__builtin_ctzll(rest)]];
    MX_FOR_LANES (l, rest) same |= (uint64_t)(table->targets[index[l]] == target) << l;
    ways[n++] = (struct mx_way){same, target};
    back |= target <= i->pc;
  }
  if (n == 1) return branch(x, i, x->mask, mx__at(x->fn, ways[0].pc), 0, reconv);
  if (back) x->slice--;
  x->split->pc = i->pc;
  const struct mx_insn *next = mx__diverge(x, ways, n, reconv);
  return next && back && x->slice <= 0 ? mx__leave(x, x->split->pc, MX_EV_SLICE) : next;
}

/* Functions that wait for the whole grid trap where there is no cooperative launch's workspace, for whose address they
 * ask: what is missing then. malloc'ed; NULL: nothing. */
static char *lacks_workspace(const struct mx_exec *x) {
  bool asks = false;
  for (uint32_t k = 0; k < x->fn->ninsns && !x->launch->workspace; k++) {
    const struct mx_insn *i = &x->fn->insns[k];
    asks |= i->kind == MX_INSN_OP && mx__effect(i->op) == MX_DOES_SREG &&
            (i->o[1] == MX_SR_ENVREG1 || i->o[1] == MX_SR_ENVREG2);
  }
  return asks ? mx__format("the launch is not cooperative, and a wait for the whole grid needs one that is: mxrun "
                           "--cooperative or --devices, cudaLaunchCooperativeKernel")
              : NULL;
}
const struct mx_insn *mx__op_trap(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t m = mx__lanes_of(x, i);
  return m ? mx__trap_at(x, i, MX_TRAP_TRAP, m, lacks_workspace(x)) : i + 1;
}
const struct mx_insn *mx__op_nothing(struct mx_exec *x, const struct mx_insn *i) {
  (void)x;
  return i + 1;
}
const struct mx_insn *mx__op_brkpt(struct mx_exec *x, const struct mx_insn *i) {
  (void)x;
  return i + 1;
}
const struct mx_insn *mx__op_pmevent(struct mx_exec *x, const struct mx_insn *i) {
  if (mx__lanes_of(x, i)) x->stats.pmevents[i->o[0] & 15]++;
  return i + 1;
}
const struct mx_insn *mx__op_pmevent_mask(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  if (!m) return i + 1;
  const uint32_t events = ((const uint32_t *)mx__operand(x, i->o[0]))[__builtin_ctzll(m)];
  for (unsigned k = 0; k < 16; k++) x->stats.pmevents[k] += events >> k & 1;
  return i + 1;
}
/* Whether no other split of the block can run now. */
static bool alone(const struct mx_exec *x) {
  const struct mx_block *b = x->block;
  if (b->begun < b->nwarps) return false;
  for (uint32_t w = 0; w < b->nwarps; w++)
    for (uint32_t k = 0; k < b->warps[w].nsplits; k++)
      if (b->warps[w].splits[k].state == MX_RUNNABLE && &b->warps[w].splits[k] != x->split &&
          !mx__waits_at_join(&b->warps[w].splits[k]))
        return false;
  return true;
}
static void pause_for(uint32_t ns) {
  for (uint32_t k = 0; k <= ns / 16; k++)
#if defined __x86_64__
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}
/* Sleeping lets other splits run: the split counts as having used its slice. But if the split can only be waiting for
 * blocks on other workers, a short real sleep is better, since another block's turn takes long. */
const struct mx_insn *mx__op_nanosleep(struct mx_exec *x, const struct mx_insn *i) {
  enum { SHORT = 100 }; /* nanoseconds */
  const uint32_t *t = mx__operand(x, i->o[0]);
  uint32_t most = 0;
  MX_FOR_LANES (l, x->mask) most = t[l] > most ? t[l] : most;
  x->warp->clock += most;
  if (x->launch->workers > 1 && most <= SHORT && x->naps < x->most_naps && x->slice > 1 && alone(x)) {
    x->naps++;
    x->slice--;
    pause_for(most);
    return i + 1;
  }
  x->slice = x->reserve = 0;
  return mx__leave(x, i->pc + 1, MX_EV_SLICE);
}
const struct mx_insn *mx__op_fence(struct mx_exec *x, const struct mx_insn *i) {
  (void)x;
  atomic_thread_fence(memory_order_seq_cst);
  return i + 1;
}

/* ---- values ---------------------------------------------------------------------------------------------*/
/* All lanes, 32 or 64: the loop over half of them has a constant length, which the compiler vectorises. */
static void fill32(const struct mx_exec *x, uint32_t *d, uint32_t v) {
  for (uint32_t half = 0; half < x->lanes; half += 32, d += 32)
    for (unsigned l = 0; l < 32; l++) d[l] = v;
}
static void fill64(const struct mx_exec *x, uint64_t *d, uint64_t v) {
  for (uint32_t half = 0; half < x->lanes; half += 32, d += 32)
    for (unsigned l = 0; l < 32; l++) d[l] = v;
}
/* Writes one value to the active lanes of a slot of the class of operand 0. */
static void broadcast(struct mx_exec *x, const struct mx_insn *i, uint64_t m, uint64_t v) {
  void *d = mx__operand(x, i->o[0]);
  switch (mx__types[mx__ops[i->op].opnd[0].type].slot_class) {
  case MX_PRED: *(uint64_t *)d = v ? *(uint64_t *)d | m : *(uint64_t *)d & ~m; break;
  case MX_R32:
    if (m == x->full) fill32(x, d, (uint32_t)v);
    else
      MX_FOR_LANES (l, m) ((uint32_t *)d)[l] = (uint32_t)v;
    break;
  default:
    if (m == x->full) fill64(x, d, v);
    else
      MX_FOR_LANES (l, m) ((uint64_t *)d)[l] = v;
  }
}

const struct mx_insn *mx__op_movi32(struct mx_exec *x, const struct mx_insn *i) {
  broadcast(x, i, mx__lanes_of(x, i), (uint32_t)i->off);
  return i + 1;
}
const struct mx_insn *mx__op_movi64(struct mx_exec *x, const struct mx_insn *i) {
  broadcast(x, i, mx__lanes_of(x, i), (uint64_t)i->off);
  return i + 1;
}

/* Special registers that depend on the warp. */
static uint64_t warp_register(struct mx_exec *x, unsigned number) {
  switch (number) {
  case MX_SR_CLOCK:
  case MX_SR_GLOBALTIMER_LO: return (uint32_t)x->warp->clock;
  case MX_SR_CLOCK_HI:
  case MX_SR_GLOBALTIMER_HI: return x->warp->clock >> 32;
  case MX_SR_CLOCK64:
  case MX_SR_GLOBALTIMER: return x->warp->clock;
  case MX_SR_LOCAL_BASE: return x->frame->local_base;
  case MX_SR_LOCAL_TOP: return mx__local_top(x->frame);
  default: return x->sreg[number];
  }
}

const struct mx_insn *mx__op_sreg(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t m = mx__lanes_of(x, i);
  if (!m) return i + 1;
  unsigned number = (unsigned)i->o[1];
  const struct mx_sreg_info *r = &mx__sregs[number];
  if (r->varies != MX_PER_LANE) {
    broadcast(x, i, m, r->varies <= MX_PER_WARP ? warp_register(x, number) : x->sreg[number]);
    return i + 1;
  }
  void *d = mx__operand(x, i->o[0]);
  if (mx__types[r->type].slot_class == MX_R32) {
    const uint32_t *v = x->sreg_lanes32[number];
    if (m == x->full) memcpy(d, v, x->lanes * 4);
    else
      MX_FOR_LANES (l, m) ((uint32_t *)d)[l] = v[l];
  } else {
    const uint64_t *v = x->sreg_lanes64[number];
    if (m == x->full) memcpy(d, v, x->lanes * 8);
    else
      MX_FOR_LANES (l, m) ((uint64_t *)d)[l] = v[l];
  }
  return i + 1;
}

/* Spill cells: copied whole, except inactive lanes. */
static void *cell(const struct mx_exec *x, unsigned cls, uint32_t number) {
  const struct mx_pfunc *fn = x->fn;
  if (cls == MX_PRED) return x->base[0] + fn->off_spred + (size_t)number * 8;
  if (cls == MX_R32) return x->base[0] + fn->off_s32 + (size_t)number * x->lanes * 4;
  return x->base[0] + fn->off_s64 + (size_t)number * x->lanes * 8;
}
static void copy_lanes(const struct mx_exec *x, unsigned cls, void *d, const void *v) {
  if (cls == MX_PRED) *(uint64_t *)d = (*(uint64_t *)d & ~x->mask) | (*(const uint64_t *)v & x->mask);
  else if (cls == MX_R32)
    MX_FOR_LANES (l, x->mask) ((uint32_t *)d)[l] = ((const uint32_t *)v)[l];
  else
    MX_FOR_LANES (l, x->mask) ((uint64_t *)d)[l] = ((const uint64_t *)v)[l];
}
const struct mx_insn *mx__op_spill(struct mx_exec *x, const struct mx_insn *i) {
  unsigned cls = mx__types[mx__ops[i->op].opnd[2].type].slot_class;
  copy_lanes(x, cls, cell(x, cls, (uint32_t)i->o[0] | (uint32_t)i->o[1] << 10), mx__operand(x, i->o[2]));
  return i + 1;
}
const struct mx_insn *mx__op_fill(struct mx_exec *x, const struct mx_insn *i) {
  unsigned cls = mx__types[mx__ops[i->op].opnd[0].type].slot_class;
  copy_lanes(x, cls, mx__operand(x, i->o[0]), cell(x, cls, (uint32_t)i->o[1] | (uint32_t)i->o[2] << 10));
  return i + 1;
}

/* ---- a lane's stack --------------------------------------------------------------------------------------
 * Grows for all lanes of a frame together: a lane may own less of it than there is. So it shrinks only when all lanes
 * of the frame say so; what others leave behind ends with the frame. */
/* Operand k, of 32 or 64 bits. */
static uint64_t value_of(const struct mx_exec *x, const struct mx_insn *i, unsigned k, uint64_t lane) {
  const void *p = mx__operand(x, i->o[k]);
  return mx__types[mx__ops[i->op].opnd[k].type].slot_class == MX_R32 ? ((const uint32_t *)p)[lane]
                                                                     : ((const uint64_t *)p)[lane];
}
const struct mx_insn *mx__op_alloca(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t most = 0, limit = x->launch->local_bytes, a = 16;
  MX_FOR_LANES (l, x->mask) {
    const uint64_t size = value_of(x, i, 1, l), align = value_of(x, i, 2, l);
    most = size > most ? size : most;
    if (align > a && align <= 4096 && !(align & (align - 1))) a = align;
  }
  uint64_t at = (mx__local_top(x->frame) + a - 1) & -a;
  if (at > limit || most > limit - at) return mx__trap_at(x, i, MX_TRAP_STACK_OVERFLOW, x->mask, NULL);
  broadcast(x, i, x->mask, at);
  x->frame->local_dyn += ((at + most + 15) & -16ull) - mx__local_top(x->frame);
  return i + 1;
}
const struct mx_insn *mx__op_stacksave(struct mx_exec *x, const struct mx_insn *i) {
  broadcast(x, i, x->mask, mx__local_top(x->frame));
  return i + 1;
}
const struct mx_insn *mx__op_stackrestore(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t most = 0, floor = mx__local_top(x->frame) - x->frame->local_dyn;
  MX_FOR_LANES (l, x->mask) {
    const uint64_t to = value_of(x, i, 0, l);
    most = to > most ? to : most;
  }
  if (x->mask == x->frame->lanes && most >= floor && most <= mx__local_top(x->frame))
    x->frame->local_dyn = most - floor;
  return i + 1;
}

/* ---- a warp's turn: the loop over instructions ---------------------------------------------------------------*/
/* A warp gets its slice whole or, in stress mode, in random pieces: compiled code leaves at the end of each. */
static void slice_begin(struct mx_exec *x) {
  if (!x->reserve) x->reserve = MX_SLICE;
  x->slice = x->stress ? 1 + (int32_t)(mx__random(x) % 7) : x->reserve;
  if (x->slice > x->reserve) x->slice = x->reserve;
  x->reserve -= x->slice;
}

void mx__warp_enter(struct mx_exec *x, struct mx_warp *w) {
  mx__warp_registers(x, w);
  x->reserve = 0;
  slice_begin(x);
}

/* The next split's instruction; NULL: the turn has ended as *turn says. */
static const struct mx_insn *next_of_turn(struct mx_exec *x, struct mx_warp *w, enum mx_turn *turn) {
  for (;;) {
    const struct mx_insn *i = mx__next_split(x);
    if (i) return i;
    if (!w->nsplits) {
      *turn = mx__told_to_stop(x) ? MX_TURN_STOPPED : MX_TURN_DONE;
      return NULL;
    }
    bool spun = false;
    for (uint32_t k = 0; k < w->nsplits; k++) spun |= w->splits[k].spun;
    if ((!spun || ++w->spins >= w->spin_limit) && mx__warp_release(x, w, false)) {
      w->spins = 0;
      if (spun && w->spin_limit > 1) w->spin_limit /= 2;
      continue;
    }
    *turn = mx__told_to_stop(x) ? MX_TURN_STOPPED : spun ? MX_TURN_SPUN : MX_TURN_BLOCKED;
    return NULL;
  }
}

enum mx_turn mx__warp_go_on(struct mx_exec *x, struct mx_warp *w, const struct mx_insn *i) {
  for (;;) {
    uint64_t steps = 0;
    if (x->prep->clocks)
      for (; i; i = __atomic_load_n(&i->fn, __ATOMIC_ACQUIRE)(x, i)) steps++, w->clock += mx__ticks(i);
    else
      for (; i; i = __atomic_load_n(&i->fn, __ATOMIC_ACQUIRE)(x, i)) steps++; /* code may be attached just now */
    x->steps += steps;
    if (x->event == MX_EV_TRAP) return MX_TURN_STOPPED;
    if (x->event == MX_EV_ALL_ARRIVED) return MX_TURN_ALL_ARRIVED;
    if (x->event == MX_EV_SLICE && !x->reserve) {
      x->split->spun = true;
      if (mx__told_to_stop(x)) return MX_TURN_STOPPED;
    }
    /* only a piece of the slice has ended, so the same split goes on */
    const bool piece = x->event == MX_EV_SLICE && x->reserve;
    if (x->slice <= 0) slice_begin(x);
    enum mx_turn turn;
    if (piece) mx__select(x, x->split), i = mx__at(x->fn, x->split->pc);
    else if (!(i = next_of_turn(x, w, &turn))) return turn;
  }
}

enum mx_turn mx__warp_run(struct mx_exec *x, struct mx_warp *w) {
  mx__warp_enter(x, w);
  for (uint32_t k = 0; k < w->nsplits; k++) w->splits[k].spun = false;
  mx__merge_equal(x);
  enum mx_turn turn;
  const struct mx_insn *i = next_of_turn(x, w, &turn);
  return i ? mx__warp_go_on(x, w, i) : turn;
}

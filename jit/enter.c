/* Going over to compiled code and coming back: the one place where a body of the interpreter meets it. */
#include "vm/interp.h"
#include "vm/jitabi.h"
#include "vm/warp.h"

/* Whether the current split is the one that would be picked after a divergence. One above it may have been woken by
 * it (a barrier, a warp operation) and then goes first where lanes part: nothing may be hidden until then. */
static bool is_top(const struct mx_exec *x) {
  const struct mx_warp *w = x->warp;
  for (uint32_t k = (uint32_t)(x->split - w->splits) + 1; k < w->nsplits; k++)
    if (w->splits[k].state == MX_RUNNABLE && !w->splits[k].spun) return false;
  return true;
}

static uint32_t step(struct mx_exec *x, uint32_t pc, uint64_t mask) {
  const struct mx_pfunc *fn = x->fn;
  uint32_t k = fn->index_of_pc[pc];
  if (fn->insns[k].kind == MX_INSN_JOIN) k++;
  const uint64_t all = x->mask;
  x->mask = mask;
  const struct mx_insn *next = fn->body_of[k](x, &fn->insns[k]);
  x->mask = all;
  return next != NULL;
}
static uint32_t sync(struct mx_exec *x, uint32_t pc, struct mx_jit_state *state) {
  const struct mx_pfunc *fn = x->fn;
  const struct mx_frame *frame = x->frame;
  const uint64_t mask = x->mask;
  uint32_t k = fn->index_of_pc[pc];
  if (fn->insns[k].kind == MX_INSN_JOIN) k++;
  x->split->pc = pc;
  if (state->park && mx__ops[fn->insns[k].op].cls == MX_CTRL) { /* a barrier: it must know first who waits in vm/rounds.c */
    state->next = &fn->insns[k];
    x->steps--; /* counted when it is executed */
    return 0;
  }
  state->next = fn->body_of[k](x, &fn->insns[k]);
  return state->next == &fn->insns[k + 1] && x->frame == frame && x->mask == mask && is_top(x);
}
const struct mx_jit_help mx__jit_help = {step, sync, mx__jit_shape};

const struct mx_insn *mx__jit_enter(struct mx_exec *x, const struct mx_jit_code *code, uint32_t entry, const struct mx_insn *i) {
  struct mx_jit_state s;
  if (!is_top(x)) {
    x->steps++;
    return x->fn->body_of[i - x->fn->insns](x, i);
  }
  s.help = &mx__jit_help;
  s.park = 0;
  if (x->warp->resume) s.keep = mx__jit_keep(x->frame), entry = x->warp->resume, x->warp->resume = 0;
  s.steps = 0;
  s.nrec = 0;
  s.pc = i->pc;
  return mx__jit_after(x, code->run(x, entry, &s), &s, i);
}

const struct mx_insn *mx__jit_after(struct mx_exec *x, uint32_t kind, const struct mx_jit_state *s, const struct mx_insn *i) {
  if (kind == MX_JIT_REFUSED || (kind == MX_JIT_GO && s->pc == i->pc && !s->steps)) {
    x->steps++;
    return x->fn->body_of[i - x->fn->insns](x, i);
  }
  x->steps += s->steps;
  if (kind == MX_JIT_NEXT) return s->next;
  if (kind == MX_JIT_DONE) return mx__exit_lanes(x, x->mask);
  const uint32_t event = x->event;
  for (uint32_t k = 0; k < s->nrec; k++)
    if (s->rec[k].taken) mx__diverge(x, s->rec[k].taken, s->rec[k].target, s->rec[k].next, s->rec[k].reconv);
  if (x->mask != s->mask) return mx__trap_at(x, i, MX_TRAP_INTERNAL, s->mask, NULL);
  x->split->pc = s->pc;
  switch (kind) {
    case MX_JIT_GO: return mx__at(x->fn, s->pc);
    case MX_JIT_SLICE: return mx__leave(x, s->pc, MX_EV_SLICE);
    default: x->event = event; return NULL;
  }
}

/* Going over to compiled code and coming back: the one place where a body of the interpreter meets it. */
#include "compiled_block.h"
#include "hooks.h"
#include "interp.h"
#include "jitabi.h"
#include "launch.h"
#include "warp.h"

#include <stdlib.h>

static uint32_t step(struct mx_exec *x, const struct mx_jit_state *s, unsigned char *home, uint32_t number, uint64_t mask) {
  if (x->ahead || (x->ring && x->ring->moved)) mx__rounds_catch_up(x);
  bool done;
  if (mx__jit_inplace(x, s->code, home, number, mask, &done)) return done;
  x->frame_dirty = true;
  const struct mx_pfunc *fn = x->fn;
  const struct mx_jit_step *t = &s->code->steps[number];
  mx__jit_home_to_frame(x, s->code, t->first, t->nin, home);
  uint32_t k = fn->index_of_pc[t->from];
  if (fn->insns[k].kind == MX_INSN_JOIN) k++;
  const uint64_t all = x->mask;
  x->mask = mask;
  for (; fn->insns[k].pc < t->pc; k++) fn->body_of[k](x, &fn->insns[k]);
  const struct mx_insn *next = fn->body_of[k](x, &fn->insns[k]);
  if (next) mx__jit_results_to_home(x, s->code, t->first + t->nin, t->nout, home);
  x->mask = all;
  return next != NULL;
}
const struct mx_jit_help mx__jit_help = {step, mx__jit_shape};

/* This worker's own, for code of any function. */
static unsigned char *home_of(struct mx_exec *x, const struct mx_jit_code *code) {
  if (x->home_bytes < code->home_bytes) {
    free(x->home);
    x->home = aligned_alloc(64, code->home_bytes);
    x->home_bytes = x->home ? code->home_bytes : 0;
  }
  return x->home;
}
static const struct mx_insn *interpret(struct mx_exec *x, const struct mx_insn *i) {
  x->steps++;
  return x->fn->body_of[i - x->fn->insns](x, i);
}

const struct mx_insn *mx__jit_enter(struct mx_exec *x, const struct mx_jit_code *code, uint32_t entry, const struct mx_insn *i) {
  struct mx_jit_state s = {.help = &mx__jit_help, .code = code, .pc = i->pc};
  mx__find_until(x);
  if (x->warp->resume) s.home = mx__jit_keep(x->frame), entry = x->warp->resume, x->warp->resume = 0;
  else if (!(s.home = home_of(x, code)) || !mx__jit_frame_to_home(x, code, code->entries[entry].first, code->entries[entry].n, s.home)) return interpret(x, i);
  return mx__jit_after(x, code, code->run(x, entry, &s), &s, i);
}

/* Makes the splits and joins known that the code had in its masks. */
static void tell(struct mx_exec *x, const struct mx_jit_code *code, const struct mx_jit_site *site, const unsigned char *home) {
  const struct mx_jit_table *t = code->table;
  if (!site->mask) return;
  x->split->mask = mx__jit_mask(x, t, home + site->mask);
  for (uint32_t k = 0; k < site->nhidden; k++) {
    const struct mx_jit_hidden *h = &code->hidden[site->first_hidden + k];
    const uint64_t lanes = mx__jit_mask(x, t, home + h->mask);
    if (!lanes) continue;
    if (h->expected) {
      mx__expect_lanes(x->frame, h->pc, lanes);
      continue;
    }
    const uint32_t at = mx__split_index(x);
    struct mx_split other = *x->split;
    other.mask = lanes, other.pc = h->pc;
    x->split = mx__split_insert(x, at, &other) + 1;
    x->stats.splits++;
  }
  mx__select(x, x->split);
}
const struct mx_insn *mx__jit_after(struct mx_exec *x, const struct mx_jit_code *code, uint32_t kind, const struct mx_jit_state *s, const struct mx_insn *i) {
  if (kind == MX_JIT_REFUSED) return interpret(x, i);
  if (kind == MX_JIT_DONE) {
    x->steps += s->steps;
    return mx__exit_lanes(x, x->mask);
  }
  const struct mx_jit_site *site = &code->sites[kind - MX_JIT_SITE];
  const uint64_t steps = s->steps + site->steps;
  mx__jit_home_to_frame(x, code, site->first, site->n, s->home); /* even if nothing was executed: what comes from behind a barrier is nowhere else */
  if (site->kind == MX_JIT_GO && site->pc == i->pc && !steps) /* a breakpoint, perhaps */
    return x->launch->debug && !x->launch->hooks->unwatched(x->launch->debug, x, i) ? i : interpret(x, i);
  x->steps += steps;
  const uint32_t event = x->event;
  tell(x, code, site, s->home);
  x->split->pc = site->pc;
  switch (site->kind) {
    case MX_JIT_GO: return mx__at(x->fn, site->pc);
    case MX_JIT_SLICE: return mx__leave(x, site->pc, MX_EV_SLICE);
    default: x->event = event; return NULL;
  }
}

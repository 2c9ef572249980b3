/* Entering compiled code and coming back from it, and its fallbacks to bodies of the interpreter. */
#include "async.h"
#include "compiled_block.h"
#include "hooks.h"
#include "interp.h"
#include "jitabi.h"
#include "lane_loops.h"
#include "launch.h"
#include "warp.h"

#include <stdlib.h>

/* ---- frames of calls in line -----------------------------------------------------------------------------------*/
/* x->frame is the one in which code was entered: frames[0]. */
static const struct mx_pfunc *function_of(const struct mx_exec *x, const struct mx_jit_frame *f) {
  return &x->prep->funcs[f->func];
}
static const struct mx_insn *call_of(const struct mx_exec *x, const struct mx_jit_code *code,
                                     const struct mx_jit_frame *f) {
  const struct mx_insn *i = mx__at(function_of(x, &code->frames[f->parent]), f->call);
  return i->kind == MX_INSN_JOIN ? i + 1 : i;
}
/* Makes frame `number` and its callers, lanes[] being in them by level; false: out of memory, and the launch has
 * trapped. */
static bool push_frames(struct mx_exec *x, const struct mx_jit_code *code, uint32_t number, const uint64_t *lanes,
                        struct mx_frame **frames) {
  const struct mx_jit_frame *way[MX_JIT_LEVELS + 1];
  const uint32_t levels = code->frames[number].level;
  for (uint32_t k = number; k; k = code->frames[k].parent) way[code->frames[k].level] = &code->frames[k];
  frames[0] = x->frame;
  mx_trap_kind why;
  for (uint32_t v = 1; v <= levels; v++) {
    frames[v] = mx__frame_push(x, frames[v - 1], call_of(x, code, way[v]), function_of(x, way[v]), lanes[v], &why);
    if (frames[v]) continue;
    while (--v) mx__frame_end(x, frames[v]);
    mx__trap_at(x, call_of(x, code, way[1]), why, x->mask, NULL);
    return false;
  }
  return true;
}
static void set_frame(struct mx_exec *x, struct mx_frame *f) {
  x->frame = x->split->frame = f;
  x->fn = f->fn;
  x->base[0] = f->slots, x->base[1] = f->fn->pool;
}
/* Behind a body that ran in a frame of an inlined call: it may have looked, for that frame, how far code may go. */
static void go_back_to(struct mx_exec *x, struct mx_frame *f) {
  set_frame(x, f);
  mx__find_resched_rank(x);
}
static bool through_frame(struct mx_exec *x, const struct mx_jit_state *s, unsigned char *spill_area, uint32_t number,
                          uint64_t mask, struct mx_frame *const *frames) {
  const struct mx_pfunc *fn = x->fn;
  const struct mx_jit_fallback *t = &s->code->fallbacks[number];
  mx__jit_spill_to_frame(x, s->code, t->first, t->nin, spill_area, frames);
  uint32_t k = fn->index_of_pc[t->from];
  if (fn->insns[k].kind == MX_INSN_JOIN) k++;
  const uint64_t all = x->mask;
  x->mask = mask;
  for (; fn->insns[k].pc < t->pc; k++) fn->body_of[k](x, &fn->insns[k]);
  const struct mx_insn *next = fn->body_of[k](x, &fn->insns[k]);
  if (next) mx__jit_results_to_spill(x, s->code, t->first + t->nin, t->nout, spill_area);
  x->mask = all;
  return next != NULL;
}
/* The same inside an inlined call. Bodies that work on the spill area need no frame, but must know the function. */
static bool interpret_in_inlined_call(struct mx_exec *x, const struct mx_jit_state *s, unsigned char *spill_area,
                                      uint32_t number, uint64_t mask) {
  const struct mx_jit_code *code = s->code;
  const struct mx_jit_fallback *t = &code->fallbacks[number];
  struct mx_frame *const entered = x->frame, *frames[MX_JIT_LEVELS + 1];
  struct mx_frame light[MX_JIT_LEVELS + 1];
  const struct mx_jit_frame *f = &code->frames[t->frame];
  uint64_t lanes[MX_JIT_LEVELS + 1];
  const uint32_t levels = f->level;
  for (uint32_t v = 0; v <= levels; v++) lanes[v] = x->mask;
  for (uint32_t k = t->frame; k; k = code->frames[k].parent)
    light[code->frames[k].level].fn = function_of(x, &code->frames[k]);
  for (uint32_t v = 1; v <= levels; v++) {
    light[v].parent = v > 1 ? &light[v - 1] : entered;
    light[v].depth = light[v].parent->depth + 1, light[v].lanes = x->mask, light[v].open = 0;
    light[v].local_base = mx__local_top(light[v].parent), light[v].local_dyn = 0;
  }
  bool done;
  x->frame = &light[levels], x->fn = light[levels].fn, x->base[1] = x->fn->pool;
  const bool in_place = mx__jit_inplace(x, code, spill_area, number, mask, &done);
  go_back_to(x, entered);
  if (in_place) return done;
  if (!push_frames(x, code, t->frame, lanes, frames)) return false;
  set_frame(x, frames[levels]);
  done = through_frame(x, s, spill_area, number, mask, frames);
  go_back_to(x, entered);
  for (uint32_t v = levels; v; v--) mx__frame_end(x, frames[v]);
  return done;
}
static bool by_body(struct mx_exec *x, const struct mx_jit_state *s, unsigned char *spill_area, uint32_t number,
                    uint64_t mask) {
  bool done;
  const struct mx_jit_access *a = &s->code->accesses[number];
  if (a->at_once && x->prep->level->access(x, a, spill_area, mask)) return true;
  x->stats.bodies++;
  if (mx__chain_is_stale(x)) {
    if (!s->code->fallbacks[number].frame && mx__jit_inplace_alone(s->code, number)) {
      mx__jit_inplace(x, s->code, spill_area, number, mask, &done);
      if (done || x->event != MX_EV_STALE_WARP) return done;
    }
    mx__chain_refresh(x);
  }
  if (s->code->fallbacks[number].frame) return interpret_in_inlined_call(x, s, spill_area, number, mask);
  if (mx__jit_inplace(x, s->code, spill_area, number, mask, &done)) return done;
  x->frame_dirty = true;
  return through_frame(x, s, spill_area, number, mask, NULL);
}
static uint32_t fall_back(struct mx_exec *x, const struct mx_jit_state *s, unsigned char *spill_area, uint32_t number,
                          uint64_t mask) {
  const struct mx_jit_fallback *t = &s->code->fallbacks[number];
  if (t->nspread) mx__jit_spread(s->code, t->first, t->nspread, spill_area);
  x->in_compiled = true;
  const bool done = by_body(x, s, spill_area, number, mask);
  x->in_compiled = false;
  return done ? 0 : t->left;
}
static uint32_t shape(struct mx_exec *x, uint32_t form, uint64_t mask) { return x->prep->level->shape(x, form, mask); }
static void tell_diverged(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps,
                          uint32_t block) {
  x->launch->probe->diverged(x, s, mask, steps, block);
}
static uint32_t tell_accessed(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask,
                              uint64_t number, uint32_t one) {
  return x->launch->probe->accessed(x, s, ins, mask, number, one);
}
const struct mx_jit_help mx__jit_help = {fall_back,
                                         shape,
                                         tell_diverged,
                                         tell_accessed,
                                         mx__async_wait_of_all,
                                         mx__kept_stores,
                                         mx__kept_stores_make,
                                         mx__loop_took,
                                         mx__local_keep,
                                         mx__local_restore};

/* The worker's spill area, for code of any function. */
static unsigned char *spill_area_of(struct mx_exec *x, const struct mx_jit_code *code) {
  if (x->spill_bytes < code->spill_bytes) {
    free(x->spill_area);
    x->spill_area = aligned_alloc(64, code->spill_bytes);
    x->spill_bytes = x->spill_area ? code->spill_bytes : 0;
  }
  return x->spill_area;
}
/* Whether compiled code may wait at mbarriers by itself: the whole warp runs in it, and nobody looks at its frame or
 * chooses the interpreter while it waits. */
static bool may_park(const struct mx_exec *x) {
  const struct mx_warp *w = x->warp;
  return w->nsplits == 1 && x->mask == w->live && !x->frame->depth && !x->frame->open && !x->stress &&
         !x->launch->debug && !x->launch->probe;
}
static const struct mx_insn *park(struct mx_exec *x, const struct mx_jit_state *s) {
  struct mx_split *split = x->split;
  x->warp->resume = s->resume;
  split->state = MX_WAIT_MBARRIER;
  split->sync_mask = (uint64_t)(uintptr_t)s->at;
  return mx__leave(x, s->pc, MX_EV_RESCHED);
}
static const struct mx_insn *interpret(struct mx_exec *x, const struct mx_insn *i) {
  mx__count(x, i);
  return mx__body_without_code(x, i)(x, i);
}

const struct mx_insn *mx__jit_enter(struct mx_exec *x, const struct mx_jit_code *code, uint32_t entry,
                                    const struct mx_insn *i) {
  struct mx_jit_state s = {.help = &mx__jit_help, .exec = x, .code = code, .pc = i->pc};
  mx__find_resched_rank(x);
  const bool in_frame = x->warp->resume || (may_park(x) && mx__jit_has_room(x->frame, code));
  s.park = in_frame && may_park(x) ? MX_JIT_PARK_MBARRIER : 0;
  if (x->warp->resume) s.spill_area = mx__jit_spill_in_frame(x->frame), entry = x->warp->resume, x->warp->resume = 0;
  else if (!(s.spill_area = in_frame ? mx__jit_spill_in_frame(x->frame) : spill_area_of(x, code)) ||
           !mx__jit_frame_to_spill(x, code, code->entries[entry].first, code->entries[entry].n, s.spill_area))
    return interpret(x, i);
  if (!x->probed) return mx__jit_after(x, code, code->run(x, entry, &s), &s, i);
  if (!x->launch->probe->enters(x, &s, i)) {
    mx__launch_stop(x->launch, MX_STOP_HOST_MEMORY);
    x->slice = x->reserve = 0;
    return mx__leave(x, i->pc, MX_EV_SLICE);
  }
  const uint32_t kind = code->run(x, entry, &s);
  x->launch->probe->ran(x, kind, &s);
  return mx__jit_after(x, code, kind, &s, i);
}

/* By level: the lanes in the site's frame of that level or in frames called from there. */
static void lanes_of(const struct mx_exec *x, const struct mx_jit_code *code, const struct mx_jit_site *site,
                     const unsigned char *spill_area, uint64_t *lanes) {
  const uint32_t levels = code->frames[site->frame].level;
  for (uint32_t v = 0; v <= levels; v++)
    lanes[v] = site->mask ? mx__jit_mask(code->table, spill_area + site->mask) : x->mask;
  for (uint32_t k = 0; k < site->nhidden; k++) {
    const struct mx_jit_hidden *h = &code->hidden[site->first_hidden + k];
    for (uint32_t v = 0; h->what != MX_JIT_EXPECTED && v <= h->level; v++)
      lanes[v] |= mx__jit_mask(code->table, spill_area + h->mask);
  }
}
/* Makes the splits and joins that the code had as masks. */
static void restore_splits(struct mx_exec *x, const struct mx_jit_code *code, const struct mx_jit_site *site,
                           const unsigned char *spill_area, struct mx_frame *const *frames) {
  const struct mx_jit_table *t = code->table;
  x->split->frame = frames[code->frames[site->frame].level];
  if (site->mask) x->split->mask = mx__jit_mask(t, spill_area + site->mask);
  for (uint32_t k = 0; k < site->nhidden; k++) {
    const struct mx_jit_hidden *h = &code->hidden[site->first_hidden + k];
    const uint64_t lanes = mx__jit_mask(t, spill_area + h->mask);
    if (!lanes) continue;
    if (h->what == MX_JIT_EXPECTED) {
      mx__expect_lanes(frames[h->level], h->pc, lanes);
      continue;
    }
    const uint32_t at = mx__split_index(x);
    struct mx_split other = *x->split;
    other.mask = lanes, other.pc = h->pc, other.frame = frames[h->level], other.returns = h->what == MX_JIT_RETURNED;
    x->split = mx__split_insert(x, at, &other) + 1;
    x->stats.splits++;
  }
  if (site->mask || site->frame) mx__select(x, x->split);
}
const struct mx_insn *mx__jit_after(struct mx_exec *x, const struct mx_jit_code *code, uint32_t kind,
                                    const struct mx_jit_state *s, const struct mx_insn *i) {
  if (kind == MX_JIT_REFUSED) return interpret(x, i);
  if (kind == MX_JIT_DONE) {
    x->steps += s->steps;
    x->warp->clock += s->ticks;
    return mx__exit_lanes(x, x->mask);
  }
  if (kind == MX_JIT_MBARRIER) {
    x->steps += s->steps;
    x->warp->clock += s->ticks;
    return park(x, s);
  }
  const struct mx_jit_site *site = &code->sites[kind - MX_JIT_SITE];
  const uint64_t steps = s->steps + site->steps;
  uint64_t lanes[MX_JIT_LEVELS + 1];
  struct mx_frame *frames[MX_JIT_LEVELS + 1];
  if (site->frame) lanes_of(x, code, site, s->spill_area, lanes);
  if (!push_frames(x, code, site->frame, lanes, frames)) return NULL;
  /* even if nothing was executed: values that were live at a barrier are only in the spill area */
  mx__jit_spill_to_frame(x, code, site->first, site->n, s->spill_area, frames);
  if (site->kind == MX_JIT_GO && site->pc == i->pc && !steps) /* code may have been left for a breakpoint */
    return x->launch->debug && !x->launch->hooks->unwatched(x->launch->debug, x, i) ? i : interpret(x, i);
  x->steps += steps;
  x->warp->clock += s->ticks + site->ticks;
  const uint32_t event = x->event;
  restore_splits(x, code, site, s->spill_area, frames);
  x->split->pc = site->pc;
  switch (site->kind) {
  case MX_JIT_RETURN: x->split->returns = true; return mx__next_split(x);
  case MX_JIT_GO: return mx__at(x->fn, site->pc);
  case MX_JIT_SLICE: return mx__leave(x, site->pc, MX_EV_SLICE);
  default: x->event = event; return NULL;
  }
}

/* Splits, joins, frames and traps: changes of a warp's state; nothing here computes values. */
#include "warp.h"

#include "hooks.h"

#include <stdlib.h>
#include <string.h>

/* ---- frames ---------------------------------------------------------------------------------------------*/
#define FRAME_BYTES_LIMIT (2ull << 30) /* of all warps of a launch */

/* `room`: bytes behind the slots. NULL: *why. */
static struct mx_frame *frame_new(struct mx_exec *x, const struct mx_pfunc *fn, size_t room, bool clean,
                                  mx_trap_kind *why) {
  size_t need = sizeof(struct mx_frame) + fn->frame_bytes + room;
  struct mx_frame **at = &x->free_frames;
  for (int tries = 0; *at && tries < 16; tries++, at = &(*at)->parent)
    if ((*at)->size >= need && (*at)->size <= 4 * need) {
      struct mx_frame *f = *at;
      *at = f->parent;
      f->compiled = f->open = 0;
      if (clean) memset(f->slots, 0, fn->frame_bytes);
      else memset(f->slots + fn->off_joins, 0, 8 * fn->njoins);
      return f;
    }
  size_t size = (need + 63) / 64 * 64;
  if (atomic_fetch_add(&x->launch->frame_bytes, size) + size > FRAME_BYTES_LIMIT) {
    atomic_fetch_sub(&x->launch->frame_bytes, size);
    return *why = MX_TRAP_STACK_OVERFLOW, NULL;
  }
  struct mx_frame *f = aligned_alloc(64, size);
  if (!f) {
    atomic_fetch_sub(&x->launch->frame_bytes, size);
    return *why = MX_TRAP_HOST_MEMORY, NULL;
  }
  f->size = size;
  f->compiled = f->open = 0;
  memset(f->slots, 0, fn->frame_bytes);
  return f;
}

static void frame_free(struct mx_frame **list, struct mx_frame *f) {
  f->parent = *list;
  *list = f;
}

void mx__frame_end(struct mx_exec *x, struct mx_frame *f) { frame_free(&x->free_frames, f); }

/* Removes lanes from a frame and its callers up to, but not including, `until`; empty frames go to the list of free
 * ones. */
static void frames_drop(struct mx_frame **list, struct mx_frame *f, const struct mx_frame *until, uint64_t lanes) {
  while (f != until) {
    struct mx_frame *parent = f->parent;
    f->lanes &= ~lanes;
    if (!f->lanes) frame_free(list, f);
    f = parent;
  }
}

/* ---- joins ----------------------------------------------------------------------------------------------*/
uint32_t mx__join_at(const struct mx_pfunc *fn, uint32_t pc) {
  uint32_t from = 0, n = fn->njoins;
  while (n) {
    const uint32_t half = n / 2;
    if (fn->join_pc[from + half] == pc) return from + half;
    if (fn->join_pc[from + half] < pc) from += half + 1, n -= half + 1;
    else n = half;
  }
  return MX_NO_JOIN;
}

static uint64_t *expected(const struct mx_frame *f) {
  return (uint64_t *)(void *)((unsigned char *)f->slots + f->fn->off_joins);
}
static void expect(struct mx_frame *f, uint32_t join, uint64_t m) {
  uint64_t *e = &expected(f)[join];
  f->open += !*e && m;
  *e |= m;
}
static void expect_none(struct mx_frame *f, uint32_t join, uint64_t m) {
  uint64_t *e = &expected(f)[join];
  f->open -= *e && !(*e & ~m);
  *e &= ~m;
}
void mx__expect_lanes(struct mx_frame *f, uint32_t pc, uint64_t m) {
  const uint32_t join = mx__join_at(f->fn, pc);
  if (join != MX_NO_JOIN) expect(f, join, m);
}
/* Removes lanes from joins where they will not come, because they have ended, or returned past them (only hand-written
 * modules do that). */
static void expect_nowhere(struct mx_frame *f, uint64_t m) {
  for (uint32_t k = 0; f->open && k < f->fn->njoins; k++) expect_none(f, k, m);
}
/* The join that the split stands at, if it is expected there. */
static uint32_t join_of(const struct mx_split *s) {
  if (!s->frame->open) return MX_NO_JOIN;
  uint32_t join;
  if (s->returns) join = mx__join_at(s->frame->fn, MX_PC_RET);
  else {
    const struct mx_insn *i = mx__at(s->frame->fn, s->pc);
    join = i->kind == MX_INSN_JOIN ? i->index : MX_NO_JOIN;
  }
  return join != MX_NO_JOIN && expected(s->frame)[join] & s->mask ? join : MX_NO_JOIN;
}
bool mx__waits_at_join(const struct mx_split *s) {
  const uint32_t join = s->state == MX_RUNNABLE ? join_of(s) : MX_NO_JOIN;
  return join != MX_NO_JOIN && expected(s->frame)[join] & ~s->mask;
}
uint32_t mx__join_above(const struct mx_split *s, uint32_t n, struct mx_frame **f) {
  for (*f = s->frame; *f; *f = (*f)->parent) {
    const struct mx_pfunc *fn = (*f)->fn;
    uint32_t last = 0, left = n;
    for (bool any = true; any && (*f)->open;) { /* by rank: joins may lie in any order in the text */
      uint32_t best = MX_NO_JOIN, rank = 0;
      for (uint32_t k = 0; k < fn->njoins; k++) {
        const uint32_t r = fn->join_pc[k] == MX_PC_RET ? UINT32_MAX : fn->rank[fn->join_pc[k]] + 1;
        if (expected(*f)[k] & s->mask && r > last && (best == MX_NO_JOIN || r < rank)) best = k, rank = r;
      }
      any = best != MX_NO_JOIN;
      if (any && !left--) return best;
      last = rank;
    }
    n = left;
  }
  return MX_NO_JOIN;
}
uint64_t mx__expected_at(const struct mx_frame *f, uint32_t join) { return expected(f)[join]; }
uint64_t mx__arrived_at(const struct mx_warp *w, const struct mx_frame *f, uint32_t join) {
  uint64_t m = 0;
  for (uint32_t k = 0; k < w->nsplits; k++)
    if (w->splits[k].frame == f && w->splits[k].state == MX_RUNNABLE && join_of(&w->splits[k]) == join)
      m |= w->splits[k].mask;
  return m;
}

/* ---- splits ---------------------------------------------------------------------------------------------*/
struct mx_split *mx__split_insert(struct mx_exec *x, uint32_t at, const struct mx_split *s) {
  struct mx_warp *w = x->warp;
  const struct mx_split new = *s; /* s may lie in the array that moves */
  memmove(&w->splits[at + 1], &w->splits[at], (w->nsplits - at) * sizeof new);
  w->splits[at] = new;
  w->nsplits++;
  return &w->splits[at];
}

void mx__split_remove(struct mx_exec *x, uint32_t at) {
  struct mx_warp *w = x->warp;
  w->nsplits--;
  memmove(&w->splits[at], &w->splits[at + 1], (w->nsplits - at) * sizeof w->splits[0]);
}

struct mx_split *mx__split_off(struct mx_exec *x, uint64_t lanes, uint32_t pc, enum mx_split_state state) {
  uint32_t at = mx__split_index(x);
  struct mx_split s = *x->split;
  s.mask = lanes;
  s.pc = pc;
  s.state = (uint8_t)state;
  s.spun = false;
  x->split->mask &= ~lanes;
  x->mask = x->split->mask;
  struct mx_split *made = mx__split_insert(x, at, &s);
  x->split = made + 1;
  mx__find_resched_rank(x);
  return made;
}

static uint32_t least_rank(const struct mx_exec *x) {
  const struct mx_warp *w = x->warp;
  const struct mx_frame *f = x->frame;
  const struct mx_pfunc *fn = f->fn;
  uint32_t least = UINT32_MAX;
  for (uint32_t k = 0; k < w->nsplits; k++) {
    const struct mx_split *s = &w->splits[k];
    if (s == x->split || s->state != MX_RUNNABLE || s->spun) continue;
    if (s->frame == f ? !s->returns && fn->rank[s->pc] < least : mx__goes_before(s, x->split))
      least = s->frame == f ? fn->rank[s->pc] : 0;
  }
  for (uint32_t k = 0; f->open && k < fn->njoins; k++)
    if (fn->join_pc[k] != MX_PC_RET && expected(f)[k] & x->mask && fn->rank[fn->join_pc[k]] < least)
      least = fn->rank[fn->join_pc[k]];
  return least;
}
void mx__find_resched_rank(struct mx_exec *x) {
  x->resched_rank = x->warp->nsplits > 1 || x->frame->open ? least_rank(x) : UINT32_MAX;
}

void mx__select(struct mx_exec *x, struct mx_split *s) {
  x->split = s;
  x->mask = s->mask;
  x->frame = s->frame;
  x->fn = s->frame->fn;
  x->base[0] = s->frame->slots;
  x->base[1] = x->fn->pool;
  mx__find_resched_rank(x);
}

/* ---- who goes first ---------------------------------------------------------------------------------------*/
static bool equal(const struct mx_split *s, const struct mx_split *t) {
  return s->frame == t->frame && (s->returns ? t->returns : s->pc == t->pc && !t->returns);
}
bool mx__goes_before(const struct mx_split *s, const struct mx_split *t) {
  if (s->frame->depth != t->frame->depth) return s->frame->depth > t->frame->depth;
  /* the two frames have no lane in common */
  if (s->frame != t->frame) return __builtin_ctzll(s->frame->lanes) < __builtin_ctzll(t->frame->lanes);
  if (s->returns || t->returns) return !s->returns;
  const uint32_t *rank = s->frame->fn->rank;
  return rank[s->pc] != rank[t->pc] ? rank[s->pc] < rank[t->pc] : s->pc < t->pc;
}
/* Merges the splits at the same place into split number k; returns its new number. */
static uint32_t merge(struct mx_exec *x, uint32_t k) {
  struct mx_warp *w = x->warp;
  for (uint32_t n = w->nsplits; n--;) {
    struct mx_split *s = &w->splits[k], *t = &w->splits[n];
    if (n == k || t->state != MX_RUNNABLE || s->spun != t->spun || !equal(s, t)) continue;
    s->mask |= t->mask;
    x->stats.rejoins++;
    mx__split_remove(x, n);
    if (n < k) k--;
  }
  return k;
}
/* The same for the split that has lanes m. */
static void merge_where(struct mx_exec *x, uint64_t m) {
  uint32_t k = 0;
  while (!(x->warp->splits[k].mask & m)) k++;
  merge(x, k);
}
static void return_to_caller(struct mx_exec *x, uint32_t at);

const struct mx_insn *mx__next_split(struct mx_exec *x) {
  struct mx_warp *w = x->warp;
  for (;;) {
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < w->nsplits; k++) {
      const struct mx_split *s = &w->splits[k];
      if (s->state != MX_RUNNABLE || s->spun || (best != UINT32_MAX && !mx__goes_before(s, &w->splits[best])) ||
          mx__waits_at_join(s))
        continue;
      best = k;
    }
    if (best == UINT32_MAX) break;
    if (w->nsplits > 1) best = merge(x, best);
    if (w->splits[best].returns) {
      return_to_caller(x, best);
      merge(x, best); /* lanes may wait at a join right behind the call, each split for the other one */
      continue;
    }
    mx__select(x, &w->splits[best]);
    return mx__at(x->fn, x->split->pc);
  }
  x->event = MX_EV_RESCHED;
  return NULL;
}

const struct mx_insn *mx__meet(struct mx_exec *x, const struct mx_insn *i) {
  x->split->pc = i->pc;
  x->split = &x->warp->splits[merge(x, mx__split_index(x))];
  const struct mx_insn *next = mx__next_split(x);
  if (next != i) return next;
  if (i->index != MX_NO_JOIN && expected(x->frame)[i->index] & x->mask) {
    expect_none(x->frame, i->index, x->mask); /* all expected lanes have come */
    mx__find_resched_rank(x);
  }
  return i + 1;
}

const struct mx_insn *mx__leave(struct mx_exec *x, uint32_t pc, enum mx_exit_event event) {
  x->split->pc = pc;
  x->event = event;
  return NULL;
}

const struct mx_insn *mx__trap_at(struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, uint64_t lanes,
                                  char *detail) {
  struct mx_trap t = {
      .kind = kind, .func = x->fn->number, .pc = i->pc, .warp = x->warp->number, .lanes = lanes, .detail = detail};
  memcpy(t.block, x->block->ctaid, sizeof t.block);
  mx__trap_raise(x->launch, &t);
  return mx__leave(x, i->pc, MX_EV_TRAP);
}

/* ---- diverging and meeting ------------------------------------------------------------------------------*/
/* The split at position `at` returns to its caller: results are copied, and it goes to behind the call. */
static void return_to_caller(struct mx_exec *x, uint32_t at) {
  struct mx_split *s = &x->warp->splits[at];
  struct mx_frame *callee = s->frame, *caller = callee->parent;
  const struct mx_func *f = callee->fn->func;
  const struct mx_insn *call = &caller->fn->insns[callee->call];
  uint32_t lanes = x->lanes;
  for (uint32_t k = 0; k < f->nresults; k++) {
    unsigned slot = f->results[k].slot;
    unsigned char *to = caller->slots + call->more[k];
    switch (f->results[k].cls) {
    case MX_PRED: {
      uint64_t *d = (uint64_t *)to, v = ((const uint64_t *)callee->slots)[slot];
      *d = (*d & ~s->mask) | (v & s->mask);
      break;
    }
    case MX_R32: {
      const uint32_t *v = (const uint32_t *)(callee->slots + callee->fn->off_r32) + (size_t)slot * lanes;
      MX_FOR_LANES (l, s->mask) ((uint32_t *)to)[l] = v[l];
      break;
    }
    default: { /* 64 bits, or a pair of them */
      const uint64_t *v = (const uint64_t *)(callee->slots + callee->fn->off_r64) + (size_t)slot * lanes;
      MX_FOR_LANES (l, s->mask) {
        ((uint64_t *)to)[l] = v[l];
        if (f->results[k].cls == MX_R128) ((uint64_t *)to)[lanes + l] = v[lanes + l];
      }
    }
    }
  }
  expect_nowhere(callee, s->mask);
  s->pc = call->pc + mx_w_length(caller->fn->func->code[call->pc]);
  s->frame = caller;
  s->returns = false;
  frames_drop(&x->free_frames, callee, caller, s->mask);
}

const struct mx_insn *mx__diverge(struct mx_exec *x, const struct mx_way *ways, unsigned n, uint32_t reconv) {
  x->stats.splits += n - 1;
  mx__expect_lanes(x->frame, reconv, x->mask);
  for (unsigned k = 1; k < n; k++) {
    struct mx_split other = *x->split;
    other.mask = ways[k].lanes, other.pc = ways[k].pc;
    mx__split_insert(x, mx__split_index(x) + 1, &other);
  }
  x->split->mask = ways[0].lanes, x->split->pc = ways[0].pc;
  for (unsigned k = 0; k < n; k++) merge_where(x, ways[k].lanes);
  return mx__next_split(x);
}

bool mx__warp_release(struct mx_exec *x, struct mx_warp *w, bool any_wait) {
  (void)x;
  uint64_t stuck = 0;
  bool others = false; /* other splits that can go on in their turn */
  for (uint32_t k = 0; k < w->nsplits; k++) {
    const struct mx_split *s = &w->splits[k];
    if (s->state == MX_RUNNABLE ? s->spun : (s->state != MX_WAIT_BAR && s->state != MX_WAIT_MBARRIER) || any_wait)
      stuck |= s->mask;
    else others |= s->state != MX_RUNNABLE;
  }
  const struct mx_split *best = NULL;
  for (int any = 0; any < 2 && !best && (!any || (!stuck && !others));
       any++) /* any: lanes that wait for each other, which only hand-written modules can cause */
    for (uint32_t k = 0; k < w->nsplits; k++) {
      const struct mx_split *s = &w->splits[k];
      if (s->spun || !mx__waits_at_join(s) || !(any || expected(s->frame)[join_of(s)] & stuck)) continue;
      if (!best || mx__goes_before(s, best)) best = s;
    }
  if (best) expect_none(best->frame, join_of(best), UINT64_MAX);
  return best != NULL;
}

void mx__merge_equal(struct mx_exec *x) {
  for (uint32_t k = x->warp->nsplits; k-- > 1;)
    if (k < x->warp->nsplits && x->warp->splits[k].state == MX_RUNNABLE) k = merge(x, k);
}

/* ---- ending ---------------------------------------------------------------------------------------------*/
bool mx__take_lanes_out(struct mx_exec *x, uint64_t m) {
  struct mx_split *s = x->split;
  x->warp->live &= ~m;
  s->mask &= ~m;
  x->mask = s->mask;
  for (struct mx_frame *f = s->frame; f; f = f->parent) expect_nowhere(f, m);
  frames_drop(&x->free_frames, s->frame, NULL, m);
  if (s->mask) return false;
  mx__split_remove(x, mx__split_index(x));
  return true;
}

/* ---- calls ----------------------------------------------------------------------------------------------*/
struct mx_frame *mx__frame_push(struct mx_exec *x, struct mx_frame *parent, const struct mx_insn *i,
                                const struct mx_pfunc *fn, uint64_t lanes, mx_trap_kind *why) {
  const uint64_t local_base = mx__local_top(parent);
  if (parent->depth + 1 >= x->launch->call_depth || local_base + fn->func->local_bytes > x->launch->local_bytes)
    return *why = MX_TRAP_STACK_OVERFLOW, NULL;
  struct mx_frame *f = frame_new(x, fn, 0, true, why);
  if (!f) return NULL;
  f->parent = parent;
  f->fn = fn;
  f->call = (uint32_t)(i - parent->fn->insns);
  f->depth = parent->depth + 1;
  f->lanes = lanes;
  f->local_base = local_base;
  f->local_dyn = 0;
  return f;
}
/* The current split calls function number `callee` with the operands behind the results. */
static const struct mx_insn *call(struct mx_exec *x, const struct mx_insn *i, uint32_t callee, const mx_ref *args) {
  const struct mx_pfunc *fn = &x->prep->funcs[callee];
  mx_trap_kind why;
  struct mx_frame *f = mx__frame_push(x, x->frame, i, fn, x->mask, &why);
  if (!f) return mx__trap_at(x, i, why, x->mask, NULL);
  uint32_t lanes = x->lanes;
  for (uint32_t k = 0; k < fn->func->nargs; k++) {
    const void *from = mx__operand(x, args[k]);
    size_t slot = fn->func->args[k].slot;
    switch (fn->func->args[k].cls) {
    case MX_PRED: ((uint64_t *)f->slots)[slot] = *(const uint64_t *)from; break;
    case MX_R32: memcpy(f->slots + fn->off_r32 + slot * lanes * 4, from, lanes * 4); break;
    case MX_R64: memcpy(f->slots + fn->off_r64 + slot * lanes * 8, from, lanes * 8); break;
    default: memcpy(f->slots + fn->off_r64 + slot * lanes * 8, from, lanes * 16);
    }
  }
  x->split->frame = f;
  x->split->pc = 0;
  if (--x->slice <= 0) return mx__leave(x, 0, MX_EV_SLICE);
  mx__select(x, x->split);
  return mx__at(fn, 0);
}

const struct mx_insn *mx__op_call(struct mx_exec *x, const struct mx_insn *i) {
  return call(x, i, i->index, i->more + x->prep->funcs[i->index].func->nresults);
}

/* Makes one split for each distinct target: the current one calls the first lane's, the others execute the instruction
 * again. */
const struct mx_insn *mx__op_calli(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_proto *proto = &x->fn->func->protos[i->index];
  const mx_ref *args = i->more + proto->nres;
  const uint64_t *target = mx__operand(x, args[0]);
  uint64_t first = target[__builtin_ctzll(x->mask)], same = 0;
  MX_FOR_LANES (l, x->mask) same |= (uint64_t)(target[l] == first) << l;
  uint64_t number = first - MX_WINDOW(MX_WINDOW_FUNC);
  bool good = number % 16 == 0 && number && number / 16 <= x->prep->nfuncs && x->prep->funcs[number / 16 - 1].insns;
  const struct mx_func *f = good ? x->prep->funcs[number / 16 - 1].func : NULL;
  good = good && !(f->flags & MX_FUNC_KERNEL) && f->nresults == proto->nres && f->nargs + 1u == proto->narg;
  for (uint32_t k = 0; good && k < f->nresults; k++) good = f->results[k].cls == proto->res[k];
  for (uint32_t k = 0; good && k < f->nargs; k++) good = f->args[k].cls == proto->arg[k + 1];
  if (!good) return mx__trap_at(x, i, MX_TRAP_BAD_CALL, same, NULL);
  if (same != x->mask) { /* the others will execute the instruction again: until then they are a split of their own */
    x->stats.splits++;
    mx__expect_lanes(x->frame, mx__next_pc(x, i), x->mask);
    x->split->pc = i->pc;
    mx__split_off(x, x->mask & ~same, i->pc, MX_RUNNABLE);
  }
  return call(x, i, (uint32_t)(number / 16 - 1), args + 1);
}

const struct mx_insn *mx__return_lanes(struct mx_exec *x, const struct mx_insn *i) {
  x->split->pc = i->pc;
  x->split->returns = true;
  merge(x, mx__split_index(x));
  return mx__next_split(x);
}

/* ---- a warp's life ----------------------------------------------------------------------------------------*/
struct mx_frame *mx__frame_first(struct mx_exec *x, uint32_t room, bool clean) {
  const struct mx_pfunc *fn = &x->prep->funcs[x->prep->kernel];
  mx_trap_kind why; /* the same to all who ask */
  struct mx_frame *f = frame_new(x, fn, room, clean, &why);
  if (!f) return NULL;
  f->parent = NULL;
  f->fn = fn;
  f->call = f->depth = 0;
  f->local_base = 0;
  return f;
}

void mx__warp_end(struct mx_warp *w) {
  struct mx_frame *list = NULL;
  for (uint32_t k = 0; k < w->nsplits; k++) frames_drop(&list, w->splits[k].frame, NULL, w->splits[k].mask);
  for (struct mx_frame *next; list; list = next) {
    next = list->parent;
    free(list);
  }
  w->nsplits = 0;
  w->live = 0;
}

/* Splits, joins, frames. Everything here changes a warp's state; nothing here computes values. */
#include "warp.h"

#include "hooks.h"

#include <stdlib.h>
#include <string.h>

/* ---- frames ---------------------------------------------------------------------------------------------*/
#define FRAME_BYTES_LIMIT (2ull << 30) /* of all warps of a launch */

/* `room`: bytes behind the slots. */
static struct mx_frame *frame_new(struct mx_exec *x, const struct mx_pfunc *fn, size_t room, bool clean) {
  size_t need = sizeof(struct mx_frame) + fn->frame_bytes + room;
  struct mx_frame **at = &x->free_frames;
  for (int tries = 0; *at && tries < 16; tries++, at = &(*at)->parent)
    if ((*at)->size >= need && (*at)->size <= 4 * need) {
      struct mx_frame *f = *at;
      *at = f->parent;
      f->compiled = 0;
      if (clean) memset(f->slots, 0, fn->frame_bytes);
      return f;
    }
  size_t size = (need + 63) / 64 * 64;
  if (atomic_fetch_add(&x->launch->frame_bytes, size) + size > FRAME_BYTES_LIMIT) {
    atomic_fetch_sub(&x->launch->frame_bytes, size);
    return NULL;
  }
  struct mx_frame *f = aligned_alloc(64, size);
  if (!f) {
    atomic_fetch_sub(&x->launch->frame_bytes, size);
    return NULL;
  }
  f->size = size;
  f->compiled = 0;
  memset(f->slots, 0, fn->frame_bytes);
  return f;
}

static void frame_free(struct mx_frame **list, struct mx_frame *f) {
  f->parent = *list;
  *list = f;
}

void mx__frame_end(struct mx_exec *x, struct mx_frame *f) { frame_free(&x->free_frames, f); }

/* Takes lanes out of a frame and its callers up to, not including, `until`; frames left empty are given back. */
static void frames_drop(struct mx_frame **list, struct mx_frame *f, const struct mx_frame *until, uint64_t lanes) {
  while (f != until) {
    struct mx_frame *parent = f->parent;
    f->lanes &= ~lanes;
    if (!f->lanes) frame_free(list, f);
    f = parent;
  }
}

/* ---- joins ----------------------------------------------------------------------------------------------*/
static struct mx_join *join_new(struct mx_warp *w) {
  struct mx_join *j = w->free_joins;
  if (j) w->free_joins = j->parent;
  else if (w->fresh_joins < MX_MAX_JOINS) j = &w->joins[w->fresh_joins++];
  return j;
}
static void join_free(struct mx_warp *w, struct mx_join *j) {
  j->frame = NULL;
  j->parent = w->free_joins;
  w->free_joins = j;
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
  return made;
}

void mx__select(struct mx_exec *x, struct mx_split *s) {
  x->split = s;
  x->mask = s->mask;
  x->frame = s->frame;
  x->fn = s->frame->fn;
  x->base[0] = s->frame->slots;
  x->base[1] = x->fn->pool;
  x->join_pc = s->join && s->join->frame == s->frame ? s->join->pc : UINT32_MAX;
}

const struct mx_insn *mx__next_split(struct mx_exec *x) {
  struct mx_warp *w = x->warp;
  for (uint32_t k = w->nsplits; k--;)
    if (w->splits[k].state == MX_RUNNABLE && !w->splits[k].spun) {
      mx__select(x, &w->splits[k]);
      return mx__at(x->fn, x->split->pc);
    }
  x->event = MX_EV_RESCHED;
  return NULL;
}

const struct mx_insn *mx__leave(struct mx_exec *x, uint32_t pc, enum mx_event event) {
  x->split->pc = pc;
  x->event = event;
  return NULL;
}

/* ---- diverging and meeting ------------------------------------------------------------------------------*/
/* A split in `frame` at position `at` returns to its caller: results are copied, and it stands behind the call. */
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
        MX_FOR_LANES(l, s->mask) ((uint32_t *)to)[l] = v[l];
        break;
      }
      default: { /* 64 bits, or a pair of them */
        const uint64_t *v = (const uint64_t *)(callee->slots + callee->fn->off_r64) + (size_t)slot * lanes;
        MX_FOR_LANES(l, s->mask) {
          ((uint64_t *)to)[l] = v[l];
          if (f->results[k].cls == MX_R128) ((uint64_t *)to)[lanes + l] = v[lanes + l];
        }
      }
    }
  }
  s->pc = call->pc + mx_w_length(caller->fn->func->code[call->pc]);
  s->frame = caller;
  frames_drop(&x->free_frames, callee, caller, s->mask);
}

/* Lanes `mask` that waited at j go on behind it, on position `at`. */
static void go_on_behind(struct mx_exec *x, const struct mx_join *j, uint64_t mask, uint32_t at) {
  struct mx_split s = {.pc = j->pc, .state = MX_RUNNABLE, .mask = mask, .frame = j->frame, .join = j->parent};
  mx__split_insert(x, at, &s);
  if (j->pc == MX_PC_RET) return_to_caller(x, at);
}

/* Lets j's lanes go if all have come; frees j if none is expected any more. */
static void join_check(struct mx_exec *x, struct mx_join *j, uint32_t at) {
  if (j->arrived != j->expected) return;
  if (j->expected) {
    x->stats.rejoins++;
    go_on_behind(x, j, j->expected, at);
  }
  join_free(x->warp, j);
}

const struct mx_insn *mx__diverge(struct mx_exec *x, uint64_t taken, uint32_t target, uint32_t next_pc, uint32_t reconv) {
  struct mx_split *s = x->split;
  struct mx_join *j = s->join;
  x->stats.splits++;
  if (!j || j->pc != reconv || j->frame != s->frame) {
    j = join_new(x->warp);
    if (!j) { /* cannot happen: every join holds lanes apart */
      struct mx_insn here = {.pc = s->pc};
      return mx__trap_at(x, &here, MX_TRAP_INTERNAL, s->mask, NULL);
    }
    *j = (struct mx_join){.pc = reconv, .frame = s->frame, .expected = s->mask, .parent = s->join};
  }
  uint32_t at = mx__split_index(x);
  struct mx_split side = *s;
  side.join = j;
  mx__split_remove(x, at);
  side.mask = taken, side.pc = target;
  if (target == reconv) j->arrived |= side.mask;
  else mx__split_insert(x, at++, &side);
  side.mask = x->mask & ~taken, side.pc = next_pc;
  if (next_pc == reconv) j->arrived |= side.mask;
  else mx__split_insert(x, at, &side);
  join_check(x, j, at);
  return mx__next_split(x);
}

const struct mx_insn *mx__arrive(struct mx_exec *x) {
  struct mx_join *j = x->split->join;
  uint32_t at = mx__split_index(x);
  j->arrived |= x->mask;
  mx__split_remove(x, at);
  join_check(x, j, at);
  return mx__next_split(x);
}

bool mx__warp_release(struct mx_exec *x, struct mx_warp *w, bool any_wait) {
  x->warp = w;
  for (uint32_t k = w->nsplits; k--;) {
    const struct mx_split *s = &w->splits[k];
    if (s->state == MX_RUNNABLE ? !s->spun : s->state == MX_WAIT_BAR && !any_wait) continue;
    for (struct mx_join *j = s->join; j; j = j->parent)
      if (j->arrived) {
        uint64_t mask = j->arrived;
        j->expected &= ~mask;
        j->arrived = 0;
        go_on_behind(x, j, mask, w->nsplits);
        return true;
      }
  }
  return false;
}

/* Splits of equal pc, frame and join go on as one. */
static void merge_equal(struct mx_exec *x) {
  struct mx_warp *w = x->warp;
  for (uint32_t a = w->nsplits; a-- > 1;)
    for (uint32_t b = 0; b < a; b++) {
      struct mx_split *s = &w->splits[a], *t = &w->splits[b];
      if (s->state != MX_RUNNABLE || t->state != MX_RUNNABLE || s->pc != t->pc || s->frame != t->frame || s->join != t->join) continue;
      s->mask |= t->mask;
      mx__split_remove(x, b);
      a--, b--;
    }
}

/* ---- ending ---------------------------------------------------------------------------------------------*/
const struct mx_insn *mx__exit_lanes(struct mx_exec *x, uint64_t m) {
  struct mx_warp *w = x->warp;
  uint32_t at = mx__split_index(x);
  struct mx_split *s = x->split;
  struct mx_join *join = s->join;
  w->live &= ~m;
  s->mask &= ~m;
  x->mask = s->mask;
  frames_drop(&x->free_frames, s->frame, NULL, m);
  bool all = !s->mask;
  if (all) mx__split_remove(x, at);
  for (struct mx_join *j = join, *up; j; j = up) {
    up = j->parent;
    j->expected &= ~m;
    join_check(x, j, at); /* complete only if the whole split ended: its other lanes have not arrived */
  }
  mx__sync_recheck(x, w);
  mx__barrier_recheck(x, x->block);
  if (all) return mx__next_split(x);
  for (uint32_t k = 0; k < w->nsplits; k++) /* the array may have moved */
    if (w->splits[k].state == MX_RUNNABLE && w->splits[k].mask == x->mask) {
      mx__select(x, &w->splits[k]);
      break;
    }
  return NULL;
}

/* ---- calls ----------------------------------------------------------------------------------------------*/
/* The current split calls function number `callee` with the operands behind the results. */
static const struct mx_insn *call(struct mx_exec *x, const struct mx_insn *i, uint32_t callee, const mx_ref *args) {
  const struct mx_pfunc *fn = &x->prep->funcs[callee];
  struct mx_frame *f = NULL;
  uint64_t local_base = mx__local_top(x->frame);
  if (x->frame->depth + 1 < x->launch->call_depth && local_base + fn->func->local_bytes <= x->launch->local_bytes)
    f = frame_new(x, fn, 0, true);
  if (!f) return mx__trap_at(x, i, MX_TRAP_STACK_OVERFLOW, x->mask, NULL);
  f->parent = x->frame;
  f->fn = fn;
  f->call = (uint32_t)(i - x->fn->insns);
  f->depth = x->frame->depth + 1;
  f->lanes = x->mask;
  f->local_base = local_base;
  f->local_dyn = 0;
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
  return call(x, i, i->aux, i->more + x->prep->funcs[i->aux].func->nresults);
}

/* One split for each distinct target: the current one calls the first lane's, the others come back here. */
const struct mx_insn *mx__op_calli(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_proto *proto = &x->fn->func->protos[i->aux];
  const mx_ref *args = i->more + proto->nres;
  const uint64_t *target = mx__operand(x, args[0]);
  uint64_t first = target[__builtin_ctzll(x->mask)], same = 0;
  MX_FOR_LANES(l, x->mask) same |= (uint64_t)(target[l] == first) << l;
  uint64_t number = first - MX_WINDOW(MX_WINDOW_FUNC);
  bool good = number % 16 == 0 && number && number / 16 <= x->prep->nfuncs && x->prep->funcs[number / 16 - 1].insns;
  const struct mx_func *f = good ? x->prep->funcs[number / 16 - 1].func : NULL;
  good = good && !(f->flags & MX_FUNC_KERNEL) && f->nresults == proto->nres && f->nargs + 1u == proto->narg;
  for (uint32_t k = 0; good && k < f->nresults; k++) good = f->results[k].cls == proto->res[k];
  for (uint32_t k = 0; good && k < f->nargs; k++) good = f->args[k].cls == proto->arg[k + 1];
  if (!good) return mx__trap_at(x, i, MX_TRAP_BAD_CALL, same, NULL);
  if (same != x->mask) return mx__diverge(x, same, i->pc, i->pc, mx__next_pc(x, i)); /* each comes here again */
  return call(x, i, (uint32_t)(number / 16 - 1), args + 1);
}

const struct mx_insn *mx__op_ret(struct mx_exec *x, const struct mx_insn *i) {
  (void)i;
  struct mx_frame *f = x->frame;
  if (!f->parent) return mx__exit_lanes(x, x->mask);
  if (x->join_pc == MX_PC_RET) return mx__arrive(x);
  struct mx_join *j = x->split->join;
  uint32_t at = mx__split_index(x);
  uint64_t m = x->mask;
  /* Joins of this frame that these lanes will never reach (code that no assembler of ours writes) stop expecting them. */
  struct mx_join *stale[MX_MAX_JOINS];
  uint32_t nstale = 0;
  for (; j && j->frame == f; j = j->parent) {
    j->expected &= ~m;
    stale[nstale++] = j;
  }
  x->split->join = j;
  return_to_caller(x, at);
  for (uint32_t k = 0; k < nstale; k++) join_check(x, stale[k], at);
  return mx__next_split(x);
}

const struct mx_insn *mx__op_exit(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t m = mx__lanes_of(x, i);
  if (!m) return i + 1;
  if (m == x->mask) return mx__exit_lanes(x, m);
  mx__exit_lanes(x, m);
  return i + 1;
}

/* ---- a warp's life ----------------------------------------------------------------------------------------*/
struct mx_frame *mx__frame_first(struct mx_exec *x, uint32_t room, bool clean) {
  const struct mx_pfunc *fn = &x->prep->funcs[x->prep->kernel];
  struct mx_frame *f = frame_new(x, fn, room, clean);
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
  for (uint32_t k = 0; k < w->fresh_joins; k++)
    if (w->joins[k].frame && w->joins[k].arrived) frames_drop(&list, w->joins[k].frame, NULL, w->joins[k].arrived);
  for (struct mx_frame *next; list; list = next) {
    next = list->parent;
    free(list);
  }
  w->nsplits = 0;
  w->live = 0;
}

void mx__tell_steps(struct mx_exec *x) {
  struct mx_launch *l = x->launch;
  const uint64_t more = x->steps - x->steps_told, all = atomic_fetch_add_explicit(&l->steps, more, memory_order_relaxed) + more;
  x->steps_told = x->steps;
  if (l->steps_limit && all > l->steps_limit) mx__launch_stop(l, MX_STOP_STEPS);
  if (l->debug) l->hooks->went_on(l->debug, x);
}

/* A slice comes whole, or, in stress mode, in random pieces: compiled code leaves at the end of each. */
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
    if ((!spun || ++w->spins >= w->patience) && mx__warp_release(x, w, false)) {
      w->spins = 0;
      if (spun && w->patience > 1) w->patience /= 2;
      continue;
    }
    *turn = mx__told_to_stop(x) ? MX_TURN_STOPPED : spun ? MX_TURN_SPUN : MX_TURN_BLOCKED;
    return NULL;
  }
}

enum mx_turn mx__warp_go_on(struct mx_exec *x, struct mx_warp *w, const struct mx_insn *i) {
  for (;;) {
    uint64_t steps = 0;
    for (; i; i = __atomic_load_n(&i->fn, __ATOMIC_ACQUIRE)(x, i)) steps++; /* code may be attached just now */
    x->steps += steps;
    if (x->event == MX_EV_TRAP) return MX_TURN_STOPPED;
    if (x->event == MX_EV_SLICE && !x->reserve) {
      x->split->spun = true;
      if (mx__told_to_stop(x)) return MX_TURN_STOPPED;
    }
    if (x->slice <= 0) slice_begin(x);
    enum mx_turn turn;
    if (!(i = next_of_turn(x, w, &turn))) return turn;
  }
}

enum mx_turn mx__warp_run(struct mx_exec *x, struct mx_warp *w) {
  mx__warp_enter(x, w);
  for (uint32_t k = 0; k < w->nsplits; k++) w->splits[k].spun = false;
  merge_equal(x);
  enum mx_turn turn;
  const struct mx_insn *i = next_of_turn(x, w, &turn);
  return i ? mx__warp_go_on(x, w, i) : turn;
}

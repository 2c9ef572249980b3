/* Mbarriers: what arrivals and bytes do to the object, and the lanes that wait for the end of a phase. A lane that
 * waits is not runnable until a phase is completed; the instruction or copy that completes it makes it runnable again.
 * A wait with a time limit ends early only when no other lane of the block can go on. Copies that land (async.c) call
 * the same functions. */
#include "async.h"
#include "core/format.h"
#include "core/mbarrier.h"
#include "vm/exec/access.h"
#include "vm/exec/chain.h"
#include "vm/exec/hooks.h"
#include "vm/exec/warp.h"

#include <stdlib.h>
#include <string.h>

static uint64_t word_at(const unsigned char *at) {
  uint64_t w;
  memcpy(&w, at, sizeof w);
  return w;
}
static void put_word(struct mx_exec *x, struct mx_block *b, unsigned char *at, uint64_t w) {
  mx__shared_write(x, b, at, sizeof w);
  memcpy(at, &w, sizeof w);
}
static unsigned long long offset_of(const struct mx_block *b, const unsigned char *at) {
  return (unsigned long long)(at - b->shared);
}

void mx__shared_write(struct mx_exec *x, struct mx_block *b, unsigned char *host, uint64_t bytes) {
  const struct mx_launch *l = b->launch;
  if (!l->debug || !l->hooks->sees_writes(l->debug)) return;
  const uint64_t address = (uint64_t)(host - b->shared);
  l->hooks->writes(x, 1, &address, MX_WINDOW(MX_WINDOW_SHARED), bytes, &host);
}

char *mx__mbarrier_text(const struct mx_block *b, const unsigned char *at) {
  const uint64_t w = word_at(at);
  if (!mx_mbarrier_is(w)) return mx__format("0x%llx in shared memory, which is no mbarrier any more", offset_of(b, at));
  const struct mx_mbarrier m = mx_mbarrier_unpack(w);
  char *bytes = m.bytes ? mx__format(" and %d byte%s", m.bytes, m.bytes == 1 ? "" : "s") : NULL;
  char *text = mx__format("the mbarrier at 0x%llx in shared memory, phase of parity %u: %u of %u arrivals%s missing",
                          offset_of(b, at), m.parity, m.pending, m.expected, bytes ? bytes : "");
  free(bytes);
  return text;
}

/* ---- traps ----------------------------------------------------------------------------------------------*/
struct mx_trap mx__trap_of(const struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, uint64_t lanes) {
  struct mx_trap t = {.kind = kind, .func = x->fn->number, .pc = i->pc, .warp = x->warp->number, .lanes = lanes};
  memcpy(t.block, x->block->ctaid, sizeof t.block);
  return t;
}
static bool wrong(struct mx_block *b, const struct mx_trap *like, char *detail) {
  struct mx_trap t = *like;
  t.detail = detail;
  mx__trap_raise(b->launch, &t);
  return false;
}
static bool is_one(struct mx_block *b, const unsigned char *at, const struct mx_trap *t) {
  return mx_mbarrier_is(word_at(at)) ||
         wrong(
             b, t,
             mx__format("there is no mbarrier at 0x%llx in shared memory: mbarrier.init makes one", offset_of(b, at)));
}

/* ---- places ---------------------------------------------------------------------------------------------*/
bool mx__async_places(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k, unsigned bytes,
                      unsigned space, bool write, unsigned bounds, unsigned char **host) {
  const bool narrow = mx__types[mx__ops[i->op].opnd[k].type].bits == 32;
  const void *base = mx__operand(x, i->o[k]);
  const uint64_t off = *(const uint64_t *)mx__operand(x, i->o[k + 1]);
  uint64_t at[MX_MAX_LANES];
  MX_FOR_LANES (l, m) at[l] = narrow ? ((const uint32_t *)base)[l] + (uint32_t)off : ((const uint64_t *)base)[l] + off;
  struct mx_insn with = *i; /* an instruction with two addresses has two bounds caches */
  with.index += bounds;
  return mx__access_find(x, &with, m, at, bytes, space, write, host);
}
bool mx__mbarrier_places(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k, bool write, bool own,
                         unsigned char **host) {
  if (!mx__async_places(x, i, m, k, 8, mx__async_space(i), write, 0, host)) return false;
  uint64_t elsewhere = 0, nowhere = 0;
  MX_FOR_LANES (l, m) {
    const struct mx_block *of = mx__shared_owner(x->block, host[l]);
    nowhere |= (uint64_t)!of << l;
    elsewhere |= (uint64_t)(own && of != x->block) << l;
  }
  if (!(nowhere | elsewhere)) return true;
  mx__trap_at(x, i, MX_TRAP_WRONG_SPACE, nowhere ? nowhere : elsewhere,
              nowhere ? mx__format("mbarriers lie in shared memory")
                      : mx__format("the mbarrier lies in another block's shared memory: other blocks arrive there, but "
                                   "do not make it, end it or wait"));
  return false;
}
unsigned char *mx__mbarrier_of_all(const struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k,
                                   bool write) {
  const struct mx_bounds *b = &x->bounds[i->index];
  const bool narrow = mx__types[mx__ops[i->op].opnd[k].type].bits == 32;
  const unsigned char *const base = mx__operand(x, i->o[k]);
  const uint64_t off = *(const uint64_t *)mx__operand(x, i->o[k + 1]);
  const size_t bytes = narrow ? 4 : 8, first = bytes * (size_t)__builtin_ctzll(m);
  if (b->kind != MX_SHARED || b->span < 8 || (write && !b->writable)) return NULL;
  if (m != x->full) {
    MX_FOR_LANES (l, m)
      if (memcmp(base + first, base + bytes * l, bytes) != 0) return NULL;
  } else if (memcmp(base, base + bytes, bytes * (x->lanes - 1)) != 0) return NULL;
  uint64_t at = 0;
  memcpy(&at, base + first, bytes);
  at += off;
  if (narrow) at = (uint32_t)at;
  return at - b->lo > b->span - 8 || at & 7 ? NULL : mx__bounds_host(x, b, at, 0);
}
/* Raises a trap for an instruction, before which the split stops. */
static const struct mx_insn *trapped(struct mx_exec *x, const struct mx_insn *i) {
  return mx__leave(x, i->pc, MX_EV_TRAP);
}

/* ---- phases ---------------------------------------------------------------------------------------------*/
static void go_on(struct mx_split *s, bool done) {
  const struct mx_insn *i = mx__insn_of(s);
  if (mx__ops[i->op].opnd[0].role == MX_OUT) {
    uint64_t *p = (uint64_t *)(void *)(s->frame->slots + i->o[0]);
    *p = done ? *p | s->mask : *p & ~s->mask;
  }
  s->pc += mx_w_length(s->frame->fn->func->code[s->pc]);
  s->state = MX_RUNNABLE;
  s->spun = false;
}
/* Releases lanes, which wait only at mbarriers of their own block. */
static void let_go(struct mx_block *b, const unsigned char *at) {
  for (uint32_t w = 0; w < b->nwarps; w++)
    for (uint32_t k = 0; k < b->warps[w].nsplits; k++) {
      struct mx_split *s = &b->warps[w].splits[k];
      if (s->state == MX_WAIT_MBARRIER && s->sync_mask == (uint64_t)(uintptr_t)at) go_on(s, true);
    }
  b->leader->timeouts = 0;
}
/* Writes the object's new state, which may end the phase. Instructions call mx__find_resched_rank() afterwards. */
static void settle(struct mx_exec *x, struct mx_block *b, unsigned char *at, struct mx_mbarrier m) {
  const bool done = !m.pending && !m.bytes;
  if (done) m.pending = m.expected, m.parity ^= 1;
  put_word(x, b, at, mx_mbarrier_pack(m));
  if (done) let_go(b, at);
}
static bool too_many(struct mx_block *b, const unsigned char *at, const struct mx_mbarrier *m, uint32_t count,
                     const struct mx_trap *t) {
  return wrong(b, t,
               mx__format("%u arrival%s at the mbarrier at 0x%llx in shared memory, whose phase lacks %u", count,
                          count == 1 ? "" : "s", offset_of(b, at), m->pending));
}
static bool too_many_bytes(struct mx_block *b, const unsigned char *at, int64_t bytes, const struct mx_trap *t) {
  return wrong(
      b, t,
      mx__format("the mbarrier at 0x%llx in shared memory would lack %lld bytes, the most are %u in either direction",
                 offset_of(b, at), (long long)bytes, MX_MBARRIER_MOST));
}

bool mx__mbarrier_arrive(struct mx_exec *x, struct mx_block *b, unsigned char *at, uint32_t count,
                         const struct mx_trap *t) {
  if (!is_one(b, at, t)) return false;
  struct mx_mbarrier m = mx_mbarrier_unpack(word_at(at));
  if (count > m.pending) return too_many(b, at, &m, count, t);
  m.pending -= count;
  return settle(x, b, at, m), true;
}
bool mx__mbarrier_bytes(struct mx_exec *x, struct mx_block *b, unsigned char *at, int64_t bytes, bool landed,
                        const struct mx_trap *t) {
  if (!is_one(b, at, t)) return false;
  struct mx_mbarrier m = mx_mbarrier_unpack(word_at(at));
  const int64_t now = m.bytes + bytes;
  if (now > MX_MBARRIER_MOST || now < -(int64_t)MX_MBARRIER_MOST) return too_many_bytes(b, at, now, t);
  m.bytes = (int32_t)now;
  if (landed) settle(x, b, at, m);
  else put_word(x, b, at, mx_mbarrier_pack(m));
  return true;
}

bool mx__mbarrier_at_once(struct mx_exec *x, struct mx_block *b, unsigned char *at, uint32_t arrivals, int64_t bytes,
                          bool landed) {
  const uint64_t before = word_at(at);
  struct mx_mbarrier m = mx_mbarrier_unpack(before);
  const int64_t now = m.bytes + bytes;
  if (x->launch->debug || !mx_mbarrier_is(before) || arrivals > m.pending || now > MX_MBARRIER_MOST ||
      now < -(int64_t)MX_MBARRIER_MOST)
    return false;
  if (landed && !m.pending && m.bytes > 0 && now < 0) return false; /* the phase ends in between */
  m.pending -= arrivals, m.bytes = (int32_t)now;
  if (landed) settle(x, b, at, m);
  else put_word(x, b, at, mx_mbarrier_pack(m));
  return true;
}

/* ---- instructions: lanes one after the other -----------------------------------------------------------------*/
const struct mx_insn *mx__op_mbarrier_init(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const uint32_t *count = mx__operand(x, i->o[2]);
  unsigned char *at[MX_MAX_LANES];
  uint64_t odd = 0;
  if (!m) return i + 1;
  MX_FOR_LANES (l, m) odd |= (uint64_t)(!count[l] || count[l] > MX_MBARRIER_MOST) << l;
  if (odd)
    return mx__trap_at(
        x, i, MX_TRAP_MBARRIER, odd,
        mx__format("%u arrivals in a phase: there are 1 to %u", count[__builtin_ctzll(odd)], MX_MBARRIER_MOST));
  if (!mx__mbarrier_places(x, i, m, 0, true, true, at)) return NULL;
  MX_FOR_LANES (l, m)
    put_word(x, x->block, at[l], mx_mbarrier_pack((struct mx_mbarrier){.pending = count[l], .expected = count[l]}));
  return i + 1;
}

const struct mx_insn *mx__op_mbarrier_inval(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  unsigned char *at[MX_MAX_LANES];
  if (!m) return i + 1;
  if (!mx__mbarrier_places(x, i, m, 0, true, true, at)) return NULL;
  MX_FOR_LANES (l, m) {
    const struct mx_trap t = mx__trap_of(x, i, MX_TRAP_MBARRIER, 1ull << l);
    if (!is_one(x->block, at[l], &t)) return trapped(x, i);
    put_word(x, x->block, at[l], 0);
  }
  return i + 1;
}

/* Lanes m arrive once each at the object at `at`, in their order; false: nothing was done, since somebody watches each
 * arrival, or they are more than the phase lacks. */
static bool arrive_together(struct mx_exec *x, uint64_t m, unsigned char *at, bool drop, uint64_t *state) {
  const uint64_t before = word_at(at);
  const uint32_t n = (uint32_t)__builtin_popcountll(m);
  struct mx_mbarrier o = mx_mbarrier_unpack(before);
  if (x->launch->debug || !mx_mbarrier_is(before) || n > o.pending || (drop && n > o.expected)) return false;
  const uint64_t once = mx_mbarrier_pack((struct mx_mbarrier){.pending = 1, .expected = drop}) & ~MX_MBARRIER_MARKS;
  uint64_t then = before;
  MX_FOR_LANES (l, m) state[l] = then, then -= once;
  o.pending -= n, o.expected -= drop ? n : 0;
  return settle(x, mx__shared_owner(x->block, at), at, o), true;
}
static unsigned char *same_place(uint64_t m, unsigned char *const *at) {
  unsigned char *const first = at[__builtin_ctzll(m)];
  MX_FOR_LANES (l, m)
    if (at[l] != first) return NULL;
  return first;
}
/* Modifier: arrive or arrive_drop; of those with a count: plain, noComplete, expect_tx. */
const struct mx_insn *mx__op_mbarrier_arrive(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const bool counts = mx__ops[i->op].nopnds > 3, drop = i->mod & 1;
  const unsigned how = counts ? i->mod / 2 % 3 : 0;
  const uint32_t *operand = counts ? mx__operand(x, i->o[3]) : NULL;
  uint64_t *state = mx__operand(x, i->o[0]);
  unsigned char *at[MX_MAX_LANES];
  if (!m) return i + 1;
  if (mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, NULL;
  unsigned char *one = counts ? NULL : mx__mbarrier_of_all(x, i, m, 1, true);
  if (!one && !mx__mbarrier_places(x, i, m, 1, true, false, at)) return NULL;
  if (!one && !counts) one = same_place(m, at);
  if (one && arrive_together(x, m, one, drop, state)) return mx__find_resched_rank(x), i + 1;
  if (one)
    MX_FOR_LANES (l, m) at[l] = one;
  MX_FOR_LANES (l, m) {
    struct mx_block *b = mx__shared_owner(x->block, at[l]);
    const struct mx_trap t = mx__trap_of(x, i, MX_TRAP_MBARRIER, 1ull << l);
    if (!is_one(b, at[l], &t)) return trapped(x, i);
    const uint64_t before = word_at(at[l]);
    struct mx_mbarrier o = mx_mbarrier_unpack(before);
    const uint32_t value = operand ? operand[l] : 1, count = how == 2 ? 1 : value;
    if (how == 2) {
      if (value > MX_MBARRIER_MOST || (int64_t)o.bytes + value > MX_MBARRIER_MOST)
        return too_many_bytes(b, at[l], (int64_t)o.bytes + value, &t), trapped(x, i);
      o.bytes += (int32_t)value;
    }
    if (!count) return wrong(b, &t, mx__format("an arrival counts once or more, not 0 times")), trapped(x, i);
    if (count > o.pending) return too_many(b, at[l], &o, count, &t), trapped(x, i);
    o.pending -= count;
    if (drop) o.expected -= count > o.expected ? o.expected : count;
    if (how == 1 && !o.pending && !o.bytes)
      return wrong(b, &t,
                   mx__format(
                       "an arrival with .noComplete would end the phase of the mbarrier at 0x%llx in shared memory",
                       offset_of(b, at[l]))),
             trapped(x, i);
    settle(x, b, at[l], o);
    state[l] = before;
  }
  mx__find_resched_rank(x); /* lanes of this warp may go on */
  return i + 1;
}

const struct mx_insn *mx__op_mbarrier_tx(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const uint32_t *bytes = mx__operand(x, i->o[2]);
  unsigned char *at[MX_MAX_LANES];
  if (!m) return i + 1;
  if (!mx__mbarrier_places(x, i, m, 0, true, false, at)) return NULL;
  MX_FOR_LANES (l, m) {
    const struct mx_trap t = mx__trap_of(x, i, MX_TRAP_MBARRIER, 1ull << l);
    const bool complete = i->mod & 1;
    struct mx_block *b = mx__shared_owner(x->block, at[l]);
    if (!mx__mbarrier_bytes(x, b, at[l], complete ? -(int64_t)bytes[l] : bytes[l], complete, &t)) return trapped(x, i);
  }
  mx__find_resched_rank(x);
  return i + 1;
}

/* ---- waiting --------------------------------------------------------------------------------------------*/
/* Which of the active lanes name a phase that has ended, in operand `which`, if the object's word is w. */
static uint64_t have_ended(const void *which, bool parity, uint64_t m, uint64_t w) {
  const unsigned now = mx_mbarrier_parity(w);
  uint64_t done = 0;
  MX_FOR_LANES (l, m) {
    const unsigned of = parity ? ((const uint32_t *)which)[l] & 1 : mx_mbarrier_parity(((const uint64_t *)which)[l]);
    done |= (uint64_t)(now != of) << l;
  }
  return done;
}
/* The active lanes' mbarriers, and the lanes whose phase has ended; false: trapped. */
static bool ended(struct mx_exec *x, const struct mx_insn *i, unsigned k, unsigned char **at, uint64_t *done) {
  const bool parity = mx__types[mx__ops[i->op].opnd[k + 2].type].bits == 32;
  const void *which = mx__operand(x, i->o[k + 2]);
  unsigned char *const one = mx__mbarrier_of_all(x, i, x->mask, k, false);
  if (one && mx_mbarrier_is(word_at(one))) {
    MX_FOR_LANES (l, x->mask) at[l] = one;
    *done = have_ended(which, parity, x->mask, word_at(one));
    return true;
  }
  if (!mx__mbarrier_places(x, i, x->mask, k, false, true, at)) return false;
  *done = 0;
  MX_FOR_LANES (l, x->mask) {
    const uint64_t w = word_at(at[l]);
    if (!mx_mbarrier_is(w)) {
      const struct mx_trap t = mx__trap_of(x, i, MX_TRAP_MBARRIER, 1ull << l);
      is_one(x->block, at[l], &t);
      return trapped(x, i), false;
    }
    *done |= have_ended(which, parity, 1ull << l, w);
  }
  return true;
}
static void want(struct mx_block *b, unsigned char *at) {
  /* a block without cluster or copies: nothing can land */
  struct mx_async *a = b->nmembers > 1 ? mx__async_of(b->leader) : b->async;
  if (!a || a->nwanted > MX_WANTED) return;
  for (uint32_t k = 0; k < a->nwanted; k++)
    if (a->wanted[k] == at) return;
  if (a->nwanted < MX_WANTED) a->wanted[a->nwanted] = at;
  a->nwanted++;
}

const struct mx_insn *mx__op_mbarrier_test(struct mx_exec *x, const struct mx_insn *i) {
  unsigned char *at[MX_MAX_LANES];
  uint64_t done, *p = mx__operand(x, i->o[0]);
  if (!ended(x, i, 1, at, &done)) return NULL;
  *p = (*p & ~x->mask) | done;
  if (done == x->mask) return i + 1;
  MX_FOR_LANES (l, x->mask & ~done) want(x->block, at[l]);
  x->slice = x->reserve = 0; /* repeated tests let other splits run, as sleeping does */
  return mx__leave(x, mx__next_pc(x, i), MX_EV_SLICE);
}

const struct mx_insn *mx__op_mbarrier_wait(struct mx_exec *x, const struct mx_insn *i) {
  const bool limited = mx__ops[i->op].opnd[0].role == MX_OUT;
  unsigned char *at[MX_MAX_LANES];
  uint64_t done;
  if (!ended(x, i, limited, at, &done)) return NULL;
  if (limited) {
    uint64_t *p = mx__operand(x, i->o[0]);
    *p = (*p & ~x->mask) | done;
  }
  if (done == x->mask) return i + 1;
  x->split->pc = i->pc;
  uint64_t waits = x->mask & ~done;
  if (done) { /* these lanes go on; the others wait, see below */
    x->split->pc = mx__next_pc(x, i);
  }
  while (waits) {
    unsigned char *first = at[__builtin_ctzll(waits)];
    uint64_t same = 0;
    MX_FOR_LANES (l, waits) same |= (uint64_t)(at[l] == first) << l;
    waits &= ~same;
    struct mx_split *s = same == x->mask ? x->split : mx__split_off(x, same, i->pc, MX_WAIT_MBARRIER);
    s->state = MX_WAIT_MBARRIER;
    s->sync_mask = (uint64_t)(uintptr_t)first;
  }
  return mx__next_split(x);
}

static bool has_limit(const struct mx_split *s) {
  return s->state == MX_WAIT_MBARRIER && mx__ops[mx__insn_of(s)->op].opnd[0].role == MX_OUT;
}
bool mx__mbarrier_time_over(struct mx_block *leader) {
  for (uint32_t n = 0; n < leader->nmembers; n++) {
    const struct mx_block *b = leader->members[n];
    for (uint32_t w = 0; w < b->nwarps && !leader->time_over; w++)
      for (uint32_t k = 0; k < b->warps[w].nsplits; k++) leader->time_over |= has_limit(&b->warps[w].splits[k]);
  }
  return leader->time_over;
}
/* The clock advances by the time that they would have waited. */
static void time_out(struct mx_exec *x, struct mx_block *b) {
  enum { USUAL = 1000 };
  for (uint32_t w = 0; w < b->nwarps; w++)
    for (uint32_t k = 0; k < b->warps[w].nsplits; k++) {
      struct mx_split *s = &b->warps[w].splits[k];
      if (!has_limit(s)) continue;
      mx__jit_settle(x, &b->warps[w]);
      const struct mx_insn *i = mx__insn_of(s);
      const void *limit = (i->o[4] & 1 ? s->frame->fn->pool : s->frame->slots) + i->o[4];
      const uint32_t ns = ((const uint32_t *)limit)[__builtin_ctzll(s->mask)];
      b->warps[w].clock += ns ? ns : USUAL;
      go_on(s, false);
    }
}
void mx__mbarrier_time_out(struct mx_exec *x, struct mx_block *leader) {
  leader->time_over = false;
  for (uint32_t n = 0; n < leader->nmembers; n++) time_out(x, leader->members[n]);
}

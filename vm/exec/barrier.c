/* Barriers of a block: bar.sync, bar.arrive, bar.red, and of a cluster. Arrivals are counted by lanes, at any pc; a
 * warp has arrived when all its living lanes have. */
#include "barrier.h"

#include "core/format.h"

#include "compiled_block.h"
#include "hooks.h"
#include "launch.h"

static uint32_t arrived(const struct mx_block *b, const struct mx_barrier *bar) {
  uint32_t n = 0;
  for (uint32_t w = 0; w < b->nwarps; w++) {
    uint64_t a = bar->arrived[w];
    if (a) n += (b->warps[w].live & ~a) ? (uint32_t)__builtin_popcountll(a) : b->launch->lanes;
  }
  return n;
}

static bool complete(const struct mx_block *b, const struct mx_barrier *bar) {
  if (bar->want) return arrived(b, bar) >= bar->want;
  for (uint32_t w = 0; w < b->nwarps; w++)
    if (b->warps[w].live & ~bar->arrived[w]) return false;
  return true;
}

/* The result of bar.red for lanes m of a frame. */
static void put_result(const struct mx_barrier *bar, const struct mx_insn *i, struct mx_frame *f, uint64_t m) {
  if (!mx__ops[i->op].nopnds || mx__ops[i->op].opnd[0].role != MX_OUT) return;
  unsigned char *d = f->slots + i->o[0];
  if (i->op == MX_BAR_RED_POPC) {
    MX_FOR_LANES (l, m) ((uint32_t *)d)[l] = bar->hold;
  } else {
    bool yes = i->op == MX_BAR_RED_AND ? bar->hold == bar->all : bar->hold != 0;
    uint64_t *p = (uint64_t *)d;
    *p = yes ? *p | m : *p & ~m;
  }
}

static void release(struct mx_block *b, uint32_t number) {
  struct mx_barrier *bar = &b->barriers[number];
  MX_TELL(b->launch, released, b, number);
  for (uint32_t w = 0; w < b->nwarps; w++) {
    struct mx_warp *warp = &b->warps[w];
    for (uint32_t k = 0; k < warp->nsplits; k++) {
      struct mx_split *s = &warp->splits[k];
      if (s->state != MX_WAIT_BAR || s->barrier != number) continue;
      const struct mx_insn *i = mx__insn_of(s);
      put_result(bar, i, s->frame, s->mask);
      mx__barrier_pass(s);
    }
    bar->arrived[w] = 0;
  }
  b->barriers_used &= ~(1u << number);
  bar->hold = bar->all = 0;
}

/* ---- of a cluster: each block counts its own lanes; a block that has ended waits for nobody ------------------- */
static bool all_arrived(const struct mx_block *b) {
  if (b->ended) return true;
  /* in compiled code warps may not have begun when the first ones arrive */
  return b->started && b->begun == b->nwarps && complete(b, &b->barriers[MX_CLUSTER_BARRIER]);
}
void mx__cluster_recheck(struct mx_block *leader) {
  uint32_t used = 0;
  for (uint32_t k = 0; k < leader->nmembers; k++) {
    const struct mx_block *b = leader->members[k];
    if (!all_arrived(b)) return;
    used |= b->barriers_used >> MX_CLUSTER_BARRIER & 1;
  }
  for (uint32_t k = 0; used && k < leader->nmembers; k++) release(leader->members[k], MX_CLUSTER_BARRIER);
}

void mx__barrier_recheck(struct mx_exec *x, struct mx_block *b) {
  (void)x;
  for (uint32_t n = 0; n < MX_BARRIERS; n++)
    if (b->barriers_used >> n & 1 && mx__barrier_moves[MX_BARRIER_END][complete(b, &b->barriers[n])].releases)
      release(b, n);
  mx__cluster_recheck(b->leader);
}

/* The lanes with the first lane's barrier and count arrive; the others execute the instruction again. */
static const struct mx_insn *arrive(struct mx_exec *x, const struct mx_insn *i, enum mx_barrier_event event) {
  struct mx_block *b = x->block;
  unsigned red = mx__ops[i->op].opnd[0].role == MX_OUT;
  const uint32_t *number = mx__operand(x, i->o[red]), *count = mx__operand(x, i->o[red + 1]);
  unsigned first = (unsigned)__builtin_ctzll(x->mask);
  uint32_t n = number[first], want = count[first];
  uint64_t same = 0;
  MX_FOR_LANES (l, x->mask) same |= (uint64_t)(number[l] == n && count[l] == want) << l;
  if (same != x->mask) {
    x->split->pc = i->pc;
    mx__split_off(x, x->mask & ~same, i->pc, MX_RUNNABLE);
  }
  struct mx_barrier *bar = n < MX_BARRIERS ? &b->barriers[n] : NULL;
  char *wrong = NULL;
  if (!bar) wrong = mx__format("barrier %u: there are 0 to %u", n, MX_BARRIERS - 1);
  else if (want % x->lanes)
    wrong = mx__format("a count of %u threads is not a multiple of the warp, %u", want, x->lanes);
  else if (event == MX_BARRIER_SIGNAL && !want) wrong = mx__format("bar.arrive needs a count of threads");
  else if (b->barriers_used >> n & 1 && bar->want != want)
    wrong = mx__format("barrier %u: waits for %u threads, earlier arrivals for %u (0: all of the block)", n, want,
                       bar->want);
  if (wrong) return mx__trap_at(x, i, MX_TRAP_BARRIER, same, wrong);

  b->barriers_used |= 1u << n;
  bar->want = want;
  bar->arrived[x->warp->number] |= same;
  if (red) {
    uint64_t p = *(const uint64_t *)mx__operand(x, i->o[3]) & same;
    bar->hold += (uint32_t)__builtin_popcountll(p);
    bar->all += (uint32_t)__builtin_popcountll(same);
  }
  MX_TELL(b->launch, arrives, x, i, n, event == MX_BARRIER_ARRIVAL);
  const struct mx_barrier_move move = mx__barrier_moves[event][complete(b, bar)];
  if (move.releases) {
    put_result(bar, i, x->frame, same);
    release(b, n);
    mx__find_resched_rank(x);
    if (!n && mx__compiled_block_can_resume(x)) return mx__leave(x, mx__next_pc(x, i), MX_EV_ALL_ARRIVED);
  }
  if (!move.waits) return i + 1;
  mx__barrier_wait(x->split, n, i->pc);
  return mx__next_split(x);
}

const struct mx_insn *mx__op_bar_sync(struct mx_exec *x, const struct mx_insn *i) {
  return arrive(x, i, MX_BARRIER_ARRIVAL);
}
const struct mx_insn *mx__op_bar_arrive(struct mx_exec *x, const struct mx_insn *i) {
  return arrive(x, i, MX_BARRIER_SIGNAL);
}
const struct mx_insn *mx__op_bar_red(struct mx_exec *x, const struct mx_insn *i) {
  return arrive(x, i, MX_BARRIER_ARRIVAL);
}

/* A lane's bit is set from its arrival until the barrier is complete, so it tells whether a wait is over. Compiled code
 * does not report ended lanes here, so completeness is tested again. */
const struct mx_insn *mx__op_cluster_arrive(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_block *b = x->block;
  const uint32_t w = x->warp->number;
  uint64_t *owed = &b->barriers[MX_CLUSTER_OWED].arrived[w];
  mx__cluster_recheck(b->leader);
  if (x->mask & *owed)
    return mx__trap_at(x, i, MX_TRAP_BARRIER, x->mask & *owed,
                       mx__format("they have arrived at the cluster's barrier before, and not waited since"));
  b->barriers_used |= 1u << MX_CLUSTER_BARRIER | 1u << MX_CLUSTER_OWED;
  b->barriers[MX_CLUSTER_BARRIER].arrived[w] |= x->mask;
  *owed |= x->mask;
  MX_TELL(b->launch, arrives, x, i, MX_CLUSTER_BARRIER, false);
  mx__cluster_recheck(b->leader);
  mx__find_resched_rank(x);
  return i + 1;
}
const struct mx_insn *mx__op_cluster_wait(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_block *b = x->block;
  const uint32_t w = x->warp->number;
  uint64_t *owed = &b->barriers[MX_CLUSTER_OWED].arrived[w];
  if (x->mask & ~*owed)
    return mx__trap_at(x, i, MX_TRAP_BARRIER, x->mask & ~*owed,
                       mx__format("they wait at the cluster's barrier, and have not arrived there"));
  mx__cluster_recheck(b->leader);
  mx__find_resched_rank(x);
  const uint64_t wait = x->mask & b->barriers[MX_CLUSTER_BARRIER].arrived[w];
  *owed &= ~(wait ? wait : x->mask);
  if (!wait) return i + 1;
  MX_TELL(x->launch, arrives, x, i, MX_CLUSTER_BARRIER, true);
  x->split->pc = i->pc;
  if (wait != x->mask) mx__split_off(x, x->mask & ~wait, i->pc, MX_RUNNABLE);
  mx__barrier_wait(x->split, MX_CLUSTER_BARRIER, i->pc);
  return mx__next_split(x);
}

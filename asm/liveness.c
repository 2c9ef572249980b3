/* Which registers must be kept, and where. Separate because allocation, names and spilling all stand on it; must not
 * know slots.
 *
 * Why the plain, per-path liveness of a scalar machine is right although 32 or 64 lanes run at once: a slot is an array
 * with one value a lane, and an instruction writes only the lanes that execute it. So the values that lane l sees in its
 * column of a slot were all written by instructions on l's own path, in the order of that path, whatever the other
 * lanes of the warp did meanwhile: lanes that wait at a reconvergence point, or are on the other side of a branch, do not
 * execute, and their columns rest. Two registers may therefore share a slot if and only if no single path has both
 * alive at once. The same holds for predicate slots, which are written bit by bit under the mask. Three things need care:
 *  - A guarded instruction leaves the lanes alone where its guard does not hold: it reads and writes its result.
 *  - Lanes read each other's registers only in the instructions that rendezvous (shuffles, votes, ballots). Each lane
 *    contributes the operand of the instruction at which it stands itself, where that operand is alive for it.
 *  - A called function has a frame of its own, so a call reads its arguments, writes its results, and nothing else. */
#include "back.h"

#include <stdlib.h>

enum { READS = 1, WRITES = 2, KILLS = 4 };
struct occurrence { uint32_t insn; uint32_t flags; };

struct finder {
  const struct back_body *b;
  const struct cfg *g;
  uint32_t *occ_at, *nocc;         /* of each register, in the order of the text */
  struct occurrence *occ;
  /* Per block, for the register at hand (its number + 1). */
  uint32_t *live_in, *live_out, *kills, *seen;
  uint32_t *work, *touched; uint32_t nwork, ntouched;
  struct back_range *ranges; uint32_t nranges, capacity;
};

static void note(struct finder *f, uint32_t reg, uint32_t insn, uint32_t flags) {
  struct occurrence *o = f->occ + f->occ_at[reg];
  uint32_t n = f->nocc[reg];
  if (n && o[n - 1].insn == insn) {
    o[n - 1].flags |= flags;
    return;
  }
  o[n] = (struct occurrence){insn, flags};
  f->nocc[reg] = n + 1;
}

/* Calls do(register, flags) for everything that instruction i touches. */
#define EACH_TOUCH(b_, i_, do_)                                                                                     \
  do {                                                                                                              \
    const struct ir_insn *in_ = &(b_)->insns[i_];                                                                   \
    if (in_->guard != IR_NONE) do_(in_->guard, READS);                                                              \
    for (uint32_t k_ = 0; k_ < in_->nopnds; k_++) {                                                                 \
      const struct ir_opnd *o_ = &in_->opnds[k_];                                                                   \
      if (o_->kind != IR_REG) continue;                                                                             \
      /* The high half of a pair is written after the low half, which must survive. */                              \
      uint32_t keeps_ = in_->guard != IR_NONE && !(b_)->regs[o_->reg].one_write ? READS : o_->raw ? READS : KILLS;   \
      do_(o_->reg, mx__insn_writes(in_, k_) ? WRITES | keeps_ : READS);                                             \
    }                                                                                                               \
    if (in_->op == MX_RET)                                                                                          \
      for (uint32_t k_ = 0; k_ < (b_)->func->nresults; k_++) do_((b_)->results[k_], READS);                         \
  } while (0)

static void collect(struct finder *f) {
  const struct back_body *b = f->b;
  f->occ_at = mx__arena_alloc(b->arena, ((size_t)b->nregs + 1) * sizeof *f->occ_at);
  f->nocc = mx__arena_alloc(b->arena, ((size_t)b->nregs + 1) * sizeof *f->nocc);
#define COUNT(r_, flags_) (void)(flags_), f->occ_at[(r_) + 1]++
  for (uint32_t i = 0; i < b->ninsns; i++) EACH_TOUCH(b, i, COUNT);
#undef COUNT
  for (uint32_t r = 0; r < b->nregs; r++) f->occ_at[r + 1] += f->occ_at[r];
  f->occ = mx__arena_alloc(b->arena, ((size_t)f->occ_at[b->nregs] + 1) * sizeof *f->occ);
#define NOTE(r_, flags_) note(f, r_, i, flags_)
  for (uint32_t i = 0; i < b->ninsns; i++) EACH_TOUCH(b, i, NOTE);
#undef NOTE
}

static void add_range(struct finder *f, uint32_t lo, uint32_t hi) {
  if (lo >= hi) return;
  if (f->nranges == f->capacity) {
    uint32_t capacity = f->capacity ? f->capacity * 2 : 256;
    f->ranges = mx__arena_grow(f->b->arena, f->ranges, f->capacity * sizeof *f->ranges, capacity * sizeof *f->ranges);
    f->capacity = capacity;
  }
  f->ranges[f->nranges++] = (struct back_range){lo, hi};
}

static void touch(struct finder *f, uint32_t block, uint32_t mark) {
  if (f->seen[block] != mark) f->touched[f->ntouched++] = block;
  f->seen[block] = mark;
}

static void enter_block(struct finder *f, uint32_t block, uint32_t mark) {
  if (f->live_in[block] == mark) return;
  f->live_in[block] = mark;
  touch(f, block, mark);
  f->work[f->nwork++] = block;
}

/* Ranges of one register inside one block, last first. Its occurrences there are o[0] .. o[n]. */
static void ranges_of_block(struct finder *f, uint32_t block, bool alive, const struct occurrence *o, uint32_t n) {
  uint32_t end = f->g->first[block + 1];
  while (n--) {
    uint32_t i = o[n].insn;
    if (o[n].flags & WRITES && !alive) {
      /* Never read again, yet the write needs a place that nobody else uses just then. */
      end = i + 2, alive = true;
    }
    if (o[n].flags & KILLS) add_range(f, i + 1, end), alive = false;
    if (o[n].flags & READS && !alive) end = i + 1, alive = true;
  }
  if (alive) add_range(f, f->g->first[block], end);
}

static int descending(const void *x, const void *y) {
  uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
  return a > b ? -1 : a < b;
}

static void ranges_of_register(struct finder *f, uint32_t reg, bool is_argument) {
  const struct cfg *g = f->g;
  const struct occurrence *occ = f->occ + f->occ_at[reg];
  uint32_t n = f->nocc[reg], mark = reg + 1;
  f->nwork = f->ntouched = 0;
  for (uint32_t i = 0; i < n;) {
    uint32_t block = g->block_of[occ[i].insn], last = g->first[block + 1];
    touch(f, block, mark);
    bool open = true; /* not yet killed in this block */
    for (; i < n && occ[i].insn < last; i++) {
      if (open && occ[i].flags & READS) enter_block(f, block, mark);
      if (occ[i].flags & KILLS) open = false, f->kills[block] = mark;
    }
  }
  while (f->nwork) {
    uint32_t block = f->work[--f->nwork];
    for (uint32_t i = g->pred_at[block]; i < g->pred_at[block + 1]; i++) {
      uint32_t p = g->pred[i];
      if (f->live_out[p] == mark) continue;
      f->live_out[p] = mark;
      if (f->kills[p] != mark) enter_block(f, p, mark);
    }
  }
  qsort(f->touched, f->ntouched, sizeof *f->touched, descending);
  uint32_t base = f->nranges;
  for (uint32_t t = 0, end = n; t < f->ntouched; t++) {
    uint32_t block = f->touched[t], begin = end;
    while (begin && occ[begin - 1].insn >= g->first[block]) begin--;
    ranges_of_block(f, block, f->live_out[block] == mark, occ + begin, end - begin);
    end = begin;
  }
  if (is_argument) add_range(f, 0, 1);
  /* Turn them round, and join those that touch. */
  struct back_range *r = f->ranges + base;
  uint32_t m = f->nranges - base, kept = 0;
  for (uint32_t i = 0; i < m / 2; i++) {
    struct back_range t = r[i];
    r[i] = r[m - 1 - i], r[m - 1 - i] = t;
  }
  for (uint32_t i = 0; i < m; i++) {
    if (kept && r[i].lo <= r[kept - 1].hi) {
      if (r[i].hi > r[kept - 1].hi) r[kept - 1].hi = r[i].hi;
    } else {
      r[kept++] = r[i];
    }
  }
  f->nranges = base + kept;
}

struct back_live *mx__liveness(const struct back_body *b, const struct cfg *g) {
  struct mx_arena *arena = b->arena;
  struct finder f = {.b = b, .g = g};
  collect(&f);
  size_t bytes = ((size_t)g->nblocks + 1) * sizeof(uint32_t);
  f.live_in = mx__arena_alloc(arena, bytes), f.live_out = mx__arena_alloc(arena, bytes);
  f.kills = mx__arena_alloc(arena, bytes), f.work = mx__arena_alloc(arena, bytes);
  f.touched = mx__arena_alloc(arena, bytes), f.seen = mx__arena_alloc(arena, bytes);
  bool *is_argument = mx__arena_alloc(arena, (size_t)b->nregs + 1);
  for (uint32_t i = 0; i < b->func->nargs; i++) is_argument[b->args[i]] = true;
  uint32_t *depths = mx__cfg_depths(arena, g);

  struct back_live *live = mx__arena_alloc(arena, sizeof *live);
  live->at = mx__arena_alloc(arena, ((size_t)b->nregs + 1) * sizeof *live->at);
  live->weight = mx__arena_alloc(arena, ((size_t)b->nregs + 1) * sizeof *live->weight);
  for (uint32_t r = 0; r < b->nregs; r++) {
    live->at[r] = f.nranges;
    ranges_of_register(&f, r, is_argument[r]);
    for (uint32_t i = 0; i < f.nocc[r]; i++) {
      static const float times[] = {1, 10, 100, 1000, 10000};
      uint32_t depth = depths[g->block_of[f.occ[f.occ_at[r] + i].insn]];
      live->weight[r] += times[depth < 4 ? depth : 4];
    }
  }
  live->at[b->nregs] = f.nranges;
  live->ranges = f.ranges;
  return live;
}

/* Which registers must be kept, and where. Separate because allocation, names and spilling all stand on it; must not
 * know slots.
 *
 * Why the plain, per-path liveness of a scalar machine is right although 32 or 64 lanes run at once: a slot is an array
 * with one value a lane, and an instruction writes only the lanes that execute it. So the values that lane l sees in
 * its column of a slot were all written by instructions on l's own path, in the order of that path, whatever the other
 * lanes of the warp did meanwhile: lanes that wait at a reconvergence point, or are on the other side of a branch, do
 * not execute, and their columns rest. Two registers may therefore share a slot if and only if no single path has both
 * alive at once. The same holds for predicate slots, which are written bit by bit under the mask. But such sharing
 * costs time: compiled code writes whole slots, and has to keep the bits of those lanes that wait and will read them.
 * So what waiting lanes need counts as alive, too (waits.c), as long as there are enough slots. Three things need care:
 *  - A guarded instruction leaves the lanes alone where its guard does not hold: it reads and writes its result.
 *  - Lanes read each other's registers only in the instructions that rendezvous (shuffles, votes, ballots). Each lane
 *    contributes the operand of the instruction at which it stands itself, where that operand is alive for it.
 *  - A called function has a frame of its own, so a call reads its arguments, writes its results, and nothing else. */
#include "back.h"

#include <string.h>

enum { READS = 1, WRITES = 2, KILLS = 4 };
struct occurrence {
  uint32_t insn;
  uint32_t flags;
};

/* Registers that are alive across blocks are followed GROUP at a time, one bit each: so memory stays in proportion to
 * the blocks, and a register that lives through thousands of them costs next to nothing. */
enum { GROUP = 64 };
/* So many steps, of one group in one block each, take about a second. Of hostile text that needs more, all registers
 * count as alive everywhere, which is right as well and only takes more slots. */
#ifndef MAX_WORK
#define MAX_WORK (UINT64_C(1) << 25)
#endif

struct finder {
  const struct back_body *b;
  const struct cfg *g;
  uint32_t *occ_at, *nocc; /* of each register, in the order of the text */
  struct occurrence *occ;
  uint32_t *postorder;
  uint64_t *in, *out, *kills;     /* by block, for the group at hand */
  const struct back_waits *waits; /* NULL: those of waiting lanes do not count */
  const bool *kept;
  uint64_t *held; /* by block: what lanes need that wait meanwhile */
  bool *queued;
  uint32_t *queue;
  /* Where bit k of `in` changes from block to block: changes[change_at[k]] .. changes[change_at[k + 1]]. */
  struct change {
    uint32_t block, bit;
  } * raw_changes;
  uint32_t nchanges, changes_capacity;
  uint32_t *changes, changes_sorted_capacity, change_at[GROUP + 1];
  struct back_range *ranges;
  uint32_t nranges, capacity;
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
#define EACH_TOUCH(b_, i_, do_) \
  do { \
    const struct ir_insn *in_ = &(b_)->insns[i_]; \
    if (in_->guard != IR_NONE) do_(in_->guard, READS); \
    for (uint32_t k_ = 0; k_ < in_->nopnds; k_++) { \
      const struct ir_opnd *o_ = &in_->opnds[k_]; \
      if (o_->kind != IR_REG) continue; \
      /* The high half of a pair is written after the low half, which must survive. */ \
      uint32_t keeps_ = in_->guard != IR_NONE && !(b_)->regs[o_->reg].one_write ? READS : o_->raw ? READS : KILLS; \
      do_(o_->reg, mx__insn_writes(in_, k_) ? WRITES | keeps_ : READS); \
    } \
    if (in_->op == MX_RET) \
      for (uint32_t k_ = 0; k_ < (b_)->func->nresults; k_++) do_((b_)->results[k_], READS); \
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
    uint32_t capacity = f->capacity * 2;
    f->ranges = mx__arena_grow(f->b->arena, f->ranges, f->capacity * sizeof *f->ranges, capacity * sizeof *f->ranges);
    f->capacity = capacity;
  }
  f->ranges[f->nranges++] = (struct back_range){lo, hi};
}

/* Whether some block reads the register before writing it. */
static bool crosses_blocks(const struct finder *f, uint32_t reg) {
  const struct occurrence *occ = f->occ + f->occ_at[reg];
  uint32_t end = 0; /* of the block in which the register has been killed already */
  for (uint32_t i = 0; i < f->nocc[reg]; i++) {
    bool killed = occ[i].insn < end;
    if (!killed && occ[i].flags & READS) return true;
    if (occ[i].flags & KILLS) end = f->g->first[f->g->block_of[occ[i].insn] + 1];
  }
  return false;
}

static void add_change(struct finder *f, uint32_t block, uint32_t bit) {
  if (f->nchanges == f->changes_capacity) {
    uint32_t capacity = f->changes_capacity ? f->changes_capacity * 2 : 256;
    f->raw_changes = mx__arena_grow(f->b->arena, f->raw_changes, f->nchanges * sizeof *f->raw_changes,
                                    capacity * sizeof *f->raw_changes);
    f->changes_capacity = capacity;
  }
  f->raw_changes[f->nchanges++] = (struct change){block, bit};
}

static void find_changes(struct finder *f) {
  uint64_t before = 0;
  f->nchanges = 0;
  memset(f->change_at, 0, sizeof f->change_at);
  for (uint32_t block = 0; block <= f->g->nblocks; block++) {
    uint64_t now = block < f->g->nblocks ? f->in[block] : 0;
    for (uint64_t d = now ^ before; d; d &= d - 1) {
      uint32_t bit = (uint32_t)__builtin_ctzll(d);
      add_change(f, block, bit);
      f->change_at[bit + 1]++;
    }
    before = now;
  }
  if (f->nchanges > f->changes_sorted_capacity) {
    f->changes = mx__arena_alloc(f->b->arena, f->changes_capacity * sizeof *f->changes);
    f->changes_sorted_capacity = f->changes_capacity;
  }
  for (uint32_t k = 0; k < GROUP; k++) f->change_at[k + 1] += f->change_at[k];
  uint32_t fill[GROUP];
  memcpy(fill, f->change_at, sizeof fill);
  for (uint32_t i = 0; i < f->nchanges; i++) f->changes[fill[f->raw_changes[i].bit]++] = f->raw_changes[i].block;
}

/* What lanes need that wait before a block counts as alive in the blocks that run meanwhile. */
static void hold(struct finder *f, const uint32_t *regs, uint32_t n) {
  if (!f->waits) return;
  uint64_t kept = 0;
  for (uint32_t k = 0; k < n; k++) kept |= (uint64_t)f->kept[f->b->regs[regs[k]].file] << k;
  memset(f->held, 0, f->g->nblocks * sizeof *f->held);
  for (uint32_t i = 0; i < f->waits->n; i++) {
    const struct back_wait *w = &f->waits->at[i];
    const uint64_t needed = f->in[w->block] & kept;
    for (uint32_t k = w->begin; needed && k < w->end; k++) f->held[f->waits->order[k]] |= needed;
  }
  for (uint32_t b = 0; b < f->g->nblocks; b++) f->in[b] |= f->held[b];
}

/* Solves the data flow of n registers. */
static void flow(struct finder *f, const uint32_t *regs, uint32_t n) {
  const struct cfg *g = f->g;
  size_t bytes = g->nblocks * sizeof(uint64_t);
  memset(f->in, 0, bytes), memset(f->out, 0, bytes), memset(f->kills, 0, bytes);
  for (uint32_t k = 0; k < n; k++) {
    const struct occurrence *occ = f->occ + f->occ_at[regs[k]];
    for (uint32_t i = 0; i < f->nocc[regs[k]]; i++) {
      uint32_t block = g->block_of[occ[i].insn];
      uint64_t bit = UINT64_C(1) << k;
      if (occ[i].flags & READS && !(f->kills[block] & bit)) f->in[block] |= bit;
      if (occ[i].flags & KILLS) f->kills[block] |= bit;
    }
  }
  uint32_t head = 0, count = 0;
  for (uint32_t i = 0; i < g->nblocks; i++) {
    uint32_t block = f->postorder[i];
    if (f->in[block]) f->queue[count++] = block, f->queued[block] = true;
  }
  while (count) {
    uint32_t block = f->queue[head];
    head = head + 1 == g->nblocks ? 0 : head + 1, count--;
    f->queued[block] = false;
    for (uint32_t i = g->pred_at[block]; i < g->pred_at[block + 1]; i++) {
      uint32_t p = g->pred[i];
      uint64_t in = f->in[p] | (f->in[block] & ~f->kills[p]);
      f->out[p] |= f->in[block];
      if (in == f->in[p]) continue;
      f->in[p] = in;
      if (f->queued[p]) continue;
      f->queue[head + count < g->nblocks ? head + count : head + count - g->nblocks] = p;
      count++, f->queued[p] = true;
    }
  }
  hold(f, regs, n);
  find_changes(f);
}

/* Ranges of one register inside one block, last first. Its occurrences there are o[0] .. o[n]. */
static void ranges_of_block(struct finder *f, uint32_t block, bool alive, const struct occurrence *o, uint32_t n) {
  uint32_t end = f->g->first[block + 1];
  while (n--) {
    uint32_t i = o[n].insn;
    if (o[n].flags & WRITES && !alive) {
      /* Never read again, yet the write needs a slot that no other register has at that point. */
      end = i + 2, alive = true;
    }
    if (o[n].flags & KILLS) add_range(f, i + 1, end), alive = false;
    if (o[n].flags & READS && !alive) end = i + 1, alive = true;
  }
  if (alive) add_range(f, f->g->first[block], end);
}

/* Ranges of a register; bit: its number in the group, or GROUP if it stays inside blocks. */
static void ranges_of_register(struct finder *f, uint32_t reg, uint32_t bit, bool is_argument) {
  const struct cfg *g = f->g;
  const struct occurrence *occ = f->occ + f->occ_at[reg];
  uint32_t n = f->nocc[reg], base = f->nranges;
  const uint32_t *change = NULL, *last = NULL; /* in pairs: alive at the begin of blocks from one to before the other */
  if (bit < GROUP) change = f->changes + f->change_at[bit], last = f->changes + f->change_at[bit + 1];
  uint32_t begin = 0; /* blocks before it are done */
  if (is_argument) add_range(f, 0, 1);
  for (uint32_t i = 0;;) {
    uint32_t block = i < n ? g->block_of[occ[i].insn] : g->nblocks;
    /* Blocks in between have no occurrence: alive at their begin is alive throughout. */
    for (; change < last && change[0] < block; change += 2) {
      uint32_t lo = change[0] > begin ? change[0] : begin, hi = change[1] < block ? change[1] : block;
      if (lo < hi) add_range(f, g->first[lo], g->first[hi]);
      if (change[1] > block) break;
    }
    if (i == n) break;
    uint32_t end = i, from = f->nranges;
    while (end < n && occ[end].insn < g->first[block + 1]) end++;
    if (bit < GROUP && f->waits && f->held[block] >> bit & 1) {
      /* behind a write, its slot is taken up to the next instruction, even if that belongs to another block */
      const struct occurrence *o = &occ[end - 1];
      const bool at_end = o->flags & WRITES && o->insn + 1 == g->first[block + 1];
      add_range(f, g->first[block], g->first[block + 1] + at_end);
    } else ranges_of_block(f, block, bit < GROUP && f->out[block] >> bit & 1, occ + i, end - i);
    for (uint32_t x = from, y = f->nranges; x + 1 < y; x++, y--) {
      struct back_range t = f->ranges[x];
      f->ranges[x] = f->ranges[y - 1], f->ranges[y - 1] = t;
    }
    i = end, begin = block + 1;
  }
  /* Join those that touch. */
  struct back_range *r = f->ranges + base;
  uint32_t m = f->nranges - base, kept = 0;
  for (uint32_t i = 0; i < m; i++) {
    if (kept && r[i].lo <= r[kept - 1].hi) {
      if (r[i].hi > r[kept - 1].hi) r[kept - 1].hi = r[i].hi;
    } else {
      r[kept++] = r[i];
    }
  }
  f->nranges = base + kept;
}

struct back_live *mx__liveness(const struct back_body *b, const struct cfg *g, const bool kept[BACK_FILES]) {
  struct mx_arena *arena = b->arena;
  struct finder f = {.b = b, .g = g, .postorder = mx__cfg_postorder(arena, g), .capacity = 256};
  f.ranges = mx__arena_alloc(
      arena, f.capacity * sizeof *f.ranges); /* also where there will be none: others add to the address */
  collect(&f);
  size_t nblocks = (size_t)g->nblocks + 1, nregs = (size_t)b->nregs + 1;
  f.in = mx__arena_alloc(arena, nblocks * sizeof *f.in), f.out = mx__arena_alloc(arena, nblocks * sizeof *f.out);
  f.kills = mx__arena_alloc(arena, nblocks * sizeof *f.kills);
  f.queue = mx__arena_alloc(arena, nblocks * sizeof *f.queue), f.queued = mx__arena_alloc(arena, nblocks);
  bool *is_argument = mx__arena_alloc(arena, nregs), *is_result = mx__arena_alloc(arena, nregs);
  bool *crosses = mx__arena_alloc(arena, nregs);
  uint64_t ncrossing = 0;
  for (uint32_t i = 0; i < b->func->nargs; i++) is_argument[b->args[i]] = true;
  for (uint32_t i = 0; i < b->func->nresults; i++) is_result[b->results[i]] = true;
  for (uint32_t r = 0; r < b->nregs; r++) ncrossing += crosses[r] = crosses_blocks(&f, r);
  const uint64_t ngroups = (ncrossing + GROUP - 1) / GROUP;
  bool precise = ngroups * g->nblocks <= MAX_WORK, keeps = false;
  for (int k = 0; k < BACK_FILES; k++) keeps |= kept[k];
  if (keeps && precise && ncrossing) {
    f.waits = mx__waits(arena, g), f.kept = kept;
    if (ngroups * f.waits->work > MAX_WORK) f.waits = NULL;
    f.held = mx__arena_alloc(arena, nblocks * sizeof *f.held);
  }
  uint32_t *depths = mx__cfg_depths(arena, g);

  struct back_live *live = mx__arena_alloc(arena, sizeof *live);
  live->at = mx__arena_alloc(arena, nregs * sizeof *live->at);
  live->weight = mx__arena_alloc(arena, nregs * sizeof *live->weight);
  uint32_t group[GROUP], followed = 0; /* registers below `followed` had their turn in a group */
  for (uint32_t r = 0, bit = 0; r < b->nregs; r++) {
    if (crosses[r] && precise && r >= followed) {
      uint32_t n = 0;
      for (; followed < b->nregs && n < GROUP; followed++)
        if (crosses[followed]) group[n++] = followed;
      flow(&f, group, n);
      bit = 0;
    }
    live->at[r] = f.nranges;
    if (crosses[r] && !precise) add_range(&f, 0, b->ninsns);
    else ranges_of_register(&f, r, crosses[r] ? bit : GROUP, is_argument[r]);
    bit += crosses[r];
    /* Where a function never returns, its results still need names for the places in which they would. */
    if (is_result[r] && live->at[r] == f.nranges) add_range(&f, 0, 1);
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

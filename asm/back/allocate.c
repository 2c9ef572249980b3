/* Gives every register a slot. Separate because no other file depends on how slots are shared; must not know words.
 *
 * First fit over live ranges with their holes: each slot has a bit for every point of the function (the point i lies
 * before instruction i), set while the slot is taken. Registers come in the order in which they begin to live, so low
 * slots stay busy and frames small. Floats share no slots with others as long as there are enough: a compiler of these
 * words keeps a uniform slot as a number in a general register if it only ever holds integers. Where a file of slots is
 * full, registers move to cells (spill.c) and it begins anew. */
#include "back.h"

#include <stdlib.h>
#include <string.h>

/* Each round moves registers out of the way, most often all that must go in the first one. */
#define MAX_ROUNDS 32

struct slots {
  uint64_t **busy;
  uint32_t *end;
  bool *for_floats; /* what it held first */
  uint32_t count, limit, capacity;
};
struct allocator {
  struct back_body *b;
  const struct back_live *live;
  struct slots file[BACK_FILES];
  size_t words;
};

static const uint32_t limits[BACK_FILES] = {
    MX_MAX_PREDS, MX_MAX_SLOTS, MX_MAX_SLOTS, BACK_MAX_CELLS, BACK_MAX_CELLS, BACK_MAX_CELLS,
};

static bool any_bit(const uint64_t *bits, uint32_t lo, uint32_t hi) {
  uint32_t w = lo / 64, last = (hi - 1) / 64;
  uint64_t mask = UINT64_MAX << lo % 64, last_mask = UINT64_MAX >> (63 - (hi - 1) % 64);
  if (w == last) return bits[w] & mask & last_mask;
  if (bits[w] & mask) return true;
  while (++w < last)
    if (bits[w]) return true;
  return bits[last] & last_mask;
}

static void set_bits(uint64_t *bits, uint32_t lo, uint32_t hi) {
  for (uint32_t i = lo; i < hi;) {
    if (i % 64 == 0 && hi - i >= 64) bits[i / 64] = UINT64_MAX, i += 64;
    else bits[i / 64] |= UINT64_C(1) << i % 64, i++;
  }
}

static const struct back_range *ranges_of(const struct allocator *a, uint32_t reg, uint32_t *n) {
  *n = a->live->at[reg + 1] - a->live->at[reg];
  return a->live->ranges + a->live->at[reg];
}

static void open_slots(struct allocator *a, struct slots *f, uint32_t count) {
  if (count > f->capacity) {
    uint32_t capacity = f->capacity ? f->capacity * 2 : 16;
    if (capacity < count) capacity = count;
    f->busy = mx__arena_grow(a->b->arena, f->busy, f->capacity * sizeof *f->busy, capacity * sizeof *f->busy);
    f->end = mx__arena_grow(a->b->arena, f->end, f->capacity * sizeof *f->end, capacity * sizeof *f->end);
    f->for_floats = mx__arena_grow(a->b->arena, f->for_floats, f->capacity * sizeof *f->for_floats,
                                   capacity * sizeof *f->for_floats);
    f->capacity = capacity;
  }
  while (f->count < count) f->busy[f->count++] = mx__arena_alloc(a->b->arena, a->words * sizeof(uint64_t));
}

static bool is_free(const struct slots *f, uint32_t slot, const struct back_range *r, uint32_t n) {
  if (slot >= f->count) return true;
  for (uint32_t i = 0; i < n && r[i].lo < f->end[slot]; i++)
    if (any_bit(f->busy[slot], r[i].lo, r[i].hi)) return false;
  return true;
}

static bool is_float(const struct back_reg *g) { return g->type == MX_T_f32 || g->type == MX_T_f64; }
static void take(struct allocator *a, uint32_t reg, uint32_t slot) {
  struct back_reg *g = &a->b->regs[reg];
  struct slots *f = &a->file[g->file];
  uint32_t n;
  const struct back_range *r = ranges_of(a, reg, &n);
  g->slot = slot;
  for (uint32_t k = f->count; k < slot + g->width; k++) open_slots(a, f, k + 1), f->for_floats[k] = is_float(g);
  for (uint32_t k = slot; k < slot + g->width; k++) {
    for (uint32_t i = 0; i < n; i++) set_bits(f->busy[k], r[i].lo, r[i].hi);
    if (n && r[n - 1].hi > f->end[k]) f->end[k] = r[n - 1].hi;
  }
}

static bool place(struct allocator *a, uint32_t reg) {
  const struct back_reg *g = &a->b->regs[reg];
  const struct slots *f = &a->file[g->file];
  uint32_t n;
  const struct back_range *r = ranges_of(a, reg, &n);
  for (unsigned any = 0; any < 2; any++)
    for (uint32_t slot = 0; slot + g->width <= f->limit; slot += g->width) { /* pairs are even */
      if (!any && slot < f->count && f->for_floats[slot] != is_float(g)) continue;
      if (is_free(f, slot, r, n) && (g->width == 1 || is_free(f, slot + 1, r, n))) {
        take(a, reg, slot);
        return true;
      }
    }
  return false;
}

struct order {
  uint32_t reg, begin;
  bool wide;
};
static int compare_order(const void *x, const void *y) {
  const struct order *a = x, *b = y;
  if (a->wide != b->wide) return a->wide ? -1 : 1; /* pairs first, while slots are not in pieces */
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return a->reg < b->reg ? -1 : a->reg > b->reg;
}

/* Cells are not scarce, and tens of thousands of registers may be in them. So instead of bits for each point there is
 * one heap of the cells in use, by the point at which each becomes free. Pairs come first and have cells of their own.
 */
struct cells {
  struct {
    uint32_t free_at, cell;
  } * heap;
  uint32_t n, capacity;
  uint8_t width;
};

static void sift_down(struct cells *c, uint32_t i) {
  for (uint32_t k = 2 * i + 1; k < c->n; i = k, k = 2 * i + 1) {
    if (k + 1 < c->n && c->heap[k + 1].free_at < c->heap[k].free_at) k++;
    if (c->heap[i].free_at <= c->heap[k].free_at) return;
    __typeof__(*c->heap) t = c->heap[i];
    c->heap[i] = c->heap[k], c->heap[k] = t;
  }
}

static bool place_cell(struct allocator *a, struct cells *c, uint32_t reg) {
  struct back_reg *g = &a->b->regs[reg];
  struct slots *f = &a->file[g->file];
  uint32_t n;
  const struct back_range *r = ranges_of(a, reg, &n);
  if (c->width != g->width) c->n = 0, c->width = g->width;
  if (c->n && c->heap[0].free_at <= r[0].lo) {
    g->slot = c->heap[0].cell;
    c->heap[0].free_at = r[n - 1].hi;
    sift_down(c, 0);
    return true;
  }
  if (f->count + g->width > f->limit) return false;
  g->slot = f->count;
  f->count += g->width;
  if (c->n == c->capacity) {
    uint32_t capacity = c->capacity ? c->capacity * 2 : 64;
    c->heap = mx__arena_grow(a->b->arena, c->heap, c->n * sizeof *c->heap, capacity * sizeof *c->heap);
    c->capacity = capacity;
  }
  uint32_t i = c->n++;
  for (; i && c->heap[(i - 1) / 2].free_at > r[n - 1].hi; i = (i - 1) / 2) c->heap[i] = c->heap[(i - 1) / 2];
  c->heap[i].free_at = r[n - 1].hi, c->heap[i].cell = g->slot;
  return true;
}

/* One round with these live ranges. Registers for which there was no slot are marked. */
static bool place_all(struct allocator *a, bool *unplaced) {
  struct back_body *b = a->b;
  struct order *order = mx__arena_alloc(b->arena, ((size_t)b->nregs + 1) * sizeof *order);
  uint32_t count = 0;
  for (uint32_t r = 0; r < b->nregs; r++) {
    if (a->live->at[r] == a->live->at[r + 1]) continue; /* never used: no slot */
    if (b->regs[r].fixed >= 0) {
      take(a, r, (uint32_t)b->regs[r].fixed);
      continue;
    }
    order[count++] = (struct order){r, a->live->ranges[a->live->at[r]].lo, b->regs[r].width > 1};
  }
  qsort(order, count, sizeof *order, compare_order);
  bool all = true;
  struct cells cells[BACK_FILES] = {{0}};
  for (uint32_t i = 0; i < count; i++) {
    uint8_t file = b->regs[order[i].reg].file;
    if (file < BACK_CELLS ? place(a, order[i].reg) : place_cell(a, &cells[file], order[i].reg)) continue;
    unplaced[order[i].reg] = true, all = false;
  }
  return all;
}

/* Text with .slots: every slot is the author's. */
static bool keep_physical(struct back_body *b) {
  static const uint8_t order[] = {BACK_R32, BACK_R64, BACK_PRED, BACK_CELL_32, BACK_CELL_64, BACK_CELL_PRED};
  for (size_t i = 0; i < sizeof order; i++) b->slots[order[i]] = b->func->slots[i];
  for (uint32_t r = 0; r < b->nregs; r++) {
    struct back_reg *x = &b->regs[r];
    struct ir_loc loc = r < b->func->nregs ? b->func->regs[r].loc : b->func->loc;
    x->slot = (uint32_t)x->fixed;
    if (x->fixed >= 0 && x->slot + x->width <= b->slots[x->file]) continue;
    mx__diag(b->diags, MX_DIAG_ERROR, "unknown-register", loc, NULL,
             x->fixed < 0 ? "%s has .slots, so no register can be added for it here: name a slot"
                          : "%s has .slots: it does not have as many slots",
             b->func->name);
    return false;
  }
  return true;
}

/* ---- when slots run out ----------------------------------------------------------------------------------*/

/* Slots kept free for the temporaries that the registers chosen to move will need. */
static const uint32_t reserves[] = {[BACK_PRED] = 4, [BACK_R32] = 16, [BACK_R64] = 32};

struct event {
  uint32_t at;
  bool begins;
  uint32_t reg;
};
static int compare_events(const void *x, const void *y) {
  const struct event *a = x, *b = y;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  if (a->begins != b->begins) return a->begins ? 1 : -1;
  return a->reg < b->reg ? -1 : a->reg > b->reg;
}

/* How much it would cost to move a register, for each point that would be freed. */
struct score {
  float score;
  uint32_t reg;
};
static int compare_scores(const void *x, const void *y) {
  const struct score *a = x, *b = y;
  if (a->score < b->score || a->score > b->score) return a->score < b->score ? -1 : 1;
  return a->reg < b->reg ? -1 : a->reg > b->reg;
}

/* The lowest n scores come first. */
static void bring_forward(struct score *list, uint32_t count, uint32_t n) {
  for (uint32_t i = 0; i < n && i < count; i++) {
    uint32_t best = i;
    for (uint32_t k = i + 1; k < count; k++)
      if (compare_scores(&list[k], &list[best]) < 0) best = k;
    struct score t = list[i];
    list[i] = list[best], list[best] = t;
  }
}

static struct score score_of(const struct allocator *a, uint32_t reg) {
  uint32_t n, length = 0;
  const struct back_range *r = ranges_of(a, reg, &n);
  for (uint32_t i = 0; i < n; i++) length += r[i].hi - r[i].lo;
  return (struct score){a->live->weight[reg] / (float)(length ? length : 1), reg};
}

static bool may_spill(const struct back_reg *g) { return !g->temporary && g->fixed < 0 && g->file < BACK_CELLS; }

/* Goes through the function and, wherever more registers are alive than there is room for, picks the cheapest. */
static uint32_t choose_spills(const struct allocator *a, uint8_t file, uint32_t room, bool *spilled) {
  struct back_body *b = a->b;
  uint32_t nevents = 0, picked = 0, pressure = 0, nalive = 0;
  for (uint32_t r = 0; r < b->nregs; r++)
    if (b->regs[r].file == file) nevents += 2 * (a->live->at[r + 1] - a->live->at[r]);
  struct event *events = mx__arena_alloc(b->arena, ((size_t)nevents + 1) * sizeof *events);
  nevents = 0;
  for (uint32_t r = 0; r < b->nregs; r++) {
    if (b->regs[r].file != file) continue;
    for (uint32_t i = a->live->at[r]; i < a->live->at[r + 1]; i++) {
      events[nevents++] = (struct event){a->live->ranges[i].lo, true, r};
      events[nevents++] = (struct event){a->live->ranges[i].hi, false, r};
    }
  }
  qsort(events, nevents, sizeof *events, compare_events);
  struct score *alive =
      mx__arena_alloc(b->arena, ((size_t)b->nregs + 1) * sizeof *alive); /* those that may be spilled */
  for (uint32_t i = 0; i < nevents; i++) {
    const struct event *e = &events[i];
    const struct back_reg *g = &b->regs[e->reg];
    if (spilled[e->reg]) continue;
    if (e->begins) {
      pressure += g->width;
      if (may_spill(g)) alive[nalive++] = score_of(a, e->reg);
    } else {
      pressure -= g->width;
      for (uint32_t k = 0; k < nalive; k++)
        if (alive[k].reg == e->reg) alive[k] = alive[--nalive];
    }
    if (pressure <= room || (i + 1 < nevents && events[i + 1].at == e->at)) continue;
    /* Most often one register is too many: then its turn comes without sorting all of them. */
    if (pressure - room > 8) qsort(alive, nalive, sizeof *alive, compare_scores);
    else bring_forward(alive, nalive, pressure - room);
    uint32_t k = 0;
    while (k < nalive && pressure > room) {
      pressure -= b->regs[alive[k].reg].width;
      spilled[alive[k++].reg] = true;
      picked++;
    }
    nalive -= k;
    memmove(alive, alive + k, nalive * sizeof *alive);
  }
  return picked;
}

static bool overlap(const struct allocator *a, uint32_t x, uint32_t y) {
  uint32_t nx, ny;
  const struct back_range *rx = ranges_of(a, x, &nx), *ry = ranges_of(a, y, &ny);
  for (uint32_t i = 0, k = 0; i < nx && k < ny;) {
    if (rx[i].hi <= ry[k].lo) i++;
    else if (ry[k].hi <= rx[i].lo) k++;
    else return true;
  }
  return false;
}

/* There is room, but in pieces: registers without a slot are spilled themselves, or, for a temporary, the cheapest
 * register that is alive beside it is. */
static uint32_t choose_spills_of_fragmented(const struct allocator *a, const bool *unplaced, bool *spilled) {
  struct back_body *b = a->b;
  uint32_t picked = 0, looks = 0;
  for (uint32_t r = 0; r < b->nregs; r++) {
    if (!unplaced[r]) continue;
    if (may_spill(&b->regs[r])) {
      picked += !spilled[r], spilled[r] = true;
      continue;
    }
    if (looks++ == 64) break; /* each is a look at all registers; the others may have room next time */
    struct score best = {0, IR_NONE};
    for (uint32_t x = 0; x < b->nregs; x++) {
      if (b->regs[x].file != b->regs[r].file || !may_spill(&b->regs[x]) || !overlap(a, r, x)) continue;
      struct score s = score_of(a, x);
      if (best.reg == IR_NONE || compare_scores(&s, &best) < 0) best = s;
    }
    if (best.reg != IR_NONE) picked += !spilled[best.reg], spilled[best.reg] = true;
  }
  return picked;
}

/* Chooses registers to spill so that all find a slot next time. 0: none is left that could be spilled. */
static uint32_t choose_spill_set(const struct allocator *a, const bool *unplaced, uint32_t round, bool *spilled) {
  bool full[BACK_FILES] = {false};
  uint32_t picked = 0;
  for (uint32_t r = 0; r < a->b->nregs; r++) {
    if (unplaced[r]) full[a->b->regs[r].file] = true;
    if (unplaced[r] && a->b->regs[r].file >= BACK_CELLS) return 0;
  }
  for (uint8_t f = 0; f < BACK_CELLS; f++) {
    if (!full[f]) continue;
    uint32_t reserve = reserves[f] << (round / 4), limit = a->file[f].limit;
    picked += choose_spills(a, f, reserve < limit ? limit - reserve : 0, spilled);
  }
  return picked ? picked : choose_spills_of_fragmented(a, unplaced, spilled);
}

/* For debuggers: a named register is alive everywhere, so that it shares its slot with nobody. */
static const struct back_live *without_sharing(const struct back_body *b, const struct back_live *live,
                                               const bool *unshared) {
  struct back_live *all = mx__arena_alloc(b->arena, sizeof *all);
  all->at = mx__arena_alloc(b->arena, ((size_t)b->nregs + 1) * sizeof *all->at);
  all->ranges = mx__arena_alloc(b->arena, ((size_t)live->at[b->nregs] + 1) * sizeof *all->ranges);
  all->weight = live->weight;
  uint32_t n = 0;
  for (uint32_t r = 0; r < b->nregs; r++) {
    all->at[r] = n;
    if (live->at[r] == live->at[r + 1]) continue;
    if (b->regs[r].name && unshared[b->regs[r].file]) {
      all->ranges[n++] = (struct back_range){0, b->ninsns};
      continue;
    }
    for (uint32_t i = live->at[r]; i < live->at[r + 1]; i++) all->ranges[n++] = live->ranges[i];
  }
  all->at[b->nregs] = n;
  return all;
}

static void refuse(const struct back_body *b, const bool *unplaced) {
  uint32_t reg = 0;
  for (uint32_t r = 0; r < b->nregs; r++)
    if (unplaced[r] && (!unplaced[reg] || b->regs[r].file >= BACK_CELLS)) reg = r;
  if (b->regs[reg].file >= BACK_CELLS) {
    mx__diag(b->diags, MX_DIAG_ERROR, "too-many-values", b->func->loc, "split the function",
             "%s keeps more than %u values at once", b->func->name, BACK_MAX_CELLS);
    return;
  }
  mx__diag(b->diags, MX_DIAG_ERROR, "too-many-values", b->func->loc,
           "pass fewer values at once, or pass them in memory",
           "%s has a call, an argument list or a result list of more .%s values than there are slots", b->func->name,
           mx__types[b->regs[reg].type].name);
}

bool mx__allocate(struct back_body *b) {
  if (b->func->physical) return keep_physical(b);
  bool unshared[BACK_FILES]; /* no sharing between names in this file of slots, as long as they fit */
  bool kept[BACK_FILES];     /* what waiting lanes need has slots of its own */
  for (int f = 0; f < BACK_FILES; f++)
    kept[f] = f < BACK_CELLS, unshared[f] = b->module->one_slot_per_name && f < BACK_CELLS;
  for (uint32_t round = 0;;) {
    struct cfg *g = mx__cfg_build(b->arena, b);
    struct allocator a = {.b = b, .words = ((size_t)b->ninsns + 1) / 64 + 1};
    a.live = without_sharing(b, mx__liveness(b, g, kept), unshared);
    for (int f = 0; f < BACK_FILES; f++) a.file[f].limit = limits[f];
    bool *unplaced = mx__arena_alloc(b->arena, (size_t)b->nregs + 1);
    if (place_all(&a, unplaced)) {
      b->live = a.live;
      for (int f = 0; f < BACK_FILES; f++) b->slots[f] = a.file[f].count;
      return true;
    }
    bool shares_more = false;
    for (uint32_t r = 0; r < b->nregs; r++)
      if (unplaced[r] && (unshared[b->regs[r].file] || kept[b->regs[r].file]))
        unshared[b->regs[r].file] = kept[b->regs[r].file] = false, shares_more = true;
    if (shares_more) continue;
    bool *spilled = mx__arena_alloc(b->arena, (size_t)b->nregs + 1);
    if (round++ == MAX_ROUNDS || !choose_spill_set(&a, unplaced, round - 1, spilled)) {
      refuse(b, unplaced);
      return false;
    }
    mx__spill(b, spilled);
  }
}

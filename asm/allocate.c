/* Gives every register a slot. Separate because how slots are shared is nobody else's business; must not know words.
 *
 * First fit over live ranges with their holes: each slot has a bit for every point of the function (the point i lies
 * before instruction i), set while the slot is taken. Registers come in the order in which they begin to live, so low
 * slots stay busy and frames small. Where a file of slots is full, registers move to cells (spill.c) and it begins anew. */
#include "back.h"

#include <stdlib.h>

struct slots { uint64_t **busy; uint32_t *end; uint32_t count, limit, capacity; };
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

static void take(struct allocator *a, uint32_t reg, uint32_t slot) {
  struct back_reg *g = &a->b->regs[reg];
  struct slots *f = &a->file[g->file];
  uint32_t n;
  const struct back_range *r = ranges_of(a, reg, &n);
  g->slot = slot;
  open_slots(a, f, slot + g->width);
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
  /* Only in slots is a pair even; the cells of one are just neighbours. */
  uint32_t step = g->file == BACK_R64 ? g->width : 1;
  for (uint32_t slot = 0; slot + g->width <= f->limit; slot += step) {
    if (is_free(f, slot, r, n) && (g->width == 1 || is_free(f, slot + 1, r, n))) {
      take(a, reg, slot);
      return true;
    }
  }
  return false;
}

struct order { uint32_t reg, begin; bool wide; };
static int compare_order(const void *x, const void *y) {
  const struct order *a = x, *b = y;
  if (a->wide != b->wide) return a->wide ? -1 : 1; /* pairs first, while slots are not in pieces */
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return a->reg < b->reg ? -1 : a->reg > b->reg;
}

/* One round with these live ranges. Registers for which there was no slot are marked. */
static bool place_all(struct allocator *a, bool *homeless) {
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
  for (uint32_t i = 0; i < count; i++)
    if (!place(a, order[i].reg)) homeless[order[i].reg] = true, all = false;
  return all;
}

/* Text with .slots: every slot is the author's. */
static bool keep_physical(struct back_body *b) {
  static const uint8_t order[] = {BACK_R32, BACK_R64, BACK_PRED, BACK_CELL_32, BACK_CELL_64, BACK_CELL_PRED};
  for (size_t i = 0; i < sizeof order; i++) b->slots[order[i]] = b->func->slots[i];
  for (uint32_t r = 0; r < b->nregs; r++) b->regs[r].slot = (uint32_t)b->regs[r].fixed;
  return true;
}

bool mx__allocate(struct back_body *b) {
  if (b->func->physical) return keep_physical(b);
  struct cfg *g = mx__cfg_build(b->arena, b);
  struct allocator a = {.b = b, .live = mx__liveness(b, g), .words = ((size_t)b->ninsns + 1) / 64 + 1};
  for (int f = 0; f < BACK_FILES; f++) a.file[f].limit = limits[f];
  bool *homeless = mx__arena_alloc(b->arena, (size_t)b->nregs + 1);
  bool all = place_all(&a, homeless);
  b->live = mx__liveness(b, g);
  for (int f = 0; f < BACK_FILES; f++) b->slots[f] = a.file[f].count;
  if (!all) mx__diag(b->diags, MX_DIAG_ERROR, "too-many-slots", b->func->loc, NULL, "%s: too many live values", b->func->name);
  return all;
}

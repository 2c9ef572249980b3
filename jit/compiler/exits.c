/* Entries of compiled code and exits from it. Slots are passed in cells of state->spill_area, one for each slot, as
 * vectors. Which slots are live at an entry or exit and in which form stands in tables (vm/exec/jitabi.h) that
 * vm/exec/transfer.c reads. A kernel has hundreds of exits that hardly ever run, and compiling them took most of the
 * time at first. So an exit sets its number and jumps to code that exits share: slots that several of them store are
 * stored there once. Entries share their loads likewise. */
#include "lowering.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_OFFSET 64u /* offset 0 means: none yet */

/* The things that are moved, as items of a set: a slot as one value, in chunks, or as a ramp; the masks of blocks,
 * pending and expected; the active lanes; shapes. */
enum form { ONE, CHUNKS, RAMP, FORMS = 4 };
static uint32_t item_of(uint32_t slot, enum form form) { return FORMS * slot + form; }
static uint32_t mask_of(const struct ja *a, uint32_t block, bool expected) {
  return FORMS * a->nslots + 2 * block + expected;
}
static uint32_t running(const struct ja *a) { return FORMS * a->nslots + 2 * (a->nblocks + 1); }
/* The form that a slot has at the beginning of a block, and the one that it has now. */
static enum form form_in(const struct ja_block *b, uint32_t s) {
  return ja_has(b->uni_in, s) ? ONE : b->ramp_in[s] ? RAMP : CHUNKS;
}
static enum form form_now(const struct lw *l, const uint64_t *uni, uint32_t s) {
  return ja_has(uni, s) ? ONE : l->ramps[s] ? RAMP : CHUNKS;
}
static uint32_t shape_of(const struct ja *a, uint32_t slot) { return running(a) + 1 + slot; }
static uint32_t item_words(const struct ja *a) { return shape_of(a, a->nslots) / 64 + 1; }

struct lw_exits {
  uint32_t *at; /* offsets of the cells: two for each slot, then the masks'; 0: none yet */
  /* end: of all cells so far; line: of the part-filled cache line in which small masks lie */
  uint32_t end, line;
  uint32_t *shape;            /* by slot: where its shape is */
  uint32_t *beside;           /* by slot: a second cell, for loops whose lanes run one by one */
  uint32_t block_mask;        /* the masks of the active lanes of the block that runs, if it has stored them */
  uint32_t loop_row[LW_ROWS]; /* where these loops find the numbers of a run's rows */
  uint32_t last;              /* the end of the part-filled cache line of cells for single numbers */
  /* code shared by exits of one block that store the same items; forms: these, and what else is live there */
  struct exit_code {
    gcc_jit_block *block;
    uint64_t *items, *forms;
    uint32_t of_block;
  } * shared;
  struct mx_jit_entry *entries;
  struct mx_jit_site *sites;
  struct mx_jit_location *locations;
  struct mx_jit_hidden *hidden;
  struct mx_jit_fallback *fallbacks;
  uint32_t nshared, nentries, nsites, nlocations, nhidden, nfallbacks;
  gcc_jit_lvalue *site; /* the number of the site at which code is left */
};

/* Grows an array, whose size is always a power of two, for one more element. */
static void *grow(void *p, uint32_t n, size_t size) {
  if (n & (n - 1)) return p;
  p = realloc(p, size * (n ? 2 * n : 1));
  if (!p) abort();
  return p;
}
#define APPEND(array_, n_) (array_ = grow(array_, n_, sizeof *array_), &array_[n_++])

/* ---- cells of the spill area
 * -------------------------------------------------------------------------------------------------*/
static uint32_t mask_offset(struct lw *l, uint32_t *at) {
  struct lw_exits *t = l->exits;
  /* the interpreter's bodies use whole arrays of lanes */
  const uint32_t bytes = l->j.isa->mask_is_vector ? 4 * l->a->image->lanes : 8;
  if (*at) return *at;
  if (bytes >= 64) *at = t->end, t->end += (bytes + 63) / 64 * 64;
  else {
    if (t->line % 64 == 0) t->line = t->end, t->end += 64;
    *at = t->line;
    t->line += bytes;
  }
  return *at;
}
void lw_exits_begin(struct lw *l) {
  struct lw_exits *t = l->exits = lw_need(sizeof *t);
  const struct ja *a = l->a;
  t->at = lw_need(sizeof *t->at * (running(a) + 1));
  t->shape = lw_need(sizeof *t->shape * (a->nslots + 1));
  t->beside = lw_need(sizeof *t->beside * (a->nslots + 1));
  t->end = FIRST_OFFSET;
  mask_offset(l, &t->block_mask); /* at the same place for all functions of the object, which share helpers.c's */
  t->site = jx_local(&l->j, l->j.t_u32);
}
/* If slots live in the spill area, a uniform value has a cell of its own, since both forms may be needed at once. */
static uint32_t slot_offset(struct lw *l, uint32_t s, bool one) {
  struct lw_exits *t = l->exits;
  const unsigned cls = lw_class(l->a, s);
  uint32_t *at = &t->at[2 * s + (one && l->slots_spilled)];
  if (cls == MX_PRED) return mask_offset(l, at);
  if (!*at) {
    const uint32_t bytes = l->a->image->lanes * (cls == MX_R32 ? 4u : 8u);
    *at = t->end;
    t->end += bytes > 64 && !(one && l->slots_spilled && ja_rows(l->a) == 1) ? bytes : 64;
  }
  return *at;
}
static uint32_t offset_beside(struct lw *l, uint32_t s) {
  struct lw_exits *t = l->exits;
  if (!t->beside[s]) t->beside[s] = t->end, t->end += l->a->image->lanes * (lw_class(l->a, s) == MX_R32 ? 4u : 8u);
  return t->beside[s];
}
static gcc_jit_lvalue *spill_field(struct lw *l, uint32_t at, gcc_jit_type *t) {
  return lw_field(l, jx_rv(l->spill_area), at, t);
}
gcc_jit_lvalue *lw_cell(struct lw *l, uint32_t slot, bool one, unsigned k) {
  const struct jx *j = &l->j;
  const unsigned cls = lw_class(l->a, slot);
  return cls == MX_PRED ? spill_field(l, slot_offset(l, slot, one) + k * j->mask_bytes, j->t_mask)
                        : spill_field(l, slot_offset(l, slot, one) + k * j->bytes, cls == MX_R64 ? j->vu64 : j->vu32);
}
static uint32_t row_offset(const struct lw *l, uint32_t slot, unsigned row) {
  return row * l->a->row_lanes * (lw_class(l->a, slot) == MX_R64 ? 8 : 4);
}
gcc_jit_lvalue *lw_cell_first(struct lw *l, uint32_t slot, unsigned row) {
  return spill_field(l, slot_offset(l, slot, true) + row_offset(l, slot, row),
                     lw_class(l->a, slot) == MX_R64 ? l->j.t_u64 : l->j.t_u32);
}
gcc_jit_lvalue *lw_cell_of_lane(struct lw *l, uint32_t slot, gcc_jit_rvalue *lane) {
  const bool wide = lw_class(l->a, slot) == MX_R64;
  gcc_jit_rvalue *by = jx_op(&l->j, GCC_JIT_BINARY_OP_MULT, l->j.t_u64, lane, lw_u64(l, wide ? 8 : 4));
  return lw_field(l, jx_keep(&l->j, lw_add(l, jx_rv(l->spill_area), by)), slot_offset(l, slot, true),
                  wide ? l->j.t_u64 : l->j.t_u32);
}
uint32_t lw_cell_offset(struct lw *l, uint32_t slot) { return slot_offset(l, slot, false); }
gcc_jit_lvalue *lw_cell_beside(struct lw *l, uint32_t slot, unsigned k) {
  return spill_field(l, offset_beside(l, slot) + k * l->j.bytes,
                     lw_class(l->a, slot) == MX_R64 ? l->j.vu64 : l->j.vu32);
}
gcc_jit_lvalue *lw_cell_at(struct lw *l, gcc_jit_rvalue *spill_area, uint32_t slot, unsigned h) {
  const unsigned cls = lw_class(l->a, slot);
  return lw_field(l, spill_area, slot_offset(l, slot, false) + h * l->j.bytes,
                  cls == MX_PRED ? l->j.t_mask : jx_vector(&l->j, cls == MX_R64));
}
gcc_jit_lvalue *lw_block_mask(struct lw *l, gcc_jit_rvalue *spill_area, unsigned chunk) {
  return lw_field(l, spill_area, mask_offset(l, &l->exits->block_mask) + chunk * l->j.mask_bytes, l->j.t_mask);
}
void lw_store_block_masks(struct lw *l) {
  for (unsigned c = 0; c < l->nc && !l->block_masks_stored; c++)
    jx_set(&l->j, lw_block_mask(l, jx_rv(l->spill_area), c), jx_rv(l->cm[c]));
  l->block_masks_stored = true;
}
gcc_jit_lvalue *lw_loop_row(struct lw *l, gcc_jit_rvalue *spill_area, unsigned row, unsigned chunk) {
  struct lw_exits *t = l->exits;
  if (!t->loop_row[row]) t->loop_row[row] = t->end, t->end += 4 * l->a->image->lanes;
  return lw_field(l, spill_area, t->loop_row[row] + chunk * l->j.bytes, l->j.vu32);
}
gcc_jit_lvalue *lw_last_cell(struct lw *l) {
  struct lw_exits *t = l->exits;
  if (t->last % 64 == 0) t->last = t->end, t->end += 64;
  t->last += 8;
  return spill_field(l, t->last - 8, l->j.t_u64);
}
gcc_jit_lvalue *lw_mask_cell(struct lw *l, uint32_t block, bool expected, unsigned c) {
  uint32_t *at = &l->exits->at[mask_of(l->a, block, expected)];
  return spill_field(l, mask_offset(l, at) + c * l->j.mask_bytes, l->j.t_mask);
}
/* Moves a slot between its variable and its cell. */
static void move(struct lw *l, bool in, gcc_jit_lvalue *v, uint32_t at, gcc_jit_type *t) {
  gcc_jit_lvalue *m = spill_field(l, at, t);
  if (in) jx_set(&l->j, v, jx_rv(m));
  else jx_set(&l->j, m, jx_rv(v));
}
static void move_slot(struct lw *l, bool in, uint32_t s, enum form form) {
  struct jx *j = &l->j;
  const unsigned cls = lw_class(l->a, s);
  const uint32_t at = slot_offset(l, s, form != CHUNKS);
  gcc_jit_type *t = cls == MX_PRED ? j->t_mask : jx_vector(j, cls == MX_R64);
  const uint32_t bytes = cls == MX_PRED ? j->mask_bytes : j->bytes;
  if (l->slots_spilled) return;
  if (form == ONE && lw_is_number(l, s)) {
    gcc_jit_lvalue *m = spill_field(l, at, t);
    if (in) lw_set_one(l, s, jx_rv(m));
    else jx_set(j, m, lw_get_one(l, s));
  } else if (form == ONE) move(l, in, lw_one(l, s), at, t);
  else if (form == RAMP)
    for (unsigned row = 0; row < ja_rows(l->a); row++)
      move(l, in, lw_ramp_first(l, s, row), at + row_offset(l, s, row), cls == MX_R64 ? j->t_u64 : j->t_u32);
  else
    for (unsigned k = 0; k < lw_vectors(l, s); k++) move(l, in, lw_var(l, s, k), at + k * bytes, t);
}
static uint32_t shape_offset(struct lw *l, uint32_t s) {
  struct lw_exits *t = l->exits;
  if (!t->shape[s]) t->shape[s] = t->end, t->end += 64;
  return t->shape[s];
}
gcc_jit_rvalue *lw_shape_cell(struct lw *l, uint32_t s) { return lw_at(l, jx_rv(l->spill_area), shape_offset(l, s)); }
_Static_assert(sizeof(struct mx_jit_shape) <= 64, "a line each");
static void move_shape(struct lw *l, bool in, uint32_t s) {
  const struct lw_shape *sh = &l->shapes[s];
  const uint32_t at = shape_offset(l, s);
  gcc_jit_lvalue *const of[4] = {sh->min, sh->max, sh->low, sh->kind};
  for (unsigned k = 0; k < 4; k++) move(l, in, of[k], at + 8 * k, l->j.t_u64);
}
/* Adds a slot of frame `frame`, or of a caller of it, to a site's table. stride: of a ramp. */
static void add_location(struct lw *l, uint32_t frame, uint32_t s, enum form form, int64_t stride, bool raw,
                         bool shaped) {
  struct lw_exits *t = l->exits;
  const unsigned cls = lw_class(l->a, s);
  const uint64_t by = form == RAMP ? (uint64_t)ja_stride(stride) : 0;
  const struct ja_frame *f = &l->a->frames[frame];
  while (ja_number(l->a, s) < f->first[cls]) f = &l->a->frames[f->parent];
  *APPEND(t->locations, t->nlocations) =
      (struct mx_jit_location){.slot = (ja_number(l->a, s) - f->first[cls]) | f->level << MX_JIT_LEVEL |
                                       (form == ONE ? MX_JIT_ONE : 0) | (form == RAMP ? MX_JIT_RAMP : 0) |
                                       (raw ? MX_JIT_RAW : 0) | (shaped ? MX_JIT_SHAPED : 0) | cls << MX_JIT_CLASS,
                               .offset = slot_offset(l, s, form != CHUNKS),
                               .shape = t->shape[s],
                               .stride = {(uint32_t)by, (uint32_t)(by >> 32)}};
}

/* ---- exits ----------------------------------------------------------------------------------------------------*/
static void hide(struct lw *l, uint32_t block, bool expected, uint64_t *items) {
  const struct ja *a = l->a;
  struct lw_exits *t = l->exits;
  const uint32_t item = mask_of(a, block, expected);
  const struct ja_origin *o = block < a->nblocks ? &a->origin[a->blocks[block].pc] : NULL;
  const bool returned = o && o->kind == JA_RETURNS && !o->counts;
  ja_add(items, item);
  *APPEND(t->hidden, t->nhidden) = (struct mx_jit_hidden){.mask = mask_offset(l, &t->at[item]),
                                                          .level = o ? a->frames[o->frame].level : 0,
                                                          .what = expected   ? MX_JIT_EXPECTED
                                                                  : returned ? MX_JIT_RETURNED
                                                                             : MX_JIT_STAND,
                                                          .pc = !o || (returned && expected) ? MX_PC_RET : o->pc};
}
/* Adds to the site what the machine is told about inactive lanes; the current block is left in frame `frame`. */
static void add_hidden(struct lw *l, uint32_t frame, struct mx_jit_site *site, uint64_t *items) {
  const struct ja *a = l->a;
  const struct ja_block *b = &a->blocks[l->block];
  struct lw_exits *t = l->exits;
  site->first_hidden = t->nhidden;
  for (uint32_t k = 0; k <= a->nblocks; k++) {
    if (k < a->nblocks && !ja_encloses(a, ja_frame_of(a, k), frame)) continue;
    if (k < a->nblocks && ja_has(b->pending, k)) hide(l, k, false, items);
    if (ja_has(b->open, k)) hide(l, k, true, items);
  }
  site->nhidden = t->nhidden - site->first_hidden;
  if (!site->nhidden) return;
  site->mask = mask_offset(l, &t->at[running(a)]);
  ja_add(items, running(a));
}
/* Whether no slot has one form in one set and another one in the other. */
static bool agree(const uint64_t *x, const uint64_t *y, uint32_t words) {
  const uint64_t lowest = 0x1111111111111111u;
  for (uint32_t w = 0; w < words; w++)
    for (unsigned one = 0; one < RAMP; one++)
      for (unsigned other = one + 1; other <= RAMP; other++)
        if (lowest & ((x[w] >> one & y[w] >> other) | (x[w] >> other & y[w] >> one))) return false;
  return true;
}
/* The shared exit code of this block for what is live in it, or new code. It may store more than a site needs, such as
 * values whose cells are current. */
static struct exit_code *exit_code_for(struct lw *l, const uint64_t *items, const uint64_t *forms) {
  struct lw_exits *t = l->exits;
  const uint32_t words = item_words(l->a);
  for (uint32_t k = t->nshared; k-- && t->shared[k].of_block == l->block;)
    if (agree(t->shared[k].forms, forms, (FORMS * l->a->nslots + 63) / 64)) {
      for (uint32_t w = 0; w < words; w++) t->shared[k].items[w] |= items[w], t->shared[k].forms[w] |= forms[w];
      return &t->shared[k];
    }
  struct exit_code *new = APPEND(t->shared, t->nshared);
  *new = (struct exit_code){.block = lw_new_block(l, "exit"), .items = lw_need(16 * words), .of_block = l->block};
  new->forms = new->items + words;
  memcpy(new->items, items, 8 * words), memcpy(new->forms, forms, 8 * words);
  return new;
}
/* Adds a site; returns the code that stores what the machine needs there. The site's number is in t->site by then. */
static gcc_jit_block *add_site(struct lw *l, enum mx_jit_exit kind, uint32_t pc, uint32_t done, const uint64_t *live,
                               const uint64_t *uni) {
  const struct ja *a = l->a;
  struct lw_exits *t = l->exits;
  uint64_t *items = lw_need(16 * item_words(a)), *forms = items + item_words(a);
  const struct ja_origin *o = &a->origin[pc];
  if (o->kind == JA_RETURNS && !o->counts) kind = MX_JIT_RETURN;
  struct mx_jit_site site = {.kind = kind,
                             .pc = o->pc,
                             .steps = lw_steps(l, done),
                             .ticks = lw_ticks(l, done),
                             .first = t->nlocations,
                             .frame = o->frame};
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(live, s) || !ja_has(l->written, s)) continue;
    const enum form form = form_now(l, uni, s);
    if (!l->slots_spilled) ja_add(forms, item_of(s, form));
    if (!l->slots_spilled && !ja_has(l->saved, s)) ja_add(items, item_of(s, form));
    add_location(l, o->frame, s, form, l->ramps[s], ja_has(l->raw, s), false);
  }
  site.n = t->nlocations - site.first;
  if (t->nsites) { /* it is often the same as the previous one */
    const struct mx_jit_site *last = &t->sites[t->nsites - 1];
    if (last->n == site.n && last->first + last->n == site.first &&
        (!site.n || !memcmp(&t->locations[last->first], &t->locations[site.first], site.n * sizeof *t->locations)))
      t->nlocations = site.first, site.first = last->first;
  }
  add_hidden(l, o->frame, &site, items);
  gcc_jit_block *code = exit_code_for(l, items, forms)->block;
  lw_counters_site(l, t->nsites, done);
  *APPEND(t->sites, t->nsites) = site;
  free(items);
  return code;
}
void lw_leave(struct lw *l, enum mx_jit_exit kind, uint32_t pc, uint32_t done, const uint64_t *live,
              const uint64_t *uni) {
  jx_set(&l->j, l->exits->site, jx_int(&l->j, l->j.t_u32, MX_JIT_SITE + l->exits->nsites));
  lw_go(l, add_site(l, kind, pc, done, live, uni));
}
void lw_leave_if_left(struct lw *l, uint32_t fallback, gcc_jit_rvalue *left, enum mx_jit_exit kind, uint32_t pc,
                      uint32_t done, const uint64_t *live) {
  struct lw_exits *t = l->exits;
  t->fallbacks[fallback].left = MX_JIT_SITE + t->nsites;
  jx_set(&l->j, t->site, left);
  gcc_jit_block *on = lw_new_block(l, "on"), *gone = add_site(l, kind, pc, done, live, l->uni);
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(t->site), jx_int(&l->j, l->j.t_u32, 0))), gone, on);
  l->j.b = on;
}

uint32_t lw_sites(const struct lw *l) { return l->exits->nsites; }

static void move_item(struct lw *l, bool in, uint32_t k) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  if (k < FORMS * a->nslots) move_slot(l, in, k / FORMS, k % FORMS);
  else if (k > running(a)) move_shape(l, in, k - running(a) - 1);
  else if (k == running(a) || !l->slots_spilled) {
    const uint32_t block = (k - FORMS * a->nslots) / 2;
    gcc_jit_lvalue *const *v = k == running(a) ? l->cm : k & 1 ? lw_expected(l, block) : lw_pending(l, block);
    for (unsigned c = 0; c < l->nc; c++)
      move(l, in, v[c], mask_offset(l, &l->exits->at[k]) + c * j->mask_bytes, j->t_mask);
  }
}

/* ---- what entries or exits have in common ---------------------------------------------------------------------*/
/* Entries or exits are the leaves of binary trees; an inner node moves the items that all leaves below it have in
 * common. */
#define WORTH 4 /* a node is worth building if it moves at least so many vectors */
struct transfer {
  uint64_t *items;
  bool often;
  uint32_t parent, first, left, right;
  gcc_jit_block *block;
}; /* often: that entry should move all items by itself; first: the first leaf below the node */

static uint32_t vectors(const struct lw *l, uint32_t item) {
  const struct ja *a = l->a;
  if (item >= FORMS * a->nslots) return l->nc;
  return item % FORMS != CHUNKS ? 1 : lw_vectors(l, item / FORMS);
}
static uint32_t in_common(const struct lw *l, const struct transfer *x, const struct transfer *y) {
  uint32_t n = 0;
  for (uint32_t w = 0; w < item_words(l->a); w++)
    for (uint64_t both = x->items[w] & y->items[w]; both; both &= both - 1)
      n += vectors(l, 64 * w + (uint32_t)__builtin_ctzll(both));
  return n;
}
/* Builds inner nodes above `n` leaves, pairing the neighbours that have the most in common. Returns how many nodes
 * there are then. */
static uint32_t share(struct lw *l, struct transfer *all, uint32_t n) {
  uint32_t *root = lw_need(sizeof *root * (n + 1)), *gain = lw_need(sizeof *gain * (n + 1)), roots = 0;
  for (uint32_t k = 0; k < n; k++) {
    all[k].parent = JA_NONE, all[k].first = k;
    if (!all[k].often) root[roots++] = k;
  }
  for (uint32_t k = 0; k + 1 < roots; k++) gain[k] = in_common(l, &all[root[k]], &all[root[k + 1]]);
  for (;;) {
    uint32_t best = 0;
    for (uint32_t k = 0; k + 1 < roots; k++)
      if (gain[k] > gain[best]) best = k;
    if (roots < 2 || gain[best] < WORTH) break;
    struct transfer *x = &all[root[best]], *y = &all[root[best + 1]];
    all[n] = (struct transfer){.items = lw_need(8 * item_words(l->a)),
                               .parent = JA_NONE,
                               .first = x->first,
                               .left = root[best],
                               .right = root[best + 1],
                               .block = lw_new_block(l, "common")};
    for (uint32_t w = 0; w < item_words(l->a); w++) all[n].items[w] = x->items[w] & y->items[w];
    x->parent = y->parent = n;
    root[best] = n++;
    roots--;
    for (uint32_t k = best + 1; k < roots; k++) root[k] = root[k + 1], gain[k] = gain[k + 1];
    if (best) gain[best - 1] = in_common(l, &all[root[best - 1]], &all[root[best]]);
    gain[best] = best + 1 < roots ? in_common(l, &all[root[best]], &all[root[best + 1]]) : 0;
  }
  free(root), free(gain);
  return n;
}
static void move_own(struct lw *l, bool in, const struct transfer *all, const struct transfer *w) {
  for (uint32_t k = 0; k < 64 * item_words(l->a); k++)
    if (ja_has(w->items, k) && (w->parent == JA_NONE || !ja_has(all[w->parent].items, k))) move_item(l, in, k);
}

void lw_build_exits(struct lw *l) {
  struct lw_exits *t = l->exits;
  struct jx *j = &l->j;
  if (!t->nshared) return;
  struct transfer *all = lw_need(2 * sizeof *all * t->nshared);
  for (uint32_t k = 0; k < t->nshared; k++) all[k].items = t->shared[k].items, all[k].block = t->shared[k].block;
  const uint32_t n = share(l, all, t->nshared);
  gcc_jit_block *last = lw_new_block(l, "left");
  for (uint32_t k = 0; k < n; k++) {
    j->b = all[k].block;
    move_own(l, false, all, &all[k]);
    lw_go(l, all[k].parent == JA_NONE ? last : all[all[k].parent].block);
  }
  free(all);
  j->b = last;
  lw_store_steps(l);
  gcc_jit_block_end_with_return(j->b, NULL, jx_rv(t->site));
}

/* ---- entries ----------------------------------------------------------------------------------------------------*/
/* Loads or stores slot s in the form that block `number` expects. */
static void move_for(struct lw *l, bool in, uint32_t s, uint32_t number) {
  const enum form form = form_in(&l->a->blocks[number], s);
  move_slot(l, in, s, form);
  if (form != ONE && lw_shape_asked(l, s, number)) move_shape(l, in, s);
}
void lw_store_invariants(struct lw *l, uint32_t to) {
  for (uint32_t s = 0; s < l->a->nslots; s++)
    if (ja_has(l->a->blocks[to].live_in, s) && lw_must_store(l, s, to)) move_for(l, false, s, to);
}
/* Writes an entry's table, and returns the set of items that it loads. */
static uint64_t *describe(struct lw *l, uint32_t number) {
  struct lw_exits *t = l->exits;
  const struct ja_block *b = &l->a->blocks[number];
  uint64_t *items = lw_need(8 * item_words(l->a));
  struct mx_jit_entry e = {.pc = l->a->origin[b->pc].pc, .first = t->nlocations};
  for (uint32_t s = 0; s < l->a->nslots; s++) {
    if (!ja_has(b->flow_in, s)) continue;
    const enum form form = form_in(b, s);
    const bool shaped = form != ONE && lw_shape_asked(l, s, number);
    if (!l->slots_spilled) ja_add(items, item_of(s, form));
    if (shaped) ja_add(items, shape_of(l->a, s));
    if (shaped) shape_offset(l, s);
    add_location(l, 0, s, form, b->ramp_in[s], ja_has(b->raw_in, s), shaped);
  }
  e.n = t->nlocations - e.first;
  *APPEND(t->entries, t->nentries) = e;
  return items;
}
/* Whether warps often go on at this entry, behind a barrier. */
static bool behind_barrier(const struct ja *a, uint32_t number) {
  return number && lw_waits(a, &a->ins[a->blocks[number - 1].end - 1]);
}
void lw_build_entries(struct lw *l) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  uint32_t *block = lw_need(sizeof *block * (a->nblocks + 1)), leaves = 0;
  struct transfer *all = lw_need(2 * sizeof *all * (a->nblocks + 1));
  for (uint32_t b = 0; b < a->nblocks; b++)
    if (l->entry[b]) {
      all[leaves] = (struct transfer){.items = describe(l, b), .often = behind_barrier(a, b), .block = l->entry[b]};
      block[leaves++] = b;
    }
  const uint32_t n = share(l, all, leaves);
  for (uint32_t k = 0; k < n; k++) {
    const struct transfer *w = &all[k];
    j->b = w->block;
    move_own(l, true, all, w);
    if (k < leaves) {
      const struct transfer *root = w;
      while (root->parent != JA_NONE) root = &all[root->parent];
      l->entry[block[k]] = root->block; /* the node where the entry's code begins */
      lw_empty_masks(l, block[k], NULL, NULL);
      lw_scalar_loops_entered(l, block[k]);
      lw_go(l, lw_start(l, block[k]));
    } else {
      gcc_jit_rvalue *before =
          lw_compare(l, GCC_JIT_COMPARISON_LT, jx_rv(l->which), jx_int(j, j->t_u32, all[w->right].first));
      lw_split(l, before, all[w->left].block, all[w->right].block);
    }
    free(w->items);
  }
  free(all), free(block);
}

/* ---- instructions that the interpreter's bodies do --------------------------------------------------------------*/
/* A ramp whose lanes' values the machine computes when it executes the fallback: here only its numbers are stored. */
static void add_ramp_to_spread(struct lw *l, uint32_t frame, uint32_t s) {
  add_location(l, frame, s, RAMP, l->ramps[s], false, false);
  struct mx_jit_location *p = &l->exits->locations[l->exits->nlocations - 1];
  p->slot ^= MX_JIT_RAMP | MX_JIT_SPREAD;
  p->numbers = p->offset, p->offset = slot_offset(l, s, false);
}
uint32_t lw_spill_for_fallback(struct lw *l) {
  const struct ja *a = l->a;
  struct lw_exits *t = l->exits;
  const struct ja_ins *from = l->ins - l->ndeferred;
  const uint64_t *uni = l->ndeferred ? l->deferred_uni : l->uni, *raw = l->ndeferred ? l->deferred_raw : l->raw;
  uint64_t *in = lw_need(16 * a->words), *made = in + a->words;
  uint32_t s[JA_MAX_TOUCH], n;
  for (const struct ja_ins *i = from; i <= l->ins; i++) {
    n = ja_uses(a, i, s);
    for (uint32_t k = 0; k < n; k++)
      if (!ja_has(made, s[k])) ja_add(in, s[k]);
    n = ja_defs(a, i, s);
    for (uint32_t k = 0; k < n; k++) { /* results that inactive lanes keep are reloaded whole */
      if (!ja_has(made, s[k]) && (ja_has(a->blocks[l->block].preserved, s[k]) || mx_w_guard(*i->w) != MX_GUARD_NONE))
        ja_add(in, s[k]);
      ja_add(made, s[k]);
    }
  }
  const uint32_t frame = l->ins->frame;
  struct mx_jit_fallback fallback = {
      .from = a->origin[from->pc].pc, .pc = a->origin[l->ins->pc].pc, .first = t->nlocations, .frame = frame};
  for (unsigned others = 0; others < 2; others++) {
    for (uint32_t k = 0; k < a->nslots; k++) {
      const enum form form = form_now(l, uni, k);
      if (!ja_has(in, k) || (form != RAMP) != others) continue;
      if (!ja_has(l->saved, k)) move_slot(l, false, k, form);
      if (form == RAMP) add_ramp_to_spread(l, frame, k);
      else add_location(l, frame, k, form, 0, ja_has(raw, k), false);
      if (l->always) ja_add(l->saved, k);
    }
    fallback.nin = t->nlocations - fallback.first;
    if (!others) fallback.nspread = fallback.nin;
  }
  n = ja_defs(a, l->ins, s);
  for (uint32_t k = 0; k < n; k++)
    add_location(l, frame, s[k], ja_has(l->uni_after, s[k]) ? ONE : CHUNKS, 0, false, false);
  fallback.nout = n;
  *APPEND(t->fallbacks, t->nfallbacks) = fallback;
  free(in);
  return t->nfallbacks - 1;
}
void lw_reload_after_fallback(struct lw *l) {
  uint32_t s[JA_MAX_TOUCH];
  const uint32_t n = ja_defs(l->a, l->ins, s);
  for (uint32_t k = 0; k < n; k++) {
    move_slot(l, true, s[k], ja_has(l->uni_after, s[k]) ? ONE : CHUNKS);
    if (!ja_has(l->uni_after, s[k])) lw_shape_update(l, s[k]);
  }
}

uint32_t lw_entry_number(const struct lw *l, uint32_t block) {
  uint32_t number = 0;
  for (uint32_t b = 0; b < block; b++) number += l->entry[b] != NULL;
  return number;
}
/* At barriers the state stays in the spill area, from which the entry behind the barrier takes it. */
void lw_park(struct lw *l, uint32_t number, bool at_mbarrier) {
  for (uint32_t s = 0; s < l->a->nslots; s++)
    if (ja_has(l->a->blocks[number].flow_in, s) && !lw_saved(l, s, number)) move_for(l, false, s, number);
  lw_warp_waits(l, lw_entry_number(l, number), at_mbarrier);
}

/* ---- tables -----------------------------------------------------------------------------------------------------*/
void lw_export_table(struct lw *l, uint32_t number) {
  const struct lw_exits *t = l->exits;
  struct jx *j = &l->j;
  struct mx_jit_frame *frames = lw_need(l->a->nframes * sizeof *frames);
  for (uint32_t k = 0; k < l->a->nframes; k++) {
    const struct ja_frame *f = &l->a->frames[k];
    frames[k] = (struct mx_jit_frame){.func = f->func, .parent = f->parent, .level = f->level, .call = f->call};
  }
  const struct mx_jit_table head = {.spill_bytes = (t->end + 63) / 64 * 64,
                                    .clean = t->entries[0].n != 0,
                                    .waits = l->at_barrier != NULL,
                                    .chunk = j->w,
                                    .vector_masks = j->isa->mask_is_vector,
                                    .lanes = l->a->lanes,
                                    .row_lanes = l->a->row_lanes,
                                    .nframes = l->a->nframes,
                                    .nentries = t->nentries,
                                    .nsites = t->nsites,
                                    .nlocations = t->nlocations,
                                    .nhidden = t->nhidden,
                                    .nfallbacks = t->nfallbacks};
  const struct {
    const void *p;
    size_t bytes;
  } parts[] = {{&head, sizeof head},
               {t->entries, t->nentries * sizeof *t->entries},
               {t->sites, t->nsites * sizeof *t->sites},
               {t->locations, t->nlocations * sizeof *t->locations},
               {t->hidden, t->nhidden * sizeof *t->hidden},
               {t->fallbacks, t->nfallbacks * sizeof *t->fallbacks},
               {frames, l->a->nframes * sizeof *frames}};
  size_t size = 0, at = 0;
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) size += parts[k].bytes;
  unsigned char *all = lw_need(size);
  for (size_t k = 0; k < sizeof parts / sizeof *parts; at += parts[k++].bytes)
    if (parts[k].bytes) memcpy(all + at, parts[k].p, parts[k].bytes);
  char name[48];
  snprintf(name, sizeof name, "mx_jit_table_F%u", number);
  gcc_jit_type *type = gcc_jit_context_new_array_type(j->c, NULL, j->t_u32, (int)(size / 4));
  gcc_jit_lvalue *g = gcc_jit_context_new_global(j->c, NULL, GCC_JIT_GLOBAL_EXPORTED, type, name);
  gcc_jit_global_set_initializer(g, all, size);
  free(all), free(frames);
}

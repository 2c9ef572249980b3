/* Which slots an exit or a barrier need not store: those whose cells in state->spill_area still hold their current
 * values, because nothing has written the slot since an entry loaded it. So the cost of a barrier depends on how many
 * slots have changed since the last one, not on how many are live. Slots that a loop with barriers does not change are
 * stored once, before the loop begins (exits.c, lw_store_invariants). */
#include "lower.h"
#include "lowering.h"
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static void transfer(const struct ja *a, const struct ja_ins *i, uint64_t *saved) {
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
  while (n) ja_del(saved, s[--n]);
}
/* Whether control goes from the end of the block to other blocks within this code. */
static bool goes_on(const struct ja *a, const struct ja_block *b) {
  const struct ja_ins *last = &a->ins[b->end - 1];
  return !(last->o->flags & MX_F_SYNC) || ja_may_go_on(last) || ja_passes(a, last);
}
bool lw_waits(const struct ja *a, const struct ja_ins *i) {
  return (i->op == MX_BAR_SYNC && !ja_passes(a, i)) || ja_waits_at_mbarrier(i);
}
static bool waits_in(const struct ja *a, const uint64_t *blocks) {
  bool waits = false;
  for (uint32_t b = 0; b < a->nblocks; b++) waits |= ja_has(blocks, b) && lw_waits(a, &a->ins[a->blocks[b].end - 1]);
  return waits;
}
/* Whether block h is the header of a loop that contains barriers. */
static bool has_barriers(const struct ja *a, uint32_t h) {
  if (!a->blocks[h].converged) return false;
  bool has_barrier = false;
  for (uint32_t k = 0; k < a->nloops; k++) has_barrier |= a->loops[k].head == h && waits_in(a, a->loops[k].body);
  return has_barrier;
}
static bool is_innermost(const struct ja *a, uint32_t loop) {
  bool inner = false;
  for (uint32_t k = 0; k < a->nloops; k++)
    inner |= a->loops[k].head != a->loops[loop].head && ja_has(a->loops[loop].body, a->loops[k].head);
  return !inner;
}
/* How many instructions compute with lanes: all but those whose results are ramps. */
static uint32_t of_lanes(const struct ja *a) {
  if (!a->ramps) return a->nins;
  int64_t *ramps = lw_need(sizeof *ramps * (a->nslots + 1u));
  uint64_t *uni = lw_need(8 * a->words);
  uint32_t s[JA_MAX_TOUCH], count = a->nins;
  for (uint32_t b = 0; b < a->nblocks; b++) {
    const struct ja_block *bl = &a->blocks[b];
    memcpy(ramps, bl->ramp_in, sizeof *ramps * a->nslots), memcpy(uni, bl->uni_in, 8 * a->words);
    for (uint32_t k = bl->first; k < bl->end; k++) {
      ja_ramp_step(a, &a->ins[k], bl->preserved, uni, ramps);
      ja_uniform_step(a, &a->ins[k], bl->preserved, uni);
      count -= ja_defs(a, &a->ins[k], s) == 1 && ramps[s[0]] != 0;
    }
  }
  free(ramps), free(uni);
  return count;
}
bool lw_slots_in_memory(const struct ja *a, const struct jx_isa *isa) {
  bool waits = a->nloops;
  for (uint32_t k = 0; k < a->nloops; k++) waits &= !is_innermost(a, k) || waits_in(a, a->loops[k].body);
  return (uint64_t)of_lanes(a) * (a->lanes / isa->lanes) > (waits ? isa->in_registers : isa->in_registers_alone);
}
static bool must_store_on(const struct lw *l, uint32_t from, uint32_t to) {
  return l->steadies[to] && !jg_dominates(l->a, to, from) && l->a->blocks[from].converged;
}

/* Computes which slots' cells are current at the end of block b; uni, raw, ramps: the sets there. */
static void at_end(const struct lw *l, uint32_t b, uint64_t *saved, uint64_t *uni, uint64_t *flt, uint64_t *raw,
                   int64_t *ramps) {
  const struct ja *a = l->a;
  const struct ja_block *bl = &a->blocks[b];
  memcpy(saved, l->saved_in + (size_t)b * a->words, 8 * a->words);
  memcpy(uni, bl->uni_in, 8 * a->words), memcpy(flt, bl->float_in, 8 * a->words), memcpy(raw, bl->raw_in, 8 * a->words);
  memcpy(ramps, bl->ramp_in, sizeof *ramps * a->nslots);
  for (uint32_t k = bl->first; k < bl->end; k++) {
    transfer(a, &a->ins[k], saved);
    ja_ramp_step(a, &a->ins[k], bl->preserved, uni, ramps);
    ja_uniform_step(a, &a->ins[k], bl->preserved, uni);
    ja_float_step(a, &a->ins[k], bl->preserved, flt, raw);
  }
}
/* Of these, the slots that are in the form which block `to` expects. */
static uint64_t fitting(const struct ja *a, uint32_t to, uint32_t w, const uint64_t *saved, const uint64_t *uni,
                        const uint64_t *raw, const int64_t *ramps) {
  const struct ja_block *t = &a->blocks[to];
  uint64_t spread = 0; /* ramps that become vectors */
  for (uint32_t s = 64 * w; a->ramps && s < 64 * w + 64 && s < a->nslots; s++)
    spread |= (uint64_t)(ramps[s] && !t->ramp_in[s]) << s % 64;
  return saved[w] & ~(uni[w] & ~t->uni_in[w]) & ~(raw[w] & ~t->raw_in[w]) & ~spread;
}

void lw_saved_find(struct lw *l) {
  const struct ja *a = l->a;
  uint64_t *saved = lw_need(8 * 4 * (size_t)a->words), *uni = saved + a->words, *flt = uni + a->words,
           *raw = flt + a->words;
  int64_t *ramps = lw_need(sizeof *ramps * (a->nslots + 1u));
  for (uint32_t b = 0; b < a->nblocks; b++) l->steadies[b] = l->kernel && has_barriers(a, b);
  memset(l->saved_in, 0xFF, 8 * (size_t)a->words * a->nblocks);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      const struct ja_block *bl = &a->blocks[b];
      if (!goes_on(a, bl)) continue;
      at_end(l, b, saved, uni, flt, raw, ramps);
#define FLOW(s_) \
  for (uint32_t w = 0; w < a->words && !must_store_on(l, b, s_); w++) { \
    uint64_t *in = &l->saved_in[(size_t)(s_)*a->words + w], now = *in & fitting(a, s_, w, saved, uni, raw, ramps); \
    again |= now != *in; \
    *in = now; \
  }
      for (uint32_t k = 0; k < bl->nthen; k++) FLOW(bl->then[k]);
#undef FLOW
    }
  }
  free(saved), free(ramps);
}

void lw_saved_step(struct lw *l) { transfer(l->a, l->ins, l->saved); }
bool lw_saved(const struct lw *l, uint32_t slot, uint32_t to) {
  return fitting(l->a, to, slot / 64, l->saved, l->uni, l->raw, l->ramps) >> (slot % 64) & 1;
}
bool lw_must_store(const struct lw *l, uint32_t slot, uint32_t to) {
  return must_store_on(l, l->block, to) && ja_has(l->saved_in + (size_t)to * l->a->words, slot) &&
         !lw_saved(l, slot, to);
}

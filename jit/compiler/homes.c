/* Which slots need not be stored where code is left: those whose places in state->home have them already, since nobody
 * has written them after an entry took them from there. So a barrier costs what was changed since the last one, not
 * what is live. What a loop with barriers does not change is stored once, before it begins. */
#include "build.h"
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static void step(const struct ja *a, const struct ja_ins *i, uint64_t *homed) {
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
  while (n) ja_del(homed, s[--n]);
}
/* Whether control gets from the end of the block to the next ones inside of the code that is built. */
static bool goes_on(const struct ja *a, const struct ja_block *b) {
  const struct ja_ins *last = &a->ins[b->end - 1];
  return !(last->o->flags & MX_F_SYNC) || ja_goes_on(last);
}
/* Whether block h begins a loop in which there are barriers. */
static bool has_barriers(const struct ja *a, uint32_t h) {
  if (!a->blocks[h].whole) return false;
  bool waits = false;
  for (uint32_t k = 0; k < a->nloops; k++)
    for (uint32_t b = 0; a->loops[k].head == h && b < a->nblocks; b++)
      waits |= ja_has(a->loops[k].body, b) && a->ins[a->blocks[b].end - 1].op == MX_BAR_SYNC;
  return waits;
}
static bool settles(const struct lw *l, uint32_t from, uint32_t to) {
  return l->steadies[to] && !jg_dominates(l->a, to, from) && l->a->blocks[from].whole;
}

/* What is in its place when block b ends; uni, raw: as of then. */
static void at_end(const struct lw *l, uint32_t b, uint64_t *homed, uint64_t *uni, uint64_t *flt, uint64_t *raw) {
  const struct ja *a = l->a;
  const struct ja_block *bl = &a->blocks[b];
  memcpy(homed, l->homed_in + (size_t)b * a->words, 8 * a->words);
  memcpy(uni, bl->uni_in, 8 * a->words), memcpy(flt, bl->float_in, 8 * a->words), memcpy(raw, bl->raw_in, 8 * a->words);
  for (uint32_t k = bl->first; k < bl->end; k++) {
    step(a, &a->ins[k], homed);
    ja_uniform_step(a, &a->ins[k], bl->kept, uni);
    ja_float_step(a, &a->ins[k], bl->kept, flt, raw);
  }
}
/* Of these, what still is in the form of block `to`. */
static uint64_t fitting(const struct ja *a, uint32_t to, uint32_t w, const uint64_t *homed, const uint64_t *uni,
                        const uint64_t *raw) {
  const struct ja_block *t = &a->blocks[to];
  return homed[w] & ~(uni[w] & ~t->uni_in[w]) & ~(raw[w] & ~t->raw_in[w]);
}

void lw_homes_find(struct lw *l) {
  const struct ja *a = l->a;
  uint64_t *homed = lw_need(8 * 4 * (size_t)a->words), *uni = homed + a->words, *flt = uni + a->words,
           *raw = flt + a->words;
  for (uint32_t b = 0; b < a->nblocks; b++) l->steadies[b] = l->kernel && has_barriers(a, b);
  memset(l->homed_in, 0xFF, 8 * (size_t)a->words * a->nblocks);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      const struct ja_block *bl = &a->blocks[b];
      if (!goes_on(a, bl)) continue;
      at_end(l, b, homed, uni, flt, raw);
#define FLOW(s_) \
  for (uint32_t w = 0; w < a->words && !settles(l, b, s_); w++) { \
    uint64_t *in = &l->homed_in[(size_t)(s_)*a->words + w], now = *in & fitting(a, s_, w, homed, uni, raw); \
    again |= now != *in; \
    *in = now; \
  }
      for (uint32_t k = 0; k < bl->nthen; k++) FLOW(bl->then[k]);
#undef FLOW
    }
  }
  free(homed);
}

void lw_homes_step(struct lw *l) { step(l->a, l->ins, l->homed); }
bool lw_homed(const struct lw *l, uint32_t slot, uint32_t to) {
  return fitting(l->a, to, slot / 64, l->homed, l->uni, l->raw) >> (slot % 64) & 1;
}
bool lw_settles(const struct lw *l, uint32_t slot, uint32_t to) {
  return settles(l, l->block, to) && ja_has(l->homed_in + (size_t)to * l->a->words, slot) && !lw_homed(l, slot, to);
}

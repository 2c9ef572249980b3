/* Before which blocks lanes may wait while others run. Separate because it needs the machine's order of blocks, which
 * nothing else here does; must not know registers.
 *
 * Lanes that have come to block P wait while others have blocks of lower rank to run (core/layout.h). After an edge
 * from U to P, those are blocks that come between the two in the order; if the edge leaves loops, all blocks of these
 * loops. What a branch decides in the same way for all lanes makes no one wait, but that is not known here. */
#include "back.h"
#include "core/layout.h"

/* Successors as the layout wants them: of a branch, the target before what follows. */
static uint32_t *taken_first(struct mx_arena *arena, const struct cfg *g) {
  uint32_t *succ = mx__arena_alloc(arena, ((size_t)g->succ_at[g->nblocks] + 1) * sizeof *succ), n = 0;
  for (uint32_t b = 0; b < g->nblocks; b++) {
    bool goes_on = false;
    for (uint32_t e = g->succ_at[b + 1]; e-- > g->succ_at[b];) {
      if (g->succ[e] == b + 1) goes_on = true;
      else succ[n++] = g->succ[e];
    }
    if (goes_on) succ[n++] = b + 1;
  }
  return succ;
}

/* The lanes that take the edge wait from this rank on. */
static uint32_t begin_of(const struct mx_layout *o, uint32_t from, uint32_t to) {
  uint32_t begin = o->rank[from] + 1, l = o->loop[from];
  for (; l && !mx__is_in_loop(o, to, l); l = o->outer[l]) begin = o->begin[l];
  return l && o->head[l] == from && to != from ? o->begin[l] : begin; /* headers come last in their loops */
}

struct back_waits *mx__waits(struct mx_arena *arena, const struct cfg *g) {
  struct back_waits *w = mx__arena_alloc(arena, sizeof *w);
  w->order = mx__arena_alloc(arena, ((size_t)g->nblocks + 1) * sizeof *w->order);
  w->at = mx__arena_alloc(arena, (2 * (size_t)g->nblocks + 1) * sizeof *w->at);
  const uint32_t *const succ = taken_first(arena, g);
  struct mx_layout o; /* no memory of the arena is asked for while it exists: that would jump */
  if (!mx__layout_find(g->nblocks, g->succ_at, succ, &o)) mx__arena_out_of_memory(arena);
  for (uint32_t k = 0; k < g->nblocks; k++) w->order[k] = o.order[k];
  for (uint32_t b = 0; b < g->nblocks; b++) {
    /* Those who come to a loop wait for what is before it, those who go round it for the rest of the loop. */
    struct back_wait enters = {b, UINT32_MAX, o.rank[b]}, goes_round = enters;
    const uint32_t loop = o.loop[b] && o.head[o.loop[b]] == b ? o.loop[b] : 0;
    if (loop) enters.end = o.begin[loop];
    for (uint32_t e = g->pred_at[b]; e < g->pred_at[b + 1]; e++) {
      struct back_wait *wait = loop && mx__is_in_loop(&o, g->pred[e], loop) ? &goes_round : &enters;
      const uint32_t begin = begin_of(&o, g->pred[e], b);
      if (begin < wait->begin) wait->begin = begin;
    }
    if (enters.begin < enters.end) w->at[w->n++] = enters, w->work += enters.end - enters.begin;
    if (goes_round.begin < goes_round.end) w->at[w->n++] = goes_round, w->work += goes_round.end - goes_round.begin;
  }
  mx__layout_free(&o);
  return w;
}

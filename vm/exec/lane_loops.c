/* Stores of lanes that ran one by one are made in the machine's order. Mostly the order does not matter, since lanes
 * write to different places, or the same value: that is tested first.
 *
 * Which form of a loop is faster depends on how many rounds the lanes take, and on caches: each worker measures both,
 * and now and then tries the slower one again. */
#include "lane_loops.h"

#include "block.h"
#include "exec.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define TABLE (2 * MX_KEPT_STORES)
#define SHARED 0x80u /* a flag in a key: another lane has written the same value to that place */

struct mx_kept_stores {
  struct mx_kept_store store[MX_KEPT_STORES];
  uint16_t at[TABLE]; /* the number of the last store to a place, from 1 */
};

unsigned char *mx__kept_stores(struct mx_exec *x) {
  if (!x->kept) x->kept = malloc(sizeof *x->kept);
  return (unsigned char *)x->kept;
}

static unsigned bytes_of(const struct mx_kept_store *s) { return s->key >> 8 & 0xFF; }
static unsigned lane_of(const struct mx_kept_store *s) { return s->key & (SHARED - 1); }
static bool same_value(const struct mx_kept_store *x, const struct mx_kept_store *y) {
  return x->value[0] == y->value[0] && (bytes_of(x) <= 8 || x->value[1] == y->value[1]);
}
static bool rises(const struct mx_kept_store *s, size_t n) {
  for (size_t k = 1; k < n; k++)
    if (s[k].host <= s[k - 1].host) return false;
  return true;
}
/* Whether the stores write few different values, each into a part of memory of its own: then the order does not matter,
 * whoever writes to one place. A graph search that marks vertices takes 7 % less time than where each place is looked
 * up. */
static bool values_apart(const struct mx_kept_store *s, size_t n) {
  enum { MOST = 8 };
  struct {
    const struct mx_kept_store *first;
    uint64_t low, end;
  } v[MOST];
  size_t values = 0;
  for (size_t k = 0; k < n; k++) {
    size_t m = 0;
    while (m < values && (bytes_of(&s[k]) != bytes_of(v[m].first) || !same_value(&s[k], v[m].first))) m++;
    if (m == MOST) return false;
    const uint64_t low = s[k].host, end = low + bytes_of(&s[k]);
    if (m == values) v[values].first = &s[k], v[values].low = low, v[values++].end = end;
    if (low < v[m].low) v[m].low = low;
    if (end > v[m].end) v[m].end = end;
  }
  for (size_t k = 1; k < values; k++)
    for (size_t m = 0; m < k; m++)
      if (v[k].low < v[m].end && v[m].low < v[k].end) return false;
  return true;
}
/* Whether two lanes leave different values in one place. Whichever lane is last in the machine's order, its own last
 * store there counts; so the order does not matter if all lanes' last values are equal. Stores of different sizes do
 * not overlap here. */
static bool order_matters(struct mx_kept_stores *t, size_t n) {
  size_t size = 64;
  while (size < 2 * n) size *= 2;
  const unsigned shift = 64 - (unsigned)__builtin_ctzll(size);
  memset(t->at, 0, size * sizeof *t->at);
  for (size_t k = 0; k < n; k++) {
    struct mx_kept_store *s = &t->store[k];
    size_t h = s->host * 0x9E3779B97F4A7C15u >> shift;
    while (t->at[h] && t->store[t->at[h] - 1].host != s->host) h = (h + 1) & (size - 1);
    if (t->at[h]) {
      const struct mx_kept_store *last = &t->store[t->at[h] - 1];
      const bool other = lane_of(last) != lane_of(s);
      if ((other || last->key & SHARED) && !same_value(last, s)) return true;
      if (other || last->key & SHARED) s->key |= SHARED;
    }
    t->at[h] = (uint16_t)(k + 1);
  }
  return false;
}
static int by_time(const void *x, const void *y) {
  const uint64_t flip = ~0ull << MX_KEPT_LEFT, a = ((const struct mx_kept_store *)x)->key ^ flip,
                 b = ((const struct mx_kept_store *)y)->key ^ flip;
  return a < b ? -1 : a > b;
}
void mx__kept_stores_make(struct mx_exec *x, void *end) {
  struct mx_kept_stores *t = x->kept;
  const size_t n = (size_t)((struct mx_kept_store *)end - t->store);
  const bool sort = !rises(t->store, n) && !values_apart(t->store, n) && order_matters(t, n);
  if (sort) {
    for (size_t k = 0; k < n; k++) t->store[k].key &= ~(uint64_t)SHARED;
    qsort(t->store, n, sizeof *t->store, by_time);
  }
  for (const struct mx_kept_store *s = t->store; s < t->store + n; s++) {
    unsigned char *to = (unsigned char *)(uintptr_t)s->host;
    switch (bytes_of(s)) {
    case 1: memcpy(to, s->value, 1); break;
    case 2: memcpy(to, s->value, 2); break;
    case 4: memcpy(to, s->value, 4); break;
    case 8: memcpy(to, s->value, 8); break;
    default: memcpy(to, s->value, 16); break;
    }
  }
}

/* ---- local memory -----------------------------------------------------------------------------------------------*/
#define MOST_LOCAL ((uint64_t)64 << 10) /* of a warp: a copy of more would take longer than most loops */

static unsigned char *local_of_warp(const struct mx_exec *x, uint64_t *size) {
  *size = x->local_stride * x->lanes;
  return x->block->local ? x->block->warps[x->sreg[MX_SR_WARPID]].local : NULL;
}
unsigned char *mx__local_keep(struct mx_exec *x) {
  uint64_t size;
  const unsigned char *from = local_of_warp(x, &size);
  if (!from || x->local_stride > MOST_LOCAL / MX_MAX_LANES) return NULL;
  if (!x->kept_local) x->kept_local = malloc(MOST_LOCAL);
  return x->kept_local ? memcpy(x->kept_local, from, size) : NULL;
}
void mx__local_restore(struct mx_exec *x, void *copy) {
  uint64_t size;
  unsigned char *to = local_of_warp(x, &size);
  memcpy(to, copy, size);
}

/* ---- times ------------------------------------------------------------------------------------------------------*/
enum {
  AGAIN = 15,       /* how many loops, at least, run in the faster form until the other one is tried again */
  MOST_AGAIN = 1023 /* and at most */
};
/* How many they are. The slower a form is, the rarer it is tried: what that takes is a 64th of the time of the loops
 * between. */
static uint32_t again(uint64_t slower, uint64_t faster) {
  const uint64_t n = 64 * (slower - faster) / faster;
  return n < AGAIN ? AGAIN : n > MOST_AGAIN ? MOST_AGAIN : (uint32_t)n;
}
/* Both forms have been measured: which one is next, and how often. `tried`: the form that has just run. */
static void choose(struct mx_bounds *b, uint32_t tried) {
  const uint32_t by_lanes = b->lanes_cost[MX_LOOP_BY_LANES], together = b->lanes_cost[MX_LOOP_TOGETHER];
  if (by_lanes > together) {
    if (tried == MX_LOOP_BY_LANES || b->lanes_left != MX_LANES_TOGETHER) b->lanes_off = again(by_lanes, together);
    b->lanes_left = MX_LANES_TOGETHER;
  } else if (tried == MX_LOOP_TOGETHER || b->lanes_left == MX_LANES_TOGETHER)
    b->lanes_off = 0, b->lanes_left = again(together, by_lanes);
  else if (b->lanes_left) b->lanes_left--;
  else b->lanes_off = 1;
}
void mx__loop_took(struct mx_exec *x, uint32_t number, uint32_t form, uint64_t since, uint64_t rounds) {
  struct mx_bounds *b = &x->bounds[number];
#if defined(__x86_64__)
  uint64_t took = (__rdtsc() - since) * 16 / (rounds ? rounds : 1);
#else
  uint64_t took = since + rounds; /* there is no compiled code */
#endif
  const bool bailed = form == MX_LOOP_BAILED_OUT;
  if (bailed) {
    form = MX_LOOP_BY_LANES;
    memset(x->visits, 0, sizeof x->visits);
    if (!b->lanes_cost[form]) { /* most loops that begin so had no bounds yet; others are tried ever more rarely */
      const uint32_t pause = (uint32_t)AGAIN << b->lanes_left;
      b->lanes_off = pause < MOST_AGAIN ? pause : MOST_AGAIN;
      b->lanes_left += b->lanes_left < 7;
      return;
    }
  }
  uint32_t *cost = &b->lanes_cost[form];
  if (took > UINT32_MAX / 4) took = UINT32_MAX / 4;
  if (bailed && took < *cost) took = *cost;               /* the rounds to come would have taken more */
  if (!*cost || took < *cost) *cost = (uint32_t)took + 1; /* the first measurements are made with cold caches */
  else *cost += (uint32_t)((took < 2ull * *cost ? took : 2ull * *cost) - *cost) / 8;
  if (b->lanes_cost[MX_LOOP_BY_LANES] && b->lanes_cost[MX_LOOP_TOGETHER]) choose(b, form);
  else if (form == MX_LOOP_BY_LANES) b->lanes_off = 1;
  if (bailed && b->lanes_off < AGAIN) b->lanes_off = AGAIN;
}

/* ---- what earlier launches measured ----------------------------------------------------------------------------*/
void mx__loops_begin(struct mx_exec *x) {
  for (uint32_t k = 0; k < x->prep->nbounds; k++) {
    struct mx_bounds *b = &x->bounds[k];
    for (unsigned form = 0; form < 2; form++)
      b->lanes_cost[form] = atomic_load_explicit(&x->prep->lane_costs[2 * (size_t)k + form], memory_order_relaxed);
    if (b->lanes_cost[MX_LOOP_BY_LANES] && b->lanes_cost[MX_LOOP_TOGETHER]) choose(b, MX_LOOP_TOGETHER);
  }
}
void mx__loops_end(struct mx_exec *x) {
  for (uint32_t k = 0; x->bounds && k < x->prep->nbounds; k++)
    for (unsigned form = 0; form < 2; form++)
      if (x->bounds[k].lanes_cost[form])
        atomic_store_explicit(&x->prep->lane_costs[2 * (size_t)k + form], x->bounds[k].lanes_cost[form],
                              memory_order_relaxed);
}

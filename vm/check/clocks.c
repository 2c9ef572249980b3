/* What warps know about each other: sets of times, sorted by the warp's number in the grid; and arrays that grow. See
 * check.h. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

bool mx__check_grow(struct mx_check *c, void **at, size_t n, size_t *room, size_t size) {
  if (n < *room) return true;
  const size_t more = *room ? *room * 2 : 64;
  void *grown = realloc(*at, more * size);
  if (!grown) return c->failed = true, false;
  *at = grown;
  *room = more;
  return true;
}

struct clocks *mx__clocks_keep(struct clocks *c) {
  if (c) c->users++;
  return c;
}
void mx__clocks_drop(struct clocks *c) {
  if (c && !--c->users) free(c);
}
static struct clocks *clocks_new(uint32_t room) {
  struct clocks *c = malloc(sizeof *c + room * sizeof c->at[0]);
  if (c) c->users = 1, c->n = 0;
  return c;
}

uint32_t mx__clocks_time(const struct clocks *c, uint64_t warp) {
  uint32_t lo = 0, n = c ? c->n : 0;
  while (n) {
    const uint32_t half = n / 2;
    if (c->at[lo + half].warp == warp) return c->at[lo + half].time;
    if (c->at[lo + half].warp < warp) lo += half + 1, n -= half + 1;
    else n = half;
  }
  return 0;
}

static bool covers(const struct clocks *a, const struct clocks *b) {
  uint32_t i = 0;
  for (uint32_t k = 0; k < b->n; k++) {
    while (i < a->n && a->at[i].warp < b->at[k].warp) i++;
    if (i == a->n || a->at[i].warp != b->at[k].warp || a->at[i].time < b->at[k].time) return false;
  }
  return true;
}

struct clocks *mx__clocks_join(struct clocks *a, struct clocks *b) {
  if (!b || a == b) return mx__clocks_drop(b), a;
  if (!a) return b;
  if (covers(a, b)) return mx__clocks_drop(b), a;
  if (covers(b, a)) return mx__clocks_drop(a), b;
  struct clocks *c = clocks_new(a->n + b->n);
  for (uint32_t i = 0, k = 0; c && (i < a->n || k < b->n);) {
    const bool left = k == b->n || (i < a->n && a->at[i].warp <= b->at[k].warp),
               right = i == a->n || (k < b->n && b->at[k].warp <= a->at[i].warp);
    struct clock t = left ? a->at[i] : b->at[k];
    if (right && b->at[k].time > t.time) t.time = b->at[k].time;
    c->at[c->n++] = t;
    i += left, k += right;
  }
  mx__clocks_drop(a);
  mx__clocks_drop(b);
  return c;
}

struct clocks *mx__clocks_with(struct clocks *a, uint64_t warp, uint32_t time) {
  struct clocks *one = clocks_new(1);
  if (!one) return a;
  one->at[one->n++] = (struct clock){warp, time};
  return mx__clocks_join(a, one);
}

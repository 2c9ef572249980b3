/* Memory for pending asynchronous copies: a block's records, and the rings of its warps, which grow with the number of
 * pending copies. async.c uses them. */
#include "async.h"
#include "vm/exec/hooks.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 4, MOST_ROWS = 32 /* a ring's cells */ };

/* Row copies are in groups that all lanes have committed; if there are too many, the oldest ones land. */
void mx__copies_capacity(struct mx_warp_copies *w) {
  const uint32_t left = w->n < MX_MOST_COPIES ? MX_MOST_COPIES - w->n : 0;
  w->capacity = !w->rows || w->groups_differ ? 0 : w->mask < left ? w->mask + 1 : left;
}
bool mx__copies_lengthen(struct mx_warp_copies *w) {
  const uint32_t n = w->rows ? 2 * (w->mask + 1) : LEAST_ROWS;
  struct mx_row_copy *rows = n <= MOST_ROWS ? aligned_alloc(_Alignof(struct mx_row_copy), n * sizeof *rows) : NULL;
  if (!rows) return false;
  for (uint32_t k = w->landed; k != w->issued; k++) rows[k & (n - 1)] = w->rows[k & w->mask];
  free(w->rows);
  w->rows = rows, w->mask = n - 1;
  return true;
}
struct mx_async *mx__async_new(struct mx_block *b) {
  const struct mx_launch *l = b->launch;
  const size_t size = sizeof(struct mx_async) + b->nwarps * sizeof(struct mx_warp_copies);
  struct mx_async *a = b->async = aligned_alloc(_Alignof(struct mx_async), size);
  if (a) memset(a, 0, size);
  if (!a || l->async != MX_ASYNC_LATE || l->debug || mx__sees_accesses(l)) return a;
  b->copies = a->warp;
  for (uint32_t w = 0; w < b->nwarps; w++) mx__copies_lengthen(&a->warp[w]), mx__copies_capacity(&a->warp[w]);
  return a;
}

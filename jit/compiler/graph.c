/* graph.h says what this does. */
#include "graph.h"

#include <stdlib.h>

/* Depth first, without recursion: a function may have thousands of blocks in a chain. */
static void postorder(struct ja *a, uint32_t *order, uint32_t *n) {
  struct visit {
    uint32_t block, next;
  } *stack = malloc(sizeof *stack * (a->nblocks + 1));
  bool *seen = calloc(a->nblocks + 1, sizeof *seen);
  if (!stack || !seen) abort();
  uint32_t depth = 0;
  *n = 0;
  stack[depth++] = (struct visit){0, 0};
  seen[0] = true;
  while (depth) {
    struct visit *v = &stack[depth - 1];
    uint32_t k = 0, to = JA_NONE;
    JA_FOR_SUCC(a, v->block, s, {
      if (k++ >= v->next && to == JA_NONE) {
        v->next++;
        if (!seen[s]) to = s;
      }
    });
    if (to == JA_NONE) order[(*n)++] = stack[--depth].block;
    else seen[to] = true, stack[depth++] = (struct visit){to, 0};
  }
  free(stack), free(seen);
}

static uint32_t meet(const struct ja *a, uint32_t x, uint32_t y) {
  while (x != y) {
    while (a->blocks[x].rpo > a->blocks[y].rpo) x = a->blocks[x].idom;
    while (a->blocks[y].rpo > a->blocks[x].rpo) y = a->blocks[y].idom;
  }
  return x;
}

void jg_find(struct ja *a) {
  for (uint32_t b = 0; b < a->nblocks; b++) a->blocks[b].rpo = a->blocks[b].idom = JA_NONE;
  if (!a->nblocks) return;
  uint32_t n;
  postorder(a, a->order, &n);
  for (uint32_t k = 0; k < n / 2; k++) {
    const uint32_t b = a->order[k];
    a->order[k] = a->order[n - 1 - k], a->order[n - 1 - k] = b;
  }
  a->norder = n;
  for (uint32_t k = 0; k < n; k++) a->blocks[a->order[k]].rpo = k;
  a->blocks[0].idom = 0;
  /* Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", along the edges */
  for (bool again = true; again;) {
    again = false;
    for (uint32_t k = 0; k < n; k++) {
      const uint32_t b = a->order[k];
      if (a->blocks[b].idom == JA_NONE) continue;
      JA_FOR_SUCC(a, b, s, {
        const uint32_t was = a->blocks[s].idom, now = !s ? 0 : was == JA_NONE ? b : meet(a, was, b);
        if (now != was) a->blocks[s].idom = now, again = true;
      });
    }
  }
}

bool jg_dominates(const struct ja *a, uint32_t d, uint32_t b) {
  if (!jg_reached(a, d) || !jg_reached(a, b)) return false;
  while (a->blocks[b].rpo > a->blocks[d].rpo) b = a->blocks[b].idom;
  return b == d;
}

bool jg_loop(const struct ja *a, uint32_t h, uint64_t *body) {
  bool any = false;
  ja_add(body, h);
  for (uint32_t b = 0; b < a->nblocks; b++)
    if (jg_dominates(a, h, b))
      JA_FOR_SUCC(
          a, b, s, if (s == h) {
            ja_add(body, b);
            any = true;
          });
  for (bool again = any; again;) { /* backwards along the edges */
    again = false;
    for (uint32_t k = a->norder; k--;) {
      const uint32_t b = a->order[k];
      if (ja_has(body, b) || !jg_dominates(a, h, b)) continue;
      JA_FOR_SUCC(
          a, b, s, if (s != h && ja_has(body, s) && !ja_has(body, b)) {
            ja_add(body, b);
            again = true;
          });
    }
  }
  return any;
}

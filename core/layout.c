/* layout.h says what this does. */
#include "layout.h"

#include <stdlib.h>

#define NONE UINT32_MAX
/* Loops; in what lies deeper, blocks run in the order of the text: sane code has none, and it costs no more time. */
#define MOST_NESTED 64

struct finder {
  uint32_t nblocks;
  const uint32_t *first_succ, *succ;
  struct mx_layout *out;
  uint32_t *part;                                /* by block: the set of blocks that is laid out now */
  uint32_t *number, *low, *stack, nstack, count; /* Tarjan's, "Depth-first search and linear graph algorithms" */
  uint32_t *at;                                  /* by block on the way: the edge to look at next */
  uint32_t norder;
};

/* strongly connected ones, each before those that lead to it; its first visited block is its last */
struct parts {
  uint32_t *blocks, n, *size, nparts;
};

static void visit(struct finder *t, uint32_t root, uint32_t part, struct parts *out) {
  uint32_t *way = t->out->order + t->norder, depth = 0; /* blocks not laid out yet have their room there */
  way[depth++] = root;
  t->number[root] = t->low[root] = ++t->count, t->at[root] = t->first_succ[root];
  t->stack[t->nstack++] = root;
  while (depth) {
    const uint32_t v = way[depth - 1];
    if (t->at[v] < t->first_succ[v + 1]) {
      const uint32_t to = t->succ[t->at[v]++];
      if (to >= t->nblocks || t->part[to] != part) continue;
      if (t->number[to]) {
        if (t->number[to] < t->low[v]) t->low[v] = t->number[to]; /* of finished ones it is the greatest */
        continue;
      }
      way[depth++] = to;
      t->number[to] = t->low[to] = ++t->count, t->at[to] = t->first_succ[to];
      t->stack[t->nstack++] = to;
      continue;
    }
    depth--;
    if (depth && t->low[v] < t->low[way[depth - 1]]) t->low[way[depth - 1]] = t->low[v];
    if (t->low[v] != t->number[v]) continue;
    uint32_t u, size = 0;
    do {
      u = t->stack[--t->nstack];
      out->blocks[out->n++] = u, size++;
      t->number[u] = NONE; /* finished */
    } while (u != v);
    out->size[out->nparts++] = size;
  }
}
static int compare_blocks(const void *x, const void *y) {
  const uint32_t *a = x, *b = y;
  return *a < *b ? -1 : *a > *b;
}
static bool has_edge(const struct finder *t, uint32_t from, uint32_t to) {
  for (uint32_t e = t->first_succ[from]; e < t->first_succ[from + 1]; e++)
    if (t->succ[e] == to) return true;
  return false;
}
/* Lays out the n blocks of a part that has no loop's header of its own, what lanes come to first first; of branches
 * what is not taken. */
static bool lay_out(struct finder *t, const uint32_t *blocks, uint32_t n, uint32_t part, uint32_t loop,
                    unsigned depth) {
  struct parts p = {malloc(sizeof(uint32_t) * (n + 1u)), 0, malloc(sizeof(uint32_t) * (n + 1u)), 0};
  bool good = p.blocks && p.size;
  for (uint32_t k = 0; k < n; k++) t->number[blocks[k]] = 0;
  t->count = 0;
  for (uint32_t k = 0; k < n && good; k++)
    if (!t->number[blocks[k]]) visit(t, blocks[k], part, &p);
  for (uint32_t k = p.nparts, end = p.n; k-- && good;) {
    const uint32_t size = p.size[k], head = p.blocks[end - 1];
    uint32_t *own = p.blocks + end - size;
    end -= size;
    t->part[head] = NONE;
    if (size > 1 || has_edge(t, head, head)) {
      const uint32_t inner = ++t->out->nloops;
      t->out->outer[inner] = loop, t->out->loop[head] = inner;
      t->out->head[inner] = head, t->out->begin[inner] = t->norder;
      for (uint32_t m = 0; m + 1 < size; m++) t->out->loop[own[m]] = t->part[own[m]] = inner, t->number[own[m]] = 0;
      /* what the header leads to; the others are reached from there */
      uint32_t *roots = malloc(sizeof *roots * size), nroots = 0;
      good = roots != NULL;
      for (uint32_t e = t->first_succ[head]; good && e < t->first_succ[head + 1]; e++) {
        const uint32_t to = t->succ[e];
        if (to < t->nblocks && t->part[to] == inner && !t->number[to]) t->number[to] = 1, roots[nroots++] = to;
      }
      for (uint32_t m = 0; good && m + 1 < size; m++)
        if (!t->number[own[m]]) roots[nroots++] = own[m];
      if (good && depth < MOST_NESTED) good = lay_out(t, roots, nroots, inner, inner, depth + 1);
      else {
        qsort(own, size - 1, sizeof *own, compare_blocks);
        for (uint32_t m = 0; m + 1 < size; m++) t->out->order[t->norder++] = own[m];
      }
      free(roots);
    }
    t->out->order[t->norder++] = head;
  }
  free(p.blocks), free(p.size);
  return good;
}

void mx__layout_free(struct mx_layout *o) {
  free(o->order), free(o->rank), free(o->loop), free(o->outer), free(o->head), free(o->begin);
  *o = (struct mx_layout){0};
}
bool mx__layout_find(uint32_t nblocks, const uint32_t *first_succ, const uint32_t *succ, struct mx_layout *o) {
  struct finder t = {.nblocks = nblocks, .first_succ = first_succ, .succ = succ, .out = o};
  *o = (struct mx_layout){0};
  uint32_t **const arrays[] = {&o->order, &o->rank,  &o->loop, &o->outer, &o->head, &o->begin,
                               &t.part,   &t.number, &t.low,   &t.stack,  &t.at};
  bool good = true;
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
    good &= (*arrays[k] = calloc(nblocks + 2u, sizeof(uint32_t))) != NULL;
  for (uint32_t b = 0; good && b < nblocks; b++) o->rank[b] = b; /* all blocks, until they have their ranks */
  good = good && lay_out(&t, o->rank, nblocks, 0, 0, 0);
  for (uint32_t k = 0; good && k < t.norder; k++) t.at[o->order[k]] = k;
  for (uint32_t b = 0; good && b < nblocks; b++) o->rank[b] = t.at[b];
  free(t.part), free(t.number), free(t.low), free(t.stack), free(t.at);
  if (!good) mx__layout_free(o);
  return good;
}

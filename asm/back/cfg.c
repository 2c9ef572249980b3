/* Control-flow graph and post-dominators, by which branches learn their reconvergence points.
 * Separate because it is plain graph theory and tested as such; must not know slots or encodings. */
#include "back.h"

#include <stdlib.h>
#include <string.h>

static int compare_edges(const void *x, const void *y) {
  const struct cfg_edge *a = x, *b = y;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return a->to < b->to ? -1 : a->to > b->to;
}

struct cfg *mx__cfg_link(struct mx_arena *arena, uint32_t nblocks, const struct cfg_edge *edges, uint32_t nedges) {
  struct cfg *g = mx__arena_alloc(arena, sizeof *g);
  size_t nodes = (size_t)nblocks + 1;
  struct cfg_edge *sorted = mx__arena_alloc(arena, (nedges + 1) * sizeof *sorted);
  if (nedges) memcpy(sorted, edges, nedges * sizeof *sorted);
  qsort(sorted, nedges, sizeof *sorted, compare_edges);
  uint32_t n = 0;
  for (uint32_t i = 0; i < nedges; i++)
    if (!n || compare_edges(&sorted[n - 1], &sorted[i])) sorted[n++] = sorted[i];

  g->nblocks = nblocks;
  g->succ_at = mx__arena_alloc(arena, (nodes + 1) * sizeof *g->succ_at);
  g->pred_at = mx__arena_alloc(arena, (nodes + 1) * sizeof *g->pred_at);
  g->succ = mx__arena_alloc(arena, (n + 1) * sizeof *g->succ);
  g->pred = mx__arena_alloc(arena, (n + 1) * sizeof *g->pred);
  for (uint32_t i = 0; i < n; i++) g->succ_at[sorted[i].from + 1]++, g->pred_at[sorted[i].to + 1]++;
  for (size_t b = 0; b < nodes; b++) g->succ_at[b + 1] += g->succ_at[b], g->pred_at[b + 1] += g->pred_at[b];
  uint32_t *fill = mx__arena_alloc(arena, nodes * sizeof *fill);
  memcpy(fill, g->pred_at, nodes * sizeof *fill);
  for (uint32_t i = 0; i < n; i++) {
    g->succ[i] = sorted[i].to;
    g->pred[fill[sorted[i].to]++] = sorted[i].from;
  }
  return g;
}

struct edges {
  struct mx_arena *arena;
  struct cfg_edge *list;
  uint32_t n, capacity;
};
static void add_edge(struct edges *e, uint32_t from, uint32_t to) {
  if (e->n == e->capacity) {
    uint32_t capacity = e->capacity ? e->capacity * 2 : 64;
    e->list = mx__arena_grow(e->arena, e->list, e->capacity * sizeof *e->list, capacity * sizeof *e->list);
    e->capacity = capacity;
  }
  e->list[e->n++] = (struct cfg_edge){from, to};
}

struct cfg *mx__cfg_build(struct mx_arena *arena, const struct back_body *b) {
  uint32_t n = b->ninsns;
  bool *starts = mx__arena_alloc(arena, n + 1);
  starts[0] = true;
  for (uint32_t i = 0; i < b->nlabels; i++) starts[b->labels[i]] = true;
  for (uint32_t i = 0; i < n; i++) {
    uint16_t op = b->insns[i].op;
    if (op == MX_BRA || op == MX_BRX || mx__ops[op].flags & MX_F_END) starts[i + 1] = true;
  }
  uint32_t nblocks = 0;
  uint32_t *block_of = mx__arena_alloc(arena, (n + 1) * sizeof *block_of);
  for (uint32_t i = 0; i < n; i++) nblocks += starts[i], block_of[i] = nblocks - 1;
  uint32_t *first = mx__arena_alloc(arena, (nblocks + 1) * sizeof *first);
  for (uint32_t i = n; i-- > 0;) first[block_of[i]] = i;
  first[nblocks] = n;
  block_of[n] = nblocks; /* past the end: only text with .slots leaves it open, and the verifier refuses it */

  struct edges e = {.arena = arena};
  uint32_t *seen = mx__arena_alloc(arena, (nblocks + 1) * sizeof *seen); /* block + 1 whose table named it last */
  for (uint32_t k = 0; k < nblocks; k++) {
    const struct ir_insn *in = &b->insns[first[k + 1] - 1];
    if (in->op == MX_BRA) {
      add_edge(&e, k, block_of[b->labels[in->target]]);
    } else if (in->op == MX_BRX) {
      const struct ir_table *t = &b->func->tables[in->table];
      for (uint32_t i = 0; i < t->nlabels; i++) {
        uint32_t to = block_of[b->labels[t->labels[i]]];
        if (seen[to] != k + 1) add_edge(&e, k, to);
        seen[to] = k + 1;
      }
      if (!t->nlabels) add_edge(&e, k, nblocks);
    } else if (mx__ops[in->op].flags & MX_F_END && mx__insn_ends(in)) {
      add_edge(&e, k,
               nblocks); /* not under a guard: lanes that end are not waited for, the others meet as they would */
    }
    if (!mx__insn_ends(in)) add_edge(&e, k, k + 1);
  }
  struct cfg *g = mx__cfg_link(arena, nblocks, e.list, e.n);
  g->first = first;
  g->block_of = block_of;
  return g;
}

uint32_t *mx__cfg_postorder(struct mx_arena *arena, const struct cfg *g) {
  uint32_t n = g->nblocks, count = 0;
  uint32_t *order = mx__arena_alloc(arena, (n + 1) * sizeof *order);
  uint32_t *next = mx__arena_alloc(arena, (n + 1) * sizeof *next),
           *stack = mx__arena_alloc(arena, (n + 1) * sizeof *stack);
  bool *seen = mx__arena_alloc(arena, n + 1);
  for (uint32_t root = 0; root < n; root++) {
    if (seen[root]) continue;
    uint32_t depth = 0;
    seen[root] = true, next[root] = g->succ_at[root], stack[depth++] = root;
    while (depth) {
      uint32_t b = stack[depth - 1];
      if (next[b] == g->succ_at[b + 1]) {
        order[count++] = b, depth--;
        continue;
      }
      uint32_t s = g->succ[next[b]++];
      if (s < n && !seen[s]) seen[s] = true, next[s] = g->succ_at[s], stack[depth++] = s;
    }
  }
  return order;
}

/* State of the dominator search (Lengauer and Tarjan, with path compression) on the reversed graph. Vertices have
 * numbers by depth-first order from the virtual exit, which is 0. */
struct search {
  const struct cfg *g;
  uint32_t count;
  uint32_t *number; /* of a node; UINT32_MAX: not reached yet */
  uint32_t *node;   /* of a number */
  uint32_t *parent, *semi, *ancestor, *best, *idom;
  uint32_t *stack, *next;
};

#define UNREACHED UINT32_MAX

static void reach(struct search *s, uint32_t node, uint32_t parent) {
  s->number[node] = s->count;
  s->node[s->count] = node;
  s->parent[s->count] = parent;
  s->count++;
}

static void walk_back(struct search *s, uint32_t root) {
  const struct cfg *g = s->g;
  uint32_t depth = 0;
  s->next[root] = g->pred_at[root], s->stack[depth++] = root;
  while (depth) {
    uint32_t b = s->stack[depth - 1];
    if (s->next[b] == g->pred_at[b + 1]) {
      depth--;
      continue;
    }
    uint32_t p = g->pred[s->next[b]++];
    if (s->number[p] != UNREACHED) continue;
    reach(s, p, s->number[b]);
    s->next[p] = g->pred_at[p], s->stack[depth++] = p;
  }
}

/* The vertex of least semi-dominator on the forest path above v; shortens the path for the next question. */
static uint32_t evaluate(struct search *s, uint32_t v) {
  uint32_t depth = 0;
  if (s->ancestor[v] == UNREACHED) return s->best[v];
  for (uint32_t u = v; s->ancestor[s->ancestor[u]] != UNREACHED; u = s->ancestor[u]) s->stack[depth++] = u;
  while (depth) {
    uint32_t u = s->stack[--depth], a = s->ancestor[u];
    if (s->semi[s->best[a]] < s->semi[s->best[u]]) s->best[u] = s->best[a];
    s->ancestor[u] = s->ancestor[a];
  }
  return s->best[v];
}

/* Which blocks lie on a loop that nobody leaves: those of a strongly connected component without an edge out of it.
 * Searches backwards, begun in reverse postorder, find one component each. */
static bool *find_endless(struct mx_arena *arena, const struct cfg *g, const uint32_t *order) {
  const uint32_t n = g->nblocks;
  uint32_t *component = mx__arena_alloc(arena, n * sizeof *component),
           *stack = mx__arena_alloc(arena, n * sizeof *stack);
  bool *left = mx__arena_alloc(arena, n), *endless = mx__arena_alloc(arena, n);
  for (uint32_t b = 0; b < n; b++) component[b] = UNREACHED;
  for (uint32_t i = n; i-- > 0;) {
    const uint32_t root = order[i];
    if (component[root] != UNREACHED) continue;
    uint32_t depth = 0;
    component[root] = root, stack[depth++] = root;
    while (depth) {
      const uint32_t b = stack[--depth];
      for (uint32_t k = g->pred_at[b]; k < g->pred_at[b + 1]; k++)
        if (component[g->pred[k]] == UNREACHED) component[g->pred[k]] = root, stack[depth++] = g->pred[k];
    }
  }
  for (uint32_t b = 0; b < n; b++)
    for (uint32_t k = g->succ_at[b]; k < g->succ_at[b + 1]; k++)
      if (g->succ[k] == n || component[g->succ[k]] != component[b]) left[component[b]] = true;
  for (uint32_t b = 0; b < n; b++) endless[b] = !left[component[b]];
  return endless;
}

uint32_t *mx__cfg_postdominators(struct mx_arena *arena, const struct cfg *g) {
  uint32_t n = g->nblocks;
  size_t bytes = ((size_t)n + 2) * sizeof(uint32_t);
  struct search s = {.g = g};
  uint32_t **fields[] = {&s.number, &s.node, &s.parent, &s.semi, &s.ancestor, &s.best, &s.idom, &s.stack, &s.next};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) *fields[i] = mx__arena_alloc(arena, bytes);
  bool *closes = mx__arena_alloc(arena, n + 1); /* an endless loop: has a virtual edge to the exit */
  uint32_t *bucket = mx__arena_alloc(arena, bytes), *bucket_next = mx__arena_alloc(arena, bytes);
  for (uint32_t i = 0; i <= n; i++) s.number[i] = s.ancestor[i] = bucket[i] = UNREACHED, s.best[i] = s.semi[i] = i;

  reach(&s, n, 0);
  walk_back(&s, n);
  /* Blocks from which no end can be reached are in, or lead only into, endless loops (or loops left by guarded ends
   * alone). The first block of such a loop to finish a forward search has only edges back to blocks above it: it closes
   * the loop, so the virtual edge that it gets leaves the branches inside, and before, their natural meeting points. */
  if (s.count <= n) {
    const uint32_t *order = mx__cfg_postorder(arena, g);
    const bool *endless = find_endless(arena, g, order);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t b = order[i];
      if (s.number[b] != UNREACHED || !endless[b]) continue;
      closes[b] = true;
      reach(&s, b, 0);
      walk_back(&s, b);
    }
  }

  for (uint32_t w = n; w > 0; w--) {
    uint32_t b = s.node[w];
    for (uint32_t i = g->succ_at[b]; i < g->succ_at[b + 1]; i++) {
      uint32_t u = evaluate(&s, s.number[g->succ[i]]);
      if (s.semi[u] < s.semi[w]) s.semi[w] = s.semi[u];
    }
    if (closes[b]) s.semi[w] = 0;
    bucket_next[w] = bucket[s.semi[w]], bucket[s.semi[w]] = w;
    uint32_t p = s.parent[w];
    s.ancestor[w] = p;
    for (uint32_t v = bucket[p]; v != UNREACHED; v = bucket_next[v]) {
      uint32_t u = evaluate(&s, v);
      s.idom[v] = s.semi[u] < s.semi[v] ? u : p;
    }
    bucket[p] = UNREACHED;
  }
  uint32_t *ipdom = mx__arena_alloc(arena, bytes);
  for (uint32_t w = 1; w <= n; w++) {
    if (s.idom[w] != s.semi[w]) s.idom[w] = s.idom[s.idom[w]];
    ipdom[s.node[w]] = s.node[s.idom[w]];
  }
  return ipdom;
}

uint32_t *mx__cfg_depths(struct mx_arena *arena, const struct cfg *g) {
  uint32_t *depth = mx__arena_alloc(arena, (g->nblocks + 1) * sizeof *depth);
  /* Differences first: unsigned wrap-around is undone by the sums. */
  for (uint32_t b = 0; b < g->nblocks; b++)
    for (uint32_t i = g->succ_at[b]; i < g->succ_at[b + 1]; i++)
      if (g->succ[i] <= b) depth[g->succ[i]]++, depth[b + 1]--;
  for (uint32_t b = 0; b < g->nblocks; b++) depth[b + 1] += depth[b];
  return depth;
}

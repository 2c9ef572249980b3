/* order.h says what this does. */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
/* Loops; in what lies deeper, blocks run in the order of the text: sane code has none, and it costs no more time. */
#define MOST_NESTED 64

struct finder {
  const struct mx_func *f;
  uint32_t nblocks, *block_of, *pc; /* by pc: its block; by block: where it begins */
  /* edges of block b: succ[first_succ[b]] to succ[first_succ[b + 1] - 1], the taken ones first */
  uint32_t *first_succ, *succ;
  uint32_t *part;                                /* by block: the set of blocks that is laid out now */
  uint32_t *number, *low, *stack, nstack, count; /* Tarjan's, "Depth-first search and linear graph algorithms" */
  uint32_t *at;                                  /* by block on the way: the edge to look at next */
  /* by block: its innermost loop, header included; by loop: the one around it */
  uint32_t *loop, *outer, nloops;
  uint32_t *order, norder;
};

uint32_t mx__reconvergence(const struct mx_func *f, uint32_t pc) {
  const mx_word w = f->code[pc];
  if (mx__ops[mx_w_op(w)].flags & MX_F_BRANCH) return mx_w_guard(w) == MX_GUARD_NONE ? NONE : mx_w_reconv(w);
  if (mx_w_op(w) == MX_BRX) return mx_w_operand(&f->code[pc], 2) | mx_w_operand(&f->code[pc], 3) << 10;
  return mx_w_op(w) == MX_CALLI ? pc + mx_w_length(w) : NONE; /* lanes that call different functions */
}
static bool ends_block(mx_word w) {
  return mx__ops[mx_w_op(w)].flags & (MX_F_BRANCH | MX_F_END) || mx_w_op(w) == MX_BRX;
}
/* body_ for each pc that control may go to from the block's last instruction, at pc_, what is taken first. */
#define FOR_TARGETS(f_, pc_, to_, body_) \
  do { \
    const mx_word w__ = (f_)->code[pc_]; \
    const uint32_t next__ = (pc_) + mx_w_length(w__); \
    if (mx__ops[mx_w_op(w__)].flags & MX_F_BRANCH) { \
      const uint32_t to_ = mx_w_target(w__); \
      body_; \
    } \
    if (mx_w_op(w__) == MX_BRX) { \
      const struct mx_table *t__ = &(f_)->tables[mx_w_operand(&(f_)->code[pc_], 1)]; \
      for (uint32_t k__ = t__->ntargets; k__--;) { \
        const uint32_t to_ = t__->targets[k__]; \
        body_; \
      } \
    } else if (next__ < (f_)->ncode && (mx_w_guard(w__) != MX_GUARD_NONE || !ends_block(w__))) { \
      const uint32_t to_ = next__; \
      body_; \
    } \
  } while (0)

static bool find_blocks(struct finder *t) {
  const struct mx_func *f = t->f;
  bool *lead = calloc(f->ncode + 1u, 1);
  t->block_of = malloc(sizeof *t->block_of * (f->ncode + 1u));
  if (!lead || !t->block_of) return free(lead), false;
  size_t edges = 0;
  lead[0] = true;
  for (uint32_t pc = 0, next; pc < f->ncode; pc = next) {
    next = pc + mx_w_length(f->code[pc]);
    if (ends_block(f->code[pc])) {
      lead[next] = true;
      FOR_TARGETS(f, pc, to, (lead[to] = true, edges++));
    }
    const uint32_t r = mx__reconvergence(f, pc);
    if (r < f->ncode) lead[r] = true;
  }
  for (uint32_t pc = 0; pc < f->ncode; pc++) t->nblocks += lead[pc];
  uint32_t **const arrays[] = {&t->pc,    &t->first_succ, &t->part, &t->number, &t->low,
                               &t->stack, &t->at,         &t->loop, &t->outer,  &t->order};
  bool good = true;
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
    good &= (*arrays[k] = calloc(t->nblocks + 2u, sizeof(uint32_t))) != NULL;
  t->succ = malloc(sizeof *t->succ * (edges + t->nblocks + 1));
  if (!good || !t->succ) return free(lead), false;
  uint32_t b = NONE, n = 0;
  for (uint32_t pc = 0; pc < f->ncode; pc++) {
    if (lead[pc]) t->pc[++b] = pc;
    t->block_of[pc] = b;
  }
  for (uint32_t pc = 0, next; pc < f->ncode; pc = next) {
    next = pc + mx_w_length(f->code[pc]);
    if (lead[pc]) t->first_succ[t->block_of[pc]] = n;
    if (next < f->ncode && !lead[next]) continue;
    FOR_TARGETS(f, pc, to, (t->succ[n++] = t->block_of[to]));
  }
  t->first_succ[t->nblocks] = n;
  free(lead);
  return true;
}

/* ---- layout -------------------------------------------------------------------------------------------------*/
/* strongly connected ones, each before those that lead to it; its first visited block is its last */
struct parts {
  uint32_t *blocks, n, *size, nparts;
};

static void visit(struct finder *t, uint32_t root, uint32_t part, struct parts *out) {
  uint32_t *way = t->order + t->norder, depth = 0; /* blocks not laid out yet have their room there */
  way[depth++] = root;
  t->number[root] = t->low[root] = ++t->count, t->at[root] = t->first_succ[root];
  t->stack[t->nstack++] = root;
  while (depth) {
    const uint32_t v = way[depth - 1];
    if (t->at[v] < t->first_succ[v + 1]) {
      const uint32_t to = t->succ[t->at[v]++];
      if (t->part[to] != part) continue;
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
      const uint32_t inner = ++t->nloops;
      t->outer[inner] = loop, t->loop[head] = inner;
      for (uint32_t m = 0; m + 1 < size; m++) t->loop[own[m]] = t->part[own[m]] = inner, t->number[own[m]] = 0;
      /* what the header leads to; the others are reached from there */
      uint32_t *roots = malloc(sizeof *roots * size), nroots = 0;
      good = roots != NULL;
      for (uint32_t e = t->first_succ[head]; good && e < t->first_succ[head + 1]; e++) {
        const uint32_t to = t->succ[e];
        if (t->part[to] == inner && !t->number[to]) t->number[to] = 1, roots[nroots++] = to;
      }
      for (uint32_t m = 0; good && m + 1 < size; m++)
        if (!t->number[own[m]]) roots[nroots++] = own[m];
      if (good && depth < MOST_NESTED) good = lay_out(t, roots, nroots, inner, inner, depth + 1);
      else
        for (uint32_t b = 0; good && b < t->nblocks; b++)
          if (t->part[b] == inner) t->order[t->norder++] = b;
      free(roots);
    }
    t->order[t->norder++] = head;
  }
  free(p.blocks), free(p.size);
  return good;
}

/* ---- what comes of it ---------------------------------------------------------------------------------------*/
static bool stays(const struct finder *t, uint32_t from, uint32_t to) { /* in the innermost loop of `from` */
  uint32_t l = t->loop[to];
  while (l && l != t->loop[from]) l = t->outer[l];
  return l == t->loop[from];
}
static void find_meeting_places(const struct finder *t, struct mx_order *o) {
  const struct mx_func *f = t->f;
  uint32_t *ways = t->number;
  memset(ways, 0, sizeof *ways * t->nblocks);
  for (uint32_t b = 0; b < t->nblocks; b++)
    for (uint32_t e = t->first_succ[b]; e < t->first_succ[b + 1]; e++) {
      const uint32_t to = t->succ[e];
      if (++ways[to] > 1 || !stays(t, b, to)) o->meets[t->pc[to]] = true;
    }
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    const uint32_t r = mx__reconvergence(f, pc);
    if (r < f->ncode) o->meets[r] = true;
  }
}

static bool find(struct finder *t, struct mx_order *o) {
  if (!find_blocks(t)) return false;
  uint32_t *all = malloc(sizeof *all * (t->nblocks + 1u));
  o->rank = calloc(t->f->ncode + 1u, sizeof *o->rank);
  o->meets = calloc(t->f->ncode + 1u, sizeof *o->meets);
  bool good = all && o->rank && o->meets;
  for (uint32_t b = 0; good && b < t->nblocks; b++) all[b] = b;
  good = good && lay_out(t, all, t->nblocks, 0, 0, 0);
  free(all);
  if (!good) return false;
  for (uint32_t k = 0; k < t->norder; k++) t->at[t->order[k]] = k;
  for (uint32_t pc = 0; pc < t->f->ncode; pc++) o->rank[pc] = t->at[t->block_of[pc]];
  find_meeting_places(t, o);
  return true;
}

void mx__order_free(struct mx_order *o) {
  free(o->rank), free(o->meets);
  *o = (struct mx_order){NULL, NULL};
}
bool mx__order_find(const struct mx_func *f, struct mx_order *o) {
  struct finder t = {.f = f};
  *o = (struct mx_order){NULL, NULL};
  const bool good = !f->ncode || find(&t, o);
  uint32_t *const arrays[] = {t.block_of, t.pc,    t.first_succ, t.succ, t.part,  t.number,
                              t.low,      t.stack, t.at,         t.loop, t.outer, t.order};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
  if (!good) mx__order_free(o);
  return good;
}

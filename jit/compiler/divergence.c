/* divergence.h says what this does. */
#include "divergence.h"

#include "vm/exec/jitabi.h"
#include "vm/load/order.h"

#include <stdlib.h>
#include <string.h>

/* How many blocks may run after a block, on average. In more complex code the machine handles divergence. */
#define MOST_WAYS 16u

/* A block's place in the order: for each frame from the outermost to its own, the rank and pc of the call or, at the
 * end, of the block. The deepest frame goes first, so a callee's blocks come behind what is before the call, and before
 * what is behind it. */
struct order_key {
  uint32_t block, n, key[2 * (MX_JIT_LEVELS + 1)];
};
static int by_order_key(const void *x, const void *y) {
  const struct order_key *a = x, *b = y;
  for (uint32_t k = 0; k < a->n && k < b->n; k++)
    if (a->key[k] != b->key[k]) return a->key[k] < b->key[k] ? -1 : 1;
  return a->n < b->n ? -1 : a->n > b->n;
}
static bool returned(const struct ja_origin *o) { return o->kind == JA_RETURNS && !o->counts; }
static struct order_key order_key_of(const struct ja *a, uint32_t block, const struct mx_order *orders) {
  const struct ja_origin *o = &a->origin[a->blocks[block].pc];
  struct order_key p = {.block = block, .n = 2 * (a->frames[o->frame].level + 1)};
  uint32_t pc = o->pc;
  for (uint32_t k = o->frame, at = p.n;; k = a->frames[k].parent) {
    at -= 2;
    p.key[at] = k == o->frame && returned(o) ? UINT32_MAX : orders[k].rank[pc], p.key[at + 1] = pc;
    pc = a->frames[k].call;
    if (!k) return p;
  }
}
bool ja_order(struct ja *a) {
  struct mx_order *orders = calloc(a->nframes, sizeof *orders); /* by frame */
  struct order_key *sorted = malloc(sizeof *sorted * (a->nblocks + 1));
  bool good = orders && sorted;
  for (uint32_t k = 0; good && k < a->nframes; k++)
    good = mx__order_find(&a->image->funcs[a->frames[k].func], &orders[k]);
  for (uint32_t b = 0; good && b < a->nblocks; b++) {
    const struct ja_origin *o = &a->origin[a->blocks[b].pc];
    a->blocks[b].rank = o->frame ? 0 : orders[0].rank[o->pc]; /* in a copy, only deeper frames go first */
    a->blocks[b].meets = returned(o) || orders[o->frame].meets[o->pc];
    sorted[b] = order_key_of(a, b, orders);
  }
  for (uint32_t k = 1; good && k < a->nframes; k++) {
    const struct ja_frame *f = &a->frames[k];
    const uint32_t behind = f->call + mx_w_length(a->image->funcs[a->frames[f->parent].func].code[f->call]);
    a->frames[k].rank = f->parent ? 0 : orders[0].rank[behind];
  }
  if (good) qsort(sorted, a->nblocks, sizeof *sorted, by_order_key);
  for (uint32_t k = 0; good && k < a->nblocks; k++)
    a->blocks[sorted[k].block].turn = k, a->by_turn[k] = sorted[k].block;
  for (uint32_t k = 0; orders && k < a->nframes; k++) mx__order_free(&orders[k]);
  free(orders), free(sorted);
  return good;
}

uint32_t ja_join_of(const struct ja *a, uint32_t branch) {
  const uint32_t pc = mx__reconvergence(a->f, a->ins[a->blocks[branch].end - 1].pc);
  if (pc != MX_PC_RET) return a->block_of_pc[pc];
  return a->f->flags & MX_FUNC_KERNEL ? JA_NONE : a->nblocks;
}
uint32_t ja_before(const struct ja *a, const uint64_t *set, uint32_t b, uint32_t *blocks) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < a->blocks[b].turn; k++)
    if (ja_has(set, a->by_turn[k])) blocks[n++] = a->by_turn[k];
  return n;
}

/* ---- which branches -----------------------------------------------------------------------------------------*/
/* Whether every block that lanes can reach before they meet again comes before the place where they meet. */
static bool can_hide(const struct ja *a, uint32_t b) {
  const struct ja_block *bl = &a->blocks[b];
  const uint32_t join = ja_join_of(a, b);
  if (bl->nsucc != 2 && !a->ins[bl->end - 1].jumps_apart) return false;
  if (join >= a->nblocks) return true;
  uint64_t *seen = calloc(a->bwords, 8);
  uint32_t *work = malloc(sizeof *work * (a->nblocks + 1)), n = 0;
  if (!seen || !work) abort();
  bool good = true;
  ja_add(seen, join);
  JA_FOR_SUCC(a, b, s, if (!ja_has(seen, s)) ja_add(seen, s), work[n++] = s);
  while (n && good) {
    const uint32_t at = work[--n];
    good = a->blocks[at].turn < a->blocks[join].turn;
    JA_FOR_SUCC(
        a, at, s, if (!ja_has(seen, s)) {
          ja_add(seen, s);
          work[n++] = s;
        });
  }
  free(seen), free(work);
  return good;
}

/* ---- where lanes may wait --------------------------------------------------------------------------------------- */
struct finder {
  struct ja *a;
  uint32_t *work, nwork, nways;
  bool *waits;
  uint64_t *pending, *open;
};

static void add_then(struct finder *t, uint32_t from, uint32_t to) {
  struct ja_block *b = &t->a->blocks[from];
  for (uint32_t k = 0; k < b->nthen; k++)
    if (b->then[k] == to) return;
  if (!(b->nthen & (b->nthen - 1))) {
    b->then = realloc(b->then, sizeof *b->then * (b->nthen ? 2 * b->nthen : 1));
    if (!b->then) abort();
  }
  b->then[b->nthen++] = to;
  t->nways++;
}
/* The edge from block `from` to block `to`; first: `to` is the first of all blocks with lanes. t->pending and t->open
 * are the sets at the edge, from which what `to` takes up is removed. */
static void flow(struct finder *t, uint32_t from, uint32_t to, bool first) {
  struct ja *a = t->a;
  struct ja_block *b = &a->blocks[to];
  bool more = !b->seen;
  b->seen = true;
  add_then(t, from, to);
  for (uint32_t w = 0; w < a->bwords; w++) {
    uint64_t p = t->pending[w], o = t->open[w];
    for (uint64_t m = p; first && m; m &= m - 1) { /* no lane waits before a block that comes earlier */
      const uint32_t k = 64 * w + (uint32_t)__builtin_ctzll(m);
      if (a->blocks[k].turn <= b->turn) p &= ~(1ull << (k % 64));
    }
    for (uint64_t m = o; first && m; m &= m - 1) {
      const uint32_t k = 64 * w + (uint32_t)__builtin_ctzll(m);
      if (k < a->nblocks && a->blocks[k].turn <= b->turn) o &= ~(1ull << (k % 64));
    }
    more |= (p & ~b->pending[w]) || (o & ~b->open[w]);
    b->pending[w] |= p, b->open[w] |= o;
  }
  if (more && !t->waits[to]) t->waits[to] = true, t->work[t->nwork++] = to;
}
/* All active lanes go to `to`; diverged: only some do, and `to` comes first among the blocks where lanes are. */
static void go_on(struct finder *t, uint32_t from, uint32_t to, bool diverged) {
  struct ja *a = t->a;
  if (!a->blocks[to].meets && !diverged) {
    flow(t, from, to, false);
    return;
  }
  const bool had = ja_has(t->pending, to);
  uint32_t *before = malloc(sizeof *before * (a->nblocks + 1));
  if (!before) abort();
  const uint32_t n = ja_before(a, t->pending, to, before);
  ja_add(t->pending, to);
  for (uint32_t k = 0; k < n; k++) flow(t, from, before[k], true);
  flow(t, from, to, true);
  if (!had) ja_del(t->pending, to);
  free(before);
}
/* The lanes of a table's branch go to several targets, of which `first` comes first. */
static void jump_apart(struct finder *t, uint32_t from, uint32_t first) {
  struct ja *a = t->a;
  uint64_t *kept = malloc(8 * a->bwords);
  if (!kept) abort();
  memcpy(kept, t->pending, 8 * a->bwords);
  bool others = false;
  JA_FOR_SUCC(a, from, s, if (a->blocks[s].turn > a->blocks[first].turn) ja_add(t->pending, s), others = true);
  if (others) go_on(t, from, first, true);
  memcpy(t->pending, kept, 8 * a->bwords);
  free(kept);
}
static void visit(struct finder *t, uint32_t number) {
  struct ja *a = t->a;
  const struct ja_block *b = &a->blocks[number];
  const struct ja_ins *last = &a->ins[b->end - 1];
  if (last->op == MX_BRX && !last->jumps) return; /* the machine does it */
  memcpy(t->pending, b->pending, 8 * a->bwords), memcpy(t->open, b->open, 8 * a->bwords);
  const uint32_t frame = last->kind == JA_RETURNS ? a->frames[last->frame].parent : last->frame;
  for (uint32_t k = 0; k < a->nblocks && a->nframes > 1; k++) /* behind a return, no lane is in its frame any more */
    if (!ja_encloses(a, ja_frame_of(a, k), frame)) ja_del(t->pending, k), ja_del(t->open, k);
  JA_FOR_SUCC(a, number, s, go_on(t, number, s, false));
  if (!b->hidden) return;
  const uint32_t join = ja_join_of(a, number);
  if (join != JA_NONE) ja_add(t->open, join);
  if (last->jumps) {
    JA_FOR_SUCC(a, number, s, jump_apart(t, number, s));
    return;
  }
  const uint32_t x = b->succ[0], y = b->succ[1];
  ja_add(t->pending, x), ja_add(t->pending, y);
  go_on(t, number, a->blocks[x].turn < a->blocks[y].turn ? x : y, true);
}
static void forget(struct ja *a) {
  for (uint32_t b = 0; b < a->nblocks; b++) {
    memset(a->blocks[b].pending, 0, 8 * a->bwords), memset(a->blocks[b].open, 0, 8 * a->bwords);
    free(a->blocks[b].then);
    a->blocks[b].then = NULL, a->blocks[b].nthen = 0, a->blocks[b].seen = false;
  }
}
static bool find(struct ja *a) {
  struct finder t = {.a = a,
                     .work = malloc(sizeof *t.work * (a->nblocks + 1)),
                     .waits = calloc(a->nblocks + 1, sizeof *t.waits),
                     .pending = calloc(a->bwords, 8),
                     .open = calloc(a->bwords, 8)};
  if (!t.work || !t.waits || !t.pending || !t.open) abort();
  forget(a);
  for (uint32_t b = a->nblocks; b--;) t.waits[b] = true, t.work[t.nwork++] = b;
  while (t.nwork && t.nways <= MOST_WAYS * a->nblocks) {
    const uint32_t b = t.work[--t.nwork];
    t.waits[b] = false;
    visit(&t, b);
  }
  free(t.work), free(t.waits), free(t.pending), free(t.open);
  return t.nways <= MOST_WAYS * a->nblocks;
}

void ja_plan_divergence(struct ja *a) {
  for (uint32_t b = 0; b < a->nblocks; b++)
    if (a->blocks[b].divergent && !a->blocks[b].hidden) a->blocks[b].hidden = !a->tangled && can_hide(a, b);
  if (!find(a)) {
    a->tangled = true;
    for (uint32_t b = 0; b < a->nblocks; b++) a->blocks[b].hidden = false;
    find(a);
  }
  for (uint32_t b = 0; b < a->nblocks; b++) {
    a->blocks[b].converged = true;
    for (uint32_t w = 0; w < a->bwords; w++) a->blocks[b].converged &= !a->blocks[b].pending[w];
  }
}

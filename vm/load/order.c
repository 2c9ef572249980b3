/* order.h says what this does. */
#include "order.h"

#include "core/layout.h"

#include <stdlib.h>

#define NONE UINT32_MAX

struct finder {
  const struct mx_func *f;
  uint32_t nblocks, *block_of, *pc; /* by pc: its block; by block: where it begins */
  /* edges of block b: succ[first_succ[b]] to succ[first_succ[b + 1] - 1], the taken ones first */
  uint32_t *first_succ, *succ;
  uint32_t *ways; /* by block: how many edges lead to it */
  struct mx_layout layout;
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
  uint32_t **const arrays[] = {&t->pc, &t->first_succ, &t->ways};
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

/* ---- what comes of it ---------------------------------------------------------------------------------------*/
static void find_meeting_places(const struct finder *t, struct mx_order *o) {
  const struct mx_func *f = t->f;
  for (uint32_t b = 0; b < t->nblocks; b++)
    for (uint32_t e = t->first_succ[b]; e < t->first_succ[b + 1]; e++) {
      const uint32_t to = t->succ[e];
      if (++t->ways[to] > 1 || !mx__is_in_loop(&t->layout, to, t->layout.loop[b])) o->meets[t->pc[to]] = true;
    }
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    const uint32_t r = mx__reconvergence(f, pc);
    if (r < f->ncode) o->meets[r] = true;
  }
}

static bool find(struct finder *t, struct mx_order *o) {
  if (!find_blocks(t)) return false;
  o->rank = calloc(t->f->ncode + 1u, sizeof *o->rank);
  o->meets = calloc(t->f->ncode + 1u, sizeof *o->meets);
  if (!o->rank || !o->meets || !mx__layout_find(t->nblocks, t->first_succ, t->succ, &t->layout)) return false;
  for (uint32_t pc = 0; pc < t->f->ncode; pc++) o->rank[pc] = t->layout.rank[t->block_of[pc]];
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
  free(t.block_of), free(t.pc), free(t.first_succ), free(t.succ), free(t.ways);
  mx__layout_free(&t.layout);
  if (!good) mx__order_free(o);
  return good;
}

/* Where lanes are when all have had their turns in a loop (scalar_loops.c): behind the loop, at one of its exits, or,
 * if the slice is used up, still in it. */
#include "scalar_loops.h"

static gcc_jit_rvalue *is_not_zero(struct lw *l, gcc_jit_lvalue *v) {
  return lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(v), lw_u64(l, 0));
}
#define ADD(to_, m_) jx_set(j, to_, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, jx_rv(to_), m_))
/* The lanes that have left wait at the exits, and all are expected where they meet. left: these lanes. */
static void wait_at_exits(struct lw *l, struct lw_scalar_loop *p, gcc_jit_rvalue *const *left) {
  struct jx *j = &l->j;
  for (unsigned c = 0; c < l->nc && p->join != JA_NONE; c++) ADD(lw_expected(l, p->join)[c], jx_rv(l->cm[c]));
  for (unsigned e = 0; e < p->nexits; e++) {
    gcc_jit_rvalue *by[LW_CHUNKS];
    if (!p->waits[e]) continue;
    if (p->nexits > 1) j->isa->masks_of(j, jx_rv(p->left_by[e]), l->nc, by);
    for (unsigned c = 0; c < l->nc; c++) ADD(lw_pending(l, p->exit[e])[c], p->nexits == 1 ? left[c] : by[c]);
  }
}
#undef ADD
/* Some lanes have left the loop, those of `rest` have not and go on, as behind a divergent branch. */
static void part_from(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *rest[LW_CHUNKS], *left[LW_CHUNKS];
  j->isa->masks_of(j, jx_rv(p->rest), l->nc, rest);
  for (unsigned c = 0; c < l->nc; c++)
    left[c] = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, rest[c], jx_rv(l->cm[c])));
  gcc_jit_block *some = lw_new_block(l, "left"), *on = lw_new_block(l, "rest");
  lw_split(l, lw_any(l, left), some, on);
  j->b = some;
  wait_at_exits(l, p, left);
  for (unsigned c = 0; c < l->nc; c++)
    jx_set(j, l->cm[c], jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, jx_rv(l->cm[c]), left[c]));
  lw_go(l, on);
  j->b = on;
}
/* All lanes have left the loop: together, or at different times or by different exits. */
static void go_behind(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  if (p->nexits == 1) {
    lw_edge(l, p->exit[0], false);
    return;
  }
  gcc_jit_block *apart = lw_new_block(l, "apart"), *together = lw_new_block(l, "together");
  lw_split(l, is_not_zero(l, p->apart), apart, together);
  j->b = together;
  for (unsigned e = 0; e < p->nexits; e++) {
    gcc_jit_block *here = lw_new_block(l, "exit"), *other = e + 1 < p->nexits ? lw_new_block(l, "other") : NULL;
    if (other) lw_split(l, is_not_zero(l, p->left_by[e]), here, other);
    else lw_go(l, here);
    j->b = here;
    lw_edge(l, p->exit[e], false);
    j->b = other;
  }
  j->b = apart;
  wait_at_exits(l, p, NULL);
  unsigned last = MOST_EXITS;
  for (unsigned e = 0; e < p->nexits; e++) {
    if (p->waits[e]) {
      if (last == MOST_EXITS || l->a->blocks[p->exit[e]].turn > l->a->blocks[p->exit[last]].turn) last = e;
      continue;
    }
    gcc_jit_block *here = lw_new_block(l, "exit"), *other = lw_new_block(l, "other");
    lw_split(l, is_not_zero(l, p->left_by[e]), here, other);
    j->b = here;
    gcc_jit_rvalue *by[LW_CHUNKS];
    j->isa->masks_of(j, jx_rv(p->left_by[e]), l->nc, by);
    for (unsigned c = 0; c < l->nc; c++) jx_set(j, l->cm[c], by[c]);
    lw_edge_apart(l, p->exit[e]);
    j->b = other;
  }
  if (last == MOST_EXITS) { /* nobody comes here */
    lw_edge(l, p->exit[0], false);
    return;
  }
  for (unsigned c = 0; c < l->nc; c++) jx_set(j, l->cm[c], jx_rv(lw_pending(l, p->exit[last])[c]));
  lw_edge_apart(l, p->exit[last]);
}
enum { FEW_ROUNDS = 8 }; /* that run together rather than one by one */
void sl_leave_loop(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const uint32_t head = p->head;
  const struct ja_block *h = &a->blocks[head];
  gcc_jit_block *some = lw_new_block(l, "some"), *none = lw_new_block(l, "none");
  lw_split(l, lw_rare(l, is_not_zero(l, p->rest)), some, none);
  j->b = none;
  for (uint32_t s = 0; s < a->nslots; s++)
    if (ja_has(p->out, s)) {
      ja_del(l->uni, s);
      l->ramps[s] = 0;
      for (unsigned e = 0; e < p->nexits; e++)
        if (!ja_has(a->blocks[p->exit[e]].raw_in, s)) ja_del(l->raw, s);
    }
  go_behind(l, p);
  memcpy(l->uni, h->uni_in, 8 * a->words), memcpy(l->raw, h->raw_in, 8 * a->words);
  memcpy(l->ramps, h->ramp_in, sizeof *l->ramps * a->nslots);
  j->b = some;
  part_from(l, p);
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(p->out, s)) continue;
    if (ja_has(p->moved, s)) lw_set_number(l, s, jx_rv(p->end[s]));
    else lw_shape_enter(l, s, head);
  }
  /* turns end early enough for rounds with the most backward branches; where most have had fewer, much of the slice is
   * left, and there are turns again */
  gcc_jit_rvalue *slice = jx_rv(lw_field(l, l->x, MX_AT(exec, slice), j->t_int));
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_GT, slice, jx_int(j, j->t_int, FEW_ROUNDS * p->nbacks)), p->start,
           l->head[head]);
}

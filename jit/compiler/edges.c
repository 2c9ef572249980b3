/* Code for edges from block to block. Each block has a mask of the lanes that wait before it; cm[] is the mask of the
 * active lanes. Where lanes diverge or meet, control goes to the first block, in the machine's order, whose mask is not
 * empty (divergence.h says which may). Where branches reconverge a second mask has the lanes that are expected there:
 * exits report it to the machine.
 *
 * 1. Masks that may hold lanes (pending and open of a block) are kept up to date; all others have undefined contents.
 * An edge clears those that begin to count behind it. 2. A slot that pending lanes will read is written for the lanes
 * that run alone, so it has one form for all of them: edges convert it to that. */
#include "divergence.h"
#include "lowering.h"
#include "graph.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#include <stdlib.h>
#include <string.h>

#define X_FIELD(m_) MX_AT(exec, m_)

/* ---- masks -----------------------------------------------------------------------------------------------------*/
gcc_jit_lvalue *const *lw_pending(struct lw *l, uint32_t block) {
  for (unsigned c = 0; c < l->nc && !l->pending[block][c]; c++)
    l->pending[block][c] = l->slots_spilled ? lw_mask_cell(l, block, false, c) : jx_local(&l->j, l->j.t_mask);
  return l->pending[block];
}
gcc_jit_lvalue *const *lw_expected(struct lw *l, uint32_t join) {
  for (unsigned c = 0; c < l->nc && !l->expected[join][c]; c++)
    l->expected[join][c] = l->slots_spilled ? lw_mask_cell(l, join, true, c) : jx_local(&l->j, l->j.t_mask);
  return l->expected[join];
}
static void empty(struct lw *l, gcc_jit_lvalue *const *m) {
  for (unsigned c = 0; c < l->nc; c++) jx_set(&l->j, m[c], jv_k(&l->j, MX_T_pred, 0).r[0]);
}
/* to = m; or, with `add`, to |= m */
static void put(struct lw *l, gcc_jit_lvalue *const *to, gcc_jit_rvalue *const *m, bool add) {
  struct jx *j = &l->j;
  for (unsigned c = 0; c < l->nc; c++)
    jx_set(j, to[c], add ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, jx_rv(to[c]), m[c]) : m[c]);
}
static void values(struct lw *l, gcc_jit_lvalue *const *from, gcc_jit_rvalue **to) {
  for (unsigned c = 0; c < l->nc; c++) to[c] = jx_rv(from[c]);
}
static void copy(struct lw *l, gcc_jit_lvalue *const *to, gcc_jit_lvalue *const *from, bool add) {
  gcc_jit_rvalue *m[LW_CHUNKS];
  values(l, from, m);
  put(l, to, m, add);
}
void lw_empty_masks(struct lw *l, uint32_t to, const uint64_t *pending, const uint64_t *open) {
  const struct ja *a = l->a;
  const struct ja_block *t = &a->blocks[to];
  for (uint32_t b = 0; b <= a->nblocks; b++) {
    if (b < a->nblocks && ja_has(t->pending, b) && !(pending && ja_has(pending, b))) empty(l, lw_pending(l, b));
    if (ja_has(t->open, b) && !(open && ja_has(open, b))) empty(l, lw_expected(l, b));
  }
}

/* ---- edges ----------------------------------------------------------------------------------------------*/
/* Converts slots to the forms that block `to` expects: those that are uniform here but not there are broadcast to their
 * chunks, and NaNs that must be canonical there are made so. */
void lw_convert(struct lw *l, uint32_t to) {
  const struct ja *a = l->a;
  const struct ja_block *t = &a->blocks[to];
  struct jx *j = &l->j;
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(t->live_in, s)) continue;
    const bool one = ja_has(l->uni, s);
    const bool raw = ja_has(l->raw, s) && !ja_has(t->raw_in, s);
    if (raw && one) lw_set_one(l, s, lw_clean(l, s, lw_get(l, s, MX_T_u32, 0)).r[0]);
    for (unsigned c = 0; raw && !one && c < l->nc; c++)
      jx_set(j, lw_var(l, s, c), lw_clean(l, s, lw_get(l, s, MX_T_u32, c)).r[0]);
    if (!one && l->ramps[s] && !t->ramp_in[s]) {
      lw_ramp_spread(l, s);
      lw_shape_enter(l, s, to);
    }
    if (!one || ja_has(t->uni_in, s)) continue;
    lw_broadcast(l, s);
    lw_shape_enter(l, s, to);
  }
}
/* The lanes of cm[] go to block `to`, while the masks of the two sets may hold other lanes. diverged: cm[] may be fewer
 * lanes than the split has. changed: they are not those that have just run. first: no lane waits before a block that
 * comes earlier, so `to` has taken up all that waited there, and none is expected there or earlier any more: these
 * blocks go out of the sets. */
static void arrive(struct lw *l, uint32_t to, uint64_t *pending, uint64_t *open, bool diverged, bool changed,
                   bool first) {
  const struct ja *a = l->a;
  const struct ja_block *t = &a->blocks[to];
  for (uint32_t k = 0; first && k <= t->turn; k++) ja_del(pending, a->by_turn[k]), ja_del(open, a->by_turn[k]);
  lw_empty_masks(l, to, pending, open);
  if (t->converged && diverged) copy(l, l->cm, l->em, false);
  if (changed || (t->converged && diverged)) lw_counters_lanes(l, to, t->converged);
  lw_convert(l, to);
  lw_store_invariants(l, to);
  lw_scalar_loops_left(l, to);
  if (!jg_dominates(l->a, to, l->block)) lw_go(l, lw_start(l, to));
  else if (l->scalar_loops[to]) lw_next_round(l, to);
  else lw_go(l, l->head[to]);
}
/* Lanes of cm[] wait before block `to`, others where `pending` says: the first of these blocks runs next. Frees both
 * sets. */
static void go_on(struct lw *l, uint32_t to, uint64_t *pending, uint64_t *open, bool diverged) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  uint32_t *before = lw_need(sizeof *before * (a->nblocks + 1));
  const bool first = a->blocks[to].meets || diverged;
  const uint32_t n = first ? ja_before(a, pending, to, before) : 0;
  if (n) {
    copy(l, lw_pending(l, to), l->cm, ja_has(pending, to));
    ja_add(pending, to);
  }
  for (uint32_t k = 0; k < n; k++) {
    gcc_jit_block *some = lw_new_block(l, "some"), *none = lw_new_block(l, "none");
    gcc_jit_rvalue *m[LW_CHUNKS];
    values(l, lw_pending(l, before[k]), m);
    lw_split(l, lw_any(l, m), some, none);
    j->b = some;
    copy(l, l->cm, lw_pending(l, before[k]), false);
    arrive(l, before[k], pending, open, true, true, true);
    j->b = none;
  }
  const bool joins = !n && first && ja_has(pending, to);
  if (n || joins) copy(l, l->cm, lw_pending(l, to), joins);
  arrive(l, to, pending, open, diverged || !a->blocks[l->block].converged, n || joins || diverged, first);
  free(before), free(pending), free(open);
}
static uint64_t *copy_set(const struct ja *a, const uint64_t *set) {
  uint64_t *c = lw_need(8 * a->bwords);
  memcpy(c, set, 8 * a->bwords);
  return c;
}
static gcc_jit_lvalue *slice_of(struct lw *l) { return lw_field(l, l->x, X_FIELD(slice), l->j.t_int); }
/* Counts a backward branch against the slice. If the slice is used up, code goes on in the block that is returned. */
static gcc_jit_block *count_back(struct lw *l) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *left = jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, jx_rv(slice_of(l)), jx_int(j, j->t_int, 1));
  left = jx_keep(j, left);
  gcc_jit_block *over = lw_new_block(l, "over"), *on = lw_new_block(l, "again");
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_LE, left, jx_int(j, j->t_int, 0))), over, on);
  j->b = on;
  jx_set(j, slice_of(l), left);
  return over;
}
void lw_edge(struct lw *l, uint32_t to, bool backward) {
  const struct ja *a = l->a;
  const struct ja_block *b = &a->blocks[l->block];
  struct jx *j = &l->j;
  if (backward) {
    gcc_jit_block *over = count_back(l), *on = j->b;
    j->b = over;
    jx_set(j, slice_of(l), jx_int(j, j->t_int, 0));
    lw_leave(l, MX_JIT_SLICE, a->blocks[to].pc, 0, l->live_end, l->uni);
    j->b = on;
  }
  go_on(l, to, copy_set(a, b->pending), copy_set(a, b->open), false);
}

void lw_edge_apart(struct lw *l, uint32_t to) {
  const struct ja_block *b = &l->a->blocks[l->block];
  go_on(l, to, copy_set(l->a, b->pending), copy_set(l->a, b->open), true);
}

/* ---- branches -------------------------------------------------------------------------------------------*/
/* A hidden branch that lanes t take and lanes n do not, where neither mask is empty. */
static void part(struct lw *l, gcc_jit_rvalue *const *t, gcc_jit_rvalue *const *n, uint32_t done, bool back) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[l->block];
  const uint32_t join = ja_join_of(a, l->block);
  const bool taken_first = a->blocks[b->succ[1]].turn < a->blocks[b->succ[0]].turn;
  const uint32_t first = b->succ[taken_first], last = b->succ[!taken_first];
  gcc_jit_block *ask = lw_new_block(l, "ask"), *go = lw_new_block(l, "part");
  gcc_jit_rvalue *until = jx_rv(lw_field(l, l->x, X_FIELD(resched_rank), j->t_u32));
  gcc_jit_rvalue *others = lw_compare(l, GCC_JIT_COMPARISON_LE, until, jx_int(j, j->t_u32, a->blocks[last].rank));
  lw_split(l, lw_rare(l, others), ask, go);
  j->b = ask;
  lw_leave(l, MX_JIT_GO, l->ins->pc, done, l->live, l->uni);
  j->b = go;
  if (back) {
    gcc_jit_block *over = count_back(l), *on = j->b;
    j->b = over; /* the slice is used up: the machine does the branch */
    lw_leave(l, MX_JIT_GO, l->ins->pc, done, l->live, l->uni);
    j->b = on;
  }
  lw_add_steps(l, done + 1);
  lw_counters_part(l, t);
  uint64_t *pending = copy_set(a, b->pending), *open = copy_set(a, b->open);
  if (join != JA_NONE) {
    copy(l, lw_expected(l, join), l->cm, ja_has(open, join));
    ja_add(open, join);
  }
  if (first != last) {
    put(l, lw_pending(l, last), taken_first ? n : t, ja_has(pending, last));
    ja_add(pending, last);
    put(l, l->cm, taken_first ? t : n, false);
  }
  go_on(l, first, pending, open, true);
}
void lw_branch(struct lw *l) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[l->block];
  const mx_word w = *l->ins->w;
  const uint32_t target = a->block_of_pc[mx_w_target(w)], next = l->block + 1;
  const uint32_t here = (uint32_t)(l->ins - &a->ins[b->first]);
  const bool back = mx_w_target(w) <= l->ins->pc;
  if (mx_w_guard(w) == MX_GUARD_NONE) {
    lw_add_steps(l, here + 1);
    lw_edge(l, target, back);
    return;
  }
  gcc_jit_block *taken = lw_new_block(l, "taken"), *not = lw_new_block(l, "next");
  if (!b->divergent) {
    lw_add_steps(l, here + 1);
    const uint32_t slot = ja_slot(a, MX_PRED, mx_w_guard(w));
    lw_split(l,
             lw_is_number(l, slot) ? lw_compare(l, mx_w_guard_neg(w) ? GCC_JIT_COMPARISON_EQ : GCC_JIT_COMPARISON_NE,
                                                jx_rv(lw_number(l, slot)), jx_int(j, j->t_u32, 0))
                                   : j->isa->mask_any(j, lw_guard(l, 0)),
             taken, not );
    j->b = taken;
    lw_counters_all(l);
    lw_edge(l, target, back);
    j->b = not ;
    lw_edge(l, next, false);
    return;
  }
  lw_branch_agrees(l, taken, not );
  lw_build_late(l);
  gcc_jit_rvalue *t[LW_CHUNKS], *n[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) {
    t[c] = lw_lanes(l, c);
    n[c] = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, t[c], jx_rv(l->cm[c])));
  }
  gcc_jit_block *some = lw_new_block(l, "some"), *diverged = lw_new_block(l, "diverged");
  lw_split(l, lw_any(l, t), some, not );
  j->b = some;
  lw_split(l, lw_any(l, n), diverged, taken);
  j->b = diverged;
  if (b->hidden) part(l, t, n, here, back);
  else lw_leave(l, MX_JIT_GO, l->ins->pc, here, l->live, l->uni);
  j->b = taken;
  lw_add_steps(l, here + 1);
  lw_counters_all(l);
  lw_edge(l, target, back);
  j->b = not ;
  lw_add_steps(l, here + 1);
  lw_edge(l, next, false);
}

/* ---- branches through tables --------------------------------------------------------------------------------*/
/* The active lanes whose index leads to block `target`. */
static void lanes_to(struct lw *l, const struct mx_table *t, uint32_t target, const jv *index, gcc_jit_rvalue **m) {
  struct jx *j = &l->j;
  for (unsigned c = 0; c < l->nc; c++) m[c] = NULL;
  for (uint32_t k = 0, n; k < t->ntargets; k += n) {
    for (n = 0; k + n < t->ntargets && l->a->block_of_pc[t->targets[k + n]] == target;) n++;
    for (unsigned c = 0; n && c < l->nc; c++) {
      const jv from = k ? jv_bin(j, JX_SUB, MX_T_u32, index[c], jv_k(j, MX_T_u32, k)) : index[c];
      gcc_jit_rvalue *leads = (n == 1 ? jv_cmp(j, JX_EQ, MX_T_u32, index[c], jv_k(j, MX_T_u32, k))
                                      : jv_cmp(j, JX_LT, MX_T_u32, from, jv_k(j, MX_T_u32, n)))
                                  .r[0];
      m[c] = m[c] ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, m[c], leads) : leads;
    }
    if (!n) n = 1;
  }
  for (unsigned c = 0; c < l->nc; c++)
    m[c] = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_mask, m[c], jx_rv(l->cm[c])));
}
/* The condition that the comparison with v holds for the index of some active lane. */
static gcc_jit_rvalue *any_lane(struct lw *l, enum jx_cmp op, const jv *index, jv v) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *m[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++)
    m[c] =
        jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_mask, jv_cmp(j, op, MX_T_u32, index[c], v).r[0], jx_rv(l->cm[c]));
  return lw_any(l, m);
}
/* The index of the first active lane. */
static gcc_jit_rvalue *first_index(struct lw *l, const jv *index) {
  gcc_jit_rvalue *m[LW_CHUNKS], *v[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) v[c] = index[c].r[0], m[c] = jx_rv(l->cm[c]);
  return lw_of_lane(l, v, l->nc, false, lw_lowest(l, lw_pack(l, m)));
}
/* The targets in the machine's order, each as the first index that leads to it. Returned: how many they are. */
static uint32_t in_order(const struct ja *a, const struct mx_table *t, uint32_t *ways) {
  uint32_t n = 0;
  for (uint32_t turn = 0; turn < a->nblocks; turn++)
    for (uint32_t k = 0; k < t->ntargets; k++)
      if (ja_leads_first(t, k) && a->by_turn[turn] == a->block_of_pc[t->targets[k]]) ways[n++] = k;
  return n;
}
static bool leads_there_again(const struct mx_table *t, uint32_t k) {
  bool again = false;
  for (uint32_t n = k + 1; n < t->ntargets; n++) again |= t->targets[n] == t->targets[k];
  return again;
}
/* Lanes with different indices. way: by index, where code goes on if all lanes have the same target nevertheless. */
static void jump_apart(struct lw *l, const struct mx_table *t, const jv *index, gcc_jit_block *machine,
                       gcc_jit_block *const *way, uint32_t here) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[l->block];
  const uint32_t join = ja_join_of(a, l->block);
  uint32_t rank = b->rank, *ways = lw_need(sizeof *ways * t->ntargets);
  bool backs = false;
  const uint32_t n = in_order(a, t, ways);
  gcc_jit_block *valid = lw_new_block(l, "valid");
  lw_split(l, lw_rare(l, any_lane(l, JX_GE, index, jv_k(j, MX_T_u32, t->ntargets))), machine, valid);
  j->b = valid;
  if (n == 1) { /* all indices have the same target */
    lw_go(l, way[0]);
    free(ways);
    return;
  }
  gcc_jit_block *go = lw_new_block(l, "part");
  JA_FOR_SUCC(a, l->block, s, if (a->blocks[s].rank > rank) rank = a->blocks[s].rank);
  gcc_jit_rvalue *until = jx_rv(lw_field(l, l->x, X_FIELD(resched_rank), j->t_u32));
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_LE, until, jx_int(j, j->t_u32, rank))), machine, go);
  j->b = go;
  gcc_jit_rvalue *m[LW_CHUNKS], *others[LW_CHUNKS];
  for (uint32_t k = 0; k < n; k++) {
    backs |= t->targets[ways[k]] <= l->ins->pc;
    if (!leads_there_again(t, ways[k])) continue;
    gcc_jit_block *apart = lw_new_block(l, "apart");
    lanes_to(l, t, a->block_of_pc[t->targets[ways[k]]], index, m);
    for (unsigned c = 0; c < l->nc; c++)
      others[c] = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, m[c], jx_rv(l->cm[c]));
    lw_split(l, lw_any(l, others), apart, way[ways[k]]);
    j->b = apart;
  }
  if (backs) { /* these count against the slice */
    gcc_jit_block *time = lw_new_block(l, "time");
    lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_LE, jx_rv(slice_of(l)), jx_int(j, j->t_int, 1))), machine,
             time);
    j->b = time;
  }
  lw_add_steps(l, here + 1);
  uint64_t *pending = copy_set(a, b->pending), *open = copy_set(a, b->open);
  if (join != JA_NONE) {
    copy(l, lw_expected(l, join), l->cm, ja_has(open, join));
    ja_add(open, join);
  }
  gcc_jit_rvalue **some = lw_need(sizeof *some * n), *back = NULL;
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t to = a->block_of_pc[t->targets[ways[k]]];
    lanes_to(l, t, to, index, m);
    some[k] = jx_keep(j, lw_any(l, m));
    if (t->targets[ways[k]] <= l->ins->pc) back = lw_either(l, back, some[k]);
    put(l, lw_pending(l, to), m, ja_has(pending, to));
    ja_add(pending, to);
  }
  if (back)
    jx_set(j, slice_of(l),
           jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, jx_rv(slice_of(l)),
                 gcc_jit_context_new_cast(j->c, NULL, back, j->t_int)));
  for (uint32_t k = 0; k + 1 < n; k++) { /* lanes go to two targets at least */
    const uint32_t to = a->block_of_pc[t->targets[ways[k]]];
    gcc_jit_block *first = lw_new_block(l, "first"), *later = k + 2 < n ? lw_new_block(l, "later") : NULL;
    if (later) lw_split(l, some[k], first, later);
    else lw_go(l, first);
    j->b = first;
    copy(l, l->cm, lw_pending(l, to), false);
    if (!ja_has(b->pending, to)) ja_del(pending, to);
    go_on(l, to, copy_set(a, pending), copy_set(a, open), true);
    j->b = later;
  }
  free(pending), free(open), free(some), free(ways);
}
void lw_jump(struct lw *l) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[l->block];
  const struct mx_table *t = &a->f->tables[mx_w_operand(l->ins->w, 1)];
  const uint32_t here = (uint32_t)(l->ins - &a->ins[b->first]);
  const bool one = !b->divergent;
  jv index[LW_CHUNKS];
  for (unsigned c = 0; c < (one ? 1 : l->nc); c++) {
    index[c] = lw_operand(l, 0, c);
    index[c].r[0] = index[c].r[1] = jx_keep(j, index[c].r[0]);
  }
  gcc_jit_block *machine = lw_new_block(l, "machine"), *same = lw_new_block(l, "same"), *apart = NULL;
  gcc_jit_rvalue *first = jx_keep(j, one ? jv_scalar(j, index[0]) : first_index(l, index));
  if (one) lw_go(l, same);
  else {
    apart = b->hidden ? lw_new_block(l, "apart") : machine;
    lw_split(l, any_lane(l, JX_NE, index, jv_broadcast(j, MX_T_u32, first)), apart, same);
  }
  gcc_jit_block **way = lw_need(sizeof *way * t->ntargets);
  gcc_jit_case **cases = lw_need(sizeof *cases * t->ntargets);
  for (uint32_t k = 0; k < t->ntargets; k++) {
    for (uint32_t n = 0; n < k && !way[k]; n++)
      if (t->targets[n] == t->targets[k]) way[k] = way[n];
    if (!way[k]) way[k] = lw_new_block(l, "way");
    gcc_jit_rvalue *v = jx_int(j, j->t_u32, k);
    cases[k] = gcc_jit_context_new_case(j->c, v, v, way[k]);
  }
  gcc_jit_block_end_with_switch(same, NULL, first, machine, (int)t->ntargets, cases);
  if (b->hidden && !one) {
    j->b = apart;
    jump_apart(l, t, index, machine, way, here);
  }
  j->b = machine;
  lw_leave(l, MX_JIT_GO, l->ins->pc, here, l->live, l->uni);
  for (uint32_t k = 0; k < t->ntargets; k++) {
    if (!ja_leads_first(t, k)) continue;
    j->b = way[k];
    lw_add_steps(l, here + 1);
    lw_edge(l, a->block_of_pc[t->targets[k]], t->targets[k] <= l->ins->pc);
  }
  free(way), free(cases);
}

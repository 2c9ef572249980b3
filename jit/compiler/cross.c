/* Warp operations in compiled code, where all lanes that live are here and the mask names them all, as it mostly does:
 * votes and ballots from the predicate's bits, shuffles as choices from all the chunks. Lanes that have to wait for
 * others, or are too few, are vm/exec/sync.c's, and so are the other warp operations. What eval_vote, eval_ballot and
 * eval_shfl do there is the meaning; this is its second writing, for speed. */
#include "lowering.h"

#include <stdio.h>

enum shuffle { UP, DOWN, BUTTERFLY, INDEX }; /* as the modifier counts them */

static unsigned results_of(const struct mx_op_info *o) {
  unsigned n = 0;
  while (n < o->nopnds && o->opnd[n].role == MX_OUT) n++;
  return n;
}

/* (lane number & keep) | set */
jv lw_lane_numbers(struct lw *l, unsigned c, unsigned keep, unsigned set) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *e[JX_MOST_LANES];
  if (!keep) return jv_k(j, MX_T_u32, set);
  for (unsigned k = 0; k < j->w; k++) e[k] = jx_int(j, j->t_u32, ((j->w * c + k) & keep) | set);
  gcc_jit_rvalue *v = gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, (int)j->w, e);
  return (jv){.t = MX_T_u32, .r = {v, v}};
}

/* What a shuffle works on, by chunk: its operands, then which lanes' values are chosen, and whether they are there. */
struct shuffle_of {
  unsigned mode;
  jv by[LW_CHUNKS], good[LW_CHUNKS];
  gcc_jit_rvalue *all[LW_CHUNKS], *out[LW_CHUNKS];
};
static void choose_lanes(struct lw *l, struct shuffle_of *s, unsigned c, jv limits) {
  struct jx *j = &l->j;
  const unsigned wrap = l->a->image->lanes - 1;
  const jv lane = lw_lane_numbers(l, c, wrap, 0);
  jv by = jv_bin(j, JX_AND, MX_T_u32, s->by[c], jv_k(j, MX_T_u32, wrap)), last, outside; /* of the segment's bits */
  if (limits.k) {
    const unsigned segment = limits.kv >> 8 & wrap;
    outside = jv_k(j, MX_T_u32, ~segment & wrap);
    last = lw_lane_numbers(l, c, segment, limits.kv & ~segment & wrap);
  } else {
    jv segment =
        jv_bin(j, JX_AND, MX_T_u32, jv_bin(j, JX_SHR, MX_T_u32, limits, jv_k(j, MX_T_u32, 8)), jv_k(j, MX_T_u32, wrap));
    outside = jv_bin(j, JX_XOR, MX_T_u32, segment, jv_k(j, MX_T_u32, wrap));
    last = jv_bin(j, JX_OR, MX_T_u32, jv_bin(j, JX_AND, MX_T_u32, lane, segment),
                  jv_bin(j, JX_AND, MX_T_u32, limits, outside));
  }
  jv from;
  switch (s->mode) {
  case UP: from = jv_bin(j, JX_SUB, MX_T_u32, lane, by); break;
  case DOWN: from = jv_bin(j, JX_ADD, MX_T_u32, lane, by); break;
  case BUTTERFLY: from = jv_bin(j, JX_XOR, MX_T_u32, lane, by); break;
  default: { /* the lane's own segment, and there */
    jv low = jv_bin(j, JX_AND, MX_T_u32, lane, jv_bin(j, JX_XOR, MX_T_u32, outside, jv_k(j, MX_T_u32, wrap)));
    from = jv_bin(j, JX_OR, MX_T_u32, low, jv_bin(j, JX_AND, MX_T_u32, by, outside));
  }
  }
  s->good[c] = jv_cmp(j, s->mode == UP ? JX_GE : JX_LE, MX_T_s32, from, last);
  from = jv_sel(j, MX_T_u32, s->good[c], from, lane);
  s->out[c] = j->isa->choose(j, s->all, l->nc, from.r[0]);
}

/* Where slots live in memory a shuffle is a function of the object, made once for all of its kind, that takes them from
 * there and leaves its results there: in line it would take some hundred statements. */
#define APART UINT64_MAX /* limits, if each lane has its own */
static gcc_jit_function *shuffle_function(struct lw *l, unsigned mode, uint64_t limits, bool wanted, bool same) {
  static struct {
    gcc_jit_function *f;
    uint64_t limits;
    unsigned mode;
    bool wanted, same;
  } known[32];
  static unsigned n;
  struct jx *j = &l->j;
  for (unsigned k = 0; k < n; k++)
    if (known[k].mode == mode && known[k].limits == limits && known[k].wanted == wanted && known[k].same == same)
      return known[k].f;
  if (n == sizeof known / sizeof *known) return NULL;
  char name[32];
  snprintf(name, sizeof name, "shuffle_%u", n);
  gcc_jit_param *p[5] = {gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "out"),
                         gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "good"),
                         gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "in"),
                         gcc_jit_context_new_param(j->c, NULL, same ? j->t_u32 : j->t_pu8, "by"),
                         gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "limits")};
  gcc_jit_function *const caller = j->fn, *f = gcc_jit_context_new_function(j->c, NULL, GCC_JIT_FUNCTION_INTERNAL,
                                                                            j->t_void, name, 5, p, 0);
  gcc_jit_block *const here = j->b;
  gcc_jit_rvalue *out = gcc_jit_param_as_rvalue(p[0]), *good = gcc_jit_param_as_rvalue(p[1]),
                 *in = gcc_jit_param_as_rvalue(p[2]), *by = gcc_jit_param_as_rvalue(p[3]),
                 *each = gcc_jit_param_as_rvalue(p[4]);
  struct shuffle_of s = {.mode = mode};
  j->fn = f, j->b = gcc_jit_function_new_block(f, "begin");
  const jv one = same ? jv_broadcast(j, MX_T_u32, by) : (jv){0};
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *v = same ? NULL : jx_keep(j, jx_rv(lw_vector(l, by, c * j->bytes, false)));
    s.by[c] = same ? one : (jv){.t = MX_T_u32, .r = {v, v}};
    s.all[c] = jx_keep(j, jx_rv(lw_vector(l, in, c * j->bytes, false)));
  }
  jv limit[LW_CHUNKS]; /* the results may go to where they are read from */
  for (unsigned c = 0; c < l->nc; c++) {
    limit[c] = jv_k(j, MX_T_u32, limits);
    if (limits != APART) continue;
    gcc_jit_rvalue *v = jx_keep(j, jx_rv(lw_vector(l, each, c * j->bytes, false)));
    limit[c] = (jv){.t = MX_T_u32, .r = {v, v}};
  }
  for (unsigned c = 0; c < l->nc; c++) {
    choose_lanes(l, &s, c, limit[c]);
    jx_set(j, lw_vector(l, out, c * j->bytes, false), s.out[c]);
    if (wanted) jx_set(j, lw_field(l, good, c * j->mask_bytes, j->t_mask), s.good[c].r[0]);
  }
  gcc_jit_block_end_with_void_return(j->b, NULL);
  j->fn = caller, j->b = here;
  known[n].f = f, known[n].mode = mode, known[n].limits = limits, known[n].wanted = wanted, known[n++].same = same;
  return f;
}
static bool call_shuffle(struct lw *l, unsigned n) {
  struct jx *j = &l->j;
  const bool same = lw_operand_uniform(l, n + 1);
  if (!l->slots_spilled || l->one_lane || mx_w_guard(*l->ins->w) != MX_GUARD_NONE) return false;
  const jv limits = lw_operand(l, n + 2, 0);
  gcc_jit_rvalue *arg[5] = {lw_operand_cells(l, 0, true),
                            n > 1 ? lw_operand_cells(l, 1, true) : gcc_jit_context_null(j->c, j->t_pu8),
                            lw_operand_cells(l, n, false), same ? NULL : lw_operand_cells(l, n + 1, false),
                            limits.k ? gcc_jit_context_null(j->c, j->t_pu8) : lw_operand_cells(l, n + 2, false)};
  if (!arg[4] || !arg[0] || !arg[1] || !arg[2] || (!same && !arg[3])) return false;
  if (same) arg[3] = jv_scalar(j, jv_as(j, MX_T_u32, lw_operand(l, n + 1, 0)));
  gcc_jit_function *f = shuffle_function(l, mx_w_mod(*l->ins->w), limits.k ? limits.kv : APART, n > 1, same);
  if (!f) return false;
  gcc_jit_block_add_eval(j->b, NULL, gcc_jit_context_new_call(j->c, NULL, f, 5, arg));
  for (unsigned k = 0; k < n; k++)
    lw_shape_update(l, ja_slot(l->a, mx__types[l->ins->o->opnd[k].type].slot_class, mx_w_operand(l->ins->w, k)));
  return true;
}

static void shuffle(struct lw *l) {
  struct jx *j = &l->j;
  const unsigned n = results_of(l->ins->o);
  if (call_shuffle(l, n)) return;
  struct shuffle_of s = {.mode = mx_w_mod(*l->ins->w)};
  for (unsigned c = 0; c < l->nc; c++) { /* the result may be the operand */
    s.all[c] = jx_keep(j, jx_bits(j, j->vu32, lw_operand(l, n, c).r[0]));
    s.by[c] = lw_operand(l, n + 1, c);
  }
  jv limits[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) limits[c] = lw_operand(l, n + 2, c);
  for (unsigned c = 0; c < l->nc; c++) choose_lanes(l, &s, c, limits[c]), s.out[c] = jx_keep(j, s.out[c]);
  for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, (jv){.t = MX_T_b32, .r = {s.out[c], s.out[c]}});
  for (unsigned c = 0; n > 1 && c < l->nc; c++) lw_put(l, 1, c, s.good[c]);
}

static gcc_jit_rvalue *equal(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return lw_compare(l, GCC_JIT_COMPARISON_EQ, x, y);
}
static void vote(struct lw *l, bool ballot) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *m[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) m[c] = lw_operand(l, 1, c).r[0];
  gcc_jit_rvalue *bits = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, lw_pack(l, m), jx_rv(l->emask)));
  jv v;
  if (ballot) {
    const bool wide = jx_wide(l->ins->o->opnd[0].type);
    v = jv_broadcast(j, wide ? MX_T_u64 : MX_T_u32, wide ? bits : gcc_jit_context_new_cast(j->c, NULL, bits, j->t_u32));
  } else {
    gcc_jit_rvalue *none = equal(l, bits, lw_u64(l, 0)), *every = equal(l, bits, jx_rv(l->emask)), *yes;
    const unsigned mode = mx_w_mod(*l->ins->w); /* all, any, uni */
    yes = mode == 0   ? every
          : mode == 1 ? gcc_jit_context_new_unary_op(j->c, NULL, GCC_JIT_UNARY_OP_LOGICAL_NEGATE, j->t_bool, none)
                      : lw_either(l, every, none);
    gcc_jit_rvalue *mask = jx_keep(j, j->isa->mask_fill(j, gcc_jit_context_new_cast(j->c, NULL, yes, j->t_u64)));
    v = (jv){.t = MX_T_pred, .u = true, .r = {mask, mask}};
  }
  for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, v);
}

static bool is_shuffle(unsigned op) {
  return op == MX_SHFL_32 || op == MX_SHFLP_32 || op == MX_SHFL_64 || op == MX_SHFLP_64;
}
static bool is_ballot(unsigned op) { return op == MX_BALLOT_32 || op == MX_BALLOT_64; }

gcc_jit_rvalue *lw_cross_condition(struct lw *l, gcc_jit_rvalue *alive) {
  if (l->a->checked) return NULL;
  struct jx *j = &l->j;
  const unsigned op = l->ins->op, mask = l->ins->o->nopnds - 1u;
  if (!(is_shuffle(op) && j->isa->choose) && !is_ballot(op) && op != MX_VOTE_32 && op != MX_VOTE_64) return NULL;
  if (!lw_operand_uniform(l, mask)) return NULL;
  gcc_jit_rvalue *here = is_shuffle(op) ? lw_all_lanes(l) : alive;
  gcc_jit_rvalue *named = gcc_jit_context_new_cast(j->c, NULL, jv_scalar(j, lw_operand(l, mask, 0)), j->t_u64);
  gcc_jit_rvalue *missing =
      jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u64,
            jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_u64, here, jx_rv(l->emask)),
            jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, jx_rv(l->emask),
                  jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_u64, named, lw_u64(l, UINT64_MAX))));
  return equal(l, missing, lw_u64(l, 0));
}
void lw_cross(struct lw *l) {
  if (is_shuffle(l->ins->op)) shuffle(l);
  else vote(l, is_ballot(l->ins->op));
}

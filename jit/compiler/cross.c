/* Warp operations in compiled code, where all lanes that live are here and the mask names them all, as it mostly does:
 * votes and ballots from the predicate's bits, shuffles as choices from all the chunks. Lanes that have to wait for
 * others, or are too few, are vm/exec/sync.c's, and so are the other warp operations. What eval_vote, eval_ballot and
 * eval_shfl do there is the meaning; this is its second writing, for speed. */
#include "lowering.h"

enum shuffle { UP, DOWN, BUTTERFLY, INDEX }; /* as the modifier counts them */

static unsigned results_of(const struct mx_op_info *o) {
  unsigned n = 0;
  while (n < o->nopnds && o->opnd[n].role == MX_OUT) n++;
  return n;
}
static uint64_t full(const struct lw *l) { return l->a->image->lanes == 64 ? UINT64_MAX : UINT32_MAX; }

/* (lane number & keep) | set */
jv lw_lane_numbers(struct lw *l, unsigned c, unsigned keep, unsigned set) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *e[JX_MOST_LANES];
  if (!keep) return jv_k(j, MX_T_u32, set);
  for (unsigned k = 0; k < j->w; k++) e[k] = jx_int(j, j->t_u32, ((j->w * c + k) & keep) | set);
  gcc_jit_rvalue *v = gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, (int)j->w, e);
  return (jv){.t = MX_T_u32, .r = {v, v}};
}

static void shuffle(struct lw *l) {
  struct jx *j = &l->j;
  const unsigned n = results_of(l->ins->o), wrap = l->a->image->lanes - 1, mode = mx_w_mod(*l->ins->w);
  jv from[LW_CHUNKS], good[LW_CHUNKS];
  gcc_jit_rvalue *all[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) {
    const jv lane = lw_lane_numbers(l, c, wrap, 0), limits = lw_operand(l, n + 2, c);
    all[c] = jx_bits(j, j->vu32, lw_operand(l, n, c).r[0]);
    jv by = jv_bin(j, JX_AND, MX_T_u32, lw_operand(l, n + 1, c), jv_k(j, MX_T_u32, wrap)), last,
       outside; /* of the segment's bits */
    if (limits.k) {
      const unsigned segment = limits.kv >> 8 & wrap;
      outside = jv_k(j, MX_T_u32, ~segment & wrap);
      last = lw_lane_numbers(l, c, segment, limits.kv & ~segment & wrap);
    } else {
      jv segment = jv_bin(j, JX_AND, MX_T_u32, jv_bin(j, JX_SHR, MX_T_u32, limits, jv_k(j, MX_T_u32, 8)),
                          jv_k(j, MX_T_u32, wrap));
      outside = jv_bin(j, JX_XOR, MX_T_u32, segment, jv_k(j, MX_T_u32, wrap));
      last = jv_bin(j, JX_OR, MX_T_u32, jv_bin(j, JX_AND, MX_T_u32, lane, segment),
                    jv_bin(j, JX_AND, MX_T_u32, limits, outside));
    }
    switch (mode) {
    case UP: from[c] = jv_bin(j, JX_SUB, MX_T_u32, lane, by); break;
    case DOWN: from[c] = jv_bin(j, JX_ADD, MX_T_u32, lane, by); break;
    case BUTTERFLY: from[c] = jv_bin(j, JX_XOR, MX_T_u32, lane, by); break;
    default: { /* the lane's own segment, and there */
      jv low = jv_bin(j, JX_AND, MX_T_u32, lane, jv_bin(j, JX_XOR, MX_T_u32, outside, jv_k(j, MX_T_u32, wrap)));
      from[c] = jv_bin(j, JX_OR, MX_T_u32, low, jv_bin(j, JX_AND, MX_T_u32, by, outside));
    }
    }
    good[c] = jv_cmp(j, mode == UP ? JX_GE : JX_LE, MX_T_s32, from[c], last);
    from[c] = jv_sel(j, MX_T_u32, good[c], from[c], lane);
  }
  for (unsigned c = 0; c < l->nc; c++) all[c] = jx_keep(j, all[c]); /* the result may be the operand */
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *v = j->isa->choose(j, all, l->nc, from[c].r[0]);
    lw_put(l, 0, c, (jv){.t = MX_T_b32, .r = {v, v}});
  }
  for (unsigned c = 0; n > 1 && c < l->nc; c++) lw_put(l, 1, c, good[c]);
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
  struct jx *j = &l->j;
  const unsigned op = l->ins->op, mask = l->ins->o->nopnds - 1u;
  if (!(is_shuffle(op) && j->isa->choose) && !is_ballot(op) && op != MX_VOTE_32 && op != MX_VOTE_64) return NULL;
  if (!lw_operand_uniform(l, mask)) return NULL;
  gcc_jit_rvalue *here = is_shuffle(op) ? lw_u64(l, full(l)) : alive;
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

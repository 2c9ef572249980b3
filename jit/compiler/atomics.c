/* Sums in shared memory whose old values nobody wants, as histograms make them. The warps of a block never run at the same
 * time, so one lane after the other adds with plain instructions. All other atomics are the interpreter's bodies'. */
#include "build.h"

#include "vm/exec.h"
#include "vm/jitabi.h"

enum { UNROLL = 4 };

/* One lane: the cell whose address stands at x->tmp + 4 * lane gets what stands 256 bytes further. */
static void add_lane(struct lw *l, gcc_jit_rvalue *host, gcc_jit_rvalue *lane) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *at = lw_add(l, lw_at(l, l->x, offsetof(struct mx_exec, tmp)), jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, jx_int(j, j->t_u64, 4)));
  gcc_jit_rvalue *a = gcc_jit_context_new_cast(j->c, NULL, jx_rv(lw_field(l, at, 0, j->t_u32)), j->t_u64);
  gcc_jit_lvalue *cell = lw_field(l, lw_add(l, host, a), 0, j->t_u32);
  jx_set(j, cell, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u32, jx_rv(cell), jx_rv(lw_field(l, at, 256, j->t_u32))));
}

bool lw_atomic(struct lw *l) {
  struct jx *j = &l->j;
  const mx_word w = *l->ins->w;
  if (l->ins->op != MX_RED_ADD_U32_A32 || mx_w_mod(w) != MX_SHARED) return false;
  gcc_jit_rvalue *variable;
  const uint64_t off = lw_offset(l, 1, &variable);
  if (variable) return false;
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done"), *fast = lw_new_block(l, "fast");
  gcc_jit_rvalue *lo, *limit, *host, *bad = lw_bounds(l, 4, true, &lo, &limit, &host), *miss = NULL, *lanes[LW_CHUNKS], *a[LW_CHUNKS];
  jv low = jv_k(j, MX_T_u32, 3), base = jv_broadcast(j, MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, lo, j->t_u32));
  /* a window of 32-bit addresses */
  jv most = jv_broadcast(j, MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, limit, j->t_u32));
  for (unsigned c = 0; c < l->nc; c++) {
    lanes[c] = lw_lanes(l, c);
    jv v = lw_operand(l, 0, c);
    if (off) v = jv_bin(j, JX_ADD, MX_T_u32, v, jv_k(j, MX_T_u32, off));
    a[c] = v.r[0];
    gcc_jit_rvalue *rel = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->vu32, v.r[0], base.r[0]));
    gcc_jit_rvalue *k = j->isa->above(j, rel, most.r[0], lanes[c]);
    k = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, k, j->isa->common(j, v.r[0], low.r[0], lanes[c]));
    miss = miss ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, miss, k) : k;
  }
  bad = gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_bool, bad,
                                      j->isa->mask_any(j, miss));
  gcc_jit_block_end_with_conditional(j->b, NULL, lw_rare(l, bad), slow, fast);
  j->b = fast;
  gcc_jit_rvalue *tmp = lw_at(l, l->x, offsetof(struct mx_exec, tmp));
  for (unsigned c = 0; c < l->nc; c++) {
    jx_set(j, lw_vector(l, tmp, j->bytes * c, false), a[c]);
    jx_set(j, lw_vector(l, tmp, 256 + j->bytes * c, false), jv_as(j, MX_T_u32, lw_operand(l, 2, c)).r[0]);
  }
  host = jx_keep(j, gcc_jit_context_new_bitcast(j->c, NULL, host, j->t_pu8));
  gcc_jit_lvalue *lane = jx_local(j, j->t_u64), *left = jx_local(j, j->t_u64);
  jx_set(j, left, lw_pack(l, lanes));
  jx_set(j, lane, jx_int(j, j->t_u64, 0));
  gcc_jit_rvalue *full = jx_int(j, j->t_u64, l->a->image->lanes == 64 ? UINT64_MAX : UINT32_MAX);
  gcc_jit_block *all = lw_new_block(l, "all"), *some = lw_new_block(l, "some"), *next = lw_new_block(l, "next");
  gcc_jit_block_end_with_conditional(j->b, NULL, gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_EQ, jx_rv(left), full), all, some);
  j->b = all;
  for (unsigned k = 0; k < UNROLL; k++) {
    add_lane(l, host, jx_rv(lane));
    jx_set(j, lane, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(lane), jx_int(j, j->t_u64, 1)));
  }
  gcc_jit_block_end_with_conditional(j->b, NULL, gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_LT, jx_rv(lane), jx_int(j, j->t_u64, l->a->image->lanes)), all, end);
  j->b = some;
  gcc_jit_block_end_with_conditional(j->b, NULL, gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_EQ, jx_rv(left), jx_int(j, j->t_u64, 0)), end, next);
  j->b = next;
  add_lane(l, host, lw_lowest(l, jx_rv(left)));
  jx_set(j, left, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, jx_rv(left), jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, jx_rv(left), jx_int(j, j->t_u64, 1))));
  gcc_jit_block_end_with_jump(j->b, NULL, some);
  j->b = slow;
  lw_step(l);
  gcc_jit_block_end_with_jump(j->b, NULL, end);
  j->b = end;
  return true;
}

/* Additions in two native forms. In shared memory, as histograms use them: the warps of a block never run at the same
 * time, so one lane after another adds with plain instructions. In other memory: all lanes add to one address, or, if
 * the old value is wanted, one lane does, as with counters and tickets. All other atomics are left to the interpreter's
 * bodies. */
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#include <string.h>

enum { UNROLL = 4 };

/* Adds for one lane: the memory at the host address that x->tmp holds for the lane; the addend is 256 bytes behind
 * that, where the old value is left if it is wanted. */
static void add_lane(struct lw *l, gcc_jit_rvalue *host, gcc_jit_rvalue *lane, bool wanted) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *at =
      lw_add(l, lw_at(l, l->x, MX_AT(exec, tmp)), jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, lw_u64(l, 4)));
  gcc_jit_rvalue *a = gcc_jit_context_new_cast(j->c, NULL, jx_rv(lw_field(l, at, 0, j->t_u32)), j->t_u64);
  gcc_jit_lvalue *cell = lw_field(l, lw_add(l, host, a), 0, j->t_u32);
  gcc_jit_lvalue *more = lw_field(l, at, 256, j->t_u32);
  gcc_jit_rvalue *old = wanted ? jx_keep(j, jx_rv(cell)) : jx_rv(cell);
  jx_set(j, cell, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u32, old, jx_rv(more)));
  if (wanted) jx_set(j, more, old);
}

/* Adds to memory; returns the old value. */
static gcc_jit_rvalue *add_at(struct lw *l, gcc_jit_lvalue *cell, gcc_jit_type *t, gcc_jit_rvalue *more, bool shared) {
  struct jx *j = &l->j;
  if (shared) { /* in shared memory: no other warp of the block runs now */
    gcc_jit_rvalue *old = jx_keep(j, jx_rv(cell));
    jx_set(j, cell, jx_op(j, GCC_JIT_BINARY_OP_PLUS, t, old, more));
    return old;
  }
  gcc_jit_lvalue *value = jx_local(j, t);
  jx_set(j, value, more);
  gcc_jit_extended_asm *a = jx_asm(j, "lock xadd %0, %1", "+r", value, 0);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "+m", cell);
  jx_touches_memory(a);
  return jx_rv(value);
}
static bool add_to_uniform_address(struct lw *l) {
  struct jx *j = &l->j;
  const struct mx_row_access ac = mx__row_access[l->ins->op];
  const unsigned at = l->ins->o->nopnds - 3u, bytes = jx_bitsof(ac.type) / 8, raw = bytes == 8 ? MX_T_u64 : MX_T_u32;
  if (!ac.combine || (strcmp(ac.combine, "ADD_U32") && strcmp(ac.combine, "ADD_U64")) || !lw_operand_uniform(l, at) ||
      !lw_operand_uniform(l, at + 2))
    return false;
  gcc_jit_type *t = bytes == 8 ? j->t_u64 : j->t_u32;
  gcc_jit_rvalue *lanes[LW_CHUNKS];
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done");
  for (unsigned c = 0; c < l->nc; c++) lanes[c] = lw_lanes(l, c);
  gcc_jit_rvalue *m = jx_keep(j, lw_pack(l, lanes));
  lw_if_any(l, lw_compare(l, GCC_JIT_COMPARISON_NE, m, lw_u64(l, 0)), at, end);
  lw_checked_access(l, at, bytes, slow);
  gcc_jit_rvalue *several = at ? lw_compare(l, GCC_JIT_COMPARISON_NE, lw_but_lowest(l, m), lw_u64(l, 0))
                               : NULL; /* the old value belongs to one lane */
  gcc_jit_lvalue *cell = lw_field(l, lw_uniform_address(l, at, bytes, true, several, slow), 0, t);
  gcc_jit_rvalue *more = jv_scalar(j, jv_as(j, raw, lw_operand(l, at + 2, 0)));
  if (!at) more = jx_op(j, GCC_JIT_BINARY_OP_MULT, t, more, gcc_jit_context_new_cast(j->c, NULL, lw_count(l, m), t));
  jv old = jv_broadcast(j, raw, jx_keep(j, add_at(l, cell, t, jx_keep(j, more), mx_w_mod(*l->ins->w) == MX_SHARED)));
  for (unsigned c = 0; at && c < l->nc; c++) lw_put(l, 0, c, old);
  lw_end_with_fallback(l, slow, end);
  return true;
}

static bool in_shared(struct lw *l) {
  struct jx *j = &l->j;
  const mx_word w = *l->ins->w;
  const struct mx_row_access ac = mx__row_access[l->ins->op];
  if (!ac.combine || strcmp(ac.combine, "ADD_U32") || mx_w_mod(w) != MX_SHARED) return false;
  /* the operand that is the address: the result, if there is one, comes before it */
  const unsigned at = l->ins->o->nopnds - 3u;
  const bool wide = jx_wide(l->ins->o->opnd[at].type);
  gcc_jit_rvalue *variable;
  const uint64_t off = lw_offset(l, at + 1, &variable);
  if (variable || at > 1) return false;
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done"), *fast = lw_new_block(l, "fast"),
                *behind = at ? lw_new_block(l, "behind") : end;
  lw_checked_access(l, at, 4, slow);
  gcc_jit_rvalue *lo, *limit, *host, *bad = lw_bounds(l, 4, true, &lo, &limit, &host), *miss = NULL, *lanes[LW_CHUNKS],
                                     *a[LW_CHUNKS];
  jv low = jv_k(j, MX_T_u32, 3), base = jv_broadcast(j, MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, lo, j->t_u32));
  /* the window's addresses fit in 32 bits */
  jv most = jv_broadcast(j, MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, limit, j->t_u32));
  for (unsigned c = 0; c < l->nc; c++) {
    lanes[c] = lw_lanes(l, c);
    jv v = lw_operand(l, at, c);
    if (off) v = jv_bin(j, JX_ADD, v.t, v, jv_k(j, v.t, off));
    if (wide) {
      const jv high = jv_cvt(j, MX_T_u32, MX_T_u64, jv_bin(j, JX_SHR, MX_T_u64, v, jv_k(j, MX_T_u32, 32)));
      gcc_jit_rvalue *k = j->isa->common(j, high.r[0], jv_k(j, MX_T_u32, UINT32_MAX).r[0], lanes[c]);
      miss = miss ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, miss, k) : k;
      v = jv_cvt(j, MX_T_u32, MX_T_u64, v);
    }
    a[c] = v.r[0];
    gcc_jit_rvalue *rel = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->vu32, v.r[0], base.r[0]));
    gcc_jit_rvalue *k = j->isa->above(j, rel, most.r[0], lanes[c]);
    k = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, k, j->isa->common(j, v.r[0], low.r[0], lanes[c]));
    miss = miss ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, miss, k) : k;
  }
  bad = lw_either(l, bad, j->isa->mask_any(j, miss));
  lw_split(l, lw_rare(l, bad), slow, fast);
  j->b = fast;
  gcc_jit_rvalue *tmp = lw_at(l, l->x, MX_AT(exec, tmp));
  for (unsigned c = 0; c < l->nc; c++) {
    jx_set(j, lw_vector(l, tmp, j->bytes * c, false), a[c]);
    jx_set(j, lw_vector(l, tmp, 256 + j->bytes * c, false), jv_as(j, MX_T_u32, lw_operand(l, at + 2, c)).r[0]);
  }
  host = jx_keep(j, gcc_jit_context_new_bitcast(j->c, NULL, host, j->t_pu8));
  gcc_jit_lvalue *lane = jx_local(j, j->t_u64), *left = jx_local(j, j->t_u64);
  jx_set(j, left, lw_pack(l, lanes));
  jx_set(j, lane, lw_u64(l, 0));
  gcc_jit_rvalue *full = lw_all_lanes(l);
  gcc_jit_block *all = lw_new_block(l, "all"), *some = lw_new_block(l, "some"), *next = lw_new_block(l, "next");
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, jx_rv(left), full), all, some);
  j->b = all;
  for (unsigned k = 0; k < UNROLL; k++) {
    add_lane(l, host, jx_rv(lane), at);
    jx_set(j, lane, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(lane), lw_u64(l, 1)));
  }
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_LT, jx_rv(lane), lw_u64(l, l->a->lanes)), all, behind);
  j->b = some;
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, jx_rv(left), lw_u64(l, 0)), behind, next);
  j->b = next;
  add_lane(l, host, lw_lowest(l, jx_rv(left)), at);
  jx_set(j, left, lw_but_lowest(l, jx_rv(left)));
  lw_go(l, some);
  if (at) {
    j->b = behind;
    for (unsigned c = 0; c < l->nc; c++) {
      gcc_jit_rvalue *old = jx_keep(j, jx_rv(lw_vector(l, tmp, 256 + j->bytes * c, false)));
      lw_put(l, 0, c, (jv){.t = MX_T_u32, .r = {old, old}});
    }
    lw_go(l, end);
  }
  j->b = slow;
  lw_interpret(l);
  lw_go(l, end);
  j->b = end;
  return true;
}

bool lw_atomic(struct lw *l) { return add_to_uniform_address(l) || in_shared(l); }

/* Atomics on one element of 32 or 64 bits, in two native forms.
 *
 * One addend for one address, as with counters: a single addition for all lanes, from which their old values follow.
 * Everything else: one lane after the other, by a function of the object (helpers.c). In shared memory that takes plain
 * instructions, since the warps of a block never run at the same time. Elements of 8, 16 and 128 bits, halves and
 * vectors are left to the interpreter's bodies. */
#include "access.h"
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#include <string.h>

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
/* What is added one lane after the other: `value` so far; old values go into the array `old`. */
struct tickets {
  gcc_jit_lvalue *value;
  gcc_jit_rvalue *more, *old;
};
static void take_ticket(struct lw *l, gcc_jit_rvalue *lane, const void *with) {
  struct jx *j = &l->j;
  const struct tickets *k = with;
  gcc_jit_type *t = gcc_jit_rvalue_get_type(k->more);
  const unsigned bytes = t == j->t_u64 ? 8 : 4;
  gcc_jit_rvalue *far = jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, lw_u64(l, bytes));
  jx_set(j, lw_field(l, lw_add(l, k->old, far), 0, t), jx_rv(k->value));
  jx_set(j, k->value, jx_op(j, GCC_JIT_BINARY_OP_PLUS, t, jx_rv(k->value), k->more));
}
/* Chunk c of an array of all lanes' 32- or 64-bit numbers. */
static jv chunk_of(struct lw *l, gcc_jit_rvalue *array, bool wide, unsigned c) {
  jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
    v.r[h] = jx_keep(&l->j, jx_rv(lw_vector(l, array, l->j.bytes * (wide ? 2 * c + h : c), wide)));
  if (!wide) v.r[1] = v.r[0];
  return v;
}
/* Whether the row has a result, which is an operand of some later instruction. Compilers write atomics with a result
 * that nobody wants. */
static bool wants_old(const struct lw *l) {
  return l->ins->o->opnd[0].role == MX_OUT &&
         ja_has(l->live + l->a->words,
                ja_slot(l->a, mx__types[l->ins->o->opnd[0].type].slot_class, mx_w_operand(l->ins->w, 0)));
}
/* The number that operand k is in all lanes. */
static gcc_jit_rvalue *number_of_all(struct lw *l, unsigned k, bool wide) {
  return jv_scalar(&l->j, jv_as(&l->j, wide ? MX_T_u64 : MX_T_u32, lw_operand(l, k, 0)));
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
  gcc_jit_lvalue *cell = lw_field(l, lw_uniform_address(l, at, bytes, true, NULL, slow), 0, t);
  gcc_jit_rvalue *more = jx_keep(j, number_of_all(l, at + 2, bytes == 8)),
                 *all =
                     jx_op(j, GCC_JIT_BINARY_OP_MULT, t, more, gcc_jit_context_new_cast(j->c, NULL, lw_count(l, m), t));
  gcc_jit_rvalue *old = jx_keep(j, add_at(l, cell, t, jx_keep(j, all), mx_w_mod(*l->ins->w) == MX_SHARED));
  if (wants_old(l)) {
    gcc_jit_block *one = lw_new_block(l, "one"), *several = lw_new_block(l, "several");
    lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_NE, lw_but_lowest(l, m), lw_u64(l, 0)), several, one);
    j->b = one;
    const jv same = jv_broadcast(j, raw, old);
    for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, same);
    lw_go(l, end);
    j->b = several;
    struct tickets k = {jx_local(j, t), more, lw_array(l, l->nc * (bytes == 8 ? 2 : 1), bytes == 8)};
    jx_set(j, k.value, old);
    lw_for_lanes(l, m, take_ticket, &k);
    for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, chunk_of(l, k.old, bytes == 8, c));
  }
  lw_end_with_fallback(l, slow, end);
  return true;
}

/* The processor's instruction for what a row does to a cell, if it leaves the old value. */
static const char *in_one_instruction(const char *step) {
  return !strncmp(step, "ADD_U", 5) ? "lock xadd %0, %1" : !strncmp(step, "EXCH_", 5) ? "xchg %0, %1" : NULL;
}
/* The values of operand k, one lane after the other, as they lie in memory once a fallback's operands are there: how
 * many bytes behind the spill area's beginning, or, if they have to be put elsewhere, before it. */
static gcc_jit_rvalue *lanes_of(struct lw *l, unsigned k, bool wide) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *all[2 * LW_CHUNKS];
  uint32_t slot;
  bool raw;
  if (lw_operand_has_cells(l, k, false, &raw, &slot) && !raw) return lw_u64(l, lw_cell_offset(l, slot));
  unsigned n = 0;
  for (unsigned c = 0; c < l->nc; c++) {
    const jv v = jv_as(j, wide ? MX_T_u64 : MX_T_u32, lw_operand(l, k, c));
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++) all[n++] = v.r[h] ? v.r[h] : v.r[0];
  }
  gcc_jit_rvalue *at = gcc_jit_context_new_bitcast(j->c, NULL, lw_in_memory(l, all, n, wide), j->t_u64),
                 *area = gcc_jit_context_new_bitcast(j->c, NULL, jx_rv(l->spill_area), j->t_u64);
  return jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, at, area));
}
/* Where the function leaves old values: the result's cells, in which inactive lanes' values are, canonical, if the slot
 * keeps these. Returned: how many bytes that is behind the spill area's beginning. */
static uint64_t result_cells(struct lw *l, bool guarded) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(l->ins->o->opnd[0].type);
  const uint32_t slot = ja_slot(l->a, wide ? MX_R64 : MX_R32, mx_w_operand(l->ins->w, 0));
  const bool kept = guarded || ja_has(l->a->blocks[l->block].preserved, slot),
             there = !ja_has(l->uni, slot) && !l->ramps[slot] && !ja_has(l->raw, slot);
  for (unsigned c = 0; kept && !there && c < l->nc; c++) {
    const jv v = lw_clean(l, slot, lw_get(l, slot, wide ? MX_T_u64 : MX_T_u32, c));
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
      jx_set(j, lw_cell(l, slot, false, wide ? 2 * c + h : c), v.r[h] ? v.r[h] : v.r[0]);
  }
  l->lows[slot] = (struct lw_low){0};
  return lw_cell_offset(l, slot);
}
static bool lane_by_lane(struct lw *l) {
  const mx_word w = *l->ins->w;
  const struct mx_row_access row = mx__row_access[l->ins->op];
  /* sums of halves take a while with scalars only, and the bodies are as fast */
  if (!row.combine || jx_bitsof(row.type) < 32 || jx_bitsof(row.type) > 64 || row.type == MX_T_f16x2 ||
      row.type == MX_T_bf16x2 || l->a->checked)
    return false;
  /* the operand that is the address: the result, if there is one, comes before it */
  const unsigned at = l->ins->o->opnd[0].role == MX_OUT, noperands = l->ins->o->nopnds - at - 2u, space = mx_w_mod(w);
  const bool wide = jx_wide(row.type), guarded = mx_w_guard(w) != MX_GUARD_NONE;
  if (space == MX_GENERIC && jx_float(row.type)) return false; /* sums in shared memory are others */
  const struct lw_atomic_access ac = {.op = l->ins->op,
                                      .type = row.type,
                                      .noperands = noperands,
                                      .wants_old = wants_old(l),
                                      .shared = space == MX_SHARED,
                                      .wide_address = jx_wide(l->ins->o->opnd[at].type),
                                      .one_value = lw_operand_uniform(l, at + 2),
                                      .instruction = in_one_instruction(row.combine)};
  const struct lw_helper *helper = lw_atomic_helper(l, &ac, row.combine);
  if (!helper) return false;
  for (unsigned k = 0; k < noperands && !wide; k++) lw_clean_slot(l, at + 2 + k);
  gcc_jit_rvalue *variable, *lanes[LW_CHUNKS], *operand[2] = {NULL};
  const uint64_t off = lw_offset(l, at + 1, &variable);
  gcc_jit_block *end = guarded ? lw_new_block(l, "done") : NULL;
  for (unsigned c = 0; c < l->nc; c++) lanes[c] = lw_lanes(l, c);
  if (guarded) lw_if_any(l, lw_any(l, lanes), at, end);
  else l->always = true;
  const uint32_t fallback = lw_spill_for_fallback(l);
  for (unsigned k = 0; k < noperands; k++)
    operand[k] = !k && ac.one_value ? gcc_jit_context_new_cast(l->j.c, NULL, number_of_all(l, at + 2, wide), l->j.t_u64)
                                    : lanes_of(l, at + 2 + k, wide);
  gcc_jit_rvalue *addresses = lanes_of(l, at, ac.wide_address);
  const uint64_t old = at ? result_cells(l, guarded) : 0;
  lw_behind_body(
      l, fallback,
      lw_call_atomic(l, helper, addresses, variable ? variable : lw_u64(l, off), operand, old, lanes, fallback));
  if (guarded) lw_go(l, end), l->j.b = end;
  return true;
}

bool lw_atomic(struct lw *l) { return add_to_uniform_address(l) || lane_by_lane(l); }

/* Slots that are ramps (ramps.c): the numbers of the rows' first lanes, which code keeps; vectors made of them; and the
 * instructions whose results are ramps. */
#include "lowering.h"

#include "vm/exec/exec.h"

#include <stdio.h>

static bool is_wide(const struct lw *l, uint32_t slot) { return lw_class(l->a, slot) == MX_R64; }
gcc_jit_type *lw_number_type(struct lw *l, bool wide, bool with_sign) {
  if (!with_sign) return wide ? l->j.t_u64 : l->j.t_u32;
  return wide ? gcc_jit_context_get_type(l->j.c, GCC_JIT_TYPE_LONG_LONG) : l->j.t_int;
}
static gcc_jit_type *signed_type(struct lw *l, bool wide) { return lw_number_type(l, wide, true); }
static gcc_jit_rvalue *cast(struct lw *l, gcc_jit_rvalue *v, gcc_jit_type *t) {
  return gcc_jit_context_new_cast(l->j.c, NULL, v, t);
}

/* ---- numbers and vectors ------------------------------------------------------------------------------------------*/
gcc_jit_lvalue *lw_ramp_first(struct lw *l, uint32_t slot, unsigned row) {
  if (l->slots_spilled) return lw_cell_first(l, slot, row);
  gcc_jit_lvalue **first = &l->first[JA_MOST_ROWS * slot + row];
  if (!*first) {
    char name[32];
    snprintf(name, sizeof name, "r%u.%u", slot, row);
    *first = gcc_jit_function_new_local(l->j.fn, NULL, is_wide(l, slot) ? l->j.t_u64 : l->j.t_u32, name);
  }
  return *first;
}
/* The number of the current chunk's first lane, in a loop that is not unrolled. */
static gcc_jit_rvalue *first_in_loop(struct lw *l, uint32_t slot, gcc_jit_type *t, uint64_t by) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *lane = jx_keep(j, lw_loop_lane(l)), *first;
  if (ja_rows(l->a) == 1) first = jx_rv(lw_ramp_first(l, slot, 0));
  else {
    gcc_jit_rvalue *in_row =
        jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, lane, jx_int(j, j->t_u64, l->a->row_lanes - 1)));
    gcc_jit_rvalue *row = jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, lane, in_row);
    first = jx_rv(lw_cell_of_lane(l, slot, jx_keep(j, row)));
    lane = in_row;
  }
  if (!by) return first;
  return jx_op(
      j, GCC_JIT_BINARY_OP_PLUS, t, first,
      jx_op(j, GCC_JIT_BINARY_OP_MULT, t, cast(l, lane, t), jx_int(j, t, is_wide(l, slot) ? by : (uint32_t)by)));
}
gcc_jit_rvalue *lw_ramp_vector(struct lw *l, uint32_t slot, unsigned k) {
  struct jx *j = &l->j;
  const bool wide = is_wide(l, slot);
  const uint64_t by = (uint64_t)ja_stride((l->ramp_built ? l->ramps_after : l->ramps)[slot]);
  gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
  unsigned chunk = 0;
  const bool turns = l->loop && !lw_loop_unrolled(l, &chunk);
  const unsigned lane = (wide ? j->w / 2 : j->w) * (k + chunk * (wide ? 2 : 1)), in_row = lane % l->a->row_lanes;
  gcc_jit_rvalue *first = turns ? first_in_loop(l, slot, t, by) : jx_rv(lw_ramp_first(l, slot, lane / l->a->row_lanes));
  const jv all = jv_broadcast(j, wide ? MX_T_u64 : MX_T_u32, jx_keep(j, first));
  if (!by) return all.r[0];
  return jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_PLUS, jx_vector(j, wide), all.r[0], lw_ramp(l, in_row, by, wide)));
}
jv lw_ramp_value(struct lw *l, uint32_t slot, unsigned chunk) {
  const bool wide = is_wide(l, slot);
  jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++) v.r[h] = lw_ramp_vector(l, slot, (wide ? 2 : 1) * chunk + h);
  if (!wide) v.r[1] = v.r[0];
  return v;
}
void lw_ramp_spread(struct lw *l, uint32_t slot) {
  for (unsigned k = 0; k < lw_vectors(l, slot); k++) jx_set(&l->j, lw_var(l, slot, k), lw_ramp_vector(l, slot, k));
}

/* ---- instructions -------------------------------------------------------------------------------------------------*/
static uint32_t slot_of(const struct lw *l, unsigned k) { return ja_number_slot(l->a, l->ins, k); }
static bool is_ramp(const struct lw *l, unsigned k) {
  const uint32_t slot = slot_of(l, k);
  return slot != JA_NONE && l->ramps[slot];
}
/* The stride of operand k; 0: it is flat, or no ramp. */
static int64_t stride_of(const struct lw *l, unsigned k) {
  return is_ramp(l, k) ? ja_stride(l->ramps[slot_of(l, k)]) : 0;
}
/* The number that the first lane of a row has in operand k. */
static gcc_jit_rvalue *number(struct lw *l, unsigned k, unsigned row) {
  const bool wide = jx_wide(l->ins->o->opnd[k].type);
  gcc_jit_type *t = wide ? l->j.t_u64 : l->j.t_u32;
  if (is_ramp(l, k)) return jx_keep(&l->j, jx_rv(lw_ramp_first(l, slot_of(l, k), row)));
  return jx_keep(&l->j, cast(l, jv_scalar(&l->j, lw_operand(l, k, 0)), t));
}
static uint64_t constant(const struct lw *l, unsigned k) {
  return l->a->f->lits[mx_w_operand(l->ins->w, k) - MX_LIT].value;
}
/* A condition: of a ramp that begins with `first`, some lane's number wraps, as a number with or without a sign. */
static gcc_jit_rvalue *wraps(struct lw *l, gcc_jit_rvalue *first, int64_t stride, bool wide, bool with_sign) {
  struct jx *j = &l->j;
  const int64_t reach = stride * (int64_t)(l->a->row_lanes - 1), most = wide ? INT64_MAX : INT32_MAX;
  gcc_jit_type *bits = wide ? j->t_u64 : j->t_u32, *t = with_sign ? signed_type(l, wide) : bits;
  const uint64_t end = with_sign ? (uint64_t)(stride > 0 ? most - reach : -most - 1 - reach)
                                 : (uint64_t)(stride > 0 ? (int64_t)UINT32_MAX - reach : -reach);
  return lw_compare(l, stride > 0 ? GCC_JIT_COMPARISON_GT : GCC_JIT_COMPARISON_LT, cast(l, first, t),
                    cast(l, jx_int(j, bits, wide ? end : (uint32_t)end), t));
}
static gcc_jit_rvalue *widened(struct lw *l, gcc_jit_rvalue *v) {
  return cast(l, ja_extends_sign(l->ins) ? cast(l, cast(l, v, signed_type(l, false)), signed_type(l, true)) : v,
              l->j.t_u64);
}
/* A condition: the numbers of a row that begins with `first` differ in more than their lowest n bits. */
static gcc_jit_rvalue *differ_above(struct lw *l, gcc_jit_rvalue *first, int64_t stride, bool wide, unsigned n) {
  struct jx *j = &l->j;
  gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
  const uint64_t most = (UINT64_C(1) << n) - 1, reach = (uint64_t)stride * (l->a->row_lanes - 1);
  return lw_compare(l, GCC_JIT_COMPARISON_GT, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, t, first, jx_int(j, t, most)),
                    jx_int(j, t, most - reach));
}
/* Of the row that begins with `first`, in operand k: the condition under which the result is no ramp; NULL: never. */
static gcc_jit_rvalue *no_ramp(struct lw *l, unsigned k, gcc_jit_rvalue *first) {
  const struct ja_ins *i = l->ins;
  const bool wide = jx_wide(i->o->opnd[k].type);
  const int64_t stride = stride_of(l, k);
  struct ja_bits bits;
  uint64_t n = 0;
  if (i->form == MX_FORM_AND) {
    ja_and_bits(l->a, i, &bits);
    n = (uint64_t)stride & ((UINT64_C(1) << bits.low) - 1) ? bits.low : bits.end;
    return n < ja_result_bits(i) ? differ_above(l, first, stride, wide, (unsigned)n) : NULL;
  }
  if (i->form == MX_FORM_DOWN || i->form == MX_FORM_DOWN_U) {
    n = constant(l, 2);
    if ((uint64_t)stride & ((UINT64_C(1) << n) - 1)) return differ_above(l, first, stride, wide, (unsigned)n);
  }
  if (i->form == MX_FORM_FIT) return wraps(l, cast(l, first, l->j.t_u32), stride, false, ja_extends_sign(i));
  return wraps(l, first, stride, wide, i->form == MX_FORM_DOWN || ja_extends_sign(i));
}
/* Code is left where the result is no ramp. */
static void leave_where_it_wraps(struct lw *l, uint32_t number_in_block) {
  const unsigned k = stride_of(l, 1) ? 1 : 2;
  gcc_jit_rvalue *some = NULL;
  for (unsigned row = 0; stride_of(l, k) && row < ja_rows(l->a); row++) { /* else nothing increases from lane to lane */
    gcc_jit_rvalue *here = no_ramp(l, k, number(l, k, row));
    if (here) some = lw_either(l, some, here);
  }
  if (some) lw_leave_where(l, lw_rare(l, some), number_in_block);
}
/* The number of a row's first lane in the result. */
static gcc_jit_rvalue *result(struct lw *l, gcc_jit_type *t, unsigned row) {
  struct jx *j = &l->j;
  const struct ja_ins *i = l->ins;
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, t, x_, y_)
  switch (i->form) {
  case MX_FORM_COPY: return number(l, 1, row);
  case MX_FORM_CUT: return cast(l, number(l, 1, row), t);
  case MX_FORM_EXTEND: return widened(l, number(l, 1, row));
  case MX_FORM_FIT: return widened(l, cast(l, number(l, 1, row), j->t_u32));
  case MX_FORM_ADD: return OP(PLUS, number(l, 1, row), number(l, 2, row));
  case MX_FORM_SUB: return OP(MINUS, number(l, 1, row), number(l, 2, row));
  case MX_FORM_SHIFT: return OP(LSHIFT, number(l, 1, row), jx_int(j, t, constant(l, 2)));
  case MX_FORM_AND: return OP(BITWISE_AND, number(l, 1, row), number(l, 2, row));
  case MX_FORM_OR: return OP(BITWISE_OR, number(l, 1, row), number(l, 2, row));
  case MX_FORM_DOWN_U: return OP(RSHIFT, number(l, 1, row), jx_int(j, t, constant(l, 2)));
  case MX_FORM_DOWN: {
    gcc_jit_type *s = signed_type(l, ja_result_bits(i) == 64);
    return cast(l, jx_op(j, GCC_JIT_BINARY_OP_RSHIFT, s, cast(l, number(l, 1, row), s), jx_int(j, s, constant(l, 2))),
                t);
  }
  case MX_FORM_MUL:
  case MX_FORM_MAD: {
    gcc_jit_rvalue *x = number(l, 1, row), *y = number(l, 2, row);
    if (ja_multiplies_wide(i)) x = widened(l, x), y = widened(l, y);
    gcc_jit_rvalue *product = OP(MULT, x, y);
    return i->form == MX_FORM_MUL ? product : OP(PLUS, jx_keep(j, product), number(l, 3, row));
  }
  default: break;
  }
#undef OP
  const uint64_t at = MX_AT(exec, sreg_lanes32) + 8 * (uint64_t)mx_w_operand(i->w, 1);
  return jx_rv(lw_field(l, jx_keep(j, jx_rv(lw_field(l, l->x, at, j->t_pu8))), 4 * (uint64_t)row * l->a->row_lanes, t));
}
void lw_ramp_build(struct lw *l, uint32_t k) {
  const uint32_t slot = slot_of(l, 0);
  gcc_jit_type *t = is_wide(l, slot) ? l->j.t_u64 : l->j.t_u32;
  if (ja_ramp_leaves(l->ins)) leave_where_it_wraps(l, k);
  gcc_jit_rvalue *v[JA_MOST_ROWS]; /* all before one is set, which may overwrite an operand's one value */
  for (unsigned row = 0; row < ja_rows(l->a); row++) v[row] = jx_keep(&l->j, result(l, t, row));
  for (unsigned row = 0; row < ja_rows(l->a); row++) jx_set(&l->j, lw_ramp_first(l, slot, row), v[row]);
  l->lows[slot] = (struct lw_low){0};
  l->ramp_built = true;
  lw_shape_update(l, slot);
  l->ramp_built = false;
}

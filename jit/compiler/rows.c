/* Rows: whether the numbers or addresses that the lanes have in a slot increase by the same stride from lane to lane,
 * and lane 0's. Within a block this is found out once for a value, and follows from then on for what is computed of it:
 * copies, sums with uniform values, multiples, and wider numbers. */
#include "lowering.h"

#include "vm/exec/exec.h"

#include <stdlib.h>

enum { MOST_STEPS = 16 /* how many instructions back a row is looked for */ };

static bool is_wide(const struct lw *l, uint32_t slot) { return slot >= l->a->f->npred + l->a->f->n32; }
static gcc_jit_rvalue *sign_extended(struct lw *l, gcc_jit_rvalue *v) {
  struct jx *j = &l->j;
  gcc_jit_type *s64 = gcc_jit_context_get_type(j->c, GCC_JIT_TYPE_LONG_LONG);
  v = gcc_jit_context_new_cast(j->c, NULL, v, j->t_int);
  return gcc_jit_context_new_cast(j->c, NULL, gcc_jit_context_new_cast(j->c, NULL, v, s64), j->t_u64);
}
gcc_jit_rvalue *lw_first_number(struct lw *l, gcc_jit_rvalue *index) {
  return sign_extended(l, l->j.isa->first(&l->j, false, index));
}

/* ---- what follows from earlier instructions of the block ----------------------------------------------------------*/
/* Whether a slot has, just before instructions x and y, the same value. */
static bool is_same_value(const struct ja *a, uint32_t slot, const struct ja_ins *x, const struct ja_ins *y) {
  return x->block == y->block && !(x < y ? lw_written_between(a, x, y, slot) : lw_written_between(a, y, x, slot));
}
/* Whether a slot that has not been written since instruction i of the block still has that value. One that nobody will
 * read again need not: a loop over chunks does not store it, and what computes it may have been deferred. */
static bool is_there(const struct lw *l, uint32_t slot, const struct ja_ins *i) {
  return is_same_value(l->a, slot, i, l->ins) && ja_has(l->live, slot);
}
/* The uniform value that operand o of the earlier instruction i had; NULL: it is not there any more. */
static gcc_jit_rvalue *earlier_operand(struct lw *l, const struct ja_ins *i, unsigned o) {
  struct jx *j = &l->j;
  const struct lw_addend *noted = &l->addend[i - l->a->ins];
  if (noted->value && noted->operand == o) return jx_rv(noted->value);
  const unsigned f = mx_w_operand(i->w, o);
  if (f < MX_LIT && !is_there(l, ja_slot(l->a, mx__types[i->o->opnd[o].type].slot_class, f), i)) return NULL;
  gcc_jit_rvalue *v = jv_scalar(j, lw_operand_of(l, i, o));
  return jx_wide(i->o->opnd[o].type) ? gcc_jit_context_new_cast(j->c, NULL, v, j->t_u64) : sign_extended(l, v);
}
/* How instruction k computes its result of the value of one slot, *from. */
static bool is_step(const struct lw *l, uint32_t k, struct lw_addressing *by, uint32_t *from) {
  const struct ja *a = l->a;
  const struct ja_ins *i = &a->ins[k];
  if (i->form == MX_FORM_COPY && mx_w_guard(*i->w) == MX_GUARD_NONE)
    *by = (struct lw_addressing){.from = 1, .factor = 1};
  else if (!lw_match_addressing(a, i->block, k, by)) return false;
  const unsigned f = mx_w_operand(i->w, by->from);
  if (f >= MX_LIT) return false;
  *from = ja_slot(a, mx__types[i->o->opnd[by->from].type].slot_class, f);
  return *from >= a->f->npred && (ja_result_bits(i) == 64 || !is_wide(l, *from));
}
/* The row that instruction k computes of a row. plus: the value of its uniform operand, if it has one. */
static void step(struct lw *l, uint32_t k, const struct lw_addressing *by, gcc_jit_rvalue *plus,
                 struct lw_known_row *row) {
  struct jx *j = &l->j;
  const bool wide = ja_result_bits(&l->a->ins[k]) == 64;
  if (by->sign_extends) { /* none of the lanes' numbers may have wrapped, as numbers of the type that is extended */
    const bool with_sign = ja_extends_sign(&l->a->ins[k]);
    const uint64_t reach = (uint64_t)(l->a->lanes - 1) * row->stride;
    if (!with_sign)
      row->first = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, row->first, lw_u64(l, UINT32_MAX)));
    gcc_jit_rvalue *room = jx_keep(
        j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, lw_u64(l, (with_sign ? INT32_MAX : UINT32_MAX) - reach), row->first));
    row->scattered = jx_keep(j, lw_either(l, row->scattered, lw_is_negative(l, room)));
  }
  if (by->factor != 1) row->first = lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, row->first, lw_u64(l, by->factor));
  if (plus) row->first = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, row->first, plus);
  row->first = jx_keep(j, wide ? row->first : sign_extended(l, row->first));
  row->stride *= (unsigned)by->factor;
}
static struct lw_known_row test(struct lw *l, uint32_t slot, unsigned stride);
/* Whether the slot held, just before instruction k of the current block, a row of that stride. What is known of values
 * from which it is computed is used; if nothing is known, and `tests`, the first of these that is still there is
 * tested. False: nothing was found. Under a checker nothing is known: an access asks the checker first, and where the
 * checker's body does it, nothing has been found. */
static bool row_before(struct lw *l, uint32_t k, uint32_t slot, unsigned stride, unsigned left, bool tests,
                       struct lw_known_row *row) {
  const struct ja *a = l->a;
  const struct lw_known_row *known = &l->known_rows[slot];
  if (!a->checked && known->ins && known->stride == stride && is_same_value(a, slot, known->ins, &a->ins[k])) {
    *row = *known;
    return true;
  }
  struct lw_addressing by;
  uint32_t from, def = k;
  gcc_jit_rvalue *plus = NULL;
  if (left && lw_last_write(a, &def, slot) && is_step(l, def, &by, &from) && stride % by.factor == 0 &&
      (!by.plus || (plus = earlier_operand(l, &a->ins[def], by.plus))) &&
      row_before(l, def, from, (unsigned)(stride / by.factor), left - 1, tests, row)) {
    step(l, def, &by, plus, row);
    return true;
  }
  if (!tests || !is_there(l, slot, &a->ins[k])) return false;
  *row = test(l, slot, stride);
  return true;
}
/* Notes what has been found of a slot's value. */
static struct lw_known_row note(struct lw *l, uint32_t slot, struct lw_known_row row) {
  row.ins = l->ins;
  return l->known_rows[slot] = row;
}

/* ---- what is tested -----------------------------------------------------------------------------------------------*/
/* Tests 32-bit numbers by those that lane 0 would have. known: they are a row where lw_tid_consecutive() holds. */
static struct lw_known_row test_numbers(struct lw *l, unsigned stride, bool known, gcc_jit_rvalue *const *index,
                                        gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *first = jx_keep(j, lw_first_number(l, index[0]));
  gcc_jit_lvalue *no = jx_local(j, j->t_bool);
  jx_set(j, no, jx_int(j, j->t_bool, 0));
  gcc_jit_block *certain = known ? lw_new_block(l, "row") : NULL;
  if (certain) {
    gcc_jit_block *ask = lw_new_block(l, "ask");
    gcc_jit_rvalue *not =
        gcc_jit_context_new_unary_op(j->c, NULL, GCC_JIT_UNARY_OP_LOGICAL_NEGATE, j->t_bool, lw_tid_consecutive(l));
    lw_split(l, lw_rare(l, not ), ask, certain);
    j->b = ask;
  }
  gcc_jit_rvalue *start = j->isa->first_everywhere(j, false, index[0]), *scattered = NULL;
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *want =
        jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->vu32, start, lw_ramp(l, j->w * c, stride, false)));
    gcc_jit_rvalue *d = j->isa->differ(j, false, 0, index[c], want, lanes[c]);
    scattered = scattered ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->vu32, scattered, d) : d;
  }
  jx_set(j, no, j->isa->any_bit(j, false, jx_keep(j, scattered)));
  if (certain) {
    lw_go(l, certain);
    j->b = certain;
  }
  return (struct lw_known_row){.stride = stride, .scattered = jx_rv(no), .first = first};
}
gcc_jit_rvalue *lw_cells_to_pass(struct lw *l, uint32_t slot) {
  return lw_is_in_loop(l) ? NULL : lw_cells_address(l, slot);
}
gcc_jit_rvalue *lw_cells_or_copy(struct lw *l, uint32_t slot) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *at = lw_cells_address(l, slot);
  if (at) return at;
  const bool wide = is_wide(l, slot);
  const unsigned parts = wide ? 2 : 1;
  at = jx_keep(j, lw_at(l, l->x, MX_AT(exec, tmp)));
  for (unsigned c = 0; c < l->nc; c++) {
    const jv v = lw_get(l, slot, wide ? MX_T_u64 : MX_T_u32, c);
    for (unsigned h = 0; h < parts; h++) jx_set(j, lw_vector(l, at, j->bytes * (parts * c + h), wide), v.r[h]);
  }
  return at;
}
/* Tests addresses, or numbers, by the first lane that runs. */
static struct lw_known_row test_addresses(struct lw *l, uint32_t slot, unsigned stride) {
  struct jx *j = &l->j;
  const bool wide = is_wide(l, slot), converged = l->a->blocks[l->ins->block].converged;
  const unsigned parts = wide ? 2 : 1, type = wide ? MX_T_u64 : MX_T_u32;
  const bool called = !lw_is_in_loop(l) && (!converged || lw_cells_address(l, slot));
  struct lw_known_row row = {.stride = stride};
  if (!converged || called) {
    gcc_jit_rvalue *lanes[LW_CHUNKS], *at = lw_cells_or_copy(l, slot);
    for (unsigned c = 0; c < l->nc; c++) lanes[c] = jx_rv(l->cm[c]);
    row.first =
        (called ? lw_call_row_start : lw_row_start)(l, at, wide, stride, converged ? NULL : lanes, &row.scattered);
    if (!wide) row.first = jx_keep(j, sign_extended(l, row.first));
    return row;
  }
  gcc_jit_lvalue *differs = jx_local(j, jx_vector(j, wide)), *no = jx_local(j, j->t_bool);
  jv v = lw_get(l, slot, type, 0);
  row.first = j->isa->first(j, wide, v.r[0]);
  gcc_jit_rvalue *everywhere = j->isa->first_everywhere(j, wide, v.r[0]);
  for (unsigned c = 0; c < l->nc; c++) {
    v = lw_get(l, slot, type, c);
    for (unsigned h = 0; h < parts; h++) {
      gcc_jit_rvalue *ramp = lw_ramp(l, j->w * c + j->w / 2 * h, stride, wide);
      if (c || h) j->isa->collect(j, wide, differs, v.r[h], everywhere, ramp);
      else
        jx_set(j, differs,
               jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, jx_vector(j, wide), v.r[h],
                     jx_op(j, GCC_JIT_BINARY_OP_PLUS, jx_vector(j, wide), everywhere, ramp)));
    }
  }
  jx_set(j, no, j->isa->any_bit(j, wide, jx_rv(differs)));
  if (!wide) row.first = sign_extended(l, row.first);
  row.first = jx_keep(j, row.first), row.scattered = jx_rv(no);
  return row;
}
/* Whether numbers of 32 bits are certain to be a row where lw_tid_consecutive() holds. */
static bool is_certain(const struct lw *l, uint32_t slot, unsigned stride) {
  int64_t by;
  return lw_stride(l, slot, &by) && by == (int64_t)stride;
}
static struct lw_known_row test(struct lw *l, uint32_t slot, unsigned stride) {
  if (is_wide(l, slot) || !is_certain(l, slot, stride)) return note(l, slot, test_addresses(l, slot, stride));
  gcc_jit_rvalue *index[LW_CHUNKS], *lanes[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++)
    index[c] = jx_keep(&l->j, lw_get(l, slot, MX_T_u32, c).r[0]), lanes[c] = jx_rv(l->cm[c]);
  return note(l, slot, test_numbers(l, stride, true, index, lanes));
}
/* A row that is certain: a ramp, where all the warp is one row. */
static bool is_ramp(struct lw *l, uint32_t slot, unsigned stride, struct lw_known_row *row) {
  if (l->ramps[slot] != (int64_t)stride || ja_rows(l->a) > 1) return false;
  gcc_jit_rvalue *first = jx_keep(&l->j, jx_rv(lw_ramp_first(l, slot, 0)));
  *row = (struct lw_known_row){.stride = stride,
                               .first = is_wide(l, slot) ? first : jx_keep(&l->j, sign_extended(l, first))};
  return true;
}
struct lw_known_row lw_number_row(struct lw *l, uint32_t slot, unsigned stride, gcc_jit_rvalue *const *index,
                                  gcc_jit_rvalue *const *lanes, bool guarded) {
  const uint32_t here = (uint32_t)(l->ins - l->a->ins);
  struct lw_known_row row;
  if (is_ramp(l, slot, stride, &row)) return row;
  if (row_before(l, here, slot, stride, MOST_STEPS, false, &row)) return note(l, slot, row);
  row = test_numbers(l, stride, is_certain(l, slot, stride), index, lanes);
  return guarded ? row : note(l, slot, row);
}
struct lw_known_row lw_address_row(struct lw *l, uint32_t slot, unsigned stride) {
  struct lw_known_row row;
  if (is_ramp(l, slot, stride, &row)) return row;
  if (!row_before(l, (uint32_t)(l->ins - l->a->ins), slot, stride, MOST_STEPS, true, &row)) abort(); /* it is there */
  return note(l, slot, row);
}

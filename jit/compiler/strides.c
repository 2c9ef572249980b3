/* By how much numbers differ from lane to lane, where that is certain: sums of uniform values and multiples of %tid.x.
 * Whether %tid.x itself increases by one from lane to lane is known when code is entered: lw_tid_consecutive(). (The
 * strides in shared_runs.c are guesses that are tested at run time.) */
#include "lowering.h"

#include "vm/exec/exec.h"

#include <stdlib.h>

#define MOST 8 /* how many instructions may compute a number */

static bool of_slot(const struct ja *a, uint32_t b, uint32_t k, uint32_t slot, unsigned left, int64_t *by);

/* The stride of operand o of instruction k in block b. */
static bool of_operand(const struct ja *a, uint32_t b, uint32_t k, unsigned o, unsigned left, int64_t *by) {
  const struct ja_ins *i = &a->ins[k];
  const unsigned f = mx_w_operand(i->w, o);
  *by = 0;
  return f >= MX_LIT || of_slot(a, b, k, ja_slot(a, mx__types[i->o->opnd[o].type].slot_class, f), left, by);
}
/* The stride of the product of operands 1 and 2. */
static bool of_product(const struct ja *a, uint32_t b, uint32_t k, unsigned left, int64_t *by) {
  const struct ja_ins *i = &a->ins[k];
  int64_t of[2];
  if (!of_operand(a, b, k, 1, left, &of[0]) || !of_operand(a, b, k, 2, left, &of[1])) return false;
  *by = 0;
  if (!of[0] && !of[1]) return true;
  const unsigned f = mx_w_operand(i->w, of[0] ? 2 : 1);
  if ((of[0] && of[1]) || f < MX_LIT || a->f->lits[f - MX_LIT].kind != MX_LIT_VALUE) return false;
  *by = (of[0] + of[1]) * (int64_t)(int32_t)a->f->lits[f - MX_LIT].value;
  return llabs(*by) < 1 << 20;
}
static bool of_result(const struct ja *a, uint32_t b, uint32_t k, unsigned left, int64_t *by) {
  const struct ja_ins *i = &a->ins[k];
  int64_t more = 0;
  if (!left || mx_w_guard(*i->w) != MX_GUARD_NONE) return false;
  if (mx__effect(i->op) == MX_DOES_SREG) {
    const unsigned sreg = mx_w_operand(i->w, 1);
    *by = sreg == MX_SR_TID_X;
    return *by || sreg == MX_SR_TID_Y || sreg == MX_SR_TID_Z; /* while %tid.x increases, the others stay the same */
  }
  if (ja_result_bits(i) != 32) return false;
  switch (i->form) {
  case MX_FORM_COPY: return of_operand(a, b, k, 1, left - 1, by);
  case MX_FORM_ADD:
    return of_operand(a, b, k, 1, left - 1, by) && of_operand(a, b, k, 2, left - 1, &more) &&
           (*by += more, llabs(*by) < 1 << 20);
  case MX_FORM_MUL: return of_product(a, b, k, left - 1, by);
  case MX_FORM_MAD:
    return of_product(a, b, k, left - 1, by) && of_operand(a, b, k, 3, left - 1, &more) &&
           (*by += more, llabs(*by) < 1 << 20);
  default: return false;
  }
}
/* The stride of the slot before instruction k of block b: it must have been written in this block before, with all
 * lanes active, or only in the first block, which runs once and for all lanes. */
static bool of_slot(const struct ja *a, uint32_t b, uint32_t k, uint32_t slot, unsigned left, int64_t *by) {
  *by = 0;
  if (lw_uniform_slot(a, b, k, slot)) return true;
  const struct ja_write *last = ja_last_write(a, a->blocks[b].first, k, slot);
  if (last && a->blocks[b].converged) return of_result(a, b, last->ins, left, by);
  last = ja_last_write(a, 0, a->nins, slot);
  if (!last || a->ins[last->ins].block || a->blocks[0].back_target || !a->blocks[0].converged ||
      ja_has(a->blocks[0].live_in, slot))
    return false;
  return of_result(a, 0, last->ins, left, by);
}

bool lw_stride(const struct lw *l, uint32_t slot, int64_t *by) {
  return of_slot(l->a, l->ins->block, (uint32_t)(l->ins - l->a->ins), slot, MOST, by);
}

gcc_jit_rvalue *lw_tid_consecutive(struct lw *l) {
  struct jx *j = &l->j;
  if (l->tid_consecutive) return jx_rv(l->tid_consecutive);
  gcc_jit_block *here = j->b;
  j->b = l->prologue;
  l->tid_consecutive = jx_local(j, j->t_bool);
  gcc_jit_rvalue *all =
      lw_compare(l, GCC_JIT_COMPARISON_EQ, jx_rv(lw_field(l, l->x, MX_AT(exec, mask), j->t_u64)), lw_all_lanes(l));
  gcc_jit_rvalue *rows = lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(lw_field(l, l->x, MX_AT(exec, tid_rows), j->t_u32)),
                                    jx_int(j, j->t_u32, 0));
  jx_set(j, l->tid_consecutive,
         gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_bool, all, rows));
  j->b = here;
  return jx_rv(l->tid_consecutive);
}

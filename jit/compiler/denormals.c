/* Inactive lanes compute, too, on whatever their slots hold. Where that is an integer or an address, it is a denormal
 * number when it is read as a float, and processors take a hundred cycles for a product of one. So factors of inactive
 * lanes are replaced by 0 where their slots may hold such bits. */
#include "lowering.h"

#include <stdlib.h>

static bool is_float(unsigned type) { return type == MX_T_f32 || type == MX_T_f64; }
/* Whether the bits, as a float of the slot's width, are a denormal. */
static bool is_denormal(unsigned cls, uint64_t bits) {
  const uint64_t magnitude = cls == MX_R64 ? bits & ~(1ull << 63) : bits & INT32_MAX;
  return magnitude && magnitude < (cls == MX_R64 ? 1ull << 52 : 1ull << 23);
}
/* Whether operand k may hold an integer's bits, as far as is known about slots. */
static bool of_operand(const struct lw *l, const struct ja_ins *i, unsigned k) {
  const unsigned field = mx_w_operand(i->w, k), cls = mx__types[i->o->opnd[k].type].slot_class;
  if (cls != MX_R32 && cls != MX_R64) return false;
  if (field < MX_LIT) return ja_has(l->integers, ja_slot(l->a, cls, field));
  const struct mx_lit *lit = &l->a->f->lits[field - MX_LIT];
  return lit->kind != MX_LIT_VALUE || is_denormal(cls, lit->value);
}
/* The same for a result; what a load reads counts as a float if it is used as one. */
static bool of_result(const struct lw *l, const struct ja_ins *i, unsigned k) {
  const unsigned type = i->o->opnd[k].type;
  if (i->o->cls == MX_MEM) return false;
  if (i->o->flags & MX_F_MOVI)
    return is_denormal(mx__types[type].slot_class, (uint64_t)(int64_t)(int32_t)mx_w_movi(*i->w));
  const bool moves = i->form == MX_FORM_COPY || i->form == MX_FORM_SELECT;
  if (!moves && !is_float(type)) return true;
  bool some = false;
  for (unsigned m = 0; m < i->o->nopnds; m++)
    if (i->o->opnd[m].role != MX_OUT && i->o->opnd[m].type < MX_T_raw && (moves || is_float(i->o->opnd[m].type)))
      some |= of_operand(l, i, m);
  return some;
}
void lw_integers_find(struct lw *l) {
  const struct ja *a = l->a;
  l->integers = lw_need(8 * a->words);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = 0; n < a->nins; n++) {
      const struct ja_ins *i = &a->ins[n];
      for (unsigned k = 0; k < i->o->nopnds; k++) {
        const unsigned type = i->o->opnd[k].type, cls = type < MX_T_raw ? mx__types[type].slot_class : MX_PRED;
        if (i->o->opnd[k].role != MX_OUT || (cls != MX_R32 && cls != MX_R64)) continue;
        const unsigned field = i->o->flags & MX_F_MOVI ? mx_w_field(*i->w, 0) : mx_w_operand(i->w, k);
        const uint32_t slot = ja_slot(a, cls, field);
        if (ja_has(l->integers, slot) || !of_result(l, i, k)) continue;
        ja_add(l->integers, slot);
        again = true;
      }
    }
  }
}
/* Whether inactive lanes may compute floats from integers' bits. */
bool lw_stale_floats(const struct lw *l, const struct ja_ins *i) {
  if (l->one_lane || l->a->blocks[i->block].converged || i->o->cls != MX_LANE) return false;
  bool some = false;
  for (unsigned k = 0; k < i->o->nopnds; k++)
    some |= i->o->opnd[k].role != MX_OUT && is_float(i->o->opnd[k].type) && of_operand(l, i, k);
  return some;
}

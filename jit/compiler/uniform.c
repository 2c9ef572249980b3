/* Uniform integers as numbers. A uniform slot has one value: a vector with that value in all lanes or, if the slot
 * holds nothing but integers and truth values, a number in a general-purpose register. Addresses and branches need
 * numbers, and in vector registers, of which there are few, the counters and addresses of loops would be in the way;
 * where such a number is combined with lanes, it is broadcast. */
#include "lowering.h"

#include "meaning.h"

#include <stdio.h>
#include <stdlib.h>

bool lw_is_number(const struct lw *l, uint32_t slot) {
  return !l->slots_spilled && !l->one_lane && ja_has(l->numbers, slot);
}
gcc_jit_lvalue *lw_number(struct lw *l, uint32_t slot) {
  if (!l->number[slot]) {
    char name[16];
    snprintf(name, sizeof name, "n%u", slot);
    l->number[slot] =
        gcc_jit_function_new_local(l->j.fn, NULL, lw_class(l->a, slot) == MX_R64 ? l->j.t_u64 : l->j.t_u32, name);
  }
  return l->number[slot];
}
gcc_jit_rvalue *lw_number_of(struct lw *l, uint32_t slot, gcc_jit_rvalue *v) {
  struct jx *j = &l->j;
  const unsigned cls = lw_class(l->a, slot);
  if (cls != MX_PRED) return j->isa->first(j, cls == MX_R64, jx_bits(j, jx_vector(j, cls == MX_R64), v));
  return jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32,
               gcc_jit_context_new_cast(j->c, NULL, j->isa->mask_bits(j, v), j->t_u32), jx_int(j, j->t_u32, 1));
}
static gcc_jit_rvalue *everywhere(struct lw *l, uint32_t slot, gcc_jit_rvalue *n) {
  struct jx *j = &l->j;
  const unsigned cls = lw_class(l->a, slot);
  return cls == MX_PRED ? j->isa->mask_fill(j, gcc_jit_context_new_cast(j->c, NULL, n, j->t_u64))
                        : j->isa->broadcast(j, cls == MX_R64, n);
}
gcc_jit_rvalue *lw_number_everywhere(struct lw *l, uint32_t slot) {
  return everywhere(l, slot, jx_rv(lw_number(l, slot)));
}
void lw_set_number(struct lw *l, uint32_t slot, gcc_jit_rvalue *n) {
  if (lw_is_number(l, slot)) jx_set(&l->j, lw_number(l, slot), n);
  else lw_set_one(l, slot, everywhere(l, slot, n));
}
/* Slots whose values are computed by instructions of floats, or are operands of these: what loads and moves pass on may
 * be either. */
static bool find_floats(const struct ja *a, const struct ja_ins *i, uint64_t *floats) {
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
  bool some = false, again = false;
  for (unsigned k = 0; k < i->o->nopnds; k++) some |= i->o->opnd[k].type < MX_T_raw && jx_float(i->o->opnd[k].type);
  for (uint32_t k = 0; k < n; k++) {
    again |= some && !ja_has(floats, s[k]);
    if (some) ja_add(floats, s[k]);
  }
  const bool moves = i->form == MX_FORM_COPY || i->form == MX_FORM_SELECT;
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    const uint32_t slot = ja_number_slot(a, i, k);
    if (slot == JA_NONE || ja_has(floats, slot)) continue;
    if (!jx_float(i->o->opnd[k].type) && !(moves && n && ja_has(floats, s[0]))) continue;
    ja_add(floats, slot);
    again = true;
  }
  return again;
}
void lw_numbers_find(struct lw *l) {
  const struct ja *a = l->a;
  l->numbers = lw_need(8 * a->words);
  uint64_t *floats = lw_need(8 * a->words);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = a->nins; n--;) again |= find_floats(a, &a->ins[n], floats);
  }
  for (uint32_t s = 0; s < a->nslots; s++)
    if (!ja_has(floats, s)) ja_add(l->numbers, s);
  free(floats);
}

static bool is_integer(unsigned type) {
  return type == MX_T_pred || ((jx_bitsof(type) == 32 || jx_bitsof(type) == 64) && !jx_float(type));
}
/* Operand k as a number for code of one lane; false: there is none. */
static bool operand(struct lw *l, unsigned k, jv *v) {
  struct jx *j = &l->one_j;
  const unsigned type = l->ins->o->opnd[k].type;
  if (type >= MX_T_raw) {
    *v = jv_k(j, MX_T_u32, mx_w_operand(l->ins->w, k));
    return true;
  }
  const unsigned f = mx_w_operand(l->ins->w, k), cls = mx__types[type].slot_class;
  if (!is_integer(type)) return false;
  if (f >= MX_LIT && l->a->f->lits[f - MX_LIT].kind == MX_LIT_VALUE) {
    const uint64_t value = l->a->f->lits[f - MX_LIT].value;
    *v = jv_k(j, type, type == MX_T_pred ? value & 1 : value);
    return true;
  }
  if (f >= MX_LIT || !ja_has(l->uni, ja_slot(l->a, cls, f)) || !lw_is_number(l, ja_slot(l->a, cls, f))) return false;
  *v = (jv){.t = (uint8_t)type, .u = true};
  v->r[0] = v->r[1] = jx_bits(j, jx_type(j, type), jx_rv(lw_number(l, ja_slot(l->a, cls, f))));
  return true;
}
/* Instructions with uniform operands whose results are kept as numbers. */
bool lw_compute_numbers(struct lw *l) {
  struct jx *j = &l->one_j;
  const struct ja_ins *i = l->ins;
  const struct mx_op_info *o = i->o;
  jv in[8] = {{0}}, result[2] = {{0}};
  uint32_t slot[2];
  unsigned nout = 0;
  while (nout < o->nopnds && o->opnd[nout].role == MX_OUT) nout++;
  /* where a divisor is 0, the processor's own instruction traps */
  if (l->slots_spilled || l->one_lane || l->loop || !jx_meanings[i->op] || mx_w_guard(*i->w) != MX_GUARD_NONE ||
      !nout || nout > 2 || o->nopnds - nout > 8 || mx__is_spelled(i->op, "div") || mx__is_spelled(i->op, "rem"))
    return false;
  for (unsigned k = 0; k < nout; k++) {
    if (!is_integer(o->opnd[k].type)) return false;
    slot[k] = ja_slot(l->a, mx__types[o->opnd[k].type].slot_class, mx_w_operand(i->w, k));
    if (!ja_has(l->uni_after, slot[k]) || !lw_is_number(l, slot[k])) return false;
  }
  for (unsigned k = nout; k < o->nopnds; k++)
    if (!operand(l, k, &in[k - nout])) return false;
  j->fn = l->j.fn, j->b = l->j.b;
  result[0] = jx_meanings[i->op](j, mx_w_mod(*i->w), in, &result[1]);
  for (unsigned k = 0; k < nout && !j->bad; k++) {
    result[k] = jv_cvt(j, o->opnd[k].type, result[k].t, result[k]);
    result[k].r[0] = jx_keep(j, jx_bits(j, jx_wide(result[k].t) ? j->t_u64 : j->t_u32, result[k].r[0]));
  }
  l->j.b = j->b;
  for (unsigned k = 0; k < nout && !j->bad; k++) {
    jx_set(&l->j, lw_number(l, slot[k]), result[k].r[0]);
    l->lows[slot[k]] = (struct lw_low){i + 1, jx_wide(result[k].t) ? jx_low(result[k]) : 0};
  }
  const bool built = !j->bad;
  j->bad = false;
  return built;
}

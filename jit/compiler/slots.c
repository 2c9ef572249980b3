/* Operands and slots: where values come from and go to, in locals, in the frame, in the literal pool. */
#include "lowering.h"

#include "vm/exec/exec.h"

#include <stdio.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------------------------*/
gcc_jit_rvalue *lw_add(struct lw *l, gcc_jit_rvalue *p, gcc_jit_rvalue *off) {
  return gcc_jit_lvalue_get_address(gcc_jit_context_new_array_access(l->j.c, NULL, p, off), NULL);
}
gcc_jit_rvalue *lw_at(struct lw *l, gcc_jit_rvalue *p, uint64_t off) {
  return off ? lw_add(l, p, jx_int(&l->j, l->j.t_u64, off)) : p;
}
static uint64_t size_of(const struct jx *j, const gcc_jit_type *t) {
  if (t == j->t_u8) return 1;
  if (t == j->t_u16) return 2;
  if (t == j->t_u32) return 4;
  if (t == j->t_u64 || t == j->t_pu8) return 8;
  return j->w > 1 && (t == j->vu32 || t == j->vu64) ? j->bytes : 0;
}
/* A structure that consists of one array of the type, longer than any index used, and its member. */
static const struct lw_cells *cells_of(struct lw *l, gcc_jit_type *t) {
  struct jx *j = &l->j;
  struct lw_cells *k = l->cells;
  while (k->of && k->of != t) k++;
  if (k->of) return k;
  k->of = t;
  k->member = gcc_jit_context_new_field(j->c, NULL, gcc_jit_context_new_array_type(j->c, NULL, t, LW_CELLS), "at");
  gcc_jit_struct *s = gcc_jit_context_new_struct_type(j->c, NULL, "cells", 1, &k->member);
  k->pointer = gcc_jit_type_get_pointer(gcc_jit_struct_as_type(s));
  return k;
}
/* An element of an array in a structure is one statement for gcc; a pointer sum and a dereference would be two. */
gcc_jit_lvalue *lw_field(struct lw *l, gcc_jit_rvalue *p, uint64_t off, gcc_jit_type *t) {
  struct jx *j = &l->j;
  const uint64_t size = size_of(j, t);
  if (!off || !size || off % size || off / size >= LW_CELLS) {
    gcc_jit_rvalue *q = gcc_jit_context_new_cast(j->c, NULL, lw_at(l, p, off), gcc_jit_type_get_pointer(t));
    return gcc_jit_rvalue_dereference(q, NULL);
  }
  const struct lw_cells *k = cells_of(l, t);
  gcc_jit_lvalue *all =
      gcc_jit_rvalue_dereference_field(gcc_jit_context_new_cast(j->c, NULL, p, k->pointer), NULL, k->member);
  return gcc_jit_context_new_array_access(j->c, NULL, jx_rv(all), jx_int(j, j->t_int, off / size));
}
gcc_jit_lvalue *lw_vector(struct lw *l, gcc_jit_rvalue *p, uint64_t off, bool wide) {
  return lw_field(l, p, off, wide ? l->j.vu64 : l->j.vu32);
}

/* ---- slots ----------------------------------------------------------------------------------------------------*/
static gcc_jit_lvalue *var(struct lw *l, gcc_jit_lvalue **at, uint32_t slot, const char *what, unsigned n) {
  if (*at) return *at;
  const unsigned cls = lw_class(l->a, slot);
  char name[32];
  snprintf(name, sizeof name, "%s%u_%u", what, slot, n);
  gcc_jit_type *t = cls == MX_PRED ? l->j.t_mask : cls == MX_R32 ? l->j.vu32 : l->j.vu64;
  if (l->f && at == &l->f[slot]) t = cls == MX_R32 ? l->j.vf32 : l->j.vf64;
  return *at = gcc_jit_function_new_local(l->j.fn, NULL, t, name);
}
gcc_jit_lvalue *lw_var(struct lw *l, uint32_t slot, unsigned k) {
  return l->slots_spilled ? lw_cell(l, slot, false, k) : var(l, &l->v[slot][k], slot, "v", k);
}
gcc_jit_lvalue *lw_one(struct lw *l, uint32_t slot) {
  if (l->f && ja_has(l->floats, slot)) return var(l, &l->f[slot], slot, "f", 0);
  return l->slots_spilled ? lw_cell(l, slot, true, 0) : var(l, &l->u[slot], slot, "u", 0);
}
unsigned lw_vectors(const struct lw *l, uint32_t slot) { return lw_class(l->a, slot) == MX_R64 ? 2 * l->nc : l->nc; }
void lw_broadcast(struct lw *l, uint32_t slot) {
  for (unsigned c = 0; c < lw_vectors(l, slot); c++) jx_set(&l->j, lw_var(l, slot, c), lw_get_one(l, slot));
}
gcc_jit_rvalue *lw_get_one(struct lw *l, uint32_t slot) {
  return lw_is_number(l, slot) ? lw_number_everywhere(l, slot) : jx_rv(lw_one(l, slot));
}

void lw_set_one(struct lw *l, uint32_t slot, gcc_jit_rvalue *v) {
  if (lw_is_number(l, slot)) {
    jx_set(&l->j, lw_number(l, slot), lw_number_of(l, slot, v));
    return;
  }
  gcc_jit_lvalue *to = lw_one(l, slot);
  jx_set(&l->j, to, jx_bits(&l->j, gcc_jit_rvalue_get_type(jx_rv(to)), v));
}
/* The same of a value that may be known as a number. */
static void set_one(struct lw *l, uint32_t slot, jv v) {
  gcc_jit_rvalue *number = jx_scalar(v);
  if (v.k) number = jx_int(&l->j, lw_class(l->a, slot) == MX_R64 ? l->j.t_u64 : l->j.t_u32, v.kv);
  if (number && lw_is_number(l, slot)) jx_set(&l->j, lw_number(l, slot), number);
  else lw_set_one(l, slot, v.r[0]);
}

/* What is known of a 64-bit slot from its last write in the block. */
static uint8_t known_low(const struct lw *l, uint32_t slot) {
  const struct lw_low *known = &l->lows[slot];
  return !l->one_lane && known->behind && known->behind[-1].block == l->ins->block && known->behind <= l->ins &&
                 !lw_written_between(l->a, known->behind, l->ins, slot)
             ? known->low
             : 0;
}
/* Loads from memory once, however often the value is used. */
static gcc_jit_rvalue *read_once(struct lw *l, gcc_jit_lvalue *from) {
  return l->slots_spilled && !l->loop && !l->one_lane ? jx_keep(&l->j, jx_rv(from)) : jx_rv(from);
}
static gcc_jit_rvalue *part(struct lw *l, uint32_t slot, unsigned k) {
  return l->loop ? lw_loop_get(l, slot, k) : read_once(l, lw_var(l, slot, k));
}
jv lw_get(struct lw *l, uint32_t slot, unsigned type, unsigned chunk) {
  const unsigned cls = lw_class(l->a, slot);
  jv v = {.t = (uint8_t)lw_bits_type(cls), .u = ja_has(l->uni, slot)};
  if (v.u && lw_is_number(l, slot)) {
    v.r[0] = v.r[1] = lw_number_everywhere(l, slot);
    v = jx_with_scalar(v, jx_rv(lw_number(l, slot)));
  } else if (v.u) v.r[0] = v.r[1] = jx_bits(&l->j, jx_type(&l->j, v.t), read_once(l, lw_one(l, slot)));
  else if (l->ramps[slot]) v = lw_ramp_value(l, slot, chunk);
  else if (cls == MX_R64)
    for (unsigned h = 0; h < 2; h++) v.r[h] = part(l, slot, 2 * chunk + h);
  else v.r[0] = v.r[1] = part(l, slot, chunk);
  if (cls == MX_R64) v.low = known_low(l, slot);
  if (type == v.t) return v;
  if (jx_bitsof(type) < 32 && type != MX_T_pred) { /* it is zero-extended, or its reader trims it: widths.c */
    v.t = (uint8_t)type;
    return v;
  }
  return jv_as(&l->j, type, v);
}

jv lw_clean(struct lw *l, uint32_t slot, jv v) {
  if (!ja_has(l->raw, slot)) return v;
  const unsigned t = v.t;
  return jv_as(&l->j, t, jv_canon(&l->j, MX_T_f32, jv_as(&l->j, MX_T_f32, v)));
}

static unsigned field_of(struct lw *l, unsigned k) { return mx_w_operand(l->ins->w, k); }

/* Where a NaN costs more to replace than to find, and there is one in none of the chunks most likely. */
void lw_clean_slot(struct lw *l, unsigned k) {
  struct jx *j = &l->j;
  const unsigned field = field_of(l, k);
  if (!j->isa->unordered || l->one_lane || l->loop || field >= MX_LIT || l->ins->o->opnd[k].type == MX_T_pred) return;
  const uint32_t slot = ja_slot(l->a, mx__types[l->ins->o->opnd[k].type].slot_class, field);
  if (!ja_has(l->raw, slot) || ja_has(l->uni, slot)) return;
  gcc_jit_rvalue *some = NULL;
  for (unsigned c = 0; c < l->nc; c += 2) {
    gcc_jit_rvalue *x = lw_get(l, slot, MX_T_f32, c).r[0],
                   *y = lw_get(l, slot, MX_T_f32, c + 1 < l->nc ? c + 1 : c).r[0], *nan = j->isa->unordered(j, x, y);
    some = some ? jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, some, nan)) : nan;
  }
  gcc_jit_block *nans = lw_new_block(l, "nans"), *on = lw_new_block(l, "numbers");
  lw_split(l, lw_rare(l, j->isa->mask_any(j, some)), nans, on);
  j->b = nans;
  for (unsigned c = 0; c < l->nc; c++)
    jx_set(j, lw_var(l, slot, c), lw_clean(l, slot, lw_get(l, slot, MX_T_u32, c)).r[0]);
  lw_go(l, on);
  j->b = on;
  /* the cells of a saved slot still have what the chunks had; versions of a run must leave the same sets behind */
  if (ja_has(l->saved, slot) || l->run) return;
  ja_del(l->raw, slot), ja_del(l->raw_after, slot);
}

jv lw_known(struct lw *l, unsigned type, const uint64_t *lanes, unsigned c) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(type);
  const unsigned n = wide ? j->w / 2 : j->w;
  jv v = {.t = (uint8_t)type};
  unsigned equal = 1;
  while (equal < j->w && lanes[c * j->w + equal] == lanes[c * j->w]) equal++;
  if (equal == j->w) return jv_k(j, type, lanes[c * j->w]);
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++) {
    gcc_jit_rvalue *e[JX_MOST_LANES];
    for (unsigned k = 0; k < n; k++) e[k] = jx_int(j, wide ? j->t_u64 : j->t_u32, lanes[c * j->w + h * n + k]);
    v.r[h] = gcc_jit_context_new_rvalue_from_vector(j->c, NULL, jx_vector(j, wide), n, e);
  }
  if (!wide) v.r[1] = v.r[0];
  return v;
}

/* A literal whose value only the prepared kernel knows: read in the prologue from the interpreter's copy. */
static gcc_jit_lvalue *late_literal(struct lw *l, unsigned k, bool offset) {
  const unsigned field = field_of(l, k), cls = mx__types[l->ins->o->opnd[k].type].slot_class;
  for (uint32_t n = 0; n < l->nlits; n++)
    if (l->lits[n].field == field && l->lits[n].cls == cls && l->lits[n].offset == offset) return l->lits[n].value;
  struct jx *j = &l->j;
  gcc_jit_block *here = j->b;
  j->b = l->prologue;
  const bool behind_join =
      l->a->blocks[l->ins->block].meets && l->a->ins[l->a->blocks[l->ins->block].first].pc == l->ins->pc;
  gcc_jit_rvalue *fn = lw_fn(l, l->ins->frame);
  const uint64_t pc = l->a->origin[l->ins->pc].pc;
  gcc_jit_rvalue *index =
      jx_rv(lw_field(l, jx_rv(lw_field(l, fn, MX_AT(pfunc, index_of_pc), j->t_pu8)), 4 * pc, j->t_u32));
  gcc_jit_rvalue *at = jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, gcc_jit_context_new_cast(j->c, NULL, index, j->t_u64),
                             jx_int(j, j->t_u64, sizeof(struct mx_insn)));
  gcc_jit_rvalue *insn = lw_at(l, lw_add(l, jx_rv(lw_field(l, fn, MX_AT(pfunc, insns), j->t_pu8)), at),
                               behind_join ? sizeof(struct mx_insn) : 0);
  gcc_jit_lvalue *value = jx_local(j, j->t_u64);
  if (offset) jx_set(j, value, jx_rv(lw_field(l, insn, MX_AT(insn, off), j->t_u64)));
  else {
    gcc_jit_rvalue *ref = jx_rv(lw_field(l, insn, MX_AT(insn, o) + sizeof(mx_ref) * k, j->t_u32));
    ref = gcc_jit_context_new_cast(j->c, NULL, ref, j->t_u64);
    gcc_jit_rvalue *pool = jx_rv(lw_field(l, fn, MX_AT(pfunc, pool), j->t_pu8));
    const bool wide = jx_wide(l->ins->o->opnd[k].type);
    gcc_jit_rvalue *read = jx_rv(lw_field(l, lw_add(l, pool, ref), 0, wide ? j->t_u64 : j->t_u32));
    jx_set(j, value, gcc_jit_context_new_cast(j->c, NULL, read, j->t_u64));
  }
  j->b = here;
  l->lits[l->nlits].field = field;
  l->lits[l->nlits].cls = cls;
  l->lits[l->nlits].offset = offset;
  l->lits[l->nlits++].value = value;
  return value;
}

gcc_jit_lvalue *lw_late(struct lw *l, unsigned k) { return late_literal(l, k, false); }

jv lw_operand(struct lw *l, unsigned k, unsigned chunk) {
  const unsigned type = l->ins->o->opnd[k].type, field = field_of(l, k);
  if (field < MX_LIT) {
    const uint32_t slot = ja_slot(l->a, mx__types[type].slot_class, field);
    if (jx_bitsof(type) < 32 && type != MX_T_pred &&
        (k >= 64 || l->ins->wide >> k & 1)) { /* 32 bits of it, perhaps of a NaN */
      jv v = lw_clean(l, slot, lw_get(l, slot, MX_T_u32, chunk));
      v.t = (uint8_t)type;
      return jx_trim(&l->j, v);
    }
    jv v = lw_get(l, slot, type, chunk);
    return jx_bitsof(type) != 32 || ja_any_nan(l->a, l->ins, k, l->raw_after) ? v : lw_clean(l, slot, v);
  }
  const struct mx_lit *lit = &l->a->f->lits[field - MX_LIT];
  if (lit->kind == MX_LIT_VALUE) return jv_k(&l->j, type, type == MX_T_pred ? lit->value & 1 : lit->value);
  if (k >= 6 || type == MX_T_pred) {
    l->j.bad = true;
    return jv_k(&l->j, type, 0);
  }
  gcc_jit_rvalue *s = jx_rv(late_literal(l, k, false));
  if (!jx_wide(type)) s = gcc_jit_context_new_cast(l->j.c, NULL, s, l->j.t_u32);
  return jv_as(&l->j, type, jv_broadcast(&l->j, jx_wide(type) ? MX_T_u64 : MX_T_u32, s));
}
jv lw_operand_of(struct lw *l, const struct ja_ins *i, unsigned k) {
  const struct ja_ins *here = l->ins;
  l->ins = i;
  const jv v = lw_operand(l, k, 0);
  l->ins = here;
  return v;
}
bool lw_operand_uniform(struct lw *l, unsigned k) {
  const unsigned field = field_of(l, k);
  return field >= MX_LIT || ja_has(l->uni, ja_slot(l->a, mx__types[l->ins->o->opnd[k].type].slot_class, field));
}
uint64_t lw_offset(struct lw *l, unsigned k, gcc_jit_rvalue **variable) {
  const struct mx_lit *lit = &l->a->f->lits[field_of(l, k) - MX_LIT];
  *variable = NULL;
  if (lit->kind == MX_LIT_VALUE) return lit->value;
  *variable = jx_rv(late_literal(l, k, true));
  return 0;
}

gcc_jit_rvalue *lw_guard(struct lw *l, unsigned chunk) {
  const mx_word w = *l->ins->w;
  if (mx_w_guard(w) == MX_GUARD_NONE) return NULL;
  if (l->held) return l->guard[chunk];
  jv p = lw_get(l, ja_slot(l->a, MX_PRED, mx_w_guard(w)), MX_T_pred, chunk);
  return mx_w_guard_neg(w) ? jx_mask_not(&l->j, p.r[0]) : p.r[0];
}
/* If an instruction's first result overwrites its own guard, the second result must still use the old guard. */
void lw_hold_guard(struct lw *l) {
  const unsigned guard = mx_w_guard(*l->ins->w);
  unsigned results = 0;
  bool own = false;
  for (unsigned k = 0; k < l->ins->o->nopnds; k++) {
    if (l->ins->o->opnd[k].role != MX_OUT) continue;
    results++;
    own |= l->ins->o->opnd[k].type == MX_T_pred && field_of(l, k) == guard;
  }
  l->held = false;
  if (guard == MX_GUARD_NONE || !own || results < 2) return;
  for (unsigned c = 0; c < l->nc; c++) l->guard[c] = jx_keep(&l->j, lw_guard(l, c));
  l->held = true;
}
gcc_jit_rvalue *lw_lanes(struct lw *l, unsigned chunk) {
  gcc_jit_rvalue *g = lw_guard(l, chunk), *c = jx_rv(l->cm[chunk]);
  return g ? jx_keep(&l->j, jx_op(&l->j, GCC_JIT_BINARY_OP_BITWISE_AND, l->j.t_mask, g, c)) : c;
}

bool lw_result_uniform(struct lw *l, unsigned k) {
  return ja_has(l->uni_after, ja_slot(l->a, mx__types[l->ins->o->opnd[k].type].slot_class, field_of(l, k)));
}
/* Where a result goes, and its old value; afterwards all NaNs in it are canonical unless raw_after has the slot. */
struct result {
  uint32_t slot;
  unsigned cls, raw;
};
static struct result result_of(struct lw *l, unsigned k) {
  const unsigned cls = mx__types[l->ins->o->opnd[k].type].slot_class;
  return (struct result){ja_slot(l->a, cls, field_of(l, k)), cls, lw_bits_type(cls)};
}
static jv old_value(struct lw *l, struct result r, unsigned chunk) {
  const jv v = lw_get(l, r.slot, r.raw, chunk);
  return ja_has(l->raw_after, r.slot) ? v : lw_clean(l, r.slot, v);
}
static void set_part(struct lw *l, uint32_t slot, unsigned k, gcc_jit_rvalue *v) {
  if (l->loop) *lw_loop_value(l, slot, k) = v;
  else jx_set(&l->j, lw_var(l, slot, k), v);
}
static void set_result(struct lw *l, struct result r, unsigned chunk, jv val) {
  const bool uniform = ja_has(l->uni_after, r.slot);
  if (uniform) {
    if (l->f) (ja_has(l->floats_after, r.slot) ? ja_add : ja_del)(l->floats, r.slot);
    if (!chunk) set_one(l, r.slot, val);
  } else if (r.cls == MX_R64) {
    set_part(l, r.slot, 2 * chunk, val.r[0]);
    set_part(l, r.slot, 2 * chunk + 1, val.r[1] ? val.r[1] : val.r[0]);
  } else set_part(l, r.slot, chunk, val.r[0]);
  if (!uniform && chunk + 1 == l->nc) lw_shape_update(l, r.slot);
}
static void put(struct lw *l, struct result r, unsigned chunk, jv val) {
  struct jx *j = &l->j;
  if (jx_bitsof(val.t) < 32 && val.t != MX_T_pred && r.cls == MX_R32)
    val.t = MX_T_u32; /* narrow values are zero-extended */
  val = jv_as(j, r.raw, val);
  if (r.cls == MX_R64 && !chunk && !l->one_lane && mx_w_guard(*l->ins->w) == MX_GUARD_NONE)
    l->lows[r.slot] = (struct lw_low){l->ins + 1, jx_low(val)};
  /* behind a loop, lanes that wait elsewhere get back what they had before it: loops.c */
  const bool preserved = !l->one_lane && !l->loop && ja_has(l->a->blocks[l->block].preserved, r.slot);
  gcc_jit_rvalue *g = lw_guard(l, chunk);
  gcc_jit_rvalue *m = preserved ? g ? lw_lanes(l, chunk) : jx_rv(l->cm[chunk]) : g;
  if (m)
    val = jv_sel(j, r.raw, (jv){.t = MX_T_pred, .u = ja_has(l->uni_after, r.slot), .r = {m, m}}, val,
                 old_value(l, r, chunk));
  set_result(l, r, chunk, val);
}
void lw_put(struct lw *l, unsigned k, unsigned chunk, jv val) { put(l, result_of(l, k), chunk, val); }
jv lw_half(struct lw *l, unsigned k, unsigned half, unsigned chunk) {
  return lw_get(l, ja_slot(l->a, MX_R64, field_of(l, k) + half), MX_T_b64, chunk);
}
bool lw_half_uniform(struct lw *l, unsigned k, unsigned half) {
  return ja_has(l->uni, ja_slot(l->a, MX_R64, field_of(l, k) + half));
}
void lw_put_half(struct lw *l, unsigned k, unsigned half, unsigned chunk, jv val) {
  put(l, (struct result){ja_slot(l->a, MX_R64, field_of(l, k) + half), MX_R64, MX_T_u64}, chunk, val);
}
void lw_if_any(struct lw *l, gcc_jit_rvalue *any, unsigned results, gcc_jit_block *end) {
  gcc_jit_block *act = lw_new_block(l, "act"), *none = lw_new_block(l, "none");
  lw_split(l, any, act, none);
  l->j.b = none;
  for (unsigned k = 0; k < results; k++) {
    const struct result r = result_of(l, k);
    const bool as_before = ja_has(l->uni, r.slot) == ja_has(l->uni_after, r.slot) && !l->ramps[r.slot] &&
                           ja_has(l->raw, r.slot) == ja_has(l->raw_after, r.slot);
    for (unsigned c = 0; c < l->nc && !as_before; c++) set_result(l, r, c, old_value(l, r, c));
  }
  lw_go(l, end);
  l->j.b = act;
}

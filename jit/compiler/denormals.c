/* Inactive lanes compute, too, on whatever their slots hold. Where that is an integer or an address, it is a denormal
 * number when it is read as a float, and processors take a hundred cycles for a product of one. So factors of inactive
 * lanes are replaced by 0 where their slots may hold such bits. */
#include "lowering.h"

#include <stdlib.h>
#include <string.h>

static bool is_float(unsigned type) { return type == MX_T_f32 || type == MX_T_f64; }
/* Whether the bits, as a float of the slot's width, are a denormal. */
static bool is_denormal(unsigned cls, uint64_t bits) {
  const uint64_t magnitude = cls == MX_R64 ? bits & ~(1ull << 63) : bits & INT32_MAX;
  return magnitude && magnitude < (cls == MX_R64 ? 1ull << 52 : 1ull << 23);
}
/* Whether operand k may hold an integer's bits; `integers`: the slots that may. */
static bool of_operand(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *integers) {
  const unsigned field = mx_w_operand(i->w, k), cls = mx__types[i->o->opnd[k].type].slot_class;
  if (cls != MX_R32 && cls != MX_R64) return false;
  if (field < MX_LIT) return ja_has(integers, ja_slot(a, cls, field));
  const struct mx_lit *lit = &a->f->lits[field - MX_LIT];
  return lit->kind != MX_LIT_VALUE || is_denormal(cls, lit->value);
}
/* The same for a result; what a load reads counts as a float if it is used as one. */
static bool of_result(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *integers) {
  const unsigned type = i->o->opnd[k].type;
  if (i->o->cls == MX_MEM) return false;
  if (i->o->flags & MX_F_MOVI)
    return is_denormal(mx__types[type].slot_class, (uint64_t)(int64_t)(int32_t)mx_w_movi(*i->w));
  const bool moves = i->form == MX_FORM_COPY || i->form == MX_FORM_SELECT;
  if (!moves && !is_float(type)) return true;
  bool some = false;
  for (unsigned m = 0; m < i->o->nopnds; m++)
    if (i->o->opnd[m].role != MX_OUT && i->o->opnd[m].type < MX_T_raw && (moves || is_float(i->o->opnd[m].type)))
      some |= of_operand(a, i, m, integers);
  return some;
}
static uint32_t result_slot(const struct ja *a, const struct ja_ins *i, unsigned k) {
  return i->o->opnd[k].role == MX_OUT ? ja_number_slot(a, i, k) : JA_NONE;
}
/* The slots that any instruction may give such bits. */
static void find_anywhere(const struct ja *a, uint64_t *integers) {
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = 0; n < a->nins; n++) {
      const struct ja_ins *i = &a->ins[n];
      for (unsigned k = 0; k < i->o->nopnds; k++) {
        const uint32_t slot = result_slot(a, i, k);
        if (slot == JA_NONE || ja_has(integers, slot) || !of_result(a, i, k, integers)) continue;
        ja_add(integers, slot);
        again = true;
      }
    }
  }
}
/* What the slots hold behind instruction i, if they hold `integers` before it. */
static void step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *integers) {
  bool now[8] = {false};
  for (unsigned k = 0; k < i->o->nopnds && k < 8; k++)
    now[k] = result_slot(a, i, k) != JA_NONE && of_result(a, i, k, integers);
  for (unsigned k = 0; k < i->o->nopnds && k < 8; k++) {
    const uint32_t slot = result_slot(a, i, k);
    if (slot == JA_NONE) continue;
    const bool keeps = mx_w_guard(*i->w) != MX_GUARD_NONE || ja_has(preserved, slot);
    if (now[k]) ja_add(integers, slot);
    else if (!keeps) ja_del(integers, slot);
  }
}
static bool asks(const struct ja *a, const struct ja_ins *i, const uint64_t *integers) {
  bool some = false;
  for (unsigned k = 0; k < i->o->nopnds; k++)
    some |= i->o->opnd[k].role != MX_OUT && is_float(i->o->opnd[k].type) && of_operand(a, i, k, integers);
  return some;
}
/* Goes through block b; `in`: what the slots hold where it begins. */
static void through(struct lw *l, uint32_t b, const uint64_t *in, uint64_t *now) {
  const struct ja *a = l->a;
  const struct ja_block *bl = &a->blocks[b];
  memcpy(now, in, 8 * a->words);
  for (uint32_t k = bl->first; k < bl->end; k++) {
    l->stale[k] = !bl->converged && a->ins[k].o->cls == MX_LANE && asks(a, &a->ins[k], now);
    step(a, &a->ins[k], bl->preserved, now);
  }
}
void lw_stale_floats_find(struct lw *l) {
  const struct ja *a = l->a;
  uint64_t *in = lw_need(8 * (size_t)a->words * (a->nblocks + 2)), *now = in + (size_t)a->words * a->nblocks,
           *anywhere = now + a->words;
  l->stale = lw_need(sizeof *l->stale * (a->nins + 1));
  find_anywhere(a, anywhere);
  /* where code is entered in the middle, inactive lanes have what the machine left in the slots */
  for (uint32_t b = 1; b < a->nblocks; b++)
    if (a->blocks[b].entry) memcpy(in + (size_t)b * a->words, anywhere, 8 * a->words);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = 0; n < a->nblocks; n++) {
      const struct ja_block *bl = &a->blocks[n];
      through(l, n, in + (size_t)n * a->words, now);
      for (uint32_t k = 0; k < bl->nthen; k++)
        for (uint32_t w = 0; w < a->words; w++) {
          uint64_t *to = &in[(size_t)bl->then[k] * a->words + w];
          again |= (now[w] & ~*to) != 0;
          *to |= now[w];
        }
    }
  }
  free(in);
}
bool lw_stale_floats(const struct lw *l, const struct ja_ins *i) { return !l->one_lane && l->stale[i - l->a->ins]; }

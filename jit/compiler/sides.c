/* Divergent branches at which most warps agree: a guard that compares a ramp with a uniform number, as at the borders
 * of a grid, holds in all lanes, or in none, if it does so for the least and the greatest of the rows' numbers. Code
 * asks this before it computes masks. What is found of a predicate is noted where it is computed. */
#include "lowering.h"

#include <stdio.h>
#include <string.h>

static gcc_jit_rvalue *both(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return gcc_jit_context_new_binary_op(l->j.c, NULL, GCC_JIT_BINARY_OP_BITWISE_AND, l->j.t_bool, x, y);
}

/* ---- comparisons --------------------------------------------------------------------------------------------------*/
/* A comparison of two integers: by its spelling, which the table gives for each modifier. */
struct comparison {
  enum jx_cmp op;
  bool with_sign, wide;
};
static bool match(const struct ja_ins *i, struct comparison *c) {
  static const char *const names[] = {
      [JX_EQ] = "eq", [JX_NE] = "ne", [JX_LT] = "lt", [JX_LE] = "le", [JX_GT] = "gt", [JX_GE] = "ge"};
  char name[64], word[8], type[8];
  if (!mx__is_spelled(i->op, "setp") || i->o->nopnds != 3 || mx_w_guard(*i->w) != MX_GUARD_NONE) return false;
  const struct mx_type_info *t = &mx__types[i->o->opnd[1].type];
  if ((t->bits != 32 && t->bits != 64) || !strchr("usb", *t->name)) return false;
  mx__spell(i->o, mx_w_mod(*i->w), name, sizeof name);
  if (sscanf(name, "setp.%7[a-z].%7[a-z0-9]", word, type) != 2) return false;
  for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
    if (names[k] && !strcmp(word, names[k])) {
      *c = (struct comparison){(enum jx_cmp)k, *t->name == 's', t->bits == 64};
      return true;
    }
  return false;
}
/* The least and the greatest number that operand k of instruction i has in a row. False: it is neither a ramp nor
 * uniform. *fits: a condition that has to hold, or NULL. */
static bool extremes(struct lw *l, const struct ja_ins *i, unsigned k, const struct comparison *c, unsigned row,
                     gcc_jit_rvalue **least, gcc_jit_rvalue **most, gcc_jit_rvalue **fits) {
  struct jx *j = &l->j;
  const unsigned f = mx_w_operand(i->w, k), cls = mx__types[i->o->opnd[k].type].slot_class;
  gcc_jit_type *bits = c->wide ? j->t_u64 : j->t_u32, *t = lw_number_type(l, c->wide, c->with_sign);
  const uint32_t slot = f < MX_LIT ? ja_slot(l->a, cls, f) : JA_NONE;
  if (slot == JA_NONE || ja_has(l->uni, slot)) {
    gcc_jit_rvalue *v = gcc_jit_context_new_cast(j->c, NULL, jv_scalar(j, lw_operand_of(l, i, k)), bits);
    *least = *most = jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, v, t));
    return true;
  }
  if (!l->ramps[slot]) return false;
  const int64_t stride = ja_stride(l->ramps[slot]), reach = stride * (int64_t)(l->a->row_lanes - 1);
  if (!c->wide && (reach > INT32_MAX || reach < -INT32_MAX)) return false;
  gcc_jit_rvalue *first = jx_keep(j, jx_rv(lw_ramp_first(l, slot, row)));
  gcc_jit_rvalue *last =
      jx_keep(j, gcc_jit_context_new_cast(
                     j->c, NULL, jx_op(j, GCC_JIT_BINARY_OP_PLUS, bits, first, jx_int(j, bits, (uint64_t)reach)), t));
  first = jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, first, t));
  *least = stride < 0 ? last : first, *most = stride < 0 ? first : last;
  if (stride) { /* otherwise numbers wrap, and the greatest is not the last */
    gcc_jit_rvalue *in_order = lw_compare(l, GCC_JIT_COMPARISON_LE, *least, *most);
    *fits = *fits ? both(l, *fits, in_order) : in_order;
  }
  return true;
}
/* Whether x < y (or_equal: or x = y) in all lanes and in none, where x and y are from the least to the greatest. */
static struct lw_sides less(struct lw *l, bool or_equal, gcc_jit_rvalue *const *x, gcc_jit_rvalue *const *y) {
  const enum gcc_jit_comparison op = or_equal ? GCC_JIT_COMPARISON_LE : GCC_JIT_COMPARISON_LT,
                                not = or_equal ? GCC_JIT_COMPARISON_GT : GCC_JIT_COMPARISON_GE;
  return (struct lw_sides){.all = lw_compare(l, op, x[1], y[0]), .none = lw_compare(l, not, x[0], y[1])};
}
static bool compared(struct lw *l, const struct ja_ins *i, const struct comparison *c, struct lw_sides *sides) {
  *sides = (struct lw_sides){0};
  for (unsigned row = 0; row < ja_rows(l->a); row++) {
    gcc_jit_rvalue *x[2], *y[2], *fits = NULL;
    if (!extremes(l, i, 1, c, row, &x[0], &x[1], &fits) || !extremes(l, i, 2, c, row, &y[0], &y[1], &fits))
      return false;
    struct lw_sides here;
    switch (c->op) {
    case JX_LT: here = less(l, false, x, y); break;
    case JX_LE: here = less(l, true, x, y); break;
    case JX_GT: here = less(l, false, y, x); break;
    case JX_GE: here = less(l, true, y, x); break;
    default: { /* other numbers than a row's are below its least or above its greatest; equal ones are rare */
      gcc_jit_rvalue *apart = lw_either(l, lw_compare(l, GCC_JIT_COMPARISON_LT, x[1], y[0]),
                                        lw_compare(l, GCC_JIT_COMPARISON_GT, x[0], y[1]));
      here = c->op == JX_EQ ? (struct lw_sides){.none = apart} : (struct lw_sides){.all = apart};
    }
    }
    if (fits && here.all) here.all = both(l, here.all, fits);
    if (fits && here.none) here.none = both(l, here.none, fits);
    sides->all = row && sides->all && here.all ? both(l, sides->all, here.all) : here.all;
    sides->none = row && sides->none && here.none ? both(l, sides->none, here.none) : here.none;
  }
  return true;
}

/* ---- predicates ---------------------------------------------------------------------------------------------------*/
/* What is known of a predicate just before instruction k of the current block. */
static bool look(struct lw *l, uint32_t slot, uint32_t k, struct lw_sides *sides) {
  struct jx *j = &l->j;
  const struct ja_write *last = ja_last_write(l->a, l->a->blocks[l->block].first, k, slot);
  if (last && l->sides[slot].ins == last->ins + 1) return *sides = l->sides[slot], true;
  if (!ja_has(l->uni, slot) || (last && last->ins >= l->late)) return false;
  gcc_jit_rvalue *some = jx_keep(j, j->isa->mask_any(j, lw_get(l, slot, MX_T_pred, 0).r[0]));
  gcc_jit_rvalue *no = gcc_jit_context_new_unary_op(j->c, NULL, GCC_JIT_UNARY_OP_LOGICAL_NEGATE, j->t_bool, some);
  *sides = (struct lw_sides){.all = some, .none = no};
  return true;
}
static bool combined(struct lw *l, bool and, uint32_t k, struct lw_sides *sides) {
  const struct ja_ins *i = l->ins;
  struct lw_sides of[2];
  for (unsigned n = 0; n < 2; n++) {
    const unsigned f = mx_w_operand(i->w, 1 + n);
    if (f >= MX_LIT || !look(l, ja_slot(l->a, MX_PRED, f), k, &of[n])) return false;
  }
#define BOTH(side_) (of[0].side_ && of[1].side_ ? both(l, of[0].side_, of[1].side_) : NULL)
#define ONE(side_) (of[1].side_ ? lw_either(l, of[0].side_, of[1].side_) : of[0].side_)
  *sides = and? (struct lw_sides){.all = BOTH(all), .none = ONE(none)}
              : (struct lw_sides){.all = ONE(all), .none = BOTH(none)};
#undef BOTH
#undef ONE
  sides->ramps = of[0].ramps || of[1].ramps;
  return true;
}
static bool joins_predicates(const struct ja_ins *i) {
  return (mx__means(i->op, "AND") || mx__means(i->op, "OR")) && i->o->nopnds == 3 && i->o->opnd[1].type == MX_T_pred &&
         mx_w_guard(*i->w) == MX_GUARD_NONE;
}
void lw_note_sides(struct lw *l) {
  const struct ja_ins *i = l->ins;
  const uint32_t k = (uint32_t)(i - l->a->ins);
  struct comparison c;
  struct lw_sides sides;
  if (!l->notes_sides || l->loop || l->run || l->one_lane) return; /* a run is built in versions */
  if (match(i, &c)) {
    if (!compared(l, i, &c, &sides)) return;
    sides.ramps = true;
  } else if (!joins_predicates(i) || !combined(l, mx__means(i->op, "AND"), k, &sides)) return;
  if (sides.all) sides.all = jx_keep(&l->j, sides.all);
  if (sides.none) sides.none = jx_keep(&l->j, sides.none);
  sides.ins = k + 1;
  l->sides[ja_slot(l->a, MX_PRED, mx_w_operand(i->w, 0))] = sides;
}
bool lw_would_note_sides(const struct lw *l, const struct ja_ins *i) {
  struct comparison c;
  return l->notes_sides && (match(i, &c) || joins_predicates(i));
}
void lw_branch_agrees(struct lw *l, gcc_jit_block *taken, gcc_jit_block * not ) {
  const mx_word w = *l->ins->w;
  struct lw_sides sides;
  if (!l->notes_sides || l->one_lane ||
      !look(l, ja_slot(l->a, MX_PRED, mx_w_guard(w)), (uint32_t)(l->ins - l->a->ins), &sides) || !sides.ramps)
    return;
  const bool neg = mx_w_guard_neg(w);
  for (unsigned k = 0; k < 2; k++) {
    gcc_jit_rvalue *agree = k ? sides.all : sides.none;
    gcc_jit_block *to = k != neg ? taken : not ;
    if (!agree || !to) continue;
    gcc_jit_block *on = lw_new_block(l, "sides");
    lw_split(l, agree, to, on);
    l->j.b = on;
  }
}

/* ---- what only the masks need -------------------------------------------------------------------------------------*/
/* Whether it computes a predicate that nobody reads behind the block. */
static bool may_be_late(const struct lw *l, const struct ja_ins *i, const uint64_t *live_end) {
  struct comparison c;
  uint32_t s[JA_MAX_TOUCH];
  if (i->kind != JA_PLAIN || i->keep || i->by_checker || i->o->cls != MX_LANE || ja_defs(l->a, i, s) != 1 ||
      ja_has(live_end, s[0]))
    return false;
  return match(i, &c) || joins_predicates(i);
}
void lw_sides_begin(struct lw *l, const struct ja_block *b, const uint64_t *live_end) {
  const struct ja *a = l->a;
  const uint32_t last = b->end - 1;
  const struct ja_ins *end = &a->ins[last];
  l->late = b->end;
  l->notes_sides = a->ramps && !l->one_lane && mx_w_guard(*end->w) != MX_GUARD_NONE &&
                   (end->op == MX_EXIT || (end->op == MX_BRA && b->divergent));
  if (!l->notes_sides) return;
  memset(l->sides, 0, sizeof *l->sides * a->f->npred);
  l->late = last;
  while (l->late > b->first && !l->run_member[l->late - 1] && may_be_late(l, &a->ins[l->late - 1], live_end)) l->late--;
}

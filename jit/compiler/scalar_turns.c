/* Code for loops whose lanes run one by one (scalar_loops.c): the values with which lanes begin, their turns, and what
 * is done behind the last turn. */
#include "scalar_loops.h"

#include "access.h"
#include "divergence.h"
#include "meaning.h"

#include "vm/exec/lane_loops.h"
#include "vm/exec/launch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
  MEASURED = 8, /* a power of 2: one in so many runs of the vector form is measured */
  TRIAL = 64    /* how many rounds of the vector form are a trial, while lanes run one by one as a rule */
};

/* ---- scalars ----------------------------------------------------------------------------------------------------*/
/* Two views of the function are built in turns, one of whole chunks and one of a single lane: `to` takes over where
 * `from` stands. */
static struct lw *turn_to(struct lw *to, const struct lw *from) {
  to->j.b = from->j.b;
  to->j.serial = from->j.serial;
  to->nlits = from->nlits;
  return to;
}
static gcc_jit_rvalue *cast(struct lw *l, gcc_jit_rvalue *v, gcc_jit_type *t) {
  return gcc_jit_context_new_cast(l->j.c, NULL, v, t);
}
/* Marks a condition as practically impossible. A check that is only marked as rare makes gcc treat it as an exit of the
 * loop, and it then keeps other values in registers. */
static gcc_jit_rvalue *never(struct lw *l, gcc_jit_rvalue *cond) {
  gcc_jit_type *t = gcc_jit_context_get_type(l->j.c, GCC_JIT_TYPE_LONG),
               *f = gcc_jit_context_get_type(l->j.c, GCC_JIT_TYPE_DOUBLE);
  gcc_jit_rvalue *args[3] = {cast(l, cond, t), gcc_jit_context_zero(l->j.c, t),
                             gcc_jit_context_new_rvalue_from_double(l->j.c, f, 0.9999)};
  gcc_jit_function *expect = gcc_jit_context_get_builtin_function(l->j.c, "__builtin_expect_with_probability");
  return lw_compare(l, GCC_JIT_COMPARISON_NE, gcc_jit_context_new_call(l->j.c, NULL, expect, 3, args), args[1]);
}
#define U64(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->t_u64, x_, y_)
#define IS(op_, x_, y_) lw_compare(l, GCC_JIT_COMPARISON_##op_, x_, y_)

static gcc_jit_type *slot_type(struct lw *l, uint32_t s) {
  const unsigned cls = lw_class(l->a, s);
  return cls == MX_PRED ? l->j.t_mask : jx_vector(&l->j, cls == MX_R64);
}
/* The cell from which a lane's turn takes a slot and in which it leaves the result: the slot's own, or a second one if
 * the slot itself lives in memory. The values for the vector form must stay as they are, in case of a bailout. */
static gcc_jit_lvalue *turn_cell(struct lw *l, const struct lw_scalar_loop *p, uint32_t s, unsigned k) {
  return p->beside ? lw_cell_beside(l, s, k) : lw_cell(l, s, false, k);
}
static gcc_jit_lvalue *spill_cell_of_lane(struct lw *l, const struct lw_scalar_loop *p, uint32_t s) {
  struct jx *j = &l->j;
  const bool wide = lw_class(l->a, s) == MX_R64;
  gcc_jit_rvalue *address =
      gcc_jit_context_new_cast(j->c, NULL, gcc_jit_lvalue_get_address(turn_cell(l, p, s, 0), NULL), j->t_pu8);
  return lw_field(l, lw_add(l, address, U64(MULT, jx_rv(p->lane), lw_u64(l, wide ? 8 : 4))), 0,
                  wide ? j->t_u64 : j->t_u32);
}
/* Moves all lanes' values of a slot between its variables and that cell. */
static void move(struct lw *l, const struct lw_scalar_loop *p, bool in, uint32_t s) {
  for (unsigned k = 0; k < lw_vectors(l, s); k++) {
    gcc_jit_lvalue *m = turn_cell(l, p, s, k);
    if (in) jx_set(&l->j, lw_var(l, s, k), jx_rv(m));
    else jx_set(&l->j, m, l->ramps[s] ? lw_ramp_vector(l, s, k) : jx_rv(lw_var(l, s, k)));
  }
}
/* ---- time
 * ----------------------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *slice_left(struct lw *l) { return jx_rv(lw_field(l, l->x, MX_AT(exec, slice), l->j.t_int)); }
static gcc_jit_rvalue *slice_now(struct lw *l) { return cast(l, slice_left(l), l->j.t_u64); }
static void begin_time(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  gcc_jit_extended_asm *a = jx_asm(j, "rdtsc\n\tshlq $32, %%rdx\n\torq %%rdx, %0", "=a", p->since, 0);
  gcc_jit_extended_asm_add_clobber(a, "rdx");
  gcc_jit_extended_asm_set_volatile_flag(a, 1);
  jx_set(j, p->slice, slice_now(l));
}
static void took(struct lw *l, struct lw_scalar_loop *p, unsigned form) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *args[] = {jx_int(j, j->t_u32, p->access[0].ins->bounds), jx_int(j, j->t_u32, form), jx_rv(p->since),
                            U64(PLUS, U64(MINUS, jx_rv(p->slice), slice_now(l)), lw_u64(l, 1))};
  gcc_jit_block_add_eval(j->b, NULL, LW_HELP(l, took, args));
  jx_set(j, p->since, lw_u64(l, 0));
}
void lw_scalar_loops_left(struct lw *l, uint32_t to) {
  for (uint32_t k = 0; k < l->a->nloops; k++) {
    struct lw_scalar_loop *p = l->scalar_loops[l->a->loops[k].head];
    if (!p || sl_exit_to(p, to) == MOST_EXITS || !ja_has(l->a->loops[k].body, l->block) || p->one_by_one) continue;
    gcc_jit_block *measured = lw_new_block(l, "measured"), *on = lw_new_block(l, "behind");
    lw_split(l, lw_rare(l, IS(NE, jx_rv(p->since), lw_u64(l, 0))), measured, on);
    l->j.b = measured;
    took(l, p, MX_LOOP_TOGETHER);
    lw_go(l, on);
    l->j.b = on;
  }
}

/* From the round on that begins with so much left of the slice, it is asked again which form is better. */
static void ask_from(struct lw *l, const struct lw_scalar_loop *p, gcc_jit_rvalue *slice) {
  jx_set(&l->j, p->ask_at, slice);
}
static void never_ask(struct lw *l, const struct lw_scalar_loop *p) {
  ask_from(l, p, jx_int(&l->j, l->j.t_int, (uint64_t)INT_MIN));
}
/* Where the slice ends in a loop's middle, code is entered there again: lanes may run one by one from the next round
 * on. */
void lw_scalar_loops_entered(struct lw *l, uint32_t block) {
  for (uint32_t k = 0; k < l->a->nloops; k++) {
    const struct lw_scalar_loop *p = l->scalar_loops[l->a->loops[k].head];
    if (p && block != p->head && ja_has(l->a->loops[k].body, block)) ask_from(l, p, jx_int(&l->j, l->j.t_int, INT_MAX));
  }
}
void lw_next_round(struct lw *l, uint32_t head) {
  struct lw_scalar_loop *p = l->scalar_loops[head];
  struct jx *j = &l->j;
  gcc_jit_block *ask = lw_new_block(l, "ask"), *start = lw_new_block(l, "start"), *trial = lw_new_block(l, "trial");
  lw_split(l, lw_rare(l, IS(LE, slice_left(l), jx_rv(p->ask_at))), ask, l->head[head]);
  j->b = ask;
  lw_split(l, lw_rare(l, IS(EQ, jx_rv(p->since), lw_u64(l, 0))), start, trial);
  j->b = trial;
  took(l, p, MX_LOOP_TOGETHER);
  lw_go(l, start);
  j->b = start;
  lw_go(l, p->start);
}

/* A number that the bounds cache of the loop's first access keeps for the loop. */
static gcc_jit_lvalue *loop_field(struct lw *l, const struct lw_scalar_loop *p, uint64_t member) {
  return lw_field(l, jx_rv(l->bounds), (uint64_t)p->access[0].ins->bounds * sizeof(struct mx_bounds) + member,
                  l->j.t_u32);
}
static gcc_jit_lvalue *off_count(struct lw *l, const struct lw_scalar_loop *p) {
  return loop_field(l, p, MX_AT(bounds, lanes_off));
}

/* ---- loads and stores --------------------------------------------------------------------------------------------*/
/* Whether the address is a sum of a 32-bit number and of addends that are the same in all rounds. */
static bool is_by_number(const struct lw *l, const struct lw_scalar_loop *p, const struct access *ac) {
  const struct ja *a = l->a;
  const struct lw_base *base = &l->based[ac->ins - a->ins];
  const uint64_t scale = base->post_scale;
  if ((!base->steady && !base->indexed) || base->pre_scale != 1 || base->slot >= a->f->npred + a->f->n32 ||
      (scale != 1 && scale != 2 && scale != 4 && scale != 8))
    return false;
  for (unsigned k = 0; k < base->n; k++) { /* addends: of 64 bits */
    if (base->add[k].ins == JA_NONE) continue;
    const unsigned f = mx_w_operand(a->ins[base->add[k].ins].w, base->add[k].operand);
    if (!base->sign_extends || !base->add[k].wide) return false;
    if (f < MX_LIT && (ja_has(p->out, ja_slot(a, MX_R64, f)) || !ja_has(p->in, ja_slot(a, MX_R64, f)) ||
                       !ja_has(a->blocks[p->head].uni_in, ja_slot(a, MX_R64, f))))
      return false;
  }
  return true;
}
/* Whether two accesses by number have one address for each number. */
static bool counts_alike(const struct lw *l, const struct access *x, const struct access *y) {
  const struct ja *a = l->a;
  const struct lw_base *p = &l->based[x->ins - a->ins], *q = &l->based[y->ins - a->ins];
  bool alike = x->root == y->root && x->bytes == y->bytes && p->post_scale == q->post_scale && p->n == q->n &&
               mx_w_operand(x->ins->w, x->at + 1) == mx_w_operand(y->ins->w, y->at + 1);
  for (unsigned k = 0; k < p->n && alike; k++) {
    alike = (p->add[k].ins == JA_NONE) == (q->add[k].ins == JA_NONE);
    if (!alike || p->add[k].ins == JA_NONE) continue;
    const struct ja_ins *i = &a->ins[p->add[k].ins], *n = &a->ins[q->add[k].ins];
    alike = mx_w_operand(i->w, p->add[k].operand) == mx_w_operand(n->w, q->add[k].operand) &&
            p->add[k].factor == q->add[k].factor;
  }
  return alike;
}
/* Whether the address is a 64-bit register plus a constant, which *off gets. */
static bool goes_through(const struct lw *l, const struct access *ac, int64_t *off) {
  const struct mx_lit *lit = &l->a->f->lits[mx_w_operand(ac->ins->w, ac->at + 1) - MX_LIT];
  *off = (int64_t)lit->value;
  return !ac->by_number && mx_w_operand(ac->ins->w, ac->at) < MX_LIT && lit->kind == MX_LIT_VALUE &&
         mx__types[ac->ins->o->opnd[ac->at].type].slot_class == MX_R64 && llabs(*off) < 1 << 20;
}
/* Finds accesses that share their bounds, or one check, with an earlier one. */
static void share_checks(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  for (struct access *ac = p->access; ac < p->access + p->naccesses; ac++) {
    int64_t off, first_off;
    if (ac->local) continue;
    ac->by_number = is_by_number(l, p, ac);
    ac->through = goes_through(l, ac, &off);
    ac->least = ac->through ? off : 0, ac->end = ac->least + ac->bytes;
    for (struct access *first = p->access; first < ac && ac->by_number && !ac->same; first++)
      if (first->by_number && !first->same && counts_alike(l, first, ac)) ac->same = first;
    for (struct access *first = p->access; first < ac && ac->through && !ac->checked; first++) {
      const unsigned f = mx_w_operand(ac->ins->w, ac->at);
      if (!first->through || first->checked || first->root != ac->root || first->block != ac->block ||
          mx_w_operand(first->ins->w, first->at) != f || mx_w_guard(*first->ins->w) != MX_GUARD_NONE ||
          lw_written_between(a, first->ins, ac->ins, ja_slot(a, MX_R64, f)))
        continue;
      goes_through(l, first, &first_off);
      ac->checked = first, ac->even = ac->bytes <= first->bytes && !((off - first_off) & (ac->bytes - 1));
      if (off < first->least) first->least = off;
      if (ac->end > first->end) first->end = ac->end;
    }
  }
}
/* One check for all loads through a number: each gets what is left of the first one's bounds. */
static void share_room(struct lw *l, struct lw_scalar_loop *p, struct access *ac) {
  struct jx *j = &l->j;
  const uint32_t slot = l->based[ac->ins - l->a->ins].slot;
  for (struct access *first = p->access; first < ac && !ac->checked; first++)
    if (first->by_number && !first->checked && first->block == ac->block &&
        l->based[first->ins - l->a->ins].slot == slot && mx_w_guard(*first->ins->w) == MX_GUARD_NONE &&
        !lw_written_between(l->a, first->ins, ac->ins, slot)) {
      const jv one = {.t = MX_T_u32, .u = true, .r = {first->room, first->room}},
               other = {.t = MX_T_u32, .u = true, .r = {ac->room, ac->room}};
      first->room = jv_sel(j, MX_T_u32, jv_cmp(j, JX_LT, MX_T_u32, one, other), one, other).r[0];
      ac->checked = first;
    }
}
static gcc_jit_rvalue *but(struct lw *l, gcc_jit_rvalue *mask) {
  struct jx *j = &l->j;
  return U64(BITWISE_XOR, mask, lw_u64(l, UINT64_MAX));
}
/* The bounds of a root's allocation: those cached by an access to which each turn comes, if there is one, else by the
 * first access that has any. A lane that accesses another allocation bails out. */
static void prepare_root(struct lw *l, struct lw_scalar_loop *p, unsigned root) {
  struct jx *j = &l->j;
  const struct access *first = NULL;
  for (unsigned k = p->naccesses; k--;)
    if (p->access[k].root == root && (!first || p->access[k].always || !first->always)) first = &p->access[k];
  gcc_jit_rvalue **const lo = &p->roots[root].lo, **const span = &p->roots[root].span,
                         **const host = &p->roots[root].host;
  l->ins = first->ins;
  if (mx_w_mod(*first->ins->w) >> 2 == MX_SHARED) { /* often checked without being cached: see shared_runs.c */
    gcc_jit_rvalue *launch = jx_rv(lw_field(l, l->x, MX_AT(exec, launch), j->t_pu8));
    *span = jx_keep(j, cast(l, jx_rv(lw_field(l, launch, MX_AT(launch, shared_bytes), j->t_u32)), j->t_u64));
    *lo = lw_u64(l, 0);
    *host = jx_keep(j, jx_rv(lw_field(l, l->x, MX_AT(exec, window) + 8 * MX_SHARED, j->t_u64)));
    return;
  }
  lw_bounds(l, 0, first->store, lo, span, host);
  for (const struct access *ac = first + 1; !first->always && ac < p->access + p->naccesses; ac++) {
    if (ac->root != root) continue;
    gcc_jit_rvalue *other[3], **const all[3] = {lo, span, host};
    l->ins = ac->ins;
    lw_bounds(l, 0, ac->store, &other[0], &other[1], &other[2]);
    gcc_jit_rvalue *none = IS(EQ, *span, lw_u64(l, 0));
    none = jx_keep(j, U64(MINUS, lw_u64(l, 0), cast(l, none, j->t_u64)));
    for (unsigned k = 0; k < 3; k++)
      *all[k] = jx_keep(j, U64(BITWISE_OR, U64(BITWISE_AND, none, other[k]), U64(BITWISE_AND, but(l, none), *all[k])));
  }
}
/* Reads an access's bounds before the loop. If nothing is cached, they become empty, so that a lane that comes to the
 * access bails out. Returned: the condition that they are, for an access to which each turn comes; else NULL. */
static gcc_jit_rvalue *prepare_access(struct lw *l, struct lw_scalar_loop *p, struct access *ac) {
  struct jx *j = &l->j;
  const struct ja *a = l->a;
  const struct lw_base *base = &l->based[ac->ins - a->ins];
  if (ac->local) return NULL;
  if (ac->same) {
    ac->host = ac->same->host, ac->room = ac->same->room;
    share_room(l, p, ac);
    return NULL;
  }
  if (ac->checked) { /* through one address */
    ac->host = p->roots[ac->root].host;
    return NULL;
  }
  const uint64_t bytes = ac->by_number ? ac->bytes : (uint64_t)(ac->end - ac->least);
  gcc_jit_rvalue *bad = jx_keep(j, IS(LT, p->roots[ac->root].span, lw_u64(l, bytes))),
                 *limit = jx_keep(j, U64(MINUS, p->roots[ac->root].span, lw_u64(l, bytes)));
  l->ins = ac->ins;
  ac->lo = p->roots[ac->root].lo, ac->host = p->roots[ac->root].host;
  if (ac->by_number) {
    const uint64_t scale = base->post_scale;
    gcc_jit_rvalue *variable, *off = lw_u64(l, lw_offset(l, ac->at + 1, &variable));
    if (variable) off = variable;
    for (unsigned k = 0; k < base->n; k++) {
      if (base->add[k].ins == JA_NONE) continue;
      l->ins = &a->ins[base->add[k].ins];
      off = U64(PLUS, off,
                U64(MULT, jv_scalar(j, lw_operand(l, base->add[k].operand, 0)), lw_u64(l, base->add[k].factor)));
    }
    off = jx_keep(j, off);
    gcc_jit_rvalue *of_none = jx_keep(j, U64(MINUS, off, ac->lo)); /* number 0's offset within the bounds */
    bad = lw_either(l, bad, IS(GT, of_none, limit));
    bad = lw_either(l, bad, IS(NE, U64(BITWISE_AND, off, lw_u64(l, ac->bytes - 1)), lw_u64(l, 0)));
    gcc_jit_rvalue *most =
        jx_keep(j, U64(RSHIFT, U64(MINUS, limit, of_none), lw_u64(l, (uint64_t)__builtin_ctzll(scale))));
    /* numbers up to there are the same signed and unsigned */
    bad = lw_either(l, bad, IS(GT, most, lw_u64(l, INT32_MAX)));
    ac->host = jx_keep(j, U64(PLUS, ac->host, off));
    limit = most;
  } else if (ac->least) ac->lo = jx_keep(j, U64(MINUS, ac->lo, lw_u64(l, (uint64_t)ac->least)));
  bad = jx_keep(j, bad);
  gcc_jit_rvalue *all = U64(MINUS, cast(l, bad, j->t_u64), lw_u64(l, 1)); /* all ones, or zero */
  ac->room = jx_keep(j, U64(BITWISE_AND, U64(PLUS, limit, lw_u64(l, 1)), all));
  if (ac->by_number) {
    ac->room = jx_keep(j, cast(l, ac->room, j->t_u32));
    share_room(l, p, ac);
  }
  return ac->always ? bad : NULL;
}
/* Where the lanes' local memory is. Returned: the condition that turns cannot access it. */
static gcc_jit_rvalue *prepare_local(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  struct lw_local local;
  lw_local_begin(l, MOST_BYTES, &local);
  p->local = jx_keep(j, lw_local_of_warp(l, &local));
  p->stride = local.stride, p->own = jx_local(j, j->t_u64);
  return lw_either(l, local.bad, IS(LT, local.stride, lw_u64(l, MOST_BYTES)));
}
/* The condition that two ranges which accesses may touch overlap, one of them being stored to; NULL: none can. A root
 * through which no access has been made has no range yet, and needs none. */
static gcc_jit_rvalue *lie_together(struct lw *l, const struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *bad = NULL, *start[MOST_ROOTS];
  for (unsigned g = 0; g < p->nroots; g++) start[g] = jx_keep(j, U64(PLUS, p->roots[g].host, p->roots[g].lo));
  for (unsigned g = 0; g < p->nroots; g++)
    for (unsigned n = 0; n < g; n++) {
      if (!p->roots[g].store && !p->roots[n].store) continue;
      if (p->roots[g].store && p->roots[n].store && p->roots[g].bytes == p->roots[n].bytes) continue;
      bad = lw_either(l, bad, IS(LT, U64(MINUS, start[g], start[n]), p->roots[n].span));
      bad = lw_either(l, bad, IS(LT, U64(MINUS, start[n], start[g]), p->roots[g].span));
    }
  return bad;
}

/* The address of the current lane's elements, if they are within bounds; otherwise the turn bails out. */
static gcc_jit_rvalue *element_address(struct lw *l, const struct lw_scalar_loop *p, const struct access *ld) {
  struct jx *j = &l->j;
  const struct lw_base *base = &l->based[ld->ins - l->a->ins];
  gcc_jit_rvalue *outside = NULL, *odd = NULL, *at;
  if (ld->by_number) {
    gcc_jit_rvalue *number = lw_get(l, base->slot, MX_T_u32, 0).r[0];
    const uint64_t low = (ld->bytes - 1) / base->post_scale;
    if (!ld->checked) outside = IS(GE, number, ld->room);
    if (base->post_scale % ld->bytes)
      odd = IS(NE, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32, number, jx_int(j, j->t_u32, low)),
               jx_int(j, j->t_u32, 0));
    at = U64(MULT, cast(l, number, j->t_u64), lw_u64(l, base->post_scale));
  } else {
    gcc_jit_rvalue *variable;
    const uint64_t off = lw_offset(l, ld->at + 1, &variable) - (ld->local ? ja_local_window(ld->ins) : 0);
    at = jx_keep(
        j, lw_address(l, ld->at, 0, variable ? jv_broadcast(j, MX_T_u64, variable) : jv_k(j, MX_T_u64, off)).r[0]);
    if (ld->local) outside = IS(GT, at, U64(MINUS, p->stride, lw_u64(l, ld->bytes)));
    else if (!ld->checked)
      outside =
          IS(GE, U64(MINUS, ld->through ? lw_address(l, ld->at, 0, jv_k(j, MX_T_u64, 0)).r[0] : at, ld->lo), ld->room);
    if (ld->bytes > 1 && !ld->even) odd = IS(NE, U64(BITWISE_AND, at, lw_u64(l, ld->bytes - 1)), lw_u64(l, 0));
  }
  gcc_jit_rvalue *const wrong[] = {outside, odd};
  for (int k = 0; k < 2; k++) {
    if (!wrong[k]) continue;
    gcc_jit_block *right = lw_new_block(l, "right");
    lw_split(l, never(l, wrong[k]), p->bailout, right);
    j->b = right;
  }
  gcc_jit_rvalue *from = ld->local ? jx_rv(p->own) : ld->host;
  return jx_keep(j, gcc_jit_context_new_bitcast(j->c, NULL, U64(PLUS, from, at), j->t_pu8));
}
static void build_load(struct lw *l, const struct lw_scalar_loop *p, const struct access *ld) {
  struct jx *j = &l->j;
  const struct mx_row_access ac = mx__row_access[ld->ins->op];
  const unsigned bits = jx_bitsof(ac.type);
  gcc_jit_type *cell = bits == 64 ? j->t_u64 : bits == 32 ? j->t_u32 : bits == 16 ? j->t_u16 : j->t_u8;
  gcc_jit_block *behind = NULL;
  if (mx_w_guard(*ld->ins->w) != MX_GUARD_NONE) {
    behind = lw_new_block(l, "behind");
    lw_if_any(l, j->isa->mask_any(j, lw_guard(l, 0)), ac.elements, behind);
  }
  gcc_jit_rvalue *address = element_address(l, p, ld);
  jv v[4];
  /* all elements are loaded before the first result is written, which may overwrite the address's slot */
  for (unsigned e = 0; e < ac.elements; e++) {
    const uint64_t off = (uint64_t)e * (bits / 8);
    const bool wide = jx_wide(ld->ins->o->opnd[e].type);
    if (bits == (wide ? 64 : 32) &&
        ja_has(l->floats_after, ja_slot(l->a, wide ? MX_R64 : MX_R32, mx_w_operand(ld->ins->w, e)))) {
      gcc_jit_rvalue *r = jx_keep(j, jx_rv(lw_field(l, address, off, wide ? j->vf64 : j->vf32)));
      v[e] = (jv){.t = wide ? MX_T_f64 : MX_T_f32, .u = true, .r = {r, r}};
      continue;
    }
    gcc_jit_rvalue *r = jx_keep(j, cast(l, jx_rv(lw_field(l, address, off, cell)), jx_vector(j, bits == 64)));
    v[e] = jv_cvt(j, ld->ins->o->opnd[e].type, ac.type, (jv){.t = ac.type, .u = true, .r = {r, r}});
  }
  for (unsigned e = 0; e < ac.elements; e++) lw_put(l, e, 0, v[e]);
  if (!behind) return;
  lw_go(l, behind);
  j->b = behind;
}

/* Stores the elements' values one behind another. */
static void put_elements(struct lw *l, const struct access *ac, gcc_jit_rvalue *to, uint64_t off) {
  struct jx *j = &l->j;
  const struct mx_row_access row = mx__row_access[ac->ins->op];
  const unsigned bits = jx_bitsof(row.type);
  gcc_jit_type *cell = bits == 64 ? j->t_u64 : bits == 32 ? j->t_u32 : bits == 16 ? j->t_u16 : j->t_u8;
  for (unsigned e = 0; e < row.elements; e++) {
    const jv v = lw_source(l, 2 + e, 0, row.type);
    jx_set(j, lw_field(l, to, off + (uint64_t)e * (bits / 8), cell),
           cast(l, jx_bits(j, jx_vector(j, bits == 64), v.r[0]), cell));
  }
}
/* Records the store: its address, its place in the machine's order, its size, and the value. Or makes it at once. */
static void build_store(struct lw *l, const struct lw_scalar_loop *p, const struct access *ac) {
  struct jx *j = &l->j;
  gcc_jit_block *behind = lw_new_block(l, "behind");
  if (mx_w_guard(*ac->ins->w) != MX_GUARD_NONE) lw_if_any(l, j->isa->mask_any(j, lw_guard(l, 0)), 0, behind);
  gcc_jit_rvalue *address = element_address(l, p, ac);
  if (ac->local) {
    put_elements(l, ac, address, 0);
    lw_go(l, behind);
    j->b = behind;
    return;
  }
  gcc_jit_block *room = lw_new_block(l, "room");
  lw_split(l, never(l, IS(EQ, jx_rv(p->kept), p->kept_end)), p->bailout, room);
  j->b = room;
  gcc_jit_rvalue *to = gcc_jit_context_new_bitcast(j->c, NULL, jx_rv(p->kept), j->t_pu8);
  jx_set(j, lw_field(l, to, MX_AT(kept_store, host), j->t_u64),
         gcc_jit_context_new_bitcast(j->c, NULL, address, j->t_u64));
  const uint64_t what = mx__kept_key(0, (unsigned)(ac - p->access), ac->bytes, 0);
  jx_set(j, lw_field(l, to, MX_AT(kept_store, key), j->t_u64),
         U64(BITWISE_OR, U64(LSHIFT, jx_rv(p->left), lw_u64(l, MX_KEPT_LEFT)),
             U64(BITWISE_OR, jx_rv(p->lane), lw_u64(l, what))));
  if (ac->bytes < 8) jx_set(j, lw_field(l, to, MX_AT(kept_store, value), j->t_u64), lw_u64(l, 0));
  put_elements(l, ac, to, MX_AT(kept_store, value));
  jx_set(j, p->kept, U64(PLUS, jx_rv(p->kept), lw_u64(l, sizeof(struct mx_kept_store))));
  lw_go(l, behind);
  j->b = behind;
}

/* ---- a lane's turn ----------------------------------------------------------------------------------------------*/
/* Makes NaNs canonical in slots of `set` that block `to` expects to be canonical. NULL: in all live slots for which
 * that counts before a round has ended. */
static void clean(struct lw *l, const struct lw_scalar_loop *p, const uint64_t *set, uint32_t to) {
  const struct ja_block *t = &l->a->blocks[to];
  for (uint32_t s = 0; s < l->a->nslots; s++)
    if (ja_has(set ? set : t->live_in, s) && ja_has(l->raw, s) && !ja_has(t->raw_in, s) &&
        (set || !ja_has(p->unclean[sl_number_of(p, to)], s)))
      lw_set_one(l, s, lw_clean(l, s, lw_get(l, s, MX_T_u32, 0)).r[0]);
}
/* Moves values of the slots of `set` to the registers where the code behind expects them. */
static void turn_kinds(struct lw *l, const uint64_t *set, const uint64_t *floats) {
  for (uint32_t s = 0; s < l->a->nslots; s++) {
    if (!ja_has(set, s) || ja_has(l->floats, s) == ja_has(floats, s)) continue;
    gcc_jit_rvalue *v = jx_rv(lw_one(l, s));
    (ja_has(floats, s) ? ja_add : ja_del)(l->floats, s);
    lw_set_one(l, s, v);
  }
}
/* Where the events are noted of the round in which so many are left: from that byte on. */
static gcc_jit_lvalue *events(struct lw *l, gcc_jit_rvalue *left, unsigned byte, gcc_jit_type *t) {
  struct jx *j = &l->j;
  return lw_field(l, lw_add(l, l->x, U64(MULT, left, lw_u64(l, sizeof(uint64_t)))), MX_AT(exec, visits) + byte, t);
}
/* Notes an event of the round by its bit, unless the length of the turn tells. */
static void note(struct lw *l, const struct lw_scalar_loop *p, unsigned bit) {
  struct jx *j = &l->j;
  if (bit == NO_BIT) return;
  gcc_jit_lvalue *of = events(l, jx_rv(p->left), bit / 8, j->t_u8);
  jx_set(j, of, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u8, jx_rv(of), jx_int(j, j->t_u8, 1u << bit % 8)));
}
static void begin_turn(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  jx_set(j, p->lane, lw_lowest(l, jx_rv(p->todo)));
  for (uint32_t s = 0; s < l->a->nslots; s++) {
    if (!ja_has(p->in, s) || (ja_has(l->a->blocks[p->head].uni_in, s) && !ja_has(p->moved, s))) continue;
    gcc_jit_rvalue *v;
    if (ja_has(p->moved, s)) v = jx_rv(p->begin[s]);
    else if (p->begin[s])
      v = cast(l, U64(BITWISE_AND, U64(RSHIFT, jx_rv(p->begin[s]), jx_rv(p->lane)), lw_u64(l, 1)), j->t_mask);
    else v = jx_rv(spill_cell_of_lane(l, p, s));
    lw_set_one(l, s, v);
  }
  if (p->nlocal) jx_set(j, p->own, U64(PLUS, p->local, U64(MULT, p->stride, jx_rv(p->lane))));
  jx_set(j, p->left, jx_rv(p->iterations));
  lw_go(l, p->body);
}
/* Ends the turn: after block number n of the round, by an exit, or, with n < 0, because the slice is used up. */
static void end_turn(struct lw *l, struct lw_scalar_loop *p, int n, unsigned exit) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *rounds = U64(MINUS, jx_rv(p->iterations), jx_rv(p->left));
  clean(l, p, p->out, p->head);
  for (unsigned e = 0; e < p->nexits && n >= 0; e++) clean(l, p, p->out, p->exit[e]);
  turn_kinds(l, p->out, p->floats_out);
  jx_set(j, p->turn, U64(PLUS, U64(MULT, rounds, lw_u64(l, p->nblocks)), lw_u64(l, (uint64_t)(n + 1))));
  if (p->nexits > 1 && n >= 0)
    jx_set(j, p->left_by[exit], U64(BITWISE_OR, jx_rv(p->left_by[exit]), U64(LSHIFT, lw_u64(l, 1), jx_rv(p->lane))));
  if (n < 0) {
    jx_set(j, p->rest, U64(BITWISE_OR, jx_rv(p->rest), U64(LSHIFT, lw_u64(l, 1), jx_rv(p->lane))));
    for (uint32_t s = 0; s < l->a->nslots; s++)
      if (ja_has(p->moved, s)) jx_set(j, p->end[s], jx_bits(j, slot_type(l, s), jx_rv(lw_one(l, s))));
  }
  lw_go(l, p->put);
}
static void put_back(struct lw *l, struct lw_scalar_loop *p, gcc_jit_block *next, gcc_jit_block *behind) {
  struct jx *j = &l->j;
  for (uint32_t s = 0; s < l->a->nslots; s++) {
    if (!ja_has(p->out, s) || ja_has(p->moved, s)) continue;
    if (!p->begin[s]) {
      jx_set(j, spill_cell_of_lane(l, p, s), lw_get(l, s, lw_class(l->a, s) == MX_R64 ? MX_T_u64 : MX_T_u32, 0).r[0]);
      continue;
    }
    gcc_jit_rvalue *was = U64(BITWISE_AND, U64(RSHIFT, jx_rv(p->begin[s]), jx_rv(p->lane)), lw_u64(l, 1));
    gcc_jit_rvalue *differs = U64(BITWISE_XOR, was, cast(l, jx_rv(lw_one(l, s)), j->t_u64));
    jx_set(j, p->begin[s], U64(BITWISE_XOR, jx_rv(p->begin[s]), U64(LSHIFT, differs, jx_rv(p->lane))));
  }
  gcc_jit_block *longer = lw_new_block(l, "longer"), *shorter = lw_new_block(l, "shorter");
  lw_split(l, IS(GT, jx_rv(p->turn), jx_rv(p->longest)), longer, shorter);
  j->b = longer;
  jx_set(j, p->longest, jx_rv(p->turn));
  lw_go(l, shorter);
  j->b = shorter;
  if (p->nexits > 1) {
    gcc_jit_block *first = lw_new_block(l, "first"), *other = lw_new_block(l, "other");
    lw_split(l, IS(EQ, jx_rv(p->first_turn), lw_u64(l, 0)), first, other);
    j->b = first;
    jx_set(j, p->first_turn, jx_rv(p->turn));
    lw_go(l, other);
    j->b = other;
    jx_set(j, p->apart, U64(BITWISE_OR, jx_rv(p->apart), U64(BITWISE_XOR, jx_rv(p->turn), jx_rv(p->first_turn))));
  }
  jx_set(j, p->todo, lw_but_lowest(l, jx_rv(p->todo)));
  lw_split(l, IS(NE, jx_rv(p->todo), lw_u64(l, 0)), next, behind);
}
/* ---- numbers ----------------------------------------------------------------------------------------------------*/
/* Minima and maxima of floats take three instructions if no operand is a NaN, else twice as many. So a turn that comes
 * to a NaN there bails out; behind the test the operands and the result are known to be numbers, and so are, mostly,
 * the operands of further ones. */
static void numbers_come_to(const struct ja *a, struct lw_scalar_loop *p, unsigned n) {
  if (p->numbers_in[n])
    for (uint32_t w = 0; w < a->words; w++) p->numbers_in[n][w] &= p->numbers[w];
  else p->numbers_in[n] = memcpy(lw_need(8 * a->words), p->numbers, 8 * a->words);
}
/* Whether the instruction's operand k is known to be a number. *slot: which one it is in, or JA_NONE. */
static bool is_number(const struct lw *l, const struct lw_scalar_loop *p, unsigned k, uint32_t *slot) {
  const unsigned f = mx_w_operand(l->ins->w, k);
  *slot = f < MX_LIT ? ja_slot(l->a, MX_R32, f) : JA_NONE;
  if (f < MX_LIT) return ja_has(p->numbers, *slot);
  const struct mx_lit *lit = &l->a->f->lits[f - MX_LIT];
  return lit->kind == MX_LIT_VALUE && ((uint32_t)lit->value & INT32_MAX) <= 0x7F800000;
}
static bool is_extreme(const struct lw *l) {
  return (l->ins->op == MX_MIN_F32 || l->ins->op == MX_MAX_F32) && !mx_w_mod(*l->ins->w) && l->j.isa->extreme;
}
/* Before a minimum or maximum: the turn goes on only if both operands are numbers. */
static void want_numbers(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  uint32_t slot[2];
  const bool first = is_number(l, p, 1, &slot[0]), second = is_number(l, p, 2, &slot[1]);
  gcc_jit_rvalue *guard = lw_guard(l, 0);
  if (!first || !second) {
    gcc_jit_block *numbers = lw_new_block(l, "numbers");
    gcc_jit_rvalue *nan =
        jx_ask(j, "vucomiss %2, %1\n\tsetp %0", "=q", j->t_u8, 2, "x", jx_bits(j, j->vf32, lw_operand(l, 1, 0).r[0]),
               "x", jx_bits(j, j->vf32, lw_operand(l, 2, 0).r[0]));
    nan = cast(l, nan, j->t_mask);
    if (guard) nan = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_mask, nan, guard);
    lw_split(l, never(l, j->isa->mask_any(j, nan)), p->bailout, numbers);
    j->b = numbers;
  }
  for (unsigned k = 0; k < 2; k++)
    if (slot[k] != JA_NONE && !guard)
      ja_add(p->numbers, slot[k]), ja_del(l->raw, slot[k]), ja_del(l->raw_after, slot[k]);
}
/* Behind an instruction whose results are the table's only if some value is no NaN: a turn in which it is one bails
 * out. So sums wait for nothing but each other. */
static void want_certain(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  if (!j->doubtful) return;
  gcc_jit_block *certain = lw_new_block(l, "certain");
  gcc_jit_rvalue *nan = IS(NE, j->doubtful, j->doubtful), *guard = lw_guard(l, 0);
  if (guard) nan = jx_op(j, GCC_JIT_BINARY_OP_LOGICAL_AND, j->t_bool, nan, j->isa->mask_any(j, guard));
  lw_split(l, never(l, nan), p->bailout, certain);
  j->b = certain;
  j->doubtful = NULL;
}
/* Behind an instruction: whether its results are numbers. */
static void note_numbers(struct lw *l, struct lw_scalar_loop *p) {
  uint32_t s[JA_MAX_TOUCH], from;
  const bool copy = l->ins->form == MX_FORM_COPY && ja_result_bits(l->ins) == 32,
             number = mx_w_guard(*l->ins->w) == MX_GUARD_NONE && (is_extreme(l) || (copy && is_number(l, p, 1, &from)));
  for (uint32_t n = ja_defs(l->a, l->ins, s); n--;)
    if (number) ja_add(p->numbers, s[n]), ja_del(l->raw, s[n]);
    else ja_del(p->numbers, s[n]);
}
/* The edge from block number n of the round to block `to`. */
static void go_to(struct lw *l, struct lw_scalar_loop *p, unsigned n, uint32_t to) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  if (sl_branches_back(a, p->block[n], to)) {
    unsigned k = 0;
    while (p->backward[k] != p->block[n]) k++;
    note(l, p, p->back_bit[k]);
  }
  const unsigned exit = sl_exit_to(p, to);
  if (exit < MOST_EXITS) {
    end_turn(l, p, (int)n, exit);
    return;
  }
  clean(l, p, NULL, to);
  turn_kinds(l, l->a->blocks[to].live_in, p->floats_in[sl_number_of(p, to)]);
  if (to != p->head) {
    numbers_come_to(l->a, p, sl_number_of(p, to));
    lw_go(l, p->start_of[sl_number_of(p, to)]);
    return;
  }
  gcc_jit_block *over = lw_new_block(l, "over");
  jx_set(j, p->left, U64(MINUS, jx_rv(p->left), lw_u64(l, 1)));
  lw_split(l, IS(NE, jx_rv(p->left), lw_u64(l, 0)), p->body, over);
  j->b = over;
  end_turn(l, p, -1, MOST_EXITS);
}
/* Builds block number n of a round. */
static void build_block(struct lw *l, struct lw_scalar_loop *p, unsigned n, const struct access **access) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[p->block[n]];
  l->block = p->block[n];
  j->b = p->start_of[n];
  memcpy(l->flt, b->float_in, 8 * a->words), memcpy(l->raw, b->raw_in, 8 * a->words);
  memcpy(l->floats, p->floats_in[n], 8 * a->words);
  note(l, p, p->bit[n]);
  if (p->numbers_in[n]) memcpy(p->numbers, p->numbers_in[n], 8 * a->words);
  else memset(p->numbers, 0, 8 * a->words);
  for (uint32_t k = b->first; k < b->end; k++) {
    l->ins = &a->ins[k];
    if (l->marks) lw_mark(l);
    if (l->ins->op == MX_BRA) break;
    lw_hold_guard(l);
    memcpy(l->raw_after, l->raw, 8 * a->words);
    ja_float_step(a, l->ins, NULL, l->flt, l->raw_after); /* no lane keeps an older result here */
    memcpy(l->floats_after, l->floats, 8 * a->words);
    sl_float_step(a, p, l->ins, l->floats_after);
    if (is_extreme(l)) want_numbers(l, p);
    if (l->ins->o->cls == MX_MEM) {
      const struct access *ac = (*access)++;
      (ac->store ? build_store : build_load)(l, p, ac);
    } else if (!lw_compute(l)) abort(); /* has_form() has made sure that it can be built */
    want_certain(l, p);
    memcpy(l->raw, l->raw_after, 8 * a->words);
    note_numbers(l, p);
  }
  if (b->nsucc == 1) {
    go_to(l, p, n, b->succ[0]);
    return;
  }
  gcc_jit_block *way[2] = {lw_new_block(l, "taken"), lw_new_block(l, "not")};
  const uint32_t target = a->block_of_pc[mx_w_target(*l->ins->w)];
  lw_split(l, j->isa->mask_any(j, lw_guard(l, 0)), way[0], way[1]);
  memcpy(l->floats_after, l->floats, 8 * a->words);
  for (unsigned k = 0; k < 2; k++) {
    j->b = way[k];
    memcpy(l->floats, l->floats_after, 8 * a->words);
    go_to(l, p, n, k ? b->succ[b->succ[0] == target] : target);
  }
}
static void build_iteration(struct lw *l, struct lw_scalar_loop *p) {
  const struct access *access = p->access;
  for (unsigned n = 0; n < p->nblocks; n++) build_block(l, p, n, &access);
}

/* ---- stores, before the loop and behind it ---------------------------------------------------------------------*/
/* Allocates memory in which stores are recorded. Returned: the condition that there is none. */
static gcc_jit_rvalue *keep_stores(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  p->kept = jx_local(j, j->t_u64);
  gcc_jit_rvalue *kept = lw_call_help(l, MX_AT(jit_help, keep), l->t_keep, 0, NULL);
  jx_set(j, p->kept, gcc_jit_context_new_bitcast(j->c, NULL, kept, j->t_u64));
  p->kept_end = jx_keep(j, U64(PLUS, jx_rv(p->kept), lw_u64(l, MX_KEPT_STORES * sizeof(struct mx_kept_store))));
  return IS(EQ, jx_rv(p->kept), lw_u64(l, 0));
}
static void make_stores(struct lw *l, const struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *args[] = {gcc_jit_context_new_bitcast(j->c, NULL, jx_rv(p->kept), j->t_ptr)};
  gcc_jit_block_add_eval(j->b, NULL, LW_HELP(l, make_kept, args));
}

/* ---- before the loop, and behind it -----------------------------------------------------------------------------*/
/* Stores the values with which lanes begin where each lane's turn finds its own. */
static void bring_slots(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(p->in, s) && !ja_has(p->out, s)) continue;
    const bool here = ja_has(p->in, s), one = here && ja_has(a->blocks[p->head].uni_in, s);
    if (one) continue; /* bring_uniform() does these */
    if (lw_class(a, s) != MX_PRED) {
      if (here && (p->beside || l->ramps[s] || !ja_has(l->saved, s))) move(l, p, false, s);
      continue;
    }
    gcc_jit_rvalue *m[LW_CHUNKS];
    for (unsigned c = 0; here && c < l->nc; c++) m[c] = jx_rv(lw_var(l, s, c));
    p->begin[s] = jx_local(j, j->t_u64);
    jx_set(j, p->begin[s], here ? lw_pack(l, m) : lw_u64(l, 0));
  }
}
static void bring_uniform(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct lw *one = &p->one;
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(p->in, s) || !ja_has(a->blocks[p->head].uni_in, s)) continue;
    struct jx *j = &turn_to(l, one)->j;
    gcc_jit_rvalue *v = lw_is_number(l, s)          ? jx_rv(lw_number(l, s))
                        : lw_class(a, s) == MX_PRED ? j->isa->mask_any(j, jx_rv(lw_one(l, s)))
                                                    : j->isa->first(j, lw_class(a, s) == MX_R64, jx_rv(lw_one(l, s)));
    turn_to(one, l);
    if (ja_has(p->moved, s)) p->begin[s] = jx_local(j, slot_type(one, s)), p->end[s] = jx_local(j, slot_type(one, s));
    v = cast(one, v, slot_type(one, s));
    if (ja_has(p->moved, s)) jx_set(&one->j, p->begin[s], v);
    else lw_set_one(one, s, v);
  }
}
/* Loads the slots' values when all lanes have had their turns. */
static void take_back(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(p->out, s) || ja_has(p->moved, s)) continue;
    gcc_jit_rvalue *m[LW_CHUNKS];
    if (lw_class(a, s) != MX_PRED) {
      move(l, p, true, s);
      continue;
    }
    j->isa->masks_of(j, jx_rv(p->begin[s]), l->nc, m);
    for (unsigned c = 0; c < l->nc; c++) jx_set(j, lw_var(l, s, c), m[c]);
  }
}
static void add_to(struct lw *l, gcc_jit_lvalue *sum, gcc_jit_rvalue *times, uint32_t n) {
  struct jx *j = &l->j;
  if (n) jx_set(j, sum, U64(PLUS, jx_rv(sum), n == 1 ? times : U64(MULT, times, lw_u64(l, n))));
}
/* Adds that a block was run so many times. */
static void count_block(struct lw *l, const struct ja_block *b, gcc_jit_rvalue *times) {
  add_to(l, l->steps, times, b->steps);
  if (l->a->clocks) add_to(l, l->ticks, times, b->ticks);
}
/* Counts what was noted for each round, and forgets it; adds to `backs` how many backward branches were taken. */
static void count_noted(struct lw *l, const struct lw_scalar_loop *p, gcc_jit_lvalue *backs) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  gcc_jit_lvalue *round = jx_local(j, j->t_u64);
  gcc_jit_rvalue *rounds =
      jx_keep(j, U64(DIVIDE, U64(PLUS, jx_rv(p->longest), lw_u64(l, p->nblocks - 1)), lw_u64(l, p->nblocks)));
  jx_set(j, round, lw_u64(l, 0));
  gcc_jit_block *next = lw_new_block(l, "count"), *counted = lw_new_block(l, "counted");
  lw_go(l, next);
  j->b = next;
  gcc_jit_lvalue *of = events(l, U64(MINUS, jx_rv(p->iterations), jx_rv(round)), 0, j->t_u64);
  gcc_jit_rvalue *seen = jx_keep(j, jx_rv(of));
  jx_set(j, of, lw_u64(l, 0));
#define BIT(n_) jx_keep(j, U64(BITWISE_AND, U64(RSHIFT, seen, lw_u64(l, n_)), lw_u64(l, 1)))
  for (unsigned n = 0; n < p->nblocks; n++)
    if (p->bit[n] != NO_BIT) count_block(l, &a->blocks[p->block[n]], BIT(p->bit[n]));
  for (unsigned n = 0; n < p->nbacks; n++)
    if (p->back_bit[n] != NO_BIT) add_to(l, backs, BIT(p->back_bit[n]), 1);
#undef BIT
  jx_set(j, round, U64(PLUS, jx_rv(round), lw_u64(l, 1)));
  lw_split(l, IS(LT, jx_rv(round), rounds), next, counted);
  j->b = counted;
}
static void count(struct lw *l, const struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  gcc_jit_lvalue *backs = jx_local(j, j->t_u64);
  jx_set(j, backs, lw_u64(l, 0));
  for (unsigned n = 0; n < p->nblocks; n++) {
    if (p->bit[n] != NO_BIT) continue;
    gcc_jit_rvalue *times =
        jx_keep(j, U64(DIVIDE, U64(PLUS, jx_rv(p->longest), lw_u64(l, p->nblocks - 1 - n)), lw_u64(l, p->nblocks)));
    if (p->back_bit[0] == NO_BIT && n == p->back + 1) jx_set(j, backs, times);
    count_block(l, &a->blocks[p->block[n]], times);
  }
  if (p->back_bit[0] == NO_BIT && p->back + 1 == p->nblocks) {
    /* the edge to the header: if no lane has stayed in the loop, the last round has none */
    gcc_jit_rvalue *none = cast(l, IS(EQ, jx_rv(p->rest), lw_u64(l, 0)), j->t_u64);
    jx_set(j, backs, U64(DIVIDE, U64(MINUS, jx_rv(p->longest), none), lw_u64(l, p->nblocks)));
  }
  if (p->nbits) count_noted(l, p, backs);
  gcc_jit_lvalue *slice = lw_field(l, l->x, MX_AT(exec, slice), j->t_int);
  jx_set(j, slice, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, jx_rv(slice), cast(l, jx_rv(backs), j->t_int)));
}
void lw_scalar_loop_build(struct lw *l, uint32_t head) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  struct lw_scalar_loop *p = l->scalar_loops[head];
  const struct ja_block *h = &a->blocks[head];
  l->block = head;
  l->ins = &a->ins[h->first];
  memcpy(l->uni, h->uni_in, 8 * a->words), memcpy(l->flt, h->float_in, 8 * a->words),
      memcpy(l->raw, h->raw_in, 8 * a->words);
  memcpy(l->ramps, h->ramp_in, sizeof *l->ramps * a->nslots);
  memcpy(l->saved, l->saved_in + (size_t)head * a->words, 8 * a->words);
  j->b = p->start;
  struct lw *one = &p->one;
  *one = *l;
  jx_init(&one->j, j->c, j->isa->one);
  one->j.fn = j->fn;
  turn_to(one, l);
  one->nc = 1, one->one_lane = true, one->slots_spilled = false, one->j.may_doubt = true;
  one->ramps = lw_need(2 * sizeof *one->ramps * (a->nslots + 1u)), one->ramps_after = one->ramps + a->nslots;
  p->beside = l->slots_spilled;
  one->f = lw_need(sizeof *one->f * (a->nslots + 1));
  one->u = lw_need(sizeof *one->u * (a->nslots + 1));
  p->begin = lw_need(sizeof *p->begin * (a->nslots + 1)), p->end = lw_need(sizeof *p->end * (a->nslots + 1));
  uint64_t *sets = lw_need(8 * 7 * (size_t)a->words);
  one->uni = one->uni_after = sets, one->flt = sets + a->words, one->raw = one->flt + a->words,
  one->raw_after = one->raw + a->words, p->numbers = one->raw_after + a->words;
  one->floats = p->numbers + a->words, one->floats_after = one->floats + a->words;
  memset(sets, 0xFF, 8 * a->words);
  memcpy(one->floats, p->floats_in[0], 8 * a->words);
  memcpy(one->flt, l->flt, 8 * a->words), memcpy(one->raw, l->raw, 8 * a->words);
  gcc_jit_lvalue **const locals[] = {&p->todo, &p->rest, &p->lane, &p->iterations, &p->left, &p->turn, &p->longest};
  for (size_t k = 0; k < sizeof locals / sizeof *locals; k++) *locals[k] = jx_local(j, j->t_u64);
  for (unsigned e = 0; e < p->nexits && p->nexits > 1; e++) p->left_by[e] = jx_local(j, j->t_u64);
  if (p->nexits > 1) p->first_turn = jx_local(j, j->t_u64), p->apart = jx_local(j, j->t_u64);
  p->vector = l->head[head];
  p->bailout = lw_new_block(l, "bailout"), p->put = lw_new_block(l, "put");
  for (unsigned n = 0; n < p->nblocks; n++) p->start_of[n] = lw_new_block(l, "round");
  p->body = p->start_of[0];

  gcc_jit_block *off = lw_new_block(l, "off"), *on = lw_new_block(l, "on"), *good = lw_new_block(l, "good");
  gcc_jit_block *next = lw_new_block(l, "turn"), *behind = lw_new_block(l, "behind");
  gcc_jit_block *unmeasured = lw_new_block(l, "unmeasured"), *measured = lw_new_block(l, "measured"),
                *not_now = lw_new_block(l, "not_now");
  gcc_jit_rvalue *times = jx_keep(j, jx_rv(off_count(l, p)));
  lw_split(l, IS(NE, times, jx_int(j, j->t_u32, 0)), off, on);
  j->b = off;
  gcc_jit_rvalue *more = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u32, times, jx_int(j, j->t_u32, 1)));
  jx_set(j, off_count(l, p), more);
  lw_split(l,
           IS(EQ, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32, more, jx_int(j, j->t_u32, MEASURED - 1)),
              jx_int(j, j->t_u32, 0)),
           measured, not_now);
  j->b = not_now;
  jx_set(j, p->since, lw_u64(l, 0));
  never_ask(l, p);
  lw_go(l, p->vector);
  j->b = measured;
  begin_time(l, p);
  gcc_jit_block *trial = lw_new_block(l, "trial"), *together = lw_new_block(l, "together");
  never_ask(l, p);
  lw_split(l, IS(EQ, jx_rv(loop_field(l, p, MX_AT(bounds, lanes_left))), jx_int(j, j->t_u32, MX_LANES_TOGETHER)),
           together, trial);
  j->b = trial;
  ask_from(l, p, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, slice_left(l), jx_int(j, j->t_int, TRIAL)));
  lw_go(l, together);
  j->b = together;
  lw_go(l, p->vector);
  j->b = on;
  begin_time(l, p);
  never_ask(l, p);
  gcc_jit_rvalue *slice = jx_keep(j, slice_left(l));
  gcc_jit_rvalue *bad = IS(LE, slice, jx_int(j, j->t_int, p->nbacks));
  uint32_t rank = h->rank;
  for (unsigned n = 0; n < p->nblocks; n++)
    if (a->blocks[p->block[n]].rank > rank) rank = a->blocks[p->block[n]].rank;
  bad = lw_either(l, bad,
                  IS(LE, jx_rv(lw_field(l, l->x, MX_AT(exec, resched_rank), j->t_u32)), jx_int(j, j->t_u32, rank)));
  turn_to(one, l);
  bring_uniform(l, p);
  share_checks(one, p);
  for (unsigned k = 0; k < p->nroots; k++) prepare_root(one, p, k);
  for (unsigned k = 0; k < p->naccesses; k++) {
    gcc_jit_rvalue *unknown = prepare_access(one, p, &p->access[k]);
    if (unknown) bad = lw_either(one, bad, unknown);
  }
  if (p->nlocal) bad = lw_either(one, bad, prepare_local(one, p));
  if (p->nstores) {
    gcc_jit_rvalue *overlap = lie_together(one, p);
    if (overlap) bad = lw_either(one, bad, overlap);
    gcc_jit_block *distinct = lw_new_block(one, "distinct");
    lw_split(one, lw_rare(one, bad), unmeasured, distinct);
    one->j.b = distinct;
    bad = keep_stores(one, p);
  }
  if (p->nlocal_stores) {
    gcc_jit_block *copy = lw_new_block(one, "copy");
    lw_split(one, lw_rare(one, bad), unmeasured, copy);
    one->j.b = copy;
    p->local_copy = jx_keep(&one->j, lw_call_help(one, MX_AT(jit_help, keep_local), one->t_keep, 0, NULL));
    bad = IS(EQ, p->local_copy, gcc_jit_context_null(j->c, j->t_pu8));
  }
  lw_split(one, lw_rare(one, bad), unmeasured, good);
  turn_to(l, one);
  j->b = good;
  bring_slots(l, p);
  gcc_jit_rvalue *m[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) m[c] = jx_rv(l->cm[c]);
  jx_set(j, p->todo, lw_pack(l, m));
  gcc_jit_rvalue *turns = jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, slice, jx_int(j, j->t_int, 1));
  if (p->nbacks > 1) turns = jx_op(j, GCC_JIT_BINARY_OP_DIVIDE, j->t_int, turns, jx_int(j, j->t_int, p->nbacks));
  jx_set(j, p->iterations, cast(l, turns, j->t_u64));
  jx_set(j, p->rest, lw_u64(l, 0)), jx_set(j, p->longest, lw_u64(l, 0));
  if (p->nexits > 1) {
    for (unsigned e = 0; e < p->nexits; e++) jx_set(j, p->left_by[e], lw_u64(l, 0));
    jx_set(j, p->first_turn, lw_u64(l, 0)), jx_set(j, p->apart, lw_u64(l, 0));
  }
  lw_go(l, next);
  turn_to(one, l)->j.b = next;
  begin_turn(one, p);
  build_iteration(one, p);
  one->j.b = p->put;
  memcpy(one->floats, p->floats_out, 8 * a->words);
  put_back(one, p, next, behind);
  one->j.b = p->bailout;
  if (p->nlocal_stores) {
    gcc_jit_rvalue *args[] = {gcc_jit_context_new_bitcast(j->c, NULL, p->local_copy, j->t_ptr)};
    gcc_jit_block_add_eval(one->j.b, NULL,
                           lw_call_help(one, MX_AT(jit_help, restore_local), one->t_make_kept, 1, args));
  }
  took(one, p, MX_LOOP_BAILED_OUT);
  lw_go(one, unmeasured);
  one->j.b = unmeasured;
  jx_set(&one->j, p->since, lw_u64(l, 0));
  never_ask(one, p);
  lw_go(one, p->vector);
  turn_to(l, one);
  j->b = behind;
  /* which lanes diverged at which branches is not known, and so is not who is expected behind the loop */
  if (p->inner_exits) {
    gcc_jit_block *left = lw_new_block(l, "left");
    lw_split(l, lw_rare(l, IS(NE, jx_rv(p->rest), lw_u64(l, 0))), p->bailout, left);
    j->b = left;
  }
  take_back(l, p);
  if (p->nstores) make_stores(l, p);
  count(l, p);
  took(l, p, MX_LOOP_BY_LANES);
  p->one_by_one = true;
  sl_leave_loop(l, p);
  p->one_by_one = false;
  for (unsigned n = 0; n < p->nblocks; n++) free(p->numbers_in[n]);
  free(sets), free(one->u), free(one->f), free(one->ramps);
}

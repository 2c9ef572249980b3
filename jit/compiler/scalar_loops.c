/* Loops whose lanes run one by one. Where lanes leave a loop at different times and gather what they read, most of a
 * warp waits while each step costs what it costs for all lanes: scalar code, one lane behind the other, does only what
 * is needed. Nobody can see the order in a loop that does nothing but compute and read memory weakly, so it may be
 * chosen: where the loop begins, at run time.
 *
 * 1. A lane's turn ends where it leaves the loop, or where the slice would end. Then its slots go to its
 *    lane's part of the chunks in state->spill_area, and when all lanes have had their turns, everything is as if the
 * warp had run as many iterations as the longest turn: instructions and iterations are counted from that. Lanes that
 * are still in the loop go on in the vector form, to the slice's end.
 * 2. A bailout (at an access outside of its cached bounds) leaves no trace: the vector form runs all of it, from the
 *    start.
 * 3. What steers the loop may not come from memory: else each lane would wait for its loads, and for branches guessed
 *    wrongly, where the vector form has as many under way as there are lanes.
 * 4. Costs are estimated, in quarters of a cycle; where the sum over the turns turns out to be more than what the
 *    iterations would have cost, or there was a bailout, the next few times are the vector form's. */
#include "divergence.h"
#include "lowering.h"
#include "meaning.h"

#include "vm/exec/launch.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_BLOCKS = 6,
  MOST_INSTRUCTIONS = 128,
  MOST_LOADS = 40, /* a loop that was unrolled eight times fits */
  TIMES_OFF = 15,  /* the vector form's, after a bad choice */
  LANE = 100,      /* cost of a lane's turn: a branch guessed wrongly, slots fetched and put back */
  LANE_OP = 1,
  LANE_LOAD = 3,
  LANE_ANYWHERE = 6,
  LANE_ITERATION = 3, /* an address that is not made of a number costs more to check */
  ROUND = 80,
  WARP_OP = 3,
  GATHERED = 10,
  IN_ROWS = 1,
  UNKNOWN = 2,   /* of a round; of a chunk of 16 lanes; of a lane's load */
  BY_BODY = 1500 /* a load that the interpreter's body does */
};

/* A load of the loop. */
struct load {
  const struct ja_ins *ins;
  uint32_t block;
  unsigned at, bytes; /* the address's operand; what is read */
  bool by_number;     /* by the 32-bit number that the address is made of, for which bounds are known before the loop */
  const struct load
      *checked; /* by_number: one before it through the same number, in whose limit this one's is; else NULL */
  gcc_jit_rvalue *lo, *limit,
      *host; /* bounds, and where device address 0 is; by_number: number 0, and limit is the greatest number */
};
struct lw_scalar_loop {
  gcc_jit_block *start;
  struct lw one;         /* the function's state for code of one lane: slots are scalars */
  uint32_t head, behind; /* the loop's header; where its lanes go when they leave it */
  uint32_t nblocks, block[MOST_BLOCKS],
      back;         /* back: the block of these behind which the one branch backwards of a round is */
  uint64_t *floats; /* slots that floats alone are made of or computed from: they need not move between registers of two
                       kinds */
  uint64_t *in, *out, *moved; /* that lanes begin with; that they leave behind; of these, those that are one value where
                                 iterations begin */
  struct load load[MOST_LOADS];
  unsigned nloads;
  unsigned lane_cost, cost; /* of a round: a lane's, the warp's */
  gcc_jit_lvalue **begin;   /* by slot: what lanes begin with, if it is one value; bits of a predicate */
  gcc_jit_lvalue **end;     /* by slot of moved: its value in lanes that are still in the loop */
  gcc_jit_lvalue *todo, *rest, *lane, *iterations, *left, *turn, *longest, *sum;
  gcc_jit_block *vector, *bailout, *body, *put;
};

/* ---- which loops ------------------------------------------------------------------------------------------------*/
/* The loop's blocks, each of which goes on to the next one or leaves for one block, where the lanes that have left
 * meet. */
static bool find_chain(const struct ja *a, const struct ja_loop *loop, struct lw_scalar_loop *p) {
  uint32_t b = p->head = loop->head, size = 0, parts = 0, ways_back = 0;
  p->behind = JA_NONE;
  for (uint32_t k = 0; k < a->nblocks; k++) size += ja_has(loop->body, k);
  if (size > MOST_BLOCKS || !p->head) return false;
  do {
    const struct ja_block *bl = &a->blocks[b];
    const struct ja_ins *last = &a->ins[bl->end - 1];
    uint32_t next = JA_NONE;
    if (p->nblocks == size || bl->leaves || (bl->divergent && !bl->hidden) || (bl->meets && b != p->head)) return false;
    p->block[p->nblocks++] = b;
    for (uint32_t k = 0; k < bl->nsucc; k++) {
      const bool back = last->op == MX_BRA && mx_w_target(*last->w) <= last->pc &&
                        bl->succ[k] == a->block_of_pc[mx_w_target(*last->w)];
      if (!ja_has(loop->body, bl->succ[k])) {
        if (back) return false;
        if (p->behind != JA_NONE && p->behind != bl->succ[k]) return false;
        p->behind = bl->succ[k];
        if (bl->divergent && ja_join_of(a, b) != p->behind) return false;
        parts += bl->divergent;
        continue;
      }
      if (next != JA_NONE) return false;
      next = bl->succ[k];
      if (back) ways_back++, p->back = p->nblocks - 1;
    }
    if (next == JA_NONE) return false;
    b = next;
  } while (b != p->head);
  return p->nblocks == size && parts && ways_back == 1; /* which count for slices */
}

/* Whether a row's meaning has a form for one lane: it is built where nobody will compile it. */
static bool has_form(gcc_jit_context *scratch, const struct jx_isa *isa, const struct ja_ins *i) {
  const struct mx_op_info *o = i->o;
  unsigned nout = 0;
  if (!jx_meanings[i->op] || o->nopnds > 6) return false;
  while (nout < o->nopnds && o->opnd[nout].role == MX_OUT) nout++;
  struct jx *j = lw_need(sizeof *j);
  jx_init(j, scratch, isa);
  j->fn = gcc_jit_context_new_function(scratch, NULL, GCC_JIT_FUNCTION_INTERNAL, j->t_void, o->id, 0, NULL, 0);
  j->b = gcc_jit_function_new_block(j->fn, NULL);
  jv in[8] = {{0}}, second = {0};
  for (unsigned k = nout; k < o->nopnds; k++) {
    const unsigned t = o->opnd[k].type;
    if (t >= MX_T_raw) in[k - nout] = jv_k(j, MX_T_u32, mx_w_operand(i->w, k));
    else
      in[k - nout] = jv_broadcast(j, t, jx_rv(jx_local(j, t == MX_T_pred ? j->t_mask : jx_vector(j, jx_wide(t))))),
             in[k - nout].t = (uint8_t)t;
  }
  jv first = jx_meanings[i->op](j, mx_w_mod(*i->w), in, &second);
  jv_canon(j, o->opnd[0].type, jv_cvt(j, o->opnd[0].type, first.t, first));
  if (nout > 1) jv_canon(j, o->opnd[1].type, jv_cvt(j, o->opnd[1].type, second.t, second));
  const bool has = !j->bad;
  free(j);
  return has;
}
/* Operands that code for one lane can have. */
static bool has_operands(const struct ja *a, const struct ja_ins *i) {
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    const unsigned t = i->o->opnd[k].type, f = mx_w_operand(i->w, k);
    if (t == MX_T_b128) return false;
    if (t == MX_T_pred && f >= MX_LIT && a->f->lits[f - MX_LIT].kind != MX_LIT_VALUE) return false;
  }
  return true;
}
static bool add_load(struct lw_scalar_loop *p, uint32_t b, const struct ja_ins *i) {
  const struct mx_row_access ac = mx__row_access[i->op];
  const unsigned space = mx_w_mod(*i->w) >> 2, weak = !(mx_w_mod(*i->w) & 3);
  if (ac.kind != MX_ACCESS_LOAD || !weak || ac.elements > 4 || ac.type == MX_T_b128 || space == MX_LOCAL ||
      space == MX_PARAM || p->nloads == MOST_LOADS)
    return false;
  p->load[p->nloads++] =
      (struct load){.ins = i, .block = b, .at = ac.elements, .bytes = jx_bitsof(ac.type) / 8 * ac.elements};
  return true;
}
static bool has_instructions(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  unsigned n = 0;
  bool good = true;
  gcc_jit_context *scratch = gcc_jit_context_acquire();
  for (uint32_t k = 0; k < p->nblocks && good; k++)
    for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end && good; m++) {
      const struct ja_ins *i = &a->ins[m];
      good = !i->keep && ++n <= MOST_INSTRUCTIONS && (i->op == MX_BRA || has_operands(a, i));
      if (!good || i->op == MX_BRA || i->o->flags & MX_F_MOVI) continue;
      if (mx__effect(i->op) == MX_DOES_SREG) good = mx__sregs[mx_w_operand(i->w, 1)].varies >= MX_PER_BLOCK;
      else if (i->o->cls == MX_MEM) good = add_load(p, p->block[k], i);
      else good = i->o->cls == MX_LANE && has_form(scratch, l->j.isa->one, i);
    }
  gcc_jit_context_release(scratch);
  return good && p->nloads;
}

/* Whether neither branches nor, from round to round, addresses depend on what is read. `loaded`: by load, whether its
 * address does. */
static bool steers_itself(const struct ja *a, const struct lw_scalar_loop *p, bool *through) {
  uint64_t *sets = lw_need(8 * 3 * (size_t)a->words), *carried = sets, *now = sets + a->words, *old = now + a->words;
  uint32_t s[JA_MAX_TOUCH];
  bool good = true;
  for (bool again = true; again && good;) {
    unsigned load = 0;
    memcpy(now, carried, 8 * a->words), memcpy(old, carried, 8 * a->words);
    for (uint32_t k = 0; k < p->nblocks; k++)
      for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end; m++) {
        const struct ja_ins *i = &a->ins[m];
        const bool guarded = mx_w_guard(*i->w) != MX_GUARD_NONE;
        bool from_now = false, from_old = false;
        for (uint32_t n = ja_uses(a, i, s); n--;) from_now |= ja_has(now, s[n]), from_old |= ja_has(old, s[n]);
        if (i->op == MX_BRA) good &= !from_now;
        if (i->o->cls == MX_MEM) good &= !from_old, through[load++] = from_now, from_now = true;
        for (uint32_t n = ja_defs(a, i, s); n--;) {
          if (from_now) ja_add(now, s[n]);
          else if (!guarded) ja_del(now, s[n]);
          if (from_old) ja_add(old, s[n]);
          else if (!guarded) ja_del(old, s[n]);
        }
      }
    again = false;
    for (uint32_t w = 0; w < a->words; w++) {
      const uint64_t at_head = now[w] & a->blocks[p->head].live_in[w];
      again |= (at_head & ~carried[w]) != 0;
      carried[w] |= at_head;
    }
  }
  free(sets);
  return good;
}

static unsigned gathered(const struct lw *l, const struct load *ld) {
  const struct lw_base *base = &l->based[ld->ins - l->a->ins];
  if (base->steady && (base->pre_scale != 1 || base->slot >= l->a->f->npred + l->a->f->n32)) return BY_BODY;
  return GATHERED * l->a->lanes * (ld->bytes > 4 ? 2u : 1u);
}
/* What a load costs the warp where nothing is found out at run time; *steady: then its slot's shape says whether it is
 * gathered. */
static unsigned load_cost(const struct lw *l, const struct load *ld, bool through, bool *steady) {
  const struct ja *a = l->a;
  const uint32_t k = (uint32_t)(ld->ins - a->ins);
  const struct mx_row_access ac = mx__row_access[ld->ins->op];
  const struct lw_base *base = &l->based[k];
  const unsigned lanes = a->lanes;
  *steady = base->steady && !l->run_member[k];
  if (lw_uniform_at(a, ld->block, k, ld->at)) return WARP_OP;
  if (jx_bitsof(ac.type) < 32 || (ac.elements > 1 && !base->steady && !base->indexed)) return BY_BODY;
  if (l->run_member[k] && l->runs[ld->block].row[l->run_member[k] - 1].kind == LW_SCATTERED) return gathered(l, ld);
  if (*steady || l->run_member[k]) return IN_ROWS * lanes;
  if (through) return base->indexed ? gathered(l, ld) : BY_BODY;
  return UNKNOWN * lanes;
}
/* Whether it is cheaper with half of the lanes running, if all lanes that may have diverged have. */
static bool is_worth_it(struct lw *l, struct lw_scalar_loop *p, const bool *through) {
  const struct ja *a = l->a;
  unsigned most = 0;
  bool any = false, steady;
  p->cost = ROUND, p->lane_cost = LANE_ITERATION;
  for (uint32_t k = 0; k < p->nblocks; k++)
    for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end; m++)
      if (a->ins[m].o->cls != MX_MEM) p->cost += WARP_OP * a->lanes / 16, p->lane_cost += LANE_OP;
  for (unsigned k = 0; k < p->nloads; k++) {
    const unsigned cost = load_cost(l, &p->load[k], through[k], &steady);
    any |= through[k] || cost == BY_BODY;
    const struct lw_base *base = &l->based[p->load[k].ins - a->ins];
    p->cost += cost, p->lane_cost += base->steady || base->indexed ? LANE_LOAD : LANE_ANYWHERE;
    if (steady) most += gathered(l, &p->load[k]);
  }
  return any && 2 * (p->cost + most) > p->lane_cost * a->lanes;
}

static void note_kinds(const struct ja *a, const struct ja_ins *i, uint64_t *floats, uint64_t *numbers) {
  const unsigned first = i->o->cls == MX_MEM ? mx__row_access[i->op].elements : 0; /* what is read may be either */
  for (unsigned k = first; k < i->o->nopnds && !(i->o->flags & MX_F_BRANCH); k++) {
    const unsigned t = i->o->opnd[k].type, f = mx_w_operand(i->w, k);
    if (t < MX_T_raw && f < MX_LIT) ja_add(jx_float(t) ? floats : numbers, ja_slot(a, mx__types[t].slot_class, f));
  }
}
static void find_slots(const struct ja *a, struct lw_scalar_loop *p) {
  const struct ja_block *h = &a->blocks[p->head], *end = &a->blocks[p->behind];
  uint64_t *sets = lw_need(8 * 6 * (size_t)a->words), *written = sets, *numbers = sets + 5 * a->words;
  uint32_t s[JA_MAX_TOUCH];
  p->in = sets + a->words, p->out = p->in + a->words, p->moved = p->out + a->words, p->floats = p->moved + a->words;
  for (uint32_t k = 0; k < p->nblocks; k++)
    for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end; m++) {
      for (uint32_t n = ja_uses(a, &a->ins[m], s); n--;) ja_add(p->in, s[n]);
      for (uint32_t n = ja_defs(a, &a->ins[m], s); n--;) ja_add(written, s[n]);
      note_kinds(a, &a->ins[m], p->floats, numbers);
    }
  for (uint32_t w = 0; w < a->words; w++) p->floats[w] &= ~numbers[w];
  for (uint32_t w = 0; w < a->words; w++) {
    p->in[w] = (p->in[w] | written[w]) & h->live_in[w];
    p->out[w] = written[w] & (h->live_in[w] | end->live_in[w]);
    p->moved[w] = written[w] & h->live_in[w] & h->uni_in[w];
  }
}
/* Slots for which more would have to be done. */
static bool has_odd_slots(const struct lw *l, const struct lw_scalar_loop *p) {
  const struct ja_block *end = &l->a->blocks[p->behind];
  for (uint32_t s = 0; s < l->a->nslots; s++)
    if (ja_has(p->out, s) && ja_has(end->live_in, s) &&
        (ja_has(end->uni_in, s) || ja_has(p->moved, s) || lw_shape_asked(l, s, p->behind)))
      return true;
  return false;
}

void lw_scalar_loops_find(struct lw *l) {
  const struct ja *a = l->a;
  for (uint32_t g = 0; g < a->nloops && !l->counters && !a->checked;
       g++) { /* which lanes ran together could not be told */
    struct lw_scalar_loop *p = lw_need(sizeof *p);
    bool through[MOST_LOADS];
    if (l->head[a->loops[g].head] && find_chain(a, &a->loops[g], p) && has_instructions(l, p) &&
        steers_itself(a, p, through) && is_worth_it(l, p, through)) {
      find_slots(a, p);
      if (!has_odd_slots(l, p)) l->scalar_loops[p->head] = p, p->start = lw_new_block(l, "lanes");
    }
    if (l->scalar_loops[a->loops[g].head] != p) free(p);
  }
}
gcc_jit_block *lw_start(const struct lw *l, uint32_t block) {
  return l->scalar_loops[block] ? l->scalar_loops[block]->start : l->head[block];
}

/* ---- scalars ----------------------------------------------------------------------------------------------------*/
/* Both views of the function, of whole chunks and of one lane, build in turns: `to` goes on where `from` stands. */
static struct lw *turn_to(struct lw *to, const struct lw *from) {
  to->j.b = from->j.b;
  to->j.serial = from->j.serial;
  to->nlits = from->nlits;
  return to;
}
static gcc_jit_rvalue *cast(struct lw *l, gcc_jit_rvalue *v, gcc_jit_type *t) {
  return gcc_jit_context_new_cast(l->j.c, NULL, v, t);
}
/* As good as never: the compiler takes a check in a round that is only rare for a way out of the loop, and keeps other
 * things in registers. */
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
static gcc_jit_lvalue *spill_cell_of_lane(struct lw *l, const struct lw_scalar_loop *p, uint32_t s) {
  struct jx *j = &l->j;
  const bool wide = lw_class(l->a, s) == MX_R64;
  gcc_jit_rvalue *address =
      gcc_jit_context_new_cast(j->c, NULL, gcc_jit_lvalue_get_address(lw_cell(l, s, false, 0), NULL), j->t_pu8);
  return lw_field(l, lw_add(l, address, U64(MULT, jx_rv(p->lane), lw_u64(l, wide ? 8 : 4))), 0,
                  wide ? j->t_u64 : j->t_u32);
}
/* All lanes' values of a slot, between its variables and its cell, where these are not the same. */
static void move(struct lw *l, bool in, uint32_t s) {
  for (unsigned k = 0; !l->slots_spilled && k < (lw_class(l->a, s) == MX_R64 ? 2 * l->nc : l->nc); k++) {
    gcc_jit_lvalue *v = lw_var(l, s, k), *m = lw_cell(l, s, false, k);
    jx_set(&l->j, in ? v : m, jx_rv(in ? m : v));
  }
}
static gcc_jit_lvalue *off_count(struct lw *l, const struct lw_scalar_loop *p) {
  return lw_field(l, jx_rv(l->bounds),
                  (uint64_t)p->load[0].ins->bounds * sizeof(struct mx_bounds) + MX_AT(bounds, lanes_off), l->j.t_u32);
}

/* ---- loads ------------------------------------------------------------------------------------------------------*/
/* One check for all loads through a number: the least limit is that of the first one. */
static void share_limit(struct lw *l, struct lw_scalar_loop *p, struct load *ld) {
  struct jx *j = &l->j;
  const uint32_t slot = l->based[ld->ins - l->a->ins].slot;
  for (struct load *first = p->load; first < ld && !ld->checked; first++)
    if (first->by_number && !first->checked && first->block == ld->block &&
        l->based[first->ins - l->a->ins].slot == slot && mx_w_guard(*first->ins->w) == MX_GUARD_NONE &&
        !lw_written_between(l->a, first->ins, ld->ins, slot)) {
      const jv one = {.t = MX_T_u32, .u = true, .r = {first->limit, first->limit}},
               other = {.t = MX_T_u32, .u = true, .r = {ld->limit, ld->limit}};
      first->limit = jv_sel(j, MX_T_u32, jv_cmp(j, JX_LT, MX_T_u32, one, other), one, other).r[0];
      ld->checked = first;
    }
}
/* What is known of a load before the loop; returned: whether it is too little. */
static gcc_jit_rvalue *prepare_load(struct lw *l, struct lw_scalar_loop *p, struct load *ld) {
  struct jx *j = &l->j;
  const struct ja *a = l->a;
  const struct lw_base *base = &l->based[ld->ins - a->ins];
  gcc_jit_rvalue *bad;
  l->ins = ld->ins;
  if (mx_w_mod(*ld->ins->w) >> 2 == MX_SHARED) { /* often checked without being cached: see shared_runs.c */
    gcc_jit_rvalue *launch = jx_rv(lw_field(l, l->x, MX_AT(exec, launch), j->t_pu8));
    gcc_jit_rvalue *size =
        jx_keep(j, cast(l, jx_rv(lw_field(l, launch, MX_AT(launch, shared_bytes), j->t_u32)), j->t_u64));
    bad = IS(LT, size, lw_u64(l, ld->bytes));
    ld->lo = lw_u64(l, 0);
    ld->limit = jx_keep(j, U64(MINUS, size, lw_u64(l, ld->bytes)));
    ld->host = jx_keep(j, jx_rv(lw_field(l, l->x, MX_AT(exec, window) + 8 * MX_SHARED, j->t_u64)));
  } else bad = lw_bounds(l, ld->bytes, false, &ld->lo, &ld->limit, &ld->host);
  const uint64_t scale = base->post_scale;
  ld->by_number = (base->steady || base->indexed) && base->pre_scale == 1 && base->slot < a->f->npred + a->f->n32 &&
                  (scale == 1 || scale == 2 || scale == 4 || scale == 8);
  for (unsigned k = 0; k < base->n && ld->by_number; k++) { /* addends: of 64 bits, and the same in all iterations */
    if (base->add[k].ins == JA_NONE) continue;
    const struct ja_ins *i = &a->ins[base->add[k].ins];
    const unsigned f = mx_w_operand(i->w, base->add[k].operand);
    ld->by_number = base->sign_extends && base->add[k].wide &&
                    (f >= MX_LIT || (!ja_has(p->out, ja_slot(a, MX_R64, f)) && ja_has(p->in, ja_slot(a, MX_R64, f))));
  }
  if (!ld->by_number) return bad;
  gcc_jit_rvalue *variable, *off = lw_u64(l, lw_offset(l, ld->at + 1, &variable));
  if (variable) off = variable;
  for (unsigned k = 0; k < base->n; k++) {
    if (base->add[k].ins == JA_NONE) continue;
    l->ins = &a->ins[base->add[k].ins];
    off =
        U64(PLUS, off, U64(MULT, jv_scalar(j, lw_operand(l, base->add[k].operand, 0)), lw_u64(l, base->add[k].factor)));
  }
  off = jx_keep(j, off);
  gcc_jit_rvalue *of_none = jx_keep(j, U64(MINUS, off, ld->lo)); /* number 0's offset within the bounds */
  bad = lw_either(l, bad, IS(GT, of_none, ld->limit));
  bad = lw_either(l, bad, IS(NE, U64(BITWISE_AND, off, lw_u64(l, ld->bytes - 1)), lw_u64(l, 0)));
  gcc_jit_rvalue *most =
      jx_keep(j, U64(RSHIFT, U64(MINUS, ld->limit, of_none), lw_u64(l, (uint64_t)__builtin_ctzll(scale))));
  bad = lw_either(l, bad, IS(GT, most, lw_u64(l, INT32_MAX))); /* up to there, signs do not matter */
  ld->limit = jx_keep(j, cast(l, most, j->t_u32));
  share_limit(l, p, ld);
  ld->host = jx_keep(j, U64(PLUS, ld->host, off));
  return bad;
}

/* The address of the current lane's elements, which are within bounds; otherwise all of it is bailout. */
static gcc_jit_rvalue *element_address(struct lw *l, const struct lw_scalar_loop *p, const struct load *ld) {
  struct jx *j = &l->j;
  const struct lw_base *base = &l->based[ld->ins - l->a->ins];
  gcc_jit_rvalue *outside = NULL, *odd = NULL, *at;
  if (ld->by_number) {
    gcc_jit_rvalue *number = lw_get(l, base->slot, MX_T_u32, 0).r[0];
    const uint64_t low = (ld->bytes - 1) / base->post_scale;
    if (!ld->checked) outside = IS(GT, number, ld->limit);
    if (base->post_scale % ld->bytes)
      odd = IS(NE, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32, number, jx_int(j, j->t_u32, low)),
               jx_int(j, j->t_u32, 0));
    at = U64(MULT, cast(l, number, j->t_u64), lw_u64(l, base->post_scale));
  } else {
    gcc_jit_rvalue *variable;
    const uint64_t off = lw_offset(l, ld->at + 1, &variable);
    at = jx_keep(
        j, lw_address(l, ld->at, 0, variable ? jv_broadcast(j, MX_T_u64, variable) : jv_k(j, MX_T_u64, off)).r[0]);
    outside = IS(GT, U64(MINUS, at, ld->lo), ld->limit);
    if (ld->bytes > 1) odd = IS(NE, U64(BITWISE_AND, at, lw_u64(l, ld->bytes - 1)), lw_u64(l, 0));
  }
  gcc_jit_rvalue *const wrong[] = {outside, odd};
  for (int k = 0; k < 2; k++) {
    if (!wrong[k]) continue;
    gcc_jit_block *right = lw_new_block(l, "right");
    lw_split(l, never(l, wrong[k]), p->bailout, right);
    j->b = right;
  }
  return jx_keep(j, gcc_jit_context_new_bitcast(j->c, NULL, U64(PLUS, ld->host, at), j->t_pu8));
}
static void build_load(struct lw *l, const struct lw_scalar_loop *p, const struct load *ld) {
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
  const uint32_t slot = ja_slot(l->a, bits == 64 ? MX_R64 : MX_R32, mx_w_operand(ld->ins->w, 0));
  if (ac.elements == 1 && bits >= 32 && !behind && mx__types[ld->ins->o->opnd[0].type].bits == bits &&
      ja_has(l->floats, slot)) {
    jx_set(j, lw_one(l, slot), jx_rv(lw_field(l, address, 0, bits == 64 ? j->vf64 : j->vf32)));
    return;
  }
  jv v[4];
  /* all of them before the first result, which may go to the address's slot */
  for (unsigned e = 0; e < ac.elements; e++) {
    gcc_jit_rvalue *r =
        jx_keep(j, cast(l, jx_rv(lw_field(l, address, (uint64_t)e * (bits / 8), cell)), jx_vector(j, bits == 64)));
    v[e] = (jv){.t = ac.type, .u = true, .r = {r, r}};
  }
  for (unsigned e = 0; e < ac.elements; e++) lw_put(l, e, 0, jv_cvt(j, ld->ins->o->opnd[e].type, ac.type, v[e]));
  if (!behind) return;
  lw_go(l, behind);
  j->b = behind;
}

/* ---- a lane's turn ----------------------------------------------------------------------------------------------*/
/* NaNs become canonical in slots of `set` where they have to be: behind the loop, and where its next round begins. */
static void clean(struct lw *l, const struct lw_scalar_loop *p, const uint64_t *set, bool behind) {
  const struct ja_block *h = &l->a->blocks[p->head], *end = &l->a->blocks[p->behind];
  for (uint32_t s = 0; s < l->a->nslots; s++)
    if (ja_has(set, s) && ja_has(l->raw, s) && !(ja_has(h->raw_in, s) && (!behind || ja_has(end->raw_in, s))))
      lw_set_one(l, s, lw_clean(l, s, lw_get(l, s, MX_T_u32, 0)).r[0]);
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
  jx_set(j, p->left, jx_rv(p->iterations));
  lw_go(l, p->body);
}
/* The turn ends, after block number n of the chain, or because no round is left (n < 0). */
static void end_turn(struct lw *l, struct lw_scalar_loop *p, int n) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *done = U64(MULT, U64(MINUS, jx_rv(p->iterations), jx_rv(p->left)), lw_u64(l, p->nblocks));
  clean(l, p, p->out, n >= 0);
  jx_set(j, p->turn, U64(PLUS, done, lw_u64(l, (uint64_t)(n + 1))));
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
  jx_set(j, p->sum, U64(PLUS, jx_rv(p->sum), U64(PLUS, jx_rv(p->turn), lw_u64(l, LANE * p->nblocks / p->lane_cost))));
  gcc_jit_block *longer = lw_new_block(l, "longer"), *other = lw_new_block(l, "other");
  lw_split(l, IS(GT, jx_rv(p->turn), jx_rv(p->longest)), longer, other);
  j->b = longer;
  jx_set(j, p->longest, jx_rv(p->turn));
  lw_go(l, other);
  j->b = other;
  jx_set(j, p->todo, lw_but_lowest(l, jx_rv(p->todo)));
  lw_split(l, IS(NE, jx_rv(p->todo), lw_u64(l, 0)), next, behind);
}
/* One block of a round, number n of the chain. */
static void build_block(struct lw *l, struct lw_scalar_loop *p, unsigned n, const struct load **load) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[p->block[n]];
  l->block = p->block[n];
  for (uint32_t k = b->first; k < b->end; k++) {
    l->ins = &a->ins[k];
    if (l->marks) lw_mark(l);
    if (l->ins->op == MX_BRA) break;
    lw_hold_guard(l);
    memcpy(l->raw_after, l->raw, 8 * a->words);
    ja_float_step(a, l->ins, b->preserved, l->flt, l->raw_after);
    if (l->ins->o->cls == MX_MEM) build_load(l, p, (*load)++);
    else if (!lw_compute(l)) abort(); /* has_form() said that it could be */
    memcpy(l->raw, l->raw_after, 8 * a->words);
  }
  bool exits = false;
  for (uint32_t k = 0; k < b->nsucc; k++) exits |= b->succ[k] == p->behind;
  if (!exits) return;
  gcc_jit_block *stay = lw_new_block(l, "stay"), *out = lw_new_block(l, "out");
  const bool taken = a->block_of_pc[mx_w_target(*l->ins->w)] == p->behind;
  lw_split(l, j->isa->mask_any(j, lw_guard(l, 0)), taken ? out : stay, taken ? stay : out);
  j->b = out;
  end_turn(l, p, (int)n);
  j->b = stay;
}
static void build_iteration(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  const struct load *load = p->load;
  j->b = p->body;
  for (unsigned n = 0; n < p->nblocks; n++) build_block(l, p, n, &load);
  clean(l, p, l->a->blocks[p->head].live_in, false);
  gcc_jit_block *over = lw_new_block(l, "over");
  jx_set(j, p->left, U64(MINUS, jx_rv(p->left), lw_u64(l, 1)));
  lw_split(l, IS(NE, jx_rv(p->left), lw_u64(l, 0)), p->body, over);
  j->b = over;
  end_turn(l, p, -1);
}

/* ---- before the loop, and behind it -----------------------------------------------------------------------------*/
/* What lanes begin with goes to where each finds its own. */
static void bring_slots(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(p->in, s) && !ja_has(p->out, s)) continue;
    const bool here = ja_has(p->in, s), one = here && ja_has(a->blocks[p->head].uni_in, s);
    if (one) continue; /* bring_uniform() */
    if (lw_class(a, s) != MX_PRED) {
      if (here && !ja_has(l->saved, s)) move(l, false, s);
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
    gcc_jit_rvalue *v = jx_rv(lw_one(l, s));
    v = lw_class(a, s) == MX_PRED ? j->isa->mask_any(j, v) : j->isa->first(j, lw_class(a, s) == MX_R64, v);
    turn_to(one, l);
    if (ja_has(p->moved, s)) p->begin[s] = jx_local(j, slot_type(one, s)), p->end[s] = jx_local(j, slot_type(one, s));
    v = cast(one, v, slot_type(one, s));
    if (ja_has(p->moved, s)) jx_set(&one->j, p->begin[s], v);
    else lw_set_one(one, s, v);
  }
}
/* All lanes have had their turn. */
static void take_back(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(p->out, s) || ja_has(p->moved, s)) continue;
    if (lw_class(a, s) != MX_PRED) move(l, true, s);
    else
      for (unsigned c = 0; c < l->nc; c++) jx_set(j, lw_var(l, s, c), j->isa->mask_of(j, jx_rv(p->begin[s]), j->w * c));
  }
}
static void count(struct lw *l, const struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  gcc_jit_rvalue *back = NULL;
  for (unsigned n = 0; n < p->nblocks; n++) { /* so often block n was run */
    gcc_jit_rvalue *times =
        U64(DIVIDE, U64(PLUS, jx_rv(p->longest), lw_u64(l, p->nblocks - 1 - n)), lw_u64(l, p->nblocks));
    if (n == p->back + 1) back = times = jx_keep(j, times);
    jx_set(j, l->steps, U64(PLUS, jx_rv(l->steps), U64(MULT, times, lw_u64(l, a->blocks[p->block[n]].steps))));
    if (a->clocks)
      jx_set(j, l->ticks, U64(PLUS, jx_rv(l->ticks), U64(MULT, times, lw_u64(l, a->blocks[p->block[n]].ticks))));
  }
  if (!back) { /* the way to the header: where no lane has stayed, not behind the last round */
    gcc_jit_rvalue *none = cast(l, IS(EQ, jx_rv(p->rest), lw_u64(l, 0)), j->t_u64);
    back = U64(DIVIDE, U64(MINUS, jx_rv(p->longest), none), lw_u64(l, p->nblocks));
  }
  gcc_jit_lvalue *slice = lw_field(l, l->x, MX_AT(exec, slice), j->t_int);
  jx_set(j, slice, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, jx_rv(slice), cast(l, back, j->t_int)));
}
/* Whether the iterations would have cost less than the turns have. */
static void judge(struct lw *l, const struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *cost = lw_u64(l, p->cost);
  bool steady;
  for (unsigned k = 0; k < p->nloads; k++) {
    load_cost(l, &p->load[k], false, &steady);
    if (!steady) continue;
    const struct lw_base *base = &l->based[p->load[k].ins - l->a->ins];
    gcc_jit_rvalue *rows = U64(BITWISE_AND, jx_rv(l->shapes[base->slot].kind),
                               lw_u64(l, MX_JIT_SAME | lw_shape_bit(base, p->load[k].bytes)));
    cost =
        U64(PLUS, cost, U64(MULT, cast(l, IS(EQ, rows, lw_u64(l, 0)), j->t_u64), lw_u64(l, gathered(l, &p->load[k]))));
  }
  gcc_jit_block *bad = lw_new_block(l, "bad"), *good = lw_new_block(l, "good");
  lw_split(l, IS(GT, U64(MULT, jx_rv(p->sum), lw_u64(l, p->lane_cost)), U64(MULT, jx_rv(p->longest), cost)), bad, good);
  j->b = bad;
  jx_set(j, off_count(l, p), jx_int(j, j->t_u32, TIMES_OFF));
  lw_go(l, good);
  j->b = good;
}
/* Some lanes have left, those of `rest` have not, and go on: as behind a divergent branch. */
static void part_from(struct lw *l, struct lw_scalar_loop *p) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *left[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *rest = jx_keep(j, j->isa->mask_of(j, jx_rv(p->rest), j->w * c));
    left[c] = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, rest, jx_rv(l->cm[c])));
  }
  gcc_jit_block *some = lw_new_block(l, "left"), *on = lw_new_block(l, "rest");
  lw_split(l, lw_any(l, left), some, on);
  j->b = some;
#define ADD(to_, m_) jx_set(j, to_, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, jx_rv(to_), m_))
  for (unsigned c = 0; c < l->nc; c++) {
    ADD(lw_expected(l, p->behind)[c], jx_rv(l->cm[c]));
    ADD(lw_pending(l, p->behind)[c], left[c]);
    jx_set(j, l->cm[c], jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, jx_rv(l->cm[c]), left[c]));
  }
#undef ADD
  lw_go(l, on);
  j->b = on;
}
static void leave_loop(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const uint32_t head = p->head;
  const struct ja_block *h = &a->blocks[head], *end = &a->blocks[p->behind];
  gcc_jit_block *some = lw_new_block(l, "some"), *none = lw_new_block(l, "none");
  lw_split(l, lw_rare(l, IS(NE, jx_rv(p->rest), lw_u64(l, 0))), some, none);
  j->b = none;
  for (uint32_t s = 0; s < a->nslots; s++)
    if (ja_has(p->out, s)) {
      ja_del(l->uni, s);
      if (!ja_has(end->raw_in, s)) ja_del(l->raw, s);
    }
  lw_edge(l, p->behind, false);
  memcpy(l->uni, h->uni_in, 8 * a->words), memcpy(l->raw, h->raw_in, 8 * a->words);
  j->b = some;
  part_from(l, p);
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(p->out, s)) continue;
    if (ja_has(p->moved, s)) {
      const unsigned cls = lw_class(a, s);
      gcc_jit_rvalue *v = jx_rv(p->end[s]);
      jx_set(j, lw_one(l, s),
             cls == MX_PRED ? j->isa->mask_fill(j, cast(l, v, j->t_u64)) : j->isa->broadcast(j, cls == MX_R64, v));
    } else lw_shape_enter(l, s, head);
  }
  lw_go(l, l->head[head]);
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
  memcpy(l->saved, l->saved_in + (size_t)head * a->words, 8 * a->words);
  j->b = p->start;
  struct lw *one = &p->one;
  *one = *l;
  jx_init(&one->j, j->c, j->isa->one);
  one->j.fn = j->fn;
  turn_to(one, l);
  one->nc = 1, one->one_lane = true, one->slots_spilled = false;
  one->floats = p->floats;
  one->u = lw_need(sizeof *one->u * (a->nslots + 1));
  p->begin = lw_need(sizeof *p->begin * (a->nslots + 1)), p->end = lw_need(sizeof *p->end * (a->nslots + 1));
  uint64_t *sets = lw_need(8 * 4 * (size_t)a->words);
  one->uni = one->uni_after = sets, one->flt = sets + a->words, one->raw = one->flt + a->words,
  one->raw_after = one->raw + a->words;
  memset(sets, 0xFF, 8 * a->words);
  memcpy(one->flt, l->flt, 8 * a->words), memcpy(one->raw, l->raw, 8 * a->words);
  gcc_jit_lvalue **const locals[] = {&p->todo, &p->rest, &p->lane,    &p->iterations,
                                     &p->left, &p->turn, &p->longest, &p->sum};
  for (size_t k = 0; k < sizeof locals / sizeof *locals; k++) *locals[k] = jx_local(j, j->t_u64);
  p->vector = l->head[head];
  p->bailout = lw_new_block(l, "bailout"), p->body = lw_new_block(l, "round"), p->put = lw_new_block(l, "put");

  gcc_jit_block *off = lw_new_block(l, "off"), *on = lw_new_block(l, "on"), *good = lw_new_block(l, "good");
  gcc_jit_block *next = lw_new_block(l, "turn"), *behind = lw_new_block(l, "behind");
  gcc_jit_rvalue *times = jx_keep(j, jx_rv(off_count(l, p)));
  lw_split(l, IS(NE, times, jx_int(j, j->t_u32, 0)), off, on);
  j->b = off;
  jx_set(j, off_count(l, p), jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u32, times, jx_int(j, j->t_u32, 1)));
  lw_go(l, p->vector);
  j->b = on;
  gcc_jit_rvalue *slice = jx_keep(j, jx_rv(lw_field(l, l->x, MX_AT(exec, slice), j->t_int)));
  gcc_jit_rvalue *bad = IS(LE, slice, jx_int(j, j->t_int, 1));
  bad = lw_either(l, bad,
                  IS(LE, jx_rv(lw_field(l, l->x, MX_AT(exec, resched_rank), j->t_u32)), jx_int(j, j->t_u32, h->rank)));
  turn_to(one, l);
  bring_uniform(l, p);
  for (unsigned k = 0; k < p->nloads; k++) bad = lw_either(one, bad, prepare_load(one, p, &p->load[k]));
  lw_split(one, lw_rare(one, bad), p->vector, good);
  turn_to(l, one);
  j->b = good;
  bring_slots(l, p);
  gcc_jit_rvalue *m[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) m[c] = jx_rv(l->cm[c]);
  jx_set(j, p->todo, lw_pack(l, m));
  jx_set(j, p->iterations,
         cast(l, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, slice, jx_int(j, j->t_int, 1)), j->t_u64));
  jx_set(j, p->rest, lw_u64(l, 0)), jx_set(j, p->longest, lw_u64(l, 0)), jx_set(j, p->sum, lw_u64(l, 0));
  lw_go(l, next);
  turn_to(one, l)->j.b = next;
  begin_turn(one, p);
  build_iteration(one, p);
  one->j.b = p->put;
  put_back(one, p, next, behind);
  one->j.b = p->bailout;
  jx_set(&one->j, off_count(one, p), jx_int(j, j->t_u32, TIMES_OFF));
  lw_go(one, p->vector);
  turn_to(l, one);
  j->b = behind;
  take_back(l, p);
  count(l, p);
  judge(l, p);
  leave_loop(l, p);
  free(sets), free(one->u);
}

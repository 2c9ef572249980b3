/* Builds a function block by block, and the instructions of each block in order: barriers, sleeps and calls of the
 * interpreter's bodies here, arithmetic in outline.c (from meaning.c), accesses in memory.c and atomics.c, operands and
 * results in slots.c, edges between blocks in edges.c, entries and exits in exits.c.
 *
 * 1. cm[] are the active lanes, em[] all lanes of the split. In blocks that are `converged` they are equal (edges.c).
 * 2. At any point a slot is either uniform (one vector) or has a vector for each chunk, as the analysis says; edges
 * convert between these forms. Slots that are not live have undefined contents. 3. At an exit the instruction at its pc
 * has not been executed (exits.c). */
#include "lower.h"

#include "lowering.h"
#include "meaning.h"
#include "breakpoints.h"

#include "vm/exec/jitabi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X_FIELD(m_) MX_AT(exec, m_)

void *lw_need(size_t n) {
  void *p = calloc(1, n ? n : 1);
  if (!p) abort(); /* a process of its own */
  return p;
}

/* ---- statements of control ------------------------------------------------------------------------------*/
gcc_jit_block *lw_new_block(struct lw *l, const char *what) {
  char name[48];
  snprintf(name, sizeof name, "%s_%u", what, l->j.serial++);
  return gcc_jit_function_new_block(l->j.fn, name);
}
void lw_go(struct lw *l, gcc_jit_block *to) { gcc_jit_block_end_with_jump(l->j.b, NULL, to); }
void lw_split(struct lw *l, gcc_jit_rvalue *cond, gcc_jit_block *yes, gcc_jit_block *no) {
  gcc_jit_block_end_with_conditional(l->j.b, NULL, cond, yes, no);
}
gcc_jit_rvalue *lw_u64(struct lw *l, uint64_t v) { return jx_int(&l->j, l->j.t_u64, v); }
gcc_jit_rvalue *lw_all_lanes(struct lw *l) { return lw_u64(l, UINT64_MAX >> (64 - l->a->lanes)); }
gcc_jit_rvalue *lw_compare(struct lw *l, enum gcc_jit_comparison op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return gcc_jit_context_new_comparison(l->j.c, NULL, op, x, y);
}
gcc_jit_rvalue *lw_either(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return x ? gcc_jit_context_new_binary_op(l->j.c, NULL, GCC_JIT_BINARY_OP_BITWISE_OR, l->j.t_bool, x, y) : y;
}
gcc_jit_rvalue *lw_rare(struct lw *l, gcc_jit_rvalue *cond) {
  gcc_jit_type *t = gcc_jit_context_get_type(l->j.c, GCC_JIT_TYPE_LONG);
  gcc_jit_rvalue *args[2] = {gcc_jit_context_new_cast(l->j.c, NULL, cond, t), gcc_jit_context_zero(l->j.c, t)};
  gcc_jit_rvalue *e =
      gcc_jit_context_new_call(l->j.c, NULL, gcc_jit_context_get_builtin_function(l->j.c, "__builtin_expect"), 2, args);
  return lw_compare(l, GCC_JIT_COMPARISON_NE, e, args[1]);
}
gcc_jit_rvalue *lw_any(struct lw *l, gcc_jit_rvalue *const *m) {
  gcc_jit_rvalue *any = m[0];
  for (unsigned c = 1; c < l->nc; c++) any = jx_op(&l->j, GCC_JIT_BINARY_OP_BITWISE_OR, l->j.t_mask, any, m[c]);
  return l->j.isa->mask_any(&l->j, any);
}
gcc_jit_rvalue *lw_pack(struct lw *l, gcc_jit_rvalue *const *m) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *all = NULL;
  const unsigned n = j->isa->four_masks && l->nc % 4 == 0 ? 4 : 1;
  for (unsigned c = 0; c < l->nc; c += n) {
    gcc_jit_rvalue *w = n == 4 ? j->isa->four_masks(j, &m[c]) : j->isa->mask_bits(j, m[c]);
    if (c) w = jx_op(j, GCC_JIT_BINARY_OP_LSHIFT, j->t_u64, w, jx_int(j, j->t_u64, j->w * c));
    all = all ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u64, all, w) : w;
  }
  return jx_keep(j, all);
}
static gcc_jit_rvalue *of_bits(struct lw *l, const char *builtin, gcc_jit_rvalue *mask) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *arg =
      gcc_jit_context_new_cast(j->c, NULL, mask, gcc_jit_context_get_type(j->c, GCC_JIT_TYPE_UNSIGNED_LONG_LONG));
  gcc_jit_rvalue *n =
      gcc_jit_context_new_call(j->c, NULL, gcc_jit_context_get_builtin_function(j->c, builtin), 1, &arg);
  return jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, n, j->t_u64));
}
gcc_jit_rvalue *lw_lowest(struct lw *l, gcc_jit_rvalue *mask) { return of_bits(l, "__builtin_ctzll", mask); }
gcc_jit_rvalue *lw_highest(struct lw *l, gcc_jit_rvalue *mask) {
  return lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_XOR, of_bits(l, "__builtin_clzll", mask), lw_u64(l, 63));
}
gcc_jit_rvalue *lw_but_lowest(struct lw *l, gcc_jit_rvalue *mask) {
  struct jx *j = &l->j;
  return jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, mask,
               jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, mask, lw_u64(l, 1)));
}
gcc_jit_rvalue *lw_count(struct lw *l, gcc_jit_rvalue *mask) { return of_bits(l, "__builtin_popcountll", mask); }
void lw_for_lanes(struct lw *l, gcc_jit_rvalue *mask, void (*build)(struct lw *, gcc_jit_rvalue *, const void *),
                  const void *with) {
  struct jx *j = &l->j;
  gcc_jit_lvalue *left = jx_local(j, j->t_u64);
  jx_set(j, left, mask);
  gcc_jit_block *next = lw_new_block(l, "next"), *lane = lw_new_block(l, "lane"), *over = lw_new_block(l, "over");
  lw_go(l, next);
  j->b = next;
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(left), lw_u64(l, 0)), lane, over);
  j->b = lane;
  build(l, lw_lowest(l, jx_rv(left)), with);
  jx_set(j, left, lw_but_lowest(l, jx_rv(left)));
  lw_go(l, next);
  j->b = over;
}
uint32_t lw_steps(const struct lw *l, uint32_t n) {
  const struct ja_block *b = &l->a->blocks[l->block];
  return n == b->end - b->first ? b->steps : l->a->ins[b->first + n].steps;
}
uint32_t lw_ticks(const struct lw *l, uint32_t n) {
  const struct ja_block *b = &l->a->blocks[l->block];
  return !l->a->clocks ? 0 : n == b->end - b->first ? b->ticks : l->a->ins[b->first + n].ticks;
}
void lw_store_steps(struct lw *l) {
  struct jx *j = &l->j;
  jx_set(j, lw_field(l, l->state, MX_AT(jit_state, steps), j->t_u64), jx_rv(l->steps));
  if (l->a->clocks) jx_set(j, lw_field(l, l->state, MX_AT(jit_state, ticks), j->t_u64), jx_rv(l->ticks));
}
void lw_add_steps(struct lw *l, uint32_t n) {
  struct jx *j = &l->j;
  const uint32_t ticks = lw_ticks(l, n);
  if (ticks)
    jx_set(j, l->ticks, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(l->ticks), jx_int(j, j->t_u64, ticks)));
  n = lw_steps(l, n);
  if (n) jx_set(j, l->steps, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(l->steps), jx_int(j, j->t_u64, n)));
  lw_counters_block(l);
}

static bool by_meaning(struct lw *l);

/* ---- an instruction by the interpreter's body ------------------------------------------------------------*/
/* Behind a fallback that has returned `left`. Where the body leaves compiled code, the exit is of that kind at pc, with
 * `live` being live there. With MX_JIT_GO the body has done nothing then, and the machine executes the instruction. */
static void behind_body(struct lw *l, uint32_t fallback, gcc_jit_rvalue *left, enum mx_jit_exit kind, uint32_t pc,
                        const uint64_t *live) {
  const struct ja *a = l->a;
  uint64_t *still = lw_need(8 * a->words); /* live slots that are not in the frame already */
  memcpy(still, live, 8 * a->words);
  for (unsigned k = 1; k <= l->ndeferred; k++) ja_del(still, ja_slot(a, MX_R64, mx_w_operand(l->ins[-(int)k].w, 0)));
  const uint32_t number = (uint32_t)(l->ins - &a->ins[a->blocks[l->block].first]);
  lw_leave_if_left(l, fallback, left, kind, pc, number + (kind != MX_JIT_GO), still);
  free(still);
  lw_reload_after_fallback(l);
}
void lw_behind_body(struct lw *l, uint32_t fallback, gcc_jit_rvalue *left) {
  behind_body(l, fallback, left, MX_JIT_EVENT, l->ins->pc, l->live);
}
static void run_body(struct lw *l, enum mx_jit_exit kind, uint32_t pc, const uint64_t *live) {
  const uint32_t fallback = lw_spill_for_fallback(l);
  behind_body(l, fallback, lw_fallback(l, fallback), kind, pc, live);
}
void lw_interpret(struct lw *l) { run_body(l, MX_JIT_EVENT, l->ins->pc, l->live); }
void lw_end_with_fallback(struct lw *l, gcc_jit_block *slow, gcc_jit_block *end) {
  lw_go(l, end);
  l->j.b = slow;
  lw_interpret(l);
  lw_go(l, end);
  l->j.b = end;
}
/* A nap, which may use up the slice. */
static void sleep_step(struct lw *l) {
  run_body(l, MX_JIT_SLICE, l->ins->pc + mx_w_length(*l->ins->w), l->live + l->a->words);
}

/* ---- instructions that end something ----------------------------------------------------------------------------*/
/* All lanes end, `steps` instructions of the block having been executed. */
static void done(struct lw *l, uint32_t steps) {
  lw_add_steps(l, steps);
  lw_warp_ends(l);
}

/* ---- instructions --------------------------------------------------------------------------------------*/
static bool by_meaning(struct lw *l) {
  const struct mx_op_info *o = l->ins->o;
  if (!jx_meanings[l->ins->op]) return false;
  unsigned nout = 0;
  while (nout < o->nopnds && o->opnd[nout].role == MX_OUT) nout++;
  bool uniform = true;
  for (unsigned k = nout; k < o->nopnds; k++)
    if (o->opnd[k].type < MX_T_raw) uniform &= lw_operand_uniform(l, k);
  const bool canon =
      (o->flags & (MX_F_CANON | MX_F_CANONICAL)) == MX_F_CANON &&
      !ja_has(l->raw_after, ja_slot(l->a, mx__types[o->opnd[0].type].slot_class, mx_w_operand(l->ins->w, 0)));
  jv d[LW_CHUNKS], q[LW_CHUNKS];
  const unsigned n = uniform ? 1 : l->nc;
  const bool stale = !uniform && lw_stale_floats(l, l->ins);
  jv in[8] = {{0}};
  for (unsigned c = 0; c < n; c++) {
    for (unsigned k = nout; k < o->nopnds && k - nout < 8; k++)
      if (o->opnd[k].type >= MX_T_raw) in[k - nout] = jv_k(&l->j, MX_T_u32, mx_w_operand(l->ins->w, k));
      else if (!c || !lw_operand_uniform(l, k)) in[k - nout] = lw_operand(l, k, c);
    if (jx_row(&l->j, l->ins->op, mx_w_mod(*l->ins->w), canon, in, o->nopnds - nout, stale ? jx_rv(l->cm[c]) : NULL,
               &d[c], &q[c]))
      continue;
    l->j.bad = false;
    return false;
  }
  for (unsigned c = 0; c < l->nc; c++) {
    if (c >= n) d[c] = d[0], q[c] = q[0];
    lw_put(l, 0, c, d[c]);
  }
  for (unsigned c = 0; nout > 1 && c < l->nc; c++) lw_put(l, 1, c, q[c]);
  return true;
}

/* For ja_moves_halves(). */
static bool halves(struct lw *l) {
  const bool joins = l->ins->op == MX_PACK_128, parts = l->ins->op == MX_UNPACK_128;
  const unsigned in = parts ? 2 : 1;
  if (!joins && mx_w_operand(l->ins->w, in) >= MX_LIT) return false;
  jv v[2];
  for (unsigned c = 0; c < l->nc; c++) {
    for (unsigned h = 0; h < 2; h++) { /* both halves are read first: a result may overwrite an operand */
      if (c && (joins ? lw_operand_uniform(l, in + h) : lw_half_uniform(l, in, h))) continue;
      v[h] = joins ? lw_operand(l, in + h, c) : lw_half(l, in, h, c);
      for (unsigned p = 0; p < 2; p++) v[h].r[p] = jx_keep(&l->j, v[h].r[p]);
    }
    for (unsigned h = 0; h < 2; h++)
      if (parts) lw_put(l, h, c, v[h]);
      else lw_put_half(l, 0, h, c, v[h]);
  }
  return true;
}
static bool special(struct lw *l) {
  struct jx *j = &l->j;
  const mx_word w = *l->ins->w;
  if (l->ins->o->flags & MX_F_MOVI) {
    const uint64_t v = (uint64_t)(int64_t)(int32_t)mx_w_movi(w);
    for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, jv_k(j, l->ins->o->opnd[0].type, v));
    return true;
  }
  if (ja_moves_halves(l->ins)) return halves(l);
  if (l->ins->op != MX_SREG_32 && l->ins->op != MX_SREG_64) return false;
  if (ja_local(l->a, l->ins)) {
    jv v = jv_broadcast(j, MX_T_u64, lw_local_memory(l));
    for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, v);
    return true;
  }
  const unsigned number = mx_w_operand(l->ins->w, 1);
  const struct mx_sreg_info *r = &mx__sregs[number];
  if (r->varies == MX_PER_WARP && number != MX_SR_WARPID) return false; /* a register of the frame */
  const bool wide = l->ins->op == MX_SREG_64;
  if (r->varies != MX_PER_LANE) {
    gcc_jit_rvalue *value =
        jx_keep(j, jx_rv(lw_field(l, l->x, X_FIELD(sreg) + 8 * number, wide ? j->t_u64 : j->t_u32)));
    const jv v = jv_number(j, wide ? MX_T_u64 : MX_T_u32, value);
    for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, v);
    return true;
  }
  if (jx_wide(r->type) != wide) return false;
  gcc_jit_rvalue *p = jx_keep(
      j, jx_rv(lw_field(l, l->x, (wide ? X_FIELD(sreg_lanes64) : X_FIELD(sreg_lanes32)) + 8 * number, j->t_pu8)));
  for (unsigned c = 0; c < l->nc; c++) {
    jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
      v.r[h] = j->isa->load(j, wide, lw_vector(l, p, j->bytes * (wide ? 2 * c + h : c), wide));
    if (!wide) v.r[1] = v.r[0];
    lw_put(l, 0, c, v);
  }
  return true;
}

/* Results that are known. */
static bool constants(struct lw *l) {
  const struct mx_op_info *o = l->ins->o;
  if (!l->ins->known || l->one_lane || l->loop) return false; /* a loop is built for no chunk in particular */
  for (unsigned k = 0; k < o->nopnds && o->opnd[k].role == MX_OUT; k++)
    if (!ja_known(l->ins, k)) return false;
  for (unsigned k = 0; k < o->nopnds && o->opnd[k].role == MX_OUT; k++)
    for (unsigned c = 0; c < l->nc; c++) lw_put(l, k, c, lw_known(l, o->opnd[k].type, ja_known(l->ins, k), c));
  return true;
}

bool lw_compute(struct lw *l) {
  return constants(l) || special(l) || lw_compute_numbers(l) || by_meaning(l) || lw_directed(l);
}

/* ---- instructions that may block ---------------------------------------------------------------------------*/
/* A condition: some lanes of the split are elsewhere or, with `expected`, are expected where branches reconverge. NULL:
 * it never holds. */
static gcc_jit_rvalue *is_diverged(struct lw *l, bool expected) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[l->block];
  gcc_jit_rvalue *m[LW_CHUNKS] = {NULL};
  for (unsigned c = 0; c < l->nc && !b->converged; c++)
    m[c] = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, jx_rv(l->cm[c]), jx_rv(l->em[c]));
  for (uint32_t k = 0; expected && k <= a->nblocks; k++)
    for (unsigned c = 0; c < l->nc && ja_has(b->open, k); c++) {
      gcc_jit_rvalue *e = jx_rv(lw_expected(l, k)[c]);
      m[c] = m[c] ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_mask, m[c], e) : e;
    }
  return m[0] ? lw_any(l, m) : NULL;
}
void lw_leave_where(struct lw *l, gcc_jit_rvalue *cond, uint32_t number_in_block) {
  if (!cond) return;
  gcc_jit_block *left = lw_new_block(l, "leave"), *on = lw_new_block(l, "stay");
  lw_split(l, cond, left, on);
  l->j.b = left;
  lw_leave(l, MX_JIT_GO, l->ins->pc, number_in_block, l->live, l->uni);
  l->j.b = on;
}
/* A condition: code may wait at such a barrier, with its state kept. */
static gcc_jit_rvalue *may_park(struct lw *l, enum mx_jit_park where) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *park = jx_rv(lw_field(l, l->state, MX_AT(jit_state, park), j->t_u32));
  park = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32, park, jx_int(j, j->t_u32, (int)where));
  return lw_compare(l, GCC_JIT_COMPARISON_NE, park, jx_int(j, j->t_u32, 0));
}
/* Barriers and warp operations. If all lanes of the warp are here, no lane waits at a warp operation, and at barrier 0
 * the warp can wait with its state kept. All other cases are left to the machine. Returned: whether code goes on in
 * j->b. */
static bool sync_step(struct lw *l, uint32_t number_in_block) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  lw_leave_where(l, is_diverged(l, l->ins->o->cls != MX_CROSS), number_in_block);
  gcc_jit_block *machine = lw_new_block(l, "machine");
  if (l->ins->o->cls == MX_CROSS) {
    gcc_jit_block *behind = lw_new_block(l, "behind"), *body = lw_new_block(l, "body");
    gcc_jit_rvalue *warp = jx_rv(lw_field(l, l->x, X_FIELD(warp), j->t_pu8));
    struct lw_tile tile;
    gcc_jit_rvalue *alive = jx_rv(lw_field(l, warp, MX_AT(warp, live), j->t_u64)),
                   *lacks = lw_cross_lacks(l, alive, &tile);
    if (lacks) {
      gcc_jit_block *here = lw_new_block(l, "here"), *rare = lw_new_block(l, "rare");
      lw_split(l, lw_rare(l, lacks), rare, here);
      j->b = here;
      lw_cross(l, &tile);
      lw_go(l, behind);
      j->b = rare;
    }
    lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, alive, jx_rv(l->emask)), body, machine);
    j->b = body; /* does nothing where lanes must wait for each other */
    run_body(l, MX_JIT_GO, l->ins->pc, l->live);
    lw_go(l, behind);
    j->b = machine;
    lw_leave(l, MX_JIT_GO, l->ins->pc, number_in_block, l->live, l->uni);
    j->b = behind;
    lw_add_steps(l, number_in_block + 1);
    return true;
  }
  gcc_jit_block *alone = NULL;
  if (ja_is_barrier(a, l->ins)) {
    gcc_jit_block *here = lw_new_block(l, "park");
    lw_split(l, may_park(l, MX_JIT_PARK_BARRIER), here, machine);
    j->b = here;
    lw_add_steps(l, number_in_block + 1);
    const uint32_t next = a->blocks[l->block].succ[0];
    if (ja_passes(a, l->ins)) {
      alone = lw_new_block(l, "alone");
      lw_warp_passes(l, lw_entry_number(l, next), alone);
    }
    lw_convert(l, next);
    lw_park(l, next, false);
  } else lw_go(l, machine);
  j->b = machine;
  lw_leave(l, MX_JIT_GO, l->ins->pc, number_in_block, l->live, l->uni);
  j->b = alone;
  return alone != NULL;
}

/* All active lanes wait at an mbarrier: if they are all lanes of the warp, it waits with its state kept. Its result is
 * the one that it has when the phase has ended. */
static void wait_at_mbarrier(struct lw *l, uint32_t number_in_block, gcc_jit_block *machine) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const size_t bytes = 8 * a->words;
  gcc_jit_rvalue *diverged = is_diverged(l, true);
  gcc_jit_block *together = lw_new_block(l, "together"), *here = lw_new_block(l, "park");
  if (diverged) lw_split(l, diverged, machine, together);
  else lw_go(l, together);
  j->b = together;
  lw_split(l, may_park(l, MX_JIT_PARK_MBARRIER), here, machine);
  j->b = here;
  lw_add_steps(l, number_in_block + 1);
  for (unsigned c = 0; l->ins->o->opnd[0].role == MX_OUT && c < l->nc; c++) lw_put(l, 0, c, jv_k(j, MX_T_pred, 1));
  uint64_t *before = lw_need(3 * bytes);
  memcpy(before, l->uni, bytes), memcpy(before + a->words, l->raw, bytes),
      memcpy(before + 2 * (size_t)a->words, l->saved, bytes);
  memcpy(l->uni, l->uni_after, bytes), memcpy(l->raw, l->raw_after, bytes);
  lw_saved_step(l);
  const uint32_t next = a->blocks[l->block].succ[0];
  lw_convert(l, next);
  lw_park(l, next, true);
  memcpy(l->uni, before, bytes), memcpy(l->raw, before + a->words, bytes),
      memcpy(l->saved, before + 2 * (size_t)a->words, bytes);
  free(before);
}
/* A wait at an mbarrier, or a test of one. Returned as above. */
static bool wait_step(struct lw *l, uint32_t number_in_block) {
  gcc_jit_block *machine = lw_new_block(l, "machine"), *lasts = NULL;
  const bool keeps = l->kernel && !l->ins->frame && l->ins->o->flags & MX_F_SYNC,
             goes_on = lw_mbarrier_has_ended(l, machine, keeps ? &lasts : NULL);
  if (goes_on) lw_add_steps(l, number_in_block + 1);
  else lw_go(l, machine);
  gcc_jit_block *on = l->j.b;
  if (lasts) {
    l->j.b = lasts;
    wait_at_mbarrier(l, number_in_block, machine);
  }
  l->j.b = machine;
  lw_leave(l, MX_JIT_GO, l->ins->pc, number_in_block, l->live, l->uni);
  l->j.b = on;
  return goes_on;
}

void lw_mark(struct lw *l) {
  char text[48];
  snprintf(text, sizeof text, "# mx %u %u", (unsigned)l->a->frames[l->ins->frame].func,
           (unsigned)l->a->origin[l->ins->pc].pc);
  gcc_jit_extended_asm_set_volatile_flag(gcc_jit_block_add_extended_asm(l->j.b, NULL, text), 1);
}

/* ---- addresses that are not needed ------------------------------------------------------------------------*/
static bool names(const struct ja_ins *i, unsigned k, uint32_t slot, const struct ja *a) {
  return mx__types[i->o->opnd[k].type].slot_class == MX_R64 && mx_w_operand(i->w, k) < MX_LIT &&
         ja_slot(a, MX_R64, mx_w_operand(i->w, k)) == slot;
}
static bool is_wide_sum(const struct ja_ins *i) {
  return (i->form == MX_FORM_ADD || i->form == MX_FORM_SHIFT) && ja_result_bits(i) == 64;
}
/* Whether instruction k of the block, which computes an address for the one access just behind it, can be deferred:
 * compiled code makes the access from the number that the address is computed from, and the instruction is built only
 * if the interpreter's body has to do the access. `waiting`: how many instructions before it are deferred already. */
static bool can_wait(const struct lw *l, uint32_t k, unsigned waiting, const struct ja_block *b, const uint64_t *live) {
  const struct ja *a = l->a;
  const struct ja_ins *i = &a->ins[k], *next = i + 1;
  const bool sum = is_wide_sum(i), product = ja_multiplies_wide(i) || i->form == MX_FORM_EXTEND;
  if (a->checked || a->counts >= MX_COUNT_MEMORY) return false; /* checkers and profiles ask for the address itself */
  if ((!sum && !product) || waiting == LW_DEFERRED || mx_w_guard(*i->w) != MX_GUARD_NONE || k + 1 == b->end ||
      l->addend[k].wanted || next->keep)
    return false;
  const uint32_t slot = ja_slot(a, MX_R64, mx_w_operand(i->w, 0));
  if (ja_has(live + (size_t)(k + 2 - b->first) * a->words,
             slot)) { /* the address is read later, and has not been overwritten by then */
    uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, next, s);
    while (n && s[n - 1] != slot) n--;
    if (!n || mx_w_guard(*next->w) != MX_GUARD_NONE) return false;
  }
  if (is_wide_sum(next))
    return (names(next, 1, slot, a) || names(next, 2, slot, a)) && can_wait(l, k + 1, waiting + 1, b, live);
  if (l->copies[k + 1]) return names(next, 2, slot, a) && !names(next, 0, slot, a);
  if (!l->based[k + 1].indexed && !l->based[k + 1].steady) return false;
  const unsigned load = mx__row_access[next->op].kind == MX_ACCESS_LOAD;
  for (unsigned e = 2; !load && e < next->o->nopnds; e++)
    if (names(next, e, slot, a)) return false;
  return names(next, load ? mx__row_access[next->op].elements : 0, slot, a);
}
bool lw_can_defer(const struct lw *l, uint32_t k, const struct ja_block *b, const uint64_t *live) {
  return can_wait(l, k, 0, b, live);
}
static void wait(struct lw *l) {
  const uint32_t slot = ja_slot(l->a, MX_R64, mx_w_operand(l->ins->w, 0));
  /* Built, the instruction would leave a vector for each chunk, in which lanes that do not run have the register's old
   * value. If it is deferred, and the access loads into the same register, the load needs these vectors. */
  const bool broadcast = ja_has(l->uni, slot) && ja_has(l->a->blocks[l->block].preserved, slot) && !l->one_lane;
  if (broadcast) lw_broadcast(l, slot), ja_del(l->uni, slot);
  if (l->ramps[slot]) lw_ramp_spread(l, slot), l->ramps[slot] = 0; /* so does the instruction, if it reads the slot */
  if (!l->ndeferred++)
    memcpy(l->deferred_uni, l->uni, 8 * l->a->words), memcpy(l->deferred_raw, l->raw, 8 * l->a->words);
  else if (broadcast) ja_del(l->deferred_uni, slot);
}

/* The cells of the current instruction's results are current if the interpreter's body wrote them on every path. */
static void note_saved(struct lw *l) {
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(l->a, l->ins, s);
  lw_saved_step(l);
  for (uint32_t k = 0; k < n && l->always; k++) ja_add(l->saved, s[k]);
  l->always = false;
}

/* ---- blocks ---------------------------------------------------------------------------------------------*/
/* To be called before each instruction is built; it is number k of its block. */
static void begin_instruction(struct lw *l, const struct ja_block *b, uint32_t k, uint64_t *live) {
  struct jx *j = &l->j;
  l->ins = &l->a->ins[b->first + k];
  l->live = live + (size_t)k * l->a->words;
  if (l->marks) lw_mark(l);
  lw_hold_guard(l);
  if (!l->ins->keep) return;
  gcc_jit_block *stop = lw_new_block(l, "stop"), *on = lw_new_block(l, "pass");
  lw_split(l, lw_rare(l, bp_leaves(l)), stop, on);
  j->b = stop;
  lw_leave(l, MX_JIT_GO, l->ins->pc, k, l->live, l->uni);
  j->b = on;
}
/* What holds of slots behind the current instruction; then that becomes what holds before the next one. */
static void find_after(struct lw *l, const struct ja_block *b) {
  const struct ja *a = l->a;
  memcpy(l->raw_after, l->raw, 8 * a->words);
  ja_float_step(a, l->ins, b->preserved, l->flt, l->raw_after);
  memcpy(l->uni_after, l->uni, 8 * a->words);
  ja_uniform_step(a, l->ins, b->preserved, l->uni_after);
  memcpy(l->ramps_after, l->ramps, sizeof *l->ramps * a->nslots);
  ja_ramp_step(a, l->ins, b->preserved, l->uni, l->ramps_after);
}
static void go_behind(struct lw *l) {
  memcpy(l->uni, l->uni_after, 8 * l->a->words);
  memcpy(l->raw, l->raw_after, 8 * l->a->words);
  memcpy(l->ramps, l->ramps_after, sizeof *l->ramps * l->a->nslots);
}
static bool makes_ramp(const struct lw *l) {
  uint32_t s[JA_MAX_TOUCH];
  return l->a->ramps && ja_defs(l->a, l->ins, s) == 1 && l->ramps_after[s[0]];
}
/* Builds instruction k of the block, which is not its last. */
static void build_ordinary(struct lw *l, const struct ja_block *b, uint32_t k, const uint64_t *live) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  find_after(l, b);
  gcc_jit_block_add_comment(j->b, NULL, l->ins->o->id);
  lw_counters_guard(l);
  lw_counters_access(l);
  lw_addend(l);
  l->moving =
      l->addend[l->ins - a->ins].moves &&
      !ja_has(l->uni_after, ja_slot(a, mx__types[l->ins->o->opnd[0].type].slot_class, mx_w_operand(l->ins->w, 0)));
  lw_note_sides(l);
  if (makes_ramp(l)) lw_ramp_build(l, k);
  else if (can_wait(l, b->first + k, l->ndeferred, b, live) && !lw_result_uniform(l, 0)) wait(l);
  else if (l->ins->op == MX_NANOSLEEP) sleep_step(l);
  else {
    if (l->ins->by_checker || !(l->ins->o->cls == MX_MEM ? lw_memory(l) || lw_atomic(l) ||
                                                               (!a->checked && (lw_async(l) || lw_mbarrier_arrive(l)))
                                                         : lw_compute(l)))
      l->always = true, lw_interpret(l);
    l->ndeferred = 0;
  }
  note_saved(l);
  l->moving = false;
  go_behind(l);
}
/* An instruction that computes part of a branch's masks: these are built by lw_build_late(). */
static void pass_late(struct lw *l, const struct ja_block *b, uint32_t k) {
  l->ins = &l->a->ins[b->first + k];
  find_after(l, b);
  lw_note_sides(l);
  note_saved(l);
  go_behind(l);
}
void lw_build_late(struct lw *l) {
  const struct ja_ins *const last = l->ins;
  const struct ja_block *b = &l->a->blocks[l->block];
  uint64_t *const end = l->live, *const live = end - (size_t)(last - &l->a->ins[b->first]) * l->a->words;
  l->notes_sides = false;
  if (l->late >= b->end - 1) return;
  memcpy(l->uni, l->late_uni, 8 * l->a->words);
  for (uint32_t k = l->late; k < b->end - 1; k++) lw_instruction(l, b, k - b->first, live);
  l->ins = last, l->live = end;
  lw_hold_guard(l);
}
void lw_instruction(struct lw *l, const struct ja_block *b, uint32_t k, uint64_t *live) {
  begin_instruction(l, b, k, live);
  build_ordinary(l, b, k, live);
}
/* Builds the versions of a run of accesses (shared_runs.c). */
static void build_run(struct lw *l, const struct ja_block *b, struct lw_run *run, uint64_t *live) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const size_t bytes = 8 * a->words;
  uint64_t *before = lw_need(4 * bytes);
  memcpy(before, l->uni, bytes), memcpy(before + a->words, l->flt, bytes), memcpy(before + 2 * a->words, l->raw, bytes);
  memcpy(before + 3 * a->words, l->saved, bytes);
  int64_t *ramps = lw_need(sizeof *ramps * (a->nslots + 1u));
  memcpy(ramps, l->ramps, sizeof *ramps * a->nslots);
  gcc_jit_block *version[LW_VERSIONS] = {lw_new_block(l, "otherwise"), run->guesses ? lw_new_block(l, "guessed") : NULL,
                                         run->tile ? lw_new_block(l, "tile") : NULL};
  gcc_jit_block *behind = lw_new_block(l, "behind");
  const bool mask_stored = l->block_masks_stored;
  lw_run_begin(l, run);
  if (run->guesses) {
    gcc_jit_block *check = lw_new_block(l, "unlike"), *like = run->tile ? lw_new_block(l, "like") : version[LW_GUESSED];
    lw_split(l, lw_rare(l, lw_run_wrong(l, run)), check, like);
    if (run->tile) {
      j->b = like;
      lw_split(l, lw_run_rows_differ(l, run), version[LW_GUESSED], version[LW_TILE]);
    }
    j->b = check;
    lw_run_numbers(l, run, false);
  }
  gcc_jit_block *outside = lw_new_block(l, "outside");
  lw_split(l, lw_rare(l, lw_run_outside(l, run)), outside, version[LW_OTHERWISE]);
  j->b = outside;
  lw_leave(l, MX_JIT_GO, a->ins[run->first].pc, run->first - b->first,
           live + (size_t)(run->first - b->first) * a->words, l->uni);
  l->run = run;
  for (int v = 0; v < LW_VERSIONS && version[v]; v++) {
    j->b = version[v];
    l->version = v;
    memcpy(l->uni, before, bytes), memcpy(l->flt, before + a->words, bytes),
        memcpy(l->raw, before + 2 * a->words, bytes);
    memcpy(l->saved, before + 3 * a->words, bytes);
    memcpy(l->ramps, ramps, sizeof *ramps * a->nslots);
    l->block_masks_stored = mask_stored;
    lw_run_version_begin(l);
    for (uint32_t k = run->first - b->first; k < run->end - b->first;) {
      const uint32_t end = lw_loop_end(l, b, k, live);
      if (end > k) lw_loop(l, b, k, end, live), k = end;
      else lw_instruction(l, b, k++, live);
    }
    lw_go(l, behind);
    memset(l->known_rows, 0, sizeof *l->known_rows * a->nslots); /* each version has made its own tests */
  }
  l->run = NULL;
  l->block_masks_stored = mask_stored;
  j->b = behind;
  free(before), free(ramps);
}

/* Where a block has many accesses to memory, the functions that they call find the active lanes' masks in memory: that
 * takes fewer statements than to pass them. */
#define MANY_ACCESSES 4
static uint32_t accesses(const struct ja *a, const struct ja_block *b) {
  uint32_t n = 0;
  for (uint32_t k = b->first; k < b->end; k++) n += mx__row_access[a->ins[k].op].elements != 0;
  return n;
}
static void build_block(struct lw *l, uint32_t number) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const struct ja_block *b = &a->blocks[number];
  l->block = number;
  l->block_masks_stored = false;
  j->b = l->head[number];
  const uint32_t n = b->end - b->first;
  uint64_t *live = lw_need(8 * (size_t)a->words * (n + 1)), *at = live + (size_t)n * a->words;
  ja_live_out(a, number, at);
  for (uint32_t k = n; k--;) {
    memcpy(live + (size_t)k * a->words, live + (size_t)(k + 1) * a->words, 8 * a->words);
    ja_live_step(a, &a->ins[b->first + k], b->preserved, live + (size_t)k * a->words);
  }
  l->live_end = at;
  memcpy(l->uni, b->uni_in, 8 * a->words);
  memcpy(l->flt, b->float_in, 8 * a->words);
  memcpy(l->raw, b->raw_in, 8 * a->words);
  memcpy(l->saved, l->saved_in + (size_t)number * a->words, 8 * a->words);
  memcpy(l->ramps, b->ramp_in, sizeof *l->ramps * a->nslots);
  /* lanes may meet here: either others are expected, which the machine knows, or the lanes of this code go first */
  if (b->meets) {
    gcc_jit_block *meet = lw_new_block(l, "meet"), *on = lw_new_block(l, "body");
    gcc_jit_rvalue *until = jx_rv(lw_field(l, l->x, X_FIELD(resched_rank), j->t_u32));
    lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_LE, until, jx_int(j, j->t_u32, b->rank))), meet, on);
    j->b = meet;
    lw_leave(l, MX_JIT_GO, b->pc, 0, live, l->uni);
    j->b = on;
  }
  gcc_jit_rvalue *outside = lw_check_block(l, b);
  if (outside) {
    gcc_jit_block *in = lw_new_block(l, "inside"), *out = lw_new_block(l, "outside");
    lw_split(l, lw_rare(l, outside), out, in);
    j->b = out;
    lw_leave(l, MX_JIT_GO, b->pc, 0, live, l->uni);
    j->b = in;
  }
  if (l->slots_spilled && !b->converged && accesses(a, b) >= MANY_ACCESSES) lw_store_block_masks(l);
  bool ended = false;
  lw_sides_begin(l, b, at);
  for (uint32_t k = 0; k < n; k++) {
    if (b->first + k == l->late) memcpy(l->late_uni, l->uni, 8 * a->words);
    if (b->first + k >= l->late && k < n - 1) {
      pass_late(l, b, k);
      continue;
    }
    if (l->runs[number].n && b->first + k == l->runs[number].first) {
      build_run(l, b, &l->runs[number], live);
      k = l->runs[number].end - b->first - 1;
      continue;
    }
    uint32_t end = lw_loop_end(l, b, k, live);
    if (end > l->late - b->first) end = l->late - b->first;
    if (end > k) {
      lw_loop(l, b, k, end, live);
      k = end - 1;
      continue;
    }
    begin_instruction(l, b, k, live);
    /* no lane may be left: threads past the end of the data, for example */
    if (l->ins->op == MX_EXIT && mx_w_guard(*l->ins->w) != MX_GUARD_NONE) {
      gcc_jit_block *some = lw_new_block(l, "some"), *on = lw_new_block(l, "none"), *any = lw_new_block(l, "any");
      gcc_jit_rvalue *m[LW_CHUNKS];
      lw_branch_agrees(l, NULL, on);
      lw_build_late(l);
      for (unsigned c = 0; c < l->nc; c++) m[c] = lw_guard(l, c);
      /* this counts inactive lanes, too, which is a cheaper test and mostly the same */
      lw_split(l, lw_any(l, m), any, on);
      j->b = any;
      for (unsigned c = 0; c < l->nc; c++) m[c] = lw_lanes(l, c);
      lw_split(l, lw_any(l, m), some, on);
      j->b = some;
      if (l->kernel && !a->checked) {
        gcc_jit_block *all = lw_new_block(l, "all"), *not_all = lw_new_block(l, "not_all");
        for (unsigned c = 0; c < l->nc; c++)
          m[c] = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, m[c], jx_rv(l->em[c]));
        lw_split(l, lw_any(l, m), not_all, all);
        j->b = all;
        lw_counters_all(l);
        done(l, k + 1);
        j->b = not_all;
      }
      lw_leave(l, MX_JIT_GO, l->ins->pc, k, l->live, l->uni);
      j->b = on;
      break; /* the block's last instruction */
    }
    const bool waits = ja_waits_at_mbarrier(l->ins);
    if ((waits || l->ins->o->flags & MX_F_SYNC) && a->blocks[number].nsucc == 1) {
      find_after(l, b);
      ended = true;
      if (!(waits ? wait_step : sync_step)(l, k)) break;
      lw_saved_step(l);
      go_behind(l);
      lw_edge(l, b->succ[0], false);
      break;
    }
    if (l->ins->kind == JA_CALLS) {
      lw_call(l, k);
      continue;
    }
    if (l->ins->kind == JA_RETURNS) {
      lw_return(l, k);
      continue;
    }
    if (l->kernel && !a->checked && (l->ins->op == MX_EXIT || l->ins->op == MX_RET)) {
      lw_leave_where(l, is_diverged(l, false), k);
      done(l, k + 1);
      ended = true;
      break;
    }
    if (ja_always_leaves(l->ins)) {
      lw_leave(l, MX_JIT_GO, l->ins->pc, k, l->live, l->uni);
      ended = true;
      break;
    }
    if (l->ins->op == MX_BRA || l->ins->jumps) {
      (l->ins->jumps ? lw_jump : lw_branch)(l);
      ended = true;
      break;
    }
    build_ordinary(l, b, k, live);
  }
  if (!ended) {
    lw_add_steps(l, n);
    l->ins = &a->ins[b->end - 1];
    lw_edge(l, number + 1, false);
  }
  free(live);
}

static gcc_jit_lvalue *named(struct lw *l, gcc_jit_type *t, const char *name) {
  return gcc_jit_function_new_local(l->j.fn, NULL, t, name);
}

static void build_prologue(struct lw *l, gcc_jit_block *refuse) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  j->b = l->prologue;
  jx_set(j, l->bounds, jx_rv(lw_field(l, l->x, X_FIELD(bounds), j->t_pu8)));
  jx_set(j, l->emask, jx_rv(lw_field(l, l->x, X_FIELD(mask), j->t_u64)));
  gcc_jit_rvalue *m[LW_CHUNKS];
  j->isa->masks_of(j, jx_rv(l->emask), l->nc, m);
  for (unsigned c = 0; c < l->nc; c++) jx_set(j, l->em[c], m[c]), jx_set(j, l->cm[c], jx_rv(l->em[c]));
  /* They are constant, and seldom read: in registers, of which there are 16, they would displace what is computed with.
   * gcc leaves them in memory if something that it does not see may change them. */
  if (j->isa->mask_is_vector) {
    jx_touches_memory(jx_asm(j, "", "+m", l->em[0], 1, "r", gcc_jit_lvalue_get_address(l->em[0], NULL)));
  }
  jx_set(j, l->spill_area, jx_rv(lw_field(l, l->state, MX_AT(jit_state, spill_area), j->t_pu8)));
  jx_set(j, l->steps, jx_int(j, j->t_u64, 0));
  jx_set(j, l->ticks, jx_int(j, j->t_u64, 0));
  lw_counters_enter(l);
  gcc_jit_block *end = j->b;
  uint32_t n = 0;
  gcc_jit_case **cases = lw_need(sizeof *cases * (a->nblocks + 1u));
  for (uint32_t b = 0; b < a->nblocks; b++)
    if (l->entry[b]) {
      gcc_jit_rvalue *k = jx_int(j, j->t_u32, n);
      cases[n++] = gcc_jit_context_new_case(j->c, k, k, l->entry[b]);
    }
  gcc_jit_block_add_assignment(end, NULL, l->which, gcc_jit_param_as_rvalue(gcc_jit_function_get_param(j->fn, 1)));
  gcc_jit_block_end_with_jump(end, NULL, l->dispatch);
  gcc_jit_block_end_with_switch(l->dispatch, NULL, jx_rv(l->which), refuse, (int)n, cases);
  free(cases);
}

bool lw_function(gcc_jit_context *c, const struct jx_isa *isa, const struct ja *a, uint32_t number, bool marks) {
  struct lw *l = lw_need(sizeof *l);
  struct jx *j = &l->j;
  jx_init(j, c, isa);
  l->a = a;
  l->nc = a->lanes / j->w;
  l->marks = marks;
  l->slots_spilled = a->slots_in_memory;
  l->kernel = a->f->flags & MX_FUNC_KERNEL;
  for (uint32_t k = 0; k < a->nins; k++) {
    l->uses_images |= mx__effect(a->ins[k].op) == MX_DOES_IMAGE;
    const unsigned sreg = mx__effect(a->ins[k].op) == MX_DOES_SREG ? mx_w_operand(a->ins[k].w, 1) : MX_SR_TID_X;
    l->has_rows_of_threads |= sreg == MX_SR_TID_Y || sreg == MX_SR_TID_Z;
  }
  char name[48];
  gcc_jit_param *params[3] = {gcc_jit_context_new_param(c, NULL, j->t_pu8, "x"),
                              gcc_jit_context_new_param(c, NULL, j->t_u32, "entry"),
                              gcc_jit_context_new_param(c, NULL, j->t_pu8, "state")};
  snprintf(name, sizeof name, "mx_jit_F%u", number);
  j->fn = gcc_jit_context_new_function(c, NULL, GCC_JIT_FUNCTION_EXPORTED, j->t_u32, name, 3, params, 0);
  gcc_jit_type *help[5] = {j->t_ptr, j->t_ptr, j->t_ptr, j->t_u32, j->t_u64},
               *shape[3] = {j->t_ptr, j->t_u32, j->t_u64},
               *diverged[5] = {j->t_ptr, j->t_ptr, j->t_u64, j->t_u64, j->t_u32},
               *accessed[6] = {j->t_ptr, j->t_ptr, j->t_u32, j->t_u64, j->t_u64, j->t_u32};
  l->t_fallback = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_u32, 5, help, 0);
  l->t_shape = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_u32, 3, shape, 0);
  l->t_diverged = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_void, 5, diverged, 0);
  l->t_accessed = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_u32, 6, accessed, 0);
  l->t_wait = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_u32, 2, shape, 0);
  l->t_keep = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_pu8, 1, shape, 0);
  l->t_make_kept = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_void, 2, help, 0);
  gcc_jit_type *took[5] = {j->t_ptr, j->t_u32, j->t_u32, j->t_u64, j->t_u64};
  l->t_took = gcc_jit_context_new_function_ptr_type(c, NULL, j->t_void, 5, took, 0);
  l->x = gcc_jit_param_as_rvalue(params[0]);
  l->state = gcc_jit_param_as_rvalue(params[2]);
  l->fn = named(l, j->t_pu8, "pfunc");
  l->bounds = named(l, j->t_pu8, "bounds");
  l->emask = named(l, j->t_u64, "emask");
  gcc_jit_rvalue *em = jx_rv(jx_local(j, gcc_jit_context_new_array_type(j->c, NULL, j->t_mask, (int)l->nc)));
  for (unsigned k = 0; k < l->nc; k++) {
    l->em[k] = isa->mask_is_vector ? gcc_jit_context_new_array_access(j->c, NULL, em, jx_int(j, j->t_int, k))
                                   : jx_local(j, j->t_mask);
    l->cm[k] = jx_local(j, j->t_mask);
  }
  l->steps = named(l, j->t_u64, "steps");
  l->ticks = named(l, j->t_u64, "ticks");
  l->spill_area = named(l, j->t_pu8, "spill_area");
  l->which = named(l, j->t_u32, "which");
  l->barrier = named(l, j->t_u32, "barrier");
  lw_exits_begin(l);
  lw_counters_begin(l);
  l->v = lw_need(sizeof *l->v * (a->nslots + 1));
  l->u = lw_need(sizeof *l->u * (a->nslots + 1));
  l->number = lw_need(sizeof *l->number * (a->nslots + 1));
  jx_init(&l->one_j, j->c, j->isa->one);
  lw_numbers_find(l);
  l->head = lw_need(sizeof *l->head * (a->nblocks + 1));
  l->entry = lw_need(sizeof *l->entry * (a->nblocks + 1));
  l->scalar_loops = lw_need(sizeof *l->scalar_loops * (a->nblocks + 1));
  l->pending = lw_need(sizeof *l->pending * (a->nblocks + 1)),
  l->expected = lw_need(sizeof *l->expected * (a->nblocks + 1));
  l->uni = lw_need(8 * a->words);
  l->uni_after = lw_need(8 * a->words), l->late_uni = lw_need(8 * a->words);
  l->sides = lw_need(sizeof *l->sides * (a->f->npred + 1u));
  l->flt = lw_need(8 * a->words), l->raw = lw_need(8 * a->words), l->raw_after = lw_need(8 * a->words);
  l->written = lw_need(8 * a->words);
  l->ramps = lw_need(sizeof *l->ramps * (a->nslots + 1)), l->ramps_after = lw_need(sizeof *l->ramps * (a->nslots + 1));
  l->first = lw_need(sizeof *l->first * JA_MOST_ROWS * (a->nslots + 1));
  l->deferred_uni = lw_need(8 * a->words), l->deferred_raw = lw_need(8 * a->words);
  l->shapes = lw_need(sizeof *l->shapes * (a->nslots + 1));
  l->known_rows = lw_need(sizeof *l->known_rows * (a->nslots + 1));
  l->lows = lw_need(sizeof *l->lows * (a->nslots + 1));
  l->fixed = lw_need(sizeof *l->fixed * (a->nins + 1));
  l->based = lw_need(sizeof *l->based * (a->nins + 1));
  l->addend = lw_need(sizeof *l->addend * (a->nins + 1));
  l->copies = lw_need(sizeof *l->copies * (a->nins + 1));
  l->asked_in = lw_need(8 * (size_t)a->words * a->nblocks);
  l->runs = lw_need(sizeof *l->runs * (a->nblocks + 1));
  l->run_member = lw_need(a->nins + 1);
  l->looks_like_row = lw_need(a->nins + 1);
  l->saved = lw_need(8 * a->words), l->saved_in = lw_need(8 * (size_t)a->words * a->nblocks);
  l->steadies = lw_need(a->nblocks + 1);
  lw_stale_floats_find(l);
  if (!a->checked) lw_runs_find(l); /* with a checker each access is reported by itself */
  lw_shapes_find(l);
  lw_saved_find(l);
  l->fn_of = lw_need(sizeof *l->fn_of * a->nframes);
  l->lits = lw_need(sizeof *l->lits * (a->nins * 6 + 1));
  uint32_t s[JA_MAX_TOUCH];
  for (uint32_t k = 0; k < a->nins; k++) {
    const uint32_t n = ja_defs(a, &a->ins[k], s);
    for (uint32_t m = 0; m < n; m++) ja_add(l->written, s[m]);
  }
  l->prologue = gcc_jit_function_new_block(j->fn, "prologue"); /* the function's first block is where it begins */
  j->b = l->prologue;
  /* literals are read through it when they are first used */
  jx_set(j, l->fn, jx_rv(lw_field(l, l->x, X_FIELD(fn), j->t_pu8)));
  bool *reached = lw_need(a->nblocks + 1); /* gccjit rejects blocks that cannot be reached */
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      if (!reached[b] && a->blocks[b].entry) reached[b] = again = true;
      for (uint32_t k = 0; reached[b] && (!a->blocks[b].leaves || ja_may_go_on(&a->ins[a->blocks[b].end - 1])) &&
                           k < a->blocks[b].nthen;
           k++)
        if (!reached[a->blocks[b].then[k]]) reached[a->blocks[b].then[k]] = again = true;
    }
  }
  for (uint32_t b = 0; b < a->nblocks; b++) {
    if (!reached[b]) continue;
    snprintf(name, sizeof name, "pc%u", a->blocks[b].pc);
    l->head[b] = gcc_jit_function_new_block(j->fn, name);
    snprintf(name, sizeof name, "entry%u", a->blocks[b].pc);
    if (a->blocks[b].entry) l->entry[b] = gcc_jit_function_new_block(j->fn, name);
  }
  l->dispatch = gcc_jit_function_new_block(j->fn, "dispatch");
  lw_scalar_loops_find(l);
  gcc_jit_block *refuse = gcc_jit_function_new_block(j->fn, "refuse");
  gcc_jit_block_end_with_return(refuse, NULL, jx_int(j, j->t_u32, MX_JIT_REFUSED));
  for (uint32_t b = 0; b < a->nblocks; b++)
    if (reached[b]) {
      if (l->scalar_loops[b]) lw_scalar_loop_build(l, b);
      build_block(l, b);
    }
  lw_build_entries(l);
  lw_build_warp_chain(l);
  lw_build_exits(l);
  build_prologue(l, refuse);
  lw_export_table(l, number);
  lw_counters_export(l, number);
  if (a->stops) bp_export(l, number);
  return gcc_jit_context_get_first_error(c) == NULL;
}

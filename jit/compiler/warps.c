/* From warp to warp: where a warp ends, the next one of its block begins, and where it waits, the next one goes on, without coming
 * back to vm/rounds.c, which is told how many have. Such a warp has no split, frame or masks of its own until it needs them: see mx__rounds_catch_up(). */
#include "build.h"

#include "vm/exec.h"
#include "vm/jitabi.h"

#define X_FIELD(m_) offsetof(struct mx_exec, m_)

static gcc_jit_lvalue *ring_field(struct lw *l, gcc_jit_rvalue *ring, size_t at) { return lw_field(l, ring, at, l->j.t_u32); }
#define RING(m_) ring_field(l, ring, offsetof(struct mx_ring, m_))
static gcc_jit_rvalue *u32_op(struct lw *l, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, uint32_t y) {
  return jx_keep(&l->j, jx_op(&l->j, op, l->j.t_u32, x, jx_int(&l->j, l->j.t_u32, y)));
}
static gcc_jit_rvalue *test(struct lw *l, enum gcc_jit_comparison op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return gcc_jit_context_new_comparison(l->j.c, NULL, op, x, y);
}

void lw_warp_ends(struct lw *l) {
  if (!l->ended) l->ended = lw_new_block(l, "ended");
  gcc_jit_block_end_with_jump(l->j.b, NULL, l->ended);
}

static bool reads(const struct ja *a, unsigned sreg) {
  for (uint32_t k = 0; k < a->nins; k++)
    if (a->ins[k].op == MX_SREG_32 && mx_w_operand(a->ins[k].w, 1) == sreg) return true;
  return false;
}
/* Whether a warp's registers may hold anything when it begins. */
static bool begins_unread(const struct ja *a) {
  for (uint32_t w = 0; w < a->words; w++)
    if (a->blocks[0].live_in[w]) return false;
  return true;
}
static bool loops(const struct ja *a) {
  for (uint32_t b = 0; b < a->nblocks; b++)
    if (a->blocks[b].back_target) return true;
  return false;
}
/* What differs from the warp before; `more`: warps that may still begin here. */
static void next_warp(struct lw *l, gcc_jit_rvalue *more) {
  struct jx *j = &l->j;
  gcc_jit_lvalue *ahead = lw_field(l, l->x, X_FIELD(ahead), j->t_u32);
  jx_set(j, lw_field(l, l->x, X_FIELD(more), j->t_u32), jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u32, more, jx_int(j, j->t_u32, 1)));
  jx_set(j, ahead, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u32, jx_rv(ahead), jx_int(j, j->t_u32, 1)));
  for (unsigned d = 0; d < 3; d++) {
    if (!reads(l->a, MX_SR_TID_X + d)) continue;
    gcc_jit_lvalue *tid = lw_field(l, l->x, X_FIELD(sreg_lanes32) + 8 * (MX_SR_TID_X + d), j->t_u64);
    jx_set(j, tid, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(tid), jx_int(j, j->t_u64, 4 * l->a->image->lanes)));
  }
  if (loops(l->a)) jx_set(j, lw_field(l, l->x, X_FIELD(slice), j->t_int), jx_int(j, j->t_int, MX_SLICE));
}
void lw_build_ended(struct lw *l) {
  struct jx *j = &l->j;
  if (!l->ended) return;
  j->b = l->ended;
  if (begins_unread(l->a) && !l->a->stops) {
    gcc_jit_block *next = lw_new_block(l, "next"), *last = lw_new_block(l, "last");
    gcc_jit_rvalue *more = jx_keep(j, jx_rv(lw_field(l, l->x, X_FIELD(more), j->t_u32)));
    gcc_jit_block_end_with_conditional(j->b, NULL, gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, more, jx_int(j, j->t_u32, 0)), next, last);
    j->b = next;
    next_warp(l, more);
    gcc_jit_block_end_with_jump(j->b, NULL, l->entry[0]);
    j->b = last;
  }
  jx_set(j, lw_field(l, l->state, offsetof(struct mx_jit_state, steps), j->t_u64), jx_rv(l->steps));
  gcc_jit_block_end_with_return(j->b, NULL, jx_int(j, j->t_u32, MX_JIT_DONE));
}

/* ---- barriers ------------------------------------------------------------------------------------------------------*/
void lw_warp_waits(struct lw *l, uint32_t entry) {
  struct jx *j = &l->j;
  if (!l->waits) l->waits = lw_new_block(l, "waits");
  jx_set(j, l->which, jx_int(j, j->t_u32, entry));
  jx_set(j, l->barrier, jx_int(j, j->t_u32, l->ins->pc));
  gcc_jit_block_end_with_jump(j->b, NULL, l->waits);
}
/* The next warp of the ring goes on. */
static void go_round(struct lw *l, gcc_jit_rvalue *ring, gcc_jit_rvalue *arrived, gcc_jit_rvalue *n) {
  struct jx *j = &l->j;
  jx_set(j, RING(arrived), arrived);
  jx_set(j, RING(to), jx_rv(l->which));
  jx_set(j, RING(pc), jx_rv(l->barrier));
  jx_set(j, RING(moved), jx_int(j, j->t_u32, 1));
  gcc_jit_rvalue *at = jx_keep(j, jx_rv(RING(at))), *next = u32_op(l, GCC_JIT_BINARY_OP_PLUS, at, 1);
  gcc_jit_rvalue *within = gcc_jit_context_new_cast(j->c, NULL, test(l, GCC_JIT_COMPARISON_NE, next, n), j->t_u32);
  next = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u32, next, within));
  jx_set(j, RING(at), next);
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->t_u64, x_, y_)
#define U64(v_) gcc_jit_context_new_cast(j->c, NULL, v_, j->t_u64)
  gcc_jit_rvalue *place = lw_add(l, ring, OP(PLUS, OP(MULT, U64(next), jx_int(j, j->t_u64, 8)), jx_int(j, j->t_u64, offsetof(struct mx_ring, home))));
  jx_set(j, l->home, jx_rv(lw_field(l, place, 0, j->t_pu8)));
  gcc_jit_rvalue *lanes = jx_keep(j, OP(MULT, OP(MINUS, U64(next), U64(at)), jx_int(j, j->t_u64, 4 * l->a->image->lanes)));
  for (unsigned d = 0; d < 3; d++) {
    if (!reads(l->a, MX_SR_TID_X + d)) continue;
    gcc_jit_lvalue *tid = lw_field(l, l->x, X_FIELD(sreg_lanes32) + 8 * (MX_SR_TID_X + d), j->t_u64);
    jx_set(j, tid, OP(PLUS, jx_rv(tid), lanes));
  }
#undef OP
#undef U64
  jx_set(j, lw_field(l, l->x, X_FIELD(slice), j->t_int), jx_int(j, j->t_int, MX_SLICE));
  jx_set(j, l->which, jx_rv(RING(from)));
  gcc_jit_block_end_with_jump(j->b, NULL, l->dispatch);
}
void lw_build_waits(struct lw *l) {
  struct jx *j = &l->j;
  if (!l->waits) return;
  gcc_jit_block *round = lw_new_block(l, "round"), *here = lw_new_block(l, "here"), *all = lw_new_block(l, "all"), *some = lw_new_block(l, "some"), *back = lw_new_block(l, "back");
  j->b = l->waits;
  gcc_jit_rvalue *none = gcc_jit_context_null(j->c, j->t_pu8), *ring = jx_keep(j, jx_rv(lw_field(l, l->x, X_FIELD(ring), j->t_pu8)));
  gcc_jit_block_end_with_conditional(j->b, NULL, test(l, GCC_JIT_COMPARISON_NE, ring, none), round, back);
  j->b = round;
  gcc_jit_rvalue *left = jx_keep(j, jx_rv(RING(left))), *arrived = jx_keep(j, jx_rv(RING(arrived)));
  gcc_jit_rvalue *elsewhere = test(l, GCC_JIT_COMPARISON_NE, jx_rv(RING(to)), jx_rv(l->which)); /* than those before */
  elsewhere = gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_bool, test(l, GCC_JIT_COMPARISON_NE, arrived, jx_int(j, j->t_u32, 0)), elsewhere);
  gcc_jit_rvalue *spent = test(l, GCC_JIT_COMPARISON_EQ, left, jx_int(j, j->t_u32, 0));
  gcc_jit_block_end_with_conditional(j->b, NULL, lw_rare(l, gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_bool, elsewhere, spent)), back, here);
  j->b = here;
  jx_set(j, RING(left), u32_op(l, GCC_JIT_BINARY_OP_MINUS, left, 1));
  arrived = u32_op(l, GCC_JIT_BINARY_OP_PLUS, arrived, 1);
  gcc_jit_rvalue *n = jx_keep(j, jx_rv(RING(n)));
  gcc_jit_block_end_with_conditional(j->b, NULL, test(l, GCC_JIT_COMPARISON_EQ, arrived, n), all, some);
  j->b = all;
  jx_set(j, RING(arrived), jx_int(j, j->t_u32, 0));
  jx_set(j, RING(from), jx_rv(l->which));
  jx_set(j, RING(moved), jx_int(j, j->t_u32, 1)); /* the others may go on */
  gcc_jit_block_end_with_jump(j->b, NULL, l->dispatch);
  j->b = some;
  go_round(l, ring, arrived, n);
  j->b = back;
  jx_set(j, lw_field(l, l->state, offsetof(struct mx_jit_state, steps), j->t_u64), jx_rv(l->steps));
  jx_set(j, lw_field(l, l->state, offsetof(struct mx_jit_state, pc), j->t_u32), jx_rv(l->barrier));
  jx_set(j, lw_field(l, l->state, offsetof(struct mx_jit_state, resume), j->t_u32), jx_rv(l->which));
  gcc_jit_block_end_with_return(j->b, NULL, jx_int(j, j->t_u32, MX_JIT_BARRIER));
}

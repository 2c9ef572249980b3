/* Chains of warps: where a warp ends or waits at barrier 0, compiled code begins or resumes the next warp of the block
 * by itself, without a return to vm/exec/compiled_block.c, for which it counts these warps. The state of such a warp
 * (split, frame, masks) is not kept up to date until somebody looks at it: mx__chain_refresh(). */
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#define X_FIELD(m_) MX_AT(exec, m_)

static gcc_jit_lvalue *chain_field(struct lw *l, gcc_jit_rvalue *chain, size_t at) {
  return lw_field(l, chain, at, l->j.t_u32);
}
#define CHAIN(m_) chain_field(l, chain, MX_AT(warp_chain, m_))
static gcc_jit_rvalue *u32_op(struct lw *l, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, uint32_t y) {
  return jx_keep(&l->j, jx_op(&l->j, op, l->j.t_u32, x, jx_int(&l->j, l->j.t_u32, y)));
}

void lw_warp_ends(struct lw *l) {
  if (!l->ended) l->ended = lw_new_block(l, "ended");
  lw_go(l, l->ended);
}

static bool reads(const struct ja *a, unsigned sreg) {
  for (uint32_t k = 0; k < a->nins; k++)
    if (a->ins[k].op == MX_SREG_32 && mx_w_operand(a->ins[k].w, 1) == sreg) return true;
  return false;
}
/* Whether a warp may begin with arbitrary values in its registers. */
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
/* Whether code asks for the warp's number, also where it accesses local memory or makes asynchronous copies. */
static bool asks_for_warp(const struct ja *a) {
  for (uint32_t k = 0; k < a->nins; k++)
    if (a->ins[k].local) return true;
  return reads(a, MX_SR_WARPID) || lw_has_async(a);
}
/* Advances the special registers to those of the warp `by` warps further. */
static void move_registers(struct lw *l, gcc_jit_rvalue *by) {
  struct jx *j = &l->j;
  for (unsigned d = 0; d < 3; d++) {
    if (!reads(l->a, MX_SR_TID_X + d)) continue;
    gcc_jit_lvalue *tid = lw_field(l, l->x, X_FIELD(sreg_lanes32) + 8 * (MX_SR_TID_X + d), j->t_u64);
    gcc_jit_rvalue *bytes = jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, by, jx_int(j, j->t_u64, 4 * l->a->image->lanes));
    jx_set(j, tid, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(tid), bytes));
  }
  if (!asks_for_warp(l->a)) return;
  gcc_jit_lvalue *number = lw_field(l, l->x, X_FIELD(sreg) + 8 * MX_SR_WARPID, j->t_u64);
  jx_set(j, number, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(number), by));
}
/* Begins the next warp; `allowed` is how many more compiled code may begin. */
static void next_warp(struct lw *l, gcc_jit_rvalue *allowed) {
  struct jx *j = &l->j;
  gcc_jit_lvalue *begun = lw_field(l, l->x, X_FIELD(warps_begun), j->t_u32);
  jx_set(j, lw_field(l, l->x, X_FIELD(warps_allowed), j->t_u32), u32_op(l, GCC_JIT_BINARY_OP_MINUS, allowed, 1));
  jx_set(j, begun, u32_op(l, GCC_JIT_BINARY_OP_PLUS, jx_rv(begun), 1));
  move_registers(l, jx_int(j, j->t_u64, 1));
  if (loops(l->a) || l->a->nframes > 1)
    jx_set(j, lw_field(l, l->x, X_FIELD(slice), j->t_int), jx_int(j, j->t_int, MX_SLICE));
  lw_go(l, l->entry[0]);
}
/* Returns to vm/exec/compiled_block.c. */
static void come_back(struct lw *l, enum mx_jit_exit kind) {
  struct jx *j = &l->j;
  lw_store_steps(l);
  gcc_jit_block_end_with_return(j->b, NULL, jx_int(j, j->t_u32, kind));
}
static void come_back_to_wait(struct lw *l, enum mx_jit_exit kind) {
  struct jx *j = &l->j;
  jx_set(j, lw_field(l, l->state, MX_AT(jit_state, pc), j->t_u32), jx_rv(l->barrier));
  jx_set(j, lw_field(l, l->state, MX_AT(jit_state, resume), j->t_u32), jx_rv(l->which));
  come_back(l, kind);
}
static gcc_jit_rvalue *is_zero(struct lw *l, gcc_jit_rvalue *x) {
  return lw_compare(l, GCC_JIT_COMPARISON_EQ, x, jx_int(&l->j, l->j.t_u32, 0));
}

/* ---- barriers: the fast path of vm/exec/barrier.h
 * ------------------------------------------------------------------*/
void lw_warp_waits(struct lw *l, uint32_t entry, bool at_mbarrier) {
  struct jx *j = &l->j;
  gcc_jit_block **at = at_mbarrier ? &l->at_mbarrier : &l->at_barrier;
  if (!*at) *at = lw_new_block(l, "waits");
  jx_set(j, l->which, jx_int(j, j->t_u32, entry));
  jx_set(j, l->barrier, jx_int(j, j->t_u32, l->a->origin[l->ins->pc].pc));
  lw_go(l, *at);
}
void lw_warp_passes(struct lw *l, uint32_t entry, gcc_jit_block *on) {
  struct jx *j = &l->j;
  gcc_jit_block *chained = lw_new_block(l, "chained"), *wait = lw_new_block(l, "wait"), *pass = lw_new_block(l, "pass");
  gcc_jit_rvalue *chain = jx_keep(j, jx_rv(lw_field(l, l->x, X_FIELD(chain), j->t_pu8)));
  gcc_jit_rvalue *none = lw_compare(l, GCC_JIT_COMPARISON_EQ, chain, gcc_jit_context_null(j->c, j->t_pu8));
  lw_split(l, lw_rare(l, none), wait, chained);
  j->b = chained;
  gcc_jit_rvalue *left = jx_keep(j, jx_rv(CHAIN(arrivals_left)));
  lw_split(l, lw_rare(l, is_zero(l, left)), wait, pass);
  j->b = pass;
  jx_set(j, CHAIN(arrivals_left), u32_op(l, GCC_JIT_BINARY_OP_MINUS, left, 1));
  jx_set(j, CHAIN(resume_entry), jx_int(j, j->t_u32, entry));
  jx_set(j, CHAIN(stale), jx_int(j, j->t_u32, 1));
  lw_go(l, on);
  j->b = wait;
}
/* Resumes the next warp of the chain. */
static void resume_next_warp(struct lw *l, gcc_jit_rvalue *chain) {
  struct jx *j = &l->j;
  jx_set(j, CHAIN(stale), jx_int(j, j->t_u32, 1));
  gcc_jit_rvalue *at = jx_keep(j, jx_rv(CHAIN(at))), *next = u32_op(l, GCC_JIT_BINARY_OP_PLUS, at, 1);
  gcc_jit_rvalue *within =
      gcc_jit_context_new_cast(j->c, NULL, lw_compare(l, GCC_JIT_COMPARISON_NE, next, jx_rv(CHAIN(n))), j->t_u32);
  next = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u32, next, within));
  jx_set(j, CHAIN(at), next);
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->t_u64, x_, y_)
#define U64(v_) gcc_jit_context_new_cast(j->c, NULL, v_, j->t_u64)
  gcc_jit_rvalue *next_area =
      lw_add(l, chain,
             OP(PLUS, OP(MULT, U64(next), jx_int(j, j->t_u64, 8)), jx_int(j, j->t_u64, MX_AT(warp_chain, spill_area))));
  jx_set(j, l->spill_area, jx_rv(lw_field(l, next_area, 0, j->t_pu8)));
  move_registers(l, jx_keep(j, OP(MINUS, U64(next), U64(at))));
#undef OP
#undef U64
  jx_set(j, lw_field(l, l->x, X_FIELD(slice), j->t_int), jx_int(j, j->t_int, MX_SLICE));
  jx_set(j, l->which, jx_rv(CHAIN(resume_entry)));
  lw_go(l, l->dispatch);
}
static void build_ended(struct lw *l, gcc_jit_rvalue *chain, gcc_jit_block *go_on) {
  struct jx *j = &l->j;
  j->b = l->ended;
  if (begins_unread(l->a) && !l->a->stops) {
    gcc_jit_block *next = lw_new_block(l, "next"), *last = lw_new_block(l, "last");
    gcc_jit_rvalue *allowed = jx_keep(j, jx_rv(lw_field(l, l->x, X_FIELD(warps_allowed), j->t_u32)));
    lw_split(l, is_zero(l, allowed), last, next);
    j->b = next;
    next_warp(l, allowed);
    j->b = last;
  }
  gcc_jit_block *back = lw_new_block(l, "back");
  if (go_on) {
    gcc_jit_block *round = lw_new_block(l, "round"), *alone = lw_new_block(l, "alone"),
                  *others = lw_new_block(l, "others");
    lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_NE, chain, gcc_jit_context_null(j->c, j->t_pu8)), round, back);
    j->b = round;
    lw_split(l, is_zero(l, jx_rv(CHAIN(arrived))), alone, back);
    j->b = alone;
    gcc_jit_rvalue *ended = u32_op(l, GCC_JIT_BINARY_OP_PLUS, jx_rv(CHAIN(ended)), 1);
    lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, ended, jx_rv(CHAIN(n))), back, others);
    j->b = others;
    jx_set(j, CHAIN(ended), ended);
    lw_go(l, go_on);
  } else lw_go(l, back);
  j->b = back;
  come_back(l, MX_JIT_DONE);
}
static void build_waits(struct lw *l, gcc_jit_rvalue *chain, gcc_jit_block *go_on) {
  struct jx *j = &l->j;
  gcc_jit_block *round = lw_new_block(l, "round"), *here = lw_new_block(l, "here"), *all = lw_new_block(l, "all"),
                *some = lw_new_block(l, "some"), *back = lw_new_block(l, "back");
  j->b = l->at_barrier;
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_NE, chain, gcc_jit_context_null(j->c, j->t_pu8)), round, back);
  j->b = round;
#define BITS(op_, x_, y_) gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_##op_, j->t_bool, x_, y_)
  gcc_jit_rvalue *left = jx_keep(j, jx_rv(CHAIN(arrivals_left))), *arrived = jx_keep(j, jx_rv(CHAIN(arrived)));
  gcc_jit_rvalue *elsewhere = BITS(AND, lw_compare(l, GCC_JIT_COMPARISON_NE, arrived, jx_int(j, j->t_u32, 0)),
                                   lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(CHAIN(barrier_entry)), jx_rv(l->which)));
  /* earlier warps of this pass ended, or wait at another barrier */
  elsewhere = BITS(OR, elsewhere, lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(CHAIN(ended)), jx_int(j, j->t_u32, 0)));
  lw_split(l, lw_rare(l, BITS(OR, elsewhere, is_zero(l, left))), back, here);
#undef BITS
  j->b = here;
  jx_set(j, CHAIN(arrivals_left), u32_op(l, GCC_JIT_BINARY_OP_MINUS, left, 1));
  arrived = u32_op(l, GCC_JIT_BINARY_OP_PLUS, arrived, 1);
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, arrived, jx_rv(CHAIN(n))), all, some);
  j->b = all;
  jx_set(j, CHAIN(arrived), jx_int(j, j->t_u32, 0));
  jx_set(j, CHAIN(resume_entry), jx_rv(l->which));
  jx_set(j, CHAIN(stale), jx_int(j, j->t_u32, 1)); /* warps that wait elsewhere may go on now */
  lw_go(l, l->dispatch);
  j->b = some;
  jx_set(j, CHAIN(arrived), arrived);
  jx_set(j, CHAIN(barrier_entry), jx_rv(l->which));
  jx_set(j, CHAIN(barrier_pc), jx_rv(l->barrier));
  lw_go(l, go_on);
  j->b = back;
  come_back_to_wait(l, MX_JIT_BARRIER);
}
void lw_build_warp_chain(struct lw *l) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *chain = jx_rv(lw_field(l, l->x, X_FIELD(chain), j->t_pu8));
  gcc_jit_block *go_on = l->at_barrier ? lw_new_block(l, "goes_on") : NULL;
  if (l->ended) build_ended(l, chain, go_on);
  if (l->at_mbarrier) {
    j->b = l->at_mbarrier;
    come_back_to_wait(l, MX_JIT_MBARRIER);
  }
  if (!l->at_barrier) return;
  build_waits(l, chain, go_on);
  j->b = go_on;
  resume_next_warp(l, chain);
}

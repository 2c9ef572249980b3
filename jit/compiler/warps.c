/* From warp to warp: where a warp ends, the next one of its block begins, without coming back to vm/rounds.c, which is told
 * how many have. Such a warp has no split, frame or masks of its own until it needs them: see mx__rounds_catch_up(). */
#include "build.h"

#include "vm/exec.h"
#include "vm/jitabi.h"

#define X_FIELD(m_) offsetof(struct mx_exec, m_)

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

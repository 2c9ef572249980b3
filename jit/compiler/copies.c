/* Asynchronous copies of all lanes of a warp. Where both addresses have shapes (shapes.c) and chunks lie in rows, as
 * those of tiles do, a copy is two addresses a chunk, which go into the warp's list of copies (vm/exec/async.c): what
 * lies there is copied when it is waited for. Groups are ended and waited for by calls. All else, and every order of
 * landing but the latest, falls back to the bodies. */
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

static gcc_jit_rvalue *u64_op(struct lw *l, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return jx_op(&l->j, op, l->j.t_u64, x, y);
}
/* The field of the instruction's bounds number n. */
static gcc_jit_rvalue *bound(struct lw *l, unsigned n, uint64_t field) {
  const uint64_t at = (uint64_t)(l->ins->bounds + n) * sizeof(struct mx_bounds);
  return jx_keep(&l->j, jx_rv(lw_field(l, jx_rv(l->bounds), at + field, l->j.t_u64)));
}
/* A condition: not all lanes of the warp run here. */
static gcc_jit_rvalue *some_lack(struct lw *l) {
  gcc_jit_rvalue *lanes[LW_CHUNKS], *here = jx_rv(l->emask);
  if (!l->a->blocks[l->block].converged) {
    for (unsigned c = 0; c < l->nc; c++) lanes[c] = lw_lanes(l, c);
    here = lw_pack(l, lanes);
  }
  return lw_compare(l, GCC_JIT_COMPARISON_NE, here, lw_all_lanes(l));
}
static gcc_jit_rvalue *call(struct lw *l, uint64_t member, gcc_jit_type *type, int n, gcc_jit_rvalue **arg) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *help = jx_rv(lw_field(l, l->state, MX_AT(jit_state, help), j->t_pu8));
  arg[0] = gcc_jit_context_new_cast(j->c, NULL, l->x, j->t_ptr);
  return jx_keep(j, gcc_jit_context_new_call_through_ptr(j->c, NULL, jx_rv(lw_field(l, help, member, type)), n, arg));
}
static void fall_back_and_end(struct lw *l, gcc_jit_block *slow, gcc_jit_block *end) {
  lw_go(l, end);
  l->j.b = slow;
  lw_interpret(l);
  lw_go(l, end);
  l->j.b = end;
}

/* Its addresses of operand k are in rows within the bounds, or else `bad`: the host address that goes with number 0. */
static gcc_jit_rvalue *rows(struct lw *l, const struct lw_base *base, unsigned k, unsigned bytes,
                            gcc_jit_rvalue **bad) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *variable, *lo = bound(l, k / 2, MX_AT(bounds, lo)), *host = bound(l, k / 2, MX_AT(bounds, host)),
                            *span = bound(l, k / 2, k ? MX_AT(bounds, reads) : MX_AT(bounds, writes));
  const uint64_t off_k = lw_offset(l, k + 1, &variable);
  gcc_jit_rvalue *off = variable ? variable : lw_u64(l, off_k),
                 *limit = jx_keep(j, u64_op(l, GCC_JIT_BINARY_OP_MINUS, span, lw_u64(l, bytes)));
  *bad = lw_either(l, *bad, lw_compare(l, GCC_JIT_COMPARISON_LT, span, lw_u64(l, bytes)));
  gcc_jit_rvalue *row =
      u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, jx_rv(l->shapes[base->slot].kind), lw_u64(l, lw_shape_bit(base, bytes)));
  *bad = lw_either(l, *bad, lw_compare(l, GCC_JIT_COMPARISON_EQ, row, lw_u64(l, 0)));
  *bad = lw_shape_misses(l, base, lo, limit, bytes, *bad, &off);
  return jx_keep(j, u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, off));
}
static bool copy(struct lw *l) {
  struct jx *j = &l->j;
  const struct lw_copy *c = l->copies[l->ins - l->a->ins];
  const unsigned bytes = mx_w_operand(l->ins->w, 4);
  if (!c || !lw_shape_bit(&c->to, bytes) || !lw_shape_bit(&c->from, bytes)) return false;
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done"), *near = lw_new_block(l, "near"),
                *issued = lw_new_block(l, "issued");
  gcc_jit_rvalue *bad = some_lack(l), *to = rows(l, &c->to, 0, bytes, &bad), *from = rows(l, &c->from, 2, bytes, &bad);
  lw_split(l, lw_rare(l, bad), slow, near);
  j->b = near;
  gcc_jit_rvalue *arg[5] = {NULL, jx_int(j, j->t_u32, l->a->frames[l->ins->frame].func),
                            jx_int(j, j->t_u32, l->a->origin[l->ins->pc].pc), jx_int(j, j->t_u32, j->w),
                            jx_int(j, j->t_u32, bytes)};
  gcc_jit_rvalue *places = call(l, MX_AT(jit_help, copy), l->t_copy, 5, arg);
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, places, gcc_jit_context_null(j->c, j->t_pu8))), slow,
           issued);
  j->b = issued;
  for (unsigned k = 0; k < l->nc; k++) {
    gcc_jit_rvalue *source = jx_keep(j, lw_shape_place(l, &c->from, from, k));
    jx_set(j, lw_field(l, places, 8 * k, j->t_u64), lw_shape_place(l, &c->to, to, k));
    jx_set(j, lw_field(l, places, 8 * (MX_MAX_LANES + k), j->t_u64), source);
    jx_prefetch(j, lw_vector(l, gcc_jit_context_new_bitcast(j->c, NULL, source, j->t_pu8), 0, false));
  }
  fall_back_and_end(l, slow, end);
  return true;
}
static void commit_or_wait(struct lw *l, bool wait) {
  struct jx *j = &l->j;
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done"), *all = lw_new_block(l, "all");
  lw_split(l, lw_rare(l, some_lack(l)), slow, all);
  j->b = all;
  gcc_jit_rvalue *arg[2] = {NULL, wait ? jx_int(j, j->t_u32, mx_w_operand(l->ins->w, 0)) : NULL};
  gcc_jit_rvalue *done =
      wait ? call(l, MX_AT(jit_help, wait), l->t_wait, 2, arg) : call(l, MX_AT(jit_help, commit), l->t_commit, 1, arg);
  gcc_jit_block *good = lw_new_block(l, "good");
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, done, jx_int(j, j->t_u32, 0))), slow, good);
  j->b = good;
  fall_back_and_end(l, slow, end);
}
bool lw_async(struct lw *l) {
  const unsigned op = l->ins->op;
  /* The list is of copies by all lanes of a warp, which blocks of fewer do not have. */
  if (mx_w_guard(*l->ins->w) != MX_GUARD_NONE || l->a->lanes < l->a->image->lanes) return false;
  if (lw_copies_whole(op)) return copy(l);
  if (op != MX_CP_ASYNC_COMMIT && op != MX_CP_ASYNC_WAIT) return false;
  commit_or_wait(l, op == MX_CP_ASYNC_WAIT);
  return true;
}

/* Mbarriers, where all active lanes name the same one. A wait or test whose phase has ended is a load and a branch:
 * nothing else happens then, since copies land when lanes have to wait. Arrivals of all lanes that leave the phase
 * incomplete are one subtraction. Every other case, traps included, is left to the interpreter's bodies, which put
 * lanes to rest and let them go on: vm/exec/mbarrier.c. */
#include "lowering.h"

#include "core/mbarrier.h"
#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

static gcc_jit_rvalue *u64_op(struct lw *l, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return jx_keep(&l->j, jx_op(&l->j, op, l->j.t_u64, x, y));
}
/* Code goes on where `cond` does not hold. */
static void unless(struct lw *l, gcc_jit_rvalue *cond, gcc_jit_block *otherwise) {
  gcc_jit_block *on = lw_new_block(l, "on");
  lw_split(l, lw_rare(l, cond), otherwise, on);
  l->j.b = on;
}
/* The host address of the word at the address in operand `at`, which is the same in all lanes, if it is in the block's
 * shared memory. */
static gcc_jit_rvalue *place_of(struct lw *l, unsigned at, gcc_jit_block *machine) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *variable;
  const uint64_t off = lw_offset(l, at + 1, &variable);
  const jv more = variable ? jv_broadcast(j, MX_T_u64, variable) : jv_k(j, MX_T_u64, off);
  gcc_jit_rvalue *address = jv_scalar(j, lw_address(l, at, 0, more));
  if (mx_w_mod(*l->ins->w) < l->ins->o->mods / 2) /* a generic address */
    address = u64_op(l, GCC_JIT_BINARY_OP_MINUS, address, lw_u64(l, MX_WINDOW(MX_WINDOW_SHARED)));
  address = jx_keep(j, address);
  gcc_jit_rvalue *launch = jx_rv(lw_field(l, l->x, MX_AT(exec, launch), j->t_pu8));
  gcc_jit_rvalue *bytes =
      gcc_jit_context_new_cast(j->c, NULL, jx_rv(lw_field(l, launch, MX_AT(launch, shared_bytes), j->t_u32)), j->t_u64);
  gcc_jit_rvalue *words = u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, bytes, lw_u64(l, ~(uint64_t)7)),
                 *low = u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, address, lw_u64(l, 7));
  unless(l,
         lw_either(l, lw_compare(l, GCC_JIT_COMPARISON_GE, address, words),
                   lw_compare(l, GCC_JIT_COMPARISON_NE, low, lw_u64(l, 0))),
         machine);
  gcc_jit_rvalue *shared = jx_rv(lw_field(l, l->x, MX_AT(exec, window) + 8 * MX_SHARED, j->t_pu8));
  return jx_keep(j, lw_add(l, shared, address));
}
gcc_jit_rvalue *lw_mbarrier_bytes(struct lw *l, gcc_jit_rvalue *word) {
  gcc_jit_rvalue *bytes = u64_op(l, GCC_JIT_BINARY_OP_RSHIFT, word, lw_u64(l, MX_MBARRIER_BYTES_BIT));
  return u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, bytes, lw_u64(l, MX_MBARRIER_BYTES));
}
gcc_jit_rvalue *lw_mbarrier_is_none(struct lw *l, gcc_jit_rvalue *word) {
  gcc_jit_rvalue *marks = u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, word, lw_u64(l, MX_MBARRIER_MARKS));
  return lw_compare(l, GCC_JIT_COMPARISON_NE, marks, lw_u64(l, MX_MBARRIER_MARK));
}
/* A condition: for some active lane, operand k names the phase of the parity of `word`, which goes on; or, if not
 * `going_on`, the one before it. */
static gcc_jit_rvalue *names(struct lw *l, unsigned k, gcc_jit_rvalue *word, bool going_on) {
  struct jx *j = &l->j;
  const bool parity = !jx_wide(l->ins->o->opnd[k].type); /* in the lowest bit; otherwise a state */
  /* the bit of `ended` is the parity of the phase before that one */
  gcc_jit_rvalue *not_word = going_on ? u64_op(l, GCC_JIT_BINARY_OP_BITWISE_XOR, word, lw_u64(l, UINT64_MAX)) : word;
  gcc_jit_rvalue *high = u64_op(l, GCC_JIT_BINARY_OP_RSHIFT, not_word, lw_u64(l, parity ? MX_MBARRIER_PARITY_BIT : 32));
  const uint32_t bit = parity ? 1 : (uint32_t)(MX_MBARRIER_PARITY >> 32);
  gcc_jit_rvalue *ended = gcc_jit_context_new_cast(j->c, NULL, high, j->t_u32), *lanes[LW_CHUNKS];
  const bool one = lw_operand_uniform(l, k);
  for (unsigned c = 0; c < (one ? 1 : l->nc); c++) {
    jv v = lw_operand(l, k, c);
    if (!parity) v = jv_cvt(j, MX_T_u32, MX_T_u64, jv_bin(j, JX_SHR, MX_T_u64, v, jv_k(j, MX_T_u32, 32)));
    if (one) {
      gcc_jit_rvalue *x = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_u32, jv_scalar(j, v), ended);
      x = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32, x, jx_int(j, j->t_u32, bit));
      return lw_compare(l, GCC_JIT_COMPARISON_NE, x, jx_int(j, j->t_u32, 0));
    }
    v = jv_bin(j, JX_XOR, MX_T_u32, v, jv_broadcast(j, MX_T_u32, ended));
    lanes[c] = j->isa->common(j, v.r[0], jv_k(j, MX_T_u32, bit).r[0], jx_rv(l->cm[c]));
  }
  return lw_any(l, lanes);
}
bool lw_mbarrier_has_ended(struct lw *l, gcc_jit_block *machine, gcc_jit_block **lasts) {
  struct jx *j = &l->j;
  const unsigned at = l->ins->o->opnd[0].role == MX_OUT;
  if (l->a->checked || !lw_operand_uniform(l, at)) return false;
  gcc_jit_rvalue *place = place_of(l, at, machine), *word = jx_keep(j, jx_rv(lw_field(l, place, 0, j->t_u64)));
  unless(l, lw_mbarrier_is_none(l, word), machine);
  gcc_jit_block *wait = lasts ? lw_new_block(l, "wait") : machine;
  unless(l, names(l, at + 2, word, true), wait);
  gcc_jit_block *on = j->b;
  if (lasts) {
    j->b = wait;
    if (!lw_operand_uniform(l, at + 2)) unless(l, names(l, at + 2, word, false), machine);
    jx_set(j, lw_field(l, l->state, MX_AT(jit_state, at), j->t_pu8), place);
    lw_go(l, *lasts = lw_new_block(l, "lasts"));
  }
  j->b = on;
  for (unsigned c = 0; at && c < l->nc; c++) lw_put(l, 0, c, jv_k(j, MX_T_pred, 1));
  return true;
}

bool lw_mbarrier_arrive(struct lw *l) {
  struct jx *j = &l->j;
  const struct mx_op_info *o = l->ins->o;
  if (mx__effect(l->ins->op) != MX_DOES_MBARRIER || o->nopnds != 3 || o->opnd[0].role != MX_OUT ||
      mx_w_guard(*l->ins->w) != MX_GUARD_NONE || !lw_operand_uniform(l, 1))
    return false;
  const uint64_t once =
      mx_mbarrier_pack((struct mx_mbarrier){.pending = 1, .expected = mx_w_mod(*l->ins->w) & 1}) & ~MX_MBARRIER_MARKS;
  const uint64_t all = once * l->a->lanes;
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done");
  unless(l, lw_lanes_lack(l), slow);
  gcc_jit_lvalue *cell = lw_field(l, lw_uniform_address(l, 1, 8, true, NULL, slow), 0, j->t_u64);
  gcc_jit_rvalue *word = jx_keep(j, jx_rv(cell));
  unless(l, lw_mbarrier_is_none(l, word), slow);
  for (unsigned shift = 0; all >> shift; shift += 20) { /* pending; of arrive_drop also expected */
    gcc_jit_rvalue *n = u64_op(l, GCC_JIT_BINARY_OP_RSHIFT, word, lw_u64(l, shift));
    n = u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, n, lw_u64(l, MX_MBARRIER_MOST));
    unless(l, lw_compare(l, GCC_JIT_COMPARISON_LE, n, lw_u64(l, l->a->lanes)), slow);
  }
  jx_set(j, cell, u64_op(l, GCC_JIT_BINARY_OP_MINUS, word, lw_u64(l, all)));
  const jv before = jv_broadcast(j, MX_T_u64, word);
  for (unsigned c = 0; c < l->nc; c++) { /* lanes arrive in the order of their numbers */
    const jv n = jv_cvt(j, MX_T_u64, MX_T_u32, lw_lane_numbers(l, c, UINT32_MAX, 0));
    lw_put(l, 0, c, jv_bin(j, JX_SUB, MX_T_u64, before, jv_bin(j, JX_MUL, MX_T_u64, n, jv_k(j, MX_T_u64, once))));
  }
  lw_end_with_fallback(l, slow, end);
  return true;
}

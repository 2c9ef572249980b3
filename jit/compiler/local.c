/* Local memory in compiled code. Each lane has a piece of its own, and the pieces of a block's lanes are adjacent, all
 * of the same size, which is also where local addresses end. So there are no rows: elements are gathered and scattered,
 * also where all lanes have the same address. Where slots live in memory a function of the object does an access, since
 * in line each takes a hundred statements, and arrays of registers' size are accessed dozens of times. */
#include "access.h"
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#define U64(op_, x_, y_) jx_op(&l->j, GCC_JIT_BINARY_OP_##op_, l->j.t_u64, x_, y_)
#define U32S(op_, x_, y_) jx_op(&l->j, GCC_JIT_BINARY_OP_##op_, l->j.vu32, x_, y_)

void lw_local_begin(struct lw *l, unsigned bytes, struct lw_local *p) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *block = jx_rv(lw_field(l, l->x, MX_AT(exec, block), j->t_pu8));
  p->stride = jx_keep(j, jx_rv(lw_field(l, l->x, MX_AT(exec, local_stride), j->t_u64)));
  p->all = jx_keep(j, jx_rv(lw_field(l, block, MX_AT(block, local), j->t_u64)));
  p->most = jx_keep(j, U64(MINUS, p->stride, lw_u64(l, bytes)));
  /* the block has none yet; distances from the first lane's piece do not fit */
  p->bad = lw_either(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, p->all, lw_u64(l, 0)),
                     lw_compare(l, GCC_JIT_COMPARISON_GT, p->stride, lw_u64(l, (INT32_MAX - 3) / l->a->image->lanes)));
}
void lw_local_check(struct lw *l, struct lw_local *p, unsigned bytes, gcc_jit_rvalue *more, unsigned shift,
                    gcc_jit_rvalue **index, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *most = p->most;
  if (more) {
    p->bad = lw_either(l, p->bad, lw_compare(l, GCC_JIT_COMPARISON_GT, more, p->most));
    p->bad = lw_either(
        l, p->bad, lw_compare(l, GCC_JIT_COMPARISON_NE, U64(BITWISE_AND, more, lw_u64(l, bytes - 1)), lw_u64(l, 0)));
    most = U64(MINUS, most, more);
  }
  if (!index[0]) return;
  most = jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, U64(RSHIFT, most, lw_u64(l, shift)), j->t_u32));
  p->bad = lw_either(l, p->bad, lw_numbers_outside(l, index, most, (bytes - 1) >> shift, lanes));
  for (unsigned c = 0; shift && c < l->nc; c++)
    index[c] = jx_keep(j, U32S(LSHIFT, index[c], jv_k(j, MX_T_u32, shift).r[0]));
}
gcc_jit_rvalue *lw_local_of_warp(struct lw *l, const struct lw_local *p) {
  gcc_jit_rvalue *warp = jx_rv(lw_field(l, l->x, MX_AT(exec, sreg) + 8 * MX_SR_WARPID, l->j.t_u64));
  return U64(PLUS, p->all, U64(MULT, p->stride, U64(MULT, warp, lw_u64(l, l->a->image->lanes))));
}
gcc_jit_rvalue *lw_local_place(struct lw *l, const struct lw_local *p, gcc_jit_rvalue *more, gcc_jit_rvalue **index) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *host = lw_local_of_warp(l, p);
  if (more) host = U64(PLUS, host, more);
  const jv apart = jv_broadcast(j, MX_T_u32, jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, p->stride, j->t_u32)));
  gcc_jit_rvalue *own = jx_keep(j, U32S(MULT, apart.r[0], lw_ramp(l, 0, 1, false))),
                 *chunk = jx_keep(j, U32S(MULT, apart.r[0], jv_k(j, MX_T_u32, j->w).r[0]));
  for (unsigned c = 0; c < l->nc; c++) {
    index[c] = jx_keep(j, index[c] ? U32S(PLUS, index[c], own) : own);
    if (c + 1 < l->nc) own = jx_keep(j, U32S(PLUS, own, chunk));
  }
  return jx_keep(j, host);
}

void lw_by_lane(struct lw *l, const struct lw_access *ac, jv off, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const struct lw_base *base = lw_base(l);
  gcc_jit_rvalue *index[LW_CHUNKS] = {NULL}, *more = NULL;
  unsigned shift = 0;
  struct lw_local p;
  lw_local_begin(l, ac->bytes, &p);
  if (lw_operand_uniform(l, ac->at)) more = jx_keep(j, jv_scalar(j, lw_address(l, ac->at, 0, off)));
  else if (base) {
    more = lw_sum_of_addends(l, base, jv_scalar(j, off));
    shift = (unsigned)__builtin_ctzll(base->post_scale);
    for (unsigned c = 0; c < l->nc; c++) index[c] = jx_keep(j, lw_get(l, base->slot, MX_T_u32, c).r[0]);
  } else
    for (unsigned c = 0; c < l->nc; c++) index[c] = jx_keep(j, lw_number_32(l, lw_address(l, ac->at, c, off)).r[0]);
  lw_local_check(l, &p, ac->bytes, more, shift, index, lanes);
  gcc_jit_block *fast = lw_new_block(l, "by_lane");
  lw_split(l, lw_rare(l, p.bad), ac->slow, fast);
  j->b = fast;
  gcc_jit_rvalue *host = lw_local_place(l, &p, more, index);
  lw_element_by_element(l, ac, host, index, 1, lanes);
  lw_go(l, ac->end);
}

bool lw_call_by_lane(struct lw *l, const struct lw_access *ac, jv off) {
  struct jx *j = &l->j;
  const unsigned k = ac->load ? 0 : ac->value, to = l->ins->o->opnd[k].type, at = l->ins->o->opnd[ac->at].type;
  struct lw_local_access local = {.load = ac->load, .type = ac->type, .to = to, .bytes = ac->bytes};
  if (!l->slots_spilled || l->one_lane || l->loop || (ac->load && ac->guarded) || ac->n > 1 || l->parts ||
      !lw_has_functions_left() || jx_wide(ac->type) != (mx__types[to].slot_class == MX_R64) ||
      mx__types[to].slot_class == MX_PRED || !lw_operand_has_cells(l, k, ac->load, &local.raw, &local.slot))
    return false;
  const struct lw_base *base = lw_base(l);
  gcc_jit_rvalue *cells, *more = jv_scalar(j, off);
  if (lw_operand_uniform(l, ac->at)) {
    local.kind = LW_ONE_PLACE;
    cells = jx_rv(l->spill_area); /* which is not read */
    more = jv_scalar(j, lw_address(l, ac->at, 0, off));
  } else if (base) {
    local.kind = LW_NUMBERS;
    local.shift = (unsigned)__builtin_ctzll(base->post_scale);
    if (!(cells = lw_cells_address(l, base->slot))) return false;
    more = lw_sum_of_addends(l, base, more);
  } else {
    local.kind = LW_ADDRESSES;
    if (mx__types[at].slot_class != MX_R64) return false;
    cells = lw_cells_address(l, ja_slot(l->a, MX_R64, mx_w_operand(l->ins->w, ac->at)));
    if (!cells) return false;
  }
  more = jx_keep(j, more);
  const uint32_t fallback = lw_spill_for_fallback(l);
  lw_behind_body(l, fallback, lw_call_local_access(l, &local, cells, more, fallback));
  if (ac->load) l->lows[local.slot] = (struct lw_low){0};
  return true;
}

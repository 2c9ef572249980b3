/* Chunks of one lane, in scalar registers, of which scalar_loops.c builds its loops. Every value counts as uniform, so
 * that it never has halves. Masks are 0 or 1. gcc itself has scalar arithmetic; loops with operations that are missing
 * here (square roots, roundings, some conversions) have no such form. */
#include "lanes.h"

static jv value(struct jx *j, unsigned t, gcc_jit_rvalue *r) {
  jv v = jx_fresh(t, true);
  v.r[0] = v.r[1] = jx_keep(j, jx_bits(j, jx_type(j, t), r));
  return v;
}
static gcc_jit_rvalue *cast(struct jx *j, gcc_jit_rvalue *r, gcc_jit_type *t) {
  return gcc_jit_context_new_cast(j->c, NULL, r, t);
}
static gcc_jit_type *number_type(struct jx *j, unsigned t) {
  return jx_float(t) ? jx_type(j, t) : jx_signed(t) ? (jx_wide(t) ? j->vs64 : j->vs32) : jx_vector(j, jx_wide(t));
}
static gcc_jit_rvalue *number(struct jx *j, unsigned t, jv x) { return jx_bits(j, number_type(j, t), x.r[0]); }

/* ---- masks ------------------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *mask_any(struct jx *j, gcc_jit_rvalue *m) {
  return gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, m, jx_int(j, j->t_mask, 0));
}
static gcc_jit_rvalue *mask_bits(struct jx *j, gcc_jit_rvalue *m) { return cast(j, m, j->t_u64); }
static void masks_of(struct jx *j, gcc_jit_rvalue *bits, unsigned n, gcc_jit_rvalue **m) {
  bits = jx_keep(j, bits);
  for (unsigned k = 0; k < n; k++) {
    gcc_jit_rvalue *here = jx_op(j, GCC_JIT_BINARY_OP_RSHIFT, j->t_u64, bits, jx_int(j, j->t_u64, k));
    here = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, here, jx_int(j, j->t_u64, 1));
    m[k] = jx_keep(j, cast(j, here, j->t_mask));
  }
}

/* ---- operations -------------------------------------------------------------------------------------------------*/
static jv compare(struct jx *j, enum jx_cmp op, unsigned t, jv x, jv y) {
  static const enum gcc_jit_comparison ops[] = {
      [JX_EQ] = GCC_JIT_COMPARISON_EQ, [JX_NE] = GCC_JIT_COMPARISON_NE, [JX_LT] = GCC_JIT_COMPARISON_LT,
      [JX_LE] = GCC_JIT_COMPARISON_LE, [JX_GT] = GCC_JIT_COMPARISON_GT, [JX_GE] = GCC_JIT_COMPARISON_GE};
  return value(
      j, MX_T_pred,
      cast(j, gcc_jit_context_new_comparison(j->c, NULL, ops[op], number(j, t, x), number(j, t, y)), j->t_mask));
}
static jv blend(struct jx *j, unsigned t, jv c, jv x, jv y) {
  gcc_jit_type *vt = jx_vector(j, jx_wide(t));
  gcc_jit_rvalue *all = jx_op(j, GCC_JIT_BINARY_OP_MINUS, vt, jx_int(j, vt, 0), cast(j, c.r[0], vt)),
                 *other = jx_keep(j, jx_bits(j, vt, y.r[0]));
  gcc_jit_rvalue *differ = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, vt, jx_bits(j, vt, x.r[0]), other);
  return value(
      j, t,
      jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, vt, other, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, vt, differ, all)));
}
/* Floats stay in floating-point registers. */
static jv blend_floats(struct jx *j, unsigned t, jv c, jv x, jv y) {
  if (!jx_float(t)) return blend(j, t, c, x, y);
  gcc_jit_type *vt = jx_vector(j, jx_wide(t)), *f = jx_type(j, t);
  gcc_jit_rvalue *m =
      jx_bits(j, f, jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, vt, jx_int(j, vt, 0), cast(j, c.r[0], vt))));
  return value(j, t,
               jx_ask(j, jx_wide(t) ? "vblendvpd %1, %3, %2, %0" : "vblendvps %1, %3, %2, %0", "=x", f, 3, "x", m, "x",
                      jx_bits(j, f, y.r[0]), "x", jx_bits(j, f, x.r[0])));
}
/* Of numbers; where an operand is a NaN, the loop is left before (scalar_turns.c). The instruction returns its last
 * operand if they are equal, which zeros of different signs are, so it is done in both orders. */
static gcc_jit_rvalue *extreme(struct jx *j, bool larger, gcc_jit_rvalue *x, gcc_jit_rvalue *y, bool *canonical) {
  *canonical = true;
  gcc_jit_lvalue *d = jx_local(j, j->vf32), *t = jx_local(j, j->vf32);
  gcc_jit_extended_asm *a = jx_asm(j,
                                   larger ? "vmaxss %2, %3, %0\n\tvmaxss %3, %2, %1\n\tvandps %1, %0, %0"
                                          : "vminss %2, %3, %0\n\tvminss %3, %2, %1\n\tvorps %1, %0, %0",
                                   "=&x", d, 2, "x", jx_bits(j, j->vf32, x), "x", jx_bits(j, j->vf32, y));
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", t);
  return jx_rv(d);
}
static gcc_jit_rvalue *canon(struct jx *j, gcc_jit_rvalue *x) {
  gcc_jit_rvalue *nan = jx_bits(j, j->vf32, jx_keep(j, jx_int(j, j->vu32, 0x7FFFFFFF)));
  return jx_ask(j, "vcmpunordss %1, %1, %0\n\tvblendvps %0, %2, %1, %0", "=&x", j->vf32, 2, "x", x, "x", nan);
}
static jv widen(struct jx *j, unsigned to, unsigned from, jv x) {
  return value(j, to, cast(j, number(j, from, x), jx_signed(from) ? j->vs64 : j->vu64));
}
static jv narrow(struct jx *j, unsigned to, jv x) { return value(j, to, cast(j, x.r[0], j->vu32)); }
static jv convert(struct jx *j, unsigned to, unsigned from, jv x) {
  if (from == MX_T_f16) return jx_refuse(j, to);
  if (jx_float(to)) {
    if (jx_float(from)) return value(j, to, cast(j, x.r[0], jx_type(j, to)));
    x = jx_spread(j, x);
    return value(j, to, cast(j, number(j, x.t, x), jx_type(j, to)));
  }
  if (jx_wide(to) && !jx_signed(to)) return jx_refuse(j, to);
  if (jx_wide(to)) return value(j, to, cast(j, x.r[0], j->vs64));
  if (jx_bitsof(to) < 32 || jx_signed(to)) {
    jv v = value(j, MX_T_u32, jx_bits(j, j->vu32, cast(j, x.r[0], j->vs32)));
    v.t = (uint8_t)to;
    return jx_trim(j, v);
  }
  return value(j, to, cast(j, cast(j, x.r[0], j->vs64), j->vu32));
}
static jv unary(struct jx *j, enum jx_un op, unsigned t, jv x) {
  (void)op, (void)x;
  return jx_refuse(j, t);
}
static jv multiply_add(struct jx *j, unsigned t, jv x, jv y, jv z) { return jx_multiply_add(j, t, x, y, z, "v", "vm"); }
static jv no_multiply_add(struct jx *j, unsigned t, jv x, jv y, jv z) {
  (void)x, (void)y, (void)z;
  return jx_refuse(j, t);
}

static gcc_jit_rvalue *broadcast(struct jx *j, bool wide, gcc_jit_rvalue *s) {
  return jx_bits(j, jx_vector(j, wide), s);
}
static gcc_jit_rvalue *first(struct jx *j, bool wide, gcc_jit_rvalue *v) { return jx_bits(j, jx_vector(j, wide), v); }

#define SAME \
  .lanes = 1, .mask_any = mask_any, .mask_bits = mask_bits, .masks_of = masks_of, .compare = compare, .widen = widen, \
  .narrow = narrow, .convert = convert, .unary = unary, .broadcast = broadcast, .first = first
const struct jx_isa jx_one = {.fma = multiply_add,
                              .three_operands = true,
                              .blend = blend_floats,
                              .extreme = extreme,
                              .canon = canon,
                              SAME},
                    jx_one_v2 = {.fma = no_multiply_add, .blend = blend, SAME};

/* Pairs and quads of adjacent elements: between memory, where a lane's elements lie side by side, and a vector for each
 * element. */
#include "access.h"
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#include <stdio.h>
#include <string.h>

/* The vector whose lane k is element from[k] of the concatenation of x and y. */
static gcc_jit_rvalue *pick(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y, const unsigned *from) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *lane[JX_MOST_LANES];
  for (unsigned k = 0; k < j->w; k++) lane[k] = jx_int(j, j->t_u32, from[k]);
  return j->isa->choose(j, (gcc_jit_rvalue *[]){x, y}, 2,
                        gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, (int)j->w, lane));
}
/* Quads take two steps: the first one collects elements 2 * (t % 2) and the next one, for half t / 2 of the lanes. */
void lw_deinterleave(struct lw *l, gcc_jit_rvalue **v, unsigned n, bool wide) {
  if (l->j.isa->deinterleave) {
    l->j.isa->deinterleave(&l->j, v, n, wide);
    return;
  }
  const unsigned w = l->j.w, half = w / 2;
  unsigned from[JX_MOST_LANES];
  if (wide) {
    gcc_jit_rvalue *of[4];
    memcpy(of, v, sizeof of);
    for (unsigned t = 0; t < 4; t++) { /* element t / 2 in half t % 2 of the lanes */
      for (unsigned k = 0; k < w; k++) from[k] = k / 2 * 4 + t / 2 * 2 + k % 2;
      v[t] = pick(l, of[t % 2 * 2], of[t % 2 * 2 + 1], from);
    }
    return;
  }
  gcc_jit_rvalue *first_step[4];
  for (unsigned t = 0; t < n; t++) {
    for (unsigned k = 0; k < w; k++) from[k] = n == 2 ? 2 * k + t : k % half * 4 + t % 2 * 2 + k / half;
    first_step[t] = n == 2 ? pick(l, v[0], v[1], from) : pick(l, v[t / 2 * 2], v[t / 2 * 2 + 1], from);
  }
  for (unsigned e = 0; e < n; e++) {
    for (unsigned k = 0; k < w; k++) from[k] = k / half * w + e % 2 * half + k % half;
    v[e] = n == 2 ? first_step[e] : pick(l, first_step[e / 2], first_step[2 + e / 2], from);
  }
}
/* Vector number t of what is stored. For quads, interleaving pairs in two steps would take fewer operations, but scan
 * took 7 % longer with it. */
static gcc_jit_rvalue *interleaved(struct lw *l, gcc_jit_rvalue *const *v, unsigned n, bool wide, unsigned t) {
  struct jx *j = &l->j;
  unsigned from[JX_MOST_LANES], upper = 0;
  gcc_jit_rvalue *half[2];
  if (wide) {
    for (unsigned k = 0; k < j->w; k++) from[k] = k / 2 % 2 * j->w + t % 2 * j->w / 2 + k / 4 * 2 + k % 2;
    return pick(l, v[t / 2], v[2 + t / 2], from);
  }
  for (unsigned h = 0; h < n / 2; h++) {
    for (unsigned k = 0; k < j->w; k++) from[k] = k % 2 * j->w + (t * j->w + k) / n;
    half[h] = pick(l, v[2 * h], v[2 * h + 1], from);
  }
  if (n == 2) return half[0];
  for (unsigned k = 0; k < j->w; k++) upper |= k % 4 / 2 << k;
  gcc_jit_rvalue *m = jx_int(j, j->t_mask, upper);
  return jv_sel(j, MX_T_u32, (jv){.t = MX_T_pred, .r = {m, m}}, (jv){.t = MX_T_u32, .r = {half[1], half[1]}},
                (jv){.t = MX_T_u32, .r = {half[0], half[0]}})
      .r[0];
}
void lw_interleave(struct lw *l, gcc_jit_rvalue **v, unsigned n, bool wide) {
  if (l->j.isa->interleave) {
    l->j.isa->interleave(&l->j, v, n, wide);
    return;
  }
  const unsigned vectors = wide ? 2 * n : n;
  gcc_jit_rvalue *of[4];
  memcpy(of, v, vectors * sizeof *of);
  for (unsigned t = 0; t < vectors; t++) v[t] = interleaved(l, of, n, wide, t);
}

void lw_move_chunk(struct lw *l, const struct lw_access *ac, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(ac->type);
  const unsigned parts = wide ? 2 : 1, vectors = ac->n * parts;
  gcc_jit_rvalue *v[4];
  if (ac->load) {
    for (unsigned k = 0; k < vectors; k++) v[k] = j->isa->load(j, false, lw_vector(l, q, j->bytes * k, false));
    lw_deinterleave(l, v, ac->n, wide);
    for (unsigned e = 0; e < ac->n; e++) {
      jv element = {.t = wide ? MX_T_u64 : MX_T_u32};
      for (unsigned h = 0; h < 2; h++) element.r[h] = jx_bits(j, jx_vector(j, wide), v[e * parts + h % parts]);
      lw_put_element(l, e, c, ac->type, element);
    }
    return;
  }
  for (unsigned e = 0; e < ac->n; e++) {
    const jv element = lw_source(l, ac->value + e, c, wide ? MX_T_u64 : MX_T_u32);
    for (unsigned h = 0; h < parts; h++)
      v[e * parts + h] = jx_keep(j, jx_bits(j, j->vu32, element.r[h] ? element.r[h] : element.r[0]));
  }
  lw_interleave(l, v, ac->n, wide);
  for (unsigned k = 0; k < vectors; k++) j->isa->write(j, false, 0, lw_vector(l, q, j->bytes * k, false), v[k], lanes);
}

/* The numbers of a chunk in memory, for code that takes them lane by lane. */
static gcc_jit_rvalue *put_numbers(struct lw *l, gcc_jit_rvalue *index) {
  gcc_jit_rvalue *at = jx_keep(&l->j, lw_at(l, l->x, MX_AT(exec, tmp)));
  jx_set(&l->j, lw_vector(l, at, 0, false), index);
  return at;
}
static gcc_jit_rvalue *bits_of(struct lw *l, gcc_jit_rvalue *lanes) {
  struct jx *j = &l->j;
  return jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, j->isa->mask_bits(j, lanes), j->t_u32));
}
void lw_load_quads(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *lanes,
                   gcc_jit_rvalue **v) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *bits = bits_of(l, lanes), *numbers = put_numbers(l, index);
  /* inactive lanes load what the first active one does; where there is none, it does not matter which is taken */
  gcc_jit_rvalue *some = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u32, bits, jx_int(j, j->t_u32, 1u << (j->w - 1)));
  gcc_jit_rvalue *lane = lw_lowest(l, gcc_jit_context_new_cast(j->c, NULL, some, j->t_u64));
  gcc_jit_rvalue *at = lw_add(l, numbers, jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, lw_u64(l, 4)));
  const jv first = jv_broadcast(j, MX_T_u32, jx_keep(j, jx_rv(lw_field(l, at, 0, j->t_u32)))),
           own = {.t = MX_T_u32, .r = {index, index}};
  numbers = put_numbers(l, jv_sel(j, MX_T_u32, (jv){.t = MX_T_pred, .r = {lanes, lanes}}, own, first).r[0]);
  j->isa->load_quads(j, v, base, numbers, scale, bits);
  lw_deinterleave(l, v, 4, false);
}
void lw_store_quads(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *lanes,
                    gcc_jit_rvalue **v) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *numbers = put_numbers(l, index);
  lw_interleave(l, v, 4, false);
  for (unsigned t = 0; t < 4; t++) jx_set(j, lw_vector(l, numbers, (t + 1) * j->bytes, false), v[t]);
  char text[256];
  snprintf(text, sizeof text,
           "testl %%0, %%0\n\tjz 2f\n1:\ttzcntl %%0, %%k1\n\tmovslq (%%5,%%q1,4), %%q2\n\tshll $4, %%k1\n\t"
           "vmovups %u(%%5,%%q1), %%x3\n\tvmovups %%x3, (%%4,%%q2,%u)\n\tleal -1(%%0), %%k1\n\tandl %%k1, %%0\n\t"
           "jnz 1b\n2:",
           j->bytes, scale);
  gcc_jit_lvalue *left = jx_local(j, j->t_u32), *lane = jx_local(j, j->t_u64), *at = jx_local(j, j->t_u64),
                 *quad = jx_local(j, j->vu32);
  jx_set(j, left, bits_of(l, lanes));
  gcc_jit_extended_asm *a = jx_asm(j, text, "+&r", left, 2, "r", base, "r", numbers);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", lane);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", at);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", quad);
  jx_touches_memory(a);
}

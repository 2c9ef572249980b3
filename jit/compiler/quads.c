/* Pairs and quads of adjacent elements: between memory, where a lane's elements lie side by side, and a vector for each
 * element. */
#include "lowering.h"

/* The vector whose lane k is element from[k] of the concatenation of x and y. */
static gcc_jit_rvalue *pick(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y, const unsigned *from) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *lane[JX_MOST_LANES];
  for (unsigned k = 0; k < j->w; k++) lane[k] = jx_int(j, j->t_u32, from[k]);
  return j->isa->choose(j, (gcc_jit_rvalue *[]){x, y}, 2,
                        gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, (int)j->w, lane));
}
/* Deinterleaves n vectors as loaded, in which each lane's n elements are adjacent, into one vector for each element.
 * Quads take two steps: the first one collects elements 2 * (t % 2) and the next one, for half t / 2 of the lanes. */
void lw_deinterleave(struct lw *l, gcc_jit_rvalue **v, unsigned n) {
  const unsigned w = l->j.w, half = w / 2;
  unsigned from[JX_MOST_LANES];
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
/* The inverse: vector number t of what is stored. For quads, interleaving pairs in two steps would take fewer
 * operations, but scan took 7 % longer with it. */
gcc_jit_rvalue *lw_interleave(struct lw *l, gcc_jit_rvalue *const *v, unsigned n, unsigned t) {
  struct jx *j = &l->j;
  unsigned from[JX_MOST_LANES], upper = 0;
  gcc_jit_rvalue *bits[JX_MOST_LANES], *half[2];
  for (unsigned h = 0; h < n / 2; h++) {
    for (unsigned k = 0; k < j->w; k++) from[k] = k % 2 * j->w + (t * j->w + k) / n;
    half[h] = pick(l, v[2 * h], v[2 * h + 1], from);
  }
  if (n == 2) return half[0];
  for (unsigned k = 0; k < j->w; k++)
    upper |= k % 4 / 2 << k, bits[k] = jx_int(j, j->t_u32, k % 4 / 2 ? UINT32_MAX : 0);
  gcc_jit_rvalue *m = j->isa->mask_is_vector
                          ? gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, (int)j->w, bits)
                          : jx_int(j, j->t_mask, upper);
  return jv_sel(j, MX_T_u32, (jv){.t = MX_T_pred, .r = {m, m}}, (jv){.t = MX_T_u32, .r = {half[1], half[1]}},
                (jv){.t = MX_T_u32, .r = {half[0], half[0]}})
      .r[0];
}

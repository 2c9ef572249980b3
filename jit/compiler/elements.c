/* Elements that are in no row, one by one: gathers and scatters. See memory.c. */
#include "access.h"
#include "lowering.h"

jv lw_gathered(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *lanes,
               unsigned type) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(type);
  jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++) v.r[h] = j->isa->gather(j, wide, h, base, index, scale, lanes);
  if (!v.r[1]) v.r[1] = v.r[0];
  return v;
}
void lw_gather(struct lw *l, unsigned out, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, unsigned c,
               gcc_jit_rvalue *lanes, unsigned type) {
  lw_put_element(l, out, c, type, lw_gathered(l, base, index, scale, lanes, type));
}
void lw_scatter(struct lw *l, unsigned in, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, unsigned c,
                gcc_jit_rvalue *lanes, unsigned type) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(type);
  const unsigned space = mx_w_mod(*l->ins->w) >> 2;
  jv v = lw_source(l, in, c, type);
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
    j->isa->scatter(j, wide, h, base, index, scale, v.r[h] ? v.r[h] : v.r[0], lanes,
                    space == MX_SHARED || l->ins->local);
}
/* Chunk c of an access to quads. */
static void quads(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *p, gcc_jit_rvalue *index, unsigned scale,
                  unsigned c, gcc_jit_rvalue *lanes) {
  gcc_jit_rvalue *v[4];
  if (ac->load) {
    lw_load_quads(l, p, index, scale, lanes, v);
    for (unsigned e = 0; e < 4; e++) lw_put_element(l, e, c, ac->type, (jv){.t = MX_T_u32, .r = {v[e], v[e]}});
    return;
  }
  for (unsigned e = 0; e < 4; e++) v[e] = jx_keep(&l->j, lw_source(l, ac->value + e, c, MX_T_u32).r[0]);
  lw_store_quads(l, p, index, scale, lanes, v);
}
void lw_one_by_one(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index,
                   unsigned scale, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *p = lw_byte_pointer(l, host);
  const unsigned bytes = ac->bytes / ac->n;
  if (ac->n == 4 && jx_bitsof(ac->type) == 32) {
    for (unsigned c = 0; c < l->nc; c++) quads(l, ac, p, index[c], scale, c, lanes[c]);
    return;
  }
  /* A guarded store through a uniform address is most likely one lane's, and a scatter costs its full latency even with
   * an empty mask: test the mask first. */
  const bool one = ac->guarded && lw_operand_uniform(l, ac->at);
  for (unsigned c = 0; c < l->nc; c++) {
    if (ac->load) {
      for (unsigned e = 0; e < ac->n; e++)
        lw_gather(l, e, lw_at(l, p, (uint64_t)e * bytes), index[c], scale, c, lanes[c], ac->type);
      continue;
    }
    gcc_jit_block *act = one ? lw_new_block(l, "act") : NULL, *next = one ? lw_new_block(l, "next") : NULL;
    if (one) lw_split(l, j->isa->mask_any(j, lanes[c]), act, next), j->b = act;
    for (unsigned e = 0; e < ac->n; e++)
      lw_scatter(l, ac->value + e, lw_at(l, p, (uint64_t)e * bytes), index[c], scale, c, lanes[c], ac->type);
    if (one) lw_go(l, next), j->b = next;
  }
}

static gcc_jit_lvalue *array(struct lw *l, unsigned n, bool wide) {
  return jx_local(&l->j, gcc_jit_context_new_array_type(l->j.c, NULL, jx_vector(&l->j, wide), (int)n));
}
static gcc_jit_rvalue *address_of(struct lw *l, gcc_jit_lvalue *all) {
  return jx_keep(&l->j, gcc_jit_context_new_cast(l->j.c, NULL, gcc_jit_lvalue_get_address(all, NULL), l->j.t_pu8));
}
gcc_jit_rvalue *lw_array(struct lw *l, unsigned n, bool wide) { return address_of(l, array(l, n, wide)); }
gcc_jit_rvalue *lw_in_memory(struct lw *l, gcc_jit_rvalue *const *v, unsigned n, bool wide) {
  struct jx *j = &l->j;
  gcc_jit_lvalue *all = array(l, n, wide);
  for (unsigned k = 0; k < n; k++)
    jx_set(j, gcc_jit_context_new_array_access(j->c, NULL, jx_rv(all), jx_int(j, j->t_int, k)), v[k]);
  return address_of(l, all);
}
gcc_jit_rvalue *lw_of_lane(struct lw *l, gcc_jit_rvalue *const *v, unsigned n, bool wide, gcc_jit_rvalue *lane) {
  gcc_jit_rvalue *at = lw_in_memory(l, v, n, wide),
                 *by = lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, lane, lw_u64(l, wide ? 8 : 4));
  return jx_keep(&l->j, jx_rv(lw_field(l, lw_add(l, at, by), 0, wide ? l->j.t_u64 : l->j.t_u32)));
}
/* The value that the highest active lane stores as element e, as a number of 32 or 64 bits. */
gcc_jit_rvalue *lw_last_value(struct lw *l, const struct lw_access *ac, unsigned e, gcc_jit_rvalue *const *lanes) {
  if (lw_operand_uniform(l, ac->value + e)) return jv_scalar(&l->j, lw_source(l, ac->value + e, 0, ac->type));
  const bool wide = jx_wide(ac->type);
  gcc_jit_rvalue *all[2 * LW_CHUNKS];
  unsigned n = 0;
  for (unsigned c = 0; c < l->nc; c++) {
    const jv v = lw_source(l, ac->value + e, c, ac->type);
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++) all[n++] = v.r[h] ? v.r[h] : v.r[0];
  }
  return lw_of_lane(l, all, n, wide, lw_highest(l, lw_pack(l, lanes)));
}

/* Narrow elements are gathered as the aligned 32-bit words that contain them, which never cross a page, shifted down
 * afterwards. A level that has `choose` can also shift each lane by its own count. */
bool lw_has_narrow_elements(const struct lw *l) { return l->j.isa->choose; }
static gcc_jit_rvalue *narrow_values(struct lw *l, const struct lw_access *ac) {
  gcc_jit_rvalue *v[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) v[c] = lw_source(l, ac->value, c, ac->type).r[0];
  return lw_in_memory(l, v, l->nc, false);
}
void lw_store_narrow_rows(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *const *rows, unsigned row_lanes,
                          gcc_jit_rvalue *const *lanes) {
  gcc_jit_rvalue *values = narrow_values(l, ac), *mask = jx_keep(&l->j, lw_pack(l, lanes));
  const uint64_t all = UINT64_MAX >> (64 - row_lanes);
  for (unsigned from = 0; from < l->a->lanes; from += row_lanes) {
    gcc_jit_rvalue *m = from ? lw_u64_op(l, GCC_JIT_BINARY_OP_RSHIFT, mask, lw_u64(l, from)) : mask;
    lw_call_store_narrow(l, jx_bitsof(ac->type), rows[from / row_lanes], lw_at(l, values, 4 * (uint64_t)from), NULL, 1,
                         lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, m, lw_u64(l, all)));
  }
}
/* The words that contain narrow elements: where they begin, from an aligned host address, and where in them the
 * elements' bits begin. Returned: that address. */
static gcc_jit_rvalue *words_of(struct lw *l, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index, unsigned scale,
                                jv *at, jv *bits) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *behind = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, host, lw_u64(l, 3));
  const jv odd = jv_broadcast(j, MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, behind, j->t_u32));
  for (unsigned c = 0; c < l->nc; c++) {
    jv byte = {.t = MX_T_u32, .r = {index[c], index[c]}};
    if (scale > 1) byte = jv_bin(j, JX_SHL, MX_T_u32, byte, jv_k(j, MX_T_u32, (uint64_t)__builtin_ctz(scale)));
    byte = jv_bin(j, JX_ADD, MX_T_u32, byte, odd);
    at[c] = jv_bin(j, JX_AND, MX_T_u32, byte, jv_k(j, MX_T_u32, ~3u));
    bits[c] =
        jv_bin(j, JX_SHL, MX_T_u32, jv_bin(j, JX_AND, MX_T_u32, byte, jv_k(j, MX_T_u32, 3)), jv_k(j, MX_T_u32, 3));
  }
  return lw_byte_pointer(l, lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, host, lw_u64(l, ~3ull)));
}
void lw_gathered_narrow(struct lw *l, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index, unsigned scale,
                        gcc_jit_rvalue *const *lanes, unsigned type, jv *v) {
  struct jx *j = &l->j;
  jv at[LW_CHUNKS], bits[LW_CHUNKS];
  gcc_jit_rvalue *words = words_of(l, host, index, scale, at, bits);
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *w = j->isa->gather(j, false, 0, words, at[c].r[0], 1, lanes[c]);
    const jv e = jv_bin(j, JX_SHR, MX_T_u32, (jv){.t = MX_T_u32, .r = {w, w}}, bits[c]);
    v[c] = jv_bin(j, JX_AND, MX_T_u32, e, lw_element_bits(l, type));
  }
}
void lw_scatter_narrow(struct lw *l, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index, gcc_jit_rvalue *const *lanes,
                       unsigned type, const jv *v) {
  struct jx *j = &l->j;
  jv at[LW_CHUNKS], bits[LW_CHUNKS];
  gcc_jit_rvalue *words = words_of(l, host, index, 1, at, bits);
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *w = j->isa->gather(j, false, 0, words, at[c].r[0], 1, lanes[c]);
    const jv all = lw_element_bits(l, type), old = {.t = MX_T_u32, .r = {w, w}};
    /* the old bits are exchanged for the new ones where they differ */
    jv change = jv_bin(j, JX_XOR, MX_T_u32, jv_bin(j, JX_SHR, MX_T_u32, old, bits[c]), v[c]);
    change = jv_bin(j, JX_SHL, MX_T_u32, jv_bin(j, JX_AND, MX_T_u32, change, all), bits[c]);
    j->isa->scatter(j, false, 0, words, at[c].r[0], 1, jv_bin(j, JX_XOR, MX_T_u32, old, change).r[0], lanes[c], true);
  }
}
/* Whether the access is made element by element, by numbers of 32 bits, where it is no row. Not if it most likely is
 * one: the code for it would take a third of the time to compile kernels that load and store matrices. */
bool lw_has_elements(const struct lw *l) {
  return !l->one_lane && l->j.isa->choose && !l->looks_like_row[l->ins - l->a->ins];
}
void lw_element_by_element(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index,
                           unsigned scale, gcc_jit_rvalue *const *lanes) {
  if (!lw_is_narrow(ac)) {
    lw_one_by_one(l, ac, host, index, scale, lanes);
    return;
  }
  if (!ac->load && !l->ins->local) { /* the bytes beside are other threads' */
    lw_call_store_narrow(l, jx_bitsof(ac->type), lw_byte_pointer(l, host), narrow_values(l, ac),
                         lw_in_memory(l, index, l->nc, false), scale, lw_pack(l, lanes));
    return;
  }
  jv v[LW_CHUNKS];
  if (!ac->load) {
    for (unsigned c = 0; c < l->nc; c++) v[c] = lw_source(l, ac->value, c, ac->type);
    lw_scatter_narrow(l, host, index, lanes, ac->type, v);
    return;
  }
  lw_gathered_narrow(l, host, index, scale, lanes, ac->type, v);
  for (unsigned c = 0; c < l->nc; c++) lw_put_element(l, 0, c, ac->type, v[c]);
}

/* Chunks of 16 lanes in 512-bit vectors, masks in mask registers: AVX-512 (F, BW, CD, DQ, VL). */
#include "lanes.h"

#include <stdio.h>

#define V(wide_) jx_vector(j, wide_)

/* ---- masks ------------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *half_of(struct jx *j, gcc_jit_rvalue *m, unsigned h) {
  return h ? jx_ask(j, "kshiftrw $8, %1, %0", "=Yk", j->t_mask, 1, "Yk", m) : m;
}
static gcc_jit_rvalue *mask_any(struct jx *j, gcc_jit_rvalue *m) {
  return gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, m, jx_int(j, j->t_mask, 0));
}
static gcc_jit_rvalue *mask_bits(struct jx *j, gcc_jit_rvalue *m) {
  return gcc_jit_context_new_cast(j->c, NULL, m, j->t_u64);
}
static void masks_of(struct jx *j, gcc_jit_rvalue *bits, unsigned n, gcc_jit_rvalue **m) {
  bits = jx_keep(j, bits);
  for (unsigned c = 0; c < n; c++)
    m[c] = jx_keep(j, gcc_jit_context_new_cast(
                          j->c, NULL,
                          c ? jx_op(j, GCC_JIT_BINARY_OP_RSHIFT, j->t_u64, bits, jx_int(j, j->t_u64, c * j->w)) : bits,
                          j->t_mask));
}
static gcc_jit_rvalue *mask_fill(struct jx *j, gcc_jit_rvalue *bit) {
  return gcc_jit_context_new_cast(
      j->c, NULL, jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, bit, jx_int(j, j->t_u64, 0xFFFF)), j->t_mask);
}

/* ---- one instruction, over the halves -----------------------------------------------------------------------*/
static jv one(struct jx *j, unsigned t, const char *text, jv x) {
  jv v = jx_fresh(t, x.u);
  const unsigned n = jx_wide(t) && !v.u ? 2 : 1;
  for (unsigned h = 0; h < n; h++) v.r[h] = jx_ask(j, text, "=v", jx_type(j, t), 1, "vm", x.r[h]);
  if (v.u) v.r[1] = v.r[0];
  return v;
}
static jv compare(struct jx *j, enum jx_cmp op, unsigned t, jv x, jv y) {
  static const uint8_t fl[] = {[JX_EQ] = 0, [JX_NE] = 4, [JX_LT] = 17, [JX_LE] = 18, [JX_GT] = 30, [JX_GE] = 29};
  static const uint8_t in[] = {[JX_EQ] = 0, [JX_NE] = 4, [JX_LT] = 1, [JX_LE] = 2, [JX_GT] = 6, [JX_GE] = 5};
  char text[64];
  if (jx_float(t)) snprintf(text, sizeof text, "vcmpp%c $%d, %%2, %%1, %%0", t == MX_T_f32 ? 's' : 'd', fl[op]);
  else
    snprintf(text, sizeof text, "vpcmp%s%c $%d, %%2, %%1, %%0", jx_signed(t) ? "" : "u", jx_wide(t) ? 'q' : 'd',
             in[op]);
  jv v = jx_fresh(MX_T_pred, x.u && y.u);
  gcc_jit_rvalue *k[2];
  for (unsigned h = 0; h < (jx_wide(t) && !v.u ? 2u : 1u); h++)
    k[h] = jx_ask(j, text, "=Yk", j->t_mask, 2, "v", x.r[h], "vm", y.r[h]);
  v.r[0] = v.r[1] =
      !jx_wide(t) ? k[0] : jx_ask(j, "kunpckbw %1, %2, %0", "=Yk", j->t_mask, 2, "Yk", k[0], "Yk", v.u ? k[0] : k[1]);
  return v;
}
static jv blend(struct jx *j, unsigned t, jv c, jv x, jv y) {
  jv v = jx_fresh(t, c.u && x.u && y.u);
  const char *text = jx_wide(t) ? "vpblendmq %3, %2, %0%{%1%}" : "vpblendmd %3, %2, %0%{%1%}";
  for (unsigned h = 0; h < (jx_wide(t) && !v.u ? 2u : 1u); h++)
    v.r[h] = jx_ask(j, text, "=v", jx_type(j, t), 3, "Yk", half_of(j, c.r[0], h), "v", y.r[h], "vm", x.r[h]);
  if (v.u || !jx_wide(t)) v.r[1] = v.r[0];
  return v;
}
static jv unary(struct jx *j, enum jx_un op, unsigned t, jv x) {
  static const char *const text[][2] = {[JX_SQRT] = {"vsqrtps %1, %0", "vsqrtpd %1, %0"},
                                        [JX_RINT] = {"vrndscaleps $8, %1, %0", "vrndscalepd $8, %1, %0"},
                                        [JX_FLOOR] = {"vrndscaleps $9, %1, %0", "vrndscalepd $9, %1, %0"},
                                        [JX_CEIL] = {"vrndscaleps $10, %1, %0", "vrndscalepd $10, %1, %0"},
                                        [JX_TRUNC] = {"vrndscaleps $11, %1, %0", "vrndscalepd $11, %1, %0"},
                                        [JX_CLZ] = {"vplzcntd %1, %0", "vplzcntq %1, %0"}};
  return one(j, t, text[op][jx_wide(t)], x);
}
static jv multiply_add(struct jx *j, unsigned t, jv x, jv y, jv z) { return jx_multiply_add(j, t, x, y, z, "v", "vm"); }

static gcc_jit_rvalue *logic(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y, gcc_jit_rvalue *z, unsigned table) {
  char text[48];
  snprintf(text, sizeof text, "vpternlogd $%u, %%2, %%1, %%0", table);
  gcc_jit_lvalue *d = jx_local(j, j->vu32);
  jx_set(j, d, x);
  jx_asm(j, text, "+v", d, 2, "v", y, "vm", z);
  return jx_rv(d);
}
static gcc_jit_rvalue *rotate(struct jx *j, gcc_jit_rvalue *x, unsigned n) {
  char text[32];
  snprintf(text, sizeof text, "vprord $%u, %%1, %%0", n);
  return jx_ask(j, text, "=v", j->vu32, 1, "vm", x);
}

/* ---- conversion ---------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *upper(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *v) {
  return jx_ask(j, "vextracti64x4 $1, %1, %t0", "=v", t, 1, "v", v);
}
/* Extends 32-bit lanes to 64 bits, by an instruction that takes a ymm register. */
static jv up(struct jx *j, unsigned to, const char *text, jv x) {
  jv v = jx_fresh(to, x.u);
  v.r[0] = jx_ask(j, text, "=v", jx_type(j, to), 1, "v", x.r[0]);
  v.r[1] = x.u ? v.r[0] : jx_ask(j, text, "=v", jx_type(j, to), 1, "v", upper(j, jx_type(j, x.t), x.r[0]));
  return v;
}
/* Narrows 64-bit lanes to 32 bits, by an instruction that returns a ymm register. */
static jv down(struct jx *j, unsigned to, const char *text, jv x) {
  jv v = jx_fresh(to, x.u);
  gcc_jit_type *t = jx_type(j, to);
  gcc_jit_rvalue *lo = jx_ask(j, text, "=v", t, 1, "v", x.r[0]);
  gcc_jit_rvalue *hi = x.u ? lo : jx_ask(j, text, "=v", t, 1, "v", x.r[1]);
  v.r[0] = v.r[1] = jx_ask(j, "vinserti64x4 $1, %t2, %1, %0", "=v", t, 2, "v", lo, "v", hi);
  return v;
}
static jv widen(struct jx *j, unsigned to, unsigned from, jv x) {
  return up(j, to, jx_signed(from) ? "vpmovsxdq %t1, %0" : "vpmovzxdq %t1, %0", x);
}
static gcc_jit_rvalue *product(struct jx *j, bool with_sign, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return jx_ask(j, with_sign ? "vpmuldq %2, %1, %0" : "vpmuludq %2, %1, %0", "=v", j->vu64, 2, "v", x, "vm", y);
}
static jv narrow(struct jx *j, unsigned to, jv x) { return down(j, to, "vpmovqd %1, %t0", x); }
static jv convert(struct jx *j, unsigned to, unsigned from, jv x) {
  const bool s = jx_signed(from) || jx_bitsof(from) < 32;
  if (to == MX_T_f32) {
    if (from == MX_T_f64) return down(j, to, "vcvtpd2ps %1, %t0", x);
    if (from == MX_T_f16) {
      jv h = jx_fresh(to, x.u);
      h.r[0] = h.r[1] = jx_ask(j, "vcvtph2ps %t1, %0", "=v", j->vf32, 1, "v",
                               jx_ask(j, "vpmovdw %1, %t0", "=v", j->vu32, 1, "v", x.r[0]));
      return h;
    }
    if (jx_wide(from)) return down(j, to, s ? "vcvtqq2ps %1, %t0" : "vcvtuqq2ps %1, %t0", x);
    return one(j, to, s ? "vcvtdq2ps %1, %0" : "vcvtudq2ps %1, %0", jx_spread(j, x));
  }
  if (to == MX_T_f64) {
    if (from == MX_T_f32) return up(j, to, "vcvtps2pd %t1, %0", x);
    if (jx_wide(from)) return one(j, to, s ? "vcvtqq2pd %1, %0" : "vcvtuqq2pd %1, %0", x);
    return up(j, to, s ? "vcvtdq2pd %t1, %0" : "vcvtudq2pd %t1, %0", jx_spread(j, x));
  }
  const bool ts = jx_signed(to) || jx_bitsof(to) < 32;
  if (from == MX_T_f32) {
    if (jx_wide(to)) return up(j, to, ts ? "vcvttps2qq %t1, %0" : "vcvttps2uqq %t1, %0", x);
    jv v = one(j, MX_T_u32, ts ? "vcvttps2dq %1, %0" : "vcvttps2udq %1, %0", x);
    v.t = (uint8_t)to;
    return jx_trim(j, v);
  }
  if (jx_wide(to)) return one(j, to, ts ? "vcvttpd2qq %1, %0" : "vcvttpd2uqq %1, %0", x);
  jv v = down(j, MX_T_u32, ts ? "vcvttpd2dq %1, %t0" : "vcvttpd2udq %1, %t0", x);
  v.t = (uint8_t)to;
  return jx_trim(j, v);
}

static gcc_jit_rvalue *to_half(struct jx *j, gcc_jit_rvalue *x) {
  return jx_ask(j, "vpmovzxwd %t1, %0", "=v", j->vu32, 1, "v",
                jx_ask(j, "vcvtps2ph $0, %1, %t0", "=v", j->vu32, 1, "v", x));
}

/* ---- one lane, and all ----------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *broadcast(struct jx *j, bool wide, gcc_jit_rvalue *s) {
  return jx_ask(j, wide ? "vpbroadcastq %1, %0" : "vpbroadcastd %1, %0", "=v", V(wide), 1, "r", s);
}
static gcc_jit_rvalue *first(struct jx *j, bool wide, gcc_jit_rvalue *v) {
  return jx_ask(j, wide ? "vmovq %x1, %0" : "vmovd %x1, %0", "=r", wide ? j->t_u64 : j->t_u32, 1, "v", v);
}
static gcc_jit_rvalue *first_everywhere(struct jx *j, bool wide, gcc_jit_rvalue *v) {
  return jx_ask(j, wide ? "vpbroadcastq %x1, %0" : "vpbroadcastd %x1, %0", "=v", V(wide), 1, "v", v);
}

static gcc_jit_rvalue *above(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y, gcc_jit_rvalue *m) {
  return jx_ask(j, "vpcmpud $6, %2, %1, %0%{%3%}", "=Yk", j->t_mask, 3, "v", x, "v", y, "Yk", m);
}
static gcc_jit_rvalue *common(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y, gcc_jit_rvalue *m) {
  return jx_ask(j, "vptestmd %2, %1, %0%{%3%}", "=Yk", j->t_mask, 3, "v", x, "v", y, "Yk", m);
}
static gcc_jit_rvalue *differ(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *x, gcc_jit_rvalue *y,
                              gcc_jit_rvalue *m) {
  if (!y)
    return jx_ask(j, wide ? "vmovdqa64 %2, %0%{%1%}%{z%}" : "vmovdqa32 %2, %0%{%1%}%{z%}", "=v", V(wide), 2, "Yk",
                  half_of(j, m, h), "v", x);
  return jx_ask(j, wide ? "vpxorq %3, %2, %0%{%1%}%{z%}" : "vpxord %3, %2, %0%{%1%}%{z%}", "=v", V(wide), 3, "Yk",
                half_of(j, m, h), "v", x, "v", y);
}
static void collect(struct jx *j, bool wide, gcc_jit_lvalue *all, gcc_jit_rvalue *v, gcc_jit_rvalue *x,
                    gcc_jit_rvalue *y) {
  gcc_jit_lvalue *sum = jx_local(j, V(wide));
  gcc_jit_extended_asm *a = jx_asm(j,
                                   wide ? "vpaddq %4, %3, %1\n\tvpternlogq $0xF6, %2, %1, %0"
                                        : "vpaddd %4, %3, %1\n\tvpternlogd $0xF6, %2, %1, %0",
                                   "+v", all, 0);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&v", sum);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "v", v);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "v", x);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "vm", y);
}
static gcc_jit_rvalue *any_bit(struct jx *j, bool wide, gcc_jit_rvalue *v) {
  return mask_any(j, jx_ask(j, wide ? "vptestmq %1, %1, %0" : "vptestmd %1, %1, %0", "=Yk", j->t_mask, 1, "v", v));
}

static gcc_jit_rvalue *choose_two(struct jx *j, gcc_jit_rvalue *low, gcc_jit_rvalue *high, gcc_jit_rvalue *index) {
  gcc_jit_lvalue *d = jx_local(j, j->vu32);
  jx_set(j, d, index);
  jx_asm(j, "vpermi2d %2, %1, %0", "+v", d, 2, "v", low, "v", high);
  return jx_rv(d);
}
static gcc_jit_rvalue *choose(struct jx *j, gcc_jit_rvalue *const *chunks, unsigned n, gcc_jit_rvalue *index) {
  if (n == 1) return jx_ask(j, "vpermd %2, %1, %0", "=v", j->vu32, 2, "v", index, "v", chunks[0]);
  gcc_jit_rvalue *v = choose_two(j, chunks[0], chunks[1], index);
  if (n == 2) return v;
  gcc_jit_rvalue *upper_half =
      jx_ask(j, "vptestmd %2, %1, %0", "=Yk", j->t_mask, 2, "v", index, "v", jv_k(j, MX_T_u32, 32).r[0]);
  return jx_ask(j, "vpblendmd %3, %2, %0%{%1%}", "=v", j->vu32, 3, "Yk", upper_half, "v", v, "v",
                choose_two(j, chunks[2], chunks[3], index));
}

static gcc_jit_rvalue *exchange(struct jx *j, gcc_jit_rvalue *v, unsigned by) {
  const char *text = by == 1   ? "vpshufd $0xB1, %1, %0"
                     : by == 2 ? "vpshufd $0x4E, %1, %0"
                     : by == 4 ? "vshufi32x4 $0xB1, %1, %1, %0"
                               : "vshufi32x4 $0x4E, %1, %1, %0";
  return jx_ask(j, text, "=v", j->vu32, 1, "v", v);
}

/* ---- memory -----------------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *load(struct jx *j, bool wide, gcc_jit_lvalue *cell) {
  return jx_ask(j, "vmovdqu32 %1, %0", "=v", V(wide), 1, "m", jx_rv(cell));
}
static void store(struct jx *j, gcc_jit_lvalue *cell, gcc_jit_rvalue *v) {
  jx_asm(j, "vmovdqu32 %1, %0", "=m", cell, 1, "v", v);
}
static gcc_jit_rvalue *load_one(struct jx *j, bool wide, gcc_jit_lvalue *cell) {
  return jx_ask(j, wide ? "vpbroadcastq %1, %0" : "vpbroadcastd %1, %0", "=v", V(wide), 1, "m", jx_rv(cell));
}
static gcc_jit_rvalue *read(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *m) {
  return jx_ask(j, wide ? "vmovdqu64 %2, %0%{%1%}%{z%}" : "vmovdqu32 %2, %0%{%1%}%{z%}", "=v", V(wide), 2, "Yk",
                half_of(j, m, h), "m", jx_rv(cell));
}
static gcc_jit_rvalue *read_one(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *m) {
  return jx_ask(j, wide ? "vpbroadcastq %2, %0%{%1%}%{z%}" : "vpbroadcastd %2, %0%{%1%}%{z%}", "=v", V(wide), 2, "Yk",
                half_of(j, m, h), "m", jx_rv(cell));
}
static void write(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *v, gcc_jit_rvalue *m) {
  jx_touches_memory(jx_asm(j, wide ? "vmovdqu64 %1, %0%{%2%}" : "vmovdqu32 %1, %0%{%2%}", "+m", cell, 2, "v", v, "Yk",
                           half_of(j, m, h)));
}
static gcc_jit_rvalue *load_narrow(struct jx *j, unsigned bits, gcc_jit_lvalue *cell) {
  return jx_ask(j, bits == 8 ? "vpmovzxbd %1, %0" : "vpmovzxwd %1, %0", "=v", j->vu32, 1, "m", jx_rv(cell));
}
static void write_narrow(struct jx *j, unsigned bits, gcc_jit_lvalue *cell, gcc_jit_rvalue *v, gcc_jit_rvalue *m) {
  jx_touches_memory(
      jx_asm(j, bits == 8 ? "vpmovdb %1, %0%{%2%}" : "vpmovdw %1, %0%{%2%}", "+m", cell, 2, "v", v, "Yk", m));
}
static gcc_jit_rvalue *gather(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index,
                              unsigned scale, gcc_jit_rvalue *m) {
  char text[64];
  snprintf(text, sizeof text, wide ? "vpgatherdq (%%2,%%t3,%u), %%0%%{%%1%%}" : "vpgatherdd (%%2,%%3,%u), %%0%%{%%1%%}",
           scale);
  gcc_jit_lvalue *d = jx_local(j, V(wide)), *k = jx_local(j, j->t_mask);
  jx_set(j, d, jv_k(j, wide ? MX_T_u64 : MX_T_u32, 0).r[0]);
  jx_set(j, k, half_of(j, m, h));
  gcc_jit_extended_asm *a = jx_asm(j, text, "+&v", d, 2, "r", base, "v", h ? upper(j, j->vu32, index) : index);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "+&Yk", k);
  jx_touches_memory(a);
  return jx_rv(d);
}
static void load_quads(struct jx *j, gcc_jit_rvalue **v, gcc_jit_rvalue *base, gcc_jit_rvalue *numbers, unsigned scale,
                       gcc_jit_rvalue *lanes) {
  jx_load_quads(j, v, base, numbers, scale, lanes, "vinsertf32x4", 'g');
}
static void scatter(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale,
                    gcc_jit_rvalue *v, gcc_jit_rvalue *m, bool own) {
  (void)own;
  char text[64];
  snprintf(text, sizeof text,
           wide ? "vpscatterdq %%3, (%%1,%%t2,%u)%%{%%0%%}" : "vpscatterdd %%3, (%%1,%%2,%u)%%{%%0%%}", scale);
  gcc_jit_lvalue *k = jx_local(j, j->t_mask);
  jx_set(j, k, half_of(j, m, h));
  jx_touches_memory(jx_asm(j, text, "+&Yk", k, 3, "r", base, "v", h ? upper(j, j->vu32, index) : index, "v", v));
}

static void directed(struct jx *j, const char *instruction, unsigned mode, unsigned nin, unsigned n,
                     gcc_jit_rvalue *(*in)[3], gcc_jit_rvalue **out) {
  static const char *const modes[] = {"rz", "rd", "ru"};
  char text[64];
  snprintf(text, sizeof text, "%s %%{%s-sae%%}, %%2, %%1, %%0", instruction, modes[mode]);
  for (unsigned k = 0; k < n; k++) {
    gcc_jit_lvalue *d = jx_local(j, j->vf32);
    if (nin == 3) jx_set(j, d, in[k][0]);
    jx_asm(j, text, nin == 3 ? "+v" : "=v", d, 2, "v", in[k][nin - 2], "v", in[k][nin - 1]);
    out[k] = jx_rv(d);
  }
}

static const char *const options[] = {"-march=x86-64-v4", "-mprefer-vector-width=512", "-mtune=icelake-server", NULL};
const struct jx_isa jx_v4 = {.name = "v4",
                             .options = options,
                             .lanes = 16,
                             .in_registers = 1200,
                             .in_registers_alone = 1200,
                             .one = &jx_one,
                             .mask_any = mask_any,
                             .mask_bits = mask_bits,
                             .masks_of = masks_of,
                             .mask_fill = mask_fill,
                             .compare = compare,
                             .blend = blend,
                             .widen = widen,
                             .narrow = narrow,
                             .convert = convert,
                             .to_half = to_half,
                             .directed = directed,
                             .unary = unary,
                             .fma = multiply_add,
                             .three_operands = true,
                             .product = product,
                             .logic = logic,
                             .rotate = rotate,
                             .broadcast = broadcast,
                             .first = first,
                             .first_everywhere = first_everywhere,
                             .above = above,
                             .common = common,
                             .differ = differ,
                             .any_bit = any_bit,
                             .collect = collect,
                             .choose = choose,
                             .exchange = exchange,
                             .load = load,
                             .load_one = load_one,
                             .store = store,
                             .read = read,
                             .read_one = read_one,
                             .write = write,
                             .load_narrow = load_narrow,
                             .write_narrow = write_narrow,
                             .gather = gather,
                             .load_quads = load_quads,
                             .scatter = scatter};

/* Chunks of 8 lanes in 256-bit vectors (v3: AVX2, FMA, F16C) and of 4 in 128-bit ones (v2: SSE4.2). Masks are vectors
 * of 0 and -1. Operations for which a level has no instruction are composed from others, done lane by lane, or left to
 * the interpreter's body. */
#include "lanes.h"

#include <stdio.h>
#include <string.h>

#define V(wide_) jx_vector(j, wide_)

static bool is_v3(const struct jx *j) { return j->isa == &jx_v3; }

/* ---- functions of the object's own, for what would be long in line ----------------------------------------------*/
struct own {
  gcc_jit_function *f, *caller;
  gcc_jit_block *here;
  gcc_jit_rvalue *arg[4];
};
/* True: the function exists already. False: it was begun, and has to be built and ended. */
static bool own_function(struct jx *j, struct own *o, const char *what, gcc_jit_type *result, unsigned n,
                         gcc_jit_type *const *types) {
  for (unsigned k = 0; k < j->nowns; k++)
    if (!strcmp(j->owns[k].what, what)) return o->f = j->owns[k].f, true;
  char name[96];
  gcc_jit_param *param[4];
  for (unsigned k = 0; k < n; k++) {
    snprintf(name, sizeof name, "arg%u", k);
    param[k] = gcc_jit_context_new_param(j->c, NULL, types[k], name);
    o->arg[k] = gcc_jit_param_as_rvalue(param[k]);
  }
  snprintf(name, sizeof name, "%s_%s", gcc_jit_object_get_debug_string(gcc_jit_function_as_object(j->fn)), what);
  o->f = gcc_jit_context_new_function(j->c, NULL, GCC_JIT_FUNCTION_INTERNAL, result, name, (int)n, param, 0);
  if (j->nowns < JX_OWNS) {
    snprintf(j->owns[j->nowns].what, sizeof j->owns[0].what, "%s", what);
    j->owns[j->nowns++].f = o->f;
  }
  o->caller = j->fn, o->here = j->b;
  j->fn = o->f;
  j->b = gcc_jit_function_new_block(o->f, "begin");
  return false;
}
static void own_end(struct jx *j, const struct own *o, gcc_jit_rvalue *result) {
  if (result) gcc_jit_block_end_with_return(j->b, NULL, result);
  else gcc_jit_block_end_with_void_return(j->b, NULL);
  j->fn = o->caller, j->b = o->here;
}

/* ---- one instruction ------------------------------------------------------------------------------------------*/
/* v3 writes instructions with a leading v and a separate result. `text` has the operands of that form. */
static gcc_jit_rvalue *one(struct jx *j, const char *text, gcc_jit_type *t, gcc_jit_rvalue *x) {
  char full[64];
  snprintf(full, sizeof full, "%s%s", is_v3(j) ? "v" : "", text);
  return jx_ask(j, full, "=x", t, 1, "x", x);
}
/* imm: an immediate operand "$1, " or "". v2's instruction overwrites x. */
static gcc_jit_rvalue *two(struct jx *j, const char *name, const char *imm, gcc_jit_type *t, gcc_jit_rvalue *x,
                           gcc_jit_rvalue *y) {
  char full[64];
  if (is_v3(j)) {
    snprintf(full, sizeof full, "v%s %s%%2, %%1, %%0", name, imm);
    return jx_ask(j, full, "=x", t, 2, "x", x, "xm", y);
  }
  gcc_jit_lvalue *d = jx_local(j, t);
  jx_set(j, d, jx_bits(j, t, x));
  snprintf(full, sizeof full, "%s %s%%1, %%0", name, imm);
  jx_asm(j, full, "+x", d, 1, "x", y);
  return jx_rv(d);
}
static gcc_jit_rvalue *bits(struct jx *j, bool wide, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return jx_keep(j, jx_op(j, op, V(wide), jx_bits(j, V(wide), x), jx_bits(j, V(wide), y)));
}
static gcc_jit_rvalue *upper(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *v) {
  return jx_ask(j, is_v3(j) ? "vextracti128 $1, %1, %x0" : "pshufd $0xEE, %1, %0", "=x", t, 1, "x", v);
}
/* What an instruction has made of two vectors, which works on halves of them separately at v3, in the order of lanes.
 */
static gcc_jit_rvalue *in_order(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *v) {
  return is_v3(j) ? jx_ask(j, "vpermq $0xD8, %1, %0", "=x", t, 1, "x", v) : v;
}
/* The even 32-bit lanes of both halves in one vector. */
static gcc_jit_rvalue *low_parts(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *lo, gcc_jit_rvalue *hi) {
  return in_order(j, t, two(j, "shufps", "$0x88, ", t, lo, hi));
}

/* ---- masks ----------------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *half_of(struct jx *j, gcc_jit_rvalue *m, unsigned h) {
  return one(j, "pmovsxdq %x1, %0", j->vu64, h ? upper(j, j->vu32, m) : m);
}
static gcc_jit_rvalue *lanes_of(struct jx *j, bool wide, gcc_jit_rvalue *m, unsigned h) {
  return wide ? half_of(j, m, h) : m;
}
static gcc_jit_rvalue *packed(struct jx *j, gcc_jit_rvalue *m) {
  return jx_ask(j, is_v3(j) ? "vmovmskps %1, %0" : "movmskps %1, %0", "=r", j->t_u32, 1, "x", m);
}
static gcc_jit_rvalue *mask_any(struct jx *j, gcc_jit_rvalue *m) {
  return gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, packed(j, jx_keep(j, m)),
                                        jx_int(j, j->t_u32, 0));
}
static gcc_jit_rvalue *mask_bits(struct jx *j, gcc_jit_rvalue *m) {
  return gcc_jit_context_new_cast(j->c, NULL, packed(j, jx_keep(j, m)), j->t_u64);
}
/* Narrows the masks to bytes in one vector. v3's instructions work on halves of vectors separately. */
static gcc_jit_rvalue *four_masks(struct jx *j, gcc_jit_rvalue *const *m) {
  gcc_jit_rvalue *v = two(j, "packsswb", "", j->vu32, two(j, "packssdw", "", j->vu32, m[0], m[1]),
                          two(j, "packssdw", "", j->vu32, m[2], m[3]));
  if (is_v3(j)) {
    gcc_jit_rvalue *from[8];
    for (unsigned k = 0; k < 8; k++) from[k] = jx_int(j, j->t_u32, k / 2 + k % 2 * 4);
    v = jx_ask(j, "vpermd %1, %2, %0", "=x", j->vu32, 2, "xm", v, "x",
               gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, 8, from));
  }
  v = jx_ask(j, is_v3(j) ? "vpmovmskb %1, %0" : "pmovmskb %1, %0", "=r", j->t_u32, 1, "x", v);
  return gcc_jit_context_new_cast(j->c, NULL, v, j->t_u64);
}

static gcc_jit_rvalue *broadcast(struct jx *j, bool wide, gcc_jit_rvalue *s) {
  gcc_jit_rvalue *all[JX_MOST_LANES];
  s = jx_keep(j, s);
  for (unsigned k = 0; k < j->w; k++) all[k] = s;
  return jx_keep(j, gcc_jit_context_new_rvalue_from_vector(j->c, NULL, V(wide), wide ? j->w / 2 : j->w, all));
}
static void masks_of(struct jx *j, gcc_jit_rvalue *word, unsigned n, gcc_jit_rvalue **m) {
  gcc_jit_rvalue *bit[JX_MOST_LANES], *all = NULL;
  word = jx_keep(j, word);
  for (unsigned c = 0; c < n; c++) {
    const unsigned from = c * j->w;
    for (unsigned k = 0; k < j->w; k++) bit[k] = jx_int(j, j->t_u32, 1u << (from % 32 + k));
    gcc_jit_rvalue *each = gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, j->w, bit);
    if (from == 32) word = jx_op(j, GCC_JIT_BINARY_OP_RSHIFT, j->t_u64, word, jx_int(j, j->t_u64, 32));
    if (from % 32 == 0) all = broadcast(j, false, gcc_jit_context_new_cast(j->c, NULL, word, j->t_u32));
    m[c] = two(j, "pcmpeqd", "", j->t_mask, bits(j, false, GCC_JIT_BINARY_OP_BITWISE_AND, all, each), each);
  }
}
static gcc_jit_rvalue *mask_fill(struct jx *j, gcc_jit_rvalue *bit) {
  gcc_jit_rvalue *all = jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, jx_int(j, j->t_u64, 0), bit);
  return broadcast(j, false, gcc_jit_context_new_cast(j->c, NULL, all, j->t_u32));
}

/* ---- compare, choose --------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *none(struct jx *j, bool wide) { return jv_k(j, wide ? MX_T_u64 : MX_T_u32, 0).r[0]; }
static gcc_jit_rvalue *greater(struct jx *j, unsigned t, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  const bool wide = jx_wide(t);
  if (!jx_signed(t)) { /* there are only signed comparisons: shift both operands by half their range */
    gcc_jit_rvalue *sign = jv_k(j, wide ? MX_T_u64 : MX_T_u32, wide ? 1ull << 63 : 1u << 31).r[0];
    x = bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_XOR, x, sign),
    y = bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_XOR, y, sign);
  }
  return two(j, wide ? "pcmpgtq" : "pcmpgtd", "", V(wide), x, y);
}
static jv compare(struct jx *j, enum jx_cmp op, unsigned t, jv x, jv y) {
  const bool wide = jx_wide(t), f = jx_float(t);
  /* floats have ==, <, <= and "not equal, or NaN"; integers only == and > */
  const char *const imm = op == JX_EQ ? "$0, " : op == JX_NE ? "$4, " : op == JX_LT || op == JX_GT ? "$1, " : "$2, ";
  const bool turn = op == JX_GE || op == (f ? JX_GT : JX_LT),
             invert = !f && (op == JX_NE || op == JX_LE || op == JX_GE);
  jv v = jx_fresh(MX_T_pred, x.u && y.u);
  gcc_jit_rvalue *k[2];
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++) {
    gcc_jit_rvalue *a = turn ? y.r[h] : x.r[h], *b = turn ? x.r[h] : y.r[h];
    if (h && v.u) k[1] = k[0];
    else if (f) k[h] = two(j, wide ? "cmppd" : "cmpps", imm, V(wide), a, b);
    else if (op == JX_EQ || op == JX_NE) k[h] = two(j, wide ? "pcmpeqq" : "pcmpeqd", "", V(wide), a, b);
    else k[h] = greater(j, t, a, b);
  }
  v.r[0] = wide ? low_parts(j, j->t_mask, k[0], k[1]) : k[0];
  if (invert) v.r[0] = jx_mask_not(j, v.r[0]);
  v.r[1] = v.r[0];
  return v;
}
/* x in the lanes of m, y in all others */
static gcc_jit_rvalue *choice(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *m, gcc_jit_rvalue *x,
                              gcc_jit_rvalue *y) {
  m = lanes_of(j, wide, m, h);
  if (is_v3(j))
    return jx_ask(j, wide ? "vblendvpd %1, %3, %2, %0" : "vblendvps %1, %3, %2, %0", "=x", V(wide), 3, "x", m, "x", y,
                  "xm", x);
  /* v2's instruction takes the mask in xmm0 */
  gcc_jit_rvalue *d =
      bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_AND, bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_XOR, x, y), m);
  return bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_XOR, d, y);
}
static jv blend(struct jx *j, unsigned t, jv c, jv x, jv y) {
  const bool wide = jx_wide(t);
  jv v = jx_fresh(t, c.u && x.u && y.u);
  for (unsigned h = 0; h < (wide && !v.u ? 2u : 1u); h++)
    v.r[h] = jx_bits(j, jx_type(j, t), choice(j, wide, h, c.r[0], x.r[h], y.r[h]));
  if (v.u || !wide) v.r[1] = v.r[0];
  return v;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------*/
static jv leading_zeros(struct jx *j, unsigned t, jv x) {
  for (unsigned n = 1; n < jx_bitsof(t); n *= 2)
    x = jv_bin(j, JX_OR, t, x, jv_bin(j, JX_SHR, t, x, jv_k(j, MX_T_u32, n)));
  return jv_bin(j, JX_SUB, MX_T_u32, jv_k(j, MX_T_u32, jx_bitsof(t)), jv_un(j, JX_POPC, t, x));
}
static jv unary(struct jx *j, enum jx_un op, unsigned t, jv x) {
  static const char *const text[][2] = {[JX_SQRT] = {"sqrtps %1, %0", "sqrtpd %1, %0"},
                                        [JX_RINT] = {"roundps $8, %1, %0", "roundpd $8, %1, %0"},
                                        [JX_FLOOR] = {"roundps $9, %1, %0", "roundpd $9, %1, %0"},
                                        [JX_CEIL] = {"roundps $10, %1, %0", "roundpd $10, %1, %0"},
                                        [JX_TRUNC] = {"roundps $11, %1, %0", "roundpd $11, %1, %0"}};
  if (op == JX_CLZ) return leading_zeros(j, t, x);
  jv v = jx_fresh(t, x.u);
  for (unsigned h = 0; h < (jx_wide(t) && !v.u ? 2u : 1u); h++)
    v.r[h] = one(j, text[op][jx_wide(t)], jx_type(j, t), x.r[h]);
  if (v.u || !jx_wide(t)) v.r[1] = v.r[0];
  return v;
}
static jv fma_v3(struct jx *j, unsigned t, jv x, jv y, jv z) { return jx_multiply_add(j, t, x, y, z, "x", "xm"); }
/* A product and sum of 32-bit floats, computed in f64, where the product is exact. The sum p + c = s is rounded to odd
 * (core/vocab.h), so that rounding it to f32 is correct. */
static jv rounded_to_odd(struct jx *j, jv p, jv c, jv s) {
  const unsigned d = MX_T_f64, u = MX_T_u64;
  jv zero = jv_kf(j, d, 0), t = jv_bin(j, JX_SUB, d, s, p);
  jv e = jv_bin(j, JX_ADD, d, jv_bin(j, JX_SUB, d, p, jv_bin(j, JX_SUB, d, s, t)), jv_bin(j, JX_SUB, d, c, t));
  jv below = jv_cmp(j, JX_LT, d, e, zero), inexact = jv_bin(j, JX_OR, MX_T_pred, below, jv_cmp(j, JX_GT, d, e, zero));
  jv toward = jv_cvt(j, u, MX_T_pred, jv_bin(j, JX_XOR, MX_T_pred, below, jv_cmp(j, JX_LT, d, s, zero)));
  jv odd = jv_bin(j, JX_OR, u, jv_bin(j, JX_SUB, u, jv_as(j, u, s), toward), jv_k(j, u, 1));
  return jv_as(j, d, jv_sel(j, u, inexact, odd, jv_as(j, u, s)));
}
/* A function for one chunk: in line it would be most of the code, and there are few registers anyway. Only sums
 * half-way between two floats, or below all normal ones, need more than being rounded twice. */
static gcc_jit_function *fma_function(struct jx *j) {
  struct own o;
  if (own_function(j, &o, "fma", j->vf32, 3, (gcc_jit_type *[]){j->vf32, j->vf32, j->vf32})) return o.f;
  const unsigned d = MX_T_f64, s32 = MX_T_s32;
  jv in[3];
  for (unsigned k = 0; k < 3; k++) in[k] = jv_cvt(j, d, MX_T_f32, (jv){.t = MX_T_f32, .r = {o.arg[k], o.arg[k]}});
  jv p = jv_bin(j, JX_MUL, d, in[0], in[1]), s = jv_bin(j, JX_ADD, d, p, in[2]), low = jx_fresh(s32, false), high = low;
  low.r[0] = low.r[1] = low_parts(j, j->vu32, s.r[0], s.r[1]);
  high.r[0] = high.r[1] = two(j, "shufps", "$0xDD, ", j->vu32, s.r[0], s.r[1]);
  high = jv_bin(j, JX_AND, s32, high, jv_k(j, s32, 0x7FFFFFFF));
  jv half_way = jv_cmp(j, JX_EQ, s32, jv_bin(j, JX_AND, s32, low, jv_k(j, s32, 0x1FFFFFFF)), jv_k(j, s32, 0x10000000));
  jv small = jv_bin(j, JX_AND, MX_T_pred, jv_cmp(j, JX_GT, s32, jv_k(j, s32, 0x38100000), high),
                    jv_cmp(j, JX_GT, s32, high, jv_k(j, s32, 0)));
  gcc_jit_block *twice = gcc_jit_function_new_block(o.f, "twice"), *odd = gcc_jit_function_new_block(o.f, "odd");
  gcc_jit_block_end_with_conditional(j->b, NULL, mask_any(j, jv_bin(j, JX_OR, MX_T_pred, half_way, small).r[0]), odd,
                                     twice);
  j->b = odd;
  gcc_jit_block_end_with_return(j->b, NULL, jv_cvt(j, MX_T_f32, d, rounded_to_odd(j, p, in[2], s)).r[0]);
  j->b = twice;
  own_end(j, &o, jv_cvt(j, MX_T_f32, d, s).r[0]);
  return o.f;
}
static jv fma_v2(struct jx *j, unsigned t, jv x, jv y, jv z) {
  if (t != MX_T_f32) return jx_refuse(j, t);
  jv v = jx_fresh(t, x.u && y.u && z.u);
  v.r[0] = v.r[1] = jx_keep(
      j, gcc_jit_context_new_call(j->c, NULL, fma_function(j), 3, (gcc_jit_rvalue *[]){x.r[0], y.r[0], z.r[0]}));
  return v;
}

/* ---- conversion -------------------------------------------------------------------------------------------------*/
/* Extends 32-bit lanes to 64 bits, by an instruction that takes half a vector. */
static jv up(struct jx *j, unsigned to, const char *text, jv x) {
  jv v = jx_fresh(to, x.u);
  v.r[0] = one(j, text, jx_type(j, to), x.r[0]);
  v.r[1] = x.u ? v.r[0] : one(j, text, jx_type(j, to), upper(j, jx_type(j, x.t), x.r[0]));
  return v;
}
/* Narrows 64-bit lanes to 32 bits, by an instruction that returns half a vector. */
static jv down(struct jx *j, unsigned to, const char *text, jv x) {
  jv v = jx_fresh(to, x.u);
  gcc_jit_type *t = jx_type(j, to);
  gcc_jit_rvalue *lo = one(j, text, t, x.r[0]), *hi = x.u ? lo : one(j, text, t, x.r[1]);
  v.r[0] = v.r[1] = is_v3(j) ? jx_ask(j, "vinserti128 $1, %x2, %1, %0", "=x", t, 2, "x", lo, "x", hi)
                             : two(j, "punpcklqdq", "", t, lo, hi);
  return v;
}
static jv widen(struct jx *j, unsigned to, unsigned from, jv x) {
  return up(j, to, jx_signed(from) ? "pmovsxdq %x1, %0" : "pmovzxdq %x1, %0", x);
}
static gcc_jit_rvalue *product(struct jx *j, bool with_sign, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return two(j, with_sign ? "pmuldq" : "pmuludq", "", j->vu64, x, y);
}
static jv narrow(struct jx *j, unsigned to, jv x) {
  jv v = jx_fresh(to, x.u);
  v.r[0] = v.r[1] = low_parts(j, jx_type(j, to), x.r[0], x.r[1]);
  return v;
}
static jv fit(struct jx *j, jv x) {
  const unsigned t = MX_T_u32;
  jv low = jx_fresh(t, x.u), high = low;
  low.r[0] = low.r[1] = two(j, "shufps", "$0x88, ", j->vu32, x.r[0], x.r[1]);
  high.r[0] = high.r[1] = two(j, "shufps", "$0xDD, ", j->vu32, x.r[0], x.r[1]);
  jv v = jv_sel(j, t, jv_cmp(j, JX_EQ, t, high, jv_k(j, t, 0)), low, jv_k(j, t, 0x80000000u));
  v.r[0] = v.r[1] = in_order(j, j->vu32, v.r[0]);
  return v;
}
#define TWO_TO_52 0x4330000000000000ull /* as a double: its last bit is worth 1 */
#define TWO_TO_84 0x4530000000000000ull /* 2^32 */
static jv float_of_bits(struct jx *j, jv low, uint64_t of) {
  return jv_as(j, MX_T_f64, jv_bin(j, JX_OR, MX_T_u64, low, jv_k(j, MX_T_u64, of)));
}
static jv bits_as_float(struct jx *j, uint64_t b) { return jv_as(j, MX_T_f64, jv_k(j, MX_T_u64, b)); }
/* Both 32-bit parts become exact doubles, whose sum is rounded once. exact: the sum goes on to f32, which must not
 * round a second time, so beyond 53 bits one sticky bit stands for the lowest eleven, which are far below an f32's last
 * bit. */
static jv f64_of_64(struct jx *j, bool is_signed, jv x, bool exact) {
  const unsigned u = MX_T_u64;
  jv low = jv_bin(j, JX_AND, u, jv_as(j, u, x), jv_k(j, u, 0xFFFFFFFF));
  jv high = jv_bin(j, JX_SHR, u, jv_as(j, u, x), jv_k(j, MX_T_u32, 32));
  if (exact) {
    jv rest = jv_bin(j, JX_ADD, u, jv_bin(j, JX_AND, u, low, jv_k(j, u, 0x7FF)), jv_k(j, u, 0x7FF));
    jv shorter = jv_bin(j, JX_AND, u, jv_bin(j, JX_OR, u, low, rest), jv_k(j, u, 0xFFFFF800));
    /* bits 53 to 63: all 0, or, if signed, all equal to the sign */
    jv beyond = jv_bin(j, JX_AND, u, is_signed ? jv_bin(j, JX_ADD, u, high, jv_k(j, u, 1u << 21)) : high,
                       jv_k(j, u, is_signed ? 0xFFC00000 : 0xFFE00000));
    low = jv_sel(j, u, jv_cmp(j, JX_EQ, u, beyond, jv_k(j, u, 0)), low, shorter);
  }
  low = float_of_bits(j, low, TWO_TO_52);
  if (is_signed) high = jv_bin(j, JX_XOR, u, high, jv_k(j, u, 1u << 31));
  /* 2^84 + 2^52, and 2^63 more if the sign was moved */
  high = jv_bin(j, JX_SUB, MX_T_f64, float_of_bits(j, high, TWO_TO_84),
                bits_as_float(j, is_signed ? TWO_TO_84 + 0x80100000 : TWO_TO_84 + 0x100000));
  return jv_bin(j, JX_ADD, MX_T_f64, high, low);
}
/* Converts an integral double in two parts of 32 bits, the high one with the sign. Each part ends up in the low bits of
 * a double whose last bit is worth 1. */
static jv integer_of_f64(struct jx *j, unsigned to, jv x) {
  const unsigned d = MX_T_f64, u = MX_T_u64;
  jv high = jv_un(j, JX_FLOOR, d, jv_bin(j, JX_MUL, d, x, bits_as_float(j, 0x3DF0000000000000ull))); /* 2^-32 */
  jv low = jv_bin(j, JX_SUB, d, x, jv_bin(j, JX_MUL, d, high, bits_as_float(j, 0x41F0000000000000ull)));
  high = jv_as(j, u, jv_bin(j, JX_ADD, d, high, bits_as_float(j, TWO_TO_52 + (1ull << 51))));
  low = jv_as(j, u, jv_bin(j, JX_ADD, d, low, bits_as_float(j, TWO_TO_52)));
  return jv_as(j, to,
               jv_bin(j, JX_OR, u, jv_bin(j, JX_SHL, u, high, jv_k(j, MX_T_u32, 32)),
                      jv_bin(j, JX_AND, u, low, jv_k(j, u, 0xFFFFFFFF))));
}
static jv convert(struct jx *j, unsigned to, unsigned from, jv x) {
  const bool small = jx_bitsof(from) < 32; /* fits in a signed number */
  if (to == MX_T_f32) {
    if (from == MX_T_f64) return down(j, to, "cvtpd2ps %1, %x0", x);
    if (from == MX_T_f16) {
      if (!is_v3(j)) return jx_refuse(j, to);
      jv h = jx_fresh(to, x.u);
      gcc_jit_rvalue *v =
          jx_ask(j, "vpermq $8, %1, %0", "=x", j->vu32, 1, "x", two(j, "packusdw", "", j->vu32, x.r[0], x.r[0]));
      h.r[0] = h.r[1] = jx_ask(j, "vcvtph2ps %x1, %0", "=x", j->vf32, 1, "x", v);
      return h;
    }
    if (jx_wide(from) && !is_v3(j)) return jx_refuse(j, to); /* two lanes at a time would take longer than one by one */
    if (jx_wide(from)) return down(j, to, "cvtpd2ps %1, %x0", f64_of_64(j, jx_signed(from), x, true));
    if (!jx_signed(from) && !small) return jv_cvt(j, to, MX_T_f64, jv_cvt(j, MX_T_f64, from, x));
    jv v = jx_fresh(to, x.u);
    v.r[0] = v.r[1] = one(j, "cvtdq2ps %1, %0", j->vf32, jx_spread(j, x).r[0]);
    return v;
  }
  if (to == MX_T_f64) {
    if (from == MX_T_f32) return up(j, to, "cvtps2pd %x1, %0", x);
    if (jx_wide(from)) return f64_of_64(j, jx_signed(from), x, false);
    if (jx_signed(from) || small) return up(j, to, "cvtdq2pd %x1, %0", jx_spread(j, x));
    return jv_bin(j, JX_SUB, to, float_of_bits(j, jv_cvt(j, MX_T_u64, MX_T_u32, jv_as(j, MX_T_u32, x)), TWO_TO_52),
                  bits_as_float(j, TWO_TO_52));
  }
  if (jx_wide(to)) {
    if (!is_v3(j)) return jx_refuse(j, to);
    if (from == MX_T_f32) x = jv_cvt(j, MX_T_f64, from, x);
    return integer_of_f64(j, to, jv_un(j, JX_TRUNC, MX_T_f64, x));
  }
  if (jx_signed(to) || jx_bitsof(to) < 32) {
    jv v = jx_fresh(MX_T_u32, x.u);
    if (from == MX_T_f64) v = down(j, MX_T_u32, "cvttpd2dq %1, %x0", x);
    else v.r[0] = v.r[1] = one(j, "cvttps2dq %1, %0", j->vu32, x.r[0]);
    v.t = (uint8_t)to;
    return jx_trim(j, v);
  }
  if (from == MX_T_f32) x = jv_cvt(j, MX_T_f64, from, x);
  x = jv_bin(j, JX_ADD, MX_T_f64, jv_un(j, JX_TRUNC, MX_T_f64, x),
             bits_as_float(j, TWO_TO_52)); /* now the integer is in its low bits */
  return narrow(j, to, jv_as(j, MX_T_u64, x));
}

static gcc_jit_rvalue *to_half_v3(struct jx *j, gcc_jit_rvalue *x) {
  return jx_ask(j, "vpmovzxwd %x1, %0", "=x", j->vu32, 1, "x",
                jx_ask(j, "vcvtps2ph $0, %1, %x0", "=x", j->vu32, 1, "x", x));
}

/* ---- one lane, and all ------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *first(struct jx *j, bool wide, gcc_jit_rvalue *v) {
  char text[32];
  snprintf(text, sizeof text, "%smov%c %%x1, %%0", is_v3(j) ? "v" : "", wide ? 'q' : 'd');
  return jx_ask(j, text, "=r", wide ? j->t_u64 : j->t_u32, 1, "x", v);
}
static gcc_jit_rvalue *first_everywhere(struct jx *j, bool wide, gcc_jit_rvalue *v) {
  if (is_v3(j)) return jx_ask(j, wide ? "vpbroadcastq %x1, %0" : "vpbroadcastd %x1, %0", "=x", V(wide), 1, "x", v);
  return jx_ask(j, wide ? "pshufd $0x44, %1, %0" : "pshufd $0, %1, %0", "=x", V(wide), 1, "x", v);
}
static gcc_jit_rvalue *above(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y, gcc_jit_rvalue *m) {
  return bits(j, false, GCC_JIT_BINARY_OP_BITWISE_AND, greater(j, MX_T_u32, x, y), m);
}
static gcc_jit_rvalue *common(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y, gcc_jit_rvalue *m) {
  gcc_jit_rvalue *not =
      two(j, "pcmpeqd", "", j->t_mask, bits(j, false, GCC_JIT_BINARY_OP_BITWISE_AND, x, y), none(j, false));
  return bits(j, false, GCC_JIT_BINARY_OP_BITWISE_AND, jx_mask_not(j, not ), m);
}
static gcc_jit_rvalue *differ(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *x, gcc_jit_rvalue *y,
                              gcc_jit_rvalue *m) {
  if (!y) return bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_AND, x, lanes_of(j, wide, m, h));
  return bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_AND, bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_XOR, x, y),
              lanes_of(j, wide, m, h));
}
static gcc_jit_rvalue *unordered(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return two(j, "cmpunordps", "", j->t_mask, x, y);
}
static gcc_jit_rvalue *any_bit(struct jx *j, bool wide, gcc_jit_rvalue *v) {
  (void)wide;
  gcc_jit_rvalue *any = jx_ask(j, is_v3(j) ? "vptest %1, %1" : "ptest %1, %1", "=@ccnz", j->t_u8, 1, "x", v);
  return gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, any, jx_int(j, j->t_u8, 0));
}

/* Picks from each chunk the element that the index's low bits name; then selects among the chunks by the other bits,
 * one after another. */
static gcc_jit_rvalue *choose_v3(struct jx *j, gcc_jit_rvalue *const *chunks, unsigned n, gcc_jit_rvalue *index) {
  gcc_jit_rvalue *v[8];
  for (unsigned k = 0; k < n; k++) v[k] = jx_ask(j, "vpermd %2, %1, %0", "=x", j->vu32, 2, "x", index, "x", chunks[k]);
  for (unsigned bit = 3; n > 1; bit++, n /= 2) {
    /* moves the bit to the sign */
    gcc_jit_rvalue *odd = bits(j, false, GCC_JIT_BINARY_OP_LSHIFT, index, jv_k(j, MX_T_u32, 31 - bit).r[0]);
    for (unsigned k = 0; k < n / 2; k++)
      v[k] = jx_ask(j, "vblendvps %1, %3, %2, %0", "=x", j->vu32, 3, "x", odd, "x", v[2 * k], "x", v[2 * k + 1]);
  }
  return v[0];
}

static gcc_jit_rvalue *exchange(struct jx *j, gcc_jit_rvalue *v, unsigned by) {
  if (by == 4) return jx_ask(j, "vpermq $0x4E, %1, %0", "=x", j->vu32, 1, "x", v);
  return one(j, by == 1 ? "pshufd $0xB1, %1, %0" : "pshufd $0x4E, %1, %0", j->vu32, v);
}

/* ---- memory -----------------------------------------------------------------------------------------------------*/
/* The words 0, 2, ... of the first vector, and 1, 3, ... of the second one, which begins one word before the next
 * element; the instruction works on halves of vectors separately. */
static gcc_jit_rvalue *every_second_v3(struct jx *j, gcc_jit_lvalue *first, gcc_jit_lvalue *last) {
  return jx_ask(j, "vmovdqu %1, %0\n\tvshufps $0xD8, %2, %0, %0\n\tvpermq $0xD8, %0, %0", "=&x", j->vu32, 2, "m",
                jx_rv(first), "m", jx_rv(last));
}
static gcc_jit_rvalue *load(struct jx *j, bool wide, gcc_jit_lvalue *cell) {
  return jx_ask(j, is_v3(j) ? "vmovdqu %1, %0" : "movdqu %1, %0", "=x", V(wide), 1, "m", jx_rv(cell));
}
static void store(struct jx *j, gcc_jit_lvalue *cell, gcc_jit_rvalue *v) {
  jx_asm(j, is_v3(j) ? "vmovdqu %1, %0" : "movdqu %1, %0", "=m", cell, 1, "x", v);
}
static gcc_jit_rvalue *load_one(struct jx *j, bool wide, gcc_jit_lvalue *cell) {
  const char *text = is_v3(j) ? wide ? "vpbroadcastq %1, %0" : "vpbroadcastd %1, %0"
                     : wide   ? "movq %1, %0\n\tpshufd $0x44, %0, %0"
                              : "movd %1, %0\n\tpshufd $0, %0, %0";
  return jx_ask(j, text, "=x", V(wide), 1, "m", jx_rv(cell));
}
static gcc_jit_rvalue *read_one(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *m) {
  const char *text = is_v3(j) ? wide ? "vpxor %0, %0, %0\n\tvptest %1, %1\n\tjz 1f\n\tvpbroadcastq %2, %0\n1:"
                                     : "vpxor %0, %0, %0\n\tvptest %1, %1\n\tjz 1f\n\tvpbroadcastd %2, %0\n1:"
                     : wide   ? "pxor %0, %0\n\tptest %1, %1\n\tjz 1f\n\tmovq %2, %0\n\tpshufd $0x44, %0, %0\n1:"
                              : "pxor %0, %0\n\tptest %1, %1\n\tjz 1f\n\tmovd %2, %0\n\tpshufd $0, %0, %0\n1:";
  m = lanes_of(j, wide, m, h);
  return bits(j, wide, GCC_JIT_BINARY_OP_BITWISE_AND, jx_ask(j, text, "=&x", V(wide), 2, "x", m, "m", jx_rv(cell)), m);
}

/* Text that moves data lane by lane between a vector of 128 bits and memory, for each lane k whose bit `bit` + k of the
 * mask is set: `text`, in which # stands for k and @ for `step` * k. The mask is in `test`, an operand of 8 bits. */
static void lane_by_lane(char *out, size_t room, unsigned lanes, const char *test, unsigned bit, unsigned step,
                         const char *text) {
  size_t n = strlen(out);
  for (unsigned k = 0; k < lanes; k++) {
    n += (size_t)snprintf(out + n, room - n, "\ttestb $%u, %s\n\tjz 1f\n\t", 1u << (bit + k), test);
    for (const char *p = text; *p; p++)
      n += (size_t)(*p == '#'   ? snprintf(out + n, room - n, "%u", k)
                    : *p == '@' ? snprintf(out + n, room - n, "%u", step * k)
                                : snprintf(out + n, room - n, "%c", *p));
    n += (size_t)snprintf(out + n, room - n, "\n1:\n");
  }
}
/* Moves a vector whole if the mask has all of its lanes, else lane by lane. Operand 2 is the mask; `t` a free
 * register. */
static void piece_or_lanes(char *out, size_t room, bool wide, unsigned h, unsigned t, const char *whole,
                           const char *part) {
  const unsigned lanes = wide ? 2 : 4, bit = wide ? 2 * h : 0;
  char test[8];
  snprintf(test, sizeof test, "%%b%u", t);
  snprintf(out, room, "movmskps %%2, %%%u\n\tnot %%%u\n\ttestb $%u, %s\n\tjnz 2f\n\t%s\n\tjmp 3f\n2:\n\tnot %%%u\n", t,
           t, ((1u << lanes) - 1) << bit, test, whole, t);
  lane_by_lane(out, room, lanes, test, bit, wide ? 8 : 4, part);
  strcat(out, "3:");
}
static gcc_jit_rvalue *address(struct jx *j, gcc_jit_lvalue *cell) {
  return gcc_jit_context_new_cast(j->c, NULL, gcc_jit_lvalue_get_address(cell, NULL), j->t_pu8);
}
static gcc_jit_rvalue *read_v2(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *m) {
  char what[32], text[512];
  struct own o;
  snprintf(what, sizeof what, "read%u_%u", wide, h);
  if (!own_function(j, &o, what, V(wide), 2, (gcc_jit_type *[]){j->t_pu8, j->t_mask})) {
    piece_or_lanes(text, sizeof text, wide, h, 1, "movdqu (%3), %0",
                   wide ? "pinsrq $#, @(%3), %0" : "pinsrd $#, @(%3), %0");
    gcc_jit_lvalue *d = jx_local(j, V(wide)), *t = jx_local(j, j->t_u32);
    jx_set(j, d, none(j, wide));
    gcc_jit_extended_asm *a = jx_asm(j, text, "+&x", d, 2, "x", o.arg[1], "r", o.arg[0]);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", t);
    jx_touches_memory(a);
    own_end(j, &o, jx_rv(d));
  }
  return jx_keep(j, gcc_jit_context_new_call(j->c, NULL, o.f, 2, (gcc_jit_rvalue *[]){address(j, cell), m}));
}
static void write_v2(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *v, gcc_jit_rvalue *m) {
  char what[32], text[512];
  struct own o;
  snprintf(what, sizeof what, "write%u_%u", wide, h);
  if (!own_function(j, &o, what, j->t_void, 3, (gcc_jit_type *[]){j->t_pu8, V(wide), j->t_mask})) {
    piece_or_lanes(text, sizeof text, wide, h, 0, "movdqu %1, (%3)",
                   wide ? "pextrq $#, %1, @(%3)" : "pextrd $#, %1, @(%3)");
    gcc_jit_lvalue *t = jx_local(j, j->t_u32);
    jx_touches_memory(jx_asm(j, text, "=&r", t, 3, "x", o.arg[1], "x", o.arg[2], "r", o.arg[0]));
    own_end(j, &o, NULL);
  }
  gcc_jit_block_add_eval(
      j->b, NULL,
      gcc_jit_context_new_call(j->c, NULL, o.f, 3, (gcc_jit_rvalue *[]){address(j, cell), jx_bits(j, V(wide), v), m}));
}
static gcc_jit_rvalue *read_v3(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *m) {
  return jx_ask(j, wide ? "vpmaskmovq %2, %1, %0" : "vpmaskmovd %2, %1, %0", "=x", V(wide), 2, "x",
                lanes_of(j, wide, m, h), "m", jx_rv(cell));
}
/* On some processors masked stores are microcode, so they are used only if lanes are missing. */
static void write_v3(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *v, gcc_jit_rvalue *m) {
  gcc_jit_lvalue *t = jx_local(j, j->t_u32);
  gcc_jit_extended_asm *a = jx_asm(
      j,
      wide ? "vmovmskps %3, %1\n\tcmpl $255, %1\n\tjne 1f\n\tvmovdqu %2, %0\n\tjmp 2f\n1:\tvpmaskmovq %2, %3, %0\n2:"
           : "vmovmskps %3, %1\n\tcmpl $255, %1\n\tjne 1f\n\tvmovdqu %2, %0\n\tjmp 2f\n1:\tvpmaskmovd %2, %3, %0\n2:",
      "+m", cell, 2, "x", v, "x", lanes_of(j, wide, m, h));
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", t);
  jx_touches_memory(a);
}

/* The instruction returns its last operand, x, if one operand is a NaN or if they are equal. If x is the NaN, the
 * result must be y; and equal operands may be zeros of different signs. */
static gcc_jit_rvalue *extreme_v3(struct jx *j, bool larger, gcc_jit_rvalue *x, gcc_jit_rvalue *y, bool *canonical) {
  *canonical = false;
  char text[256];
  snprintf(text, sizeof text,
           "v%sps %%2, %%3, %%0\n\tvcmpps $3, %%2, %%2, %%1\n\tvblendvps %%1, %%3, %%0, %%0\n\t"
           "vcmpps $0, %%3, %%2, %%1\n\t%s",
           larger ? "max" : "min",
           larger ? "vandnps %1, %3, %1\n\tvandnps %0, %1, %0" : "vandps %3, %1, %1\n\tvorps %1, %0, %0");
  gcc_jit_lvalue *d = jx_local(j, j->vf32), *t = jx_local(j, j->vf32);
  gcc_jit_extended_asm *a = gcc_jit_block_add_extended_asm(j->b, NULL, text);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", d);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", t);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "x", jx_bits(j, j->vf32, x));
  gcc_jit_extended_asm_add_input_operand(a, NULL, "x", jx_bits(j, j->vf32, y));
  return jx_rv(d);
}
/* A gather takes as long without any lane as with all, and where few lanes run most chunks have none. */
static gcc_jit_rvalue *gather_v3(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index,
                                 unsigned scale, gcc_jit_rvalue *m) {
  char text[96];
  snprintf(text, sizeof text,
           "vptest %%1, %%1\n\tjz 1f\n\tvpgatherd%s (%%2,%%%s3,%u), %%0\n1:", wide ? "q %1," : "d %1,", wide ? "x" : "",
           scale);
  gcc_jit_lvalue *d = jx_local(j, V(wide)), *k = jx_local(j, V(wide));
  jx_set(j, d, none(j, wide));
  jx_set(j, k, lanes_of(j, wide, m, h));
  gcc_jit_extended_asm *a = jx_asm(j, text, "+&x", d, 2, "r", base, "x", h ? upper(j, j->vu32, index) : index);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "+&x", k);
  jx_touches_memory(a);
  return jx_rv(d);
}
static void load_quads_v3(struct jx *j, gcc_jit_rvalue **v, gcc_jit_rvalue *base, gcc_jit_rvalue *numbers,
                          unsigned scale, gcc_jit_rvalue *lanes) {
  jx_load_quads(j, v, base, numbers, scale, lanes, "vinsertf128", 't');
}
/* Unpacking works on halves of vectors separately, the last two join such halves. */
#define UNPACK(part_, size_, x_, y_) two(j, "unpck" part_ "p" size_, "", j->vu32, x_, y_)
#define LOWER_HALVES(x_, y_) two(j, "perm2f128", "$0x20, ", j->vu32, x_, y_)
#define UPPER_HALVES(x_, y_) two(j, "perm2f128", "$0x31, ", j->vu32, x_, y_)
static void deinterleave_v3(struct jx *j, gcc_jit_rvalue **v, unsigned n, bool wide) {
  if (wide) {
    gcc_jit_rvalue *t[4];
    for (unsigned h = 0; h < 2; h++)
      t[h] = UNPACK("l", "d", v[2 * h], v[2 * h + 1]), t[2 + h] = UNPACK("h", "d", v[2 * h], v[2 * h + 1]);
    for (unsigned k = 0; k < 4; k++) v[k] = in_order(j, j->vu32, t[k]);
    return;
  }
  if (n == 2) {
    gcc_jit_rvalue *even = low_parts(j, j->vu32, v[0], v[1]);
    v[1] = in_order(j, j->vu32, two(j, "shufps", "$0xDD, ", j->vu32, v[0], v[1])), v[0] = even;
    return;
  }
  /* vector t: lanes t and t + 4; then pairs of lanes' elements 0 and 1, and 2 and 3 */
  gcc_jit_rvalue *t[4] = {LOWER_HALVES(v[0], v[2]), UPPER_HALVES(v[0], v[2]), LOWER_HALVES(v[1], v[3]),
                          UPPER_HALVES(v[1], v[3])},
                 *low[2], *high[2];
  for (unsigned k = 0; k < 2; k++)
    low[k] = UNPACK("l", "s", t[2 * k], t[2 * k + 1]), high[k] = UNPACK("h", "s", t[2 * k], t[2 * k + 1]);
  v[0] = UNPACK("l", "d", low[0], low[1]), v[1] = UNPACK("h", "d", low[0], low[1]);
  v[2] = UNPACK("l", "d", high[0], high[1]), v[3] = UNPACK("h", "d", high[0], high[1]);
}
static void interleave_v3(struct jx *j, gcc_jit_rvalue **v, unsigned n, bool wide) {
  gcc_jit_rvalue *low[2], *high[2];
  if (wide) {
    for (unsigned h = 0; h < 2; h++)
      low[h] = UNPACK("l", "d", v[h], v[2 + h]), high[h] = UNPACK("h", "d", v[h], v[2 + h]);
    for (unsigned h = 0; h < 2; h++)
      v[2 * h] = LOWER_HALVES(low[h], high[h]), v[2 * h + 1] = UPPER_HALVES(low[h], high[h]);
    return;
  }
  for (unsigned k = 0; k < n / 2; k++)
    low[k] = UNPACK("l", "s", v[2 * k], v[2 * k + 1]), high[k] = UNPACK("h", "s", v[2 * k], v[2 * k + 1]);
  if (n == 2) {
    v[0] = LOWER_HALVES(low[0], high[0]), v[1] = UPPER_HALVES(low[0], high[0]);
    return;
  }
  gcc_jit_rvalue *t[4] = {UNPACK("l", "d", low[0], low[1]), UNPACK("h", "d", low[0], low[1]),
                          UNPACK("l", "d", high[0], high[1]), UNPACK("h", "d", high[0], high[1])};
  for (unsigned k = 0; k < 2; k++)
    v[k] = LOWER_HALVES(t[2 * k], t[2 * k + 1]), v[2 + k] = UPPER_HALVES(t[2 * k], t[2 * k + 1]);
}
#undef UNPACK
#undef LOWER_HALVES
#undef UPPER_HALVES
static gcc_jit_rvalue *gather_v2(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index,
                                 unsigned scale, gcc_jit_rvalue *m) {
  char what[32], text[640] = "", lane[96];
  struct own o;
  snprintf(what, sizeof what, "gather%u_%u_%u", wide, h, scale);
  if (!own_function(j, &o, what, V(wide), 3, (gcc_jit_type *[]){j->t_pu8, j->vu32, j->t_mask})) {
    snprintf(lane, sizeof lane, "pextrd $#, %%4, %%k1\n\tmovslq %%k1, %%1\n\tpinsr%c $#, (%%3,%%1,%u), %%0",
             wide ? 'q' : 'd', scale);
    lane_by_lane(text, sizeof text, wide ? 2 : 4, "%b2", wide ? 2 * h : 0, 0, lane);
    gcc_jit_lvalue *d = jx_local(j, V(wide)), *at = jx_local(j, j->t_u64);
    jx_set(j, d, none(j, wide));
    gcc_jit_extended_asm *a = jx_asm(j, text, "+&x", d, 3, "r", packed(j, o.arg[2]), "r", o.arg[0], "x",
                                     wide && h ? upper(j, j->vu32, o.arg[1]) : o.arg[1]);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", at);
    jx_touches_memory(a);
    own_end(j, &o, jx_rv(d));
  }
  return jx_keep(j, gcc_jit_context_new_call(j->c, NULL, o.f, 3, (gcc_jit_rvalue *[]){base, index, m}));
}
/* Which lanes of half h of a mask are there, as bits; all of them, if elements are not wide. */
static gcc_jit_rvalue *lanes_there(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *m) {
  gcc_jit_rvalue *which = packed(j, m);
  if (!wide) return which;
  const unsigned lanes = j->w / 2;
  if (h) which = jx_op(j, GCC_JIT_BINARY_OP_RSHIFT, j->t_u32, which, jx_int(j, j->t_u32, lanes));
  return jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32, which, jx_int(j, j->t_u32, (1u << lanes) - 1));
}
/* Where nobody else sees the memory, a lane that is not there stores what the highest one that is stores. */
static void scatter_own(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index,
                        unsigned scale, gcc_jit_rvalue *v, gcc_jit_rvalue *m) {
  char what[32];
  struct own o;
  snprintf(what, sizeof what, "scatter_own%u_%u_%u", wide, h, scale);
  if (!own_function(j, &o, what, j->t_void, 4, (gcc_jit_type *[]){j->t_pu8, j->vu32, V(wide), j->t_mask})) {
    const unsigned lanes = wide ? j->w / 2 : j->w, size = wide ? 8 : 4, all = (1u << lanes) - 1, from = h * lanes;
    gcc_jit_type *room = gcc_jit_context_new_array_type(j->c, NULL, j->t_u64, (int)j->bytes / 4);
    gcc_jit_rvalue *memory = jx_keep(j, address(j, jx_local(j, room)));
    gcc_jit_lvalue *left = jx_local(j, j->t_u32), *at = jx_local(j, j->t_u64), *half[2], *in[2];
    jx_set(j, left, lanes_there(j, wide, h, o.arg[3]));
    for (unsigned k = 0; k < 2; k++) {
      half[k] = jx_local(j, k ? V(wide) : j->vu32), in[k] = jx_local(j, k ? V(wide) : j->vu32);
      jx_set(j, in[k], o.arg[1 + k]);
    }
    const char letter = wide ? 'q' : 'd';
    char text[1536];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "testl %%0, %%0\n\tjz 3f\n\tcmpl $%u, %%0\n\tje 2f\n\tvmovdqu %%2, (%%7)\n\tvmovdqu %%3, %u(%%7)\n\t"
        "bsrl %%0, %%k1\n\tvpbroadcastd %u(%%7,%%q1,4), %%4\n\tvblendvps %%8, %%2, %%4, %%2\n\t"
        "vpbroadcast%c %u(%%7,%%q1,%u), %%5\n\tvblendvp%c %%9, %%3, %%5, %%3\n"
        "2:\tvextracti128 $1, %%2, %%x4\n\tvextracti128 $1, %%3, %%x5\n",
        all, j->bytes, 4 * from, letter, j->bytes, size, wide ? 'd' : 's');
    for (unsigned k = 0; k < lanes; k++) { /* an index from %2 or its upper half, a value from %3 or its upper half */
      const unsigned i = (from + k) % 4, e = k % (16 / size), indices = from + k < 4 ? 2 : 4,
                     values = k < 16 / size ? 3 : 5;
#define ADD(...) n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__)
      if (i) ADD("\tvpextrd $%u, %%x%u, %%k1\n", i, indices);
      else ADD("\tvmovd %%x%u, %%k1\n", indices);
      ADD("\tmovslq %%k1, %%q1\n");
      if (e) ADD("\tvpextr%c $%u, %%x%u, (%%6,%%q1,%u)\n", letter, e, values, scale);
      else ADD("\tvmov%c %%x%u, (%%6,%%q1,%u)\n", letter, values, scale);
#undef ADD
    }
    snprintf(text + n, sizeof text - n, "3:");
    gcc_jit_extended_asm *a =
        jx_asm(j, text, "+&r", left, 4, "r", o.arg[0], "r", memory, "x", o.arg[3], "x", lanes_of(j, wide, o.arg[3], h));
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", at);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "+&x", in[0]);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "+&x", in[1]);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", half[0]);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", half[1]);
    jx_touches_memory(a);
    own_end(j, &o, NULL);
  }
  gcc_jit_block_add_eval(
      j->b, NULL,
      gcc_jit_context_new_call(j->c, NULL, o.f, 4, (gcc_jit_rvalue *[]){base, index, jx_bits(j, V(wide), v), m}));
}
/* All lanes are stored without a look at the mask, and of fewer only those that are there, which take index and value
 * from memory: which these are changes from one scatter to the next in loops whose lanes diverge, and a branch for each
 * lane would be predicted wrong every other time. */
static void scatter(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale,
                    gcc_jit_rvalue *v, gcc_jit_rvalue *m, bool own) {
  char what[32];
  struct own o;
  if (own && is_v3(j)) {
    scatter_own(j, wide, h, base, index, scale, v, m);
    return;
  }
  snprintf(what, sizeof what, "scatter%u_%u_%u", wide, h, scale);
  if (!own_function(j, &o, what, j->t_void, 4, (gcc_jit_type *[]){j->t_pu8, j->vu32, V(wide), j->t_mask})) {
    const unsigned lanes = wide ? j->w / 2 : j->w, size = wide ? 8 : 4, all = (1u << lanes) - 1, from = h * lanes;
    gcc_jit_type *room = gcc_jit_context_new_array_type(j->c, NULL, j->t_u64, (int)j->bytes / 4);
    gcc_jit_rvalue *memory = jx_keep(j, address(j, jx_local(j, room)));
    gcc_jit_lvalue *left = jx_local(j, j->t_u32), *at = jx_local(j, j->t_u64), *value = jx_local(j, j->t_u64);
    jx_set(j, left, lanes_there(j, wide, h, o.arg[3]));
    const char *const x = is_v3(j) ? "v" : "";
    const char form = wide ? 'q' : 'k', letter = wide ? 'q' : 'd'; /* of a value's register, of its instruction */
    gcc_jit_rvalue *in[4] = {o.arg[1], o.arg[2]}; /* indices and values, then the upper halves of these */
    for (unsigned k = 0; k < 2; k++) in[2 + k] = is_v3(j) ? upper(j, k ? V(wide) : j->vu32, in[k]) : in[k];
    char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "cmpl $%u, %%0\n\tjne 2f\n", all);
    for (unsigned k = 0; k < lanes; k++)
      n += (size_t)snprintf(text + n, sizeof text - n,
                            "\t%spextrd $%u, %%x%u, %%k1\n\tmovslq %%k1, %%q1\n\t%spextr%c $%u, %%x%u, (%%3,%%q1,%u)\n",
                            x, (from + k) % 4, from + k < 4 ? 5 : 7, x, letter, k % (16 / size), k < 16 / size ? 6 : 8,
                            scale);
    /* tzcnt is bsf on processors that lack it, which does the same as the mask is not 0 */
    snprintf(text + n, sizeof text - n,
             "\tjmp 3f\n2:\ttestl %%0, %%0\n\tjz 3f\n\t%smovdqu %%5, (%%4)\n\t%smovdqu %%6, %u(%%4)\n"
             "1:\trep bsfl %%0, %%k2\n\tmovslq %u(%%4,%%q2,4), %%q1\n\tmov %u(%%4,%%q2,%u), %%%c2\n\t"
             "mov %%%c2, (%%3,%%q1,%u)\n\tleal -1(%%0), %%k1\n\tandl %%k1, %%0\n\tjnz 1b\n3:",
             x, x, j->bytes, 4 * from, j->bytes, size, form, form, scale);
    gcc_jit_extended_asm *a =
        jx_asm(j, text, "+&r", left, 6, "r", o.arg[0], "r", memory, "x", in[0], "x", in[1], "x", in[2], "x", in[3]);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", at);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", value);
    jx_touches_memory(a);
    own_end(j, &o, NULL);
  }
  gcc_jit_block_add_eval(
      j->b, NULL,
      gcc_jit_context_new_call(j->c, NULL, o.f, 4, (gcc_jit_rvalue *[]){base, index, jx_bits(j, V(wide), v), m}));
}

static void collect(struct jx *j, bool wide, gcc_jit_lvalue *all, gcc_jit_rvalue *v, gcc_jit_rvalue *x,
                    gcc_jit_rvalue *y) {
  char text[96];
  if (is_v3(j))
    snprintf(text, sizeof text, "vpadd%c %%4, %%3, %%1\n\tvpxor %%2, %%1, %%1\n\tvpor %%1, %%0, %%0", wide ? 'q' : 'd');
  else
    snprintf(text, sizeof text, "movdqa %%3, %%1\n\tpadd%c %%4, %%1\n\tpxor %%2, %%1\n\tpor %%1, %%0",
             wide ? 'q' : 'd');
  gcc_jit_lvalue *sum = jx_local(j, V(wide));
  gcc_jit_extended_asm *a = jx_asm(j, text, "+x", all, 0);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", sum);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "x", v);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "x", x);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "xm", y);
}

/* Narrow elements of all lanes: no byte beside them may be written, and none outside of the checked range read. */
static gcc_jit_rvalue *load_narrow(struct jx *j, unsigned bits, gcc_jit_lvalue *cell) {
  char text[32];
  snprintf(text, sizeof text, "%spmovzx%cd %%1, %%0", is_v3(j) ? "v" : "", bits == 8 ? 'b' : 'w');
  return jx_ask(j, text, "=x", j->vu32, 1, "m", jx_rv(cell));
}
static void write_narrow(struct jx *j, unsigned bits, gcc_jit_lvalue *cell, gcc_jit_rvalue *v, gcc_jit_rvalue *m) {
  (void)m;
  const char *const text =
      is_v3(j)
          ? bits == 8
                ? "vextracti128 $1, %t2, %x1\n\tvpackusdw %x1, %x2, %x1\n\tvpackuswb %x1, %x1, %x1\n\tvmovq %x1, %0"
                : "vextracti128 $1, %t2, %x1\n\tvpackusdw %x1, %x2, %x1\n\tvmovdqu %x1, %0"
      : bits == 8 ? "movdqa %2, %1\n\tpackusdw %1, %1\n\tpackuswb %1, %1\n\tmovd %1, %0"
                  : "movdqa %2, %1\n\tpackusdw %1, %1\n\tmovq %1, %0";
  gcc_jit_lvalue *packed_here = jx_local(j, j->vu32);
  gcc_jit_extended_asm *a = gcc_jit_block_add_extended_asm(j->b, NULL, text);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "+m", cell);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&x", packed_here);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "x", v);
  jx_touches_memory(a);
}

/* One statement, so that no other arithmetic gets between the change of the mode and its return. */
static void directed_v3(struct jx *j, const char *instruction, unsigned mode, unsigned nin, unsigned n,
                        gcc_jit_rvalue *(*in)[3], gcc_jit_rvalue **out) {
  enum { TOGETHER = 4, OTHERS = 3, BITS = 0x6000 }; /* as many as registers last for; old and new mode, a register */
  static const unsigned modes[] = {0x6000, 0x2000, 0x4000};
  gcc_jit_lvalue *both = jx_local(j, gcc_jit_context_new_array_type(j->c, NULL, j->t_u32, 2)),
                 *bits = jx_local(j, j->t_u32), *mode_at[2];
  for (int k = 0; k < 2; k++)
    mode_at[k] = gcc_jit_context_new_array_access(j->c, NULL, jx_rv(both), jx_int(j, j->t_int, (uint64_t)k));
  for (unsigned from = 0; from < n; from += TOGETHER) {
    const unsigned m = n - from < TOGETHER ? n - from : TOGETHER;
    char text[512];
    int at = snprintf(text, sizeof text,
                      "vstmxcsr %%%u\n\tmov %%%u, %%%u\n\tand $%d, %%%u\n\tor $%u, %%%u\n\tmov %%%u, %%%u\n\t"
                      "vldmxcsr %%%u\n\t",
                      m, m, m + 2, ~BITS, m + 2, modes[mode], m + 2, m + 2, m + 1, m + 1);
    for (unsigned k = 0, first = m + OTHERS; k < m; k++, first += 2)
      at += snprintf(text + at, sizeof text - (size_t)at, "%s %%%u, %%%u, %%%u\n\t", instruction, first + 1, first, k);
    snprintf(text + at, sizeof text - (size_t)at, "vldmxcsr %%%u", m);
    gcc_jit_lvalue *d[TOGETHER];
    gcc_jit_rvalue *x[TOGETHER], *y[TOGETHER];
    for (unsigned k = 0; k < m; k++) {
      d[k] = jx_local(j, j->vf32);
      x[k] = jx_keep(j, in[from + k][nin - 2]), y[k] = jx_keep(j, in[from + k][nin - 1]); /* no casts */
      if (nin == 3) jx_set(j, d[k], in[from + k][0]);
      out[from + k] = jx_rv(d[k]);
    }
    gcc_jit_extended_asm *a = gcc_jit_block_add_extended_asm(j->b, NULL, text);
    for (unsigned k = 0; k < m; k++) gcc_jit_extended_asm_add_output_operand(a, NULL, nin == 3 ? "+&x" : "=&x", d[k]);
    for (unsigned k = 0; k < 2; k++) gcc_jit_extended_asm_add_output_operand(a, NULL, "=m", mode_at[k]);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", bits);
    for (unsigned k = 0; k < m; k++) {
      gcc_jit_extended_asm_add_input_operand(a, NULL, "x", x[k]);
      gcc_jit_extended_asm_add_input_operand(a, NULL, "xm", y[k]);
    }
    gcc_jit_extended_asm_add_clobber(a, "cc");
  }
}

#define SAME \
  .mask_is_vector = true, .mask_any = mask_any, .mask_bits = mask_bits, .four_masks = four_masks, \
  .masks_of = masks_of, .mask_fill = mask_fill, .compare = compare, .blend = blend, .widen = widen, \
  .product = product, .narrow = narrow, .fit = fit, .convert = convert, .unary = unary, .broadcast = broadcast, \
  .first = first, .first_everywhere = first_everywhere, .exchange = exchange, .above = above, .common = common, \
  .differ = differ, .any_bit = any_bit, .unordered = unordered, .collect = collect, .load = load, .store = store, \
  .load_one = load_one, .read_one = read_one, .load_narrow = load_narrow, .write_narrow = write_narrow, \
  .scatter = scatter
static const char *const options_v3[] = {"-march=x86-64-v3", "-mtune=haswell", NULL}, *const options_v2[] = {
                                                                                          "-march=x86-64-v2",
                                                                                          "-mtune=generic", NULL};
const struct jx_isa jx_v3 = {.name = "v3",
                             .options = options_v3,
                             .lanes = 8,
                             .in_registers = 500,
                             .in_registers_alone = 1300,
                             .one = &jx_one,
                             .fma = fma_v3,
                             .to_half = to_half_v3,
                             .directed = directed_v3,
                             .three_operands = true,
                             .choose = choose_v3,
                             .extreme = extreme_v3,
                             .every_second = every_second_v3,
                             .read = read_v3,
                             .write = write_v3,
                             .gather = gather_v3,
                             .load_quads = load_quads_v3,
                             .deinterleave = deinterleave_v3,
                             .interleave = interleave_v3,
                             SAME};
const struct jx_isa jx_v2 = {.name = "v2",
                             .options = options_v2,
                             .lanes = 4,
                             .in_registers = 500,
                             .in_registers_alone = 500,
                             .one = &jx_one_v2,
                             .fma = fma_v2,
                             .read = read_v2,
                             .write = write_v2,
                             .gather = gather_v2,
                             SAME};

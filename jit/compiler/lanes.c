/* What all CPU levels share: statements, constants, and operations composed from those of struct jx_isa. */
#include "lanes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The vector type, or the element's if n is 1. There is one such type for all functions of the object, since libgccjit
 * does not recognise two equal vector types as the same. */
static gcc_jit_type *vector_of(struct jx *j, gcc_jit_type *t, unsigned n) {
  static struct {
    gcc_jit_type *of, *vector;
    unsigned n;
  } known[24]; /* two levels have twelve types */
  unsigned k = 0;
  if (j->w == 1) return t;
  while (known[k].of && (known[k].of != t || known[k].n != n)) k++;
  if (!known[k].of) known[k].of = t, known[k].n = n, known[k].vector = gcc_jit_type_get_vector(t, n);
  return known[k].vector;
}
void jx_init(struct jx *j, gcc_jit_context *c, const struct jx_isa *isa) {
  memset(j, 0, sizeof *j);
  j->isa = isa;
  j->w = isa->lanes;
  j->bytes = 4 * isa->lanes;
  j->c = c;
  j->t_void = gcc_jit_context_get_type(c, GCC_JIT_TYPE_VOID);
  j->t_bool = gcc_jit_context_get_type(c, GCC_JIT_TYPE_BOOL);
  j->t_int = gcc_jit_context_get_type(c, GCC_JIT_TYPE_INT);
  j->t_u8 = gcc_jit_context_get_type(c, GCC_JIT_TYPE_UNSIGNED_CHAR);
  j->t_u16 = gcc_jit_context_get_type(c, GCC_JIT_TYPE_UNSIGNED_SHORT);
  j->t_u32 = gcc_jit_context_get_type(c, GCC_JIT_TYPE_UNSIGNED_INT);
  j->t_u64 = gcc_jit_context_get_type(c, GCC_JIT_TYPE_UNSIGNED_LONG);
  j->t_ptr = gcc_jit_context_get_type(c, GCC_JIT_TYPE_VOID_PTR);
  j->t_pu8 = gcc_jit_type_get_pointer(j->t_u8);
  gcc_jit_type *s32 = gcc_jit_context_get_type(c, GCC_JIT_TYPE_INT),
               *s64 = gcc_jit_context_get_type(c, GCC_JIT_TYPE_LONG);
  j->vu32 = vector_of(j, j->t_u32, j->w);
  j->vs32 = vector_of(j, s32, j->w);
  j->vf32 = vector_of(j, gcc_jit_context_get_type(c, GCC_JIT_TYPE_FLOAT), j->w);
  j->vu64 = vector_of(j, j->t_u64, j->w / 2);
  j->vs64 = vector_of(j, s64, j->w / 2);
  j->vf64 = vector_of(j, gcc_jit_context_get_type(c, GCC_JIT_TYPE_DOUBLE), j->w / 2);
  j->t_mask = isa->mask_is_vector ? j->vu32 : j->w == 1 ? j->t_u32 : j->t_u16;
  j->mask_bytes = isa->mask_is_vector ? j->bytes : 2;
}

/* ---- statements -----------------------------------------------------------------------------------------*/
gcc_jit_lvalue *jx_local(struct jx *j, gcc_jit_type *t) {
  char name[16];
  snprintf(name, sizeof name, "t%u", j->serial++);
  return gcc_jit_function_new_local(j->fn, NULL, t, name);
}
void jx_set(struct jx *j, gcc_jit_lvalue *l, gcc_jit_rvalue *r) { gcc_jit_block_add_assignment(j->b, NULL, l, r); }
gcc_jit_rvalue *jx_keep(struct jx *j, gcc_jit_rvalue *r) {
  gcc_jit_lvalue *l = jx_local(j, gcc_jit_rvalue_get_type(r));
  jx_set(j, l, r);
  return jx_rv(l);
}
gcc_jit_rvalue *jx_op(struct jx *j, enum gcc_jit_binary_op op, gcc_jit_type *t, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return gcc_jit_context_new_binary_op(j->c, NULL, op, t, x, y);
}
gcc_jit_rvalue *jx_int(struct jx *j, gcc_jit_type *t, uint64_t v) {
  return gcc_jit_context_new_rvalue_from_long(j->c, t, (long)v);
}
static bool is_vector(const struct jx *j, const gcc_jit_type *t) {
  return j->w > 1 && (t == j->vu32 || t == j->vs32 || t == j->vf32 || t == j->vu64 || t == j->vs64 || t == j->vf64);
}
/* The vector that jx_bits() reinterpreted as r, if it is remembered. */
static gcc_jit_rvalue *before_cast(const struct jx *j, gcc_jit_rvalue *r) {
  for (unsigned k = 0; k < JX_CASTS; k++)
    if (j->casts[k].r == r) return j->casts[k].of;
  return r;
}
/* Reinterprets a vector. Each cast is a statement for gcc, so casting back returns the original. */
gcc_jit_rvalue *jx_bits(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *r) {
  if (gcc_jit_rvalue_get_type(r) == t) return r;
  gcc_jit_rvalue *of = before_cast(j, r);
  if (gcc_jit_rvalue_get_type(of) == t) return of;
  gcc_jit_rvalue *cast = gcc_jit_context_new_bitcast(j->c, NULL, of, t);
  if (is_vector(j, t) && is_vector(j, gcc_jit_rvalue_get_type(of))) {
    const unsigned k = j->ncasts++ % JX_CASTS;
    j->casts[k].r = cast, j->casts[k].of = of;
  }
  return cast;
}
static gcc_jit_extended_asm *asm_of(struct jx *j, const char *text, const char *oc, gcc_jit_lvalue *out, int n,
                                    va_list ap) {
  gcc_jit_extended_asm *a = gcc_jit_block_add_extended_asm(j->b, NULL, text);
  if (out) gcc_jit_extended_asm_add_output_operand(a, NULL, oc, out);
  for (int k = 0; k < n; k++) {
    const char *ic = va_arg(ap, const char *);
    gcc_jit_rvalue *in = va_arg(ap, gcc_jit_rvalue *);
    if (*ic == 'x' || *ic == 'v') in = before_cast(j, in); /* registers do not distinguish vector types */
    gcc_jit_extended_asm_add_input_operand(a, NULL, ic, in);
  }
  return a;
}
gcc_jit_extended_asm *jx_asm(struct jx *j, const char *text, const char *oc, gcc_jit_lvalue *out, int n, ...) {
  va_list ap;
  va_start(ap, n);
  gcc_jit_extended_asm *a = asm_of(j, text, oc, out, n, ap);
  va_end(ap);
  return a;
}
gcc_jit_rvalue *jx_ask(struct jx *j, const char *text, const char *oc, gcc_jit_type *t, int n, ...) {
  gcc_jit_lvalue *out = jx_local(j, t);
  va_list ap;
  va_start(ap, n);
  asm_of(j, text, oc, out, n, ap);
  va_end(ap);
  return jx_rv(out);
}
/* libgccjit fails on an asm without outputs, so the cell is declared as one. */
void jx_prefetch(struct jx *j, gcc_jit_lvalue *cell) {
  gcc_jit_extended_asm_set_volatile_flag(jx_asm(j, "prefetcht0 %0", "+m", cell, 0), 1);
}
void jx_touches_memory(gcc_jit_extended_asm *a) {
  gcc_jit_extended_asm_set_volatile_flag(a, 1);
  gcc_jit_extended_asm_add_clobber(a, "memory");
}

void jx_load_quads(struct jx *j, gcc_jit_rvalue **v, gcc_jit_rvalue *base, gcc_jit_rvalue *numbers, unsigned scale,
                   gcc_jit_rvalue *lanes, const char *insert, char letter) {
  const unsigned each = j->w / 4;
  char text[2048];
  size_t n = (size_t)snprintf(text, sizeof text, "testl %%7, %%7\n\tjz 1f");
  for (unsigned k = 0; k < j->w; k++) {
    n += (size_t)snprintf(text + n, sizeof text - n, "\n\tmovslq %u(%%6), %%q4\n\t", 4 * k);
    if (k % each == 0)
      n += (size_t)snprintf(text + n, sizeof text - n, "vmovups (%%5,%%q4,%u), %%x%u", scale, k / each);
    else
      n += (size_t)snprintf(text + n, sizeof text - n, "%s $%u, (%%5,%%q4,%u), %%%c%u, %%%c%u", insert, k % each, scale,
                            letter, k / each, letter, k / each);
  }
  snprintf(text + n, sizeof text - n, "\n1:");
  gcc_jit_lvalue *d[4], *at = jx_local(j, j->t_u64);
  for (unsigned k = 0; k < 4; k++) jx_set(j, d[k] = jx_local(j, j->vu32), jv_k(j, MX_T_u32, 0).r[0]);
  gcc_jit_extended_asm *a = jx_asm(j, text, "+&x", d[0], 3, "r", base, "r", numbers, "r", lanes);
  for (unsigned k = 1; k < 4; k++) gcc_jit_extended_asm_add_output_operand(a, NULL, "+&x", d[k]);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&r", at);
  jx_touches_memory(a);
  for (unsigned k = 0; k < 4; k++) v[k] = jx_rv(d[k]);
}

gcc_jit_type *jx_type(struct jx *j, unsigned t) {
  if (t == MX_T_pred) return j->t_mask;
  if (t == MX_T_f32) return j->vf32;
  if (t == MX_T_f64) return j->vf64;
  return jx_wide(t) ? j->vu64 : j->vu32;
}
jv jx_refuse(struct jx *j, unsigned t) {
  j->bad = true;
  jv v = jv_k(j, t == MX_T_b128 ? MX_T_b64 : t, 0);
  return v;
}

/* ---- constants ------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *const_vector(struct jx *j, bool wide, uint64_t bits) {
  for (unsigned k = 0; k < j->nconsts; k++)
    if (j->consts[k].wide == wide && j->consts[k].bits == bits) return j->consts[k].r;
  gcc_jit_rvalue *e = jx_int(j, wide ? j->t_u64 : j->t_u32, bits), *all[JX_MOST_LANES];
  if (j->w == 1) return e;
  for (unsigned k = 0; k < j->w; k++) all[k] = e;
  gcc_jit_rvalue *r =
      gcc_jit_context_new_rvalue_from_vector(j->c, NULL, jx_vector(j, wide), wide ? j->w / 2 : j->w, all);
  if (j->nconsts < JX_CONSTS) {
    j->consts[j->nconsts].wide = wide;
    j->consts[j->nconsts].bits = bits;
    j->consts[j->nconsts++].r = r;
  }
  return r;
}
static uint64_t cut(unsigned t, uint64_t v) {
  unsigned n = jx_bitsof(t);
  return n >= 64 ? v : v & ((1ull << n) - 1);
}
jv jv_k(struct jx *j, unsigned t, uint64_t bits) {
  jv v = jx_fresh(t, true);
  v.k = true;
  v.kv = cut(t, bits);
  if (t == MX_T_pred)
    v.r[0] = v.r[1] = j->isa->mask_is_vector ? const_vector(j, false, v.kv ? 0xFFFFFFFF : 0)
                                             : jx_int(j, j->t_mask, v.kv ? (1u << j->w) - 1 : 0);
  else v.r[0] = v.r[1] = jx_bits(j, jx_type(j, t), const_vector(j, jx_wide(t), v.kv));
  return v;
}
jv jv_kf(struct jx *j, unsigned t, double d) {
  if (t == MX_T_f64) {
    uint64_t b;
    memcpy(&b, &d, sizeof b);
    return jv_k(j, t, b);
  }
  if (t == MX_T_f32) {
    float f = (float)d;
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return jv_k(j, t, b);
  }
  return jv_k(j, t, jx_signed(t) || d < 0 ? (uint64_t)(int64_t)d : (uint64_t)d);
}
static uint64_t sext(unsigned t, uint64_t v) {
  unsigned n = jx_bitsof(t);
  return jx_signed(t) && n < 64 ? (uint64_t)((int64_t)(v << (64 - n)) >> (64 - n)) : v;
}

/* ---- helpers over halves --------------------------------------------------------------------------------*/
jv jv_as(struct jx *j, unsigned t, jv x) {
  if (x.t == t) return x;
  if (t == MX_T_pred || x.t == MX_T_pred || jx_wide(t) != jx_wide(x.t)) return jv_cvt(j, t, x.t, x);
  if (x.k) return jv_k(j, t, x.kv);
  jv v = jx_fresh(t, x.u);
  v.low = x.low;
  for (unsigned h = 0; h < 2; h++) v.r[h] = x.r[h] ? jx_bits(j, jx_type(j, t), x.r[h]) : NULL;
  return jx_with_scalar(v, jx_scalar(x));
}
/* Converts what a meaning passes to an operand of type t. */
static jv want(struct jx *j, unsigned t, jv x) {
  if (x.t == t) return x;
  if (jx_float(t) != jx_float(x.t)) return jv_cvt(j, t, x.t, x);
  if (jx_bitsof(t) != jx_bitsof(x.t)) return jv_cvt(j, t, x.t, x);
  return jv_as(j, t, x);
}
static jv each(struct jx *j, unsigned t, jv x, jv y, enum gcc_jit_binary_op op, gcc_jit_type *vt) {
  jv v = jx_fresh(t, x.u && y.u);
  unsigned n = jx_wide(t) && !v.u ? 2 : 1;
  for (unsigned h = 0; h < n; h++)
    v.r[h] = jx_keep(j, jx_bits(j, jx_type(j, t), jx_op(j, op, vt, jx_bits(j, vt, x.r[h]), jx_bits(j, vt, y.r[h]))));
  if (v.u) v.r[1] = v.r[0];
  return v;
}
jv jx_trim(struct jx *j, jv v) {
  unsigned n = jx_bitsof(v.t);
  if (n >= 32 || v.t == MX_T_pred) return v;
  return each(j, v.t, v, jv_k(j, MX_T_u32, (1u << n) - 1), GCC_JIT_BINARY_OP_BITWISE_AND, j->vu32);
}
jv jx_spread(struct jx *j, jv x) {
  unsigned n = jx_bitsof(x.t);
  if (n >= 32 || x.t == MX_T_pred) return x;
  jv v = x;
  v.k = false;
  v.t = jx_signed(x.t) ? MX_T_s32 : MX_T_u32;
  if (x.k) return jv_k(j, v.t, sext(x.t, x.kv));
  if (jx_signed(x.t)) {
    v = each(j, MX_T_s32, v, jv_k(j, MX_T_u32, 32 - n), GCC_JIT_BINARY_OP_LSHIFT, j->vu32);
    v = each(j, MX_T_s32, v, jv_k(j, MX_T_u32, 32 - n), GCC_JIT_BINARY_OP_RSHIFT, j->vs32);
  }
  return v;
}

gcc_jit_rvalue *jx_mask_not(struct jx *j, gcc_jit_rvalue *m) {
  return jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_mask, m, jv_k(j, MX_T_pred, 1).r[0]));
}

/* ---- conversion ---------------------------------------------------------------------------------------------*/
static jv cvt_int(struct jx *j, unsigned to, jv x) {
  if (x.k) return jv_k(j, to, sext(x.t, x.kv));
  if (jx_wide(to) && jx_wide(x.t)) return jv_as(j, to, x);
  if (jx_wide(to)) {
    x = jx_spread(j, x);
    jv v = j->isa->widen(j, to, x.t, x);
    v.low = jx_signed(x.t) ? JX_SIGNED_32 : JX_UNSIGNED_32;
    return v;
  }
  const bool fits = !jx_signed(x.t) && jx_bitsof(x.t) <= jx_bitsof(to);
  if (jx_wide(x.t)) x = j->isa->narrow(j, MX_T_u32, x);
  else if (jx_bitsof(to) > jx_bitsof(x.t)) x = jx_spread(j, x);
  x.t = (uint8_t)to;
  x.k = false;
  return jx_bitsof(to) < 32 && !fits ? jx_trim(j, x) : x;
}
static bool is_half(unsigned t) { return t == MX_T_f16 || t == MX_T_bf16; }
static bool is_int(unsigned t) { return t >= MX_T_u8 && t <= MX_T_b64 && !jx_float(t) && !is_half(t); }
jv jv_cvt(struct jx *j, unsigned to, unsigned from, jv x) {
  if (x.t != from && x.t != MX_T_pred) x = want(j, from, x);
  if (to == x.t) return x;
  if (x.t == MX_T_pred)
    return jx_float(to) ? jv_sel(j, to, x, jv_kf(j, to, 1), jv_kf(j, to, 0))
                        : jv_sel(j, to, x, jv_k(j, to, 1), jv_k(j, to, 0));
  if (to == MX_T_pred) return jv_cmp(j, JX_NE, x.t, x, jv_k(j, x.t, 0));
  if (is_int(to) && is_int(x.t)) return cvt_int(j, to, x);
  if (is_half(to) && is_int(x.t) && jx_bitsof(x.t) == 16) /* its bits */
    return jv_as(j, to, jx_signed(x.t) ? jx_trim(j, x) : x);
  if ((jx_float(to) || is_int(to)) && (jx_float(from) || is_int(from) || (from == MX_T_f16 && to == MX_T_f32)))
    return j->isa->convert(j, to, from, x);
  return jx_refuse(j, to);
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------*/
static jv shift(struct jx *j, bool left, unsigned t, jv x, jv n) {
  if (x.k && n.k && n.kv < 64) {
    if (left) return jv_k(j, t, x.kv << n.kv);
    return jv_k(j, t, jx_signed(t) ? (uint64_t)((int64_t)sext(t, x.kv) >> n.kv) : x.kv >> n.kv);
  }
  if (jx_wide(t)) n = jv_cvt(j, MX_T_u64, jx_wide(n.t) ? n.t : MX_T_u32, n);
  jv v = left ? x : jx_spread(j, x);
  const bool s = !left && jx_signed(t);
  gcc_jit_type *vt = jx_wide(t) ? s ? j->vs64 : j->vu64 : s ? j->vs32 : j->vu32;
  v = each(j, t, v, n, left ? GCC_JIT_BINARY_OP_LSHIFT : GCC_JIT_BINARY_OP_RSHIFT, vt);
  if (jx_wide(t) && !left && n.k && n.kv >= 32) v.low = s ? JX_SIGNED_32 : JX_UNSIGNED_32;
  return jx_trim(j, v);
}
/* Quotients of up to 32 bits are computed in f64, which holds them exactly. */
static jv divide(struct jx *j, bool rem, unsigned t, jv x, jv y) {
  if (jx_wide(t)) {
    gcc_jit_type *vt = jx_signed(t) ? j->vs64 : j->vu64;
    if (!y.k) j->serial += 4 * j->w; /* one statement here, but gcc divides lane by lane */
    return each(j, t, x, y, rem ? GCC_JIT_BINARY_OP_MODULO : GCC_JIT_BINARY_OP_DIVIDE, vt);
  }
  x = jx_spread(j, x), y = jx_spread(j, y);
  jv q = jv_bin(j, JX_DIV, MX_T_f64, jv_cvt(j, MX_T_f64, x.t, x), jv_cvt(j, MX_T_f64, y.t, y));
  q = jv_cvt(j, x.t, MX_T_f64, q);
  if (rem) {
    q = each(j, x.t, q, y, GCC_JIT_BINARY_OP_MULT, j->vu32);
    q = each(j, x.t, x, q, GCC_JIT_BINARY_OP_MINUS, j->vu32);
  }
  q.t = (uint8_t)t;
  return jx_trim(j, q);
}
uint8_t jx_low(jv x) {
  if (!x.k) return x.low;
  return (uint8_t)((x.kv <= UINT32_MAX ? JX_UNSIGNED_32 : 0) | ((int64_t)x.kv == (int32_t)x.kv ? JX_SIGNED_32 : 0));
}
/* A product of 64 bits; if both factors are extended 32-bit numbers, one instruction computes it. */
static jv multiply(struct jx *j, unsigned t, jv x, jv y) {
  const unsigned low = jx_low(x) & jx_low(y);
  if (!jx_wide(t) || !low || j->w == 1) return each(j, t, x, y, GCC_JIT_BINARY_OP_MULT, jx_type(j, t));
  jv v = jx_fresh(t, x.u && y.u);
  for (unsigned h = 0; h < (v.u ? 1u : 2u); h++)
    v.r[h] =
        jx_bits(j, jx_type(j, t),
                j->isa->product(j, !(low & JX_UNSIGNED_32), jx_bits(j, j->vu64, x.r[h]), jx_bits(j, j->vu64, y.r[h])));
  if (v.u) v.r[1] = v.r[0];
  return v;
}
static jv mulhi(struct jx *j, unsigned t, jv x, jv y) {
  if (!jx_wide(t)) {
    const unsigned w = jx_signed(t) ? MX_T_s64 : MX_T_u64, n = jx_bitsof(t);
    if (n < 32) {
      jv p = each(j, jx_signed(t) ? MX_T_s32 : MX_T_u32, jx_spread(j, x), jx_spread(j, y), GCC_JIT_BINARY_OP_MULT,
                  j->vu32);
      p = shift(j, false, p.t, p, jv_k(j, MX_T_u32, n));
      p.t = (uint8_t)t;
      return jx_trim(j, p);
    }
    jv p = multiply(j, w, jv_cvt(j, w, t, x), jv_cvt(j, w, t, y));
    p = shift(j, false, MX_T_u64, jv_as(j, MX_T_u64, p), jv_k(j, MX_T_u32, 32));
    return jv_cvt(j, t, MX_T_u64, p);
  }
  const unsigned u = MX_T_u64;
  jv s32 = jv_k(j, MX_T_u32, 32), lo = jv_k(j, u, 0xFFFFFFFF), a = jv_as(j, u, x), b = jv_as(j, u, y);
  jv al = jv_bin(j, JX_AND, u, a, lo), ah = shift(j, false, u, a, s32), bl = jv_bin(j, JX_AND, u, b, lo),
     bh = shift(j, false, u, b, s32);
  jv p0 = jv_bin(j, JX_MUL, u, al, bl), p1 = jv_bin(j, JX_MUL, u, al, bh), p2 = jv_bin(j, JX_MUL, u, ah, bl),
     p3 = jv_bin(j, JX_MUL, u, ah, bh);
  jv mid = jv_bin(j, JX_ADD, u, shift(j, false, u, p0, s32),
                  jv_bin(j, JX_ADD, u, jv_bin(j, JX_AND, u, p1, lo), jv_bin(j, JX_AND, u, p2, lo)));
  jv hi = jv_bin(j, JX_ADD, u, jv_bin(j, JX_ADD, u, p3, shift(j, false, u, p1, s32)),
                 jv_bin(j, JX_ADD, u, shift(j, false, u, p2, s32), shift(j, false, u, mid, s32)));
  if (jx_signed(t)) {
    jv n63 = jv_k(j, MX_T_u32, 63);
    jv sa = jv_as(j, u, shift(j, false, MX_T_s64, jv_as(j, MX_T_s64, x), n63)),
       sb = jv_as(j, u, shift(j, false, MX_T_s64, jv_as(j, MX_T_s64, y), n63));
    hi = jv_bin(j, JX_SUB, u, jv_bin(j, JX_SUB, u, hi, jv_bin(j, JX_AND, u, sa, b)), jv_bin(j, JX_AND, u, sb, a));
  }
  return jv_as(j, t, hi);
}
jv jv_bin(struct jx *j, enum jx_bin op, unsigned t, jv x, jv y) {
  static const enum gcc_jit_binary_op ops[] = {
      [JX_ADD] = GCC_JIT_BINARY_OP_PLUS,        [JX_SUB] = GCC_JIT_BINARY_OP_MINUS,
      [JX_MUL] = GCC_JIT_BINARY_OP_MULT,        [JX_DIV] = GCC_JIT_BINARY_OP_DIVIDE,
      [JX_AND] = GCC_JIT_BINARY_OP_BITWISE_AND, [JX_OR] = GCC_JIT_BINARY_OP_BITWISE_OR,
      [JX_XOR] = GCC_JIT_BINARY_OP_BITWISE_XOR};
  x = want(j, t, x);
  if (op == JX_SHL || op == JX_SHR) return shift(j, op == JX_SHL, t, x, y);
  y = want(j, t, y);
  if (!jx_float(t) && !is_int(t) && t != MX_T_pred && (op < JX_AND || op > JX_XOR)) return jx_refuse(j, t);
  if (jx_float(t)) {
    if (op > JX_DIV) return jx_refuse(j, t);
    j->multiplies |= op == JX_MUL || op == JX_DIV;
    return each(j, t, x, y, ops[op], jx_type(j, t));
  }
  if (x.k && y.k) {
    uint64_t a = x.kv, b = y.kv;
    switch (op) {
    case JX_ADD: return jv_k(j, t, a + b);
    case JX_SUB: return jv_k(j, t, a - b);
    case JX_MUL: return jv_k(j, t, a * b);
    case JX_AND: return jv_k(j, t, a & b);
    case JX_OR: return jv_k(j, t, a | b);
    case JX_XOR: return jv_k(j, t, a ^ b);
    default: break;
    }
  }
  if (op == JX_DIV || op == JX_REM) return t == MX_T_pred ? jx_refuse(j, t) : divide(j, op == JX_REM, t, x, y);
  if (op == JX_MULHI) return t == MX_T_pred ? jx_refuse(j, t) : mulhi(j, t, x, y);
  if (t == MX_T_pred && op < JX_AND) return jx_refuse(j, t);
  if (op == JX_MUL && jx_wide(t)) return multiply(j, t, x, y);
  jv v = each(j, t, x, y, ops[op], jx_type(j, t));
  if (op == JX_AND && jx_wide(t))
    v.low = (jx_low(x) | jx_low(y)) & JX_UNSIGNED_32; /* if one operand has no upper half, the result of AND has none */
  return jx_trim(j, v);
}

static jv unsigned_of(struct jx *j, jv x) {
  if (x.k) return jv_k(j, MX_T_u32, x.kv);
  x.t = MX_T_u32;
  return x;
}
jv jv_cmp(struct jx *j, enum jx_cmp op, unsigned t, jv x, jv y) {
  x = want(j, t, x), y = want(j, t, y);
  if (t == MX_T_pred) {
    if (op != JX_EQ && op != JX_NE) return jx_refuse(j, t);
    jv d = jv_bin(j, JX_XOR, t, x, y);
    return op == JX_NE ? d : jv_bin(j, JX_XOR, t, d, jv_k(j, t, 1));
  }
  if (!jx_float(t) && !is_int(t) && !is_half(t)) return jx_refuse(j, MX_T_pred);
  if (!jx_float(t) && x.k && y.k) {
    const uint64_t a = sext(t, x.kv), b = sext(t, y.kv);
    const bool lt = jx_signed(t) ? (int64_t)a < (int64_t)b : a < b;
    const bool r = op == JX_EQ   ? a == b
                   : op == JX_NE ? a != b
                   : op == JX_LT ? lt
                   : op == JX_GE ? !lt
                   : op == JX_LE ? lt || a == b
                                 : !(lt || a == b);
    return jv_k(j, MX_T_pred, r);
  }
  if (is_half(t)) return jx_refuse(j, MX_T_pred);
  /* whether they are equal shows without their signs; many kernels test bytes against 0 as signed numbers of 16 bits */
  if (jx_bitsof(t) < 32 && (op == JX_EQ || op == JX_NE)) x = unsigned_of(j, x), y = unsigned_of(j, y), t = MX_T_u32;
  jv d = j->isa->compare(j, op, t, jx_spread(j, x), jx_spread(j, y));
  if (t == MX_T_f64 && op == JX_EQ && x.r[0] == y.r[0]) d.number = x.r[0];
  return d;
}

static jv popc(struct jx *j, jv x) {
  const unsigned t = jx_wide(x.t) ? MX_T_u64 : MX_T_u32;
  const bool w = jx_wide(t);
#define C(v_) jv_k(j, t, w ? (v_)*0x0101010101010101ull : (v_)*0x01010101ull)
#define R(v_, n_) shift(j, false, t, v_, jv_k(j, MX_T_u32, n_))
  jv a = jv_as(j, t, x);
  a = jv_bin(j, JX_SUB, t, a, jv_bin(j, JX_AND, t, R(a, 1), C(0x55)));
  a = jv_bin(j, JX_ADD, t, jv_bin(j, JX_AND, t, a, C(0x33)), jv_bin(j, JX_AND, t, R(a, 2), C(0x33)));
  a = jv_bin(j, JX_AND, t, jv_bin(j, JX_ADD, t, a, R(a, 4)), C(0x0F));
  a = R(jv_bin(j, JX_MUL, t, a, C(1)), w ? 56 : 24);
#undef C
#undef R
  return jv_cvt(j, MX_T_u32, t, a);
}
jv jv_un(struct jx *j, enum jx_un op, unsigned t, jv x) {
  x = want(j, t, x);
  switch (op) {
  case JX_NEG:
    if (jx_float(t))
      return jv_as(j, t,
                   jv_bin(j, JX_XOR, t == MX_T_f32 ? MX_T_u32 : MX_T_u64,
                          jv_as(j, t == MX_T_f32 ? MX_T_u32 : MX_T_u64, x),
                          jv_k(j, t == MX_T_f32 ? MX_T_u32 : MX_T_u64, t == MX_T_f32 ? 0x80000000u : 1ull << 63)));
    return jv_bin(j, JX_SUB, t, jv_k(j, t, 0), x);
  case JX_NOT:
    return t == MX_T_pred ? jv_bin(j, JX_XOR, t, x, jv_k(j, t, 1)) : jv_bin(j, JX_XOR, t, x, jv_k(j, t, ~0ull));
  case JX_POPC: return popc(j, x);
  case JX_CLZ: {
    jv v = j->isa->unary(j, op, jx_wide(t) ? MX_T_u64 : MX_T_u32, x);
    return jv_cvt(j, MX_T_u32, v.t, v);
  }
  default: break;
  }
  j->multiplies |= op == JX_SQRT;
  return jx_float(t) ? j->isa->unary(j, op, t, x) : jx_refuse(j, t);
}

jv jv_sel(struct jx *j, unsigned t, jv c, jv x, jv y) {
  c = want(j, MX_T_pred, c), x = want(j, t, x), y = want(j, t, y);
  if (c.k) return c.kv ? x : y;
  if (j->may_doubt && c.number && !j->doubtful) {
    j->doubtful = jx_keep(j, c.number); /* its slot may become that of the result */
    return x;
  }
  if (t == MX_T_pred) return jv_bin(j, JX_XOR, t, y, jv_bin(j, JX_AND, t, c, jv_bin(j, JX_XOR, t, x, y)));
  return j->isa->blend(j, t, c, x, y);
}

jv jv_only(struct jx *j, unsigned t, gcc_jit_rvalue *m, jv x) {
  if (!j->isa->mask_is_vector || jx_wide(t))
    return jv_sel(j, t, (jv){.t = MX_T_pred, .r = {m, m}}, x,
                  jv_as(j, t, jv_k(j, jx_wide(t) ? MX_T_u64 : MX_T_u32, 0)));
  gcc_jit_rvalue *v =
      jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->vu32, jx_bits(j, j->vu32, want(j, t, x).r[0]), jx_bits(j, j->vu32, m));
  v = jx_keep(j, jx_bits(j, jx_type(j, t), v));
  return (jv){.t = (uint8_t)t, .r = {v, v}};
}

jv jv_fma(struct jx *j, unsigned t, jv x, jv y, jv z) {
  if (!jx_float(t)) return jx_refuse(j, t);
  j->multiplies = true;
  return j->isa->fma(j, t, want(j, t, x), want(j, t, y), want(j, t, z));
}

jv jv_first_nan(struct jx *j, enum jx_bin op, jv x, jv y) {
  static const char *const names[] = {[JX_ADD] = "add", [JX_SUB] = "sub", [JX_MUL] = "mul", [JX_DIV] = "div"};
  const char *const lanes = j->w == 1 ? "s" : "p";
  x = want(j, MX_T_f64, x), y = want(j, MX_T_f64, y);
  j->multiplies |= op == JX_MUL || op == JX_DIV;
  jv v = jx_fresh(MX_T_f64, x.u && y.u);
  char text[32];
  for (unsigned h = 0; h < (v.u ? 1u : 2u); h++) {
    gcc_jit_lvalue *d = jx_local(j, jx_type(j, MX_T_f64));
    if (j->isa->three_operands) {
      snprintf(text, sizeof text, "v%s%sd %%2, %%1, %%0", names[op], lanes);
      jx_asm(j, text, "=v", d, 2, "v", x.r[h], "vm", y.r[h]);
    } else {
      snprintf(text, sizeof text, "%s%sd %%1, %%0", names[op], lanes);
      jx_set(j, d, x.r[h]);
      jx_asm(j, text, "+x", d, 1, j->w == 1 ? "xm" : "x", y.r[h]);
    }
    v.r[h] = jx_rv(d);
  }
  if (v.u) v.r[1] = v.r[0];
  return v;
}

/* A fused sum whose NaN is chosen as the table says. If z is a NaN, y is replaced by it; the processor's order of x
 * before the other two then gives the table's result. */
jv jv_fma_first_nan(struct jx *j, jv x, jv y, jv z) {
  if (!j->isa->three_operands) return jx_refuse(j, MX_T_f64);
  x = want(j, MX_T_f64, x), y = want(j, MX_T_f64, y), z = want(j, MX_T_f64, z);
  j->multiplies = true;
  if (j->may_doubt && !j->doubtful) {
    const jv v = jx_multiply_add(j, MX_T_f64, x, y, z, "x", "xm");
    j->doubtful = v.r[0];
    return v;
  }
  const bool masks = !j->isa->mask_is_vector && j->w > 1;
  const char *const reg = masks ? "v" : "x", *const inout = masks ? "+v" : "+x";
  const char s = j->w == 1 ? 's' : 'p';
  char unordered[40], fused[40];
  snprintf(unordered, sizeof unordered, "vcmpunord%cd %%1, %%1, %%0", s);
  snprintf(fused, sizeof fused, "vfmadd132%cd %%1, %%2, %%0", s);
  jv v = jx_fresh(MX_T_f64, x.u && y.u && z.u);
  gcc_jit_type *const t = jx_type(j, MX_T_f64);
  for (unsigned h = 0; h < (v.u ? 1u : 2u); h++) {
    gcc_jit_rvalue *nan = jx_ask(j, unordered, masks ? "=Yk" : "=x", masks ? j->t_mask : t, 1, reg, z.r[h]);
    gcc_jit_rvalue *factor = jx_ask(j, masks ? "vblendmpd %3, %2, %0%{%1%}" : "vblendvpd %1, %3, %2, %0",
                                    masks ? "=v" : "=x", t, 3, masks ? "Yk" : "x", nan, reg, y.r[h], reg, z.r[h]);
    gcc_jit_lvalue *d = jx_local(j, t);
    jx_set(j, d, x.r[h]);
    jx_asm(j, fused, inout, d, 2, reg, factor, reg, z.r[h]);
    v.r[h] = jx_rv(d);
  }
  if (v.u) v.r[1] = v.r[0];
  return v;
}

/* For 16-bit floats, zero-extended; inf: the bits of the type's infinity. */
static jv canon16(struct jx *j, jv x, uint64_t inf) {
  jv nan =
      jv_cmp(j, JX_GT, MX_T_u32, jv_bin(j, JX_AND, MX_T_u32, x, jv_k(j, MX_T_u32, 0x7FFF)), jv_k(j, MX_T_u32, inf));
  return jv_sel(j, MX_T_u32, nan, jv_k(j, MX_T_u32, 0x7FFF), x);
}

jv jv_canon(struct jx *j, unsigned t, jv x) {
  const uint64_t inf = t == MX_T_f16 || t == MX_T_f16x2 ? 0x7C00 : 0x7F80;
  if (is_half(t)) return jv_as(j, t, canon16(j, jv_as(j, MX_T_u32, x), inf));
  if (t == MX_T_f16x2 || t == MX_T_bf16x2) {
    jv both = jv_as(j, MX_T_u32, x),
       low = canon16(j, jv_bin(j, JX_AND, MX_T_u32, both, jv_k(j, MX_T_u32, 0xFFFF)), inf);
    jv high = canon16(j, jv_bin(j, JX_SHR, MX_T_u32, both, jv_k(j, MX_T_u32, 16)), inf);
    return jv_as(j, t, jv_bin(j, JX_OR, MX_T_u32, low, jv_bin(j, JX_SHL, MX_T_u32, high, jv_k(j, MX_T_u32, 16))));
  }
  if (t != MX_T_f32 || x.canonical) return x;
  if (j->isa->canon) {
    gcc_jit_rvalue *r = j->isa->canon(j, jx_bits(j, j->vf32, x.r[0]));
    return (jv){.t = MX_T_f32, .u = x.u, .r = {r, r}};
  }
  jv nan = jv_cmp(j, JX_NE, t, x, x);
  return jv_sel(j, t, nan, jv_as(j, t, jv_k(j, MX_T_u32, 0x7FFFFFFF)), x);
}

jv jv_to_half(struct jx *j, jv x) {
  x = want(j, MX_T_f32, x);
  jv h = jx_fresh(MX_T_u32, x.u);
  h.r[0] = h.r[1] = j->isa->to_half(j, x.r[0]);
  h = jv_sel(j, MX_T_u32, jv_cmp(j, JX_NE, MX_T_f32, x, x), jv_k(j, MX_T_u32, 0x7FFF), h);
  return jv_as(j, MX_T_u16, h);
}

jv jx_multiply_add(struct jx *j, unsigned t, jv x, jv y, jv z, const char *reg, const char *any) {
  jv v = jx_fresh(t, x.u && y.u && z.u);
  char inout[8];
  snprintf(inout, sizeof inout, "+%s", reg);
  for (unsigned h = 0; h < (jx_wide(t) && !v.u ? 2u : 1u); h++) {
    gcc_jit_lvalue *d = jx_local(j, jx_type(j, t));
    jx_set(j, d, z.r[h]);
    char text[32];
    snprintf(text, sizeof text, "vfmadd231%c%c %%2, %%1, %%0", j->w == 1 ? 's' : 'p', t == MX_T_f32 ? 's' : 'd');
    jx_asm(j, text, inout, d, 2, reg, x.r[h], any, y.r[h]);
    v.r[h] = jx_rv(d);
  }
  if (v.u || !jx_wide(t)) v.r[1] = v.r[0];
  return v;
}

/* ---- scalars ----------------------------------------------------------------------------------------------------*/
gcc_jit_rvalue *jv_scalar(struct jx *j, jv x) {
  if (jx_scalar(x)) return jx_scalar(x);
  return x.k ? jx_int(j, jx_wide(x.t) ? j->t_u64 : j->t_u32, x.kv) : j->isa->first(j, jx_wide(x.t), x.r[0]);
}
jv jv_broadcast(struct jx *j, unsigned t, gcc_jit_rvalue *s) {
  jv v = jx_fresh(t, true);
  v.r[0] = v.r[1] = jx_bits(j, jx_type(j, t), j->isa->broadcast(j, jx_wide(t), s));
  return v;
}
jv jv_number(struct jx *j, unsigned t, gcc_jit_rvalue *kept) { return jx_with_scalar(jv_broadcast(j, t, kept), kept); }

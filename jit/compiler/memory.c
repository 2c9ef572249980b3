/* Loads and stores in compiled code.
 *
 * All lanes are checked against the instruction's cached bounds before anything is touched; where one misses, or memory is
 * local, the interpreter's body does the whole instruction, and the cache learns. Lanes one element apart are moved as
 * vectors, others by gathers and scatters, which AVX-512 orders by lane. What vm/lanes/memory.c does is the meaning;
 * this is its second writing, for speed. */
#include "build.h"

#include "vm/exec.h"

#include <stdarg.h>
#include <stdio.h>

struct place {
  gcc_jit_rvalue *lo, *limit, *host; /* scalars: bounds; host address of device address 0 */
  gcc_jit_rvalue *addr[LW_CHUNKS][2], *mask[LW_CHUNKS][2];
  gcc_jit_rvalue *start;             /* of lane 0, device address */
};

static gcc_jit_rvalue *u64_op(struct lw *l, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) { return jx_op(&l->j, op, l->j.t_u64, x, y); }
static gcc_jit_rvalue *u64_of(struct lw *l, uint64_t v) { return jx_int(&l->j, l->j.t_u64, v); }
static gcc_jit_rvalue *test(struct lw *l, enum gcc_jit_comparison op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return gcc_jit_context_new_comparison(l->j.c, NULL, op, x, y);
}
static gcc_jit_rvalue *either(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return gcc_jit_context_new_binary_op(l->j.c, NULL, GCC_JIT_BINARY_OP_BITWISE_OR, l->j.t_bool, x, y);
}
static gcc_jit_rvalue *cached(struct lw *l, uint64_t member, gcc_jit_type *t) {
  return jx_rv(lw_field(l, jx_rv(l->bounds), (uint64_t)l->ins->memory * sizeof(struct mx_bounds) + member, t));
}
static void touches_memory(gcc_jit_extended_asm *a) {
  gcc_jit_extended_asm_set_volatile_flag(a, 1);
  gcc_jit_extended_asm_add_clobber(a, "memory");
}

/* What is cached: bounds, host base, and whether the instruction can use it at all (else: the slow way). */
static gcc_jit_rvalue *read_cache(struct lw *l, struct place *p, unsigned bytes, bool write) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *span = jx_keep(j, cached(l, offsetof(struct mx_bounds, span), j->t_u64));
  gcc_jit_rvalue *kind = jx_keep(j, cached(l, offsetof(struct mx_bounds, kind), j->t_u32));
  p->lo = jx_keep(j, cached(l, offsetof(struct mx_bounds, lo), j->t_u64));
  p->limit = jx_keep(j, u64_op(l, GCC_JIT_BINARY_OP_MINUS, span, u64_of(l, bytes)));
  gcc_jit_rvalue *bad = test(l, GCC_JIT_COMPARISON_LT, span, u64_of(l, bytes));
  bad = either(l, bad, test(l, GCC_JIT_COMPARISON_EQ, kind, jx_int(j, j->t_u32, MX_LOCAL)));
  if (write) bad = either(l, bad, test(l, GCC_JIT_COMPARISON_EQ, cached(l, offsetof(struct mx_bounds, writable), j->t_u32), jx_int(j, j->t_u32, 0)));
  gcc_jit_rvalue *index = gcc_jit_context_new_cast(j->c, NULL, kind, j->t_u64);
  gcc_jit_rvalue *at = lw_add(l, l->x, u64_op(l, GCC_JIT_BINARY_OP_MULT, index, u64_of(l, 8)));
  gcc_jit_rvalue *window = jx_rv(lw_field(l, at, offsetof(struct mx_exec, window), j->t_u64));
  p->host = jx_keep(j, u64_op(l, GCC_JIT_BINARY_OP_MINUS, u64_op(l, GCC_JIT_BINARY_OP_PLUS, window, cached(l, offsetof(struct mx_bounds, off), j->t_u64)), p->lo));
  return jx_keep(j, bad);
}

/* Addresses in 32-bit registers wrap at 32 bits. */
static jv address(struct lw *l, unsigned k, unsigned c, jv off) {
  struct jx *j = &l->j;
  jv a = lw_operand(l, k, c);
  if (off.k && !off.kv) return jv_cvt(j, MX_T_u64, a.t, a);
  if (a.t != MX_T_u32) return jv_bin(j, JX_ADD, MX_T_u64, jv_cvt(j, MX_T_u64, a.t, a), off);
  return jv_cvt(j, MX_T_u64, MX_T_u32, jv_bin(j, JX_ADD, MX_T_u32, a, jv_cvt(j, MX_T_u32, MX_T_u64, off)));
}
static gcc_jit_rvalue *byte_pointer(struct lw *l, gcc_jit_rvalue *host) { return jx_keep(&l->j, jx_ask(&l->j, "movq %1, %0", "=r", l->j.t_pu8, 1, "r", host)); }

/* Multiples of the element size for the lanes of half a chunk. */
static gcc_jit_rvalue *ramp(struct lw *l, unsigned first, unsigned bytes) {
  gcc_jit_rvalue *e[8];
  for (unsigned k = 0; k < 8; k++) e[k] = jx_int(&l->j, l->j.t_u64, (uint64_t)(first + k) * bytes);
  return gcc_jit_context_new_rvalue_from_vector(l->j.c, NULL, l->j.vu64, 8, e);
}

static void load_whole(struct lw *l, struct place *p, unsigned out, bool wide) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *q = byte_pointer(l, u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, p->start));
  for (unsigned c = 0; c < l->nc; c++) {
    jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
    gcc_jit_rvalue *m = lw_lanes(l, c);
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
      v.r[h] = jx_ask(j, wide ? "vmovdqu64 %2, %0%{%1%}%{z%}" : "vmovdqu32 %2, %0%{%1%}%{z%}", "=v", wide ? j->vu64 : j->vu32, 2,
                      "Yk", wide ? p->mask[c][h] : m, "m", jx_rv(lw_vector(l, q, 64 * (wide ? 2 * c + h : c), wide)));
    if (!wide) v.r[1] = v.r[0];
    lw_put(l, out, c, v);
  }
}
static gcc_jit_rvalue *gather(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, gcc_jit_rvalue *mask, bool wide) {
  struct jx *j = &l->j;
  gcc_jit_lvalue *d = jx_local(j, wide ? j->vu64 : j->vu32), *k = jx_local(j, j->t_u16);
  jx_set(j, d, jv_k(j, wide ? MX_T_u64 : MX_T_u32, 0).r[0]);
  jx_set(j, k, mask);
  gcc_jit_extended_asm *a = jx_asm(j, wide ? "vpgatherqq (%2,%3,1), %0%{%1%}" : "vpgatherqd (%2,%3,1), %t0%{%1%}", "+&v", d, 2, "r", base, "v", index);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "+&Yk", k);
  touches_memory(a);
  return jx_rv(d);
}
static void scatter(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, gcc_jit_rvalue *mask, gcc_jit_rvalue *val, bool wide) {
  struct jx *j = &l->j;
  gcc_jit_lvalue *k = jx_local(j, j->t_u16);
  jx_set(j, k, mask);
  touches_memory(jx_asm(j, wide ? "vpscatterqq %3, (%1,%2,1)%{%0%}" : "vpscatterqd %t3, (%1,%2,1)%{%0%}", "+&Yk", k, 3, "r", base, "v", index, "v", val));
}
static void load_apart(struct lw *l, struct place *p, unsigned out, bool wide, uint64_t skip) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *base = jx_keep(j, u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, u64_of(l, skip)));
  for (unsigned c = 0; c < l->nc; c++) {
    jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
    for (unsigned h = 0; h < 2; h++) v.r[h] = gather(l, base, p->addr[c][h], p->mask[c][h], wide);
    if (!wide) v.r[0] = v.r[1] = jx_join_ymm(j, j->vu32, v.r[0], v.r[1]);
    lw_put(l, out, c, v);
  }
}
static jv source(struct lw *l, unsigned k, unsigned c, bool wide) {
  jv v = lw_operand(l, k, c);
  return jv_as(&l->j, wide ? MX_T_u64 : MX_T_u32, v);
}
static void store_whole(struct lw *l, struct place *p, unsigned in, bool wide) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *q = byte_pointer(l, u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, p->start));
  for (unsigned c = 0; c < l->nc; c++) {
    jv v = source(l, in, c, wide);
    gcc_jit_rvalue *m = lw_lanes(l, c);
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
      touches_memory(jx_asm(j, wide ? "vmovdqu64 %1, %0%{%2%}" : "vmovdqu32 %1, %0%{%2%}", "+m", lw_vector(l, q, 64 * (wide ? 2 * c + h : c), wide), 2,
                            "v", v.r[h] ? v.r[h] : v.r[0], "Yk", wide ? p->mask[c][h] : m));
  }
}
static void store_apart(struct lw *l, struct place *p, unsigned in, unsigned n, bool wide) {
  struct jx *j = &l->j;
  for (unsigned c = 0; c < l->nc; c++)
    for (unsigned h = 0; h < 2; h++)
      for (unsigned e = 0; e < n; e++) {
        jv v = source(l, in + e, c, wide);
        gcc_jit_rvalue *base = jx_keep(j, u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, u64_of(l, (uint64_t)e * (wide ? 8 : 4))));
        gcc_jit_rvalue *r = wide ? v.r[h] : h && !v.u ? jx_upper_ymm(j, j->vu32, v.r[0]) : v.r[0];
        scatter(l, base, p->addr[c][h], p->mask[c][h], r, wide);
      }
}

bool lw_memory(struct lw *l) {
  struct jx *j = &l->j;
  const struct ja_access ac = ja_access[l->ins->op];
  const struct mx_op_info *o = l->ins->o;
  const unsigned bits = jx_bitsof(ac.type), space = mx_w_mod(*l->ins->w) >> 2;
  if ((ac.kind != JA_LOAD && ac.kind != JA_STORE) || (bits != 32 && bits != 64) || ac.n > 4 || space == MX_LOCAL) return false;
  const bool load = ac.kind == JA_LOAD, wide = bits == 64;
  const unsigned at = load ? ac.n : 0, value = load ? 0 : 2;
  if (o->nopnds != ac.n + 2u || mx__types[o->opnd[value].type].slot_class != (wide ? MX_R64 : MX_R32)) return false;
  const unsigned bytes = bits / 8 * ac.n;
  const bool guarded = mx_w_guard(*l->ins->w) != MX_GUARD_NONE;
  gcc_jit_rvalue *variable;
  const uint64_t off_k = lw_offset(l, at + 1, &variable);
  bool uniform = lw_operand_uniform(l, at);
  for (unsigned e = 0; !load && e < ac.n; e++) uniform &= lw_operand_uniform(l, value + e);

  struct place p = {0};
  gcc_jit_block *fast = lw_new_block(l, "fast"), *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done"), *act = NULL;
  gcc_jit_rvalue *lanes[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) lanes[c] = lw_lanes(l, c);
  if (guarded && uniform) { /* otherwise masks say that there is nothing to do */
    act = lw_new_block(l, "act");
    gcc_jit_block_end_with_conditional(j->b, NULL, lw_any(l, lanes), act, end);
    j->b = act;
  }
  gcc_jit_rvalue *bad = read_cache(l, &p, bytes, !load);
  jv off = variable ? jv_broadcast(j, MX_T_u64, variable) : jv_k(j, MX_T_u64, off_k);
  if (uniform) {
    gcc_jit_rvalue *a = jx_keep(j, jv_scalar(j, address(l, at, 0, off)));
    bad = either(l, bad, test(l, GCC_JIT_COMPARISON_GT, u64_op(l, GCC_JIT_BINARY_OP_MINUS, a, p.lo), p.limit));
    if (bytes > 1) bad = either(l, bad, test(l, GCC_JIT_COMPARISON_NE, u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, a, u64_of(l, bytes - 1)), u64_of(l, 0)));
    gcc_jit_block_end_with_conditional(j->b, NULL, bad, slow, fast);
    j->b = fast;
    gcc_jit_rvalue *q = byte_pointer(l, u64_op(l, GCC_JIT_BINARY_OP_PLUS, p.host, a));
    gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
    jv v[4];
    for (unsigned e = 0; e < ac.n; e++) {
      gcc_jit_lvalue *m = lw_field(l, q, (uint64_t)e * (bits / 8), t);
      if (load) v[e] = jv_broadcast(j, wide ? MX_T_u64 : MX_T_u32, jx_keep(j, jx_rv(m)));
      else jx_set(j, m, jv_scalar(j, source(l, value + e, 0, wide)));
    }
    for (unsigned e = 0; load && e < ac.n; e++)
      for (unsigned c = 0; c < l->nc; c++) lw_put(l, e, c, v[e]);
    gcc_jit_block_end_with_jump(j->b, NULL, end);
  } else {
    jv lo = jv_broadcast(j, MX_T_u64, p.lo), limit = jv_broadcast(j, MX_T_u64, p.limit), low = jv_k(j, MX_T_u64, bytes - 1), start = {0};
    gcc_jit_rvalue *miss = NULL, *gap = NULL;
    for (unsigned c = 0; c < l->nc; c++) {
      jv a = address(l, at, c, off);
      for (unsigned h = 0; h < 2; h++) {
        p.addr[c][h] = jx_keep(j, a.r[h]); /* results may go to the address's slots */
        p.mask[c][h] = h ? jx_mask_hi(j, lanes[c]) : lanes[c];
        if (!c && !h) {
          p.start = jx_keep(j, jx_ask(j, "vmovq %x1, %0", "=r", j->t_u64, 1, "v", a.r[0]));
          start = jv_broadcast(j, MX_T_u64, p.start);
        }
        gcc_jit_rvalue *rel = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->vu64, a.r[h], lo.r[0]));
        gcc_jit_rvalue *k = jx_ask(j, "vpcmpuq $6, %2, %1, %0%{%3%}", "=Yk", j->t_u16, 3, "v", rel, "v", limit.r[0], "Yk", p.mask[c][h]);
        if (bytes > 1) k = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u16, k, jx_ask(j, "vptestmq %2, %1, %0%{%3%}", "=Yk", j->t_u16, 3, "v", a.r[h], "v", low.r[0], "Yk", p.mask[c][h]));
        miss = miss ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u16, miss, k) : k;
        if (ac.n > 1) continue;
        gcc_jit_rvalue *want = c || h ? jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->vu64, start.r[0], ramp(l, 16 * c + 8 * h, bytes)))
                                      : jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->vu64, start.r[0], ramp(l, 0, bytes)));
        k = jx_ask(j, "vpcmpuq $4, %2, %1, %0%{%3%}", "=Yk", j->t_u16, 3, "v", a.r[h], "v", want, "Yk", p.mask[c][h]);
        gap = gap ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u16, gap, k) : k;
      }
    }
    bad = either(l, bad, test(l, GCC_JIT_COMPARISON_NE, miss, jx_int(j, j->t_u16, 0)));
    gcc_jit_block_end_with_conditional(j->b, NULL, bad, slow, fast);
    j->b = fast;
    if (gap) {
      gcc_jit_block *whole = lw_new_block(l, "whole"), *apart = lw_new_block(l, "apart");
      gcc_jit_block_end_with_conditional(j->b, NULL, test(l, GCC_JIT_COMPARISON_EQ, gap, jx_int(j, j->t_u16, 0)), whole, apart);
      j->b = whole;
      if (load) load_whole(l, &p, 0, wide);
      else store_whole(l, &p, value, wide);
      gcc_jit_block_end_with_jump(j->b, NULL, end);
      j->b = apart;
    }
    if (load)
      for (unsigned e = 0; e < ac.n; e++) load_apart(l, &p, e, wide, (uint64_t)e * (bits / 8));
    else
      store_apart(l, &p, value, ac.n, wide);
    gcc_jit_block_end_with_jump(j->b, NULL, end);
  }
  j->b = slow;
  lw_step(l);
  gcc_jit_block_end_with_jump(j->b, NULL, end);
  j->b = end;
  return true;
}

/* Program tree -> text: PTX for 32 lanes, the same with 64-bit masks for 64. Computes no value; tracks the membermask
 * in registers %m0 (everybody), %m1 (one level in) ... by ballots before each branch, where somebody inside needs it.
 */
#include "oracle.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emitter {
  const struct program *p;
  const struct layout *at;
  struct emit_options opt;
  FILE *o, *late; /* where text goes; what follows the function's end */
  unsigned labels, level, loops, graphs;
  int func;
  bool tracked;               /* %m<level> holds the mask of those who are here */
  const char *leave, *again;  /* labels of the loop around */
  bool func_exits[MAX_FUNCS]; /* lanes may end in it */
  const char *mt;             /* "b32" or "b64": type of masks */
};

__attribute__((format(printf, 2, 3))) static void out(struct emitter *e, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("  ", e->o);
  vfprintf(e->o, fmt, ap);
  fputc('\n', e->o);
  va_end(ap);
}
static void label(struct emitter *e, unsigned n) { fprintf(e->o, "L%u:\n", n); }

/* ---- questions about the tree -----------------------------------------------------------------------------*/
typedef bool question(const struct emitter *e, const struct stmt *s);
static bool any(const struct emitter *e, const struct list *l, bool into_calls, question *q) {
  for (const struct stmt *s = l->first; s; s = s->next) {
    if (s->dropped) continue;
    if (q(e, s)) return true;
    for (unsigned i = 0; i < s->nsub; i++)
      if (any(e, &s->sub[i], into_calls, q)) return true;
    if (s->kind == S_GRAPH)
      for (unsigned b = 0; b < s->graph->nblocks; b++)
        if (any(e, &s->graph->blocks[b].body, into_calls, q)) return true;
    if (s->kind == S_CALL && into_calls && !s->flag && any(e, &e->p->funcs[s->func].body, true, q)) return true;
  }
  return false;
}
static bool real_mask(const struct emitter *e) { return e->p->together && e->opt.observe_masks; }
static bool q_needs_mask(const struct emitter *e, const struct stmt *s) {
  switch (s->kind) {
  case S_MASK: return !real_mask(e);
  case S_BALLOT:
  case S_VOTE:
  case S_SHFL:
  case S_WARPX: return true;
  case S_MEET: return s->op >= MEET_BALLOT;
  case S_GRAPH: return s->graph->meet;
  case S_CALL: return e->p->funcs[s->func].cls != F_PLAIN;
  default: return false;
  }
}
static bool q_exits(const struct emitter *e, const struct stmt *s) {
  return s->kind == S_EXIT || (s->kind == S_CALL && e->func_exits[s->func]);
}
static bool q_shared(const struct emitter *e, const struct stmt *s) {
  (void)e;
  return s->kind == S_SHACC || s->kind == S_SHREAD || s->kind == S_BLOCKX || s->kind == S_HANDOVER ||
         (s->kind == S_MEET && s->op == MEET_BAR);
}
static bool q_local(const struct emitter *e, const struct stmt *s) {
  (void)e;
  return s->kind == S_LDLOC || s->kind == S_STLOC;
}
static bool needs_mask(const struct emitter *e, const struct list *l) { return any(e, l, false, q_needs_mask); }

/* ---- small pieces ------------------------------------------------------------------------------------------*/
static const char *const cmp_names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const uint8_t cmp_opposite[] = {C_NE, C_EQ, C_GE, C_GT, C_LE, C_LT};

/* The condition into %c0. Uses %t0. */
static void emit_cond(struct emitter *e, const struct cond *c) {
  unsigned cmp = c->neg ? cmp_opposite[c->cmp] : c->cmp;
  const char *truth = c->neg ? "eq" : "ne";
  switch (c->kind) {
  case K_BIT: out(e, "shr.u32 %%t0, %%v%u, %u;", c->a, c->k); break;
  case K_CMP:
    if (c->imm) out(e, "setp.%s.%s %%c0, %%v%u, %u;", cmp_names[cmp], c->type == CT_S32 ? "s32" : "u32", c->a, c->k);
    else out(e, "setp.%s.%s %%c0, %%v%u, %%v%u;", cmp_names[cmp], c->type == CT_S32 ? "s32" : "u32", c->a, c->b);
    return;
  case K_Q: out(e, c->neg ? "not.pred %%c0, %%q%u;" : "mov.pred %%c0, %%q%u;", c->a); return;
  case K_LANE: out(e, "setp.%s.u32 %%c0, %%ln, %u;", cmp_names[cmp], c->k); return;
  case K_DEPTH: out(e, "setp.%s.u32 %%c0, %%dp, 0;", truth); return;
  case K_BLOCK: out(e, "mov.u32 %%t0, %%ctaid.x;"), out(e, "shr.u32 %%t0, %%t0, %u;", c->k); break;
  case K_WARP: out(e, "shr.u32 %%t0, %%th, %u;", (e->p->lanes == 64 ? 6 : 5) + c->k); break;
  }
  out(e, "and.b32 %%t0, %%t0, 1;");
  out(e, "setp.%s.u32 %%c0, %%t0, 0;", truth);
}

static void emit_ballot(struct emitter *e, const char *d, const char *p, unsigned level) {
  out(e, "vote.sync.ballot.%s %s, %s, %%m%u;", e->mt, d, p, level);
}
/* Those for whom %c0 holds are about to go: the mask without them. */
static void emit_drop(struct emitter *e) {
  if (!e->tracked) return;
  emit_ballot(e, "%k0", "%c0", e->level);
  out(e, "not.%s %%k0, %%k0;", e->mt);
  out(e, "and.%s %%m%u, %%m%u, %%k0;", e->mt, e->level, e->level);
}
static void emit_refresh(struct emitter *e) { /* after something in which lanes may have ended */
  if (!e->tracked) return;
  out(e, "setp.eq.u32 %%c0, %%th, %%th;");
  char d[16];
  snprintf(d, sizeof d, "%%m%u", e->level);
  emit_ballot(e, d, "%c0", e->level);
}

static void emit_trace_address(struct emitter *e) {
  out(e, "cvt.u64.u32 %%x0, %%o;");
  out(e, "add.u64 %%x0, %%tr, %%x0;");
}
static void emit_record(struct emitter *e, uint32_t id, const char *lo, const char *hi) {
  emit_trace_address(e);
  out(e, "st.global.b32 [%%x0], %u;", id);
  out(e, "st.global.b32 [%%x0+4], %s;", lo);
  if (hi) out(e, "st.global.b32 [%%x0+8], %s;", hi);
  out(e, "add.u32 %%o, %%o, %u;", hi ? 12 : 8);
}
static void emit_record_mask(struct emitter *e, uint32_t id, const char *mask) {
  if (e->p->lanes == 64) {
    out(e, "mov.b64 {%%t0, %%t1}, %s;", mask);
    emit_record(e, id, "%t0", "%t1");
  } else {
    emit_record(e, id, mask, NULL);
  }
}
static void emit_mask_to_wide(struct emitter *e, unsigned d, const char *mask) {
  out(e, e->p->lanes == 64 ? "mov.b64 %%w%u, %s;" : "cvt.u64.u32 %%w%u, %s;", d, mask);
}

static void emit_barrier(struct emitter *e, unsigned number, bool aligned) {
  const char *name = aligned && e->opt.observe_masks ? "bar" : "barrier";
  if (e->p->full && !e->p->exits && number & 1) out(e, "%s.sync %u, %u;", name, number, e->p->threads);
  else out(e, "%s.sync %u;", name, number);
}
static void emit_red(struct emitter *e, const struct stmt *s, unsigned op, unsigned number, bool aligned) {
  const char *name = aligned && e->opt.observe_masks ? "bar" : "barrier";
  if (op == 0) out(e, "%s.red.popc.u32 %%v%u, %u, %%q%u;", name, s->d, number, s->a % NQ);
  else out(e, "%s.red.%s.pred %%q%u, %u, %%q%u;", name, op == 1 ? "and" : "or", s->d % NQ, number, s->a % NQ);
}
/* Shared address of word `index` (a register) of array into %t0. */
static void emit_shared_at(struct emitter *e, const char *array, const char *index) {
  out(e, "mov.u32 %%t0, %s;", array);
  out(e, "mad.lo.u32 %%t0, %s, 4, %%t0;", index);
}
static void emit_turned(struct emitter *e, uint32_t by) { /* into %t1 */
  out(e, "add.u32 %%t1, %%th, %u;", by);
  out(e, "setp.ge.u32 %%c1, %%t1, %u;", e->p->threads);
  out(e, "sub.u32 %%t2, %%t1, %u;", e->p->threads);
  out(e, "selp.b32 %%t1, %%t2, %%t1, %%c1;");
}

/* ---- statements of one thread ----------------------------------------------------------------------------*/
static void guard_text(const struct stmt *s, char *g, size_t n) {
  if (!s->guard) *g = 0;
  else snprintf(g, n, "@%s%%q%u ", s->guard > NQ ? "!" : "", (s->guard - 1u) % NQ);
}

static void emit_alu(struct emitter *e, const struct stmt *s) {
  static const char *const names[] = {"add.u32", "sub.u32", "mul.lo.u32", "mad.lo.u32", "and.b32",  "or.b32", "xor.b32",
                                      "not.b32", "shl.b32", "shr.u32",    "shr.s32",    "selp.b32", "mov.b32"};
  char b[24], g[16];
  guard_text(s, g, sizeof g);
  if (s->imm) snprintf(b, sizeof b, s->id & 1 ? "0x%X" : "%u", s->k);
  else snprintf(b, sizeof b, "%%v%u", s->b);
  switch (s->op) {
  case A_NOT: out(e, "%snot.b32 %%v%u, %%v%u;", g, s->d, s->a); break;
  case A_MOV: out(e, "%smov.b32 %%v%u, %s;", g, s->d, b); break;
  case A_MAD: out(e, "%smad.lo.u32 %%v%u, %%v%u, %s, %%v%u;", g, s->d, s->a, b, s->c); break;
  case A_SELP: out(e, "%sselp.b32 %%v%u, %%v%u, %s, %%q%u;", g, s->d, s->a, b, s->c % NQ); break;
  default: out(e, "%s%s %%v%u, %%v%u, %s;", g, names[s->op], s->d, s->a, b);
  }
}

static void emit_alu64(struct emitter *e, const struct stmt *s) {
  static const char *const names[] = {"add.u64", "sub.u64", "mul.lo.u64", "and.b64", "or.b64",
                                      "xor.b64", "shl.b64", "shr.u64",    "shr.s64"};
  unsigned d = s->d % NW, a = s->a % NW;
  char b[24], n[24], g[16];
  guard_text(s, g, sizeof g);
  if (s->imm) snprintf(b, sizeof b, "0x%llX", (unsigned long long)s->wide);
  else snprintf(b, sizeof b, "%%w%u", s->b % NW);
  if (s->imm) snprintf(n, sizeof n, "%u", s->k);
  else snprintf(n, sizeof n, "%%v%u", s->b);
  switch (s->op) {
  case W_SHL:
  case W_SHRU:
  case W_SHRS: out(e, "%s%s %%w%u, %%w%u, %s;", g, names[s->op], d, a, n); break;
  case W_MULU: out(e, "%smul.wide.u32 %%w%u, %%v%u, %%v%u;", g, d, s->a, s->b); break;
  case W_MULS: out(e, "%smul.wide.s32 %%w%u, %%v%u, %%v%u;", g, d, s->a, s->b); break;
  case W_MADU: out(e, "%smad.wide.u32 %%w%u, %%v%u, %%v%u, %%w%u;", g, d, s->a, s->b, s->c % NW); break;
  case W_CVTU: out(e, "%scvt.u64.u32 %%w%u, %%v%u;", g, d, s->a); break;
  case W_CVTS: out(e, "%scvt.s64.s32 %%w%u, %%v%u;", g, d, s->a); break;
  case W_LOW: out(e, "%scvt.u32.u64 %%v%u, %%w%u;", g, s->d, a); break;
  case W_PACK: out(e, "mov.b64 %%w%u, {%%v%u, %%v%u};", d, s->a, s->b); break;
  case W_UNPACK: out(e, "mov.b64 {%%v%u, %%v%u}, %%w%u;", s->d, (s->d + 1u) % NV, a); break;
  case W_SELP: out(e, "%sselp.b64 %%w%u, %%w%u, %s, %%q%u;", g, d, a, b, s->c % NQ); break;
  default: out(e, "%s%s %%w%u, %%w%u, %s;", g, names[s->op], d, a, b);
  }
}

static void emit_setp(struct emitter *e, const struct stmt *s) {
  static const char *const types[] = {"u32", "s32", "u64", "s64"};
  bool wide = s->form >= CT_U64;
  char b[24], g[16];
  guard_text(s, g, sizeof g);
  if (s->imm) snprintf(b, sizeof b, "%u", s->k);
  else snprintf(b, sizeof b, wide ? "%%w%u" : "%%v%u", wide ? s->b % NW : s->b);
  out(e, wide ? "%ssetp.%s.%s %%q%u, %%w%u, %s;" : "%ssetp.%s.%s %%q%u, %%v%u, %s;", g, cmp_names[s->op],
      types[s->form], s->d, wide ? s->a % NW : s->a, b);
}

static void emit_memory(struct emitter *e, const struct stmt *s) {
  static const char *const types[] = {"b32", "u8", "s8", "u16", "s16", "v2.b32", "v4.b32", "b64"};
  static const unsigned keep[] = {15, 63, 63, 31, 31, 14, 12, 14}, scale[] = {4, 1, 1, 2, 2, 4, 4, 4};
  static const char *const kinds[] = {"", ".volatile", "", ".relaxed.gpu", ""};
  const char *kind = s->op == M_V2 || s->op == M_V4 ? "" : kinds[s->id % 5], *space = s->id % 3 ? ".global" : "";
  unsigned r = s->kind == S_LD ? s->d : s->b;
  char regs[64], g[16];
  guard_text(s, g, sizeof g);
  if (s->op == M_V2) snprintf(regs, sizeof regs, "{%%v%u, %%v%u}", r, (r + 1) % NV);
  else if (s->op == M_V4)
    snprintf(regs, sizeof regs, "{%%v%u, %%v%u, %%v%u, %%v%u}", r, (r + 1) % NV, (r + 2) % NV, (r + 3) % NV);
  else if (s->op == M_B64) snprintf(regs, sizeof regs, "%%w%u", r % NW);
  else snprintf(regs, sizeof regs, "%%v%u", r);
  out(e, "and.b32 %%t0, %%v%u, %u;", s->a, keep[s->op]);
  out(e, "mad.wide.u32 %%x0, %%t0, %u, %%pv;", scale[s->op]);
  if (s->kind == S_LD) out(e, "%sld%s%s.%s %s, [%%x0];", g, kind, space, types[s->op], regs);
  else
    out(e, "%sst%s%s.%s [%%x0], %s;", g, kind, space,
        s->op == M_S8    ? "b8"
        : s->op == M_S16 ? "b16"
                         : types[s->op],
        regs);
}

static void emit_local_at(struct emitter *e, const struct stmt *s, const char **space) {
  out(e, "and.b32 %%t0, %%v%u, 7;", s->a);
  out(e, "mov.u64 %%x0, loc;");
  if (s->form & 1) out(e, "cvta.local.u64 %%x0, %%x0;");
  *space = s->form & 1 ? "" : ".local";
  out(e, "mad.wide.u32 %%x0, %%t0, 4, %%x0;");
}

static void emit_plain(struct emitter *e, const struct stmt *s) {
  char g[16], r[16];
  const char *space;
  guard_text(s, g, sizeof g);
  switch (s->kind) {
  case S_ALU: emit_alu(e, s); break;
  case S_ALU64: emit_alu64(e, s); break;
  case S_SETP: emit_setp(e, s); break;
  case S_PLOG:
    if (s->op == 3) out(e, "not.pred %%q%u, %%q%u;", s->d, s->a);
    else out(e, "%s.pred %%q%u, %%q%u, %%q%u;", s->op == 0 ? "and" : s->op == 1 ? "or" : "xor", s->d, s->a, s->b);
    break;
  case S_FOP:
    out(e, "cvt.rn.f32.u32 %%f0, %%v%u;", s->a);
    out(e, "cvt.rn.f32.s32 %%f1, %%v%u;", s->b);
    out(e, "cvt.rn.f32.u32 %%f2, %%v%u;", s->c);
    out(e, "add.rn.f32 %%f0, %%f0, %%f1;");
    out(e, "fma.rn.f32 %%f0, %%f0, %%f1, %%f2;");
    out(e, "mov.b32 %%v%u, %%f0;", s->d);
    break;
  case S_LD:
  case S_ST: emit_memory(e, s); break;
  case S_ATOM:
    out(e, "and.b32 %%t0, %%v%u, 15;", s->a);
    out(e, "mad.wide.u32 %%x0, %%t0, 4, %%pv;");
    space = s->form & 2 ? ".global" : "";
    if (s->op == AT_CAS) out(e, "%satom%s.cas.b32 %%v%u, [%%x0], %%v%u, %%v%u;", g, space, s->d, s->c, s->b);
    else out(e, "%satom%s.%s %%v%u, [%%x0], %%v%u;", g, space, s->op == AT_ADD ? "add.u32" : "exch.b32", s->d, s->b);
    break;
  case S_ACC:
    out(e, "and.b32 %%t0, %%v%u, 3;", s->a);
    out(e, "mad.wide.u32 %%x0, %%t0, 8, %%mem;");
    if (s->form & 1) out(e, "%sred.global.add.u64 [%%x0], %%w%u;", g, s->b % NW);
    else if (s->form & 2) out(e, "%satom.global.add.u32 %%t1, [%%x0+32], %%v%u;", g, s->b);
    else out(e, "%sred.add.u32 [%%x0+32], %%v%u;", g, s->b);
    break;
  case S_SHACC:
    out(e, "and.b32 %%t1, %%v%u, 7;", s->a);
    emit_shared_at(e, "shacc", "%t1");
    out(e, s->form & 1 ? "red.shared.add.u32 [%%t0], %%v%u;" : "atom.shared.add.u32 %%t1, [%%t0], %%v%u;", s->b);
    break;
  case S_LDLOC:
    emit_local_at(e, s, &space);
    out(e, "ld%s.b32 %%v%u, [%%x0];", space, s->d);
    break;
  case S_STLOC:
    emit_local_at(e, s, &space);
    out(e, "st%s.b32 [%%x0], %%v%u;", space, s->b);
    break;
  case S_REC:
    snprintf(r, sizeof r, "%%v%u", s->a);
    emit_record(e, s->id, r, NULL);
    break;
  case S_REC64:
    out(e, "mov.b64 {%%t0, %%t1}, %%w%u;", s->a % NW);
    emit_record(e, s->id, "%t0", "%t1");
    break;
  case S_RECQ:
    out(e, "selp.b32 %%t0, 1, 0, %%q0;");
    for (unsigned k = 1; k < NQ; k++)
      out(e, "selp.b32 %%t1, %u, 0, %%q%u;", 1u << k, k), out(e, "or.b32 %%t0, %%t0, %%t1;");
    emit_record(e, s->id, "%t0", NULL);
    break;
  case S_ORDER:
    out(e, "mov.u32 %%t0, %%ctaid.x;");
    out(e, "mad.lo.u32 %%t0, %%t0, %u, %%wp;", (e->p->threads + e->p->lanes - 1) / e->p->lanes);
    out(e, "mad.wide.u32 %%x0, %%t0, %u, %%mem;", NORD * 4);
    unsigned at = e->at->ord + s->k * 4;
    if (s->op == O_STORE) out(e, "st.global.b32 [%%x0+%u], %%v%u;", at, s->a);
    else if (s->op == O_LOAD) out(e, "ld.global.b32 %%v%u, [%%x0+%u];", s->d, at);
    else out(e, "atom.global.%s %%v%u, [%%x0+%u], %%v%u;", s->op == O_ADD ? "add.u32" : "exch.b32", s->d, at, s->a);
    break;
  }
}

/* ---- statements of a warp or a block --------------------------------------------------------------------*/
/* %c1: whether lane %t1 is in the mask of this level. Uses %t2, %x1. */
static void emit_is_member(struct emitter *e) {
  if (e->p->lanes == 64) {
    out(e, "shr.u64 %%x1, %%m%u, %%t1;", e->level);
    out(e, "and.b64 %%x1, %%x1, 1;");
    out(e, "setp.ne.u64 %%c1, %%x1, 0;");
  } else {
    out(e, "shr.u32 %%t2, %%m%u, %%t1;", e->level);
    out(e, "and.b32 %%t2, %%t2, 1;");
    out(e, "setp.ne.u32 %%c1, %%t2, 0;");
  }
}

/* v[d] = v[a] of another lane, or 0 where that lane is not among the members. */
static void emit_shfl(struct emitter *e, const struct stmt *s, unsigned op, const char *b, uint32_t c, bool out_pred) {
  static const char *const names[] = {"up", "down", "bfly", "idx"};
  uint32_t seg = c >> 8;
  out(e, "and.b32 %%t3, %s, %u;", b, e->p->lanes - 1);
  switch (op) {
  case SH_UP: out(e, "sub.u32 %%t1, %%ln, %%t3;"); break;
  case SH_DOWN: out(e, "add.u32 %%t1, %%ln, %%t3;"); break;
  case SH_BFLY: out(e, "xor.b32 %%t1, %%ln, %%t3;"); break;
  default:
    out(e, "and.b32 %%t1, %%t3, %u;", ~seg & (e->p->lanes - 1));
    out(e, "and.b32 %%t2, %%ln, %u;", seg);
    out(e, "or.b32 %%t1, %%t1, %%t2;");
  }
  emit_is_member(e);
  out(e, "shfl.sync.%s.b32 %%t0|%%c2, %%v%u, %s, %u, %%m%u;", names[op], s->a, b, c, e->level);
  out(e, "not.pred %%c3, %%c2;");
  out(e, "or.pred %%c1, %%c1, %%c3;");
  out(e, "selp.b32 %%v%u, %%t0, 0, %%c1;", s->d);
  if (out_pred) out(e, "mov.pred %%q%u, %%c2;", s->d % NQ);
}

static void emit_warp(struct emitter *e, const struct stmt *s) {
  char m[16], b[16];
  snprintf(m, sizeof m, "%%m%u", e->level);
  switch (s->kind) {
  case S_MASK:
    if (real_mask(e)) out(e, "activemask.%s %%k1;", e->mt);
    emit_record_mask(e, s->id, real_mask(e) ? "%k1" : m);
    break;
  case S_ABALLOT:
  case S_BALLOT:
    snprintf(b, sizeof b, "%%q%u", s->a % NQ);
    if (s->kind == S_BALLOT) emit_ballot(e, "%k1", b, e->level);
    else out(e, "vote.ballot.b64 %%k1, %s;", b);
    emit_mask_to_wide(e, s->d % NW, "%k1");
    emit_record_mask(e, s->id, "%k1");
    break;
  case S_VOTE:
    out(e, "vote.sync.%s.pred %%q%u, %%q%u, %s;", s->op == 0 ? "all" : s->op == 1 ? "any" : "uni", s->d, s->a, m);
    break;
  case S_SHFL:
    if (s->imm) snprintf(b, sizeof b, "%u", s->k);
    else snprintf(b, sizeof b, "%%v%u", s->b);
    emit_shfl(e, s, s->op, b, (uint32_t)s->wide, s->form & 1);
    break;
  case S_WARPX:
    emit_shared_at(e, "sh2", "%th");
    out(e, "st.shared.b32 [%%t0], %%v%u;", s->a);
    out(e, "bar.warp.sync %s;", m);
    out(e, "xor.b32 %%t1, %%ln, %u;", s->k);
    emit_is_member(e);
    out(e, "xor.b32 %%t1, %%th, %u;", s->k);
    emit_shared_at(e, "sh2", "%t1");
    out(e, "mov.b32 %%v%u, 0;", s->d);
    out(e, "@%%c1 ld.shared.b32 %%v%u, [%%t0];", s->d);
    out(e, "bar.warp.sync %s;", m);
    break;
  }
}

static void emit_block(struct emitter *e, const struct stmt *s, bool aligned) {
  unsigned number = (unsigned)s->wide;
  unsigned kind = s->kind == S_MEET ? (s->op == MEET_BAR ? S_BLOCKX : S_BARRED) : s->kind;
  unsigned l1, l2;
  switch (kind) {
  case S_BLOCKX:
    emit_shared_at(e, "sh", "%th");
    out(e, "st.shared.b32 [%%t0], %%v%u;", s->a);
    emit_barrier(e, number, aligned);
    emit_turned(e, s->k % e->p->threads);
    emit_shared_at(e, "sh", "%t1");
    out(e, "ld.shared.b32 %%v%u, [%%t0];", s->d);
    emit_barrier(e, number, aligned);
    break;
  case S_SHREAD:
    emit_barrier(e, number, aligned);
    out(e, "and.b32 %%t1, %%v%u, 7;", s->a);
    emit_shared_at(e, "shacc", "%t1");
    out(e, "ld.shared.b32 %%v%u, [%%t0];", s->d);
    emit_barrier(e, number, aligned);
    break;
  case S_HANDOVER:
    l1 = ++e->labels, l2 = ++e->labels;
    out(e, "and.b32 %%t1, %%wp, 1;");
    out(e, "setp.eq.u32 %%c0, %%t1, %u;", s->form & 1);
    emit_turned(e, s->k % e->p->threads);
    out(e, "@!%%c0 bra L%u;", l1);
    emit_shared_at(e, "sh", "%th");
    out(e, "st.shared.b32 [%%t0], %%v%u;", s->a);
    out(e, "%s.arrive %u, %u;", e->opt.observe_masks ? "bar" : "barrier", number, e->p->threads);
    out(e, "bra L%u;", l2);
    label(e, l1);
    out(e, "%s.sync %u, %u;", e->opt.observe_masks ? "bar" : "barrier", number, e->p->threads);
    emit_shared_at(e, "sh", "%t1");
    out(e, "ld.shared.b32 %%v%u, [%%t0];", s->d);
    label(e, l2);
    emit_barrier(e, 0, aligned);
    break;
  default: emit_red(e, s, s->kind == S_MEET ? s->op - MEET_POPC : s->op, number, aligned);
  }
}

/* ---- control ---------------------------------------------------------------------------------------------*/
static void emit_list(struct emitter *e, const struct list *l);

/* A list one level of the tracked mask further in. */
static void emit_inner(struct emitter *e, const struct list *l) {
  bool tracked = e->tracked;
  e->tracked = needs_mask(e, l);
  e->level++;
  emit_list(e, l);
  e->level--;
  e->tracked = tracked;
}
/* The else side begins: %m<level+1> held the then side's mask. */
static void emit_else_mask(struct emitter *e, const struct list *l) {
  if (!needs_mask(e, l)) return;
  out(e, "not.%s %%m%u, %%m%u;", e->mt, e->level + 1, e->level + 1);
  out(e, "and.%s %%m%u, %%m%u, %%m%u;", e->mt, e->level + 1, e->level + 1, e->level);
}

static FILE *out_of_line(struct emitter *e, char **text, size_t *size) {
  FILE *was = e->o;
  e->o = open_memstream(text, size);
  if (!e->o) abort();
  return was;
}
static void back_in_line(struct emitter *e, FILE *was, char **text, size_t *size) {
  fclose(e->o);
  e->o = was;
  fwrite(*text, 1, *size, e->late);
  free(*text);
}

static void emit_if(struct emitter *e, const struct stmt *s) {
  unsigned other = ++e->labels, end = ++e->labels;
  char next[16];
  emit_cond(e, &s->cond);
  snprintf(next, sizeof next, "%%m%u", e->level + 1);
  if (needs_mask(e, &s->sub[0]) || needs_mask(e, &s->sub[1])) emit_ballot(e, next, "%c0", e->level);
  if (s->form == 0) {
    out(e, "@!%%c0 bra L%u;", s->sub[1].first ? other : end);
    emit_inner(e, &s->sub[0]);
    if (s->sub[1].first) {
      out(e, "bra L%u;", end);
      label(e, other);
      emit_else_mask(e, &s->sub[1]);
      emit_inner(e, &s->sub[1]);
    }
  } else {
    out(e, "@%%c0 bra L%u;", other);
    emit_else_mask(e, &s->sub[1]);
    emit_inner(e, &s->sub[1]);
    char *text;
    size_t size;
    FILE *was = NULL;
    if (s->form == 2) was = out_of_line(e, &text, &size);
    else out(e, "bra L%u;", end);
    label(e, other);
    emit_inner(e, &s->sub[0]);
    if (s->form == 2) {
      out(e, "bra L%u;", end);
      back_in_line(e, was, &text, &size);
    }
  }
  label(e, end);
}

static void emit_meet_op(struct emitter *e, const struct stmt *s) {
  char b[16];
  switch (s->op) {
  case MEET_BALLOT:
    snprintf(b, sizeof b, "%%q%u", s->b % NQ);
    emit_ballot(e, "%k1", b, e->level);
    emit_mask_to_wide(e, s->d % NW, "%k1");
    break;
  case MEET_SHFL:
    snprintf(b, sizeof b, "%u", s->k);
    emit_shfl(e, s, SH_IDX, b, e->p->lanes - 1, false);
    break;
  case MEET_WARP: out(e, "bar.warp.sync %%m%u;", e->level); break;
  default: emit_block(e, s, false);
  }
}

static void emit_meet(struct emitter *e, const struct stmt *s) {
  unsigned other = ++e->labels, end = ++e->labels;
  char next[16];
  emit_cond(e, &s->cond);
  snprintf(next, sizeof next, "%%m%u", e->level + 1);
  bool inner = false, exits = false;
  for (unsigned i = 0; i < 4; i++) inner |= needs_mask(e, &s->sub[i]);
  for (unsigned i = 0; i < 2; i++) exits |= any(e, &s->sub[i], false, q_exits);
  if (inner) emit_ballot(e, next, "%c0", e->level);
  for (unsigned side = 0; side < 2; side++) {
    if (side == 0) out(e, "@!%%c0 bra L%u;", other);
    else label(e, other);
    if (side == 1 && inner) {
      out(e, "not.%s %s, %s;", e->mt, next, next);
      out(e, "and.%s %s, %s, %%m%u;", e->mt, next, next, e->level);
    }
    emit_inner(e, &s->sub[side]);
    if (exits && s->op >= MEET_BALLOT) emit_refresh(e); /* at two places, by both sides */
    emit_meet_op(e, s);
    if (exits && needs_mask(e, &s->sub[side + 2])) {
      e->level++;
      bool tracked = e->tracked;
      e->tracked = true;
      emit_refresh(e);
      e->tracked = tracked;
      e->level--;
    }
    emit_inner(e, &s->sub[side + 2]);
    if (side == 0) out(e, "bra L%u;", end);
  }
  label(e, end);
}

static void emit_loop(struct emitter *e, const struct stmt *s) {
  unsigned head = ++e->labels, body = ++e->labels, i = e->loops++;
  char leave[16], again[16], next[16];
  const char *old_leave = e->leave, *old_again = e->again;
  snprintf(leave, sizeof leave, "L%u", ++e->labels);
  snprintf(again, sizeof again, "L%u", ++e->labels);
  snprintf(next, sizeof next, "%%m%u", e->level + 1);
  e->leave = leave, e->again = again;
  bool tracked = needs_mask(e, &s->sub[0]);
  if (s->flag) out(e, "mov.b32 %%n%u, %u;", i, s->k);
  else out(e, "and.b32 %%n%u, %%v%u, %u;", i, s->a, s->k);
  out(e, "mov.b32 %%i%u, 0;", i);
  if (tracked) out(e, "mov.%s %s, %%m%u;", e->mt, next, e->level);
  label(e, head);
  FILE *was = NULL;
  char *text;
  size_t size;
  if (s->form != 1) {
    out(e, "setp.lt.u32 %%c0, %%i%u, %%n%u;", i, i);
    if (tracked) emit_ballot(e, next, "%c0", e->level + 1);
    if (s->form == 0) {
      out(e, "@!%%c0 bra %s;", leave);
    } else {
      out(e, "@%%c0 bra L%u;", body);
      was = out_of_line(e, &text, &size);
      label(e, body);
    }
  }
  out(e, "mov.b32 %%v%u, %%i%u;", s->d, i);
  emit_inner(e, &s->sub[0]);
  fprintf(e->o, "%s:\n", again);
  out(e, "add.u32 %%i%u, %%i%u, 1;", i, i);
  if (s->form == 1) {
    out(e, "setp.lt.u32 %%c0, %%i%u, %%n%u;", i, i);
    if (tracked) emit_ballot(e, next, "%c0", e->level + 1);
    out(e, "@%%c0 bra L%u;", head);
  } else {
    out(e, "bra L%u;", head);
  }
  if (was) back_in_line(e, was, &text, &size);
  fprintf(e->o, "%s:\n", leave);
  e->leave = old_leave, e->again = old_again;
  e->loops--;
}

static void emit_switch(struct emitter *e, const struct stmt *s) {
  unsigned first = e->labels + 1, end = first + s->nsub;
  e->labels = end;
  out(e, "shr.u32 %%t1, %%v%u, %u;", s->a, s->k);
  out(e, "and.b32 %%t1, %%t1, %u;", s->ntable - 1);
  bool inner = false;
  for (unsigned c = 0; c < s->nsub; c++) {
    if (!needs_mask(e, &s->sub[c])) continue;
    if (!inner) out(e, "mov.%s %%m%u, %%m%u;", e->mt, e->level + 1, e->level);
    inner = true;
    out(e, "setp.ne.u32 %%c0, %%t1, %%t1;");
    for (unsigned i = 0; i < s->ntable; i++)
      if (s->table[i] == c) out(e, "setp.eq.u32 %%c1, %%t1, %u;", i), out(e, "or.pred %%c0, %%c0, %%c1;");
    emit_ballot(e, "%k0", "%c0", e->level);
    out(e, "selp.%s %%m%u, %%k0, %%m%u, %%c0;", e->mt, e->level + 1, e->level + 1);
  }
  fprintf(e->o, "  S%u: .branchtargets ", end);
  for (unsigned i = 0; i < s->ntable; i++) fprintf(e->o, "%sL%u", i ? ", " : "", first + s->table[i]);
  fprintf(e->o, ";\n");
  out(e, "brx.idx %%t1, S%u;", end);
  for (unsigned c = 0; c < s->nsub; c++) {
    label(e, first + c);
    emit_inner(e, &s->sub[c]);
    if (!s->flag && c + 1 < s->nsub) out(e, "bra L%u;", end);
  }
  label(e, end);
}

static void emit_call(struct emitter *e, const struct stmt *s) {
  const struct func *f = &e->p->funcs[s->func];
  char args[7][16];
  static const char *const types[] = {"b64", "b64", "b32", "b32", "b32", "b64", ""};
  unsigned n = 6;
  snprintf(args[0], 16, "%%mem");
  snprintf(args[1], 16, "%%tr");
  snprintf(args[2], 16, "%%o");
  snprintf(args[3], 16, "%%t1");
  snprintf(args[4], 16, "%%v%u", s->a);
  snprintf(args[5], 16, "%%w%u", s->b % NW);
  if (f->cls != F_PLAIN) snprintf(args[n++], 16, "%%m%u", e->level);
  if (s->flag) out(e, "sub.u32 %%t1, %%dp, 1;");
  else out(e, "and.b32 %%t1, %%v%u, %u;", s->c, s->k);
  if (s->form & 1) {
    out(e, "{");
    for (unsigned i = 0; i < n; i++) out(e, ".param .%s b%u;", i == 6 ? e->mt : types[i], i);
    out(e, ".param .b64 r;");
    for (unsigned i = 0; i < n; i++) out(e, "st.param.%s [b%u+0], %s;", i == 6 ? e->mt : types[i], i, args[i]);
    out(e, n == 7 ? "call.uni (r), f%d, (b0, b1, b2, b3, b4, b5, b6);" : "call.uni (r), f%d, (b0, b1, b2, b3, b4, b5);",
        s->func);
    out(e, "ld.param.b64 %%x0, [r+0];");
    out(e, "}");
  } else {
    out(e, "call (%%x0), f%d, (%s, %s, %s, %s, %s, %s%s%s);", s->func, args[0], args[1], args[2], args[3], args[4],
        args[5], n == 7 ? ", " : "", n == 7 ? args[6] : "");
  }
  out(e, "mov.b64 {%%v%u, %%o}, %%x0;", s->d);
}

static void emit_return(struct emitter *e) {
  out(e, "mov.b64 %%x0, {%%v0, %%o};");
  out(e, "st.param.b64 [result], %%x0;");
  out(e, "ret;");
}

static void emit_graph(struct emitter *e, const struct stmt *s) {
  const struct graph *g = s->graph;
  unsigned end = ++e->labels, fuel = e->graphs++;
  out(e, "mov.b32 %%u%u, %u;", fuel, g->fuel);
  for (unsigned k = 0; k < g->nstages; k++) {
    const struct gstage *t = &g->stages[k];
    unsigned first = e->labels + 1, door = first + t->n, next = door + 2;
    e->labels = next;
    emit_cond(e, &t->entry);
    out(e, "@%%c0 bra L%u;", first + t->enter_yes);
    if (t->enter_no) out(e, "bra L%u;", first + t->enter_no);
    for (unsigned b = 0; b < t->n; b++) {
      const struct gblock *blk = &g->blocks[t->first + b];
      unsigned yes = blk->yes < 0 ? door + (unsigned)(-1 - blk->yes) : first + (unsigned)blk->yes;
      unsigned no = blk->no < 0 ? door + (unsigned)(-1 - blk->no) : first + (unsigned)blk->no;
      label(e, first + b);
      bool tracked = e->tracked;
      e->tracked = false;
      emit_list(e, &blk->body);
      e->tracked = tracked;
      out(e, "setp.le.u32 %%c0, %%u%u, 1;", fuel);
      out(e, "@%%c0 bra L%u;", door);
      out(e, "sub.u32 %%u%u, %%u%u, 1;", fuel, fuel);
      emit_cond(e, &blk->cond);
      out(e, "@%%c0 bra L%u;", yes);
      if (no != first + b + 1) out(e, "bra L%u;", no);
    }
    for (unsigned d = 0; d < 2; d++) {
      label(e, door + d);
      if (g->meet) {
        emit_cond(e, &t->pred);
        emit_ballot(e, "%k1", "%c0", e->level);
        emit_mask_to_wide(e, t->d, "%k1");
      }
      if (d == 0) out(e, "bra L%u;", next);
    }
    label(e, next);
  }
  label(e, end);
  e->graphs--;
}

static void emit_stmt(struct emitter *e, const struct stmt *s) {
  switch (s->kind) {
  case S_MASK:
  case S_BALLOT:
  case S_ABALLOT:
  case S_VOTE:
  case S_SHFL:
  case S_WARPX: emit_warp(e, s); break;
  case S_BLOCKX:
  case S_BARRED:
  case S_SHREAD:
  case S_HANDOVER: emit_block(e, s, true); break;
  case S_IF: emit_if(e, s); break;
  case S_MEET: emit_meet(e, s); break;
  case S_LOOP: emit_loop(e, s); break;
  case S_SWITCH: emit_switch(e, s); break;
  case S_CALL: emit_call(e, s); break;
  case S_GRAPH: emit_graph(e, s); break;
  case S_BREAK:
    emit_cond(e, &s->cond);
    emit_drop(e);
    out(e, "@%%c0 bra %s;", e->leave);
    break;
  case S_CONTINUE:
    emit_cond(e, &s->cond);
    out(e, "@%%c0 bra %s;", e->again);
    break;
  case S_EXIT:
    emit_cond(e, &s->cond);
    if (s->flag) {
      out(e, "and.b32 %%t0, %%v%u, 6;", s->cond.b);
      out(e, "setp.eq.u32 %%c1, %%t0, 6;");
      out(e, "and.pred %%c0, %%c0, %%c1;");
    }
    emit_drop(e);
    out(e, "@%%c0 exit;");
    break;
  case S_RET:
    emit_cond(e, &s->cond);
    emit_drop(e);
    if (s->form & 1) {
      unsigned skip = ++e->labels;
      out(e, "@!%%c0 bra L%u;", skip);
      emit_return(e);
      label(e, skip);
    } else {
      out(e, "@%%c0 bra RET%d;", e->func);
    }
    break;
  default: emit_plain(e, s);
  }
}

static void emit_list(struct emitter *e, const struct list *l) {
  for (const struct stmt *s = l->first; s; s = s->next) {
    if (s->dropped) continue;
    emit_stmt(e, s);
    if ((s->nsub || s->kind == S_CALL || s->kind == S_GRAPH) && e->tracked) {
      struct list one = {(struct stmt *)s, (struct stmt *)s};
      struct stmt alone = *s;
      alone.next = NULL;
      one.first = one.last = &alone;
      if (any(e, &one, false, q_exits)) emit_refresh(e);
    }
  }
}

/* ---- functions -------------------------------------------------------------------------------------------*/
static void emit_registers(struct emitter *e, const struct list *body) {
  out(e, ".reg .b32 %%v<%d>, %%t<4>, %%i<4>, %%n<4>, %%u<6>;", NV);
  out(e, ".reg .b32 %%th, %%ln, %%wp, %%gt, %%o, %%dp;");
  out(e, ".reg .b64 %%w<%d>, %%x<2>, %%mem, %%tr, %%pv;", NW);
  out(e, ".reg .%s %%m<12>, %%k<2>;", e->mt);
  out(e, ".reg .pred %%q<%d>, %%c<4>;", NQ);
  out(e, ".reg .f32 %%f<3>;");
  if (any(e, body, false, q_local)) out(e, ".local .align 16 .b8 loc[%d];", NLOC * 4);
}

static void emit_who(struct emitter *e) {
  out(e, "mov.u32 %%th, %%tid.x;");
  out(e, "mov.u32 %%t0, %%ctaid.x;");
  out(e, "mov.u32 %%t1, %%ntid.x;");
  out(e, "mad.lo.u32 %%gt, %%t0, %%t1, %%th;");
  out(e, "and.b32 %%ln, %%th, %u;", e->p->lanes - 1);
  out(e, "shr.u32 %%wp, %%th, %u;", e->p->lanes == 64 ? 6 : 5);
  out(e, "mad.wide.u32 %%pv, %%gt, %u, %%mem;", NPRIV * 4);
  out(e, "add.u64 %%pv, %%pv, %u;", e->at->priv);
}

static void emit_locals(struct emitter *e, const struct list *body, const char *base) {
  if (!any(e, body, false, q_local)) return;
  for (unsigned k = 0; k < NLOC; k++)
    out(e, "add.u32 %%t0, %s, %u;", base, k), out(e, "st.local.b32 [loc+%u], %%t0;", 4 * k);
}

static void emit_body(struct emitter *e, const struct list *body) {
  char *text;
  size_t size;
  e->late = open_memstream(&text, &size);
  if (!e->late) abort();
  e->level = e->loops = e->graphs = 0;
  e->tracked = needs_mask(e, body);
  emit_list(e, body);
  if (e->func) {
    fprintf(e->o, "RET%d:\n", e->func);
    emit_return(e);
  } else {
    emit_trace_address(e);
    for (unsigned k = 0; k < NV; k++) out(e, "st.global.b32 [%%x0+%u], %%v%u;", 4 * k, k);
    out(e, e->p->seed & 1 ? "ret;" : "exit;");
  }
  fclose(e->late);
  fwrite(text, 1, size, e->o);
  free(text);
  fprintf(e->o, "}\n\n");
}

static void emit_function(struct emitter *e, unsigned number) {
  const struct func *f = &e->p->funcs[number];
  e->func = (int)number;
  fprintf(e->o,
          ".func (.param .b64 result) f%u(.param .b64 a0, .param .b64 a1, .param .b32 a2, .param .b32 a3, .param .b32 "
          "a4, .param .b64 a5",
          number);
  if (f->cls != F_PLAIN) fprintf(e->o, ", .param .%s a6", e->mt);
  fprintf(e->o, ")\n{\n");
  emit_registers(e, &f->body);
  out(e, "ld.param.b64 %%mem, [a0];");
  out(e, "ld.param.b64 %%tr, [a1];");
  out(e, "ld.param.b32 %%o, [a2];");
  out(e, "ld.param.b32 %%dp, [a3];");
  out(e, "ld.param.b32 %%v0, [a4];");
  out(e, "ld.param.b64 %%w0, [a5];");
  if (f->cls != F_PLAIN) out(e, "ld.param.%s %%m0, [a6];", e->mt);
  emit_who(e);
  emit_locals(e, &f->body, "%v0");
  out(e, "cvt.u32.u64 %%t1, %%w0;");
  for (unsigned k = 1; k < NV; k++) {
    out(e, "mul.lo.u32 %%t2, %%t1, %u;", k);
    out(e, "mad.lo.u32 %%v%u, %%v0, %u, %%t2;", k, 2 * k + 1);
  }
  for (unsigned k = 1; k < NW; k++) out(e, "add.u64 %%w%u, %%w0, %u;", k, k);
  for (unsigned k = 0; k < NQ; k++) {
    out(e, "and.b32 %%t0, %%v0, %u;", 1u << k);
    out(e, "setp.ne.u32 %%q%u, %%t0, 0;", k);
  }
  emit_body(e, &f->body);
}

static void emit_kernel(struct emitter *e) {
  const struct program *p = e->p;
  const struct list *body = &p->funcs[0].body;
  e->func = 0;
  fprintf(e->o, ".visible .entry oracle(.param .u64 mem, .param .u64 trace)\n{\n");
  emit_registers(e, body);
  out(e, "ld.param.u64 %%mem, [mem];");
  out(e, "ld.param.u64 %%tr, [trace];");
  emit_who(e);
  out(e, "mad.wide.u32 %%tr, %%gt, %u, %%tr;", e->at->trace_stride);
  out(e, "mov.b32 %%o, 0;");
  out(e, "mov.b32 %%dp, 0;");
  for (unsigned k = 0; k < NV; k++) {
    out(e, "mul.lo.u32 %%t0, %%gt, %u;", p->v0[k][0]);
    out(e, "add.u32 %%t0, %%t0, %u;", p->v0[k][1]);
    out(e, "shr.u32 %%t1, %%t0, 15;");
    out(e, "xor.b32 %%v%u, %%t0, %%t1;", k);
  }
  for (unsigned k = 0; k < NW; k++) out(e, "mul.wide.u32 %%w%u, %%v%u, %%v%u;", k, k, k + 1);
  for (unsigned k = 0; k < NQ; k++) {
    out(e, "and.b32 %%t0, %%v%u, 128;", k);
    out(e, "setp.ne.u32 %%q%u, %%t0, 0;", k);
  }
  emit_locals(e, body, "%v0");
  if (needs_mask(e, body)) { /* the last warp may be short */
    unsigned rest = p->threads % p->lanes, last = p->threads / p->lanes;
    uint64_t full = p->lanes == 64 ? ~(uint64_t)0 : 0xFFFFFFFFu;
    out(e, "mov.%s %%m0, 0x%llX;", e->mt, (unsigned long long)full);
    if (rest) {
      out(e, "setp.eq.u32 %%c0, %%wp, %u;", last);
      out(e, "selp.%s %%m0, 0x%llX, %%m0, %%c0;", e->mt, (unsigned long long)(((uint64_t)1 << rest) - 1));
    }
  }
  if (any(e, body, true, q_shared)) {
    emit_shared_at(e, "sh", "%th");
    out(e, "st.shared.b32 [%%t0], %%v0;");
    out(e, "setp.eq.u32 %%c0, %%th, 0;");
    out(e, "mov.b32 %%t1, 0;");
    for (unsigned k = 0; k < NSHACC; k++) out(e, "@%%c0 st.shared.b32 [shacc+%u], %%t1;", 4 * k);
    emit_barrier(e, 0, true);
  }
  emit_body(e, body);
}

char *program_text(const struct program *p, const struct layout *at, const struct emit_options *opt, size_t *size) {
  struct emitter e = {.p = p, .at = at, .opt = *opt, .mt = p->lanes == 64 ? "b64" : "b32"};
  char *text;
  e.o = open_memstream(&text, size);
  if (!e.o) abort();
  fprintf(e.o, "// random divergent program, seed %llu, %u lanes, %u blocks of %u threads\n",
          (unsigned long long)p->seed, p->lanes, p->blocks, p->threads);
  fprintf(e.o, p->lanes == 64 ? ".version 9.0\n.target mx64\n.address_size 64\n\n"
                              : ".version 9.0\n.target sm_90\n.address_size 64\n\n");
  fprintf(e.o, ".shared .align 16 .b8 sh[%u];\n.shared .align 16 .b8 sh2[%u];\n.shared .align 16 .b8 shacc[%d];\n\n",
          p->threads * 4, p->threads * 4, NSHACC * 4);
  for (unsigned f = p->nfuncs; f-- > 1;) e.func_exits[f] = any(&e, &p->funcs[f].body, false, q_exits);
  for (unsigned f = p->nfuncs; f-- > 1;) emit_function(&e, f);
  emit_kernel(&e);
  fclose(e.o);
  return text;
}

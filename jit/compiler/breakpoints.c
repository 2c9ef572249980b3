/* Code for debugging sessions: it is left before certain instructions (stops), always or if a test holds in some lane,
 * and a table tells the session which slots have current values in the frame. The text of stops is
 * vm/debug/compiled.c's: "FUNC PC TEST;" for each. TEST is empty, or "all" where the session will evaluate a condition
 * that may read any register, or the steps of mx_debug_break_test; a test that cannot be parsed or built counts as
 * none: the code always leaves.
 *
 * At a stop the frame has the values of named registers even where they are dead, except values that other blocks of a
 * loop left in them: keeping such values alive costs the Mandelbrot loop a third of its time, keeping all others costs
 * nothing. */
#include "breakpoints.h"

#include "mx/debug.h"
#include "vm/exec/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 16 /* of a test's stack */

static uint64_t *set_new(const struct ja *a) {
  uint64_t *set = calloc(a->words, 8);
  if (!set) abort(); /* a process of its own */
  return set;
}

/* Calls f for each stop of the function: its number, its pc, its test. */
static void each_stop(const struct ja *a, void (*f)(void *user, unsigned number, uint32_t pc, const char *test),
                      void *user) {
  unsigned number = 0, func, pc;
  int n;
  for (const char *s = a->stops; s && *s; s += strcspn(s, ";"), s += *s == ';', number++)
    if (sscanf(s, "%u %u %n", &func, &pc, &n) == 2 && func == a->number) f(user, number, pc, s + n);
}

/* ---- what stays in the frame -------------------------------------------------------------------------------- */
/* By instruction: slots that may have been written on some path to it; all others are still as the frame began. */
static uint64_t *written_before(const struct ja *a) {
  uint64_t *in = calloc((size_t)a->nblocks * a->words + 1, 8), *all = calloc((size_t)a->nins * a->words + 1, 8),
           *now = set_new(a);
  if (!in || !all) abort();
  uint32_t s[JA_MAX_TOUCH];
  for (uint32_t k = 0; k < a->f->nargs; k++) { /* an argument of 128 bits is two slots */
    const unsigned cls = a->f->args[k].cls;
    ja_add(in, ja_slot(a, cls == MX_R128 ? MX_R64 : cls, a->f->args[k].slot));
    if (cls == MX_R128) ja_add(in, ja_slot(a, MX_R64, a->f->args[k].slot + 1u));
  }
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      memcpy(now, in + (size_t)b * a->words, 8 * a->words);
      for (uint32_t k = a->blocks[b].first; k < a->blocks[b].end; k++) {
        memcpy(all + (size_t)k * a->words, now, 8 * a->words);
        const uint32_t n = ja_defs(a, &a->ins[k], s);
        for (uint32_t m = 0; m < n; m++) ja_add(now, s[m]);
      }
      JA_FOR_SUCC(
          a, b, to, for (uint32_t w = 0; w < a->words; w++) {
            uint64_t *at = &in[(size_t)to * a->words + w];
            again |= (now[w] & ~*at) != 0;
            *at |= now[w];
          });
    }
  }
  free(in);
  free(now);
  return all;
}

/* By block: if it is a loop's header, the block behind the loop, otherwise the block itself. Edges lead forward, or to
 * headers. */
static uint32_t loop_end(const struct ja *a, uint32_t header) {
  uint32_t end = header;
  for (uint32_t b = header; b < a->nblocks; b++) JA_FOR_SUCC(a, b, to, if (to == header) end = b + 1);
  return end;
}
static void add_defs(const struct ja *a, const struct ja_ins *i, uint64_t *set, bool in) {
  uint32_t s[JA_MAX_TOUCH];
  const uint32_t n = ja_defs(a, i, s);
  for (uint32_t m = 0; m < n; m++) {
    if (in) ja_add(set, s[m]);
    else if (mx_w_guard(*i->w) == MX_GUARD_NONE) ja_del(set, s[m]);
  }
}
/* By instruction: slots that may hold a value which another block of a loop left there. */
static uint64_t *left_by_loops(const struct ja *a) {
  uint64_t *in = calloc((size_t)a->nblocks * a->words + 1, 8), *all = calloc((size_t)a->nins * a->words + 1, 8);
  if (!in || !all) abort();
  for (uint32_t b = 0, last = 0; b < a->nblocks; b++) { /* loops end before block `last` */
    uint64_t *now = in + (size_t)b * a->words;
    const struct ja_block *bl = &a->blocks[b];
    const uint32_t end = loop_end(a, b);
    if (end > last) last = end;
    for (uint32_t k = bl->first; end > b && k < a->blocks[end - 1].end; k++) add_defs(a, &a->ins[k], now, true);
    for (uint32_t k = bl->first; k < bl->end; k++) {
      memcpy(all + (size_t)k * a->words, now, 8 * a->words);
      add_defs(a, &a->ins[k], now, false);
    }
    for (uint32_t k = bl->first; b < last && k < bl->end; k++) add_defs(a, &a->ins[k], now, true);
    JA_FOR_SUCC(a, b, to, for (uint32_t w = 0; w < a->words && to > b; w++) in[(size_t)to * a->words + w] |= now[w]);
  }
  free(in);
  return all;
}

static void add_tested(const struct ja *a, const char *test, uint64_t *set) {
  unsigned slot, n;
  for (size_t end = strcspn(test, ";"), k = 0; k < end; k += strcspn(test + k, " ;") + 1)
    if (sscanf(test + k, "c%x%n", &slot, &n) == 1 && slot < a->nslots) ja_add(set, slot);
}

struct keeping {
  struct ja *a;
  const uint64_t *left_by_loops;
};
static void keep_names(void *user, unsigned number, uint32_t pc, const char *test) {
  const struct keeping *of = user;
  struct ja *a = of->a;
  const bool all = !strncmp(test, "all;", 4);
  (void)number;
  for (uint32_t k = 0; k < a->nins; k++) {
    if (a->ins[k].pc != pc) continue;
    uint64_t *keep = set_new(a);
    for (uint32_t n = 0; n < a->f->nnames; n++) {
      const struct mx_name *name = &a->f->names[n];
      if (name->lo > pc || pc >= name->hi || name->spilled) continue;
      ja_add(keep, ja_slot(a, name->cls == MX_R128 ? MX_R64 : name->cls, name->slot));
      if (name->cls == MX_R128) ja_add(keep, ja_slot(a, MX_R64, name->slot + 1u));
    }
    for (uint32_t w = 0; w < a->words; w++)
      keep[w] &= a->written[(size_t)k * a->words + w] & ~(all ? 0 : of->left_by_loops[(size_t)k * a->words + w]);
    add_tested(a, test, keep);
    for (uint32_t w = 0; a->ins[k].keep && w < a->words; w++)
      keep[w] |= a->ins[k].keep[w]; /* there may be another stop at the same place */
    a->ins[k].keep = keep;
  }
}

void bp_keep(struct ja *a) {
  a->written = written_before(a);
  struct keeping of = {a, left_by_loops(a)};
  each_stop(a, keep_names, &of);
}

void bp_export(struct lw *l, uint32_t number) {
  const struct ja *a = l->a;
  const size_t size = 8 * (size_t)a->f->ncode * a->words;
  uint64_t *all = calloc(size / 8 + 1, 8), *live = set_new(a);
  if (!all) abort();
  for (uint32_t b = 0; b < a->nblocks; b++) {
    memset(live, 0, 8 * a->words);
    ja_live_out(a, b, live);
    for (uint32_t k = a->blocks[b].end; k-- > a->blocks[b].first;) {
      ja_live_step(a, &a->ins[k], a->blocks[b].preserved, live);
      for (uint32_t w = 0; w < a->words; w++)
        all[(size_t)a->ins[k].pc * a->words + w] = live[w] | ~a->written[(size_t)k * a->words + w];
    }
  }
  char name[48];
  snprintf(name, sizeof name, "mx_jit_live_F%u", number);
  /* of a 64-bit integer gccjit 12 would write only half */
  gcc_jit_type *t = gcc_jit_context_new_array_type(l->j.c, NULL, l->j.t_u32, (int)(size / 4));
  gcc_jit_lvalue *g = gcc_jit_context_new_global(l->j.c, NULL, GCC_JIT_GLOBAL_EXPORTED, t, name);
  gcc_jit_global_set_initializer(g, all, size);
  free(all);
  free(live);
}

/* ---- tests ---------------------------------------------------------------------------------------------------*/
/* A value of all lanes: 64-bit integers, doubles, or truth values; registers keep their type until they are combined
 * with something else. */
struct value {
  jv c[LW_CHUNKS];
};
struct stack {
  struct value v[DEPTH];
  unsigned n;
  bool bad;
};

static struct value *push(struct stack *s) {
  if (s->n < DEPTH) return &s->v[s->n++];
  s->bad = true;
  return &s->v[0];
}
static struct value pop(struct stack *s) {
  if (s->n) return s->v[--s->n];
  s->bad = true;
  return s->v[0];
}

static bool is_truth(const struct value *v) { return v->c[0].t == MX_T_pred; }
static bool is_real(const struct value *v) { return jx_float(v->c[0].t); }

static double real_of(const struct value *constant) {
  double d;
  memcpy(&d, &constant->c[0].kv, sizeof d);
  return d;
}

static void as(struct lw *l, struct value *v, unsigned t) {
  if (v->c[0].t == t) return;
  const bool number = v->c[0].k && v->c[0].t == MX_T_f64;
  const double d = number ? real_of(v) : 0;
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = number ? jv_kf(&l->j, t, d) : jv_cvt(&l->j, t, v->c[c].t, v->c[c]);
}
static void to_truth(struct lw *l, struct value *v) {
  for (unsigned c = 0; c < l->nc; c++)
    if (!is_truth(v)) v->c[c] = jv_cmp(&l->j, JX_NE, v->c[c].t, v->c[c], jv_k(&l->j, v->c[c].t, 0));
}

static void constant(struct lw *l, struct stack *s, unsigned t, uint64_t bits) {
  struct value *v = push(s);
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = jv_k(&l->j, t, bits);
}

static void of_register(struct lw *l, struct stack *s, const char *word) {
  unsigned slot, type;
  if (sscanf(word, "c%x.%x", &slot, &type) != 2 || slot >= l->a->nslots || type >= MX_T_raw ||
      !(type == MX_T_pred || jx_float(type) || jx_bitsof(type) >= 32)) {
    s->bad = true;
    return;
  }
  if (!jx_float(type) && !jx_signed(type) && type != MX_T_pred) type = jx_wide(type) ? MX_T_u64 : MX_T_u32;
  struct value *v = push(s);
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = jx_trim(&l->j, lw_get(l, slot, type, c));
}

/* Registers of 32 bits are compared in 32 bits, also with constants that fit. */
static unsigned common(struct value *x, struct value *y) {
  const unsigned t = x->c[0].t, u = y->c[0].t;
  for (int k = 0; k < 2; k++) {
    const struct value *one = k ? x : y, *number = k ? y : x;
    if (one->c[0].t == MX_T_f32 && number->c[0].t == MX_T_f64 && number->c[0].k &&
        (float)real_of(number) == real_of(number))
      return MX_T_f32;
  }
  if (is_real(x) || is_real(y)) return t == u ? t : MX_T_f64;
  if (t == u && !is_truth(x)) return t;
  for (int k = 0; k < 2; k++) {
    const struct value *one = k ? x : y, *number = k ? y : x;
    const int64_t n = (int64_t)number->c[0].kv;
    if (!number->c[0].k || number->c[0].t != MX_T_s64) continue;
    if (one->c[0].t == MX_T_u32 && n >= 0 && n <= UINT32_MAX) return MX_T_u32;
    if (one->c[0].t == MX_T_s32 && n >= INT32_MIN && n <= INT32_MAX) return MX_T_s32;
  }
  return t == MX_T_u64 || u == MX_T_u64 ? MX_T_u64 : MX_T_s64;
}

static void compare(struct lw *l, struct stack *s, enum jx_cmp op, bool as_unsigned) {
  struct value y = pop(s), x = pop(s), *v = push(s);
  unsigned t = common(&x, &y);
  as(l, &x, t), as(l, &y, t);
  if (jx_wide(t) && !jx_float(t)) t = as_unsigned ? MX_T_u64 : MX_T_s64;
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = jv_cmp(&l->j, op, t, x.c[c], y.c[c]);
}

static void calculate(struct lw *l, struct stack *s, enum jx_bin op) {
  struct value y = pop(s), x = pop(s), *v = push(s);
  const unsigned t = is_real(&x) || is_real(&y) ? MX_T_f64 : MX_T_s64;
  if (t == MX_T_f64 && op >= JX_AND) s->bad = true;
  as(l, &x, t), as(l, &y, t);
  if (!s->bad)
    for (unsigned c = 0; c < l->nc; c++) v->c[c] = jv_bin(&l->j, op, t, x.c[c], y.c[c]);
}

static void of_truths(struct lw *l, struct stack *s, enum jx_bin op) {
  struct value y = pop(s), x = pop(s), *v = push(s);
  to_truth(l, &x), to_truth(l, &y);
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = jv_bin(&l->j, op, MX_T_pred, x.c[c], y.c[c]);
}

static void not(struct lw * l, struct stack *s) {
  struct value x = pop(s), *v = push(s);
  to_truth(l, &x);
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = jv_bin(&l->j, JX_XOR, MX_T_pred, x.c[c], jv_k(&l->j, MX_T_pred, 1));
}

static void any(struct lw *l, struct stack *s) {
  struct jx *j = &l->j;
  struct value x = pop(s), *v = push(s);
  gcc_jit_rvalue *m[LW_CHUNKS];
  to_truth(l, &x);
  for (unsigned c = 0; c < l->nc; c++)
    m[c] = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_mask, x.c[c].r[0], lw_lanes(l, c));
  gcc_jit_rvalue *yes = jx_keep(j, j->isa->mask_fill(j, gcc_jit_context_new_cast(j->c, NULL, lw_any(l, m), j->t_u64)));
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = (jv){.t = MX_T_pred, .u = true, .r = {yes, yes}};
}

static gcc_jit_rvalue *special(struct lw *l, unsigned sreg) {
  return jx_rv(lw_field(l, l->x, MX_AT(exec, sreg) + 8ull * sreg, l->j.t_u64));
}
static void scalar(struct lw *l, struct stack *s, gcc_jit_rvalue *r) {
  struct value *v = push(s);
  const jv one = jv_as(&l->j, MX_T_s64, jv_broadcast(&l->j, MX_T_u64, r));
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = one;
}
static void block_number(struct lw *l, struct stack *s) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *n = special(l, MX_SR_CTAID_Z);
  for (unsigned d = 2; d--;) {
    n = jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, n, special(l, MX_SR_NCTAID_X + d));
    n = jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, n, special(l, MX_SR_CTAID_X + d));
  }
  scalar(l, s, n);
}
static void lane_numbers(struct lw *l, struct stack *s) {
  struct value *v = push(s);
  for (unsigned c = 0; c < l->nc; c++) v->c[c] = lw_lane_numbers(l, c, UINT32_MAX, 0);
}

static void evaluate(struct lw *l, struct stack *s, unsigned op) {
  static const enum jx_cmp cmp[] = {JX_EQ, JX_NE, JX_LT, JX_LE, JX_GT, JX_GE};
  static const enum jx_bin bin[] = {JX_ADD, JX_SUB, JX_MUL, JX_AND, JX_OR, JX_XOR};
  switch (op) {
  case MX_DEBUG_TEST_ADD ... MX_DEBUG_TEST_BITS_XOR: calculate(l, s, bin[op - MX_DEBUG_TEST_ADD]); break;
  case MX_DEBUG_TEST_EQ ... MX_DEBUG_TEST_GE: compare(l, s, cmp[op - MX_DEBUG_TEST_EQ], false); break;
  case MX_DEBUG_TEST_LT_UNSIGNED ... MX_DEBUG_TEST_GE_UNSIGNED:
    compare(l, s, cmp[op - MX_DEBUG_TEST_LT_UNSIGNED + 2], true);
    break;
  case MX_DEBUG_TEST_AND: of_truths(l, s, JX_AND); break;
  case MX_DEBUG_TEST_OR: of_truths(l, s, JX_OR); break;
  case MX_DEBUG_TEST_NOT: not(l, s); break;
  case MX_DEBUG_TEST_ANY: any(l, s); break;
  case MX_DEBUG_TEST_BLOCK: block_number(l, s); break;
  case MX_DEBUG_TEST_WARP: scalar(l, s, special(l, MX_SR_WARPID)); break;
  case MX_DEBUG_TEST_LANE: lane_numbers(l, s); break;
  default: s->bad = true;
  }
}

struct here {
  struct lw *l;
  gcc_jit_rvalue *leaves;
};

static void build_stop(void *user, unsigned number, uint32_t pc, const char *test) {
  struct here *h = user;
  struct lw *l = h->l;
  struct jx *j = &l->j;
  struct stack s = {.bad = false};
  if (pc != l->ins->pc) return;
  for (size_t end = strcspn(test, ";"), k = 0; k < end && !s.bad; k += strcspn(test + k, " ;") + 1) {
    const char *w = test + k;
    if (*w == 'c') of_register(l, &s, w);
    else if (*w == 'i') constant(l, &s, MX_T_s64, strtoull(w + 1, NULL, 16));
    else if (*w == 'r') constant(l, &s, MX_T_f64, strtoull(w + 1, NULL, 16));
    else if (*w == 'o') evaluate(l, &s, (unsigned)strtoul(w + 1, NULL, 16));
    else s.bad = true;
  }
  s.bad |= j->bad;
  j->bad = false;
  gcc_jit_rvalue *on =
      jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, jx_rv(lw_field(l, l->x, MX_AT(exec, stops), j->t_u64)),
            jx_int(j, j->t_u64, 1ull << number % 64));
  on = lw_compare(l, GCC_JIT_COMPARISON_NE, on, lw_u64(l, 0));
  if (s.n == 1 && !s.bad) {
    gcc_jit_rvalue *m[LW_CHUNKS];
    to_truth(l, &s.v[0]);
    for (unsigned c = 0; c < l->nc; c++)
      m[c] = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_mask, s.v[0].c[c].r[0], jx_rv(l->cm[c]));
    on = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_bool, on, lw_any(l, m));
  }
  h->leaves = lw_either(l, h->leaves, on);
}

gcc_jit_rvalue *bp_leaves(struct lw *l) {
  struct here h = {l, NULL};
  each_stop(l->a, build_stop, &h);
  return h.leaves;
}

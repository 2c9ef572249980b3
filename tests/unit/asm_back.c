/* The assembler's back: meeting points of hand-made graphs against a definition, allocation against an independent
 * liveness, and random programs run twice, on virtual registers and from the words. */
#include "failing.h"

#include "asm/arena.c"
#undef malloc
#undef calloc
#undef realloc

#include "asm/back.h"
#include "vm/verify.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static uint64_t random_state;
static uint32_t random_below(uint32_t n) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (uint32_t)((random_state * 0x2545F4914F6CDD1Du >> 33) % n);
}
static bool chance(uint32_t percent) { return random_below(100) < percent; }

static struct mx_arena arena;
static jmp_buf no_memory;
static void open_arena(void) {
  arena = (struct mx_arena){.oom = &no_memory};
  if (setjmp(no_memory)) fail_msg("out of memory");
}

/* ---- graphs ------------------------------------------------------------------------------------------ */

/* By definition: m post-dominates b if without m no path leads from b to the exit. */
static bool reaches_exit_without(const struct cfg *g, uint32_t b, uint32_t without) {
  bool *seen = calloc(g->nblocks + 1, 1);
  uint32_t *work = calloc(g->nblocks + 1, sizeof *work), n = 0;
  if (b != without) work[n++] = b, seen[b] = true;
  while (n && !seen[g->nblocks]) {
    uint32_t x = work[--n];
    for (uint32_t i = g->succ_at[x]; i < g->succ_at[x + 1]; i++)
      if (g->succ[i] != without && !seen[g->succ[i]]) seen[g->succ[i]] = true, work[n++] = g->succ[i];
  }
  bool reached = seen[g->nblocks];
  free(seen), free(work);
  return reached;
}

static uint32_t ipdom_by_definition(const struct cfg *g, uint32_t b) {
  uint32_t best = g->nblocks;
  for (uint32_t m = 0; m < g->nblocks; m++) {
    if (m == b || reaches_exit_without(g, b, m)) continue;
    /* The nearest is the one that all others post-dominate. */
    if (best == g->nblocks || !reaches_exit_without(g, m, best)) best = m;
  }
  return best;
}

static void check_graph(uint32_t nblocks, const struct cfg_edge *edges, uint32_t nedges) {
  struct cfg *g = mx__cfg_link(&arena, nblocks, edges, nedges);
  uint32_t *ipdom = mx__cfg_postdominators(&arena, g);
  bool endless = false;
  for (uint32_t b = 0; b < nblocks; b++) endless |= !reaches_exit_without(g, b, IR_NONE);
  for (uint32_t b = 0; b < nblocks; b++) {
    assert_true(ipdom[b] <= nblocks && ipdom[b] != b);
    if (!endless) assert_int_equal(ipdom[b], ipdom_by_definition(g, b));
    if (endless && reaches_exit_without(g, b, IR_NONE)) assert_true(!reaches_exit_without(g, b, ipdom[b]) || ipdom[b] == nblocks);
  }
}

#define GRAPH(n_, want_, ...)                                                                                       \
  do {                                                                                                              \
    struct cfg_edge edges_[] = {__VA_ARGS__};                                                                       \
    struct cfg *g_ = mx__cfg_link(&arena, n_, edges_, sizeof edges_ / sizeof *edges_);                              \
    uint32_t *ipdom_ = mx__cfg_postdominators(&arena, g_);                                                          \
    const uint32_t wanted_[] = want_;                                                                               \
    for (uint32_t b_ = 0; b_ < (n_); b_++) assert_int_equal(ipdom_[b_], wanted_[b_]);                               \
  } while (0)
#define WANT(...) {__VA_ARGS__}

static void test_graphs(void **state) {
  (void)state;
  open_arena();
  GRAPH(1, WANT(1), {0, 1});
  GRAPH(4, WANT(3, 3, 3, 4), {0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4});                    /* diamond */
  GRAPH(3, WANT(1, 2, 3), {0, 1}, {1, 1}, {1, 2}, {2, 3});                               /* loop of one block */
  GRAPH(4, WANT(4, 3, 4, 4), {0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 4});                    /* an end on one side */
  GRAPH(5, WANT(3, 3, 3, 4, 5), {0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}, {1, 3}, {3, 4}, {4, 5}, {0, 3}); /* irreducible */
  /* an endless loop with a diamond inside: its branch still meets in the loop */
  GRAPH(5, WANT(1, 4, 4, 4, 5), {0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 1});
  /* a branch into an endless loop or to the end; the block after the end is never reached */
  GRAPH(4, WANT(4, 4, 4, 2), {0, 1}, {0, 2}, {1, 1}, {2, 4}, {3, 2});
  /* two endless loops, one inside the other's way out */
  GRAPH(4, WANT(1, 2, 3, 4), {0, 1}, {1, 1}, {1, 2}, {2, 3}, {3, 2});
  mx__arena_free(&arena);
}

static void test_random_graphs(void **state) {
  (void)state;
  random_state = 42;
  for (int t = 0; t < 2000; t++) {
    open_arena();
    uint32_t n = 1 + random_below(14), m = 0;
    struct cfg_edge edges[64];
    for (uint32_t b = 0; b < n; b++) {
      for (uint32_t k = random_below(4); k > 0; k--) edges[m++] = (struct cfg_edge){b, random_below(n + 1)};
      if (chance(60)) edges[m++] = (struct cfg_edge){b, b + 1};
    }
    check_graph(n, edges, m);
    mx__arena_free(&arena);
  }
}

/* Graphs on which simpler algorithms take quadratic time: chains that meet far away. */
static void test_long_graph(void **state) {
  (void)state;
  open_arena();
  enum { HALF = 200000 };
  struct cfg_edge *edges = calloc(3 * HALF + 2, sizeof *edges);
  uint32_t m = 0;
  for (uint32_t b = 0; b < HALF; b++) {
    edges[m++] = (struct cfg_edge){b, HALF};             /* every block of the first chain may go to the second's head */
    edges[m++] = (struct cfg_edge){b, b + 1 < HALF ? b + 1 : 2 * HALF - 1};
    edges[m++] = (struct cfg_edge){HALF + b, HALF + b + 1};
  }
  struct cfg *g = mx__cfg_link(&arena, 2 * HALF, edges, m);
  uint32_t *ipdom = mx__cfg_postdominators(&arena, g);
  for (uint32_t b = 0; b < HALF; b++) assert_int_equal(ipdom[b], 2 * HALF - 1);
  free(edges);
  mx__arena_free(&arena);
}

/* ---- building functions by hand ------------------------------------------------------------------------ */

struct build {
  struct ir_module m;
  struct ir_func f[2];   /* the function at hand, and one that it calls */
  uint32_t capacity, label_capacity;
};

static void begin(struct build *b) {
  memset(b, 0, sizeof *b);
  static const char *files[] = {"test.mxs"};
  b->m = (struct ir_module){.lanes = 64, .address_size = 64, .funcs = b->f, .nfuncs = 2, .files = files, .nfiles = 1};
  b->f[0].name = "under_test", b->f[1].name = "callee";
  b->f[0].loc.line = b->f[1].loc.line = 1;
  b->f[0].regs = calloc(4096, sizeof(struct ir_reg));
  b->f[1].regs = calloc(64, sizeof(struct ir_reg));
}

static void end(struct build *b) {
  for (int i = 0; i < 2; i++) {
    struct ir_func *f = &b->f[i];
    for (uint32_t k = 0; k < f->ninsns; k++) free(f->insns[k].opnds);
    for (uint32_t k = 0; k < f->ntables; k++) free(f->tables[k].labels);
    free(f->regs), free(f->insns), free(f->labels), free(f->tables), free(f->args), free(f->results);
  }
}

static uint32_t new_reg(struct ir_func *f, uint8_t type) {
  f->regs[f->nregs] = (struct ir_reg){.name = "%x", .type = type, .fixed = -1};
  return f->nregs++;
}

static struct ir_opnd reg(uint32_t r) { return (struct ir_opnd){.kind = IR_REG, .reg = r, .raw = 77}; }
static struct ir_opnd value(uint64_t v) { return (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = v}}; }

static struct ir_insn *add_insn(struct build *b, uint16_t op, uint32_t n, const struct ir_opnd *opnds) {
  struct ir_func *f = &b->f[0];
  if (f->ninsns == b->capacity) {
    b->capacity = b->capacity ? b->capacity * 2 : 64;
    f->insns = realloc(f->insns, b->capacity * sizeof *f->insns);
  }
  struct ir_insn *in = &f->insns[f->ninsns++];
  *in = (struct ir_insn){.op = op, .guard = IR_NONE, .target = IR_NONE, .reconv = IR_NONE, .nopnds = n,
                         .loc = {.line = f->ninsns + 1}};
  in->opnds = calloc(n + 1, sizeof *opnds);
  if (n) memcpy(in->opnds, opnds, n * sizeof *opnds);
  return in;
}
#define ADD(b_, op_, ...) \
  add_insn(b_, op_, sizeof((struct ir_opnd[]){__VA_ARGS__}) / sizeof(struct ir_opnd), (struct ir_opnd[]){__VA_ARGS__})

static uint32_t add_label(struct build *b) {
  struct ir_func *f = &b->f[0];
  if (f->nlabels == b->label_capacity) {
    b->label_capacity = b->label_capacity ? b->label_capacity * 2 : 64;
    f->labels = realloc(f->labels, b->label_capacity * sizeof *f->labels);
  }
  f->labels[f->nlabels] = (struct ir_label){.name = "L", .insn = f->ninsns};
  return f->nlabels++;
}

static struct ir_insn *add_bra(struct build *b, uint32_t guard, uint32_t label) {
  struct ir_insn *in = add_insn(b, MX_BRA, 0, NULL);
  in->guard = guard, in->target = label;
  return in;
}

static struct mx_image image;
static struct mx_diags diags;
static bool assemble(struct build *b) {
  diags = (struct mx_diags){.arena = &arena};
  memset(&image, 0, sizeof image);
  bool ok = mx__asm_back(&arena, &diags, &b->m, &image);
  assert_true(ok == (diags.errors == 0));
  char *why = NULL;
  if (ok && mx__verify(&image, &why) != MX__LOAD_OK) fail_msg("%s", why);
  free(why);
  return ok;
}

/* ---- two simple machines, one lane each ---------------------------------------------------------------- */

struct val { uint64_t lo, hi; };

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

static struct val trimmed(struct val v, uint8_t type) {
  uint8_t bits = mx__types[type].bits;
  if (bits < 64) v.lo &= (UINT64_C(1) << bits) - 1;
  if (bits < 128) v.hi = 0;
  return v;
}

/* What an instruction does here: rows that the back itself rewrites or inserts do what they say, all others mix their
 * inputs into their outputs, and those without outputs leave a trace. */
struct trace { uint64_t *list; uint32_t n, capacity; };
static void leave(struct trace *t, uint64_t h) {
  if (t->n == t->capacity) {
    t->capacity = t->capacity ? t->capacity * 2 : 256;
    t->list = realloc(t->list, t->capacity * sizeof *t->list);
  }
  t->list[t->n++] = h;
}

static void evaluate(uint16_t op, uint8_t mod, uint32_t nopnds, const uint8_t *types, const bool *outs, struct val *v,
                     struct trace *t) {
  for (uint32_t k = 0; k < nopnds; k++) {
    if (!outs[k] && types[k] != MX_T_off) v[k] = trimmed(v[k], types[k]);
    if (types[k] == MX_T_off) v[k - 1].lo += v[k].lo, v[k].lo = 0, v[k - 1] = trimmed(v[k - 1], types[k - 1]);
  }
  switch (op) {
  case MX_MOV_16: case MX_MOV_32: case MX_MOV_64: v[0] = trimmed(v[1], types[0]); return;
  case MX_ADD_U32: case MX_ADD_U64: v[0].lo = v[1].lo + v[2].lo, v[0] = trimmed(v[0], types[0]); return;
  case MX_PACK_64: v[0] = (struct val){v[1].lo | v[2].lo << 32, 0}; return;
  default: break;
  }
  uint64_t h = mix(op, mod);
  bool any_out = false;
  for (uint32_t k = 0; k < nopnds; k++)
    if (!outs[k]) h = mix(mix(h, v[k].lo), v[k].hi);
  for (uint32_t k = 0; k < nopnds; k++)
    if (outs[k]) any_out = true, v[k] = trimmed((struct val){mix(h, k), mix(h, k + 100)}, types[k]);
  if (!any_out) leave(t, h);
}

enum { MOST_OPERANDS = 600 };

/* On virtual registers. */
static bool run_virtual(const struct build *b, uint32_t steps, const struct val *args, struct trace *t) {
  const struct ir_func *f = &b->f[0];
  struct val *regs = calloc(f->nregs + 1, sizeof *regs), v[MOST_OPERANDS];
  uint8_t types[MOST_OPERANDS];
  bool outs[MOST_OPERANDS], ended = false;
  for (uint32_t i = 0; i < f->nargs; i++) regs[f->args[i]] = trimmed(args[i], f->regs[f->args[i]].type);
  for (uint32_t pc = 0; steps; steps--) {
    if (pc >= f->ninsns || f->insns[pc].op == MX_RET) {
      for (uint32_t i = 0; i < f->nresults; i++) leave(t, mix(regs[f->results[i]].lo, regs[f->results[i]].hi));
      ended = true;
      break;
    }
    const struct ir_insn *in = &f->insns[pc++];
    if (in->guard != IR_NONE && (regs[in->guard].lo & 1) == in->guard_neg) continue;
    if (in->op == MX_EXIT) {
      ended = true;
      break;
    }
    if (in->op == MX_BRA) {
      pc = f->labels[in->target].insn;
      continue;
    }
    for (uint32_t k = 0; k < in->nopnds; k++) {
      const struct ir_opnd *o = &in->opnds[k];
      v[k] = o->kind == IR_REG ? regs[o->reg] : o->kind == IR_LIT ? (struct val){o->lit.value, 0} : (struct val){o->raw, 0};
      outs[k] = in->op == MX_CALL ? k < in->nres : mx__ops[in->op].opnd[k].role == MX_OUT;
      if (in->op != MX_CALL) types[k] = mx__ops[in->op].opnd[k].type;
      else types[k] = b->f[1].regs[k < in->nres ? b->f[1].results[k] : b->f[1].args[k - in->nres]].type;
    }
    if (in->op == MX_BRX) {
      pc = f->labels[f->tables[in->table].labels[(uint32_t)v[0].lo % f->tables[in->table].nlabels]].insn;
      continue;
    }
    evaluate(in->op, in->mod, in->nopnds, types, outs, v, t);
    for (uint32_t k = 0; k < in->nopnds; k++)
      if (outs[k]) regs[in->opnds[k].reg] = v[k];
  }
  free(regs);
  return ended;
}

/* On slots and cells, from the words. */
struct frame { uint64_t r32[MX_MAX_SLOTS], r64[MX_MAX_SLOTS], pred[MX_MAX_PREDS], *cells[3]; };

static struct val get_slot(const struct frame *s, const struct mx_func *f, uint8_t class, uint32_t field) {
  switch (class) {
  case MX_PRED: assert_in_range(field, 0, f->npred - 1); return (struct val){s->pred[field], 0};
  case MX_R32: assert_in_range(field, 0, f->n32 - 1); return (struct val){s->r32[field], 0};
  case MX_R64: assert_in_range(field, 0, f->n64 - 1); return (struct val){s->r64[field], 0};
  default:
    assert_true(field % 2 == 0 && field + 1 < f->n64);
    return (struct val){s->r64[field], s->r64[field + 1]};
  }
}

static void set_slot(struct frame *s, const struct mx_func *f, uint8_t class, uint32_t field, struct val v) {
  (void)get_slot(s, f, class, field);
  switch (class) {
  case MX_PRED: s->pred[field] = v.lo; break;
  case MX_R32: s->r32[field] = v.lo; break;
  case MX_R64: s->r64[field] = v.lo; break;
  default: s->r64[field] = v.lo, s->r64[field + 1] = v.hi;
  }
}

static bool run_words(const struct build *b, const struct mx_func *f, uint32_t steps, const struct val *args, struct trace *t) {
  struct frame *s = calloc(1, sizeof *s);
  uint32_t ncells[3] = {f->nspillpred, f->nspill32, f->nspill64};
  struct val v[MOST_OPERANDS];
  uint8_t types[MOST_OPERANDS];
  bool outs[MOST_OPERANDS], ended = false;
  for (int c = 0; c < 3; c++) s->cells[c] = calloc(ncells[c] + 1u, sizeof *s->cells[c]);
  for (uint32_t i = 0; i < f->nargs; i++)
    set_slot(s, f, f->args[i].cls, f->args[i].slot, trimmed(args[i], b->f[0].regs[b->f[0].args[i]].type));
  for (uint32_t pc = 0; steps; steps--) {
    assert_in_range(pc, 0, f->ncode - 1);
    const mx_word *w = &f->code[pc];
    unsigned op = mx_w_op(*w), guard = mx_w_guard(*w);
    pc += mx_w_length(*w);
    bool off = guard != MX_GUARD_NONE && (get_slot(s, f, MX_PRED, guard).lo & 1) == mx_w_guard_neg(*w);
    if (off) continue;
    if (op == MX_RET) {
      for (uint32_t i = 0; i < f->nresults; i++) {
        struct val x = get_slot(s, f, f->results[i].cls, f->results[i].slot);
        leave(t, mix(x.lo, x.hi));
      }
      ended = true;
      break;
    }
    if (op == MX_EXIT) {
      ended = true;
      break;
    }
    if (op == MX_BRA) {
      pc = mx_w_target(*w);
      continue;
    }
    if (op == MX_MOVI_32 || op == MX_MOVI_64) {
      uint64_t x = op == MX_MOVI_64 ? (uint64_t)(int64_t)(int32_t)mx_w_movi(*w) : mx_w_movi(*w);
      set_slot(s, f, op == MX_MOVI_64 ? MX_R64 : MX_R32, mx_w_field(*w, 0), (struct val){x, 0});
      continue;
    }
    if (mx__insn_is_spill((uint16_t)op) || mx__insn_is_fill((uint16_t)op)) {
      bool fill = mx__insn_is_fill((uint16_t)op);
      uint8_t class = mx__types[mx__ops[op].opnd[fill ? 0 : 2].type].slot_class;
      uint32_t cell = mx_w_field(*w, fill) | mx_w_field(*w, fill + 1u) << 10, slot = mx_w_field(*w, fill ? 0 : 2);
      uint64_t *at = &s->cells[class == MX_PRED ? 0 : class == MX_R32 ? 1 : 2][cell];
      assert_true(cell < ncells[class == MX_PRED ? 0 : class == MX_R32 ? 1 : 2]);
      if (fill) set_slot(s, f, class, slot, (struct val){*at, 0});
      else *at = get_slot(s, f, class, slot).lo;
      continue;
    }
    uint32_t n = op == MX_CALL ? mx_w_nres(*w) + mx_w_narg(*w) : mx__ops[op].nopnds, first = op == MX_CALL ? 4 : 0;
    for (uint32_t k = 0; k < n; k++) {
      unsigned field = mx_w_operand(w, k + first);
      outs[k] = op == MX_CALL ? k < mx_w_nres(*w) : mx__ops[op].opnd[k].role == MX_OUT;
      if (op != MX_CALL) types[k] = mx__ops[op].opnd[k].type;
      else types[k] = b->f[1].regs[k < mx_w_nres(*w) ? b->f[1].results[k] : b->f[1].args[k - mx_w_nres(*w)]].type;
      uint8_t class = mx__types[types[k]].slot_class;
      if (class == MX_NOCLASS && types[k] != MX_T_off) v[k] = (struct val){field, 0};
      else if (field >= MX_LIT) assert_in_range(field - MX_LIT, 0, f->nlits - 1), v[k] = (struct val){f->lits[field - MX_LIT].value, 0};
      else v[k] = get_slot(s, f, class, field);
      assert_false(outs[k] && field >= MX_LIT);
    }
    if (op == MX_BRX) {
      const struct mx_table *table = &f->tables[v[1].lo];
      pc = table->targets[(uint32_t)v[0].lo % table->ntargets];
      continue;
    }
    evaluate((uint16_t)op, (uint8_t)mx_w_mod(*w), n, types, outs, v, t);
    for (uint32_t k = 0; k < n; k++)
      if (outs[k]) set_slot(s, f, mx__types[types[k]].slot_class, mx_w_operand(w, k + first), v[k]);
  }
  for (int c = 0; c < 3; c++) free(s->cells[c]);
  free(s);
  return ended;
}

/* Same inputs, same traces. */
static void compare_runs(const struct build *b) {
  for (int lane = 0; lane < 3; lane++) {
    struct val args[64];
    for (uint32_t i = 0; i < 64; i++) args[i] = (struct val){mix(i, random_state + (uint64_t)lane), mix(i, random_state + 7)};
    struct trace want = {0}, got = {0};
    bool ended = run_virtual(b, 3000, args, &want);
    bool ended_too = run_words(b, &image.funcs[0], 60000, args, &got);
    assert_true(!ended || ended_too);
    assert_true(ended ? got.n == want.n : got.n >= want.n);
    for (uint32_t i = 0; i < want.n; i++) assert_true(got.list[i] == want.list[i]);
    free(want.list), free(got.list);
  }
}

/* ---- random programs ----------------------------------------------------------------------------------- */

static const uint8_t type_of_class[] = {[MX_PRED] = MX_T_pred, [MX_R32] = MX_T_b32, [MX_R64] = MX_T_b64, [MX_R128] = MX_T_b128};

/* Registers by class: a stretch of them is in use at a time, so that values die now and then. */
struct stock { uint32_t first, count, window, at; };
static uint32_t pick(struct stock *s) {
  if (chance(5)) s->at = random_below(s->count);
  return s->first + (s->at + random_below(s->window < s->count ? s->window : s->count)) % s->count;
}

static bool usable(uint16_t op) {
  const struct mx_op_info *o = &mx__ops[op];
  if (o->cls == MX_CTRL || o->flags & (MX_F_BRANCH | MX_F_CALL | MX_F_MOVI | MX_F_END)) return false;
  if (o->flags & MX_F_W32 || mx__insn_is_spill(op) || mx__insn_is_fill(op)) return false;
  return true;
}

static bool is_sreg(uint16_t op) { return op == MX_SREG_PRED || op == MX_SREG_32 || op == MX_SREG_64; }
static uint32_t sreg_like(uint32_t r, const struct ir_func *f) {
  uint8_t class = mx__types[f->regs[r].type].slot_class;
  return class == MX_PRED ? MX_SR_IS_EXPLICIT_CLUSTER : class == MX_R32 ? MX_SR_TID_X : MX_SR_CLOCK64;
}

static void random_function(struct build *b, const uint32_t counts[4], uint32_t window, uint32_t nblocks, uint32_t block_length) {
  begin(b);
  struct ir_func *f = &b->f[0], *callee = &b->f[1];
  struct stock stock[4];
  for (int c = 0; c < 4; c++) {
    stock[c] = (struct stock){f->nregs, counts[c], window, 0};
    for (uint32_t i = 0; i < counts[c]; i++) new_reg(f, type_of_class[c]);
  }
  f->args = calloc(40, sizeof *f->args), f->results = calloc(40, sizeof *f->results);
  callee->args = calloc(40, sizeof *f->args), callee->results = calloc(40, sizeof *f->results);
  for (uint32_t k = random_below(12); k > 0; k--) callee->args[callee->nargs++] = new_reg(callee, type_of_class[random_below(4)]);
  for (uint32_t k = random_below(6); k > 0; k--) callee->results[callee->nresults++] = new_reg(callee, type_of_class[random_below(4)]);
  for (uint32_t c = 0; c < 4; c++)
    for (uint32_t k = random_below(8); k > 0 && k <= counts[c]; k--) f->args[f->nargs++] = stock[c].first + k - 1;
  for (uint32_t k = random_below(12); k > 0; k--) f->results[f->nresults++] = pick(&stock[random_below(4)]);
  f->tables = calloc(nblocks + 1, sizeof *f->tables);
  for (uint32_t k = 0; k < nblocks; k++) add_label(b);

  for (uint32_t k = 0; k < nblocks; k++) {
    f->labels[k].insn = f->ninsns;
    for (uint32_t i = random_below(block_length); i > 0;) {
      uint16_t op = chance(10) ? MX_MOV_32 : chance(10) ? MX_MOV_64 : (uint16_t)random_below(MX_OP_COUNT);
      if (chance(3)) {
        struct ir_opnd o[64];
        uint32_t n = 0;
        for (uint32_t r = 0; r < callee->nresults; r++) o[n++] = reg(pick(&stock[mx__types[callee->regs[callee->results[r]].type].slot_class]));
        for (uint32_t r = 0; r < callee->nargs; r++) {
          uint8_t class = mx__types[callee->regs[callee->args[r]].type].slot_class;
          o[n++] = class != MX_R128 && chance(20) ? value(random_below(3)) : reg(pick(&stock[class]));
        }
        struct ir_insn *in = add_insn(b, MX_CALL, n, o);
        in->callee = 1, in->nres = callee->nresults;
        i--;
        continue;
      }
      if (!usable(op)) continue;
      const struct mx_op_info *info = &mx__ops[op];
      struct ir_opnd o[MX_MAX_OPNDS];
      for (uint32_t n = 0; n < info->nopnds; n++) {
        uint8_t type = info->opnd[n].type, class = mx__types[type].slot_class;
        if (type == MX_T_off) o[n] = value((uint64_t)random_below(100) - 50);
        else if (is_sreg(op) && n) o[n] = (struct ir_opnd){.kind = IR_RAW, .raw = sreg_like(o[0].reg, f)};
        else if (class == MX_NOCLASS) o[n] = (struct ir_opnd){.kind = IR_RAW, .raw = random_below(16)};
        else if (info->opnd[n].role == MX_OUT || class == MX_R128 || chance(85)) o[n] = reg(pick(&stock[class]));
        else o[n] = value(chance(50) ? random_below(100) : chance(50) ? ~(uint64_t)random_below(100) : mix(1, random_below(40)));
      }
      struct ir_insn *in = add_insn(b, op, info->nopnds, o);
      in->mod = (uint8_t)random_below(info->mods ? info->mods : 1);
      if (!(info->flags & MX_F_NOGUARD) && chance(20)) in->guard = pick(&stock[MX_PRED]), in->guard_neg = chance(50);
      i--;
    }
    uint32_t to = chance(70) ? k + random_below(nblocks - k) : random_below(nblocks);
    if (chance(60)) {
      add_bra(b, pick(&stock[MX_PRED]), to)->guard_neg = chance(50);
    } else if (chance(20)) {
      add_bra(b, IR_NONE, to);
    } else if (chance(20)) {
      struct ir_table *t = &f->tables[f->ntables];
      t->labels = calloc(8, sizeof *t->labels);
      for (t->nlabels = 0; t->nlabels < 1 + random_below(7); t->nlabels++) t->labels[t->nlabels] = random_below(nblocks);
      ADD(b, MX_BRX, reg(pick(&stock[MX_R32])))->table = f->ntables++;
    } else if (chance(10)) {
      add_insn(b, MX_RET, 0, NULL);
    } else if (chance(10)) {
      add_insn(b, MX_EXIT, 0, NULL)->guard = pick(&stock[MX_PRED]);
    }
  }
}

static void random_programs(uint32_t count, uint64_t seed, const uint32_t counts[4], uint32_t window, uint32_t nblocks,
                            uint32_t block_length, bool one_slot_per_name) {
  random_state = seed;
  for (uint32_t t = 0; t < count; t++) {
    struct build b;
    open_arena();
    random_function(&b, counts, window, nblocks, block_length);
    b.m.one_slot_per_name = one_slot_per_name;
    assert_true(assemble(&b));
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
}

static void test_random_programs(void **state) {
  (void)state;
  random_programs(400, 1, (uint32_t[]){6, 12, 8, 3}, 6, 8, 10, false);
  random_programs(100, 2, (uint32_t[]){20, 60, 40, 10}, 20, 30, 12, false);
  random_programs(100, 3, (uint32_t[]){6, 12, 8, 3}, 6, 8, 10, true);
}

static void test_random_programs_that_spill(void **state) {
  (void)state;
  random_programs(60, 4, (uint32_t[]){60, 60, 40, 10}, 60, 20, 20, false);
  random_programs(12, 5, (uint32_t[]){80, 1200, 700, 150}, 1200, 40, 80, false);
  random_programs(12, 6, (uint32_t[]){80, 900, 700, 150}, 30, 60, 60, false);
  random_programs(6, 7, (uint32_t[]){80, 900, 700, 150}, 30, 60, 60, true);
}

/* ---- allocation against liveness computed another way ---------------------------------------------------- */

/* Bit sets over registers, one for each instruction, iterated until nothing changes. */
static bool *alive_before(const struct ir_func *f) {
  uint32_t n = f->ninsns, nregs = f->nregs;
  bool *alive = calloc((size_t)(n + 1) * nregs + 1, 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = n; i-- > 0;) {
      const struct ir_insn *in = &f->insns[i];
      bool *now = calloc(nregs + 1, 1);
      bool guarded = in->guard != IR_NONE;
      if (guarded || (in->op != MX_BRA && in->op != MX_BRX && in->op != MX_RET && in->op != MX_EXIT))
        for (uint32_t r = 0; r < nregs; r++) now[r] |= alive[(size_t)(i + 1) * nregs + r];
      if (in->op == MX_BRA)
        for (uint32_t r = 0; r < nregs; r++) now[r] |= alive[(size_t)f->labels[in->target].insn * nregs + r];
      if (in->op == MX_BRX)
        for (uint32_t k = 0; k < f->tables[in->table].nlabels; k++)
          for (uint32_t r = 0; r < nregs; r++)
            now[r] |= alive[(size_t)f->labels[f->tables[in->table].labels[k]].insn * nregs + r];
      if (in->op == MX_RET)
        for (uint32_t k = 0; k < f->nresults; k++) now[f->results[k]] = true;
      for (uint32_t k = 0; k < in->nopnds && !guarded; k++)
        if (in->opnds[k].kind == IR_REG && mx__insn_writes(in, k)) now[in->opnds[k].reg] = false;
      for (uint32_t k = 0; k < in->nopnds; k++)
        if (in->opnds[k].kind == IR_REG && !mx__insn_writes(in, k)) now[in->opnds[k].reg] = true;
      if (guarded) now[in->guard] = true;
      if (memcmp(now, alive + (size_t)i * nregs, nregs)) memcpy(alive + (size_t)i * nregs, now, nregs), changed = true;
      free(now);
    }
  }
  return alive;
}

/* The slot of each register, read from the words; the code must be the instructions one by one. */
static uint32_t *slots_from_words(const struct ir_func *f, const struct mx_func *out) {
  uint32_t *slot = malloc((f->nregs + 1) * sizeof *slot), pc = 0;
  memset(slot, 0xFF, (f->nregs + 1) * sizeof *slot);
  for (uint32_t i = 0; i < f->ninsns; i++) {
    const struct ir_insn *in = &f->insns[i];
    const mx_word *w = &out->code[pc];
    for (uint32_t k = 0; k < in->nopnds; k++) {
      if (in->opnds[k].kind != IR_REG) continue;
      uint32_t at = mx_w_operand(w, k + (in->op == MX_CALL ? 4 : 0)), r = in->opnds[k].reg;
      assert_true(slot[r] == UINT32_MAX || slot[r] == at);
      slot[r] = at;
    }
    if (in->guard != IR_NONE) slot[in->guard] = mx_w_guard(*w);
    pc += mx_w_length(*w);
  }
  for (uint32_t i = 0; i < f->nargs; i++) slot[f->args[i]] = out->args[i].slot;
  for (uint32_t i = 0; i < f->nresults; i++) slot[f->results[i]] = out->results[i].slot;
  return slot;
}

static bool share(const struct ir_func *f, const uint32_t *slot, uint32_t x, uint32_t y) {
  if (slot[x] == UINT32_MAX || slot[y] == UINT32_MAX || mx__type_file(f->regs[x].type) != mx__type_file(f->regs[y].type)) return false;
  return slot[x] < slot[y] + mx__type_width(f->regs[y].type) && slot[y] < slot[x] + mx__type_width(f->regs[x].type);
}

static void check_sharing(const struct ir_func *f, const struct mx_func *out) {
  bool *alive = alive_before(f);
  uint32_t *slot = slots_from_words(f, out);
  for (uint32_t x = 0; x < f->nregs; x++)
    for (uint32_t y = 0; y < x; y++) {
      if (!share(f, slot, x, y)) continue;
      for (uint32_t i = 0; i < f->ninsns; i++) assert_false(alive[(size_t)i * f->nregs + x] && alive[(size_t)i * f->nregs + y]);
    }
  /* A write must not hurt a value alive after it, even if nobody reads what is written. */
  for (uint32_t i = 0; i + 1 < f->ninsns; i++)
    for (uint32_t k = 0; k < f->insns[i].nopnds; k++) {
      if (f->insns[i].opnds[k].kind != IR_REG || !mx__insn_writes(&f->insns[i], k)) continue;
      uint32_t x = f->insns[i].opnds[k].reg;
      for (uint32_t y = 0; y < f->nregs; y++)
        if (y != x && share(f, slot, x, y)) assert_false(alive[(size_t)(i + 1) * f->nregs + y]);
    }
  free(alive), free(slot);
}

static void test_sharing(void **state) {
  (void)state;
  random_state = 11;
  for (int t = 0; t < 150; t++) {
    struct build b;
    open_arena();
    random_function(&b, (uint32_t[]){10, 30, 20, 6}, 5, 8, 10);
    add_insn(&b, MX_RET, 0, NULL);
    assert_true(assemble(&b));
    assert_int_equal(image.funcs[0].nspill32 + image.funcs[0].nspill64 + image.funcs[0].nspillpred, 0);
    check_sharing(&b.f[0], &image.funcs[0]);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* Reconvergence points in words, by definition, on the graph of single instructions. */
static void test_reconvergence(void **state) {
  (void)state;
  random_state = 12;
  for (int t = 0; t < 200; t++) {
    struct build b;
    open_arena();
    random_function(&b, (uint32_t[]){4, 8, 4, 2}, 4, 6, 4);
    add_insn(&b, MX_RET, 0, NULL);
    assert_true(assemble(&b));
    const struct ir_func *f = &b.f[0];
    const struct mx_func *out = &image.funcs[0];
    uint32_t n = f->ninsns, m = 0, *pc = calloc(n + 1, sizeof *pc);
    struct cfg_edge *edges = calloc((size_t)n * 10, sizeof *edges);
    for (uint32_t i = 0; i < n; i++) {
      const struct ir_insn *in = &f->insns[i];
      pc[i + 1] = pc[i] + mx_w_length(out->code[pc[i]]);
      if (in->op == MX_BRA) edges[m++] = (struct cfg_edge){i, f->labels[in->target].insn};
      if (in->op == MX_BRX)
        for (uint32_t k = 0; k < f->tables[in->table].nlabels; k++)
          edges[m++] = (struct cfg_edge){i, f->labels[f->tables[in->table].labels[k]].insn};
      if (mx__ops[in->op].flags & MX_F_END && in->op != MX_BRX) edges[m++] = (struct cfg_edge){i, n};
      if (!mx__insn_ends(in)) edges[m++] = (struct cfg_edge){i, i + 1};
    }
    struct cfg *g = mx__cfg_link(&arena, n, edges, m);
    bool endless = false;
    for (uint32_t i = 0; i < n; i++) endless |= !reaches_exit_without(g, i, IR_NONE);
    for (uint32_t i = 0; i < n && !endless; i++) {
      const struct ir_insn *in = &f->insns[i];
      mx_word w = out->code[pc[i]];
      uint32_t want = ipdom_by_definition(g, i);
      want = want == n ? MX_PC_RET : pc[want];
      if (in->op == MX_BRA) assert_int_equal(mx_w_reconv(w), in->guard == IR_NONE ? MX_PC_RET : want);
      if (in->op == MX_BRX) assert_int_equal(mx_w_field(w, 2) | mx_w_field(w, 3) << 10, want);
    }
    free(pc), free(edges);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* ---- pressure and limits ------------------------------------------------------------------------------- */

/* `count` values of a type made first and used afterwards, under guards too. */
static void many_values(struct build *b, uint8_t type, uint32_t count) {
  begin(b);
  uint32_t first = b->f[0].nregs;
  for (uint32_t i = 0; i < count; i++) new_reg(&b->f[0], type);
  uint32_t d = new_reg(&b->f[0], MX_T_b32), p = new_reg(&b->f[0], MX_T_pred), x = new_reg(&b->f[0], MX_T_b64);
  ADD(b, MX_MOV_64, reg(x), value(5));
  uint16_t load = type == MX_T_b32 ? MX_LD_B32 : type == MX_T_b64 ? MX_LD_B64 : MX_LD_B128;
  for (uint32_t i = 0; i < count; i++) {
    if (type == MX_T_pred) ADD(b, MX_VOTE_ACTIVE, reg(first + i), reg(i ? first + i - 1 : p));
    else ADD(b, load, reg(first + i), reg(x), value(i));
  }
  uint32_t top = add_label(b);
  for (uint32_t i = 0; i < count; i++) {
    uint16_t store = type == MX_T_b32 ? MX_ST_B32 : type == MX_T_b64 ? MX_ST_B64 : MX_ST_B128;
    if (type == MX_T_pred) ADD(b, MX_MOV_32, reg(d), value(i))->guard = first + i;
    else ADD(b, store, reg(x), value(0), reg(first + i));
    ADD(b, MX_ST_B32, reg(x), value(4), reg(d));
  }
  ADD(b, MX_VOTE_ACTIVE, reg(p), reg(p));
  add_bra(b, p, top);
}

static void test_pressure(void **state) {
  (void)state;
  static const struct { uint8_t type; uint32_t count; } cases[] = {
    {MX_T_pred, 31}, {MX_T_pred, 60}, {MX_T_b32, 1000}, {MX_T_b64, 511}, {MX_T_b64, 1000}, {MX_T_b128, 400}, {MX_T_b32, 3000},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct build b;
    open_arena();
    many_values(&b, cases[i].type, cases[i].count);
    assert_true(assemble(&b));
    const struct mx_func *f = &image.funcs[0];
    assert_true(f->npred <= MX_MAX_PREDS && f->n32 <= MX_MAX_SLOTS && f->n64 <= MX_MAX_SLOTS);
    uint32_t cells = (uint32_t)f->nspillpred + f->nspill32 + f->nspill64;
    uint32_t need = cases[i].count * mx__type_width(cases[i].type), room = cases[i].type == MX_T_pred ? 31 : 512;
    if (need + 1 > room) assert_in_range(cells, need - room, need - room + 64);
    else assert_int_equal(cells, 0);
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
}

static void expect_refusal(struct build *b, const char *id) {
  assert_false(assemble(b));
  assert_string_equal(diags.list[0].id, id);
  end(b);
  mx__arena_free(&arena);
}

static void test_refusals(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b); /* more arguments than slots */
  b.f[0].args = calloc(600, sizeof *b.f[0].args);
  for (uint32_t i = 0; i < 600; i++) b.f[0].args[b.f[0].nargs++] = new_reg(&b.f[0], MX_T_b32);
  expect_refusal(&b, "too-many-values");

  open_arena(), begin(&b); /* a call with more predicates than there are */
  struct ir_opnd o[40];
  b.f[1].args = calloc(40, sizeof *b.f[1].args);
  for (uint32_t i = 0; i < 40; i++) {
    o[i] = reg(new_reg(&b.f[0], MX_T_pred));
    b.f[1].args[b.f[1].nargs++] = new_reg(&b.f[1], MX_T_pred);
  }
  add_insn(&b, MX_CALL, 40, o)->callee = 1;
  expect_refusal(&b, "too-many-values");

  open_arena(), begin(&b); /* addresses that cannot be made by instructions */
  struct mx_var vars[600] = {{0}};
  b.m.vars = vars, b.m.nvars = 600;
  uint32_t d = new_reg(&b.f[0], MX_T_b64);
  for (uint32_t i = 0; i < 600; i++)
    ADD(&b, MX_MOV_64, reg(d), (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VAR, .index = i}});
  expect_refusal(&b, "too-many-literals");

  open_arena(), begin(&b);
  b.f[1].declared_only = true;
  add_insn(&b, MX_CALL, 0, NULL)->callee = 1;
  expect_refusal(&b, "undefined-function");
}

static void test_many_literals(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  struct mx_var vars[100];
  for (int i = 0; i < 100; i++) vars[i] = (struct mx_var){.name = "v", .space = MX_GLOBAL, .align = 4, .size = 4};
  b.m.vars = vars, b.m.nvars = 0;
  uint32_t d = new_reg(&b.f[0], MX_T_b64), e = new_reg(&b.f[0], MX_T_b32), p = new_reg(&b.f[0], MX_T_pred);
  for (uint32_t i = 0; i < 800; i++) {
    ADD(&b, MX_MOV_64, reg(d), value(mix(3, i)));
    ADD(&b, MX_ADD_U64, reg(d), reg(d), value(mix(4, i)))->guard = p;
    ADD(&b, MX_ST_B32, reg(d), value(i * 4), value(i + 1000));
    ADD(&b, MX_LD_B32, reg(e), value(i), value(~(uint64_t)i));
    ADD(&b, MX_ST_B32_A32, reg(e), value(i * 8 + 1), reg(e));
    ADD(&b, MX_VOTE_ACTIVE, reg(p), value(i & 1));
  }
  assert_true(assemble(&b));
  assert_int_equal(image.funcs[0].nlits, MX_MAX_LITS);
  compare_runs(&b);
  end(&b);
  mx__arena_free(&arena);
}
int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_graphs),
    cmocka_unit_test(test_random_graphs),
    cmocka_unit_test(test_long_graph),
    cmocka_unit_test(test_random_programs),
    cmocka_unit_test(test_random_programs_that_spill),
    cmocka_unit_test(test_sharing),
    cmocka_unit_test(test_reconvergence),
    cmocka_unit_test(test_pressure),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_many_literals),
  };
  return cmocka_run_group_tests_name("asm_back", tests, NULL, NULL);
}

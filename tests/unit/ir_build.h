/* For tests of the assembler's back: functions built by hand or at random, assembled and verified; and by definition,
 * where diverged lanes meet. */
#ifndef MX_TEST_IR_BUILD_H
#define MX_TEST_IR_BUILD_H
#include "asm/back/back.h"
#include "vm/load/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* no test needs all of it */

static uint64_t random_state;
static uint32_t random_below(uint32_t n) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (uint32_t)((random_state * 0x2545F4914F6CDD1Du >> 33) % n);
}
static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
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

/* ---- building functions by hand ------------------------------------------------------------------------ */

struct build {
  struct ir_module m;
  struct ir_func f[2]; /* the function at hand, and one that it calls */
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
static struct ir_opnd value(uint64_t v) {
  return (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = v}};
}

static struct ir_insn *add_insn(struct build *b, uint16_t op, uint32_t n, const struct ir_opnd *opnds) {
  struct ir_func *f = &b->f[0];
  if (f->ninsns == b->capacity) {
    b->capacity = b->capacity ? b->capacity * 2 : 64;
    f->insns = realloc(f->insns, b->capacity * sizeof *f->insns);
  }
  struct ir_insn *in = &f->insns[f->ninsns++];
  *in = (struct ir_insn){
      .op = op, .guard = IR_NONE, .target = IR_NONE, .reconv = IR_NONE, .nopnds = n, .loc = {.line = f->ninsns + 1}};
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

/* ---- random programs ----------------------------------------------------------------------------------- */

static const uint8_t type_of_class[] = {
    [MX_PRED] = MX_T_pred, [MX_R32] = MX_T_b32, [MX_R64] = MX_T_b64, [MX_R128] = MX_T_b128};

/* Registers by class: a stretch of them is in use at a time, so that values die now and then. */
struct stock {
  uint32_t first, count, window, at;
};
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
/* A number that an operand of the range may be. */
static uint32_t raw_like(const struct mx_range *r) {
  if (!r->step) return (uint32_t)r->least << random_below(1u + (unsigned)__builtin_ctz(r->most / r->least));
  const uint32_t numbers = (r->most - r->least) / r->step + 1u;
  return r->least + r->step * random_below(numbers < 16 ? numbers : 16);
}

static uint32_t sreg_like(uint32_t r, const struct ir_func *f) {
  uint8_t class = mx__types[f->regs[r].type].slot_class;
  return class == MX_PRED ? MX_SR_IS_EXPLICIT_CLUSTER : class == MX_R32 ? MX_SR_TID_X : MX_SR_CLOCK64;
}

static void random_function(struct build *b, const uint32_t counts[4], uint32_t window, uint32_t nblocks,
                            uint32_t block_length) {
  begin(b);
  struct ir_func *f = &b->f[0], *callee = &b->f[1];
  struct stock stock[4];
  for (int c = 0; c < 4; c++) {
    stock[c] = (struct stock){f->nregs, counts[c], window, 0};
    for (uint32_t i = 0; i < counts[c]; i++) new_reg(f, type_of_class[c]);
  }
  f->args = calloc(40, sizeof *f->args), f->results = calloc(40, sizeof *f->results);
  callee->args = calloc(40, sizeof *f->args), callee->results = calloc(40, sizeof *f->results);
  for (uint32_t k = random_below(12); k > 0; k--)
    callee->args[callee->nargs++] = new_reg(callee, type_of_class[random_below(4)]);
  for (uint32_t k = random_below(6); k > 0; k--)
    callee->results[callee->nresults++] = new_reg(callee, type_of_class[random_below(4)]);
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
        for (uint32_t r = 0; r < callee->nresults; r++)
          o[n++] = reg(pick(&stock[mx__types[callee->regs[callee->results[r]].type].slot_class]));
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
        else if (class == MX_NOCLASS)
          o[n] = (struct ir_opnd){.kind = IR_RAW, .raw = raw_like(&mx__ranges[info->opnd[n].range])};
        else if (info->opnd[n].role == MX_OUT || class == MX_R128 || chance(85)) o[n] = reg(pick(&stock[class]));
        else
          o[n] = value(chance(50)   ? random_below(100)
                       : chance(50) ? ~(uint64_t)random_below(100)
                                    : mix(1, random_below(40)));
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
      for (t->nlabels = 0; t->nlabels < 1 + random_below(7); t->nlabels++)
        t->labels[t->nlabels] = random_below(nblocks);
      ADD(b, MX_BRX, reg(pick(&stock[MX_R32])))->table = f->ntables++;
    } else if (chance(10)) {
      add_insn(b, MX_RET, 0, NULL);
    } else if (chance(10)) {
      add_insn(b, MX_EXIT, 0, NULL)->guard = pick(&stock[MX_PRED]);
    }
  }
}

#endif

/* Valid images from a seed, for the tests of container, verifier and disassembler: every row of the table, with random
 * operands, beside variables, functions, tables, names and lines. One header because only these tests share it. */
#ifndef MX_TEST_IMAGES_H
#define MX_TEST_IMAGES_H
#include "core/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct made {
  struct mx_image image;
  struct made_block *blocks;
  uint64_t state;
};
struct made_block {
  struct made_block *next;
  uint64_t at[];
};

static void *made_take(struct made *m, size_t size) {
  struct made_block *b = calloc(1, sizeof *b + size + 8);
  b->next = m->blocks;
  m->blocks = b;
  return b->at;
}

static void made_free(struct made *m) {
  for (struct made_block *b = m->blocks, *next; b; b = next) next = b->next, free(b);
}

static uint64_t made_random(struct made *m) { /* splitmix64 */
  uint64_t z = m->state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
static uint32_t made_below(struct made *m, uint32_t n) { return (uint32_t)(made_random(m) % n); }

static const char *made_name(struct made *m, const char *stem, uint32_t n) {
  char *s = made_take(m, 64);
  snprintf(s, 64, "%s%u", stem, n);
  return s;
}

/* A function in the making: buffers are larger than anything that the makers put into them. */
struct maker {
  struct made *m;
  struct mx_func *f;
  mx_word *code;
  struct mx_lit *lits;
  uint32_t *starts, nstarts; /* first words of instructions, to patch branches to later */
};
#define MAKER_CODE 200000u
#define MAKER_N32 40u
#define MAKER_N64 20u
#define MAKER_NPRED 9u

static struct maker maker_begin(struct made *m, struct mx_func *f, const char *name) {
  struct maker k = {.m = m, .f = f};
  k.code = made_take(m, MAKER_CODE * sizeof *k.code);
  k.starts = made_take(m, MAKER_CODE * sizeof *k.starts);
  k.lits = made_take(m, 2 * MX_MAX_LITS * sizeof *k.lits);
  f->name = name;
  f->n32 = MAKER_N32;
  f->n64 = MAKER_N64;
  f->npred = MAKER_NPRED;
  f->nspill32 = 5;
  f->nspill64 = 3;
  f->nspillpred = 2;
  f->code = k.code;
  f->lits = k.lits;
  return k;
}

/* The field of a literal; literals are numbered as they are first used. */
static unsigned maker_lit(struct maker *k, unsigned kind, uint32_t index, uint64_t value) {
  uint32_t n = 0;
  while (n < k->f->nlits && (k->lits[n].kind != kind || k->lits[n].index != index || k->lits[n].value != value)) n++;
  if (n == MX_MAX_LITS) n = made_below(k->m, 8);
  else if (n == k->f->nlits) k->lits[k->f->nlits++] = (struct mx_lit){(uint8_t)kind, index, value};
  return MX_LIT + n;
}

static unsigned maker_slot(struct maker *k, unsigned cls) {
  switch (cls) {
  case MX_PRED: return made_below(k->m, MAKER_NPRED);
  case MX_R32: return made_below(k->m, MAKER_N32);
  case MX_R64: return made_below(k->m, MAKER_N64);
  default: return made_below(k->m, MAKER_N64 / 2) * 2;
  }
}

/* Few enough values that a function never runs out of literals. */
static unsigned maker_value(struct maker *k, unsigned bits) {
  static const uint64_t values[] = {
      0,      1,      5,  0x3F800000, 0x3FF0000000000000, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFF0,
      0x8000, 0xBEEF, 77, 200,        0x7FFFFFFF12345678, 0x40490FDB, 0x400921FB54442D18};
  uint64_t v = values[made_below(k->m, sizeof values / sizeof *values)];
  if (bits < 64) v &= ((uint64_t)1 << bits) - 1;
  return maker_lit(k, MX_LIT_VALUE, 0, v);
}

/* A slot, or a literal as texts may have it: no address is a float, nothing lies at a function's, and where an access
 * is generic, so is its variable's address (no row has a generic space with a modifier of 4 and more). */
enum maker_use { MAKER_VALUE, MAKER_GENERIC, MAKER_BASE };
static unsigned maker_in(struct maker *k, unsigned type, enum maker_use use) {
  unsigned cls = mx__types[type].slot_class, bits = mx__types[type].bits;
  uint32_t dice = made_below(k->m, 16);
  if (cls != MX_R128 && dice < 4) return maker_value(k, bits);
  if (cls != MX_R64 || type == MX_T_f64) return maker_slot(k, cls);
  if (dice == 4 && use != MAKER_GENERIC)
    return maker_lit(k, MX_LIT_VAR, made_below(k->m, k->m->image.nvars), made_below(k->m, 3) * 8);
  if (dice == 5)
    return maker_lit(k, MX_LIT_GENERIC, made_below(k->m, k->m->image.nvars), 0 - (uint64_t)made_below(k->m, 2) * 4);
  if (dice == 6 && use == MAKER_VALUE) return maker_lit(k, MX_LIT_FUNC, 0, 0);
  return maker_slot(k, cls);
}

static void maker_begin_insn(struct maker *k) { k->starts[k->nstarts++] = k->f->ncode; }

static mx_word maker_head(struct maker *k, unsigned op, unsigned mod) {
  bool guarded = !(mx__ops[op].flags & MX_F_NOGUARD) && !made_below(k->m, 4);
  return guarded ? mx_w_make(op, made_below(k->m, MAKER_NPRED), made_below(k->m, 2), mod)
                 : mx_w_make(op, MX_GUARD_NONE, false, mod);
}

static void maker_fields(struct maker *k, mx_word w, const unsigned *field, unsigned n) {
  maker_begin_insn(k);
  mx_word *at = &k->code[k->f->ncode];
  *at = w;
  k->f->ncode++;
  for (unsigned x = 4; x < n; x += MX_EXT_FIELDS) k->code[k->f->ncode++] = 0;
  for (unsigned x = 0; x < n; x++) mx_w_set_operand(at, x, field[x]);
}

/* Reads the function's own first instruction as target until maker_end patches it. */
static void maker_branch(struct maker *k) {
  maker_begin_insn(k);
  k->code[k->f->ncode++] = maker_head(k, MX_BRA, 0);
}

static void maker_call(struct maker *k, unsigned op, uint32_t callee, const uint8_t *res, unsigned nres,
                       const uint8_t *arg, unsigned narg) {
  static const uint8_t types[] = {MX_T_pred, MX_T_b32, MX_T_b64, MX_T_b128};
  unsigned field[64] = {0};
  for (unsigned x = 0; x < nres; x++) field[4 + x] = maker_slot(k, res[x]);
  for (unsigned x = op == MX_CALLI; x < narg; x++) field[4 + nres + x] = maker_in(k, types[arg[x]], MAKER_VALUE);
  if (op == MX_CALLI)
    field[4 + nres] = maker_slot(k, MX_R64); /* through a register: else the text says a direct call */
  field[0] = callee & 1023;
  field[1] = callee >> 10;
  field[2] = nres;
  field[3] = narg;
  maker_fields(k, mx_w_make(op, MX_GUARD_NONE, false, 0), field, 4 + nres + narg);
}

static unsigned maker_sreg(struct maker *k, unsigned cls) {
  for (;;) {
    unsigned n = made_below(k->m, MX_SR_COUNT);
    if (mx__types[mx__sregs[n].type].slot_class == cls) return n;
  }
}

static void maker_row(struct maker *k, unsigned op, unsigned mod) {
  const struct mx_op_info *o = &mx__ops[op];
  unsigned field[MX_MAX_OPNDS];
  if (o->flags & MX_F_BRANCH) {
    maker_branch(k);
    return;
  }
  if (o->flags & MX_F_CALL) return; /* made apart, with what they call */
  if (o->flags & MX_F_MOVI) {
    maker_begin_insn(k);
    unsigned cls = mx__types[o->opnd[0].type].slot_class;
    k->code[k->f->ncode++] =
        maker_head(k, op, 0) | mx_w_put_movi(maker_slot(k, cls), (uint32_t)made_random(k->m) >> made_below(k->m, 32));
    return;
  }
  for (unsigned x = 0; x < o->nopnds; x++) {
    const struct mx_type_info *t = &mx__types[o->opnd[x].type];
    if (o->opnd[x].type == MX_T_raw) {
      const struct mx_range *r = &mx__ranges[o->opnd[x].range];
      if (!r->step)
        field[x] = (unsigned)r->least << made_below(
                       k->m, 1u + (unsigned)__builtin_ctz(r->most / r->least)); /* powers of two */
      else
        field[x] =
            r->least +
            (o->opnd[x].range == MX_RANGE_FIELD ? 0 : r->step * made_below(k->m, (r->most - r->least) / r->step + 1u));
    } else if (o->opnd[x].type == MX_T_off)
      field[x] = maker_lit(k, MX_LIT_VALUE, 0, (uint64_t)made_below(k->m, 5) * 4 - 8);
    else if (o->opnd[x].role == MX_OUT || op == MX_BRX) field[x] = maker_slot(k, t->slot_class);
    else if (x + 1 == o->nopnds || o->opnd[x + 1].type != MX_T_off)
      field[x] = maker_in(k, o->opnd[x].type, MAKER_VALUE);
    else
      field[x] = maker_in(k, o->opnd[x].type, mod < 4 || !strstr(o->spelling, ".global") ? MAKER_GENERIC : MAKER_BASE);
  }
  if (op == MX_SREG_PRED || op == MX_SREG_32 || op == MX_SREG_64)
    field[1] = maker_sreg(k, mx__types[o->opnd[0].type].slot_class);
  if (op == MX_SPILL_PRED || op == MX_SPILL_32 || op == MX_SPILL_64) field[0] = made_below(k->m, 2);
  if (op == MX_FILL_PRED || op == MX_FILL_32 || op == MX_FILL_64) field[1] = made_below(k->m, 2);
  maker_fields(k, maker_head(k, op, mod), field, o->nopnds);
}

static void maker_end(struct maker *k) {
  struct mx_func *f = k->f;
  struct made *m = k->m;
  maker_fields(k, mx_w_make(MX_RET, MX_GUARD_NONE, false, 0), NULL, 0);
  struct mx_table *tables = made_take(m, k->nstarts * sizeof *tables);
  f->tables = tables;
  for (uint32_t s = 0; s < k->nstarts; s++) {
    mx_word *w = &k->code[k->starts[s]];
    uint32_t target = k->starts[made_below(m, k->nstarts)];
    uint32_t reconv = made_below(m, 3) ? k->starts[made_below(m, k->nstarts)] : MX_PC_RET;
    if (mx__ops[mx_w_op(*w)].flags & MX_F_BRANCH) *w |= mx_w_put_branch(target, reconv);
    if (mx_w_op(*w) != MX_BRX) continue;
    *w |= mx_w_put(1, f->ntables) | mx_w_put(2, reconv & 1023) | mx_w_put(3, reconv >> 10);
    uint32_t *targets = made_take(m, 5 * sizeof *targets);
    for (uint32_t x = 0; x < 5; x++) targets[x] = k->starts[made_below(m, k->nstarts)];
    tables[f->ntables++] = (struct mx_table){targets, 5};
  }
  struct mx_line *lines = made_take(m, k->nstarts * sizeof *lines);
  struct mx_name *names = made_take(m, k->nstarts * sizeof *names);
  struct mx_label *labels = made_take(m, k->nstarts * sizeof *labels);
  uint32_t line = 10;
  for (uint32_t s = 0; s < k->nstarts; s++) {
    line += made_below(m, 8) ? 1 : made_below(m, 40);
    if (made_below(m, 4))
      lines[f->nlines++] = (struct mx_line){k->starts[s], made_below(m, 20) ? 0 : 1, made_below(m, 50) ? line : 0};
    if (!made_below(m, 3)) {
      uint32_t hi = k->starts[s] + made_below(m, f->ncode - k->starts[s] + 1);
      bool spilled = !made_below(m, 10);
      names[f->nnames++] = (struct mx_name){made_name(m, "%r", f->nnames),
                                            MX_R32,
                                            made_below(m, 2) ? MX_T_u32 : MX_T_f16,
                                            spilled,
                                            (uint16_t)(spilled ? made_below(m, 5) : maker_slot(k, MX_R32)),
                                            k->starts[s],
                                            hi};
    }
    if (!made_below(m, 9))
      labels[f->nlabels++] = (struct mx_label){made_name(m, "$L__BB0_", made_below(m, 30)), k->starts[s]};
  }
  f->lines = lines;
  f->names = names;
  f->labels = labels;
}

static bool maker_may(const struct made *m, unsigned op) {
  return !(mx__ops[op].flags & (m->image.lanes == 32 ? MX_F_W64 : MX_F_W32));
}

static void made_vars(struct made *m, bool loadable) {
  struct mx_var *v = made_take(m, 8 * sizeof *v);
  uint8_t *init = made_take(m, 64);
  for (int k = 0; k < 40; k++) init[k] = (uint8_t)made_random(m);
  init[39] = 3;
  struct mx_reloc *r = made_take(m, 3 * sizeof *r);
  r[0] = (struct mx_reloc){8, 8, MX_LIT_VAR, 1, 4, 0};
  r[1] = (struct mx_reloc){16, 8, MX_LIT_GENERIC, 0, (uint64_t)-8, 0};
  r[2] = (struct mx_reloc){40, 8, MX_LIT_FUNC, 0, 0, 0};
  v[0] = (struct mx_var){"table", MX_GLOBAL, MX_VAR_VISIBLE, 16, 64, init, 40, r, 3};
  v[1] = (struct mx_var){"coefficients", MX_CONST, 0, 4, 12, init, 12, NULL, 0};
  v[2] = (struct mx_var){"buffer", MX_SHARED, 0, 8, 1024, NULL, 0, NULL, 0};
  v[3] = (struct mx_var){"buffer", MX_SHARED, 0, 4, 100, NULL, 0, NULL, 0}; /* of another scope, but of the same name */
  v[4] = (struct mx_var){"dynamic", MX_SHARED, MX_VAR_EXTERN_SHARED, 16, 0, NULL, 0, NULL, 0};
  v[5] = (struct mx_var){"counter", MX_GLOBAL, MX_VAR_MANAGED, 4, 4, NULL, 0, NULL, 0};
  v[6] =
      (struct mx_var){"main", MX_GLOBAL, loadable ? 0 : MX_VAR_EXTERN, 1, 9, NULL, 0, NULL, 0}; /* a function's name */
  v[7] = (struct mx_var){"n", MX_GLOBAL, 0, 1, 3, NULL, 0, NULL, 0};                            /* a parameter's name */
  m->image.vars = v;
  m->image.nvars = 8;
}

/* One row, now and then followed by a branch or a call. */
static void maker_some(struct maker *k, unsigned op, unsigned mod, const uint8_t *res, const uint8_t *arg) {
  maker_row(k, op, mod);
  if (!made_below(k->m, 30)) maker_branch(k);
  if (!made_below(k->m, 60)) maker_call(k, MX_CALL, 0, res, 2, arg, 8);
  if (!made_below(k->m, 90)) maker_call(k, MX_CALLI, 0, res, 2, arg, 8);
  if (!made_below(k->m, 90)) maker_call(k, MX_CALLI, 1, NULL, 0, arg, 1);
}

/* Every row that fits the lanes with `tries` modifiers each, and `more` rows at random (then the module can be loaded),
 * between branches and calls. */
static struct made made_image_of(uint64_t seed, uint32_t lanes, unsigned tries, unsigned more) {
  struct made m = {.state = seed};
  m.image = (struct mx_image){
      .lanes = lanes, .sm = lanes == 32 ? 90 : 0, .ptx_version = lanes == 32 ? 90 : 0, .address_size = 64};
  bool loadable = more; /* a device refuses variables without definition */
  const char **files = made_take(&m, 2 * sizeof *files);
  files[0] = "kernels/first.mxs";
  files[1] = "odd \"name\"\n\x80.mxs";
  m.image.files = files;
  m.image.nfiles = 2;
  made_vars(&m, loadable);
  struct mx_func *f = made_take(&m, 3 * sizeof *f);
  m.image.funcs = f;
  m.image.nfuncs = 3;

  static const uint8_t res[] = {MX_R32, MX_PRED},
                       arg[] = {MX_R64, MX_R32, MX_R128, MX_PRED, MX_R64, MX_R32, MX_R32, MX_R32};
  static const struct mx_slot_ref results[] = {{MX_R32, 3}, {MX_PRED, 0}};
  static const struct mx_slot_ref args[] = {{MX_R64, 2}, {MX_R32, 0}, {MX_R128, 4}, {MX_PRED, 1},
                                            {MX_R64, 3}, {MX_R32, 1}, {MX_R32, 2},  {MX_R32, 9}};
  struct maker k = maker_begin(&m, &f[0], "helper");
  f[0].args = args;
  f[0].nargs = 8;
  f[0].results = results;
  f[0].nresults = 2;
  f[0].local_bytes = 32;
  f[0].arg_bytes = 8;
  maker_call(&k, MX_CALL, 2, NULL, 0, NULL, 0);
  maker_end(&k);

  k = maker_begin(&m, &f[1], "main");
  struct mx_param *p = made_take(&m, 4 * sizeof *p);
  p[0] = (struct mx_param){"main_param_0", 0, 8, 8, MX_T_u64, true};
  p[1] = (struct mx_param){"n", 8, 4, 4, MX_T_s32, false};
  p[2] = (struct mx_param){"box", 16, 20, 16, MX_T_b8, false};
  p[3] = (struct mx_param){"scale", 40, 8, 8, MX_T_f64, false};
  uint32_t *shared = made_take(&m, 3 * sizeof *shared);
  shared[0] = 3, shared[1] = 2, shared[2] = 4;
  struct mx_proto *protos = made_take(&m, 2 * sizeof *protos);
  protos[0] = (struct mx_proto){res, arg, 2, 8};
  protos[1] = (struct mx_proto){res, arg, 0, 1};
  f[1].flags = MX_FUNC_KERNEL | MX_FUNC_VISIBLE | MX_FUNC_COOPERATIVE;
  f[1].params = p;
  f[1].nparams = 4;
  f[1].param_bytes = 48;
  f[1].local_bytes = 64;
  f[1].shared = shared;
  f[1].nshared = 3;
  f[1].protos = protos;
  f[1].nprotos = 2;
  f[1].maxntid[0] = 256, f[1].maxntid[1] = f[1].maxntid[2] = 1;
  f[1].reqntid[0] = 8, f[1].reqntid[1] = 4, f[1].reqntid[2] = 2;
  f[1].minnctapersm = 3;
  maker_call(&k, MX_CALLI, 0, res, 2, arg, 8); /* prototypes are numbered as they are first used */
  maker_call(&k, MX_CALLI, 1, NULL, 0, arg, 1);
  for (unsigned op = 0; op < MX_OP_COUNT; op++) {
    for (unsigned t = 0; maker_may(&m, op) && t < tries; t++) {
      maker_some(&k, op, t == 0 ? 0 : t == 1 ? mx__ops[op].mods - 1u : made_below(&m, mx__ops[op].mods), res, arg);
    }
  }
  for (; more; more--) {
    unsigned op = made_below(&m, MX_OP_COUNT);
    if (maker_may(&m, op)) maker_some(&k, op, made_below(&m, mx__ops[op].mods), res, arg);
  }
  maker_end(&k);

  k = maker_begin(&m, &f[2], "last");
  f[2].flags = MX_FUNC_VISIBLE;
  maker_end(&k);
  return m;
}

static inline struct made made_image(uint64_t seed, uint32_t lanes, unsigned tries) {
  return made_image_of(seed, lanes, tries, 0);
}
#endif

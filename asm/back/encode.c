/* From allocated instructions to the words, tables and names of an image; the back's entry point.
 * Separate because it alone knows the layout of words; must not know text, and decides nothing about slots. */
#include "back.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* ---- the function as a copy that may be rewritten ---------------------------------------------------*/

static bool falls_off(const struct back_body *b) {
  if (!b->ninsns || !mx__insn_ends(&b->insns[b->ninsns - 1])) return true;
  for (uint32_t i = 0; i < b->nlabels; i++)
    if (b->labels[i] >= b->ninsns) return true;
  return false;
}

static void copy_registers(struct back_body *b) {
  const struct ir_func *f = b->func;
  uint32_t *writes = mx__arena_alloc(b->arena, ((size_t)f->nregs + 1) * sizeof *writes);
  for (uint32_t i = 0; i < b->ninsns; i++)
    for (uint32_t k = 0; k < b->insns[i].nopnds; k++)
      if (b->insns[i].opnds[k].kind == IR_REG && mx__insn_writes(&b->insns[i], k)) writes[b->insns[i].opnds[k].reg]++;
  for (uint32_t r = 0; r < f->nregs; r++) {
    const struct ir_reg *x = &f->regs[r];
    mx__body_add_reg(b, (struct back_reg){.name = x->name,
                                          .type = x->type,
                                          .width = mx__type_width(x->type),
                                          .file = mx__type_file(x->type),
                                          .fixed = x->fixed,
                                          .one_write = !x->name && x->fixed < 0 && writes[r] == 1});
  }
}

static void *copy(struct mx_arena *a, const void *from, size_t n, size_t size) {
  void *to = mx__arena_alloc(a, (n + 1) * size);
  if (n) memcpy(to, from, n * size);
  return to;
}

static void copy_function(struct back_body *b) {
  const struct ir_func *f = b->func;
  b->insns = mx__arena_alloc(b->arena, ((size_t)f->ninsns + 1) * sizeof *b->insns);
  b->ninsns = f->ninsns;
  for (uint32_t i = 0; i < f->ninsns; i++) {
    struct ir_insn *in = &b->insns[i];
    *in = f->insns[i];
    in->opnds = copy(b->arena, in->opnds, in->nopnds, sizeof *in->opnds);
    for (uint32_t k = 0; k < in->nopnds; k++)
      if (in->opnds[k].kind == IR_REG) in->opnds[k].raw = 0;
  }
  b->nlabels = f->nlabels;
  b->labels = mx__arena_alloc(b->arena, ((size_t)f->nlabels + 1) * sizeof *b->labels);
  for (uint32_t i = 0; i < f->nlabels; i++) b->labels[i] = f->labels[i].insn;
  b->args = copy(b->arena, f->args, f->nargs, sizeof *f->args);
  b->results = copy(b->arena, f->results, f->nresults, sizeof *f->results);
  if (!f->physical && falls_off(b)) {
    struct ir_loc loc = b->ninsns ? b->insns[b->ninsns - 1].loc : f->loc;
    b->insns[b->ninsns++] =
        (struct ir_insn){.op = MX_RET, .guard = IR_NONE, .target = IR_NONE, .reconv = IR_NONE, .loc = loc};
  }
  copy_registers(b);
}

/* ---- the literal pool ----------------------------------------------------------------------------------*/

struct pool {
  struct mx_lit lits[MX_MAX_LITS];
  uint32_t n;
};

static unsigned pooled(struct pool *p, struct mx_lit lit) {
  for (uint32_t i = 0; i < p->n; i++)
    if (p->lits[i].kind == lit.kind && p->lits[i].index == lit.index && p->lits[i].value == lit.value)
      return MX_LIT + i;
  p->lits[p->n] = lit; /* literals.c saw to it that they fit */
  return MX_LIT + p->n++;
}

/* ---- words -------------------------------------------------------------------------------------------- */

struct encoder {
  struct back_body *b;
  struct mx_arena *arena; /* of the image */
  struct mx_func *out;
  uint32_t *pc; /* by instruction; pc[ninsns] is the end */
  const struct cfg *g;
  const uint32_t *ipdom;
  const uint32_t *number; /* of functions in the image */
  struct pool pool;
};

static uint32_t fields_of(const struct ir_insn *in) {
  const struct mx_op_info *o = &mx__ops[in->op];
  return o->flags & MX_F_CALL ? in->nopnds + 4 : o->nopnds;
}

static uint32_t length_of(const struct ir_insn *in) {
  uint32_t n = fields_of(in);
  return n <= 4 ? 1 : 1 + (n - 4 + MX_EXT_FIELDS - 1) / MX_EXT_FIELDS;
}

static unsigned field_of(struct encoder *e, const struct ir_opnd *o) {
  switch (o->kind) {
  case IR_REG: return e->b->regs[o->reg].slot + o->raw;
  case IR_LIT: {
    struct mx_lit lit = o->lit;
    if (lit.kind == MX_LIT_FUNC) lit.index = e->number[lit.index];
    return pooled(&e->pool, lit);
  }
  default: return o->raw;
  }
}

static uint32_t reconvergence(const struct encoder *e, uint32_t i) {
  const struct ir_insn *in = &e->b->insns[i];
  if (in->fixed_reconv) return in->reconv == IR_NONE ? MX_PC_RET : e->pc[e->b->labels[in->reconv]];
  if (in->op == MX_BRA && in->guard == IR_NONE) return MX_PC_RET;
  uint32_t meet = e->ipdom[e->g->block_of[i]];
  return meet == e->g->nblocks ? MX_PC_RET : e->pc[e->g->first[meet]];
}

static void encode_insn(struct encoder *e, uint32_t i, mx_word *w) {
  const struct ir_insn *in = &e->b->insns[i];
  const struct mx_op_info *o = &mx__ops[in->op];
  unsigned guard = in->guard == IR_NONE ? MX_GUARD_NONE : e->b->regs[in->guard].slot;
  w[0] = mx_w_make(in->op, guard, in->guard != IR_NONE && in->guard_neg, in->mod);
  if (o->flags & MX_F_MOVI) {
    w[0] |= mx_w_put_movi(field_of(e, &in->opnds[0]), (uint32_t)in->opnds[1].lit.value);
  } else if (o->flags & MX_F_BRANCH) {
    w[0] |= mx_w_put_branch(e->pc[e->b->labels[in->target]], reconvergence(e, i));
  } else if (o->flags & MX_F_CALL) {
    uint32_t callee = in->op == MX_CALL ? e->number[in->callee] : in->callee;
    w[0] |= mx_w_put_branch(callee, 0) | mx_w_put(2, in->nres) | mx_w_put(3, in->nopnds - in->nres);
    for (uint32_t k = 0; k < in->nopnds; k++) mx_w_set_operand(w, k + 4, field_of(e, &in->opnds[k]));
  } else if (in->op == MX_BRX) {
    uint32_t reconv = reconvergence(e, i);
    w[0] |= mx_w_put(0, field_of(e, &in->opnds[0])) | mx_w_put(1, in->table) | mx_w_put(2, reconv & 0x3FF) |
            mx_w_put(3, reconv >> 10);
  } else {
    for (uint32_t k = 0; k < in->nopnds; k++) mx_w_set_operand(w, k, field_of(e, &in->opnds[k]));
    if (mx__insn_is_spill(in->op) || mx__insn_is_fill(in->op)) {
      uint32_t k = mx__insn_is_spill(in->op) ? 0 : 1;
      if (in->opnds[k].kind == IR_REG) { /* a cell that allocation chose */
        uint32_t cell = e->b->regs[in->opnds[k].reg].slot + in->opnds[k].raw;
        w[0] &= ~(mx_w_put(k, 0x3FF) | mx_w_put(k + 1, 0x3FF));
        w[0] |= mx_w_put(k, cell & 0x3FF) | mx_w_put(k + 1, cell >> 10);
      }
    }
  }
}

static void refuse_length(const struct back_body *b, struct ir_loc loc) {
  mx__diag(b->diags, MX_DIAG_ERROR, "function-too-long", loc, "split the function",
           "%s takes more than %u words of code", b->func->name, MX_MAX_CODE);
}

/* Numbers that have to fit the fields of a word. */
static bool fits_fields(const struct back_body *b) {
  enum { FIELD = 0x3FF };
  if (b->ninsns > MX_MAX_CODE) { /* said before any work is done on it */
    refuse_length(b, b->func->loc);
    return false;
  }
  if (b->func->nargs > FIELD || b->func->nresults > FIELD) {
    mx__diag(b->diags, MX_DIAG_ERROR, "too-many-arguments", b->func->loc, "pass them in memory",
             "%s has more than %d arguments or results", b->func->name, FIELD);
    return false;
  }
  for (uint32_t i = 0; i < b->ninsns; i++) {
    const struct ir_insn *in = &b->insns[i];
    if (mx__ops[in->op].flags & MX_F_CALL && (in->nres > FIELD || in->nopnds - in->nres > FIELD)) {
      mx__diag(b->diags, MX_DIAG_ERROR, "too-many-arguments", in->loc, "pass them in memory",
               "a call has more than %d arguments or results", FIELD);
      return false;
    }
    if (in->op == MX_BRX && in->table > FIELD) {
      mx__diag(b->diags, MX_DIAG_ERROR, "too-many-tables", in->loc, "split the function",
               "%s has more than %d tables of branch targets", b->func->name, FIELD + 1);
      return false;
    }
  }
  return true;
}

static bool encode_code(struct encoder *e) {
  struct back_body *b = e->b;
  e->pc = mx__arena_alloc(b->arena, ((size_t)b->ninsns + 1) * sizeof *e->pc);
  for (uint32_t i = 0; i < b->ninsns; i++) {
    e->pc[i + 1] = e->pc[i] + length_of(&b->insns[i]);
    if (e->pc[i + 1] > MX_MAX_CODE) {
      refuse_length(b, b->insns[i].loc);
      return false;
    }
  }
  e->g = mx__cfg_build(b->arena, b);
  e->ipdom = mx__cfg_postdominators(b->arena, e->g);
  mx_word *code = mx__arena_alloc(e->arena, (size_t)e->pc[b->ninsns] * sizeof *code);
  for (uint32_t i = 0; i < b->ninsns; i++) encode_insn(e, i, code + e->pc[i]);
  e->out->code = code, e->out->ncode = e->pc[b->ninsns];
  e->out->lits = copy(e->arena, e->pool.lits, e->pool.n, sizeof *e->pool.lits), e->out->nlits = e->pool.n;
  return true;
}

/* ---- names, lines, labels, tables ------------------------------------------------------------------------*/

static void encode_lines(struct encoder *e) {
  const struct back_body *b = e->b;
  struct mx_line *lines = mx__arena_alloc(e->arena, ((size_t)b->ninsns + 1) * sizeof *lines);
  uint32_t n = 0;
  for (uint32_t i = 0; i < b->ninsns; i++) {
    struct ir_loc loc = b->insns[i].loc;
    /* What the assembler inserts belongs to the line before it; where the text is physical, "no line" is meant. */
    if (!loc.line && (!n || !b->func->physical)) continue;
    if (n && lines[n - 1].file == loc.file && lines[n - 1].line == loc.line) continue;
    lines[n++] = (struct mx_line){e->pc[i], loc.file, loc.line};
  }
  e->out->lines = lines, e->out->nlines = n;
}

static int compare_labels(const void *x, const void *y) {
  const struct mx_label *a = x, *b = y;
  if (a->pc != b->pc) return a->pc < b->pc ? -1 : 1;
  return strcmp(a->name, b->name);
}

static void encode_labels(struct encoder *e) {
  const struct ir_func *f = e->b->func;
  struct mx_label *labels = mx__arena_alloc(e->arena, ((size_t)f->nlabels + 1) * sizeof *labels);
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->nlabels; i++)
    if (f->labels[i].name) labels[n++] = (struct mx_label){f->labels[i].name, e->pc[e->b->labels[i]]};
  qsort(labels, n, sizeof *labels, compare_labels);
  e->out->labels = labels, e->out->nlabels = n;

  struct mx_table *tables = mx__arena_alloc(e->arena, ((size_t)f->ntables + 1) * sizeof *tables);
  for (uint32_t t = 0; t < f->ntables; t++) {
    uint32_t count = f->tables[t].nlabels;
    uint32_t *targets = mx__arena_alloc(e->arena, ((size_t)count + 1) * sizeof *targets);
    for (uint32_t i = 0; i < count; i++) targets[i] = e->pc[e->b->labels[f->tables[t].labels[i]]];
    tables[t] = (struct mx_table){targets, count};
  }
  e->out->tables = tables, e->out->ntables = f->ntables;
}

static uint8_t class_of(const struct back_reg *r) { return mx__types[r->type].slot_class; }

/* A range of a register in one of its slots. */
struct stay {
  uint32_t file, slot, lo, reg, range;
};
static int compare_stays(const void *x, const void *y) {
  const struct stay *a = x, *b = y;
  if (a->file != b->file) return a->file < b->file ? -1 : 1;
  if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
  return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static int compare_names(const void *x, const void *y) {
  const struct mx_name *a = x, *b = y;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  if (a->spilled != b->spilled) return a->spilled ? 1 : -1;
  if (a->cls != b->cls) return a->cls < b->cls ? -1 : 1;
  return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* In the order in which they begin. One entry for each register, as a rule: the holes between its ranges are covered as
 * long as nobody else lives in its slot there, since the slot then still holds what the register last was. */
static void encode_names(struct encoder *e) {
  const struct back_body *b = e->b;
  if (b->func->physical) {
    e->out->names = b->func->names, e->out->nnames = b->func->nnames;
    return;
  }
  const struct back_live *live = b->live;
  uint32_t nranges = live->at[b->nregs], nstays = 0, n = 0;
  struct stay *stays = mx__arena_alloc(b->arena, (2 * (size_t)nranges + 1) * sizeof *stays);
  for (uint32_t r = 0; r < b->nregs; r++)
    for (uint32_t i = live->at[r]; i < live->at[r + 1]; i++)
      for (uint32_t k = 0; k < b->regs[r].width; k++)
        stays[nstays++] = (struct stay){b->regs[r].file, b->regs[r].slot + k, live->ranges[i].lo, r, i};
  qsort(stays, nstays, sizeof *stays, compare_stays);
  uint8_t *alone = mx__arena_alloc(b->arena, (size_t)nranges + 1); /* slots with nobody else since the range before */
  for (uint32_t i = 1; i < nstays; i++)
    if (stays[i].file == stays[i - 1].file && stays[i].slot == stays[i - 1].slot && stays[i].reg == stays[i - 1].reg)
      alone[stays[i].range]++;

  struct mx_name *names = mx__arena_alloc(e->arena, ((size_t)nranges + 1) * sizeof *names);
  for (uint32_t r = 0; r < b->nregs; r++) {
    const struct back_reg *g = &b->regs[r];
    if (!g->name) continue;
    for (uint32_t i = live->at[r]; i < live->at[r + 1]; i++) {
      uint32_t lo = e->pc[live->ranges[i].lo], hi = e->pc[live->ranges[i].hi];
      if (i > live->at[r] && alone[i] == g->width) {
        names[n - 1].hi = hi;
        continue;
      }
      names[n++] = (struct mx_name){.name = g->name,
                                    .cls = class_of(g),
                                    .type = g->type,
                                    .spilled = g->file >= BACK_CELLS,
                                    .slot = (uint16_t)g->slot,
                                    .lo = lo,
                                    .hi = hi};
    }
  }
  qsort(names, n, sizeof *names, compare_names);
  e->out->names = names, e->out->nnames = n;
}

static struct mx_slot_ref *slot_refs(struct encoder *e, const uint32_t *regs, uint32_t n) {
  struct mx_slot_ref *refs = mx__arena_alloc(e->arena, ((size_t)n + 1) * sizeof *refs);
  for (uint32_t i = 0; i < n; i++) {
    const struct back_reg *r = &e->b->regs[regs[i]];
    refs[i] = (struct mx_slot_ref){class_of(r), (uint16_t)r->slot};
  }
  return refs;
}

static bool encode_function(struct mx_arena *scratch, struct mx_arena *arena, struct mx_diags *diags,
                            const struct ir_module *m, const uint32_t *number, const struct ir_func *f,
                            struct mx_func *out) {
  struct back_body b = {.arena = scratch, .diags = diags, .module = m, .func = f};
  copy_function(&b);
  if (!f->physical) mx__warn_unwritten(&b);
  if (!fits_fields(&b) || !mx__literals(&b) || !mx__allocate(&b)) return false;
  struct encoder *e = mx__arena_alloc(scratch, sizeof *e);
  e->b = &b, e->arena = arena, e->out = out, e->number = number;
  *out = (struct mx_func){
      .name = f->name,
      .flags = f->flags,
      .local_bytes = f->local_bytes,
      .arg_bytes = f->arg_bytes,
      .params = f->params,
      .nparams = f->nparams,
      .param_bytes = f->param_bytes,
      .locals = f->locals,
      .nlocals = f->nlocals,
      .nargs = f->nargs,
      .nresults = f->nresults,
      .protos = f->protos,
      .nprotos = f->nprotos,
      .maxntid = {f->maxntid[0], f->maxntid[1], f->maxntid[2]},
      .reqntid = {f->reqntid[0], f->reqntid[1], f->reqntid[2]},
      .minnctapersm = f->minnctapersm,
      .reqncta = {f->reqncta[0], f->reqncta[1], f->reqncta[2]},
      .maxclusterrank = f->maxclusterrank,
      .npred = (uint16_t)b.slots[BACK_PRED],
      .n32 = (uint16_t)b.slots[BACK_R32],
      .n64 = (uint16_t)b.slots[BACK_R64],
      .nspillpred = (uint16_t)b.slots[BACK_CELL_PRED],
      .nspill32 = (uint16_t)b.slots[BACK_CELL_32],
      .nspill64 = (uint16_t)b.slots[BACK_CELL_64],
  };
  if (!encode_code(e)) return false;
  encode_lines(e);
  encode_labels(e);
  encode_names(e);
  out->args = slot_refs(e, b.args, f->nargs);
  out->results = slot_refs(e, b.results, f->nresults);
  return true;
}

/* ---- the module ------------------------------------------------------------------------------------------*/

/* Which functions a function calls, as edges; indirect calls reach every function whose address is taken. */
struct calls {
  const struct ir_module *m;
  uint32_t *at, *callee; /* direct callees of f: callee[at[f]] .. callee[at[f + 1]] */
  bool *indirect;        /* f calls through an address */
  bool *taken;           /* its address is taken */
};

static void find_calls(struct mx_arena *arena, const struct ir_module *m, struct calls *c) {
  c->m = m;
  c->at = mx__arena_alloc(arena, ((size_t)m->nfuncs + 1) * sizeof *c->at);
  c->indirect = mx__arena_alloc(arena, (size_t)m->nfuncs + 1);
  c->taken = mx__arena_alloc(arena, (size_t)m->nfuncs + 1);
  for (int pass = 0; pass < 2; pass++) {
    uint32_t n = 0;
    for (uint32_t f = 0; f < m->nfuncs; f++) {
      c->at[f] = n;
      for (uint32_t i = 0; i < m->funcs[f].ninsns; i++) {
        const struct ir_insn *in = &m->funcs[f].insns[i];
        if (in->op == MX_CALLI) c->indirect[f] = true;
        if (in->op == MX_CALL) {
          if (pass) c->callee[n] = in->callee;
          n++;
        }
        for (uint32_t k = 0; k < in->nopnds; k++)
          if (in->opnds[k].kind == IR_LIT && in->opnds[k].lit.kind == MX_LIT_FUNC)
            c->taken[in->opnds[k].lit.index] = true;
      }
    }
    c->at[m->nfuncs] = n;
    if (!pass) c->callee = mx__arena_alloc(arena, ((size_t)n + 1) * sizeof *c->callee);
  }
  for (uint32_t v = 0; v < m->nvars; v++)
    for (uint32_t i = 0; i < m->vars[v].nrelocs; i++)
      if (m->vars[v].relocs[i].kind == MX_LIT_FUNC) c->taken[m->vars[v].relocs[i].index] = true;
}

/* Shared variables of a kernel and of whatever it may call, ascending. */
static void close_shared(struct mx_arena *arena, const struct calls *c, uint32_t kernel, struct mx_func *out) {
  const struct ir_module *m = c->m;
  bool *reached = mx__arena_alloc(arena, (size_t)m->nfuncs + 1), *used = mx__arena_alloc(arena, (size_t)m->nvars + 1);
  uint32_t *work = mx__arena_alloc(arena, ((size_t)m->nfuncs + 1) * sizeof *work), n = 0, count = 0;
  bool took_all = false;
  reached[kernel] = true, work[n++] = kernel;
  while (n) {
    uint32_t f = work[--n];
    for (uint32_t i = 0; i < m->funcs[f].nshared; i++) {
      uint32_t v = m->funcs[f].shared[i];
      count += !used[v], used[v] = true;
    }
    for (uint32_t i = c->at[f]; i < c->at[f + 1]; i++)
      if (!reached[c->callee[i]]) reached[c->callee[i]] = true, work[n++] = c->callee[i];
    if (!c->indirect[f] || took_all) continue;
    took_all = true;
    for (uint32_t i = 0; i < m->nfuncs; i++)
      if (c->taken[i] && !reached[i]) reached[i] = true, work[n++] = i;
  }
  uint32_t *list = mx__arena_alloc(arena, ((size_t)count + 1) * sizeof *list);
  for (uint32_t v = 0, k = 0; v < m->nvars; v++)
    if (used[v]) list[k++] = v;
  out->shared = list, out->nshared = count;
}

/* A function that is only declared has no number in the image: an instruction that names it is an error. */
static bool check_used(struct mx_diags *diags, const struct ir_module *m, const uint32_t *number, uint32_t f,
                       struct ir_loc loc) {
  if (number[f] != IR_NONE) return true;
  mx__diag(diags, MX_DIAG_ERROR, "undefined-function", loc, "define it in this module",
           "function %s is declared, but not defined", m->funcs[f].name);
  return false;
}

static bool check_uses(struct mx_diags *diags, const struct ir_module *m, const uint32_t *number) {
  bool ok = true;
  for (uint32_t f = 0; f < m->nfuncs; f++) {
    for (uint32_t i = 0; i < m->funcs[f].ninsns; i++) {
      const struct ir_insn *in = &m->funcs[f].insns[i];
      if (in->op == MX_CALL && !check_used(diags, m, number, in->callee, in->loc)) ok = false;
      for (uint32_t k = 0; k < in->nopnds; k++)
        if (in->opnds[k].kind == IR_LIT && in->opnds[k].lit.kind == MX_LIT_FUNC &&
            !check_used(diags, m, number, in->opnds[k].lit.index, in->loc))
          ok = false;
    }
  }
  for (uint32_t v = 0; v < m->nvars; v++)
    for (uint32_t i = 0; i < m->vars[v].nrelocs; i++)
      if (m->vars[v].relocs[i].kind == MX_LIT_FUNC &&
          !check_used(diags, m, number, m->vars[v].relocs[i].index, (struct ir_loc){0}))
        ok = false;
  return ok;
}

/* Variables as they are, but for the numbers of the functions whose addresses stand in their initial values. */
static const struct mx_var *number_vars(struct mx_arena *arena, const struct ir_module *m, const uint32_t *number) {
  struct mx_var *vars = copy(arena, m->vars, m->nvars, sizeof *vars);
  for (uint32_t v = 0; v < m->nvars; v++) {
    struct mx_reloc *relocs = copy(arena, vars[v].relocs, vars[v].nrelocs, sizeof *relocs);
    for (uint32_t i = 0; i < vars[v].nrelocs; i++)
      if (relocs[i].kind == MX_LIT_FUNC) relocs[i].index = number[relocs[i].index];
    vars[v].relocs = relocs;
  }
  return vars;
}

/* Encodes one function in working memory of its own, which goes before the next function comes: also when memory runs
 * out in one of the arenas that outlive it. */
static bool encode_in_scratch(struct mx_arena *arena, struct mx_diags *diags, const struct ir_module *m,
                              const uint32_t *number, const struct ir_func *f, struct mx_func *out) {
  jmp_buf failed;
  struct mx_arena scratch = {.limit = arena->limit, .oom = &failed};
  jmp_buf *outer = arena->oom, *diags_outer = diags->arena->oom;
  if (setjmp(failed)) {
    mx__arena_free(&scratch);
    diags->arena->oom = diags_outer, arena->oom = outer;
    longjmp(*outer, 1);
  }
  arena->oom = diags->arena->oom = &failed;
  bool ok = encode_function(&scratch, arena, diags, m, number, f, out);
  diags->arena->oom = diags_outer, arena->oom = outer;
  mx__arena_free(&scratch);
  return ok;
}

bool mx__asm_back(struct mx_arena *arena, struct mx_diags *diags, const struct ir_module *m, struct mx_image *out) {
  uint32_t *number = mx__arena_alloc(arena, ((size_t)m->nfuncs + 1) * sizeof *number), n = 0;
  for (uint32_t f = 0; f < m->nfuncs; f++) number[f] = m->funcs[f].declared_only ? IR_NONE : n++;
  if (!check_uses(diags, m, number)) return false;
  struct mx_func *funcs = mx__arena_alloc(arena, ((size_t)n + 1) * sizeof *funcs);
  *out = (struct mx_image){
      .lanes = m->lanes,
      .sm = m->sm,
      .ptx_version = m->ptx_version,
      .address_size = m->address_size,
      .funcs = funcs,
      .nfuncs = n,
      .vars = number_vars(arena, m, number),
      .nvars = m->nvars,
      .files = m->files,
      .nfiles = m->nfiles,
  };
  struct calls calls = {0};
  find_calls(arena, m, &calls);
  bool ok = true;
  for (uint32_t f = 0; f < m->nfuncs; f++) {
    const struct ir_func *in = &m->funcs[f];
    if (in->declared_only) continue;
    struct mx_func *to = &funcs[number[f]];
    if (!encode_in_scratch(arena, diags, m, number, in, to)) ok = false;
    if (!(in->flags & MX_FUNC_KERNEL)) continue;
    if (in->physical) to->shared = in->shared, to->nshared = in->nshared;
    else close_shared(arena, &calls, f, to);
  }
  return ok;
}

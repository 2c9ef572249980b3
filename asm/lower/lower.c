/* One parsed function to IR: statements and control. Separate from call.c, which knows parameters and calls, and from
 * operand.c and choose.c, which turn plain instructions into rows. */
#include "lower.h"

#include <string.h>

/* ---- control ----------------------------------------------------------------------------------------------------*/
static uint32_t label_index(struct lower *l, struct sym *y) {
  if (y->index == UINT32_MAX)
    y->index = mx__new_label(l, y->name->text[0] == '%' && y->name->text[1] == '.' ? NULL : y->name->text, y->loc);
  return y->index;
}

static bool find_label(struct lower *l, struct name *n, struct ir_loc loc, struct scope *scope, uint32_t *out) {
  struct sym *y = mx__scope_find(&l->f->names, scope, n);
  if (y && y->kind == SYM_LABEL) {
    *out = label_index(l, y);
    return true;
  }
  const char *near = mx__near(l->f, scope, n->text, SYM_LABEL);
  ERR(l->f, "unknown-label", loc, near, y ? "'%s' is not a label" : "label '%s' is not defined", n->text);
  return false;
}

static bool set_reconv(struct lower *l, const struct stmt *s, struct ir_insn *i) {
  if (!s->has_reconv) return true;
  i->fixed_reconv = true;
  uint32_t label = IR_NONE;
  if (!s->reconv_is_ret && !find_label(l, s->reconv, s->loc, s->scope, &label)) return false;
  i->reconv = label;
  return true;
}

static void lower_bra(struct lower *l, const struct stmt *s, uint32_t guard) {
  struct front *f = l->f;
  const struct row_match *rows;
  uint32_t label;
  if (!mx__select_rows(l->select, s->mnemonic->text, false, &rows)) {
    mx__select_report(l->select, &f->diags, s->mnemonic->text, s->loc);
    return;
  }
  if (s->nopnds != 1 || !s->opnds[0].e.base || s->opnds[0].is_address || s->opnds[0].e.value) {
    ERR(f, "operand-count", s->loc, NULL, "%s: takes one label", s->mnemonic->text);
    return;
  }
  if (!find_label(l, s->opnds[0].e.base, s->opnds[0].e.loc, s->scope, &label)) return;
  mx__branch(l, label, guard, guard != IR_NONE && s->guard_neg);
  set_reconv(l, s, &l->to->v[l->to->n - 1]);
}

static void lower_brx(struct lower *l, const struct stmt *s, uint32_t guard) {
  struct front *f = l->f;
  struct sym *y = s->nopnds == 2 && s->opnds[1].e.base ? mx__scope_find(&f->names, s->scope, s->opnds[1].e.base) : NULL;
  struct table *t = y && y->kind == SYM_TABLE && !y->is_unsigned ? y->detail : NULL;
  const struct row_match *rows;
  if (!mx__select_rows(l->select, s->mnemonic->text, false, &rows)) {
    mx__select_report(l->select, &f->diags, s->mnemonic->text, s->loc);
    return;
  }
  if (!t) {
    ERR(f, "no-targets", s->nopnds == 2 ? s->opnds[1].e.loc : s->loc, NULL,
        "brx.idx: expected an index and the name of a .branchtargets list");
    return;
  }
  struct ir_func *o = l->out;
  if (t->index == UINT32_MAX) {
    struct ir_table it = {.labels = mx__arena_alloc(f->arena, t->n * sizeof(uint32_t)), .nlabels = t->n};
    for (uint32_t k = 0; k < t->n; k++)
      if (!find_label(l, t->labels[k], t->locs[k], t->scope, &it.labels[k])) return;
    GROW(f->arena, o->tables, o->ntables, l->cap_tables);
    t->index = o->ntables;
    o->tables[o->ntables++] = it;
  }
  struct vals vs = {0};
  if (!mx__operand(l, &s->opnds[0], &vs, false)) return;
  struct val *v = &vs.v[0];
  if (v->kind == V_CONST || v->kind == V_SREG) mx__value_reg(l, v, MX_T_u32);
  if (v->kind != V_REG || v->type == MX_T_none || mx__types[v->type].bits != 32) {
    ERR(f, "operand-type", v->loc, NULL, "brx.idx: operand 1: expected .u32");
    return;
  }
  uint32_t skip = IR_NONE;
  if (guard != IR_NONE) {
    skip = mx__new_label(l, NULL, s->loc);
    mx__branch(l, skip, guard, !s->guard_neg);
  }
  struct ir_insn *i = mx__emit(l, MX_BRX, 0, 1);
  i->opnds[0] = (struct ir_opnd){.kind = IR_REG, .reg = v->reg};
  i->table = t->index;
  set_reconv(l, s, i);
  if (skip != IR_NONE) mx__bind_label(l, skip);
}

static void lower_ret(struct lower *l, const struct stmt *s, uint32_t guard) {
  struct vals vs = {0};
  if (s->nopnds) {
    ERR(l->f, "operand-count", s->loc, NULL, "ret: takes 0 operands, found %u", s->nopnds);
    return;
  }
  bool in_memory = false;
  for (uint32_t k = 0; k < l->fn->sig.nres && !l->fn->physical; k++)
    in_memory |= !l->fn->sig.res[k].is_array && l->fn->sig.res[k].in_memory;
  uint32_t skip = IR_NONE;
  if (in_memory && guard != IR_NONE) {
    skip = mx__new_label(l, NULL, s->loc);
    mx__branch(l, skip, guard, !s->guard_neg);
    guard = IR_NONE;
  }
  if (in_memory) mx__load_results(l);
  mx__emit_instruction(l, s->mnemonic->text, NULL, &vs, guard, s->guard_neg, s->loc);
  if (skip != IR_NONE) mx__bind_label(l, skip);
}

/* mov.v4.u32 {a, b, c, d}, {e, f, g, h}: all sources are read before anything is written. */
static bool lower_vector_mov(struct lower *l, const struct stmt *s, const struct vals *vs, uint32_t guard) {
  const char *m = s->mnemonic->text;
  unsigned n = !strncmp(m, "mov.v2.", 7) ? 2 : !strncmp(m, "mov.v4.", 7) ? 4 : 0;
  if (!n || vs->n != 2 * n) return false;
  const char *mov = mx__arena_printf(l->f->arena, "mov.%s", m + 7);
  unsigned count;
  int type = mx__last_type(m, &count);
  if (type == MX_T_none) return false;
  for (unsigned k = 0; k < n; k++)
    if (vs->v[n + k].kind == V_CONST || vs->v[n + k].kind == V_REG) {
      struct vals copy = {0};
      mx__push_reg(l, &copy, mx__new_reg(l, NULL, type, s->loc));
      *mx__push(l, &copy) = vs->v[n + k];
      if (!mx__emit_instruction(l, mov, NULL, &copy, IR_NONE, false, s->loc)) return true;
      vs->v[n + k].kind = V_REG;
      vs->v[n + k].reg = copy.v[0].reg;
      vs->v[n + k].type = (uint8_t)type;
      vs->v[n + k].sym = NULL;
    }
  for (unsigned k = 0; k < n; k++) {
    struct vals pair = {0};
    *mx__push(l, &pair) = vs->v[k];
    *mx__push(l, &pair) = vs->v[n + k];
    if (!mx__emit_instruction(l, mov, NULL, &pair, guard, s->guard_neg, s->loc)) return true;
  }
  return true;
}

/* cvt takes registers wider than its types: a 64-bit source gives its low half, a 64-bit result is the 32-bit one,
 * extended by its type. Gives the type by which the result is extended, or MX_T_none. */
static int narrow_cvt(struct lower *l, const char *m, struct vals *vs, struct val *wide) {
  int types[2] = {MX_T_none, MX_T_none};
  for (const char *p = strchr(m, '.'); p; p = strchr(p + 1, '.')) {
    struct token t = {.kind = TOK_DOT, .text = p, .len = 1 + (uint32_t)strcspn(p + 1, ".")};
    int type = mx__type_of(&t);
    if (type >= 0) types[0] = types[1], types[1] = type;
  }
  if (vs->n != 2 || types[0] == MX_T_none) return MX_T_none;
  struct val *d = &vs->v[0], *a = &vs->v[1];
  if (a->kind == V_REG && a->type != MX_T_none && mx__types[a->type].bits == 64 && mx__types[types[1]].bits < 32) {
    struct vals low = {0};
    mx__push_reg(l, &low, mx__new_reg(l, NULL, MX_T_u32, a->loc));
    *mx__push(l, &low) = *a;
    if (!mx__emit_instruction(l, "cvt.u32.u64", NULL, &low, IR_NONE, false, a->loc)) return MX_T_none;
    a->reg = low.v[0].reg;
    a->type = MX_T_u32;
  }
  bool is_signed = types[0] == MX_T_s8 || types[0] == MX_T_s16;
  bool is_unsigned = types[0] == MX_T_u8 || types[0] == MX_T_u16;
  if (d->kind != V_REG || d->type == MX_T_none || mx__types[d->type].bits != 64 || (!is_signed && !is_unsigned))
    return MX_T_none;
  *wide = *d;
  d->type = is_signed ? MX_T_s32 : MX_T_u32;
  d->reg = mx__new_reg(l, NULL, d->type, d->loc);
  d->sym = NULL;
  return d->type;
}

/* movi.b32 %.r1, -5; its value stands in the word, not in an operand field. */
static bool lower_movi(struct lower *l, const struct stmt *s, const struct vals *vs, uint32_t guard) {
  const struct row_match *rows;
  if (!mx__select_rows(l->select, s->mnemonic->text, true, &rows) || !(rows[0].row->flags & MX_F_MOVI)) return false;
  if (vs->n != 2 || vs->v[0].kind != V_REG || vs->v[1].kind != V_CONST || vs->v[1].expr->kind != EX_INT ||
      mx__types[vs->v[0].type].bits != mx__types[rows[0].row->opnd[0].type].bits) {
    ERR(l->f, "operand-type", s->loc, NULL, "%s: expected a slot and a number", s->mnemonic->text);
    return true;
  }
  uint64_t v = vs->v[1].expr->value;
  struct ir_insn *i = mx__emit(l, rows[0].op, 0, 2);
  i->opnds[0] = (struct ir_opnd){.kind = IR_REG, .reg = vs->v[0].reg};
  i->opnds[1] = (struct ir_opnd){
      .kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = mx__types[vs->v[0].type].bits == 32 ? v & UINT32_MAX : v}};
  i->guard = guard;
  i->guard_neg = guard != IR_NONE && s->guard_neg;
  return true;
}

/* ---- statements -------------------------------------------------------------------------------------------------*/
static bool has_space(const char *m) {
  return strstr(m, ".global") || strstr(m, ".shared") || strstr(m, ".local") || strstr(m, ".const") ||
         strstr(m, ".param");
}

/* Whether there is no such instruction, whatever its operands: then that is what is wrong with it. */
static bool unknown_instruction(struct lower *l, const char *m, struct ir_loc loc) {
  const struct row_match *rows;
  const bool made_here = !strcmp(m, "printf") || strstr(m, ".L2::cache_hint") ||
                         !strncmp(m, "createpolicy.range.", 19) || !strncmp(m, "mov.v2.", 7) ||
                         !strncmp(m, "mov.v4.", 7);
  if (made_here || mx__base_is(m, "call") || mx__select_rows(l->select, m, l->fn->physical, &rows)) return false;
  mx__select_report(l->select, &l->f->diags, m, loc);
  return true;
}

static void lower_insn(struct lower *l, const struct stmt *s) {
  const char *m = s->mnemonic->text;
  uint32_t guard;
  l->loc = s->loc;
  l->mnemonic = m;
  l->scope = s->scope;
  if (!mx__guard_of(l, s, &guard) || unknown_instruction(l, m, s->loc)) return;
  if (mx__base_is(m, "st") && strstr(m, ".const") && !l->fn->physical) {
    ERR(l->f, "bad-suffix", s->loc, "the host writes constant memory, kernels read it",
        "%s: there are no stores to constant memory", m);
    return;
  }
  if (mx__base_is(m, "call")) {
    const struct row_match *rows;
    if (strcmp(m, "call") && strcmp(m, "call.uni") && !mx__select_rows(l->select, m, true, &rows))
      mx__select_report(l->select, &l->f->diags, m, s->loc);
    else if (l->fn->physical) mx__lower_physical_call(l, s);
    else mx__lower_call(l, s, guard);
    return;
  }
  if (mx__base_is(m, "bra")) {
    lower_bra(l, s, guard);
    return;
  }
  if (mx__base_is(m, "brx")) {
    lower_brx(l, s, guard);
    return;
  }
  if (s->has_reconv) {
    ERR(l->f, "syntax", s->loc, NULL, "%s: !reconv belongs to branches", m);
    return;
  }
  if (mx__base_is(m, "ret")) {
    lower_ret(l, s, guard);
    return;
  }
  if (!l->fn->physical && mx__is_param_access(m) && mx__lower_param_access(l, s, guard)) return;
  struct vals vs = {0};
  bool generic = !has_space(m), fine = true;
  bool memory = mx__base_is(m, "ld") || mx__base_is(m, "st") || mx__base_is(m, "atom") || mx__base_is(m, "red") ||
                mx__base_is(m, "ldu");
  for (uint32_t k = 0; k < s->nopnds; k++) {
    struct opnd *o = &s->opnds[k];
    o->is_address |= memory && o->e.has_element; /* ld.global.u32 %r, table[3] */
    fine &= mx__operand(l, o, &vs, generic);
  }
  if (!fine) return;
  if (!l->fn->physical && !(m = mx__lower_hints(l, s, &vs))) return;
  if (!strcmp(m, "printf") && !l->fn->physical) {
    mx__lower_printf(l, s, &vs, guard);
    return;
  }
  /* mov of what is computed: no temporary in between */
  if (mx__base_is(m, "mov") && vs.n == 2 && !l->fn->physical && vs.v[0].kind == V_REG &&
      !(vs.v[0].sym && vs.v[0].sym->kind == SYM_PARAM)) {
    unsigned count;
    int said = mx__last_type(m, &count);
    if (vs.v[0].type == MX_T_none && said != MX_T_none && (vs.v[1].kind == V_SREG || vs.v[1].kind == V_LOCAL)) {
      struct sym *y = vs.v[0].sym; /* implicit: this is its first write */
      l->out->regs[vs.v[0].reg].type = y->type = vs.v[0].type = (uint8_t)said;
      l->out->regs[vs.v[0].reg].loc = y->loc = vs.v[0].loc;
    }
    unsigned bits = vs.v[0].type == MX_T_none ? 0 : mx__types[vs.v[0].type].bits;
    bool plain = said != MX_T_none && mx__types[said].bits == bits && count == 1 && vs.v[0].type != MX_T_f32 &&
                 vs.v[0].type != MX_T_f64;
    uint32_t number = vs.v[1].sreg;
    if (plain && vs.v[1].kind == V_SREG && mx__find_sreg(mx__sregs[number].name, l->f->lanes, (int)bits, &number) &&
        mx__types[mx__sregs[number].type].bits == bits) {
      struct ir_insn *i = mx__emit_sreg(l, vs.v[0].reg, number);
      i->guard = guard;
      i->guard_neg = guard != IR_NONE && s->guard_neg;
      return;
    }
    if (plain && vs.v[1].kind == V_LOCAL && bits == 64) {
      uint32_t base = mx__local_base(l);
      struct vals a = {0};
      *mx__push(l, &a) = vs.v[0];
      mx__push_reg(l, &a, base);
      if (vs.v[1].offset) mx__push_const(l, &a, vs.v[1].offset);
      mx__emit_instruction(l, vs.v[1].offset ? "add.u64" : "mov.u64", NULL, &a, guard, s->guard_neg, s->loc);
      return;
    }
  }
  if (l->fn->physical && lower_movi(l, s, &vs, guard)) return;
  if (!l->fn->physical && lower_vector_mov(l, s, &vs, guard)) return;
  struct val wide;
  int extended = mx__base_is(m, "cvt") && !l->fn->physical ? narrow_cvt(l, m, &vs, &wide) : MX_T_none;
  if (extended != MX_T_none) {
    struct vals pair = {0};
    *mx__push(l, &pair) = wide;
    mx__push_reg(l, &pair, vs.v[0].reg);
    if (mx__emit_instruction(l, m, NULL, &vs, IR_NONE, false, s->loc))
      mx__emit_instruction(l, extended == MX_T_s32 ? "cvt.s64.s32" : "cvt.u64.u32", NULL, &pair, guard, s->guard_neg,
                           s->loc);
    return;
  }
  mx__emit_instruction(l, m, s->row ? s->row->text : NULL, &vs, guard, s->guard_neg, s->loc);
}

/* The instruction is in error: what it would have written counts as written. */
static void mark_write_in_error(struct lower *l, const struct stmt *s) {
  struct name *n = s->nopnds ? s->opnds[0].e.base : NULL;
  if (!n || n->text[0] != '%' || l->fn->has_reg || l->fn->physical) return;
  struct sym *y = mx__scope_find(&l->f->names, l->scope, n);
  if (!y) {
    y = mx__scope_add(&l->f->names, l->fn->scope, n, SYM_REG, s->loc);
    y->type = MX_T_none;
    y->implicit = true;
  }
  y->write_in_error = true;
}

static void lower_statement(struct lower *l, const struct stmt *s) {
  if (s->kind == ST_LABEL) {
    l->loc = s->loc;
    mx__bind_label(l, label_index(l, s->label));
  } else if (mx__base_is(s->mnemonic->text, "call") && s->nres >= s->nopnds) {
    return; /* reported by the parser */
  } else {
    const uint32_t before = l->body.n;
    const size_t errors = l->f->diags.errors;
    l->reads_unwritten = false;
    lower_insn(l, s);
    if (l->f->diags.errors > errors || l->reads_unwritten) mark_write_in_error(l, s);
    /* lines of disassembly come from .loc; its messages speak of the text */
    if (l->fn->physical && l->body.n > before) l->body.v[l->body.n - 1].loc = s->line;
    for (uint32_t k = before; k < l->body.n && l->f->source_lines && !l->fn->physical && s->line.line; k++)
      l->body.v[k].loc = (struct ir_loc){.file = s->line.file | FROM_LOC, .line = s->line.line};
  }
}

static void join_code(struct lower *l) {
  struct ir_func *o = l->out;
  uint32_t n = l->prologue.n;
  o->ninsns = n + l->body.n;
  o->insns = mx__arena_alloc(l->f->arena, (o->ninsns + 1u) * sizeof *o->insns);
  if (n) memcpy(o->insns, l->prologue.v, n * sizeof *o->insns);
  if (l->body.n) memcpy(o->insns + n, l->body.v, l->body.n * sizeof *o->insns);
  for (uint32_t k = 0; k < o->nlabels; k++)
    o->labels[k].insn = o->labels[k].insn == UINT32_MAX ? o->ninsns : o->labels[k].insn + n;
}

void mx__lower_func(struct front *f, struct select *select, uint32_t *last_named_by, struct func *fn,
                    struct ir_func *out) {
  struct lower low = {.f = f,
                      .select = select,
                      .fn = fn,
                      .out = out,
                      .last_named_by = last_named_by,
                      .loc = fn->loc,
                      .scope = fn->scope},
               *l = &low;
  l->to = &l->body;
  out->name = fn->name->text;
  out->flags = fn->flags;
  out->loc = fn->loc;
  out->declared_only = !fn->defined;
  memcpy(out->maxntid, fn->maxntid, sizeof out->maxntid);
  memcpy(out->reqntid, fn->reqntid, sizeof out->reqntid);
  out->minnctapersm = fn->minnctapersm;
  memcpy(out->reqncta, fn->reqncta, sizeof out->reqncta);
  out->maxclusterrank = fn->maxclusterrank;
  if (!fn->defined) return;
  out->physical = fn->physical;
  if (fn->physical) { /* its tables and prototypes are numbered by their names, in order */
    memcpy(out->slots, fn->slots, sizeof out->slots);
    out->names = fn->names;
    out->nnames = fn->nnames;
    out->shared = fn->uses;
    out->nshared = fn->nuses;
  }
  l->frame = fn->is_entry ? 0 : fn->sig.mem_bytes;
  l->locals_at = l->frame;
  l->frame += fn->local_bytes;
  out->locals = fn->locals;
  out->nlocals = fn->nlocals;
  for (uint32_t k = 0; k < fn->nlocals && !fn->physical; k++) fn->locals[k].offset += (uint32_t)l->locals_at;
  if (fn->is_entry) mx__kernel_params(l);
  else mx__declare_slots(l);
  if (!fn->physical) {
    mx__scan_params(l);
    mx__place_call_vars(l);
    if (!fn->is_entry) mx__store_arguments(l);
  }
  for (uint32_t k = 0; k < fn->nstmts; k++) lower_statement(l, &fn->stmts[k]);
  if (!fn->physical) {
    /* control that reaches the end returns */
    bool ends =
        l->body.n && mx__ops[l->body.v[l->body.n - 1].op].flags & MX_F_END && l->body.v[l->body.n - 1].guard == IR_NONE;
    for (uint32_t k = 0; k < out->nlabels && ends; k++) ends = out->labels[k].insn != l->body.n;
    struct stmt s = {.kind = ST_INSN, .mnemonic = NAME(f, "ret"), .loc = l->loc, .scope = fn->scope};
    if (!ends) lower_ret(l, &s, IR_NONE);
  }
  join_code(l);
  out->arg_bytes = fn->physical ? fn->frame[1] : fn->is_entry ? 0 : (uint32_t)fn->sig.mem_bytes;
  out->local_bytes = fn->physical ? fn->frame[0] : (uint32_t)((l->frame + 15) & ~(uint64_t)15);
}

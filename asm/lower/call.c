/* Parameters and calls in IR. Separate from lower.c, which knows plain statements and control.
 *
 * How parameters of .func travel follows from the signature alone, so that indirect calls agree with it: scalars in
 * slots, arrays in memory at %local_top + offset of the caller, which is %local_base + offset of the callee. What is
 * done with a parameter inside a function does not change how it travels: a scalar accessed in parts, or whose address
 * is taken, gets memory in the frame ("home" below) and is stored there. */
#include "lower.h"

#include <string.h>

enum {
  HOME_UNKNOWN,
  HOME_SLOT,
  HOME_FRAME,
  HOME_CALL
}; /* of a call's .param variable; HOME_CALL: in the callee's area */

bool mx__is_param_access(const char *m) {
  return (mx__base_is(m, "ld") || mx__base_is(m, "st")) && (strstr(m, ".param.") || strstr(m, ".param::"));
}

/* ---- what is done with parameters --------------------------------------------------------------------------*/
static bool is_whole(struct lower *l, const struct stmt *s, const struct opnd *o, uint8_t type, bool is_array) {
  unsigned count, bits = mx__types[type].bits;
  int said = mx__last_type(s->mnemonic->text, &count);
  if (is_array || !mx__is_param_access(s->mnemonic->text) || !o->is_address || o->e.value || o->e.index ||
      o->e.has_element || s->nopnds != 2)
    return false;
  if (said == MX_T_none || mx__types[said].bits != bits || bits < 16 || bits > 64) return false;
  const struct expr *other = &s->opnds[o == &s->opnds[0] ? 1 : 0].e;
  if (!other->base) return other->kind != EX_STRING;
  struct sym *y = other->suffix ? NULL : mx__scope_find(&l->f->names, s->scope, other->base);
  if (!y) return true; /* implicit, a special register, or an error */
  return y->kind == SYM_REG && (y->type == MX_T_none || mx__types[y->type].bits == bits) && !y->vec;
}

/* Every mention of a parameter or .param variable other than as a whole makes it live in memory. */
void mx__scan_params(struct lower *l) {
  struct func *fn = l->fn;
  for (uint32_t k = 0; k < fn->nstmts; k++) {
    struct stmt *s = &fn->stmts[k];
    if (s->kind == ST_INSN &&
        (mx__base_is(s->mnemonic->text, "alloca") || mx__base_is(s->mnemonic->text, "stackrestore")))
      l->has_alloca = true;
    if (s->kind == ST_LABEL) continue;
    for (uint32_t n = 0; n < s->nopnds; n++) {
      const struct opnd *o = &s->opnds[n];
      if (!o->e.base) continue;
      struct sym *y = mx__scope_find(&l->f->names, s->scope, o->e.base);
      if (!y || (y->kind != SYM_PARAM && y->kind != SYM_CALLVAR)) continue;
      if (y->kind == SYM_CALLVAR) {
        struct callvar *c = y->detail;
        if (s->kind == ST_CALL) c->nuses++;
        else if (!is_whole(l, s, o, c->type, c->is_array)) c->partial = true;
      } else if (!fn->is_entry && s->kind != ST_CALL) {
        struct param *p = y->detail;
        if (!p->is_array && !is_whole(l, s, o, p->type, false)) p->in_memory = true;
      }
    }
  }
}

static uint64_t frame_room(struct lower *l, uint64_t size, uint32_t align) {
  uint64_t at = (l->frame + align - 1) & ~(uint64_t)(align - 1);
  l->frame = at + size;
  return at;
}

/* ---- loads and stores that the assembler makes ----------------------------------------------------------------*/
static int slot_type(int type) { return mx__types[type].bits == 8 ? MX_T_b16 : type; }

/* Moves a value between a register and memory in the frame or the callee's area. */
static bool access_memory(struct lower *l, bool store, int type, uint32_t reg, uint32_t base, uint64_t offset) {
  struct vals vs = {0};
  int width = mx__types[type].bits;
  const char *suffix = width == 8 ? "b8" : width == 16 ? "b16" : width == 32 ? "b32" : width == 64 ? "b64" : "b128";
  if (!store) mx__push_reg(l, &vs, reg);
  mx__push_reg(l, &vs, base);
  vs.v[vs.n - 1].is_address = true;
  struct val *off = mx__push(l, &vs);
  off->kind = V_OFF;
  off->offset = offset;
  if (store) mx__push_reg(l, &vs, reg);
  if (width == 8 && !store) suffix = "u8";
  return mx__emit_instruction(l, mx__arena_printf(l->f->arena, "%s.local.%s", store ? "st" : "ld", suffix), NULL, &vs,
                              IR_NONE, false, l->loc);
}

static uint32_t local_top(struct lower *l) {
  if (l->has_alloca) return mx__read_sreg(l, MX_SR_LOCAL_TOP);
  if (!l->local_top) {
    struct code *to = l->to;
    l->to = &l->prologue;
    l->local_top = mx__read_sreg(l, MX_SR_LOCAL_TOP) + 1;
    l->to = to;
  }
  return l->local_top - 1;
}

static bool copy_memory(struct lower *l, uint32_t to, uint64_t to_offset, uint32_t from, uint64_t from_offset,
                        uint64_t size, uint32_t align) {
  static const int types[] = {MX_T_b64, MX_T_b32, MX_T_b16, MX_T_b8};
  bool fine = true;
  for (uint64_t at = 0; at < size && fine;) {
    unsigned k = 0, bytes = 8;
    while (bytes > 1 && (bytes > align || bytes > size - at || (at & (bytes - 1)))) bytes /= 2, k++;
    uint32_t r = mx__new_reg(l, NULL, slot_type(types[k]), l->loc);
    fine = access_memory(l, false, types[k], r, from, from_offset + at) &&
           access_memory(l, true, types[k], r, to, to_offset + at);
    at += bytes;
  }
  return fine;
}

/* ---- ld.param and st.param -----------------------------------------------------------------------------------*/
/* The same mnemonic for the local space. */
static const char *as_local(struct lower *l, const char *m) {
  const char *p = strstr(m, ".param");
  size_t n = strcspn(p + 1, ".") + 1;
  return mx__arena_printf(l->f->arena, "%.*s.local%s", (int)(p - m), m, p + n);
}

static uint64_t elem_of(struct sym *y) { return y->elem ? y->elem : 1; }

/* Where the variable lives; decided at its first use. */
static void decide_home(struct lower *l, struct sym *y) {
  struct callvar *c = y->detail;
  if (c->home != HOME_UNKNOWN) return;
  if (!c->is_array && !c->partial) {
    c->home = HOME_SLOT;
    c->reg = mx__new_reg(l, y->name->text, slot_type(c->type), y->loc);
  } else {
    c->home = HOME_FRAME;
    c->offset = frame_room(l, c->size, c->align);
  }
}

static bool callvar_base(struct lower *l, struct callvar *c, uint32_t *base, uint64_t *offset) {
  *base = c->home == HOME_CALL ? local_top(l) : mx__local_base(l);
  *offset = c->offset;
  return true;
}

/* Accesses in a .func, and to call variables anywhere. True: handled (or reported). */
bool mx__lower_param_access(struct lower *l, const struct stmt *s, uint32_t guard) {
  struct front *f = l->f;
  bool load = mx__base_is(s->mnemonic->text, "ld");
  uint32_t at = load ? s->nopnds - 1 : 0;
  if (s->nopnds < 2) return false;
  while (load && at > 0 && !s->opnds[at].is_address) at--;
  const struct opnd *a = &s->opnds[at];
  struct sym *y = a->is_address && a->e.base ? mx__scope_find(&f->names, s->scope, a->e.base) : NULL;
  bool call = y && y->kind == SYM_CALLVAR, formal = y && y->kind == SYM_PARAM && !l->fn->is_entry;
  if (!call && !formal) {
    if (l->fn->is_entry) return false;
    /* an address in a register: parameters in memory lie in the frame */
  }
  if (call) decide_home(l, y);
  struct callvar *c = call ? y->detail : NULL;
  struct param *p = formal ? y->detail : NULL;
  const struct opnd *other = &s->opnds[load ? 0 : 1];
  if ((call && c->home == HOME_SLOT) || (formal && !p->is_array && !p->in_memory)) {
    uint32_t reg = call ? c->reg : p->reg - 1;
    unsigned count;
    int said = mx__last_type(s->mnemonic->text, &count);
    struct vals vs = {0};
    if (load) {
      if (!mx__operand(l, other, &vs, false)) return true;
      mx__push_reg(l, &vs, reg);
    } else {
      mx__push_reg(l, &vs, reg);
      if (!mx__operand(l, other, &vs, false)) return true;
    }
    mx__emit_instruction(l, mx__arena_printf(f->arena, "mov.%s", mx__types[said].name), NULL, &vs, guard, s->guard_neg,
                         s->loc);
    return true;
  }
  /* memory: the same access in the local space */
  struct vals vs = {0};
  for (uint32_t k = 0; k < s->nopnds; k++) {
    if (k != at || !(call || formal)) {
      if (!mx__operand(l, &s->opnds[k], &vs, false)) return true;
      continue;
    }
    uint32_t base;
    uint64_t offset;
    if (call) {
      callvar_base(l, c, &base, &offset);
    } else {
      base = mx__local_base(l);
      offset = p->local;
    }
    if (a->e.index) {
      ERR(f, "bad-address", a->e.loc, NULL, "a parameter's address takes no index");
      return true;
    }
    mx__push_reg(l, &vs, base);
    vs.v[vs.n - 1].is_address = true;
    vs.v[vs.n - 1].number = a->number;
    struct val *off = mx__push(l, &vs);
    off->kind = V_OFF;
    off->offset = offset + a->e.value + (a->e.has_element ? a->e.element * elem_of(y) : 0);
  }
  mx__emit_instruction(l, as_local(l, s->mnemonic->text), NULL, &vs, guard, s->guard_neg, s->loc);
  return true;
}

/* ---- calls -----------------------------------------------------------------------------------------------------*/
struct slot_list {
  struct ir_opnd *v;
  uint32_t n;
};

static void add_slot(struct lower *l, struct slot_list *s, struct ir_opnd o) {
  if (!s->v) s->v = mx__arena_alloc(l->f->arena, (MAX_FUNC_PARAMS * 2 + 2) * sizeof *s->v);
  s->v[s->n++] = o;
}

static struct callvar *as_callvar(struct lower *l, const struct opnd *o, struct sym **sym) {
  if (!o->e.base || o->e.suffix || o->e.value || o->is_address) return NULL;
  struct sym *y = mx__scope_find(&l->f->names, l->scope, o->e.base);
  if (!y || y->kind != SYM_CALLVAR) return NULL;
  *sym = y;
  return y->detail;
}

static bool wrong_argument(struct lower *l, const struct opnd *o, const struct param *p, const char *callee,
                           bool result) {
  ERR(l->f, "call-type", o->e.loc, NULL, "%s: this %s does not fit: .%s%s is expected", callee,
      result ? "result" : "argument", mx__types[p->type].name,
      p->is_array ? mx__arena_printf(l->f->arena, " with %llu bytes", (unsigned long long)p->size) : "");
  return false;
}

/* A variable used by one call only, in a scope that holds one call and no label, may lie where the callee looks for it.
 */
static bool may_lie_in_call(struct lower *l, struct sym *y, const struct callvar *c) {
  return c->nuses == 1 && y->scope->ncalls == 1 && !y->scope->nlabels && y->scope->depth > l->fn->scope->depth &&
         !l->has_alloca;
}

/* Before lowering: arrays that may be written straight into the callee's area. */
static void place_call_vars(struct lower *l, const struct stmt *s, const struct signature *sig) {
  l->scope = s->scope;
  for (uint32_t k = 0; k < s->nres + s->nargs; k++) {
    bool res = k < s->nres;
    const struct param *p = res                       ? k < sig->nres ? &sig->res[k] : NULL
                            : k - s->nres < sig->narg ? &sig->arg[k - s->nres]
                                                      : NULL;
    struct sym *y;
    struct callvar *c = as_callvar(l, &s->opnds[res ? k : k + 1], &y);
    if (!p || !c || !p->is_array || !c->is_array || c->size != p->size || c->home != HOME_UNKNOWN ||
        !may_lie_in_call(l, y, c))
      continue;
    c->home = HOME_CALL;
    c->offset = p->local;
  }
}

static bool pass_argument(struct lower *l, const struct opnd *o, const struct param *p, const char *callee,
                          struct slot_list *args) {
  struct sym *y = NULL;
  struct callvar *c = as_callvar(l, o, &y);
  if (c) decide_home(l, y);
  if (p->is_array) {
    if (!c || !c->is_array || c->size != p->size) {
      struct sym *own = o->e.base ? mx__scope_find(&l->f->names, l->scope, o->e.base) : NULL;
      struct param *mine = own && own->kind == SYM_PARAM && !l->fn->is_entry ? own->detail : NULL;
      if (mine && mine->is_array && mine->size == p->size) /* our own parameter, handed on */
        return copy_memory(l, local_top(l), p->local, mx__local_base(l), mine->local, p->size,
                           p->align < mine->align ? p->align : mine->align);
      return wrong_argument(l, o, p, callee, false);
    }
    if (c->home == HOME_CALL) return true;
    return copy_memory(l, local_top(l), p->local, mx__local_base(l), c->offset, p->size,
                       p->align < c->align ? p->align : c->align);
  }
  int type = slot_type(p->type);
  if (c) {
    if (c->is_array || mx__types[c->type].bits != mx__types[p->type].bits)
      return wrong_argument(l, o, p, callee, false);
    uint32_t reg = c->reg;
    if (c->home != HOME_SLOT) {
      reg = mx__new_reg(l, NULL, type, l->loc);
      if (!access_memory(l, false, c->type, reg, mx__local_base(l), c->offset)) return false;
    }
    add_slot(l, args, (struct ir_opnd){.kind = IR_REG, .reg = reg});
    return true;
  }
  struct vals vs = {0};
  if (!mx__operand(l, o, &vs, false)) return false;
  struct val *v = &vs.v[0];
  if (vs.n != 1 || v->kind == V_DISCARDED || v->selector || v->minus) return wrong_argument(l, o, p, callee, false);
  if (v->kind == V_REG && v->type == MX_T_none) {
    mx__unwritten(l, v->sym, v->loc, false);
    return false;
  }
  if (v->kind == V_CONST) {
    uint64_t bits;
    if (!mx__literal_bits(l->f, v->expr, type, &bits)) return false;
    add_slot(l, args, (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = bits}});
    return true;
  }
  if (v->kind == V_LIT && mx__types[type].bits >= 32 && type != MX_T_f32 && type != MX_T_f64) {
    add_slot(l, args, (struct ir_opnd){.kind = IR_LIT, .lit = v->lit});
    return true;
  }
  if (v->kind == V_LIT || !mx__value_reg(l, v, type)) return wrong_argument(l, o, p, callee, false);
  unsigned have = mx__types[v->type].bits, want = mx__types[type].bits;
  if (have != want && !(have == 8 && want == 16)) return wrong_argument(l, o, p, callee, false);
  add_slot(l, args, (struct ir_opnd){.kind = IR_REG, .reg = v->reg});
  return true;
}

/* What must happen after the call: results that do not lie in slots. */
struct after {
  struct callvar *var;
  const struct param *p;
  uint32_t reg;
};

static bool take_result(struct lower *l, const struct opnd *o, const struct param *p, const char *callee,
                        struct slot_list *res, struct after *after) {
  struct sym *y = NULL;
  struct callvar *c = as_callvar(l, o, &y);
  if (c) decide_home(l, y);
  *after = (struct after){0};
  if (p->is_array) {
    if (!c || !c->is_array || c->size != p->size) return wrong_argument(l, o, p, callee, true);
    if (c->home == HOME_FRAME) *after = (struct after){c, p, 0};
    return true;
  }
  int type = slot_type(p->type);
  if (c) {
    if (c->is_array || mx__types[c->type].bits != mx__types[p->type].bits) return wrong_argument(l, o, p, callee, true);
    uint32_t reg = c->reg;
    if (c->home != HOME_SLOT) {
      reg = mx__new_reg(l, NULL, type, l->loc);
      *after = (struct after){c, p, reg};
    }
    add_slot(l, res, (struct ir_opnd){.kind = IR_REG, .reg = reg});
    return true;
  }
  struct vals vs = {0};
  if (!mx__operand(l, o, &vs, false)) return false;
  struct val *v = &vs.v[0];
  if (vs.n == 1 && v->kind == V_DISCARDED) {
    add_slot(l, res, (struct ir_opnd){.kind = IR_REG, .reg = mx__new_reg(l, NULL, type, l->loc)});
    return true;
  }
  if (vs.n != 1 || v->kind != V_REG || v->minus || (v->sym && v->sym->kind == SYM_PARAM))
    return wrong_argument(l, o, p, callee, true);
  if (v->type == MX_T_none) {
    v->sym->type = (uint8_t)type;
    v->sym->loc = v->loc;
    l->out->regs[v->reg].type = v->type = (uint8_t)type;
  }
  unsigned have = mx__types[v->type].bits, want = mx__types[type].bits;
  if (have != want && !(have == 8 && want == 16)) return wrong_argument(l, o, p, callee, true);
  add_slot(l, res, (struct ir_opnd){.kind = IR_REG, .reg = v->reg});
  return true;
}

/* The prototype or target list of an indirect call, as a number of the function's prototypes. */
static const struct signature *indirect_signature(struct lower *l, const struct stmt *s, uint32_t *number) {
  struct front *f = l->f;
  uint32_t last = s->nres + 1 + s->nargs;
  const struct expr *e = last < s->nopnds ? &s->opnds[last].e : NULL;
  struct sym *y = e && e->base ? mx__scope_find(&f->names, s->scope, e->base) : NULL;
  const struct signature *sig = NULL;
  uint32_t *index = NULL;
  if (y && y->kind == SYM_PROTO) {
    struct proto *p = y->detail;
    sig = &p->sig;
    index = &p->index;
  } else if (y && y->kind == SYM_TABLE && y->is_unsigned) {
    struct table *t = y->detail;
    struct sym *first = t->n ? mx__scope_find(&f->names, f->scope, t->labels[0]) : NULL;
    if (!first || first->kind != SYM_FUNC) {
      ERR(f, "unknown-name", t->n ? t->locs[0] : s->loc, NULL, ".calltargets: expected names of functions");
      return NULL;
    }
    sig = &((struct func *)first->detail)->sig;
    index = &t->index;
  } else {
    ERR(f, "no-prototype", s->loc, "write the name of a .callprototype or .calltargets behind the arguments",
        "an indirect call needs its prototype");
    return NULL;
  }
  if (*index == UINT32_MAX) {
    struct ir_func *o = l->out;
    GROW(f->arena, o->protos, o->nprotos, l->cap_protos);
    uint8_t *cls = mx__arena_alloc(f->arena, sig->nres + sig->narg + 1u);
    struct mx_proto p = {.res = cls, .arg = cls + sig->nres};
    for (uint32_t k = 0; k < sig->nres; k++)
      if (!sig->res[k].is_array) cls[p.nres++] = mx__types[sig->res[k].type].slot_class;
    p.arg = cls + p.nres;
    cls[p.nres + p.narg++] = MX_R64;
    for (uint32_t k = 0; k < sig->narg; k++)
      if (!sig->arg[k].is_array) cls[p.nres + p.narg++] = mx__types[sig->arg[k].type].slot_class;
    *index = o->nprotos;
    o->protos[o->nprotos++] = p;
  }
  *number = *index;
  return sig;
}

static struct func *direct_callee(struct lower *l, const struct stmt *s) {
  const struct expr *e = &s->opnds[s->nres].e;
  struct sym *y = e->base && !e->value ? mx__scope_find(&l->f->names, s->scope, e->base) : NULL;
  struct func *fn = y && y->kind == SYM_FUNC ? y->detail : NULL;
  return fn && fn->alias ? fn->alias : fn;
}

/* vprintf, malloc, __nv_expf and the like: declared, not defined, and known to the tables. */
static bool is_named(struct lower *l, const struct func *fn) {
  return fn && !fn->defined && mx__is_named(l, fn->name->text);
}

void mx__lower_call(struct lower *l, const struct stmt *s, uint32_t guard) {
  struct front *f = l->f;
  struct func *fn = direct_callee(l, s);
  const struct signature *sig = fn ? &fn->sig : NULL;
  const char *callee = fn ? fn->name->text : "call";
  uint32_t number = fn ? fn->index : 0;
  struct val target = {0};
  const bool named = is_named(l, fn);
  if (fn && !fn->defined && !named) {
    ERR(f, "undefined-function", s->opnds[s->nres].e.loc, NULL,
        fn->is_extern ? "function '%s' is declared but not defined, and no function that mx provides"
                      : "function '%s' is declared but not defined",
        callee);
    if (f->source_lines && s->line.line && s->line.file && s->line.file <= f->nfiles)
      mx__diag(&f->diags, MX_DIAG_NOTE, "undefined-function", s->loc, NULL, "called in %s:%u",
               f->files[s->line.file - 1]->text, s->line.line);
    return;
  }
  if (fn && fn->is_entry) {
    ERR(f, "call-type", s->opnds[s->nres].e.loc, NULL, "'%s' is a kernel and cannot be called", callee);
    return;
  }
  if (!fn) {
    struct vals vs = {0};
    const struct expr *e = &s->opnds[s->nres].e;
    struct sym *y = e->base && e->base->text[0] != '%' ? mx__scope_find(&f->names, s->scope, e->base) : NULL;
    if (e->base && e->base->text[0] != '%' && !y) {
      const char *near = mx__near(l->f, f->scope, e->base->text, SYM_FUNC);
      ERR(f, "undefined-function", e->loc, near, "function '%s' is not declared", e->base->text);
      return;
    }
    if (!mx__operand(l, &s->opnds[s->nres], &vs, false)) return;
    target = vs.v[0];
    if (vs.n != 1 || target.kind != V_REG || mx__types[target.type].bits != 64) {
      ERR(f, "call-type", e->loc, NULL, "call: expected a function or a .u64 or .b64 register that holds its address");
      return;
    }
    sig = indirect_signature(l, s, &number);
    if (!sig) return;
  }
  if (s->nres != sig->nres || s->nargs != sig->narg) {
    ERR(f, "call-count", s->loc, NULL, "%s: has %u results and %u arguments, found %u and %u", callee, sig->nres,
        sig->narg, s->nres, s->nargs);
    return;
  }
  uint32_t skip = IR_NONE;
  if (guard != IR_NONE) {
    skip = mx__new_label(l, NULL, s->loc);
    mx__branch(l, skip, guard, !s->guard_neg);
  }
  struct slot_list res = {0}, args = {0};
  struct after *after = mx__arena_alloc(f->arena, (s->nres + 1) * sizeof *after);
  bool fine = true;
  for (uint32_t k = 0; k < s->nargs; k++)
    fine &= pass_argument(l, &s->opnds[s->nres + 1 + k], &sig->arg[k], callee, &args);
  for (uint32_t k = 0; k < s->nres; k++) fine &= take_result(l, &s->opnds[k], &sig->res[k], callee, &res, &after[k]);
  if (!fine) return;
  if (named) {
    if (!mx__lower_named(l, s, callee, res.v, res.n, args.v, args.n)) return;
  } else {
    struct ir_insn *i = mx__emit(l, fn ? MX_CALL : MX_CALLI, 0, res.n + args.n + (fn ? 0 : 1));
    i->callee = number;
    i->nres = res.n;
    if (res.n) memcpy(i->opnds, res.v, res.n * sizeof *res.v);
    uint32_t at = res.n;
    if (!fn) i->opnds[at++] = (struct ir_opnd){.kind = IR_REG, .reg = target.reg};
    if (args.n) memcpy(i->opnds + at, args.v, args.n * sizeof *args.v);
  }
  for (uint32_t k = 0; k < s->nres; k++) {
    struct after *a = &after[k];
    if (!a->var) continue;
    if (a->p->is_array)
      copy_memory(l, mx__local_base(l), a->var->offset, local_top(l), a->p->local, a->p->size,
                  a->p->align < a->var->align ? a->p->align : a->var->align);
    else access_memory(l, true, a->var->type, a->reg, mx__local_base(l), a->var->offset);
  }
  if (skip != IR_NONE) mx__bind_label(l, skip);
}

void mx__lower_physical_call(struct lower *l, const struct stmt *s) {
  struct front *f = l->f;
  struct func *fn = direct_callee(l, s);
  uint32_t number = fn ? fn->index : 0;
  if (!fn && !indirect_signature(l, s, &number)) return;
  struct ir_insn *i = mx__emit(l, fn ? MX_CALL : MX_CALLI, 0, s->nres + s->nargs + (fn ? 0 : 1));
  i->callee = number;
  i->nres = s->nres;
  uint32_t at = 0;
  for (uint32_t k = 0; k < s->nres + 1 + s->nargs; k++) {
    if (k == s->nres && fn) continue;
    struct vals vs = {0};
    if (!mx__operand(l, &s->opnds[k], &vs, false)) return;
    const struct val *v = &vs.v[0];
    if (v->kind == V_REG) i->opnds[at++] = (struct ir_opnd){.kind = IR_REG, .reg = v->reg};
    else if (v->kind == V_LIT) i->opnds[at++] = (struct ir_opnd){.kind = IR_LIT, .lit = v->lit};
    else if (v->kind == V_CONST)
      i->opnds[at++] = (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = v->expr->value}};
    else {
      ERR(f, "call-type", v->loc, NULL, "call: expected a slot or a literal");
      return;
    }
  }
}

/* ---- a function's own parameters ----------------------------------------------------------------------------*/
/* Results that live in memory go to their slots before the function returns. */
void mx__load_results(struct lower *l) {
  for (uint32_t k = 0; k < l->fn->sig.nres; k++) {
    const struct param *p = &l->fn->sig.res[k];
    if (!p->is_array && p->in_memory) access_memory(l, false, p->type, p->reg - 1, mx__local_base(l), p->local);
  }
}

/* Signatures of all calls, to place arrays before anything is written to them. */
void mx__place_call_vars(struct lower *l) {
  for (uint32_t k = 0; k < l->fn->nstmts; k++) {
    const struct stmt *s = &l->fn->stmts[k];
    if (s->kind != ST_INSN && s->kind != ST_CALL) continue;
    if (!mx__base_is(s->mnemonic->text, "call") || s->nres >= s->nopnds) continue;
    struct func *fn = direct_callee(l, s);
    if (fn && !is_named(l, fn)) {
      place_call_vars(l, s, &fn->sig);
    } else if (!fn) {
      uint32_t last = s->nres + 1 + s->nargs;
      struct sym *y = last < s->nopnds && s->opnds[last].e.base
                          ? mx__scope_find(&l->f->names, s->scope, s->opnds[last].e.base)
                          : NULL;
      if (y && y->kind == SYM_PROTO) place_call_vars(l, s, &((struct proto *)y->detail)->sig);
    }
  }
}

void mx__declare_slots(struct lower *l) {
  struct func *fn = l->fn;
  struct ir_func *o = l->out;
  o->results = mx__arena_alloc(l->f->arena, (fn->sig.nres + fn->sig.narg + 2u) * sizeof *o->results);
  o->args = o->results + fn->sig.nres;
  for (uint32_t k = 0; k < fn->sig.nres + fn->sig.narg; k++) {
    bool res = k < fn->sig.nres;
    struct param *p = res ? &fn->sig.res[k] : &fn->sig.arg[k - fn->sig.nres];
    if (p->is_array || !p->name) continue;
    if (fn->physical && p->is_reg) {
      struct sym *y = mx__scope_find_here(&l->f->names, fn->scope, p->name);
      uint8_t type;
      uint32_t slot;
      if (!mx__physical(p->name->text, &type, &slot)) {
        ERR(l->f, "syntax", p->loc, NULL, "'%s': with .slots, arguments and results are slots", p->name->text);
        continue;
      }
      if (!p->reg) p->reg = (y && y->index ? y->index - 1 : mx__new_reg(l, NULL, type, p->loc)) + 1;
      if (y) y->index = p->reg, y->type = type;
      o->regs[p->reg - 1].fixed = (int32_t)slot;
    } else if (!p->reg) {
      p->reg = mx__new_reg(l, p->name->text, slot_type(p->type), p->loc) + 1;
      struct sym *y = mx__scope_find_here(&l->f->names, fn->scope, p->name);
      if (y && y->kind == SYM_REG) y->index = p->reg;
    }
    (res ? o->results : o->args)[res ? o->nresults++ : o->nargs++] = p->reg - 1;
  }
}

void mx__store_arguments(struct lower *l) {
  struct func *fn = l->fn;
  for (uint32_t k = 0; k < fn->sig.nres + fn->sig.narg; k++) {
    bool res = k < fn->sig.nres;
    struct param *p = res ? &fn->sig.res[k] : &fn->sig.arg[k - fn->sig.nres];
    if (p->is_array || !p->in_memory || !p->reg) continue;
    p->local = frame_room(l, p->size, p->align);
    if (res) continue;
    struct code *to = l->to;
    uint32_t base = mx__local_base(l);
    l->to = &l->prologue;
    access_memory(l, true, p->type, p->reg - 1, base, p->local);
    l->to = to;
  }
}

void mx__kernel_params(struct lower *l) {
  struct func *fn = l->fn;
  struct ir_func *o = l->out;
  uint64_t at = 0;
  o->params = mx__arena_alloc(l->f->arena, fn->sig.narg * sizeof *o->params);
  for (uint32_t k = 0; k < fn->sig.narg; k++) {
    struct param *p = &fn->sig.arg[k];
    at = (at + p->align - 1) & ~(uint64_t)(p->align - 1);
    if (!p->has_offset) p->offset = at;
    at = p->offset + p->size;
    if (at > MX_MAX_PARAM_BYTES) {
      ERR(l->f, "too-many", p->loc, NULL, "the parameters take more than %u bytes", MX_MAX_PARAM_BYTES);
      at = 0;
      p->offset = 0;
    }
    o->params[k] = (struct mx_param){.name = p->name ? p->name->text : "",
                                     .offset = (uint32_t)p->offset,
                                     .size = (uint32_t)p->size,
                                     .align = (uint16_t)(p->align > 32768 ? 32768 : p->align),
                                     .type = p->type,
                                     .is_pointer = p->is_pointer};
  }
  o->nparams = fn->sig.narg;
  o->param_bytes = fn->physical && fn->paramsize ? fn->paramsize : (uint32_t)at;
}

/* Makes values of operands, and has what every part of this folder emits with: new registers, labels, branches and
 * instructions. Of the table's rows it names only those that read special registers, negate a predicate and branch;
 * choose.c picks the row of any other instruction. */
#include "lower.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- building blocks -----------------------------------------------------------------------------------*/
uint32_t mx__new_reg(struct lower *l, const char *name, int type, struct ir_loc loc) {
  struct ir_func *o = l->out;
  GROW(l->f->arena, o->regs, o->nregs, l->cap_regs);
  o->regs[o->nregs] = (struct ir_reg){.name = name, .type = (uint8_t)type, .fixed = -1, .loc = loc};
  return o->nregs++;
}

uint32_t mx__reg_of(struct lower *l, struct sym *y) {
  if (!y->index) y->index = mx__new_reg(l, y->name->text, y->type, y->loc) + 1;
  return y->index - 1;
}

struct ir_insn *mx__emit(struct lower *l, unsigned op, unsigned mod, uint32_t nopnds) {
  struct code *c = l->to;
  GROW(l->f->arena, c->v, c->n, c->cap);
  struct ir_insn *i = &c->v[c->n++];
  *i = (struct ir_insn){.op = (uint16_t)op,
                        .mod = (uint8_t)mod,
                        .guard = IR_NONE,
                        .target = IR_NONE,
                        .reconv = IR_NONE,
                        .nopnds = nopnds,
                        .loc = l->loc};
  i->opnds = nopnds ? mx__arena_alloc(l->f->arena, nopnds * sizeof *i->opnds) : NULL;
  return i;
}

uint32_t mx__new_label(struct lower *l, const char *name, struct ir_loc loc) {
  struct ir_func *o = l->out;
  GROW(l->f->arena, o->labels, o->nlabels, l->cap_labels);
  o->labels[o->nlabels] = (struct ir_label){.name = name, .insn = UINT32_MAX, .loc = loc};
  return o->nlabels++;
}

void mx__bind_label(struct lower *l, uint32_t label) { l->out->labels[label].insn = l->body.n; }

void mx__branch(struct lower *l, uint32_t label, uint32_t guard, bool neg) {
  struct ir_insn *i = mx__emit(l, MX_BRA, 0, 0);
  i->target = label;
  i->guard = guard;
  i->guard_neg = neg;
}

struct val *mx__push(struct lower *l, struct vals *vs) {
  GROW(l->f->arena, vs->v, vs->n, vs->cap);
  vs->v[vs->n] = (struct val){.type = MX_T_none, .loc = l->loc};
  return &vs->v[vs->n++];
}

void mx__push_reg(struct lower *l, struct vals *vs, uint32_t reg) {
  struct val *v = mx__push(l, vs);
  v->kind = V_REG;
  v->reg = reg;
  v->type = l->out->regs[reg].type;
}

void mx__push_const(struct lower *l, struct vals *vs, uint64_t n) {
  struct val *v = mx__push(l, vs);
  struct expr *e = mx__arena_alloc(l->f->arena, sizeof *e);
  *e = (struct expr){.kind = EX_INT, .value = n, .is_unsigned = n >> 63, .loc = l->loc};
  v->kind = V_CONST;
  v->expr = e;
}

void mx__use_shared(struct lower *l, uint32_t var) {
  if (l->f->vars[var].space != MX_SHARED || l->last_named_by[var] == l->fn->index + 1 || l->fn->physical) return;
  l->last_named_by[var] = l->fn->index + 1;
  GROW(l->f->arena, l->out->shared, l->out->nshared, l->cap_shared);
  l->out->shared[l->out->nshared++] = var;
}

/* ---- special registers -----------------------------------------------------------------------------------*/
/* Of two registers of one name (lanemasks) the one with `bits` bits; 0: the first, or in 64-lane modules the wide one.
 */
bool mx__find_sreg(const char *name, uint32_t lanes, int bits, uint32_t *number) {
  bool found = false;
  for (uint32_t k = 0; k < MX_SR_COUNT; k++) {
    if (strcmp(mx__sregs[k].name, name)) continue;
    int have = mx__types[mx__sregs[k].type].bits;
    if (!found || have == bits || (!bits && have == 64 && lanes == 64)) *number = k;
    found = true;
    if (have == bits) return true;
  }
  return found;
}

struct ir_insn *mx__emit_sreg(struct lower *l, uint32_t reg, unsigned sreg) {
  const unsigned bits = mx__types[mx__sregs[sreg].type].bits;
  struct ir_insn *i = mx__emit(l, bits == 1 ? MX_SREG_PRED : bits == 64 ? MX_SREG_64 : MX_SREG_32, 0, 2);
  i->opnds[0] = (struct ir_opnd){.kind = IR_REG, .reg = reg};
  i->opnds[1] = (struct ir_opnd){.kind = IR_RAW, .raw = sreg};
  return i;
}

uint32_t mx__read_sreg(struct lower *l, unsigned sreg) {
  uint32_t r = mx__new_reg(l, NULL, mx__sregs[sreg].type, l->loc);
  mx__emit_sreg(l, r, sreg);
  return r;
}

uint32_t mx__local_base(struct lower *l) {
  if (!l->local_base) {
    struct code *to = l->to;
    l->to = &l->prologue;
    l->local_base = mx__read_sreg(l, MX_SR_LOCAL_BASE) + 1;
    l->to = to;
  }
  return l->local_base - 1;
}

/* ---- names to values -------------------------------------------------------------------------------------*/
/* A hint for a name that is none: the special register that CUDA C++ calls so, or one of a near name; NULL: neither.
 * `text` may begin with % and end with a part, .x. */
static const char *near_sreg(struct lower *l, const char *text) {
  static const char *const cuda[][2] = {{"threadIdx", "tid"},  {"blockIdx", "ctaid"}, {"blockDim", "ntid"},
                                        {"gridDim", "nctaid"}, {"laneId", "laneid"},  {"lane_id", "laneid"},
                                        {"warpId", "warpid"},  {"warp_id", "warpid"}};
  struct mx_arena *a = l->f->arena;
  if (l->f->diags.errors >= MX_DIAG_HINTS) return NULL;
  text += *text == '%';
  const size_t base = strcspn(text, ".");
  if ((base == 8 && !strncasecmp(text, "warpsize", base)) || (base == 9 && !strncasecmp(text, "warp_size", base)))
    return "did you mean WARP_SZ?";
  for (size_t k = 0; k < sizeof cuda / sizeof *cuda; k++)
    if (strlen(cuda[k][0]) == base && !strncasecmp(cuda[k][0], text, base))
      return mx__arena_printf(a, "did you mean '%%%s%s'?", cuda[k][1], k < 4 && !text[base] ? ".x" : text + base);
  const char *whole = mx__arena_printf(a, "%.*s.x", (int)base, text);
  uint32_t number;
  if (mx__find_sreg(whole, l->f->lanes, 0, &number))
    return mx__arena_printf(a, "the parts of %%%.*s are .x, .y and .z", (int)base, text);
  struct nearest s = {text, NULL, 0};
  for (uint32_t k = 0; k < MX_SR_COUNT; k++) mx__nearest(&s, mx__sregs[k].name);
  return s.best ? mx__arena_printf(a, "did you mean '%%%s'?", s.best) : NULL;
}

static bool unknown_name(struct lower *l, const struct name *n, struct ir_loc loc) {
  struct front *f = l->f;
  const char *near = mx__near(l->f, l->scope, n->text, n->text[0] == '%' ? SYM_REG : -1);
  if (!near) near = near_sreg(l, n->text);
  if (!near)
    near = n->text[0] != '%' ? mx__arena_printf(f->arena, "a register is written %%%s", n->text)
                             : "in a function with any .reg, each register needs one";
  ERR(f, n->text[0] == '%' ? "unknown-register" : "unknown-name", loc, near,
      n->text[0] == '%' ? "register '%s' is not declared" : "'%s' is not declared", n->text);
  return false;
}

static struct mx_lit var_lit(struct lower *l, uint32_t var, bool generic, uint64_t addend) {
  mx__use_shared(l, var);
  return (struct mx_lit){.kind = generic ? MX_LIT_GENERIC : MX_LIT_VAR, .index = var, .value = addend};
}

static uint32_t string_var(struct lower *l, const struct expr *e) {
  struct front *f = l->f;
  struct name *text = mx__name(&f->names, e->bytes, e->nbytes);
  struct sym *y = mx__scope_find_here(&f->names, f->strings, text);
  if (y) return y->index;
  y = mx__scope_add(&f->names, f->strings, text, SYM_VAR, e->loc);
  y->index = f->nvars;
  struct mx_var *v = mx__new_var(f, mx__arena_printf(f->arena, "$text%u", f->nvars));
  v->space = MX_GLOBAL;
  v->align = 1;
  v->size = v->ninit = (uint64_t)e->nbytes + 1;
  v->init = (const uint8_t *)text->text;
  return y->index;
}

/* The value of parameter x, for `%x`: loaded once, at the function's start. */
static bool param_value(struct lower *l, struct sym *y, struct val *v) {
  struct param *p = y->detail;
  struct front *f = l->f;
  if (p->is_array || p->type == MX_T_b128 || mx__types[p->type].bits < 16) {
    ERR(f, "bad-operand", v->loc, NULL, "parameter '%s' is not one value of 16, 32 or 64 bits; load it from [%s]",
        y->name->text, y->name->text);
    return false;
  }
  if (!p->reg) {
    struct code *to = l->to;
    l->to = &l->prologue;
    const char *shown = mx__arena_printf(f->arena, "%%%s", y->name->text);
    p->reg = mx__new_reg(l, shown, p->type, y->loc) + 1;
    struct vals vs = {0};
    mx__push_reg(l, &vs, p->reg - 1);
    mx__push_const(l, &vs, p->offset);
    vs.v[1].is_address = true;
    mx__push(l, &vs)->kind = V_OFF;
    bool fine =
        mx__emit_instruction(l, mx__arena_printf(f->arena, "ld.param.%s", mx__types[p->type].name), NULL, &vs, IR_NONE,
                             false, y->loc); /* its line is the parameter's: it runs before all others */
    l->to = to;
    if (!fine) return false;
  }
  v->kind = V_REG;
  v->reg = p->reg - 1;
  v->type = p->type;
  v->sym = y; /* marks it as no register of the author's */
  return true;
}

/* The name of a kernel's parameter is its address, as in PTX. Where no instruction would want that, its value was
 * meant. */
static void warn_parameter(struct lower *l, const struct sym *y, struct ir_loc loc) {
  const char *m = l->mnemonic;
  if (l->fn->physical || mx__base_is(m, "mov") || mx__base_is(m, "cvta") || mx__base_is(m, "call") ||
      strstr(m, ".param"))
    return;
  const struct sym *hidden = mx__scope_find(&l->f->names, l->f->scope, y->name);
  WARN_(l->f, "parameter-address", loc, mx__arena_printf(l->f->arena, "its value is %%%s", y->name->text),
        hidden ? "%s: '%s' is the address of the parameter, which hides the %s of this name"
               : "%s: '%s' is the address of the parameter",
        m, y->name->text, hidden && hidden->kind == SYM_VAR ? "variable" : "name");
  if (hidden)
    mx__diag(&l->f->diags, MX_DIAG_NOTE, "parameter-address", hidden->loc, NULL, "which is hidden is declared here");
}

static bool symbol_value(struct lower *l, struct sym *y, const struct expr *e, struct val *v, struct vals *vs) {
  struct front *f = l->f;
  uint64_t offset = e->value + (e->has_element ? e->element * y->elem : 0);
  switch (y->kind) {
  case SYM_REG: {
    struct param *p = y->detail; /* .reg parameter */
    if (p && !y->index) {
      if (!p->reg) p->reg = mx__new_reg(l, y->name->text, y->type, y->loc) + 1;
      y->index = p->reg;
    }
    if (y->vec && !e->suffix) {
      struct val shape = *v;
      vs->n--;
      static const char *const parts[] = {".x", ".y", ".z", ".w"};
      for (unsigned k = 0; k < y->vec; k++) {
        struct sym *part =
            mx__scope_find(&f->names, l->scope, NAME(f, mx__arena_printf(f->arena, "%s%s", y->name->text, parts[k])));
        struct val *x = mx__push(l, vs);
        *x = shape;
        x->kind = V_REG;
        x->reg = mx__reg_of(l, part);
        x->type = part->type;
      }
      return true;
    }
    v->kind = V_REG;
    v->reg = mx__reg_of(l, y);
    v->type = y->type;
    v->sym = y->implicit ? y : NULL;
    return true;
  }
  case SYM_VAR:
    v->kind = V_LIT;
    v->lit = var_lit(l, y->index, e->generic || v->generic, v->is_address ? 0 : offset);
    return true;
  case SYM_LOCAL:
    v->kind = V_LOCAL;
    v->offset = l->locals_at + y->value + offset;
    return true;
  case SYM_PARAM: {
    struct param *p = y->detail;
    if (l->fn->is_entry) {
      warn_parameter(l, y, e->loc);
      v->kind = V_LIT;
      v->lit = (struct mx_lit){.kind = MX_LIT_VALUE, .value = p->offset + offset};
    } else {
      v->kind = V_LOCAL;
      v->offset = p->local + offset;
    }
    return true;
  }
  case SYM_FUNC: {
    struct func *fn = y->detail;
    if (offset) break;
    if (!fn->defined && !fn->alias) {
      ERR(f, "undefined-function", e->loc, NULL, "function '%s' is declared but not defined: it has no address",
          y->name->text);
      return false;
    }
    v->kind = V_LIT;
    v->lit = (struct mx_lit){.kind = MX_LIT_FUNC, .index = fn->alias ? fn->alias->index : fn->index};
    return true;
  }
  default: break;
  }
  static const char *const what[] = {[SYM_CALLVAR] = "a .param variable of a call",
                                     [SYM_LABEL] = "a label",
                                     [SYM_TABLE] = "a list of targets",
                                     [SYM_PROTO] = "a call prototype",
                                     [SYM_FUNC] = "a function"};
  ERR(f, "bad-operand", e->loc, NULL, "'%s' is %s, which cannot stand here", y->name->text,
      y->kind <= SYM_FUNC && what[y->kind] ? what[y->kind] : "not a value");
  return false;
}

/* A register of disassembly: %.r5. */
static bool physical_value(struct lower *l, const struct name *n, struct ir_loc loc, struct val *v) {
  uint8_t type;
  uint32_t slot;
  if (!mx__physical(n->text, &type, &slot)) return unknown_name(l, n, loc);
  static const uint16_t most[] = {
      [MX_PRED] = MX_MAX_PREDS, [MX_R32] = MX_MAX_SLOTS, [MX_R64] = MX_MAX_SLOTS, [MX_R128] = MX_MAX_SLOTS};
  if (slot >= most[mx__types[type].slot_class] || !l->fn->physical) {
    ERR(l->f, "unknown-register", loc, NULL,
        l->fn->physical ? "there is no slot '%s'" : "'%s': slots by number belong into functions with .slots", n->text);
    return false;
  }
  struct sym *y = mx__scope_find_here(&l->f->names, l->fn->scope, (struct name *)n);
  if (!y) {
    y = mx__scope_add(&l->f->names, l->fn->scope, (struct name *)n, SYM_REG, loc);
    y->type = type;
    y->index = mx__new_reg(l, NULL, type, loc) + 1;
  }
  v->kind = V_REG;
  v->reg = mx__reg_of(l, y);
  l->out->regs[v->reg].fixed = (int32_t)slot;
  l->out->regs[v->reg].name = NULL;
  v->type = type;
  return true;
}

/* Whether the expression is a register of any kind (declared, implicit, special, a parameter's value) and a constant
 * more. */
static bool register_sum(struct lower *l, const struct expr *e) {
  const struct name *n = e->base;
  struct sym *y = mx__scope_find(&l->f->names, l->scope, (struct name *)n);
  const bool variable = y ? y->kind != SYM_REG : n->text[0] != '%' || !strncmp(n->text, "%.v", 3);
  return !variable && (e->value || e->has_element);
}

static bool name_value(struct lower *l, const struct expr *e, struct val *v, struct vals *vs) {
  struct front *f = l->f;
  struct name *n = e->base;
  if (!v->is_address && register_sum(l, e)) {
    ERR(f, "bad-operand", e->loc, NULL, "sums of registers stand in addresses only: [base + index*scale + constant]");
    return false;
  }
  if (n->len == 1 && n->text[0] == '_' && !e->suffix) {
    struct sym *declared = mx__scope_find(&f->names, l->scope, n);
    if (!declared) {
      v->kind = V_DISCARDED;
      return true;
    }
  }
  if (n->text[0] == '%' && n->text[1] == '.') {
    unsigned number;
    if (n->text[2] != 'v') return physical_value(l, n, e->loc, v);
    if (sscanf(n->text, "%%.v%u", &number) != 1 || number >= f->nvars) return unknown_name(l, n, e->loc);
    v->kind = V_LIT;
    v->lit = var_lit(l, number, e->generic, v->is_address ? 0 : e->value);
    return true;
  }
  if (e->suffix) {
    char *text = mx__arena_printf(f->arena, "%s%s", n->text, e->suffix->text);
    size_t last = strlen(text) - 1;
    if (e->suffix->len == 2 && strchr("rgba", text[last])) text[last] = "xyzw"[strchr("rgba", text[last]) - "rgba"];
    struct name *whole = NAME(f, text);
    struct sym *y = mx__scope_find(&f->names, l->scope, whole);
    uint32_t number;
    if (y && y->kind == SYM_REG) {
      v->kind = V_REG;
      v->reg = mx__reg_of(l, y);
      v->type = y->type;
      return true;
    }
    if (n->text[0] == '%' && mx__find_sreg(text + 1, f->lanes, 0, &number)) {
      v->kind = V_SREG;
      v->sreg = number;
      v->type = mx__sregs[number].type;
      return true;
    }
    v->selector = e->suffix->text;
    if (!strchr("bh", e->suffix->text[1]) || e->suffix->text[2] < '0' || e->suffix->text[2] > '9') {
      ERR(f, "unknown-register", e->loc, near_sreg(l, text),
          "'%s%s' is neither a special register nor a part of a register", n->text, e->suffix->text);
      return false;
    }
  }
  struct sym *y = mx__scope_find(&f->names, l->scope, n);
  if (y) return symbol_value(l, y, e, v, vs);
  if (n->text[0] == '%') {
    uint32_t number;
    if (!e->suffix && !v->is_address &&
        mx__find_sreg(mx__arena_printf(f->arena, "%s.x", n->text + 1), f->lanes, 0, &number)) {
      /* %tid as a whole: x, y, z and 0 */
      if (!strstr(l->mnemonic, ".v4")) {
        ERR(f, "operand-type", e->loc, near_sreg(l, n->text), "'%s' is a vector of four", n->text);
        return false;
      }
      struct val shape = *v;
      vs->n--;
      for (unsigned k = 0; k < 3; k++) {
        struct val *part = mx__push(l, vs);
        *part = shape;
        part->kind = V_SREG;
        part->sreg = number + k;
        part->type = mx__sregs[number].type;
      }
      mx__push_const(l, vs, 0);
      return true;
    }
    if (mx__find_sreg(n->text + 1, f->lanes, 0, &number)) {
      v->kind = V_SREG;
      v->sreg = number;
      v->type = mx__sregs[number].type;
      return true;
    }
    y = mx__scope_find(&f->names, l->scope, mx__name(&f->names, n->text + 1, n->len - 1));
    if (y && y->kind == SYM_PARAM) {
      if (l->fn->is_entry) return param_value(l, y, v);
      struct param *p = y->detail;
      if (!p->is_array && !p->in_memory && !y->value) {
        v->kind = V_REG;
        v->reg = p->reg - 1;
        v->type = p->type;
        v->sym = y;
        return true;
      }
    }
    if (!l->fn->has_reg && !l->fn->physical) { /* implicit: typed by its first write */
      y = mx__scope_add(&f->names, l->fn->scope, n, SYM_REG, e->loc);
      y->type = MX_T_none;
      y->implicit = true;
      v->kind = V_REG;
      v->type = MX_T_none;
      v->reg = mx__reg_of(l, y);
      v->sym = y;
      return true;
    }
  }
  return unknown_name(l, n, e->loc);
}

/* ---- making registers of values ---------------------------------------------------------------------------*/
/* %local_base + offset in a register. */
static uint32_t local_address(struct lower *l, uint64_t offset) {
  uint32_t base = mx__local_base(l);
  if (!offset) return base;
  uint32_t r = mx__new_reg(l, NULL, MX_T_u64, l->loc);
  struct vals vs = {0};
  mx__push_reg(l, &vs, r);
  mx__push_reg(l, &vs, base);
  mx__push_const(l, &vs, offset);
  mx__emit_instruction(l, "add.u64", NULL, &vs, IR_NONE, false, l->loc);
  return r;
}

bool mx__value_reg(struct lower *l, struct val *v, int type) {
  int bits = mx__types[type].bits;
  if (v->kind == V_SREG) {
    uint32_t number = v->sreg;
    mx__find_sreg(mx__sregs[v->sreg].name, l->f->lanes, bits, &number);
    v->reg = mx__read_sreg(l, number);
    v->type = mx__sregs[number].type;
    v->kind = V_REG;
  } else if (v->kind == V_LOCAL) {
    v->reg = local_address(l, v->offset);
    v->type = MX_T_u64;
    v->kind = V_REG;
    if (bits == 32) {
      struct vals vs = {0};
      uint32_t low = mx__new_reg(l, NULL, MX_T_u32, v->loc);
      mx__push_reg(l, &vs, low);
      mx__push_reg(l, &vs, v->reg);
      v->reg = low;
      v->type = MX_T_u32;
      return mx__emit_instruction(l, "cvt.u32.u64", NULL, &vs, IR_NONE, false, v->loc);
    }
  } else if (v->kind == V_CONST || v->kind == V_LIT) {
    struct vals vs = {0};
    uint32_t r = mx__new_reg(l, NULL, type, v->loc);
    mx__push_reg(l, &vs, r);
    *mx__push(l, &vs) = *v;
    vs.v[1].is_address = false;
    const char *mov = bits == 64 ? "mov.u64" : bits == 32 ? "mov.u32" : bits == 16 ? "mov.u16" : "mov.pred";
    v->kind = V_REG;
    v->reg = r;
    v->type = (uint8_t)type;
    return mx__emit_instruction(l, mov, NULL, &vs, IR_NONE, false, v->loc);
  }
  return v->kind == V_REG;
}

/* index * scale + base into one register; the index extends by its declared sign. */
static bool scaled_address(struct lower *l, const struct expr *e, struct val *base) {
  struct front *f = l->f;
  struct expr ie = {.kind = EX_INT, .base = e->index, .suffix = e->index_suffix, .loc = e->index_loc};
  struct opnd io = {.e = ie, .number = base->number};
  struct vals iv = {0};
  struct opnd *kept = mx__arena_alloc(f->arena, sizeof *kept);
  *kept = io;
  if (!mx__operand(l, kept, &iv, false)) return false;
  struct val *x = &iv.v[0];
  /* a variable's address is an operand of the sum as it is */
  const bool symbol = x->kind == V_LIT && e->scale == 1 && base->kind == V_REG && mx__types[base->type].bits == 32;
  if (!symbol && !mx__value_reg(l, x, MX_T_u32)) return false;
  if (symbol) x->type = MX_T_u32, x->is_address = false;
  bool wide = mx__types[x->type].bits == 64, is_signed = x->type == MX_T_s32;
  if (x->type == MX_T_none) {
    mx__unwritten(l, x->sym, e->index_loc, false);
    return false;
  }
  if (!wide && x->type != MX_T_s32 && x->type != MX_T_u32) {
    ERR(f, "index-type", e->index_loc, "declare it .u32 or .s32, or extend it with cvt",
        "index '%s' is .%s: whether it is signed must be known", e->index->text, mx__types[x->type].name);
    return false;
  }
  if (e->scale > INT32_MAX || e->scale < INT32_MIN) {
    ERR(f, "index-type", e->index_loc, NULL, "the scale does not fit in 32 bits");
    return false;
  }
  if (base->kind == V_LOCAL && !mx__value_reg(l, base, MX_T_u64)) return false;
  if (base->kind == V_SREG && !mx__value_reg(l, base, MX_T_u64)) return false;
  bool narrow = base->kind == V_REG && mx__types[base->type].bits == 32;
  if (narrow && wide) {
    ERR(f, "index-type", e->index_loc, NULL, "a 64-bit index on a 32-bit address");
    return false;
  }
  uint32_t r = mx__new_reg(l, NULL, narrow ? MX_T_u32 : MX_T_u64, l->loc);
  struct vals vs = {0};
  mx__push_reg(l, &vs, r);
  *mx__push(l, &vs) = *x;
  const bool sum = e->scale == 1 && narrow != wide; /* no widening */
  if (!sum) {
    mx__push_const(l, &vs, (uint64_t)e->scale);
    struct expr *scale = (struct expr *)vs.v[2].expr;
    scale->is_unsigned = false;
  }
  *mx__push(l, &vs) = *base;
  vs.v[vs.n - 1].is_address = false;
  const char *mad = sum         ? narrow ? "add.u32" : "add.u64"
                    : narrow    ? "mad.lo.u32"
                    : wide      ? "mad.lo.u64"
                    : is_signed ? "mad.wide.s32"
                                : "mad.wide.u32";
  if (!mx__emit_instruction(l, mad, NULL, &vs, IR_NONE, false, l->loc)) return false;
  base->kind = V_REG;
  base->reg = r;
  base->type = narrow ? MX_T_u32 : MX_T_u64;
  base->is_address = true;
  base->sym = NULL;
  return true;
}

/* ---- one operand --------------------------------------------------------------------------------------------*/
static bool address_operand(struct lower *l, const struct opnd *o, struct vals *vs, bool generic) {
  const struct expr *e = &o->e;
  struct val *v = mx__push(l, vs);
  v->is_address = true;
  v->generic = generic;
  v->loc = e->loc;
  v->number = o->number;
  uint64_t offset = e->value;
  if (e->base) {
    uint32_t at = vs->n - 1;
    if (!name_value(l, e, v, vs)) return false;
    v = &vs->v[at];
    if (vs->n - at != 1 || v->kind == V_DISCARDED || v->selector) {
      ERR(l->f, "bad-address", e->loc, NULL, "'%s' cannot be an address", e->base->text);
      return false;
    }
    v->sym = v->sym && v->sym->kind == SYM_REG ? v->sym : NULL;
    if (v->kind == V_LIT && v->lit.kind == MX_LIT_VALUE) offset = 0; /* a parameter: its place holds it already */
    if (v->kind == V_LIT && e->has_inner) v->lit.value = e->inner;
    if (v->kind == V_LIT && e->has_element)
      offset += e->element * mx__scope_find(&l->f->names, l->scope, e->base)->elem;
    if (v->kind == V_LOCAL) {
      /* the offset stays in the instruction; in generic accesses the window of local memory is added */
      offset = v->offset;
      v->kind = V_REG;
      v->reg = mx__local_base(l);
      v->type = MX_T_u64;
      if (generic || e->generic) {
        struct vals g = {0};
        uint32_t r = mx__new_reg(l, NULL, MX_T_u64, l->loc);
        mx__push_reg(l, &g, r);
        mx__push_reg(l, &g, v->reg);
        if (!mx__emit_instruction(l, "cvta.local.u64", NULL, &g, IR_NONE, false, l->loc)) return false;
        v = &vs->v[at];
        v->reg = r;
      }
    }
    if (v->kind == V_SREG && !mx__value_reg(l, v, MX_T_u64)) return false;
  } else {
    v->kind = V_CONST;
    struct expr *c = mx__arena_alloc(l->f->arena, sizeof *c);
    *c = (struct expr){.kind = EX_INT,
                       .value = e->has_inner ? e->inner
                                : e->index   ? 0
                                             : e->value,
                       .is_unsigned = true,
                       .loc = e->loc};
    v->expr = c;
    if (!e->has_inner && !e->index) offset = 0;
  }
  if (e->index) {
    uint32_t at = vs->n - 1;
    struct val base = vs->v[at];
    if (!scaled_address(l, e, &base)) return false;
    vs->v[at] = base;
  }
  struct val *off = mx__push(l, vs);
  off->kind = V_OFF;
  off->offset = offset;
  off->number = o->number;
  return true;
}

bool mx__operand(struct lower *l, const struct opnd *o, struct vals *vs, bool generic) {
  const struct expr *e = &o->e;
  if (o->is_address) return address_operand(l, o, vs, generic);
  struct val *v = mx__push(l, vs);
  v->loc = e->loc;
  v->number = o->number;
  v->in_braces = o->in_braces;
  v->minus = e->minus;
  if (e->kind == EX_STRING) {
    v->kind = V_LIT;
    v->lit = var_lit(l, string_var(l, e), false, 0);
    return true;
  }
  if (!e->base) {
    v->kind = V_CONST;
    v->expr = e;
    return true;
  }
  uint32_t at = vs->n - 1;
  if (!name_value(l, e, v, vs)) return false;
  if (!e->negated) return true;
  v = &vs->v[at];
  if (v->kind == V_SREG && !mx__value_reg(l, v, MX_T_pred)) return false;
  if (v->kind != V_REG || v->type != MX_T_pred) {
    ERR(l->f, "operand-type", e->loc, NULL, "! takes a predicate, '%s' is %s%s", e->base->text,
        v->kind == V_REG && v->type != MX_T_none ? "." : "",
        v->kind == V_REG && v->type != MX_T_none ? mx__types[v->type].name : "none");
    return false;
  }
  uint32_t r = mx__new_reg(l, NULL, MX_T_pred, e->loc);
  struct ir_insn *i = mx__emit(l, MX_NOT_PRED, 0, 2);
  i->opnds[0] = (struct ir_opnd){.kind = IR_REG, .reg = r};
  i->opnds[1] = (struct ir_opnd){.kind = IR_REG, .reg = v->reg};
  v->reg = r;
  v->sym = NULL;
  return true;
}

void mx__unwritten(struct lower *l, const struct sym *y, struct ir_loc loc, bool search) {
  l->reads_unwritten = true;
  if (y->write_in_error || l->f->parse_errors) return;
  const char *near = search ? mx__near(l->f, l->scope, y->name->text, SYM_REG) : NULL;
  if (search && !near) near = near_sreg(l, y->name->text);
  ERR(l->f, "read-before-write", loc, near, "'%s' is read before anything was written to it", y->name->text);
}

bool mx__guard_of(struct lower *l, const struct stmt *s, uint32_t *reg) {
  *reg = IR_NONE;
  if (!s->guard) return true;
  struct opnd o = {.e = {.kind = EX_INT, .base = s->guard, .loc = s->guard_loc}};
  struct vals vs = {0};
  if (!mx__operand(l, &o, &vs, false)) return false;
  struct val *v = &vs.v[0];
  if (v->kind == V_SREG && v->type == MX_T_pred && !mx__value_reg(l, v, MX_T_pred)) return false;
  if (v->kind == V_REG && v->type == MX_T_none) {
    mx__unwritten(l, v->sym, s->guard_loc, false);
    return false;
  }
  if (v->kind != V_REG || v->type != MX_T_pred) {
    ERR(l->f, "guard-type", s->guard_loc, NULL, "a guard is a .pred register; '%s' is %s%s", s->guard->text,
        v->kind == V_REG ? "." : "none", v->kind == V_REG ? mx__types[v->type].name : "");
    return false;
  }
  *reg = v->reg;
  return true;
}

/* Declarations: registers, variables with their initialisers, parameters, functions as such. Separate from the parser
 * because they fill the module and not a function's statements; knows no instruction. */
#include "parser.h"
#include "select.h"

#include <string.h>

int mx__type_of(const struct token *t) {
  if (t->kind != TOK_DOT) return -1;
  for (int k = 0; k < MX_T_raw; k++)
    if (t->len == 1 + strlen(mx__types[k].name) && !memcmp(t->text + 1, mx__types[k].name, t->len - 1)) return k;
  return -1;
}

/* A hint for what stands where a type should: the word of another language, or a type without its dot; else NULL. */
static const char *type_meant(struct front *f, const struct token *t) {
  if (t->kind != TOK_DOT && t->kind != TOK_WORD) return NULL;
  struct token dotted = *t;
  if (t->kind == TOK_WORD) {
    dotted.text = mx__arena_printf(f->arena, ".%.*s", (int)t->len, t->text);
    dotted.len++;
    dotted.kind = TOK_DOT;
  }
  if (mx__type_of(&dotted) >= 0) return mx__arena_printf(f->arena, "did you mean %s?", dotted.text);
  const char *meant = mx__suffix_meant(dotted.text, dotted.len);
  if (meant) dotted.text = meant, dotted.len = strlen(meant);
  return meant && mx__type_of(&dotted) >= 0 ? mx__arena_printf(f->arena, "did you mean %s?", meant) : NULL;
}

static uint32_t type_bytes(int type) { return type == MX_T_pred ? 1 : mx__types[type].bits / 8u; }

static struct sym *declare(struct front *f, struct scope *s, struct name *n, enum sym_kind kind, struct ir_loc loc) {
  struct sym *old = mx__scope_find_here(&f->names, s, n);
  if (old) {
    ERR(f, "redefined", loc, NULL, "'%s' is defined already", n->text);
    mx__diag(&f->diags, MX_DIAG_NOTE, "redefined", old->loc, NULL, "first here");
    return NULL;
  }
  return mx__scope_add(&f->names, s, n, kind, loc);
}

/* .align N, behind the word: a power of two. */
static uint32_t parse_align(struct front *f) {
  uint64_t v;
  bool u;
  struct ir_loc loc = mx__peek(f, 0)->loc;
  if (!mx__parse_const(f, &v, &u)) return 0;
  if (v && v <= 65536 && !(v & (v - 1))) return (uint32_t)v;
  ERR(f, "bad-align", loc, NULL, ".align: expected a power of two up to 65536, found %llu", (unsigned long long)v);
  return 0;
}

/* ---- registers ----------------------------------------------------------------------------------------*/
void mx__parse_reg(struct front *f) {
  int type = -1;
  unsigned vec = 0;
  struct token t = *mx__peek(f, 0);
  for (; t.kind == TOK_DOT; t = *mx__peek(f, 0)) {
    mx__next(f);
    if (mx__tok_is(&t, ".v2")) vec = 2;
    else if (mx__tok_is(&t, ".v4")) vec = 4;
    else if (mx__tok_is(&t, ".align")) parse_align(f);
    else if ((type = mx__type_of(&t)) < 0) {
      ERR(f, "unknown-type", t.loc, type_meant(f, &t), ".reg: %s is not a type", mx__tok_text(f, &t));
      mx__resync(f);
      return;
    }
  }
  if (type < 0) {
    ERR(f, "unknown-type", t.loc, type_meant(f, &t), ".reg: expected a type, found %s", mx__tok_text(f, &t));
    mx__resync(f);
    return;
  }
  struct scope *s = f->here ? f->here : f->scope;
  if (f->func) f->func->has_reg = true;
  do {
    t = mx__next(f);
    if (t.kind != TOK_WORD) {
      if (t.kind != TOK_BAD)
        ERR(f, "syntax", t.loc, NULL, ".reg: expected a register's name, found %s", mx__tok_text(f, &t));
      mx__resync(f);
      return;
    }
    struct name *n = mx__name(&f->names, t.text, t.len);
    if (mx__accept(f, '<')) {
      /* a constant alone: an expression would take the > */
      struct token c = mx__next(f);
      struct sym *y = c.kind == TOK_WORD ? mx__scope_find(&f->names, s, mx__name(&f->names, c.text, c.len)) : NULL;
      uint64_t count = c.kind == TOK_INT ? c.value : y && y->kind == SYM_CONST && !y->is_float ? y->value : UINT64_MAX;
      if (count > 1 << 24) {
        ERR(f, "bad-range", c.loc, NULL, ".reg %s<...>: expected a number up to 16777216, found %s", n->text,
            mx__tok_text(f, &c));
        mx__resync(f);
        return;
      }
      mx__expect(f, '>', "the number of registers");
      if (s->nranges >= 256) ERR(f, "bad-range", t.loc, NULL, "more than 256 register ranges in one scope");
      else mx__scope_add_range(&f->names, s, (struct range){n, (uint32_t)count, (uint8_t)type, t.loc});
      continue;
    }
    struct sym *y = declare(f, s, n, SYM_REG, t.loc);
    if (!y) continue;
    y->type = (uint8_t)type;
    y->vec = (uint8_t)vec;
    for (unsigned k = 0; k < vec; k++) { /* elements are registers of their own */
      char *text = mx__arena_printf(f->arena, "%s.%c", n->text, "xyzw"[k]);
      struct sym *e = mx__scope_add(&f->names, s, NAME(f, text), SYM_REG, t.loc);
      e->type = (uint8_t)type;
    }
  } while (mx__accept(f, ','));
  mx__expect(f, ';', ".reg");
}

/* ---- initialisers --------------------------------------------------------------------------------------*/
struct init {
  struct front *f;
  uint32_t var;
  int type;
  uint32_t elem;
  uint8_t *bytes;
  uint64_t n, cap, size;
  bool sized;
};

static void put_bytes(struct init *in, uint64_t at, const void *p, uint32_t n) {
  if (at + n > in->cap) {
    uint64_t cap = in->cap ? in->cap * 2 : 64;
    if (cap < at + n) cap = at + n;
    in->bytes = mx__arena_grow(in->f->arena, in->bytes, in->n, cap);
    in->cap = cap;
  }
  memcpy(in->bytes + at, p, n);
  if (at + n > in->n) in->n = at + n;
}

static bool room(struct init *in, uint64_t at, uint64_t n, struct ir_loc loc) {
  uint64_t most = in->sized ? in->size : (uint64_t)1 << 32;
  if (at <= most && n <= most - at) return true;
  ERR(in->f, "long-initialiser", loc, NULL, "more initial values than the variable has elements");
  return false;
}

bool mx__parse_mask(struct front *f, unsigned *byte) {
  const struct token t = *mx__peek(f, 0), *next = mx__peek(f, 1);
  if (t.kind != TOK_INT || next->kind != TOK_PUNCT || next->punct != '(') return false;
  for (*byte = 0; *byte < 8; ++*byte)
    if (t.value == 0xFFull << 8 * *byte) {
      mx__next(f), mx__next(f);
      return true;
    }
  return false;
}

/* One element, or {elements} of dims[0]; `stride[d]` bytes lie between elements of dimension d. Gives the bytes taken.
 */
static bool parse_init(struct init *in, uint64_t at, const uint64_t *stride, unsigned ndims, unsigned depth,
                       uint64_t *taken) {
  struct front *f = in->f;
  *taken = in->elem;
  if (mx__accept(f, '{')) {
    if (depth > MAX_DIMS) {
      ERR(f, "long-initialiser", mx__peek(f, 0)->loc, NULL, "braces nested more than %d deep", MAX_DIMS);
      return false;
    }
    uint64_t pos = 0;
    if (!mx__accept(f, '}')) {
      do {
        uint64_t n;
        if (mx__peek(f, 0)->kind == TOK_PUNCT && mx__peek(f, 0)->punct == '}') break; /* a comma too many */
        if (!parse_init(in, at + pos, ndims ? stride + 1 : stride, ndims ? ndims - 1 : 0, depth + 1, &n)) return false;
        /* an inner list fills a whole inner array */
        pos += ndims > 1 && n != in->elem ? stride[1] : n;
      } while (mx__list_goes_on(f, mx__begins_value));
      if (!mx__expect(f, '}', "the initial values")) return false;
    }
    *taken = ndims && depth && pos < stride[0] ? stride[0] : pos;
    return true;
  }
  unsigned byte = 0;
  const bool masked = mx__parse_mask(f, &byte);
  struct expr e = mx__parse_expr(f);
  if (e.kind == EX_BAD || (masked && !mx__expect(f, ')', "the masked value"))) return false;
  if (masked && (in->elem != 1 || e.kind != EX_INT)) {
    ERR(f, "address-mask", e.loc, NULL, "a byte of an address or number initialises .b8 or .u8");
    return false;
  }
  if (masked && !e.base) e.value = e.value >> 8 * byte & 0xFF;
  if (e.kind == EX_STRING) {
    if (in->elem != 1) {
      ERR(f, "literal-type", e.loc, NULL, "a string initialises .b8, .u8 or .s8");
      return false;
    }
    if (!room(in, at, (uint64_t)e.nbytes + (in->sized ? 0 : 1), e.loc)) return false;
    put_bytes(in, at, e.bytes, e.nbytes);
    if (!in->sized) put_bytes(in, at + e.nbytes, "", 1);
    *taken = (uint64_t)e.nbytes + (in->sized ? 0 : 1);
    return true;
  }
  if (!room(in, at, in->elem, e.loc)) return false;
  if (e.base) {
    if (e.index || e.negated || e.minus || e.suffix || (!masked && in->elem != 4 && in->elem != 8)) {
      ERR(f, "not-constant", e.loc, NULL,
          !masked && in->elem != 4 && in->elem != 8 ? "an address needs a .u32, .b32, .u64 or .b64 element"
                                                    : "expected a constant or an address");
      return false;
    }
    GROW(f->arena, f->fixups, f->nfixups, f->cap_fixups);
    f->fixups[f->nfixups++] =
        (struct fixup){in->var, at, (uint8_t)in->elem, (uint8_t)byte, e.generic, e.base, e.value, e.loc};
    if (e.has_element) ERR(f, "not-constant", e.loc, NULL, "write the address as name+bytes");
    put_bytes(in, at, &(uint64_t){0}, in->elem);
    return true;
  }
  uint64_t v[2] = {0, 0};
  if (!mx__literal_bits(f, &e, in->type == MX_T_b128 ? MX_T_b64 : in->type, v)) return true;
  if (in->type == MX_T_b128 && !e.is_unsigned && (int64_t)v[0] < 0) v[1] = ~(uint64_t)0;
  put_bytes(in, at, v, in->elem);
  return true;
}

/* ---- variables -----------------------------------------------------------------------------------------*/
static int space_of(const struct token *t) {
  static const struct {
    const char *text;
    int space;
  } spaces[] = {
      {".global", MX_GLOBAL}, {".shared", MX_SHARED}, {".const", MX_CONST}, {".local", MX_LOCAL}, {".param", MX_PARAM}};
  for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++)
    if (mx__tok_is(t, spaces[k].text)) return spaces[k].space;
  return -1;
}

static void parse_attribute(struct front *f, unsigned *flags) {
  if (!mx__expect(f, '(', ".attribute")) return;
  do {
    struct token t = mx__next(f);
    if (mx__tok_is(&t, ".managed")) *flags |= MX_VAR_MANAGED;
    else if (mx__tok_is(&t, ".unified") && mx__accept(f, '(')) {
      while (!mx__accept(f, ')') && mx__peek(f, 0)->kind != TOK_END) mx__next(f);
    } else if (!mx__tok_is(&t, ".unified")) {
      ERR(f, "syntax", t.loc, NULL, ".attribute: %s is not known", mx__tok_text(f, &t));
    }
  } while (mx__accept(f, ','));
  mx__expect(f, ')', ".attribute");
}

/* Two functions may each have a `smem`; in the module their names must differ. */
static const char *module_name(struct front *f, struct name *n) {
  if (!f->func) return n->text;
  const char *text = n->text;
  for (unsigned k = 0;; k++) {
    struct name *candidate = NAME(f, text);
    if (!mx__scope_find_here(&f->names, f->scope, candidate) &&
        !mx__scope_find_here(&f->names, f->var_names, candidate))
      return text;
    text = k ? mx__arena_printf(f->arena, "%s$%s$%u", f->func->name->text, n->text, f->nvars + k)
             : mx__arena_printf(f->arena, "%s$%s", f->func->name->text, n->text);
  }
}

struct mx_var *mx__new_var(struct front *f, const char *name) {
  GROW(f->arena, f->vars, f->nvars, f->cap_vars);
  f->vars[f->nvars] = (struct mx_var){.name = name};
  struct name *n = NAME(f, name);
  if (!mx__scope_find_here(&f->names, f->var_names, n))
    mx__scope_add(&f->names, f->var_names, n, SYM_VAR, (struct ir_loc){0});
  return &f->vars[f->nvars++];
}

/* After an error: behind the `;`, over the braces of initial values, but not into the next declaration. */
static void skip_variable(struct front *f) {
  while (mx__peek(f, 0)->kind != TOK_END) {
    if (mx__accept(f, ';')) return;
    if (mx__peek(f, 0)->first_on_line && mx__peek(f, 0)->kind == TOK_DOT) return;
    mx__next(f);
  }
}

/* False: reported, and skipped to the statement's end. */
static bool parse_one_variable(struct front *f, unsigned linkage, unsigned flags, int space, int type, unsigned vec,
                               uint32_t align) {
  struct token t = mx__next(f);
  if (t.kind != TOK_WORD) {
    if (t.kind != TOK_BAD) ERR(f, "syntax", t.loc, NULL, "expected a variable's name, found %s", mx__tok_text(f, &t));
    skip_variable(f);
    return false;
  }
  struct name *n = mx__name(&f->names, t.text, t.len);
  const char *shown = NULL; /* disassembly: %.v3 "name" */
  if (t.len > 2 && t.text[1] == '.' && mx__peek(f, 0)->kind == TOK_STRING) {
    struct token s = mx__next(f);
    shown = mx__arena_strndup(f->arena, s.bytes, s.nbytes);
  }
  uint64_t dims[MAX_DIMS] = {0}, count = 1;
  unsigned ndims = 0;
  bool open = false, fine = true;
  while (mx__accept(f, '[')) {
    if (ndims == MAX_DIMS) {
      ERR(f, "bad-size", t.loc, NULL, "%s: more than %d dimensions", n->text, MAX_DIMS);
      skip_variable(f);
      return false;
    }
    if (mx__accept(f, ']')) {
      if (ndims) {
        ERR(f, "bad-size", t.loc, NULL, "%s: only the first dimension may be left out", n->text);
        skip_variable(f);
        return false;
      }
      open = true;
      ndims++;
      continue;
    }
    bool u;
    if (!mx__parse_const(f, &dims[ndims], &u) || !mx__expect(f, ']', "the number of elements")) {
      skip_variable(f);
      return false;
    }
    if (!dims[ndims] && ndims == 0) open = true; /* [0] is how old compilers write [] */
    else if (__builtin_mul_overflow(count, dims[ndims], &count) || count > (uint64_t)1 << 40) fine = false;
    ndims++;
  }
  uint32_t elem = type_bytes(type) * (vec ? vec : 1);
  uint64_t size = open && ndims == 1 ? 0 : count * elem;
  if (!fine || size > (uint64_t)1 << 40) {
    ERR(f, "bad-size", t.loc, NULL, "%s: too many elements", n->text);
    return true;
  }
  if (!align) align = elem ? elem : 1;
  bool has_init = mx__accept(f, '=');
  struct scope *s = f->here ? f->here : f->scope;
  struct init in = {.f = f, .type = type, .elem = type_bytes(type), .size = size, .sized = !open};
  if (has_init) {
    in.var = f->nvars;
    if (space == MX_SHARED || space == MX_LOCAL || space == MX_PARAM) {
      ERR(f, "no-initialiser", t.loc, NULL, "%s: only .global and .const variables have initial values", n->text);
      skip_variable(f);
      return false;
    }
    uint64_t stride[MAX_DIMS + 2] = {0}, taken, bytes = elem;
    for (unsigned k = ndims; k-- > 0; bytes *= dims[k] ? dims[k] : 1) stride[k + 1] = bytes;
    stride[0] = size;
    /* stride[d]: bytes of one element at nesting depth d */
    if (!parse_init(&in, 0, stride, ndims, 0, &taken)) {
      skip_variable(f);
      return false;
    }
    if (open) size = in.n % (count * elem) ? in.n + count * elem - in.n % (count * elem) : in.n;
    if (open && taken > size) size = taken;
    open = false;
  }
  if (space == MX_LOCAL || space == MX_PARAM) {
    if (!f->func || !f->here) {
      ERR(f, "bad-space", t.loc, NULL, "%s: a %s variable belongs into a function", n->text,
          space == MX_LOCAL ? ".local" : ".param");
      return true;
    }
    if (open || size > 1 << 24) {
      ERR(f, "bad-size", t.loc, NULL, "%s: expected a size up to 16 MiB", n->text);
      return true;
    }
    struct sym *y = declare(f, s, n, space == MX_LOCAL ? SYM_LOCAL : SYM_CALLVAR, t.loc);
    if (!y) return true;
    y->elem = elem;
    y->type = (uint8_t)type;
    y->is_array = ndims || vec;
    if (space == MX_LOCAL) {
      uint64_t at = (f->func->local_bytes + align - 1) & ~(uint64_t)(align - 1);
      y->value = at;
      f->func->local_bytes = at + size;
      GROW(f->arena, f->func->locals, f->func->nlocals, f->func->cap_locals);
      f->func->locals[f->func->nlocals++] = (struct mx_local){n->text, (uint32_t)at, (uint32_t)size};
      if (f->func->local_bytes > 1 << 26) {
        ERR(f, "bad-size", t.loc, NULL, "more than 64 MiB of local variables");
        f->func->local_bytes = 0;
      }
    } else {
      struct callvar *c = mx__arena_alloc(f->arena, sizeof *c);
      *c = (struct callvar){.type = (uint8_t)type, .is_array = ndims || vec, .align = align, .size = size};
      y->detail = c;
    }
    return true;
  }
  if (open && !(linkage & LINK_EXTERN)) {
    ERR(f, "bad-size", t.loc, NULL, "%s: expected a size", n->text);
    return true;
  }
  struct sym *old = mx__scope_find_here(&f->names, s, n);
  uint32_t index = f->nvars;
  if (old && old->kind == SYM_VAR && f->vars[old->index].space == space &&
      ((f->vars[old->index].flags & MX_VAR_EXTERN) || (linkage & LINK_EXTERN))) {
    /* declared before, defined now, or the other way round */
    index = old->index;
    if (linkage & LINK_EXTERN) return true;
    for (uint32_t k = 0; k < f->nfixups; k++)
      if (f->fixups[k].var == f->nvars) f->fixups[k].var = index;
  } else {
    struct sym *y = declare(f, s, n, SYM_VAR, t.loc);
    if (!y) return true;
    y->index = index;
    y->elem = elem;
    y->type = (uint8_t)type;
    y->is_array = ndims || vec;
    mx__new_var(f, shown ? shown : module_name(f, n));
    if (f->nvars > 1 << 20) ERR(f, "bad-size", t.loc, NULL, "more than %d variables", 1 << 20);
  }
  struct mx_var *v = &f->vars[index];
  v->space = (uint8_t)space;
  v->align = align;
  v->size = size;
  v->init = in.bytes;
  v->ninit = in.n;
  v->flags = (uint8_t)flags;
  if (linkage & (LINK_VISIBLE | LINK_WEAK | LINK_COMMON)) v->flags |= MX_VAR_VISIBLE;
  if ((linkage & LINK_EXTERN) && space == MX_SHARED) v->flags |= MX_VAR_EXTERN_SHARED, v->size = 0;
  else if (linkage & LINK_EXTERN) v->flags |= MX_VAR_EXTERN;
  return true;
}

void mx__parse_variable(struct front *f, unsigned linkage) {
  int space = -1, type = -1;
  unsigned vec = 0, flags = 0;
  uint32_t align = 0;
  struct token t = *mx__peek(f, 0);
  for (; t.kind == TOK_DOT; t = *mx__peek(f, 0)) {
    mx__next(f);
    int s = space_of(&t), ty = mx__type_of(&t);
    if (s >= 0) space = s;
    else if (ty >= 0) type = ty;
    else if (mx__tok_is(&t, ".align")) align = parse_align(f);
    else if (mx__tok_is(&t, ".v2")) vec = 2;
    else if (mx__tok_is(&t, ".v4")) vec = 4;
    else if (mx__tok_is(&t, ".v3")) vec = 3;
    else if (mx__tok_is(&t, ".attribute")) parse_attribute(f, &flags);
    else if (mx__tok_is(&t, ".texref") || mx__tok_is(&t, ".samplerref") || mx__tok_is(&t, ".surfref"))
      type = MX_T_u64; /* the object's number, which the host puts there */
    else {
      ERR(f, "unknown-type", t.loc, type_meant(f, &t), "%s is neither a type nor an attribute of a variable",
          mx__tok_text(f, &t));
      mx__resync(f);
      return;
    }
  }
  if (type < 0 || type == MX_T_pred) {
    if (t.kind != TOK_BAD)
      ERR(f, "unknown-type", t.loc, type_meant(f, &t),
          type < 0 ? "expected the variable's type, found %s" : "a variable cannot be .pred: %s", mx__tok_text(f, &t));
    mx__resync(f);
    return;
  }
  do
    if (!parse_one_variable(f, linkage, flags, space, type, vec, align)) return;
  while (mx__accept(f, ','));
  if (!mx__expect(f, ';', "the variable")) skip_variable(f);
}

void mx__resolve_fixups(struct front *f) {
  uint32_t *per_var = f->nfixups ? mx__arena_alloc(f->arena, (f->nvars + 1) * sizeof *per_var) : NULL;
  for (uint32_t k = 0; k < f->nfixups; k++)
    if (f->fixups[k].var < f->nvars) per_var[f->fixups[k].var]++;
  struct mx_reloc **lists = f->nfixups ? mx__arena_alloc(f->arena, (f->nvars + 1) * sizeof *lists) : NULL;
  for (uint32_t k = 0; k < f->nfixups; k++) {
    const struct fixup *x = &f->fixups[k];
    struct sym *y = mx__scope_find(&f->names, f->scope, x->name);
    struct mx_reloc r = {.offset = x->offset, .size = x->size, .byte = x->byte, .addend = x->addend};
    if (x->var >= f->nvars) continue; /* its variable was refused */
    uint32_t number;
    if (!y && x->name->len > 3 && !memcmp(x->name->text, "%.v", 3)) {
      number = 0;
      for (uint32_t c = 3; c < x->name->len && number < 1 << 24; c++)
        number = number * 10 + (uint32_t)(x->name->text[c] - '0');
      r.kind = x->generic ? MX_LIT_GENERIC : MX_LIT_VAR;
      r.index = number;
      if (number >= f->nvars) {
        ERR(f, "unknown-name", x->loc, NULL, "there is no variable number %u", number);
        continue;
      }
    } else if (y && y->kind == SYM_VAR) {
      r.kind = x->generic ? MX_LIT_GENERIC : MX_LIT_VAR;
      r.index = y->index;
    } else if (y && y->kind == SYM_FUNC && !x->generic) {
      struct func *fn = y->detail;
      r.kind = MX_LIT_FUNC;
      r.index = fn->alias ? fn->alias->index : fn->index;
      if (!fn->defined && !fn->alias) {
        ERR(f, "undefined-function", x->loc, NULL, "function '%s' is declared but not defined: it has no address",
            x->name->text);
        continue;
      }
      if (x->size == 4 || x->addend) {
        ERR(f, "not-constant", x->loc, NULL, "a function's address takes a 64-bit element, or bytes, and no offset");
        continue;
      }
    } else {
      const char *near = mx__near(f, f->scope, x->name->text, SYM_VAR);
      ERR(f, "unknown-name", x->loc, near, "'%s' is not a variable or function of the module", x->name->text);
      continue;
    }
    if (!lists[x->var]) lists[x->var] = mx__arena_alloc(f->arena, per_var[x->var] * sizeof **lists);
    struct mx_var *v = &f->vars[x->var];
    lists[x->var][v->nrelocs++] = r;
    v->relocs = lists[x->var];
  }
}

/* ---- parameters ----------------------------------------------------------------------------------------*/
static bool parse_param(struct front *f, struct param *p, bool entry, bool prototype) {
  *p = (struct param){.type = MX_T_none};
  unsigned vec = 0;
  bool any = false;
  struct token t = *mx__peek(f, 0);
  p->loc = t.loc;
  for (; t.kind == TOK_DOT; t = *mx__peek(f, 0)) {
    mx__next(f);
    int type = mx__type_of(&t);
    if (mx__tok_is(&t, ".param")) any = true;
    else if (mx__tok_is(&t, ".reg")) p->is_reg = any = true;
    else if (mx__tok_is(&t, ".align")) {
      uint32_t a = parse_align(f);
      if (!p->is_pointer) p->align = a; /* behind .ptr it speaks of what is pointed at */
    } else if (mx__tok_is(&t, ".ptr")) p->is_pointer = true;
    else if (p->is_pointer && (space_of(&t) >= 0)) continue;
    else if (mx__tok_is(&t, ".v2")) vec = 2;
    else if (mx__tok_is(&t, ".v4")) vec = 4;
    else if (type >= 0) p->type = (uint8_t)type;
    else if (mx__tok_is(&t, ".texref") || mx__tok_is(&t, ".samplerref") || mx__tok_is(&t, ".surfref")) {
      ERR(f, "unsupported", t.loc, "pass the object's number as .u64", "references as parameters are not supported");
      return false;
    } else {
      ERR(f, "unknown-type", t.loc, type_meant(f, &t), "%s is neither a type nor an attribute of a parameter",
          mx__tok_text(f, &t));
      return false;
    }
  }
  if (p->type == MX_T_none || (p->type == MX_T_pred && !p->is_reg)) {
    ERR(f, "unknown-type", t.loc, type_meant(f, &t), "expected the parameter's type, found %s", mx__tok_text(f, &t));
    return false;
  }
  if (!any && !entry) p->is_reg = false;
  uint64_t count = 1;
  p->loc = t.loc;
  if (t.kind != TOK_WORD) {
    if (!prototype && t.kind != TOK_BAD)
      ERR(f, "syntax", t.loc, NULL, "expected the parameter's name, found %s", mx__tok_text(f, &t));
    if (!prototype) return false;
  } else {
    mx__next(f);
    p->name = mx__name(&f->names, t.text, t.len);
  }
  while (mx__accept(f, '[')) {
    uint64_t n;
    bool u;
    if (mx__peek(f, 0)->kind == TOK_PUNCT && mx__peek(f, 0)->punct == ']') {
      ERR(f, "unsupported", t.loc, NULL, "parameter lists of unknown length are not supported");
      return false;
    }
    if (!mx__parse_const(f, &n, &u) || !mx__expect(f, ']', "the number of elements")) return false;
    p->is_array = true;
    if (!n || n > 1 << 20 || (count *= n) > 1 << 20) {
      ERR(f, "bad-size", t.loc, NULL, "%s: expected a size up to 1 MiB", p->name ? p->name->text : "parameter");
      return false;
    }
  }
  if (vec) p->is_array = true;
  uint32_t elem = type_bytes(p->type) * (vec ? vec : 1);
  p->size = count * elem;
  if (!p->align) p->align = elem;
  if (mx__accept(f, '@')) { /* disassembly: where it lies */
    bool u;
    if (!mx__parse_const(f, &p->offset, &u)) return false;
    p->has_offset = true;
  }
  return true;
}

/* ( param, ... ): the opening parenthesis is next. Names go into `scope`, if there is one. */
static bool begins_param(const struct token *t) { return mx__tok_is(t, ".param") || mx__tok_is(t, ".reg"); }
void mx__parse_signature_list(struct front *f, struct param **list, uint32_t *n, struct scope *scope, bool entry) {
  uint32_t cap = 0;
  bool full = false;
  if (!mx__expect(f, '(', "the function") || mx__accept(f, ')')) return;
  do {
    struct param p;
    if (!parse_param(f, &p, entry, !scope)) { /* to the list's end */
      int depth = 0;
      for (;;) {
        struct token *t = mx__peek(f, 0);
        if (t->kind == TOK_END || (t->kind == TOK_PUNCT && (t->punct == ';' || t->punct == '{'))) return;
        if (t->kind == TOK_PUNCT && t->punct == ')' && depth-- == 0) break;
        if (t->kind == TOK_PUNCT && t->punct == '(') depth++;
        mx__next(f);
      }
      break;
    }
    if (*n == MAX_FUNC_PARAMS && !entry) {
      if (!full) ERR(f, "too-many", p.loc, NULL, "more than %d parameters", MAX_FUNC_PARAMS);
      full = true;
      continue;
    }
    GROW(f->arena, *list, *n, cap);
    (*list)[(*n)++] = p;
  } while (mx__list_goes_on(f, begins_param));
  mx__expect(f, ')', "the parameters");
}

/* Arrays travel in memory; the caller and the callee lay them out alike, from the signature alone: results first. */
void mx__layout_signature(struct signature *s) {
  uint64_t at = 0;
  for (unsigned pass = 0; pass < 2; pass++) {
    struct param *list = pass ? s->arg : s->res;
    uint32_t n = pass ? s->narg : s->nres;
    for (uint32_t k = 0; k < n; k++) {
      if (!list[k].is_array) continue;
      at = (at + list[k].align - 1) & ~(uint64_t)(list[k].align - 1);
      list[k].in_memory = true;
      list[k].local = at;
      at += list[k].size;
    }
  }
  s->mem_bytes = (at + 15) & ~(uint64_t)15;
}

struct func *mx__declare_func(struct front *f, struct name *n, struct ir_loc loc) {
  struct sym *y = mx__scope_find_here(&f->names, f->scope, n);
  if (y && y->kind == SYM_FUNC) return y->detail;
  if (y) {
    ERR(f, "redefined", loc, NULL, "'%s' is defined already", n->text);
    mx__diag(&f->diags, MX_DIAG_NOTE, "redefined", y->loc, NULL, "first here");
    return NULL;
  }
  y = mx__scope_add(&f->names, f->scope, n, SYM_FUNC, loc);
  struct func *fn = mx__arena_alloc(f->arena, sizeof *fn);
  fn->name = n;
  fn->sym = y;
  fn->loc = loc;
  fn->index = f->nfuncs;
  y->detail = fn;
  GROW(f->arena, f->funcs, f->nfuncs, f->cap_funcs);
  f->funcs[f->nfuncs++] = fn;
  return fn;
}

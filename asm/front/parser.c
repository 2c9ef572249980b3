/* Statements and directives. Separate from declarations (decl.c) and expressions (expr.c); knows the directives but no
 * instruction: every mnemonic is parsed alike, save `call` with its lists. After an error it goes on behind the next
 * `;`. */
#include "parser.h"
#include "select.h"

#include <stdio.h>
#include <string.h>

/* ---- directives that both module and function may hold --------------------------------------------------*/
static void skip_section(struct front *f) {
  int depth = 0;
  while (mx__peek(f, 0)->kind != TOK_END && !mx__accept(f, '{')) mx__next(f);
  for (depth = 1; depth && mx__peek(f, 0)->kind != TOK_END;) {
    struct token t = mx__next(f);
    if (t.kind == TOK_PUNCT) depth += t.punct == '{' ? 1 : t.punct == '}' ? -1 : 0;
  }
}

static void parse_file_directive(struct front *f) {
  struct token n = *mx__peek(f, 0);
  if (n.kind == TOK_INT && !n.first_on_line) {
    mx__next(f);
    struct token s = *mx__peek(f, 0);
    if (s.kind == TOK_STRING && n.value == f->nfiles + 1 && f->nfiles < 1 << 16) {
      f->files = mx__arena_grow(f->arena, f->files, f->nfiles * sizeof *f->files, (f->nfiles + 1) * sizeof *f->files);
      f->files[f->nfiles++] = mx__name(&f->names, s.bytes, s.nbytes);
    }
  }
  mx__skip_line(f);
}

static void parse_loc_directive(struct front *f) {
  struct token file = *mx__peek(f, 0);
  uint64_t line = 0;
  if (file.kind == TOK_INT && !file.first_on_line) {
    mx__next(f);
    struct token l = *mx__peek(f, 0);
    if (l.kind == TOK_INT && !l.first_on_line) line = l.value;
    f->line = (struct ir_loc){.file = line ? (uint32_t)file.value : 0, .line = (uint32_t)line};
  }
  mx__skip_line(f);
}

static bool parse_common_directive(struct front *f, const struct token *t) {
  if (mx__tok_is(t, ".loc")) parse_loc_directive(f);
  else if (mx__tok_is(t, ".file")) parse_file_directive(f);
  else if (mx__tok_is(t, ".section")) skip_section(f);
  else if (mx__tok_is(t, ".pragma")) mx__resync(f);
  else if (mx__tok_is(t, ".include")) mx__parse_include(f, t->loc);
  else if (mx__tok_is(t, ".macro")) mx__parse_macro(f, t->loc);
  else if (mx__tok_is(t, ".equ")) mx__parse_equ(f);
  else if (mx__tok_is(t, ".endm")) ERR(f, "syntax", t->loc, NULL, ".endm without .macro");
  else return false;
  return true;
}

/* ---- operands -------------------------------------------------------------------------------------------*/
struct list {
  struct opnd *v;
  uint32_t n, cap;
};

static bool add_operand(struct front *f, struct list *l, struct opnd o) {
  if (l->n == MAX_OPERANDS) {
    ERR(f, "too-many", o.e.loc, NULL, "more than %d operands", MAX_OPERANDS);
    return false;
  }
  GROW(f->arena, l->v, l->n, l->cap);
  l->v[l->n++] = o;
  return true;
}

static bool parse_operand(struct front *f, struct list *l, unsigned *number, unsigned depth, bool in_braces);

/* [base + index*scale + constant]; disassembly also writes [(base)+constant]. Behind an object in brackets stand
 * operands of their own, numbered on: [texture, {x, y}]. */
static bool parse_address(struct front *f, struct list *l, unsigned *count, unsigned depth) {
  const unsigned number = *count;
  struct ir_loc loc = mx__next(f).loc;
  struct opnd o = {.is_address = true, .number = (uint16_t)number};
  struct token *t = mx__peek(f, 0);
  if (t->kind == TOK_PUNCT && t->punct == '(' && f->func && f->func->physical) {
    mx__next(f);
    struct expr inner = mx__parse_expr(f);
    if (inner.kind == EX_BAD || !mx__expect(f, ')', "the base address")) return false;
    int sign = mx__accept(f, '+') ? 1 : mx__accept(f, '-') ? -1 : 0;
    uint64_t v = 0;
    bool u;
    if (sign && !mx__parse_const(f, &v, &u)) return false;
    o.e = inner;
    o.e.has_inner = true;
    o.e.inner = inner.value;
    o.e.value = sign < 0 ? 0 - v : v;
  } else {
    o.e = mx__parse_expr(f);
    if (o.e.kind == EX_BAD) return false;
  }
  struct ir_loc end = mx__peek(f, 0)->loc;
  const bool more = depth < 4 && mx__accept(f, ',');
  if (!more && !mx__expect(f, ']', "the address")) return false;
  o.e.loc = loc;
  if (end.line == loc.line && end.col >= loc.col) o.e.loc.width = end.col + 1 - loc.col;
  if (o.e.kind != EX_INT || o.e.negated || o.e.minus) {
    ERR(f, "bad-address", o.e.loc, NULL, "expected [base + index*scale + constant]");
    return false;
  }
  if (!add_operand(f, l, o)) return false;
  if (!more) return true;
  do {
    ++*count;
    if (!parse_operand(f, l, count, depth + 1, false)) return false;
  } while (mx__accept(f, ','));
  return mx__expect(f, ']', "the object and its coordinates");
}

static bool parse_operand(struct front *f, struct list *l, unsigned *number, unsigned depth, bool in_braces) {
  struct token *t = mx__peek(f, 0);
  if (t->kind == TOK_PUNCT && t->punct == '{' && depth < 4) {
    mx__next(f);
    do {
      if (!parse_operand(f, l, number, depth + 1, true)) return false;
    } while (mx__list_goes_on(f, mx__begins_value));
    if (!mx__expect(f, '}', "the group")) return false;
  } else if (t->kind == TOK_PUNCT && t->punct == '[') {
    if (!parse_address(f, l, number, depth)) return false;
  } else {
    struct opnd o = {.number = (uint16_t)*number, .in_braces = in_braces};
    o.e = mx__parse_expr(f);
    if (o.e.kind == EX_BAD || !add_operand(f, l, o)) return false;
    if (o.e.index) {
      ERR(f, "bad-operand", o.e.loc, NULL,
          "sums of registers stand in addresses only: [base + index*scale + constant]");
      return false;
    }
  }
  if (mx__accept(f, '|')) return parse_operand(f, l, number, depth, in_braces);
  return true;
}

static bool begins_call_list(const struct token *t) { return t->kind == TOK_PUNCT && t->punct == '('; }

/* ( operand, ... ) of a call; one number for all */
static bool parse_call_list(struct front *f, struct list *l, unsigned number) {
  if (!mx__expect(f, '(', "call")) return false;
  if (mx__accept(f, ')')) return true;
  do {
    if (!parse_operand(f, l, &number, 4, false)) return false;
  } while (mx__list_goes_on(f, mx__begins_value));
  return mx__expect(f, ')', "the list");
}

static bool parse_call(struct front *f, struct stmt *s) {
  struct list l = {0};
  struct token *t = mx__peek(f, 0);
  s->kind = ST_CALL;
  if (t->kind == TOK_PUNCT && t->punct == '(') {
    if (!parse_call_list(f, &l, 1) || !mx__expect(f, ',', "the results")) return false;
    s->nres = l.n;
  }
  unsigned number = 2;
  if (!parse_operand(f, &l, &number, 4, false)) return false;
  if (mx__list_goes_on(f, begins_call_list)) {
    uint32_t before = l.n;
    t = mx__peek(f, 0);
    bool list = !(t->kind == TOK_WORD && before == s->nres + 1); /* `call f, prototype`: no arguments */
    if (list && !parse_call_list(f, &l, 3)) return false;
    s->nargs = l.n - before;
    number = 4;
    if ((!list || mx__accept(f, ',')) && !parse_operand(f, &l, &number, 4, false)) return false;
  }
  s->opnds = l.v;
  s->nopnds = l.n;
  return true;
}

/* Another operand comes without a comma before it: said, and read as if there were one. */
static bool missing_comma(struct front *f, const struct stmt *s) {
  const struct token *t = mx__peek(f, 0);
  if (!mx__begins_value(t) || t->first_on_line) return false;
  ERR(f, "syntax", mx__missing_before(f, t), NULL, "%s: expected ',' before %s", s->mnemonic->text, mx__tok_text(f, t));
  return true;
}

/* Whether the statement ends here, though perhaps without its `;`: before a brace, or before another mnemonic in a line
 * of its own. */
static bool no_operands(struct front *f) {
  const struct token *t = mx__peek(f, 0);
  if (t->kind == TOK_PUNCT) return t->punct == ';' || t->punct == '!' || t->punct == '}';
  const bool word = t->kind == TOK_WORD && t->text[0] != '%' && t->first_on_line;
  return word && mx__peek(f, 1)->kind == TOK_DOT && !mx__peek(f, 1)->spaced;
}

static bool parse_operands(struct front *f, struct stmt *s) {
  struct list l = {0};
  unsigned number = 1;
  if (!no_operands(f)) {
    do {
      if (!parse_operand(f, &l, &number, 0, false)) return false;
      number++;
    } while (mx__accept(f, ',') || missing_comma(f, s));
  }
  if (mx__accept(f, '!')) {
    struct token w = mx__next(f), target = mx__next(f);
    if (!mx__tok_is(&w, "reconv") || target.kind != TOK_WORD) {
      ERR(f, "syntax", w.loc, NULL, "expected 'reconv' and a label, found %s", mx__tok_text(f, &w));
      return false;
    }
    s->has_reconv = true;
    s->reconv_is_ret = mx__tok_is(&target, "ret");
    s->reconv = mx__name(&f->names, target.text, target.len);
  }
  s->opnds = l.v;
  s->nopnds = l.n;
  return true;
}

static struct stmt *new_stmt(struct front *f, enum stmt_kind kind, struct ir_loc loc) {
  struct func *fn = f->func;
  GROW(f->arena, fn->stmts, fn->nstmts, fn->cap_stmts);
  struct stmt *s = &fn->stmts[fn->nstmts++];
  *s = (struct stmt){.kind = (uint8_t)kind, .scope = f->here, .loc = loc, .line = f->line};
  return s;
}

/* @@DWARF lines of old compilers, behind the first @. */
static bool skip_dwarf(struct front *f) {
  if (mx__peek(f, 0)->kind != TOK_PUNCT || mx__peek(f, 0)->punct != '@' || !mx__tok_is(mx__peek(f, 1), "DWARF"))
    return false;
  mx__next(f);
  mx__skip_line(f);
  return true;
}

static void parse_instruction(struct front *f) {
  struct stmt s = {.kind = ST_INSN, .scope = f->here, .line = f->line};
  if (mx__accept(f, '@')) {
    if (skip_dwarf(f)) return;
    s.guard_neg = mx__accept(f, '!');
    struct token g = mx__next(f);
    if (g.kind != TOK_WORD) {
      if (g.kind != TOK_BAD)
        ERR(f, "syntax", g.loc, NULL, "expected a predicate register after @, found %s", mx__tok_text(f, &g));
      mx__resync(f);
      return;
    }
    s.guard = mx__name(&f->names, g.text, g.len);
    s.guard_loc = g.loc;
  }
  struct token t = mx__next(f);
  if (t.kind != TOK_WORD) {
    if (t.kind != TOK_BAD) ERR(f, "syntax", t.loc, NULL, "expected an instruction, found %s", mx__tok_text(f, &t));
    if (!(t.kind == TOK_PUNCT && t.punct == ';')) mx__resync(f);
    return;
  }
  s.loc = t.loc;
  /* The suffixes usually follow without a blank, and the mnemonic is then one piece of the text. */
  char buffer[256];
  size_t n = t.len < sizeof buffer ? t.len : sizeof buffer - 1;
  memcpy(buffer, t.text, n);
  bool fits = n == t.len;
  while (mx__peek(f, 0)->kind == TOK_DOT && !mx__peek(f, 0)->first_on_line) {
    struct token d = mx__next(f);
    if (d.len < sizeof buffer - n) memcpy(buffer + n, d.text, d.len), n += d.len;
    else fits = false;
    if (d.loc.line == s.loc.line && d.loc.col > s.loc.col) s.loc.width = d.loc.col + d.loc.width - s.loc.col;
  }
  s.mnemonic = mx__name(&f->names, buffer, n);
  if (!fits) {
    ERR(f, "unknown-mnemonic", s.loc, NULL, "a mnemonic of more than %zu characters", sizeof buffer - 1);
    mx__resync(f);
    return;
  }
  if (f->func->physical && mx__peek(f, 0)->kind == TOK_PUNCT && mx__peek(f, 0)->punct == '!' &&
      mx__peek(f, 1)->kind == TOK_WORD && !mx__peek(f, 1)->spaced && !mx__tok_is(mx__peek(f, 1), "reconv")) {
    mx__next(f);
    struct token row = mx__next(f);
    s.row = mx__name(&f->names, row.text, row.len);
  }
  const char *group = mx__refused_group(s.mnemonic->text);
  if (group) {
    ERR(f, "unsupported", s.loc, NULL, "%s: %s not supported", s.mnemonic->text, group);
    mx__resync(f);
    return;
  }
  bool is_call = n >= 4 && !memcmp(buffer, "call", 4) && (n == 4 || buffer[4] == '.');
  if (!(is_call ? parse_call(f, &s) : parse_operands(f, &s))) {
    mx__resync(f);
    return;
  }
  struct token *end = mx__peek(f, 0);
  if (!mx__accept(f, ';')) {
    ERR(f, "syntax", mx__missing_before(f, end), NULL, "%s: expected ';' before %s", s.mnemonic->text,
        mx__tok_text(f, end));
    /* a forgotten ; loses no further statement */
    if (!end->first_on_line && end->kind != TOK_WORD) {
      mx__resync(f);
      return;
    }
  }
  if (is_call) f->here->ncalls++;
  *new_stmt(f, ST_INSN, s.loc) = s;
}

/* ---- things with labels ----------------------------------------------------------------------------------*/
static struct sym *declare_here(struct front *f, struct name *n, enum sym_kind kind, struct ir_loc loc) {
  struct sym *old = mx__scope_find_here(&f->names, f->here, n);
  if (old) {
    ERR(f, "redefined", loc, NULL, "'%s' is defined already", n->text);
    mx__diag(&f->diags, MX_DIAG_NOTE, "redefined", old->loc, NULL, "first here");
    return NULL;
  }
  return mx__scope_add(&f->names, f->here, n, kind, loc);
}

/* Words up to the `;`, commas between. */
static void parse_words(struct front *f, struct table *tb) {
  uint32_t cap = 0, cap2 = 0;
  do {
    struct token t = mx__next(f);
    if (t.kind != TOK_WORD || tb->n >= 1 << 16) {
      if (t.kind != TOK_BAD) ERR(f, "syntax", t.loc, NULL, "expected a name, found %s", mx__tok_text(f, &t));
      mx__resync(f);
      return;
    }
    uint32_t n2 = tb->n;
    GROW(f->arena, tb->labels, tb->n, cap);
    GROW(f->arena, tb->locs, n2, cap2);
    tb->labels[tb->n] = mx__name(&f->names, t.text, t.len);
    tb->locs[tb->n++] = t.loc;
  } while (mx__accept(f, ','));
  mx__expect(f, ';', "the list");
}

static void parse_callprototype(struct front *f, struct proto *p) {
  struct token *t = mx__peek(f, 0);
  if (t->kind == TOK_PUNCT && t->punct == '(') mx__parse_signature_list(f, &p->sig.res, &p->sig.nres, NULL, false);
  struct token name = mx__next(f);
  if (name.kind != TOK_WORD)
    ERR(f, "syntax", name.loc, NULL, ".callprototype: expected '_', found %s", mx__tok_text(f, &name));
  t = mx__peek(f, 0);
  if (t->kind == TOK_PUNCT && t->punct == '(') mx__parse_signature_list(f, &p->sig.arg, &p->sig.narg, NULL, false);
  mx__layout_signature(&p->sig);
  mx__resync(f); /* .noreturn and the like */
}

static void parse_label(struct front *f) {
  struct token t = mx__next(f);
  mx__next(f); /* : */
  struct name *n = mx__name(&f->names, t.text, t.len);
  struct token *d = mx__peek(f, 0);
  if (mx__tok_is(d, ".branchtargets") || mx__tok_is(d, ".calltargets")) {
    bool calls = mx__tok_is(d, ".calltargets");
    mx__next(f);
    struct table *tb = mx__arena_alloc(f->arena, sizeof *tb);
    tb->scope = f->here;
    tb->index = UINT32_MAX;
    parse_words(f, tb);
    struct sym *y = declare_here(f, n, SYM_TABLE, t.loc);
    if (y) y->detail = tb, y->is_unsigned = calls;
  } else if (mx__tok_is(d, ".callprototype")) {
    mx__next(f);
    struct proto *p = mx__arena_alloc(f->arena, sizeof *p);
    p->index = UINT32_MAX;
    parse_callprototype(f, p);
    struct sym *y = declare_here(f, n, SYM_PROTO, t.loc);
    if (y) y->detail = p;
  } else {
    struct sym *y = declare_here(f, n, SYM_LABEL, t.loc);
    if (!y) return;
    y->index = UINT32_MAX;
    f->here->nlabels++;
    new_stmt(f, ST_LABEL, t.loc)->label = y;
  }
}

/* ---- directives of disassembly -----------------------------------------------------------------------------*/
static bool parse_numbers(struct front *f, uint64_t *v, unsigned n, uint64_t most) {
  for (unsigned k = 0; k < n; k++) {
    bool u;
    struct ir_loc loc = mx__peek(f, 0)->loc;
    if ((k && !mx__expect(f, ',', "the number")) || !mx__parse_const(f, &v[k], &u)) return false;
    if (v[k] > most) {
      ERR(f, "bad-size", loc, NULL, "a number up to %llu is expected", (unsigned long long)most);
      return false;
    }
  }
  return true;
}

static void parse_slots(struct front *f) {
  uint64_t v[6];
  if (parse_numbers(f, v, 6, 65535) && mx__expect(f, ';', ".slots")) {
    for (unsigned k = 0; k < 6; k++) f->func->slots[k] = (uint16_t)v[k];
    if (f->func->nstmts) ERR(f, "syntax", f->func->loc, NULL, ".slots belongs before the first instruction");
    f->func->physical = true;
    f->line = (struct ir_loc){0};
  } else {
    mx__resync(f);
  }
}

/* %.r5 and kin: class and number */
bool mx__physical(const char *text, uint8_t *type, uint32_t *slot) {
  static const struct {
    char letter;
    uint8_t type;
  } letters[] = {{'r', MX_T_b32}, {'h', MX_T_b16}, {'b', MX_T_b8}, {'d', MX_T_b64}, {'q', MX_T_b128}, {'p', MX_T_pred}};
  if (text[0] != '%' || text[1] != '.' || !text[2] || !text[3]) return false;
  uint64_t n = 0;
  for (const char *p = text + 3; *p; p++) {
    if (*p < '0' || *p > '9' || n > 1 << 20) return false;
    n = n * 10 + (unsigned)(*p - '0');
  }
  for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
    if (letters[k].letter == text[2]) {
      *type = letters[k].type;
      *slot = (uint32_t)n;
      return true;
    }
  return false;
}

static void parse_name_entry(struct front *f) {
  struct func *fn = f->func;
  struct token type = mx__next(f), name = mx__next(f);
  int ty = mx__type_of(&type);
  if (ty < 0 || name.kind != TOK_STRING || !mx__expect(f, ',', "the name")) {
    if (ty < 0 || name.kind != TOK_STRING)
      ERR(f, "syntax", type.loc, NULL, ".name: expected .TYPE \"NAME\", SLOT, LO, HI");
    mx__resync(f);
    return;
  }
  struct token slot = mx__next(f);
  char text[32];
  snprintf(text, sizeof text, "%.*s", (int)(slot.len < 31 ? slot.len : 31), slot.text);
  struct mx_name e = {.name = mx__arena_strndup(f->arena, name.bytes, name.nbytes),
                      .type = (uint8_t)ty,
                      .cls = mx__types[ty].slot_class};
  uint8_t st = 0;
  uint32_t number = 0;
  uint64_t v[2];
  if (!strncmp(text, "%.s", 3)) {
    e.spilled = true;
    text[2] = 'r';
  }
  if (!mx__physical(text, &st, &number) || number > 65535) {
    ERR(f, "syntax", slot.loc, NULL, ".name: expected a slot, found %s", mx__tok_text(f, &slot));
    mx__resync(f);
    return;
  }
  if (!mx__expect(f, ',', "the slot") || !parse_numbers(f, v, 2, UINT32_MAX)) {
    mx__resync(f);
    return;
  }
  e.slot = (uint16_t)number;
  e.lo = (uint32_t)v[0];
  e.hi = (uint32_t)v[1];
  GROW(f->arena, fn->names, fn->nnames, fn->cap_names);
  fn->names[fn->nnames++] = e;
  mx__expect(f, ';', ".name");
}

static void parse_local_entry(struct front *f) {
  struct func *fn = f->func;
  struct token name = mx__next(f);
  uint64_t v[2];
  if (name.kind != TOK_STRING) ERR(f, "syntax", name.loc, NULL, ".var: expected \"NAME\", OFFSET, BYTES");
  if (name.kind != TOK_STRING || !mx__expect(f, ',', "the name") || !parse_numbers(f, v, 2, 1 << 27)) {
    mx__resync(f);
    return;
  }
  GROW(f->arena, fn->locals, fn->nlocals, fn->cap_locals);
  fn->locals[fn->nlocals++] =
      (struct mx_local){mx__arena_strndup(f->arena, name.bytes, name.nbytes), (uint32_t)v[0], (uint32_t)v[1]};
  mx__expect(f, ';', ".var");
}

static void parse_uses(struct front *f) {
  struct table tb = {0};
  parse_words(f, &tb);
  struct func *fn = f->func;
  fn->uses = mx__arena_alloc(f->arena, tb.n * sizeof *fn->uses);
  for (uint32_t k = 0; k < tb.n; k++) {
    struct sym *y = mx__scope_find(&f->names, f->scope, tb.labels[k]);
    unsigned number;
    if (y && y->kind == SYM_VAR) fn->uses[fn->nuses++] = y->index;
    else if (sscanf(tb.labels[k]->text, "%%.v%u", &number) == 1 && number < f->nvars) fn->uses[fn->nuses++] = number;
    else ERR(f, "unknown-name", tb.locs[k], NULL, ".uses: '%s' is not a variable", tb.labels[k]->text);
  }
}

static bool parse_physical_directive(struct front *f, const struct token *t) {
  struct func *fn = f->func;
  if (mx__tok_is(t, ".slots")) parse_slots(f);
  else if (mx__tok_is(t, ".frame")) {
    uint64_t v[2];
    if (parse_numbers(f, v, 2, 1 << 27)) fn->frame[0] = (uint32_t)v[0], fn->frame[1] = (uint32_t)v[1];
    mx__expect(f, ';', ".frame");
  } else if (mx__tok_is(t, ".uses")) parse_uses(f);
  else if (mx__tok_is(t, ".name")) parse_name_entry(f);
  else if (mx__tok_is(t, ".var")) parse_local_entry(f);
  else if (mx__tok_is(t, ".label")) {
    struct token s = mx__next(f);
    if (s.kind == TOK_STRING) {
      struct sym *y = mx__arena_alloc(f->arena, sizeof *y);
      *y = (struct sym){
          .kind = SYM_LABEL, .index = UINT32_MAX, .name = mx__name(&f->names, s.bytes, s.nbytes), .loc = s.loc};
      new_stmt(f, ST_LABEL, s.loc)->label = y;
    } else {
      ERR(f, "syntax", s.loc, NULL, ".label: expected a name in quotes");
    }
    mx__expect(f, ';', ".label");
  } else return false;
  return true;
}

/* ---- function bodies ---------------------------------------------------------------------------------------*/
static void parse_statement(struct front *f) {
  struct token *t = mx__peek(f, 0);
  if (t->kind == TOK_DOT) {
    struct token d = mx__next(f);
    if (mx__tok_is(&d, ".reg")) mx__parse_reg(f);
    else if (mx__tok_is(&d, ".extern") || mx__tok_is(&d, ".visible") || mx__tok_is(&d, ".weak"))
      mx__parse_variable(f, mx__tok_is(&d, ".extern") ? LINK_EXTERN : 0);
    else if (mx__tok_is(&d, ".global") || mx__tok_is(&d, ".shared") || mx__tok_is(&d, ".const") ||
             mx__tok_is(&d, ".local") || mx__tok_is(&d, ".param")) {
      /* the space is read again by the variable's own loop */
      if (f->nahead < 3) {
        memmove(f->ahead + 1, f->ahead, f->nahead * sizeof d);
        f->ahead[0] = d;
        f->nahead++;
      }
      mx__parse_variable(f, 0);
    } else if (!parse_common_directive(f, &d) && !parse_physical_directive(f, &d)) {
      ERR(f, "unknown-directive", d.loc, NULL, "%s is not a directive that may stand in a function",
          mx__tok_text(f, &d));
      mx__resync(f);
    }
    return;
  }
  if (t->kind == TOK_WORD) {
    if (mx__expand_macro(f)) return;
    struct token *c = mx__peek(f, 1);
    if (c->kind == TOK_PUNCT && c->punct == ':') {
      parse_label(f);
      return;
    }
  }
  parse_instruction(f);
}

static void parse_body(struct front *f, struct func *fn, struct ir_loc open) {
  f->func = fn;
  f->here = fn->scope;
  f->line = (struct ir_loc){0};
  uint32_t depth = 0, skipped = 0;
  for (;;) {
    struct token *t = mx__peek(f, 0);
    if (t->kind == TOK_END) {
      ERR(f, "open-function", open, NULL, "%s: this '{' is never closed", fn->name->text);
      break;
    }
    if (t->kind == TOK_BAD) {
      mx__next(f);
      continue;
    }
    if (mx__accept(f, ';')) continue;
    if (mx__accept(f, '{')) {
      if (depth++ < MAX_SCOPES) f->here = mx__scope_new(&f->names, f->here);
      else if (!skipped++) ERR(f, "scope-depth", t->loc, NULL, "scopes nested more than %d deep", MAX_SCOPES);
      continue;
    }
    if (mx__accept(f, '}')) {
      if (!depth) break;
      if (depth-- <= MAX_SCOPES) f->here = f->here->parent;
      continue;
    }
    parse_statement(f);
  }
  f->func = NULL;
  f->here = NULL;
}

static void declare_formals(struct front *f, struct func *fn) {
  fn->scope = mx__scope_new(&f->names, f->scope);
  for (uint32_t k = 0; k < fn->sig.nres + fn->sig.narg; k++) {
    bool res = k < fn->sig.nres;
    struct param *p = res ? &fn->sig.res[k] : &fn->sig.arg[k - fn->sig.nres];
    if (!p->name || mx__scope_find_here(&f->names, fn->scope, p->name)) {
      /* disassembly: a slot may be argument and result at once */
      if (p->name && p->name->len > 2 && p->name->text[1] == '.') continue;
      ERR(f, p->name ? "redefined" : "syntax", p->loc, NULL,
          p->name ? "there are two parameters '%s'" : "the parameter has no name%s", p->name ? p->name->text : "");
      continue;
    }
    struct sym *y = mx__scope_add(&f->names, fn->scope, p->name, p->is_reg ? SYM_REG : SYM_PARAM, p->loc);
    y->type = p->type;
    y->detail = p;
    y->value = res; /* a result */
    y->elem = p->type == MX_T_pred ? 1 : mx__types[p->type].bits / 8u;
    y->is_array = p->is_array;
  }
}

/* Performance directives and the like, between a function's head and its body. */
static void parse_tuning(struct front *f, struct func *fn) {
  for (;;) {
    struct token *t = mx__peek(f, 0);
    if (t->kind != TOK_DOT) return;
    struct token d = mx__next(f);
    if (mx__tok_is(&d, ".noreturn") || mx__tok_is(&d, ".noinline")) continue;
    if (mx__tok_is(&d, ".cooperative")) {
      fn->flags |= MX_FUNC_COOPERATIVE;
    } else if (mx__tok_is(&d, ".explicitcluster")) {
      fn->flags |= MX_FUNC_EXPLICIT_CLUSTER;
    } else if (mx__tok_is(&d, ".blocksareclusters")) {
      fn->flags |= MX_FUNC_BLOCKS_ARE_CLUSTERS;
    } else if (mx__tok_is(&d, ".pragma")) {
      mx__resync(f);
    } else if (mx__tok_is(&d, ".attribute") || mx__tok_is(&d, ".abi_preserve") ||
               mx__tok_is(&d, ".abi_preserve_control")) {
      if (mx__accept(f, '('))
        while (!mx__accept(f, ')') && mx__peek(f, 0)->kind != TOK_END) mx__next(f);
      else mx__next(f);
    } else {
      bool max = mx__tok_is(&d, ".maxntid"), req = mx__tok_is(&d, ".reqntid"),
           cluster = mx__tok_is(&d, ".reqnctapercluster");
      bool minn = mx__tok_is(&d, ".minnctapersm") || mx__tok_is(&d, ".maxnctapersm"),
           psize = mx__tok_is(&d, ".paramsize"), rank = mx__tok_is(&d, ".maxclusterrank");
      if (!max && !req && !cluster && !minn && !psize && !rank && !mx__tok_is(&d, ".maxnreg")) {
        ERR(f, "unknown-directive", d.loc, NULL, "%s is not a directive of a function", mx__tok_text(f, &d));
        return;
      }
      uint64_t v[3] = {1, 1, 1};
      unsigned n = 0;
      bool u;
      do {
        if (n == 3 || !mx__parse_const(f, &v[n++], &u)) return;
      } while (mx__accept(f, ','));
      for (unsigned k = 0; k < 3; k++) {
        if (v[k] > UINT32_MAX || (!v[k] && !psize)) {
          ERR(f, "bad-size", d.loc, NULL, "%s: not a possible number", mx__tok_text(f, &d));
          v[k] = 1;
        }
        if (max) fn->maxntid[k] = (uint32_t)v[k];
        if (req) fn->reqntid[k] = (uint32_t)v[k];
        if (cluster) fn->reqncta[k] = (uint32_t)v[k];
      }
      if (minn) fn->minnctapersm = (uint32_t)v[0];
      if (psize) fn->paramsize = (uint32_t)v[0];
      if (rank) fn->maxclusterrank = v[0] < MX_MAX_CLUSTER ? (uint32_t)v[0] : MX_MAX_CLUSTER;
      const uint64_t most = MX_MAX_CLUSTER;
      if (cluster && (v[0] > most || v[1] > most || v[2] > most || v[0] * v[1] * v[2] > most))
        ERR(f, "bad-size", d.loc, NULL, "a cluster has %u blocks at most", MX_MAX_CLUSTER);
    }
  }
}

static bool same_list(const struct param *a, const struct param *b, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (a[k].size != b[k].size || a[k].is_array != b[k].is_array ||
        mx__types[a[k].type].slot_class != mx__types[b[k].type].slot_class)
      return false;
  return true;
}

/* After an error in a function's head: behind its `;` or its body. */
static void skip_function(struct front *f) {
  for (int depth = 0; mx__peek(f, 0)->kind != TOK_END;) {
    struct token t = mx__next(f);
    int c = t.kind == TOK_PUNCT ? t.punct : 0;
    if (c == '{') depth++;
    if ((c == '}' && --depth <= 0) || (c == ';' && !depth)) return;
  }
}

static void parse_function(struct front *f, bool entry, unsigned linkage) {
  struct signature sig = {0};
  struct token *t = mx__peek(f, 0);
  for (; t->kind == TOK_DOT; t = mx__peek(f, 0)) {
    struct token d = mx__next(f);
    if (mx__tok_is(&d, ".noinline")) continue;
    if (!mx__tok_is(&d, ".attribute")) {
      ERR(f, "unknown-directive", d.loc, NULL, "%s is not an attribute of a function", mx__tok_text(f, &d));
      skip_function(f);
      return;
    }
    if (mx__accept(f, '('))
      while (!mx__accept(f, ')') && mx__peek(f, 0)->kind != TOK_END) mx__next(f);
  }
  if (t->kind == TOK_PUNCT && t->punct == '(' && !entry)
    mx__parse_signature_list(f, &sig.res, &sig.nres, f->scope, false);
  struct token name = mx__next(f);
  if (name.kind != TOK_WORD || name.text[0] == '%') {
    if (name.kind != TOK_BAD)
      ERR(f, "syntax", name.loc, NULL, "expected the function's name, found %s", mx__tok_text(f, &name));
    skip_function(f);
    return;
  }
  struct name *n = mx__name(&f->names, name.text, name.len);
  t = mx__peek(f, 0);
  if (t->kind == TOK_PUNCT && t->punct == '(') mx__parse_signature_list(f, &sig.arg, &sig.narg, f->scope, entry);
  if (!entry) mx__layout_signature(&sig);
  struct func scratch = {.name = n}, *fn = mx__declare_func(f, n, name.loc);
  if (!fn) fn = &scratch;
  bool known = fn->is_entry || fn->defined || fn->is_extern || fn->sig.narg || fn->sig.nres;
  if (known && (fn->is_entry != entry || fn->sig.narg != sig.narg || fn->sig.nres != sig.nres ||
                !same_list(fn->sig.arg, sig.arg, sig.narg) || !same_list(fn->sig.res, sig.res, sig.nres))) {
    ERR(f, "signature-mismatch", name.loc, NULL, "%s: declared before with other parameters", n->text);
    mx__diag(&f->diags, MX_DIAG_NOTE, "signature-mismatch", fn->loc, NULL, "first here");
  }
  fn->is_entry = entry;
  if (entry) fn->flags |= MX_FUNC_KERNEL;
  if (linkage & (LINK_VISIBLE | LINK_WEAK)) fn->flags |= MX_FUNC_VISIBLE;
  parse_tuning(f, fn);
  t = mx__peek(f, 0);
  if (mx__accept(f, ';') || t->kind != TOK_PUNCT || t->punct != '{') {
    if (!known) fn->sig = sig;
    if (linkage & LINK_EXTERN) fn->is_extern = true;
    if (t->kind != TOK_PUNCT || (t->punct != '{' && t->punct != ';')) {
      if (t->kind != TOK_BAD)
        ERR(f, "syntax", t->loc, NULL, "%s: expected '{' or ';', found %s", n->text, mx__tok_text(f, t));
      skip_function(f);
    }
    return;
  }
  struct ir_loc open = mx__next(f).loc;
  if (fn->defined) {
    ERR(f, "redefined", name.loc, NULL, "'%s' is defined already", n->text);
    mx__diag(&f->diags, MX_DIAG_NOTE, "redefined", fn->loc, NULL, "first here");
    memset(&scratch, 0, sizeof scratch);
    scratch.name = n;
    fn = &scratch;
  }
  fn->defined = true;
  fn->loc = name.loc;
  fn->sig = sig;
  fn->is_entry = entry;
  declare_formals(f, fn);
  parse_body(f, fn, open);
}

/* ---- the module --------------------------------------------------------------------------------------------*/
static void parse_target(struct front *f, struct ir_loc loc) {
  if (f->has_target) ERR(f, "redefined", loc, NULL, "there is a .target already");
  f->has_target = true;
  do {
    struct token t = mx__next(f);
    unsigned sm = 0;
    char copy[32];
    snprintf(copy, sizeof copy, "%.*s", (int)(t.len < 31 ? t.len : 31), t.text);
    if (mx__tok_is(&t, "mx64")) {
      f->lanes = 64;
    } else if (t.kind == TOK_WORD && (sscanf(copy, "sm_%3u", &sm) == 1 || sscanf(copy, "compute_%3u", &sm) == 1)) {
      f->sm = sm;
      f->lanes = 32;
    } else if (!mx__tok_is(&t, "debug") && strncmp(copy, "texmode_", 8) && !mx__tok_is(&t, "map_f64_to_f32") &&
               t.kind != TOK_BAD) {
      ERR(f, "unknown-target", t.loc, "targets are mx64 (64 lanes), sm_NN and compute_NN (32 lanes)",
          "%s is not a target", mx__tok_text(f, &t));
    }
  } while (mx__accept(f, ','));
  mx__accept(f, ';');
}

static void parse_reloc(struct front *f) {
  struct token t = mx__next(f);
  struct sym *y =
      t.kind == TOK_WORD ? mx__scope_find_here(&f->names, f->scope, mx__name(&f->names, t.text, t.len)) : NULL;
  char copy[32];
  unsigned number;
  snprintf(copy, sizeof copy, "%.*s", (int)(t.len < 31 ? t.len : 31), t.text);
  uint32_t var = y && y->kind == SYM_VAR ? y->index : sscanf(copy, "%%.v%u", &number) == 1 ? number : UINT32_MAX;
  uint64_t v[2];
  if (var >= f->nvars) ERR(f, "unknown-name", t.loc, NULL, ".reloc: %s is not a variable", mx__tok_text(f, &t));
  if (var < f->nvars && mx__expect(f, ',', "the variable") && parse_numbers(f, v, 2, UINT32_MAX) &&
      mx__expect(f, ',', "the size")) {
    unsigned byte = 0;
    const bool masked = mx__parse_mask(f, &byte);
    struct expr e = mx__parse_expr(f);
    if (masked && !mx__expect(f, ')', "the address")) e.kind = EX_BAD;
    if (e.kind == EX_INT && e.base && (masked ? v[1] == 1 : v[1] == 4 || v[1] == 8) &&
        v[0] + v[1] <= f->vars[var].size) {
      GROW(f->arena, f->fixups, f->nfixups, f->cap_fixups);
      f->fixups[f->nfixups++] =
          (struct fixup){var, v[0], (uint8_t)v[1], (uint8_t)byte, e.generic, e.base, e.value, e.loc};
      mx__expect(f, ';', ".reloc");
      return;
    }
    if (e.kind != EX_BAD) ERR(f, "syntax", e.loc, NULL, ".reloc: expected VAR, OFFSET, BYTES, ADDRESS");
  }
  mx__resync(f);
}

static void parse_alias(struct front *f) {
  struct token a = mx__next(f);
  bool comma = mx__accept(f, ',');
  struct token b = mx__next(f);
  if (a.kind != TOK_WORD || b.kind != TOK_WORD || !comma) {
    ERR(f, "syntax", a.loc, NULL, ".alias: expected two functions' names");
    mx__resync(f);
    return;
  }
  struct func *fn = mx__declare_func(f, mx__name(&f->names, a.text, a.len), a.loc);
  if (fn) {
    fn->alias_of = mx__name(&f->names, b.text, b.len);
    fn->loc = b.loc;
  }
  mx__expect(f, ';', ".alias");
}

static void parse_version(struct front *f) {
  struct token t = mx__next(f);
  unsigned major = 0, minor = 0;
  char copy[32];
  snprintf(copy, sizeof copy, "%.*s", (int)(t.len < 31 ? t.len : 31), t.text);
  if (t.kind != TOK_FLOAT || sscanf(copy, "%3u.%3u", &major, &minor) != 2)
    ERR(f, "bad-version", t.loc, NULL, ".version: expected a number such as 9.0, found %s", mx__tok_text(f, &t));
  else if (major > 9 || minor > 9) ERR(f, "bad-version", t.loc, NULL, ".version %s: versions up to 9 are known", copy);
  f->ptx_version = major * 10 + minor;
  mx__accept(f, ';');
}

static void parse_address_size(struct front *f) {
  uint64_t v;
  bool u;
  struct ir_loc loc = mx__peek(f, 0)->loc;
  if (!mx__parse_const(f, &v, &u)) return;
  if (v != 32 && v != 64) ERR(f, "bad-size", loc, NULL, ".address_size: expected 32 or 64");
  else f->address_size = (uint32_t)v;
  mx__accept(f, ';');
}

static void parse_top(struct front *f) {
  struct token t = *mx__peek(f, 0);
  if (t.kind == TOK_WORD && mx__expand_macro(f)) return;
  mx__next(f);
  if (t.kind == TOK_BAD || (t.kind == TOK_PUNCT && (t.punct == ';' || (t.punct == '@' && skip_dwarf(f))))) return;
  if (t.kind != TOK_DOT) {
    ERR(f, "syntax", t.loc,
        t.kind == TOK_WORD ? "instructions stand in a function: .entry NAME (parameters) { ... }" : NULL,
        "expected a directive, found %s", mx__tok_text(f, &t));
    if (!(t.kind == TOK_PUNCT && t.punct == '}')) mx__resync(f);
    return;
  }
  unsigned linkage = 0;
  for (;; t = mx__next(f)) {
    if (mx__tok_is(&t, ".visible")) linkage |= LINK_VISIBLE;
    else if (mx__tok_is(&t, ".extern")) linkage |= LINK_EXTERN;
    else if (mx__tok_is(&t, ".weak")) linkage |= LINK_WEAK;
    else if (mx__tok_is(&t, ".common")) linkage |= LINK_COMMON;
    else break;
  }
  if (mx__tok_is(&t, ".entry")) parse_function(f, true, linkage);
  else if (mx__tok_is(&t, ".func")) parse_function(f, false, linkage);
  else if (mx__tok_is(&t, ".global") || mx__tok_is(&t, ".shared") || mx__tok_is(&t, ".const") ||
           mx__tok_is(&t, ".local") || mx__tok_is(&t, ".param") || mx__tok_is(&t, ".attribute") ||
           mx__tok_is(&t, ".align")) {
    memmove(f->ahead + 1, f->ahead, f->nahead * sizeof t);
    f->ahead[0] = t;
    f->nahead++;
    mx__parse_variable(f, linkage);
  } else if (mx__tok_is(&t, ".version")) parse_version(f);
  else if (mx__tok_is(&t, ".target")) parse_target(f, t.loc);
  else if (mx__tok_is(&t, ".address_size")) parse_address_size(f);
  else if (mx__tok_is(&t, ".alias")) parse_alias(f);
  else if (mx__tok_is(&t, ".reloc")) parse_reloc(f);
  else if (mx__tok_is(&t, ".tex")) {
    ERR(f, "unsupported", t.loc, "write .global .texref", ".tex is not supported");
    mx__resync(f);
  } else if (!parse_common_directive(f, &t)) {
    if (t.kind != TOK_BAD)
      ERR(f, "unknown-directive", t.loc, NULL, "%s is not a directive of a module", mx__tok_text(f, &t));
    mx__resync(f);
  }
}

void mx__parse_module(struct front *f) {
  while (mx__peek(f, 0)->kind != TOK_END) parse_top(f);
  for (uint32_t k = 0; k < f->nfuncs; k++) {
    struct func *fn = f->funcs[k];
    if (!fn->alias_of) continue;
    struct sym *y = mx__scope_find_here(&f->names, f->scope, fn->alias_of);
    struct func *to = y && y->kind == SYM_FUNC ? y->detail : NULL;
    if (!to || to->alias_of || !to->defined || fn->defined)
      ERR(f, "unknown-name", fn->loc, NULL, ".alias: '%s' is not a function defined in this module",
          fn->alias_of->text);
    else fn->alias = to;
  }
}

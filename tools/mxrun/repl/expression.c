/* Expressions over registers, lanes, memory, parameters and special registers. Compiled once into a tree whose
 * registers are places in a frame, evaluated for all lanes of a warp at a time: a condition is asked often.
 *
 *   x ? y : z   ||  &&  |  ^  &  == !=  < <= > >=  << >>  + -  * / %   - ! ~   x @ LANE
 *   5  0x10  1.5  0f3F800000   %register   name (a parameter's value, a variable's address)   [address]   TYPE[address]
 *   name[index]   name[lo:hi] (printed alone)   x @ LO..HI   $ $$ $7 (values printed before)   $pc $block $warp $lane
 *   $split $frame $position
 *   any(x) all(x) count(x) sum(x) min(x) max(x)   over the active lanes      lane(n, x)   as x @ n
 *   isnan(x) abs(x) differs(x) (from the first active lane)      TYPE(x): the bits read as that type */
#include "expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void expression_free(struct expression *e) {
  if (!e) return;
  expression_free(e->a);
  expression_free(e->b);
  expression_free(e->c);
  free(e->name);
  free(e);
}

/* ---- compiling --------------------------------------------------------------------------------------------*/
struct compiler {
  struct repl *r;
  const char *s;
  const mx_debug_point *point;
  char *why;
  unsigned depth;
};

static struct expression *fail(struct compiler *c, const char *fmt, const char *what) {
  if (!c->why) c->why = format(fmt, what);
  return NULL;
}
static void blanks(struct compiler *c) { c->s += strspn(c->s, " \t"); }
static bool take(struct compiler *c, const char *word) {
  blanks(c);
  size_t n = strlen(word);
  if (strncmp(c->s, word, n)) return false;
  c->s += n;
  return true;
}
static struct expression *node(enum op op, struct expression *a, struct expression *b) {
  struct expression *e = cli_alloc(sizeof *e);
  *e = (struct expression){.op = op, .a = a, .b = b, .kind = VALUE_SIGNED};
  if (a) e->uniform = a->uniform && (!b || b->uniform);
  return e;
}

static struct expression *ternary(struct compiler *c);

static enum value_kind kind_of(const struct elem *t) {
  return t->kind == ELEM_FLOAT ? VALUE_REAL : t->kind == ELEM_SIGNED ? VALUE_SIGNED : VALUE_UNSIGNED;
}
static void set_type(struct expression *e, const char *name) {
  e->pred = !strcmp(name, "pred");
  e->type = e->pred ? NULL : elem_find(name, strlen(name));
  if (!e->type && !e->pred) e->type = elem_find(!strncmp(name, "b128", 4) ? "b64" : "b32", 3);
  e->kind = e->type ? kind_of(e->type) : VALUE_UNSIGNED;
}

static struct expression *constant(uint64_t v, enum value_kind kind) {
  struct expression *e = node(OP_CONST, NULL, NULL);
  e->bits = v;
  e->kind = kind;
  e->uniform = true;
  return e;
}

static struct expression *number(struct compiler *c) {
  char word[64];
  size_t n = 0;
  const char *s = c->s;
  bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X'),
       bits =
           s[0] == '0' && (s[1] == 'f' || s[1] == 'F' || s[1] == 'd' || s[1] == 'D') && isxdigit((unsigned char)s[2]),
       real = false;
  while (n < sizeof word - 1 &&
         (isalnum((unsigned char)s[n]) || s[n] == '.' ||
          ((s[n] == '-' || s[n] == '+') && n && !hex && !bits && (s[n - 1] == 'e' || s[n - 1] == 'E')))) {
    real |= !hex && !bits && (s[n] == '.' || s[n] == 'e' || s[n] == 'E');
    word[n] = s[n], n++;
  }
  word[n] = 0;
  c->s += n;
  struct expression *e = constant(0, VALUE_SIGNED);
  uint64_t v;
  if (bits) {
    const struct elem *t = elem_find(word[1] == 'f' || word[1] == 'F' ? "f32" : "f64", 3);
    unsigned char cell[8] = {0};
    const char *why;
    if (elem_parse(t, cell, word, &why)) return e->kind = VALUE_REAL, e->real = elem_real(t, cell), e;
  } else if (real) {
    if (cli_real(word, &e->real)) return e->kind = VALUE_REAL, e;
  } else if (cli_number(word, UINT64_MAX, &v)) {
    return e->bits = v, e->kind = v > INT64_MAX ? VALUE_UNSIGNED : VALUE_SIGNED, e;
  }
  expression_free(e);
  return fail(c, "'%s' is not a number", word);
}

/* PTX may declare registers whose names begin with a letter; where names meet, the parameter or variable is meant. */
bool names_register(struct repl *r, const mx_debug_point *p, const char *text) {
  size_t n = strspn(text, "%");
  while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_$.", text[n]))) n++;
  if (*text == '%') return n > 1;
  mx_debug_variable v;
  mx_debug_register g = {.struct_size = sizeof g};
  if (!n || !r->g || r->over || find_arg(&r->args, text, n) || find_variable(r, text, n, &v)) return false;
  char *name = format("%.*s", (int)n, text);
  mx_debug_cell cell = {.struct_size = sizeof cell};
  const bool found = p ? mx_debug_find_cell(r->g, p->function, p->pc, name, &cell) == MX_OK ||
                             mx_debug_get_register(r->g, p->block, p->warp, 0, 0, name, &g) == MX_OK
                       : mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, name, &g) == MX_OK;
  free(name);
  return found;
}

static struct expression *reg(struct compiler *c) {
  size_t n = 1;
  while (isalnum((unsigned char)c->s[n]) || (c->s[n] && strchr("_$.", c->s[n]))) n++;
  struct repl *r = c->r;
  struct expression *e = node(OP_REGISTER, NULL, NULL);
  e->name = format("%.*s", (int)n, c->s);
  c->s += n;
  const char *plain = e->name + (*e->name == '%');
  const mx_debug_point *p = c->point;
  if (!r->g || r->over) return expression_free(e), fail(c, "%s", "no launch: 'run' or 'start' first");
  e->cell.struct_size = sizeof e->cell;
  mx_debug_register v = {.struct_size = sizeof v};
  mx_status s;
  if (p && mx_debug_find_cell(r->g, p->function, p->pc, e->name, &e->cell) == MX_OK) {
    e->op = OP_CELL;
    set_type(e, e->cell.type);
    return e;
  }
  if (p) s = mx_debug_get_register(r->g, p->block, p->warp, 0, 0, e->name, &v);
  else s = mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, e->name, &v);
  if (s == MX_OK && (p || !v.unset || !find_arg(&r->args, plain, strlen(plain)))) return set_type(e, v.type), e;
  /* "%x" may be the value of parameter x, as in a program */
  struct arg *a = find_arg(&r->args, plain, strlen(plain));
  if (a && !isdigit((unsigned char)*plain) && a->param.size <= 8) {
    uint64_t bits = 0;
    memcpy(&bits, r->args.params + a->param.offset, a->param.size);
    e->op = OP_CONST;
    e->uniform = true;
    e->address = a->buffer;
    set_type(e, a->param.type);
    e->bits = bits;
    if (e->kind == VALUE_REAL) e->real = elem_real(e->type, &bits);
    return e;
  }
  char *name = e->name;
  e->name = NULL;
  expression_free(e);
  const bool has_parts =
      !strcmp(name, "%tid") || !strcmp(name, "%ntid") || !strcmp(name, "%ctaid") || !strcmp(name, "%nctaid");
  fail(c, has_parts ? "%s has parts: .x .y .z" : "%s holds nothing here", name);
  free(name);
  return NULL;
}

static struct expression *memory(struct compiler *c, const struct elem *type) { /* behind '[' */
  struct expression *a = ternary(c);
  if (!a) return NULL;
  if (!take(c, "]")) return expression_free(a), fail(c, "expected ] before '%s'", c->s);
  if (a->kind == VALUE_REAL) return expression_free(a), fail(c, "%s", "an address is no real number");
  struct expression *e = node(OP_MEMORY, a, NULL);
  e->uniform = false;
  e->type = type ? type : elem_find("u32", 3);
  e->kind = kind_of(e->type);
  return e;
}

/* Behind "name[": an element, of a buffer or a variable. */
static struct expression *element(struct compiler *c, uint64_t address, const struct elem *type) {
  struct expression *index = ternary(c);
  if (!index) return NULL;
  if (!take(c, "]"))
    return expression_free(index), fail(c,
                                        strchr(":", *c->s) && *c->s ? "elements by [LO:HI] are for 'print' alone%.0s"
                                                                    : "expected ] before '%s'",
                                        c->s);
  if (index->kind == VALUE_REAL) return expression_free(index), fail(c, "%s", "an index is no real number");
  struct expression *bytes = node(OP_MUL, index, constant(type->size, VALUE_SIGNED)),
                    *at = node(OP_ADD, constant(address, VALUE_UNSIGNED), bytes);
  struct expression *e = node(OP_MEMORY, at, NULL);
  e->uniform = index->uniform;
  e->type = type;
  e->kind = kind_of(type);
  return e;
}

bool find_variable(struct repl *r, const char *name, size_t n, mx_debug_variable *out) {
  mx_debug_variable v = {.struct_size = sizeof v};
  bool found = false;
  for (size_t k = 0; r->g && mx_debug_variable_at(r->g, r->block, r->warp, r->split, r->frame, k, &v) == MX_OK; k++)
    if (strlen(v.name) == n && !memcmp(v.name, name, n)) *out = v, found = true; /* the innermost */
  return found;
}

bool find_elements(struct repl *r, const char *name, size_t n, uint64_t *address, uint64_t *bytes,
                   const struct elem **type) {
  const struct arg *a = find_arg(&r->args, name, n);
  mx_debug_variable v;
  if (a && a->buffer && !a->array)
    return *address = a->address, *bytes = a->data.size, *type = a->data.type ? a->data.type : elem_find("u8", 2), true;
  if (isdigit((unsigned char)*name) || !find_variable(r, name, n, &v)) return false;
  return *address = v.address, *bytes = v.bytes, *type = elem_find("u32", 3), true;
}

static struct expression *focus_value(struct compiler *c, const char *name, size_t n) {
  struct repl *r = c->r;
  const mx_debug_point *p = c->point;
  mx_debug_frame f = {.struct_size = sizeof f};
  const bool runs = r->g && !r->over && mx_debug_get_frame(r->g, r->block, r->warp, r->split, r->frame, &f) == MX_OK;
  const struct {
    const char *name;
    uint64_t v;
  } all[] = {{"pc", p ? p->pc : f.pc},
             {"block", p ? p->block : r->block},
             {"warp", p ? p->warp : r->warp},
             {"lane", r->lane},
             {"split", r->split},
             {"frame", r->frame},
             {"position", r->stop.steps}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (strlen(all[k].name) == n && !memcmp(all[k].name, name, n))
      return runs || p ? constant(all[k].v, VALUE_SIGNED) : fail(c, "%s", "no launch: 'run' or 'start' first");
  return NULL;
}

/* Behind "$". */
static struct expression *dollar(struct compiler *c) {
  const char *s = c->s;
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
  if (n && !isdigit((unsigned char)*s)) {
    struct expression *e = focus_value(c, s, n);
    if (e) c->s += n;
    return e;
  }
  const size_t all = c->r->nvalues, back = *s == '$';
  uint64_t number = all - back;
  if (back) c->s++;
  if (n) number = strtoull(s, NULL, 10), c->s += n;
  if (!number || number > all)
    return fail(c, "%s",
                all ? "there is no such value: 'info values' lists what was printed" : "nothing has been printed yet");
  struct expression *e = node(OP_VALUE, NULL, NULL);
  const struct value *v = c->r->values[number - 1].value;
  e->bits = number - 1;
  e->kind = v->kind, e->type = v->type, e->pred = v->pred, e->uniform = v->uniform, e->address = v->address;
  return e;
}

static const struct {
  const char *name;
  enum op op;
  bool uniform, pred;
} functions[] = {{"any", OP_ANY, true, true},      {"all", OP_ALL, true, true},   {"count", OP_COUNT, true, false},
                 {"sum", OP_SUM, true, false},     {"min", OP_MIN, true, false},  {"max", OP_MAX, true, false},
                 {"isnan", OP_ISNAN, false, true}, {"abs", OP_ABS, false, false}, {"differs", OP_DIFFERS, false, true}};

static struct expression *at_lane(struct compiler *c, struct expression *a, struct expression *b) {
  if (!a || !b) return expression_free(a), expression_free(b), NULL;
  struct expression *e = node(OP_AT, a, b);
  e->kind = a->kind, e->type = a->type, e->pred = a->pred, e->address = a->address;
  e->uniform = true;
  (void)c;
  return e;
}

static struct expression *named(struct compiler *c) {
  size_t n = 0;
  while (isalnum((unsigned char)c->s[n]) || (c->s[n] && strchr("_$.", c->s[n]))) n++;
  char *name = format("%.*s", (int)n, c->s);
  c->s += n;
  const struct elem *type = elem_find(name, n);
  struct expression *e = NULL, *a;
  const struct elem *had;
  uint64_t address, bytes;
  const char *behind = c->s;
  if (type && take(c, "[")) return free(name), memory(c, type);
  if (type && c->s > behind && (isalpha((unsigned char)*c->s) || strchr("_$", *c->s)) &&
      *c->s) { /* "f32 tile[3]": as another type */
    free(name);
    for (n = 0; isalnum((unsigned char)c->s[n]) || (c->s[n] && strchr("_$.", c->s[n])); n++) {}
    name = format("%.*s", (int)n, c->s);
    c->s += n;
    const bool found = find_elements(c->r, name, n, &address, &bytes, &had);
    if (!found) fail(c, "'%s' is no buffer and no variable", name);
    else if (!take(c, "[")) fail(c, "expected [INDEX] behind '%s'", name);
    free(name);
    return c->why ? NULL : element(c, address, type);
  }
  if (*c->s == '[' && find_elements(c->r, name, n, &address, &bytes, &had))
    return c->s++, free(name), element(c, address, had);
  if (type && take(c, "(")) {
    if ((a = ternary(c)) && take(c, ")")) e = node(OP_BITS, a, NULL), e->type = type, e->kind = kind_of(type);
    else if (a) expression_free(a), fail(c, "expected ) before '%s'", c->s);
    return free(name), e;
  }
  if (!strcmp(name, "lane") && take(c, "(")) {
    free(name);
    struct expression *l = ternary(c);
    if (l && !take(c, ",")) return expression_free(l), fail(c, "expected , before '%s'", c->s);
    a = l ? ternary(c) : NULL;
    if (a && !take(c, ")")) return expression_free(l), expression_free(a), fail(c, "expected ) before '%s'", c->s);
    return at_lane(c, a, l);
  }
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    if (strcmp(functions[k].name, name) || !take(c, "(")) continue;
    free(name);
    if (!(a = ternary(c))) return NULL;
    if (!take(c, ")")) return expression_free(a), fail(c, "expected ) before '%s'", c->s);
    e = node(functions[k].op, a, NULL);
    e->uniform = functions[k].uniform || a->uniform;
    e->pred = functions[k].pred;
    bool keeps = e->op == OP_SUM || e->op == OP_MIN || e->op == OP_MAX || e->op == OP_ABS;
    if (keeps) e->kind = a->kind;
    if (e->op == OP_MIN || e->op == OP_MAX || (keeps && a->kind == VALUE_REAL)) e->type = a->type;
    return e;
  }
  struct arg *g = find_arg(&c->r->args, name, n);
  mx_debug_variable v;
  if (g && !isdigit((unsigned char)*name) && g->param.size <= 8) {
    uint64_t bits = 0;
    memcpy(&bits, c->r->args.params + g->param.offset, g->param.size);
    e = constant(bits, VALUE_UNSIGNED);
    e->address = g->buffer;
    set_type(e, g->param.type);
    if (e->kind == VALUE_REAL) e->real = elem_real(e->type, &bits);
  } else if (find_variable(c->r, name, n, &v)) {
    e = constant(v.address, VALUE_UNSIGNED);
    e->address = true;
  } else if (names_register(c->r, c->point, name)) {
    c->s -= n;
    e = reg(c);
  } else {
    fail(c, "no parameter, variable or function '%s'", name);
  }
  free(name);
  return e;
}

static struct expression *unary(struct compiler *c);

/* "@ LANE" and "@ LO..HI" behind a value. */
static struct expression *in_lanes(struct compiler *c, struct expression *e) {
  while (e && take(c, "@")) {
    unsigned lo, hi;
    int end = 0;
    if (sscanf(c->s, " %2u..%2u%n", &lo, &hi, &end) == 2 && end) {
      if (lo > hi || hi >= warp_lanes(c->r))
        return expression_free(e), fail(c, "%s", "expected LO..HI within the warp's lanes");
      c->s += end;
      struct expression *range = node(OP_LANES, e, NULL);
      range->kind = e->kind, range->type = e->type, range->pred = e->pred, range->address = e->address,
      range->uniform = false;
      range->bits = UINT64_MAX >> (63 - hi) & UINT64_MAX << lo;
      e = range;
      continue;
    }
    if (++c->depth > 100) return expression_free(e), fail(c, "%s", "the expression is nested too deeply");
    e = at_lane(c, e, unary(c));
    c->depth--;
  }
  return e;
}

static struct expression *unary(struct compiler *c) {
  blanks(c);
  if (++c->depth > 100) return fail(c, "%s", "the expression is nested too deeply");
  struct expression *e = NULL, *a;
  char ch = *c->s;
  if (ch == '-' || ch == '!' || ch == '~') {
    c->s++;
    a = unary(c);
    if (a && ch == '~' && a->kind == VALUE_REAL) expression_free(a), a = fail(c, "%s", "~ is for integers");
    if (a) {
      e = node(ch == '-' ? OP_NEGATE : ch == '!' ? OP_NOT : OP_COMPLEMENT, a, NULL);
      e->kind = ch == '!' ? VALUE_SIGNED : ch == '-' && a->kind == VALUE_UNSIGNED ? VALUE_SIGNED : a->kind;
      e->pred = ch == '!' || (ch == '~' && a->pred);
      if (e->kind == VALUE_REAL) e->type = a->type;
    }
  } else if (ch == '(') {
    c->s++;
    e = ternary(c);
    if (e && !take(c, ")")) expression_free(e), e = fail(c, "expected ) before '%s'", c->s);
  } else if (ch == '[') {
    c->s++;
    e = memory(c, NULL);
  } else if (ch == '%') {
    e = reg(c);
  } else if (isdigit((unsigned char)ch) || ch == '.') {
    e = number(c);
  } else if (ch == '$' && (c->s++, (e = dollar(c)) || c->why || (c->s--, false))) {
    /* done */
  } else if (isalpha((unsigned char)ch) || ch == '_' || ch == '$') {
    e = named(c);
  } else {
    fail(c, *c->s ? "expected a value before '%s'" : "expected a value%s", c->s);
  }
  c->depth--;
  /* Of a constant nobody asks the value in a lane: there it belongs to all that stands before, as in "%k >= 64 @ 63".
   */
  return e && e->op == OP_CONST ? e : in_lanes(c, e);
}

static const struct {
  const char *text;
  enum op op;
  int level;
} operators[] = {{"||", OP_OROR, 1}, {"&&", OP_ANDAND, 2}, {"==", OP_EQ, 6}, {"!=", OP_NE, 6}, {"<<", OP_SHL, 8},
                 {">>", OP_SHR, 8},  {"<=", OP_LE, 7},     {">=", OP_GE, 7}, {"<", OP_LT, 7},  {">", OP_GT, 7},
                 {"|", OP_OR, 3},    {"^", OP_XOR, 4},     {"&", OP_AND, 5}, {"+", OP_ADD, 9}, {"-", OP_SUB, 9},
                 {"*", OP_MUL, 10},  {"/", OP_DIV, 10},    {"%", OP_MOD, 10}};

static bool compares(enum op op) { return (op >= OP_EQ && op <= OP_GE) || op == OP_OROR || op == OP_ANDAND; }
static bool bitwise(enum op op) {
  return op == OP_OR || op == OP_XOR || op == OP_AND || op == OP_SHL || op == OP_SHR || op == OP_MOD;
}

/* What the result of an operation on reals is shown as: the type of its operands, if numbers as written leave a choice.
 */
static const struct elem *real_type(const struct expression *a, const struct expression *b) {
  const struct elem *x = a->kind == VALUE_REAL ? a->type : NULL, *y = b->kind == VALUE_REAL ? b->type : NULL;
  if (!x || !y)
    return x && (b->kind != VALUE_REAL || b->op == OP_CONST)   ? x
           : y && (a->kind != VALUE_REAL || a->op == OP_CONST) ? y
                                                               : NULL;
  return x->size >= y->size ? x : y;
}

static struct expression *binary(struct compiler *c, int level) {
  struct expression *a = unary(c);
  while (a) {
    blanks(c);
    size_t k = 0, n = sizeof operators / sizeof *operators;
    while (k < n && strncmp(c->s, operators[k].text, strlen(operators[k].text))) k++;
    if (k == n || operators[k].level < level) return a;
    enum op op = operators[k].op;
    c->s += strlen(operators[k].text);
    struct expression *b =
        ++c->depth > 100 ? fail(c, "%s", "the expression is nested too deeply") : binary(c, operators[k].level + 1);
    c->depth--;
    if (!b) return expression_free(a), NULL;
    bool real = a->kind == VALUE_REAL || b->kind == VALUE_REAL,
         wide = (a->type && a->type->size == 8 && a->kind == VALUE_UNSIGNED) ||
                (b->type && b->type->size == 8 && b->kind == VALUE_UNSIGNED);
    if (real && bitwise(op))
      return expression_free(a), expression_free(b), fail(c, "'%s' is for integers", operators[k].text);
    struct expression *e = node(op, a, b);
    e->kind = compares(op)                                                                       ? VALUE_SIGNED
              : real                                                                             ? VALUE_REAL
              : wide || (a->kind == VALUE_UNSIGNED && b->kind == VALUE_UNSIGNED && op != OP_SUB) ? VALUE_UNSIGNED
                                                                                                 : VALUE_SIGNED;
    if (real && !compares(op)) e->type = real_type(a, b);
    e->address = (op == OP_ADD || op == OP_SUB) && (a->address ? !(b->address && op == OP_SUB) : b->address);
    e->pred = compares(op) || (a->pred && b->pred && (op == OP_AND || op == OP_OR || op == OP_XOR));
    a = e;
  }
  return NULL;
}

static struct expression *choice(struct compiler *c) {
  struct expression *a = binary(c, 1);
  if (!a || !take(c, "?")) return a;
  if (++c->depth > 100) return expression_free(a), fail(c, "%s", "the expression is nested too deeply");
  struct expression *b = ternary(c), *d = NULL;
  if (b && !take(c, ":")) expression_free(b), b = fail(c, "expected : before '%s'", c->s);
  if (b) d = choice(c);
  c->depth--;
  if (!b || !d) return expression_free(a), expression_free(b), expression_free(d), NULL;
  struct expression *e = node(OP_SELECT, b, d);
  e->c = a;
  e->uniform &= a->uniform;
  e->kind = b->kind == VALUE_REAL || d->kind == VALUE_REAL ? VALUE_REAL : b->kind == d->kind ? b->kind : VALUE_SIGNED;
  e->pred = b->pred && d->pred;
  if (e->kind == VALUE_REAL) e->type = real_type(b, d);
  return e;
}

static struct expression *ternary(struct compiler *c) { return in_lanes(c, choice(c)); }

struct expression *expression_compile(struct repl *r, const char *text, const char **rest, const mx_debug_point *point,
                                      char **why) {
  struct compiler c = {.r = r, .s = text, .point = point};
  struct expression *e = ternary(&c);
  blanks(&c);
  if (e && !rest && *c.s) {
    fail(&c,
         *c.s == '[' ? "'%s' follows the expression; elements of buffers are NAME[LO:HI], lanes of registers @ LO..HI"
                     : "'%s' follows the expression",
         c.s);
    expression_free(e);
    e = NULL;
  }
  if (rest) *rest = c.s;
  *why = c.why;
  return e;
}

/* Loops over lanes, compiled for several CPUs; the sanitizers' start-up comes too late for that. */
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && !defined __clang__
#define OVER_LANES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define OVER_LANES
#endif

/* ---- evaluating -------------------------------------------------------------------------------------------*/
#define EACH for (unsigned l = 0; l < REPL_LANES; l++)

struct context {
  struct repl *r;
  const mx_debug_point *point;
  uint64_t active;
  char *why;
};

static void from_bits(const struct elem *t, struct value *v, unsigned l, uint64_t bits) {
  if (!t) v->lane[l].u = bits & 1;
  else if (t->kind == ELEM_FLOAT) v->lane[l].f = elem_real(t, &bits);
  else if (t->kind == ELEM_SIGNED)
    v->lane[l].i = t->size == 8 ? (int64_t)bits : (int64_t)(bits << (64 - 8 * t->size)) >> (64 - 8 * t->size);
  else v->lane[l].u = t->size == 8 ? bits : bits & ((1ull << 8 * t->size) - 1);
}

static void to_real(struct value *v) {
  for (unsigned l = 0; l < REPL_LANES && v->kind != VALUE_REAL; l++)
    v->lane[l].f = v->kind == VALUE_SIGNED ? (double)v->lane[l].i : (double)v->lane[l].u;
  v->kind = VALUE_REAL;
}

OVER_LANES static void load_cell(struct context *x, const struct expression *e, struct value *v) {
  const void *p = mx_debug_cell_lanes(x->r->g, &e->cell);
  unsigned n = e->cell.lanes;
  if (!p) {
    v->fault = UINT64_MAX;
    return;
  }
  if (n < REPL_LANES) memset(v->lane + n, 0, (REPL_LANES - n) * sizeof v->lane[0]);
  if (e->pred) {
    uint64_t m = *(const uint64_t *)p;
    for (unsigned l = 0; l < REPL_LANES; l++) v->lane[l].u = m >> l & 1;
  } else if (e->type->size == 8 && e->kind != VALUE_REAL) {
    memcpy(v->lane, p, n * 8);
  } else if (e->type->size == 4 && e->kind == VALUE_UNSIGNED) {
    for (unsigned l = 0; l < n; l++) v->lane[l].u = ((const uint32_t *)p)[l];
  } else if (e->type->size == 4 && e->kind == VALUE_SIGNED) {
    for (unsigned l = 0; l < n; l++) v->lane[l].i = ((const int32_t *)p)[l];
  } else if (e->type->size == 4) {
    for (unsigned l = 0; l < n; l++) v->lane[l].f = (double)((const float *)p)[l];
  } else {
    for (unsigned l = 0; l < n; l++)
      from_bits(e->type, v, l, e->cell.bits == 64 ? ((const uint64_t *)p)[l] : ((const uint32_t *)p)[l]);
  }
}

OVER_LANES static void load_constant(const struct expression *e, struct value *v) {
  if (e->kind == VALUE_REAL) EACH v->lane[l].f = e->real;
  else EACH v->lane[l].u = e->bits;
  if (e->type && e->kind == VALUE_SIGNED) EACH from_bits(e->type, v, l, e->bits);
}

static void load_register(struct context *x, const struct expression *e, struct value *v) {
  struct repl *r = x->r;
  const mx_debug_point *p = x->point;
  mx_debug_register g = {.struct_size = sizeof g};
  mx_status s = p ? mx_debug_get_register(r->g, p->block, p->warp, 0, 0, e->name, &g)
                  : mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, e->name, &g);
  if (s != MX_OK) {
    if (!x->why) x->why = format("%s holds nothing here", e->name);
    return;
  }
  for (unsigned l = 0; l < g.lanes; l++) from_bits(e->pred ? NULL : e->type, v, l, g.low[l]);
  v->fault = ~g.known;
  v->unset = g.unset;
}

bool read_memory(struct repl *r, uint64_t block, uint32_t warp, uint32_t lane, uint64_t address, void *to,
                 size_t bytes) {
  if (r->g && !r->over) return mx_debug_read(r->g, block, warp, lane, address, to, bytes) == MX_OK;
  return mx_copy_from_device(r->d, to, address, bytes) == MX_OK; /* what a launch has left */
}

static void load_memory(struct context *x, const struct expression *e, const struct value *a, struct value *v) {
  struct repl *r = x->r;
  uint64_t block = x->point ? x->point->block : r->block;
  uint32_t warp = x->point ? x->point->warp : r->warp;
  uint64_t lanes = x->active ? x->active : 1;
  unsigned first = (unsigned)__builtin_ctzll(lanes);
  for (unsigned l = 0; l < REPL_LANES; l++) {
    uint64_t bits = 0;
    if (!(lanes >> l & 1)) continue;
    if (a->uniform && l != first && a->lane[l].u >> 40 != 2)
      v->lane[l] = v->lane[first], v->fault |= (v->fault >> first & 1) << l;
    else if (read_memory(r, block, warp, l, a->lane[l].u, &bits, e->type->size)) from_bits(e->type, v, l, bits);
    else v->fault |= 1ull << l;
  }
}

#define ARITHMETIC(op_) \
  if (real) EACH v->lane[l].f = a->lane[l].f op_ b->lane[l].f; \
  else EACH v->lane[l].u = a->lane[l].u op_ b->lane[l].u; \
  break;
#define COMPARE(op_) \
  if (real) EACH v->lane[l].u = a->lane[l].f op_ b->lane[l].f; \
  else if (as_unsigned) EACH v->lane[l].u = a->lane[l].u op_ b->lane[l].u; \
  else EACH v->lane[l].u = a->lane[l].i op_ b->lane[l].i; \
  break;

OVER_LANES static void apply(const struct expression *e, struct value *a, struct value *b, struct value *v) {
  bool real = a->kind == VALUE_REAL || b->kind == VALUE_REAL;
  bool as_unsigned = a->kind == VALUE_UNSIGNED && b->kind == VALUE_UNSIGNED;
  if (real && e->op != OP_OROR && e->op != OP_ANDAND) to_real(a), to_real(b);
  switch (e->op) {
  case OP_ADD: ARITHMETIC(+)
  case OP_SUB: ARITHMETIC(-)
  case OP_MUL: ARITHMETIC(*)
  case OP_OR: EACH v->lane[l].u = a->lane[l].u | b->lane[l].u; break;
  case OP_AND: EACH v->lane[l].u = a->lane[l].u & b->lane[l].u; break;
  case OP_XOR: EACH v->lane[l].u = a->lane[l].u ^ b->lane[l].u; break;
  case OP_SHL: EACH v->lane[l].u = b->lane[l].u < 64 ? a->lane[l].u << b->lane[l].u : 0; break;
  case OP_SHR:
    EACH {
      unsigned by = b->lane[l].u < 63 ? (unsigned)b->lane[l].u : 63;
      v->lane[l].u = a->kind == VALUE_SIGNED ? (uint64_t)(a->lane[l].i >> by)
                     : b->lane[l].u > 63     ? 0
                                             : a->lane[l].u >> by;
    }
    break;
  case OP_DIV:
    if (real) EACH v->lane[l].f = a->lane[l].f / b->lane[l].f;
    else EACH {
        if (!b->lane[l].u) v->fault |= 1ull << l;
        else if (as_unsigned) v->lane[l].u = a->lane[l].u / b->lane[l].u;
        else v->lane[l].i = b->lane[l].i == -1 ? (int64_t)(0 - a->lane[l].u) : a->lane[l].i / b->lane[l].i;
      }
    break;
  case OP_MOD:
    EACH {
      if (!b->lane[l].u) v->fault |= 1ull << l;
      else if (as_unsigned) v->lane[l].u = a->lane[l].u % b->lane[l].u;
      else v->lane[l].i = b->lane[l].i == -1 ? 0 : a->lane[l].i % b->lane[l].i;
    }
    break;
  case OP_EQ: COMPARE(==)
  case OP_NE: COMPARE(!=)
  case OP_LT: COMPARE(<)
  case OP_LE: COMPARE(<=)
  case OP_GT: COMPARE(>)
  case OP_GE: COMPARE(>=)
  default: break;
  }
}

/* Bytes first, which vectorises, then eight of them at a time into bits. */
OVER_LANES static uint64_t truth(const struct value *v) {
  uint8_t on[REPL_LANES];
  uint64_t m = 0, eight;
  if (v->uniform) return (v->kind == VALUE_REAL ? v->lane[0].f != 0 : v->lane[0].u != 0) ? UINT64_MAX : 0;
  if (v->kind == VALUE_REAL) EACH on[l] = v->lane[l].f != 0;
  else EACH on[l] = v->lane[l].u != 0;
  for (unsigned k = 0; k < REPL_LANES; k += 8) {
    memcpy(&eight, on + k, 8);
    m |= (eight * 0x0102040810204080u >> 56) << k;
  }
  return m;
}
uint64_t value_truth(const struct value *v) { return truth(v); }

static void spread(struct value *v, uint64_t m) {
  if (m == 0 || m == UINT64_MAX) EACH v->lane[l].u = m & 1;
  else EACH v->lane[l].u = m >> l & 1;
}

static uint64_t bits_of(const struct value *v, const struct expression *of, unsigned l) {
  if (v->kind != VALUE_REAL) return v->lane[l].u;
  const struct elem *t = of->type && of->type->kind == ELEM_FLOAT ? of->type : elem_find("f64", 3);
  uint64_t bits = 0;
  elem_set_real(t, &bits, v->lane[l].f);
  return bits;
}

/* Sums, least and greatest of the active lanes. */
static void reduce(const struct expression *e, const struct value *a, uint64_t m, struct value *v) {
  bool first = true;
  __typeof__(v->lane[0]) x = {0};
  for (unsigned l = 0; l < REPL_LANES; l++) {
    if (!(m >> l & 1)) continue;
    __typeof__(v->lane[0]) y = a->lane[l];
    bool less = a->kind == VALUE_REAL ? y.f < x.f : a->kind == VALUE_SIGNED ? y.i < x.i : y.u < x.u;
    bool more = a->kind == VALUE_REAL ? y.f > x.f : a->kind == VALUE_SIGNED ? y.i > x.i : y.u > x.u;
    if (e->op == OP_SUM) {
      if (a->kind == VALUE_REAL) x.f += y.f;
      else x.u += y.u;
    } else if (first || (e->op == OP_MIN ? less : more)) {
      x = y;
    }
    first = false;
  }
  EACH v->lane[l] = x;
}

static void eval(struct context *x, const struct expression *e, struct value *v);

/* Operators with one operand, over its values in a. */
static void eval_one(struct context *x, const struct expression *e, struct value *a, struct value *v) {
  uint64_t m = x->active;
  v->fault = a->fault;
  v->unset = a->unset;
  v->lanes = a->lanes;
  switch (e->op) {
  case OP_NEGATE:
    if (a->kind == VALUE_REAL) EACH v->lane[l].f = -a->lane[l].f;
    else EACH v->lane[l].u = 0 - a->lane[l].u;
    break;
  case OP_NOT: spread(v, ~truth(a)); break;
  case OP_COMPLEMENT:
    if (e->pred) spread(v, ~truth(a));
    else EACH v->lane[l].u = ~a->lane[l].u;
    break;
  case OP_ANY: spread(v, truth(a) & m ? UINT64_MAX : 0); break;
  case OP_ALL: spread(v, m & ~truth(a) ? 0 : UINT64_MAX); break;
  case OP_COUNT: EACH v->lane[l].u = (uint64_t)__builtin_popcountll(truth(a) & m); break;
  case OP_SUM:
  case OP_MIN:
  case OP_MAX: reduce(e, a, m, v); break;
  case OP_ISNAN:
    if (a->kind == VALUE_REAL) EACH v->lane[l].u = a->lane[l].f != a->lane[l].f;
    else EACH v->lane[l].u = 0;
    break;
  case OP_ABS:
    if (a->kind == VALUE_REAL) EACH v->lane[l].f = fabs(a->lane[l].f);
    else EACH v->lane[l].u = a->kind == VALUE_SIGNED && a->lane[l].i < 0 ? 0 - a->lane[l].u : a->lane[l].u;
    break;
  case OP_DIFFERS: {
    unsigned first = m ? (unsigned)__builtin_ctzll(m) : 0;
    EACH v->lane[l].u = a->lane[l].u != a->lane[first].u && m >> l & 1;
    break;
  }
  case OP_BITS: EACH from_bits(e->type, v, l, bits_of(a, e->a, l)); break;
  case OP_MEMORY: load_memory(x, e, a, v); break;
  case OP_LANES:
    memcpy(v->lane, a->lane, sizeof v->lane);
    v->lanes = e->bits;
    break;
  default: break;
  }
}

static void eval(struct context *x, const struct expression *e, struct value *v) {
  v->kind = e->kind, v->type = e->type, v->pred = e->pred, v->uniform = e->uniform, v->address = e->address,
  v->unset = false, v->fault = v->lanes = 0;
  if (e->op == OP_VALUE) {
    *v = *x->r->values[e->bits].value;
    return;
  }
  if (e->op == OP_CONST) return load_constant(e, v);
  if (e->op == OP_CELL) return load_cell(x, e, v);
  if (e->op == OP_REGISTER || e->op == OP_MEMORY || e->op == OP_AT || e->op == OP_DIV || e->op == OP_MOD)
    memset(v->lane, 0, sizeof v->lane);
  if (e->op == OP_REGISTER) return load_register(x, e, v);
  struct value a, b;
  eval(x, e->a, &a);
  if (!e->b) return eval_one(x, e, &a, v);
  eval(x, e->b, &b);
  v->fault = a.fault | b.fault;
  v->unset = a.unset | b.unset;
  v->lanes = a.lanes && b.lanes ? a.lanes & b.lanes : a.lanes | b.lanes;
  if (e->op == OP_AT) {
    uint64_t at = b.lane[0].u;
    if (b.kind == VALUE_REAL || at >= warp_lanes(x->r)) {
      if (!x->why) x->why = format("lanes are numbered 0 to %u", warp_lanes(x->r) - 1);
      return;
    }
    if (e->a->op == OP_MEMORY && !(x->active >> at & 1)) v->fault = UINT64_MAX;
    else v->fault = a.fault >> at & 1 ? UINT64_MAX : 0;
    EACH v->lane[l] = a.lane[at];
  } else if (e->op == OP_OROR || e->op == OP_ANDAND) {
    spread(v, e->op == OP_OROR ? truth(&a) | truth(&b) : truth(&a) & truth(&b));
  } else if (e->op == OP_SELECT) {
    struct value c;
    eval(x, e->c, &c);
    uint64_t m = truth(&c);
    if (e->kind == VALUE_REAL) to_real(&a), to_real(&b);
    EACH v->lane[l] = m >> l & 1 ? a.lane[l] : b.lane[l];
    v->fault = (a.fault & m) | (b.fault & ~m) | c.fault;
  } else {
    apply(e, &a, &b, v);
  }
}

bool expression_value(struct repl *r, const struct expression *e, const mx_debug_point *point, struct value *out,
                      char **why) {
  struct context x = {.r = r,
                      .point = point,
                      .active = point              ? point->lanes
                                : r->g && !r->over ? focus_lanes(r)
                                                   : UINT64_MAX};
  eval(&x, e, out);
  *why = x.why;
  return !x.why;
}

/* Lanes for which a condition holds: of any(x), those where x does. */
static uint64_t lanes_where(struct context *x, const struct expression *e) {
  struct value v;
  if (e->op == OP_ANY || e->op == OP_COUNT) return lanes_where(x, e->a);
  if (e->op == OP_ANDAND) return lanes_where(x, e->a) & lanes_where(x, e->b);
  if (e->op >= OP_EQ && e->op <= OP_GE && e->a->op == OP_COUNT) return lanes_where(x, e->a);
  if (e->op == OP_OROR) {
    uint64_t a = (eval(x, e->a, &v), truth(&v)) ? lanes_where(x, e->a) : 0;
    return a | ((eval(x, e->b, &v), truth(&v)) ? lanes_where(x, e->b) : 0);
  }
  if (e->op == OP_AT) return eval(x, e->b, &v), v.lane[0].u < REPL_LANES ? 1ull << v.lane[0].u : 0;
  eval(x, e, &v);
  return truth(&v);
}

uint64_t expression_lanes(struct repl *r, const struct expression *e, const mx_debug_point *point) {
  struct context x = {.r = r, .point = point, .active = point ? point->lanes : focus_lanes(r)};
  const uint64_t m = lanes_where(&x, e);
  free(x.why);
  return m & x.active;
}

bool evaluate(struct repl *r, const char *text, const char **rest, struct value *out) {
  char *why = NULL;
  struct expression *e = expression_compile(r, text, rest, NULL, &why);
  bool good = e && expression_value(r, e, NULL, out, &why);
  expression_free(e);
  if (!good) complain(r, "%s", why ? why : "that is no expression");
  free(why);
  return good;
}

/* Where brackets stand behind a type, a name or nothing it is memory; but elements whose index differs from lane to
 * lane are values. */
bool place_of(struct repl *r, const char *text, const char **rest, uint64_t *address, const struct elem **type,
              char **why) {
  *why = NULL;
  const char *s = text + strspn(text, " \t"), *after = s;
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || (s[n] && strchr("_$. ", s[n]))) n++;
  if (s[n] != '[') return false;
  struct expression *e = expression_compile(r, s, &after, NULL, why);
  struct value v;
  bool good = e && e->op == OP_MEMORY && (e->uniform || s[0] == '[' || elem_find(s, strcspn(s, "["))) &&
              expression_value(r, e->a, NULL, &v, why);
  if (rest) *rest = after;
  else if (good && *after) good = false;
  *type = good ? e->type : NULL;
  *address = good ? v.lane[r->lane].u : 0;
  expression_free(e);
  return good;
}

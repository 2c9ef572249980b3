/* Constant expressions with C's operators, the linear forms of addresses (name + index * scale + constant), and the
 * bits of a constant as a value of some type. Separate because operands, addresses, initialisers and directives all use
 * them; knows no instruction.
 *
 * Integers have 64 bits and a sign, as PTX says: a literal is signed unless it ends in U or needs bit 63, an operation
 * is unsigned if an operand is, a comparison's result is signed. */
#include "parser.h"

#include <string.h>

static struct expr parse_ternary(struct front *f);
static struct expr parse_unary(struct front *f);

static struct expr bad(struct ir_loc loc) { return (struct expr){.kind = EX_BAD, .loc = loc}; }
static struct expr integer(uint64_t v, bool is_unsigned, struct ir_loc loc) {
  return (struct expr){.kind = EX_INT, .value = v, .is_unsigned = is_unsigned, .loc = loc};
}
static bool has_name(const struct expr *e) { return e->base || e->index || e->has_inner; }
static bool pure(const struct expr *e) { return e->kind == EX_INT && !has_name(e); }

static struct expr constant(const struct sym *y, struct ir_loc loc) {
  struct expr e = integer(y->value, y->is_unsigned, loc);
  if (y->is_float) {
    e.kind = EX_FLOAT;
    e.bits = (uint8_t)y->elem;
    if (e.bits == 32) {
      uint32_t u = (uint32_t)y->value;
      float r;
      memcpy(&r, &u, 4);
      e.real = (double)r;
    } else {
      memcpy(&e.real, &y->value, 8);
    }
  }
  return e;
}

static struct expr parse_word(struct front *f) {
  struct token t = mx__next(f);
  struct name *n = mx__name(&f->names, t.text, t.len);
  if (mx__tok_is(&t, "WARP_SZ")) return integer(f->lanes, false, t.loc);
  struct token *p = mx__peek(f, 0);
  if (p->kind == TOK_PUNCT && p->punct == '(' && mx__tok_is(&t, "generic")) {
    mx__next(f);
    struct expr e = parse_ternary(f);
    if (e.kind == EX_BAD || !mx__expect(f, ')', "generic(")) return bad(t.loc);
    e.generic = true;
    e.loc.width = e.loc.col + e.loc.width - t.loc.col;
    e.loc.col = t.loc.col;
    if (e.kind != EX_INT || !e.base || e.index) {
      ERR(f, "not-constant", t.loc, NULL, "generic(...): expected a variable's name");
      return bad(t.loc);
    }
    return e;
  }
  struct sym *y = mx__scope_find(&f->names, f->here ? f->here : f->scope, n);
  if (y && y->kind == SYM_CONST) return constant(y, t.loc);
  struct expr e = {.kind = EX_INT, .base = n, .loc = t.loc};
  if (p->kind == TOK_DOT && !p->spaced) {
    struct token s = mx__next(f);
    e.suffix = mx__name(&f->names, s.text, s.len);
    e.loc.width += s.len;
  } else if (p->kind == TOK_PUNCT && p->punct == '[' && !p->spaced && t.text[0] != '%') {
    mx__next(f);
    bool is_unsigned;
    if (!mx__parse_const(f, &e.element, &is_unsigned) || !mx__expect(f, ']', "the element's number")) return bad(t.loc);
    e.has_element = true;
  }
  return e;
}

static struct expr parse_primary(struct front *f) {
  struct token *t = mx__peek(f, 0);
  if (t->kind == TOK_WORD) return parse_word(f);
  if (t->kind == TOK_INT) {
    struct token v = mx__next(f);
    t = mx__peek(f, 0);
    if (t->kind == TOK_PUNCT && t->punct == '(' && !t->spaced) {
      ERR(f, "address-mask", v.loc, NULL, "a mask is 0xFF, 0xFF00 and so on, before an initial value");
      mx__next(f);
      parse_ternary(f);
      mx__expect(f, ')', "the address");
      return bad(v.loc);
    }
    return integer(v.value, v.is_unsigned, v.loc);
  }
  if (t->kind == TOK_FLOAT) {
    struct token v = mx__next(f);
    return (struct expr){.kind = EX_FLOAT, .bits = v.bits, .value = v.value, .real = v.real, .loc = v.loc};
  }
  if (t->kind == TOK_STRING) {
    struct token v = mx__next(f);
    return (struct expr){.kind = EX_STRING, .bytes = v.bytes, .nbytes = v.nbytes, .loc = v.loc};
  }
  if (t->kind == TOK_PUNCT && t->punct == '(') {
    struct ir_loc loc = mx__next(f).loc;
    t = mx__peek(f, 0);
    if (mx__tok_is(t, ".s64") || mx__tok_is(t, ".u64")) { /* a cast */
      bool to_unsigned = mx__next(f).text[1] == 'u';
      if (!mx__expect(f, ')', "the cast")) return bad(loc);
      struct expr e = bad(loc);
      if (f->expr_depth++ >= MAX_EXPR_DEPTH)
        ERR(f, "expression-depth", loc, NULL, "expression nested more than %d deep", MAX_EXPR_DEPTH);
      else e = parse_unary(f);
      f->expr_depth--;
      e.is_unsigned = to_unsigned;
      return e;
    }
    struct expr e = parse_ternary(f);
    if (e.kind == EX_BAD || !mx__expect(f, ')', "the expression")) return bad(loc);
    return e;
  }
  if (t->kind != TOK_BAD) ERR(f, "syntax", t->loc, NULL, "expected an operand, found %s", mx__tok_text(f, t));
  return bad(t->loc);
}

static struct expr need_integer(struct front *f, struct expr e) {
  if (e.kind == EX_BAD || pure(&e)) return e;
  ERR(f, "not-constant", e.loc, NULL, "this operator takes integer constants");
  return bad(e.loc);
}

static struct expr parse_unary(struct front *f) {
  struct token *t = mx__peek(f, 0);
  if (t->kind != TOK_PUNCT || !(t->punct == '-' || t->punct == '+' || t->punct == '!' || t->punct == '~'))
    return parse_primary(f);
  int op = t->punct;
  struct ir_loc loc = t->loc;
  if (f->expr_depth >= MAX_EXPR_DEPTH) {
    ERR(f, "expression-depth", loc, NULL, "expression nested more than %d deep", MAX_EXPR_DEPTH);
    return bad(loc);
  }
  mx__next(f);
  f->expr_depth++;
  struct expr e = parse_unary(f);
  f->expr_depth--;
  if (e.kind == EX_BAD || op == '+') return e;
  if (e.loc.line == loc.line && e.loc.col > loc.col) {
    e.loc.width += e.loc.col - loc.col;
    e.loc.col = loc.col;
  }
  if (op == '-' && e.kind == EX_FLOAT) {
    e.real = -e.real;
    if (e.bits) e.value ^= (uint64_t)1 << (e.bits - 1);
    return e;
  }
  if (e.base && !e.index && !e.value && !e.negated && !e.minus && (op == '!' || op == '-')) {
    if (op == '!') e.negated = true;
    else e.minus = true;
    return e;
  }
  e = need_integer(f, e);
  if (e.kind == EX_BAD) return e;
  e.value = op == '-' ? 0 - e.value : op == '~' ? ~e.value : !e.value;
  if (op == '!') e.is_unsigned = false;
  return e;
}

struct binary {
  int punct;
  int level;
};
static const struct binary binaries[] = {
    {P_OROR, 1}, {P_ANDAND, 2}, {'|', 3},   {'^', 4},   {'&', 5}, {P_EQ, 6}, {P_NE, 6}, {'<', 7},  {'>', 7},
    {P_LE, 7},   {P_GE, 7},     {P_SHL, 8}, {P_SHR, 8}, {'+', 9}, {'-', 9},  {'*', 10}, {'/', 10}, {'%', 10},
};

static int level_of(const struct token *t) {
  if (t->kind != TOK_PUNCT) return 0;
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (binaries[i].punct == t->punct) return binaries[i].level;
  return 0;
}

/* Sums: at most one base and one scaled index. */
static struct expr add(struct front *f, struct expr a, struct expr b, struct ir_loc loc) {
  if (a.kind == EX_INT && b.kind == EX_INT && has_name(&b) && !has_name(&a)) {
    struct expr s = a;
    a = b;
    b = s;
  }
  bool fine = a.kind == EX_INT && b.kind == EX_INT && !a.negated && !b.negated && !a.minus && !b.minus;
  if (fine && b.index && !b.base && !a.index) {
    a.index = b.index, a.index_suffix = b.index_suffix, a.index_loc = b.index_loc, a.scale = b.scale;
  } else if (fine && a.index && !a.base && b.base && !b.index) {
    b.index = a.index, b.index_suffix = a.index_suffix, b.index_loc = a.index_loc, b.scale = a.scale;
    b.value += a.value;
    return b;
  } else if (fine && a.base && !a.index && b.base && !b.index) {
    a.index = b.base, a.index_suffix = b.suffix, a.index_loc = b.loc, a.scale = 1;
    fine = !b.generic;
  } else if (fine && has_name(&b)) {
    fine = false;
  }
  if (!fine) {
    ERR(f, "not-constant", loc, NULL,
        "these cannot be added: an address has one base, one scaled index and a constant");
    return bad(loc);
  }
  a.value += b.value;
  a.is_unsigned |= b.is_unsigned;
  return a;
}

static struct expr real_operation(struct front *f, int op, struct expr a, struct expr b) {
  double x = a.kind == EX_FLOAT ? a.real : a.is_unsigned ? (double)a.value : (double)(int64_t)a.value;
  double y = b.kind == EX_FLOAT ? b.real : b.is_unsigned ? (double)b.value : (double)(int64_t)b.value;
  struct expr e = {.kind = EX_FLOAT, .loc = a.loc};
  switch (op) {
  case '+': e.real = x + y; return e;
  case '-': e.real = x - y; return e;
  case '*': e.real = x * y; return e;
  case '/': e.real = x / y; return e;
  case '<': return integer(x < y, false, a.loc);
  case '>': return integer(x > y, false, a.loc);
  case P_LE: return integer(x <= y, false, a.loc);
  case P_GE: return integer(x >= y, false, a.loc);
  case P_EQ: return integer(x == y, false, a.loc);
  case P_NE: return integer(x != y, false, a.loc);
  }
  ERR(f, "not-constant", a.loc, NULL, "this operator takes integer constants");
  return bad(a.loc);
}

static struct expr operation(struct front *f, int op, struct expr a, struct expr b, struct ir_loc loc) {
  if (a.kind == EX_BAD || b.kind == EX_BAD) return bad(a.loc);
  if ((a.kind == EX_FLOAT && (b.kind == EX_FLOAT || pure(&b))) || (b.kind == EX_FLOAT && pure(&a)))
    return real_operation(f, op, a, b);
  if (op == '+') return add(f, a, b, loc);
  if (op == '-' && a.kind == EX_INT && pure(&b)) {
    a.value -= b.value;
    a.is_unsigned |= b.is_unsigned;
    return a;
  }
  if (op == '*' && pure(&b) && a.kind == EX_INT && a.base && !a.index && !a.value && !a.generic && !a.negated &&
      !a.minus) {
    a.index = a.base, a.index_suffix = a.suffix, a.index_loc = a.loc, a.scale = (int64_t)b.value;
    a.base = a.suffix = NULL;
    return a;
  }
  if (op == '*' && pure(&a) && b.kind == EX_INT && b.base && !b.index && !b.value && !b.generic && !b.negated &&
      !b.minus)
    return operation(f, op, b, a, loc);
  a = need_integer(f, a);
  if (a.kind != EX_BAD) b = need_integer(f, b);
  if (a.kind == EX_BAD || b.kind == EX_BAD) return bad(a.loc);
  uint64_t x = a.value, y = b.value;
  int64_t sx = (int64_t)x, sy = (int64_t)y;
  bool u = a.is_unsigned || b.is_unsigned;
  switch (op) {
  case '*': x *= y; break;
  case '/':
  case '%':
    if (!y) {
      ERR(f, "division-by-zero", loc, NULL, "division by zero in a constant");
      return bad(loc);
    }
    if (!u && sy == -1) x = op == '/' ? 0 - x : 0;
    else if (u) x = op == '/' ? x / y : x % y;
    else x = (uint64_t)(op == '/' ? sx / sy : sx % sy);
    break;
  case P_SHL:
    x = y > 63 ? 0 : x << y;
    u = a.is_unsigned;
    break;
  case P_SHR:
    u = a.is_unsigned;
    if (u) x = y > 63 ? 0 : x >> y;
    else x = (uint64_t)(sx >> (y > 63 ? 63 : y));
    break;
  case '&': x &= y; break;
  case '^': x ^= y; break;
  case '|': x |= y; break;
  case P_EQ:
    x = x == y;
    u = false;
    break;
  case P_NE:
    x = x != y;
    u = false;
    break;
  case '<':
    x = u ? x < y : sx < sy;
    u = false;
    break;
  case '>':
    x = u ? x > y : sx > sy;
    u = false;
    break;
  case P_LE:
    x = u ? x <= y : sx <= sy;
    u = false;
    break;
  case P_GE:
    x = u ? x >= y : sx >= sy;
    u = false;
    break;
  case P_ANDAND:
    x = x && y;
    u = false;
    break;
  case P_OROR:
    x = x || y;
    u = false;
    break;
  }
  return integer(x, u, a.loc);
}

static struct expr parse_binary(struct front *f, int lowest) {
  struct expr a = parse_unary(f);
  for (;;) {
    struct token *t = mx__peek(f, 0);
    int level = level_of(t);
    if (!level || level < lowest || a.kind == EX_BAD) return a;
    /* p|q is a pair of results, not an or */
    if (t->punct == '|' && (has_name(&a) || a.kind != EX_INT)) return a;
    struct token op = mx__next(f);
    struct expr b = parse_binary(f, level + 1);
    uint32_t width = b.loc.line == a.loc.line && b.loc.col + b.loc.width > a.loc.col
                         ? b.loc.col + b.loc.width - a.loc.col
                         : a.loc.width;
    struct ir_loc loc = a.loc;
    a = operation(f, op.punct, a, b, op.loc);
    a.loc = loc;
    a.loc.width = width;
  }
}

static struct expr parse_ternary(struct front *f) {
  if (f->expr_depth >= MAX_EXPR_DEPTH) {
    ERR(f, "expression-depth", mx__peek(f, 0)->loc, NULL, "expression nested more than %d deep", MAX_EXPR_DEPTH);
    return bad(mx__peek(f, 0)->loc);
  }
  f->expr_depth++;
  struct expr c = parse_binary(f, 1);
  if (mx__accept(f, '?')) {
    struct expr a = parse_ternary(f), b = bad(c.loc);
    if (mx__expect(f, ':', "the second part of ?:")) b = parse_ternary(f);
    c = need_integer(f, c);
    if (c.kind != EX_BAD && a.kind != EX_BAD && b.kind != EX_BAD) {
      struct ir_loc loc = c.loc;
      bool u = a.is_unsigned || b.is_unsigned;
      c = c.value ? a : b;
      c.is_unsigned = u;
      c.loc = loc;
    } else {
      c = bad(c.loc);
    }
  }
  f->expr_depth--;
  return c;
}

struct expr mx__parse_expr(struct front *f) {
  return parse_ternary(f);
}

bool mx__parse_const(struct front *f, uint64_t *value, bool *is_unsigned) {
  struct expr e = parse_ternary(f);
  *value = 0;
  *is_unsigned = e.is_unsigned;
  if (e.kind == EX_BAD) return false;
  if (!pure(&e)) {
    ERR(f, "not-constant", e.loc, NULL, "expected an integer constant");
    return false;
  }
  *value = e.value;
  return true;
}

/* ---- the bits of a constant --------------------------------------------------------------------------------*/
static uint16_t half_of(double x, bool bf16) {
  /* round to nearest even: through the exact double; both formats have far fewer bits */
  uint64_t u;
  memcpy(&u, &x, 8);
  uint16_t sign = (uint16_t)(u >> 48 & 0x8000);
  int exponent = (int)(u >> 52 & 0x7FF), mant = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, top = bf16 ? 255 : 31;
  uint64_t fraction = u & 0xFFFFFFFFFFFFFu;
  if (exponent == 0x7FF) return (uint16_t)(sign | (fraction ? 0x7FFF : top << mant));
  int e = exponent - 1023 + bias;
  uint64_t m = exponent ? fraction | 1ull << 52 : 0;
  int drop = 52 - mant;
  if (e <= 0) drop += 1 - e, e = 0;
  if (drop > 60 || !m) return sign;
  uint64_t kept = m >> drop, rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  /* a normal number carries its implicit bit, which counts as one exponent step */
  uint64_t r = e ? ((uint64_t)(e - 1) << mant) + kept : kept;
  if (r >= (uint64_t)top << mant) r = (uint64_t)top << mant;
  return (uint16_t)(sign | r);
}

bool mx__literal_bits(struct front *f, const struct expr *e, int type, uint64_t *out) {
  unsigned bits = mx__types[type].bits;
  bool is_f = type == MX_T_f32 || type == MX_T_f64 || type == MX_T_f16 || type == MX_T_bf16;
  if (e->kind == EX_FLOAT) {
    if (type == MX_T_f64 || (type == MX_T_b64 && e->bits != 32)) {
      memcpy(out, &e->real, 8);
      if (e->bits == 64) *out = e->value; /* keeps a NaN's bits */
    } else if (type == MX_T_f32 || type == MX_T_b32) {
      float r = (float)e->real;
      uint32_t u;
      memcpy(&u, &r, 4);
      *out = e->bits == 32 ? e->value : u;
    } else if (type == MX_T_f16 || type == MX_T_bf16) {
      *out = half_of(e->real, type == MX_T_bf16);
    } else {
      ERR(f, "literal-type", e->loc, NULL, "a floating-point number where .%s is expected", mx__types[type].name);
      return false;
    }
    return true;
  }
  uint64_t v = e->value;
  if (is_f && type != MX_T_f16 && type != MX_T_bf16) {
    /* a whole number for a float is its value: PTX has no such form, so nothing changes meaning */
    double x = e->is_unsigned ? (double)v : (double)(int64_t)v;
    struct expr real = {.kind = EX_FLOAT, .real = x, .loc = e->loc};
    return mx__literal_bits(f, &real, type, out);
  }
  if (type == MX_T_pred) {
    *out = v != 0;
    return true;
  }
  if (bits < 64) {
    int64_t s = (int64_t)v;
    int64_t lowest = -((int64_t)1 << (bits - 1)), highest = ((int64_t)1 << bits) - 1;
    if (s < lowest || s > highest) /* 0xFFFFFFFFFFFFFFFF is -1 */
      WARN_(f, "literal-truncated", e->loc, NULL, "%lld does not fit in .%s; its low %u bits are used", (long long)s,
            mx__types[type].name, bits);
    v &= ((uint64_t)1 << bits) - 1;
  }
  *out = v;
  return true;
}

/* Intrinsics: vendor device functions under their own names become the instructions that their rows in intrinsics.def
 * write. The operands have been checked against the row's signature (choose.c); here they go in as bits of their width,
 * and each instruction is selected like any other. Separate from macro.c: these are operands and registers, not text.
 */
#include "lower.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPS = 32, LABELS = 8, SHOWN = 3 };

struct temp {
  const char *name;
  size_t len;
  struct sym *sym;
  uint32_t reg;
};
struct use {
  struct lower *l;
  const struct row_match *match;
  const struct ir_opnd *opnds; /* by table operand; inputs that an earlier instruction overwrites stand as copies */
  struct temp temps[TEMPS];
  struct {
    const char *name;
    size_t len;
    uint32_t label;
  } labels[LABELS];
  unsigned ntemps, nlabels;
};

/* ---- what stands in a row's text --------------------------------------------------------------------------------*/
/* The text between ';'s; *end is where the next begins. */
static const char *piece(const char *p, const char **end) {
  p += strspn(p, " ;");
  *end = p + strcspn(p, ";");
  return p;
}

/* The number behind $ or #. */
static unsigned number(const char *p, const char **end) {
  char *e;
  unsigned long n = strtoul(p, &e, 10);
  *end = e;
  return (unsigned)n;
}

/* What the k-th {} group of the spelling matched. */
static void put_group(struct use *x, unsigned k, char *to, size_t room) {
  const char *p = x->match->row->spelling;
  unsigned mod = x->match->mod;
  for (;; k--) {
    p = strchr(p, '{');
    if (!p) return;
    unsigned count = 1;
    for (const char *q = ++p; *q != '}'; q++) count += *q == '|';
    unsigned digit = mod % count;
    mod /= count;
    if (k) continue;
    while (digit--) p += strcspn(p, "|") + 1;
    size_t n = strcspn(p, "|=}");
    if (n < room) memcpy(to, p, n), to[n] = 0;
    return;
  }
}

static const char *mnemonic_of(struct use *x, const char **p, const char *end) {
  char text[128];
  size_t n = 0;
  while (*p < end && **p != ' ' && n + 1 < sizeof text) {
    if (**p != '#') {
      text[n++] = *(*p)++;
      continue;
    }
    unsigned k = number(*p + 1, p);
    text[n] = 0;
    put_group(x, k, text + n, sizeof text - n);
    n += strlen(text + n);
  }
  return mx__arena_strndup(x->l->f->arena, text, n);
}

/* ---- operands ---------------------------------------------------------------------------------------------------*/
static int bits_type(int type) {
  switch (mx__types[type].bits) {
  case 1: return MX_T_pred;
  case 8:
  case 16: return MX_T_b16;
  case 32: return MX_T_b32;
  case 64: return MX_T_b64;
  default: return MX_T_b128;
  }
}

static void push_operand(struct use *x, struct vals *vs, unsigned k, bool address) {
  const struct ir_opnd *o = &x->opnds[k];
  struct val *v = mx__push(x->l, vs);
  switch (o->kind) {
  case IR_REG:
    v->kind = V_REG;
    v->reg = o->reg;
    v->type = (uint8_t)bits_type(x->l->out->regs[o->reg].type);
    break;
  case IR_RAW: { /* a number, which some instructions take in their words and others as a value */
    struct expr *n = mx__arena_alloc(x->l->f->arena, sizeof *n);
    *n = (struct expr){.kind = EX_INT, .value = o->raw, .loc = x->l->loc};
    v->kind = V_CONST;
    v->expr = n;
    break;
  }
  default:
    v->kind = o->lit.kind == MX_LIT_VALUE ? V_BITS : V_LIT;
    v->lit = o->lit;
    v->offset = o->lit.value;
  }
  v->is_address = address;
  if (!address) return;
  struct val *off = mx__push(x->l, vs);
  off->kind = V_OFF;
  const struct mx_op_info *row = x->match->row; /* an object's number is an address without an offset */
  off->offset = k + 1 < row->nopnds && row->opnd[k + 1].type == MX_T_off ? x->opnds[k + 1].lit.value : 0;
}

static struct temp *temp_of(struct use *x, const char *name, size_t len) {
  for (unsigned k = 0; k < x->ntemps; k++)
    if (x->temps[k].len == len && !memcmp(x->temps[k].name, name, len)) return &x->temps[k];
  struct front *f = x->l->f;
  struct temp *t = &x->temps[x->ntemps++];
  *t = (struct temp){name, len, mx__arena_alloc(f->arena, sizeof *t->sym),
                     mx__new_reg(x->l, NULL, MX_T_none, x->l->loc)};
  *t->sym = (struct sym){
      .kind = SYM_REG, .type = MX_T_none, .implicit = true, .name = mx__name(&f->names, name, len), .loc = x->l->loc};
  return t;
}

static uint32_t label_of(struct use *x, const char *name, size_t len) {
  for (unsigned k = 0; k < x->nlabels; k++)
    if (x->labels[k].len == len && !memcmp(x->labels[k].name, name, len)) return x->labels[k].label;
  x->labels[x->nlabels].name = name;
  x->labels[x->nlabels].len = len;
  return x->labels[x->nlabels++].label = mx__new_label(x->l, NULL, x->l->loc);
}

static void push_string(struct use *x, struct vals *vs, const char *text, size_t len) {
  struct opnd *o = mx__arena_alloc(x->l->f->arena, sizeof *o);
  o->e = (struct expr){.kind = EX_STRING, .bytes = text, .nbytes = (uint32_t)len, .loc = x->l->loc};
  mx__operand(x->l, o, vs, true);
}

/* A temporary, a special register, or where the author's text stands: %FILE, %LINE, %FUNCTION. */
static void push_name(struct use *x, struct vals *vs, const char *name, size_t len) {
  uint32_t sreg;
  struct front *f = x->l->f;
  const char *place = len == 4 && !memcmp(name, "FILE", 4)       ? f->texts[mx__real_file(f, x->l->loc.file, NULL)].name
                      : len == 8 && !memcmp(name, "FUNCTION", 8) ? x->l->out->name
                                                                 : NULL;
  if (place) {
    push_string(x, vs, place, strlen(place));
    return;
  }
  if (len == 4 && !memcmp(name, "LINE", 4)) {
    mx__push_const(x->l, vs, x->l->loc.line);
    return;
  }
  struct val *v = mx__push(x->l, vs);
  if (mx__find_sreg(mx__arena_strndup(f->arena, name, len), f->lanes, 0, &sreg)) {
    v->kind = V_SREG;
    v->sreg = sreg;
    v->type = mx__sregs[sreg].type;
    return;
  }
  struct temp *t = temp_of(x, name, len);
  v->kind = V_REG;
  v->reg = t->reg;
  v->sym = t->sym;
  v->type = t->sym->type == MX_T_none ? MX_T_none : (uint8_t)bits_type(t->sym->type);
}

static void push_number(struct use *x, struct vals *vs, const char *p, const char **end) {
  char *e;
  struct val *v = mx__push(x->l, vs);
  if (p[0] == '0' && (p[1] == 'f' || p[1] == 'd')) {
    v->kind = V_BITS;
    v->offset = strtoull(p + 2, &e, 16);
  } else {
    struct expr *n = mx__arena_alloc(x->l->f->arena, sizeof *n);
    bool negative = *p == '-';
    uint64_t value = strtoull(p + negative, &e, 0);
    *n = (struct expr){.kind = EX_INT,
                       .value = negative ? 0 - value : value,
                       .is_unsigned = !negative && value >> 63,
                       .loc = x->l->loc};
    v->kind = V_CONST;
    v->expr = n;
  }
  *end = e;
}

/* Whether all of the instruction's operands before the first input are temporaries, so that it may run unguarded. */
static bool writes_temps_only(struct use *x, const char *mnemonic, const struct vals *vs) {
  const struct row_match *rows;
  if (!mx__select_rows(x->l->select, mnemonic, false, &rows) || rows[0].row->cls != MX_LANE) return false;
  for (unsigned k = 0; k < rows[0].row->nopnds && rows[0].row->opnd[k].role == MX_OUT; k++)
    if (k >= vs->n || vs->v[k].kind != V_REG || !vs->v[k].sym) return false;
  return true;
}

static bool instruction(struct use *x, const char *p, const char *end, uint32_t guard, bool guard_neg) {
  struct lower *l = x->l;
  struct vals vs = {0};
  const size_t word = strcspn(p, " :;");
  if (p[word] == ':' && p + word + 1 == end) {
    mx__bind_label(l, label_of(x, p, word));
    return true;
  }
  const bool has_own = *p == '@';
  if (has_own) {
    guard_neg = p[1] == '!';
    p += 1 + guard_neg;
    struct vals own = {0};
    const char *name = p + 1;
    p += strcspn(p, " ");
    if (name[-1] == '$') push_operand(x, &own, number(name, &name), false);
    else push_name(x, &own, name, (size_t)(p - name));
    if (own.v[0].kind != V_REG) { /* a literal */
      struct vals copy = {0};
      mx__push_reg(l, &copy, mx__new_reg(l, NULL, MX_T_pred, l->loc));
      *mx__push(l, &copy) = own.v[0];
      if (!mx__emit_instruction(l, "mov.pred", NULL, &copy, IR_NONE, false, l->loc)) return false;
      own.v[0] = copy.v[0];
    }
    guard = own.v[0].reg;
    p += strspn(p, " ");
  }
  const char *mnemonic = mnemonic_of(x, &p, end);
  if (!strcmp(mnemonic, "bra")) {
    p += strspn(p, " ");
    mx__branch(l, label_of(x, p, strcspn(p, " ;")), guard, guard_neg);
    return true;
  }
  uint16_t group = 0; /* what stands in one pair of braces has one number */
  bool in_braces = false;
  while (p < end) {
    bool address = false;
    const uint32_t before = vs.n;
    bool begins = !in_braces;
    for (; p < end && strchr(" ,{}|]", *p); p++)
      if (*p == '{' || *p == '}') in_braces = *p == '{', begins = true;
    group += begins || !in_braces;
    if (p < end && *p == '[') address = true, p++;
    if (p >= end) break;
    if (*p == '$') {
      unsigned k = number(p + 1, &p);
      push_operand(x, &vs, k, address);
    } else if (*p == '%') {
      const char *name = ++p;
      p += strcspn(p, " ,{}|;]");
      push_name(x, &vs, name, (size_t)(p - name));
      if (address) {
        vs.v[vs.n - 1].is_address = true;
        mx__push(l, &vs)->kind = V_OFF;
      }
    } else if (*p == '\'') {
      const char *text = ++p;
      p += strcspn(p, "'");
      push_string(x, &vs, text, (size_t)(p++ - text));
    } else if (*p == '_') {
      mx__push(l, &vs)->kind = V_DISCARDED;
      p++;
    } else {
      push_number(x, &vs, p, &p);
    }
    if (address && p < end && *p == ']') p++;
    for (uint32_t k = before; k < vs.n; k++)
      vs.v[k].loc = l->loc, vs.v[k].number = group, vs.v[k].in_braces = in_braces;
  }
  if (!has_own && writes_temps_only(x, mnemonic, &vs)) guard = IR_NONE;
  return mx__emit_instruction(l, mnemonic, NULL, &vs, guard, guard_neg, l->loc);
}

/* ---- the whole --------------------------------------------------------------------------------------------------*/
/* Number of the first or last instruction in whose text operand k stands; -1: in none. */
static int place(const char *text, unsigned k, bool last) {
  int found = -1, n = 0;
  for (const char *end, *p = piece(text, &end); *p; p = piece(end, &end), n++)
    for (const char *q = p; q < end; q++)
      if (*q == '$' && number(q + 1, &q) == k && (last || found < 0)) found = n;
      else if (*q == ';') break;
  return found;
}

/* An input in a register that an earlier instruction writes is copied first. */
static bool keep_inputs(struct use *x, struct ir_opnd *opnds, struct ir_loc loc) {
  const struct mx_op_info *row = x->match->row;
  for (unsigned i = 0; i < row->nopnds; i++) {
    if (row->opnd[i].role != MX_IN || opnds[i].kind != IR_REG) continue;
    int read = place(row->meaning, i, true);
    for (unsigned o = 0; o < row->nopnds && row->opnd[o].role == MX_OUT; o++) {
      if (opnds[o].kind != IR_REG || opnds[o].reg != opnds[i].reg || place(row->meaning, o, false) >= read) continue;
      static const char *const moves[] = {
          [MX_PRED] = "mov.pred", [MX_R32] = "mov.b32", [MX_R64] = "mov.b64", [MX_R128] = "mov.b128"};
      int type = bits_type(x->l->out->regs[opnds[i].reg].type);
      struct vals vs = {0};
      mx__push_reg(x->l, &vs, mx__new_reg(x->l, NULL, type, loc));
      push_operand(x, &vs, i, false);
      if (!mx__emit_instruction(x->l, type == MX_T_b16 ? "mov.b16" : moves[mx__types[type].slot_class], NULL, &vs,
                                IR_NONE, false, loc))
        return false;
      opnds[i].reg = vs.v[0].reg;
    }
  }
  return true;
}

bool mx__expand(struct lower *l, const struct row_match *m, const struct ir_opnd *opnds, uint32_t guard, bool guard_neg,
                struct ir_loc loc) {
  struct ir_opnd own[MX_MAX_OPNDS];
  memcpy(own, opnds, m->row->nopnds * sizeof *own);
  struct use x = {.l = l, .match = m, .opnds = own};
  const char *text = m->row->meaning, *end, *p;
  uint32_t skip = IR_NONE;
  if (guard != IR_NONE &&
      (strchr(text, '@') || strstr(text, ":;"))) { /* two conditions, or a loop: the author's becomes a branch */
    skip = mx__new_label(l, NULL, loc);
    mx__branch(l, skip, guard, !guard_neg);
    guard = IR_NONE;
  }
  bool fine = keep_inputs(&x, own, loc);
  for (p = piece(text, &end); *p && fine; p = piece(end, &end)) fine = instruction(&x, p, end, guard, guard_neg);
  if (skip != IR_NONE) mx__bind_label(l, skip);
  return fine;
}

/* One way to write it: the first of each group's alternatives, type suffixes included. */
const char *mx__plain_spelling(struct mx_arena *a, const char *p) {
  const char *text = "";
  while (*p) {
    size_t n = strcspn(p, "{<["), m = 0;
    if (p[n]) m = strcspn(p + n + 1, "|=}>]");
    text = mx__arena_printf(a, "%s%.*s%.*s", text, (int)n, p, (int)m, p + n + (m > 0));
    p += n;
    if (*p) p += strcspn(p, "}>]") + 1;
  }
  return text;
}

/* "__hadd.f16 d:f16, a:f16, b:f16" for each of the first few. */
const char *mx__signature(struct lower *l) {
  struct mx_arena *a = l->f->arena;
  const char *text = "";
  if (!l->noverloads) return NULL;
  for (uint32_t r = 0; r < l->noverloads && r < SHOWN; r++) {
    const struct mx_op_info *row = l->overloads[r].row;
    text = mx__arena_printf(a, "%s%s%s", text, r ? "; " : "signature: ", mx__plain_spelling(a, row->spelling));
    for (unsigned k = 0, in = 0, out = 0; k < row->nopnds; k++) {
      bool address = k + 1 < row->nopnds && row->opnd[k + 1].type == MX_T_off;
      char name = row->opnd[k].role == MX_OUT ? "dqrstuvw"[out++ & 7] : "abcefghi"[in++ & 7];
      text = mx__arena_printf(a, address ? "%s%s[%c]" : "%s%s%c:%s", text, k ? ", " : " ", name,
                              mx__types[row->opnd[k].type].name);
      k += address;
    }
  }
  return l->noverloads > SHOWN ? mx__arena_printf(a, "%s; ...", text) : text;
}

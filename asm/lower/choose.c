/* Overloads: which of the rows that a mnemonic spells takes these operands, and the message if none does. Separate from
 * select.c, which knows spellings and no operands, and from operand.c, which makes the operands.
 *
 * A register fits an operand of its width; types of one width must then agree as PTX says (bits go with everything).
 * Literals, addresses and special registers fit where their kind can stand. */
#include "lower.h"

#include <string.h>

/* The text's operand for each operand of a row; NULL: the text left it out. */
struct lineup {
  const struct val *v[MX_MAX_OPNDS];
};

static bool is_barrier_count(const struct mx_op_info *row, unsigned k) {
  return k > 0 && row->opnd[k].role == MX_IN && row->opnd[k].type == MX_T_u32 && row->opnd[k - 1].role == MX_IN &&
         row->opnd[k - 1].type == MX_T_u32 && row->cls == MX_CTRL;
}

/* The text may leave out implicit operands: carries first, then selectors, then zeros; and a barrier's thread count. */
static bool line_up(const struct mx_op_info *row, const struct vals *vs, struct lineup *lu) {
  unsigned missing = row->nopnds > vs->n ? row->nopnds - vs->n : 0;
  if (vs->n > row->nopnds) return false;
  bool out[MX_MAX_OPNDS] = {false};
  for (unsigned k = 0; k < row->nopnds; k++) { /* coordinates, in braces, come where a sampler would */
    if (row->opnd[k].implicit != MX_SAMPLER || (k < vs->n && !vs->v[k].in_braces)) continue;
    if (!missing--) return false;
    out[k] = true;
  }
  for (unsigned how = MX_CARRY; how <= MX_ZERO && missing; how++)
    for (unsigned k = 0; k < row->nopnds && missing; k++)
      if (row->opnd[k].implicit == how && how != MX_SAMPLER) out[k] = true, missing--;
  for (unsigned k = 1; k < row->nopnds && missing; k++)
    if (!out[k] && is_barrier_count(row, k)) out[k] = true, missing--;
  if (missing) return false;
  for (unsigned k = 0, n = 0; k < row->nopnds; k++) lu->v[k] = out[k] ? NULL : &vs->v[n++];
  /* what stands in one pair of braces is written or read: mov.b16 {%a, %b}, %h and mov.b16 %h, {%a, %b} */
  for (unsigned k = 1; k < row->nopnds; k++)
    if (lu->v[k] && lu->v[k - 1] && lu->v[k]->number && lu->v[k]->number == lu->v[k - 1]->number &&
        row->opnd[k].role != row->opnd[k - 1].role)
      return false;
  for (unsigned k = 1; k < row->nopnds; k++) { /* braces as the row has them */
    const unsigned vector = row->opnd[k].vector;
    if (vector && vector == row->opnd[k - 1].vector && out[k] != out[k - 1]) return false; /* left out as a whole */
    /* braces around one operand tell offsets, which may be left out, from what comes behind them */
    const bool offset = vector && row->opnd[k].implicit, behind = !vector && row->opnd[k - 1].vector;
    if (lu->v[k] && (offset ? !lu->v[k]->in_braces : behind && lu->v[k]->in_braces)) return false;
    if (!vector || !lu->v[k] || !lu->v[k - 1]) continue;
    if ((vector == row->opnd[k - 1].vector) != (lu->v[k]->number == lu->v[k - 1]->number)) return false;
  }
  return true;
}

static bool has_value(int type) { return type < MX_T_raw; }

static bool fits(const struct lower *l, const struct val *v, const struct mx_op_info *row, unsigned k) {
  if (!v) return true;
  const struct mx_opnd *o = &row->opnd[k];
  bool address = k + 1 < row->nopnds && row->opnd[k + 1].type == MX_T_off;
  unsigned bits = mx__types[o->type].bits, have = v->type < MX_T_raw ? mx__types[v->type].bits : 0;
  bool value = has_value(o->type);
  if (v->is_address != address) return false;
  switch (v->kind) {
  case V_OFF: return o->type == MX_T_off;
  case V_RAW: return o->type == MX_T_raw;
  case V_BITS: return o->role == MX_IN && value;
  case V_REG:
    if (!value) return false;
    if (v->type == MX_T_none) return true;
    /* 8-bit registers hold what 16-bit ones hold: there is no 8-bit arithmetic */
    if (!l->fn->physical && ((have == 8 && bits == 16) || (have == 16 && bits == 8))) return true;
    return have == bits;
  case V_CONST: return o->role == MX_IN && (value || (o->type == MX_T_raw && v->expr->kind == EX_INT));
  case V_LIT:
  case V_LOCAL: return o->role == MX_IN && value && (bits == 64 || bits == 32);
  case V_SREG: {
    uint32_t number = v->sreg;
    if (o->type == MX_T_raw) return true;
    if (o->role != MX_IN || !value) return false;
    mx__find_sreg(mx__sregs[v->sreg].name, l->f->lanes, (int)bits, &number);
    return mx__types[mx__sregs[number].type].bits == bits;
  }
  case V_DISCARDED: return o->role == MX_OUT && value;
  }
  return false;
}

/* The type suffixes of a mnemonic: the first, the last, and how many there are. */
static int types_of(const char *mnemonic, int *first, unsigned *count) {
  int type = *first = MX_T_none;
  *count = 0;
  for (const char *p = strchr(mnemonic, '.'); p; p = strchr(p + 1, '.')) {
    size_t n = strcspn(p + 1, ".");
    for (int k = 0; k < MX_T_raw; k++) {
      if (strlen(mx__types[k].name) != n || memcmp(mx__types[k].name, p + 1, n)) continue;
      type = k;
      if (!(*count)++) *first = k;
    }
  }
  return type;
}

int mx__last_type(const char *mnemonic, unsigned *count) {
  int first;
  return types_of(mnemonic, &first, count);
}

enum family { FAM_PRED, FAM_BITS, FAM_INT, FAM_FLOAT, FAM_F16, FAM_BF16, FAM_F16X2, FAM_BF16X2 };
static enum family family(int type) {
  switch (type) {
  case MX_T_pred: return FAM_PRED;
  case MX_T_f32:
  case MX_T_f64: return FAM_FLOAT;
  case MX_T_f16: return FAM_F16;
  case MX_T_bf16: return FAM_BF16;
  case MX_T_f16x2: return FAM_F16X2;
  case MX_T_bf16x2: return FAM_BF16X2;
  case MX_T_u8:
  case MX_T_s8:
  case MX_T_u16:
  case MX_T_s16:
  case MX_T_u32:
  case MX_T_s32:
  case MX_T_u64:
  case MX_T_s64: return FAM_INT;
  default: return FAM_BITS;
  }
}

/* The type that the text means where the row's only says bits, or does not say the sign: mov.f32, add.s32. */
static int refined(const struct lower *l, const char *mnemonic, int type) {
  unsigned count;
  int said = mx__last_type(mnemonic, &count);
  if (l->fn->physical || said == MX_T_none || !has_value(type) || mx__types[said].bits != mx__types[type].bits)
    return type;
  if (family(type) == FAM_BITS && count == 1) return said;
  if (family(type) == FAM_INT && family(said) == FAM_INT && count == 1) return said;
  return type;
}

/* ---- messages ----------------------------------------------------------------------------------------------*/
static const char *describe(struct lower *l, const struct val *v) {
  struct mx_arena *a = l->f->arena;
  switch (v->kind) {
  case V_REG:
    return v->type == MX_T_none
               ? "not yet written"
               : mx__arena_printf(a, "%s.%s", v->is_address ? "an address in ." : "", mx__types[v->type].name);
  case V_CONST:
    return v->is_address ? "an address" : v->expr->kind == EX_FLOAT ? "a floating-point number" : "an immediate";
  case V_SREG: return mx__arena_printf(a, "%%%s, which is .%s", mx__sregs[v->sreg].name, mx__types[v->type].name);
  case V_DISCARDED: return "'_'";
  case V_OFF: return "an address";
  case V_RAW: return "a selector";
  default: return "an address";
  }
}

static const char *add_alternative(struct lower *l, const char *list, const char *more) {
  size_t n = strlen(more);
  for (const char *p = list; *p; p += strcspn(p, "|") + (p[strcspn(p, "|")] == '|'))
    if (strcspn(p, "|") == n && !memcmp(p, more, n)) return list;
  return *list ? mx__arena_printf(l->f->arena, "%s|%s", list, more) : more;
}

/* "a|b|c" to "a, b or c" */
static const char *speak(struct lower *l, const char *list) {
  const char *text = "";
  for (const char *p = list; *p;) {
    size_t n = strcspn(p, "|");
    bool last = !p[n];
    text = mx__arena_printf(l->f->arena, "%s%s%.*s", text, p == list ? "" : last ? " or " : ", ", (int)n, p);
    p += n + !last;
  }
  return text;
}

static const char *expectation(struct lower *l, const char *mnemonic, const struct mx_op_info *row, unsigned k,
                               const char *list) {
  if (k + 1 < row->nopnds && row->opnd[k + 1].type == MX_T_off)
    return add_alternative(l, list, "an address in brackets");
  if (row->opnd[k].type == MX_T_raw) return add_alternative(l, list, "an immediate");
  int type = refined(l, mnemonic, row->opnd[k].type);
  list =
      add_alternative(l, list, mx__arena_printf(l->f->arena, ".%s", type < MX_T_raw ? mx__types[type].name : "none"));
  return list;
}

static void first_write_note(struct lower *l, const struct val *v) {
  if (v->sym && v->sym->implicit && v->type != MX_T_none)
    mx__diag(&l->f->diags, MX_DIAG_NOTE, "implicit-conflict", v->sym->loc, NULL,
             "'%s' became .%s by its first write, here", v->sym->name->text, mx__types[v->type].name);
}

/* As many operands as a row has in the text, but brackets are missing or should not be there. */
static bool bracket_mismatch(struct lower *l, const char *mnemonic, const struct row_match *rows, uint32_t nrows,
                             const struct vals *vs, unsigned found) {
  for (uint32_t r = 0; r < nrows; r++) {
    const struct mx_op_info *row = rows[r].row;
    unsigned n = 0;
    unsigned implicit = 0;
    for (unsigned k = 0; k < row->nopnds; k++)
      n += row->opnd[k].type != MX_T_off, implicit += row->opnd[k].implicit != MX_EXPLICIT;
    if (n != found && n - implicit != found) continue;
    for (unsigned k = 0, v = 0; k < row->nopnds && v < vs->n; k++, v++) {
      bool address = k + 1 < row->nopnds && row->opnd[k + 1].type == MX_T_off;
      if (vs->v[v].is_address != address) {
        ERR(l->f, "operand-type", vs->v[v].loc, mx__signature(l), "%s: operand %u is %s, expected %s", mnemonic,
            vs->v[v].number, describe(l, &vs->v[v]), address ? "an address in brackets" : "no address");
        return true;
      }
      if (address) k++, v++;
    }
  }
  return false;
}

static void report(struct lower *l, const char *mnemonic, const struct row_match *rows, uint32_t nrows,
                   const struct vals *vs, struct ir_loc loc) {
  struct front *f = l->f;
  unsigned best = 0;
  bool any = false;
  for (uint32_t r = 0; r < nrows; r++) {
    struct lineup lu;
    if (!line_up(rows[r].row, vs, &lu)) continue;
    unsigned k = 0;
    while (k < rows[r].row->nopnds && fits(l, lu.v[k], rows[r].row, k)) k++;
    if (!any || k > best) best = k;
    any = true;
  }
  unsigned found = 0;
  for (uint32_t k = 0; k < vs->n; k++) found += vs->v[k].kind != V_OFF;
  if (!any) {
    const char *list = "";
    if (bracket_mismatch(l, mnemonic, rows, nrows, vs, found)) return;
    for (uint32_t r = 0; r < nrows; r++) {
      unsigned n = 0;
      for (unsigned k = 0; k < rows[r].row->nopnds; k++)
        n += rows[r].row->opnd[k].type != MX_T_off && !rows[r].row->opnd[k].implicit;
      list = add_alternative(l, list, mx__arena_printf(f->arena, "%u", n));
    }
    ERR(f, "operand-count", loc, mx__signature(l), "%s: takes %s operands, found %u", mnemonic, speak(l, list), found);
    return;
  }
  const char *list = "";
  const struct val *wrong = NULL;
  bool input = false;
  for (uint32_t r = 0; r < nrows; r++) {
    struct lineup lu;
    if (!line_up(rows[r].row, vs, &lu)) continue;
    unsigned k = 0;
    while (k < rows[r].row->nopnds && fits(l, lu.v[k], rows[r].row, k)) k++;
    if (k != best || k == rows[r].row->nopnds || !lu.v[k]) continue;
    list = expectation(l, mnemonic, rows[r].row, k, list);
    wrong = lu.v[k];
    input |= rows[r].row->opnd[k].role == MX_IN && has_value(rows[r].row->opnd[k].type) &&
             !(k + 1 < rows[r].row->nopnds && rows[r].row->opnd[k + 1].type == MX_T_off);
  }
  if (!wrong) {
    ERR(f, "operand-type", loc, mx__signature(l), "%s: no form takes these operands", mnemonic);
    return;
  }
  if (input) list = add_alternative(l, list, "an immediate");
  bool conflict = wrong->sym && wrong->sym->implicit && wrong->type != MX_T_none;
  ERR(f, conflict ? "implicit-conflict" : "operand-type", wrong->loc, mx__signature(l),
      "%s: operand %u is %s, expected %s", mnemonic, wrong->number, describe(l, wrong), speak(l, list));
  first_write_note(l, wrong);
}

/* ---- implicit operands -----------------------------------------------------------------------------------*/
static uint32_t carry_reg(struct lower *l) {
  if (!l->carry) l->carry = mx__new_reg(l, "%cc", MX_T_pred, l->fn->loc) + 1;
  return l->carry - 1;
}

/* What the text wrote on operands of video instructions, packed as isa.h says. */
static bool selectors(struct lower *l, const char *mnemonic, const struct lineup *lu, uint64_t *out) {
  size_t base = strcspn(mnemonic, ".");
  unsigned elements =
      base && (mnemonic[base - 1] == '2' || mnemonic[base - 1] == '4') ? (unsigned)(mnemonic[base - 1] - '0') : 1;
  uint64_t w = 0;
  if (elements > 1) w = (1u << elements) - 1;
  for (unsigned k = 0; k < 3; k++) {
    const char *s = lu->v[k] ? lu->v[k]->selector : NULL;
    unsigned at = k == 1 ? 4 : 16;
    for (unsigned e = 0; elements > 1 && k > 0 && !s && e < elements; e++)
      w |= (uint64_t)(e + (k == 2 ? elements : 0)) << (at + 3 * e);
    if (!s) continue;
    size_t n = strlen(s) - 2;
    bool fine = s[1] == (elements == 2   ? 'h'
                         : elements == 4 ? 'b'
                                         : s[1]) &&
                (elements > 1 ? k == 0 ? n <= elements : n == elements : n == 1);
    uint64_t mask = 0;
    for (size_t d = 0; d < n && fine; d++) {
      unsigned digit = (unsigned)(s[2 + d] - '0');
      fine = digit < (elements == 1 ? (s[1] == 'b' ? 4u : 2u) : k ? 2 * elements : elements);
      if (elements == 1) w |= (uint64_t)(digit + (s[1] == 'b' ? 1 : 5)) << (3 * k);
      else if (k) w |= (uint64_t)digit << (at + 3 * (n - 1 - d));
      else mask |= 1u << digit;
    }
    if (!fine) {
      ERR(l->f, "bad-selector", lu->v[k]->loc, NULL, "%s: '%s' is not a selector for operand %u", mnemonic, s, k + 1);
      return false;
    }
    if (elements > 1 && k == 0) w = (w & ~(uint64_t)15) | mask;
  }
  for (unsigned k = 1; k < 4; k++)
    if (lu->v[k] && lu->v[k]->minus) w |= 1u << (8 + k);
  *out = w;
  return true;
}

/* ---- choosing and emitting -------------------------------------------------------------------------------*/
/* A register without a type prefers the width that the mnemonic names for the result (of two types the first:
 * cvt.u32.u64), or 32 bits for narrower loads. */
static int preference(const struct lineup *lu, const struct mx_op_info *row, int said) {
  int score = 0;
  for (unsigned k = 0; k < row->nopnds; k++) {
    const struct val *v = lu->v[k];
    if (!v || row->opnd[k].role != MX_OUT || !(v->kind == V_DISCARDED || (v->kind == V_REG && v->type == MX_T_none)) ||
        !has_value(row->opnd[k].type))
      continue;
    unsigned bits = mx__types[row->opnd[k].type].bits, want = said < MX_T_raw ? mx__types[said].bits : 32;
    if (bits == want) score += 2;
    else if (want < 32 && bits == 32) score += 1;
  }
  return score;
}

static bool types_agree(struct lower *l, const char *mnemonic, const struct val *v, int type) {
  if (v->kind != V_REG || v->type == MX_T_none || !has_value(type) || l->fn->physical) return true;
  enum family a = family(v->type), b = family(type);
  if (a == b || a == FAM_BITS || b == FAM_BITS) return true;
  bool conflict = v->sym && v->sym->implicit;
  ERR(l->f, conflict ? "implicit-conflict" : "operand-type", v->loc, mx__signature(l),
      "%s: operand %u is .%s, expected .%s", mnemonic, v->number, mx__types[v->type].name,
      mx__types[refined(l, mnemonic, type)].name);
  first_write_note(l, v);
  return false;
}

/* One operand of the chosen row. */
static bool fill(struct lower *l, const char *mnemonic, struct val *v, const struct mx_opnd *o, bool address,
                 struct ir_opnd *out) {
  struct front *f = l->f;
  int type = refined(l, mnemonic, o->type);
  if (o->type == MX_T_raw) {
    uint64_t n = v->kind == V_CONST ? v->expr->value : v->kind == V_SREG ? v->sreg : v->offset;
    if (!mx_in_range(o->range, n)) {
      const struct mx_range *r = &mx__ranges[o->range];
      ERR(f, "bad-operand", v->loc, NULL,
          r->least == r->most ? "%s: operand %u: expected %u and no other number"
          : r->step == 1      ? "%s: operand %u: expected %u to %u"
          : r->step           ? "%s: operand %u: expected %u to %u in steps of %u"
                              : "%s: operand %u: expected a power of two from %u to %u",
          mnemonic, v->number, r->least, r->most, r->step);
      return false;
    }
    *out = (struct ir_opnd){.kind = IR_RAW, .raw = (uint32_t)n};
    return true;
  }
  if (v->kind == V_OFF || v->kind == V_BITS) {
    *out = (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = v->offset}};
    return true;
  }
  if (v->kind == V_CONST) {
    uint64_t bits;
    if (address) bits = mx__types[o->type].bits == 32 ? v->expr->value & UINT32_MAX : v->expr->value;
    else if (!mx__literal_bits(f, v->expr, type, &bits)) return false;
    *out = (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = bits}};
    return true;
  }
  if (v->kind == V_LIT) {
    if (family(type) != FAM_BITS && family(type) != FAM_INT) {
      ERR(f, "operand-type", v->loc, NULL, "%s: operand %u is an address, expected .%s", mnemonic, v->number,
          mx__types[type].name);
      return false;
    }
    *out = (struct ir_opnd){.kind = IR_LIT, .lit = v->lit};
    return true;
  }
  if (v->kind == V_DISCARDED) {
    *out = (struct ir_opnd){.kind = IR_REG, .reg = mx__new_reg(l, NULL, type, v->loc)};
    return true;
  }
  if (v->kind == V_SREG || v->kind == V_LOCAL) {
    if (!mx__value_reg(l, v, o->type)) return false;
  }
  if (v->kind == V_REG && v->type == MX_T_none) { /* implicit, written for the first time (reads were refused) */
    struct sym *y = v->sym;
    if (y->type == MX_T_none) {
      y->type = (uint8_t)type;
      y->loc = v->loc;
      l->out->regs[v->reg].type = (uint8_t)type;
      l->out->regs[v->reg].loc = v->loc;
    }
    v->type = y->type;
  }
  if (!types_agree(l, mnemonic, v, o->type)) return false;
  *out = (struct ir_opnd){.kind = IR_REG, .reg = v->reg};
  return true;
}

static bool refuse_reads(struct lower *l, const struct lineup *lu, const struct mx_op_info *row) {
  bool found = false;
  for (unsigned k = 0; k < row->nopnds; k++) {
    const struct val *v = lu->v[k];
    if (!v || v->kind != V_REG || v->type != MX_T_none || row->opnd[k].role != MX_IN) continue;
    mx__unwritten(l, v->sym, v->loc, true);
    found = true;
  }
  return found;
}

/* Writing to what stands for a parameter or a special register. */
static bool refuse_writes(struct lower *l, const struct lineup *lu, const struct mx_op_info *row) {
  for (unsigned k = 0; k < row->nopnds; k++) {
    const struct val *v = lu->v[k];
    if (!v || row->opnd[k].role != MX_OUT) continue;
    if (v->kind == V_REG && v->sym && v->sym->kind == SYM_PARAM) {
      ERR(l->f, "read-only", v->loc, "name the register differently",
          "'%%%s' is the value of parameter '%s' and cannot be written", v->sym->name->text, v->sym->name->text);
      return true;
    }
    if (v->kind == V_SREG && row->opnd[k].type != MX_T_raw) {
      ERR(l->f, "read-only", v->loc, NULL, "special register '%%%s' cannot be written", mx__sregs[v->sreg].name);
      return true;
    }
  }
  return false;
}

static bool refuse_minus(struct lower *l, const char *mnemonic, const struct lineup *lu, const struct mx_op_info *row) {
  bool takes = false;
  for (unsigned k = 0; k < row->nopnds; k++) takes |= row->opnd[k].implicit == MX_SELECTORS;
  for (unsigned k = 0; k < row->nopnds && !takes; k++) {
    const struct val *v = lu->v[k];
    if (!v || (!v->minus && !v->selector)) continue;
    ERR(l->f, "bad-operand", v->loc, NULL, "%s: operand %u takes no %s", mnemonic, v->number,
        v->minus ? "minus sign" : "selector");
    return true;
  }
  return false;
}

/* How far an overload of an intrinsic is from the operands' types: 0 if they are the same (bits fit every type), one
 * more for each of another sign, -1 if one is another kind of number. */
static int distance(const struct lineup *lu, const struct mx_op_info *row) {
  int n = 0;
  for (unsigned k = 0; k < row->nopnds; k++) {
    const struct val *v = lu->v[k];
    int type = row->opnd[k].type;
    if (!v || !has_value(type) || v->is_address || v->type >= MX_T_raw) continue;
    if (v->kind == V_CONST && v->expr->kind == EX_FLOAT && (family(type) == FAM_INT || family(type) == FAM_PRED))
      return -1;
    if (v->kind != V_REG) continue;
    enum family a = family(v->type), b = family(type);
    if (a == FAM_BITS || b == FAM_BITS) continue;
    if (a != b) return -1;
    n += v->type != type;
  }
  return n;
}

/* Whether the types may be left out of a spelling, so that the operands choose among rows: __hadd[.f16]. */
static bool types_optional(const char *spelling) {
  for (const char *p = strstr(spelling, "[."); p; p = strstr(p + 1, "[."))
    if ((strchr("fsu", p[2]) && p[3] >= '0' && p[3] <= '9') || !strncmp(p + 2, "bf16", 4)) return true;
  return false;
}

/* The overload that takes these operands. With several as near as each other a suffix must say which is meant. */
static const struct row_match *overload(struct lower *l, const char *mnemonic, const struct row_match *rows,
                                        uint32_t nrows, const struct vals *vs, struct ir_loc loc, struct lineup *out) {
  const struct row_match *best = NULL, *other = NULL;
  int best_n = 0;
  for (uint32_t r = 0; r < nrows; r++) {
    struct lineup lu;
    if (!line_up(rows[r].row, vs, &lu)) continue;
    unsigned k = 0;
    while (k < rows[r].row->nopnds && fits(l, lu.v[k], rows[r].row, k)) k++;
    if (k < rows[r].row->nopnds) continue;
    int n = distance(&lu, rows[r].row);
    if (n < 0 && best) continue;
    if (n >= 0 && best && best_n == n) other = &rows[r];
    if (best && best_n >= 0 && best_n <= n) continue;
    other = NULL;
    best = &rows[r];
    best_n = n;
    *out = lu;
  }
  if (!other) return best;
  ERR(l->f, "ambiguous-overload", loc,
      mx__arena_printf(l->f->arena, "write %s or %s", mx__plain_spelling(l->f->arena, best->row->spelling),
                       mx__plain_spelling(l->f->arena, other->row->spelling)),
      "%s: the operands do not say which function is meant; a type suffix does", mnemonic);
  return NULL;
}

bool mx__emit_instruction(struct lower *l, const char *mnemonic, const char *row_id, struct vals *vs, uint32_t guard,
                          bool guard_neg, struct ir_loc loc) {
  struct front *f = l->f;
  const struct row_match *rows;
  uint32_t nrows = mx__select_rows(l->select, mnemonic, l->fn->physical, &rows);
  if (!nrows) {
    mx__select_report(l->select, &f->diags, mnemonic, loc);
    return false;
  }
  unsigned count;
  int said, best_score = -1;
  types_of(mnemonic, &said, &count);
  const struct row_match *best = NULL;
  struct lineup lu, best_lu;
  const bool intrinsic = rows[0].op == MX_OP_COUNT, named = intrinsic || types_optional(rows[0].row->spelling);
  l->overloads = rows;
  l->noverloads = named ? nrows : 0;
  if (named && !row_id) {
    uint32_t errors = f->diags.errors;
    best = overload(l, mnemonic, rows, nrows, vs, loc, &best_lu);
    if (f->diags.errors > errors) return false;
    nrows = best ? 0 : nrows;
  }
  for (uint32_t r = 0; r < nrows && !(named && !row_id); r++) {
    if (row_id && strcmp(rows[r].row->id, row_id)) continue;
    if (!line_up(rows[r].row, vs, &lu)) continue;
    unsigned k = 0;
    while (k < rows[r].row->nopnds && fits(l, lu.v[k], rows[r].row, k)) k++;
    if (k < rows[r].row->nopnds) continue;
    int score = preference(&lu, rows[r].row, said);
    if (score <= best_score) continue;
    best_score = score;
    best = &rows[r];
    best_lu = lu;
  }
  for (uint32_t k = 0; k < vs->n && !best; k++) { /* a wrong read explains more than a wrong width */
    const struct val *v = &vs->v[k];
    if (v->kind == V_SREG && k == 0 && nrows && rows[0].row->nopnds && rows[0].row->opnd[0].role == MX_OUT) {
      ERR(f, "read-only", v->loc, NULL, "special register '%%%s' cannot be written", mx__sregs[v->sreg].name);
      return false;
    }
  }
  if (!best) {
    report(l, mnemonic, rows, nrows, vs, loc);
    return false;
  }
  const struct mx_op_info *row = best->row;
  if (refuse_reads(l, &best_lu, row) || refuse_writes(l, &best_lu, row) || refuse_minus(l, mnemonic, &best_lu, row))
    return false;
  /* Filling may emit helpers before the instruction, so that its operands are made first. Inputs come before
   * outputs: add %x, %x, 1 with an unwritten %x reads first. */
  struct ir_opnd opnds[MX_MAX_OPNDS];
  bool fine = true;
  for (unsigned pass = 0; pass < 2; pass++) {
    for (unsigned k = 0; k < row->nopnds; k++) {
      const struct mx_opnd *o = &row->opnd[k];
      if ((o->role == MX_IN) == (pass == 1)) continue;
      const struct val *v = best_lu.v[k];
      if (v && v->kind == V_SREG &&
          o->type == MX_T_raw) /* of two registers of one name, the one of the result's width */
        mx__find_sreg(mx__sregs[v->sreg].name, f->lanes, mx__types[row->opnd[0].type].bits, &((struct val *)v)->sreg);
      if (v) {
        fine &=
            fill(l, mnemonic, (struct val *)v, o, k + 1 < row->nopnds && row->opnd[k + 1].type == MX_T_off, &opnds[k]);
      } else if (o->implicit == MX_CARRY) {
        opnds[k] = (struct ir_opnd){.kind = IR_REG, .reg = carry_reg(l)};
      } else {
        uint64_t n = 0;
        if (o->implicit == MX_SELECTORS) fine &= selectors(l, mnemonic, &best_lu, &n);
        opnds[k] = (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = n}};
      }
    }
  }
  if (!fine) return false;
  if (intrinsic) return mx__expand(l, best, opnds, guard, guard_neg, loc);
  uint32_t skip = IR_NONE;
  if (guard != IR_NONE && row->flags & MX_F_NOGUARD) {
    skip = mx__new_label(l, NULL, loc);
    mx__branch(l, skip, guard, !guard_neg);
    guard = IR_NONE;
  }
  struct ir_insn *i = mx__emit(l, best->op, best->mod, row->nopnds);
  if (row->nopnds) memcpy(i->opnds, opnds, row->nopnds * sizeof *opnds);
  i->guard = guard;
  i->guard_neg = guard != IR_NONE && guard_neg;
  i->loc = loc;
  if (skip != IR_NONE) mx__bind_label(l, skip);
  return true;
}

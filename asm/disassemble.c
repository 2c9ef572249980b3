/* An image as text that assembles to the same bytes. Separate from everything else in asm/ because it only needs the
 * table and the image; it must not know lexer or parser.
 *
 * The text is MX assembly plus a few reserved spellings. `%.` starts every one of them, so that no author's name
 * collides, and names spelled so are never recorded in the name map, the label list, or the variable names.
 *
 * A module:
 *   .version 9.0  (only if given)   .target sm_90 | .target mx64   .address_size 64
 *   .file N "name"                  one a file, N from 1 in the image's order; in strings \\ \" \n \t and \xHH
 *   [.extern|.visible] [.attribute(.managed)] .global|.const|.shared .align A .b8 NAME[SIZE] [= {byte, ...}];
 *                                   variable numbers count these declarations from 0. NAME is the variable's name, or
 *                                   `%.vN "its name"` where the name alone would be ambiguous; N is its number.
 *                                   Trailing zero bytes are left out. `[]` is extern shared.
 *   .reloc VAR, OFFSET, BYTES, EXPR;  at the end of the module: an address in an initialiser. EXPR as a literal below
 *   functions, numbered in the order of their definitions; names may be used before they are defined
 *
 * A function:
 *   [.visible] .entry NAME (.param [.align A] .TYPE [.ptr] P[BYTES], ...)   [BYTES]: only if the size is not the
 *                                   type's. Each parameter is followed by `@OFFSET`
 *   [.visible] .func (.reg .CLASS SLOT, ...) NAME (.reg .CLASS SLOT, ...)   CLASS pred, b32, b64 or b128
 *   .maxntid X, Y, Z  .reqntid X, Y, Z  .minnctapersm N  .cooperative  .reqnctapercluster X, Y, Z  .maxclusterrank N
 * .paramsize N: bytes of a kernel's parameters
 *   {
 *     .slots n32, n64, npred, nspill32, nspill64, nspillpred;
 *     .frame local_bytes, arg_bytes;     if either is not 0
 *     .var "NAME", OFFSET, BYTES;        a .local variable, where it lies in the frame's local bytes
 *     .uses VAR, ...;                    the kernel's shared variables, in order
 *     %.TN: .branchtargets L, ...;       table N       %.PN: .callprototype (.reg .CLASS _, ...) _ (.reg .CLASS _,
 *     ...);
 *     code
 *     .name .TYPE "NAME", SLOT, LO, HI;  name map; SLOT a slot or, for a spill cell, %.sN; pcs in words
 *   }
 * `.slots` says that the function is taken as written: no slot is allocated, no operand is folded or moved, nothing is
 * inserted, no name is recorded but by .name, and lines come from .loc only (`.loc N LINE 0` with the numbers of .file,
 * `.loc 0 0 0` none).
 *
 * Slots: %.rN 32-bit, %.hN a 32-bit slot where the row's type has 16 bits, %.bN where it has 8, %.dN 64-bit, %.qN a
 * pair of 64-bit slots (N even), %.pN predicate. So overloads are found by operand width as always. Where one more
 * row fits the operands (literals fit any width) and stands earlier in the table, the mnemonic is followed by `!ID`,
 * the row's name in the table: `ld.b32!LD_B32_A32 %.r1, [(8)];`. Rows flagged HIDDEN are written like all others.
 *
 * Operands, in the order of the row's shape:
 *   values       a slot or a literal. Literals: decimal or 0x..., the operand's bits (also for f16, bf16 and packed
 *                types); 0fXXXXXXXX for f32, 0dXXXXXXXXXXXXXXXX for f64; VAR, VAR+N, VAR-N (its address in its own
 *                space), generic(VAR), generic(VAR)+N, FUNC. In code, VAR is a name, or %.vN where that would be
 *                ambiguous
 *   addresses    [base], [base+N], [base-N]: N is the `off` operand; base is a slot, a bare VAR, or any literal in
 *                parentheses, `[(8)+4]`, `[(buf+16)]`
 *   raw fields   a decimal number; of SREG rows the special register's name, %tid.x
 *   MOVI rows    SLOT, value as a signed decimal
 *   branches     bra LABEL !reconv LABEL;   brx.idx INDEX, %.TN !reconv LABEL;   `!reconv ret`: the function's end
 *   calls        call (results), NAME, (arguments);   call (results), TARGET, (arguments), %.PN;
 *                empty lists are left out
 * Labels: an author's label stands as `NAME:` if it is the only one of its name in the function and nothing else is
 * called so, or else as `.label "NAME";`. Other places that code names are `%.LN:`, N the pc.
 */
#include "asm/disassemble.h"
#include "core/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of one scope, sorted: how often does a name stand in it? */
struct index {
  const char **list;
  size_t count;
};

struct printer {
  char *at;
  size_t size, capacity;
  bool oom;
  const struct mx_image *m;
  const struct mx_func *f;
  struct index module; /* variables and functions */
  struct index labels; /* of f */
  struct index params; /* of f */
  uint8_t *named;      /* bit per word of f: some code or table names this place */
};

/* ---- output ------------------------------------------------------------------------------------------*/
static void put(struct printer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct printer *p, const char *fmt, ...) {
  for (int tries = 0; tries < 2 && !p->oom; tries++) {
    va_list list;
    va_start(list, fmt);
    int n = vsnprintf(p->at ? p->at + p->size : NULL, p->capacity - p->size, fmt, list);
    va_end(list);
    if (n >= 0 && (size_t)n < p->capacity - p->size) {
      p->size += (size_t)n;
      return;
    }
    size_t capacity = (p->capacity + (size_t)(n < 0 ? 0 : n) + 256) * 2;
    char *at = realloc(p->at, capacity);
    if (at) p->at = at, p->capacity = capacity;
    p->oom |= !at;
  }
}

static void put_quoted(struct printer *p, const char *s) {
  put(p, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') put(p, "\\%c", c);
    else if (c == '\n') put(p, "\\n");
    else if (c == '\t') put(p, "\\t");
    else if (c < 32 || c > 126) put(p, "\\x%02X", c);
    else put(p, "%c", c);
  }
  put(p, "\"");
}

/* ---- names -------------------------------------------------------------------------------------------*/
static int compare(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void *reserve(struct printer *p, size_t n, size_t size) {
  void *list = p->oom ? NULL : calloc(n + 1, size);
  p->oom |= !list;
  return list;
}

static void sort_index(struct index *x) {
  if (x->count) qsort(x->list, x->count, sizeof *x->list, compare);
}

/* 0, 1, or 2 for more. */
static unsigned occurrences(const struct index *x, const char *name) {
  size_t lo = 0, hi = x->count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (strcmp(x->list[mid], name) < 0) lo = mid + 1;
    else hi = mid;
  }
  unsigned n = 0;
  while (n < 2 && lo + n < x->count && !strcmp(x->list[lo + n], name)) n++;
  return n;
}

static bool starts_plainly(const char *s) {
  return (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' || *s == '$';
}

static void put_var(struct printer *p, uint32_t number) {
  const char *name = number < p->m->nvars ? p->m->vars[number].name : "";
  bool clear = starts_plainly(name) && occurrences(&p->module, name) == 1;
  if (clear && p->f) clear = !occurrences(&p->labels, name) && !occurrences(&p->params, name);
  if (clear) put(p, "%s", name);
  else put(p, "%%.v%u", number);
}

static void put_func_name(struct printer *p, uint32_t number) {
  if (number < p->m->nfuncs) put(p, "%s", p->m->funcs[number].name);
  else put(p, "%%.f%u", number); /* no verified image comes here */
}

/* The label's name where the text can say it: only one of its name, and nothing else is meant by it. */
static bool is_clear_label(struct printer *p, const char *name) {
  return starts_plainly(name) && strcmp(name, "ret") && occurrences(&p->labels, name) == 1 &&
         !occurrences(&p->params, name) && !occurrences(&p->module, name);
}

/* The first clear label at pc, found among the ascending labels; NULL if there is none. */
static const char *label_at(struct printer *p, uint32_t pc) {
  const struct mx_func *f = p->f;
  uint32_t lo = 0, hi = f->nlabels;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (f->labels[mid].pc < pc) lo = mid + 1;
    else hi = mid;
  }
  for (; lo < f->nlabels && f->labels[lo].pc == pc; lo++) {
    if (is_clear_label(p, f->labels[lo].name)) return f->labels[lo].name;
  }
  return NULL;
}

static void put_place(struct printer *p, uint32_t pc) {
  const char *name = label_at(p, pc);
  if (name) put(p, "%s", name);
  else put(p, "%%.L%u", pc);
}

/* ---- spelling ----------------------------------------------------------------------------------------*/
#define SPELLING_MAX 256

/* Whether the pattern can spell s. Few groups match at one place, so that trying them all is quick. */
static bool can_spell(const char *pattern, const char *s) {
  for (; *pattern; pattern++) {
    if (*pattern != '{' && *pattern != '<' && *pattern != '[') {
      if (*pattern != *s++) return false;
      continue;
    }
    const char *end = pattern + strcspn(pattern, "}>]");
    if (*pattern == '[' && can_spell(end + 1, s)) return true;
    for (const char *from = pattern + 1; from <= end; from++) {
      size_t n = strcspn(from, "|=}>]");
      if (!strncmp(from, s, n) && can_spell(end + 1, s + n)) return true;
      from += n;
    }
    return false;
  }
  return !*s;
}

static bool operand_fits(struct mx_opnd row, struct mx_opnd other, unsigned field) {
  bool special = row.type >= MX_T_raw || other.type >= MX_T_raw;
  if (row.role != other.role || (special && row.type != other.type)) return false;
  return special || field >= MX_LIT || mx__types[row.type].bits == mx__types[other.type].bits;
}

/* Whether an earlier row would be found for this text. */
static bool has_rival(struct printer *p, unsigned op, const mx_word *w, const char *spelling) {
  const struct mx_op_info *o = &mx__ops[op];
  for (unsigned k = 0; k < op; k++) {
    const struct mx_op_info *r = &mx__ops[k];
    if (r->nopnds != o->nopnds || r->flags & (MX_F_BRANCH | MX_F_CALL)) continue;
    if (r->flags & (p->m->lanes == 32 ? MX_F_W64 : MX_F_W32)) continue;
    unsigned x = 0;
    while (x < o->nopnds && operand_fits(o->opnd[x], r->opnd[x], mx_w_operand(w, x))) x++;
    if (x == o->nopnds && can_spell(r->spelling, spelling)) return true;
  }
  return false;
}

/* ---- operands ----------------------------------------------------------------------------------------*/
static void put_slot(struct printer *p, unsigned type, unsigned slot) {
  unsigned bits = mx__types[type].bits;
  const char *kind = bits == 1 ? "p" : bits == 8 ? "b" : bits == 16 ? "h" : bits == 32 ? "r" : bits == 64 ? "d" : "q";
  put(p, "%%.%s%u", kind, slot);
}

static void put_addend(struct printer *p, uint64_t v) {
  if (v >> 63) put(p, "-%llu", (unsigned long long)(0 - v));
  else if (v) put(p, "+%llu", (unsigned long long)v);
}

static void put_address(struct printer *p, unsigned kind, uint32_t index, uint64_t addend) {
  if (kind == MX_LIT_FUNC) put_func_name(p, index);
  if (kind == MX_LIT_GENERIC) put(p, "generic(");
  if (kind == MX_LIT_VAR || kind == MX_LIT_GENERIC) put_var(p, index);
  if (kind == MX_LIT_GENERIC) put(p, ")");
  put_addend(p, addend);
}

static void put_literal(struct printer *p, unsigned type, const struct mx_lit *l) {
  unsigned long long v = l->value;
  if (l->kind != MX_LIT_VALUE) put_address(p, l->kind, l->index, v);
  else if (type == MX_T_f32) put(p, "0f%08llX", v & UINT32_MAX);
  else if (type == MX_T_f64) put(p, "0d%016llX", v);
  else put(p, v < 4096 ? "%llu" : "0x%llX", v);
}

static void put_operand(struct printer *p, unsigned type, unsigned field) {
  static const struct mx_lit none;
  if (field < MX_LIT) put_slot(p, type, field);
  else put_literal(p, type, field - MX_LIT < p->f->nlits ? &p->f->lits[field - MX_LIT] : &none);
}

static void put_memory(struct printer *p, unsigned type, unsigned base, unsigned offset) {
  put(p, "[");
  const struct mx_lit *l = base >= MX_LIT && base - MX_LIT < p->f->nlits ? &p->f->lits[base - MX_LIT] : NULL;
  bool bare = base < MX_LIT || (l && l->kind == MX_LIT_VAR && !l->value);
  if (!bare) put(p, "(");
  put_operand(p, type, base);
  if (!bare) put(p, ")");
  if (offset >= MX_LIT && offset - MX_LIT < p->f->nlits) put_addend(p, p->f->lits[offset - MX_LIT].value);
  put(p, "]");
}

/* How the text groups operands, the one with operand k; but for rows whose table says vectors the assembler looks only
 * at their order. */
struct grouping {
  unsigned from, to;
  char open, close;
  const char *separator;
};

static struct grouping group(const struct mx_op_info *o, unsigned k) {
  if (o->opnd[k].vector) {
    unsigned from = k, to = k + 1;
    while (from && o->opnd[from - 1].vector == o->opnd[k].vector) from--;
    while (to < o->nopnds && o->opnd[to].vector == o->opnd[k].vector) to++;
    return (struct grouping){from, to, '{', '}', ", "};
  }
  unsigned outs = 0;
  while (outs < o->nopnds && o->opnd[outs].role == MX_OUT) outs++;
  if (outs == 2 && o->opnd[1].type == MX_T_pred) return (struct grouping){0, 2, 0, 0, "|"};
  if (outs > 1) return (struct grouping){0, outs, '{', '}', ", "};
  for (unsigned j = 0; j < o->nopnds; j++)
    if (o->opnd[j].vector) return (struct grouping){0, 0, 0, 0, ""};
  if (strstr(o->spelling, ".v2") || strstr(o->spelling, ".v4")) return (struct grouping){2, o->nopnds, '{', '}', ", "};
  if (!strncmp(o->spelling, "mov", 3) && o->nopnds > 2) return (struct grouping){1, o->nopnds, '{', '}', ", "};
  return (struct grouping){0, 0, 0, 0, ""};
}

static void put_operands(struct printer *p, const mx_word *w) {
  const struct mx_op_info *o = &mx__ops[mx_w_op(*w)];
  for (unsigned k = 0; k < o->nopnds; k++) {
    const struct grouping g = group(o, k);
    unsigned field = mx_w_operand(w, k), type = o->opnd[k].type;
    if (k) put(p, "%s", k > g.from && k < g.to ? g.separator : ", ");
    else put(p, " ");
    if (k == g.from && g.to && g.open) put(p, "%c", g.open);
    if (type == MX_T_raw && mx__effect(mx_w_op(*w)) == MX_DOES_SREG && field < MX_SR_COUNT)
      put(p, "%%%s", mx__sregs[field].name);
    else if (type == MX_T_raw) put(p, "%u", field);
    else if (k + 1 < o->nopnds && o->opnd[k + 1].type == MX_T_off)
      put_memory(p, type, field, mx_w_operand(w, k + 1)), k++;
    else put_operand(p, type, field);
    if (k + 1 == g.to && g.close) put(p, "%c", g.close);
  }
}

/* ---- instructions ------------------------------------------------------------------------------------*/
static const uint8_t class_types[] = {MX_T_pred, MX_T_b32, MX_T_b64, MX_T_b128};
static unsigned class_type(unsigned cls) { return class_types[cls & 3]; }

static void put_reconv(struct printer *p, uint32_t pc) {
  put(p, " !reconv ");
  if (pc == MX_PC_RET) put(p, "ret");
  else put_place(p, pc);
}

static void put_call_list(struct printer *p, const mx_word *w, unsigned from, unsigned to, const uint8_t *cls,
                          const struct mx_slot_ref *refs, unsigned first) {
  put(p, "(");
  for (unsigned k = from; k < to; k++) {
    put(p, k == from ? "" : ", ");
    put_operand(p, class_type(cls ? cls[first + k - from] : refs[first + k - from].cls), mx_w_operand(w, 4 + k));
  }
  put(p, ")");
}

static void put_call(struct printer *p, const mx_word *w) {
  unsigned nres = mx_w_nres(*w), n = nres + mx_w_narg(*w);
  uint32_t callee = mx_w_callee(*w);
  bool indirect = mx_w_op(*w) == MX_CALLI;
  const struct mx_func *f = !indirect && callee < p->m->nfuncs ? &p->m->funcs[callee] : NULL;
  const struct mx_proto *t = indirect && callee < p->f->nprotos ? &p->f->protos[callee] : NULL;
  bool fits = (f && f->nresults == nres && f->nargs == n - nres) || (t && t->nres == nres && t->narg == n - nres);
  if (!fits || (indirect && nres == n)) {
    put(p, " // does not fit its callee");
    return;
  }
  put(p, " ");
  if (nres) put_call_list(p, w, 0, nres, t ? t->res : NULL, f ? f->results : NULL, 0), put(p, ", ");
  if (indirect) put_operand(p, MX_T_b64, mx_w_operand(w, 4 + nres));
  else put_func_name(p, callee);
  unsigned skip = indirect;
  if (n > nres + skip) put(p, ", "), put_call_list(p, w, nres + skip, n, t ? t->arg : NULL, f ? f->args : NULL, skip);
  if (indirect) put(p, ", %%.P%u", callee);
}

static void put_instruction(struct printer *p, const mx_word *w) {
  unsigned op = mx_w_op(*w);
  const struct mx_op_info *o = &mx__ops[op];
  char spelling[SPELLING_MAX];
  mx__spell(o, o->flags & MX_F_MOVI ? 0 : mx_w_mod(*w), spelling, sizeof spelling);
  put(p, "\t");
  if (mx_w_guard(*w) != MX_GUARD_NONE) put(p, "@%s%%.p%u ", mx_w_guard_neg(*w) ? "!" : "", mx_w_guard(*w));
  put(p, "%s", spelling);
  if (o->flags & MX_F_BRANCH) {
    put(p, " ");
    put_place(p, mx_w_target(*w));
    put_reconv(p, mx_w_reconv(*w));
  } else if (o->flags & MX_F_MOVI) {
    put(p, " ");
    put_slot(p, o->opnd[0].type, mx_w_field(*w, 0));
    put(p, ", %d", (int32_t)mx_w_movi(*w));
  } else if (o->flags & MX_F_CALL) {
    put_call(p, w);
  } else if (op == MX_BRX) {
    put(p, " ");
    put_operand(p, o->opnd[0].type, mx_w_operand(w, 0));
    put(p, ", %%.T%u", mx_w_operand(w, 1));
    put_reconv(p, mx_w_operand(w, 2) | mx_w_operand(w, 3) << 10);
  } else {
    if (has_rival(p, op, w, spelling)) put(p, "!%s", o->id);
    put_operands(p, w);
  }
  put(p, ";\n");
}

/* ---- functions ---------------------------------------------------------------------------------------*/
static void mark(struct printer *p, uint32_t pc) {
  if (pc <= p->f->ncode && p->named) p->named[pc >> 3] |= (uint8_t)(1u << (pc & 7));
}

/* An image that was not verified may end in the middle of an instruction or hold none. */
static bool is_instruction(const struct mx_func *f, uint32_t pc) {
  return mx_w_op(f->code[pc]) < MX_OP_COUNT && mx_w_length(f->code[pc]) <= f->ncode - pc;
}

static uint32_t next_pc(const struct mx_func *f, uint32_t pc) {
  return pc + (is_instruction(f, pc) ? mx_w_length(f->code[pc]) : 1);
}

static void mark_places(struct printer *p) {
  const struct mx_func *f = p->f;
  p->named = reserve(p, f->ncode / 8, 1);
  for (uint32_t pc = 0; pc < f->ncode; pc = next_pc(f, pc)) {
    if (!is_instruction(f, pc)) continue;
    const mx_word *w = &f->code[pc];
    if (mx__ops[mx_w_op(*w)].flags & MX_F_BRANCH) mark(p, mx_w_target(*w)), mark(p, mx_w_reconv(*w));
    if (mx_w_op(*w) == MX_BRX) mark(p, mx_w_operand(w, 2) | mx_w_operand(w, 3) << 10);
  }
  for (uint32_t k = 0; k < f->ntables; k++) {
    for (uint32_t t = 0; t < f->tables[k].ntargets; t++) mark(p, f->tables[k].targets[t]);
  }
}

static void put_type_list(struct printer *p, const uint8_t *cls, uint32_t n) {
  put(p, "(");
  for (uint32_t k = 0; k < n; k++) put(p, "%s.reg .%s _", k ? ", " : "", mx__types[class_type(cls[k])].name);
  put(p, ")");
}

static void put_slot_list(struct printer *p, const struct mx_slot_ref *refs, uint32_t n) {
  put(p, "(");
  for (uint32_t k = 0; k < n; k++) {
    unsigned type = class_type(refs[k].cls);
    put(p, "%s.reg .%s ", k ? ", " : "", mx__types[type].name);
    put_slot(p, type, refs[k].slot);
  }
  put(p, ")");
}

static void put_params(struct printer *p) {
  const struct mx_func *f = p->f;
  put(p, "(");
  for (uint32_t k = 0; k < f->nparams; k++) {
    const struct mx_param *x = &f->params[k];
    const struct mx_type_info *t = &mx__types[x->type < MX_T_raw ? x->type : MX_T_b8];
    unsigned bytes = t->bits / 8u;
    put(p, "%s\n\t.param ", k ? "," : "");
    if (x->align != bytes) put(p, ".align %u ", x->align);
    put(p, ".%s %s%s", t->name, x->is_pointer ? ".ptr " : "", x->name);
    if (x->size != bytes) put(p, "[%u]", bytes ? x->size / bytes : x->size);
    put(p, " @%u", x->offset);
  }
  put(p, ")");
}

static void put_head(struct printer *p) {
  const struct mx_func *f = p->f;
  bool kernel = f->flags & MX_FUNC_KERNEL;
  put(p, "\n%s%s ", f->flags & MX_FUNC_VISIBLE ? ".visible " : "", kernel ? ".entry" : ".func");
  if (f->nresults) put_slot_list(p, f->results, f->nresults), put(p, " ");
  put(p, "%s", f->name);
  if (kernel) put_params(p);
  else put_slot_list(p, f->args, f->nargs);
  put(p, "\n");
  const uint32_t *a = f->maxntid, *b = f->reqntid;
  if (a[0] | a[1] | a[2]) put(p, ".maxntid %u, %u, %u\n", a[0], a[1], a[2]);
  if (b[0] | b[1] | b[2]) put(p, ".reqntid %u, %u, %u\n", b[0], b[1], b[2]);
  if (f->minnctapersm) put(p, ".minnctapersm %u\n", f->minnctapersm);
  if (f->flags & MX_FUNC_COOPERATIVE) put(p, ".cooperative\n");
  const uint32_t *c = f->reqncta;
  if (c[0] | c[1] | c[2]) put(p, ".reqnctapercluster %u, %u, %u\n", c[0], c[1], c[2]);
  if (f->maxclusterrank) put(p, ".maxclusterrank %u\n", f->maxclusterrank);
  if (f->flags & MX_FUNC_EXPLICIT_CLUSTER) put(p, ".explicitcluster\n");
  if (f->flags & MX_FUNC_BLOCKS_ARE_CLUSTERS) put(p, ".blocksareclusters\n");
  if (f->param_bytes) put(p, ".paramsize %u\n", f->param_bytes);
}

static void put_declarations(struct printer *p) {
  const struct mx_func *f = p->f;
  put(p, "\t.slots %u, %u, %u, %u, %u, %u;\n", f->n32, f->n64, f->npred, f->nspill32, f->nspill64, f->nspillpred);
  if (f->local_bytes | f->arg_bytes) put(p, "\t.frame %u, %u;\n", f->local_bytes, f->arg_bytes);
  for (uint32_t k = 0; k < f->nlocals; k++) {
    put(p, "\t.var ");
    put_quoted(p, f->locals[k].name);
    put(p, ", %u, %u;\n", f->locals[k].offset, f->locals[k].size);
  }
  for (uint32_t k = 0; k < f->nshared; k++) {
    put(p, k ? ", " : "\t.uses ");
    put_var(p, f->shared[k]);
  }
  if (f->nshared) put(p, ";\n");
  for (uint32_t k = 0; k < f->ntables; k++) {
    put(p, "%%.T%u:\t.branchtargets ", k);
    for (uint32_t t = 0; t < f->tables[k].ntargets; t++) {
      put(p, t ? ", " : "");
      put_place(p, f->tables[k].targets[t]);
    }
    put(p, ";\n");
  }
  for (uint32_t k = 0; k < f->nprotos; k++) {
    const struct mx_proto *t = &f->protos[k];
    put(p, "%%.P%u:\t.callprototype ", k);
    if (t->nres) put_type_list(p, t->res, t->nres), put(p, " ");
    put(p, "_ ");
    put_type_list(p, t->narg ? t->arg + 1 : t->arg, t->narg ? t->narg - 1u : 0);
    put(p, ";\n");
  }
}

static void put_labels(struct printer *p, uint32_t pc, uint32_t *next) {
  const struct mx_func *f = p->f;
  if (p->named && p->named[pc >> 3] >> (pc & 7) & 1 && !label_at(p, pc)) put(p, "%%.L%u:\n", pc);
  for (; *next < f->nlabels && f->labels[*next].pc <= pc; ++*next) {
    const char *name = f->labels[*next].name;
    if (is_clear_label(p, name)) put(p, "%s:\n", name);
    else put(p, "\t.label "), put_quoted(p, name), put(p, ";\n");
  }
}

static void put_code(struct printer *p) {
  const struct mx_func *f = p->f;
  uint32_t label = 0, line = 0;
  for (uint32_t pc = 0; pc < f->ncode && !p->oom; pc = next_pc(f, pc)) {
    put_labels(p, pc, &label);
    const struct mx_line *l = NULL;
    for (; line < f->nlines && f->lines[line].pc <= pc; line++) l = &f->lines[line];
    if (l && l->line) put(p, "\t.loc %u %u 0\n", l->file + 1, l->line);
    else if (l) put(p, "\t.loc 0 0 0\n");
    if (is_instruction(f, pc)) put_instruction(p, &f->code[pc]);
    else put(p, "\t// %016llx is no instruction\n", (unsigned long long)f->code[pc]);
  }
  put_labels(p, f->ncode, &label);
}

static void put_name_map(struct printer *p) {
  const struct mx_func *f = p->f;
  for (uint32_t k = 0; k < f->nnames && !p->oom; k++) {
    const struct mx_name *n = &f->names[k];
    unsigned type = n->type < MX_T_raw ? n->type : MX_T_b32;
    put(p, "\t.name .%s ", mx__types[type].name);
    put_quoted(p, n->name);
    put(p, ", ");
    if (n->spilled) put(p, "%%.s%u", n->slot);
    else put_slot(p, type, n->slot);
    put(p, ", %u, %u;\n", n->lo, n->hi);
  }
}

static void put_func(struct printer *p, const struct mx_func *f) {
  p->f = f;
  p->labels.list = reserve(p, f->nlabels, sizeof *p->labels.list);
  p->params.list = reserve(p, f->nparams, sizeof *p->params.list);
  for (uint32_t k = 0; k < f->nlabels && !p->oom; k++) p->labels.list[p->labels.count++] = f->labels[k].name;
  for (uint32_t k = 0; k < f->nparams && !p->oom; k++) p->params.list[p->params.count++] = f->params[k].name;
  sort_index(&p->labels);
  sort_index(&p->params);
  mark_places(p);
  put_head(p);
  put(p, "{\n");
  put_declarations(p);
  put_code(p);
  put_name_map(p);
  put(p, "}\n");
  free(p->labels.list);
  free(p->params.list);
  free(p->named);
  p->labels = p->params = (struct index){0};
  p->named = NULL;
  p->f = NULL;
}

/* ---- the module --------------------------------------------------------------------------------------*/
static const char *const spaces[] = {"", ".global", ".shared", ".local", ".const", ".param"};

static void put_declaration(struct printer *p, uint32_t number) {
  const struct mx_var *v = &p->m->vars[number];
  bool bare = v->flags & MX_VAR_EXTERN_SHARED;
  put(p, "%s%s%s%s .align %u .b8 ", bare || v->flags & MX_VAR_EXTERN ? ".extern " : "",
      v->flags & MX_VAR_VISIBLE ? ".visible " : "", v->flags & MX_VAR_MANAGED ? ".attribute(.managed) " : "",
      spaces[v->space < MX_SPACES ? v->space : 0], v->align);
  if (starts_plainly(v->name) && occurrences(&p->module, v->name) == 1) put(p, "%s", v->name);
  else put(p, "%%.v%u ", number), put_quoted(p, v->name);
  if (bare) put(p, "[]");
  else put(p, "[%llu]", (unsigned long long)v->size);
  uint64_t n = v->ninit;
  while (n && !v->init[n - 1]) n--;
  for (uint64_t k = 0; k < n && !p->oom; k++) put(p, "%s%s%u", k ? "," : " = {", k % 32 ? " " : "\n\t", v->init[k]);
  put(p, n ? "};\n" : ";\n");
}

static void put_relocs(struct printer *p, uint32_t number) {
  const struct mx_var *v = &p->m->vars[number];
  for (uint32_t k = 0; k < v->nrelocs; k++) {
    const struct mx_reloc *r = &v->relocs[k];
    put(p, ".reloc ");
    put_var(p, number);
    put(p, ", %llu, %u, ", (unsigned long long)r->offset, r->size);
    if (r->size == 1) put(p, "0x%llx(", r->byte < 8 ? 0xFFull << 8 * r->byte : 0);
    put_address(p, r->kind, r->index, r->addend);
    put(p, r->size == 1 ? ");\n" : ";\n");
  }
}

char *mx__disassemble(const struct mx_image *m) {
  struct printer p = {.m = m};
  if (m->ptx_version) put(&p, ".version %u.%u\n", m->ptx_version / 10, m->ptx_version % 10);
  if (m->sm) put(&p, ".target sm_%u\n", m->sm);
  else put(&p, ".target mx64\n");
  put(&p, ".address_size %u\n\n", m->address_size);
  for (uint32_t k = 0; k < m->nfiles; k++) put(&p, ".file %u ", k + 1), put_quoted(&p, m->files[k]), put(&p, "\n");
  p.module.list = reserve(&p, (size_t)m->nvars + m->nfuncs, sizeof *p.module.list);
  for (uint32_t k = 0; k < m->nvars && !p.oom; k++) p.module.list[p.module.count++] = m->vars[k].name;
  for (uint32_t k = 0; k < m->nfuncs && !p.oom; k++) p.module.list[p.module.count++] = m->funcs[k].name;
  sort_index(&p.module);
  for (uint32_t k = 0; k < m->nvars && !p.oom; k++) put_declaration(&p, k);
  for (uint32_t k = 0; k < m->nfuncs && !p.oom; k++) put_func(&p, &m->funcs[k]);
  put(&p, "\n");
  for (uint32_t k = 0; k < m->nvars && !p.oom; k++) put_relocs(&p, k);
  free(p.module.list);
  if (p.oom) {
    free(p.at);
    return NULL;
  }
  return p.at;
}

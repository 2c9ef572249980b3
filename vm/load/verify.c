/* The verifier: checks everything in an image that the machine later uses without asking. Separate from the reader
 * because images come from assemblers too; it must not know containers.
 *
 * What holds afterwards, and engines rely on:
 *  1. Every word that control can reach is an instruction of the table with a legal modifier and guard, complete with
 *     its extension words, nothing in unused fields; in modules of the right number of lanes.
 *  2. Every operand names a slot inside the frame, or a literal that exists, and literals stand only where a value is
 *     read. A value literal fits the operand's width; a pair of slots begins at an even one.
 *  3. Targets, table entries and reconvergence points are first words of instructions (or, the latter, MX_PC_RET), and
 *     control never runs past the last word.
 *  4. Direct calls agree with their callee, indirect ones with their prototype, in number and classes; kernels are
 *     neither called nor have their address taken. (Whether an address that is computed names a function of that
 *     prototype, is for the machine to check at the call.)
 *  5. Variables, parameters, relocations, names and lines lie where they may.
 * Left to the machine: depth of calls, loops without end, memory accesses, joins whose lanes never come. */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROBLEMS 16
#define MAX_ALIGN (1u << 16)
#define MAX_VARS_BYTES ((uint64_t)1 << 40)
#define MAX_LOCAL_BYTES (512u << 10)
#define MAX_NAME 4095

struct checker {
  const struct mx_image *m;
  const struct mx_func *f; /* NULL: outside functions */
  uint32_t number;         /* of f */
  uint32_t pc;             /* NO_PC: the problem is not at an instruction */
  uint8_t *starts;         /* bit per word: an instruction begins here */
  size_t starts_size;
  char *text;
  size_t size, capacity;
  unsigned problems;
  bool oom;
};
#define NO_PC UINT32_MAX

/* ---- problems ----------------------------------------------------------------------------------------*/
static void add_text(struct checker *c, const char *fmt, va_list list) {
  va_list again;
  va_copy(again, list);
  int n = vsnprintf(NULL, 0, fmt, list);
  if (n >= 0 && c->capacity - c->size < (size_t)n + 1) {
    size_t capacity = (c->size + (size_t)n + 1) * 2;
    char *text = realloc(c->text, capacity);
    if (text) c->text = text, c->capacity = capacity;
  }
  if (n >= 0 && c->capacity - c->size > (size_t)n) {
    vsnprintf(c->text + c->size, (size_t)n + 1, fmt, again);
    c->size += (size_t)n;
  }
  va_end(again);
}

static void add(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct checker *c, const char *fmt, ...) {
  va_list list;
  va_start(list, fmt);
  add_text(c, fmt, list);
  va_end(list);
}

/* The spelling up to its first group: enough to recognise an instruction. */
static int mnemonic_length(const struct mx_op_info *o) { return (int)strcspn(o->spelling, "{<["); }

static void problem(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void problem(struct checker *c, const char *fmt, ...) {
  if (c->problems++ >= MAX_PROBLEMS) return;
  if (c->problems > 1) add(c, "\n");
  if (c->f) add(c, "function %u (%.60s): ", c->number, c->f->name ? c->f->name : "");
  if (c->f && c->pc != NO_PC) {
    unsigned op = mx_w_op(c->f->code[c->pc]);
    add(c, "pc %u: ", c->pc);
    if (op < MX_OP_COUNT) add(c, "%s (%.*s): ", mx__ops[op].id, mnemonic_length(&mx__ops[op]), mx__ops[op].spelling);
  }
  va_list list;
  va_start(list, fmt);
  add_text(c, fmt, list);
  va_end(list);
}

/* ---- names -------------------------------------------------------------------------------------------*/
/* An identifier of the language, so that every image can be written as text. Bounded, since many things may bear the
 * same long name and each is looked at. */
static bool is_name(const char *s) {
  if (!s || !*s || (*s >= '0' && *s <= '9')) return false;
  for (size_t k = 0; s[k]; k++) {
    if (k == MAX_NAME) return false;
    bool letter = (s[k] >= 'a' && s[k] <= 'z') || (s[k] >= 'A' && s[k] <= 'Z') || (s[k] >= '0' && s[k] <= '9');
    if (!letter && s[k] != '_' && s[k] != '$' && (k || s[k] != '%')) return false;
  }
  return true;
}

static bool is_power_of_two(uint64_t v) { return v && !(v & (v - 1)); }

static int compare_names(const void *a, const void *b) {
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  return x == y ? 0 : strcmp(x, y); /* equal names of a file are often one string */
}

static void check_function_names(struct checker *c) {
  uint32_t n = c->m->nfuncs;
  const char **names = malloc((n + 1u) * sizeof *names);
  if (!names) {
    c->oom = true;
    return;
  }
  for (uint32_t k = 0; k < n; k++) names[k] = c->m->funcs[k].name ? c->m->funcs[k].name : "";
  qsort(names, n, sizeof *names, compare_names);
  for (uint32_t k = 1; k < n; k++) {
    if (!strcmp(names[k - 1], names[k])) problem(c, "two functions of the name %.60s", names[k]);
  }
  free(names);
}

/* ---- variables ---------------------------------------------------------------------------------------*/
static bool is_function_value(struct checker *c, uint32_t index) {
  return index < c->m->nfuncs && !(c->m->funcs[index].flags & MX_FUNC_KERNEL);
}

static void check_relocs(struct checker *c, const struct mx_var *v, uint32_t number) {
  uint64_t end = 0;
  for (uint32_t k = 0; k < v->nrelocs; k++) {
    const struct mx_reloc *r = &v->relocs[k];
    if (r->byte + r->size > 8 || (r->byte && r->size != 1))
      problem(c, "variable %u: address %u has no byte %u", number, k, r->byte);
    if (!is_power_of_two(r->size) || r->size > 8)
      problem(c, "variable %u: address %u takes %u bytes", number, k, r->size);
    if (r->offset < end || r->offset > v->size || r->size > v->size - r->offset) {
      problem(c, "variable %u: address %u overlaps another or lies outside", number, k);
      return;
    }
    end = r->offset + r->size;
    switch (r->kind) {
    case MX_LIT_VAR:
    case MX_LIT_GENERIC:
      if (r->index >= c->m->nvars) problem(c, "variable %u: address %u is of variable %u", number, k, r->index);
      break;
    case MX_LIT_FUNC:
      if (!is_function_value(c, r->index)) problem(c, "variable %u: address %u is of function %u", number, k, r->index);
      if (r->addend) problem(c, "variable %u: address %u lies inside a function", number, k);
      break;
    default: problem(c, "variable %u: address %u is of kind %u", number, k, r->kind);
    }
  }
}

static void check_vars(struct checker *c) {
  uint64_t total = 0;
  for (uint32_t k = 0; k < c->m->nvars; k++) {
    const struct mx_var *v = &c->m->vars[k];
    if (!is_name(v->name)) problem(c, "variable %u: its name is not an identifier", k);
    bool shared = v->space == MX_SHARED;
    if (v->space != MX_GLOBAL && v->space != MX_CONST && !shared)
      problem(c, "variable %u: no variables in space %u", k, v->space);
    if (v->flags > 15) problem(c, "variable %u: flags %u", k, v->flags);
    if (!is_power_of_two(v->align) || v->align > MAX_ALIGN) problem(c, "variable %u: alignment %u", k, v->align);
    if (v->ninit > v->size) problem(c, "variable %u: more initial bytes than bytes", k);
    bool has_value = v->ninit || v->nrelocs;
    if (has_value && shared) problem(c, "variable %u: shared memory has no initial value", k);
    if (has_value && v->flags & MX_VAR_EXTERN) problem(c, "variable %u: an extern variable has no initial value", k);
    if (v->flags & MX_VAR_EXTERN_SHARED && (!shared || v->size)) {
      problem(c, "variable %u: only shared variables without size begin where others end", k);
    }
    if (v->flags & MX_VAR_MANAGED && v->space != MX_GLOBAL)
      problem(c, "variable %u: only global variables are managed", k);
    /* Padding counts: the sum bounds every address that a layout in any order can give. */
    uint64_t room = v->size < MAX_VARS_BYTES ? v->size + (v->align < MAX_ALIGN ? v->align : MAX_ALIGN) : MAX_VARS_BYTES;
    if (room > MAX_VARS_BYTES - total) problem(c, "variable %u: more than 2^40 bytes of variables", k);
    else total += room;
    check_relocs(c, v, k);
  }
}

/* ---- operands ----------------------------------------------------------------------------------------*/
static const char *const class_names[] = {"predicate", "32-bit", "64-bit", "128-bit", "no"};

static unsigned slots_of(const struct mx_func *f, unsigned cls) {
  return cls == MX_PRED ? f->npred : cls == MX_R32 ? f->n32 : cls == MX_R64 || cls == MX_R128 ? f->n64 : 0;
}

static unsigned spill_cells_of(const struct mx_func *f, unsigned cls) {
  return cls == MX_PRED ? f->nspillpred : cls == MX_R32 ? f->nspill32 : cls == MX_R64 ? f->nspill64 : 0;
}

static bool is_slot(const struct mx_func *f, unsigned cls, unsigned slot) {
  if (cls == MX_R128) return !(slot & 1) && slot + 1 < f->n64;
  return cls < MX_R128 && slot < slots_of(f, cls);
}

static void check_slot(struct checker *c, unsigned k, unsigned cls, unsigned slot) {
  if (is_slot(c->f, cls, slot)) return;
  if (cls == MX_R128 && slot & 1) {
    problem(c, "operand %u: a pair begins at the odd 64-bit slot %u", k, slot);
    return;
  }
  unsigned lies_in = cls == MX_R128 ? MX_R64 : cls;
  problem(c, "operand %u: %s slot %u, the frame has %u", k, class_names[lies_in], slot, slots_of(c->f, cls));
}

/* A literal where `bits` bits of a value are read. */
static void check_literal(struct checker *c, unsigned k, unsigned cls, unsigned bits, unsigned number) {
  if (number >= c->f->nlits) {
    problem(c, "operand %u: literal %u, the function has %u", k, number, c->f->nlits);
    return;
  }
  const struct mx_lit *l = &c->f->lits[number];
  if (cls == MX_R128) problem(c, "operand %u: 128 bits cannot be a literal", k);
  else if (l->kind != MX_LIT_VALUE && bits < 32) problem(c, "operand %u: an address of %u bits", k, bits);
  else if (l->kind == MX_LIT_VALUE && bits < 64 && l->value >> bits) {
    problem(c, "operand %u: the literal %#llx has more than %u bits", k, (unsigned long long)l->value, bits);
  }
}

static void check_offset(struct checker *c, unsigned k, unsigned field) {
  if (field < MX_LIT) problem(c, "operand %u: an offset is a literal, not slot %u", k, field);
  else if (field - MX_LIT >= c->f->nlits)
    problem(c, "operand %u: literal %u, the function has %u", k, field - MX_LIT, c->f->nlits);
  else if (c->f->lits[field - MX_LIT].kind != MX_LIT_VALUE) problem(c, "operand %u: an offset cannot be an address", k);
}

static void check_value(struct checker *c, unsigned k, unsigned role, unsigned cls, unsigned bits, unsigned field) {
  if (field < MX_LIT) check_slot(c, k, cls, field);
  else if (role == MX_OUT) problem(c, "operand %u: the result goes to a literal", k);
  else check_literal(c, k, cls, bits, field - MX_LIT);
}

/* ---- control -----------------------------------------------------------------------------------------*/
static bool is_start(const struct checker *c, uint32_t pc) {
  return pc < c->f->ncode && c->starts[pc >> 3] >> (pc & 7) & 1;
}

static void check_target(struct checker *c, const char *what, uint32_t pc) {
  if (!is_start(c, pc)) problem(c, "%s %u is not the start of an instruction", what, pc);
}

static void check_reconv(struct checker *c, uint32_t pc) {
  if (pc != MX_PC_RET) check_target(c, "the reconvergence point", pc);
}

/* ---- raw operands ------------------------------------------------------------------------------------
 * The one place that knows what raw fields mean. Rows not named here may read their raw fields as numbers only. */
static void check_raw(struct checker *c, const mx_word *w, const struct mx_op_info *o) {
  const struct mx_func *f = c->f;
  if (mx_w_op(*w) == MX_BRX) {
    unsigned table = mx_w_operand(w, 1);
    if (table >= f->ntables) problem(c, "jump table %u, the function has %u", table, f->ntables);
    check_reconv(c, mx_w_operand(w, 2) | mx_w_operand(w, 3) << 10);
  }
  switch (mx__effect(mx_w_op(*w))) {
  case MX_DOES_SREG: {
    unsigned number = mx_w_operand(w, 1);
    if (number >= MX_SR_COUNT) problem(c, "special register %u, there are %u", number, MX_SR_COUNT);
    else if (mx__types[mx__sregs[number].type].slot_class != mx__types[o->opnd[0].type].slot_class) {
      problem(c, "special register %%%s does not fit into a %s slot", mx__sregs[number].name,
              class_names[mx__types[o->opnd[0].type].slot_class]);
    }
    break;
  }
  case MX_DOES_SPILL:
  case MX_DOES_FILL: {
    bool fill = o->opnd[0].role == MX_OUT;
    unsigned cell = mx_w_operand(w, fill) | mx_w_operand(w, fill + 1u) << 10;
    unsigned cells = spill_cells_of(f, mx__types[o->opnd[fill ? 0 : 2].type].slot_class);
    if (cell >= cells) problem(c, "spill cell %u, the frame has %u", cell, cells);
    break;
  }
  default: break;
  }
}

/* ---- instructions ------------------------------------------------------------------------------------*/
static unsigned operand_count(const mx_word *w) {
  const struct mx_op_info *o = &mx__ops[mx_w_op(*w)];
  return o->flags & MX_F_CALL ? 4 + mx_w_nres(*w) + mx_w_narg(*w) : o->nopnds;
}

/* Fields after the last operand are zero. */
static void check_padding(struct checker *c, const mx_word *w) {
  unsigned n = operand_count(w), length = mx_w_length(*w);
  for (unsigned k = n; k < 4; k++) {
    if (mx_w_field(*w, k)) problem(c, "the unused operand field %u is not 0", k);
  }
  for (unsigned x = 1; x < length; x++) {
    bool clean = !(w[x] >> 60);
    for (unsigned k = 0; k < MX_EXT_FIELDS; k++) {
      clean &= 4 + (x - 1) * MX_EXT_FIELDS + k < n || !mx_w_ext_field(w[x], k);
    }
    if (!clean) problem(c, "extension word %u holds more than operands", x);
  }
}

static unsigned class_bits(unsigned cls) { return cls == MX_PRED ? 1 : cls == MX_R32 ? 32 : cls == MX_R64 ? 64 : 128; }

static void check_call(struct checker *c, const mx_word *w) {
  unsigned nres = mx_w_nres(*w), narg = mx_w_narg(*w);
  uint32_t callee = mx_w_callee(*w);
  const struct mx_func *f = NULL;
  const struct mx_proto *p = NULL;
  uint32_t want_res, want_arg;
  if (mx_w_op(*w) == MX_CALLI) {
    if (callee >= c->f->nprotos) {
      problem(c, "prototype %u, the function has %u", callee, c->f->nprotos);
      return;
    }
    p = &c->f->protos[callee];
    want_res = p->nres;
    want_arg = p->narg;
  } else {
    if (callee >= c->m->nfuncs || c->m->funcs[callee].flags & MX_FUNC_KERNEL) {
      problem(c, callee >= c->m->nfuncs ? "function %u, the module has %u" : "function %u of %u is a kernel", callee,
              c->m->nfuncs);
      return;
    }
    f = &c->m->funcs[callee];
    want_res = f->nresults;
    want_arg = f->nargs;
  }
  if (nres != want_res || narg != want_arg) {
    problem(c, "%u results and %u arguments where the callee has %u and %u", nres, narg, want_res, want_arg);
    return;
  }
  for (unsigned k = 0; k < nres + narg; k++) {
    bool result = k < nres;
    unsigned cls = f ? (result ? f->results[k].cls : f->args[k - nres].cls) : result ? p->res[k] : p->arg[k - nres];
    if (cls > MX_R128) continue; /* reported where the callee is checked */
    check_value(c, k, result ? MX_OUT : MX_IN, cls, class_bits(cls), mx_w_operand(w, 4 + k));
  }
}

static void check_instruction(struct checker *c, const mx_word *w) {
  const struct mx_op_info *o = &mx__ops[mx_w_op(*w)];
  unsigned guard = mx_w_guard(*w), mod = mx_w_mod(*w);
  if (guard == MX_GUARD_NONE) {
    if (mx_w_guard_neg(*w)) problem(c, "a negated guard without a predicate");
  } else if (o->flags & MX_F_NOGUARD) {
    problem(c, "takes no guard");
  } else if (guard >= c->f->npred) {
    problem(c, "guard predicate %u, the frame has %u", guard, c->f->npred);
  }
  if (mod >= (o->flags & MX_F_MOVI ? 4u : o->mods)) problem(c, "modifier %u, the row has %u", mod, o->mods);
  if (o->flags & MX_F_W32 && c->m->lanes != 32) problem(c, "only in modules of 32 lanes");
  if (o->flags & MX_F_W64 && c->m->lanes != 64) problem(c, "only in modules of 64 lanes");
  if (o->flags & MX_F_BRANCH) {
    check_target(c, "the target", mx_w_target(*w));
    check_reconv(c, mx_w_reconv(*w));
  } else if (o->flags & MX_F_MOVI) {
    check_value(c, 0, MX_OUT, mx__types[o->opnd[0].type].slot_class, 0, mx_w_field(*w, 0));
  } else {
    check_padding(c, w);
    if (o->flags & MX_F_CALL) {
      check_call(c, w);
      return;
    }
    for (unsigned k = 0; k < o->nopnds; k++) {
      const struct mx_type_info *t = &mx__types[o->opnd[k].type];
      unsigned field = mx_w_operand(w, k);
      if (o->opnd[k].type == MX_T_raw) {
        if (!mx_in_range(o->opnd[k].range, field)) problem(c, "operand %u: %u is not in its range", k, field);
        continue;
      }
      if (o->opnd[k].type == MX_T_off) check_offset(c, k, field);
      else check_value(c, k, o->opnd[k].role, t->slot_class, t->bits, field);
    }
    check_raw(c, w, o);
  }
}

/* Finds where instructions begin; false if the code cannot be cut into instructions. */
static bool mark_starts(struct checker *c) {
  const struct mx_func *f = c->f;
  size_t size = f->ncode / 8 + 1;
  if (size > c->starts_size) {
    uint8_t *starts = realloc(c->starts, size);
    if (!starts) {
      c->oom = true;
      return false;
    }
    c->starts = starts;
    c->starts_size = size;
  }
  memset(c->starts, 0, size);
  if (!f->ncode || f->ncode > MX_MAX_CODE) {
    problem(c, "%u code words", f->ncode);
    return false;
  }
  mx_word last = 0;
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(last)) {
    last = f->code[pc];
    c->pc = pc;
    if (mx_w_op(last) >= MX_OP_COUNT) {
      problem(c, "opcode %u of %u", mx_w_op(last), MX_OP_COUNT);
      return false;
    }
    if (mx_w_length(last) > f->ncode - pc) {
      problem(c, "its extension words are missing");
      return false;
    }
    c->starts[pc >> 3] |= (uint8_t)(1u << (pc & 7));
  }
  bool ends = mx__ops[mx_w_op(last)].flags & MX_F_END || mx_w_op(last) == MX_BRA;
  if (!ends || mx_w_guard(last) != MX_GUARD_NONE) problem(c, "control runs past the last instruction");
  return true;
}

static void check_code(struct checker *c) {
  const struct mx_func *f = c->f;
  if (!mark_starts(c)) return;
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    c->pc = pc;
    check_instruction(c, &f->code[pc]);
  }
  c->pc = NO_PC;
  for (uint32_t k = 0; k < f->ntables; k++) {
    for (uint32_t t = 0; t < f->tables[k].ntargets; t++) {
      if (!is_start(c, f->tables[k].targets[t])) {
        problem(c, "jump table %u: target %u, pc %u, is not the start of an instruction", k, t,
                f->tables[k].targets[t]);
      }
    }
  }
}

/* ---- functions ---------------------------------------------------------------------------------------*/
static void check_literals(struct checker *c) {
  const struct mx_func *f = c->f;
  if (f->nlits > MX_MAX_LITS) problem(c, "%u literals, the most is %u", f->nlits, MX_MAX_LITS);
  for (uint32_t k = 0; k < f->nlits; k++) {
    const struct mx_lit *l = &f->lits[k];
    switch (l->kind) {
    case MX_LIT_VALUE: break;
    case MX_LIT_VAR:
    case MX_LIT_GENERIC:
      if (l->index >= c->m->nvars)
        problem(c, "literal %u is the address of variable %u of %u", k, l->index, c->m->nvars);
      break;
    case MX_LIT_FUNC:
      if (!is_function_value(c, l->index)) {
        problem(c, "literal %u is the address of function %u, which is none or a kernel", k, l->index);
      } else if (l->value) {
        problem(c, "literal %u is an address inside a function", k);
      }
      break;
    default: problem(c, "literal %u is of kind %u", k, l->kind);
    }
  }
}

static void check_params(struct checker *c) {
  const struct mx_func *f = c->f;
  uint64_t end = 0;
  if (f->param_bytes > MX_MAX_PARAM_BYTES)
    problem(c, "%u bytes of parameters, the most is %u", f->param_bytes, MX_MAX_PARAM_BYTES);
  for (uint32_t k = 0; k < f->nparams; k++) {
    const struct mx_param *p = &f->params[k];
    if (!is_name(p->name)) problem(c, "parameter %u: its name is not an identifier", k);
    if (p->type == MX_T_pred || p->type >= MX_T_raw) {
      problem(c, "parameter %u: type %u", k, p->type);
      continue;
    }
    unsigned bytes = mx__types[p->type].bits / 8u;
    if (p->size % bytes || !p->size) problem(c, "parameter %u: %u bytes of .%s", k, p->size, mx__types[p->type].name);
    if (p->is_pointer && (p->size != bytes || bytes < 4)) problem(c, "parameter %u: a pointer of %u bytes", k, p->size);
    if (!is_power_of_two(p->align) || p->align > 256 || p->offset % p->align)
      problem(c, "parameter %u: alignment %u", k, p->align);
    if (p->offset < end || (uint64_t)p->offset + p->size > f->param_bytes) {
      problem(c, "parameter %u overlaps the one before or lies outside", k);
    }
    end = (uint64_t)p->offset + p->size;
  }
}

static void check_slot_refs(struct checker *c, const char *what, const struct mx_slot_ref *refs, uint32_t n) {
  if (n > 1023) {
    problem(c, "%u %ss", n, what);
    return;
  }
  for (uint32_t k = 0; k < n; k++) {
    if (!is_slot(c->f, refs[k].cls, refs[k].slot)) problem(c, "%s %u is no slot of the frame", what, k);
  }
}

static void check_protos(struct checker *c) {
  for (uint32_t k = 0; k < c->f->nprotos; k++) {
    const struct mx_proto *p = &c->f->protos[k];
    bool ok = p->narg && p->arg[0] == MX_R64;
    for (uint32_t x = 0; x < p->nres; x++) ok &= p->res[x] <= MX_R128;
    for (uint32_t x = 0; x < p->narg; x++) ok &= p->arg[x] <= MX_R128;
    if (!ok) problem(c, "prototype %u: its first argument is a 64-bit target, and all others are slots", k);
  }
}

static void check_debug(struct checker *c) {
  const struct mx_func *f = c->f;
  for (uint32_t k = 0; k < f->nnames; k++) {
    const struct mx_name *n = &f->names[k];
    bool ok = n->name && *n->name && n->type < MX_T_raw && mx__types[n->type].slot_class == n->cls;
    ok = ok && n->lo <= n->hi && n->hi <= f->ncode;
    if (ok && n->spilled) ok = n->cls == MX_R128 ? n->slot + 1 < f->nspill64 : n->slot < spill_cells_of(f, n->cls);
    else if (ok) ok = is_slot(f, n->cls, n->slot);
    if (!ok) problem(c, "entry %u of the name map (%.60s) is impossible", k, n->name ? n->name : "");
  }
  uint32_t at = 0;
  for (uint32_t k = 0; k < f->nlabels; k++) {
    if (!is_name(f->labels[k].name) || f->labels[k].pc > f->ncode || f->labels[k].pc < at)
      problem(c, "label %u is impossible", k);
    at = f->labels[k].pc;
  }
  for (uint32_t k = 0; k < f->nlocals; k++) {
    const struct mx_local *v = &f->locals[k];
    if (!is_name(v->name) || v->offset > f->local_bytes || v->size > f->local_bytes - v->offset)
      problem(c, ".local variable %u is impossible", k);
  }
  for (uint32_t k = 0; k < f->nlines; k++) {
    const struct mx_line *l = &f->lines[k];
    if (l->pc >= f->ncode || (k && l->pc <= f->lines[k - 1].pc)) problem(c, "line entry %u is out of order", k);
    if (l->file >= c->m->nfiles && l->line) problem(c, "line entry %u names file %u of %u", k, l->file, c->m->nfiles);
  }
}

/* Named twice, a variable would be laid out twice: no harm, as long as the sum stays small. */
static void check_shared(struct checker *c) {
  uint64_t total = 0;
  for (uint32_t k = 0; k < c->f->nshared; k++) {
    uint32_t number = c->f->shared[k];
    const struct mx_var *v = number < c->m->nvars ? &c->m->vars[number] : NULL;
    if (!v || v->space != MX_SHARED) problem(c, "shared variable %u is variable %u", k, number);
    else if (v->size > MAX_VARS_BYTES - total) problem(c, "more than 2^40 bytes of shared variables");
    else total += v->size;
  }
}

static void check_func(struct checker *c) {
  const struct mx_func *f = c->f;
  bool kernel = f->flags & MX_FUNC_KERNEL;
  if (!is_name(f->name)) problem(c, "its name is not an identifier");
  if (f->flags > 31) problem(c, "flags %#x", f->flags);
  uint64_t blocks = 1;
  for (int k = 0; k < 3; k++)
    blocks *= f->reqncta[k] > MX_MAX_CLUSTER ? MX_MAX_CLUSTER + 1 : f->reqncta[k] ? f->reqncta[k] : 1;
  if (blocks > MX_MAX_CLUSTER)
    problem(c, "a cluster of %u x %u x %u blocks", f->reqncta[0], f->reqncta[1], f->reqncta[2]);
  if (f->n32 > MX_MAX_SLOTS || f->n64 > MX_MAX_SLOTS || f->npred > MX_MAX_PREDS) {
    problem(c, "%u 32-bit slots, %u 64-bit slots, %u predicates: the most are %u, %u, %u", f->n32, f->n64, f->npred,
            MX_MAX_SLOTS, MX_MAX_SLOTS, MX_MAX_PREDS);
  }
  if (f->local_bytes > MAX_LOCAL_BYTES || f->local_bytes % 16) problem(c, "%u bytes of local memory", f->local_bytes);
  if (f->arg_bytes > f->local_bytes)
    problem(c, "%u argument bytes in %u of local memory", f->arg_bytes, f->local_bytes);
  if (kernel && (f->nargs || f->nresults || f->arg_bytes)) problem(c, "a kernel with arguments or results in slots");
  if (!kernel && (f->nparams || f->param_bytes || f->nshared))
    problem(c, "parameters or shared variables without being a kernel");
  check_params(c);
  check_slot_refs(c, "argument", f->args, f->nargs);
  check_slot_refs(c, "result", f->results, f->nresults);
  check_literals(c);
  check_protos(c);
  check_shared(c);
  check_code(c);
  c->pc = NO_PC;
  if (!c->oom) check_debug(c);
}

enum mx__load mx__verify(const struct mx_image *image, char **why) {
  struct checker c = {.m = image, .pc = NO_PC};
  if (why) *why = NULL;
  bool wide = image->lanes == 64;
  if ((image->lanes != 32 && !wide) || wide == (image->sm != 0)) {
    problem(&c, "%u lanes in a module for %s%.0u", image->lanes, image->sm ? "sm_" : "mx64", image->sm);
  }
  if (image->address_size != 64 && image->address_size != 32) problem(&c, "addresses of %u bits", image->address_size);
  for (uint32_t k = 0; k < image->nfiles; k++) {
    if (!image->files[k]) problem(&c, "file %u has no name", k);
  }
  check_vars(&c);
  check_function_names(&c);
  for (uint32_t k = 0; k < image->nfuncs && !c.oom; k++) {
    c.f = &image->funcs[k];
    c.number = k;
    c.pc = NO_PC;
    check_func(&c);
  }
  c.f = NULL;
  if (c.problems > MAX_PROBLEMS) add(&c, "\nand %u more", c.problems - MAX_PROBLEMS);
  free(c.starts);
  if (c.problems && why && !c.oom) *why = c.text;
  else free(c.text);
  return c.oom ? MX__LOAD_OOM : c.problems ? MX__LOAD_REFUSED : MX__LOAD_OK;
}

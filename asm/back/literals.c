/* Constants: moves of them become MOVI, and those for which the function's pool has no room are made by instructions.
 * Separate because it rewrites the program before slots are given out; must not know words. */
#include "back.h"

#include <stdlib.h>

/* Distinct literals of the function, found by hashing. */
struct entry {
  struct mx_lit lit;
  uint32_t uses, first;
  bool keep_first, pooled;
};
struct table {
  struct entry *list;
  uint32_t n, capacity;
  uint32_t *hash;
  uint32_t nhash;
};

static uint32_t hash_of(struct mx_lit lit) {
  uint64_t h = (lit.value ^ (uint64_t)lit.index << 40 ^ (uint64_t)lit.kind << 61) * 0x9E3779B97F4A7C15u;
  return (uint32_t)(h >> 32);
}

static bool same(struct mx_lit a, struct mx_lit b) {
  return a.kind == b.kind && a.value == b.value && (a.kind == MX_LIT_VALUE || a.index == b.index);
}

static uint32_t find(const struct table *t, struct mx_lit lit) {
  uint32_t h = hash_of(lit) & (t->nhash - 1);
  while (t->hash[h] && !same(t->list[t->hash[h] - 1].lit, lit)) h = (h + 1) & (t->nhash - 1);
  return h;
}

static struct entry *intern(struct mx_arena *arena, struct table *t, struct mx_lit lit) {
  if (t->n == t->capacity) {
    uint32_t capacity = t->capacity ? t->capacity * 2 : 128;
    t->list = mx__arena_grow(arena, t->list, t->n * sizeof *t->list, capacity * sizeof *t->list);
    t->capacity = capacity;
    t->nhash = capacity * 2;
    t->hash = mx__arena_alloc(arena, t->nhash * sizeof *t->hash);
    for (uint32_t i = 0; i < t->n; i++) t->hash[find(t, t->list[i].lit)] = i + 1;
  }
  uint32_t h = find(t, lit);
  if (!t->hash[h]) t->list[t->n] = (struct entry){.lit = lit, .first = t->n}, t->hash[h] = ++t->n;
  return &t->list[t->hash[h] - 1];
}

/* The type as which operand k is read. */
static uint8_t operand_type(const struct back_body *b, const struct ir_insn *in, uint32_t k) {
  const struct mx_op_info *o = &mx__ops[in->op];
  if (!(o->flags & MX_F_CALL)) return k < o->nopnds ? o->opnd[k].type : MX_T_none;
  uint32_t arg = k - in->nres;
  if (in->op == MX_CALL) {
    const struct ir_func *callee = &b->module->funcs[in->callee];
    return arg < callee->nargs ? callee->regs[callee->args[arg]].type : MX_T_b64;
  }
  static const uint8_t of_class[] = {MX_T_pred, MX_T_b32, MX_T_b64, MX_T_b128};
  const struct mx_proto *p = &b->func->protos[in->callee];
  return arg < p->narg && p->arg[arg] < MX_NOCLASS ? of_class[p->arg[arg]] : MX_T_b64;
}

static bool fits_movi_64(uint64_t v) { return v == (uint64_t)(int64_t)(int32_t)(uint32_t)v; }

static void moves_to_movi(struct ir_insn *in) {
  struct ir_opnd *o = &in->opnds[1];
  bool narrow = in->op == MX_MOV_16 || in->op == MX_MOV_32;
  if ((!narrow && in->op != MX_MOV_64) || o->kind != IR_LIT || o->lit.kind != MX_LIT_VALUE) return;
  if (narrow) {
    in->op = MX_MOVI_32;
  } else if (fits_movi_64(o->lit.value)) {
    in->op = MX_MOVI_64;
  }
}

/* A literal has the bits of its type and no others, so that equal ones are found equal. */
static void trim(const struct back_body *b, struct ir_insn *in) {
  for (uint32_t k = 0; k < in->nopnds; k++) {
    struct ir_opnd *o = &in->opnds[k];
    if (o->kind != IR_LIT || o->lit.kind != MX_LIT_VALUE) continue;
    o->lit.index = 0;
    uint8_t bits = mx__types[operand_type(b, in, k)].bits;
    if (bits && bits < 64) o->lit.value &= (UINT64_C(1) << bits) - 1;
  }
}

static bool in_pool(const struct ir_insn *in, uint32_t k) {
  return in->opnds[k].kind == IR_LIT && !(mx__ops[in->op].flags & MX_F_MOVI);
}

/* Most wanted in the pool first: what instructions cannot make, then what is used most. */
static int by_need(const void *x, const void *y) {
  const struct entry *a = *(struct entry *const *)x, *b = *(struct entry *const *)y;
  if (a->keep_first != b->keep_first) return a->keep_first ? -1 : 1;
  if (a->uses != b->uses) return a->uses > b->uses ? -1 : 1;
  return a->first < b->first ? -1 : 1;
}

static bool choose(struct back_body *b, struct table *t) {
  struct entry **order = mx__arena_alloc(b->arena, t->n * sizeof *order);
  uint32_t needed = 0;
  for (uint32_t i = 0; i < t->n; i++) order[i] = &t->list[i], needed += t->list[i].keep_first;
  if (needed > MX_MAX_LITS) {
    mx__diag(b->diags, MX_DIAG_ERROR, "too-many-literals", b->func->loc,
             "keep some addresses in registers or in memory",
             "%s uses %u different addresses of variables and functions, at most %u fit", b->func->name, needed,
             MX_MAX_LITS);
    return false;
  }
  qsort(order, t->n, sizeof *order, by_need);
  for (uint32_t i = 0; i < t->n && i < MX_MAX_LITS; i++) order[i]->pooled = true;
  return true;
}

static uint32_t temporary(struct back_body *b, uint8_t type) {
  return mx__body_add_reg(
      b, (struct back_reg){.type = type, .width = 1, .file = mx__type_file(type), .one_write = true, .fixed = -1});
}

/* A register that holds the value, made just here. */
static uint32_t make(struct back_body *b, struct back_rewrite *w, struct ir_loc loc, uint64_t value, bool wide) {
  uint32_t d = temporary(b, wide ? MX_T_b64 : MX_T_b32);
  if (!wide || fits_movi_64(value)) {
    struct ir_opnd o[] = {mx__opnd_reg(d), mx__opnd_value(value)};
    mx__rewrite_emit(b, w, mx__insn_make(b, wide ? MX_MOVI_64 : MX_MOVI_32, loc, o, 2));
    return d;
  }
  uint32_t lo = make(b, w, loc, value & UINT32_MAX, false), hi = make(b, w, loc, value >> 32, false);
  struct ir_opnd o[] = {mx__opnd_reg(d), mx__opnd_reg(lo), mx__opnd_reg(hi)};
  mx__rewrite_emit(b, w, mx__insn_make(b, MX_PACK_64, loc, o, 3));
  return d;
}

/* Replaces the literals of an instruction that the pool does not hold. An offset cannot be a register: it is added to
 * the address, which is the operand before it. */
static void make_missing(struct back_body *b, struct back_rewrite *w, const struct table *t, struct ir_insn *in) {
  for (uint32_t k = 0; k < in->nopnds; k++) {
    struct ir_opnd *o = &in->opnds[k];
    if (!in_pool(in, k) || t->list[t->hash[find(t, o->lit)] - 1].pooled) continue;
    uint8_t type = operand_type(b, in, k);
    if (type != MX_T_off) {
      *o = mx__opnd_reg(make(b, w, in->loc, o->lit.value, mx__types[type].slot_class == MX_R64));
      continue;
    }
    bool wide = mx__types[operand_type(b, in, k - 1)].slot_class == MX_R64;
    uint32_t sum = temporary(b, wide ? MX_T_b64 : MX_T_b32);
    struct ir_opnd add[] = {mx__opnd_reg(sum), in->opnds[k - 1], mx__opnd_reg(make(b, w, in->loc, o->lit.value, wide))};
    mx__rewrite_emit(b, w, mx__insn_make(b, wide ? MX_ADD_U64 : MX_ADD_U32, in->loc, add, 3));
    in->opnds[k - 1] = mx__opnd_reg(sum);
    *o = mx__opnd_value(0);
  }
}

bool mx__literals(struct back_body *b) {
  struct table t = {0};

  for (uint32_t i = 0; i < b->ninsns; i++) {
    struct ir_insn *in = &b->insns[i];
    trim(b, in);
    if (!b->func->physical) moves_to_movi(in);
    for (uint32_t k = 0; k < in->nopnds; k++) {
      if (!in_pool(in, k)) continue;
      struct entry *e = intern(b->arena, &t, in->opnds[k].lit);
      e->uses++;
      uint8_t class = mx__types[operand_type(b, in, k)].slot_class;
      if (e->lit.kind != MX_LIT_VALUE || class == MX_R128 || class == MX_PRED) e->keep_first = true;
    }
  }
  if (t.n <= MX_MAX_LITS) return true;
  if (b->func->physical) {
    mx__diag(b->diags, MX_DIAG_ERROR, "too-many-literals", b->func->loc, NULL,
             "%s has .slots and uses %u different literals, at most %u fit", b->func->name, t.n, MX_MAX_LITS);
    return false;
  }
  intern(b->arena, &t, mx__opnd_value(0).lit)->keep_first = true;
  if (!choose(b, &t)) return false;
  struct back_rewrite w = mx__rewrite_begin(b);
  for (uint32_t i = 0; i < b->ninsns; i++) {
    w.place[i] = w.n;
    struct ir_insn in = b->insns[i];
    make_missing(b, &w, &t, &in);
    mx__rewrite_emit(b, &w, in);
  }
  mx__rewrite_finish(b, &w);
  return true;
}

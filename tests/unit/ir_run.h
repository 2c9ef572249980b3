/* For tests of the assembler's back: one lane of a function run on virtual registers, and from the words of its image.
 */
#ifndef MX_TEST_IR_RUN_H
#define MX_TEST_IR_RUN_H
#include "ir_build.h"

/* ---- two simple machines, one lane each ---------------------------------------------------------------- */

struct val {
  uint64_t lo, hi;
};

static struct val trimmed(struct val v, uint8_t type) {
  uint8_t bits = mx__types[type].bits;
  if (bits < 64) v.lo &= (UINT64_C(1) << bits) - 1;
  if (bits < 128) v.hi = 0;
  return v;
}

/* What an instruction does here: rows that the back itself rewrites or inserts do what they say, all others mix their
 * inputs into their outputs, and those without outputs leave a trace. */
struct trace {
  uint64_t *list;
  uint32_t n, capacity;
};
static void leave(struct trace *t, uint64_t h) {
  if (t->n == t->capacity) {
    t->capacity = t->capacity ? t->capacity * 2 : 256;
    t->list = realloc(t->list, t->capacity * sizeof *t->list);
  }
  t->list[t->n++] = h;
}

static void evaluate(uint16_t op, uint8_t mod, uint32_t nopnds, const uint8_t *types, const bool *outs, struct val *v,
                     struct trace *t) {
  for (uint32_t k = 0; k < nopnds; k++) {
    if (!outs[k] && types[k] != MX_T_off) v[k] = trimmed(v[k], types[k]);
    if (types[k] == MX_T_off) v[k - 1].lo += v[k].lo, v[k].lo = 0, v[k - 1] = trimmed(v[k - 1], types[k - 1]);
  }
  switch (op) {
  case MX_MOV_16:
  case MX_MOV_32:
  case MX_MOV_64: v[0] = trimmed(v[1], types[0]); return;
  case MX_ADD_U32:
  case MX_ADD_U64: v[0].lo = v[1].lo + v[2].lo, v[0] = trimmed(v[0], types[0]); return;
  case MX_PACK_64: v[0] = (struct val){v[1].lo | v[2].lo << 32, 0}; return;
  default: break;
  }
  uint64_t h = mix(op, mod);
  bool any_out = false;
  for (uint32_t k = 0; k < nopnds; k++)
    if (!outs[k]) h = mix(mix(h, v[k].lo), v[k].hi);
  for (uint32_t k = 0; k < nopnds; k++)
    if (outs[k]) any_out = true, v[k] = trimmed((struct val){mix(h, k), mix(h, k + 100)}, types[k]);
  if (!any_out) leave(t, h);
}

enum { MOST_OPERANDS = 600 };

/* On virtual registers. */
static bool run_virtual(const struct build *b, uint32_t steps, const struct val *args, struct trace *t) {
  const struct ir_func *f = &b->f[0];
  struct val *regs = calloc(f->nregs + 1, sizeof *regs), v[MOST_OPERANDS];
  uint8_t types[MOST_OPERANDS];
  bool outs[MOST_OPERANDS], ended = false;
  for (uint32_t i = 0; i < f->nargs; i++) regs[f->args[i]] = trimmed(args[i], f->regs[f->args[i]].type);
  for (uint32_t pc = 0; steps; steps--) {
    if (pc >= f->ninsns || f->insns[pc].op == MX_RET) {
      for (uint32_t i = 0; i < f->nresults; i++) leave(t, mix(regs[f->results[i]].lo, regs[f->results[i]].hi));
      ended = true;
      break;
    }
    const struct ir_insn *in = &f->insns[pc++];
    if (in->guard != IR_NONE && (regs[in->guard].lo & 1) == in->guard_neg) continue;
    if (in->op == MX_EXIT) {
      ended = true;
      break;
    }
    if (in->op == MX_BRA) {
      pc = f->labels[in->target].insn;
      continue;
    }
    for (uint32_t k = 0; k < in->nopnds; k++) {
      const struct ir_opnd *o = &in->opnds[k];
      v[k] = o->kind == IR_REG   ? regs[o->reg]
             : o->kind == IR_LIT ? (struct val){o->lit.value, 0}
                                 : (struct val){o->raw, 0};
      outs[k] = in->op == MX_CALL ? k < in->nres : mx__ops[in->op].opnd[k].role == MX_OUT;
      if (in->op != MX_CALL) types[k] = mx__ops[in->op].opnd[k].type;
      else types[k] = b->f[1].regs[k < in->nres ? b->f[1].results[k] : b->f[1].args[k - in->nres]].type;
    }
    if (in->op == MX_BRX) {
      pc = f->labels[f->tables[in->table].labels[(uint32_t)v[0].lo % f->tables[in->table].nlabels]].insn;
      continue;
    }
    evaluate(in->op, in->mod, in->nopnds, types, outs, v, t);
    for (uint32_t k = 0; k < in->nopnds; k++)
      if (outs[k]) regs[in->opnds[k].reg] = v[k];
  }
  free(regs);
  return ended;
}

/* On slots and cells, from the words. */
struct frame {
  uint64_t r32[MX_MAX_SLOTS], r64[MX_MAX_SLOTS], pred[MX_MAX_PREDS], *cells[3];
};

static struct val get_slot(const struct frame *s, const struct mx_func *f, uint8_t class, uint32_t field) {
  switch (class) {
  case MX_PRED: assert_in_range(field, 0, f->npred - 1); return (struct val){s->pred[field], 0};
  case MX_R32: assert_in_range(field, 0, f->n32 - 1); return (struct val){s->r32[field], 0};
  case MX_R64: assert_in_range(field, 0, f->n64 - 1); return (struct val){s->r64[field], 0};
  default: assert_true(field % 2 == 0 && field + 1 < f->n64); return (struct val){s->r64[field], s->r64[field + 1]};
  }
}

static void set_slot(struct frame *s, const struct mx_func *f, uint8_t class, uint32_t field, struct val v) {
  (void)get_slot(s, f, class, field);
  switch (class) {
  case MX_PRED: s->pred[field] = v.lo; break;
  case MX_R32: s->r32[field] = v.lo; break;
  case MX_R64: s->r64[field] = v.lo; break;
  default: s->r64[field] = v.lo, s->r64[field + 1] = v.hi;
  }
}

static bool run_words(const struct build *b, const struct mx_func *f, uint32_t steps, const struct val *args,
                      struct trace *t) {
  struct frame *s = calloc(1, sizeof *s);
  uint32_t ncells[3] = {f->nspillpred, f->nspill32, f->nspill64};
  struct val v[MOST_OPERANDS];
  uint8_t types[MOST_OPERANDS];
  bool outs[MOST_OPERANDS], ended = false;
  for (int c = 0; c < 3; c++) s->cells[c] = calloc(ncells[c] + 1u, sizeof *s->cells[c]);
  for (uint32_t i = 0; i < f->nargs; i++)
    set_slot(s, f, f->args[i].cls, f->args[i].slot, trimmed(args[i], b->f[0].regs[b->f[0].args[i]].type));
  for (uint32_t pc = 0; steps; steps--) {
    assert_in_range(pc, 0, f->ncode - 1);
    const mx_word *w = &f->code[pc];
    unsigned op = mx_w_op(*w), guard = mx_w_guard(*w);
    pc += mx_w_length(*w);
    bool off = guard != MX_GUARD_NONE && (get_slot(s, f, MX_PRED, guard).lo & 1) == mx_w_guard_neg(*w);
    if (off) continue;
    if (op == MX_RET) {
      for (uint32_t i = 0; i < f->nresults; i++) {
        struct val x = get_slot(s, f, f->results[i].cls, f->results[i].slot);
        leave(t, mix(x.lo, x.hi));
      }
      ended = true;
      break;
    }
    if (op == MX_EXIT) {
      ended = true;
      break;
    }
    if (op == MX_BRA) {
      pc = mx_w_target(*w);
      continue;
    }
    if (op == MX_MOVI_32 || op == MX_MOVI_64) {
      uint64_t x = op == MX_MOVI_64 ? (uint64_t)(int64_t)(int32_t)mx_w_movi(*w) : mx_w_movi(*w);
      set_slot(s, f, op == MX_MOVI_64 ? MX_R64 : MX_R32, mx_w_field(*w, 0), (struct val){x, 0});
      continue;
    }
    if (mx__insn_is_spill((uint16_t)op) || mx__insn_is_fill((uint16_t)op)) {
      bool fill = mx__insn_is_fill((uint16_t)op);
      uint8_t class = mx__types[mx__ops[op].opnd[fill ? 0 : 2].type].slot_class;
      uint32_t cell = mx_w_field(*w, fill) | mx_w_field(*w, fill + 1u) << 10, slot = mx_w_field(*w, fill ? 0 : 2);
      uint64_t *at = &s->cells[class == MX_PRED ? 0 : class == MX_R32 ? 1 : 2][cell];
      assert_true(cell < ncells[class == MX_PRED ? 0 : class == MX_R32 ? 1 : 2]);
      if (fill) set_slot(s, f, class, slot, (struct val){*at, 0});
      else *at = get_slot(s, f, class, slot).lo;
      continue;
    }
    uint32_t n = op == MX_CALL ? mx_w_nres(*w) + mx_w_narg(*w) : mx__ops[op].nopnds, first = op == MX_CALL ? 4 : 0;
    for (uint32_t k = 0; k < n; k++) {
      unsigned field = mx_w_operand(w, k + first);
      outs[k] = op == MX_CALL ? k < mx_w_nres(*w) : mx__ops[op].opnd[k].role == MX_OUT;
      if (op != MX_CALL) types[k] = mx__ops[op].opnd[k].type;
      else types[k] = b->f[1].regs[k < mx_w_nres(*w) ? b->f[1].results[k] : b->f[1].args[k - mx_w_nres(*w)]].type;
      uint8_t class = mx__types[types[k]].slot_class;
      if (class == MX_NOCLASS && types[k] != MX_T_off) v[k] = (struct val){field, 0};
      else if (field >= MX_LIT)
        assert_in_range(field - MX_LIT, 0, f->nlits - 1), v[k] = (struct val){f->lits[field - MX_LIT].value, 0};
      else v[k] = get_slot(s, f, class, field);
      assert_false(outs[k] && field >= MX_LIT);
    }
    if (op == MX_BRX) {
      const struct mx_table *table = &f->tables[v[1].lo];
      pc = table->targets[(uint32_t)v[0].lo % table->ntargets];
      continue;
    }
    evaluate((uint16_t)op, (uint8_t)mx_w_mod(*w), n, types, outs, v, t);
    for (uint32_t k = 0; k < n; k++)
      if (outs[k]) set_slot(s, f, mx__types[types[k]].slot_class, mx_w_operand(w, k + first), v[k]);
  }
  for (int c = 0; c < 3; c++) free(s->cells[c]);
  free(s);
  return ended;
}

/* Same inputs, same traces. */
static void compare_runs(const struct build *b) {
  for (int lane = 0; lane < 3; lane++) {
    struct val args[64];
    for (uint32_t i = 0; i < 64; i++)
      args[i] = (struct val){mix(i, random_state + (uint64_t)lane), mix(i, random_state + 7)};
    struct trace want = {0}, got = {0};
    bool ended = run_virtual(b, 3000, args, &want);
    bool ended_too = run_words(b, &image.funcs[0], 60000, args, &got);
    assert_true(!ended || ended_too);
    assert_true(ended ? got.n == want.n : got.n >= want.n);
    for (uint32_t i = 0; i < want.n; i++) assert_true(got.list[i] == want.list[i]);
    free(want.list), free(got.list);
  }
}
#endif

/* What every file of the back asks about an instruction or a register, such as which operands it writes.
 * Separate so that liveness, allocation and encoding give the same answers; must not know what they do with them. */
#include "back.h"

#include <string.h>

bool mx__insn_ends(const struct ir_insn *in) {
  if (in->guard != IR_NONE) return false;
  return in->op == MX_BRA || mx__ops[in->op].flags & MX_F_END;
}

bool mx__insn_is_spill(uint16_t op) { return mx__effect(op) == MX_DOES_SPILL; }
bool mx__insn_is_fill(uint16_t op) { return mx__effect(op) == MX_DOES_FILL; }

bool mx__insn_writes(const struct ir_insn *in, uint32_t k) {
  if (mx__ops[in->op].flags & MX_F_CALL) return k < in->nres;
  if (mx__insn_is_spill(in->op)) return k == 0; /* the cell */
  return k < mx__ops[in->op].nopnds && mx__ops[in->op].opnd[k].role == MX_OUT;
}

uint32_t mx__body_add_reg(struct back_body *b, struct back_reg reg) {
  if (b->nregs == b->regs_capacity) {
    uint32_t capacity = b->regs_capacity ? b->regs_capacity * 2 : 64;
    b->regs = mx__arena_grow(b->arena, b->regs, b->regs_capacity * sizeof *b->regs, capacity * sizeof *b->regs);
    b->regs_capacity = capacity;
  }
  b->regs[b->nregs] = reg;
  return b->nregs++;
}

uint8_t mx__type_file(uint8_t type) {
  switch (mx__types[type].slot_class) {
  case MX_PRED: return BACK_PRED;
  case MX_R32: return BACK_R32;
  default: return BACK_R64;
  }
}

uint8_t mx__type_width(uint8_t type) { return mx__types[type].slot_class == MX_R128 ? 2 : 1; }

struct back_rewrite mx__rewrite_begin(struct back_body *b) {
  struct back_rewrite w = {.capacity = b->ninsns + b->ninsns / 2 + 16};
  w.insns = mx__arena_alloc(b->arena, w.capacity * sizeof *w.insns);
  w.place = mx__arena_alloc(b->arena, ((size_t)b->ninsns + 1) * sizeof *w.place);
  return w;
}

void mx__rewrite_emit(struct back_body *b, struct back_rewrite *w, struct ir_insn in) {
  if (w->n == w->capacity) {
    w->insns = mx__arena_grow(b->arena, w->insns, w->n * sizeof *w->insns, 2 * (size_t)w->n * sizeof *w->insns);
    w->capacity *= 2;
  }
  w->insns[w->n++] = in;
}

void mx__rewrite_finish(struct back_body *b, struct back_rewrite *w) {
  w->place[b->ninsns] = w->n;
  for (uint32_t i = 0; i < b->nlabels; i++) b->labels[i] = w->place[b->labels[i]];
  b->insns = w->insns, b->ninsns = w->n;
}

struct ir_insn mx__insn_make(struct back_body *b, uint16_t op, struct ir_loc loc, const struct ir_opnd *opnds,
                             uint32_t n) {
  struct ir_insn in = {.op = op, .guard = IR_NONE, .target = IR_NONE, .reconv = IR_NONE, .nopnds = n, .loc = loc};
  in.opnds = mx__arena_alloc(b->arena, n * sizeof *opnds);
  memcpy(in.opnds, opnds, n * sizeof *opnds);
  return in;
}

struct ir_opnd mx__opnd_reg(uint32_t reg) {
  return (struct ir_opnd){.kind = IR_REG, .reg = reg};
}
struct ir_opnd mx__opnd_value(uint64_t value) {
  return (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VALUE, .value = value}};
}

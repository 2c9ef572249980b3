/* Registers that move to cells: every instruction that names one gets a temporary instead, filled before and spilled
 * after. Separate because it rewrites the program between two rounds of allocation; must not know who moves or why. */
#include "back.h"

struct spiller {
  struct back_body *b;
  const bool *moves; /* by register, of those that were there before */
  uint32_t nmoves;
  struct back_rewrite w;
  uint32_t *temp, *stamp; /* by register: its temporary in the instruction numbered stamp */
  uint8_t *access;        /* what that instruction does to it */
};
enum { READ = 1, WRITE = 2 };

static bool moves(const struct spiller *s, uint32_t reg) { return reg < s->nmoves && s->moves[reg]; }

static uint32_t temporary_like(struct back_body *b, uint32_t reg) {
  struct back_reg t = b->regs[reg];
  t.name = NULL, t.temporary = true, t.one_write = false, t.file = mx__type_file(t.type);
  return mx__body_add_reg(b, t);
}

/* Fills or spills: a pair goes half by half, the low one first. */
static void transfer(struct spiller *s, struct ir_loc loc, uint32_t temp, uint32_t cell, bool fill) {
  static const uint16_t fills[] = {MX_FILL_PRED, MX_FILL_32, MX_FILL_64};
  static const uint16_t spills[] = {MX_SPILL_PRED, MX_SPILL_32, MX_SPILL_64};
  const struct back_reg *t = &s->b->regs[temp];
  for (uint32_t half = 0; half < t->width; half++) {
    struct ir_opnd v = mx__opnd_reg(temp), c = mx__opnd_reg(cell), high = {.kind = IR_RAW};
    v.raw = c.raw = half;
    struct ir_opnd fill_opnds[] = {v, c, high}, spill_opnds[] = {c, high, v};
    uint16_t op = fill ? fills[t->file] : spills[t->file];
    mx__rewrite_emit(s->b, &s->w, mx__insn_make(s->b, op, loc, fill ? fill_opnds : spill_opnds, 3));
  }
}

static void note_access(struct spiller *s, uint32_t reg, uint32_t insn, uint8_t access) {
  if (!moves(s, reg)) return;
  if (s->stamp[reg] != insn + 1) s->stamp[reg] = insn + 1, s->access[reg] = 0, s->temp[reg] = temporary_like(s->b, reg);
  s->access[reg] |= access;
}

static void rewrite_insn(struct spiller *s, uint32_t i) {
  struct ir_insn in = s->b->insns[i];
  if (in.guard != IR_NONE) note_access(s, in.guard, i, READ);
  for (uint32_t k = 0; k < in.nopnds; k++) {
    /* Under a guard, lanes where it does not hold keep what they have: it must come out of the cell to go back. */
    uint8_t written = in.guard == IR_NONE ? WRITE : READ | WRITE;
    if (in.opnds[k].kind == IR_REG) note_access(s, in.opnds[k].reg, i, mx__insn_writes(&in, k) ? written : READ);
  }
  /* A second look at each, in the same order: filled once, replaced everywhere. */
  uint32_t nfilled = 0, nspilled = 0, guard = in.guard;
  uint32_t *list = mx__arena_alloc(s->b->arena, 2 * ((size_t)in.nopnds + 1) * sizeof *list);
  uint32_t *back = list + in.nopnds + 1;
  if (guard != IR_NONE && moves(s, guard)) {
    list[nfilled++] = guard, s->access[guard] &= (uint8_t)~READ, in.guard = s->temp[guard];
  }
  for (uint32_t k = 0; k < in.nopnds; k++) {
    uint32_t reg = in.opnds[k].reg;
    if (in.opnds[k].kind != IR_REG || !moves(s, reg)) continue;
    if (s->access[reg] & READ) list[nfilled++] = reg;
    if (s->access[reg] & WRITE) back[nspilled++] = reg;
    s->access[reg] = 0;
    in.opnds[k].reg = s->temp[reg];
  }
  for (uint32_t k = 0; k < nfilled; k++) transfer(s, in.loc, s->temp[list[k]], list[k], true);
  mx__rewrite_emit(s->b, &s->w, in);
  for (uint32_t k = 0; k < nspilled; k++) transfer(s, in.loc, s->temp[back[k]], back[k], false);
}

/* Arguments come, and results leave, in slots. Registers that move are replaced there by temporaries. */
static void replace_list(struct spiller *s, uint32_t *list, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t reg = list[i];
    if (!moves(s, reg)) continue;
    if (s->stamp[reg] != UINT32_MAX) s->stamp[reg] = UINT32_MAX, s->temp[reg] = temporary_like(s->b, reg);
    list[i] = s->temp[reg];
  }
}

void mx__spill(struct back_body *b, const bool *spilled) {
  struct spiller s = {.b = b, .moves = spilled, .nmoves = b->nregs};
  size_t n = (size_t)b->nregs + 1;
  s.temp = mx__arena_alloc(b->arena, n * sizeof *s.temp), s.stamp = mx__arena_alloc(b->arena, n * sizeof *s.stamp);
  s.access = mx__arena_alloc(b->arena, n);
  const struct ir_func *f = b->func;
  uint32_t *results = mx__arena_alloc(b->arena, ((size_t)f->nresults + 1) * sizeof *results);
  uint32_t *args = mx__arena_alloc(b->arena, ((size_t)f->nargs + 1) * sizeof *args);
  for (uint32_t i = 0; i < f->nargs; i++) args[i] = b->args[i];
  for (uint32_t i = 0; i < f->nresults; i++) results[i] = b->results[i];
  for (uint32_t r = 0; r < s.nmoves; r++)
    if (spilled[r]) b->regs[r].file = (uint8_t)(b->regs[r].file + BACK_CELLS);

  s.w = mx__rewrite_begin(b);
  replace_list(&s, b->args, f->nargs);
  for (uint32_t i = 0; i < f->nargs; i++)
    if (moves(&s, args[i])) transfer(&s, f->loc, b->args[i], args[i], false);
  for (uint32_t r = 0; r < s.nmoves; r++)
    s.stamp[r] = 0; /* a result that was an argument gets a temporary of its own */
  replace_list(&s, b->results, f->nresults);
  for (uint32_t i = 0; i < b->ninsns; i++) {
    s.w.place[i] = s.w.n;
    if (b->insns[i].op == MX_RET)
      for (uint32_t k = 0; k < f->nresults; k++)
        if (moves(&s, results[k])) transfer(&s, b->insns[i].loc, b->results[k], results[k], true);
    rewrite_insn(&s, i);
  }
  mx__rewrite_finish(b, &s.w);
}

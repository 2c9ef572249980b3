/* Guesses from code where names begin and end. In core/ because the container's writer and its reader must
 * guess alike and may not include each other; it must not know the format. */
#include "core/container.h"

#include <string.h>

struct walk {
  struct mx__result *out;
  size_t n;
  /* number + 1 of the result that a slot holds, by class; 0: none */
  uint32_t open[3][MX_MAX_SLOTS];
};

static uint32_t *open_at(struct walk *w, unsigned cls, unsigned slot) {
  return &w->open[cls == MX_R128 ? MX_R64 : cls][slot];
}

static void touch(struct walk *w, unsigned cls, unsigned field, uint32_t end) {
  if (field >= MX_LIT || cls > MX_R128) return;
  uint32_t number = *open_at(w, cls, field);
  if (number && w->out[number - 1].hi < end) w->out[number - 1].hi = end;
}

/* Whatever was read since the loop's begin is alive until its end. */
static void close_loop(struct walk *w, uint32_t begin, uint32_t end) {
  for (unsigned c = 0; c < 3; c++) {
    for (unsigned s = 0; s < MX_MAX_SLOTS; s++) {
      uint32_t number = w->open[c][s];
      if (number && w->out[number - 1].lo <= begin && w->out[number - 1].hi > begin) w->out[number - 1].hi = end;
    }
  }
}

static bool comes_before(const struct mx__result *a, const struct mx__result *b) {
  return a->cls != b->cls ? a->cls < b->cls : a->slot < b->slot;
}

static void add_result(struct walk *w, size_t first, struct mx__result r) {
  size_t at = w->n++;
  if (!w->out) return;
  for (; at > first && comes_before(&r, &w->out[at - 1]); at--) w->out[at] = w->out[at - 1];
  w->out[at] = r;
}

static void step(struct walk *w, const mx_word *word, uint32_t end, uint32_t next_end) {
  const struct mx_op_info *o = &mx__ops[mx_w_op(*word)];
  bool guarded = mx_w_guard(*word) != MX_GUARD_NONE;
  if (guarded && w->out) touch(w, MX_PRED, mx_w_guard(*word), end);
  size_t first = w->n;
  for (unsigned k = 0; k < o->nopnds && w->out; k++) {
    /* a result under a guard keeps the old value in some lanes, as if it were read */
    if (o->opnd[k].role == MX_IN || guarded)
      touch(w, mx__types[o->opnd[k].type].slot_class, mx_w_operand(word, k), end);
  }
  for (unsigned k = 0; k < o->nopnds; k++) {
    unsigned cls = mx__types[o->opnd[k].type].slot_class, slot = mx_w_operand(word, k);
    if (o->opnd[k].role != MX_OUT || slot >= MX_LIT || cls > MX_R128) continue;
    add_result(w, first, (struct mx__result){end, next_end, (uint8_t)cls, (uint16_t)slot});
  }
  for (size_t k = first; k < w->n && w->out; k++) *open_at(w, w->out[k].cls, w->out[k].slot) = (uint32_t)k + 1;
}

static uint32_t length_at(const struct mx_func *f, uint32_t pc) {
  if (pc >= f->ncode) return 0;
  if (mx_w_op(f->code[pc]) >= MX_OP_COUNT) return 1;
  unsigned n = mx_w_length(f->code[pc]);
  return n < f->ncode - pc ? n : f->ncode - pc;
}

size_t mx__results(const struct mx_func *f, struct mx__result *out) {
  struct walk w = {.out = out};
  for (uint32_t pc = 0, n; pc < f->ncode; pc += n) {
    n = length_at(f, pc);
    const mx_word *word = &f->code[pc];
    if (mx_w_op(*word) >= MX_OP_COUNT || mx_w_length(*word) != n) continue;
    uint32_t flags = mx__ops[mx_w_op(*word)].flags;
    if (flags & MX_F_CALL) continue;
    step(&w, word, pc + n, pc + n + length_at(f, pc + n));
    if (out && flags & MX_F_BRANCH && mx_w_target(*word) <= pc) close_loop(&w, mx_w_target(*word), pc + n);
  }
  return w.n;
}

/* Which instructions may have written a register's value. For reports and for commands of sessions, not for execution.
 */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

bool mx__writes_ref(const struct mx_pfunc *fn, uint32_t lanes, const struct mx_insn *i, mx_ref ref) {
  const struct mx_op_info *o = &mx__ops[i->op];
  uint32_t cell = (uint32_t)i->o[0] | (uint32_t)i->o[1] << 10;
  if (mx__effect(i->op) == MX_DOES_SPILL) switch (mx__types[o->opnd[2].type].slot_class) {
    case MX_PRED: return ref == (mx_ref)(fn->off_spred + cell * 8);
    case MX_R32: return ref == (mx_ref)(fn->off_s32 + cell * lanes * 4);
    default: return ref == (mx_ref)(fn->off_s64 + cell * lanes * 8);
    }
  if (o->flags & (MX_F_CALL | MX_F_BRANCH)) return false; /* a call's results are written by the return */
  for (unsigned k = 0; k < o->nopnds; k++)
    if (o->opnd[k].role == MX_OUT && mx__operand_ref(i, k) == ref) return true;
  return false;
}

static const struct mx_insn *instruction_at(const struct mx_pfunc *fn, uint32_t pc) {
  const struct mx_insn *i = &fn->insns[fn->index_of_pc[pc]];
  return i->kind == MX_INSN_JOIN ? i + 1 : i;
}

static bool gives(const struct mx_pfunc *fn, uint32_t lanes, const struct mx_insn *i, mx_ref ref) {
  if (!(mx__ops[i->op].flags & MX_F_CALL)) return mx__writes_ref(fn, lanes, i, ref);
  for (unsigned k = 0; k < mx_w_nres(fn->func->code[i->pc]); k++)
    if (i->more[k] == ref) return true;
  return false;
}

struct walk {
  const struct mx_func *f;
  bool *seen;
  uint32_t *work, n;
};

static void go_to(struct walk *w, uint32_t pc) {
  if (pc < w->f->ncode && !w->seen[pc]) w->seen[pc] = true, w->work[w->n++] = pc;
}

static void go_on(struct walk *w, const struct mx_insn *i) {
  const mx_word *word = &w->f->code[i->pc];
  const uint32_t flags = mx__ops[i->op].flags;
  if (flags & MX_F_BRANCH) go_to(w, mx_w_target(*word));
  if (i->op == MX_BRX) {
    const struct mx_table *t = &w->f->tables[i->o[1]];
    for (uint32_t k = 0; k < t->ntargets; k++) go_to(w, t->targets[k]);
  }
  if (!(flags & MX_F_END) || i->guard != MX_GUARD_NONE) go_to(w, i->pc + mx_w_length(*word));
}

/* Whether the value that the instruction at `from` wrote may still be there when control comes to `to`. */
static bool reaches(const struct mx_pfunc *fn, uint32_t lanes, struct walk *w, uint32_t from, uint32_t to, mx_ref ref) {
  memset(w->seen, 0, fn->func->ncode * sizeof *w->seen);
  w->n = 0;
  go_on(w, instruction_at(fn, from));
  while (w->n && !w->seen[to]) {
    const struct mx_insn *i = instruction_at(fn, w->work[--w->n]);
    if (i->guard != MX_GUARD_NONE || !gives(fn, lanes, i, ref)) go_on(w, i);
  }
  return w->seen[to];
}

size_t mx__writers(const struct mx_pfunc *fn, uint32_t lanes, uint32_t pc, mx_ref ref, uint32_t *out, size_t most) {
  const struct mx_func *f = fn->func;
  struct walk w = {.f = f};
  w.seen = malloc(f->ncode * sizeof *w.seen + 1);
  w.work = malloc(f->ncode * sizeof *w.work + 1);
  size_t found = 0;
  for (uint32_t at = 0; w.seen && w.work && at < f->ncode && found < most; at += mx_w_length(f->code[at]))
    if (gives(fn, lanes, instruction_at(fn, at), ref) && reaches(fn, lanes, &w, at, pc, ref)) out[found++] = at;
  free(w.seen);
  free(w.work);
  return found;
}

/* Determines, from the code, which variable, buffer or frame an address was made of. Only certain answers count: if an
 * operand may come from several instructions, all must give the same origin, and only one operand of a sum may be an
 * address. A loaded value may be an index or an address; in a sum with an address it counts as an index. */
#include "check.h"

#include "vm/exec/flow.h"

#include <string.h>

enum { DEPTH = 12, WRITERS = 8, STEPS = 400 };
struct walk {
  const struct mx_check *c;
  const struct mx_pfunc *fn;
  /* the pcs on the path that is being followed: a pointer that a loop advances leads back to itself */
  uint32_t at[DEPTH];
  unsigned depth, steps;
};
enum { ORIGIN_AGAIN = 99 };

static bool same(const struct origin *a, const struct origin *b) {
  return a->kind == b->kind && a->index == b->index && a->offset == b->offset;
}
static const struct mx_insn *insn_at(const struct mx_pfunc *fn, uint32_t pc) {
  const struct mx_insn *i = &fn->insns[fn->index_of_pc[pc]];
  return i->kind == MX_INSN_JOIN ? i + 1 : i;
}

/* The parameter that a load from this address reads, if it reads all of one that can hold an address. */
static struct origin of_param(const struct walk *w, const struct mx_insn *i) {
  const struct mx_func *k = &w->c->code->prep->image->funcs[w->c->code->prep->kernel];
  const unsigned field = mx_w_operand(&w->fn->func->code[i->pc], 1);
  struct origin o = {.kind = ORIGIN_UNKNOWN};
  if (field < MX_LIT || w->fn->func != k) return o;
  const uint64_t at = w->fn->func->lits[field - MX_LIT].value + (uint64_t)i->off;
  for (uint32_t n = 0; n < k->nparams; n++)
    if (k->params[n].offset == at && k->params[n].size == 8) return (struct origin){ORIGIN_PARAM, n, 0};
  return o;
}

static struct origin of_operand(struct walk *w, const struct mx_insn *i, unsigned k);

static struct origin of_instruction(struct walk *w, const struct mx_insn *i) {
  const struct mx_op_info *o = &mx__ops[i->op];
  struct origin r = {.kind = ORIGIN_NONE};
  if (o->flags & MX_F_MOVI) return r;
  if (o->flags & (MX_F_BRANCH | MX_F_CALL)) return (struct origin){.kind = ORIGIN_UNKNOWN};
  if (mx__effect(i->op) == MX_DOES_SREG) {
    if (i->o[1] == MX_SR_LOCAL_BASE) r.kind = ORIGIN_FRAME;
    if (i->o[1] == MX_SR_LOCAL_TOP) r.kind = ORIGIN_TOP;
    return r;
  }
  if (mx__row_access[i->op].kind == MX_ACCESS_LOAD && (i->mod >> 2) == MX_PARAM) return of_param(w, i);
  if (o->cls != MX_LANE) return (struct origin){.kind = ORIGIN_UNKNOWN};
  const bool choice = mx__means(i->op, "SEL"), sum = mx__means(i->op, "ADD");
  bool unknown = false;
  uint64_t constant = 0;
  for (unsigned k = 0; k < o->nopnds; k++) {
    if (o->opnd[k].role != MX_IN || o->opnd[k].type >= MX_T_raw || o->opnd[k].type == MX_T_pred) continue;
    const struct origin p = of_operand(w, i, k);
    if (p.kind == ORIGIN_AGAIN) continue;
    const unsigned field = mx_w_operand(&w->fn->func->code[i->pc], k);
    if (p.kind == ORIGIN_NONE) {
      if (sum && field >= MX_LIT) constant += w->fn->func->lits[field - MX_LIT].value;
      continue;
    }
    if (p.kind == ORIGIN_UNKNOWN) unknown = true;
    else if (r.kind == ORIGIN_NONE) r = p;
    else if (!choice || !same(&r, &p)) return (struct origin){.kind = ORIGIN_UNKNOWN};
  }
  if (unknown && (choice || r.kind == ORIGIN_NONE)) r.kind = ORIGIN_UNKNOWN;
  if (r.kind == ORIGIN_FRAME) r.offset += constant;
  return r;
}

static struct origin of_operand(struct walk *w, const struct mx_insn *i, unsigned k) {
  const unsigned field = mx_w_operand(&w->fn->func->code[i->pc], k);
  struct origin r = {.kind = ORIGIN_AGAIN};
  if (field >= MX_LIT) {
    const struct mx_lit *lit = &w->fn->func->lits[field - MX_LIT];
    if (lit->kind == MX_LIT_VALUE) r.kind = ORIGIN_NONE;
    else if (lit->kind == MX_LIT_FUNC) r.kind = ORIGIN_UNKNOWN;
    else r = (struct origin){ORIGIN_VARIABLE, lit->index, 0};
    return r;
  }
  uint32_t writer[WRITERS];
  const size_t n = mx__writers(w->fn, w->c->code->prep->lanes, i->pc, mx__operand_ref(i, k), writer, WRITERS);
  const struct origin unknown = {.kind = ORIGIN_UNKNOWN};
  if (!n || n == WRITERS || w->depth == DEPTH || ++w->steps > STEPS) return unknown;
  for (size_t m = 0; m < n; m++) {
    bool again = false;
    for (unsigned d = 0; d < w->depth; d++) again |= w->at[d] == writer[m];
    if (again) continue;
    w->at[w->depth++] = writer[m];
    const struct origin p = of_instruction(w, insn_at(w->fn, writer[m]));
    w->depth--;
    if (p.kind == ORIGIN_AGAIN) continue;
    if (r.kind != ORIGIN_AGAIN && !same(&r, &p)) return unknown;
    r = p;
  }
  return r;
}

struct origin mx__origin_of_operand(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i,
                                    unsigned k) {
  struct walk w = {.c = c, .fn = fn};
  struct origin o = of_operand(&w, i, k);
  if (o.kind == ORIGIN_AGAIN) o.kind = ORIGIN_UNKNOWN;
  return o;
}

struct origin mx__origin_of_address(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i) {
  const struct mx_op_info *o = &mx__ops[i->op];
  for (unsigned k = 0; k + 1 < o->nopnds; k++) {
    if (o->opnd[k + 1].type != MX_T_off || o->opnd[k].role != MX_IN) continue;
    struct origin r = mx__origin_of_operand(c, fn, i, k);
    if (r.kind == ORIGIN_FRAME) r.offset += (uint64_t)i->off;
    return r;
  }
  return (struct origin){.kind = ORIGIN_UNKNOWN};
}

/* Traps in memory that belongs to a block or a lane: which variable an access was meant for. There variables are
 * adjacent, so that the nearest one is often not the one that was meant; the instructions that computed the address
 * tell more. */
#include "async.h"
#include "exec.h"
#include "flow.h"
#include "launch.h"
#include "trap.h"
#include "core/format.h"
#include "vm/memory/memory.h"

#include <stdlib.h>
#include <string.h>

/* What an address was computed from: a variable of the module, or (frame) an offset in the frame's local memory. */
struct origin {
  bool frame;
  uint32_t var;
  uint64_t offset;
};

struct tracing {
  const struct mx_pfunc *fn;
  uint32_t lanes;
  uint8_t space;
  struct origin found;
  unsigned depth;
};

static bool from_operand(struct tracing *t, const struct mx_insn *i, unsigned k);

/* A special register or a sum; of several operands the last one is usually the base. */
static bool from_instruction(struct tracing *t, uint32_t pc) {
  const mx_word *word = &t->fn->func->code[pc];
  const struct mx_insn *i = &t->fn->insns[t->fn->index_of_pc[pc]];
  if (i->kind == MX_INSN_JOIN) i++;
  const struct mx_op_info *o = &mx__ops[i->op];
  if (o->flags & (MX_F_BRANCH | MX_F_MOVI | MX_F_CALL)) return false;
  if (i->op == MX_SREG_64) return t->found.frame = t->space == MX_LOCAL && i->o[1] == MX_SR_LOCAL_BASE;
  for (unsigned k = o->nopnds; k--;) {
    if (!from_operand(t, i, k)) continue;
    /* a constant may lead to another variable of the frame */
    for (unsigned n = 0; t->found.frame && i->op == MX_ADD_U64 && n < o->nopnds; n++) {
      const unsigned field = mx_w_operand(word, n);
      const bool constant = n != k && o->opnd[n].role == MX_IN && field >= MX_LIT;
      if (constant) t->found.offset += t->fn->func->lits[field - MX_LIT].value;
    }
    return true;
  }
  return false;
}

static bool from_operand(struct tracing *t, const struct mx_insn *i, unsigned k) {
  const struct mx_opnd *p = &mx__ops[i->op].opnd[k];
  const unsigned field = mx_w_operand(&t->fn->func->code[i->pc], k);
  uint32_t writer[3];
  if (p->role != MX_IN || p->type >= MX_T_raw || t->depth > 5) return false;
  if (field >= MX_LIT) {
    const struct mx_lit *lit = &t->fn->func->lits[field - MX_LIT];
    if (t->space != MX_SHARED || (lit->kind != MX_LIT_VAR && lit->kind != MX_LIT_GENERIC)) return false;
    t->found.var = lit->index;
    return true;
  }
  const size_t n = mx__writers(t->fn, t->lanes, i->pc, mx__operand_ref(i, k), writer, 3);
  const struct origin was = t->found;
  bool found = false, same = n < 3;
  t->depth++;
  for (size_t w = 0; w < n && same;
       w++) { /* a pointer that steps is written by its step, too, which leads to where it began */
    struct origin first = t->found;
    t->found = was;
    if (!from_instruction(t, writer[w])) t->found = first;
    else if (found) same = t->found.var == first.var && t->found.offset == first.offset;
    else found = true;
  }
  t->depth--;
  return found && same;
}

/* What the address of the access at pc was computed from. */
static bool find_origin(const struct mx_pfunc *fn, uint32_t lanes, uint32_t pc, uint8_t space, struct origin *out) {
  const struct mx_insn *i = &fn->insns[fn->index_of_pc[pc]];
  if (i->kind == MX_INSN_JOIN) i++;
  const struct mx_op_info *o = &mx__ops[i->op];
  struct tracing t = {.fn = fn, .lanes = lanes, .space = space};
  for (unsigned k = 0; k + 1 < o->nopnds; k++) {
    if (o->opnd[k + 1].type != MX_T_off || !from_operand(&t, i, k)) continue;
    *out = t.found;
    if (out->frame) out->offset += (uint64_t)i->off;
    return true;
  }
  return false;
}

struct piece {
  const char *name, *what;
  uint64_t lo, size;
};

static bool variable_at(const struct mx_launch *l, const struct mx_trap *t, const struct mx_pfunc *fn,
                        struct piece *v) {
  struct origin at = {0};
  const bool known = t->func < l->prep->nfuncs && fn->insns && find_origin(fn, l->lanes, t->pc, t->space, &at);
  const struct mx_func *k = &l->image->funcs[l->func], *f = fn->func;
  if (t->space == MX_SHARED)
    for (uint32_t n = 0; n < k->nshared; n++) {
      const struct mx_var *x = &l->image->vars[k->shared[n]];
      const bool dynamic = x->flags & MX_VAR_EXTERN_SHARED;
      const uint64_t lo = l->prep->shared_offset[k->shared[n]];
      const uint64_t size = dynamic ? l->shared_dynamic : x->size;
      if (known ? k->shared[n] != at.var : t->offset - lo >= size) continue;
      *v = (struct piece){x->name, dynamic ? "dynamic shared memory" : "shared memory", lo, size};
      return true;
    }
  for (uint32_t n = 0; t->space == MX_LOCAL && f && n < f->nlocals; n++) {
    const struct mx_local *x = &f->locals[n];
    const uint64_t inside = known ? at.offset : t->offset - t->local_base;
    if (inside - x->offset >= x->size && !(known && x->offset == inside)) continue;
    *v = (struct piece){x->name, "local memory", t->local_base + x->offset, x->size};
    return true;
  }
  return false;
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

char *mx__nearest_variable(const struct mx_launch *l, const struct mx_trap *at) {
  struct piece v;
  struct mx_trap own = *at;
  const struct mx_trap *const t = &own;
  const bool shared = t->space == MX_SHARED;
  /* in another block's shared memory, too, variables lie where they lie in the own one */
  const uint64_t rank = (t->offset >> MX_RANK_SHIFT) - 1;
  if (shared && l->cluster_blocks > 1 && rank < l->cluster_blocks) own.offset &= ((uint64_t)1 << MX_RANK_SHIFT) - 1;
  const unsigned long long whole = shared ? l->shared_bytes : l->local_bytes;
  char *what, *text;
  if (variable_at(l, t, &l->prep->funcs[t->func], &v)) {
    what = mx__format("variable '%s' (%llu byte%s of %s)", v.name, (unsigned long long)v.size, plural(v.size), v.what);
  } else {
    what = mx__format("the %llu bytes of %s memory", whole, shared ? "the block's shared" : "a lane's local");
    v = (struct piece){.size = whole};
  }
  if (!what) return NULL;
  const unsigned long long past = t->offset - v.lo, before = v.lo - t->offset, behind = past - v.size;
  if ((int64_t)past < 0) text = mx__format("%llu byte%s before the start of %s", before, plural(before), what);
  else if (past < v.size && v.size - past >= t->bytes)
    text = mx__format("%llu byte%s into %s", past, plural(past), what);
  else if (past < v.size)
    text = mx__format("the last %llu of %u bytes are past the end of %s", t->bytes + behind, t->bytes, what);
  else if (past == v.size) text = mx__format("right past the end of %s", what);
  else text = mx__format("%llu byte%s past the end of %s", behind, plural(behind), what);
  free(what);
  return text;
}

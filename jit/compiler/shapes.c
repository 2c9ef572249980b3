/* Shapes of addresses that do not change in a loop: the least and the greatest, their low bits, and whether the lanes of
 * each chunk have one address or lie one element apart. A slot with a shape has it computed wherever it is written, for the
 * lanes that run there; an access uses it where these are all of its own lanes: where every write that it can see stands in
 * regions around it, on its own side of them. */
#include "build.h"

#include "vm/exec.h"
#include "vm/jitabi.h"

#include <stdlib.h>

static bool writes(const struct ja *a, uint32_t block, uint32_t until, uint32_t slot) {
  uint32_t s[JA_MAX_TOUCH];
  for (uint32_t k = a->blocks[block].first; k < until; k++) {
    const uint32_t n = ja_defs(a, &a->ins[k], s);
    for (uint32_t m = 0; m < n; m++)
      if (s[m] == slot) return true;
  }
  return false;
}
/* Whether the lanes that run in block `use` ran in block `def` too when it last ran. */
static bool covers(const struct ja *a, uint32_t def, uint32_t use) {
  const struct ja_block *d = &a->blocks[def], *u = &a->blocks[use];
  if (d->nstack > u->nstack) return false;
  for (uint32_t k = 0; k < d->nstack; k++) {
    const struct ja_region *g = &a->regions[d->stack[k]];
    if (u->stack[k] != d->stack[k] || ja_has(g->side[0], def) != ja_has(g->side[0], use)) return false;
  }
  return true;
}
/* Whether block p may run just before block b: by an edge, or because p ends the side whose turn comes first. */
static bool precedes(const struct ja *a, uint32_t p, uint32_t b) {
  const struct ja_block *bl = &a->blocks[p];
  for (uint32_t k = 0; k < bl->nsucc; k++) {
    if (bl->succ[k] == b) return true;
    for (uint32_t g = 0; g < bl->nstack; g++) {
      const struct ja_region *r = &a->regions[bl->stack[g]];
      if (r->kind == JA_IF && r->target == b && r->target != r->reconv && bl->succ[k] == r->reconv && ja_has(r->side[0], p)) return true;
    }
  }
  return false;
}
static bool seen_writes_cover(const struct ja *a, uint32_t use, uint32_t slot) {
  bool *seen = calloc(a->nblocks, sizeof *seen), good = true;
  uint32_t *work = malloc(sizeof *work * (a->nblocks + 1u)), n = 0;
  if (!seen || !work) abort(); /* a process of its own */
  work[n++] = use;
  while (n && good) {
    const uint32_t b = work[--n];
    for (uint32_t p = 0; p < a->nblocks && good; p++) {
      if (seen[p] || !precedes(a, p, b)) continue;
      seen[p] = true;
      if (writes(a, p, a->blocks[p].end, slot)) good = covers(a, p, use);
      else work[n++] = p;
    }
  }
  free(seen);
  free(work);
  return good;
}
static bool unchanged_in_a_loop(const struct ja *a, uint32_t use, uint32_t slot) {
  for (uint32_t b = use; b < a->nblocks; b++)
    for (uint32_t k = 0; k < a->blocks[b].nsucc; k++) {
      const uint32_t head = a->blocks[b].succ[k];
      if (head > use) continue;
      bool written = false;
      for (uint32_t m = head; m <= b && !written; m++) written = writes(a, m, a->blocks[m].end, slot);
      if (!written) return true;
    }
  return false;
}

/* The address of instruction k in block b is slot `at` there: finds the slot that does not change in a loop. */
static bool find_base(const struct ja *a, uint32_t b, uint32_t k, uint32_t at, struct lw_base *base) {
  const struct ja_block *bl = &a->blocks[b];
  uint32_t s[JA_MAX_TOUCH], def = k;
  *base = (struct lw_base){.slot = at};
  while (def-- > bl->first) { /* the last write before k */
    const uint32_t n = ja_defs(a, &a->ins[def], s);
    bool here = false;
    for (uint32_t m = 0; m < n; m++) here |= s[m] == at;
    if (here) break;
  }
  if (def + 1 > bl->first) { /* found */
    const struct ja_ins *i = &a->ins[def];
    if ((i->op != MX_ADD_U32 && i->op != MX_ADD_U64) || mx_w_guard(*i->w) != MX_GUARD_NONE) return false;
    uint64_t *uni = malloc(8 * a->words);
    if (!uni) abort();
    for (uint32_t w = 0; w < a->words; w++) uni[w] = bl->uni_in[w];
    for (uint32_t n = bl->first; n < def; n++) ja_uniform_step(a, &a->ins[n], bl->kept, uni);
    unsigned uniform[3] = {0};
    for (unsigned o = 1; o < 3; o++) {
      const unsigned f = mx_w_operand(i->w, o);
      uniform[o] = f >= MX_LIT || ja_has(uni, ja_slot(a, mx__types[i->o->opnd[o].type].slot_class, f));
    }
    free(uni);
    if (uniform[1] == uniform[2]) return false;
    base->add = i;
    base->slot = ja_slot(a, mx__types[i->o->opnd[1].type].slot_class, mx_w_operand(i->w, uniform[1] ? 2 : 1));
    if (base->slot == at) return false;
    for (uint32_t n = def; n < k; n++) { /* it is still what it was */
      const uint32_t m = ja_defs(a, &a->ins[n], s);
      for (uint32_t q = 0; q < m; q++)
        if (s[q] == base->slot) return false;
    }
    k = def;
  }
  if (ja_has(bl->uni_in, base->slot) || ja_has(bl->raw_in, base->slot) || writes(a, b, k, base->slot)) return false;
  return base->is = unchanged_in_a_loop(a, b, base->slot) && seen_writes_cover(a, b, base->slot);
}

#define MOST_BLOCKS 200u /* of functions in which shapes are looked for */
void lw_shapes_find(struct lw *l) {
  const struct ja *a = l->a;
  if (a->nblocks > MOST_BLOCKS) return;
  for (uint32_t b = 0; b < a->nblocks; b++)
    for (uint32_t k = a->blocks[b].first; k < a->blocks[b].end; k++) {
      const struct ja_ins *i = &a->ins[k];
      const struct ja_access ac = i->o->cls == MX_MEM ? ja_access[i->op] : (struct ja_access){0};
      const unsigned bits = jx_bitsof(ac.type);
      if ((ac.kind != JA_LOAD && ac.kind != JA_STORE) || ac.n != 1 || (bits != 32 && bits != 64)) continue;
      const unsigned at = ac.kind == JA_LOAD ? 1 : 0, field = mx_w_operand(i->w, at);
      if (field >= MX_LIT || !find_base(a, b, k, ja_slot(a, mx__types[i->o->opnd[at].type].slot_class, field), &l->based[k])) continue;
      struct lw_shape *sh = &l->shapes[l->based[k].slot];
      if (l->based[k].add && !l->addend[l->based[k].add - a->ins]) l->addend[l->based[k].add - a->ins] = jx_local(&l->j, l->j.t_u64);
      if (sh->min) continue;
      sh->min = jx_local(&l->j, l->j.t_u64), sh->max = jx_local(&l->j, l->j.t_u64);
      sh->low = jx_local(&l->j, l->j.t_u64), sh->kind = jx_local(&l->j, l->j.t_u64);
    }
}
const struct lw_base *lw_base(struct lw *l) {
  const struct lw_base *b = &l->based[l->ins - l->a->ins];
  return b->is ? b : NULL;
}

void lw_addend(struct lw *l) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  gcc_jit_lvalue *to = l->addend[l->ins - a->ins];
  if (!to) return;
  unsigned o = lw_operand_uniform(l, 1) ? 1 : 2;
  gcc_jit_rvalue *v = jv_scalar(j, lw_operand(l, o, 0));
  if (l->ins->op == MX_ADD_U32) { /* as a signed number: sums that wrap at 32 bits are outside of the bounds then, or right */
    gcc_jit_type *s64 = gcc_jit_context_get_type(j->c, GCC_JIT_TYPE_LONG_LONG);
    v = gcc_jit_context_new_cast(j->c, NULL, gcc_jit_context_new_cast(j->c, NULL, gcc_jit_context_new_cast(j->c, NULL, v, j->t_int), s64), j->t_u64);
  }
  jx_set(j, to, v);
}

void lw_shape_update(struct lw *l, uint32_t slot) {
  struct lw_shape *sh = &l->shapes[slot];
  if (!sh->min) return;
  struct jx *j = &l->j;
  const bool wide = slot >= l->a->f->npred + l->a->f->n32;
  gcc_jit_rvalue *tmp = jx_keep(j, lw_at(l, l->x, offsetof(struct mx_exec, tmp))), *m[LW_CHUNKS];
  for (unsigned k = 0; k < (wide ? 2 * l->nc : l->nc); k++) jx_set(j, lw_vector(l, tmp, 64 * k, wide), jx_rv(lw_var(l, slot, k)));
  for (unsigned c = 0; c < l->nc; c++) m[c] = jx_rv(l->cm[c]);
  gcc_jit_rvalue *help = jx_rv(lw_field(l, l->state, offsetof(struct mx_jit_state, help), j->t_pu8));
  gcc_jit_rvalue *args[3] = {gcc_jit_context_new_cast(j->c, NULL, l->x, j->t_ptr), jx_int(j, j->t_u32, wide), lw_pack(l, m)};
  gcc_jit_rvalue *f = jx_rv(lw_field(l, help, offsetof(struct mx_jit_help, shape), l->t_step));
  gcc_jit_block_add_eval(j->b, NULL, gcc_jit_context_new_call_through_ptr(j->c, NULL, f, 3, args));
#define TAKE(m_) jx_set(j, sh->m_, jx_rv(lw_field(l, tmp, offsetof(struct mx_jit_shape, m_), j->t_u64)))
  TAKE(min), TAKE(max), TAKE(low), TAKE(kind);
#undef TAKE
}

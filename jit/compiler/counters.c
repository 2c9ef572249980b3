/* Code that counts for a profile, so that a profiled launch runs compiled, too. What the interpreter counts for each
 * instruction is counted here for each block; the table that is exported with the code (vm/exec/jitabi.h) assigns the
 * counts to instructions. So a block costs one addition to memory, in the row of counters for its number of active
 * lanes. A variable points to that row; it changes only where lanes diverge or meet. */
#include "lowering.h"

#include <stdio.h>
#include <string.h>

struct lw_counters {
  gcc_jit_lvalue *row, *whole; /* the row for the active lanes; the row for all lanes of the split */
  /* by instruction: the number of its guard, counted from 1; 0: it is unguarded or not counted */
  uint32_t *guard;
  uint32_t nguards, room;
  struct mx_jit_counted_site *sites;
};

void lw_counters_begin(struct lw *l) {
  const struct ja *a = l->a;
  if (!a->counts) return;
  struct lw_counters *c = l->counters = lw_need(sizeof *c);
  c->guard = lw_need(sizeof *c->guard * (a->nins + 1));
  for (uint32_t k = 0; k < a->nins; k++)
    if (a->ins[k].counts && mx_w_guard(*a->ins[k].w) != MX_GUARD_NONE) c->guard[k] = ++c->nguards;
  c->row = jx_local(&l->j, l->j.t_pu8);
  c->whole = jx_local(&l->j, l->j.t_pu8);
}

/* ---- rows -----------------------------------------------------------------------------------------------------*/
/* Sets the variable to the row for that many active lanes. */
static void set_row(struct lw *l, gcc_jit_lvalue *row, gcc_jit_rvalue *mask) {
  struct jx *j = &l->j;
  const uint64_t bytes = 8 * (uint64_t)(l->a->nblocks + l->counters->nguards);
  gcc_jit_rvalue *at = lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, lw_count(l, mask), lw_u64(l, bytes));
  jx_set(j, row, lw_add(l, jx_rv(lw_field(l, l->state, MX_AT(jit_state, counts), j->t_pu8)), at));
}
void lw_counters_enter(struct lw *l) {
  if (!l->counters) return;
  set_row(l, l->counters->whole, jx_rv(l->emask));
  jx_set(&l->j, l->counters->row, jx_rv(l->counters->whole));
}

void lw_counters_lanes(struct lw *l, uint32_t to, bool whole) {
  struct jx *j = &l->j;
  struct lw_counters *c = l->counters;
  if (!c) return;
  gcc_jit_rvalue *m[LW_CHUNKS], *mask = jx_rv(l->emask);
  for (unsigned k = 0; k < l->nc && !whole; k++) m[k] = jx_rv(l->cm[k]);
  if (whole) jx_set(j, c->row, jx_rv(c->whole));
  else set_row(l, c->row, mask = lw_pack(l, m));
  gcc_jit_block *show = lw_new_block(l, "show"), *on = lw_new_block(l, "on");
  gcc_jit_rvalue *shown = jx_rv(lw_field(l, l->state, MX_AT(jit_state, shown), j->t_u32));
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_NE, shown, jx_int(j, j->t_u32, 0))), show, on);
  j->b = show;
  gcc_jit_rvalue *args[] = {gcc_jit_context_new_cast(j->c, NULL, l->state, j->t_ptr), mask, jx_rv(l->steps),
                            jx_int(j, j->t_u32, to)};
  gcc_jit_block_add_eval(j->b, NULL, LW_HELP(l, diverged, args));
  lw_go(l, on);
  j->b = on;
}

/* ---- numbers --------------------------------------------------------------------------------------------------*/
static void add(struct lw *l, gcc_jit_lvalue *to, gcc_jit_rvalue *n) {
  jx_set(&l->j, to, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, jx_rv(to), n));
}
static gcc_jit_lvalue *in_row(struct lw *l, uint32_t number) {
  return lw_field(l, jx_rv(l->counters->row), 8 * (uint64_t)number, l->j.t_u64);
}
static uint32_t guard_of(const struct lw *l) { return l->counters ? l->counters->guard[l->ins - l->a->ins] : 0; }
static gcc_jit_lvalue *sum(struct lw *l, uint32_t which) {
  gcc_jit_rvalue *sums = jx_rv(lw_field(l, l->state, MX_AT(jit_state, sums), l->j.t_pu8));
  return lw_field(l, sums, 8 * (2 * (uint64_t)(guard_of(l) - 1) + which), l->j.t_u64);
}
void lw_counters_block(struct lw *l) {
  if (l->counters) add(l, in_row(l, l->block), lw_u64(l, 1));
}
void lw_counters_all(struct lw *l) {
  if (guard_of(l)) add(l, in_row(l, l->a->nblocks + guard_of(l) - 1), lw_u64(l, 1));
}
void lw_counters_guard(struct lw *l) {
  struct jx *j = &l->j;
  if (!guard_of(l)) return;
  if (ja_has(l->uni, ja_slot(l->a, MX_PRED, mx_w_guard(*l->ins->w)))) {
    gcc_jit_rvalue *holds = gcc_jit_context_new_cast(j->c, NULL, j->isa->mask_any(j, lw_guard(l, 0)), j->t_u64);
    add(l, in_row(l, l->a->nblocks + guard_of(l) - 1), holds);
    return;
  }
  gcc_jit_rvalue *m[LW_CHUNKS];
  for (unsigned k = 0; k < l->nc; k++) m[k] = lw_lanes(l, k);
  add(l, sum(l, 0), lw_count(l, lw_pack(l, m)));
}
void lw_counters_part(struct lw *l, gcc_jit_rvalue *const *t) {
  if (!guard_of(l)) return;
  add(l, sum(l, 0), lw_count(l, lw_pack(l, t)));
  add(l, sum(l, 1), lw_u64(l, 1));
}

/* ---- accesses -------------------------------------------------------------------------------------------------*/
/* The operand that is an address, behind which its offset stands; as many as there are operands: nothing is touched. */
static unsigned address_of(const struct ja_ins *i) {
  unsigned k = 0;
  if (!mx__row_access[i->op].elements) return i->o->nopnds;
  while (k + 1 < i->o->nopnds && i->o->opnd[k + 1].type != MX_T_off) k++;
  return k + 1 < i->o->nopnds ? k : i->o->nopnds;
}
void lw_counters_access(struct lw *l) {
  const unsigned at = address_of(l->ins);
  if (l->a->counts < MX_COUNT_MEMORY || !l->ins->counts || at == l->ins->o->nopnds) return;
  gcc_jit_block_add_eval(l->j.b, NULL, lw_tell_access(l, at, (uint32_t)(l->ins - l->a->ins)));
}

/* ---- the table --------------------------------------------------------------------------------------------------*/
void lw_counters_site(struct lw *l, uint32_t site, uint32_t done) {
  struct lw_counters *c = l->counters;
  if (!c) return;
  if (site == c->room) {
    c->room = c->room ? 2 * c->room : 64;
    c->sites = realloc(c->sites, c->room * sizeof *c->sites);
    if (!c->sites) abort(); /* a process of its own */
  }
  c->sites[site] = (struct mx_jit_counted_site){l->block, done};
}
void lw_counters_export(struct lw *l, uint32_t number) {
  const struct ja *a = l->a;
  const struct lw_counters *c = l->counters;
  if (!c) return;
  const uint32_t nsites = lw_sites(l);
  const size_t size = sizeof(struct mx_jit_counted) + a->nblocks * sizeof(struct mx_jit_counted_block) +
                      a->nins * sizeof(struct mx_jit_counted_ins) + nsites * sizeof(struct mx_jit_counted_site);
  struct mx_jit_counted *head = lw_need(size);
  struct mx_jit_counted_block *blocks = (void *)(head + 1);
  struct mx_jit_counted_ins *ins = (void *)(blocks + a->nblocks);
  *head = (struct mx_jit_counted){.nblocks = a->nblocks, .nins = a->nins, .nsites = nsites, .nguards = c->nguards};
  for (uint32_t b = 0; b < a->nblocks; b++)
    blocks[b] = (struct mx_jit_counted_block){a->blocks[b].first, a->blocks[b].end};
  for (uint32_t k = 0; k < a->nins; k++)
    ins[k] = (struct mx_jit_counted_ins){.func = a->frames[a->ins[k].frame].func,
                                         .pc = a->ins[k].counts ? a->origin[a->ins[k].pc].pc : UINT32_MAX,
                                         .guard = c->guard[k]};
  if (nsites) memcpy(ins + a->nins, c->sites, nsites * sizeof *c->sites);
  char name[48];
  snprintf(name, sizeof name, "mx_jit_counted_F%u", number);
  gcc_jit_type *t = gcc_jit_context_new_array_type(l->j.c, NULL, l->j.t_u32, (int)(size / 4));
  gcc_jit_lvalue *g = gcc_jit_context_new_global(l->j.c, NULL, GCC_JIT_GLOBAL_EXPORTED, t, name);
  gcc_jit_global_set_initializer(g, head, size);
  free(head);
}

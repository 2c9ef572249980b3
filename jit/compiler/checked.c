/* Code for a launch under a checker (vm/check/). The checker's own bodies do all that it has to see: accesses to
 * memory, operations of warps, barriers, ends of lanes, and the instructions that it names. For plain loads and stores,
 * and for atomic additions, compiled code asks first (lw_checked_access), and does them by itself if the answer is that
 * there is nothing to report. What it names is a text: "FUNC PC;" for each, where the body does it, "FUNC PC left;"
 * where code is left. */
#include "lowering.h"

#include "vm/exec/exec.h"

#include <stdio.h>
#include <string.h>

uint8_t *ja_check_list(const struct ja *a) {
  uint8_t *listed = lw_need(a->f->ncode + 1u);
  unsigned func, pc;
  int n;
  for (const char *s = a->unit->check_list; s && *s; s += strcspn(s, ";"), s += *s == ';')
    if (sscanf(s, "%u %u%n", &func, &pc, &n) == 2 && func == a->number && pc < a->f->ncode)
      listed[pc] = s[n] == ' ' ? JA_LEFT : JA_BY_CHECKER;
  return listed;
}

/* Stores the numbers that addresses are made of where the checker looks for them. Returned: the number, if it is
 * uniform. */
static gcc_jit_rvalue *give_numbers(struct lw *l, unsigned at) {
  struct jx *j = &l->j;
  if (lw_operand_uniform(l, at))
    return gcc_jit_context_new_cast(j->c, NULL, jv_scalar(j, lw_operand(l, at, 0)), j->t_u64);
  gcc_jit_rvalue *tmp = jx_keep(j, lw_at(l, l->x, MX_AT(exec, tmp)));
  for (unsigned c = 0; c < l->nc; c++) {
    const jv v = lw_operand(l, at, c);
    const bool wide = jx_wide(v.t);
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
      jx_set(j, lw_vector(l, tmp, j->bytes * (wide ? 2 * c + h : c), wide), v.r[h]);
  }
  return lw_u64(l, 0);
}
gcc_jit_rvalue *lw_tell_access(struct lw *l, unsigned at, uint32_t number) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *m[LW_CHUNKS], *address = give_numbers(l, at);
  const bool all = l->a->blocks[l->block].converged && mx_w_guard(*l->ins->w) == MX_GUARD_NONE;
  for (unsigned c = 0; c < l->nc && !all; c++) m[c] = lw_lanes(l, c);
  gcc_jit_rvalue *args[] = {gcc_jit_context_new_cast(j->c, NULL, l->state, j->t_ptr), jx_int(j, j->t_u32, number),
                            all ? jx_rv(l->emask) : lw_pack(l, m), address,
                            jx_int(j, j->t_u32, lw_operand_uniform(l, at))};
  return LW_HELP(l, accessed, args);
}

/* Whether a constant variable is read at an offset that is known to be within it: about that there is nothing to
 * report. */
static bool is_constant(const struct lw *l, unsigned at, unsigned bytes) {
  const struct mx_func *f = l->a->f;
  const unsigned field = mx_w_operand(l->ins->w, at), off = mx_w_operand(l->ins->w, at + 1);
  if (mx_w_mod(*l->ins->w) >> 2 != MX_CONST || field < MX_LIT || f->lits[field - MX_LIT].kind != MX_LIT_VAR ||
      f->lits[off - MX_LIT].kind != MX_LIT_VALUE)
    return false;
  const uint64_t size = l->a->image->vars[f->lits[field - MX_LIT].index].size,
                 first = f->lits[field - MX_LIT].value + f->lits[off - MX_LIT].value;
  return first <= size && bytes <= size - first;
}
void lw_checked_access(struct lw *l, unsigned at, unsigned bytes, gcc_jit_block *slow) {
  struct jx *j = &l->j;
  if (!l->a->checked || (mx__row_access[l->ins->op].kind == MX_ACCESS_LOAD && is_constant(l, at, bytes))) return;
  gcc_jit_block *on = lw_new_block(l, "unwatched");
  gcc_jit_rvalue *plain = jx_keep(j, lw_tell_access(l, at, l->a->origin[l->ins->pc].pc));
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, plain, jx_int(j, j->t_u32, 0))), slow, on);
  j->b = on;
}

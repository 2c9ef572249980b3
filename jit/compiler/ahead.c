/* Prefetches what a load is expected to touch in a later iteration of its loop. In a loop, accesses tend to advance by
 * a constant step, such as from one row of a matrix to the next; the processor's own prefetcher does not follow where
 * that crosses pages. */
#include "lowering.h"

/* The number of the innermost loop around the current instruction; nloops if there is none. */
static uint32_t loop_around(const struct lw *l) {
  const struct ja *a = l->a;
  uint32_t loop = a->nloops, least = UINT32_MAX;
  for (uint32_t k = 0; k < a->nloops; k++) {
    if (!ja_has(a->loops[k].body, l->ins->block)) continue;
    uint32_t blocks = 0;
    for (uint32_t b = 0; b < a->nblocks; b++) blocks += ja_has(a->loops[k].body, b);
    if (blocks < least) loop = k, least = blocks;
  }
  return loop;
}
bool lw_is_in_loop(const struct lw *l) { return loop_around(l) < l->a->nloops; }

/* Whether so much is done in a round of the loop that the processor does not come to the next round's loads by itself
 * while it waits for this one's, and so much for each load from device memory that a prefetch costs little beside it.
 * Where nothing is known of an access's address outside of the loop, it is mostly one operation for each lane. */
static bool is_long(const struct lw *l, const struct ja_loop *loop) {
  enum { INSTRUCTIONS = 24, FOR_A_LOAD = 8, FOR_ELEMENTS = 8 };
  const struct ja *a = l->a;
  unsigned n = 0, loads = 0;
  for (uint32_t k = 0; k < a->nins; k++) {
    if (!ja_has(loop->body, a->ins[k].block)) continue;
    const struct mx_row_access ac = mx__row_access[a->ins[k].op];
    const unsigned space = mx_w_mod(*a->ins[k].w) >> 2;
    const bool load = ac.kind == MX_ACCESS_LOAD, plain = load || ac.kind == MX_ACCESS_STORE;
    const bool steady = l->based[k].steady || (plain && lw_uniform_at(a, a->ins[k].block, k, load ? ac.elements : 0));
    n += ac.elements && !steady ? FOR_ELEMENTS : 1;
    loads += a->ins[k].o->cls == MX_MEM && load && space != MX_SHARED;
  }
  return n >= INSTRUCTIONS && n >= FOR_A_LOAD * loads;
}

/* The predicted address is `first` plus a multiple of the distance from the warp's previous access to this one: where
 * warps wait in the loop, of its next iteration, since others run before that; else of one so far ahead that memory has
 * answered by then. Each warp keeps its previous address for itself, since the warps of a block take turns at
 * barriers. */
void lw_fetch_ahead(struct lw *l, gcc_jit_rvalue *first, gcc_jit_rvalue *const *q, uint64_t bytes, bool known) {
  enum { FAR = 256, ITERATIONS = 4 };
  struct jx *j = &l->j;
  const unsigned space = mx_w_mod(*l->ins->w) >> 2;
  const uint32_t loop = loop_around(l);
  if (loop == l->a->nloops || (space != MX_GLOBAL && space != MX_GENERIC)) return;
  /* The next access to a known row comes at once where no warp waits between the two and little is done: then the
   * prefetch costs as much as the access (atax of make bench-foreign took 15 % longer). A step that is not far is one
   * that the processor follows. */
  const bool waits = l->steadies[l->a->loops[loop].head], only_far = known && !waits;
  if (only_far && !is_long(l, &l->a->loops[loop])) return;
  gcc_jit_lvalue *last = lw_last_cell(l);
  gcc_jit_rvalue *by = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, first, jx_rv(last)));
  jx_set(j, last, first);
  gcc_jit_block *behind = NULL;
  if (only_far) {
    gcc_jit_block *far = lw_new_block(l, "far");
    behind = lw_new_block(l, "near");
    lw_split(l,
             lw_compare(l, GCC_JIT_COMPARISON_GT, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, by, lw_u64(l, FAR)),
                        lw_u64(l, 2 * FAR)),
             far, behind);
    j->b = far;
  }
  if (!waits) by = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, by, lw_u64(l, ITERATIONS)));
  if (q)
    for (unsigned c = 0; c < l->nc; c++) jx_prefetch(j, lw_vector(l, lw_add(l, q[c], by), 0, false));
  else {
    gcc_jit_rvalue *next =
        gcc_jit_context_new_bitcast(j->c, NULL, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, first, by), j->t_pu8);
    next = jx_keep(j, next);
    for (uint64_t at = 0; at < bytes; at += 64) jx_prefetch(j, lw_vector(l, next, at, false));
  }
  if (!behind) return;
  lw_go(l, behind);
  j->b = behind;
}

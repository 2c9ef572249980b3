/* Lanes that end, at ret and exit. Others may have been waiting for them at a barrier or a .sync operation. So this
 * file calls warp.c, which removes lanes from the warp, as well as sync.c and barrier.c, which check whether those
 * operations are complete now. */
#include "warp.h"

const struct mx_insn *mx__exit_lanes(struct mx_exec *x, uint64_t m) {
  const bool all = mx__take_lanes_out(x, m);
  mx__sync_recheck(x, x->warp);
  mx__barrier_recheck(x, x->block);
  if (all) return mx__next_split(x);
  mx__find_resched_rank(x);
  return NULL;
}

const struct mx_insn *mx__op_ret(struct mx_exec *x, const struct mx_insn *i) {
  return x->frame->parent ? mx__return_lanes(x, i) : mx__exit_lanes(x, x->mask);
}

const struct mx_insn *mx__op_exit(struct mx_exec *x, const struct mx_insn *i) {
  uint64_t m = mx__lanes_of(x, i);
  if (!m) return i + 1;
  if (m == x->mask) return mx__exit_lanes(x, m);
  mx__exit_lanes(x, m);
  return i + 1;
}

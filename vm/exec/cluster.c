/* Clusters: blocks that run together and see each other's shared memory. */
#include "async.h"
#include "vm/exec/warp.h"

bool mx__cluster_bounds(struct mx_exec *x, uint64_t address, uint64_t base, struct mx_bounds *b) {
  const uint64_t rank = (address - base) >> MX_RANK_SHIFT;
  if (rank != 1) return false;
  const uint64_t lo = base + (rank << MX_RANK_SHIFT);
  *b = (struct mx_bounds){.lo = lo,
                          .span = x->launch->shared_bytes,
                          .off = (uint64_t)(uintptr_t)x->block->shared,
                          .kind = MX_GLOBAL,
                          .writable = true};
  return address - lo < b->span;
}

/* The space's modifier does not matter: the bits are the same in generic addresses. */
const struct mx_insn *mx__op_getctarank(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const bool narrow = mx__types[mx__ops[i->op].opnd[1].type].bits == 32;
  const void *a = mx__operand(x, i->o[1]);
  uint32_t *d = mx__operand(x, i->o[0]);
  MX_FOR_LANES (l, m) {
    const uint32_t rank =
        (uint32_t)((narrow ? ((const uint32_t *)a)[l] : ((const uint64_t *)a)[l]) >> MX_RANK_SHIFT & 255);
    d[l] = rank ? rank - 1 : (uint32_t)x->sreg[MX_SR_CLUSTER_CTARANK];
  }
  return i + 1;
}

/* Clusters: blocks that run together and see each other's shared memory. */
#include "async.h"
#include "core/format.h"
#include "vm/exec/launch.h"
#include "vm/exec/warp.h"

/* The block that an address `offset` bytes behind the window's beginning names; NULL: none. */
static struct mx_block *named(const struct mx_exec *x, uint64_t offset) {
  const uint64_t rank = (offset >> MX_RANK_SHIFT) - 1;
  return rank < x->block->nmembers ? x->block->leader->members[rank] : NULL;
}
bool mx__cluster_bounds(struct mx_exec *x, uint64_t address, uint64_t base, struct mx_bounds *b) {
  const struct mx_block *of = named(x, address - base);
  if (!of || of->ended) return false;
  const uint64_t lo = base + ((uint64_t)(of->rank + 1) << MX_RANK_SHIFT);
  *b = (struct mx_bounds){.lo = lo,
                          .span = x->launch->shared_bytes,
                          .off = (uint64_t)(uintptr_t)of->shared,
                          .kind = MX_GLOBAL,
                          .writable = true};
  return address - lo < b->span;
}
char *mx__cluster_wrong(const struct mx_exec *x, uint64_t offset) {
  if (!(offset >> MX_RANK_SHIFT) || offset >> (MX_RANK_SHIFT + 8)) return NULL;
  const struct mx_block *of = named(x, offset);
  if (!of)
    return mx__format("shared memory of rank %u: the cluster has %u block%s", (unsigned)(offset >> MX_RANK_SHIFT) - 1,
                      x->block->nmembers, x->block->nmembers == 1 ? "" : "s");
  if (of->ended)
    return mx__format("shared memory of block (%u,%u,%u) of the cluster, which has ended", of->ctaid[0], of->ctaid[1],
                      of->ctaid[2]);
  if (x->block->nmembers == 1) return NULL; /* an index that is far too large, more likely than mapa's result */
  return mx__format("the address names block (%u,%u,%u) of the cluster", of->ctaid[0], of->ctaid[1], of->ctaid[2]);
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

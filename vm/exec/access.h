/* Memory accesses that the cached bounds of their instruction do not cover: they are looked up among all allocations,
 * or trap. The fast path is in vm/exec/lanes/memory.c and in compiled code. */
#ifndef MX_VM_ACCESS_H
#define MX_VM_ACCESS_H

#include "exec.h"

/* Finds where the lanes m of instruction i may access `bytes` at addr[] (in `space`; see struct mx_bounds) and leaves
 * host pointers in host[]; every lane is checked before the first effect. The instruction's bounds cache learns
 * the first lane's allocation. False: trapped, x->event is set. */
bool mx__access_find(struct mx_exec *x, const struct mx_insn *i, uint64_t m, const uint64_t *addr, unsigned bytes,
                     unsigned space, bool write, unsigned char **host);

/* Fills the instruction's bounds cache with the allocation around an address; false: there is none that may be
 * cached. */
/* Computes starts[] of struct mx_bounds for so many bytes that may be accessed. */
void mx__access_starts(const struct mx_exec *x, uint64_t span, uint64_t bytes, uint64_t *starts);
bool mx__access_keep(struct mx_exec *x, const struct mx_insn *i, uint64_t addr, unsigned space);

/* The same for `bytes` bytes from one lane's address on, which must be a multiple of `align`; nothing is cached. */
bool mx__access_range(struct mx_exec *x, const struct mx_insn *i, uint64_t lane, uint64_t addr, uint32_t bytes,
                      unsigned align, unsigned space, bool write, unsigned char **host);

/* The bounds of the allocation around an address; false: there is none. *keep false: they hold for this access only
 * (the heap of device malloc, where another worker may free a piece). */
bool mx__access_bounds(struct mx_exec *x, unsigned space, uint64_t addr, struct mx_bounds *b, bool *keep);

/* The host address of a lane's address inside b, as a number, since device allocations have no window with a
 * beginning. */
static inline unsigned char *mx__bounds_host(const struct mx_exec *x, const struct mx_bounds *b, uint64_t addr,
                                             uint64_t lane) {
  return (unsigned char *)((uintptr_t)x->window[b->kind] + b->off + (addr - b->lo) +
                           (b->kind == MX_LOCAL ? lane * x->local_stride : 0));
}

#endif

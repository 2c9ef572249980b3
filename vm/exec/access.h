/* Memory accesses that the cached bounds of their instruction do not cover: found among all allocations, or trapped.
 * The fast path stands in vm/exec/lanes/memory.c and in compiled code. */
#ifndef MX_VM_ACCESS_H
#define MX_VM_ACCESS_H

#include "exec.h"

/* Finds where the lanes m of instruction i may access `bytes` at addr[] (in `space`; see struct mx_bounds) and leaves
 * host pointers in host[]; every lane is checked before the first effect. The instruction's bounds cache learns
 * the first lane's allocation. False: trapped, x->event is set. */
bool mx__access_find(struct mx_exec *x, const struct mx_insn *i, uint64_t m, const uint64_t *addr, unsigned bytes,
                     unsigned space, bool write, unsigned char **host);

/* The instruction's bounds cache learns what lies around an address; false: nothing that may be remembered does. */
bool mx__access_keep(struct mx_exec *x, const struct mx_insn *i, uint64_t addr, unsigned space);

/* The same for `bytes` from one lane's address on, a multiple of `align`; nothing is remembered. */
bool mx__access_range(struct mx_exec *x, const struct mx_insn *i, uint64_t lane, uint64_t addr, uint32_t bytes,
                      unsigned align, unsigned space, bool write, unsigned char **host);

/* Bounds of what lies around one address; false: nothing does. *keep false: good for this access only (the heap of
 * device malloc, where a free by another worker may end it). */
bool mx__access_bounds(struct mx_exec *x, unsigned space, uint64_t addr, struct mx_bounds *b, bool *keep);

/* Where a lane's address inside b lies. As a number: allocations of the device have no window that begins somewhere. */
static inline unsigned char *mx__bounds_host(const struct mx_exec *x, const struct mx_bounds *b, uint64_t addr,
                                             uint64_t lane) {
  return (unsigned char *)((uintptr_t)x->window[b->kind] + b->off + (addr - b->lo) +
                           (b->kind == MX_LOCAL ? lane * x->local_stride : 0));
}

#endif

/* What a launch tells a tool that watches it: a checker, a profiler. The tool (vm/check/) fills the table and has code
 * of its own prepared for the launch, in which it has put bodies of its own over those of the instructions that it
 * wants to see (mx__observe); the machine below it knows no more. A launch without a tool has launch->observer NULL,
 * its code is as it was prepared, and nothing here is called.
 *
 * Memory: bounds are not remembered while somebody watches, so that every access comes by mx__access_find or
 * mx__access_range, which tell of it. */
#ifndef MX_VM_OBSERVE_H
#define MX_VM_OBSERVE_H

#include "exec.h"

struct mx_access {
  uint64_t lanes;
  const uint64_t *address; /* by lane, as the program computed it; plus base it is generic */
  uint64_t base;
  uint64_t bytes; /* of each lane */
  unsigned char *const *host;
  bool write;
};

struct mx_observer {
  /* Lanes of instruction i are about to touch memory; all of it is there and may be touched so. */
  void (*touches)(struct mx_exec *x, const struct mx_insn *i, const struct mx_access *a);
  /* Barrier `number` of block b is complete; b->barriers[number] still says who has arrived. */
  void (*barrier)(struct mx_block *b, uint32_t number);
  /* Lanes `group` of warp w meet in a .sync operation, for instruction i. */
  void (*meets)(struct mx_exec *x, const struct mx_insn *i, uint64_t group);
  /* Block b, whose object may have run another one before, begins; its object goes away. */
  void (*begins)(struct mx_block *b);
  void (*ends)(struct mx_block *b);
};

/* Instructions of p for which `wanted` says so get `body`, which runs the instruction's own by mx__own_body. */
static inline void mx__observe(struct mx_prepared *p, mx_body body,
                               bool (*wanted)(const void *user, const struct mx_insn *i), const void *user) {
  for (uint32_t f = 0; f < p->nfuncs; f++)
    for (uint32_t k = 0; p->funcs[f].insns && k < p->funcs[f].ninsns; k++) {
      struct mx_insn *i = &p->funcs[f].insns[k];
      if (i->kind == MX_INSN_OP && wanted(user, i)) i->fn = body;
    }
}
static inline mx_body mx__own_body(const struct mx_exec *x, const struct mx_insn *i) {
  return x->fn->body_of[i - x->fn->insns];
}

#endif

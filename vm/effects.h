/* What an instruction is about to do to memory: for recording and watching. */
#ifndef MX_VM_EFFECTS_H
#define MX_VM_EFFECTS_H

#include "vm/exec.h"

struct mx_write {
  unsigned lane;
  unsigned space;       /* of the window that it goes to */
  uint64_t address;     /* generic */
  unsigned char *host;
  uint64_t bytes;
};

/* Whether the opcode is a store or an atomic. */
bool mx__op_writes(unsigned op);
/* What the store or atomic i would write now, in lane order; 0: nothing, or it will trap. */
unsigned mx__writes(struct mx_exec *x, const struct mx_insn *i, struct mx_write list[MX_MAX_LANES]);

#endif

/* What the table's row says of an opcode, in the form in which profiles need it. */
#ifndef MX_VM_PROFILE_FACTS_H
#define MX_VM_PROFILE_FACTS_H

#include "vm/exec/exec.h"

struct mx_fact {
  uint8_t kind;      /* enum mx_access_kind */
  uint8_t bytes;     /* of a lane's access */
  uint8_t address;   /* the operand that is the address; the offset stands behind it */
  bool narrow;       /* the address has 32 bits */
  bool atomic_space; /* the modifier is the address space, as atomics have it; else its bits from 2 on are */
  uint16_t floating; /* floating-point operations of a lane; fused multiply-add: two */
};
const struct mx_fact *mx__facts(unsigned op); /* of opcode op; mx__facts(0) is an array by opcode */
/* Floating-point operations of a warp as a whole, for matrix instructions; else 0. */
uint32_t mx__floating_of_warp(unsigned op, unsigned mod);
/* The file of core/ops/ that has the row: "int", "memory" ... */
const char *mx__family(unsigned op);
static inline unsigned mx__space_of(const struct mx_fact *f, unsigned mod) { return f->atomic_space ? mod : mod >> 2; }

#endif

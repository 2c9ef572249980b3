/* What is known of an opcode from its row alone. */
#ifndef MX_VM_PROFILE_FACTS_H
#define MX_VM_PROFILE_FACTS_H

#include "vm/exec/exec.h"

struct mx_fact {
  uint8_t kind;      /* enum mx_access_kind */
  uint8_t bytes;     /* of a lane's access */
  uint8_t address;   /* the operand that is the address; the offset stands behind it */
  bool narrow;       /* the address has 32 bits */
  bool atomic_space; /* the modifier is the space; else that is the modifier's upper digits */
  uint16_t floating; /* floating-point operations of a lane; fused multiply-add: two */
};
const struct mx_fact *mx__facts(unsigned op); /* the first of an array, those of others behind it */
/* Of a warp, with modifier: of matrix instructions. */
uint32_t mx__floating_of_warp(unsigned op, unsigned mod);
/* The part of the table that has the row: "int", "memory" ... */
const char *mx__family(unsigned op);
static inline unsigned mx__space_of(const struct mx_fact *f, unsigned mod) { return f->atomic_space ? mod : mod >> 2; }

#endif

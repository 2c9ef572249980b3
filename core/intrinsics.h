/* Names of vendor device functions as instructions: the rows of intrinsics.def as data. Separate from isa.h, because
 * only the assembler and the tools know them: what they expand to is ordinary instructions. */
#ifndef MX_INTRINSICS_H
#define MX_INTRINSICS_H
#include "core/isa.h"

struct mx_intrinsic {
  struct mx_op_info
      row; /* spelling and operands as an opcode's; `meaning` is the expansion, "" where an opcode has the name */
  const char *group, *exactness, *how;
};

extern const struct mx_intrinsic mx__intrinsics[];
extern const unsigned mx__intrinsic_count;

#endif

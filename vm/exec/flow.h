/* Data flow of registers within a function's code. */
#ifndef MX_VM_FLOW_H
#define MX_VM_FLOW_H

#include "exec.h"

/* Whether an instruction writes the register that a reference names; results of calls are not considered. */
bool mx__writes_ref(const struct mx_pfunc *fn, uint32_t lanes, const struct mx_insn *i, mx_ref ref);
/* The pcs of the instructions, including calls, whose value may be in `ref` when control comes to pc: at most `most` of
 * them. */
size_t mx__writers(const struct mx_pfunc *fn, uint32_t lanes, uint32_t pc, mx_ref ref, uint32_t *out, size_t most);

#endif

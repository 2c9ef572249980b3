/* Where registers' values come from, by a function's code. */
#ifndef MX_VM_FLOW_H
#define MX_VM_FLOW_H

#include "exec.h"

/* Whether an instruction writes what a reference names; results of calls apart. */
bool mx__writes_ref(const struct mx_pfunc *fn, uint32_t lanes, const struct mx_insn *i, mx_ref ref);
/* Instructions (their pcs) whose value of ref, results of calls too, may be there when control comes to pc: the first
 * `most`. */
size_t mx__writers(const struct mx_pfunc *fn, uint32_t lanes, uint32_t pc, mx_ref ref, uint32_t *out, size_t most);

#endif

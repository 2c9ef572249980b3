/* Attaches compiled code to prepared code: the instructions at its entries get a body that continues in compiled code.
 */
#ifndef MX_VM_ATTACH_H
#define MX_VM_ATTACH_H

#include "mx/mx.h"
#include "jitabi.h"

/* May be called while workers run fn: they enter the compiled code when they next come to an entry. To be called once
 * for each function. The code must stay loaded as long as the prepared kernel exists. False: out of memory, nothing has
 * changed. */
bool mx__jit_attach(struct mx_pfunc *fn, struct mx_jit_code *code, mx_body enter); /* enter NULL: the usual one */
/* Its entries get the body `leave`. No worker may be running fn. */
void mx__jit_detach(struct mx_pfunc *fn, struct mx_jit_code *code, mx_body leave);
/* The body of an instruction at an entry: continues in compiled code. */
const struct mx_insn *mx__jit_entry_body(struct mx_exec *x, const struct mx_insn *i);

/* Why compiled code was left, judged by the instruction at which the interpreter goes on. */
enum mx_exit_reason mx__exit_reason(const struct mx_exec *x, const struct mx_insn *next);

#endif

/* One lane of one row, evaluated straight from the table's meanings. For tests only. */
#ifndef MX_TESTS_EVAL_H
#define MX_TESTS_EVAL_H

#include <stdbool.h>
#include <stdint.h>

/* Values are bit patterns, zero-extended to 64 bits, in the order of the row's operands: `in` its inputs (for an atomic:
 * the cell, then the operands), `out` its results (for an atomic: the old, then the new value). False: the row has no
 * per-lane meaning (control, loads, ...). */
bool mx__eval(unsigned op, unsigned mod, const uint64_t *in, uint64_t *out);

/* Uses the lane functions of this CPU level from now on; without a call, the best that the CPU has. False: it has no such. */
bool mx__eval_level(const char *name);

#endif

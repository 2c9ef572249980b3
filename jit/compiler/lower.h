/* Builds the code of one function. */
#ifndef MX_JITC_LOWER_H
#define MX_JITC_LOWER_H

#include "analyse.h"
#include "lanes.h"

/* Whether slots should live in memory (slots_in_memory of struct ja), which takes less time to compile and more to run:
 * where there are too many instructions for registers. Warps that wait at a barrier leave their slots in memory anyway,
 * so where that happens in all innermost loops, registers are of less use. */
bool lw_slots_in_memory(const struct ja *a, const struct jx_isa *isa);
/* marks: comments in the assembly say which instruction follows ("# mx FUNCTION PC"). False: libgccjit has the error.
 */
bool lw_function(gcc_jit_context *c, const struct jx_isa *isa, const struct ja *a, uint32_t number, bool marks);

#endif

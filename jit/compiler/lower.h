/* Builds the code of one function. */
#ifndef MX_JITC_LOWER_H
#define MX_JITC_LOWER_H

#include "analyse.h"
#include "lanes.h"

/* marks: comments in the assembly that say which instruction comes ("# mx FUNCTION PC"). False: libgccjit has the error. */
bool lw_function(gcc_jit_context *c, const struct jx_isa *isa, const struct ja *a, uint32_t number, bool marks);

#endif

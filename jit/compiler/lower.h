/* Builds the code of one function. */
#ifndef MX_JITC_LOWER_H
#define MX_JITC_LOWER_H

#include "analyse.h"
#include "lanes.h"

/* False: libgccjit has the error. */
bool lw_function(gcc_jit_context *c, const struct ja *a, uint32_t number);

#endif

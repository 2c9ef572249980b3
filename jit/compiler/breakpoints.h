/* Code for debugging sessions. */
#ifndef MX_JITC_BREAKPOINTS_H
#define MX_JITC_BREAKPOINTS_H

#include "lowering.h"

/* Finds the instructions that are stops, and what has to be in the frame there. Before liveness. */
void bp_keep(struct ja *a);
/* Whether code has to be left before the current instruction, a stop. */
gcc_jit_rvalue *bp_leaves(struct lw *l);
/* By pc: slots that are true in the frame; see mx_jit_live in jitabi.h. */
void bp_export(struct lw *l, uint32_t number);

#endif

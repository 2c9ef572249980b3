/* Code for debugging sessions. */
#ifndef MX_JITC_BREAKPOINTS_H
#define MX_JITC_BREAKPOINTS_H

#include "lowering.h"

/* Finds the instructions that are stops, and the slots that must be in the frame there. To be called before liveness is
 * computed. */
void bp_keep(struct ja *a);
/* The condition that code is left before the current instruction, a stop. */
gcc_jit_rvalue *bp_leaves(struct lw *l);
/* Exports the table that says, by pc, which slots have current values in the frame; see mx_jit_live in jitabi.h. */
void bp_export(struct lw *l, uint32_t number);

#endif

/* The graph of a function's blocks, whatever the order of their text: reverse postorder, dominators, natural loops.
 * Knows nothing of slots, lanes or gccjit. */
#ifndef MX_JITC_GRAPH_H
#define MX_JITC_GRAPH_H

#include "analyse.h"

/* Computes all of this for the blocks that control can reach from the first one. */
void jg_find(struct ja *a);
static inline bool jg_reached(const struct ja *a, uint32_t b) { return a->blocks[b].rpo != JA_NONE; }
/* Whether every path to block b leads through block d. */
bool jg_dominates(const struct ja *a, uint32_t d, uint32_t b);
/* Adds the blocks of the natural loop with header h: those that reach h again without leaving the blocks that it
 * dominates. False: h is no header. */
bool jg_loop(const struct ja *a, uint32_t h, uint64_t *body);

#endif

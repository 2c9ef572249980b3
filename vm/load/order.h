/* The order in which a function's blocks run where lanes have diverged. Of the groups of lanes that can run in a frame,
 * that goes first whose block has the lowest rank: reverse postorder, in which the blocks of a loop follow one
 * another, and the loop's header comes behind them. So lanes wait in front of what others still have to do before it,
 * those that go round a loop wait at its header for those that are still on their way to it, and what follows the
 * loop waits for all of them: lanes that can meet do. (Thread frontiers: Diamos et al., MICRO 2011. Both engines go
 * by this order.) */
#ifndef MX_VM_ORDER_H
#define MX_VM_ORDER_H

#include "core/module.h"

/* For every pc of verified code, except extension words: the rank of its block; and whether lanes may meet
 * there or have to let others go first: where ways come together, where branches reconverge, and behind loops. NULL,
 * or malloc'ed. */
struct mx_order {
  uint32_t *rank;
  bool *meets;
};
/* Where the lanes meet again that part at the instruction at pc: a pc, MX_PC_RET, or UINT32_MAX: they never part
 * there. */
uint32_t mx__reconvergence(const struct mx_func *f, uint32_t pc);
bool mx__order_find(const struct mx_func *f, struct mx_order *o);
void mx__order_free(struct mx_order *o);

#endif

/* An order of a function's blocks for lanes that diverge: reverse postorder, in which the blocks of a loop follow one
 * another, and the loop's header comes behind them. vm/load/order.h says what the machine makes of it. Separate because
 * the assembler asks it as well; knows graphs only. */
#ifndef MX_LAYOUT_H
#define MX_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct mx_layout {
  uint32_t *order, *rank; /* block k of the order; by block: its place there */
  uint32_t *loop;         /* by block: its innermost loop, header included; 0: none */
  uint32_t *outer;        /* by loop: the one around it */
  uint32_t *head, *begin; /* by loop: its header, and the rank of its first block */
  uint32_t nloops;        /* loops have the numbers from 1 on */
};
/* The successors of block b are succ[first_succ[b]] to succ[first_succ[b + 1] - 1], taken ones first; those from
 * nblocks on are ignored. False: there is no memory. */
bool mx__layout_find(uint32_t nblocks, const uint32_t *first_succ, const uint32_t *succ, struct mx_layout *o);
void mx__layout_free(struct mx_layout *o);
/* Whether the block is in that loop, or in one inside it; loop 0 is the function. */
static inline bool mx__is_in_loop(const struct mx_layout *o, uint32_t block, uint32_t loop) {
  return !loop || (o->begin[loop] <= o->rank[block] && o->rank[block] <= o->rank[o->head[loop]]);
}

#endif

/* Control-flow graph of one function and where diverged lanes meet again. Knows graphs; what the instructions of a
 * block do is not its business beyond where control goes. */
#ifndef MX_ASM_CFG_H
#define MX_ASM_CFG_H

#include "asm/common/arena.h"

#include <stdint.h>

struct back_body;

/* Node nblocks is the virtual exit, to which ret, exit and trap lead. */
struct cfg_edge {
  uint32_t from, to;
};
struct cfg {
  uint32_t nblocks;
  uint32_t *first;          /* block b holds instructions first[b] .. first[b + 1] */
  uint32_t *block_of;       /* by instruction */
  uint32_t *succ_at, *succ; /* successors of b: succ[succ_at[b]] .. succ[succ_at[b + 1]] */
  uint32_t *pred_at, *pred; /* the same for predecessors, virtual exit included */
};

/* Blocks and edges of a body, in text order; block 0 is the entry. */
struct cfg *mx__cfg_build(struct mx_arena *arena, const struct back_body *b);
/* A graph of nblocks blocks from edges in any order; `first` and `block_of` stay NULL. */
struct cfg *mx__cfg_link(struct mx_arena *arena, uint32_t nblocks, const struct cfg_edge *edges, uint32_t nedges);
/* Depth-first order over successors from every block, the entry first; those that finish first come first. */
uint32_t *mx__cfg_postorder(struct mx_arena *arena, const struct cfg *g);
/* Immediate post-dominator of every block; nblocks: only the end of the function. */
uint32_t *mx__cfg_postdominators(struct mx_arena *arena, const struct cfg *g);
/* Loop depth of every block by text order: how many backward edges span it. */
uint32_t *mx__cfg_depths(struct mx_arena *arena, const struct cfg *g);

#endif

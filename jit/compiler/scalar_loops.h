/* Loops whose lanes may run one by one: what scalar_loops.c has found of one, and scalar_turns.c builds. */
#ifndef MX_JITC_SCALAR_LOOPS_H
#define MX_JITC_SCALAR_LOOPS_H

#include "lowering.h"

#include "vm/exec/exec.h"

enum {
  MOST_BLOCKS = 28,
  MOST_INSTRUCTIONS = 320,
  MOST_ACCESSES = 48, /* a loop that was unrolled eight times fits */
  MOST_ROOTS = 12,
  MOST_BITS = 64, /* of what is noted of a round */
  MOST_ROUNDS = MX_SLICE,
};

/* An access of the loop. */
struct access {
  const struct ja_ins *ins;
  uint32_t block;
  bool store, always; /* always: in each round */
  unsigned at, bytes; /* the address's operand; what is read or written */
  bool by_number;     /* by the 32-bit number that the address is made of, for which bounds are known before the loop */
  const struct access
      *checked; /* by_number: one before it through the same number, in whose room this one's is; else NULL */
  gcc_jit_rvalue *lo, *room, *host; /* bounds, as many places as there are in them, and where device address 0 is;
                                       by_number: number 0, and room is that many numbers */
  unsigned root;                    /* of the loop's, below */
  gcc_jit_rvalue *start, *span;     /* that allocation's, of the host */
};
struct lw_scalar_loop {
  gcc_jit_block *start;
  struct lw one;                          /* the function's state for code of one lane: slots are scalars */
  bool one_by_one;                        /* this form is built now */
  bool beside;                            /* slots live in memory: lanes have theirs in cells beside */
  uint32_t head, behind;                  /* the loop's header; where its lanes go when they leave it */
  uint32_t nblocks, block[MOST_BLOCKS];   /* in the order of a round */
  bool chain;                             /* each of these goes on to the next one or leaves */
  uint32_t back;                          /* chain: the one behind which the one branch backwards of a round is */
  uint32_t nbacks, backward[MOST_BLOCKS]; /* blocks that end in branches backwards in the text, which slices count */
  bool inner_exits;                       /* lanes may leave from blocks that others do not come to in the round */
  uint64_t *floats; /* slots that floats alone are made of or computed from: they need not move between registers of two
                       kinds */
  uint64_t *in, *out, *moved; /* that lanes begin with; that they leave behind; of these, those that are one value where
                                 iterations begin */
  struct access access[MOST_ACCESSES];
  unsigned naccesses, nstores;
  struct {
    uint32_t slot;
    bool store;
    unsigned bytes;    /* of a store */
  } roots[MOST_ROOTS]; /* what accesses reach their allocations by: all through one go to one, most likely */
  unsigned nroots;
  unsigned nguesses;        /* branches that what was read decides */
  unsigned lane_cost, cost; /* of a round: a lane's, the warp's */
  gcc_jit_lvalue **begin;   /* by slot: what lanes begin with, if it is one value; bits of a predicate */
  gcc_jit_lvalue **end;     /* by slot of moved: its value in lanes that are still in the loop */
  gcc_jit_lvalue *todo, *rest, *lane, *iterations, *left, *turn, *longest;
  gcc_jit_lvalue *since, *slice; /* when it began, 0: it is not measured; what the slice was then */
  gcc_jit_lvalue *visits, *seen; /* not chain: by round, and in this one: blocks, then branches backwards */
  gcc_jit_lvalue *kept;          /* where the next store is to be kept */
  gcc_jit_rvalue *kept_end;
  gcc_jit_block *vector, *bailout, *body, *put, *start_of[MOST_BLOCKS];
};

static inline uint32_t sl_number_of(const struct lw_scalar_loop *p, uint32_t block) {
  uint32_t n = 0;
  while (n < p->nblocks && p->block[n] != block) n++;
  return n;
}
/* Whether the block's last instruction is a branch backwards in the text, to block `to` if it is taken. */
static inline bool sl_branches_back(const struct ja *a, uint32_t b, uint32_t to) {
  const struct ja_ins *last = &a->ins[a->blocks[b].end - 1];
  return last->op == MX_BRA && mx_w_target(*last->w) <= last->pc && to == a->block_of_pc[mx_w_target(*last->w)];
}

#endif

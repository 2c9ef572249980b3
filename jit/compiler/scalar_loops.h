/* Loops whose lanes may run one by one: what scalar_loops.c finds out about such a loop, and scalar_turns.c builds. */
#ifndef MX_JITC_SCALAR_LOOPS_H
#define MX_JITC_SCALAR_LOOPS_H

#include "lowering.h"

#include "vm/exec/exec.h"

enum {
  MOST_BLOCKS = 28,
  MOST_INSTRUCTIONS = 320,
  MOST_ACCESSES = 48, /* enough for a loop that was unrolled eight times */
  MOST_ROOTS = 12,
  MOST_EXITS = 4,
  MOST_BYTES = 32, /* of an access: four elements of 64 bits */
  MOST_BITS = 64,  /* how many events of a round can be noted */
  NO_BIT = MOST_BITS,
};

/* An access of the loop. */
struct access {
  const struct ja_ins *ins;
  uint32_t block;
  bool store, always;        /* always: every round comes to it */
  bool local;                /* to local memory, of which the lane has a piece of its own: made at once */
  unsigned at, bytes;        /* at: which operand is the address; bytes: how many are accessed */
  bool by_number;            /* its address is a sum with a 32-bit number, whose bounds are computed before the loop */
  const struct access *same; /* by_number: an earlier access with the same address for each number; else NULL */
  const struct access *checked; /* an earlier access through the same number or register, whose check covers this one;
                                   else NULL */
  bool through;                 /* its address is a 64-bit register plus a constant */
  int64_t least, end;           /* not by_number: which bytes the check covers, counted from the register's address */
  bool even;                    /* checked: if that access is aligned, so is this one */
  /* lo, room, host: the bounds' beginning and size, and the host address of device address 0. by_number: of number 0,
   * and room counts numbers */
  gcc_jit_rvalue *lo, *room, *host;
  unsigned root; /* its root's number in roots[] below; of no meaning if `local` */
};
struct lw_scalar_loop {
  gcc_jit_block *start;
  struct lw one;   /* the function's state for code of one lane: slots are scalars */
  bool one_by_one; /* code for one lane is being built */
  bool beside;     /* slots live in memory, and turns use second cells beside the slots' own */
  uint32_t head;   /* the loop's header */
  /* the blocks to which it exits, and where lanes meet that leave the loop at different times; JA_NONE: none do */
  uint32_t nexits, exit[MOST_EXITS], join;
  bool waits[MOST_EXITS]; /* lanes may wait at that exit; at others all lanes that are still in the loop leave it */
  uint32_t nblocks, block[MOST_BLOCKS]; /* in the order of a round */
  bool chain;                           /* each of these goes on to the next one or leaves the loop */
  uint32_t back;                        /* if `chain`: the block that ends in the round's only backward branch */
  /* blocks that end in branches which are backward in the text, and so count for the slice */
  uint32_t nbacks, backward[MOST_BLOCKS];
  /* the bits by which a round notes that it came to a block, or took a backward branch; NO_BIT: the length of the turn
   * tells */
  unsigned nbits, bit[MOST_BLOCKS], back_bit[MOST_BLOCKS];
  bool inner_exits; /* lanes may leave from blocks to which not all lanes of a round come */
  /* slots whose values are floats in floating-point registers: at the beginning of the round's blocks, by number, and
   * where turns end; and, by instruction, its results that become such values, as bits */
  uint64_t *floats_in[MOST_BLOCKS], *floats_out;
  uint8_t *float_results;
  uint64_t *unclean[MOST_BLOCKS]; /* by number: slots whose NaNs need not be canonical where the block begins */
  /* slots that a turn takes over; that it leaves behind; of these, those that are uniform at the beginning of an
   * iteration */
  uint64_t *in, *out, *moved;
  struct access access[MOST_ACCESSES];
  unsigned naccesses, nstores, nlocal, nlocal_stores; /* nstores: those that are recorded */
  /* the host address of the first lane's local memory, and how many bytes each lane has; a copy of all lanes' */
  gcc_jit_rvalue *local, *stride, *local_copy;
  gcc_jit_lvalue *own; /* of the current lane's */
  /* where accesses get their addresses from: all that go through one root most likely go to one allocation */
  struct {
    uint32_t slot;
    bool store;
    unsigned bytes;                   /* of a store */
    gcc_jit_rvalue *lo, *span, *host; /* its allocation's bounds, as one of the accesses has them cached */
  } roots[MOST_ROOTS];
  unsigned nroots;
  unsigned nguesses;        /* how many branches depend on loaded data */
  unsigned lane_cost, cost; /* estimated cost of a round: for one lane, for the warp */
  gcc_jit_lvalue **begin;   /* by slot: the value with which turns begin, if it is uniform; a predicate as bits */
  gcc_jit_lvalue **end;     /* by slot of moved: its value in the lanes that are still in the loop */
  gcc_jit_lvalue *todo, *rest, *lane, *iterations, *left, *turn, *longest;
  /* of several exits: the lanes that have left by each; where the first turn ended (0: none has), as `turn` has it for
   * the current one; not 0: another turn ended elsewhere */
  gcc_jit_lvalue *left_by[MOST_EXITS], *first_turn, *apart;
  /* in rounds that begin with no more of the slice than that left, the vector form asks again which form is better */
  gcc_jit_lvalue *ask_at;
  gcc_jit_lvalue *since, *slice; /* when the loop began (0: it is not being measured); the slice at that time */
  /* slots that hold floats which are no NaNs, at the place that is being built; and at the beginning of blocks of the
   * round, by number (NULL: no edge to it has been built) */
  uint64_t *numbers, *numbers_in[MOST_BLOCKS];
  gcc_jit_lvalue *kept; /* where the next store will be recorded */
  gcc_jit_rvalue *kept_end;
  gcc_jit_block *vector, *bailout, *body, *put, *start_of[MOST_BLOCKS];
};

/* Follows which slots are floats, by p->float_results: where it is guarded, an instruction leaves them as they are. */
void sl_float_step(const struct ja *a, const struct lw_scalar_loop *p, const struct ja_ins *i, uint64_t *floats);

/* scalar_exits.c: all lanes have had their turns, and their slots' values are in place. */
void sl_leave_loop(struct lw *l, struct lw_scalar_loop *p);

static inline uint32_t sl_number_of(const struct lw_scalar_loop *p, uint32_t block) {
  uint32_t n = 0;
  while (n < p->nblocks && p->block[n] != block) n++;
  return n;
}
/* The number of the exit to a block; MOST_EXITS: it is none. */
static inline unsigned sl_exit_to(const struct lw_scalar_loop *p, uint32_t block) {
  for (unsigned e = 0; e < p->nexits; e++)
    if (p->exit[e] == block) return e;
  return MOST_EXITS;
}
/* Whether the block's last instruction is a branch to block `to` that is backward in the text. */
static inline bool sl_branches_back(const struct ja *a, uint32_t b, uint32_t to) {
  const struct ja_ins *last = &a->ins[a->blocks[b].end - 1];
  return last->op == MX_BRA && mx_w_target(*last->w) <= last->pc && to == a->block_of_pc[mx_w_target(*last->w)];
}

#endif

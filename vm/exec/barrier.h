/* What becomes of those who arrive at a barrier of the block, once for all who count arrivals: barrier.c by lanes, for
 * any barrier; compiled_block.c by whole warps, for barrier 0; and code that jit/compiler/warp_chain.c emits, which has
 * only the fast path: barrier 0, all warps of the block whole, none of them ended while others wait. */
#ifndef MX_VM_BARRIER_H
#define MX_VM_BARRIER_H

#include "warp.h"

enum mx_barrier_event {
  MX_BARRIER_ARRIVAL, /* of lanes that wait for the others */
  MX_BARRIER_SIGNAL,  /* of lanes that do not wait: bar.arrive */
  MX_BARRIER_END      /* of lanes, without having arrived */
};
struct mx_barrier_move {
  bool waits;    /* the lanes of the event */
  bool releases; /* all that wait; they go on behind the barrier when their turns come, those of the event at once */
};
/* By event, and whether all who are expected have arrived now. */
static const struct mx_barrier_move mx__barrier_moves[][2] = {
    [MX_BARRIER_ARRIVAL] = {{true, false}, {false, true}},
    [MX_BARRIER_SIGNAL] = {{false, false}, {false, true}},
    [MX_BARRIER_END] = {{false, false}, {false, true}},
};
/* The same of barrier 0 where whole warps are counted, `waiting` of the `alive` ones, those of the event included. */
static inline struct mx_barrier_move mx__barrier_move_of_warps(enum mx_barrier_event event, uint32_t waiting,
                                                               uint32_t alive) {
  return mx__barrier_moves[event][waiting && waiting >= alive];
}

/* The split waits at barrier `number`, whose instruction stands at pc; and goes on behind it. */
static inline void mx__barrier_wait(struct mx_split *s, uint32_t number, uint32_t pc) {
  s->state = MX_WAIT_BAR;
  s->barrier = number;
  s->pc = pc;
}
static inline void mx__barrier_pass(struct mx_split *s) {
  s->state = MX_RUNNABLE;
  s->pc += mx_w_length(s->frame->fn->func->code[s->pc]);
  s->spun = false;
}

#endif

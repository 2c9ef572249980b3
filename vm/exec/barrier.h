/* The transitions of the block's barriers, in one table for all code that counts arrivals: barrier.c counts lanes, at
 * any barrier; compiled_block.c counts whole warps, at barrier 0; code that jit/compiler/warp_chain.c emits has only
 * the fast path: barrier 0, all warps of the block whole, none of which has ended while others wait. */
#ifndef MX_VM_BARRIER_H
#define MX_VM_BARRIER_H

#include "warp.h"

enum mx_barrier_event {
  MX_BARRIER_ARRIVAL, /* by lanes that wait for the others */
  MX_BARRIER_SIGNAL,  /* by lanes that do not wait: bar.arrive */
  MX_BARRIER_END      /* lanes end without having arrived */
};
struct mx_barrier_move {
  bool waits; /* the lanes of the event wait */
  /* all waiting lanes are released: they go on behind the barrier in their next turn, those of the event immediately */
  bool releases;
};
/* By event, and by whether the barrier is complete with it. */
static const struct mx_barrier_move mx__barrier_moves[][2] = {
    [MX_BARRIER_ARRIVAL] = {{true, false}, {false, true}},
    [MX_BARRIER_SIGNAL] = {{false, false}, {false, true}},
    [MX_BARRIER_END] = {{false, false}, {false, true}},
};
/* The same for barrier 0, counted in whole warps: `waiting` of the `alive` ones have arrived, those of the event
 * included. */
static inline struct mx_barrier_move mx__barrier_move_of_warps(enum mx_barrier_event event, uint32_t waiting,
                                                               uint32_t alive) {
  return mx__barrier_moves[event][waiting && waiting >= alive];
}

/* The split waits at barrier `number`, whose instruction is at pc. The other: it goes on behind it. */
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

/* Blocks all of whose warps run in compiled code: their turns, without the machine's splits, joins and scheduler. */
#ifndef MX_VM_COMPILED_BLOCK_H
#define MX_VM_COMPILED_BLOCK_H

#include "block.h"
#include "chain.h"
#include "hooks.h"
#include "jitabi.h"
#include "launch.h"

enum mx_block_exit {
  MX_BLOCK_EXIT_DONE,    /* all threads have ended */
  MX_BLOCK_EXIT_STOPPED, /* the launch is being stopped */
  MX_BLOCK_EXIT_PAUSES,  /* the launch pauses: the machine goes on later, with the turn behind that of warp *w */
  MX_BLOCK_EXIT_YIELDS,  /* other blocks should have a turn; otherwise as PAUSES */
  /* warp *w needs the machine in the middle of its turn: at instruction *i or, if that is NULL, for x->event; b->round
   * holds the outcome of the turns before it */
  MX_BLOCK_EXIT_MACHINE,
};
/* The compiled code in which a block that has not begun may run; NULL: the machine runs it from the start. */
static inline struct mx_jit_code *mx__compiled_block_code(const struct mx_exec *x) {
  if (x->stress || x->jit_off || mx__launch_is_interpreted(x->launch) ||
      (x->launch->debug && !x->launch->hooks->may_run_compiled(x->launch->debug, x)))
    return NULL;
  struct mx_jit_code *code = atomic_load_explicit(&x->prep->funcs[x->prep->kernel].jit, memory_order_acquire);
  return code && atomic_load_explicit(&code->attached, memory_order_acquire)
             ? code
             : NULL; /* code that waits at barriers must be able to resume behind them */
}
/* mx__compiled_block_can_resume: whether code that waits at barriers by itself may take over all warps, when the
 * current one was the last to arrive at barrier 0, with all its lanes. _resume: it does so, in the current warp's turn,
 * if all warps are at places where it can; otherwise returns MX_BLOCK_EXIT_MACHINE, with *i behind the barrier. */
static inline bool mx__compiled_block_can_resume(const struct mx_exec *x) {
  const struct mx_jit_code *code = x->launch->debug ? NULL : mx__compiled_block_code(x);
  return code && code->table->waits && !x->frame->depth && x->warp->nsplits == 1 && x->mask == x->warp->live;
}
enum mx_block_exit mx__compiled_block_resume(struct mx_exec *x, struct mx_block *b, struct mx_taken *then, uint32_t *w,
                                             const struct mx_insn **i);
/* Runs a block whose warps have not begun, in the machine's order; when it has ended, those of `then`. */
enum mx_block_exit mx__compiled_block_run(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code,
                                          struct mx_taken *then, uint32_t *w, const struct mx_insn **i);
#endif

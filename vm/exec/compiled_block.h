/* Blocks whose warps all run compiled code: their turns without the machine's splits, joins and scheduler. */
#ifndef MX_VM_COMPILED_BLOCK_H
#define MX_VM_COMPILED_BLOCK_H

#include "block.h"
#include "chain.h"
#include "hooks.h"
#include "jitabi.h"
#include "launch.h"

enum mx_block_exit {
  MX_BLOCK_EXIT_DONE,    /* all threads have ended */
  MX_BLOCK_EXIT_STOPPED, /* the launch is to stop */
  MX_BLOCK_EXIT_PAUSES, /* the launch is to rest: the machine goes on some time, with the turn behind that of warp *w */
  MX_BLOCK_EXIT_YIELDS, /* other blocks are to have a turn; then the same */
  MX_BLOCK_EXIT_MACHINE, /* warp *w needs the machine, in the middle of its turn: at *i, or at x->event if that is NULL;
                        b->round holds what the turns before it came to */
};
/* Compiled code with which a block that has not started may run so; NULL: the machine runs it from the start. */
static inline struct mx_jit_code *mx__compiled_block_code(const struct mx_exec *x) {
  if (x->stress || x->jit_off || atomic_load_explicit(&x->launch->interpreted, memory_order_relaxed) ||
      (x->launch->debug && !x->launch->hooks->may_run_compiled(x->launch->debug, x)))
    return NULL;
  struct mx_jit_code *code = atomic_load_explicit(&x->prep->funcs[x->prep->kernel].jit, memory_order_acquire);
  return code && atomic_load_explicit(&code->attached, memory_order_acquire)
             ? code
             : NULL; /* what waits must find its way back */
}
/* Whether compiled code that waits at barriers by itself may want to go on with all warps, of which the current one,
 * with all its lanes, was the last to arrive at barrier 0; and it goes on, in the current warp's turn, if they stand
 * where it can: else MX_BLOCK_EXIT_MACHINE, *i behind the barrier. */
static inline bool mx__compiled_block_can_resume(const struct mx_exec *x) {
  const struct mx_jit_code *code = x->launch->debug ? NULL : mx__compiled_block_code(x);
  return code && code->table->waits && !x->frame->depth && x->warp->nsplits == 1 && x->mask == x->warp->live;
}
enum mx_block_exit mx__compiled_block_resume(struct mx_exec *x, struct mx_block *b, struct mx_taken *then, uint32_t *w,
                                             const struct mx_insn **i);
/* Runs a block whose warps have not begun, in the order in which the machine would; when it has ended, those of `then`.
 */
enum mx_block_exit mx__compiled_block_run(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code,
                                          struct mx_taken *then, uint32_t *w, const struct mx_insn **i);
#endif

/* Blocks whose warps all run compiled code: their turns without the machine's splits, joins and scheduler. */
#ifndef MX_VM_COMPILED_BLOCK_H
#define MX_VM_COMPILED_BLOCK_H

#include "block.h"
#include "jitabi.h"

struct mx_jit_code;

enum mx_block_exit {
  MX_BLOCK_EXIT_DONE,    /* all threads have ended */
  MX_BLOCK_EXIT_STOPPED, /* the launch is to stop */
  MX_BLOCK_EXIT_PAUSES, /* the launch is to rest: the machine goes on some time, with the turn behind that of warp *w */
  MX_BLOCK_EXIT_YIELDS, /* other blocks are to have a turn; then the same */
  MX_BLOCK_EXIT_MACHINE, /* warp *w needs the machine, in the middle of its turn: at *i, or at x->event if that is NULL;
                        b->round holds what the turns before it came to */
};
/* Whether compiled code that waits at barriers by itself may want to go on with all warps, of which the current one,
 * with all its lanes, was the last to arrive at barrier 0; and it goes on, in the current warp's turn, if they stand
 * where it can: else MX_BLOCK_EXIT_MACHINE, *i behind the barrier. */
bool mx__compiled_block_can_resume(const struct mx_exec *x);
enum mx_block_exit mx__compiled_block_resume(struct mx_exec *x, struct mx_block *b, struct mx_taken *then, uint32_t *w,
                                             const struct mx_insn **i);
/* Compiled code with which a block that has not started may run so; NULL: the machine runs it from the start. */
struct mx_jit_code *mx__compiled_block_code(const struct mx_exec *x);
/* Runs a block whose warps have not begun, in the order in which the machine would; when it has ended, those of `then`.
 */
enum mx_block_exit mx__compiled_block_run(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code,
                                          struct mx_taken *then, uint32_t *w, const struct mx_insn **i);
/* Compiled code in which a warp ends may start the block's next warp by itself, if that has all its lanes, and in a
 * chain it goes from warp to warp at barriers. Meanwhile x->warp is still the warp that was entered, and the others'
 * splits are not up to date. This brings all of it up to date, for a caller who looks at warps or splits. */
void mx__compiled_block_update(struct mx_exec *x);
/* Whether warps or splits have to be brought up to date. */
static inline bool mx__compiled_block_is_stale(const struct mx_exec *x) {
  return x->warps_begun || (x->chain && x->chain->stale);
}
/* The number of the warp that runs, also then. */
static inline uint32_t mx__compiled_block_warp(const struct mx_exec *x) {
  return x->chain && x->chain->stale ? x->chain->at : x->warp->number + x->warps_begun;
}

#endif

/* What compiled code and the machine agree on beyond exec.h: entries, exits, and how a divergence that compiled code had
 * hidden is told to the machine. Plain structures; no compiler appears here. Part of the JIT cache key.
 *
 * A shared object exports, for every compiled function number N of the module,
 *   mx_jit_F<N>        mx_jit_fn
 *   mx_jit_entries_F<N>  uint32_t[]: number of entries, then their pcs, ascending
 * and mx_jit_key, the bytes that it was compiled for. */
#ifndef MX_VM_JITABI_H
#define MX_VM_JITABI_H

#include "vm/exec.h"

enum mx_jit_exit {
  MX_JIT_GO,      /* the machine executes the instruction at state->pc */
  MX_JIT_SLICE,   /* the slice ended; the split stands at state->pc */
  MX_JIT_EVENT,   /* a body gave up control (x->event) at state->pc */
  MX_JIT_REFUSED, /* not entered: a slot that should be uniform is not */
};

/* One hidden divergence: lanes `taken` of those that are left went to target, the others to next; 0: nothing to tell.
 * next == reconv: the others wait there already. */
struct mx_jit_rec { uint64_t taken; uint32_t target, next, reconv; };
#define MX_JIT_DEPTH 24

struct mx_jit_state;
struct mx_jit_help {
  /* Executes the instruction at pc for the lanes of `mask` by its interpreter's body, slots being in the frame. 0: it gave
   * up control. */
  uint32_t (*step)(struct mx_exec *x, uint32_t pc, uint64_t mask);
};

struct mx_jit_state {
  const struct mx_jit_help *help;
  uint64_t mask;   /* out: lanes of the split that goes on, to check the replay */
  uint64_t steps;  /* out: instructions executed */
  uint32_t pc, nrec;
  struct mx_jit_rec rec[MX_JIT_DEPTH]; /* outermost first */
};

/* Runs the current split from entry number `entry` until something happens; slots, slice are then what the
 * interpreter's would be. */
typedef uint32_t (*mx_jit_fn)(struct mx_exec *x, uint32_t entry, struct mx_jit_state *state);

/* Loaded code of one function. */
struct mx_jit_code {
  mx_jit_fn run;
  uint32_t nentries;
  const uint32_t *pcs; /* by entry number, ascending */
};

/* Enters compiled code of x->fn at the entry for instruction i's pc (i is an entry) and does what followed from it: as
 * a body, the next instruction or NULL. Where nothing was executed, runs i's own body. */
const struct mx_insn *mx__jit_enter(struct mx_exec *x, const struct mx_jit_code *code, uint32_t entry, const struct mx_insn *i);

#endif

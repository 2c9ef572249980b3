/* What compiled code and the machine agree on beyond exec.h: entries, exits, and how a divergence that compiled code had
 * hidden is told to the machine. Plain structures; no compiler appears here. Part of the JIT cache key.
 *
 * A shared object exports, for every compiled function number N of the module,
 *   mx_jit_F<N>        mx_jit_fn
 *   mx_jit_entries_F<N>  uint32_t[]: keep_bytes, clean, number of entries, then their pcs, ascending
 * and mx_jit_layout, uint64_t: mx__jit_layout() of whoever compiled it. */
#ifndef MX_VM_JITABI_H
#define MX_VM_JITABI_H

#include "vm/exec.h"

enum mx_jit_exit {
  MX_JIT_GO,      /* the machine executes the instruction at state->pc */
  MX_JIT_SLICE,   /* the slice ended; the split stands at state->pc */
  MX_JIT_EVENT,   /* a body gave up control (x->event) at state->pc */
  MX_JIT_NEXT,    /* a body that may block has run: state->next is what it returned; slots were in the frame */
  MX_JIT_DONE,    /* all lanes of the split have ended */
  MX_JIT_BARRIER, /* all of them wait at barrier 0 at state->pc, for all of the block: state->keep has what they need at entry `resume` */
  MX_JIT_REFUSED, /* not entered: a slot that should be uniform is not */
};

/* One hidden divergence: lanes `taken` of those that are left went to target, the others to next; 0: nothing to tell.
 * next == reconv: the others wait there already. */
struct mx_jit_rec { uint64_t taken; uint32_t target, next, reconv; };
#define MX_JIT_DEPTH 24

/* Addresses of the lanes that run: bounds, all bits that are set in some, and how they lie in compiled code's chunks of lanes. */
struct mx_jit_shape { uint64_t min, max, low, kind; };
enum { MX_JIT_SAME = 1, MX_JIT_ROWS1 = 2, MX_JIT_ROWS4 = 4, MX_JIT_ROWS8 = 8 }; /* each chunk: one number; 1, 4, or 8 from lane to lane */

struct mx_jit_state;
struct mx_jit_help {
  /* Executes the instruction at pc for the lanes of `mask` by its interpreter's body, slots being in the frame. 0: it gave
   * up control. */
  uint32_t (*step)(struct mx_exec *x, uint32_t pc, uint64_t mask);
  /* The same for instructions that may block, all live slots being in the frame and no divergence hidden. 0: others run
   * now, or nobody: state->next. */
  uint32_t (*sync)(struct mx_exec *x, uint32_t pc, struct mx_jit_state *state);
  /* x->tmp: addresses whose shape for the lanes of `mask` takes their place. form: twice the lanes of a chunk, + 1 if they have 64 bits. */
  uint32_t (*shape)(struct mx_exec *x, uint32_t form, uint64_t mask);
};

struct mx_jit_state {
  const struct mx_jit_help *help;
  uint64_t mask;   /* out: lanes of the split that goes on, to check the replay */
  uint64_t steps;  /* out: instructions executed */
  unsigned char *keep; /* in: where code keeps its state at barriers */
  uint32_t park;       /* in: whether it may */
  const struct mx_insn *next; /* out, NEXT only */
  uint32_t resume; /* out, BARRIER only */
  uint32_t pc, nrec;
  struct mx_jit_rec rec[MX_JIT_DEPTH]; /* outermost first */
};

/* Runs the current split from entry number `entry` until something happens; slots, slice are then what the
 * interpreter's would be. */
typedef uint32_t (*mx_jit_fn)(struct mx_exec *x, uint32_t entry, struct mx_jit_state *state);

extern const struct mx_jit_help mx__jit_help;
uint32_t mx__jit_shape(struct mx_exec *x, uint32_t form, uint64_t mask);
/* Where a frame keeps compiled code's own state, if it was made with room for it. */
static inline unsigned char *mx__jit_keep(struct mx_frame *f) { return f->slots + f->fn->frame_bytes; }

/* Loaded code of one function. */
struct mx_jit_code {
  mx_jit_fn run;
  uint32_t nentries;
  const uint32_t *pcs; /* by entry number, ascending */
  uint32_t keep_bytes; /* of state->keep */
  bool clean;          /* the function's slots must be zero where it begins */
  atomic_bool attached; /* all its entries lead to it */
};

/* What compiled code assumes of these structures, as one number: code made under another one is not used. */
static inline uint64_t mx__jit_layout(void) {
#define X_(m_) offsetof(struct mx_exec, m_)
#define P_(m_) offsetof(struct mx_pfunc, m_)
#define I_(m_) offsetof(struct mx_insn, m_)
#define S_(m_) offsetof(struct mx_jit_state, m_)
  const size_t all[] = {8, X_(base), X_(mask), X_(slice), X_(fn), X_(join_pc), X_(bounds), X_(window), X_(sreg), X_(sreg_lanes32),
                        X_(sreg_lanes64), X_(frame), X_(warp), X_(tmp), offsetof(struct mx_warp, live), P_(index_of_pc), P_(insns), P_(off_r32), P_(off_r64), P_(off_spred), P_(off_s32), P_(off_s64),
                        P_(first_bounds), sizeof(struct mx_insn), I_(o), I_(off), sizeof(struct mx_bounds), offsetof(struct mx_bounds, lo),
                        offsetof(struct mx_bounds, span), offsetof(struct mx_bounds, off), offsetof(struct mx_bounds, kind),
                        offsetof(struct mx_bounds, writable), sizeof(struct mx_jit_rec), S_(help), S_(mask), S_(steps), S_(pc), S_(nrec), S_(rec), S_(keep), S_(resume), S_(park)};
#undef X_
#undef P_
#undef I_
#undef S_
  uint64_t h = 14695981039346656037u;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) h = (h ^ all[k]) * 1099511628211u;
  return h;
}

/* Enters compiled code of x->fn at the entry for instruction i's pc (i is an entry) and does what followed from it: as
 * a body, the next instruction or NULL. Where nothing was executed, runs i's own body. */
const struct mx_insn *mx__jit_enter(struct mx_exec *x, const struct mx_jit_code *code, uint32_t entry, const struct mx_insn *i);
/* The second half of it: code was entered at i's pc, left with `kind` and *s. */
const struct mx_insn *mx__jit_after(struct mx_exec *x, uint32_t kind, const struct mx_jit_state *s, const struct mx_insn *i);

#endif

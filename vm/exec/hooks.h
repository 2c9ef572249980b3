/* What a running launch tells a debugging session, and asks it. The session (vm/debug/) fills the table; the machine
 * below it knows no more of it than this. A launch without a session has launch->debug NULL and calls none of these. */
#ifndef MX_VM_HOOKS_H
#define MX_VM_HOOKS_H

#include "exec.h"
#include "jitabi.h"
#include "launch.h"

struct mx_hooks {
  /* Turns. A warp's turn in block b begins: a point at which the launch can be recorded and resumed. */
  void (*turn)(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
  /* A warp's slice has ended and the same warp goes on. The session may ask the launch to pause. */
  void (*went_on)(struct mx_debug *g, const struct mx_exec *x);
  /* All lanes of block b spin or wait. */
  void (*parked)(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
  /* A block's turn has ended because everything was stopped, or (b NULL) all blocks have ended. Returns a block if the
   * launch has been taken back to a moment at which that one runs. */
  struct mx_block *(*stopped)(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);

  /* Memory. Whether the session needs to know about writes at all. */
  bool (*sees_writes)(const struct mx_debug *g);
  /* Lanes m are about to write `bytes` at host[]; addresses are as the program computed them, plus base. */
  void (*writes)(struct mx_exec *x, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes,
                 unsigned char *const *host);
  /* The block's shared memory is about to be cleared. */
  void (*clears)(struct mx_debug *g, struct mx_block *b);

  /* Compiled code. Whether blocks may begin in it now (compiled_block.c). */
  bool (*may_run_compiled)(const struct mx_debug *g, const struct mx_exec *x);
  /* Compiled code begins to run in the current frame. */
  void (*enters_compiled)(struct mx_exec *x);
  /* A block has run so many instructions in compiled code; the last one may have trapped. */
  void (*ran_compiled)(struct mx_debug *g, struct mx_exec *x, uint64_t steps, bool trapped);
  /* Whether instruction i, before which compiled code was left, can simply be executed: no breakpoint is to be
   * tested. */
  bool (*unwatched)(const struct mx_debug *g, const struct mx_exec *x, const struct mx_insn *i);

  /* Whether the user wants a stop while the session waits for its code. */
  bool (*paused)(const struct mx_debug *g);

  /* Several workers. So many blocks are left, and the session's worker x pauses: whether other workers may join it. */
  bool (*joins)(struct mx_debug *g, struct mx_exec *x, uint64_t blocks);
  /* One of them begins to run. */
  void (*helps)(const struct mx_debug *g, struct mx_exec *x);
  /* The session's worker is alone again; the others have executed so many instructions. */
  void (*parts)(struct mx_debug *g, const struct mx_exec *x, uint64_t others);
  /* A worker has trapped: whether it is to pause instead, so that the session's own worker comes to the same trap. */
  bool (*rests)(const struct mx_debug *g, struct mx_launch *l);
  /* digest: a hash (not 0) of all registers and places of the block's lanes. The other, while several workers run: all
   * its lanes spin or wait and have that hash; called by one worker at a time. */
  uint64_t (*digest)(const struct mx_block *b);
  void (*spun)(struct mx_debug *g, struct mx_launch *l, const struct mx_block *b, uint64_t digest);

  /* The device is being freed: the session ends. */
  void (*close)(struct mx_debug *g);
};

struct mx_access {
  uint64_t lanes;
  const uint64_t *address; /* by lane, as the program computed it; with base added it is generic */
  uint64_t base;
  uint64_t bytes; /* for each lane */
  unsigned char *const *host;
  bool write;
};

/* What a running launch tells a tool that observes all of it, such as a profile or a checker. The tool also prepares
 * the code, so each instruction may lead to a body of its own. A launch without a tool has launch->probe NULL and calls
 * none; entries that a tool does not need are NULL.
 *
 * Memory: if a tool observes accesses, bounds are not cached, so that every access goes through mx__access_find or
 * mx__access_range, which report it. */
struct mx_probe {
  /* The body that replaces an instruction's own, where the machine fetches it from elsewhere than the prepared code. */
  mx_body body;
  /* A worker begins; it ends. False: out of memory. */
  bool (*begins)(struct mx_exec *x);
  void (*ends)(struct mx_exec *x);
  /* A block object is created, and freed; block number b->index starts in it, and has ended. */
  bool (*block_new)(struct mx_block *b);
  void (*block_free)(struct mx_block *b);
  void (*block_starts)(struct mx_block *b);
  void (*block_ended)(struct mx_exec *x, struct mx_block *b);
  /* arrives: the current warp has arrived at barrier `number` by instruction i, and may wait there. The other: the
   * barrier is complete, reported in each block of a cluster. */
  void (*arrives)(struct mx_exec *x, const struct mx_insn *i, uint32_t number, bool waits);
  void (*released)(struct mx_block *b, uint32_t number);

  /* Lanes of instruction i are about to access memory, which has passed all checks. False: not now, the instruction has
   * left with an event. */
  bool (*touches)(struct mx_exec *x, const struct mx_insn *i, const struct mx_access *a);
  /* Lanes `group` of the current warp meet in a .sync operation, for instruction i. */
  void (*meets)(struct mx_exec *x, const struct mx_insn *i, uint64_t group);

  /* Compiled code made for the tool (mx_launch.counts) is about to run the current split from instruction i on; NULL:
   * all lanes of a warp, at its beginning or behind a wait. False: out of memory. */
  bool (*enters)(struct mx_exec *x, struct mx_jit_state *s, const struct mx_insn *i);
  /* It has returned with *s, which the machine has not processed yet. */
  void (*ran)(struct mx_exec *x, uint32_t kind, const struct mx_jit_state *s);
  /* As in mx_jit_help. */
  void (*diverged)(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps, uint32_t block);
  uint32_t (*accessed)(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask, uint64_t number,
                       uint32_t one);
  /* The current split is at an entry of compiled code. True: the interpreter is to go on with it instead. */
  bool (*stays)(struct mx_exec *x);
  /* Compiled code has been left for that reason; the next instruction is i of the current function, if any. */
  void (*left)(struct mx_exec *x, enum mx_exit_reason why, const struct mx_insn *i);
};

/* Calls an entry of the table, if the launch has a tool and the tool has that entry. */
#define MX_TELL(launch_, what_, ...) \
  do { \
    if ((launch_)->probe && (launch_)->probe->what_) (launch_)->probe->what_(__VA_ARGS__); \
  } while (0)
static inline bool mx__sees_accesses(const struct mx_launch *l) { return l->probe && l->probe->touches; }

/* Gives `body` to those instructions of p that `wanted` accepts; it runs an instruction's own body by mx__own_body. It
 * is also the body that compiled code calls for such an instruction. */
static inline void mx__observe(struct mx_prepared *p, mx_body body,
                               bool (*wanted)(const void *user, const struct mx_insn *i), const void *user) {
  for (uint32_t f = 0; f < p->nfuncs; f++)
    for (uint32_t k = 0; p->funcs[f].insns && k < p->funcs[f].ninsns; k++) {
      struct mx_insn *i = &p->funcs[f].insns[k];
      if (i->kind == MX_INSN_OP && wanted(user, i)) i->fn = p->funcs[f].body_of[k] = body;
    }
}
static inline mx_body mx__own_body(const struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_level *level = x->prep->level;
  return (i->guard == MX_GUARD_NONE ? level->unguarded : level->bodies)[i->op];
}

/* The body of instruction i itself, even if an entry of compiled code is there. */
static inline mx_body mx__body_without_code(const struct mx_exec *x, const struct mx_insn *i) {
  return x->probed ? x->launch->probe->body : x->fn->body_of[i - x->fn->insns];
}

#endif

/* What a running launch tells a debugging session, and asks it. The session (vm/debug/) fills the table; the machine
 * below it knows no more of it than this. A launch without a session has launch->debug NULL and calls none of these. */
#ifndef MX_VM_HOOKS_H
#define MX_VM_HOOKS_H

#include "exec.h"
#include "jitabi.h"
#include "launch.h"

struct mx_hooks {
  /* Turns. The turn of a warp of block b begins: a place where the launch can be recorded and taken up again. */
  void (*turn)(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
  /* A warp's slice has ended and the same warp goes on. The session may ask the launch to rest. */
  void (*went_on)(struct mx_debug *g, const struct mx_exec *x);
  /* Everybody in block b spins or waits. */
  void (*parked)(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
  /* A block's turn has ended with everybody stopped, or (b NULL) all blocks have ended. Returns a block when the launch
   * has been taken back to where that one runs. */
  struct mx_block *(*stopped)(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);

  /* Memory. Whether the session wants to know of writes at all. */
  bool (*sees_writes)(const struct mx_debug *g);
  /* Lanes m are about to write `bytes` at host[]; addresses are as the program computed them, plus base. */
  void (*writes)(struct mx_exec *x, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes,
                 unsigned char *const *host);
  /* The block's shared memory is about to be cleared. */
  void (*clears)(struct mx_debug *g, struct mx_block *b);

  /* Compiled code. Whether blocks may begin in it now (compiled_block.c). */
  bool (*may_run_compiled)(const struct mx_debug *g, const struct mx_exec *x);
  /* It begins to run in the current frame. */
  void (*enters_compiled)(struct mx_exec *x);
  /* A block ran in it for so many instructions; the last one may have trapped. */
  void (*ran_compiled)(struct mx_debug *g, struct mx_exec *x, uint64_t steps, bool trapped);
  /* Whether instruction i, which the code was left before, simply runs: the session has nothing to ask there. */
  bool (*unwatched)(const struct mx_debug *g, const struct mx_exec *x, const struct mx_insn *i);

  /* Somebody wants it to stop, while it waits for its code. */
  bool (*paused)(const struct mx_debug *g);

  /* Several workers. So many blocks are left, and the session's worker x rests: whether the others join it. */
  bool (*joins)(struct mx_debug *g, struct mx_exec *x, uint64_t blocks);
  /* One of them begins. */
  void (*helps)(const struct mx_debug *g, struct mx_exec *x);
  /* The session's worker is alone again; the others have executed so many instructions. */
  void (*parts)(struct mx_debug *g, const struct mx_exec *x, uint64_t others);
  /* A worker has trapped: whether it is to rest instead, so that the session's own worker comes to the same trap. */
  bool (*rests)(const struct mx_debug *g, struct mx_launch *l);
  /* What all registers and places of the block's lanes come to (not 0), and, while several workers run, that everybody
   * in it spins or waits with such a digest; one calls at a time. */
  uint64_t (*digest)(const struct mx_block *b);
  void (*spun)(struct mx_debug *g, struct mx_launch *l, const struct mx_block *b, uint64_t digest);

  /* The device goes away: the session ends. */
  void (*close)(struct mx_debug *g);
};

struct mx_access {
  uint64_t lanes;
  const uint64_t *address; /* by lane, as the program computed it; plus base it is generic */
  uint64_t base;
  uint64_t bytes; /* of each lane */
  unsigned char *const *host;
  bool write;
};

/* What a running launch tells a tool that looks at all of it, such as a profile or a checker. The tool also prepares
 * the code, so each instruction may lead to a body of its own. A launch without a tool has launch->probe NULL and calls
 * none; a tool leaves out what it does not want to hear of.
 *
 * Memory: where a tool wants to hear of accesses, bounds are not remembered, so that all of them come by
 * mx__access_find or mx__access_range, which tell of it. */
struct mx_probe {
  /* What an instruction does in place of its own body, where the machine goes round the prepared code. */
  mx_body body;
  /* A worker begins, and ends. False: out of memory. */
  bool (*begins)(struct mx_exec *x);
  void (*ends)(struct mx_exec *x);
  /* A block object is made, and goes; block number b->index starts in it, and has ended. */
  bool (*block_new)(struct mx_block *b);
  void (*block_free)(struct mx_block *b);
  void (*block_starts)(struct mx_block *b);
  void (*block_ended)(struct mx_exec *x, struct mx_block *b);
  /* The current warp has arrived at barrier `number` by instruction i, and may wait there; the barrier is
   * complete, in each block of a cluster by itself. */
  void (*arrives)(struct mx_exec *x, const struct mx_insn *i, uint32_t number, bool waits);
  void (*released)(struct mx_block *b, uint32_t number);

  /* Lanes of instruction i are about to touch memory; all of it is there and may be touched so. False: not now; the
   * instruction has given up control. */
  bool (*touches)(struct mx_exec *x, const struct mx_insn *i, const struct mx_access *a);
  /* Lanes `group` of the current warp meet in a .sync operation, for instruction i. */
  void (*meets)(struct mx_exec *x, const struct mx_insn *i, uint64_t group);

  /* Compiled code, made for the tool (mx_launch.counts), is about to run for the current split, from instruction i on;
   * NULL: with all lanes of a warp, where that begins or has waited. False: out of memory. */
  bool (*enters)(struct mx_exec *x, struct mx_jit_state *s, const struct mx_insn *i);
  /* It has returned with *s, before the machine does anything with that. */
  void (*ran)(struct mx_exec *x, uint32_t kind, const struct mx_jit_state *s);
  /* As in mx_jit_help. */
  void (*diverged)(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps, uint32_t block);
  uint32_t (*accessed)(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask, uint64_t number,
                       uint32_t one);
  /* The current split is at an entry of compiled code: true if the interpreter is to go on with it instead. */
  bool (*stays)(struct mx_exec *x);
  /* Compiled code has been left, for that reason; what comes next is instruction i of the current function, if any. */
  void (*left)(struct mx_exec *x, enum mx_exit_reason why, const struct mx_insn *i);
};

/* The call, where a launch has a tool that wants it. */
#define MX_TELL(launch_, what_, ...) \
  do { \
    if ((launch_)->probe && (launch_)->probe->what_) (launch_)->probe->what_(__VA_ARGS__); \
  } while (0)
static inline bool mx__sees_accesses(const struct mx_launch *l) { return l->probe && l->probe->touches; }

/* Instructions of p for which `wanted` says so get `body`, which runs the instruction's own by mx__own_body. Where
 * compiled code has an instruction done by its body, it is this one. */
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

/* What instruction i does, whatever compiled code its place leads to. */
static inline mx_body mx__body_without_code(const struct mx_exec *x, const struct mx_insn *i) {
  return x->probed ? x->launch->probe->body : x->fn->body_of[i - x->fn->insns];
}

#endif

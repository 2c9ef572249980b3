/* The machine while it runs: prepared code, frames, splits, joins, warps, and the context that both engines share.
 *
 * Compiled code (jit/) works on exactly these structures: their layout is part of the JIT cache key. Rules:
 *  - A split's state (pc, mask, frame) is up to date at safepoints and whenever a body returns NULL.
 *  - x->slice counts down at every taken backward branch (target pc <= pc of the branch; once per branch executed,
 *    also when only some lanes take it) and at every call, in both engines alike; at 0 the engine stops *after* the
 *    branch or call, at the target, with MX_EV_SLICE. Nothing else preempts. So schedules are the same in both engines.
 *  - A warp's divergence may be hidden inside an engine that keeps the same order (order.h) and can reconstruct the
 * splits. */
#ifndef MX_VM_EXEC_H
#define MX_VM_EXEC_H

#include "core/module.h"

#include <stdatomic.h>

struct mx_launch; /* vm/exec/launch.h */
struct mx_level;
struct mx_tile_plan;
struct mx_tile_regs;
struct mx_block;
struct mx_row_copy;
struct mx_image_form;
struct mx_sampler_form;
struct mx_samples;
struct mx_warp;
struct mx_exec;
struct mx_insn;

#define MX_ACCESS_SIZES 6 /* of a load or store: from 1 byte a lane to 32, which is four elements of 64 bits */
#define MX_ROWS 3         /* rows of threads in a warp: whole, half or a quarter of its lanes */
#define MX_SLICE 1024     /* backward branches and calls until the next warp has its turn */
/* How many slices a warp may spin before lanes that wait at a join are released: a long loop alone is no deadlock. The
 * number is halved after each release: a warp whose lanes waited for one another once is likely to do so again, as at a
 * lock. */
#define MX_SPIN_LIMIT 16

/* ---- prepared code (vm/load/prepare.c) ---------------------------------------------------------------------
 * One body of the interpreter. Executes *i for the current split of x and returns the next instruction, or NULL with
 * x->event set. */
typedef const struct mx_insn *(*mx_body)(struct mx_exec *x, const struct mx_insn *i);

/* Operand reference: byte offset from x->base[ref & 1]: even: the frame's slots, odd: the function's literal pool
 * (broadcast to all lanes), whose literals therefore begin one byte behind its start. Raw operands are the field
 * itself. */
typedef int32_t mx_ref;

struct mx_insn {
  mx_body fn;
  uint16_t op;
  uint8_t mod, guard; /* guard: the predicate's number, or MX_GUARD_NONE */
  uint8_t guard_neg, nopnds;
  uint16_t kind;  /* enum mx_insn_kind: pseudo-instructions have no opcode */
  uint32_t pc;    /* word number in the function */
  uint32_t index; /* memory: its bounds cache's number; branch: the target instruction's; call: the callee's */
  union {
    uint32_t reconv; /* branch: reconvergence pc */
    uint32_t rank;   /* JOIN: of its block, see order.h */
  };
  mx_ref o[7];
  int64_t off;        /* memory: offset; MOVI: the value */
  const mx_ref *more; /* all operands, where there are more than seven; calls: results, then arguments */
};
enum mx_insn_kind {
  MX_INSN_OP,
  MX_INSN_JOIN /* at a place where lanes meet, before its instruction; index: number of the join, or MX_NO_JOIN */
};
#define MX_NO_JOIN UINT32_MAX

/* The reference of operand k of an instruction that may have more than seven; not for calls. */
static inline mx_ref mx__operand_ref(const struct mx_insn *i, size_t k) { return k < 7 ? i->o[k] : i->more[k]; }

struct mx_jit_code; /* jit/: loaded code of one function */
struct mx_jit_access;

struct mx_pfunc {
  const struct mx_func *func;
  uint32_t number; /* in the image */
  struct mx_insn *insns;
  uint32_t ninsns;
  uint32_t *index_of_pc; /* by pc: the index into insns (of the JOIN if there is one); UINT32_MAX for extension words */
  unsigned char *pool;   /* literals, one copy for each lane, from pool + 1 on */
  uint32_t off_r32, off_r64, off_spred, off_s32, off_s64; /* byte offsets in a frame; predicates begin at 0 */
  uint32_t frame_bytes;
  mx_ref *more;
  uint32_t first_bounds, nbounds; /* its memory instructions' bounds caches */
  uint32_t *rank;                 /* by pc: the rank of its block in the order in which splits run: see order.h */
  uint32_t *join_pc, njoins;      /* by number: the pc where branches reconverge; MX_PC_RET: the return */
  uint32_t off_joins;             /* offset in a frame: for each join a mask of the lanes that are expected there */
  /* The kernel's compiled code. body_of[] keeps the bodies that were replaced at its entries. */
  struct mx_jit_code *_Atomic jit;
  mx_body *body_of;
  uint32_t *entry_of; /* by instruction: the number of the entry there; NULL before code is attached */
};

struct mx_prepared { /* a kernel with all functions that it may call; shared, and read-only except for jit */
  const struct mx_image *image;
  const struct mx_level *level;
  uint32_t kernel, lanes;
  bool clocks;  /* warps keep clocks, since the module reads them */
  bool crosses; /* some instruction reads values of other lanes */
  struct mx_pfunc *funcs;
  uint32_t nfuncs; /* by image number; insns NULL where not reachable */
  uint32_t nbounds;
  _Atomic uint32_t *lane_costs; /* of each, what workers have measured: lanes_cost of struct mx_bounds; lane_loops.h */
  uint64_t stack_bytes;         /* the most local memory that a lane's frames can take; UINT64_MAX: not known */
  uint32_t shared_static;       /* bytes; dynamic shared memory begins here */
  uint32_t *shared_offset;      /* by variable number */
  const uint64_t *var_address;  /* by variable number: address in its own space (global, const) */
  void *memory;
};

/* ---- a warp --------------------------------------------------------------------------------------------*/
struct mx_frame {
  struct mx_frame *parent;
  const struct mx_pfunc *fn;
  uint32_t call; /* index of the call instruction in the parent's code */
  uint32_t depth;
  uint64_t lanes;                 /* the lanes that have not returned */
  uint32_t open;                  /* how many joins have expected lanes */
  uint64_t local_base, local_dyn; /* local memory: where the frame's begins; how many bytes alloca has added */
  size_t size;                    /* of the allocation, for the free list */
  uint32_t compiled;              /* sessions: the number of the compiled code that ran in it last; 0: none */
  _Alignas(64) unsigned char slots[];
};

enum mx_split_state { MX_RUNNABLE, MX_WAIT_SYNC, MX_WAIT_BAR, MX_WAIT_MBARRIER };
/* Lanes of one frame at one pc. At a join where they are expected they wait until all expected lanes have come: see
 * mx__waits_at_join(). */
struct mx_split {
  uint32_t pc;
  uint8_t state;
  bool spun;    /* it has used up a slice since another split last ran */
  bool returns; /* the return at pc has been executed, and its lanes wait for the others to return together */
  uint64_t mask;
  struct mx_frame *frame;
  uint64_t sync_mask; /* MX_WAIT_SYNC: the membermask, the same for all lanes of the split; MX_WAIT_MBARRIER: host
                         address of the object */
  uint32_t barrier;   /* MX_WAIT_BAR */
};

/* The array comes last: while lanes are together only splits[0] is in use, and it then lies right behind the small
 * fields, with which it is read. */
struct mx_warp {
  uint32_t number;
  uint32_t nsplits;
  uint64_t live;          /* lanes that have not exited */
  uint32_t spins;         /* turns at the end of which all splits were spinning, since a join last released lanes */
  uint32_t spin_limit;    /* how many such turns there may be before a join releases its lanes */
  uint64_t clock;         /* %clock64, where clocks are kept */
  unsigned char *local;   /* local memory, one lane's behind another's, each launch->local_bytes long */
  const uint32_t *tid[3]; /* for each dimension an array by lane */
  bool ran_jit;
  uint32_t resume; /* not 0: the frame's state is in compiled code's form, and this is the entry at which it resumes */
  struct mx_split splits[MX_MAX_LANES]; /* unordered: see mx__next_split() */
};
#define MX_CLOCK_START (UINT64_C(1) << 40) /* not 0: a kernel that drops the upper half of a clock should notice */

/* ---- memory as the engines see it (filled by vm/exec/access.c) ---------------------------------------------------
 * An access of n bytes at address a is inside if a - lo <= span - n (unsigned; span >= n). Its bytes are at
 * x->window[kind] + off + (a - lo); local memory adds lane * x->local_stride. Addresses are generic ones for generic
 * accesses and global ones alike; for .shared .local .const .param accesses they are offsets in the window. */
struct mx_bounds {
  uint64_t lo, span, off;
  uint16_t kind; /* enum mx_space, never generic */
  uint16_t writable;
  /* in the first access of a loop: how often compiled code does not run that loop lane by lane
   * (jit/compiler/scalar_loops.c) */
  uint32_t lanes_off;
  /* measured time of a round in either form; loops until the other form is tried again: lane_loops.c */
  uint32_t lanes_cost[2], lanes_left;
  uint64_t last; /* where the last row that the interpreter accessed here began */
  /* For compiled code, to which local memory is never a row of this: host address of device address 0; the span in
   * which it may read or write, or 0. */
  uint64_t host, reads, writes;
  /* Of a load or store, for compiled code: how many addresses from `lo` on, in steps of the bytes that a lane accesses,
   * may be where one lane [0] begins, or a row of lanes >> k [1 + k]. All are 0 if `lo` is not aligned to these bytes.
   */
  uint64_t starts[1 + MX_ROWS];
  uint32_t scattered; /* how many of the interpreter's next accesses count as scattered without being tested */
};

/* ---- the context of one worker ---------------------------------------------------------------------------*/
enum mx_exit_event {
  MX_EV_NONE,
  MX_EV_SLICE,   /* slice used up; split saved */
  MX_EV_RESCHED, /* the current split is gone or waits: select another one */
  MX_EV_TRAP,    /* x->launch has the record */
  /* all warps of the block have arrived at a barrier, the current one last; its split is saved behind the barrier */
  MX_EV_ALL_ARRIVED,
  MX_EV_BREAK, /* a debugger takes control; split saved before the instruction */
  /* a fallback had no effect because it needs x->warp, which is stale: call mx__chain_refresh() */
  MX_EV_STALE_WARP,
};

/* %lanemask_eq, le, lt, ge, gt, in the order that they have in sregs.def, for either width. */
enum { MX_LANE_MASKS = 5 };
static inline uint64_t mx__lane_mask(unsigned which, unsigned lane) {
  const uint64_t own = 1ull << lane, before = own - 1;
  switch (which) {
  case 0: return own;
  case 1: return before | own;
  case 2: return before;
  case 3: return ~before;
  default: return ~(before | own);
  }
}

struct mx_exec {
  unsigned char *base[2]; /* current frame's slots; current function's literal pool */
  uint64_t mask;          /* of the current split */
  uint64_t full;          /* all lanes of a warp: 32 or 64 ones */
  uint32_t lanes;
  int32_t slice, reserve; /* slice + reserve: what is left of MX_SLICE */
  struct mx_split *split; /* the current one, in warp->splits */
  struct mx_frame *frame;
  const struct mx_pfunc *fn;
  /* at joins of this rank or a higher one, the scheduler of splits decides who goes first: see
   * mx__find_resched_rank() */
  uint32_t resched_rank;
  uint32_t event;
  struct mx_warp *warp;
  bool frame_dirty; /* compiled code has stored values in the current frame's slots, not only in state->spill_area */
  uint32_t warps_begun, warps_allowed; /* warps started past x->warp inside compiled code; warps that it may still
                                          start: compiled_block.h */
  /* struct mx_warp_chain of jitabi.h, if compiled code goes from barrier to barrier by itself; or NULL */
  struct mx_warp_chain *chain;
  struct mx_block *block;
  struct mx_launch *launch;
  struct mx_prepared *prep;
  struct mx_bounds *bounds;         /* prep->nbounds of them, this worker's own */
  unsigned char *window[MX_SPACES]; /* host base of each space's window for the current warp */
  /* of the block's shared memory, as in struct mx_bounds, for accesses of 1 << n bytes a lane */
  uint64_t shared_starts[MX_ACCESS_SIZES][1 + MX_ROWS];
  uint64_t local_stride;
  uint64_t steps; /* warp instructions retired (compiled code adds a region at a time) */
  uint64_t steps_limit;
  uint64_t stops;    /* sessions: which of the code's stops are enabled, by number modulo 64 */
  _Atomic int *stop; /* polled when a slice ends */
  /* Special registers: [MX_SR_COUNT] values of the uniform ones; those that differ between lanes are arrays in
   * sreg_lanes. */
  uint64_t sreg[MX_SR_COUNT];
  const uint32_t *sreg_lanes32[MX_SR_COUNT];
  const uint64_t *sreg_lanes64[MX_SR_COUNT];
  struct mx_frame *free_frames; /* linked by parent */
  uint32_t tid_rows;            /* whether %tid.x increases by one from lane to lane, in all warps */
  void *lane_tables;            /* the arrays of sreg_lanes, except thread numbers */
  bool in_compiled;             /* the current body was called by compiled code */
  bool jit_off;                 /* this launch is interpreted, even if code is attached */
  /* of a fallback: the operands that are uniform and of which only lane 0's copy exists */
  uint32_t uniform_operands;
  bool stress; /* --jit-stress: engines change at random safepoints */
  uint64_t rng;
  /* short sleeps since the block's turn began, and how many it may take before other blocks have theirs */
  uint32_t naps, most_naps;
  struct mx_exec_stats {
    uint64_t warps, warps_compiled, splits, rejoins, enters, exits[8], pmevents[16], steps_compiled, bodies;
  } stats;
  uint64_t steps_published;  /* how many of `steps` have been added to the launch's */
  unsigned char *spill_area; /* where compiled code finds and leaves its values: see jitabi.h */
  size_t spill_bytes;
  struct mx_kept_stores *kept;                          /* stores of lanes that run one by one: lane_loops.h; or NULL */
  unsigned char *kept_local;                            /* for the same, a copy of local memory; or NULL */
  struct mx_probed_worker *probed;                      /* a tool's data about this worker: hooks.h */
  _Alignas(64) unsigned char tmp[8 * MX_MAX_LANES * 4]; /* results before blending; lane arrays for helpers */
  /* for lanes that run one by one: events of a round, as bits, by how many rounds are left; all 0 outside of such loops
   */
  uint64_t visits[MX_SLICE];
};

/* A worker's context for a launch; l->jit_stress seeds its random switching of engines. False: out of memory. */
bool mx__exec_init(struct mx_exec *x, struct mx_launch *l);
/* Adds the worker's statistics to the launch's, and frees what it owns. */
void mx__exec_done(struct mx_exec *x);

/* ---- what both engines call: warp.c, and end.c (mx__exit_lanes) ------------------------------------------------*/
/* The instruction at a split's pc. */
static inline const struct mx_insn *mx__at(const struct mx_pfunc *fn, uint32_t pc) {
  return &fn->insns[fn->index_of_pc[pc]];
}
/* A branch at which the lanes of x->mask go n ways, 2 at least: makes a split for each, expects all at `reconv`, and
 * selects the one to run. Returns its instruction, or NULL (x->event: RESCHED). */
struct mx_way {
  uint64_t lanes;
  uint32_t pc;
};
const struct mx_insn *mx__diverge(struct mx_exec *x, const struct mx_way *ways, unsigned n, uint32_t reconv);
/* The number of the join at pc, or MX_NO_JOIN. */
uint32_t mx__join_at(const struct mx_pfunc *fn, uint32_t pc);
/* Lanes m are expected at the join at pc, in frame f. */
void mx__expect_lanes(struct mx_frame *f, uint32_t pc, uint64_t m);
/* The current split has come to i, a place where lanes meet. Returns the next instruction, or NULL. */
const struct mx_insn *mx__meet(struct mx_exec *x, const struct mx_insn *i);
/* Lanes m of the current split end. */
const struct mx_insn *mx__exit_lanes(struct mx_exec *x, uint64_t m);
/* Makes `s` the current split. */
void mx__select(struct mx_exec *x, struct mx_split *s);
/* Saves the current split at pc and returns to the scheduler with `event`. Always NULL. */
const struct mx_insn *mx__leave(struct mx_exec *x, uint32_t pc, enum mx_exit_event event);

static inline uint64_t mx__random(struct mx_exec *x) { /* splitmix64 */
  uint64_t z = x->rng += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* Runs a statement for the number of each lane in a mask. */
#define MX_FOR_LANES(l_, m_) \
  for (uint64_t m__##l_ = (m_), l_; m__##l_ && (l_ = (uint64_t)__builtin_ctzll(m__##l_), 1); m__##l_ &= m__##l_ - 1)

/* Bodies by opcode for one CPU level, which is chosen once. */
struct mx_level {
  const char *name;
  const mx_body *bodies;                                              /* [MX_OP_COUNT] */
  const mx_body *unguarded;                                           /* the same, for instructions without a guard */
  uint32_t (*shape)(struct mx_exec *x, uint32_t form, uint64_t mask); /* of struct mx_jit_help */
  bool (*access)(struct mx_exec *x, const struct mx_jit_access *a, unsigned char *spill_area,
                 uint64_t mask); /* lanes/direct.c; false: nothing was done, and the body has to do it */
  void (*tile_mma)(const struct mx_tile_plan *p, const struct mx_tile_regs *r); /* vm/exec/tile.h */
  void (*tile_load)(const struct mx_tile_plan *p, const unsigned char *host, uint64_t pitch, bool along,
                    void *const *d);
  /* Of async.h. land_rows: copies of a ring from number `first` up to `end` land. The other: finds out whether the
   * lanes of an instruction form rows. */
  void (*land_rows)(const struct mx_row_copy *ring, uint32_t mask, uint32_t first, uint32_t end, unsigned lanes);
  bool (*copy_rows)(const struct mx_exec *x, const struct mx_insn *i, struct mx_row_copy *c);
  bool (*sample)(const struct mx_image_form *f, const struct mx_sampler_form *s, struct mx_samples *at, unsigned n,
                 uint64_t mask, uint32_t *const out[4], uint64_t *odd); /* lanes/samples.h */
};
/* NULL: the best level of this CPU; returns NULL for an unknown or unsupported name */
const struct mx_level *mx__level(const char *name);
/* the CPU's best level, whether or not this build includes it; NULL: none but plain */
const char *mx__level_of_cpu(void);

#endif

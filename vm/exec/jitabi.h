/* What compiled code and the machine agree on beyond exec.h: entries, exits, and how a divergence that compiled code
 * had hidden is told to the machine. Plain structures; no compiler appears here. Part of the JIT cache key.
 *
 * A shared object exports, for every compiled function number N of the module,
 *   mx_jit_F<N>        mx_jit_fn
 *   mx_jit_table_F<N>  struct mx_jit_table, and behind it what it counts
 *   mx_jit_live_F<N>   for sessions only: uint64_t[ncode][words], see mx_jit_code; words = (npred + n32 + n64) / 64 + 1
 *   mx_jit_counted_F<N>  of code that counts for a profile only: struct mx_jit_counted, and behind it what it counts
 * and mx_jit_layout, uint64_t: mx__jit_layout() of whoever compiled it. */
#ifndef MX_VM_JITABI_H
#define MX_VM_JITABI_H

#include "async.h"
#include "block.h"
#include "exec.h"
#include "lane_loops.h"
#include "launch.h"

enum mx_jit_exit {
  MX_JIT_GO,      /* the machine executes the instruction at the site's pc */
  MX_JIT_SLICE,   /* the slice ended; the split stands at the site's pc */
  MX_JIT_EVENT,   /* a body gave up control (x->event) at the site's pc */
  MX_JIT_DONE,    /* all lanes of the split have ended, and those of x->warps_begun warps behind it, which began here */
  MX_JIT_BARRIER, /* all of them wait at barrier 0 at state->pc, for all of the block: state->spill_area has what they
                     need at entry `resume` */
  MX_JIT_RETURN,  /* the lanes have executed the return at the site's pc */
  MX_JIT_REFUSED, /* not entered: a slot that should be uniform is not */
  MX_JIT_SITE,    /* this and more: left at the site of that number, whose kind is one of the above */
};

/* How values go between the frame and compiled code: through state->spill_area, where each slot has a cell in which
 * code keeps it as it has it in its vectors. Entries and sites say which slots are live there and in which form. So
 * compiled code moves vectors and nothing else; what lanes it is about, vm/exec/transfer.c knows. */
enum { MX_JIT_LEVEL = 12, MX_JIT_ONE = 1u << 16, MX_JIT_RAW = 2u << 16, MX_JIT_SHAPED = 4u << 16, MX_JIT_CLASS = 24 };
struct mx_jit_location {
  uint32_t slot; /* number, level << MX_JIT_LEVEL, flags, class << MX_JIT_CLASS. Level: of the frame, see mx_jit_frame.
                    ONE: one vector holds it for all lanes. RAW: f32 whose NaNs may not be canonical yet */
  uint32_t offset, shape; /* SHAPED: where the shape of its lanes lies, a struct mx_jit_shape */
};
static inline uint32_t mx__jit_slot_number(const struct mx_jit_location *p) {
  return p->slot & ((1u << MX_JIT_LEVEL) - 1);
}
static inline uint32_t mx__jit_slot_level(const struct mx_jit_location *p) { return p->slot >> MX_JIT_LEVEL & 15; }
struct mx_jit_entry {
  uint32_t pc, first, n;
}; /* its locations */
/* `steps` instructions have been executed since they were counted last, and have moved the clock by `ticks`. mask:
 * where the lanes that run are; 0: all. hidden: what else the machine is told about lanes. */
struct mx_jit_site {
  uint32_t kind, pc, steps, ticks, mask, first, n, first_hidden, nhidden, frame;
};
/* Lanes whose mask lies at `mask`, if there are any: apart from those that run, in the frame of that level, at pc, or
 * having returned there; or expected at the join at pc. */
enum mx_jit_where { MX_JIT_STAND, MX_JIT_RETURNED, MX_JIT_EXPECTED };
struct mx_jit_hidden {
  uint32_t mask, pc, level, what;
};
/* Code may hold calls in line (jit/compiler/inline.h), whose frames there are only when it is left inside of them:
 * number 0, level 0 is the one in which it was entered; the others were called by an instruction of their parent. */
struct mx_jit_frame {
  uint32_t func, parent, level, call;
};
#define MX_JIT_LEVELS 8 /* calls in line inside of one another */
/* Instructions [from, pc] that the interpreter's bodies do in the midst of compiled code: locations of what they read,
 * and of the last one's results. */
struct mx_jit_fallback {
  uint32_t from, pc, first, nin, nout, frame;
};
/* A fallback that ends with a load or store, as a CPU level's function does it without the instruction's body
 * (lanes/direct.c). Elements go from memory to slots or back: their bits and signs, and the bits of slots; into 16
 * bits, signs go up to these. */
enum mx_jit_access_form {
  MX_JIT_U8_32,
  MX_JIT_U8_64,
  MX_JIT_S8_16,
  MX_JIT_S8_32,
  MX_JIT_S8_64,
  MX_JIT_U16_32,
  MX_JIT_U16_64,
  MX_JIT_S16_32,
  MX_JIT_S16_64,
  MX_JIT_B32,
  MX_JIT_U32_64,
  MX_JIT_S32_64,
  MX_JIT_B64
};
struct mx_jit_access {
  uint32_t bytes;              /* of a lane; 0: the fallback is no such access, and all else is 0 */
  uint32_t bounds;             /* in x->bounds */
  int64_t off;                 /* to addresses */
  const unsigned char *pool;   /* the function's literals */
  mx_ref address, value[4];    /* from the spill area's beginning, or the pool's if odd */
  uint8_t n, cell, form;       /* elements, each of so many bytes */
  bool is_store, narrow;       /* narrow: addresses of 32 bits, which wrap */
  bool one_address, one_value; /* of which lane 0's is that of all */
  bool at_once; /* all values are as the spill area has them, and nothing is to be done before or after: enter.c does it
                 */
};
#define MX_JIT_LEAST_LANES 16 /* of a warp that code is made for: what the widest vectors hold */
struct mx_jit_table {
  uint32_t spill_bytes, clean, chunk,
      vector_masks; /* lanes of a chunk; whether masks are vectors, else integers with a bit a lane */
  uint32_t lanes;   /* for blocks of no more threads; or the module's */
  uint32_t waits;   /* at barriers, by itself */
  uint32_t nentries, nsites, nlocations, nhidden, nfallbacks,
      nframes; /* which follow in this order, entries with their pcs ascending */
};

/* Code that counts for a profile adds to a worker's own numbers, which it finds in mx_jit_state. `counts` has a row for
 * each number of active lanes, from 0 on: by block, how often it has been executed to its end; by guard, how often that
 * has held in all active lanes. `sums` has two numbers for each guard: the lanes in which it has held besides, and how
 * often lanes diverged there. Where code is left in the midst of a block, its site says how much of that has been
 * executed. */
struct mx_jit_counted {
  uint32_t nblocks, nins, nsites, nguards; /* which follow in this order, but for the guards */
};
struct mx_jit_counted_block {
  uint32_t first, end;
};
struct mx_jit_counted_ins {
  uint32_t func, pc; /* pc UINT32_MAX: none that the machine counts */
  uint32_t guard;    /* its number, from 1; 0: none */
};
struct mx_jit_counted_site {
  uint32_t block, done;
};

/* Steps: of all lanes of the warp, the number of lane l is that of lane 0 and, for each bit of l, a step of that bit,
 * all of them ascending, as in tiles of any widths. STEP1 << k: the first step is 1 << k; RUN << k: steps 1 to k are
 * each twice the one before. They change as little as distances do. */
enum { MX_JIT_STEP1 = 1 << 8, MX_JIT_RUN = 1 << 16, MX_JIT_STEPS = 6 };
/* Addresses of the lanes that run: bounds, all bits that are set in some, and how they lie in compiled code's chunks of
 * lanes. */
struct mx_jit_shape {
  uint64_t min, max, low, kind;
  uint32_t step[MX_JIT_STEPS]; /* where the kind says so */
};
#define MX_JIT_WANTS_STEPS 256u /* of a form: see mx_jit_help */
enum {
  MX_JIT_SAME = 1,
  MX_JIT_ROWS1 = 2,
  MX_JIT_ROWS4 = 4,
  MX_JIT_ROWS8 = 8,
  MX_JIT_ROWS2 = 16,
  MX_JIT_ROWS16 = 32
}; /* each chunk: one number; 1, 4, 8, 2, or 16 from lane to lane */

struct mx_jit_state;
struct mx_jit_help {
  /* Executes fallback `number` of the table for the lanes of `mask`, of an access to memory for those of them whose
   * guard holds: operands and results are in the spill area, the current warp's. 0: it gave up control. */
  uint32_t (*fallback)(struct mx_exec *x, const struct mx_jit_state *s, unsigned char *spill_area, uint32_t number,
                       uint64_t mask);
  /* x->tmp: addresses whose shape for the lanes of `mask` takes their place. form: twice the lanes of a chunk, +
   * MX_JIT_WANTS_STEPS if these are asked for, + 1 if they have 64 bits. */
  uint32_t (*shape)(struct mx_exec *x, uint32_t form, uint64_t mask);
  /* Of code that counts, where state->shown: lanes of `mask` alone run from here on, where block number `block` begins,
   * `steps` instructions after code was entered. */
  void (*diverged)(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps, uint32_t block);
  /* The same: instruction number `ins` is about to access memory for the lanes of `mask`. one: its address is made of
   * `number` in all of them; else of what lies at x->tmp. Code that a checker watches names the instruction by its pc;
   * 0: the checker wants the body to do it. */
  uint32_t (*accessed)(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask, uint64_t number,
                       uint32_t one);
  /* All lanes of the warp wait for their asynchronous copies but those of the last n groups; 0: nothing is done, the
   * body has to see it. */
  uint32_t (*wait)(struct mx_exec *x, uint32_t n);
  /* Of lanes that run one by one: where MX_KEPT_STORES may be kept; NULL: nowhere. Makes those up to `end`. A loop
   * has gone round so many times. See lane_loops.h. */
  unsigned char *(*keep)(struct mx_exec *x);
  void (*make_kept)(struct mx_exec *x, void *end);
  void (*took)(struct mx_exec *x, uint32_t number, uint32_t form, uint64_t since, uint64_t rounds);
};

struct mx_jit_code;
struct mx_jit_state {
  const struct mx_jit_help *help;
  const struct mx_jit_code *code; /* which runs */
  unsigned char *spill_area;      /* aligned to 64 bytes */
  uint64_t steps;                 /* out: instructions executed */
  uint64_t ticks; /* in: 0; out, where clocks are kept: by what they have moved it. Of one warp: there are no others on
                     the way then */
  uint32_t park;  /* in: whether code may wait at barriers, the spill area being kept for it */
  uint32_t resume, pc; /* out, BARRIER only */
  uint32_t shown;      /* in: whether somebody wants to know when lanes part; this and the next for code that counts */
  uint64_t *counts, *sums;
};

/* A block's warps on their way from their beginning or a barrier 0 to the next one or their end: all are there, with
 * all their lanes, and go on at one entry. Compiled code runs them in turns: from a warp that arrives or ends it goes
 * to the next, and when all have arrived, on with the last. While `stale`, x->warp and what belongs to it are not those
 * of warp `at` yet, see mx__compiled_block_update(). */
#define MX_CHAIN_WARPS 32
struct mx_warp_chain {
  uint32_t n, at;                     /* warps; the current one */
  uint32_t arrived, ended;            /* so many before it have; one of these is 0 */
  uint32_t resume_entry;              /* the entry at which the others go on */
  uint32_t barrier_entry, barrier_pc; /* those that have arrived: the entry behind their barrier, its pc */
  uint32_t arrivals_left, stale;      /* arrivals until vm/exec/compiled_block.c wants to be asked */
  unsigned char *spill_area[MX_CHAIN_WARPS];
  const struct mx_jit_code *code;
  struct mx_frame *frame[MX_CHAIN_WARPS];
  uint32_t nframes; /* for warps that have not begun */
  bool begun;       /* the machine knows of them */
};

/* Runs the current split from entry number `entry` until something happens; slots, slice are then what the
 * interpreter's would be. */
typedef uint32_t (*mx_jit_fn)(struct mx_exec *x, uint32_t entry, struct mx_jit_state *state);

extern const struct mx_jit_help mx__jit_help;
/* Where a frame keeps compiled code's own state, if it was made with room for it. */
static inline unsigned char *mx__jit_spill_in_frame(struct mx_frame *f) { return f->slots + f->fn->frame_bytes; }

/* Loaded code of one function. */
struct mx_jit_code {
  mx_jit_fn run;
  const struct mx_jit_table *table;
  const struct mx_jit_entry *entries;
  const struct mx_jit_site *sites;
  const struct mx_jit_location *locations;
  const struct mx_jit_hidden *hidden;
  const struct mx_jit_fallback *fallbacks;
  const struct mx_jit_frame *frames;
  const struct mx_jit_counted *counted; /* NULL: it does not count */
  const struct mx_jit_counted_block *counted_blocks;
  const struct mx_jit_counted_ins *counted_insns;
  const struct mx_jit_counted_site *counted_sites;
  const uint64_t
      *live; /* sessions only: by pc, a set of the slots that have their values in the frame when code was left there */
  struct mx_jit_inplace *inplace; /* by fallback: how it is done with values in the spill area; inplace.c */
  struct mx_jit_access *accesses; /* by fallback */
  uint32_t spill_bytes, lanes;    /* the table's and what fallbacks need besides; of a warp */
  atomic_bool attached;           /* all its entries lead to it */
};

/* What compiled code assumes of these structures. All that it touches of them stands here: emission says
 * MX_AT(structure, field), which exists for these fields only, and the compiler's sources cannot say offsetof. */
#define MX_JIT_FIELDS(X) \
  X(exec, warps_begun) \
  X(exec, base) \
  X(exec, block) \
  X(exec, bounds) \
  X(exec, fn) \
  X(exec, frame) \
  X(exec, launch) \
  X(exec, mask) \
  X(exec, warps_allowed) \
  X(exec, prep) \
  X(exec, chain) \
  X(frame, depth) \
  X(frame, local_base) \
  X(launch, call_depth) \
  X(launch, local_bytes) \
  X(pfunc, pool) \
  X(prepared, funcs) \
  X(exec, slice) \
  X(exec, sreg) \
  X(exec, sreg_lanes32) \
  X(exec, sreg_lanes64) \
  X(exec, stops) \
  X(exec, tid_rows) \
  X(exec, tmp) \
  X(exec, resched_rank) \
  X(exec, warp) \
  X(exec, window) \
  X(launch, shared_bytes) \
  X(warp, live) \
  X(pfunc, index_of_pc) \
  X(pfunc, insns) \
  X(insn, o) \
  X(insn, off) \
  X(bounds, host) \
  X(bounds, lanes_off) \
  X(bounds, last) \
  X(bounds, lo) \
  X(bounds, reads) \
  X(bounds, writes) \
  X(block, copies) \
  X(warp_copies, committed) \
  X(warp_copies, issued) \
  X(warp_copies, landed) \
  X(warp_copies, mask) \
  X(warp_copies, n) \
  X(warp_copies, room) \
  X(warp_copies, rows) \
  X(row_copy, func) \
  X(row_copy, group) \
  X(row_copy, pc) \
  X(row_copy, at) \
  X(row_copy, row) \
  X(warp_chain, arrived) \
  X(warp_chain, at) \
  X(warp_chain, ended) \
  X(warp_chain, resume_entry) \
  X(warp_chain, spill_area) \
  X(warp_chain, arrivals_left) \
  X(warp_chain, stale) \
  X(warp_chain, n) \
  X(warp_chain, barrier_pc) \
  X(warp_chain, barrier_entry) \
  X(jit_help, accessed) \
  X(jit_help, diverged) \
  X(jit_help, shape) \
  X(jit_help, fallback) \
  X(jit_help, wait) \
  X(jit_help, keep) \
  X(jit_help, make_kept) \
  X(jit_help, took) \
  X(kept_store, host) \
  X(kept_store, key) \
  X(kept_store, value) \
  X(jit_shape, kind) \
  X(jit_shape, low) \
  X(jit_shape, max) \
  X(jit_shape, min) \
  X(jit_shape, step) \
  X(jit_state, counts) \
  X(jit_state, help) \
  X(jit_state, spill_area) \
  X(jit_state, park) \
  X(jit_state, pc) \
  X(jit_state, resume) X(jit_state, shown) X(jit_state, steps) X(jit_state, sums) X(jit_state, ticks)
/* Those that lie in arrays, and those that code comes with. */
#define MX_JIT_SIZES(X) \
  X(insn) \
  X(bounds) \
  X(jit_entry) \
  X(jit_site) \
  X(jit_location) \
  X(jit_hidden) \
  X(jit_fallback) \
  X(jit_frame) \
  X(pfunc) \
  X(warp_copies) \
  X(row_copy) \
  X(jit_table) X(jit_shape) X(jit_counted) X(jit_counted_block) X(jit_counted_ins) X(jit_counted_site)
enum {
#define X(struct_, field_) MX_AT_##struct_##_##field_ = offsetof(struct mx_##struct_, field_),
  MX_JIT_FIELDS(X)
#undef X
};
#define MX_AT(struct_, field_) MX_AT_##struct_##_##field_

/* That as one number: code made under another one is not used. */
static inline uint64_t mx__jit_layout(void) {
  enum { VERSION = 23 }; /* of what the offsets do not tell */
  const size_t all[] = {VERSION,
#define X(struct_, field_) MX_AT(struct_, field_),
                        MX_JIT_FIELDS(X)
#undef X
#define X(struct_) sizeof(struct mx_##struct_),
                            MX_JIT_SIZES(X)
#undef X
  };
  uint64_t h = 14695981039346656037u;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) h = (h ^ all[k]) * 1099511628211u;
  return h;
}

/* Enters compiled code of x->fn at the entry for instruction i's pc (i is an entry) and does what followed from it: as
 * a body, the next instruction or NULL. Where nothing was executed, runs i's own body. */
const struct mx_insn *mx__jit_enter(struct mx_exec *x, const struct mx_jit_code *code, uint32_t entry,
                                    const struct mx_insn *i);
/* The second half of it: code was entered at i's pc, left with `kind` and *s. */
const struct mx_insn *mx__jit_after(struct mx_exec *x, const struct mx_jit_code *code, uint32_t kind,
                                    const struct mx_jit_state *s, const struct mx_insn *i);
/* transfer.c. frames: by level; NULL: x->frame alone. frame_to_spill: slots of the frame into their cells in the spill
 * area; false: a slot that the code takes for uniform is not. results_to_spill: the same for results of a fallback,
 * which are not checked. spill_to_frame: cells back into slots, for the lanes that run. mask: a mask that the code left
 * in the spill area. */
bool mx__jit_frame_to_spill(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                            unsigned char *spill_area);
void mx__jit_results_to_spill(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                              unsigned char *spill_area);
void mx__jit_spill_to_frame(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                            const unsigned char *spill_area, struct mx_frame *const *frames);
uint64_t mx__jit_mask(const struct mx_jit_table *t, const unsigned char *spill_area);
void mx__jit_put_mask(const struct mx_exec *x, const struct mx_jit_table *t, unsigned char *spill_area, uint64_t m);
/* inplace.c. What code's fallbacks take, before it is attached to fn; false: out of memory. Fallback `number` for the
 * lanes of `mask`: false, if it goes through the frame; *done: whether its last body did not give up control. */
bool mx__jit_inplace_make(struct mx_jit_code *code, const struct mx_pfunc *fn, uint32_t lanes,
                          const struct mx_level *level);
void mx__jit_inplace_free(struct mx_jit_code *code);
/* alone: its body looks at nothing but operands, mask and memory, and ends with MX_EV_STALE_WARP, nothing done, where
 * it needs more. */
bool mx__jit_inplace_alone(const struct mx_jit_code *code, uint32_t number);
bool mx__jit_inplace(struct mx_exec *x, const struct mx_jit_code *code, unsigned char *spill_area, uint32_t number,
                     uint64_t mask, bool *done);

/* What the compiler writes behind the code when that is whole: the loader takes nothing else. */
struct mx_jit_signature {
  uint64_t bytes;
  uint8_t digest[16];
  char magic[8];
};
struct mx_jit_signature mx__jit_sign(const void *bytes, size_t size);
size_t mx__jit_signed(const uint8_t *bytes,
                      size_t size); /* how many bytes the signature at the end is for; 0: it is for others */
void mx__jit_digest(uint8_t out[16], const void *bytes, size_t size);

#endif

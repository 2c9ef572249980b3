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
  MX_JIT_GO,    /* the machine executes the instruction at the site's pc */
  MX_JIT_SLICE, /* the slice ended; the split stands at the site's pc */
  MX_JIT_EVENT, /* a body left with x->event at the site's pc */
  MX_JIT_DONE,  /* all lanes of the split have ended, as have x->warps_begun warps behind it, which began here */
  /* all of them wait at barrier 0 at state->pc, for the whole block: entry `resume` goes on with what is in
   * state->spill_area */
  MX_JIT_BARRIER,
  MX_JIT_MBARRIER, /* the same at the mbarrier at state->at; a result is there as if the phase had ended */
  MX_JIT_RETURN,   /* the lanes have executed the return at the site's pc */
  MX_JIT_REFUSED,  /* not entered: a slot that should be uniform is not */
  MX_JIT_SITE,     /* a flag: code was left at the site of that number, whose kind is one of the above */
};

/* How values go between the frame and compiled code: through state->spill_area, where each slot has a cell that holds
 * it in the form of compiled code's vectors. Entries and sites say which slots are live there and in which form. So
 * compiled code only moves vectors; vm/exec/transfer.c translates between these and the lanes of a frame. */
enum {
  MX_JIT_LEVEL = 12,
  MX_JIT_ONE = 1u << 16,
  MX_JIT_RAW = 2u << 16,
  MX_JIT_SHAPED = 4u << 16,
  MX_JIT_RAMP = 8u << 16,
  MX_JIT_SPREAD = 16u << 16,
  MX_JIT_CLASS = 24
};
struct mx_jit_location {
  /* slot: number, level << MX_JIT_LEVEL, flags, class << MX_JIT_CLASS. The level is the frame's, see mx_jit_frame.
   * MX_JIT_ONE: the cell is one vector for all lanes. MX_JIT_RAW: f32 whose NaNs may not be canonical yet.
   * MX_JIT_RAMP: the cell has the number of each row's first lane, in that lane's place; from there on each lane's
   * number is greater by the stride than the one before. MX_JIT_SPREAD: a fallback's operand that is a ramp: such
   * numbers are at `numbers`, and the cell is filled from them before the bodies read it */
  uint32_t slot;
  uint32_t offset;
  union {
    uint32_t shape; /* MX_JIT_SHAPED: where the slot's struct mx_jit_shape is */
    uint32_t numbers;
  };
  uint32_t stride[2]; /* MX_JIT_RAMP, MX_JIT_SPREAD: low and high half */
};
static inline uint32_t mx__jit_slot_number(const struct mx_jit_location *p) {
  return p->slot & ((1u << MX_JIT_LEVEL) - 1);
}
static inline uint64_t mx__jit_stride(const struct mx_jit_location *p) {
  return (uint64_t)p->stride[1] << 32 | p->stride[0];
}
static inline uint32_t mx__jit_slot_level(const struct mx_jit_location *p) { return p->slot >> MX_JIT_LEVEL & 15; }
struct mx_jit_entry {
  uint32_t pc, first, n;
}; /* the range of its locations */
/* `steps` instructions have been executed since they were last counted, which advance the clock by `ticks`. mask: where
 * the active lanes' mask is; 0: all lanes are active. hidden: the range of records about inactive lanes. */
struct mx_jit_site {
  uint32_t kind, pc, steps, ticks, mask, first, n, first_hidden, nhidden, frame;
};
/* Inactive lanes, whose mask is at `mask`: they wait at pc in the frame of that level, or have returned there, or are
 * expected at the join at pc. */
enum mx_jit_where { MX_JIT_STAND, MX_JIT_RETURNED, MX_JIT_EXPECTED };
struct mx_jit_hidden {
  uint32_t mask, pc, level, what;
};
/* Inlined calls (jit/compiler/inline.h) have frames only when code is left inside of them. Number 0, level 0 is the
 * frame in which code was entered; the others are called by an instruction of their parent. */
struct mx_jit_frame {
  uint32_t func, parent, level, call;
};
#define MX_JIT_LEVELS 8 /* how deep inlined calls may be nested */
/* Instructions [from, pc] that the interpreter's bodies execute on behalf of compiled code: the locations of their
 * operands, of which the first `nspread` are to be spread, and of the last one's results. left: how code returns if the
 * body leaves it, MX_JIT_SITE + a site. */
struct mx_jit_fallback {
  uint32_t from, pc, first, nspread, nin, nout, frame, left;
};
/* A fallback that ends with a load or store, in the form in which a CPU level's function does it without the
 * instruction's body (lanes/direct.c). The forms say how elements become slots or the reverse: the elements' bits and
 * sign, and the slot's bits; in slots of 16 bits the sign is extended up to these. */
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
  uint32_t bytes;              /* for each lane; 0: the fallback is no such access, and all other fields are 0 */
  uint32_t bounds;             /* number of its cache in x->bounds */
  int64_t off;                 /* added to addresses */
  const unsigned char *pool;   /* the function's literals */
  mx_ref address, value[4];    /* offsets from the spill area's beginning or, if odd, from the pool's */
  uint8_t n, cell, form;       /* n: elements; cell: bytes of each one */
  bool is_store, narrow;       /* narrow: addresses are of 32 bits, and wrap */
  bool one_address, one_value; /* it is uniform, and only lane 0's copy exists */
  /* all values are in the spill area in the right form, with nothing to do before or after: enter.c does the access */
  bool at_once;
};
/* code is made for at least so many lanes of a warp: as many as the widest vector holds */
#define MX_JIT_LEAST_LANES 16
struct mx_jit_table {
  uint32_t spill_bytes, clean, chunk,
      vector_masks; /* chunk: its lanes; vector_masks: masks are vectors, otherwise integers with a bit for each lane */
  uint32_t lanes;   /* the number of threads up to which blocks may run it; or the module's lanes */
  uint32_t row_lanes; /* of a row, see MX_JIT_RAMP */
  uint32_t waits;     /* it waits at barriers by itself */
  uint32_t nentries, nsites, nlocations, nhidden, nfallbacks,
      nframes; /* how many of each follow, in this order; entries by ascending pc */
};

/* Code that counts for a profile adds to the worker's own counters, to which mx_jit_state points. `counts` has a row
 * for each number of active lanes, from 0 on: by block, how often it has been executed to its end; by guard, how often
 * that has held in all active lanes. `sums` has two numbers for each guard: the sum of lanes in which it held at all
 * other times, and how often lanes diverged there. Where code is left in the middle of a block, its site says how much
 * of that has been executed. */
struct mx_jit_counted {
  uint32_t nblocks, nins, nsites, nguards; /* how many of each follow, in this order, except guards */
};
struct mx_jit_counted_block {
  uint32_t first, end;
};
struct mx_jit_counted_ins {
  uint32_t func, pc; /* pc UINT32_MAX: an instruction that the machine does not count */
  uint32_t guard;    /* the guard's number, from 1; 0: none */
};
struct mx_jit_counted_site {
  uint32_t block, done;
};

/* Steps: lane l's number is lane 0's plus, for each bit that is set in l, that bit's step, where steps ascend with the
 * bits, as in tiles of any width. MX_JIT_STEP1 << k: the first step is 1 << k. MX_JIT_RUN << k: steps 1 to k are each
 * twice the one before. Adding a uniform value changes none of them. */
enum { MX_JIT_STEP1 = 1 << 8, MX_JIT_RUN = 1 << 16, MX_JIT_STEPS = 6 };
/* What is known about the addresses of the active lanes: their bounds, the pattern in each of compiled code's chunks,
 * and in which low bits they differ: low has the lowest bit in which any two do, and bits above it. */
struct mx_jit_shape {
  uint64_t min, max, low, kind;
  uint32_t step[MX_JIT_STEPS]; /* if the kind says so */
};
#define MX_JIT_WANTS_STEPS 256u /* a flag of `form`: see mx_jit_help */
enum {
  MX_JIT_SAME = 1,
  MX_JIT_ROWS1 = 2,
  MX_JIT_ROWS4 = 4,
  MX_JIT_ROWS8 = 8,
  MX_JIT_ROWS2 = 16,
  MX_JIT_ROWS16 = 32
}; /* in each chunk: all equal; or increasing from lane to lane by 1, 4, 8, 2 or 16 */

struct mx_jit_state;
struct mx_jit_help {
  /* Executes fallback `number` of the table for the lanes of `mask`, or, if it is a guarded memory access, for those of
   * them whose guard holds. Operands and results are in the current warp's spill area. If the body has left with an
   * event, the fallback's `left` is returned, otherwise 0. */
  uint32_t (*fallback)(struct mx_exec *x, const struct mx_jit_state *s, unsigned char *spill_area, uint32_t number,
                       uint64_t mask);
  /* Computes a shape from the addresses at x->tmp for the lanes of `mask`, and stores it in their place. form: twice
   * the lanes of a chunk, + MX_JIT_WANTS_STEPS if steps are wanted, + 1 if addresses are of 64 bits. */
  uint32_t (*shape)(struct mx_exec *x, uint32_t form, uint64_t mask);
  /* For code that counts, if state->shown: only lanes of `mask` are active from the beginning of block number `block`
   * on, `steps` instructions after code was entered. */
  void (*diverged)(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps, uint32_t block);
  /* The same: instruction number `ins` is about to access memory for the lanes of `mask`. one: all their addresses are
   * computed from `number`; otherwise from the numbers at x->tmp. Code that a checker watches gives the instruction's
   * pc instead; returns 0 if the checker wants the body to do it. */
  uint32_t (*accessed)(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask, uint64_t number,
                       uint32_t one);
  /* All lanes of the warp wait for their asynchronous copies except those of the last n groups. 0: nothing was done,
   * the body has to do it. */
  uint32_t (*wait)(struct mx_exec *x, uint32_t n);
  /* For lanes that run one by one, see lane_loops.h. keep: where MX_KEPT_STORES stores can be recorded; NULL: nowhere.
   * make_kept: makes the recorded stores up to `end`. took: a loop, known by the bounds cache `number`, has run so many
   * rounds in this form since the time stamp counter was `since`. keep_local: copies the warp's local memory; NULL: not
   * possible. restore_local: puts such a copy back. */
  unsigned char *(*keep)(struct mx_exec *x);
  void (*make_kept)(struct mx_exec *x, void *end);
  void (*took)(struct mx_exec *x, uint32_t number, uint32_t form, uint64_t since, uint64_t rounds);
  unsigned char *(*keep_local)(struct mx_exec *x);
  void (*restore_local)(struct mx_exec *x, void *copy);
};

struct mx_jit_code;
enum mx_jit_park { MX_JIT_PARK_BARRIER = 1, MX_JIT_PARK_MBARRIER = 2 };
struct mx_jit_state {
  const struct mx_jit_help *help;
  struct mx_exec *exec;
  const struct mx_jit_code *code; /* the code that runs */
  unsigned char *spill_area;      /* aligned to 64 bytes */
  uint64_t steps;                 /* out: instructions executed */
  /* in: 0; out, where clocks are kept: by how much the clock has advanced. Of one warp, since there are no chains
   * then */
  uint64_t ticks;
  uint32_t park;       /* in: where code may wait, with the spill area kept until it resumes: enum mx_jit_park */
  uint32_t resume, pc; /* out, for MX_JIT_BARRIER and MX_JIT_MBARRIER only; so is `at` */
  unsigned char *at;
  /* in: whether `diverged` and `accessed` are to be called; this and the next are for code that counts */
  uint32_t shown;
  uint64_t *counts, *sums;
};

/* The warps of a block between their beginning or one barrier 0 and the next one or their end: none is missing, all
 * have all their lanes, and all go on at one entry. Compiled code runs them in turn: from a warp that arrives or ends
 * it goes to the next one, and when all have arrived it goes on with the last. While `stale`, x->warp and what depends
 * on it are not yet those of warp `at`, see mx__chain_refresh(). */
#define MX_CHAIN_WARPS 32
struct mx_warp_chain {
  uint32_t n, at;                     /* how many warps; which one is current */
  uint32_t arrived, ended;            /* how many of the warps before it have arrived, or ended; one of these is 0 */
  uint32_t resume_entry;              /* the entry at which the others go on */
  uint32_t barrier_entry, barrier_pc; /* of the warps that have arrived: the entry behind their barrier, and its pc */
  uint32_t arrivals_left, stale;      /* arrivals_left: until vm/exec/compiled_block.c wants control */
  unsigned char *spill_area[MX_CHAIN_WARPS];
  const struct mx_jit_code *code;
  struct mx_frame *frame[MX_CHAIN_WARPS];
  uint32_t nframes; /* for warps that have not begun */
  bool begun;       /* the machine's warps have begun */
};

/* Runs the current split from entry number `entry` on until something happens; then slots and slice are what the
 * interpreter would have. */
typedef uint32_t (*mx_jit_fn)(struct mx_exec *x, uint32_t entry, struct mx_jit_state *state);

extern const struct mx_jit_help mx__jit_help;
/* Where a frame keeps compiled code's own state, if it was allocated with room for that. */
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
      *live; /* sessions only: by pc, the set of slots that have current values in the frame if code was left there */
  struct mx_jit_inplace *inplace; /* by fallback: how it is executed on values in the spill area; inplace.c */
  struct mx_jit_access *accesses; /* by fallback */
  uint32_t spill_bytes, lanes;    /* spill_bytes: the table's, and what fallbacks need in addition; lanes: of a warp */
  atomic_bool attached;           /* all its entries lead to it */
};

static inline bool mx__jit_has_room(const struct mx_frame *f, const struct mx_jit_code *code) {
  return f->size >= sizeof *f + f->fn->frame_bytes + code->spill_bytes;
}

/* What compiled code assumes about these structures: this list names all fields that it accesses. The compiler can only
 * write MX_AT(structure, field), which exists for these fields, since its sources may not use offsetof. */
#define MX_JIT_FIELDS(X) \
  X(exec, warps_begun) \
  X(exec, base) \
  X(exec, block) \
  X(exec, bounds) \
  X(exec, fn) \
  X(exec, frame) \
  X(exec, launch) \
  X(exec, local_stride) \
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
  X(exec, shared_starts) \
  X(exec, slice) \
  X(exec, sreg) \
  X(exec, sreg_lanes32) \
  X(exec, sreg_lanes64) \
  X(exec, stops) \
  X(exec, tid_rows) \
  X(exec, tmp) \
  X(exec, resched_rank) \
  X(exec, visits) \
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
  X(bounds, lanes_left) \
  X(bounds, last) \
  X(bounds, lo) \
  X(bounds, reads) \
  X(bounds, starts) \
  X(bounds, writes) \
  X(async, arrivals) \
  X(block, async) \
  X(block, copies) \
  X(block, local) \
  X(warp_copies, capacity) \
  X(warp_copies, committed) \
  X(warp_copies, issued) \
  X(warp_copies, landed) \
  X(warp_copies, mask) \
  X(warp_copies, n) \
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
  X(jit_help, keep_local) \
  X(jit_help, restore_local) \
  X(kept_store, host) \
  X(kept_store, key) \
  X(kept_store, value) \
  X(jit_shape, kind) \
  X(jit_shape, low) \
  X(jit_shape, max) \
  X(jit_shape, min) \
  X(jit_shape, step) \
  X(jit_state, at) \
  X(jit_state, counts) \
  X(jit_state, exec) \
  X(jit_state, help) \
  X(jit_state, spill_area) \
  X(jit_state, park) \
  X(jit_state, pc) \
  X(jit_state, resume) X(jit_state, shown) X(jit_state, steps) X(jit_state, sums) X(jit_state, ticks)
/* Sizes of structures that lie in arrays, and of those that come with the code. */
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

/* The same as one number: code that was made with another one is not used. */
static inline uint64_t mx__jit_layout(void) {
  enum { VERSION = 24 }; /* of what the offsets do not show */
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

/* Enters compiled code of x->fn at the entry at instruction i, and handles the exit: like a body, returns the next
 * instruction, or NULL. If nothing was executed, runs i's own body. */
const struct mx_insn *mx__jit_enter(struct mx_exec *x, const struct mx_jit_code *code, uint32_t entry,
                                    const struct mx_insn *i);
/* The second half of that: code was entered at i's pc, and left with `kind` and *s. */
const struct mx_insn *mx__jit_after(struct mx_exec *x, const struct mx_jit_code *code, uint32_t kind,
                                    const struct mx_jit_state *s, const struct mx_insn *i);
/* transfer.c. frames: by level; NULL: x->frame alone. frame_to_spill: copies slots of the frame to their cells in the
 * spill area; false: a slot that the code assumes to be uniform is not. results_to_spill: the same for results of a
 * fallback, which are not checked. spill_to_frame: copies cells back to slots, for the active lanes. mask: reads a mask
 * from the spill area. spread: fills the cells of ramps of which the spill area has the numbers. */
bool mx__jit_frame_to_spill(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                            unsigned char *spill_area);
void mx__jit_results_to_spill(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                              unsigned char *spill_area);
void mx__jit_spill_to_frame(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                            const unsigned char *spill_area, struct mx_frame *const *frames);
void mx__jit_spread(const struct mx_jit_code *code, uint32_t first, uint32_t n, unsigned char *spill_area);
uint64_t mx__jit_mask(const struct mx_jit_table *t, const unsigned char *spill_area);
void mx__jit_put_mask(const struct mx_exec *x, const struct mx_jit_table *t, unsigned char *spill_area, uint64_t m);
/* Moves a warp's registers from compiled code's form, if it waits in that, into its frame, where others can read and
 * change them. */
void mx__jit_settle(struct mx_exec *x, struct mx_warp *warp);
/* inplace.c. _make: prepares the code's fallbacks, before it is attached to fn; false: out of memory. The other:
 * executes fallback `number` for the lanes of `mask`; false: it has to go through the frame; *done: whether its last
 * body went on to the next instruction. */
bool mx__jit_inplace_make(struct mx_jit_code *code, const struct mx_pfunc *fn, uint32_t lanes,
                          const struct mx_level *level);
void mx__jit_inplace_free(struct mx_jit_code *code);
/* Whether its one body uses only operands, mask and memory, and ends with MX_EV_STALE_WARP, nothing done, if it needs
 * more. */
bool mx__jit_inplace_alone(const struct mx_jit_code *code, uint32_t number);
bool mx__jit_inplace(struct mx_exec *x, const struct mx_jit_code *code, unsigned char *spill_area, uint32_t number,
                     uint64_t mask, bool *done);

/* What the compiler writes at the end of an object when it is complete: the loader accepts no other objects. */
struct mx_jit_signature {
  uint64_t bytes;
  uint8_t digest[16];
  char magic[8];
};
struct mx_jit_signature mx__jit_sign(const void *bytes, size_t size);
/* returns the number of bytes that the signature at the end covers; 0: the object is for another version */
size_t mx__jit_signed(const uint8_t *bytes, size_t size);
void mx__jit_digest(uint8_t out[16], const void *bytes, size_t size);

#endif

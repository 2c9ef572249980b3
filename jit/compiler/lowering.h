/* What lower.c (control flow, exits) and the files that build instructions share: the function being built. */
#ifndef MX_JITC_LOWERING_H
#define MX_JITC_LOWERING_H

#include "analyse.h"
#include "lanes.h"

#include "vm/exec/jitabi.h"

#include <stdlib.h>
#include <string.h>
#undef offsetof
#pragma GCC poison \
    offsetof /* MX_AT(structure, field): a field that code reads stands in jitabi.h, and so in the key of the cache */

#define LW_CHUNKS 16     /* the most chunks that a warp has */
#define LW_PREFETCH 4096 /* how many bytes ahead of an access to prefetch */

/* An address: (slot * pre_scale + addends) * post_scale + addends. If a 32-bit number is widened on the way, the
 * addends behind the widening are marked `wide`. */
#define LW_ADDENDS 6
#define LW_DEFERRED 3

/* A run: accesses to shared memory in a block for which code is built twice, see shared_runs.c. */
#define LW_ROWS 8
struct lw_run {
  uint32_t first, end; /* the run's instructions */
  /* how many rows it has, that is, distinct numbers that its addresses are made of; 0: there is no run */
  unsigned n;
  struct lw_row {
    uint32_t slot;
    const struct ja_ins *sum;
    unsigned operand; /* the operand of `sum` that is a constant addend, if `sum` is not NULL */
    unsigned bytes;   /* of one element */
    /* what the chunk's numbers are guessed to look like. LW_NEAR: all within the bytes of two chunks, from the first
     * lane's on. LW_UNIFORM: known, not guessed, to be the same in all lanes */
    enum lw_run_pattern { LW_SCATTERED, LW_SAME, LW_IN_ROWS, LW_NEAR, LW_UNIFORM } kind;
    int64_t least, most; /* of the offsets: the least one, and the end of the last access */
    /* number: each lane's; address: the first lane's of each chunk, if the guess is right */
    gcc_jit_rvalue *number[LW_CHUNKS], *address[LW_CHUNKS];
    gcc_jit_rvalue *element[LW_CHUNKS]; /* LW_NEAR: each lane's element, counted from the first lane's */
    bool loads, stores;
    bool in_cells; /* what loops need of the row has been stored in its cells */
    /* element[] or number[] are these cells: a function has stored them */
    bool elements_in_cells, numbers_in_cells;
    /* for a loop over the chunks, of the current chunk: the address; the numbers or elements. NULL: not asked for
     * yet */
    gcc_jit_rvalue *here_address, *here;
  } row[LW_ROWS];
  gcc_jit_rvalue *window, *size; /* the memory's host address and size */
  gcc_jit_rvalue *uniform_out;   /* not 0: some uniform number is out of bounds; NULL: no number is uniform */
  /* guesses: some row's pattern is a guess. tile: also that all chunks have the same rows, as in a tile that is as
   * wide as a chunk */
  bool guesses, tile;
};
struct lw_base {
  bool steady, sign_extends;
  bool indexed; /* the slot is not steady, but of 32 bits: it is widened before post_scale, or is the address itself */
  bool index_loaded;   /* `indexed`, and the number was loaded from memory */
  bool bounds_checked; /* in shared memory, and its bounds are checked at the beginning of the block */
  uint32_t slot;
  uint64_t pre_scale, post_scale;
  unsigned n;
  struct {
    uint32_t ins;
    unsigned operand;
    uint64_t factor;
    bool wide;
  } add[LW_ADDENDS]; /* wide: added behind the widening */
};

/* How memory is addressed: see lw_field(). */
#define LW_CELLS (1 << 20)
struct lw_cells {
  gcc_jit_type *of, *pointer;
  gcc_jit_field *member;
};

/* The conditions that a predicate holds in all lanes, and that it holds in none; NULL: never, as far as is known. ins:
 * the instruction that computes it, + 1; ramps: it compares one. */
struct lw_sides {
  uint32_t ins;
  bool ramps;
  gcc_jit_rvalue *all, *none;
};
struct lw {
  struct jx j;
  struct lw_cells cells[16]; /* by type; not all of them are used */
  const struct ja *a;
  unsigned nc;                 /* how many chunks a warp has */
  bool marks;                  /* comments in the assembly name the instructions */
  gcc_jit_rvalue *x, *state;   /* the function's parameters, as byte pointers: struct mx_exec and struct mx_jit_state */
  gcc_jit_lvalue *fn, *bounds; /* x->fn; the bounds caches of all functions */
  gcc_jit_lvalue **fn_of;      /* by frame: its function; NULL: not asked for yet */
  /* where the frame's local memory begins; whether there is memory for all inlined calls. NULL: not asked for
   * yet */
  gcc_jit_lvalue *local, *room;
  gcc_jit_lvalue *emask, *em[LW_CHUNKS], *cm[LW_CHUNKS]; /* emask, em: the lanes of the split; cm: the active lanes */
  gcc_jit_lvalue *steps, *ticks, *spill_area;
  /* by slot: the vectors of its chunks, two for each chunk of a 64-bit slot; created when first used */
  gcc_jit_lvalue *(*v)[2 * LW_CHUNKS];
  gcc_jit_lvalue **u;              /* by slot, where it is uniform: its one value, as a vector */
  gcc_jit_lvalue **number;         /* and of those in numbers[] instead as a number: uniform.c */
  uint64_t *numbers;               /* slots that hold only integers and truth values */
  struct jx one_j;                 /* for computing with them */
  gcc_jit_lvalue **first;          /* by slot, where it is a ramp, and row: the first lane's number; see ramp_slots.c */
  gcc_jit_block **head, **entry;   /* by block */
  gcc_jit_lvalue *tid_consecutive; /* see lw_tid_consecutive(); NULL: not asked for yet */
  gcc_jit_block *ended;            /* where code goes when all lanes have ended; NULL: not needed so far */
  /* where a warp goes that has arrived at barrier 0 (NULL: not needed so far); where code goes on at the entry
   * whose number is in `which` */
  gcc_jit_block *at_barrier, *dispatch;
  gcc_jit_block *at_mbarrier;           /* the same for mbarriers */
  gcc_jit_lvalue *which, *barrier;      /* at these: the entry behind the barrier, and the barrier's pc */
  struct lw_scalar_loop **scalar_loops; /* by a loop's header: how its lanes run one by one; NULL: they do not */
  bool one_lane;
  /* while code for one lane is built: the slots whose values are floats in variables of their own, here and behind the
   * instruction, and these variables; see scalar_loops.c */
  uint64_t *floats, *floats_after;
  gcc_jit_lvalue **f;
  gcc_jit_lvalue *(*pending)[LW_CHUNKS],
      *(*expected)[LW_CHUNKS]; /* by block: lanes that stand before it; lanes that are expected there. See edges.c */
  uint64_t *written;           /* slots that compiled code may change */
  /* slots whose cells in the spill area hold their current values, here and at the beginning of each block; see
   * saved.c */
  uint64_t *saved, *saved_in;
  bool *steadies;          /* by block: it begins a loop with barriers, before which the slots of saved_in are stored */
  bool slots_spilled;      /* slots and the blocks' masks live in state->spill_area, not in registers */
  struct lw_loop *loop;    /* the loop over chunks that is being built, in which slots have one chunk; see loops.c */
  bool block_masks_stored; /* the active lanes' masks have been stored, earlier in this block; see lw_block_mask() */
  bool always;             /* the interpreter's body does the instruction, whatever its operands are */
  /* the block and the instruction that are being built */
  uint32_t block;
  const struct ja_ins *ins;
  gcc_jit_rvalue *guard[LW_CHUNKS];
  bool held; /* the guard was copied, since one of the instruction's results overwrites its slot */
  /* uniform slots before and after the instruction; live slots before it, and at the end of the block */
  uint64_t *uni, *uni_after, *live, *live_end;
  /* by slot: the strides of ramps, before and after the instruction; else 0, as in code for one lane, where all slots
   * are uniform */
  int64_t *ramps, *ramps_after;
  bool ramp_built; /* the result just built is a ramp */
  /* sides.c. notes_sides: whether the block ends with a branch for which this is asked; sides: by predicate. late: the
   * block's first instruction that is built with its last one; late_uni: the uniform slots before it */
  bool notes_sides;
  struct lw_sides *sides;
  uint32_t late;
  uint64_t *late_uni;
  bool *stale; /* by instruction: see lw_stale_floats */
  /* as float_in and raw_in of struct ja_block, before the instruction; raw also after it */
  uint64_t *flt, *raw, *raw_after;
  struct lw_exits *exits;
  bool kernel, uses_images, has_rows_of_threads; /* the last: it asks for %tid.y or %tid.z */
  struct lw_shape {
    gcc_jit_lvalue *min, *max, *low, *kind;
    bool steps; /* min to kind are computed here, and lie in the shape's cell in the spill area */
  } * shapes;   /* by slot; see shapes.c */
  /* by instruction: the host address of the variable that it accesses, if its bounds were checked */
  gcc_jit_lvalue **fixed;
  struct lw_base *based; /* by instruction: what its address is made of */
  /* by instruction: the value that it adds to addresses (operand); moves: it advances a slot that has a shape;
   * wanted: somebody asks for that shape */
  struct lw_addend {
    gcc_jit_lvalue *value;
    unsigned operand;
    bool moves, wanted;
  } * addend;
  struct lw_copy {
    struct lw_base to, from;
  } * *copies; /* by instruction: the addresses of an asynchronous copy, if these have shapes; else NULL */
  /* where the warp's pending copies are, found in block and version `copies_in`; NULL: not asked for yet */
  gcc_jit_lvalue *copies_of;
  uint32_t copies_in;
  gcc_jit_lvalue *full; /* whether in each chunk some lane is active, likewise; see memory.c */
  uint32_t full_in;
  uint64_t *asked_in; /* by block: slots whose shapes are used there or later */
  /* by slot: what has been found of the numbers that it held before instruction `ins`: whether they increase by
   * `stride` from lane to lane, for the lanes that run (if not: scattered), and the number that lane 0 has, or would
   * have. 32-bit numbers may wrap within a row; then `first` is sign-extended. See rows.c. */
  struct lw_known_row {
    const struct ja_ins *ins;
    unsigned stride;
    gcc_jit_rvalue *scattered, *first; /* scattered NULL: certainly not */
  } * known_rows;
  struct lw_low {
    const struct ja_ins *behind;
    uint8_t low;
  } * lows; /* by slot of 64 bits: what is known of its value (lanes.h) behind an instruction */
  /* how many instructions just before this one are deferred, that is, not built so far; uni and raw before these */
  unsigned ndeferred;
  uint64_t *deferred_uni, *deferred_raw;
  struct lw_run *runs; /* by block */
  /* by instruction: the row of its block's run that it goes through, counted from 1; 0: none */
  unsigned char *run_member;
  bool *looks_like_row; /* by instruction: an access whose address most likely is a row; see shared_runs.c */
  struct lw_run *run;   /* the run that is being built, and in which version */
  enum { LW_OTHERWISE, LW_GUESSED, LW_TILE, LW_VERSIONS } version;
  /* memory.c: the access that is being built moves words that consist of so many elements of that type; parts 0: it
   * does not */
  unsigned parts, part_type;
  bool moving; /* the instruction advances a slot that has a shape, by the same step for all lanes */
  struct {
    unsigned field, cls;
    bool offset;
    gcc_jit_lvalue *value;
  } * lits;
  uint32_t nlits;
  gcc_jit_block *prologue;
  gcc_jit_type *t_fallback, *t_shape, *t_diverged, *t_accessed, *t_wait, *t_keep, *t_make_kept,
      *t_took;                  /* pointers to the functions of struct mx_jit_help */
  struct lw_counters *counters; /* see counters.c; NULL: the code does not count */
};

void *lw_need(size_t n); /* allocates zeroed memory; a process that has no more memory ends */
static inline unsigned lw_class(const struct ja *a, uint32_t slot) { return ja_class(a, slot); }
/* The type of a slot's bits as they are, by its class. */
static inline unsigned lw_bits_type(unsigned cls) {
  return cls == MX_PRED ? MX_T_pred : cls == MX_R32 ? MX_T_u32 : MX_T_u64;
}

/* ---- memory --------------------------------------------------------------------------------------------------*/
/* p + off, as a byte pointer; and what lies there */
gcc_jit_rvalue *lw_at(struct lw *l, gcc_jit_rvalue *p, uint64_t off);
gcc_jit_lvalue *lw_field(struct lw *l, gcc_jit_rvalue *p, uint64_t off, gcc_jit_type *t);
gcc_jit_rvalue *lw_add(struct lw *l, gcc_jit_rvalue *p, gcc_jit_rvalue *off);
/* A vector's cell in memory, for "m" operands. */
gcc_jit_lvalue *lw_vector(struct lw *l, gcc_jit_rvalue *p, uint64_t off, bool wide);

/* ---- operands and slots ----------------------------------------------------------------------------------------*/
jv lw_operand(struct lw *l, unsigned k, unsigned chunk); /* operand k of the current instruction */
jv lw_operand_of(struct lw *l, const struct ja_ins *i,
                 unsigned k); /* the same of another instruction, for an operand that is uniform */
bool lw_operand_uniform(struct lw *l, unsigned k);
/* an operand that is an offset: a constant is returned, otherwise *variable gets its value */
uint64_t lw_offset(struct lw *l, unsigned k, gcc_jit_rvalue **variable);
gcc_jit_lvalue *lw_var(struct lw *l, uint32_t slot, unsigned k); /* chunk k of a slot, or half chunk */
gcc_jit_lvalue *lw_one(struct lw *l, uint32_t slot); /* the one value of a uniform slot, if it is kept as a vector */
gcc_jit_rvalue *lw_get_one(struct lw *l, uint32_t slot); /* that vector, in any case */
unsigned lw_vectors(const struct lw *l, uint32_t slot);  /* how many the chunks of a slot are */
void lw_broadcast(struct lw *l, uint32_t slot);          /* a uniform slot's value to all its chunks */
gcc_jit_lvalue *lw_cell(struct lw *l, uint32_t slot, bool one, unsigned k); /* the slot's place in state->spill_area */
/* of a slot of 32 or 64 bits, while the slot of the other width in the same cell is live */
gcc_jit_lvalue *lw_cell_beside(struct lw *l, uint32_t slot, unsigned k);
gcc_jit_lvalue *lw_mask_cell(struct lw *l, uint32_t block, bool expected,
                             unsigned c); /* where exits find a block's masks */
void lw_set_one(struct lw *l, uint32_t slot, gcc_jit_rvalue *v);
/* uniform.c. Finds slots that are kept as numbers where they are uniform; whether one is; that number, of a predicate 0
 * or 1; the same of a vector; the vector with the number in all lanes. lw_set_number: sets a
 * uniform slot, however it is kept. lw_compute_numbers: builds the current instruction for numbers; false: not all of
 * its operands and results are kept as such, or it has no such form. */
void lw_numbers_find(struct lw *l);
bool lw_is_number(const struct lw *l, uint32_t slot);
gcc_jit_lvalue *lw_number(struct lw *l, uint32_t slot);
gcc_jit_rvalue *lw_number_of(struct lw *l, uint32_t slot, gcc_jit_rvalue *v);
gcc_jit_rvalue *lw_number_everywhere(struct lw *l, uint32_t slot);
void lw_set_number(struct lw *l, uint32_t slot, gcc_jit_rvalue *n);
bool lw_compute_numbers(struct lw *l);
/* Operand k's literal, whose value is known only when the kernel is prepared. */
gcc_jit_lvalue *lw_late(struct lw *l, unsigned k);
jv lw_get(struct lw *l, uint32_t slot, unsigned type, unsigned chunk);
/* A chunk of a slot, with its NaNs made canonical unless they are known to be. */
jv lw_clean(struct lw *l, uint32_t slot, jv v);
/* Makes all NaNs in the slot of the current instruction's operand k canonical at once, if that is less work. */
void lw_clean_slot(struct lw *l, unsigned k);
/* The guard's mask for a chunk, NULL without one. */
gcc_jit_rvalue *lw_guard(struct lw *l, unsigned chunk);
/* copies the guard if a result of the instruction may overwrite it; to be called first */
void lw_hold_guard(struct lw *l);
/* The lanes that the instruction acts on: active, and its guard holds. */
gcc_jit_rvalue *lw_lanes(struct lw *l, unsigned chunk);
/* ramp_slots.c. lw_ramp_first: the number of a row's first lane in a slot that is a ramp. lw_ramp_vector: vector k of
 * it, of so many as lw_vectors() says. lw_ramp_value: a chunk of it. lw_ramp_spread: writes its chunks. lw_ramp_build:
 * builds instruction number k of the block, whose result is a ramp. */
gcc_jit_lvalue *lw_ramp_first(struct lw *l, uint32_t slot, unsigned row);
gcc_jit_rvalue *lw_ramp_vector(struct lw *l, uint32_t slot, unsigned k);
gcc_jit_type *lw_number_type(struct lw *l, bool wide, bool with_sign); /* of such a number */
jv lw_ramp_value(struct lw *l, uint32_t slot, unsigned chunk);
void lw_ramp_spread(struct lw *l, uint32_t slot);
void lw_ramp_build(struct lw *l, uint32_t k);
/* Writes a chunk of result k; a uniform result is written once. */
void lw_put(struct lw *l, unsigned k, unsigned chunk, jv val);
/* The same for half 0 or 1 of a .b128, which occupies two slots; such an operand is never a literal. */
jv lw_half(struct lw *l, unsigned k, unsigned half, unsigned chunk);
bool lw_half_uniform(struct lw *l, unsigned k, unsigned half);
void lw_put_half(struct lw *l, unsigned k, unsigned half, unsigned chunk, jv val);
/* Code goes on where condition `any` holds. Elsewhere it goes to `end`, where the first `results` results keep their
 * values, in the form that the instruction would leave them in. */
void lw_if_any(struct lw *l, gcc_jit_rvalue *any, unsigned results, gcc_jit_block *end);
bool lw_result_uniform(struct lw *l, unsigned k);

/* ---- control ----------------------------------------------------------------------------------------------------*/
gcc_jit_block *lw_new_block(struct lw *l, const char *what);
gcc_jit_rvalue *lw_compare(struct lw *l, enum gcc_jit_comparison op, gcc_jit_rvalue *x, gcc_jit_rvalue *y);
/* of two conditions; the first may be NULL */
gcc_jit_rvalue *lw_either(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y);
gcc_jit_rvalue *lw_u64(struct lw *l, uint64_t v);
static inline gcc_jit_rvalue *lw_u64_op(struct lw *l, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return jx_op(&l->j, op, l->j.t_u64, x, y);
}
gcc_jit_rvalue *lw_all_lanes(struct lw *l); /* the mask of all lanes that code is made for */
/* Ends the current block. */
void lw_go(struct lw *l, gcc_jit_block *to);
void lw_split(struct lw *l, gcc_jit_rvalue *cond, gcc_jit_block *yes, gcc_jit_block *no);
/* Marks a condition as unlikely: gcc moves the code for it out of the way. */
gcc_jit_rvalue *lw_rare(struct lw *l, gcc_jit_rvalue *cond);
gcc_jit_rvalue *lw_any(struct lw *l, gcc_jit_rvalue *const *masks);  /* whether one of the chunks' masks is not empty */
gcc_jit_rvalue *lw_pack(struct lw *l, gcc_jit_rvalue *const *masks); /* the chunks' masks as one u64 */
/* the numbers of the lowest and of the highest set bit of a u64 that is not 0 */
gcc_jit_rvalue *lw_lowest(struct lw *l, gcc_jit_rvalue *mask);
gcc_jit_rvalue *lw_highest(struct lw *l, gcc_jit_rvalue *mask);
gcc_jit_rvalue *lw_but_lowest(struct lw *l, gcc_jit_rvalue *mask); /* the mask without its lowest set bit */
gcc_jit_rvalue *lw_count(struct lw *l, gcc_jit_rvalue *mask);      /* how many bits of a u64 are set */
/* Builds a loop in which `build` adds what is done for each lane of the mask, the lowest first, given its number. */
void lw_for_lanes(struct lw *l, gcc_jit_rvalue *mask, void (*build)(struct lw *, gcc_jit_rvalue *lane, const void *),
                  const void *with);
/* The interpreter's body executes the current instruction; if that traps, the function is left. */
void lw_interpret(struct lw *l);
/* The same in two steps: lw_spill_for_fallback() has returned `fallback`, and the call of its body `left`. */
void lw_behind_body(struct lw *l, uint32_t fallback, gcc_jit_rvalue *left);
/* Ends an instruction that has a fast path, which the current block ends: in `slow` the interpreter's body executes it,
 * and both go on in `end`. */
void lw_end_with_fallback(struct lw *l, gcc_jit_block *slow, gcc_jit_block *end);
/* exits.c: builds the exit from j->b, `done` instructions of the block having been executed; `live` and `uni` describe
 * the slots at that point. */
void lw_exits_begin(struct lw *l);
/* Leaves the code before the current instruction, which has that number in its block, where `cond` holds (NULL:
 * never). */
void lw_leave_where(struct lw *l, gcc_jit_rvalue *cond, uint32_t number_in_block);
void lw_leave(struct lw *l, enum mx_jit_exit kind, uint32_t pc, uint32_t done, const uint64_t *live,
              const uint64_t *uni);
/* Before an instruction that the interpreter's body does: its operands are spilled, and its results are reloaded behind
 * it. Returns the fallback's number in the object's table. */
uint32_t lw_spill_for_fallback(struct lw *l);
/* Behind fallback number `fallback`, which has returned `left`: builds the exit, as lw_leave, for the case that the
 * body has left. */
void lw_leave_if_left(struct lw *l, uint32_t fallback, gcc_jit_rvalue *left, enum mx_jit_exit kind, uint32_t pc,
                      uint32_t done, const uint64_t *live);
void lw_reload_after_fallback(struct lw *l);
void lw_store_steps(struct lw *l); /* adds the executed steps to those in mx_jit_state */
/* Waits at barrier 0, or at the mbarrier at state->at; the warp goes on at block `next`, an entry. lw_entry_number: the
 * number of an entry. */
void lw_park(struct lw *l, uint32_t next, bool at_mbarrier);
uint32_t lw_entry_number(const struct lw *l, uint32_t block);
uint32_t lw_sites(const struct lw *l); /* how many sites there are so far at which code is left */
void lw_build_entries(struct lw *l);
void lw_build_exits(struct lw *l); /* builds the shared code of all exits; to be called last */
void lw_export_table(struct lw *l, uint32_t number);
/* stores the slots that lw_must_store() names, on the edge to block `to` */
void lw_store_invariants(struct lw *l, uint32_t to);
/* A number for the block that is being built and, in a run of accesses, its version: what was computed there serves up
 * to its end. */
static inline uint32_t lw_place(const struct lw *l) {
  return l->block * (LW_VERSIONS + 1u) + (l->run ? 1u + l->version : 0);
}
/* saved.c. lw_saved_find: computes for all blocks which slots have current cells. lw_saved_step: updates the set behind
 * the current instruction. lw_saved: whether a slot's cell holds its value in the form that block `to` expects.
 * lw_must_store: whether the slot has to be stored on the edge to `to`. lw_waits: whether warps wait at this
 * instruction with their state kept, at a barrier of the block or in memory. */
void lw_saved_find(struct lw *l);
void lw_saved_step(struct lw *l);
bool lw_saved(const struct lw *l, uint32_t slot, uint32_t to);
bool lw_must_store(const struct lw *l, uint32_t slot, uint32_t to);
bool lw_waits(const struct ja *a, const struct ja_ins *i);
/* warp_chain.c. lw_warp_ends: ends in j->b, where all lanes of the warp have ended. lw_warp_waits: the warp arrives at
 * barrier 0 there, or waits at an mbarrier, and goes on at entry number `entry`; both count the executed steps.
 * lw_warp_passes: for blocks of one warp: goes to `on`, having counted the arrival at barrier 0, unless the machine has
 * to see it: then j->b goes on. lw_build_warp_chain: builds what then follows; to be called when all blocks are built.
 */
void lw_warp_ends(struct lw *l);
void lw_warp_waits(struct lw *l, uint32_t entry, bool at_mbarrier);
void lw_warp_passes(struct lw *l, uint32_t entry, gcc_jit_block *on);
void lw_build_warp_chain(struct lw *l);
/* loops.c: operations on all chunks as a loop over chunks. lw_loop_end: where a sequence of such operations ends that
 * begins at instruction `from`; `from`: there is none. lw_loop: builds it. lw_loop_value: part h of a slot's current
 * chunk, a plain value, since the loop's body is one block; lw_loop_get: the same, loaded from memory if need be. */
uint32_t lw_loop_end(struct lw *l, const struct ja_block *b, uint32_t from, const uint64_t *live);
void lw_loop(struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end, uint64_t *live);
gcc_jit_rvalue **lw_loop_value(struct lw *l, uint32_t slot, unsigned h);
gcc_jit_rvalue *lw_loop_get(struct lw *l, uint32_t slot, unsigned h);
gcc_jit_rvalue *lw_loop_first(struct lw *l, uint32_t slot); /* the first lane's value, from memory, as a scalar */
gcc_jit_rvalue *lw_loop_row_get(struct lw *l, unsigned row);
/* whether the loop is unrolled, and which chunk is being built */
bool lw_loop_unrolled(const struct lw *l, unsigned *chunk);
/* The number of the current chunk's first lane, in a loop that is not unrolled. */
gcc_jit_rvalue *lw_loop_lane(struct lw *l);
/* exits.c: where the spill area has a slot's cells. */
gcc_jit_lvalue *lw_cell_first(struct lw *l, uint32_t slot, unsigned row); /* the place of a ramp's number there */
/* The same of the row that begins with a lane whose number is known at run time. */
gcc_jit_lvalue *lw_cell_of_lane(struct lw *l, uint32_t slot, gcc_jit_rvalue *lane);
uint32_t lw_cell_offset(struct lw *l, uint32_t slot);
/* exits.c: part h of a slot's cell for the chunk whose part of the spill area the pointer has advanced to. lw_loop_row:
 * the same for a row of a run. lw_block_mask: the same for the active lanes' mask, which loops and functions of
 * helpers.c read. */
gcc_jit_lvalue *lw_cell_at(struct lw *l, gcc_jit_rvalue *spill_area, uint32_t slot, unsigned h);
gcc_jit_lvalue *lw_block_mask(struct lw *l, gcc_jit_rvalue *spill_area, unsigned chunk);
void lw_store_block_masks(struct lw *l); /* unless they are stored already */
gcc_jit_lvalue *lw_loop_row(struct lw *l, gcc_jit_rvalue *spill_area, unsigned row, unsigned chunk);
/* A number of 64 bits that the warp keeps from one execution of the current instruction to the next; not
 * initialised. */
gcc_jit_lvalue *lw_last_cell(struct lw *l);
/* lower.c: builds instruction k of the block. lw_can_defer: whether it can be built later, at its first use; see
 * there. */
void lw_instruction(struct lw *l, const struct ja_block *b, uint32_t k, uint64_t *live);
bool lw_can_defer(const struct lw *l, uint32_t k, const struct ja_block *b, const uint64_t *live);
/* edges.c. lw_edge: from the current block to another one. lw_edge_apart: the same for lanes of cm[] that have
 * diverged, where all masks are up to date and a block that comes before has lanes, or this one. lw_branch, lw_jump:
 * the branch that ends the current block, or the one through a table. lw_convert: brings slots into the forms that
 * block `to` expects. lw_empty_masks: clears the masks that other code may test in block `to`, except those of the
 * sets, which hold lanes. lw_pending, lw_expected: a block's masks. */
void lw_edge(struct lw *l, uint32_t to, bool backward);
void lw_edge_apart(struct lw *l, uint32_t to);
void lw_branch(struct lw *l);
void lw_jump(struct lw *l);
/* sides.c. lw_sides_begin: to be called when a block begins; finds from which instruction on, up to its last one, it
 * only computes the masks of its branch. lw_note_sides: before an instruction; lw_would_note_sides: whether it would
 * note anything. lw_branch_agrees: before a divergent branch or exit is built, builds tests without masks, behind which
 * code goes on in one of two blocks (NULL: without such a test): all lanes take it, or none does. lower.c,
 * lw_build_late: then builds what computes the masks. */
void lw_sides_begin(struct lw *l, const struct ja_block *b, const uint64_t *live_end);
void lw_note_sides(struct lw *l);
bool lw_would_note_sides(const struct lw *l, const struct ja_ins *i);
void lw_branch_agrees(struct lw *l, gcc_jit_block *taken, gcc_jit_block * not );
void lw_build_late(struct lw *l);
void lw_convert(struct lw *l, uint32_t to);
void lw_empty_masks(struct lw *l, uint32_t to, const uint64_t *pending, const uint64_t *open);
gcc_jit_lvalue *const *lw_pending(struct lw *l, uint32_t block);
gcc_jit_lvalue *const *lw_expected(struct lw *l, uint32_t join);
/* counters.c: code that counts for a profile; these build nothing where the code does not count. lw_counters_enter:
 * code is entered here. _block: the current block has been executed to its end. _guard: the current instruction, not
 * the block's last one, acts on the lanes that its guard names; _access: it may access memory. _all: its guard holds in
 * all active lanes. _part: it is a branch that lanes t alone take. _lanes: cm[] gets other lanes on the edge to block
 * `to`; whole: all of the split's. _site: an exit site was made, `done` instructions into the block. */
void lw_counters_begin(struct lw *l);
void lw_counters_enter(struct lw *l);
void lw_counters_block(struct lw *l);
void lw_counters_guard(struct lw *l);
void lw_counters_all(struct lw *l);
void lw_counters_part(struct lw *l, gcc_jit_rvalue *const *t);
void lw_counters_lanes(struct lw *l, uint32_t to, bool whole);
void lw_counters_access(struct lw *l);
void lw_counters_site(struct lw *l, uint32_t site, uint32_t done);
/* checked.c, for code that a checker watches. lw_tell_access: tells the checker about the current instruction's access,
 * whose address is operand `at` and whose number in the table is given; returns its answer. lw_checked_access: goes to
 * `slow` unless the answer is that it need not see more of the access. */
gcc_jit_rvalue *lw_tell_access(struct lw *l, unsigned at, uint32_t number);
void lw_checked_access(struct lw *l, unsigned at, unsigned bytes, gcc_jit_block *slow);
void lw_counters_export(struct lw *l, uint32_t number);
/* lower.c. lw_add_steps: n instructions of the block have been executed. lw_compute: builds the current instruction if
 * it is an operation on values. */
void lw_add_steps(struct lw *l, uint32_t n);
uint32_t lw_steps(const struct lw *l, uint32_t n); /* how many of the block's first n instructions count as steps */
uint32_t lw_ticks(const struct lw *l, uint32_t n); /* by how much these advance the clock, in code that keeps clocks */
bool lw_compute(struct lw *l);
void lw_mark(struct lw *l); /* a comment in the assembly that names the instruction */
/* helpers.c: calls a function of struct mx_jit_help; args: all arguments but the first, which is struct mx_exec. */
gcc_jit_rvalue *lw_call_help(struct lw *l, uint64_t member, gcc_jit_type *type, unsigned n,
                             gcc_jit_rvalue *const *args);
#define LW_HELP(l_, member_, args_) \
  lw_call_help(l_, MX_AT(jit_help, member_), (l_)->t_##member_, sizeof args_ / sizeof *args_, args_)
/* lw_fallback: calls the interpreter's body for fallback `number` of the current instruction, for the active lanes or,
 * if it accesses memory, for those of them whose guard holds. Returned: 0, or how code is left. lw_cells_address: a
 * slot's cells, if all of its chunks lie in memory now; or NULL. lw_row_start: *scattered becomes the condition that
 * values in cells do not increase by `stride` from lane to lane, in all lanes (`lanes` NULL) or in these; returns the
 * value that lane 0 has or would have. lw_numbers_outside: the condition that some lane's number is greater than
 * `most`, or has a bit of `low` set. Those with `call` in their names call a function of the object, the others build
 * the code in line.
 */
gcc_jit_rvalue *lw_fallback(struct lw *l, uint32_t number);
gcc_jit_rvalue *lw_cells_address(struct lw *l, uint32_t slot);
gcc_jit_rvalue *lw_row_start(struct lw *l, gcc_jit_rvalue *cells, bool wide, unsigned stride,
                             gcc_jit_rvalue *const *lanes, gcc_jit_rvalue **scattered);
gcc_jit_rvalue *lw_call_row_start(struct lw *l, gcc_jit_rvalue *cells, bool wide, unsigned stride,
                                  gcc_jit_rvalue *const *lanes, gcc_jit_rvalue **scattered);
/* Whether a run's guess is wrong about the numbers in a slot's cells: a u64, 0 if each chunk has the pattern in all
 * lanes, active or not, and its first number plus `more` and `least` is at most `limit` and a multiple of `bytes`.
 * element: for LW_NEAR, where each lane's element, counted from the chunk's first lane's, is stored; else NULL. */
gcc_jit_rvalue *lw_call_guess(struct lw *l, enum lw_run_pattern kind, unsigned bytes, bool wide, gcc_jit_rvalue *cells,
                              gcc_jit_rvalue *more, gcc_jit_rvalue *limit, gcc_jit_rvalue *least,
                              gcc_jit_rvalue *element);
/* Stores the numbers in a 64-bit slot's cells plus `more` as 32 bits at `to`; see lw_number_32. */
void lw_call_numbers_32(struct lw *l, gcc_jit_rvalue *cells, gcc_jit_rvalue *more, gcc_jit_rvalue *to);
gcc_jit_rvalue *lw_numbers_outside(struct lw *l, gcc_jit_rvalue *const *index, gcc_jit_rvalue *most, uint32_t low,
                                   gcc_jit_rvalue *const *lanes);
gcc_jit_rvalue *lw_call_numbers_outside(struct lw *l, gcc_jit_rvalue *cells, gcc_jit_rvalue *most, uint32_t low,
                                        gcc_jit_rvalue *const *lanes);
/* lw_operand_has_cells: whether all chunks of operand or result k lie in memory in the form in which the instruction
 * reads or writes them; *raw: but the operand's NaNs still have to be made canonical. lw_operand_cells: the cells of
 * one that is not raw; or NULL. */
bool lw_operand_has_cells(struct lw *l, unsigned k, bool result, bool *raw, uint32_t *slot);
gcc_jit_rvalue *lw_operand_cells(struct lw *l, unsigned k, bool result);
/* Moves a row of elements of 32 or 64 bits that begins at address `start` between memory and a slot's cells, or, if the
 * lanes are `scattered`, or the row is not within the instruction's bounds or not aligned, calls its body as
 * lw_fallback does. Returned: 0, or how code is left. */
struct lw_row_access {
  bool load, wide, raw;
  uint32_t slot;
};
gcc_jit_rvalue *lw_call_row_access(struct lw *l, const struct lw_row_access *ac, gcc_jit_rvalue *start,
                                   gcc_jit_rvalue *scattered, uint32_t fallback);
/* calls.c. lw_fn: a frame's function. lw_local_memory: what the current instruction reads, where local memory of its
 * frame begins or ends. lw_call, lw_return: the current instruction, number k of its block, calls a function that is
 * inlined, or returns from it. */
gcc_jit_rvalue *lw_fn(struct lw *l, uint32_t frame);
gcc_jit_rvalue *lw_local_memory(struct lw *l);
void lw_call(struct lw *l, uint32_t k);
void lw_return(struct lw *l, uint32_t k);
/* scalar_turns.c: the edge from the current block to block `to` leaves loops whose time may be measured; that is done.
 */
void lw_scalar_loops_left(struct lw *l, uint32_t to);
/* scalar_loops.c: finds the loops whose lanes may run one by one; builds such a loop; the place where a block begins
 * for edges that do not come from inside its own loop. */
void lw_scalar_loops_find(struct lw *l);
void lw_scalar_loop_build(struct lw *l, uint32_t head);
gcc_jit_block *lw_start(const struct lw *l, uint32_t block);
/* scalar_turns.c: code is entered at a block; builds the edge from inside a loop that may run lane by lane to its
 * header. */
void lw_scalar_loops_entered(struct lw *l, uint32_t block);
void lw_next_round(struct lw *l, uint32_t head);
/* denormals.c. Finds for which instructions this holds; whether the instruction computes floats from what may be bits
 * of integers in inactive lanes, which is slow where they look like denormals. */
void lw_stale_floats_find(struct lw *l);
bool lw_stale_floats(const struct lw *l, const struct ja_ins *i);
/* shapes.c */
void lw_shapes_find(struct lw *l);
/* Whether operand o of instruction k in block b is uniform; lw_uniform_slot: whether a slot is, just before k. */
bool lw_uniform_at(const struct ja *a, uint32_t b, uint32_t k, unsigned o);
/* Whether instruction k is unguarded and adds a uniform value to `slot` (JA_NONE: to any slot that is not uniform):
 * returns which operand the uniform value is; 0: no. */
unsigned lw_uniform_addend(const struct ja *a, uint32_t k, uint32_t slot);
bool lw_uniform_slot(const struct ja *a, uint32_t b, uint32_t k, uint32_t slot);
/* Sets *k to the last instruction before *k in its block that writes the slot; false: there is none. */
bool lw_last_write(const struct ja *a, uint32_t *k, uint32_t slot);
/* Whether an instruction from `from` up to, but not including, `to` writes the slot. */
bool lw_written_between(const struct ja *a, const struct ja_ins *from, const struct ja_ins *to, uint32_t slot);
/* One of the instructions that compute an address: the slot that it writes is factor * operand `from` + operand `plus`
 * (0: none). lw_match_addressing: whether instruction k in block b is one. */
struct lw_addressing {
  unsigned from, plus;
  uint64_t factor;
  bool sign_extends;
};
bool lw_match_addressing(const struct ja *a, uint32_t b, uint32_t k, struct lw_addressing *s);
/* What the current instruction's address is made of; NULL: not known. */
const struct lw_base *lw_base(struct lw *l);
/* Checks the bounds of accesses to shared memory at the beginning of the block. Returned: the condition that some are
 * missed. */
gcc_jit_rvalue *lw_check_block(struct lw *l, const struct ja_block *b);
/* If the current instruction is an addition to an address, notes the value added. */
void lw_addend(struct lw *l);
/* The current instruction has changed a slot: its shape is computed again. */
void lw_shape_update(struct lw *l, uint32_t slot);
/* lw_shape_enter: a slot gets its chunks on the edge to a block. lw_shape_asked: whether its shape is used from there
 * on. */
void lw_shape_enter(struct lw *l, uint32_t slot, uint32_t block);
bool lw_shape_asked(const struct lw *l, uint32_t slot, uint32_t block);
/* strides.c: whether a slot, before the current instruction, increases by `by` from lane to lane wherever
 * lw_tid_consecutive() holds: all lanes of the warp exist, and %tid.x increases by one from lane to lane. */
bool lw_stride(const struct lw *l, uint32_t slot, int64_t *by);
gcc_jit_rvalue *lw_tid_consecutive(struct lw *l);
/* rows.c. lw_number_row: whether the 32-bit numbers in a slot, whose chunks are index[], are a row, for an access that
 * these lanes make. lw_address_row: the same of a slot that holds addresses, of 32 or 64 bits; all accesses of the
 * block through it, and through its sums with uniform values, share the answer under any mask. lw_first_number: the
 * first lane's number, sign-extended: if that lane is inactive, its place in the row may be in front of number 0. */
struct lw_known_row lw_number_row(struct lw *l, uint32_t slot, unsigned stride, gcc_jit_rvalue *const *index,
                                  gcc_jit_rvalue *const *lanes, bool guarded);
struct lw_known_row lw_address_row(struct lw *l, uint32_t slot, unsigned stride);
gcc_jit_rvalue *lw_first_number(struct lw *l, gcc_jit_rvalue *index);
/* A slot's cells, to be passed to a function of helpers.c in place of code in line; NULL: code in line is better. In
 * loops the calls would cost run time: atax and spmv_row of make bench-foreign took 3 and 5 % longer. */
gcc_jit_rvalue *lw_cells_to_pass(struct lw *l, uint32_t slot);
/* A slot's cells, or a copy of what would be there at the beginning of x->tmp. */
gcc_jit_rvalue *lw_cells_or_copy(struct lw *l, uint32_t slot);
/* ahead.c. lw_fetch_ahead: prefetches, in a loop, what the current load will touch in a later iteration. first: the
 * host address of the warp's first element; q[]: the chunks' addresses, or NULL: `bytes` bytes lie in one piece. known:
 * the access is certainly a row. */
bool lw_is_in_loop(const struct lw *l);
void lw_fetch_ahead(struct lw *l, gcc_jit_rvalue *first, gcc_jit_rvalue *const *q, uint64_t bytes, bool known);
/* cross.c: the lanes' numbers, each & keep | set. */
jv lw_lane_numbers(struct lw *l, unsigned chunk, unsigned keep, unsigned set);
/* shared_runs.c. lw_runs_find: finds runs. lw_run_begin: builds what comes before one. Conditions: lw_run_wrong: a
 * guess is wrong, or the number of some lane, active or not, is out of bounds. lw_run_outside: that of an active lane
 * is. lw_run_rows_differ: the chunks' rows are at different addresses. lw_run_access: builds the current instruction,
 * if it is one of the run's accesses; false: it is none. */
void lw_runs_find(struct lw *l);
void lw_run_begin(struct lw *l, struct lw_run *run);
gcc_jit_rvalue *lw_run_wrong(struct lw *l, struct lw_run *run);
/* A 64-bit number as 32 bits. One that does not fit gets only its highest bit set, so that it is out of bounds with any
 * offset. */
jv lw_number_32(struct lw *l, jv v);
/* Whether one chunk's numbers v are as guessed: collects in *wrong bits that must not be set. *element, for LW_NEAR
 * only: as in lw_call_guess. left: by how much the first number may grow. */
void lw_guess_lanes(struct lw *l, enum lw_run_pattern kind, unsigned bytes, jv v, gcc_jit_rvalue *left,
                    gcc_jit_rvalue **wrong, gcc_jit_rvalue **element);
gcc_jit_rvalue *lw_run_outside(struct lw *l, const struct lw_run *run);
gcc_jit_rvalue *lw_run_rows_differ(struct lw *l, const struct lw_run *run);
bool lw_run_access(struct lw *l);
/* lw_run_numbers: computes the numbers of all rows, or only those that the guessed version needs. lw_run_in_loop:
 * whether instruction k can be part of a loop over the chunks in the current version. lw_run_asks_lanes: whether it
 * needs the active lanes' masks there. lw_run_version_begin, lw_run_loop_begin, lw_run_chunk: to be called where a
 * version, a loop over these instructions, and a chunk begin. */
void lw_run_numbers(struct lw *l, struct lw_run *run, bool as_guessed);
bool lw_run_in_loop(const struct lw *l, uint32_t k);
bool lw_run_asks_lanes(const struct lw *l, uint32_t k);
void lw_run_version_begin(struct lw *l);
void lw_run_loop_begin(struct lw *l, uint32_t from, uint32_t end);
void lw_run_chunk(struct lw *l);
/* quads.c: n vectors as loaded, in which each lane's n elements (2 or 4) are adjacent, become one vector for each
 * element; and the inverse. wide: pairs of elements of 64 bits, in four vectors; each element has two, its halves. */
void lw_deinterleave(struct lw *l, gcc_jit_rvalue **v, unsigned n, bool wide);
void lw_interleave(struct lw *l, gcc_jit_rvalue **v, unsigned n, bool wide);
/* Quads of a chunk's lanes at base + index * scale, whose elements are v[]; if the CPU level has load_quads. */
void lw_load_quads(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *lanes,
                   gcc_jit_rvalue **v);
void lw_store_quads(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *lanes,
                    gcc_jit_rvalue **v);
/* memory.c: a chunk of elements at a host address q, all of its lanes or those of a mask (`lanes` not NULL). same: all
 * lanes load one element. own: inactive lanes' bytes may be written back unchanged. */
void lw_load_chunk(struct lw *l, unsigned out, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes, unsigned type,
                   bool same);
void lw_store_chunk(struct lw *l, unsigned in, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes, unsigned type,
                    bool own);
/* Operand k of one chunk as the value to be stored as an element of that type; narrow ones are zero-extended to 32
 * bits. */
jv lw_source(struct lw *l, unsigned k, unsigned c, unsigned type);
/* One chunk of elements at base + index * scale, into result `out` or from operand `in`. lw_ramp: a vector of first *
 * stride, (first + 1) * stride, and so on. */
void lw_gather(struct lw *l, unsigned out, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, unsigned c,
               gcc_jit_rvalue *lanes, unsigned type);
void lw_scatter(struct lw *l, unsigned in, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, unsigned c,
                gcc_jit_rvalue *lanes, unsigned type);
/* elements.c: an array in memory for n vectors of 32- or 64-bit numbers; one that holds them; such a number of one
 * lane.
 */
gcc_jit_rvalue *lw_array(struct lw *l, unsigned n, bool wide);
gcc_jit_rvalue *lw_in_memory(struct lw *l, gcc_jit_rvalue *const *v, unsigned n, bool wide);
gcc_jit_rvalue *lw_of_lane(struct lw *l, gcc_jit_rvalue *const *v, unsigned n, bool wide, gcc_jit_rvalue *lane);
gcc_jit_rvalue *lw_ramp(struct lw *l, unsigned first, uint64_t stride, bool wide);
/* memory.c. Whether access k is made at constant distances from lane to lane, which needs no shape. */
bool lw_is_strided(const struct lw *l, uint32_t k);
/* builds a load or store; false: it has no native form here, and nothing was built. */
bool lw_memory(struct lw *l);
/* Whether an access to pairs or quads is made as one to a word, or half of one, that consists of these elements. */
static inline bool lw_is_packed(const struct mx_row_access *ac) {
  return ac->elements > 1 && jx_bitsof(ac->type) * ac->elements <= 32;
}
/* What is added to the slot's number in an address, `off` included. */
gcc_jit_rvalue *lw_sum_of_addends(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *off);
/* Reads the instruction's cached bounds, and the host address of device address 0. Returned: the condition that they do
 * not allow any access of that size. */
gcc_jit_rvalue *lw_bounds(struct lw *l, unsigned bytes, bool write, gcc_jit_rvalue **lo, gcc_jit_rvalue **limit,
                          gcc_jit_rvalue **host);
/* One address for all lanes, in operand `at`: returns the host's address if it is within bounds and `bad` (or NULL)
 * does not hold; otherwise code goes on at `slow`. */
gcc_jit_rvalue *lw_uniform_address(struct lw *l, unsigned at, unsigned bytes, bool write, gcc_jit_rvalue *bad,
                                   gcc_jit_block *slow);
jv lw_address(struct lw *l, unsigned k, unsigned chunk, jv off); /* operand k, plus off */
/* The bit of MX_JIT_ROWS that a slot's shape must have for such an access to be a row; 0: there is none. */
unsigned lw_shape_bit(const struct lw_base *base, unsigned bytes);
/* memory.c: compares the addresses that a slot's shape describes with the bounds, which begin at `lo` and end `limit`
 * behind it. Returned: a u64 that is negative if some address misses them. *odd: one that is not negative, and not 0 if
 * some address is not aligned to `bytes`. lw_wrong_or_odd turns them, or several of each combined by OR, into a
 * condition. The addends of the address are added to *off. */
gcc_jit_rvalue *lw_shape_misses(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *lo, gcc_jit_rvalue *limit,
                                unsigned bytes, gcc_jit_rvalue **off, gcc_jit_rvalue **odd);
gcc_jit_rvalue *lw_wrong_or_odd(struct lw *l, gcc_jit_rvalue *wrong, gcc_jit_rvalue *odd);
gcc_jit_rvalue *lw_is_negative(struct lw *l, gcc_jit_rvalue *v);
/* The host address of chunk c's first lane; `host` is the host address of device address `off`. */
gcc_jit_rvalue *lw_shape_place(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *host, unsigned c);
/* exits.c: where a slot's struct mx_jit_shape is in the spill area. */
gcc_jit_rvalue *lw_shape_cell(struct lw *l, uint32_t slot);
/* copies.c. lw_async: builds asynchronous copies and their groups; false: no native form here, and nothing was built.
 * lw_has_async: whether a function has such instructions that can be native. */
bool lw_async(struct lw *l);
bool lw_has_async(const struct ja *a);
gcc_jit_rvalue *lw_lanes_lack(struct lw *l); /* a condition: some lane of the warp is inactive here */
/* mbarriers.c: the current instruction tests an mbarrier or waits there. Code goes on where the phase has ended for all
 * active lanes, with the result; unless `lasts` is NULL, at the block that is made there where it goes on for all of
 * them, the mbarrier being at state->at; otherwise at `machine`. False: the machine always has to do it; nothing was
 * built. */
bool lw_mbarrier_has_ended(struct lw *l, gcc_jit_block *machine, gcc_jit_block **lasts);
/* Of an mbarrier's word: the field that holds its bytes, as a number that is not negative; a condition: it is none. */
gcc_jit_rvalue *lw_mbarrier_bytes(struct lw *l, gcc_jit_rvalue *word);
gcc_jit_rvalue *lw_mbarrier_is_none(struct lw *l, gcc_jit_rvalue *word);
/* Builds arrivals at mbarriers; false: no native form here, and nothing was built. */
bool lw_mbarrier_arrive(struct lw *l);
/* shapes.c: whether the asynchronous copy always copies all the bytes that its opcode names. */
bool lw_copies_whole(unsigned op);
/* directed.c: builds arithmetic in f32 that is rounded in one direction; false: the row is none, or has no native form.
 */
bool lw_directed(struct lw *l);
/* atomics.c: builds an atomic; false: it has no native form here, and nothing was built. */
bool lw_atomic(struct lw *l);
/* cross.c: builds a warp operation. lw_cross_lacks: the condition under which its native form cannot do it, `alive`
 * being the mask of the warp's living lanes; NULL: it has none. *tile: what the lanes' member masks are. */
struct lw_tile {
  gcc_jit_rvalue *lanes; /* how many lanes each mask names, where lanes have masks of their own; else NULL */
  unsigned known;        /* the same number, where the code itself says it (known.c); else 0 */
};
gcc_jit_rvalue *lw_cross_lacks(struct lw *l, gcc_jit_rvalue *alive, struct lw_tile *tile);
void lw_cross(struct lw *l, const struct lw_tile *tile);
/* slots.c: chunk c of a value that is known by lane. */
jv lw_known(struct lw *l, unsigned type, const uint64_t *lanes, unsigned c);

#endif

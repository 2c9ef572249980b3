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

#define LW_CHUNKS 16     /* of a warp, at most */
#define LW_PREFETCH 4096 /* so many bytes ahead */

/* (slot * pre_scale + addends) * post_scale + addends: a 32-bit number up to the widening, if there is one. */
#define LW_ADDENDS 6
#define LW_DEFERRED 3

/* Accesses to shared memory in a block that are built twice: see shared_runs.c. */
#define LW_ROWS 8
struct lw_run {
  uint32_t first, end; /* instructions */
  unsigned n;          /* numbers; 0: there is no run */
  struct lw_row {
    uint32_t slot;
    const struct ja_ins *sum;
    unsigned operand; /* the constant that is added to it, if one is: an operand of a sum */
    unsigned bytes;   /* of an element */
    enum lw_run_pattern {
      LW_SCATTERED,
      LW_SAME,
      LW_IN_ROWS,
      LW_NEAR,
      LW_UNIFORM
    } kind; /* of a chunk's numbers, as guessed. NEAR: in as many bytes as two chunks have, from the first on. UNIFORM:
               no guess, all lanes have one */
    int64_t least, most; /* of offsets, and behind the last byte */
    gcc_jit_rvalue *number[LW_CHUNKS],
        *address[LW_CHUNKS];            /* of the lanes; where a chunk's first lane's leads, if it is as guessed */
    gcc_jit_rvalue *element[LW_CHUNKS]; /* NEAR: which of those behind the first */
    bool loads, stores;
    bool in_cells;                       /* what loops need of it has been stored for them */
    gcc_jit_rvalue *here_address, *here; /* the same in a loop over the chunks, of the one that it is at: the address;
                                            number or element. NULL: nobody has asked */
  } row[LW_ROWS];
  gcc_jit_rvalue *window, *size; /* of the memory */
  gcc_jit_rvalue *uniform_out;   /* not 0: some number that all lanes have is out of bounds; NULL: there is none */
  bool guesses, tile; /* there is something to guess; also that rows are the same for all chunks, as those of a tile as
                         wide as a chunk */
};
struct lw_base {
  bool steady, sign_extends;
  bool indexed; /* not steady, but a 32-bit slot: widened, * post_scale + addends after it; or the address itself */
  bool index_loaded;   /* indexed, and the number comes from memory */
  bool bounds_checked; /* in shared memory, and its bounds are checked where the block begins */
  uint32_t slot;
  uint64_t pre_scale, post_scale;
  unsigned n;
  struct {
    uint32_t ins;
    unsigned operand;
    uint64_t factor;
    bool wide;
  } add[LW_ADDENDS]; /* wide: behind the widening */
};

/* How memory is named: see lw_field(). */
#define LW_CELLS (1 << 20)
struct lw_cells {
  gcc_jit_type *of, *pointer;
  gcc_jit_field *member;
};

struct lw {
  struct jx j;
  struct lw_cells cells[16]; /* by type; fewer are asked for */
  const struct ja *a;
  unsigned nc;                 /* chunks of a warp */
  bool marks;                  /* comments for people */
  gcc_jit_rvalue *x, *state;   /* parameters, as byte pointers */
  gcc_jit_lvalue *fn, *bounds; /* x->fn; all functions' bounds */
  gcc_jit_lvalue **fn_of;      /* by frame: its function, if anybody has asked */
  gcc_jit_lvalue *local,
      *room; /* where the frame's local memory begins; whether all calls in line may be made. NULL: nobody has asked */
  gcc_jit_lvalue *emask, *em[LW_CHUNKS], *cm[LW_CHUNKS]; /* lanes of the split; those that run now */
  gcc_jit_lvalue *steps, *ticks, *spill_area;
  gcc_jit_lvalue *(*v)[2 * LW_CHUNKS]; /* by slot: its chunks (64-bit: two each); created when first used */
  gcc_jit_lvalue **u;                  /* by slot: its one value */
  gcc_jit_block **head, **entry;       /* by block */
  gcc_jit_lvalue *tid_consecutive;     /* see lw_tid_consecutive(); NULL: nobody has asked */
  gcc_jit_block *ended;                /* all lanes have; NULL: none has been asked for */
  gcc_jit_block *at_barrier,
      *dispatch; /* the warp has arrived at barrier 0, NULL as before; the entry whose number is in `which` */
  gcc_jit_lvalue *which, *barrier;      /* at `at_barrier`: the entry behind the barrier, and its pc */
  struct lw_scalar_loop **scalar_loops; /* by block, a loop's header: how its lanes run one by one; NULL: they do not */
  gcc_jit_lvalue *visits;               /* of those, by round; NULL: nobody has asked */
  bool one_lane;
  const uint64_t *floats; /* code for one lane is built; its slots that are floats: see scalar_loops.c */
  gcc_jit_lvalue *(*pending)[LW_CHUNKS],
      *(*expected)[LW_CHUNKS]; /* by block: lanes that stand before it; that are expected there. See edges.c */
  uint64_t *written;           /* slots that compiled code may change */
  uint64_t *saved,
      *saved_in;  /* slots whose cells in the spill area hold their current values, here and by block; see saved.c */
  bool *steadies; /* by block: it begins a loop with barriers, before which the slots in saved_in are stored */
  bool slots_spilled;    /* slots and the blocks' masks live in state->spill_area, not in registers */
  struct lw_loop *loop;  /* over the chunks, which is built: slots have one chunk; see loops.c */
  bool loop_mask_stored; /* in this block, on the way to here, for such loops: which lanes run */
  bool always;           /* the interpreter does the instruction whatever its operands are */
  /* where we are */
  uint32_t block;
  const struct ja_ins *ins;
  gcc_jit_rvalue *guard[LW_CHUNKS];
  bool held; /* its guard, where it has to be kept from its results */
  uint64_t *uni, *uni_after, *live,
      *live_end;                   /* uniform before and after the instruction; live before it, and behind the block */
  uint64_t *integers;              /* slots that may hold an integer's bits: denormals.c */
  uint64_t *flt, *raw, *raw_after; /* as float_in and raw_in of blocks, here */
  struct lw_exits *exits;
  bool kernel;
  struct lw_shape {
    gcc_jit_lvalue *min, *max, *low, *kind;
    bool steps;           /* they are asked for, and are in the shape's cell in the spill area */
  } * shapes;             /* by slot; see shapes.c */
  gcc_jit_lvalue **fixed; /* by instruction: host address of the variable that it reads, if its bounds were checked */
  struct lw_base *based;  /* by instruction: what its address is made of */
  struct lw_addend {
    gcc_jit_lvalue *value;
    unsigned operand;
    bool moves, wanted;
  } * addend; /* by instruction: what it adds to addresses; whether a shape that it changes is asked for */
  struct lw_copy {
    struct lw_base to, from;
  } * *copies; /* by instruction: of an asynchronous copy whose addresses have shapes; NULL: of any other */
  gcc_jit_lvalue *copies_of; /* where the warp's copies are, in block and version `copies_in`; NULL: nobody has asked */
  uint32_t copies_in;
  uint64_t *asked_in; /* by block: slots whose shapes are asked for there or later */
  struct lw_piece {
    const struct ja_ins *ins;
    unsigned stride;
    gcc_jit_rvalue *apart, *first;
  } * pieces; /* by slot: at ins, its numbers were `stride` apart */
  struct lw_low {
    const struct ja_ins *behind;
    uint8_t low;
  } * lows; /* by slot of 64 bits: what is known of it (lanes.h) behind an instruction */
  unsigned ndeferred;
  uint64_t *deferred_uni,
      *deferred_raw;   /* so many instructions just before this one are left out so far; uni and raw before them */
  struct lw_run *runs; /* by block */
  unsigned char *run_member; /* by instruction: which number of its block's run it goes through, from 1 */
  struct lw_run *run;        /* built now */
  enum { LW_OTHERWISE, LW_GUESSED, LW_TILE, LW_VERSIONS } version; /* and how */
  bool moving; /* the instruction moves a slot that has a shape by one step for all lanes */
  struct {
    unsigned field, cls;
    bool offset;
    gcc_jit_lvalue *value;
  } * lits;
  uint32_t nlits;
  gcc_jit_block *prologue;
  gcc_jit_type *t_fallback, *t_shape, *t_diverged, *t_accessed, *t_wait, *t_keep, *t_make_kept,
      *t_took;                  /* of struct mx_jit_help */
  struct lw_counters *counters; /* counters.c; NULL: the code does not count */
};

void *lw_need(size_t n); /* zeros; a process that has no more memory ends */
static inline unsigned lw_class(const struct ja *a, uint32_t slot) { return ja_class(a, slot); }

/* ---- memory --------------------------------------------------------------------------------------------------*/
/* pointer + offset, as a byte pointer; and what lies there */
gcc_jit_rvalue *lw_at(struct lw *l, gcc_jit_rvalue *p, uint64_t off);
gcc_jit_lvalue *lw_field(struct lw *l, gcc_jit_rvalue *p, uint64_t off, gcc_jit_type *t);
gcc_jit_rvalue *lw_add(struct lw *l, gcc_jit_rvalue *p, gcc_jit_rvalue *off);
/* A vector's cell in memory, for "m" operands. */
gcc_jit_lvalue *lw_vector(struct lw *l, gcc_jit_rvalue *p, uint64_t off, bool wide);

/* ---- operands and slots ----------------------------------------------------------------------------------------*/
jv lw_operand(struct lw *l, unsigned k, unsigned chunk); /* operand k of the current instruction */
jv lw_operand_of(struct lw *l, const struct ja_ins *i,
                 unsigned k); /* the same of another instruction, where all lanes have one value */
bool lw_operand_uniform(struct lw *l, unsigned k);
uint64_t lw_offset(struct lw *l, unsigned k, gcc_jit_rvalue **variable); /* an off operand: a constant, or a variable */
gcc_jit_lvalue *lw_var(struct lw *l, uint32_t slot, unsigned k);         /* chunk k of a slot, or half chunk */
gcc_jit_lvalue *lw_one(struct lw *l, uint32_t slot);
gcc_jit_lvalue *lw_cell(struct lw *l, uint32_t slot, bool one, unsigned k); /* the same in state->spill_area */
gcc_jit_lvalue *lw_cell_beside(struct lw *l, uint32_t slot, unsigned k); /* of 32 or 64 bits, where the other is live */
gcc_jit_lvalue *lw_mask_cell(struct lw *l, uint32_t block, bool expected,
                             unsigned c); /* where exits have a block's masks */
void lw_set_one(struct lw *l, uint32_t slot, gcc_jit_rvalue *v);
/* Operand k's literal, where only the prepared kernel knows its value. */
gcc_jit_lvalue *lw_late(struct lw *l, unsigned k);
jv lw_get(struct lw *l, uint32_t slot, unsigned type, unsigned chunk);
/* A chunk of a slot with its NaNs canonical, if they may not be. */
jv lw_clean(struct lw *l, uint32_t slot, jv v);
/* The guard's mask for a chunk, NULL without one. */
gcc_jit_rvalue *lw_guard(struct lw *l, unsigned chunk);
void lw_hold_guard(struct lw *l); /* to be called before an instruction is built */
/* Lanes that the instruction acts on: running, guard holds. */
gcc_jit_rvalue *lw_lanes(struct lw *l, unsigned chunk);
/* Result operand k gets a chunk of a value; uniform results once. */
void lw_put(struct lw *l, unsigned k, unsigned chunk, jv val);
/* The same of half 0 or 1 of a .b128, which lies in two slots; as an operand it is no literal. */
jv lw_half(struct lw *l, unsigned k, unsigned half, unsigned chunk);
void lw_put_half(struct lw *l, unsigned k, unsigned half, unsigned chunk, jv val);
/* Goes on where a lane runs; elsewhere the first `results` results stay as they are, in the form that they are to have,
 * until `end`. */
void lw_if_any(struct lw *l, gcc_jit_rvalue *any, unsigned results, gcc_jit_block *end);
bool lw_result_uniform(struct lw *l, unsigned k);

/* ---- control ----------------------------------------------------------------------------------------------------*/
gcc_jit_block *lw_new_block(struct lw *l, const char *what);
gcc_jit_rvalue *lw_compare(struct lw *l, enum gcc_jit_comparison op, gcc_jit_rvalue *x, gcc_jit_rvalue *y);
gcc_jit_rvalue *lw_either(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y); /* of two conditions; x may be NULL */
gcc_jit_rvalue *lw_u64(struct lw *l, uint64_t v);
gcc_jit_rvalue *lw_all_lanes(struct lw *l); /* the mask of all that code is made for */
/* The current block ends. */
void lw_go(struct lw *l, gcc_jit_block *to);
void lw_split(struct lw *l, gcc_jit_rvalue *cond, gcc_jit_block *yes, gcc_jit_block *no);
/* A condition that hardly ever holds: its code goes out of the way. */
gcc_jit_rvalue *lw_rare(struct lw *l, gcc_jit_rvalue *cond);
gcc_jit_rvalue *lw_any(struct lw *l, gcc_jit_rvalue *const *masks);  /* whether one of the chunks' masks is not 0 */
gcc_jit_rvalue *lw_pack(struct lw *l, gcc_jit_rvalue *const *masks); /* chunks' masks as one u64 */
gcc_jit_rvalue *lw_lowest(struct lw *l, gcc_jit_rvalue *mask); /* the number of the lowest bit of a u64 that is not 0 */
gcc_jit_rvalue *lw_but_lowest(struct lw *l, gcc_jit_rvalue *mask); /* the other bits */
gcc_jit_rvalue *lw_count(struct lw *l, gcc_jit_rvalue *mask);      /* how many bits of a u64 are set */
/* The interpreter's body executes the current instruction; on failure the function is left. */
void lw_interpret(struct lw *l);
/* exits.c: leaving from j->b, `done` instructions of the block having been executed; what is live and uniform there. */
void lw_exits_begin(struct lw *l);
void lw_leave(struct lw *l, enum mx_jit_exit kind, uint32_t pc, uint32_t done, const uint64_t *live,
              const uint64_t *uni);
/* Around an instruction that the interpreter's body does: what it reads goes to the spill area, and the results come
 * from theirs; returned: its number in the table. */
uint32_t lw_spill_for_fallback(struct lw *l);
void lw_reload_after_fallback(struct lw *l);
void lw_store_steps(struct lw *l);         /* what has been counted goes into mx_jit_state */
void lw_park(struct lw *l, uint32_t next); /* waits at barrier 0; block `next` is an entry */
uint32_t lw_sites(const struct lw *l);     /* at which code is left, so far */
void lw_build_entries(struct lw *l);
void lw_build_exits(struct lw *l); /* when all else is built */
void lw_export_table(struct lw *l, uint32_t number);
void lw_store_invariants(struct lw *l, uint32_t to); /* stores what lw_must_store() names on the way to block `to` */
/* saved.c: finds what is where; the current instruction has been built; whether a slot's cell has it, as block `to`
 * takes it; whether it has to get there on the way to `to`. */
void lw_saved_find(struct lw *l);
void lw_saved_step(struct lw *l);
bool lw_saved(const struct lw *l, uint32_t slot, uint32_t to);
bool lw_must_store(const struct lw *l, uint32_t slot, uint32_t to);
/* warp_chain.c: the warp ends in j->b, or waits at barrier 0 until it goes on at entry number `entry`, its steps being
 * counted; and what is done then, when all else is built. */
void lw_warp_ends(struct lw *l);
void lw_warp_waits(struct lw *l, uint32_t entry);
void lw_build_warp_chain(struct lw *l);
/* loops.c: where a run of operations ends that begins at instruction `from` of the block, or `from`: there is none.
 * Builds it. In a loop, part h of a slot of this chunk, there, and to be read: there is one block, so a result need be
 * in no variable. */
uint32_t lw_loop_end(struct lw *l, const struct ja_block *b, uint32_t from, const uint64_t *live);
void lw_loop(struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end, uint64_t *live);
gcc_jit_rvalue **lw_loop_value(struct lw *l, uint32_t slot, unsigned h);
gcc_jit_rvalue *lw_loop_get(struct lw *l, uint32_t slot, unsigned h);
gcc_jit_rvalue *lw_loop_first(struct lw *l, uint32_t slot); /* the first lane's value, from memory, as a scalar */
gcc_jit_rvalue *lw_loop_row_get(struct lw *l, unsigned row);
bool lw_loop_unrolled(const struct lw *l, unsigned *chunk); /* there is no loop: which chunk it is */
/* exits.c: part h of a slot's chunk, whose chunk's part `spill_area` has been moved to; and the like for masks of lanes
 * that run, and for what is known of a run's row, for loops. */
gcc_jit_lvalue *lw_cell_at(struct lw *l, gcc_jit_rvalue *spill_area, uint32_t slot, unsigned h);
gcc_jit_lvalue *lw_loop_mask(struct lw *l, gcc_jit_rvalue *spill_area, unsigned chunk);
gcc_jit_lvalue *lw_loop_row(struct lw *l, gcc_jit_rvalue *spill_area, unsigned row, unsigned chunk);
/* A number of 64 bits that a warp keeps from one time that code runs to the next; at first it is any. */
gcc_jit_lvalue *lw_last_cell(struct lw *l);
/* lower.c: builds instruction k of the block, which goes on to the next; whether it can be left out, see there */
void lw_instruction(struct lw *l, const struct ja_block *b, uint32_t k, uint64_t *live);
bool lw_can_defer(const struct lw *l, uint32_t k, const struct ja_block *b, const uint64_t *live);
/* edges.c: from the current block to another one, and the branch that it ends in; slots as block `to` takes them; masks
 * that may hold lanes in block `to`, those in the sets apart, become empty. A block's masks. */
void lw_edge(struct lw *l, uint32_t to, bool backward);
void lw_branch(struct lw *l);
void lw_convert(struct lw *l, uint32_t to);
void lw_empty_masks(struct lw *l, uint32_t to, const uint64_t *pending, const uint64_t *open);
gcc_jit_lvalue *const *lw_pending(struct lw *l, uint32_t block);
gcc_jit_lvalue *const *lw_expected(struct lw *l, uint32_t join);
/* counters.c: code that counts for a profile; where it does not, these build nothing. What is counted where code is
 * entered; the current block has been executed to its end; the current instruction, which goes on to the next, acts on
 * the lanes that its guard names, and may access memory; its guard holds in all lanes that run; it is a branch that
 * lanes t alone take; cm[] is another set of lanes on the way to block `to`, all of the split's or not; a site has been
 * made, so many instructions into the block. */
void lw_counters_begin(struct lw *l);
void lw_counters_enter(struct lw *l);
void lw_counters_block(struct lw *l);
void lw_counters_guard(struct lw *l);
void lw_counters_all(struct lw *l);
void lw_counters_part(struct lw *l, gcc_jit_rvalue *const *t);
void lw_counters_lanes(struct lw *l, uint32_t to, bool whole);
void lw_counters_access(struct lw *l);
void lw_counters_site(struct lw *l, uint32_t site, uint32_t done);
/* checked.c: tells of the current instruction's access with its address in operand `at`, under that number; returned:
 * what the machine says to it. Where a checker watches, goes on to `slow` unless that says that it need not see more.
 */
gcc_jit_rvalue *lw_tell_access(struct lw *l, unsigned at, uint32_t number);
void lw_checked_access(struct lw *l, unsigned at, unsigned bytes, gcc_jit_block *slow);
void lw_counters_export(struct lw *l, uint32_t number);
/* lower.c: the current instruction, if it is an operation on values; so many instructions of the block have been
 * executed */
void lw_add_steps(struct lw *l, uint32_t n);
uint32_t lw_steps(const struct lw *l, uint32_t n); /* that are counted among the first n instructions of the block */
uint32_t lw_ticks(const struct lw *l, uint32_t n); /* by which these move the clock, where it is kept */
bool lw_compute(struct lw *l);
void lw_mark(struct lw *l); /* a comment that names the instruction, for people */
/* helpers.c: the interpreter's body of fallback `number`, for a mask or for lanes by chunk; returned: 0: it gives up
 * control. A slot's cells, if all of its chunks lie there now; or NULL. Whether what lanes have in cells does not lie
 * `stride` apart from lane to lane, all of them (lanes: NULL) or these, and, returned, what lane 0 would have. Whether
 * one of the lanes has a number that is greater than `most`, or has bits of `low`. In line, or by a function of the
 * object. */
gcc_jit_rvalue *lw_fallback(struct lw *l, gcc_jit_rvalue *number, gcc_jit_rvalue *mask);
gcc_jit_rvalue *lw_fallback_of(struct lw *l, gcc_jit_rvalue *number, gcc_jit_rvalue *const *lanes);
gcc_jit_rvalue *lw_cells_address(struct lw *l, uint32_t slot);
gcc_jit_rvalue *lw_row_start(struct lw *l, gcc_jit_rvalue *cells, bool wide, unsigned stride,
                             gcc_jit_rvalue *const *lanes, gcc_jit_rvalue **apart);
gcc_jit_rvalue *lw_call_row_start(struct lw *l, gcc_jit_rvalue *cells, bool wide, unsigned stride,
                                  gcc_jit_rvalue *const *lanes, gcc_jit_rvalue **apart);
gcc_jit_rvalue *lw_numbers_outside(struct lw *l, gcc_jit_rvalue *const *index, gcc_jit_rvalue *most, uint32_t low,
                                   gcc_jit_rvalue *const *lanes);
gcc_jit_rvalue *lw_call_numbers_outside(struct lw *l, gcc_jit_rvalue *cells, gcc_jit_rvalue *most, uint32_t low,
                                        gcc_jit_rvalue *const *lanes);
/* The cells of operand k, or of result k, if all of its chunks lie there as they are read or written; or NULL. Where
 * `raw` is asked for, so is whether NaNs of an operand there have to be made canonical; else these are not as read.
 * A row of elements of 32 or 64 bits that begins at an address is moved, from memory to cells, or, for lanes, from
 * cells to memory; unless the answer is that it is `apart`, out of the instruction's bounds, or not aligned. */
gcc_jit_rvalue *lw_operand_cells(struct lw *l, unsigned k, bool result, bool *raw);
gcc_jit_rvalue *lw_call_row_access(struct lw *l, bool wide, bool raw, gcc_jit_rvalue *bounds, gcc_jit_rvalue *start,
                                   gcc_jit_rvalue *apart, gcc_jit_rvalue *cells, gcc_jit_rvalue *const *lanes);
/* calls.c: the function of a frame; what the current instruction reads, where local memory of its frame begins or ends;
 * the current instruction, number k of its block, which calls a function whose code follows, or returns from it */
gcc_jit_rvalue *lw_fn(struct lw *l, uint32_t frame);
gcc_jit_rvalue *lw_local_memory(struct lw *l);
void lw_call(struct lw *l, uint32_t k);
void lw_return(struct lw *l, uint32_t k);
/* scalar_loops.c: finds loops whose lanes may run one by one; builds that of such a loop; where a block begins that is
 * not come to from inside of its own loop */
/* The edge from the current block to block `to` leaves loops that may be measured: they are. */
void lw_scalar_loops_left(struct lw *l, uint32_t to);
void lw_scalar_loops_find(struct lw *l);
void lw_scalar_loop_build(struct lw *l, uint32_t head);
gcc_jit_block *lw_start(const struct lw *l, uint32_t block);
/* denormals.c: finds slots that may hold integers' bits; whether the instruction computes floats from such where lanes
 * do not run. */
void lw_integers_find(struct lw *l);
bool lw_stale_floats(const struct lw *l, const struct ja_ins *i);
/* shapes.c */
void lw_shapes_find(struct lw *l);
/* Whether operand o of instruction k, in block b, holds one value; or a slot, before it. */
bool lw_uniform_at(const struct ja *a, uint32_t b, uint32_t k, unsigned o);
/* Whether instruction k is unguarded and the sum of `slot` (JA_NONE: of some slot that differs from lane to lane) and
 * of a value that all lanes have in common: which operand that value is; 0: no. */
unsigned lw_uniform_addend(const struct ja *a, uint32_t k, uint32_t slot);
bool lw_uniform_slot(const struct ja *a, uint32_t b, uint32_t k, uint32_t slot);
/* The last instruction of *k's block, before that, which writes the slot: to *k; false: there is none. */
bool lw_last_write(const struct ja *a, uint32_t *k, uint32_t slot);
/* Whether an instruction from `from` on, before `to`, writes the slot. */
bool lw_written_between(const struct ja *a, const struct ja_ins *from, const struct ja_ins *to, uint32_t slot);
/* Of the current instruction's address; NULL: none. */
const struct lw_base *lw_base(struct lw *l);
/* Checks the bounds of accesses to shared memory in the block that begins here; returned: whether some are missed. */
gcc_jit_rvalue *lw_check_block(struct lw *l, const struct ja_block *b);
/* The current instruction may be such an addition. */
void lw_addend(struct lw *l);
/* The current instruction has changed a slot's chunks. */
void lw_shape_update(struct lw *l, uint32_t slot);
/* A slot has got its chunks where a block begins; and whether its shape is asked for from there on. */
void lw_shape_enter(struct lw *l, uint32_t slot, uint32_t block);
bool lw_shape_asked(const struct lw *l, uint32_t slot, uint32_t block);
/* strides.c: whether a slot is, before the current instruction, `by` more from lane to lane where lw_tid_consecutive()
 * holds: all lanes are there, and %tid.x is one more from each to the next. */
bool lw_stride(const struct lw *l, uint32_t slot, int64_t *by);
gcc_jit_rvalue *lw_tid_consecutive(struct lw *l);
/* cross.c: each lane's number, & keep | set. */
jv lw_lane_numbers(struct lw *l, unsigned chunk, unsigned keep, unsigned set);
/* shared_runs.c: finds runs; what is done where one begins; a condition: the guess is wrong or some lane's number, also
 * of lanes that do not run, is out of bounds; another: one of the lanes that run is; a third: chunks have rows of their
 * own. One of a run's accesses, or false: the instruction is none. */
void lw_runs_find(struct lw *l);
void lw_run_begin(struct lw *l, struct lw_run *run);
gcc_jit_rvalue *lw_run_wrong(struct lw *l, struct lw_run *run);
gcc_jit_rvalue *lw_run_outside(struct lw *l, const struct lw_run *run);
gcc_jit_rvalue *lw_run_apart(struct lw *l, const struct lw_run *run);
bool lw_run_access(struct lw *l);
/* The numbers of all rows, or of those whose numbers the guessed version needs. Of instruction k: whether it can be in
 * a loop over the chunks, as the run is built now; whether it asks there which lanes run. A version begins; a loop of
 * these instructions; a chunk. */
void lw_run_numbers(struct lw *l, struct lw_run *run, bool as_guessed);
bool lw_run_in_loop(const struct lw *l, uint32_t k);
bool lw_run_asks_lanes(const struct lw *l, uint32_t k);
void lw_run_version_begin(struct lw *l);
void lw_run_loop_begin(struct lw *l, uint32_t from, uint32_t end);
void lw_run_chunk(struct lw *l);
/* memory.c: chunks of elements of a memory type at a host address: lanes of a mask, all of them (NULL), or one cell for
 * all (same); multiples of `stride` from lane `first` on */
void lw_load_chunk(struct lw *l, unsigned out, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes, unsigned type,
                   bool same);
void lw_store_chunk(struct lw *l, unsigned in, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes, unsigned type,
                    bool own);
/* Operand k, of one chunk, as what is stored as an element of the type; narrow ones zero-extended to 32 bits. */
jv lw_source(struct lw *l, unsigned k, unsigned c, unsigned type);
/* cells at base + index * scale, of one chunk */
void lw_gather(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, unsigned c,
               gcc_jit_rvalue *lanes, unsigned type);
void lw_scatter(struct lw *l, unsigned in, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, unsigned c,
                gcc_jit_rvalue *lanes, unsigned type);
gcc_jit_rvalue *lw_ramp(struct lw *l, unsigned first, unsigned stride, bool wide);
/* memory.c: the current instruction may move a slot whose addresses are known to be in a row: so are they behind it. */
void lw_piece_step(struct lw *l);
/* memory.c: a load or store; false: has no native form here, nothing was built. */
bool lw_memory(struct lw *l);
/* What the instruction's bounds cache holds: bounds, host address of device address 0; returned: whether it can be used
 * not at all. */
gcc_jit_rvalue *lw_bounds(struct lw *l, unsigned bytes, bool write, gcc_jit_rvalue **lo, gcc_jit_rvalue **limit,
                          gcc_jit_rvalue **host);
/* One address for all lanes, in operand `at`: the host's, if it is within bounds and nothing is `bad` (or NULL); else
 * out to `slow`. */
gcc_jit_rvalue *lw_uniform_address(struct lw *l, unsigned at, unsigned bytes, bool write, gcc_jit_rvalue *bad,
                                   gcc_jit_block *slow);
jv lw_address(struct lw *l, unsigned k, unsigned chunk, jv off); /* operand k + off */
/* The kind of shape, of MX_JIT_ROWS, with which such an access moves elements in a row; 0: there is none. */
unsigned lw_shape_bit(const struct lw_base *base, unsigned bytes);
/* memory.c: the addresses of an access by a slot's shape: a u64, negative if some miss the bounds from `lo` on, the
 * last address being `limit` further, or are not multiples of its bytes. *off, its offset, gets what the address adds
 * to the slot. The condition that a u64 is. */
gcc_jit_rvalue *lw_shape_misses(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *lo, gcc_jit_rvalue *limit,
                                unsigned bytes, gcc_jit_rvalue **off);
gcc_jit_rvalue *lw_is_negative(struct lw *l, gcc_jit_rvalue *v);
/* The host address of chunk c's first lane, that of address `off` of the device being `host`. */
gcc_jit_rvalue *lw_shape_place(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *host, unsigned c);
/* exits.c: where a slot's struct mx_jit_shape is in the spill area. */
gcc_jit_rvalue *lw_shape_cell(struct lw *l, uint32_t slot);
/* copies.c: asynchronous copies and their groups; false: has no native form here, nothing was built. Whether a function
 * has some that have. */
bool lw_async(struct lw *l);
bool lw_has_async(const struct ja *a);
/* shapes.c: whether the instruction copies all bytes that it says, for shapes of its addresses. */
bool lw_copies_whole(unsigned op);
/* atomics.c: the same for atomics. */
bool lw_atomic(struct lw *l);
/* cross.c: a warp operation. When its native form does, `alive` being the warp's lanes that live; NULL: it has none.
 * *tile: where lanes have masks of their own, how many are in each of these; else NULL. */
gcc_jit_rvalue *lw_cross_condition(struct lw *l, gcc_jit_rvalue *alive, gcc_jit_rvalue **tile);
void lw_cross(struct lw *l, gcc_jit_rvalue *tile);

#endif

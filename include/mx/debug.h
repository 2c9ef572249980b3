/* What a debugger needs: a launch that stops where it is told to, and whose registers, memory and control flow can be
 * read and changed while it stands still.
 *
 * A session is one launch in a thread of its own: blocks, warps and splits take their turns exactly as in the same
 * launch with threads = 1. There is one exception: after a million instructions of a CONTINUE order without a stop,
 * when nothing but breakpoints has been asked for, the launch goes on with as many threads as its configuration says.
 * Then, too, stops come in the order of blocks, unless blocks wait for one another; but blocks with higher numbers may
 * have begun or even ended by then.
 *
 * The launch stands still from mx_debug_begin until mx_debug_go, and again at each stop. All calls but mx_debug_pause
 * must come from one thread at a time, while the launch stands still. While a session is open, launches and resets of
 * its device are refused (MX_BUSY); copies, allocations and frees work.
 *
 * Structs for answers: the caller sets struct_size, except where a comment says that the library does. Strings in
 * answers are valid until the next order, mx_debug_replace or mx_debug_end: who needs them longer copies them. Blocks
 * are numbered in the grid, x fastest; warps in their block; splits in their warp; frames and joins in their split,
 * from 0. MX_NOT_FOUND: there is no such block (it is not resident), warp, split, frame, join or name.
 *
 * While the device has checkers (mx_device_check), its sessions run in the interpreter, in one thread, and stop at
 * findings. They cannot be recorded, nor can their code be replaced. */
#ifndef MX_DEBUG_H
#define MX_DEBUG_H

#include "mx/mx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_debug mx_debug;

/* Begins a launch that stands before the first instruction of block 0. The configuration and parameters are copied; its
 * timeout has no meaning here. Compiled code may run (as config.jit says) during CONTINUE orders, while nothing but
 * breakpoints has been asked for: no watchpoint, trace, schedule or recording. The places where a session stops, and
 * what it counts, are the same with compiled code and without. */
MX_API mx_status mx_debug_begin(mx_kernel *kernel, const mx_launch_config *config, const void *params, size_t bytes,
                                mx_debug **session);
/* Ends the launch, wherever it stands, and frees the session. NULL: nothing happens. */
MX_API void mx_debug_end(mx_debug *session);

/* ---- running --------------------------------------------------------------------------------------------*/
typedef enum mx_debug_order {
  MX_DEBUG_CONTINUE,  /* until a breakpoint, a trap or the end */
  MX_DEBUG_STEP,      /* count instructions of the given warp; others run when it waits */
  MX_DEBUG_STEP_LINE, /* until the given warp is at another source line, count times */
  MX_DEBUG_NEXT,      /* as STEP, calls as one instruction */
  MX_DEBUG_NEXT_LINE, /* as STEP_LINE, calls as part of their line */
  MX_DEBUG_FINISH     /* until the given warp is back in the caller of its current function */
} mx_debug_order;

typedef enum mx_debug_reason {
  MX_DEBUG_AT_BEGIN, /* nothing has run */
  MX_DEBUG_AT_BREAKPOINT,
  MX_DEBUG_AT_STEP,     /* the order is carried out */
  MX_DEBUG_AT_WARP_END, /* the warp of the order has ended; the stop is wherever the launch goes on */
  MX_DEBUG_AT_TRAP,     /* registers and memory can still be read; the next order ends the launch */
  MX_DEBUG_AT_PAUSE,    /* mx_debug_pause */
  MX_DEBUG_AT_END,      /* the launch has ended: status says how; no block is left to look at, but a recorded launch can
                           go back */
  MX_DEBUG_AT_WATCH,    /* mx_debug_watch, mx_debug_watch_write */
  MX_DEBUG_AT_HANG, /* mx_debug_suspect_hang: all lanes have been spinning for long and nothing changes; the next order
                       goes on */
  MX_DEBUG_AT_OLDEST, /* going back: the oldest recorded position */
  MX_DEBUG_AT_BRKPT,  /* before a brkpt instruction of the program that has no breakpoint of the session */
  MX_DEBUG_AT_FINDING /* behind an instruction for which a tool of the device has found something: mx/check.h */
} mx_debug_reason;

/* An instruction that has been executed: the one that wrote a register or memory. */
typedef struct mx_debug_culprit {
  size_t struct_size;
  uint64_t block, lanes, position;
  uint32_t warp, pc, line;
  const char *function, *file;
} mx_debug_culprit;

typedef struct mx_debug_stop {
  size_t struct_size;
  mx_debug_reason reason;
  mx_status status;  /* AT_END: of the launch; AT_TRAP: MX_TRAPPED, and see mx_device_trap after the end */
  mx_trap_kind trap; /* AT_TRAP */
  const char *text;  /* AT_TRAP: all that is known of it, in lines, as in mx_trap_info; until the next order */
  int breakpoint;    /* AT_BREAKPOINT: its number */
  uint64_t block;    /* number in the grid, x fastest */
  uint32_t ctaid[3], warp;
  uint64_t lanes;              /* AT_TRAP, AT_BRKPT: whose; else the active ones of the split that runs next */
  const char *function, *file; /* file NULL and line 0: no line table */
  uint32_t line, pc;
  uint64_t steps;          /* warp instructions so far: the position that mx_debug_goto takes */
  mx_addr address;         /* AT_WATCH of a write: the first watched byte written; else 0 */
  int watch;               /* AT_WATCH of a write: its number; else 0 */
  mx_debug_culprit writer; /* AT_WATCH of a write: whose; AT_FINDING: the instruction */
  uint64_t finding;        /* AT_FINDING: its number, for mx_device_finding; perhaps more come behind it */
} mx_debug_stop;

/* Carries out an order and returns at the next stop. block and warp: the warp that the order is about (CONTINUE: none);
 * count: how often to step, 0 as 1. */
MX_API mx_status mx_debug_go(mx_debug *session, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                             mx_debug_stop *stop);                       /* set struct_size first; stop may be NULL */
MX_API mx_status mx_debug_where(mx_debug *session, mx_debug_stop *stop); /* the last stop again */
/* Makes the launch stop at its next instruction. Any thread and any signal handler may call it. */
MX_API void mx_debug_pause(mx_debug *session);

/* ---- breakpoints: numbered from 1 -----------------------------------------------------------------------*/
/* Breaks before the instruction at word `pc` of a function (NULL: the kernel). *number is how later calls name the
 * breakpoint. MX_NOT_FOUND: no instruction begins there. */
MX_API mx_status mx_debug_break(mx_debug *session, const char *function, uint32_t pc, int *number);
/* Breaks before the first instructions of a source line, in each function that has code of it. file: the whole name, or
 * the part behind its last slash; NULL: any file. */
MX_API mx_status mx_debug_break_line(mx_debug *session, const char *file, uint32_t line, int *number);
MX_API mx_status mx_debug_break_delete(mx_debug *session, int number);
MX_API mx_status mx_debug_break_enable(mx_debug *session, int number, bool on);
typedef struct mx_debug_breakpoint {
  size_t struct_size;
  int number;
  bool enabled;
  const char *function, *file; /* of its first place */
  uint32_t pc, line, places;
  uint64_t hits;
} mx_debug_breakpoint;
MX_API size_t mx_debug_break_count(mx_debug *session);
MX_API mx_status mx_debug_break_at(mx_debug *session, size_t n, mx_debug_breakpoint *out);

/* A question of the caller's, a function that is called while the launch runs: in the session's thread, before an
 * instruction that is about to be executed. It may call the functions below that read (registers, memory, splits) and
 * no others. */
typedef struct mx_debug_point {
  size_t struct_size;    /* set by the library */
  uint64_t block, lanes; /* lanes that will execute it: those whose guard is false are not among them */
  uint32_t warp, pc;
  const char *function;
  bool fresh; /* it is the first question since an order, or since the session went back in time */
} mx_debug_point;
typedef bool (*mx_debug_ask)(void *user, const mx_debug_point *point);
/* From now on the breakpoint stops, and counts a hit, only where fn answers true. fn NULL: always. */
MX_API mx_status mx_debug_break_when(mx_debug *session, int number, mx_debug_ask fn, void *user);
/* A test that compiled code evaluates itself at a breakpoint with a question, so that it need not leave each time:
 * steps of a stack machine that works on all lanes at once. Where the result is false for every lane, code goes on
 * without asking fn; otherwise it leaves, and fn is asked. So the test must be true wherever fn would answer true. For
 * breakpoints of one place. count 0, and any call of mx_debug_break_when, takes the test away: code leaves each time.
 */
typedef enum mx_debug_test_op {
  MX_DEBUG_TEST_CELL, /* pushes a register, as mx_debug_find_cell found it */
  MX_DEBUG_TEST_INT,  /* pushes bits, a signed integer */
  MX_DEBUG_TEST_REAL, /* pushes bits, of a double */
  /* integers have 64 bits; a real operand makes it an operation on reals */
  MX_DEBUG_TEST_ADD,
  MX_DEBUG_TEST_SUB,
  MX_DEBUG_TEST_MUL,
  MX_DEBUG_TEST_BITS_AND,
  MX_DEBUG_TEST_BITS_OR,
  MX_DEBUG_TEST_BITS_XOR,
  MX_DEBUG_TEST_EQ,
  MX_DEBUG_TEST_NE,
  MX_DEBUG_TEST_LT,
  MX_DEBUG_TEST_LE,
  MX_DEBUG_TEST_GT,
  MX_DEBUG_TEST_GE,
  MX_DEBUG_TEST_LT_UNSIGNED,
  MX_DEBUG_TEST_LE_UNSIGNED,
  MX_DEBUG_TEST_GT_UNSIGNED,
  MX_DEBUG_TEST_GE_UNSIGNED,
  MX_DEBUG_TEST_AND,
  MX_DEBUG_TEST_OR,
  MX_DEBUG_TEST_NOT,   /* AND, OR, NOT: logical, of values that are true where they are not 0 */
  MX_DEBUG_TEST_ANY,   /* whether the value is true in any lane that will execute the instruction */
  MX_DEBUG_TEST_BLOCK, /* these three push the number of the block in the grid, of the warp in it, of the lane */
  MX_DEBUG_TEST_WARP,
  MX_DEBUG_TEST_LANE,
  MX_DEBUG_TEST_LAST = MX_DEBUG_TEST_LANE
} mx_debug_test_op;
struct mx_debug_test;
MX_API mx_status mx_debug_break_test(mx_debug *session, int number, const struct mx_debug_test *steps, size_t count);
/* Breaks before all instructions of a kind; DIVERGENCES: behind each branch at which a warp's lanes diverge. */
typedef enum mx_debug_kind {
  MX_DEBUG_BARRIERS,
  MX_DEBUG_PRINTS,
  MX_DEBUG_ASSERTS,
  MX_DEBUG_DIVERGENCES,
  MX_DEBUG_TRAPS,
  MX_DEBUG_ASYNC /* instructions of asynchronous copies: cp.async..., mbarrier... */
} mx_debug_kind;
MX_API mx_status mx_debug_break_kind(mx_debug *session, mx_debug_kind kind, int *number);
/* Stops before any instruction for which fn answers true. fn NULL ends this. */
MX_API mx_status mx_debug_watch(mx_debug *session, mx_debug_ask fn, void *user);
/* Stops behind each instruction that writes to a byte of [address, address + bytes), a generic address. Shared and
 * local memory are those of the given block. *number counts with those of breakpoints: mx_debug_break_delete and
 * _enable take it. */
MX_API mx_status mx_debug_watch_write(mx_debug *session, mx_addr address, uint64_t bytes, uint64_t block, int *number);

/* An instruction that is about to be executed, for mx_debug_trace. */
typedef struct mx_debug_event {
  size_t struct_size; /* set by the library */
  uint64_t block;
  uint32_t warp, pc;
  uint64_t lanes; /* lanes that will execute it: those whose guard is false are not among them */
  const char *function, *instruction, *file;
  uint32_t line;
} mx_debug_event;
/* Has fn called before every instruction, in the session's thread; it must not call mx functions. fn NULL ends this. */
MX_API mx_status mx_debug_trace(mx_debug *session, void (*fn)(void *user, const mx_debug_event *event), void *user);

/* ---- blocks, warps, splits ------------------------------------------------------------------------------*/
typedef struct mx_debug_block {
  size_t struct_size;
  uint64_t number;
  uint32_t ctaid[3], warps;
  uint32_t live_threads;
  uint64_t cluster;                    /* its number in the grid, x fastest */
  uint32_t cluster_rank, cluster_size; /* the block's rank in its cluster; how many blocks the cluster has */
  uint32_t cluster_arrived;            /* threads that have arrived at the cluster's barrier since it last opened */
} mx_debug_block;
/* Resident blocks, in the order of their numbers. */
MX_API size_t mx_debug_block_count(mx_debug *session);
MX_API mx_status mx_debug_block_at(mx_debug *session, size_t n, mx_debug_block *out);

typedef enum mx_debug_state {
  MX_DEBUG_RUNNABLE,
  MX_DEBUG_WAITS_FOR_LANES,
  MX_DEBUG_WAITS_AT_BARRIER,
  MX_DEBUG_WAITS_AT_MBARRIER
} mx_debug_state;
typedef struct mx_debug_warp {
  size_t struct_size;
  uint64_t live; /* lanes that have not ended */
  uint32_t splits;
  uint64_t clock;
} mx_debug_warp;
/* A group of lanes that run together, at one pc. Split 0 is the one that runs next. */
typedef struct mx_debug_split {
  size_t struct_size;
  uint64_t lanes;
  mx_debug_state state;
  uint64_t sync_mask; /* WAITS_FOR_LANES: the mask that its instruction names */
  uint32_t barrier;   /* WAITS_AT_BARRIER */
  const char *function, *instruction, *file;
  uint32_t line, pc;
  uint32_t depth;   /* nested calls: 1 in the kernel */
  uint32_t joins;   /* how many joins its lanes are expected at: mx_debug_get_join */
  mx_addr mbarrier; /* WAITS_AT_MBARRIER */
} mx_debug_split;
/* An asynchronous copy that has been issued and not yet carried out. */
typedef struct mx_debug_copy {
  size_t struct_size;
  uint32_t warp;
  uint64_t lanes; /* those that issued it and have not waited for it */
  const char *function, *instruction, *file;
  uint32_t line, pc; /* where it was issued */
  uint32_t bytes;    /* of a lane */
  mx_addr target;    /* of the lowest lane; 0: it copies nothing, and tells its mbarrier that earlier copies are done */
  mx_addr mbarrier;  /* of the lowest lane; 0: it belongs to a group, which a lane waits for by cp.async.wait_group */
  /* in a group: how many the lowest lane has committed since. cp.async.wait_group N waits for the copy if these are
   * more than N; 0: not even its own group has been committed */
  uint32_t groups;
} mx_debug_copy;
/* Copy number n of the block, from 0: warp after warp, each warp's in the order in which they were issued.
 * MX_NOT_FOUND: there are fewer. */
MX_API mx_status mx_debug_get_copy(mx_debug *session, uint64_t block, size_t n, mx_debug_copy *out);
/* A join: where lanes of a split wait for others from which they diverged. Join 0 is the innermost one. */
typedef struct mx_debug_join {
  size_t struct_size;
  const char *function, *file;
  uint32_t line, pc;
  bool at_return;             /* the join is the function's return; pc means nothing */
  uint64_t expected, arrived; /* lanes that will come there, and those of them that have and wait */
} mx_debug_join;
/* Frame 0 is the split's own, the last one the kernel's. */
typedef struct mx_debug_frame {
  size_t struct_size;
  const char *function, *file;
  uint32_t line, pc; /* of frame 0: as the split's; else of the call */
  uint64_t lanes;    /* that have not returned from it */
} mx_debug_frame;
MX_API mx_status mx_debug_get_warp(mx_debug *session, uint64_t block, uint32_t warp, mx_debug_warp *out);
MX_API mx_status mx_debug_get_split(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split,
                                    mx_debug_split *out);
MX_API mx_status mx_debug_get_join(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t join,
                                   mx_debug_join *out);
MX_API mx_status mx_debug_get_frame(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                    mx_debug_frame *out);

/* ---- registers ------------------------------------------------------------------------------------------
 * They go by their names in the text, "%r3" or "i"; special registers as "%tid.x"; slots of the frame, in which the
 * assembler has put registers, as "%.r5" (32 bits), "%.d3" (64), "%.q4" (128), "%.p1" (a predicate). */
typedef struct mx_debug_register {
  size_t struct_size;
  const char *name, *type;    /* "u32", "pred", "b128" ... */
  uint32_t bits, lanes;       /* lanes of a warp */
  uint64_t low[64], high[64]; /* the value of each lane; high: the upper half of a b128 */
  bool unset;                 /* no instruction on any path to here has written it: its values mean nothing */
  uint64_t known; /* lanes whose values are those of the program. Compiled code does not keep values that no later
                   * instruction reads, except where a breakpoint stops */
} mx_debug_register;
/* Named registers that have a value at the place where the split stands in that frame. */
MX_API size_t mx_debug_register_count(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame);
MX_API mx_status mx_debug_register_at(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                      size_t n, mx_debug_register *out);
MX_API mx_status mx_debug_get_register(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                       const char *name, mx_debug_register *out);
/* Sets a register in the lanes of the mask `lanes`. Special registers cannot be set. */
MX_API mx_status mx_debug_set_register(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                       const char *name, uint64_t lanes, uint64_t low, uint64_t high);

/* Where a register lies in a frame, for conditions that are evaluated often: it is found once, by name, for a place in
 * the code ... */
typedef struct mx_debug_cell {
  size_t struct_size;
  const char *type; /* "u32", "pred" ... */
  uint32_t bits, lanes;
  uint32_t place[3]; /* for the library only */
} mx_debug_cell;
MX_API mx_status mx_debug_find_cell(mx_debug *session, const char *function, uint32_t pc, const char *name,
                                    mx_debug_cell *out);
/* ... and then read by a question (mx_debug_ask) at that place. The result points to uint32_t[lanes] for types of up to
 * 32 bits, uint64_t[lanes] for 64, one uint64_t with a bit a lane for a predicate, and is valid during that question.
 */
MX_API const void *mx_debug_cell_lanes(mx_debug *session, const mx_debug_cell *cell);

/* A step of mx_debug_break_test. All steps of one test have the same struct_size. */
typedef struct mx_debug_test {
  size_t struct_size;
  mx_debug_test_op op;
  uint64_t bits;      /* INT, REAL */
  mx_debug_cell cell; /* CELL */
} mx_debug_test;

/* Makes the lanes of a split go on at another instruction of the function in which they stand. */
MX_API mx_status mx_debug_jump(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t pc);

/* ---- code -----------------------------------------------------------------------------------------------*/
typedef struct mx_debug_function {
  size_t struct_size;
  const char *name;
  bool kernel;
  uint32_t words;
} mx_debug_function;
/* Functions that the kernel can reach, itself first. */
MX_API size_t mx_debug_function_count(mx_debug *session);
MX_API mx_status mx_debug_function_at(mx_debug *session, size_t n, mx_debug_function *out);
typedef struct mx_debug_instruction {
  size_t struct_size;
  const char *instruction, *file, *label; /* label: NULL where there is none */
  uint32_t line, words;
} mx_debug_instruction;
/* function NULL: the kernel. MX_NOT_FOUND: no instruction begins there. */
MX_API mx_status mx_debug_code(mx_debug *session, const char *function, uint32_t pc, mx_debug_instruction *out);
/* Name number n, from 0, of the registers of a function, in the order of the text; NULL beyond the last. */
MX_API const char *mx_debug_name_at(mx_debug *session, const char *function, size_t n);

/* ---- backwards ------------------------------------------------------------------------------------------
 * Begins a recording, which lets the session go back in time: from here on it keeps states of the launch now and then,
 * and what memory held before it was written. limit: bytes that this may take, 0 for 256 MiB; when they are used up,
 * states are kept at greater distances, and then the oldest are given up. To go back, the nearest state before is
 * restored and the launch runs forward from there. Changes that the debugger made on the way (registers, memory, jumps)
 * are repeated at their positions; a change that is made in the past makes the recording end there. Text that was
 * printed is not printed again. on = false: ends the recording and forgets it. */
MX_API mx_status mx_debug_record(mx_debug *session, bool on, uint64_t limit);
typedef struct mx_debug_recording {
  size_t struct_size;
  bool on;
  uint64_t oldest, newest, now; /* positions, as mx_debug_stop.steps; newest is the furthest that was reached */
  uint64_t states, bytes;       /* how many states are kept, and the memory that all of the recording takes */
} mx_debug_recording;
MX_API mx_status mx_debug_get_recording(mx_debug *session, mx_debug_recording *out);
/* Carries out an order backwards: STEP and NEXT go to the count-th last instruction or line of the warp, FINISH to the
 * call of its current function, CONTINUE to the last breakpoint or watchpoint. */
MX_API mx_status mx_debug_back(mx_debug *session, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                               mx_debug_stop *stop);
MX_API mx_status mx_debug_goto(mx_debug *session, uint64_t position, mx_debug_stop *stop);
/* Which instruction last wrote a register of a split's frame (in any lane of `lanes`), or a byte of memory. The session
 * stays where it is. MX_NOT_FOUND: none has since the oldest position. */
MX_API mx_status mx_debug_last_register(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split,
                                        uint32_t frame, const char *name, uint64_t lanes, mx_debug_culprit *out);
MX_API mx_status mx_debug_last_write(mx_debug *session, mx_addr address, uint64_t bytes, uint64_t block,
                                     mx_debug_culprit *out);
/* The same, but writes that did not change the value do not count, such as a compare-and-swap that failed. */
MX_API mx_status mx_debug_last_change(mx_debug *session, mx_addr address, uint64_t bytes, uint64_t block,
                                      mx_debug_culprit *out);

/* ---- schedules ------------------------------------------------------------------------------------------
 * Runs warps and blocks in another order than usual, to find errors that depend on it: before accesses to shared and
 * global memory, atomics and barriers a warp gives up its turn at random. The same seed gives the same order in every
 * run. 0: the usual order. */
MX_API mx_status mx_debug_schedule(mx_debug *session, uint64_t seed);
/* Stops (AT_HANG) when all lanes have spun for so many turns in a row (1,024 backward branches for each resident block)
 * and no value in memory has changed meanwhile. Observing memory is slow, so it begins only when no register has
 * changed either, or 64 times as many turns have passed. 0, the default: never. */
MX_API mx_status mx_debug_suspect_hang(mx_debug *session, uint64_t turns);

/* ---- memory ---------------------------------------------------------------------------------------------
 * Generic addresses, as one lane sees them: global and constant memory, the shared memory of its block, its own local
 * memory, parameters of the kernel.
 */
enum { MX_DEBUG_GLOBAL, MX_DEBUG_SHARED, MX_DEBUG_LOCAL, MX_DEBUG_CONST, MX_DEBUG_PARAM };
MX_API mx_addr mx_debug_generic(unsigned space, uint64_t address); /* the generic address of an address in a space */
MX_API mx_status mx_debug_read(mx_debug *session, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address,
                               void *to, size_t bytes);
MX_API mx_status mx_debug_write(mx_debug *session, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address,
                                const void *from, size_t bytes);
/* Finds a variable of the module by name, .shared ones included: its generic address and size. */
MX_API mx_status mx_debug_symbol(mx_debug *session, const char *name, mx_addr *address, uint64_t *bytes);

/* Variable number n, from 0, of those that the code of a frame can name: the module's (of .shared ones those that the
 * kernel uses), and .local ones of the frame's function. If there is no such frame, only the module's. MX_NOT_FOUND:
 * there are fewer. */
typedef struct mx_debug_variable {
  size_t struct_size;
  const char *name;
  unsigned space;  /* MX_DEBUG_GLOBAL ... */
  mx_addr address; /* generic */
  uint64_t bytes;
} mx_debug_variable;
MX_API mx_status mx_debug_variable_at(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                      size_t n, mx_debug_variable *out);

/* ---- incremental assembly -------------------------------------------------------------------------------
 * Replaces the kernel that runs by the kernel of the same name in the module `bytes`; no lane may be in a function that
 * the kernel has called. Up to the highest pc at which a lane stands, or at which one is expected at a join, the new
 * code must be the same as the old, and registers must have the same slots (mx_asm_options.one_slot_per_name sees to
 * that when text is added at the end). Lanes go on at the pcs at which they stand, in the new code. */
MX_API mx_status mx_debug_replace(mx_debug *session, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif

/* What a debugger needs: a launch that stops where asked, and everything to be seen and changed while it stands still.
 *
 * A session is one launch in a thread of its own: blocks, warps and splits take their turns exactly as in the same
 * launch with threads = 1. While an order is to CONTINUE, nothing but breakpoints has been asked for, and for a million
 * instructions none has stopped the launch, it runs on as many threads as its configuration says. Also then stops come
 * in the order of blocks, where blocks do not wait for one another; but blocks with higher numbers may be under way
 * already, or have ended. It stands still from mx_debug_begin until mx_debug_go, and again at each stop. Calls other
 * than mx_debug_pause belong to one thread, while the session stands still. While a session is open, launches and
 * resets of its device are refused (MX_BUSY); copies, allocations and frees work.
 *
 * While the device has tools (mx_device_check), its sessions run interpreted, in one thread, and stop at findings. They
 * cannot be recorded, nor their code replaced. */
#ifndef MX_DEBUG_H
#define MX_DEBUG_H

#include "mx/mx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_debug mx_debug;

/* Ready before the first instruction of block 0. The timeout of the configuration has no meaning here. Compiled code
 * may run (jit) while an order is to CONTINUE and nothing but breakpoints has been asked for: no watchpoint, trace,
 * schedule, recording. It leaves where breakpoints stand; the places where a session stops, and what it counts, are the
 * same with it and without. */
MX_API mx_status mx_debug_begin(mx_kernel *kernel, const mx_launch_config *config, const void *params, size_t bytes,
                                mx_debug **session);
/* Ends the launch, wherever it is, and the session. */
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
  MX_DEBUG_AT_TRAP,     /* everything is still there to be seen; the next order ends the launch */
  MX_DEBUG_AT_PAUSE,    /* mx_debug_pause */
  MX_DEBUG_AT_END,    /* the launch has ended: status says how; nothing is left to be seen, but a recorded launch can go
                         back */
  MX_DEBUG_AT_WATCH,  /* mx_debug_watch, mx_debug_watch_write */
  MX_DEBUG_AT_HANG,   /* everybody spins, and for very long no value in memory has changed; the next order goes on */
  MX_DEBUG_AT_OLDEST, /* going back: the oldest recorded position */
  MX_DEBUG_AT_BRKPT,  /* before a brkpt instruction of the program, and no breakpoint stands there */
  MX_DEBUG_AT_FINDING /* behind an instruction for which a tool of the device has found something: mx/check.h */
} mx_debug_reason;

/* An instruction of the past: who wrote, and where. */
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
  uint64_t lanes;              /* active ones of the split that runs next */
  const char *function, *file; /* file NULL and line 0: no line table */
  uint32_t line, pc;
  uint64_t steps;          /* warp instructions so far: the position that mx_debug_goto takes */
  mx_addr address;         /* AT_WATCH of a write: the first watched byte written; else 0 */
  int watch;               /* AT_WATCH of a write: its number; else 0 */
  mx_debug_culprit writer; /* AT_WATCH of a write: whose; AT_FINDING: the instruction */
  uint64_t finding;        /* AT_FINDING: its number, for mx_device_finding; perhaps more come behind it */
} mx_debug_stop;

/* warp: the block's number and the warp in it, for orders that speak of one. Returns at the next stop. */
MX_API mx_status mx_debug_go(mx_debug *session, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                             mx_debug_stop *stop);                       /* set struct_size first; stop may be NULL */
MX_API mx_status mx_debug_where(mx_debug *session, mx_debug_stop *stop); /* the last stop again */
/* From any thread or signal handler: stops at the next instruction. */
MX_API void mx_debug_pause(mx_debug *session);

/* ---- breakpoints: numbered from 1 -----------------------------------------------------------------------*/
/* At a word of a function (NULL: the kernel). MX_NOT_FOUND: no instruction begins there. */
MX_API mx_status mx_debug_break(mx_debug *session, const char *function, uint32_t pc, int *number);
/* At the first instructions of a source line, in each function that has it. file NULL: any; else its last part is
 * enough. */
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

/* Something to be asked while the launch runs. Called in the session's thread, before the instruction at hand; it may
 * call the functions below that look (registers, memory, splits) and no others. */
typedef struct mx_debug_point {
  size_t struct_size;    /* as the library knows it */
  uint64_t block, lanes; /* lanes that execute it, its guard included */
  uint32_t warp, pc;
  const char *function;
  bool fresh; /* the first question since an order, or since the launch was taken back */
} mx_debug_point;
typedef bool (*mx_debug_ask)(void *user, const mx_debug_point *point);
/* The breakpoint stops, and counts a hit, only where fn answers true. NULL: always. */
MX_API mx_status mx_debug_break_when(mx_debug *session, int number, mx_debug_ask fn, void *user);
/* What compiled code may ask by itself at a breakpoint with a question, in the order of a stack machine that works on
 * all lanes: code passes where no lane's result is true, without fn being asked. So it must be true wherever fn would
 * answer true; fn is asked there. For breakpoints of one place; count 0: no test, code leaves there every time; so does
 * mx_debug_break_when. */
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
  MX_DEBUG_TEST_NOT, /* of truths */
  MX_DEBUG_TEST_ANY, /* whether one is true of the lanes that execute the instruction */
  MX_DEBUG_TEST_BLOCK,
  MX_DEBUG_TEST_WARP,
  MX_DEBUG_TEST_LANE, /* pushes the number of the block in the grid, the warp in it, the lane */
  MX_DEBUG_TEST_LAST = MX_DEBUG_TEST_LANE
} mx_debug_test_op;
struct mx_debug_test;
MX_API mx_status mx_debug_break_test(mx_debug *session, int number, const struct mx_debug_test *steps, size_t count);
/* At all instructions of a kind; a divergence stops behind the branch. */
typedef enum mx_debug_kind {
  MX_DEBUG_BARRIERS,
  MX_DEBUG_PRINTS,
  MX_DEBUG_ASSERTS,
  MX_DEBUG_DIVERGENCES,
  MX_DEBUG_TRAPS,
  MX_DEBUG_ASYNC /* what issues, waits for or is told of asynchronous copies: cp.async..., mbarrier... */
} mx_debug_kind;
MX_API mx_status mx_debug_break_kind(mx_debug *session, mx_debug_kind kind, int *number);
/* Stops before any instruction for which fn answers true. NULL ends it. */
MX_API mx_status mx_debug_watch(mx_debug *session, mx_debug_ask fn, void *user);
/* Stops behind each write to a byte of [address, address + bytes), a generic address; of shared and local memory in the
 * given block (and warp and lane). Numbers are those of breakpoints; delete and enable work. */
MX_API mx_status mx_debug_watch_write(mx_debug *session, mx_addr address, uint64_t bytes, uint64_t block, int *number);

/* Called before every instruction, in the session's thread; fn NULL ends it. fn may not call mx functions. */
typedef struct mx_debug_event {
  size_t struct_size; /* as the library knows it */
  uint64_t block;
  uint32_t warp, pc;
  uint64_t lanes; /* those that execute it, its guard included */
  const char *function, *instruction, *file;
  uint32_t line;
} mx_debug_event;
MX_API mx_status mx_debug_trace(mx_debug *session, void (*fn)(void *user, const mx_debug_event *event), void *user);

/* ---- what there is --------------------------------------------------------------------------------------*/
typedef struct mx_debug_block {
  size_t struct_size;
  uint64_t number;
  uint32_t ctaid[3], warps;
  uint32_t live_threads;
  uint64_t cluster;                    /* its number in the grid, x fastest */
  uint32_t cluster_rank, cluster_size; /* of the block; blocks */
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
/* A group of lanes at one pc. Split 0 is the one that runs next. */
typedef struct mx_debug_split {
  size_t struct_size;
  uint64_t lanes;
  mx_debug_state state;
  uint64_t sync_mask; /* WAITS_FOR_LANES: of the mask it names */
  uint32_t barrier;   /* WAITS_AT_BARRIER */
  const char *function, *instruction, *file;
  uint32_t line, pc;
  uint32_t depth;   /* nested calls: 1 in the kernel */
  uint32_t joins;   /* below it on the divergence stack */
  mx_addr mbarrier; /* WAITS_AT_MBARRIER */
} mx_debug_split;
/* An asynchronous copy that has not landed. */
typedef struct mx_debug_copy {
  size_t struct_size;
  uint32_t warp;
  uint64_t lanes; /* that issued it and have not waited for it */
  const char *function, *instruction, *file;
  uint32_t line, pc; /* where it was issued */
  uint32_t bytes;    /* of a lane */
  mx_addr target;    /* of the lowest lane; 0: it only tells its mbarrier that those before it have landed */
  mx_addr mbarrier;  /* of the lowest lane; 0: it is in a group */
} mx_debug_copy;
/* Copy number n of the block, warp after warp in the order in which they were issued. MX_NOT_FOUND: there are fewer. */
MX_API mx_status mx_debug_get_copy(mx_debug *session, uint64_t block, size_t n, mx_debug_copy *out);
/* Where lanes of a split meet others again. Join 0 is the innermost one. */
typedef struct mx_debug_join {
  size_t struct_size;
  const char *function, *file;
  uint32_t line, pc;
  bool at_return; /* they meet where the function returns; pc means nothing */
  uint64_t expected, arrived;
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
 * By the names of the text, "%r3" or "i"; special registers as "%tid.x"; slots as "%.r5" "%.d3" "%.p1" "%.q4". */
typedef struct mx_debug_register {
  size_t struct_size;
  const char *name, *type;    /* "u32", "pred", "b128" ... */
  uint32_t bits, lanes;       /* lanes of a warp */
  uint64_t low[64], high[64]; /* a lane's value; high only of b128 */
  bool unset;                 /* nothing on any way to here has written it yet; its values mean nothing */
  uint64_t known; /* lanes whose values are the program's: compiled code does not keep what nobody reads any more,
                   * except where a breakpoint stops */
} mx_debug_register;
/* Named registers that hold something at the split's place in the frame. */
MX_API size_t mx_debug_register_count(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame);
MX_API mx_status mx_debug_register_at(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                      size_t n, mx_debug_register *out);
MX_API mx_status mx_debug_get_register(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                       const char *name, mx_debug_register *out);
/* In the lanes of `lanes`; not special registers. */
MX_API mx_status mx_debug_set_register(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                       const char *name, uint64_t lanes, uint64_t low, uint64_t high);

/* A register as it lies in the frame at hand, for conditions that are asked often: found once by name at a place ... */
typedef struct mx_debug_cell {
  size_t struct_size;
  const char *type; /* "u32", "pred" ... */
  uint32_t bits, lanes;
  uint32_t place[3]; /* the machine's */
} mx_debug_cell;
MX_API mx_status mx_debug_find_cell(mx_debug *session, const char *function, uint32_t pc, const char *name,
                                    mx_debug_cell *out);
/* ... and read in an mx_debug_ask at that place: uint32_t[lanes] up to 32 bits, uint64_t[lanes] of 64, one uint64_t
 * mask of a predicate. */
MX_API const void *mx_debug_cell_lanes(mx_debug *session, const mx_debug_cell *cell);

/* A step of mx_debug_break_test. All steps of one test have the same struct_size. */
typedef struct mx_debug_test {
  size_t struct_size;
  mx_debug_test_op op;
  uint64_t bits;      /* INT, REAL */
  mx_debug_cell cell; /* CELL */
} mx_debug_test;

/* The lanes of a split go on at another instruction of the function in which they stand. */
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
/* Names of registers that a function has anywhere, in the order of the text; NULL beyond the last. */
MX_API const char *mx_debug_name_at(mx_debug *session, const char *function, size_t n);

/* ---- backwards ------------------------------------------------------------------------------------------
 * From here on the session keeps what it needs to go back: states of the machine now and then, and what memory held
 * before it was written. limit: of its memory, 0 for 256 MiB; when it is reached states become rarer, then the oldest
 * are given up. Going back takes the nearest state and runs from there. What a debugger changes meanwhile (registers,
 * memory, jumps) is done again at its position; changes in the past forget what came behind them. Text that was printed
 * is not printed again. off: forgets everything. */
MX_API mx_status mx_debug_record(mx_debug *session, bool on, uint64_t limit);
typedef struct mx_debug_recording {
  size_t struct_size;
  bool on;
  uint64_t oldest, newest, now; /* positions: newest is the furthest that was reached */
  uint64_t states, bytes;       /* what is kept */
} mx_debug_recording;
MX_API mx_status mx_debug_get_recording(mx_debug *session, mx_debug_recording *out);
/* The order the other way: to the count-th last instruction or line of the warp, to the call of its current function,
 * to the last breakpoint or watchpoint. */
MX_API mx_status mx_debug_back(mx_debug *session, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                               mx_debug_stop *stop);
MX_API mx_status mx_debug_goto(mx_debug *session, uint64_t position, mx_debug_stop *stop);
/* Who wrote a register of a split's frame last (in one of `lanes`), or a byte of memory: goes nowhere. MX_NOT_FOUND:
 * nobody since the oldest position. */
MX_API mx_status mx_debug_last_register(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split,
                                        uint32_t frame, const char *name, uint64_t lanes, mx_debug_culprit *out);
MX_API mx_status mx_debug_last_write(mx_debug *session, mx_addr address, uint64_t bytes, uint64_t block,
                                     mx_debug_culprit *out);
/* The same, but writes that left everything as it was do not count, such as comparisons that failed. */
MX_API mx_status mx_debug_last_change(mx_debug *session, mx_addr address, uint64_t bytes, uint64_t block,
                                      mx_debug_culprit *out);

/* ---- schedules ------------------------------------------------------------------------------------------
 * Other orders of warps and blocks than the usual one: before accesses to shared and global memory, atomics and
 * barriers a warp gives up its turn, at random, from the seed. 0: as usual. The same seed gives the same launch. */
MX_API mx_status mx_debug_schedule(mx_debug *session, uint64_t seed);
/* Stops (AT_HANG) when everybody has spun for so many turns in a row, of 1,024 backward branches for each resident
 * block, and no value in memory has changed meanwhile; before memory is watched, registers have to stay as they are, or
 * 64 times as many turns to pass. 0, as at the beginning: never. */
MX_API mx_status mx_debug_suspect_hang(mx_debug *session, uint64_t turns);

/* ---- memory ---------------------------------------------------------------------------------------------
 * Generic addresses as one lane sees them: global, constant, its block's shared memory, its local memory, parameters.
 */
enum { MX_DEBUG_GLOBAL, MX_DEBUG_SHARED, MX_DEBUG_LOCAL, MX_DEBUG_CONST, MX_DEBUG_PARAM };
MX_API mx_addr mx_debug_generic(unsigned space, uint64_t address); /* of an address in a space */
MX_API mx_status mx_debug_read(mx_debug *session, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address,
                               void *to, size_t bytes);
MX_API mx_status mx_debug_write(mx_debug *session, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address,
                                const void *from, size_t bytes);
/* A variable of the module by name, shared ones included: its generic address and size. */
MX_API mx_status mx_debug_symbol(mx_debug *session, const char *name, mx_addr *address, uint64_t *bytes);

/* A variable that code can name: of the module, or (.local) of the function in which the frame stands. Of shared ones
 * those that the kernel uses. Frames as in mx_debug_get_frame; where there is none, only the module's. MX_NOT_FOUND:
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
 * Puts the module's kernel of the same name in place of the one that runs, while all its lanes stand in the kernel
 * itself. The new code must begin with the words before the highest pc at which a lane stands or is awaited, and its
 * registers must have the places they had (mx_asm_options.one_slot_per_name does that when text is added at the end).
 * Lanes go on at the pcs at which they stand, now in the new code. */
MX_API mx_status mx_debug_replace(mx_debug *session, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif

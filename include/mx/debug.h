/* What a debugger needs: a launch that stops where asked, and everything to be seen and changed while it stands still.
 *
 * A session is one launch with one worker, interpreted, in a thread of its own: blocks, warps and splits take their
 * turns exactly as in the same launch with threads = 1. It stands still from mx_debug_begin until mx_debug_go, and again
 * at each stop. Calls other than mx_debug_pause belong to one thread, while the session stands still. While a session
 * is open, launches and resets of its device are refused (MX_BUSY); copies, allocations and frees work. */
#ifndef MX_DEBUG_H
#define MX_DEBUG_H

#include "mx/mx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_debug mx_debug;

/* Ready before the first instruction of block 0. threads, jit and timeout of the configuration have no meaning here. */
MX_API mx_status mx_debug_begin(mx_kernel *kernel, const mx_launch_config *config, const void *params, size_t bytes,
                                mx_debug **session);
/* Ends the launch, wherever it is, and the session. */
MX_API void mx_debug_end(mx_debug *session);

/* ---- running --------------------------------------------------------------------------------------------*/
typedef enum mx_debug_order {
  MX_DEBUG_CONTINUE,   /* until a breakpoint, a trap or the end */
  MX_DEBUG_STEP,       /* count instructions of the given warp; others run when it waits */
  MX_DEBUG_STEP_LINE,  /* until the given warp is at another source line, count times */
  MX_DEBUG_NEXT,       /* as STEP, calls as one instruction */
  MX_DEBUG_NEXT_LINE,  /* as STEP_LINE, calls as part of their line */
  MX_DEBUG_FINISH      /* until the given warp is back in the caller of its current function */
} mx_debug_order;

typedef enum mx_debug_reason {
  MX_DEBUG_AT_BEGIN,      /* nothing has run */
  MX_DEBUG_AT_BREAKPOINT,
  MX_DEBUG_AT_STEP,       /* the order is carried out */
  MX_DEBUG_AT_WARP_END,   /* the warp of the order has ended; the stop is wherever the launch goes on */
  MX_DEBUG_AT_TRAP,       /* everything is still there to be seen; the next order ends the launch */
  MX_DEBUG_AT_PAUSE,      /* mx_debug_pause */
  MX_DEBUG_AT_END         /* the launch has ended: status says how; nothing is left to be seen */
} mx_debug_reason;

typedef struct mx_debug_stop {
  size_t struct_size;
  mx_debug_reason reason;
  mx_status status;            /* AT_END: of the launch; AT_TRAP: MX_TRAPPED, and see mx_device_trap after the end */
  mx_trap_kind trap;           /* AT_TRAP */
  const char *text;            /* AT_TRAP: detail, or NULL; until the next order */
  int breakpoint;              /* AT_BREAKPOINT: its number */
  uint64_t block;              /* number in the grid, x fastest */
  uint32_t ctaid[3], warp;
  uint64_t lanes;              /* active ones of the split that runs next */
  const char *function, *file; /* file NULL and line 0: no line table */
  uint32_t line, pc;
  uint64_t steps;              /* warp instructions so far */
} mx_debug_stop;

/* warp: the block's number and the warp in it, for orders that speak of one. Returns at the next stop. */
MX_API mx_status mx_debug_go(mx_debug *session, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                             mx_debug_stop *stop); /* set struct_size first; stop may be NULL */
MX_API mx_status mx_debug_where(mx_debug *session, mx_debug_stop *stop); /* the last stop again */
/* From any thread or signal handler: stops at the next instruction. */
MX_API void mx_debug_pause(mx_debug *session);

/* ---- breakpoints: numbered from 1 -----------------------------------------------------------------------*/
/* At a word of a function (NULL: the kernel). MX_NOT_FOUND: no instruction begins there. */
MX_API mx_status mx_debug_break(mx_debug *session, const char *function, uint32_t pc, int *number);
/* At the first instructions of a source line, in each function that has it. file NULL: any; else its last part is enough. */
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

/* Called before every instruction, in the session's thread; fn NULL ends it. fn may not call mx functions. */
typedef struct mx_debug_event {
  uint64_t block;
  uint32_t warp, pc;
  uint64_t lanes;              /* those that execute it, its guard included */
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
} mx_debug_block;
/* Resident blocks, in the order of their numbers. */
MX_API size_t mx_debug_block_count(mx_debug *session);
MX_API mx_status mx_debug_block_at(mx_debug *session, size_t n, mx_debug_block *out);

typedef enum mx_debug_state { MX_DEBUG_RUNNABLE, MX_DEBUG_WAITS_FOR_LANES, MX_DEBUG_WAITS_AT_BARRIER } mx_debug_state;
typedef struct mx_debug_warp {
  size_t struct_size;
  uint64_t live;               /* lanes that have not ended */
  uint32_t splits;
  uint64_t clock;
} mx_debug_warp;
/* A group of lanes at one pc. Split 0 is the one that runs next. */
typedef struct mx_debug_split {
  size_t struct_size;
  uint64_t lanes;
  mx_debug_state state;
  uint64_t sync_mask;          /* WAITS_FOR_LANES: of the mask it names */
  uint32_t barrier;            /* WAITS_AT_BARRIER */
  const char *function, *instruction, *file;
  uint32_t line, pc;
  uint32_t depth;              /* nested calls: 1 in the kernel */
  uint32_t joins;              /* below it on the divergence stack */
} mx_debug_split;
/* Where lanes of a split meet others again. Join 0 is the innermost one. */
typedef struct mx_debug_join {
  size_t struct_size;
  const char *function, *file;
  uint32_t line, pc;
  bool at_return;              /* they meet where the function returns; pc means nothing */
  uint64_t expected, arrived;
} mx_debug_join;
/* Frame 0 is the split's own, the last one the kernel's. */
typedef struct mx_debug_frame {
  size_t struct_size;
  const char *function, *file;
  uint32_t line, pc;           /* of frame 0: as the split's; else of the call */
  uint64_t lanes;              /* that have not returned from it */
} mx_debug_frame;
MX_API mx_status mx_debug_get_warp(mx_debug *session, uint64_t block, uint32_t warp, mx_debug_warp *out);
MX_API mx_status mx_debug_get_split(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, mx_debug_split *out);
MX_API mx_status mx_debug_get_join(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t join,
                                   mx_debug_join *out);
MX_API mx_status mx_debug_get_frame(mx_debug *session, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                    mx_debug_frame *out);

/* ---- registers ------------------------------------------------------------------------------------------
 * By the names of the text, "%r3" or "i"; special registers as "%tid.x"; slots as "%.r5" "%.d3" "%.p1" "%.q4". */
typedef struct mx_debug_register {
  size_t struct_size;
  const char *name, *type;     /* "u32", "pred", "b128" ... */
  uint32_t bits, lanes;        /* lanes of a warp */
  uint64_t low[64], high[64];  /* a lane's value; high only of b128 */
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

/* ---- memory ---------------------------------------------------------------------------------------------
 * Generic addresses as one lane sees them: global, constant, its block's shared memory, its local memory, parameters. */
enum { MX_DEBUG_GLOBAL, MX_DEBUG_SHARED, MX_DEBUG_LOCAL, MX_DEBUG_CONST, MX_DEBUG_PARAM };
MX_API mx_addr mx_debug_generic(unsigned space, uint64_t address); /* of an address in a space */
MX_API mx_status mx_debug_read(mx_debug *session, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address, void *to,
                               size_t bytes);
MX_API mx_status mx_debug_write(mx_debug *session, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address,
                                const void *from, size_t bytes);
/* A variable of the module by name, shared ones included: its generic address and size. */
MX_API mx_status mx_debug_symbol(mx_debug *session, const char *name, mx_addr *address, uint64_t *bytes);

/* ---- incremental assembly -------------------------------------------------------------------------------
 * Puts the module's kernel of the same name in place of the one that runs, while all its lanes stand in the kernel itself.
 * The new code must begin with the words before the highest pc at which a lane stands or is awaited, and its registers must
 * have the places they had (mx_asm_options.one_slot_per_name does that when text is added at the end). Lanes go on at the pcs at
 * which they stand, now in the new code. */
MX_API mx_status mx_debug_replace(mx_debug *session, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif

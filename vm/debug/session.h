/* A debugging session from the inside: what the files of vm/debug/ share. A launch knows it by the table in
 * vm/exec/hooks.h only. */
#ifndef MX_VM_DEBUG_H
#define MX_VM_DEBUG_H

#include "mx/debug.h"

#include "vm/exec/block.h"
#include "vm/host/device.h"

struct mx_place {
  uint32_t func, pc;
};

struct mx_breakpoint {
  int number;
  bool enabled;
  uint64_t hits;
  struct mx_place *places;
  uint32_t nplaces;
  bool divergence; /* it has no places: stops behind each divergent branch */
  bool write;      /* it has no places: stops behind each write to [address, address + bytes) as seen from `block` */
  mx_addr address;
  uint64_t bytes, block;
  mx_debug_ask ask; /* NULL: stops always */
  void *ask_user;
  char *test; /* for compiled code, as compiled.c writes it; NULL: none */
};

/* Where a register lies in a frame. */
struct mx_register_place {
  uint8_t cls, type;
  bool spilled;
  uint16_t slot;
};

/* What reverse.c looks for. */
struct mx_search {
  bool on;
  uint64_t end;             /* position at which the search of this piece ends */
  uint64_t count;           /* how many before the end */
  uint64_t *last;           /* ring of the last `count` positions found */
  uint64_t found;           /* all that were found in this piece */
  mx_debug_culprit culprit; /* of the last one */
  mx_debug_stop stop;       /* CONTINUE: what the last one is */
  enum { MX_SEARCH_ORDER, MX_SEARCH_REGISTER, MX_SEARCH_WRITE } what;
  uint32_t line, func, depth; /* where the order's warp stands: at the instruction before, or (depth) when it began */
  bool known;                 /* line and func are */
  uint64_t previous;          /* position of that instruction */
  const struct mx_func *of;   /* MX_SEARCH_REGISTER: in frames of this function, so deep */
  mx_ref ref;                 /* the register in such a frame */
  uint64_t lanes;
  bool is_argument;              /* calls of the function write it */
  mx_addr address;               /* MX_SEARCH_WRITE */
  uint64_t bytes, hit;           /* hit: lanes whose write fits, by the instruction at hand */
  bool changes;                  /* it must make a difference: */
  unsigned char *place, old[16]; /* what the first of them is about to write to, and held */
  uint8_t held;
};

struct mx_debug {
  mx_device *device;
  mx_kernel *kernel;
  const struct mx_level *real; /* the bodies that do the work */
  mx_body *bodies;             /* all equal: the body that tests whether to stop */
  mx_body entry_body;          /* of entries of compiled code */
  struct mx_level level;
  struct mx_prepared *prep; /* of this session alone: its bodies differ */
  mx_launch_config config;
  uint8_t *params;
  size_t param_bytes;

  atomic_int pause; /* set by any thread at any time; not among the bit-fields that g->lock guards */
  pthread_t thread;
  struct mx_lock lock;
  pthread_cond_t moved;
  bool standing; /* the session's thread waits for an order, or has ended */
  struct mx_by_hand {
    uint32_t func;
    mx_ref ref;
  } * by_hand; /* registers that the debugger has written */
  size_t nby_hand;
  bool jumped;                /* code was skipped, so the code does not tell who has written a register */
  struct mx_trap_record trap; /* at a trap: the record about it */
  bool quit, ended, running, begun, trap_shown;
  bool over;        /* recorded, and at the launch's end: only going back is possible */
  bool fresh;       /* no mx_debug_ask since the last order */
  mx_status status; /* of the launch, once ended */

  /* while standing */
  struct mx_launch *launch;
  struct mx_exec *x;
  mx_debug_stop stop;

  /* the order */
  mx_debug_order order;
  uint64_t block, count;
  uint32_t warp;
  bool armed; /* the start of a step is known: */
  uint32_t start_line, start_func, start_depth;
  const struct mx_block *focus_block; /* at the order; NULL: not resident then */
  uint64_t executed;
  bool plain; /* the order is to continue, and only breakpoints can end it */

  bool together; /* the launch runs on several workers: parallel.c. Changed while only the session's does */
  uint64_t alone, alone_until; /* instructions before it does; of its worker's, when it will. UINT64_MAX: never */
  uint64_t before;             /* its worker's when they began */

  const struct mx_insn *at; /* the instruction that runs */
  const struct mx_insn
      *pass;       /* do not stop again at this instruction: it stopped already, before its code was replaced */
  bool moved_code; /* the split at hand stands elsewhere than when it stopped: other code, or a jump */

  struct mx_breakpoint *breaks;
  size_t nbreaks;
  int next_number;
  uint8_t **marks;          /* by function: by pc: is there an enabled breakpoint? NULL: nowhere */
  bool divergences, writes; /* some enabled breakpoint is of that kind */
  uint64_t splits;          /* divergent branches seen */
  int pending;              /* the breakpoint that the last instruction triggered; 0: none */
  mx_addr pending_address;
  mx_debug_culprit pending_writer;
  mx_debug_ask watch;
  void *watch_user;

  mx_body step;       /* a checker's, for all instructions; NULL: no tools are on */
  size_t found;       /* findings that have stopped the launch, or were there before */
  bool found_pending; /* the last instruction has had more; pending_writer is the instruction */

  void (*trace)(void *user, const mx_debug_event *event);
  void *trace_user;

  uint64_t seed, random; /* of mx_debug_schedule; state of its generator */
  uint64_t hang_turns;   /* of mx_debug_suspect_hang; 0: endless */
  uint64_t quiet;        /* turns in a row in which all lanes spun and no value in memory changed */
  uint64_t seen[64];     /* what the registers of blocks were, by number, when they spun last */
  uint64_t sure;         /* of these, turns during which memory was observed */
  bool checks_values, value_changed;
  struct mx_written {
    unsigned char *at;
    uint8_t bytes, old[16];
  } * written; /* by the instruction at hand, while checks_values */
  uint32_t nwritten;

  struct mx_compiled *compiled; /* compiled.c; NULL: no code yet */
  struct mx_record *record;     /* record.c; NULL: cannot go back */
  struct mx_search search;
  struct mx_edits *edits; /* reverse.c */
  bool rewinding;         /* the launch unwinds, to go on from a recorded state */
  uint64_t stop_at;       /* position; UINT64_MAX: none */
  mx_debug_reason stop_at_reason;
  uint64_t muted; /* text printed before this position has been shown */

  struct mx_replaced *replaced; /* replace.c: images and prepared code that frames and texts may still speak of */
};

/* ---- what the machine calls through the table of vm/exec/hooks.h, which says when -------------------------------*/
/* session.c */
struct mx_block *mx__debug_stopped(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
void mx__debug_parked(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
void mx__debug_spun(struct mx_debug *g, struct mx_launch *l, const struct mx_block *b, uint64_t digest);
void mx__debug_turn(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
static inline bool mx__debug_unwatched(const struct mx_debug *g, const struct mx_exec *x, const struct mx_insn *i) {
  return g->plain && !atomic_load_explicit(&g->pause, memory_order_relaxed) &&
         !(g->marks && g->marks[x->fn->number] && g->marks[x->fn->number][i->pc]);
}
/* write_hooks.c */
static inline bool mx__debug_sees_writes(const struct mx_debug *g) {
  return g->record || g->writes || g->checks_values;
}
void mx__debug_writes(struct mx_exec *x, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes,
                      unsigned char *const *host);
void mx__debug_clears(struct mx_debug *g, struct mx_block *b);
/* parallel.c */
void mx__debug_went_on(struct mx_debug *g, const struct mx_exec *x);
bool mx__debug_joins(struct mx_debug *g, struct mx_exec *x, uint64_t blocks);
void mx__debug_helps(const struct mx_debug *g, struct mx_exec *x);
void mx__debug_parts(struct mx_debug *g, const struct mx_exec *x, uint64_t others);
bool mx__debug_rests(const struct mx_debug *g, struct mx_launch *l);
/* compiled.c */
bool mx__debug_may_run_compiled(const struct mx_debug *g, const struct mx_exec *x);
void mx__compiled_ran(struct mx_debug *g, struct mx_exec *x, uint64_t steps, bool trapped);
void mx__compiled_enters(struct mx_exec *x);

/* ---- between the files of the session ---------------------------------------------------------------------------*/
/* write_hooks.c: the tables of the kernels' heap are about to change. */
void mx__debug_heap(struct mx_exec *x);
/* write_hooks.c: has the instruction that has just run changed a value in memory? Into g->value_changed. */
void mx__debug_compare(struct mx_debug *g);
/* parallel.c: an order begins. */
void mx__debug_order_begins(struct mx_debug *g);
/* parallel.c: a worker that helps comes to an instruction at which the session has something to ask: it stops before
 * it, for the session's own worker to execute it. */
const struct mx_insn *mx__debug_suspend_before(struct mx_exec *x, const struct mx_insn *i);
/* parallel.c: `next` is what an instruction's body returned while several workers run. If it has trapped it is not
 * counted, since the session's own worker will execute it again. Returns next. */
const struct mx_insn *mx__debug_uncount_trap(struct mx_exec *x, const struct mx_insn *next);

/* compiled.c: the launch is about to go on by itself; it stands again (or nothing was begun). */
mx_status mx__compiled_begin(struct mx_debug *g);
void mx__compiled_end(struct mx_debug *g);
void mx__compiled_free(struct mx_debug *g);
/* The lanes in which a slot of a frame at pc has its current value; in others, compiled code has not stored it, since
 * it was dead. */
uint64_t mx__compiled_known(struct mx_debug *g, const struct mx_frame *f, uint32_t pc, uint32_t offset, unsigned cls);
void mx__compiled_steps(struct mx_debug *g, struct mx_exec *x,
                        const struct mx_insn *i); /* the interpreter executes i */
void mx__compiled_wrote(struct mx_debug *g, const struct mx_frame *f, uint32_t pc, uint32_t offset, unsigned cls,
                        uint64_t lanes);
void mx__compiled_rewound(struct mx_debug *g);

/* breakpoints.c: NULL: there is none, and the failure is told. */
struct mx_breakpoint *mx__debug_find_break(struct mx_debug *g, int number);
/* breakpoints.c: marks breakpoints anew after their list, or the code, has changed. */
mx_status mx__debug_mark(struct mx_debug *g);
/* Whether a breakpoint stops before this instruction; counts hits unless going back. */
bool mx__debug_breakpoint(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i);
bool mx__debug_asks(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, mx_debug_ask ask, void *user);
/* state.c */
void mx__debug_culprit(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, uint64_t lanes,
                       mx_debug_culprit *out);
uint32_t mx__debug_line(const struct mx_debug *g, uint32_t func, uint32_t pc);
/* orders.c: lets the session's thread go and waits for its next stop. */
mx_status mx__debug_resume(struct mx_debug *g, mx_debug_stop *stop);
/* inspect.c */
const char *mx__mnemonic(unsigned op);
struct mx_block *mx__debug_block(struct mx_debug *g, uint64_t number); /* NULL: not resident */
size_t mx__debug_blocks(struct mx_debug *g, struct mx_block ***list);  /* malloc'ed, by number */
/* The n-th split in the order in which they run; NULL: there is none. */
struct mx_split *mx__debug_split(struct mx_debug *g, struct mx_block *b, struct mx_warp *w, uint32_t n);
/* Finds a name or slot at a pc of a function; not special registers. */
bool mx__debug_place(const struct mx_func *f, uint32_t pc, const char *name, struct mx_register_place *p);
/* name NULL: the kernel. NULL: the kernel does not use it. */
const struct mx_pfunc *mx__debug_function(const struct mx_debug *g, const char *name);
/* Its offset in the frame; slot: its own, or a neighbour's. */
uint32_t mx__debug_offset(const struct mx_pfunc *fn, uint32_t lanes, const struct mx_register_place *p, uint32_t slot);
/* A frame of a split and the pc at which it stands. */
mx_status mx__debug_frame(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t n,
                          struct mx_frame **frame, uint32_t *pc);
/* replace.c */
void mx__debug_forget(struct mx_debug *g);

/* record.c */
bool mx__record_begin(struct mx_debug *g, uint64_t limit); /* false: out of memory */
void mx__record_free(struct mx_debug *g);
uint64_t mx__record_before(struct mx_debug *g,
                           uint64_t position); /* the last recorded position before it; itself: there is none */
void mx__record_take(struct mx_debug *g,
                     uint64_t position); /* the rewinding launch goes on from the last state up to there */
void mx__record_info(const struct mx_debug *g, mx_debug_recording *out);
void mx__record_writes(struct mx_debug *g, unsigned char *lo, unsigned char *hi, unsigned char *at, uint64_t bytes);
void mx__record_turn(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
void mx__record_first(struct mx_debug *g); /* nothing has run yet, which is the same as the beginning of a turn */
struct mx_block *mx__record_rewind(struct mx_debug *g, struct mx_exec *x); /* the block to run */
void mx__record_cut(struct mx_debug *g); /* a change at this position: what came behind it is forgotten */
bool mx__record_is_empty(const struct mx_debug *g);
void mx__record_forget(struct mx_debug *g); /* the code has changed: begins anew */
/* reverse.c: is this instruction, before or behind which the launch is, one that is looked for? */
void mx__debug_search(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i);
void mx__debug_searched(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i);
/* Changes by the debugger; reverse.c repeats them when the launch passes their positions again; record.c keeps them. */
struct mx_edit {
  uint64_t position;
  enum { MX_EDIT_REGISTER, MX_EDIT_MEMORY, MX_EDIT_JUMP } what;
  uint64_t block, lanes, low, high;
  uint32_t warp, split, frame, lane, pc;
  mx_addr address;
  size_t bytes;
  void *data; /* of MX_EDIT_MEMORY; MX_EDIT_REGISTER: the name */
};
struct mx_edits {
  struct mx_edit *at;
  size_t n, room;
  bool applying;
};
void mx__edits_apply(struct mx_debug *g);
void mx__edits_free(struct mx_debug *g);
void mx__edit_jump(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t pc);
void mx__edit_register(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                       const char *name, uint64_t lanes, uint64_t low, uint64_t high);
void mx__edit_memory(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address,
                     const void *from, size_t bytes);

/* MX_OK while the session is stopped and has not ended; otherwise records the failure. */
mx_status mx__debug_ready(struct mx_debug *g, const char *call);
/* Whose worker this thread is, in the midst of an mx_debug_ask or doing again what a user changed: it may look while
 * the launch runs, and holds the device's memory for reading already. NULL: nobody's. */
extern _Thread_local struct mx_debug *mx__debug_asking;
/* For calls that need code only: also at the end of a recorded launch. */
static inline mx_status mx__debug_code_ready(struct mx_debug *g, const char *call) {
  return g && g->over ? MX_OK : mx__debug_ready(g, call);
}

#endif

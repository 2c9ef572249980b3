/* A debugging session from the inside: what debug.c (running and stopping), inspect.c (looking and changing) and
 * replace.c (new code) share, and the two places where a launch reports to its session. */
#ifndef MX_VM_DEBUG_H
#define MX_VM_DEBUG_H

#include "mx/debug.h"

#include "vm/block.h"
#include "vm/device.h"

struct mx_place { uint32_t func, pc; };

struct mx_watch;
struct mx_breakpoint {
  int number;
  bool enabled;
  struct mx_watch *watch;      /* a watchpoint: watch.c; it has no places */
  uint64_t hits;
  struct mx_place *places;
  uint32_t nplaces;
};

struct mx_debug {
  mx_device *device;
  mx_kernel *kernel;
  const struct mx_level *real; /* the bodies that do the work */
  mx_body *bodies;             /* all the same: they ask the session first */
  struct mx_level level;
  struct mx_prepared *prep;    /* of this session alone: its bodies differ */
  mx_launch_config config;
  uint8_t *params;
  size_t param_bytes;

  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t moved;
  bool standing;               /* the session's thread waits for an order, or has ended */
  bool quit, ended, running, begun, trap_shown;
  atomic_bool pause;
  mx_status status;            /* of the launch, once ended */

  /* while standing */
  struct mx_launch *launch;
  struct mx_exec *x;
  mx_debug_stop stop;

  /* the order */
  mx_debug_order order;
  uint64_t block, count;
  uint32_t warp;
  bool armed;                  /* the start of a step is known: */
  uint32_t start_line, start_func, start_depth;
  const struct mx_block *focus_block; /* at the order; NULL: not resident then */
  uint64_t executed;
  const struct mx_insn *pass;  /* do not ask again at this instruction: it has stopped already, before its code changed */

  struct mx_breakpoint *breaks;
  size_t nbreaks;
  int next_number;
  uint8_t **marks;             /* by function: by pc: is there an enabled breakpoint? NULL: nowhere */

  uint32_t nwatches;           /* enabled ones, or wanted by back.c */
  const struct mx_breakpoint *hit; /* of what the last instruction did: the stop is to come */

  struct mx_record *record;    /* NULL: no history */
  struct mx_back *back;        /* a way back is being searched, or gone; NULL: no */
  bool over;                   /* the launch has ended, but history is there */
  bool applying;               /* changes by the host are made again */
  bool replaced_code;

  void (*trace)(void *user, const mx_debug_event *event);
  void *trace_user;

  struct mx_replaced *replaced; /* replace.c: images and prepared code that frames and texts may still speak of */
};

/* schedule.c: a block's turn has ended with everybody stopped. */
void mx__debug_stopped(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
/* The device goes away. */
void mx__debug_close(struct mx_device *d);

/* schedule.c: all blocks have ended, or were stopped. */
void mx__debug_over(struct mx_debug *g, struct mx_exec *x);

/* debug.c: gives the session's thread an order that has been written down, and waits for the stop. */
mx_status mx__debug_order(struct mx_debug *g, mx_debug_stop *stop);
/* Fills the stop with the place of x's warp. */
void mx__debug_describe(struct mx_debug *g, struct mx_exec *x, uint32_t func, uint32_t pc);
/* Adds a breakpoint: takes b's parts over. */
mx_status mx__debug_add(struct mx_debug *g, struct mx_breakpoint b, int *number);
struct mx_breakpoint *mx__debug_find(struct mx_debug *g, int number); /* NULL: told */
uint32_t mx__debug_line(const struct mx_debug *g, uint32_t func, uint32_t pc);
/* debug.c: marks breakpoints anew after their list, or the code, has changed. */
mx_status mx__debug_mark(struct mx_debug *g);
/* inspect.c */
const char *mx__mnemonic(unsigned op);
struct mx_block *mx__debug_block(struct mx_debug *g, uint64_t number); /* NULL: not resident */
size_t mx__debug_blocks(struct mx_debug *g, struct mx_block ***list);  /* malloc'ed, by number */
/* Split n of the order in which they run; NULL: there is none. */
struct mx_split *mx__debug_split(struct mx_debug *g, struct mx_block *b, struct mx_warp *w, uint32_t n);
/* Where a register is; its lanes' cells, and what they hold. */
struct mx_reg_place { uint8_t cls, type; bool spilled; uint16_t slot; };
mx_status mx__debug_register(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame, const char *name,
                             struct mx_frame **f, struct mx_reg_place *place);
void mx__debug_cells(const struct mx_debug *g, struct mx_frame *f, const struct mx_reg_place *p, uint64_t low[64], uint64_t high[64]);
/* Makes a recorded change of the host's again. */
struct mx_change;
void mx__debug_apply(struct mx_debug *g, const struct mx_change *c);

/* watch.c: looks before and after an instruction. After: true if some watchpoint has something to say; g->hit is it. */
void mx__watch_before(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i);
bool mx__watch_after(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i);
void mx__watch_count(struct mx_debug *g); /* after the list has changed */
void mx__watch_free(struct mx_watch *w);

/* back.c: the way back, as the session's thread goes it. */
enum mx_back_way { MX_BACK_RUN, MX_BACK_STOP, MX_BACK_LEAVE };
enum mx_back_way mx__back_insn(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, mx_debug_reason *reason);
void mx__back_watched(struct mx_debug *g);       /* the instruction that has just run is one that g->hit speaks of */
bool mx__back_stopped(struct mx_debug *g);       /* the launch has ended or trapped: true: the way goes on elsewhere */
uint64_t mx__back_target(const struct mx_debug *g); /* the position it leads to; 0: not known, or nobody goes back */
int mx__back_only(const struct mx_debug *g);     /* the one breakpoint that counts; 0: the enabled ones */
void mx__back_free(struct mx_debug *g);

/* replace.c */
void mx__debug_forget(struct mx_debug *g);

/* MX_OK while the session stands still and has something to show; else the failure is told. */
mx_status mx__debug_ready(struct mx_debug *g, const char *call);
/* The same, also at the end of a launch that was recorded. */
mx_status mx__debug_ready_or_over(struct mx_debug *g, const char *call);

#endif

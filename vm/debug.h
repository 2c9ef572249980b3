/* A debugging session from the inside: what debug.c (running and stopping), inspect.c (looking and changing) and
 * replace.c (new code) share, and the two places where a launch reports to its session. */
#ifndef MX_VM_DEBUG_H
#define MX_VM_DEBUG_H

#include "mx/debug.h"

#include "vm/block.h"
#include "vm/device.h"

struct mx_place { uint32_t func, pc; };

struct mx_breakpoint {
  int number;
  bool enabled;
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

  void (*trace)(void *user, const mx_debug_event *event);
  void *trace_user;

  struct mx_replaced *replaced; /* replace.c: images and prepared code that frames and texts may still speak of */
};

/* schedule.c: a block's turn has ended with everybody stopped. */
void mx__debug_stopped(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
/* The device goes away. */
void mx__debug_close(struct mx_device *d);

/* debug.c: marks breakpoints anew after their list, or the code, has changed. */
mx_status mx__debug_mark(struct mx_debug *g);
/* inspect.c */
const char *mx__mnemonic(unsigned op);
struct mx_block *mx__debug_block(struct mx_debug *g, uint64_t number); /* NULL: not resident */
size_t mx__debug_blocks(struct mx_debug *g, struct mx_block ***list);  /* malloc'ed, by number */
/* Split n of the order in which they run; NULL: there is none. */
struct mx_split *mx__debug_split(struct mx_debug *g, struct mx_block *b, struct mx_warp *w, uint32_t n);
/* replace.c */
void mx__debug_forget(struct mx_debug *g);

/* MX_OK while the session stands still and has not ended; else the failure is told. */
mx_status mx__debug_ready(struct mx_debug *g, const char *call);

#endif

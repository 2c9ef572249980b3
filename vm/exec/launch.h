/* One launch: its shape, its limits, what all its workers share. Checks are in vm/host/launch.c, workers in
 * schedule.c and pool.c; what a block does is turns.c's business. */
#ifndef MX_VM_LAUNCH_H
#define MX_VM_LAUNCH_H

#include "core/module.h"
#include "mx/mx.h"
#include "vm/memory/lock.h"

#include "exec.h"
#include "trap.h"

#include <stdatomic.h>

struct mx_prepared;

#define MX_HALVES 3 /* how often the lanes of a warp may be halved for blocks that have no more */
#define MX_VARIANTS (MX_HALVES * (MX_ROWS + 1)) /* of a kernel's code; for each length of rows, then for any blocks */
/* What compiled code counts or tells: nothing; for a profile, executions and lanes, and pieces of memory; what a
 * checker wants to see. */
enum { MX_COUNT_NOTHING, MX_COUNT_LANES, MX_COUNT_MEMORY, MX_COUNT_CHECKED, MX_COUNTS };
#define MX_MAX_BLOCK_THREADS 1024u
#define MX_MAX_GRID_X 0x7FFFFFFFu
#define MX_MAX_GRID_YZ 65535u
#define MX_MAX_SHARED 232448u /* 227 KiB */

/* Why workers are asked to stop; in the stop flag. REST: they suspend their blocks, with which a session's own worker
 * goes on. */
enum mx_stop {
  MX_STOP_NOT,
  MX_STOP_REST,
  MX_STOP_TRAP,
  MX_STOP_STEPS,
  MX_STOP_TIME,
  MX_STOP_INTERRUPT,
  MX_STOP_HOST_MEMORY
};

/* Another device whose memory is held while the launch runs. open: all of it may be reached, not only what is managed.
 */
struct mx_beside {
  struct mx_memory *memory;
  pthread_rwlock_t *lock;
  bool open;
};
#define MX_LAUNCH_BESIDE 8

struct mx_launch {
  struct mx_device *device; /* for the host's side and engines only: the machine has what it needs in the next four */
  const struct mx_services *services;
  struct mx_memory *memory;
  struct mx_beside beside[MX_LAUNCH_BESIDE];
  uint32_t nbeside;
  struct mx_heap *heap;             /* of device malloc */
  const struct mx_objects *objects; /* textures and surfaces */
  struct mx_fifo *fifo;             /* what kernels print */
  const struct mx_image *image;
  uint32_t func; /* the kernel, in the image */
  struct mx_prepared *prep;
  struct mx_debug *debug;       /* NULL: nobody looks */
  const struct mx_hooks *hooks; /* of debug: hooks.h */
  struct mx_queue *schedule;    /* while it runs: queue.h */
  struct mx_stuck *stuck;       /* stuck.h; NULL: a session looks by itself */
  const struct mx_probe *probe; /* hooks.h; NULL: no tool looks at the launch as a whole */
  struct mx_probed *probed;     /* a profile's */
  unsigned counts;              /* what compiled code has to count for it, or tell */
  const char *check_list;       /* CHECKED: a text that names instructions, see jit/compiler/checked.c */
  unsigned halved;              /* how often its code has the lanes of a warp halved */
  /* its code is made for so many rows of lanes in a warp, a power of two: within each, %tid.x increases by one from
   * lane to lane, and %tid.y and %tid.z stay the same; 0: for any blocks */
  uint32_t rows;
  void *observed; /* a checker's */

  uint32_t grid[3], block[3];
  uint64_t nblocks;
  uint32_t cluster[3], cluster_blocks; /* blocks of a cluster */
  uint64_t nclusters;                  /* what workers take: one runs all of a cluster's blocks */
  bool explicit_cluster;
  uint32_t threads;      /* of a block */
  uint32_t lanes, warps; /* of a warp; of a block */
  const uint8_t *params; /* param_bytes of them, 64-byte aligned, padded with 64 zero bytes */
  uint32_t param_bytes;
  uint32_t shared_static, shared_dynamic, shared_bytes; /* dynamic begins at prep->shared_static */
  uint32_t local_bytes;                                 /* of a lane; multiple of 16 */
  uint32_t call_depth;                                  /* most nested frames */
  bool cooperative;
  mx_async_order async;
  uint64_t async_seed; /* when asynchronous copies land */
  uint64_t workspace;  /* cooperative: generic address for %envreg1 (high half) and %envreg2; else 0 */
  uint64_t grid_id;
  mx_jit_mode jit;
  uint64_t jit_stress;
  _Atomic uint32_t workers; /* that run blocks; of a session 1, and more while it runs together */
  uint32_t helpers;         /* of a session: workers that may join its own */
  uint32_t resident;        /* blocks; a multiple of cluster_blocks */

  _Atomic uint64_t *started;       /* blocks; how far the launch is. The device's: others ask */
  uint64_t steps_limit;            /* 0: none */
  const struct timespec *deadline; /* CLOCK_MONOTONIC; NULL: none */
  _Atomic uint64_t frame_bytes;    /* memory of frames, all workers */
  _Atomic uint64_t steps;          /* of all workers, brought up to date when a block gives up its worker */
  atomic_bool uses_local;          /* some block does */
  atomic_bool interpreted;         /* compiled code is not to be entered from here on */
  atomic_bool doubted;             /* the same, as long as it seems that nothing goes on: stuck.c */
  atomic_int *stop;                /* enum mx_stop; the device's, so that a signal handler can reach it */

  bool live;                  /* what it prints is handed over at once */
  atomic_bool asserted;       /* an assertion has failed: it goes on for the others only */
  struct mx_lock lock;        /* of what follows */
  struct mx_asserts *asserts; /* output.c; NULL: none has failed */
  bool trapped;
  struct mx_trap trap;
  mx_launch_stats stats; /* workers add theirs when they end */
};
/* Which of its kernel's codes it uses. */
static inline unsigned mx__launch_variant(const struct mx_launch *l) {
  return l->halved + MX_HALVES * (l->rows ? (unsigned)__builtin_ctz(l->rows) : MX_ROWS);
}

/* What the machine asks of the device's side while the launch runs; vm/host/output.c, which says more. */
struct mx_services {
  void (*flush)(struct mx_device *d);
  void (*assert_failed)(struct mx_launch *l, uint64_t block, const struct mx_trap *t, const char *message, size_t size);
};

/* Asks all workers to stop; the first reason stays, unless it is to rest. */
static inline void mx__stop(atomic_int *stop, enum mx_stop why) {
  int was = atomic_load(stop);
  while ((was == MX_STOP_NOT || (was == MX_STOP_REST && why != MX_STOP_REST)) &&
         !atomic_compare_exchange_weak(stop, &was, (int)why)) {}
}
static inline void mx__launch_stop(struct mx_launch *l, enum mx_stop why) { mx__stop(l->stop, why); }
/* exec.c. Adds the instructions that this worker has executed since it did so last to those of the launch: their sum.
 */
uint64_t mx__add_steps(struct mx_exec *x);
/* The same where a warp goes on: the launch stops if it is beyond its limit. */
void mx__publish_steps(struct mx_exec *x);
/* Whether the launch is to stop. */
static inline bool mx__told_to_stop(struct mx_exec *x) {
  enum { PUBLISH_STEPS = 4096 }; /* a shared counter is not for every turn */
  if (x->steps - x->steps_published >= PUBLISH_STEPS || x->launch->steps_limit) mx__publish_steps(x);
  return atomic_load_explicit(x->stop, memory_order_relaxed) != MX_STOP_NOT;
}
static inline bool mx__launch_is_interpreted(const struct mx_launch *l) {
  return atomic_load_explicit(&l->interpreted, memory_order_relaxed) ||
         atomic_load_explicit(&l->doubted, memory_order_relaxed);
}

#endif

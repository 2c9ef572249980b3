/* What a device is made of, and what a module and a kernel on it are. Only vm/ and jit/ see this.
 * Its locks and their order: lock.h. */
#ifndef MX_VM_DEVICE_H
#define MX_VM_DEVICE_H

#include "vm/exec/launch.h"
#include "vm/exec/printf.h"
#include "vm/exec/stuck.h"
#include "vm/exec/trap.h"
#include "vm/memory/lock.h"
#include "vm/memory/memory.h"
#include "vm/texture/objects.h"

#include <stdatomic.h>

struct mx_pool;   /* vm/exec/pool.c: worker threads */
struct mx_engine; /* engine.h: who compiles kernels */
struct mx_jit;    /* jit/: what a device keeps for compiled code */
struct mx_debug;  /* vm/debug/: a debugging session */
struct mx_hooks;
struct mx_heap;  /* heap.c: device malloc */
struct mx_group; /* group.c */
struct mx_fifo;  /* vm/exec/fifo.c: what kernels printed */

struct mx_device {
  struct mx_lock run;
  struct mx_rwlock mem;     /* of memory and modules: by group.c's mx__alone for what others may see */
  struct mx_rwlock reached; /* group.c: readers: launches of devices beside it */
  struct mx_lock print;
  struct mx_lock lock;

  struct mx_memory memory;
  uint32_t threads; /* default workers of a launch */
  mx_jit_mode jit_mode;
  char *jit_compiler, *cache_dir; /* as in the options; NULL: default */
  _Atomic uint64_t limits[MX_LIMIT_COUNT];

  char *error;     /* text of the last failure */
  bool error_lost; /* there was no memory for it */
  char *note;      /* what a user should know though nothing failed; only the first one, until it is asked for */
  bool noted;
  _Atomic bool trapped;
  struct mx_trap_record trap;

  struct mx_group *group;   /* group.c: devices beside this one; NULL: none */
  uint32_t place;           /* its place there */
  _Atomic uint32_t reaches; /* by place: whose memory it may reach */

  uint64_t resets;    /* how often the device has been reset, which ends all that lay in its memory; under mem */
  mx_module *modules; /* list; changed under mem and lock */
  mx_module *gone;    /* modules that a reset has ended: freed when nobody uses them any more; under lock */

  struct mx_lock queues; /* streams and events, all of them */
  pthread_cond_t queues_moved;
  mx_stream *streams;        /* list */
  mx_event *events;          /* list */
  uint64_t blocking_pending; /* operations in blocking streams that have not ended */
  mx_status async_failure;   /* of asynchronous work, not yet reported; its text; its stream */
  char *async_text;
  mx_stream *async_stream;
  uint64_t streams_made;

  atomic_int stop;                  /* enum mx_stop, of the running launch */
  struct mx_stuck stuck;            /* of the running launch */
  _Atomic uint64_t started, blocks; /* of the running launch, or the last one: blocks that have begun, and all */
  uint64_t launches;                /* grid ids */
  mx_launch_stats stats;            /* of the last one */
  uint64_t workspace;               /* of cooperative launches; 0: not made yet */
  struct mx_pool *pool;             /* NULL: not made yet */

  mx_output_fn output, messages_to; /* these under `print`: output.c */
  void *output_user, *messages_user;
  struct mx_text messages; /* of assertions that failed: still to be told */
  struct mx_fifo *fifo;    /* another one is made by who has `run` too */
  struct mx_heap *heap;
  struct mx_objects objects;        /* textures and surfaces; changed under mem (reader: appended to) and lock */
  mx_array *arrays;                 /* list; lock */
  const struct mx_engine *engine;   /* engine.h */
  struct mx_jit *jit;               /* what the engine keeps for this device */
  struct mx_debug *debug;           /* the open session, or NULL */
  const struct mx_hooks *hooks;     /* of debug */
  struct mx_check *check;           /* vm/check/: NULL, or tools watch the launches */
  const struct mx_checker *checker; /* checker.h */
};

struct mx_kernel {
  mx_module *module;
  uint32_t func;                               /* in the image */
  struct mx_prepared *prep;                    /* made when first needed; device lock */
  struct mx_prepared *variant[MX_VARIANTS];    /* [1] on: the same for other code, as in struct mx_launch; likewise */
  struct mx_profile_code *profiled[MX_COUNTS]; /* of launches that are profiled, by what they count; d->run */
  struct mx_check_code *checked;               /* of launches that are checked; NULL: there was none; d->run */
  /* jit/runtime/tier.c: its compiled code and what is known about it; by what it counts, and by variant */
  struct mx_jit_kernel *jit[MX_COUNTS][MX_VARIANTS];
};

struct mx_module {
  mx_device *device;
  mx_module *next;
  struct mx__image *image;
  uint8_t *bytes;
  size_t size;           /* as loaded: what compilers read */
  uint64_t *var_address; /* by variable number: in its own space; 0 for shared ones */
  uint64_t placed;       /* the device's `resets` when the variables got their addresses */
  mx_kernel *kernels;
  size_t nkernels;
  uint32_t users; /* launches that wait, are queued or run; device lock */
  bool gone;      /* in its device's list of that name; device lock */
};

/* Keeps the text (printf) as the device's last failure and returns s. Takes d->lock. */
mx_status mx__fail(struct mx_device *d, mx_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same with the status's own text. */
mx_status mx__fail_plain(struct mx_device *d, mx_status s);
/* Keeps the text as the device's note, if it is the first. Takes d->lock. */
void mx__device_note(struct mx_device *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* MX_OK, or MX_TRAPPED with the trap's text as the last failure. */
mx_status mx__device_usable(struct mx_device *d);

/* Copies the part of a struct that the caller knows (struct_size) and sets its struct_size to that. */
mx_status mx__struct_out(void *out, const void *from, size_t size);

/* copies.c: what the calls of these names do, without waiting for what is queued */
mx_status mx__bad_range(struct mx_device *d, const char *call, const char *what, uint64_t address, uint64_t bytes);
/* The same for a place that nothing reads or writes. */
mx_status mx__bad_address(struct mx_device *d, const char *call, const char *what, uint64_t address);
/* Host pointer of a range that must be inside one allocation; d->mem is held. */
mx_status mx__host_range(struct mx_device *d, const char *call, const char *what, mx_addr at, uint64_t bytes,
                         void **host);
mx_status mx__copy_in(mx_device *d, mx_addr to, const void *from, uint64_t bytes);
mx_status mx__copy_out(mx_device *d, void *to, mx_addr from, uint64_t bytes);
mx_status mx__copy_within(mx_device *d, mx_addr to, mx_addr from, uint64_t bytes);
mx_status mx__fill(mx_device *d, mx_addr to, uint32_t value, unsigned size, uint64_t count);

/* Memory of a region, zeroed; a failure is the device's last one. */
mx_status mx__device_alloc(struct mx_device *d, struct mx_region *r, uint64_t bytes, uint32_t flags, const char *name,
                           uint64_t *address, void **host);

/* textures.c: all arrays end; the caller has the device for itself */
void mx__arrays_free(struct mx_device *d);

/* modules.c */
void mx__module_free(mx_module *m); /* not its memory on the device */
/* For a reset. The first moves all modules to the list `gone`, with d->lock held by the caller, who frees their memory
 * on the device. The second, without that lock, frees those of the list that have no users any more. */
void mx__modules_drop(struct mx_device *d);
void mx__modules_free_gone(struct mx_device *d);
/* by 1 before a kernel is used, by -1 afterwards: in between its module is not freed. */
void mx__kernel_use(mx_kernel *k, int by);
mx_status mx__kernel_prepare(mx_kernel *k);                       /* sets k->prep */
struct mx_prepared *mx__kernel_variant(mx_kernel *k, unsigned n); /* k->variant[n]; NULL: no memory for it */
uint32_t mx__kernel_max_threads(const struct mx_func *f);         /* from its launch bounds */

/* launch.c: runs it here and now, for the stream of that number (0: none); the caller holds no lock. params are copied.
 */
mx_status mx__launch_run(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                         uint64_t stream);
/* The same as a part of a launch on several devices: where all count arrivals, the number of the part, how many. */
struct mx_multi {
  uint64_t space;
  uint32_t rank, count;
};
/* Makes what a cooperative launch needs of the device's memory, before the first of several begins. */
mx_status mx__launch_ready(mx_device *d);
mx_status mx__launch_part(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                          const struct mx_multi *multi);
/* The same for a debugging session, on the code that it prepared. */
struct mx_session_launch {
  struct mx_debug *debug;
  const struct mx_hooks *hooks;
  struct mx_prepared *prep;
};
mx_status mx__launch_debug(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                           const struct mx_session_launch *session);
/* Takes d->run; MX_BUSY, told as `what`, while a debugging session is open. */
mx_status mx__device_take(struct mx_device *d, const char *what);
uint32_t mx__cpu_count(void);

/* group.c. join: d gets a range of addresses beside those of another device, before anything is allocated on it. leave:
 * d leaves its group. hold, release: while a launch runs, nothing is freed that it may reach on other devices. */
mx_status mx__group_join(struct mx_device *d, struct mx_device *beside);
void mx__group_leave(struct mx_device *d);
void mx__group_hold(struct mx_device *d, struct mx_launch *l);
void mx__group_release(struct mx_launch *l);
/* Waits until no launch runs that may touch d's global memory, on d or on another device, and keeps such launches from
 * beginning until mx__alone_done. For callers that free or name memory, or reuse freed memory. */
void mx__alone(struct mx_device *d);
void mx__alone_done(struct mx_device *d);

/* stream.c */
/* A call begins that comes after what is queued in the device's blocking streams. */
mx_status mx__device_enter(struct mx_device *d);
void mx__streams_wait(struct mx_device *d);           /* for all blocking streams; failures stay for the next drain */
mx_status mx__streams_drain(struct mx_device *d);     /* the same, and the first failure, once */
mx_status mx__streams_drain_all(struct mx_device *d); /* non-blocking streams, too */
void mx__streams_drop(struct mx_device *d);           /* throws queued work away and stops what runs */
void mx__streams_free(struct mx_device *d);           /* waits for all; ends streams and events */

#endif

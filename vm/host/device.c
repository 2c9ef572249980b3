/* Devices: made, reset, ended, asked; their limits, last failures and memory calls. Launching is launch.c's, queues are
 * stream.c's, modules modules.c's. */
#include "checker.h"
#include "device.h"

#include "vm/exec/exec.h"
#include "vm/exec/fifo.h"
#include "vm/exec/hooks.h"
#include "vm/exec/pool.h"
#include "vm/memory/heap.h"
#include "engine.h"
#include "output.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- making, resetting, ending --------------------------------------------------------------------------*/

uint32_t mx__cpu_count(void) {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return n > 0 ? (uint32_t)n : 1;
}

mx_status mx__device_create(const mx_device_options *options, const struct mx_engine *engine, mx_device **device) {
  if (!device) return MX_INVALID_VALUE;
  *device = NULL;
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  if (options) {
    if (options->struct_size < sizeof options->struct_size || options->struct_size > sizeof o) return MX_INVALID_VALUE;
    memcpy(&o, options, options->struct_size);
  }
  if (o.jit > MX_JIT_OFF || o.threads > 4096) return MX_INVALID_VALUE;
  if (!mx__level(NULL)) return MX_UNSUPPORTED; /* a build for other CPUs only */
  struct mx_device *d = calloc(1, sizeof *d);
  if (!d) return MX_OUT_OF_MEMORY;
  d->threads = o.threads ? o.threads : mx__cpu_count();
  d->jit_mode = o.jit;
  d->engine = engine;
  d->limits[MX_LIMIT_STACK] = 16384;
  d->limits[MX_LIMIT_PRINTF_FIFO] = 1u << 20;
  d->limits[MX_LIMIT_HEAP] = 8u << 20;
  d->limits[MX_LIMIT_RESIDENT_BLOCKS] = 1024;
  d->limits[MX_LIMIT_CALL_DEPTH] = 4096;
  d->limits[MX_LIMIT_CONSTANT] = 64u << 10;
  d->trap.info.struct_size = sizeof d->trap.info;
  d->stats.struct_size = sizeof d->stats;
  mx__lock_init(&d->run, MX_LOCK_RUN);
  mx__rwlock_init(&d->mem, MX_LOCK_MEMORY);
  mx__rwlock_init(&d->reached, MX_LOCK_REACHED);
  mx__lock_init(&d->print, MX_LOCK_OUTPUT);
  mx__lock_init(&d->lock, MX_LOCK_DEVICE);
  mx__lock_init(&d->queues, MX_LOCK_QUEUES);
  mx__condition_init(&d->queues_moved);
  mx_status s = mx__memory_init(&d->memory, o.memory_bytes);
  if (s == MX_OK && ((o.jit_compiler && !(d->jit_compiler = strdup(o.jit_compiler))) ||
                     (o.cache_dir && !(d->cache_dir = strdup(o.cache_dir)))))
    s = MX_OUT_OF_MEMORY;
  if (s == MX_OK && o.beside) s = mx__group_join(d, o.beside);
  if (s != MX_OK) {
    mx_device_destroy(d);
    return s;
  }
  *device = d;
  return MX_OK;
}

void mx_device_destroy(mx_device *d) {
  if (!d) return;
  if (d->debug) d->hooks->close(d->debug);
  mx__streams_free(d);
  mx__output_flush(d);
  mx__group_leave(d);
  mx__pool_free(d->pool);
  mx__modules_drop(d);
  mx__modules_free_gone(d);
  d->engine->done(d);
  mx__fifo_free(d->fifo);
  if (d->check) d->checker->done(d->check);
  mx__heap_free(d->heap);
  mx__arrays_free(d);
  mx__objects_done(&d->objects);
  mx__memory_done(&d->memory);
  mx__trap_record_clear(&d->trap);
  mx__lock_done(&d->run);
  mx__rwlock_done(&d->reached);
  mx__rwlock_done(&d->mem);
  mx__lock_done(&d->print);
  mx__lock_done(&d->lock);
  mx__lock_done(&d->queues);
  pthread_cond_destroy(&d->queues_moved);
  free(atomic_load(&d->stuck.text));
  free(d->async_text);
  free(d->jit_compiler);
  free(d->cache_dir);
  free(d->error);
  free(d->note);
  free(d);
}

mx_status mx_device_reset(mx_device *d) {
  if (!d) return MX_INVALID_VALUE;
  mx__lock(&d->lock);
  bool debugged = d->debug != NULL;
  mx__unlock(&d->lock);
  if (debugged) return mx__fail(d, MX_BUSY, "mx_device_reset: the device has a debugging session");
  mx__streams_drop(d);
  while (!mx__lock_try(&d->run)) { /* another thread launches: that launch must end first */
    mx_device_interrupt(d);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  mx__output_flush(d);
  mx__alone(d);
  d->resets++;
  if (d->check) d->checker->reset(d->check);
  mx__heap_free(d->heap);
  d->heap = NULL;
  d->workspace = 0;
  mx__lock(&d->lock); /* mx__alone does not keep other threads from allocating */
  mx__modules_drop(d);
  mx__objects_reset(&d->objects);
  mx__arrays_free(d);
  mx_status s = mx__memory_reset(&d->memory);
  mx__trap_record_clear(&d->trap);
  atomic_store(&d->trapped, false);
  d->launches = 0;
  mx__unlock(&d->lock);
  mx__alone_done(d);
  mx__modules_free_gone(d);
  mx__unlock(&d->run);
  return mx__fail_plain(d, s);
}

mx_status mx_device_synchronize(mx_device *d) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = mx__streams_drain_all(d);
  mx__output_flush(d);
  return s == MX_OK ? mx__device_usable(d) : s;
}

void mx_device_interrupt(mx_device *d) {
  if (d) mx__stop(&d->stop, MX_STOP_INTERRUPT);
}

void mx_device_progress(mx_device *d, uint64_t *begun, uint64_t *blocks) {
  *blocks = d ? atomic_load_explicit(&d->blocks, memory_order_relaxed) : 0;
  *begun = d ? atomic_load_explicit(&d->started, memory_order_relaxed) : 0;
}

char *mx_device_stuck(mx_device *d) {
  if (!d) return NULL;
  atomic_store(&d->stuck.look, true);
  return atomic_exchange(&d->stuck.text, NULL);
}

/* ---- questions and settings -----------------------------------------------------------------------------*/

mx_status mx_device_get_properties(mx_device *d, mx_device_properties *out) {
  if (!d) return MX_INVALID_VALUE;
  const struct mx_level *level = mx__level(NULL);
  mx_device_properties p = {
      .name = "mx",
      .cpu_level = level ? level->name : "none",
      .threads = d->threads,
      .max_threads_per_block = MX_MAX_BLOCK_THREADS,
      .max_block = {1024, 1024, 64},
      .max_grid = {MX_MAX_GRID_X, MX_MAX_GRID_YZ, MX_MAX_GRID_YZ},
      .max_shared_bytes = MX_MAX_SHARED,
      .max_param_bytes = MX_MAX_PARAM_BYTES,
      .max_resident_blocks = (uint32_t)atomic_load(&d->limits[MX_LIMIT_RESIDENT_BLOCKS]),
      .multiprocessors = 1,
      .memory_bytes = d->memory.global.capacity,
  };
  return mx__fail_plain(d, mx__struct_out(out, &p, sizeof p));
}

static const struct {
  const char *name;
  uint64_t lo, hi;
} limit_range[MX_LIMIT_COUNT] = {
    [MX_LIMIT_STACK] = {"stack", 0, 512u << 10},         [MX_LIMIT_PRINTF_FIFO] = {"printf FIFO", 1024, 1u << 30},
    [MX_LIMIT_HEAP] = {"heap", 0, 1ull << 34},           [MX_LIMIT_RESIDENT_BLOCKS] = {"resident blocks", 1, 65536},
    [MX_LIMIT_CALL_DEPTH] = {"call depth", 1, 1u << 20}, [MX_LIMIT_CONSTANT] = {"constant", 0, MX_CONST_BYTES / 2},
};

mx_status mx_limit_get(mx_device *d, mx_limit limit, uint64_t *value) {
  if (!d) return MX_INVALID_VALUE;
  if ((unsigned)limit >= MX_LIMIT_COUNT || !value) return mx__fail(d, MX_INVALID_VALUE, "mx_limit_get: no such limit");
  *value = atomic_load(&d->limits[limit]);
  return MX_OK;
}

mx_status mx_limit_set(mx_device *d, mx_limit limit, uint64_t value) {
  if (!d) return MX_INVALID_VALUE;
  if ((unsigned)limit >= MX_LIMIT_COUNT) return mx__fail(d, MX_INVALID_VALUE, "mx_limit_set: no such limit");
  if (value < limit_range[limit].lo || value > limit_range[limit].hi)
    return mx__fail(d, MX_INVALID_VALUE, "limit '%s' is %llu, expected %llu to %llu", limit_range[limit].name,
                    (unsigned long long)value, (unsigned long long)limit_range[limit].lo,
                    (unsigned long long)limit_range[limit].hi);
  mx_status s = mx__device_take(d, "mx_limit_set");
  if (s != MX_OK) return s;
  if (limit == MX_LIMIT_HEAP && d->heap && mx__heap_in_use(d->heap)) s = MX_BUSY;
  else atomic_store(&d->limits[limit], value);
  mx__unlock(&d->run);
  if (s == MX_BUSY) return mx__fail(d, s, "the heap's size cannot change while kernels' allocations are in it");
  return s;
}

mx_status mx_device_stats(mx_device *d, mx_launch_stats *out) {
  if (!d) return MX_INVALID_VALUE;
  mx__lock(&d->lock);
  mx_launch_stats s = d->stats;
  mx__unlock(&d->lock);
  return mx__fail_plain(d, mx__struct_out(out, &s, sizeof s));
}

mx_status mx_device_trap(mx_device *d, mx_trap_info *out) {
  if (!d) return MX_INVALID_VALUE;
  mx__lock(&d->lock);
  mx_trap_info i = d->trap.info;
  mx__unlock(&d->lock);
  return mx__fail_plain(d, mx__struct_out(out, &i, sizeof i));
}

static mx_status set_output(mx_device *d, const char *call, mx_output_fn *to, void **to_user, mx_output_fn fn,
                            void *user) {
  mx_status s = mx__device_take(d, call);
  if (s != MX_OK) return s;
  mx__output_flush(d); /* what has been printed before is the old one's */
  mx__lock(&d->print);
  *to = fn;
  *to_user = user;
  mx__unlock(&d->print);
  mx__unlock(&d->run);
  return MX_OK;
}

mx_status mx_device_set_output(mx_device *d, mx_output_fn fn, void *user) {
  return d ? set_output(d, "mx_device_set_output", &d->output, &d->output_user, fn, user) : MX_INVALID_VALUE;
}

mx_status mx_device_set_messages(mx_device *d, mx_output_fn fn, void *user) {
  return d ? set_output(d, "mx_device_set_messages", &d->messages_to, &d->messages_user, fn, user) : MX_INVALID_VALUE;
}

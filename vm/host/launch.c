/* One launch from the API's side: what is checked before anything runs, what the launch is made of, what comes out of
 * it. Running its blocks is schedule.c's. */
#include "vm/exec/jitabi.h"
#include "vm/exec/launch.h"

#include "vm/exec/exec.h"
#include "vm/exec/fifo.h"
#include "vm/exec/schedule.h"
#include "vm/load/module.h"
#include "vm/load/prepare.h"
#include "vm/memory/heap.h"
#include "mx/check.h"
#include "vm/profile/profile.h"
#include "checker.h"
#include "device.h"
#include "engine.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

#define PARAM_PADDING 64u
#define WORKSPACE_BYTES 4096u

/* ---- checks ---------------------------------------------------------------------------------------------*/

static mx_status read_config(struct mx_device *d, const mx_launch_config *from, mx_launch_config *to) {
  *to = (mx_launch_config)MX_LAUNCH_CONFIG_INIT;
  if (!from) return mx__fail(d, MX_INVALID_VALUE, "launch: no configuration");
  if (from->struct_size < offsetof(mx_launch_config, shared_bytes) || from->struct_size > sizeof *to)
    return mx__fail(d, MX_INVALID_VALUE, "launch: struct_size of the configuration is %zu, expected %zu",
                    from->struct_size, sizeof *to);
  memcpy(to, from, from->struct_size);
  return MX_OK;
}

static mx_status check_dims(struct mx_device *d, const char *kernel, const char *what, const uint32_t dims[3],
                            const uint32_t most[3]) {
  for (int k = 0; k < 3; k++) {
    if (dims[k] && dims[k] <= most[k]) continue;
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s': %s is %u x %u x %u, expected 1 to %u in %c", kernel, what,
                    dims[0], dims[1], dims[2], most[k], "xyz"[k]);
  }
  return MX_OK;
}

static mx_status check_bounds(struct mx_device *d, const struct mx_func *f, const uint32_t block[3]) {
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  const uint32_t *r = f->reqntid;
  if (threads > MX_MAX_BLOCK_THREADS)
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s': a block of %u x %u x %u is %llu threads, the most are %u",
                    f->name, block[0], block[1], block[2], (unsigned long long)threads, MX_MAX_BLOCK_THREADS);
  uint32_t want[3] = {r[0], r[1] ? r[1] : 1, r[2] ? r[2] : 1};
  if (r[0] && (block[0] != want[0] || block[1] != want[1] || block[2] != want[2]))
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s' requires blocks of %u x %u x %u (.reqntid), found %u x %u x %u",
                    f->name, want[0], want[1], want[2], block[0], block[1], block[2]);
  if (threads > mx__kernel_max_threads(f))
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s': a block of %llu threads, its launch bound (.maxntid) is %u",
                    f->name, (unsigned long long)threads, mx__kernel_max_threads(f));
  return MX_OK;
}

static uint32_t resident_blocks(struct mx_device *d, const mx_launch_config *c) {
  return c->resident_blocks ? c->resident_blocks : (uint32_t)atomic_load(&d->limits[MX_LIMIT_RESIDENT_BLOCKS]);
}

/* Blocks of a cluster: what the launch says, or the kernel, or one. */
static mx_status cluster_of(struct mx_device *d, const struct mx_func *f, const mx_launch_config *c, uint32_t to[3]) {
  const uint32_t *given = c->cluster, *want = f->reqncta;
  const bool any = given[0] || given[1] || given[2], asked = want[0] != 0;
  uint64_t blocks = 1;
  for (int k = 0; k < 3; k++) {
    to[k] = any ? given[k] : asked ? want[k] : 1;
    if (!to[k]) to[k] = 1;
    if (any && asked && to[k] != (want[k] ? want[k] : 1))
      return mx__fail(d, MX_INVALID_LAUNCH,
                      "kernel '%s' requires clusters of %u x %u x %u blocks (.reqnctapercluster), found %u x %u x %u",
                      f->name, want[0], want[1], want[2], given[0], given[1], given[2]);
    blocks = blocks > MX_MAX_CLUSTER ? blocks : blocks * to[k];
  }
  const uint32_t most = f->maxclusterrank && f->maxclusterrank < MX_MAX_CLUSTER ? f->maxclusterrank : MX_MAX_CLUSTER;
  if (blocks > most)
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s': a cluster of %u x %u x %u blocks, the most are %u%s", f->name,
                    to[0], to[1], to[2], most, most < MX_MAX_CLUSTER ? " (.maxclusterrank)" : "");
  for (int k = 0; k < 3; k++)
    if (c->grid[k] % to[k])
      return mx__fail(d, MX_INVALID_LAUNCH,
                      "kernel '%s': the grid, %u x %u x %u blocks, is not a multiple of the cluster, %u x %u x %u",
                      f->name, c->grid[0], c->grid[1], c->grid[2], to[0], to[1], to[2]);
  if (f->flags & MX_FUNC_BLOCKS_ARE_CLUSTERS && blocks > 1)
    return mx__fail(d, MX_UNSUPPORTED, "kernel '%s': grids that count clusters (.blocksareclusters) are not supported",
                    f->name);
  return MX_OK;
}

/* Everything that can be refused, in the order in which the CUDA programming guide names it. */
static mx_status check(mx_kernel *k, const mx_launch_config *c, size_t bytes) {
  struct mx_device *d = k->module->device;
  const struct mx_func *f = &k->module->image->image.funcs[k->func];
  static const uint32_t most_grid[3] = {MX_MAX_GRID_X, MX_MAX_GRID_YZ, MX_MAX_GRID_YZ},
                        most_block[3] = {1024, 1024, 64};
  mx_status s = check_dims(d, f->name, "the grid", c->grid, most_grid);
  if (s == MX_OK) s = check_dims(d, f->name, "the block", c->block, most_block);
  if (s == MX_OK) s = check_bounds(d, f, c->block);
  uint32_t cluster[3];
  if (s == MX_OK) s = cluster_of(d, f, c, cluster);
  if (s == MX_OK) s = mx__kernel_prepare(k);
  if (s != MX_OK) return s;
  uint64_t shared = (uint64_t)k->prep->shared_static + c->shared_bytes;
  if (shared > MX_MAX_SHARED)
    return mx__fail(d, MX_INVALID_LAUNCH,
                    "kernel '%s': %u static and %u dynamic bytes of shared memory are %llu, the most are %u", f->name,
                    k->prep->shared_static, c->shared_bytes, (unsigned long long)shared, MX_MAX_SHARED);
  if (bytes != f->param_bytes)
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s': %zu bytes of parameters, expected %u", f->name, bytes,
                    f->param_bytes);
  if (c->check & ~(uint32_t)MX_CHECK_ALL || (c->check && (c->profile || !d->checker)))
    return mx__fail(d, MX_INVALID_VALUE, "kernel '%s': the launch configuration's tools %s", f->name,
                    c->check & ~(uint32_t)MX_CHECK_ALL ? "do not exist"
                    : c->profile                       ? "cannot watch a launch that is profiled"
                                                       : "are not there");
  if ((unsigned)c->jit > MX_JIT_OFF || (unsigned)c->async > MX_ASYNC_RANDOM || !(c->timeout >= 0) ||
      c->threads > 4096 || c->resident_blocks > 65536)
    return mx__fail(
        d, MX_INVALID_VALUE,
        "kernel '%s': the launch configuration's jit mode, asynchronous order, timeout, threads (at most 4096) "
        "or resident blocks (at most 65536) is not valid",
        f->name);
  uint64_t blocks = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
  if (c->cooperative && blocks > resident_blocks(d, c))
    return mx__fail(d, MX_TOO_LARGE,
                    "kernel '%s': a cooperative launch of %llu blocks, at most %u are resident at once", f->name,
                    (unsigned long long)blocks, resident_blocks(d, c));
  return MX_OK;
}

mx_status mx_launch_check(mx_kernel *k, const mx_launch_config *config, size_t param_bytes) {
  mx_launch_config c;
  if (!k) return MX_INVALID_VALUE;
  mx_status s = read_config(k->module->device, config, &c);
  return s == MX_OK ? check(k, &c, param_bytes) : s;
}

/* ---- making a launch ------------------------------------------------------------------------------------*/

/* Odd multiples of 64: lanes' stacks then start in different sets of the caches. */
static uint32_t local_stride(uint64_t bytes) { return (uint32_t)((bytes + 63) & ~63ull) | 64u; }

/* What grid barriers count in, zeroed for each cooperative launch; its first word is its size. At MULTI is what
 * barriers of all devices need: the address of their word, the number of this device's grid, how many there are. A
 * device alone has that word at ALONE. d->mem is not held. */
enum { MULTI = 64, ALONE = 128 };
static mx_status make_workspace(struct mx_device *d, const struct mx_multi *multi) {
  mx_status s = d->workspace ? MX_OK : MX_BUSY;
  for (int alone = 0; s == MX_BUSY && alone < 2; alone++) { /* only taking freed memory again needs a quiet device */
    if (alone) mx__alone(d);
    mx__lock(&d->lock);
    s = mx__memory_alloc(&d->memory, &d->memory.global, WORKSPACE_BYTES, 0, MX_ALLOC_INTERNAL, "workspace", alone,
                         &d->workspace);
    mx__unlock(&d->lock);
    if (alone) mx__alone_done(d);
    if (s != MX_OK) d->workspace = 0;
  }
  if (s == MX_OK) s = mx__fill(d, d->workspace, 0, 1, WORKSPACE_BYTES);
  const uint32_t size = WORKSPACE_BYTES;
  const struct mx_multi own = {d->workspace + ALONE, 0, 1};
  _Static_assert(sizeof own == 16, "as core/intrinsics/groups.def reads it");
  if (s == MX_OK) s = mx__copy_in(d, d->workspace, &size, sizeof size);
  return s == MX_OK ? mx__copy_in(d, d->workspace + MULTI, multi ? multi : &own, sizeof own) : mx__fail_plain(d, s);
}

/* What kernels may need of the device, made when the first launch comes. */
static mx_status make_services(struct mx_device *d) {
  size_t ring = (size_t)atomic_load(&d->limits[MX_LIMIT_PRINTF_FIFO]);
  if (!d->fifo || mx__fifo_size(d->fifo) != ring) {
    struct mx_fifo *fresh = mx__fifo_new(ring);
    if (!fresh) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
    mx__output_flush(d);
    mx__lock(&d->print);
    mx__fifo_free(d->fifo);
    d->fifo = fresh;
    mx__unlock(&d->print);
  }
  uint64_t heap = atomic_load(&d->limits[MX_LIMIT_HEAP]) & ~15ull;
  if (d->heap && mx__heap_size(d->heap) == heap) return MX_OK;
  mx__lock_write(&d->mem);
  mx__heap_free(d->heap);
  mx_status s = mx__heap_new(&d->memory, heap, &d->heap);
  mx__rwunlock(&d->mem);
  return mx__fail_plain(d, s);
}

/* Which of the kernel's codes the launch uses. Blocks that have half the threads of a warp, or fewer, are run by code
 * for half as many lanes, or fewer. Not where lanes read each other's registers (k->prep->crosses), since a lane may
 * ask for one that this code leaves out. Where %tid.x increases by one from lane to lane, because blocks have one
 * dimension, or along x whole warps, halves or quarters of one, code computes with the first lane's number in place of
 * all lanes' of such a row. Each code is attached to a copy of the prepared instructions; without memory for a halved
 * one's copy the launch uses the code for all lanes. */
static uint32_t rows_of_a_warp(const struct mx_launch *l, uint32_t lanes) {
  if (l->block[1] == 1 && l->block[2] == 1) return 1;
  for (unsigned k = 0; k < MX_ROWS && lanes >> k >= MX_JIT_LEAST_LANES; k++)
    if (l->block[0] % (lanes >> k) == 0) return 1u << k;
  return 0;
}
static bool choose_code(struct mx_launch *l, mx_kernel *k) {
  unsigned halved = 0;
  while (halved + 1 < MX_HALVES && l->lanes >> (halved + 1) >= MX_JIT_LEAST_LANES &&
         l->threads <= l->lanes >> (halved + 1))
    halved++;
  if (k->prep->crosses) halved = 0;
  for (;; halved = 0) {
    l->rows = rows_of_a_warp(l, l->lanes >> halved);
    l->halved = halved;
    l->prep = mx__kernel_variant(k, mx__launch_variant(l));
    if (l->prep || !halved) return l->prep;
  }
}
static void shape(struct mx_launch *l, mx_kernel *k, const mx_launch_config *c) {
  struct mx_device *d = k->module->device;
  const struct mx_image *image = &k->module->image->image;
  const struct mx_func *f = &image->funcs[k->func];
  l->device = d;
  l->services = &mx__services;
  l->memory = &d->memory;
  l->heap = d->heap;
  l->objects = &d->objects;
  l->fifo = d->fifo;
  l->image = image;
  l->func = k->func;
  l->prep = k->prep;
  memcpy(l->grid, c->grid, sizeof l->grid);
  memcpy(l->block, c->block, sizeof l->block);
  l->nblocks = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
  l->threads = c->block[0] * c->block[1] * c->block[2];
  l->lanes = image->lanes;
  l->warps = (l->threads + l->lanes - 1) / l->lanes;
  l->param_bytes = f->param_bytes;
  l->shared_static = k->prep->shared_static;
  l->shared_dynamic = c->shared_bytes;
  l->shared_bytes = l->shared_static + l->shared_dynamic;
  /* no more than can be used: then lanes' stacks share pages, and fewer of them have to be mapped */
  const uint64_t allowed = f->local_bytes + atomic_load(&d->limits[MX_LIMIT_STACK]);
  l->local_bytes = local_stride(k->prep->stack_bytes < allowed ? k->prep->stack_bytes : allowed);
  l->call_depth = (uint32_t)atomic_load(&d->limits[MX_LIMIT_CALL_DEPTH]);
  l->cooperative = c->cooperative;
  l->async = c->async;
  l->async_seed = c->async_seed;
  l->workspace = c->cooperative ? d->workspace : 0;
  l->jit = c->jit == MX_JIT_AUTO ? d->jit_mode : c->jit;
  l->jit_stress = c->jit_stress;
  cluster_of(d, f, c, l->cluster);
  l->cluster_blocks = l->cluster[0] * l->cluster[1] * l->cluster[2];
  l->nclusters = l->nblocks / l->cluster_blocks;
  l->explicit_cluster =
      c->cluster[0] || c->cluster[1] || c->cluster[2] || f->reqncta[0] || f->flags & MX_FUNC_EXPLICIT_CLUSTER;
  uint32_t workers = c->threads ? c->threads : d->threads;
  if (l->nclusters < workers) workers = (uint32_t)l->nclusters;
  l->workers = l->debug ? 1 : workers;
  l->helpers = l->debug ? workers - 1 : 0;
  uint32_t most = resident_blocks(d, c) / l->cluster_blocks; /* clusters */
  if (most < workers) most = workers;
  l->resident = (l->nclusters < most ? (uint32_t)l->nclusters : most) * l->cluster_blocks;
  l->steps_limit = c->steps;
  l->live = c->live && !l->debug;
  l->stop = &d->stop;
  l->started = &d->started;
  atomic_store(&d->started, 0);
  atomic_store(&d->blocks, l->nblocks);
  l->grid_id = ++d->launches;
}

static struct timespec after(struct timespec t, double seconds) {
  const double most = 1e9; /* thirty years: no overflow */
  if (seconds > most) seconds = most;
  time_t whole = (time_t)seconds;
  t.tv_sec += whole;
  t.tv_nsec += (long)((seconds - (double)whole) * 1e9);
  if (t.tv_nsec >= 1000000000) {
    t.tv_nsec -= 1000000000;
    t.tv_sec++;
  }
  return t;
}

/* ---- what comes out -------------------------------------------------------------------------------------*/

static mx_status keep_trap(struct mx_launch *l) {
  struct mx_device *d = l->device;
  struct mx_trap_record r = {0};
  mx__trap_record_make(&r, l);
  mx__lock(&d->lock);
  mx__trap_record_clear(&d->trap);
  d->trap = r;
  atomic_store(&d->trapped, true);
  mx__unlock(&d->lock);
  return mx__device_usable(d);
}

static mx_status outcome(struct mx_launch *l, double timeout, const char *where) {
  struct mx_device *d = l->device;
  const char *kernel = l->image->funcs[l->func].name;
  unsigned long long done = l->stats.blocks, all = l->nblocks;
  const char *sep = where ? "\n  " : "", *place = where ? where : "";
  if (l->trapped) return keep_trap(l);
  if (done == all) return MX_OK; /* asked to stop too late */
  switch (atomic_load(&d->stop)) {
  case MX_STOP_STEPS:
    return mx__fail(d, MX_STEP_LIMIT,
                    "kernel '%s' was stopped at its limit of %llu steps; %llu of %llu blocks had ended%s%s", kernel,
                    (unsigned long long)l->steps_limit, done, all, sep, place);
  case MX_STOP_TIME:
    return mx__fail(d, MX_TIME_LIMIT, "kernel '%s' was stopped after %g second%s; %llu of %llu blocks had ended%s%s",
                    kernel, timeout, timeout == 1 ? "" : "s", done, all, sep, place);
  case MX_STOP_INTERRUPT:
    return mx__fail(d, MX_INTERRUPTED, "kernel '%s' was interrupted; %llu of %llu blocks had ended%s%s", kernel, done,
                    all, sep, place);
  case MX_STOP_HOST_MEMORY: return mx__fail(d, MX_OUT_OF_MEMORY, "kernel '%s': the host is out of memory", kernel);
  default: return MX_OK;
  }
}

/* d->run is held. */
static mx_status run(mx_kernel *k, const mx_launch_config *c, const void *params, size_t bytes, uint64_t stream,
                     const struct mx_session_launch *session, const struct mx_multi *multi) {
  struct mx_device *d = k->module->device;
  mx_status s = make_services(d);
  if (s == MX_OK && c->cooperative) s = make_workspace(d, multi);
  if (s != MX_OK) return s;
  if (c->check && !session && !d->check && !(d->check = d->checker->make(d)))
    return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  struct mx_launch l = {0};
  uint8_t *copy = aligned_alloc(64, (bytes + PARAM_PADDING + 63) & ~(size_t)63);
  if (!copy) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  memset(copy, 0, (bytes + PARAM_PADDING + 63) & ~(size_t)63);
  if (bytes) memcpy(copy, params, bytes);
  l.params = copy;
  mx__lock_init(&l.lock, MX_LOCK_LAUNCH);
  if (session) l.debug = session->debug, l.hooks = session->hooks;
  shape(&l, k, c);
  if (session) l.prep = session->prep;
  const bool plain = !session && !c->profile && !d->check && l.jit != MX_JIT_OFF;
  const struct mx_profile_launch profiled = {l.image, l.func, k->module->var_address, stream, k->profiled};
  if ((plain && !choose_code(&l, k)) || (c->profile && !session && !mx__profile_begin(c->profile, &profiled, &l))) {
    mx__lock_done(&l.lock);
    free(copy);
    return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  }
  atomic_store(&d->stop, MX_STOP_NOT);
  if (!session) {
    l.stuck = &d->stuck;
    atomic_store(&d->stuck.look, false);
    free(atomic_exchange(&d->stuck.text, NULL));
    d->stuck.quiet = d->stuck.settling = 0, d->stuck.found = false;
  }

  struct timespec begin, end, deadline;
  char *where = NULL;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  deadline = after(begin, c->timeout);
  if (c->timeout > 0) l.deadline = &deadline;
  const bool checked = d->check && !l.probed;
  if (checked) d->checker->begin(d->check, k, &l, session ? 0 : c->check);
  s = d->engine->begin(k, &l);
  if (s != MX_OK) {
    if (checked) d->checker->end(d->check, &l);
    if (s == MX_INTERRUPTED) s = outcome(&l, c->timeout, "its code was being compiled");
    if (l.probed) mx__profile_end(&l, 0);
    mx__lock_done(&l.lock);
    free(copy);
    return s;
  }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  mx__lock_read(&d->mem);
  mx__group_hold(d, &l);
  mx__schedule(&l, &d->pool, l.deadline, &where);
  clock_gettime(CLOCK_MONOTONIC, &end);
  d->engine->end(k, &l);
  mx__asserts_end(&l);
  s = outcome(&l, c->timeout, where);
  if (checked) d->checker->end(d->check, &l);
  mx__group_release(&l);
  mx__rwunlock(&d->mem);

  l.stats.struct_size = sizeof l.stats;
  l.stats.steps = atomic_load(&l.steps);
  l.stats.seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
  l.stats.threads = l.workers + l.helpers;
  l.stats.resident_blocks = l.resident;
  l.stats.printf_lost = mx__fifo_lost(d->fifo);
  mx__lock(&d->lock);
  d->stats = l.stats;
  mx__unlock(&d->lock);
  if (l.probed) mx__profile_end(&l, l.stats.seconds);
  mx__lock_done(&l.lock);
  free(l.trap.detail);
  free(copy);
  free(where);
  return s;
}

static mx_status launch(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes, uint64_t stream,
                        const struct mx_session_launch *session, const struct mx_multi *multi) {
  struct mx_device *d = k->module->device;
  mx_launch_config c;
  mx_status s = mx__device_usable(d);
  if (s == MX_OK) s = read_config(d, config, &c);
  if (s == MX_OK) s = check(k, &c, bytes);
  if (s == MX_OK && bytes && !params) s = mx__fail(d, MX_INVALID_VALUE, "launch: no parameters");
  if (s != MX_OK) return s;
  if (session) mx__lock(&d->run);
  else s = mx__device_take(d, "launch");
  if (s != MX_OK) return s;
  s = mx__device_usable(d); /* meanwhile another thread's launch may have trapped, or the device may have been reset */
  if (s == MX_OK && k->module->gone) s = mx__fail(d, MX_INTERRUPTED, "launch: the device has been reset");
  if (s == MX_OK) s = run(k, &c, params, bytes, stream, session, multi);
  mx__unlock(&d->run);
  return s;
}

mx_status mx__launch_run(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                         uint64_t stream) {
  return launch(k, config, params, bytes, stream, NULL, NULL);
}

mx_status mx__launch_part(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                          const struct mx_multi *multi) {
  return launch(k, config, params, bytes, 0, NULL, multi);
}

mx_status mx__launch_ready(mx_device *d) {
  mx_status s = mx__device_take(d, "launch");
  if (s != MX_OK) return s;
  s = make_services(d);
  if (s == MX_OK) s = make_workspace(d, NULL);
  mx__unlock(&d->run);
  return s;
}

mx_status mx__launch_debug(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                           const struct mx_session_launch *session) {
  mx_status s = launch(k, config, params, bytes, 0, session, NULL);
  mx__output_flush(k->module->device);
  return s;
}

/* ---- occupancy ------------------------------------------------------------------------------------------*/

mx_status mx_occupancy(mx_kernel *k, uint32_t threads_per_block, uint32_t shared_bytes, uint32_t *blocks) {
  if (!k) return MX_INVALID_VALUE;
  struct mx_device *d = k->module->device;
  if (!blocks) return mx__fail(d, MX_INVALID_VALUE, "mx_occupancy: no place for the answer");
  const struct mx_func *f = &k->module->image->image.funcs[k->func];
  *blocks = 0;
  mx_status s = mx__kernel_prepare(k);
  if (s != MX_OK) return s;
  bool possible = threads_per_block && threads_per_block <= mx__kernel_max_threads(f) &&
                  (uint64_t)k->prep->shared_static + shared_bytes <= MX_MAX_SHARED;
  if (possible) *blocks = (uint32_t)atomic_load(&d->limits[MX_LIMIT_RESIDENT_BLOCKS]);
  return MX_OK;
}

mx_status mx_occupancy_block_size(mx_kernel *k, uint32_t shared_bytes, uint32_t *grid, uint32_t *block) {
  if (!k) return MX_INVALID_VALUE;
  struct mx_device *d = k->module->device;
  if (!grid || !block) return mx__fail(d, MX_INVALID_VALUE, "mx_occupancy_block_size: no place for the answer");
  const struct mx_func *f = &k->module->image->image.funcs[k->func];
  mx_status s = mx__kernel_prepare(k);
  if (s != MX_OK) return s;
  if ((uint64_t)k->prep->shared_static + shared_bytes > MX_MAX_SHARED)
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s': too much shared memory for any block", f->name);
  /* a few warps: enough to share a block's set-up, few enough for its registers to stay in the caches */
  uint32_t most = mx__kernel_max_threads(f);
  *block = f->reqntid[0] ? most : most < 256 ? most : 256;
  *grid = (uint32_t)atomic_load(&d->limits[MX_LIMIT_RESIDENT_BLOCKS]);
  return MX_OK;
}

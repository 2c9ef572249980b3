/* One cooperative launch on several devices: a launch on each, all under way at once, whose blocks count their arrivals
 * in one word that all of them reach. All or nothing: everything is checked, and the memory that barriers count
 * in is there, before the first begins; when one fails the others are interrupted. */
#include "vm/load/module.h"
#include "device.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Two such launches at once could each hold a device that the other needs. */
static struct mx_lock alone = {PTHREAD_MUTEX_INITIALIZER, MX_LOCK_MULTI};

struct part {
  struct all *all;
  mx_kernel *kernel;
  const void *params;
  struct mx_multi multi;
  mx_status status;
  bool over;
};
struct all {
  const mx_launch_config *config;
  size_t bytes, n;
  struct part *part;
  pthread_mutex_t lock;
  struct part *failed; /* the first that did */
};

/* Interrupts the other parts, which may wait for the one that has failed: again and again, since the launch of a part
 * may not have begun yet. a->lock is held, and released while this thread sleeps. */
static void interrupt_others(struct all *a) {
  for (bool left = true; left;) {
    left = false;
    for (size_t k = 0; k < a->n; k++)
      if (!a->part[k].over) mx_device_interrupt(a->part[k].kernel->module->device), left = true;
    pthread_mutex_unlock(&a->lock);
    if (left) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    pthread_mutex_lock(&a->lock);
  }
}
static void *run_part(void *arg) {
  struct part *p = arg;
  struct all *a = p->all;
  p->status = mx__launch_part(p->kernel, a->config, p->params, a->bytes, &p->multi);
  pthread_mutex_lock(&a->lock);
  p->over = true;
  if (p->status != MX_OK && !a->failed) {
    a->failed = p;
    interrupt_others(a);
  }
  pthread_mutex_unlock(&a->lock);
  return NULL;
}

/* The first device says what is wrong with number k. */
static mx_status said_of(struct mx_device *first, struct mx_device *d, size_t k, mx_status s) {
  char *why = d == first ? NULL : mx_last_error_text(d);
  if (d != first) mx__fail(first, s, "device %zu: %s", k, why ? why : mx_status_text(s));
  free(why);
  return s;
}
static mx_status check(mx_kernel *const *kernels, size_t n, const mx_launch_config *config, size_t bytes) {
  struct mx_device *first = kernels[0]->module->device;
  for (size_t k = 0; k < n; k++) {
    struct mx_device *d = kernels[k]->module->device;
    const struct mx_func *f = &kernels[k]->module->image->image.funcs[kernels[k]->func],
                         *f0 = &kernels[0]->module->image->image.funcs[kernels[0]->func];
    for (size_t j = 0; j < k; j++)
      if (kernels[j]->module->device == d)
        return mx__fail(first, MX_INVALID_LAUNCH, "launch on several devices: numbers %zu and %zu are one device", j,
                        k);
    if (k && (!d->group || d->group != first->group))
      return mx__fail(first, MX_UNSUPPORTED, "launch on several devices: number %zu was not created beside the first",
                      k);
    if (strcmp(f->name, f0->name) || f->param_bytes != f0->param_bytes)
      return mx__fail(first, MX_INVALID_LAUNCH,
                      "launch on several devices: kernel '%s' on the first, '%s' on number %zu", f0->name, f->name, k);
    const mx_status s = mx_launch_check(kernels[k], config, bytes);
    if (s != MX_OK) return said_of(first, d, k, s);
  }
  return MX_OK;
}
/* Nothing is launched, and no device waits for another one: their memory is asked for. */
static mx_status make_ready(mx_kernel *const *kernels, size_t n) {
  struct mx_device *first = kernels[0]->module->device;
  for (size_t k = 0; k < n; k++) {
    struct mx_device *d = kernels[k]->module->device;
    const mx_status s = mx__launch_ready(d);
    if (s != MX_OK) return said_of(first, d, k, s);
  }
  return MX_OK;
}

static mx_status run_all(struct all *a, struct mx_device *first, const void *const *params, mx_kernel *const *kernels) {
  uint64_t space;
  void *host;
  mx_status s = mx_alloc_managed(first, 256, &space, &host);
  if (s != MX_OK) return s;
  memset(host, 0, 256);
  pthread_t *thread = calloc(a->n, sizeof *thread);
  a->part = calloc(a->n, sizeof *a->part);
  if (!thread || !a->part) s = mx__fail_plain(first, MX_OUT_OF_MEMORY);
  for (size_t k = 0; s == MX_OK && k < a->n; k++)
    a->part[k] = (struct part){.all = a,
                               .kernel = kernels[k],
                               .params = params ? params[k] : NULL,
                               .multi = {.space = space, .rank = (uint32_t)k, .count = (uint32_t)a->n}};
  size_t made = 1;
  for (; s == MX_OK && made < a->n; made++)
    if (pthread_create(&thread[made], NULL, run_part, &a->part[made])) s = MX_OUT_OF_MEMORY;
  if (s == MX_OK) run_part(&a->part[0]);
  else if (thread && a->part) {
    /* the parts that run wait for the one that got no thread */
    made--;
    pthread_mutex_lock(&a->lock);
    a->part[0].over = true;
    for (size_t k = made; k < a->n; k++) a->part[k].over = true;
    interrupt_others(a);
    pthread_mutex_unlock(&a->lock);
    s = mx__fail_plain(first, s);
  }
  for (size_t k = 1; thread && a->part && k < made; k++) pthread_join(thread[k], NULL);
  if (s == MX_OK && a->failed)
    s = said_of(first, a->failed->kernel->module->device, a->failed->multi.rank, a->failed->status);
  free(thread);
  free(a->part);
  mx_free(first, space); /* not of a device that has trapped: there, all goes with its reset */
  return s;
}

mx_status mx_launch_cooperative_multi(mx_kernel *const *kernels, size_t count, const mx_launch_config *config,
                                      const void *const *params, size_t bytes) {
  if (!kernels || !count || !config) return MX_INVALID_VALUE;
  for (size_t k = 0; k < count; k++)
    if (!kernels[k]) return MX_INVALID_VALUE;
  struct mx_device *first = kernels[0]->module->device;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  memcpy(&c, config, config->struct_size < sizeof c ? config->struct_size : sizeof c);
  c.struct_size = sizeof c;
  c.cooperative = true;
  for (size_t k = 0; k < count; k++) mx__kernel_use(kernels[k], 1);
  mx__lock(&alone);
  mx_status s = check(kernels, count, &c, bytes);
  for (size_t k = 0; s == MX_OK && k < count; k++) s = mx__streams_drain(kernels[k]->module->device);
  if (s == MX_OK) s = make_ready(kernels, count);
  struct all a = {.config = &c, .bytes = bytes, .n = count, .lock = PTHREAD_MUTEX_INITIALIZER};
  if (s == MX_OK) s = run_all(&a, first, params, kernels);
  mx__unlock(&alone);
  for (size_t k = 0; k < count; k++) {
    mx__output_flush(kernels[k]->module->device);
    mx__kernel_use(kernels[k], -1);
  }
  return s;
}

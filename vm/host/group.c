/* Devices beside one another: their global addresses are distinct ranges, managed memory of each is visible to all, and
 * one may be allowed to reach another's. A launch holds `reached` of all of them for reading while it runs: nothing
 * that it may touch is freed. It does not hold their `mem`: launches of two devices may wait for one another, and the
 * other's may not have begun yet.
 *
 * A launch holds several locks of that rank, for reading. Nobody waits for one for writing: see mx__alone. */
#include "device.h"

#include <stdlib.h>

#define MOST_DEVICES MX_LAUNCH_BESIDE
#define RANGE (64ull << 30) /* a device's first address is MX_GLOBAL_START and a multiple of it */

struct mx_group {
  struct mx_lock lock;
  uint32_t n;
  struct mx_device *at[MOST_DEVICES]; /* NULL: a place that is free */
};

static bool overlaps(const struct mx_group *g, uint64_t start, uint64_t bytes) {
  for (uint32_t k = 0; k < MOST_DEVICES; k++) {
    const struct mx_region *r = g->at[k] ? &g->at[k]->memory.global : NULL;
    if (r && start < r->start + r->capacity && r->start < start + bytes) return true;
  }
  return false;
}

mx_status mx__group_join(struct mx_device *d, struct mx_device *beside) {
  mx__lock(&beside->lock);
  struct mx_group *g = beside->group;
  if (!g && (g = calloc(1, sizeof *g))) {
    mx__lock_init(&g->lock, MX_LOCK_GROUP);
    g->at[0] = beside;
    g->n = 1;
    beside->group = g;
  }
  mx__unlock(&beside->lock);
  if (!g) return MX_OUT_OF_MEMORY;
  mx__lock(&g->lock);
  struct mx_region *r = &d->memory.global;
  uint32_t place = 0;
  while (place < MOST_DEVICES && g->at[place]) place++;
  uint64_t start = MX_GLOBAL_START;
  while (start + r->capacity <= MX_HEAP_START && overlaps(g, start, r->capacity)) start += RANGE;
  const bool fits = place < MOST_DEVICES && start + r->capacity <= MX_HEAP_START;
  if (fits) {
    mx__memory_place(r, start);
    d->group = g;
    d->place = place;
    g->at[place] = d;
    g->n++;
  }
  mx__unlock(&g->lock);
  return fits ? MX_OK : MX_OUT_OF_DEVICE_MEMORY;
}

void mx__group_leave(struct mx_device *d) {
  struct mx_group *g = d->group;
  if (!g) return;
  mx__lock(&g->lock);
  g->at[d->place] = NULL;
  for (uint32_t k = 0; k < MOST_DEVICES; k++)
    if (g->at[k]) atomic_fetch_and(&g->at[k]->reaches, ~(1u << d->place));
  const bool last = !--g->n;
  mx__unlock(&g->lock);
  mx__alone(d); /* launches of others that hold it end first */
  mx__alone_done(d);
  if (!last) return;
  mx__lock_done(&g->lock);
  free(g);
}

void mx__group_hold(struct mx_device *d, struct mx_launch *l) {
  struct mx_group *g = d->group;
  l->nbeside = 0;
  if (!g) return;
  mx__lock(&g->lock);
  const uint32_t reaches = atomic_load(&d->reaches);
  for (uint32_t k = 0; k < MOST_DEVICES; k++) {
    struct mx_device *o = g->at[k];
    if (!o || o == d) continue;
    pthread_rwlock_rdlock(&o->reached.lock);
    l->beside[l->nbeside++] =
        (struct mx_beside){.memory = &o->memory, .lock = &o->reached.lock, .open = reaches >> k & 1};
  }
  mx__unlock(&g->lock);
}

void mx__group_release(struct mx_launch *l) {
  while (l->nbeside) pthread_rwlock_unlock(l->beside[--l->nbeside].lock);
}

/* A thread that held one of the two while waiting for the other would keep launches from ending for which a launch of
 * another device may wait. */
void mx__alone(struct mx_device *d) {
  for (;;) {
    mx__lock_write(&d->mem);
    if (mx__lock_try_write(&d->reached)) return;
    mx__rwunlock(&d->mem);
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  }
}

void mx__alone_done(struct mx_device *d) {
  mx__rwunlock(&d->reached);
  mx__rwunlock(&d->mem);
}

/* ---- the API ------------------------------------------------------------------------------------------------*/
static bool together(const struct mx_device *d, const struct mx_device *o) {
  return d != o && d->group && d->group == o->group;
}

mx_status mx_device_can_reach(mx_device *d, mx_device *peer, bool *can) {
  if (!d || !peer || !can) return MX_INVALID_VALUE;
  *can = together(d, peer);
  return MX_OK;
}

mx_status mx_device_reach(mx_device *d, mx_device *peer, bool allowed) {
  if (!d || !peer) return MX_INVALID_VALUE;
  if (!together(d, peer))
    return mx__fail(d, MX_UNSUPPORTED, "mx_device_reach: the other device was not created beside this one");
  mx_status s = mx__device_take(d, "mx_device_reach");
  if (s != MX_OK) return s;
  if (allowed) atomic_fetch_or(&d->reaches, 1u << peer->place);
  else atomic_fetch_and(&d->reaches, ~(1u << peer->place));
  mx__unlock(&d->run);
  return MX_OK;
}

/* Advice about managed memory (cudaMemAdvise, prefetching): where it should lie, who will use it, where it was brought.
 * Nothing is moved, since host and device share the memory; the advice is kept because programs can ask for it. */
#include <stdint.h>
#include <stdlib.h>

/* In version 13 these four calls take a struct of a kind and a number where earlier ones take the number of a device;
 * both are passed in the same register. So this file defines them with parameters of its own, and hides the headers'
 * declarations, which differ. */
#define cudaMemPrefetchAsync rt_declared_prefetch
#define cudaMemAdvise rt_declared_advise
#include "rt.h"
#undef cudaMemPrefetchAsync
#undef cudaMemAdvise

struct said {
  struct said *next;
  uintptr_t at;
  size_t size;
  enum cudaMemRangeAttribute what;
  int device;
};
static struct said *all; /* the newest first; rt_lock */

/* Version 13's struct as it arrives in a register: the kind in the lower half, 1 for a device, 2 and above for the
 * host. */
static int device_of(uint64_t place) {
  if (!rt_is_version_13()) return (int)(uint32_t)place;
  return (uint32_t)place == cudaMemLocationTypeDevice ? (int)(place >> 32) : cudaCpuDeviceId;
}

static cudaError_t say(const void *p, size_t size, enum cudaMemRangeAttribute what, int device, bool so) {
  if (!rt_owner(p) && !rt_is_mirrored(p)) return rt_error(cudaErrorInvalidValue);
  if (device >= rt_device_count() || device < cudaCpuDeviceId) return rt_error(cudaErrorInvalidDevice);
  pthread_mutex_lock(&rt_lock);
  for (struct said **x = &all; *x;) {
    struct said *s = *x;
    const bool same = s->what == what && s->at >= (uintptr_t)p && s->at + s->size <= (uintptr_t)p + size &&
                      (what != cudaMemRangeAttributeAccessedBy || s->device == device);
    if (same) *x = s->next, free(s);
    else x = &s->next;
  }
  struct said *s = so ? malloc(sizeof *s) : NULL;
  if (s) *s = (struct said){all, (uintptr_t)p, size, what, device}, all = s;
  pthread_mutex_unlock(&rt_lock);
  return so && !s ? rt_error(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void *p, size_t size, uint64_t place, void *fourth, void *fifth);
cudaError_t cudaMemPrefetchAsync(const void *p, size_t size, uint64_t place, void *fourth, void *fifth) {
  (void)fourth, (void)fifth;
  return say(p, size, cudaMemRangeAttributeLastPrefetchLocation, device_of(place), true);
}

cudaError_t cudaMemAdvise(const void *p, size_t size, enum cudaMemoryAdvise advice, uint64_t place);
cudaError_t cudaMemAdvise(const void *p, size_t size, enum cudaMemoryAdvise advice, uint64_t place) {
  static const struct {
    enum cudaMemRangeAttribute what;
    bool so;
  } means[] = {[cudaMemAdviseSetReadMostly] = {cudaMemRangeAttributeReadMostly, true},
               [cudaMemAdviseUnsetReadMostly] = {cudaMemRangeAttributeReadMostly, false},
               [cudaMemAdviseSetPreferredLocation] = {cudaMemRangeAttributePreferredLocation, true},
               [cudaMemAdviseUnsetPreferredLocation] = {cudaMemRangeAttributePreferredLocation, false},
               [cudaMemAdviseSetAccessedBy] = {cudaMemRangeAttributeAccessedBy, true},
               [cudaMemAdviseUnsetAccessedBy] = {cudaMemRangeAttributeAccessedBy, false}};
  if (advice < 1 || advice >= sizeof means / sizeof *means) return rt_error(cudaErrorInvalidValue);
  const bool placed =
      means[advice].what == cudaMemRangeAttributeAccessedBy || advice == cudaMemAdviseSetPreferredLocation;
  return say(p, size, means[advice].what, placed ? device_of(place) : 0, means[advice].so);
}

/* The newest advice that covers all of the range; NULL: none. *after: where the search goes on. */
static const struct said *find(const struct said *after, const void *p, size_t size, enum cudaMemRangeAttribute what) {
  const struct said *s = after ? after->next : all;
  while (s && (s->what != what || s->at > (uintptr_t)p || s->at + s->size < (uintptr_t)p + size)) s = s->next;
  return s;
}

cudaError_t cudaMemRangeGetAttribute(void *out, size_t bytes, enum cudaMemRangeAttribute what, const void *p,
                                     size_t size) {
  int *v = out;
  const size_t n = bytes / sizeof *v;
  if (!out || !n || bytes % sizeof *v || !size || (!rt_owner(p) && !rt_is_mirrored(p)) ||
      what < cudaMemRangeAttributeReadMostly || what > cudaMemRangeAttributeLastPrefetchLocation)
    return rt_error(cudaErrorInvalidValue);
  pthread_mutex_lock(&rt_lock);
  const struct said *s = NULL;
  for (size_t k = 0; k < n; k++) {
    s = k && !s ? NULL : find(s, p, size, what);
    v[k] = what == cudaMemRangeAttributeReadMostly ? s != NULL : s ? s->device : cudaInvalidDeviceId;
    if (what != cudaMemRangeAttributeAccessedBy) break;
  }
  pthread_mutex_unlock(&rt_lock);
  return cudaSuccess;
}
cudaError_t cudaMemRangeGetAttributes(void **out, size_t *bytes, enum cudaMemRangeAttribute *what, size_t n,
                                      const void *p, size_t size) {
  cudaError_t e = out && bytes && what ? cudaSuccess : rt_error(cudaErrorInvalidValue);
  for (size_t k = 0; k < n && e == cudaSuccess; k++) e = cudaMemRangeGetAttribute(out[k], bytes[k], what[k], p, size);
  return e;
}

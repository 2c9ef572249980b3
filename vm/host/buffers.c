/* The memory calls of the API: allocate, free, ask. Where things lie is memory.c's, copying copies.c's. */
#include "device.h"
#include "checker.h"
#include "vm/memory/heap.h"

#include "output.h"

#include <stdlib.h>
#include <string.h>

/* Fresh addresses are given out while launches run; freed memory is reused only while none does (mx__alone). Records
 * are changed under d->lock only. */
mx_status mx__device_alloc(struct mx_device *d, struct mx_region *r, uint64_t bytes, uint32_t flags, const char *name,
                           uint64_t *address, void **host) {
  struct mx_memory *m = &d->memory;
  mx__lock(&d->lock);
  mx_status s = mx__memory_alloc(m, r, bytes, 0, flags, name, false, address);
  if (s == MX_OK) *host = mx__memory_host(m, *address, 0);
  uint64_t in_use = r->in_use;
  mx__unlock(&d->lock);
  if (s == MX_BUSY) {
    mx__alone(d);
    mx__lock(&d->lock);
    s = mx__memory_alloc(m, r, bytes, 0, flags, name, true, address);
    if (s == MX_OK) *host = mx__memory_host(m, *address, 0);
    mx__unlock(&d->lock);
    mx__alone_done(d);
  }
  if (s == MX_OUT_OF_DEVICE_MEMORY)
    return mx__fail(d, s, "allocating %llu bytes: the device is out of memory (%llu of %llu bytes are in use)",
                    (unsigned long long)bytes, (unsigned long long)in_use, (unsigned long long)r->capacity);
  return mx__fail_plain(d, s);
}

mx_status mx_alloc(mx_device *d, uint64_t bytes, mx_addr *address) {
  if (!d) return MX_INVALID_VALUE;
  if (!address) return mx__fail(d, MX_INVALID_VALUE, "mx_alloc: no place for the address");
  *address = 0;
  mx_status s = mx__device_usable(d);
  void *host;
  if (s == MX_OK) s = mx__device_alloc(d, &d->memory.global, bytes, 0, NULL, address, &host);
  if (s == MX_OK && d->check) d->checker->allocated(d->check, *address, bytes);
  return s;
}

mx_status mx_alloc_managed(mx_device *d, uint64_t bytes, mx_addr *address, void **host) {
  if (!d) return MX_INVALID_VALUE;
  if (!address || !host) return mx__fail(d, MX_INVALID_VALUE, "mx_alloc_managed: no place for the address");
  *address = 0;
  *host = NULL;
  mx_status s = mx__device_usable(d);
  return s == MX_OK ? mx__device_alloc(d, &d->memory.global, bytes, MX_ALLOC_MANAGED, NULL, address, host) : s;
}

mx_status mx_alloc_constant(mx_device *d, uint64_t bytes, mx_addr *address, mx_addr *offset) {
  if (!d) return MX_INVALID_VALUE;
  mx_addr at = 0;
  const uint64_t most = atomic_load(&d->limits[MX_LIMIT_CONSTANT]);
  mx_status s = mx__device_usable(d);
  if (s == MX_OK && bytes > most)
    s = mx__fail(d, MX_OUT_OF_DEVICE_MEMORY, "mx_alloc_constant: %llu bytes, the limit of constant memory is %llu",
                 (unsigned long long)bytes, (unsigned long long)most);
  void *host;
  if (s == MX_OK) s = mx__device_alloc(d, &d->memory.constant, bytes, 0, NULL, &at, &host);
  if (address) *address = at;
  if (offset) *offset = at ? at - MX_WINDOW(MX_WINDOW_CONST) : 0;
  return s;
}

/* Why an address that is no start of an allocation cannot be freed: what it belongs to. */
static mx_status not_to_be_freed(struct mx_device *d, mx_addr address) {
  const struct mx_alloc *a = mx__memory_record(&d->memory, address, NULL);
  uint64_t lo, size;
  const unsigned long long at = address;
  if (d->heap && mx__heap_find(d->heap, address, &lo, &size))
    return mx__fail(d, MX_INVALID_ADDRESS,
                    "mx_free: 0x%llx is memory that a kernel got by malloc: only kernels can free it", at);
  if (a && a->flags & MX_ALLOC_VARIABLE && a->name)
    return mx__fail(d, MX_INVALID_ADDRESS, "mx_free: 0x%llx is in variable '%s': unloading its module frees it", at,
                    a->name);
  return mx__bad_address(d, "mx_free", "not the start of an allocation", address);
}

mx_status mx_free(mx_device *d, mx_addr address) {
  if (!d) return MX_INVALID_VALUE;
  if (!address) return MX_OK;
  mx__streams_wait(d);
  mx__alone(d);
  mx__lock(&d->lock);
  const struct mx_alloc *a = mx__memory_record(&d->memory, address, NULL);
  bool own = !a || !(a->flags & (MX_ALLOC_VARIABLE | MX_ALLOC_INTERNAL));
  const uint64_t bytes = a ? a->size : 0;
  mx_status s = own ? mx__memory_free(&d->memory, address) : MX_INVALID_ADDRESS;
  if (s == MX_OK && d->check) d->checker->freed(d->check, address);
  if (s == MX_OK) mx__objects_lose(&d->objects, NULL, address, bytes, "its memory has been freed");
  mx__unlock(&d->lock);
  if (s != MX_OK) s = not_to_be_freed(d, address);
  mx__alone_done(d);
  return s;
}

mx_status mx_memory_info(mx_device *d, uint64_t *free_bytes, uint64_t *total_bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx__lock(&d->lock);
  uint64_t total = d->memory.global.capacity, used = d->memory.global.in_use;
  mx__unlock(&d->lock);
  if (free_bytes) *free_bytes = total - used;
  if (total_bytes) *total_bytes = total;
  return MX_OK;
}

mx_status mx_allocation_range(mx_device *d, mx_addr address, mx_addr *base, uint64_t *bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx__lock_read(&d->mem);
  const struct mx_alloc *a = mx__memory_record(&d->memory, address, NULL);
  if (a && base) *base = a->lo;
  if (a && bytes) *bytes = a->size;
  mx_status s = a ? MX_OK : mx__bad_address(d, "mx_allocation_range", "in no allocation", address);
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx_alloc_from(mx_device *d, mx_addr address) {
  if (!d) return MX_INVALID_VALUE;
  mx__lock(&d->lock);
  mx_status s = mx__memory_skip(&d->memory, address);
  mx__unlock(&d->lock);
  return s == MX_OK ? s
                    : mx__fail(d, s, "mx_alloc_from: 0x%llx is not above all that was allocated, or above all memory",
                               (unsigned long long)address);
}

mx_status mx_allocation_next(mx_device *d, mx_addr address, mx_allocation_info *out) {
  if (!d) return MX_INVALID_VALUE;
  if (!out || out->struct_size < sizeof *out) return mx__fail(d, MX_INVALID_VALUE, "mx_allocation_next: no place");
  mx__lock_read(&d->mem);
  const struct mx_alloc *a = mx__memory_next(&d->memory, address);
  if (a)
    *out = (mx_allocation_info){.struct_size = sizeof *out,
                                .address = a->lo,
                                .bytes = a->size,
                                .name = a->name,
                                .variable = a->flags & MX_ALLOC_VARIABLE,
                                .internal = a->flags & (MX_ALLOC_INTERNAL | MX_ALLOC_TEXELS)};
  mx__rwunlock(&d->mem);
  return a ? MX_OK : MX_NOT_FOUND;
}

mx_status mx_allocation_set_name(mx_device *d, mx_addr address, const char *name) {
  if (!d) return MX_INVALID_VALUE;
  mx__alone(d);
  mx__lock(&d->lock);
  mx_status s = mx__memory_name(&d->memory, address, name);
  mx__unlock(&d->lock);
  if (s == MX_INVALID_ADDRESS) s = mx__bad_address(d, "mx_allocation_set_name", "in no allocation", address);
  else s = mx__fail_plain(d, s);
  mx__alone_done(d);
  return s;
}

mx_status mx_managed_pointer(mx_device *d, mx_addr address, void **host) {
  if (!d) return MX_INVALID_VALUE;
  if (!host) return mx__fail(d, MX_INVALID_VALUE, "mx_managed_pointer: no place for the pointer");
  mx__lock_read(&d->mem);
  const struct mx_alloc *a = mx__memory_record(&d->memory, address, NULL);
  *host = a && a->flags & MX_ALLOC_MANAGED ? mx__memory_host(&d->memory, address, 0) : NULL;
  mx_status s = MX_OK;
  if (!a) s = mx__bad_address(d, "mx_managed_pointer", "in no allocation", address);
  else if (!*host)
    s = mx__fail(d, MX_INVALID_ADDRESS, "mx_managed_pointer: 0x%llx is not managed memory",
                 (unsigned long long)address);
  mx__rwunlock(&d->mem);
  return s;
}

/* The memory calls of the API: allocate, free, copy, fill, ask. Where things lie is memory.c's. */
#include "device.h"
#include "checker.h"
#include "vm/memory/heap.h"

#include "output.h"

#include <stdlib.h>
#include <string.h>

/* Synchronous calls come after what is queued in the device's blocking streams. */
static mx_status enter(struct mx_device *d) {
  mx_status s = mx__streams_drain(d);
  mx__output_flush(d);
  return s == MX_OK ? mx__device_usable(d) : s;
}

static mx_status bad_range(struct mx_device *d, const char *call, const char *what, uint64_t address, uint64_t bytes) {
  uint64_t base;
  char *near = mx__memory_nearest(&d->memory, address, bytes, &base);
  mx_status s = mx__fail(d, MX_INVALID_ADDRESS, "%s: %s of %llu bytes at 0x%llx: %s", call, what,
                         (unsigned long long)bytes, (unsigned long long)address, near ? near : "not allocated");
  free(near);
  return s;
}

/* Appending needs no quiet device; taking freed memory again does. Nobody changes records without d->lock. */
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
  return bad_range(d, "mx_free", "not the start of an allocation; access", address, 1);
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

/* Host pointer of a range that must be inside one allocation; d->mem is held. */
static mx_status host_range(struct mx_device *d, const char *call, const char *what, mx_addr at, uint64_t bytes,
                            void **host) {
  *host = mx__memory_host(&d->memory, at, bytes);
  if (*host || !bytes) return MX_OK;
  return bad_range(d, call, what, at, bytes);
}

mx_status mx__copy_in(mx_device *d, mx_addr to, const void *from, uint64_t bytes) {
  void *host;
  if (!from && bytes) return mx__fail(d, MX_INVALID_VALUE, "mx_copy_to_device: no source");
  mx__lock_read(&d->mem);
  mx_status s = host_range(d, "mx_copy_to_device", "write", to, bytes, &host);
  if (s == MX_OK && bytes) memcpy(host, from, bytes);
  if (s == MX_OK && d->check) d->checker->written(d->check, to, bytes);
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx__copy_out(mx_device *d, void *to, mx_addr from, uint64_t bytes) {
  void *host;
  if (!to && bytes) return mx__fail(d, MX_INVALID_VALUE, "mx_copy_from_device: no destination");
  mx__lock_read(&d->mem);
  mx_status s = host_range(d, "mx_copy_from_device", "read", from, bytes, &host);
  if (s == MX_OK && bytes) memcpy(to, host, bytes);
  if (s == MX_OK && d->check) d->checker->read(d->check, from, bytes);
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx__copy_within(mx_device *d, mx_addr to, mx_addr from, uint64_t bytes) {
  void *t, *f;
  mx__lock_read(&d->mem);
  mx_status s = host_range(d, "mx_copy_on_device", "write", to, bytes, &t);
  if (s == MX_OK) s = host_range(d, "mx_copy_on_device", "read", from, bytes, &f);
  if (s == MX_OK && bytes) memmove(t, f, bytes);
  if (s == MX_OK && d->check) d->checker->copied(d->check, to, from, bytes);
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx__fill(mx_device *d, mx_addr to, uint32_t value, unsigned size, uint64_t count) {
  void *host;
  if (count > UINT64_MAX / size) return mx__fail(d, MX_INVALID_VALUE, "mx_memset%u: too many elements", size * 8);
  mx__lock_read(&d->mem);
  mx_status s = host_range(d,
                           size == 1   ? "mx_memset8"
                           : size == 2 ? "mx_memset16"
                                       : "mx_memset32",
                           "write", to, count * size, &host);
  if (s == MX_OK && d->check) d->checker->written(d->check, to, count * size);
  if (s == MX_OK && count) {
    if (size == 1) memset(host, (int)value, count);
    for (uint64_t i = 0; size == 2 && i < count; i++) memcpy((uint8_t *)host + i * 2, &(uint16_t){(uint16_t)value}, 2);
    for (uint64_t i = 0; size == 4 && i < count; i++) memcpy((uint8_t *)host + i * 4, &value, 4);
  }
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx_copy_to_device(mx_device *d, mx_addr to, const void *from, uint64_t bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = enter(d);
  return s == MX_OK ? mx__copy_in(d, to, from, bytes) : s;
}

mx_status mx_copy_from_device(mx_device *d, void *to, mx_addr from, uint64_t bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = enter(d);
  return s == MX_OK ? mx__copy_out(d, to, from, bytes) : s;
}

mx_status mx_copy_on_device(mx_device *d, mx_addr to, mx_addr from, uint64_t bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = enter(d);
  return s == MX_OK ? mx__copy_within(d, to, from, bytes) : s;
}

/* Through a buffer of the host, piece by piece: holding both devices' locks at once would need an order between them.
 */
mx_status mx_copy_between_devices(mx_device *to_device, mx_addr to, mx_device *from_device, mx_addr from,
                                  uint64_t bytes) {
  if (!to_device || !from_device) return MX_INVALID_VALUE;
  if (to_device == from_device) return mx_copy_on_device(to_device, to, from, bytes);
  mx_status s = enter(to_device);
  if (s == MX_OK) s = enter(from_device);
  if (s != MX_OK) return s;
  const uint64_t step = 1 << 20;
  void *piece = malloc(bytes < step ? bytes + 1 : step), *host;
  if (!piece) return mx__fail_plain(to_device, MX_OUT_OF_MEMORY);
  /* both ranges first: a copy happens as a whole or not at all */
  mx__lock_read(&from_device->mem);
  s = host_range(from_device, "mx_copy_between_devices", "read", from, bytes, &host);
  mx__rwunlock(&from_device->mem);
  if (s == MX_OK) {
    mx__lock_read(&to_device->mem);
    s = host_range(to_device, "mx_copy_between_devices", "write", to, bytes, &host);
    mx__rwunlock(&to_device->mem);
  }
  for (uint64_t at = 0; s == MX_OK && at < bytes; at += step) {
    uint64_t n = bytes - at < step ? bytes - at : step;
    s = mx__copy_out(from_device, piece, from + at, n);
    if (s == MX_OK) s = mx__copy_in(to_device, to + at, piece, n);
  }
  free(piece);
  return s;
}

static mx_status fill(mx_device *d, mx_addr to, uint32_t value, unsigned size, uint64_t count) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = enter(d);
  return s == MX_OK ? mx__fill(d, to, value, size, count) : s;
}

mx_status mx_memset8(mx_device *d, mx_addr to, uint8_t value, uint64_t count) { return fill(d, to, value, 1, count); }
mx_status mx_memset16(mx_device *d, mx_addr to, uint16_t value, uint64_t count) { return fill(d, to, value, 2, count); }
mx_status mx_memset32(mx_device *d, mx_addr to, uint32_t value, uint64_t count) { return fill(d, to, value, 4, count); }

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
  mx_status s = a ? MX_OK : bad_range(d, "mx_allocation_range", "range", address, 1);
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
  if (s == MX_INVALID_ADDRESS) s = bad_range(d, "mx_allocation_set_name", "range", address, 1);
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
  if (!a) s = bad_range(d, "mx_managed_pointer", "range", address, 1);
  else if (!*host)
    s = mx__fail(d, MX_INVALID_ADDRESS, "mx_managed_pointer: 0x%llx is not managed memory",
                 (unsigned long long)address);
  mx__rwunlock(&d->mem);
  return s;
}

/* Copies between host and device, and fills: at once, whatever is queued. The calls of the API are calls.c's. */
#include "checker.h"
#include "device.h"

#include <stdlib.h>
#include <string.h>

mx_status mx__bad_range(struct mx_device *d, const char *call, const char *what, uint64_t address, uint64_t bytes) {
  uint64_t base;
  char *near = mx__memory_nearest(&d->memory, address, bytes, &base);
  mx_status s = mx__fail(d, MX_INVALID_ADDRESS, "%s: %s of %llu bytes at 0x%llx: %s", call, what,
                         (unsigned long long)bytes, (unsigned long long)address, near ? near : "not allocated");
  free(near);
  return s;
}
mx_status mx__bad_address(struct mx_device *d, const char *call, const char *what, uint64_t address) {
  uint64_t base;
  char *near = mx__memory_nearest(&d->memory, address, 1, &base);
  mx_status s = mx__fail(d, MX_INVALID_ADDRESS, "%s: 0x%llx is %s: %s", call, (unsigned long long)address, what,
                         near ? near : "not allocated");
  free(near);
  return s;
}

mx_status mx__host_range(struct mx_device *d, const char *call, const char *what, mx_addr at, uint64_t bytes,
                         void **host) {
  *host = mx__memory_host(&d->memory, at, bytes);
  if (*host || !bytes) return MX_OK;
  return mx__bad_range(d, call, what, at, bytes);
}

mx_status mx__copy_in(mx_device *d, mx_addr to, const void *from, uint64_t bytes) {
  void *host;
  if (!from && bytes) return mx__fail(d, MX_INVALID_VALUE, "mx_copy_to_device: no source");
  mx__lock_read(&d->mem);
  mx_status s = mx__host_range(d, "mx_copy_to_device", "write", to, bytes, &host);
  if (s == MX_OK && bytes) memcpy(host, from, bytes);
  if (s == MX_OK && d->check) d->checker->written(d->check, to, bytes);
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx__copy_out(mx_device *d, void *to, mx_addr from, uint64_t bytes) {
  void *host;
  if (!to && bytes) return mx__fail(d, MX_INVALID_VALUE, "mx_copy_from_device: no destination");
  mx__lock_read(&d->mem);
  mx_status s = mx__host_range(d, "mx_copy_from_device", "read", from, bytes, &host);
  if (s == MX_OK && bytes) memcpy(to, host, bytes);
  if (s == MX_OK && d->check) d->checker->read(d->check, from, bytes);
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx__copy_within(mx_device *d, mx_addr to, mx_addr from, uint64_t bytes) {
  void *t, *f;
  mx__lock_read(&d->mem);
  mx_status s = mx__host_range(d, "mx_copy_on_device", "write", to, bytes, &t);
  if (s == MX_OK) s = mx__host_range(d, "mx_copy_on_device", "read", from, bytes, &f);
  if (s == MX_OK && bytes) memmove(t, f, bytes);
  if (s == MX_OK && d->check) d->checker->copied(d->check, to, from, bytes);
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx__fill(mx_device *d, mx_addr to, uint32_t value, unsigned size, uint64_t count) {
  void *host;
  if (count > UINT64_MAX / size) return mx__fail(d, MX_INVALID_VALUE, "mx_memset%u: too many elements", size * 8);
  mx__lock_read(&d->mem);
  mx_status s = mx__host_range(d,
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

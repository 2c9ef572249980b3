/* The ring of printed records; see fifo.h. A record is its length (4 bytes) and its text, and may wrap around. */
#include "fifo.h"

#include "vm/memory/lock.h"

#include <stdlib.h>
#include <string.h>

struct mx_fifo {
  struct mx_lock lock;
  size_t size, first, used; /* bytes */
  uint64_t lost;
  char bytes[];
};

struct mx_fifo *mx__fifo_new(size_t bytes) {
  struct mx_fifo *f = malloc(sizeof *f + bytes);
  if (!f) return NULL;
  *f = (struct mx_fifo){.size = bytes};
  mx__lock_init(&f->lock, MX_LOCK_PRINTED);
  return f;
}

void mx__fifo_free(struct mx_fifo *f) {
  if (!f) return;
  mx__lock_done(&f->lock);
  free(f);
}

size_t mx__fifo_size(const struct mx_fifo *f) { return f->size; }

static void put(struct mx_fifo *f, const void *from, size_t n) {
  size_t at = (f->first + f->used) % f->size, part = f->size - at < n ? f->size - at : n;
  memcpy(f->bytes + at, from, part);
  memcpy(f->bytes, (const char *)from + part, n - part);
  f->used += n;
}

static void take(struct mx_fifo *f, void *to, size_t n) {
  size_t part = f->size - f->first < n ? f->size - f->first : n;
  if (to) {
    memcpy(to, f->bytes + f->first, part);
    memcpy((char *)to + part, f->bytes, n - part);
  }
  f->first = (f->first + n) % f->size;
  f->used -= n;
}

bool mx__fifo_put(struct mx_fifo *f, const char *text, size_t size) {
  uint32_t length = (uint32_t)size;
  mx__lock(&f->lock);
  bool fits = size < UINT32_MAX && size + sizeof length <= f->size;
  if (!fits) {
    f->lost += size;
  } else {
    while (f->size - f->used < size + sizeof length) {
      uint32_t oldest;
      take(f, &oldest, sizeof oldest);
      take(f, NULL, oldest);
      f->lost += oldest;
    }
    put(f, &length, sizeof length);
    put(f, text, size);
  }
  mx__unlock(&f->lock);
  return fits;
}

/* Passes on one record, in two pieces if it wraps around: the callback gets text, not records. */
static void hand_over(struct mx_fifo *f, mx_output_fn fn, void *user) {
  uint32_t length;
  take(f, &length, sizeof length);
  size_t part = f->size - f->first < length ? f->size - f->first : length;
  if (fn && part) fn(user, f->bytes + f->first, part);
  if (fn && part < length) fn(user, f->bytes, length - part);
  take(f, NULL, length);
}

void mx__fifo_drain(struct mx_fifo *f, mx_output_fn fn, void *user) {
  mx__lock(&f->lock);
  char *copy = fn && f->used ? malloc(f->used) : NULL; /* so that kernels can print while the callback runs */
  size_t n = 0;
  while (f->used) {
    uint32_t length;
    if (!copy) {
      hand_over(f, fn, user);
      continue;
    }
    take(f, &length, sizeof length);
    take(f, copy + n, length);
    n += length;
  }
  mx__unlock(&f->lock);
  if (n) fn(user, copy, n);
  free(copy);
}

uint64_t mx__fifo_lost(struct mx_fifo *f) {
  mx__lock(&f->lock);
  uint64_t lost = f->lost;
  f->lost = 0;
  mx__unlock(&f->lock);
  return lost;
}

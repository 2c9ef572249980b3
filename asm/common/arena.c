/* Memory of one assembly or one image, claimed in chunks and freed whole. Separate so that a limit on what hostile
 * input may claim, and the jump on failure, stand in one place. Knows nothing of what lives in it. */
#include "arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mx_arena_chunk {
  struct mx_arena_chunk *next;
  size_t size, used;
  char *bytes; /* 16-byte aligned, behind this header */
};

enum { CHUNK = 64 * 1024, ALIGN = 16 };

_Noreturn void mx__arena_out_of_memory(struct mx_arena *a) { longjmp(*a->oom, 1); }

void *mx__arena_alloc(struct mx_arena *a, size_t size) {
  if (size > SIZE_MAX / 2) mx__arena_out_of_memory(a);
  size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  struct mx_arena_chunk *c = a->head;
  if (!c || c->size - c->used < size) {
    if (a->limit && (a->used > a->limit || size > a->limit - a->used)) mx__arena_out_of_memory(a);
    /* Chunks grow with the arena, so that big inputs need few; a big request gets a chunk of its own size. */
    size_t want = a->used / 4 > CHUNK ? a->used / 4 : CHUNK;
    if (want > (size_t)4 << 20) want = (size_t)4 << 20;
    if (want < size) want = size;
    struct mx_arena_chunk *fresh = malloc(sizeof *fresh + ALIGN + want);
    if (!fresh) mx__arena_out_of_memory(a);
    fresh->size = want;
    fresh->used = 0;
    fresh->bytes = (char *)(((uintptr_t)(fresh + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    a->used += want;
    /* A chunk that still has more room than the new one stays in front. */
    if (c && c->size - c->used > want - size) {
      fresh->next = c->next;
      c->next = fresh;
    } else {
      fresh->next = c;
      a->head = fresh;
    }
    c = fresh;
  }
  char *p = c->bytes + c->used;
  c->used += size;
  memset(p, 0, size);
  return p;
}

void *mx__arena_grow(struct mx_arena *a, void *old, size_t old_size, size_t new_size) {
  void *p = mx__arena_alloc(a, new_size);
  if (old_size) memcpy(p, old, old_size < new_size ? old_size : new_size);
  return p;
}

char *mx__arena_strndup(struct mx_arena *a, const char *s, size_t n) {
  char *p = mx__arena_alloc(a, n + 1);
  if (n) memcpy(p, s, n);
  return p;
}

char *mx__arena_printf(struct mx_arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *p = mx__arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
  if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

void mx__arena_free(struct mx_arena *a) {
  for (struct mx_arena_chunk *c = a->head, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  a->head = NULL;
  a->used = 0;
}

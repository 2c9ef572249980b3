/* Memory of one assembly or one image: allocated piecewise, freed whole. Every byte comes through one hook, so that
 * tests can fail the n-th allocation; on failure the arena's `oom` jumps to where the entry point set it. */
#ifndef MX_ASM_ARENA_H
#define MX_ASM_ARENA_H
#include <setjmp.h>
#include <stddef.h>

struct mx_arena_chunk;
struct mx_arena {
  struct mx_arena_chunk *head;
  size_t used, limit; /* limit: bytes that hostile input may claim, then it counts as out of memory; 0: none */
  jmp_buf *oom;       /* where allocation failure goes; never NULL while allocating */
};
void *mx__arena_alloc(struct mx_arena *a, size_t size);                                /* zeroed, 16-byte aligned */
void *mx__arena_grow(struct mx_arena *a, void *old, size_t old_size, size_t new_size); /* old stays until the end */
char *mx__arena_strndup(struct mx_arena *a, const char *s, size_t n);
char *mx__arena_printf(struct mx_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mx__arena_free(struct mx_arena *a);
_Noreturn void mx__arena_out_of_memory(struct mx_arena *a); /* jumps as if an allocation had failed */
#endif

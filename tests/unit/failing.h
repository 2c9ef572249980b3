/* Allocation that fails at the n-th call: include this, then the source file under test. Only that file's own calls
 * count, and its object in the library is left unlinked. */
#ifndef MX_TEST_FAILING_H
#define MX_TEST_FAILING_H
#include <stdint.h>
#include <stdlib.h>

static size_t failing_at = SIZE_MAX; /* calls that still succeed */
static size_t failing_calls;

static inline int failing_now(void) {
  failing_calls++;
  if (!failing_at) return 1;
  if (failing_at != SIZE_MAX) failing_at--;
  return 0;
}
static inline void *failing_malloc(size_t n) { return failing_now() ? NULL : malloc(n); }
static inline void *failing_calloc(size_t n, size_t size) { return failing_now() ? NULL : calloc(n, size); }
static inline void *failing_realloc(void *p, size_t n) { return failing_now() ? NULL : realloc(p, n); }
#define malloc(n_) failing_malloc(n_)
#define calloc(n_, size_) failing_calloc(n_, size_)
#define realloc(p_, n_) failing_realloc(p_, n_)
#endif

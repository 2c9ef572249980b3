/* Worker threads of a device: made when first needed, kept between launches. Knows only that there is a function to
 * be called by several threads at once. */
#ifndef MX_VM_POOL_H
#define MX_VM_POOL_H

#include <stdint.h>
#include <time.h>

struct mx_pool;

/* Calls fn(arg, k) for k = 0 … n-1, each in a thread of its own, and waits for all. Number 0 runs in the calling
 * thread, and others that have not begun when it returns are not made; unless there is a deadline (CLOCK_MONOTONIC):
 * then that thread waits, and calls late(arg) once when it passes. *pool is made when NULL. Returns how many calls were
 * made: fewer than n when the system refuses threads; 0 only with a deadline and no thread at all. */
uint32_t mx__pool_run(struct mx_pool **pool, uint32_t n, void (*fn)(void *arg, uint32_t k), void *arg,
                      const struct timespec *deadline, void (*late)(void *arg));
/* Threads are kept from the caller's processor: no more until the next job, since the caller is about to sleep. NULL:
 * nothing. */
void mx__pool_everywhere(struct mx_pool *p);
void mx__pool_free(struct mx_pool *p); /* NULL: nothing; joins all threads */

#endif

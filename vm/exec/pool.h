/* Worker threads of a device: made when first needed, kept between launches. Knows only that there is a function to
 * be called by several threads at once. */
#ifndef MX_VM_POOL_H
#define MX_VM_POOL_H

#include <stdint.h>
#include <time.h>

struct mx_pool;

/* Calls fn(arg, k) for k = 0 … n-1, each in a thread of its own, and waits for all. Number 0 runs in the calling
 * thread, and others that have not begun when it returns are not made. With a deadline (CLOCK_MONOTONIC), late(arg) is
 * called once, in another thread, when it passes before all calls have ended. *pool is made when NULL. Returns how many
 * calls were made: fewer than n when they were not needed or the system refuses threads; 0, and none has been made, if
 * there is nobody to watch the deadline. */
uint32_t mx__pool_run(struct mx_pool **pool, uint32_t n, void (*fn)(void *arg, uint32_t k), void *arg,
                      const struct timespec *deadline, void (*late)(void *arg));
/* Threads are kept from the caller's processor: no more until the next job, since the caller is about to sleep. NULL:
 * nothing. */
void mx__pool_everywhere(struct mx_pool *p);
void mx__pool_free(struct mx_pool *p); /* NULL: nothing; joins all threads */

#endif

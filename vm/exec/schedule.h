/* Runs the blocks of a launch on its workers. Blocks start in the order of their index, a limited number of them is
 * resident, and parked ones take turns. */
#ifndef MX_VM_SCHEDULE_H
#define MX_VM_SCHEDULE_H

#include "launch.h"

#include <time.h>

struct mx_pool;

/* Runs all blocks of the launch on l->workers workers; returns when all have ended or l->stop is set. `deadline` NULL:
 * none. Fills l->stats and, when the launch was stopped without a trap, *where with a malloc'ed text that says what the
 * lowest unfinished block was doing (NULL: nothing to say). */
void mx__schedule(struct mx_launch *l, struct mx_pool **pool, const struct timespec *deadline, char **where);

#endif

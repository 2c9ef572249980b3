/* Runs the blocks of a launch on its workers. Blocks start in the order of their index, a limited number of them is
 * resident, and parked ones take turns. */
#ifndef MX_VM_SCHEDULE_H
#define MX_VM_SCHEDULE_H

#include "launch.h"

#include <time.h>

struct mx_block;
struct mx_pool;
struct mx_taken;

/* Runs all blocks of the launch on l->workers workers; returns when all have ended or l->stop is set. `deadline` NULL:
 * none. Fills l->stats and, when the launch was stopped without a trap, *where with a malloc'ed text that says what the
 * lowest unfinished block was doing (NULL: nothing to say). */
void mx__schedule(struct mx_launch *l, struct mx_pool **pool, const struct timespec *deadline, char **where);

/* Whether a block waits for a worker, to start or for another turn; `then`: blocks that the calling worker has taken.
 */
bool mx__schedule_waits(const struct mx_launch *l, const struct mx_taken *then);

/* The blocks of parked units, in no order, into list, which has room for l->resident. For debuggers: nothing else is
 * running. */
uint32_t mx__schedule_parked(struct mx_launch *l, struct mx_block **list);

/* All block objects, in use or not, into such a list. */
uint32_t mx__schedule_made(struct mx_launch *l, struct mx_block **list);

/* Where every block is, to be gone back to. Save: malloc'ed; NULL: out of memory. The block that runs is the caller's
 * business. */
struct mx_schedule_state;
struct mx_schedule_state *mx__schedule_save(const struct mx_launch *l);
void mx__schedule_restore(struct mx_launch *l, const struct mx_schedule_state *state);

#endif

/* The blocks of a launch that are not running: which one a worker takes next. A block stands for its unit here: the
 * cluster of blocks of which it is the leader (block.h). Running blocks is schedule.c's. */
#ifndef MX_VM_QUEUE_H
#define MX_VM_QUEUE_H

#include "block.h"
#include "launch.h"

struct mx_queue {
  struct mx_launch *l;
  struct mx_pool **pool;
  struct mx_lock lock;
  pthread_cond_t wake;
  uint64_t next;  /* block that nobody has taken */
  uint64_t begun; /* blocks that have started */
  uint32_t resident, allowed, peak, most;
  uint64_t turns;           /* that ended parked, since a block ended or more were let in */
  uint64_t turns_since_end; /* the same, since a block ended */
  uint32_t backoffs;        /* of workers, since a block ended or more were let in */
  uint64_t parks;
  uint32_t waiting;            /* workers asleep */
  struct mx_block **parked[2]; /* stacks of `most`: those whose turn is still to come in this sweep, the others */
  uint32_t nparked[2];
  uint32_t
      suspended; /* so many of the first stack come before any other block: a session's workers have suspended them */
  struct mx_block **idle; /* block objects without a block; stack of `most` */
  uint32_t nidle;
  struct mx_block **all;  /* in the order in which they were made */
  uint32_t made, objects; /* in use since then; objects >= made where the launch was taken back */
  /* of a session whose launch runs on several workers now and then: */
  pthread_cond_t helpers_changed; /* the other workers are called, or have left */
  bool together, over;
  uint64_t calls, others;    /* how often they were called; what they have executed since the last time */
  struct mx_taken *returned; /* blocks that workers had taken and returned unstarted when they came to rest: by number,
                                l->helpers + 1 at most */
  uint32_t nreturned;
  uint32_t joined; /* so many are with it */
};

static inline bool mx__queue_stopped(const struct mx_queue *s) {
  return atomic_load_explicit(s->l->stop, memory_order_relaxed);
}
static inline uint32_t mx__queue_parked(const struct mx_queue *s) { return s->nparked[0] + s->nparked[1]; }

/* For all of these s->lock is held. */
/* A block to run, or NULL when there is nothing left to do for this worker; `ended`: the one that has just ended, or
 * NULL. *start: the block is to be started first, as unit *index. */
struct mx_block *mx__queue_take(struct mx_queue *s, struct mx_taken *mine, const struct mx_block *ended, bool *start,
                                uint64_t *index);
/* A block's turn has ended before the block has. */
void mx__queue_park(struct mx_queue *s, struct mx_block *b);
/* Whether all blocks under way wait at mbarriers without effect, b, which is parked now, among them, and no other can
 * start: the lowest of them, or NULL. */
struct mx_block *mx__queue_deadlock(const struct mx_queue *s, struct mx_block *b);
/* Makes all parked blocks the next ones to run, by number, before any other starts. */
void mx__queue_sort(struct mx_queue *s);
/* Gives back blocks that a worker has taken and will not start. */
void mx__queue_return(struct mx_queue *s, struct mx_taken *mine);
/* How many blocks have not ended. */
uint64_t mx__queue_left(const struct mx_queue *s);
/* The blocks of all parked units into list; how many. */
uint32_t mx__queue_members(const struct mx_queue *s, struct mx_block **list);

/* What others ask, who do not hold the lock. A pass over the warps of block b has ended in which something made
 * progress; `then`: blocks that the calling worker has taken. True: the block's turn ends, since other blocks, for one
 * of which it may be waiting, should have one. */
bool mx__queue_yields(struct mx_block *b, const struct mx_taken *then);
/* Whether a block waits for a worker, to start or for another turn. */
bool mx__queue_others_wait(const struct mx_launch *l, const struct mx_taken *then);

/* For debuggers, while nothing else is running. The blocks of parked units, in no order, into list, which has room for
 * l->resident; all block objects, in use or not, into such a list. */
uint32_t mx__queue_list_parked(struct mx_launch *l, struct mx_block **list);
uint32_t mx__queue_list_made(struct mx_launch *l, struct mx_block **list);
/* Where every block is, to be gone back to. Save: malloc'ed; NULL: out of memory. The block that runs is the caller's
 * business. */
struct mx_queue_state;
struct mx_queue_state *mx__queue_save(const struct mx_launch *l);
void mx__queue_restore(struct mx_launch *l, const struct mx_queue_state *state);

#endif

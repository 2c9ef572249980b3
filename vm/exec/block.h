/* A block of threads: its warps, barriers and shared memory; an object that can be parked and taken up again by
 * any worker. */
#ifndef MX_VM_BLOCK_H
#define MX_VM_BLOCK_H

#include "exec.h"

enum mx_block_status {
  MX_BLOCK_DONE,    /* all threads have ended */
  MX_BLOCK_PARKED,  /* everyone left spins or waits; worth another turn after others ran */
  MX_BLOCK_YIELDED, /* it has gone on for long: others may have their turn, for one of which it may wait */
  MX_BLOCK_STOPPED, /* trap raised, or x->stop seen */
};

/* Blocks of a cluster run together: one worker has them all, and takes the first of them, the leader, for all. A block
 * alone is the leader of a cluster of one. Calls that speak of a unit take the leader, but where they say otherwise. */

/* The objects of a unit of this launch's shape, its leader; NULL: out of memory. Their memory is reused by every unit
 * they run. */
struct mx_block *mx__block_new(struct mx_launch *l);
/* Makes them those of unit number `unit` (x fastest), before their first instruction. */
void mx__block_start(struct mx_block *leader, uint64_t unit);
/* Units that a worker has taken and not started; n were taken at once. */
struct mx_taken {
  uint64_t next, end, n;
};
/* turns.c: runs the unit of block b until it ends, parks or is stopped. When it has ended, those of `then` run in its
 * place, one after the other. */
enum mx_block_status mx__block_run(struct mx_exec *x, struct mx_block *b, struct mx_taken *then);
void mx__block_free(struct mx_block *b);
/* queue.c: a round of its warps has ended in which something went on. True: others are to have their turn, for one of
 * which it may wait. */
bool mx__block_yields(struct mx_block *b, const struct mx_taken *then);
#define MX_TURN_PASSES (1u << 16) /* in a turn; some 100 ms, where each is from one barrier to the next */
/* barrier.c: opens the barrier of the cluster, if all have arrived. */
void mx__cluster_recheck(struct mx_block *leader);
/* What its turn needs of x. */
void mx__block_enter(struct mx_exec *x, struct mx_block *b);
/* access.c: maps local memory, and that of the current block if it is not there yet; false: the host has none left. */
bool mx__block_map_local(struct mx_block *b);
bool mx__block_local(struct mx_exec *x);
/* The lanes that warp w begins with. */
uint64_t mx__block_lanes(const struct mx_block *b, uint32_t w);
/* Warps from w on begin. False: out of memory. */
bool mx__block_begin_warps(struct mx_exec *x, struct mx_block *b, uint32_t w);

/* ---- between block.c, turns.c, warp.c and barrier.c ---------------------------------------------------------------*/
#define MX_BARRIERS 16                    /* that programs name */
#define MX_CLUSTER_BARRIER MX_BARRIERS    /* that of the cluster: what the block adds to it */
#define MX_CLUSTER_OWED (MX_BARRIERS + 1) /* lanes that have arrived there, and not waited since */
#define MX_ALL_BARRIERS (MX_BARRIERS + 2)
struct mx_barrier {
  uint32_t want;      /* threads to wait for; 0: all that live */
  uint64_t *arrived;  /* lanes of each warp that have arrived */
  uint32_t hold, all; /* red: how many predicates held; arrivals that took part in a reduction */
};
struct mx_block {
  struct mx_launch *launch;
  struct mx_block *leader, **members; /* of the unit: its first block; the leader's list of them, by rank */
  uint32_t nmembers;
  uint64_t unit, index; /* number of the unit; of the block in the grid, x fastest */
  uint32_t rank, ctaid[3];
  bool ended; /* while others of its unit run: its shared memory is gone */
  struct {
    uint32_t member;
    bool alive, went_on, spun, yielded;
  } pass; /* leader: whose turn it is in the unit, and what those before it have come to */
  uint32_t nwarps;
  uint32_t spins;  /* turns in which its warps only spun or waited */
  uint32_t passes; /* in which something went on, since it last might have yielded */
  uint32_t begun;  /* warps that have begun, from the first on */
  struct {
    uint32_t warp;
    bool alive, went_on, spun;
  } round;      /* whose turn it is, and what those before it have come to */
  bool started; /* its warps stand at the first instruction, or beyond */
  struct mx_warp *warps;
  unsigned char *shared;
  uint32_t barriers_used; /* by number, those at which somebody has arrived */
  struct mx_barrier barriers[MX_ALL_BARRIERS];
  struct mx_async *async;        /* copies under way: async.h; NULL: there has been none */
  struct mx_warp_copies *copies; /* async->warp, where compiled code may add to them by itself; or NULL */
  uint32_t timeouts;    /* times in a row that lanes at mbarriers were told that their time is over, and came back */
  bool time_over;       /* they are to be told in the block's next turn */
  unsigned char *local; /* of all its lanes; zero at first */
  size_t local_bytes;
  uint64_t digest; /* stuck.c: of its registers, when it last had its turn in vain */
  void *memory;
  struct mx_probed_block *probed; /* a tool's: hooks.h */
  void *observed;                 /* a tool's own: hooks.h */
};

/* All blocks of the unit of b into list; how many there are. */
static inline uint32_t mx__block_members(const struct mx_block *b, struct mx_block **list) {
  for (uint32_t k = 0; k < b->nmembers; k++) list[k] = b->leader->members[k];
  return b->nmembers;
}

#endif

/* A block of threads: its warps, barriers and shared memory; an object that can be parked and taken up again by
 * any worker. */
#ifndef MX_VM_BLOCK_H
#define MX_VM_BLOCK_H

#include "exec.h"

enum mx_block_status {
  MX_BLOCK_DONE,    /* all threads have ended */
  MX_BLOCK_PARKED,  /* all lanes spin or wait; another turn is worthwhile after other blocks have run */
  MX_BLOCK_YIELDED, /* it has run for long: other blocks, for one of which it may be waiting, should have a turn */
  MX_BLOCK_STOPPED, /* a trap was raised, or x->stop is set */
};

/* The blocks of a cluster run together: one worker runs all of them, and refers to them by the first one, the leader. A
 * block without cluster is the leader of a cluster of one. A function for a unit takes the leader unless it says
 * otherwise. */

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
#define MX_TURN_PASSES (1u << 16) /* passes in one turn: some 100 ms if each goes from one barrier to the next */
/* barrier.c: releases the cluster's barrier if all have arrived. */
void mx__cluster_recheck(struct mx_block *leader);
/* Prepares x for the block's turn. */
void mx__block_enter(struct mx_exec *x, struct mx_block *b);
/* Both at once, for the block behind the one that has just ended in b without being anywhere but in compiled code: what
 * that does not change is not restored. */
void mx__block_follow(struct mx_exec *x, struct mx_block *b);
/* access.c: maps local memory; the block's is allocated if that has not been done yet. False: the host is out of
 * memory. */
bool mx__block_map_local(struct mx_block *b);
bool mx__block_local(struct mx_exec *x);
/* The lanes with which warp w begins. */
uint64_t mx__block_lanes(const struct mx_block *b, uint32_t w);
/* The warps from w on begin. False: out of memory. */
bool mx__block_begin_warps(struct mx_exec *x, struct mx_block *b, uint32_t w);

/* ---- between block.c, turns.c, warp.c and barrier.c ---------------------------------------------------------------*/
#define MX_BARRIERS 16                 /* that programs can name */
#define MX_CLUSTER_BARRIER MX_BARRIERS /* the cluster's barrier: this block's arrivals there */
/* lanes that have arrived at the cluster's barrier and have not waited since */
#define MX_CLUSTER_OWED (MX_BARRIERS + 1)
#define MX_ALL_BARRIERS (MX_BARRIERS + 2)
struct mx_barrier {
  uint32_t want;      /* how many threads are expected; 0: all living ones */
  uint64_t *arrived;  /* by warp: the lanes that have arrived */
  uint32_t hold, all; /* reductions (red): for how many arrivals the predicate held; how many arrivals took part */
};
struct mx_block {
  struct mx_launch *launch;
  struct mx_block *leader, **members; /* of the unit: its first block; the leader's list of them, by rank */
  uint32_t nmembers;
  uint64_t unit, index; /* number of the unit; number of the block in the grid, x fastest */
  uint32_t rank, ctaid[3];
  bool ended; /* it has ended while others of its unit still run, and its shared memory is gone */
  struct {
    uint32_t member;
    bool alive, went_on, spun, yielded;
  } pass; /* the leader's: whose turn it is in the unit, and the outcome of the turns before it */
  uint32_t nwarps;
  uint32_t spins;  /* turns in which its warps only spun or waited */
  uint32_t passes; /* passes in which something made progress, since it last could have yielded */
  uint32_t begun;  /* how many warps have begun, from the first on */
  struct {
    uint32_t warp;
    bool alive, went_on, spun;
  } round;      /* whose turn it is, and the outcome of the turns before it */
  bool started; /* its warps have begun */
  struct mx_warp *warps;
  unsigned char *shared;
  uint32_t barriers_used; /* a set: the barriers at which lanes have arrived */
  struct mx_barrier barriers[MX_ALL_BARRIERS];
  struct mx_async *async;        /* pending copies: async.h; NULL: there have been none */
  struct mx_warp_copies *copies; /* async->warp, if compiled code may add copies by itself; or NULL */
  uint32_t timeouts;    /* how often in a row lanes at mbarriers were told that their time is over, and came back */
  bool time_over;       /* lanes will be told so in the block's next turn */
  unsigned char *local; /* all lanes' local memory, zero at first */
  size_t local_bytes;
  uint64_t digest; /* stuck.c: of its registers, at the end of its last turn without progress */
  void *memory;
  struct mx_probed_block *probed; /* a tool's: hooks.h */
  void *observed;                 /* a tool's own: hooks.h */
};

/* Lists all blocks of b's unit; returns how many there are. */
static inline uint32_t mx__block_members(const struct mx_block *b, struct mx_block **list) {
  for (uint32_t k = 0; k < b->nmembers; k++) list[k] = b->leader->members[k];
  return b->nmembers;
}

#endif

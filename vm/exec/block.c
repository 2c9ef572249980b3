/* A block: its memory, its life, and the order in which its warps run: round robin from warp 0, each until it has used
 * its slice, waits, or ends. */
#include "block.h"

#include "async.h"
#include "compiled_block.h"
#include "hooks.h"
#include "jitabi.h"
#include "launch.h"
#include "schedule.h"
#include "warp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t align_up(size_t n, size_t a) { return (n + a - 1) / a * a; }

/* ---- memory -----------------------------------------------------------------------------------------------*/
/* Most kernels use none, and asking the system for it costs as much as a block. Zero pages: what a lane does not write
 * costs nothing, and it never sees the host's leftovers. calloc() clears them itself once such memory has been freed:
 * forty microseconds a launch. */
static bool map_local(struct mx_block *b) {
  const struct mx_launch *l = b->launch;
  const size_t of_warp = (size_t)l->local_bytes * l->lanes;
  void *local =
      mmap(NULL, of_warp * b->nwarps, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (local == MAP_FAILED) return false;
  b->local = local;
  b->local_bytes = of_warp * b->nwarps;
  for (uint32_t w = 0; w < b->nwarps; w++) b->warps[w].local = b->local + w * of_warp;
  return true;
}

/* One piece: warps, thread numbers, barrier counts, shared memory. */
static struct mx_block *member_new(struct mx_launch *l) {
  struct mx_block *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  b->leader = b;
  b->launch = l;
  b->nwarps = l->warps;
  size_t warps = align_up(sizeof(struct mx_warp) * b->nwarps, 64), tids = (size_t)b->nwarps * l->lanes * 4;
  /* compiled code reads two vectors from an element on */
  size_t arrived = align_up(MX_ALL_BARRIERS * sizeof(uint64_t) * b->nwarps, 64),
         shared = align_up(l->shared_bytes + 128u, 64);
  b->memory = aligned_alloc(64, align_up(warps + 3 * tids + arrived + shared, 64));
  if (!b->memory) return mx__block_free(b), NULL;
  unsigned char *at = b->memory;
  memset(at, 0, warps);
  b->warps = (struct mx_warp *)at, at += warps;
  uint32_t *tid[3];
  for (unsigned d = 0; d < 3; d++) tid[d] = (uint32_t *)at, at += tids;
  for (uint32_t n = 0; n < MX_ALL_BARRIERS; n++)
    b->barriers[n].arrived = (uint64_t *)(at + n * sizeof(uint64_t) * b->nwarps);
  memset(at, 0, arrived);
  at += arrived;
  b->shared = at;
  for (uint32_t t = 0; t < b->nwarps * l->lanes; t++) {
    tid[0][t] = t % l->block[0];
    tid[1][t] = t / l->block[0] % l->block[1];
    tid[2][t] = t / l->block[0] / l->block[1];
  }
  for (uint32_t w = 0; w < b->nwarps; w++) {
    b->warps[w].number = w;
    for (unsigned d = 0; d < 3; d++) b->warps[w].tid[d] = tid[d] + (size_t)w * l->lanes;
  }
  if (l->debug && !map_local(b)) return mx__block_free(b), NULL; /* a session looks at it, used or not */
  if (l->probe && l->probe->block_new && !l->probe->block_new(b)) return mx__block_free(b), NULL;
  return b;
}
struct mx_block *mx__block_new(struct mx_launch *l) {
  struct mx_block *leader = member_new(l);
  if (!leader) return NULL;
  leader->members = calloc(l->cluster_blocks, sizeof *leader->members);
  for (uint32_t k = 0; leader->members && k < l->cluster_blocks; k++) {
    struct mx_block *b = k ? member_new(l) : leader;
    if (!b) break;
    b->leader = leader;
    b->rank = k;
    leader->members[leader->nmembers++] = b;
  }
  if (leader->nmembers < l->cluster_blocks) return mx__block_free(leader), NULL;
  for (uint32_t k = 1; k < leader->nmembers; k++) leader->members[k]->nmembers = leader->nmembers;
  return leader;
}

bool mx__block_local(struct mx_exec *x) {
  if (x->block->local) return true;
  if (!map_local(x->block)) return false;
  x->window[MX_LOCAL] = x->warp->local;
  atomic_store_explicit(&x->launch->uses_local, true, memory_order_relaxed);
  return true;
}

void mx__block_free(struct mx_block *b) {
  if (!b) return;
  for (uint32_t k = 1; b->leader == b && k < b->nmembers; k++) mx__block_free(b->members[k]);
  free(b->members);
  for (uint32_t w = 0; b->warps && w < b->nwarps; w++)
    if (b->warps[w].live) mx__warp_end(&b->warps[w]);
  mx__async_free(b);
  MX_TELL(b->launch, block_free, b);
  free(b->memory);
  if (b->local) munmap(b->local, b->local_bytes);
  free(b);
}

/* ---- a block's life -----------------------------------------------------------------------------------------*/
/* Number `number` of a grid: where in it. */
static void place_in(const uint32_t grid[3], uint64_t number, uint32_t at[3]) {
  const uint64_t row = number < grid[0] ? 0 : number / grid[0]; /* divisions cost as much as a warp's beginning */
  at[0] = (uint32_t)(number - row * grid[0]);
  at[2] = row < grid[1] ? 0 : (uint32_t)(row / grid[1]);
  at[1] = (uint32_t)(row - (uint64_t)at[2] * grid[1]);
}
/* Its place in the grid. */
static void place(struct mx_block *b, uint64_t unit) {
  const struct mx_launch *l = b->launch;
  b->unit = unit;
  if (b->nmembers == 1) {
    b->index = unit;
    place_in(l->grid, unit, b->ctaid);
    return;
  }
  uint32_t grid[3], in[3];
  for (unsigned d = 0; d < 3; d++) grid[d] = l->grid[d] / l->cluster[d];
  place_in(grid, unit, b->ctaid);
  place_in(l->cluster, b->rank, in);
  for (unsigned d = 0; d < 3; d++) b->ctaid[d] = b->ctaid[d] * l->cluster[d] + in[d];
  b->index = b->ctaid[0] + (uint64_t)l->grid[0] * (b->ctaid[1] + (uint64_t)l->grid[1] * b->ctaid[2]);
}
static void member_start(struct mx_block *b, uint64_t unit) {
  const struct mx_launch *l = b->launch;
  place(b, unit);
  b->ended = false;
  b->started = false;
  b->spins = b->passes = 0;
  memset(&b->round, 0, sizeof b->round);
  for (uint32_t used = b->barriers_used; used; used &= used - 1) {
    struct mx_barrier *bar = &b->barriers[__builtin_ctz(used)];
    bar->want = bar->hold = bar->all = 0;
    memset(bar->arrived, 0, sizeof *bar->arrived * b->nwarps);
  }
  b->barriers_used = 0;
  mx__async_end(b); /* compiled code goes from block to block by itself */
  mx__async_clear(b);
  if (l->debug) l->hooks->clears(l->debug, b);
  if (l->shared_bytes) memset(b->shared, 0, l->shared_bytes);
  MX_TELL(l, block_starts, b);
}
void mx__block_start(struct mx_block *leader, uint64_t unit) {
  memset(&leader->pass, 0, sizeof leader->pass);
  for (uint32_t k = 0; k < leader->nmembers; k++) member_start(leader->members[k], unit);
}

void mx__block_enter(struct mx_exec *x, struct mx_block *b) {
  x->naps = 0;
  x->block = b;
  if (x->window[MX_SHARED] != b->shared) { /* another block's object */
    for (uint32_t k = 0; k < x->prep->nbounds; k++)
      if (x->bounds[k].kind == MX_SHARED) x->bounds[k].host += (uint64_t)(b->shared - x->window[MX_SHARED]);
    x->window[MX_SHARED] = b->shared;
  }
  if (!b->local && atomic_load_explicit(&b->launch->uses_local, memory_order_relaxed) && !map_local(b))
    for (uint32_t k = 0; k < x->prep->nbounds; k++)
      if (x->bounds[k].kind == MX_LOCAL) x->bounds[k] = (struct mx_bounds){0}; /* asked for again at the next access */
  for (unsigned d = 0; d < 3; d++) x->sreg[MX_SR_CTAID_X + d] = x->sreg[MX_SR_CLUSTERID_X + d] = b->ctaid[d];
  if (b->nmembers == 1) return;
  for (unsigned d = 0; d < 3; d++) {
    x->sreg[MX_SR_CLUSTERID_X + d] = b->ctaid[d] / b->launch->cluster[d];
    x->sreg[MX_SR_CLUSTER_CTAID_X + d] = b->ctaid[d] % b->launch->cluster[d];
  }
  x->sreg[MX_SR_CLUSTER_CTARANK] = b->rank;
}

uint64_t mx__block_lanes(const struct mx_block *b, uint32_t w) {
  const struct mx_launch *l = b->launch;
  const uint32_t left = l->threads - w * l->lanes, n = left < l->lanes ? left : l->lanes;
  return n == 64 ? UINT64_MAX : (1ull << n) - 1;
}
bool mx__block_begin_warps(struct mx_exec *x, struct mx_block *b, uint32_t w) {
  for (; w < b->nwarps; w++) {
    struct mx_frame *f = mx__frame_first(x, 0, true);
    if (!f) return false;
    mx__warp_begin(&b->warps[w], mx__block_lanes(b, w), f);
    x->stats.warps++;
  }
  b->begun = b->nwarps;
  return true;
}

bool mx__block_yields(struct mx_block *b, const struct mx_taken *then) {
  if (++b->passes < MX_TURN_PASSES) return false;
  b->passes = 0;
  return b->nmembers > 1 || mx__schedule_waits(b->launch, then);
}

/* A warp's turn in this round has ended; `ran`: something was executed in it. */
static void note_turn(struct mx_block *b, enum mx_turn turn, bool ran) {
  b->round.alive |= turn != MX_TURN_DONE;
  b->round.spun |= turn == MX_TURN_SPUN;
  b->round.went_on |= turn == MX_TURN_DONE || (turn == MX_TURN_BLOCKED && ran);
}

/* All warps in compiled code alone, from the block's beginning, with `code`, or from where they stand together: NULL.
 * True: the block's turn is over, as *status says; else that of warp b->round.warp is, as *turn says. */
static bool compiled(struct mx_exec *x, struct mx_block *b, struct mx_jit_code *code, struct mx_taken *then,
                     enum mx_turn *turn, enum mx_block_status *status) {
  do {
    uint32_t w;
    const struct mx_insn *i;
    const uint64_t before = x->steps;
    const enum mx_block_exit left_by =
        code ? mx__compiled_block_run(x, b, code, then, &w, &i) : mx__compiled_block_resume(x, b, then, &w, &i);
    code = NULL;
    if (b->launch->debug)
      b->launch->hooks->ran_compiled(b->launch->debug, x, x->steps - before, left_by == MX_BLOCK_EXIT_MACHINE && !i);
    switch (left_by) {
    case MX_BLOCK_EXIT_DONE: return *status = MX_BLOCK_DONE, true;
    case MX_BLOCK_EXIT_STOPPED: return *status = MX_BLOCK_STOPPED, true;
    case MX_BLOCK_EXIT_PAUSES: return b->round.warp = w + 1, *status = MX_BLOCK_STOPPED, true;
    case MX_BLOCK_EXIT_YIELDS: return *status = MX_BLOCK_YIELDED, true;
    case MX_BLOCK_EXIT_MACHINE: break;
    }
    b->round.warp = w;
    *turn = mx__warp_go_on(x, &b->warps[w], i);
  } while (*turn == MX_TURN_ALL_ARRIVED);
  *status = MX_BLOCK_STOPPED;
  return *turn == MX_TURN_STOPPED;
}
/* Block b of a unit goes on until nothing in it does: then MX_BLOCK_PARKED. */
static enum mx_block_status go(struct mx_exec *x, struct mx_block *b, struct mx_taken *then) {
  enum mx_block_status status;
  enum mx_turn turn;
  mx__block_enter(x, b);
  if (!b->started) {
    struct mx_jit_code *code = mx__compiled_block_code(x);
    b->started = true;
    if (code) {
      b->leader->pass.went_on = true;
      if (compiled(x, b, code, then, &turn, &status)) return status;
      note_turn(b, turn, true);
      b->round.warp++; /* the rest of that round */
    } else if (!mx__block_begin_warps(x, b, 0)) {
      mx__launch_stop(b->launch, MX_STOP_HOST_MEMORY);
      return MX_BLOCK_STOPPED;
    }
  }
  for (;;) {
    for (; b->round.warp < b->nwarps; b->round.warp++) {
      struct mx_warp *warp = &b->warps[b->round.warp];
      if (!warp->live) continue;
      if (b->launch->debug) b->launch->hooks->turn(b->launch->debug, x, b);
      uint64_t before = x->steps;
      turn = mx__warp_run(x, warp);
      if (turn == MX_TURN_ALL_ARRIVED && compiled(x, b, NULL, then, &turn, &status)) return status;
      if (turn == MX_TURN_STOPPED) return MX_BLOCK_STOPPED;
      note_turn(b, turn, x->steps != before);
    }
    const bool alive = b->round.alive, went_on = b->round.went_on, spun = b->round.spun;
    memset(&b->round, 0, sizeof b->round);
    if (!alive) return MX_BLOCK_DONE;
    b->leader->pass.went_on |= went_on;
    b->leader->pass.spun |= !went_on && spun;
    if (!went_on) return MX_BLOCK_PARKED;
    mx__async_round(x, b->leader);
    if (mx__block_yields(b, then)) return MX_BLOCK_YIELDED;
  }
}
/* Each block of the unit, in a pass over them, until nothing in it goes on. False: stopped. */
static bool pass(struct mx_exec *x, struct mx_block *leader, struct mx_taken *then) {
  struct mx_taken none = {0};
  for (; leader->pass.member < leader->nmembers; leader->pass.member++) {
    struct mx_block *b = leader->members[leader->pass.member];
    if (b->ended) continue;
    mx__cluster_recheck(leader); /* compiled code has not looked when lanes ended */
    const enum mx_block_status status = go(x, b, leader->nmembers > 1 ? &none : then);
    if (status == MX_BLOCK_STOPPED) return false;
    leader->pass.yielded |= status == MX_BLOCK_YIELDED;
    leader->pass.alive |= status != MX_BLOCK_DONE;
    leader->pass.went_on |= status == MX_BLOCK_DONE;
    if (status != MX_BLOCK_DONE) continue;
    b->ended = true;
    if (!mx__async_end(b)) return false;
    MX_TELL(b->launch, block_ended, x, b);
  }
  return true;
}
static enum mx_block_status run(struct mx_exec *x, struct mx_block *leader, struct mx_taken *then) {
  const bool alone = leader->nmembers == 1;
  if (leader->time_over) mx__mbarrier_time_out(leader);
  for (;;) {
    if (!pass(x, leader, then)) return MX_BLOCK_STOPPED;
    const bool alive = leader->pass.alive, yielded = leader->pass.yielded, spun = leader->pass.spun,
               went_on = leader->pass.went_on;
    memset(&leader->pass, 0, sizeof leader->pass);
    if (!alive) return MX_BLOCK_DONE;
    if (yielded && (alone || mx__schedule_waits(leader->launch, then))) return MX_BLOCK_YIELDED;
    if (went_on && !alone) continue; /* the last thing that a block did may have been for one before it */
    if (mx__async_land_wanted(x, leader)) {
      if (atomic_load_explicit(x->stop, memory_order_relaxed) != MX_STOP_NOT)
        return MX_BLOCK_STOPPED; /* a copy that lands may trap */
      continue;
    }
    bool released = false;
    if (spun && ++leader->spins < MX_SPIN_LIMIT) return MX_BLOCK_PARKED;
    leader->spins = 0;
    for (uint32_t k = 0; k < leader->nmembers; k++)
      for (uint32_t w = 0; w < leader->members[k]->nwarps; w++) {
        struct mx_warp *warp = &leader->members[k]->warps[w];
        if (warp->live) released |= mx__warp_release(x, warp, true);
      }
    if (released) continue;
    if (mx__mbarrier_time_over(leader) || spun) return MX_BLOCK_PARKED;
    mx__report_stuck(x, leader);
    return MX_BLOCK_STOPPED;
  }
}
enum mx_block_status mx__block_run(struct mx_exec *x, struct mx_block *b, struct mx_taken *then) {
  struct mx_block *leader = b->leader;
  for (;;) {
    const enum mx_block_status status = run(x, leader, then);
    if (status != MX_BLOCK_DONE || then->next == then->end) return status;
    if (atomic_load_explicit(x->stop, memory_order_relaxed) != MX_STOP_NOT) return status;
    mx__block_start(leader, then->next++);
  }
}

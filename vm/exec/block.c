/* A block as an object: its memory, its beginning and its end. turns.c runs its warps. */
#include "block.h"

#include "async.h"
#include "hooks.h"
#include "launch.h"
#include "warp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t align_up(size_t n, size_t a) { return (n + a - 1) / a * a; }

/* ---- memory -----------------------------------------------------------------------------------------------*/
/* One allocation holds warps, thread numbers, barrier counts and shared memory. */
static struct mx_block *member_new(struct mx_launch *l) {
  struct mx_block *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  b->leader = b;
  b->launch = l;
  b->nwarps = l->warps;
  size_t warps = align_up(sizeof(struct mx_warp) * b->nwarps, 64), tids = (size_t)b->nwarps * l->lanes * 4;
  /* compiled code may read two vectors from an element on */
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
  if (l->debug && !mx__block_map_local(b)) return mx__block_free(b), NULL; /* a session may look at it at any time */
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
/* The coordinates of block number `number` of a grid. */
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
  mx__async_end(b); /* needed where compiled code goes from block to block by itself */
  mx__async_clear(b);
  if (l->debug) l->hooks->clears(l->debug, b);
  if (l->shared_bytes) memset(b->shared, 0, l->shared_bytes);
  MX_TELL(l, block_starts, b);
}
void mx__block_start(struct mx_block *leader, uint64_t unit) {
  memset(&leader->pass, 0, sizeof leader->pass);
  for (uint32_t k = 0; k < leader->nmembers; k++) member_start(leader->members[k], unit);
}

static void show_place(struct mx_exec *x, const struct mx_block *b) {
  for (unsigned d = 0; d < 3; d++) x->sreg[MX_SR_CTAID_X + d] = x->sreg[MX_SR_CLUSTERID_X + d] = b->ctaid[d];
}
void mx__block_follow(struct mx_exec *x, struct mx_block *b) {
  const struct mx_launch *l = b->launch;
  b->unit = ++b->index;
  if (++b->ctaid[0] == l->grid[0]) place_in(l->grid, b->index, b->ctaid);
  show_place(x, b);
  b->spins = b->passes = b->timeouts = x->naps = 0;
  b->time_over = false;
  memset(&b->round, 0, sizeof b->round);
  if (l->shared_bytes) memset(b->shared, 0, l->shared_bytes);
}

void mx__block_enter(struct mx_exec *x, struct mx_block *b) {
  x->naps = 0;
  x->block = b;
  if (x->window[MX_SHARED] != b->shared) { /* another block's object */
    for (uint32_t k = 0; k < x->prep->nbounds; k++)
      if (x->bounds[k].kind == MX_SHARED) x->bounds[k].host += (uint64_t)(b->shared - x->window[MX_SHARED]);
    x->window[MX_SHARED] = b->shared;
  }
  if (!b->local && atomic_load_explicit(&b->launch->uses_local, memory_order_relaxed) && !mx__block_map_local(b))
    for (uint32_t k = 0; k < x->prep->nbounds; k++)
      if (x->bounds[k].kind == MX_LOCAL) x->bounds[k] = (struct mx_bounds){0}; /* looked up again at the next access */
  show_place(x, b);
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

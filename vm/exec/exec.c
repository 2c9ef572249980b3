/* The context of a worker for a launch: made before the worker's first block; after the last one its counts are added
 * to the launch's. */
#include "exec.h"

#include "access.h"
#include "hooks.h"
#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* Lane masks of %lanemask_*, the same for every warp. */
struct lane_tables {
  uint32_t laneid[MX_MAX_LANES], m32[MX_LANE_MASKS][MX_MAX_LANES];
  uint64_t m64[MX_LANE_MASKS][MX_MAX_LANES];
};

static void set_uniform_registers(struct mx_exec *x) {
  const struct mx_launch *l = x->launch;
  for (unsigned d = 0; d < 3; d++) {
    x->sreg[MX_SR_NTID_X + d] = l->block[d];
    x->sreg[MX_SR_NCTAID_X + d] = l->grid[d];
    x->sreg[MX_SR_NCLUSTERID_X + d] = l->grid[d] / l->cluster[d];
    x->sreg[MX_SR_CLUSTER_NCTAID_X + d] = l->cluster[d];
  }
  x->sreg[MX_SR_CLUSTER_NCTARANK] = l->cluster_blocks;
  x->sreg[MX_SR_IS_EXPLICIT_CLUSTER] = l->explicit_cluster;
  x->sreg[MX_SR_NWARPID] = (MX_MAX_BLOCK_THREADS + l->lanes - 1) / l->lanes;
  x->sreg[MX_SR_NSMID] = 1;
  x->sreg[MX_SR_GRIDID] = l->grid_id;
  x->sreg[MX_SR_DYNAMIC_SMEM_SIZE] = l->shared_dynamic;
  x->sreg[MX_SR_TOTAL_SMEM_SIZE] = x->sreg[MX_SR_AGGR_SMEM_SIZE] = l->shared_bytes;
  x->sreg[MX_SR_ENVREG1] = l->workspace >> 32;
  x->sreg[MX_SR_ENVREG2] = (uint32_t)l->workspace;
}

bool mx__exec_init(struct mx_exec *x, struct mx_launch *l) {
  memset(x, 0, sizeof *x);
  x->launch = l;
  x->prep = l->prep;
  x->lanes = l->lanes;
  x->full = l->lanes == 64 ? UINT64_MAX : UINT32_MAX;
  x->bounds = calloc(l->prep->nbounds ? l->prep->nbounds : 1, sizeof *x->bounds);
  struct lane_tables *t = x->lane_tables = malloc(sizeof *t);
  if (!x->bounds || !t || (l->probe && l->probe->begins && !l->probe->begins(x))) return mx__exec_done(x), false;
  mx__loops_begin(x);
  x->local_stride = l->local_bytes;
  x->tid_rows = l->block[0] % l->lanes == 0;
  x->stop = l->stop;
  for (unsigned n = 0; n < MX_ACCESS_SIZES; n++) mx__access_starts(x, l->shared_bytes, 1u << n, x->shared_starts[n]);
  x->window[MX_PARAM] = (unsigned char *)l->params;
  x->jit_off = l->jit == MX_JIT_OFF;
  x->stress = l->jit_stress != 0 && !x->jit_off;
  x->rng = l->jit_stress;
  for (unsigned n = 0; n < MX_MAX_LANES; n++) {
    t->laneid[n] = n;
    for (unsigned k = 0; k < MX_LANE_MASKS; k++)
      t->m64[k][n] = mx__lane_mask(k, n), t->m32[k][n] = (uint32_t)t->m64[k][n];
  }
  x->sreg_lanes32[MX_SR_LANEID] = t->laneid;
  for (unsigned k = 0; k < MX_LANE_MASKS; k++) {
    x->sreg_lanes32[MX_SR_LANEMASK_EQ + k] = t->m32[k];
    x->sreg_lanes64[MX_SR_LANEMASK_EQ_64 + k] = t->m64[k];
  }
  set_uniform_registers(x);
  return true;
}

void mx__exec_done(struct mx_exec *x) {
  struct mx_launch *l = x->launch;
  if (x->probed) l->probe->ends(x);
  mx__loops_end(x);
  mx__lock(&l->lock);
  l->stats.steps += x->steps;
  l->stats.steps_compiled += x->stats.steps_compiled;
  l->stats.warps += x->stats.warps;
  l->stats.warps_compiled += x->stats.warps_compiled;
  l->stats.warps_interpreted += x->stats.warps - x->stats.warps_compiled;
  l->stats.splits += x->stats.splits;
  l->stats.rejoins += x->stats.rejoins;
  l->stats.enters += x->stats.enters;
  l->stats.bodies += x->stats.bodies;
  for (unsigned k = 0; k < 8; k++) l->stats.exits[k] += x->stats.exits[k];
  for (unsigned k = 0; k < 16; k++) l->stats.pmevents[k] += x->stats.pmevents[k];
  mx__unlock(&l->lock);
  for (struct mx_frame *f = x->free_frames, *next; f; f = next) {
    next = f->parent;
    free(f);
  }
  free(x->bounds);
  free(x->spill_area);
  free(x->kept);
  free(x->kept_local);
  free(x->lane_tables);
}

/* ---- instructions executed ------------------------------------------------------------------------------------*/
uint64_t mx__add_steps(struct mx_exec *x) {
  struct mx_launch *l = x->launch;
  const uint64_t more = x->steps - x->steps_published,
                 all = atomic_fetch_add_explicit(&l->steps, more, memory_order_relaxed) + more;
  x->steps_published = x->steps;
  return all;
}
void mx__publish_steps(struct mx_exec *x) {
  struct mx_launch *l = x->launch;
  if (mx__add_steps(x) > l->steps_limit && l->steps_limit) mx__launch_stop(l, MX_STOP_STEPS);
  if (l->debug) l->hooks->went_on(l->debug, x);
}

/* The calls of mx/profile.h that read a profile. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

static mx_status give(void *out, const void *from, size_t size) {
  size_t known;
  if (!out) return MX_INVALID_VALUE;
  memcpy(&known, out, sizeof known);
  if (known < sizeof known || known > size) return MX_INVALID_VALUE;
  memcpy(out, from, known);
  memcpy(out, &known, sizeof known);
  return MX_OK;
}

static uint64_t executed(const struct mx_count *c) {
  uint64_t n = 0;
  for (unsigned k = 0; k <= MX_MAX_LANES; k++) n += c->histogram[k];
  return n;
}
static uint64_t floating(const struct mx_profiled_insn *r, const struct mx_count *c) {
  return c->on * r->floating + executed(c) * r->floating_warp;
}

size_t mx_profile_kernel_count(mx_profile *p) {
  if (!p) return 0;
  mx__lock(&p->lock);
  const size_t n = p->nkernels;
  mx__unlock(&p->lock);
  return n;
}

/* Finds a kernel and leaves with the profile's lock held; NULL: there is no such kernel, and the lock is not held. */
static struct mx_profiled *find(mx_profile *p, size_t kernel) {
  if (!p) return NULL;
  mx__lock(&p->lock);
  if (kernel < p->nkernels) return p->kernels[kernel];
  mx__unlock(&p->lock);
  return NULL;
}

mx_status mx_profile_get_kernel(mx_profile *p, size_t kernel, mx_profile_kernel *out) {
  struct mx_profiled *k = find(p, kernel);
  if (!k) return p ? MX_NOT_FOUND : MX_INVALID_VALUE;
  mx_profile_kernel o = k->total;
  o.name = k->name;
  o.lanes = k->lanes;
  o.functions = k->nfuncs;
  o.instructions = k->ninsns;
  if (!o.blocks) o.block_least = o.warp_least = 0;
  for (size_t n = 0; n < k->ninsns; n++) {
    const struct mx_count *c = &k->counts[n];
    o.executed += executed(c);
    o.executed_compiled += c->compiled;
    o.floating += floating(&k->insns[n], c);
    o.bytes += c->bytes;
  }
  mx__unlock(&p->lock);
  return give(out, &o, sizeof o);
}

static uint64_t active(const struct mx_count *c) {
  uint64_t n = 0;
  for (unsigned k = 1; k <= MX_MAX_LANES; k++) n += k * c->histogram[k];
  return n;
}
/* Computes idle_lanes: the lanes that wait while an instruction runs count for the branch at which they diverged. Kept
 * until another launch adds counts. */
static void find_idle_lanes(struct mx_profiled *k) {
  if (k->idle_lanes) return;
  uint32_t *of = mx__profile_causes(k);
  if (!of || !(k->idle_lanes = calloc(k->ninsns + 1, sizeof *k->idle_lanes))) return free(of);
  for (size_t n = 0; n < k->ninsns; n++)
    if (of[n] != UINT32_MAX) k->idle_lanes[of[n]] += k->counts[n].live - active(&k->counts[n]);
  free(of);
}

mx_status mx_profile_get_instruction(mx_profile *p, size_t kernel, size_t number, mx_profile_instruction *out) {
  struct mx_profiled *k = find(p, kernel);
  if (!k) return p ? MX_NOT_FOUND : MX_INVALID_VALUE;
  if (number >= k->ninsns) return mx__unlock(&p->lock), MX_NOT_FOUND;
  find_idle_lanes(k);
  const struct mx_profiled_insn *r = &k->insns[number];
  const struct mx_count *c = &k->counts[number];
  mx_profile_instruction o = {
      .function = r->function,
      .file = r->file,
      .line = r->line,
      .pc = r->pc,
      .instruction = r->name,
      .family = r->family,
      .guarded = r->guarded,
      .branch = r->branch,
      .executed = executed(c),
      .executed_compiled = c->compiled,
      .active = active(c),
      .on = c->on,
      .live = c->live,
      .splits = c->splits,
      .idle_lanes = k->idle_lanes ? k->idle_lanes[number] : 0,
      .waited = c->waited,
      .arrivals = c->arrivals,
      .floating = floating(r, c),
      .bytes = c->bytes,
      .sectors = c->sectors,
      .sectors_least = c->sectors_least,
      .passes_least = c->passes_least,
      .conflicts32 = c->conflicts32,
      .conflicts64 = c->conflicts64,
      .atomics = c->atomics,
      .same_address = c->same_address,
  };
  memcpy(o.histogram, c->histogram, sizeof o.histogram);
  memcpy(o.exits, c->exits, sizeof o.exits);
  mx__unlock(&p->lock);
  return give(out, &o, sizeof o);
}

size_t mx_profile_event_count(mx_profile *p) {
  if (!p) return 0;
  mx__lock(&p->lock);
  const size_t n = p->nevents;
  mx__unlock(&p->lock);
  return n;
}
mx_status mx_profile_get_event(mx_profile *p, size_t event, mx_profile_event *out) {
  if (!p) return MX_INVALID_VALUE;
  mx__lock(&p->lock);
  const bool there = event < p->nevents;
  const mx_profile_event e = there ? p->events[event] : (mx_profile_event){0};
  mx__unlock(&p->lock);
  return there ? give(out, &e, sizeof e) : MX_NOT_FOUND;
}

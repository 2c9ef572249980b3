/* The body of every instruction of a profiled launch, which counts and then calls the real one, and the functions of
 * struct mx_probe for blocks and barriers. Each worker counts for itself, so no locks are needed. */
#include "profile.h"

#include "facts.h"

#include "vm/exec/hooks.h"
#include "vm/exec/interp.h"
#include "vm/load/prepare.h"

#include <stdlib.h>
#include <string.h>

/* ---- instructions -----------------------------------------------------------------------------------------------*/
static uint32_t number_of(const struct mx_exec *x, const struct mx_insn *i) {
  return mx__profile_number(x->probed->of, x->fn, i);
}

static void show(const struct mx_block *b, uint32_t warp, mx_profile_event_kind kind, uint64_t begin, uint64_t end,
                 uint32_t at) {
  const struct mx_probed *of = b->launch->probed;
  const struct mx_profiled_insn *r = &of->kernel->insns[of->code->record[at]];
  mx__profile_event(of->profile, &(mx_profile_event){.kind = kind,
                                                     .launch = of->number,
                                                     .block = b->index,
                                                     .warp = warp,
                                                     .begin = begin,
                                                     .end = end,
                                                     .file = r->file,
                                                     .line = r->line});
}
/* The current warp's lanes are diverged from here on, or together again. */
void mx__profile_note_divergence(const struct mx_block *b, uint32_t warp, uint32_t at, bool diverged) {
  struct mx_probed_warp *w = &b->probed->warps[warp];
  if (w->diverged && !diverged) show(b, warp, MX_PROFILE_DIVERGED, w->diverged_since, w->clock, w->diverged_at);
  if (!w->diverged && diverged) w->diverged_since = w->clock, w->diverged_at = at;
  w->diverged = diverged;
}

/* Counts the bits of a mask, or remembers them: masks seldom change, and where no CPU level may be assumed counting
 * bits is a function call. */
uint32_t mx__profile_lanes(struct mx_counted *was, uint64_t mask) {
  if (was->mask != mask) *was = (struct mx_counted){mask, (uint32_t)__builtin_popcountll(mask)};
  return was->n;
}

const struct mx_insn *mx__profile_count(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_probed_worker *worker = x->probed;
  struct mx_probed_block *b = x->block->probed;
  struct mx_probed_warp *w = &b->warps[x->warp->number];
  const uint32_t number = number_of(x, i);
  struct mx_count *c = &worker->counts[number];
  const uint64_t mask = x->mask, on = mx__lanes_of(x, i), splits = x->stats.splits;
  const uint32_t n = mx__profile_lanes(&worker->active, mask);
  c->histogram[n]++;
  c->on += on == mask ? n : (uint64_t)__builtin_popcountll(on);
  c->live += mask == x->warp->live ? n : mx__profile_lanes(&worker->live, x->warp->live);
  if (b->shown) mx__profile_note_divergence(x->block, x->warp->number, number, x->mask != x->warp->live);
  w->clock++;
  const struct mx_fact *f = &worker->facts[i->op];
  if (f->kind && worker->patterns)
    mx__profile_access(x, i, f, on, mx__operand(x, mx__operand_ref(i, f->address)), false,
                       &worker->patterns[worker->of->code->access[number]], c);
  const struct mx_insn *next = x->fn->body_of[i - x->fn->insns](x, i);
  c->splits += x->stats.splits - splits;
  return next;
}

/* ---- blocks and barriers ------------------------------------------------------------------------------------------*/
bool mx__profile_block_new(struct mx_block *b) {
  const size_t arrivals = (size_t)(MX_BARRIERS + 1) * b->nwarps;
  struct mx_probed_block *p = calloc(1, sizeof *p + arrivals * sizeof *p->arrivals + b->nwarps * sizeof *p->warps);
  if (!p) return false;
  p->arrivals = p->memory;
  p->warps = (struct mx_probed_warp *)(p->memory + arrivals);
  b->probed = p;
  return true;
}
void mx__profile_block_free(struct mx_block *b) {
  free(b->probed);
  b->probed = NULL;
}
void mx__profile_block_starts(struct mx_block *b) {
  struct mx_probed_block *p = b->probed;
  const struct mx_probed *of = b->launch->probed;
  p->shown = b->index < of->timeline;
  if (p->shown) clock_gettime(CLOCK_MONOTONIC, &p->begun);
  memset(p->warps, 0, b->nwarps * sizeof *p->warps);
  memset(p->arrivals, 0, (size_t)(MX_BARRIERS + 1) * b->nwarps * sizeof *p->arrivals);
}
void mx__profile_block_ended(struct mx_exec *x, struct mx_block *b) {
  struct mx_probed_worker *worker = x->probed;
  const struct mx_probed *of = worker->of;
  struct mx_probed_block *p = b->probed;
  mx_profile_kernel *t = &worker->total;
  uint64_t all = 0;
  for (uint32_t w = 0; w < b->nwarps; w++) {
    const uint64_t clock = p->warps[w].clock;
    mx__most(&all, clock), mx__least(&t->warp_least, clock), mx__most(&t->warp_most, clock);
    t->warp_sum += clock;
    if (!p->shown) continue;
    mx__profile_note_divergence(b, w, 0, false);
    mx__profile_event(
        of->profile,
        &(mx_profile_event){.kind = MX_PROFILE_WARP, .launch = of->number, .block = b->index, .warp = w, .end = clock});
  }
  mx__least(&t->block_least, all), mx__most(&t->block_most, all);
  t->block_sum += all;
  t->blocks++;
  t->warps += b->nwarps;
  if (!p->shown) return;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  mx__profile_event(of->profile, &(mx_profile_event){.kind = MX_PROFILE_BLOCK,
                                                     .launch = of->number,
                                                     .block = b->index,
                                                     .worker = worker->number,
                                                     .end = all,
                                                     .begin_ns = mx__profile_ns(of->profile, &p->begun),
                                                     .end_ns = mx__profile_ns(of->profile, &now)});
}

void mx__profile_arrives(struct mx_exec *x, const struct mx_insn *i, uint32_t number, bool waits) {
  struct mx_probed_block *b = x->block->probed;
  const uint32_t w = x->warp->number;
  struct mx_probed_arrival *a = &b->arrivals[(size_t)number * x->block->nwarps + w];
  if (a->there && !a->waits && waits) a->waits = true; /* it has arrived before, and comes to wait */
  else *a = (struct mx_probed_arrival){b->warps[w].clock, number_of(x, i), true, waits};
  if (waits || number != MX_CLUSTER_BARRIER) x->probed->counts[number_of(x, i)].arrivals++;
}
/* A barrier has opened: the clock of all warps that waited becomes that of the last one to arrive. At a cluster's
 * barrier that is the last one of all its blocks; a warp that only arrived, and did not wait, keeps its clock. */
void mx__profile_released(struct mx_block *block, uint32_t number) {
  struct mx_probed_block *b = block->probed;
  struct mx_probed *of = block->launch->probed;
  struct mx_probed_arrival *a = &b->arrivals[(size_t)number * block->nwarps];
  uint64_t last = 0, waited = 0;
  for (uint32_t w = 0; w < block->nwarps; w++)
    if (a[w].there) mx__most(&last, a[w].clock);
  for (uint32_t k = 0; number == MX_CLUSTER_BARRIER && k < block->nmembers; k++)
    for (uint32_t w = 0; w < block->nwarps; w++)
      mx__most(&last, block->leader->members[k]->probed->arrivals[(size_t)number * block->nwarps + w].clock);
  for (uint32_t w = 0; w < block->nwarps; w++) {
    a[w].there &= a[w].waits;
    if (!a[w].there) continue;
    waited += last - a[w].clock;
    mx__most(&b->warps[w].clock, last);
    if (b->shown && last > a[w].clock) show(block, w, MX_PROFILE_WAIT, a[w].clock, last, a[w].at);
  }
  if (waited) {
    mx__lock(&of->profile->lock);
    for (uint32_t w = 0; w < block->nwarps; w++)
      if (a[w].there) of->waited[a[w].at] += last - a[w].clock;
    of->total.waited += waited;
    mx__unlock(&of->profile->lock);
  }
  for (uint32_t w = 0; w < block->nwarps; w++) a[w].there = false;
}

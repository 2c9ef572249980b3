/* Converts the counts of compiled code. It counts executions of blocks of code, by the number of active lanes
 * (jit/compiler/counters.c); the interpreter counts executions of instructions. Blocks become instructions when the
 * launch ends; only a block that was left before its end is converted at once, since part of it has run. */
#include "profile.h"

#include "facts.h"

#include "vm/exec/hooks.h"
#include "vm/exec/warp.h"

#include <stdlib.h>

static size_t row_of(const struct mx_jit_counted *c) { return (size_t)c->nblocks + c->nguards; }

/* Number of an instruction among all that is counted. */
static uint32_t number_of(const struct mx_probed *of, const struct mx_jit_counted_ins *i) {
  const struct mx_pfunc *fn = &of->code->prep->funcs[i->func];
  const struct mx_insn *at = mx__at(fn, i->pc);
  return mx__profile_number(of, fn, at->kind == MX_INSN_JOIN ? at + 1 : at);
}
static struct mx_probed_warp *warp_of(const struct mx_exec *x) { return &x->block->probed->warps[x->warp->number]; }

/* For each instruction of the code that accesses memory: what mx__profile_access needs. */
static bool find_accesses(const struct mx_probed_worker *worker, const struct mx_jit_code *code,
                          struct mx_compiled_counts *c) {
  if (!(c->accesses = calloc(code->counted->nins + 1, sizeof *c->accesses))) return false;
  for (uint32_t k = 0; k < code->counted->nins; k++) {
    const struct mx_jit_counted_ins *i = &code->counted_insns[k];
    if (i->pc == UINT32_MAX) continue;
    const struct mx_pfunc *fn = &worker->of->code->prep->funcs[i->func];
    const uint32_t number = number_of(worker->of, i);
    const struct mx_insn *insn = &fn->insns[number - worker->of->code->first[i->func]];
    if (worker->of->code->access[number] == UINT32_MAX) continue;
    c->accesses[k] = (struct mx_compiled_access){insn, &worker->facts[insn->op], &worker->counts[number],
                                                 &worker->patterns[worker->of->code->access[number]]};
  }
  return true;
}
bool mx__profile_enters(struct mx_exec *x, struct mx_jit_state *s, const struct mx_insn *i) {
  struct mx_probed_worker *worker = x->probed;
  const struct mx_jit_counted *counted = s->code->counted;
  struct mx_compiled_counts *c = &worker->compiled[x->fn->number];
  uint64_t **rows = &c->by_live[mx__profile_lanes(&worker->live, x->warp->live)];
  if (!c->sums && !(c->sums = calloc(2 * (size_t)counted->nguards + 1, 8))) return false;
  if (!*rows && !(*rows = calloc((MX_MAX_LANES + 1) * row_of(counted), 8))) return false;
  if (!c->accesses && x->launch->counts > 1 && !find_accesses(worker, s->code, c)) return false;
  c->code = s->code;
  s->counts = *rows;
  s->sums = c->sums;
  s->shown = x->block->probed->shown;
  if (s->shown)
    mx__profile_note_divergence(x->block, x->warp->number, i ? mx__profile_number(worker->of, x->fn, i) : 0,
                                x->mask != x->warp->live);
  return true;
}

/* Counts the instructions of a block that were executed before code was left in it. */
static void count_part(struct mx_exec *x, const struct mx_jit_code *code, const struct mx_jit_counted_site *site,
                       uint64_t mask) {
  const struct mx_probed_worker *worker = x->probed;
  const uint32_t n = (uint32_t)__builtin_popcountll(mask), live = (uint32_t)__builtin_popcountll(x->warp->live),
                 first = code->counted_blocks[site->block].first;
  for (uint32_t k = first; k < first + site->done; k++) {
    const struct mx_jit_counted_ins *i = &code->counted_insns[k];
    if (i->pc == UINT32_MAX) continue;
    struct mx_count *c = &worker->counts[number_of(worker->of, i)];
    c->histogram[n]++;
    c->live += live;
    c->compiled++;
    if (!i->guard) c->on += n;
  }
}
void mx__profile_ran(struct mx_exec *x, uint32_t kind, const struct mx_jit_state *s) {
  const struct mx_jit_code *code = s->code;
  warp_of(x)->clock += s->steps;
  if (kind == MX_JIT_BARRIER) {
    const struct mx_insn *i = mx__at(x->fn, s->pc);
    mx__profile_arrives(x, i->kind == MX_INSN_JOIN ? i + 1 : i, 0, true);
  }
  if (kind < MX_JIT_SITE) return;
  const struct mx_jit_site *site = &code->sites[kind - MX_JIT_SITE];
  warp_of(x)->clock += site->steps;
  count_part(x, code, &code->counted_sites[kind - MX_JIT_SITE],
             site->mask ? mx__jit_mask(code->table, s->spill_area + site->mask) : x->mask);
  for (uint32_t k = 0; k < site->nhidden; k++) {
    const struct mx_jit_hidden *h = &code->hidden[site->first_hidden + k];
    x->probed->reported_splits += h->what != MX_JIT_EXPECTED && mx__jit_mask(code->table, s->spill_area + h->mask);
  }
}
void mx__profile_diverged(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps,
                          uint32_t block) {
  const struct mx_jit_code *code = s->code;
  const struct mx_jit_counted_block *b = &code->counted_blocks[block];
  uint32_t k = b->first;
  while (k + 1 < code->counted->nins && code->counted_insns[k].pc == UINT32_MAX) k++;
  const uint64_t clock = warp_of(x)->clock;
  warp_of(x)->clock += steps;
  mx__profile_note_divergence(x->block, x->warp->number, number_of(x->probed->of, &code->counted_insns[k]),
                              mask != x->warp->live);
  warp_of(x)->clock = clock;
}
uint32_t mx__profile_accessed(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask,
                              uint64_t number, uint32_t one) {
  (void)s;
  const struct mx_compiled_access *a = &x->probed->compiled[x->fn->number].accesses[ins];
  mx__profile_access(x, a->insn, a->fact, mask, one ? (const void *)&number : x->tmp, one, a->last, a->counts);
  return 1;
}
void mx__profile_left(struct mx_exec *x, enum mx_exit_reason why, const struct mx_insn *i) {
  if (!i) return;
  if (i->kind == MX_INSN_JOIN) i++;
  x->probed->counts[mx__profile_number(x->probed->of, x->fn, i)].exits[why]++;
}

/* ---- what a worker has counted ----------------------------------------------------------------------------------*/
/* The record of an instruction. */
static struct mx_count *record_of(struct mx_count *records, const struct mx_probed *of,
                                  const struct mx_jit_counted_ins *i) {
  return &records[of->code->record[number_of(of, i)]];
}
/* Takes the counters of executions with n active lanes, in warps of which `live` lanes had not ended. */
static void take_row(struct mx_count *records, const struct mx_probed *of, const struct mx_jit_code *code,
                     const uint64_t *row, uint32_t n, uint32_t live) {
  for (uint32_t b = 0; b < code->counted->nblocks; b++)
    for (uint32_t k = code->counted_blocks[b].first; row[b] && k < code->counted_blocks[b].end; k++) {
      const struct mx_jit_counted_ins *i = &code->counted_insns[k];
      if (i->pc == UINT32_MAX) continue;
      struct mx_count *c = record_of(records, of, i);
      c->histogram[n] += row[b];
      c->compiled += row[b];
      c->live += row[b] * live;
      if (!i->guard) c->on += row[b] * n;
    }
  for (uint32_t k = 0; k < code->counted->nins; k++) {
    const struct mx_jit_counted_ins *i = &code->counted_insns[k];
    const uint64_t times = i->guard ? row[code->counted->nblocks + i->guard - 1] : 0;
    if (times) record_of(records, of, i)->on += times * n;
  }
}
static void take_sums(struct mx_count *records, const struct mx_probed *of, const struct mx_compiled_counts *c) {
  for (uint32_t k = 0; k < c->code->counted->nins; k++) {
    const struct mx_jit_counted_ins *i = &c->code->counted_insns[k];
    if (!i->guard) continue;
    record_of(records, of, i)->on += c->sums[2 * (size_t)(i->guard - 1)];
    record_of(records, of, i)->splits += c->sums[2 * (size_t)(i->guard - 1) + 1];
  }
}
void mx__profile_take_compiled(const struct mx_probed_worker *worker, struct mx_count *records) {
  for (uint32_t f = 0; f < worker->of->code->prep->nfuncs; f++) {
    const struct mx_compiled_counts *c = &worker->compiled[f];
    for (uint32_t live = 0; live <= MX_MAX_LANES; live++) {
      const uint64_t *row = c->by_live[live];
      for (uint32_t n = 0; row && n <= MX_MAX_LANES; n++, row += row_of(c->code->counted))
        take_row(records, worker->of, c->code, row, n, live);
    }
    if (c->code) take_sums(records, worker->of, c);
  }
}
/* Splits that happened inside compiled code and that the machine does not know. Each divergent branch makes one group
 * of lanes more. The groups that existed when code was left have been reported to the machine, which counted them as
 * splits; all others have come together again inside the code, so this is also the number of those rejoins. */
uint64_t mx__profile_compiled_splits(const struct mx_probed_worker *worker) {
  uint64_t splits = 0;
  for (uint32_t f = 0; f < worker->of->code->prep->nfuncs; f++) {
    const struct mx_compiled_counts *c = &worker->compiled[f];
    for (uint32_t g = 0; c->code && g < c->code->counted->nguards; g++) splits += c->sums[2 * (size_t)g + 1];
  }
  return splits - worker->reported_splits;
}

/* Creates and clears profiles, prepares the launches that add to them, and adds their counts. A profile keeps records
 * of kernels that do not depend on their modules, which may be unloaded before anybody reads the profile. */
#include "profile.h"

#include "facts.h"

#include "vm/exec/hooks.h"
#include "vm/load/prepare.h"

#include <stdlib.h>
#include <string.h>

/* ---- profiles -----------------------------------------------------------------------------------------------------*/
mx_status mx_profile_create(const mx_profile_options *options, mx_profile **profile) {
  mx_profile_options o = MX_PROFILE_OPTIONS_INIT;
  if (!profile || (options && (options->struct_size < sizeof o.struct_size || options->struct_size > sizeof o)))
    return MX_INVALID_VALUE;
  if (options) memcpy(&o, options, options->struct_size);
  mx_profile *p = *profile = calloc(1, sizeof *p);
  if (!p) return MX_OUT_OF_MEMORY;
  p->options = o;
  mx__lock_init(&p->lock, MX_LOCK_PROFILE);
  clock_gettime(CLOCK_MONOTONIC, &p->made);
  return MX_OK;
}

static void kernel_free(struct mx_profiled *k) {
  for (size_t n = 0; n < k->nstrings; n++) free(k->strings[n]);
  for (size_t n = 0; k->insns && n < k->ninsns; n++) free(k->insns[n].targets);
  free(k->strings);
  free(k->insns);
  free(k->counts);
  free(k->idle_lanes);
  free(k->name);
  free(k);
}
void mx_profile_clear(mx_profile *p) {
  if (!p) return;
  mx__lock(&p->lock);
  for (size_t k = 0; k < p->nkernels; k++) kernel_free(p->kernels[k]);
  free(p->kernels);
  free(p->events);
  p->kernels = NULL, p->events = NULL;
  p->nkernels = p->nevents = p->room = 0;
  p->launches = 0;
  mx__unlock(&p->lock);
}
void mx_profile_destroy(mx_profile *p) {
  if (!p) return;
  mx_profile_clear(p);
  mx__lock_done(&p->lock);
  free(p);
}

/* ---- what is kept of a kernel ------------------------------------------------------------------------------------*/
static uint64_t add_bytes(uint64_t h, const void *bytes, size_t n) {
  for (size_t k = 0; k < n; k++) h = (h ^ ((const unsigned char *)bytes)[k]) * 1099511628211u;
  return h;
}
static uint64_t digest_of(const struct mx_prepared *prep) {
  uint64_t h = 14695981039346656037u;
  for (uint32_t f = 0; f < prep->nfuncs; f++) {
    const struct mx_func *func = prep->funcs[f].func;
    if (!prep->funcs[f].insns) continue;
    h = add_bytes(h, &f, sizeof f);
    h = add_bytes(h, func->name, strlen(func->name) + 1);
    h = add_bytes(h, func->code, func->ncode * sizeof *func->code);
    for (uint32_t k = 0; k < func->nlines; k++) {
      const struct mx_line *l = &func->lines[k];
      h = add_bytes(h, &l->pc, sizeof l->pc);
      h = add_bytes(h, &l->line, sizeof l->line);
      h = add_bytes(h, prep->image->files[l->file], strlen(prep->image->files[l->file]) + 1);
    }
  }
  return h;
}

/* A copy of the text that belongs to k, one for equal texts; NULL: out of memory, or text is NULL. */
static const char *keep(struct mx_profiled *k, const char *text) {
  if (!text) return NULL;
  for (size_t n = k->nstrings; n--;)
    if (!strcmp(k->strings[n], text)) return k->strings[n];
  char **more = realloc(k->strings, (k->nstrings + 1) * sizeof *more);
  if (!more) return NULL;
  k->strings = more;
  return (more[k->nstrings] = strdup(text)) ? more[k->nstrings++] : NULL;
}

/* The number of the record for the instruction at index `at`; where a join stands there, which is no instruction of the
 * program, of the one behind it. */
static uint32_t record_at(const struct mx_probed *of, const struct mx_pfunc *fn, uint32_t at) {
  if (at < fn->ninsns && fn->insns[at].kind == MX_INSN_JOIN) at++;
  return at < fn->ninsns ? of->code->record[of->code->first[fn->number] + at] : UINT32_MAX;
}
static uint32_t record_of_pc(const struct mx_probed *of, const struct mx_pfunc *fn, uint32_t pc) {
  return pc < fn->func->ncode && fn->index_of_pc[pc] != UINT32_MAX ? record_at(of, fn, fn->index_of_pc[pc])
                                                                   : UINT32_MAX;
}
static bool add_targets(const struct mx_probed *of, const struct mx_pfunc *fn, const struct mx_insn *i,
                        struct mx_profiled_insn *r) {
  const struct mx_op_info *o = &mx__ops[i->op];
  r->reconv = UINT32_MAX;
  if (o->flags & MX_F_BRANCH) {
    if (!(r->targets = malloc(sizeof *r->targets))) return false;
    r->targets[r->ntargets++] = record_at(of, fn, i->index);
    r->reconv = record_of_pc(of, fn, i->reconv);
  } else if (i->op == MX_BRX) {
    const struct mx_table *t = &fn->func->tables[i->o[1]];
    if (!(r->targets = malloc((t->ntargets + 1) * sizeof *r->targets))) return false;
    for (; r->ntargets < t->ntargets; r->ntargets++)
      r->targets[r->ntargets] = record_of_pc(of, fn, t->targets[r->ntargets]);
    r->reconv = record_of_pc(of, fn, (uint32_t)i->o[2] | (uint32_t)i->o[3] << 10);
  }
  return true;
}

/* Fills in the records of function f. */
static bool add_records(struct mx_probed *of, struct mx_profiled *k, uint32_t f) {
  const struct mx_pfunc *fn = &of->code->prep->funcs[f];
  const char *function = keep(k, fn->func->name);
  if (!function) return false;
  for (uint32_t n = 0; n < fn->ninsns; n++) {
    const struct mx_insn *i = &fn->insns[n];
    if (i->kind != MX_INSN_OP) continue;
    const struct mx_op_info *o = &mx__ops[i->op];
    struct mx_profiled_insn *r = &k->insns[of->code->record[of->code->first[f] + n]];
    const char *file;
    char name[64];
    *r = (struct mx_profiled_insn){.function = function, .func = f, .pc = i->pc};
    mx__line_of(of->code->prep->image, f, i->pc, &file, &r->line);
    mx__spell(o, i->mod, name, sizeof name);
    r->file = keep(k, file);
    r->name = keep(k, name);
    r->family = mx__family(i->op);
    r->guarded = i->guard != MX_GUARD_NONE;
    r->branch = r->guarded && o->flags & MX_F_BRANCH;
    r->ends = o->flags & MX_F_END && !r->guarded;
    r->floating = mx__facts(i->op)->floating;
    r->floating_warp = mx__floating_of_warp(i->op, i->mod);
    if (!r->name || !add_targets(of, fn, i, r)) return false;
  }
  return true;
}
static struct mx_profiled *kernel_new(struct mx_probed *of, uint64_t digest) {
  const struct mx_prepared *prep = of->code->prep;
  struct mx_profiled *k = calloc(1, sizeof *k);
  if (!k) return NULL;
  k->digest = digest;
  k->lanes = prep->lanes;
  for (uint32_t f = 0; f < prep->nfuncs; f++)
    for (uint32_t n = 0; prep->funcs[f].insns && n < prep->funcs[f].ninsns; n++)
      k->ninsns += prep->funcs[f].insns[n].kind == MX_INSN_OP;
  k->name = strdup(prep->funcs[prep->kernel].func->name);
  k->insns = calloc(k->ninsns + 1, sizeof *k->insns);
  k->counts = calloc(k->ninsns + 1, sizeof *k->counts);
  k->total.block_least = k->total.warp_least = UINT64_MAX;
  bool good = k->name && k->insns && k->counts;
  for (uint32_t f = 0; good && f < prep->nfuncs; f++)
    if (prep->funcs[f].insns) good = add_records(of, k, f), k->nfuncs++;
  if (good) return k;
  kernel_free(k);
  return NULL;
}

/* ---- launches ----------------------------------------------------------------------------------------------------*/
static void worker_free(struct mx_probed_worker *w) {
  for (uint32_t f = 0; w->compiled && f < w->of->code->prep->nfuncs; f++) {
    for (uint32_t live = 0; live <= MX_MAX_LANES; live++) free(w->compiled[f].by_live[live]);
    free(w->compiled[f].sums);
    free(w->compiled[f].accesses);
  }
  free(w->counts);
  free(w->patterns);
  free(w->compiled);
  free(w);
}
static bool begins(struct mx_exec *x) {
  struct mx_probed *of = x->launch->probed;
  struct mx_probed_worker *w = calloc(1, sizeof *w);
  if (!w) return false;
  w->of = of;
  w->counts = calloc(of->code->ncounts + 1, sizeof *w->counts);
  w->compiled = calloc(of->code->prep->nfuncs + 1, sizeof *w->compiled);
  if (x->launch->counts > 1) {
    w->patterns = aligned_alloc(64, (of->code->naccesses + 1) * sizeof *w->patterns);
    for (size_t n = 0; w->patterns && n < of->code->naccesses; n++) w->patterns[n].mask = 0;
  }
  if (!w->counts || !w->compiled || (x->launch->counts > 1 && !w->patterns)) return worker_free(w), false;
  w->facts = mx__facts(0);
  w->total.block_least = w->total.warp_least = UINT64_MAX;
  w->number = atomic_fetch_add(&of->workers, 1);
  x->probed = w;
  return true;
}

static void ends(struct mx_exec *x) {
  struct mx_probed_worker *w = x->probed;
  struct mx_probed *of = w->of;
  const uint64_t splits = mx__profile_compiled_splits(w);
  x->stats.splits += splits, x->stats.rejoins += splits;
  mx__lock(&of->profile->lock);
  w->next = of->ended;
  of->ended = w;
  mx_profile_kernel *t = &of->total;
  mx__least(&t->block_least, w->total.block_least), mx__most(&t->block_most, w->total.block_most);
  mx__least(&t->warp_least, w->total.warp_least), mx__most(&t->warp_most, w->total.warp_most);
  t->block_sum += w->total.block_sum, t->warp_sum += w->total.warp_sum;
  t->blocks += w->total.blocks, t->warps += w->total.warps;
  mx__unlock(&of->profile->lock);
  x->probed = NULL;
}

static const struct mx_probe probe = {
    .body = mx__profile_count,
    .begins = begins,
    .ends = ends,
    .block_new = mx__profile_block_new,
    .block_free = mx__profile_block_free,
    .block_starts = mx__profile_block_starts,
    .block_ended = mx__profile_block_ended,
    .arrives = mx__profile_arrives,
    .released = mx__profile_released,
    .enters = mx__profile_enters,
    .ran = mx__profile_ran,
    .diverged = mx__profile_diverged,
    .left = mx__profile_left,
    .accessed = mx__profile_accessed,
};

static void probed_free(struct mx_probed *of) {
  for (struct mx_probed_worker *w = of->ended, *next; w; w = next) {
    next = w->next;
    worker_free(w);
  }
  free(of->waited);
  free(of);
}
void mx__profile_code_free(struct mx_profile_code *code) {
  if (!code) return;
  mx__prepared_free(code->prep);
  free(code->bodies);
  free(code->first);
  free(code->record);
  free(code->access);
  free(code);
}

/* Numbers all instructions, those that access memory, and records; the kernel's records come before those of other
 * functions, as mx_profile_get_instruction promises. */
static bool number(struct mx_profile_code *code) {
  const struct mx_prepared *prep = code->prep;
  code->first = calloc(prep->nfuncs + 1, sizeof *code->first);
  if (!code->first) return false;
  for (uint32_t f = 0; f < prep->nfuncs; f++) {
    code->first[f] = (uint32_t)code->ncounts;
    if (prep->funcs[f].insns) code->ncounts += prep->funcs[f].ninsns;
  }
  code->record = malloc((code->ncounts + 1) * sizeof *code->record);
  if (!code->record) return false;
  memset(code->record, 0xFF, (code->ncounts + 1) * sizeof *code->record);
  if (!(code->access = malloc((code->ncounts + 1) * sizeof *code->access))) return false;
  memset(code->access, 0xFF, (code->ncounts + 1) * sizeof *code->access);
  for (uint32_t f = 0; f < prep->nfuncs; f++)
    for (uint32_t n = 0; prep->funcs[f].insns && n < prep->funcs[f].ninsns; n++) {
      const struct mx_insn *i = &prep->funcs[f].insns[n];
      if (i->kind == MX_INSN_OP && mx__facts(i->op)->kind)
        code->access[code->first[f] + n] = (uint32_t)code->naccesses++;
    }
  uint32_t records = 0;
  for (int others = 0; others < 2; others++)
    for (uint32_t f = 0; f < prep->nfuncs; f++)
      for (uint32_t n = 0; (f != prep->kernel) == others && prep->funcs[f].insns && n < prep->funcs[f].ninsns; n++)
        if (prep->funcs[f].insns[n].kind == MX_INSN_OP) code->record[code->first[f] + n] = records++;
  return true;
}

static bool prepare(struct mx_profile_code *code, const struct mx_profile_launch *what) {
  const struct mx_level *real = mx__level(NULL);
  if (!(code->bodies = malloc(MX_OP_COUNT * sizeof *code->bodies))) return false;
  for (unsigned op = 0; op < MX_OP_COUNT; op++) code->bodies[op] = mx__profile_count;
  code->level = *real;
  code->level.bodies = code->level.unguarded = code->bodies;
  if (!(code->prep = mx__prepare(what->image, what->func, what->var_address, &code->level))) return false;
  code->prep->level = real; /* what else than bodies is taken from the level must be the real one's */
  for (uint32_t f = 0; f < code->prep->nfuncs; f++)
    for (uint32_t n = 0; n < code->prep->funcs[f].ninsns; n++) {
      const struct mx_insn *i = &code->prep->funcs[f].insns[n];
      if (i->kind == MX_INSN_OP)
        code->prep->funcs[f].body_of[n] = (i->guard == MX_GUARD_NONE ? real->unguarded : real->bodies)[i->op];
    }
  code->digest = digest_of(code->prep);
  return number(code);
}
static struct mx_profile_code *code_new(const struct mx_profile_launch *what) {
  struct mx_profile_code *code = calloc(1, sizeof *code);
  if (code && prepare(code, what)) return code;
  mx__profile_code_free(code);
  return NULL;
}

bool mx__profile_begin(mx_profile *p, const struct mx_profile_launch *what, struct mx_launch *l) {
  const unsigned counts = p->options.no_memory ? MX_COUNT_LANES : MX_COUNT_MEMORY;
  if (!what->code[counts] && !(what->code[counts] = code_new(what))) return false;
  struct mx_probed *of = calloc(1, sizeof *of);
  if (!of) return false;
  of->profile = p;
  of->code = what->code[counts];
  of->stream = what->stream;
  of->total.block_least = of->total.warp_least = UINT64_MAX;
  if (!(of->waited = calloc(of->code->ncounts + 1, sizeof *of->waited))) return probed_free(of), false;
  mx__lock(&p->lock);
  for (size_t k = 0; k < p->nkernels && !of->kernel; k++)
    if (p->kernels[k]->digest == of->code->digest) of->kernel = p->kernels[k];
  if (!of->kernel) {
    struct mx_profiled **more = realloc(p->kernels, (p->nkernels + 1) * sizeof *more);
    if (more) p->kernels = more, of->kernel = kernel_new(of, of->code->digest);
    if (of->kernel) p->kernels[p->nkernels++] = of->kernel;
  }
  of->number = p->launches++;
  of->timeline = p->options.timeline_blocks;
  mx__unlock(&p->lock);
  if (!of->kernel) return probed_free(of), false;
  l->prep = of->code->prep;
  l->probe = &probe;
  l->probed = of;
  l->counts = counts;
  return true;
}

static void add_launch(struct mx_profiled *k, const struct mx_probed *of, const struct mx_launch *l, double seconds) {
  for (const struct mx_probed_worker *worker = of->ended; worker; worker = worker->next) {
    for (size_t n = 0; n < of->code->ncounts; n++)
      for (size_t w = 0; of->code->record[n] != UINT32_MAX && w < MX_COUNT_WORDS; w++)
        ((uint64_t *)(void *)&k->counts[of->code->record[n]])[w] +=
            ((const uint64_t *)(const void *)&worker->counts[n])[w];
    mx__profile_take_compiled(worker, k->counts);
  }
  for (size_t n = 0; n < of->code->ncounts; n++)
    if (of->waited[n]) k->counts[of->code->record[n]].waited += of->waited[n];
  free(k->idle_lanes);
  k->idle_lanes = NULL;
  mx_profile_kernel *t = &k->total;
  const mx_profile_kernel *s = &of->total;
  t->launches++;
  t->blocks += s->blocks, t->warps += s->warps, t->waited += s->waited;
  t->block_sum += s->block_sum, t->warp_sum += s->warp_sum;
  mx__least(&t->block_least, s->block_least), mx__most(&t->block_most, s->block_most);
  mx__least(&t->warp_least, s->warp_least), mx__most(&t->warp_most, s->warp_most);
  t->splits += l->stats.splits, t->rejoins += l->stats.rejoins;
  t->enters += l->stats.enters;
  for (unsigned n = 0; n < 8; n++) t->exits[n] += l->stats.exits[n];
  t->seconds += seconds;
}

void mx__profile_end(struct mx_launch *l, double seconds) {
  struct mx_probed *of = l->probed;
  mx_profile *p = of->profile;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t end = mx__profile_ns(p, &now), took = (uint64_t)(seconds * 1e9);
  if (of->timeline)
    mx__profile_event(p, &(mx_profile_event){.kind = MX_PROFILE_LAUNCH,
                                             .launch = of->number,
                                             .stream = of->stream,
                                             .kernel = of->kernel->name,
                                             .begin = end > took ? end - took : 0,
                                             .end = end});
  mx__lock(&p->lock);
  add_launch(of->kernel, of, l, seconds);
  mx__unlock(&p->lock);
  probed_free(of);
  l->probed = NULL;
}

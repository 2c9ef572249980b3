/* Determines which registers may be read before they are written. All others are defined as long as their warp has met
 * no undefined value in memory, so uninit.c follows only these until then. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

struct walk {
  const struct mx_check *c;
  const struct mx_pfunc *fn;
  const struct site *sites;
  size_t words;
  uint64_t *in; /* by instruction: the registers that have been written on every path to it */
  bool *come;   /* by instruction: it can be reached */
  bool again;
};

static void add(uint64_t *set, uint32_t slot) { set[slot / 64] |= 1ull << (slot % 64); }
static void go_to(struct walk *w, uint32_t k, const uint64_t *set) {
  uint64_t *in = w->in + k * w->words;
  if (!w->come[k]) {
    memcpy(in, set, w->words * 8);
    w->come[k] = w->again = true;
    return;
  }
  for (size_t n = 0; n < w->words; n++) {
    w->again |= (in[n] & ~set[n]) != 0;
    in[n] &= set[n];
  }
}
/* Adds the registers that the instruction writes in any case. */
static void write_all(const struct walk *w, const struct site *s, uint64_t *set) {
  if (s->insn->guard != MX_GUARD_NONE) return;
  for (unsigned n = 0; n < s->nout; n++) {
    const struct reg *r = &w->c->code->regs[s->first_out + n];
    add(set, r->slot);
    if (r->pair) add(set, r->slot + 1);
  }
}
static void go_on(struct walk *w, uint32_t k, const uint64_t *set) {
  const struct mx_insn *i = &w->fn->insns[k];
  const uint32_t flags = i->kind == MX_INSN_OP ? mx__ops[i->op].flags : 0;
  if (flags & MX_F_BRANCH) go_to(w, i->index, set);
  if (i->kind == MX_INSN_OP && i->op == MX_BRX) {
    const struct mx_table *t = &w->fn->func->tables[i->o[1]];
    for (uint32_t n = 0; n < t->ntargets; n++) go_to(w, w->fn->index_of_pc[t->targets[n]], set);
  }
  if ((!(flags & MX_F_END) || i->guard != MX_GUARD_NONE) && k + 1 < w->fn->ninsns) go_to(w, k + 1, set);
}

/* Notes the read of a register that has not been written on every path. */
static void read_one(const struct walk *w, const uint64_t *in, uint32_t slot, uint64_t *tracked) {
  (void)w;
  if (slot != NO_SLOT && !(in[slot / 64] >> (slot % 64) & 1)) add(tracked, slot);
}
static uint32_t base_of(const struct mx_func *f, unsigned cls) {
  return cls == MX_PRED ? 0u : cls == MX_R32 ? f->npred : (uint32_t)f->npred + f->n32;
}
static void read_all(const struct walk *w, uint32_t k, uint64_t *tracked) {
  const struct site *s = &w->sites[k];
  const struct mx_func *f = w->fn->func;
  const uint64_t *in = w->in + k * w->words;
  if (s->guard != NO_SLOT) read_one(w, in, s->guard, tracked);
  for (unsigned n = 0; n < s->nin; n++) {
    const struct reg *r = &w->c->code->regs[s->first_in + n];
    read_one(w, in, r->slot, tracked);
    if (r->pair && r->slot != NO_SLOT) read_one(w, in, r->slot + 1, tracked);
  }
  for (uint32_t n = 0; s->effect == MX_DOES_RETURN && n < f->nresults; n++) {
    const uint32_t slot = base_of(f, f->results[n].cls) + f->results[n].slot;
    read_one(w, in, slot, tracked);
    if (f->results[n].cls == MX_R128) read_one(w, in, slot + 1, tracked);
  }
}

static bool touches(const struct mx_check *c, const struct site *s) {
  if (s->guard != NO_SLOT && mx__is_tracked(c, s->func, s->guard)) return true;
  for (unsigned n = 0; n < (unsigned)s->nin + s->nout; n++) {
    const struct reg *r = n < s->nin ? &c->code->regs[s->first_in + n] : &c->code->regs[s->first_out + (n - s->nin)];
    if (r->slot == NO_SLOT) continue;
    if (mx__is_tracked(c, s->func, r->slot) || (r->pair && mx__is_tracked(c, s->func, r->slot + 1))) return true;
  }
  return false;
}

static bool find(struct mx_check *c, uint32_t func) {
  const struct mx_pfunc *fn = &c->code->prep->funcs[func];
  const struct mx_func *f = fn->func;
  struct walk w = {
      .c = c, .fn = fn, .sites = &c->code->sites[c->code->first_site[func]], .words = c->code->nslots[func] / 64 + 1};
  uint64_t *set = calloc(w.words, 8);
  w.in = calloc(fn->ninsns * w.words + 1, 8);
  w.come = calloc(fn->ninsns + 1u, 1);
  c->code->tracked[func] = calloc(w.words, 8);
  const bool good = set && w.in && w.come && c->code->tracked[func];
  for (uint32_t k = 0; good && k < f->nargs; k++) {
    const uint32_t slot = base_of(f, f->args[k].cls) + f->args[k].slot;
    add(set, slot);
    if (f->args[k].cls == MX_R128) add(set, slot + 1);
  }
  if (good && fn->ninsns) go_to(&w, 0, set);
  while (good && w.again) {
    w.again = false;
    for (uint32_t k = 0; k < fn->ninsns; k++) {
      if (!w.come[k]) continue;
      memcpy(set, w.in + k * w.words, w.words * 8);
      write_all(&w, &w.sites[k], set);
      go_on(&w, k, set);
    }
  }
  for (uint32_t k = 0; good && k < fn->ninsns; k++)
    if (w.come[k] && fn->insns[k].kind == MX_INSN_OP) read_all(&w, k, c->code->tracked[func]);
  free(set);
  free(w.in);
  free(w.come);
  return good;
}

bool mx__tracked_find(struct mx_check *c) {
  for (uint32_t f = 0; f < c->code->prep->nfuncs; f++)
    if (c->code->prep->funcs[f].insns && !find(c, f)) return false;
  for (uint32_t k = 0; k < c->code->nsites; k++) c->code->sites[k].tracked = touches(c, &c->code->sites[k]);
  return true;
}

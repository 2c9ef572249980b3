/* What code does with what it has read. Loads wait for what another thread will write if their value decides whether a
 * loop goes on, or, as compilers arrange such loops, whether it is entered at all; volatile loads of this kind do not
 * rely on lanes that keep step. Atomic accesses whose result nobody reads do not observe what they replace. */
#include "check.h"

#include <stdlib.h>

struct walk {
  const struct mx_check *c;
  const struct mx_pfunc *fn;
  const struct site *sites;
  uint64_t *depends; /* the registers whose values depend on the loaded one */
};

static bool has(const struct walk *w, const struct reg *r) {
  for (unsigned k = 0; r->slot != NO_SLOT && k <= r->pair; k++)
    if (w->depends[(r->slot + k) / 64] >> ((r->slot + k) % 64) & 1) return true;
  return false;
}
/* Adds the registers that an instruction computes from others of the set. True: some are new. */
static bool spread(const struct walk *w, const struct site *s, bool loads) {
  bool reads = loads, more = false;
  for (unsigned k = 0; k < s->nin; k++) reads |= !s->access && has(w, &w->c->code->regs[s->first_in + k]);
  for (unsigned k = 0; reads && k < s->nout; k++) {
    const struct reg *r = &w->c->code->regs[s->first_out + k];
    more |= !has(w, r);
    for (unsigned n = 0; n <= r->pair; n++) w->depends[(r->slot + n) / 64] |= UINT64_C(1) << ((r->slot + n) % 64);
  }
  return more;
}
static bool branches(const struct mx_insn *i) { return i->kind == MX_INSN_OP && mx__ops[i->op].flags & MX_F_BRANCH; }
static bool is_decided(const struct walk *w, uint32_t k) {
  const struct reg guard = {w->sites[k].guard, 0, 1, 0, 0};
  return has(w, &guard);
}

static bool enters_loop(const struct walk *w, uint32_t load) {
  uint32_t k = load;
  for (; k < w->fn->ninsns && !branches(&w->fn->insns[k]); k++) spread(w, &w->sites[k], k == load);
  return k < w->fn->ninsns && is_decided(w, k);
}
/* Whether the loop from `first` to the branch `last` ends by what the load in it reads. */
static bool ends_loop(const struct walk *w, uint32_t load, uint32_t first, uint32_t last) {
  for (bool again = true; again;) {
    again = false;
    for (uint32_t k = first; k <= last; k++) again |= spread(w, &w->sites[k], k == load);
  }
  for (uint32_t k = first; k <= last; k++) {
    const struct mx_insn *i = &w->fn->insns[k];
    if (branches(i) && (k == last || i->index < first || i->index > last) && is_decided(w, k)) return true;
  }
  return false;
}
static bool polls(struct walk *w, uint32_t load, size_t words) {
  if (enters_loop(w, load)) return true;
  for (uint32_t k = load; k < w->fn->ninsns; k++) {
    const struct mx_insn *i = &w->fn->insns[k];
    if (!branches(i) || i->index > load) continue;
    for (size_t n = 0; n < words; n++) w->depends[n] = 0;
    if (ends_loop(w, load, i->index, k)) return true;
  }
  return false;
}

/* ---- results of atomic accesses ----------------------------------------------------------------------------------*/
static bool reads_some(const struct walk *w, const struct site *s) {
  const struct reg guard = {s->guard, 0, 1, 0, 0};
  if (s->effect == MX_DOES_RETURN && w->fn->func->nresults) return true;
  for (unsigned k = 0; k < s->nin; k++)
    if (has(w, &w->c->code->regs[s->first_in + k])) return true;
  return has(w, &guard);
}
/* Whether an instruction overwrites all of the registers of the set, which are those that `made` writes. */
static bool overwrites(const struct walk *w, const struct site *s, const struct site *made) {
  const struct reg *first = &w->c->code->regs[made->first_out];
  for (unsigned k = 0; s->guard == NO_SLOT && made->nout == 1 && !first->pair && k < s->nout; k++)
    if (has(w, &w->c->code->regs[s->first_out + k])) return true;
  return false;
}
enum { VISIT = 1, VISITED };
static void come(const struct walk *w, unsigned char *state, uint32_t k, bool *again) {
  if (k < w->fn->ninsns && !state[k]) state[k] = VISIT, *again = true;
}
/* Whether some instruction may read what the one at k writes. state: by instruction, all 0. */
static bool is_used(const struct walk *w, uint32_t k, unsigned char *state) {
  bool again = false;
  for (come(w, state, k + 1, &again); again;) {
    again = false;
    for (uint32_t n = 0; n < w->fn->ninsns; n++) {
      const struct mx_insn *i = &w->fn->insns[n];
      const uint32_t flags = i->kind == MX_INSN_OP ? mx__ops[i->op].flags : 0;
      if (state[n] != VISIT) continue;
      state[n] = VISITED;
      if (reads_some(w, &w->sites[n])) return true;
      if (overwrites(w, &w->sites[n], &w->sites[k])) continue;
      if (flags & MX_F_BRANCH) come(w, state, i->index, &again);
      const struct mx_table *t = i->kind == MX_INSN_OP && i->op == MX_BRX ? &w->fn->func->tables[i->o[1]] : NULL;
      for (uint32_t b = 0; t && b < t->ntargets; b++) come(w, state, w->fn->index_of_pc[t->targets[b]], &again);
      if (!(flags & MX_F_END) || i->guard != MX_GUARD_NONE) come(w, state, n + 1, &again);
    }
  }
  return false;
}
static bool find_observers(struct mx_check *c, const struct mx_pfunc *fn, struct site *sites, size_t words) {
  for (uint32_t k = 0; k < fn->ninsns; k++) {
    struct site *s = &sites[k];
    s->observes = s->object || (s->access && !s->writes);
    if (s->access != ACCESS_ATOMIC || s->object || !s->nout) continue;
    struct walk w = {c, fn, sites, calloc(words, sizeof(uint64_t))};
    unsigned char *state = calloc(fn->ninsns + 1u, 1);
    const bool good = w.depends && state;
    if (good) {
      spread(&w, s, true);
      s->observes = is_used(&w, k, state);
    }
    free(w.depends);
    free(state);
    if (!good) return false;
  }
  return true;
}

bool mx__polls_find(struct mx_check *c) {
  for (uint32_t f = 0; f < c->code->prep->nfuncs; f++) {
    const struct mx_pfunc *fn = &c->code->prep->funcs[f];
    struct site *sites = &c->code->sites[c->code->first_site[f]];
    const size_t words = c->code->nslots[f] / 64 + 1;
    if (fn->insns && !find_observers(c, fn, sites, words)) return false;
    for (uint32_t k = 0; fn->insns && k < fn->ninsns; k++) {
      if (!sites[k].in_step || sites[k].writes) continue;
      struct walk w = {c, fn, sites, calloc(words, sizeof(uint64_t))};
      if (!w.depends) return false;
      sites[k].in_step = !polls(&w, k, words);
      free(w.depends);
    }
  }
  return true;
}

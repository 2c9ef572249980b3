/* Launches that make no progress: which lanes spin where, on what word of memory, for a thread that asks meanwhile
 * (mx_device_stuck). Sessions have a report of their own, which also says who wrote that word (vm/debug/session.c). */
#include "stuck.h"

#include "vm/memory/memory.h"
#include "async.h"
#include "block.h"
#include "warp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUIET_SWEEPS = 4, QUIET_SECONDS = 2, MOST_GROUPS = 12 };

static uint64_t digest_of(const struct mx_block *b, uint64_t h) {
  for (uint32_t w = 0; w < b->nwarps; w++)
    for (uint32_t k = 0; k < b->warps[w].nsplits; k++) {
      const struct mx_split *s = &b->warps[w].splits[k];
      const uint64_t *v = (const uint64_t *)s->frame->slots;
      uint64_t p = s->pc, q = s->mask; /* two independent chains, so that a product waits only for every second one */
      for (uint32_t n = 0; n < s->frame->fn->frame_bytes / 8; n += 2) {
        p = (p ^ v[n]) * 0x9E3779B97F4A7C15u ^ p >> 31;
        q = (q ^ v[n + 1]) * 0x9E3779B97F4A7C15u ^ q >> 31;
      }
      h = (h ^ p) * 0x9E3779B97F4A7C15u ^ q ^ h >> 31;
    }
  return h;
}
uint64_t mx__block_digest(const struct mx_block *leader) {
  uint64_t h = 1;
  for (uint32_t k = 0; k < leader->nmembers; k++)
    if (!leader->members[k]->ended) h = digest_of(leader->members[k], h);
  return h ? h : 1;
}

/* ---- who is where ---------------------------------------------------------------------------------------------*/
/* Lanes at one place, in one state, and spinning on one word; beyond the first such groups they are only counted. */
struct group {
  const struct mx_block *block;
  const struct mx_warp *warp;
  const struct mx_split *split;
  /* it reads a word; it does so by an access meant for data that others write: volatile, relaxed, atomic */
  bool word, shared_word;
  bool mbarrier; /* the word is one, which they test */
  uint64_t address, value;
  unsigned bytes;
  uint64_t others;
};
struct report {
  const struct mx_launch *l;
  struct group group[MOST_GROUPS];
  uint32_t n;
  uint64_t left;
};

/* The address that stands in operand k of an instruction, in the split's first lane, plus the offset behind it. */
static uint64_t address_of(const struct mx_split *s, const struct mx_insn *i, unsigned k) {
  const mx_ref ref = mx__operand_ref(i, k);
  const unsigned char *at = (ref & 1 ? s->frame->fn->pool : s->frame->slots) + ref;
  const unsigned lane = (unsigned)__builtin_ctzll(s->mask);
  uint32_t narrow;
  uint64_t address;
  if (mx__types[mx__ops[i->op].opnd[k].type].slot_class == MX_R32) memcpy(&narrow, at + lane * 4, 4), address = narrow;
  else memcpy(&address, at + lane * 8, 8);
  return address + (uint64_t)i->off;
}
/* The word that an instruction reads of memory that others write, in the split's first lane. */
static bool reads_word(const struct mx_launch *l, const struct mx_block *b, const struct mx_split *s,
                       const struct mx_insn *i, struct group *g) {
  const struct mx_op_info *o = &mx__ops[i->op];
  const enum mx_access_kind kind = mx__row_access[i->op].kind;
  const bool load = kind == MX_ACCESS_LOAD, tests = o->cls == MX_CTRL && mx__effect(i->op) == MX_DOES_MBARRIER;
  if ((!load && kind != MX_ACCESS_ATOMIC && !tests) || o->opnd[0].role != MX_OUT) return false;
  unsigned space = tests ? mx__async_space(i) : load ? i->mod >> 2 : i->mod;
  for (unsigned k = 0; k + 1 < o->nopnds; k++) {
    if (o->opnd[k + 1].type != MX_T_off) continue;
    uint64_t address = address_of(s, i, k);
    const unsigned window = (unsigned)(address >> MX_WINDOW_SHIFT);
    if (space == MX_GENERIC && window == MX_WINDOW_SHARED) space = MX_SHARED, address -= MX_WINDOW(MX_WINDOW_SHARED);
    if (space != MX_SHARED && space != MX_GLOBAL && (space != MX_GENERIC || window)) return false;
    g->bytes = tests ? 8 : mx__types[o->opnd[0].type].bits / 8u;
    if (!g->bytes || g->bytes > 8) g->bytes = 4;
    const unsigned char *host = NULL;
    if (space != MX_SHARED) host = mx__memory_host(l->memory, address, g->bytes);
    else if (address <= l->shared_bytes && l->shared_bytes - address >= g->bytes) host = b->shared + address;
    if (!host) return false;
    g->address = space == MX_SHARED ? address + MX_WINDOW(MX_WINDOW_SHARED) : address;
    memcpy(&g->value, host, g->bytes);
    g->shared_word = !load || i->mod & 3;
    g->mbarrier = tests;
    return g->word = true;
  }
  return false;
}

/* The word that spinning lanes read, by one of the next instructions, since they are at the beginning of their loop; or
 * behind a test that failed, at its end. */
static void find_word(const struct mx_launch *l, struct group *g) {
  const struct mx_pfunc *fn = g->split->frame->fn;
  const struct mx_insn *i = &fn->insns[fn->index_of_pc[g->split->pc]], *end = fn->insns + fn->ninsns;
  bool back = false;
  for (int n = 0; n < 8 && i < end && g->split->state == MX_RUNNABLE; n++) {
    if (i->kind == MX_INSN_OP && reads_word(l, g->block, g->split, i, g)) return;
    const bool again = !back && i->kind == MX_INSN_OP && i->op == MX_BRA && fn->insns[i->index].pc <= i->pc;
    back |= again;
    i = again ? &fn->insns[i->index] : i + 1;
  }
}

/* The mbarrier that it tests or waits at, and what it lacks; malloc'ed, NULL: none. */
static char *mbarrier_of(const struct group *g) {
  const struct mx_split *s = g->split;
  if (s->state == MX_WAIT_MBARRIER) return mx__mbarrier_text(g->block, (const unsigned char *)(uintptr_t)s->sync_mask);
  if (!g->mbarrier) return NULL;
  return mx__mbarrier_text(g->block, g->block->shared + (g->address - MX_WINDOW(MX_WINDOW_SHARED)));
}
char *mx__stuck_mbarrier(const struct mx_launch *l, const struct mx_block *b, const struct mx_split *s) {
  struct group g = {.block = b, .split = s};
  find_word(l, &g);
  return mbarrier_of(&g);
}

static void add_split(struct report *r, struct group g) {
  find_word(r->l, &g);
  for (uint32_t k = 0; k < r->n; k++) {
    struct group *x = &r->group[k];
    if (x->split->frame->fn != g.split->frame->fn || x->split->pc != g.split->pc || x->split->state != g.split->state ||
        x->word != g.word)
      continue;
    if (g.word && (x->address != g.address || x->value != g.value)) continue;
    x->others++;
    return;
  }
  if (r->n < MOST_GROUPS) r->group[r->n++] = g;
  else r->left++;
}

static void print_group(FILE *out, const struct mx_launch *l, const struct group *g, bool stuck) {
  const struct mx_split *s = g->split;
  const struct mx_pfunc *fn = s->frame->fn;
  const char *file;
  uint32_t line;
  mx__line_of(l->image, fn->number, s->pc, &file, &line);
  char *lanes = mx__lanes_text(s->mask);
  fprintf(out, "\n  block (%u,%u,%u) warp %u %s ", g->block->ctaid[0], g->block->ctaid[1], g->block->ctaid[2],
          g->warp->number, lanes ? lanes : "lanes");
  free(lanes);
  if (s->state == MX_WAIT_BAR && s->barrier == MX_CLUSTER_BARRIER) fprintf(out, "wait at the cluster's barrier, ");
  else if (s->state == MX_WAIT_BAR) fprintf(out, "wait at barrier %u, ", s->barrier);
  else if (s->state == MX_WAIT_MBARRIER) fprintf(out, "wait at an mbarrier, ");
  else if (s->state == MX_WAIT_SYNC) fprintf(out, "wait for lanes, ");
  else if (stuck) fprintf(out, s->mask & (s->mask - 1) ? "spin " : "spins ");
  if (file) fprintf(out, "at %s:%u in '%s'", file, line, fn->func->name);
  else fprintf(out, "at pc %u of '%s'", s->pc, fn->func->name);
  if (g->others)
    fprintf(out, ", and so do lanes of %llu more warp%s", (unsigned long long)g->others, g->others == 1 ? "" : "s");
  char *mbarrier = mbarrier_of(g);
  if (mbarrier) fprintf(out, "\n    %s", mbarrier);
  else if (g->word && (stuck || g->shared_word))
    fprintf(out, "\n    the word at 0x%llx%s is %llu", (unsigned long long)g->address,
            g->address >> MX_WINDOW_SHIFT ? " in shared memory" : "", (unsigned long long)g->value);
  free(mbarrier);
}

char *mx__stuck_text(const struct mx_launch *l, struct mx_block *const *blocks, uint32_t n, bool stuck) {
  struct report r = {.l = l};
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  for (uint32_t b = 0; b < n; b++)
    for (uint32_t w = 0; w < blocks[b]->nwarps && blocks[b]->started; w++)
      for (uint32_t k = 0; k < blocks[b]->warps[w].nsplits; k++)
        add_split(&r, (struct group){
                          .block = blocks[b], .warp = &blocks[b]->warps[w], .split = &blocks[b]->warps[w].splits[k]});
  for (uint32_t k = 0; k < r.n; k++) print_group(out, l, &r.group[k], stuck);
  if (r.left) fprintf(out, "\n  and %llu more groups of lanes", (unsigned long long)r.left);
  if (fclose(out)) free(text), text = NULL;
  return text;
}

/* ---- whether there is progress ---------------------------------------------------------------------------------*/
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool mx__stuck_turn(struct mx_stuck *k, struct mx_block *b, uint64_t digest, uint32_t resident) {
  struct mx_launch *l = b->launch;
  const bool same = b->digest == digest;
  b->digest = digest;
  if (k->settling) return k->settling--, false;
  if (!same || !k->quiet) {
    k->quiet = 1;
    k->since = seconds();
    k->found = false;
    atomic_store(&l->doubted, false);
    return false;
  }
  if (k->found || ++k->quiet < (uint64_t)QUIET_SWEEPS * resident || k->quiet % resident) return false;
  if (atomic_load(&l->doubted)) return k->found = true;
  if (seconds() - k->since < QUIET_SECONDS) return false;
  /* Compiled code leaves in registers only what is needed later. A loop that counts in memory has nothing there that
   * changes, but shows it when it is interpreted: what it has loaded stays in a register. */
  atomic_store(&l->doubted, true);
  k->settling = (uint64_t)2 * resident;
  k->quiet = 1;
  return false;
}

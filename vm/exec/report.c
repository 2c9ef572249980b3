/* The text of a deadlock: which lanes of a block wait where, and for what. */
#include "async.h"
#include "warp.h"

#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_lanes(FILE *out, uint64_t m) {
  char *text = mx__lanes_text(m);
  fputs(text ? text : "lanes", out);
  free(text);
}

static void print_place(FILE *out, const struct mx_image *image, const struct mx_frame *f, uint32_t pc) {
  const char *file;
  uint32_t line;
  mx__line_of(image, f->fn->number, pc, &file, &line);
  fprintf(out, "%s", f->fn->func->name);
  if (file) fprintf(out, ", %s:%u", file, line);
  else fprintf(out, ", pc %u", pc);
}

/* The lanes of a warp that have not ended and could still bring what split s waits for: those that do not wait at the
 * same mbarrier, or have not arrived at the same barrier. */
static uint64_t elsewhere(const struct mx_block *of, const struct mx_warp *w, const struct mx_split *s) {
  uint64_t m = w->live;
  if (s->state == MX_WAIT_BAR) return m & ~of->barriers[s->barrier].arrived[w->number];
  for (uint32_t k = 0; k < w->nsplits; k++)
    if (w->splits[k].state == MX_WAIT_MBARRIER && w->splits[k].sync_mask == s->sync_mask) m &= ~w->splits[k].mask;
  return m;
}
/* "warps 1-3, warp 5 (lanes 0-31), warps 0-3 of block (1,0,0)": of the whole cluster, where its other blocks arrive,
 * too. */
static void print_elsewhere(FILE *out, const struct mx_block *b, const struct mx_split *s) {
  const char *comma = "";
  const bool own = s->state == MX_WAIT_BAR && s->barrier != MX_CLUSTER_BARRIER;
  for (uint32_t n = 0; n < (own ? 1 : b->nmembers); n++) { /* the own block first */
    const struct mx_block *of = b->leader->members[(b->rank + n) % b->nmembers];
    for (uint32_t first = 0, last; first < of->nwarps && !of->ended; first = last + 1) {
      const struct mx_warp *w = &of->warps[first];
      const uint64_t m = elsewhere(of, w, s);
      last = first;
      if (!m) continue;
      while (m == w->live && last + 1 < of->nwarps && w[last + 1 - first].live &&
             elsewhere(of, &w[last + 1 - first], s) == w[last + 1 - first].live)
        last++;
      fprintf(out, last > first ? "%swarps %u-%u" : "%swarp %u", comma, first, last);
      comma = ", ";
      if (m != w->live) fputs(" (", out), print_lanes(out, m), fputs(")", out);
      if (of != b) fprintf(out, " of block (%u,%u,%u)", of->ctaid[0], of->ctaid[1], of->ctaid[2]);
    }
  }
  if (!*comma) fprintf(out, "no other warp");
}

static void print_split(FILE *out, const struct mx_block *b, const struct mx_warp *w, const struct mx_split *s) {
  fprintf(out, "\n  "); /* indented as the trap's other lines are */
  if (b->nmembers > 1) fprintf(out, "block (%u,%u,%u), ", b->ctaid[0], b->ctaid[1], b->ctaid[2]);
  fprintf(out, "warp %u, ", w->number);
  print_lanes(out, s->mask);
  fprintf(out, " (");
  print_place(out, b->launch->image, s->frame, s->pc);
  fprintf(out, ") wait ");
  if (s->state == MX_WAIT_SYNC) {
    uint64_t missing = s->sync_mask & w->live & ~s->mask;
    fprintf(out, "with mask 0x%llx for ", (unsigned long long)s->sync_mask);
    print_lanes(out, missing);
    return;
  }
  if (s->state == MX_WAIT_MBARRIER) {
    char *text = mx__mbarrier_text(b, (const unsigned char *)(uintptr_t)s->sync_mask);
    fprintf(out, "at %s, which ", text ? text : "an mbarrier");
    free(text);
    print_elsewhere(out, b, s);
    fprintf(out, " could still bring");
    return;
  }
  const bool cluster = s->barrier == MX_CLUSTER_BARRIER;
  uint32_t here = 0, all = 0;
  for (uint32_t n = 0; n < b->nmembers; n++) {
    const struct mx_block *m = b->leader->members[n];
    for (uint32_t k = 0; (m == b || cluster) && k < m->nwarps; k++) {
      here += (uint32_t)__builtin_popcountll(m->barriers[s->barrier].arrived[k]);
      all += (uint32_t)__builtin_popcountll(m->warps[k].live);
    }
  }
  const uint32_t want = b->barriers[s->barrier].want ? b->barriers[s->barrier].want : all;
  if (cluster) fprintf(out, "at the cluster's barrier");
  else fprintf(out, "at barrier %u", s->barrier);
  fprintf(out, ": %u of %u threads have arrived, ", here, want);
  print_elsewhere(out, b, s);
  fprintf(out, " could still come");
}

/* Lanes that wait for each other in different operations, or with different masks. */
static bool disagree(const struct mx_warp *w) {
  for (uint32_t a = 0; a < w->nsplits; a++)
    for (uint32_t c = 0; c < w->nsplits; c++) {
      const struct mx_split *s = &w->splits[a], *t = &w->splits[c];
      if (a != c && s->state == MX_WAIT_SYNC && t->state == MX_WAIT_SYNC && s->sync_mask & t->mask) return true;
    }
  return false;
}

/* Whether lanes at a warp operation wait for lanes of this split, which wait for something else. */
static bool is_awaited(const struct mx_warp *w, const struct mx_split *s) {
  bool awaited = false;
  for (uint32_t k = 0; k < w->nsplits && s->state != MX_WAIT_SYNC; k++)
    awaited |= w->splits[k].state == MX_WAIT_SYNC && w->splits[k].sync_mask & s->mask;
  return awaited;
}
static bool comes_before(const struct mx_warp *w, const struct mx_split *s, const struct mx_split *t) {
  const bool awaited = is_awaited(w, s);
  if (awaited != is_awaited(w, t)) return awaited;
  return (s->mask & -s->mask) < (t->mask & -t->mask);
}
/* The warp's splits: first those for which others wait, then by their first lanes. In which order a warp has them
 * depends on which engine made them. */
static uint32_t sorted_splits(const struct mx_warp *w, const struct mx_split **s) {
  uint32_t n = 0;
  for (uint32_t k = 0; w->live && k < w->nsplits; k++) {
    uint32_t at = n++;
    for (; at && comes_before(w, &w->splits[k], s[at - 1]); at--) s[at] = s[at - 1];
    s[at] = &w->splits[k];
  }
  return n;
}
void mx__trap_deadlock(struct mx_exec *x, struct mx_block *leader) {
  struct mx_trap t = {.kind = MX_TRAP_DEADLOCK};
  const struct mx_block *at = leader;
  const struct mx_split *place = NULL;
  size_t size;
  FILE *out = open_memstream(&t.detail, &size);
  for (uint32_t k = 0; k < leader->nmembers * leader->nwarps; k++) {
    const struct mx_block *b = leader->members[k / leader->nwarps];
    const struct mx_warp *w = &b->warps[k % leader->nwarps];
    const struct mx_split *splits[MX_MAX_LANES];
    bool odd = w->live && disagree(w);
    for (uint32_t n = 0, all = sorted_splits(w, splits); n < all; n++) {
      const struct mx_split *s = splits[n];
      if (s->state == MX_RUNNABLE) continue;
      if (!place || (odd && t.kind == MX_TRAP_DEADLOCK)) {
        at = b;
        place = s;
        t.warp = w->number;
        t.lanes = s->mask;
      }
      if (out) print_split(out, b, w, s);
    }
    if (odd) t.kind = MX_TRAP_SYNC;
  }
  memcpy(t.block, at->ctaid, sizeof t.block);
  if (out && fclose(out)) {
    free(t.detail);
    t.detail = NULL;
  }
  if (t.detail && t.detail[0] == '\n')
    memmove(t.detail, t.detail + 3, strlen(t.detail + 3) + 1); /* the first line has its indent */
  if (place) t.func = place->frame->fn->number, t.pc = place->pc;
  mx__trap_raise(leader->launch, &t);
  x->event = MX_EV_TRAP;
}

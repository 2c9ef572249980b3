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
    fprintf(out, "at %s", text ? text : "an mbarrier");
    free(text);
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
  fprintf(out, ": %u of %u threads have arrived", here, want);
}

/* Lanes that name one another in different operations or masks. */
static bool disagree(const struct mx_warp *w) {
  for (uint32_t a = 0; a < w->nsplits; a++)
    for (uint32_t c = 0; c < w->nsplits; c++) {
      const struct mx_split *s = &w->splits[a], *t = &w->splits[c];
      if (a != c && s->state == MX_WAIT_SYNC && t->state == MX_WAIT_SYNC && s->sync_mask & t->mask) return true;
    }
  return false;
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
    bool odd = w->live && disagree(w);
    for (uint32_t n = 0; n < w->nsplits && w->live; n++) {
      const struct mx_split *s = &w->splits[n];
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

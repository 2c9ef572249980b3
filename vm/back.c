/* Going back: which position an order leads to, found by running the launch again from checkpoints before it.
 *
 * A search looks at the stretch between a checkpoint and where it is known already, notes the positions that would do,
 * and takes the last one; without any it goes on with the stretch before. Then the launch runs to the position from the
 * nearest checkpoint. All this happens in the session's thread, between two stops. */
#include "vm/record.h"

#include "vm/interp.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STEPS (1u << 20) /* at once */

struct mx_back {
  bool searching;          /* else: on the way to `target` */
  uint64_t target;
  mx_debug_reason reason;  /* to tell there */
  int breakpoint;
  /* the search */
  mx_debug_order order;
  uint64_t block, count;
  uint32_t warp, depth;    /* depth: of the warp's frame at the order */
  int only;                /* the breakpoint that counts; 0: all enabled ones */
  uint64_t end;            /* of the stretch */
  struct mx_checkpoint *from;
  uint64_t *found;         /* ring of the last `count` positions */
  int *found_number;       /* CONTINUE: their breakpoints */
  uint64_t nfound;
  mx_debug_stop hit;       /* CONTINUE: what a watchpoint said at the last of them */
  /* lines: the last one that the warp was at in this stretch; and the first place in the newer stretch, which is one to
   * stop at only if it lies in another line than the last one here */
  bool any, newer_any, first_any;
  uint32_t func, line, first_func, first_line, newer_func, newer_line;
  uint64_t first, newer;
};

uint64_t mx__back_target(const struct mx_debug *g) { return g->back && !g->back->searching ? g->back->target : 0; }
int mx__back_only(const struct mx_debug *g) { return g->back ? g->back->only : 0; }

void mx__back_free(struct mx_debug *g) {
  if (!g->back) return;
  free(g->back->found);
  free(g->back->found_number);
  free(g->back);
  g->back = NULL;
  mx__watch_count(g);
}

static void note(struct mx_back *b, uint64_t position, int number) {
  if (b->nfound && b->found[(b->nfound - 1) % b->count] == position) return;
  b->found[b->nfound % b->count] = position;
  b->found_number[b->nfound % b->count] = number;
  b->nfound++;
}

static void look_at_line(struct mx_debug *g, struct mx_back *b, const struct mx_exec *x, const struct mx_insn *i) {
  uint32_t func = x->fn->number, line = mx__debug_line(g, func, i->pc);
  if (!b->any) {
    b->first_any = true;
    b->first = g->executed;
    b->first_func = func;
    b->first_line = line;
  } else if (func != b->func || (line && line != b->line)) {
    note(b, g->executed, 0);
  }
  b->any = true;
  b->func = func;
  if (line) b->line = line;
}

static void look(struct mx_debug *g, struct mx_back *b, const struct mx_exec *x, const struct mx_insn *i) {
  if (b->order == MX_DEBUG_CONTINUE) {
    const uint8_t *marks = g->marks ? g->marks[x->fn->number] : NULL;
    if (!marks || (!b->only && !marks[i->pc])) return;
    for (size_t n = 0; n < g->nbreaks; n++) {
      const struct mx_breakpoint *p = &g->breaks[n];
      if (b->only ? p->number != b->only : !p->enabled) continue;
      for (uint32_t k = 0; k < p->nplaces; k++)
        if (p->places[k].func == x->fn->number && p->places[k].pc == i->pc) note(b, g->executed, p->number);
    }
    return;
  }
  if (x->block->index != b->block || x->warp->number != b->warp) return;
  switch (b->order) {
    case MX_DEBUG_STEP: note(b, g->executed, 0); break;
    case MX_DEBUG_NEXT: if (x->frame->depth <= b->depth) note(b, g->executed, 0); break;
    case MX_DEBUG_FINISH: if (x->frame->depth < b->depth) note(b, g->executed, 0); break;
    case MX_DEBUG_NEXT_LINE: if (x->frame->depth <= b->depth) look_at_line(g, b, x, i); break;
    default: look_at_line(g, b, x, i);
  }
}

void mx__back_watched(struct mx_debug *g) {
  struct mx_back *b = g->back;
  if (!b || !b->searching || b->order != MX_DEBUG_CONTINUE) return;
  note(b, g->executed - 1, g->hit->number);
  b->hit = g->stop;
}

/* The search is over: the launch runs to the position. */
static void walk_to(struct mx_debug *g, uint64_t position, mx_debug_reason reason, int number) {
  struct mx_back *b = g->back;
  b->searching = false;
  b->target = position;
  b->reason = reason;
  b->breakpoint = number;
  mx__record_go_to(g, mx__checkpoint_before(g->record, position));
}

static void search_from(struct mx_debug *g, struct mx_checkpoint *c) {
  g->back->from = c;
  mx__record_go_to(g, c);
}

/* The stretch has been looked at: where to go now. */
static void stretch_done(struct mx_debug *g) {
  struct mx_back *b = g->back;
  if (b->newer_any && b->any && (b->newer_func != b->func || b->newer_line != b->line)) {
    note(b, b->newer, 0);
    b->newer_any = false;
  } else if (b->any) {
    b->newer_any = false;
  }
  mx_debug_reason reason = b->order == MX_DEBUG_CONTINUE ? MX_DEBUG_AT_BREAKPOINT : MX_DEBUG_AT_STEP;
  if (b->nfound >= b->count) {
    walk_to(g, b->found[b->nfound % b->count], reason, b->found_number[b->nfound % b->count]);
    return;
  }
  b->count -= b->nfound;
  b->nfound = 0;
  if (b->first_any) {
    b->newer_any = true;
    b->newer = b->first;
    b->newer_func = b->first_func;
    b->newer_line = b->first_line;
  }
  b->any = b->first_any = false;
  struct mx_checkpoint *older = mx__checkpoint_older(b->from);
  if (older) {
    b->end = mx__checkpoint_position(b->from);
    search_from(g, older);
  } else if (b->newer_any && b->count == 1) {
    walk_to(g, b->newer, reason, 0);
  } else {
    walk_to(g, mx__checkpoint_position(b->from), MX_DEBUG_AT_BEGIN, 0);
  }
}

enum mx_back_way mx__back_insn(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, mx_debug_reason *reason) {
  struct mx_back *b = g->back;
  if (atomic_exchange(&g->pause, false)) {
    mx__back_free(g);
    *reason = MX_DEBUG_AT_PAUSE;
    return MX_BACK_STOP;
  }
  if (b->searching) {
    if (g->executed < b->end) {
      look(g, b, x, i);
      return MX_BACK_RUN;
    }
    stretch_done(g);
    return MX_BACK_LEAVE;
  }
  if (g->executed < b->target) return MX_BACK_RUN;
  *reason = b->reason;
  g->stop.breakpoint = b->breakpoint;
  g->stop.hit_lanes = b->hit.hit_lanes;
  g->stop.hit_block = b->hit.hit_block;
  g->stop.hit_warp = b->hit.hit_warp;
  g->stop.hit_pc = b->hit.hit_pc;
  g->stop.hit_line = b->hit.hit_line;
  g->stop.hit_file = b->hit.hit_file;
  g->stop.hit_function = b->hit.hit_function;
  mx__back_free(g);
  return MX_BACK_STOP;
}

bool mx__back_stopped(struct mx_debug *g) {
  if (!g->back) return false;
  if (g->back->searching) {
    stretch_done(g);
    return true;
  }
  mx__back_free(g);
  return false;
}

/* ---- orders ---------------------------------------------------------------------------------------------*/

static mx_status ready(struct mx_debug *g, const char *call) {
  if (!g) return MX_INVALID_VALUE;
  mx_status s = mx__debug_ready_or_over(g, call);
  if (s != MX_OK) return s;
  uint64_t oldest, newest;
  return mx_debug_history(g, &oldest, &newest);
}

static mx_status go(struct mx_debug *g, struct mx_back *b, mx_debug_stop *stop) {
  g->back = b;
  mx__record_mark(g);
  return mx__debug_order(g, stop);
}

mx_status mx_debug_seek(mx_debug *g, uint64_t position, mx_debug_stop *stop) {
  mx_status s = ready(g, "mx_debug_seek");
  if (s != MX_OK) return s;
  struct mx_checkpoint *c = mx__checkpoint_before(g->record, position);
  if (!c) return mx__fail(g->device, MX_NOT_FOUND, "mx_debug_seek: history begins at %llu", (unsigned long long)mx__checkpoint_position(mx__checkpoint_first(g->record)));
  if (position >= g->executed && (g->over || g->trap_shown)) return stop ? mx_debug_where(g, stop) : MX_OK;
  struct mx_back *b = calloc(1, sizeof *b);
  if (!b) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  b->target = position;
  b->reason = MX_DEBUG_AT_STEP;
  if (position <= g->executed) mx__record_go_to(g, c);
  return go(g, b, stop);
}

static mx_status search(struct mx_debug *g, struct mx_back how, mx_debug_stop *stop) {
  struct mx_back *b = malloc(sizeof *b);
  if (!b) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  *b = how;
  b->searching = true;
  b->end = g->executed;
  b->found = malloc(b->count * sizeof *b->found);
  b->found_number = malloc(b->count * sizeof *b->found_number);
  g->back = b;
  mx__watch_count(g);
  if (!b->found || !b->found_number) {
    mx__back_free(g);
    return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  }
  /* what begins at the present position is not behind it */
  struct mx_checkpoint *c = g->executed ? mx__checkpoint_before(g->record, g->executed - 1) : NULL;
  if (c) search_from(g, c);
  else walk_to(g, mx__checkpoint_position(mx__checkpoint_first(g->record)), MX_DEBUG_AT_BEGIN, 0);
  return go(g, b, stop);
}

mx_status mx_debug_back(mx_debug *g, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count, mx_debug_stop *stop) {
  mx_status s = ready(g, "mx_debug_back");
  if (s != MX_OK) return s;
  if ((unsigned)order > MX_DEBUG_FINISH) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_back: no such order");
  if (order != MX_DEBUG_CONTINUE && (block >= g->launch->nblocks || warp >= g->launch->warps))
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_back: block %llu has no warp %u", (unsigned long long)block, warp);
  if (count > MOST_STEPS) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_back: at most %u steps at once", MOST_STEPS);
  struct mx_back b = {.order = order, .block = block, .warp = warp, .count = count ? count : 1};
  if (order == MX_DEBUG_CONTINUE || order == MX_DEBUG_FINISH) b.count = 1;
  struct mx_block *at = g->over ? NULL : mx__debug_block(g, block);
  if (at && order != MX_DEBUG_CONTINUE) {
    const struct mx_split *split = mx__debug_split(g, at, &at->warps[warp], 0);
    if (split) b.depth = split->frame->depth;
  }
  if (order == MX_DEBUG_FINISH && !b.depth) return mx__fail(g->device, MX_NOT_FOUND, "mx_debug_back: the warp is in the kernel itself");
  return search(g, b, stop);
}

mx_status mx_debug_back_to(mx_debug *g, int number, mx_debug_stop *stop) {
  mx_status s = ready(g, "mx_debug_back_to");
  if (s != MX_OK) return s;
  struct mx_breakpoint *p = mx__debug_find(g, number);
  if (!p) return MX_NOT_FOUND;
  return search(g, (struct mx_back){.order = MX_DEBUG_CONTINUE, .count = 1, .only = number}, stop);
}

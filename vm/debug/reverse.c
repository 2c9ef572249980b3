/* Going back: finding the position that an order means, repeating the debugger's changes on the way, and finding who
 * wrote a value.
 *
 * The launch is taken back to the last recorded state and runs again up to where it was, while every instruction is
 * compared with what is looked for; the last match is the answer. If there is none, the state before is tried. Then the
 * launch is taken back once more and stops at the answer. */
#include "session.h"

#include "vm/exec/flow.h"
#include "vm/exec/interp.h"
#include "vm/exec/launch.h"

#include <stdlib.h>
#include <string.h>

void mx__edits_apply(struct mx_debug *g) {
  struct mx_edits *l = g->edits;
  if (!l || !l->n || l->at[l->n - 1].position < g->executed) return;
  l->applying = true;
  mx__debug_asking = g;
  for (size_t k = 0; k < l->n; k++) {
    const struct mx_edit *e = &l->at[k];
    if (e->position != g->executed) continue;
    if (e->what == MX_EDIT_REGISTER)
      mx_debug_set_register(g, e->block, e->warp, e->split, e->frame, e->data, e->lanes, e->low, e->high);
    else if (e->what == MX_EDIT_MEMORY) mx_debug_write(g, e->block, e->warp, e->lane, e->address, e->data, e->bytes);
    else mx_debug_jump(g, e->block, e->warp, e->split, e->pc);
  }
  l->applying = false;
  mx__debug_asking = NULL;
}

mx_status mx_debug_jump(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t pc) {
  mx_status s = mx__debug_ready(g, "mx_debug_jump");
  if (s != MX_OK) return s;
  if (mx__debug_asking != g && g->stop.reason == MX_DEBUG_AT_TRAP)
    return mx__fail(g->device, MX_TRAPPED, "mx_debug_jump: the launch has trapped");
  struct mx_block *b = mx__debug_block(g, block);
  struct mx_split *sp = b && warp < b->nwarps ? mx__debug_split(g, b, &b->warps[warp], split) : NULL;
  if (!sp) return mx__fail(g->device, MX_NOT_FOUND, "mx_debug_jump: no such split");
  if (sp->state != MX_RUNNABLE) return mx__fail(g->device, MX_BUSY, "mx_debug_jump: the lanes wait for others");
  const struct mx_pfunc *fn = sp->frame->fn;
  if (pc >= fn->func->ncode || fn->index_of_pc[pc] == UINT32_MAX)
    return mx__fail(g->device, MX_NOT_FOUND, "no instruction of '%s' begins at pc %u", fn->func->name, pc);
  mx__edit_jump(g, block, warp, split, pc);
  g->jumped = true;
  sp->pc = pc;
  sp->returns = false;
  if (sp == g->x->split) g->moved_code = true;
  return MX_OK;
}

/* ---- looking ----------------------------------------------------------------------------------------------*/
static void found(struct mx_debug *g, uint64_t position) {
  struct mx_search *s = &g->search;
  if (position >= s->end || (s->found && s->last[(s->found - 1) % s->count] == position)) return;
  s->last[s->found++ % s->count] = position;
}

/* Matches of CONTINUE: where it would have stopped, and why; of several the last one found counts. */
static void found_stop(struct mx_debug *g, uint64_t position, mx_debug_reason reason, int number) {
  found(g, position);
  if (position >= g->search.end) return;
  g->search.stop = (mx_debug_stop){.reason = reason, .breakpoint = number};
  if (reason != MX_DEBUG_AT_WATCH || !number) return;
  g->search.stop.watch = number;
  g->search.stop.address = g->pending_address;
  g->search.stop.writer = g->pending_writer;
}

static bool of_order(const struct mx_debug *g, const struct mx_exec *x) {
  return x->block->index == g->block && x->warp->number == g->warp;
}

/* The frame that is asked for: recursion apart, there is one of that function so deep in the warp. */
static bool of_frame(const struct mx_search *s, const struct mx_frame *f) {
  return f && f->fn->func == s->of && f->depth == s->depth;
}

static void look_for_register(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  struct mx_search *s = &g->search;
  uint64_t lanes = mx__lanes_of(x, i) & s->lanes;
  if (!lanes || !of_order(g, x)) return;
  bool writes = of_frame(s, x->frame) && mx__writes_ref(x->fn, x->lanes, i, s->ref);
  if (i->op == MX_RET && of_frame(s, x->frame->parent)) {
    const struct mx_insn *call = &x->frame->parent->fn->insns[x->frame->call];
    for (uint32_t k = 0; k < x->fn->func->nresults; k++) writes |= call->more[k] == s->ref;
  }
  if (!writes) return;
  found(g, g->executed);
  mx__debug_culprit(g, x, i, lanes, &s->culprit);
}

/* Where the launch may stop is known before an instruction; what it writes, behind it. */
void mx__debug_search(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  struct mx_search *s = &g->search;
  if (s->what == MX_SEARCH_REGISTER) look_for_register(g, x, i);
  if (s->what != MX_SEARCH_ORDER) return;
  if (g->order == MX_DEBUG_CONTINUE) {
    if (g->marks && mx__debug_breakpoint(g, x, i))
      found_stop(g, g->executed, MX_DEBUG_AT_BREAKPOINT, g->stop.breakpoint);
    if (g->watch && mx__debug_asks(g, x, i, g->watch, g->watch_user))
      found_stop(g, s->known && of_order(g, x) ? s->previous : g->executed, MX_DEBUG_AT_WATCH, 0);
    if (of_order(g, x)) s->previous = g->executed, s->known = true;
    return;
  }
  if (!of_order(g, x)) return;
  bool deeper = x->frame->depth > s->depth;
  if (g->order == MX_DEBUG_FINISH) {
    if (x->frame->depth < s->depth) found(g, g->executed);
    return;
  }
  if ((g->order == MX_DEBUG_NEXT || g->order == MX_DEBUG_NEXT_LINE) && deeper) return;
  if (g->order == MX_DEBUG_STEP || g->order == MX_DEBUG_NEXT) {
    found(g, g->executed);
    return;
  }
  uint32_t line = mx__debug_line(g, x->fn->number, i->pc);
  bool begins = s->known ? line != s->line || x->fn->number != s->func
                         : !i->pc || mx__debug_line(g, x->fn->number, i->pc - 1) != line;
  if (begins && line) found(g, g->executed);
  s->known = true, s->line = line, s->func = x->fn->number;
}

void mx__debug_searched(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  struct mx_search *s = &g->search;
  if (s->what == MX_SEARCH_REGISTER && s->is_argument && mx__ops[i->op].flags & MX_F_CALL && of_order(g, x) &&
      of_frame(s, x->frame) && x->frame->lanes & s->lanes) { /* a call has passed the argument */
    found(g, g->executed);
    mx__debug_culprit(g, x, i, x->frame->lanes & s->lanes, &s->culprit);
    s->culprit.function = x->frame->parent->fn->func->name;
    mx__line_of(g->prep->image, x->frame->parent->fn->number, i->pc, &s->culprit.file, &s->culprit.line);
  }
  if (s->what == MX_SEARCH_ORDER && g->pending && g->order == MX_DEBUG_CONTINUE)
    found_stop(g, g->executed, g->pending_address ? MX_DEBUG_AT_WATCH : MX_DEBUG_AT_BREAKPOINT, g->pending);
  g->pending = 0;
  if (s->what != MX_SEARCH_WRITE || !s->hit) return;
  if (!s->changes || !s->held || memcmp(s->place, s->old, s->held)) {
    found(g, g->executed);
    mx__debug_culprit(g, x, i, s->hit, &s->culprit);
  }
  s->hit = s->held = 0;
}

/* ---- orders ---------------------------------------------------------------------------------------------*/
static mx_status can_go_back(struct mx_debug *g, const char *call) {
  if (!g) return MX_INVALID_VALUE;
  mx_status s = g->over ? MX_OK : mx__debug_ready(g, call);
  if (s != MX_OK) return s;
  if (!g->record) return mx__fail(g->device, MX_NOT_FOUND, "nothing is recorded: mx_debug_record comes first");
  if (mx__record_before(g, UINT64_MAX) == UINT64_MAX)
    return mx__fail(g->device, MX_NOT_FOUND, "recording has only begun: there is no state yet to go back to");
  return MX_OK;
}

/* Lets the launch go on from the last state up to `from`. */
static mx_status take_back(struct mx_debug *g, uint64_t from, mx_debug_stop *stop) {
  if (g->executed > g->muted) g->muted = g->executed;
  mx__record_take(g, from);
  g->rewinding = g->fresh = true;
  g->over = false;
  return mx__debug_resume(g, stop);
}

static mx_status travel(struct mx_debug *g, uint64_t position, mx_debug_reason reason, mx_debug_stop *stop) {
  g->stop_at = position;
  g->stop_at_reason = reason;
  return take_back(g, position, stop);
}

/* Looks for the last `count` matches before here; *position: the answer. False: there are fewer. Afterwards the launch
 * is at an arbitrary place: travel() must follow. */
static bool search(struct mx_debug *g, uint64_t count, uint64_t *position) {
  struct mx_search *s = &g->search;
  uint64_t end = g->executed, missing = count;
  bool got = false;
  s->last = malloc(count * sizeof *s->last);
  while (s->last && !got) {
    uint64_t begin = mx__record_before(g, end);
    if (begin == end) break;
    s->end = end;
    s->count = missing;
    s->found = s->hit = 0;
    s->known = false;
    s->on = true;
    take_back(g, begin, NULL);
    s->on = false;
    got = s->found >= missing;
    if (got) *position = s->last[s->found % missing];
    else missing -= s->found;
    end = begin;
  }
  free(s->last);
  s->last = NULL;
  return got;
}

mx_status mx_debug_back(mx_debug *g, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                        mx_debug_stop *stop) {
  mx_status s = can_go_back(g, "mx_debug_back");
  if (s != MX_OK) return s;
  if ((unsigned)order > MX_DEBUG_FINISH || count > 1u << 20)
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_back: no such order, or more than %u steps", 1u << 20);
  if (order != MX_DEBUG_CONTINUE && (block >= g->launch->nblocks || warp >= g->launch->warps))
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_back: block %llu has no warp %u", (unsigned long long)block,
                    warp);
  const struct mx_block *b = g->over ? NULL : mx__debug_block(g, block);
  const struct mx_split *sp =
      b && warp < b->nwarps ? mx__debug_split(g, (struct mx_block *)(uintptr_t)b, (struct mx_warp *)&b->warps[warp], 0)
                            : NULL;
  g->order = order;
  g->block = block;
  g->warp = warp;
  g->focus_block = b;
  g->search.what = MX_SEARCH_ORDER;
  g->search.depth = sp ? sp->frame->depth : order == MX_DEBUG_FINISH ? 0 : UINT32_MAX;
  uint64_t position = 0;
  if (search(g, count ? count : 1, &position)) {
    const mx_debug_stop why = g->search.stop;
    if (order != MX_DEBUG_CONTINUE) return travel(g, position, MX_DEBUG_AT_STEP, stop);
    if ((s = travel(g, position, why.reason, NULL)) != MX_OK) return s;
    if (g->stop.reason == why.reason && count <= 1) /* of the first of several no more is known than that it was one */
      g->stop.breakpoint = why.breakpoint, g->stop.watch = why.watch, g->stop.address = why.address,
      g->stop.writer = why.writer;
    return stop ? mx_debug_where(g, stop) : MX_OK;
  }
  mx_debug_recording r = {0};
  mx__record_info(g, &r);
  return travel(g, r.oldest, MX_DEBUG_AT_OLDEST, stop);
}

mx_status mx_debug_goto(mx_debug *g, uint64_t position, mx_debug_stop *stop) {
  mx_status s = can_go_back(g, "mx_debug_goto");
  if (s != MX_OK) return s;
  mx_debug_recording r = {0};
  mx__record_info(g, &r);
  if (position < r.oldest || position > r.newest)
    return mx__fail(g->device, MX_NOT_FOUND, "position %llu is not recorded: %llu to %llu are",
                    (unsigned long long)position, (unsigned long long)r.oldest, (unsigned long long)r.newest);
  return travel(g, position, MX_DEBUG_AT_STEP, stop);
}

/* ---- who wrote it -----------------------------------------------------------------------------------------*/
static mx_status last_fit(struct mx_debug *g, mx_debug_culprit *out) {
  uint64_t here = g->executed, position;
  mx_debug_reason reason = g->stop.reason;
  mx_debug_recording r = {0};
  bool got = search(g, 1, &position);
  mx_debug_culprit c = g->search.culprit;
  travel(g, here, reason, NULL);
  if (got) return mx__fail_plain(g->device, mx__struct_out(out, &c, sizeof c));
  mx__record_info(g, &r);
  return mx__fail(g->device, MX_NOT_FOUND, "not written since position %llu, the oldest that is recorded",
                  (unsigned long long)r.oldest);
}

mx_status mx_debug_last_register(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                 const char *name, uint64_t lanes, mx_debug_culprit *out) {
  mx_status s = can_go_back(g, "mx_debug_last_register");
  if (s == MX_OK) s = mx__debug_ready(g, "mx_debug_last_register");
  if (s != MX_OK) return s;
  if (!name || !out)
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_last_register: no name, or no place for the answer");
  uint32_t pc;
  struct mx_frame *f;
  struct mx_register_place p;
  s = mx__debug_frame(g, block, warp, split, frame, &f, &pc);
  if (s == MX_OK && !mx__debug_place(f->fn->func, pc, name, &p))
    s = mx__fail(g->device, MX_NOT_FOUND, "'%s' holds nothing at pc %u of '%s'", name, pc, f->fn->func->name);
  if (s != MX_OK) return s;
  g->block = block;
  g->warp = warp;
  g->search.what = MX_SEARCH_REGISTER;
  g->search.of = f->fn->func;
  g->search.depth = f->depth;
  g->search.ref = (mx_ref)mx__debug_offset(f->fn, g->prep->lanes, &p, p.slot);
  g->search.lanes = lanes;
  g->search.is_argument = false;
  for (uint32_t k = 0; k < f->fn->func->nargs && !p.spilled; k++)
    g->search.is_argument |= f->fn->func->args[k].cls == p.cls && f->fn->func->args[k].slot == p.slot;
  return last_fit(g, out);
}

static mx_status last_write(mx_debug *g, mx_addr address, uint64_t bytes, uint64_t block, bool changes,
                            mx_debug_culprit *out, const char *call) {
  mx_status s = can_go_back(g, call);
  if (s != MX_OK) return s;
  if (!bytes || !out) return mx__fail(g->device, MX_INVALID_VALUE, "%s: no bytes, or no place for the answer", call);
  g->block = block;
  g->search.what = MX_SEARCH_WRITE;
  g->search.address = address;
  g->search.bytes = bytes;
  g->search.changes = changes;
  return last_fit(g, out);
}
mx_status mx_debug_last_write(mx_debug *g, mx_addr address, uint64_t bytes, uint64_t block, mx_debug_culprit *out) {
  return last_write(g, address, bytes, block, false, out, "mx_debug_last_write");
}
mx_status mx_debug_last_change(mx_debug *g, mx_addr address, uint64_t bytes, uint64_t block, mx_debug_culprit *out) {
  return last_write(g, address, bytes, block, true, out, "mx_debug_last_change");
}

/* ---- recording --------------------------------------------------------------------------------------------*/
mx_status mx_debug_record(mx_debug *g, bool on, uint64_t limit) {
  mx_status s = mx__debug_ready(g, "mx_debug_record");
  if (s != MX_OK) return s;
  if (on && g->step)
    return mx__fail(g->device, MX_UNSUPPORTED, "a launch that tools watch cannot be recorded, as they cannot go back");
  mx__record_free(g);
  if (!on) return MX_OK;
  if (!mx__record_begin(g, limit)) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  if (!g->executed) mx__record_first(g);
  return MX_OK;
}

mx_status mx_debug_get_recording(mx_debug *g, mx_debug_recording *out) {
  if (!g) return MX_INVALID_VALUE;
  mx_debug_recording r = {.now = g->executed};
  mx__record_info(g, &r);
  return mx__fail_plain(g->device, mx__struct_out(out, &r, sizeof r));
}

/* Debugging sessions: a launch in a thread of its own whose instructions ask, each before it runs, whether to stop.
 *
 * The code that a session runs is prepared for it alone, with one body in all instructions: stop_or_go. So a launch
 * without a session pays nothing, and within a session no engine and no schedule has to know that it can stop: the
 * thread simply waits inside an instruction. While it waits it holds no lock on the device's memory. */
#include "session.h"

#include "vm/exec/attach.h"
#include "vm/exec/hooks.h"
#include "vm/exec/interp.h"
#include "vm/exec/launch.h"
#include "vm/exec/stuck.h"
#include "vm/exec/warp.h"
#include "vm/host/checker.h"
#include "vm/host/output.h"
#include "vm/load/module.h"
#include "vm/load/prepare.h"

#include <stdlib.h>
#include <string.h>

/* ---- standing still -------------------------------------------------------------------------------------*/

static void describe(struct mx_debug *g, struct mx_exec *x, uint32_t func, uint32_t pc) {
  mx_debug_stop *s = &g->stop;
  const struct mx_image *image = g->prep->image;
  s->block = x->block->index;
  memcpy(s->ctaid, x->block->ctaid, sizeof s->ctaid);
  s->warp = x->warp->number;
  s->function = image->funcs[func].name;
  s->pc = pc;
  mx__line_of(image, func, pc, &s->file, &s->line);
  s->steps = g->executed;
}

/* Waits for the next order. False: the session is to end. */
static bool stand(struct mx_debug *g, struct mx_exec *x) {
  struct mx_device *d = g->device;
  /* output printed so far is shown now, and once */
  if (g->muted && g->executed <= g->muted) mx__output_discard(d);
  else mx__output_flush(d);
  mx__group_release(x->launch);
  mx__rwunlock(&d->mem);
  mx__lock(&g->lock);
  g->launch = x->launch;
  g->x = x;
  g->standing = true;
  pthread_cond_broadcast(&g->moved);
  while (g->standing) mx__wait(&g->moved, &g->lock);
  bool go = !g->quit;
  mx__unlock(&g->lock);
  mx__lock_read(&d->mem);
  mx__group_hold(d, x->launch);
  /* allocations may have gone meanwhile, and the code may be another */
  memset(x->bounds, 0, sizeof *x->bounds * (g->prep->nbounds ? g->prep->nbounds : 1));
  return go;
}

/* Notes that a step of the order's warp begins at pc of the frame. */
static void arm(struct mx_debug *g, const struct mx_frame *f, uint32_t pc) {
  g->armed = true;
  g->start_func = f->fn->number;
  g->start_line = mx__debug_line(g, f->fn->number, pc);
  g->start_depth = f->depth;
}

/* Where the order's warp is when the order comes. If it is at the stop, or waits in an instruction, that instruction is
 * the step's start. Otherwise the step begins with the next instruction, in the warp's turn. */
static void arm_at_order(struct mx_debug *g) {
  g->armed = false;
  if (g->x->block->index == g->block && g->x->warp->number == g->warp && g->stop.reason != MX_DEBUG_AT_TRAP) {
    arm(g, g->x->split->frame, g->x->split->pc);
    return;
  }
  const struct mx_warp *w = g->focus_block ? &g->focus_block->warps[g->warp] : NULL;
  bool waits = w && w->nsplits;
  for (uint32_t n = 0; waits && n < w->nsplits; n++)
    waits = w->splits[n].state != MX_RUNNABLE || mx__waits_at_join(&w->splits[n]);
  if (waits) arm(g, w->splits[w->nsplits - 1].frame, w->splits[w->nsplits - 1].pc);
}

/* Whether the order ends before this instruction; *reason says how. */
static bool order_done(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, mx_debug_reason *reason) {
  if (g->order == MX_DEBUG_CONTINUE) return false;
  if (x->block->index != g->block || x->warp->number != g->warp) {
    const struct mx_block *b = g->focus_block;
    *reason = MX_DEBUG_AT_WARP_END;
    return b && (b->index != g->block || (b->started && !b->warps[g->warp].live));
  }
  g->focus_block = x->block;
  if (!g->armed) {
    arm(g, x->frame, i->pc);
    return false;
  }
  *reason = MX_DEBUG_AT_STEP;
  bool deeper = x->frame->depth > g->start_depth,
       lines = g->order == MX_DEBUG_STEP_LINE || g->order == MX_DEBUG_NEXT_LINE;
  if (g->order == MX_DEBUG_FINISH) return x->frame->depth < g->start_depth;
  if ((g->order == MX_DEBUG_NEXT || g->order == MX_DEBUG_NEXT_LINE) && deeper) return false;
  if (lines) {
    uint32_t line = mx__debug_line(g, x->fn->number, i->pc);
    if (line && line == g->start_line && x->fn->number == g->start_func) return false;
    g->start_line = line;
    g->start_func = x->fn->number;
    g->start_depth = x->frame->depth;
  }
  return !--g->count;
}

static void tell_trace(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  mx_debug_event e = {.struct_size = sizeof e,
                      .block = x->block->index,
                      .warp = x->warp->number,
                      .pc = i->pc,
                      .lanes = mx__lanes_of(x, i),
                      .function = x->fn->func->name,
                      .instruction = mx__mnemonic(i->op)};
  mx__line_of(g->prep->image, x->fn->number, i->pc, &e.file, &e.line);
  g->trace(g->trace_user, &e);
}

/* Unwinds to the scheduler, which ends the launch or takes it back. */
static const struct mx_insn *leave_for_good(struct mx_exec *x, const struct mx_insn *i) {
  mx__launch_stop(x->launch, MX_STOP_INTERRUPT);
  x->slice = x->reserve = 0;
  mx__uncount(x, i);
  return mx__leave(x, i->pc, MX_EV_SLICE);
}

/* Every breakpoint is tested, since each counts its hits. */
static bool wants_stop(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, mx_debug_reason *reason) {
  if (!g->begun) {
    g->begun = true;
    *reason = MX_DEBUG_AT_BEGIN;
    return true;
  }
  if (g->stop_at != UINT64_MAX) { /* on the way back to a position: nothing else stops */
    *reason =
        g->stop_at_reason == MX_DEBUG_AT_BREAKPOINT && !g->stop.breakpoint ? MX_DEBUG_AT_BRKPT : g->stop_at_reason;
    return g->executed >= g->stop_at;
  }
  bool done = order_done(g, x, i, reason);
  bool hit = g->marks && mx__debug_breakpoint(g, x, i);
  if (g->pending) {
    g->stop.breakpoint = g->pending;
    *reason = g->pending_address ? MX_DEBUG_AT_WATCH : MX_DEBUG_AT_BREAKPOINT;
    g->stop.watch = g->pending_address ? g->pending : 0;
    g->stop.address = g->pending_address;
    g->stop.writer = g->pending_writer;
    g->pending = 0;
    return true;
  }
  if (g->found_pending) {
    *reason = MX_DEBUG_AT_FINDING;
    g->found_pending = false;
    g->stop.finding = g->found;
    g->stop.writer = g->pending_writer;
    g->found = g->device->checker->found(g->device->check);
    return true;
  }
  if (hit) *reason = g->stop.breakpoint ? MX_DEBUG_AT_BREAKPOINT : MX_DEBUG_AT_BRKPT;
  else if (g->watch && mx__debug_asks(g, x, i, g->watch, g->watch_user)) *reason = MX_DEBUG_AT_WATCH;
  else if (done) return true;
  else if (atomic_load_explicit(&g->pause, memory_order_relaxed) && atomic_exchange(&g->pause, false))
    *reason = MX_DEBUG_AT_PAUSE;
  else return false;
  return true;
}

/* Schedules of a seed: a turn may end before whatever others can see. It counts as no spinning. */
static bool preempts(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_op_info *o = &mx__ops[i->op];
  if (o->cls != MX_MEM && !(o->flags & (MX_F_SYNC | MX_F_VOLATILE))) return false;
  uint64_t z = g->random += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  if ((z ^ z >> 31) & 3) return false;
  x->slice = x->reserve = 0;
  x->warp->spins = x->block->leader->spins = 0;
  return true;
}

/* Stops behind the instruction that triggered them. */
static void after_step(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, uint64_t lanes) {
  if (g->divergences && x->stats.splits != g->splits)
    for (size_t n = 0; n < g->nbreaks && !g->pending; n++)
      if (g->breaks[n].enabled && g->breaks[n].divergence) {
        g->breaks[n].hits++;
        g->pending = g->breaks[n].number;
        g->pending_address = 0;
        mx__debug_culprit(g, x, i, lanes, &g->pending_writer);
      }
  g->splits = x->stats.splits;
  if (g->step && !g->found_pending && !g->pending && g->device->checker->found(g->device->check) > g->found) {
    g->found_pending = true;
    mx__debug_culprit(g, x, i, lanes, &g->pending_writer);
  }
  if (g->search.on) mx__debug_searched(g, x, i);
  if (g->checks_values) mx__debug_compare(g);
}

static void show_trap(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  const struct mx_trap *t = &x->launch->trap;
  g->trap_shown = true;
  x->block = b->leader;
  for (uint32_t k = 0; k < b->nmembers; k++)
    if (!memcmp(b->leader->members[k]->ctaid, t->block, sizeof t->block)) x->block = b->leader->members[k];
  g->stop.reason = MX_DEBUG_AT_TRAP;
  g->stop.status = MX_TRAPPED;
  g->stop.trap = t->kind;
  mx__trap_record_make(&g->trap, x->launch);
  g->stop.text = g->trap.info.text;
  g->stop.lanes = t->lanes;
  x->warp = &x->block->warps[t->warp];
  describe(g, x, t->func, t->pc);
  stand(g, x);
}

static void show_end(struct mx_debug *g, struct mx_exec *x) {
  g->over = true;
  g->stop.reason = MX_DEBUG_AT_END;
  g->stop.status = MX_OK;
  g->stop.text = NULL;
  g->stop.steps = g->executed;
  stand(g, x);
  g->over = false;
}

/* The launch cannot go on: it has trapped, or (b NULL) ended. A search on the way back ends there. */
static void show(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  struct mx_launch *l = x->launch;
  if (g->quit || g->rewinding) return;
  if (g->search.on) {
    stand(g, x);
    return;
  }
  g->stop_at = UINT64_MAX;
  if (b && l->trapped && !g->trap_shown) show_trap(g, x, b);
  else if (!b && g->record && !l->trapped && !atomic_load(l->stop)) show_end(g, x);
}

/* The split may stand elsewhere than at `was`, which has been counted: at the code that it stands at now. */
static const struct mx_insn *look_again(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *was) {
  mx__uncount(x, was);
  mx__select(x, x->split);
  const struct mx_insn *i = mx__at(x->fn, x->split->pc);
  g->pass = i->kind == MX_INSN_JOIN ? i + 1 : i;
  g->moved_code = false;
  return i;
}

/* The body of entries of compiled code. */
static const struct mx_insn *go_compiled(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_debug *g = x->launch->debug;
  if (g->checks_values || !mx__debug_unwatched(g, x, i)) return g->bodies[0](x, i);
  const uint64_t before = x->steps;
  mx__compiled_enters(x);
  const struct mx_insn *next = mx__jit_entry_body(x, i);
  if (g->together) return mx__debug_uncount_trap(x, next);
  g->executed += x->steps - before + 1; /* the machine counts i itself when its body is back */
  if (!next && x->event == MX_EV_TRAP) show(g, x, x->block);
  return next;
}

/* What the instruction does, looked at by a checker where there is one. */
static const struct mx_insn *execute(const struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  return (g->step && x->launch->observed ? g->step : g->real->bodies[i->op])(x, i);
}

/* The body for instructions at which nothing can stop. */
static const struct mx_insn *just_go(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_insn *next = execute(g, x, i);
  if (g->together) return mx__debug_uncount_trap(x, next);
  g->executed++;
  if (g->nwritten) mx__debug_compare(g);
  if (!next && x->event == MX_EV_TRAP) show(g, x, x->block);
  return next;
}

/* The body of every instruction of a session. */
static const struct mx_insn *stop_or_go(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_debug *g = x->launch->debug;
  mx_debug_reason reason;
  if (mx__debug_unwatched(g, x, i)) return just_go(g, x, i);
  if (g->together) return mx__debug_suspend_before(x, i);
  if (g->quit || g->rewinding) return leave_for_good(x, i);
  if (i == g->pass) {
    g->pass = NULL;
  } else {
    if (g->seed && preempts(g, x, i)) return mx__uncount(x, i), mx__leave(x, i->pc, MX_EV_SLICE);
    if (g->executed == g->muted && g->muted) {
      mx__output_discard(g->device);
      g->muted = 0;
    }
    if (g->record && g->begun) {
      x->split->pc = i->pc;
      mx__edits_apply(g);
      if (g->moved_code) return look_again(g, x, i);
    }
    if (g->search.on) {
      if (g->executed >= g->search.end) { /* who searches takes the launch back again */
        x->split->pc = i->pc;
        stand(g, x);
        return leave_for_good(x, i);
      }
      mx__debug_search(g, x, i);
    } else if (wants_stop(g, x, i, &reason)) {
      x->split->pc = i->pc;
      g->stop_at = UINT64_MAX;
      g->stop.reason = reason;
      g->stop.lanes = reason == MX_DEBUG_AT_BRKPT ? mx__lanes_of(x, i) : x->mask;
      describe(g, x, x->fn->number, i->pc);
      if (!stand(g, x) || g->rewinding) return leave_for_good(x, i);
      if (g->moved_code) return look_again(g, x, i);
      if (mx__record_is_empty(g)) { /* a state can be taken where a turn begins: let one begin */
        g->pass = i;
        return mx__debug_suspend_before(x, i);
      }
    }
  }
  if (g->trace && !g->search.on) tell_trace(g, x, i);
  uint64_t lanes = g->divergences || g->step ? mx__lanes_of(x, i) : 0;
  g->nwritten = 0;
  g->at = i;
  if (x->frame->compiled && !g->plain) mx__compiled_steps(g, x, i);
  const enum mx_effect does = mx__effect(i->op);
  if (g->record && (does == MX_DOES_MALLOC || does == MX_DOES_FREE)) mx__debug_heap(x);
  const struct mx_insn *next = execute(g, x, i);
  after_step(g, x, i, lanes);
  g->executed++;
  if (!next && x->event == MX_EV_TRAP) show(g, x, x->block);
  return next;
}

struct mx_block *mx__debug_stopped(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  show(g, x, b);
  return g->rewinding && !g->quit ? mx__record_rewind(g, x) : NULL;
}

#define BUSY_TURNS \
  64u /* so that lanes that compute are not suspected at once, as those are whose registers do not change either */

static uint64_t longest_quiet(const struct mx_debug *g, const struct mx_launch *l) {
  return g->hang_turns * BUSY_TURNS * l->resident;
}

/* True: a turn of the block has left its registers as they were. */
static bool note_turn(struct mx_debug *g, const struct mx_block *b, uint64_t digest) {
  uint64_t *seen = &g->seen[b->index % 64];
  const bool same = *seen == digest;
  *seen = digest;
  g->quiet += same ? BUSY_TURNS : 1;
  return same;
}

/* Other workers may join only while memory is not observed, so they leave. */
void mx__debug_spun(struct mx_debug *g, struct mx_launch *l, const struct mx_block *b, uint64_t digest) {
  if (!g->hang_turns) return;
  note_turn(g, b, digest);
  if (g->quiet >= longest_quiet(g, l)) mx__launch_stop(l, MX_STOP_REST);
}

/* Whether memory's values change is watched, instruction by instruction, only when registers no longer do, or after a
 * long time: until then compiled code may run. */
static bool has_hung(struct mx_debug *g, const struct mx_exec *x, const struct mx_block *b) {
  const uint64_t limit = longest_quiet(g, x->launch);
  const bool watched = g->checks_values;
  if (g->value_changed) g->quiet = g->sure = 0;
  g->value_changed = false;
  const bool same = note_turn(g, b, mx__block_digest(b));
  g->sure = watched ? g->sure + BUSY_TURNS : 0;
  g->checks_values = same || g->quiet >= limit;
  if (g->checks_values != watched) memset(x->bounds, 0, sizeof *x->bounds * (g->prep->nbounds ? g->prep->nbounds : 1));
  return g->quiet >= limit && g->sure >= limit;
}

void mx__debug_parked(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  if (!g->hang_turns || !has_hung(g, x, b)) return;
  g->quiet = g->sure = 0;
  if (g->search.on || g->stop_at != UINT64_MAX || g->quit) return;
  for (uint32_t k = 0; b->ended && k < b->nmembers; k++) b = b->leader->members[k];
  x->block = b;
  const struct mx_split *s = b->warps[0].splits;
  for (uint32_t w = 0; w < b->nwarps; w++)
    if (b->warps[w].nsplits) {
      x->warp = &b->warps[w];
      s = &x->warp->splits[x->warp->nsplits - 1];
      break;
    }
  x->split = &x->warp->splits[s - x->warp->splits];
  g->stop.reason = MX_DEBUG_AT_HANG;
  g->stop.lanes = s->mask;
  g->stop.text = NULL;
  describe(g, x, s->frame->fn->number, s->pc);
  if (!stand(g, x) || g->rewinding) mx__launch_stop(x->launch, MX_STOP_INTERRUPT);
  g->moved_code = false;
}

void mx__debug_turn(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  if (g->record && !g->quit && !g->rewinding) mx__record_turn(g, x, b);
}

/* ---- the session ----------------------------------------------------------------------------------------*/

static bool is_paused(const struct mx_debug *g) { return atomic_load(&g->pause); }

static const struct mx_hooks hooks = {
    .turn = mx__debug_turn,
    .went_on = mx__debug_went_on,
    .parked = mx__debug_parked,
    .stopped = mx__debug_stopped,
    .sees_writes = mx__debug_sees_writes,
    .writes = mx__debug_writes,
    .clears = mx__debug_clears,
    .may_run_compiled = mx__debug_may_run_compiled,
    .enters_compiled = mx__compiled_enters,
    .ran_compiled = mx__compiled_ran,
    .paused = is_paused,
    .unwatched = mx__debug_unwatched,
    .joins = mx__debug_joins,
    .helps = mx__debug_helps,
    .parts = mx__debug_parts,
    .rests = mx__debug_rests,
    .digest = mx__block_digest,
    .spun = mx__debug_spun,
    .close = mx_debug_end,
};

static void *session_main(void *arg) {
  struct mx_debug *g = arg;
  const struct mx_session_launch of = {g, &hooks, g->prep};
  mx_status s = mx__launch_debug(g->kernel, &g->config, g->params, g->param_bytes, &of);
  mx__lock(&g->lock);
  g->ended = g->standing = true;
  g->status = s;
  g->launch = NULL;
  g->x = NULL;
  g->stop.reason = MX_DEBUG_AT_END;
  g->stop.status = s;
  g->stop.text = NULL;
  g->stop.steps = g->executed;
  pthread_cond_broadcast(&g->moved);
  mx__unlock(&g->lock);
  return NULL;
}

static void session_free(struct mx_debug *g) {
  for (size_t n = 0; n < g->nbreaks; n++) free(g->breaks[n].places), free(g->breaks[n].test);
  for (uint32_t f = 0; g->marks && f < g->prep->nfuncs; f++) free(g->marks[f]);
  free(g->marks);
  free(g->breaks);
  mx__record_free(g);
  mx__trap_record_clear(&g->trap);
  free(g->by_hand);
  mx__compiled_free(g);
  mx__prepared_free(g->prep);
  mx__debug_forget(g);
  free(g->written);
  free(g->bodies);
  free(g->params);
  mx__lock_done(&g->lock);
  pthread_cond_destroy(&g->moved);
  free(g);
}

static struct mx_debug *session_new(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes) {
  struct mx_debug *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  mx__lock_init(&g->lock, MX_LOCK_SESSION);
  pthread_cond_init(&g->moved, NULL);
  g->device = k->module->device;
  g->kernel = k;
  g->config = (mx_launch_config)MX_LAUNCH_CONFIG_INIT;
  memcpy(&g->config, config, config->struct_size);
  g->config.jit_stress = 0;
  g->config.timeout = 0;
  g->param_bytes = bytes;
  g->next_number = 1;
  g->stop_at = UINT64_MAX;
  g->written = malloc(MX_MAX_LANES * sizeof *g->written);
  g->stop.struct_size = sizeof g->stop;
  g->params = malloc(bytes + 1);
  g->bodies = malloc(MX_OP_COUNT * sizeof *g->bodies);
  g->entry_body = go_compiled;
  g->real = mx__level(NULL);
  if (g->params && bytes) memcpy(g->params, params, bytes);
  for (unsigned op = 0; g->bodies && op < MX_OP_COUNT; op++) g->bodies[op] = stop_or_go;
  g->level = *g->real;
  g->level.bodies = g->level.unguarded = g->bodies;
  const bool checked = g->device->check && g->device->checker->is_on(g->device->check);
  if (checked) g->step = g->device->checker->step, g->found = g->device->checker->found(g->device->check);
  if (g->bodies && checked) g->prep = g->device->checker->prepare(k, &g->level, config->shared_bytes);
  else if (g->bodies) g->prep = mx__prepare(&k->module->image->image, k->func, k->module->var_address, &g->level);
  if (g->prep) g->prep->clocks = true; /* the debugger may read clocks */
  for (uint32_t f = 0; g->prep && f < g->prep->nfuncs;
       f++) /* compiled code that does not want an instruction has it executed, and nothing asked */
    for (uint32_t n = 0; n < g->prep->funcs[f].ninsns; n++)
      if (g->prep->funcs[f].insns[n].kind == MX_INSN_OP)
        g->prep->funcs[f].body_of[n] = g->real->bodies[g->prep->funcs[f].insns[n].op];
  if (g->params && g->prep && g->written && mx__debug_mark(g) == MX_OK) return g;
  session_free(g);
  return NULL;
}

mx_status mx_debug_begin(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                         mx_debug **session) {
  if (!k) return MX_INVALID_VALUE;
  struct mx_device *d = k->module->device;
  if (!session) return mx__fail(d, MX_INVALID_VALUE, "mx_debug_begin: no place for the session");
  *session = NULL;
  mx__kernel_use(k, 1); /* until the session ends */
  mx_status s = mx__streams_drain(d);
  if (s == MX_OK) s = mx__device_usable(d);
  if (s == MX_OK) s = mx_launch_check(k, config, bytes);
  if (s == MX_OK && bytes && !params) s = mx__fail(d, MX_INVALID_VALUE, "launch: no parameters");
  struct mx_debug *g = s == MX_OK ? session_new(k, config, params, bytes) : NULL;
  if (s == MX_OK && !g) s = mx__fail_plain(d, MX_OUT_OF_MEMORY);
  if (s == MX_OK) {
    mx__lock(&d->lock);
    if (d->debug) s = MX_BUSY;
    else d->debug = g, d->hooks = &hooks;
    mx__unlock(&d->lock);
    if (s != MX_OK) mx__fail(d, s, "the device has a debugging session already");
  }
  if (s != MX_OK) {
    if (g) session_free(g);
    mx__kernel_use(k, -1);
    return s;
  }
  g->running = !pthread_create(&g->thread, NULL, session_main, g);
  if (!g->running) {
    mx_debug_end(g);
    return mx__fail(d, MX_HOST_FAILURE, "the system refuses another thread for a session");
  }
  mx__lock(&g->lock);
  while (!g->standing) mx__wait(&g->moved, &g->lock);
  s = g->ended ? g->status : MX_OK;
  mx__unlock(&g->lock);
  if (s != MX_OK) mx_debug_end(g);
  else *session = g;
  return s;
}

void mx_debug_end(mx_debug *g) {
  if (!g) return;
  struct mx_device *d = g->device;
  if (g->running) {
    mx__lock(&g->lock);
    if (!g->ended) {
      g->quit = true;
      g->plain = false;
      g->standing = false;
      pthread_cond_broadcast(&g->moved);
    }
    mx__unlock(&g->lock);
    pthread_join(g->thread, NULL);
  }
  mx_kernel *k = g->kernel;
  mx__lock(&d->lock);
  d->debug = NULL;
  mx__unlock(&d->lock);
  session_free(g);
  mx__kernel_use(k, -1);
}

/* ---- orders ---------------------------------------------------------------------------------------------*/

mx_status mx_debug_go(mx_debug *g, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                      mx_debug_stop *stop) {
  if (g && g->over) return mx__debug_resume(g, stop); /* the recorded launch ends */
  mx_status s = mx__debug_ready(g, "mx_debug_go");
  if (s != MX_OK) return s;
  if ((unsigned)order > MX_DEBUG_FINISH) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_go: no such order");
  if (order != MX_DEBUG_CONTINUE && (block >= g->launch->nblocks || warp >= g->launch->warps))
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_go: block %llu has no warp %u", (unsigned long long)block,
                    warp);
  g->order = order;
  g->block = block;
  g->warp = warp;
  g->count = count ? count : 1;
  g->focus_block = mx__debug_block(g, block);
  g->fresh = true;
  arm_at_order(g);
  return mx__debug_resume(g, stop);
}

void mx_debug_pause(mx_debug *g) {
  if (g) atomic_store(&g->pause, true);
}

mx_status mx_debug_trace(mx_debug *g, void (*fn)(void *user, const mx_debug_event *event), void *user) {
  mx_status s = mx__debug_ready(g, "mx_debug_trace");
  if (s != MX_OK) return s;
  g->trace = fn;
  g->trace_user = user;
  return MX_OK;
}

mx_status mx_debug_schedule(mx_debug *g, uint64_t seed) {
  mx_status s = mx__debug_ready(g, "mx_debug_schedule");
  if (s != MX_OK) return s;
  g->seed = g->random = seed;
  mx__record_forget(g); /* the past had another schedule */
  if (g->record && !g->executed) mx__record_first(g);
  return MX_OK;
}

mx_status mx_debug_suspect_hang(mx_debug *g, uint64_t turns) {
  mx_status s = mx__debug_ready(g, "mx_debug_suspect_hang");
  if (s != MX_OK) return s;
  g->hang_turns = turns < UINT32_MAX ? turns : UINT32_MAX;
  g->checks_values = false;
  g->quiet = g->sure = 0;
  return MX_OK;
}

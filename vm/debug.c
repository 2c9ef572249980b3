/* Debugging sessions: a launch in a thread of its own whose instructions ask, each before it runs, whether to stop.
 *
 * The code that a session runs is prepared for it alone, with one body in all instructions: stop_or_go. So a launch
 * without a session pays nothing, and within a session no engine and no schedule has to know that it can stop: the
 * thread simply waits inside an instruction. While it waits it holds no lock on the device's memory. */
#include "vm/debug.h"

#include "vm/fifo.h"
#include "vm/interp.h"
#include "vm/launch.h"
#include "vm/module.h"
#include "vm/prepare.h"

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
  x->launch->stats.printf_lost += mx__fifo_drain(d->fifo, d->output, d->output_user); /* people want to see it now */
  pthread_rwlock_unlock(&d->mem);
  pthread_mutex_lock(&g->lock);
  g->launch = x->launch;
  g->x = x;
  g->standing = true;
  pthread_cond_broadcast(&g->moved);
  while (g->standing) pthread_cond_wait(&g->moved, &g->lock);
  bool go = !g->quit;
  pthread_mutex_unlock(&g->lock);
  pthread_rwlock_rdlock(&d->mem);
  /* allocations may have gone meanwhile, and the code may be another */
  memset(x->bounds, 0, sizeof *x->bounds * (g->prep->nbounds ? g->prep->nbounds : 1));
  return go;
}

static uint32_t line_at(const struct mx_debug *g, uint32_t func, uint32_t pc) {
  const char *file;
  uint32_t line;
  mx__line_of(g->prep->image, func, pc, &file, &line);
  return line;
}

/* A step of the order's warp begins at pc of the frame. */
static void arm(struct mx_debug *g, const struct mx_frame *f, uint32_t pc) {
  g->armed = true;
  g->start_func = f->fn->number;
  g->start_line = line_at(g, f->fn->number, pc);
  g->start_depth = f->depth;
}

/* Where the order's warp stands when the order comes. At the stop, or waiting in an instruction: that one is the step's
 * start. Else it has an instruction before it that the step is to run: the step begins there, when its turn comes. */
static void arm_at_order(struct mx_debug *g) {
  g->armed = false;
  if (g->x->block->index == g->block && g->x->warp->number == g->warp && g->stop.reason != MX_DEBUG_AT_TRAP) {
    arm(g, g->x->split->frame, g->x->split->pc);
    return;
  }
  const struct mx_warp *w = g->focus_block ? &g->focus_block->warps[g->warp] : NULL;
  bool waits = w && w->nsplits;
  for (uint32_t n = 0; waits && n < w->nsplits; n++) waits = w->splits[n].state != MX_RUNNABLE;
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
  bool deeper = x->frame->depth > g->start_depth, lines = g->order == MX_DEBUG_STEP_LINE || g->order == MX_DEBUG_NEXT_LINE;
  if (g->order == MX_DEBUG_FINISH) return x->frame->depth < g->start_depth;
  if ((g->order == MX_DEBUG_NEXT || g->order == MX_DEBUG_NEXT_LINE) && deeper) return false;
  if (lines) {
    uint32_t line = line_at(g, x->fn->number, i->pc);
    if (line && line == g->start_line && x->fn->number == g->start_func) return false;
    g->start_line = line;
    g->start_func = x->fn->number;
    g->start_depth = x->frame->depth;
  }
  return !--g->count;
}

static bool breakpoint_here(struct mx_debug *g, uint32_t func, uint32_t pc) {
  if (!g->marks || !g->marks[func] || !g->marks[func][pc]) return false;
  int first = 0;
  for (size_t n = 0; n < g->nbreaks; n++) {
    struct mx_breakpoint *b = &g->breaks[n];
    for (uint32_t k = 0; b->enabled && k < b->nplaces; k++) {
      if (b->places[k].func != func || b->places[k].pc != pc) continue;
      b->hits++;
      if (!first) first = b->number;
      break;
    }
  }
  g->stop.breakpoint = first;
  return first != 0;
}

static void tell_trace(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  mx_debug_event e = {.block = x->block->index, .warp = x->warp->number, .pc = i->pc, .lanes = mx__lanes_of(x, i),
                      .function = x->fn->func->name, .instruction = mx__mnemonic(i->op)};
  mx__line_of(g->prep->image, x->fn->number, i->pc, &e.file, &e.line);
  g->trace(g->trace_user, &e);
}

static const struct mx_insn *leave_for_good(struct mx_exec *x, const struct mx_insn *i) {
  mx__launch_stop(x->launch, MX_STOP_INTERRUPT);
  x->slice = x->reserve = 0;
  return mx__leave(x, i->pc, MX_EV_SLICE);
}

/* All are asked, since each keeps count. */
static bool wants_stop(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, mx_debug_reason *reason) {
  if (!g->begun) {
    g->begun = true;
    *reason = MX_DEBUG_AT_BEGIN;
    return true;
  }
  bool done = order_done(g, x, i, reason);
  if (breakpoint_here(g, x->fn->number, i->pc)) *reason = MX_DEBUG_AT_BREAKPOINT;
  else if (done) return true;
  else if (atomic_exchange(&g->pause, false)) *reason = MX_DEBUG_AT_PAUSE;
  else return false;
  return true;
}

/* The body of every instruction of a session. */
static const struct mx_insn *stop_or_go(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_debug *g = x->launch->debug;
  mx_debug_reason reason;
  if (g->quit) return leave_for_good(x, i);
  if (i == g->pass) {
    g->pass = NULL;
  } else if (wants_stop(g, x, i, &reason)) {
    x->split->pc = i->pc;
    g->stop.reason = reason;
    g->stop.lanes = x->mask;
    describe(g, x, x->fn->number, i->pc);
    const struct mx_prepared *before = g->prep;
    if (!stand(g, x)) return leave_for_good(x, i);
    if (g->prep != before) {
      mx__select(x, x->split);
      i = mx__at(x->fn, x->split->pc);
      g->pass = i->kind == MX_INSN_JOIN ? i + 1 : i;
      return i;
    }
  }
  if (g->trace) tell_trace(g, x, i);
  g->executed++;
  const struct mx_insn *next = g->real->bodies[i->op](x, i);
  if (!next && x->event == MX_EV_TRAP) mx__debug_stopped(g, x, x->block);
  return next;
}

void mx__debug_stopped(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  struct mx_launch *l = x->launch;
  if (g->quit || g->trap_shown || !l->trapped) return;
  g->trap_shown = true;
  x->block = b;
  const struct mx_trap *t = &l->trap;
  g->stop.reason = MX_DEBUG_AT_TRAP;
  g->stop.status = MX_TRAPPED;
  g->stop.trap = t->kind;
  g->stop.text = t->detail;
  g->stop.lanes = t->lanes;
  x->warp = &b->warps[t->warp];
  describe(g, x, t->func, t->pc);
  stand(g, x);
}

/* ---- the session ----------------------------------------------------------------------------------------*/

static void *session_main(void *arg) {
  struct mx_debug *g = arg;
  mx_status s = mx__launch_debug(g->kernel, &g->config, g->params, g->param_bytes, g);
  pthread_mutex_lock(&g->lock);
  g->ended = g->standing = true;
  g->status = s;
  g->launch = NULL;
  g->x = NULL;
  g->stop.reason = MX_DEBUG_AT_END;
  g->stop.status = s;
  g->stop.text = NULL;
  pthread_cond_broadcast(&g->moved);
  pthread_mutex_unlock(&g->lock);
  return NULL;
}

static void session_free(struct mx_debug *g) {
  for (size_t n = 0; n < g->nbreaks; n++) free(g->breaks[n].places);
  for (uint32_t f = 0; g->marks && f < g->prep->nfuncs; f++) free(g->marks[f]);
  free(g->marks);
  free(g->breaks);
  mx__prepared_free(g->prep);
  mx__debug_forget(g);
  free(g->bodies);
  free(g->params);
  pthread_mutex_destroy(&g->lock);
  pthread_cond_destroy(&g->moved);
  free(g);
}

static struct mx_debug *session_new(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes) {
  struct mx_debug *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->moved, NULL);
  g->device = k->module->device;
  g->kernel = k;
  g->config = (mx_launch_config)MX_LAUNCH_CONFIG_INIT;
  memcpy(&g->config, config, config->struct_size);
  g->config.threads = 1;
  g->config.jit = MX_JIT_OFF;
  g->config.jit_stress = 0;
  g->config.timeout = 0;
  g->param_bytes = bytes;
  g->next_number = 1;
  g->stop.struct_size = sizeof g->stop;
  g->params = malloc(bytes + 1);
  g->bodies = malloc(MX_OP_COUNT * sizeof *g->bodies);
  g->real = mx__level(NULL);
  if (g->params && bytes) memcpy(g->params, params, bytes);
  for (unsigned op = 0; g->bodies && op < MX_OP_COUNT; op++) g->bodies[op] = stop_or_go;
  g->level = *g->real;
  g->level.bodies = g->bodies;
  if (g->bodies) g->prep = mx__prepare(&k->module->image->image, k->func, k->module->var_address, &g->level);
  if (g->params && g->prep) return g;
  session_free(g);
  return NULL;
}

mx_status mx_debug_begin(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                         mx_debug **session) {
  if (!k) return MX_INVALID_VALUE;
  struct mx_device *d = k->module->device;
  if (!session) return mx__fail(d, MX_INVALID_VALUE, "mx_debug_begin: no place for the session");
  *session = NULL;
  mx_status s = mx__streams_drain(d);
  if (s == MX_OK) s = mx__device_usable(d);
  if (s == MX_OK) s = mx_launch_check(k, config, bytes);
  if (s == MX_OK && bytes && !params) s = mx__fail(d, MX_INVALID_VALUE, "launch: no parameters");
  if (s != MX_OK) return s;
  struct mx_debug *g = session_new(k, config, params, bytes), *other;
  if (!g) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  pthread_mutex_lock(&d->lock);
  other = d->debug;
  if (!other) {
    d->debug = g;
    k->module->users++;
  }
  pthread_mutex_unlock(&d->lock);
  if (other) {
    session_free(g);
    return mx__fail(d, MX_BUSY, "the device has a debugging session already");
  }
  g->running = !pthread_create(&g->thread, NULL, session_main, g);
  if (!g->running) {
    mx_debug_end(g);
    return mx__fail(d, MX_HOST_FAILURE, "the system refuses another thread for a session");
  }
  pthread_mutex_lock(&g->lock);
  while (!g->standing) pthread_cond_wait(&g->moved, &g->lock);
  s = g->ended ? g->status : MX_OK;
  pthread_mutex_unlock(&g->lock);
  if (s != MX_OK) mx_debug_end(g);
  else *session = g;
  return s;
}

void mx_debug_end(mx_debug *g) {
  if (!g) return;
  struct mx_device *d = g->device;
  if (g->running) {
    pthread_mutex_lock(&g->lock);
    if (!g->ended) {
      g->quit = true;
      g->standing = false;
      pthread_cond_broadcast(&g->moved);
    }
    pthread_mutex_unlock(&g->lock);
    pthread_join(g->thread, NULL);
  }
  pthread_mutex_lock(&d->lock);
  d->debug = NULL;
  g->kernel->module->users--;
  pthread_mutex_unlock(&d->lock);
  session_free(g);
}

void mx__debug_close(struct mx_device *d) { mx_debug_end(d->debug); }

mx_status mx__debug_ready(struct mx_debug *g, const char *call) {
  if (!g) return MX_INVALID_VALUE;
  pthread_mutex_lock(&g->lock);
  bool standing = g->standing, ended = g->ended;
  pthread_mutex_unlock(&g->lock);
  if (!standing) return mx__fail(g->device, MX_BUSY, "%s: the session is running", call);
  if (ended) return mx__fail(g->device, MX_NOT_FOUND, "%s: the launch has ended", call);
  return MX_OK;
}

/* ---- orders ---------------------------------------------------------------------------------------------*/

mx_status mx_debug_go(mx_debug *g, mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count,
                      mx_debug_stop *stop) {
  mx_status s = mx__debug_ready(g, "mx_debug_go");
  if (s != MX_OK) return s;
  if ((unsigned)order > MX_DEBUG_FINISH) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_go: no such order");
  if (order != MX_DEBUG_CONTINUE && (block >= g->launch->nblocks || warp >= g->launch->warps))
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_go: block %llu has no warp %u", (unsigned long long)block, warp);
  g->order = order;
  g->block = block;
  g->warp = warp;
  g->count = count ? count : 1;
  g->focus_block = mx__debug_block(g, block);
  arm_at_order(g);
  atomic_store(&g->pause, false);
  g->stop.text = NULL;
  pthread_mutex_lock(&g->lock);
  g->standing = false;
  pthread_cond_broadcast(&g->moved);
  while (!g->standing) pthread_cond_wait(&g->moved, &g->lock);
  pthread_mutex_unlock(&g->lock);
  return stop ? mx_debug_where(g, stop) : MX_OK;
}

mx_status mx_debug_where(mx_debug *g, mx_debug_stop *stop) {
  if (!g) return MX_INVALID_VALUE;
  pthread_mutex_lock(&g->lock);
  mx_debug_stop s = g->stop;
  bool standing = g->standing;
  pthread_mutex_unlock(&g->lock);
  if (!standing) return mx__fail(g->device, MX_BUSY, "mx_debug_where: the session is running");
  return mx__fail_plain(g->device, mx__struct_out(stop, &s, sizeof s));
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

/* ---- breakpoints ----------------------------------------------------------------------------------------*/

/* Nothing changes when memory runs out. */
mx_status mx__debug_mark(struct mx_debug *g) {
  uint32_t n = g->prep->nfuncs;
  if (!g->marks && !(g->marks = calloc(n, sizeof *g->marks))) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  for (size_t b = 0; b < g->nbreaks; b++)
    for (uint32_t k = 0; k < g->breaks[b].nplaces; k++) {
      uint32_t f = g->breaks[b].places[k].func;
      if (!g->marks[f] && !(g->marks[f] = calloc(g->prep->image->funcs[f].ncode + 1u, 1)))
        return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
    }
  for (uint32_t f = 0; f < n; f++)
    if (g->marks[f]) memset(g->marks[f], 0, g->prep->image->funcs[f].ncode);
  for (size_t b = 0; b < g->nbreaks; b++)
    for (uint32_t k = 0; g->breaks[b].enabled && k < g->breaks[b].nplaces; k++)
      g->marks[g->breaks[b].places[k].func][g->breaks[b].places[k].pc] = 1;
  return MX_OK;
}

/* Takes places over. */
static mx_status add_break(struct mx_debug *g, struct mx_place *places, uint32_t nplaces, int *number) {
  struct mx_breakpoint *more = realloc(g->breaks, (g->nbreaks + 1) * sizeof *more);
  if (!more) {
    free(places);
    return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  }
  g->breaks = more;
  g->breaks[g->nbreaks++] = (struct mx_breakpoint){.number = g->next_number, .enabled = true, .places = places, .nplaces = nplaces};
  mx_status s = mx__debug_mark(g);
  if (s != MX_OK) {
    free(places);
    g->nbreaks--;
    return s;
  }
  *number = g->next_number++;
  return MX_OK;
}

static bool reachable(const struct mx_debug *g, uint32_t f) { return g->prep->funcs[f].insns != NULL; }

mx_status mx_debug_break(mx_debug *g, const char *function, uint32_t pc, int *number) {
  mx_status s = mx__debug_ready(g, "mx_debug_break");
  if (s != MX_OK) return s;
  if (!number) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_break: no place for the number");
  const struct mx_image *image = g->prep->image;
  uint32_t f = g->prep->kernel;
  if (function)
    for (f = 0; f < image->nfuncs && strcmp(image->funcs[f].name, function); f++) {}
  if (f >= image->nfuncs || !reachable(g, f))
    return mx__fail(g->device, MX_NOT_FOUND, "the kernel does not use a function '%s'", function);
  if (pc >= image->funcs[f].ncode || g->prep->funcs[f].index_of_pc[pc] == UINT32_MAX)
    return mx__fail(g->device, MX_NOT_FOUND, "no instruction of '%s' begins at pc %u", image->funcs[f].name, pc);
  struct mx_place *p = malloc(sizeof *p);
  if (!p) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  *p = (struct mx_place){f, pc};
  return add_break(g, p, 1, number);
}

static bool file_matches(const char *have, const char *want) {
  if (!want) return true;
  size_t h = strlen(have), w = strlen(want);
  return h >= w && !strcmp(have + h - w, want) && (h == w || have[h - w - 1] == '/' || !w);
}

/* The nearest line from `line` on that has code; 0: there is none. */
static uint32_t line_with_code(const struct mx_debug *g, const char *file, uint32_t line) {
  const struct mx_image *image = g->prep->image;
  uint32_t best = 0;
  for (uint32_t f = 0; f < image->nfuncs; f++)
    for (uint32_t k = 0; reachable(g, f) && k < image->funcs[f].nlines; k++) {
      const struct mx_line *l = &image->funcs[f].lines[k];
      if (l->file < image->nfiles && file_matches(image->files[l->file], file) && l->line >= line && (!best || l->line < best))
        best = l->line;
    }
  return best;
}

mx_status mx_debug_break_line(mx_debug *g, const char *file, uint32_t line, int *number) {
  mx_status s = mx__debug_ready(g, "mx_debug_break_line");
  if (s != MX_OK) return s;
  if (!number) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_break_line: no place for the number");
  const struct mx_image *image = g->prep->image;
  uint32_t found = line_with_code(g, file, line);
  if (!found)
    return mx__fail(g->device, MX_NOT_FOUND, "no code at or after line %u%s%s", line, file ? " of " : "", file ? file : "");
  struct mx_place *places = malloc(image->nfuncs * sizeof *places);
  if (!places) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  uint32_t n = 0;
  for (uint32_t f = 0; f < image->nfuncs; f++)
    for (uint32_t k = 0; reachable(g, f) && k < image->funcs[f].nlines; k++) {
      const struct mx_line *l = &image->funcs[f].lines[k];
      if (l->line != found || l->file >= image->nfiles || !file_matches(image->files[l->file], file) ||
          l->pc >= image->funcs[f].ncode || g->prep->funcs[f].index_of_pc[l->pc] == UINT32_MAX)
        continue;
      places[n++] = (struct mx_place){f, l->pc};
      break;
    }
  return add_break(g, places, n, number);
}

static struct mx_breakpoint *find_break(struct mx_debug *g, int number) {
  for (size_t n = 0; n < g->nbreaks; n++)
    if (g->breaks[n].number == number) return &g->breaks[n];
  mx__fail(g->device, MX_NOT_FOUND, "no breakpoint number %d", number);
  return NULL;
}

mx_status mx_debug_break_delete(mx_debug *g, int number) {
  mx_status s = mx__debug_ready(g, "mx_debug_break_delete");
  if (s != MX_OK) return s;
  struct mx_breakpoint *b = find_break(g, number);
  if (!b) return MX_NOT_FOUND;
  free(b->places);
  memmove(b, b + 1, (size_t)(g->breaks + --g->nbreaks - b) * sizeof *b);
  return mx__debug_mark(g);
}

mx_status mx_debug_break_enable(mx_debug *g, int number, bool on) {
  mx_status s = mx__debug_ready(g, "mx_debug_break_enable");
  if (s != MX_OK) return s;
  struct mx_breakpoint *b = find_break(g, number);
  if (!b) return MX_NOT_FOUND;
  b->enabled = on;
  return mx__debug_mark(g);
}

size_t mx_debug_break_count(mx_debug *g) { return g ? g->nbreaks : 0; }

mx_status mx_debug_break_at(mx_debug *g, size_t n, mx_debug_breakpoint *out) {
  if (!g) return MX_INVALID_VALUE;
  if (n >= g->nbreaks) return mx__fail(g->device, MX_NOT_FOUND, "there are %zu breakpoints", g->nbreaks);
  const struct mx_breakpoint *b = &g->breaks[n];
  mx_debug_breakpoint o = {.number = b->number, .enabled = b->enabled, .places = b->nplaces, .hits = b->hits};
  if (b->nplaces) {
    o.function = g->prep->image->funcs[b->places[0].func].name;
    o.pc = b->places[0].pc;
    mx__line_of(g->prep->image, b->places[0].func, o.pc, &o.file, &o.line);
  }
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

/* Compiled code in a session. While an order is to go on and nothing needs to see every instruction, entries lead to
 * code that was compiled for the session: it leaves before the instructions with breakpoints, so that the session stops
 * there as the interpreter would.
 *
 * 1. A place where code leaves is a stop; it may have a test, and then code leaves only where that holds in some
 *    lane. Stops are part of the code. Code with more stops than needed can be used, too: a bit of x->stops says for
 * each whether it is enabled.
 * 2. Compiled code stores only live slots in frames; at stops also nearly all named registers. Which slots of a
 * frame are current is known from the code's sets, and from what the interpreter has written since. Code is kept until
 * the session ends, because the sets for frames that it left are part of it. */
#include "session.h"

#include "vm/exec/attach.h"
#include "vm/exec/interp.h"
#include "vm/exec/launch.h"
#include "vm/host/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* test: the breakpoint's; "": the code always leaves; "all": likewise, since the condition may read any register. */
struct stop {
  uint32_t func, pc;
  const char *test;
};
struct code {
  struct mx_jit_kernel *jit;
  struct stop *stops;
  size_t nstops;
  char *text; /* the stops' */
};
/* By slot: the lanes whose values are current. Frames without such a record have the slots that their code keeps at
 * their pc. */
struct known {
  const struct mx_frame *frame;
  uint64_t *lanes;
};
struct mx_compiled {
  struct code *codes;
  size_t ncodes, now; /* now: the number of the code in use, from 1; 0: none */
  struct known *known;
  size_t nknown, recent;
};

/* ---- stops ------------------------------------------------------------------------------------------------*/
static void add_text(char **text, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *more = NULL, *all = NULL;
  if (*text && vasprintf(&more, fmt, ap) >= 0 && asprintf(&all, "%s%s", *text, more) < 0) all = NULL;
  va_end(ap);
  free(more);
  free(*text);
  *text = all;
}

/* "FUNC PC TEST;" for each; NULL: out of memory. */
static char *text_of(const struct stop *stops, size_t n) {
  char *text = strdup("");
  for (size_t k = 0; k < n; k++) add_text(&text, "%u %u %s;", stops[k].func, stops[k].pc, stops[k].test);
  return text;
}

static bool wanted(const struct mx_debug *g, struct stop **stops, size_t *n) {
  size_t all = 0;
  for (size_t b = 0; b < g->nbreaks; b++) all += g->breaks[b].enabled ? g->breaks[b].nplaces : 0;
  *n = 0;
  if (!(*stops = malloc((all + 1) * sizeof **stops))) return false;
  for (size_t b = 0; b < g->nbreaks; b++)
    for (uint32_t k = 0; g->breaks[b].enabled && k < g->breaks[b].nplaces; k++) {
      const struct mx_place *p = &g->breaks[b].places[k];
      (*stops)[(*n)++] = (struct stop){p->func, p->pc,
                                       !g->breaks[b].ask   ? ""
                                       : g->breaks[b].test ? g->breaks[b].test
                                                           : "all"};
    }
  return true;
}

/* The bit of a stop that can serve for s; -1: there is none. */
static int covering(const struct code *c, const struct stop *s) {
  for (size_t k = 0; k < c->nstops; k++)
    if (c->stops[k].func == s->func && c->stops[k].pc == s->pc &&
        (!strcmp(c->stops[k].test, "all") || !strcmp(c->stops[k].test, s->test)))
      return (int)(k % 64);
  return -1;
}

static bool covers(const struct code *c, const struct stop *stops, size_t n, uint64_t *bits) {
  *bits = 0;
  for (size_t k = 0; k < n; k++) {
    int bit = covering(c, &stops[k]);
    if (bit < 0) return false;
    *bits |= 1ull << bit;
  }
  return true;
}

/* Adds code with just these stops, which it takes over. Returns its number; 0: out of memory. */
static size_t code_new(struct mx_debug *g, struct stop *stops, size_t n) {
  struct mx_compiled *m = g->compiled;
  struct code *more = realloc(m->codes, (m->ncodes + 1) * sizeof *more), c = {.stops = stops, .nstops = n};
  if (more) m->codes = more;
  c.text = text_of(stops, n);
  if (more && c.text) c.jit = g->device->engine->session(g->kernel, g->prep, c.text, g->bodies[0], g->entry_body);
  if (!c.jit) return free(c.text), free(stops), 0;
  /* tests belong to breakpoints, which may go */
  for (size_t k = 0; k < n; k++)
    if (*stops[k].test && !(stops[k].test = strdup(stops[k].test))) stops[k].test = "";
  m->codes[m->ncodes++] = c;
  return m->ncodes;
}

/* Selects existing code, or has new code made. */
static size_t choose(struct mx_debug *g, uint64_t *bits) {
  struct mx_compiled *m = g->compiled;
  struct stop *stops;
  size_t n;
  if (!wanted(g, &stops, &n)) return 0;
  for (int ready = 1; ready >= 0; ready--)
    for (size_t k = 0; k < m->ncodes; k++)
      if (covers(&m->codes[k], stops, n, bits) &&
          (ready ? g->device->engine->session_ready(m->codes[k].jit) : m->codes[k].nstops == n)) {
        free(stops);
        return k + 1;
      }
  *bits = UINT64_MAX;
  return code_new(g, stops, n);
}

/* ---- running ----------------------------------------------------------------------------------------------*/

void mx__compiled_enters(struct mx_exec *x) { x->frame->compiled = (uint32_t)x->launch->debug->compiled->now; }

bool mx__debug_may_run_compiled(const struct mx_debug *g, const struct mx_exec *x) {
  const struct mx_pfunc *kernel = &x->prep->funcs[x->prep->kernel];
  return g->plain && !g->checks_values && !atomic_load(&g->pause) &&
         !(g->marks && g->marks[kernel->number] && g->marks[kernel->number][0]);
}

void mx__compiled_ran(struct mx_debug *g, struct mx_exec *x, uint64_t steps, bool trapped) {
  if (!g->together) g->executed += steps;
  else if (trapped) mx__debug_uncount_trap(x, NULL);
}

static void forget_known(struct mx_compiled *m) {
  while (m->nknown) free(m->known[--m->nknown].lanes);
}

mx_status mx__compiled_begin(struct mx_debug *g) {
  if (g->launch->jit == MX_JIT_OFF || g->replaced) return MX_OK;
  if (!g->compiled && !(g->compiled = calloc(1, sizeof *g->compiled))) return MX_OK;
  struct mx_compiled *m = g->compiled;
  forget_known(m);
  m->now = choose(g, &g->x->stops);
  mx_status s = m->now ? g->device->engine->session_begin(m->codes[m->now - 1].jit, g->launch) : MX_OK;
  if (s != MX_OK) mx__compiled_end(g);
  return s;
}

void mx__compiled_end(struct mx_debug *g) {
  struct mx_compiled *m = g->compiled;
  if (!m || !m->now) return;
  g->device->engine->session_end(m->codes[m->now - 1].jit);
  m->now = 0;
}

void mx__compiled_free(struct mx_debug *g) {
  struct mx_compiled *m = g->compiled;
  if (!m) return;
  for (size_t k = 0; k < m->ncodes; k++) {
    g->device->engine->session_forget(m->codes[k].jit);
    for (size_t s = 0; s < m->codes[k].nstops; s++)
      if (*m->codes[k].stops[s].test) free((char *)(uintptr_t)m->codes[k].stops[s].test);
    free(m->codes[k].stops);
    free(m->codes[k].text);
  }
  forget_known(m);
  free(m->known);
  free(m->codes);
  free(m);
  g->compiled = NULL;
}

/* ---- what frames hold ---------------------------------------------------------------------------------------*/
static uint32_t slots_of(const struct mx_func *f) { return (uint32_t)f->npred + f->n32 + f->n64; }

/* The slot's number, from its offset in the frame; UINT32_MAX: a spill cell, which compiled code also keeps in the
 * frame. */
static uint32_t slot_at(const struct mx_pfunc *fn, uint32_t lanes, uint32_t offset) {
  if (offset >= fn->off_spred) return UINT32_MAX;
  if (offset >= fn->off_r64) return fn->func->npred + fn->func->n32 + (offset - fn->off_r64) / (lanes * 8);
  if (offset >= fn->off_r32) return fn->func->npred + (offset - fn->off_r32) / (lanes * 4);
  return offset / 8;
}

static uint64_t lanes_in_frame(const struct mx_debug *g, const struct mx_frame *f, uint32_t pc, uint32_t slot) {
  const struct mx_jit_code *c = g->device->engine->session_code(g->compiled->codes[f->compiled - 1].jit, f->fn->number);
  if (!c || !c->live) return UINT64_MAX;
  const size_t words = slots_of(f->fn->func) / 64 + 1;
  return c->live[pc * words + slot / 64] >> slot % 64 & 1 ? UINT64_MAX : 0;
}

static bool is_interpreted(const struct mx_debug *g, const struct mx_frame *f) {
  return !f->compiled || g->replaced || !g->compiled || f->compiled > g->compiled->ncodes;
}

static uint64_t *known_lanes(struct mx_compiled *m, const struct mx_frame *f) {
  if (m->recent < m->nknown && m->known[m->recent].frame == f) return m->known[m->recent].lanes;
  for (m->recent = 0; m->recent < m->nknown; m->recent++)
    if (m->known[m->recent].frame == f) return m->known[m->recent].lanes;
  return NULL;
}

/* Makes the frame's record before the interpreter writes to it, from the set at pc. NULL: out of memory. */
static uint64_t *make_known(struct mx_debug *g, const struct mx_frame *f, uint32_t pc) {
  struct mx_compiled *m = g->compiled;
  uint64_t *lanes = known_lanes(m, f);
  if (lanes) return lanes;
  struct known *more = realloc(m->known, (m->nknown + 1) * sizeof *more);
  if (!more) return NULL;
  m->known = more;
  const uint32_t n = slots_of(f->fn->func);
  if (!(lanes = malloc((n + 1) * sizeof *lanes))) return NULL;
  for (uint32_t s = 0; s < n; s++) lanes[s] = lanes_in_frame(g, f, pc, s);
  m->recent = m->nknown;
  m->known[m->nknown++] = (struct known){f, lanes};
  return lanes;
}

static void written(struct mx_debug *g, const struct mx_frame *f, uint32_t pc, uint32_t offset, unsigned cls,
                    uint64_t lanes) {
  const uint32_t slot = slot_at(f->fn, g->prep->lanes, offset);
  uint64_t *known = slot == UINT32_MAX || is_interpreted(g, f) ? NULL : make_known(g, f, pc);
  if (!known) return;
  known[slot] |= lanes;
  if (cls == MX_R128) known[slot + 1] |= lanes;
}

void mx__compiled_steps(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_op_info *o = &mx__ops[i->op];
  const uint64_t lanes = mx__lanes_of(x, i);
  const struct mx_frame *above = i->op == MX_RET ? x->frame->parent : NULL;
  if (above && !is_interpreted(g, above)) {
    const struct mx_insn *call = &above->fn->insns[x->frame->call];
    const struct mx_func *f = x->fn->func;
    for (uint32_t k = 0; k < f->nresults; k++)
      written(g, above, call->pc, (uint32_t)call->more[k], f->results[k].cls, lanes);
  }
  if (is_interpreted(g, x->frame) || o->flags & (MX_F_CALL | MX_F_BRANCH)) return;
  for (unsigned k = 0; k < o->nopnds; k++)
    if (o->opnd[k].role == MX_OUT && o->opnd[k].type < MX_T_raw)
      written(g, x->frame, i->pc, (uint32_t)mx__operand_ref(i, k), mx__types[o->opnd[k].type].slot_class, lanes);
}

void mx__compiled_wrote(struct mx_debug *g, const struct mx_frame *f, uint32_t pc, uint32_t offset, unsigned cls,
                        uint64_t lanes) {
  written(g, f, pc, offset, cls, lanes);
}

uint64_t mx__compiled_known(struct mx_debug *g, const struct mx_frame *f, uint32_t pc, uint32_t offset, unsigned cls) {
  const uint32_t slot = slot_at(f->fn, g->prep->lanes, offset);
  if (slot == UINT32_MAX || is_interpreted(g, f)) return UINT64_MAX;
  const uint64_t *known = known_lanes(g->compiled, f);
  uint64_t lanes = known ? known[slot] : lanes_in_frame(g, f, pc, slot);
  if (cls == MX_R128) lanes &= known ? known[slot + 1] : lanes_in_frame(g, f, pc, slot + 1);
  return lanes;
}

void mx__compiled_rewound(struct mx_debug *g) {
  if (g->compiled) forget_known(g->compiled);
}

/* ---- tests --------------------------------------------------------------------------------------------------*/
mx_status mx_debug_break_test(mx_debug *g, int number, const mx_debug_test *steps, size_t count) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_break_test");
  if (s != MX_OK) return s;
  struct mx_breakpoint *b = mx__debug_find_break(g, number);
  if (!b) return MX_NOT_FOUND;
  free(b->test);
  b->test = NULL;
  if (!count) return MX_OK;
  if (!steps || b->nplaces != 1)
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_break_test: no steps, or a breakpoint of several places");
  const struct mx_pfunc *fn = &g->prep->funcs[b->places[0].func];
  const size_t step_size = steps->struct_size;
  char *text = strdup("");
  for (size_t k = 0; k < count; k++) {
    mx_debug_test step = {0}, *const t = &step;
    memcpy(&step.struct_size, (const char *)steps + k * step_size, sizeof step.struct_size);
    if (step_size < offsetof(mx_debug_test, cell) || step_size > sizeof step || step.struct_size != step_size)
      return free(text),
             mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_break_test: struct_size of step %zu is %zu, expected %zu",
                      k, step.struct_size, sizeof step);
    memcpy(&step, (const char *)steps + k * step_size, step_size);
    if ((unsigned)t->op > MX_DEBUG_TEST_LAST)
      return free(text), mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_break_test: no such step");
    if (t->op == MX_DEBUG_TEST_CELL) {
      const uint32_t slot = slot_at(fn, g->prep->lanes, t->cell.place[1]);
      if (t->cell.place[0] != fn->number || slot == UINT32_MAX)
        return free(text),
               mx__fail(g->device, MX_NOT_FOUND, "mx_debug_break_test: compiled code has no such register there");
      add_text(&text, "c%x.%x ", slot, t->cell.place[2]);
    } else if (t->op == MX_DEBUG_TEST_INT || t->op == MX_DEBUG_TEST_REAL) {
      add_text(&text, "%c%" PRIx64 " ", t->op == MX_DEBUG_TEST_INT ? 'i' : 'r', t->bits);
    } else {
      add_text(&text, "o%x ", (unsigned)t->op);
    }
  }
  if (!text) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  b->test = text;
  return MX_OK;
}

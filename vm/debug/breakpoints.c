/* Breakpoints, watchpoints and conditions of a session: where it stops besides the ends of orders. session.c does the
 * stopping. */
#include "session.h"

#include "vm/exec/interp.h"
#include "vm/exec/launch.h"
#include "vm/load/prepare.h"

#include <stdlib.h>
#include <string.h>

bool mx__debug_asks(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, mx_debug_ask ask, void *user) {
  x->split->pc = i->pc;
  mx_debug_point p = {.struct_size = sizeof p,
                      .block = x->block->index,
                      .lanes = mx__lanes_of(x, i),
                      .warp = x->warp->number,
                      .pc = i->pc,
                      .function = x->fn->func->name,
                      .fresh = g->fresh};
  g->fresh = false;
  mx__debug_asking = g;
  bool yes = ask(user, &p);
  mx__debug_asking = NULL;
  return yes;
}

static bool at_place(const struct mx_breakpoint *b, uint32_t func, uint32_t pc) {
  for (uint32_t k = 0; k < b->nplaces; k++)
    if (b->places[k].func == func && b->places[k].pc == pc) return true;
  return false;
}

bool mx__debug_breakpoint(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  uint32_t func = x->fn->number, pc = i->pc;
  if (!g->marks[func] || !g->marks[func][pc]) return false;
  int first = 0;
  const bool own = i->op == MX_BRKPT && mx__lanes_of(x, i);
  for (size_t n = 0; n < g->nbreaks; n++) {
    struct mx_breakpoint *b = &g->breaks[n];
    if (!b->enabled || !at_place(b, func, pc)) continue;
    if (b->ask && !mx__debug_asks(g, x, i, b->ask, b->ask_user)) continue;
    if (!g->search.on) b->hits++;
    if (!first) first = b->number;
  }
  if (first || own) g->stop.breakpoint = first;
  return first || own;
}

/* ---- breakpoints ----------------------------------------------------------------------------------------*/

static bool room_for_marks(struct mx_debug *g, uint32_t f) {
  return g->marks[f] || (g->marks[f] = calloc(g->prep->image->funcs[f].ncode + 1u, 1));
}
/* The program's own breakpoints: brkpt. */
static bool mark_own(struct mx_debug *g) {
  for (uint32_t f = 0; f < g->prep->nfuncs; f++)
    for (uint32_t k = 0; k < g->prep->funcs[f].ninsns; k++) {
      const struct mx_insn *i = &g->prep->funcs[f].insns[k];
      if (i->kind != MX_INSN_OP || i->op != MX_BRKPT) continue;
      if (!room_for_marks(g, f)) return false;
      g->marks[f][i->pc] = 1;
    }
  return true;
}

/* If memory runs out, nothing changes. */
mx_status mx__debug_mark(struct mx_debug *g) {
  uint32_t n = g->prep->nfuncs;
  if (!g->marks && !(g->marks = calloc(n, sizeof *g->marks))) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  if (!mark_own(g)) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  for (size_t b = 0; b < g->nbreaks; b++)
    for (uint32_t k = 0; k < g->breaks[b].nplaces; k++)
      if (!room_for_marks(g, g->breaks[b].places[k].func)) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  for (uint32_t f = 0; f < n; f++)
    if (g->marks[f]) memset(g->marks[f], 0, g->prep->image->funcs[f].ncode);
  mark_own(g); /* this cannot fail now */
  g->divergences = g->writes = false;
  for (size_t b = 0; b < g->nbreaks; b++) {
    g->divergences |= g->breaks[b].enabled && g->breaks[b].divergence;
    g->writes |= g->breaks[b].enabled && g->breaks[b].write;
  }
  if (g->x) g->splits = g->x->stats.splits;
  for (size_t b = 0; b < g->nbreaks; b++)
    for (uint32_t k = 0; g->breaks[b].enabled && k < g->breaks[b].nplaces; k++)
      g->marks[g->breaks[b].places[k].func][g->breaks[b].places[k].pc] = 1;
  return MX_OK;
}

/* Takes over the breakpoint's places, and gives it a number. */
static mx_status add(struct mx_debug *g, struct mx_breakpoint b, int *number) {
  struct mx_breakpoint *more = realloc(g->breaks, (g->nbreaks + 1) * sizeof *more);
  if (!more) {
    free(b.places);
    return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  }
  g->breaks = more;
  b.number = g->next_number;
  b.enabled = true;
  g->breaks[g->nbreaks++] = b;
  mx_status s = mx__debug_mark(g);
  if (s != MX_OK) {
    free(b.places);
    g->nbreaks--;
    return s;
  }
  *number = g->next_number++;
  return MX_OK;
}

static bool reachable(const struct mx_debug *g, uint32_t f) { return g->prep->funcs[f].insns != NULL; }

mx_status mx_debug_break(mx_debug *g, const char *function, uint32_t pc, int *number) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_break");
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
  return add(g, (struct mx_breakpoint){.places = p, .nplaces = 1}, number);
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
      if (l->file < image->nfiles && file_matches(image->files[l->file], file) && l->line >= line &&
          (!best || l->line < best))
        best = l->line;
    }
  return best;
}

mx_status mx_debug_break_line(mx_debug *g, const char *file, uint32_t line, int *number) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_break_line");
  if (s != MX_OK) return s;
  if (!number) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_break_line: no place for the number");
  const struct mx_image *image = g->prep->image;
  uint32_t found = line_with_code(g, file, line);
  if (!found)
    return mx__fail(g->device, MX_NOT_FOUND, "no code at or after line %u%s%s", line, file ? " of " : "",
                    file ? file : "");
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
  return add(g, (struct mx_breakpoint){.places = places, .nplaces = n}, number);
}

static bool of_kind(unsigned op, mx_debug_kind kind) {
  const enum mx_effect does = mx__effect(op);
  switch (kind) {
  case MX_DEBUG_BARRIERS: return does == MX_DOES_ARRIVE || does == MX_DOES_AWAIT;
  case MX_DEBUG_PRINTS: return op == MX_VPRINTF;
  case MX_DEBUG_ASSERTS: return op == MX_ASSERTFAIL;
  case MX_DEBUG_TRAPS: return op == MX_TRAP;
  case MX_DEBUG_ASYNC: return does == MX_DOES_ASYNC || does == MX_DOES_MBARRIER;
  default: return false;
  }
}

mx_status mx_debug_break_kind(mx_debug *g, mx_debug_kind kind, int *number) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_break_kind");
  if (s != MX_OK) return s;
  if (!number || (unsigned)kind > MX_DEBUG_ASYNC)
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_break_kind: no such kind, or no place for the number");
  if (kind == MX_DEBUG_DIVERGENCES) return add(g, (struct mx_breakpoint){.divergence = true}, number);
  uint32_t n = 0, all = 0;
  for (uint32_t f = 0; f < g->prep->nfuncs; f++) all += reachable(g, f) ? g->prep->funcs[f].ninsns : 0;
  struct mx_place *places = malloc((all + 1) * sizeof *places);
  if (!places) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  for (uint32_t f = 0; f < g->prep->nfuncs; f++)
    for (uint32_t k = 0; reachable(g, f) && k < g->prep->funcs[f].ninsns; k++) {
      const struct mx_insn *i = &g->prep->funcs[f].insns[k];
      if (i->kind == MX_INSN_OP && of_kind(i->op, kind)) places[n++] = (struct mx_place){f, i->pc};
    }
  return add(g, (struct mx_breakpoint){.places = places, .nplaces = n}, number);
}

mx_status mx_debug_watch_write(mx_debug *g, mx_addr address, uint64_t bytes, uint64_t block, int *number) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_watch_write");
  if (s != MX_OK) return s;
  if (!number || !bytes)
    return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_watch_write: no bytes, or no place for the number");
  return add(g, (struct mx_breakpoint){.write = true, .address = address, .bytes = bytes, .block = block}, number);
}

mx_status mx_debug_watch(mx_debug *g, mx_debug_ask fn, void *user) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_watch");
  if (s != MX_OK) return s;
  g->watch = fn;
  g->watch_user = user;
  return MX_OK;
}

struct mx_breakpoint *mx__debug_find_break(struct mx_debug *g, int number) {
  for (size_t n = 0; n < g->nbreaks; n++)
    if (g->breaks[n].number == number) return &g->breaks[n];
  mx__fail(g->device, MX_NOT_FOUND, "no breakpoint number %d", number);
  return NULL;
}

mx_status mx_debug_break_delete(mx_debug *g, int number) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_break_delete");
  if (s != MX_OK) return s;
  struct mx_breakpoint *b = mx__debug_find_break(g, number);
  if (!b) return MX_NOT_FOUND;
  free(b->places);
  free(b->test);
  memmove(b, b + 1, (size_t)(g->breaks + --g->nbreaks - b) * sizeof *b);
  return mx__debug_mark(g);
}

mx_status mx_debug_break_enable(mx_debug *g, int number, bool on) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_break_enable");
  if (s != MX_OK) return s;
  struct mx_breakpoint *b = mx__debug_find_break(g, number);
  if (!b) return MX_NOT_FOUND;
  b->enabled = on;
  return mx__debug_mark(g);
}

mx_status mx_debug_break_when(mx_debug *g, int number, mx_debug_ask fn, void *user) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_break_when");
  if (s != MX_OK) return s;
  struct mx_breakpoint *b = mx__debug_find_break(g, number);
  if (!b) return MX_NOT_FOUND;
  b->ask = fn;
  b->ask_user = user;
  free(b->test);
  b->test = NULL;
  return MX_OK;
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

/* Breakpoints, watchpoints, catchpoints: the list that people see, and what a launch is told of it. */
#include "repl.h"

#include <stdlib.h>
#include <string.h>

const char *const kinds[] = {"barrier", "printf", "assert", "divergence",
                             "trap",    "async",  NULL}; /* as enum mx_debug_kind */

static struct point *find(struct repl *r, uint64_t number) {
  for (size_t k = 0; k < r->npoints; k++)
    if ((uint64_t)r->points[k]->number == number) return r->points[k];
  complain(r, "no breakpoint number %llu", (unsigned long long)number);
  return NULL;
}

struct point *point_of_inner(struct repl *r, int inner) {
  for (size_t k = 0; k < r->npoints; k++)
    if (inner && r->points[k]->inner == inner) return r->points[k];
  return NULL;
}

struct point *point_fired(struct repl *r) {
  for (size_t k = 0; k < r->npoints; k++)
    if (r->points[k]->fired) return r->points[k];
  return NULL;
}

bool points_hit(struct repl *r, struct point *p) {
  (void)r;
  p->hits++;
  if (!p->ignore) return true;
  p->ignore--;
  return false;
}

/* ---- questions of the launch ------------------------------------------------------------------------------*/
static bool compile_here(struct point *p, const char *text, const mx_debug_point *at) {
  if (p->compiled && p->function == at->function && p->pc == at->pc) return true;
  expression_free(p->compiled);
  free(p->failure);
  p->failure = NULL;
  p->compiled = expression_compile(p->repl, text, NULL, at, &p->failure);
  p->function = at->function, p->pc = at->pc;
  return p->compiled != NULL;
}

/* Whether a condition means something at its place: known while a launch runs. Else the launch stops there and says so.
 */
static bool understood(struct repl *r, struct point *p) {
  char *function, *file;
  mx_debug_point at = {.lanes = 1};
  uint32_t line;
  if (!p->condition || !r->g || r->over) return true;
  if (!find_place(r, p->place, &function, &at.pc, &line, &file)) return false;
  at.function = function;
  const bool good = compile_here(p, p->condition, &at) || complain(r, "%s", p->failure);
  expression_free(p->compiled);
  p->compiled = NULL;
  free(function);
  free(file);
  return good;
}

/* An order begins, or the launch was taken back: what watched values were is not known. */
static void watch_anew(struct repl *r) {
  for (size_t k = 0; k < r->npoints; k++) r->points[k]->known = r->points[k]->fired = false;
}

static bool asked(void *user, const mx_debug_point *at) {
  struct point *p = user;
  uint64_t lanes = at->lanes;
  if (at->fresh) watch_anew(p->repl);
  if (p->block >= 0 && at->block != (uint64_t)p->block) return false;
  if (p->warp >= 0 && at->warp != (uint64_t)p->warp) return false;
  if (p->lane >= 0 && !(lanes &= 1ull << p->lane)) return false;
  p->matched = p->lane >= 0 ? lanes : 0;
  if (!p->condition) return true;
  mx_debug_point here = *at;
  here.lanes = lanes;
  if (!compile_here(p, p->condition, at)) return true;
  char *why = NULL;
  if (!expression_value(p->repl, p->compiled, &here, p->now, &why)) {
    free(p->failure);
    p->failure = why;
    return true;
  }
  if (!(value_truth(p->now) & lanes)) return false;
  const uint64_t matched = expression_lanes(p->repl, p->compiled, &here);
  if (matched != at->lanes || !p->now->uniform) p->matched = matched;
  return true;
}

static bool has_changed(const struct value *was, const struct value *is) {
  for (unsigned l = 0; l < (is->uniform ? 1 : REPL_LANES); l++)
    if (is->lane[l].u != was->lane[l].u) return true;
  return false;
}

/* Watched values of the focus warp: all of them are asked, so that each knows what it was. Who fired last is kept: a
 * search backwards asks on. */
static bool watched(void *user, const mx_debug_point *at) {
  struct repl *r = user;
  bool stops = false;
  if (at->fresh) watch_anew(r);
  for (size_t k = 0; k < r->npoints; k++) {
    struct point *p = r->points[k];
    if (p->kind != POINT_WATCH || !p->enabled || !p->inner) continue;
    if (at->block != (uint64_t)p->block || at->warp != (uint64_t)p->warp) continue;
    char *why = NULL;
    struct value *v = p->newest;
    if (!compile_here(p, p->place, at) || !expression_value(r, p->compiled, at, v, &why)) {
      free(why);
      continue; /* it has no value here: in another function */
    }
    if (p->known && has_changed(p->latest, v)) {
      for (size_t n = 0; n < r->npoints && !stops; n++) r->points[n]->fired = false;
      *p->last = *p->latest, *p->now = *v;
      p->fired = stops = true;
    }
    p->known = true;
    p->newest = p->latest, p->latest = v;
  }
  return stops;
}

/* A breakpoint at the instruction at which a launch that has just begun stands: it asks there, as later on. */
struct point *point_at_begin(struct repl *r) {
  mx_debug_breakpoint b = {.struct_size = sizeof b};
  const mx_debug_stop *s = &r->stop;
  for (size_t k = 0; mx_debug_break_at(r->g, k, &b) == MX_OK; k++) {
    struct point *p = point_of_inner(r, b.number);
    if (!p || p->kind != POINT_PLACE || !p->enabled || strcmp(b.function, s->function) || b.pc != s->pc) continue;
    if ((p->block >= 0 && (uint64_t)p->block != s->block) || (p->warp >= 0 && (uint64_t)p->warp != s->warp)) continue;
    if (p->lane >= 0 && !(s->lanes >> p->lane & 1)) continue;
    struct value v = {0};
    char *why = NULL;
    struct expression *e = p->condition ? expression_compile(r, p->condition, NULL, NULL, &why) : NULL;
    const bool holds = !p->condition || (e && expression_value(r, e, NULL, &v, &why) && value_truth(&v) & s->lanes);
    p->matched = p->lane >= 0 ? 1ull << p->lane : holds && e && !v.uniform ? value_truth(&v) & s->lanes : 0;
    expression_free(e);
    free(why);
    if (holds) return p;
  }
  return NULL;
}

/* ---- in a launch ------------------------------------------------------------------------------------------*/
static mx_status tell_watch(struct repl *r) {
  bool any = false;
  for (size_t k = 0; k < r->npoints; k++)
    any |= r->points[k]->kind == POINT_WATCH && r->points[k]->enabled && r->points[k]->inner;
  return mx_debug_watch(r->g, any ? watched : NULL, r);
}

static bool establish(struct repl *r, struct point *p) {
  mx_status s = MX_OK;
  char *function = NULL, *file = NULL;
  uint32_t pc, line;
  if (p->kind == POINT_WATCH) {
    p->inner = -1; /* the session knows but one */
    p->known = p->fired = false;
    if (p->block < 0) p->block = (int64_t)r->block, p->warp = r->warp;
    s = tell_watch(r);
    return s == MX_OK || complain_status(r, s);
  }
  if (p->kind == POINT_WRITE) {
    s = mx_debug_watch_write(r->g, p->address, p->bytes, (uint64_t)p->block, &p->inner);
  } else if (p->kind == POINT_KIND) {
    mx_debug_kind k = 0;
    while (strcmp(kinds[k], p->place)) k++;
    s = mx_debug_break_kind(r->g, k, &p->inner);
  } else {
    if (!find_place(r, p->place, &function, &pc, &line, &file)) return false;
    s = line ? mx_debug_break_line(r->g, file, line, &p->inner) : mx_debug_break(r->g, function, pc, &p->inner);
    free(function);
    free(file);
    if (s == MX_OK)
      s = mx_debug_break_when(r->g, p->inner,
                              p->condition || p->block >= 0 || p->warp >= 0 || p->lane >= 0 ? asked : NULL, p);
    if (s == MX_OK) point_tell_test(r, p);
  }
  if (s == MX_OK && !p->enabled) s = mx_debug_break_enable(r->g, p->inner, false);
  if (s == MX_OK) return true;
  p->inner = 0;
  return complain_status(r, s);
}

bool points_establish(struct repl *r) {
  for (size_t k = 0; k < r->npoints && !r->calc; k++) {
    struct point *p = r->points[k];
    p->hits = 0;
    if ((p->kind == POINT_PLACE && !p->enabled) || establish(r, p)) continue; /* `enable` looks for its place */
    printf("Breakpoint %d is off.\n", p->number); /* the program is another one than when it was made */
    p->enabled = false;
  }
  return true;
}

static void forget(struct point *p) {
  expression_free(p->compiled);
  p->compiled = NULL;
  free(p->failure);
  p->failure = NULL;
  p->inner = 0;
  p->known = p->fired = false;
}

void points_forget(struct repl *r) {
  for (size_t k = 0; k < r->npoints; k++) forget(r->points[k]);
}

void point_delete(struct repl *r, struct point *p) {
  if (r->g && p->inner > 0) mx_debug_break_delete(r->g, p->inner);
  if (r->collecting == p) r->collecting = NULL;
  forget(p);
  for (size_t k = 0; k < r->npoints; k++)
    if (r->points[k] == p) memmove(&r->points[k], &r->points[k + 1], (--r->npoints - k) * sizeof *r->points);
  if (r->g && p->kind == POINT_WATCH) tell_watch(r);
  for (size_t k = 0; k < p->ncommands; k++) free(p->command[k]);
  free(p->command);
  free(p->place);
  free(p->condition);
  free(p->last);
  free(p->now);
  free(p->latest);
  free(p->newest);
  free(p);
}

static struct point *add(struct repl *r, enum point_kind kind, const char *place) {
  struct point *p = cli_alloc(sizeof *p);
  *p = (struct point){.repl = r,
                      .number = r->next_point++,
                      .kind = kind,
                      .enabled = true,
                      .place = cli_strdup(place),
                      .block = -1,
                      .warp = -1,
                      .lane = -1};
  p->last = cli_alloc(sizeof *p->last);
  p->now = cli_alloc(sizeof *p->now);
  p->latest = cli_alloc(sizeof *p->latest);
  p->newest = cli_alloc(sizeof *p->newest);
  memset(p->last, 0, sizeof *p->last);
  memset(p->now, 0, sizeof *p->now);
  r->points = cli_realloc(r->points, (r->npoints + 1) * sizeof *r->points);
  return r->points[r->npoints++] = p;
}

/* Sets the stop in the launch, if there is one; NULL: it could not be set there, and is deleted. */
static struct point *made(struct repl *r, struct point *p) {
  if (!r->g || establish(r, p)) return p;
  point_delete(r, p);
  r->next_point--;
  return NULL;
}

static void show(const struct point *p) {
  static const char *const names[] = {"Breakpoint", "Watchpoint", "Watchpoint", "Catchpoint"};
  printf("%s %d%s at %s", names[p->kind], p->number, p->temporary ? " (once)" : "", p->place);
  if (p->kind == POINT_PLACE && p->block >= 0) printf(", block %lld", (long long)p->block);
  if (p->kind == POINT_PLACE && p->warp >= 0) printf(", warp %lld", (long long)p->warp);
  if (p->lane >= 0) printf(", lane %lld", (long long)p->lane);
  if (p->condition) printf(" if %s", p->condition);
  printf("\n");
}

/* "WORD" as a word of its own at *s. */
static bool keyword(char **s, const char *word) {
  size_t n = strlen(word);
  skip_blanks(s);
  if (strncmp(*s, word, n) || ((*s)[n] && !strchr(" \t(", (*s)[n]))) return false;
  *s += n;
  return true;
}

static bool filters(struct repl *r, char **s, struct point *p) {
  uint64_t n;
  for (;;) {
    if (keyword(s, "block")) {
      if (!coordinates(r, s, r->config.grid, &n)) return false;
      p->block = (int64_t)n;
    } else if (keyword(s, "thread")) {
      if (!coordinates(r, s, r->config.block, &n)) return false;
      mx_kernel_info info = {.struct_size = sizeof info, .lanes = REPL_LANES};
      if (r->kernel) mx_kernel_get_info(r->kernel, &info);
      p->warp = (int64_t)(n / info.lanes), p->lane = (int64_t)(n % info.lanes);
    } else if (keyword(s, "warp") || keyword(s, "lane")) {
      bool lane = (*s)[-1] == 'e';
      char *word = next_word(s);
      if (!word || !number_word(word, &n) || n >= (lane ? REPL_LANES : 1024))
        return complain(r, "%s is not a %s's number", word ? word : "nothing", lane ? "lane" : "warp");
      if (lane) p->lane = (int64_t)n;
      else p->warp = (int64_t)n;
    } else {
      return true;
    }
  }
}

struct point *add_place(struct repl *r, char *arguments, bool temporary) {
  char *s = arguments;
  skip_blanks(&s);
  static const char *const words[] = {"block", "thread", "warp", "lane", "if"};
  bool bare = !*s;
  for (size_t k = 0; k < 5; k++) {
    char *t = s;
    bare |= keyword(&t, words[k]);
  }
  if (!r->kernel && !target_bind(r)) return NULL;
  char *place = bare ? NULL : next_word(&s), here[64];
  if (!place) {
    if (r->g && !r->over && r->stop.file) snprintf(here, sizeof here, "%u", r->stop.line);
    else snprintf(here, sizeof here, "*0");
    place = here;
  }
  struct point *p = add(r, POINT_PLACE, place);
  p->temporary = temporary;
  bool good = filters(r, &s, p);
  if (good && keyword(&s, "if")) {
    skip_blanks(&s);
    good = *s || complain(r, "if what?");
    p->condition = cli_strdup(s);
  } else if (good && *s) {
    good = complain(r, "'%s' follows the location", s);
  }
  char *function = NULL, *file = NULL;
  uint32_t pc, line;
  const bool probe = good && probe_begin(r);
  if (good && (probe || !r->g)) good = find_place(r, p->place, &function, &pc, &line, &file);
  if (good) good = understood(r, p);
  probe_end(r, probe);
  free(function);
  free(file);
  if (!good) return point_delete(r, p), r->next_point--, NULL;
  return made(r, p);
}

bool do_break(struct repl *r, char *arguments) {
  struct point *p = add_place(r, arguments, false);
  if (p) show(p);
  return p != NULL;
}
bool do_tbreak(struct repl *r, char *arguments) {
  struct point *p = add_place(r, arguments, true);
  if (p) show(p);
  return p != NULL;
}

bool do_stop(struct repl *r, char *arguments) {
  keyword(&arguments, "at");
  skip_blanks(&arguments);
  /* the location comes last here */
  char *copy = cli_strdup(arguments), *s = copy;
  struct point probe = {.block = -1, .warp = -1, .lane = -1};
  if (!r->kernel && !target_bind(r)) return free(copy), false;
  if (!filters(r, &s, &probe)) return free(copy), false;
  skip_blanks(&s);
  char *line = format("%s %.*s", *s ? s : "*0", (int)(s - copy), arguments);
  free(copy);
  struct point *p = add_place(r, line, true);
  free(line);
  if (!p) return false;
  if (r->g && !r->over) return do_continue(r, (char[]){""});
  return do_run(r, (char[]){""});
}

bool do_watch(struct repl *r, char *arguments) {
  uint64_t address;
  const struct elem *type;
  char *why = NULL;
  struct value v;
  if (!*arguments) return complain(r, "watch what?");
  if (!running(r)) return false;
  if (place_of(r, arguments, NULL, &address, &type, &why)) {
    struct point *p = add(r, POINT_WRITE, arguments);
    p->address = address, p->bytes = type->size, p->block = (int64_t)r->block;
    if (!made(r, p)) return false;
    printf("Watchpoint %d: writes to %u bytes at 0x%llx\n", p->number, type->size, (unsigned long long)address);
    return true;
  }
  if (why) {
    complain(r, "%s", why);
    free(why);
    return false;
  }
  if (!evaluate(r, arguments, NULL, &v)) return false;
  struct point *p = made(r, add(r, POINT_WATCH, arguments));
  if (p)
    printf("Watchpoint %d: %s, in warp %lld of block %lld\n", p->number, p->place, (long long)p->warp,
           (long long)p->block);
  return p != NULL;
}

bool do_catch(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  size_t k = 0;
  while (word && kinds[k] && strcmp(kinds[k], word)) k++;
  if (!word || !kinds[k]) return complain(r, "catch barrier, divergence, printf, assert, trap or async");
  struct point *p = made(r, add(r, POINT_KIND, word));
  if (p) show(p);
  return p != NULL;
}

/* ---- changing them ----------------------------------------------------------------------------------------*/
static bool number_of(struct repl *r, char **arguments, uint64_t *n) {
  char *word = next_word(arguments);
  return (word && number_word(word, n)) || complain(r, "which number?");
}

bool do_condition(struct repl *r, char *arguments) {
  uint64_t n;
  struct point *p;
  if (!number_of(r, &arguments, &n) || !(p = find(r, n))) return false;
  if (p->kind != POINT_PLACE) return complain(r, "only breakpoints have conditions");
  skip_blanks(&arguments);
  char *was = p->condition;
  p->condition = *arguments ? cli_strdup(arguments) : NULL;
  expression_free(p->compiled);
  p->compiled = NULL;
  const bool probe = probe_begin(r), good = understood(r, p);
  probe_end(r, probe);
  if (!good) {
    free(p->condition);
    p->condition = was;
    return false;
  }
  free(was);
  if (r->g && p->inner > 0) mx_debug_break_when(r->g, p->inner, asked, p), point_tell_test(r, p);
  return true;
}

bool do_ignore(struct repl *r, char *arguments) {
  uint64_t n;
  struct point *p;
  if (!number_of(r, &arguments, &n) || !(p = find(r, n))) return false;
  if (!number_of(r, &arguments, &n)) return false;
  p->ignore = n;
  return true;
}

bool do_commands(struct repl *r, char *arguments) {
  uint64_t n = (uint64_t)(r->next_point - 1);
  char *word = next_word(&arguments);
  if (word && !number_word(word, &n)) return complain(r, "'%s' is not a number", word);
  struct point *p = find(r, n);
  if (!p) return false;
  for (size_t k = 0; k < p->ncommands; k++) free(p->command[k]);
  p->ncommands = 0;
  r->collecting = p;
  return true;
}

static bool each(struct repl *r, char *arguments, bool (*fn)(struct repl *r, struct point *p)) {
  char *word = next_word(&arguments);
  if (!word) {
    while (r->npoints && fn == NULL) point_delete(r, r->points[0]);
    for (size_t k = 0; fn && k < r->npoints; k++)
      if (!fn(r, r->points[k])) return false;
    return true;
  }
  for (; word; word = next_word(&arguments)) {
    uint64_t n;
    struct point *p;
    if (!number_word(word, &n)) return complain(r, "'%s' is not a number", word);
    if (!(p = find(r, n))) return false;
    if (!fn) point_delete(r, p);
    else if (!fn(r, p)) return false;
  }
  return true;
}

static bool turn(struct repl *r, struct point *p, bool on) {
  p->enabled = on;
  if (!r->g || (!on && !p->inner)) return true;
  if (!p->inner) return (p->enabled = establish(r, p));
  mx_status s = p->inner > 0 ? mx_debug_break_enable(r->g, p->inner, on) : tell_watch(r);
  return s == MX_OK || complain_status(r, s);
}
static bool turn_on(struct repl *r, struct point *p) { return turn(r, p, true); }
static bool turn_off(struct repl *r, struct point *p) { return turn(r, p, false); }

bool do_delete(struct repl *r, char *arguments) { return each(r, arguments, NULL); }
bool do_enable(struct repl *r, char *arguments) { return each(r, arguments, turn_on); }
bool do_disable(struct repl *r, char *arguments) { return each(r, arguments, turn_off); }

bool info_breakpoints(struct repl *r, const char *rest) {
  (void)rest;
  if (!r->npoints) printf("no stops\n");
  for (size_t k = 0; k < r->npoints; k++) {
    const struct point *p = r->points[k];
    printf("%s", p->enabled ? "" : "(off) ");
    show(p);
    if (p->hits) printf("  %llu hit%s\n", (unsigned long long)p->hits, p->hits == 1 ? "" : "s");
    if (p->ignore) printf("  the next %llu are ignored\n", (unsigned long long)p->ignore);
    for (size_t n = 0; n < p->ncommands; n++) printf("    %s\n", p->command[n]);
  }
  return true;
}

/* Launches of a session: beginning, going on, stopping, ending. */
#include "repl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RESTARTS = 100 };

mx_debug *volatile interrupted;

static void on_interrupt(int sig) {
  (void)sig;
  mx_debug *g = interrupted;
  if (g) mx_debug_pause(g);
}

bool running(struct repl *r) {
  if (r->g && !r->over) return true;
  return complain(r, r->over ? "the launch has ended; it is recorded: 'rcontinue' or 'goto' go back"
                             : "nothing is running: 'run' or 'start' first");
}

void launch_end(struct repl *r) {
  points_forget(r);
  undo_forget(r);
  r->unused = false;
  mx_debug_end(r->g);
  r->g = NULL;
  r->over = false;
}

bool probe_begin(struct repl *r) {
  if (r->g || !r->kernel || r->calc || !r->unused)
    return false; /* what is bound may be another program than what is loaded */
  mx_launch_config c = r->config;
  kernel_shape(r->kernel, &c, false);
  if (mx_debug_begin(r->kernel, &c, r->args.params, r->args.bytes, &r->g) == MX_OK) return true;
  r->g = NULL;
  return false;
}

void probe_end(struct repl *r, bool begun) {
  if (!begun) return;
  mx_debug_end(r->g);
  r->g = NULL;
}

bool launch_begin(struct repl *r) {
  if (!target_fresh(r)) return false;
  mx_launch_config c = r->config;
  kernel_shape(r->kernel, &c, false);
  mx_status s = mx_debug_begin(r->kernel, &c, r->args.params, r->args.bytes, &r->g);
  if (s != MX_OK) return r->g = NULL, complain_status(r, s);
  if (r->seed) s = mx_debug_schedule(r->g, r->seed);
  if (s == MX_OK && r->recording) s = mx_debug_record(r->g, true, r->record_limit);
  if (s == MX_OK) s = mx_debug_suspect_hang(r->g, r->hang_turns);
  r->stop = (mx_debug_stop){.struct_size = sizeof r->stop};
  if (s == MX_OK) s = mx_debug_where(r->g, &r->stop);
  if (s != MX_OK) return complain_status(r, s);
  take_focus(r);
  return points_establish(r);
}

void take_focus(struct repl *r) {
  r->block = r->stop.block;
  r->warp = r->stop.warp;
  r->split = r->frame = 0;
  if (r->stop.lanes && !(r->stop.lanes >> r->lane & 1)) r->lane = (uint32_t)__builtin_ctzll(r->stop.lanes);
  r->listed = r->stop.line > 5 ? r->stop.line - 5 : 1;
}

/* ---- what a stop looks like -------------------------------------------------------------------------------*/
static void show_place(struct repl *r, const char *why) {
  const mx_debug_stop *s = &r->stop;
  char *lanes = lanes_text(s->lanes);
  char *at = s->file ? format(" at %s:%u", s->file, s->line) : cli_strdup("");
  say("%sblock %llu (%u,%u,%u) warp %u %s, %s%s\n", why, (unsigned long long)s->block, s->ctaid[0], s->ctaid[1],
      s->ctaid[2], s->warp, lanes, s->function, at);
  free(at);
  if (s->file) show_line(r, s->file, s->line);
  free(lanes);
}

const char *culprit_text(const mx_debug_culprit *c, char *buffer, size_t n) {
  char *lanes = lanes_text(c->lanes);
  snprintf(buffer, n, "block %llu warp %u %s, %s at %s:%u, position %llu", (unsigned long long)c->block, c->warp, lanes,
           c->function, c->file ? c->file : "?", c->line, (unsigned long long)c->position);
  free(lanes);
  return buffer;
}

static void show_watched(struct repl *r, const struct point *p) {
  const struct value *v = p->now;
  uint64_t changed = 0;
  for (unsigned l = 0; l < REPL_LANES; l++) changed |= (uint64_t)(v->lane[l].u != p->last->lane[l].u) << l;
  const unsigned first = changed ? (unsigned)__builtin_ctzll(changed) : 0;
  const char *was_is[] = {r->back ? "is" : "was", r->back ? "will be" : "is"};
  char *lanes = lanes_text(changed & (r->stop.lanes ? UINT64_MAX : 0)), *was = value_text(p->last, first, 0),
       *is = value_text(v, first, 0);
  if (v->uniform) say("Watchpoint %d: %s %s %s, %s %s\n", p->number, p->place, was_is[0], was, was_is[1], is);
  else
    say("Watchpoint %d: %s in %s; lane %u %s %s, %s %s\n", p->number, p->place, lanes, first, was_is[0], was, was_is[1],
        is);
  if (!v->uniform && changed) r->lane = first;
  free(lanes);
  free(was);
  free(is);
}

/* What a breakpoint's condition says of lanes: the focus goes to the first of them. */
static void show_matched(struct repl *r, const struct point *p) {
  if (!p || p->kind != POINT_PLACE || !p->matched || p->failure) return;
  char *lanes = lanes_text(p->matched);
  r->lane = (uint32_t)__builtin_ctzll(p->matched);
  if (p->condition) say("%s in %s; the focus is lane %u\n", p->condition, lanes, r->lane);
  free(lanes);
}

/* What comes before the place, malloc'ed; whole lines of it are written at once. */
static char *reason_text(struct repl *r, struct point *p) {
  const mx_debug_stop *s = &r->stop;
  char buffer[512];
  switch (s->reason) {
  case MX_DEBUG_AT_TRAP: say("Trap: %s\n", s->text ? s->text : mx_trap_kind_text(s->trap)); break;
  case MX_DEBUG_AT_BREAKPOINT:
    if (p && p->failure)
      return format("%s %d, its condition cannot be evaluated: %s, ",
                    p->kind == POINT_KIND ? "Catchpoint" : "Breakpoint", p->number, p->failure);
    if (p) return format("%s %d, ", p->kind == POINT_KIND ? "Catchpoint" : "Breakpoint", p->number);
    break;
  case MX_DEBUG_AT_WATCH:
    if (s->watch && p)
      say("Watchpoint %d: 0x%llx %s written by %s\n", p->number, (unsigned long long)s->address,
          r->back ? "will be" : "was", culprit_text(&s->writer, buffer, sizeof buffer));
    else if (p) show_watched(r, p);
    break;
  case MX_DEBUG_AT_BRKPT: return cli_strdup("brkpt, ");
  case MX_DEBUG_AT_FINDING: findings_tell(r); return cli_strdup("Stopped behind it: ");
  case MX_DEBUG_AT_PAUSE: return cli_strdup("Interrupted, ");
  case MX_DEBUG_AT_HANG:
    printf("A livelock is suspected: everybody spins, and no value in memory changes.\n");
    show_hang(r);
    break;
  case MX_DEBUG_AT_WARP_END: return cli_strdup("The warp has ended; now ");
  case MX_DEBUG_AT_OLDEST:
    return format("This is as far back as it goes: position %llu, ", (unsigned long long)s->steps);
  default: break;
  }
  return cli_strdup("");
}

/* The stop's point, where it has one. */
static struct point *point_of_stop(struct repl *r) {
  if (r->stop.reason == MX_DEBUG_AT_BREAKPOINT) return point_of_inner(r, r->stop.breakpoint);
  if (r->stop.reason == MX_DEBUG_AT_WATCH) return r->stop.watch ? point_of_inner(r, r->stop.watch) : point_fired(r);
  return NULL;
}

void show_stop(struct repl *r) {
  struct point *p = point_of_stop(r);
  char *why = reason_text(r, p);
  show_place(r, why);
  free(why);
  if (r->stop.reason == MX_DEBUG_AT_BREAKPOINT) show_matched(r, p);
  do_display(r, (char[]){""});
}

/* The launch has ended: how, and that it can be gone back to. */
static void show_end(struct repl *r) {
  bool recorded = r->recording && r->stop.status == MX_OK && !r->over;
  if (r->stop.status == MX_OK) {
    printf("The launch has ended, after %llu warp instructions.\n", (unsigned long long)r->stop.steps);
  } else {
    char *why = failure_text(r->d, r->stop.status);
    printf("The launch has ended: %s\n", why);
    free(why);
  }
  findings_tell(r);
  mx_debug_recording now = {.struct_size = sizeof now};
  recorded = recorded && mx_debug_get_recording(r->g, &now) == MX_OK && now.on;
  if (recorded) r->over = true;
  else launch_end(r);
  if (r->machine.check && !r->g) mx_device_check_end(r->d), findings_tell(r);
}

mx_status go_on(struct repl *r, mx_debug_order order, uint64_t count) {
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, old; /* a second Ctrl-C ends */
  fflush(stdout);
  interrupted = r->g;
  sigaction(SIGINT, &action, &old);
  mx_status s = mx_debug_go(r->g, order, r->block, r->warp, count, &r->stop);
  sigaction(SIGINT, &old, NULL);
  interrupted = NULL;
  return s;
}

static bool go_once(struct repl *r, mx_debug_order order, uint64_t count) {
  mx_status s = go_on(r, order, count);
  return s == MX_OK || complain_status(r, s);
}

/* Lines that belong to a stop come before all others. */
static void queue_commands(struct repl *r, const struct point *p) {
  if (!p->ncommands) return;
  r->pending = cli_realloc(r->pending, (r->npending + p->ncommands) * sizeof *r->pending);
  memmove(r->pending + p->ncommands, r->pending, r->npending * sizeof *r->pending);
  for (size_t k = 0; k < p->ncommands; k++) r->pending[k] = cli_strdup(p->command[k]);
  r->npending += p->ncommands;
}

/* Whether the stop is one to be shown; ignored hits and suppressed findings go on. */
static bool counts(struct repl *r, struct point **at) {
  *at = point_of_stop(r);
  if (r->stop.reason == MX_DEBUG_AT_FINDING) return findings_are_new(r);
  return !*at || points_hit(r, *at);
}

static void after_stop(struct repl *r, struct point *p) {
  if (r->stop.reason == MX_DEBUG_AT_END) return show_end(r);
  take_focus(r);
  show_stop(r);
  if (!p) return;
  queue_commands(r, p);
  if (p->temporary) point_delete(r, p);
}

bool launch_go(struct repl *r, mx_debug_order order, uint64_t count) {
  struct point *p;
  if (!running(r)) return false;
  undo_move(r);
  do {
    if (!go_once(r, order, count)) return false;
    if (counts(r, &p)) break;
    order = MX_DEBUG_CONTINUE;
  } while (true);
  after_stop(r, p);
  return true;
}

/* ---- commands ---------------------------------------------------------------------------------------------*/
static bool count_of(struct repl *r, char *arguments, uint64_t *n) {
  char *word = next_word(&arguments);
  *n = 1;
  if (!word || (number_word(word, n) && *n && *n <= 1u << 30)) return true;
  return complain(r, "'%s' is not a count", word);
}

static bool ordered(struct repl *r, char *arguments, mx_debug_order order) {
  uint64_t n;
  return count_of(r, arguments, &n) && launch_go(r, order, n);
}
bool do_step(struct repl *r, char *arguments) { return ordered(r, arguments, MX_DEBUG_STEP_LINE); }
bool do_stepi(struct repl *r, char *arguments) { return ordered(r, arguments, MX_DEBUG_STEP); }
bool do_next(struct repl *r, char *arguments) { return ordered(r, arguments, MX_DEBUG_NEXT_LINE); }
bool do_nexti(struct repl *r, char *arguments) { return ordered(r, arguments, MX_DEBUG_NEXT); }

bool do_finish(struct repl *r, char *arguments) {
  (void)arguments;
  if (!running(r)) return false;
  mx_debug_split s = {.struct_size = sizeof s};
  if (mx_debug_get_split(r->g, r->block, r->warp, 0, &s) == MX_OK && s.depth < 2)
    return complain(r, "this is the kernel itself");
  return launch_go(r, MX_DEBUG_FINISH, 1);
}

bool do_continue(struct repl *r, char *arguments) {
  uint64_t n;
  if (!count_of(r, arguments, &n)) return false;
  if (r->over) return complain(r, "the launch has ended; 'run' begins again, 'rcontinue' goes back");
  for (; n > 1 && r->g; n--) {
    struct point *p;
    if (!go_once(r, MX_DEBUG_CONTINUE, 1)) return false;
    if (r->stop.reason == MX_DEBUG_AT_END || r->stop.reason == MX_DEBUG_AT_TRAP) return after_stop(r, NULL), true;
    if (!counts(r, &p)) n++;
  }
  return launch_go(r, MX_DEBUG_CONTINUE, 1);
}

bool do_start(struct repl *r, char *arguments) {
  (void)arguments;
  if (r->calc) return complain(r, "the calculator runs already: type instructions");
  if (!launch_begin(r)) return launch_end(r), false;
  show_stop(r);
  return true;
}

bool do_run(struct repl *r, char *arguments) {
  (void)arguments;
  if (r->calc) return complain(r, "the calculator runs already: type instructions");
  if (r->restarts++ > MOST_RESTARTS) return complain(r, "the commands of a stop begin the launch again and again");
  if (!launch_begin(r)) return launch_end(r), false;
  struct point *p = point_at_begin(r);
  if (!p || !points_hit(r, p)) return launch_go(r, MX_DEBUG_CONTINUE, 1);
  r->stop.reason = MX_DEBUG_AT_BREAKPOINT;
  r->stop.breakpoint = p->inner;
  after_stop(r, p);
  return true;
}

bool do_kill(struct repl *r, char *arguments) {
  (void)arguments;
  if (!r->g) return complain(r, "nothing is running");
  if (r->calc) return complain(r, "'clear' makes the calculator new");
  launch_end(r);
  return true;
}

static bool once_at(struct repl *r, const char *function, uint32_t pc) {
  int number;
  mx_status s = mx_debug_break(r->g, function, pc, &number);
  if (s != MX_OK) return complain_status(r, s);
  bool good = launch_go(r, MX_DEBUG_CONTINUE, 1);
  if (r->g && !r->over) mx_debug_break_delete(r->g, number);
  return good;
}

bool do_until(struct repl *r, char *arguments) {
  char *function = NULL, *file = NULL;
  uint32_t pc, line;
  if (!running(r)) return false;
  if (!*arguments) {
    if (!r->stop.file) return complain(r, "no line is known here");
    int number;
    mx_status s = mx_debug_break_line(r->g, r->stop.file, r->stop.line + 1, &number);
    if (s != MX_OK) return complain_status(r, s);
    bool good = launch_go(r, MX_DEBUG_CONTINUE, 1);
    if (r->g && !r->over) mx_debug_break_delete(r->g, number);
    return good;
  }
  if (!find_place(r, arguments, &function, &pc, &line, &file)) return false;
  bool good = once_at(r, function, pc);
  free(function);
  free(file);
  return good;
}

bool do_jump(struct repl *r, char *arguments) {
  char *function = NULL, *file = NULL;
  uint32_t pc, line;
  if (!*arguments) return complain(r, "jump where?");
  if (!running(r) || !find_place(r, arguments, &function, &pc, &line, &file)) return false;
  mx_debug_split s = {.struct_size = sizeof s};
  mx_status st = mx_debug_get_split(r->g, r->block, r->warp, r->split, &s);
  bool good = st == MX_OK && !strcmp(s.function, function);
  if (st == MX_OK && !good) complain(r, "that is in '%s', the lanes stand in '%s'", function, s.function);
  else if (st == MX_OK && s.state != MX_DEBUG_RUNNABLE) good = complain(r, "the lanes wait for others");
  if (good && (st = mx_debug_jump(r->g, r->block, r->warp, r->split, pc)) != MX_OK) good = false;
  if (!good && st != MX_OK) complain_status(r, st);
  free(function);
  free(file);
  if (!good) return false;
  mx_debug_get_split(r->g, r->block, r->warp, r->split, &s);
  r->stop.line = s.line, r->stop.file = s.file, r->stop.pc = s.pc;
  if (s.file) show_line(r, s.file, s.line);
  return true;
}

/* ---- backwards --------------------------------------------------------------------------------------------*/
static bool arrived(struct repl *r, mx_status s) {
  if (s != MX_OK)
    return s == MX_NOT_FOUND && !r->recording ? complain(r, "nothing is recorded: 'record', then 'run'")
                                              : complain_status(r, s);
  r->over = false;
  if (r->stop.reason == MX_DEBUG_AT_END) return show_end(r), true;
  take_focus(r);
  r->back = true;
  show_stop(r);
  r->back = false;
  return true;
}

static bool backwards(struct repl *r, char *arguments, mx_debug_order order) {
  uint64_t n;
  if (!count_of(r, arguments, &n)) return false;
  if (!r->g) return running(r);
  undo_move(r);
  fflush(stdout);
  return arrived(r, mx_debug_back(r->g, order, r->block, r->warp, n, &r->stop));
}
bool do_rstep(struct repl *r, char *arguments) { return backwards(r, arguments, MX_DEBUG_STEP_LINE); }
bool do_rstepi(struct repl *r, char *arguments) { return backwards(r, arguments, MX_DEBUG_STEP); }
bool do_rnext(struct repl *r, char *arguments) { return backwards(r, arguments, MX_DEBUG_NEXT_LINE); }
bool do_rcontinue(struct repl *r, char *arguments) { return backwards(r, arguments, MX_DEBUG_CONTINUE); }
bool do_rfinish(struct repl *r, char *arguments) { return backwards(r, arguments, MX_DEBUG_FINISH); }

bool do_goto(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  uint64_t position;
  if (!word || !number_word(word, &position)) return complain(r, "go to what position?");
  if (!r->g) return running(r);
  undo_move(r);
  return arrived(r, mx_debug_goto(r->g, position, &r->stop));
}

bool do_last(struct repl *r, char *arguments) {
  uint64_t address;
  const struct elem *type;
  char *why = NULL, buffer[512];
  mx_debug_culprit c = {.struct_size = sizeof c};
  if (!r->g) return running(r);
  mx_status s;
  if (names_register(r, NULL, arguments)) {
    if (!running(r)) return false;
    s = mx_debug_last_register(r->g, r->block, r->warp, r->split, r->frame, arguments, focus_lanes(r), &c);
  } else if (place_of(r, arguments, NULL, &address, &type, &why)) {
    s = mx_debug_last_write(r->g, address, type->size, r->block, &c);
  } else {
    complain(r, "%s", why ? why : "expected %REGISTER or [ADDRESS]");
    free(why);
    return false;
  }
  if (s != MX_OK)
    return s == MX_NOT_FOUND && !r->recording ? complain(r, "nothing is recorded: 'record', then 'run'")
                                              : complain_status(r, s);
  say("%s was written by %s\n", arguments, culprit_text(&c, buffer, sizeof buffer));
  if (c.file) show_line(r, c.file, c.line);
  return true;
}

bool do_record(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  uint64_t mb = 0;
  bool on = !word || strcmp(word, "off");
  if (word && on && strcmp(word, "on") && (!number_word(word, &mb) || !mb || mb > 1 << 20))
    return complain(r, "'%s' is not on, off or a number of megabytes", word);
  if (r->calc) return complain(r, "the calculator does not record launches: there is nothing to go back to");
  if (on && r->machine.check) return complain(r, "a launch that tools watch cannot be recorded: 'check off' first");
  if (r->g && !r->over) {
    mx_status s = mx_debug_record(r->g, on, mb << 20);
    if (s != MX_OK) return complain_status(r, s);
  }
  r->recording = on;
  r->record_limit = mb << 20;
  return true;
}

bool do_schedule(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  uint64_t seed;
  if (!word) return printf("schedule %llu\n", (unsigned long long)r->seed), true;
  if (!number_word(word, &seed)) return complain(r, "'%s' is not a seed", word);
  r->seed = seed;
  return true;
}

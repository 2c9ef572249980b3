/* mxrun --compare: one launch on each engine and, where they do not agree, the first instruction whose result differs.
 *
 * Whole launches come first. Then pairs of sessions, one interpreted and one compiled, stop before the same instruction
 * of a warp: before the one we look for they hold the same, behind it they do not. Halving the warp's instructions
 * finds it in as many pairs as their number has bits. The warp is the one that wrote the first byte that differs last,
 * or trapped; where it got wrong values from another one through memory, that one is looked at next. */
#include "mxrun.h"

#include "mx/debug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WARPS = 8, MOST_SHOWN = 4 };

/* One engine, with a device of its own. */
struct side {
  mx_device *device;
  mx_kernel *kernel;
  mx_launch_config config;
  struct args args;
  struct text printed;
  mx_debug *session;
  mx_debug_stop stop;
};

static void keep_output(void *user, const char *text, size_t size) { text_add(user, text, size); }

/* False: what failed has been printed. */
static bool open_side(struct side *s, const struct comparison *c, mx_jit_mode jit) {
  *s = (struct side){.config = *c->config, .stop.struct_size = sizeof s->stop};
  s->config.threads = 1; /* a fixed order of everything */
  s->config.jit = jit;
  s->config.jit_stress = 0;
  s->device = open_device(c->machine);
  if (!s->device) return false;
  mx_module *module;
  char *why = NULL;
  if (!load_module(s->device, c->file, c->bytes, c->size, false, &module, &why)) {
  } else if (mx_module_kernel(module, c->kernel, &s->kernel) != MX_OK)
    free(why), why = failure_text(s->device, MX_NOT_FOUND);
  else {
    free(why); /* warnings have been shown */
    why = try_args(&s->args, s->device, s->kernel, c->words, c->nwords);
    mx_device_set_output(s->device, keep_output, &s->printed);
    if (!why) return true;
  }
  fprintf(stderr, "mxrun: %s\n", why ? why : "the module cannot be loaded again");
  free(why);
  return false;
}
static void close_side(struct side *s) {
  if (s->session) mx_debug_end(s->session);
  free_args(&s->args);
  text_free(&s->printed);
  if (s->device) mx_device_destroy(s->device);
  *s = (struct side){0};
}

static bool begin_session(struct side *s) {
  mx_status st = mx_debug_begin(s->kernel, &s->config, s->args.params, s->args.bytes, &s->session);
  if (st == MX_OK) return true;
  char *why = failure_text(s->device, st);
  fprintf(stderr, "mxrun: %s\n", why);
  free(why);
  return false;
}
/* Goes on past breakpoints that the program itself contains (brkpt). */
static bool go_on(struct side *s) {
  bool good;
  do good = mx_debug_go(s->session, MX_DEBUG_CONTINUE, 0, 0, 1, &s->stop) == MX_OK;
  while (good && s->stop.reason == MX_DEBUG_AT_BRKPT);
  return good;
}

/* ---- whole launches --------------------------------------------------------------------------------------------*/
struct outcome {
  mx_status status;
  char *error;
  mx_launch_stats stats;
  mx_trap_info trap;
};

/* CLI_DONE: it can be compared; else what failed has been said. */
static int launch_side(struct side *s, const struct comparison *c, struct outcome *o) {
  *o = (struct outcome){.stats.struct_size = sizeof o->stats, .trap.struct_size = sizeof o->trap};
  o->status = launch_watched(s->device, s->kernel, &s->config, s->args.params, s->args.bytes, c->kernel);
  if (o->status != MX_OK) o->error = failure_text(s->device, o->status);
  mx_device_stats(s->device, &o->stats);
  if (o->status == MX_TRAPPED) mx_device_trap(s->device, &o->trap);
  if (o->status == MX_TRAPPED || o->status == MX_STEP_LIMIT || (o->status == MX_OK && fetch_args(&s->args, s->device)))
    return CLI_DONE;
  fprintf(stderr, "mxrun: %s\n", o->error ? o->error : "the buffers could not be copied back");
  return o->error ? exit_status_of(s->device, o->status) : CLI_HOST;
}

/* The first byte of the buffers that differs; NULL: none. */
static const struct arg *first_difference(const struct side *i, const struct side *c, uint64_t *offset) {
  for (size_t k = 0; k < i->args.n; k++) {
    const struct data *x = &i->args.arg[k].data, *y = &c->args.arg[k].data;
    if (!i->args.arg[k].buffer || !memcmp(x->bytes, y->bytes, x->size)) continue;
    for (*offset = 0; x->bytes[*offset] == y->bytes[*offset]; ++*offset) {}
    return &i->args.arg[k];
  }
  return NULL;
}

static size_t say_differences(const struct side *i, const struct side *c, const struct outcome *oi,
                              const struct outcome *oc) {
  size_t n = 0;
  if (oi->status != oc->status || (oi->error && oc->error && strcmp(oi->error, oc->error)))
    n++, printf("interpreted: %s\ncompiled: %s\n", oi->error ? oi->error : "ended", oc->error ? oc->error : "ended");
  if (oi->status == MX_OK && oc->status == MX_OK)
    for (size_t k = 0; k < i->args.n; k++) {
      char *how = NULL;
      const struct arg *a = &i->args.arg[k];
      if (!a->buffer || data_equal(&c->args.arg[k].data, &a->data, -1, &how)) continue;
      n++, printf("%s: compiled, %s\n", a->name ? a->name : "a buffer", how);
      free(how);
    }
  if (i->printed.n != c->printed.n || (i->printed.n && memcmp(i->printed.s, c->printed.s, i->printed.n)))
    n++, printf("what the kernel printed differs\n");
  if (oi->stats.steps != oc->stats.steps)
    n++, printf("%" PRIu64 " warp instructions interpreted, %" PRIu64 " compiled\n", oi->stats.steps, oc->stats.steps);
  return n;
}

/* ---- what a warp executes, interpreted -------------------------------------------------------------------------*/
struct step {
  uint32_t function, pc;
  uint64_t position;
};
static bool same_place(const struct step *x, const struct step *y) {
  return x->pc == y->pc && x->function == y->function;
}
struct walk {
  uint64_t block;
  uint32_t warp;
  char **names;
  size_t nnames; /* of functions */
  struct step *step;
  size_t n, room;
  uint64_t seen; /* instructions of all warps */
};
static void on_step(void *user, const mx_debug_event *e) {
  struct walk *w = user;
  const uint64_t position = w->seen++;
  if (e->block != w->block || e->warp != w->warp) return;
  uint32_t f = 0;
  while (f + 1 < w->nnames && strcmp(w->names[f], e->function)) f++;
  if (w->n == w->room)
    w->room = w->room ? 2 * w->room : 1024, w->step = cli_realloc(w->step, w->room * sizeof *w->step);
  w->step[w->n++] = (struct step){f, e->pc, position};
}
static void free_walk(struct walk *w) {
  for (size_t k = 0; k < w->nnames; k++) free(w->names[k]);
  free(w->names);
  free(w->step);
}
static bool walk_of(const struct comparison *c, struct walk *w) {
  struct side s;
  bool good = open_side(&s, c, MX_JIT_OFF) && begin_session(&s);
  if (good) {
    w->nnames = mx_debug_function_count(s.session);
    w->names = cli_alloc((w->nnames + 1) * sizeof *w->names);
    for (size_t k = 0; k < w->nnames; k++) {
      mx_debug_function f = {.struct_size = sizeof f};
      mx_debug_function_at(s.session, k, &f);
      w->names[k] = cli_strdup(f.name ? f.name : "");
    }
    good = mx_debug_trace(s.session, on_step, w) == MX_OK && go_on(&s);
  }
  close_side(&s);
  return good;
}

/* Who wrote a byte last, before a position. block: whose memory it is, if shared. */
static bool last_writer(const struct comparison *c, mx_addr address, uint64_t block, uint64_t before,
                        mx_debug_culprit *out) {
  struct side s;
  int number;
  bool found = false;
  if (open_side(&s, c, MX_JIT_OFF) && begin_session(&s) &&
      mx_debug_watch_write(s.session, address, 1, block, &number) == MX_OK)
    while (go_on(&s) && s.stop.reason == MX_DEBUG_AT_WATCH && s.stop.writer.position < before)
      *out = s.stop.writer, found = true;
  close_side(&s);
  return found;
}

/* ---- both engines before the same instruction -------------------------------------------------------------------*/
struct visit {
  uint64_t block, left;
  uint32_t warp;
};
static bool is_visit(void *user, const mx_debug_point *p) {
  struct visit *v = user;
  return p->block == v->block && p->warp == v->warp && !v->left--;
}

enum sameness { SAME, DIFFERENT, FAILED };
struct verdict {
  enum sameness is;
  bool memory; /* only there, first at this address */
  mx_addr address;
  uint64_t lanes;
  struct text text; /* what differs */
  bool ends_wrong;  /* going on from here, compiled code still comes to another result */
};

static void say_register(struct verdict *v, const mx_debug_register *x, const mx_debug_register *y, unsigned lane,
                         unsigned frame) {
  text_printf(&v->text, "  %s%s of lane %u: interpreted 0x%" PRIx64, x->name, frame ? " (of a caller)" : "", lane,
              x->low[lane]);
  if (x->high[lane] || y->high[lane]) text_printf(&v->text, " (upper half 0x%" PRIx64 ")", x->high[lane]);
  text_printf(&v->text, ", compiled 0x%" PRIx64, y->low[lane]);
  if (x->high[lane] || y->high[lane]) text_printf(&v->text, " (upper half 0x%" PRIx64 ")", y->high[lane]);
  text_printf(&v->text, "\n");
}
static void compare_registers(struct side *i, struct side *c, struct verdict *v) {
  mx_debug_split split = {.struct_size = sizeof split};
  const uint64_t block = i->stop.block;
  const uint32_t warp = i->stop.warp;
  mx_debug_get_split(i->session, block, warp, 0, &split);
  unsigned shown = 0;
  for (uint32_t f = 0; f < split.depth; f++)
    for (size_t k = 0, n = mx_debug_register_count(i->session, block, warp, 0, f); k < n; k++) {
      mx_debug_register x = {.struct_size = sizeof x}, y = {.struct_size = sizeof y};
      if (mx_debug_register_at(i->session, block, warp, 0, f, k, &x) != MX_OK ||
          mx_debug_get_register(c->session, block, warp, 0, f, x.name, &y) != MX_OK)
        continue;
      for (unsigned lane = 0; lane < x.lanes; lane++) {
        if (!(i->stop.lanes & x.known & y.known & (uint64_t)1 << lane) ||
            (x.low[lane] == y.low[lane] && x.high[lane] == y.high[lane]))
          continue;
        v->is = DIFFERENT;
        if (shown++ < MOST_SHOWN) say_register(v, &x, &y, lane, f);
        break;
      }
    }
  if (shown > MOST_SHOWN) text_printf(&v->text, "  and %u more registers\n", shown - MOST_SHOWN);
}
static void say_memory(struct verdict *v, mx_addr address, uint64_t offset, const char *of, unsigned x, unsigned y) {
  v->memory = v->is == SAME;
  v->is = DIFFERENT;
  v->address = address;
  text_printf(&v->text, "  byte %" PRIu64 " of %s: interpreted 0x%02x, compiled 0x%02x\n", offset, of, x, y);
}
/* The buffers, and the block's shared memory. */
static void compare_memory(struct side *i, struct side *c, struct verdict *v) {
  uint64_t at;
  if (!fetch_args(&i->args, i->device) || !fetch_args(&c->args, c->device)) return (void)(v->is = FAILED);
  const struct arg *a = first_difference(i, c, &at);
  if (a)
    return say_memory(v, mx_debug_generic(MX_DEBUG_GLOBAL, a->address + at), at, a->name ? a->name : "a buffer",
                      a->data.bytes[at], c->args.arg[a - i->args.arg].data.bytes[at]);
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_kernel_get_info(i->kernel, &info);
  unsigned char x[256], y[sizeof x];
  for (uint64_t n = info.static_shared_bytes + i->config.shared_bytes, k = 0, m; k < n; k += m) {
    m = n - k < sizeof x ? n - k : sizeof x;
    const mx_addr p = mx_debug_generic(MX_DEBUG_SHARED, k);
    if (mx_debug_read(i->session, i->stop.block, i->stop.warp, 0, p, x, m) != MX_OK ||
        mx_debug_read(c->session, i->stop.block, i->stop.warp, 0, p, y, m) != MX_OK)
      return;
    if (!memcmp(x, y, m)) continue;
    for (at = 0; x[at] == y[at]; at++) {}
    return say_memory(v, p + at, k + at, "the block's shared memory", x[at], y[at]);
  }
}

/* Compiled code of other warps passes without asking. */
static bool break_at_visit(struct side *s, const char *function, uint32_t pc, struct visit *visit) {
#define STEP(...) \
  { .struct_size = sizeof(mx_debug_test), __VA_ARGS__ }
  const mx_debug_test test[] = {STEP(.op = MX_DEBUG_TEST_BLOCK),
                                STEP(.op = MX_DEBUG_TEST_INT, .bits = visit->block),
                                STEP(.op = MX_DEBUG_TEST_EQ),
                                STEP(.op = MX_DEBUG_TEST_WARP),
                                STEP(.op = MX_DEBUG_TEST_INT, .bits = visit->warp),
                                STEP(.op = MX_DEBUG_TEST_EQ),
                                STEP(.op = MX_DEBUG_TEST_AND)};
#undef STEP
  int number;
  return mx_debug_break(s->session, function, pc, &number) == MX_OK &&
         mx_debug_break_when(s->session, number, is_visit, visit) == MX_OK &&
         mx_debug_break_test(s->session, number, test, sizeof test / sizeof *test) == MX_OK;
}

/* Before step n of the walk. */
static struct verdict probe(const struct comparison *c, const struct walk *w, size_t n, bool to_the_end) {
  struct verdict v = {.is = FAILED};
  struct side side[2] = {0};
  struct visit visit[2]; /* asked as long as the sessions go on */
  const struct step *at = &w->step[n];
  uint64_t earlier = 0;
  for (size_t k = 0; k < n; k++) earlier += same_place(&w->step[k], at);
  bool good = true;
  for (int e = 0; e < 2 && good; e++) {
    visit[e] = (struct visit){.block = w->block, .warp = w->warp, .left = earlier};
    good = open_side(&side[e], c, e ? MX_JIT_ON : MX_JIT_OFF) && begin_session(&side[e]) &&
           break_at_visit(&side[e], w->names[at->function], at->pc, &visit[e]) && go_on(&side[e]);
  }
  if (good && side[0].stop.reason == MX_DEBUG_AT_BREAKPOINT) {
    v.is = SAME;
    v.lanes = side[0].stop.lanes;
    if (side[1].stop.reason != MX_DEBUG_AT_BREAKPOINT)
      v.is = DIFFERENT, text_printf(&v.text, "  compiled code does not come to what is next\n");
    else if (side[1].stop.lanes != v.lanes)
      v.is = DIFFERENT, text_printf(&v.text, "  lanes behind it: interpreted %016" PRIx64 ", compiled %016" PRIx64 "\n",
                                    v.lanes, side[1].stop.lanes);
    else {
      compare_registers(&side[0], &side[1], &v);
      compare_memory(&side[0], &side[1], &v);
    }
    if (to_the_end) {
      for (int e = 0; e < 2; e++)
        while (go_on(&side[e]) && side[e].stop.reason != MX_DEBUG_AT_END) {}
      uint64_t offset;
      v.ends_wrong = side[0].stop.status != side[1].stop.status || !fetch_args(&side[0].args, side[0].device) ||
                     !fetch_args(&side[1].args, side[1].device) || first_difference(&side[0], &side[1], &offset);
    }
  }
  close_side(&side[0]);
  close_side(&side[1]);
  return v;
}

/* ---- the search -------------------------------------------------------------------------------------------------*/
static void progress(unsigned probes) {
  if (!isatty(STDERR_FILENO)) return;
  if (probes) fprintf(stderr, "\rlooking for the first difference: %u pairs of sessions\033[K", probes);
  else fputs("\r\033[K", stderr);
}

static void say_step(const struct comparison *c, const struct walk *w, size_t n, const struct verdict *v) {
  struct side s;
  if (open_side(&s, c, MX_JIT_OFF) && begin_session(&s)) {
    mx_debug_instruction i = {.struct_size = sizeof i};
    const struct step *at = &w->step[n];
    const uint32_t *grid = s.config.grid;
    mx_debug_code(s.session, w->names[at->function], at->pc, &i);
    int length = 0;
    const char *text = i.file && !strcmp(i.file, c->file) ? line_of_text(c->bytes, c->size, i.line, &length) : NULL;
    printf("first different: ");
    if (i.file) printf("%s:%u: ", i.file, i.line);
    if (length) printf("%.*s\n  ", length, text);
    printf("%s at %s+%u, block (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ") warp %u, instruction %zu of the warp\n",
           i.instruction ? i.instruction : "?", w->names[at->function], at->pc, w->block % grid[0],
           w->block / grid[0] % grid[1], w->block / grid[0] / grid[1], w->warp, n + 1);
    if (v->text.s) fwrite(v->text.s, 1, v->text.n, stdout);
  }
  close_side(&s);
}

enum found { FOUND, ELSEWHERE, NOTHING };

/* Step lo is right and wrong is what follows it. Code that was left there is interpreted up to where it is entered
 * again, so in a loop faults may have been passed over: the same two instructions, the first time. */
static size_t first_time(const struct comparison *c, const struct walk *w, size_t lo, unsigned *probes,
                         struct verdict *behind) {
  size_t n = 0, *times = cli_alloc((lo + 1) * sizeof *times);
  for (size_t k = 0; k <= lo; k++)
    if (same_place(&w->step[k], &w->step[lo]) && same_place(&w->step[k + 1], &w->step[lo + 1])) times[n++] = k;
  size_t right = 0, wrong = n - 1; /* in times: all before right are right */
  while (right < wrong) {
    const size_t mid = right + (wrong - right) / 2;
    progress(++*probes);
    struct verdict v = probe(c, w, times[mid] + 1, false);
    if (v.is == DIFFERENT) text_free(&behind->text), *behind = v, wrong = mid;
    else text_free(&v.text), right = mid + 1;
  }
  lo = times[wrong];
  free(times);
  return lo;
}

/* In the walk of one warp, whose first `end` steps lead to a difference. ELSEWHERE: to be looked for at who wrote
 * *address last, before position *before. */
static enum found search_walk(const struct comparison *c, const struct walk *w, size_t end, unsigned *probes,
                              mx_addr *address, uint64_t *before) {
  size_t lo = 0, hi = end;
  bool known = false; /* that they are the same before step lo */
  struct verdict behind = {.is = SAME}, v = {.is = SAME};
  while (v.is != FAILED && hi > lo && !(known && hi - lo == 1)) {
    const size_t mid = lo + (hi - lo) / 2;
    progress(++*probes);
    v = probe(c, w, mid, mid + 1 == end);
    if (v.is == DIFFERENT) text_free(&behind.text), behind = v, hi = mid;
    else text_free(&v.text), lo = mid, known = true;
  }
  if (v.is != FAILED && known && hi < end) lo = first_time(c, w, lo, probes, &behind), hi = lo + 1;
  progress(0);
  enum found found = FOUND;
  if (behind.memory) *address = behind.address, *before = w->step[hi].position, found = ELSEWHERE;
  else if (v.is == FAILED || !known) found = NOTHING;
  else if (hi == end && !v.ends_wrong)
    printf("no instruction can be named: compiled code that can stop on the way to it comes to the interpreter's "
           "results\n");
  else say_step(c, w, lo, &behind);
  text_free(&behind.text);
  return found;
}

static bool search(const struct comparison *c, const mx_trap_info *trap, mx_addr address) {
  uint64_t before = UINT64_MAX, block = 0;
  unsigned probes = 0;
  for (unsigned round = 0; round < MOST_WARPS; round++, trap = NULL) {
    struct walk w = {0};
    mx_debug_culprit writer = {.struct_size = sizeof writer};
    if (trap) {
      const uint32_t *grid = c->config->grid;
      w.block = trap->block[0] + (uint64_t)grid[0] * (trap->block[1] + (uint64_t)grid[1] * trap->block[2]),
      w.warp = trap->warp;
    } else if (address && last_writer(c, address, block, before, &writer)) w.block = writer.block, w.warp = writer.warp;
    else return false;
    size_t end = 0;
    if (walk_of(c, &w))
      while (end < w.n && (trap || w.step[end].position <= writer.position)) end++;
    const enum found found = end ? search_walk(c, &w, end, &probes, &address, &before) : NOTHING;
    block = w.block;
    free_walk(&w);
    if (found != ELSEWHERE) return found == FOUND;
  }
  return false;
}

int compare_engines(const struct comparison *c) {
  struct side side[2] = {0};
  struct outcome o[2] = {0};
  int status = CLI_DONE;
  for (int e = 0; e < 2 && status == CLI_DONE; e++)
    status = open_side(&side[e], c, e ? MX_JIT_ON : MX_JIT_OFF) ? launch_side(&side[e], c, &o[e]) : CLI_HOST;
  if (status == CLI_DONE && !say_differences(&side[0], &side[1], &o[0], &o[1])) {
    uint64_t bytes = 0, buffers = 0;
    for (size_t k = 0; k < side[0].args.n; k++)
      bytes += side[0].args.arg[k].data.size, buffers += side[0].args.arg[k].buffer;
    printf("no difference: %" PRIu64 " warp instructions (%.1f %% compiled), %" PRIu64 " bytes in %" PRIu64
           " buffers, %zu bytes printed\n",
           o[0].stats.steps,
           o[1].stats.steps ? 100.0 * (double)o[1].stats.steps_compiled / (double)o[1].stats.steps : 0.0, bytes,
           buffers, side[0].printed.n);
    if (o[0].error) printf("both: %s\n", o[0].error);
  } else if (status == CLI_DONE) {
    uint64_t offset = 0;
    const bool ended = o[0].status == MX_OK && o[1].status == MX_OK;
    const struct arg *a = ended ? first_difference(&side[0], &side[1], &offset) : NULL;
    const mx_trap_info *trap = o[0].status == MX_TRAPPED ? &o[0].trap : o[1].status == MX_TRAPPED ? &o[1].trap : NULL;
    fflush(stdout);
    if (!search(c, trap, a ? mx_debug_generic(MX_DEBUG_GLOBAL, a->address + offset) : 0))
      printf("the first instruction that differs was not found\n");
    status = CLI_REFUSED;
  }
  for (int e = 0; e < 2; e++) close_side(&side[e]), free(o[e].error);
  return status;
}

/* Runs litmus programs: one file is a program and what must come of it, in `//!` lines; README.md of this folder
 * describes them. Every file is run on the interpreter, on compiled code and in stress mode, with one worker and with
 * two. Knows the machine only by its public interface. */
#include "mx/asm.h"
#include "mx/check.h"
#include "mx/mx.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 8, MAX_TEXTS = 16, MAX_MARKS = 32 };

struct value_list {
  uint64_t *v;
  size_t n;
};
struct arg {
  char name[32];
  bool buffer, expected, sorted;
  unsigned size; /* of an element: 4 or 8 */
  size_t count;
  struct value_list start, want;
  uint64_t scalar;
};
struct litmus {
  const char *path;
  char *text;
  size_t size;
  mx_launch_config config;
  struct arg args[MAX_ARGS];
  unsigned nargs;
  char trap[32], status[32], finding[32]; /* empty: none expected */
  char *texts[MAX_TEXTS];                 /* what the report must hold */
  unsigned ntexts;
  struct {
    char name[32];
    unsigned line;
  } marks[MAX_MARKS];
  unsigned nmarks;
};

struct options {
  unsigned seeds, threads[4], nthreads;
  bool check; /* under checkers, which find only what the program says: lanes that miss barriers or spin on what nobody
                 has written yet are what these programs are about, so sync and uninit are not asked */
  bool interpreter, jit, show;
  const char *jit_compiler;
};

__attribute__((format(printf, 1, 2))) static char *say(const char *fmt, ...) {
  char *text = NULL;
  va_list ap;
  va_start(ap, fmt);
  if (vasprintf(&text, fmt, ap) < 0) abort();
  va_end(ap);
  return text;
}

/* ---- reading a file ---------------------------------------------------------------------------------------*/
static bool add_value(struct value_list *l, uint64_t v, uint64_t times) {
  if (times > 1 << 20) return false;
  l->v = realloc(l->v, (l->n + times + 1) * sizeof *l->v);
  if (!l->v) abort();
  while (times--) l->v[l->n++] = v;
  return true;
}

/* "7 0..31 0xFF*8": values, runs, repetitions. */
static bool read_values(const char *s, struct value_list *l) {
  for (;;) {
    while (isspace((unsigned char)*s)) s++;
    if (!*s) return true;
    char *end;
    uint64_t a = strtoull(s, &end, 0);
    if (end == s) return false;
    if (!strncmp(end, "..", 2)) {
      uint64_t b = strtoull(end + 2, &end, 0);
      if (b < a || b - a > 1 << 20) return false;
      for (; a <= b; a++) add_value(l, a, 1);
    } else if (*end == '*') {
      uint64_t n = strtoull(end + 1, &end, 0);
      if (!add_value(l, a, n)) return false;
    } else {
      add_value(l, a, 1);
    }
    if (*end && !isspace((unsigned char)*end)) return false;
    s = end;
  }
}

static struct arg *arg_of(struct litmus *t, const char *name) {
  for (unsigned i = 0; i < t->nargs; i++)
    if (!strcmp(t->args[i].name, name)) return &t->args[i];
  return NULL;
}

/* arg NAME u32[N] = VALUES   arg NAME u64 = VALUE */
static bool read_arg(struct litmus *t, const char *s) {
  char type[32];
  int used = 0;
  if (t->nargs == MAX_ARGS) return false;
  struct arg *a = &t->args[t->nargs++];
  if (sscanf(s, "%31s %31s %n", a->name, type, &used) < 2) return false;
  a->size = !strncmp(type, "u64", 3) ? 8 : 4;
  if (strncmp(type, "u64", 3) && strncmp(type, "u32", 3)) return false;
  if (type[3] == '[') a->buffer = true, a->count = strtoul(type + 4, NULL, 0);
  s += used;
  if (*s == '=') s++;
  if (!read_values(s, &a->start)) return false;
  if (!a->buffer) a->scalar = a->start.n ? a->start.v[0] : 0;
  return a->buffer ? a->count > 0 && a->start.n <= a->count : a->start.n == 1;
}

static bool read_expect(struct litmus *t, const char *s, bool sorted) {
  char name[32];
  int used = 0;
  if (sscanf(s, "%31s %n", name, &used) < 1) return false;
  struct arg *a = arg_of(t, name);
  if (!a || !a->buffer || a->expected) return false;
  a->expected = true;
  a->sorted = sorted;
  return read_values(s + used, &a->want) && a->want.n == a->count;
}

static bool read_line(struct litmus *t, char *s) {
  char word[32];
  int used = 0;
  if (sscanf(s, "%31s %n", word, &used) < 1) return false;
  s += used;
  uint32_t *xyz = !strcmp(word, "grid")      ? t->config.grid
                  : !strcmp(word, "block")   ? t->config.block
                  : !strcmp(word, "cluster") ? t->config.cluster
                                             : NULL;
  if (xyz) return sscanf(s, "%u %u %u", &xyz[0], &xyz[1], &xyz[2]) >= 1;
  if (!strcmp(word, "steps")) return (t->config.steps = strtoull(s, NULL, 0)) > 0;
  if (!strcmp(word, "shared")) return (t->config.shared_bytes = (uint32_t)strtoul(s, NULL, 0)) > 0;
  if (!strcmp(word, "resident")) return (t->config.resident_blocks = (uint32_t)strtoul(s, NULL, 0)) > 0;
  if (!strcmp(word, "arg")) return read_arg(t, s);
  if (!strcmp(word, "expect")) return read_expect(t, s, false);
  if (!strcmp(word, "expect-sorted")) return read_expect(t, s, true);
  if (!strcmp(word, "expect-trap")) return sscanf(s, "%31s", t->trap) == 1;
  if (!strcmp(word, "expect-status")) return sscanf(s, "%31s", t->status) == 1;
  if (!strcmp(word, "finding")) return sscanf(s, "%31s", t->finding) == 1;
  if (!strcmp(word, "text")) return t->ntexts < MAX_TEXTS && (t->texts[t->ntexts++] = strdup(s));
  return false;
}

static void read_mark(struct litmus *t, const char *at, unsigned line) {
  if (t->nmarks == MAX_MARKS) abort();
  t->marks[t->nmarks].line = line;
  sscanf(at, "//@%31s", t->marks[t->nmarks].name);
  t->nmarks++;
}

static char *load(const char *path, struct litmus *t) {
  FILE *f = fopen(path, "rb");
  if (!f) return say("%s", strerror(errno));
  FILE *out = open_memstream(&t->text, &t->size);
  for (int c; (c = fgetc(f)) != EOF;) fputc(c, out);
  fclose(f);
  fclose(out);
  t->path = path;
  t->config = (mx_launch_config)MX_LAUNCH_CONFIG_INIT;
  t->config.steps = 1000000000; /* against hangs alone: compiled code spins through 50 million while another thread is
                                   off its processor */
  unsigned line = 1;
  for (char *s = t->text; *s; line++) {
    char *end = strchr(s, '\n'), *copy = end ? strndup(s, (size_t)(end - s)) : strdup(s), *mark = strstr(copy, "//@");
    bool good = strncmp(copy, "//! ", 4) || read_line(t, copy + 4);
    if (mark) read_mark(t, mark, line);
    free(copy);
    if (!good) return say("line %u: not understood", line);
    s = end ? end + 1 : s + strlen(s);
  }
  return NULL;
}

static void unload(struct litmus *t) {
  for (unsigned i = 0; i < t->nargs; i++) free(t->args[i].start.v), free(t->args[i].want.v);
  for (unsigned i = 0; i < t->ntexts; i++) free(t->texts[i]);
  free(t->text);
}

/* {NAME} becomes the number of the line marked //@NAME. */
static char *with_marks(const struct litmus *t, const char *s) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  while (*s) {
    const char *end = *s == '{' ? strchr(s, '}') : NULL;
    unsigned k = 0;
    for (; end && k < t->nmarks; k++)
      if (strlen(t->marks[k].name) == (size_t)(end - s - 1) && !strncmp(t->marks[k].name, s + 1, (size_t)(end - s - 1)))
        break;
    if (end && k < t->nmarks) fprintf(out, "%u", t->marks[k].line), s = end + 1;
    else fputc(*s++, out);
  }
  fclose(out);
  return text;
}

/* ---- one run ------------------------------------------------------------------------------------------------*/
static int by_value(const void *a, const void *b) {
  uint64_t x, y;
  memcpy(&x, a, 8);
  memcpy(&y, b, 8);
  return x < y ? -1 : x > y;
}

static void to_bytes(const struct arg *a, uint8_t *b) {
  memset(b, 0, a->count * a->size);
  for (size_t i = 0; i < a->start.n; i++) memcpy(b + i * a->size, &a->start.v[i], a->size);
}

static char *compare(mx_device *d, const struct arg *a, mx_addr at) {
  uint8_t *b = calloc(a->count, a->size);
  uint64_t *v = calloc(a->count, sizeof *v);
  char *why = NULL;
  if (!b || !v) abort();
  if (mx_copy_from_device(d, b, at, a->count * a->size) != MX_OK) why = say("%s: cannot be read back", a->name);
  for (size_t i = 0; i < a->count; i++) memcpy(&v[i], b + i * a->size, a->size);
  if (a->sorted) qsort(v, a->count, sizeof *v, by_value);
  for (size_t i = 0; i < a->count && !why; i++)
    if (v[i] != a->want.v[i])
      why = say("%s[%zu]%s is 0x%llx, expected 0x%llx", a->name, i, a->sorted ? " (sorted)" : "",
                (unsigned long long)v[i], (unsigned long long)a->want.v[i]);
  free(b);
  free(v);
  return why;
}

/* What the machine said about how the launch ended. */
static char *report_of(mx_device *d, const mx_trap_info *trap) {
  char *last = mx_last_error_text(d), *text = say("%s\n%s\n", trap->text ? trap->text : "", last ? last : "");
  free(last);
  return text;
}

static char *judge(const struct litmus *t, mx_device *d, mx_status s, const mx_addr *at, bool show) {
  mx_trap_info trap = {.struct_size = sizeof trap};
  char *why = NULL;
  mx_device_trap(d, &trap);
  const char *kind = s == MX_TRAPPED ? mx_trap_kind_name(trap.kind) : "",
             *status = s == MX_OK || s == MX_TRAPPED ? "" : mx_status_name(s) + 3;
  char *report = report_of(d, &trap);
  if (show && s != MX_OK) printf("%s", report);
  if (strcmp(kind, t->trap)) why = say("trap '%s', expected '%s'\n%s", kind, t->trap, report);
  else if (strcmp(status, t->status)) why = say("status '%s', expected '%s'\n%s", status, t->status, report);
  for (unsigned i = 0; i < t->ntexts && !why; i++) {
    char *text = with_marks(t, t->texts[i]);
    if (!strstr(report, text)) why = say("the report does not say '%s':\n%s", text, report);
    free(text);
  }
  for (unsigned i = 0; i < t->nargs && !why && s == MX_OK; i++)
    if (t->args[i].expected) why = compare(d, &t->args[i], at[i]);
  free(report);
  return why;
}

static const char *file_of(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

/* Under checkers: what they have found that is not expected, or that they have not found it. */
static char *judge_findings(const struct litmus *t, mx_device *d) {
  const size_t n = mx_device_findings(d);
  if (!n && *t->finding) return say("no checker says '%s'", t->finding);
  for (size_t k = 0; k < n; k++) {
    mx_finding f = {.struct_size = sizeof f};
    if (mx_device_finding(d, k, &f) == MX_OK && strcmp(f.kind, t->finding)) return say("found: %s", f.text);
  }
  return NULL;
}

static char *run_once(const struct litmus *t, const uint8_t *bytes, size_t size, const mx_launch_config *config,
                      const struct options *o, mx_launch_stats *stats) {
  mx_device_options dopt = MX_DEVICE_OPTIONS_INIT;
  dopt.jit_compiler = o->jit_compiler;
  mx_device *d;
  mx_module *module;
  mx_kernel *k = NULL;
  mx_addr at[MAX_ARGS] = {0};
  const void *args[MAX_ARGS];
  if (mx_device_create(&dopt, &d) != MX_OK) return say("no device");
  char *why = NULL, *more = NULL;
  if (o->check && mx_device_check(d, MX_CHECK_MEMORY | MX_CHECK_RACE | MX_CHECK_LANES) != MX_OK)
    why = say("no checkers");
  if (o->check) mx_device_check_source(d, file_of(t->path), t->text, t->size);
  if (mx_module_load_data(d, bytes, size, &module) != MX_OK || !(k = mx_module_kernel_at(module, 0)))
    why = say("not loaded: %s", (more = mx_last_error_text(d)) ? more : "");
  for (unsigned i = 0; i < t->nargs && !why; i++) {
    const struct arg *a = &t->args[i];
    args[i] = a->buffer ? (const void *)&at[i] : &a->scalar;
    if (!a->buffer) continue;
    uint8_t *b = malloc(a->count * a->size);
    if (!b) abort();
    to_bytes(a, b);
    if (mx_alloc(d, a->count * a->size, &at[i]) != MX_OK || mx_copy_to_device(d, at[i], b, a->count * a->size) != MX_OK)
      why = say("no memory on the device");
    else mx_allocation_set_name(d, at[i], a->name);
    free(b);
  }
  if (!why) {
    mx_status s = mx_launch_args(k, config, args, t->nargs);
    if (mx_device_stats(d, stats) != MX_OK) why = say("no statistics");
    else why = judge(t, d, s, at, o->show);
    if (!why && o->check && s == MX_OK) why = judge_findings(t, d);
  }
  free(more);
  mx_device_destroy(d);
  return why;
}

/* ---- all runs of a file ----------------------------------------------------------------------------------*/
struct tally {
  unsigned passed, failed;
  uint64_t warps, compiled;
};

/* *steps: instructions that the file's first run with one worker retired, 0 before it; all others must retire as many.
 */
static void run_as(const struct litmus *t, const uint8_t *bytes, size_t size, mx_launch_config c, const char *how,
                   const struct options *o, uint64_t *steps, struct tally *n) {
  for (unsigned i = 0; i < o->nthreads; i++) {
    c.threads = o->threads[i];
    mx_launch_stats stats = {.struct_size = sizeof stats};
    char *why = run_once(t, bytes, size, &c, o, &stats);
    if (c.jit == MX_JIT_ON) n->warps += stats.warps, n->compiled += stats.warps_compiled;
    if (!why && c.threads == 1) {
      if (!*steps) *steps = stats.steps;
      if (stats.steps != *steps)
        why = say("%llu instructions, expected %llu", (unsigned long long)stats.steps, (unsigned long long)*steps);
    }
    if (why) printf("%s: %s, %u threads: %s\n", t->path, how, c.threads, why);
    fflush(stdout);
    *(why ? &n->failed : &n->passed) += 1;
    free(why);
  }
}

static void run_file(const char *path, const struct options *o, struct tally *n) {
  struct litmus t = {0};
  char *why = load(path, &t);
  mx_asm_options ao = {.struct_size = sizeof(mx_asm_options), .file_name = file_of(path)};
  mx_asm_result *a = why ? NULL : mx_assemble(t.text, t.size, &ao);
  size_t size = 0;
  const uint8_t *bytes = a ? mx_asm_bytes(a, &size) : NULL;
  if (!why && !bytes) {
    why = mx_asm_diagnostic_count(a) ? mx_asm_format(mx_asm_diagnostic_at(a, 0), false) : say("does not assemble");
  }
  if (why) {
    printf("%s: %s\n", path, why);
    n->failed++;
    free(why);
  } else {
    mx_launch_config c = t.config;
    uint64_t steps = 0;
    c.jit = MX_JIT_OFF;
    if (o->interpreter) run_as(&t, bytes, size, c, "interpreter", o, &steps, n);
    c.jit = MX_JIT_ON;
    if (o->jit) run_as(&t, bytes, size, c, "compiled", o, &steps, n);
    for (unsigned seed = 1; o->jit && seed <= o->seeds; seed++) {
      char how[40];
      snprintf(how, sizeof how, "stress seed %u", seed);
      c.jit_stress = seed;
      run_as(&t, bytes, size, c, how, o, &steps, n);
    }
  }
  mx_asm_free(a);
  unload(&t);
}

static const char help[] = "litmus tests/litmus/*.ptx tests/litmus/*.mxs\n\n"
                           "  --jit=on|off|only   also on compiled code (on), only there\n"
                           "  --seeds N           runs in stress mode (4)\n"
                           "  --threads N         only with N workers (1, then 2)\n"
                           "  --check             once, interpreted, under checkers of memory, races and warps\n"
                           "  --jitc PATH         the compiler process (where the library looks)\n"
                           "  --show              print the reports\n";

int main(int argc, char **argv) {
  struct options o = {.seeds = 4, .threads = {1, 2}, .nthreads = 2, .interpreter = true, .jit = true};
  struct tally n = {0};
  enum { JIT = 2, SEEDS, THREADS, JITC, SHOW, CHECK };
  static const struct option longs[] = {
      {"help", 0, 0, 'h'},  {"jit", 1, 0, JIT},     {"seeds", 1, 0, SEEDS}, {"threads", 1, 0, THREADS},
      {"jitc", 1, 0, JITC}, {"check", 0, 0, CHECK}, {"show", 0, 0, SHOW},   {0}};
  for (int c; (c = getopt_long(argc, argv, "-h", longs, NULL)) != -1;)
    switch (c) { /* "-": files, too, each with the options before it */
    case 'h': return fputs(help, stdout), 0;
    case JIT:
      if (!strcmp(optarg, "only")) o.interpreter = false;
      else if (!strcmp(optarg, "on") || !strcmp(optarg, "off")) o.jit = optarg[1] == 'n';
      else return fprintf(stderr, "litmus: --jit=on, off or only\n"), 2;
      break;
    case SEEDS: o.seeds = (unsigned)strtoul(optarg, NULL, 0); break;
    case THREADS: o.threads[0] = (unsigned)strtoul(optarg, NULL, 0), o.nthreads = 1; break;
    case JITC: o.jit_compiler = optarg; break;
    case SHOW: o.show = true; break;
    case CHECK: o.check = true, o.jit = false, o.threads[0] = 1, o.nthreads = 1; break;
    case 1: run_file(optarg, &o, &n); break;
    default: return fprintf(stderr, "Try 'litmus --help'\n"), 2;
    }
  if (o.jit)
    printf("%llu of %llu warps ran compiled code\n", (unsigned long long)n.compiled, (unsigned long long)n.warps);
  printf("%u passed, %u failed\n", n.passed, n.failed);
  return n.failed ? 1 : 0;
}

/* mxrun FILE: one launch, or several one after the other, their arguments, and what is shown and saved of them. */
#include "mxrun.h"

#include "profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  R_KERNEL = O_COMMON,
  R_GRID,
  R_BLOCK,
  R_SHARED,
  R_CLUSTER,
  R_COOPERATIVE,
  R_DEVICES,
  R_PRINT,
  R_SAVE,
  R_EXPECT,
  R_ULP,
  R_STATS,
  R_JSON,
  R_TRACE,
  R_INTERACTIVE,
  R_SOURCE,
  R_COMMAND,
  R_BATCH,
  R_SCHEDULE,
  R_RECORD,
  R_DUMP,
  R_COMPARE,
  R_KEEP_GOING,
  R_SCREEN,
  R_LIVE,
  R_THEN,
  R_ALL,
  R_COVERAGE,
  R_EVENTS,
  R_HTML,
  R_NO_MEMORY,
  R_TOOL,
  R_SUPPRESS
};
#define RUN_OPTIONS \
  COMMON_OPTIONS, {"kernel", 'k', CLI_REQUIRED, R_KERNEL}, {"grid", 0, CLI_REQUIRED, R_GRID}, \
      {"block", 0, CLI_REQUIRED, R_BLOCK}, {"shared", 0, CLI_REQUIRED, R_SHARED}, \
      {"cluster", 0, CLI_REQUIRED, R_CLUSTER}, {"cooperative", 0, CLI_NONE, R_COOPERATIVE}, \
      {"devices", 0, CLI_REQUIRED, R_DEVICES}, {"print", 0, CLI_REQUIRED, R_PRINT}, {"save", 0, CLI_REQUIRED, R_SAVE}, \
      {"expect", 0, CLI_REQUIRED, R_EXPECT}, {"ulp", 0, CLI_REQUIRED, R_ULP}, {"stats", 0, CLI_NONE, R_STATS}, \
      {"json", 0, CLI_NONE, R_JSON}, {"trace", 0, CLI_OPTIONAL, R_TRACE}, {"jit-dump", 0, CLI_OPTIONAL, R_DUMP}, \
      {"compare", 0, CLI_NONE, R_COMPARE}, {"interactive", 'i', CLI_NONE, R_INTERACTIVE}, \
      {NULL, 'x', CLI_REQUIRED, R_SOURCE}, {"ex", 'e', CLI_REQUIRED, R_COMMAND}, {"batch", 0, CLI_NONE, R_BATCH}, \
      {"schedule", 0, CLI_REQUIRED, R_SCHEDULE}, {"record", 0, CLI_NONE, R_RECORD}, \
      {"keep-going", 0, CLI_NONE, R_KEEP_GOING}, {"tui", 0, CLI_NONE, R_SCREEN}, {"live", 0, CLI_NONE, R_LIVE}, { \
    "then", 0, CLI_NONE, R_THEN \
  }
static const struct cli_option options[] = {RUN_OPTIONS, {0}};
static const struct cli_option profile_options[] = {RUN_OPTIONS,
                                                    {"all", 0, CLI_NONE, R_ALL},
                                                    {"html", 0, CLI_REQUIRED, R_HTML},
                                                    {"coverage", 0, CLI_REQUIRED, R_COVERAGE},
                                                    {"trace-events", 0, CLI_REQUIRED, R_EVENTS},
                                                    {"no-memory", 0, CLI_NONE, R_NO_MEMORY},
                                                    {0}};
static const struct cli_option check_options[] = {
    RUN_OPTIONS, {"tool", 0, CLI_REQUIRED, R_TOOL}, {"suppress", 0, CLI_REQUIRED, R_SUPPRESS}, {0}};

struct wish {
  int id;
  const char *text;
  int64_t ulp;
}; /* a --print, --save or --expect, in the order given */

static void parse_shape(const char *option, const char *s, uint32_t *v) {
  const char *whole = s;
  if (!strcmp(option, "--grid") && !strcmp(s, "auto")) return (void)(v[0] = v[1] = v[2] = 0); /* args.c: auto_grid */
  v[0] = v[1] = v[2] = 1;
  for (unsigned k = 0;; k++) {
    char number[16];
    size_t n = strcspn(s, ",");
    uint64_t x;
    if (n >= sizeof number || k == 3) cli_usage("mxrun", "%s: '%s' is not X[,Y[,Z]]", option, whole);
    memcpy(number, s, n);
    number[n] = 0;
    if (!cli_number(number, UINT32_MAX, &x)) cli_usage("mxrun", "%s: '%s' is not X[,Y[,Z]]", option, whole);
    v[k] = (uint32_t)x;
    if (!s[n]) break;
    s += n + 1;
  }
  if (!v[0] && !v[1] && !v[2]) v[2] = 1; /* wrong, and no demand for a grid */
}

/* ---- output -----------------------------------------------------------------------------------------------*/
struct output {
  FILE *to;
  struct text printed;
  bool json, live;
};
static void on_output(void *user, const char *text, size_t size) {
  struct output *o = user;
  if (o->json) text_add(&o->printed, text, size);
  else fwrite(text, 1, size, o->to), o->live &&fflush(o->to);
}
/* Assertions that have failed. */
static void on_message(void *user, const char *text, size_t size) {
  (void)user;
  fflush(stdout);
  fwrite(text, 1, size, stderr);
}

/* "ARG[LO:HI]", "ARG:TYPE[LO:HI]", "ARG": the buffer, its element type and range */
static struct arg *parse_print(struct args *launches, const char *s, const struct elem **e, uint64_t *lo,
                               uint64_t *hi) {
  size_t n = strcspn(s, "[:");
  struct arg *g = find_in_launches(launches, s, n);
  if (!g) cli_usage("mxrun", "--print %s: the kernel has no parameter '%.*s'", s, (int)n, s);
  if (!g->buffer) cli_usage("mxrun", "--print %s: that argument is not a buffer", s);
  *e = data_of(g)->type ? data_of(g)->type : elem_find("u8", 2);
  const char *p = s + n;
  if (*p == ':') {
    size_t m = strcspn(p + 1, "[");
    *e = elem_find(p + 1, m);
    if (!*e) cli_usage("mxrun", "--print %s: unknown element type '%.*s'", s, (int)m, p + 1);
    p += m + 1;
  }
  uint64_t count = data_of(g)->size / (*e)->size;
  *lo = 0, *hi = count;
  if (!*p) return g;
  char range[64];
  size_t m = strlen(p);
  if (m >= sizeof range || p[m - 1] != ']') cli_usage("mxrun", "--print %s: expected [LO:HI]", s);
  memcpy(range, p + 1, m - 2);
  range[m - 2] = 0;
  char *colon = strchr(range, ':');
  if (colon) *colon++ = 0;
  if ((*range || !colon) && !cli_number(range, UINT64_MAX - 1, lo))
    cli_usage("mxrun", "--print %s: '%s' is not a number", s, range);
  if (!colon) *hi = *lo + 1;
  else if (*colon && !cli_number(colon, UINT64_MAX, hi))
    cli_usage("mxrun", "--print %s: '%s' is not a number", s, colon);
  if (*lo > *hi || *hi > count) cli_usage("mxrun", "--print %s: the buffer has %" PRIu64 " elements", s, count);
  return g;
}

static void print_elements(struct text *t, struct args *launches, const char *s, bool json) {
  const struct elem *e;
  uint64_t lo, hi;
  struct arg *g = parse_print(launches, s, &e, &lo, &hi);
  char who[24];
  snprintf(who, sizeof who, "%.*s", (int)strcspn(s, "[:"), s); /* where it has no name: as it was asked for */
  const char *name = g->name ? g->name : who;
  if (json) {
    text_printf(t, "{\"arg\": ");
    text_json(t, name);
    text_printf(t, ", \"type\": \"%s\", \"first\": %" PRIu64 ", \"values\": [", e->name, lo);
  }
  for (uint64_t k = lo; k < hi; k++) {
    const unsigned char *p = data_of(g)->bytes + k * e->size;
    if (!json && (k - lo) % 8 == 0) {
      uint64_t last = k + 8 < hi ? k + 8 : hi;
      text_printf(t, "%s%s[%" PRIu64 ":%" PRIu64 "]", k > lo ? "\n" : "", name, k, last);
    }
    if (!json) text_add(t, " ", 1), elem_print(t, e, p);
    else {
      if (k > lo) text_add(t, ", ", 2);
      double v = e->kind == ELEM_FLOAT ? elem_real(e, p) : 0;
      bool word = v != v || v - v != 0; /* JSON has no NaN and no infinity */
      text_printf(t, word ? "\"" : "");
      elem_print(t, e, p);
      text_printf(t, word ? "\"" : "");
    }
  }
  text_printf(t, json ? "]}" : "\n");
}

/* Which engine ran the kernel, and why. */
static void tier_text(struct text *t, const mx_launch_stats *s) {
  text_printf(t, "engine    ");
  switch (s->tier) {
  case MX_TIER_INTERPRETED: text_printf(t, "interpreter, as demanded"); break;
  case MX_TIER_WAITING:
    text_printf(t, "interpreter: %.1f ms so far, a compile would take about %.0f ms", s->interpreted_ms,
                s->predicted_compile_ms);
    break;
  case MX_TIER_COMPILING:
    text_printf(
        t, "interpreter: the compiler, started in this launch or before, was not ready; about %.0f ms were expected",
        s->predicted_compile_ms);
    break;
  case MX_TIER_COMPILED:
    text_printf(t, "compiled in %.1f ms, %.0f ms expected", s->compile_ms, s->predicted_compile_ms);
    break;
  case MX_TIER_CACHED: text_printf(t, "compiled code from the cache"); break;
  case MX_TIER_READY: text_printf(t, "compiled code of an earlier launch"); break;
  case MX_TIER_SLOWER:
    text_printf(t, "interpreter: compiled code took %.0f ns for an instruction, the interpreter %.0f", s->compiled_ns,
                s->interpreted_ns);
    break;
  case MX_TIER_FAILED: text_printf(t, "interpreter: there is no compiled code for this kernel"); break;
  }
  text_printf(t, "%s\n", s->cache_misses ? "; not in the cache" : "");
}

static void stats_text(struct text *t, mx_device *d, bool json) {
  mx_launch_stats s = {.struct_size = sizeof s};
  if (mx_device_stats(d, &s) != MX_OK) return text_printf(t, json ? "null" : "");
  static const char *const reasons[] = {"done", "poll", "trap", "call", "block", "opcode", "diverge", "stress"};
  static const char *const tiers[] = {"interpreted", "waiting", "compiling", "compiled",
                                      "cached",      "ready",   "failed",    "slower"};
  double compiled = s.steps ? 100.0 * (double)s.steps_compiled / (double)s.steps : 0;
  if (json) {
    text_printf(t,
                "{\"seconds\": %.9g, \"threads\": %u, \"blocks\": %" PRIu64 ", \"warps\": %" PRIu64
                ", \"steps\": %" PRIu64 ", \"steps_compiled\": %" PRIu64 ", \"warps_interpreted\": %" PRIu64
                ", \"warps_compiled\": %" PRIu64 ", \"splits\": %" PRIu64 ", \"rejoins\": %" PRIu64
                ", \"parks\": %" PRIu64 ", \"enters\": %" PRIu64 ", \"bodies\": %" PRIu64 ", \"exits\": {",
                s.seconds, s.threads, s.blocks, s.warps, s.steps, s.steps_compiled, s.warps_interpreted,
                s.warps_compiled, s.splits, s.rejoins, s.parks, s.enters, s.bodies);
    for (size_t k = 0; k < 8; k++) text_printf(t, "%s\"%s\": %" PRIu64, k ? ", " : "", reasons[k], s.exits[k]);
    text_printf(t,
                "}, \"tier\": \"%s\", \"interpreted_ms\": %.6g, \"predicted_compile_ms\": %.6g, \"compile_ms\": %.6g, "
                "\"cache_hits\": %" PRIu64 ", \"cache_misses\": %" PRIu64 ", \"resident_blocks\": %u, "
                "\"peak_resident_blocks\": %u, \"printf_lost\": %" PRIu64 ", \"pmevents\": [",
                tiers[s.tier], s.interpreted_ms, s.predicted_compile_ms, s.compile_ms, s.cache_hits, s.cache_misses,
                s.resident_blocks, s.peak_resident_blocks, s.printf_lost);
    for (size_t k = 0; k < 16; k++) text_printf(t, "%s%" PRIu64, k ? ", " : "", s.pmevents[k]);
    text_printf(t, "]}");
    return;
  }
  text_printf(t, "time      %.3f ms on %u thread%s, %" PRIu64 " blocks, %" PRIu64 " warps\n", s.seconds * 1e3,
              s.threads, s.threads == 1 ? "" : "s", s.blocks, s.warps);
  text_printf(t, "steps     %" PRIu64 " warp instructions", s.steps);
  if (s.seconds > 0) text_printf(t, ", %.1f million a second", (double)s.steps / s.seconds * 1e-6);
  text_printf(t, "; %.1f %% in compiled code\n", compiled);
  text_printf(t, "warps     %" PRIu64 " ran compiled code, %" PRIu64 " never did\n", s.warps_compiled,
              s.warps_interpreted);
  text_printf(t, "control   %" PRIu64 " splits, %" PRIu64 " rejoins, %" PRIu64 " parked blocks, at most %u resident\n",
              s.splits, s.rejoins, s.parks, s.peak_resident_blocks);
  if (s.enters) {
    text_printf(t, "compiled  %" PRIu64 " entries, %" PRIu64 " instructions by the interpreter; exits:", s.enters,
                s.bodies);
    for (size_t k = 0; k < 8; k++)
      if (s.exits[k]) text_printf(t, " %s %" PRIu64, reasons[k], s.exits[k]);
    text_printf(t, "\n");
  }
  tier_text(t, &s);
  for (size_t k = 0; k < 16; k++)
    if (s.pmevents[k]) text_printf(t, "pmevent   %zu: %" PRIu64 "\n", k, s.pmevents[k]);
  if (s.printf_lost)
    text_printf(t, "printf    %" PRIu64 " bytes were overwritten before they could be read\n", s.printf_lost);
}

/* The device's trap as an object: what the text says, in parts. */
static void trap_json(struct text *t, mx_device *d) {
  mx_trap_info i = {.struct_size = sizeof i};
  if (mx_device_trap(d, &i) != MX_OK || i.kind == MX_TRAP_NONE) return text_printf(t, "null");
  text_printf(t, "{\"kind\": \"%s\"", mx_trap_kind_name(i.kind));
  const char *const texts[][2] = {{"kernel", i.kernel},           {"function", i.function}, {"file", i.file},
                                  {"instruction", i.instruction}, {"nearest", i.nearest},   {"detail", i.detail}};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    if (texts[k][1]) text_printf(t, ", \"%s\": ", texts[k][0]), text_json(t, texts[k][1]);
  text_printf(t, ", \"line\": %u, \"pc\": %u, \"block\": [%u, %u, %u], \"warp\": %u, \"lanes\": \"0x%" PRIx64 "\"",
              i.line, i.pc, i.block[0], i.block[1], i.block[2], i.warp, i.lanes);
  if (i.has_address)
    text_printf(t, ", \"address\": \"0x%" PRIx64 "\", \"bytes\": %u, \"write\": %s", i.address, i.access_bytes,
                i.is_write ? "true" : "false");
  text_printf(t, "}");
}

/* ---- --save and --expect --------------------------------------------------------------------------------*/
static struct arg *parse_assignment(struct args *last, const char *option, const char *s, const char **rest) {
  const char *eq = strchr(s, '=');
  if (!eq || eq == s || !eq[1]) cli_usage("mxrun", "%s %s: expected ARG=FILE", option, s);
  struct arg *g = find_in_launches(last, s, (size_t)(eq - s));
  if (!g) cli_usage("mxrun", "%s %s: the kernel has no parameter '%.*s'", option, s, (int)(eq - s), s);
  if (!g->buffer) cli_usage("mxrun", "%s %s: that argument is not a buffer", option, s);
  *rest = eq + 1;
  return g;
}

/* ---- launches -----------------------------------------------------------------------------------------------*/
struct job {
  const char *kernel_name;
  mx_launch_config config;
  bool block_given;
  char **words;
  size_t nwords;
  mx_kernel *kernel;
  mx_kernel_info info;
  struct args args;
};
struct jobs {
  struct job *at;
  size_t n;
};
enum { MOST_DEVICES = 8 };
struct showing {
  bool stats, json;
  mx_kernel *kernels[MOST_DEVICES]; /* on all devices of the launch, if there are several */
  size_t ndevices;
  const char *trace;
  const struct wish *wish;
  size_t nwishes;
  bool check;
  const struct suppressions *suppressed;
};

static struct job *add_job(struct jobs *j, char **words) {
  j->at[j->n] = (struct job){.config = MX_LAUNCH_CONFIG_INIT, .words = words};
  return &j->at[j->n++];
}

/* What is said of a launch, in stats and in JSON. */
static mx_status run_job(struct job *job, const struct jobs *all, mx_device *d, const struct showing *show,
                         struct text *j) {
  char *failure = NULL;
  mx_status s = show->trace ? launch_traced(d, job->kernel, &job->config, job->args.params, job->args.bytes,
                                            show->trace, &failure)
                : show->ndevices > 1
                    ? launch_watched_on(d, show->kernels, show->ndevices, &job->config, job->args.params,
                                        job->args.bytes, job->info.name)
                    : launch_watched(d, job->kernel, &job->config, job->args.params, job->args.bytes, job->info.name);
  if (show->json)
    text_printf(j, "\"kernel\": "), text_json(j, job->info.name),
        text_printf(j, ", \"status\": \"%s\"", mx_status_name(s));
  if (s != MX_OK) {
    char *text = failure ? failure : failure_text(d, s);
    if (show->json) text_printf(j, ", \"error\": "), text_json(j, text);
    if (show->json && s == MX_TRAPPED) text_printf(j, ", \"trap\": "), trap_json(j, d);
    fflush(stdout);
    fprintf(stderr, "mxrun: %s\n", text);
    free(text);
  }
  char *note = mx_device_note(d);
  if (note) fflush(stdout), fprintf(stderr, "mxrun: note: %s\n", note);
  free(note);
  if (show->stats || show->json) {
    struct text t = {0};
    if (show->json) text_printf(j, ", \"stats\": ");
    if (show->stats && all->n > 1)
      text_printf(&t, "launch    %zu of %zu: %s\n", (size_t)(job - all->at) + 1, all->n, job->info.name);
    stats_text(show->json ? j : &t, d, show->json);
    fflush(stdout);
    if (show->stats && t.s) fputs(t.s, stderr);
    text_free(&t);
  }
  return s;
}

/* --print, --save and --expect, after the last launch. status: the exit status so far. */
static int show_wishes(struct args *last, mx_device *d, const struct showing *show, struct text *j, int status) {
  const char *comma = "", *value;
  bool fetched = true;
  for (struct args *a = last; a && show->nwishes; a = a->before) fetched &= fetch_args(a, d);
  if (!fetched) fprintf(stderr, "mxrun: the buffers could not be copied back\n"), status = CLI_HOST;
  if (show->json) text_printf(j, ", \"prints\": [");
  for (size_t k = 0; k < show->nwishes; k++) {
    if (show->wish[k].id != R_PRINT) continue;
    struct text t = {0};
    if (show->json) text_printf(j, "%s", comma), comma = ", ";
    print_elements(show->json ? j : &t, last, show->wish[k].text, show->json);
    if (!show->json) fwrite(t.s, 1, t.n, stdout);
    text_free(&t);
  }
  if (show->json) text_printf(j, "], \"failures\": [");
  comma = "";
  for (size_t k = 0; k < show->nwishes; k++) {
    const struct wish *w = &show->wish[k];
    char *reason = NULL;
    if (w->id == R_SAVE) {
      struct arg *g = parse_assignment(last, "--save", w->text, &value);
      bool host;
      if (!data_save(data_of(g), value, &reason, &host)) status = host ? CLI_HOST : CLI_REFUSED;
    } else if (w->id == R_EXPECT) {
      struct arg *g = parse_assignment(last, "--expect", w->text, &value);
      struct data expected;
      enum data_result made = data_generate(&expected, value, &reason);
      if (made == DATA_OTHER) made = data_read(&expected, value, &reason) ? DATA_MADE : DATA_BAD;
      if (made == DATA_MADE) {
        char *difference = NULL;
        if (!data_equal(data_of(g), &expected, w->ulp, &difference)) reason = format("%s: %s", w->text, difference);
        free(difference);
        data_free(&expected);
      }
      if (reason && status == CLI_DONE) status = CLI_REFUSED;
    }
    if (!reason) continue;
    fflush(stdout);
    fprintf(stderr, "mxrun: %s\n", reason);
    if (show->json) text_printf(j, "%s", comma), text_json(j, reason), comma = ", ";
    free(reason);
  }
  if (show->json) text_printf(j, "]");
  return status;
}

/* Runs the launches one after the other until one fails. */
static int run_jobs(struct jobs *all, mx_device *d, const struct showing *show, struct output *out) {
  struct args *last = &all->at[all->n - 1].args;
  for (size_t k = 0; k < show->nwishes; k++) { /* wrong wishes are refused before anything runs */
    const struct elem *e;
    const char *value;
    uint64_t lo, hi;
    if (show->wish[k].id == R_PRINT) parse_print(last, show->wish[k].text, &e, &lo, &hi);
    else parse_assignment(last, show->wish[k].id == R_SAVE ? "--save" : "--expect", show->wish[k].text, &value);
  }
  mx_device_set_output(d, on_output, out);
  mx_device_set_messages(d, on_message, NULL);
  struct text j = {0};
  mx_status s = MX_OK;
  if (show->json) text_printf(&j, all->n > 1 ? "{\"launches\": [" : "{");
  for (size_t k = 0; k < all->n && s == MX_OK; k++) {
    if (show->json && all->n > 1) text_printf(&j, k ? ", {" : "{");
    s = run_job(&all->at[k], all, d, show, &j);
    if (show->json && all->n > 1) text_printf(&j, "}");
  }
  if (show->json && all->n > 1) text_printf(&j, "]");
  int status = exit_status_of(d, s);
  if (show->json && out->printed.s) text_printf(&j, ", \"output\": "), text_json(&j, out->printed.s);
  if (s == MX_OK) status = show_wishes(last, d, show, &j, status);
  if (show->check) {
    struct text found = {0};
    if (tell_findings(d, show->suppressed, show->json ? &found : NULL) && status == CLI_DONE) status = CLI_TRAPPED;
    if (show->json) text_printf(&j, ", \"findings\": %s", found.s);
    text_free(&found);
  }
  if (show->json) {
    text_printf(&j, "}\n");
    fwrite(j.s, 1, j.n, stdout);
  }
  text_free(&j);
  return status;
}

/* LOOK: `mxrun repl`, an interactive session that needs no file. */
enum mode { RUN, LOOK, PROFILE, CHECK };
static int run(int argc, char **argv, int next, enum mode mode) {
  bool looks = mode == LOOK;
  struct profile_wish wanted = {0};
  const uint32_t tools = mode == CHECK ? MX_CHECK_ALL : 0;
  struct machine m = {.check = tools};
  struct suppressions suppressed = {0};
  const char *file = NULL, *dump = NULL, *value;
  bool compare = false, live = false;
  char **words = cli_alloc(((size_t)argc + 1) * sizeof *words);
  struct wish *wish = cli_alloc(((size_t)argc + 1) * sizeof *wish);
  struct repl_source *sources = cli_alloc(((size_t)argc + 1) * sizeof *sources);
  struct jobs jobs = {.at = cli_alloc(((size_t)argc + 1) * sizeof *jobs.at)};
  struct job *job = add_job(&jobs, words);
  struct repl_start start = {.machine = &m, .config = &job->config, .sources = sources};
  struct showing show = {.wish = wish};
  size_t nwords = 0;
  int64_t ulp = -1;
  uint64_t v;
  struct cli c = {.tool = "mxrun",
                  .options = mode == PROFILE ? profile_options
                             : mode == CHECK ? check_options
                                             : options,
                  .argc = argc,
                  .argv = argv,
                  .next = next};
  for (int id; (id = cli_next(&c, &value)) != CLI_END;) switch (id) {
    case CLI_WORD:
      if (!file) file = value, c.numbers_are_words = true;
      else words[nwords++] = (char *)value, job->nwords++;
      break;
    case R_KERNEL: job->kernel_name = value; break;
    case R_GRID: parse_shape("--grid", value, job->config.grid); break;
    case R_BLOCK: parse_shape("--block", value, job->config.block), job->block_given = true; break;
    case R_SHARED:
      if (!cli_number(value, UINT32_MAX, &v)) cli_usage("mxrun", "--shared: '%s' is not a number of bytes", value);
      job->config.shared_bytes = (uint32_t)v;
      break;
    case R_CLUSTER: parse_shape("--cluster", value, job->config.cluster); break;
    case R_COOPERATIVE: job->config.cooperative = true; break;
    case R_DEVICES:
      if (!cli_number(value, MOST_DEVICES, &v) || !v)
        cli_usage("mxrun", "--devices: '%s' is not a number from 1 to 8", value);
      show.ndevices = (size_t)v;
      job->config.cooperative = true;
      break;
    case R_THEN: job = add_job(&jobs, words + nwords); break;
    case R_PRINT:
    case R_SAVE:
    case R_EXPECT: wish[show.nwishes++] = (struct wish){id, value, 0}; break;
    case R_ULP:
      if (!cli_number(value, INT64_MAX, &v)) cli_usage("mxrun", "--ulp: '%s' is not a number", value);
      ulp = (int64_t)v;
      break;
    case R_STATS: show.stats = true; break;
    case R_JSON: show.json = true; break;
    case R_TRACE: show.trace = value ? value : "-"; break;
    case R_DUMP: dump = value ? value : "-"; break;
    case R_COMPARE: compare = true; break;
    case R_INTERACTIVE: looks = true; break;
    case R_SOURCE: sources[start.nsources++] = (struct repl_source){true, value}; break;
    case R_COMMAND: /* -ex COMMAND, as debuggers write it */
      if (!strcmp(value, "x")) cli_take(&c, &value);
      sources[start.nsources++] = (struct repl_source){false, value};
      break;
    case R_BATCH: start.batch = true; break;
    case R_RECORD: start.record = true; break;
    case R_KEEP_GOING: start.keep_going = true; break;
    case R_SCREEN: looks = start.screen = true; break;
    case R_LIVE: live = true; break;
    case R_ALL: wanted.all = true; break;
    case R_COVERAGE: wanted.coverage = value; break;
    case R_HTML: wanted.html = value; break;
    case R_EVENTS: wanted.events = value; break;
    case R_NO_MEMORY: wanted.no_memory = true; break;
    case R_TOOL:
      if (!parse_tools(value, &m.check))
        cli_usage("mxrun", "--tool: '%s' is not memory, uninit, race, sync or lanes", value);
      break;
    case R_SUPPRESS: read_suppressions(&suppressed, value); break;
    case R_SCHEDULE:
      if (!cli_number(value, UINT64_MAX, &start.seed)) cli_usage("mxrun", "--schedule: '%s' is not a number", value);
      break;
    default: common_option(id, value, &m);
    }
  wanted.json = mode == PROFILE && show.json;
  show.json &= mode != PROFILE;
  mx_profile *profile = m.profile = mode == PROFILE ? profile_new(&wanted) : NULL;
  for (size_t k = 0; k < jobs.n; k++) machine_config(&jobs.at[k].config, &m), jobs.at[k].config.live = live;
  for (size_t k = 0; k < show.nwishes; k++) wish[k].ulp = ulp;
  if (!looks && (start.nsources || start.batch || start.record || start.seed))
    cli_usage("mxrun", "-x, --ex, --batch, --record and --schedule belong to -i");
  if (tools && (compare || show.trace || dump || (looks && (start.record || show.json))))
    cli_usage("mxrun", "check: --compare, --trace, --jit-dump and, of sessions, --record and --json stand alone");
  show.check = tools != 0, show.suppressed = &suppressed;
  if (compare && (looks || show.trace || dump || show.stats || show.json || show.nwishes || m.jit_stress))
    cli_usage("mxrun", "--compare stands alone: it shows what differs, and nothing else");
  if (jobs.n > 1 && (looks || compare || show.trace || dump))
    cli_usage("mxrun", "--then: sessions, --compare, --trace and --jit-dump look at one launch");
  if (mode == PROFILE && (looks || compare || show.trace || dump))
    cli_usage("mxrun", "profile: sessions, --compare, --trace and --jit-dump look at a run in another way");
  if (show.ndevices > 1 && (jobs.n > 1 || looks || compare || show.trace || dump || mode == PROFILE))
    cli_usage("mxrun", "--devices: --then, profiles, sessions, --compare, --trace and --jit-dump look at one device");
  int status = CLI_REFUSED;
  if (looks) {
    start.suppressed = &suppressed;
    start.file = file, start.kernel = jobs.at->kernel_name, start.words = words, start.nwords = nwords;
    status = repl_main(&start);
    goto end;
  }
  if (!file) cli_usage("mxrun", "no file given");

  const char *why, *name = cli_file_name(file);
  size_t size;
  char *bytes = cli_read_file(file, (size_t)1 << 30, &size, &why);
  if (!bytes) {
    if (!strcmp(file, "test") || !strcmp(file, "info")) cli_usage("mxrun", "options of '%s' stand behind it", file);
    fprintf(stderr, "mxrun: %s: %s\n", name, why);
    goto end;
  }
  mx_device *d = open_device(&m);
  if (!d) exit(CLI_HOST);
  struct output out = {.to = wanted.json ? stderr : stdout, .json = show.json, .live = live};
  if (tools) mx_device_check_source(d, name, bytes, size);
  mx_module *module = load_program(d, name, bytes, size, &status);
  bool good = module;
  for (size_t k = 0; good && k < jobs.n; k++) {
    struct job *b = &jobs.at[k];
    b->kernel = kernel_of(module, b->kernel_name, name, &status);
    good = b->kernel;
    if (!good || dump) continue;
    b->info.struct_size = sizeof b->info;
    mx_kernel_get_info(b->kernel, &b->info);
    kernel_shape(b->kernel, &b->config, b->block_given);
    bind_args(&b->args, k ? &jobs.at[k - 1].args : NULL, d, b->kernel, b->words, b->nwords);
    auto_grid(&b->args, &b->config);
  }
  mx_device *others[MOST_DEVICES];
  size_t nothers = 0;
  if (show.ndevices > 1) m.beside = d; /* those of --compare stand alone */
  show.kernels[0] = jobs.at->kernel;
  for (size_t k = 1; good && k < show.ndevices; k++) {
    mx_device *o = others[nothers] = open_device(&m);
    if (!o) exit(CLI_HOST);
    nothers++;
    mx_device_reach(o, d, true);
    mx_module *same = load_program(o, name, bytes, size, &status);
    show.kernels[k] = same ? kernel_of(same, jobs.at->kernel_name, name, &status) : NULL;
    good = show.kernels[k];
  }
  if (good && dump) {
    char *failure = NULL;
    status = dump_code(jobs.at->kernel, dump, name, bytes, size, &failure) ? CLI_DONE : CLI_HOST;
    if (failure) fprintf(stderr, "mxrun: %s\n", failure);
    free(failure);
  } else if (good && compare) {
    status = compare_engines(
        &(struct comparison){&m, &jobs.at->config, name, bytes, jobs.at->info.name, size, words, nwords});
  } else if (good) {
    status = run_jobs(&jobs, d, &show, &out);
    const int shown = profile ? profile_show(&wanted, profile, &(struct profile_source){name, bytes, size}) : CLI_DONE;
    if (status == CLI_DONE) status = shown;
  }
  free(bytes);
  text_free(&out.printed);
  for (size_t k = 0; k < jobs.n; k++) free_args(&jobs.at[k].args);
  while (nothers) mx_device_destroy(others[--nothers]);
  mx_device_destroy(d);
  mx_profile_destroy(profile);
end:
  free_suppressions(&suppressed);
  free(sources);
  free(jobs.at);
  free(words);
  free(wish);
  return status;
}

int command_run(int argc, char **argv, int next) { return run(argc, argv, next, RUN); }
int command_repl(int argc, char **argv, int next) { return run(argc, argv, next, LOOK); }
int command_profile(int argc, char **argv, int next) { return run(argc, argv, next, PROFILE); }
int command_check(int argc, char **argv, int next) { return run(argc, argv, next, CHECK); }

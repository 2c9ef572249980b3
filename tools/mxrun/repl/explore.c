/* Schedules: the same launch in other orders of its warps and blocks, until its buffers end otherwise. */
#include "repl.h"

#include <stdlib.h>
#include <string.h>

/* Runs to the end without stopping anywhere. *text: how it ended. */
static bool run_once(struct repl *r, uint64_t seed, char **text) {
  uint64_t was = r->seed;
  bool recording = r->recording;
  const uint32_t threads = r->config.threads;
  r->seed = seed;
  r->recording = false;
  r->config.threads = 1; /* the usual order is that of one */
  size_t points = r->npoints;
  r->npoints = 0; /* stops are for people */
  bool good = launch_begin(r);
  r->npoints = points;
  r->seed = was;
  r->recording = recording;
  r->config.threads = threads;
  if (!good) return launch_end(r), false;
  do good = mx_debug_go(r->g, MX_DEBUG_CONTINUE, 0, 0, 1, &r->stop) == MX_OK;
  while (good && r->stop.reason != MX_DEBUG_AT_END && r->stop.reason != MX_DEBUG_AT_HANG && r->stop.reason != MX_DEBUG_AT_TRAP);
  *text = !good ? cli_strdup("it could not run")
          : r->stop.reason == MX_DEBUG_AT_TRAP ? format("a trap: %s at %s:%u", mx_trap_kind_text(r->stop.trap), r->stop.file ? r->stop.file : r->stop.function, r->stop.line)
          : r->stop.reason == MX_DEBUG_AT_HANG ? cli_strdup("a livelock is suspected") : cli_strdup("");
  if (good && r->stop.reason == MX_DEBUG_AT_END) fetch_args(&r->args, r->d);
  mx_debug_end(r->g);
  r->g = NULL;
  return true;
}

struct result { char *text; struct data *buffer; size_t n; };

static void keep(struct repl *r, struct result *to, char *text) {
  *to = (struct result){.text = text, .n = r->args.n, .buffer = cli_alloc((r->args.n + 1) * sizeof *to->buffer)};
  for (size_t k = 0; k < to->n; k++) {
    to->buffer[k] = r->args.arg[k].data;
    to->buffer[k].bytes = cli_alloc(to->buffer[k].size + 1);
    if (to->buffer[k].size) memcpy(to->buffer[k].bytes, r->args.arg[k].data.bytes, to->buffer[k].size);
  }
}
static void drop(struct result *x) {
  for (size_t k = 0; k < x->n; k++) free(x->buffer[k].bytes);
  free(x->buffer);
  free(x->text);
}

/* NULL: the same. */
static char *difference(struct repl *r, const struct result *usual, const char *text) {
  if (strcmp(usual->text, text)) return format("%s; the usual one: %s", *text ? text : "it ends", *usual->text ? usual->text : "it ends");
  for (size_t k = 0; k < usual->n; k++) {
    char *why = NULL;
    if (!r->args.arg[k].buffer || data_equal(&r->args.arg[k].data, &usual->buffer[k], -1, &why)) continue;
    char *all = format("%s: %s", r->args.arg[k].name, why);
    free(why);
    return all;
  }
  return NULL;
}

bool do_explore(struct repl *r, char *arguments) {
  char *word = next_word(&arguments), *text;
  uint64_t n;
  struct result usual;
  if (!word || !number_word(word, &n) || !n || n > 1000000) return complain(r, "explore how many schedules?");
  if (r->calc) return complain(r, "the calculator has one warp: there is nothing to explore");
  if (!run_once(r, 0, &text)) return false;
  keep(r, &usual, text);
  for (uint64_t seed = 1; seed <= n; seed++) {
    if (!run_once(r, seed, &text)) return drop(&usual), false;
    char *why = difference(r, &usual, text);
    free(text);
    if (!why) continue;
    printf("Schedule %llu ends otherwise: %s\n'schedule %llu' and 'run' show it.\n", (unsigned long long)seed, why, (unsigned long long)seed);
    free(why);
    drop(&usual);
    return true;
  }
  printf("%llu schedules end alike.\n", (unsigned long long)n);
  drop(&usual);
  return true;
}

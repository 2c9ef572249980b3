/* Schedules: the same launch in other orders of its warps and blocks, until its buffers end otherwise. All of them run
 * on a device of their own: the launch that the session looks at stays as it is. */
#include "repl.h"

#include <stdlib.h>
#include <string.h>

/* How a launch ended. */
struct result {
  char *text;
  struct data *buffer;
  size_t n;
};

static void drop(struct result *x) {
  for (size_t k = 0; k < x->n; k++) free(x->buffer[k].bytes);
  free(x->buffer);
  free(x->text);
  *x = (struct result){0};
}

/* Runs to the end without stopping anywhere, and stays there if it is recorded. */
static bool run_once(struct repl *o, uint64_t seed, bool recorded, struct result *out) {
  mx_debug_stop *s = &o->stop;
  o->seed = seed;
  o->recording = recorded;
  if (!launch_begin(o)) return launch_end(o), false;
  bool good;
  do good = go_on(o, MX_DEBUG_CONTINUE, 1) == MX_OK;
  while (good && s->reason != MX_DEBUG_AT_END && s->reason != MX_DEBUG_AT_HANG && s->reason != MX_DEBUG_AT_TRAP &&
         s->reason != MX_DEBUG_AT_PAUSE);
  if (!good || s->reason == MX_DEBUG_AT_PAUSE) {
    launch_end(o);
    return good ? complain(o, "interrupted") : complain(o, "it could not run");
  }
  const char *at = s->file ? s->file : s->function;
  out->text = s->reason == MX_DEBUG_AT_TRAP   ? format("a trap: %s at %s:%u", mx_trap_kind_text(s->trap), at, s->line)
              : s->reason == MX_DEBUG_AT_HANG ? format("a livelock is suspected at %s:%u", at, s->line)
                                              : cli_strdup("");
  if (s->reason == MX_DEBUG_AT_END) fetch_args(&o->args, o->d);
  out->n = o->args.n;
  out->buffer = cli_alloc((out->n + 1) * sizeof *out->buffer);
  for (size_t k = 0; k < out->n; k++) {
    const struct data *d = &o->args.arg[k].data;
    out->buffer[k] = *d;
    out->buffer[k].bytes = cli_alloc(d->size + 1);
    if (d->size) memcpy(out->buffer[k].bytes, d->bytes, d->size);
  }
  if (!recorded) launch_end(o);
  return true;
}

/* The first argument that ends otherwise, and its first element; false: none does. */
static bool differs(const struct repl *o, const struct result *a, const struct result *b, size_t *arg,
                    uint64_t *element) {
  for (*arg = 0; *arg < a->n; ++*arg) {
    const struct data *x = &a->buffer[*arg], *y = &b->buffer[*arg];
    const uint64_t size = x->type ? x->type->size : 1;
    if (!o->args.arg[*arg].buffer || x->size != y->size || !memcmp(x->bytes, y->bytes, x->size)) continue;
    for (*element = 0; !memcmp(x->bytes + *element * size, y->bytes + *element * size, size); ++*element) {}
    return true;
  }
  return false;
}

/* Who wrote that element last, in a launch with that seed. */
static void show_writer(struct repl *o, uint64_t seed, const char *which, size_t arg, uint64_t element) {
  const struct data *d = &o->args.arg[arg].data;
  const uint64_t size = d->type ? d->type->size : 1;
  struct result unused = {0};
  mx_debug_culprit c = {.struct_size = sizeof c};
  char buffer[512];
  if (!run_once(o, seed, true, &unused)) return;
  if (o->g && mx_debug_last_write(o->g, o->args.arg[arg].address + element * size, size, 0, &c) == MX_OK)
    say("  %s it was written last by %s\n", which, culprit_text(&c, buffer, sizeof buffer));
  else say("  %s nobody wrote it\n", which);
  launch_end(o);
  drop(&unused);
}

/* NULL: they end alike. */
static char *difference(const struct repl *o, const struct result *usual, const struct result *now, size_t *arg,
                        uint64_t *element) {
  char *why = NULL;
  *arg = SIZE_MAX;
  if (strcmp(usual->text, now->text))
    return format("%s; the usual one: %s", *now->text ? now->text : "it ends", *usual->text ? usual->text : "it ends");
  if (!differs(o, usual, now, arg, element)) return NULL;
  data_equal(&now->buffer[*arg], &usual->buffer[*arg], -1, &why);
  char *all = format("%s: %s", o->args.arg[*arg].name, why ? why : "it differs");
  free(why);
  return all;
}

bool do_explore(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  uint64_t n, seed = 1, element = 0;
  struct result usual = {0}, now = {0};
  size_t arg;
  if (!word || !number_word(word, &n) || !n || n > 1000000) return complain(r, "explore how many schedules?");
  if (r->calc) return complain(r, "the calculator has one warp: there is nothing to explore");
  struct repl *o = repl_copy(r);
  o->config.threads = 1; /* the usual order is that of one */
  bool good = o->d && target_bind(o);
  if (good) mx_device_set_output(o->d, NULL, NULL);
  good = good && run_once(o, 0, false, &usual);
  char *why = NULL;
  for (; good && seed <= n; seed++) {
    good = run_once(o, seed, false, &now);
    if (good && (why = difference(o, &usual, &now, &arg, &element))) break;
    drop(&now);
  }
  if (why) {
    say("Schedule %llu ends otherwise: %s\n", (unsigned long long)seed, why);
    if (arg != SIZE_MAX) show_writer(o, seed, "there", arg, element), show_writer(o, 0, "usually", arg, element);
    printf("'schedule %llu' and 'run' show it.\n", (unsigned long long)seed);
  } else if (good) {
    printf("%llu schedules end alike.\n", (unsigned long long)n);
  }
  free(why);
  drop(&usual);
  drop(&now);
  repl_copy_free(o);
  return good;
}

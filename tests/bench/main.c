/* bench: mx against PoCL, Oclgrind and native C, in turns within one run: a table on stdout, the same as JSON in a
 * file, and for the whole bench a picture.
 *   bench interp ROOT BUILD [ROUNDS]   the interpreter on eight kernels: BUILD/bench-interp.json
 *   bench check ROOT BUILD [ROUNDS]    compiled code under mx's checkers and Oclgrind under its own, on eight kernels:
 *   BUILD/bench-check.json; nothing but a line where Oclgrind is not installed
 *   bench all ROOT BUILD [ROUNDS]      compiled code on all, and what steady speed does not show: BUILD/bench.json,
 *   .png */
#include "bench.h"

#include "vm/exec/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OCLGRIND "/usr/lib/oclgrind/liboclgrind-rt.so"
enum { FULL = 1 << 22, SMALL = 1 << 16 };

static bool save_json(const char *path, const struct bench_figures *f, const struct bench_contestant *c,
                      const struct bench_extras *x) {
  FILE *out = fopen(path, "w");
  if (!out) return false;
  fputc('{', out);
  bench_json(out, f);
  if (x) fputs(",\n ", out), bench_extras_json(out, f, c, x);
  fputs("}\n", out);
  return !fclose(out);
}

/* ---- contestants -----------------------------------------------------------------------------------------*/
struct setup {
  struct bench_data full, small, best, plain; /* native code works in place, on data of its own */
  char source[600], folder[600], compiler[600];
  bool checked;
  const char *level; /* of mx's code: native code is built for the same */
};
static bool open_one(enum bench_who e, struct setup *s, struct bench_contestant *c) {
  switch (e) {
  case BENCH_JIT: return bench_open_mx(c, &s->full, s->folder, s->compiler, s->checked);
  case BENCH_INTERP: return bench_open_mx(c, &s->full, s->folder, NULL, false);
  case BENCH_POCL: return bench_open_opencl(c, &s->full, "libOpenCL.so.1", s->source, "Portable");
  case BENCH_OCLGRIND: return bench_open_opencl(c, &s->small, OCLGRIND, s->source, NULL);
  case BENCH_BEST:
    if (!strcmp(s->level, "v4")) return bench_open_best(c, &s->best);
    snprintf(c->name, sizeof c->name, "native: by hand for x86-64-v4, which is not measured");
    return false;
  default:
    if (!mx__level_of_cpu()) {
      snprintf(c->name, sizeof c->name, "native: plain C for x86-64-v2 or better, which this is not");
      return false;
    }
    return !strcmp(s->level, "v4")   ? bench_open_plain_v4(c, &s->plain)
           : !strcmp(s->level, "v3") ? bench_open_plain_v3(c, &s->plain)
                                     : bench_open_plain_v2(c, &s->plain);
  }
}
/* Opens a contestant, if a process of its own got through opening it and its first kernel: what takes its process down
 * with it costs a column. To be called before there are threads. */
static bool open_safely(enum bench_who e, struct setup *s, struct bench_contestant *c) {
  fflush(NULL);
  const pid_t p = fork();
  if (!p) {
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    _exit(!open_one(e, s, c) || c->run(c, 0) < 0);
  }
  int status = 0;
  if (p > 0 && waitpid(p, &status, 0) == p && WIFSIGNALED(status)) {
    snprintf(c->name, sizeof c->name, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return false;
  }
  return true;
}

static bool takes_part(enum bench_who e, bool all, bool checked) {
  if (!mx__level_of_cpu() && e == BENCH_JIT) return false; /* no code is compiled for this processor */
  if (checked) return e == BENCH_JIT || e == BENCH_OCLGRIND;
  return all || (e != BENCH_JIT && e != BENCH_PLAIN);
}
static int bench(bool all, bool checked, const struct bench_paths *paths, int rounds) {
  static struct setup set;
  set.checked = checked;
  if (checked && access(OCLGRIND, R_OK)) return puts("oclgrind is not installed: it is not measured"), 0;
  if (checked) { /* as oclgrind --data-races --uninitialized sets them; what it finds is not looked at */
    setenv("OCLGRIND_DATA_RACES", "1", 1), setenv("OCLGRIND_UNINITIALIZED", "1", 1);
    setenv("OCLGRIND_LOG", "/dev/null", 1);
  }
  char json[600], picture[600];
  snprintf(set.source, sizeof set.source, "%s/tests/bench/kernels.cl", paths->root);
  snprintf(set.folder, sizeof set.folder, "%s/examples", paths->root);
  snprintf(set.compiler, sizeof set.compiler, "%s/mx-jitc", paths->build);
  snprintf(json, sizeof json, "%s/bench%s.json", paths->build, all ? "" : checked ? "-check" : "-interp");
  snprintf(picture, sizeof picture, "%s/bench.png", paths->build);
  static struct bench_extras x;
  const bool compiles = mx__level_of_cpu();
  if (all && compiles) bench_processes(paths, &x);
  set.level = mx__level(NULL) ? mx__level(NULL)->name : "";
  if (!bench_data_make(&set.full, FULL) || !bench_data_make(&set.best, FULL) || !bench_data_make(&set.plain, FULL) ||
      !bench_data_make(&set.small, SMALL)) {
    fprintf(stderr, "bench: no memory\n");
    return 4;
  }
  static struct bench_contestant c[BENCH_CONTESTANTS];
  static struct bench_figures f;
  f.own = (all && compiles) || checked ? BENCH_JIT : BENCH_INTERP;
  f.kernels = all ? BENCH_KERNELS : BENCH_FIRST;
  f.rounds = rounds;
  for (int e = 0; e < BENCH_CONTESTANTS; e++)
    f.open[e] = takes_part((enum bench_who)e, all, checked) && open_safely(e, &set, &c[e]);
  for (int e = 0; e < BENCH_CONTESTANTS; e++) f.open[e] = f.open[e] && open_one(e, &set, &c[e]);
  if (!f.open[f.own]) {
    fprintf(stderr, "bench: %s\n", c[f.own].name);
    return 4;
  }
  bench_measure(c, &f);
  if (checked && bench_findings(&c[BENCH_JIT]))
    return fprintf(stderr, "bench: the checkers have found something in a kernel\n"), 4;
  const bool same = bench_table(&f);
  fflush(stdout);
  if (all && compiles) {
    if (!bench_compiles(&c[BENCH_JIT], set.folder)) {
      fprintf(stderr, "bench: a kernel could not be compiled\n");
      return 4;
    }
    bench_extras(c, &f, &x);
    bench_extras_print(&f, c, &x);
  }
  if (!save_json(json, &f, c, all && compiles ? &x : NULL) || (all && !bench_plot(picture, &f))) {
    fprintf(stderr, "bench: %s: %s\n", json, strerror(errno));
    return 4;
  }
  return same ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "tierup")) return bench_tierup_child(argv[2], atof(argv[3]));
  const bool all = argc > 1 && !strcmp(argv[1], "all");
  const bool checked = argc > 1 && !strcmp(argv[1], "check");
  const int rounds = argc > 4 ? atoi(argv[4]) : 15;
  if (argc < 4 || (!all && !checked && strcmp(argv[1], "interp")) || rounds < 1 || rounds > BENCH_MAX_ROUNDS) {
    fprintf(stderr, "usage: bench all|check|interp ROOT BUILD [ROUNDS]\n  ROOT  the project's folder, with examples/ "
                    "and tests/bench/\n");
    return 2;
  }
  struct bench_paths paths = {.root = argv[2], .build = argv[3]};
  if (readlink("/proc/self/exe", paths.self, sizeof paths.self - 1) < 0) return 4;
  return bench(all, checked, &paths, rounds);
}

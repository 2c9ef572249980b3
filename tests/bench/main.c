/* bench: mx against PoCL, Oclgrind and native C, in turns within one run: a table on stdout, the same as JSON in a file, and
 * for the whole bench a picture.
 *   bench interp ROOT BUILD [ROUNDS]   the interpreter on eight kernels: BUILD/bench-interp.json
 *   bench all ROOT BUILD [ROUNDS]      compiled code on all, and what steady speed does not show: BUILD/bench.json, .png */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FULL = 1 << 22, SMALL = 1 << 16 };

static bool save_json(const char *path, const struct bench_figures *f, const struct bench_contestant *c, const struct bench_extras *x) {
  FILE *out = fopen(path, "w");
  if (!out) return false;
  fputc('{', out);
  bench_json(out, f);
  if (x) fputs(",\n ", out), bench_extras_json(out, f, c, x);
  fputs("}\n", out);
  return !fclose(out);
}

static int bench(bool all, const struct bench_paths *paths, int rounds) {
  char source[600], folder[600], compiler[600], json[600], picture[600];
  snprintf(source, sizeof source, "%s/tests/bench/kernels.cl", paths->root);
  snprintf(folder, sizeof folder, "%s/examples", paths->root);
  snprintf(compiler, sizeof compiler, "%s/mx-jitc", paths->build);
  snprintf(json, sizeof json, "%s/bench%s.json", paths->build, all ? "" : "-interp");
  snprintf(picture, sizeof picture, "%s/bench.png", paths->build);
  static struct bench_extras x;
  if (all) bench_processes(paths, &x);
  struct bench_data full, small, best, plain; /* native code works in place, on data of its own */
  if (!bench_data_make(&full, FULL) || !bench_data_make(&best, FULL) || !bench_data_make(&plain, FULL) || !bench_data_make(&small, SMALL)) {
    fprintf(stderr, "bench: no memory\n");
    return 4;
  }
  static struct bench_contestant c[BENCH_CONTESTANTS];
  static struct bench_figures f;
  f.own = all ? BENCH_JIT : BENCH_INTERP;
  f.kernels = all ? BENCH_KERNELS : BENCH_FIRST;
  f.rounds = rounds;
  f.open[BENCH_INTERP] = bench_open_mx(&c[BENCH_INTERP], &full, folder, NULL);
  f.open[BENCH_BEST] = bench_open_best(&c[BENCH_BEST], &best);
  f.open[BENCH_POCL] = bench_open_opencl(&c[BENCH_POCL], &full, "libOpenCL.so.1", source, "Portable");
  f.open[BENCH_OCLGRIND] = bench_open_opencl(&c[BENCH_OCLGRIND], &small, "/usr/lib/oclgrind/liboclgrind-rt.so", source, NULL);
  if (all) {
    f.open[BENCH_JIT] = bench_open_mx(&c[BENCH_JIT], &full, folder, compiler);
    f.open[BENCH_PLAIN] = bench_open_plain(&c[BENCH_PLAIN], &plain);
  }
  if (!f.open[f.own]) {
    fprintf(stderr, "bench: %s\n", c[f.own].name);
    return 4;
  }
  bench_measure(c, &f);
  const bool same = bench_table(&f);
  fflush(stdout);
  if (all) {
    if (!bench_compiles(&c[BENCH_JIT], folder)) {
      fprintf(stderr, "bench: a kernel could not be compiled\n");
      return 4;
    }
    bench_extras(c, &f, &x);
    bench_extras_print(&f, c, &x);
  }
  if (!save_json(json, &f, c, all ? &x : NULL) || (all && !bench_plot(picture, &f))) {
    fprintf(stderr, "bench: %s: %s\n", json, strerror(errno));
    return 4;
  }
  return same ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "tierup")) return bench_tierup_child(argv[2], atof(argv[3]));
  const bool all = argc > 1 && !strcmp(argv[1], "all");
  const int rounds = argc > 4 ? atoi(argv[4]) : 15;
  if (argc < 4 || (!all && strcmp(argv[1], "interp")) || rounds < 1 || rounds > BENCH_MAX_ROUNDS) {
    fprintf(stderr, "usage: bench all|interp ROOT BUILD [ROUNDS]\n  ROOT  the project's folder, with examples/ and tests/bench/\n");
    return 2;
  }
  struct bench_paths paths = {.root = argv[2], .build = argv[3]};
  if (readlink("/proc/self/exe", paths.self, sizeof paths.self - 1) < 0) return 4;
  return bench(all, &paths, rounds);
}

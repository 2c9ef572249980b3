/* bench-interp: the eight kernels on mx's interpreter, PoCL, Oclgrind and as native C, in turns within one run. A table on
 * stdout, the same as JSON in a file. Measures, and checks that all contestants left the same results; does not judge. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FULL = 1 << 22, SMALL = 1 << 16, MAX_ROUNDS = 101 };
enum { MX, POCL, OCLGRIND, NATIVE, CONTESTANTS };
static const char *const short_name[CONTESTANTS] = {"mx-interp", "pocl", "oclgrind", "native"};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Threads that still spin after their last piece of work would take time from the next contestant. */
static void settle(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

struct figures {
  double ms[CONTESTANTS][BENCH_KERNELS]; /* medians, scaled to the full work; 0: not measured */
  bool differs[CONTESTANTS][BENCH_KERNELS];
};

static void measure(struct bench_contestant *c, const bool *open, int rounds, struct figures *f) {
  static double ms[CONTESTANTS][MAX_ROUNDS];
  void *result = malloc(FULL * sizeof(float));
  for (int k = 0; k < BENCH_KERNELS; k++) {
    double sum[CONTESTANTS] = {0};
    int done[CONTESTANTS] = {0};
    for (int r = -1; r < rounds; r++) /* one round to warm up */
      for (int e = 0; e < CONTESTANTS; e++) {
        if (!open[e] || (e == OCLGRIND && r >= 3)) continue; /* seconds a round, and always the same */
        settle();
        double t = c[e].run(&c[e], k);
        if (r >= 0 && t >= 0) ms[e][done[e]++] = t;
      }
    for (int e = 0; e < CONTESTANTS; e++) {
      if (!done[e]) continue;
      qsort(ms[e], (size_t)done[e], sizeof ms[e][0], by_value);
      f->ms[e][k] = ms[e][done[e] / 2] * c[MX].work[k].work / c[e].work[k].work;
      if (!result || e == OCLGRIND || !c[e].read(&c[e], k, result)) continue;
      sum[e] = bench_sum(&c[e].work[k], result);
      f->differs[e][k] = fabs(sum[e] - sum[MX]) > 1e-3 * fabs(sum[MX]);
    }
    fprintf(stderr, "%s measured\n", c[MX].work[k].name);
  }
  free(result);
}

/* Geometric mean of how much longer contestant e takes than mx, over the kernels that both ran; 0: none. */
static double mean_ratio(const struct figures *f, int e) {
  double sum = 0;
  int n = 0;
  for (int k = 0; k < BENCH_KERNELS; k++)
    if (f->ms[e][k] > 0 && f->ms[MX][k] > 0) sum += log(f->ms[e][k] / f->ms[MX][k]), n++;
  return n ? exp(sum / n) : 0;
}

static void cell(double value, const char *form) {
  if (value > 0) printf(form, value);
  else printf("%10s", "-");
}

static bool print_table(const struct bench_contestant *c, const bool *open, const struct figures *f, int rounds) {
  bool same = true;
  printf("%d interleaved runs, medians in milliseconds; ratios: how many times as fast as the other mx's interpreter is\n", rounds);
  for (int e = 0; e < CONTESTANTS; e++) printf("  %-10s %s\n", short_name[e], c[e].name);
  printf("%-8s", "kernel");
  for (int e = 0; e < CONTESTANTS; e++) printf("%10s", short_name[e]);
  printf("%10s%10s%10s\n", "/ pocl", "/oclgrind", "/ native");
  for (int k = 0; k < BENCH_KERNELS; k++) {
    printf("%-8s", c[MX].work[k].name);
    for (int e = 0; e < CONTESTANTS; e++) cell(f->ms[e][k], "%10.2f");
    for (int e = 1; e < CONTESTANTS; e++) cell(f->ms[e][k] / f->ms[MX][k], "%10.3f");
    putchar('\n');
  }
  printf("%-48s", "geometric mean");
  for (int e = 1; e < CONTESTANTS; e++) cell(mean_ratio(f, e), "%10.3f");
  putchar('\n');
  for (int k = 0; k < BENCH_KERNELS; k++)
    for (int e = 0; e < CONTESTANTS; e++)
      if (open[e] && f->differs[e][k]) {
        printf("%s: the results of %s are not mx's\n", c[MX].work[k].name, short_name[e]);
        same = false;
      }
  return same;
}

static bool write_json(const char *path, const struct bench_contestant *c, const struct figures *f, int rounds) {
  FILE *out = fopen(path, "w");
  if (!out) return false;
  fprintf(out, "{\"rounds\": %d, \"contestants\": {", rounds);
  for (int e = 0; e < CONTESTANTS; e++) fprintf(out, "%s\"%s\": \"%s\"", e ? ", " : "", short_name[e], c[e].name);
  fprintf(out, "},\n \"kernels\": [");
  for (int k = 0; k < BENCH_KERNELS; k++) {
    fprintf(out, "%s\n  {\"name\": \"%s\"", k ? "," : "", c[MX].work[k].name);
    for (int e = 0; e < CONTESTANTS; e++) {
      if (f->ms[e][k] > 0) fprintf(out, ", \"%s_ms\": %.4f", short_name[e], f->ms[e][k]);
      else fprintf(out, ", \"%s_ms\": null", short_name[e]);
    }
    fputc('}', out);
  }
  fprintf(out, "],\n \"geometric_mean_ratio\": {");
  for (int e = 1; e < CONTESTANTS; e++) {
    double ratio = mean_ratio(f, e);
    fprintf(out, ratio > 0 ? "%s\"%s\": %.4f" : "%s\"%s\": null", e > 1 ? ", " : "", short_name[e], ratio);
  }
  fprintf(out, "}}\n");
  return !fclose(out);
}

int main(int argc, char **argv) {
  int rounds = argc > 3 ? atoi(argv[3]) : 15;
  if (argc < 3 || rounds < 1 || rounds > MAX_ROUNDS) {
    fprintf(stderr, "usage: bench ROOT JSON [ROUNDS]\n  ROOT  the project's folder, with examples/ and tests/bench/\n");
    return 2;
  }
  char source[512], folder[512];
  snprintf(source, sizeof source, "%s/tests/bench/kernels.cl", argv[1]);
  snprintf(folder, sizeof folder, "%s/examples", argv[1]);
  struct bench_data full, small, own; /* native works in place, on data of its own */
  if (!bench_data_make(&full, FULL) || !bench_data_make(&own, FULL) || !bench_data_make(&small, SMALL)) {
    fprintf(stderr, "bench: no memory\n");
    return 4;
  }
  struct bench_contestant c[CONTESTANTS];
  bool open[CONTESTANTS] = {
      [MX] = bench_open_mx(&c[MX], &full, folder, NULL),
      [POCL] = bench_open_opencl(&c[POCL], &full, "libOpenCL.so.1", source, "Portable"),
      [OCLGRIND] = bench_open_opencl(&c[OCLGRIND], &small, "/usr/lib/oclgrind/liboclgrind-rt.so", source, NULL),
      [NATIVE] = bench_open_native(&c[NATIVE], &own),
  };
  if (!open[MX]) {
    fprintf(stderr, "bench: %s\n", c[MX].name);
    return 4;
  }
  static struct figures f;
  measure(c, open, rounds, &f);
  bool same = print_table(c, open, &f, rounds);
  if (!write_json(argv[2], c, &f, rounds)) {
    fprintf(stderr, "bench: %s: %s\n", argv[2], strerror(errno));
    return 4;
  }
  return same ? 0 : 1;
}

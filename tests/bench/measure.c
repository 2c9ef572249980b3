/* Steady speed: contestants in turns, medians, the table and its numbers as JSON. Measures, and checks that all left
 * the same results; does not judge. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const bench_who_name[BENCH_CONTESTANTS] = {"mx-jit", "mx-interp", "native", "best", "pocl", "oclgrind"};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
double bench_median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, by_value);
  return n ? values[n / 2] : 0;
}
void bench_settle(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

/* Those that take long, and always the same, run less often. */
static int rounds_of(const struct bench_figures *f, int e) {
  const int most = e == BENCH_OCLGRIND ? 1 : e == BENCH_INTERP && f->own != BENCH_INTERP ? 5 : f->rounds;
  return f->rounds < most ? f->rounds : most;
}

void bench_measure(struct bench_contestant *c, struct bench_figures *f) {
  static double ms[BENCH_CONTESTANTS][BENCH_MAX_ROUNDS];
  void *result = malloc(c[f->own].data->n * sizeof(float));
  for (int e = 0; e < BENCH_CONTESTANTS; e++) memcpy(f->name[e], c[e].name, sizeof f->name[e]);
  for (int k = 0; k < f->kernels; k++) {
    double sum[BENCH_CONTESTANTS] = {0};
    int done[BENCH_CONTESTANTS] = {0}, runs[BENCH_CONTESTANTS] = {0};
    f->kernel[k] = c[f->own].work[k].name;
    for (int r = -1; r < f->rounds; r++) /* one round to warm up */
      for (int e = 0; e < BENCH_CONTESTANTS; e++) {
        /* who is measured less often runs on: results that add up over runs are inputs of others */
        if (!f->open[e] || (e == BENCH_OCLGRIND && r >= rounds_of(f, e))) continue;
        bench_settle();
        const double t = c[e].run(&c[e], k);
        runs[e]++;
        if (r >= 0 && r < rounds_of(f, e) && t >= 0) ms[e][done[e]++] = t;
      }
    for (int i = 0; i < BENCH_CONTESTANTS; i++) {
      const int e = (i + (int)f->own) % BENCH_CONTESTANTS; /* one's own result first */
      if (!done[e]) continue;
      f->ms[e][k] = bench_median(ms[e], done[e]) * c[f->own].work[k].work / c[e].work[k].work;
      if (!result || e == BENCH_OCLGRIND || !c[e].read(&c[e], k, result)) continue;
      /* counts add up over runs */
      sum[e] = bench_sum(&c[e].work[k], result) / (strcmp(c[e].work[k].name, "hist") ? 1 : runs[e]);
      f->differs[e][k] = fabs(sum[e] - sum[f->own]) > 1e-3 * fabs(sum[f->own]);
    }
    fprintf(stderr, "%s measured\n", f->kernel[k]);
  }
  free(result);
}

double bench_mean(const struct bench_figures *f, enum bench_who e) {
  double sum = 0;
  int n = 0;
  for (int k = 0; k < f->kernels; k++)
    if (f->ms[e][k] > 0 && f->ms[f->own][k] > 0) sum += log(f->ms[e][k] / f->ms[f->own][k]), n++;
  return n ? exp(sum / n) : 0;
}
double bench_worst(const struct bench_figures *f, enum bench_who e, int *kernel) {
  double least = 0;
  *kernel = -1;
  for (int k = 0; k < f->kernels; k++) {
    if (!(f->ms[e][k] > 0 && f->ms[f->own][k] > 0)) continue;
    const double ratio = f->ms[e][k] / f->ms[f->own][k];
    if (*kernel < 0 || ratio < least) least = ratio, *kernel = k;
  }
  return least;
}

static void cell(double value, const char *form) {
  if (value > 0) printf(form, value);
  else printf("%10s", "-");
}

bool bench_table(const struct bench_figures *f) {
  bool same = true;
  int who[BENCH_CONTESTANTS], n = 0;
  for (int i = 0; i < BENCH_CONTESTANTS; i++) {
    const int e = (i + (int)f->own) % BENCH_CONTESTANTS;
    if (f->open[e]) who[n++] = e;
  }
  printf("%d interleaved runs, medians in milliseconds; ratios: how many times as fast as the other %s is\n", f->rounds,
         bench_who_name[f->own]);
  for (int e = 0; e < BENCH_CONTESTANTS; e++)
    if (*f->name[e]) printf("  %-10s %s\n", bench_who_name[e], f->name[e]);
  printf("%-8s", "kernel");
  for (int i = 0; i < n; i++) printf("%10s", bench_who_name[who[i]]);
  for (int i = 1; i < n; i++) printf(" /%8s", bench_who_name[who[i]]);
  putchar('\n');
  for (int k = 0; k < f->kernels; k++) {
    printf("%-8s", f->kernel[k]);
    for (int i = 0; i < n; i++) cell(f->ms[who[i]][k], "%10.2f");
    for (int i = 1; i < n; i++) cell(f->ms[who[i]][k] / f->ms[f->own][k], "%10.3f");
    putchar('\n');
  }
  printf("%-*s", 8 + 10 * n, "geometric mean");
  for (int i = 1; i < n; i++) cell(bench_mean(f, who[i]), "%10.3f");
  printf("\n%-*s", 8 + 10 * n, "worst");
  for (int i = 1; i < n; i++) {
    int k;
    cell(bench_worst(f, who[i], &k), "%10.3f");
  }
  printf("\n%-*s", 8 + 10 * n, "");
  for (int i = 1; i < n; i++) {
    int k;
    bench_worst(f, who[i], &k);
    printf("%10s", k < 0 ? "-" : f->kernel[k]);
  }
  putchar('\n');
  for (int k = 0; k < f->kernels; k++)
    for (int e = 0; e < BENCH_CONTESTANTS; e++)
      if (f->open[e] && f->differs[e][k]) {
        printf("%s: the results of %s are not those of %s\n", f->kernel[k], bench_who_name[e], bench_who_name[f->own]);
        same = false;
      }
  return same;
}

static void number(FILE *out, const char *name, double value) {
  if (value > 0) fprintf(out, ", \"%s\": %.5g", name, value);
  else fprintf(out, ", \"%s\": null", name);
}
void bench_json(FILE *out, const struct bench_figures *f) {
  fprintf(out, "\"rounds\": %d, \"own\": \"%s\", \"contestants\": {", f->rounds, bench_who_name[f->own]);
  const char *comma = "";
  for (int e = 0; e < BENCH_CONTESTANTS; e++)
    if (*f->name[e]) fprintf(out, "%s\"%s\": \"%s\"", comma, bench_who_name[e], f->name[e]), comma = ", ";
  fprintf(out, "},\n \"kernels\": [");
  for (int k = 0; k < f->kernels; k++) {
    fprintf(out, "%s\n  {\"name\": \"%s\"", k ? "," : "", f->kernel[k]);
    for (int e = 0; e < BENCH_CONTESTANTS; e++) {
      char name[32];
      snprintf(name, sizeof name, "%s_ms", bench_who_name[e]);
      if (*f->name[e]) number(out, name, f->ms[e][k]);
    }
    fputc('}', out);
  }
  fprintf(out, "],\n \"ratios\": {");
  comma = "";
  for (int e = 0; e < BENCH_CONTESTANTS; e++) {
    int k;
    const double worst = bench_worst(f, (enum bench_who)e, &k);
    if (e == (int)f->own || k < 0) continue;
    fprintf(out, "%s\"%s\": {\"kernel\": \"%s\"", comma, bench_who_name[e], f->kernel[k]);
    number(out, "worst", worst);
    number(out, "geometric_mean", bench_mean(f, (enum bench_who)e));
    fputc('}', out);
    comma = ", ";
  }
  fprintf(out, "}");
}

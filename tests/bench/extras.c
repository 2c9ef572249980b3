/* What steady speed does not show: scaling, launches of few blocks, whole processes, how soon a process is fast. */
#include "bench.h"

#include <mx/mx.h>
#include <mx/text.h>

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 15, GRID_ROUNDS = 31, PROCESSES = 5, MANDEL = 1, SAXPY = 0, LAUNCHES = 400, LAST = 20 };

/* ---- within this process --------------------------------------------------------------------------------*/
static void scaling(struct bench_contestant *c, const struct bench_figures *f, struct bench_extras *x) {
  for (int k = 0; k < f->kernels; k++) {
    const enum bench_who who[2] = {BENCH_JIT, BENCH_PLAIN};
    double ms[2][2][ROUNDS], *ratio[2] = {&x->scaling_jit[k], &x->scaling_plain[k]};
    for (int r = 0; r < ROUNDS; r++)
      for (int t = 0; t < 2; t++)
        for (int e = 0; e < 2; e++) {
          bench_settle();
          c[who[e]].threads = (unsigned)t + 1;
          ms[e][t][r] = c[who[e]].run(&c[who[e]], k);
          c[who[e]].threads = 0;
        }
    for (int e = 0; e < 2; e++) *ratio[e] = bench_median(ms[e][0], ROUNDS) / bench_median(ms[e][1], ROUNDS);
  }
}

/* saxpy on 1, 4, 16, ... blocks: what a launch costs */
static void grids(struct bench_contestant *c, const struct bench_figures *f, struct bench_extras *x) {
  const enum bench_who who[3] = {BENCH_JIT, BENCH_POCL, BENCH_PLAIN};
  x->grids = 0;
  for (size_t blocks = 1; blocks <= 16384; blocks *= 4, x->grids++)
    for (int e = 0; e < 3; e++) {
      struct bench_contestant *w = &c[who[e]];
      double us[GRID_ROUNDS];
      if (!f->open[who[e]]) continue;
      const size_t items = w->work[SAXPY].items[0], n = w->data->n;
      w->work[SAXPY].items[0] = blocks * 256;
      if (who[e] == BENCH_PLAIN) w->data->n = blocks * 256;
      w->run(w, SAXPY);
      for (int r = 0; r < GRID_ROUNDS; r++) us[r] = w->run(w, SAXPY) * 1e3;
      w->work[SAXPY].items[0] = items;
      w->data->n = n;
      x->grid_us[e][x->grids] = bench_median(us, GRID_ROUNDS);
      bench_settle();
    }
}

/* ---- whole processes --------------------------------------------------------------------------------------*/
static int discard(const char *path, const struct stat *s, int kind, struct FTW *f) {
  (void)s, (void)kind, (void)f;
  remove(path);
  return 0;
}
static void empty(const char *folder) { nftw(folder, discard, 8, FTW_DEPTH | FTW_PHYS); }

/* Milliseconds that the program took, its peak memory and its first output. Negative: it failed. */
static double process(char *const argv[], double *peak_mib, char *said, size_t room) {
  int pipes[2], status = 1;
  if (pipe(pipes)) return -1;
  const double begin = bench_now();
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(pipes[1], 1);
    dup2(null, 2);
    execv(argv[0], argv);
    _exit(127);
  }
  close(pipes[1]);
  size_t n = 0;
  for (ssize_t got; pid > 0 && (got = read(pipes[0], said + n, room - 1 - n)) > 0;) n += (size_t)got;
  said[n] = 0;
  close(pipes[0]);
  struct rusage u = {0};
  if (pid < 0 || wait4(pid, &status, 0, &u) != pid) return -1;
  if (peak_mib) *peak_mib = (double)u.ru_maxrss / 1024;
  return status ? -1 : bench_now() - begin;
}

static void whole(const struct bench_paths *paths, const char *cache, struct bench_extras *x) {
  char mxrun[600], source[600], said[4096];
  snprintf(mxrun, sizeof mxrun, "%s/mxrun", paths->build);
  snprintf(source, sizeof source, "%s/examples/mandelbrot.mxs", paths->root);
  char *argv[] = {mxrun,    source,   "--grid",    "4096", "--block", "256", "--json", "out=zeros:s32[1024,1024]",
                  "w=1024", "h=1024", "maxit=256", NULL};
  char *compile[] = {mxrun,    source,   "--grid",    "1", "--block", "256", "--jit=on", "out=zeros:s32[1024,1024]",
                     "w=1024", "h=1024", "maxit=256", NULL};
  double cold[PROCESSES], warm[PROCESSES];
  for (int r = 0; r < PROCESSES; r++) {
    empty(cache);
    cold[r] = process(argv, NULL, said, sizeof said);
  }
  process(compile, NULL, said, sizeof said);
  for (int r = 0; r < PROCESSES; r++) warm[r] = process(argv, &x->peak_mib, said, sizeof said);
  x->cold_ms = bench_median(cold, PROCESSES);
  x->warm_ms = bench_median(warm, PROCESSES);
}

static void tierup(const struct bench_paths *paths, const char *cache, struct bench_extras *x) {
  char folder[600], started[64], said[256];
  double at[PROCESSES], steady[PROCESSES];
  snprintf(folder, sizeof folder, "%s/examples", paths->root);
  for (int r = 0; r < PROCESSES; r++) {
    empty(cache);
    snprintf(started, sizeof started, "%.6f", bench_now());
    char *argv[] = {(char *)paths->self, "tierup", folder, started, NULL};
    if (process(argv, NULL, said, sizeof said) < 0 || sscanf(said, "%lf %lf", &at[r], &steady[r]) != 2)
      at[r] = steady[r] = INFINITY;
  }
  x->tierup_ms = bench_median(at, PROCESSES);
  x->tierup_steady_ms = bench_median(steady, PROCESSES);
}

void bench_processes(const struct bench_paths *paths, struct bench_extras *x) {
  char cache[] = "/tmp/mx-bench-XXXXXX";
  if (!mkdtemp(cache)) return;
  setenv("MX_CACHE_DIR", cache, 1);
  tierup(paths, cache, x);
  whole(paths, cache, x);
  empty(cache);
  unsetenv("MX_CACHE_DIR");
  fprintf(stderr, "processes measured\n");
}

int bench_tierup_child(const char *folder, double started) {
  char path[700];
  mx_device *d;
  mx_module *m;
  mx_kernel *k;
  mx_addr out;
  char *messages = NULL, *text = calloc(1, 1 << 16);
  snprintf(path, sizeof path, "%s/mandelbrot.mxs", folder);
  FILE *f = fopen(path, "r");
  const size_t size = f && text ? fread(text, 1, (1 << 16) - 1, f) : 0;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  if (mx_device_create(&options, &d) != MX_OK || mx_module_load_text(d, text, size, NULL, &m, &messages) != MX_OK ||
      mx_module_kernel(m, "mandelbrot", &k) != MX_OK || mx_alloc(d, 4 << 20, &out) != MX_OK)
    return 1;
  const uint32_t side = 1024, steps = 256;
  const void *args[] = {&out, &side, &side, &steps};
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = 4096;
  config.block[0] = 256;
  static double began[LAUNCHES], took[LAUNCHES], last[LAST];
  int n = 0;
  for (; n < LAUNCHES && (n < LAST || began[n - 1] - started < 1500); n++) {
    began[n] = bench_now();
    if (mx_launch_args(k, &config, args, 4) != MX_OK) return 1;
    took[n] = bench_now() - began[n];
  }
  memcpy(last, took + n - LAST, sizeof last);
  const double steady = bench_median(last, LAST);
  int first = 0;
  while (took[first] > steady / 0.9) first++;
  printf("%f %f\n", began[first] - started, steady);
  mx_device_destroy(d);
  return 0;
}

void bench_extras(struct bench_contestant *c, const struct bench_figures *f, struct bench_extras *x) {
  if (omp_get_num_procs() > 1) scaling(c, f, x);
  fprintf(stderr, "scaling measured\n");
  grids(c, f, x);
  x->steady_ms = f->ms[BENCH_JIT][MANDEL];
}

static double mean_scaling(const struct bench_figures *f, const struct bench_extras *x) {
  double sum = 0;
  for (int k = 0; k < f->kernels; k++) sum += log(x->scaling_jit[k] / x->scaling_plain[k]);
  return exp(sum / f->kernels);
}
void bench_extras_print(const struct bench_figures *f, const struct bench_contestant *c, const struct bench_extras *x) {
  printf("\ncompile time (ms, the median of five), and how many times as fast two threads are as one\n");
  printf("%-8s%10s%10s%10s\n", "kernel", "compile", "mx-jit", "native");
  for (int k = 0; k < f->kernels; k++)
    printf("%-8s%10.0f%10.2f%10.2f\n", f->kernel[k], c[BENCH_JIT].compile_ms[k], x->scaling_jit[k],
           x->scaling_plain[k]);
  if (x->scaling_jit[0] > 0) printf("scaling against native's, geometric mean: %.3f\n", mean_scaling(f, x));
  printf("\na launch of saxpy (microseconds) by blocks of 256 threads\n%-8s%10s%10s%10s\n", "blocks", "mx-jit", "pocl",
         "native");
  for (int g = 0; g < x->grids; g++) {
    printf("%-8d", 1 << 2 * g);
    for (int e = 0; e < 3; e++)
      if (x->grid_us[e][g] > 0) printf("%10.1f", x->grid_us[e][g]);
      else printf("%10s", "-");
    putchar('\n');
  }
  printf("\nMandelbrot set, 1024 x 1024, 256 steps\n");
  printf("process start to 90 %% of steady speed, empty cache  %8.1f ms (steady launches take %.2f ms)\n", x->tierup_ms,
         x->tierup_steady_ms);
  printf("whole process, empty cache                          %8.1f ms\n", x->cold_ms);
  printf("whole process, warm cache                           %8.1f ms (at 1.2 times the steady launch and 10 ms: %.1f "
         "ms)\n",
         x->warm_ms, 1.2 * x->steady_ms + 10);
  printf("peak memory of that process                         %8.1f MiB (the picture has 4)\n", x->peak_mib);
}
void bench_extras_json(FILE *out, const struct bench_figures *f, const struct bench_contestant *c,
                       const struct bench_extras *x) {
  fprintf(out, "\"compile_ms\": {");
  for (int k = 0; k < f->kernels; k++)
    fprintf(out, "%s\"%s\": %.1f", k ? ", " : "", f->kernel[k], c[BENCH_JIT].compile_ms[k]);
  fprintf(out, "},\n \"scaling\": {");
  for (int k = 0; k < f->kernels; k++)
    fprintf(out, "%s\"%s\": [%.3f, %.3f]", k ? ", " : "", f->kernel[k], x->scaling_jit[k], x->scaling_plain[k]);
  fprintf(out, "},\n \"scaling_against_native\": %.3f,\n \"grid_us\": [",
          x->scaling_jit[0] > 0 ? mean_scaling(f, x) : 0);
  for (int g = 0; g < x->grids; g++)
    fprintf(out, "%s[%d, %.2f, %.2f, %.2f]", g ? ", " : "", 1 << 2 * g, x->grid_us[0][g], x->grid_us[1][g],
            x->grid_us[2][g]);
  fprintf(out,
          "],\n \"tierup_ms\": %.2f, \"cold_process_ms\": %.2f, \"warm_process_ms\": %.2f, \"steady_ms\": %.3f, "
          "\"peak_mib\": %.1f",
          x->tierup_ms, x->cold_ms, x->warm_ms, x->steady_ms, x->peak_mib);
}

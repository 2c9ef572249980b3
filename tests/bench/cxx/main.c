/* What programs in kernels' C++ cost before their first instruction: mxcc's own time, without clang's, and the start of
 * a program whose kernels are compiled already, against a program in C. Processor time, since that can be measured on
 * machines that do something else, too, and the time by the clock, whose least is of use on idle ones.
 *
 * It is its own wrapper around clang: under a name that begins so, it runs the real one and notes what that took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, STARTS = 25 };

struct cost {
  double cpu, clock; /* milliseconds */
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct cost run(char *const *words, int *status) {
  struct rusage u = {0};
  const double from = now();
  pid_t child = fork();
  if (!child) {
    execvp(words[0], words);
    _exit(127);
  }
  if (child < 0 || wait4(child, status, 0, &u) != child) exit(4);
  return (struct cost){(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
                           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-3,
                       now() - from};
}

static int wrapper(char **argv) {
  int status = 0;
  argv[0] = getenv("BENCH_CLANG");
  const struct cost c = run(argv, &status);
  FILE *f = fopen(getenv("BENCH_TIMES"), "a");
  if (!f || fprintf(f, "%f\n", c.cpu) < 0 || fclose(f)) return 4;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static double noted(const char *path) {
  double sum = 0, v;
  FILE *f = fopen(path, "r");
  while (f && fscanf(f, "%lf", &v) == 1) sum += v;
  if (f) fclose(f);
  unlink(path);
  return sum;
}

static int lines_of(const char *path) {
  int n = 0, c;
  FILE *f = fopen(path, "r");
  while (f && (c = getc(f)) != EOF) n += c == '\n';
  if (f) fclose(f);
  return n;
}

static void must(char *const *words) {
  int status = 0;
  run(words, &status);
  if (!status) return;
  fprintf(stderr, "bench-cxx: %s failed\n", words[0]);
  exit(4);
}

static void compile(const char *mxcc, const char *folder, const char *source) {
  char times[512], out[512], *words[] = {(char *)(size_t)mxcc, (char *)(size_t)source, "-O1", "-o", out, NULL};
  double least = 1e9, of_clang = 0;
  snprintf(times, sizeof times, "%s/times", folder);
  snprintf(out, sizeof out, "%s/program", folder);
  setenv("BENCH_TIMES", times, 1);
  for (int k = 0; k < ROUNDS; k++) {
    int status = 0;
    const struct cost c = run(words, &status);
    const double clang = noted(times);
    if (!status && c.cpu - clang < least) least = c.cpu - clang, of_clang = clang;
  }
  const char *slash = strrchr(source, '/');
  printf("| mxcc %s, %d lines | %.0f | %.1f |\n", slash ? slash + 1 : source, lines_of(source), of_clang, least);
}

static int upwards(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
  if (!strncmp(name, "clang", 5)) return wrapper(argv);
  if (argc < 4)
    return fprintf(stderr, "Usage: bench-cxx BUILD SOURCES CLANG\n"), 2; /* SOURCES: the folder of programs */
  char folder[] = "/tmp/mx-bench.XXXXXX", self[512], link[512], mxcc[512], file[512], c[512], cu[512], program[512];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0 || !mkdtemp(folder)) return 4;
  self[n] = 0;
  setenv("BENCH_CLANG", argv[3], 1);
  const char *clang = strrchr(argv[3], '/');
  snprintf(link, sizeof link, "%s/%s", folder, clang ? clang + 1 : argv[3]);
  if (symlink(self, link)) return 4;
  snprintf(mxcc, sizeof mxcc, "%s/mxcc", argv[1]);
  setenv("XDG_CACHE_HOME", folder, 1);

  printf("| processor time, ms | clang | all else |\n| --- | --- | --- |\n");
  setenv("MXCC_CLANG", link, 1);
  static const char *const sources[] = {"assembly", "queries", "graph_edits", "linear"};
  for (size_t k = 0; k < sizeof sources / sizeof *sources; k++) {
    snprintf(file, sizeof file, "%s/%s.cu", argv[2], sources[k]);
    compile(mxcc, folder, file);
  }
  setenv("MXCC_CLANG", argv[3], 1);

  snprintf(c, sizeof c, "%s/plain.c", folder);
  snprintf(cu, sizeof cu, "%s/kernel.cu", folder);
  FILE *f = fopen(c, "w");
  fputs("#include <stdio.h>\nint main(void) { puts(\"passed\"); }\n", f);
  fclose(f);
  f = fopen(cu, "w");
  fputs("#include <cstdio>\n__global__ void twice(float *p) { p[threadIdx.x] *= 2; }\n"
        "int main() { float *p; cudaMalloc(&p, 1024); twice<<<1, 256>>>(p);\n"
        "return cudaDeviceSynchronize() != cudaSuccess || puts(\"passed\") < 0; }\n",
        f);
  fclose(f);
  snprintf(file, sizeof file, "%s/plain", folder);
  snprintf(program, sizeof program, "%s/kernel", folder);
  must((char *[]){"cc", "-O1", c, "-o", file, NULL});
  must((char *[]){mxcc, cu, "-o", program, NULL});
  fflush(stdout);
  if (!freopen("/dev/null", "w", stderr)) return 4;
  double cpu[2][STARTS], clock[2][STARTS];
  const int out = dup(1);
  if (!freopen("/dev/null", "w", stdout)) return 4;
  setenv("MX_JIT", "on", 1); /* which waits for the compiler */
  must((char *[]){program, NULL});
  unsetenv("MX_JIT");
  for (int k = 0; k < STARTS; k++)
    for (int i = 0; i < 2; i++) {
      int status = 0;
      const struct cost x = run((char *[]){i ? program : file, NULL}, &status);
      cpu[i][k] = x.cpu, clock[i][k] = x.clock;
      if (status) return 4;
    }
  for (int i = 0; i < 2; i++)
    qsort(cpu[i], STARTS, sizeof **cpu, upwards), qsort(clock[i], STARTS, sizeof **clock, upwards);
  dprintf(out,
          "\n| start, ms | C | a kernel, cached | more |\n| --- | --- | --- | --- |\n"
          "| processor, median | %.1f | %.1f | %.1f |\n| clock, least | %.1f | %.1f | %.1f |\n"
          "| clock, median | %.1f | %.1f | %.1f |\n",
          cpu[0][STARTS / 2], cpu[1][STARTS / 2], cpu[1][STARTS / 2] - cpu[0][STARTS / 2], clock[0][0], clock[1][0],
          clock[1][0] - clock[0][0], clock[0][STARTS / 2], clock[1][STARTS / 2],
          clock[1][STARTS / 2] - clock[0][STARTS / 2]);
  must((char *[]){"rm", "-r", folder, NULL});
  return 0;
}

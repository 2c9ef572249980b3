/* Speed of matrix instructions: C = A B of 512 x 512 matrices on two threads, against the same product by f32
 * multiply-adds (examples/matmul.mxs) and against the exact rule in plain C: a table on stdout.
 *   bench-matrix FOLDER [CASE]...      FOLDER: the sources'; all cases where none is said
 * Processor time of all threads, the least of several runs: half of it passes on two idle processors. Run `make
 * bench-matrix` with MX_LEVEL for another CPU level, with MX_BENCH_JIT=off for the interpreter. */
#include "tests/bench/cpu_time.h"
#include "tests/bench/matrix/native.h"

#include "mx/text.h"

#include <string.h>

enum { N = 512, RUNS = 7, ROWS = 64 /* that plain C computes, to be multiplied */ };
struct program {
  const char *name, *file, *kernel, *type, *sums;
  unsigned tile[2], block[2];
};
static const struct program programs[] = {
    {"f32 fma, tiles of 16 x 16 in shared memory", "examples/matmul.mxs", "matmul", "f32", "f32", {16, 16}, {16, 16}},
    {"wmma f16 into f32, 64 lanes", "examples/wmma.mxs", "wmma", "f16", "f32", {16, 16}, {64, 1}},
    {"the same, 32 x 32 elements a warp", "tests/bench/matrix/f16.mxs", "f16", "f16", "f32", {32, 32}, {64, 1}},
    {"mma f16 into f32, ldmatrix, 32 lanes", "examples/mma.mxs", "mma", "f16", "f32", {8, 16}, {32, 1}},
    {"wmma s8 into s32, 64 lanes", "tests/bench/matrix/s8.mxs", "s8", "s8", "s32", {16, 16}, {64, 1}}};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static char *read_file(const char *folder, const char *file, size_t *size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *in = fopen(path, "r");
  char *text = malloc(65536);
  if (!in || !text) need(NULL, false, path);
  *size = fread(text, 1, 65536, in);
  fclose(in);
  return text;
}
/* About normal numbers: the sum of four random ones. */
static double normal(void) {
  static uint64_t state = 1;
  double sum = 0;
  for (unsigned k = 0; k < 4; k++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    sum += (double)(state >> 40) * 0x1p-24 - 0.5;
  }
  return 1.7320508 * sum;
}
static void fill(const char *type, unsigned char *data) {
  for (unsigned k = 0; k < N * N; k++) {
    const double v = normal();
    const _Float16 h = (_Float16)v;
    const float f = (float)v;
    const int8_t i = (int8_t)(30 * v);
    if (!strcmp(type, "f16")) memcpy(data + k * sizeof h, &h, sizeof h);
    else if (!strcmp(type, "s8")) memcpy(data + k * sizeof i, &i, sizeof i);
    else memcpy(data + k * sizeof f, &f, sizeof f);
  }
}

static double run_program(mx_device *d, const char *folder, const struct program *p, const unsigned char *a,
                          const unsigned char *b, float *sums) {
  size_t size;
  char *text = read_file(folder, p->file, &size), *messages = NULL;
  mx_module *m;
  mx_kernel *kernel;
  mx_addr at[3];
  const uint32_t n = N;
  if (mx_module_load_text(d, text, size, NULL, &m, &messages) != MX_OK) need(NULL, false, messages);
  need(d, mx_module_kernel(m, p->kernel, &kernel) == MX_OK, p->kernel);
  for (unsigned k = 0; k < 3; k++) need(d, mx_alloc(d, N * N * 4, &at[k]) == MX_OK, "memory");
  mx_copy_to_device(d, at[0], a, N * N * 4), mx_copy_to_device(d, at[1], b, N * N * 4);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = N / p->tile[0], c.grid[1] = N / p->tile[1], c.block[0] = p->block[0], c.block[1] = p->block[1],
  c.threads = 2;
  const char *jit = getenv("MX_BENCH_JIT");
  c.jit = jit && !strcmp(jit, "off") ? MX_JIT_OFF : MX_JIT_ON;
  const void *args[] = {&at[0], &at[1], &at[2], &n};
  double best = 1e9;
  for (unsigned run = 0; run <= RUNS; run++) { /* the first one compiles */
    const double begin = now();
    need(d, mx_launch_args(kernel, &c, args, 4) == MX_OK, p->name);
    const double t = now() - begin;
    if (run && t < best) best = t;
  }
  mx_copy_from_device(d, sums, at[2], N * N * 4);
  for (unsigned k = 0; k < 3; k++) mx_free(d, at[k]);
  mx_module_unload(m);
  free(text);
  return best;
}

int main(int argc, char **argv) {
  if (argc < 2) return fputs("usage: bench-matrix FOLDER [CASE]...\n", stderr), 2;
  static unsigned char a[N * N * 4], b[N * N * 4];
  static float sums[N * N], exact[N * N];
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  mx_device *d = NULL;
  options.cache_dir = "";
  options.jit_compiler = getenv("MX_JITC");
  need(d, mx_device_create(&options, &d) == MX_OK, "no device");
  printf("%-46s %8s %8s %8s %8s\n", "C = A B, 512 x 512, on two threads", "ms", "10^9/s", "x fma", "x exact");
  double fma = 0, scalar = 0;
  for (unsigned k = 0; k < PROGRAMS; k++) {
    const struct program *p = &programs[k];
    bool wanted = argc == 2 || !k;
    for (int n = 2; n < argc; n++) wanted |= strstr(p->name, argv[n]) != NULL;
    if (!wanted) continue;
    fill(p->type, a), fill(p->type, b);
    const double t = run_program(d, argv[1], p, a, b, sums);
    if (!k) fma = t;
    printf("%-46s %8.1f %8.2f %8.2f", p->name, t * 1e3 / 2, 2e-9 * N * N * N / t, fma / t);
    if (!strcmp(p->type, "f16")) {
      const double begin = now();
      exact_f16((const uint16_t *)a, (const uint16_t *)b, exact, N, 0, ROWS);
      const double one = (now() - begin) * N / ROWS;
      if (!scalar || one < scalar) scalar = one;
      need(NULL, !memcmp(exact, sums, ROWS * N * sizeof *sums), "other bits than the exact rule's");
      printf(" %8.1f", scalar / t);
    }
    printf("\n");
    fflush(stdout);
  }
  if (scalar)
    printf("%-46s %8.1f %8.2f %8.2f %8.1f\n", "exact rule, f16 into f32, scalar C", scalar * 1e3 / 2,
           2e-9 * N * N * N / scalar, fma / scalar, 1.0);
  mx_device_destroy(d);
  return 0;
}

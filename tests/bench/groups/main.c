/* Speed of groups and of asynchronous copies: pairs of kernels that do the same in two ways, one launch of each in
 * turn, on one thread: a table on stdout.
 *   bench-groups FOLDER REDUCE [PART]      FOLDER: the sources'; REDUCE: reduce.cu's PTX; PART: gemm or reduce
 * ratio: the median of how much longer the first way takes than the second, over pairs of launches that follow each
 * other. A/A: the same for the second way against itself, in the same turns: what noise does to such a median. ms: the
 * median of the second way's launches. Both ways must leave the same bits. `make bench-groups LEVEL=v3` takes another
 * CPU level. */
#include "tests/bench/cpu_time.h"

#include "mx/text.h"

#include <string.h>

enum { WAYS = 3, THREADS = 256 };

static char *read_file(const char *path, size_t *size) {
  FILE *in = fopen(path, "r");
  char *text = malloc(1 << 24);
  if (!in || !text) need(NULL, false, path);
  *size = fread(text, 1, 1 << 24, in);
  fclose(in);
  return text;
}
static mx_module *load(mx_device *d, const char *path) {
  size_t size;
  char *text = read_file(path, &size), *messages = NULL;
  mx_module *m;
  if (mx_module_load_text(d, text, size, NULL, &m, &messages) != MX_OK) need(NULL, false, messages ? messages : path);
  free(text);
  return m;
}
static int by_size(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}
static double median(double *v, size_t n) {
  qsort(v, n, sizeof *v, by_size);
  return v[n / 2];
}

/* Two kernels of a module, and their launches; each leaves `bytes` bytes. */
struct pair {
  mx_device *d;
  mx_module *m;
  const char *first, *second;
  uint32_t grid[2], block[2];
  size_t bytes, pairs;
};
/* Launches them in turn, and the second one once more, and writes a line for `name`. args[out] becomes the address of
 * what they leave. */
static void measure(const struct pair *p, const char *name, const void **args, uint32_t n, uint32_t out) {
  double ms[256], ratio[256], noise[256];
  mx_kernel *kernel[WAYS];
  mx_addr at[WAYS];
  unsigned char *result[WAYS];
  for (unsigned k = 0; k < WAYS; k++) {
    const char *of = k ? p->second : p->first;
    need(p->d, mx_module_kernel(p->m, of, &kernel[k]) == MX_OK, of);
    need(p->d, mx_alloc(p->d, p->bytes, &at[k]) == MX_OK, "memory");
    result[k] = malloc(p->bytes);
    need(NULL, result[k] != NULL, "memory");
  }
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  memcpy(c.grid, p->grid, sizeof p->grid), memcpy(c.block, p->block, sizeof p->block);
  c.threads = 1, c.jit = MX_JIT_ON;
  const size_t pairs = p->pairs < 256 ? p->pairs : 255;
  for (size_t pair = 0; pair < pairs + 2; pair++) { /* in the first two, code and data are fetched */
    double t[WAYS];
    for (unsigned turn = 0; turn < WAYS; turn++) {
      const unsigned k = (unsigned)(turn + pair) % WAYS; /* none is always the first */
      args[out] = &at[k];
      const double begin = now();
      need(p->d, mx_launch_args(kernel[k], &c, args, n) == MX_OK, name);
      t[k] = now() - begin;
    }
    if (pair < 2) continue;
    ms[pair - 2] = t[1] * 1e3, ratio[pair - 2] = t[0] / t[1], noise[pair - 2] = t[2] / t[1];
  }
  for (unsigned k = 0; k < WAYS; k++) {
    mx_copy_from_device(p->d, result[k], at[k], p->bytes), mx_free(p->d, at[k]);
    need(NULL, !memcmp(result[k], result[0], p->bytes), "the two ways have different results");
  }
  printf("%-34s %9.3f %7.2f %7.2f\n", name, median(ms, pairs), median(ratio, pairs), median(noise, pairs));
  fflush(stdout);
  for (unsigned k = 0; k < WAYS; k++) free(result[k]);
}

static void gemm(mx_device *d, const char *folder) {
  char path[4096], name[64];
  snprintf(path, sizeof path, "%s/tests/bench/groups/gemm.mxs", folder);
  mx_module *m = load(d, path);
  for (uint32_t n = 128; n <= 512; n *= 2) {
    const size_t bytes = (size_t)n * n * sizeof(float);
    float *data = malloc(bytes);
    mx_addr in[2];
    need(NULL, data != NULL, "memory");
    for (uint32_t k = 0; k < n * n; k++) data[k] = (float)(k * 7 % 1001) - 500;
    for (unsigned k = 0; k < 2; k++) {
      need(d, mx_alloc(d, bytes, &in[k]) == MX_OK, "memory");
      mx_copy_to_device(d, in[k], data, bytes);
    }
    const struct pair p = {d, m, "gemm_async", "gemm_plain", {n / 16, n / 16}, {16, 16}, bytes, n > 256 ? 15 : 101};
    const void *args[] = {&in[0], &in[1], NULL, &n};
    snprintf(name, sizeof name, "gemm, n = %u: cp.async / without", n);
    measure(&p, name, args, 4, 2);
    mx_free(d, in[0]), mx_free(d, in[1]);
    free(data);
  }
  mx_module_unload(m);
}

static void reduce(mx_device *d, const char *ptx) {
  static const struct {
    const char *name;
    size_t bytes;
  } types[] = {{"u32", 4}, {"f32", 4}, {"u64", 8}, {"f64", 8}};
  enum { BLOCKS = 64, ALL = BLOCKS * THREADS };
  const uint32_t rounds = 256;
  mx_module *m = load(d, ptx);
  for (unsigned t = 0; t < sizeof types / sizeof *types; t++)
    for (unsigned size = 4; size <= 32; size *= 2) {
      static union {
        uint32_t u32[ALL];
        float f32[ALL];
        uint64_t u64[ALL];
        double f64[ALL];
      } data;
      for (unsigned k = 0; k < ALL; k++) {
        const unsigned v = k * 7 % 1001;
        if (t == 0) data.u32[k] = v;
        else if (t == 1) data.f32[k] = (float)v;
        else if (t == 2) data.u64[k] = (uint64_t)v << 30;
        else data.f64[k] = v;
      }
      char name[64], first[64], second[64];
      snprintf(name, sizeof name, "%s, tile of %u: reduce / shuffles", types[t].name, size);
      snprintf(first, sizeof first, "%s_reduce_%u", types[t].name, size);
      snprintf(second, sizeof second, "%s_shuffles_%u", types[t].name, size);
      mx_addr in;
      const size_t bytes = ALL * types[t].bytes;
      need(d, mx_alloc(d, bytes, &in) == MX_OK, "memory");
      mx_copy_to_device(d, in, &data, bytes);
      const struct pair p = {d, m, first, second, {BLOCKS, 1}, {THREADS, 1}, bytes, 101};
      const void *args[] = {&in, NULL, &rounds};
      measure(&p, name, args, 3, 1);
      mx_free(d, in);
    }
  mx_module_unload(m);
}

int main(int argc, char **argv) {
  if (argc < 3) return fputs("usage: bench-groups FOLDER REDUCE [gemm|reduce]\n", stderr), 2;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  mx_device *d = NULL;
  options.cache_dir = "";
  options.jit_compiler = getenv("MX_JITC");
  need(d, mx_device_create(&options, &d) == MX_OK, "no device");
  const char *part = argc > 3 ? argv[3] : "";
  printf("%-34s %9s %7s %7s\n", "first way / second", "ms", "ratio", "A/A");
  if (strcmp(part, "reduce")) gemm(d, argv[1]);
  if (strcmp(part, "gemm")) reduce(d, argv[2]);
  mx_device_destroy(d);
  return 0;
}

/* Compares functions and instructions with recordings of a real GPU, each run inside a kernel. conform [-v]
 *   [--engine=interp|jit] [--level=v2|v3|v4] [--threads=N] [--only=TEXT] [--every=N] [--measure] [--digest]
 * [--results=RESULTS] FILE... FILE: vectors (README.md), - for stdin. --only: functions whose name has TEXT; --every:
 * only every N-th function of a file. -v: every function. --measure: name and largest error of approximations.
 * --digest: one of all results, which is the same for every level, engine and number of threads. --results: nothing is
 * run; of each line of the vectors RESULTS has one with its outputs, separated by commas, that something else has
 * given. A line for each function that differs, with the first three cases; ends 'N passed, N failed', counting
 * functions. */
#include "tests/conform/conform.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static unsigned passed, failed;
static bool verbose, measure;
static XXH64_hash_t digest;

/* A byte comes back extended to its register. */
static uint64_t type_mask(const char *type) { return strchr("us", type[0]) && type[1] == '8' ? 0xFF : ~0ull; }

/* The recordings of these lost the operand's upper half on the way to the GPU: run by themselves on the same device,
 * atom and red of these types add both halves, in every spelling. Their lower halves are right. */
static bool half_recorded(const char *name) {
  return !strncmp(name, "atomicAdd.shared.f16x2", 22) || !strncmp(name, "atomicAdd.shared.bf16x2", 23);
}

static void compare(struct function *f, const uint64_t *in, const uint64_t *recorded, const uint64_t *result) {
  uint64_t want[MAX_VALUES], got[MAX_VALUES];
  for (unsigned k = 0; k < f->sig.nout; k++) {
    const uint64_t mask = half_recorded(f->name) ? 0xFFFF : type_mask(f->sig.out[k]);
    want[k] = recorded[k] & mask, got[k] = result[k] & mask;
  }
  if (mx__right(f, in, want, got) || f->bad++ >= CASES) return;
  char *s = f->first[f->bad - 1];
  int n = 0, room = (int)sizeof f->first[0];
  for (unsigned k = 0; k < f->sig.nin && n < room; k++)
    n += snprintf(s + n, (size_t)(room - n), "%s%llx", k ? "," : "", (unsigned long long)in[k]);
  for (unsigned k = 0; k < f->sig.nout && n < room; k++)
    n += snprintf(s + n, (size_t)(room - n), "%s want %llx got %llx", k ? "," : ":", (unsigned long long)want[k],
                  (unsigned long long)got[k]);
}

static void report(const struct function *f) {
  if (f->refused || f->bad) failed++;
  else passed++;
  if (f->refused) {
    printf("%s: %s: did not run\n", f->file, f->name);
  } else if (f->bad) {
    printf("%s: %s: %u of %zu differ;", f->file, f->name, f->bad, f->lines);
    for (unsigned k = 0; k < f->bad && k < CASES; k++) printf("%s %s", k ? ";" : "", f->first[k]);
    printf("\n");
  } else if (measure && f->worst_text[0]) {
    printf("%s\t%s\t%s\n", f->name, f->sig.out[0], f->worst_text);
  } else if (verbose) {
    printf("%s: %s: %zu lines%s%s\n", f->file, f->name, f->lines, f->worst_text[0] ? ", largest error " : "",
           f->worst_text);
  }
}

static void finish(struct function *f) {
  f->refused |= !f->got;
  for (size_t l = 0; l < f->lines && f->got; l++) {
    const uint64_t *v = f->values + l * (f->sig.nin + f->sig.nout);
    if (!f->open || !f->open[l]) compare(f, v, v + f->sig.nin, f->got + l * f->sig.nout);
  }
  report(f);
  if (f->got && !f->open) digest = XXH3_64bits_withSeed(f->got, f->lines * f->sig.nout * sizeof *f->got, digest);
  free(f->values);
  free(f->open);
  free(f->got);
}

/* Takes the outputs of all lines of all functions from a file. */
static bool read_results(const char *path, struct function *fs, size_t n) {
  FILE *in = fopen(path, "r");
  if (!in) return fprintf(stderr, "conform: %s cannot be read\n", path), false;
  char line[4096];
  size_t short_of = 0;
  for (size_t k = 0; k < n; k++) {
    struct function *f = &fs[k];
    if (!(f->got = calloc(f->lines * f->sig.nout + 1, sizeof *f->got))) abort();
    for (size_t l = 0; l < f->lines; l++) {
      char *p = fgets(line, sizeof line, in);
      if (!p) short_of++;
      for (unsigned o = 0; p && o < f->sig.nout; o++, p += *p == ',') f->got[l * f->sig.nout + o] = strtoull(p, &p, 16);
    }
  }
  const bool more = fgets(line, sizeof line, in);
  fclose(in);
  if (short_of || more) fprintf(stderr, "conform: %s has %s lines than the vectors\n", path, more ? "more" : "fewer");
  return !short_of && !more;
}

int main(int argc, char **argv) {
  enum { ENGINE = 256, LEVEL, THREADS, ONLY, EVERY, MEASURE, DIGEST, RESULTS };
  static const struct option longs[] = {{"engine", required_argument, 0, ENGINE},
                                        {"level", required_argument, 0, LEVEL},
                                        {"only", required_argument, 0, ONLY},
                                        {"every", required_argument, 0, EVERY},
                                        {"measure", no_argument, 0, MEASURE},
                                        {"threads", required_argument, 0, THREADS},
                                        {"digest", no_argument, 0, DIGEST},
                                        {"results", required_argument, 0, RESULTS},
                                        {0}};
  const char *only = NULL, *results = NULL;
  unsigned every = 1;
  struct how how = {0};
  bool right = true, digests = false;
  for (int o; (o = getopt_long(argc, argv, "v", longs, NULL)) != -1;) switch (o) {
    case 'v': verbose = true; break;
    case ENGINE:
      how.jit = !strcmp(optarg, "jit");
      if (!how.jit && strcmp(optarg, "interp")) return fprintf(stderr, "conform: engines are interp and jit\n"), 2;
      break;
    case LEVEL: setenv("MX_LEVEL", optarg, 1); break;
    case ONLY: only = optarg; break;
    case EVERY: every = (unsigned)strtoul(optarg, NULL, 10); break;
    case THREADS: how.threads = (unsigned)strtoul(optarg, NULL, 10); break;
    case DIGEST: digests = true; break;
    case RESULTS: results = optarg; break;
    case MEASURE: measure = true; break;
    default: return 2;
    }
  struct function *fs = NULL;
  size_t n = 0;
  for (int i = optind; i < argc; i++) {
    struct tally tiles = {0};
    if (mx__run_tiles(argv[i], only, every ? every : 1, &how, &tiles) ||
        mx__run_textures(argv[i], only, every ? every : 1, &how, &tiles)) {
      passed += tiles.passed, failed += tiles.failed;
      if (verbose) printf("%s: %zu elements\n", argv[i], tiles.elements);
      continue;
    }
    if (mx__read_vectors(argv[i], only, every ? every : 1, &fs, &n)) continue;
    fprintf(stderr, "conform: %s cannot be read\n", argv[i]);
    right = false;
  }
  right &= results ? read_results(results, fs, n) : mx__run_kernels(fs, n, &how);
  for (size_t k = 0; k < n; k++) finish(&fs[k]);
  free(fs);
  if (digests) printf("digest %016llx\n", (unsigned long long)digest);
  printf("%u passed, %u failed\n", passed, failed);
  return failed || !right;
}

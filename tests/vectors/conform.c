/* Compares the table with recordings of a real GPU, function by function, bit for bit.
 *   conform [-v] [-level NAME] [-kernels off|on] [-only TEXT] [-every N] FILE...     vector files (README.md), - for stdin
 * Without -kernels the rows' meanings are evaluated directly, with the lane functions of a CPU level. With it, each
 * function becomes a kernel: assembled, launched, and run by the interpreter (off) or compiled (on). -every: only every
 * N-th function of a file.
 * Approximate functions are held to PTX's bounds. Prints functions without a row, functions that differ (with their
 * first difference) and 'N passed, N failed'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mx/isa.h"
#include "tests/vectors/approximate.h"
#include "tests/vectors/conform.h"
#include "tests/vectors/eval.h"

static unsigned values(char *text, uint64_t *v) {
  unsigned n = 0;
  for (char *p = text; *p && n < MAX_VALUES; n++) {
    v[n] = strtoull(p, &p, 16);
    if (*p == ',') p++;
  }
  return n;
}

/* A byte comes back extended to its register. */
static uint64_t type_mask(const char *type) { return strchr("us", type[0]) && type[1] == '8' ? 0xFF : ~0ull; }

/* The recordings of these lost the operand's upper half on the way to the GPU: run by themselves on the same device,
 * atom and red of these types add both halves, in every spelling. Their lower halves are right. */
static bool half_recorded(const char *name) {
  return !strncmp(name, "atomicAdd.shared.f16x2", 22) || !strncmp(name, "atomicAdd.shared.bf16x2", 23);
}

static void compare(struct function *f, const uint64_t *in, const uint64_t *recorded, uint64_t *got) {
  uint64_t want[MAX_VALUES];
  for (unsigned k = 0; k < f->sig.nout; k++) {
    want[k] = recorded[k];
    got[k] &= type_mask(f->sig.out[k]);
    if (half_recorded(f->name)) got[k] &= 0xFFFF, want[k] &= 0xFFFF;
  }
  if (f->approximate ? mx__close_enough(f->name, in, want[0], got[0]) : !memcmp(want, got, f->sig.nout * sizeof want[0])) return;
  if (f->bad++) return;
  int n = 0, room = (int)sizeof f->first;
  for (unsigned k = 0; k < f->sig.nin && n < room; k++) n += snprintf(f->first + n, (size_t)(room - n), "%s%llx", k ? "," : "", (unsigned long long)in[k]);
  for (unsigned k = 0; k < f->sig.nout && n < room; k++)
    n += snprintf(f->first + n, (size_t)(room - n), "; want %llx got %llx", (unsigned long long)want[k], (unsigned long long)got[k]);
}

/* ---- files ---------------------------------------------------------------------------------------------------------*/

static unsigned passed, failed;
static bool verbose;
static const char *only;
static unsigned every = 1;
static enum { DIRECT, INTERPRETED, COMPILED } engine;

static void report(const char *file, const struct function *f) {
  if (f->kind == MISSING) {
    printf("%s: %s: no row\n", file, f->name);
    failed++;
  } else if (f->bad) {
    printf("%s: %s (%s): %u of %zu differ; %s\n", file, f->name, mx__ops[f->op[0]].id, f->bad, f->lines, f->first);
    failed++;
  } else {
    if (verbose) printf("%s: %s: %zu lines (%s)\n", file, f->name, f->lines, mx__ops[f->op[0]].id);
    passed++;
  }
}

static bool add_line(struct function *f, char *line) {
  char *in = strchr(line, '\t'), *out = in ? strchr(in + 1, '\t') : NULL;
  uint64_t v[MAX_VALUES], r[MAX_VALUES];
  if (!out) return true;
  *out = 0;
  const unsigned nin = f->sig.nin, nout = f->sig.nout, each = nin + nout;
  if (values(in + 1, v) != nin || values(out + 1, r) != nout) return false;
  if (f->lines == f->room) {
    f->room = f->room ? 2 * f->room : 64;
    uint64_t *more = realloc(f->values, f->room * each * sizeof *more);
    if (!more) return false;
    f->values = more;
  }
  memcpy(f->values + f->lines * each, v, nin * sizeof *v);
  memcpy(f->values + f->lines * each + nin, r, nout * sizeof *r);
  f->lines++;
  return true;
}

static bool read_file(FILE *in, struct function **functions, size_t *n) {
  char line[1024];
  bool right = true;
  struct function *f = NULL;
  unsigned number = 0;
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '#') {
      char types[256], out[128];
      struct function *more = realloc(*functions, (*n + 1) * sizeof *more);
      if (!more) return false;
      *functions = more;
      f = memset(*functions + *n, 0, sizeof *f);
      if (sscanf(line, "# %127[^: ]: %255s -> %127s", f->name, types, out) != 3 ||
          (only && !strstr(f->name, only)) || number++ % every) {
        f = NULL;
        continue;
      }
      mx__resolve(f, types, out);
      ++*n;
    } else if (f && f->kind != MISSING) {
      right &= add_line(f, line);
    }
  }
  return right;
}

static bool run_file(const char *path) {
  FILE *in = strcmp(path, "-") ? fopen(path, "r") : stdin;
  const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  struct function *fs = NULL;
  size_t n = 0;
  bool right = in && read_file(in, &fs, &n);
  if (!right) fprintf(stderr, "conform: %s cannot be read\n", path);
  uint64_t **got = engine == DIRECT ? NULL : calloc(n ? n : 1, sizeof *got);
  if (got && !mx__run_kernels(fs, n, engine == COMPILED, got)) right = false;
  for (size_t k = 0; k < n; k++) {
    struct function *f = &fs[k];
    const unsigned nin = f->sig.nin, nout = f->sig.nout;
    if (engine != DIRECT && f->kind != MISSING && !got[k]) snprintf(f->first, sizeof f->first, "it did not run"), f->bad = 1;
    for (size_t l = 0; l < f->lines && !(engine != DIRECT && !got[k]); l++) {
      const uint64_t *v = f->values + l * (nin + nout);
      uint64_t r[MAX_VALUES] = {0};
      if (got) memcpy(r, got[k] + l * nout, nout * sizeof *r);
      else mx__run_meaning(f, v, r);
      compare(f, v, v + nin, r);
    }
    report(file, f);
    free(f->values);
    if (got) free(got[k]);
  }
  free(got);
  free(fs);
  if (in && in != stdin) fclose(in);
  return right;
}

int main(int argc, char **argv) {
  bool right = true;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-v")) {
      verbose = true;
    } else if (!strcmp(argv[i], "-level") && i + 1 < argc) {
      if (!mx__eval_level(argv[++i])) {
        fprintf(stderr, "conform: this CPU has no level '%s'\n", argv[i]);
        return 2;
      }
    } else if (!strcmp(argv[i], "-kernels") && i + 1 < argc) {
      engine = !strcmp(argv[++i], "on") ? COMPILED : INTERPRETED;
    } else if (!strcmp(argv[i], "-only") && i + 1 < argc) {
      only = argv[++i];
    } else if (!strcmp(argv[i], "-every") && i + 1 < argc) {
      every = (unsigned)strtoul(argv[++i], NULL, 10);
      every += !every;
    } else {
      right &= run_file(argv[i]);
    }
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed || !right;
}

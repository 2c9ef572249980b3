/* Kernels in OpenCL C as strangers write them: mx's compiled code, its interpreter and PoCL, launched with the same
 * data. One case a process; the script `run` makes a table of all.
 *   foreign --list                        NAME|FILE|ENTRY|OPTIONS for each case: what the PTX is made from
 *   foreign --pocl                        status 0: there is PoCL
 *   foreign [OPTIONS] FOLDER CASE         one line of results, fields separated by tabs, as main() prints it; details
 *   on stderr
 * FOLDER has src/ and ptx/. Options: --jitc FILE, --threads N, --rounds N (of compiled code and PoCL), --interp N (of
 * the interpreter, at least one), --no-pocl. */
#include "foreign.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct foreign_name *named(const char *name) {
  const struct foreign_name *const all[] = {foreign_grids, foreign_lists};
  for (int l = 0; l < 2; l++)
    for (const struct foreign_name *c = all[l]; c->name; c++)
      if (!strcmp(c->name, name)) return c;
  return NULL;
}
static int list(void) {
  const struct foreign_name *const all[] = {foreign_grids, foreign_lists};
  for (int l = 0; l < 2; l++)
    for (const struct foreign_name *c = all[l]; c->name; c++) {
      memset(&it, 0, sizeof it);
      c->make();
      printf("%s|%s|%s|%s\n", c->name, it.file, it.entry, it.options);
      for (int b = 0; b < it.nbuffers; b++) free(it.buffer[b].init);
    }
  return 0;
}

static double ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
struct foreign_time foreign_now(void) {
  return (struct foreign_time){ms(CLOCK_MONOTONIC), ms(CLOCK_PROCESS_CPUTIME_ID)};
}
char *foreign_text(const char *folder, const char *name, const char *suffix, size_t *size) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
  FILE *f = fopen(path, "rb");
  enum { ROOM = 1 << 20 };
  char *text = f ? calloc(1, ROOM) : NULL;
  *size = text ? fread(text, 1, ROOM - 1, f) : 0;
  if (f) fclose(f);
  return text;
}

static void check(const char *who, const char *error) {
  if (!error) return;
  printf("FAILED\t%s: %s\n", who, error);
  exit(1);
}

/* ---- comparing --------------------------------------------------------------------------------------------*/
/* Elements that differ; `exact`: by a bit, else by more than the buffer's tolerance. */
static size_t differ(const char *who, void *const *mine, void *const *other, bool exact) {
  size_t bad = 0;
  for (int b = 0; b < it.nbuffers; b++) {
    const struct foreign_buffer *u = &it.buffer[b];
    if (u->mode != FOREIGN_OUT) continue;
    const size_t width = u->bytes / u->n;
    size_t here = 0;
    for (size_t k = 0; k < u->n; k++) {
      if (!memcmp((char *)mine[b] + k * width, (char *)other[b] + k * width, width)) continue;
      if (!exact && (u->type == F32 || u->type == F64)) {
        const double x = u->type == F32 ? ((float *)mine[b])[k] : ((double *)mine[b])[k];
        const double y = u->type == F32 ? ((float *)other[b])[k] : ((double *)other[b])[k];
        if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= u->tolerance * fmax(1e-3, fmax(fabs(x), fabs(y))))
          continue;
      }
      if (!here++) fprintf(stderr, "%s: buffer %d, element %zu\n", who, b, k);
    }
    if (here) fprintf(stderr, "%s: buffer %d: %zu of %zu differ\n", who, b, here, u->n);
    bad += here;
  }
  return bad;
}
static void read_all(void **to, void (*read)(int buffer, void *to)) {
  for (int b = 0; b < it.nbuffers; b++) {
    to[b] = malloc(it.buffer[b].bytes);
    if (!to[b]) abort();
    read(b, to[b]);
  }
}

static struct foreign_time least(struct foreign_time x, struct foreign_time y) {
  return (struct foreign_time){fmin(x.wall, y.wall), fmin(x.cpu, y.cpu)};
}

int main(int argc, char **argv) {
  static const struct option longs[] = {
      {"list", 0, 0, 'l'},   {"pocl", 0, 0, 'p'},   {"jitc", 1, 0, 'j'},    {"threads", 1, 0, 't'},
      {"rounds", 1, 0, 'r'}, {"interp", 1, 0, 'i'}, {"no-pocl", 0, 0, 'n'}, {0}};
  const char *compiler = NULL;
  unsigned threads = 2;
  int rounds = 15, interp = 3;
  bool pocl = true;
  for (int o; (o = getopt_long(argc, argv, "", longs, NULL)) != -1;) switch (o) {
    case 'l': return list();
    case 'p': return !pocl_there();
    case 'j': compiler = optarg; break;
    case 't': threads = (unsigned)atoi(optarg); break;
    case 'r': rounds = atoi(optarg); break;
    case 'i': interp = atoi(optarg); break;
    case 'n': pocl = false; break;
    default: return 2;
    }
  const struct foreign_name *c = argc - optind == 2 ? named(argv[optind + 1]) : NULL;
  if (!c || interp < 1) return fprintf(stderr, "usage: foreign [OPTIONS] FOLDER CASE; see main.c\n"), 2;
  const char *folder = argv[optind];
  c->make();

  struct foreign_time jit = {INFINITY, INFINITY}, inter = jit, other = jit, took;
  struct foreign_stats compiled = {0}, s;
  void *mine[FOREIGN_BUFFERS], *plain[FOREIGN_BUFFERS], *theirs[FOREIGN_BUFFERS];
  check("mx", mx_open(folder, c->name, compiler, threads));
  mx_fill(true);
  check("compiled", mx_go(true, &took, &compiled));
  read_all(mine, mx_read);
  mx_fill(false);
  check("interpreted", mx_go(false, &took, &s));
  read_all(plain, mx_read);
  const size_t wrong = differ("compiled and interpreted", mine, plain, true);
  size_t unlike = 0;
  if (pocl) {
    check("PoCL", pocl_open(folder));
    pocl_fill(true);
    check("PoCL", pocl_go(&took));
    read_all(theirs, pocl_read);
    unlike = differ("mx and PoCL", mine, theirs, false);
  }
  for (int r = 0; r < rounds; r++) { /* in turns, so that whatever else the machine does meets all */
    mx_fill(false);
    check("compiled", mx_go(true, &took, &s));
    jit = least(jit, took);
    if (pocl) {
      pocl_fill(false);
      check("PoCL", pocl_go(&took));
      other = least(other, took);
    }
    if (r >= interp) continue;
    struct foreign_stats ignored;
    mx_fill(false);
    check("interpreted", mx_go(false, &took, &ignored));
    inter = least(inter, took);
  }
  if (!pocl) other = (struct foreign_time){0};
  printf("ok\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.0f\t%.2f\t%s\t%zu\t%zu\n", jit.wall, jit.cpu, inter.wall, inter.cpu,
         other.wall, other.cpu, compiled.compile_ms, s.steps ? 100.0 * (double)s.compiled / (double)s.steps : 0,
         *s.exits ? s.exits : "-", wrong, unlike);
  return wrong || unlike;
}

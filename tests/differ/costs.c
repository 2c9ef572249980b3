/* What compiling an instruction costs, for each row of the table: processor time of mx-jitc for a chain of a hundred of
 * them, less that for an empty program. All lanes have values of their own. Rows that only the interpreter does cost
 * what leaving for its body costs. */
#include "programs.h"

#include "core/isa.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHAIN = 100, TIMES = 2 };

/* Milliseconds, the least of some times; negative: it failed. */
static double compile(const char *jitc, const char *level, const char *module, const char *object) {
  double least = -1;
  for (int t = 0; t < TIMES; t++) {
    const pid_t p = fork();
    if (p < 0) return -1;
    if (!p) {
      execl(jitc, jitc, "--level", level, "-o", object, module, "differ", (char *)NULL);
      _exit(127);
    }
    int status;
    struct rusage u;
    if (wait4(p, &status, 0, &u) != p || !WIFEXITED(status) || WEXITSTATUS(status)) return -1;
    const double ms = 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                      1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    if (least < 0 || ms < least) least = ms;
  }
  return least;
}
static double chain(const char *jitc, const char *level, unsigned op, unsigned n, const char *module,
                    const char *object) {
  size_t size;
  uint8_t *bytes = differ_chain(op, n, &size);
  FILE *f = bytes ? fopen(module, "wb") : NULL;
  const bool good = f && fwrite(bytes, 1, size, f) == size;
  if (f) fclose(f);
  free(bytes);
  return good ? compile(jitc, level, module, object) : -1;
}

struct cost {
  unsigned op;
  double ms;
};
static int dearer(const void *a, const void *b) {
  const double x = ((const struct cost *)a)->ms, y = ((const struct cost *)b)->ms;
  return x < y ? 1 : x > y ? -1 : 0;
}

int differ_costs(const char *jitc, const char *level, const char *row) {
  char folder[] = "/tmp/mx-costs-XXXXXX", module[64], object[64];
  if (!mkdtemp(folder)) return 4;
  snprintf(module, sizeof module, "%s/chain.mxb", folder);
  snprintf(object, sizeof object, "%s/chain.so", folder);
  static struct cost cost[MX_OP_COUNT];
  unsigned n = 0, failed = 0;
  const double empty = chain(jitc, level, MX_ADD_U32, 0, module, object);
  for (unsigned op = 0; op < MX_OP_COUNT && empty >= 0; op++) {
    size_t size;
    uint8_t *bytes = row && strcmp(mx__ops[op].id, row) ? NULL : differ_chain(op, 1, &size);
    if (!bytes) continue;
    free(bytes);
    const double ms = chain(jitc, level, op, CHAIN, module, object);
    if (ms < 0) printf("%s: not compiled\n", mx__ops[op].id), failed++;
    else cost[n++] = (struct cost){op, (ms - empty) / CHAIN};
  }
  qsort(cost, n, sizeof *cost, dearer);
  for (unsigned k = 0; k < n; k++)
    printf("%8.3f ms  %-18s %s\n", cost[k].ms, mx__ops[cost[k].op].id, mx__ops[cost[k].op].spelling);
  if (n)
    printf("%s: %u rows, median %.3f ms, dearest %.3f ms (%s)\n", level, n, cost[n / 2].ms, cost[0].ms,
           mx__ops[cost[0].op].id);
  remove(module), remove(object), remove(folder);
  return empty < 0 || failed || !n;
}

/* ---- statements ------------------------------------------------------------------------------------------------*/
/* differ --statements --jitc PATH: what compiling costs grows with the statements that gcc gets, and these, unlike
 * times, are the same each time. */
static long statements(const char *jitc, const char *level, unsigned op, unsigned n, const char *module,
                       const char *object) {
  size_t size;
  uint8_t *bytes = differ_chain(op, n, &size);
  FILE *f = bytes ? fopen(module, "wb") : NULL;
  const bool good = f && fwrite(bytes, 1, size, f) == size;
  if (f) fclose(f);
  free(bytes);
  if (!good) return -1;
  char command[512], line[4096];
  snprintf(command, sizeof command, "'%s' -O 0 --level %s --large 0 --dump --asm -o '%s' '%s' differ 2>&1", jitc, level,
           object, module);
  FILE *dump = popen(command, "r");
  long count = 0;
  while (dump && fgets(line, sizeof line, dump)) {
    const size_t length = strlen(line);
    count += length > 1 && line[length - 2] == ';';
  }
  return dump && !pclose(dump) ? count : -1;
}
/* For each instruction, in a chain of them, with slots in memory: a row of the table for each way of building. */
static const struct ceiling {
  unsigned op;
  const char *level;
  double most;
} ceilings[] = {
    {MX_ADD_U32, "v3", 3},       {MX_ADD_U64, "v3", 5},  {MX_FMA_F32, "v3", 4},       {MX_FMA_F64, "v3", 15},
    {MX_MUL_WIDE_S32, "v3", 17}, {MX_SETP_S32, "v3", 3}, {MX_MIN_S32, "v3", 5},       {MX_LOP3, "v3", 3},
    {MX_DIV_F32, "v3", 3},       {MX_DIV_U64, "v3", 7},  {MX_FMA_F16X2, "v3", 3},     {MX_SHFL_32, "v3", 27},
    {MX_LD_B32, "v3", 19},       {MX_ST_B32, "v3", 19},  {MX_ATOM_ADD_U32, "v3", 14}, {MX_FMA_F64, "v4", 15},
    {MX_SHFL_32, "v4", 27},      {MX_LD_B32, "v4", 19},
};
int differ_statements(const char *jitc) {
  enum { SHORT = 4, LONG = 24 };
  char folder[] = "/tmp/mx-costs-XXXXXX", module[64], object[64];
  if (!mkdtemp(folder)) return 4;
  snprintf(module, sizeof module, "%s/chain.mxb", folder);
  snprintf(object, sizeof object, "%s/chain.s", folder);
  unsigned passed = 0, failed = 0;
  for (size_t k = 0; k < sizeof ceilings / sizeof *ceilings; k++) {
    const struct ceiling *c = &ceilings[k];
    const long less = statements(jitc, c->level, c->op, SHORT, module, object),
               more = statements(jitc, c->level, c->op, LONG, module, object);
    const double each = (double)(more - less) / (LONG - SHORT);
    const bool good = less > 0 && more > less && each <= c->most;
    printf("%s %8.1f statements, at most %6.1f  %s %s\n", good ? "passed" : "FAILED", each, c->most, c->level,
           mx__ops[c->op].id);
    if (good) passed++;
    else failed++;
  }
  printf("%u passed, %u failed\n", passed, failed);
  remove(module), remove(object), remove(folder);
  return failed != 0;
}

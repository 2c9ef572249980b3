/* Speed of the guides' functions: a lane's time in the body that the interpreter runs, at one CPU level, in turns with
 *   - the mathematical functions: a plain loop over glibc's function, and SLEEF's `finz` form called directly at that
 *     level;
 *   - other operations: a loop over arrays that the compiler vectorised for the best level (native.c).
 * Usage: bench-intrinsics [LEVEL]. Times are the shortest of many short runs. Ratios are mx's time by the other's. */
#include "tests/bench-intrinsics/native.h"

#include "asm/common/arena.h"
#include "asm/front/select.h"
#include "vm/exec/exec.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 200, REPEATS = 64, SLOTS = 8, SLOT = 2 * LANES * 8 };

static struct mx_exec x;
static const struct mx_level *level;
static _Alignas(64) unsigned char frame[SLOTS * SLOT], array[SLOTS][SLOT];

/* ---- contestants ----------------------------------------------------------------------------------------*/
struct contestant {
  void (*run)(const struct contestant *c);
  const struct mx_insn *insn;
  const struct native *native;
  void *function;
  double best;
};

static void run_body(const struct contestant *c) { c->insn->fn(&x, c->insn); }
static void run_native(const struct contestant *c) { c->native->run(array[0], array[1], array[2], array[3]); }
static void run_glibc_f32_1(const struct contestant *c) {
  float (*f)(float), *r = (float *)array[0], *a = (float *)array[1];
  memcpy(&f, &c->function, sizeof f);
  for (int l = 0; l < LANES; l++) r[l] = f(a[l]);
}
static void run_glibc_f32_2(const struct contestant *c) {
  float (*f)(float, float), *r = (float *)array[0], *a = (float *)array[1], *b = (float *)array[2];
  memcpy(&f, &c->function, sizeof f);
  for (int l = 0; l < LANES; l++) r[l] = f(a[l], b[l]);
}
static void run_glibc_f64_1(const struct contestant *c) {
  double (*f)(double), *r = (double *)array[0], *a = (double *)array[1];
  memcpy(&f, &c->function, sizeof f);
  for (int l = 0; l < LANES; l++) r[l] = f(a[l]);
}
static void run_glibc_f64_2(const struct contestant *c) {
  double (*f)(double, double), *r = (double *)array[0], *a = (double *)array[1], *b = (double *)array[2];
  memcpy(&f, &c->function, sizeof f);
  for (int l = 0; l < LANES; l++) r[l] = f(a[l], b[l]);
}

/* SLEEF's functions of one and of two vectors of `bytes`. */
#define SLEEF(bytes_, target_) \
  typedef double vector##bytes_ __attribute__((vector_size(bytes_))); \
  target_ static void run_sleef_##bytes_##_1(const struct contestant *c) { \
    vector##bytes_ (*f)(vector##bytes_), *r = (void *)array[0], *a = (void *)array[1]; \
    memcpy(&f, &c->function, sizeof f); \
    for (int l = 0; l < (int)c->insn->index; l++) r[l] = f(a[l]); \
  } \
  target_ static void run_sleef_##bytes_##_2(const struct contestant *c) { \
    vector##bytes_ (*f)(vector##bytes_, vector##bytes_), *r = (void *)array[0], *a = (void *)array[1], \
                                                         *b = (void *)array[2]; \
    memcpy(&f, &c->function, sizeof f); \
    for (int l = 0; l < (int)c->insn->index; l++) r[l] = f(a[l], b[l]); \
  }
#if defined __x86_64__
SLEEF(32, __attribute__((target("avx2"))))
SLEEF(64, __attribute__((target("avx512f"))))
#endif

/* Runs all in turns; c[k].best: nanoseconds a lane. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static void race(struct contestant *c, unsigned n) {
  for (unsigned k = 0; k < n; k++) c[k].best = INFINITY;
  for (int round = 0; round < ROUNDS; round++)
    for (unsigned k = 0; k < n; k++) {
      if (!c[k].run) continue;
      const double start = now();
      for (int i = 0; i < REPEATS; i++) c[k].run(&c[k]);
      c[k].best = fmin(c[k].best, (now() - start) / (REPEATS * LANES));
    }
}

/* ---- the instruction and its operands --------------------------------------------------------------------*/
static struct mx_insn instruction(unsigned op, unsigned mod) {
  struct mx_insn i = {.fn = level->unguarded[op],
                      .op = (uint16_t)op,
                      .mod = (uint8_t)mod,
                      .guard = MX_GUARD_NONE,
                      .nopnds = mx__ops[op].nopnds};
  for (int k = 0; k < 7; k++) i.o[k] = k * SLOT;
  return i;
}

static double random01(void) { return (double)random() / 2147483648.0; }

/* Operand k, of a type, in the frame and, packed, in the array: numbers within the function's domain, or any bits. */
static void fill(int k, unsigned type, double low, double high) {
  const unsigned bits = mx__types[type].bits;
  for (int l = 0; l < LANES; l++) {
    const double v = low + (high - low) * random01();
    const float f = (float)v;
    uint32_t w = (uint32_t)random() * 2u;
    uint64_t u = (uint64_t)random() << 33 ^ (uint64_t)random();
    if (type == MX_T_f32) memcpy(&w, &f, sizeof w);
    if (type == MX_T_f64) memcpy(&u, &v, sizeof u);
    if (type == MX_T_s32) w = (uint32_t)(int32_t)v;
    if (type == MX_T_s64) u = (uint64_t)(int64_t)v;
    if (bits == 16) w = (w >> 8 & 0xFFF) | 0x3000; /* a number of either format */
    if (type == MX_T_f16x2 || type == MX_T_bf16x2) w = (w >> 3 & 0x0FFF0FFF) | 0x30003000;
    if (bits == 64) ((uint64_t *)(frame + k * SLOT))[l] = ((uint64_t *)array[k])[l] = u;
    else ((uint32_t *)(frame + k * SLOT))[l] = w;
    if (bits == 32) ((uint32_t *)array[k])[l] = w;
    if (bits == 16) ((uint16_t *)array[k])[l] = (uint16_t)w;
  }
}

/* ---- mathematical functions ----------------------------------------------------------------------------*/
static const struct {
  const char *name;
  double low, high;
} domains[] = {{"acos", -1, 1},      {"asin", -1, 1},   {"atanh", -1, 1}, {"erfinv", -1, 1},   {"acosh", 1, 100},
               {"cos", -30, 30},     {"sin", -30, 30},  {"tan", -30, 30}, {"sincos", -30, 30}, {"exp", -20, 20},
               {"exp2", -20, 20},    {"exp10", -8, 8},  {"expm1", -5, 5}, {"tanh", -3, 3},     {"sinh", -10, 10},
               {"cosh", -10, 10},    {"log", 0, 100},   {"log2", 0, 100}, {"log10", 0, 100},   {"erfcinv", 0, 2},
               {"normcdfinv", 0, 1}, {"normcdf", -5, 5}};

static void *sleef(const char *name, bool wide) {
  static const char *const errors[] = {"u05", "u10", "u15", "u35"};
  const bool best = !strcmp(level->name, "v4");
  if (!best && strcmp(level->name, "v3")) return NULL;
  for (unsigned k = 0; k < sizeof errors / sizeof *errors; k++) {
    char symbol[96];
    snprintf(symbol, sizeof symbol, "Sleef_finz_%s%s%s_%s%s", name, wide ? "d" : "f",
             best   ? wide ? "8" : "16"
             : wide ? "4"
                    : "8",
             errors[k], best ? "avx512f" : "avx2");
    void *f = dlsym(RTLD_DEFAULT, symbol);
    if (f) return f;
  }
  return NULL;
}

static void measure_function(unsigned op) {
  const struct mx_op_info *row = &mx__ops[op];
  char name[32], base[32];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(row->spelling, "["), row->spelling);
  const unsigned type = row->opnd[0].type, inputs = row->nopnds - 1u;
  const bool wide = type == MX_T_f64;
  snprintf(base, sizeof base, "%.*s", (int)strlen(name) - !wide, name);
  double low = 0.1, high = 5;
  for (unsigned k = 0; k < sizeof domains / sizeof *domains; k++)
    if (!strcmp(domains[k].name, base)) low = domains[k].low, high = domains[k].high;
  for (unsigned k = 0; k < row->nopnds; k++) fill((int)k, row->opnd[k].type, low, high);
  struct mx_insn i = instruction(op, 0);
  struct contestant c[3] = {{run_body, &i, NULL, NULL, 0}};
  bool uniform = row->opnd[1].role == MX_IN;
  for (unsigned k = 1; k < row->nopnds; k++) uniform &= row->opnd[k].type == type;
  if (uniform && inputs <= 2) {
    c[1] = (struct contestant){NULL, &i, NULL, dlsym(RTLD_DEFAULT, name), 0};
    if (c[1].function)
      c[1].run = wide          ? inputs == 1 ? run_glibc_f64_1 : run_glibc_f64_2
                 : inputs == 1 ? run_glibc_f32_1
                               : run_glibc_f32_2;
    c[2] = (struct contestant){NULL, &i, NULL, sleef(base, wide), 0};
#if defined __x86_64__
    const bool best = !strcmp(level->name, "v4");
    i.index = (uint32_t)(LANES * (wide ? 8 : 4) / (best ? 64 : 32)); /* vectors that the direct call takes */
    if (c[2].function)
      c[2].run = best ? inputs == 1 ? run_sleef_64_1 : run_sleef_64_2 : inputs == 1 ? run_sleef_32_1 : run_sleef_32_2;
#endif
  }
  race(c, 3);
  char glibc[16] = "-", direct[16] = "-";
  if (c[1].run) snprintf(glibc, sizeof glibc, "%.2f", c[0].best / c[1].best);
  if (c[2].run) snprintf(direct, sizeof direct, "%.2f", c[0].best / c[2].best);
  printf("%-16s %9.2f %9s %9s\n", name, c[0].best, glibc, direct);
}

/* ---- other operations ------------------------------------------------------------------------------------*/
static void measure_operation(struct select *s, const struct native *n) {
  const struct row_match *rows;
  const unsigned count = mx__select_rows(s, n->instruction, false, &rows);
  unsigned k = 0;
  while (k < count && mx__types[rows[k].row->opnd[1].type].bits != n->in) k++;
  if (k == count || rows[k].op >= MX_OP_COUNT) {
    printf("%-16s is no instruction\n", n->instruction);
    return;
  }
  for (unsigned o = 0; o < rows[k].row->nopnds; o++) fill((int)o, rows[k].row->opnd[o].type, -1000, 1000);
  const struct mx_insn i = instruction(rows[k].op, rows[k].mod);
  struct contestant c[2] = {{run_body, &i, NULL, NULL, 0}, {run_native, &i, n, NULL, 0}};
  race(c, 2);
  printf("%-16s %9.3f %9.3f %9.2f\n", n->instruction, c[0].best, c[1].best, c[0].best / c[1].best);
}

int main(int argc, char **argv) {
  level = mx__level(argc > 1 ? argv[1] : NULL);
  if (!level) return fprintf(stderr, "bench-intrinsics: this machine has no level %s\n", argv[1]), 1;
  x.base[0] = frame;
  x.lanes = LANES;
  x.mask = x.full = ~0ull;
  printf("level %s, nanoseconds a lane; ratios: mx's time by the other's\n\n%-16s %9s %9s %9s\n", level->name,
         "function", "mx", "/glibc", "/SLEEF");
  static const unsigned functions[] = {
#define OP(...)
#define OPF(id_, ...) MX_##id_,
#include "core/ops/derived.h"
#include "core/ops/math.def"
#undef OP
#undef OPF
  };
  for (unsigned k = 0; k < sizeof functions / sizeof *functions; k++)
    if (mx__ops[functions[k]].spelling[0] != '{' && mx__ops[functions[k]].spelling[0] != '<')
      measure_function(functions[k]);
  printf("\n%-16s %9s %9s %9s\n", "operation", "mx", "native", "ratio");
  jmp_buf oom;
  struct mx_arena arena = {.oom = &oom};
  if (setjmp(oom)) return fprintf(stderr, "bench-intrinsics: out of memory\n"), 4;
  struct select *s = mx__select_new(&arena, LANES);
  for (unsigned k = 0; k < native_count; k++) measure_operation(s, &natives[k]);
  mx__arena_free(&arena);
}

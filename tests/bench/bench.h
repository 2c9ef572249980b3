/* What the contestants of a benchmark share: the data, a row for each kernel, and how a contestant is asked to run one.
 * A contestant keeps its own copy of the data, so that all of them do the same work on the same values. */
#ifndef MX_TESTS_BENCH_H
#define MX_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { BENCH_ARGS = 6, BENCH_MAX_ROUNDS = 101 };

/* ---- the data, as long as `n` says (work.c) ------------------------------------------------------------*/
enum bench_buffer {
  BENCH_A,
  BENCH_B,
  BENCH_C,
  BENCH_D,
  BENCH_ROWS,
  BENCH_COLUMNS,
  BENCH_WORDS,
  BENCH_KEYS,  /* a quarter of the words, to be sorted in place */
  BENCH_CHAIN, /* zeros before and after each scan */
  BENCH_BUFFERS
};

struct bench_data {
  size_t n; /* floats in A to D, words; a square and a multiple of 65536 */
  size_t bytes[BENCH_BUFFERS];
  void *buffer[BENCH_BUFFERS];
};
bool bench_data_make(struct bench_data *data, size_t n);
void bench_data_free(struct bench_data *data);
size_t bench_side(size_t n); /* of the images and matrices of n elements */

/* ---- the kernels ---------------------------------------------------------------------------------------*/
struct bench_arg {
  enum {
    BENCH_END,
    BENCH_BUFFER,
    BENCH_INT,
    BENCH_FLOAT,
    BENCH_COUNT
  } kind;    /* COUNT: an int that only mx's text takes */
  int value; /* which buffer, or the number */
};
struct bench_work {
  const char *name; /* of the OpenCL kernel and of the row */
  const char *text; /* of mx's kernel and of the file that holds it */
  size_t items[2];  /* work items, over both dimensions */
  uint32_t block[2];
  double work; /* operations, up to a factor: what a time is divided by when sizes differ */
  enum bench_buffer result;
  size_t results; /* elements of the result buffer that count */
  bool integers;
  struct bench_arg arg[BENCH_ARGS];
};
enum { BENCH_FIRST = 8, BENCH_KERNELS = 13 };                      /* those that the interpreter is measured on; all */
void bench_works(struct bench_work work[BENCH_KERNELS], size_t n); /* the rows for data of that length */

/* A sum over the result's elements, weighted by their place where that is the same for all contestants: equal work
 * leaves equal sums, up to rounding. */
extern const uint32_t bench_sha_k[64]; /* SHA-256: the round constants, for both C contestants */
double bench_sum(const struct bench_work *work, const void *result);

/* ---- contestants ---------------------------------------------------------------------------------------*/
struct bench_contestant {
  char name[160];
  struct bench_data *data;
  struct bench_work work[BENCH_KERNELS];
  unsigned threads; /* 0: as many as there are processors */
  void *state;
  double (*run)(struct bench_contestant *c, int kernel);              /* milliseconds; negative: it cannot */
  bool (*read)(struct bench_contestant *c, int kernel, void *result); /* the result buffer, whole; may be NULL */
  double compile_ms[BENCH_KERNELS];                                   /* of mx-jitc, medians */
};
double bench_now(void); /* milliseconds */

/* Each opens one contestant; false, with the reason in `name`: it is not to be had here. */
bool bench_open_best(struct bench_contestant *c,
                     struct bench_data *data); /* C by hand, for x86-64-v4: not to be called elsewhere */
/* plain C, the kernels' own algorithms, built for a CPU level */
bool bench_open_plain_v2(struct bench_contestant *c, struct bench_data *data);
bool bench_open_plain_v3(struct bench_contestant *c, struct bench_data *data);
bool bench_open_plain_v4(struct bench_contestant *c, struct bench_data *data);
/* library: of the OpenCL entry points; source: the kernels' file; platform: part of its name, or NULL for any */
bool bench_open_opencl(struct bench_contestant *c, struct bench_data *data, const char *library, const char *source,
                       const char *platform);
/* folder: of the kernels in MX assembly; compiler: path of mx-jitc, NULL: the interpreter */
bool bench_open_mx(struct bench_contestant *c, struct bench_data *data, const char *folder, const char *compiler,
                   bool checked);                        /* checked: under all tools of mxrun check */
size_t bench_findings(const struct bench_contestant *c); /* of mx, checked */

/* Compiles all kernels of mx several times, into compile_ms; false: one could not be. */
bool bench_compiles(struct bench_contestant *c, const char *folder);

/* The kernels behind the first eight, by hand (best.c). */
extern void (*const bench_best[BENCH_KERNELS - BENCH_FIRST])(struct bench_data *data);

/* ---- a measurement (measure.c) -------------------------------------------------------------------------*/
enum bench_who { BENCH_JIT, BENCH_INTERP, BENCH_PLAIN, BENCH_BEST, BENCH_POCL, BENCH_OCLGRIND, BENCH_CONTESTANTS };
extern const char *const bench_who_name[BENCH_CONTESTANTS];

struct bench_figures {
  enum bench_who own; /* whose figures the others' are divided by */
  int kernels, rounds;
  bool open[BENCH_CONTESTANTS];
  char name[BENCH_CONTESTANTS][160];
  const char *kernel[BENCH_KERNELS];
  double ms[BENCH_CONTESTANTS][BENCH_KERNELS];    /* medians, scaled to the full work; 0: not measured */
  bool differs[BENCH_CONTESTANTS][BENCH_KERNELS]; /* its results are not those of `own` */
};
/* Runs the open contestants in turns. */
void bench_measure(struct bench_contestant *c, struct bench_figures *f);
/* How much longer e takes than `own`: geometric mean, and the least over the kernels; 0: nothing to compare. */
double bench_mean(const struct bench_figures *f, enum bench_who e);
double bench_worst(const struct bench_figures *f, enum bench_who e, int *kernel);
/* Prints the table; false: results differ. */
bool bench_table(const struct bench_figures *f);
void bench_json(FILE *out, const struct bench_figures *f); /* members of an object, without its braces */
double bench_median(double *values, int n);                /* sorts them */
void bench_settle(void); /* lets threads that still spin after their last piece of work come to rest */

/* ---- beyond steady speed (extras.c) --------------------------------------------------------------------*/
struct bench_extras {
  double scaling_jit[BENCH_KERNELS], scaling_plain[BENCH_KERNELS]; /* one thread's time over two threads' */
  double grid_us[3][12];                                           /* saxpy by number of blocks: mx-jit, PoCL, plain */
  int grids;
  double tierup_ms,
      tierup_steady_ms; /* process start to the first launch at 90 % of steady speed; that speed's launch */
  double cold_ms, warm_ms, steady_ms; /* a whole process that draws the Mandelbrot set; its launch when warm, alone */
  double peak_mib;                    /* of that process */
};
struct bench_paths {
  const char *root, *build;
  char self[512];
};
/* To be called first: a child's peak memory counts what its parent had when it was made. */
void bench_processes(const struct bench_paths *paths, struct bench_extras *x);
void bench_extras(struct bench_contestant *c, const struct bench_figures *f, struct bench_extras *x);
void bench_extras_print(const struct bench_figures *f, const struct bench_contestant *c, const struct bench_extras *x);
void bench_extras_json(FILE *out, const struct bench_figures *f, const struct bench_contestant *c,
                       const struct bench_extras *x);
/* The child of the tier-up measurement: launches until the speed is steady and prints what bench_extras reads. */
int bench_tierup_child(const char *folder, double started);

/* ---- plot.c: the ratios as bars ------------------------------------------------------------------------*/
bool bench_plot(const char *path, const struct bench_figures *f);

#endif

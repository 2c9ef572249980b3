/* What the contestants of a benchmark share: the data, a row for each kernel, and how a contestant is asked to run one.
 * A contestant keeps its own copy of the data, so that all of them do the same work on the same values. */
#ifndef MX_TESTS_BENCH_H
#define MX_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_ARGS = 6 };

/* ---- the data, as long as `n` says (work.c) ------------------------------------------------------------*/
enum bench_buffer { BENCH_A, BENCH_B, BENCH_C, BENCH_D, BENCH_ROWS, BENCH_COLUMNS, BENCH_WORDS, BENCH_BUFFERS };

struct bench_data {
  size_t n;                     /* floats in A to D, words; a multiple of 65536 */
  size_t bytes[BENCH_BUFFERS];
  void *buffer[BENCH_BUFFERS];
};
bool bench_data_make(struct bench_data *data, size_t n);
void bench_data_free(struct bench_data *data);

/* ---- the kernels ---------------------------------------------------------------------------------------*/
struct bench_arg {
  enum { BENCH_END, BENCH_BUFFER, BENCH_INT, BENCH_FLOAT, BENCH_COUNT } kind; /* COUNT: an int that only mx's text takes */
  int value; /* which buffer, or the number */
};
struct bench_work {
  const char *name;   /* of the OpenCL kernel and of the row */
  const char *text;   /* of mx's kernel and of the file that holds it */
  size_t items[2];    /* work items, over both dimensions */
  uint32_t block[2];
  double work;        /* operations, up to a factor: what a time is divided by when sizes differ */
  enum bench_buffer result;
  size_t results;     /* elements of the result buffer that count */
  bool integers;
  struct bench_arg arg[BENCH_ARGS];
};
enum { BENCH_KERNELS = 8 };
void bench_works(struct bench_work work[BENCH_KERNELS], size_t n); /* the rows for data of that length */

/* The sum over the result's elements: equal work leaves equal sums, up to rounding. */
double bench_sum(const struct bench_work *work, const void *result);

/* ---- contestants ---------------------------------------------------------------------------------------*/
struct bench_contestant {
  char name[160];
  struct bench_data *data;
  struct bench_work work[BENCH_KERNELS];
  void *state;
  double (*run)(struct bench_contestant *c, int kernel); /* milliseconds; negative: it cannot */
  bool (*read)(struct bench_contestant *c, int kernel, void *result); /* the result buffer, whole; may be NULL */
};
double bench_now(void); /* milliseconds */

/* Each opens one contestant; false, with the reason in `name`: it is not to be had here. */
bool bench_open_native(struct bench_contestant *c, struct bench_data *data);
/* library: of the OpenCL entry points; source: the kernels' file; platform: part of its name, or NULL for any */
bool bench_open_opencl(struct bench_contestant *c, struct bench_data *data, const char *library, const char *source,
                       const char *platform);
/* folder: of the kernels in MX assembly; compiler: path of mx-jitc, NULL: the interpreter */
bool bench_open_mx(struct bench_contestant *c, struct bench_data *data, const char *folder, const char *compiler);

#endif

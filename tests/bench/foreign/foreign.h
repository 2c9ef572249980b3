/* Kernels that strangers would write, on mx and on PoCL: what a case is, and the words that cases are written in.
 *
 * A case is a function that names its kernel by K(file in src/, entry, options of the OpenCL compiler), makes buffers,
 * names the arguments in order, and the launch. Buffers are numbers: B() makes one, of random values in [low, high),
 * rounded down where they are integers; out() marks it as a result, mut() as written but not to be compared. */
#ifndef MX_TESTS_BENCH_FOREIGN_H
#define MX_TESTS_BENCH_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FOREIGN_BUFFERS = 32, FOREIGN_ARGS = 40 };
enum foreign_type { F32, I32, F64, U8, U16, I64 };

struct foreign_buffer {
  void *init; /* what it holds before each launch */
  size_t n, bytes;
  enum foreign_type type;
  enum { FOREIGN_IN, FOREIGN_OUT, FOREIGN_WRITTEN } mode;
  double tolerance; /* relative, against PoCL: floats alone */
};
struct foreign_arg {
  enum { FOREIGN_BUFFER, FOREIGN_SCALAR, FOREIGN_LOCAL } kind;
  int buffer;
  size_t size;
  union {
    int i;
    float f;
    int64_t l;
    double d;
  } value;
};
struct foreign_case {
  const char *file, *entry, *options;
  unsigned dimensions;
  size_t grid[3], block[3];
  struct foreign_buffer buffer[FOREIGN_BUFFERS];
  int nbuffers;
  struct foreign_arg arg[FOREIGN_ARGS];
  int nargs;
};
extern struct foreign_case it; /* the one that is made */

struct foreign_name {
  const char *name;
  void (*make)(void);
};
extern const struct foreign_name foreign_grids[], foreign_lists[]; /* up to a name that is NULL */

/* ---- words (words.c) -----------------------------------------------------------------------------------*/
uint32_t rnd(void); /* the same numbers each time */
double uni(void);   /* in [0, 1) */
int B(enum foreign_type type, size_t n, double low, double high);
int out(int buffer);
int mut(int buffer);
float *fp(int buffer);
double *dp(int buffer);
int *ip(int buffer);
uint8_t *u8p(int buffer);
uint16_t *u16p(int buffer);
void K(const char *file, const char *entry, const char *options);
void P(int buffer);
void I(int v);
void F(float v);
void D(double v);
void L(int64_t v);
void S(size_t local_bytes);
void G1(size_t items, size_t block);
void G2(size_t items_x, size_t items_y, size_t block_x, size_t block_y);
/* A smooth picture with some noise, moved by (dx, dy). */
void scene(uint8_t *picture, int width, int height, double dx, double dy, double noise);

/* ---- contestants: milliseconds of wall and processor time of one launch of `it`; NULL or what went wrong --------*/
struct foreign_time {
  double wall, cpu;
};
struct foreign_time foreign_now(void);
char *foreign_text(const char *folder, const char *name, const char *suffix, size_t *size);

struct foreign_stats {
  uint64_t steps, compiled; /* instructions of warps; those in compiled code */
  double compile_ms;
  char exits[160]; /* out of compiled code, by reason */
};
const char *mx_open(const char *folder, const char *name, const char *compiler, unsigned threads);
const char *mx_go(bool compiled, struct foreign_time *took, struct foreign_stats *stats);
void mx_fill(bool all); /* buffers as they are before a launch: all, or those that launches write */
void mx_read(int buffer, void *to);

bool pocl_there(void);
const char *pocl_open(const char *folder);
const char *pocl_go(struct foreign_time *took);
void pocl_fill(bool all);
void pocl_read(int buffer, void *to);

#endif

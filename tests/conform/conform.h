/* One recorded function, and what the parts of the conformance test do with it. README.md says how files and names
 * read. */
#ifndef MX_TESTS_CONFORM_H
#define MX_TESTS_CONFORM_H

#include "tests/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_VALUES = 16, CASES = 3 };
struct signature {
  unsigned nin, nout;
  char in[MAX_VALUES][8], out[MAX_VALUES][8];
};

struct function {
  const char *file; /* without folders */
  char name[128];
  struct signature sig;
  bool ptx;         /* from a file of PTX instructions: registers hold bits, and the name alone says the types */
  bool warp;        /* 32 lines are a warp; inputs: value, lane operand, mask, width */
  uint64_t *values; /* of each line: inputs, outputs */
  uint8_t *open;    /* of each line of a warp's function: there is no defined value; else NULL */
  size_t lines, room;
  bool refused;  /* it could not be assembled or launched, after saying why */
  uint64_t *got; /* outputs, line by line */
  unsigned bad;
  char first[CASES][320];
  double worst;        /* approximations: the largest error, as a part of what is allowed, */
  char worst_text[64]; /* and in words */
};

/* files.c: reads a file (text, .bin, "-"); adds its functions. False: it cannot be read. only, every: as conform's
 * options. */
bool mx__read_vectors(const char *path, const char *only, unsigned every, struct function **fs, size_t *n);
/* instruction.c: one line of f: registers declared, inputs loaded from [%in], the instruction, outputs stored to
 * [%out]. %lane is the line's number, %cell a place in shared memory of its own. */
void mx__put_function(struct text *t, const struct function *f);
/* kernels.c: runs all through kernels; sets got or refused. */
struct how {
  bool jit;
  unsigned threads; /* 0: one for each processor */
};
bool mx__run_kernels(struct function *fs, size_t n, const struct how *how);
/* tiles.c: runs a file of matrix instructions; false: it is none, or it cannot be run. only, every: as conform's
 * options, of names. */
struct tally {
  unsigned passed, failed;
  size_t elements;
};
bool mx__run_tiles(const char *path, const char *only, unsigned every, const struct how *how, struct tally *n);
/* textures.c: the same of a file of textures or surfaces. */
bool mx__run_textures(const char *path, const char *only, unsigned every, const struct how *how, struct tally *n);
/* bounds.c: whether `got` will do; sets worst. */
bool mx__right(struct function *f, const uint64_t *in, const uint64_t *want, const uint64_t *got);
#endif

/* One recorded function: how its name maps to rows, and its recordings. Shared by the parts of the conformance test. */
#ifndef MX_TESTS_CONFORM_H
#define MX_TESTS_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_VALUES = 16 };
struct signature { unsigned nin, nout; char in[MAX_VALUES][8], out[MAX_VALUES][8]; };

/* A single row, or one of the compositions that README.md names. */
enum kind { MISSING, ROW, ATOMIC, SEQ4, CARRY_PAIR, CARRY_MAD, CARRY_CHAIN };
struct function {
  char name[128];
  struct signature sig;
  enum kind kind;
  int op[3];
  unsigned mod[3];
  unsigned nextra, extra_at; /* literals put among the inputs: a truth table, selectors; of an atomic, whether it subtracts */
  uint64_t extra[2];
  bool approximate;
  unsigned bad;
  char first[512];           /* the first difference */
  uint64_t *values;          /* of each recording: inputs, outputs */
  size_t lines, room;
};

/* Finds the rows of f->name (kind stays MISSING if there are none), as an assembler would: by spelling and operand
 * widths, but with a matcher of its own. */
void mx__resolve(struct function *f, const char *in, const char *out);
/* The outputs that the rows' meanings give. */
void mx__run_meaning(const struct function *f, const uint64_t *in, uint64_t *out);
/* The same through an assembled kernel for each function: got[k] is function k's outputs, line by line. False: it could
 * not be assembled or launched, after saying why. jit: with compiled code. */
bool mx__run_kernels(const struct function *fs, size_t n, bool jit, uint64_t **got);

#endif

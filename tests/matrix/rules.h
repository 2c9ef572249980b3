/* What matrix instructions compute, written a second time: docs/matrix.md's rules on exact numbers of any length (GMP,
 * MPFR). Knows nothing of the machine. */
#ifndef MATRIX_RULES_H
#define MATRIX_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct format {
  const char *name;
  unsigned bits, exponent, fraction;
  enum { FLOAT, SIGNED, UNSIGNED, BIT } kind;
};
extern const struct format f16, bf16, tf32, e4m3, e5m2, f32, f64, s8, u8, s4, u4, b1, s32;

enum rule {
  STEP,   /* one fused step over all of k */
  HALVES, /* two, of its first and second half */
  FP8,    /* two of f16 values from zero, then C */
  CHAIN,  /* fused multiply-adds of f64 */
  WHOLE,  /* integers */
  POPC_XOR,
  POPC_AND,
  QUAD /* four products by scalar instructions */
};
/* One element of D: a and b have k elements; everything as bits. rounding: MPFR's, of CHAIN. */
struct sum {
  enum rule rule;
  const struct format *a, *b, *c, *d;
  unsigned k;
  bool saturates;
  int rounding;
};
uint64_t exact_sum(const struct sum *s, const uint64_t *a, const uint64_t *b, uint64_t c);

#endif

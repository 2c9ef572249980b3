/* What tensor cores compute of f16 matrices with f32 sums, in plain C, one element after the other: docs/matrix.md's
 * rule as one would write it down, with nothing in vectors. */
#ifndef MATRIX_NATIVE_H
#define MATRIX_NATIVE_H

#include <stdint.h>

/* Rows `from` to `to` of C = A B, all n x n and row after row, by steps of 16. */
void exact_f16(const uint16_t *a, const uint16_t *b, float *c, unsigned n, unsigned from, unsigned to);

#endif

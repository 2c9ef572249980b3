/* Shapes of the lane functions that are not SLEEF's: written once in double precision, for both types; and their
 * polynomials by pieces. */
#ifndef MX_LANES_OWN_H
#define MX_LANES_OWN_H

#include "core/vocab.h"

/* The function of one operand: the last argument computes r from x, for `lanes` lanes. */
#define OWN1(name_, ...) \
  static void name_##_lanes(double *r, const double *x, unsigned lanes) __VA_ARGS__ void MX_FN(name_##_f64)( \
      MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    double r[MX_MAX_LANES]; \
    const double *x = a; \
    name_##_lanes(r, x, lanes); \
    for (unsigned l = 0; l < lanes; l++) { \
      const double A = x[l]; \
      r[l] = NAN_IS(A, NAN1(r[l])); \
    } \
    memcpy(d, r, lanes * sizeof r[0]); \
  } \
  void MX_FN(name_##_f32)(MX_FN_ARGS) { \
    (void)q, (void)b, (void)c, (void)e, (void)mod; \
    double r[MX_MAX_LANES], x[MX_MAX_LANES]; \
    float *to = d; \
    const float *from = a; \
    for (unsigned l = 0; l < lanes; l++) x[l] = from[l]; \
    name_##_lanes(r, x, lanes); \
    for (unsigned l = 0; l < lanes; l++) to[l] = CANON(f32, x[l] == x[l] ? (float)r[l] : (float)x[l]); \
  }

/* A table of tables_*.h at x, not negative: its first piece ends at low_, from where every binade has 2^bits_ pieces.
 * The result beyond the last piece means nothing. */
#define PIECE(table_, x_, low_, bits_) \
  mx__piece(table_[0], sizeof table_ / sizeof table_[0], sizeof table_[0] / sizeof(double), x_, low_, bits_)
MX__INL double mx__piece(const double *table, size_t rows, size_t pieces, double x, double low, unsigned bits) {
  const uint64_t k = (mx__raw_f64(x) >> (52 - bits)) - (mx__raw_f64(low) >> (52 - bits)) + 1;
  const size_t at = x >= low ? k < pieces ? k : pieces - 1 : 0;
  const double t = (x - table[at]) - table[pieces + at];
  double s = table[(rows - 1) * pieces + at];
  for (size_t j = rows - 2; j > 1; j--) s = FMA(f64, s, t, table[j * pieces + at]);
  return s;
}

#endif

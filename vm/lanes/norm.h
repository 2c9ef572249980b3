/* Roots of sums of squares: lane functions of a few operands, and the functions that read a vector from memory. An
 * infinite component makes the sum infinite whatever the others are. */
#ifndef MX_LANES_NORM_H
#define MX_LANES_NORM_H

#include "vm/lanes/vocab.h"

/* The sum of the squares of x[k] times 2^-2*exponent, as high + *low. */
MX__INL double mx__squares(const double *x, unsigned n, double *low, double *unit, bool *infinite) {
  double largest = 0, nan = 0;
  *infinite = false;
  for (unsigned k = 0; k < n; k++) {
    const double m = __builtin_fabs(x[k]);
    largest = m > largest ? m : largest;
    nan += x[k] - x[k] == 0 ? 0 : m - m;
    *infinite = *infinite | (m > 0x1.fffffffffffffp1023);
  }
  /* a power of two, between 2^-700 and 2^700, that brings the largest to where squares are safe and exact */
  const double scale = largest > 0x1p400 ? 0x1p-700 : largest < 0x1p-400 ? 0x1p700 : 1;
  double s = 0, t = 0;
  for (unsigned k = 0; k < n; k++) {
    const double v = x[k] * scale, h = v * v, l = FMA(f64, v, v, -h), z = s + h, w = z - s;
    t += (s - (z - w)) + (h - w) + l;
    s = z;
  }
  *unit = scale;
  *low = t;
  return s + nan;
}
MX__INL double mx__nan_of(const double *x, unsigned n, double r) {
  double first = r;
  for (unsigned k = n; k-- > 0;) first = x[k] != x[k] ? QUIET(x[k]) : first;
  return r == r ? r : first;
}
MX__INL double mx__norm(const double *x, unsigned n) {
  double low, unit;
  bool infinite;
  const double s = mx__squares(x, n, &low, &unit, &infinite), y = SQRT(f64, s);
  const double r = (s > 0 ? y + (FMA(f64, -y, y, s) + low) / (2 * y) : y) / unit;
  return infinite ? __builtin_inf() : mx__nan_of(x, n, r);
}
MX__INL double mx__rnorm(const double *x, unsigned n) {
  double low, unit;
  bool infinite;
  const double s = mx__squares(x, n, &low, &unit, &infinite), y = 1 / SQRT(f64, s);
  const double h = s * y, hl = FMA(f64, s, y, -h), rest = FMA(f64, -h, y, 1) - FMA(f64, low, y, hl) * y;
  const double r = (s > 0 ? FMA(f64, y * 0.5, rest, y) : y) * unit;
  return infinite ? 0 : mx__nan_of(x, n, r);
}
/* for components that are floats: their squares and sums need no care in double */
MX__INL double mx__norm_wide(const double *x, unsigned n) {
  double s = 0;
  bool infinite = false;
  for (unsigned k = 0; k < n; k++) s += x[k] * x[k], infinite = infinite | (__builtin_fabs(x[k]) > 0x1p128 - 1);
  return infinite ? __builtin_inf() : SQRT(f64, s);
}
MX__INL double mx__rnorm_wide(const double *x, unsigned n) { return 1 / mx__norm_wide(x, n); }

#endif

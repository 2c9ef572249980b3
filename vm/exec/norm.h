/* Roots of sums of squares: lane functions of a few operands, and the functions that read a vector from memory. An
 * infinite component makes the sum infinite whatever the others are. */
#ifndef MX_LANES_NORM_H
#define MX_LANES_NORM_H

#include "core/vocab.h"

/* Component k of a vector somewhere. */
typedef double mx__component(const void *vector, size_t k);
MX__INL double mx__double_at(const void *vector, size_t k) {
  double v;
  memcpy(&v, (const char *)vector + k * sizeof v, sizeof v);
  return v;
}
MX__INL double mx__float_at(const void *vector, size_t k) {
  float v;
  memcpy(&v, (const char *)vector + k * sizeof v, sizeof v);
  return v;
}

/* The sum of the squares of all components times *unit, as the result and *low. */
MX__INL double mx__squares(const void *x, size_t n, mx__component *at, double *low, double *unit, bool *infinite) {
  double largest = 0, nan = 0;
  *infinite = false;
  for (size_t k = 0; k < n; k++) {
    const double v = at(x, k), m = __builtin_fabs(v);
    largest = m > largest ? m : largest;
    nan += v - v == 0 ? 0 : m - m;
    *infinite = *infinite | (m > 0x1.fffffffffffffp1023);
  }
  /* a power of two, between 2^-700 and 2^700, that brings the largest to where squares are safe and exact */
  const double scale = largest > 0x1p400 ? 0x1p-700 : largest < 0x1p-400 ? 0x1p700 : 1;
  double s = 0, t = 0;
  for (size_t k = 0; k < n; k++) {
    const double v = at(x, k) * scale, h = v * v, l = FMA(f64, v, v, -h), z = s + h, w = z - s;
    t += (s - (z - w)) + (h - w) + l;
    s = z;
  }
  *unit = scale;
  *low = t;
  return s + nan;
}
/* r, or where that is a NaN the first component that is one */
MX__INL double mx__nan_of(const void *x, size_t n, mx__component *at, double r) {
  double first = r;
  for (size_t k = n; k-- > 0;) {
    const double v = at(x, k);
    first = v == v ? first : QUIET(v);
  }
  return r == r ? r : first;
}
MX__INL double mx__norm(const void *x, size_t n, mx__component *at) {
  double low, unit;
  bool infinite;
  const double s = mx__squares(x, n, at, &low, &unit, &infinite), y = SQRT(f64, s);
  const double r = (s > 0 ? y + (FMA(f64, -y, y, s) + low) / (2 * y) : y) / unit;
  return infinite ? __builtin_inf() : mx__nan_of(x, n, at, r);
}
MX__INL double mx__rnorm(const void *x, size_t n, mx__component *at) {
  double low, unit;
  bool infinite;
  const double s = mx__squares(x, n, at, &low, &unit, &infinite), y = 1 / SQRT(f64, s);
  const double h = s * y, hl = FMA(f64, s, y, -h), rest = FMA(f64, -h, y, 1) - FMA(f64, low, y, hl) * y;
  const double r = (s > 0 ? FMA(f64, y * 0.5, rest, y) : y) * unit;
  return infinite ? 0 : mx__nan_of(x, n, at, r);
}
/* Of floats: their squares and sums need no care in double. */
MX__INL double mx__norm_of_floats(const void *x, size_t n, mx__component *at) {
  double s = 0;
  bool infinite = false;
  for (size_t k = 0; k < n; k++) {
    const double v = at(x, k);
    s += v * v;
    infinite = infinite | (__builtin_fabs(v) > 0x1p128 - 1);
  }
  return infinite ? __builtin_inf() : SQRT(f64, s);
}

#endif

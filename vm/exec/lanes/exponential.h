/* e to the power of a sum of two doubles, as a number near 1 and a power of two, for functions whose own exponential
 * would overflow, be subnormal, or lose what the second double holds. Error below 0.53 units in the last place. */
#ifndef MX_LANES_EXPONENTIAL_H
#define MX_LANES_EXPONENTIAL_H

#include "core/vocab.h"

/* e^(x + rest) is the result times 2^*n; the result is near 1. x within +-1500, |rest| below 1e-3. */
MX__INL double mx__exp_parts(double x, double rest, double *n) {
  double k = __builtin_rint(x * 0x1.71547652b82fep+0);
  double r = FMA(f64, k, -0x1.62e42fefa3800p-1, x); /* exact */
  double low = FMA(f64, k, -0x1.ef35793c76730p-45, rest), t = r + low;
  low += r - t;
  double p = 0x1.6124613a86d09p-33;
  p = FMA(f64, p, t, 0x1.1eed8eff8d898p-29);
  p = FMA(f64, p, t, 0x1.ae64567f544e4p-26);
  p = FMA(f64, p, t, 0x1.27e4fb7789f5cp-22);
  p = FMA(f64, p, t, 0x1.71de3a556c734p-19);
  p = FMA(f64, p, t, 0x1.a01a01a01a01ap-16);
  p = FMA(f64, p, t, 0x1.a01a01a01a01ap-13);
  p = FMA(f64, p, t, 0x1.6c16c16c16c17p-10);
  p = FMA(f64, p, t, 0x1.1111111111111p-7);
  p = FMA(f64, p, t, 0x1.5555555555555p-5);
  p = FMA(f64, p, t, 0x1.5555555555555p-3);
  p = FMA(f64, p, t, 0.5);
  *n = k;
  return 1 + (t + FMA(f64, p, t * t, low));
}
/* 2^n for n from -1022 to 1023 */
MX__INL double mx__exp2_whole(double n) { return mx__of_f64((uint64_t)(int64_t)(n + 1023) << 52); }
/* x times 2^n, |n| up to 2000, rounded once (x near 1) */
MX__INL double mx__scale(double x, double n) {
  double half = __builtin_floor(n * 0.5);
  return x * mx__exp2_whole(half) * mx__exp2_whole(n - half);
}

#endif

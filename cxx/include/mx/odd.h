/* Rounding to odd, for the host: a number as the nearest float towards zero, whose last bit is set if that is not
 * exact. Rounding such a float to a 16-bit type gives the same as rounding the number itself, which the nearest float
 * does not always give. */
#ifndef MX_CXX_ODD_H
#define MX_CXX_ODD_H
#include "mx/keywords.h"

__MX_HOST float __mx_odd(double d) {
  const float f = (float)d;
  if (d != d || (double)f == d) return f;
  const unsigned u = __builtin_bit_cast(unsigned, f);
  return __builtin_bit_cast(float, (__builtin_fabs((double)f) > __builtin_fabs(d) ? u - 1 : u) | 1);
}
__MX_HOST float __mx_odd(int i) { return __mx_odd((double)i); }
__MX_HOST float __mx_odd(unsigned int i) { return __mx_odd((double)i); }
/* From 2^53 on, the last 12 bits of a 64-bit integer only tell whether a float is exact: one bit can stand for them,
 * and what remains is exact as a double. */
__MX_HOST float __mx_odd(unsigned long long i) {
  return __mx_odd((double)(i >> 53 ? (i & ~0xFFFull) | (i & 0xFFF ? 0x800 : 0) : i));
}
__MX_HOST float __mx_odd(long long i) {
  return i < 0 ? -__mx_odd(0 - (unsigned long long)i) : __mx_odd((unsigned long long)i);
}
__MX_HOST float __mx_odd(unsigned long i) { return __mx_odd((unsigned long long)i); }
__MX_HOST float __mx_odd(long i) { return __mx_odd((long long)i); }

#endif

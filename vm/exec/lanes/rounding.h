/* The processor's rounding mode for the length of a lane loop. Loads and stores stay on their side of the fences, and
 * with them the arithmetic between; the caller's whole control word, flags included, comes back. */
#ifndef MX_LANES_ROUNDING_H
#define MX_LANES_ROUNDING_H

/* as the modifier digit {.rz|.rm|.rp} counts them; nearest last */
enum mx__rounding { MX__RZ, MX__RM, MX__RP, MX__RN };

#if defined __x86_64__
#include <xmmintrin.h>
static inline unsigned mx__set_rounding(unsigned mode) {
  static const unsigned bits[4] = {0x6000, 0x2000, 0x4000, 0};
  unsigned old = _mm_getcsr();
  __asm__ volatile("" ::: "memory");
  _mm_setcsr((old & ~0x6000u) | bits[mode]);
  __asm__ volatile("" ::: "memory");
  return old;
}
static inline void mx__restore_rounding(unsigned old) {
  __asm__ volatile("" ::: "memory");
  _mm_setcsr(old);
  __asm__ volatile("" ::: "memory");
}
#else
#include <fenv.h>
static inline unsigned mx__set_rounding(unsigned mode) {
  static const int modes[4] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
  unsigned old = (unsigned)fegetround();
  __asm__ volatile("" ::: "memory");
  fesetround(modes[mode]);
  __asm__ volatile("" ::: "memory");
  return old;
}
static inline void mx__restore_rounding(unsigned old) {
  __asm__ volatile("" ::: "memory");
  fesetround((int)old);
  __asm__ volatile("" ::: "memory");
}
#endif

#endif

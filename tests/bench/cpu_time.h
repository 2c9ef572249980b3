/* What small benchmarks have in common: processor time, and an end with a reason where a call fails. */
#ifndef MX_TESTS_BENCH_CPU_TIME_H
#define MX_TESTS_BENCH_CPU_TIME_H

#include "mx/mx.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Seconds of processor time that the whole process has taken. */
static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* Unless `good`: the program ends, and says what failed and why. d: NULL, or the device that knows. */
static inline void need(mx_device *d, bool good, const char *what) {
  char *why = good || !d ? NULL : mx_last_error_text(d);
  if (!good) fprintf(stderr, "%s: %s\n", what, why ? why : "failed"), exit(1);
}

#endif

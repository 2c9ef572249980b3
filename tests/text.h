/* Text that grows as a test writes it. */
#ifndef MX_TESTS_TEXT_H
#define MX_TESTS_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct text {
  char *s; /* for the user to free */
  size_t n, room;
};
__attribute__((format(printf, 2, 3))) static inline void put(struct text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) abort();
  if (t->room - t->n <= (size_t)n && !(t->s = realloc(t->s, t->room = 2 * t->room + (size_t)n + 4096))) abort();
  va_start(args, format);
  t->n += (size_t)vsnprintf(t->s + t->n, t->room - t->n, format, args);
  va_end(args);
}

#endif

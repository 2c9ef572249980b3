/* format.h says what this does. */
#include "format.h"

#include <stdarg.h>
#include <stdio.h>

char *mx__format(const char *fmt, ...) {
  char *s = NULL;
  va_list ap;
  va_start(ap, fmt);
  if (vasprintf(&s, fmt, ap) < 0) s = NULL;
  va_end(ap);
  return s;
}

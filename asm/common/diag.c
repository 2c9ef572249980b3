/* Diagnostics of one assembly: collected while it runs, at most MOST of them. Separate from the printing, which is a
 * public function (assemble.c), because front and back both report here. Knows no source text. */
#include "diag.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST = 500 }; /* more errors than anybody reads: hostile or binary input */

void mx__diag(struct mx_diags *d, enum mx_diag_level level, const char *id, struct ir_loc loc, const char *hint,
              const char *fmt, ...) {
  if (level == MX_DIAG_ERROR) d->errors++;
  if (d->count >= MOST) return;
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *text = mx__arena_alloc(d->arena, (size_t)(n < 0 ? 0 : n) + 1);
  if (n > 0) vsnprintf(text, (size_t)n + 1, fmt, again);
  va_end(again);
  if (d->count == d->capacity) {
    size_t capacity = d->capacity ? d->capacity * 2 : 16;
    d->list = mx__arena_grow(d->arena, d->list, d->count * sizeof *d->list, capacity * sizeof *d->list);
    d->capacity = capacity;
  }
  d->list[d->count++] = (struct mx_diag){.level = (uint8_t)level, .id = id, .text = text, .hint = hint, .loc = loc};
}

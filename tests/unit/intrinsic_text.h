/* Text in which the rows of intrinsics.def are used: for their test, and as what fuzzing starts from. */
#ifndef MX_TESTS_INTRINSIC_TEXT_H
#define MX_TESTS_INTRINSIC_TEXT_H

#include "core/intrinsics.h"
#include "tests/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The spelling with alternative `pick` of each group (the last one if there are fewer), optional suffixes if asked. */
static void put_spelling(struct text *t, const char *p, unsigned pick, bool suffix) {
  while (*p) {
    size_t n = strcspn(p, "{<[");
    put(t, "%.*s", (int)n, p);
    p += n;
    if (!*p) return;
    const char open = *p, *end = strpbrk(p, "}>]");
    if (open == '[') {
      if (suffix) put(t, "%.*s", (int)strcspn(p + 1, "|]"), p + 1);
      p = end + 1;
      continue;
    }
    for (unsigned k = 0; k < pick && memchr(p + 1, '|', (size_t)(end - p - 1)); k++) p += 1 + strcspn(p + 1, "|");
    put(t, "%.*s", (int)strcspn(p + 1, "|=}>"), p + 1);
    p = end + 1;
  }
}

/* A kernel of this one instruction, unguarded and guarded. */
static void put_kernel(struct text *t, const struct mx_intrinsic *i, unsigned number, unsigned pick, bool suffix) {
  put(t, ".entry k%u_%u() {\n.reg .pred %%on;\n", number, pick);
  for (unsigned k = 0; k < i->row.nopnds; k++)
    if (i->row.opnd[k].type < MX_T_raw) put(t, ".reg .%s %%o%u;\n", mx__types[i->row.opnd[k].type].name, k);
  for (int guarded = 0; guarded < 2; guarded++) {
    put(t, guarded ? "@%%on " : "");
    put_spelling(t, i->row.spelling, pick, suffix);
    for (unsigned k = 0; k < i->row.nopnds; k++) {
      const struct mx_opnd *o = &i->row.opnd[k];
      put(t, k && o->type != MX_T_off ? ", " : " ");
      if (o->vector && (!k || o[-1].vector != o->vector)) put(t, "{");
      if (k + 1 < i->row.nopnds && o[1].type == MX_T_off) put(t, "[%%o%u+8]", k);
      else if (o->type == MX_T_raw) put(t, "%u", mx__ranges[o->range].least ? mx__ranges[o->range].least : 1u);
      else if (o->type != MX_T_off) put(t, "%%o%u", k);
      if (o->vector && (k + 1 == i->row.nopnds || o[1].vector != o->vector)) put(t, "}");
    }
    put(t, ";\n");
  }
  put(t, "ret;\n}\n");
}

static bool of_lanes(const struct mx_intrinsic *i, int lanes) {
  return !(i->row.flags & (lanes == 32 ? MX_F_W64 : MX_F_W32));
}

#endif

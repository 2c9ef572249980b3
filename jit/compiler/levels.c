/* The CPU levels for which code can be made: each has a table of its own, and they share lanes.c. */
#include "lanes.h"

#include <string.h>

const struct jx_isa *jx_isa_named(const char *name) {
  static const struct jx_isa *const all[] = {&jx_v2, &jx_v3, &jx_v4};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (!strcmp(all[k]->name, name)) return all[k];
  return NULL;
}

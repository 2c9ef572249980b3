/* Makes a shared object of assembly. */
#ifndef MX_JITC_LINK_H
#define MX_JITC_LINK_H

#include <stdbool.h>

/* A file in memory, under a path that child processes can open. It goes away with the process. Functions that return
 * false have said on standard error why. */
struct jl_file {
  char path[24];
};
bool jl_file(struct jl_file *f, const char *name);

bool jl_link(const struct jl_file *assembly, const char *out);

#endif

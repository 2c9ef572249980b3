/* Makes a shared object of assembly. */
#ifndef MX_JITC_LINK_H
#define MX_JITC_LINK_H

#include <stdbool.h>

/* In memory, under a path that child processes can open too. It goes with the process. False, here and below: it has
 * been said on standard error why not. */
struct jl_file {
  char path[24];
};
bool jl_file(struct jl_file *f, const char *name);

bool jl_link(const struct jl_file *assembly, const char *out);

#endif

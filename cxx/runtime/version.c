/* Which version of the runtime a program was built for: the one in the name of the library that was loaded for it, one
 * of those that `mxrun exec` has. */
#include "rt.h"

#include <dlfcn.h>

bool rt_is_version_13(void) {
  void *l = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
  if (l) dlclose(l);
  return l != NULL;
}

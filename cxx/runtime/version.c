/* Which version of the runtime a program was built for: the library of that name is loaded for it (mxrun exec). */
#include "rt.h"

#include <dlfcn.h>

bool rt_is_version_13(void) {
  void *l = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
  if (l) dlclose(l);
  return l != NULL;
}

/* Registration of variables by the program's own initialisation code: in the table of registry.c, and, for managed
 * variables of programs that mxcc has built, also among the mirrors (mirrors.c), which find the device's copy by that
 * table. */
#include "rt.h"

void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int external, size_t size,
                       int constant, int global) {
  (void)address, (void)external, (void)constant, (void)global;
  rt_add_variable(handle, host, NULL, name, size);
  if (rt_is_managed_variable(host) && rt_mirror_add(host, size, true) == cudaSuccess)
    ((struct rt_image *)handle)->mirrored = true;
}

void __cudaRegisterManagedVar(void **handle, void **host, char *address, const char *name, int external, size_t size,
                              int constant, int global) {
  (void)address, (void)external, (void)constant, (void)global;
  rt_add_variable(handle, host, host, name, size);
}

/* Managed variables begin with the module's values, which the program may read before it calls anything. */
void __cudaRegisterFatBinaryEnd(void **handle) {
  struct rt_image *image = (struct rt_image *)handle;
  if (image->mirrored && !rt_image_is_part(image->data) && rt_current()) rt_mirrors_begin(rt_current());
}

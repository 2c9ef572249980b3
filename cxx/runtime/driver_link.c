/* The driver API's linker (cuLinkCreate and so on): PTX texts are joined into one, which cuModuleLoadData takes. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct linker {
  char **text;
  size_t *size, n;
  char *all, *log;
  size_t room;
};
enum { PTX = 1 }; /* of the kinds of input the one that is text */

CU(cuLinkCreate_v2, unsigned n, const CUjit_option *options, void **values, struct linker **out) {
  struct linker *l = out ? calloc(1, sizeof *l) : NULL;
  if (!l) return out ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
  for (unsigned k = 0; options && values && k < n; k++) {
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER) l->log = values[k];
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) l->room = (uintptr_t)values[k];
  }
  if (l->log && l->room) *l->log = 0;
  *out = l;
  return cudaSuccess;
}

CU(cuLinkAddData_v2, struct linker *l, int type, const void *data, size_t bytes, const char *name, unsigned n,
   CUjit_option *options, void **values) {
  const char *why = NULL;
  bool owned = false, is_module = false;
  (void)type, (void)name, (void)n, (void)options, (void)values;
  if (!l || !data) return cudaErrorInvalidValue;
  const char *text = rt_code(data, &bytes, &owned, &is_module, &why);
  char **texts = realloc(l->text, (l->n + 1) * sizeof *texts);
  if (texts) l->text = texts;
  size_t *sizes = realloc(l->size, (l->n + 1) * sizeof *sizes);
  if (sizes) l->size = sizes;
  char *own = text && !is_module && texts && sizes ? malloc(bytes + 1) : NULL;
  if (own) {
    memcpy(own, text, bytes);
    own[bytes] = 0;
    l->text[l->n] = own;
    l->size[l->n++] = strlen(own);
  } else if (l->log && l->room) snprintf(l->log, l->room, "%s", why ? why : "only PTX can be linked");
  else rt_say("what is to be linked is not PTX%s%s", why ? ": " : "", why ? why : "");
  if (owned) free((void *)(uintptr_t)text);
  return own ? cudaSuccess : cudaErrorInvalidKernelImage;
}

CU(cuLinkAddFile_v2, struct linker *l, int type, const char *path, unsigned n, CUjit_option *options, void **values) {
  FILE *f = path ? fopen(path, "rb") : NULL;
  if (!f) return cudaErrorFileNotFound;
  long size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
  char *data = size >= 0 ? calloc(1, (size_t)size + 1) : NULL;
  const bool read = data && !fseek(f, 0, SEEK_SET) && fread(data, 1, (size_t)size, f) == (size_t)size;
  fclose(f);
  const CUresult e =
      read ? cuLinkAddData_v2(l, type, data, (size_t)size + 1, path, n, options, values) : cudaErrorOperatingSystem;
  free(data);
  return e;
}

CU(cuLinkComplete, struct linker *l, void **image, size_t *bytes) {
  if (!l || !image || !l->n) return cudaErrorInvalidValue;
  free(l->all);
  l->all = rt_join((const char *const *)l->text, l->size, l->n);
  if (!l->all) return cudaErrorMemoryAllocation;
  *image = l->all;
  if (bytes) *bytes = strlen(l->all) + 1;
  return cudaSuccess;
}

CU(cuLinkDestroy, struct linker *l) {
  for (size_t k = 0; l && k < l->n; k++) free(l->text[k]);
  if (l) free(l->text), free(l->size), free(l->all);
  free(l);
  return cudaSuccess;
}

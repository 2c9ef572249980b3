/* Libraries (cudaLibraryLoadData and so on): device code that the program loads at run time, and whose kernels are
 * launched by handles. A library becomes an image among the registered ones, and each kernel that the program asks for
 * a registered function. */
#include "fatbin.h"
#include "rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUlib_st {
  struct rt_image *image;
  struct fatbin_wrapper wrapper;
  void *code;
  struct named {
    struct named *next;
    char name[]; /* its address is the kernel's handle */
  } * kernels;   /* rt_lock */
};

/* Copies the image as a whole: the program may free it after the call. */
static void *copy_of(const void *code) {
  const struct fatbin *f = code;
  const size_t n = f->magic == FATBIN_MAGIC ? f->header_bytes + f->bytes : strlen(code) + 1;
  void *own = malloc(n);
  return own ? memcpy(own, code, n) : NULL;
}

static mx_module *module_of(cudaLibrary_t l, cudaError_t *e) {
  struct rt_device *d = rt_current();
  *e = d && l ? cudaSuccess : rt_error(l ? cudaErrorInitializationError : cudaErrorInvalidResourceHandle);
  return *e == cudaSuccess ? rt_image_module(d, l->image, e) : NULL;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *options, void **values,
                                unsigned int n, enum cudaLibraryOption *more, void **morevalues, unsigned int m) {
  (void)options, (void)values, (void)n, (void)more, (void)morevalues, (void)m;
  if (!library || !code) return rt_error(cudaErrorInvalidValue);
  cudaLibrary_t l = calloc(1, sizeof *l);
  if (!l || !(l->code = copy_of(code))) return free(l), rt_error(cudaErrorMemoryAllocation);
  l->wrapper = (struct fatbin_wrapper){.magic = FATBIN_WRAPPER, .version = 1, .data = l->code};
  l->image = (struct rt_image *)__cudaRegisterFatBinary(&l->wrapper);
  cudaError_t e;
  if (module_of(l, &e)) return *library = l, cudaSuccess;
  cudaLibraryUnload(l);
  return e;
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *options,
                                    void **values, unsigned int n, enum cudaLibraryOption *more, void **morevalues,
                                    unsigned int m) {
  FILE *f = path ? fopen(path, "rb") : NULL;
  if (!f) return rt_error(cudaErrorFileNotFound);
  long size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
  char *data = size >= 0 ? calloc(1, (size_t)size + 1) : NULL;
  const bool read = data && !fseek(f, 0, SEEK_SET) && fread(data, 1, (size_t)size, f) == (size_t)size;
  fclose(f);
  const cudaError_t e = read ? cudaLibraryLoadData(library, data, options, values, n, more, morevalues, m)
                             : rt_error(cudaErrorOperatingSystem);
  free(data);
  return e;
}
/* The module is unloaded; the image's record stays, as it does when a program unregisters an image. */
cudaError_t cudaLibraryUnload(cudaLibrary_t l) {
  if (!l) return rt_error(cudaErrorInvalidResourceHandle);
  __cudaUnregisterFatBinary((void **)l->image);
  rt_image_unload(l->image);
  while (l->kernels) {
    struct named *k = l->kernels;
    l->kernels = k->next;
    rt_forget_function(k->name);
    free(k);
  }
  free(l->code);
  free(l);
  return cudaSuccess;
}

static cudaError_t kernel_of(cudaLibrary_t l, const char *name, cudaKernel_t *kernel) {
  pthread_mutex_lock(&rt_lock);
  struct named *k = l->kernels;
  while (k && strcmp(k->name, name)) k = k->next;
  pthread_mutex_unlock(&rt_lock);
  if (!k) {
    const size_t n = strlen(name) + 1;
    if (!(k = malloc(sizeof *k + n))) return rt_error(cudaErrorMemoryAllocation);
    memcpy(k->name, name, n);
    pthread_mutex_lock(&rt_lock);
    k->next = l->kernels;
    l->kernels = k;
    pthread_mutex_unlock(&rt_lock);
    __cudaRegisterFunction((void **)l->image, k->name, NULL, name, -1, NULL, NULL, NULL, NULL, NULL);
  }
  *kernel = (cudaKernel_t)(void *)k->name;
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t l, const char *name) {
  cudaError_t e = kernel && name ? cudaSuccess : rt_error(cudaErrorInvalidValue);
  mx_kernel *found;
  mx_module *m = e == cudaSuccess ? module_of(l, &e) : NULL;
  if (m && mx_module_kernel(m, name, &found) != MX_OK) e = rt_error(cudaErrorSymbolNotFound);
  return e == cudaSuccess ? kernel_of(l, name, kernel) : e;
}
cudaError_t cudaLibraryGetKernelCount(unsigned int *n, cudaLibrary_t l) {
  cudaError_t e = n ? cudaSuccess : rt_error(cudaErrorInvalidValue);
  const mx_module *m = e == cudaSuccess ? module_of(l, &e) : NULL;
  if (m) *n = (unsigned)mx_module_kernel_count(m);
  return e;
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int n, cudaLibrary_t l) {
  cudaError_t e = kernels && n ? cudaSuccess : rt_error(cudaErrorInvalidValue);
  mx_module *m = e == cudaSuccess ? module_of(l, &e) : NULL;
  for (unsigned k = 0; m && e == cudaSuccess && k < n && k < mx_module_kernel_count(m); k++) {
    mx_kernel_info info = {.struct_size = sizeof info};
    e = rt_status(rt_current(), mx_kernel_get_info(mx_module_kernel_at(m, k), &info));
    if (e == cudaSuccess) e = kernel_of(l, info.name, &kernels[k]);
  }
  return e;
}
cudaError_t cudaLibraryGetGlobal(void **p, size_t *bytes, cudaLibrary_t l, const char *name) {
  mx_addr address;
  uint64_t size;
  cudaError_t e = (p || bytes) && name ? cudaSuccess : rt_error(cudaErrorInvalidValue);
  mx_module *m = e == cudaSuccess ? module_of(l, &e) : NULL;
  if (m && mx_module_symbol(m, name, &address, &size) != MX_OK) e = rt_error(cudaErrorSymbolNotFound);
  if (e == cudaSuccess && p) *p = (void *)(uintptr_t)address;
  if (e == cudaSuccess && bytes) *bytes = size;
  return e;
}
cudaError_t cudaLibraryGetManaged(void **p, size_t *bytes, cudaLibrary_t l, const char *name) {
  return cudaLibraryGetGlobal(p, bytes, l, name);
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
                                            int device) {
  return (void)device, cudaFuncSetAttribute((const void *)kernel, attribute, value);
}

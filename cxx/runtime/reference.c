/* Texture and surface references of older programs (cudaBindTexture): a variable of the module holds the number of a
 * texture or surface object, which is made, when something is bound, from the fields that the reference has then. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

static struct reference {
  struct reference *next;
  const void *host; /* a struct textureReference or surfaceReference */
  bool is_surface, normalized;
} * references; /* rt_lock */

static void add(void **handle, const void *host, const char *name, bool is_surface, bool normalized) {
  struct reference *r = calloc(1, sizeof *r);
  if (!r) return; /* it cannot be bound, and the call says so */
  *r = (struct reference){.host = host, .is_surface = is_surface, .normalized = normalized};
  rt_add_variable(handle, host, NULL, name, sizeof(unsigned long long));
  pthread_mutex_lock(&rt_lock);
  r->next = references;
  references = r;
  pthread_mutex_unlock(&rt_lock);
}
void __cudaRegisterTexture(void **handle, const void *host, const void **address, const char *name, int dimensions,
                           int normalized, int external) {
  (void)address, (void)dimensions, (void)external;
  add(handle, host, name, false, normalized);
}
void __cudaRegisterSurface(void **handle, const void *host, const void **address, const char *name, int dimensions,
                           int external) {
  (void)address, (void)dimensions, (void)external;
  add(handle, host, name, true, false);
}

static struct reference *find(const void *host, bool is_surface) {
  pthread_mutex_lock(&rt_lock);
  struct reference *r = references;
  while (r && (r->host != host || r->is_surface != is_surface)) r = r->next;
  pthread_mutex_unlock(&rt_lock);
  return r;
}

/* The object that is bound on the thread's device, 0: none, and where its number lies. */
static cudaError_t bound(const struct reference *r, struct rt_device **d, mx_addr *address,
                         unsigned long long *object) {
  uint64_t bytes;
  *d = rt_current();
  cudaError_t e = *d ? rt_symbol(*d, r->host, address, &bytes) : rt_error(cudaErrorInitializationError);
  return e == cudaSuccess ? rt_status(*d, mx_copy_from_device((*d)->mx, object, *address, sizeof *object)) : e;
}

/* Queued launches still use the old object, so they end before it is replaced. */
static cudaError_t put(struct reference *r, unsigned long long object) {
  struct rt_device *d;
  mx_addr address;
  unsigned long long before;
  cudaError_t e = bound(r, &d, &address, &before);
  if (e == cudaSuccess) e = rt_status(d, mx_device_synchronize(d->mx));
  if (e == cudaSuccess) e = rt_status(d, mx_copy_to_device(d->mx, address, &object, sizeof object));
  const unsigned long long done = e == cudaSuccess ? before : object;
  if (r->is_surface) cudaDestroySurfaceObject(done);
  else cudaDestroyTextureObject(done);
  return e;
}

/* ---- textures ---------------------------------------------------------------------------------------------------*/
static cudaError_t bind(const struct textureReference *t, const struct cudaResourceDesc *resource) {
  struct reference *r = find(t, false);
  cudaTextureObject_t object;
  if (!r) return rt_error(cudaErrorInvalidTexture);
  struct cudaTextureDesc desc = {.filterMode = t->filterMode,
                                 .readMode = r->normalized ? cudaReadModeNormalizedFloat : cudaReadModeElementType,
                                 .sRGB = t->sRGB,
                                 .normalizedCoords = t->normalized,
                                 .maxAnisotropy = t->maxAnisotropy,
                                 .mipmapFilterMode = t->mipmapFilterMode,
                                 .mipmapLevelBias = t->mipmapLevelBias,
                                 .minMipmapLevelClamp = t->minMipmapLevelClamp,
                                 .maxMipmapLevelClamp = t->maxMipmapLevelClamp};
  memcpy(desc.addressMode, t->addressMode, sizeof desc.addressMode);
  cudaError_t e = cudaCreateTextureObject(&object, resource, &desc, NULL);
  return e == cudaSuccess ? put(r, object) : e;
}

/* Memory is bound where it is: there is no alignment that it could miss. */
cudaError_t cudaBindTexture(size_t *offset, const struct textureReference *t, const void *p,
                            const struct cudaChannelFormatDesc *desc, size_t size) {
  struct rt_device *d = rt_owner(p);
  mx_addr base;
  uint64_t bytes;
  if (!t || !desc || !d || mx_allocation_range(d->mx, (uintptr_t)p, &base, &bytes) != MX_OK)
    return rt_error(cudaErrorInvalidValue);
  const uint64_t behind = base + bytes - (uintptr_t)p;
  if (size > behind) size = behind; /* all that there is, if the program does not say how much */
  if (offset) *offset = 0;
  return bind(t, &(struct cudaResourceDesc){.resType = cudaResourceTypeLinear,
                                            .res.linear = {(void *)(uintptr_t)p, *desc, size}});
}

cudaError_t cudaBindTexture2D(size_t *offset, const struct textureReference *t, const void *p,
                              const struct cudaChannelFormatDesc *desc, size_t width, size_t height, size_t pitch) {
  if (!t || !desc || !p) return rt_error(cudaErrorInvalidValue);
  if (offset) *offset = 0;
  return bind(t, &(struct cudaResourceDesc){.resType = cudaResourceTypePitch2D,
                                            .res.pitch2D = {(void *)(uintptr_t)p, *desc, width, height, pitch}});
}

/* An array has a format of its own, which is what a program may say, too. */
cudaError_t cudaBindTextureToArray(const struct textureReference *t, cudaArray_const_t array,
                                   const struct cudaChannelFormatDesc *desc) {
  (void)desc;
  if (!t || !array) return rt_error(cudaErrorInvalidValue);
  return bind(t, &(struct cudaResourceDesc){.resType = cudaResourceTypeArray,
                                            .res.array.array = (cudaArray_t)(uintptr_t)array});
}
cudaError_t cudaBindTextureToMipmappedArray(const struct textureReference *t, cudaMipmappedArray_const_t array,
                                            const struct cudaChannelFormatDesc *desc) {
  (void)desc;
  if (!t || !array) return rt_error(cudaErrorInvalidValue);
  return bind(t, &(struct cudaResourceDesc){.resType = cudaResourceTypeMipmappedArray,
                                            .res.mipmap.mipmap = (cudaMipmappedArray_t)(uintptr_t)array});
}

cudaError_t cudaUnbindTexture(const struct textureReference *t) {
  struct reference *r = find(t, false);
  return r ? put(r, 0) : rt_error(cudaErrorInvalidTexture);
}

cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const struct textureReference *t) {
  const struct reference *r = find(t, false);
  struct rt_device *d;
  mx_addr address;
  unsigned long long object;
  if (!offset || !r) return rt_error(cudaErrorInvalidTexture);
  const cudaError_t e = bound(r, &d, &address, &object);
  if (e != cudaSuccess) return e;
  if (!object) return rt_error(cudaErrorInvalidTextureBinding);
  *offset = 0;
  return cudaSuccess;
}

cudaError_t cudaGetTextureReference(const struct textureReference **t, const void *symbol) {
  if (!t || !find(symbol, false)) return rt_error(cudaErrorInvalidTexture);
  *t = symbol;
  return cudaSuccess;
}

/* ---- surfaces ---------------------------------------------------------------------------------------------------*/
cudaError_t cudaBindSurfaceToArray(const struct surfaceReference *s, cudaArray_const_t array,
                                   const struct cudaChannelFormatDesc *desc) {
  (void)desc;
  struct reference *r = find(s, true);
  cudaSurfaceObject_t object;
  if (!r) return rt_error(cudaErrorInvalidSurface);
  const struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray,
                                            .res.array.array = (cudaArray_t)(uintptr_t)array};
  cudaError_t e = cudaCreateSurfaceObject(&object, &resource);
  return e == cudaSuccess ? put(r, object) : e;
}

cudaError_t cudaGetSurfaceReference(const struct surfaceReference **s, const void *symbol) {
  if (!s || !find(symbol, true)) return rt_error(cudaErrorInvalidSurface);
  *s = symbol;
  return cudaSuccess;
}

/* Pools of memory: what programs set of them is kept, but a pool keeps no memory itself. */
#include "rt.h"

#include <stdlib.h>

#define ATTRIBUTES (cudaMemPoolAttrUsedMemHigh + 1)
struct CUmemPoolHandle_st {
  int device;
  unsigned long long value[ATTRIBUTES]; /* the first ones are an int of the program's */
};
static struct CUmemPoolHandle_st defaults[RT_MOST_DEVICES];
static cudaMemPool_t chosen[RT_MOST_DEVICES];

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  if (!pool || device < 0 || device >= rt_device_count()) return rt_error(cudaErrorInvalidValue);
  *pool = &defaults[device];
  (*pool)->device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
  cudaError_t e = cudaDeviceGetDefaultMemPool(pool, device);
  if (e == cudaSuccess && chosen[device]) *pool = chosen[device];
  return e;
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (!pool || device < 0 || device >= rt_device_count()) return rt_error(cudaErrorInvalidValue);
  chosen[device] = pool;
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props) {
  if (!pool || !props || props->location.type != cudaMemLocationTypeDevice || props->location.id < 0 ||
      props->location.id >= rt_device_count())
    return rt_error(cudaErrorInvalidValue);
  if (!(*pool = calloc(1, sizeof **pool))) return rt_error(cudaErrorMemoryAllocation);
  (*pool)->device = props->location.id;
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  for (int d = 0; d < RT_MOST_DEVICES; d++) {
    if (!pool || pool == &defaults[d]) return rt_error(cudaErrorInvalidValue);
    if (chosen[d] == pool) chosen[d] = NULL;
  }
  free(pool);
  return cudaSuccess;
}

static bool is_flag(enum cudaMemPoolAttr a) { return a < cudaMemPoolAttrReleaseThreshold; }

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  if (!pool || !value || attribute < 1 || (int)attribute >= ATTRIBUTES) return rt_error(cudaErrorInvalidValue);
  pool->value[attribute] = is_flag(attribute) ? *(unsigned *)value : *(unsigned long long *)value;
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  if (!pool || !value || attribute < 1 || (int)attribute >= ATTRIBUTES) return rt_error(cudaErrorInvalidValue);
  if (is_flag(attribute)) *(unsigned *)value = (unsigned)pool->value[attribute];
  else *(unsigned long long *)value = pool->value[attribute];
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t n) {
  return !pool || (n && !list) ? rt_error(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *place) {
  if (!flags || !pool || !place) return rt_error(cudaErrorInvalidValue);
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  return (void)keep, pool ? cudaSuccess : rt_error(cudaErrorInvalidValue);
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  int before;
  if (!pool) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGetDevice(&before);
  if (e != cudaSuccess || (e = cudaSetDevice(pool->device)) != cudaSuccess) return e;
  e = cudaMallocAsync(p, size, stream);
  cudaSetDevice(before);
  return e;
}

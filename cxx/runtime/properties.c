/* Calls about a device: its properties and attributes, limits, peers, synchronisation and reset. A reset has to clear
 * everything that other files keep of a device's memory (modules, mirrors, recordings), so this file calls those. */
#include "rt.h"

#include <limits.h>
#include <stdio.h>
#include <strings.h>

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
  (void)deviceFlags, (void)flags;
  return cudaSetDevice(device);
}

cudaError_t cudaSetValidDevices(int *list, int count) {
  (void)list, (void)count;
  return cudaSuccess;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop) {
  (void)prop;
  if (!device) return rt_error(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}

enum { PROCESSORS = 16, THREADS_OF_ONE = 2048, BLOCKS_OF_ONE = 32 };

cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device) {
  struct rt_device *d = rt_device(device);
  mx_device_properties m = {.struct_size = sizeof m};
  if (!out || !d) return rt_error(out ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  if (mx_device_get_properties(d->mx, &m) != MX_OK) return rt_error(cudaErrorInvalidDevice);
  struct cudaDeviceProp p = {
      .totalGlobalMem = m.memory_bytes,
      .sharedMemPerBlock = 48 << 10,
      .regsPerBlock = 65536,
      .warpSize = rt_lanes(),
      .memPitch = INT_MAX,
      .maxThreadsPerBlock = (int)m.max_threads_per_block,
      .clockRate = 1000000,
      .totalConstMem = 65536,
      .major = 8,
      .textureAlignment = 512,
      .texturePitchAlignment = 32,
      .deviceOverlap = 1,
      .multiProcessorCount = PROCESSORS,
      .canMapHostMemory = 1,
      .surfaceAlignment = 512,
      .concurrentKernels = 1,
      .pciBusID = 1 + device,
      .asyncEngineCount = 1,
      .unifiedAddressing = 1,
      .memoryClockRate = 1000000,
      .memoryBusWidth = 256,
      .l2CacheSize = 4 << 20,
      .maxThreadsPerMultiProcessor = THREADS_OF_ONE,
      .streamPrioritiesSupported = 1,
      .globalL1CacheSupported = 1,
      .localL1CacheSupported = 1,
      .sharedMemPerMultiprocessor = m.max_shared_bytes,
      .regsPerMultiprocessor = 65536,
      .managedMemory = 1,
      .canUseHostPointerForRegisteredMem = 1,
      .hostRegisterSupported = 1,
      .hostNativeAtomicSupported = 1,
      .singleToDoublePrecisionPerfRatio = 2,
      .concurrentManagedAccess = 1,
      .computePreemptionSupported = 1,
      .cooperativeLaunch = 1,
      .clusterLaunch = 1,
      .sharedMemPerBlockOptin = m.max_shared_bytes,
      .maxBlocksPerMultiProcessor = BLOCKS_OF_ONE,
      .memoryPoolsSupported = 1,
      /* what programs compare with before they make one; mx has no bounds of this kind below 2^32 */
      .maxTexture1D = 131072,
      .maxTexture1DMipmap = 32768,
      .maxTexture1DLinear = 268435456,
      .maxTexture2D = {131072, 65536},
      .maxTexture2DMipmap = {32768, 32768},
      .maxTexture2DLinear = {131072, 65000, 2097120},
      .maxTexture2DGather = {32768, 32768},
      .maxTexture3D = {16384, 16384, 16384},
      .maxTexture3DAlt = {8192, 8192, 32768},
      .maxTextureCubemap = 32768,
      .maxTexture1DLayered = {32768, 2048},
      .maxTexture2DLayered = {32768, 32768, 2048},
      .maxTextureCubemapLayered = {32768, 2046},
      .maxSurface1D = 32768,
      .maxSurface2D = {131072, 65536},
      .maxSurface3D = {16384, 16384, 16384},
      .maxSurface1DLayered = {32768, 2048},
      .maxSurface2DLayered = {32768, 32768, 2048},
      .maxSurfaceCubemap = 32768,
      .maxSurfaceCubemapLayered = {32768, 2046},
  };
  snprintf(p.name, sizeof p.name, "mx %s (%s, %u threads)", mx_version_string(), m.cpu_level, m.threads);
  for (int k = 0; k < 3; k++)
    p.maxThreadsDim[k] = (int)m.max_block[k], p.maxGridSize[k] = m.max_grid[k] > INT_MAX ? INT_MAX : (int)m.max_grid[k];
  *out = p;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  struct cudaDeviceProp p;
  if (!value) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGetDeviceProperties_v2(&p, device);
  if (e != cudaSuccess) return e;
  switch (attribute) {
#define X(name_, number_, value_) \
  case cudaDevAttr##name_: *value = (int)(value_); return cudaSuccess;
    MX_CUDA_ATTRIBUTES(X)
#undef X
  }
  *value = 0; /* what a device does not know it has not */
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  struct rt_device *d = rt_current();
  if (!d) return rt_error(cudaErrorInitializationError);
  cudaError_t e = rt_status(d, mx_device_synchronize(d->mx));
  rt_mirrors_home();
  rt_flush();
  return e == cudaSuccess && atomic_load(&d->stopped) ? rt_error(cudaErrorLaunchTimeout) : e;
}
cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

cudaError_t cudaDeviceReset(void) {
  struct rt_device *d = rt_current();
  if (!d) return rt_error(cudaErrorInitializationError);
  mx_device_synchronize(d->mx);
  rt_mirrors_home();
  rt_flush();
  cudaError_t e = rt_status(d, mx_device_reset(d->mx));
  rt_watch_forget(NULL);
  rt_forget_modules(d->number);
  rt_mirrors_forget(d);
  atomic_store(&d->stopped, false);
  atomic_store(&d->told, false);
  cudaGetLastError();
  return e;
}
cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }

static bool limit_of(enum cudaLimit limit, mx_limit *out) {
  switch (limit) {
  case cudaLimitStackSize: *out = MX_LIMIT_STACK; return true;
  case cudaLimitPrintfFifoSize: *out = MX_LIMIT_PRINTF_FIFO; return true;
  case cudaLimitMallocHeapSize: *out = MX_LIMIT_HEAP; return true;
  default: return false;
  }
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  struct rt_device *d = rt_current();
  mx_limit which;
  if (!d) return rt_error(cudaErrorInitializationError);
  return limit_of(limit, &which) ? rt_status(d, mx_limit_set(d->mx, which, value)) : cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
  struct rt_device *d = rt_current();
  mx_limit which;
  uint64_t v = 0;
  if (!d || !value) return rt_error(value ? cudaErrorInitializationError : cudaErrorInvalidValue);
  cudaError_t e = limit_of(limit, &which) ? rt_status(d, mx_limit_get(d->mx, which, &v)) : cudaSuccess;
  *value = v;
  return e;
}

/* ---- settings that mean nothing here ----------------------------------------------------------------------------*/
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) { return (void)config, cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
  return *config = cudaFuncCachePreferNone, cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) { return (void)config, cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) {
  return *config = cudaSharedMemBankSizeFourByte, cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned int flags) { return (void)flags, cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned int *flags) { return *flags = cudaDeviceMapHost, cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) {
  if (!id || length < 1 || device < 0 || device >= rt_device_count()) return rt_error(cudaErrorInvalidValue);
  snprintf(id, (size_t)length, "0000:%02x:00.0", 1 + device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id) {
  char own[32];
  for (int k = 0; device && id && k < rt_device_count(); k++)
    if (cudaDeviceGetPCIBusId(own, sizeof own, k) == cudaSuccess && !strcasecmp(own, id))
      return *device = k, cudaSuccess;
  return rt_error(device && id ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  struct rt_device *d = rt_device(device), *p = rt_device(peer);
  bool reach = false;
  if (!can || !d || !p) return rt_error(cudaErrorInvalidDevice);
  if (d != p) mx_device_can_reach(d->mx, p->mx, &reach);
  *can = reach;
  return cudaSuccess;
}

static cudaError_t set_peer(int peer, bool allowed) {
  struct rt_device *d = rt_current(), *p = rt_device(peer);
  if (!d || !p || d == p) return rt_error(cudaErrorInvalidDevice);
  pthread_mutex_lock(&rt_lock);
  const bool was = d->reaches >> peer & 1;
  if (allowed) d->reaches |= 1u << peer;
  else d->reaches &= ~(1u << peer);
  pthread_mutex_unlock(&rt_lock);
  if (was == allowed) return rt_error(was ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessNotEnabled);
  return rt_status(d, mx_device_reach(d->mx, p->mx, allowed));
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return flags ? rt_error(cudaErrorInvalidValue) : set_peer(peer, true);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) { return set_peer(peer, false); }

cudaError_t cudaDriverGetVersion(int *version) {
  return version ? (*version = 13000, cudaSuccess) : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  return version ? (*version = 12000, cudaSuccess) : rt_error(cudaErrorInvalidValue);
}

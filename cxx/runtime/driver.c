/* The driver's API for modules and launches: cu… names over the same devices, streams and events as the runtime's. A
 * context is a device; errors have the runtime's numbers, which are the same. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices, contexts ------------------------------------------------------------------------------------------*/
CU(cuInit, unsigned flags) { return flags ? cudaErrorInvalidValue : cudaSuccess; }
CU(cuDriverGetVersion, int *version) { return (CUresult)cudaDriverGetVersion(version); }
CU(cuDeviceGetCount, int *count) { return *count = rt_device_count(), cudaSuccess; }
CU(cuDeviceGet, CUdevice *device, int number) {
  if (!device || number < 0 || number >= rt_device_count()) return cudaErrorInvalidDevice;
  *device = number;
  return cudaSuccess;
}
CU(cuDeviceGetName, char *name, int length, CUdevice device) {
  struct cudaDeviceProp p;
  cudaError_t e = cudaGetDeviceProperties_v2(&p, device);
  if (e == cudaSuccess && length > 0) snprintf(name, (size_t)length, "%s", p.name);
  return (CUresult)e;
}
CU(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device) {
  struct cudaDeviceProp p;
  cudaError_t e = cudaGetDeviceProperties_v2(&p, device);
  if (e == cudaSuccess) *bytes = p.totalGlobalMem;
  return (CUresult)e;
}
CU(cuDeviceGetAttribute, int *value, int attribute, CUdevice device) {
  return (CUresult)cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device);
}
CU(cuDeviceComputeCapability, int *major, int *minor, CUdevice device) {
  const cudaError_t e = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
  return (CUresult)(e == cudaSuccess ? cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device) : e);
}

static CUresult enter(CUcontext *context, CUdevice device) {
  cudaError_t e = cudaSetDevice(device);
  struct rt_device *d = e == cudaSuccess ? rt_current() : NULL;
  if (!d) return e == cudaSuccess ? cudaErrorInitializationError : (CUresult)e;
  if (context) *context = d;
  return cudaSuccess;
}
CU(cuCtxCreate_v2, CUcontext *context, unsigned flags, CUdevice device) { return (void)flags, enter(context, device); }
CU(cuCtxCreate_v4, CUcontext *context, void *parameters, unsigned flags, CUdevice device) {
  return (void)parameters, (void)flags, enter(context, device);
}
CU(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device) { return enter(context, device); }
CU(cuDevicePrimaryCtxRelease_v2, CUdevice device) { return (void)device, cudaSuccess; }
CU(cuCtxDestroy_v2, CUcontext context) { return (void)context, (CUresult)cudaDeviceSynchronize(); }
CU(cuCtxSetCurrent, CUcontext context) { return context ? enter(NULL, context->number) : cudaSuccess; }
CU(cuCtxPushCurrent_v2, CUcontext context) { return context ? enter(NULL, context->number) : cudaErrorInvalidValue; }
CU(cuCtxPopCurrent_v2, CUcontext *context) { return context ? (*context = rt_current(), cudaSuccess) : cudaSuccess; }
CU(cuCtxGetCurrent, CUcontext *context) { return *context = rt_current(), cudaSuccess; }
CU(cuCtxGetDevice, CUdevice *device) { return (CUresult)cudaGetDevice(device); }
CU(cuCtxSynchronize, void) { return (CUresult)cudaDeviceSynchronize(); }
CU(cuCtxSetCacheConfig, int config) { return (void)config, cudaSuccess; }
CU(cuCtxGetLimit, size_t *value, int limit) { return (CUresult)cudaDeviceGetLimit(value, (enum cudaLimit)limit); }
CU(cuCtxSetLimit, int limit, size_t value) { return (CUresult)cudaDeviceSetLimit((enum cudaLimit)limit, value); }
CU(cuCtxGetStreamPriorityRange, int *least, int *greatest) {
  return (CUresult)cudaDeviceGetStreamPriorityRange(least, greatest);
}
CU(cuCtxGetApiVersion, CUcontext context, unsigned *version) { return (void)context, *version = 12000, cudaSuccess; }
CU(cuCtxGetFlags, unsigned *flags) { return (CUresult)cudaGetDeviceFlags(flags); }
CU(cuCtxAttach, CUcontext *context, unsigned flags) { return (void)flags, *context = rt_current(), cudaSuccess; }
CU(cuCtxDetach, CUcontext context) { return (void)context, cudaSuccess; }
CU(cuCtxGetCacheConfig, int *config) { return *config = cudaFuncCachePreferNone, cudaSuccess; }
CU(cuCtxGetSharedMemConfig, int *config) { return *config = cudaSharedMemBankSizeFourByte, cudaSuccess; }
CU(cuCtxSetSharedMemConfig, int config) { return (void)config, cudaSuccess; }
CU(cuCtxResetPersistingL2Cache, void) { return cudaSuccess; }
CU(cuCtxEnablePeerAccess, CUcontext peer, unsigned flags) {
  return peer ? (CUresult)cudaDeviceEnablePeerAccess(peer->number, flags) : cudaErrorInvalidValue;
}
CU(cuCtxDisablePeerAccess, CUcontext peer) {
  return peer ? (CUresult)cudaDeviceDisablePeerAccess(peer->number) : cudaErrorInvalidValue;
}
CU(cuDevicePrimaryCtxGetState, CUdevice device, unsigned *flags, int *active) {
  if (device < 0 || device >= rt_device_count()) return cudaErrorInvalidDevice;
  return *flags = 0, *active = 1, cudaSuccess;
}
CU(cuDevicePrimaryCtxSetFlags_v2, CUdevice device, unsigned flags) { return (void)device, (void)flags, cudaSuccess; }
CU(cuDevicePrimaryCtxReset_v2, CUdevice device) {
  const CUresult e = enter(NULL, device);
  return e == cudaSuccess ? (CUresult)cudaDeviceReset() : e;
}
CU(cuDeviceGetByPCIBusId, CUdevice *device, const char *id) { return (CUresult)cudaDeviceGetByPCIBusId(device, id); }
CU(cuDeviceGetP2PAttribute, int *value, int attribute, CUdevice from, CUdevice to) {
  return (CUresult)cudaDeviceGetP2PAttribute(value, (enum cudaDeviceP2PAttr)attribute, from, to);
}
CU(cuGetProcAddress_v2, const char *name, void **function, int version, unsigned long long flags, int *found) {
  enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
  (void)version;
  const CUresult e = (CUresult)cudaGetDriverEntryPoint(name, function, flags, &result);
  if (found) *found = (int)result;
  return e == cudaSuccess && result != cudaDriverEntryPointSuccess ? cudaErrorSymbolNotFound : e;
}
CU(cuGetProcAddress, const char *name, void **function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
CU(cuDeviceCanAccessPeer, int *can, CUdevice device, CUdevice peer) {
  return (CUresult)cudaDeviceCanAccessPeer(can, device, peer);
}
CU(cuDeviceGetPCIBusId, char *id, int length, CUdevice device) {
  return (CUresult)cudaDeviceGetPCIBusId(id, length, device);
}
static CUresult uuid_of(cudaUUID_t *uuid, CUdevice device) {
  struct cudaDeviceProp p;
  cudaError_t e = uuid ? cudaGetDeviceProperties_v2(&p, device) : cudaErrorInvalidValue;
  if (e == cudaSuccess) *uuid = p.uuid;
  return (CUresult)e;
}
CU(cuDeviceGetUuid, cudaUUID_t *uuid, CUdevice device) { return uuid_of(uuid, device); }
CU(cuDeviceGetUuid_v2, cudaUUID_t *uuid, CUdevice device) { return uuid_of(uuid, device); }
CU(cuProfilerStart, void) { return cudaSuccess; }
CU(cuProfilerStop, void) { return cudaSuccess; }

CU(cuGetErrorName, CUresult error, const char **name) {
  if (!name) return cudaErrorInvalidValue;
  switch (error) {
#define X(name_, number_) \
  case number_: *name = #name_; return cudaSuccess;
    MX_CU_ERRORS(X)
#undef X
  }
  *name = NULL;
  return cudaErrorInvalidValue;
}
CU(cuGetErrorString, CUresult error, const char **text) {
  return *text = cudaGetErrorString((cudaError_t)error), cudaSuccess;
}

/* ---- memory -----------------------------------------------------------------------------------------------------*/
static CUresult allocated(cudaError_t e, const void *a, CUdeviceptr *p) {
  if (e == cudaSuccess) *p = (uintptr_t)a;
  return (CUresult)e;
}
CU(cuMemAlloc_v2, CUdeviceptr *p, size_t bytes) {
  void *a = NULL;
  cudaError_t e = !p || !bytes ? cudaErrorInvalidValue : cudaMalloc(&a, bytes);
  return allocated(e, a, p);
}
CU(cuMemAllocManaged, CUdeviceptr *p, size_t bytes, unsigned flags) {
  void *a = NULL;
  cudaError_t e = p ? cudaMallocManaged(&a, bytes, flags) : cudaErrorInvalidValue;
  return allocated(e, a, p);
}
CU(cuMemFree_v2, CUdeviceptr p) { return (CUresult)cudaFree(POINTER(p)); }
CU(cuMemAllocHost_v2, void **p, size_t bytes) { return (CUresult)cudaHostAlloc(p, bytes, 0); }
CU(cuMemHostAlloc, void **p, size_t bytes, unsigned flags) { return (CUresult)cudaHostAlloc(p, bytes, flags); }
CU(cuMemFreeHost, void *p) { return (CUresult)cudaFreeHost(p); }
CU(cuMemGetInfo_v2, size_t *available, size_t *total) { return (CUresult)cudaMemGetInfo(available, total); }
CU(cuMemcpyHtoD_v2, CUdeviceptr to, const void *from, size_t bytes) {
  return (CUresult)cudaMemcpy(POINTER(to), from, bytes, cudaMemcpyHostToDevice);
}
CU(cuMemcpyDtoH_v2, void *to, CUdeviceptr from, size_t bytes) {
  return (CUresult)cudaMemcpy(to, POINTER(from), bytes, cudaMemcpyDeviceToHost);
}
CU(cuMemcpyDtoD_v2, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return (CUresult)cudaMemcpy(POINTER(to), POINTER(from), bytes, cudaMemcpyDeviceToDevice);
}
CU(cuMemcpy, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return (CUresult)cudaMemcpy(POINTER(to), POINTER(from), bytes, cudaMemcpyDefault);
}
CU(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes, CUstream s) {
  return (CUresult)cudaMemcpyAsync(POINTER(to), from, bytes, cudaMemcpyHostToDevice, s);
}
CU(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t bytes, CUstream s) {
  return (CUresult)cudaMemcpyAsync(to, POINTER(from), bytes, cudaMemcpyDeviceToHost, s);
}
CU(cuMemsetD8_v2, CUdeviceptr to, unsigned char value, size_t count) {
  return (CUresult)cudaMemset(POINTER(to), value, count);
}
CU(cuMemsetD32_v2, CUdeviceptr to, unsigned value, size_t count) {
  struct rt_device *d = rt_owner(POINTER(to));
  return d ? (CUresult)rt_status(d, mx_memset32(d->mx, to, value, count)) : cudaErrorInvalidValue;
}

CU(cuMemsetD16_v2, CUdeviceptr to, unsigned short value, size_t count) {
  struct cudaMemsetParams p = {POINTER(to), 0, value, 2, count, 1};
  return (CUresult)rt_fill(&p, NULL);
}
CU(cuMemsetD8Async, CUdeviceptr to, unsigned char value, size_t count, CUstream s) {
  return (CUresult)cudaMemsetAsync(POINTER(to), value, count, s);
}
CU(cuMemsetD16Async, CUdeviceptr to, unsigned short value, size_t count, CUstream s) {
  struct cudaMemsetParams p = {POINTER(to), 0, value, 2, count, 1};
  return (CUresult)rt_fill(&p, s);
}
CU(cuMemsetD32Async, CUdeviceptr to, unsigned value, size_t count, CUstream s) {
  struct cudaMemsetParams p = {POINTER(to), 0, value, 4, count, 1};
  return (CUresult)rt_fill(&p, s);
}
CU(cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
  return (CUresult)cudaMemcpyAsync(POINTER(to), POINTER(from), bytes, cudaMemcpyDeviceToDevice, s);
}
CU(cuMemcpyAsync, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
  return (CUresult)cudaMemcpyAsync(POINTER(to), POINTER(from), bytes, cudaMemcpyDefault, s);
}
CU(cuMemAllocPitch_v2, CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element) {
  void *a = NULL;
  (void)element;
  cudaError_t e = p ? cudaMallocPitch(&a, pitch, width, height) : cudaErrorInvalidValue;
  return allocated(e, a, p);
}
CU(cuMemAllocAsync, CUdeviceptr *p, size_t bytes, CUstream s) {
  void *a = NULL;
  cudaError_t e = p ? cudaMallocAsync(&a, bytes, s) : cudaErrorInvalidValue;
  return allocated(e, a, p);
}
CU(cuMemFreeAsync, CUdeviceptr p, CUstream s) { return (CUresult)cudaFreeAsync(POINTER(p), s); }
CU(cuMemGetAddressRange_v2, CUdeviceptr *base, size_t *bytes, CUdeviceptr p) {
  struct rt_device *d = rt_owner(POINTER(p));
  mx_addr from;
  uint64_t size;
  if (!d || mx_allocation_range(d->mx, p, &from, &size) != MX_OK) return cudaErrorSymbolNotFound;
  if (base) *base = from;
  if (bytes) *bytes = size;
  return cudaSuccess;
}
CU(cuMemHostGetDevicePointer_v2, CUdeviceptr *device, void *host, unsigned flags) {
  void *a = NULL;
  cudaError_t e = device ? cudaHostGetDevicePointer(&a, host, flags) : cudaErrorInvalidValue;
  if (e == cudaSuccess) *device = (uintptr_t)a;
  return (CUresult)e;
}
CU(cuMemHostRegister_v2, void *p, size_t bytes, unsigned flags) { return (CUresult)cudaHostRegister(p, bytes, flags); }
CU(cuMemHostUnregister, void *p) { return (CUresult)cudaHostUnregister(p); }
CU(cuPointerGetAttribute, void *value, CUpointer_attribute attribute, CUdeviceptr p) {
  struct cudaPointerAttributes a;
  if (!value || cudaPointerGetAttributes(&a, POINTER(p)) != cudaSuccess || a.type == cudaMemoryTypeUnregistered)
    return cudaErrorInvalidValue;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *(unsigned *)value = a.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return cudaSuccess;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)value = (uintptr_t)a.devicePointer; return cudaSuccess;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER: *(void **)value = a.hostPointer; return cudaSuccess;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)value = a.type == cudaMemoryTypeManaged; return cudaSuccess;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = a.device; return cudaSuccess;
  }
  return (CUresult)rt_missing("this attribute of cuPointerGetAttribute");
}

/* ---- modules, kernels -------------------------------------------------------------------------------------------*/
static CUresult load(CUmodule *module, const void *data, char *log, size_t room) {
  struct rt_device *d = rt_current();
  char *why = NULL;
  if (!d || !module || !data) return cudaErrorInvalidValue;
  cudaError_t e = rt_load(d, data, module, &why);
  if (log && room) snprintf(log, room, "%s", why ? why : "");
  else if (e != cudaSuccess && why) rt_say("a module cannot be loaded: %s", why);
  free(why);
  return (CUresult)e;
}
CU(cuModuleLoadData, CUmodule *module, const void *data) { return load(module, data, NULL, 0); }
CU(cuModuleLoadDataEx, CUmodule *module, const void *data, unsigned n, CUjit_option *options, void **values) {
  char *log = NULL;
  size_t room = 0;
  for (unsigned k = 0; options && values && k < n; k++) {
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER) log = values[k];
    if (options[k] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) room = (uintptr_t)values[k];
  }
  return load(module, data, log, room);
}
CU(cuModuleLoadFatBinary, CUmodule *module, const void *data) { return load(module, data, NULL, 0); }
CU(cuModuleLoad, CUmodule *module, const char *path) {
  FILE *f = path ? fopen(path, "rb") : NULL;
  if (!f) return cudaErrorFileNotFound;
  char *data = NULL;
  size_t n = 0, room = 0, got = 1;
  while (got) {
    if (n + 65537 > room) {
      char *more = realloc(data, room = 2 * room + 65537);
      if (!more) break;
      data = more;
    }
    n += got = fread(data + n, 1, 65536, f);
  }
  fclose(f);
  if (!data) return cudaErrorMemoryAllocation;
  data[n] = 0;
  struct rt_device *d = rt_current();
  CUresult e;
  if (d && n > 4 && !memcmp(data, "MXB", 3))
    e = (CUresult)rt_status(d, rt_load_module(d, data, n, module)); /* a module of mx */
  else e = load(module, data, NULL, 0);
  free(data);
  return e;
}
CU(cuModuleUnload, CUmodule module) {
  rt_watch_forget(module);
  return mx_module_unload(module) == MX_OK ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
CU(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name) {
  if (!function || !module || !name) return cudaErrorInvalidValue;
  CUfunction found;
  if (mx_module_kernel(module, name, &found) != MX_OK) return cudaErrorSymbolNotFound;
  *function = found;
  return cudaSuccess;
}
CU(cuModuleGetGlobal_v2, CUdeviceptr *p, size_t *bytes, CUmodule module, const char *name) {
  mx_addr address;
  uint64_t size;
  if (!module || !name) return cudaErrorInvalidValue;
  if (mx_module_symbol(module, name, &address, &size) != MX_OK) return cudaErrorSymbolNotFound;
  if (p) *p = address;
  if (bytes) *bytes = size;
  return cudaSuccess;
}

/* Parameters as pointers to them, or packed: a list of {1, buffer, 2, its size, 0}. */
static CUresult launch(CUfunction f, const struct rt_grid *g, CUstream s, void **args, void **extra) {
  struct rt_device *d = rt_stream_device(s);
  if (!f || !d) return cudaErrorInvalidValue;
  mx_kernel_info info = {.struct_size = sizeof info};
  const unsigned char *packed = NULL;
  for (void **x = extra; x && *x; x += 2)
    if ((uintptr_t)*x == 1) packed = x[1];
  if (args || !packed)
    return (CUresult)(rt_capturing(s) ? rt_capture_kernel(s, d, f, f, g, args) : rt_launch(d, f, g, args, s));
  if (mx_kernel_get_info(f, &info) != MX_OK) return cudaErrorInvalidValue;
  void **list = calloc(info.params + 1, sizeof *list);
  if (!list) return cudaErrorMemoryAllocation;
  for (uint32_t k = 0; k < info.params; k++) {
    mx_param_info p = {.struct_size = sizeof p};
    mx_kernel_get_param(f, k, &p);
    list[k] = (void *)(uintptr_t)(packed + p.offset);
  }
  CUresult e = launch(f, g, s, list, NULL);
  free(list);
  return e;
}
CU(cuLaunchKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
   unsigned shared, CUstream s, void **args, void **extra) {
  return launch(f, &(struct rt_grid){{gx, gy, gz}, {bx, by, bz}, shared, false, {0}}, s, args, extra);
}
CU(cuLaunchCooperativeKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
   unsigned bz, unsigned shared, CUstream s, void **args) {
  return launch(f, &(struct rt_grid){{gx, gy, gz}, {bx, by, bz}, shared, true, {0}}, s, args, NULL);
}
CU(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction f, void **args, void **extra) {
  if (!config || (config->numAttrs && !config->attrs)) return cudaErrorInvalidValue;
  struct rt_grid g = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                      .shared = config->sharedMemBytes};
  rt_launch_attributes(&g, (const cudaLaunchAttribute *)config->attrs, config->numAttrs);
  return launch(f, &g, config->hStream, args, extra);
}
CU(cuFuncGetAttribute, int *value, CUfunction_attribute attribute, CUfunction f) {
  mx_kernel_info info = {.struct_size = sizeof info};
  struct cudaFuncAttributes a;
  if (!value || !f || mx_kernel_get_info(f, &info) != MX_OK) return cudaErrorInvalidValue;
  rt_attributes(&a, &info);
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return *value = a.maxThreadsPerBlock, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return *value = (int)a.sharedSizeBytes, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return *value = (int)a.constSizeBytes, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return *value = (int)a.localSizeBytes, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: return *value = a.numRegs, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION: return *value = a.ptxVersion, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return *value = a.binaryVersion, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: return *value = 0, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return *value = a.maxDynamicSharedSizeBytes, cudaSuccess;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return *value = -1, cudaSuccess;
  }
  return cudaErrorInvalidValue;
}
CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, CUfunction f, int threads, size_t shared) {
  return blocks && f ? (CUresult)rt_occupancy(blocks, rt_current(), f, threads, shared) : cudaErrorInvalidValue;
}
CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, CUfunction f, int threads, size_t shared,
   unsigned flags) {
  return (void)flags, cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}
CU(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, CUfunction f, CUoccupancyB2DSize bytesOf, size_t shared,
   int limit) {
  mx_kernel_info info = {.struct_size = sizeof info};
  struct cudaDeviceProp p;
  struct rt_device *d = rt_current();
  if (!grid || !block || !f || !d || mx_kernel_get_info(f, &info) != MX_OK) return cudaErrorInvalidValue;
  cudaError_t e = cudaGetDeviceProperties_v2(&p, d->number);
  const int lanes = (int)info.lanes;
  int most = 0;
  if (limit <= 0 || limit > (int)info.max_threads_per_block) limit = (int)info.max_threads_per_block;
  *grid = *block = 0;
  for (int n = limit; n > 0 && e == cudaSuccess; n = n % lanes ? n / lanes * lanes : n - lanes) {
    int blocks = 0;
    e = rt_occupancy(&blocks, d, f, n, bytesOf ? bytesOf(n) : shared);
    if (blocks * n > most) most = blocks * n, *block = n, *grid = blocks * p.multiProcessorCount;
  }
  return (CUresult)e;
}
CU(cuFuncSetAttribute, CUfunction f, int attribute, int value) {
  return (void)f, (void)attribute, (void)value, cudaSuccess;
}
CU(cuFuncSetCacheConfig, CUfunction f, int config) { return (void)f, (void)config, cudaSuccess; }

CU(cuFuncSetSharedMemConfig, CUfunction f, int config) { return (void)f, (void)config, cudaSuccess; }
CU(cuFuncGetName, const char **name, CUfunction f) {
  mx_kernel_info info = {.struct_size = sizeof info};
  if (!name || !f || mx_kernel_get_info(f, &info) != MX_OK) return cudaErrorInvalidValue;
  return *name = info.name, cudaSuccess;
}

/* ---- streams, events --------------------------------------------------------------------------------------------*/
CU(cuStreamCreate, CUstream *s, unsigned flags) { return (CUresult)cudaStreamCreateWithFlags(s, flags); }
CU(cuStreamCreateWithPriority, CUstream *s, unsigned flags, int priority) {
  return (CUresult)cudaStreamCreateWithPriority(s, flags, priority);
}
CU(cuStreamGetFlags, CUstream s, unsigned *flags) { return (CUresult)cudaStreamGetFlags(s, flags); }
CU(cuStreamGetPriority, CUstream s, int *priority) { return (CUresult)cudaStreamGetPriority(s, priority); }
CU(cuStreamGetCtx, CUstream s, CUcontext *context) { return *context = rt_stream_device(s), cudaSuccess; }
CU(cuStreamGetId, CUstream s, unsigned long long *id) { return (CUresult)cudaStreamGetId(s, id); }
CU(cuStreamAttachMemAsync, CUstream s, CUdeviceptr p, size_t bytes, unsigned flags) {
  return (CUresult)cudaStreamAttachMemAsync(s, POINTER(p), bytes, flags);
}
CU(cuStreamAddCallback, CUstream s, cudaStreamCallback_t fn, void *user, unsigned flags) {
  return (CUresult)cudaStreamAddCallback(s, fn, user, flags);
}
CU(cuLaunchHostFunc, CUstream s, cudaHostFn_t fn, void *user) { return (CUresult)cudaLaunchHostFunc(s, fn, user); }
CU(cuStreamDestroy_v2, CUstream s) { return (CUresult)cudaStreamDestroy(s); }
CU(cuStreamSynchronize, CUstream s) { return (CUresult)cudaStreamSynchronize(s); }
CU(cuStreamQuery, CUstream s) { return (CUresult)cudaStreamQuery(s); }
CU(cuStreamWaitEvent, CUstream s, CUevent e, unsigned flags) { return (CUresult)cudaStreamWaitEvent(s, e, flags); }
CU(cuEventCreate, CUevent *e, unsigned flags) { return (CUresult)cudaEventCreateWithFlags(e, flags); }
CU(cuEventDestroy_v2, CUevent e) { return (CUresult)cudaEventDestroy(e); }
CU(cuEventRecord, CUevent e, CUstream s) { return (CUresult)cudaEventRecord(e, s); }
CU(cuEventSynchronize, CUevent e) { return (CUresult)cudaEventSynchronize(e); }
CU(cuEventQuery, CUevent e) { return (CUresult)cudaEventQuery(e); }
CU(cuEventElapsedTime, float *ms, CUevent from, CUevent to) { return (CUresult)cudaEventElapsedTime(ms, from, to); }
CU(cuEventElapsedTime_v2, float *ms, CUevent from, CUevent to) { return (CUresult)cudaEventElapsedTime(ms, from, to); }

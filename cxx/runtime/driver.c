/* The driver's API for modules and launches: cu… names over the same devices, streams and events as the runtime's. A
 * context is a device; errors have the runtime's numbers, which are the same. */
#include "rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct rt_device *CUcontext;
typedef mx_module *CUmodule;
typedef mx_kernel *CUfunction;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;

/* Each is declared and defined: nobody here calls them. */
#define CU(name_, ...) \
  CUresult name_(__VA_ARGS__); \
  CUresult name_(__VA_ARGS__)
#define POINTER(a_) ((void *)(uintptr_t)(a_))

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

CU(cuGetErrorName, CUresult error, const char **name) {
  return *name = cudaGetErrorName((cudaError_t)error), cudaSuccess;
}
CU(cuGetErrorString, CUresult error, const char **text) {
  return *text = cudaGetErrorString((cudaError_t)error), cudaSuccess;
}

/* ---- memory -----------------------------------------------------------------------------------------------------*/
CU(cuMemAlloc_v2, CUdeviceptr *p, size_t bytes) {
  void *a = NULL;
  cudaError_t e = !p || !bytes ? cudaErrorInvalidValue : cudaMalloc(&a, bytes);
  if (e == cudaSuccess) *p = (uintptr_t)a;
  return (CUresult)e;
}
CU(cuMemAllocManaged, CUdeviceptr *p, size_t bytes, unsigned flags) {
  void *a = NULL;
  cudaError_t e = p ? cudaMallocManaged(&a, bytes, flags) : cudaErrorInvalidValue;
  if (e == cudaSuccess) *p = (uintptr_t)a;
  return (CUresult)e;
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

/* ---- modules, kernels -------------------------------------------------------------------------------------------*/
static CUresult load(CUmodule *module, const void *data) {
  struct rt_device *d = rt_current();
  char *why = NULL;
  if (!d || !module || !data) return cudaErrorInvalidValue;
  cudaError_t e = rt_load(d, data, module, &why);
  if (e != cudaSuccess && why) rt_say("a module cannot be loaded: %s", why);
  free(why);
  return (CUresult)e;
}
CU(cuModuleLoadData, CUmodule *module, const void *data) { return load(module, data); }
CU(cuModuleLoadDataEx, CUmodule *module, const void *data, unsigned n, int *options, void **values) {
  return (void)n, (void)options, (void)values, load(module, data);
}
CU(cuModuleLoadFatBinary, CUmodule *module, const void *data) { return load(module, data); }
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
    e = (CUresult)rt_status(d, mx_module_load_data(d->mx, data, n, module)); /* a module of mx */
  else e = load(module, data);
  free(data);
  return e;
}
CU(cuModuleUnload, CUmodule module) {
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
static CUresult launch(CUfunction f, const unsigned grid[3], const unsigned block[3], unsigned shared, CUstream s,
                       void **args, void **extra, bool cooperative) {
  struct rt_device *d = rt_stream_device(s);
  if (!f || !d) return cudaErrorInvalidValue;
  const dim3 g = {grid[0], grid[1], grid[2]}, b = {block[0], block[1], block[2]};
  mx_kernel_info info = {.struct_size = sizeof info};
  const unsigned char *packed = NULL;
  for (void **x = extra; x && *x; x += 2)
    if ((uintptr_t)*x == 1) packed = x[1];
  if (args || !packed) return (CUresult)rt_launch(d, f, g, b, args, shared, s, cooperative);
  if (mx_kernel_get_info(f, &info) != MX_OK) return cudaErrorInvalidValue;
  void **list = calloc(info.params + 1, sizeof *list);
  if (!list) return cudaErrorMemoryAllocation;
  for (uint32_t k = 0; k < info.params; k++) {
    mx_param_info p = {.struct_size = sizeof p};
    mx_kernel_get_param(f, k, &p);
    list[k] = (void *)(uintptr_t)(packed + p.offset);
  }
  CUresult e = (CUresult)rt_launch(d, f, g, b, list, shared, s, cooperative);
  free(list);
  return e;
}
CU(cuLaunchKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
   unsigned shared, CUstream s, void **args, void **extra) {
  return launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, s, args, extra, false);
}
CU(cuLaunchCooperativeKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
   unsigned bz, unsigned shared, CUstream s, void **args) {
  return launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, s, args, NULL, true);
}
CU(cuFuncSetAttribute, CUfunction f, int attribute, int value) {
  return (void)f, (void)attribute, (void)value, cudaSuccess;
}
CU(cuFuncSetCacheConfig, CUfunction f, int config) { return (void)f, (void)config, cudaSuccess; }

/* ---- streams, events --------------------------------------------------------------------------------------------*/
CU(cuStreamCreate, CUstream *s, unsigned flags) { return (CUresult)cudaStreamCreateWithFlags(s, flags); }
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

/* Calls that have other structs or parameters in another version of the runtime. A program that another compiler has
 * built asks the loader for the library of its version, libcudart.so.13 for one, and `mxrun exec` has a library under
 * each such name: from that the version is known (version.c). */
#include "rt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

cudaError_t cudaGetDeviceProperties(void *out, int device);
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t from, cudaEvent_t to);

/* Version 13 has left fields of this struct out. So fields are copied one by one to their new places, and from a
 * certain one on the rest as a whole. */
#define FROM(field_) offsetof(struct cudaDeviceProp, field_)
static const struct {
  size_t to, from, bytes;
} moves13[] = {
    {0, 0, FROM(clockRate)},
    {352, FROM(totalConstMem), FROM(deviceOverlap) - FROM(totalConstMem)},
    {384, FROM(multiProcessorCount), 4},
    {388, FROM(integrated), 8},
    {396, FROM(maxTexture1D), 8},
    {404, FROM(maxTexture2D), 148},
    {552, FROM(surfaceAlignment), FROM(memoryClockRate) - FROM(surfaceAlignment)},
    {592, FROM(memoryBusWidth), FROM(sharedMemPerMultiprocessor) - FROM(memoryBusWidth)},
    {624, FROM(sharedMemPerMultiprocessor), FROM(singleToDoublePrecisionPerfRatio) - FROM(sharedMemPerMultiprocessor)},
    {652, FROM(pageableMemoryAccess), FROM(cooperativeMultiDeviceLaunch) - FROM(pageableMemoryAccess)},
    {672, FROM(sharedMemPerBlockOptin), FROM(reserved) - FROM(sharedMemPerBlockOptin)},
};
enum { BYTES13 = 1008 };

/* Programs of version 12 call it under this name with the suffix _v2; in version 11 the struct ended earlier. */
cudaError_t cudaGetDeviceProperties(void *out, int device) {
  struct cudaDeviceProp p;
  if (!out) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGetDeviceProperties_v2(&p, device);
  if (e != cudaSuccess) return e;
  if (!rt_is_version_13()) {
    memcpy(out, &p, FROM(hostRegisterSupported));
    return cudaSuccess;
  }
  memset(out, 0, BYTES13);
  for (size_t k = 0; k < sizeof moves13 / sizeof *moves13; k++)
    memcpy((char *)out + moves13[k].to, (const char *)&p + moves13[k].from, moves13[k].bytes);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t from, cudaEvent_t to) {
  return cudaEventElapsedTime(ms, from, to);
}

/* ---- small things that programs ask for before they decide what to do -------------------------------------------*/
cudaError_t cudaFuncGetName(const char **name, const void *function) {
  struct rt_function *f = rt_find_function(function);
  if (!f || !name) return rt_error(cudaErrorInvalidDeviceFunction);
  *name = f->name;
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t s, int *device) {
  struct rt_device *d = rt_stream_device(s);
  if (!d || !device) return rt_error(cudaErrorInvalidValue);
  *device = d->number;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int source, int target) {
  if (!value || source == target) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaDeviceCanAccessPeer(value, source, target);
  if (attribute == cudaDevP2PAttrPerformanceRank) *value = 0;
  return e;
}

/* Finds a call of the driver's API by its name; of several forms the newest, whose suffix has the greatest number. */
static cudaError_t entry_point(const char *name, void **function, enum cudaDriverEntryPointQueryResult *result) {
  char text[128];
  void *found = NULL;
  if (!name || !function || strlen(name) > sizeof text - 8) return rt_error(cudaErrorInvalidValue);
  for (int version = 4; version >= 1 && !found; version--) {
    snprintf(text, sizeof text, version > 1 ? "%s_v%d" : "%s", name, version);
    found = dlsym(RTLD_DEFAULT, text);
  }
  *function = found;
  if (result) *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return found || result ? cudaSuccess : rt_error(cudaErrorSymbolNotFound);
}
cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *result) {
  return (void)flags, entry_point(name, function, result);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *result) {
  return (void)version, (void)flags, entry_point(name, function, result);
}

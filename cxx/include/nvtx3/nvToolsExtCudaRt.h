/* Gives devices, streams and events names for a profiler. The calls do nothing here. */
#ifndef MX_CXX_NVTX_CUDART_H
#define MX_CXX_NVTX_CUDART_H
#include "mx/runtime.h"
#include "nvtx3/nvToolsExt.h"

static inline void nvtxNameCudaDeviceA(int device, const char *name) { (void)device, (void)name; }
static inline void nvtxNameCudaStreamA(cudaStream_t stream, const char *name) { (void)stream, (void)name; }
static inline void nvtxNameCudaEventA(cudaEvent_t event, const char *name) { (void)event, (void)name; }
#endif

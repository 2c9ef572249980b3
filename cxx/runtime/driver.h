/* What the files of the driver's API share: its handles, which are the runtime's. */
#ifndef MX_CXX_RT_DRIVER_H
#define MX_CXX_RT_DRIVER_H
#include "cxx/include/mx/driver.h"
#include "rt.h"

typedef int CUresult;
typedef struct rt_device *CUcontext;
typedef mx_module *CUmodule;
typedef mx_kernel *CUfunction;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;

/* Defines a call of the driver's API; the declaration before it keeps the compiler from warning that there is none. */
#define CU(name_, ...) \
  CUresult name_(__VA_ARGS__); \
  CUresult name_(__VA_ARGS__)
/* driver.c: calls that other files here use */
CUresult cuModuleLoadDataEx(CUmodule *module, const void *data, unsigned n, CUjit_option *options, void **values);
CUresult cuModuleLoad(CUmodule *module, const char *path);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *bytes, CUmodule module, const char *name);
CUresult cuFuncGetName(const char **name, CUfunction f);
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction f);
CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value);
#define POINTER(a_) ((void *)(uintptr_t)(a_))

#endif

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

/* Each is declared and defined: nobody here calls them. */
#define CU(name_, ...) \
  CUresult name_(__VA_ARGS__); \
  CUresult name_(__VA_ARGS__)
#define POINTER(a_) ((void *)(uintptr_t)(a_))

#endif

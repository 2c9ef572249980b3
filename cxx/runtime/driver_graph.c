/* The driver's API for graphs, capture, libraries and pools: the runtime's calls under other names, since handles are
 * the same. What differs is what a kernel is, and how copies of rows and boxes are described. */
#include "driver.h"
#include "graph_nodes.h"

#include <string.h>

#define SAME(name_, runtime_, parameters_, ...) \
  CUresult name_ parameters_; \
  CUresult name_ parameters_ { return (CUresult)runtime_(__VA_ARGS__); }

/* ---- capture, graphs, instances ---------------------------------------------------------------------------------*/
SAME(cuStreamBeginCapture_v2, cudaStreamBeginCapture, (CUstream s, enum cudaStreamCaptureMode mode), s, mode)
SAME(cuStreamEndCapture, cudaStreamEndCapture, (CUstream s, cudaGraph_t *graph), s, graph)
SAME(cuStreamIsCapturing, cudaStreamIsCapturing, (CUstream s, enum cudaStreamCaptureStatus *status), s, status)
SAME(cuStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v2,
     (CUstream s, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
      const cudaGraphNode_t **last, size_t *n),
     s, status, id, graph, last, n)
SAME(cuThreadExchangeStreamCaptureMode, cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode), mode)
SAME(cuGraphCreate, cudaGraphCreate, (cudaGraph_t * graph, unsigned flags), graph, flags)
SAME(cuGraphDestroy, cudaGraphDestroy, (cudaGraph_t graph), graph)
SAME(cuGraphClone, cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), clone, graph)
SAME(cuGraphInstantiateWithFlags, cudaGraphInstantiateWithFlags,
     (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags), exec, graph, flags)
SAME(cuGraphInstantiate_v2, cudaGraphInstantiateWithFlags,
     (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphNode_t *wrong, char *log, size_t room),
     ((void)wrong, (void)log, (void)room, exec), graph, 0)
SAME(cuGraphInstantiateWithParams, cudaGraphInstantiateWithParams,
     (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params), exec, graph, params)
SAME(cuGraphLaunch, cudaGraphLaunch, (cudaGraphExec_t exec, CUstream s), exec, s)
SAME(cuGraphUpload, cudaGraphUpload, (cudaGraphExec_t exec, CUstream s), exec, s)
SAME(cuGraphExecDestroy, cudaGraphExecDestroy, (cudaGraphExec_t exec), exec)
SAME(cuGraphExecGetFlags, cudaGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long *flags), exec, flags)
SAME(cuGraphExecUpdate_v2, cudaGraphExecUpdate,
     (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result), exec, graph, result)
SAME(cuGraphDebugDotPrint, cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned flags), graph, path,
     flags)

/* ---- nodes ------------------------------------------------------------------------------------------------------*/
#define NODE cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n
SAME(cuGraphAddEmptyNode, cudaGraphAddEmptyNode, (NODE), node, graph, from, n)
SAME(cuGraphAddHostNode, cudaGraphAddHostNode, (NODE, const struct cudaHostNodeParams *params), node, graph, from, n,
     params)
SAME(cuGraphAddChildGraphNode, cudaGraphAddChildGraphNode, (NODE, cudaGraph_t child), node, graph, from, n, child)
SAME(cuGraphAddEventRecordNode, cudaGraphAddEventRecordNode, (NODE, CUevent event), node, graph, from, n, event)
SAME(cuGraphAddEventWaitNode, cudaGraphAddEventWaitNode, (NODE, CUevent event), node, graph, from, n, event)
SAME(cuGraphAddMemFreeNode, cudaGraphAddMemFreeNode, (NODE, CUdeviceptr p), node, graph, from, n, POINTER(p))
SAME(cuGraphAddMemAllocNode, cudaGraphAddMemAllocNode, (NODE, struct cudaMemAllocNodeParams *params), node, graph, from,
     n, params)
SAME(cuGraphAddDependencies, cudaGraphAddDependencies,
     (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n), graph, from, to, n, n)
SAME(cuGraphAddDependencies_v2, cudaGraphAddDependencies,
     (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const void *edges, size_t n),
     ((void)edges, graph), from, to, n, n)
SAME(cuGraphRemoveDependencies, cudaGraphRemoveDependencies,
     (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n), graph, from, to, n, n)
SAME(cuGraphDestroyNode, cudaGraphDestroyNode, (cudaGraphNode_t node), node)
SAME(cuGraphGetNodes, cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n), graph, nodes, n)
SAME(cuGraphGetRootNodes, cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n), graph, nodes,
     n)
SAME(cuGraphNodeGetType, cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type), node, type)
SAME(cuGraphNodeFindInClone, cudaGraphNodeFindInClone,
     (cudaGraphNode_t * found, cudaGraphNode_t origin, cudaGraph_t clone), found, origin, clone)
SAME(cuGraphNodeSetEnabled, cudaGraphNodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled),
     exec, node, enabled)
SAME(cuGraphNodeGetEnabled, cudaGraphNodeGetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled),
     exec, node, enabled)
SAME(cuGraphHostNodeGetParams, cudaGraphHostNodeGetParams, (cudaGraphNode_t node, struct cudaHostNodeParams *params),
     node, params)
SAME(cuGraphHostNodeSetParams, cudaGraphHostNodeSetParams,
     (cudaGraphNode_t node, const struct cudaHostNodeParams *params), node, params)
SAME(cuGraphChildGraphNodeGetGraph, cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph), node,
     graph)

/* ---- nodes of kernels -------------------------------------------------------------------------------------------*/
static cudaError_t set_kernel(cudaGraphNode_t x, const CUDA_KERNEL_NODE_PARAMS *p) {
  struct rt_device *d = rt_current();
  if (!x || x->type != cudaGraphNodeTypeKernel || !p || !p->func || !d) return rt_error(cudaErrorInvalidValue);
  if (p->extra) return rt_missing("a kernel's parameters in CUDA_KERNEL_NODE_PARAMS.extra");
  const struct rt_grid g = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                            .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                            .shared = p->sharedMemBytes};
  return rt_set_call(&x->kernel, d, p->func, (CUfunction)(void *)p->func, &g, p->kernelParams);
}
CU(cuGraphAddKernelNode_v2, NODE, const CUDA_KERNEL_NODE_PARAMS *params) {
  cudaError_t e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeKernel);
  if (e == cudaSuccess && (e = set_kernel(*node, params)) != cudaSuccess) rt_take_back(*node);
  return (CUresult)e;
}
CU(cuGraphAddKernelNode, NODE, const CUDA_KERNEL_NODE_PARAMS *params) {
  return cuGraphAddKernelNode_v2(node, graph, from, n, params);
}
CU(cuGraphKernelNodeSetParams_v2, cudaGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS *params) {
  return (CUresult)set_kernel(node, params);
}
CU(cuGraphExecKernelNodeSetParams_v2, cudaGraphExec_t exec, cudaGraphNode_t node,
   const CUDA_KERNEL_NODE_PARAMS *params) {
  return (CUresult)set_kernel(rt_node_of_exec(exec, node), params);
}
/* Older programs' structure ends before the last two fields. */
CU(cuGraphKernelNodeGetParams_v2, cudaGraphNode_t x, CUDA_KERNEL_NODE_PARAMS *p) {
  if (!x || !p || x->type != cudaGraphNodeTypeKernel) return cudaErrorInvalidValue;
  const struct rt_grid *g = &x->kernel.g;
  *p = (CUDA_KERNEL_NODE_PARAMS){
      (void *)x->kernel.kernel, g->grid.x,      g->grid.y, g->grid.z, g->block.x, g->block.y, g->block.z,
      (unsigned)g->shared,      x->kernel.args, NULL,      NULL,      NULL};
  return cudaSuccess;
}

/* ---- nodes of copies and fills ----------------------------------------------------------------------------------*/
CU(cuGraphAddMemsetNode, NODE, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context) {
  if (!p) return cudaErrorInvalidValue;
  const struct cudaMemsetParams q = {POINTER(p->dst), p->pitch, p->value, p->elementSize, p->width, p->height};
  return (void)context, (CUresult)cudaGraphAddMemsetNode(node, graph, from, n, &q);
}
/* A place is the host's or the device's, which is one number here; arrays are copied by the runtime's nodes. */
CU(cuGraphAddMemcpyNode, NODE, const CUDA_MEMCPY3D *p, CUcontext context) {
  (void)context;
  if (!p) return cudaErrorInvalidValue;
  if (p->srcMemoryType == CU_MEMORYTYPE_ARRAY || p->dstMemoryType == CU_MEMORYTYPE_ARRAY || p->srcLOD || p->dstLOD)
    return (CUresult)rt_missing("cuGraphAddMemcpyNode of an array");
  void *source = p->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)p->srcHost : POINTER(p->srcDevice);
  void *target = p->dstMemoryType == CU_MEMORYTYPE_HOST ? p->dstHost : POINTER(p->dstDevice);
  const size_t width = p->WidthInBytes;
  const struct cudaMemcpy3DParms q = {
      .srcPos = {p->srcXInBytes, p->srcY, p->srcZ},
      .srcPtr = {source, p->srcPitch ? p->srcPitch : width, width, p->srcHeight ? p->srcHeight : p->Height},
      .dstPos = {p->dstXInBytes, p->dstY, p->dstZ},
      .dstPtr = {target, p->dstPitch ? p->dstPitch : width, width, p->dstHeight ? p->dstHeight : p->Height},
      .extent = {width, p->Height, p->Depth},
      .kind = cudaMemcpyDefault};
  return (CUresult)cudaGraphAddMemcpyNode(node, graph, from, n, &q);
}

/* ---- libraries: modules, and kernels that are functions already --------------------------------------------------*/
CU(cuLibraryLoadData, CUmodule *library, const void *code, CUjit_option *options, void **values, unsigned n, int *more,
   void **morevalues, unsigned m) {
  (void)more, (void)morevalues, (void)m;
  return cuModuleLoadDataEx(library, code, n, options, values);
}
CU(cuLibraryLoadFromFile, CUmodule *library, const char *path, CUjit_option *options, void **values, unsigned n,
   int *more, void **morevalues, unsigned m) {
  (void)options, (void)values, (void)n, (void)more, (void)morevalues, (void)m;
  return cuModuleLoad(library, path);
}
CU(cuLibraryUnload, CUmodule library) { return cuModuleUnload(library); }
CU(cuLibraryGetKernel, CUfunction *kernel, CUmodule library, const char *name) {
  return cuModuleGetFunction(kernel, library, name);
}
CU(cuLibraryGetModule, CUmodule *module, CUmodule library) {
  return module && library ? *module = library, cudaSuccess : cudaErrorInvalidValue;
}
CU(cuLibraryGetGlobal, CUdeviceptr *p, size_t *bytes, CUmodule library, const char *name) {
  return cuModuleGetGlobal_v2(p, bytes, library, name);
}
CU(cuLibraryGetManaged, CUdeviceptr *p, size_t *bytes, CUmodule library, const char *name) {
  return cuModuleGetGlobal_v2(p, bytes, library, name);
}
CU(cuModuleGetFunctionCount, unsigned *n, CUmodule module) {
  return n && module ? *n = (unsigned)mx_module_kernel_count(module), cudaSuccess : cudaErrorInvalidValue;
}
CU(cuModuleEnumerateFunctions, CUfunction *functions, unsigned n, CUmodule module) {
  if (!functions || !module) return cudaErrorInvalidValue;
  for (unsigned k = 0; k < n; k++) functions[k] = mx_module_kernel_at(module, k);
  return cudaSuccess;
}
CU(cuLibraryGetKernelCount, unsigned *n, CUmodule library) { return cuModuleGetFunctionCount(n, library); }
CU(cuLibraryEnumerateKernels, CUfunction *kernels, unsigned n, CUmodule library) {
  return cuModuleEnumerateFunctions(kernels, n, library);
}
CU(cuKernelGetFunction, CUfunction *function, CUfunction kernel) {
  return function && kernel ? *function = kernel, cudaSuccess : cudaErrorInvalidValue;
}
CU(cuKernelGetName, const char **name, CUfunction kernel) { return cuFuncGetName(name, kernel); }
CU(cuKernelGetAttribute, int *value, CUfunction_attribute attribute, CUfunction kernel, CUdevice device) {
  return (void)device, cuFuncGetAttribute(value, attribute, kernel);
}
CU(cuKernelSetAttribute, CUfunction_attribute attribute, int value, CUfunction kernel, CUdevice device) {
  return (void)device, cuFuncSetAttribute(kernel, (int)attribute, value);
}
CU(cuFuncIsLoaded, int *loaded, CUfunction f) { return loaded && f ? *loaded = 1, cudaSuccess : cudaErrorInvalidValue; }
CU(cuFuncLoad, CUfunction f) { return f ? cudaSuccess : cudaErrorInvalidValue; }
CU(cuModuleGetLoadingMode, int *mode) { return mode ? *mode = 2 /* lazy */, cudaSuccess : cudaErrorInvalidValue; }

/* ---- pools ------------------------------------------------------------------------------------------------------*/
SAME(cuDeviceGetDefaultMemPool, cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, CUdevice device), pool, device)
SAME(cuDeviceGetMemPool, cudaDeviceGetMemPool, (cudaMemPool_t * pool, CUdevice device), pool, device)
SAME(cuDeviceSetMemPool, cudaDeviceSetMemPool, (CUdevice device, cudaMemPool_t pool), device, pool)
SAME(cuMemPoolCreate, cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *props), pool, props)
SAME(cuMemPoolDestroy, cudaMemPoolDestroy, (cudaMemPool_t pool), pool)
SAME(cuMemPoolTrimTo, cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), pool, keep)
SAME(cuMemPoolSetAttribute, cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr what, void *value), pool,
     what, value)
SAME(cuMemPoolGetAttribute, cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr what, void *value), pool,
     what, value)
SAME(cuMemPoolSetAccess, cudaMemPoolSetAccess, (cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t n),
     pool, list, n)
CU(cuMemAllocFromPoolAsync, CUdeviceptr *p, size_t bytes, cudaMemPool_t pool, CUstream s) {
  void *memory = NULL;
  const cudaError_t e = p ? cudaMallocFromPoolAsync(&memory, bytes, pool, s) : rt_error(cudaErrorInvalidValue);
  if (e == cudaSuccess) *p = (uintptr_t)memory;
  return (CUresult)e;
}

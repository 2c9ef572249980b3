/* Calls that read or change graphs and their nodes after they have been made. */
#include "graph_nodes.h"

#include <stdio.h>
#include <string.h>

/* ---- parameters of nodes ----------------------------------------------------------------------------------------*/
static cudaGraphNode_t of_type(cudaGraphNode_t x, enum cudaGraphNodeType type) {
  return x && x->type == type ? x : NULL;
}

/* For each kind of node whose parameters are one structure: asking for them, and setting them in a graph and in an
 * instance. */
#define PARAMETERS(kind_, type_, member_) \
  cudaError_t cudaGraph##kind_##NodeGetParams(cudaGraphNode_t node, type_ *params) { \
    const struct CUgraphNode_st *x = of_type(node, cudaGraphNodeType##kind_); \
    return x && params ? *params = x->member_, cudaSuccess : rt_error(cudaErrorInvalidValue); \
  } \
  cudaError_t cudaGraph##kind_##NodeSetParams(cudaGraphNode_t node, const type_ *params) { \
    cudaGraphNode_t x = of_type(node, cudaGraphNodeType##kind_); \
    return x && params ? x->member_ = *params, cudaSuccess : rt_error(cudaErrorInvalidValue); \
  } \
  cudaError_t cudaGraphExec##kind_##NodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const type_ *params) { \
    return cudaGraph##kind_##NodeSetParams(rt_node_of_exec(exec, node), params); \
  }
PARAMETERS(Memcpy, struct cudaMemcpy3DParms, copy)
PARAMETERS(Memset, struct cudaMemsetParams, fill)
PARAMETERS(Host, struct cudaHostNodeParams, host)
#undef PARAMETERS

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t count,
                                           enum cudaMemcpyKind kind) {
  const struct cudaMemcpy3DParms p = rt_line(to, from, count, kind);
  return cudaGraphMemcpyNodeSetParams(node, &p);
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from,
                                               size_t count, enum cudaMemcpyKind kind) {
  return cudaGraphMemcpyNodeSetParams1D(rt_node_of_exec(exec, node), to, from, count, kind);
}
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *from,
                                                 size_t count, size_t offset, enum cudaMemcpyKind kind) {
  void *at;
  cudaError_t e = cudaGetSymbolAddress(&at, symbol);
  return e == cudaSuccess ? cudaGraphMemcpyNodeSetParams1D(node, (char *)at + offset, from, count, kind) : e;
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to, const void *symbol, size_t count,
                                                   size_t offset, enum cudaMemcpyKind kind) {
  void *at;
  cudaError_t e = cudaGetSymbolAddress(&at, symbol);
  return e == cudaSuccess ? cudaGraphMemcpyNodeSetParams1D(node, to, (char *)at + offset, count, kind) : e;
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol,
                                                     const void *from, size_t count, size_t offset,
                                                     enum cudaMemcpyKind kind) {
  return cudaGraphMemcpyNodeSetParamsToSymbol(rt_node_of_exec(exec, node), symbol, from, count, offset, kind);
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                       const void *symbol, size_t count, size_t offset,
                                                       enum cudaMemcpyKind kind) {
  return cudaGraphMemcpyNodeSetParamsFromSymbol(rt_node_of_exec(exec, node), to, symbol, count, offset, kind);
}

#define EVENT(kind_) \
  cudaError_t cudaGraphEvent##kind_##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) { \
    const struct CUgraphNode_st *x = of_type(node, TYPE_##kind_); \
    return x && event ? *event = x->event, cudaSuccess : rt_error(cudaErrorInvalidValue); \
  } \
  cudaError_t cudaGraphEvent##kind_##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) { \
    cudaGraphNode_t x = of_type(node, TYPE_##kind_); \
    return x && event ? x->event = event, cudaSuccess : rt_error(cudaErrorInvalidValue); \
  } \
  cudaError_t cudaGraphExecEvent##kind_##NodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) { \
    return cudaGraphEvent##kind_##NodeSetEvent(rt_node_of_exec(exec, node), event); \
  }
#define TYPE_Record cudaGraphNodeTypeEventRecord
#define TYPE_Wait cudaGraphNodeTypeWaitEvent
EVENT(Record)
EVENT(Wait)
#undef EVENT

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
  const struct CUgraphNode_st *x = of_type(node, cudaGraphNodeTypeGraph);
  return x && graph ? *graph = x->child, cudaSuccess : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  cudaGraphNode_t x = of_type(rt_node_of_exec(exec, node), cudaGraphNodeTypeGraph);
  cudaGraph_t copy;
  if (!x) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGraphClone(&copy, child);
  if (e == cudaSuccess) cudaGraphDestroy(x->child), x->child = copy;
  return e;
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, enum cudaLaunchAttributeID id,
                                            const cudaLaunchAttributeValue *value) {
  cudaGraphNode_t x = of_type(node, cudaGraphNodeTypeKernel);
  if (!x || !value) return rt_error(cudaErrorInvalidValue);
  const cudaLaunchAttribute a = {.id = id, .val = *value};
  rt_launch_attributes(&x->kernel.g, &a, 1);
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, enum cudaLaunchAttributeID id,
                                            cudaLaunchAttributeValue *value) {
  const struct CUgraphNode_st *x = of_type(node, cudaGraphNodeTypeKernel);
  if (!x || !value) return rt_error(cudaErrorInvalidValue);
  *value = (cudaLaunchAttributeValue){{0}};
  if (id == cudaLaunchAttributeCooperative) value->cooperative = x->kernel.g.cooperative;
  if (id == cudaLaunchAttributeClusterDimension) {
    const uint32_t *c = x->kernel.g.cluster;
    value->clusterDim.x = c[0], value->clusterDim.y = c[1], value->clusterDim.z = c[2];
  }
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  if (!of_type(to, cudaGraphNodeTypeKernel) || !of_type(from, cudaGraphNodeTypeKernel))
    return rt_error(cudaErrorInvalidValue);
  to->kernel.g.cooperative = from->kernel.g.cooperative;
  memcpy(to->kernel.g.cluster, from->kernel.g.cluster, sizeof to->kernel.g.cluster);
  return cudaSuccess;
}

/* ---- nodes and edges --------------------------------------------------------------------------------------------*/
static cudaError_t answer(cudaGraphNode_t *out, size_t room, size_t found, size_t *n) {
  for (size_t k = found; out && k < room; k++) out[k] = NULL;
  if (!out || found < room) *n = found;
  return cudaSuccess;
}

/* Version 13 has data of the edges before their number. */
#define NUMBER(third_, fourth_) (size_t *)(rt_is_version_13() ? (fourth_) : (third_))
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *out, void *third, void *fourth) {
  size_t *n = NUMBER(third, fourth);
  if (!node || !n) return rt_error(cudaErrorInvalidValue);
  for (size_t k = 0; out && k < node->n && k < *n; k++) out[k] = node->from[k];
  return answer(out, *n, node->n, n);
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *out, void *third, void *fourth) {
  size_t *n = NUMBER(third, fourth), found = 0;
  if (!node || !n) return rt_error(cudaErrorInvalidValue);
  for (size_t k = 0; k < node->graph->n; k++)
    for (size_t i = 0; i < node->graph->node[k]->n; i++) {
      if (node->graph->node[k]->from[i] != node) continue;
      if (out && found < *n) out[found] = node->graph->node[k];
      found++;
    }
  return answer(out, *n, found, n);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, void *fourth, void *fifth) {
  size_t *n = NUMBER(fourth, fifth), found = 0;
  if (!g || !n || !from != !to) return rt_error(cudaErrorInvalidValue);
  for (size_t k = 0; k < g->n; k++)
    for (size_t i = 0; i < g->node[k]->n; i++, found++)
      if (from && found < *n) from[found] = g->node[k]->from[i], to[found] = g->node[k];
  const size_t room = *n;
  answer(from, room, found, n);
  return answer(to, room, found, n);
}

static bool cut(cudaGraphNode_t from, cudaGraphNode_t to) {
  for (size_t k = 0; k < to->n; k++)
    if (to->from[k] == from) {
      for (to->n--; k < to->n; k++) to->from[k] = to->from[k + 1];
      return true;
    }
  return false;
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        uintptr_t fourth, size_t fifth) {
  const size_t n = rt_is_version_13() ? fifth : fourth;
  for (size_t k = 0; k < n; k++)
    if (!g || !from || !to || !from[k] || !to[k] || !cut(from[k], to[k])) return rt_error(cudaErrorInvalidValue);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  if (!node) return rt_error(cudaErrorInvalidValue);
  cudaGraph_t g = node->graph;
  size_t k = 0;
  for (size_t i = 0; i < g->n; i++) cut(node, g->node[i]);
  while (k < g->n && g->node[k] != node) k++;
  if (k == g->n) return rt_error(cudaErrorInvalidValue);
  for (g->n--; k < g->n; k++) g->node[k] = g->node[k + 1];
  rt_release_node(node);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *found, cudaGraphNode_t origin, cudaGraph_t clone) {
  for (size_t k = 0; found && clone && k < clone->n; k++)
    if (clone->node[k]->origin == origin) return *found = clone->node[k], cudaSuccess;
  return rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled) {
  cudaGraphNode_t x = rt_node_of_exec(exec, node);
  return x ? x->disabled = !enabled, cudaSuccess : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled) {
  const struct CUgraphNode_st *x = rt_node_of_exec(exec, node);
  return x && enabled ? *enabled = !x->disabled, cudaSuccess : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *p) {
  if (!p) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGraphInstantiateWithFlags(exec, graph, p->flags);
  p->errNode_out = NULL;
  p->result_out = e == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return e;
}
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
  return exec && flags ? *flags = 0, cudaSuccess : rt_error(cudaErrorInvalidValue);
}

/* ---- memory -----------------------------------------------------------------------------------------------------*/
/* A node's memory has its address when the node is made, and is kept until the program frees it or resets the device:
 * every launch of the graph has the same. */
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                     struct cudaMemAllocNodeParams *p) {
  if (!p) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaMalloc(&p->dptr, p->bytesize);
  if (e != cudaSuccess) return e;
  if ((e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeMemAlloc)) != cudaSuccess) return cudaFree(p->dptr), e;
  (*node)->memory = *p;
  return cudaSuccess;
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                    void *memory) {
  cudaError_t e = memory ? rt_add_node(node, graph, from, n, cudaGraphNodeTypeMemFree) : cudaErrorInvalidValue;
  if (e == cudaSuccess) (*node)->memory = (struct cudaMemAllocNodeParams){.dptr = memory};
  return rt_error(e);
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params) {
  const struct CUgraphNode_st *x = of_type(node, cudaGraphNodeTypeMemAlloc);
  return x && params ? *params = x->memory, cudaSuccess : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *memory) {
  const struct CUgraphNode_st *x = of_type(node, cudaGraphNodeTypeMemFree);
  return x && memory ? *(void **)memory = x->memory.dptr, cudaSuccess : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return device >= 0 && device < rt_device_count() ? cudaSuccess : rt_error(cudaErrorInvalidDevice);
}

/* ---- for people -------------------------------------------------------------------------------------------------*/
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t g, const char *path, unsigned int flags) {
  static const char *const names[] = {"kernel", "memcpy", "memset", "host", "graph", "empty", "wait", "record"};
  FILE *f = g && path ? fopen(path, "w") : NULL;
  (void)flags;
  if (!f) return rt_error(g && path ? cudaErrorOperatingSystem : cudaErrorInvalidValue);
  fprintf(f, "digraph graph_1 {\n");
  for (size_t k = 0; k < g->n; k++) {
    cudaGraphNode_t x = g->node[k];
    const char *kernel = NULL;
    if (x->type == cudaGraphNodeTypeKernel) cudaFuncGetName(&kernel, x->kernel.function);
    fprintf(f, "  n%zu [label=\"%s\"];\n", k,
            kernel                                           ? kernel
            : (size_t)x->type < sizeof names / sizeof *names ? names[x->type]
            : x->type == cudaGraphNodeTypeMemAlloc           ? "allocate"
                                                             : "free");
  }
  for (size_t k = 0; k < g->n; k++)
    for (size_t i = 0; i < g->node[k]->n; i++)
      for (size_t from = 0; from < g->n; from++)
        if (g->node[from] == g->node[k]->from[i]) fprintf(f, "  n%zu -> n%zu;\n", from, k);
  fprintf(f, "}\n");
  return fclose(f) ? rt_error(cudaErrorOperatingSystem) : cudaSuccess;
}

/* cudaGraphAddNode and the like: nodes of any kind by one call, whose parameters are a union with the kind before it.
 */
#include "graph_nodes.h"

static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                       struct cudaGraphNodeParams *p) {
  if (!p) return rt_error(cudaErrorInvalidValue);
  switch (p->type) {
  case cudaGraphNodeTypeKernel: return cudaGraphAddKernelNode(node, graph, from, n, &p->kernel);
  case cudaGraphNodeTypeMemcpy: return cudaGraphAddMemcpyNode(node, graph, from, n, &p->memcpy.copyParams);
  case cudaGraphNodeTypeMemset: return cudaGraphAddMemsetNode(node, graph, from, n, &p->memset);
  case cudaGraphNodeTypeHost: return cudaGraphAddHostNode(node, graph, from, n, &p->host);
  case cudaGraphNodeTypeGraph: return cudaGraphAddChildGraphNode(node, graph, from, n, p->graph.graph);
  case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(node, graph, from, n);
  case cudaGraphNodeTypeWaitEvent: return cudaGraphAddEventWaitNode(node, graph, from, n, p->eventWait.event);
  case cudaGraphNodeTypeEventRecord: return cudaGraphAddEventRecordNode(node, graph, from, n, p->eventRecord.event);
  case cudaGraphNodeTypeMemAlloc: return cudaGraphAddMemAllocNode(node, graph, from, n, &p->alloc);
  case cudaGraphNodeTypeMemFree: return cudaGraphAddMemFreeNode(node, graph, from, n, p->free.dptr);
  }
  return rt_missing("a node of this kind in cudaGraphAddNode");
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, uintptr_t fourth,
                             void *fifth, struct cudaGraphNodeParams *sixth) {
  return rt_is_version_13() ? add(node, graph, from, (uintptr_t)fifth, sixth) : add(node, graph, from, fourth, fifth);
}
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                const void *edges, size_t n, struct cudaGraphNodeParams *params);
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                const void *edges, size_t n, struct cudaGraphNodeParams *params) {
  return (void)edges, add(node, graph, from, n, params);
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p) {
  if (!node || !p || node->type != p->type) return rt_error(cudaErrorInvalidValue);
  switch (p->type) {
  case cudaGraphNodeTypeKernel: return cudaGraphKernelNodeSetParams(node, &p->kernel);
  case cudaGraphNodeTypeMemcpy: return cudaGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams);
  case cudaGraphNodeTypeMemset: return cudaGraphMemsetNodeSetParams(node, &p->memset);
  case cudaGraphNodeTypeHost: return cudaGraphHostNodeSetParams(node, &p->host);
  case cudaGraphNodeTypeWaitEvent: return cudaGraphEventWaitNodeSetEvent(node, p->eventWait.event);
  case cudaGraphNodeTypeEventRecord: return cudaGraphEventRecordNodeSetEvent(node, p->eventRecord.event);
  case cudaGraphNodeTypeEmpty: return cudaSuccess;
  default: return rt_missing("a node of this kind in cudaGraphNodeSetParams");
  }
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *p) {
  if (p && p->type == cudaGraphNodeTypeGraph) return cudaGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
  return cudaGraphNodeSetParams(rt_node_of_exec(exec, node), p);
}

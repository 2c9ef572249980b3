/* Graphs of work: made node by node, or by capture, from the work that streams are given meanwhile. An instance
 * (cudaGraphExec_t) is a copy of the nodes in topological order; a launch gives them to one stream in that order. */
#include "graph_nodes.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ------------------------------------------------------------------------------------------------------*/
void rt_release_node(cudaGraphNode_t x) {
  if (x->type == cudaGraphNodeTypeKernel) free(x->kernel.args);
  if (x->type == cudaGraphNodeTypeGraph && x->child) cudaGraphDestroy(x->child);
  free(x->from);
  free(x);
}

static bool set_from(cudaGraphNode_t x, const cudaGraphNode_t *from, size_t n) {
  cudaGraphNode_t *more = realloc(x->from, (x->n + n + 1) * sizeof *more);
  if (!more) return false;
  x->from = more;
  for (size_t k = 0; k < n; k++) x->from[x->n++] = from[k];
  return true;
}

cudaError_t rt_add_node(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *from, size_t n,
                        enum cudaGraphNodeType type) {
  if (!node || !g || (n && !from)) return rt_error(cudaErrorInvalidValue);
  cudaGraphNode_t x = calloc(1, sizeof *x);
  if (x && g->n == g->room) {
    cudaGraphNode_t *more = realloc(g->node, (2 * g->room + 8) * sizeof *more);
    if (more) g->node = more, g->room = 2 * g->room + 8;
  }
  if (!x || g->n == g->room || !set_from(x, from, n)) return free(x), rt_error(cudaErrorMemoryAllocation);
  x->graph = g;
  x->type = type;
  *node = g->node[g->n++] = x;
  return cudaSuccess;
}

void rt_take_back(cudaGraphNode_t x) { /* the one that was added last */
  x->graph->n--;
  rt_release_node(x);
}

/* Parameters are copied, since the program may reuse their memory before the graph is launched. */
cudaError_t rt_set_call(struct kernel_call *out, struct rt_device *d, const void *function, mx_kernel *k,
                        const struct rt_grid *g, void **args) {
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_param_info p = {.struct_size = sizeof p};
  cudaError_t e = rt_status(d, mx_kernel_get_info(k, &info));
  if (e != cudaSuccess) return e;
  if (!args && info.params) return rt_error(cudaErrorInvalidValue);
  void **own = calloc(1, (info.params + 1) * sizeof *own + info.param_bytes);
  if (!own) return rt_error(cudaErrorMemoryAllocation);
  char *values = (char *)(own + info.params + 1);
  for (uint32_t i = 0; i < info.params; i++) {
    if ((e = rt_status(d, mx_kernel_get_param(k, i, &p))) != cudaSuccess) return free(own), e;
    own[i] = values + p.offset;
    memcpy(own[i], args[i], p.size);
  }
  free(out->args);
  *out = (struct kernel_call){function, k, d, *g, info.params, own};
  return cudaSuccess;
}

static cudaError_t set_kernel(struct kernel_call *out, const struct cudaKernelNodeParams *p) {
  struct rt_device *d = rt_current();
  cudaError_t e;
  if (!p || !d) return rt_error(cudaErrorInvalidValue);
  if (p->extra) return rt_missing("a kernel's parameters in cudaKernelNodeParams.extra");
  mx_kernel *k = rt_kernel(d, p->func, &e);
  const struct rt_grid g = {.grid = p->gridDim, .block = p->blockDim, .shared = p->sharedMemBytes};
  return k ? rt_set_call(out, d, p->func, k, &g, p->kernelParams) : e;
}

struct cudaMemcpy3DParms rt_line(void *to, const void *from, size_t count, enum cudaMemcpyKind kind) {
  return (struct cudaMemcpy3DParms){.srcPtr = {(void *)(uintptr_t)from, count, count, 1},
                                    .dstPtr = {to, count, count, 1},
                                    .extent = {count, count != 0, 1},
                                    .kind = kind};
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                   const struct cudaKernelNodeParams *params) {
  cudaError_t e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeKernel);
  if (e == cudaSuccess && (e = set_kernel(&(*node)->kernel, params)) != cudaSuccess) rt_take_back(*node);
  return e;
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                   const struct cudaMemcpy3DParms *params) {
  if (!params) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeMemcpy);
  if (e == cudaSuccess) (*node)->copy = *params;
  return e;
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                     void *to, const void *source, size_t count, enum cudaMemcpyKind kind) {
  const struct cudaMemcpy3DParms p = rt_line(to, source, count, kind);
  return cudaGraphAddMemcpyNode(node, graph, from, n, &p);
}
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                           size_t n, const void *symbol, const void *source, size_t count,
                                           size_t offset, enum cudaMemcpyKind kind) {
  void *at;
  cudaError_t e = cudaGetSymbolAddress(&at, symbol);
  return e == cudaSuccess ? cudaGraphAddMemcpyNode1D(node, graph, from, n, (char *)at + offset, source, count, kind)
                          : e;
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                             size_t n, void *to, const void *symbol, size_t count, size_t offset,
                                             enum cudaMemcpyKind kind) {
  void *at;
  cudaError_t e = cudaGetSymbolAddress(&at, symbol);
  return e == cudaSuccess ? cudaGraphAddMemcpyNode1D(node, graph, from, n, to, (char *)at + offset, count, kind) : e;
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                   const struct cudaMemsetParams *params) {
  if (!params) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeMemset);
  if (e == cudaSuccess) (*node)->fill = *params;
  return e;
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                 const struct cudaHostNodeParams *params) {
  if (!params || !params->fn) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeHost);
  if (e == cudaSuccess) (*node)->host = *params;
  return e;
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                       cudaGraph_t child) {
  cudaError_t e = child ? rt_add_node(node, graph, from, n, cudaGraphNodeTypeGraph) : rt_error(cudaErrorInvalidValue);
  if (e == cudaSuccess && (e = cudaGraphClone(&(*node)->child, child)) != cudaSuccess) rt_take_back(*node);
  return e;
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n) {
  return rt_add_node(node, graph, from, n, cudaGraphNodeTypeEmpty);
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                        cudaEvent_t event) {
  cudaError_t e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeEventRecord);
  if (e == cudaSuccess) (*node)->event = event;
  return e;
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t n,
                                      cudaEvent_t event) {
  cudaError_t e = rt_add_node(node, graph, from, n, cudaGraphNodeTypeWaitEvent);
  if (e == cudaSuccess) (*node)->event = event;
  return e;
}

/* Version 13 has data of the edges before their number. */
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     uintptr_t fourth, size_t fifth) {
  const size_t n = rt_is_version_13() ? fifth : fourth;
  if (!graph || (n && (!from || !to))) return rt_error(cudaErrorInvalidValue);
  for (size_t k = 0; k < n; k++)
    if (!from[k] || !to[k] || !set_from(to[k], &from[k], 1)) return rt_error(cudaErrorInvalidValue);
  return cudaSuccess;
}

/* ---- graphs -----------------------------------------------------------------------------------------------------*/
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags) {
  if (!graph || flags) return rt_error(cudaErrorInvalidValue);
  *graph = calloc(1, sizeof **graph);
  return *graph ? cudaSuccess : rt_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  if (!g) return rt_error(cudaErrorInvalidValue);
  for (size_t k = 0; k < g->n; k++) rt_release_node(g->node[k]);
  rt_objects_drop(g);
  free(g->node);
  free(g);
  return cudaSuccess;
}

static bool placed(const struct CUgraphNode_st *x, unsigned mark) {
  for (size_t k = 0; k < x->n; k++)
    if (x->from[k]->mark != mark) return false;
  return true;
}

static cudaError_t copy_node(cudaGraph_t to, cudaGraphNode_t x) {
  cudaGraphNode_t y;
  cudaError_t e = rt_add_node(&y, to, NULL, 0, x->type);
  if (e != cudaSuccess) return e;
  y->origin = x;
  y->disabled = x->disabled;
  switch (x->type) {
  case cudaGraphNodeTypeKernel:
    return rt_set_call(&y->kernel, x->kernel.device, x->kernel.function, x->kernel.kernel, &x->kernel.g,
                       x->kernel.args);
  case cudaGraphNodeTypeMemcpy: y->copy = x->copy; break;
  case cudaGraphNodeTypeMemset: y->fill = x->fill; break;
  case cudaGraphNodeTypeHost: y->host = x->host; break;
  case cudaGraphNodeTypeGraph: return cudaGraphClone(&y->child, x->child);
  case cudaGraphNodeTypeWaitEvent:
  case cudaGraphNodeTypeEventRecord: y->event = x->event; break;
  case cudaGraphNodeTypeMemAlloc:
  case cudaGraphNodeTypeMemFree: y->memory = x->memory; break;
  case cudaGraphNodeTypeEmpty: break;
  }
  return cudaSuccess;
}

/* Copies the nodes in topological order; in the copies, dependencies name copies. */
static cudaGraphNode_t copied(cudaGraph_t g, cudaGraphNode_t origin) {
  for (size_t k = 0; g && k < g->n; k++)
    if (g->node[k]->origin == origin) return g->node[k];
  return NULL;
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t g) {
  static _Atomic unsigned marks;
  const unsigned mark = atomic_fetch_add(&marks, 1) + 1;
  cudaGraph_t c;
  if (!g) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGraphCreate(&c, 0);
  if (e != cudaSuccess) return e;
  for (bool more = true; more && e == cudaSuccess && c->n < g->n;) {
    more = false;
    for (size_t k = 0; k < g->n && e == cudaSuccess; k++) {
      cudaGraphNode_t x = g->node[k];
      if (x->mark == mark || !placed(x, mark)) continue;
      x->mark = mark;
      more = true;
      e = copy_node(c, x);
      for (size_t i = 0; i < x->n && e == cudaSuccess; i++) {
        cudaGraphNode_t from = copied(c, x->from[i]);
        if (!set_from(c->node[c->n - 1], &from, 1)) e = rt_error(cudaErrorMemoryAllocation);
      }
    }
  }
  if (e == cudaSuccess && c->n < g->n) e = rt_error(cudaErrorInvalidValue); /* a cycle */
  if (e == cudaSuccess) e = rt_objects_copy(c, g);
  if (e != cudaSuccess) return cudaGraphDestroy(c), e;
  *clone = c;
  return cudaSuccess;
}

static cudaError_t list(cudaGraph_t g, bool roots, cudaGraphNode_t *nodes, size_t *n) {
  if (!g || !n) return rt_error(cudaErrorInvalidValue);
  size_t found = 0;
  for (size_t k = 0; k < g->n; k++) {
    if (roots && g->node[k]->n) continue;
    if (nodes && found < *n) nodes[found] = g->node[k];
    found++;
  }
  for (size_t k = found; nodes && k < *n; k++) nodes[k] = NULL;
  if (!nodes || found < *n) *n = found;
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
  return list(graph, false, nodes, n);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
  return list(graph, true, nodes, n);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
  if (!node || !type) return rt_error(cudaErrorInvalidValue);
  *type = node->type;
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t x, struct cudaKernelNodeParams *p) {
  if (!x || !p || x->type != cudaGraphNodeTypeKernel) return rt_error(cudaErrorInvalidValue);
  *p = (struct cudaKernelNodeParams){.func = (void *)(uintptr_t)x->kernel.function,
                                     .gridDim = x->kernel.g.grid,
                                     .blockDim = x->kernel.g.block,
                                     .sharedMemBytes = (unsigned)x->kernel.g.shared,
                                     .kernelParams = x->kernel.args};
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t x, const struct cudaKernelNodeParams *p) {
  return x && x->type == cudaGraphNodeTypeKernel ? set_kernel(&x->kernel, p) : rt_error(cudaErrorInvalidValue);
}

/* ---- instances --------------------------------------------------------------------------------------------------*/
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  (void)flags;
  if (!exec) return rt_error(cudaErrorInvalidValue);
  cudaGraphExec_t x = calloc(1, sizeof *x);
  cudaError_t e = x ? cudaGraphClone(&x->graph, graph) : rt_error(cudaErrorMemoryAllocation);
  if (e != cudaSuccess) return free(x), e;
  *exec = x;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x) {
  if (!x) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGraphDestroy(x->graph);
  free(x);
  return e;
}

cudaGraphNode_t rt_node_of_exec(cudaGraphExec_t x, cudaGraphNode_t node) { return x ? copied(x->graph, node) : NULL; }
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params) {
  return cudaGraphKernelNodeSetParams(rt_node_of_exec(exec, node), params);
}

/* Updates an instance from a graph of the same shape. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t x, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result) {
  cudaGraph_t c;
  if (!x) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGraphClone(&c, graph);
  if (e != cudaSuccess) return e;
  enum cudaGraphExecUpdateResult r =
      c->n == x->graph->n ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  for (size_t k = 0; r == cudaGraphExecUpdateSuccess && k < c->n; k++)
    if (c->node[k]->type != x->graph->node[k]->type) r = cudaGraphExecUpdateErrorNodeTypeChanged;
    else if (c->node[k]->n != x->graph->node[k]->n) r = cudaGraphExecUpdateErrorTopologyChanged;
  if (result) *result = (cudaGraphExecUpdateResultInfo){.result = r};
  if (r != cudaGraphExecUpdateSuccess) return cudaGraphDestroy(c), rt_error(cudaErrorGraphExecUpdateFailure);
  for (size_t k = 0; k < c->n; k++) c->node[k]->origin = x->graph->node[k]->origin;
  cudaGraphDestroy(x->graph);
  x->graph = c;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t x, cudaStream_t s) {
  return (void)s, x ? cudaSuccess : rt_error(cudaErrorInvalidValue);
}
/* ---- capture ----------------------------------------------------------------------------------------------------*/
bool rt_capturing(cudaStream_t s) { return s && s != cudaStreamLegacy && s != cudaStreamPerThread && s->capture; }

void rt_capture_end(struct rt_capture *c) {
  if (!c) return;
  free(c->last);
  free(c);
}

static bool join(struct rt_capture *c, const cudaGraphNode_t *nodes, size_t n) {
  cudaGraphNode_t *more = realloc(c->last, (c->n + n + 1) * sizeof *more);
  if (!more) return false;
  c->last = more;
  for (size_t k = 0; k < n; k++) c->last[c->n++] = nodes[k];
  return true;
}

cudaError_t rt_capture_node(cudaStream_t s, enum cudaGraphNodeType type, cudaGraphNode_t *node) {
  struct rt_capture *c = s->capture;
  cudaError_t e = rt_add_node(node, c->graph, c->last, c->n, type);
  c->n = 0;
  return e == cudaSuccess && !join(c, node, 1) ? rt_error(cudaErrorMemoryAllocation) : e;
}

cudaError_t rt_capture_kernel(cudaStream_t s, struct rt_device *d, const void *function, mx_kernel *k,
                              const struct rt_grid *g, void **args) {
  cudaGraphNode_t node;
  cudaError_t e = rt_capture_node(s, cudaGraphNodeTypeKernel, &node);
  return e == cudaSuccess ? rt_set_call(&node->kernel, d, function, k, g, args) : e;
}
cudaError_t rt_capture_box(cudaStream_t s, const struct cudaMemcpy3DParms *p) {
  cudaGraphNode_t node;
  cudaError_t e = rt_capture_node(s, cudaGraphNodeTypeMemcpy, &node);
  if (e == cudaSuccess) node->copy = *p;
  return e;
}
cudaError_t rt_capture_copy(cudaStream_t s, void *to, const void *from, size_t count, enum cudaMemcpyKind kind) {
  const struct cudaMemcpy3DParms p = rt_line(to, from, count, kind);
  return rt_capture_box(s, &p);
}
cudaError_t rt_capture_fill(cudaStream_t s, const struct cudaMemsetParams *p) {
  cudaGraphNode_t node;
  cudaError_t e = rt_capture_node(s, cudaGraphNodeTypeMemset, &node);
  if (e == cudaSuccess) node->fill = *p;
  return e;
}
cudaError_t rt_capture_call(cudaStream_t s, cudaHostFn_t fn, void *user) {
  cudaGraphNode_t node;
  cudaError_t e = rt_capture_node(s, cudaGraphNodeTypeHost, &node);
  if (e == cudaSuccess) node->host = (struct cudaHostNodeParams){fn, user};
  return e;
}

cudaError_t rt_capture_memory(cudaStream_t s, void *p, size_t size) {
  cudaGraphNode_t node;
  cudaError_t e = rt_capture_node(s, size ? cudaGraphNodeTypeMemAlloc : cudaGraphNodeTypeMemFree, &node);
  if (e == cudaSuccess) node->memory = (struct cudaMemAllocNodeParams){.dptr = p, .bytesize = size};
  return e;
}

static struct rt_capture *begin(cudaGraph_t graph, unsigned number) {
  struct rt_capture *c = calloc(1, sizeof *c);
  if (c) c->graph = graph, c->number = number;
  return c;
}

cudaError_t rt_capture_record(cudaStream_t s, cudaEvent_t event) {
  struct rt_capture *c = begin(s->capture->graph, s->capture->number);
  if (!c || !join(c, s->capture->last, s->capture->n)) return rt_capture_end(c), rt_error(cudaErrorMemoryAllocation);
  rt_capture_end(event->capture);
  event->capture = c;
  return cudaSuccess;
}
cudaError_t rt_capture_wait(cudaStream_t s, cudaEvent_t event) {
  if (!s || s == cudaStreamLegacy || s == cudaStreamPerThread) return rt_error(cudaErrorStreamCaptureImplicit);
  if (s->capture && s->capture->number != event->capture->number) return rt_error(cudaErrorStreamCaptureMerge);
  if (!s->capture) s->capture = begin(event->capture->graph, event->capture->number);
  return s->capture && join(s->capture, event->capture->last, event->capture->n) ? cudaSuccess
                                                                                 : rt_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode) {
  static _Atomic unsigned captures;
  cudaGraph_t graph;
  if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return rt_error(cudaErrorInvalidValue);
  if (!s || s == cudaStreamLegacy || s == cudaStreamPerThread) return rt_error(cudaErrorStreamCaptureUnsupported);
  if (s->capture) return rt_error(cudaErrorIllegalState);
  cudaError_t e = cudaGraphCreate(&graph, 0);
  if (e != cudaSuccess) return e;
  if ((s->capture = begin(graph, atomic_fetch_add(&captures, 1) + 1))) return s->captures = true, cudaSuccess;
  cudaGraphDestroy(graph);
  return rt_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status) {
  if (!status) return rt_error(cudaErrorInvalidValue);
  *status = rt_capturing(s) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
/* Three forms of one call: version 12's newest one and version 13's have data of the edges before their number; older
 * ones end with the capture's number. */
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                        cudaGraph_t *graph, const cudaGraphNode_t **last, size_t *n) {
  cudaError_t e = cudaStreamIsCapturing(s, status);
  if (e != cudaSuccess || *status == cudaStreamCaptureStatusNone) return e;
  if (id) *id = s->capture->number;
  if (graph) *graph = s->capture->graph;
  if (last) *last = s->capture->last;
  if (n) *n = s->capture->n;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **last, const void **edges, size_t *n);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **last, const void **edges, size_t *n) {
  if (!rt_is_version_13()) return cudaStreamGetCaptureInfo_v2(s, status, id, NULL, NULL, NULL);
  if (edges) *edges = NULL;
  return cudaStreamGetCaptureInfo_v2(s, status, id, graph, last, n);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  static _Thread_local enum cudaStreamCaptureMode own = cudaStreamCaptureModeGlobal;
  if (!mode) return rt_error(cudaErrorInvalidValue);
  const enum cudaStreamCaptureMode before = own;
  own = *mode;
  *mode = before;
  return cudaSuccess;
}

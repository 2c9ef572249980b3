/* Launches of graphs: the nodes are given to a stream one after the other, by the calls of the runtime that programs
 * use. Those calls in turn use graph.c, since they add nodes while a stream is captured; so launching is a file apart
 * from graph.c, or each would need the other. */
#include "graph_nodes.h"

cudaError_t rt_fill(const struct cudaMemsetParams *p, cudaStream_t s) {
  struct rt_device *d = rt_owner(p->dst), *of = rt_stream_device(s);
  cudaError_t e = cudaSuccess;
  if (!d || !of) return rt_error(cudaErrorInvalidValue);
  if (rt_capturing(s)) return rt_capture_fill(s, p);
  if (p->elementSize == 1)
    return cudaMemset2DAsync(p->dst, p->height > 1 ? p->pitch : p->width, (int)p->value, p->width, p->height, s);
  mx_stream *m = rt_stream(s);
  for (size_t y = 0; y < p->height && e == cudaSuccess; y++) {
    const mx_addr at = (uintptr_t)p->dst + y * p->pitch;
    const uint16_t half = (uint16_t)p->value;
    mx_status status = p->elementSize == 2 ? m ? mx_memset16_async(of->mx, at, half, p->width, m)
                                               : mx_memset16(d->mx, at, half, p->width)
                       : m ? mx_memset32_async(of->mx, at, p->value, p->width, m)
                                           : mx_memset32(d->mx, at, p->value, p->width);
    e = status == MX_INVALID_ADDRESS ? rt_error(cudaErrorInvalidValue) : rt_status(of, status);
  }
  return e;
}

static cudaError_t run(cudaGraph_t g, cudaStream_t s) {
  cudaError_t e = cudaSuccess;
  for (size_t k = 0; k < g->n && e == cudaSuccess; k++) {
    cudaGraphNode_t x = g->node[k];
    const struct kernel_call *c = &x->kernel;
    if (x->disabled) continue;
    switch (x->type) {
    case cudaGraphNodeTypeKernel: e = rt_launch(c->device, c->kernel, &c->g, c->args, s); break;
    case cudaGraphNodeTypeMemcpy: e = cudaMemcpy3DAsync(&x->copy, s); break;
    case cudaGraphNodeTypeMemset: e = rt_fill(&x->fill, s); break;
    case cudaGraphNodeTypeHost: e = cudaLaunchHostFunc(s, x->host.fn, x->host.userData); break;
    case cudaGraphNodeTypeGraph: e = run(x->child, s); break;
    case cudaGraphNodeTypeWaitEvent: e = cudaStreamWaitEvent(s, x->event, 0); break;
    case cudaGraphNodeTypeEventRecord: e = cudaEventRecord(x->event, s); break;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
    case cudaGraphNodeTypeEmpty: break;
    }
  }
  return e;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s) {
  cudaGraphNode_t node;
  if (!x) return rt_error(cudaErrorInvalidValue);
  if (!rt_capturing(s)) return run(x->graph, s);
  cudaError_t e = rt_capture_node(s, cudaGraphNodeTypeGraph, &node);
  return e == cudaSuccess ? cudaGraphClone(&node->child, x->graph) : e;
}

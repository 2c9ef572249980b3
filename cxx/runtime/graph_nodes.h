/* Nodes of a graph: graph.c makes them, graph_launch.c does what they say. */
#ifndef MX_CXX_GRAPH_NODES_H
#define MX_CXX_GRAPH_NODES_H
#include "rt.h"

struct kernel_call {
  const void *function;
  mx_kernel *kernel;
  struct rt_device *device;
  struct rt_grid g;
  size_t params;
  void **args; /* pointers into values, behind them in one piece */
};
struct CUgraphNode_st {
  cudaGraph_t graph;
  cudaGraphNode_t origin; /* of an instance's or a clone's node: the one it was copied from */
  enum cudaGraphNodeType type;
  cudaGraphNode_t *from;
  size_t n;
  unsigned mark;
  union {
    struct kernel_call kernel;
    struct cudaMemcpy3DParms copy;
    struct cudaMemsetParams fill;
    struct cudaHostNodeParams host;
    cudaEvent_t event;
    cudaGraph_t child;
  };
};
struct CUgraph_st {
  cudaGraphNode_t *node;
  size_t n, room;
};
struct CUgraphExec_st {
  cudaGraph_t graph; /* its nodes are in order */
};

/* A node of what the stream is given now, behind those that it depends on. */
cudaError_t rt_capture_node(cudaStream_t s, enum cudaGraphNodeType type, cudaGraphNode_t *node);

#endif

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
  bool disabled; /* of an instance's: left out */
  union {
    struct kernel_call kernel;
    struct cudaMemcpy3DParms copy;
    struct cudaMemsetParams fill;
    struct cudaHostNodeParams host;
    cudaEvent_t event;
    cudaGraph_t child;
    struct cudaMemAllocNodeParams memory;
  };
};
/* Objects of the program that a graph keeps. */
struct graph_object {
  struct graph_object *next;
  cudaUserObject_t object;
  unsigned references;
};
struct CUgraph_st {
  cudaGraphNode_t *node;
  size_t n, room;
  struct graph_object *objects;
};
struct CUgraphExec_st {
  cudaGraph_t graph; /* its nodes are in order */
};

/* graph.c */
cudaError_t rt_add_node(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *from, size_t n,
                        enum cudaGraphNodeType type);
void rt_release_node(cudaGraphNode_t x);
void rt_take_back(cudaGraphNode_t x); /* the one that was added last */
cudaError_t rt_set_call(struct kernel_call *out, struct rt_device *d, const void *function, mx_kernel *k,
                        const struct rt_grid *g, void **args);
struct cudaMemcpy3DParms rt_line(void *to, const void *from, size_t count, enum cudaMemcpyKind kind);
cudaGraphNode_t rt_node_of_exec(cudaGraphExec_t exec, cudaGraphNode_t node); /* NULL: it has none */

/* graph_objects.c */
cudaError_t rt_objects_copy(cudaGraph_t to, cudaGraph_t from);
void rt_objects_drop(cudaGraph_t g);

/* Adds the work that a captured stream is given as a node that depends on the stream's last ones. */
cudaError_t rt_capture_node(cudaStream_t s, enum cudaGraphNodeType type, cudaGraphNode_t *node);

#endif

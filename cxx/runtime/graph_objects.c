/* Objects of the program that live as long as the graphs that keep them. */
#include "graph_nodes.h"

#include <stdlib.h>

struct CUuserObject_st {
  void *object;
  cudaHostFn_t destroy;
  _Atomic unsigned references;
};
static cudaError_t drop(cudaUserObject_t o, unsigned n) {
  if (!o || !n || n > atomic_load(&o->references)) return rt_error(cudaErrorInvalidValue);
  if (atomic_fetch_sub(&o->references, n) == n) {
    o->destroy(o->object);
    free(o);
  }
  return cudaSuccess;
}
cudaError_t cudaUserObjectCreate(cudaUserObject_t *out, void *object, cudaHostFn_t destroy, unsigned int references,
                                 unsigned int flags) {
  (void)flags;
  if (!out || !destroy || !references) return rt_error(cudaErrorInvalidValue);
  cudaUserObject_t o = malloc(sizeof *o);
  if (!o) return rt_error(cudaErrorMemoryAllocation);
  *o = (struct CUuserObject_st){object, destroy, references};
  *out = o;
  return cudaSuccess;
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t o, unsigned int n) {
  return o && n ? atomic_fetch_add(&o->references, n), cudaSuccess : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t o, unsigned int n) { return drop(o, n); }

static cudaError_t keep(cudaGraph_t g, cudaUserObject_t o, unsigned n) {
  struct graph_object *x = malloc(sizeof *x);
  if (!x) return rt_error(cudaErrorMemoryAllocation);
  *x = (struct graph_object){g->objects, o, n};
  g->objects = x;
  return cudaSuccess;
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t g, cudaUserObject_t o, unsigned int n, unsigned int flags) {
  if (!g || !o || !n) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = keep(g, o, n);
  if (e == cudaSuccess && flags != cudaGraphUserObjectMove) cudaUserObjectRetain(o, n);
  return e;
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t g, cudaUserObject_t o, unsigned int n) {
  for (struct graph_object **at = g ? &g->objects : NULL; at && *at; at = &(*at)->next) {
    struct graph_object *x = *at;
    if (x->object != o || x->references < n) continue;
    if (!(x->references -= n)) *at = x->next, free(x);
    return drop(o, n);
  }
  return rt_error(cudaErrorInvalidValue);
}
cudaError_t rt_objects_copy(cudaGraph_t to, cudaGraph_t from) {
  cudaError_t e = cudaSuccess;
  for (struct graph_object *x = from->objects; x && e == cudaSuccess; x = x->next)
    e = cudaGraphRetainUserObject(to, x->object, x->references, 0);
  return e;
}
void rt_objects_drop(cudaGraph_t g) {
  while (g->objects) {
    struct graph_object *x = g->objects;
    g->objects = x->next;
    drop(x->object, x->references);
    free(x);
  }
}

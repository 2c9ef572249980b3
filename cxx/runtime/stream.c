/* Streams and events. */
#include "rt.h"

#include <stdlib.h>

static struct CUstream_st *streams;

static bool is_default(cudaStream_t s) { return !s || s == cudaStreamLegacy || s == cudaStreamPerThread; }

mx_stream *rt_stream(cudaStream_t s) { return is_default(s) ? NULL : s->mx; }
struct rt_device *rt_stream_device(cudaStream_t s) {
  return is_default(s) ? rt_current() : s->device;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
  struct rt_device *d = rt_current();
  struct CUstream_st *s = stream && d ? calloc(1, sizeof *s) : NULL;
  if (!s)
    return rt_error(!stream ? cudaErrorInvalidValue : d ? cudaErrorMemoryAllocation : cudaErrorInitializationError);
  static _Atomic unsigned long long made;
  *s = (struct CUstream_st){.device = d,
                            .flags = flags,
                            .priority = priority < -5  ? -5
                                        : priority > 0 ? 0
                                                       : priority,
                            .number = atomic_fetch_add(&made, 1) + 3,
                            .policy = cudaSyncPolicyAuto};
  cudaError_t e =
      rt_status(d, mx_stream_create(d->mx, flags & cudaStreamNonBlocking ? MX_STREAM_NON_BLOCKING : 0, &s->mx));
  if (e != cudaSuccess) return free(s), e;
  pthread_mutex_lock(&rt_lock);
  s->next = streams;
  streams = s;
  pthread_mutex_unlock(&rt_lock);
  *stream = s;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (is_default(s)) return rt_error(cudaErrorInvalidResourceHandle);
  pthread_mutex_lock(&rt_lock);
  struct CUstream_st **at = &streams;
  while (*at && *at != s) at = &(*at)->next;
  if (*at) *at = s->next;
  pthread_mutex_unlock(&rt_lock);
  if (s->captures) cudaGraphDestroy(s->capture->graph);
  rt_capture_end(s->capture);
  cudaError_t e = rt_status(s->device, mx_stream_destroy(s->mx));
  free(s);
  return e;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  if (is_default(s)) return cudaDeviceSynchronize();
  if (s->capture) return rt_error(cudaErrorStreamCaptureUnsupported);
  cudaError_t e = rt_status(s->device, mx_stream_synchronize(s->mx));
  rt_mirrors_home();
  rt_flush();
  return e;
}

cudaError_t cudaStreamQuery(cudaStream_t s) {
  if (rt_capturing(s)) return rt_error(cudaErrorStreamCaptureUnsupported);
  cudaError_t e = is_default(s) ? cudaSuccess : rt_status(s->device, mx_stream_query(s->mx));
  if (e == cudaSuccess) rt_mirrors_home();
  return e;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned int flags) {
  (void)flags;
  if (!event) return rt_error(cudaErrorInvalidResourceHandle);
  if (event->capture && rt_capture_alive(event->capture->number)) return rt_capture_wait(s, event);
  if (rt_capturing(s)) return rt_error(cudaErrorStreamCaptureIsolation);
  if (!atomic_load(&event->recorded)) return cudaSuccess;
  struct rt_device *d = rt_stream_device(s);
  if (is_default(s)) return rt_status(d, mx_event_synchronize(event->mx));
  return rt_status(d, mx_stream_wait_event(s->mx, event->mx));
}

bool rt_capture_alive(unsigned number) {
  bool alive = false;
  pthread_mutex_lock(&rt_lock);
  for (struct CUstream_st *s = streams; s; s = s->next) alive |= s->capture && s->capture->number == number;
  pthread_mutex_unlock(&rt_lock);
  return alive;
}
static void leave_capture(unsigned number) {
  pthread_mutex_lock(&rt_lock);
  for (struct CUstream_st *s = streams; s; s = s->next)
    if (s->capture && s->capture->number == number) {
      rt_capture_end(s->capture);
      s->capture = NULL;
    }
  pthread_mutex_unlock(&rt_lock);
}

/* Streams that joined the capture by waiting for an event leave it with this call. The program has to see to it that
 * the stream with which it began has waited for their last work; that is not checked. */
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph) {
  if (!graph) return rt_error(cudaErrorInvalidValue);
  if (!rt_capturing(s)) return rt_error(cudaErrorIllegalState);
  if (!s->captures) return rt_error(cudaErrorStreamCaptureUnmatched);
  *graph = s->capture->graph;
  s->captures = false;
  leave_capture(s->capture->number);
  return cudaSuccess;
}

struct callback {
  cudaHostFn_t fn;
  cudaStreamCallback_t with_status;
  void *user;
  cudaStream_t stream;
};

static void call(void *user) {
  struct callback c = *(struct callback *)user;
  free(user);
  if (c.fn) c.fn(c.user);
  else c.with_status(c.stream, cudaSuccess, c.user);
}

static cudaError_t enqueue(cudaStream_t s, struct callback c) {
  struct callback *own = malloc(sizeof *own);
  if (!own) return rt_error(cudaErrorMemoryAllocation);
  *own = c;
  if (!is_default(s)) return rt_status(s->device, mx_stream_call(s->mx, call, own));
  cudaError_t e = cudaDeviceSynchronize();
  call(own);
  return e;
}

cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t fn, void *user, unsigned int flags) {
  (void)flags;
  if (rt_capturing(s)) return rt_error(cudaErrorStreamCaptureUnsupported);
  return fn ? enqueue(s, (struct callback){NULL, fn, user, s}) : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *user) {
  if (fn && rt_capturing(s)) return rt_capture_call(s, fn, user);
  return fn ? enqueue(s, (struct callback){fn, NULL, user, s}) : rt_error(cudaErrorInvalidValue);
}

cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned int *flags) {
  return *flags = is_default(s) ? 0 : s->flags, cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t s, int *priority) {
  return *priority = is_default(s) ? 0 : s->priority, cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t s, unsigned long long *id) {
  return *id = is_default(s) ? (uintptr_t)s : s->number, cudaSuccess;
}

/* The attributes are kept for cudaStreamGetAttribute, and have no effect. */
cudaError_t cudaStreamSetAttribute(cudaStream_t s, enum cudaLaunchAttributeID id, const cudaLaunchAttributeValue *v) {
  if (!v) return rt_error(cudaErrorInvalidValue);
  switch (id) {
  case cudaLaunchAttributeAccessPolicyWindow:
    if (v->accessPolicyWindow.hitRatio < 0 || v->accessPolicyWindow.hitRatio > 1) break;
    if (!is_default(s)) s->window = v->accessPolicyWindow;
    return cudaSuccess;
  case cudaLaunchAttributeSynchronizationPolicy:
    if (!is_default(s)) s->policy = v->syncPolicy;
    return cudaSuccess;
  case cudaLaunchAttributePriority:
    if (!is_default(s)) s->priority = v->priority;
    return cudaSuccess;
  default: break;
  }
  return rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaStreamGetAttribute(cudaStream_t s, enum cudaLaunchAttributeID id, cudaLaunchAttributeValue *v) {
  if (!v) return rt_error(cudaErrorInvalidValue);
  *v = (cudaLaunchAttributeValue){{0}};
  switch (id) {
  case cudaLaunchAttributeAccessPolicyWindow:
    if (!is_default(s)) v->accessPolicyWindow = s->window;
    return cudaSuccess;
  case cudaLaunchAttributeSynchronizationPolicy:
    return v->syncPolicy = is_default(s) ? cudaSyncPolicyAuto : s->policy, cudaSuccess;
  case cudaLaunchAttributePriority: return cudaStreamGetPriority(s, &v->priority);
  default: return rt_error(cudaErrorInvalidValue);
  }
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  if (is_default(to) || is_default(from)) return rt_error(cudaErrorInvalidResourceHandle);
  to->window = from->window;
  to->policy = from->policy;
  to->priority = from->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t s, void *p, size_t length, unsigned int flags) {
  return (void)s, (void)p, (void)length, (void)flags, cudaSuccess;
}

/* ---- events -----------------------------------------------------------------------------------------------------*/
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  struct rt_device *d = rt_current();
  struct CUevent_st *e = event && d ? calloc(1, sizeof *e) : NULL;
  if (!e)
    return rt_error(!event ? cudaErrorInvalidValue : d ? cudaErrorMemoryAllocation : cudaErrorInitializationError);
  e->device = d;
  e->flags = flags;
  cudaError_t s = rt_status(d, mx_event_create(d->mx, &e->mx));
  if (s != cudaSuccess) return free(e), s;
  *event = e;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t e) {
  if (!e) return rt_error(cudaErrorInvalidResourceHandle);
  rt_capture_end(e->capture);
  cudaError_t s = rt_status(e->device, mx_event_destroy(e->mx));
  free(e);
  return s;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  if (!e) return rt_error(cudaErrorInvalidResourceHandle);
  if (rt_capturing(stream)) return rt_capture_record(stream, e);
  rt_capture_end(e->capture);
  e->capture = NULL;
  atomic_store(&e->recorded, true);
  return rt_status(e->device, mx_event_record(e->mx, rt_stream(stream)));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t stream, unsigned int flags) {
  return (void)flags, cudaEventRecord(e, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  if (!e) return rt_error(cudaErrorInvalidResourceHandle);
  cudaError_t s = rt_status(e->device, mx_event_synchronize(e->mx));
  rt_mirrors_home();
  rt_flush();
  return s;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  if (!e) return rt_error(cudaErrorInvalidResourceHandle);
  cudaError_t s = rt_status(e->device, mx_event_query(e->mx));
  if (s == cudaSuccess) rt_mirrors_home();
  return s;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  double t = 0;
  if (!ms || !from || !to || !atomic_load(&from->recorded) || !atomic_load(&to->recorded) ||
      (from->flags | to->flags) & cudaEventDisableTiming)
    return rt_error(cudaErrorInvalidResourceHandle);
  cudaError_t e = rt_status(from->device, mx_event_elapsed_ms(from->mx, to->mx, &t));
  if (e == cudaSuccess) *ms = (float)t;
  return e;
}

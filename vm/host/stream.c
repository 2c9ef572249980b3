/* Streams and events: queues of work, each served in order by a thread of its own. What the work does stands in
 * launch.c and copies.c; one launch runs at a time because these take the device's `run` lock.
 *
 * All queues and events of a device are under one lock and one condition: there are few streams, and a launch is long
 * against a wake-up. */
#include "stream.h"

#include "output.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct mx_stream {
  mx_device *device;
  mx_stream *next;
  unsigned flags;
  uint64_t number; /* of the device, from 1 */
  struct mx_work *first, **last;
  bool busy, quit, started;
  pthread_t thread;
  mx_status failure; /* not yet reported */
  char *text;
};

struct mx_event {
  mx_device *device;
  mx_event *next;
  uint32_t references;
  uint64_t recorded, reached; /* generations */
  struct timespec time;
};

/* ---- serving --------------------------------------------------------------------------------------------*/

static void event_release(mx_event *e) {
  if (--e->references) return;
  for (mx_event **at = &e->device->events; *at; at = &(*at)->next)
    if (*at == e) {
      *at = e->next;
      break;
    }
  free(e);
}

static void event_reach(mx_event *e, uint64_t generation) {
  if (generation <= e->reached) return;
  e->reached = generation;
  clock_gettime(CLOCK_MONOTONIC, &e->time);
}

/* The operation has ended or is thrown away; d->queues is held. */
static void op_end(mx_stream *s, struct mx_work *o) {
  struct mx_device *d = s->device;
  if (o->work == MX_WORK_RECORD) event_reach(o->event, o->generation);
  if (o->event) event_release(o->event);
  if (!(s->flags & MX_STREAM_NON_BLOCKING)) d->blocking_pending--;
  if (o->work == MX_WORK_LAUNCH) mx__kernel_use(o->kernel, -1);
  free(o->params);
  free(o);
  pthread_cond_broadcast(&d->queues_moved);
}

/* Without any lock. */
static mx_status op_run(struct mx_device *d, const mx_stream *stream, struct mx_work *o) {
  mx_status s =
      o->work == MX_WORK_CALL || o->work == MX_WORK_RECORD || o->work == MX_WORK_WAIT ? MX_OK : mx__device_usable(d);
  if (s != MX_OK) return s;
  switch (o->work) {
  case MX_WORK_LAUNCH: return mx__launch_run(o->kernel, &o->config, o->params, o->bytes, stream->number);
  case MX_WORK_COPY_IN: return mx__copy_in(d, o->to, o->in, o->bytes);
  case MX_WORK_COPY_OUT: return mx__copy_out(d, o->out, o->from, o->bytes);
  case MX_WORK_COPY_WITHIN: return mx__copy_within(d, o->to, o->from, o->bytes);
  case MX_WORK_FILL: return mx__fill(d, o->to, o->value, o->size, o->bytes);
  case MX_WORK_CALL:
    mx__output_flush(d);
    o->fn(o->user);
    return MX_OK;
  case MX_WORK_RECORD: return MX_OK;
  case MX_WORK_WAIT:
    mx__lock(&d->queues);
    while (o->event->reached < o->generation) mx__wait(&d->queues_moved, &d->queues);
    mx__unlock(&d->queues);
    return MX_OK;
  }
  return MX_OK;
}

/* Keeps the first failure that nobody has heard of yet, here and for the device; d->queues is held. */
static void keep_failure(mx_stream *s, mx_status status, char *text) {
  struct mx_device *d = s->device;
  if (d->async_failure == MX_OK) {
    d->async_failure = status;
    d->async_text = text ? strdup(text) : NULL;
    d->async_stream = s;
  }
  if (s->failure == MX_OK) {
    s->failure = status;
    s->text = text;
  } else {
    free(text);
  }
}

static void *serve(void *arg) {
  mx_stream *s = arg;
  struct mx_device *d = s->device;
  mx__lock(&d->queues);
  for (;;) {
    while (!s->first && !s->quit) mx__wait(&d->queues_moved, &d->queues);
    struct mx_work *o = s->first;
    if (!o) break;
    if (!(s->first = o->next)) s->last = &s->first;
    s->busy = true;
    mx__unlock(&d->queues);
    mx_status status = op_run(d, s, o);
    char *text = status == MX_OK ? NULL : mx_last_error_text(d);
    mx__lock(&d->queues);
    s->busy = false;
    if (status != MX_OK) keep_failure(s, status, text);
    op_end(s, o);
  }
  mx__unlock(&d->queues);
  return NULL;
}

/* Signals belong to the program's own threads. */
static bool start_thread(mx_stream *s) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int failed = pthread_create(&s->thread, NULL, serve, s);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return !failed;
}

mx_status mx__stream_enqueue(mx_stream *s, const struct mx_work *o) {
  struct mx_device *d = s->device;
  struct mx_work *copy = malloc(sizeof *copy);
  if (!copy) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  *copy = *o;
  copy->next = NULL;
  mx_status status = MX_OK;
  mx__lock(&d->queues);
  if (!s->started && !(s->started = start_thread(s))) {
    status = MX_HOST_FAILURE;
    free(copy);
  } else {
    if (copy->work == MX_WORK_RECORD) copy->generation = ++copy->event->recorded;
    if (copy->work == MX_WORK_WAIT) copy->generation = copy->event->recorded;
    if (copy->event) copy->event->references++;
    if (!(s->flags & MX_STREAM_NON_BLOCKING)) d->blocking_pending++;
    *s->last = copy;
    s->last = &copy->next;
    pthread_cond_broadcast(&d->queues_moved);
  }
  mx__unlock(&d->queues);
  return status == MX_OK ? status : mx__fail(d, status, "the system refuses another thread for a stream");
}

/* ---- the device's view ----------------------------------------------------------------------------------*/

void mx__streams_wait(struct mx_device *d) {
  mx__lock(&d->queues);
  while (d->blocking_pending) mx__wait(&d->queues_moved, &d->queues);
  mx__unlock(&d->queues);
}

/* Reports a failure and forgets it; the text becomes the device's last one. d->queues is held and released. */
static mx_status report(struct mx_device *d, mx_status *failure, char **text) {
  mx_status s = *failure;
  char *t = *text;
  *failure = MX_OK;
  *text = NULL;
  mx__unlock(&d->queues);
  if (s != MX_OK) mx__fail(d, s, "%s", t ? t : mx_status_text(s));
  free(t);
  return s;
}

static void forget(mx_status *failure, char **text) {
  *failure = MX_OK;
  free(*text);
  *text = NULL;
}

static bool any_busy(const struct mx_device *d) {
  for (const mx_stream *s = d->streams; s; s = s->next)
    if (s->busy || s->first) return true;
  return false;
}

/* d->queues is held and released. */
static mx_status report_first(struct mx_device *d) {
  for (mx_stream *s = d->streams; s && d->async_failure != MX_OK; s = s->next)
    if (s == d->async_stream) forget(&s->failure, &s->text);
  return report(d, &d->async_failure, &d->async_text);
}

mx_status mx__streams_drain(struct mx_device *d) {
  mx__lock(&d->queues);
  while (d->blocking_pending) mx__wait(&d->queues_moved, &d->queues);
  return report_first(d);
}

mx_status mx__streams_drain_all(struct mx_device *d) {
  mx__lock(&d->queues);
  while (any_busy(d)) mx__wait(&d->queues_moved, &d->queues);
  return report_first(d);
}

mx_status mx__device_enter(struct mx_device *d) {
  mx_status s = mx__streams_drain(d);
  mx__output_flush(d);
  return s == MX_OK ? mx__device_usable(d) : s;
}

void mx__streams_drop(struct mx_device *d) {
  mx__lock(&d->queues);
  for (mx_stream *s = d->streams; s; s = s->next)
    while (s->first) {
      struct mx_work *o = s->first;
      if (!(s->first = o->next)) s->last = &s->first;
      op_end(s, o);
    }
  /* again and again: what is busy may be just about to start its launch */
  while (any_busy(d)) {
    mx__stop(&d->stop, MX_STOP_INTERRUPT);
    const struct timespec soon = mx__time_in(1000000);
    mx__wait_until(&d->queues_moved, &d->queues, &soon);
  }
  for (mx_stream *s = d->streams; s; s = s->next) forget(&s->failure, &s->text);
  forget(&d->async_failure, &d->async_text);
  mx__unlock(&d->queues);
}

static void stream_free(mx_stream *s) {
  if (s->started) pthread_join(s->thread, NULL);
  free(s->text);
  free(s);
}

void mx__streams_free(struct mx_device *d) {
  mx__lock(&d->queues);
  for (mx_stream *s = d->streams; s; s = s->next) s->quit = true;
  pthread_cond_broadcast(&d->queues_moved);
  mx__unlock(&d->queues);
  while (d->streams) {
    mx_stream *s = d->streams;
    if (s->started) pthread_join(s->thread, NULL);
    s->started = false;
    d->streams = s->next;
    stream_free(s);
  }
  while (d->events) {
    mx_event *e = d->events;
    d->events = e->next;
    free(e);
  }
}

/* ---- streams --------------------------------------------------------------------------------------------*/

mx_status mx_stream_create(mx_device *d, unsigned flags, mx_stream **stream) {
  if (!d) return MX_INVALID_VALUE;
  if (!stream || flags & ~(unsigned)MX_STREAM_NON_BLOCKING)
    return mx__fail(d, MX_INVALID_VALUE, "mx_stream_create: unknown flags, or no place for the stream");
  mx_stream *s = calloc(1, sizeof *s);
  *stream = s;
  if (!s) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  s->device = d;
  s->flags = flags;
  s->last = &s->first;
  mx__lock(&d->queues);
  s->next = d->streams;
  s->number = ++d->streams_made;
  d->streams = s;
  mx__unlock(&d->queues);
  return MX_OK;
}

/* Waits until it is empty, and says what went wrong. */
static mx_status wait_for(mx_stream *s) {
  struct mx_device *d = s->device;
  mx__lock(&d->queues);
  while (s->first || s->busy) mx__wait(&d->queues_moved, &d->queues);
  if (d->async_failure != MX_OK && d->async_stream == s) forget(&d->async_failure, &d->async_text);
  mx_status status = report(d, &s->failure, &s->text);
  return status == MX_OK ? mx__device_usable(d) : status;
}

mx_status mx_stream_synchronize(mx_stream *s) {
  if (!s) return MX_INVALID_VALUE;
  mx_status status = wait_for(s);
  mx__output_flush(s->device);
  return status;
}

mx_status mx_stream_query(mx_stream *s) {
  if (!s) return MX_INVALID_VALUE;
  struct mx_device *d = s->device;
  mx__lock(&d->queues);
  bool ready = !s->first && !s->busy;
  mx__unlock(&d->queues);
  return ready ? wait_for(s) : MX_NOT_READY;
}

mx_status mx_stream_destroy(mx_stream *s) {
  if (!s) return MX_INVALID_VALUE;
  struct mx_device *d = s->device;
  mx_status status = mx_stream_synchronize(s);
  mx__lock(&d->queues);
  s->quit = true;
  for (mx_stream **at = &d->streams; *at; at = &(*at)->next)
    if (*at == s) {
      *at = s->next;
      break;
    }
  pthread_cond_broadcast(&d->queues_moved);
  mx__unlock(&d->queues);
  stream_free(s);
  return status;
}

mx_status mx__stream_own(mx_device *d, const mx_stream *s, const char *call) {
  if (s && s->device != d) return mx__fail(d, MX_INVALID_VALUE, "%s: the stream belongs to another device", call);
  return mx__device_usable(d);
}

mx_status mx_stream_wait_event(mx_stream *s, mx_event *e) {
  if (!s || !e) return MX_INVALID_VALUE;
  mx_status status = mx__stream_own(e->device, s, "mx_stream_wait_event");
  return status == MX_OK ? mx__stream_enqueue(s, &(struct mx_work){.work = MX_WORK_WAIT, .event = e}) : status;
}

mx_status mx_stream_call(mx_stream *s, void (*fn)(void *user), void *user) {
  if (!s) return MX_INVALID_VALUE;
  if (!fn) return mx__fail(s->device, MX_INVALID_VALUE, "mx_stream_call: no function");
  return mx__stream_enqueue(s, &(struct mx_work){.work = MX_WORK_CALL, .fn = fn, .user = user});
}

/* ---- events ---------------------------------------------------------------------------------------------*/

mx_status mx_event_create(mx_device *d, mx_event **event) {
  if (!d) return MX_INVALID_VALUE;
  if (!event) return mx__fail(d, MX_INVALID_VALUE, "mx_event_create: no place for the event");
  mx_event *e = calloc(1, sizeof *e);
  *event = e;
  if (!e) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  e->device = d;
  e->references = 1;
  mx__lock(&d->queues);
  e->next = d->events;
  d->events = e;
  mx__unlock(&d->queues);
  return MX_OK;
}

mx_status mx_event_destroy(mx_event *e) {
  if (!e) return MX_INVALID_VALUE;
  struct mx_device *d = e->device;
  mx__lock(&d->queues);
  event_release(e);
  mx__unlock(&d->queues);
  return MX_OK;
}

mx_status mx_event_record(mx_event *e, mx_stream *s) {
  if (!e) return MX_INVALID_VALUE;
  struct mx_device *d = e->device;
  mx_status status = mx__stream_own(d, s, "mx_event_record");
  if (status != MX_OK) return status;
  if (s) return mx__stream_enqueue(s, &(struct mx_work){.work = MX_WORK_RECORD, .event = e});
  status = mx__streams_drain(d);
  mx__lock(&d->queues);
  event_reach(e, ++e->recorded);
  pthread_cond_broadcast(&d->queues_moved);
  mx__unlock(&d->queues);
  return status;
}

mx_status mx_event_synchronize(mx_event *e) {
  if (!e) return MX_INVALID_VALUE;
  struct mx_device *d = e->device;
  mx__lock(&d->queues);
  while (e->reached < e->recorded) mx__wait(&d->queues_moved, &d->queues);
  mx__unlock(&d->queues);
  mx__output_flush(d);
  return mx__device_usable(d);
}

mx_status mx_event_query(mx_event *e) {
  if (!e) return MX_INVALID_VALUE;
  struct mx_device *d = e->device;
  mx__lock(&d->queues);
  bool ready = e->reached == e->recorded;
  mx__unlock(&d->queues);
  return ready ? mx__device_usable(d) : MX_NOT_READY;
}

mx_status mx_event_elapsed_ms(mx_event *from, mx_event *to, double *ms) {
  if (!from || !to) return MX_INVALID_VALUE;
  struct mx_device *d = from->device;
  if (!ms || to->device != d)
    return mx__fail(d, MX_INVALID_VALUE, "mx_event_elapsed_ms: events of two devices, or no place for the answer");
  mx__lock(&d->queues);
  bool recorded = from->recorded && to->recorded;
  bool ready = from->reached == from->recorded && to->reached == to->recorded;
  struct timespec a = from->time, b = to->time;
  mx__unlock(&d->queues);
  if (!recorded) return mx__fail(d, MX_INVALID_VALUE, "mx_event_elapsed_ms: an event was never recorded");
  if (!ready) return MX_NOT_READY;
  *ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
  return MX_OK;
}

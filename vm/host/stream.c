/* Streams and events: queues of work, each served in order by a thread of its own. What the work does stands in
 * launch.c and buffers.c; one launch runs at a time because these take the device's `run` lock.
 *
 * All queues and events of a device are under one lock and one condition: there are few streams, and a launch is long
 * against a wake-up. */
#include "device.h"

#include "output.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum work { LAUNCH, COPY_IN, COPY_OUT, COPY_WITHIN, FILL, RECORD, WAIT, CALL };

struct op {
  struct op *next;
  enum work work;
  mx_kernel *kernel; /* LAUNCH */
  mx_launch_config config;
  uint8_t *params;
  mx_addr to, from; /* copies, fill */
  void *out;
  const void *in;
  uint64_t bytes; /* also of params */
  uint32_t value; /* FILL: so often as bytes says */
  unsigned size;
  mx_event *event; /* RECORD, WAIT: holds a reference */
  uint64_t generation;
  void (*fn)(void *user); /* CALL */
  void *user;
};

struct mx_stream {
  mx_device *device;
  mx_stream *next;
  unsigned flags;
  uint64_t number; /* of the device, from 1 */
  struct op *first, **last;
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
static void op_end(mx_stream *s, struct op *o) {
  struct mx_device *d = s->device;
  if (o->work == RECORD) event_reach(o->event, o->generation);
  if (o->event) event_release(o->event);
  if (!(s->flags & MX_STREAM_NON_BLOCKING)) d->blocking_pending--;
  if (o->work == LAUNCH) mx__kernel_use(o->kernel, -1);
  free(o->params);
  free(o);
  pthread_cond_broadcast(&d->queues_moved);
}

/* Without any lock. */
static mx_status op_run(struct mx_device *d, const mx_stream *stream, struct op *o) {
  mx_status s = o->work == CALL || o->work == RECORD || o->work == WAIT ? MX_OK : mx__device_usable(d);
  if (s != MX_OK) return s;
  switch (o->work) {
  case LAUNCH: return mx__launch_run(o->kernel, &o->config, o->params, o->bytes, stream->number);
  case COPY_IN: return mx__copy_in(d, o->to, o->in, o->bytes);
  case COPY_OUT: return mx__copy_out(d, o->out, o->from, o->bytes);
  case COPY_WITHIN: return mx__copy_within(d, o->to, o->from, o->bytes);
  case FILL: return mx__fill(d, o->to, o->value, o->size, o->bytes);
  case CALL:
    mx__output_flush(d);
    o->fn(o->user);
    return MX_OK;
  case RECORD: return MX_OK;
  case WAIT:
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
    struct op *o = s->first;
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

/* Copies *o; what it points at stays the caller's on failure. */
static mx_status enqueue(mx_stream *s, const struct op *o) {
  struct mx_device *d = s->device;
  struct op *copy = malloc(sizeof *copy);
  if (!copy) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  *copy = *o;
  copy->next = NULL;
  mx_status status = MX_OK;
  mx__lock(&d->queues);
  if (!s->started && !(s->started = start_thread(s))) {
    status = MX_HOST_FAILURE;
    free(copy);
  } else {
    if (copy->work == RECORD) copy->generation = ++copy->event->recorded;
    if (copy->work == WAIT) copy->generation = copy->event->recorded;
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

mx_status mx__streams_drain(struct mx_device *d) {
  mx__lock(&d->queues);
  while (d->blocking_pending) mx__wait(&d->queues_moved, &d->queues);
  for (mx_stream *s = d->streams; s && d->async_failure != MX_OK; s = s->next)
    if (s == d->async_stream) forget(&s->failure, &s->text);
  return report(d, &d->async_failure, &d->async_text);
}

static bool any_busy(const struct mx_device *d) {
  for (const mx_stream *s = d->streams; s; s = s->next)
    if (s->busy || s->first) return true;
  return false;
}

void mx__streams_drop(struct mx_device *d) {
  mx__lock(&d->queues);
  for (mx_stream *s = d->streams; s; s = s->next)
    while (s->first) {
      struct op *o = s->first;
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

/* The device of a call and the one of its stream must be the same. */
static mx_status own_stream(mx_device *d, const mx_stream *s, const char *call) {
  if (s && s->device != d) return mx__fail(d, MX_INVALID_VALUE, "%s: the stream belongs to another device", call);
  return mx__device_usable(d);
}

mx_status mx_stream_wait_event(mx_stream *s, mx_event *e) {
  if (!s || !e) return MX_INVALID_VALUE;
  mx_status status = own_stream(e->device, s, "mx_stream_wait_event");
  return status == MX_OK ? enqueue(s, &(struct op){.work = WAIT, .event = e}) : status;
}

mx_status mx_stream_call(mx_stream *s, void (*fn)(void *user), void *user) {
  if (!s) return MX_INVALID_VALUE;
  if (!fn) return mx__fail(s->device, MX_INVALID_VALUE, "mx_stream_call: no function");
  return enqueue(s, &(struct op){.work = CALL, .fn = fn, .user = user});
}

mx_status mx_launch_async(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                          mx_stream *s) {
  if (!s) return mx_launch(k, config, params, bytes);
  if (!k) return MX_INVALID_VALUE;
  mx__kernel_use(k, 1);
  struct mx_device *d = k->module->device;
  mx__output_flush(d);
  mx_status status = own_stream(d, s, "mx_launch_async");
  if (status == MX_OK) status = mx_launch_check(k, config, bytes);
  if (status == MX_OK && bytes && !params) status = mx__fail(d, MX_INVALID_VALUE, "launch: no parameters");
  struct op o = {.work = LAUNCH, .kernel = k, .bytes = bytes};
  if (status == MX_OK && !(o.params = malloc(bytes + 1))) status = mx__fail_plain(d, MX_OUT_OF_MEMORY);
  if (status == MX_OK) {
    memcpy(&o.config, config, config->struct_size);
    if (bytes) memcpy(o.params, params, bytes);
    status = enqueue(s, &o);
  }
  if (status != MX_OK) {
    mx__kernel_use(k, -1);
    free(o.params);
  }
  return status;
}

mx_status mx_copy_to_device_async(mx_device *d, mx_addr to, const void *from, uint64_t bytes, mx_stream *s) {
  if (!s) return mx_copy_to_device(d, to, from, bytes);
  if (!d) return MX_INVALID_VALUE;
  mx_status status = own_stream(d, s, "mx_copy_to_device_async");
  return status == MX_OK ? enqueue(s, &(struct op){.work = COPY_IN, .to = to, .in = from, .bytes = bytes}) : status;
}

mx_status mx_copy_from_device_async(mx_device *d, void *to, mx_addr from, uint64_t bytes, mx_stream *s) {
  if (!s) return mx_copy_from_device(d, to, from, bytes);
  if (!d) return MX_INVALID_VALUE;
  mx_status status = own_stream(d, s, "mx_copy_from_device_async");
  return status == MX_OK ? enqueue(s, &(struct op){.work = COPY_OUT, .out = to, .from = from, .bytes = bytes}) : status;
}

mx_status mx_copy_on_device_async(mx_device *d, mx_addr to, mx_addr from, uint64_t bytes, mx_stream *s) {
  if (!s) return mx_copy_on_device(d, to, from, bytes);
  if (!d) return MX_INVALID_VALUE;
  mx_status status = own_stream(d, s, "mx_copy_on_device_async");
  return status == MX_OK ? enqueue(s, &(struct op){.work = COPY_WITHIN, .to = to, .from = from, .bytes = bytes})
                         : status;
}

static mx_status fill_async(mx_device *d, mx_addr to, uint32_t value, unsigned size, uint64_t count, mx_stream *s,
                            const char *call) {
  if (!d) return MX_INVALID_VALUE;
  mx_status status = own_stream(d, s, call);
  return status == MX_OK
             ? enqueue(s, &(struct op){.work = FILL, .to = to, .value = value, .size = size, .bytes = count})
             : status;
}
mx_status mx_memset8_async(mx_device *d, mx_addr to, uint8_t value, uint64_t count, mx_stream *s) {
  return s ? fill_async(d, to, value, 1, count, s, "mx_memset8_async") : mx_memset8(d, to, value, count);
}
mx_status mx_memset16_async(mx_device *d, mx_addr to, uint16_t value, uint64_t count, mx_stream *s) {
  return s ? fill_async(d, to, value, 2, count, s, "mx_memset16_async") : mx_memset16(d, to, value, count);
}
mx_status mx_memset32_async(mx_device *d, mx_addr to, uint32_t value, uint64_t count, mx_stream *s) {
  return s ? fill_async(d, to, value, 4, count, s, "mx_memset32_async") : mx_memset32(d, to, value, count);
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
  mx_status status = own_stream(d, s, "mx_event_record");
  if (status != MX_OK) return status;
  if (s) return enqueue(s, &(struct op){.work = RECORD, .event = e});
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

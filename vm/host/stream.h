/* Work that is queued in a stream. */
#ifndef MX_VM_STREAM_H
#define MX_VM_STREAM_H

#include "device.h"

enum mx_work_kind {
  MX_WORK_LAUNCH,
  MX_WORK_COPY_IN,
  MX_WORK_COPY_OUT,
  MX_WORK_COPY_WITHIN,
  MX_WORK_FILL,
  MX_WORK_RECORD,
  MX_WORK_WAIT,
  MX_WORK_CALL
};

struct mx_work {
  struct mx_work *next;
  enum mx_work_kind work;
  mx_kernel *kernel; /* MX_WORK_LAUNCH */
  mx_launch_config config;
  uint8_t *params;
  mx_addr to, from; /* copies, fill */
  void *out;
  const void *in;
  uint64_t bytes; /* also of params */
  uint32_t value; /* MX_WORK_FILL: so often as bytes says */
  unsigned size;
  mx_event *event; /* MX_WORK_RECORD, MX_WORK_WAIT: holds a reference */
  uint64_t generation;
  void (*fn)(void *user); /* MX_WORK_CALL */
  void *user;
};

/* Queues a copy of *o; what it points at stays the caller's on failure. */
mx_status mx__stream_enqueue(mx_stream *s, const struct mx_work *o);
/* The device of a call and the one of its stream must be the same. */
mx_status mx__stream_own(mx_device *d, const mx_stream *s, const char *call);

#endif

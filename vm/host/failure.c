/* What calls on a device begin and end with: whether it may be used, which thread uses it, why a call has failed, and
 * answers copied to the caller's structures. All other files of this folder stand on this one. */
#include "device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mx_status keep_error(struct mx_device *d, mx_status s, char *text) {
  mx__lock(&d->lock);
  free(d->error);
  d->error = text;
  mx__unlock(&d->lock);
  return s;
}

mx_status mx__fail(struct mx_device *d, mx_status s, const char *fmt, ...) {
  char *text = NULL;
  va_list ap;
  va_start(ap, fmt);
  if (vasprintf(&text, fmt, ap) < 0) text = NULL;
  va_end(ap);
  return keep_error(d, s, text);
}

mx_status mx__fail_plain(struct mx_device *d, mx_status s) {
  return s == MX_OK ? s : keep_error(d, s, strdup(mx_status_text(s)));
}

mx_status mx__device_usable(struct mx_device *d) {
  if (!atomic_load(&d->trapped)) return MX_OK;
  mx__lock(&d->lock);
  const bool still = atomic_load(&d->trapped); /* or reset meanwhile */
  char *text = still && d->trap.info.text ? strdup(d->trap.info.text) : NULL;
  mx__unlock(&d->lock);
  return still ? keep_error(d, MX_TRAPPED, text) : MX_OK;
}

char *mx_last_error_text(mx_device *d) {
  if (!d) return NULL;
  mx__lock(&d->lock);
  char *text = d->error ? strdup(d->error) : NULL;
  mx__unlock(&d->lock);
  return text;
}

void mx__device_note(struct mx_device *d, const char *fmt, ...) {
  char *text = NULL;
  va_list ap;
  va_start(ap, fmt);
  if (vasprintf(&text, fmt, ap) < 0) text = NULL;
  va_end(ap);
  mx__lock(&d->lock);
  if (!d->noted) d->note = text;
  else free(text);
  d->noted = true;
  mx__unlock(&d->lock);
}

char *mx_device_note(mx_device *d) {
  if (!d) return NULL;
  mx__lock(&d->lock);
  char *text = d->note;
  d->note = NULL;
  mx__unlock(&d->lock);
  return text;
}

mx_status mx__struct_out(void *out, const void *from, size_t size) {
  size_t known;
  if (!out) return MX_INVALID_VALUE;
  memcpy(&known, out, sizeof known);
  if (known < sizeof known) return MX_INVALID_VALUE;
  if (known > size) known = size;
  memcpy(out, from, known);
  memcpy(out, &known, sizeof known);
  return MX_OK;
}

mx_status mx__device_take(struct mx_device *d, const char *what) {
  mx__lock(&d->lock);
  bool debugged = d->debug != NULL;
  mx__unlock(&d->lock);
  if (debugged) return mx__fail(d, MX_BUSY, "%s: the device has a debugging session", what);
  mx__lock(&d->run);
  return MX_OK;
}

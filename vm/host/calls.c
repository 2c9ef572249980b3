/* The calls of the API that run a kernel, copy or fill: at once, after what is queued in the device's blocking streams,
 * or queued in a stream. */
#include "output.h"
#include "stream.h"
#include "vm/load/module.h"

#include <stdlib.h>
#include <string.h>

/* ---- launches -------------------------------------------------------------------------------------------*/
mx_status mx_launch(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes) {
  if (!k) return MX_INVALID_VALUE;
  mx__kernel_use(k, 1);
  struct mx_device *d = k->module->device;
  mx_status s = mx__streams_drain(d);
  mx__output_flush(d);
  if (s == MX_OK) s = mx__launch_run(k, config, params, bytes, 0);
  mx__output_flush(d);
  mx__kernel_use(k, -1);
  return s;
}

/* One buffer of all arguments, malloc'ed. */
static mx_status pack(mx_kernel *k, const void *const *args, size_t count, uint8_t **params) {
  struct mx_device *d = k->module->device;
  const struct mx_func *f = &k->module->image->image.funcs[k->func];
  if (count != f->nparams || (count && !args))
    return mx__fail(d, MX_INVALID_LAUNCH, "kernel '%s': %zu arguments, expected %u", f->name, count, f->nparams);
  uint8_t *buffer = calloc(1, f->param_bytes + 1u);
  if (!buffer) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  mx_status s = MX_OK;
  for (size_t i = 0; i < count && s == MX_OK; i++) {
    if (args[i]) memcpy(buffer + f->params[i].offset, args[i], f->params[i].size);
    else s = mx__fail(d, MX_INVALID_VALUE, "kernel '%s': argument %zu is missing", f->name, i + 1);
  }
  if (s == MX_OK) *params = buffer;
  else free(buffer);
  return s;
}

mx_status mx_launch_args_async(mx_kernel *k, const mx_launch_config *config, const void *const *args, size_t count,
                               mx_stream *stream) {
  if (!k) return MX_INVALID_VALUE;
  uint8_t *params = NULL;
  mx_status s = pack(k, args, count, &params);
  if (s != MX_OK) return s;
  s = mx_launch_async(k, config, params, k->module->image->image.funcs[k->func].param_bytes, stream);
  free(params);
  return s;
}

mx_status mx_launch_args(mx_kernel *k, const mx_launch_config *config, const void *const *args, size_t count) {
  return mx_launch_args_async(k, config, args, count, NULL);
}

mx_status mx_launch_async(mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                          mx_stream *s) {
  if (!s) return mx_launch(k, config, params, bytes);
  if (!k) return MX_INVALID_VALUE;
  mx__kernel_use(k, 1);
  struct mx_device *d = k->module->device;
  mx__output_flush(d);
  mx_status status = mx__stream_own(d, s, "mx_launch_async");
  if (status == MX_OK) status = mx_launch_check(k, config, bytes);
  if (status == MX_OK && bytes && !params) status = mx__fail(d, MX_INVALID_VALUE, "launch: no parameters");
  struct mx_work o = {.work = MX_WORK_LAUNCH, .kernel = k, .bytes = bytes};
  if (status == MX_OK && !(o.params = malloc(bytes + 1))) status = mx__fail_plain(d, MX_OUT_OF_MEMORY);
  if (status == MX_OK) {
    memcpy(&o.config, config, config->struct_size);
    if (bytes) memcpy(o.params, params, bytes);
    status = mx__stream_enqueue(s, &o);
  }
  if (status != MX_OK) {
    mx__kernel_use(k, -1);
    free(o.params);
  }
  return status;
}
/* ---- copies and fills -----------------------------------------------------------------------------------*/
mx_status mx_copy_to_device(mx_device *d, mx_addr to, const void *from, uint64_t bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = mx__device_enter(d);
  return s == MX_OK ? mx__copy_in(d, to, from, bytes) : s;
}

mx_status mx_copy_from_device(mx_device *d, void *to, mx_addr from, uint64_t bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = mx__device_enter(d);
  return s == MX_OK ? mx__copy_out(d, to, from, bytes) : s;
}

mx_status mx_copy_on_device(mx_device *d, mx_addr to, mx_addr from, uint64_t bytes) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = mx__device_enter(d);
  return s == MX_OK ? mx__copy_within(d, to, from, bytes) : s;
}

/* Through a buffer of the host, piece by piece: holding both devices' locks at once would need an order between them.
 */
mx_status mx_copy_between_devices(mx_device *to_device, mx_addr to, mx_device *from_device, mx_addr from,
                                  uint64_t bytes) {
  if (!to_device || !from_device) return MX_INVALID_VALUE;
  if (to_device == from_device) return mx_copy_on_device(to_device, to, from, bytes);
  mx_status s = mx__device_enter(to_device);
  if (s == MX_OK) s = mx__device_enter(from_device);
  if (s != MX_OK) return s;
  const uint64_t step = 1 << 20;
  void *piece = malloc(bytes < step ? bytes + 1 : step), *host;
  if (!piece) return mx__fail_plain(to_device, MX_OUT_OF_MEMORY);
  /* both ranges first: a copy happens as a whole or not at all */
  mx__lock_read(&from_device->mem);
  s = mx__host_range(from_device, "mx_copy_between_devices", "read", from, bytes, &host);
  mx__rwunlock(&from_device->mem);
  if (s == MX_OK) {
    mx__lock_read(&to_device->mem);
    s = mx__host_range(to_device, "mx_copy_between_devices", "write", to, bytes, &host);
    mx__rwunlock(&to_device->mem);
  }
  for (uint64_t at = 0; s == MX_OK && at < bytes; at += step) {
    uint64_t n = bytes - at < step ? bytes - at : step;
    s = mx__copy_out(from_device, piece, from + at, n);
    if (s == MX_OK) s = mx__copy_in(to_device, to + at, piece, n);
  }
  free(piece);
  return s;
}

static mx_status fill(mx_device *d, mx_addr to, uint32_t value, unsigned size, uint64_t count) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = mx__device_enter(d);
  return s == MX_OK ? mx__fill(d, to, value, size, count) : s;
}

mx_status mx_memset8(mx_device *d, mx_addr to, uint8_t value, uint64_t count) { return fill(d, to, value, 1, count); }
mx_status mx_memset16(mx_device *d, mx_addr to, uint16_t value, uint64_t count) { return fill(d, to, value, 2, count); }
mx_status mx_memset32(mx_device *d, mx_addr to, uint32_t value, uint64_t count) { return fill(d, to, value, 4, count); }

mx_status mx_copy_to_device_async(mx_device *d, mx_addr to, const void *from, uint64_t bytes, mx_stream *s) {
  if (!s) return mx_copy_to_device(d, to, from, bytes);
  if (!d) return MX_INVALID_VALUE;
  mx_status status = mx__stream_own(d, s, "mx_copy_to_device_async");
  return status == MX_OK
             ? mx__stream_enqueue(s, &(struct mx_work){.work = MX_WORK_COPY_IN, .to = to, .in = from, .bytes = bytes})
             : status;
}

mx_status mx_copy_from_device_async(mx_device *d, void *to, mx_addr from, uint64_t bytes, mx_stream *s) {
  if (!s) return mx_copy_from_device(d, to, from, bytes);
  if (!d) return MX_INVALID_VALUE;
  mx_status status = mx__stream_own(d, s, "mx_copy_from_device_async");
  return status == MX_OK ? mx__stream_enqueue(
                               s, &(struct mx_work){.work = MX_WORK_COPY_OUT, .out = to, .from = from, .bytes = bytes})
                         : status;
}

mx_status mx_copy_on_device_async(mx_device *d, mx_addr to, mx_addr from, uint64_t bytes, mx_stream *s) {
  if (!s) return mx_copy_on_device(d, to, from, bytes);
  if (!d) return MX_INVALID_VALUE;
  mx_status status = mx__stream_own(d, s, "mx_copy_on_device_async");
  return status == MX_OK
             ? mx__stream_enqueue(
                   s, &(struct mx_work){.work = MX_WORK_COPY_WITHIN, .to = to, .from = from, .bytes = bytes})
             : status;
}

static mx_status fill_async(mx_device *d, mx_addr to, uint32_t value, unsigned size, uint64_t count, mx_stream *s,
                            const char *call) {
  if (!d) return MX_INVALID_VALUE;
  mx_status status = mx__stream_own(d, s, call);
  return status == MX_OK
             ? mx__stream_enqueue(
                   s, &(struct mx_work){.work = MX_WORK_FILL, .to = to, .value = value, .size = size, .bytes = count})
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

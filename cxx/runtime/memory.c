/* Memory of devices, page-locked memory of the host, managed memory, and copies. An address means the same on both
 * sides. */
#include "rt.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the program allocated otherwise than by cudaMalloc ----------------------------------------------------*/
struct piece {
  struct piece *next;
  uintptr_t at;
  size_t size;
  enum cudaMemoryType type;
  unsigned flags;
};
static struct piece *pieces;

static struct piece *find(const void *p) {
  struct piece *x = pieces;
  while (x && (uintptr_t)p - x->at >= (x->size ? x->size : 1)) x = x->next;
  return x;
}

static enum cudaMemoryType type_of(const void *p, unsigned *flags) {
  pthread_mutex_lock(&rt_lock);
  struct piece *x = find(p);
  enum cudaMemoryType t = x ? x->type : cudaMemoryTypeUnregistered;
  if (x && flags) *flags = x->flags;
  pthread_mutex_unlock(&rt_lock);
  return t;
}

static cudaError_t add(void *p, size_t size, enum cudaMemoryType type, unsigned flags) {
  struct piece *x = malloc(sizeof *x);
  if (!x) return rt_error(cudaErrorMemoryAllocation);
  pthread_mutex_lock(&rt_lock);
  *x = (struct piece){pieces, (uintptr_t)p, size, type, flags};
  pieces = x;
  pthread_mutex_unlock(&rt_lock);
  return cudaSuccess;
}

static bool take_away(const void *p, enum cudaMemoryType a, enum cudaMemoryType b) {
  bool found = false;
  pthread_mutex_lock(&rt_lock);
  for (struct piece **at = &pieces; *at && !found; at = &(*at)->next) {
    struct piece *x = *at;
    if (x->at != (uintptr_t)p || (x->type != a && x->type != b)) continue;
    *at = x->next;
    free(x);
    found = true;
    break;
  }
  pthread_mutex_unlock(&rt_lock);
  return found;
}

/* ---- allocating -------------------------------------------------------------------------------------------------*/
static cudaError_t allocate(void **p, size_t size) {
  struct rt_device *d = rt_current();
  mx_addr a;
  if (!p || !d) return rt_error(p ? cudaErrorInitializationError : cudaErrorInvalidValue);
  *p = NULL;
  if (!size) return cudaSuccess;
  cudaError_t e = rt_status(d, mx_alloc(d->mx, size + rt_settings.slack, &a));
  if (e == cudaSuccess) *p = (void *)(uintptr_t)a;
  return e;
}

static cudaError_t allocate_shared(void **p, size_t size, enum cudaMemoryType type, unsigned flags) {
  struct rt_device *d = rt_current();
  mx_addr a;
  if (!p || !d || (!size && type == cudaMemoryTypeManaged)) return rt_error(cudaErrorInvalidValue);
  *p = NULL;
  if (!size) return cudaSuccess;
  cudaError_t e = rt_status(d, mx_alloc_managed(d->mx, size + rt_settings.slack, &a, p));
  return e == cudaSuccess ? add(*p, size, type, flags) : e;
}

cudaError_t cudaMalloc(void **p, size_t size) { return allocate(p, size); }
cudaError_t cudaMallocAsync(void **p, size_t size, cudaStream_t stream) {
  cudaError_t e = allocate(p, size);
  return e == cudaSuccess && *p && rt_capturing(stream) ? rt_capture_memory(stream, *p, size) : e;
}
cudaError_t cudaMallocManaged(void **p, size_t size, unsigned int flags) {
  return allocate_shared(p, size, cudaMemoryTypeManaged, flags);
}
cudaError_t cudaHostAlloc(void **p, size_t size, unsigned int flags) {
  return allocate_shared(p, size, cudaMemoryTypeHost, flags);
}
cudaError_t cudaMallocHost(void **p, size_t size) { return cudaHostAlloc(p, size, 0); }

static size_t pitch_of(size_t width) { return (width + 511) & ~(size_t)511; }

cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
  if (!pitch) return rt_error(cudaErrorInvalidValue);
  *pitch = pitch_of(width);
  return allocate(p, *pitch * height);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *p, struct cudaExtent extent) {
  if (!p) return rt_error(cudaErrorInvalidValue);
  *p = (struct cudaPitchedPtr){NULL, pitch_of(extent.width), extent.width, extent.height};
  return allocate(&p->ptr, p->pitch * extent.height * extent.depth);
}

cudaError_t cudaFree(void *p) {
  struct rt_device *d = p ? rt_owner(p) : rt_current();
  if (!p) return d ? cudaSuccess : rt_error(cudaErrorInitializationError);
  if (!d) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = rt_status(d, mx_device_synchronize(d->mx));
  rt_flush();
  if (e != cudaSuccess) return e;
  if (mx_free(d->mx, (uintptr_t)p) != MX_OK) return rt_error(cudaErrorInvalidValue);
  take_away(p, cudaMemoryTypeManaged, cudaMemoryTypeManaged);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream) {
  if (rt_capturing(stream)) return rt_capture_memory(stream, p, 0);
  cudaError_t e = cudaStreamSynchronize(stream);
  return e == cudaSuccess ? cudaFree(p) : e;
}

cudaError_t cudaFreeHost(void *p) {
  if (!p) return cudaSuccess;
  struct rt_device *d = rt_owner(p);
  if (!d || !take_away(p, cudaMemoryTypeHost, cudaMemoryTypeHost)) return rt_error(cudaErrorInvalidValue);
  return mx_free(d->mx, (uintptr_t)p) == MX_OK ? cudaSuccess : rt_error(cudaErrorInvalidValue);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags) {
  (void)flags;
  if (!device || !host) return rt_error(cudaErrorInvalidValue);
  struct rt_device *d = rt_owner(host) ? NULL : rt_current();
  *device = d ? (void *)(uintptr_t)rt_mirrored(d, host) : host;
  return *device ? cudaSuccess : rt_error(cudaErrorInvalidValue);
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host) {
  if (!flags || type_of(host, flags) != cudaMemoryTypeHost) return rt_error(cudaErrorInvalidValue);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t size, unsigned int flags) {
  if (!p || !size) return rt_error(cudaErrorInvalidValue);
  if (type_of(p, NULL) != cudaMemoryTypeUnregistered) return rt_error(cudaErrorHostMemoryAlreadyRegistered);
  cudaError_t e = add(p, size, cudaMemoryTypeHost, flags);
  return e == cudaSuccess ? rt_mirror_add(p, size, false) : e;
}
cudaError_t cudaHostUnregister(void *p) {
  return !rt_owner(p) && take_away(p, cudaMemoryTypeHost, cudaMemoryTypeHost)
             ? rt_mirror_remove(p)
             : rt_error(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaMemGetInfo(size_t *free_, size_t *total) {
  struct rt_device *d = rt_current();
  uint64_t f = 0, t = 0;
  if (!d || !free_ || !total) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = rt_status(d, mx_memory_info(d->mx, &f, &t));
  *free_ = f;
  *total = t;
  return e;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) {
  if (!a) return rt_error(cudaErrorInvalidValue);
  struct rt_device *d = rt_owner(p);
  enum cudaMemoryType t = type_of(p, NULL);
  if (d && t == cudaMemoryTypeUnregistered) t = cudaMemoryTypeDevice;
  if (rt_is_managed_variable(p)) t = cudaMemoryTypeManaged, d = rt_current();
  void *address = (void *)(uintptr_t)p;
  *a = (struct cudaPointerAttributes){t, d ? d->number : -2, d ? address : NULL,
                                      t == cudaMemoryTypeDevice ? NULL : address};
  return cudaSuccess;
}

/* ---- copies -----------------------------------------------------------------------------------------------------*/
/* A copy in a stream, or without one. The program may change host memory that is not page-locked as soon as the call
 * returns, so such a copy is done by then even in a stream. */
static cudaError_t copy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream,
                        bool async) {
  struct rt_device *d = rt_stream_device(stream), *a = rt_owner(to), *b = rt_owner(from);
  mx_stream *s = async ? rt_stream(stream) : NULL;
  const mx_addr ato = (uintptr_t)to, afrom = (uintptr_t)from;
  if (!n) return cudaSuccess;
  const bool mirrored = rt_is_mirrored(to) || rt_is_mirrored(from);
  if (mirrored) { /* what a managed variable has is where the program sees it */
    rt_mirrors_home();
    if (rt_is_managed_variable(to) || rt_is_managed_variable(from)) kind = cudaMemcpyDefault;
  }
  if (!d) return rt_error(cudaErrorInitializationError);
  if (async && rt_capturing(stream)) return rt_capture_copy(stream, to, from, n, kind);
  if ((unsigned)kind > cudaMemcpyDefault) return rt_error(cudaErrorInvalidMemcpyDirection);
  if (((kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) && !a) ||
      ((kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) && !b))
    return rt_error(cudaErrorInvalidValue);
  mx_status status;
  if (!a && !b) {
    cudaError_t e = s ? rt_status(d, mx_stream_synchronize(s)) : cudaSuccess;
    memmove(to, from, n);
    return e;
  }
  if (s && ((a && a != d) || (b && b != d))) { /* between devices: when the stream comes to it */
    cudaError_t e = rt_status(d, mx_stream_synchronize(s));
    if (e != cudaSuccess) return e;
    s = NULL;
  }
  if (a && b)
    status =
        s ? mx_copy_on_device_async(d->mx, ato, afrom, n, s) : mx_copy_between_devices(a->mx, ato, b->mx, afrom, n);
  else if (a) status = s ? mx_copy_to_device_async(d->mx, ato, from, n, s) : mx_copy_to_device(a->mx, ato, from, n);
  else status = s ? mx_copy_from_device_async(d->mx, to, afrom, n, s) : mx_copy_from_device(b->mx, to, afrom, n);
  if (status == MX_OK && s && !(a && b) && type_of(a ? from : to, NULL) == cudaMemoryTypeUnregistered)
    status = mx_stream_synchronize(s);
  if (!s) rt_mirrors_home(), rt_flush();
  return status == MX_INVALID_ADDRESS ? rt_error(cudaErrorInvalidValue) : rt_status(d, status);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind) {
  return copy(to, from, count, kind, NULL, false);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(to, from, count, kind, stream, true);
}
/* Version 13 has no parameter `failed`, so that the stream arrives in its place. The attributes are hints, which are
 * not needed here. */
cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count, void *attributes,
                                 size_t *first_copies, size_t attribute_count, size_t *failed, cudaStream_t stream);
cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count, void *attributes,
                                 size_t *first_copies, size_t attribute_count, size_t *failed, cudaStream_t stream) {
  (void)attributes, (void)first_copies, (void)attribute_count;
  if (rt_is_version_13()) stream = (cudaStream_t)failed, failed = NULL;
  if (!to || !from || !sizes || !count) return rt_error(cudaErrorInvalidValue);
  for (size_t k = 0; k < count; k++) {
    const cudaError_t e = copy(to[k], from[k], sizes[k], cudaMemcpyDefault, stream, true);
    if (e == cudaSuccess) continue;
    if (failed) *failed = k;
    return e;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeer(void *to, int todevice, const void *from, int fromdevice, size_t count) {
  return (void)todevice, (void)fromdevice, copy(to, from, count, cudaMemcpyDefault, NULL, false);
}
cudaError_t cudaMemcpyPeerAsync(void *to, int todevice, const void *from, int fromdevice, size_t count,
                                cudaStream_t stream) {
  return (void)todevice, (void)fromdevice, copy(to, from, count, cudaMemcpyDefault, stream, true);
}

static cudaError_t copy_rows(char *to, size_t topitch, const char *from, size_t frompitch, size_t width, size_t height,
                             enum cudaMemcpyKind kind, cudaStream_t stream, bool async) {
  cudaError_t e = cudaSuccess;
  if (width > topitch || width > frompitch) return rt_error(cudaErrorInvalidPitchValue);
  if (width == topitch && width == frompitch) return copy(to, from, width * height, kind, stream, async);
  for (size_t y = 0; y < height && e == cudaSuccess; y++)
    e = copy(to + y * topitch, from + y * frompitch, width, kind, stream, async);
  return e;
}

cudaError_t cudaMemcpy2D(void *to, size_t topitch, const void *from, size_t frompitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind) {
  return copy_rows(to, topitch, from, frompitch, width, height, kind, NULL, false);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t topitch, const void *from, size_t frompitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  const struct cudaMemcpy3DParms p = {.srcPtr = {(void *)(uintptr_t)from, frompitch, width, height},
                                      .dstPtr = {to, topitch, width, height},
                                      .extent = {width, height, 1},
                                      .kind = kind};
  if (rt_capturing(stream)) return rt_capture_box(stream, &p);
  return copy_rows(to, topitch, from, frompitch, width, height, kind, stream, true);
}

static cudaError_t copy_box(const struct cudaMemcpy3DParms *p, cudaStream_t stream, bool async) {
  cudaError_t e = cudaSuccess;
  if (!p) return rt_error(cudaErrorInvalidValue);
  if (async && rt_capturing(stream)) return rt_capture_box(stream, p);
  if (p->srcArray || p->dstArray) return rt_copy_array(p, stream);
  const struct cudaPitchedPtr *s = &p->srcPtr, *d = &p->dstPtr;
  for (size_t z = 0; z < p->extent.depth && e == cudaSuccess; z++)
    e = copy_rows((char *)d->ptr + ((z + p->dstPos.z) * d->ysize + p->dstPos.y) * d->pitch + p->dstPos.x, d->pitch,
                  (const char *)s->ptr + ((z + p->srcPos.z) * s->ysize + p->srcPos.y) * s->pitch + p->srcPos.x,
                  s->pitch, p->extent.width, p->extent.height, p->kind, stream, async);
  return e;
}
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) { return copy_box(p, NULL, false); }
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  return copy_box(p, stream, true);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream) {
  if (!p) return rt_error(cudaErrorInvalidValue);
  const struct cudaMemcpy3DParms box = {.srcArray = p->srcArray,
                                        .srcPos = p->srcPos,
                                        .srcPtr = p->srcPtr,
                                        .dstArray = p->dstArray,
                                        .dstPos = p->dstPos,
                                        .dstPtr = p->dstPtr,
                                        .extent = p->extent,
                                        .kind = cudaMemcpyDefault};
  return copy_box(&box, stream, true);
}
cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p) { return cudaMemcpy3DPeerAsync(p, NULL); }

/* ---- filling ----------------------------------------------------------------------------------------------------*/
static cudaError_t fill(void *to, int value, size_t n, cudaStream_t stream) {
  struct rt_device *d = rt_stream_device(stream), *owner = rt_owner(to);
  mx_stream *s = rt_stream(stream);
  if (!n) return cudaSuccess;
  if (!d) return rt_error(cudaErrorInitializationError);
  if (rt_capturing(stream)) return rt_capture_fill(stream, &(struct cudaMemsetParams){to, n, (uint8_t)value, 1, n, 1});
  if (!owner) return rt_error(cudaErrorInvalidValue);
  mx_status status = s ? mx_memset8_async(d->mx, (uintptr_t)to, (uint8_t)value, n, s)
                       : mx_memset8(owner->mx, (uintptr_t)to, (uint8_t)value, n);
  return status == MX_INVALID_ADDRESS ? rt_error(cudaErrorInvalidValue) : rt_status(d, status);
}

cudaError_t cudaMemset(void *to, int value, size_t count) { return fill(to, value, count, NULL); }
cudaError_t cudaMemsetAsync(void *to, int value, size_t count, cudaStream_t stream) {
  return fill(to, value, count, stream);
}
cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  cudaError_t e = width > pitch ? rt_error(cudaErrorInvalidPitchValue) : cudaSuccess;
  if (e == cudaSuccess && rt_capturing(stream))
    return rt_capture_fill(stream, &(struct cudaMemsetParams){to, pitch, (uint8_t)value, 1, width, height});
  for (size_t y = 0; y < height && e == cudaSuccess; y++) e = fill((char *)to + y * pitch, value, width, stream);
  return e;
}
cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, NULL);
}
cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
  cudaError_t e = cudaSuccess;
  for (size_t z = 0; z < extent.depth && e == cudaSuccess; z++)
    e = cudaMemset2D((char *)to.ptr + z * to.ysize * to.pitch, to.pitch, value, extent.width, extent.height);
  return e;
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream) {
  cudaError_t e = cudaSuccess;
  for (size_t z = 0; z < extent.depth && e == cudaSuccess; z++)
    e = cudaMemset2DAsync((char *)to.ptr + z * to.ysize * to.pitch, to.pitch, value, extent.width, extent.height,
                          stream);
  return e;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------*/
static cudaError_t with_symbol(const void *symbol, size_t count, size_t offset, char **at) {
  struct rt_device *d = rt_current();
  mx_addr address;
  uint64_t bytes;
  if (!d) return rt_error(cudaErrorInitializationError);
  cudaError_t e = rt_symbol(d, symbol, &address, &bytes);
  if (rt_is_managed_variable(symbol)) address = (uintptr_t)symbol;
  if (e == cudaSuccess && (offset > bytes || count > bytes - offset)) e = rt_error(cudaErrorInvalidValue);
  if (e == cudaSuccess) *at = (char *)(uintptr_t)(address + offset);
  return e;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t count, size_t offset,
                               enum cudaMemcpyKind kind) {
  char *at;
  cudaError_t e = with_symbol(symbol, count, offset, &at);
  return e == cudaSuccess ? copy(at, from, count, kind, NULL, false) : e;
}
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind) {
  char *at;
  cudaError_t e = with_symbol(symbol, count, offset, &at);
  return e == cudaSuccess ? copy(to, at, count, kind, NULL, false) : e;
}
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t count, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
  char *at;
  cudaError_t e = with_symbol(symbol, count, offset, &at);
  return e == cudaSuccess ? copy(at, from, count, kind, stream, true) : e;
}
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
  char *at;
  cudaError_t e = with_symbol(symbol, count, offset, &at);
  return e == cudaSuccess ? copy(to, at, count, kind, stream, true) : e;
}

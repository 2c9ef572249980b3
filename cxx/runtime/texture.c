/* Arrays of texels, copies from and to them, texture and surface objects: on mx/texture.h. */
#include "mx/texture.h"
#include "rt.h"

#include <stdlib.h>

/* A level of an array: the level's own size, and whether the array goes with it. */
struct cudaArray {
  struct rt_device *device;
  mx_array *mx;
  struct cudaChannelFormatDesc format;
  struct cudaExtent extent; /* as the program gave it */
  unsigned flags, level;
  struct cudaMipmappedArray *whole; /* NULL: an array of one level, which owns mx */
};
struct cudaMipmappedArray {
  unsigned levels;
  struct cudaArray level[];
};

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f) {
  return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

/* What mx calls the format; false: it has none like it. */
static bool format_of(const struct cudaChannelFormatDesc *f, mx_texel_type *type, uint32_t *bits, uint32_t *channels) {
  const int c[] = {f->x, f->y, f->z, f->w};
  uint32_t n = 0;
  while (n < 4 && c[n]) n++;
  for (uint32_t k = 0; k < 4; k++)
    if (c[k] != (k < n ? f->x : 0)) return false;
  if (f->f != cudaChannelFormatKindSigned && f->f != cudaChannelFormatKindUnsigned &&
      f->f != cudaChannelFormatKindFloat)
    return false;
  *type = f->f == cudaChannelFormatKindSigned     ? MX_TEXEL_SIGNED
          : f->f == cudaChannelFormatKindUnsigned ? MX_TEXEL_UNSIGNED
                                                  : MX_TEXEL_FLOAT;
  *bits = (uint32_t)f->x;
  *channels = n;
  return n == 1 || n == 2 || n == 4;
}

static size_t texel_bytes(const struct cudaChannelFormatDesc *f) { return (size_t)(f->x + f->y + f->z + f->w) / 8; }

/* ---- arrays -----------------------------------------------------------------------------------------------------*/
static cudaError_t make(mx_array **array, struct rt_device *d, const struct cudaChannelFormatDesc *f,
                        struct cudaExtent e, unsigned levels, unsigned flags) {
  mx_array_desc a = MX_ARRAY_DESC_INIT;
  if (!format_of(f, &a.type, &a.bits, &a.channels) || !e.width || e.width > UINT32_MAX || e.height > UINT32_MAX ||
      e.depth > UINT32_MAX)
    return rt_error(cudaErrorInvalidValue);
  const bool layered = flags & cudaArrayLayered, cube = flags & cudaArrayCubemap;
  a.width = (uint32_t)e.width;
  a.height = (uint32_t)e.height;
  a.levels = levels;
  if (cube) {
    a.kind = layered ? MX_ARRAY_CUBE_LAYERED : MX_ARRAY_CUBE;
    a.layers = layered ? (uint32_t)e.depth / 6 : 0;
    if (e.depth % 6 || (!layered && e.depth != 6)) return rt_error(cudaErrorInvalidValue);
  } else if (layered) {
    a.kind = e.height ? MX_ARRAY_2D_LAYERED : MX_ARRAY_1D_LAYERED;
    a.layers = (uint32_t)e.depth;
  } else {
    a.kind = e.depth ? MX_ARRAY_3D : e.height ? MX_ARRAY_2D : MX_ARRAY_1D;
    a.depth = (uint32_t)e.depth;
  }
  return rt_status(d, mx_array_create(d->mx, &a, array));
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned int flags) {
  struct rt_device *d = rt_current();
  struct cudaArray *a = array && desc && d ? calloc(1, sizeof *a) : NULL;
  if (!a)
    return rt_error(!array || !desc ? cudaErrorInvalidValue
                    : d             ? cudaErrorMemoryAllocation
                                    : cudaErrorInitializationError);
  *a = (struct cudaArray){.device = d, .format = *desc, .extent = extent, .flags = flags};
  cudaError_t e = make(&a->mx, d, desc, extent, 1, flags);
  if (e != cudaSuccess) return free(a), e;
  *array = a;
  return cudaSuccess;
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                            unsigned int flags) {
  return cudaMalloc3DArray(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

static size_t of_level(size_t n, unsigned level) { return n >> level ? n >> level : n > 0; }

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent e, unsigned int levels, unsigned int flags) {
  struct rt_device *d = rt_current();
  mx_array *mx;
  unsigned most = 1;
  if (!array || !desc || !d) return rt_error(d ? cudaErrorInvalidValue : cudaErrorInitializationError);
  const bool layers = flags & (cudaArrayLayered | cudaArrayCubemap);
  while (most < 32 && (e.width >> most || e.height >> most || (!layers && e.depth >> most))) most++;
  if (!levels) levels = 1;
  if (levels > most) levels = most;
  cudaError_t status = make(&mx, d, desc, e, levels, flags);
  if (status != cudaSuccess) return status;
  struct cudaMipmappedArray *a = calloc(1, sizeof *a + levels * sizeof *a->level);
  if (!a) return mx_array_destroy(mx), rt_error(cudaErrorMemoryAllocation);
  a->levels = levels;
  for (unsigned l = 0; l < levels; l++) {
    const struct cudaExtent size = {of_level(e.width, l), of_level(e.height, l),
                                    layers ? e.depth : of_level(e.depth, l)};
    a->level[l] = (struct cudaArray){d, mx, *desc, size, flags, l, a};
  }
  *array = a;
  return cudaSuccess;
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *array, cudaMipmappedArray_const_t mipmap, unsigned int level) {
  if (!array || !mipmap || level >= mipmap->levels) return rt_error(cudaErrorInvalidValue);
  *array = (cudaArray_t)(uintptr_t)&mipmap->level[level];
  return cudaSuccess;
}

cudaError_t cudaFreeArray(cudaArray_t a) {
  if (!a) return cudaSuccess;
  if (a->whole) return rt_error(cudaErrorInvalidResourceHandle);
  cudaError_t e = rt_status(a->device, mx_device_synchronize(a->device->mx));
  mx_array_destroy(a->mx);
  free(a);
  return e;
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t a) {
  if (!a) return cudaSuccess;
  cudaError_t e = rt_status(a->level->device, mx_device_synchronize(a->level->device->mx));
  mx_array_destroy(a->level->mx);
  free(a);
  return e;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t a) {
  if (!a) return rt_error(cudaErrorInvalidResourceHandle);
  if (desc) *desc = a->format;
  if (extent) *extent = a->extent;
  if (flags) *flags = a->flags;
  return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t a) {
  return cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)(uintptr_t)a);
}

/* ---- copies -----------------------------------------------------------------------------------------------------*/
/* In texels, from the array's side. */
static cudaError_t box_of(const struct cudaArray *a, struct cudaPos at, struct cudaExtent size, mx_texel_box *box) {
  const struct cudaExtent *e = &a->extent;
  const size_t height = e->height ? e->height : 1, depth = e->depth ? e->depth : 1;
  if (at.x > e->width || size.width > e->width - at.x || at.y > height || size.height > height - at.y || at.z > depth ||
      size.depth > depth - at.z)
    return rt_error(cudaErrorInvalidValue);
  *box = (mx_texel_box)MX_TEXEL_BOX_INIT;
  box->level = a->level;
  box->x = (uint32_t)at.x, box->y = (uint32_t)at.y, box->z = (uint32_t)at.z;
  box->width = (uint32_t)size.width, box->height = (uint32_t)size.height, box->depth = (uint32_t)size.depth;
  return cudaSuccess;
}

/* Copies of arrays come when the stream has come to them, and are done when the call returns. */
cudaError_t rt_copy_array(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  const struct cudaArray *to = p->dstArray, *from = p->srcArray, *a = to ? to : from;
  const struct cudaExtent size = p->extent;
  const size_t texel = texel_bytes(&a->format);
  mx_texel_box box, other;
  if (!size.width || !size.height || !size.depth) return cudaSuccess;
  cudaError_t e = cudaStreamSynchronize(stream);
  if (e != cudaSuccess) return e;
  if (to && from) {
    if ((e = box_of(from, p->srcPos, size, &box)) != cudaSuccess ||
        (e = box_of(to, p->dstPos, size, &other)) != cudaSuccess)
      return e;
    return rt_status(to->device, mx_array_copy(to->mx, &other, from->mx, &box));
  }
  const struct cudaPitchedPtr *m = to ? &p->srcPtr : &p->dstPtr;
  const struct cudaPos *at = to ? &p->srcPos : &p->dstPos;
  const size_t rows = m->ysize ? m->ysize : size.height, slice = rows * m->pitch;
  char *memory = m->ptr;
  if (!memory || size.width * texel > m->pitch)
    return rt_error(memory ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue);
  if ((e = box_of(a, to ? p->dstPos : p->srcPos, size, &box)) != cudaSuccess) return e;
  memory += (at->z * rows + at->y) * m->pitch + at->x;
  struct rt_device *owner = rt_owner(memory);
  if ((p->kind == cudaMemcpyDeviceToDevice && !owner) || (owner && owner != a->device))
    return rt_error(cudaErrorInvalidValue);
  mx_status s;
  if (to)
    s = owner ? mx_array_copy_from_memory(to->mx, &box, (uintptr_t)memory, m->pitch, slice)
              : mx_array_copy_in(to->mx, &box, memory, m->pitch, slice);
  else
    s = owner ? mx_array_copy_to_memory(from->mx, &box, (uintptr_t)memory, m->pitch, slice)
              : mx_array_copy_out(from->mx, &box, memory, m->pitch, slice);
  return s == MX_INVALID_ADDRESS ? rt_error(cudaErrorInvalidValue) : rt_status(a->device, s);
}

/* x and width in bytes, as in these calls */
static cudaError_t plane(cudaArray_const_t a, bool in, size_t x, size_t y, void *memory, size_t pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!a) return rt_error(cudaErrorInvalidResourceHandle);
  const size_t texel = texel_bytes(&a->format);
  if (x % texel || width % texel) return rt_error(cudaErrorInvalidValue);
  struct cudaMemcpy3DParms p = {.extent = {width / texel, height, 1}, .kind = kind};
  const struct cudaPitchedPtr m = {memory, pitch, width, height};
  const struct cudaPos at = {x / texel, y, 0};
  cudaArray_t array = (cudaArray_t)(uintptr_t)a;
  if (in) p.dstArray = array, p.dstPos = at, p.srcPtr = m;
  else p.srcArray = array, p.srcPos = at, p.dstPtr = m;
  return cudaMemcpy3DAsync(&p, stream);
}

/* Bytes one after the other: what is left of the first row, whole rows, and a beginning. */
static cudaError_t bytes(cudaArray_const_t a, bool in, size_t x, size_t y, char *memory, size_t count,
                         enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!a) return rt_error(cudaErrorInvalidResourceHandle);
  const size_t row = a->extent.width * texel_bytes(&a->format);
  cudaError_t e = cudaSuccess;
  while (count && e == cudaSuccess) {
    const size_t n = x || count < row ? (count < row - x ? count : row - x) : row;
    const size_t rows = n == row ? count / row : 1;
    e = x >= row ? rt_error(cudaErrorInvalidValue) : plane(a, in, x, y, memory, n, n, rows, kind, stream);
    memory += n * rows, count -= n * rows, y += rows, x = 0;
  }
  return e;
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return plane(to, true, x, y, (void *)(uintptr_t)from, pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
  return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, NULL);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return plane(from, false, x, y, to, pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind) {
  return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, NULL);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
  return bytes(to, true, x, y, (char *)(uintptr_t)from, count, kind, stream);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                              enum cudaMemcpyKind kind) {
  return cudaMemcpyToArrayAsync(to, x, y, from, count, kind, NULL);
}
cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
  return bytes(from, false, x, y, to, count, kind, stream);
}
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                enum cudaMemcpyKind kind) {
  return cudaMemcpyFromArrayAsync(to, from, x, y, count, kind, NULL);
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t tox, size_t toy, cudaArray_const_t from, size_t fromx,
                                     size_t fromy, size_t width, size_t height, enum cudaMemcpyKind kind) {
  if (!to || !from) return rt_error(cudaErrorInvalidResourceHandle);
  const size_t texel = texel_bytes(&to->format);
  const struct cudaMemcpy3DParms p = {.srcArray = (cudaArray_t)(uintptr_t)from,
                                      .srcPos = {fromx / texel, fromy, 0},
                                      .dstArray = to,
                                      .dstPos = {tox / texel, toy, 0},
                                      .extent = {width / texel, height, 1},
                                      .kind = kind};
  return cudaMemcpy3D(&p);
}

/* ---- objects ----------------------------------------------------------------------------------------------------*/
static cudaError_t made(unsigned long long *to, unsigned long long object) {
  rt_watch_objects(1);
  *to = object;
  return cudaSuccess;
}
static cudaError_t destroyed(cudaError_t e) {
  if (e == cudaSuccess) rt_watch_objects(-1);
  return e;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *r,
                                    const struct cudaTextureDesc *t, const struct cudaResourceViewDesc *view) {
  struct rt_device *d = rt_current();
  mx_texture_desc m = MX_TEXTURE_DESC_INIT;
  const struct cudaChannelFormatDesc *format = NULL;
  mx_texture object;
  if (!texture || !r || !t || !d) return rt_error(d ? cudaErrorInvalidValue : cudaErrorInitializationError);
  if (view && view->format) return rt_missing("cudaCreateTextureObject with another view of its resource");
  switch (r->resType) {
  case cudaResourceTypeArray:
    if (!r->res.array.array) return rt_error(cudaErrorInvalidValue);
    if (r->res.array.array->level) return rt_missing("cudaCreateTextureObject of a level of an array");
    m.array = r->res.array.array->mx;
    format = &r->res.array.array->format;
    break;
  case cudaResourceTypeMipmappedArray:
    if (!r->res.mipmap.mipmap) return rt_error(cudaErrorInvalidValue);
    m.array = r->res.mipmap.mipmap->level->mx;
    format = &r->res.mipmap.mipmap->level->format;
    break;
  case cudaResourceTypeLinear:
    format = &r->res.linear.desc;
    m.address = (uintptr_t)r->res.linear.devPtr;
    break;
  case cudaResourceTypePitch2D:
    format = &r->res.pitch2D.desc;
    m.address = (uintptr_t)r->res.pitch2D.devPtr;
    m.width = (uint32_t)r->res.pitch2D.width;
    m.height = (uint32_t)r->res.pitch2D.height;
    m.pitch = r->res.pitch2D.pitchInBytes;
    break;
  default: return rt_error(cudaErrorInvalidValue);
  }
  if (!format_of(format, &m.type, &m.bits, &m.channels)) return rt_error(cudaErrorInvalidValue);
  if (r->resType == cudaResourceTypeLinear) m.width = (uint32_t)(r->res.linear.sizeInBytes / texel_bytes(format));
  for (unsigned k = 0; k < 3; k++) m.address_mode[k] = (mx_address_mode)t->addressMode[k]; /* the same numbers */
  for (unsigned k = 0; k < 4; k++) m.border[k] = t->borderColor[k];
  m.filter = t->filterMode == cudaFilterModeLinear ? MX_FILTER_LINEAR : MX_FILTER_POINT;
  m.mip_filter = t->mipmapFilterMode == cudaFilterModeLinear ? MX_FILTER_LINEAR : MX_FILTER_POINT;
  m.normalized_coords = t->normalizedCoords;
  m.normalized_read = t->readMode == cudaReadModeNormalizedFloat && m.type != MX_TEXEL_FLOAT;
  m.srgb = t->sRGB;
  m.seamless = t->seamlessCubemap;
  m.mip_bias = t->mipmapLevelBias;
  m.min_lod = t->minMipmapLevelClamp;
  m.max_lod = t->maxMipmapLevelClamp;
  m.max_anisotropy = t->maxAnisotropy;
  cudaError_t e = rt_status(d, mx_texture_create(d->mx, &m, &object));
  if (e == cudaSuccess) return made(texture, object);
  rt_explain(d);
  return e;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  struct rt_device *d = rt_current();
  return !texture ? cudaSuccess
         : d      ? destroyed(rt_status(d, mx_texture_destroy(d->mx, texture)))
                  : rt_error(cudaErrorInitializationError);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *r) {
  mx_surface object;
  if (!surface || !r || r->resType != cudaResourceTypeArray || !r->res.array.array)
    return rt_error(cudaErrorInvalidValue);
  const struct cudaArray *a = r->res.array.array;
  cudaError_t e = rt_status(a->device, mx_surface_create(a->mx, a->level, &object));
  return e == cudaSuccess ? made(surface, object) : e;
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  struct rt_device *d = rt_current();
  return !surface ? cudaSuccess
         : d      ? destroyed(rt_status(d, mx_surface_destroy(d->mx, surface)))
                  : rt_error(cudaErrorInitializationError);
}

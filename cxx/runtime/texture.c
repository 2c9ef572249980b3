/* Texture and surface objects: on mx/texture.h. */
#include "array.h"

#include <stdlib.h>

/* ---- what objects were made of, for who asks ---------------------------------------------------------------------*/
static struct object {
  struct object *next;
  unsigned long long number;
  bool is_surface, has_view;
  struct cudaResourceDesc resource;
  struct cudaTextureDesc texture;
  struct cudaResourceViewDesc view;
} * objects; /* rt_lock */

static cudaError_t ask(unsigned long long number, bool is_surface, struct object *out) {
  pthread_mutex_lock(&rt_lock);
  const struct object *o = objects;
  while (o && (o->number != number || o->is_surface != is_surface)) o = o->next;
  if (o) *out = *o;
  pthread_mutex_unlock(&rt_lock);
  return o ? cudaSuccess : rt_error(cudaErrorInvalidValue);
}
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *desc, cudaTextureObject_t texture) {
  struct object o;
  cudaError_t e = desc ? ask(texture, false, &o) : rt_error(cudaErrorInvalidValue);
  return e == cudaSuccess ? *desc = o.resource, e : e;
}
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *desc, cudaTextureObject_t texture) {
  struct object o;
  cudaError_t e = desc ? ask(texture, false, &o) : rt_error(cudaErrorInvalidValue);
  return e == cudaSuccess ? *desc = o.texture, e : e;
}
cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *desc, cudaTextureObject_t texture) {
  struct object o;
  cudaError_t e = desc ? ask(texture, false, &o) : rt_error(cudaErrorInvalidValue);
  if (e == cudaSuccess && !o.has_view) e = rt_error(cudaErrorInvalidValue);
  return e == cudaSuccess ? *desc = o.view, e : e;
}
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *desc, cudaSurfaceObject_t surface) {
  struct object o;
  cudaError_t e = desc ? ask(surface, true, &o) : rt_error(cudaErrorInvalidValue);
  return e == cudaSuccess ? *desc = o.resource, e : e;
}
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *format,
                                                 int device) {
  if (!width || !format || device < 0 || device >= rt_device_count()) return rt_error(cudaErrorInvalidValue);
  struct cudaDeviceProp p;
  cudaError_t e = cudaGetDeviceProperties_v2(&p, device);
  if (e == cudaSuccess) *width = (size_t)p.maxTexture1DLinear;
  return e;
}

/* ---- objects ----------------------------------------------------------------------------------------------------*/
static cudaError_t made(unsigned long long *to, unsigned long long number, const struct object *of) {
  struct object *o = malloc(sizeof *o);
  if (!o) return rt_error(cudaErrorMemoryAllocation);
  *o = *of;
  o->number = number;
  pthread_mutex_lock(&rt_lock);
  o->next = objects;
  objects = o;
  pthread_mutex_unlock(&rt_lock);
  rt_watch_objects(1);
  *to = number;
  return cudaSuccess;
}
static cudaError_t destroyed(cudaError_t e, unsigned long long number, bool is_surface) {
  if (e != cudaSuccess) return e;
  pthread_mutex_lock(&rt_lock);
  for (struct object **at = &objects; *at; at = &(*at)->next)
    if ((*at)->number == number && (*at)->is_surface == is_surface) {
      struct object *o = *at;
      *at = o->next;
      free(o);
      break;
    }
  pthread_mutex_unlock(&rt_lock);
  rt_watch_objects(-1);
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
  if (!rt_texel_format(format, &m.type, &m.bits, &m.channels)) return rt_error(cudaErrorInvalidValue);
  if (r->resType == cudaResourceTypeLinear) m.width = (uint32_t)(r->res.linear.sizeInBytes / rt_texel_bytes(format));
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
  struct object o = {.has_view = view, .resource = *r, .texture = *t};
  if (view) o.view = *view;
  if (e == cudaSuccess) return made(texture, object, &o);
  rt_explain(d);
  return e;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  struct rt_device *d = rt_current();
  return !texture ? cudaSuccess
         : d      ? destroyed(rt_status(d, mx_texture_destroy(d->mx, texture)), texture, false)
                  : rt_error(cudaErrorInitializationError);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *r) {
  mx_surface object;
  if (!surface || !r || r->resType != cudaResourceTypeArray || !r->res.array.array)
    return rt_error(cudaErrorInvalidValue);
  const struct cudaArray *a = r->res.array.array;
  cudaError_t e = rt_status(a->device, mx_surface_create(a->mx, a->level, &object));
  return e == cudaSuccess ? made(surface, object, &(struct object){.is_surface = true, .resource = *r}) : e;
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  struct rt_device *d = rt_current();
  return !surface ? cudaSuccess
         : d      ? destroyed(rt_status(d, mx_surface_destroy(d->mx, surface)), surface, true)
                  : rt_error(cudaErrorInitializationError);
}

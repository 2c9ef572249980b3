/* Texture and surface objects: on mx/texture.h. */
#include "array.h"

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

/* Memory under the driver's names: boxes and rows, arrays, textures and surfaces, and ranges of addresses to which
 * memory is given piece by piece. */
#include "array.h"
#include "driver.h"

#include <stdlib.h>

/* ---- arrays -----------------------------------------------------------------------------------------------------*/
static const struct {
  CUarray_format format;
  int bits;
  enum cudaChannelFormatKind kind;
} formats[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
               {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
               {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
               {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
               {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
               {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
               {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
               {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat}};
enum { FORMATS = sizeof formats / sizeof *formats };

static struct cudaChannelFormatDesc channels_of(CUarray_format format, unsigned n) {
  struct cudaChannelFormatDesc d = {0, 0, 0, 0, cudaChannelFormatKindNone};
  for (unsigned k = 0; k < FORMATS; k++)
    if (formats[k].format == format) {
      const int b = formats[k].bits;
      d = (struct cudaChannelFormatDesc){b, n > 1 ? b : 0, n > 2 ? b : 0, n > 3 ? b : 0, formats[k].kind};
    }
  return d;
}
CU(cuArray3DCreate_v2, cudaArray_t *array, const CUDA_ARRAY3D_DESCRIPTOR *d) {
  if (!array || !d) return cudaErrorInvalidValue;
  const struct cudaChannelFormatDesc format = channels_of(d->Format, d->NumChannels);
  const struct cudaExtent extent = {d->Width, d->Height, d->Depth};
  return (CUresult)cudaMalloc3DArray(array, &format, extent, d->Flags);
}
CU(cuArrayCreate_v2, cudaArray_t *array, const CUDA_ARRAY_DESCRIPTOR *d) {
  if (!d) return cudaErrorInvalidValue;
  const CUDA_ARRAY3D_DESCRIPTOR with = {d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
  return cuArray3DCreate_v2(array, &with);
}
CU(cuArrayDestroy, cudaArray_t array) { return (CUresult)cudaFreeArray(array); }
CU(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR *d, cudaArray_t a) {
  if (!d || !a) return cudaErrorInvalidValue;
  *d = (CUDA_ARRAY3D_DESCRIPTOR){a->extent.width,
                                 a->extent.height,
                                 a->extent.depth,
                                 CU_AD_FORMAT_FLOAT,
                                 (unsigned)rt_texel_bytes(&a->format) * 8 / (unsigned)a->format.x,
                                 a->flags};
  for (unsigned k = 0; k < FORMATS; k++)
    if (formats[k].bits == a->format.x && formats[k].kind == a->format.f) d->Format = formats[k].format;
  return cudaSuccess;
}
CU(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR *d, cudaArray_t a) {
  CUDA_ARRAY3D_DESCRIPTOR all;
  const CUresult e = d ? cuArray3DGetDescriptor_v2(&all, a) : cudaErrorInvalidValue;
  if (e == cudaSuccess) *d = (CUDA_ARRAY_DESCRIPTOR){all.Width, all.Height, all.Format, all.NumChannels};
  return e;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------*/
/* One side of a copy. x and width count texels if it is an array, else bytes. */
static void side(CUmemorytype type, const void *host, CUdeviceptr device, cudaArray_t from, size_t x, size_t y,
                 size_t z, size_t pitch, size_t height, const CUDA_MEMCPY3D *c, cudaArray_t *array,
                 struct cudaPitchedPtr *memory, struct cudaPos *at) {
  if (type == CU_MEMORYTYPE_ARRAY) {
    *array = from;
    *at = (struct cudaPos){from ? x / rt_texel_bytes(&from->format) : x, y, z};
    return;
  }
  void *p = type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)host : POINTER(device);
  *memory = (struct cudaPitchedPtr){p, pitch ? pitch : c->WidthInBytes, c->WidthInBytes, height ? height : c->Height};
  *at = (struct cudaPos){x, y, z};
}
static CUresult copy_box(const CUDA_MEMCPY3D *c, CUstream s, bool async) {
  struct cudaMemcpy3DParms p = {.kind = cudaMemcpyDefault};
  if (!c || c->srcLOD || c->dstLOD) return cudaErrorInvalidValue;
  side(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch,
       c->srcHeight, c, &p.srcArray, &p.srcPtr, &p.srcPos);
  side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch,
       c->dstHeight, c, &p.dstArray, &p.dstPtr, &p.dstPos);
  const cudaArray_t a = p.srcArray ? p.srcArray : p.dstArray;
  p.extent =
      (struct cudaExtent){a ? c->WidthInBytes / rt_texel_bytes(&a->format) : c->WidthInBytes, c->Height, c->Depth};
  return (CUresult)(async ? cudaMemcpy3DAsync(&p, s) : cudaMemcpy3D(&p));
}
CU(cuMemcpy3D_v2, const CUDA_MEMCPY3D *c) { return copy_box(c, NULL, false); }
CU(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D *c, CUstream s) { return copy_box(c, s, true); }

static CUresult copy_rows(const CUDA_MEMCPY2D *c, CUstream s, bool async) {
  if (!c) return cudaErrorInvalidValue;
  const CUDA_MEMCPY3D box = {.srcXInBytes = c->srcXInBytes,
                             .srcY = c->srcY,
                             .srcMemoryType = c->srcMemoryType,
                             .srcHost = c->srcHost,
                             .srcDevice = c->srcDevice,
                             .srcArray = c->srcArray,
                             .srcPitch = c->srcPitch,
                             .dstXInBytes = c->dstXInBytes,
                             .dstY = c->dstY,
                             .dstMemoryType = c->dstMemoryType,
                             .dstHost = c->dstHost,
                             .dstDevice = c->dstDevice,
                             .dstArray = c->dstArray,
                             .dstPitch = c->dstPitch,
                             .WidthInBytes = c->WidthInBytes,
                             .Height = c->Height,
                             .Depth = 1};
  return copy_box(&box, s, async);
}
CU(cuMemcpy2D_v2, const CUDA_MEMCPY2D *c) { return copy_rows(c, NULL, false); }
CU(cuMemcpy2DUnaligned_v2, const CUDA_MEMCPY2D *c) { return copy_rows(c, NULL, false); }
CU(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D *c, CUstream s) { return copy_rows(c, s, true); }
CU(cuMemcpyHtoA_v2, cudaArray_t to, size_t offset, const void *from, size_t bytes) {
  return (CUresult)cudaMemcpyToArray(to, offset, 0, from, bytes, cudaMemcpyHostToDevice);
}
CU(cuMemcpyAtoH_v2, void *to, cudaArray_t from, size_t offset, size_t bytes) {
  return (CUresult)cudaMemcpyFromArray(to, from, offset, 0, bytes, cudaMemcpyDeviceToHost);
}
CU(cuMemcpyDtoA_v2, cudaArray_t to, size_t offset, CUdeviceptr from, size_t bytes) {
  return (CUresult)cudaMemcpyToArray(to, offset, 0, POINTER(from), bytes, cudaMemcpyDeviceToDevice);
}
CU(cuMemcpyAtoD_v2, CUdeviceptr to, cudaArray_t from, size_t offset, size_t bytes) {
  return (CUresult)cudaMemcpyFromArray(POINTER(to), from, offset, 0, bytes, cudaMemcpyDeviceToDevice);
}
CU(cuMemcpyPeer, CUdeviceptr to, CUcontext a, CUdeviceptr from, CUcontext b, size_t bytes) {
  return (void)a, (void)b, (CUresult)cudaMemcpy(POINTER(to), POINTER(from), bytes, cudaMemcpyDefault);
}
CU(cuMemcpyPeerAsync, CUdeviceptr to, CUcontext a, CUdeviceptr from, CUcontext b, size_t bytes, CUstream s) {
  return (void)a, (void)b, (CUresult)cudaMemcpyAsync(POINTER(to), POINTER(from), bytes, cudaMemcpyDefault, s);
}
#define FILL(bits_, type_) \
  CU(cuMemsetD2D##bits_##Async, CUdeviceptr to, size_t pitch, type_ value, size_t width, size_t height, CUstream s) { \
    const struct cudaMemsetParams p = {POINTER(to), pitch, value, bits_ / 8, width, height}; \
    return (CUresult)rt_fill(&p, s); \
  } \
  CU(cuMemsetD2D##bits_##_v2, CUdeviceptr to, size_t pitch, type_ value, size_t width, size_t height) { \
    return cuMemsetD2D##bits_##Async(to, pitch, value, width, height, NULL); \
  }
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
#undef FILL
CU(cuMemHostGetFlags, unsigned *flags, void *p) { return (CUresult)cudaHostGetFlags(flags, p); }

/* ---- textures and surfaces --------------------------------------------------------------------------------------*/
static cudaError_t resource_of(struct cudaResourceDesc *r, const CUDA_RESOURCE_DESC *d) {
  if (!d) return cudaErrorInvalidValue;
  *r = (struct cudaResourceDesc){.resType = d->resType};
  switch (r->resType) {
  case cudaResourceTypeArray: r->res.array.array = d->res.array.hArray; break;
  case cudaResourceTypeMipmappedArray: r->res.mipmap.mipmap = d->res.mipmap.hMipmappedArray; break;
  case cudaResourceTypeLinear:
    r->res.linear.devPtr = POINTER(d->res.linear.devPtr);
    r->res.linear.desc = channels_of(d->res.linear.format, d->res.linear.numChannels);
    r->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
    break;
  case cudaResourceTypePitch2D:
    r->res.pitch2D.devPtr = POINTER(d->res.pitch2D.devPtr);
    r->res.pitch2D.desc = channels_of(d->res.pitch2D.format, d->res.pitch2D.numChannels);
    r->res.pitch2D.width = d->res.pitch2D.width;
    r->res.pitch2D.height = d->res.pitch2D.height;
    r->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
    break;
  default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
CU(cuTexObjectCreate, cudaTextureObject_t *texture, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *t,
   const struct cudaResourceViewDesc *view) {
  struct cudaResourceDesc r;
  const cudaError_t e = t ? resource_of(&r, resource) : cudaErrorInvalidValue;
  if (e != cudaSuccess) return (CUresult)e;
  struct cudaTextureDesc d = {.filterMode = t->filterMode,
                              .readMode = t->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
                                                                             : cudaReadModeNormalizedFloat,
                              .sRGB = (t->flags & CU_TRSF_SRGB) != 0,
                              .normalizedCoords = (t->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
                              .maxAnisotropy = t->maxAnisotropy,
                              .mipmapFilterMode = t->mipmapFilterMode,
                              .mipmapLevelBias = t->mipmapLevelBias,
                              .minMipmapLevelClamp = t->minMipmapLevelClamp,
                              .maxMipmapLevelClamp = t->maxMipmapLevelClamp};
  for (unsigned k = 0; k < 3; k++) d.addressMode[k] = t->addressMode[k];
  for (unsigned k = 0; k < 4; k++) d.borderColor[k] = t->borderColor[k];
  return (CUresult)cudaCreateTextureObject(texture, &r, &d, view);
}
CU(cuTexObjectDestroy, cudaTextureObject_t texture) { return (CUresult)cudaDestroyTextureObject(texture); }
CU(cuSurfObjectCreate, cudaSurfaceObject_t *surface, const CUDA_RESOURCE_DESC *resource) {
  struct cudaResourceDesc r;
  const cudaError_t e = resource_of(&r, resource);
  return (CUresult)(e == cudaSuccess ? cudaCreateSurfaceObject(surface, &r) : e);
}
CU(cuSurfObjectDestroy, cudaSurfaceObject_t surface) { return (CUresult)cudaDestroySurfaceObject(surface); }

/* ---- ranges of addresses ----------------------------------------------------------------------------------------*/
/* A reserved range gets all of its memory at once, which costs nothing until it is touched; mapping a piece of memory
 * into it only notes which piece it is. So one piece mapped into two ranges would not be the same bytes in both, and
 * that is refused. */
struct piece {
  size_t bytes;
  CUdeviceptr at; /* 0: not mapped */
  bool released;
};
enum { GRANULE = 2 << 20 };
CU(cuMemGetAllocationGranularity, size_t *granularity, const CUmemAllocationProp *prop, int option) {
  (void)option;
  return granularity && prop ? *granularity = GRANULE, cudaSuccess : cudaErrorInvalidValue;
}
CU(cuMemAddressReserve, CUdeviceptr *p, size_t bytes, size_t alignment, CUdeviceptr wish, unsigned long long flags) {
  void *a = NULL;
  (void)alignment, (void)wish, (void)flags;
  if (!p || !bytes || bytes % GRANULE) return cudaErrorInvalidValue;
  const cudaError_t e = cudaMalloc(&a, bytes);
  *p = (uintptr_t)a;
  return (CUresult)e;
}
CU(cuMemAddressFree, CUdeviceptr p, size_t bytes) { return (void)bytes, (CUresult)cudaFree(POINTER(p)); }
CU(cuMemCreate, struct piece **piece, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags) {
  if (!piece || !prop || flags || !bytes || bytes % GRANULE) return cudaErrorInvalidValue;
  if (prop->location.id < 0 || prop->location.id >= rt_device_count()) return cudaErrorInvalidDevice;
  if (!(*piece = calloc(1, sizeof **piece))) return cudaErrorMemoryAllocation;
  (*piece)->bytes = bytes;
  return cudaSuccess;
}
CU(cuMemRelease, struct piece *piece) {
  if (!piece) return cudaErrorInvalidValue;
  pthread_mutex_lock(&rt_lock);
  piece->released = true; /* a mapping goes on */
  if (!piece->at) free(piece);
  pthread_mutex_unlock(&rt_lock);
  return cudaSuccess;
}
static struct mapped {
  struct mapped *next;
  struct piece *piece;
} * mapped;
CU(cuMemMap, CUdeviceptr p, size_t bytes, size_t offset, struct piece *piece, unsigned long long flags) {
  if (!piece || flags || offset || bytes != piece->bytes || !rt_owner(POINTER(p))) return cudaErrorInvalidValue;
  if (piece->at) return (CUresult)rt_missing("cuMemMap of one memory at two addresses");
  struct mapped *m = malloc(sizeof *m);
  if (!m) return cudaErrorMemoryAllocation;
  pthread_mutex_lock(&rt_lock);
  piece->at = p;
  *m = (struct mapped){mapped, piece};
  mapped = m;
  pthread_mutex_unlock(&rt_lock);
  return cudaSuccess;
}
CU(cuMemUnmap, CUdeviceptr p, size_t bytes) {
  pthread_mutex_lock(&rt_lock);
  for (struct mapped **at = &mapped; *at;) {
    struct mapped *m = *at;
    if (m->piece->at < p || m->piece->at >= p + bytes) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    m->piece->at = 0;
    if (m->piece->released) free(m->piece);
    free(m);
  }
  pthread_mutex_unlock(&rt_lock);
  return cudaSuccess;
}
CU(cuMemSetAccess, CUdeviceptr p, size_t bytes, const struct cudaMemAccessDesc *list, size_t n) {
  return (void)bytes, rt_owner(POINTER(p)) && list && n ? cudaSuccess : cudaErrorInvalidValue;
}

/* Arrays of texels, and copies of boxes of them: on mx/texture.h. */
#include "array.h"

#include <stdlib.h>

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f) {
  return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

bool rt_texel_format(const struct cudaChannelFormatDesc *f, mx_texel_type *type, uint32_t *bits, uint32_t *channels) {
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

/* ---- arrays -----------------------------------------------------------------------------------------------------*/
static cudaError_t make(mx_array **array, struct rt_device *d, const struct cudaChannelFormatDesc *f,
                        struct cudaExtent e, unsigned levels, unsigned flags) {
  mx_array_desc a = MX_ARRAY_DESC_INIT;
  if (!rt_texel_format(f, &a.type, &a.bits, &a.channels) || !e.width || e.width > UINT32_MAX || e.height > UINT32_MAX ||
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
/* The box of an array that begins at `at` and has the extents `size`, both in texels. */
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

/* Copies from and to arrays are not queued: the call waits for the stream's earlier work, copies, and returns. */
cudaError_t rt_copy_array(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  const struct cudaArray *to = p->dstArray, *from = p->srcArray, *a = to ? to : from;
  const struct cudaExtent size = p->extent;
  const size_t texel = rt_texel_bytes(&a->format);
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

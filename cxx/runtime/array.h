/* What an array is, for the files that make, copy and sample it. */
#ifndef MX_CXX_ARRAY_H
#define MX_CXX_ARRAY_H
#include "mx/texture.h"
#include "rt.h"

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

/* What mx calls the format; false: it has none like it. */
bool rt_texel_format(const struct cudaChannelFormatDesc *f, mx_texel_type *type, uint32_t *bits, uint32_t *channels);
static inline size_t rt_texel_bytes(const struct cudaChannelFormatDesc *f) {
  return (size_t)(f->x + f->y + f->z + f->w) / 8;
}

#endif

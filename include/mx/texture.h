/* Images on a device: arrays of texels, texture objects, which kernels sample, and surface objects, which they read and
 * write. A texture or surface object is a number of 64 bits, which kernels get as an argument. Instructions check the
 * number, whatever a kernel passes, and trap where it is not an object of their kind. docs/textures.md explains all of
 * it. Threads and freeing: as the conventions in mx/mx.h say. */
#ifndef MX_TEXTURE_H
#define MX_TEXTURE_H

#include "mx/mx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ---------------------------------------------------------------------------------------------*/
typedef struct mx_array mx_array;

typedef enum mx_array_kind {
  MX_ARRAY_1D,
  MX_ARRAY_2D,
  MX_ARRAY_3D,
  MX_ARRAY_1D_LAYERED,
  MX_ARRAY_2D_LAYERED,
  MX_ARRAY_CUBE,        /* six square faces: +x -x +y -y +z -z */
  MX_ARRAY_CUBE_LAYERED /* six for each layer */
} mx_array_kind;
typedef enum mx_texel_type { MX_TEXEL_UNSIGNED, MX_TEXEL_SIGNED, MX_TEXEL_FLOAT } mx_texel_type;

typedef struct mx_array_desc {
  size_t struct_size;
  mx_array_kind kind;
  mx_texel_type type;
  uint32_t bits;                 /* of a channel: 8, 16, 32; floats: 16, 32 */
  uint32_t channels;             /* 1, 2, 4 */
  uint32_t width, height, depth; /* of level 0, in texels; dimensions that the kind does not have are 0 or 1 */
  uint32_t layers;               /* of layered kinds; others: 0 or 1 */
  uint32_t levels;               /* 0: 1. Level l of a size n has max(1, n >> l) */
} mx_array_desc;
#define MX_ARRAY_DESC_INIT \
  { sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 0, 0, 0, 0, 0 }

MX_API mx_status mx_array_create(mx_device *device, const mx_array_desc *desc, mx_array **array); /* all bytes 0 */
/* Textures and surfaces made of the array become invalid with it: kernels that use them trap. */
MX_API mx_status mx_array_destroy(mx_array *array);
MX_API mx_status mx_array_get_desc(const mx_array *array, mx_array_desc *out); /* set struct_size first */

/* A box of texels of one level: its corner and its extents. z counts slices (3D), layers, or faces, those of all cubes
 * one after the other. An extent of 0 reaches to the end of the level. */
typedef struct mx_texel_box {
  size_t struct_size;
  uint32_t level, x, y, z, width, height, depth;
} mx_texel_box;
#define MX_TEXEL_BOX_INIT \
  { sizeof(mx_texel_box), 0, 0, 0, 0, 0, 0, 0 }
/* Synchronous copies between an array and host memory, or device memory; box NULL: all of level 0. Rows and slices in
 * memory begin row_bytes and slice_bytes apart; 0: each follows the one before without a gap. */
MX_API mx_status mx_array_copy_in(mx_array *to, const mx_texel_box *box, const void *from, size_t row_bytes,
                                  size_t slice_bytes);
MX_API mx_status mx_array_copy_out(const mx_array *from, const mx_texel_box *box, void *to, size_t row_bytes,
                                   size_t slice_bytes);
MX_API mx_status mx_array_copy_from_memory(mx_array *to, const mx_texel_box *box, mx_addr from, size_t row_bytes,
                                           size_t slice_bytes);
MX_API mx_status mx_array_copy_to_memory(const mx_array *from, const mx_texel_box *box, mx_addr to, size_t row_bytes,
                                         size_t slice_bytes);
/* Copies between arrays of one device and one format. to_box says where the box begins in `to`; its extents are
 * ignored, since those of `box` hold. */
MX_API mx_status mx_array_copy(mx_array *to, const mx_texel_box *to_box, const mx_array *from, const mx_texel_box *box);

/* ---- textures -------------------------------------------------------------------------------------------*/
typedef uint64_t mx_texture;
typedef uint64_t mx_surface;

typedef enum mx_address_mode {
  MX_ADDRESS_WRAP,
  MX_ADDRESS_CLAMP,
  MX_ADDRESS_MIRROR,
  MX_ADDRESS_BORDER
} mx_address_mode;
typedef enum mx_filter { MX_FILTER_POINT, MX_FILTER_LINEAR } mx_filter;

typedef struct mx_texture_desc {
  size_t struct_size;
  mx_array *array;    /* what is sampled: this array, or, where it is NULL, */
  mx_addr address;    /* `width` texels of device memory, at a multiple of 256 bytes (with height: of 32) */
  mx_texel_type type; /* of device memory: type, bits and channels of its texels, as in mx_array_desc */
  uint32_t bits, channels;
  uint32_t width, height; /* height 0: one dimension, for tex1Dfetch; else rows that begin pitch bytes apart */
  uint64_t pitch;
  mx_address_mode address_mode[3]; /* wrap and mirror act as clamp where coordinates are not normalised */
  mx_filter filter, mip_filter;
  bool normalized_coords; /* coordinates from 0 to 1, not in texels */
  bool normalized_read;   /* integers of 8 and 16 bits as floats from 0 (signed: -1) to 1 */
  bool srgb;              /* unsigned 8-bit colours by the sRGB curve; with normalized_read */
  bool seamless;          /* cubes: linear filters go on across edges; else each face is an image of its own */
  float border[4];
  float mip_bias, min_lod, max_lod;
  uint32_t max_anisotropy; /* kept for queries; filtering is isotropic */
} mx_texture_desc;
#define MX_TEXTURE_DESC_INIT \
  { \
    sizeof(mx_texture_desc), 0, 0, MX_TEXEL_UNSIGNED, 8, 4, 0, 0, 0, \
        {MX_ADDRESS_CLAMP, MX_ADDRESS_CLAMP, MX_ADDRESS_CLAMP}, MX_FILTER_POINT, MX_FILTER_POINT, 0, 0, 0, 0, \
        {0, 0, 0, 0}, 0, 0, 0, 0 \
  }

MX_API mx_status mx_texture_create(mx_device *device, const mx_texture_desc *desc, mx_texture *texture);
MX_API mx_status mx_texture_destroy(mx_device *device, mx_texture texture);
MX_API mx_status mx_texture_get_desc(mx_device *device, mx_texture texture,
                                     mx_texture_desc *out); /* set struct_size first */
/* A sampler says how textures are read, separately from them: of the description only address modes, filters, levels,
 * border and seamless count, and array and address must be empty; how coordinates and texels are understood, the
 * texture says. Instructions name a sampler behind the texture, [texture, sampler, {x, y}]; in PTX's texture mode
 * `independent` variables of type .samplerref stand for one. */
typedef uint64_t mx_sampler;
MX_API mx_status mx_sampler_create(mx_device *device, const mx_texture_desc *desc, mx_sampler *sampler);
MX_API mx_status mx_sampler_destroy(mx_device *device, mx_sampler sampler);
/* Reads a texture as a kernel would, at the `ncoords` coordinates (the layer last, where there are layers) and a level
 * of detail. out gets four channels: the bits of f32, or integers where the texture is read as integers. */
MX_API mx_status mx_texture_sample(mx_device *device, mx_texture texture, const float *coords, size_t ncoords,
                                   float lod, uint32_t out[4]);

/* ---- surfaces -------------------------------------------------------------------------------------------*/
MX_API mx_status mx_surface_create(mx_array *array, uint32_t level, mx_surface *surface);
MX_API mx_status mx_surface_destroy(mx_device *device, mx_surface surface);

#ifdef __cplusplus
}
#endif
#endif

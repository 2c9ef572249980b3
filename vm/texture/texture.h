/* Images as texture and surface instructions see them, and what the texture unit computes from them: pure functions,
 * which know neither devices nor warps. Who owns the texels, and what a handle means, are vm/host/textures.c's; what
 * instructions do with lanes, vm/exec/texture.c's.
 *
 * The rules are those that were found out on a GPU of sm_90 by experiment; where none was, those of the graphics
 * specifications: docs/textures.md says which is which. */
#ifndef MX_VM_TEXTURE_H
#define MX_VM_TEXTURE_H

#include "mx/texture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_TEXTURE_LEVELS 18 /* an extent of 2^17 texels, halved down to 1 */

/* One level: texel (x, y, z) begins at bytes + x * texel bytes + y * row + z * slice; z is a slice, a layer or a face.
 */
struct mx_texels {
  unsigned char *bytes;
  uint32_t w, h, d;
  size_t row, slice;
};

struct mx_image_form {
  uint8_t kind;                 /* mx_array_kind */
  uint8_t type, bits, channels; /* mx_texel_type; of a channel; 1, 2, 4 */
  uint8_t levels;
  uint8_t texel;    /* bytes */
  bool plain;       /* one dimension of device memory: nothing is outside but zeros */
  uint32_t layers;  /* layered kinds: layers; cubes: cubes */
  uint64_t address; /* of the first level's first byte */
  struct mx_texels level[MX_TEXTURE_LEVELS];
};

struct mx_sampler_form {
  uint8_t address[3], linear, mip_linear, normalized_coords, normalized_read, srgb, seamless;
  uint32_t border[4];
  int32_t bias, least, most; /* in 1/256 levels */
};

/* Where a sample is taken. */
struct mx_sample {
  uint32_t x[3]; /* the coordinates' bits: f32, or s32 with `whole` */
  bool whole;
  uint32_t layer;
  int32_t offset[3];
  int32_t lod;   /* in 1/256 levels, clamped: what mx__texture_lod gave; 0 where no level is said */
  bool compares; /* depth comparison with `reference` */
  float reference;
};

/* The four channels of a sample, as the bits of f32, or of integers where those are read as they are. */
void mx__texture_sample(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_sample *at,
                        uint32_t out[4]);
/* One channel of the four texels that a linear filter would take. */
void mx__texture_gather(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_sample *at,
                        unsigned channel, uint32_t out[4]);
/* A channel of the border, as it would be stored in the image. */
uint32_t mx__texture_border(const struct mx_image_form *f, const struct mx_sampler_form *s, unsigned channel);
/* The level of detail of an explicit level, and of gradients along n axes: in 1/256 levels, with bias and limits. */
int32_t mx__texture_lod(const struct mx_image_form *f, const struct mx_sampler_form *s, float lod);
int32_t mx__texture_gradient(const struct mx_image_form *f, const struct mx_sampler_form *s, unsigned n,
                             const float *dx, const float *dy);

/* How many coordinates address a texel within a layer or a face. */
static inline unsigned mx__image_axes(unsigned kind) {
  return kind == MX_ARRAY_1D || kind == MX_ARRAY_1D_LAYERED ? 1 : kind == MX_ARRAY_3D ? 3 : 2;
}
static inline bool mx__image_is_cube(unsigned kind) { return kind == MX_ARRAY_CUBE || kind == MX_ARRAY_CUBE_LAYERED; }
static inline bool mx__image_is_layered(unsigned kind) {
  return kind == MX_ARRAY_1D_LAYERED || kind == MX_ARRAY_2D_LAYERED || kind == MX_ARRAY_CUBE_LAYERED;
}

float mx__half_to_float(uint16_t h);
uint16_t mx__float_to_half(float x); /* nearest, even */

#endif

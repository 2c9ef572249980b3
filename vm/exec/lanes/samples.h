/* Samples of all lanes of a warp at once, as vm/exec/texture.c asks for them: struct mx_level. */
#ifndef MX_LANES_SAMPLES_H
#define MX_LANES_SAMPLES_H

#include "body.h"
#include "vm/texture/texture.h"

/* Linear samples at (x, y), bits of f32, of the first level of a two-dimensional image of floats or bytes; false: it is
 * of no such kind, or has a border. Lanes in *odd have to be done one by one. */
bool MX_LV(mx__sample)(const struct mx_image_form *f, const struct mx_sampler_form *s, const uint32_t *x,
                       const uint32_t *y, unsigned n, uint32_t (*out)[MX_MAX_LANES], uint64_t *odd);

#endif

/* What vm/exec/texture.c asks of the samples of all lanes at once (lanes/samples.c). */
#ifndef MX_EXEC_SAMPLES_H
#define MX_EXEC_SAMPLES_H

#include "core/isa.h"
#include "vm/texture/texture.h"

#include <string.h>

/* Where all lanes take a sample of one image. Results may go to where coordinates are: mx__samples_keep copies these if
 * they are still needed then. */
struct mx_samples {
  const uint32_t *x[3];  /* by axis: bits of f32, or s32 with `whole` */
  const uint32_t *layer; /* of layered images */
  const int32_t *lod;    /* in 1/256 levels, as mx__texture_lod gives them; NULL: 0 */
  bool whole;
  uint32_t kept[4][MX_MAX_LANES];
};
static inline void mx__samples_keep(struct mx_samples *at, unsigned n) {
  const uint32_t **const from[4] = {&at->x[0], &at->x[1], &at->x[2], &at->layer};
  for (unsigned k = 0; k < 4; k++)
    if (*from[k] && *from[k] != at->kept[k]) *from[k] = memcpy(at->kept[k], *from[k], n * sizeof **from[k]);
}

/* Rows of textures, samplers and surfaces: those that vm/exec/texture.c executes. */
enum { MX_FIRST_OF_IMAGES = MX_TEX_1D_F32, MX_LAST_OF_IMAGES = MX_SURED_3D_64 };

#endif

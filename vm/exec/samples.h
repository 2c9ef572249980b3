/* What vm/exec/texture.c asks of the samples of all lanes at once (lanes/samples.c). */
#ifndef MX_EXEC_SAMPLES_H
#define MX_EXEC_SAMPLES_H

#include "vm/texture/texture.h"

/* Where all lanes take a sample of one image. */
struct mx_samples {
  const uint32_t *x[3];  /* by axis: bits of f32, or s32 with `whole` */
  const uint32_t *layer; /* of layered images */
  const int32_t *lod;    /* in 1/256 levels, as mx__texture_lod gives them; NULL: 0 */
  bool whole;
};

#endif

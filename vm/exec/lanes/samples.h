/* Samples of all lanes of a warp at once, as vm/exec/texture.c asks for them: struct mx_level. */
#ifndef MX_LANES_SAMPLES_H
#define MX_LANES_SAMPLES_H

#include "body.h"
#include "vm/exec/samples.h"

/* The samples of n lanes, of which those in `mask` are wanted: out[c] is a channel's. False: nothing is done,
 * the image or how it is read is of no kind that is done here. Lanes in *odd have to be done one by one, at the
 * coordinates that `at` still leads to. */
bool MX_LV(mx__sample)(const struct mx_image_form *f, const struct mx_sampler_form *s, struct mx_samples *at,
                       unsigned n, uint64_t mask, uint32_t *const out[4], uint64_t *odd);

/* ---- between samples.c, which finds texels, and sums.c, which makes results of them -------------------------------*/
/* Four texels of each lane that lie in one slice or level, lane after lane and channel after channel as in the image,
 * and their weights in 1/256 of the whole. A texel that takes no part has weight 0 and is another one's copy. */
struct mx_slice {
  const unsigned char *from[4]; /* where they are: in the image itself, or copied to `texel` */
  bool same;                    /* all lanes have the weights of lane 0, and only these are there */
  _Alignas(64) unsigned char texel[4][16 * MX_MAX_LANES];
  _Alignas(64) int32_t weight[4][MX_MAX_LANES];
};
enum { MX_MOST_SLICES = 4 };
/* Without a filter: the first texels of a slice. */
void MX_LV(mx__sample_alone)(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_slice *p,
                             unsigned n, uint32_t *const out[4]);
/* thin: lanes of which a texel takes part with weight 0. Where lanes are odd, coordinates are kept. */
void MX_LV(mx__sample_sum)(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_slice *p,
                           unsigned slices, unsigned n, uint64_t thin, struct mx_samples *at, uint32_t *const out[4],
                           uint64_t *odd);

#endif

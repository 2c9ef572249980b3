/* What bench-texture compares with: the same rule for one thread of plain code. */
#ifndef MX_BENCH_TEXTURE_NATIVE_H
#define MX_BENCH_TEXTURE_NATIVE_H

#include <stdint.h>

/* Linear samples, coordinates clamped and in texels, of an image of size x size texels of four channels at n places;
 * out: four floats each. */
void native_floats(const float *texels, int32_t size, const float *x, const float *y, uint32_t n, float *out);
void native_bytes(const uint8_t *texels, int32_t size, const float *x, const float *y, uint32_t n, float *out);

#endif

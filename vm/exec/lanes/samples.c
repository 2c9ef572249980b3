/* Samples of one two-dimensional image for all lanes of a warp: coordinates, texels' places and weights in loops over
 * the lanes, then sums of four channels at once. The rules are vm/texture/sample.c's, which does one sample at a time
 * and every kind of image; what is done here gives the same bits, or is left to it. */
#include "addresses.h"
#include "samples.h"

/* ---- one axis: the texels of all lanes ------------------------------------------------------------------------*/
struct axis {
  _Alignas(64) int32_t first[MX_MAX_LANES];
  int32_t second[MX_MAX_LANES]; /* with part 0 the first one again */
  int32_t part[MX_MAX_LANES];   /* the second one's, in 1/256 */
};
/* Positions are exact in f64, as are all whole numbers that come of them: coordinates are cut to 2^26, sizes are at
 * most 2^17. */
#define POSITION(bits_) \
  const uint32_t size__ = (bits_)&0x7FFFFFFF; \
  const uint32_t number__ = size__ - 0x800000u < 0x7F000001u ? (bits_) : 0; /* no subnormal, no NaN */ \
  float x__; \
  memcpy(&x__, &number__, sizeof x__); \
  double x = (double)x__; \
  x = x > 0x1p26 ? 0x1p26 : x; \
  x = x < -0x1p26 ? -0x1p26 : x; \
  x = normalized ? __builtin_floor(x * grid) * back * size : x;
#define WRAPPED(i_, by_) ((i_) - (by_)*__builtin_floor((i_) / (by_)))
MX__INL double folded(double i, double size, unsigned mode) {
  if (mode == MX_ADDRESS_WRAP) return WRAPPED(i, size);
  if (mode == MX_ADDRESS_MIRROR) {
    const double r = WRAPPED(i < 0 ? -1 - i : i, 2 * size);
    return r < size ? r : 2 * size - 1 - r;
  }
  return i < 0 ? 0 : i > size - 1 ? size - 1 : i;
}
MX__INL void find_texels(struct axis *to, const uint32_t *bits, unsigned n, uint32_t texels, bool normalized,
                         bool linear, const unsigned mode) {
  const double size = texels, grid = texels <= 8192 ? 0x1p21 : texels <= 65536 ? 0x1p22 : 0x1p23, back = 1 / grid;
  _Alignas(64) double places[MX_MAX_LANES], parts[MX_MAX_LANES];
  for (unsigned l = 0; l < n; l++) {
    POSITION(bits[l])
    const double place = __builtin_floor(linear ? 256 * x - 127.5 : 256 * x), i = __builtin_floor(place * (1.0 / 256));
    const double part = linear ? place - 256 * i : 0;
    places[l] = i;
    parts[l] = mode == MX_ADDRESS_CLAMP && (i < 0 || i >= size - 1) ? 0 : part;
  }
  for (unsigned l = 0; l < n; l++) {
    const double first = folded(places[l], size, mode), second = folded(places[l] + 1, size, mode);
    to->first[l] = (int32_t)first;
    to->second[l] = parts[l] > 0 ? (int32_t)second : (int32_t)first;
    to->part[l] = (int32_t)parts[l];
  }
}
static __attribute__((noinline)) void find_axis(struct axis *to, const uint32_t *bits, unsigned n, uint32_t texels,
                                                bool normalized, bool linear, unsigned mode) {
  if (!normalized || mode == MX_ADDRESS_CLAMP) find_texels(to, bits, n, texels, normalized, linear, MX_ADDRESS_CLAMP);
  else if (mode == MX_ADDRESS_WRAP) find_texels(to, bits, n, texels, true, linear, MX_ADDRESS_WRAP);
  else find_texels(to, bits, n, texels, true, linear, MX_ADDRESS_MIRROR);
}

/* ---- sums ---------------------------------------------------------------------------------------------------*/
/* Four channels of one lane, two of two lanes, or one of four: a group. */
typedef uint32_t four_u __attribute__((vector_size(16), may_alias, aligned(4)));
typedef int32_t four_s __attribute__((vector_size(16), may_alias, aligned(4)));
typedef float four_f __attribute__((vector_size(16), may_alias, aligned(4)));
typedef double four_d __attribute__((vector_size(32)));
typedef int64_t four_l __attribute__((vector_size(32)));
typedef uint8_t four_b __attribute__((vector_size(4), may_alias, aligned(1)));
struct footprint {
  const unsigned char *at[4][MX_MAX_LANES];
  _Alignas(64) double weight[4][MX_MAX_LANES];
  int32_t whole[4][MX_MAX_LANES]; /* the weights as integers; of floats: -1 where it is not 0 */
};
#if defined __AVX__ && !defined __clang__ /* gcc makes two halves of what these do */
#define TO_DOUBLES(v_) ((four_d)__builtin_ia32_cvtdq2pd256((four_i)(v_)))
#define WIDER(v_) ((four_d)__builtin_ia32_cvtps2pd256((four_n)(v_)))
#else
#define TO_DOUBLES(v_) __builtin_convertvector((four_s)(v_), four_d)
#define WIDER(v_) __builtin_convertvector((four_f)(v_), four_d)
#endif
typedef int four_i __attribute__((vector_size(16)));
typedef float four_n __attribute__((vector_size(16)));
#define EACH_TEXEL _Pragma("GCC unroll 4") for (unsigned k = 0; k < 4; k++)
MX__INL four_d weights(const double *w, unsigned l, const unsigned channels) {
  if (channels == 4) return (four_d){w[l], w[l], w[l], w[l]};
  if (channels == 2) return (four_d){w[l], w[l], w[l + 1], w[l + 1]};
  return (four_d){w[l], w[l + 1], w[l + 2], w[l + 3]};
}
MX__INL four_s whole_weights(const int32_t *w, unsigned l, const unsigned channels) {
  if (channels == 4) return (four_s){w[l], w[l], w[l], w[l]};
  if (channels == 2) return (four_s){w[l], w[l], w[l + 1], w[l + 1]};
  return *(const four_s *)(const void *)(w + l);
}
MX__INL four_u words_of(const unsigned char *const *at, unsigned l, const unsigned channels) {
  four_u v;
  uint32_t w[4];
  if (channels == 4) return *(const four_u *)(const void *)at[l];
  if (channels == 2) memcpy(w, at[l], 8), memcpy(w + 2, at[l + 1], 8);
  else
    for (unsigned k = 0; k < 4; k++) memcpy(w + k, at[l + k], 4);
  memcpy(&v, w, sizeof v);
  return v;
}
MX__INL four_s bytes_of(const unsigned char *const *at, unsigned l, const unsigned channels) {
  four_b v;
  uint8_t b[4];
  if (channels == 4) return __builtin_convertvector(*(const four_b *)(const void *)at[l], four_s);
  if (channels == 2) memcpy(b, at[l], 2), memcpy(b + 2, at[l + 1], 2);
  else
    for (unsigned k = 0; k < 4; k++) b[k] = *at[l + k];
  memcpy(&v, b, sizeof v);
  return __builtin_convertvector(v, four_s);
}
MX__INL four_u greater(four_u x, four_u y) { /* of numbers below 2^31 */
#if defined __SSE4_1__ && !defined __clang__
  return (four_u)__builtin_ia32_pmaxsd128((four_i)x, (four_i)y);
#else
  const four_u m = (four_u)((four_s)x > (four_s)y);
  return (x & m) | (y & ~m);
#endif
}
/* Texels are cut, in f64, to 4 bits below the last one of the greatest: whole numbers of 28 bits, with weights of 39 in
 * all, so the sum is exact. It is rounded to f32 with halves away from zero: made greater by less than what lies
 * between a half and the next possible sum, and by more than nothing. *odd: a texel is infinite or NaN, or all are
 * zeros. */
MX__INL four_f sum_of_floats(const struct footprint *p, unsigned l, const unsigned channels, four_u *odd) {
  four_u v[4], most = {0}, top = {0};
  EACH_TEXEL {
    v[k] = words_of(p->at[k], l, channels);
    const four_u e = v[k] & 0x7F800000;
    most = greater(e, most);
    top = greater(e & (four_u)whole_weights(p->whole[k], l, channels), top);
    v[k] &= ~(four_u)(e == 0);
  }
  *odd = (four_u)(most == 0x7F800000) | (four_u)(top == 0);
  const four_l t = __builtin_convertvector((four_s)(top >> 23), four_l);
  const four_d up = (four_d)((1023 + 154 - t) << 52), down = (four_d)((1023 - 154 - 8 + t) << 52);
  four_d sum = {0};
  EACH_TEXEL sum += TO_DOUBLES(__builtin_convertvector(WIDER(v[k]) * up, four_s)) * weights(p->weight[k], l, channels);
  sum *= down;
  const four_l sign = (four_l)sum & INT64_MIN, less = (four_l)sum & INT64_MAX;
  const four_l zero = less < (four_l)((four_d){0} + (0x1p-126 - 0x1p-151)),
               subnormal = less < (four_l)((four_d){0} + 0x1p-126);
  four_l size = (less & ~subnormal) | ((four_l)((four_d){0} + 0x1p-126) & subnormal);
  size = (four_l)((four_d)size * (1 + 0x1p-50)) & ~zero;
  const four_l nothing = less == 0;
  return __builtin_convertvector((four_d)(size | (sign & ~nothing)), four_f);
}
/* In 1/65535; the product with the reciprocal rounds to the same f32 as the quotient, for all of the numbers. */
MX__INL four_f sum_of_bytes(const struct footprint *p, unsigned l, const unsigned channels) {
  four_s sum = {0};
  EACH_TEXEL sum += bytes_of(p->at[k], l, channels) * whole_weights(p->whole[k], l, channels);
  sum = ((sum << 8) + sum + 128) >> 8;
  return __builtin_convertvector(TO_DOUBLES(sum) * (1.0 / 65535), four_f);
}

/* ---- results ------------------------------------------------------------------------------------------------*/
MX__INL void put(uint32_t (*out)[MX_MAX_LANES], unsigned l, const unsigned channels, four_f v) {
  uint32_t w[4];
  memcpy(w, &v, sizeof w);
  for (unsigned k = 0; k < 4; k++) out[k % channels][l + k / channels] = w[k];
}
/* Of four lanes. */
MX__INL void put_all(uint32_t (*out)[MX_MAX_LANES], unsigned l, const four_f *v) {
  for (unsigned c = 0; c < 4; c++) *(four_f *)(void *)(out[c] + l) = (four_f){v[0][c], v[1][c], v[2][c], v[3][c]};
}
MX__INL void filter(const struct footprint *p, unsigned n, const unsigned channels, const bool floats,
                    uint32_t (*out)[MX_MAX_LANES], uint64_t *odd) {
  for (unsigned l = 0; l < n; l += 4) {
    four_f v[4];
    four_u strange[4] = {{0}};
    for (unsigned g = 0; g < channels; g++)
      v[g] = floats ? sum_of_floats(p, l + g * (4 / channels), channels, &strange[g])
                    : sum_of_bytes(p, l + g * (4 / channels), channels);
    if (channels == 4) put_all(out, l, v);
    else
      for (unsigned g = 0; g < channels; g++) put(out, l + g * (4 / channels), channels, v[g]);
    if (!floats) continue;
    four_u any = strange[0];
    for (unsigned g = 1; g < channels; g++) any |= strange[g];
    if (any[0] | any[1] | any[2] | any[3])
      for (unsigned g = 0; g < channels; g++)
        for (unsigned k = 0; k < 4; k++)
          if (strange[g][k]) *odd |= 1ull << (l + g * (4 / channels) + k / channels);
  }
}
static __attribute__((noinline)) void filter_floats(const struct footprint *p, unsigned n, unsigned channels,
                                                    uint32_t (*out)[MX_MAX_LANES], uint64_t *odd) {
  if (channels == 4) filter(p, n, 4, true, out, odd);
  else if (channels == 2) filter(p, n, 2, true, out, odd);
  else filter(p, n, 1, true, out, odd);
}
static __attribute__((noinline)) void filter_bytes(const struct footprint *p, unsigned n, unsigned channels,
                                                   uint32_t (*out)[MX_MAX_LANES], uint64_t *odd) {
  if (channels == 4) filter(p, n, 4, false, out, odd);
  else if (channels == 2) filter(p, n, 2, false, out, odd);
  else filter(p, n, 1, false, out, odd);
}

static bool is_in_bytes(const struct mx_image_form *f, const struct mx_sampler_form *s) {
  return f->type == MX_TEXEL_UNSIGNED && f->bits == 8 && s->normalized_read && !s->srgb;
}
bool MX_LV(mx__sample)(const struct mx_image_form *f, const struct mx_sampler_form *s, const uint32_t *x,
                       const uint32_t *y, unsigned n, uint32_t (*out)[MX_MAX_LANES], uint64_t *odd) {
  const bool bytes = is_in_bytes(f, s), floats = f->type == MX_TEXEL_FLOAT && f->bits == 32;
  if (f->kind != MX_ARRAY_2D || f->plain || (!bytes && !floats) || !s->linear || s->address[0] == MX_ADDRESS_BORDER ||
      s->address[1] == MX_ADDRESS_BORDER)
    return false;
  const struct mx_texels *t = &f->level[0];
  struct axis across, down;
  struct footprint p;
  find_axis(&across, x, n, t->w, s->normalized_coords, true, s->address[0]);
  find_axis(&down, y, n, t->h, s->normalized_coords, true, s->address[1]);
  for (unsigned l = 0; l < n; l++) {
    const unsigned char *upper = t->bytes + (size_t)down.first[l] * t->row,
                        *lower = t->bytes + (size_t)down.second[l] * t->row;
    const size_t left = (size_t)across.first[l] * f->texel, right = (size_t)across.second[l] * f->texel;
    p.at[0][l] = upper + left, p.at[1][l] = upper + right;
    p.at[2][l] = lower + left, p.at[3][l] = lower + right;
    __builtin_prefetch(p.at[0][l]), __builtin_prefetch(p.at[2][l]); /* all lanes' misses at once */
  }
  for (unsigned l = 0; l < n; l++) {
    const int32_t a = across.part[l], b = down.part[l], w3 = (a * b + 128) >> 8,
                  w0 = ((256 - a) * (256 - b) + 128) >> 8;
    p.whole[0][l] = w0, p.whole[1][l] = a - w3, p.whole[2][l] = 256 - a - w0, p.whole[3][l] = w3;
  }
  for (unsigned k = 0; k < 4 && floats; k++)
    for (unsigned l = 0; l < n; l++) {
      p.weight[k][l] = p.whole[k][l];
      p.whole[k][l] = -(p.whole[k][l] > 0);
    }
  *odd = 0;
  if (bytes) filter_bytes(&p, n, f->channels, out, odd);
  else filter_floats(&p, n, f->channels, out, odd);
  for (unsigned c = f->channels; c < 4; c++) memset(out[c], 0, sizeof *out);
  return true;
}

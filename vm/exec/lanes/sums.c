/* What texels of all lanes give: the channel that is read alone, or the sum that a linear filter makes of four in each
 * of one to four slices. Values are in the order in which texels lie in the image, channel after channel and lane after
 * lane; all are done alike, several lanes in a vector. Rules are vm/texture/sample.c's, and so are all bits. Where the
 * texels lie is samples.c's. */
#include "addresses.h"
#include "samples.h"

#define EACH_TEXEL _Pragma("GCC unroll 4") for (unsigned k = 0; k < 4; k++)
enum { MOST_VALUES = 4 * MX_MAX_LANES, WORDS = MX__VECTOR / 4 };
typedef int32_t words_s __attribute__((vector_size(MX__VECTOR), may_alias, aligned(4)));
typedef float words_f __attribute__((vector_size(MX__VECTOR), may_alias, aligned(4)));

/* ---- results --------------------------------------------------------------------------------------------------*/
typedef uint32_t four __attribute__((vector_size(16), may_alias, aligned(4)));
#define PAIRS(x_, y_, ...) __builtin_shufflevector(x_, y_, __VA_ARGS__)
#if defined MX__AVX512
/* Elements c, c + 4, c + 8 and so on of four vectors. */
#define STRIDED(v_, c_) \
  PAIRS(PAIRS(v_[0], v_[1], c_, c_ + 4, c_ + 8, c_ + 12, c_ + 16, c_ + 20, c_ + 24, c_ + 28), \
        PAIRS(v_[2], v_[3], c_, c_ + 4, c_ + 8, c_ + 12, c_ + 16, c_ + 20, c_ + 24, c_ + 28), 0, 1, 2, 3, 4, 5, 6, 7, \
        8, 9, 10, 11, 12, 13, 14, 15)
static void put_quads(uint32_t *const out[4], const uint32_t *values, unsigned n) {
  for (unsigned l = 0; l < n; l += 16) {
    const mx__v32 *v = (const mx__v32 *)(const void *)(values + 4 * l);
    *(mx__v32 *)(out[0] + l) = STRIDED(v, 0), *(mx__v32 *)(out[1] + l) = STRIDED(v, 1);
    *(mx__v32 *)(out[2] + l) = STRIDED(v, 2), *(mx__v32 *)(out[3] + l) = STRIDED(v, 3);
  }
}
#elif defined __AVX2__
/* In each half of a vector, of lanes l to l + 3 and of the four behind them. */
static void put_quads(uint32_t *const out[4], const uint32_t *values, unsigned n) {
  for (unsigned l = 0; l < n; l += 8) {
    const four *v = (const four *)(const void *)(values + 4 * l);
    mx__v32 u[4];
    EACH_TEXEL u[k] = PAIRS(v[k], v[k + 4], 0, 1, 2, 3, 4, 5, 6, 7);
    const mx__v32 a = PAIRS(u[0], u[1], 0, 8, 1, 9, 4, 12, 5, 13), b = PAIRS(u[2], u[3], 0, 8, 1, 9, 4, 12, 5, 13),
                  c = PAIRS(u[0], u[1], 2, 10, 3, 11, 6, 14, 7, 15), d = PAIRS(u[2], u[3], 2, 10, 3, 11, 6, 14, 7, 15);
    *(mx__v32 *)(out[0] + l) = PAIRS(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    *(mx__v32 *)(out[1] + l) = PAIRS(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    *(mx__v32 *)(out[2] + l) = PAIRS(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    *(mx__v32 *)(out[3] + l) = PAIRS(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
  }
}
#else
static void put_quads(uint32_t *const out[4], const uint32_t *values, unsigned n) {
  for (unsigned l = 0; l < n; l += 4) {
    const four *v = (const four *)(const void *)(values + 4 * l);
    const four a = PAIRS(v[0], v[1], 0, 4, 1, 5), b = PAIRS(v[2], v[3], 0, 4, 1, 5), c = PAIRS(v[0], v[1], 2, 6, 3, 7),
               d = PAIRS(v[2], v[3], 2, 6, 3, 7);
    *(four *)(void *)(out[0] + l) = PAIRS(a, b, 0, 1, 4, 5), *(four *)(void *)(out[1] + l) = PAIRS(a, b, 2, 3, 6, 7);
    *(four *)(void *)(out[2] + l) = PAIRS(c, d, 0, 1, 4, 5), *(four *)(void *)(out[3] + l) = PAIRS(c, d, 2, 3, 6, 7);
  }
}
#endif
static void put_channels(uint32_t *const out[4], const uint32_t *values, unsigned channels, unsigned n) {
  if (channels == 4) put_quads(out, values, n);
  else if (channels == 2)
    for (unsigned l = 0; l < n; l++) out[0][l] = values[2 * l], out[1][l] = values[2 * l + 1];
  else memcpy(out[0], values, n * sizeof *values);
  for (unsigned c = channels; c < 4; c++) memset(out[c], 0, n * sizeof *out[c]);
}
/* One value of each lane for each channel. */
static void spread(uint32_t *to, const uint32_t *from, unsigned channels, unsigned n) {
  if (channels == 4)
    for (unsigned l = 0; l < n; l++) *(four *)(void *)(to + 4 * l) = (four){from[l], from[l], from[l], from[l]};
  else if (channels == 2)
    for (unsigned l = 0; l < n; l++) to[2 * l] = to[2 * l + 1] = from[l];
  else memcpy(to, from, n * sizeof *to);
}
/* The weights of a slice's texel c in all lanes. */
static const uint32_t *weights_of(const struct mx_slice *p, unsigned c, unsigned n, uint32_t *room) {
  const uint32_t *all = (const uint32_t *)p->weight[c];
  for (unsigned l = 0; l < n && p->same; l++) room[l] = all[0];
  return p->same ? room : all;
}
/* Lanes with a value that is not 0. */
static uint64_t lanes_with(const uint32_t *values, unsigned channels, unsigned n) {
  uint32_t any[MX_MAX_LANES];
  for (unsigned l = 0; l < n; l++) {
    uint32_t v = 0;
    for (unsigned c = 0; c < channels; c++) v |= values[channels * l + c];
    any[l] = v != 0;
  }
  return mx__pack32(any, n);
}

/* ---- one slice of floats --------------------------------------------------------------------------------------*/
#if defined MX__AVX512
#define PRODUCTS(x_, y_) \
  ((words_s)__builtin_ia32_pmaddwd512_mask((mx__halves)(x_), (mx__halves)(y_), (mx__words){0}, 0xFFFF))
#define MULTIPLY_ADD(x_, y_, z_) ((words_f)__builtin_ia32_vfmaddps512_mask(x_, y_, z_, 0xFFFF, 4))
#define GREATER(x_, y_) \
  ((mx__v32)__builtin_ia32_pmaxsd512_mask((mx__words)(x_), (mx__words)(y_), (mx__words){0}, 0xFFFF))
typedef int mx__words __attribute__((vector_size(64)));
typedef short mx__halves __attribute__((vector_size(64)));
#elif defined __AVX2__ && !defined __clang__
#define PRODUCTS(x_, y_) ((words_s)__builtin_ia32_pmaddwd256((mx__halves)(x_), (mx__halves)(y_)))
#define MULTIPLY_ADD(x_, y_, z_) ((words_f)__builtin_ia32_vfmaddps256(x_, y_, z_))
#define GREATER(x_, y_) ((mx__v32)__builtin_ia32_pmaxsd256((mx__words)(x_), (mx__words)(y_)))
typedef int mx__words __attribute__((vector_size(32)));
typedef short mx__halves __attribute__((vector_size(32)));
#else
static words_s products(words_s x, words_s y) { return ((x << 16) >> 16) * ((y << 16) >> 16) + (x >> 16) * (y >> 16); }
#define PRODUCTS(x_, y_) products((words_s)(x_), (words_s)(y_))
static mx__v32 greater(mx__v32 x, mx__v32 y) {
  const mx__v32 m = (mx__v32)((words_s)x > (words_s)y);
  return (x & m) | (y & ~m);
}
#define GREATER(x_, y_) greater(x_, y_)
#endif
/* Whether a signed word of x is greater than y's. */
#if defined MX__AVX512
#define SOME_GREATER(x_, y_) __builtin_ia32_pcmpgtd512_mask((mx__words)(x_), (mx__words)(y_), 0xFFFF)
#elif defined __AVX2__ && !defined __clang__
#define SOME_GREATER(x_, y_) any_bit((mx__v64)__builtin_ia32_pcmpgtd256((mx__words)(x_), (mx__words)(y_)))
#else
#define SOME_GREATER(x_, y_) any_bit((mx__v64)((words_s)(x_) > (words_s)(y_)))
#endif
/* Words of lower halves of one and upper halves of the other. */
#if defined __AVX2__ && !defined MX__AVX512 && !defined __clang__
#define LOWER_UPPER(x_, y_) ((mx__v32)__builtin_ia32_pblendw256((mx__halves)(x_), (mx__halves)(y_), 0xAA))
#elif defined MX__AVX512
#define LOWER_UPPER(x_, y_) ((mx__v32)__builtin_ia32_blendmw_512_mask((mx__halves)(x_), (mx__halves)(y_), 0xAAAAAAAA))
#else
#define LOWER_UPPER(x_, y_) (((x_)&0xFFFF) | ((y_)&0xFFFF0000))
#endif
/* high * 2^14 + low, both multiples of 4, rounded to 24 bits, halves of the last place away from 0: where there is
 * anything to round, one more or less in the direction of its sign. low is from 0 to 2^24; from 4 * 768 on, high is far
 * enough from 0 that one more is lost if nothing is to be rounded, and below it nothing is. */
MX__INL words_f rounded(words_s high, words_s low) {
#if defined MX__AVX512 /* comparisons give bits, not vectors */
  const words_f h = __builtin_convertvector(high, words_f);
  const mx__v32 sign = (mx__v32)h & 0x80000000, far = (mx__v32)((words_f)((mx__v32)h & 0x7FFFFFFF) > 4 * 767.0f),
                one = (sign | 0x3F800000) & far;
  return MULTIPLY_ADD(h, (words_f){0} + 0x1p14f, __builtin_convertvector(low, words_f) + (words_f)one);
#else
  const words_s one = (words_s)(high < -4 * 767) - (words_s)(high > 4 * 767);
#ifdef MULTIPLY_ADD
  return MULTIPLY_ADD(__builtin_convertvector(high, words_f), (words_f){0} + 0x1p14f,
                      __builtin_convertvector(low + one, words_f));
#endif
  words_f r;
  for (unsigned k = 0; k < WORDS; k++) r[k] = (float)(0x1p14 * high[k] + (low[k] + one[k]));
  return r;
#endif
}
/* Texels are cut to 4 bits below the last one of the greatest: whole numbers of 28 bits, which are multiplied with the
 * weights in halves of 14. The factor that makes them whole is a power of 2, so products are exact; zeros, subnormals
 * and what is too small for a bit of the sum become 0 if exponents are not near the least. strange: a texel is infinite
 * or NaN, or all are so small and not all zeros. */
struct words4 {
  mx__v32 v[4];
};
/* top: the greatest exponent, in its place. */
MX__INL mx__v32 weighted(const struct words4 *t, mx__v32 upper, mx__v32 lower, mx__v32 top) {
  const words_f factor = (words_f)((281u << 23) - top);
  words_s c[4];
  EACH_TEXEL c[k] = __builtin_convertvector((words_f)t->v[k] * factor, words_s);
#define HIGH(k_) LOWER_UPPER((mx__v32)c[k_] >> 14, (mx__v32)c[(k_) + 1] << 2)
#define LOW(k_) (LOWER_UPPER((mx__v32)c[k_], (mx__v32)c[(k_) + 1] << 16) & 0x3FFF3FFF)
  const words_s high = PRODUCTS(HIGH(0), upper) + PRODUCTS(HIGH(2), lower),
                low = PRODUCTS(LOW(0), upper) + PRODUCTS(LOW(2), lower);
  return (mx__v32)(rounded(high, low) * (words_f)(top - (37 << 23)));
}
MX__INL mx__v32 greatest(const mx__v32 *v) { return GREATER(GREATER(v[0], v[1]), GREATER(v[2], v[3])); }
/* Exponents of 38 to 254 are the least signed numbers after this, so that one comparison with `usual` finds all
 * others. */
MX__INL mx__v32 distance(mx__v32 top) { return top - (294u << 23); }
MX__INL words_s usual(void) { return (words_s){0} + (-(40 << 23) + 0x7FFFFF); }
MX__INL mx__v32 float_sum(const struct words4 *t, mx__v32 upper, mx__v32 lower, const bool thin, mx__v32 *strange) {
  mx__v32 size[4], counts[4];
  EACH_TEXEL size[k] = t->v[k] & 0x7FFFFFFF, counts[k] = (mx__v32){0} - 1;
  const mx__v32 most = greatest(size);
  mx__v32 top = most & 0x7F800000;
  if (thin) { /* texels of weight 0 do not count */
    const mx__v32 w[4] = {upper << 16, upper >> 16, lower << 16, lower >> 16};
    mx__v32 e[4];
    EACH_TEXEL {
      counts[k] = (mx__v32)(w[k] != 0);
      e[k] = size[k] & counts[k] & 0x7F800000;
    }
    top = greatest(e);
  }
  const mx__v32 sum = weighted(t, upper, lower, top);
  const words_s finite = (words_s){0} + 0x7F7FFFFF;
  if (__builtin_expect(SOME_GREATER(distance(top), usual()) || (thin && SOME_GREATER(most, finite)), 0)) {
    const mx__v32 small = (mx__v32)((words_s)top < 38 << 23);
    mx__v32 any = {0};
    EACH_TEXEL any |= t->v[k] & counts[k];
    *strange |= (small & any) | (mx__v32)((words_s)most > 0x7F7FFFFF);
    return sum & ~small;
  }
  return sum;
}
MX__INL struct words4 texels_from(const unsigned char *const from[4], unsigned at) {
  struct words4 t;
  EACH_TEXEL t.v[k] = *(const mx__v32 *)(const void *)(from[k] + 4 * at);
  return t;
}
/* n sums, of which none is thin or strange. Finding exponents and weighting are two loops: as one, a sum would be so
 * long a chain of operations that the processor has no room to work on enough of them at a time. */
MX__INL void weigh_all(uint32_t *value, const unsigned char *const from[4], const uint32_t (*weight)[MOST_VALUES],
                       const bool same, unsigned n, const mx__v32 *top, const bool zeros) {
  mx__v32 upper = *(const mx__v32 *)weight[0], lower = *(const mx__v32 *)weight[1];
  for (unsigned at = 0; at < n; at += WORDS) {
    const struct words4 t = texels_from(from, at);
    const mx__v32 here = top[at / WORDS];
    if (!same) upper = *(const mx__v32 *)(weight[0] + at), lower = *(const mx__v32 *)(weight[1] + at);
    mx__v32 sum = weighted(&t, upper, lower, here);
    if (zeros) sum &= (mx__v32)(here != 0);
    *(mx__v32 *)(value + at) = sum;
  }
}
/* False: some are strange, or all texels of one are so small. */
MX__INL bool sum_usual_floats(uint32_t *value, const struct mx_slice *p, const uint32_t (*weight)[MOST_VALUES],
                              const bool same, unsigned n) {
  const unsigned char *const from[4] = {p->from[0], p->from[1], p->from[2], p->from[3]};
  mx__v32 top[MOST_VALUES / WORDS], most = (mx__v32)usual(), other = {0};
  for (unsigned at = 0; at < n; at += WORDS) {
    const struct words4 t = texels_from(from, at);
    mx__v32 size[4];
    EACH_TEXEL size[k] = t.v[k] & 0x7FFFFFFF;
    top[at / WORDS] = greatest(size) & 0x7F800000;
    most = GREATER(most, distance(top[at / WORDS]));
  }
  if (!SOME_GREATER(most, usual())) {
    weigh_all(value, from, weight, same, n, top, false);
    return true;
  }
  for (unsigned at = 0; at < n; at += WORDS) {
    const struct words4 t = texels_from(from, at);
    const mx__v32 any = t.v[0] | t.v[1] | t.v[2] | t.v[3];
    other |= any & (mx__v32)((words_s)distance(top[at / WORDS]) > usual());
  }
  if (any_bit((mx__v64)other)) return false;
  weigh_all(value, from, weight, same, n, top, true);
  return true;
}
/* n sums, with pairs of weights for each or, where all have the same ones, for one vector. strange: the values are
 * marked that are; without it, nothing but whether there is one comes back. */
MX__INL bool sum_floats(const struct mx_slice *p, const uint32_t (*weight)[MOST_VALUES], const bool same,
                        const bool some_thin, uint64_t thin, unsigned channels, unsigned n, uint32_t *value,
                        uint32_t *strange) {
  const unsigned char *const from[4] = {p->from[0], p->from[1], p->from[2], p->from[3]};
  mx__v32 odd = {0}, upper = *(const mx__v32 *)weight[0], lower = *(const mx__v32 *)weight[1];
  const uint64_t lanes = WORDS / channels ? ((uint64_t)1 << (WORDS / channels)) - 1 : 1;
  for (unsigned at = 0; at < n; at += WORDS) {
    const struct words4 t = texels_from(from, at);
    if (!same) upper = *(const mx__v32 *)(weight[0] + at), lower = *(const mx__v32 *)(weight[1] + at);
    *(mx__v32 *)(value + at) = some_thin && (thin >> at / channels & lanes) ? float_sum(&t, upper, lower, true, &odd)
                                                                            : float_sum(&t, upper, lower, false, &odd);
    if (strange) *(mx__v32 *)(strange + at) = odd, odd ^= odd;
  }
  return any_bit((mx__v64)odd);
}
static void sum_of_floats(uint32_t *value, const struct mx_slice *p, unsigned channels, unsigned n, uint64_t thin,
                          uint64_t *odd) {
  _Alignas(64) uint32_t weight[2][MOST_VALUES], pair[2][MX_MAX_LANES], strange[MOST_VALUES];
  const unsigned weights = p->same ? 1 : n, values = n * channels;
  for (unsigned k = 0; k < 2; k++) {
    for (unsigned l = 0; l < weights; l++) /* four times as much, for rounded() */
      pair[k][l] = ((uint32_t)p->weight[2 * k][l] | (uint32_t)p->weight[2 * k + 1][l] << 16) << 2;
    if (p->same) *(mx__v32 *)weight[k] = (mx__v32){0} + pair[k][0];
    else spread(weight[k], pair[k], channels, n);
  }
  if (!thin &&
      (p->same ? sum_usual_floats(value, p, weight, true, values) : sum_usual_floats(value, p, weight, false, values)))
    return;
  /* loops of their own without thin lanes, whose masks would take registers */
  if (thin      ? p->same ? sum_floats(p, weight, true, true, thin, channels, values, value, NULL)
                          : sum_floats(p, weight, false, true, thin, channels, values, value, NULL)
           : p->same ? sum_floats(p, weight, true, false, 0, channels, values, value, NULL)
                : sum_floats(p, weight, false, false, 0, channels, values, value, NULL)) {
    for (unsigned k = 0; k < 2 && p->same; k++)
      for (unsigned l = 0; l < values; l++) weight[k][l] = weight[k][0];
    sum_floats(p, weight, false, true, thin, channels, values, value, strange);
    *odd |= lanes_with(strange, channels, n);
  }
}

/* ---- floats of several slices, or of 16 bits ------------------------------------------------------------------*/
/* As f32 bits: infinities and NaNs, and subnormals as zeros. */
static void widen(uint32_t *to, const unsigned char *from, unsigned values, bool halves) {
  if (!halves) {
    memcpy(to, from, values * sizeof *to);
    return;
  }
  const uint16_t *h = (const uint16_t *)(const void *)from;
  for (unsigned k = 0; k < values; k++) {
    const uint32_t sign = (uint32_t)(h[k] & 0x8000) << 16, m = h[k] & 0x7FFF;
    to[k] = sign | (m >= 0x7C00 ? 0x7F800000 : m < 0x400 ? 0 : (m << 13) + (112 << 23));
  }
}
/* Slices' sums are exact in f64, and their sum is where exponents lie near one another; it is rounded to `digits` bits
 * of its magnitude. */
static void sum_of_slices(uint32_t *value, const struct mx_slice *p, unsigned slices, unsigned channels, unsigned n,
                          bool halves, uint64_t thin, uint64_t *odd) {
  const unsigned values = n * channels, digits = halves ? 11 : 24;
  const uint32_t least = halves ? 113 : 38; /* a greatest exponent, biased; with 24 bits far from results' least */
  _Alignas(64) uint32_t texel[4][MOST_VALUES], weight[4][MOST_VALUES], strange[MOST_VALUES] = {0}, first[MOST_VALUES],
                                                                       last[MOST_VALUES], rough[MOST_VALUES];
  _Alignas(64) double sum[MOST_VALUES];
  uint32_t lane[MX_MAX_LANES];
  for (unsigned l = 0; l < n; l++) lane[l] = (uint32_t)(thin >> l & 1);
  spread(rough, lane, channels, n);
  for (unsigned k = 0; k < values; k++) sum[k] = 0, first[k] = 255, last[k] = 0;
  for (unsigned s = 0; s < slices; s++) {
    for (unsigned c = 0; c < 4; c++) {
      widen(texel[c], p[s].from[c], values, halves);
      spread(weight[c], weights_of(&p[s], c, n, lane), channels, n);
    }
    for (unsigned k = 0; k < values; k++) {
      uint32_t top = 0, most = 0, any = 0;
      for (unsigned c = 0; c < 4; c++) {
        const uint32_t e = texel[c][k] >> 23 & 255;
        const bool counts = weight[c][k] != 0;
        top = counts && e > top ? e : top;
        most = (counts || rough[k]) && e > most ? e : most;
        any |= counts ? texel[c][k] : 0;
      }
      strange[k] |= most == 255 || (top < least && any);
      first[k] = top && top < first[k] ? top : first[k];
      last[k] = top > last[k] ? top : last[k];
      /* the unit of whole numbers is 2^(top - 127 - digits - 3) */
      const uint64_t up = (uint64_t)(1023 + 127 + digits + 3 - top) << 52,
                     down = (uint64_t)(1023 - 127 - digits - 3 - 8 + top) << 52;
      double by, unit, all = 0;
      memcpy(&by, &up, sizeof by), memcpy(&unit, &down, sizeof unit);
      for (unsigned c = 0; c < 4; c++) {
        float x;
        memcpy(&x, &texel[c][k], sizeof x);
        const bool counts = weight[c][k] && (texel[c][k] & 0x7F800000);
        all += (double)(int32_t)(counts ? (double)x * by : 0) * (double)(int32_t)weight[c][k];
      }
      sum[k] += top && top < 255 ? all * unit : 0;
    }
  }
  const uint64_t half = (uint64_t)1 << (52 - digits), kept = ~(2 * half - 1);
  for (unsigned k = 0; k < values; k++) {
    uint64_t bits;
    memcpy(&bits, &sum[k], sizeof bits);
    const uint64_t size = ((bits & INT64_MAX) + half) & kept, sign = bits & (uint64_t)INT64_MIN;
    const bool small = halves && size < (uint64_t)(1023 - 14) << 52;
    bits = small ? (bits & INT64_MAX ? sign : 0) : sign | size;
    double r;
    memcpy(&r, &bits, sizeof r);
    const float x = (float)r;
    memcpy(&value[k], &x, sizeof x);
    strange[k] |= last[k] && last[k] - first[k] > 8;
  }
  *odd |= lanes_with(strange, channels, n);
}

/* ---- integers -------------------------------------------------------------------------------------------------*/
static void as_integers(int32_t *to, const unsigned char *from, unsigned values, unsigned bits, bool is_signed) {
  const uint16_t *h = (const uint16_t *)(const void *)from;
  if (bits == 32) memcpy(to, from, values * sizeof *to);
  else if (bits == 16 && is_signed)
    for (unsigned k = 0; k < values; k++) to[k] = (int16_t)h[k];
  else if (bits == 16)
    for (unsigned k = 0; k < values; k++) to[k] = h[k];
  else if (is_signed)
    for (unsigned k = 0; k < values; k++) to[k] = (int8_t)from[k];
  else
    for (unsigned k = 0; k < values; k++) to[k] = from[k];
}
static void put_quotients(uint32_t *to, const int32_t *from, unsigned values, int32_t by) {
  const float divisor = (float)by;
  for (unsigned k = 0; k < values; k++) {
    const float x = (float)(from[k] < -by ? -by : from[k]) / divisor;
    memcpy(&to[k], &x, sizeof x);
  }
}
static void sum_of_integers(const struct mx_image_form *f, const struct mx_slice *p, unsigned slices, unsigned n,
                            uint32_t *const out[4]) {
  const unsigned channels = f->channels, values = n * channels;
  const bool is_signed = f->type == MX_TEXEL_SIGNED, bytes = f->bits == 8;
  _Alignas(64) int32_t texel[MOST_VALUES], weight[MOST_VALUES], sum[MOST_VALUES];
  _Alignas(64) uint32_t value[MOST_VALUES];
  for (unsigned k = 0; k < values; k++) sum[k] = 0;
  for (unsigned s = 0; s < slices; s++)
    for (unsigned c = 0; c < 4; c++) {
      as_integers(texel, p[s].from[c], values, f->bits, is_signed);
      const int32_t all = p[s].weight[c][0];
      if (p[s].same) {
        for (unsigned k = 0; k < values; k++) sum[k] += texel[k] * all;
        continue;
      }
      spread((uint32_t *)weight, (const uint32_t *)p[s].weight[c], channels, n);
      for (unsigned k = 0; k < values; k++) sum[k] += texel[k] * weight[k];
    }
  for (unsigned k = 0; k < values; k++)
    sum[k] = !is_signed ? ((bytes ? 257 * sum[k] : sum[k]) + 128) >> 8
             : bytes    ? (8 * sum[k] + (sum[k] >> 4) + (sum[k] >> 12) + 4) >> 3
                        : (sum[k] + 128) >> 8;
  put_quotients(value, sum, values, is_signed ? 32767 : 65535);
  put_channels(out, value, channels, n);
}
/* Four unsigned bytes a texel, of one slice: sums are below 2^16, so two channels share a word. The quotient by 65535
 * is x / 2^16 * (1 + 2^-16 + 2^-32), rounded once. */
MX__INL void sum_of_four_bytes(const struct mx_slice *p, const bool same, unsigned n, uint32_t *const out[4]) {
  typedef uint16_t halves __attribute__((vector_size(MX__VECTOR), may_alias, aligned(4)));
  for (unsigned l = 0; l < n; l += WORDS) {
    halves even = {0}, odd = {0};
    EACH_TEXEL {
      const mx__v32 v = *(const mx__v32 *)(const void *)(p->from[k] + 4 * l);
      mx__v32 w = (mx__v32){0} + (uint32_t)p->weight[k][0];
      if (!same) w = *(const mx__v32 *)(const void *)(p->weight[k] + l);
      const halves both = (halves)(w | w << 16);
      even += (halves)(v & 0x00FF00FF) * both;
      odd += ((halves)v >> 8) * both;
    }
    even += (even + 128) >> 8, odd += (odd + 128) >> 8;
    const mx__v32 channel[4] = {(mx__v32)even & 0xFFFF, (mx__v32)odd & 0xFFFF, (mx__v32)even >> 16, (mx__v32)odd >> 16};
    EACH_TEXEL {
      const words_f x = __builtin_convertvector((words_s)channel[k], words_f);
#ifdef MULTIPLY_ADD
      *(words_f *)(void *)(out[k] + l) = MULTIPLY_ADD(x, (words_f){0} + (0x1p-32f + 0x1p-48f), x * 0x1p-16f);
#else
      *(words_f *)(void *)(out[k] + l) = x / 65535;
#endif
    }
  }
}

static void sum_of_fractions(const struct mx_image_form *f, const struct mx_slice *p, unsigned slices, unsigned n,
                             uint64_t thin, struct mx_samples *at, uint32_t *const out[4], uint64_t *odd) {
  _Alignas(64) uint32_t value[MOST_VALUES];
  if (f->bits == 32 && slices == 1) sum_of_floats(value, p, f->channels, n, thin, odd);
  else sum_of_slices(value, p, slices, f->channels, n, f->bits == 16, thin, odd);
  if (*odd) mx__samples_keep(at, n);
  put_channels(out, value, f->channels, n);
}
void MX_LV(mx__sample_sum)(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_slice *p,
                           unsigned slices, unsigned n, uint64_t thin, struct mx_samples *at, uint32_t *const out[4],
                           uint64_t *odd) {
  (void)s;
  if (f->type == MX_TEXEL_FLOAT) sum_of_fractions(f, p, slices, n, thin, at, out, odd);
  else if (f->type != MX_TEXEL_UNSIGNED || f->bits != 8 || f->channels != 4 || slices != 1)
    sum_of_integers(f, p, slices, n, out);
  else if (p->same) sum_of_four_bytes(p, true, n, out);
  else sum_of_four_bytes(p, false, n, out);
}

/* ---- texels alone ---------------------------------------------------------------------------------------------*/
void MX_LV(mx__sample_alone)(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_slice *p,
                             unsigned n, uint32_t *const out[4]) {
  const unsigned channels = f->channels, values = n * channels;
  const bool is_signed = f->type == MX_TEXEL_SIGNED;
  _Alignas(64) uint32_t value[MOST_VALUES];
  if (f->type == MX_TEXEL_FLOAT && f->bits == 16) {
    const uint16_t *h = (const uint16_t *)(const void *)p->from[0];
    for (unsigned k = 0; k < values; k++) {
      const uint32_t sign = (uint32_t)(h[k] & 0x8000) << 16, m = h[k] & 0x7FFF;
      const float small = (float)m * 0x1p-24f;
      uint32_t bits;
      memcpy(&bits, &small, sizeof bits);
      value[k] = m > 0x7C00 ? 0x7FFFE000
                            : sign | (m == 0x7C00 ? 0x7F800000
                                      : m < 0x400 ? bits
                                                  : (m << 13) + (112 << 23));
    }
  } else {
    as_integers((int32_t *)value, p->from[0], values, f->bits, is_signed);
    if (f->type != MX_TEXEL_FLOAT && s->normalized_read && f->bits < 32)
      put_quotients(value, (const int32_t *)value, values,
                    (int32_t)(is_signed ? (1u << (f->bits - 1)) - 1 : (1u << f->bits) - 1));
  }
  put_channels(out, value, channels, n);
}

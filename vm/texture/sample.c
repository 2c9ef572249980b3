/* From a coordinate to texels, weights and a sum: the rules of the texture unit, one sample at a time and every kind of
 * image and sampler. */
#include "texture.h"
#include "tables.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
static float float_of(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}

float mx__half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3FF;
  if (e == 31) return float_of(sign | 0x7F800000u | (m ? 0x400000u | m << 13 : 0));
  if (!e) return float_of(sign | bits_of((float)m * 0x1p-24f));
  return float_of(sign | (e + 112) << 23 | m << 13);
}
uint16_t mx__float_to_half(float x) {
  const uint32_t u = bits_of(x), sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFF;
  if (a > 0x7F800000) return 0x7FFF;
  if (a >= 0x477FF000) return (uint16_t)(sign | 0x7C00);
  if (a < 0x38800000)
    return (uint16_t)(sign | (uint32_t)nearbyintf(float_of(a) * 0x1p24f)); /* subnormal, or the least normal */
  return (uint16_t)(sign | ((a - 0x38000000 + 0xFFF + (a >> 13 & 1)) >> 13));
}

/* ---- one axis -------------------------------------------------------------------------------------------*/
/* The one or two texels of an axis, -1: border; `f` is the second one's part in 1/256. */
struct axis {
  int32_t i[2];
  uint32_t f;
};

static int32_t modulo(int64_t i, int64_t n) { return (int32_t)((i % n + n) % n); }
static int32_t fold(int64_t i, uint32_t n, unsigned mode) {
  if (i >= 0 && i < (int64_t)n) return (int32_t)i;
  switch (mode) {
  case MX_ADDRESS_WRAP: return modulo(i, n);
  case MX_ADDRESS_MIRROR: {
    if (i < 0) i = -1 - i;
    const int32_t r = modulo(i, 2 * (int64_t)n);
    return r < (int32_t)n ? r : (int32_t)(2 * n - 1) - r;
  }
  case MX_ADDRESS_CLAMP: return i < 0 ? 0 : i >= (int64_t)n ? (int32_t)n - 1 : (int32_t)i;
  default: return i < 0 || i >= (int64_t)n ? -1 : (int32_t)i;
  }
}
static unsigned mode_of(const struct mx_sampler_form *s, unsigned axis) {
  const unsigned m = s->address[axis];
  return s->normalized_coords || m == MX_ADDRESS_BORDER ? m : MX_ADDRESS_CLAMP;
}
/* floor without a call of libm; x must fit 64 bits. */
static double whole_part(double x) {
  const double t = (double)(int64_t)x;
  return t > x ? t - 1 : t;
}
/* The exact position in texels. Coordinates beyond 2^26 are clamped, which keeps them far outside of the image and a
 * whole multiple of its size, as large normalized coordinates are. */
static double position(uint32_t bits, uint32_t n, bool normalized) {
  double x = (double)float_of(bits);
  const uint32_t e = bits >> 23 & 255;
  if (!e || (bits & 0x7FFFFFFF) > 0x7F800000) return 0;
  const double most = 0x1p26;
  if (x > most) x = most;
  if (x < -most) x = -most;
  if (!normalized) return x;
  const double grid = n <= 8192 ? 0x1p21 : n <= 65536 ? 0x1p22 : 0x1p23;
  return whole_part(x * grid) / grid * n;
}
/* Of n texels, from the place in 1/256 of a texel. */
static struct axis between(int64_t i, uint32_t f, uint32_t n, unsigned mode) {
  if (mode == MX_ADDRESS_CLAMP && (i < 0 || i >= (int64_t)n - 1)) f = 0;
  return (struct axis){{fold(i, n, mode), fold(i + 1, n, mode)}, f};
}
static struct axis placed(double x, uint32_t n, unsigned mode, bool linear, int32_t offset) {
  const int64_t p = (int64_t)whole_part(linear ? 256 * x - 127.5 : 256 * x);
  return between((p >> 8) + offset, linear ? (uint32_t)(p & 255) : 0, n, mode);
}
static struct axis along(const struct mx_sampler_form *s, unsigned axis, uint32_t bits, bool whole, uint32_t n,
                         bool linear, int32_t offset) {
  const unsigned mode = mode_of(s, axis);
  if (whole) return between((int64_t)(int32_t)bits + offset, 0, n, mode);
  return placed(position(bits, n, s->normalized_coords), n, mode, linear, offset);
}

/* ---- texels ---------------------------------------------------------------------------------------------*/
/* A texel's place in its level; x -1: the border. */
struct place {
  int32_t x, y, z;
};

/* The channel as it is stored: floats of 16 bits stay such. */
static uint32_t stored(const struct mx_image_form *f, const struct mx_texels *l, struct place p, unsigned channel) {
  const unsigned char *at = l->bytes + (size_t)p.x * f->texel + (size_t)p.y * l->row + (size_t)p.z * l->slice;
  if (f->bits == 8) return at[channel];
  if (f->bits == 16) {
    uint16_t v;
    memcpy(&v, at + 2 * channel, 2);
    return v;
  }
  uint32_t v;
  memcpy(&v, at + 4 * channel, 4);
  return v;
}
/* The border colour as a texel of the format: integers that are read as they are take the low bits given. */
uint32_t mx__texture_border(const struct mx_image_form *f, const struct mx_sampler_form *s, unsigned channel) {
  const uint32_t given = s->border[channel];
  if (f->type == MX_TEXEL_FLOAT) return f->bits == 16 ? mx__float_to_half(float_of(given)) : given;
  if (!s->normalized_read || f->bits == 32) return f->bits == 32 ? given : given & ((1u << f->bits) - 1);
  float x = float_of(given);
  const float least = f->type == MX_TEXEL_SIGNED ? -1 : 0,
              scale = f->type == MX_TEXEL_SIGNED ? (float)((1u << (f->bits - 1)) - 1) : (float)((1u << f->bits) - 1);
  if (!(x > least)) x = x < least ? least : 0;
  if (x > 1) x = 1;
  return (uint32_t)(int32_t)rint((double)x * scale) & ((1u << f->bits) - 1);
}
static uint32_t channel_of(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_texels *l,
                           struct place p, unsigned channel) {
  return p.x < 0 ? mx__texture_border(f, s, channel) : stored(f, l, p, channel);
}
static int32_t extended(const struct mx_image_form *f, uint32_t v) {
  return f->type == MX_TEXEL_SIGNED ? (int32_t)(v << (32 - f->bits)) >> (32 - f->bits) : (int32_t)v;
}
/* A channel read by itself: bits of f32, or the integer. */
static uint32_t alone(const struct mx_image_form *f, const struct mx_sampler_form *s, unsigned channel, uint32_t v) {
  if (f->type == MX_TEXEL_FLOAT) {
    if (f->bits == 32) return v;
    return (v & 0x7FFF) > 0x7C00 ? 0x7FFFE000 : bits_of(mx__half_to_float((uint16_t)v));
  }
  if (!s->normalized_read || f->bits == 32) return (uint32_t)extended(f, v);
  if (s->srgb && channel < 3) return bits_of((float)mx__srgb[v & 255] / 65536);
  if (f->type == MX_TEXEL_UNSIGNED) return bits_of((float)((double)v / ((1u << f->bits) - 1)));
  const double x = (double)extended(f, v) / ((1u << (f->bits - 1)) - 1);
  return bits_of((float)(x < -1 ? -1 : x));
}

/* ---- sums -----------------------------------------------------------------------------------------------*/
/* Texels of one to four slices (two levels of two), with their weights in 1/256 of the whole; those that take part,
 * perhaps with weight 0. */
#define MOST_TEXELS 16
struct footprint {
  const struct mx_texels *level[MOST_TEXELS];
  struct place at[MOST_TEXELS];
  uint32_t weight[MOST_TEXELS];
  bool takes_part[MOST_TEXELS];
  unsigned n; /* a multiple of 4: four of each slice */
};

/* Floats whose significands have `digits` bits, as bits of f32: texels of one slice are cut to 4 bits below the last
 * one of the greatest; sums are exact, and rounded once, halves away from zero. */
static uint32_t float_sum(const struct footprint *p, const uint32_t *v, int digits) {
  const int least = digits == 24 ? -126 : -14, greatest = digits == 24 ? 127 : 15;
  const uint32_t nan = digits == 24 ? 0x7FFFFFFF : 0x7FFFE000;
  bool plus = false, minus = false, all_negative = true;
  __int128 sum = 0;
  int low = 0; /* the sum's last bit is 2^low / 256 */
  bool any = false;
  for (unsigned slice = 0; slice < p->n; slice += 4) {
    int top = -1000;
    for (unsigned k = slice; k < slice + 4; k++) {
      if (!p->takes_part[k]) continue;
      const uint32_t a = v[k] & 0x7FFFFFFF;
      if (a > 0x7F800000) return nan;
      if (a == 0x7F800000) *(v[k] >> 31 ? &minus : &plus) = true;
      const int e = (int)(a >> 23) - 127;
      all_negative &= v[k] >> 31 && e < least;
      if (p->weight[k] && e >= least && e > top) top = e;
    }
    if (top == -1000) continue;
    const int unit = top - (digits - 1) - 4;
    int64_t s = 0;
    for (unsigned k = slice; k < slice + 4; k++) {
      const uint32_t a = v[k] & 0x7FFFFFFF;
      const int e = (int)(a >> 23) - 127;
      if (!p->weight[k] || e < least || a >= 0x7F800000) continue;
      const uint64_t m = (uint64_t)((a & 0x7FFFFF) | 0x800000) << 4; /* in 2^(e - 27) */
      const int down = unit - (e - 27);
      const int64_t cut = down >= 63 ? 0 : (int64_t)(m >> down);
      s += (v[k] >> 31 ? -cut : cut) * (int64_t)p->weight[k];
    }
    if (!any) sum = s, low = unit;
    else { /* two slices: the finer one's digits decide, as far as they can matter */
      const int far = unit > low ? unit - low : low - unit;
      __int128 coarse = unit > low ? (__int128)s : sum, fine = unit > low ? sum : (__int128)s;
      const int shift = far < 64 ? far : 64;
      fine = far > 64 ? (far - 64 > 60 ? (fine < 0 ? -1 : fine > 0) : fine >> (far - 64)) : fine;
      sum = coarse * ((__int128)1 << shift) + fine;
      low = (unit > low ? unit : low) - shift;
    }
    any = true;
  }
  if (plus && minus) return nan;
  if (plus || minus) return plus ? 0x7F800000 : 0xFF800000;
  if (!sum) return all_negative ? 0x80000000 : 0;
  const bool negative = sum < 0;
  unsigned __int128 m = negative ? -(unsigned __int128)sum : (unsigned __int128)sum;
  const uint64_t upper = (uint64_t)(m >> 64), lower = (uint64_t)m;
  const int width = upper ? 128 - __builtin_clzll(upper) : 64 - __builtin_clzll(lower);
  int e = low - 8; /* of m's last bit */
  const int drop = width - digits;
  if (drop > 0) {
    m = (m + ((unsigned __int128)1 << (drop - 1))) >> drop;
    e += drop;
    if (m >> digits) m >>= 1, e++;
  } else m <<= -drop, e += drop;
  const int exponent = e + digits - 1;
  const uint32_t sign = negative ? 0x80000000 : 0;
  if (exponent < least) return sign;
  if (exponent > greatest) return sign | 0x7F800000;
  return sign | (uint32_t)(exponent + 127) << 23 | ((uint32_t)m << (24 - digits) & 0x7FFFFF);
}
/* The same for one slice of 24-bit floats none of which is infinite or NaN; *usual false: it is not so, or all are
 * zeros. */
static uint32_t usual_sum(const uint32_t *v, const uint32_t *weight, bool *usual) {
  uint32_t top = 0, most = 0;
  for (unsigned k = 0; k < 4; k++) {
    const uint32_t e = v[k] >> 23 & 255;
    most = e > most ? e : most;
    top = weight[k] && e > top ? e : top;
  }
  *usual = most < 255 && top;
  if (!*usual) return 0;
  int64_t sum = 0;
  for (unsigned k = 0; k < 4; k++) {
    const uint32_t e = v[k] >> 23 & 255, down = top - e;
    if (!e || down > 27 || (!weight[k] && e > top)) continue;
    const int64_t cut = (int64_t)(((v[k] & 0x7FFFFF) | 0x800000) << 4 >> down) * weight[k];
    sum += v[k] >> 31 ? -cut : cut;
  }
  if (!sum) return 0;
  uint64_t m = sum < 0 ? -(uint64_t)sum : (uint64_t)sum;
  const int drop = 40 - __builtin_clzll(m); /* to 24 bits */
  if (drop > 0) m = (m + (1ull << (drop - 1))) >> drop;
  else m <<= -drop;
  const int exponent = (int)top - 12 + drop + (int)(m >> 24); /* biased */
  const uint32_t sign = sum < 0 ? 0x80000000 : 0;
  if (exponent < 1) return sign;
  if (exponent > 254) return sign | 0x7F800000;
  return sign | (uint32_t)exponent << 23 | ((uint32_t)(m >> (m >> 24)) & 0x7FFFFF);
}

static uint32_t integer_sum(const struct mx_image_form *f, const struct footprint *p, const uint32_t *v) {
  int64_t sum = 0;
  const bool is_signed = f->type == MX_TEXEL_SIGNED;
  for (unsigned k = 0; k < p->n; k++) {
    const int32_t t = extended(f, v[k]);
    sum += (int64_t)p->weight[k] * (f->bits == 8 && !is_signed ? t * 257 : t);
  }
  if (!is_signed) return bits_of((float)((double)((sum + 128) >> 8) / 65535));
  /* of 15 bits: bytes are widened by repeating their bits, in eighths, each time cut down */
  if (f->bits == 8) sum = (8 * sum + (sum >> 4) + (sum >> 12) + 4) >> 3;
  else sum = (sum + 128) >> 8;
  return bits_of((float)((double)(sum < -32767 ? -32767 : sum) / 32767));
}
/* sRGB values: an entry of the table has 8 significant bits, and an exponent that goes by the value; texels of a slice
 * are cut to the greatest exponent's last bit, the sum is rounded to 11 bits, halves up. */
static unsigned curve_exponent(uint32_t v) {
  static const uint8_t from[] = {32, 48, 64, 96, 136, 184, 248};
  unsigned e = 0;
  while (e < sizeof from && v >= from[e]) e++;
  return e + 2;
}
static uint32_t curve_sum(const struct footprint *p, const uint32_t *v) {
  uint64_t sum = 0; /* in 2^-24 */
  for (unsigned slice = 0; slice < p->n; slice += 4) {
    unsigned e = 0;
    for (unsigned k = slice; k < slice + 4; k++)
      if (p->weight[k] && curve_exponent(v[k]) > e) e = curve_exponent(v[k]);
    for (unsigned k = slice; k < slice + 4; k++) sum += (uint64_t)p->weight[k] * (mx__srgb[v[k]] >> e << e);
  }
  unsigned width = 0;
  if (sum) width = 64 - (unsigned)__builtin_clzll(sum);
  if (width > 11) sum = (sum + (1ull << (width - 12))) >> (width - 11) << (width - 11);
  return sum < 1024 ? 0 : bits_of((float)sum * 0x1p-24f); /* below 2^-14: no f16 that is normal */
}
static uint32_t filtered(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct footprint *p,
                         unsigned channel, const float *reference) {
  uint32_t v[MOST_TEXELS];
  for (unsigned k = 0; k < p->n; k++) v[k] = p->takes_part[k] ? channel_of(f, s, p->level[k], p->at[k], channel) : 0;
  if (reference) {
    for (unsigned k = 0; k < p->n; k++)
      v[k] = p->takes_part[k] && float_of(alone(f, s, channel, v[k])) >= *reference ? 0x3F800000 : 0;
    return float_sum(p, v, 24);
  }
  if (f->type == MX_TEXEL_FLOAT && f->bits == 32) {
    bool usual = false;
    const uint32_t sum = p->n == 4 ? usual_sum(v, p->weight, &usual) : 0;
    return usual ? sum : float_sum(p, v, 24);
  }
  if (s->srgb && channel < 3) return curve_sum(p, v);
  if (f->type != MX_TEXEL_FLOAT) return integer_sum(f, p, v);
  for (unsigned k = 0; k < p->n; k++) v[k] = bits_of(mx__half_to_float((uint16_t)v[k]));
  return float_sum(p, v, 11);
}

/* ---- images ---------------------------------------------------------------------------------------------*/
/* Four texels of a slice, by the fractions of x and y, with a share of the whole. */
static void add_slice(struct footprint *p, const struct mx_texels *l, const struct axis *x, const struct axis *y,
                      int32_t z, uint32_t share) {
  const uint32_t a = x->f, b = y->f, x1 = (a * share + 128) >> 8, x0 = share - x1;
  const uint32_t w11 = (x1 * b + 128) >> 8, w10 = x1 - w11, w00 = (x0 * (256 - b) + 128) >> 8, w01 = x0 - w00;
  const uint32_t w[4] = {w00, w10, w01, w11};
  for (unsigned k = 0; k < 4; k++) {
    const int32_t i = x->i[k & 1], j = y->i[k >> 1];
    const unsigned n = p->n++;
    p->level[n] = l;
    p->at[n] = i < 0 || j < 0 || z < 0 ? (struct place){-1, 0, 0} : (struct place){i, j, z};
    p->weight[n] = w[k];
    p->takes_part[n] = share && (!(k & 1) || a) && (!(k >> 1) || b);
  }
}

/* The face of a direction, and the place on it from 0 to 1. */
struct on_face {
  unsigned face;
  double u, v;
};
static struct on_face face_of(double x, double y, double z) {
  const double ax = fabs(x), ay = fabs(y), az = fabs(z);
  double s, t, m;
  unsigned face;
  if (az >= ax && az >= ay) face = signbit(z) ? 5 : 4, m = az, s = signbit(z) ? -x : x, t = -y;
  else if (ay >= ax) face = signbit(y) ? 3 : 2, m = ay, s = x, t = signbit(y) ? -z : z;
  else face = signbit(x) ? 1 : 0, m = ax, s = signbit(x) ? z : -z, t = -y;
  if (m == 0) return (struct on_face){face, 0.5, 0.5};
  if (isinf(m)) s = isinf(s) ? copysign(1, s) : 0, t = isinf(t) ? copysign(1, t) : 0, m = 1;
  return (struct on_face){face, (s / m + 1) / 2, (t / m + 1) / 2};
}
/* A texel beside its face lies on the next one. */
static struct place beside(unsigned face, int32_t i, int32_t j, uint32_t n) {
  if (i >= 0 && i < (int32_t)n && j >= 0 && j < (int32_t)n) return (struct place){i, j, (int32_t)face};
  const double s = (2 * (double)i + 1) / n - 1, t = (2 * (double)j + 1) / n - 1;
  const double way[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
  const struct on_face o = face_of(way[face][0], way[face][1], way[face][2]);
  const int32_t x = (int32_t)floor(o.u * n), y = (int32_t)floor(o.v * n), last = (int32_t)n - 1;
  return (struct place){x > last ? last : x, y > last ? last : y, (int32_t)o.face};
}
static double coordinate(uint32_t bits) {
  const uint32_t e = bits >> 23 & 255;
  return !e || (bits & 0x7FFFFFFF) > 0x7F800000 ? copysign(0, float_of(bits)) : (double)float_of(bits);
}
static void add_face(struct footprint *p, const struct mx_texels *l, const struct mx_sampler_form *s,
                     const struct on_face *o, uint32_t cube, bool linear, uint32_t share) {
  const uint32_t n = l->w;
  const int32_t z = (int32_t)(6 * cube), last = (int32_t)n - 1;
  if (!s->seamless || !linear) { /* each face is an image of its own */
    const struct axis x = placed(o->u * n, n, MX_ADDRESS_CLAMP, linear, 0),
                      y = placed(o->v * n, n, MX_ADDRESS_CLAMP, linear, 0);
    add_slice(p, l, &x, &y, z + (int32_t)o->face, share);
    return;
  }
  const int64_t px = (int64_t)floor(256 * o->u * n - 127.5), py = (int64_t)floor(256 * o->v * n - 127.5);
  const struct axis x = {{0, 0}, (uint32_t)(px & 255)}, y = {{0, 0}, (uint32_t)(py & 255)};
  const unsigned first = p->n;
  add_slice(p, l, &x, &y, 0, share);
  for (unsigned k = 0; k < 4; k++) {
    const int32_t i = (int32_t)(px >> 8) + (int32_t)(k & 1), j = (int32_t)(py >> 8) + (int32_t)(k >> 1);
    const bool corner = (i < 0 || i > last) &&
                        (j < 0 || j > last); /* three texels meet there: the one that is not there is a neighbour */
    p->at[first + k] = beside(o->face, corner ? i < 0 ? 0 : last : i, j, n);
    p->at[first + k].z += z;
  }
}

static uint32_t clamp_layer(uint32_t layer, uint32_t layers) { return layer < layers ? layer : layers - 1; }

static void add_level(struct footprint *p, const struct mx_image_form *f, const struct mx_sampler_form *s,
                      const struct mx_sample *at, unsigned level, bool linear, uint32_t share) {
  const struct mx_texels *l = &f->level[level];
  if (mx__image_is_cube(f->kind)) {
    const struct on_face o = face_of(coordinate(at->x[0]), coordinate(at->x[1]), coordinate(at->x[2]));
    add_face(p, l, s, &o, f->kind == MX_ARRAY_CUBE ? 0 : clamp_layer(at->layer, f->layers), linear, share);
    return;
  }
  const struct axis x = along(s, 0, at->x[0], at->whole, l->w, linear, at->offset[0]);
  /* images of one dimension are of height 1 and read at 0 */
  const struct axis y = mx__image_axes(f->kind) > 1 ? along(s, 1, at->x[1], at->whole, l->h, linear, at->offset[1])
                                                    : along(s, 1, 0, false, 1, linear, 0);
  if (f->kind != MX_ARRAY_3D) {
    add_slice(p, l, &x, &y, mx__image_is_layered(f->kind) ? (int32_t)clamp_layer(at->layer, f->layers) : 0, share);
    return;
  }
  const struct axis z = along(s, 2, at->x[2], at->whole, l->d, linear, at->offset[2]);
  const uint32_t second = share - (((256 - z.f) * share + 128) >> 8); /* the first one's share is rounded */
  add_slice(p, l, &x, &y, z.i[0], share - second);
  if (z.f) add_slice(p, l, &x, &y, z.i[1], second);
}

void mx__texture_sample(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_sample *at,
                        uint32_t out[4]) {
  const bool integers = f->type != MX_TEXEL_FLOAT && (!s->normalized_read || f->bits == 32);
  const bool linear = s->linear && !at->whole && !integers;
  if (f->plain) {
    const double i = at->whole ? (int32_t)at->x[0] : floor(position(at->x[0], f->level[0].w, false));
    if (i < 0 || i >= f->level[0].w) {
      memset(out, 0, 4 * sizeof *out);
      return;
    }
  }
  int32_t lod = at->lod;
  const int32_t top = (f->levels - 1) * 256;
  lod = lod < 0 ? 0 : lod > top ? top : lod;
  struct footprint p = {.n = 0};
  uint32_t f_mip = 0;
  if (s->mip_linear && !integers) {
    f_mip = lod & 255;
    add_level(&p, f, s, at, (unsigned)lod >> 8, linear, 256 - f_mip);
    if (f_mip) add_level(&p, f, s, at, ((unsigned)lod >> 8) + 1, linear, f_mip);
  } else add_level(&p, f, s, at, (unsigned)(lod + 128) >> 8, linear, 256);
  const bool single = !linear && !f_mip;
  for (unsigned c = 0; c < 4; c++) {
    if (c >= f->channels) out[c] = 0;
    else if (single && !at->compares) out[c] = alone(f, s, c, channel_of(f, s, p.level[0], p.at[0], c));
    else out[c] = filtered(f, s, &p, c, at->compares ? &at->reference : NULL);
  }
}

void mx__texture_gather(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_sample *at,
                        unsigned channel, uint32_t out[4]) {
  static const uint8_t order[4] = {2, 3, 1, 0};
  struct footprint p = {.n = 0};
  add_level(&p, f, s, at, 0, true, 256);
  for (unsigned k = 0; k < 4; k++) {
    const unsigned t = order[k];
    if (channel >= f->channels) out[k] = 0;
    else out[k] = alone(f, s, channel, channel_of(f, s, p.level[t], p.at[t], channel));
    if (at->compares) out[k] = float_of(out[k]) >= at->reference ? 0x3F800000 : 0;
  }
}

/* ---- levels of detail -----------------------------------------------------------------------------------*/
static int32_t limited(const struct mx_image_form *f, const struct mx_sampler_form *s, int64_t lod) {
  const int64_t top = (f->levels - 1) * 256;
  lod += s->bias;
  if (lod > s->most) lod = s->most;
  if (lod < s->least) lod = s->least;
  return (int32_t)(lod < 0 ? 0 : lod > top ? top : lod);
}
int32_t mx__texture_lod(const struct mx_image_form *f, const struct mx_sampler_form *s, float lod) {
  return limited(f, s, !(lod == lod) ? 0 : lod > 1e6f ? 256000000 : lod < -1e6f ? -256000000 : (int64_t)(256 * lod));
}

/* Cut to 10 significant bits. */
static double shortened(double x) {
  int e;
  const double m = frexp(x, &e);
  return ldexp(trunc(m * 1024), e - 10);
}
/* The greatest component and 11/32 of the next one. */
static double length_of(const double *d, unsigned n) {
  double first = 0, second = 0;
  for (unsigned k = 0; k < n; k++) {
    const double x = fabs(d[k]);
    if (x > first) second = first, first = x;
    else if (x > second) second = x;
  }
  return first + second * 11 / 32;
}
int32_t mx__texture_gradient(const struct mx_image_form *f, const struct mx_sampler_form *s, unsigned n,
                             const float *dx, const float *dy) {
  const struct mx_texels *l = &f->level[0];
  const uint32_t size[3] = {l->w, l->h, mx__image_is_cube(f->kind) ? l->w : l->d}; /* directions are as wide as faces */
  double a[3], b[3], sum[3], difference[3];
  for (unsigned k = 0; k < n; k++) {
    const double by = s->normalized_coords ? size[k] : 1;
    a[k] = shortened((double)dx[k] * by);
    b[k] = shortened((double)dy[k] * by);
    sum[k] = a[k] + b[k];
    difference[k] = a[k] - b[k];
  }
  const double of[4] = {length_of(a, n), length_of(b, n), length_of(sum, n) * 11 / 16,
                        length_of(difference, n) * 11 / 16};
  double r = 0;
  for (unsigned k = 0; k < 4; k++)
    if (of[k] > r) r = of[k];
  if (!(r > 0)) return limited(f, s, -256000000);
  if (isinf(r)) return limited(f, s, 256000000);
  int e;
  const double m = frexp(r, &e) * 2; /* 1 to 2 */
  return limited(f, s, (int64_t)(e - 1) * 256 + mx__log2_table[(unsigned)((m - 1) * 256)]);
}

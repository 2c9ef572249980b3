/* The guides' functions that read textures, and PTX's instructions beyond them, in warps of 32 and of 64 lanes, against
 * a model of the texture unit that is written from its rules alone, in long double, where all that it adds is exact:
 * each geometry, with a level, with gradients, gathered, with offsets, compared with a depth; for each row of the
 * guides' list, in both widths, in compiled code and by the interpreter, each address mode, filter, format and number
 * of channels, sRGB and cubes without seams among them. Knows the public interface only, and the recorded table of
 * logarithms and the sRGB curve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models.h"
#include "vm/texture/tables.h"

#include <math.h>

enum { SAMPLES = 128, MOST_LEVELS = 4, MOST_NUMBERS = 16 }; /* of a sample: coordinates, layer, gradients, offsets */
enum form { PLAIN, LOD, GRAD, GATHER };
/* What is run: a row of the guides, or an instruction that they have not. */
struct subject {
  const struct guide_row *row; /* NULL: PTX's own */
  mx_array_kind kind;
  enum form form;
  bool whole, offsets, depth;
};

/* ---- the model --------------------------------------------------------------------------------------------------*/
struct model {
  mx_array_desc a;
  mx_texture_desc t;
  bool plain;       /* linear memory: zeros outside */
  unsigned gathers; /* the channel */
  unsigned number;  /* among the program's samples */
  unsigned char *level[MOST_LEVELS];
};
/* Where a sample is taken. */
struct at {
  float c[4]; /* coordinates, the layer behind them; whole numbers with `whole` */
  int offset[3], level;
  bool whole, depth;
  float reference;
};
static unsigned axes_of(mx_array_kind k) {
  return k == MX_ARRAY_1D || k == MX_ARRAY_1D_LAYERED ? 1 : k == MX_ARRAY_3D ? 3 : 2;
}
static int size_of(const struct model *m, unsigned axis, unsigned level) {
  const uint32_t all[3] = {m->a.width, m->a.height, m->a.depth};
  const int n = (int)(all[axis] >> level);
  return n ? n : 1;
}
/* A stored channel: bits and value; place -1: the border. */
struct texel {
  uint32_t bits;
  long double value;
};
static long double half_value(uint32_t h) {
  const int e = (int)(h >> 10 & 31), f = (int)(h & 1023);
  return (h >> 15 ? -1 : 1) * (e ? ldexpl(1024 + f, e - 25) : ldexpl(f, -24));
}
static struct texel texel_of(const struct model *m, unsigned level, const int *at, unsigned channel) {
  const unsigned bytes = m->a.bits / 8;
  struct texel x = {0, 0};
  if (at[0] < 0 || at[1] < 0 || at[2] < 0) {
    const float b = m->t.border[channel];
    const long double most = ldexpl(1, (int)m->a.bits - (m->a.type == MX_TEXEL_SIGNED)) - 1;
    if (m->a.type == MX_TEXEL_FLOAT) x.value = b; /* they are halves, too */
    else if (m->t.normalized_read && m->a.bits < 32)
      x.value = rintl(fminl(fmaxl(b, m->a.type == MX_TEXEL_SIGNED ? -1 : 0), 1) * most);
    else {
      memcpy(&x.bits, &b, 4);
      if (m->a.bits < 32) x.bits &= (1u << m->a.bits) - 1;
      x.value = x.bits;
      if (m->a.type == MX_TEXEL_SIGNED) x.value = (int32_t)(x.bits << (32 - m->a.bits)) >> (32 - m->a.bits);
    }
    return x;
  }
  const size_t row = (size_t)size_of(m, 0, level), rows = (size_t)size_of(m, 1, level);
  const unsigned char *p =
      m->level[level] +
      ((((size_t)at[2] * rows + (size_t)at[1]) * row + (size_t)at[0]) * m->a.channels + channel) * bytes;
  memcpy(&x.bits, p, bytes);
  float f;
  memcpy(&f, &x.bits, 4);
  if (m->a.type == MX_TEXEL_FLOAT) x.value = bytes == 4 ? (long double)f : half_value(x.bits);
  else if (m->a.type == MX_TEXEL_SIGNED) x.value = (int32_t)(x.bits << (32 - m->a.bits)) >> (32 - m->a.bits);
  else x.value = x.bits;
  return x;
}
/* Two texels of an axis and the second one's part. */
static int outside(int i, int n, mx_address_mode mode) {
  if (mode == MX_ADDRESS_BORDER) return i < 0 || i >= n ? -1 : i;
  if (mode == MX_ADDRESS_CLAMP) return i < 0 ? 0 : i >= n ? n - 1 : i;
  if (mode == MX_ADDRESS_WRAP) return ((i % n) + n) % n;
  for (;;) { /* reflected at one end and the other, until inside */
    if (i < 0) i = -1 - i;
    else if (i >= n) i = 2 * n - 1 - i;
    else return i;
  }
}
static void along(const struct model *m, unsigned axis, long double x, int n, bool linear, const struct at *s, int *i,
                  int *part) {
  const bool cube = is_cube(m->a.kind), dummy = axis >= axes_of(m->a.kind); /* images of one dimension are read at 0 */
  mx_address_mode mode = cube ? MX_ADDRESS_CLAMP : m->t.address_mode[axis];
  if (!m->t.normalized_coords && mode != MX_ADDRESS_BORDER) mode = MX_ADDRESS_CLAMP;
  if (m->t.normalized_coords && !cube && !s->whole) x = floorl(ldexpl(x, 21)) / ldexpl(1, 21) * n;
  const int place = s->whole && !dummy ? 256 * (int)x : (int)floorl(linear ? 256 * x - 127.5L : 256 * x),
            first = (place >> 8) + (dummy ? 0 : s->offset[axis]);
  *part = linear ? place & 255 : 0;
  if (mode == MX_ADDRESS_CLAMP && (first < 0 || first >= n - 1)) *part = 0;
  i[0] = outside(first, n, mode), i[1] = outside(first + 1, n, mode);
}
struct sum {
  struct texel x[16];
  int weight[16];
  unsigned n;
};
static void add_slice(const struct model *m, struct sum *s, unsigned level, int at[4][3], int a, int b, int share,
                      unsigned channel) {
  const int x1 = (a * share + 128) / 256, x0 = share - x1, w11 = (x1 * b + 128) / 256, w10 = x1 - w11,
            w00 = (x0 * (256 - b) + 128) / 256, w01 = x0 - w00, w[4] = {w00, w10, w01, w11};
  for (unsigned k = 0; k < 4; k++) {
    s->x[s->n] = texel_of(m, level, at[k], channel);
    s->weight[s->n++] = w[k];
  }
}
/* ---- cubes ----*/
/* The direction's face, and where on it, from -1 to 1. */
static int face_of(const double c[3], double *s, double *t) {
  const double a[3] = {fabs(c[0]), fabs(c[1]), fabs(c[2])};
  const int axis = a[2] >= a[0] && a[2] >= a[1] ? 2 : a[1] >= a[0] ? 1 : 0, below = signbit(c[axis]) != 0;
  const double p[3][2][2] = {
      {{-c[2], -c[1]}, {c[2], -c[1]}}, {{c[0], c[2]}, {c[0], -c[2]}}, {{c[0], -c[1]}, {-c[0], -c[1]}}};
  *s = p[axis][below][0] / a[axis], *t = p[axis][below][1] / a[axis]; /* one division each, rounded to f64 */
  return 2 * axis + below;
}
/* A texel beside its face: the one across the edge. Places are in half texels from the cube's middle, so that faces lie
 * at n and -n, and edges where two coordinates do. */
static void beside(int n, int face, int i, int j, int at[3]) {
  const bool corner = (i < 0 || i >= n) && (j < 0 || j >= n); /* three texels meet there: it takes a neighbour */
  if (corner) i = i < 0 ? 0 : n - 1;
  at[0] = i, at[1] = j, at[2] = face;
  if (i >= 0 && i < n && j >= 0 && j < n) return;
  const int s = 2 * i + 1 - n, t = 2 * j + 1 - n,
            from[6][3] = {{n, -t, -s}, {-n, -t, s}, {s, n, t}, {s, -n, -t}, {s, -t, n}, {-s, -t, -n}};
  double c[3], across = 0, down = 0;
  for (unsigned k = 0; k < 3; k++) c[k] = from[face][k];
  at[2] = face_of(c, &across, &down); /* what lies outside is the greatest */
  const int most = n + 1, x = (int)lround(across * most), y = (int)lround(down * most);
  at[0] = x >= n ? n - 1 : (x + n) / 2, at[1] = y >= n ? n - 1 : (y + n) / 2;
}
static void add_cube(const struct model *m, struct sum *s, unsigned level, const struct at *p, int layer, bool linear,
                     int share, unsigned channel) {
  const double c[3] = {p->c[0], p->c[1], p->c[2]};
  const int n = size_of(m, 0, level);
  double u, v;
  const int face = face_of(c, &u, &v);
  int x[2], y[2], a, b, at[4][3];
  const long double across = (long double)((u + 1) / 2 * n), down = (long double)((v + 1) / 2 * n);
  const struct at plain = {.whole = false};
  along(m, 0, across, n, linear, &plain, x, &a), along(m, 1, down, n, linear, &plain, y, &b);
  const int px = (int)floorl(256 * across - 127.5L), py = (int)floorl(256 * down - 127.5L);
  const bool goes_on = linear && m->t.seamless;
  if (goes_on) a = px & 255, b = py & 255;
  for (int k = 0; k < 4; k++) {
    at[k][0] = x[k & 1], at[k][1] = y[k >> 1], at[k][2] = face;
    if (goes_on) beside(n, face, (px >> 8) + (k & 1), (py >> 8) + (k >> 1), at[k]);
    at[k][2] += 6 * layer;
  }
  add_slice(m, s, level, at, a, b, share, channel);
}
static void add_level(const struct model *m, struct sum *s, unsigned level, const struct at *p, bool linear, int share,
                      unsigned channel) {
  int x[2], y[2] = {0, 0}, z[2] = {0, 0}, a, b = 0, d = 0;
  const unsigned axes = axes_of(m->a.kind);
  if (is_layered(m->a.kind)) {
    const float l = p->c[is_cube(m->a.kind) ? 3 : axes];
    z[0] = l < 0 || l >= (float)m->a.layers ? (int)m->a.layers - 1 : (int)l;
  }
  if (is_cube(m->a.kind)) {
    add_cube(m, s, level, p, z[0], linear, share, channel);
    return;
  }
  along(m, 0, (long double)p->c[0], size_of(m, 0, level), linear, p, x, &a);
  along(m, 1, axes > 1 ? (long double)p->c[1] : 0, axes > 1 ? size_of(m, 1, level) : 1, linear, p, y, &b);
  if (axes > 2) along(m, 2, (long double)p->c[2], size_of(m, 2, level), linear, p, z, &d);
  const int first = ((256 - d) * share + 128) / 256;
  for (unsigned slice = 0; slice < (d ? 2 : 1); slice++) {
    int at[4][3];
    for (int k = 0; k < 4; k++) at[k][0] = x[k & 1], at[k][1] = y[k >> 1], at[k][2] = z[slice];
    add_slice(m, s, level, at, a, b, slice ? share - first : first, channel);
  }
}
static uint32_t as_bits(long double v) {
  const float f = (float)v;
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
/* Cut to 4 bits below the last one of the slice's greatest, then rounded to so many bits, halves away from 0. */
static uint32_t float_sum(const struct sum *s, int digits) {
  long double all = 0;
  for (unsigned slice = 0; slice < s->n; slice += 4) {
    int top = -1000, e;
    for (unsigned k = slice; k < slice + 4; k++)
      if (s->weight[k] && s->x[k].value != 0 && (frexpl(s->x[k].value, &e), e > top)) top = e;
    for (unsigned k = slice; k < slice + 4; k++)
      all += s->weight[k] * ldexpl(truncl(ldexpl(s->x[k].value, digits + 4 - top)), top - digits - 4);
  }
  all /= 256;
  if (all == 0) return 0;
  int e;
  frexpl(all, &e);
  const long double r = ldexpl(roundl(ldexpl(all, digits - e)), e - digits);
  return digits == 11 && fabsl(r) < 0x1p-14L ? as_bits(r < 0 ? -0.0L : 0) : as_bits(r);
}
static uint32_t integer_sum(const struct model *m, const struct sum *s) {
  long double all = 0;
  for (unsigned k = 0; k < s->n; k++) all += s->weight[k] * s->x[k].value;
  const bool byte = m->a.bits == 8;
  if (m->a.type == MX_TEXEL_UNSIGNED) return as_bits((float)(floorl(((byte ? 257 : 1) * all + 128) / 256) / 65535));
  if (!byte) all = floorl((all + 128) / 256);
  else all = floorl((8 * all + floorl(all / 16) + floorl(all / 4096) + 4) / 8); /* 15 bits of a byte's, repeated */
  return as_bits((float)((all < -32767 ? -32767 : all) / 32767));
}
static bool is_read_as_float(const struct model *m) {
  return m->a.type != MX_TEXEL_FLOAT && m->t.normalized_read && m->a.bits < 32;
}
/* sRGB: entries of the table have 8 significant bits; where their unit doubles goes by the value. A slice's are cut to
 * the greatest unit, the sum is rounded to 11 bits. */
static int curve_unit(int v) {
  static const int from[] = {32, 48, 64, 96, 136, 184, 248};
  int unit = 4;
  for (unsigned k = 0; k < sizeof from / sizeof *from && v >= from[k]; k++) unit *= 2;
  return unit;
}
static uint32_t curve_sum(const struct sum *s) {
  long double all = 0;
  for (unsigned slice = 0; slice < s->n; slice += 4) {
    int unit = 1, e;
    for (unsigned k = slice; k < slice + 4; k++)
      if (s->weight[k] && (e = curve_unit((int)s->x[k].value)) > unit) unit = e;
    for (unsigned k = slice; k < slice + 4; k++)
      all += s->weight[k] * unit * floorl((long double)mx__srgb[(int)s->x[k].value] / unit);
  }
  int e;
  frexpl(all, &e);
  all = ldexpl(roundl(ldexpl(all, 11 - e)), e - 11 - 24);
  return all < 0x1p-14L ? 0 : as_bits(all);
}
static bool is_curve(const struct model *m, unsigned channel) { return m->t.srgb && channel < 3; }
/* One texel by itself. */
static uint32_t alone(const struct model *m, long double v, unsigned channel) {
  if (m->a.type == MX_TEXEL_FLOAT) return as_bits(v);
  if (is_curve(m, channel)) return as_bits((long double)mx__srgb[(int)v] / 65536);
  if (!is_read_as_float(m)) return (uint32_t)(int64_t)v;
  const long double top = ldexpl(1, (int)m->a.bits - (m->a.type == MX_TEXEL_SIGNED)) - 1;
  return as_bits((float)(v < -top ? -1 : v / top));
}
/* Whether the texel is not less than the reference. */
static uint32_t compared_with(const struct model *m, const struct at *p, long double v, unsigned channel) {
  const uint32_t bits = alone(m, v, channel);
  float x;
  memcpy(&x, &bits, sizeof x);
  return x >= p->reference;
}
/* The texels at (i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j) of those that a linear filter would take. */
static uint32_t gathered(const struct model *m, const struct at *p, unsigned channel, unsigned which) {
  static const unsigned from[] = {2, 3, 1, 0};
  struct sum s = {.n = 0};
  uint32_t bits = 0; /* of a channel that is not there */
  if (channel < m->a.channels) {
    add_level(m, &s, 0, p, true, 256, channel);
    if (!p->depth) return alone(m, s.x[from[which]].value, channel);
    return as_bits(compared_with(m, p, s.x[from[which]].value, channel));
  }
  return p->depth ? as_bits(0 >= p->reference) : bits;
}
/* ---- levels of gradients, in 1/256 ----*/
static long double ten_bits(long double x) {
  int e;
  const long double part = frexpl(x, &e);
  return ldexpl(truncl(1024 * part), e - 10);
}
/* The greatest magnitude and 11/32 of the next one. */
static long double longer(long double x, long double y, long double z) {
  const long double a = fabsl(x), b = fabsl(y), c = fabsl(z), first = fmaxl(a, fmaxl(b, c)),
                    second = fmaxl(fminl(a, b), fminl(fmaxl(a, b), c));
  return first + 11 * second / 32;
}
static int level_of(const struct model *m, unsigned axes, const float *dx, const float *dy) {
  long double p[3] = {0}, q[3] = {0};
  for (unsigned k = 0; k < axes; k++) {
    const int size = m->t.normalized_coords ? size_of(m, is_cube(m->a.kind) ? 0 : k, 0) : 1;
    p[k] = ten_bits((long double)dx[k] * size), q[k] = ten_bits((long double)dy[k] * size);
  }
  const long double one = fmaxl(longer(p[0], p[1], p[2]), longer(q[0], q[1], q[2])),
                    two = fmaxl(longer(p[0] + q[0], p[1] + q[1], p[2] + q[2]),
                                longer(p[0] - q[0], p[1] - q[1], p[2] - q[2])),
                    all = fmaxl(one, 11 * two / 16);
  if (all == 0) return 0;
  int e;
  const long double part = frexpl(all, &e);
  return 256 * (e - 1) + mx__log2_table[(int)(512 * part) - 256];
}
static uint32_t sampled(const struct model *m, const struct at *p, unsigned channel) {
  const bool floats = m->a.type == MX_TEXEL_FLOAT, read = is_read_as_float(m),
             linear = m->t.filter == MX_FILTER_LINEAR && !p->whole;
  if (channel >= m->a.channels) return 0;
  if (m->plain && (p->c[0] < 0 || p->c[0] >= (float)m->a.width)) return 0;
  const int most = 256 * ((int)m->a.levels - 1), l = p->level < 0 ? 0 : p->level > most ? most : p->level;
  const bool mips = m->t.mip_filter == MX_FILTER_LINEAR && (floats || read);
  struct sum s = {.n = 0};
  if (!mips) add_level(m, &s, (unsigned)(l + 128) / 256, p, linear, 256, channel);
  else add_level(m, &s, (unsigned)l / 256, p, linear, 256 - l % 256, channel);
  if (mips && l % 256) add_level(m, &s, (unsigned)l / 256 + 1, p, linear, l % 256, channel);
  if (p->depth) {
    long double all = 0; /* weights are those of 256 */
    for (unsigned k = 0; k < s.n; k++) all += s.weight[k] * compared_with(m, p, s.x[k].value, channel);
    return as_bits(all / 256);
  }
  if (!linear && s.n == 4) return alone(m, s.x[0].value, channel);
  if (is_curve(m, channel)) return curve_sum(&s);
  return floats ? float_sum(&s, m->a.bits == 16 ? 11 : 24) : integer_sum(m, &s);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------*/
/* Numbers of a sample are arrays of SAMPLES in memory, one behind the other: coordinates, the layer, a level or
 * gradients, offsets, a reference. */
static const char *const names[] = {
    "tex1D", "tex2D", "tex3D", "tex1DLayered", "tex2DLayered", "texCubemap", "texCubemapLayered"};
static const char *const places[] = {"%c0",
                                     "%c0, %c1",
                                     "%c0, %c1, %c2, %c2",
                                     "%layer, %c0",
                                     "%layer, %c0, %c1, %c1",
                                     "%c0, %c1, %c2, %c2",
                                     "%layer, %c0, %c1, %c2"};
static unsigned coordinates_of(mx_array_kind kind) { return is_cube(kind) ? 3 : axes_of(kind); }
struct numbers { /* where each begins */
  unsigned layer, more, offset, reference, all;
};
static struct numbers numbers_of(const struct subject *u) {
  const unsigned axes = coordinates_of(u->kind);
  struct numbers n = {.layer = axes, .more = axes + is_layered(u->kind)};
  n.offset = n.more + (u->form == LOD ? 1 : u->form == GRAD ? 2 * axes : 0);
  n.reference = n.offset + (u->offsets ? axes : 0);
  n.all = n.reference + u->depth;
  assert_true(n.all <= MOST_NUMBERS);
  return n;
}
static const char *element_of(const struct model *m) {
  static char name[8];
  if (m->a.type == MX_TEXEL_FLOAT || is_read_as_float(m)) return "f32";
  snprintf(name, sizeof name, "%c%u", m->a.type == MX_TEXEL_SIGNED ? 's' : 'u', m->a.bits);
  return name;
}
static unsigned results_of(const struct model *m, const struct subject *u) {
  return u->row && u->form != GATHER ? m->a.channels : 4;
}
/* What all samples of a subject begin with: a thread's numbers. */
static void write_head(struct program *p, const struct subject *u, unsigned lanes) {
  const unsigned axes = coordinates_of(u->kind);
  const struct numbers n = numbers_of(u);
  PUT(p,
      "%s.global .texref picture;\n.entry k(.param .u64 tex, .param .u64 in, .param .u64 out, .param .u32 which)\n{\n"
      "  mov.u32 %%i, %%tid.x;\n  mad.wide.u32 %%p, %%i, 4, %%in;\n",
      lanes == 32 ? ".target sm_90\n" : "");
  for (unsigned k = 0; k < n.all; k++) PUT(p, "  ld.global.f32 %%c%u, [%%p+%u];\n", k, 4 * SAMPLES * k);
  if (is_layered(u->kind)) PUT(p, "  cvt.rzi.s32.f32 %%layer, %%c%u;\n", n.layer);
  for (unsigned k = 0; u->whole && k < axes; k++) PUT(p, "  cvt.rzi.s32.f32 %%w%u, %%c%u;\n", k, k);
  for (unsigned k = 0; u->offsets && k < axes; k++) PUT(p, "  cvt.rzi.s32.f32 %%o%u, %%c%u;\n", k, n.offset + k);
  for (unsigned k = 0; k < 4; k++) PUT(p, "  mov.b32 %%r%u, 0;\n", k);
}
static const char stores[] = "  mad.wide.u32 %o, %i, 16, %out;\n  st.global.v4.b32 [%o], {%r0, %r1, %r2, %r3};\n";
#define ADD(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))
static unsigned write_sample(struct program *p, const struct model *m, const struct subject *u) {
  static const char *const ends[] = {"tex", "tex.level", "tex.grad", "tld4"};
  static char text[1024];
  const unsigned axes = coordinates_of(u->kind), layered = is_layered(u->kind), each = axes == 3 ? 4 : axes,
                 results = results_of(m, u);
  const struct numbers n = numbers_of(u);
  const char *object = u->row && u->row->reference ? "picture" : "%tex";
  size_t at = 0;
  ADD("  %s", u->row ? u->row->name : ends[u->form]);
  if (u->form == GATHER) ADD(".%c", "rgba"[m->gathers]);
  if (u->row) {
    ADD(".%s {%.*s}, %s", element_of(m), results == 1 ? 3 : results == 2 ? 8 : 18, "%r0, %r1, %r2, %r3", object);
    for (unsigned k = 0; k < axes; k++) ADD(", %%%c%u", u->whole ? 'w' : 'c', k);
    if (layered) ADD(", %%layer");
  } else {
    ADD(".%s.v4.f32.%s {%%r0, %%r1, %%r2, %%r3}, [%s, {", geometries[u->kind], u->whole ? "s32" : "f32", object);
    for (const char *c = places[u->kind]; *c; c++) ADD("%c", u->whole && *c == 'c' ? 'w' : *c);
    ADD("}]");
  }
  if (u->form == LOD) ADD(", %%c%u", n.more);
  for (unsigned way = 0; u->form == GRAD && way < 2; way++) {
    ADD(u->row ? "" : ", {");
    for (unsigned k = 0; k < each; k++)
      ADD("%s%%c%u", k || u->row ? ", " : "", n.more + way * axes + (k < axes ? k : axes - 1));
    ADD(u->row ? "" : "}");
  }
  for (unsigned k = 0; u->offsets && k < each; k++) ADD("%s%%o%u", k ? ", " : ", {", k < axes ? k : axes - 1);
  if (u->offsets) ADD("}");
  if (u->depth) ADD(", %%c%u", n.reference);
  ADD(";\n");
  return program_access(p, text);
}
static void fill(struct model *m) {
  for (unsigned l = 0; l < m->a.levels; l++) {
    const size_t slices =
        m->a.kind == MX_ARRAY_3D ? (size_t)size_of(m, 2, l) : m->a.layers * (is_cube(m->a.kind) ? 6u : 1u);
    const size_t values = (size_t)size_of(m, 0, l) * (size_t)size_of(m, 1, l) * slices * m->a.channels;
    m->level[l] = malloc(values * 4);
    for (size_t k = 0; k < values; k++) {
      const float f = ((float)draw(1 << 24) + 1) / (float)(1 << (17 + draw(5))) * (draw(2) ? -1 : 1);
      const uint16_t h = (uint16_t)(draw(2) << 15 | (10 + draw(8)) << 10 | draw(1024));
      const uint32_t whole = draw(1u << 31) << 1 | draw(2);
      if (m->a.type == MX_TEXEL_FLOAT && m->a.bits == 32) memcpy(m->level[l] + 4 * k, &f, 4);
      else if (m->a.type == MX_TEXEL_FLOAT) memcpy(m->level[l] + 2 * k, &h, 2);
      else memcpy(m->level[l] + m->a.bits / 8 * k, &whole, m->a.bits / 8);
    }
  }
}

static const char *told(const struct subject *u) {
  static const char *const forms[] = {"", ".level", ".grad", ", gathered"};
  static char text[500];
  if (u->row) return u->row->text;
  snprintf(text, sizeof text, "%s%s%s%s%s", geometries[u->kind], forms[u->form], u->whole ? ", whole coordinates" : "",
           u->offsets ? ", with offsets" : "", u->depth ? ", depths" : "");
  return text;
}
/* Places, levels and so on, some of them in and on the image's edges. */
static void draw_numbers(const struct model *m, const struct subject *u, float c[MOST_NUMBERS][SAMPLES]) {
  const bool cube = is_cube(u->kind);
  const unsigned axes = coordinates_of(u->kind);
  const struct numbers n = numbers_of(u);
  for (unsigned s = 0; s < SAMPLES; s++) {
    for (unsigned k = 0; k < axes; k++) {
      const float x = (float)draw(1 << 20) / (1 << 20);
      const bool texels = u->whole || !m->t.normalized_coords;
      c[k][s] = cube ? 2 * x - 1 + 0.001f : (3 * x - 1) * (texels ? (float)size_of(m, k, 0) : 1);
      if (u->whole) c[k][s] = floorf(c[k][s]);
    }
    if (is_layered(u->kind)) c[n.layer][s] = (float)draw(m->a.layers + 2) - 1;
    if (u->form == LOD) c[n.more][s] = (float)draw(1024) / 256 - 0.5f;
    for (unsigned k = 0; u->form == GRAD && k < 2 * axes; k++)
      c[n.more + k][s] = draw(8) ? ((float)draw(1 << 20) / (1 << 19) - 1) / (float)(1 << draw(8)) : 0;
    for (unsigned k = 0; u->offsets && k < axes; k++) c[n.offset + k][s] = (float)draw(16) - 8;
    if (!u->depth) continue;
    const uint32_t equal = alone(m, texel_of(m, 0, (int[3]){(int)draw(m->a.width), 0, 0}, 0).value, 0);
    if (draw(2)) memcpy(&c[n.reference][s], &equal, sizeof equal);
    else c[n.reference][s] = ((float)draw(1 << 20) / (1 << 19) - 1) * (m->a.type == MX_TEXEL_FLOAT ? 32 : 1);
  }
}
static void compare(mx_device *d, const struct model *m, const struct subject *u, const struct program *p,
                    uint64_t texture, unsigned lanes, bool compiled, mx_addr in, mx_addr out) {
  static float c[MOST_NUMBERS][SAMPLES];
  static uint32_t got[2][SAMPLES][4];
  const unsigned axes = coordinates_of(u->kind), results = results_of(m, u);
  const struct numbers n = numbers_of(u);
  if (u->row && u->row->reference) model_refers(d, p->module, texture), texture = 0;
  draw_numbers(m, u, c);
  mx_copy_to_device(d, in, c, sizeof c);
  const void *args[] = {&texture, &in, &out, &m->number};
  for (unsigned jit = 0; jit < 1u + compiled; jit++) {
    model_run(d, p->kernel, SAMPLES, jit, args, 4, told(u));
    mx_copy_from_device(d, got[jit], out, sizeof got[jit]);
  }
  for (unsigned s = 0; s < SAMPLES; s++) {
    struct at at = {.whole = u->whole, .depth = u->depth, .reference = u->depth ? c[n.reference][s] : 0};
    float dx[3] = {0}, dy[3] = {0};
    for (unsigned k = 0; k < n.more; k++) at.c[k] = c[k][s];
    for (unsigned k = 0; u->offsets && k < axes; k++) at.offset[k] = (int)c[n.offset + k][s];
    for (unsigned k = 0; u->form == GRAD && k < axes; k++) dx[k] = c[n.more + k][s], dy[k] = c[n.more + axes + k][s];
    at.level = u->form == LOD ? (int)(256 * c[n.more][s]) : u->form == GRAD ? level_of(m, axes, dx, dy) : 0;
    for (unsigned ch = 0; ch < results; ch++) {
      const uint32_t want = u->form == GATHER ? gathered(m, &at, m->gathers, ch) : sampled(m, &at, ch);
      for (unsigned jit = 0; jit < 1u + compiled; jit++) {
        if (got[jit][s][ch] == want) continue;
        fail_msg("%s, %u lanes, %s, type %d of %u bits, %u channels, modes %d %d %d, %s%s%s%s%s, thread %u channel %u "
                 "at %g %g %g %g, offsets %d %d %d, level %g, reference %g: %08x, the model %08x",
                 told(u), lanes, jit ? "compiled" : "interpreted", m->a.type, m->a.bits, m->a.channels,
                 m->t.address_mode[0], m->t.address_mode[1], m->t.address_mode[2], m->t.filter ? "linear" : "point",
                 m->t.mip_filter ? ", levels mixed" : "", m->t.normalized_coords ? ", normalized" : "",
                 m->t.srgb ? ", sRGB" : "", m->t.seamless ? ", seamless" : "", s, ch, at.c[0], at.c[1], at.c[2],
                 at.c[3], at.offset[0], at.offset[1], at.offset[2], at.level / 256.0, at.reference, got[jit][s][ch],
                 want);
      }
    }
  }
}
static const struct {
  struct format is;
  bool read, srgb;
} formats[] = {{{MX_TEXEL_FLOAT, 32}, 0, 0},    {{MX_TEXEL_FLOAT, 16}, 0, 0},   {{MX_TEXEL_UNSIGNED, 8}, 1, 0},
               {{MX_TEXEL_UNSIGNED, 16}, 1, 0}, {{MX_TEXEL_SIGNED, 8}, 1, 0},   {{MX_TEXEL_SIGNED, 16}, 1, 0},
               {{MX_TEXEL_UNSIGNED, 8}, 1, 1},  {{MX_TEXEL_UNSIGNED, 8}, 0, 0}, {{MX_TEXEL_SIGNED, 8}, 0, 0},
               {{MX_TEXEL_UNSIGNED, 16}, 0, 0}, {{MX_TEXEL_SIGNED, 16}, 0, 0},  {{MX_TEXEL_SIGNED, 32}, 0, 0},
               {{MX_TEXEL_UNSIGNED, 32}, 0, 0}};
enum { FORMATS = sizeof formats / sizeof *formats, FILTERED = 7 }; /* so many can be filtered */
/* What the row's reference says of texels. */
static bool goes_with(const struct subject *u, unsigned format) {
  static const struct {
    const char *words;
    struct format is;
  } types[] = {{"<unsigned char", {MX_TEXEL_UNSIGNED, 8}},
               {"<signed char", {MX_TEXEL_SIGNED, 8}},
               {"<unsigned short", {MX_TEXEL_UNSIGNED, 16}},
               {"<signed short", {MX_TEXEL_SIGNED, 16}},
               {"<uchar4", {MX_TEXEL_UNSIGNED, 8}}};
  const bool floats = formats[format].is.type == MX_TEXEL_FLOAT;
  if (u->depth && format >= FILTERED) return false; /* a depth is a float */
  if (!u->row || !u->row->reference) return true;
  if (strstr(u->row->text, "NormalizedFloat") && !formats[format].read) return false;
  if (strstr(u->row->text, "ElementType") && formats[format].read && !floats) return false;
  for (unsigned k = 0; k < sizeof types / sizeof *types; k++)
    if (strstr(u->row->text, types[k].words) && memcmp(&types[k].is, &formats[format].is, sizeof types[k].is))
      return false;
  return true;
}
/* An image of a format, an address mode and a filter. */
static struct model image_of(const struct subject *u, unsigned format, unsigned channels, mx_address_mode mode,
                             bool linear) {
  struct model m = {.a = MX_ARRAY_DESC_INIT, .t = MX_TEXTURE_DESC_INIT};
  const mx_array_kind kind = u->kind;
  const bool cube = is_cube(kind);
  m.plain = u->row && u->whole, m.gathers = draw(4);
  m.a.kind = kind, m.a.type = formats[format].is.type, m.a.bits = formats[format].is.bits;
  m.a.channels = channels;
  m.a.width = 3 + draw(20), m.a.height = axes_of(kind) > 1 ? cube ? m.a.width : 2 + draw(12) : 0,
  m.a.depth = kind == MX_ARRAY_3D ? 2 + draw(6) : 0;
  m.a.layers = is_layered(kind) ? 1 + draw(4) : 0;
  m.t.normalized_coords = !m.plain && (cube || draw(3));
  m.a.levels = m.t.normalized_coords && m.a.width >= 8 ? 1 + draw(MOST_LEVELS) : 1;
  m.t.filter = linear ? MX_FILTER_LINEAR : MX_FILTER_POINT;
  m.t.mip_filter = linear && !m.plain && draw(2) ? MX_FILTER_LINEAR : MX_FILTER_POINT, m.t.max_lod = 16;
  m.t.normalized_read = formats[format].read, m.t.srgb = formats[format].srgb, m.t.seamless = cube && draw(2);
  for (unsigned k = 0; k < 3; k++) m.t.address_mode[k] = k && draw(2) ? (mx_address_mode)draw(4) : mode;
  for (unsigned k = 0; k < 4; k++) m.t.border[k] = (float)draw(9) / 8;
  return m;
}
static void one(mx_device *d, struct model *m, const struct subject *u, const struct program *p, unsigned lanes,
                bool compiled, mx_addr in, mx_addr out) {
  mx_array *array = NULL;
  mx_addr memory = 0;
  if (!m->plain) assert_int_equal(mx_array_create(d, &m->a, &array), MX_OK);
  m->a.layers += !m->a.layers, m->a.height += !m->a.height, m->a.depth += !m->a.depth;
  fill(m);
  for (uint32_t l = 0; array && l < m->a.levels; l++)
    assert_int_equal(
        mx_array_copy_in(array, &(mx_texel_box){.struct_size = sizeof(mx_texel_box), .level = l}, m->level[l], 0, 0),
        MX_OK);
  if (m->plain) {
    memory = model_memory(d, m->a.width * m->a.channels * 4);
    mx_copy_to_device(d, memory, m->level[0], m->a.width * m->a.channels * (m->a.bits / 8));
    m->t.address = memory, m->t.type = m->a.type, m->t.bits = m->a.bits, m->t.channels = m->a.channels;
    m->t.width = m->a.width;
  }
  m->t.array = array;
  uint64_t texture;
  if (mx_texture_create(d, &m->t, &texture) != MX_OK) fail_msg("%s", mx_last_error_text(d));
  compare(d, m, u, p, texture, lanes, compiled, in, out);
  mx_texture_destroy(d, texture), mx_array_destroy(array);
  if (memory) mx_free(d, memory);
  for (uint32_t l = 0; l < m->a.levels; l++) free(m->level[l]);
}
/* Each format and filter; with each number of channels and address mode, or one of them. */
static void each_image(mx_device *d, const struct subject *u, unsigned lanes, bool every, mx_addr in, mx_addr out) {
  static struct model images[FORMATS * 2 * 4 * 3];
  static struct program p;
  const bool compiled = model_compiles(), is_uchar4 = u->row && strstr(u->row->text, "uchar4");
  unsigned n = 0;
  write_head(&p, u, lanes);
  for (unsigned format = 0; format < FORMATS; format++)
    for (unsigned linear = 0; linear < (format < FILTERED && !(u->row && u->whole) ? 2 : 1); linear++)
      for (unsigned mode = 0; mode < (every ? 4 : 1); mode++)
        for (unsigned channels = 0; channels < (every && !is_uchar4 ? 3 : 1); channels++) {
          if (!goes_with(u, format)) continue;
          images[n] = image_of(u, format, is_uchar4 ? 4 : 1u << (every ? channels : draw(3)),
                               (mx_address_mode)(every ? mode : draw(4)), linear);
          images[n].number = write_sample(&p, &images[n], u), n++;
        }
  if (!n) fail_msg("%s is run with no image", told(u));
  program_build(d, &p, stores);
  for (unsigned k = 0; k < n; k++) one(d, &images[k], u, &p, lanes, compiled, in, out);
  program_end(&p);
}

/* What a row of the guides' list is: its name says it. */
static struct subject subject_of(const struct guide_row *r) {
  struct subject u = {.row = r, .kind = kind_of_row(r, names)};
  const char *rest = r->name + strlen(names[u.kind]);
  u.whole = !strcmp(rest, "fetch");
  u.form = !strcmp(rest, "Lod") ? LOD : !strcmp(rest, "Grad") ? GRAD : !strcmp(rest, "gather") ? GATHER : PLAIN;
  if (u.form == PLAIN && !u.whole && *rest) fail_msg("the guides' %s is none that this test knows", r->text);
  return u;
}
static void every_row(void **unused) {
  (void)unused;
  struct guide_row rows[MOST_ROWS];
  const size_t n = guide_rows("texture", rows);
  mx_device *d = model_device();
  const mx_addr in = model_memory(d, MOST_NUMBERS * 4 * SAMPLES), out = model_memory(d, 16 * SAMPLES);
  assert_true(n > 0);
  for (size_t k = 0; k < n; k++)
    for (unsigned lanes = 32; lanes <= 64; lanes += 32) {
      const struct subject u = subject_of(&rows[k]);
      each_image(d, &u, lanes, true, in, out);
    }
  mx_device_destroy(d);
}
/* PTX's instructions that no function of the guides is: gradients and gathers of all geometries that have them, whole
 * coordinates, offsets, depths. */
static void ptx(void **unused) {
  (void)unused;
  mx_device *d = model_device();
  const mx_addr in = model_memory(d, MOST_NUMBERS * 4 * SAMPLES), out = model_memory(d, 16 * SAMPLES);
  for (unsigned way = 0; way < 7 * 4 * 8; way++) {
    const struct subject u = {.kind = (mx_array_kind)(way % 7),
                              .form = (enum form)(way / 7 % 4),
                              .whole = way / 28 & 1,
                              .offsets = way / 56 & 1,
                              .depth = way / 112 & 1};
    const bool cube = is_cube(u.kind);
    if (u.form == GATHER && axes_of(u.kind) != 2) continue;
    if ((u.whole && (cube || u.form != PLAIN || u.depth)) || (u.offsets && cube) || (u.depth && u.kind == MX_ARRAY_3D))
      continue;
    for (unsigned lanes = 32; lanes <= 64; lanes += 32) each_image(d, &u, lanes, false, in, out);
  }
  mx_device_destroy(d);
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(every_row), cmocka_unit_test(ptx)};
  return cmocka_run_group_tests(all, NULL, NULL);
}

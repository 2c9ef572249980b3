/* The guides' functions that read textures, in warps of 32 and of 64 lanes, against a model of the texture unit that is
 * written from its rules alone, in long double, where all that it adds is exact: each geometry, address mode, filter
 * and format, with a level, with gradients and gathered. Compiled code and the interpreter take turns. Knows the public
 * interface only, and the recorded table of logarithms. */
#include "mx/text.h"
#include "mx/texture.h"
#include "vm/texture/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 256, MOST_LEVELS = 4, MOST_NUMBERS = 10 }; /* of a sample: coordinates, layer, gradients */
enum form { PLAIN, LOD, GRAD, GATHER };
static uint64_t state = 7;
static uint32_t draw(uint32_t n) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (uint32_t)(state >> 33) % n;
}

/* ---- the model --------------------------------------------------------------------------------------------------*/
struct model {
  mx_array_desc a;
  mx_texture_desc t;
  unsigned char *level[MOST_LEVELS];
};
static unsigned axes_of(mx_array_kind k) {
  return k == MX_ARRAY_1D || k == MX_ARRAY_1D_LAYERED ? 1 : k == MX_ARRAY_3D ? 3 : 2;
}
static bool is_cube(mx_array_kind k) { return k == MX_ARRAY_CUBE || k == MX_ARRAY_CUBE_LAYERED; }
static bool is_layered(mx_array_kind k) {
  return k == MX_ARRAY_1D_LAYERED || k == MX_ARRAY_2D_LAYERED || k == MX_ARRAY_CUBE_LAYERED;
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
static void along(const struct model *m, unsigned axis, long double x, int n, bool linear, int *i, int *part) {
  const bool cube = is_cube(m->a.kind);
  mx_address_mode mode = cube ? MX_ADDRESS_CLAMP : m->t.address_mode[axis];
  if (!m->t.normalized_coords && mode != MX_ADDRESS_BORDER) mode = MX_ADDRESS_CLAMP;
  if (m->t.normalized_coords && !cube) x = floorl(ldexpl(x, 21)) / ldexpl(1, 21) * n;
  const int place = (int)floorl(linear ? 256 * x - 127.5L : 256 * x), first = place >> 8;
  *part = linear ? place & 255 : 0;
  if (mode == MX_ADDRESS_CLAMP && (first < 0 || first >= n - 1)) *part = 0;
  i[0] = outside(first, n, mode), i[1] = outside(first + 1, n, mode);
}
struct sum {
  struct texel x[16];
  int weight[16];
  unsigned n;
};
static void add_slice(const struct model *m, struct sum *s, unsigned level, const int *x, const int *y, int z, int a,
                      int b, int share, unsigned channel) {
  const int x1 = (a * share + 128) / 256, x0 = share - x1, w11 = (x1 * b + 128) / 256, w10 = x1 - w11,
            w00 = (x0 * (256 - b) + 128) / 256, w01 = x0 - w00, w[4] = {w00, w10, w01, w11};
  for (unsigned k = 0; k < 4; k++) {
    const int at[3] = {x[k & 1], y[k >> 1], z};
    s->x[s->n] = texel_of(m, level, at, channel);
    s->weight[s->n++] = w[k];
  }
}
static void add_level(const struct model *m, struct sum *s, unsigned level, const float *c, bool linear, int share,
                      unsigned channel) {
  const bool cube = is_cube(m->a.kind);
  int x[2], y[2] = {0, 0}, z[2] = {0, 0}, a, b = 0, d = 0;
  const unsigned axes = axes_of(m->a.kind);
  long double u = c[0], v = c[1];
  if (is_layered(m->a.kind)) {
    const float l = c[cube ? 3 : axes];
    z[0] = l < 0 || l >= (float)m->a.layers ? (int)m->a.layers - 1 : (int)l;
  }
  if (cube) {
    const long double X = c[0], Y = c[1], Z = c[2];
    int face;
    double q, t, most; /* one division, rounded to f64 */
    if (fabsl(Z) >= fabsl(X) && fabsl(Z) >= fabsl(Y))
      face = Z < 0 ? 5 : 4, q = Z < 0 ? -c[0] : c[0], t = -c[1], most = fabs(c[2]);
    else if (fabsl(Y) >= fabsl(X)) face = Y < 0 ? 3 : 2, q = c[0], t = Y < 0 ? -c[2] : c[2], most = fabs(c[1]);
    else face = X < 0 ? 1 : 0, q = X < 0 ? c[2] : -c[2], t = -c[1], most = fabs(c[0]);
    u = (long double)((q / most + 1) / 2 * size_of(m, 0, level)),
    v = (long double)((t / most + 1) / 2 * size_of(m, 0, level));
    z[0] = 6 * z[0] + face;
  }
  along(m, 0, u, size_of(m, 0, level), linear, x, &a);
  if (axes > 1) along(m, 1, v, size_of(m, 1, level), linear, y, &b);
  else along(m, 1, 0, 1, linear, y, &b);
  if (axes > 2) along(m, 2, c[2], size_of(m, 2, level), linear, z, &d);
  const int first = ((256 - d) * share + 128) / 256;
  add_slice(m, s, level, x, y, z[0], a, b, first, channel);
  if (d) add_slice(m, s, level, x, y, z[1], a, b, share - first, channel);
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
/* One texel by itself. */
static uint32_t alone(const struct model *m, long double v) {
  if (m->a.type == MX_TEXEL_FLOAT) return as_bits(v);
  if (!is_read_as_float(m)) return (uint32_t)(int64_t)v;
  const long double top = ldexpl(1, (int)m->a.bits - (m->a.type == MX_TEXEL_SIGNED)) - 1;
  return as_bits((float)(v < -top ? -1 : v / top));
}
/* The texels at (i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j) of those that a linear filter would take. */
static uint32_t gathered(const struct model *m, const float *c, unsigned channel, unsigned which) {
  static const unsigned from[] = {2, 3, 1, 0};
  struct sum s = {.n = 0};
  if (channel >= m->a.channels) return 0;
  add_level(m, &s, 0, c, true, 256, channel);
  return alone(m, s.x[from[which]].value);
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
static uint32_t sampled(const struct model *m, const float *c, int level, unsigned channel) {
  const bool floats = m->a.type == MX_TEXEL_FLOAT, read = is_read_as_float(m), linear = m->t.filter == MX_FILTER_LINEAR;
  if (channel >= m->a.channels) return 0;
  const int most = 256 * ((int)m->a.levels - 1), l = level < 0 ? 0 : level > most ? most : level;
  const bool mips = m->t.mip_filter == MX_FILTER_LINEAR && (floats || read);
  struct sum s = {.n = 0};
  if (!mips) add_level(m, &s, (unsigned)(l + 128) / 256, c, linear, 256, channel);
  else add_level(m, &s, (unsigned)l / 256, c, linear, 256 - l % 256, channel);
  if (mips && l % 256) add_level(m, &s, (unsigned)l / 256 + 1, c, linear, l % 256, channel);
  if (!linear && s.n == 4) return alone(m, s.x[0].value);
  return floats ? float_sum(&s, m->a.bits == 16 ? 11 : 24) : integer_sum(m, &s);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------*/
/* coords[k] are arrays of SAMPLES; the layer is a whole number. */
static const char *const names[] = {
    "tex1D", "tex2D", "tex3D", "tex1DLayered", "tex2DLayered", "texCubemap", "texCubemapLayered"};
static const char *const geometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
static const char *const places[] = {"%c0",
                                     "%c0, %c1",
                                     "%c0, %c1, %c2, %c2",
                                     "%layer, %c0",
                                     "%layer, %c0, %c1, %c1",
                                     "%c0, %c1, %c2, %c2",
                                     "%layer, %c0, %c1, %c2"};
static unsigned coordinates_of(mx_array_kind kind) { return is_cube(kind) ? 3 : axes_of(kind); }
/* Cubes have neither gradients nor gathers among the guides' functions, and only images of two dimensions the latter:
 * these are PTX's. */
static bool is_function(mx_array_kind kind, enum form form) {
  return form <= LOD || (form == GRAD ? !is_cube(kind) : kind == MX_ARRAY_2D);
}
#define PUT(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))
static mx_kernel *kernel_of(mx_device *d, mx_array_kind kind, unsigned lanes, enum form form, unsigned channel) {
  static const char *const ends[] = {"", "Lod", "Grad", "gather"};
  char text[4096];
  size_t at = 0;
  const unsigned axes = coordinates_of(kind), layered = is_layered(kind), each = axes == 3 ? 4 : axes,
                 n = axes + layered +
                     (form == LOD    ? 1
                      : form == GRAD ? 2 * axes
                                     : 0);
  PUT("%s.entry k(.param .u64 tex, .param .u64 in, .param .u64 out)\n{\n  mov.u32 %%i, %%tid.x;\n"
      "  mad.wide.u32 %%p, %%i, 4, %%in;\n",
      lanes == 32 ? ".target sm_90\n" : "");
  for (unsigned k = 0; k < n; k++) PUT("  ld.global.f32 %%c%u, [%%p+%u];\n", k, 4 * SAMPLES * k);
  if (layered) PUT("  cvt.rzi.s32.f32 %%layer, %%c%u;\n", axes);
  if (!is_function(kind, form)) {
    PUT("  %s", form == GRAD ? "tex.grad" : "tld4");
    if (form == GATHER) PUT(".%c", "rgba"[channel]);
    PUT(".%s.v4.f32.f32 {%%r, %%g, %%b, %%a}, [%%tex, {%s}]", geometries[kind], places[kind]);
  } else {
    PUT("  %s%s%s%c%s {%%r, %%g, %%b, %%a}, %%tex", names[kind], ends[form], form == GATHER ? "." : "",
        form == GATHER ? "rgba"[channel] : '.', form == GATHER ? ".f32" : "f32");
    for (unsigned k = 0; k < axes; k++) PUT(", %%c%u", k);
    if (layered) PUT(", %%layer");
  }
  if (form == LOD) PUT(", %%c%u", n - 1);
  for (unsigned way = 0; form == GRAD && way < 2; way++) {
    PUT(is_function(kind, form) ? "" : ", {");
    for (unsigned k = 0; k < each; k++)
      PUT("%s%%c%u", k || is_function(kind, form) ? ", " : "", axes + layered + way * axes + (k < axes ? k : axes - 1));
    PUT(is_function(kind, form) ? "" : "}");
  }
  PUT(";\n  mad.wide.u32 %%o, %%i, 16, %%out;\n  st.global.v4.f32 [%%o], {%%r, %%g, %%b, %%a};\n  exit;\n}\n");
  mx_module *module;
  mx_kernel *kernel;
  if (mx_module_load_text(d, text, strlen(text), NULL, &module, NULL) != MX_OK)
    fail_msg("%s\n%s", mx_last_error_text(d), text);
  assert_int_equal(mx_module_kernel(module, "k", &kernel), MX_OK);
  return kernel;
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

static unsigned compared;
static void compare(mx_device *d, mx_kernel *kernel, const struct model *m, uint64_t texture, unsigned lanes,
                    enum form form, unsigned channel, bool jit, mx_addr in, mx_addr out) {
  static float c[MOST_NUMBERS][SAMPLES];
  static uint32_t got[SAMPLES][4];
  const bool cube = is_cube(m->a.kind), layered = is_layered(m->a.kind);
  const unsigned axes = coordinates_of(m->a.kind), n = axes + layered;
  for (unsigned s = 0; s < SAMPLES; s++) {
    for (unsigned k = 0; k < axes; k++) {
      const float x = (float)draw(1 << 20) / (1 << 20);
      c[k][s] = cube ? 2 * x - 1 + 0.001f : (3 * x - 1) * (m->t.normalized_coords ? 1 : (float)size_of(m, k, 0));
    }
    if (layered) c[axes][s] = (float)draw(m->a.layers + 2) - 1;
    c[n][s] = (float)draw(1024) / 256 - 0.5f;
    for (unsigned k = 0; form == GRAD && k < 2 * axes; k++)
      c[n + k][s] = draw(8) ? ((float)draw(1 << 20) / (1 << 19) - 1) / (float)(1 << draw(8)) : 0;
  }
  mx_copy_to_device(d, in, c, sizeof c);
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = 1, config.block[0] = SAMPLES, config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
  static const char *const said[] = {"", "Lod", "Grad", "gather"};
  const void *args[] = {&texture, &in, &out};
  if (mx_launch_args(kernel, &config, args, 3) != MX_OK) fail_msg("%s", mx_last_error_text(d));
  mx_copy_from_device(d, got, out, sizeof got);
  for (unsigned s = 0; s < SAMPLES; s++) {
    const float at[4] = {c[0][s], n > 1 ? c[1][s] : 0, n > 2 ? c[2][s] : 0, n > 3 ? c[3][s] : 0};
    for (unsigned ch = 0; ch < 4; ch++, compared++) {
      float dx[3] = {0}, dy[3] = {0};
      for (unsigned k = 0; form == GRAD && k < axes; k++) dx[k] = c[n + k][s], dy[k] = c[n + axes + k][s];
      const int level = form == LOD ? (int)(256 * c[n][s]) : form == GRAD ? level_of(m, axes, dx, dy) : 0;
      const uint32_t want = form == GATHER ? gathered(m, at, channel, ch) : sampled(m, at, level, ch);
      if (got[s][ch] != want)
        fail_msg("%s%s, %u lanes, %s, type %d of %u bits, %u channels, modes %d %d %d, %s%s%s, thread %u channel %u at "
                 "%g %g %g %g level %g: %08x, the model %08x",
                 names[m->a.kind], said[form], lanes, jit ? "compiled" : "interpreted", m->a.type, m->a.bits,
                 m->a.channels, m->t.address_mode[0], m->t.address_mode[1], m->t.address_mode[2],
                 m->t.filter ? "linear" : "point", m->t.mip_filter ? ", levels mixed" : "",
                 m->t.normalized_coords ? ", normalized" : "", s, ch, at[0], at[1], at[2], at[3], level / 256.0,
                 got[s][ch], want);
    }
  }
}
/* A format, an address mode and a filter of one geometry. */
static void one(mx_device *d, mx_kernel *(*kernels)[7], mx_array_kind kind, unsigned format, mx_address_mode mode,
                bool linear, unsigned lanes, mx_addr in, mx_addr out, bool jit) {
  static const struct {
    mx_texel_type type;
    uint32_t bits;
    bool read;
  } formats[] = {{MX_TEXEL_FLOAT, 32, 0},    {MX_TEXEL_FLOAT, 16, 0},  {MX_TEXEL_UNSIGNED, 8, 1},
                 {MX_TEXEL_UNSIGNED, 16, 1}, {MX_TEXEL_SIGNED, 8, 1},  {MX_TEXEL_SIGNED, 16, 1},
                 {MX_TEXEL_UNSIGNED, 8, 0},  {MX_TEXEL_SIGNED, 16, 0}, {MX_TEXEL_SIGNED, 32, 0},
                 {MX_TEXEL_UNSIGNED, 32, 0}};
  if (linear && format > 5) return;
  struct model m = {.a = MX_ARRAY_DESC_INIT, .t = MX_TEXTURE_DESC_INIT};
  const bool cube = is_cube(kind);
  m.a.kind = kind, m.a.type = formats[format].type, m.a.bits = formats[format].bits, m.a.channels = 1u << draw(3);
  m.a.width = 3 + draw(20), m.a.height = axes_of(kind) > 1 ? cube ? m.a.width : 2 + draw(12) : 0,
  m.a.depth = kind == MX_ARRAY_3D ? 2 + draw(6) : 0;
  m.a.layers = is_layered(kind) ? 1 + draw(4) : 0;
  const bool normalized = cube || draw(3);
  m.a.levels = normalized && m.a.width >= 8 ? 1 + draw(MOST_LEVELS) : 1;
  mx_array *array;
  assert_int_equal(mx_array_create(d, &m.a, &array), MX_OK);
  m.a.layers += !m.a.layers, m.a.height += !m.a.height, m.a.depth += !m.a.depth;
  fill(&m);
  for (uint32_t l = 0; l < m.a.levels; l++)
    assert_int_equal(
        mx_array_copy_in(array, &(mx_texel_box){.struct_size = sizeof(mx_texel_box), .level = l}, m.level[l], 0, 0),
        MX_OK);
  m.t.array = array, m.t.filter = linear ? MX_FILTER_LINEAR : MX_FILTER_POINT, m.t.normalized_coords = normalized;
  m.t.mip_filter = linear && draw(2) ? MX_FILTER_LINEAR : MX_FILTER_POINT, m.t.max_lod = 16;
  m.t.normalized_read = formats[format].read;
  for (unsigned k = 0; k < 3; k++) m.t.address_mode[k] = k && draw(2) ? (mx_address_mode)draw(4) : mode;
  for (unsigned k = 0; k < 4; k++) m.t.border[k] = (float)draw(9) / 8;
  uint64_t texture;
  if (mx_texture_create(d, &m.t, &texture) != MX_OK) fail_msg("%s", mx_last_error_text(d));
  const unsigned channel = draw(4);
  for (unsigned form = m.a.levels > 1 ? LOD : PLAIN; form <= GATHER; form++) {
    if ((form == LOD && m.a.levels == 1) || (form == GATHER && (axes_of(kind) != 2))) continue;
    mx_kernel **kernel = &kernels[kind][form + (form == GATHER ? channel : 0)];
    if (!*kernel) *kernel = kernel_of(d, kind, lanes, (enum form)form, channel);
    compare(d, *kernel, &m, texture, lanes, (enum form)form, channel, jit, in, out);
  }
  mx_texture_destroy(d, texture), mx_array_destroy(array);
  for (uint32_t l = 0; l < m.a.levels; l++) free(m.level[l]);
}
static void like_the_model(void **unused) {
  (void)unused;
  for (unsigned lanes = 32; lanes <= 64; lanes += 32) {
    mx_device *d;
    mx_device_options o = MX_DEVICE_OPTIONS_INIT;
    o.cache_dir = "";
    o.jit_compiler = getenv("MX_JITC");
    assert_int_equal(mx_device_create(&o, &d), MX_OK);
    mx_kernel *kernels[7][7] = {{NULL}};
    mx_addr in, out;
    assert_int_equal(mx_alloc(d, MOST_NUMBERS * 4 * SAMPLES, &in), MX_OK);
    assert_int_equal(mx_alloc(d, 16 * SAMPLES, &out), MX_OK);
    for (unsigned kind = 0; kind < 7; kind++)
      for (unsigned format = 0; format < 10; format++)
        for (unsigned mode = 0; mode < 4; mode++)
          for (unsigned linear = 0; linear < 2; linear++)
            one(d, kernels, (mx_array_kind)kind, format, (mx_address_mode)mode, linear, lanes, in, out,
                o.jit_compiler && draw(8) == 0);
    mx_device_destroy(d);
  }
  assert_true(compared > 2 * 7 * 4 * 16 * SAMPLES);
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(like_the_model)};
  return cmocka_run_group_tests(all, NULL, NULL);
}

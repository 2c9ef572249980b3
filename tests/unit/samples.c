/* Samples of all lanes at once (vm/exec/lanes/samples.c) against those of one (vm/texture/sample.c), bit for bit, at
 * every CPU level: images of random texels with infinities, NaNs, subnormals and zeros among them, all address modes,
 * coordinates in the image, between texels, far outside, and no numbers; all kinds of images and formats, levels, whole
 * coordinates. */
#include "vm/exec/exec.h"
#include "vm/exec/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 1;
static uint32_t draw(void) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (uint32_t)(z >> 32);
}
static uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
/* kind: of most texels of an image. */
static uint32_t texel(unsigned kind) {
  static const uint32_t special[] = {0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                     1, 0x807FFFFF, 0x00800000, 0x7F7FFFFF};
  if (kind == 1 && draw() % 8 == 0) return special[draw() % 9];
  if (kind == 2) return draw();                                                         /* any exponent */
  if (kind == 3) return bits_of((float)(int32_t)(draw() % 64)) | (draw() & 0x80000000); /* sums that are halves */
  if (kind == 4) return (draw() & 0x80FFFFFF) | (draw() % 4) << 23;                     /* near the least */
  if (kind == 5) { /* sums to be rounded, halves, and small ones of great texels */
    const float great = (float)(0x800000 + draw() % 4096), small = (float)(draw() >> 8) / 256;
    return bits_of(draw() % 4 ? great : small) | (draw() & 0x80000000);
  }
  return bits_of((float)(draw() % 10000) / 977 - 5);
}
static uint32_t coordinate(bool normalized, uint32_t size) {
  const float unit = normalized ? 1 : (float)size, x = (float)(draw() >> 8) / 16777216;
  switch (draw() % 8) {
  case 0: return draw();
  case 1: return bits_of((8 * x - 4) * unit);
  case 2: return bits_of((float)(draw() % (4 * size)) / (2 * (float)size) * unit); /* middles and edges of texels */
  case 3: return bits_of((x - 0.5f) * 1e9f);
  default: return bits_of(x * unit);
  }
}
static const char *const names[] = {"v2", "v3", "v4", "plain"};

/* An image of random texels, all levels one behind the other. */
static struct mx_image_form image(unsigned char *texels, unsigned kind, unsigned type, unsigned bits,
                                  unsigned texels_of) {
  static const uint32_t sizes[] = {1, 2, 3, 7, 16, 31, 64, 90};
  struct mx_image_form f = {.kind = (uint8_t)kind,
                            .type = (uint8_t)type,
                            .bits = (uint8_t)bits,
                            .channels = (uint8_t)(1 << draw() % 3),
                            .layers = mx__image_is_layered(kind) ? 1 + draw() % 4 : 1};
  const bool cube = mx__image_is_cube(kind);
  f.texel = (uint8_t)(f.bits / 8 * f.channels);
  uint32_t w = sizes[draw() % 8], h = mx__image_axes(kind) < 2 ? 1 : sizes[draw() % 8], d = sizes[draw() % 5];
  if (cube) h = w;
  f.levels = (uint8_t)(w >= 32 ? 1 + draw() % 5 : 1);
  size_t at = 0;
  for (unsigned k = 0; k < f.levels; k++) {
    struct mx_texels *t = &f.level[k];
    *t = (struct mx_texels){.bytes = texels + at, .w = w >> k, .h = h >> k ? h >> k : 1};
    t->d = kind == MX_ARRAY_3D ? (d >> k ? d >> k : 1) : f.layers * (cube ? 6 : 1);
    t->row = (size_t)t->w * f.texel + 16 * (draw() % 2);
    t->slice = t->row * t->h + 16 * (draw() % 2);
    at += t->slice * t->d;
  }
  for (size_t k = 0; k < at / 4 + 4; k++) {
    const uint32_t v = type != MX_TEXEL_FLOAT ? draw()
                       : bits == 32           ? texel(texels_of)
                                              : draw() & ~(texels_of == 1 ? 0u : 0x40004000u);
    memcpy(texels + 4 * k, &v, 4);
  }
  return f;
}
static struct mx_sampler_form sampler(void) {
  struct mx_sampler_form s = {.linear = draw() % 4 != 0,
                              .mip_linear = draw() & 1,
                              .normalized_coords = draw() & 1,
                              .normalized_read = draw() % 4 != 0,
                              .least = 0,
                              .most = 4096};
  for (unsigned k = 0; k < 3; k++) s.address[k] = (uint8_t)(draw() % 4);
  for (unsigned k = 0; k < 4; k++) s.border[k] = draw() % 4 ? bits_of((float)(draw() % 100) / 64) : draw();
  return s;
}

static void like_single_ones(void **unused) {
  (void)unused;
  static unsigned char texels[4 << 20];
  static const struct {
    uint8_t type, bits;
  } formats[] = {{MX_TEXEL_FLOAT, 32}, {MX_TEXEL_FLOAT, 16},  {MX_TEXEL_UNSIGNED, 8}, {MX_TEXEL_UNSIGNED, 16},
                 {MX_TEXEL_SIGNED, 8}, {MX_TEXEL_SIGNED, 16}, {MX_TEXEL_SIGNED, 32},  {MX_TEXEL_UNSIGNED, 32}};
  unsigned done[7][8] = {{0}}, odd_ones = 0, usual = 0;
  for (unsigned turn = 0; turn < 6000; turn++) {
    const unsigned kind = draw() % 7, format = turn % 3 ? draw() % 8 : draw() % 2, of = draw() % 6;
    const struct mx_image_form f = image(texels, kind, formats[format].type, formats[format].bits, of);
    struct mx_sampler_form s = sampler();
    const bool cube = mx__image_is_cube(kind);
    const unsigned axes = cube ? 3 : mx__image_axes(kind), lanes = turn & 1 ? 32 : 64;
    struct mx_samples at = {.whole = !cube && draw() % 8 == 0};
    uint32_t x[3][MX_MAX_LANES], layer[MX_MAX_LANES], result[4][MX_MAX_LANES], one[4];
    int32_t lod[MX_MAX_LANES];
    const bool levels = draw() & 1, same = draw() & 1;
    const uint64_t mask =
        (draw() & 1 ? UINT64_MAX : (uint64_t)draw() << 32 | draw()) & (lanes == 32 ? UINT32_MAX : UINT64_MAX);
    for (unsigned l = 0; l < MX_MAX_LANES; l++) {
      for (unsigned k = 0; k < 3; k++) {
        const uint32_t size = k == 0 ? f.level[0].w : k == 1 ? f.level[0].h : f.level[0].d;
        x[k][l] = at.whole ? (uint32_t)((int32_t)(draw() % (3 * size)) - (int32_t)size)
                  : cube   ? coordinate(true, 1)
                           : coordinate(s.normalized_coords, size);
        if (at.whole && draw() % 16 == 0) x[k][l] = draw();
      }
      layer[l] = draw() % 8 ? draw() % (f.layers + 1) : draw();
      lod[l] = l && same ? lod[0] : (int32_t)(draw() % (256u * f.levels));
    }
    if (draw() % 3 == 0) { /* texels of rows of 8 to 64, side by side, from somewhere in the image or before it on */
      const unsigned row = 8u << draw() % 4, straight = draw() % 4;
      const float from = (float)(int32_t)(draw() % 40) - 10 + (float)(draw() % 4) / 4;
      for (unsigned l = 0; l < MX_MAX_LANES; l++) {
        const float texels_on = from + (float)(l % row),
                    place = texels_on / (s.normalized_coords ? (float)f.level[0].w : 1);
        x[0][l] = at.whole ? (uint32_t)(int32_t)texels_on : bits_of(place);
        if (straight) x[1][l] = x[1][l / row * row];
        x[2][l] = x[2][l / row * row], layer[l] = layer[l / row * row];
      }
    }
    const bool over = draw() & 1; /* results go to where coordinates are */
    if (levels) at.lod = lod;
    for (unsigned k = 0; k < 4; k++) {
      const struct mx_level *level = mx__level(names[k]);
      uint32_t *out[4], own[4][MX_MAX_LANES];
      uint64_t odd;
      for (unsigned c = 0; c < 4; c++) {
        memcpy(own[c], c < 3 ? x[c] : layer, sizeof own[c]);
        out[c] = over ? own[(c + turn) % 4] : result[c];
      }
      for (unsigned c = 0; c < axes; c++) at.x[c] = own[c];
      if (mx__image_is_layered(kind)) at.layer = own[3];
      if (!level || !mask || !level->sample(&f, &s, &at, lanes, mask, out, &odd)) continue;
      for (unsigned l = 0; l < lanes; l++) {
        if (!(mask >> l & 1)) continue;
        odd_ones += odd >> l & 1, usual++;
        for (unsigned c = 0; c < axes && odd >> l & 1; c++) assert_int_equal(at.x[c][l], x[c][l]);
        if (odd >> l & 1 && at.layer) assert_int_equal(at.layer[l], layer[l]);
        if (odd >> l & 1) continue;
        struct mx_sample single = {.whole = at.whole};
        for (unsigned c = 0; c < axes; c++) single.x[c] = x[c][l];
        if (at.layer) single.layer = layer[l];
        if (levels) single.lod = lod[l];
        mx__texture_sample(&f, &s, &single, one);
        for (unsigned c = 0; c < 4; c++)
          if (out[c][l] != one[c])
            fail_msg("%s, turn %u, kind %u, %u bits of type %u, %s, lane %u, channel %u: %08x, alone %08x", names[k],
                     turn, kind, f.bits, f.type, s.linear ? "linear" : "point", l, c, out[c][l], one[c]);
        done[kind][format]++;
      }
      if (formats[format].type != MX_TEXEL_FLOAT && !cube) assert_int_equal(odd & mask, 0);
    }
  }
  for (unsigned kind = 0; kind < 7; kind++)
    for (unsigned format = 0; format < 8; format++) assert_true(done[kind][format] > 1000);
  assert_true(odd_ones < usual / 4);
}
/* Numbers near one another, in any kind of image, leave nothing to be done one by one. */
static void usual_floats(void **unused) {
  (void)unused;
  static unsigned char texels[4 << 20];
  const struct mx_level *level = mx__level(NULL);
  for (unsigned turn = 0; turn < 500; turn++) {
    const unsigned kind = draw() % 5;
    struct mx_image_form f = image(texels, kind, MX_TEXEL_FLOAT, 32, 3);
    struct mx_sampler_form s = {.linear = 1, .mip_linear = 1, .normalized_coords = 1, .normalized_read = 1};
    for (size_t k = 0; k < sizeof texels / 4; k++) {
      const uint32_t v = draw() % 8 ? bits_of(1 + (float)(draw() % 100)) : 0;
      memcpy(texels + 4 * k, &v, 4);
      if (k > 4096) break;
    }
    for (unsigned k = 0; k < f.levels; k++)
      f.level[k].w = f.level[k].h = 4, f.level[k].d = 2, f.level[k].bytes = texels;
    for (unsigned k = 0; k < f.levels; k++) f.level[k].row = 4u * f.texel, f.level[k].slice = 16u * f.texel;
    if (mx__image_axes(kind) == 1)
      for (unsigned k = 0; k < f.levels; k++) f.level[k].h = 1;
    if (kind != MX_ARRAY_3D) f.layers = 2;
    for (unsigned k = 0; k < 3; k++) s.address[k] = (uint8_t)(draw() % 3);
    uint32_t x[3][MX_MAX_LANES], layer[MX_MAX_LANES] = {0}, result[4][MX_MAX_LANES];
    int32_t lod[MX_MAX_LANES];
    for (unsigned l = 0; l < MX_MAX_LANES; l++)
      for (unsigned k = 0; k < 3; k++) x[k][l] = coordinate(true, 4), lod[l] = (int32_t)(draw() % (256u * f.levels));
    struct mx_samples at = {.x = {x[0], x[1], x[2]}, .layer = layer, .lod = lod};
    uint32_t *const out[4] = {result[0], result[1], result[2], result[3]};
    uint64_t odd;
    assert_true(level->sample(&f, &s, &at, 64, UINT64_MAX, out, &odd));
    assert_int_equal(odd, 0);
  }
}
/* Lanes whose texels are one behind the other, of which only lane 0's are found: from every place about the image's
 * edges on, in each mode, and with one lane that is elsewhere. */
static void rows(void **unused) {
  (void)unused;
  enum { WIDTH = 128, STEPS = 8 };
  static uint32_t texels[2 * WIDTH];
  struct mx_image_form f = {
      .kind = MX_ARRAY_2D, .type = MX_TEXEL_FLOAT, .bits = 32, .channels = 1, .levels = 1, .texel = 4, .layers = 1};
  f.level[0] = (struct mx_texels){
      .bytes = (unsigned char *)texels, .w = WIDTH, .h = 2, .d = 1, .row = 4 * WIDTH, .slice = 8 * WIDTH};
  for (unsigned k = 0; k < 2 * WIDTH; k++) texels[k] = bits_of(1 + (float)(draw() % 100));
  for (unsigned turn = 0; turn < 16 * (WIDTH + 8) * STEPS; turn++) {
    const unsigned lanes = turn & 1 ? 32 : 64, mode = turn / 2 % 4;
    const float from = (float)(turn / 16) / STEPS - 4;
    struct mx_sampler_form s = {.linear = turn & 8, .normalized_coords = draw() & 1, .border = {bits_of(3)}};
    s.address[0] = s.address[1] = (uint8_t)mode;
    uint32_t x[2][MX_MAX_LANES], result[4][MX_MAX_LANES], one[4];
    for (unsigned l = 0; l < lanes; l++) {
      x[0][l] = bits_of((from + (float)l) / (s.normalized_coords ? WIDTH : 1));
      x[1][l] = bits_of(s.normalized_coords ? 0.4f : 0.8f);
    }
    uint32_t *const other = &x[0][draw() % lanes];
    switch (draw() % 8) {
    case 0: *other = draw(); break;
    case 1: *other = 0x7FC00000; break;
    case 2: *other += 1; break;
    case 3: *other = bits_of((from + 2) / (s.normalized_coords ? WIDTH : 1)); break;
    default: break;
    }
    uint32_t *const out[4] = {result[0], result[1], result[2], result[3]};
    for (unsigned k = 0; k < 4; k++) {
      struct mx_samples at = {.x = {x[0], x[1]}};
      const struct mx_level *level = mx__level(names[k]);
      uint64_t odd;
      if (!level) continue;
      assert_true(level->sample(&f, &s, &at, lanes, UINT64_MAX >> (64 - lanes), out, &odd));
      assert_int_equal(odd, 0);
      for (unsigned l = 0; l < lanes; l++) {
        const struct mx_sample single = {.x = {x[0][l], x[1][l]}};
        mx__texture_sample(&f, &s, &single, one);
        if (result[0][l] != one[0])
          fail_msg("%s, %s, mode %u%s, from %g on, lane %u at %08x: %08x, alone %08x", names[k],
                   s.linear ? "linear" : "point", mode, s.normalized_coords ? ", normalized" : "", (double)from, l,
                   x[0][l], result[0][l], one[0]);
      }
    }
  }
}
/* What they leave to the others. */
static void others(void **unused) {
  (void)unused;
  unsigned char texels[64] = {0};
  struct mx_image_form f = {
      .kind = MX_ARRAY_2D, .type = MX_TEXEL_FLOAT, .bits = 32, .channels = 1, .levels = 1, .texel = 4, .layers = 1};
  f.level[0] = (struct mx_texels){.bytes = texels, .w = 4, .h = 4, .d = 1, .row = 16, .slice = 64};
  struct mx_sampler_form s = {.linear = 1, .normalized_read = 1};
  uint32_t x[MX_MAX_LANES] = {0}, result[4][MX_MAX_LANES], *const out[4] = {result[0], result[1], result[2], result[3]};
  uint64_t odd;
  struct mx_samples at = {.x = {x, x, x}};
  const struct mx_level *level = mx__level(NULL);
  assert_true(level->sample(&f, &s, &at, 64, 1, out, &odd));
  s.srgb = 1;
  assert_false(level->sample(&f, &s, &at, 64, 1, out, &odd));
  s.srgb = 0, s.normalized_coords = 1, at.whole = true;
  assert_false(level->sample(&f, &s, &at, 64, 1, out, &odd)); /* wraps */
  at.whole = false, s.seamless = 1;
  assert_true(level->sample(&f, &s, &at, 64, 1, out, &odd));
  f.kind = MX_ARRAY_CUBE;
  assert_false(level->sample(&f, &s, &at, 64, 1, out, &odd));
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(like_single_ones), cmocka_unit_test(usual_floats),
                                   cmocka_unit_test(rows), cmocka_unit_test(others)};
  return cmocka_run_group_tests(all, NULL, NULL);
}

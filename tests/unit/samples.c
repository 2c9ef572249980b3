/* Samples of all lanes at once (vm/exec/lanes/samples.c) against those of one (vm/texture/sample.c), bit for bit, at
 * every CPU level: images of random texels with infinities, NaNs, subnormals and zeros among them, all address modes,
 * coordinates in the image, between texels, far outside, and no numbers. */
#include "vm/exec/exec.h"
#include "vm/texture/texture.h"

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

static void like_single_ones(void **unused) {
  (void)unused;
  static unsigned char texels[65536 * 16];
  unsigned done = 0;
  for (unsigned turn = 0; turn < 400; turn++) {
    static const uint32_t sizes[] = {1, 2, 3, 7, 16, 61, 64, 250};
    const bool floats = draw() & 1;
    struct mx_image_form f = {.kind = MX_ARRAY_2D,
                              .type = floats ? MX_TEXEL_FLOAT : MX_TEXEL_UNSIGNED,
                              .bits = floats ? 32 : 8,
                              .channels = (uint8_t)(1 << draw() % 3),
                              .levels = 1};
    const uint32_t w = sizes[draw() % 8], h = sizes[draw() % 8], kind = draw() % 5;
    f.texel = (uint8_t)(f.bits / 8 * f.channels);
    f.level[0] =
        (struct mx_texels){.bytes = texels, .w = w, .h = h, .d = 1, .row = (size_t)w * f.texel + 16 * (draw() % 2)};
    for (size_t k = 0; k < f.level[0].row * h / 4 + 4; k++) {
      const uint32_t v = floats ? texel(kind) : draw();
      memcpy(texels + 4 * k, &v, 4);
    }
    struct mx_sampler_form s = {.linear = 1, .normalized_coords = draw() & 1, .normalized_read = 1};
    for (unsigned k = 0; k < 2; k++)
      s.address[k] = (uint8_t[]){MX_ADDRESS_WRAP, MX_ADDRESS_CLAMP, MX_ADDRESS_MIRROR}[draw() % 3];
    uint32_t x[MX_MAX_LANES], y[MX_MAX_LANES], out[4][MX_MAX_LANES], one[4];
    for (unsigned l = 0; l < MX_MAX_LANES; l++)
      x[l] = coordinate(s.normalized_coords, w), y[l] = coordinate(s.normalized_coords, h);
    for (unsigned k = 0; k < 4; k++) {
      const struct mx_level *level = mx__level(names[k]);
      const unsigned lanes = turn & 1 ? 32 : 64;
      uint64_t odd;
      if (!level) continue;
      assert_true(level->sample(&f, &s, x, y, lanes, out, &odd));
      for (unsigned l = 0; l < lanes; l++) {
        if (odd >> l & 1) continue;
        const struct mx_sample at = {.x = {x[l], y[l]}};
        mx__texture_sample(&f, &s, &at, one);
        for (unsigned c = 0; c < 4; c++)
          if (out[c][l] != one[c])
            fail_msg("%s, turn %u, lane %u, channel %u: %08x, alone %08x", names[k], turn, l, c, out[c][l], one[c]);
        done++;
      }
      if (floats && kind == 0) assert_int_equal(odd, 0);
    }
  }
  assert_true(done > 10000);
}
/* What they leave to the others. */
static void others(void **unused) {
  (void)unused;
  unsigned char texels[64] = {0};
  struct mx_image_form f = {
      .kind = MX_ARRAY_2D, .type = MX_TEXEL_FLOAT, .bits = 32, .channels = 1, .levels = 1, .texel = 4};
  f.level[0] = (struct mx_texels){.bytes = texels, .w = 4, .h = 4, .d = 1, .row = 16};
  const struct mx_sampler_form linear = {.linear = 1, .normalized_read = 1}, point = {.normalized_read = 1};
  struct mx_sampler_form border = linear;
  border.address[1] = MX_ADDRESS_BORDER;
  uint32_t x[MX_MAX_LANES] = {0}, out[4][MX_MAX_LANES];
  uint64_t odd;
  const struct mx_level *level = mx__level(NULL);
  assert_true(level->sample(&f, &linear, x, x, 64, out, &odd));
  assert_false(level->sample(&f, &point, x, x, 64, out, &odd));
  assert_false(level->sample(&f, &border, x, x, 64, out, &odd));
  f.kind = MX_ARRAY_3D;
  assert_false(level->sample(&f, &linear, x, x, 64, out, &odd));
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(like_single_ones), cmocka_unit_test(others)};
  return cmocka_run_group_tests(all, NULL, NULL);
}

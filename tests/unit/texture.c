/* Images by the C API: what is refused and with which words, copies of boxes, objects that have ended. */
#include "mx/text.h"
#include "mx/texture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static mx_device *new_device(void) {
  mx_device *d;
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 1;
  o.jit = MX_JIT_OFF;
  assert_int_equal(mx_device_create(&o, &d), MX_OK);
  return d;
}
/* The call failed so, with these words. */
static void assert_said(mx_device *d, mx_status got, mx_status want, const char *words) {
  char *text = mx_last_error_text(d);
  if (got != want || !text || !strstr(text, words))
    fail_msg("status %d, expected %d; '%s' in '%s'", got, want, words, text ? text : "");
  mx_text_free(text);
}

static void wrong_arrays(void **state) {
  (void)state;
  mx_device *d = new_device();
  static const struct {
    mx_array_desc a;
    const char *words;
  } rows[] = {
      {{sizeof(mx_array_desc), MX_ARRAY_2D, 3, 8, 4, 4, 4, 0, 0, 0}, "no such type"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 12, 4, 4, 4, 0, 0, 0}, "8, 16 or 32 bits"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 64, 1, 4, 4, 0, 0, 0}, "8, 16 or 32 bits"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_FLOAT, 8, 4, 4, 4, 0, 0, 0}, "floats have 16 or 32 bits"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 3, 4, 4, 0, 0, 0}, "1, 2 or 4 channels"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 0, 4, 4, 0, 0, 0}, "1, 2 or 4 channels"},
      {{sizeof(mx_array_desc), 9, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 0, 0}, "no such kind"},
      {{sizeof(mx_array_desc), MX_ARRAY_1D, MX_TEXEL_UNSIGNED, 8, 4, 0, 0, 0, 0, 0}, "width is 0"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 4, 0, 0, 0, 0}, "height is 0"},
      {{sizeof(mx_array_desc), MX_ARRAY_3D, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 0, 0}, "depth is 0"},
      {{sizeof(mx_array_desc), MX_ARRAY_1D, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 0, 0}, "has no height"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 4, 0, 0}, "have a depth"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 2, 0}, "have layers"},
      {{sizeof(mx_array_desc), MX_ARRAY_CUBE, MX_TEXEL_UNSIGNED, 8, 4, 4, 5, 0, 0, 0}, "square"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 131073, 4, 0, 0, 0}, "larger than"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D_LAYERED, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 2049, 0}, "2048 layers"},
      {{sizeof(mx_array_desc), MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 0, 4}, "more levels"},
      {{3, MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 0, 0}, "struct_size"},
      {{sizeof(mx_array_desc) + 8, MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 4, 4, 0, 0, 0}, "struct_size"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    mx_array *a = (mx_array *)d;
    assert_said(d, mx_array_create(d, &rows[k].a, &a), MX_INVALID_VALUE, rows[k].words);
    assert_null(a);
  }
  mx_array *a;
  assert_said(d, mx_array_create(d, NULL, &a), MX_INVALID_VALUE, "no description");
  assert_said(d, mx_array_create(d, &rows[0].a, NULL), MX_INVALID_VALUE, "no place");
  const mx_array_desc huge = {sizeof huge, MX_ARRAY_3D, MX_TEXEL_FLOAT, 32, 4, 131072, 131072, 16384, 0, 0};
  assert_said(d, mx_array_create(d, &huge, &a), MX_OUT_OF_DEVICE_MEMORY, "out of memory");
  mx_device_destroy(d);
}

static mx_array *new_array(mx_device *d, mx_array_kind kind, mx_texel_type type, uint32_t bits, uint32_t channels,
                           uint32_t size, uint32_t levels) {
  mx_array_desc desc = {
      sizeof desc, kind,  type, bits, channels, size, kind == MX_ARRAY_1D ? 0 : size, kind == MX_ARRAY_3D ? size : 0,
      0,           levels};
  mx_array *a;
  assert_int_equal(mx_array_create(d, &desc, &a), MX_OK);
  return a;
}

static void wrong_textures(void **state) {
  (void)state;
  mx_device *d = new_device(), *other = new_device();
  mx_array *bytes = new_array(d, MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 8, 0),
           *words = new_array(d, MX_ARRAY_2D, MX_TEXEL_SIGNED, 32, 1, 8, 0);
  mx_array *levels = new_array(d, MX_ARRAY_2D, MX_TEXEL_FLOAT, 32, 1, 8, 4),
           *cube = new_array(d, MX_ARRAY_CUBE, MX_TEXEL_FLOAT, 32, 1, 8, 0);
  mx_array *foreign = new_array(other, MX_ARRAY_2D, MX_TEXEL_FLOAT, 32, 1, 8, 0);
  mx_addr memory;
  assert_int_equal(mx_alloc(d, 4096, &memory), MX_OK);
  mx_texture number;
#define WRONG(words_, ...) \
  do { \
    mx_texture_desc t = MX_TEXTURE_DESC_INIT; \
    __VA_ARGS__; \
    assert_said(d, mx_texture_create(d, &t, &number), MX_INVALID_VALUE, words_); \
    assert_int_equal(number, 0); \
  } while (0)
  WRONG("expected an array or an address", (void)t);
  WRONG("expected an array or an address", t.array = bytes, t.address = memory);
  WRONG("another device", t.array = foreign);
  WRONG("no such address mode", t.array = bytes, t.address_mode[1] = 4);
  WRONG("no such filter", t.array = bytes, t.filter = 2);
  WRONG("no such filter", t.array = bytes, t.mip_filter = 7);
  WRONG("needs texels that are read as floats", t.array = bytes, t.filter = MX_FILTER_LINEAR);
  WRONG("needs texels that are read as floats", t.array = words, t.filter = MX_FILTER_LINEAR);
  WRONG("32 bits cannot be read as normalised", t.array = words, t.normalized_read = true);
  WRONG("sRGB needs", t.array = bytes, t.srgb = true);
  WRONG("sRGB needs", t.array = levels, t.srgb = t.normalized_read = t.normalized_coords = true);
  WRONG("levels need normalised", t.array = levels);
  WRONG("cubes need normalised", t.array = cube);
  WRONG("anisotropy", t.array = bytes, t.max_anisotropy = 17);
  WRONG("multiple of 256", t.address = memory + 16, t.width = 4);
  WRONG("multiple of 32", t.address = memory, t.width = 4, t.height = 4, t.pitch = 20);
  WRONG("at least the", t.address = memory, t.width = 16, t.height = 4, t.pitch = 32);
  WRONG("no linear filter", t.address = memory, t.width = 4, t.filter = MX_FILTER_LINEAR, t.normalized_read = true);
  WRONG("no linear filter, no normalised", t.address = memory, t.width = 4, t.normalized_coords = true);
  WRONG("0 x 0 texels", t.address = memory);
  WRONG("1, 2 or 4 channels", t.address = memory, t.width = 4, t.channels = 3);
  WRONG("struct_size", t.array = bytes, t.struct_size = 4);
  mx_texture_desc t = MX_TEXTURE_DESC_INIT;
  t.address = memory, t.width = 1025;
  assert_said(d, mx_texture_create(d, &t, &number), MX_INVALID_ADDRESS, "4100 bytes");
  assert_said(d, mx_texture_create(d, &t, NULL), MX_INVALID_VALUE, "no place");
  mx_surface surface;
  assert_said(d, mx_surface_create(levels, 4, &surface), MX_INVALID_VALUE, "level 4 of an array that has 4");
  assert_int_equal(mx_surface_create(levels, 3, &surface), MX_OK);
  assert_said(d, mx_texture_destroy(d, surface), MX_INVALID_VALUE, "it is a surface, not a texture");
  assert_int_equal(mx_surface_destroy(d, surface), MX_OK);
  assert_said(d, mx_surface_destroy(d, surface), MX_INVALID_VALUE, "has been destroyed");
  mx_device_destroy(d);
  mx_device_destroy(other);
}

static void wrong_samplers(void **state) {
  (void)state;
  mx_device *d = new_device();
  mx_array *bytes = new_array(d, MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 4, 8, 0);
  mx_texture_desc t = MX_TEXTURE_DESC_INIT;
  mx_sampler s;
  mx_texture texture;
  t.address_mode[2] = 4;
  assert_said(d, mx_sampler_create(d, &t, &s), MX_INVALID_VALUE, "mx_sampler_create: there is no such address mode");
  t = (mx_texture_desc)MX_TEXTURE_DESC_INIT, t.max_anisotropy = 17;
  assert_said(d, mx_sampler_create(d, &t, &s), MX_INVALID_VALUE, "anisotropy");
  t = (mx_texture_desc)MX_TEXTURE_DESC_INIT, t.filter = 2;
  assert_said(d, mx_sampler_create(d, &t, &s), MX_INVALID_VALUE, "no such filter");
  t = (mx_texture_desc)MX_TEXTURE_DESC_INIT, t.array = bytes;
  assert_said(d, mx_sampler_create(d, &t, &s), MX_INVALID_VALUE, "a sampler has no texels");
  assert_int_equal(mx_texture_create(d, &t, &texture), MX_OK);
  t.array = NULL;
  assert_said(d, mx_sampler_create(d, NULL, &s), MX_INVALID_VALUE, "no description");
  assert_said(d, mx_sampler_create(d, &t, NULL), MX_INVALID_VALUE, "no place for the sampler");
  assert_int_equal(mx_sampler_create(d, &t, &s), MX_OK);
  assert_said(d, mx_texture_destroy(d, s), MX_INVALID_VALUE, "it is a sampler, not a texture");
  assert_said(d, mx_surface_destroy(d, s), MX_INVALID_VALUE, "it is a sampler, not a surface");
  assert_said(d, mx_sampler_destroy(d, texture), MX_INVALID_VALUE, "it is a texture, not a sampler");
  assert_int_equal(mx_sampler_destroy(d, s), MX_OK);
  assert_said(d, mx_sampler_destroy(d, s), MX_INVALID_VALUE, "has been destroyed");
  mx_device_destroy(d);
}

static void boxes(void **state) {
  (void)state;
  mx_device *d = new_device();
  mx_array *a = new_array(d, MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 1, 4, 0),
           *b = new_array(d, MX_ARRAY_2D, MX_TEXEL_UNSIGNED, 8, 1, 4, 0),
           *c = new_array(d, MX_ARRAY_2D, MX_TEXEL_SIGNED, 8, 1, 4, 0);
  unsigned char in[16], out[16] = {0};
  for (unsigned k = 0; k < 16; k++) in[k] = (unsigned char)k;
  assert_int_equal(mx_array_copy_in(a, NULL, in, 0, 0), MX_OK);
  mx_texel_box box = MX_TEXEL_BOX_INIT;
  box.x = 1, box.y = 2, box.width = 2;
  assert_int_equal(mx_array_copy_out(a, &box, out, 3, 0), MX_OK); /* two rows, three bytes apart */
  assert_int_equal(out[0], 9), assert_int_equal(out[1], 10), assert_int_equal(out[2], 0), assert_int_equal(out[3], 13),
      assert_int_equal(out[4], 14);
  mx_texel_box to = MX_TEXEL_BOX_INIT;
  assert_int_equal(mx_array_copy(b, &to, a, &box), MX_OK);
  assert_int_equal(mx_array_copy_out(b, NULL, out, 0, 0), MX_OK);
  assert_int_equal(out[0], 9), assert_int_equal(out[1], 10), assert_int_equal(out[2], 0), assert_int_equal(out[4], 13),
      assert_int_equal(out[5], 14);
  to.y = 1; /* within one array, over itself */
  box = (mx_texel_box)MX_TEXEL_BOX_INIT, box.height = 3;
  assert_int_equal(mx_array_copy(a, &to, a, &box), MX_OK);
  assert_int_equal(mx_array_copy_out(a, NULL, out, 0, 0), MX_OK);
  assert_memory_equal(out, in, 4);
  assert_memory_equal(out + 4, in, 12);
  mx_addr memory;
  assert_int_equal(mx_alloc(d, 64, &memory), MX_OK);
  assert_int_equal(mx_array_copy_to_memory(a, NULL, memory, 16, 0), MX_OK);
  assert_int_equal(mx_array_copy_from_memory(b, NULL, memory, 16, 0), MX_OK);
  assert_int_equal(mx_array_copy_out(b, NULL, out, 0, 0), MX_OK);
  assert_memory_equal(out + 4, in, 12);
  /* wrong ones */
  box = (mx_texel_box)MX_TEXEL_BOX_INIT, box.x = 3, box.width = 2;
  assert_said(d, mx_array_copy_out(a, &box, out, 0, 0), MX_INVALID_VALUE, "level 0 has 4 x 4 x 1");
  box.x = 5, box.width = 0;
  assert_said(d, mx_array_copy_out(a, &box, out, 0, 0), MX_INVALID_VALUE, "from (5, 0, 0)");
  box = (mx_texel_box)MX_TEXEL_BOX_INIT, box.level = 1;
  assert_said(d, mx_array_copy_in(a, &box, in, 0, 0), MX_INVALID_VALUE, "level 1 of an array that has 1");
  box.struct_size = 2;
  assert_said(d, mx_array_copy_in(a, &box, in, 0, 0), MX_INVALID_VALUE, "struct_size");
  assert_said(d, mx_array_copy_in(a, NULL, in, 3, 0), MX_INVALID_VALUE, "rows of 4 bytes that begin 3");
  assert_said(d, mx_array_copy_in(a, NULL, NULL, 0, 0), MX_INVALID_VALUE, "no memory");
  assert_said(d, mx_array_copy_to_memory(a, NULL, memory, 32, 0), MX_INVALID_ADDRESS, "100 bytes");
  assert_said(d, mx_array_copy(a, NULL, c, NULL), MX_INVALID_VALUE, "two formats");
  mx_device_destroy(d);
}

/* What mx_texture_sample says of an object, once it is gone. */
static void ended(void **state) {
  (void)state;
  mx_device *d = new_device();
  mx_array *a = new_array(d, MX_ARRAY_1D, MX_TEXEL_FLOAT, 32, 1, 4, 0);
  const float texels[] = {1, 2, 3, 4}, at = 2.5f;
  assert_int_equal(mx_array_copy_in(a, NULL, texels, 0, 0), MX_OK);
  mx_addr memory;
  assert_int_equal(mx_alloc(d, 256, &memory), MX_OK);
  mx_texture_desc t = MX_TEXTURE_DESC_INIT, l = MX_TEXTURE_DESC_INIT;
  t.array = a;
  l.address = memory, l.width = 16;
  mx_texture of_array, of_memory, first;
  assert_int_equal(mx_texture_create(d, &t, &first), MX_OK);
  assert_int_equal(mx_texture_create(d, &t, &of_array), MX_OK);
  assert_int_equal(mx_texture_create(d, &l, &of_memory), MX_OK);
  uint32_t out[4];
  assert_int_equal(mx_texture_sample(d, of_array, &at, 1, 0, out), MX_OK);
  assert_int_equal(out[0], 0x40400000);
  assert_int_equal(out[1], 0);
  assert_said(d, mx_texture_sample(d, of_array, &at, 2, 0, out), MX_INVALID_VALUE, "2 coordinates, expected 1");
  assert_int_equal(mx_texture_destroy(d, first), MX_OK);
  assert_said(d, mx_texture_sample(d, first, &at, 1, 0, out), MX_INVALID_VALUE, "has been destroyed");
  assert_int_equal(mx_free(d, memory), MX_OK);
  assert_said(d, mx_texture_sample(d, of_memory, &at, 1, 0, out), MX_INVALID_VALUE, "its memory has been freed");
  assert_int_equal(mx_array_destroy(a), MX_OK);
  assert_said(d, mx_texture_sample(d, of_array, &at, 1, 0, out), MX_INVALID_VALUE, "its array has been destroyed");
  assert_int_equal(mx_device_reset(d), MX_OK);
  assert_said(d, mx_texture_sample(d, of_array, &at, 1, 0, out), MX_INVALID_VALUE, "the device has been reset");
  mx_device_destroy(d);
}

/* Numbers are not given twice, also when cells are. */
static void many(void **state) {
  (void)state;
  mx_device *d = new_device();
  mx_array *a = new_array(d, MX_ARRAY_1D, MX_TEXEL_FLOAT, 32, 1, 4, 0);
  mx_texture_desc t = MX_TEXTURE_DESC_INIT, got = {.struct_size = sizeof got};
  t.array = a;
  t.border[2] = 5;
  mx_texture first = 0, last = 0;
  for (unsigned k = 0; k < 4500; k++) {
    mx_texture n;
    assert_int_equal(mx_texture_create(d, &t, &n), MX_OK);
    assert_true(n != last && n != first);
    if (!first) first = n;
    last = n;
    assert_int_equal(mx_texture_get_desc(d, n, &got), MX_OK);
    assert_true(got.border[2] == 5 && got.array == a && got.bits == 32);
    assert_int_equal(mx_texture_destroy(d, n), MX_OK);
  }
  assert_said(d, mx_texture_destroy(d, first), MX_INVALID_VALUE, "has been destroyed");
  mx_device_destroy(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_arrays),   cmocka_unit_test(wrong_textures),
                                     cmocka_unit_test(wrong_samplers), cmocka_unit_test(boxes),
                                     cmocka_unit_test(ended),          cmocka_unit_test(many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

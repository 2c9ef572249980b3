/* Wrong uses of images in kernels: handles that are none, that are of other things or of what has ended, geometries and
 * widths that the object has not, places outside of surfaces. Each is one trap, of the lane that does it, whose words
 * say what is wrong, and the same ones from the interpreter and from compiled code. There are at least 60. What the C
 * API refuses is in texture.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models.h"

/* What the kernel is given as %t; IN_LANE: in lane 5 alone, the others have the texture of two dimensions. */
enum handle {
  ZERO,
  NUMBER,
  MEMORY,
  ENDED_TEXTURE,
  ENDED_SURFACE,
  ENDED_SAMPLER,
  NO_ARRAY,
  NO_ARRAY_SURFACE,
  NO_MEMORY,
  SAMPLER,
  TEXTURE, /* and one for each kind of array */
  SURFACE = TEXTURE + 7
};
#define TEX_OF(kind_) (TEXTURE + MX_ARRAY_##kind_)
#define SURF_OF(kind_) (SURFACE + MX_ARRAY_##kind_)

#define V4 "{%a, %b, %c, %d}"
#define SAMPLE_2D "tex.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}];"
#define BAD MX_TRAP_BAD_OBJECT
#define FAR_OUT MX_TRAP_OUTSIDE_SURFACE
static const struct {
  enum handle t;
  const char *does;
  mx_trap_kind kind;
  const char *words;
} uses[] = {
    /* no objects */
    {ZERO, SAMPLE_2D, BAD, "texture 0x0: 0 is no object"},
    {ZERO, "tex.level.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}], 0f00000000;", BAD, "0 is no object"},
    {ZERO, "tld4.r.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}];", BAD, "texture 0x0: 0 is no object"},
    {ZERO, "txq.width.b32 %a, [%t];", BAD, "texture 0x0: 0 is no object"},
    {ZERO, "suld.b.2d.b32.clamp %a, [%t, {0, 0}];", BAD, "surface 0x0: 0 is no object"},
    {ZERO, "sust.b.2d.b32.zero [%t, {0, 0}], 1;", BAD, "surface 0x0: 0 is no object"},
    {ZERO, "sust.p.2d.b32.zero [%t, {0, 0}], 1;", BAD, "surface 0x0: 0 is no object"},
    {ZERO, "sured.b.add.2d.u32.clamp [%t, {0, 0}], 1;", BAD, "surface 0x0: 0 is no object"},
    {ZERO, "suq.width.b32 %a, [%t];", BAD, "surface 0x0: 0 is no object"},
    {NUMBER, SAMPLE_2D, BAD, "texture 0x4d: it is the number of no object"},
    {NUMBER, "suld.b.2d.b32.clamp %a, [%t, {0, 0}];", BAD, "surface 0x4d: it is the number of no object"},
    {NUMBER, "txq.num_mipmap_levels.b32 %a, [%t];", BAD, "texture 0x4d: it is the number of no object"},
    {NUMBER, "suq.height.b32 %a, [%t];", BAD, "surface 0x4d: it is the number of no object"},
    {MEMORY, SAMPLE_2D, BAD, "it is the number of no object"},
    {MEMORY, "sust.b.2d.b32.clamp [%t, {0, 0}], 1;", BAD, "it is the number of no object"},
    /* what has ended */
    {ENDED_TEXTURE, SAMPLE_2D, BAD, "the object has been destroyed"},
    {ENDED_TEXTURE, "tld4.g.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}];", BAD,
     "the object has been destroyed"},
    {ENDED_TEXTURE, "txq.height.b32 %a, [%t];", BAD, "the object has been destroyed"},
    {ENDED_SURFACE, "suld.b.2d.b32.zero %a, [%t, {0, 0}];", BAD, "the object has been destroyed"},
    {ENDED_SURFACE, "suq.width.b32 %a, [%t];", BAD, "the object has been destroyed"},
    {ENDED_SAMPLER, "tex.2d.v4.u32.f32 " V4 ", [%image, %t, {0f00000000, 0f00000000}];", BAD,
     "the object has been destroyed"},
    {NO_ARRAY, SAMPLE_2D, BAD, "its array has been destroyed"},
    {NO_ARRAY, "txq.width.b32 %a, [%t];", BAD, "its array has been destroyed"},
    {NO_ARRAY_SURFACE, "sust.p.2d.b32.clamp [%t, {0, 0}], 1;", BAD, "its array has been destroyed"},
    {NO_MEMORY, "tex.1d.v4.u32.s32 " V4 ", [%t, {0}];", BAD, "its memory has been freed"},
    /* other things */
    {SURF_OF(2D), SAMPLE_2D, BAD, "it is a surface, not a texture"},
    {SURF_OF(2D), "tld4.b.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}];", BAD,
     "it is a surface, not a texture"},
    {SURF_OF(2D), "txq.width.b32 %a, [%t];", BAD, "it is a surface, not a texture"},
    {SURF_OF(2D), "tex.2d.v4.u32.f32 " V4 ", [%image, %t, {0f00000000, 0f00000000}];", BAD,
     "it is a surface, not a sampler"},
    {TEX_OF(2D), "suld.b.2d.b32.clamp %a, [%t, {0, 0}];", BAD, "it is a texture, not a surface"},
    {TEX_OF(2D), "sust.b.2d.b32.clamp [%t, {0, 0}], 1;", BAD, "it is a texture, not a surface"},
    {TEX_OF(2D), "sust.p.2d.b32.clamp [%t, {0, 0}], 1;", BAD, "it is a texture, not a surface"},
    {TEX_OF(2D), "sured.b.min.2d.u32.clamp [%t, {0, 0}], 1;", BAD, "it is a texture, not a surface"},
    {TEX_OF(2D), "suq.width.b32 %a, [%t];", BAD, "it is a texture, not a surface"},
    {TEX_OF(2D), "tex.2d.v4.u32.f32 " V4 ", [%image, %t, {0f00000000, 0f00000000}];", BAD,
     "it is a texture, not a sampler"},
    {SAMPLER, SAMPLE_2D, BAD, "it is a sampler, not a texture"},
    {SAMPLER, "suld.b.2d.b32.clamp %a, [%t, {0, 0}];", BAD, "it is a sampler, not a surface"},
    {SAMPLER, "txq.width.b32 %a, [%t];", BAD, "it is a sampler, not a texture"},
    {NUMBER, "tex.2d.v4.u32.f32 " V4 ", [%image, %t, {0f00000000, 0f00000000}];", BAD,
     "sampler 0x4d: it is the number of no object"},
    /* geometries */
    {TEX_OF(2D), "tex.1d.v4.u32.f32 " V4 ", [%t, {0f00000000}];", BAD,
     "the texture is two-dimensional, the instruction's geometry one-dimensional"},
    {TEX_OF(1D), SAMPLE_2D, BAD, "the texture is one-dimensional, the instruction's geometry two-dimensional"},
    {TEX_OF(2D), "tex.3d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000, 0f00000000, 0f00000000}];", BAD,
     "the texture is two-dimensional, the instruction's geometry three-dimensional"},
    {TEX_OF(1D), "tex.a1d.v4.u32.f32 " V4 ", [%t, {0, 0f00000000}];", BAD,
     "the texture is one-dimensional, the instruction's geometry layered one-dimensional"},
    {TEX_OF(3D), "tex.a2d.v4.u32.f32 " V4 ", [%t, {0, 0f00000000, 0f00000000, 0f00000000}];", BAD,
     "the texture is three-dimensional, the instruction's geometry layered two-dimensional"},
    {TEX_OF(CUBE_LAYERED), "tex.cube.v4.u32.f32 " V4 ", [%t, {0f3F800000, 0f00000000, 0f00000000, 0f00000000}];", BAD,
     "the texture is layered cube, the instruction's geometry cube"},
    {TEX_OF(CUBE), "tex.acube.v4.u32.f32 " V4 ", [%t, {0, 0f3F800000, 0f00000000, 0f00000000}];", BAD,
     "the texture is cube, the instruction's geometry layered cube"},
    {TEX_OF(2D_LAYERED), "tld4.a.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}];", BAD,
     "the texture is layered two-dimensional, the instruction's geometry two-dimensional"},
    {TEX_OF(3D), "tex.level.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}], 0f00000000;", BAD,
     "the texture is three-dimensional, the instruction's geometry two-dimensional"},
    {TEX_OF(CUBE),
     "tex.grad.2d.v4.u32.f32 " V4 ", [%t, {0f00000000, 0f00000000}], {0f00000000, 0f00000000}, {0f00000000, "
     "0f00000000};",
     BAD, "the texture is cube, the instruction's geometry two-dimensional"},
    {SURF_OF(1D), "suld.b.2d.b32.clamp %a, [%t, {0, 0}];", BAD,
     "the surface is one-dimensional, the instruction's geometry two-dimensional"},
    {SURF_OF(2D), "sust.b.1d.b32.clamp [%t, {0}], 1;", BAD,
     "the surface is two-dimensional, the instruction's geometry one-dimensional"},
    {SURF_OF(2D_LAYERED), "sust.p.3d.b32.zero [%t, {0, 0, 0, 0}], 1;", BAD,
     "the surface is layered two-dimensional, the instruction's geometry three-dimensional"},
    {SURF_OF(3D), "suld.b.a2d.b32.zero %a, [%t, {0, 0, 0, 0}];", BAD,
     "the surface is three-dimensional, the instruction's geometry layered two-dimensional"},
    {SURF_OF(2D), "suld.b.a1d.b32.zero %a, [%t, {0, 0}];", BAD,
     "the surface is two-dimensional, the instruction's geometry layered one-dimensional"},
    {SURF_OF(1D_LAYERED), "sured.b.add.2d.u32.zero [%t, {0, 0}], 1;", BAD,
     "the surface is layered one-dimensional, the instruction's geometry two-dimensional"},
    /* widths: texels have 4 bytes */
    {SURF_OF(2D), "suld.b.2d.v2.b32.clamp {%a, %b}, [%t, {0, 0}];", BAD,
     "an access of 8 bytes to a surface whose elements have 4"},
    {SURF_OF(2D), "sust.b.2d.v4.b32.zero [%t, {0, 0}], {1, 2, 3, 4};", BAD,
     "an access of 16 bytes to a surface whose elements have 4"},
    {SURF_OF(2D), "sured.b.add.2d.u64.clamp [%t, {0, 0}], %t;", BAD,
     "an access of 8 bytes to a surface whose elements have 4"},
    {SURF_OF(2D), "suld.b.2d.b32.trap %a, [%t, {2, 0}];", MX_TRAP_MISALIGNED,
     "byte 2 of a surface's row, in an access of 4 bytes"},
    {SURF_OF(3D), "sust.b.3d.b16.clamp [%t, {5, 0, 0, 0}], %h;", MX_TRAP_MISALIGNED,
     "byte 5 of a surface's row, in an access of 2 bytes"},
    {SURF_OF(1D), "sured.b.or.1d.b32.zero [%t, {1}], 1;", MX_TRAP_MISALIGNED,
     "byte 1 of a surface's row, in an access of 4 bytes"},
    /* outside: there are 4 texels of 4 bytes in a row, 4 rows, 4 slices or 2 layers */
    {SURF_OF(1D), "suld.b.1d.b32.trap %a, [%t, {16}];", FAR_OUT,
     "read at byte 16 of a row, row 0, slice or layer 0; the surface has 16 bytes in a row, 1 row, 1 slice or layer"},
    {SURF_OF(1D), "sust.b.1d.b32.trap [%t, {-4}], 1;", FAR_OUT, "write at byte -4 of a row, row 0"},
    {SURF_OF(1D), "sust.p.1d.b32.trap [%t, {4}], 1;", FAR_OUT, "write at byte 16 of a row, row 0"},
    {SURF_OF(1D), "suld.b.1d.b32.trap %a, [%t, {2147483644}];", FAR_OUT, "read at byte 2147483644 of a row"},
    {SURF_OF(2D), "suld.b.2d.b32.trap %a, [%t, {0, 4}];", FAR_OUT, "read at byte 0 of a row, row 4"},
    {SURF_OF(2D), "sust.b.2d.b32.trap [%t, {0, -1}], 1;", FAR_OUT, "write at byte 0 of a row, row -1"},
    {SURF_OF(2D), "sust.p.2d.b32.trap [%t, {-2147483648, 0}], 1;", FAR_OUT, "write at byte -8589934592 of a row"},
    {SURF_OF(2D), "sured.b.add.2d.u32.trap [%t, {16, 3}], 1;", FAR_OUT, "write at byte 16 of a row, row 3"},
    {SURF_OF(3D), "suld.b.3d.b32.trap %a, [%t, {0, 0, 4, 0}];", FAR_OUT,
     "slice or layer 4; the surface has 16 bytes in a row, 4 rows, 4 slices or layers"},
    {SURF_OF(3D), "sust.b.3d.b32.trap [%t, {0, 0, -1, 0}], 1;", FAR_OUT,
     "write at byte 0 of a row, row 0, slice or layer -1"},
    {SURF_OF(1D_LAYERED), "suld.b.a1d.b32.trap %a, [%t, {2, 0}];", FAR_OUT,
     "slice or layer 2; the surface has 16 bytes"},
    {SURF_OF(2D_LAYERED), "sust.b.a2d.b32.trap [%t, {-1, 0, 0, 0}], 1;", FAR_OUT, "row 0, slice or layer -1"},
    {SURF_OF(2D_LAYERED), "suld.b.a2d.b32.trap %a, [%t, {1, 0, 4, 0}];", FAR_OUT, "row 4, slice or layer 1"},
    {SURF_OF(CUBE), "suld.b.a2d.b32.trap %a, [%t, {6, 0, 0, 0}];", FAR_OUT,
     "slice or layer 6; the surface has 16 bytes"},
    {SURF_OF(CUBE_LAYERED), "sust.p.a2d.b32.trap [%t, {12, 0, 0, 0}], 1;", FAR_OUT,
     "slice or layer 12; the surface has"},
};
enum { USES = sizeof uses / sizeof *uses };
_Static_assert(USES >= 60, "so many are asked for");

static mx_array *new_array(mx_device *d, mx_array_kind kind) {
  mx_array_desc a = MX_ARRAY_DESC_INIT;
  a.kind = kind, a.bits = 32, a.channels = 1, a.width = 4;
  if (kind != MX_ARRAY_1D && kind != MX_ARRAY_1D_LAYERED) a.height = 4;
  if (kind == MX_ARRAY_3D) a.depth = 4;
  if (is_layered(kind)) a.layers = 2;
  mx_array *array;
  assert_int_equal(mx_array_create(d, &a, &array), MX_OK);
  return array;
}
static mx_texture texture_of(mx_device *d, mx_array *array, bool normalized) {
  mx_texture_desc t = MX_TEXTURE_DESC_INIT;
  mx_texture texture;
  t.array = array, t.normalized_coords = normalized;
  assert_int_equal(mx_texture_create(d, &t, &texture), MX_OK);
  return texture;
}
static uint64_t surface_of(mx_array *array) {
  mx_surface surface;
  assert_int_equal(mx_surface_create(array, 0, &surface), MX_OK);
  return surface;
}
static uint64_t handle(mx_device *d, enum handle which) {
  mx_texture_desc t = MX_TEXTURE_DESC_INIT;
  uint64_t n = which == NUMBER ? 77 : 0;
  mx_array *array = which >= SAMPLER || which < ENDED_TEXTURE ? NULL : new_array(d, MX_ARRAY_2D);
  if (which >= SURFACE) return surface_of(new_array(d, (mx_array_kind)(which - SURFACE)));
  if (which >= TEXTURE) {
    const mx_array_kind kind = (mx_array_kind)(which - TEXTURE);
    return texture_of(d, new_array(d, kind), is_cube(kind));
  }
  switch (which) {
  case MEMORY: return model_memory(d, 256);
  case ENDED_TEXTURE: n = texture_of(d, array, false), assert_int_equal(mx_texture_destroy(d, n), MX_OK); break;
  case ENDED_SURFACE: n = surface_of(array), assert_int_equal(mx_surface_destroy(d, n), MX_OK); break;
  case NO_ARRAY: n = texture_of(d, array, false), assert_int_equal(mx_array_destroy(array), MX_OK); break;
  case NO_ARRAY_SURFACE: n = surface_of(array), assert_int_equal(mx_array_destroy(array), MX_OK); break;
  case NO_MEMORY:
    t.address = model_memory(d, 4096), t.bits = 32, t.channels = 1, t.width = 16;
    assert_int_equal(mx_texture_create(d, &t, &n), MX_OK);
    assert_int_equal(mx_free(d, t.address), MX_OK);
    break;
  case SAMPLER:
  case ENDED_SAMPLER:
    assert_int_equal(mx_sampler_create(d, &t, &n), MX_OK);
    if (which == ENDED_SAMPLER) assert_int_equal(mx_sampler_destroy(d, n), MX_OK);
    break;
  default: break;
  }
  return n;
}

/* All lanes do it, or lane 5 alone. */
static void trap(unsigned use, bool jit, bool alone) {
  char text[2000];
  snprintf(text, sizeof text,
           ".entry k(.param .u64 t, .param .u64 image)\n{\n  mov.u16 %%h, 1;\n  setp.eq.u32 %%p, "
           "%%laneid, 5;\n  %s%s\n  exit;\n}\n",
           alone ? "@%p " : "", uses[use].does);
  mx_device *d = model_device();
  mx_kernel *kernel;
  model_module(d, text, &kernel);
  const uint64_t t = handle(d, uses[use].t), image = handle(d, TEX_OF(2D));
  const void *args[] = {&t, &image};
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = 1, config.block[0] = 64, config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
  const mx_status s = mx_launch_args(kernel, &config, args, 2);
  mx_trap_info info = {.struct_size = sizeof info};
  char *said = mx_last_error_text(d);
  const char *lane = alone ? "lane 5 " : "lane 0 ", *engine = jit ? "compiled" : "interpreted";
  if (s != MX_TRAPPED || mx_device_trap(d, &info) != MX_OK || info.kind != uses[use].kind)
    fail_msg("%s, %s: status %d, kind %d: %s", uses[use].does, engine, s, info.kind, said ? said : "");
  if (!strstr(said, uses[use].words) || !strstr(said, lane))
    fail_msg("%s, %s: expected '%s' and '%s' in '%s'", uses[use].does, engine, uses[use].words, lane, said);
  mx_text_free(said);
  mx_device_destroy(d);
}
static void traps(void **unused) {
  (void)unused;
  for (unsigned use = 0; use < USES; use++)
    for (unsigned way = 0; way < 4; way++)
      if (!(way & 1) || model_compiles()) trap(use, way & 1, way & 2);
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(traps)};
  return cmocka_run_group_tests(all, NULL, NULL);
}

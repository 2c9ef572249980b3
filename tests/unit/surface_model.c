/* Surfaces, in warps of 32 and of 64 lanes, against a model written from the rules alone: reads and writes of bytes and
 * vectors of them under the guides' names, every row of their list, and PTX's writes in the surface's format and
 * reductions; each geometry and format, and each of what may be said of places outside, in compiled code and by
 * the interpreter. Knows the public interface only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models.h"

#include <math.h>

enum { THREADS = 200, MOST = 16 }; /* the last warp is not full; bytes of an access */

enum what { READ, WRITE, FORMATTED, REDUCE };
enum outside { TRAP, CLAMP, ZERO };
static const char *const modes[] = {"trap", "clamp", "zero"};

/* ---- the model --------------------------------------------------------------------------------------------------*/
struct model {
  mx_array_desc a;
  enum what what;
  enum outside outside;
  unsigned texel, h, slices; /* bytes of a texel; rows; slices, layers or faces */
  unsigned each, values;     /* an access: bytes of a value, how many */
  bool by_element, guarded;  /* x counts texels; every fourth thread does nothing */
  bool reference;            /* not a number: a variable's name */
  unsigned reduction;
  char type[5];
  unsigned char *bytes;
  size_t size;
};
static unsigned axes_of(const struct model *m) {
  const mx_array_kind k = m->a.kind;
  return k == MX_ARRAY_1D ? 1 : k == MX_ARRAY_2D || k == MX_ARRAY_1D_LAYERED ? 2 : 3;
}
static unsigned access_size(const struct model *m) { return m->what == FORMATTED ? m->texel : m->each * m->values; }
static int nearest(int v, int most) { return v < 0 ? 0 : v > most ? most : v; }
/* The byte at which a thread's access begins; -1: nowhere. */
static long place(const struct model *m, const int at[3]) {
  const int x = m->by_element ? at[0] * (int)m->texel : at[0],
            in[3] = {nearest(x, (int)(m->a.width * m->texel - access_size(m))), nearest(at[1], (int)m->h - 1),
                     nearest(at[2], (int)m->slices - 1)};
  if (m->outside == ZERO && (in[0] != x || in[1] != at[1] || in[2] != at[2])) return -1;
  return ((long)in[2] * (long)m->h + in[1]) * (long)(m->a.width * m->texel) + in[0];
}
/* The nearest half, even ones of two. */
static uint32_t half_of(float v) {
  const long double a = fabsl(v);
  const uint32_t sign = signbit(v) ? 0x8000 : 0;
  int e;
  if (a >= 65520) return sign | 0x7C00;
  if (a < 0x1p-14L) return sign | (uint32_t)rintl(ldexpl(a, 24));
  const long double m = frexpl(a, &e);
  return sign | (((uint32_t)(e + 14) << 10) + (uint32_t)rintl(ldexpl(m, 11)) - 1024);
}
static uint32_t in_format(const struct model *m, uint32_t v) {
  float f;
  memcpy(&f, &v, 4);
  if (m->a.bits == 32) return v;
  if (m->a.type == MX_TEXEL_FLOAT) return half_of(f);
  const int64_t most = ((int64_t)1 << (m->a.bits - (m->a.type == MX_TEXEL_SIGNED))) - 1,
                least = m->a.type == MX_TEXEL_SIGNED ? -most - 1 : 0,
                n = m->a.type == MX_TEXEL_SIGNED ? (int64_t)(int32_t)v : (int64_t)v;
  return (uint32_t)(n > most ? most : n < least ? least : n);
}
static uint64_t reduced(const struct model *m, uint64_t old, uint64_t v) {
  const unsigned up = 64 - 8 * m->each; /* the sign at the top */
  const bool less = m->type[0] == 's' ? (int64_t)(v << up) < (int64_t)(old << up) : v << up < old << up;
  switch (m->reduction) {
  case 0: return old + v;
  case 1: return less ? v : old;
  case 2: return less ? old : v;
  case 3: return old & v;
  default: return old | v;
  }
}
static void act(struct model *m, const int at[3], const unsigned char *value, unsigned char *out) {
  const long p = place(m, at);
  const unsigned size = access_size(m);
  if (m->what == READ) memset(out, 0, size);
  if (p < 0) return;
  if (m->what == READ) memcpy(out, m->bytes + p, size);
  if (m->what == WRITE) memcpy(m->bytes + p, value, size);
  for (unsigned k = 0; m->what == FORMATTED && k < m->values; k++) {
    uint32_t v;
    memcpy(&v, value + 4 * k, 4);
    v = in_format(m, v);
    memcpy(m->bytes + p + k * m->a.bits / 8, &v, m->a.bits / 8);
  }
  if (m->what == REDUCE) {
    uint64_t old = 0, v = 0;
    memcpy(&old, m->bytes + p, size), memcpy(&v, value, size);
    v = reduced(m, old, v);
    memcpy(m->bytes + p, &v, size);
  }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------*/
static const char *const names[] = {
    "surf1D", "surf2D", "surf3D", "surf1DLayered", "surf2DLayered", "surfCubemap", "surfCubemapLayered"};
static const char *const places[] = {
    "{%x}", "{%x, %y}", "{%x, %y, %z, %z}", "{%y, %x}", "{%z, %x, %y, %y}", "{%z, %x, %y, %y}", "{%z, %x, %y, %y}"};
/* To surfaces, cubes are layers. */
static const char *geometry_of(const struct model *m) {
  return geometries[is_cube(m->a.kind) ? MX_ARRAY_2D_LAYERED : m->a.kind];
}
static const char *const reductions[] = {"add", "min", "max", "and", "or"};
#define PUT(...) (at += (size_t)snprintf(text + at, room - at, __VA_ARGS__))
static void write_text(const struct model *m, unsigned lanes, char *text, size_t room) {
  size_t at = 0;
  const unsigned each = m->what == FORMATTED ? 4 : m->each;
  const char reg = each < 4 ? 'h' : each == 4 ? 'w' : 'l', *mode = modes[m->outside];
  const char *object = m->reference ? "picture" : "%surf";
  const char *vec = m->values == 1 ? "" : m->values == 2 ? ".v2" : ".v4";
  char list[64];
  snprintf(list, sizeof list,
           m->values == 1   ? "%%%c0"
           : m->values == 2 ? "{%%%c0, %%%c1}"
                            : "{%%%c0, %%%c1, %%%c2, %%%c3}",
           reg, reg, reg, reg);
  PUT("%s.global .surfref picture;\n.entry k(.param .u64 surf, .param .u64 in, .param .u64 val, .param .u64 out)\n{\n"
      "  .reg .b16 %%h<4>;\n  .reg .b32 %%w<4>;\n  .reg .b64 %%l<4>, %%p, %%v, %%o;\n  .reg .b32 %%i, %%x, %%y, %%z, "
      "%%fourth;\n  .reg .pred %%q;\n  mov.u32 %%i, %%tid.x;\n"
      "  mad.wide.u32 %%p, %%i, 4, %%in;\n  mad.wide.u32 %%v, %%i, 16, %%val;\n  mad.wide.u32 %%o, %%i, 16, %%out;\n"
      "  ld.global.s32 %%x, [%%p];\n  ld.global.s32 %%y, [%%p+%u];\n  ld.global.s32 %%z, [%%p+%u];\n",
      lanes == 32 ? ".target sm_90\n" : "", 4 * THREADS, 8 * THREADS);
  if (m->guarded) PUT("  and.b32 %%fourth, %%i, 3;\n  setp.ne.u32 %%q, %%fourth, 0;\n");
  const char *guard = m->guarded ? "@%q " : "";
  for (unsigned k = 0; m->what != READ && k < m->values; k++)
    PUT("  ld.global.b%u %%%c%u, [%%v+%u];\n", 8 * each, reg, k, k * each);
  PUT("  %s", guard);
  const char *coords = axes_of(m) == 1 ? "%x" : axes_of(m) == 2 ? "%x, %y" : "%x, %y, %z";
  switch (m->what) {
  case READ: PUT("%sread.%s.%s %s, %s, %s;\n", names[m->a.kind], m->type, mode, list, object, coords); break;
  case WRITE: PUT("%swrite.%s.%s %s, %s, %s;\n", names[m->a.kind], m->type, mode, list, object, coords); break;
  case FORMATTED:
    PUT("sust.p.%s%s.%s.%s [%%surf, %s], %s;\n", geometry_of(m), vec, m->type, mode, places[m->a.kind], list);
    break;
  case REDUCE:
    PUT("sured.%s.%s.%s.%s.%s [%%surf, %s], %s;\n", m->by_element ? "p" : "b", reductions[m->reduction], geometry_of(m),
        m->type, mode, places[m->a.kind], list);
  }
  for (unsigned k = 0; m->what == READ && k < m->values; k++)
    PUT("  %sst.global.b%u [%%o+%u], %%%c%u;\n", guard, 8 * each, k * each, reg, k);
  PUT("  exit;\n}\n");
}

/* ---- runs -------------------------------------------------------------------------------------------------------*/
/* Values of a write are the same wherever two threads meet: their order is nobody's. */
static void make_value(const struct model *m, long place, unsigned char value[MOST]) {
  const uint64_t kept = state;
  state = (uint64_t)place * 977 + 5;
  for (unsigned k = 0; k < MOST; k++) value[k] = (unsigned char)draw(256);
  for (unsigned k = 0; m->what == FORMATTED && k < m->values; k++) {
    const float f = (float)((double)draw(1u << 31) / (1u << (6 + draw(40) % 26))) * (draw(2) ? -1.0f : 0x1p-20f);
    const int32_t n = (int32_t)(draw(300) << draw(10)) * (draw(2) ? 1 : -1);
    if (m->a.type == MX_TEXEL_FLOAT) memcpy(value + 4 * k, &f, 4);
    else if (draw(4)) memcpy(value + 4 * k, &n, 4);
  }
  state = kept;
}
static void compare(mx_device *d, struct model *m, uint64_t surface, mx_array *array, unsigned lanes, bool jit,
                    const mx_addr memory[3]) {
  static int at[3][THREADS];
  static unsigned char value[THREADS][MOST], want[THREADS][MOST], got[THREADS][MOST];
  const int wide[3] = {(int)m->a.width, (int)m->h, (int)m->slices};
  memset(want, 0xEE, sizeof want);
  mx_copy_to_device(d, memory[2], want, sizeof want);
  const bool beyond = m->outside != TRAP;
  for (unsigned t = 0; t < THREADS; t++) {
    const unsigned steps = m->by_element ? 1 : m->texel / access_size(m);
    int here[3];
    for (unsigned k = 0; k < 3; k++) {
      const int n = wide[k] * (k ? 1 : (int)steps);
      here[k] = k < axes_of(m) ? (int)draw((uint32_t)(n + (beyond ? n + 4 : 0))) - (beyond ? n / 2 + 2 : 0) : 0;
      if (!k && !m->by_element) here[k] *= (int)access_size(m);
      at[k][t] = here[k];
    }
    make_value(m, place(m, here), value[t]);
    if (m->what == REDUCE)
      for (unsigned k = 0; k < MOST; k++) value[t][k] = (unsigned char)draw(256);
  }
  const size_t before = m->size;
  unsigned char *after = malloc(before);
  assert_non_null(after);
  for (unsigned t = 0; t < THREADS; t++) {
    const int here[3] = {at[0][t], at[1][t], at[2][t]};
    if (!m->guarded || t % 4) act(m, here, value[t], want[t]);
  }
  char text[4096];
  write_text(m, lanes, text, sizeof text);
  mx_kernel *kernel;
  mx_module *module = model_module(d, text, &kernel);
  if (m->reference) model_refers(d, module, surface), surface = 0;
  mx_copy_to_device(d, memory[0], at, sizeof at), mx_copy_to_device(d, memory[1], value, sizeof value);
  const void *args[] = {&surface, &memory[0], &memory[1], &memory[2]};
  model_run(d, kernel, THREADS, jit, args, 4, text);
  mx_copy_from_device(d, got, memory[2], sizeof got);
  assert_int_equal(mx_array_copy_out(array, NULL, after, 0, 0), MX_OK);
  for (unsigned t = 0; t < THREADS; t++)
    if (memcmp(got[t], want[t], MOST))
      fail_msg("%u lanes, %s, thread %u at %d %d %d of %d x %d x %d, texels of %u bytes: read %08x, the model %08x\n%s",
               lanes, jit ? "compiled" : "interpreted", t, at[0][t], at[1][t], at[2][t], wide[0], wide[1], wide[2],
               m->texel, *(const uint32_t *)(const void *)got[t], *(const uint32_t *)(const void *)want[t], text);
  for (size_t k = 0; k < m->size; k++)
    if (after[k] != m->bytes[k])
      fail_msg("%u lanes, %s, %d x %d x %d texels of %u bytes: byte %zu is %02x, the model's %02x\n%s", lanes,
               jit ? "compiled" : "interpreted", wide[0], wide[1], wide[2], m->texel, k, after[k], m->bytes[k], text);
  free(after);
  mx_module_unload(module);
}

/* An access that goes with the format: its type, and how many values. */
static void choose_access(struct model *m) {
  static const char *const types[][3] = {{"u8", "s8"}, {"u16", "s16"}, {"u32", "s32", "f32"}, {"u64", "s64"}};
  m->by_element = m->what == FORMATTED;
  m->values = 1;
  if (m->what == FORMATTED) {
    m->values = m->a.channels;
    strcpy(m->type, m->a.type == MX_TEXEL_FLOAT ? "f32" : m->a.type == MX_TEXEL_SIGNED ? "s32" : "u32");
    return;
  }
  if (m->what == REDUCE) {
    m->each = m->texel >= 8 && draw(2) ? 8 : 4;
    m->by_element = m->each == m->texel && draw(2);
    m->reduction = draw(5);
    snprintf(m->type, sizeof m->type, "%c%u", m->reduction > 2 ? 'b' : draw(2) ? 'u' : 's', 8 * m->each);
    return;
  }
  unsigned size = 0; /* the logarithm of a value's */
  do size = draw(4);
  while (1u << size > m->texel);
  m->each = 1u << size;
  do m->values = 1u << draw(size == 3 ? 2 : 3);
  while (m->each * m->values > m->texel);
  strcpy(m->type, types[size][draw(size == 2 ? 3 : 2)]);
}
/* An image of a format; where what is done cannot be done to it, of another one. */
static void one(mx_device *d, mx_array_kind kind, enum what what, bool reference, unsigned format, enum outside outside,
                unsigned lanes, bool jit, const mx_addr memory[3]) {
  static const struct format formats[] = {{MX_TEXEL_FLOAT, 32},    {MX_TEXEL_FLOAT, 16},    {MX_TEXEL_UNSIGNED, 8},
                                          {MX_TEXEL_UNSIGNED, 16}, {MX_TEXEL_UNSIGNED, 32}, {MX_TEXEL_SIGNED, 8},
                                          {MX_TEXEL_SIGNED, 16},   {MX_TEXEL_SIGNED, 32}};
  struct model m = {.a = MX_ARRAY_DESC_INIT, .what = what, .outside = outside, .guarded = draw(3) == 0};
  const bool cube = is_cube(kind), layered = is_layered(kind);
  m.reference = reference;
  m.a.type = formats[format].type, m.a.bits = formats[format].bits;
  do m.a.channels = 1u << draw(3), m.texel = m.a.bits / 8 * m.a.channels;
  while (what == REDUCE && m.texel < 4);
  m.a.kind = kind, m.a.width = 1 + draw(20);
  if (kind != MX_ARRAY_1D && kind != MX_ARRAY_1D_LAYERED) m.a.height = cube ? m.a.width : 1 + draw(12);
  m.a.depth = kind == MX_ARRAY_3D ? 1 + draw(6) : 0;
  m.a.layers = layered ? 1 + draw(4) : 0;
  m.h = m.a.height ? m.a.height : 1;
  m.slices = kind == MX_ARRAY_3D ? m.a.depth : (layered ? m.a.layers : 1) * (cube ? 6 : 1);
  m.size = (size_t)m.a.width * m.texel * m.h * m.slices;
  choose_access(&m);
  mx_array *array;
  assert_int_equal(mx_array_create(d, &m.a, &array), MX_OK);
  if (kind == MX_ARRAY_1D_LAYERED) m.h = m.slices, m.slices = 1; /* its layer is the second coordinate */
  m.bytes = malloc(m.size);
  assert_non_null(m.bytes);
  for (size_t k = 0; k < m.size; k++) m.bytes[k] = (unsigned char)draw(256);
  assert_int_equal(mx_array_copy_in(array, NULL, m.bytes, 0, 0), MX_OK);
  uint64_t surface;
  assert_int_equal(mx_surface_create(array, 0, &surface), MX_OK);
  compare(d, &m, surface, array, lanes, jit, memory);
  mx_surface_destroy(d, surface), mx_array_destroy(array);
  free(m.bytes);
}
struct set {
  mx_device *d;
  mx_addr memory[3];
};
static struct set new_set(void) {
  mx_device *d = model_device();
  return (struct set){
      d, {model_memory(d, 12 * THREADS), model_memory(d, MOST * THREADS), model_memory(d, MOST * THREADS)}};
}
enum { FORMATS = 8 };
/* Compiled code runs each row in warps of both widths, and each geometry, access, mode and format with the first row
 * that has them, in warps of one width or the other, and now and then again; the interpreter runs the others. */
static void each_image(const struct set *s, mx_array_kind kind, enum what what, bool reference) {
  static bool compiled[7][REDUCE + 1][ZERO + 1][FORMATS];
  bool in_width[2] = {false};
  for (unsigned way = 0; way < 2; way++)
    for (unsigned outside = TRAP; outside <= ZERO; outside++)
      for (unsigned format = 0; format < FORMATS; format++) {
        const unsigned wide = (way + outside + format) % 2;
        bool *const done = &compiled[kind][what][outside][format];
        const bool jit = model_compiles() && (!*done || !in_width[wide] || draw(16) == 0);
        one(s->d, kind, what, reference, format, (enum outside)outside, wide ? 64 : 32, jit, s->memory);
        *done = true;
        in_width[wide] |= jit;
      }
}
static void every_row(void **unused) {
  (void)unused;
  const struct set s = new_set();
  struct guide_row rows[MOST_ROWS];
  const size_t n = guide_rows("surface", rows);
  assert_true(n > 0);
  for (size_t k = 0; k < n; k++) {
    const mx_array_kind kind = kind_of_row(&rows[k], names);
    const char *rest = rows[k].name + strlen(names[kind]);
    const bool write = !strcmp(rest, "write");
    if (!write && strcmp(rest, "read")) fail_msg("the guides' %s is none that this test knows", rows[k].text);
    each_image(&s, kind, write ? WRITE : READ, rows[k].reference);
  }
  mx_device_destroy(s.d);
}
static void ptx(void **unused) {
  (void)unused;
  const struct set s = new_set();
  for (unsigned kind = 0; kind < 7; kind++) each_image(&s, (mx_array_kind)kind, FORMATTED, false);
  for (unsigned kind = 0; kind <= MX_ARRAY_3D; kind++) /* PTX has none of layers */
    each_image(&s, (mx_array_kind)kind, REDUCE, false);
  mx_device_destroy(s.d);
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(every_row), cmocka_unit_test(ptx)};
  return cmocka_run_group_tests(all, NULL, NULL);
}

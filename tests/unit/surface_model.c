/* Surfaces, in warps of 32 and of 64 lanes, against a model written from the rules alone: reads and writes of bytes and
 * vectors of them under the guides' names, every row of their list, and PTX's writes in the surface's format and
 * reductions; each geometry and format, each of what may be said of places outside, each type of elements: all of it
 * for each row, in both widths, in compiled code and by the interpreter. Knows the public interface only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models.h"

#include <math.h>

enum {
  THREADS = 200,
  MOST = 16,
  LEFT = 64
}; /* the last warp is not full; bytes of an access; of a thread's registers */

enum what { READ, WRITE, FORMATTED, REDUCE };
enum outside { TRAP, CLAMP, ZERO };
static const char *const modes[] = {"trap", "clamp", "zero"};

/* ---- the model --------------------------------------------------------------------------------------------------*/
/* What is read or written at once: values and the bytes of each; x counts texels, or bytes. */
struct access {
  char type[5];
  unsigned each, values, reduction;
  bool by_element;
};
struct model {
  mx_array_desc a;
  enum what what;
  enum outside outside;
  unsigned texel, h, slices; /* bytes of a texel; rows; slices, layers or faces */
  struct access by;
  bool guarded;    /* every fourth thread does nothing */
  bool reference;  /* not a number: a variable's name */
  unsigned number; /* among the program's accesses */
  unsigned char *bytes;
  size_t size;
};
static unsigned axes_of(const struct model *m) {
  const mx_array_kind k = m->a.kind;
  return k == MX_ARRAY_1D ? 1 : k == MX_ARRAY_2D || k == MX_ARRAY_1D_LAYERED ? 2 : 3;
}
static unsigned access_size(const struct model *m) {
  return m->what == FORMATTED ? m->texel : m->by.each * m->by.values;
}
static int nearest(int v, int most) { return v < 0 ? 0 : v > most ? most : v; }
/* The byte at which a thread's access begins; -1: nowhere. */
static long place(const struct model *m, const int at[3]) {
  const int x = m->by.by_element ? at[0] * (int)m->texel : at[0],
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
  const unsigned up = 64 - 8 * m->by.each; /* the sign at the top */
  const bool less = m->by.type[0] == 's' ? (int64_t)(v << up) < (int64_t)(old << up) : v << up < old << up;
  switch (m->by.reduction) {
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
  for (unsigned k = 0; m->what == FORMATTED && k < m->by.values; k++) {
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
/* A value of each size has registers of its own: their numbers, and where they are in what a thread leaves. */
static const struct registers {
  unsigned bytes, n, stored, at;
  char name;
} registers[] = {{1, 4, 2, 0, 'b'}, {2, 4, 2, 8, 'h'}, {4, 4, 4, 16, 'w'}, {8, 2, 8, 32, 'l'}};
static const struct registers *registers_of(unsigned bytes) {
  const struct registers *r = registers;
  while (r->bytes != bytes) r++;
  return r;
}
/* What all accesses begin with: a thread's coordinates, and its values in the registers of each size. */
static void write_head(struct program *p, unsigned lanes) {
  PUT(p,
      "%s.global .surfref picture;\n.entry k(.param .u64 surf, .param .u64 in, .param .u64 val, .param .u64 out, "
      ".param .u32 which)\n{\n  .reg .b16 %%b<4>, %%h<4>;\n  .reg .b32 %%w<4>;\n  .reg .b64 %%l<2>, %%p, %%v, %%o;\n"
      "  .reg .b32 %%i, %%x, %%y, %%z, %%fourth;\n  .reg .pred %%q, %%other;\n  mov.u32 %%i, %%tid.x;\n"
      "  mad.wide.u32 %%p, %%i, 4, %%in;\n  mad.wide.u32 %%v, %%i, %u, %%val;\n"
      "  mad.wide.u32 %%o, %%i, %u, %%out;\n"
      "  ld.global.s32 %%x, [%%p];\n  ld.global.s32 %%y, [%%p+%u];\n  ld.global.s32 %%z, [%%p+%u];\n"
      "  and.b32 %%fourth, %%i, 3;\n  setp.ne.u32 %%q, %%fourth, 0;\n",
      lanes == 32 ? ".target sm_90\n" : "", MOST, LEFT, 4 * THREADS, 8 * THREADS);
  for (const struct registers *r = registers; r < registers + 4; r++)
    for (unsigned k = 0; k < r->n; k++)
      PUT(p, "  ld.global.b%u %%%c%u, [%%v+%u];\n", 8 * r->bytes, r->name, k, k * r->bytes);
}
/* And what they end with: the registers are stored. */
static const char *stores(void) {
  static char text[1024];
  size_t at = 0;
  for (const struct registers *r = registers; r < registers + 4; r++)
    for (unsigned k = 0; k < r->n; k++)
      at += (size_t)snprintf(text + at, sizeof text - at, "  st.global.b%u [%%o+%u], %%%c%u;\n", 8 * r->stored,
                             r->at + k * r->stored, r->name, k);
  return text;
}
#define ADD(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))
static unsigned write_access(struct program *p, const struct model *m) {
  static char text[2048];
  size_t at = 0;
  const char reg = registers_of(m->by.each)->name, *mode = modes[m->outside];
  const char *object = m->reference ? "picture" : "%surf", *guard = m->guarded ? "@%q " : "";
  const char *vec = m->by.values == 1 ? "" : m->by.values == 2 ? ".v2" : ".v4";
  char list[64];
  snprintf(list, sizeof list,
           m->by.values == 1   ? "%%%c0"
           : m->by.values == 2 ? "{%%%c0, %%%c1}"
                               : "{%%%c0, %%%c1, %%%c2, %%%c3}",
           reg, reg, reg, reg);
  ADD("  %s", guard);
  const char *coords = axes_of(m) == 1 ? "%x" : axes_of(m) == 2 ? "%x, %y" : "%x, %y, %z";
  switch (m->what) {
  case READ: ADD("%sread.%s.%s %s, %s, %s;\n", names[m->a.kind], m->by.type, mode, list, object, coords); break;
  case WRITE: ADD("%swrite.%s.%s %s, %s, %s;\n", names[m->a.kind], m->by.type, mode, list, object, coords); break;
  case FORMATTED:
    ADD("sust.p.%s%s.%s.%s [%%surf, %s], %s;\n", geometry_of(m), vec, m->by.type, mode, places[m->a.kind], list);
    break;
  case REDUCE:
    ADD("sured.%s.%s.%s.%s.%s [%%surf, %s], %s;\n", m->by.by_element ? "p" : "b", reductions[m->by.reduction],
        geometry_of(m), m->by.type, mode, places[m->a.kind], list);
  }
  return program_access(p, text);
}

/* ---- runs -------------------------------------------------------------------------------------------------------*/
/* Values of a write are the same wherever two threads meet: their order is nobody's. */
static void make_value(const struct model *m, long place, unsigned char value[MOST]) {
  const uint64_t kept = state;
  state = (uint64_t)place * 977 + 5;
  for (unsigned k = 0; k < MOST; k++) value[k] = (unsigned char)draw(256);
  for (unsigned k = 0; m->what == FORMATTED && k < m->by.values; k++) {
    const float f = (float)((double)draw(1u << 31) / (1u << (6 + draw(40) % 26))) * (draw(2) ? -1.0f : 0x1p-20f);
    const int32_t n = (int32_t)(draw(300) << draw(10)) * (draw(2) ? 1 : -1);
    if (m->a.type == MX_TEXEL_FLOAT) memcpy(value + 4 * k, &f, 4);
    else if (draw(4)) memcpy(value + 4 * k, &n, 4);
  }
  state = kept;
}
static void compare(mx_device *d, struct model *m, const struct program *p, uint64_t surface, mx_array *array,
                    unsigned lanes, bool jit, const mx_addr memory[3]) {
  static int at[3][THREADS];
  static unsigned char value[THREADS][MOST], want[THREADS][MOST], got[THREADS][LEFT];
  const struct registers *in = registers_of(m->by.each);
  const int wide[3] = {(int)m->a.width, (int)m->h, (int)m->slices};
  const bool beyond = m->outside != TRAP;
  for (unsigned t = 0; t < THREADS; t++) {
    const unsigned steps = m->by.by_element ? 1 : m->texel / access_size(m);
    int here[3];
    for (unsigned k = 0; k < 3; k++) {
      const int n = wide[k] * (k ? 1 : (int)steps);
      here[k] = k < axes_of(m) ? (int)draw((uint32_t)(n + (beyond ? n + 4 : 0))) - (beyond ? n / 2 + 2 : 0) : 0;
      if (!k && !m->by.by_element) here[k] *= (int)access_size(m);
      at[k][t] = here[k];
    }
    make_value(m, place(m, here), value[t]);
    if (m->what == REDUCE)
      for (unsigned k = 0; k < MOST; k++) value[t][k] = (unsigned char)draw(256);
  }
  unsigned char *after = malloc(m->size);
  assert_non_null(after);
  memcpy(want, value, sizeof want);
  for (unsigned t = 0; t < THREADS; t++) {
    const int here[3] = {at[0][t], at[1][t], at[2][t]};
    if (!m->guarded || t % 4) act(m, here, value[t], want[t]);
  }
  const char *text = p->access[m->number];
  if (m->reference) model_refers(d, p->module, surface), surface = 0;
  mx_copy_to_device(d, memory[0], at, sizeof at), mx_copy_to_device(d, memory[1], value, sizeof value);
  const void *args[] = {&surface, &memory[0], &memory[1], &memory[2], &m->number};
  model_run(d, p->kernel, THREADS, jit, args, 5, text);
  mx_copy_from_device(d, got, memory[2], sizeof got);
  assert_int_equal(mx_array_copy_out(array, NULL, after, 0, 0), MX_OK);
  for (unsigned t = 0; t < THREADS; t++)
    for (unsigned k = 0; k < m->by.values; k++) {
      const unsigned char *is = got[t] + in->at + k * in->stored, *has = want[t] + k * in->bytes;
      if (memcmp(is, has, in->bytes))
        fail_msg(
            "%u lanes, %s, thread %u at %d %d %d of %d x %d x %d, texels of %u bytes: value %u begins with %02x, the "
            "model's with %02x\n%s",
            lanes, jit ? "compiled" : "interpreted", t, at[0][t], at[1][t], at[2][t], wide[0], wide[1], wide[2],
            m->texel, k, *is, *has, text);
    }
  for (size_t k = 0; k < m->size; k++)
    if (after[k] != m->bytes[k])
      fail_msg("%u lanes, %s, %d x %d x %d texels of %u bytes: byte %zu is %02x, the model's %02x\n%s", lanes,
               jit ? "compiled" : "interpreted", wide[0], wide[1], wide[2], m->texel, k, after[k], m->bytes[k], text);
  free(after);
}

/* ---- images and accesses ----------------------------------------------------------------------------------------*/
static const struct format formats[] = {{MX_TEXEL_FLOAT, 32},    {MX_TEXEL_FLOAT, 16},    {MX_TEXEL_UNSIGNED, 8},
                                        {MX_TEXEL_UNSIGNED, 16}, {MX_TEXEL_UNSIGNED, 32}, {MX_TEXEL_SIGNED, 8},
                                        {MX_TEXEL_SIGNED, 16},   {MX_TEXEL_SIGNED, 32}};
enum { FORMATS = 3 * sizeof formats / sizeof *formats, MOST_IMAGES = 128 }; /* each of 1, 2 and 4 channels */
/* All types of accesses that are no matter of the image's format. */
static unsigned list_accesses(enum what what, struct access list[MOST_IMAGES]) {
  static const char *const types[][3] = {{"u8", "s8"}, {"u16", "s16"}, {"u32", "s32", "f32"}, {"u64", "s64"}};
  unsigned n = 0;
  if (what == READ || what == WRITE)
    for (unsigned size = 0; size < 4; size++)
      for (unsigned type = 0; type < 3 && types[size][type]; type++)
        for (unsigned values = 1; values <= (size == 3 ? 2 : 4); values *= 2) {
          struct access *a = &list[n++];
          *a = (struct access){.each = 1u << size, .values = values};
          strcpy(a->type, types[size][type]);
        }
  if (what == REDUCE)
    for (unsigned way = 0; way < 5 * 2 * 2 * 2; way++) {
      struct access a = {.each = way & 1 ? 8 : 4, .values = 1, .by_element = way & 2, .reduction = way / 8};
      if (a.reduction > 2 && way & 4) continue; /* bits have no sign */
      snprintf(a.type, sizeof a.type, "%c%u", a.reduction > 2 ? 'b' : way & 4 ? 'u' : 's', 8 * a.each);
      list[n++] = a;
    }
  return n;
}
static bool fits(const struct access *a, const struct model *m) {
  return m->what == REDUCE && a->by_element ? a->each == m->texel : a->each * a->values <= m->texel;
}
static void of_format(struct model *m, unsigned format) {
  m->a.type = formats[format / 3].type, m->a.bits = formats[format / 3].bits, m->a.channels = 1u << format % 3;
  m->texel = m->a.bits / 8 * m->a.channels;
}
static void of_size(struct model *m) {
  const mx_array_kind kind = m->a.kind;
  const bool cube = is_cube(kind), layered = is_layered(kind);
  m->a.width = 1 + draw(20);
  if (kind != MX_ARRAY_1D && kind != MX_ARRAY_1D_LAYERED) m->a.height = cube ? m->a.width : 1 + draw(12);
  m->a.depth = kind == MX_ARRAY_3D ? 1 + draw(6) : 0;
  m->a.layers = layered ? 1 + draw(4) : 0;
  m->h = m->a.height ? m->a.height : 1;
  m->slices = kind == MX_ARRAY_3D ? m->a.depth : (layered ? m->a.layers : 1) * (cube ? 6 : 1);
  m->size = (size_t)m->a.width * m->texel * m->h * m->slices;
}
/* The images of a row, each with an access: every format with all that may be said of places outside, the accesses that
 * fit taking turns; then every access, with one of the formats that it fits. */
static unsigned draw_images(mx_array_kind kind, enum what what, bool reference, struct model *images) {
  static unsigned turn;
  struct access list[MOST_IMAGES];
  const unsigned accesses = list_accesses(what, list);
  unsigned n = 0;
  for (unsigned k = 0; k < 3 * FORMATS + accesses; k++) {
    struct model m = {.a = MX_ARRAY_DESC_INIT, .what = what, .outside = k % 3, .reference = reference};
    m.a.kind = kind, m.guarded = draw(3) == 0;
    of_format(&m, k < 3 * FORMATS ? k / 3 : draw(FORMATS));
    if (k >= 3 * FORMATS) {
      m.by = list[k - 3 * FORMATS];
      while (!fits(&m.by, &m)) of_format(&m, draw(FORMATS));
    } else if (what == FORMATTED) {
      m.by = (struct access){.each = 4, .values = m.a.channels, .by_element = true};
      strcpy(m.by.type, m.a.type == MX_TEXEL_FLOAT ? "f32" : m.a.type == MX_TEXEL_SIGNED ? "s32" : "u32");
    } else {
      unsigned tried = 0;
      while (tried < accesses && !fits(&list[turn % accesses], &m)) tried++, turn++;
      if (tried == accesses) continue; /* reductions have words of 4 bytes and more */
      m.by = list[turn++ % accesses];
    }
    of_size(&m);
    assert_true(n < MOST_IMAGES);
    images[n++] = m;
  }
  return n;
}
static void one(mx_device *d, struct model *m, const struct program *p, unsigned lanes, bool compiled,
                const mx_addr memory[3]) {
  mx_array *array;
  assert_int_equal(mx_array_create(d, &m->a, &array), MX_OK);
  if (m->a.kind == MX_ARRAY_1D_LAYERED) m->h = m->slices, m->slices = 1; /* its layer is the second coordinate */
  m->bytes = malloc(m->size);
  assert_non_null(m->bytes);
  for (size_t k = 0; k < m->size; k++) m->bytes[k] = (unsigned char)draw(256);
  assert_int_equal(mx_array_copy_in(array, NULL, m->bytes, 0, 0), MX_OK);
  uint64_t surface;
  assert_int_equal(mx_surface_create(array, 0, &surface), MX_OK);
  for (unsigned jit = 0; jit < 1u + compiled; jit++) compare(d, m, p, surface, array, lanes, jit, memory);
  mx_surface_destroy(d, surface), mx_array_destroy(array);
  free(m->bytes);
}
struct set {
  mx_device *d;
  mx_addr memory[3];
};
static struct set new_set(void) {
  mx_device *d = model_device();
  return (struct set){
      d, {model_memory(d, 12 * THREADS), model_memory(d, MOST * THREADS), model_memory(d, LEFT * THREADS)}};
}
static void each_image(const struct set *s, mx_array_kind kind, enum what what, bool reference) {
  static struct model images[MOST_IMAGES];
  static struct program p;
  for (unsigned lanes = 32; lanes <= 64; lanes += 32) {
    const unsigned n = draw_images(kind, what, reference, images);
    const bool compiled = model_compiles();
    assert_true(n > 0);
    write_head(&p, lanes);
    for (unsigned k = 0; k < n; k++) images[k].number = write_access(&p, &images[k]);
    program_build(s->d, &p, stores());
    for (unsigned k = 0; k < n; k++) one(s->d, &images[k], &p, lanes, compiled, s->memory);
    program_end(&p);
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

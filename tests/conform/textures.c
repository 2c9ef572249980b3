/* Recordings of textures (tex.txt) and surfaces (surf.txt): each line a sample, or an access to a surface with all its
 * bytes behind it. A texture's lines of one function are the threads of one launch, in warps of 32 lanes and of 64; so
 * are reads of surfaces, which see what the writes recorded before them left. Each write is a launch of its own: it
 * begins with the file's bytes. Knows the public interface only. */
#include "tests/conform/conform.h"

#include "mx/text.h"
#include "mx/texture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IN = 12, MOST_OUT = 4, MOST_CELLS = 1 << 16 };

/* One of the file's images, with the object that is sampled. */
struct image {
  char id[16];
  bool linear, pitched;
  mx_array_desc desc;
  mx_texture_desc texture;
  mx_array *array;
  mx_addr address;
  uint64_t object;
  unsigned char *bytes, *left; /* surfaces: as they are at the beginning, and as the last recorded write left them;
                                  NULL: as at the beginning */
  size_t size;
};
/* The lines of one function on one image. */
struct group {
  char name[64]; /* "tex2D.T052", "surf1Dread.S000.clamp" */
  unsigned nin, nout;
  uint32_t *cells; /* line after line: inputs, outputs */
  size_t lines, room;
};
struct session {
  const char *file;
  mx_device *device;
  bool jit, surfaces;
  struct tally *n;
  struct image image;
};

/* ---- what lines say ---------------------------------------------------------------------------------------------*/
static bool key(const char *line, const char *name, char *to, size_t room) {
  char word[24];
  snprintf(word, sizeof word, " %s=", name);
  const char *at = strstr(line, word);
  if (!at) return false;
  at += strlen(word);
  snprintf(to, room, "%.*s", (int)strcspn(at, " \t\n"), at);
  return true;
}
static unsigned key_number(const char *line, const char *name) {
  char v[32];
  return key(line, name, v, sizeof v) ? (unsigned)strtoul(v, NULL, 10) : 0;
}
static bool key_is(const char *line, const char *name, const char *value) {
  char v[32];
  return key(line, name, v, sizeof v) && !strcmp(v, value);
}
static float key_float(const char *line, const char *name) {
  char v[64];
  uint32_t u = key(line, name, v, sizeof v) ? (uint32_t)strtoul(v, NULL, 16) : 0;
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static size_t read_cells(const char *s, uint32_t *to, size_t room) {
  size_t n = 0;
  while (n < room && *s && *s != '\t' && *s != '\n') {
    char *end;
    to[n++] = (uint32_t)strtoul(s, &end, 16);
    if (end == s) return 0;
    s = end + (*end == ',');
  }
  return n;
}

static void read_image(struct image *i, const char *line, bool surface) {
  char v[128];
  *i = (struct image){.desc = MX_ARRAY_DESC_INIT, .texture = MX_TEXTURE_DESC_INIT};
  snprintf(i->id, sizeof i->id, "%.*s", (int)strcspn(line + 1, " ."), line + 1);
  key(line, "geo", v, sizeof v);
  const bool cube = strstr(v, "cube"), layered = strstr(v, "layered") || strstr(v, "Layered"),
             one = strstr(v, "1d") || strstr(v, "1D"), three = strstr(v, "3d") || strstr(v, "3D");
  i->linear = !strncmp(v, "linear", 6);
  i->pitched = !strncmp(v, "pitch", 5);
  mx_array_desc *a = &i->desc;
  a->kind = cube      ? layered ? MX_ARRAY_CUBE_LAYERED : MX_ARRAY_CUBE
            : one     ? layered ? MX_ARRAY_1D_LAYERED : MX_ARRAY_1D
            : three   ? MX_ARRAY_3D
            : layered ? MX_ARRAY_2D_LAYERED
                      : MX_ARRAY_2D;
  a->width = key_number(line, "w"), a->height = one ? 0 : key_number(line, "h");
  if (three) a->depth = key_number(line, "d");
  if (layered) a->layers = key_number(line, "d") / (cube ? 6 : 1);
  a->levels = surface ? 1 : key_number(line, "levels");
  key(line, "elem", v, sizeof v);
  a->type = *v == 'u' ? MX_TEXEL_UNSIGNED : *v == 's' ? MX_TEXEL_SIGNED : MX_TEXEL_FLOAT;
  a->bits = (uint32_t)atoi(v + 1);
  a->channels = key_number(line, "ch");
  mx_texture_desc *t = &i->texture;
  static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};
  for (unsigned k = 0; k < 12; k++)
    if (key_is(line, "addr", modes[k % 4])) t->address_mode[k / 4] = (mx_address_mode)(k % 4);
  t->filter = key_is(line, "filter", "linear") ? MX_FILTER_LINEAR : MX_FILTER_POINT;
  t->mip_filter = key_is(line, "mipfilter", "linear") ? MX_FILTER_LINEAR : MX_FILTER_POINT;
  t->normalized_coords = key_is(line, "coords", "normalized");
  t->normalized_read = key_is(line, "read", "normfloat");
  t->mip_bias = key_float(line, "bias"), t->min_lod = key_float(line, "minlod"), t->max_lod = key_float(line, "maxlod");
  if (key(line, "border", v, sizeof v)) read_cells(v, (uint32_t *)t->border, 4);
}

/* Texels of a level. */
static bool add_level(struct session *s, struct image *i, unsigned level, const char *text) {
  static uint32_t cells[MOST_CELLS];
  const size_t n = read_cells(text, cells, MOST_CELLS), bytes = i->desc.bits / 8,
               row = i->desc.width * i->desc.channels * bytes;
  unsigned char *packed = calloc(n, bytes);
  if (!packed) abort();
  for (size_t k = 0; k < n; k++) memcpy(packed + k * bytes, &cells[k], bytes);
  bool fine = true;
  if (!level && (i->linear || i->pitched)) {
    const size_t pitch = (row + 31) / 32 * 32, rows = i->desc.height ? i->desc.height : 1;
    fine = mx_alloc(s->device, pitch * rows, &i->address) == MX_OK;
    for (size_t y = 0; y < rows && fine; y++)
      fine = mx_copy_to_device(s->device, i->address + y * pitch, packed + y * row, row) == MX_OK;
    i->texture.address = i->address, i->texture.type = i->desc.type, i->texture.bits = i->desc.bits,
    i->texture.channels = i->desc.channels, i->texture.width = i->desc.width, i->texture.height = i->desc.height,
    i->texture.pitch = pitch;
  } else {
    if (!level) fine = mx_array_create(s->device, &i->desc, &i->array) == MX_OK;
    fine = fine && mx_array_copy_in(i->array, &(mx_texel_box){.struct_size = sizeof(mx_texel_box), .level = level},
                                    packed, 0, 0) == MX_OK;
    i->texture.array = i->array;
  }
  if (!level) i->bytes = packed, i->size = n * bytes;
  else free(packed);
  return fine;
}
static void end_image(struct session *s) {
  struct image *i = &s->image;
  mx_array_destroy(i->array);
  mx_free(s->device, i->address);
  free(i->bytes);
  free(i->left);
  *i = (struct image){0};
}

/* ---- programs ---------------------------------------------------------------------------------------------------*/
static unsigned axes_of(const struct image *i) {
  return i->desc.kind == MX_ARRAY_1D || i->desc.kind == MX_ARRAY_1D_LAYERED   ? 1
         : i->desc.kind == MX_ARRAY_2D || i->desc.kind == MX_ARRAY_2D_LAYERED ? 2
                                                                              : 3;
}
static bool is_layered(const struct image *i) {
  return i->desc.kind == MX_ARRAY_1D_LAYERED || i->desc.kind == MX_ARRAY_2D_LAYERED ||
         i->desc.kind == MX_ARRAY_CUBE_LAYERED;
}
static const char *geometry_of(const struct image *i) {
  static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
  return names[i->desc.kind];
}
/* {layer, x, y, y}: as wide as PTX wants them. */
static void put_vector(struct text *t, const char *layer, unsigned from, unsigned axes) {
  const unsigned n = axes + (layer != NULL), all = n == 3 ? 4 : n;
  put(t, "{");
  if (layer) put(t, "%s, ", layer);
  for (unsigned k = 0; k < axes; k++) put(t, "%s%%c%u", k ? ", " : "", from + k);
  if (all > n) put(t, ", %%c%u", from + axes - 1);
  put(t, "}");
}

static void put_sample(struct text *t, const struct image *i, const char *name, const char *type) {
  const unsigned axes = axes_of(i), layered = is_layered(i), level = axes + layered;
  const bool fetch = !strncmp(name, "tex1Dfetch", 10), lod = strstr(name, "Lod"), grad = strstr(name, "Grad");
  char layer[16];
  snprintf(layer, sizeof layer, "%%c%u", axes);
  if (strstr(name, "gather")) {
    for (unsigned k = 0; k < 4; k++) {
      put(t,
          "  setp.eq.u32 %%p, %%c2, %u;\n  @%%p tld4.%c.2d.v4.%s.f32 {%%d0, %%d1, %%d2, %%d3}, [%%object, {%%c0, "
          "%%c1}];\n",
          k, "rgba"[k], type);
    }
    return;
  }
  put(t, "  tex.%s%s.v4.%s.%s {%%d0, %%d1, %%d2, %%d3}, [%%object, ",
      lod    ? "level."
      : grad ? "grad."
             : "",
      geometry_of(i), type, fetch ? "s32" : "f32");
  put_vector(t, layered ? layer : NULL, 0, axes);
  put(t, "]");
  if (lod) put(t, ", %%c%u", level);
  if (grad) {
    put(t, ", ");
    put_vector(t, NULL, level, axes);
    put(t, ", ");
    put_vector(t, NULL, level + axes, axes);
  }
  put(t, ";\n");
}

static void put_access(struct text *t, const struct image *i, const char *name) {
  const unsigned axes = axes_of(i), layered = is_layered(i), channels = i->desc.channels, at = axes + layered;
  const bool write = strstr(name, "write");
  const char *mode = strrchr(name, '.');
  char layer[16];
  snprintf(layer, sizeof layer, "%%c%u", axes);
  put(t, "  %s.b.%s", write ? "sust" : "suld", geometry_of(i));
  if (channels > 1) put(t, ".v%u", channels);
  put(t, ".b%u%s ", i->desc.bits, mode);
  const char *const class = i->desc.bits < 32 ? "h" : "d";
  for (unsigned half = 0; half < 2; half++) {
    if (half) put(t, ", ");
    if (write == !half) {
      put(t, "[%%object, ");
      put_vector(t, layered ? layer : NULL, 0, axes);
      put(t, "]");
      continue;
    }
    put(t, "{");
    for (unsigned k = 0; k < channels; k++)
      put(t, "%s%%%s%u", k ? ", " : "", write && *class == 'd' ? "c" : class, write && *class == 'd' ? at + k : k);
    put(t, "}");
  }
  put(t, ";\n");
}

static void put_program(struct text *t, const struct session *s, const struct group *g, unsigned lanes,
                        const char *type) {
  const struct image *i = &s->image;
  const bool narrow = s->surfaces && i->desc.bits < 32, write = strstr(g->name, "write");
  put(t, "%s\n.entry run(.param .u64 object, .param .u64 in, .param .u64 out, .param .u32 n)\n{\n",
      lanes == 32 ? ".target sm_90" : ".target mx64");
  put(t,
      "  .reg .pred %%p;\n  .reg .u32 %%i;\n  .reg .u64 %%from, %%to;\n  .reg .b32 %%c<%u>, %%d<4>;\n  .reg .b16 "
      "%%h<4>;\n",
      g->nin + 1);
  put(t, "  mad.lo.u32 %%i, %%ctaid.x, %%ntid.x, %%tid.x;\n  setp.ge.u32 %%p, %%i, %%n;\n  @%%p exit;\n");
  put(t, "  mad.wide.u32 %%from, %%i, %u, %%in;\n  mad.wide.u32 %%to, %%i, %u, %%out;\n", 4 * g->nin,
      4 * (write ? 1 : g->nout));
  for (unsigned k = 0; k < g->nin; k++) put(t, "  ld.global.b32 %%c%u, [%%from+%u];\n", k, 4 * k);
  const unsigned at = axes_of(i) + is_layered(i);
  for (unsigned k = 0; narrow && write && k < g->nin - at; k++) put(t, "  cvt.u16.u32 %%h%u, %%c%u;\n", k, at + k);
  if (s->surfaces) put_access(t, i, g->name);
  else put_sample(t, i, g->name, type);
  for (unsigned k = 0; k < g->nout && !write; k++) {
    if (narrow) put(t, "  cvt.u32.u16 %%d%u, %%h%u;\n", k, k);
    put(t, "  st.global.b32 [%%to+%u], %%d%u;\n", 4 * k, k);
  }
  put(t, "  exit;\n}\n");
}

/* ---- runs -------------------------------------------------------------------------------------------------------*/
/* What the rules leave open: how many lines may differ from the recording, and by how much. Gradients: the size of a
 * level of detail that is no power of two, and three dimensions; filters of signed bytes: the last of 15 bits. */
static bool tolerated(const struct group *g, unsigned bad, double worst) {
  const bool gradient = strstr(g->name, "Grad"), bytes = !strcmp(g->name, "tex1D.T045");
  return (gradient && bad <= 1 + g->lines / 10 && worst < 0.06) || (bytes && bad <= 4 && worst < 3.1e-5);
}
static double apart(uint32_t a, uint32_t b) {
  float x, y;
  memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);
  const double d = fabs((double)x - (double)y);
  return d == d ? d : HUGE_VAL;
}

struct run {
  mx_module *module;
  mx_kernel *kernel;
  mx_addr in, out;
};
static bool launch(struct session *s, struct run *r, uint32_t n, unsigned lanes) {
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = (n + lanes - 1) / lanes;
  config.block[0] = lanes;
  config.jit = s->jit ? MX_JIT_ON : MX_JIT_OFF;
  const void *args[] = {&s->image.object, &r->in, &r->out, &n};
  return mx_launch_args(r->kernel, &config, args, 4) == MX_OK;
}

/* Writes: line by line, the whole surface. Returns whether it ran. */
static bool run_writes(struct session *s, struct group *g, struct run *r, unsigned lanes, unsigned *bad) {
  const size_t each = g->nin + g->nout;
  unsigned char *now = malloc(s->image.size);
  bool fine = now;
  for (size_t l = 0; l < g->lines && fine; l++) {
    const uint32_t *line = g->cells + l * each;
    fine = mx_array_copy_in(s->image.array, NULL, s->image.bytes, 0, 0) == MX_OK &&
           mx_copy_to_device(s->device, r->in, line, 4 * g->nin) == MX_OK && launch(s, r, 1, lanes) &&
           mx_array_copy_out(s->image.array, NULL, now, 0, 0) == MX_OK;
    const size_t bytes = s->image.desc.bits / 8;
    bool same = fine;
    for (size_t k = 0; k < g->nout && same; k++) same = !memcmp(now + k * bytes, &line[g->nin + k], bytes);
    *bad += fine && !same;
  }
  free(now);
  return fine;
}
static bool run_reads(struct session *s, struct group *g, struct run *r, unsigned lanes, unsigned *bad, double *worst,
                      char *first, size_t room) {
  const size_t each = g->nin + g->nout;
  uint32_t *in = malloc(4 * g->lines * g->nin), *out = malloc(4 * g->lines * g->nout);
  bool fine = in && out;
  for (size_t l = 0; l < g->lines && fine; l++) memcpy(in + l * g->nin, g->cells + l * each, 4 * g->nin);
  if (s->surfaces)
    fine =
        fine && mx_array_copy_in(s->image.array, NULL, s->image.left ? s->image.left : s->image.bytes, 0, 0) == MX_OK;
  fine = fine && mx_copy_to_device(s->device, r->in, in, 4 * g->lines * g->nin) == MX_OK &&
         launch(s, r, (uint32_t)g->lines, lanes) &&
         mx_copy_from_device(s->device, out, r->out, 4 * g->lines * g->nout) == MX_OK;
  for (size_t l = 0; l < g->lines && fine; l++) {
    const uint32_t *want = g->cells + l * each + g->nin, *got = out + l * g->nout;
    bool same = true;
    for (unsigned k = 0; k < g->nout; k++) {
      if (want[k] == got[k]) continue;
      same = false;
      const double d = apart(want[k], got[k]);
      if (d > *worst) *worst = d;
      if (!*first) snprintf(first, room, "line %zu, channel %u: want %08x got %08x", l, k, want[k], got[k]);
    }
    *bad += !same;
  }
  free(in);
  free(out);
  return fine;
}

static void run(struct session *s, struct group *g, const char *type) {
  for (unsigned lanes = 32; lanes <= 64; lanes *= 2) {
    struct text t = {0};
    struct run r = {0};
    char *messages = NULL, first[256] = "";
    unsigned bad = 0;
    double worst = 0;
    put_program(&t, s, g, lanes, type);
    bool fine = mx_module_load_text(s->device, t.s, t.n, NULL, &r.module, &messages) == MX_OK &&
                mx_module_kernel(r.module, "run", &r.kernel) == MX_OK &&
                mx_alloc(s->device, 4 * g->lines * g->nin + 4, &r.in) == MX_OK &&
                mx_alloc(s->device, 4 * g->lines * g->nout + 4, &r.out) == MX_OK;
    if (fine)
      fine = strstr(g->name, "write") ? run_writes(s, g, &r, lanes, &bad)
                                      : run_reads(s, g, &r, lanes, &bad, &worst, first, sizeof first);
    if (!fine) {
      char *text = messages ? NULL : mx_last_error_text(s->device);
      snprintf(first, sizeof first, "%s", messages ? messages : text ? text : "not run");
      mx_text_free(text);
    }
    s->n->elements += g->lines * g->nout;
    if (fine && (!bad || tolerated(g, bad, worst))) s->n->passed++;
    else
      s->n->failed++, printf("%s: %s, %u lanes: %u of %zu lines differ, by %g at most; %s\n", s->file, g->name, lanes,
                             bad, g->lines, worst, first);
    mx_text_free(messages);
    mx_free(s->device, r.in);
    mx_free(s->device, r.out);
    if (r.module) mx_module_unload(r.module);
    free(t.s);
  }
}

/* A recording's reads see what the writes before them left, also where those are not run. */
static void leave(struct image *i, const struct group *g) {
  const size_t bytes = i->desc.bits / 8;
  free(i->left);
  i->left = malloc(i->size);
  if (!i->left) abort();
  for (size_t k = 0; k < g->nout; k++)
    memcpy(i->left + k * bytes, g->cells + (g->lines - 1) * (g->nin + g->nout) + g->nin + k, bytes);
}

/* ---- files ------------------------------------------------------------------------------------------------------*/
/* The type of results, in "# tex2D.T052: f32,f32 -> f32". */
static void result_type(const char *line, char type[8]) {
  const char *arrow = strstr(line, "-> ");
  snprintf(type, 8, "%.3s", arrow ? arrow + 3 : "f32");
}

bool mx__run_textures(const char *path, const char *only, unsigned every, const struct how *how, struct tally *n) {
  FILE *in = fopen(path, "r");
  if (!in) return false;
  char *line = NULL;
  size_t room = 0;
  ssize_t length = getline(&line, &room, in);
  if (length < 6 || strncmp(line, "# @id ", 6)) return free(line), fclose(in), false;
  struct session s = {.file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
                      .jit = how->jit,
                      .surfaces = strstr(line, "surface"),
                      .n = n};
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.threads = how->threads;
  if (mx_device_create(&options, &s.device) != MX_OK) return free(line), fclose(in), false;
  struct group g = {0};
  char type[8] = "f32";
  unsigned number = 0;
  static uint32_t cells[MOST_CELLS];
  for (bool more = true; more;) {
    more = (length = getline(&line, &room, in)) > 0;
    const size_t name = more ? strcspn(line, "\t\n") : 0;
    const bool data = more && *line != '#' && *line != '@';
    if (g.lines && (!data || strncmp(g.name, line, name) || g.name[name])) {
      if ((!only || strstr(g.name, only)) && number++ % every == 0) run(&s, &g, type);
      if (strstr(g.name, "write")) leave(&s.image, &g);
      g.lines = 0;
    }
    if (!more) break;
    if (*line == '#') result_type(line, type);
    if (*line == '@') {
      const char *dot = strchr(line, '.'), *tab = strchr(line, '\t');
      const bool level = dot && dot < strchr(line, ' ');
      bool fine = true;
      if (!level) end_image(&s), read_image(&s.image, line, s.surfaces);
      if (tab) fine = add_level(&s, &s.image, level ? (unsigned)atoi(dot + 2) : 0, tab + 1);
      const bool last = s.surfaces || (level && (unsigned)atoi(dot + 2) + 1 == s.image.desc.levels);
      if (fine && last)
        fine = (s.surfaces ? mx_surface_create(s.image.array, 0, &s.image.object)
                           : mx_texture_create(s.device, &s.image.texture, &s.image.object)) == MX_OK;
      if (!fine) {
        char *text = mx_last_error_text(s.device);
        n->failed++, printf("%s: %s: %s\n", s.file, s.image.id, text ? text : "not made");
        mx_text_free(text);
      }
    }
    if (!data || length < 2) continue;
    const char *second = strchr(line, '\t') + 1, *third = strchr(second, '\t');
    if (!third) continue;
    const size_t nin = read_cells(second, cells, MOST_IN),
                 nout = read_cells(third + 1, cells + nin, MOST_CELLS - MOST_IN);
    snprintf(g.name, sizeof g.name, "%.*s", (int)name, line);
    g.nin = (unsigned)nin, g.nout = (unsigned)nout;
    if ((g.lines + 1) * (nin + nout) > g.room) {
      g.room = 2 * (g.lines + 1) * (nin + nout);
      g.cells = realloc(g.cells, g.room * sizeof *g.cells);
      if (!g.cells) abort();
    }
    memcpy(g.cells + g.lines++ * (nin + nout), cells, (nin + nout) * sizeof *cells);
  }
  end_image(&s);
  mx_device_destroy(s.device);
  free(g.cells);
  free(line);
  fclose(in);
  return true;
}

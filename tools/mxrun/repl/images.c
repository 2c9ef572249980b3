/* Images in sessions: which there are, what a texture gives at a place, a picture in the terminal. */
#include "mx/texture.h"
#include "repl.h"

#include <stdlib.h>
#include <string.h>

static const char *const geometries[] = {"1d", "2d", "3d", "1dlayered", "2dlayered", "cube", "cubelayered"};
static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};

static void format_text(char *to, size_t n, mx_texel_type type, uint32_t bits, uint32_t channels) {
  snprintf(to, n, "%c%ux%u", "usf"[type], bits, channels);
}

/* Arguments that are textures or surfaces. */
bool info_textures(struct repl *r, const char *rest) {
  (void)rest;
  size_t shown = 0;
  for (size_t k = 0; k < r->args.n; k++) {
    const struct arg *a = &r->args.arg[k];
    mx_array_desc d = {.struct_size = sizeof d};
    mx_texture_desc t = {.struct_size = sizeof t};
    uint64_t number;
    char what[16];
    if (!a->array || mx_array_get_desc(a->array, &d) != MX_OK) continue;
    memcpy(&number, r->args.params + a->param.offset, sizeof number);
    format_text(what, sizeof what, d.type, d.bits, d.channels);
    say("%-12s ", a->name);
    const bool is_texture = mx_texture_get_desc(r->d, number, &t) == MX_OK;
    printf("%s, %s %u", is_texture ? "texture" : "surface", geometries[d.kind], d.width);
    if (d.height > 1) printf("x%u", d.height);
    if (d.depth > 1) printf("x%u", d.depth);
    printf(" %s", what);
    if (d.layers > 1) printf(", %u layers", d.layers);
    if (d.levels > 1) printf(", %u levels", d.levels);
    if (is_texture)
      printf("; %s, %s, %s coordinates%s%s", t.filter == MX_FILTER_LINEAR ? "linear" : "point",
             modes[t.address_mode[0]], t.normalized_coords ? "normalized" : "texel",
             t.normalized_read && d.type != MX_TEXEL_FLOAT ? ", read as floats" : "", t.srgb ? ", sRGB" : "");
    printf("\n");
    shown++;
  }
  if (!shown) printf("no textures and no surfaces\n");
  return true;
}

/* ---- samples --------------------------------------------------------------------------------------------------*/
enum { MOST_COORDS = 4 };
static double lane_of(const struct value *v, unsigned l) {
  return v->kind == VALUE_REAL ? v->lane[l].f : v->kind == VALUE_SIGNED ? (double)v->lane[l].i : (double)v->lane[l].u;
}
static bool print_sample(struct repl *r, const char *name, const struct value *texture, const struct value *at,
                         unsigned n, unsigned lane, bool all) {
  const uint64_t number = texture->lane[lane].u;
  float coords[MOST_COORDS];
  uint32_t got[4];
  mx_texture_desc t = {.struct_size = sizeof t};
  for (unsigned k = 0; k < n; k++) coords[k] = (float)lane_of(&at[k], lane);
  if (mx_texture_get_desc(r->d, number, &t) != MX_OK || mx_texture_sample(r->d, number, coords, n, 0, got) != MX_OK)
    return complain_status(r, MX_INVALID_VALUE);
  const bool floats = t.type == MX_TEXEL_FLOAT || (t.normalized_read && t.bits < 32);
  const char *type = floats ? "f32" : t.type == MX_TEXEL_SIGNED ? "s32" : "u32";
  struct text line = {0};
  for (unsigned c = 0; c < t.channels; c++) {
    text_printf(&line, c ? ", " : "");
    elem_print(&line, elem_find(type, 3), &got[c]);
  }
  if (all) say("%s @ %u = {%s}\n", name, lane, line.s);
  else say("%s = {%s}\n", name, line.s);
  text_free(&line);
  return true;
}
/* print tex(TEXTURE, X, Y ...): all channels, read at the first level; the layer comes last. False: it is something
 * else. */
bool is_sample(struct repl *r, const char *arguments, bool *good) {
  struct value texture, at[MOST_COORDS];
  unsigned n = 0;
  const char *rest;
  if (strncmp(arguments, "tex(", 4)) return false;
  *good = false;
  if (!evaluate(r, arguments + 4, &rest, &texture)) return true;
  bool uniform = texture.uniform;
  for (; *rest == ',' && n < MOST_COORDS; n++) {
    if (!evaluate(r, rest + 1, &rest, &at[n])) return true;
    uniform &= at[n].uniform;
    if (at[n].unset) return complain(r, "a coordinate is not set yet"), true;
  }
  if (strcmp(rest, ")") || !n) return complain(r, "expected tex(TEXTURE, X, Y ...)"), true;
  const uint64_t lanes = uniform ? 1 : focus_lanes(r);
  *good = true;
  for (unsigned l = 0; l < warp_lanes(r) && *good; l++)
    if (lanes >> l & 1) *good = print_sample(r, arguments, &texture, at, n, l, !uniform);
  return true;
}

/* ---- pictures -------------------------------------------------------------------------------------------------*/
/* The mean of a cell's values, all channels but a fourth one. */
static double cell(const struct data *d, uint64_t x0, uint64_t x1, uint64_t y0, uint64_t y1, uint64_t channels) {
  const size_t size = d->type->size;
  const uint64_t colours = channels == 4 ? 3 : channels;
  double sum = 0, n = 0;
  for (uint64_t y = y0; y < y1; y++)
    for (uint64_t x = x0; x < x1; x++)
      for (uint64_t c = 0; c < colours; c++, n++)
        sum += elem_real(d->type, d->bytes + ((y * d->dims[1] + x) * channels + c) * size);
  return n > 0 ? sum / n : 0;
}
/* In characters, two rows of the picture to a line. */
bool draw_picture(struct repl *r, const struct data *d) {
  static const char ramp[] = " .:-=+*#%@";
  enum { MOST_COLUMNS = 64, MOST_LINES = 64 };
  if (d->ndims < 2 || d->ndims > 3 || !d->type) return complain(r, "only what has rows and columns is a picture");
  const uint64_t height = d->dims[0], width = d->dims[1], channels = d->ndims == 3 ? d->dims[2] : 1;
  const uint64_t columns = width < MOST_COLUMNS ? width : MOST_COLUMNS;
  uint64_t lines = (height * columns / width + 1) / 2;
  lines = lines > MOST_LINES ? MOST_LINES : lines ? lines : 1;
  double shade[MOST_LINES][MOST_COLUMNS], least = 1e300, most = -1e300;
  for (uint64_t y = 0; y < lines; y++)
    for (uint64_t x = 0; x < columns; x++) {
      const double v = shade[y][x] = cell(d, x * width / columns, (x + 1) * width / columns, y * height / lines,
                                          (y + 1) * height / lines, channels);
      least = v < least ? v : least, most = v > most ? v : most;
    }
  for (uint64_t y = 0; y < lines; y++) {
    char line[MOST_COLUMNS + 1] = {0};
    for (uint64_t x = 0; x < columns; x++)
      line[x] = ramp[most > least ? (int)((shade[y][x] - least) / (most - least) * 9.0 + 0.5) : 0];
    printf("|%s|\n", line);
  }
  printf("%llu x %llu, %g to %g\n", (unsigned long long)width, (unsigned long long)height, least, most);
  return true;
}

/* The bench's ratios as bars on a logarithmic scale, drawn into a PNG: how many times as fast as PoCL each contestant is
 * (without PoCL: as the C by hand). A font of 5 x 7 dots is all the writing there is. */
#include "bench.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 20, GAP = 22, LEFT = 110, RIGHT = 24, TOP = 84, BOTTOM = 44, PLOT = 600, MAX_BARS = BENCH_CONTESTANTS };
struct canvas { int width, height; uint8_t *rgb; };

static void box(struct canvas *c, int x, int y, int w, int h, uint32_t color) {
  for (int j = y < 0 ? 0 : y; j < y + h && j < c->height; j++)
    for (int i = x < 0 ? 0 : x; i < x + w && i < c->width; i++) {
      uint8_t *p = c->rgb + 3 * ((size_t)j * (size_t)c->width + (size_t)i);
      p[0] = (uint8_t)(color >> 16), p[1] = (uint8_t)(color >> 8), p[2] = (uint8_t)color;
    }
}

/* Seven rows of five dots, the leftmost is 16. */
static const struct glyph { char c; uint8_t row[7]; } glyphs[] = {
  {'0', {0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E}}, {'1', {0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E}}, {'2', {0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F}},
  {'3', {0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E}}, {'4', {0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02}}, {'5', {0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E}},
  {'6', {0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E}}, {'7', {0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08}}, {'8', {0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E}},
  {'9', {0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C}}, {'a', {0x00, 0x00, 0x0E, 0x01, 0x0F, 0x11, 0x0F}}, {'b', {0x10, 0x10, 0x16, 0x19, 0x11, 0x11, 0x1E}},
  {'c', {0x00, 0x00, 0x0E, 0x10, 0x10, 0x11, 0x0E}}, {'d', {0x01, 0x01, 0x0D, 0x13, 0x11, 0x11, 0x0F}}, {'e', {0x00, 0x00, 0x0E, 0x11, 0x1F, 0x10, 0x0E}},
  {'f', {0x06, 0x09, 0x08, 0x1C, 0x08, 0x08, 0x08}}, {'g', {0x00, 0x0F, 0x11, 0x11, 0x0F, 0x01, 0x0E}}, {'h', {0x10, 0x10, 0x16, 0x19, 0x11, 0x11, 0x11}},
  {'i', {0x04, 0x00, 0x0C, 0x04, 0x04, 0x04, 0x0E}}, {'j', {0x02, 0x00, 0x06, 0x02, 0x02, 0x12, 0x0C}}, {'k', {0x10, 0x10, 0x12, 0x14, 0x18, 0x14, 0x12}},
  {'l', {0x0C, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0E}}, {'m', {0x00, 0x00, 0x1A, 0x15, 0x15, 0x11, 0x11}}, {'n', {0x00, 0x00, 0x16, 0x19, 0x11, 0x11, 0x11}},
  {'o', {0x00, 0x00, 0x0E, 0x11, 0x11, 0x11, 0x0E}}, {'p', {0x00, 0x00, 0x1E, 0x11, 0x1E, 0x10, 0x10}}, {'q', {0x00, 0x00, 0x0D, 0x13, 0x0F, 0x01, 0x01}},
  {'r', {0x00, 0x00, 0x16, 0x19, 0x10, 0x10, 0x10}}, {'s', {0x00, 0x00, 0x0E, 0x10, 0x0E, 0x01, 0x1E}}, {'t', {0x08, 0x08, 0x1C, 0x08, 0x08, 0x09, 0x06}},
  {'u', {0x00, 0x00, 0x11, 0x11, 0x11, 0x13, 0x0D}}, {'v', {0x00, 0x00, 0x11, 0x11, 0x11, 0x0A, 0x04}}, {'w', {0x00, 0x00, 0x11, 0x11, 0x15, 0x15, 0x0A}},
  {'x', {0x00, 0x00, 0x11, 0x0A, 0x04, 0x0A, 0x11}}, {'y', {0x00, 0x00, 0x11, 0x11, 0x0F, 0x01, 0x0E}}, {'z', {0x00, 0x00, 0x1F, 0x02, 0x04, 0x08, 0x1F}},
  {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0C, 0x0C}}, {',', {0x00, 0x00, 0x00, 0x00, 0x0C, 0x04, 0x08}}, {'-', {0x00, 0x00, 0x00, 0x1F, 0x00, 0x00, 0x00}},
  {'/', {0x00, 0x01, 0x02, 0x04, 0x08, 0x10, 0x00}}, {':', {0x00, 0x0C, 0x0C, 0x00, 0x0C, 0x0C, 0x00}}};

static int text_width(const char *s, int scale) { return (int)strlen(s) * 6 * scale - scale; }
static void text(struct canvas *c, int x, int y, const char *s, int scale, uint32_t color) {
  for (; *s; s++, x += 6 * scale)
    for (size_t g = 0; g < sizeof glyphs / sizeof *glyphs; g++)
      for (int d = 0; glyphs[g].c == *s && d < 35; d++)
        if (glyphs[g].row[d / 5] >> (4 - d % 5) & 1) box(c, x + d % 5 * scale, y + d / 5 * scale, scale, scale, color);
}

static bool save(const char *path, const struct canvas *c) {
  png_image image = {.version = PNG_IMAGE_VERSION, .width = (png_uint_32)c->width, .height = (png_uint_32)c->height, .format = PNG_FORMAT_RGB};
  return png_image_write_to_file(&image, path, 0, c->rgb, 0, NULL);
}

/* As short as will do: "1/40", "0.7", "12". */
static void short_number(char out[16], double v) {
  if (v < 0.095) snprintf(out, 16, "1/%.0f", 1 / v);
  else snprintf(out, 16, v < 9.95 ? "%.1f" : "%.0f", v);
}

bool bench_plot(const char *path, const struct bench_figures *f) {
  static const uint32_t colors[BENCH_CONTESTANTS] = {0x1f4fa8, 0x86b1e8, 0x8a8a8a, 0x404040, 0xd08a2e, 0xc9564b};
  const enum bench_who base = f->open[BENCH_POCL] ? BENCH_POCL : BENCH_BEST;
  enum bench_who who[MAX_BARS];
  int bars = 0;
  for (int e = 0; e < BENCH_CONTESTANTS; e++)
    if (f->open[e] && e != (int)base) who[bars++] = (enum bench_who)e;
  /* a group for each kernel and one for the geometric mean */
  double value[BENCH_KERNELS + 1][MAX_BARS], least = 1, most = 1;
  for (int b = 0; b < bars; b++) {
    double sum = 0;
    int n = 0;
    for (int k = 0; k < f->kernels; k++) {
      value[k][b] = f->ms[who[b]][k] > 0 && f->ms[base][k] > 0 ? f->ms[base][k] / f->ms[who[b]][k] : 0;
      if (value[k][b] > 0) sum += log(value[k][b]), n++;
    }
    value[f->kernels][b] = n ? exp(sum / n) : 0;
    for (int k = 0; k <= f->kernels; k++)
      if (value[k][b] > 0) least = fmin(least, value[k][b]), most = fmax(most, value[k][b]);
  }
  const int low = (int)floor(log10(least)), high = (int)ceil(log10(most) + 0.1), group = bars * BAR + GAP;
  struct canvas c = {.width = LEFT + RIGHT + (f->kernels + 1) * group, .height = TOP + PLOT + BOTTOM};
  c.rgb = malloc(3 * (size_t)c.width * (size_t)c.height);
  if (!c.rgb) return false;
  box(&c, 0, 0, c.width, c.height, 0xffffff);
#define Y(v_) (TOP + (int)lround((high - log10(v_)) * PLOT / (high - low)))
  for (int e = low; e <= high; e++) {
    for (int m = 1; m < 10 && (e < high || m == 1); m++)
      box(&c, LEFT, Y(m * pow(10, e)), c.width - LEFT - RIGHT, 1, m == 1 ? 0xb8b8b8 : 0xececec);
    char label[16];
    snprintf(label, sizeof label, e < 0 ? "1/%.0f" : "%.0f", pow(10, abs(e)));
    text(&c, LEFT - 8 - text_width(label, 2), Y(pow(10, e)) - 7, label, 2, 0x303030);
  }
  for (int k = 0; k <= f->kernels; k++) {
    const int x = LEFT + k * group + GAP / 2;
    for (int b = 0; b < bars; b++) {
      const double v = value[k][b];
      if (!(v > 0)) continue;
      const int at = Y(v), one = Y(1), left = x + b * BAR;
      box(&c, left, v > 1 ? at : one, BAR - 2, abs(at - one) + 1, colors[who[b]]);
      char label[16];
      short_number(label, v);
      text(&c, left + (BAR - 2 - text_width(label, 1)) / 2, v > 1 ? at - 10 : at + 4, label, 1, 0x101010);
    }
    const char *name = k < f->kernels ? f->kernel[k] : "mean";
    text(&c, x + (bars * BAR - text_width(name, 2)) / 2, TOP + PLOT + 16, name, 2, 0x101010);
  }
  box(&c, LEFT, Y(1), c.width - LEFT - RIGHT, 2, colors[base]);
  char title[128];
  snprintf(title, sizeof title, "how many times as fast as %s, all processors, median of %d runs", base == BENCH_POCL ? "pocl 3.1" : "c by hand", f->rounds);
  text(&c, LEFT, 16, title, 2, 0x101010);
  for (int b = 0, x = LEFT; b < bars; b++) {
    const char *name = bench_who_name[who[b]];
    box(&c, x, 50, 16, 16, colors[who[b]]);
    text(&c, x + 24, 51, name, 2, 0x303030);
    x += 24 + text_width(name, 2) + 36;
  }
  const bool good = save(path, &c);
  free(c.rgb);
  return good;
}

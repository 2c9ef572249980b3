/* Cases on grids: pictures, stencils, matrices, transforms. */
#include "foreign.h"

#include <math.h>
#include <stdlib.h>

static void heat_tiles(void) {
  K("heat_tiles.cl", "heat_tiles", "-DTILE=16");
  const int n = 512, steps = 3, useful = 16 - 2 * steps, g = (n + useful - 1) / useful;
  int s = B(F32, n * n, 0, 0.5), a = B(F32, n * n, 320, 340), b = out(B(F32, n * n, 0, 0));
  it.buffer[b].tolerance = 1e-5;
  P(s), P(a), P(b), I(n), I(n), I(steps), F(0.1f), F(0.12f), F(0.02f), F(300), F(0.5f);
  G2(g * 16, g * 16, 16, 16);
}
static void row_dp(void) {
  K("row_dp.cl", "row_dp", "");
  const int width = 100000, rows = 20, bs = 256, own = bs - 2 * rows, g = (width + own - 1) / own;
  int c = B(I32, (size_t)width * (rows + 4), 0, 10), f = B(I32, width, 0, 100), t = out(B(I32, width, 0, 0)),
      w = out(B(U8, (size_t)width * (rows + 4), 9, 9));
  P(c), P(f), P(t), P(w), I(width), I(4), I(rows), S(bs * 4), S(bs * 4);
  G1((size_t)g * bs, bs);
}
static void align_wave(void) {
  K("align_wave.cl", "align_wave", "");
  const int pairs = 32, n = 512, tiles = n / 16, pitch = n + 1, gap = 4;
  int t = B(U8, pairs * n, 0, 20), s = B(U8, pairs * n, 0, 20), sim = B(U8, 24 * 24, 0, 8),
      m = out(B(I32, (size_t)pairs * pitch * pitch, 0, 0));
  for (int i = 0; i < 24; i++)
    for (int j = 0; j < 24; j++) u8p(sim)[i * 24 + j] = i == j ? 4 + i % 5 : (char)(rnd() % 7) - 4;
  for (size_t p = 0; p < pairs; p++)
    for (int y = 0; y <= n; y++)
      for (int x = 0; x <= n; x++)
        ip(m)[(p * pitch + y) * pitch + x] = x + y <= n ? (x < y ? x : y) - gap * abs(x - y) / 2 - (int)(rnd() % 3)
                                                        : 0; /* what the waves before this one would leave, about */
  P(t), P(s), P(sim), P(m), I(n), I(tiles - 1), I(tiles), I(0), I(gap);
  G1(pairs * tiles * 16, 16);
}
static void stencil9(void) {
  K("stencil9.cl", "stencil9", "");
  const int w = 770, h = 500, tiles = 4;
  int a = B(F64, w * h, -1, 1), b = out(B(F64, w * h, 0, 0));
  P(a), P(b), S(34 * 10 * 8), I(w), I(h), I(tiles), D(0.5), D(0.1), D(0.025);
  G2((w - 2 + 31) / 32 * 32, (h - 2 + 8 * tiles - 1) / (8 * tiles) * 8, 32, 8);
}
static void dilate(void) {
  K("dilate.cl", "dilate_disk", "");
  const int w = 250, h = 180, r = 6, side = 2 * r + 1;
  int in = B(U8, w * h, 0, 0), o = out(B(U8, w * h, 0, 0)), m = B(U8, side * side, 0, 0);
  scene(u8p(in), w, h, 0, 0, 60);
  for (int y = 0; y < side; y++)
    for (int x = 0; x < side; x++) u8p(m)[y * side + x] = (x - r) * (x - r) + (y - r) * (y - r) <= r * r;
  P(in), P(o), P(m), S((32 + 2 * r) * (8 + 2 * r)), I(w), I(h), I(r);
  G2((w + 31) / 32 * 32, (h + 7) / 8 * 8, 32, 8);
}
static void blockmatch(void) {
  K("blockmatch.cl", "block_match", "");
  const int w = 240, h = 192, bw = w / 16, bh = h / 16;
  int now = B(U8, w * h, 0, 0), old = B(U8, w * h, 0, 0), v = out(B(U16, bw * bh * 2, 0, 0)),
      c = out(B(U16, bw * bh, 0, 0)), parts = out(B(U16, bw * bh * 16, 0, 0));
  scene(u8p(old), w, h, 0, 0, 12);
  scene(u8p(now), w, h, 3.2, -4.7, 12);
  P(now), P(old), P(v), P(c), P(parts), I(w), I(h);
  G2(bw * 64, bh, 64, 1);
}
static void rgbwave(void) {
  K("rgbwave.cl", "rgb_wave", "");
  const int w = 394, h = 300;
  int s = B(U8, w * h * 3, 0, 0), y = out(B(I32, w * h, 0, 0)), u = out(B(I32, w * h, 0, 0)),
      v = out(B(I32, w * h, 0, 0));
  scene(u8p(s), w * 3, h, 0, 0, 30);
  P(s), P(y), P(u), P(v), I(w), I(h), I(3);
  G2((w + 15) / 16 * 16, (h + 15) / 16 * 16, 16, 16);
}
static void ellipse(void) {
  K("ellipse.cl", "ellipse_fit", "");
  const int w = 200, h = 140, shapes = 7, angles = 48, edge = 20;
  int gx = B(F32, w * h, 0, 0), gy = B(F32, w * h, 0, 0), s = B(F32, shapes * angles * 4, 0, 0),
      q = out(B(F32, w * h, 0, 0)), k = out(B(U8, w * h, 0, 0));
  uint8_t *p = malloc(w * h);
  scene(p, w, h, 0, 0, 20);
  for (int y = 1; y < h - 1; y++)
    for (int x = 1; x < w - 1; x++) {
      fp(gx)[y * w + x] = (p[y * w + x + 1] - p[y * w + x - 1]) / 16.0f;
      fp(gy)[y * w + x] = (p[y * w + w + x] - p[y * w - w + x]) / 16.0f;
    }
  free(p);
  for (int m = 0; m < shapes; m++)
    for (int a = 0; a < angles; a++) {
      const double t = 6.283185307 * a / angles, rx = 6 + 2 * m, ry = 18 - 1.7 * m, l = hypot(cos(t) / rx, sin(t) / ry);
      float *o = fp(s) + 4 * (m * angles + a);
      o[0] = rint(rx * cos(t));
      o[1] = rint(ry * sin(t));
      o[2] = cos(t) / rx / l;
      o[3] = sin(t) / ry / l;
    }
  P(gx), P(gy), P(s), P(q), P(k), I(w), I(h), I(shapes), I(angles), I(edge);
  G2((w + 15) / 16 * 16, (h + 7) / 8 * 8, 16, 8);
}
static void layer_sum(void) {
  K("layer_sum.cl", "layer_sum", "");
  const int in = 65536 - 5, g = 4096;
  int x = B(F32, in, 0, 1), w = B(F32, (size_t)g * 256, -1, 1), s = out(B(F32, g * 16, 0, 0));
  P(x), P(w), P(s), I(in), I(16);
  G2(16, g * 16, 16, 16);
}
static int system_of(int batch, int n) { /* matrices with a heavy diagonal */
  int m = out(B(F32, (size_t)batch * n * n, -1, 1));
  it.buffer[m].tolerance = 5e-3;
  for (int b = 0; b < batch; b++)
    for (int i = 0; i < n; i++) fp(m)[((size_t)b * n + i) * n + i] += 12;
  return m;
}
static void lu_corner(void) {
  K("lu.cl", "lu_corner", "");
  const int n = 64, batch = 1024;
  P(system_of(batch, n)), I(n), I(16);
  G1(batch * 16, 16);
}
static void lu_border(void) {
  K("lu.cl", "lu_border", "");
  const int n = 256, batch = 32;
  P(system_of(batch, n)), I(n), I(16);
  G2((n - 32) * 2, batch, 32, 1);
}
static void lu_inside(void) {
  K("lu.cl", "lu_inside", "");
  const int n = 784;
  P(system_of(1, n)), I(n), I(32);
  G2(n - 48, n - 48, 16, 16);
}
static void covariance(void) {
  K("covariance.cl", "covariance", "");
  const int m = 256, n = 256;
  int t = B(F32, m * n, -1, 1), e = B(F32, m, 0, 0), d = B(F32, m, 0, 0), r = out(B(F32, m * m, 0, 0));
  it.buffer[r].tolerance = 1e-2;
  for (int j = 0; j < m; j++) {
    double s = 0;
    for (int i = 0; i < n; i++) s += fp(t)[i * m + j];
    fp(e)[j] = s / n;
  }
  for (int j = 0; j < m; j++) {
    double s = 0;
    for (int i = 0; i < n; i++) s += pow(fp(t)[i * m + j] - fp(e)[j], 2);
    fp(d)[j] = sqrt(s / n);
  }
  P(t), P(e), P(d), P(r), I(m), I(n), I(1);
  G1(m, 64);
}
static void atax(void) {
  K("atax.cl", "atax", "");
  const int n = 1021, m = 2000;
  int a = B(F64, (size_t)n * m, -1, 1), x = B(F64, n, -1, 1), y = out(B(F64, m, 0, 1));
  P(a), P(x), P(y), I(n), I(m);
  G1(2048, 128);
}
static void fft512(void) {
  K("fft512.cl", "fft512", "");
  const int n = 384;
  int d = out(B(F32, n * 512 * 2, -1, 1));
  it.buffer[d].tolerance = 1e-2; /* of 1e-3 at least: sums of 512 */
  P(d), F(1);
  G1(n * 64, 64);
}

const struct foreign_name foreign_grids[] = {{"heat_tiles", heat_tiles}, {"row_dp", row_dp},
                                             {"align_wave", align_wave}, {"stencil9", stencil9},
                                             {"dilate", dilate},         {"blockmatch", blockmatch},
                                             {"rgbwave", rgbwave},       {"ellipse", ellipse},
                                             {"layer_sum", layer_sum},   {"lu_corner", lu_corner},
                                             {"lu_border", lu_border},   {"lu_inside", lu_inside},
                                             {"covariance", covariance}, {"atax", atax},
                                             {"fft512", fft512},         {NULL, NULL}};

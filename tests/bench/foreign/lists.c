/* Cases on lists: graphs, sparse matrices, sorting, searching, particles, random numbers. */
#include "foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}
static int rows_of(int rows, int most, int *start) {
  *start = B(I32, rows + 1, 0, 0);
  int at = 0;
  for (int i = 0; i < rows; i++) {
    ip(*start)[i] = at;
    int d = rnd() % most;
    at += rnd() % 64 ? d / 2 : d * 3;
  }
  ip(*start)[rows] = at;
  return at;
}
static void bfs_flags(void) {
  K("bfs_flags.cl", "bfs_flags", "");
  const int n = 1 << 18;
  int r, m = rows_of(n, 16, &r), e = B(I32, m, 0, n), f = B(U8, n, 0, 0), s = B(U8, n, 0, 0), x = out(B(U8, n, 0, 0)),
         l = out(B(I32, n, -1, -1)), o = out(B(U8, n / 256, 9, 9));
  for (int i = 0; i < n; i++) {
    int on = rnd() % 3 == 0;
    u8p(f)[i] = on;
    u8p(s)[i] = on || rnd() % 3 == 0;
    if (u8p(s)[i]) ip(l)[i] = on ? 6 : rnd() % 6;
  }
  P(r), P(e), P(f), P(s), P(x), P(l), P(o), I(n);
  G1(n, 256);
}
static void relax_queue(void) {
  K("relax_queue.cl", "relax_queue", "");
  const int n = 1 << 18, count = 60000;
  int r, m = rows_of(n, 16, &r), e = B(I32, m, 0, n), len = B(U16, m, 1, 1000), w = B(I32, count, 0, 0),
         b = B(I32, n, 0, 0);
  for (int i = 0; i < n; i++) ip(b)[i] = rnd() % 3 ? 0x3fffffff : 500 + rnd() % 3000;
  for (int i = 0, at = 0; i < count; i++) {
    do at = (at + 1 + rnd() % 3) % n;
    while (ip(b)[at] == 0x3fffffff);
    ip(w)[i] = at;
  }
  int d = out(B(I32, n, 0, 0));
  memcpy(ip(d), ip(b), n * 4);
  int st = out(B(I32, n, 0, 0)), x = mut(B(I32, n, 0, 0)),
      xc = out(B(I32, 1, 0, 0)); /* the order of the next worklist is left open */
  P(r), P(e), P(len), P(w), I(count), P(b), P(d), P(st), P(x), P(xc), I(3);
  G1((count + 127) / 128 * 128, 128);
}
static int matrix(int rows, int most) { /* start column value x; returns y */
  int s, m = rows_of(rows, most, &s), c = B(I32, m, 0, 0), v = B(F32, m, -1, 1), x = B(F32, rows, -1, 1),
         y = out(B(F32, rows, -1, 1));
  it.buffer[y].tolerance = 5e-3;
  for (int i = 0; i < rows; i++)
    for (int k = ip(s)[i]; k < ip(s)[i + 1]; k++) ip(c)[k] = rnd() % 8 ? (i + rnd() % 4096) % rows : rnd() % rows;
  P(s), P(c), P(v), P(x), P(y), I(rows);
  return y;
}
static void spmv_row(void) {
  K("spmv_row.cl", "spmv_row", "");
  const int n = 65536, most = 512;
  matrix(n, 96);
  int o = B(I32, n, 0, 0), at = 0;
  for (int l = 0; l < most; l += 16)
    for (int i = 0; i < n; i++) {
      int d = ip(0)[i + 1] - ip(0)[i];
      if (d >= l && d < l + 16) ip(o)[at++] = i;
    }
  P(o), F(1.5f), F(0.5f);
  G1(n, 128);
}
static void spmv_warp(void) {
  K("spmv_warp.cl", "spmv_warp", "");
  const int n = 16384;
  matrix(n, 256);
  G1(1024 * 128, 128);
}
static void radix_count(void) {
  K("radix_count.cl", "radix_count", "");
  const int n = 1 << 20, g = 64, bs = 128;
  int k = B(I32, n, 0, 2e9), t = out(B(I32, 16 * g, 0, 0));
  P(k), P(t), I(n - 77), I(8), S(16 * bs * 4);
  G1(g * bs, bs);
}
static void digit_scan(void) {
  K("digit_scan.cl", "digit_scan", "");
  const int n = (1 << 17) - 333, g = 32, bs = 128, part = (n + g - 1) / g;
  int k = B(I32, n, 0, 2e9), t = out(B(I32, n, 0, 0)), p = B(I32, 16 * g, 0, 0);
  for (int i = 0; i < n; i++) ip(p)[(ip(k)[i] >> 8 & 15) * g + i / part]++;
  for (int i = 0, at = 0; i < 16 * g; i++) {
    int c = ip(p)[i];
    ip(p)[i] = at;
    at += c;
  }
  P(k), P(t), P(p), I(n), I(8), S(2 * bs * 4);
  G1(g * bs, bs);
}
static void lj_force(void) {
  K("lj_force.cl", "lj_force", "");
  const int n = 12288, most = 96;
  const float box = 24, cut = 2.5f;
  int p = B(F32, 4 * n, 0, box), c = B(U16, n, 0, 0), l = B(I32, (size_t)most * n, 0, 0), f = out(B(F32, 4 * n, 0, 0));
  it.buffer[f].tolerance = 1e-2;
  for (int i = 0; i < n; i++) { /* atoms near a grid's points, in its order, so that none are too near to each other */
    int k = i * 13824L / n;
    fp(p)[4 * i] = k % 24 + uni() * 0.2;
    fp(p)[4 * i + 1] = k / 24 % 24 + uni() * 0.2;
    fp(p)[4 * i + 2] = k / 576 + uni() * 0.2;
    fp(p)[4 * i + 3] = 0;
  }
  for (int i = 0; i < n; i++) {
    int k = 0;
    for (int o = -1800; o <= 1800 && k < most; o++) { /* a layer of the grid has 512 atoms */
      const int j = (i + o + n) % n;
      float d2 = 0;
      for (int a = 0; a < 3; a++) {
        float d = fabsf(fp(p)[4 * i + a] - fp(p)[4 * j + a]);
        if (d > box / 2) d = box - d;
        d2 += d * d;
      }
      if (j != i && d2 < 2.8f * 2.8f) ip(l)[(size_t)k++ * n + i] = j;
    }
    u16p(c)[i] = k;
  }
  P(p), P(c), P(l), P(f), I(n), F(box), F(cut * cut), F(48), F(24);
  G1(n, 128);
}
static void meshflux(void) {
  K("meshflux.cl", "mesh_flux", "");
  const int n = 60000;
  int nb = B(I32, n * 4, 0, 0), no = B(F32, n * 12, -1, 1), u = B(F32, n * 5, 0, 0), f = out(B(F32, n * 5, 0, 0)),
      top = out(B(F32, n, 0, 0)), far = B(F32, 5, 0, 0);
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < n; i++) {
      int j = i + (k & 1 ? 1 : -1) * (k & 2 ? 1 : 245) + (rnd() % 8 == 0 ? (int)(rnd() % 400) - 200 : 0),
          r = rnd() % 100;
      ip(nb)[k * n + i] = j < 0 || j >= n || j == i ? -1 : r < 4 ? -1 : r < 7 ? -2 : r < 9 ? -3 : j;
    }
  for (int i = 0; i < n; i++) {
    const float rho = 0.8 + 0.6 * uni(), x = 2 * uni() - 0.5, y = uni() - 0.5, z = uni() - 0.5, p = 0.6 + uni();
    const float s[5] = {rho, rho * x, rho * y, rho * z, p / 0.4f + 0.5f * rho * (x * x + y * y + z * z)};
    for (int v = 0; v < 5; v++) fp(u)[v * n + i] = s[v];
  }
  fp(far)[0] = 1.4f;
  fp(far)[1] = 1.4f;
  fp(far)[4] = 1 / 0.4f + 0.7f;
  it.buffer[f].tolerance = it.buffer[top].tolerance = 5e-3; /* sums of terms that cancel */
  I(n), P(nb), P(no), P(u), P(f), P(top), P(far);
  G1((n + 127) / 128 * 128, 128);
}
static void angles(void) {
  K("angles.cl", "angle_bins", "");
  const int n = 1500, g = (n + 127) / 128;
  int x = B(F32, n, 0, 0), y = B(F32, n, 0, 0), z = B(F32, n, 0, 0), l = B(F32, 25, 0, 0), bins = out(B(I32, 26, 0, 0)),
      used = out(B(I32, g, 0, 0));
  for (int i = 0; i < n; i++) {
    const double h = 2 * uni() - 1, a = 6.283185307 * uni(), r = sqrt(1 - h * h);
    fp(x)[i] = r * cos(a);
    fp(y)[i] = r * sin(a);
    fp(z)[i] = h;
  }
  for (int b = 0; b <= 24; b++) fp(l)[b] = cos(0.01 * pow(10, b / 10.0)); /* 0.01 to 2.5 radians */
  P(x), P(y), P(z), I(n), P(l), P(bins), P(used);
  G1(g * 128, 128);
}
static void digest(void) {
  K("digest.cl", "find_keys", "");
  const int n = 2048;
  int s = B(I32, 64, 0, 0), d = out(B(I32, 2 * n, 0, 0)), hits = out(B(I32, 1, 0, 0)), low = out(B(I32, 1, -1, -1));
  for (int i = 0; i < 64; i++) ip(s)[i] = (int)(uint32_t)(fabs(sin(i + 1.0)) * 4294967296.0);
  L(8031810170l), I(12), I(0xfff), I(0xabc), P(s), P(d), P(hits), P(low);
  G1(n, 64);
}
static void nearest(void) {
  K("nearest.cl", "nearest_centre", "");
  const int n = 24000, dims = 14, k = 20;
  int p = B(F32, n * dims, 0, 1), c = B(F32, k * dims, 0, 1), m = out(B(I32, n, 0, k)), g = out(B(F32, n, 0, 0)),
      ch = out(B(I32, 1, 0, 0)), size = out(B(I32, k, 0, 0));
  P(p), P(c), P(m), P(g), P(ch), P(size), S(8 * dims * 4), I(n), I(dims), I(k);
  G1((n + 127) / 128 * 128, 128);
}
static void reaction(void) {
  K("reaction.cl", "reaction_rates", "");
  const int n = 6144, species = 18, reactions = 66;
  int t = B(F32, n, 0.8, 2.2), c = B(F32, n * species, 0, 0.2), r = out(B(F32, n * reactions, 0, 0)),
      m = out(B(F32, n * species, 0, 0));
  it.buffer[m].tolerance = 2e-2; /* differences of large rates */
  P(t), P(c), P(r), P(m), I(n), F(1000);
  G1(n, 128);
}
static void buckets(void) {
  K("buckets.cl", "bucket_portion", "");
  const int n = 60000, rounds = 4, g = (n + 128 * rounds - 1) / (128 * rounds);
  int k = B(F32, n, 0, 1), p = B(F32, 63, 0, 0), s = out(B(F32, n, 0, 0)), o = out(B(I32, n, 0, 0)),
      b = out(B(U16, n, 0, 0)), z = out(B(I32, 64, 0, 0));
  for (int i = 0; i < n; i++) fp(k)[i] *= fp(k)[i];
  for (int i = 0; i < 63; i++) fp(p)[i] = (i + 1) / 64.0f;
  it.buffer[s].tolerance = 0;
  P(k), P(p), P(s), P(o), P(b), P(z), I(n), I(rounds);
  G1(g * 128, 128);
}
static void track(void) {
  K("track.cl", "track_step", "");
  const int n = 3000, w = 160, h = 120, radius = 5;
  int ox = B(F64, n, 70, 90), oy = B(F64, n, 50, 70), run = B(F64, n, 0.1, 1), seed_ = out(B(I32, n, 1, 2e9)),
      x = out(B(F64, n, 0, 0)), y = out(B(F64, n, 0, 0)), wt = out(B(F64, n, 0, 0)),
      sums = out(B(F64, (n + 127) / 128, 0, 0)), src = out(B(I32, n, 0, 0)), pic = B(U8, w * h, 60, 140),
      disk = B(I32, 2 * 4 * radius * radius, 0, 0);
  double total = 0;
  for (int i = 0; i < n; i++) total += dp(run)[i];
  double sum = 0;
  for (int i = 0; i < n; i++) {
    sum += dp(run)[i] / total;
    dp(run)[i] = sum;
  }
  int points = 0;
  for (int b = -radius; b <= radius; b++)
    for (int a = -radius; a <= radius; a++)
      if (a * a + b * b < radius * radius) {
        ip(disk)[2 * points] = a;
        ip(disk)[2 * points++ + 1] = b;
        u8p(pic)[(60 + b) * w + 80 + a] = 190 + rnd() % 60;
      }
  P(ox), P(oy), P(run), P(seed_), P(x), P(y), P(wt), P(sums), P(src), P(pic), P(disk), I(points), I(n), I(w), I(h),
      S(128 * 8);
  G1((n + 127) / 128 * 128, 128);
}
static void treefind(void) {
  K("treefind.cl", "tree_range", "");
  enum { ORDER = 64, NODE = 2 + 2 * (ORDER + 1), FILL = 40 };
  const int n = 120000, q = 3000;
  int rec = B(I64, n, -1e12, 1e12), from = B(I32, q, 0, 0), to = B(I32, q, 0, 0), first = out(B(I32, q, 0, 0)),
      len = out(B(I32, q, 0, 0)), sum = out(B(I64, q, 0, 0));
  int *key = malloc(n * sizeof *key);
  for (int i = 0, k = 5; i < n; i++) key[i] = k += 1 + rnd() % 20;
  int count[8], levels = 0, all = 0;
  for (int c = n; levels == 0 || c > 1;) {
    c = (c + FILL - 1) / FILL;
    count[levels++] = c;
    all += c;
  }
  int nodes = B(I32, (size_t)all * NODE, 0, 0), at[8];
  for (int l = levels - 1, a = 0; l >= 0; l--) {
    at[l] = a;
    a += count[l];
  } /* the root is node 0 */
  for (int l = 0; l < levels; l++) {
    const int below = l ? count[l - 1] : n;
    long span = 1;
    for (int k = 0; k <= l; k++) span *= FILL;
    for (int i = 0; i < count[l]; i++) {
      int *d = ip(nodes) + (size_t)(at[l] + i) * NODE, used = below - i * FILL < FILL ? below - i * FILL : FILL;
      d[0] = l == 0;
      d[1] = used;
      for (int k = 0; k <= used; k++) {
        const long r = (i * (long)FILL + k) * (span / FILL);
        d[2 + k] = l && r == 0 ? -2147483647 : r >= n ? 2147483647 : key[r];
        if (k < used) d[2 + ORDER + 1 + k] = l ? at[l - 1] + i * FILL + k : i * FILL + k;
      }
    }
  }
  for (int i = 0; i < q; i++) {
    const int a = rnd() % n;
    ip(from)[i] = key[a] + (int)(rnd() % 3) - 1;
    ip(to)[i] = ip(from)[i] + rnd() % (i % 5 ? 300 : 4000);
  }
  free(key);
  P(nodes), P(rec), I(levels - 1), P(from), P(to), P(first), P(len), P(sum);
  G1((size_t)q * ORDER, ORDER);
}
static void merge4(void) {
  K("merge4.cl", "merge_lists", "");
  const int pairs = 12000;
  int *start = malloc((2 * pairs + 1) * sizeof(int)), n = 0;
  for (int i = 0; i < 2 * pairs; i++) {
    start[i] = n;
    n += rnd() % 50 == 0 ? 0 : 4 + rnd() % 28;
  }
  start[2 * pairs] = n;
  int a = B(F32, (size_t)n * 4, 0, 1), b = out(B(F32, (size_t)n * 4, 0, 0)), s = B(I32, 2 * pairs + 1, 0, 0);
  for (int i = 0; i < 2 * pairs; i++) qsort(fp(a) + 4 * start[i], 4 * (start[i + 1] - start[i]), 4, by_value);
  memcpy(ip(s), start, (2 * pairs + 1) * sizeof(int));
  free(start);
  it.buffer[b].tolerance = 0;
  P(a), P(b), P(s), I(pairs);
  G1((pairs + 63) / 64 * 64, 64);
}
static void noise(void) {
  K("noise.cl", "photon_noise", "");
  const int n = 20000;
  int b = B(U16, n, 0, 1), o = out(B(U16, n, 0, 0)), s = out(B(I64, n, 0, 0)), g = out(B(F32, n, 0, 0));
  for (int i = 0; i < n; i++) u16p(b)[i] = i % 3 == 0 ? rnd() % 40 : rnd() % 400;
  P(b), P(o), P(s), P(g), L(0x1234567890abcdefl), I(n), F(0.25f);
  G1((n + 127) / 128 * 128, 128);
}

const struct foreign_name foreign_lists[] = {{"bfs_flags", bfs_flags},
                                             {"relax_queue", relax_queue},
                                             {"spmv_row", spmv_row},
                                             {"spmv_warp", spmv_warp},
                                             {"radix_count", radix_count},
                                             {"digit_scan", digit_scan},
                                             {"lj_force", lj_force},
                                             {"meshflux", meshflux},
                                             {"angles", angles},
                                             {"digest", digest},
                                             {"nearest", nearest},
                                             {"reaction", reaction},
                                             {"buckets", buckets},
                                             {"track", track},
                                             {"treefind", treefind},
                                             {"merge4", merge4},
                                             {"noise", noise},
                                             {NULL, NULL}};

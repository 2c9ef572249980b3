/* The kernels' own algorithms in plain C: blocks are iterations that OpenMP hands out, threads of a block are loops
 * that the compiler can vectorise, shared memory is an array. plain_v2.c, plain_v3.c and plain_v4.c are this, built for
 * a CPU level each. */
#include "bench.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 64, GROUP = 256, TILE = 16, LANES = 64 };
#define PARALLEL _Pragma("omp parallel for schedule(dynamic, 8)")
#define SIMD _Pragma("omp simd")

static void saxpy(struct bench_data *d) {
  const float *x = d->buffer[BENCH_A];
  float *y = d->buffer[BENCH_B];
#pragma omp parallel for simd
  for (size_t i = 0; i < d->n; i++) y[i] = 2.f * x[i] + y[i];
}

/* 64 points together, until none of them goes on */
static void mandel(struct bench_data *d) {
  int *out = d->buffer[BENCH_C];
  PARALLEL
  for (int b = 0; b < 1024 * 1024; b += LANES) {
    float cx[LANES], cy[LANES], x[LANES], y[LANES];
    int n[LANES];
    SIMD for (int l = 0; l < LANES; l++) {
      cx[l] = -2.f + 3.f * (float)((b + l) % 1024) / 1024.f;
      cy[l] = -1.5f + 3.f * (float)((b + l) / 1024) / 1024.f;
      x[l] = y[l] = 0;
      n[l] = 0;
    }
    for (int it = 0, any = 1; it < 256 && any; it++) {
      any = 0;
#pragma omp simd reduction(| : any)
      for (int l = 0; l < LANES; l++) {
        const float xx = x[l] * x[l], yy = y[l] * y[l];
        const int in = xx + yy < 4.f;
        y[l] = in ? 2 * x[l] * y[l] + cy[l] : y[l];
        x[l] = in ? xx - yy + cx[l] : x[l];
        n[l] += in;
        any |= in;
      }
    }
    memcpy(out + b, n, sizeof n);
  }
}

static void nbody(struct bench_data *d) {
  enum { BODIES = 4096 };
  const float *p = d->buffer[BENCH_A];
  float *a = d->buffer[BENCH_C];
#pragma omp parallel for
  for (int b = 0; b < BODIES; b += LANES) {
    float x[LANES], y[LANES], z[LANES], ax[LANES] = {0}, ay[LANES] = {0}, az[LANES] = {0};
    for (int l = 0; l < LANES; l++) x[l] = p[4 * (b + l)], y[l] = p[4 * (b + l) + 1], z[l] = p[4 * (b + l) + 2];
    for (int j = 0; j < BODIES; j++) {
      const float qx = p[4 * j], qy = p[4 * j + 1], qz = p[4 * j + 2], qm = p[4 * j + 3];
      SIMD for (int l = 0; l < LANES; l++) {
        const float dx = qx - x[l], dy = qy - y[l], dz = qz - z[l];
        const float r = 1.f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-6f), s = qm * r * r * r;
        ax[l] += dx * s;
        ay[l] += dy * s;
        az[l] += dz * s;
      }
    }
    for (int l = 0; l < LANES; l++)
      a[4 * (b + l)] = ax[l], a[4 * (b + l) + 1] = ay[l], a[4 * (b + l) + 2] = az[l], a[4 * (b + l) + 3] = 0;
  }
}

static void matmul(struct bench_data *d) {
  enum { N = 512 };
  const float *a = d->buffer[BENCH_A], *b = d->buffer[BENCH_B];
  float *c = d->buffer[BENCH_C];
  PARALLEL
  for (int block = 0; block < N / TILE * (N / TILE); block++) {
    const int row = block / (N / TILE) * TILE, column = block % (N / TILE) * TILE;
    float s[TILE][TILE] = {0}, tile_a[TILE][TILE], tile_b[TILE][TILE];
    for (int k = 0; k < N; k += TILE) {
      for (int y = 0; y < TILE; y++)
        for (int x = 0; x < TILE; x++)
          tile_a[y][x] = a[(row + y) * N + k + x], tile_b[y][x] = b[(k + y) * N + column + x];
      for (int y = 0; y < TILE; y++)
        for (int j = 0; j < TILE; j++) { SIMD for (int x = 0; x < TILE; x++) s[y][x] += tile_a[y][j] * tile_b[j][x]; }
    }
    for (int y = 0; y < TILE; y++) memcpy(c + (row + y) * N + column, s[y], sizeof s[y]);
  }
}

static void reduce(struct bench_data *d) {
  const float *x = d->buffer[BENCH_A];
  float *sums = d->buffer[BENCH_C];
#pragma omp parallel for
  for (int g = 0; g < GROUPS; g++) {
    float s[GROUP] = {0};
    for (size_t i = (size_t)g * GROUP; i < d->n; i += GROUPS * GROUP) {
      SIMD for (int l = 0; l < GROUP; l++) s[l] += x[i + (size_t)l];
    }
    for (int half = GROUP / 2; half; half /= 2)
      for (int l = 0; l < half; l++) s[l] += s[l + half];
    sums[g] = s[0];
  }
}

static void spmv(struct bench_data *d) {
  const int *rows = d->buffer[BENCH_ROWS], *columns = d->buffer[BENCH_COLUMNS], n = (int)(d->n / 16);
  const float *v = d->buffer[BENCH_A], *x = d->buffer[BENCH_B];
  float *y = d->buffer[BENCH_C];
#pragma omp parallel for
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rows[r]; k < rows[r + 1]; k++) s += v[k] * x[columns[k]];
    y[r] = s;
  }
}

static void hist(struct bench_data *d) {
  const uint32_t *x = d->buffer[BENCH_WORDS];
  uint32_t *counts = d->buffer[BENCH_D];
#pragma omp parallel for
  for (int g = 0; g < GROUPS; g++) {
    uint32_t local[GROUP] = {0};
    for (size_t i = (size_t)g * GROUP; i < d->n; i += GROUPS * GROUP)
      for (int l = 0; l < GROUP; l++) local[x[i + (size_t)l] & 255]++;
    for (int l = 0; l < GROUP; l++) __atomic_fetch_add(&counts[l], local[l], __ATOMIC_RELAXED);
  }
}

static inline float normal(float x) {
  const float k = 1.f / (1.f + 0.2316419f * fabsf(x));
  const float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float c = 0.39894228f * expf(-0.5f * x * x) * p;
  return x > 0 ? 1.f - c : c;
}
static void bs(struct bench_data *d) {
  const float *s = d->buffer[BENCH_A], *x = d->buffer[BENCH_B], *t = d->buffer[BENCH_A];
  float *call = d->buffer[BENCH_C], *put = d->buffer[BENCH_D];
  const float rate = 0.02f, volatility = 0.30f;
#pragma omp parallel for simd
  for (size_t i = 0; i < d->n / 4; i++) {
    const float spread = volatility * sqrtf(t[i]);
    const float d1 = (logf(s[i] / x[i]) + (rate + 0.5f * volatility * volatility) * t[i]) / spread, d2 = d1 - spread;
    const float n1 = normal(d1), n2 = normal(d2), now = x[i] * expf(-rate * t[i]);
    call[i] = s[i] * n1 - now * n2;
    put[i] = now * (1.f - n2) - s[i] * (1.f - n1);
  }
}

/* Blocks of 1,024 words: their sums, the sums before each, then each block again. */
static void scan(struct bench_data *d) {
  enum { BLOCK = 1024 };
  const uint32_t *x = d->buffer[BENCH_WORDS];
  uint32_t *out = d->buffer[BENCH_C], *before = malloc(d->n / BLOCK * sizeof *before), sum = 0;
  if (!before) abort();
#pragma omp parallel for
  for (size_t b = 0; b < d->n / BLOCK; b++) {
    uint32_t s = 0;
#pragma omp simd reduction(+ : s)
    for (size_t i = 0; i < BLOCK; i++) s += x[b * BLOCK + i];
    before[b] = s;
  }
  for (size_t b = 0; b < d->n / BLOCK; b++) {
    const uint32_t s = before[b];
    before[b] = sum;
    sum += s;
  }
#pragma omp parallel for
  for (size_t b = 0; b < d->n / BLOCK; b++) {
    uint32_t s = before[b];
    for (size_t i = 0; i < BLOCK; i++) out[b * BLOCK + i] = s += x[b * BLOCK + i];
  }
  free(before);
}

static void transpose(struct bench_data *d) {
  const size_t side = bench_side(d->n), blocks = side / LANES;
  const float *a = d->buffer[BENCH_A];
  float *b = d->buffer[BENCH_C];
  PARALLEL
  for (size_t block = 0; block < blocks * blocks; block++) {
    const size_t row = block / blocks * LANES, column = block % blocks * LANES;
    float tile[LANES][LANES + 1];
    for (int y = 0; y < LANES; y++) memcpy(tile[y], a + (row + (size_t)y) * side + column, LANES * sizeof(float));
    for (int y = 0; y < LANES; y++) {
      SIMD for (int x = 0; x < LANES; x++) b[(column + (size_t)y) * side + row + (size_t)x] = tile[x][y];
    }
  }
}

static void convolution(struct bench_data *d) {
  static const float row[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  const int side = (int)bench_side(d->n), across = side / LANES;
  const float *image = d->buffer[BENCH_A];
  float *out = d->buffer[BENCH_C], filter[5][5];
  for (int j = 0; j < 5; j++)
    for (int i = 0; i < 5; i++) filter[j][i] = row[j] * row[i];
  PARALLEL
  for (int block = 0; block < across * (side / 4); block++) {
    const int column = block % across * LANES, line = block / across * 4;
    float tile[8][LANES + 4];
    for (int j = 0; j < 8; j++) {
      int r = line + j - 2;
      r = r < 0 ? 0 : r >= side ? side - 1 : r;
      for (int i = 0; i < LANES + 4; i++) {
        int c = column + i - 2;
        c = c < 0 ? 0 : c >= side ? side - 1 : c;
        tile[j][i] = image[r * side + c];
      }
    }
    for (int y = 0; y < 4; y++) {
      float s[LANES] = {0};
      for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++) { SIMD for (int x = 0; x < LANES; x++) s[x] += filter[j][i] * tile[y + j][x + i]; }
      memcpy(out + (line + y) * side + column, s, sizeof s);
    }
  }
}

#define ROR(x_, n_) ((x_) >> (n_) | (x_) << (32 - (n_)))
/* 16 messages together, so that a word of each is one vector */
static void sha256(struct bench_data *d) {
  enum { M = 16 };
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint32_t *x = d->buffer[BENCH_WORDS];
  uint32_t *digests = d->buffer[BENCH_C];
#pragma omp parallel for
  for (size_t m = 0; m < d->n / 8; m += M) {
    uint32_t w[16][M], s[8][M];
    for (int k = 0; k < 16; k++)
      for (int l = 0; l < M; l++)
        w[k][l] = k < 8     ? __builtin_bswap32(x[8 * (m + (size_t)l) + (size_t)k])
                  : k == 8  ? 0x80000000
                  : k == 15 ? 256
                            : 0;
    for (int k = 0; k < 8; k++)
      for (int l = 0; l < M; l++) s[k][l] = start[k];
    for (int t = 0; t < 64; t += 16)
#pragma GCC unroll 16
      for (int k = 0; k < 16; k++) {
        uint32_t *a = s[(64 - k) & 7], *b = s[(65 - k) & 7], *c = s[(66 - k) & 7], *e0 = s[(67 - k) & 7],
                 *e = s[(68 - k) & 7];
        uint32_t *f = s[(69 - k) & 7], *g = s[(70 - k) & 7], *h = s[(71 - k) & 7], *v = w[k], *p = w[(k + 1) & 15],
                 *q = w[(k + 9) & 15], *r = w[(k + 14) & 15];
        SIMD for (int l = 0; l < M; l++) {
          const uint32_t t1 = h[l] + bench_sha_k[t + k] + v[l] + (ROR(e[l], 6) ^ ROR(e[l], 11) ^ ROR(e[l], 25)) +
                              ((e[l] & f[l]) ^ (~e[l] & g[l]));
          h[l] = t1 + (ROR(a[l], 2) ^ ROR(a[l], 13) ^ ROR(a[l], 22)) + ((a[l] & b[l]) ^ (a[l] & c[l]) ^ (b[l] & c[l]));
          e0[l] += t1;
          v[l] += (ROR(p[l], 7) ^ ROR(p[l], 18) ^ p[l] >> 3) + q[l] + (ROR(r[l], 17) ^ ROR(r[l], 19) ^ r[l] >> 10);
        }
      }
    for (int k = 0; k < 8; k++)
      for (int l = 0; l < M; l++) digests[8 * (m + (size_t)l) + (size_t)k] = __builtin_bswap32(s[k][l] + start[k]);
  }
}

static void bitonic(struct bench_data *d) {
  enum { RUN = 512 };
  uint32_t *keys = d->buffer[BENCH_KEYS];
#pragma omp parallel for
  for (size_t run = 0; run < d->n / 4; run += RUN) {
    uint32_t *x = keys + run;
    for (unsigned k = 2; k <= RUN; k *= 2)
      for (unsigned j = k / 2; j; j /= 2)
        for (unsigned base = 0; base < RUN; base += 2 * j) {
          const uint32_t down = base & k ? ~0u : 0; /* falling is rising for complements */
          SIMD for (unsigned i = 0; i < j; i++) {
            const uint32_t a = x[base + i] ^ down, b = x[base + i + j] ^ down;
            x[base + i] = (a < b ? a : b) ^ down;
            x[base + i + j] = (a < b ? b : a) ^ down;
          }
        }
  }
}

static void (*const kernels[BENCH_KERNELS])(struct bench_data *) = {
    saxpy, mandel, nbody, matmul, reduce, spmv, hist, bs, scan, transpose, convolution, sha256, bitonic};
static double run(struct bench_contestant *c, int kernel) {
  omp_set_num_threads(c->threads ? (int)c->threads : omp_get_num_procs());
  const double start = bench_now();
  kernels[kernel](c->data);
  return bench_now() - start;
}
static bool read_back(struct bench_contestant *c, int kernel, void *result) {
  const enum bench_buffer b = c->work[kernel].result;
  memcpy(result, c->data->buffer[b], c->data->bytes[b]);
  return true;
}
#define NAMED(level_) NAMED_(level_)
#define NAMED_(level_) bench_open_plain_##level_
#define QUOTED(level_) QUOTED_(level_)
#define QUOTED_(level_) #level_
bool NAMED(BENCH_LEVEL)(struct bench_contestant *c, struct bench_data *data) {
  *c = (struct bench_contestant){.data = data, .run = run, .read = read_back};
  bench_works(c->work, data->n);
  snprintf(c->name, sizeof c->name,
           "plain C of the same algorithms for x86-64-" QUOTED(BENCH_LEVEL) ", OpenMP, %d threads",
           omp_get_num_procs());
  return true;
}

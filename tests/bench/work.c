/* The data and the kernels, at any size. Every contestant gets its data from here. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 1024, ITERATIONS = 256, GROUPS = 64, GROUP = 256, TILE = 16, WARP = 64, SCANNED = 16384 };

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

size_t bench_side(size_t n) { return (size_t)lrint(sqrt((double)n)); }

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u; }

bool bench_data_make(struct bench_data *d, size_t n) {
  size_t rows = n / 16, used = 0;
  *d = (struct bench_data){.n = n};
  for (int k = 0; k < BENCH_BUFFERS; k++) {
    d->bytes[k] = k == BENCH_ROWS    ? sizeof(int) * (rows + 1)
                  : k == BENCH_CHAIN ? sizeof(uint64_t) * (n / SCANNED)
                  : k == BENCH_KEYS  ? sizeof(float) * (n / 4)
                                     : sizeof(float) * n;
    d->bytes[k] = (d->bytes[k] + 63) & ~(size_t)63;
    d->buffer[k] = aligned_alloc(64, d->bytes[k]);
    if (!d->buffer[k]) return false;
    memset(d->buffer[k], 0, d->bytes[k]);
  }
  float *a = d->buffer[BENCH_A], *b = d->buffer[BENCH_B];
  for (size_t i = 0; i < n; i++) a[i] = b[i] = (float)((i * 7919) % 1000) / 500.f + 0.1f;
  /* rows of 0 to 30 elements, in columns anywhere */
  int *row = d->buffer[BENCH_ROWS], *column = d->buffer[BENCH_COLUMNS];
  uint32_t seed = 1, *word = d->buffer[BENCH_WORDS];
  for (size_t r = 0; r < rows; r++) {
    size_t length = (next(&seed) >> 24) % 31;
    if (used + length > n) length = 0;
    for (size_t k = 0; k < length; k++) column[used++] = (int)(next(&seed) % rows);
    row[r + 1] = (int)used;
  }
  for (size_t i = 0; i < n; i++) word[i] = next(&seed) >> 13;
  uint32_t *key = d->buffer[BENCH_KEYS];
  for (size_t i = 0; i < n / 4; i++) key[i] = next(&seed);
  return true;
}

void bench_data_free(struct bench_data *d) {
  for (int k = 0; k < BENCH_BUFFERS; k++) free(d->buffer[k]);
  *d = (struct bench_data){0};
}

#define BUFFER(x_) \
  { BENCH_BUFFER, BENCH_##x_ }
void bench_works(struct bench_work work[BENCH_KERNELS], size_t n) {
  /* the kernels whose work is not in proportion to n get smaller in one step, with the same shape of work */
  bool small = n < SIDE * SIDE;
  int side = small ? 64 : SIDE, bodies = small ? 256 : 4096, order = small ? 64 : 512, count = (int)n;
  size_t rows = n / 16, edge = bench_side(n);
  const float two = 2;
  int factor;
  memcpy(&factor, &two, sizeof factor);
  const struct bench_work list[BENCH_KERNELS] = {
      {"saxpy",
       "saxpy",
       {n, 1},
       {GROUP, 1},
       (double)n,
       BENCH_B,
       n,
       false,
       {BUFFER(A), BUFFER(B), {BENCH_FLOAT, factor}, {BENCH_COUNT, count}}},
      {"mandel",
       "mandelbrot",
       {(size_t)side * (size_t)side, 1},
       {GROUP, 1},
       (double)side * side,
       BENCH_C,
       (size_t)side * (size_t)side,
       true,
       {BUFFER(C), {BENCH_INT, side}, {BENCH_INT, side}, {BENCH_INT, ITERATIONS}}},
      {"nbody",
       "nbody",
       {(size_t)bodies, 1},
       {GROUP, 1},
       (double)bodies * bodies,
       BENCH_C,
       (size_t)bodies * 4,
       false,
       {BUFFER(A), BUFFER(C), {BENCH_INT, bodies}}},
      {"matmul",
       "matmul",
       {(size_t)order, (size_t)order},
       {TILE, TILE},
       pow(order, 3),
       BENCH_C,
       (size_t)order * (size_t)order,
       false,
       {BUFFER(A), BUFFER(B), BUFFER(C), {BENCH_INT, order}}},
      {"reduce",
       "reduce",
       {GROUPS * GROUP, 1},
       {GROUP, 1},
       (double)n,
       BENCH_C,
       GROUPS,
       false,
       {BUFFER(A), BUFFER(C), {BENCH_INT, count}}},
      {"spmv",
       "spmv",
       {rows, 1},
       {GROUP, 1},
       (double)n,
       BENCH_C,
       rows,
       false,
       {BUFFER(ROWS), BUFFER(COLUMNS), BUFFER(A), BUFFER(B), BUFFER(C), {BENCH_COUNT, (int)rows}}},
      {"hist",
       "histogram",
       {GROUPS * GROUP, 1},
       {GROUP, 1},
       (double)n,
       BENCH_D,
       256,
       true,
       {BUFFER(WORDS), BUFFER(D), {BENCH_INT, count}}},
      {"bs",
       "blackscholes",
       {n / 4, 1},
       {GROUP, 1},
       (double)n,
       BENCH_C,
       n / 4,
       false,
       {BUFFER(A), BUFFER(B), BUFFER(A), BUFFER(C), BUFFER(D), {BENCH_COUNT, count / 4}}},
      {"scan",
       "scan",
       {n / SCANNED * GROUP, 1},
       {GROUP, 1},
       (double)n,
       BENCH_C,
       n,
       true,
       {BUFFER(WORDS), BUFFER(C), BUFFER(CHAIN), {BENCH_INT, count}}},
      {"transp",
       "transpose",
       {edge, edge / 16},
       {WARP, 4},
       (double)n,
       BENCH_C,
       n,
       false,
       {BUFFER(A), BUFFER(C), {BENCH_INT, (int)edge}, {BENCH_INT, (int)edge}}},
      {"conv",
       "convolution",
       {edge, edge},
       {WARP, 4},
       (double)n,
       BENCH_C,
       n,
       false,
       {BUFFER(A), BUFFER(C), {BENCH_INT, (int)edge}, {BENCH_INT, (int)edge}}},
      {"sha256",
       "sha256",
       {n / 8, 1},
       {GROUP, 1},
       (double)n,
       BENCH_C,
       n,
       true,
       {BUFFER(WORDS), BUFFER(C), {BENCH_INT, count / 8}}},
      {"bitonic", "bitonic", {n / 8, 1}, {GROUP, 1}, (double)n, BENCH_KEYS, n / 4, true, {BUFFER(KEYS)}},
  };
  memcpy(work, list, sizeof list);
}

const uint32_t bench_sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

double bench_sum(const struct bench_work *work, const void *result) {
  const bool placed = strcmp(work->name, "reduce"); /* which one leaves as one sum or as many */
  double sum = 0;
  for (size_t i = 0; i < work->results; i++) {
    const double weight = placed ? (double)(i % 61 + 1) : 1;
    sum += weight * (work->integers ? (double)((const uint32_t *)result)[i] : (double)((const float *)result)[i]);
  }
  return sum;
}

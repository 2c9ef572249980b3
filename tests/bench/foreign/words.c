/* The words of foreign.h that cases are written in. */
#include "foreign.h"

#include <math.h>
#include <stdlib.h>

struct foreign_case it;

static const size_t width[] = {[F32] = 4, [I32] = 4, [F64] = 8, [U8] = 1, [U16] = 2, [I64] = 8};

uint32_t rnd(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 32);
}
double uni(void) { return rnd() / 4294967296.0; }

int B(enum foreign_type type, size_t n, double low, double high) {
  struct foreign_buffer *b = &it.buffer[it.nbuffers];
  *b = (struct foreign_buffer){.init = calloc(n + 16, width[type]),
                               .n = n,
                               .bytes = n * width[type],
                               .type = type,
                               .tolerance = type == F64 ? 1e-6 : 1e-3};
  if (!b->init) abort();
  for (size_t i = 0; i < n; i++) {
    const double x = low == high ? low : low + uni() * (high - low);
    switch (type) {
    case F32: ((float *)b->init)[i] = (float)x; break;
    case F64: ((double *)b->init)[i] = x; break;
    case I32: ((int *)b->init)[i] = (int)floor(x); break;
    case U8: ((uint8_t *)b->init)[i] = (uint8_t)floor(x); break;
    case U16: ((uint16_t *)b->init)[i] = (uint16_t)floor(x); break;
    case I64: ((int64_t *)b->init)[i] = (int64_t)floor(x); break;
    }
  }
  return it.nbuffers++;
}
static int marked(int buffer, int mode) {
  it.buffer[buffer].mode = mode;
  return buffer;
}
int out(int buffer) { return marked(buffer, FOREIGN_OUT); }
int mut(int buffer) { return marked(buffer, FOREIGN_WRITTEN); }
float *fp(int buffer) { return it.buffer[buffer].init; }
double *dp(int buffer) { return it.buffer[buffer].init; }
int *ip(int buffer) { return it.buffer[buffer].init; }
uint8_t *u8p(int buffer) { return it.buffer[buffer].init; }
uint16_t *u16p(int buffer) { return it.buffer[buffer].init; }

void K(const char *file, const char *entry, const char *options) {
  it.file = file, it.entry = entry, it.options = options;
}
static struct foreign_arg *add(int kind, size_t size) {
  struct foreign_arg *a = &it.arg[it.nargs++];
  *a = (struct foreign_arg){.kind = kind, .size = size};
  return a;
}
void P(int buffer) { add(FOREIGN_BUFFER, 8)->buffer = buffer; }
void I(int v) { add(FOREIGN_SCALAR, 4)->value.i = v; }
void F(float v) { add(FOREIGN_SCALAR, 4)->value.f = v; }
void D(double v) { add(FOREIGN_SCALAR, 8)->value.d = v; }
void L(int64_t v) { add(FOREIGN_SCALAR, 8)->value.l = v; }
void S(size_t local_bytes) { add(FOREIGN_LOCAL, local_bytes); }

void G2(size_t items_x, size_t items_y, size_t block_x, size_t block_y) {
  it.dimensions = items_y > 1 || block_y > 1 ? 2 : 1;
  it.grid[0] = items_x / block_x, it.grid[1] = items_y / block_y, it.grid[2] = 1;
  it.block[0] = block_x, it.block[1] = block_y, it.block[2] = 1;
}
void G1(size_t items, size_t block) { G2(items, 1, block, 1); }

void scene(uint8_t *picture, int w, int h, double dx, double dy, double noise) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      const double u = x + dx, v = y + dy, waves = 50 * sin(u * 0.11) * cos(v * 0.07) + 40 * sin((u + 2 * v) * 0.031);
      const double s = 128 + waves + 25 * sin(u * v * 0.0013) + noise * (uni() - 0.5);
      picture[y * w + x] = s < 0 ? 0 : s > 255 ? 255 : (uint8_t)s;
    }
}

/* Samples of one image for all lanes of a warp: coordinates, texels' places and weights in loops over the lanes, then
 * the texels themselves, copied side by side for sums.c. The rules are vm/texture/sample.c's, which does one sample at
 * a time and every kind of image; what is done here gives the same bits, or is left to it: offsets, borders' and
 * whole coordinates' rarer modes, cubes without seams, sRGB. */
#include "samples.h"

/* ---- one axis: the texels of all lanes ------------------------------------------------------------------------*/
struct axis {
  _Alignas(64) int32_t first[MX_MAX_LANES];  /* -1: the border */
  _Alignas(64) int32_t second[MX_MAX_LANES]; /* with part 0 the first one again */
  _Alignas(64) int32_t part[MX_MAX_LANES];   /* the second one's, in 1/256 */
  bool one;                                  /* all lanes have lane 0's texels, and only these are there */
  bool run;                                  /* each has the texels behind the lane before's; only lane 0's are there */
  bool row;                                  /* each lane has the texels behind those of the lane before */
  bool even;                                 /* all lanes have the same part */
};
MX__INL int32_t within(int32_t i, int32_t last) { return i < 0 ? 0 : i > last ? last : i; }
/* i from -1 to twice the size */
MX__INL int32_t mirrored(int32_t i, int32_t size) {
  i = i < 0 ? -1 - i : i;
  i = i >= size ? 2 * size - 1 - i : i;
  return i < 0 ? 0 : i;
}
/* The texels at a place in 1/256 texels, which is less than a period outside where there are periods. */
MX__INL void put_texels(struct axis *to, unsigned l, int32_t place, int32_t size, int32_t parts, const unsigned mode) {
  const int32_t i = place >> 8;
  int32_t first, second, part = place & parts;
  switch (mode) {
  case MX_ADDRESS_WRAP:
    first = i < 0 ? i + size : i;
    second = first + 1 == size ? 0 : first + 1;
    break;
  case MX_ADDRESS_MIRROR:
    first = mirrored(i, size);
    second = mirrored(i + 1, size);
    break;
  case MX_ADDRESS_CLAMP:
    first = within(i, size - 1);
    second = within(i + 1, size - 1);
    part = (i < 0) | (i >= size - 1) ? 0 : part;
    break;
  default: first = (uint32_t)i < (uint32_t)size ? i : -1; second = (uint32_t)(i + 1) < (uint32_t)size ? i + 1 : -1;
  }
  to->first[l] = first;
  to->second[l] = part ? second : first;
  to->part[l] = part;
}
/* Coordinates are cut and folded in f32, where that is exact: they are whole numbers of the grid then, of which only
 * those within a period matter, or up to an image's size outside. Places are exact in f64; coordinates in texels times
 * 512 are in f32, and halves of a 256th are all that the shift of a linear filter needs. */
MX__INL void find_places(int32_t *place, const uint32_t *bits, unsigned n, uint32_t texels, const bool normalized,
                         bool linear, const unsigned mode) {
  const int32_t size = (int32_t)texels;
  const float grid = texels <= 8192 ? 0x1p21f : texels <= 65536 ? 0x1p22f : 0x1p23f;
  const float period = mode == MX_ADDRESS_MIRROR ? 2 * grid : grid, back = 1 / period;
  const float least = normalized ? -grid : -4, most = normalized ? 2 * grid : (float)(size + 4);
  const double scale = 256.0 / (double)grid * size, shift = linear ? 127.5 : 0;
  for (unsigned l = 0; l < n; l++) {
    const uint32_t magnitude = bits[l] & 0x7FFFFFFF,
                   number = magnitude - 0x800000u < 0x7F000001u ? bits[l] : 0; /* no subnormal, no NaN */
    float x;
    memcpy(&x, &number, sizeof x);
    if (normalized) {
      x = x > 0x1p26f ? 0x1p26f : x < -0x1p26f ? -0x1p26f : x;
      x = __builtin_floorf(x * grid);
      if (mode == MX_ADDRESS_WRAP || mode == MX_ADDRESS_MIRROR) x -= period * __builtin_floorf(x * back);
    }
    if (mode == MX_ADDRESS_CLAMP || mode == MX_ADDRESS_BORDER) x = x > most ? most : x < least ? least : x;
    place[l] = normalized ? (int32_t)__builtin_floor((double)x * scale - shift)
                          : ((int32_t)__builtin_floorf(x * 512) - (linear ? 255 : 0)) >> 1;
  }
}
static bool are_one(const uint32_t *v, unsigned n) {
  uint32_t other = v[n - 1] ^ v[0];
  if (other) return false;
  for (unsigned l = 0; l < n; l++) other |= v[l] ^ v[0];
  return !other;
}
/* Functions of their own: where gcc knows that n may be 1, it does not make vectors of the loops. */
static __attribute__((noinline)) void find_each(int32_t *place, const uint32_t *bits, unsigned n, uint32_t texels,
                                                bool normalized, bool linear, unsigned mode) {
  if (!normalized && mode != MX_ADDRESS_BORDER) find_places(place, bits, n, texels, false, linear, MX_ADDRESS_CLAMP);
  else if (!normalized) find_places(place, bits, n, texels, false, linear, MX_ADDRESS_BORDER);
  else if (mode == MX_ADDRESS_WRAP) find_places(place, bits, n, texels, true, linear, MX_ADDRESS_WRAP);
  else if (mode == MX_ADDRESS_MIRROR) find_places(place, bits, n, texels, true, linear, MX_ADDRESS_MIRROR);
  else if (mode == MX_ADDRESS_CLAMP) find_places(place, bits, n, texels, true, linear, MX_ADDRESS_CLAMP);
  else find_places(place, bits, n, texels, true, linear, MX_ADDRESS_BORDER);
}
static __attribute__((noinline)) void put_each(struct axis *to, const int32_t *place, unsigned n, int32_t size,
                                               bool linear, unsigned mode) {
  const int32_t parts = linear ? 255 : 0;
  switch (mode) {
  case MX_ADDRESS_WRAP:
    for (unsigned l = 0; l < n; l++) put_texels(to, l, place[l], size, parts, MX_ADDRESS_WRAP);
    break;
  case MX_ADDRESS_MIRROR:
    for (unsigned l = 0; l < n; l++) put_texels(to, l, place[l], size, parts, MX_ADDRESS_MIRROR);
    break;
  case MX_ADDRESS_CLAMP:
    for (unsigned l = 0; l < n; l++) put_texels(to, l, place[l], size, parts, MX_ADDRESS_CLAMP);
    break;
  default:
    for (unsigned l = 0; l < n; l++) put_texels(to, l, place[l], size, parts, MX_ADDRESS_BORDER);
  }
}
/* What lanes have in common. The last one mostly tells if it is nothing. */
static void compare_lanes(struct axis *to, unsigned n) {
  const int32_t first = to->first[0], second = to->second[0], part = to->part[0];
  int32_t other = to->first[n - 1] ^ (first + (int32_t)n - 1), uneven = to->part[n - 1] ^ part;
  if (!other)
    for (unsigned l = 0; l < n; l++)
      other |= (to->first[l] ^ (first + (int32_t)l)) | (to->second[l] ^ (second + (int32_t)l));
  if (!uneven)
    for (unsigned l = 0; l < n; l++) uneven |= to->part[l] ^ part;
  to->one = to->run = false, to->row = !other, to->even = !uneven;
}
/* Whether each place is one texel behind the lane before's, and no texel at an edge of the image. */
static bool are_run(const int32_t *place, unsigned n, int32_t size) {
  const int32_t from = place[0], last = (from >> 8) + (int32_t)n;
  int32_t other = place[n - 1] ^ (from + 256 * ((int32_t)n - 1));
  if (other || from < 0 || last >= size) return false;
  for (unsigned l = 0; l < n; l++) other |= place[l] ^ (from + 256 * (int32_t)l);
  return !other;
}
/* Lanes of one row have one coordinate along other axes, for which texels are found once; so they are along its own
 * where a picture is drawn at its own size, whatever lies outside. */
static void find_axis(struct axis *to, const uint32_t *bits, unsigned n, uint32_t texels, bool normalized, bool linear,
                      unsigned mode) {
  int32_t place[MX_MAX_LANES];
  const unsigned way = normalized || mode == MX_ADDRESS_BORDER ? mode : MX_ADDRESS_CLAMP;
  to->one = are_one(bits, n);
  find_each(place, bits, to->one ? 1 : n, texels, normalized, linear, way);
  to->run = to->row = !to->one && are_run(place, n, (int32_t)texels);
  to->even = to->one || to->run;
  put_each(to, place, to->even ? 1 : n, (int32_t)texels, linear, way);
  if (!to->even) compare_lanes(to, n);
}
/* Texels of all lanes, where those of lane 0 tell them. */
static void fill_lanes(struct axis *to, unsigned n) {
  if (!to->one && !to->run) return;
  const int32_t first = to->first[0], second = to->second[0], part = to->part[0], step = to->run;
  for (unsigned l = 0; l < n; l++) {
    to->first[l] = first + step * (int32_t)l, to->second[l] = second + step * (int32_t)l;
    to->part[l] = part;
  }
}
/* Whole coordinates, of a texel each. */
static void find_whole(struct axis *to, const uint32_t *numbers, unsigned n, uint32_t texels, bool border) {
  const int32_t last = (int32_t)texels - 1;
  for (unsigned l = 0; l < n; l++) {
    const int32_t i = (int32_t)numbers[l], inside = within(i, last);
    to->first[l] = to->second[l] = border && i != inside ? -1 : inside;
    to->part[l] = 0;
  }
  compare_lanes(to, n);
}

/* ---- cubes ----------------------------------------------------------------------------------------------------*/
/* The faces of directions, and where on them. Each face is an image of its own here, with its edges clamped. */
static void find_faces(struct axis *across, struct axis *down, int32_t *face, const uint32_t *const x[3], unsigned n,
                       uint32_t texels, bool linear, uint64_t *odd) {
  const double size = 256.0 * texels, shift = linear ? 127.5 : 0;
  const int32_t parts = linear ? 255 : 0;
  uint32_t strange[MX_MAX_LANES];
  for (unsigned l = 0; l < n; l++) {
    double v[3], m[3];
    uint32_t infinite = 0;
    for (unsigned k = 0; k < 3; k++) {
      const uint32_t bits = x[k][l], magnitude = bits & 0x7FFFFFFF,
                     number = magnitude - 0x800000u < 0x7F000001u ? bits : bits & 0x80000000;
      float c;
      memcpy(&c, &number, sizeof c);
      v[k] = (double)c, m[k] = c < 0 ? -v[k] : v[k];
      infinite |= magnitude == 0x7F800000;
    }
    const int32_t negative[3] = {(int32_t)x[0][l] < 0, (int32_t)x[1][l] < 0, (int32_t)x[2][l] < 0};
    const bool by_z = m[2] >= m[0] && m[2] >= m[1], by_y = m[1] >= m[0];
    const double s = by_z   ? (negative[2] ? -v[0] : v[0])
                     : by_y ? v[0]
                            : (negative[0] ? v[2] : -v[2]),
                 t = by_z   ? -v[1]
                     : by_y ? (negative[1] ? -v[2] : v[2])
                            : -v[1],
                 most = by_z   ? m[2]
                        : by_y ? m[1]
                               : m[0];
    face[l] = by_z ? 4 + negative[2] : by_y ? 2 + negative[1] : negative[0];
    strange[l] = infinite | (most == 0); /* no direction: it is infinite or zero */
    const double divisor = strange[l] ? 1 : most, u = strange[l] ? 0 : (s / divisor + 1) / 2,
                 w = strange[l] ? 0 : (t / divisor + 1) / 2;
    put_texels(across, l, (int32_t)__builtin_floor(size * u - shift), (int32_t)texels, parts, MX_ADDRESS_CLAMP);
    put_texels(down, l, (int32_t)__builtin_floor(size * w - shift), (int32_t)texels, parts, MX_ADDRESS_CLAMP);
  }
  compare_lanes(across, n), compare_lanes(down, n);
  *odd |= mx__pack32(strange, n);
}

/* ---- texels ---------------------------------------------------------------------------------------------------*/
enum { PIECE = 8 }; /* lanes of which it is found out whether their texels lie in a row */
/* Places are numbers in the loops that find them. */
#define PLACE(at_) ((const void *)(uintptr_t)(at_))
#define FETCH(bytes_) \
  case bytes_: \
    for (unsigned l = 0; l < n; l++) memcpy(to + bytes_ * l, PLACE(at[l]), bytes_); \
    break;
MX__INL void fetch(unsigned char *to, const uint64_t *at, unsigned n, unsigned bytes) {
  switch (bytes) {
    FETCH(1)
    FETCH(2)
    FETCH(4)
    FETCH(8)
    FETCH(16)
  }
}
MX__INL void copy_row(unsigned char *to, const unsigned char *from, unsigned bytes) {
  switch (bytes) { /* copies of known lengths */
  case 1: memcpy(to, from, PIECE); break;
  case 2: memcpy(to, from, PIECE * 2); break;
  case 4: memcpy(to, from, PIECE * 4); break;
  case 8: memcpy(to, from, PIECE * 8); break;
  default: memcpy(to, from, PIECE * 16);
  }
}
/* Where texels lie: those of a slice at the first or second place of either axis. */
MX__INL void find_texels(uint64_t *to, const struct mx_texels *t, unsigned texel, const int32_t *x, const int32_t *y,
                         const int32_t *z, unsigned n, const unsigned char *border) {
  const uint64_t base = (uint64_t)(uintptr_t)t->bytes, outside = (uint64_t)(uintptr_t)border;
  const uint32_t row = (uint32_t)t->row, slice = (uint32_t)t->slice;
  for (unsigned l = 0; l < n; l++) to[l] = base + (uint64_t)(uint32_t)y[l] * row + (uint32_t)x[l] * texel;
  if (z)
    for (unsigned l = 0; l < n; l++) to[l] += (uint64_t)(uint32_t)z[l] * slice;
  if (!border) return;
  for (unsigned l = 0; l < n; l++) to[l] = x[l] < 0 || y[l] < 0 || (z && z[l] < 0) ? outside : to[l];
}
struct taken { /* how a slice is taken: what all its texels share */
  const struct mx_image_form *f;
  const struct mx_texels *t;
  const unsigned char *border; /* its texel; NULL: no place is outside */
  unsigned n;
  bool filtered; /* all four texels */
};
/* Where an image is drawn at its own size, neighbouring lanes have neighbouring texels, which are read where they lie
 * or copied as one piece, without finding the place of each. */
struct corners {
  int32_t across[2], down[2], deep;
};
/* Whether the texels of lanes from `l` on lie side by side; to: those of the first one. */
MX__INL bool are_row(struct corners *to, const struct taken *k, const struct axis *x, const struct axis *y,
                     const int32_t *z, unsigned l, unsigned n) {
  const int32_t x0 = x->first[l], x1 = x->second[l], y0 = y->first[l], y1 = y->second[l], z0 = z ? z[l] : 0;
  int32_t other = 0;
  if (x->first[l + n - 1] - x0 != (int32_t)n - 1) return false;
  for (unsigned j = 0; j < n; j++)
    other |= (x->first[l + j] ^ (x0 + (int32_t)j)) | (x->second[l + j] ^ (x1 + (int32_t)j)) | (y->first[l + j] ^ y0) |
             (y->second[l + j] ^ y1);
  for (unsigned j = 0; j < n && z; j++) other |= z[l + j] ^ z0;
  *to = (struct corners){{x0, x1}, {y0, y1}, z0};
  return !other && !(k->border && (x0 < 0 || x1 < 0 || y0 < 0 || y1 < 0 || z0 < 0));
}
MX__INL const unsigned char *corner(const struct taken *k, const struct corners *r, unsigned c) {
  return k->t->bytes + (size_t)r->deep * k->t->slice + (size_t)r->down[c >> 1] * k->t->row +
         (size_t)r->across[c & 1] * k->f->texel;
}
/* n lanes' weights. share: of the slice in each lane, if not `whole`. The lanes of which a texel takes part with weight
 * 0 are given back. */
MX__INL uint64_t weigh(struct mx_slice *to, const struct axis *x, const struct axis *y, const int32_t *share,
                       const bool whole, unsigned n) {
  uint32_t thin[MX_MAX_LANES];
  for (unsigned l = 0; l < n; l++) {
    const int32_t all = whole ? 256 : share[l], a = x->part[l], b = y->part[l];
    const int32_t x1 = (a * all + 128) >> 8, x0 = all - x1, w3 = (x1 * b + 128) >> 8, w1 = x1 - w3,
                  w0 = (x0 * (256 - b) + 128) >> 8, w2 = x0 - w0;
    to->weight[0][l] = w0, to->weight[1][l] = w1, to->weight[2][l] = w2, to->weight[3][l] = w3;
    const uint32_t across = a != 0, down = b != 0, both = across & down;
    thin[l] = all && ((w0 == 0) | ((w1 == 0) & across) | ((w2 == 0) & down) | ((w3 == 0) & both));
  }
  return n == 1 ? thin[0] : mx__pack32(thin, n);
}
/* share: NULL: all of it. */
static uint64_t put_weights(struct mx_slice *to, struct axis *x, struct axis *y, const int32_t *share, unsigned n) {
  to->same = x->even && y->even && (!share || are_one((const uint32_t *)share, n));
  if (to->same) return weigh(to, x, y, (const int32_t[]){share ? share[0] : 256}, false, 1) ? ~(uint64_t)0 : 0;
  fill_lanes(x, n), fill_lanes(y, n);
  return share ? weigh(to, x, y, share, false, n) : weigh(to, x, y, NULL, true, n);
}
/* The places of n lanes from l on, at corner c. */
MX__INL void find_corner(uint64_t *to, const struct taken *k, const struct axis *x, const struct axis *y,
                         const int32_t *z, unsigned c, unsigned l, unsigned n) {
  find_texels(to, k->t, k->f->texel, (c & 1 ? x->second : x->first) + l, (c >> 1 ? y->second : y->first) + l,
              z ? z + l : NULL, n, k->border);
}
static void take_each(struct mx_slice *to, const struct taken *k, const struct axis *x, const struct axis *y,
                      const int32_t *z) {
  const unsigned n = k->n, corners = k->filtered ? 4 : 1;
  uint64_t at[4][MX_MAX_LANES];
  for (unsigned c = 0; c < corners; c++) find_corner(at[c], k, x, y, z, c, 0, n);
  for (unsigned l = 0; l < n; l++) __builtin_prefetch(PLACE(at[0][l])); /* all misses at once */
  for (unsigned l = 0; l < n && k->filtered; l++) __builtin_prefetch(PLACE(at[3][l]));
  for (unsigned c = 0; c < corners; c++) fetch(to->texel[c], at[c], n, k->f->texel);
}
/* Texels that do not all lie in one row; pieces that do are copied as such. */
static void take_scattered(struct mx_slice *to, const struct taken *k, const struct axis *x, const struct axis *y,
                           const int32_t *z) {
  const unsigned pieces = k->n / PIECE, texel = k->f->texel, corners = k->filtered ? 4 : 1;
  struct corners row[MX_MAX_LANES / PIECE];
  uint64_t at[PIECE];
  uint32_t rows = 0;
  for (unsigned p = 0; p < pieces; p++) rows |= (uint32_t)are_row(&row[p], k, x, y, z, p * PIECE, PIECE) << p;
  if (!rows) {
    take_each(to, k, x, y, z);
    return;
  }
  for (unsigned p = 0; p < pieces; p++)
    for (unsigned c = 0; c < corners; c++) {
      unsigned char *piece = to->texel[c] + p * PIECE * texel;
      if (!(rows >> p & 1)) find_corner(at, k, x, y, z, c, p * PIECE, PIECE), fetch(piece, at, PIECE, texel);
      else copy_row(piece, corner(k, &row[p], c), texel);
    }
}
/* Rows stream through memory, where the processor's own prefetcher stops at the end of a page: the texels that lanes
 * behind these will be the first ones to read are prefetched. */
enum { TEXELS_AHEAD = 4096 };
static void take_slice(struct mx_slice *to, const struct taken *k, struct axis *x, struct axis *y, const int32_t *z,
                       const int32_t *share, uint64_t *thin) {
  const struct corners row = {{x->first[0], x->second[0]}, {y->first[0], y->second[0]}, z ? z[0] : 0};
  const unsigned bytes = k->n * k->f->texel;
  const bool outside = k->border && (row.across[0] | row.across[1] | row.down[0] | row.down[1] | row.deep) < 0;
  if (x->row && y->one && !outside && (!z || are_one((const uint32_t *)z, k->n))) {
    for (unsigned c = 0; c < 4; c++) to->from[c] = corner(k, &row, c);
    for (unsigned b = 0; b < bytes; b += 64) __builtin_prefetch(to->from[2] + TEXELS_AHEAD + b);
  } else {
    for (unsigned c = 0; c < 4; c++) to->from[c] = to->texel[c];
    fill_lanes(x, k->n), fill_lanes(y, k->n);
    take_scattered(to, k, x, y, z);
  }
  if (k->filtered) *thin |= put_weights(to, x, y, share, k->n);
}

/* The border as a texel of the image; vm/texture/sample.c has its rules. */
static void make_border(unsigned char *to, const struct mx_image_form *f, const struct mx_sampler_form *s) {
  for (unsigned c = 0; c < f->channels; c++) {
    const uint32_t v = mx__texture_border(f, s, c);
    memcpy(to + c * (f->bits / 8u), &v, f->bits / 8u);
  }
}

struct found {
  struct mx_slice slice[MX_MOST_SLICES];
  unsigned n;
  uint64_t thin; /* lanes of which a texel takes part with weight 0 */
};
/* The slices of a level. share: the level's in each lane, NULL: all of it. */
static void take_level(struct found *to, const struct taken *given, const struct mx_sampler_form *s,
                       const struct mx_samples *at, unsigned level, const int32_t *share, bool linear, uint64_t *odd) {
  static const uint32_t zeros[MX_MAX_LANES];
  struct taken k = *given;
  struct axis x, y, z;
  int32_t layer[MX_MAX_LANES];
  const struct mx_image_form *f = k.f;
  const unsigned n = k.n, axes = mx__image_axes(f->kind);
  const bool layered = mx__image_is_layered(f->kind), cube = mx__image_is_cube(f->kind);
  const struct mx_texels *t = k.t = &f->level[level];
  if (cube) find_faces(&x, &y, layer, at->x, n, t->w, linear, odd);
  else if (at->whole) {
    find_whole(&x, at->x[0], n, t->w, f->plain || s->address[0] == MX_ADDRESS_BORDER);
    find_whole(&y, axes > 1 ? at->x[1] : zeros, n, t->h, s->address[1] == MX_ADDRESS_BORDER);
  } else {
    find_axis(&x, at->x[0], n, t->w, s->normalized_coords, linear, s->address[0]);
    find_axis(&y, axes > 1 ? at->x[1] : zeros, n, t->h, s->normalized_coords, linear, s->address[1]);
  }
  if (layered) {
    const uint32_t last = f->layers - 1;
    for (unsigned l = 0; l < n; l++) {
      const int32_t which = (int32_t)(at->layer[l] < last ? at->layer[l] : last);
      layer[l] = cube ? layer[l] + 6 * which : which;
    }
  }
  if (axes < 3) {
    take_slice(&to->slice[to->n++], &k, &x, &y, layered || cube ? layer : NULL, share, &to->thin);
    return;
  }
  if (at->whole) find_whole(&z, at->x[2], n, t->d, s->address[2] == MX_ADDRESS_BORDER);
  else find_axis(&z, at->x[2], n, t->d, s->normalized_coords, linear, s->address[2]);
  fill_lanes(&z, n);
  int32_t part[2][MX_MAX_LANES], any = 0;
  for (unsigned l = 0; l < n; l++) {
    const int32_t all = share ? share[l] : 256;
    part[0][l] = ((256 - z.part[l]) * all + 128) >> 8; /* the first one's share is rounded */
    part[1][l] = all - part[0][l];
    any |= z.part[l];
  }
  take_slice(&to->slice[to->n++], &k, &x, &y, z.first, part[0], &to->thin);
  if (any) take_slice(&to->slice[to->n++], &k, &x, &y, z.second, part[1], &to->thin);
}

/* ---- all of it ------------------------------------------------------------------------------------------------*/
static bool is_done_here(const struct mx_image_form *f, const struct mx_sampler_form *s, const struct mx_samples *at,
                         bool linear) {
  const bool unusual = s->address[0] == MX_ADDRESS_WRAP || s->address[0] == MX_ADDRESS_MIRROR ||
                       s->address[1] == MX_ADDRESS_WRAP || s->address[1] == MX_ADDRESS_MIRROR ||
                       s->address[2] == MX_ADDRESS_WRAP || s->address[2] == MX_ADDRESS_MIRROR;
  if (s->srgb || (f->plain && !at->whole) || (at->whole && s->normalized_coords && unusual)) return false;
  if (mx__image_is_cube(f->kind) && linear && s->seamless) return false;
  return !((uint64_t)f->level[0].row >> 32) && !((uint64_t)f->level[0].slice >> 32);
}
static bool has_border(const struct mx_image_form *f, const struct mx_sampler_form *s) {
  return f->plain ||
         (!mx__image_is_cube(f->kind) && (s->address[0] == MX_ADDRESS_BORDER || s->address[1] == MX_ADDRESS_BORDER ||
                                          (f->kind == MX_ARRAY_3D && s->address[2] == MX_ADDRESS_BORDER)));
}
bool MX_LV(mx__sample)(const struct mx_image_form *f, const struct mx_sampler_form *s, struct mx_samples *at,
                       unsigned n, uint64_t mask, uint32_t *const out[4], uint64_t *odd) {
  const bool integers = f->type != MX_TEXEL_FLOAT && (!s->normalized_read || f->bits == 32),
             linear = s->linear && !at->whole && !integers, mips = s->mip_linear && !integers && at->lod;
  if (!is_done_here(f, s, at, linear)) return false;
  int32_t level[MX_MAX_LANES], share[2][MX_MAX_LANES], upper = 0;
  const int32_t top = 256 * (f->levels - 1);
  for (unsigned l = 0; l < n && at->lod; l++) {
    const int32_t lod = within(at->lod[l], top);
    level[l] = (mips ? lod : lod + 128) >> 8;
    share[1][l] = mips ? lod & 255 : 0;
    share[0][l] = 256 - share[1][l];
    upper |= mask >> l & 1 ? share[1][l] : 0;
  }
  if (upper && !linear) return false; /* single texels of two levels */
  unsigned char border[16] = {0};
  struct taken k = {.f = f, .n = n, .filtered = linear};
  if (has_border(f, s)) k.border = border;
  if (k.border && !f->plain) make_border(border, f, s);
  uint32_t channel[4][MX_MAX_LANES], *part[4] = {channel[0], channel[1], channel[2], channel[3]};
  *odd = 0;
  for (uint64_t rest = mask, same; rest; rest &= ~same) { /* the lanes of one level after those of another */
    struct found p;
    p.n = 0, p.thin = 0;
    const int32_t now = at->lod ? level[__builtin_ctzll(rest)] : 0;
    bool two = false;
    same = at->lod ? 0 : mask;
    for (unsigned l = 0; l < n && at->lod; l++)
      if (level[l] == now) same |= 1ull << l, two |= (mask >> l & 1) && share[1][l];
    same &= mask;
    uint64_t strange = 0;
    take_level(&p, &k, s, at, (unsigned)now, two ? share[0] : NULL, linear, &strange);
    if (two) take_level(&p, &k, s, at, (unsigned)now + 1, share[1], linear, &strange);
    uint32_t *const *to = same == mask ? out : part;
    if (strange || same != mask) mx__samples_keep(at, n);
    if (linear) MX_LV(mx__sample_sum)(f, s, p.slice, p.n, n, p.thin, at, to, &strange);
    else MX_LV(mx__sample_alone)(f, s, p.slice, n, to);
    for (unsigned c = 0; c < 4 && same != mask; c++) mx__blend32(out[c], channel[c], same, n);
    *odd |= strange & same;
  }
  return true;
}

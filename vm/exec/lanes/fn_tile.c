/* What tensor cores compute: products of small matrices, with the hardware's own rounding. Compiled once per CPU level.
 *
 * f16, bf16 and tf32 are summed in one fused step: every product is exact; all terms, C among them, are cut toward zero
 * to a multiple of 2^(emax - 25), emax being the greatest exponent of a term that is not zero (those of a product's
 * factors added, not normalised); the cut terms are summed exactly; the sum is cut to f32, or rounded to f16. fp8 is
 * f16 in two such steps, C added at the end. f64 is a chain of fused multiply-adds; integers are exact.
 *
 * The step in vectors (tile_step.h): with f16's range of exponents a product is exact in f32, scaled by a power of two
 * it is an integer below 2^27, and 16 of these fit an int32. Where a matrix has infinities, NaNs or exponents that
 * would leave f32's range, the same is done by integers, element after element (exact_step). */
#include "vm/exec/lanes/narrow.h"
#include "vm/exec/lanes/rounding.h"
#include "vm/exec/tile.h"
#include "vm/exec/tile_moves.h"

#include "vm/exec/exec.h"
#include "vm/exec/lanes/fn.h"

#include <string.h>

#pragma GCC diagnostic ignored \
    "-Wpsabi" /* vectors are passed between functions of this file only, most of them inline */
#if defined __AVX512BW__ && defined __AVX512VL__ && !defined __clang__
#define WIDEST 16
typedef int32_t mx__16x32 __attribute__((vector_size(64), may_alias, aligned(4)));
typedef int16_t mx__32x16 __attribute__((vector_size(64)));
#else
#define WIDEST 8
#endif

/* Exponent of a zero, in 16 bits also when two are added; f32's bias; bits behind emax that a term keeps. */
enum { NONE = -8192, BIAS = 127, FRACTION = 25 };
/* What the vectors take: exponents of factors (apart from zeros), of C and sums, and sums that leave room for C. */
enum { FACTOR_LEAST = -40, FACTOR_MOST = 60, SUM_LEAST = -100, SUM_MOST = 0x7B000000 };

#define LINES __attribute__((aligned(64))) /* vectors that lie in two cache lines take twice as long */
struct work {
  LINES float x[MX_TILE_MAX_SUMS * 4];     /* k consecutive */
  LINES float yt[MX_TILE_MAX_SUMS * 2];    /* columns consecutive */
  LINES int16_t ex[MX_TILE_MAX_SUMS * 4];  /* pairs along k: of a row */
  LINES int16_t eyt[MX_TILE_MAX_SUMS * 2]; /* of two rows, column after column */
  LINES float c[MX_TILE_MAX_SUMS];
  LINES float d[MX_TILE_MAX_SUMS];
};

mx__tile_mma MX_FN(tile_mma);
mx__tile_load MX_FN(tile_load);

/* ---- from registers to matrices and back ---------------------------------------------------------------*/
/* The elements of a part as they are in the registers, row after row: those of four lanes lie together. */
static void gather(const struct mx_tile_plan *p, unsigned part, const void *const *regs, unsigned char *dense) {
  const unsigned bits = mx__elements[p->t.type[part]].bits;
  const size_t pitch = ((size_t)bits << p->width[part]) / 8;
  for (unsigned r = 0; r < p->unique[part]; r++)
    for (unsigned l = 0; l < p->t.lanes; l += 32) {
      unsigned char *to = dense + p->at[part][r][l] * bits / 8;
      const unsigned char *from = regs[r];
      if (bits > 32)
        for (unsigned g = 0; g < 8; g++) memcpy(to + g * pitch, from + l * 8 + 32 * g, 32);
      else
        for (unsigned g = 0; g < 8; g++) memcpy(to + g * pitch, from + l * 4 + 16 * g, 16);
    }
}
/* y turned: columns follow each other. What changes places is 16 bits, which may be two or four elements along k; tf32:
 * 32 bits. */
static void gather_turned(const struct mx_tile_plan *p, const void *const *regs, unsigned char *turned) {
  const unsigned bits = mx__elements[p->t.type[p->y]].bits, k = p->k;
  const size_t cols = p->cols;
  for (unsigned r = 0; r < p->unique[p->y]; r++)
    for (unsigned l = 0; l < p->t.lanes; l += 32) {
      const size_t col = p->at[p->y][r][l] >> p->width[p->y], first = p->at[p->y][r][l] & (k - 1); /* of 8 columns */
      const unsigned char *from = (const unsigned char *)regs[r] + 4 * l;
      mx__4u32 v[8];
#pragma GCC unroll 8
      for (unsigned g = 0; g < 8; g++) v[g] = mx__get16(from + 16 * g);
      if (bits == 32) {
        mx__turn32(v), mx__turn32(v + 4);
        for (unsigned e = 0; e < 4; e++)
          mx__put16(turned + ((first + e) * cols + col) * 4, v[e]),
              mx__put16(turned + ((first + e) * cols + col + 4) * 4, v[4 + e]);
      } else {
        mx__turn16(v);
#pragma GCC unroll 8
        for (unsigned e = 0; e < 8; e++) mx__put16(turned + ((first * bits / 16 + e) * cols + col) * 2, v[e]);
      }
    }
}
/* Sums of 32 bits; those of 16 go as they lie. */
typedef uint32_t __attribute__((may_alias)) word;
static void gather_words(const struct mx_tile_plan *p, const void *const *regs, word *dense) {
  const unsigned lanes = p->t.lanes;
  for (unsigned r = 0; r < p->t.nregs[MX_PART_C]; r++) {
    const uint32_t *from = regs[r];
    const uint16_t *at = p->at[MX_PART_C][r];
    if (p->paired) {
      for (unsigned l = 0; l < lanes; l += 4) {
        const mx__4u32 a = mx__get16(from + l), b = mx__get16((const uint32_t *)regs[r + 1] + l);
        mx__put16(dense + at[l], mx__low32(a, b)), mx__put16(dense + at[l] + 4, mx__high32(a, b));
      }
      r++;
    } else
      for (unsigned l = 0; l < lanes; l++) dense[at[l]] = from[l];
  }
}
static void scatter_words(const struct mx_tile_plan *p, void *const *regs, const word *dense) {
  const unsigned lanes = p->t.lanes;
  for (unsigned r = 0; r < p->t.nregs[MX_PART_D]; r++) {
    uint32_t *to = regs[r];
    const uint16_t *at = p->at[MX_PART_D][r];
    if (p->paired) {
      for (unsigned l = 0; l < lanes; l += 4) {
        const mx__4u32 a = mx__get16(dense + at[l]), b = mx__get16(dense + at[l] + 4);
        mx__put16(to + l, mx__even32(a, b)), mx__put16((uint32_t *)regs[r + 1] + l, mx__odd32(a, b));
      }
      r++;
    } else
      for (unsigned l = 0; l < lanes; l++) to[l] = dense[at[l]];
  }
}

/* ---- from memory to registers -----------------------------------------------------------------------------*/
/* 32 lanes of a register, whose rows of 16 bytes lie in memory as they are, or across it. */
MX__INL void load_rows(const unsigned char *from, size_t pitch, unsigned bits, bool along, unsigned char *to) {
  mx__4u32 v[8];
  if (along) {
#pragma GCC unroll 8
    for (unsigned g = 0; g < 8; g++) mx__put16(to + 16 * g, mx__get16(from + g * pitch));
    return;
  }
  if (bits == 32) {
#pragma GCC unroll 4
    for (unsigned e = 0; e < 4; e++) v[e] = mx__get16(from + e * pitch), v[e + 4] = mx__get16(from + e * pitch + 16);
    mx__turn32(v), mx__turn32(v + 4);
  } else if (bits == 16) {
#pragma GCC unroll 8
    for (unsigned e = 0; e < 8; e++) v[e] = mx__get16(from + e * pitch);
    mx__turn16(v);
  } else {
#pragma GCC unroll 8
    for (unsigned e = 0; e < 8; e++)
      v[e] = mx__low8(mx__get8(from + 2 * e * pitch), mx__get8(from + (2 * e + 1) * pitch));
    mx__turn16(v);
  }
#pragma GCC unroll 8
  for (unsigned g = 0; g < 8; g++) mx__put16(to + 16 * g, v[g]);
}
/* The same of sums of 32 bits, of which a register holds every second one of a row: the odd ones, or the even ones. */
MX__INL void load_sums(const unsigned char *from, size_t pitch, bool odd, bool along, unsigned char *to) {
  if (along) {
    for (unsigned g = 0; g < 8; g++, from += pitch) {
      const mx__4u32 a = mx__get16(from - 4 * odd), b = mx__get16(from - 4 * odd + 16);
      mx__put16(to + 16 * g, odd ? mx__odd32(a, b) : mx__even32(a, b));
    }
    return;
  }
  mx__4u32 v[8];
  for (unsigned e = 0; e < 4; e++)
    v[e] = mx__get16(from + 2 * e * pitch), v[e + 4] = mx__get16(from + 2 * e * pitch + 16);
  mx__turn32(v), mx__turn32(v + 4);
  for (unsigned g = 0; g < 8; g++) mx__put16(to + 16 * g, v[g]);
}
void MX_FN(tile_load)(const struct mx_tile_plan *p, const unsigned char *host, uint64_t pitch, bool along,
                      void *const *d) {
  const unsigned part = p->t.part, bits = mx__elements[p->t.type[part]].bits, width = p->width[part];
  const bool sums = (part == MX_PART_C || part == MX_PART_D) && bits == 32;
  for (unsigned r = 0; r < p->t.nregs[part]; r++)
    for (unsigned l = 0; l < p->t.lanes; l += 32) {
      const size_t at = p->at[part][r][l], row = at >> width, col = at & ((1u << width) - 1);
      const unsigned char *from = host + (along ? row * pitch + col * bits / 8 : col * pitch + row * bits / 8);
      unsigned char *to = (unsigned char *)d[r] + 4 * l;
      if (sums) load_sums(from, pitch, at & 1, along, to);
      else if (along) load_rows(from, pitch, bits, true, to);
      else if (bits == 16) load_rows(from, pitch, 16, false, to);
      else if (bits == 8) load_rows(from, pitch, 8, false, to);
      else load_rows(from, pitch, 32, false, to);
    }
}

/* ---- elements as f32 -------------------------------------------------------------------------------------*/
/* n: a multiple of 8. */
typedef uint16_t __attribute__((may_alias)) half;
MX__INL void widen_halves(const half *h, float *v, unsigned n) {
#ifdef __F16C__
  typedef int16_t halves __attribute__((vector_size(16)));
  for (unsigned e = 0; e < n; e += 8) {
    halves from;
    memcpy(&from, h + e, sizeof from);
    const __typeof__(__builtin_ia32_vcvtph2ps256(from)) to = __builtin_ia32_vcvtph2ps256(from);
    memcpy(v + e, &to, sizeof to);
  }
#else
  for (unsigned e = 0; e < n; e++) v[e] = H2F(h[e]);
#endif
}
/* To nearest even. The only NaN here is 0x7fffffff. n: a multiple of 8. */
MX__INL void narrow(const float *v, uint16_t *h, unsigned n) {
#ifdef __F16C__
  typedef float floats __attribute__((vector_size(32)));
  for (unsigned e = 0; e < n; e += 8) {
    floats from;
    memcpy(&from, v + e, sizeof from);
    const __typeof__(__builtin_ia32_vcvtps2ph256(from, 0)) to = __builtin_ia32_vcvtps2ph256(from, 0);
    memcpy(h + e, &to, sizeof to);
  }
#else
  for (unsigned e = 0; e < n; e++) h[e] = F2H(v[e]);
#endif
}
/* n: a multiple of 8. */
static void widen(unsigned type, const unsigned char *raw, float *v, unsigned n) {
  const half *h = (const half *)raw;
  const word *whole = (const word *)raw;
  uint16_t halves[MX_TILE_MAX_SUMS * 4];
  switch (type) {
  case MX_E_f16: widen_halves(h, v, n); break;
  case MX_E_bf16:
    for (unsigned e = 0; e < n; e++) v[e] = mx__of_f32((uint32_t)h[e] << 16);
    break;
  case MX_E_tf32:
    for (unsigned e = 0; e < n; e++) v[e] = mx__of_f32(whole[e] & 0xFFFFE000);
    break;
  case MX_E_e5m2:
    for (unsigned e = 0; e < n; e++) halves[e] = (uint16_t)(raw[e] << 8);
    widen_halves(halves, v, n);
    break;
  default: /* e4m3 as an f16: exponents are 8 less, and there are no infinities */
    for (unsigned e = 0; e < n; e++)
      halves[e] = (uint16_t)((raw[e] & 0x7F) == 0x7F ? 0x7FFF : (raw[e] & 0x80) << 8 | (raw[e] & 0x7F) << 7);
    widen_halves(halves, v, n);
    for (unsigned e = 0; e < n; e++) v[e] *= 256;
  }
}
/* Where element `at` of a row of k goes. fp8: those of the first step, then those of the second; these are the lower
 * and the upper halves of registers, each of `run` elements (of a sparse A's row: with those that are not stored). */
MX__INL unsigned ordered(unsigned run, unsigned at, unsigned k) {
  return run ? at / (2 * run) * run + at % run + at / run % 2 * (k / 2) : at;
}
static void order_rows(float *x, unsigned run, unsigned rows, unsigned k) {
  float row[MX_TILE_MAX_K];
  for (unsigned i = 0; i < rows; i++) {
    memcpy(row, x + i * k, k * sizeof *row);
    for (unsigned e = 0; e < k; e += 2) memcpy(x + i * k + ordered(run, e, k), row + e, 2 * sizeof *row);
  }
}
/* From pairs of rows, column after column, to rows in that order. */
static void order_columns(const float *pairs, float *yt, unsigned run, unsigned k, unsigned cols) {
  for (unsigned e = 0; e < k; e += 2) {
    float *to = yt + ordered(run, e, k) * cols;
    for (unsigned j = 0; j < cols; j++) to[j] = pairs[e * cols + 2 * j], to[cols + j] = pairs[e * cols + 2 * j + 1];
  }
}

/* ---- one fused step ----------------------------------------------------------------------------------------*/
struct step {
  const float *x, *yt; /* as in struct work */
  const int16_t *ex, *eyt;
  const bool *absent; /* as x, of a sparse matrix; else NULL. What a row does not have does not even meet an infinity */
  unsigned rows, cols, k, pitch;   /* k of `pitch` elements of a row take part */
  int32_t least_factor, least_sum; /* exponents of subnormals */
  bool halves;                     /* the result is rounded to f16 */
};

/* One element, whatever its values are. */
static float exact_step(const struct step *s, unsigned i, unsigned j, float c) {
  const uint32_t nan = 0x7FFFFFFF;
  bool plus = false, minus = false;
  struct {
    int32_t e;
    int64_t m;
  } term[MX_TILE_MAX_K / 2 + 1];
  unsigned n = 0;
  for (unsigned k = 0; k <= s->k; k++) {
    if (k < s->k && s->absent && s->absent[i * s->pitch + k]) continue;
    const float a = k < s->k ? s->x[i * s->pitch + k] : c, b = k < s->k ? s->yt[k * s->cols + j] : 1;
    if (a != a || b != b) return mx__of_f32(nan);
    const uint32_t ra = mx__raw_f32(a), rb = mx__raw_f32(b);
    const bool negative = (ra ^ rb) >> 31;
    if ((ra & 0x7F800000) == 0x7F800000 || (rb & 0x7F800000) == 0x7F800000) {
      if (a == 0 || b == 0) return mx__of_f32(nan);
      if (negative) minus = true;
      else plus = true;
      continue;
    }
    if (a == 0 || b == 0) continue;
    const int32_t least = k < s->k ? s->least_factor : s->least_sum;
    int32_t ea = (int32_t)(ra >> 23 & 255) - 127, eb = (int32_t)(rb >> 23 & 255) - 127;
    uint64_t ma = (ra & 0x7FFFFF) | (ea > -127 ? 0x800000 : 0), mb = (rb & 0x7FFFFF) | (eb > -127 ? 0x800000 : 0);
    if (ea < -126) ea = -126;
    if (eb < -126) eb = -126;
    if (ea < least) ma >>= least - ea, ea = least; /* f16's subnormals, exact: their last bits are 0 here */
    if (k < s->k && eb < least) mb >>= least - eb, eb = least;
    /* 46 bits of fraction, down to the least that a product of 11-bit factors or a C of 24 bits has */
    const uint64_t m = ma * mb;
    term[n].e = k < s->k ? ea + eb : ea;
    term[n++].m = negative ? -(int64_t)m : (int64_t)m;
  }
  if (plus && minus) return mx__of_f32(nan);
  if (plus || minus) return mx__of_f32(minus ? 0xFF800000 : 0x7F800000);
  int32_t most = NONE;
  for (unsigned k = 0; k < n; k++) most = term[k].e > most ? term[k].e : most;
  int64_t sum = 0;
  for (unsigned k = 0; k < n; k++) {
    const int32_t cut = most - term[k].e + 46 - FRACTION;
    const uint64_t m = (uint64_t)(term[k].m < 0 ? -term[k].m : term[k].m), kept = cut > 63 ? 0 : m >> cut;
    sum += term[k].m < 0 ? -(int64_t)kept : (int64_t)kept;
  }
  const bool negative = sum < 0;
  const uint64_t m = (uint64_t)(negative ? -sum : sum);
  if (!m) return 0;
  if (s->halves) {
    const uint16_t h = (uint16_t)mx__narrow(negative, m, most - FRACTION, &mx__f16, MX__RN);
    return h ? H2F((uint16_t)(h | negative << 15)) : 0;
  }
  if (63 - __builtin_clzll(m) + most - FRACTION > 127) return mx__of_f32(negative ? 0xFF800000 : 0x7F800000);
  const uint32_t bits = (uint32_t)mx__narrow(negative, m, most - FRACTION, &mx__f32, MX__RZ);
  return bits ? mx__of_f32(bits | (uint32_t)negative << 31) : 0;
}

#define WIDE 8
#include "vm/exec/lanes/tile_step.h"
#undef WIDE
#if WIDEST == 16
#define WIDE 16
#include "vm/exec/lanes/tile_step.h"
#undef WIDE
#endif
/* The widest that fits. */
#if WIDEST == 16
#define WIDTH(cols_, name_, ...) ((cols_) == 16 ? name_##16(__VA_ARGS__) : name_##8(__VA_ARGS__))
#else
#define WIDTH(cols_, name_, ...) name_##8(__VA_ARGS__)
#endif

/* ---- sparse A ---------------------------------------------------------------------------------------------*/
/* Which element of its row each stored element is. Of two stored elements of four (one of two: tf32; two pairs of
 * eight: 4-bit types) the metadata have an index of two bits each. */
static void places(const struct mx_tile_plan *p, const struct mx_tile_regs *r, uint16_t *to) {
  const unsigned bits = mx__elements[p->t.type[MX_PART_A]].bits, stored = p->stored;
  const unsigned unit = bits == 4 ? 2 : 1;                    /* elements that one index places */
  const unsigned nidx = stored / unit * (bits == 32 ? 2 : 1); /* of a row; tf32's are 4 bits each, as two */
  for (unsigned i = 0; i < p->rows; i++)
    for (unsigned q = 0; q < nidx; q++) {
      const unsigned group = i & 7, high = i >> 3 & 1, at = q * 2;
      /* 16 bits of row i and 16 of row i + 8 in a lane, or 32 of either; the selector says which lanes of four */
      unsigned lane = group * 4, bit;
      if (bits < 16) lane += r->selector * 2 + high + at / 32 * 2, bit = at % 32;
      else lane += nidx == 8 ? r->selector : r->selector * 2 + at / 16, bit = high * 16 + at % 16;
      const unsigned index = r->meta[lane] >> bit & 3;
      if (bits == 32) {
        if (!(q & 1)) to[i * stored + q / 2] = (uint16_t)(q + index / 2);
        continue;
      }
      for (unsigned u = 0; u < unit; u++) to[i * stored + q * unit + u] = (uint16_t)((q / 2 * 4 + index) * unit + u);
    }
}

/* ---- by kinds of elements ------------------------------------------------------------------------------------*/
static void floats(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  const struct mx_tile *t = &p->t;
  struct work w;
  LINES unsigned char raw[MX_TILE_MAX_SUMS * 4 * 4];
  LINES uint16_t halves[MX_TILE_MAX_SUMS];
  bool absent[MX_TILE_MAX_SUMS * 4];
  const unsigned type = t->type[MX_PART_A], cols = p->cols, k = p->k, n = (unsigned)p->rows * cols;
  const bool fp8 = mx__elements[type].bits == 8, split = t->wmma && type == MX_E_tf32,
             to_halves = t->type[MX_PART_D] == MX_E_f16;
  const bool of_halves = t->type[MX_PART_C] == MX_E_f16;
  const unsigned run = !fp8 ? 0 : t->sparse ? 4 : 2;
  const int32_t least = type == MX_E_bf16 || type == MX_E_tf32 ? -126 : -14;
  gather(p, p->x, r->in[p->x], raw);
  if (t->sparse) {
    const unsigned bytes = mx__elements[type].bits / 8;
    unsigned char stored[MX_TILE_MAX_SUMS * 4 * 4];
    uint16_t to[MX_TILE_MAX_SUMS * 4];
    memcpy(stored, raw, (size_t)p->rows * p->stored * bytes);
    places(p, r, to);
    memset(raw, 0, (size_t)p->rows * k * bytes);
    memset(absent, true, sizeof absent);
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned e = 0; e < p->stored; e++) {
        memcpy(raw + (i * k + to[i * p->stored + e]) * bytes, stored + (i * p->stored + e) * bytes, bytes);
        absent[i * k + ordered(run, to[i * p->stored + e], k)] = false;
      }
  }
  widen(t->type[p->x], raw, w.x, p->rows * k);
  bool vectors;
  if (mx__elements[type].bits == 16) {
    vectors = WIDTH(cols, half_exponents, type, raw, w.ex, p->rows * k, BIAS);
    gather_turned(p, r->in[p->y], raw);
    widen(type, raw, w.yt, cols * k);
    vectors &= WIDTH(cols, half_pair_exponents, type, raw, w.eyt, k, cols);
  } else {
    gather_turned(p, r->in[p->y], raw);
    if (fp8) {
      LINES float pairs[MX_TILE_MAX_SUMS * 2];
      order_rows(w.x, run, p->rows, k);
      widen(t->type[p->y], raw, pairs, cols * k);
      order_columns(pairs, w.yt, run, k, cols);
    } else widen(type, raw, w.yt, cols * k);
    vectors = WIDTH(cols, exponents, w.x, w.ex, p->rows * k, least);
    vectors &= WIDTH(cols, pair_exponents, w.yt, w.eyt, k, cols, least);
  }
  if (of_halves) gather(p, MX_PART_C, r->in[MX_PART_C], (unsigned char *)halves), widen_halves(halves, w.c, n);
  else gather_words(p, r->in[MX_PART_C], (word *)w.c);
  struct step s = {w.x,  w.yt, w.ex, w.eyt, t->sparse ? absent : NULL, p->rows,
                   cols, k,    k,    least, of_halves ? -14 : -126,    to_halves};
  if (fp8 || split) {
    s.k /= 2;
    if (fp8) memset(w.d, 0, n * sizeof w.d[0]);
    if (fp8) s.least_sum = to_halves ? -14 : -126;
    WIDTH(cols, run_step, &s, vectors, fp8 ? w.d : w.c, w.d);
    s.x += s.k, s.ex += s.k, s.yt += s.k * cols, s.eyt += s.k * cols;
    if (s.absent) s.absent += s.k;
    WIDTH(cols, run_step, &s, vectors, w.d, w.d);
    if (fp8)
      for (unsigned e = 0; e < n; e++) {
        const float sum = w.d[e] + w.c[e];
        w.d[e] = sum == sum ? sum : mx__of_f32(0x7FFFFFFF);
      }
  } else WIDTH(cols, run_step, &s, vectors, w.c, w.d);
  if (t->saturates)
    for (unsigned e = 0; e < n; e++) {
      const float most = to_halves ? 65504.0f : mx__of_f32(0x7F7FFFFF);
      w.d[e] = w.d[e] != w.d[e] ? 0 : w.d[e] > most ? most : w.d[e] < -most ? -most : w.d[e];
    }
  if (!to_halves) return scatter_words(p, r->d, (const word *)w.d);
  narrow(w.d, halves, n);
  for (unsigned g = 0; g < t->nregs[MX_PART_D]; g++)
    for (unsigned l = 0; l < t->lanes; l += 4) memcpy((uint32_t *)r->d[g] + l, halves + p->at[MX_PART_D][g][l], 16);
}

/* fma(a, b, acc) as the tensor cores pass NaNs on. */
static double chain(double a, double b, double acc) {
  const uint64_t quiet = UINT64_C(1) << 51;
  const double d = FMA(f64, a, b, acc), nan = b != b ? b : acc != acc ? acc : a;
  return d == d ? d : nan != nan ? mx__of_f64(mx__raw_f64(nan) | quiet) : mx__of_f64(0xFFF8000000000000);
}
static void doubles(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  static const unsigned modes[] = {
      [MX_ROUND_NEAREST] = MX__RN, [MX_ROUND_ZERO] = MX__RZ, [MX_ROUND_DOWN] = MX__RM, [MX_ROUND_UP] = MX__RP};
  double x[16 * 16], y[8 * 16], c[16 * 8];
  const unsigned lanes = p->t.lanes;
  gather(p, p->x, r->in[p->x], (unsigned char *)x);
  gather(p, p->y, r->in[p->y], (unsigned char *)y);
  for (unsigned g = 0; g < p->t.nregs[MX_PART_C]; g++)
    for (unsigned l = 0; l < lanes; l++) c[p->at[MX_PART_C][g][l]] = ((const double *)r->in[MX_PART_C][g])[l];
  const unsigned old = p->t.rounding == MX_ROUND_NEAREST ? 0 : mx__set_rounding(modes[p->t.rounding]);
  for (unsigned k = 0; k < p->k; k++)
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned j = 0; j < p->cols; j++)
        c[i * p->cols + j] = chain(x[i * p->k + k], y[j * p->k + k], c[i * p->cols + j]);
  if (p->t.rounding != MX_ROUND_NEAREST) mx__restore_rounding(old);
  for (unsigned g = 0; g < p->t.nregs[MX_PART_D]; g++)
    for (unsigned l = 0; l < lanes; l++) ((double *)r->d[g])[l] = c[p->at[MX_PART_D][g][l]];
}

static void read_integers(unsigned type, const unsigned char *raw, int16_t *v, unsigned n) {
  switch (type) {
  case MX_E_s8:
    for (unsigned e = 0; e < n; e++) v[e] = (int8_t)raw[e];
    break;
  case MX_E_u8:
    for (unsigned e = 0; e < n; e++) v[e] = raw[e];
    break;
  case MX_E_s4:
    for (unsigned e = 0; e < n; e++) v[e] = (int16_t)((raw[e / 2] >> 4 * (e & 1) & 15) ^ 8) - 8;
    break;
  default:
    for (unsigned e = 0; e < n; e++) v[e] = raw[e / 2] >> 4 * (e & 1) & 15;
  }
}
static void integers(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  LINES int16_t x[16 * 128];
  LINES int16_t pairs[16 * 128];
  LINES unsigned char raw[16 * 128];
  LINES int32_t c[MX_TILE_MAX_SUMS];
  const unsigned k = p->k, cols = p->cols, bits = mx__elements[p->t.type[p->x]].bits;
  gather(p, p->x, r->in[p->x], raw);
  if (p->t.sparse) {
    uint16_t to[16 * 64];
    int16_t stored[16 * 64];
    read_integers(p->t.type[p->x], raw, stored, (unsigned)p->rows * p->stored);
    places(p, r, to);
    memset(x, 0, (size_t)p->rows * k * sizeof *x);
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned e = 0; e < p->stored; e++) x[i * k + to[i * p->stored + e]] = stored[i * p->stored + e];
  } else read_integers(p->t.type[p->x], raw, x, p->rows * k);
  gather_turned(p, r->in[p->y], raw);
  if (bits == 8) read_integers(p->t.type[p->y], raw, pairs, cols * k);
  else { /* four of 4 bits stand together */ int16_t fours[8 * 128];
    read_integers(p->t.type[p->y], raw, fours, cols * k);
    for (unsigned h = 0; h < k; h += 4)
      for (unsigned j = 0; j < cols; j++) {
        memcpy(&pairs[h * cols + 2 * j], &fours[h * cols + 4 * j], 4);
        memcpy(&pairs[(h + 2) * cols + 2 * j], &fours[h * cols + 4 * j + 2], 4);
      }
  }
  gather_words(p, r->in[MX_PART_C], (word *)c);
  WIDTH(cols, add_products, x, pairs, c, p->rows, cols, k, p->t.saturates);
  scatter_words(p, r->d, (const word *)c);
}

static void bits(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  uint64_t x[16 * 4], y[8 * 4];
  uint32_t c[MX_TILE_MAX_SUMS];
  const unsigned words = p->k / 64;
  gather(p, p->x, r->in[p->x], (unsigned char *)x);
  gather(p, p->y, r->in[p->y], (unsigned char *)y);
  gather_words(p, r->in[MX_PART_C], c);
  for (unsigned i = 0; i < p->rows; i++)
    for (unsigned j = 0; j < p->cols; j++)
      for (unsigned k = 0; k < words; k++) {
        const uint64_t a = x[i * words + k], b = y[j * words + k];
        c[i * p->cols + j] += (uint32_t)__builtin_popcountll(p->t.is_and ? a & b : a ^ b);
      }
  scatter_words(p, r->d, c);
}

/* Four 8 x 8 x 4 products, which newer GPUs make of scalar instructions: with other roundings than above. */
static void quads(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  const struct mx_tile *t = &p->t;
  float a[32][4], b[16][8], c[32][8], d[32][8];
  const bool halves = t->type[MX_PART_D] == MX_E_f16;
  for (unsigned part = MX_PART_A; part <= MX_PART_C; part++) {
    const unsigned per = mx__tile_per_reg(t, part);
    for (unsigned g = 0; g < t->nregs[part]; g++)
      for (unsigned l = 0; l < 32; l++)
        for (unsigned e = 0; e < per; e++) {
          const uint32_t v = ((const uint32_t *)r->in[part][g])[l];
          const float f = per == 1 ? mx__of_f32(v) : H2F((uint16_t)(v >> 16 * e));
          const struct mx_cell at = mx__tile_cell(t, part, g, l, e);
          *(part == MX_PART_A ? &a[at.row][at.col] : part == MX_PART_B ? &b[at.row][at.col] : &c[at.row][at.col]) = f;
        }
  }
  for (unsigned i = 0; i < 32; i++)
    for (unsigned j = 0; j < 8; j++) {
      const float *x = a[i], y0 = b[i / 8 * 4][j], y1 = b[i / 8 * 4 + 1][j], y2 = b[i / 8 * 4 + 2][j],
                  y3 = b[i / 8 * 4 + 3][j];
      const float sum =
          halves ? ((x[0] * y0 + x[1] * y1) + c[i][j]) + (x[2] * y2 + x[3] * y3)
                 : FMA(f32, x[3], y3, FMA(f32, x[2], y2, FMA(f32, x[1], y1, FMA(f32, x[0], y0, 0.0f)))) + c[i][j];
      d[i][j] = sum == sum ? sum : mx__of_f32(0x7FFFFFFF);
    }
  for (unsigned g = 0; g < t->nregs[MX_PART_D]; g++)
    for (unsigned l = 0; l < 32; l++) {
      const unsigned per = mx__tile_per_reg(t, MX_PART_D);
      uint32_t v = 0;
      for (unsigned e = 0; e < per; e++) {
        const struct mx_cell at = mx__tile_cell(t, MX_PART_D, g, l, e);
        v |= per == 1 ? mx__raw_f32(d[at.row][at.col]) : (uint32_t)F2H(d[at.row][at.col]) << 16 * e;
      }
      ((uint32_t *)r->d[g])[l] = v;
    }
}

void MX_FN(tile_mma)(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  const unsigned type = p->t.type[MX_PART_A];
  if (p->t.quads) quads(p, r);
  else if (type == MX_E_f64) doubles(p, r);
  else if (type == MX_E_b1) bits(p, r);
  else if (mx__elements[type].kind == MX_ELEMENT_FLOAT) floats(p, r);
  else integers(p, r);
}

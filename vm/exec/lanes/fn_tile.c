/* What tensor cores compute: products of small matrices, with the hardware's own rounding. Compiled once per CPU level.
 *
 * f16, bf16 and tf32 are summed in one fused step: every product is exact; all terms, C among them, are cut toward zero to a
 * multiple of 2^(emax - 25), emax being the greatest exponent of a term that is not zero (those of a product's factors added,
 * not normalised); the cut terms are summed exactly; the sum is cut to f32, or rounded to f16. fp8 is f16 in two such steps,
 * C added at the end. f64 is a chain of fused multiply-adds; integers are exact.
 *
 * The step in vectors: with f16's range of exponents a product is exact in f32, scaled by a power of two it is an integer
 * below 2^27, and 16 of these fit an int32. Where a matrix has infinities, NaNs or exponents that would leave f32's range,
 * the same is done by integers, element after element (exact_step). */
#include "vm/exec/lanes/narrow.h"
#include "vm/exec/lanes/rounding.h"
#include "vm/exec/tile.h"

#include "vm/exec/exec.h"
#include "vm/exec/lanes/fn.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between functions of this file only, all of them inline */
#define WIDE 8 /* columns at once */
typedef float vf __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(32), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t vl __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t vq __attribute__((vector_size(32)));

/* Exponents of a zero, and of what a sparse row does not have (it does not even meet an infinity); bits behind emax that a
 * term keeps. */
enum { NONE = -1000, ABSENT = -1001, FRACTION = 25 };
/* Exponents of factors (apart from zeros) and of C that the vectors take. */
enum { FACTOR_LEAST = -40, FACTOR_MOST = 60, SUM_LEAST = -100 };

MX__INL vi either(vi mask, vi a, vi b) { return (a & mask) | (b & ~mask); }
MX__INL vi larger(vi a, vi b) {
#ifdef __AVX2__
  typedef int32_t whole __attribute__((vector_size(32)));
  return (vi)__builtin_ia32_pmaxsd256((whole)a, (whole)b);
#else
  return either(a > b, a, b);
#endif
}

struct work {
  float x[MX_TILE_MAX_SUMS * 4], y[MX_TILE_MAX_SUMS * 2]; /* k consecutive */
  float yt[MX_TILE_MAX_SUMS * 2];                         /* columns consecutive */
  int32_t ex[MX_TILE_MAX_SUMS * 4], eyt[MX_TILE_MAX_SUMS * 2];
  float c[MX_TILE_MAX_SUMS], d[MX_TILE_MAX_SUMS];
};

/* ---- from registers to matrices and back ---------------------------------------------------------------*/
/* The elements of a part as they are in the registers, row after row: those of four lanes lie together. */
static void gather(const struct mx_tile_plan *p, unsigned part, const void *const *regs, unsigned unique, unsigned char *dense) {
  const unsigned bits = mx__elements[p->t.type[part]].bits, bytes = bits > 32 ? 32 : 16;
  for (unsigned r = 0; r < unique; r++)
    for (unsigned l = 0; l < p->t.lanes; l += 4)
      memcpy(dense + p->at[part][r][l] * bits / 8, (const unsigned char *)regs[r] + l * bytes / 4, bytes);
}

static void gather_sums(const struct mx_tile_plan *p, const void *const *regs, float *c) {
  const bool halves = p->t.type[MX_PART_C] == MX_E_f16;
  for (unsigned r = 0; r < p->t.nregs[MX_PART_C]; r++)
    for (unsigned l = 0; l < p->t.lanes; l++) {
      const uint32_t v = ((const uint32_t *)regs[r])[l];
      float *to = c + p->at[MX_PART_C][r][l];
      if (halves) to[0] = H2F((uint16_t)v), to[1] = H2F((uint16_t)(v >> 16));
      else to[0] = mx__of_f32(v);
    }
}
static void scatter_sums(const struct mx_tile_plan *p, void *const *regs, const float *d) {
  const bool halves = p->t.type[MX_PART_D] == MX_E_f16;
  for (unsigned r = 0; r < p->t.nregs[MX_PART_D]; r++)
    for (unsigned l = 0; l < p->t.lanes; l++) {
      const float *from = d + p->at[MX_PART_D][r][l];
      ((uint32_t *)regs[r])[l] = halves ? (uint32_t)F2H(from[0]) | (uint32_t)F2H(from[1]) << 16 : mx__raw_f32(from[0]);
    }
}

/* Where element `at` of a row of k goes. fp8: those of the first step, then those of the second; these are the lower and the
 * upper halves of registers, each of `run` elements (of a sparse A's row: with those that are not stored). */
MX__INL unsigned ordered(unsigned run, unsigned at, unsigned k) {
  return run ? at / (2 * run) * run + at % run + at / run % 2 * (k / 2) : at;
}

/* Elements of a floating-point part as f32, which holds them all. */
static void widen(unsigned type, unsigned run, const unsigned char *raw, float *v, unsigned rows, unsigned k) {
  const unsigned n = rows * k;
  typedef uint16_t __attribute__((may_alias)) half_word;
  typedef uint32_t __attribute__((may_alias)) whole_word;
  const half_word *half = (const half_word *)raw;
  const whole_word *word = (const whole_word *)raw;
  switch (type) {
  case MX_E_f16:
    for (unsigned e = 0; e < n; e++) v[e] = H2F(half[e]);
    break;
  case MX_E_bf16:
    for (unsigned e = 0; e < n; e++) v[e] = mx__of_f32((uint32_t)half[e] << 16);
    break;
  case MX_E_tf32:
    for (unsigned e = 0; e < n; e++) v[e] = mx__of_f32(word[e] & 0xFFFFE000);
    break;
  default:
    for (unsigned e = 0; e < n; e++) {
      const unsigned row = e / k, at = e % k;
      const uint8_t b = raw[e];
      float x = type == MX_E_e5m2 ? H2F((uint16_t)(b << 8)) : (b & 0x7F) == 0x7F ? mx__of_f32(0x7FFFFFFF) : mx__of_f32((uint32_t)(b & 0x7F) << 20) * 0x1p120f;
      if (type == MX_E_e4m3 && b & 0x80) x = -x;
      v[row * k + ordered(run, at, k)] = x;
    }
  }
}

/* Exponents as the step sees them: a subnormal's is `least`. Returned: whether vectors can take all of them. */
static bool exponents(const float *v, int32_t *e, unsigned n, int32_t least) {
  int32_t most = NONE, smallest = 0;
  for (unsigned k = 0; k < n; k++) {
    const uint32_t b = mx__raw_f32(v[k]);
    int32_t x = (int32_t)(b >> 23 & 255) - 127;
    x = x < least ? least : x;
    most = x > most ? x : most;
    const bool zero = !(b << 1);
    smallest = !zero && x < smallest ? x : smallest;
    e[k] = zero ? NONE : x;
  }
  return most <= FACTOR_MOST && smallest >= FACTOR_LEAST;
}

/* ---- one fused step ----------------------------------------------------------------------------------------*/
struct step {
  const float *x, *y, *yt;      /* rows of x and y; columns of y */
  const int32_t *ex, *eyt;
  unsigned rows, cols, k, pitch; /* k of `pitch` elements of a row take part */
  int32_t least_factor, least_sum; /* exponents of subnormals */
  bool halves;                  /* the result is rounded to f16 */
};

/* One element, whatever its values are. */
static float exact_step(const struct step *s, unsigned i, unsigned j, float c) {
  const uint32_t nan = 0x7FFFFFFF;
  bool plus = false, minus = false;
  struct { int32_t e; int64_t m; } term[MX_TILE_MAX_K / 2 + 1];
  unsigned n = 0;
  for (unsigned k = 0; k <= s->k; k++) {
    if (k < s->k && s->ex[i * s->pitch + k] == ABSENT) continue;
    const float a = k < s->k ? s->x[i * s->pitch + k] : c, b = k < s->k ? s->y[j * s->pitch + k] : 1;
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

/* A row of results, eight columns from j on. False: exponents that only exact_step takes. */
MX__INL bool step_vector(const struct step *s, unsigned i, unsigned j, const float *c, float *d) {
  const vf cv = *(const vf *)c;
  const vi cb = (vi)cv, field = (cb >> 23 & 255) - 127;
  const vi ce = larger(field, (vi){0} + s->least_sum);
  vi most = either(cb << 1 == 0, (vi){0} + NONE, ce);
  for (unsigned k = 0; k < s->k; k++) {
    most = larger(most, s->ex[i * s->pitch + k] + *(const vi *)(s->eyt + k * s->cols + j));
  }
  const vi odd = ((most < SUM_LEAST) & (most > NONE / 2)) | (ce > 127);
  const vq any = (vq)odd;
  if (any[0] | any[1] | any[2] | any[3]) return false;
  most = larger(most, (vi){0} + SUM_LEAST);
  const vf scale = (vf)((FRACTION - most + 127) << 23);
  vi sum = {0};
  for (unsigned k = 0; k < s->k; k++)
    sum += __builtin_convertvector(s->x[i * s->pitch + k] * *(const vf *)(s->yt + k * s->cols + j) * scale, vi);
  const vd exact = __builtin_convertvector(sum, vd) + __builtin_convertvector(__builtin_convertvector(cv * scale, vi), vd);
  const vl power = (__builtin_convertvector(most, vl) - FRACTION + 1023) << 52;
  const vd r = exact * (vd)power;
  const vl kept = (vl)r & ~((INT64_C(1) << 29) - 1);
  vf f = __builtin_convertvector((vd)kept, vf);
  if (s->halves) { /* what was cut off decides ties: it stays visible in the last bit, far below f16's */
    const vi sticky = __builtin_convertvector(kept != (vl)r, vi);
    f = (vf)((vi)f | (sticky & 1));
    for (unsigned l = 0; l < WIDE; l++) {
      const uint16_t h = F2H(f[l]);
      d[l] = h << 1 & 0xFFFF ? H2F(h) : 0;
    }
  } else
    *(vf *)d = f;
  return true;
}

static void run_step(const struct step *s, bool vectors, const float *c, float *d) {
  for (unsigned i = 0; i < s->rows; i++)
    for (unsigned j = 0; j < s->cols; j += WIDE) {
      const unsigned at = i * s->cols + j;
      if (vectors && step_vector(s, i, j, c + at, d + at)) continue;
      for (unsigned l = 0; l < WIDE; l++) d[at + l] = exact_step(s, i, j + l, c[at + l]);
    }
}

/* ---- sparse A ---------------------------------------------------------------------------------------------*/
/* Which element of its row each stored element is. Of two stored elements of four (one of two: tf32; two pairs of eight:
 * 4-bit types) the metadata have an index of two bits each. */
static void places(const struct mx_tile_plan *p, const struct mx_tile_regs *r, uint16_t *to) {
  const unsigned bits = mx__elements[p->t.type[MX_PART_A]].bits, stored = p->stored;
  const unsigned unit = bits == 4 ? 2 : 1;       /* elements that one index places */
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
  unsigned char raw[MX_TILE_MAX_SUMS * 4 * 4] __attribute__((aligned(64)));
  const unsigned type = t->type[MX_PART_A];
  const bool fp8 = mx__elements[type].bits == 8, split = t->wmma && type == MX_E_tf32, halves = t->type[MX_PART_D] == MX_E_f16;
  const unsigned run = !fp8 ? 0 : t->sparse ? 4 : 2;
  const int32_t least = type == MX_E_bf16 || type == MX_E_tf32 ? -126 : -14;
  uint16_t to[MX_TILE_MAX_SUMS * 4];
  if (t->sparse) {
    const unsigned bytes = mx__elements[type].bits / 8;
    unsigned char stored[MX_TILE_MAX_SUMS * 4 * 4];
    gather(p, p->x, r->in[p->x], p->unique[p->x], stored);
    places(p, r, to);
    memset(raw, 0, (size_t)p->rows * p->k * bytes);
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned e = 0; e < p->stored; e++)
        memcpy(raw + (i * p->k + to[i * p->stored + e]) * bytes, stored + (i * p->stored + e) * bytes, bytes);
  } else
    gather(p, p->x, r->in[p->x], p->unique[p->x], raw);
  widen(t->type[p->x], run, raw, w.x, p->rows, p->k);
  gather(p, p->y, r->in[p->y], p->unique[p->y], raw);
  widen(t->type[p->y], run, raw, w.y, p->cols, p->k);
  for (unsigned k = 0; k < p->k; k++)
    for (unsigned j = 0; j < p->cols; j++) w.yt[k * p->cols + j] = w.y[j * p->k + k];
  bool vectors = exponents(w.x, w.ex, (unsigned)p->rows * p->k, least);
  if (t->sparse) {
    bool present[MX_TILE_MAX_SUMS * 4] = {false};
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned e = 0; e < p->stored; e++) present[i * p->k + ordered(run, to[i * p->stored + e], p->k)] = true;
    for (unsigned e = 0; e < (unsigned)p->rows * p->k; e++)
      if (!present[e]) w.ex[e] = ABSENT;
  }
  vectors &= exponents(w.yt, w.eyt, (unsigned)p->cols * p->k, least);
  gather_sums(p, r->in[MX_PART_C], w.c);
  struct step s = {w.x, w.y, w.yt, w.ex, w.eyt, p->rows, p->cols, p->k, p->k, least, t->type[MX_PART_C] == MX_E_f16 ? -14 : -126, halves};
  if (fp8 || split) {
    const unsigned n = (unsigned)p->rows * p->cols;
    s.k /= 2;
    if (fp8) memset(w.d, 0, n * sizeof w.d[0]);
    if (fp8) s.least_sum = halves ? -14 : -126;
    run_step(&s, vectors, fp8 ? w.d : w.c, w.d);
    s.x += s.k, s.ex += s.k, s.y += s.k;
    s.yt += s.k * s.cols, s.eyt += s.k * s.cols;
    run_step(&s, vectors, w.d, w.d);
    if (fp8)
      for (unsigned e = 0; e < n; e++) {
        const float sum = w.d[e] + w.c[e];
        w.d[e] = sum == sum ? sum : mx__of_f32(0x7FFFFFFF);
      }
  } else
    run_step(&s, vectors, w.c, w.d);
  if (t->saturates)
    for (unsigned e = 0; e < (unsigned)p->rows * p->cols; e++) {
      const float most = halves ? 65504.0f : mx__of_f32(0x7F7FFFFF);
      w.d[e] = w.d[e] != w.d[e] ? 0 : w.d[e] > most ? most : w.d[e] < -most ? -most : w.d[e];
    }
  scatter_sums(p, r->d, w.d);
}

/* fma(a, b, acc) as the tensor cores pass NaNs on. */
static double chain(double a, double b, double acc) {
  const uint64_t quiet = UINT64_C(1) << 51;
  const double d = FMA(f64, a, b, acc), nan = b != b ? b : acc != acc ? acc : a;
  return d == d ? d : nan != nan ? mx__of_f64(mx__raw_f64(nan) | quiet) : mx__of_f64(0xFFF8000000000000);
}
static void doubles(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  static const unsigned modes[] = {[MX_ROUND_NEAREST] = MX__RN, [MX_ROUND_ZERO] = MX__RZ, [MX_ROUND_DOWN] = MX__RM, [MX_ROUND_UP] = MX__RP};
  double x[16 * 16], y[8 * 16], c[16 * 8];
  const unsigned lanes = p->t.lanes;
  gather(p, p->x, r->in[p->x], p->unique[p->x], (unsigned char *)x);
  gather(p, p->y, r->in[p->y], p->unique[p->y], (unsigned char *)y);
  for (unsigned g = 0; g < p->t.nregs[MX_PART_C]; g++)
    for (unsigned l = 0; l < lanes; l++) c[p->at[MX_PART_C][g][l]] = ((const double *)r->in[MX_PART_C][g])[l];
  const unsigned old = p->t.rounding == MX_ROUND_NEAREST ? 0 : mx__set_rounding(modes[p->t.rounding]);
  for (unsigned k = 0; k < p->k; k++)
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned j = 0; j < p->cols; j++) c[i * p->cols + j] = chain(x[i * p->k + k], y[j * p->k + k], c[i * p->cols + j]);
  if (p->t.rounding != MX_ROUND_NEAREST) mx__restore_rounding(old);
  for (unsigned g = 0; g < p->t.nregs[MX_PART_D]; g++)
    for (unsigned l = 0; l < lanes; l++) ((double *)r->d[g])[l] = c[p->at[MX_PART_D][g][l]];
}

/* Two products a lane, added to its sum. */
MX__INL vi add_products(vi sum, int32_t pair, const int16_t *pairs) {
#if defined __AVX2__
  typedef int16_t v16 __attribute__((vector_size(32), aligned(2), may_alias));
  return sum + (vi)__builtin_ia32_pmaddwd256((v16)((vi){0} + pair), *(const v16 *)pairs);
#else
  const int32_t low = (int16_t)pair, high = pair >> 16;
  for (unsigned l = 0; l < WIDE; l++) sum[l] = (int32_t)((uint32_t)sum[l] + (uint32_t)(low * pairs[2 * l]) + (uint32_t)(high * pairs[2 * l + 1]));
  return sum;
#endif
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
  int16_t x[16 * 128], y[8 * 128 * 2], pairs[16 * 128];
  unsigned char raw[16 * 128];
  int32_t c[MX_TILE_MAX_SUMS], d[MX_TILE_MAX_SUMS];
  const unsigned k = p->k, cols = p->cols;
  gather(p, p->x, r->in[p->x], p->unique[p->x], raw);
  if (p->t.sparse) {
    uint16_t to[16 * 64];
    int16_t stored[16 * 64];
    read_integers(p->t.type[p->x], raw, stored, (unsigned)p->rows * p->stored);
    places(p, r, to);
    memset(x, 0, sizeof x);
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned e = 0; e < p->stored; e++) x[i * k + to[i * p->stored + e]] = stored[i * p->stored + e];
  } else
    read_integers(p->t.type[p->x], raw, x, p->rows * k);
  gather(p, p->y, r->in[p->y], p->unique[p->y], raw);
  read_integers(p->t.type[p->y], raw, y, cols * k);
  for (unsigned h = 0; h < k; h += 2)
    for (unsigned j = 0; j < cols; j++) memcpy(&pairs[h * cols + 2 * j], &y[j * k + h], 4);
  for (unsigned g = 0; g < p->t.nregs[MX_PART_C]; g++)
    for (unsigned l = 0; l < p->t.lanes; l++) c[p->at[MX_PART_C][g][l]] = ((const int32_t *)r->in[MX_PART_C][g])[l];
  for (unsigned i = 0; i < p->rows; i++)
    for (unsigned j = 0; j < cols; j += WIDE) {
      vi sum = {0};
      for (unsigned h = 0; h < k; h += 2) {
        int32_t pair;
        memcpy(&pair, &x[i * k + h], 4);
        sum = add_products(sum, pair, pairs + h * cols + 2 * j);
      }
      for (unsigned l = 0; l < WIDE; l++) { /* the products alone stay below 2^23 */
        const int64_t exact = (int64_t)c[i * cols + j + l] + sum[l];
        d[i * cols + j + l] = !p->t.saturates ? (int32_t)(uint32_t)(uint64_t)exact : exact > INT32_MAX ? INT32_MAX : exact < INT32_MIN ? INT32_MIN : (int32_t)exact;
      }
    }
  for (unsigned g = 0; g < p->t.nregs[MX_PART_D]; g++)
    for (unsigned l = 0; l < p->t.lanes; l++) ((int32_t *)r->d[g])[l] = d[p->at[MX_PART_D][g][l]];
}

static void bits(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  uint64_t x[16 * 4], y[8 * 4];
  uint32_t c[MX_TILE_MAX_SUMS];
  const unsigned words = p->k / 64;
  gather(p, p->x, r->in[p->x], p->unique[p->x], (unsigned char *)x);
  gather(p, p->y, r->in[p->y], p->unique[p->y], (unsigned char *)y);
  for (unsigned g = 0; g < p->t.nregs[MX_PART_C]; g++)
    for (unsigned l = 0; l < p->t.lanes; l++) c[p->at[MX_PART_C][g][l]] = ((const uint32_t *)r->in[MX_PART_C][g])[l];
  for (unsigned i = 0; i < p->rows; i++)
    for (unsigned j = 0; j < p->cols; j++)
      for (unsigned k = 0; k < words; k++) {
        const uint64_t a = x[i * words + k], b = y[j * words + k];
        c[i * p->cols + j] += (uint32_t)__builtin_popcountll(p->t.is_and ? a & b : a ^ b);
      }
  for (unsigned g = 0; g < p->t.nregs[MX_PART_D]; g++)
    for (unsigned l = 0; l < p->t.lanes; l++) ((uint32_t *)r->d[g])[l] = c[p->at[MX_PART_D][g][l]];
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
      const float *x = a[i], y0 = b[i / 8 * 4][j], y1 = b[i / 8 * 4 + 1][j], y2 = b[i / 8 * 4 + 2][j], y3 = b[i / 8 * 4 + 3][j];
      const float sum = halves ? ((x[0] * y0 + x[1] * y1) + c[i][j]) + (x[2] * y2 + x[3] * y3)
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

mx__tile_mma MX_FN(tile_mma);
void MX_FN(tile_mma)(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  const unsigned type = p->t.type[MX_PART_A];
  if (p->t.quads) quads(p, r);
  else if (type == MX_E_f64) doubles(p, r);
  else if (type == MX_E_b1) bits(p, r);
  else if (mx__elements[type].kind == MX_ELEMENT_FLOAT) floats(p, r);
  else integers(p, r);
}

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
#if defined __AVX512BW__ && defined __AVX512DQ__ && defined __AVX512VL__ && !defined __clang__
#define WIDEST 16
typedef int32_t mx__16x32 __attribute__((vector_size(64), may_alias, aligned(4)));
typedef float mx__16xf __attribute__((vector_size(64)));
typedef int16_t mx__32x16 __attribute__((vector_size(64)));
typedef int8_t mx__64x8 __attribute__((vector_size(64)));
typedef int16_t mx__16x16 __attribute__((vector_size(32)));
#elif defined __AVX2__ && !defined __clang__
#define WIDEST 8
#else
#define WIDEST 4
#endif

/* Exponents are kept in 16 bits where an f32 has its own, shifted by 7: ONE is the least of them. NONE is the exponent
 * of a zero: with that of the greatest factor it is less than SUM_LEAST. f32's bias; bits behind emax that a term
 * keeps. */
enum { ONE = 1 << 7, NONE = -128 * ONE, BIAS = 127, FRACTION = 25 };
/* What the vectors take: exponents of factors (apart from zeros), of C and sums; sums that have room for C, as an f32:
 * 2^31 - 2^26. */
enum { FACTOR_LEAST = -40, FACTOR_MOST = 46, SUM_LEAST = -81, TOO_FAR = 0x4EF80000 };

#define LINES __attribute__((aligned(64))) /* vectors that lie in two cache lines take twice as long */
struct work {
  LINES float x[MX_TILE_MAX_SUMS * 4];     /* k consecutive */
  LINES float yt[MX_TILE_MAX_SUMS * 2];    /* columns consecutive */
  LINES int16_t ex[MX_TILE_MAX_SUMS * 4];  /* pairs along k: of a row */
  LINES int16_t eyt[MX_TILE_MAX_SUMS * 2]; /* of two rows, column after column */
  LINES float c[MX_TILE_MAX_SUMS];
  LINES float d[MX_TILE_MAX_SUMS];
  LINES float first[MX_TILE_MAX_SUMS]; /* what the first of two steps gives */
};
enum { MAX_BYTES = 1024 }; /* of A or B */

mx__tile_mma MX_FN(tile_mma);
mx__tile_load MX_FN(tile_load);

/* ---- from registers to matrices and back: see also tile_step.h --------------------------------------------*/
typedef uint32_t __attribute__((may_alias)) word;
typedef uint16_t __attribute__((may_alias)) half;
MX__INL const unsigned char *piece_of(const struct mx_tile_plan *p, unsigned part, const void *const *regs,
                                      unsigned n) {
  return regs[p->piece[part][n]];
}
MX__INL unsigned char *piece_to(const struct mx_tile_plan *p, unsigned part, void *const *regs, unsigned n) {
  return regs[p->piece[part][n]];
}
/* In warps of 64 lanes the registers of a part, one after the other, already are the dense matrix. */
enum { REGISTER = 64 * sizeof(uint32_t) };
MX__INL const void *whole(const struct mx_tile_plan *p, unsigned part, const void *const *regs, void *dense) {
  bool there = true;
  for (unsigned r = 1; r < p->unique[part]; r++) there &= (uintptr_t)regs[r] - (uintptr_t)regs[r - 1] == REGISTER;
  if (there) return regs[0];
  for (unsigned r = 0; r < p->unique[part]; r++) memcpy((unsigned char *)dense + r * REGISTER, regs[r], REGISTER);
  return dense;
}
MX__INL void put_whole(const struct mx_tile_plan *p, unsigned part, void *const *regs, const void *dense) {
  for (unsigned r = 0; r < p->unique[part]; r++) memcpy(regs[r], (const unsigned char *)dense + r * REGISTER, REGISTER);
}
/* The elements of a part, row after row (B: column after column), wherever lanes have them. */
static void gather(const struct mx_tile_plan *p, unsigned part, const void *const *regs, unsigned char *dense) {
  const unsigned bits = mx__elements[p->t.type[part]].bits, bytes = bits > 32 ? 8 : 4; /* of a lane */
  for (unsigned r = 0; r < p->unique[part]; r++)
    for (unsigned l = 0; l < p->t.lanes; l++)
      memcpy(dense + p->at[part][r][l] * bits / 8, (const unsigned char *)regs[r] + l * bytes, bytes);
}
/* Sums of 16 bits, row after row of the product. */
static const half *gather_halves(const struct mx_tile_plan *p, const void *const *regs, half *dense) {
  const unsigned along = p->along[MX_PART_C], cols = p->cols;
  if (p->t.lanes == 64) return whole(p, MX_PART_C, regs, dense);
  for (unsigned n = 0; n < p->rows * cols / 64; n++) {
    const unsigned char *from = piece_of(p, MX_PART_C, regs, n);
    half *to = dense + (p->across ? n / along * 8 + n % along * 8 * cols : n / along * 8 * cols + n % along * 8);
    mx__4u32 v[8];
    for (unsigned g = 0; g < 8; g++) v[g] = mx__get16(from + 16 * g);
    if (p->across) mx__turn16(v);
    for (unsigned g = 0; g < 8; g++) mx__put16(to + g * cols, v[g]);
  }
  return dense;
}
static void scatter_halves(const struct mx_tile_plan *p, void *const *regs, const half *dense) {
  const unsigned along = p->along[MX_PART_D], cols = p->cols;
  if (p->t.lanes == 64) return put_whole(p, MX_PART_D, regs, dense);
  for (unsigned n = 0; n < p->rows * cols / 64; n++) {
    unsigned char *to = piece_to(p, MX_PART_D, regs, n);
    const half *from =
        dense + (p->across ? n / along * 8 + n % along * 8 * cols : n / along * 8 * cols + n % along * 8);
    mx__4u32 v[8];
    for (unsigned g = 0; g < 8; g++) v[g] = mx__get16(from + g * cols);
    if (p->across) mx__turn16(v);
    for (unsigned g = 0; g < 8; g++) mx__put16(to + 16 * g, v[g]);
  }
}

/* ---- roundings ---------------------------------------------------------------------------------------------*/
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

#if WIDEST == 4
#define WIDE 4
#include "vm/exec/lanes/tile_step.h"
#undef WIDE
#define WIDEST_OF(name_) name_##4
#define WIDTH(cols_, name_, ...) name_##4(__VA_ARGS__)
#else
#define WIDE 8
#include "vm/exec/lanes/tile_step.h"
#undef WIDE
#if WIDEST == 8
#define WIDEST_OF(name_) name_##8
#define WIDTH(cols_, name_, ...) name_##8(__VA_ARGS__)
#else
#define WIDE 16
#include "vm/exec/lanes/tile_step.h"
#undef WIDE
#define WIDEST_OF(name_) name_##16
/* The widest that fits. */
#define WIDTH(cols_, name_, ...) ((cols_) == 8 ? name_##8(__VA_ARGS__) : name_##16(__VA_ARGS__))
#endif
#endif

/* ---- from memory to registers -----------------------------------------------------------------------------*/
/* A matrix of `lines` lines in memory, each of `bytes` bytes: for 64 lanes. What a register has together lies along a
 * line, or `per` lines are mixed so that it does; then lines are rows of registers, or columns (`turned`). */
struct lines {
  const unsigned char *from;
  size_t pitch, lines, bytes, per;
  bool turned;
};
/* 16 bytes at `at` of the whole, and wherever there are copies of them. */
MX__INL void put_piece(const struct mx_tile_plan *p, void *const *d, size_t size, size_t at, mx__4u32 v) {
  for (; at < p->t.nregs[p->t.part] * (size_t)REGISTER; at += size)
    mx__put16((unsigned char *)d[at / REGISTER] + at % REGISTER, v);
}
static void load_whole(const struct mx_tile_plan *p, const struct lines *m, void *const *d) {
  LINES unsigned char mixed[MAX_BYTES];
  const unsigned char *from = m->from;
  const size_t size = m->lines * m->bytes, pitch = m->pitch, rows = m->lines / m->per, cols = size / rows / 4;
  size_t to = 0;
#define PUT(v_) (m->turned ? mx__put16(mixed + to, v_) : put_piece(p, d, size, to, v_), to += 16)
  for (size_t i = 0; i < rows; i++, from += m->per * pitch)
    if (m->per == 1)
      for (size_t at = 0; at < m->bytes; at += 16) PUT(mx__get16(from + at));
    else if (m->per == 2)
      for (size_t at = 0; at < m->bytes; at += 16) {
        const mx__4u32 a = mx__get16(from + at), b = mx__get16(from + pitch + at);
        PUT(mx__low16(a, b)), PUT(mx__high16(a, b));
      }
    else
      for (size_t at = 0; at < m->bytes; at += 8) {
        const mx__4u32 a = mx__low8(mx__get8(from + at), mx__get8(from + pitch + at)),
                       b = mx__low8(mx__get8(from + 2 * pitch + at), mx__get8(from + 3 * pitch + at));
        PUT(mx__low16(a, b)), PUT(mx__high16(a, b));
      }
#undef PUT
  for (size_t i = 0; i < rows && m->turned; i += 4)
    for (size_t j = 0; j < cols; j += 4) {
      mx__4u32 v[4];
      for (size_t q = 0; q < 4; q++) v[q] = mx__get16(mixed + ((i + q) * cols + j) * 4);
      mx__turn32(v);
      for (size_t q = 0; q < 4; q++) put_piece(p, d, size, ((j + q) * rows + i) * 4, v[q]);
    }
}
#if WIDEST == 16
/* The same in vectors of 64 bytes: stores of less would have to be complete before the product can read them. */
MX__INL void load_vectors(const struct mx_tile_plan *p, const struct lines *m, size_t bytes, size_t per,
                          void *const *d) {
  const size_t size = m->lines * bytes, all = p->t.nregs[p->t.part] * (size_t)REGISTER;
  for (size_t at = 0; at < size; at += 64) {
    const unsigned char *from = m->from + at / bytes * m->pitch + at % bytes;
    mx__16x32 v;
    if (bytes >= 64) memcpy(&v, from, sizeof v);
    else if (bytes == 32) {
      mx__8u32 a, b;
      memcpy(&a, from, sizeof a), memcpy(&b, from + m->pitch, sizeof b);
      v = (mx__16x32)__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    } else {
      const mx__8u32 a = __builtin_shufflevector(mx__get16(from), mx__get16(from + m->pitch), 0, 1, 2, 3, 4, 5, 6, 7);
      const mx__8u32 b = __builtin_shufflevector(mx__get16(from + 2 * m->pitch), mx__get16(from + 3 * m->pitch), 0, 1,
                                                 2, 3, 4, 5, 6, 7);
      v = (mx__16x32)__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
    if (per == 2) /* two lines of 16 elements */
      v = (mx__16x32)__builtin_shufflevector((mx__32x16)v, (mx__32x16)v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                             22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    if (per == 4) { /* four lines of 16: first 4 x 4 words, then 4 x 4 bytes in each 16 */
      v = __builtin_shufflevector(v, v, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
      const mx__64x8 w = (mx__64x8)v;
#define BYTES16(n_) \
  n_, n_ + 4, n_ + 8, n_ + 12, n_ + 1, n_ + 5, n_ + 9, n_ + 13, n_ + 2, n_ + 6, n_ + 10, n_ + 14, n_ + 3, n_ + 7, \
      n_ + 11, n_ + 15
      v = (mx__16x32)__builtin_shufflevector(w, w, BYTES16(0), BYTES16(16), BYTES16(32), BYTES16(48));
#undef BYTES16
    }
    for (size_t to = at; to < all; to += size) memcpy((unsigned char *)d[to / REGISTER] + to % REGISTER, &v, sizeof v);
  }
}
/* False: another shape. */
static bool load_fast(const struct mx_tile_plan *p, const struct lines *m, void *const *d) {
  if (m->turned) return false;
  if (m->per == 1 && m->bytes == 16) load_vectors(p, m, 16, 1, d);
  else if (m->per == 1 && m->bytes == 32) load_vectors(p, m, 32, 1, d);
  else if (m->per == 1 && m->bytes == 64) load_vectors(p, m, 64, 1, d);
  else if (m->per == 2 && m->bytes == 32) load_vectors(p, m, 32, 2, d);
  else if (m->per == 4 && m->bytes == 16) load_vectors(p, m, 16, 4, d);
  else return false;
  return true;
}
#else
static bool load_fast(const struct mx_tile_plan *p, const struct lines *m, void *const *d) {
  (void)p, (void)m, (void)d;
  return false;
}
#endif
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
  const unsigned unique = p->unique[part];
  if (p->t.lanes == 64) {
    unsigned rows, cols;
    mx__tile_size(&p->t, part, &rows, &cols);
    const size_t lines = p->t.is_col[part] ? cols : rows, per = along ? 1 : 32 / bits;
    const struct lines m = {host, pitch, lines, rows * cols / lines * bits / 8, per, p->t.is_col[part]};
    if (!load_fast(p, &m, d)) load_whole(p, &m, d);
    return;
  }
  for (unsigned r = 0; r < unique; r++) {
    const size_t at = p->at[part][r][0], row = at >> width, col = at & ((1u << width) - 1);
    const unsigned char *from = host + (along ? row * pitch + col * bits / 8 : col * pitch + row * bits / 8);
    if (sums) load_sums(from, pitch, at & 1, along, d[r]);
    else if (along) load_rows(from, pitch, bits, true, d[r]);
    else if (bits == 16) load_rows(from, pitch, 16, false, d[r]);
    else if (bits == 8) load_rows(from, pitch, 8, false, d[r]);
    else load_rows(from, pitch, 32, false, d[r]);
  }
  for (unsigned r = unique; r < p->t.nregs[part]; r++) memcpy(d[r], d[r - unique], REGISTER / 2);
}

/* ---- elements as f32 -------------------------------------------------------------------------------------*/
/* n: a multiple of 16. */
static void widen(unsigned type, const unsigned char *raw, float *v, unsigned n) {
  const half *h = (const half *)raw;
  const word *whole = (const word *)raw;
  uint16_t halves[MAX_BYTES];
  switch (type) {
  case MX_E_f16: WIDEST_OF(widen_halves)(h, v, n); break;
  case MX_E_bf16:
    for (unsigned e = 0; e < n; e++) v[e] = mx__of_f32((uint32_t)h[e] << 16);
    break;
  case MX_E_tf32:
    for (unsigned e = 0; e < n; e++) v[e] = mx__of_f32(whole[e] & 0xFFFFE000);
    break;
  case MX_E_e5m2:
    for (unsigned e = 0; e < n; e++) halves[e] = (uint16_t)(raw[e] << 8);
    WIDEST_OF(widen_halves)(halves, v, n);
    break;
  default: /* e4m3 as an f16: exponents are 8 less, and there are no infinities */
    for (unsigned e = 0; e < n; e++)
      halves[e] = (uint16_t)((raw[e] & 0x7F) == 0x7F ? 0x7FFF : (raw[e] & 0x80) << 8 | (raw[e] & 0x7F) << 7);
    WIDEST_OF(widen_halves)(halves, v, n);
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
/* From fours of rows, column after column, to rows in that order. */
static void order_columns(const float *fours, float *yt, unsigned run, unsigned k, unsigned cols) {
  for (unsigned e = 0; e < k; e++) {
    float *to = yt + ordered(run, e, k) * cols;
    const float *from = fours + e / 4 * 4 * cols + e % 4;
    for (unsigned j = 0; j < cols; j++) to[j] = from[4 * j];
  }
}

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

/* A sparse matrix with all of its elements, those that are not stored zeros; each of its rows follows the other. */
static void expand(const struct mx_tile_plan *p, const uint16_t *to, unsigned char *raw) {
  const unsigned bits = mx__elements[p->t.type[MX_PART_A]].bits, unit = bits == 4 ? 2 : 1, bytes = bits * unit / 8;
  unsigned char stored[MAX_BYTES];
  memcpy(stored, raw, (size_t)p->rows * p->stored * bits / 8);
  memset(raw, 0, (size_t)p->rows * p->k * bits / 8);
  for (unsigned e = 0; e < p->rows * p->stored / unit; e++) {
    const size_t at = (size_t)(e * unit / p->stored * p->k + to[e * unit]) / unit;
    memcpy(raw + at * bytes, stored + e * bytes, bytes);
  }
}

/* ---- by kinds of elements ------------------------------------------------------------------------------------*/
/* Sums as f16, in place too: to nearest even; a zero is +0. */
static void round_sums(const float *v, half *halves, unsigned n) {
  narrow(v, halves, n);
  for (unsigned e = 0; e < n; e++) halves[e] = halves[e] == 0x8000 ? 0 : halves[e];
}
static void floats(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  const struct mx_tile *t = &p->t;
  struct work w;
  LINES unsigned char raw_x[MAX_BYTES];
  LINES unsigned char raw_y[MAX_BYTES];
  LINES half halves[MX_TILE_MAX_SUMS];
  bool absent[MX_TILE_MAX_SUMS * 4];
  const unsigned type = t->type[MX_PART_A], cols = p->cols, k = p->k, n = (unsigned)p->rows * cols;
  const bool fp8 = mx__elements[type].bits == 8, split = t->wmma && type == MX_E_tf32,
             to_halves = t->type[MX_PART_D] == MX_E_f16;
  const bool of_halves = t->type[MX_PART_C] == MX_E_f16;
  const unsigned run = !fp8 ? 0 : t->sparse ? 4 : 2;
  const int32_t least = type == MX_E_bf16 || type == MX_E_tf32 ? -126 : -14;
  const float *c = w.c;
  if (of_halves) WIDEST_OF(widen_halves)(gather_halves(p, r->in[MX_PART_C], halves), w.c, n);
  else c = WIDTH(cols, gather_sums, p, r->in[MX_PART_C], (word *)w.c);
  const unsigned char *x = WIDEST_OF(gather_rows)(p, p->x, r->in[p->x], p->rows, raw_x),
                      *y = WIDTH(cols, gather_turned, p, r->in[p->y], (word *)raw_y);
  if (t->sparse) {
    uint16_t to[MAX_BYTES];
    places(p, r, to);
    expand(p, to, raw_x);
    memset(absent, true, sizeof absent);
    for (unsigned e = 0; e < (unsigned)p->rows * p->stored; e++)
      absent[e / p->stored * k + ordered(run, to[e], k)] = false;
  }
  bool vectors;
  if (mx__elements[type].bits == 16) vectors = WIDTH(cols, read_halves, type, x, (const word *)y, &w, p->rows, cols, k);
  else {
    widen(t->type[p->x], x, w.x, p->rows * k);
    if (fp8) {
      LINES float fours[MX_TILE_MAX_SUMS * 2];
      order_rows(w.x, run, p->rows, k);
      widen(t->type[p->y], y, fours, cols * k);
      order_columns(fours, w.yt, run, k, cols);
    } else widen(type, y, w.yt, cols * k);
    vectors = WIDTH(cols, exponents, w.x, w.ex, p->rows * k, least);
    vectors &= WIDTH(cols, pair_exponents, w.yt, w.eyt, k, cols, least);
  }
  struct step s = {w.x,  w.yt, w.ex, w.eyt, t->sparse ? absent : NULL, p->rows,
                   cols, k,    k,    least, of_halves ? -14 : -126,    to_halves};
  if (fp8 || split) {
    s.k /= 2;
    if (fp8) memset(w.d, 0, n * sizeof w.d[0]);
    if (fp8) s.least_sum = to_halves ? -14 : -126;
    WIDTH(cols, run_step, &s, vectors, fp8 ? w.d : c, w.first);
    if (to_halves) round_sums(w.first, halves, n), WIDEST_OF(widen_halves)(halves, w.first, n);
    s.x += s.k, s.ex += s.k, s.yt += s.k * cols, s.eyt += s.k * cols;
    if (s.absent) s.absent += s.k;
    WIDTH(cols, run_step, &s, vectors, w.first, w.d);
    if (fp8 && to_halves) round_sums(w.d, halves, n), WIDEST_OF(widen_halves)(halves, w.d, n);
    if (fp8)
      for (unsigned e = 0; e < n; e++) {
        const float sum = w.d[e] + c[e];
        w.d[e] = sum == sum ? sum : mx__of_f32(0x7FFFFFFF);
      }
  } else WIDTH(cols, run_step, &s, vectors, c, w.d);
  if (!to_halves) {
    for (unsigned e = 0; e < n && t->saturates; e++) {
      const float most = mx__of_f32(0x7F7FFFFF);
      w.d[e] = w.d[e] != w.d[e] ? 0 : w.d[e] > most ? most : w.d[e] < -most ? -most : w.d[e];
    }
    return WIDTH(cols, scatter_sums, p, r->d, (const word *)w.d);
  }
  if (fp8) narrow(w.d, halves, n);
  else round_sums(w.d, halves, n);
  for (unsigned e = 0; e < n && t->saturates; e++) {
    const unsigned size = halves[e] & 0x7FFF;
    halves[e] = (uint16_t)(size > 0x7C00 ? 0 : halves[e] - (size == 0x7C00));
  }
  scatter_halves(p, r->d, halves);
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
  gather(p, MX_PART_C, r->in[MX_PART_C], (unsigned char *)c);
  const unsigned old = p->t.rounding == MX_ROUND_NEAREST ? 0 : mx__set_rounding(modes[p->t.rounding]);
  for (unsigned k = 0; k < p->k; k++)
    for (unsigned i = 0; i < p->rows; i++)
      for (unsigned j = 0; j < p->cols; j++)
        c[i * p->cols + j] = chain(x[i * p->k + k], y[j * p->k + k], c[i * p->cols + j]);
  if (p->t.rounding != MX_ROUND_NEAREST) mx__restore_rounding(old);
  for (unsigned g = 0; g < p->t.nregs[MX_PART_D]; g++)
    for (unsigned l = 0; l < lanes; l++) ((double *)r->d[g])[l] = c[p->at[MX_PART_D][g][l]];
}

static void integers(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  LINES int16_t x[2 * MAX_BYTES];
  LINES int16_t y[2 * MAX_BYTES];
  LINES unsigned char raw_x[MAX_BYTES];
  LINES unsigned char raw_y[MAX_BYTES];
  LINES word sums[MX_TILE_MAX_SUMS];
  const unsigned k = p->k, cols = p->cols, bits = mx__elements[p->t.type[p->x]].bits;
  const word *c = WIDTH(cols, gather_sums, p, r->in[MX_PART_C], sums);
  const unsigned char *from = WIDEST_OF(gather_rows)(p, p->x, r->in[p->x], p->rows, raw_x);
  if (p->t.sparse) {
    uint16_t to[2 * MAX_BYTES];
    places(p, r, to);
    expand(p, to, raw_x);
  }
  WIDEST_OF(spread_integers)(p->t.type[p->x], from, x, p->rows * k * bits / 8);
  from = WIDTH(cols, gather_turned, p, r->in[p->y], (word *)raw_y);
  WIDEST_OF(spread_integers)(p->t.type[p->y], from, y, cols * k * bits / 8);
  WIDTH(cols, add_products, x, y, c, sums, p->rows, cols, k * bits / 32, 16 / bits, p->t.saturates);
  WIDTH(cols, scatter_sums, p, r->d, sums);
}

static void bits(const struct mx_tile_plan *p, const struct mx_tile_regs *r) {
  uint64_t x[16 * 4], y[8 * 4];
  word d[MX_TILE_MAX_SUMS];
  const unsigned words = p->k / 64;
  gather(p, p->x, r->in[p->x], (unsigned char *)x);
  gather(p, p->y, r->in[p->y], (unsigned char *)y);
  const word *c = WIDTH(8, gather_sums, p, r->in[MX_PART_C], d);
  for (unsigned i = 0; i < p->rows; i++)
    for (unsigned j = 0; j < p->cols; j++) {
      uint32_t sum = c[i * p->cols + j];
      for (unsigned k = 0; k < words; k++) {
        const uint64_t a = x[i * words + k], b = y[j * words + k];
        sum += (uint32_t)__builtin_popcountll(p->t.is_and ? a & b : a ^ b);
      }
      d[i * p->cols + j] = sum;
    }
  WIDTH(8, scatter_sums, p, r->d, d);
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

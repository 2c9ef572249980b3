/* Moves and arithmetic of fn_tile.c over WIDE elements of 32 bits at once: included there once for each width. */
#define TILE__JOIN2(a_, b_) a_##b_
#define TILE__JOIN(a_, b_) TILE__JOIN2(a_, b_)
#define OF_WIDTH(name_) TILE__JOIN(name_, WIDE)
#define vf OF_WIDTH(vf)
#define vi OF_WIDTH(vi)
#define vu OF_WIDTH(vu)
#define vs OF_WIDTH(vs)
#define vh OF_WIDTH(vh)
#define vl OF_WIDTH(vl)
typedef float vf __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef uint32_t vu __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef int16_t vs __attribute__((vector_size(4 * WIDE), aligned(2), may_alias));
typedef uint16_t vh __attribute__((vector_size(4 * WIDE), aligned(2), may_alias));
typedef uint64_t vl __attribute__((vector_size(4 * WIDE), aligned(8), may_alias));

/* ---- instructions that C has no operator for --------------------------------------------------------------*/
#if WIDE == 16
MX__INL vi OF_WIDTH(larger)(vi a, vi b) {
  return (vi)__builtin_ia32_pmaxsd512_mask((mx__16x32)a, (mx__16x32)b, (mx__16x32){0}, 0xFFFF);
}
MX__INL vi OF_WIDTH(smaller)(vi a, vi b) {
  return (vi)__builtin_ia32_pminsd512_mask((mx__16x32)a, (mx__16x32)b, (mx__16x32){0}, 0xFFFF);
}
MX__INL vs OF_WIDTH(larger_pairs)(vs a, vs b) {
  return (vs)__builtin_ia32_pmaxsw512_mask((mx__32x16)a, (mx__32x16)b, (mx__32x16){0}, 0xFFFFFFFF);
}
MX__INL bool OF_WIDTH(any)(vi m) { return __builtin_ia32_ptestmd512((mx__16x32)m, (mx__16x32)m, 0xFFFF); }
MX__INL vi OF_WIDTH(products)(vs a, vs b) {
  return (vi)__builtin_ia32_pmaddwd512_mask((mx__32x16)a, (mx__32x16)b, (mx__16x32){0}, 0xFFFF);
}
/* v where size is not 0, otherwise NONE. */
MX__INL vs OF_WIDTH(unless_zero)(vs v, vh size) {
  return (vs)__builtin_ia32_blendmw_512_mask((mx__32x16)((vs){0} + NONE), (mx__32x16)v,
                                             __builtin_ia32_ptestmw512((mx__32x16)size, (mx__32x16)size, 0xFFFFFFFF));
}
/* Of numbers that are not negative, b where one is a NaN: floating-point comparisons have twice as many ports. */
MX__INL vi OF_WIDTH(larger_size)(vi a, vi b) {
  return (vi)__builtin_ia32_maxps512_mask((mx__16xf)a, (mx__16xf)b, (mx__16xf){0}, 0xFFFF, 4);
}
MX__INL vi OF_WIDTH(smaller_size)(vi a, vi b) {
  return (vi)__builtin_ia32_minps512_mask((mx__16xf)a, (mx__16xf)b, (mx__16xf){0}, 0xFFFF, 4);
}
/* The greater magnitude of two. */
MX__INL vf OF_WIDTH(farther)(vf a, vf b) {
  return (vf)__builtin_ia32_rangeps512_mask((mx__16xf)a, (mx__16xf)b, 11, (mx__16xf){0}, 0xFFFF, 4);
}
#elif WIDE == 8 && defined __AVX2__
typedef int32_t OF_WIDTH(ints) __attribute__((vector_size(32)));
typedef int16_t OF_WIDTH(shorts) __attribute__((vector_size(32)));
MX__INL vi OF_WIDTH(larger)(vi a, vi b) { return (vi)__builtin_ia32_pmaxsd256((OF_WIDTH(ints))a, (OF_WIDTH(ints))b); }
MX__INL vi OF_WIDTH(smaller)(vi a, vi b) { return (vi)__builtin_ia32_pminsd256((OF_WIDTH(ints))a, (OF_WIDTH(ints))b); }
MX__INL vs OF_WIDTH(larger_pairs)(vs a, vs b) {
  return (vs)__builtin_ia32_pmaxsw256((OF_WIDTH(shorts))a, (OF_WIDTH(shorts))b);
}
MX__INL bool OF_WIDTH(any)(vi m) {
  const __attribute__((vector_size(32))) long long bits = (__attribute__((vector_size(32))) long long)m;
  return !__builtin_ia32_ptestz256(bits, bits);
}
MX__INL vi OF_WIDTH(products)(vs a, vs b) {
  return (vi)__builtin_ia32_pmaddwd256((OF_WIDTH(shorts))a, (OF_WIDTH(shorts))b);
}
#elif WIDE == 4 && defined __SSE4_1__ && !defined __clang__
typedef int32_t OF_WIDTH(ints) __attribute__((vector_size(16)));
typedef int16_t OF_WIDTH(shorts) __attribute__((vector_size(16)));
MX__INL vi OF_WIDTH(larger)(vi a, vi b) { return (vi)__builtin_ia32_pmaxsd128((OF_WIDTH(ints))a, (OF_WIDTH(ints))b); }
MX__INL vi OF_WIDTH(smaller)(vi a, vi b) { return (vi)__builtin_ia32_pminsd128((OF_WIDTH(ints))a, (OF_WIDTH(ints))b); }
MX__INL vs OF_WIDTH(larger_pairs)(vs a, vs b) {
  return (vs)__builtin_ia32_pmaxsw128((OF_WIDTH(shorts))a, (OF_WIDTH(shorts))b);
}
MX__INL bool OF_WIDTH(any)(vi m) {
  const __attribute__((vector_size(16))) long long bits = (__attribute__((vector_size(16))) long long)m;
  return !__builtin_ia32_ptestz128(bits, bits);
}
MX__INL vi OF_WIDTH(products)(vs a, vs b) {
  return (vi)__builtin_ia32_pmaddwd128((OF_WIDTH(shorts))a, (OF_WIDTH(shorts))b);
}
#else
MX__INL vi OF_WIDTH(larger)(vi a, vi b) {
  const vi m = a > b;
  return (a & m) | (b & ~m);
}
MX__INL vi OF_WIDTH(smaller)(vi a, vi b) {
  const vi m = a < b;
  return (a & m) | (b & ~m);
}
MX__INL vs OF_WIDTH(larger_pairs)(vs a, vs b) {
  const vs m = a > b;
  return (a & m) | (b & ~m);
}
MX__INL bool OF_WIDTH(any)(vi m) {
  int32_t any = 0;
  for (unsigned l = 0; l < WIDE; l++) any |= m[l];
  return any;
}
MX__INL vi OF_WIDTH(products)(vs a, vs b) {
  const vi x = (vi)a, y = (vi)b;
  return (x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16);
}
#endif
#if WIDE != 16
MX__INL vi OF_WIDTH(larger_size)(vi a, vi b) { return OF_WIDTH(larger)(a, b); }
MX__INL vi OF_WIDTH(smaller_size)(vi a, vi b) { return OF_WIDTH(smaller)(a, b); }
MX__INL vs OF_WIDTH(unless_zero)(vs v, vh size) {
  const vs zero = (vs)(size == 0);
  return (v & ~zero) | (((vs){0} + NONE) & zero);
}
MX__INL vf OF_WIDTH(farther)(vf a, vf b) { return (vf)OF_WIDTH(larger)((vi)a & INT32_MAX, (vi)b & INT32_MAX); }
#endif
/* An integer cut toward zero to the 24 bits of an f32. */
MX__INL vf OF_WIDTH(cut)(vi v) {
#if WIDE == 16
  return (vf)__builtin_ia32_cvtdq2ps512_mask((mx__16x32)v, (mx__16xf){0}, 0xFFFF, 8 | 3);
#else
  const vf f = __builtin_convertvector(v, vf);
  const vi back = __builtin_convertvector(f, vi);
  /* without signs: of the least integer, and of 2^31, which comes back as it, the size has 32 bits */
  const vu size = (vu)(v ^ v >> 31) - (vu)(v >> 31), size_back = (vu)(back ^ back >> 31) - (vu)(back >> 31);
  return (vf)((vi)f + ((vi)(size_back - size) > 0));
#endif
}
#define TO_INTS(v_) __builtin_convertvector(v_, vi) /* toward zero */

/* Elements of two vectors in turn: of 32 bits (FIRST, LAST), the same within each 16 bytes (LOW, HIGH), pieces of 16
 * bytes (CHUNKS); every second one of both (EVEN, ODD); of one, every second 16 bits before the others (APART). */
#if WIDE == 16
#define FIRST32 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define LAST32 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN32 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD32 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOW32 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define HIGH32 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define LOW64 0, 8, 2, 10, 4, 12, 6, 14
#define HIGH64 1, 9, 3, 11, 5, 13, 7, 15
#define FIRST_CHUNKS 0, 1, 8, 9, 2, 3, 10, 11
#define LAST_CHUNKS 4, 5, 12, 13, 6, 7, 14, 15
#define APART16 \
  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif WIDE == 8
#define FIRST32 0, 8, 1, 9, 2, 10, 3, 11
#define LAST32 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN32 0, 2, 4, 6, 8, 10, 12, 14
#define ODD32 1, 3, 5, 7, 9, 11, 13, 15
#define LOW32 0, 8, 1, 9, 4, 12, 5, 13
#define HIGH32 2, 10, 3, 11, 6, 14, 7, 15
#define LOW64 0, 4, 2, 6
#define HIGH64 1, 5, 3, 7
#define FIRST_CHUNKS 0, 1, 4, 5
#define LAST_CHUNKS 2, 3, 6, 7
#define APART16 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15
#else
#define FIRST32 0, 4, 1, 5
#define LAST32 2, 6, 3, 7
#define EVEN32 0, 2, 4, 6
#define ODD32 1, 3, 5, 7
#define LOW32 FIRST32
#define HIGH32 LAST32
#define LOW64 0, 2
#define HIGH64 1, 3
#define FIRST_CHUNKS 0, 1
#define LAST_CHUNKS 2, 3
#define APART16 0, 2, 4, 6, 1, 3, 5, 7
#endif
#define MIXED(a_, b_, ...) (vi) __builtin_shufflevector(a_, b_, __VA_ARGS__)

/* ---- from registers to matrices and back ------------------------------------------------------------------*/
enum { OF_WIDTH(CHUNKS) = WIDE / 4, OF_WIDTH(BYTES) = 4 * WIDE };
#if WIDE == WIDEST
/* The rows of a part, one behind the other, as they are in the registers. */
static const void *OF_WIDTH(gather_rows)(const struct mx_tile_plan *p, unsigned part, const void *const *regs,
                                         unsigned rows, unsigned char *dense) {
  const unsigned along = p->along[part];
  const size_t pitch = 16 * along;
  const void *const all = dense;
  if (p->t.lanes == 64) return whole(p, part, regs, dense);
  for (unsigned m = 0; m < rows / 8; m++, dense += 8 * pitch) {
    const unsigned char *a = piece_of(p, part, regs, m * along);
    if (along == 1)
      for (unsigned at = 0; at < 128; at += OF_WIDTH(BYTES)) *(vi *)(dense + at) = *(const vi *)(a + at);
    else if (along == 2) {
      const unsigned char *b = piece_of(p, part, regs, m * along + 1);
      for (unsigned at = 0; at < 128; at += OF_WIDTH(BYTES)) {
        const vl low = *(const vl *)(a + at), high = *(const vl *)(b + at);
        *(vi *)(dense + 2 * at) = MIXED(low, high, FIRST_CHUNKS);
        *(vi *)(dense + 2 * at + OF_WIDTH(BYTES)) = MIXED(low, high, LAST_CHUNKS);
      }
    } else
      for (unsigned n = 0; n < along; n++, a = n < along ? piece_of(p, part, regs, m * along + n) : a)
        for (unsigned g = 0; g < 8; g++) mx__put16(dense + g * pitch + 16 * n, mx__get16(a + 16 * g));
  }
  return all;
}

#endif
/* WIDE columns from column j + q on, of pieces that have 16 bytes of each: every fourth of them begins 16 bytes, so
 * that turning these puts all in order. */
#define COLUMN(n_) (pieces[j / 8 + (q + (n_)) / 8] + (WIDE == 4 ? j % 8 * 16 : 0) + (q + (n_)) % 8 * 16)
MX__INL vi OF_WIDTH(columns)(const unsigned char *const *pieces, size_t j, size_t q) {
#if WIDE == 4
  return (vi)mx__get16(COLUMN(0));
#else
  const mx__8u32 low = __builtin_shufflevector(mx__get16(COLUMN(0)), mx__get16(COLUMN(4)), 0, 1, 2, 3, 4, 5, 6, 7);
#if WIDE == 8
  return (vi)low;
#else
  const mx__8u32 high = __builtin_shufflevector(mx__get16(COLUMN(8)), mx__get16(COLUMN(12)), 0, 1, 2, 3, 4, 5, 6, 7);
  return (vi)__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
#endif
}
MX__INL void OF_WIDTH(put_columns)(unsigned char *const *pieces, size_t j, size_t q, vi v) {
  const mx__4u32 *parts = (const mx__4u32 *)&v;
#pragma GCC unroll 4
  for (size_t n = 0; n < WIDE; n += 4) mx__put16(COLUMN(n), parts[n / 4]);
}
#undef COLUMN
MX__INL void OF_WIDTH(turn)(vi v[4]) {
  const vl a = (vl)MIXED(v[0], v[1], LOW32), b = (vl)MIXED(v[0], v[1], HIGH32), c = (vl)MIXED(v[2], v[3], LOW32),
           d = (vl)MIXED(v[2], v[3], HIGH32);
  v[0] = MIXED(a, c, LOW64), v[1] = MIXED(a, c, HIGH64), v[2] = MIXED(b, d, LOW64), v[3] = MIXED(b, d, HIGH64);
}
/* Elements of 32 bits, which may be several of y's that follow each other along k: row t has the t-th of all columns.
 */
static const void *OF_WIDTH(gather_turned)(const struct mx_tile_plan *p, const void *const *regs, word *turned) {
  const unsigned along = p->along[p->y], cols = p->cols;
  const void *const all = turned;
  if (p->t.lanes == 64) return whole(p, p->y, regs, turned);
  const unsigned char *pieces[MX_TILE_MAX_REGS];
  for (unsigned n = 0; n < along; n++, turned += 4 * cols) {
    for (unsigned m = 0; m < cols / 8; m++) pieces[m] = piece_of(p, p->y, regs, m * along + n);
    for (unsigned j = 0; j < cols; j += WIDE) {
      vi v[4];
      _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++) v[q] = OF_WIDTH(columns)(pieces, j, q);
      OF_WIDTH(turn)(v);
      _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++) * (vi *)(turned + q * cols + j) = v[q];
    }
  }
  return all;
}
/* Sums of 32 bits, row after row of the product. */
static const void *OF_WIDTH(gather_sums)(const struct mx_tile_plan *p, const void *const *regs, word *dense) {
  enum { PART = MX_PART_C };
  const unsigned along = p->along[PART], cols = p->cols;
  if (p->t.lanes == 64) return whole(p, PART, regs, dense);
  if (p->across) {
    const unsigned char *pieces[MX_TILE_MAX_REGS];
    for (unsigned n = 0; n < 2 * along; n++) {
      for (unsigned m = 0; m < cols / 8; m++) pieces[m] = piece_of(p, PART, regs, 2 * m * along + n);
      for (unsigned j = 0; j < cols; j += WIDE) {
        vi v[4];
        _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++) v[q] = OF_WIDTH(columns)(pieces, j, q);
        OF_WIDTH(turn)(v);
        _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++) *
            (vi *)(dense + (n / 2 * 8 + 2 * q + n % 2) * cols + j) = v[q];
      }
    }
    return dense;
  }
  for (unsigned m = 0; m < p->rows / 8; m++)
    for (unsigned n = 0; n < along; n++) {
      const unsigned char *even = piece_of(p, PART, regs, 2 * (m * along + n)),
                          *odd = piece_of(p, PART, regs, 2 * (m * along + n) + 1);
      word *to = dense + 8 * m * cols + 8 * n;
      for (unsigned at = 0; at < 128; at += OF_WIDTH(BYTES), to += OF_WIDTH(CHUNKS) * cols) {
        const vi a = *(const vi *)(even + at), b = *(const vi *)(odd + at);
        const vi both[2] = {MIXED(a, b, FIRST32), MIXED(a, b, LAST32)};
#if WIDE == 16
        typedef int32_t row __attribute__((vector_size(32), aligned(4), may_alias));
        for (unsigned k = 0; k < 2; k++) {
          *(row *)(to + 2 * k * cols) = __builtin_shufflevector(both[k], both[k], 0, 1, 2, 3, 4, 5, 6, 7);
          *(row *)(to + (2 * k + 1) * cols) = __builtin_shufflevector(both[k], both[k], 8, 9, 10, 11, 12, 13, 14, 15);
        }
#else
        *(vi *)to = both[0], *(vi *)(to + (WIDE == 8 ? cols : 4)) = both[1];
#endif
      }
    }
  return dense;
}
static void OF_WIDTH(scatter_sums)(const struct mx_tile_plan *p, void *const *regs, const word *dense) {
  enum { PART = MX_PART_D };
  const unsigned along = p->along[PART], cols = p->cols;
  if (p->t.lanes == 64) return put_whole(p, PART, regs, dense);
  if (p->across) {
    unsigned char *pieces[MX_TILE_MAX_REGS];
    for (unsigned n = 0; n < 2 * along; n++) {
      for (unsigned m = 0; m < cols / 8; m++) pieces[m] = piece_to(p, PART, regs, 2 * m * along + n);
      for (unsigned j = 0; j < cols; j += WIDE) {
        vi v[4];
        _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++) v[q] =
            *(const vi *)(dense + (n / 2 * 8 + 2 * q + n % 2) * cols + j);
        OF_WIDTH(turn)(v);
        _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++) OF_WIDTH(put_columns)(pieces, j, q, v[q]);
      }
    }
    return;
  }
  for (unsigned m = 0; m < p->rows / 8; m++)
    for (unsigned n = 0; n < along; n++) {
      unsigned char *even = piece_to(p, PART, regs, 2 * (m * along + n)),
                    *odd = piece_to(p, PART, regs, 2 * (m * along + n) + 1);
      const word *from = dense + 8 * m * cols + 8 * n;
      for (unsigned at = 0; at < 128; at += OF_WIDTH(BYTES), from += OF_WIDTH(CHUNKS) * cols) {
        vi v[2];
        for (unsigned k = 0; k < 2; k++) {
#if WIDE == 16
          typedef int32_t row __attribute__((vector_size(32), aligned(4), may_alias));
          const row low = *(const row *)(from + 2 * k * cols), high = *(const row *)(from + (2 * k + 1) * cols);
          v[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
          v[k] = *(const vi *)(from + k * (WIDE == 8 ? cols : 4));
#endif
        }
        *(vi *)(even + at) = MIXED(v[0], v[1], EVEN32), *(vi *)(odd + at) = MIXED(v[0], v[1], ODD32);
      }
    }
}

/* ---- elements as f32, and their exponents -------------------------------------------------------------------*/
/* n: a multiple of WIDE. */
MX__INL void OF_WIDTH(widen_halves)(const half *h, float *v, unsigned n) {
  typedef int16_t halves __attribute__((vector_size(2 * WIDE), aligned(2), may_alias));
  for (unsigned e = 0; e < n; e += WIDE) {
#if WIDE == 16
    const mx__16x16 from = (mx__16x16) * (const halves *)(h + e);
    *(vf *)(v + e) = (vf)__builtin_ia32_vcvtph2ps512_mask(from, (mx__16xf){0}, 0xFFFF, 4);
#elif WIDE == 8 && defined __F16C__ && !defined __clang__
    typedef int16_t eight __attribute__((vector_size(16)));
    *(vf *)(v + e) = (vf)__builtin_ia32_vcvtph2ps256((eight) * (const halves *)(h + e));
#else
    /* by integers; a subnormal has its bits below those of 2^-14, which is then subtracted */
    const vi bits = __builtin_convertvector(*(const halves *)(h + e), vi), size = (bits & 0x7FFF) << 13;
    const vi normal = size + (112 << 23), subnormal = size < 1 << 23, special = size >= 31 << 23;
    const vi small = (vi)((vf)(normal + (1 << 23)) - 0x1p-14f);
    *(vi *)(v + e) = (((normal & ~subnormal) | (small & subnormal)) | (special & 0x7F800000)) | (bits & INT32_MIN);
#endif
  }
}
/* Exponents of elements of 16 bits, with `add`; what of their range has been seen: the greatest, the least negated. */
MX__INL vs OF_WIDTH(half_exponent)(bool f16, vh v, int16_t add, vs *most, vs *least) {
  const vh size = v & 0x7FFF, field = (f16 ? v >> 3 : v) & (uint16_t)(f16 ? 0x1F * ONE : 0xFF * ONE);
  const vs e = OF_WIDTH(larger_pairs)((vs)field, (vs){0} + ONE);
  *most = OF_WIDTH(larger_pairs)(*most, e);
  if (!f16) *least = OF_WIDTH(larger_pairs)(*least, OF_WIDTH(unless_zero)(-e, size));
  return OF_WIDTH(unless_zero)(e + add, size);
}
/* Whether all are finite, and not further from 0 than the step in vectors takes. */
MX__INL bool OF_WIDTH(halves_within)(bool f16, vs most, vs least) {
  const int16_t limit = f16 ? 30 * ONE : (FACTOR_MOST + BIAS) * ONE;
  return !OF_WIDTH(any)((vi)((most > limit) | (least > -(FACTOR_LEAST + BIAS) * ONE)));
}
MX__INL bool OF_WIDTH(read_x)(bool f16, const unsigned char *raw, float *x, int16_t *ex, size_t n) {
  const int16_t add = (int16_t)((BIAS - (f16 ? 15 : BIAS)) * ONE);
  vs most = {0}, least = (vs){0} + NONE;
  for (size_t e = 0; e < n; e += 2 * WIDE) {
    *(vs *)(ex + e) = OF_WIDTH(half_exponent)(f16, *(const vh *)(raw + 2 * e), add, &most, &least);
    if (f16) OF_WIDTH(widen_halves)((const half *)raw + e, x + e, 2 * WIDE);
    else
      for (size_t l = 0; l < 2 * WIDE; l++) x[e + l] = mx__of_f32((uint32_t)((const half *)raw)[e + l] << 16);
  }
  return OF_WIDTH(halves_within)(f16, most, least);
}
/* y's words are two elements of a column, which go into two rows. */
MX__INL bool OF_WIDTH(read_y)(bool f16, const word *pairs, float *yt, int16_t *eyt, size_t k, size_t cols) {
  const int16_t add = (int16_t)(-(f16 ? 15 : BIAS) * ONE);
  vs most = {0}, least = (vs){0} + NONE;
  for (size_t e = 0; e < k; e += 2, yt += 2 * cols)
    for (size_t j = 0; j < cols; j += WIDE, pairs += WIDE, eyt += 2 * WIDE) {
      const vi v = *(const vi *)pairs;
      *(vs *)eyt = OF_WIDTH(half_exponent)(f16, (vh)v, add, &most, &least);
      if (f16) {
        LINES half apart[2 * WIDE];
        *(vh *)apart = __builtin_shufflevector((vh)v, (vh)v, APART16);
        OF_WIDTH(widen_halves)(apart, yt + j, WIDE), OF_WIDTH(widen_halves)(apart + WIDE, yt + cols + j, WIDE);
      } else *(vi *)(yt + j) = (vi)((vu)v << 16), *(vi *)(yt + cols + j) = (vi)((vu)v & 0xFFFF0000);
    }
  return OF_WIDTH(halves_within)(f16, most, least);
}
/* Both matrices, of f16 or bf16. False: they need exact_step. */
static bool OF_WIDTH(read_halves)(unsigned type, const unsigned char *x, const word *y, struct work *w, size_t rows,
                                  size_t cols, size_t k) {
  if (type == MX_E_bf16)
    return OF_WIDTH(read_x)(false, x, w->x, w->ex, rows * k) & OF_WIDTH(read_y)(false, y, w->yt, w->eyt, k, cols);
  if (rows == 16 && cols == 16 && k == 16)
    return OF_WIDTH(read_x)(true, x, w->x, w->ex, 256) & OF_WIDTH(read_y)(true, y, w->yt, w->eyt, 16, 16);
  return OF_WIDTH(read_x)(true, x, w->x, w->ex, rows * k) & OF_WIDTH(read_y)(true, y, w->yt, w->eyt, k, cols);
}
/* The same of elements that are f32: zeros have none, subnormals `least`. */
MX__INL vi OF_WIDTH(exponent)(vf v, int32_t least, vi *most, vi *least_seen) {
  const vi e = OF_WIDTH(larger)((vi)((vu)v << 1 >> 24), (vi){0} + (least + BIAS)), zero = (vi)((vu)v << 1) == 0;
  *most = OF_WIDTH(larger)(*most, e);
  *least_seen = OF_WIDTH(smaller)(*least_seen, e | (zero & INT32_MAX));
  return (e & ~zero) | (((vi){0} + BIAS + NONE / ONE) & zero);
}
MX__INL bool OF_WIDTH(within)(vi most, vi least) {
  const vi odd = (most > FACTOR_MOST + BIAS) | (least < FACTOR_LEAST + BIAS);
  return !OF_WIDTH(any)(odd);
}
/* Of x, whose pairs follow each other. `n`: a multiple of WIDE. */
static bool OF_WIDTH(exponents)(const float *v, int16_t *e, unsigned n, int32_t least) {
  typedef int16_t shorts __attribute__((vector_size(2 * WIDE), aligned(2), may_alias));
  vi most = {0}, smallest = (vi){0} + INT32_MAX;
  for (unsigned k = 0; k < n; k += WIDE) {
    const vi one = OF_WIDTH(exponent)(*(const vf *)(v + k), least, &most, &smallest) * ONE;
    *(shorts *)(e + k) = __builtin_convertvector(one, shorts);
  }
  return OF_WIDTH(within)(most, smallest);
}
/* Of y, turned: `rows` rows of `cols` columns; pairs are from two rows. Without the bias, so that a sum has it once. */
static bool OF_WIDTH(pair_exponents)(const float *v, int16_t *e, unsigned rows, unsigned cols, int32_t least) {
  vi most = {0}, smallest = (vi){0} + INT32_MAX;
  for (unsigned k = 0; k < rows; k += 2)
    for (unsigned j = 0; j < cols; j += WIDE) {
      const vi a = OF_WIDTH(exponent)(*(const vf *)(v + k * cols + j), least, &most, &smallest);
      const vi b = OF_WIDTH(exponent)(*(const vf *)(v + (k + 1) * cols + j), least, &most, &smallest);
      *(vi *)(e + k * cols + 2 * j) = (((a - BIAS) * ONE) & 0xFFFF) | (vi)((vu)((b - BIAS) * ONE) << 16);
    }
  return OF_WIDTH(within)(most, smallest);
}

/* ---- the fused step ------------------------------------------------------------------------------------------*/
/* WIDE results of a row, from a row of x and columns of y on, n products each, in two parts. They are right where
 * afterwards `far`, the greatest magnitude of a sum, is below TOO_FAR, and unless C is tiny where `low`, the least of
 * the greatest exponents, is the least that there may be: C's infinities and NaNs make sums that are too far.
 *
 * First the power of two by which terms become integers, from the greatest exponent. */
MX__INL vi OF_WIDTH(scale)(const struct step *s, const int16_t *ex, const int16_t *eyt, const float *c, size_t cols,
                           size_t n, vi *low) {
  vi most = *(const vi *)c & INT32_MAX;
  if (s->least_sum > SUM_LEAST) {
    const vi least = (vi){0} + (s->least_sum + BIAS) * (1 << 23);
    most = OF_WIDTH(larger)(most, least) & (most != 0);
  }
  vs pairs = (vs)((vi){0} + (SUM_LEAST + BIAS) * ONE * 0x10001);
#pragma GCC unroll 8
  for (size_t k = 0; k < n; k += 2) {
    int32_t pair;
    memcpy(&pair, ex + k, sizeof pair);
    pairs = OF_WIDTH(larger_pairs)(pairs, (vs)((vi){0} + pair) + *(const vs *)(eyt + k * cols));
  }
  /* exponents in 16 bits are where an f32 has them in its upper half */
  most = OF_WIDTH(larger_size)(OF_WIDTH(larger_size)((vi)pairs, (vi)((vu)pairs << 16)), most) & 0x7F800000;
  *low = OF_WIDTH(smaller_size)(*low, most);
  return (vi)(((uint32_t)(FRACTION + 2 * BIAS) << 23) - (vu)most);
}
MX__INL vf OF_WIDTH(sum)(const struct step *s, const float *x, const float *yt, const float *c, vi scale, size_t cols,
                         size_t n, vf *far) {
  vu sum = (vu)TO_INTS(*(const vf *)c * (vf)scale);
#pragma GCC unroll 16
  for (size_t k = 0; k < n; k++) sum += (vu)TO_INTS(x[k] * *(const vf *)(yt + k * cols) * (vf)scale);
  vf f = OF_WIDTH(cut)((vi)sum);
  *far = OF_WIDTH(farther)(*far, f);
  const vi rest = (vi)sum != TO_INTS(f);
  f *= (vf)((2 * BIAS << 23) - scale); /* one over it */
  /* a result to be rounded to f16: what was cut off decides ties, and stays visible in the last bit, far below f16's */
  return s->halves ? (vf)((vi)f | (rest & 1)) : f;
}
/* Whether an element of n is not zero, but less than the least that sums may be. */
static bool OF_WIDTH(has_tiny)(const float *c, unsigned n) {
  vi tiny = {0};
  for (unsigned e = 0; e < n; e += WIDE)
    tiny |= (vi)(((vu)(*(const vi *)(c + e) & INT32_MAX) - 1) < ((uint32_t)(SUM_LEAST + BIAS) << 23) - 1);
  return OF_WIDTH(any)(tiny);
}
MX__INL bool OF_WIDTH(are_fine)(vi low, vf far, const float *c, unsigned n) {
  const vi too_far = ((vi)far & INT32_MAX) >= TOO_FAR, lowest = low == (SUM_LEAST + BIAS) * (1 << 23);
  return !OF_WIDTH(any)(too_far) && !(OF_WIDTH(any)(lowest) && OF_WIDTH(has_tiny)(c, n));
}
/* All results; d is not c. First all of them, then, if some may be wrong, again with a look at each. All scales come
 * first: sums that wait for theirs would keep the processor from beginning the next row. */
MX__INL void OF_WIDTH(rows)(const struct step *s, bool vectors, const float *c, float *d, size_t cols, size_t n) {
  LINES int32_t scale[MX_TILE_MAX_SUMS];
  const unsigned all = s->rows * (unsigned)cols;
  vi low = (vi){0} + 0x7F800000;
  vf far = {0};
  if (vectors) {
    for (size_t i = 0; i < s->rows; i++)
      for (size_t j = 0; j < cols; j += WIDE)
        *(vi *)(scale + i * cols + j) =
            OF_WIDTH(scale)(s, s->ex + i * s->pitch, s->eyt + 2 * j, c + i * cols + j, cols, n, &low);
    for (size_t i = 0; i < s->rows; i++)
      for (size_t j = 0; j < cols; j += WIDE) {
        const size_t at = i * cols + j;
        *(vf *)(d + at) =
            OF_WIDTH(sum)(s, s->x + i * s->pitch, s->yt + j, c + at, *(const vi *)(scale + at), cols, n, &far);
      }
    if (OF_WIDTH(are_fine)(low, far, c, all)) return;
  }
  for (size_t i = 0; i < s->rows; i++)
    for (size_t j = 0; j < cols; j += WIDE) {
      const size_t at = i * cols + j;
      if (vectors) {
        low = (vi){0} + 0x7F800000, far = (vf){0};
        OF_WIDTH(scale)(s, s->ex + i * s->pitch, s->eyt + 2 * j, c + at, cols, n, &low);
        OF_WIDTH(sum)(s, s->x + i * s->pitch, s->yt + j, c + at, *(const vi *)(scale + at), cols, n, &far);
        if (OF_WIDTH(are_fine)(low, far, c + at, WIDE)) continue;
      }
      for (unsigned l = 0; l < WIDE; l++) d[at + l] = exact_step(s, (unsigned)i, (unsigned)j + l, c[at + l]);
    }
}
/* Loops of known lengths are half as long. */
static void OF_WIDTH(run_step)(const struct step *s, bool vectors, const float *c, float *d) {
  if (s->cols == 16 && s->k == 16) OF_WIDTH(rows)(s, vectors, c, d, 16, 16);
  else if (s->cols == 16 && s->k == 8) OF_WIDTH(rows)(s, vectors, c, d, 16, 8);
  else OF_WIDTH(rows)(s, vectors, c, d, s->cols, s->k);
}

/* ---- integers --------------------------------------------------------------------------------------------------*/
#if WIDE == WIDEST
/* Elements of 16 bits from those of 8 or 4: of each 16 bits the lowest one, then the next, each in a plane of its own;
 * `bytes` of them, a multiple of 64. */
static void OF_WIDTH(spread_integers)(unsigned type, const unsigned char *raw, int16_t *planes, size_t bytes) {
  const bool is_signed = mx__elements[type].kind == MX_ELEMENT_SIGNED;
  const unsigned bits = mx__elements[type].bits;
  for (unsigned low = 0; low < 16; low += bits, planes += bytes / 2) {
    const uint16_t left = (uint16_t)(16 - bits - low);
    const int16_t right = (int16_t)(16 - bits);
    for (size_t at = 0; at < bytes; at += OF_WIDTH(BYTES)) {
      const vh v = *(const vh *)(raw + at) << left;
      *(vs *)(planes + at / 2) = is_signed ? (vs)v >> right : (vs)(v >> (uint16_t)right);
    }
  }
}
#endif
/* d = c + x y, in pairs of 16-bit elements: `count` planes of x, of `deep` pairs a row, and of y, of as many rows. */
MX__INL void OF_WIDTH(add)(const int16_t *x, const int16_t *y, const word *c, word *d, size_t rows, size_t cols,
                           size_t deep, size_t count, bool saturates) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j += WIDE) {
      vi sum = {0};
      for (size_t e = 0; e < count; e++)
#pragma GCC unroll 8
        for (size_t h = 0; h < deep; h++) {
          int32_t pair;
          memcpy(&pair, &x[((e * rows + i) * deep + h) * 2], sizeof pair);
          sum += OF_WIDTH(products)((vs)((vi){0} + pair), *(const vs *)(y + ((e * deep + h) * cols + j) * 2));
        }
      const vi old = *(const vi *)(c + i * cols + j);
      const vi all = (vi)((vu)old + (vu)sum), beyond = (((old ^ all) & (sum ^ all)) >> 31) & (saturates ? -1 : 0);
      *(vi *)(d + i * cols + j) = (all & ~beyond) | ((old >> 31 ^ INT32_MAX) & beyond);
    }
}
static void OF_WIDTH(add_products)(const int16_t *x, const int16_t *y, const word *c, word *d, unsigned rows,
                                   unsigned cols, unsigned deep, unsigned count, bool saturates) {
  if (cols == 16 && deep == 4 && count == 2) OF_WIDTH(add)(x, y, c, d, rows, 16, 4, 2, saturates);
  else if (cols == 16 && deep == 8 && count == 2) OF_WIDTH(add)(x, y, c, d, rows, 16, 8, 2, saturates);
  else OF_WIDTH(add)(x, y, c, d, rows, cols, deep, count, saturates);
}
#undef FIRST32
#undef LAST32
#undef EVEN32
#undef ODD32
#undef LOW32
#undef HIGH32
#undef LOW64
#undef HIGH64
#undef FIRST_CHUNKS
#undef LAST_CHUNKS
#undef APART16
#undef MIXED
#undef TO_INTS
#undef vf
#undef vi
#undef vu
#undef vs
#undef vh
#undef vl
#undef OF_WIDTH
#undef TILE__JOIN
#undef TILE__JOIN2

/* Arithmetic of fn_tile.c over WIDE columns at once: included there once for each width. See there. */
#define TILE__JOIN2(a_, b_) a_##b_
#define TILE__JOIN(a_, b_) TILE__JOIN2(a_, b_)
#define OF_WIDTH(name_) TILE__JOIN(name_, WIDE)
#define vf OF_WIDTH(vf)
#define vi OF_WIDTH(vi)
#define vu OF_WIDTH(vu)
#define vs OF_WIDTH(vs)
typedef float vf __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef uint32_t vu __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef int16_t vs __attribute__((vector_size(4 * WIDE), aligned(2), may_alias));

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
#elif defined __AVX2__
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
/* Whether C is finite, and zero or no less than the least that sums may be, and sums leave room for it. `size`: C's
 * bits without the sign. */
MX__INL bool OF_WIDTH(all_fine)(vu size, vi exponent, vi sum) {
  const vu tiny = size - 1, room = (vu)sum + SUM_MOST;
  const uint32_t least = ((uint32_t)(SUM_LEAST + BIAS) << 24) - 1, most = 2u * SUM_MOST;
#if WIDE == 16
  enum { LESS = 1, GREATER = 6 };
  const uint16_t odd = __builtin_ia32_cmpd512_mask((mx__16x32)exponent, (mx__16x32)((vi){0} + 255), 0, 0xFFFF) |
                       __builtin_ia32_ucmpd512_mask((mx__16x32)tiny, (mx__16x32)((vu){0} + least), LESS, 0xFFFF) |
                       __builtin_ia32_ucmpd512_mask((mx__16x32)room, (mx__16x32)((vu){0} + most), GREATER, 0xFFFF);
  return !odd;
#else
  const vi odd = (exponent == 255) | (vi)(tiny < least) | (vi)(room > most);
  return !OF_WIDTH(any)(odd);
#endif
}
/* An integer cut toward zero to the 24 bits of an f32. */
MX__INL vf OF_WIDTH(cut)(vi v) {
#if WIDE == 16
  return (vf)__builtin_ia32_cvtdq2ps512_mask((mx__16x32)v, (vf){0}, 0xFFFF, 8 | 3);
#else
  const vf f = __builtin_convertvector(v, vf);
  const vi back = __builtin_convertvector(f, vi);
  return (vf)((vi)f + (((back ^ back >> 31) - (back >> 31)) > ((v ^ v >> 31) - (v >> 31))));
#endif
}
#define TO_INTS(v_) __builtin_convertvector(v_, vi) /* toward zero */

/* Exponents as the step sees them, with f32's bias: zeros have none, subnormals `least`. */
MX__INL vi OF_WIDTH(exponent)(vf v, int32_t least, vi *most, vi *least_seen) {
  const vi e = OF_WIDTH(larger)((vi)((vu)v << 1 >> 24), (vi){0} + (least + BIAS)), zero = (vi)v << 1 == 0;
  *most = OF_WIDTH(larger)(*most, e);
  *least_seen = OF_WIDTH(smaller)(*least_seen, e | (zero & INT32_MAX));
  return (e & ~zero) | (((vi){0} + NONE) & zero);
}
MX__INL bool OF_WIDTH(within)(vi most, vi least) {
  const vi odd = (most > FACTOR_MOST + BIAS) | (least < FACTOR_LEAST + BIAS);
  return !OF_WIDTH(any)(odd);
}
/* Of x, whose pairs follow each other. `n`: a multiple of WIDE. */
static bool OF_WIDTH(exponents)(const float *v, int16_t *e, unsigned n, int32_t least) {
  typedef int16_t half __attribute__((vector_size(2 * WIDE), aligned(2), may_alias));
  vi most = {0}, smallest = (vi){0} + INT32_MAX;
  for (unsigned k = 0; k < n; k += WIDE)
    *(half *)(e + k) = __builtin_convertvector(OF_WIDTH(exponent)(*(const vf *)(v + k), least, &most, &smallest), half);
  return OF_WIDTH(within)(most, smallest);
}
/* Of y, turned: `rows` rows of `cols` columns; pairs are from two rows. Without the bias, so that a sum has it once. */
static bool OF_WIDTH(pair_exponents)(const float *v, int16_t *e, unsigned rows, unsigned cols, int32_t least) {
  vi most = {0}, smallest = (vi){0} + INT32_MAX;
  for (unsigned k = 0; k < rows; k += 2)
    for (unsigned j = 0; j < cols; j += WIDE) {
      const vi a = OF_WIDTH(exponent)(*(const vf *)(v + k * cols + j), least, &most, &smallest);
      const vi b = OF_WIDTH(exponent)(*(const vf *)(v + (k + 1) * cols + j), least, &most, &smallest);
      *(vi *)(e + k * cols + 2 * j) = ((a - BIAS) & 0xFFFF) | (b - BIAS) << 16;
    }
  return OF_WIDTH(within)(most, smallest);
}

/* The same of elements of 16 bits; n: a multiple of 2 WIDE. */
static bool OF_WIDTH(half_exponents)(unsigned type, const void *halves, int16_t *e, unsigned n, int32_t bias) {
  typedef uint16_t bits __attribute__((vector_size(4 * WIDE), aligned(2), may_alias));
  const bool f16 = type == MX_E_f16;
  const int16_t add = (int16_t)(bias - (f16 ? 15 : BIAS));
  vs most = {0}, least = (vs){0} + NONE; /* least: the other way round */
  for (unsigned k = 0; k < n; k += 2 * WIDE) {
    const bits size = *(const bits *)((const uint16_t *)halves + k) << 1;
    const vs x = OF_WIDTH(larger_pairs)((vs)(f16 ? size >> 11 : size >> 8), (vs){0} + 1), zero = (vs)(size == 0);
    most = OF_WIDTH(larger_pairs)(most, x);
    if (!f16) least = OF_WIDTH(larger_pairs)(least, (-x & ~zero) | (((vs){0} + NONE) & zero));
    *(vs *)(e + k) = ((x + add) & ~zero) | (((vs){0} + NONE) & zero);
  }
  const int16_t limit = f16 ? 30 : FACTOR_MOST + BIAS;
  const vi odd = (vi)((most > limit) | (least > -(FACTOR_LEAST + BIAS)));
  return !OF_WIDTH(any)(odd);
}
static bool OF_WIDTH(half_pair_exponents)(unsigned type, const void *halves, int16_t *e, unsigned rows, unsigned cols) {
  LINES int16_t plain[MX_TILE_MAX_SUMS * 2];
  const bool fine = OF_WIDTH(half_exponents)(type, halves, plain, rows * cols, 0);
  for (size_t k = 0; k < rows; k += 2)
    for (size_t j = 0; j < cols; j += 8) {
      const mx__4u32 a = mx__get16(plain + k * cols + j), b = mx__get16(plain + (k + 1) * cols + j);
      mx__put16(e + k * cols + 2 * j, mx__low16(a, b)), mx__put16(e + k * cols + 2 * j + 8, mx__high16(a, b));
    }
  return fine;
}

/* WIDE results of a row, from a row x and columns yt of y on, `k` products each. False: exponents or a sum that only
 * exact_step takes. */
MX__INL bool OF_WIDTH(step)(const struct step *s, const float *x, const int16_t *ex, const float *yt,
                            const int16_t *eyt, const float *c, float *d, size_t cols, size_t n) {
  const vf cv = *(const vf *)c;
  const vu size = (vu)cv << 1;
  vi ce = (vi)(size >> 24);
  if (s->least_sum > SUM_LEAST) ce = OF_WIDTH(larger)(ce, (vi){0} + (s->least_sum + BIAS)) & (vi)(size != 0);
  vs pairs = (vs)((vi){0} + (SUM_LEAST + BIAS) * 0x10001);
#pragma GCC unroll 8
  for (size_t k = 0; k < n; k += 2) {
    int32_t pair;
    memcpy(&pair, ex + k, sizeof pair);
    pairs = OF_WIDTH(larger_pairs)(pairs, (vs)((vi){0} + pair) + *(const vs *)(eyt + k * cols));
  }
  const vi most = OF_WIDTH(larger)(OF_WIDTH(larger)((vi)pairs & 0xFFFF, (vi)pairs >> 16), ce);
  const vi scale = (FRACTION + 2 * BIAS - most) << 23;
  vi sum = {0};
#pragma GCC unroll 16
  for (size_t k = 0; k < n; k++) sum += TO_INTS(x[k] * *(const vf *)(yt + k * cols) * (vf)scale);
  if (!OF_WIDTH(all_fine)(size, ce, sum)) return false;
  sum += TO_INTS(cv * (vf)scale);
  vf f = OF_WIDTH(cut)(sum);
  const vi rest = sum != TO_INTS(f);
  f *= (vf)((2 * BIAS << 23) - scale); /* one over it */
  if (s->halves) { /* what was cut off decides ties: it stays visible in the last bit, far below f16's */
    f = (vf)((vi)f | (rest & 1));
    uint16_t h[WIDE];
    float back[WIDE];
    narrow((const float *)&f, h, WIDE);
    widen_halves(h, back, WIDE);
    memcpy(&f, back, sizeof f);
    f = (vf)((vi)f & ~((vi)f << 1 == 0)); /* a zero is +0 */
  }
  *(vf *)d = f;
  return true;
}
MX__INL void OF_WIDTH(rows)(const struct step *s, bool vectors, const float *c, float *d, size_t cols, size_t n) {
  for (unsigned i = 0; i < s->rows; i++)
    for (unsigned j = 0; j < cols; j += WIDE) {
      const size_t at = i * cols + j, row = (size_t)i * s->pitch;
      if (vectors && OF_WIDTH(step)(s, s->x + row, s->ex + row, s->yt + j, s->eyt + 2 * j, c + at, d + at, cols, n))
        continue;
      for (unsigned l = 0; l < WIDE; l++) d[at + l] = exact_step(s, i, j + l, c[at + l]);
    }
}
/* Loops of known lengths are half as long. */
static void OF_WIDTH(run_step)(const struct step *s, bool vectors, const float *c, float *d) {
  if (s->cols == 16 && s->k == 16) OF_WIDTH(rows)(s, vectors, c, d, 16, 16);
#if WIDE == 8
  else if (s->cols == 8 && s->k == 16) OF_WIDTH(rows)(s, vectors, c, d, 8, 16);
  else if (s->cols == 8 && s->k == 8) OF_WIDTH(rows)(s, vectors, c, d, 8, 8);
#endif
  else OF_WIDTH(rows)(s, vectors, c, d, s->cols, s->k);
}

/* c += x y, x with `k` consecutive, y as pairs of two rows; the products alone stay below 2^23. */
MX__INL void OF_WIDTH(add)(const int16_t *x, const int16_t *pairs, int32_t *c, size_t rows, size_t cols, size_t k,
                           bool saturates) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j += WIDE) {
      vi sum = {0};
#pragma GCC unroll 8
      for (size_t h = 0; h < k; h += 2) {
        int32_t pair;
        memcpy(&pair, &x[i * k + h], sizeof pair);
        sum += OF_WIDTH(products)((vs)((vi){0} + pair), *(const vs *)(pairs + h * cols + 2 * j));
      }
      vi *at = (vi *)(c + i * cols + j);
      const vi old = *at;
      const vi all = (vi)((vu)old + (vu)sum), beyond = (((old ^ all) & (sum ^ all)) >> 31) & (saturates ? -1 : 0);
      *at = (all & ~beyond) | ((old >> 31 ^ INT32_MAX) & beyond);
    }
}
static void OF_WIDTH(add_products)(const int16_t *x, const int16_t *pairs, int32_t *c, unsigned rows, unsigned cols,
                                   unsigned k, bool saturates) {
  if (cols == 16 && k == 16) OF_WIDTH(add)(x, pairs, c, rows, 16, 16, saturates);
#if WIDE == 8
  else if (cols == 8 && k == 32) OF_WIDTH(add)(x, pairs, c, rows, 8, 32, saturates);
#endif
  else OF_WIDTH(add)(x, pairs, c, rows, cols, k, saturates);
}
#undef TO_INTS
#undef vf
#undef vi
#undef vu
#undef vs
#undef OF_WIDTH
#undef TILE__JOIN
#undef TILE__JOIN2

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
typedef uint32_t vu __attribute__((vector_size(4 * WIDE)));
typedef int16_t vs __attribute__((vector_size(4 * WIDE), aligned(2), may_alias));

#if WIDE == 16
MX__INL vi OF_WIDTH(larger)(vi a, vi b) { return (vi)__builtin_ia32_pmaxsd512_mask((mx__16x32)a, (mx__16x32)b, (mx__16x32){0}, 0xFFFF); }
MX__INL vi OF_WIDTH(smaller)(vi a, vi b) { return (vi)__builtin_ia32_pminsd512_mask((mx__16x32)a, (mx__16x32)b, (mx__16x32){0}, 0xFFFF); }
MX__INL vs OF_WIDTH(larger_pairs)(vs a, vs b) { return (vs)__builtin_ia32_pmaxsw512_mask((mx__32x16)a, (mx__32x16)b, (mx__32x16){0}, 0xFFFFFFFF); }
MX__INL bool OF_WIDTH(any)(vi m) { return __builtin_ia32_ptestmd512((mx__16x32)m, (mx__16x32)m, 0xFFFF); }
MX__INL vi OF_WIDTH(products)(vs a, vs b) { return (vi)__builtin_ia32_pmaddwd512_mask((mx__32x16)a, (mx__32x16)b, (mx__16x32){0}, 0xFFFF); }
#elif defined __AVX2__
typedef int32_t OF_WIDTH(ints) __attribute__((vector_size(32)));
typedef int16_t OF_WIDTH(shorts) __attribute__((vector_size(32)));
MX__INL vi OF_WIDTH(larger)(vi a, vi b) { return (vi)__builtin_ia32_pmaxsd256((OF_WIDTH(ints))a, (OF_WIDTH(ints))b); }
MX__INL vi OF_WIDTH(smaller)(vi a, vi b) { return (vi)__builtin_ia32_pminsd256((OF_WIDTH(ints))a, (OF_WIDTH(ints))b); }
MX__INL vs OF_WIDTH(larger_pairs)(vs a, vs b) { return (vs)__builtin_ia32_pmaxsw256((OF_WIDTH(shorts))a, (OF_WIDTH(shorts))b); }
MX__INL bool OF_WIDTH(any)(vi m) { return __builtin_ia32_movmskps256((__attribute__((vector_size(32))) float)m); }
MX__INL vi OF_WIDTH(products)(vs a, vs b) { return (vi)__builtin_ia32_pmaddwd256((OF_WIDTH(shorts))a, (OF_WIDTH(shorts))b); }
#else
MX__INL vi OF_WIDTH(larger)(vi a, vi b) { const vi m = a > b; return (a & m) | (b & ~m); }
MX__INL vi OF_WIDTH(smaller)(vi a, vi b) { const vi m = a < b; return (a & m) | (b & ~m); }
MX__INL vs OF_WIDTH(larger_pairs)(vs a, vs b) { const vs m = a > b; return (a & m) | (b & ~m); }
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

/* Exponents of `n` numbers, as the step sees them: zeros have none, subnormals `least`. Below, two rows of a matrix become pairs. */
MX__INL vi OF_WIDTH(exponent)(vf v, int32_t least, vi *most, vi *least_seen) {
  const vi e = OF_WIDTH(larger)(((vi)v >> 23 & 255) - 127, (vi){0} + least), zero = (vi)v << 1 == 0;
  const vi r = (e & ~zero) | (((vi){0} + NONE) & zero);
  *most = OF_WIDTH(larger)(*most, r);
  *least_seen = OF_WIDTH(smaller)(*least_seen, e & ~zero);
  return r;
}
static bool OF_WIDTH(within)(vi most, vi least) {
  const vi odd = (most > FACTOR_MOST) | (least < FACTOR_LEAST);
  return !OF_WIDTH(any)(odd);
}
/* Of a matrix whose pairs follow each other. `n`: a multiple of WIDE. */
static bool OF_WIDTH(exponents)(const float *v, int16_t *e, unsigned n, int32_t least) {
  typedef int16_t half __attribute__((vector_size(2 * WIDE), aligned(2), may_alias));
  vi most = (vi){0} + NONE, smallest = {0};
  for (unsigned k = 0; k < n; k += WIDE) *(half *)(e + k) = __builtin_convertvector(OF_WIDTH(exponent)(*(const vf *)(v + k), least, &most, &smallest), half);
  return OF_WIDTH(within)(most, smallest);
}
/* Of a matrix of `rows` rows of `cols` columns; pairs are from two rows. */
static bool OF_WIDTH(pair_exponents)(const float *v, int16_t *e, unsigned rows, unsigned cols, int32_t least) {
  vi most = (vi){0} + NONE, smallest = {0};
  for (unsigned k = 0; k < rows; k += 2)
    for (unsigned j = 0; j < cols; j += WIDE) {
      const vi a = OF_WIDTH(exponent)(*(const vf *)(v + k * cols + j), least, &most, &smallest);
      const vi b = OF_WIDTH(exponent)(*(const vf *)(v + (k + 1) * cols + j), least, &most, &smallest);
      *(vi *)(e + k * cols + 2 * j) = (a & 0xFFFF) | b << 16;
    }
  return OF_WIDTH(within)(most, smallest);
}

/* WIDE results of a row, from a row x and columns yt of y on, `k` products each. False: exponents or a sum that only exact_step takes. */
MX__INL bool OF_WIDTH(step)(const struct step *s, const float *x, const int16_t *ex, const float *yt, const int16_t *eyt, const float *c, float *d,
                            size_t cols, size_t n) {
  const vf cv = *(const vf *)c;
  const vi cb = (vi)cv, ce = OF_WIDTH(larger)((cb >> 23 & 255) - 127, (vi){0} + s->least_sum), zero = cb << 1 == 0;
  vs pairs = (vs){0} + NONE;
#pragma GCC unroll 8
  for (size_t k = 0; k < n; k += 2) {
    int32_t pair;
    memcpy(&pair, ex + k, sizeof pair);
    pairs = OF_WIDTH(larger_pairs)(pairs, (vs)((vi){0} + pair) + *(const vs *)(eyt + k * cols));
  }
  vi most = OF_WIDTH(larger)((vi)pairs << 16 >> 16, (vi)pairs >> 16);
  most = OF_WIDTH(larger)(most, (ce & ~zero) | (((vi){0} + NONE) & zero));
  vi odd = ((most < SUM_LEAST) & (most > NONE / 2)) | (ce > 127);
  most = OF_WIDTH(larger)(most, (vi){0} + SUM_LEAST);
  const vf scale = (vf)((FRACTION - most + 127) << 23);
  vi sum = {0};
#pragma GCC unroll 16
  for (size_t k = 0; k < n; k++) sum += TO_INTS(x[k] * *(const vf *)(yt + k * cols) * scale);
  odd |= (sum ^ sum >> 31) > SUM_MOST;
  if (OF_WIDTH(any)(odd)) return false;
  sum += TO_INTS(cv * scale);
  vf f = OF_WIDTH(cut)(sum);
  const vi rest = sum != TO_INTS(f);
  f *= (vf)((most - FRACTION + 127) << 23);
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
      if (vectors && OF_WIDTH(step)(s, s->x + row, s->ex + row, s->yt + j, s->eyt + 2 * j, c + at, d + at, cols, n)) continue;
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
MX__INL void OF_WIDTH(add)(const int16_t *x, const int16_t *pairs, int32_t *c, size_t rows, size_t cols, size_t k, bool saturates) {
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
static void OF_WIDTH(add_products)(const int16_t *x, const int16_t *pairs, int32_t *c, unsigned rows, unsigned cols, unsigned k, bool saturates) {
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

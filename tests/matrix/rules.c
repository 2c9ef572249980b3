#include "tests/matrix/rules.h"

#include <gmp.h>
#include <mpfr.h>

#include <string.h>

const struct format f16 = {"f16", 16, 5, 10, FLOAT}, bf16 = {"bf16", 16, 8, 7, FLOAT},
                    tf32 = {"tf32", 32, 8, 10, FLOAT}, e4m3 = {"e4m3", 8, 4, 3, FLOAT}, e5m2 = {"e5m2", 8, 5, 2, FLOAT},
                    f32 = {"f32", 32, 8, 23, FLOAT}, f64 = {"f64", 64, 11, 52, FLOAT}, s8 = {"s8", 8, 0, 0, SIGNED},
                    u8 = {"u8", 8, 0, 0, UNSIGNED}, s4 = {"s4", 4, 0, 0, SIGNED}, u4 = {"u4", 4, 0, 0, UNSIGNED},
                    b1 = {"b1", 1, 0, 0, BIT}, s32 = {"s32", 32, 0, 0, SIGNED};

enum { FRACTION = 25 };
/* (-1)^negative m 2^e; top: the exponent that the rules give it. */
struct number {
  enum { ZERO, FINITE, INFINITE, NOT } kind;
  bool negative;
  uint64_t m;
  int e, top;
};

static struct number decode(const struct format *f, uint64_t bits) {
  if (f == &tf32) bits >>= 13; /* the other bits are not looked at */
  const unsigned field = (unsigned)(bits >> f->fraction) & ((1u << f->exponent) - 1), most = (1u << f->exponent) - 1;
  const uint64_t fraction = bits & ((UINT64_C(1) << f->fraction) - 1);
  const int bias = (1 << (f->exponent - 1)) - 1;
  struct number n = {.negative = bits >> (f->fraction + f->exponent) & 1};
  if (f == &e4m3 && field == most && fraction == 7) return n.kind = NOT, n;
  if (f != &e4m3 && field == most) return n.kind = fraction ? NOT : INFINITE, n;
  n.m = field ? fraction | UINT64_C(1) << f->fraction : fraction;
  if (!n.m) return n.kind = ZERO, n;
  n.kind = FINITE;
  n.e = (int)(field ? field : 1) - bias - (int)f->fraction;
  /* as a normal number; fp8 is f16, in which e4m3 has no subnormals */
  const int least = f->bits == 8 ? -14 : 1 - bias, top = n.e + 63 - __builtin_clzll(n.m);
  n.top = top < least ? least : top;
  return n;
}
static uint64_t nan_of(const struct format *f) { return f == &f16 ? 0x7FFF : 0x7FFFFFFF; }
static uint64_t sign_of(const struct format *f, bool negative) { return (uint64_t)negative << (f->bits - 1); }
static uint64_t infinity_of(const struct format *f, bool negative) {
  return sign_of(f, negative) | ((UINT64_C(1) << f->exponent) - 1) << f->fraction;
}

/* m 2^e, toward zero or to nearest even; beyond the greatest finite one: infinity. */
static uint64_t encode(const struct format *f, const mpz_t m, int e, bool nearest) {
  if (!mpz_sgn(m)) return 0;
  const bool negative = mpz_sgn(m) < 0;
  mpz_t q, rest;
  mpz_inits(q, rest, NULL);
  mpz_abs(q, m);
  const int least = 2 - (1 << (f->exponent - 1)), top = (int)mpz_sizeinbase(q, 2) - 1 + e,
            place = (top < least ? least : top) - (int)f->fraction;
  if (place <= e) mpz_mul_2exp(q, q, (mp_bitcnt_t)(e - place));
  else {
    mpz_t half;
    mpz_init_set_ui(half, 1);
    mpz_mul_2exp(half, half, (mp_bitcnt_t)(place - e - 1));
    mpz_fdiv_r_2exp(rest, q, (mp_bitcnt_t)(place - e));
    mpz_fdiv_q_2exp(q, q, (mp_bitcnt_t)(place - e));
    const int order = mpz_cmp(rest, half);
    if (nearest && (order > 0 || (!order && mpz_odd_p(q)))) mpz_add_ui(q, q, 1);
    mpz_clear(half);
  }
  const uint64_t bits = (uint64_t)((top < least ? least : top) - least) * (UINT64_C(1) << f->fraction) + mpz_get_ui(q),
                 over = infinity_of(f, false);
  mpz_clears(q, rest, NULL);
  return sign_of(f, negative) | (bits < over ? bits : over);
}

static uint64_t step(const struct sum *s, const struct format *c_format, uint64_t c, const struct format *d,
                     const uint64_t *a, const uint64_t *b, unsigned n, unsigned apart) {
  struct {
    struct number x, y;
  } term[257];
  bool plus = false, minus = false, none = true;
  int most = 0;
  for (unsigned k = 0; k <= n; k++) {
    const unsigned at = apart ? k / 2 * 4 + k % 2 : k;
    term[k].x = k < n ? decode(s->a, a[at]) : decode(c_format, c);
    term[k].y = k < n ? decode(s->b, b[at]) : (struct number){FINITE, false, 1, 0, 0};
    const struct number *x = &term[k].x, *y = &term[k].y;
    if (x->kind == NOT || y->kind == NOT) return nan_of(d);
    if (x->kind == INFINITE || y->kind == INFINITE) {
      if (x->kind == ZERO || y->kind == ZERO) return nan_of(d);
      if (x->negative != y->negative) minus = true;
      else plus = true;
    } else if (x->kind == FINITE && y->kind == FINITE) {
      if (none || x->top + y->top > most) most = x->top + y->top;
      none = false;
    }
  }
  if (plus && minus) return nan_of(d);
  if (plus || minus) return infinity_of(d, minus);
  mpz_t sum, t;
  mpz_inits(sum, t, NULL);
  for (unsigned k = 0; k <= n; k++) {
    const struct number *x = &term[k].x, *y = &term[k].y;
    if (x->kind != FINITE || y->kind != FINITE) continue;
    mpz_set_ui(t, x->m);
    mpz_mul_ui(t, t, y->m);
    const int up = x->e + y->e - (most - FRACTION);
    if (up >= 0) mpz_mul_2exp(t, t, (mp_bitcnt_t)up);
    else mpz_tdiv_q_2exp(t, t, (mp_bitcnt_t)-up);
    if (x->negative != y->negative) mpz_sub(sum, sum, t);
    else mpz_add(sum, sum, t);
  }
  uint64_t r = encode(d, sum, most - FRACTION, d == &f16);
  if (r == sign_of(d, true)) r = 0;
  mpz_clears(sum, t, NULL);
  return r;
}

/* x + y, to nearest even. */
static uint64_t add(const struct format *f, uint64_t x, uint64_t y) {
  const struct number p = decode(f, x), q = decode(f, y);
  if (p.kind == NOT || q.kind == NOT || (p.kind == INFINITE && q.kind == INFINITE && p.negative != q.negative))
    return nan_of(f);
  if (p.kind == INFINITE) return x;
  if (q.kind == INFINITE) return y;
  if (p.kind == ZERO && q.kind == ZERO) return p.negative && q.negative ? x : 0;
  const int least = p.kind == ZERO ? q.e : q.kind == ZERO || p.e < q.e ? p.e : q.e;
  mpz_t sum, t;
  mpz_inits(sum, t, NULL);
  for (int k = 0; k < 2; k++) {
    const struct number *n = k ? &q : &p;
    if (n->kind == ZERO) continue;
    mpz_set_ui(t, n->m);
    mpz_mul_2exp(t, t, (mp_bitcnt_t)(n->e - least));
    if (n->negative) mpz_sub(sum, sum, t);
    else mpz_add(sum, sum, t);
  }
  const uint64_t r = encode(f, sum, least, true);
  mpz_clears(sum, t, NULL);
  return r;
}

static double f64_of(uint64_t bits) {
  double d;
  memcpy(&d, &bits, 8);
  return d;
}
static bool is_nan(uint64_t bits) { return (bits & INT64_MAX) > UINT64_C(0x7FF0000000000000); }
static uint64_t chain(const struct sum *s, const uint64_t *a, const uint64_t *b, uint64_t c) {
  mpfr_t x, y, z;
  mpfr_set_emin(-1073), mpfr_set_emax(1024);
  mpfr_inits2(53, x, y, z, NULL);
  for (unsigned k = 0; k < s->k; k++) {
    const uint64_t nan = is_nan(b[k]) ? b[k] : is_nan(c) ? c : is_nan(a[k]) ? a[k] : 0;
    mpfr_set_d(x, f64_of(a[k]), MPFR_RNDN), mpfr_set_d(y, f64_of(b[k]), MPFR_RNDN), mpfr_set_d(z, f64_of(c), MPFR_RNDN);
    const int inexact = mpfr_fma(z, x, y, z, (mpfr_rnd_t)s->rounding);
    mpfr_subnormalize(z, inexact, (mpfr_rnd_t)s->rounding);
    const double d = mpfr_get_d(z, MPFR_RNDN);
    memcpy(&c, &d, 8);
    if (nan) c = nan | UINT64_C(1) << 51;
    else if (is_nan(c)) c = UINT64_C(0xFFF8000000000000);
  }
  mpfr_clears(x, y, z, NULL);
  return c;
}

/* Results of scalar instructions on f32: MPFR in that format. */
static void round32(mpfr_t x, int inexact) { mpfr_subnormalize(x, inexact, MPFR_RNDN); }
static void take(mpfr_t x, const struct format *f, uint64_t bits) {
  const struct number n = decode(f, bits);
  if (n.kind == NOT) mpfr_set_nan(x);
  else if (n.kind == INFINITE) mpfr_set_inf(x, n.negative ? -1 : 1);
  else if (n.kind == ZERO) mpfr_set_zero(x, n.negative ? -1 : 1);
  else {
    mpfr_set_ui_2exp(x, (unsigned long)n.m, n.e, MPFR_RNDN);
    mpfr_setsign(x, x, n.negative, MPFR_RNDN);
  }
}
static uint64_t quad(const struct sum *s, const uint64_t *a, const uint64_t *b, uint64_t c) {
  mpfr_t x, y, z, t, u;
  mpfr_set_emin(-148), mpfr_set_emax(128);
  mpfr_inits2(24, x, y, z, t, u, NULL);
  mpfr_set_zero(t, 1), mpfr_set_zero(u, 1);
  take(z, s->c, c);
  if (s->d == &f32) {
    for (unsigned k = 0; k < 4; k++)
      take(x, s->a, a[k]), take(y, s->b, b[k]), round32(t, mpfr_fma(t, x, y, t, MPFR_RNDN));
    round32(t, mpfr_add(t, t, z, MPFR_RNDN));
  } else {
    for (unsigned k = 0; k < 4; k += 2) {
      mpfr_t *to = k ? &u : &t;
      take(x, s->a, a[k]), take(y, s->b, b[k]), round32(*to, mpfr_mul(*to, x, y, MPFR_RNDN));
      take(x, s->a, a[k + 1]), take(y, s->b, b[k + 1]),
          round32(*to, mpfr_fma(*to, x, y, *to, MPFR_RNDN)); /* products are exact */
    }
    round32(t, mpfr_add(t, t, z, MPFR_RNDN));
    round32(t, mpfr_add(t, t, u, MPFR_RNDN));
  }
  uint64_t r;
  if (mpfr_nan_p(t)) r = nan_of(s->d);
  else if (mpfr_inf_p(t)) r = infinity_of(s->d, mpfr_signbit(t));
  else if (mpfr_zero_p(t)) r = sign_of(s->d, mpfr_signbit(t));
  else {
    mpz_t m;
    mpz_init(m);
    const bool negative = mpfr_signbit(t);
    const mpfr_exp_t e = mpfr_get_z_2exp(m, t);
    r = encode(s->d, m, (int)e, true) | sign_of(s->d, negative); /* also of what becomes a zero */
    mpz_clear(m);
  }
  mpfr_clears(x, y, z, t, u, NULL);
  return r;
}

static int64_t whole(const struct format *f, uint64_t bits) {
  return f->kind == SIGNED && bits >> (f->bits - 1) & 1 ? (int64_t)bits - (INT64_C(1) << f->bits) : (int64_t)bits;
}

static uint64_t made_finite(const struct format *f, uint64_t bits) {
  const struct number n = decode(f, bits);
  return n.kind == NOT ? 0 : n.kind == INFINITE ? bits - 1 : bits;
}
uint64_t exact_sum(const struct sum *s, const uint64_t *a, const uint64_t *b, uint64_t c) {
  const unsigned half = s->k / 2;
  uint64_t r;
  switch (s->rule) {
  case STEP: r = step(s, s->c, c, s->d, a, b, s->k, 0); break;
  case HALVES: r = step(s, s->d, step(s, s->c, c, s->d, a, b, half, 0), s->d, a + half, b + half, half, 0); break;
  case FP8: /* the first two of four elements, then the others */
    r = add(s->d, step(s, s->d, step(s, s->d, 0, s->d, a, b, half, 2), s->d, a + 2, b + 2, half, 2), c);
    break;
  case CHAIN: return chain(s, a, b, c);
  case QUAD: return quad(s, a, b, c);
  default: {
    int64_t sum = whole(&s32, c);
    for (unsigned k = 0; k < s->k; k++)
      sum += s->rule == WHOLE ? whole(s->a, a[k]) * whole(s->b, b[k])
                              : (int64_t)(s->rule == POPC_AND ? a[k] & b[k] : a[k] ^ b[k]);
    if (s->saturates) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
  }
  }
  return s->saturates ? made_finite(s->d, r) : r;
}

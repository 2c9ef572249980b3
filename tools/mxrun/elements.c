/* Types of elements, and values of them. */
#include "data.h"

#include <string.h>
#include <math.h>
#include <stdlib.h>
#include <errno.h>

static const struct elem elems[] = {
    {"u8", 1, ELEM_UNSIGNED, 0},  {"b8", 1, ELEM_UNSIGNED, 0},  {"s8", 1, ELEM_SIGNED, 0},
    {"u16", 2, ELEM_UNSIGNED, 0}, {"b16", 2, ELEM_UNSIGNED, 0}, {"s16", 2, ELEM_SIGNED, 0},
    {"f16", 2, ELEM_FLOAT, 0},    {"bf16", 2, ELEM_FLOAT, 1},   {"u32", 4, ELEM_UNSIGNED, 0},
    {"b32", 4, ELEM_UNSIGNED, 0}, {"s32", 4, ELEM_SIGNED, 0},   {"f32", 4, ELEM_FLOAT, 0},
    {"u64", 8, ELEM_UNSIGNED, 0}, {"b64", 8, ELEM_UNSIGNED, 0}, {"s64", 8, ELEM_SIGNED, 0},
    {"f64", 8, ELEM_FLOAT, 0},
};

const struct elem *elem_find(const char *name, size_t n) {
  for (size_t k = 0; k < sizeof elems / sizeof *elems; k++)
    if (strlen(elems[k].name) == n && !memcmp(elems[k].name, name, n)) return &elems[k];
  return NULL;
}

uint64_t data_count(const struct data *d) { return d->size / (d->type ? d->type->size : 1); }

/* f16 has 5 exponent and 10 fraction bits, bf16 8 and 7; both are read through the same steps. */
static double small_float(unsigned bits, int fraction, int exponent) {
  int bias = (1 << (exponent - 1)) - 1, top = (1 << exponent) - 1;
  int e = (int)(bits >> fraction) & top;
  double f = bits & ((1u << fraction) - 1), v;
  if (e == top) v = f != 0 ? NAN : INFINITY;
  else v = ldexp(e ? f + (1 << fraction) : f, (e ? e : 1) - bias - fraction);
  return bits >> 15 & 1 ? -v : v;
}

static unsigned to_small_float(double v, int fraction, int exponent) {
  int bias = (1 << (exponent - 1)) - 1;
  unsigned sign = signbit(v) ? 0x8000u : 0, infinite = ((1u << exponent) - 1) << fraction;
  if (isnan(v)) return sign | infinite | 1u << (fraction - 1);
  v = fabs(v);
  if (v == 0) return sign;
  int e;
  frexp(v, &e);
  e = e - 1 < 1 - bias ? 1 - bias : e - 1;
  double n = nearbyint(ldexp(v, fraction - e)); /* even on ties: the default rounding mode */
  if (n >= ldexp(2, fraction)) n /= 2, e++;
  if (e > bias) return sign | infinite;
  return sign | ((unsigned)n + (n >= ldexp(1, fraction) ? (unsigned)(e + bias - 1) << fraction : 0));
}

uint64_t elem_bits(const struct elem *e, const void *p) {
  uint64_t v = 0;
  memcpy(&v, p, e->size);
  return v;
}

int64_t elem_signed(const struct elem *e, const void *p) {
  unsigned shift = 64 - 8u * e->size;
  return (int64_t)(elem_bits(e, p) << shift) >> shift;
}

double elem_real(const struct elem *e, const void *p) {
  uint64_t bits = elem_bits(e, p);
  if (e->kind == ELEM_SIGNED) return (double)elem_signed(e, p);
  if (e->kind == ELEM_UNSIGNED) return (double)bits;
  if (e->size == 2) return e->brain ? small_float((unsigned)bits, 7, 8) : small_float((unsigned)bits, 10, 5);
  float f;
  double d;
  memcpy(&f, p, sizeof f);
  if (e->size == 4) return f;
  memcpy(&d, p, sizeof d);
  return d;
}

void elem_set_real(const struct elem *e, void *p, double v) {
  if (e->kind == ELEM_FLOAT) {
    uint16_t h = (uint16_t)(e->brain ? to_small_float(v, 7, 8) : to_small_float(v, 10, 5));
    float f = (float)v;
    memcpy(p, e->size == 2 ? (void *)&h : e->size == 4 ? (void *)&f : (void *)&v, e->size);
  } else {
    uint64_t u = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
    memcpy(p, &u, e->size);
  }
}

bool elem_parse(const struct elem *e, void *p, const char *s, const char **why) {
  unsigned bits = 8u * e->size;
  uint64_t max = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1, v;
  bool negative = *s == '-';
  const char *digits = s + (negative || *s == '+');
  if (!negative && *digits == '0' && (digits[1] == 'f' || digits[1] == 'd') && digits[2]) { /* bits of a float */
    size_t want = digits[1] == 'f' ? 8 : 16;
    char hex[20] = "0x";
    if (e->size != want / 2) return *why = "the bits are of another width", false;
    if (strlen(digits + 2) != want)
      return *why = want == 8 ? "0f is followed by 8 digits" : "0d is followed by 16 digits", false;
    memcpy(hex + 2, digits + 2, want + 1);
    if (!cli_number(hex, UINT64_MAX, &v)) return *why = "not hexadecimal digits", false;
    return memcpy(p, &v, e->size), true;
  }
  if (e->kind == ELEM_FLOAT) {
    double d;
    if (!cli_real(s, &d)) return *why = "not a number", false;
    return elem_set_real(e, p, d), true;
  }
  if (!strcmp(s, "true") || !strcmp(s, "false")) return v = s[0] == 't', memcpy(p, &v, e->size), true;
  if (!cli_number(digits, UINT64_MAX, &v)) {
    double d;
    return *why = cli_real(s, &d) ? "not an integer, or too large" : "not a number", false;
  }
  /* -1 and 0xFFFFFFFF are both good for 32 bits: what counts is that the bits fit */
  if (negative ? v > max / 2 + 1 : v > max) return *why = "it does not fit the type", false;
  if (negative) v = 0 - v;
  return memcpy(p, &v, e->size), true;
}

void elem_print(struct text *t, const struct elem *e, const void *p) {
  if (e->kind == ELEM_UNSIGNED) return text_printf(t, "%llu", (unsigned long long)elem_bits(e, p));
  if (e->kind == ELEM_SIGNED) return text_printf(t, "%lld", (long long)elem_signed(e, p));
  double v = elem_real(e, p);
  if (isnan(v)) return text_printf(t, "nan");
  char s[64];
  for (int digits = e->size == 2 ? 5 : e->size == 4 ? 6 : 15;; digits++) {
    snprintf(s, sizeof s, "%.*g", digits, v);
    unsigned char again[8] = {0};
    double back = strtod(s, NULL);
    elem_set_real(e, again, e->size == 4 ? (double)strtof(s, NULL) : back);
    if (!memcmp(again, p, e->size) || digits >= 17) break;
  }
  text_printf(t, "%s", s);
}

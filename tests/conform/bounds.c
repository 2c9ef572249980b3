/* Whether a result will do. Exact functions bit for bit, as a GPU gave it; approximations by their error against the
 * true value, which MPFR computes, within the bound that the guides state. The bounds are the exactness column of
 * intrinsics.def, and, for PTX instructions, the list here; nothing else is a tolerance. Their words:
 *
 *   bound   N ulp | N+floor(|C*x|) ulp | max abs error E | max relative error E | as __sinf(x)*(1/__cosf(x)) | as
 *   exp2f(y*__log2f(x))
 *   where   for x in [A,B] | for |x|<A | for |y| in [A,B] | outside A..B          (x, y: the inputs; without:
 *   everywhere)
 *   several, joined by ", else ": the first that applies. Where none does, the result is finite where the GPU's is.
 * Infinities, NaN, and results for inputs that are zeros, infinities or NaN are as the GPU gave them. */
#include "tests/conform/conform.h"
#include "tests/conform/truth.h"

#include "core/intrinsics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* instruction up to its type, type, what it computes, bound */
static const struct {
  const char *start, *type, *truth, *bound;
} instructions[] = {
    {"div.approx", "f32", "div", "2 ulp for |y| in [2^-126,2^126]"},
    {"div.full", "f32", "div", "2 ulp"},
    {"rcp.approx", "f32", "rcp", "1 ulp"},
    {"sqrt.approx", "f32", "sqrt", "max relative error 2^-23"},
    {"rsqrt.approx", "f32", "rsqrt", "max relative error 2^-22.9"},
    {"sin.approx", "f32", "sin", "max abs error 2^-20.5 for x in [-pi,pi]"},
    {"cos.approx", "f32", "cos", "max abs error 2^-20.5 for x in [-pi,pi]"},
    {"lg2.approx", "f32", "log2", "max abs error 2^-22 for x in [0.5,2], else max relative error 2^-22"},
    {"ex2.approx", "f32", "exp2", "max relative error 2^-22"},
    {"tanh.approx", "f32", "tanh", "max relative error 2^-11"},
    {"rcp.approx", "f64", "rcp", "max relative error 2^-20"},
    {"rsqrt.approx", "f64", "rsqrt", "max relative error 2^-20"},
    {"ex2.approx", "bf16", "exp2", "max relative error 2^-7"},
    {"ex2.approx", "f16", "exp2", "max relative error 2^-9.9"},
    {"tanh.approx", "bf16", "tanh", "max abs error 2^-8"},
    {"tanh.approx", "f16", "tanh", "max abs error 2^-10.987"}};

/* ---- numbers ----------------------------------------------------------------------------------------------------*/
enum { PRECISION = 160 };
struct format {
  const char *name;
  int digits, least;
  double max;
}; /* bits of a normal one; exponent of the least normal; largest */
static const struct format formats[] = {{"f32", 24, -126, 0x1.fffffep127},
                                        {"f64", 53, -1022, 0x1.fffffffffffffp1023},
                                        {"f16", 11, -14, 65504},
                                        {"bf16", 8, -126, 0x1.fep127}};

static const struct format *format_of(const char *type) {
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
    if (!strncmp(formats[k].name, type, strlen(formats[k].name))) return &formats[k];
  return NULL;
}

static double of_f32(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static double value(const char *type, uint64_t bits) {
  double d;
  if (type[0] == 's') return type[1] == '6' ? (double)(int64_t)bits : (double)(int32_t)bits;
  if (type[0] == 'b') return of_f32((uint32_t)bits << 16);
  if (type[1] == '3') return of_f32((uint32_t)bits);
  if (type[1] == '6') return memcpy(&d, &bits, sizeof d), d;
  const int e = (int)(bits >> 10 & 31), m = (int)(bits & 0x3FF);
  d = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
  return bits & 0x8000 ? -d : d;
}

/* One unit in the last place at x. */
static double unit(const struct format *f, double x) {
  int e;
  frexp(x, &e);
  e--;
  if (x == 0 || e < f->least) e = f->least;
  return ldexp(1, e - f->digits + 1);
}

/* ---- bounds -----------------------------------------------------------------------------------------------------*/
static bool word(const char **p, const char *w) {
  if (strncmp(*p, w, strlen(w))) return false;
  *p += strlen(w);
  return true;
}
static double number(const char **p) { /* 2.5, 2e-6, 2^-21.4, pi, -pi */
  const bool minus = word(p, "-");
  char *end;
  double v = M_PI;
  if (!word(p, "pi")) v = strtod(*p, &end), *p = end;
  if (word(p, "^")) v = pow(v, strtod(*p, &end)), *p = end;
  return minus ? -v : v;
}

/* Whether the condition at *p, if there is one, holds. */
static bool applies(const char **p, const double *x) {
  if (!word(p, " for ") && !**p) return true;
  const bool first = (*p)[0] == 'x' || (*p)[1] == 'x';
  const double v = first ? x[0] : x[1];
  if (word(p, " outside ")) {
    double lo = number(p);
    word(p, "..");
    double hi = number(p);
    return x[0] < lo || x[0] > hi;
  }
  if (word(p, "x in [") || word(p, "|y| in [")) {
    double lo = number(p), a = first ? v : fabs(v);
    word(p, ",");
    double hi = number(p);
    word(p, "]");
    return a >= lo && a <= hi;
  }
  if (word(p, "|x|<")) return fabs(v) < number(p);
  return true;
}

/* What the bound allows at x, whose true value is y; negative: it says nothing there. */
static double allowed(const char *bound, const struct format *f, const double *x, double y) {
  for (const char *p = bound; p && *p; p = strstr(p, ", else ") ? strstr(p, ", else ") + 7 : NULL) {
    double most;
    if (word(&p, "max abs error ")) {
      most = number(&p);
    } else if (word(&p, "max relative error ")) {
      most = number(&p) * fabs(y);
    } else if (word(&p, "as __sinf(x)*(1/__cosf(x))")) { /* what the two may lose, and the quotient */
      most = (0x1p-21 + fabs(y) * 0x1p-21) / fabs(cos(x[0])) + 2 * unit(f, y);
      if (fabs(x[0]) > M_PI) return -1;
    } else if (word(&p, "as exp2f(y*__log2f(x))")) { /* of the logarithm y times, of the product, of the power */
      const double l = log2(x[0]), e = x[0] >= 0.5 && x[0] <= 2 ? 0x1p-22 : 2 * unit(f, l);
      most = fabs(y) * M_LN2 * (fabs(x[1]) * e + unit(f, x[1] * l)) + 2 * unit(f, y);
    } else {
      double n = number(&p);
      if (word(&p, "+floor(|")) {
        n += floor(fabs(number(&p) * x[0]));
        word(&p, "*x|)");
      }
      if (!word(&p, " ulp")) return -1;
      most = n * unit(f, y);
    }
    if (applies(&p, x)) return most;
  }
  return -1;
}

/* ---- one value --------------------------------------------------------------------------------------------------*/
struct approximation {
  const char *truth, *bound;
  bool flushes, high_words;
};

/* near: `got` for the true value of the function at x; `want` is the GPU's. */
static bool near(struct function *f, const struct approximation *a, const struct format *t, unsigned which,
                 const double *x, double want, double got) {
  bool special = false;
  mpfr_t in[MAX_VALUES], y, e;
  for (unsigned k = 0; k < f->sig.nin; k++) {
    special |= f->sig.in[k][0] != 's' && (isnan(x[k]) || isinf(x[k]) || x[k] == 0);
    mpfr_init2(in[k], 64);
    mpfr_set_d(in[k], x[k], MPFR_RNDN);
  }
  mpfr_inits2(PRECISION, y, e, NULL);
  bool fine = false;
  if (mx__truth(a->truth, f->sig.nin, in, which, y)) {
    const double right = mpfr_get_d(y, MPFR_RNDN), least = ldexp(1, t->least);
    double most = allowed(a->bound, t, x, right);
    special |= !isfinite(right) || right == 0;
    if (most >= 0)
      most += ldexp(1, t->least - t->digits); /* half of the smallest subnormal, which a result rounds to anyway */
    if (most >= 0 && a->flushes && fabs(right) < least * (1 + 0x1p-20)) most = fmax(most, least);
    if (isnan(want) || isnan(got)) {
      /* close to 0 the GPU's recurrence for orders above 1 loses its way; the true value is a small number */
      const bool lost = !strcmp(a->truth, "jn") && isfinite(right) && fabs(got - right) <= most;
      fine = isnan(want) && (isnan(got) || lost);
    } else if (most < 0) { /* where nothing is said the GPU's kind of value will do */
      fine = isfinite(got) || got == want;
    } else if (special ||
               isinf(got)) { /* beyond the largest number as the GPU, or as rounding of what the bound allows */
      fine = got == want || (isfinite(got) && isfinite(want) && fabs(got - want) <= most) ||
             (isinf(got) && fabs(right) + most > t->max && signbit(got) == signbit(right));
    } else {
      mpfr_set_d(e, got, MPFR_RNDN);
      mpfr_sub(e, e, y, MPFR_RNDN);
      const double error = fabs(mpfr_get_d(e, MPFR_RNDN));
      fine = error <= most;
      if (fine && error > f->worst * most) {
        f->worst = error / most;
        if (strstr(a->bound, "abs")) snprintf(f->worst_text, sizeof f->worst_text, "%.2g", error);
        else if (strstr(a->bound, "relative"))
          snprintf(f->worst_text, sizeof f->worst_text, "%.2g relative", error / fabs(right));
        else snprintf(f->worst_text, sizeof f->worst_text, "%.2g ulp", error / unit(t, right));
      }
    }
  }
  for (unsigned k = 0; k < f->sig.nin; k++) mpfr_clear(in[k]);
  mpfr_clears(y, e, NULL);
  return fine;
}

/* ---- which functions are approximations -------------------------------------------------------------------------*/
/* Whether a row's spelling is this name, suffixes left out. */
static bool spelled(const char *p, const char *name) {
  if (*p != '<') {
    size_t n = strcspn(p, "[{<");
    return !strncmp(p, name, n) && (!name[n] || name[n] == '.');
  }
  for (p++; *p && p[-1] != '>'; p += strcspn(p, "|>") + 1)
    if (!strncmp(p, name, strcspn(p, "|>")) && (!name[strcspn(p, "|>")] || name[strcspn(p, "|>")] == '.')) return true;
  return false;
}

/* What __expf, hexp2, expf compute is what exp does. */
static bool truth_of(const char *name, char *out, size_t room) {
  mpfr_t one[MAX_VALUES], y;
  static const char *const renamed[][2] = {{"__fdividef", "div"}, {"fdividef", "div"},      {"fdivide", "div"},
                                           {"__powf", "pow"},     {"htanh_approx", "tanh"}, {"h2tanh_approx", "tanh"}};
  snprintf(out, room, "%.*s", (int)strcspn(name, "."), name);
  for (size_t k = 0; k < sizeof renamed / sizeof *renamed; k++)
    if (!strcmp(out, renamed[k][0])) snprintf(out, room, "%s", renamed[k][1]);
  if (!strncmp(out, "__", 2)) memmove(out, out + 2, strlen(out) - 1);
  mpfr_init2(y, 64);
  for (unsigned k = 0; k < MAX_VALUES; k++) mpfr_init2(one[k], 64), mpfr_set_ui(one[k], 1, MPFR_RNDN);
  bool known = false;
  for (unsigned nin = 1; nin < 7 && !known; nin++) known = mx__truth(out, nin, one, 0, y);
  size_t n = strlen(out);
  if (!known && n > 1 && out[n - 1] == 'f') {
    out[n - 1] = 0;
    for (unsigned nin = 1; nin < 7 && !known; nin++) known = mx__truth(out, nin, one, 0, y);
  }
  if (!known && out[0] == 'h') {
    memmove(out, out + (out[1] == '2' ? 2 : 1), n);
    for (unsigned nin = 1; nin < 7 && !known; nin++) known = mx__truth(out, nin, one, 0, y);
  }
  for (unsigned k = 0; k < MAX_VALUES; k++) mpfr_clear(one[k]);
  mpfr_clear(y);
  return known;
}

/* The approximation that f is; truth NULL: it is exact. */
static struct approximation approximation_of(const struct function *f) {
  static char truth[64], last[160];
  static struct approximation found;
  char now[160];
  snprintf(now, sizeof now, "%s %s", f->name, f->sig.out[0]);
  if (!strcmp(last, now)) return found;
  strcpy(last, now);
  found = (struct approximation){0};
  const char *type = f->sig.out[0];
  for (size_t k = 0; k < sizeof instructions / sizeof *instructions; k++)
    if (!strncmp(f->name, instructions[k].start, strlen(instructions[k].start)) &&
        !strncmp(type, instructions[k].type, strlen(instructions[k].type)))
      found = (struct approximation){instructions[k].truth, instructions[k].bound, strstr(f->name, ".ftz"),
                                     strstr(f->name, ".ftz.f64")};
  for (unsigned k = 0; k < mx__intrinsic_count && !f->ptx; k++) {
    const struct mx_intrinsic *i = &mx__intrinsics[k];
    if (!spelled(i->row.spelling, f->name) || strcmp(mx__types[i->row.opnd[0].type].name, type)) continue;
    const bool exact = !strcmp(i->exactness, "exact") || !strcmp(i->exactness, "rounded");
    if (!exact && truth_of(f->name, truth, sizeof truth))
      found = (struct approximation){truth, i->exactness, false, false};
  }
  return found;
}

bool mx__right(struct function *f, const uint64_t *in, const uint64_t *want, const uint64_t *got) {
  const struct approximation a = approximation_of(f);
  if (!a.truth) return !memcmp(want, got, f->sig.nout * sizeof *want);
  for (unsigned o = 0; o < f->sig.nout; o++) {
    const char *type = f->sig.out[o];
    const struct format *t = format_of(type);
    const bool pair = strstr(type, "x2");
    for (int half = 0; half <= pair; half++) {
      const unsigned s = half ? 16 : 0;
      const uint64_t mask = pair ? 0xFFFF : ~0ull;
      double x[MAX_VALUES];
      for (unsigned k = 0; k < f->sig.nin; k++) {
        uint64_t bits = in[k] >> (pair ? s : 0) & mask;
        if (a.high_words) bits &= 0xFFFFFFFF00000000u; /* these see no more */
        x[k] = value(f->sig.in[k], bits);
        if (a.flushes && fabs(x[k]) < ldexp(1, t->least)) x[k] = copysign(0, x[k]);
      }
      if (!near(f, &a, t, o, x, value(type, want[o] >> s & mask), value(type, got[o] >> s & mask))) return false;
    }
  }
  return true;
}

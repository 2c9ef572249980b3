/* Typed arrays: generators, files, comparison; elements.c has the types of elements. */
#include "data.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

char *format(const char *fmt, ...) {
  char *s;
  va_list ap;
  va_start(ap, fmt);
  int n = vasprintf(&s, fmt, ap);
  va_end(ap);
  if (n < 0) cli_no_memory();
  return s;
}

void data_free(struct data *d) {
  free(d->bytes);
  *d = (struct data){0};
}
/* What could not be made, for a reason that stays. */
static void drop(struct data *d) {
  free(d->bytes);
  *d = (struct data){.no_memory = d->no_memory};
}

/* ---- generators -------------------------------------------------------------------------------------------*/
static uint64_t mix(uint64_t *state) { /* splitmix64: small, and the same everywhere */
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* "f32[1024]", "u8[16,16,3]" up to the end of the text */
static const char *parse_shape(struct data *d, const char *s) {
  size_t n = strcspn(s, "[");
  d->type = elem_find(s, n);
  if (!d->type) return "unknown element type";
  if (s[n] != '[') return "expected [count] after the type";
  uint64_t count = 1;
  for (s += n + 1;; s++) {
    char number[24];
    n = strcspn(s, ",]");
    if (n >= sizeof number || !s[n]) return "expected a count and ']'";
    memcpy(number, s, n);
    number[n] = 0;
    uint64_t v;
    if (!cli_number(number, DATA_LIMIT, &v)) return "the count is not a number, or too large";
    if (d->ndims == DATA_DIMS) return "too many dimensions";
    d->dims[d->ndims++] = v;
    if (v && count > DATA_LIMIT / 8 / v) return "it is too large";
    count *= v;
    s += n;
    if (*s == ']') break;
  }
  if (s[1]) return "something follows the ']'";
  d->size = count * d->type->size;
  return NULL;
}

enum data_result data_generate(struct data *d, const char *s, char **why) {
  static const char *const names[] = {"zeros", "iota", "fill", "random", "values", "unset"};
  enum { ZEROS, IOTA, FILL, RANDOM, VALUES, UNSET, OTHER } kind = ZEROS;
  *d = (struct data){0};
  size_t n = strcspn(s, ":("), inner = 0;
  while (kind < OTHER && (strlen(names[kind]) != n || memcmp(names[kind], s, n))) kind++;
  if (kind == OTHER) return DATA_OTHER;
  const char *at = s + n, *paren = NULL, *bad = NULL;
  if (*at == '(') {
    paren = at + 1;
    inner = strcspn(paren, ")");
    if (!paren[inner]) return *why = format("'%s': no ')'", s), DATA_BAD;
    at = paren + inner + 1;
  }
  if (*at != ':') return *why = format("'%s': expected ':' and a type, as in %s:f32[1024]", s, names[kind]), DATA_BAD;
  if ((kind == FILL || kind == VALUES) && !paren)
    return *why = format("'%s': expected %s(VALUE)", s, names[kind]), DATA_BAD;
  if ((kind == ZEROS || kind == IOTA || kind == UNSET) && paren)
    return *why = format("'%s': %s takes no value", s, names[kind]), DATA_BAD;
  if ((bad = parse_shape(d, at + 1))) return *why = format("'%s': %s", s, bad), DATA_BAD;
  d->bytes = calloc(d->size ? d->size : 1, 1);
  if (!d->bytes) return d->no_memory = true, *why = format("'%s': not enough memory", s), DATA_BAD;
  const struct elem *e = d->type;
  uint64_t count = data_count(d), state = 0;
  unsigned char value[8] = {0};
  char *list = paren ? cli_strdup(paren) : NULL;
  if (list) list[inner] = 0;
  if (kind == FILL && !elem_parse(e, value, list, &bad)) *why = format("'%s': %s", list, bad);
  if (kind == RANDOM && list && *list && !cli_number(list, UINT64_MAX, &state))
    *why = format("'%s': %s", list, bad = "the seed is not a number");
  char *next = list;
  for (uint64_t k = 0; !bad && k < count && kind != ZEROS && kind != UNSET; k++) {
    void *p = d->bytes + k * e->size;
    if (kind == IOTA) {
      if (e->kind == ELEM_FLOAT) elem_set_real(e, p, (double)k);
      else memcpy(p, &k, e->size);
    } else if (kind == FILL) {
      memcpy(p, value, e->size);
    } else if (kind == RANDOM) {
      uint64_t r = mix(&state);
      if (e->kind == ELEM_FLOAT)
        elem_set_real(e, p,
                      e->size == 8   ? (double)(r >> 11) * 0x1p-53
                      : e->size == 4 ? (double)(r >> 40) * 0x1p-24
                                     : (double)(r >> 57) * 0x1p-7);
      else memcpy(p, &r, e->size);
    } else {
      char *item = strsep(&next, ",");
      if (item) item += strspn(item, " ");
      if (item && !elem_parse(e, value, item, &bad)) *why = format("'%s': %s", item, bad);
      memcpy(p, value, e->size);
    }
  }
  if (!bad && kind == VALUES && next) *why = format("'%s': %s", s, bad = "more values than elements");
  free(list);
  if (bad) return data_free(d), DATA_BAD;
  d->zeros = kind == ZEROS || kind == UNSET;
  d->unset = kind == UNSET;
  return DATA_MADE;
}

/* ---- files ----------------------------------------------------------------------------------------------*/
static bool has_suffix(const char *path, const char *suffix) {
  size_t n = strlen(path), m = strlen(suffix);
  return n > m && !strcmp(path + n - m, suffix);
}

/* Formats that one might expect to be known, and whose bytes nobody wants as numbers. */
static bool foreign_picture(const char *path) {
  static const char *const suffixes[] = {".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"};
  for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
    if (has_suffix(path, suffixes[k])) return true;
  return false;
}

static void convert(struct data *d, const struct elem *to) {
  uint64_t count = data_count(d);
  unsigned char *bytes = cli_alloc(count * to->size + 1);
  for (uint64_t k = 0; k < count; k++)
    elem_set_real(to, bytes + k * to->size, elem_real(d->type, d->bytes + k * d->type->size));
  free(d->bytes);
  d->bytes = bytes;
  d->size = count * to->size;
  d->type = to;
}

static bool read_picture(struct data *d, const char *path, const struct elem *to, char **why) {
  const char *reason = NULL;
  size_t size;
  unsigned char *file = (unsigned char *)cli_read_file(path, DATA_LIMIT, &size, &reason);
  if (file && !image_read(d, file, size, &reason)) drop(d);
  free(file);
  if (reason) return *why = format("%s: %s", path, reason), false;
  if (to) convert(d, to);
  return true;
}

bool data_read(struct data *d, const char *path, char **why) {
  const char *reason = NULL, *colon = strrchr(path, ':');
  size_t size;
  *d = (struct data){0};
  if (foreign_picture(path)) return *why = format("%s: pictures are read from .png files", path), false;
  if (has_suffix(path, ".png")) return read_picture(d, path, NULL, why);
  const struct elem *to = colon ? elem_find(colon + 1, strlen(colon + 1)) : NULL;
  char *file = to ? format("%.*s", (int)(colon - path), path) : NULL;
  bool typed = file && has_suffix(file, ".png"), read = typed && read_picture(d, file, to, why);
  free(file);
  if (typed) return read;
  unsigned char *bytes = (unsigned char *)cli_read_file(path, DATA_LIMIT, &size, &reason);
  if (bytes && has_suffix(path, ".npy")) {
    if (!npy_read(d, bytes, size, &reason)) drop(d);
    free(bytes);
  } else if (bytes) {
    *d = (struct data){.bytes = bytes, .size = size};
  }
  if (reason) *why = format("%s: %s", cli_file_name(path), reason);
  return !reason;
}

bool data_save(const struct data *d, const char *path, char **why, bool *host) {
  const char *reason = NULL;
  *host = true;
  bool good;
  if (foreign_picture(path)) {
    *host = false, reason = "pictures are written as .png or .pgm", good = false;
  } else if (has_suffix(path, ".png") || has_suffix(path, ".pgm")) {
    good = image_save(d, path, has_suffix(path, ".png"), &reason, host);
  } else if (has_suffix(path, ".npy")) {
    struct text t = {0};
    npy_write(&t, d);
    good = cli_write_file(path, t.s, t.n, &reason);
    text_free(&t);
  } else {
    good = cli_write_file(path, d->bytes, d->size, &reason);
  }
  if (!good) *why = format("%s: %s", path, reason);
  return good;
}

/* ---- comparison -------------------------------------------------------------------------------------------*/
/* Floats as integers in the order of their values; -0 and +0 are neighbours of no distance. */
static int64_t ordered(const struct elem *e, const void *p) {
  int64_t v = elem_signed(e, p), low = INT64_MIN >> (64 - 8 * e->size);
  return v < 0 ? low - v : v;
}

static bool close_enough(const struct elem *e, const void *a, const void *b, int64_t ulp) {
  if (!memcmp(a, b, e->size)) return true;
  if (ulp < 0 || e->kind != ELEM_FLOAT) return false;
  double x = elem_real(e, a), y = elem_real(e, b);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  int64_t m = ordered(e, a), n = ordered(e, b);
  uint64_t distance = m > n ? (uint64_t)m - (uint64_t)n : (uint64_t)n - (uint64_t)m;
  return distance <= (uint64_t)ulp;
}

bool data_equal(const struct data *got, const struct data *expected, int64_t ulp, char **difference) {
  if (got->size != expected->size)
    return *difference =
               format("%llu bytes, expected %llu", (unsigned long long)got->size, (unsigned long long)expected->size),
           false;
  const struct elem *e = expected->type ? expected->type : got->type ? got->type : elem_find("u8", 2);
  uint64_t count = got->size / e->size, bad = 0, first = 0;
  if (!memcmp(got->bytes, expected->bytes, got->size)) return true;
  for (uint64_t k = 0; k < count; k++)
    if (!close_enough(e, got->bytes + k * e->size, expected->bytes + k * e->size, ulp) && !bad++) first = k;
  uint64_t rest = got->size % e->size;
  if (!bad && rest && memcmp(got->bytes + count * e->size, expected->bytes + count * e->size, rest))
    bad = 1, first = count;
  if (!bad) return true;
  struct text t = {0};
  text_printf(&t, "element %llu", (unsigned long long)first);
  if (got->ndims > 1 || expected->ndims > 1) {
    const struct data *s = expected->ndims > 1 ? expected : got;
    uint64_t at = first;
    uint64_t index[DATA_DIMS] = {0};
    for (unsigned k = s->ndims; k-- > 0; at /= s->dims[k] ? s->dims[k] : 1) index[k] = s->dims[k] ? at % s->dims[k] : 0;
    for (unsigned k = 0; k < s->ndims; k++) text_printf(&t, "%s%llu", k ? "," : " [", (unsigned long long)index[k]);
    text_printf(&t, "]");
  }
  if (first < count) {
    const unsigned char *p = got->bytes + first * e->size, *q = expected->bytes + first * e->size;
    text_printf(&t, " is ");
    elem_print(&t, e, p);
    text_printf(&t, " (0x%0*llx), expected ", 2 * e->size, (unsigned long long)elem_bits(e, p));
    elem_print(&t, e, q);
    text_printf(&t, " (0x%0*llx)", 2 * e->size, (unsigned long long)elem_bits(e, q));
  }
  text_printf(&t, "; %llu of %llu differ", (unsigned long long)bad, (unsigned long long)count);
  *difference = t.s;
  return false;
}

/* NumPy's .npy files. The header is a Python dict, of which only what such files hold is read; the file is not trusted.
 */
#include "data.h"

#include <stdlib.h>
#include <string.h>

/* A reader over the header's text. */
struct cursor {
  const char *s, *end;
};

static void blanks(struct cursor *c) {
  while (c->s < c->end && (*c->s == ' ' || *c->s == '\n' || *c->s == '\t')) c->s++;
}
static bool take(struct cursor *c, char ch) {
  blanks(c);
  return c->s < c->end && *c->s == ch ? c->s++, true : false;
}
static bool string(struct cursor *c, const char **s, size_t *n) {
  blanks(c);
  if (c->s == c->end || (*c->s != '\'' && *c->s != '"')) return false;
  char quote = *c->s++;
  *s = c->s;
  while (c->s < c->end && *c->s != quote) c->s++;
  *n = (size_t)(c->s - *s);
  return c->s < c->end ? c->s++, true : false;
}
static bool word(struct cursor *c, const char *w) {
  blanks(c);
  size_t n = strlen(w);
  if ((size_t)(c->end - c->s) < n || memcmp(c->s, w, n)) return false;
  c->s += n;
  return true;
}

static const struct {
  const char *code, *type;
} types[] = {{"u1", "u8"},  {"i1", "s8"},  {"b1", "u8"},  {"u2", "u16"}, {"i2", "s16"}, {"f2", "f16"},
             {"u4", "u32"}, {"i4", "s32"}, {"f4", "f32"}, {"u8", "u64"}, {"i8", "s64"}, {"f8", "f64"}};

static const char *shape(struct cursor *c, struct data *d) {
  if (!take(c, '(')) return "npy: the shape is no tuple";
  while (!take(c, ')')) {
    blanks(c);
    char number[24];
    size_t n = 0;
    while (c->s < c->end && *c->s >= '0' && *c->s <= '9' && n < sizeof number - 1) number[n++] = *c->s++;
    number[n] = 0;
    uint64_t v;
    if (!cli_number(number, DATA_LIMIT, &v)) return "npy: bad dimension";
    if (d->ndims == DATA_DIMS) return "npy: too many dimensions";
    d->dims[d->ndims++] = v;
    if (!take(c, ',')) {
      if (take(c, ')')) break;
      return "npy: bad shape";
    }
  }
  return NULL;
}

bool npy_read(struct data *d, const unsigned char *file, size_t size, const char **why) {
  if (size < 10 || memcmp(file, "\x93NUMPY", 6)) return *why = "not a .npy file", false;
  unsigned version = file[6];
  if (version < 1 || version > 3) return *why = "npy: unknown version", false;
  size_t start = version == 1 ? 10 : 12, length;
  if (size < start) return *why = "npy: the header is cut short", false;
  length = file[8] | (size_t)file[9] << 8;
  if (version > 1) length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
  if (length > size - start || length > 1 << 20) return *why = "npy: the header is cut short, or too long", false;
  struct cursor c = {(const char *)file + start, (const char *)file + start + length};
  bool fortran = false, swap = false, has_shape = false, has_order = false;
  if (!take(&c, '{')) return *why = "npy: the header is no dictionary", false;
  while (!take(&c, '}')) {
    const char *key, *code;
    size_t n, m;
    if (!string(&c, &key, &n) || !take(&c, ':')) return *why = "npy: bad header", false;
    if (n == 5 && !memcmp(key, "descr", 5)) {
      if (!string(&c, &code, &m)) return *why = "npy: structured elements are not supported", false;
      swap = m && *code == '>';
      if (m == 3 && strchr("<>|=", *code))
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
          if (!memcmp(types[k].code, code + 1, 2)) d->type = elem_find(types[k].type, strlen(types[k].type));
      if (!d->type) return *why = "npy: unsupported element type", false;
    } else if (n == 13 && !memcmp(key, "fortran_order", 13)) {
      fortran = word(&c, "True");
      if (!fortran && !word(&c, "False")) return *why = "npy: bad fortran_order", false;
      has_order = true;
    } else if (n == 5 && !memcmp(key, "shape", 5)) {
      if (has_shape) return *why = "npy: two shapes", false;
      if ((*why = shape(&c, d))) return false;
      has_shape = true;
    } else {
      return *why = "npy: unknown key in the header", false;
    }
    if (!take(&c, ',')) {
      if (take(&c, '}')) break;
      return *why = "npy: bad header", false;
    }
  }
  if (!d->type || !has_shape || !has_order) return *why = "npy: descr, fortran_order or shape is missing", false;
  uint64_t have = size - start - length, count = 1;
  for (unsigned k = 0; k < d->ndims; k++) {
    if (d->dims[k] && count > DATA_LIMIT / d->dims[k]) return *why = "npy: the shape is larger than the file", false;
    count *= d->dims[k];
  }
  if (count > have / d->type->size || count * d->type->size != have)
    return *why = "npy: the shape does not fit the file's size", false;
  if (fortran) /* memory order counts here: the same bytes, dimensions the other way round */
    for (unsigned k = 0; k < d->ndims / 2; k++) {
      uint64_t t = d->dims[k];
      d->dims[k] = d->dims[d->ndims - 1 - k];
      d->dims[d->ndims - 1 - k] = t;
    }
  if (!d->ndims) d->ndims = 1, d->dims[0] = 1;
  d->size = have;
  d->bytes = malloc(have ? have : 1);
  if (!d->bytes) return d->no_memory = true, *why = "not enough memory", false;
  memcpy(d->bytes, file + start + length, have);
  if (swap && d->type->size > 1)
    for (uint64_t k = 0; k < have; k += d->type->size)
      for (unsigned i = 0; i < d->type->size / 2u; i++) {
        unsigned char *p = d->bytes + k + i, *q = d->bytes + k + d->type->size - 1 - i, t = *p;
        *p = *q, *q = t;
      }
  return true;
}

void npy_write(struct text *t, const struct data *d) {
  const char *code = "u1", *name = d->type ? d->type->name : "u8";
  char plain[8];
  snprintf(plain, sizeof plain, "%s", name);
  if (plain[0] == 'b')
    plain[0] = 'u', snprintf(plain + 1, sizeof plain - 1, "%d", 8 * d->type->size); /* b32, bf16: bits */
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    if (strcmp(types[k].code, "b1") && !strcmp(types[k].type, plain)) code = types[k].code;
  struct text h = {0};
  text_printf(&h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", code[1] == '1' ? '|' : '<', code);
  if (!d->ndims) text_printf(&h, "%llu,", (unsigned long long)data_count(d));
  for (unsigned k = 0; k < d->ndims; k++)
    text_printf(&h, "%s%llu%s", k ? " " : "", (unsigned long long)d->dims[k],
                k + 1 < d->ndims || d->ndims == 1 ? "," : "");
  text_printf(&h, "), }");
  while ((h.n + 11) % 64) text_add(&h, " ", 1);
  text_add(&h, "\n", 1);
  text_add(t, "\x93NUMPY\1\0", 8);
  text_add(t, (char[]){(char)(h.n & 255), (char)(h.n >> 8)}, 2);
  text_add(t, h.s, h.n);
  text_add(t, (const char *)d->bytes, data_count(d) * (d->type ? d->type->size : 1));
  text_free(&h);
}

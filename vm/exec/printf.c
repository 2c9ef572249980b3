/* Device printf; see printf.h. Each specifier is rebuilt for the host's snprintf with the type that the argument has
 * here, so that nothing that a kernel writes reaches the host's format parser. */
#include "printf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WIDTH 65536 /* of a field: a record may not fill the host's memory */

struct spec {
  char flags[6];
  int width, precision; /* -1: none */
  int longs;            /* h: -1, hh: -2, l: 1, ll: 2 */
  char type;
};

struct state {
  struct mx_text *out;
  const struct mx_reader *r;
  uint64_t args;
  unsigned taken;
  uint64_t *fault;
};

bool mx__text_append(struct mx_text *t, const char *s, size_t n) {
  if (t->room - t->size <= n) {
    size_t room = (t->size + n + 1) * 2;
    char *more = realloc(t->s, room);
    if (!more) return false;
    t->s = more;
    t->room = room;
  }
  memcpy(t->s + t->size, s, n);
  t->size += n;
  t->s[t->size] = 0;
  return true;
}

static bool read_argument(struct state *st, unsigned bytes, uint64_t *value) {
  uint64_t at = (st->args + bytes - 1) & ~(uint64_t)(bytes - 1), follow;
  const uint8_t *p = st->r->at(st->r->context, at, &follow);
  if (!p || follow < bytes) {
    *st->fault = at;
    return false;
  }
  *value = 0;
  memcpy(value, p, bytes);
  st->args = at + bytes;
  st->taken++;
  return true;
}

/* A string of device memory up to its end, or `most` bytes. NULL: runs out of its allocation first. */
static const char *read_string(struct state *st, uint64_t address, size_t most, size_t *size) {
  uint64_t follow;
  const uint8_t *p = st->r->at(st->r->context, address, &follow);
  size_t look = p && follow < most ? (size_t)follow : most;
  const uint8_t *end = p ? memchr(p, 0, look) : NULL;
  if (p && (end || look == most)) {
    *size = end ? (size_t)(end - p) : most;
    return (const char *)p;
  }
  *st->fault = p ? address + follow : address;
  return NULL;
}

/* Parses one specifier behind its '%'; its length, or 0: none of ours. -1 in width or precision: '*', an argument. */
static size_t parse(const char *s, size_t n, struct spec *sp, bool *star_width, bool *star_precision) {
  size_t i = 0, nflags = 0;
  *sp = (struct spec){.width = -1, .precision = -1};
  *star_width = *star_precision = false;
  for (; i < n && s[i] && strchr("#0- +", s[i]); i++)
    if (!strchr(sp->flags, s[i]) && nflags < sizeof sp->flags - 1) sp->flags[nflags++] = s[i];
  if (i < n && s[i] == '*') *star_width = true, i++;
  else
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
      int w = (sp->width < 0 ? 0 : sp->width) * 10 + (s[i] - '0');
      sp->width = w > MOST_WIDTH ? MOST_WIDTH : w;
    }
  if (i < n && s[i] == '.') {
    i++;
    sp->precision = 0;
    if (i < n && s[i] == '*') *star_precision = true, i++;
    else
      for (; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
        int p = sp->precision * 10 + (s[i] - '0');
        sp->precision = p > MOST_WIDTH ? MOST_WIDTH : p;
      }
  }
  for (; i < n && sp->longs > -2 && sp->longs < 2; i++) {
    if (s[i] == 'h' && sp->longs <= 0) sp->longs--;
    else if (s[i] == 'l' && sp->longs >= 0) sp->longs++;
    else if ((s[i] == 'j' || s[i] == 'z' || s[i] == 't') && !sp->longs) sp->longs = 2;
    else break;
  }
  if (i >= n || !s[i] || !strchr("cdiouxXpeEfFgGaAs", s[i])) return 0;
  sp->type = s[i];
  return i + 1;
}

static int clip(uint64_t v, int least) {
  int32_t w = (int32_t)(uint32_t)v;
  return w < least ? least : w > MOST_WIDTH ? MOST_WIDTH : w;
}

/* The host's specifier: "%" flags width .precision length type. */
static void rebuild(const struct spec *sp, const char *length, char type, char host[32]) {
  char width[12] = "", precision[12] = "";
  if (sp->width >= 0) snprintf(width, sizeof width, "%d", sp->width);
  if (sp->precision >= 0) snprintf(precision, sizeof precision, ".%d", sp->precision);
  snprintf(host, 32, "%%%s%s%s%s%c", sp->flags, width, precision, length, type);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool print_with(struct mx_text *out, const char *host, int type, uint64_t v, const char *s) {
  double f;
  memcpy(&f, &v, sizeof f);
  char small[256], *big = NULL;
  int n = 0;
  for (int turn = 0; turn < 2; turn++) {
    char *to = turn ? big : small;
    size_t room = turn ? (size_t)n + 1 : sizeof small;
    n = type == 's'   ? snprintf(to, room, host, s)
        : type == 'e' ? snprintf(to, room, host, f)
        : type == 'c' ? snprintf(to, room, host, (int)(uint32_t)v)
        : type == 'p' ? snprintf(to, room, host, (void *)(uintptr_t)v)
        : type == 'd' ? snprintf(to, room, host, (long long)v)
                      : snprintf(to, room, host, (unsigned long long)v);
    if (n < 0 || (turn == 0 && (size_t)n < sizeof small)) break;
    if (turn == 0 && !(big = malloc((size_t)n + 1))) return false;
  }
  bool good = n < 0 || mx__text_append(out, big ? big : small, (size_t)n);
  free(big);
  return good;
}
#pragma GCC diagnostic pop

static enum mx_formatted print_one(struct state *st, struct spec *sp) {
  char host[32];
  uint64_t v;
  bool wide = sp->longs > 0 || strchr("psaAeEfFgG", sp->type);
  if (!read_argument(st, wide ? 8 : 4, &v)) return MX_FORMAT_FAULT;
  switch (sp->type) {
  case 's': {
    size_t n, most = sp->precision >= 0 ? (size_t)sp->precision : 1u << 20;
    const char *s = v ? read_string(st, v, most, &n) : "(null)";
    if (!s) return MX_FORMAT_FAULT;
    if (!v) n = 6;
    sp->precision = (int)n; /* the text need not end where it stops */
    rebuild(sp, "", 's', host);
    return print_with(st->out, host, 's', 0, s) ? MX_FORMATTED : MX_FORMAT_MEMORY;
  }
  case 'c':
    rebuild(sp, "", 'c', host);
    return print_with(st->out, host, 'c', v, NULL) ? MX_FORMATTED : MX_FORMAT_MEMORY;
  case 'p':
    rebuild(sp, "", 'p', host);
    return print_with(st->out, host, 'p', v, NULL) ? MX_FORMATTED : MX_FORMAT_MEMORY;
  case 'd':
  case 'i':
    if (!wide) v = (uint64_t)(int64_t)(int32_t)(uint32_t)v;
    if (sp->longs == -1) v = (uint64_t)(int64_t)(int16_t)(uint16_t)v;
    if (sp->longs == -2) v = (uint64_t)(int64_t)(int8_t)(uint8_t)v;
    rebuild(sp, "ll", 'd', host);
    return print_with(st->out, host, 'd', v, NULL) ? MX_FORMATTED : MX_FORMAT_MEMORY;
  case 'o':
  case 'u':
  case 'x':
  case 'X':
    if (sp->longs == -1) v = (uint16_t)v;
    if (sp->longs == -2) v = (uint8_t)v;
    rebuild(sp, "ll", sp->type, host);
    return print_with(st->out, host, 'u', v, NULL) ? MX_FORMATTED : MX_FORMAT_MEMORY;
  default:
    rebuild(sp, "", sp->type, host);
    return print_with(st->out, host, 'e', v, NULL) ? MX_FORMATTED : MX_FORMAT_MEMORY;
  }
}

enum mx_formatted mx__printf(struct mx_text *out, const struct mx_reader *r, uint64_t format, uint64_t args,
                             int32_t *result, uint64_t *fault) {
  struct state st = {.out = out, .r = r, .args = args, .fault = fault};
  size_t n;
  *result = -1;
  if (!format) return MX_FORMATTED;
  const char *s = read_string(&st, format, SIZE_MAX, &n);
  if (!s) return MX_FORMAT_FAULT;
  for (size_t i = 0; i < n;) {
    const char *percent = memchr(s + i, '%', n - i);
    size_t plain = percent ? (size_t)(percent - s) - i : n - i;
    if (plain && !mx__text_append(out, s + i, plain)) return MX_FORMAT_MEMORY;
    i += plain;
    if (i >= n) break;
    if (i + 1 < n && s[i + 1] == '%') {
      if (!mx__text_append(out, "%", 1)) return MX_FORMAT_MEMORY;
      i += 2;
      continue;
    }
    struct spec sp;
    bool star_width, star_precision;
    size_t length = parse(s + i + 1, n - i - 1, &sp, &star_width, &star_precision);
    unsigned wanted = 1u + star_width + star_precision;
    if (!length || st.taken + wanted > MX_PRINTF_ARGS) {
      if (!mx__text_append(out, "%", 1)) return MX_FORMAT_MEMORY;
      i++;
      continue;
    }
    uint64_t v;
    if (star_width) {
      if (!read_argument(&st, 4, &v)) return MX_FORMAT_FAULT;
      sp.width = clip(v, -MOST_WIDTH);
      if (sp.width < 0) {
        sp.width = -sp.width;
        if (!strchr(sp.flags, '-') && strlen(sp.flags) < sizeof sp.flags - 1) strcat(sp.flags, "-");
      }
    }
    if (star_precision) {
      if (!read_argument(&st, 4, &v)) return MX_FORMAT_FAULT;
      sp.precision = clip(v, -1);
    }
    enum mx_formatted f = print_one(&st, &sp);
    if (f != MX_FORMATTED) return f;
    i += length + 1;
  }
  *result = (int32_t)st.taken;
  return MX_FORMATTED;
}

/* Device code across files: the PTX of several becomes one text. A name that one file defines and others declare is
 * defined once; so is a weak one, as those of templates, that several define; a name that is private to one file gets
 * the file's number as its ending if another file has the same name. */
#include "rt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A statement of a file, outside of functions. */
struct statement {
  size_t from, to; /* in the text */
  size_t name, name_bytes;
  enum { HEADER, DEFINED, DECLARED, WEAK, DYNAMIC, LOCAL, OTHER } sort;
  bool dropped, renamed, entry;
};
struct part {
  const char *text;
  size_t size;
  struct statement *s;
  size_t n, room;
};
struct out {
  char *s;
  size_t n, room;
  bool failed;
};

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%'; }

static size_t skip_blank(const struct part *p, size_t at) {
  while (at < p->size) {
    if (isspace((unsigned char)p->text[at])) at++;
    else if (at + 1 < p->size && p->text[at] == '/' && p->text[at + 1] == '/') {
      while (at < p->size && p->text[at] != '\n') at++;
    } else if (at + 1 < p->size && p->text[at] == '/' && p->text[at + 1] == '*') {
      const char *end = memmem(p->text + at + 2, p->size - at - 2, "*/", 2);
      at = end ? (size_t)(end - p->text) + 2 : p->size;
    } else break;
  }
  return at;
}

static size_t skip_string(const struct part *p, size_t at) {
  for (at++; at < p->size && p->text[at] != '"'; at++)
    if (p->text[at] == '\\') at++;
  return at < p->size ? at + 1 : p->size;
}

static bool word_is(const struct part *p, size_t at, size_t n, const char *word) {
  return n == strlen(word) && !memcmp(p->text + at, word, n);
}

/* One statement, from a directive on: up to its semicolon, the end of its body, or for some the end of the line. */
static struct statement read_statement(const struct part *p, size_t at) {
  struct statement s = {.from = at, .sort = LOCAL};
  bool function = false, body = false, line = false, external = false, shared = false;
  int round = 0, curly = 0;
  while (at < p->size) {
    const char c = p->text[at];
    if (line && c == '\n') break;
    if (c == '"') at = skip_string(p, at);
    else if (!curly && !round && (c == '.' || in_name(c))) {
      size_t n = 1;
      while (at + n < p->size && in_name(p->text[at + n])) n++;
      if (at == s.from &&
          (word_is(p, at, n, ".version") || word_is(p, at, n, ".target") || word_is(p, at, n, ".address_size")))
        line = true, s.sort = HEADER;
      else if (at == s.from && (word_is(p, at, n, ".file") || word_is(p, at, n, ".loc"))) line = true, s.sort = OTHER;
      else if (word_is(p, at, n, ".section")) s.sort = OTHER, function = true;
      else if (word_is(p, at, n, ".func")) function = true;
      else if (word_is(p, at, n, ".entry")) function = s.entry = true;
      else if (word_is(p, at, n, ".visible") || word_is(p, at, n, ".common")) s.sort = DEFINED;
      else if (word_is(p, at, n, ".weak")) s.sort = WEAK;
      else if (word_is(p, at, n, ".extern")) external = true;
      else if (word_is(p, at, n, ".shared")) shared = true;
      else if (c != '.' && !isdigit((unsigned char)c) && !s.name_bytes && !line) s.name = at, s.name_bytes = n;
      at += n;
    } else {
      if (c == '(') round++;
      if (c == ')') round--;
      if (c == '{') curly++, body |= function;
      if (c == '}') curly--;
      at++;
      if (!curly && ((c == ';' && !line) || (c == '}' && body))) break;
      const size_t next = skip_blank(p, at);
      if (!line) at = next;
    }
    if (!line) at = skip_blank(p, at);
  }
  s.to = at;
  if (external) s.sort = shared ? DYNAMIC : DECLARED;
  else if (function && !body && s.sort != OTHER) s.sort = DECLARED; /* a function that the file goes on to define */
  return s;
}

static bool read_part(struct part *p) {
  for (size_t at = skip_blank(p, 0); at < p->size; at = skip_blank(p, at)) {
    if (p->n == p->room) {
      struct statement *more = realloc(p->s, (2 * p->room + 16) * sizeof *more);
      if (!more) return false;
      p->s = more, p->room = 2 * p->room + 16;
    }
    p->s[p->n] = read_statement(p, at);
    at = p->s[p->n].to > at ? p->s[p->n].to : at + 1;
    p->n++;
  }
  return true;
}

static bool same_name(const struct part *a, const struct statement *x, const struct part *b,
                      const struct statement *y) {
  return x->name_bytes && x->name_bytes == y->name_bytes &&
         !memcmp(a->text + x->name, b->text + y->name, x->name_bytes);
}
/* C++ names of internal linkage: a variable or kernel that its file's host part registers under such a name. */
static bool is_internal(const struct part *p, const struct statement *s) {
  return memmem(p->text + s->name, s->name_bytes, "_GLOBAL__N_", 11) ||
         (s->name_bytes > 3 && !memcmp(p->text + s->name, "_ZL", 3));
}

static bool defined_elsewhere(const struct part *parts, size_t count, size_t k, const struct statement *s, bool as) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; i != k && j < parts[i].n; j++)
      if (same_name(&parts[k], s, &parts[i], &parts[i].s[j]) && (parts[i].s[j].sort == DECLARED) != as) return true;
  return false;
}
/* Whether the text needs a part. One that needs a name which no part defines, and that defines no kernel and no name
 * which others need, is left out: a linker would not have taken such a member of a library either. */
static bool is_wanted(const struct part *parts, size_t count, size_t k) {
  bool lacks = false;
  for (size_t j = 0; j < parts[k].n; j++) {
    const struct statement *s = &parts[k].s[j];
    if ((s->entry && (s->sort == DEFINED || s->sort == WEAK)) ||
        (s->sort != DECLARED && defined_elsewhere(parts, count, k, s, false)))
      return true;
    bool own = s->sort != DECLARED;
    for (size_t i = 0; i < parts[k].n && !own; i++)
      own = parts[k].s[i].sort != DECLARED && same_name(&parts[k], s, &parts[k], &parts[k].s[i]);
    lacks |= !own && !defined_elsewhere(parts, count, k, s, true);
  }
  return !lacks;
}

/* Decides what becomes of a statement of the k-th part, by what the parts before it and behind it have of that name. */
static void decide(struct part *parts, size_t count, size_t k, struct statement *s) {
  if (s->sort == OTHER) return;
  if (s->sort == HEADER) {
    s->dropped = k > 0;
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (i == k) continue;
    for (size_t j = 0; j < parts[i].n; j++) {
      const struct statement *x = &parts[i].s[j];
      if (!same_name(&parts[k], s, &parts[i], x)) continue;
      if (s->sort == LOCAL || s->sort == DYNAMIC || (s->sort == DEFINED && is_internal(&parts[k], s)))
        s->renamed |= k > 0;
      else if (s->sort == WEAK) s->dropped |= x->sort == DEFINED || (x->sort == WEAK && i < k);
      else if (s->sort == DECLARED)
        s->dropped |= x->sort == DEFINED || x->sort == WEAK || (x->sort == DECLARED && i < k);
    }
  }
}

static void put(struct out *o, const char *s, size_t n) {
  if (o->n + n + 1 > o->room) {
    const size_t room = 2 * (o->n + n) + 4096;
    char *more = realloc(o->s, room);
    if (!more) o->failed = true;
    else o->s = more, o->room = room;
  }
  if (o->failed) return;
  memcpy(o->s + o->n, s, n);
  o->n += n;
  o->s[o->n] = 0;
}

/* Files of source lines are numbered in each part: the k-th part's begin at FILES * k. */
enum { FILES = 10000 };

static void put_statement(struct out *o, const struct part *p, size_t k, const struct statement *s) {
  bool number = false;
  for (size_t at = s->from; at < s->to;) {
    size_t n = 1;
    if (p->text[at] == '"') n = skip_string(p, at) - at;
    else if (in_name(p->text[at]) || p->text[at] == '.')
      while (at + n < s->to && in_name(p->text[at + n])) n++;
    if (number && isdigit((unsigned char)p->text[at])) {
      char text[32];
      const int m = snprintf(text, sizeof text, "%zu", strtoul(p->text + at, NULL, 10) + FILES * k);
      put(o, text, (size_t)m);
    } else put(o, p->text + at, n);
    if (!isspace((unsigned char)p->text[at]))
      number = k && (word_is(p, at, n, ".file") || word_is(p, at, n, ".loc") || word_is(p, at, n, "inlined_at"));
    bool mark = n > 3 && !memcmp(p->text + at, "$L_", 3) && memmem(p->text + at, n, "info_string", 11);
    for (size_t j = 0; j < p->n && !mark && in_name(p->text[at]); j++)
      mark = p->s[j].renamed && p->s[j].name_bytes == n && !memcmp(p->text + at, p->text + p->s[j].name, n);
    if (mark && k) {
      char text[32];
      const int m = snprintf(text, sizeof text, RT_OF_PART, k);
      put(o, text, (size_t)m);
    }
    at += n;
  }
  put(o, "\n", 1);
}

char *rt_join(const char *const *texts, const size_t *sizes, size_t count) {
  struct part *parts = calloc(count, sizeof *parts);
  struct out o = {0};
  bool fine = parts != NULL;
  for (size_t k = 0; fine && k < count; k++) {
    parts[k].text = texts[k];
    parts[k].size = sizes[k];
    fine = read_part(&parts[k]);
  }
  for (size_t k = 0; fine && k < count; k++)
    if (!is_wanted(parts, count, k)) parts[k].n = 0;
  for (size_t k = 0; fine && k < count; k++)
    for (size_t j = 0; j < parts[k].n; j++) decide(parts, count, k, &parts[k].s[j]);
  for (size_t k = 0; fine && k < count; k++)
    for (size_t j = 0; j < parts[k].n; j++)
      if (!parts[k].s[j].dropped) put_statement(&o, &parts[k], k, &parts[k].s[j]);
  for (size_t k = 0; parts && k < count; k++) free(parts[k].s);
  free(parts);
  if (fine && !o.failed) return o.s;
  free(o.s);
  return NULL;
}

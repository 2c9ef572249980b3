/* Order and scope of atomics, fences and strong accesses. The machine treats all alike, so its code does not contain
 * what the text says; it is read again from the text, where that is available: from the instruction's line, found
 * through the module's line table. Without the text they count as acquire and release at device scope, which may hide
 * races but invents none. */
#include "check.h"

#include "core/intrinsics.h"

#include <stdlib.h>
#include <string.h>

struct source {
  struct source *next;
  char *file, *text;
};

mx_status mx_device_check_source(mx_device *d, const char *file, const char *text, size_t size) {
  if (!d) return MX_INVALID_VALUE;
  if (!d->check) return mx__fail(d, MX_INVALID_VALUE, "mx_device_check_source: the device has no tools");
  struct source *s = calloc(1, sizeof *s);
  if (s) s->file = strdup(file ? file : ""), s->text = strndup(text ? text : "", text ? size : 0);
  if (!s || !s->file || !s->text) {
    if (s) free(s->file), free(s->text);
    free(s);
    return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  }
  s->next = d->check->sources;
  d->check->sources = s;
  return MX_OK;
}
void mx__sources_free(struct mx_check *c) {
  for (struct source *s = c->sources, *next; s; s = next) {
    next = s->next;
    free(s->file);
    free(s->text);
    free(s);
  }
  c->sources = NULL;
}

static const char *line_of(const struct mx_check *c, const char *file, uint32_t line) {
  const struct source *s = c->sources;
  while (s && strcmp(s->file, file)) s = s->next;
  const char *p = s ? s->text : NULL;
  for (; p && line > 1; line--) p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL;
  return p;
}

/* The suffixes of the line's one instruction that begins with `base`; NULL: there is none, or more than one. */
static const char *mnemonic(const char *line, const char *base, size_t *length) {
  const size_t n = strlen(base), end = strcspn(line, "\n");
  const char *found = NULL;
  for (size_t k = 0; k + n < end; k++) {
    if (line[k] == '/' && line[k + 1] == '/') break;
    if (memcmp(line + k, base, n) || line[k + n] != '.' || (k && !strchr(" \t;{}:", line[k - 1]))) continue;
    if (found) return NULL;
    found = line + k + n;
    *length = strcspn(found, " \t\n;[");
  }
  return found;
}
static bool has(const char *suffixes, size_t length, const char *word) {
  const size_t n = strlen(word);
  for (size_t k = 0; k + n <= length; k++)
    if (!memcmp(suffixes + k, word, n) && (k + n == length || suffixes[k + n] == '.')) return true;
  return false;
}

static bool begins_with_word(const char *pattern, const char *word, size_t n) {
  return !strncmp(pattern, word, n) && (!pattern[n] || strchr(".<|{[", pattern[n]));
}
/* The suffixes of the instruction `base` among those that the function stands for; NULL: it is not among them. */
static const char *instruction_in(const char *meaning, const char *base) {
  const size_t n = strlen(base);
  for (const char *p = meaning; (p = strstr(p, base)); p += n)
    if ((p == meaning || p[-1] == ' ') && p[n] && strchr("#.", p[n])) return p + n;
  return NULL;
}
/* The same as mnemonic() where the line has no such instruction, but a function of vendors' languages (core/intrinsics)
 * that stands for one, as atomicAdd does for atom. Its name says whether it is of block scope. */
static const char *function(const char *line, const char *base, size_t *length, bool *block) {
  const size_t end = strcspn(line, "\n");
  const char *found = NULL;
  for (size_t k = 0, n; k < end && strncmp(line + k, "//", 2); k += n + 1) {
    const char *word = line + k, *here = NULL;
    n = strcspn(word, " \t\n.;{}:,");
    for (unsigned i = 0; n && i < mx__intrinsic_count && !here; i++)
      if (begins_with_word(mx__intrinsics[i].row.spelling, word, n))
        here = instruction_in(mx__intrinsics[i].row.meaning, base);
    if (!here) continue;
    if (found) return NULL;
    found = here, *length = strcspn(here, " ;");
    *block = n > 6 && !memcmp(word + n - 6, "_block", 6);
  }
  return found;
}

void mx__order_of(const struct mx_check *c, struct site *s) {
  const char *file;
  uint32_t line;
  mx__line_of(c->code->prep->image, s->func, s->insn->pc, &file, &line);
  const char *text = file ? line_of(c, file, line) : NULL, *p = NULL;
  size_t n = 0;
  bool block = false;
  /* the words that the row's own spelling begins with */
  const char *spelling = mx__ops[s->insn->op].spelling;
  for (const char *w = spelling + strspn(spelling, "<|"); text && *w && !p; w += strspn(w, "<|")) {
    char base[16];
    const size_t k = strcspn(w, "<|.[{>");
    if (!k) {
      w += strcspn(w, "|>");
      if (*w == '>') break;
      continue;
    }
    if (k >= sizeof base) break;
    memcpy(base, w, k);
    base[k] = 0;
    p = mnemonic(text, base, &n);
    if (!p) p = function(text, base, &n, &block);
    w += strcspn(w, "|>{[");
    if (*w != '|') break;
  }
  if (!p) return;
  s->block_scope = block || has(p, n, ".cta");
  if (s->access != ACCESS_ATOMIC) return; /* fences order both ways; loads and stores have their order in the code */
  const bool both = has(p, n, ".acq_rel");
  s->acquires = both || has(p, n, ".acquire");
  s->releases = both || has(p, n, ".release");
}

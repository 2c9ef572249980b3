/* Order and scope of atomics, fences and strong accesses. The machine treats all alike, so its code does not contain
 * what the text says; it is read again from the text, where that is available: from the instruction's line, found
 * through the module's line table. Without the text they count as acquire and release at device scope, which may hide
 * races but invents none. */
#include "check.h"

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

void mx__order_of(const struct mx_check *c, struct site *s) {
  const char *file;
  uint32_t line;
  mx__line_of(c->code->prep->image, s->func, s->insn->pc, &file, &line);
  const char *text = file ? line_of(c, file, line) : NULL, *p = NULL;
  size_t n = 0;
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
    w += strcspn(w, "|>{[");
    if (*w != '|') break;
  }
  if (!p) return;
  s->block_scope = has(p, n, ".cta");
  if (s->access != ACCESS_ATOMIC) return; /* fences order both ways; loads and stores have their order in the code */
  const bool both = has(p, n, ".acq_rel");
  s->acquires = both || has(p, n, ".acquire");
  s->releases = both || has(p, n, ".release");
}

/* Names and scopes. Separate because parser and lowering both look names up; knows no syntax and no instruction. */
#include "symbols.h"

#include <string.h>

static uint32_t hash_text(const char *text, size_t len) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)text[i]) * 16777619u;
  return h ^ h >> 15;
}

struct name *mx__name(struct names *ns, const char *text, size_t len) {
  uint32_t h = hash_text(text, len);
  if (ns->nbuckets) {
    for (struct name *n = ns->buckets[h & (ns->nbuckets - 1)]; n; n = n->chain) {
      if (n->hash == h && n->len == len && !memcmp(n->text, text, len)) return n;
    }
  }
  if (ns->count >= ns->nbuckets) {
    uint32_t nb = ns->nbuckets ? ns->nbuckets * 4 : 256;
    struct name **b = mx__arena_alloc(ns->arena, nb * sizeof *b);
    for (uint32_t i = 0; i < ns->nbuckets; i++) {
      for (struct name *n = ns->buckets[i], *next; n; n = next) {
        next = n->chain;
        n->chain = b[n->hash & (nb - 1)];
        b[n->hash & (nb - 1)] = n;
      }
    }
    ns->buckets = b;
    ns->nbuckets = nb;
  }
  struct name *n = mx__arena_alloc(ns->arena, sizeof *n);
  *n = (struct name){mx__arena_strndup(ns->arena, text, len), (uint32_t)len, h, ns->buckets[h & (ns->nbuckets - 1)]};
  ns->buckets[h & (ns->nbuckets - 1)] = n;
  ns->count++;
  return n;
}

struct scope *mx__scope_new(struct names *ns, struct scope *parent) {
  struct scope *s = mx__arena_alloc(ns->arena, sizeof *s);
  s->parent = parent;
  s->depth = parent ? parent->depth + 1 : 0;
  return s;
}

static struct sym *find_exact(struct scope *s, struct name *n) {
  if (!s->nbuckets) return NULL;
  struct sym *y = s->buckets[n->hash & (s->nbuckets - 1)];
  while (y && y->name != n) y = y->chain;
  return y;
}

struct sym *mx__scope_add(struct names *ns, struct scope *s, struct name *n, enum sym_kind kind, struct ir_loc loc) {
  if (s->count >= s->nbuckets) {
    uint32_t nb = s->nbuckets ? s->nbuckets * 4 : 8;
    struct sym **b = mx__arena_alloc(ns->arena, nb * sizeof *b);
    for (uint32_t i = 0; i < s->nbuckets; i++) {
      for (struct sym *y = s->buckets[i], *next; y; y = next) {
        next = y->chain;
        y->chain = b[y->name->hash & (nb - 1)];
        b[y->name->hash & (nb - 1)] = y;
      }
    }
    s->buckets = b;
    s->nbuckets = nb;
  }
  struct sym *y = mx__arena_alloc(ns->arena, sizeof *y);
  y->kind = (uint8_t)kind;
  y->name = n;
  y->loc = loc;
  y->scope = s;
  y->chain = s->buckets[n->hash & (s->nbuckets - 1)];
  s->buckets[n->hash & (s->nbuckets - 1)] = y;
  s->count++;
  return y;
}

void mx__scope_add_range(struct names *ns, struct scope *s, struct range r) {
  if (s->nranges == s->cap_ranges) {
    uint32_t cap = s->cap_ranges ? s->cap_ranges * 2 : 4;
    s->ranges = mx__arena_grow(ns->arena, s->ranges, s->nranges * sizeof r, cap * sizeof r);
    s->cap_ranges = cap;
  }
  s->ranges[s->nranges++] = r;
}

/* %r12 of a range %r<20>: the prefix may itself end in digits, the number has no leading zeros. */
static const struct range *find_range(const struct scope *s, const struct name *n) {
  if (!s->nranges || !n->len || n->text[n->len - 1] < '0' || n->text[n->len - 1] > '9') return NULL;
  uint64_t number = 0, unit = 1;
  for (uint32_t cut = n->len - 1; cut > 0 && n->text[cut] >= '0' && n->text[cut] <= '9' && unit <= 1000000000;
       cut--, unit *= 10) {
    number += (uint64_t)(n->text[cut] - '0') * unit;
    if (n->text[cut] == '0' && cut + 1 < n->len) continue; /* a leading zero so far */
    for (uint32_t k = 0; k < s->nranges; k++) {
      const struct range *r = &s->ranges[k];
      if (r->prefix->len == cut && number < r->count && !memcmp(r->prefix->text, n->text, cut)) return r;
    }
  }
  return NULL;
}

struct sym *mx__scope_find_here(struct names *ns, struct scope *s, struct name *n) {
  struct sym *y = find_exact(s, n);
  if (y) return y;
  const struct range *r = find_range(s, n);
  if (!r) return NULL;
  y = mx__scope_add(ns, s, n, SYM_REG, r->loc);
  y->type = r->type;
  return y;
}

struct sym *mx__scope_find(struct names *ns, struct scope *s, struct name *n) {
  for (; s; s = s->parent) {
    struct sym *y = mx__scope_find_here(ns, s, n);
    if (y) return y;
  }
  return NULL;
}

/* How many letters have to be put in, taken out, changed or exchanged with their neighbour; given up beyond `most`. */
static uint32_t edit_distance(const char *a, const char *b, uint32_t most) {
  enum { LONGEST = 64 };
  const size_t n = strlen(a), m = strlen(b);
  if (n > LONGEST || m > LONGEST || (n > m ? n - m : m - n) > most) return most + 1;
  uint32_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];
  for (size_t j = 0; j <= m; j++) last[j] = (uint32_t)j;
  for (size_t i = 1; i <= n; i++) {
    uint32_t least = now[0] = (uint32_t)i;
    for (size_t j = 1; j <= m; j++) {
      uint32_t d = last[j - 1] + (a[i - 1] != b[j - 1]);
      if (last[j] + 1 < d) d = last[j] + 1;
      if (now[j - 1] + 1 < d) d = now[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < d)
        d = before[j - 2] + 1;
      now[j] = d;
      if (d < least) least = d;
    }
    if (least > most + 1) return most + 1; /* an exchange may still take one off */
    uint32_t *const spare = before;
    before = last, last = now, now = spare;
  }
  return last[m];
}

/* The edit distance; `most`, the largest that counts as near, for a word that is a beginning of the candidate: glob for
 * global. */
static uint32_t distance(const char *want, size_t len, const char *candidate, uint32_t most) {
  const uint32_t d = edit_distance(want, candidate, most);
  return d > most && len >= 4 && most && !strncmp(want, candidate, len) ? most : d;
}

void mx__nearest(struct nearest *n, const char *candidate) {
  const size_t len = strlen(n->want);
  uint32_t most = len <= 4 ? 1 : len <= 8 ? 2 : 3;
  if (n->best && n->distance <= most) most = n->distance ? n->distance - 1 : 0;
  if (n->best && !n->distance) return;
  const uint32_t d = distance(n->want, len, candidate, most);
  if (d <= most && d < len - (*n->want == '%')) { /* the sign of a register is no likeness */
    n->best = candidate;
    n->distance = d;
  }
}

const char *mx__scope_nearest(struct scope *s, const char *want, int kind) {
  struct nearest n = {want, NULL, 0};
  uint32_t looked = 0;
  for (; s; s = s->parent) {
    for (uint32_t i = 0; i < s->nbuckets; i++) {
      for (struct sym *y = s->buckets[i]; y; y = y->chain) {
        if (++looked > 4096) return n.best; /* a message is not worth more */
        if ((kind < 0 || y->kind == kind) && strcmp(y->name->text, want)) mx__nearest(&n, y->name->text);
      }
    }
  }
  return n.best;
}

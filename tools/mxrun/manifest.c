/* The parser of launch manifests: the only one, described in docs/manifest.md. Hostile text gives a message. */
#include "manifest.h"

#include <stdlib.h>
#include <string.h>

struct reader {
  struct manifest *m;
  char *at;
  unsigned line;
  uint64_t seen;
  const char *error;
  char *text;
};

/* An item or a kind of argument that this version does not know. A test of a group of instructions which mx refuses may
 * have such lines, so the rest is read before `needs` decides what they mean. */
static bool unknown(struct reader *r, const char *word, const char *what) {
  if (!r->m->unknown) r->m->unknown = format("line %u: %s: %s", r->line, word, what);
  r->at += strlen(r->at);
  return true;
}

/* The next word of the line, NUL-terminated, or NULL. */
static char *word(struct reader *r) {
  r->at += strspn(r->at, " \t");
  if (!*r->at || *r->at == '#') return NULL;
  char *s = r->at;
  r->at += strcspn(r->at, " \t");
  if (*r->at) *r->at++ = 0;
  return s;
}
/* All that is left of the line, without blanks at its ends; NULL: nothing. */
static char *rest(struct reader *r) {
  r->at += strspn(r->at, " \t");
  char *s = r->at, *end = s + strlen(s);
  while (end > s && (end[-1] == ' ' || end[-1] == '\t')) *--end = 0;
  r->at = end;
  return *s ? s : NULL;
}
static bool bad(struct reader *r, const char *error) {
  if (!r->error) r->error = error;
  return false;
}
static bool number(struct reader *r, uint64_t max, uint64_t *v) {
  char *s = word(r);
  return s && cli_number(s, max, v) ? true : bad(r, "expected a number");
}
static bool three(struct reader *r, uint32_t *v) {
  for (int k = 0; k < 3; k++) {
    uint64_t x;
    char *s = word(r);
    if (!s && k) v[k] = 1;
    else if (!s || !cli_number(s, UINT32_MAX, &x)) return bad(r, "expected X Y Z");
    else v[k] = (uint32_t)x;
  }
  return true;
}
static bool one_word(struct reader *r, const char **s) {
  *s = word(r);
  return *s ? true : bad(r, "expected a name");
}

static bool hex_bits(struct marg *a, const char *s) {
  char digits[24];
  bool prefixed = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
  int n = snprintf(digits, sizeof digits, "0x%s", prefixed ? s + 2 : s);
  uint64_t max = a->type->size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * a->type->size) - 1;
  return n > 2 && n < (int)sizeof digits && cli_number(digits, max, &a->bytes);
}

static struct mstage *stage(struct manifest *m) { return &m->stages[m->nstages - 1]; }
static bool next_stage(struct reader *r) {
  struct manifest *m = r->m;
  if (m->nstages == MANIFEST_STAGES) return bad(r, "too many launches");
  m->stages[m->nstages++] = (struct mstage){.grid = {1, 1, 1}, .block = {1, 1, 1}, .first = m->nargs};
  return true;
}

/* "as NAME" behind a buffer. */
static bool named(struct reader *r, struct marg *a) {
  char *as = word(r);
  if (!as) return true;
  if (strcmp(as, "as")) return bad(r, "something follows that does not belong there");
  if (!one_word(r, &a->name)) return false;
  for (const struct marg *o = r->m->args; o < a; o++)
    if (o->name && !strcmp(o->name, a->name)) return bad(r, "this name is taken");
  return true;
}
static bool same(struct reader *r, struct marg *a) {
  a->kind = MARG_SAME;
  if (!one_word(r, &a->name)) return false;
  for (const struct marg *o = r->m->args; o < a; o++)
    if (o->kind < MARG_SAME && o->name && !strcmp(o->name, a->name)) return a->same = (unsigned)(o - r->m->args), true;
  return bad(r, "no buffer has that name: 'as NAME' behind one gives it");
}

/* image NAME KIND SIZE FORMAT [layers=N] [levels=N] [gather] FILE */
static bool image(struct reader *r) {
  struct manifest *m = r->m;
  if (m->nimages == MANIFEST_IMAGES) return bad(r, "too many images");
  struct image_spec *s = &m->images[m->nimages];
  *s = (struct image_spec){.desc = MX_ARRAY_DESC_INIT, .line = r->line};
  if (!one_word(r, &s->name)) return false;
  for (unsigned k = 0; k < m->nimages; k++)
    if (!strcmp(m->images[k].name, s->name)) return bad(r, "this name is taken");
  const char *w = word(r);
  if (!w || !image_kind(s, w))
    return bad(r, "expected 1d, 2d, 3d, 1dlayered, 2dlayered, cube, cubelayered, linear or pitch2d");
  w = word(r);
  if (!w || !image_size(s, w)) return bad(r, "expected a size such as 640x480");
  w = word(r);
  if (!w || !image_format(&s->desc, w, strlen(w))) return bad(r, "expected a format such as u8x4 or f32x1");
  while ((w = word(r)) && image_option(s, w)) {}
  s->file = w;
  if (!w) return bad(r, "expected a file, or an array such as iota:u32[64]");
  m->nimages++;
  return true;
}
static bool named_image(struct reader *r, struct marg *a) {
  const char *name = word(r);
  if (!name) return bad(r, "expected an image's name");
  for (a->image = 0; a->image < r->m->nimages; a->image++)
    if (!strcmp(r->m->images[a->image].name, name)) return true;
  return bad(r, "no image has that name: an 'image' line before it gives one");
}
static bool texture(struct reader *r, struct marg *a, unsigned kind) {
  a->kind = (uint8_t)kind;
  if (kind == MARG_TEX && !named_image(r, a)) return false;
  a->texture = (mx_texture_desc)MX_TEXTURE_DESC_INIT;
  for (const char *w; (w = word(r));) {
    const char *wrong = texture_key(&a->texture, w);
    if (wrong) return bad(r, wrong);
  }
  return true;
}
static bool surface(struct reader *r, struct marg *a) {
  a->kind = MARG_SURF;
  a->is_result = true;
  if (!named_image(r, a)) return false;
  if (r->m->images[a->image].where != IMAGE_ARRAY) return bad(r, "surfaces are of arrays");
  for (const struct marg *o = r->m->args; o < a; o++)
    if (o->kind == MARG_SURF && o->image == a->image) a->is_result = false;
  return true;
}

/* memory ADDRESS DATA [becomes DATA] [of VARIABLE] */
static bool memory(struct reader *r) {
  struct manifest *m = r->m;
  struct mmemory a = {.line = r->line};
  if (!number(r, UINT64_MAX, &a.address)) return false;
  if (m->nmemory && a.address <= m->memory[m->nmemory - 1].address) return bad(r, "addresses have to ascend");
  a.before = word(r);
  if (!a.before) return bad(r, "expected a file, or an array such as iota:u32[64]");
  const char *w = word(r);
  if (w && !strcmp(w, "becomes")) {
    if (!(a.after = word(r))) return bad(r, "expected a file, or an array such as iota:u32[64]");
    w = word(r);
  }
  if (w && !strcmp(w, "of")) {
    if (!one_word(r, &a.variable)) return false;
    w = NULL;
  }
  if (w) return bad(r, "expected 'becomes DATA' or 'of VARIABLE'");
  m->memory = cli_realloc(m->memory, (m->nmemory + 1) * sizeof *m->memory);
  m->memory[m->nmemory++] = a;
  return true;
}

#define KINDS_OF_ARG "expected in, inout, const, out, scratch, same, tex, surf, sampler, bytes or a type"

static bool argument(struct reader *r) {
  struct manifest *m = r->m;
  if (m->nargs == MANIFEST_ARGS) return bad(r, "too many arguments");
  struct marg *a = &m->args[m->nargs++];
  *a = (struct marg){.line = r->line};
  stage(m)->nargs++;
  char *kind = word(r);
  if (!kind) return bad(r, KINDS_OF_ARG);
  if (!strcmp(kind, "in") || !strcmp(kind, "inout") || !strcmp(kind, "const")) {
    a->kind = *kind == 'c' ? MARG_CONST : kind[2] ? MARG_INOUT : MARG_IN;
    a->text = word(r);
    return a->text ? named(r, a) : bad(r, "expected a file, or an array such as iota:u32[64]");
  }
  if (!strcmp(kind, "same")) return same(r, a);
  if (!strcmp(kind, "tex")) return texture(r, a, MARG_TEX);
  if (!strcmp(kind, "sampler")) return texture(r, a, MARG_SAMPLER);
  if (!strcmp(kind, "surf")) return surface(r, a);
  if (!strcmp(kind, "out") || !strcmp(kind, "scratch")) {
    a->kind = kind[0] == 'o' ? MARG_OUT : MARG_SCRATCH;
    return number(r, DATA_LIMIT, &a->bytes) && named(r, a);
  }
  if (!strcmp(kind, "bytes")) {
    char *s = word(r);
    size_t n = s ? strlen(s) : 0;
    if (n % 2) return bad(r, "an odd number of hexadecimal digits");
    a->kind = MARG_BYTES;
    a->bytes = n / 2;
    a->raw = cli_alloc(n / 2 + 1);
    for (size_t k = 0; k < n; k += 2) {
      uint64_t v;
      if (!cli_number((char[]){'0', 'x', s[k], s[k + 1], 0}, 255, &v)) return bad(r, "expected hexadecimal digits");
      a->raw[k / 2] = (unsigned char)v;
    }
    return true;
  }
  a->kind = MARG_SCALAR;
  a->type = elem_find(kind, strlen(kind));
  if (!a->type) return unknown(r, "arg", KINDS_OF_ARG);
  char *s = word(r);
  const char *why = NULL;
  if (!s) return bad(r, "expected a value");
  if (a->type->kind == ELEM_FLOAT) return hex_bits(a, s) ? true : bad(r, "expected the float's bits in hexadecimal");
  unsigned char bits[8] = {0};
  if (!elem_parse(a->type, bits, s, &why)) return bad(r, why);
  memcpy(&a->bytes, bits, sizeof bits);
  return true;
}

static bool expectation(struct reader *r) {
  struct manifest *m = r->m;
  if (m->nexpects == MANIFEST_ARGS) return bad(r, "too many expectations");
  struct mexpect *e = &m->expects[m->nexpects++];
  *e = (struct mexpect){.ulp = -1, .line = r->line};
  e->text = word(r);
  if (!e->text) return bad(r, "expected a file, or an array such as iota:u32[64]");
  char *how = word(r);
  if (!how || !strcmp(how, "exact")) return true;
  if (strcmp(how, "approx")) return bad(r, "expected exact or approx");
  char *type = word(r), *ulp = word(r);
  uint64_t v;
  e->type = type ? elem_find(type, strlen(type)) : NULL;
  if (!e->type || e->type->kind != ELEM_FLOAT) return bad(r, "expected f16, bf16, f32 or f64");
  if (!ulp || strncmp(ulp, "ULP=", 4) || !cli_number(ulp + 4, INT64_MAX, &v)) return bad(r, "expected ULP=N");
  e->ulp = (int64_t)v;
  return true;
}

static bool diagnostic(struct reader *r) {
  struct manifest *m = r->m;
  if (m->ndiags == sizeof m->diags / sizeof *m->diags) return bad(r, "too many diagnostics");
  struct mdiag *d = &m->diags[m->ndiags++];
  *d = (struct mdiag){.line = r->line};
  if (!one_word(r, &d->id)) return false;
  char *at = word(r), *col = at ? strchr(at, ':') : NULL;
  uint64_t v = 0;
  if (col) *col++ = 0;
  if (at && !cli_number(at, UINT32_MAX, &v)) return bad(r, "expected LINE or LINE:COL");
  d->at_line = (uint32_t)v;
  if (col && !cli_number(col, UINT32_MAX, &v)) return bad(r, "expected LINE:COL");
  d->at_col = col ? (uint32_t)v : 0;
  return true;
}

/* Items that may stand once, or once for each launch, have a bit in `seen`. */
static bool item(struct reader *r, const char *key) {
  static const char *const keys[] = {"name",    "ptx",         "poison",  "stack",  "stdout", "threads", "steps",
                                     "timeout", "trap",        "refused", "kernel", "grid",   "block",   "shared",
                                     "cluster", "cooperative", "needs",   "limit",  "image",  "arg",     "then",
                                     "expect",  "diagnostic",  "finding", "memory"};
  enum {
    NAME,
    PTX,
    POISON,
    STACK,
    STDOUT,
    THREADS,
    STEPS,
    TIMEOUT,
    TRAP,
    REFUSED,
    KERNEL,
    GRID,
    BLOCK,
    SHARED,
    CLUSTER,
    COOPERATIVE,
    NEEDS,
    LIMIT,
    IMAGE,
    ARG,
    THEN,
    EXPECT,
    DIAGNOSTIC,
    FINDING,
    MEMORY,
    NONE
  };
  struct manifest *m = r->m;
  unsigned k = NAME;
  uint64_t v = 0;
  while (k < NONE && strcmp(keys[k], key)) k++;
  if (k == NONE && !strcmp(key, "program")) k = PTX;
  if (k == NONE) return unknown(r, key, "unknown item");
  if (k < NEEDS && r->seen >> k & 1) return bad(r, "this item is there twice");
  r->seen |= (uint64_t)1 << k;
  switch (k) {
  case NAME: return one_word(r, &m->name);
  case PTX: return one_word(r, &m->file);
  case KERNEL: return one_word(r, &stage(m)->kernel);
  case GRID: return three(r, stage(m)->grid);
  case BLOCK: return three(r, stage(m)->block);
  case CLUSTER: return three(r, stage(m)->cluster);
  case SHARED: return number(r, UINT32_MAX, &v) ? stage(m)->shared = (uint32_t)v, true : false;
  case POISON: return number(r, 255, &v) ? m->poison = (uint8_t)v, true : false;
  case STACK: return number(r, (uint64_t)1 << 32, &m->stack);
  case COOPERATIVE: return stage(m)->cooperative = true;
  case STDOUT: return one_word(r, &m->stdout_file);
  case THREADS:
    return number(r, 1024, &v) && (v || bad(r, "expected a number from 1")) ? m->threads = (uint32_t)v, true : false;
  case STEPS: return number(r, UINT64_MAX, &m->steps);
  case TIMEOUT: {
    char *s = word(r);
    return s && cli_real(s, &m->timeout) && m->timeout > 0 ? true : bad(r, "expected seconds");
  }
  case TRAP:
    if (!one_word(r, &m->trap)) return false;
    m->trap_text = rest(r);
    return true;
  case REFUSED: m->refused = rest(r); return m->refused ? true : bad(r, "expected words of the refusal");
  case NEEDS:
    for (char *s; (s = word(r));) {
      if (m->nneeds == sizeof m->needs / sizeof *m->needs) return bad(r, "too many groups");
      m->needs[m->nneeds++] = s;
    }
    return m->nneeds ? true : bad(r, "expected names of groups");
  case FINDING:
    if (m->nfindings == sizeof m->findings / sizeof *m->findings) return bad(r, "too many findings");
    return one_word(r, &m->findings[m->nfindings++]);
  case LIMIT:
    if (m->nlimits == sizeof m->limits / sizeof *m->limits) return bad(r, "too many limits");
    return one_word(r, &m->limits[m->nlimits++]);
  case IMAGE: return image(r);
  case MEMORY: return memory(r);
  case ARG: return argument(r);
  case THEN: r->seen &= ((uint64_t)1 << KERNEL) - 1; return next_stage(r);
  case EXPECT: return expectation(r);
  default: return diagnostic(r);
  }
}

bool manifest_parse(struct manifest *m, char **text, char *end, unsigned *line, char **why) {
  *m = (struct manifest){0};
  struct reader r = {.m = m};
  next_stage(&r);
  while (*text < end && !r.error) {
    char *s = *text, *nl = memchr(s, '\n', (size_t)(end - s));
    *text = nl ? nl + 1 : end;
    if (nl) *nl = 0; /* the last line of all ends with the NUL behind the file */
    r.line = ++*line;
    size_t n = strlen(s);
    if (s + n < (nl ? nl : end)) {
      bad(&r, "a NUL byte");
      break;
    }
    if (n && s[n - 1] == '\r') s[--n] = 0;
    if (!strcmp(s, "---")) break;
    r.at = s;
    char *key = word(&r);
    if (!key) continue;
    if (!strcmp(key, "text")) { /* the program itself, up to a line `end` */
      if (m->inline_text) bad(&r, "this item is there twice");
      m->inline_text = *text;
      m->inline_line = *line + 1;
      for (;;) {
        char *from = *text;
        if (from >= end) {
          bad(&r, "no line 'end' behind it");
          break;
        }
        nl = memchr(from, '\n', (size_t)(end - from));
        *text = nl ? nl + 1 : end;
        ++*line;
        n = (size_t)((nl ? nl : end) - from);
        if (n && from[n - 1] == '\r') n--;
        if (n == 3 && !memcmp(from, "end", 3)) {
          m->inline_size = (size_t)(from - m->inline_text);
          break;
        }
      }
      continue;
    }
    if (item(&r, key)) {
      char *more = word(&r);
      if (more) bad(&r, "something follows that does not belong there");
    }
    if (r.error) r.text = key;
  }
  while (r.error && *text < end) { /* its other lines are no manifest of their own */
    char *s = *text, *nl = memchr(s, '\n', (size_t)(end - s));
    *text = nl ? nl + 1 : end;
    ++*line;
    if ((nl ? nl : end) - s == 3 && !memcmp(s, "---", 3)) break;
  }
  if (!r.error) {
    bool wrong = m->ndiags || m->refused;
    if (!m->file && !m->inline_text) r.error = "no program: expected 'ptx FILE', or 'text' and the program";
    else if (m->file && m->inline_text) r.error = "both a file and a text";
    else if (m->nexpects && (m->trap || wrong)) r.error = "expectations of memory beside a trap or a refusal";
    for (unsigned k = 0; k < m->nmemory && (m->trap || wrong); k++)
      if (m->memory[k].after) r.error = "expectations of memory beside a trap or a refusal";
  }
  if (!r.error && (!m->unknown || m->nneeds)) return true;
  if (m->unknown) return *why = m->unknown, m->unknown = NULL, false;
  *why = r.text ? format("line %u: %s: %s", r.line, r.text, r.error) : format("line %u: %s", r.line, r.error);
  return false;
}

void manifest_free(struct manifest *m) {
  for (unsigned k = 0; k < m->nargs; k++) free(m->args[k].raw);
  free(m->memory);
  free(m->unknown);
}

/* Spelling patterns of the table matched against mnemonics. Separate because it is all the assembler knows about the
 * table's pattern language (struct mx_op_info); knows no operand. */
#include "select.h"
#include "core/intrinsics.h"
#include "symbols.h"

#include <string.h>

enum { BUCKETS = 1024, EXPECTED = 96, MOST_SHOWN = 24 };

struct base {
  const char *text;
  uint32_t len;
  uint16_t *rows;
  uint32_t nrows, cap;
  bool visible;
  struct base *chain;
};
struct cached {
  const char *mnemonic;
  bool hidden;
  struct row_match *rows;
  uint32_t nrows, other_lanes;
  struct cached *chain;
};
struct select {
  struct mx_arena *arena;
  uint32_t lanes;
  bool has_intrinsics; /* their names are added when a mnemonic is no opcode's: most texts have none */
  struct base *bases[BUCKETS];
  struct cached *cache[BUCKETS];
};

static uint32_t hash(const char *s, size_t n) {
  uint32_t h = 2166136261u;
  while (n--) h = (h ^ (unsigned char)*s++) * 16777619u;
  return (h ^ h >> 13) % BUCKETS;
}

/* Rows are numbered through: opcodes, then intrinsics. */
static const struct mx_op_info *row_of(unsigned number) {
  return number < MX_OP_COUNT ? &mx__ops[number] : &mx__intrinsics[number - MX_OP_COUNT].row;
}

static void add_base(struct select *s, const char *text, size_t len, uint16_t op) {
  struct base *b = s->bases[hash(text, len)];
  while (b && (b->len != len || memcmp(b->text, text, len))) b = b->chain;
  if (!b) {
    b = mx__arena_alloc(s->arena, sizeof *b);
    b->text = mx__arena_strndup(s->arena, text, len);
    b->len = (uint32_t)len;
    b->chain = s->bases[hash(text, len)];
    s->bases[hash(text, len)] = b;
  }
  if (b->nrows && b->rows[b->nrows - 1] == op) return;
  if (b->nrows == b->cap) {
    uint32_t cap = b->cap ? b->cap * 2 : 8;
    b->rows = mx__arena_grow(s->arena, b->rows, b->nrows * sizeof *b->rows, cap * sizeof *b->rows);
    b->cap = cap;
  }
  b->rows[b->nrows++] = op;
  if (!(row_of(op)->flags & MX_F_HIDDEN)) b->visible = true;
}

/* A spelling begins with literal text or with one group whose alternatives do, and then literal text may go on. */
static void add_rows(struct select *s, unsigned from, unsigned to) {
  for (unsigned k = from; k < to; k++) {
    const uint16_t op = (uint16_t)k;
    const char *p = row_of(k)->spelling;
    if (*p == '<' || *p == '{') {
      const char *tail = strpbrk(p, ">}") + 1;
      const int more = (int)strcspn(tail, ".{<[");
      while (*p != '>' && *p != '}') {
        p++;
        size_t whole = strcspn(p, "|=>}"), n = strcspn(p, ".|=>}");
        const char *text = n == whole && more ? mx__arena_printf(s->arena, "%.*s%.*s", (int)n, p, more, tail) : p;
        add_base(s, text, n == whole ? n + (size_t)more : n, op);
        p += whole;
      }
    } else {
      add_base(s, p, strcspn(p, ".{<["), op);
    }
  }
}

struct select *mx__select_new(struct mx_arena *arena, uint32_t lanes) {
  struct select *s = mx__arena_alloc(arena, sizeof *s);
  s->arena = arena;
  s->lanes = lanes;
  add_rows(s, 0, MX_OP_COUNT);
  return s;
}

static void add_intrinsics(struct select *s) {
  if (!s->has_intrinsics) add_rows(s, MX_OP_COUNT, MX_OP_COUNT + mx__intrinsic_count);
  s->has_intrinsics = true;
}

/* Names of intrinsics go on behind '_': __vimax_s32 begins like vimax.s32. */
static struct base *find_base(struct select *s, const char *mnemonic) {
  size_t len = strcspn(mnemonic, ".");
  for (;;) {
    struct base *b = s->bases[hash(mnemonic, len)];
    while (b && (b->len != len || memcmp(b->text, mnemonic, len))) b = b->chain;
    if (b || strncmp(mnemonic, "__", 2)) return b;
    do len--;
    while (len > 2 && mnemonic[len] != '_');
    if (len <= 2) return NULL;
  }
}

/* ---- one pattern against one mnemonic ------------------------------------------------------------------*/
struct matcher {
  unsigned mod;
  /* how far any row came, and what it expected there: for messages; NULL when nobody asks */
  const char *furthest;
  struct {
    const char *text;
    size_t len;
    bool optional;
  } expected[EXPECTED];
  unsigned nexpected;
  bool tracing, optional; /* optional: in a group that means nothing */
};

static void expected_here(struct matcher *m, const char *at, const char *text, size_t len) {
  if (!m->tracing || at < m->furthest || (*at && *at != '.')) return;
  if (at > m->furthest) m->nexpected = 0;
  m->furthest = at;
  for (unsigned k = 0; k < m->nexpected; k++)
    if (m->expected[k].len == len && !memcmp(m->expected[k].text, text, len)) return;
  if (m->nexpected < EXPECTED) {
    m->expected[m->nexpected].text = text;
    m->expected[m->nexpected].optional = m->optional;
    m->expected[m->nexpected++].len = len;
  }
}

/* Characters of the mnemonic that this literal text takes; -1: it does not stand there. */
static long take(struct matcher *m, const char *t, const char *lit, size_t len) {
  size_t k = 0, dot = 0;
  for (; k < len && t[k] == lit[k]; k++)
    if (lit[k] == '.') dot = k;
  if (k == len) return (long)len;
  if (m->tracing) {
    if (k < len && lit[k] == '.') dot = k;
    size_t n = 1;
    while (dot + n < len && lit[dot + n] != '.') n++;
    expected_here(m, t + dot, lit + dot, n);
  }
  return -1;
}

/* Whether a mnemonic may match this spelling, by its end alone, where most rows of one base differ: a tenth of the time
 * of trying them all. */
static bool ends_alike(const char *p, const char *t, size_t length) {
  const char *end = p + strlen(p), *from = end;
  if (from > p && end[-1] == ']') return true;
  const bool group = from > p && (end[-1] == '}' || end[-1] == '>');
  if (group) from--;
  while (from > p && !strchr(group ? "{<" : "]}>", from[-1])) from--;
  for (;; from++) { /* from: literal text, or one of the group's alternatives */
    const size_t n = strcspn(from, group ? "|=>}" : "");
    if (n <= length && !memcmp(t + length - n, from, n)) return true;
    from += n;
    if (*from != '|' && *from != '=') return false;
  }
}

static bool match(struct matcher *m, const char *p, const char *t, unsigned mod, unsigned unit) {
  while (*p && *p != '{' && *p != '<' && *p != '[') {
    size_t n = strcspn(p, "{<[");
    long k = take(m, t, p, n);
    if (k < 0) return false;
    p += n;
    t += k;
  }
  if (!*p) {
    if (*t) expected_here(m, t, "", 0);
    else m->mod = mod;
    return !*t;
  }
  char open = *p++;
  const char *end = strchr(p, open == '{' ? '}' : open == '<' ? '>' : ']');
  if (!end) return false;
  unsigned count = 1, digit = 0;
  for (const char *q = p; q < end; q++) count += *q == '|';
  if (open == '[' && match(m, end + 1, t, mod, unit)) return true;
  for (const char *q = p;; q++) {
    size_t n = 0;
    while (q + n < end && q[n] != '|' && q[n] != '=') n++;
    m->optional = open == '[';
    long k = take(m, t, q, n);
    m->optional = false;
    if (k >= 0 && (open != '[' || n) &&
        match(m, end + 1, t + k, open == '{' ? mod + digit * unit : mod, open == '{' ? unit * count : unit))
      return true;
    q += n;
    if (q >= end) return false;
    if (*q == '|') digit++;
  }
}

/* ---- suffixes in any order -----------------------------------------------------------------------------
 * PTX is written with its suffixes in many orders, and other assemblers take them all: `ld.global.acquire.gpu.b32`,
 * `atom.release.gpu.add.u32`, `cvt.f32.rn.f64`, `cvt.ftz.rn.f32.s32`, `setp.and.lt.s32`, `match.sync.any.b32`. Types,
 * spaces and layouts mean different things at different places, so these keep their order among themselves. */
struct suffixes {
  const char *at[13]; /* the dot; first the base, which has none */
  uint8_t len[13];
  unsigned n, used; /* a bit for each that is taken */
};

static bool cut(struct suffixes *x, const char *mnemonic) {
  enum { MOST = sizeof x->len };
  *x = (struct suffixes){0};
  for (const char *p = mnemonic; *p; p += x->len[x->n++]) {
    const size_t n = 1 + strcspn(p + 1, ".");
    if (x->n == MOST || n > UINT8_MAX) return false;
    x->at[x->n] = p;
    x->len[x->n] = (uint8_t)n;
  }
  return x->n > 2;
}

/* Suffixes of one kind keep their order. One that is part of the name (NAME) comes directly after the base, or after
 * types. */
enum kind { FREE, NAME, SPACE, LAYOUT, TYPE };
static enum kind kind_of(const char *suffix, size_t len) {
  static const struct {
    enum kind kind;
    const char *words;
  } kinds[] = {{NAME, ".lo .hi .wide .l .r .red .arrive .async .bulk .proxy .to "},
               {SPACE, ".global .shared .shared::cta .shared::cluster .local .const .param "},
               {LAYOUT, ".row .col "}};
  char word[32];
  if (*suffix != '.') return NAME;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds && len < sizeof word - 1; k++) {
    memcpy(word, suffix, len);
    strcpy(word + len, " ");
    if (strstr(kinds[k].words, word)) return kinds[k].kind;
  }
  return strchr("bsufte", suffix[1]) && suffix[len - 1] >= '0' && suffix[len - 1] <= '9' ? TYPE : FREE;
}

/* Takes each suffix of a piece of a spelling, wherever it stands. */
static bool take_anywhere(struct suffixes *x, const char *lit, size_t len) {
  while (len) {
    size_t n = 1;
    while (n < len && lit[n] != '.') n++;
    unsigned k = 0;
    while (k < x->n && (x->used >> k & 1 || x->len[k] != n || memcmp(x->at[k], lit, n))) k++;
    if (k == x->n) return false;
    const enum kind kind = kind_of(lit, n);
    for (unsigned before = 0; kind && before < k; before++) {
      if (x->used >> before & 1) continue;
      const enum kind other = kind_of(x->at[before], x->len[before]);
      if (kind == other || (kind == NAME && other != TYPE)) return false;
    }
    x->used |= 1u << k;
    lit += n;
    len -= n;
  }
  return true;
}

/* As match; the alternatives of groups are whole suffixes. */
static bool match_anywhere(struct matcher *m, const char *p, struct suffixes *x, unsigned mod, unsigned unit) {
  const unsigned before = x->used;
  const size_t plain = strcspn(p, "{<[");
  if (!take_anywhere(x, p, plain)) return x->used = before, false;
  p += plain;
  if (!*p) {
    m->mod = mod;
    return x->used == (1u << x->n) - 1 || (x->used = before, false);
  }
  const char open = *p++, *end = strchr(p, open == '{' ? '}' : open == '<' ? '>' : ']');
  unsigned count = 1, digit = 0;
  if (!end) return false;
  for (const char *q = p; q < end; q++) count += *q == '|';
  const unsigned here = x->used;
  if (open == '[' && match_anywhere(m, end + 1, x, mod, unit)) return true;
  for (const char *q = p;; q++) {
    size_t n = 0;
    while (q + n < end && q[n] != '|' && q[n] != '=') n++;
    x->used = here;
    if (take_anywhere(x, q, n) && (open != '[' || n) &&
        match_anywhere(m, end + 1, x, open == '{' ? mod + digit * unit : mod, open == '{' ? unit * count : unit))
      return true;
    q += n;
    if (q >= end) break;
    if (*q == '|') digit++;
  }
  x->used = before;
  return false;
}

/* Whether each suffix stands somewhere in a spelling: most spellings that do not match fail here, before all ways to
 * choose among its groups are tried. */
static bool may_match_anywhere(const char *spelling, const struct suffixes *x) {
  const size_t length = strlen(spelling);
  for (unsigned k = 0; k < x->n; k++)
    if (!memmem(spelling, length, x->at[k], x->len[k])) return false;
  return true;
}

static void find_rows(struct select *s, struct cached *c, const char *mnemonic, struct suffixes *anywhere);

static struct cached *lookup(struct select *s, const char *mnemonic, bool hidden) {
  uint32_t h = hash(mnemonic, strlen(mnemonic));
  for (struct cached *c = s->cache[h]; c; c = c->chain)
    if (c->hidden == hidden && !strcmp(c->mnemonic, mnemonic)) return c;
  struct cached *c = mx__arena_alloc(s->arena, sizeof *c);
  c->mnemonic = mx__arena_strndup(s->arena, mnemonic, strlen(mnemonic));
  c->hidden = hidden;
  c->chain = s->cache[h];
  s->cache[h] = c;
  struct suffixes suffixes;
  find_rows(s, c, mnemonic, NULL);
  if (!c->nrows && !c->other_lanes && cut(&suffixes, mnemonic)) find_rows(s, c, mnemonic, &suffixes);
  if (!c->nrows && !c->other_lanes && !hidden && !s->has_intrinsics) {
    add_intrinsics(s);
    find_rows(s, c, mnemonic, NULL);
  }
  return c;
}

/* anywhere NULL: the suffixes in the table's order. */
static void find_rows(struct select *s, struct cached *c, const char *mnemonic, struct suffixes *anywhere) {
  struct base *b = find_base(s, mnemonic);
  const size_t length = strlen(mnemonic);
  uint32_t cap = 0;
  for (uint32_t k = 0; b && k < b->nrows; k++) {
    const struct mx_op_info *row = row_of(b->rows[k]);
    const bool intrinsic = b->rows[k] >= MX_OP_COUNT;
    struct matcher m = {0};
    if (intrinsic && !*row->meaning) continue;                                        /* says more about an opcode */
    if (intrinsic && (c->hidden || (c->nrows && c->rows[0].op < MX_OP_COUNT))) break; /* opcodes come first */
    if (row->flags & MX_F_HIDDEN && !c->hidden) continue;
    if (anywhere) anywhere->used = 0;
    if (anywhere ? intrinsic || !may_match_anywhere(row->spelling, anywhere) ||
                       !match_anywhere(&m, row->spelling, anywhere, 0, 1)
                 : !ends_alike(row->spelling, mnemonic, length) || !match(&m, row->spelling, mnemonic, 0, 1))
      continue;
    if (row->flags & (s->lanes == 32 ? MX_F_W64 : MX_F_W32)) {
      c->other_lanes++;
      continue;
    }
    if (c->nrows == cap) {
      uint32_t more = cap ? cap * 2 : 4;
      c->rows = mx__arena_grow(s->arena, c->rows, c->nrows * sizeof *c->rows, more * sizeof *c->rows);
      cap = more;
    }
    c->rows[c->nrows++] = (struct row_match){row, intrinsic ? MX_OP_COUNT : b->rows[k], (uint8_t)m.mod};
  }
}

uint32_t mx__select_rows(struct select *s, const char *mnemonic, bool hidden, const struct row_match **rows) {
  struct cached *c = lookup(s, mnemonic, hidden);
  *rows = c->rows;
  return c->nrows;
}

/* ---- messages ------------------------------------------------------------------------------------------*/
static const char *join_expected(struct select *s, const struct matcher *m) {
  const char *text = "";
  unsigned shown = 0;
  for (unsigned k = 0; k < m->nexpected; k++) {
    if (!m->expected[k].len || (m->expected[k].optional && m->nexpected > MOST_SHOWN)) continue;
    text =
        mx__arena_printf(s->arena, "%s%s%.*s", text, shown++ ? ", " : "", (int)m->expected[k].len, m->expected[k].text);
  }
  return text;
}

static bool exists(struct select *s, const char *mnemonic) { return lookup(s, mnemonic, false)->nrows > 0; }

/* The end of a suffix from its width on: "32" of ".u32", "" where there is none. */
static const char *width_of(const char *suffix, size_t len, size_t *n) {
  size_t k = len;
  while (k && suffix[k - 1] >= '0' && suffix[k - 1] <= '9') k--;
  return *n = len - k, suffix + k;
}

/* The same suffixes in another order, two of them exchanged: ld.global.f32 for ld.f32.global. NULL: that does not help.
 */
static const char *exchanged(struct select *s, const char *mnemonic) {
  enum { MOST = 8 };
  const char *suffix[MOST];
  int length[MOST];
  unsigned n = 0;
  for (const char *dot = strchr(mnemonic, '.'); dot && n < MOST; dot = strchr(dot + 1, '.')) {
    suffix[n] = dot;
    length[n++] = (int)(1 + strcspn(dot + 1, "."));
  }
  for (unsigned i = 0; i < n; i++)
    for (unsigned j = i + 1; j < n; j++) {
      const char *other = mx__arena_strndup(s->arena, mnemonic, (size_t)(suffix[0] - mnemonic));
      for (unsigned k = 0; k < n; k++) {
        const unsigned from = k == i ? j : k == j ? i : k;
        other = mx__arena_printf(s->arena, "%s%.*s", other, length[from], suffix[from]);
      }
      if (exists(s, other)) return other;
    }
  return NULL;
}

/* What may stand behind the first `before` characters of the mnemonic; false: they are wrong already. */
static bool expected_behind(struct select *s, const struct base *b, const char *mnemonic, int before,
                            struct matcher *m) {
  const char *prefix = mx__arena_strndup(s->arena, mnemonic, (size_t)before);
  *m = (struct matcher){.tracing = true, .furthest = prefix};
  for (uint32_t k = 0; k < b->nrows; k++)
    if (!(row_of(b->rows[k])->flags & MX_F_HIDDEN)) match(m, row_of(b->rows[k])->spelling, prefix, 0, 1);
  return !*m->furthest;
}

/* The mnemonic with one suffix more: mul.lo.u32 for mul.u32. NULL: that does not help. */
static const char *with_one_more(struct select *s, const struct base *b, const char *mnemonic) {
  struct matcher m;
  for (const char *dot = strchr(mnemonic, '.'); dot; dot = strchr(dot + 1, '.')) {
    const int before = (int)(dot - mnemonic);
    if (!expected_behind(s, b, mnemonic, before, &m)) return NULL;
    for (unsigned k = 0; k < m.nexpected; k++) {
      const char *more =
          mx__arena_printf(s->arena, "%.*s%.*s%s", before, mnemonic, (int)m.expected[k].len, m.expected[k].text, dot);
      if (m.expected[k].len && exists(s, more)) return more;
    }
  }
  return NULL;
}

const char *mx__suffix_meant(const char *suffix, size_t len) {
  static const char *const same[][2] = {
      {".i8", ".s8"},      {".i16", ".s16"},    {".i32", ".s32"},     {".i64", ".s64"},     {".int8", ".s8"},
      {".int16", ".s16"},  {".int32", ".s32"},  {".int64", ".s64"},   {".int", ".s32"},     {".long", ".s64"},
      {".uint8", ".u8"},   {".uint16", ".u16"}, {".uint32", ".u32"},  {".uint64", ".u64"},  {".uint", ".u32"},
      {".f", ".f32"},      {".float", ".f32"},  {".float16", ".f16"}, {".float32", ".f32"}, {".float64", ".f64"},
      {".double", ".f64"}, {".half", ".f16"},   {".bool", ".pred"},   {".xor", ".bfly"},    {".less", ".lt"},
      {".greater", ".gt"}, {".equal", ".eq"},   {".lte", ".le"},      {".gte", ".ge"},      {".neq", ".ne"}};
  for (size_t k = 0; k < sizeof same / sizeof *same; k++)
    if (strlen(same[k][0]) == len && !memcmp(same[k][0], suffix, len)) return same[k][1];
  return NULL;
}

/* What was probably meant: one suffix more, or another one in the place of one that is misspelt (ld.gobal), another
 * language's (add.i32), or a type of the same width (shl.u32), perhaps with one more besides; or another order. NULL:
 * no idea. */
static const char *meant(struct select *s, const struct base *b, const char *mnemonic) {
  const char *more = with_one_more(s, b, mnemonic);
  if (more) return more;
  struct matcher m;
  for (const char *dot = strchr(mnemonic, '.'); dot; dot = strchr(dot + 1, '.')) {
    const int before = (int)(dot - mnemonic);
    const size_t found = 1 + strcspn(dot + 1, ".");
    if (!expected_behind(s, b, mnemonic, before, &m)) break; /* wrong before this suffix */
    struct nearest near = {mx__arena_strndup(s->arena, dot, found), NULL, 0};
    const char *others = mx__suffix_meant(dot, found), *by_width = NULL, *replaced;
    for (unsigned k = 0; k < m.nexpected; k++) {
      if (!m.expected[k].len) continue;
      const char *alternative = mx__arena_strndup(s->arena, m.expected[k].text, m.expected[k].len);
      size_t n, width;
      const char *digits = width_of(dot, found, &n), *other = width_of(alternative, m.expected[k].len, &width);
      replaced = mx__arena_printf(s->arena, "%.*s%s%s", before, mnemonic, alternative, dot + found);
      if (!by_width && n && n == width && !memcmp(digits, other, n) && exists(s, replaced)) by_width = replaced;
      if (exists(s, replaced) || with_one_more(s, b, replaced)) mx__nearest(&near, alternative);
    }
    if (others) near.best = others;
    else if (by_width && (near.distance || !near.best)) return by_width;
    if (!near.best) continue;
    replaced = mx__arena_printf(s->arena, "%.*s%s%s", before, mnemonic, near.best, dot + found);
    if (exists(s, replaced) || (replaced = with_one_more(s, b, replaced))) return replaced;
  }
  return exchanged(s, mnemonic);
}

/* Names that other assemblers and languages have for instructions. */
static const char *instruction_meant(const char *word) {
  static const char *const same[][2] = {{"jmp", "bra"},         {"jump", "bra"},         {"goto", "bra"},
                                        {"branch", "bra"},      {"br", "bra"},           {"load", "ld"},
                                        {"store", "st"},        {"move", "mov"},         {"cmp", "setp"},
                                        {"sel", "selp"},        {"select", "selp"},      {"fadd", "add.f32"},
                                        {"fsub", "sub.f32"},    {"fmul", "mul.f32"},     {"fdiv", "div.rn.f32"},
                                        {"ffma", "fma.rn.f32"}, {"iadd", "add.s32"},     {"isub", "sub.s32"},
                                        {"imul", "mul.lo.s32"}, {"imad", "mad.lo.s32"},  {"idiv", "div.s32"},
                                        {"mod", "rem"},         {"inc", "add"},          {"dec", "sub"},
                                        {"return", "ret"},      {"halt", "exit"},        {"end", "exit"},
                                        {"sync", "bar.sync"},   {"barsync", "bar.sync"}, {"syncthreads", "bar.sync"},
                                        {"shuffle", "shfl"},    {"atomic", "atom"},      {"fetch", "ld"},
                                        {"if", "setp"},         {"print", "printf"}};
  for (size_t k = 0; k < sizeof same / sizeof *same; k++)
    if (!strcmp(same[k][0], word)) return same[k][1];
  return NULL;
}

void mx__select_report(struct select *s, struct mx_diags *diags, const char *mnemonic, struct ir_loc loc) {
  struct cached *c = lookup(s, mnemonic, false);
  struct base *b = find_base(s, mnemonic);
  if (c->other_lanes) {
    mx__diag(diags, MX_DIAG_ERROR, "wrong-lanes", loc,
             s->lanes == 32 ? "without .target, or with .target mx64, warps have 64 lanes"
                            : ".target sm_90 makes warps of 32 lanes",
             "%s is for warps of %d lanes", mnemonic, s->lanes == 32 ? 64 : 32);
    return;
  }
  size_t len = strcspn(mnemonic, ".");
  if (!b || !b->visible) {
    char *word = mx__arena_strndup(s->arena, mnemonic, len);
    struct nearest n = {word, instruction_meant(word), 0};
    for (int k = 0; k < BUCKETS && !(n.best && !n.distance) && diags->errors < MX_DIAG_HINTS; k++)
      for (struct base *o = s->bases[k]; o; o = o->chain)
        if (o->visible) mx__nearest(&n, o->text);
    mx__diag(diags, MX_DIAG_ERROR, "unknown-mnemonic", loc,
             n.best ? mx__arena_printf(s->arena, "did you mean '%s'?", n.best) : NULL, "unknown instruction '%s'",
             word);
    return;
  }
  struct matcher m = {.tracing = true, .furthest = mnemonic};
  for (uint32_t k = 0; k < b->nrows && diags->errors < 10 * MX_DIAG_HINTS; k++)
    if (!(row_of(b->rows[k])->flags & MX_F_HIDDEN)) match(&m, row_of(b->rows[k])->spelling, mnemonic, 0, 1);
  int before = (int)(m.furthest - mnemonic), found = (int)(*m.furthest ? 1 + strcspn(m.furthest + 1, ".") : 0);
  const char *list = join_expected(s, &m), *hint = NULL;
  const char *probably = diags->errors < MX_DIAG_HINTS ? meant(s, b, mnemonic) : NULL;
  if (probably) hint = mx__arena_printf(s->arena, "did you mean %s?", probably);
  else if (*list) hint = mx__arena_printf(s->arena, "after %.*s can stand: %s", before, mnemonic, list);
  if (found)
    mx__diag(diags, MX_DIAG_ERROR, "bad-suffix", loc, hint, "%s: '%.*s' does not combine with '%.*s'", mnemonic, found,
             m.furthest, before, mnemonic);
  else mx__diag(diags, MX_DIAG_ERROR, "missing-suffix", loc, hint, "%s: a suffix is missing", mnemonic);
}

bool mx__base_is(const char *mnemonic, const char *base) {
  size_t n = strlen(base);
  return !strncmp(mnemonic, base, n) && (!mnemonic[n] || mnemonic[n] == '.');
}

const char *mx__refused_group(const char *mnemonic) {
  static const struct {
    const char *prefix, *group;
  } refused[] = {
      {"st.bulk", "bulk stores are"},
      {"cp.async.bulk.tensor", "tensor maps are"},
      {"cp.async.bulk.prefetch.tensor", "tensor maps are"},
      {"cp.reduce.async.bulk.tensor", "tensor maps are"},
      {"wgmma", "warpgroup matrix instructions are"},
      {"tcgen05", "tensor memory instructions are"},
      {"tensormap", "tensor maps are"},
      {"prefetch.tensormap", "tensor maps are"},
      {"fence.proxy.tensormap::generic", "tensor maps are"},
      {"fence.proxy.async::generic", "one-sided proxy fences are"},
      {"multimem", "multicast addresses are"},
      {"clusterlaunchcontrol", "cluster launch control is"},
  };
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
    if (mx__base_is(mnemonic, refused[k].prefix)) return refused[k].group;
  return NULL;
}

/* The directives that change where tokens come from (tokens.c), or what a name stands for: .include, .macro, .equ.
 * Knows no statement but these.
 *
 * A macro is text: `\name` stands for an argument, `\@` for a number that differs in each expansion, `\()` for nothing
 * (it ends a name). An expansion has the lines of the macro's body, so that messages point there. */
#include "parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- .include ----------------------------------------------------------------------------------------*/
static char *read_file(struct front *f, const char *path, size_t *size) {
  struct stat st;
  FILE *in = fopen(path, "rb");
  if (!in) return NULL;
  char *bytes = NULL;
  if (!fstat(fileno(in), &st) && S_ISREG(st.st_mode) && st.st_size < (off_t)64 << 20) {
    bytes = mx__arena_alloc(f->arena, (size_t)st.st_size + 1);
    *size = fread(bytes, 1, (size_t)st.st_size, in);
    if (ferror(in)) bytes = NULL;
  }
  fclose(in);
  return bytes;
}

void mx__parse_include(struct front *f, struct ir_loc loc) {
  struct token t = mx__next(f);
  if (t.kind != TOK_STRING) {
    ERR(f, "syntax", t.loc, NULL, ".include: expected a file name in quotes, found %s", mx__tok_text(f, &t));
    mx__skip_line(f);
    return;
  }
  /* No token may be read ahead before the file's own. */
  struct lexer *lx = &f->source->lx;
  while (!f->nahead && lx->pos < lx->end && (*lx->pos == ' ' || *lx->pos == '\t')) lx->pos++;
  if (!f->nahead && lx->pos < lx->end && *lx->pos == ';') lx->pos++;
  if (!f->allow_include) {
    ERR(f, "include-refused", loc, NULL, ".include is not allowed here");
    return;
  }
  if (f->includes >= MAX_INCLUDES) {
    ERR(f, "include-depth", loc, NULL, ".include: more than %d files deep", MAX_INCLUDES);
    return;
  }
  const char *from = f->texts[mx__real_file(f, f->source->lx.file, NULL)].name, *slash = strrchr(from, '/');
  char *path;
  if (t.nbytes && t.bytes[0] == '/') path = mx__arena_strndup(f->arena, t.bytes, t.nbytes);
  else path = mx__arena_printf(f->arena, "%.*s%.*s", slash ? (int)(slash + 1 - from) : 0, from, (int)t.nbytes, t.bytes);
  size_t size = 0;
  char *bytes = strlen(path) < t.nbytes ? NULL : read_file(f, path, &size);
  if (!bytes) {
    ERR(f, "include-missing", t.loc, NULL, ".include: cannot read '%s'", path);
    return;
  }
  if (f->arena->limit) f->arena->limit += size * ARENA_PER_BYTE;
  mx__push_file(f, mx__add_text(f, path, bytes, size));
  f->includes++;
}

/* ---- .equ --------------------------------------------------------------------------------------------*/
void mx__parse_equ(struct front *f) {
  struct token t = mx__next(f);
  if (t.kind != TOK_WORD || t.text[0] == '%') {
    ERR(f, "syntax", t.loc, NULL, ".equ: expected a name, found %s", mx__tok_text(f, &t));
    mx__resync(f);
    return;
  }
  if (!mx__accept(f, ',')) mx__accept(f, '=');
  struct expr e = mx__parse_expr(f);
  if (e.kind == EX_BAD || e.base || e.kind == EX_STRING) {
    if (e.kind != EX_BAD) ERR(f, "not-constant", e.loc, NULL, ".equ %.*s: not a constant", (int)t.len, t.text);
  } else {
    struct name *n = mx__name(&f->names, t.text, t.len);
    struct sym *y = mx__scope_find_here(&f->names, f->scope, n);
    if (y && !(y->kind == SYM_CONST && y->value == e.value && y->is_float == (e.kind == EX_FLOAT))) {
      ERR(f, "redefined", t.loc, NULL, "'%s' is defined already", n->text);
      mx__diag(&f->diags, MX_DIAG_NOTE, "redefined", y->loc, NULL, "first here");
    } else if (!y) {
      y = mx__scope_add(&f->names, f->scope, n, SYM_CONST, t.loc);
      y->is_unsigned = e.is_unsigned;
      y->is_float = e.kind == EX_FLOAT;
      y->value = e.value;
      y->elem = e.bits;
      if (y->is_float && !e.bits) memcpy(&y->value, &e.real, 8);
    }
  }
  mx__accept(f, ';');
}

/* ---- .macro ------------------------------------------------------------------------------------------*/
static bool line_starts_with(const char *p, const char *end, const char *word) {
  while (p < end && (*p == ' ' || *p == '\t')) p++;
  size_t n = strlen(word);
  if ((size_t)(end - p) < n || memcmp(p, word, n)) return false;
  p += n;
  return p == end || *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r' || *p == ';' || *p == '/';
}

/* The header is the rest of its line, the body the lines up to .endm; inner definitions stay in the body. */
void mx__parse_macro(struct front *f, struct ir_loc loc) {
  struct lexer *lx = &f->source->lx;
  if (f->nahead) { /* cannot be: statements look one token ahead */
    mx__resync(f);
    return;
  }
  const char *head = lx->pos;
  mx__lex_skip_line(lx);
  struct lexer line = *lx;
  line.pos = head;
  line.end = lx->pos;
  if (lx->pos < lx->end) lx->pos++;
  const char *body = lx->pos, *p = body;
  uint32_t first = lx->line + 1, lines = 0, inner = 0;
  const char *stop = NULL;
  while (p < lx->end) {
    const char *nl = memchr(p, '\n', (size_t)(lx->end - p)), *e = nl ? nl + 1 : lx->end;
    lines++;
    if (line_starts_with(p, e, ".macro")) inner++;
    if (line_starts_with(p, e, ".endm") && !inner--) {
      stop = p;
      p = e;
      break;
    }
    p = e;
  }
  lx->pos = p;
  lx->line += lines + 1;
  lx->line_start = p;
  lx->at_line_start = true;
  if (!stop) {
    ERR(f, "open-macro", loc, NULL, ".macro without .endm");
    return;
  }
  struct token t = mx__lex(&line, &f->diags);
  if (t.kind != TOK_WORD || t.text[0] == '%') {
    ERR(f, "syntax", t.loc, NULL, ".macro: expected a name, found %s", mx__tok_text(f, &t));
    return;
  }
  struct macro *m = mx__arena_alloc(f->arena, sizeof *m);
  m->name = mx__name(&f->names, t.text, t.len);
  m->loc = t.loc;
  m->body = body;
  m->size = (size_t)(stop - body);
  m->file = lx->file;
  m->line = first;
  uint32_t cap = 0;
  t = mx__lex(&line, &f->diags);
  while (t.kind != TOK_END && !(t.kind == TOK_PUNCT && t.punct == ';')) {
    if (t.kind == TOK_PUNCT && t.punct == ',') t = mx__lex(&line, &f->diags);
    if (t.kind != TOK_WORD) {
      ERR(f, "syntax", t.loc, NULL, ".macro %s: expected a parameter's name, found %s", m->name->text,
          mx__tok_text(f, &t));
      return;
    }
    uint32_t cap2 = cap;
    GROW(f->arena, m->params, m->nparams, cap);
    GROW(f->arena, m->defaults, m->nparams, cap2);
    m->params[m->nparams] = mx__name(&f->names, t.text, t.len);
    t = mx__lex(&line, &f->diags);
    if (t.kind == TOK_PUNCT && t.punct == '=') {
      const char *from = line.pos;
      do t = mx__lex(&line, &f->diags);
      while (t.kind != TOK_END && !(t.kind == TOK_PUNCT && (t.punct == ',' || t.punct == ';')));
      m->defaults[m->nparams] = mx__arena_strndup(f->arena, from, (size_t)(t.text - from));
    }
    m->nparams++;
  }
  for (struct macro *o = f->macros; o; o = o->next) {
    if (o->name != m->name) continue;
    ERR(f, "redefined", m->loc, NULL, "macro '%s' is defined already", m->name->text);
    mx__diag(&f->diags, MX_DIAG_NOTE, "redefined", o->loc, NULL, "first here");
    return;
  }
  m->next = f->macros;
  f->macros = m;
}

struct buffer {
  char *bytes;
  size_t n, cap;
};

static void put(struct front *f, struct buffer *b, const char *s, size_t n) {
  if (!n) return;
  if (b->n + n > b->cap) {
    size_t cap = b->cap ? b->cap * 2 : 256;
    if (cap < b->n + n) cap = b->n + n;
    b->bytes = mx__arena_grow(f->arena, b->bytes, b->n, cap);
    b->cap = cap;
  }
  memcpy(b->bytes + b->n, s, n);
  b->n += n;
}

/* The arguments of a call, up to its `;`: text between commas that stand in no bracket. */
static const char **take_arguments(struct front *f, const struct macro *m, struct ir_loc loc) {
  const char **args = mx__arena_alloc(f->arena, (m->nparams + 1) * sizeof *args);
  uint32_t n = 0;
  int depth = 0;
  struct buffer b = {0};
  bool any = false;
  for (;;) {
    if (f->nahead == 0 && f->source->lx.pos == f->source->lx.end && !f->source->outer) break;
    struct token t = mx__next(f);
    int c = t.kind == TOK_PUNCT ? t.punct : 0;
    if (t.kind == TOK_END) break;
    if (c == ';' && depth <= 0) {
      if (any || n) {
        if (n < m->nparams) args[n] = mx__arena_strndup(f->arena, b.bytes ? b.bytes : "", b.n);
        n++;
      }
      if (n > m->nparams) {
        ERR(f, "macro-arguments", loc, t.loc.line == loc.line ? NULL : "the arguments end at ';'",
            "%s: takes %u arguments, found %u", m->name->text, m->nparams, n);
        return NULL;
      }
      for (uint32_t k = 0; k < m->nparams; k++) {
        if (!args[k]) args[k] = m->defaults[k];
        if (args[k]) continue;
        ERR(f, "macro-arguments", loc, NULL, "%s: argument '%s' is missing", m->name->text, m->params[k]->text);
        return NULL;
      }
      return args;
    }
    if (c == '(' || c == '[' || c == '{') depth++;
    if (c == ')' || c == ']' || c == '}') depth--;
    if (c == ',' && depth <= 0) {
      if (n < m->nparams) args[n] = mx__arena_strndup(f->arena, b.bytes ? b.bytes : "", b.n);
      n++;
      b.n = 0;
      any = false;
      continue;
    }
    if (any && t.spaced) put(f, &b, " ", 1);
    put(f, &b, t.text, t.len);
    any = true;
    if (b.n > MAX_EXPANSION) break;
  }
  ERR(f, "syntax", loc, NULL, "%s: the macro's arguments do not end with ';'", m->name->text);
  return NULL;
}

static bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

bool mx__expand_macro(struct front *f) {
  struct token *t = mx__peek(f, 0);
  const struct lexer *lx = &f->source->lx;
  if (!f->macros || t->kind != TOK_WORD || f->nahead != 1) return false;
  if (lx->pos < lx->end && (*lx->pos == '.' || *lx->pos == ':'))
    return false; /* an instruction or label of that name */
  struct name *n = mx__name(&f->names, t->text, t->len);
  struct macro *m = f->macros;
  while (m && m->name != n) m = m->next;
  if (!m) return false;
  struct ir_loc loc = t->loc;
  mx__next(f);
  const char **args = take_arguments(f, m, loc);
  if (!args) return true;
  if (f->macro_depth >= MAX_MACRO_DEPTH || f->expansions >= MAX_EXPANSIONS || f->expanded > MAX_EXPANSION) {
    ERR(f, "macro-limit", loc, NULL, "%s: too many or too deep macro expansions", n->text);
    return true;
  }
  char unique[16];
  int nunique = snprintf(unique, sizeof unique, "%u", f->unique++);
  struct buffer b = {0};
  for (const char *p = m->body, *end = m->body + m->size; p < end;) {
    const char *slash = memchr(p, '\\', (size_t)(end - p));
    if (!slash || slash + 1 == end) {
      put(f, &b, p, (size_t)(end - p));
      break;
    }
    put(f, &b, p, (size_t)(slash - p));
    p = slash + 1;
    if (*p == '@') {
      put(f, &b, unique, (size_t)nunique);
      p++;
    } else if (*p == '(' && p + 1 < end && p[1] == ')') {
      p += 2;
    } else {
      const char *q = p;
      while (q < end && word_char(*q)) q++;
      uint32_t k = 0;
      while (k < m->nparams &&
             !(m->params[k]->len == (size_t)(q - p) && !memcmp(m->params[k]->text, p, (size_t)(q - p))))
        k++;
      if (k < m->nparams) put(f, &b, args[k], strlen(args[k]));
      else put(f, &b, slash, (size_t)(q - slash) ? (size_t)(q - slash) : 1); /* of an inner macro, or an escape */
      p = q;
    }
    if (b.n > MAX_EXPANSION) break;
  }
  f->expanded += b.n + 16;
  if (f->arena->limit) f->arena->limit += b.n * ARENA_PER_BYTE; /* as for text that was given */
  f->expansions++;
  f->macro_depth++;
  const char *what = mx__arena_printf(f->arena, "in macro %s, expanded at %s:%u", n->text,
                                      f->texts[mx__real_file(f, loc.file, NULL)].name, loc.line);
  GROW(f->arena, f->expanded_from, f->nexpanded_from, f->cap_expanded_from);
  f->expanded_from[f->nexpanded_from] = (struct expansion){m->file, what};
  struct source *s = mx__push_text(f, b.bytes ? b.bytes : "", b.n, IN_MACRO | f->nexpanded_from++, m->line);
  s->kind = SOURCE_MACRO;
  return true;
}

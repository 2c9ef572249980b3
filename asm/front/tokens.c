/* The stream of tokens that the parser reads, from a stack of files and macro expansions, and what every part of the
 * parser asks of it: the next token, whether it is a certain one, where to go on after an error. Knows no statement. */
#include "parser.h"

#include <string.h>

uint32_t mx__real_file(const struct front *f, uint32_t file, const char **what) {
  const char *first = NULL;
  while (file & IN_MACRO) {
    const struct expansion *x = &f->expanded_from[file & ~IN_MACRO];
    if (!first) first = x->what;
    file = x->file;
  }
  if (what) *what = first;
  return file;
}

uint32_t mx__add_text(struct front *f, const char *name, const char *bytes, size_t size) {
  GROW(f->arena, f->texts, f->ntexts, f->cap_texts);
  f->texts[f->ntexts] = (struct text){bytes, size, name};
  return f->ntexts++;
}

struct source *mx__push_text(struct front *f, const char *text, size_t size, uint32_t file, uint32_t line) {
  struct source *s = mx__arena_alloc(f->arena, sizeof *s);
  mx__lex_init(&s->lx, text, size, file, line);
  s->outer = f->source;
  f->source = s;
  return s;
}

void mx__push_file(struct front *f, uint32_t file) {
  struct source *s = mx__push_text(f, f->texts[file].bytes, f->texts[file].size, file, 1);
  s->kind = SOURCE_FILE;
}

static struct token lex(struct front *f) {
  for (;;) {
    struct token t = mx__lex(&f->source->lx, &f->diags);
    if (t.kind != TOK_END || !f->source->outer) return t;
    if (f->source->kind == SOURCE_MACRO) f->macro_depth--;
    else f->includes--;
    f->source = f->source->outer;
  }
}

struct token *mx__peek(struct front *f, uint32_t k) {
  while (f->nahead <= k) f->ahead[f->nahead++] = lex(f);
  return &f->ahead[k];
}

struct token mx__next(struct front *f) {
  struct token t = *mx__peek(f, 0);
  f->nahead--;
  memmove(f->ahead, f->ahead + 1, f->nahead * sizeof f->ahead[0]);
  f->last = t.loc;
  return t;
}

void mx__skip_line(struct front *f) {
  while (!mx__peek(f, 0)->first_on_line) mx__next(f);
}

/* ---- what comes next ---------------------------------------------------------------------------------*/
bool mx__accept(struct front *f, int punct) {
  struct token *t = mx__peek(f, 0);
  if (t->kind != TOK_PUNCT || t->punct != punct) return false;
  mx__next(f);
  return true;
}

const char *mx__tok_text(struct front *f, const struct token *t) {
  if (t->kind == TOK_END) return "the end of the text";
  return mx__arena_printf(f->arena, "'%.*s'%s", (int)(t->len > 40 ? 40 : t->len), t->text, t->len > 40 ? "..." : "");
}

/* Hostile text has errors without end; hints are for the first ones. */
const char *mx__near(struct front *f, struct scope *s, const char *want, int kind) {
  const char *near = f->diags.errors < MX_DIAG_HINTS ? mx__scope_nearest(s, want, kind) : NULL;
  return near ? mx__arena_printf(f->arena, "did you mean '%s'?", near) : NULL;
}

struct ir_loc mx__missing_before(const struct front *f, const struct token *t) {
  struct ir_loc at = f->last;
  if (!at.line || at.file != t->loc.file) return t->loc;
  at.col += at.width;
  at.width = 1;
  return at;
}

bool mx__expect(struct front *f, int punct, const char *after) {
  struct token *t = mx__peek(f, 0);
  if (mx__accept(f, punct)) return true;
  if (t->kind != TOK_BAD)
    ERR(f, "syntax", punct == ';' || t->first_on_line || t->kind == TOK_END ? mx__missing_before(f, t) : t->loc, NULL,
        "expected '%c' after %s, found %s", punct, after, mx__tok_text(f, t));
  return false;
}

bool mx__list_goes_on(struct front *f, bool (*begins)(const struct token *t)) {
  if (mx__accept(f, ',')) return true;
  const struct token *t = mx__peek(f, 0);
  if (!begins(t)) return false;
  ERR(f, "syntax", mx__missing_before(f, t), NULL, "expected ',' before %s", mx__tok_text(f, t));
  return true;
}
bool mx__begins_value(const struct token *t) {
  return t->kind == TOK_INT || t->kind == TOK_FLOAT || t->kind == TOK_STRING ||
         (t->kind == TOK_WORD && t->text[0] == '%') || (t->kind == TOK_PUNCT && (t->punct == '[' || t->punct == '{'));
}

void mx__resync(struct front *f) {
  bool first = true;
  for (int depth = 0;; first = false) {
    struct token *t = mx__peek(f, 0);
    if (t->kind == TOK_END) return;
    if (!f->func && !first && t->kind == TOK_DOT && t->first_on_line) return; /* the next declaration */
    if (t->kind == TOK_PUNCT) {
      if (t->punct == ';') {
        mx__next(f);
        return;
      }
      if (t->punct == '{') depth++;
      if (t->punct == '}' && depth-- <= 0 && f->func) return;
    }
    mx__next(f);
  }
}

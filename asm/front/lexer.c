/* Characters to tokens. Separate so that the parser never sees a character; knows no mnemonic, directive or register.
 */
#include "lexer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_WORD = 4096, LONGEST_NUMBER = 256 };

void mx__lex_init(struct lexer *lx, const char *text, size_t size, uint32_t file, uint32_t line) {
  *lx = (struct lexer){
      .pos = text, .end = text + size, .line_start = text, .file = file, .line = line, .at_line_start = true};
}

bool mx__tok_is(const struct token *t, const char *text) {
  return t->len == strlen(text) && !memcmp(t->text, text, t->len) && t->kind != TOK_STRING && t->kind != TOK_END;
}

static bool letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
static bool digit(int c) { return c >= '0' && c <= '9'; }
static bool word_char(int c) { return letter(c) || digit(c); }
static int hex_value(int c) {
  return digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int at(const struct lexer *lx, size_t k) {
  return (size_t)(lx->end - lx->pos) > k ? (unsigned char)lx->pos[k] : -1;
}

static struct ir_loc place(const struct lexer *lx, const char *p, size_t width) {
  return (struct ir_loc){.file = lx->file,
                         .line = lx->line,
                         .col = (uint32_t)(p - lx->line_start) + 1,
                         .width = width > 200 ? 200 : (uint32_t)width};
}

static void new_line(struct lexer *lx) {
  lx->line++;
  lx->line_start = lx->pos;
  lx->at_line_start = true;
}

/* Blanks and comments. True if there were any. */
static bool skip_blanks(struct lexer *lx, struct mx_diags *diags) {
  bool any = false;
  for (;; any = true) {
    int c = at(lx, 0);
    if (c == '\n') {
      lx->pos++;
      new_line(lx);
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      lx->pos++;
    } else if (c == '/' && at(lx, 1) == '/') {
      mx__lex_skip_line(lx);
    } else if (c == '/' && at(lx, 1) == '*') {
      struct ir_loc loc = place(lx, lx->pos, 2);
      lx->pos += 2;
      while (lx->pos < lx->end && !(at(lx, 0) == '*' && at(lx, 1) == '/')) {
        if (*lx->pos++ == '\n') new_line(lx);
      }
      if (lx->pos == lx->end) mx__diag(diags, MX_DIAG_ERROR, "open-comment", loc, NULL, "this comment does not end");
      else lx->pos += 2;
    } else {
      return any;
    }
  }
}

void mx__lex_skip_line(struct lexer *lx) {
  const char *nl = memchr(lx->pos, '\n', (size_t)(lx->end - lx->pos));
  lx->pos = nl ? nl : lx->end;
}

static void bad_number(struct lexer *lx, struct mx_diags *diags, struct token *t, const char *why) {
  while (word_char(at(lx, 0)) || at(lx, 0) == '.') lx->pos++;
  t->kind = TOK_BAD;
  t->len = (uint32_t)(lx->pos - t->text);
  mx__diag(diags, MX_DIAG_ERROR, "bad-number", place(lx, t->text, t->len),
           strchr("fFdD", t->text[t->len - 1]) ? "floats have no suffix: 1.5" : NULL, "'%.*s': %s",
           (int)(t->len > 60 ? 60 : t->len), t->text, why);
}

/* 0f and 0d: the bits of a float, in exactly 8 or 16 hexadecimal digits. */
static bool lex_exact_float(struct lexer *lx, struct token *t) {
  int c = at(lx, 1) | 0x20;
  if (at(lx, 0) != '0' || (c != 'f' && c != 'd')) return false;
  size_t digits = c == 'f' ? 8 : 16;
  uint64_t v = 0;
  for (size_t k = 0; k < digits; k++) {
    int h = hex_value(at(lx, 2 + k));
    if (h < 0) return false;
    v = v << 4 | (uint64_t)h;
  }
  if (word_char(at(lx, 2 + digits))) return false;
  lx->pos += 2 + digits;
  t->kind = TOK_FLOAT;
  t->bits = c == 'f' ? 32 : 64;
  t->value = v;
  if (c == 'f') {
    uint32_t u = (uint32_t)v;
    float f;
    memcpy(&f, &u, 4);
    t->real = (double)f;
  } else {
    memcpy(&t->real, &v, 8);
  }
  return true;
}

static void lex_number(struct lexer *lx, struct mx_diags *diags, struct token *t) {
  if (lex_exact_float(lx, t)) return;
  /* A decimal float has a point between digits or an exponent. */
  size_t k = 0;
  while (digit(at(lx, k))) k++;
  bool exponent = (at(lx, k) | 0x20) == 'e' &&
                  (digit(at(lx, k + 1)) || ((at(lx, k + 1) == '+' || at(lx, k + 1) == '-') && digit(at(lx, k + 2))));
  if (at(lx, k) == '.' || exponent) {
    if (at(lx, k) == '.') k++;
    while (digit(at(lx, k))) k++;
    if ((at(lx, k) | 0x20) == 'e') {
      size_t e = k + 1;
      if (at(lx, e) == '+' || at(lx, e) == '-') e++;
      if (digit(at(lx, e))) {
        while (digit(at(lx, e))) e++;
        k = e;
      }
    }
    if (k >= LONGEST_NUMBER || word_char(at(lx, k))) {
      bad_number(lx, diags, t, "not a number");
      return;
    }
    char copy[LONGEST_NUMBER];
    memcpy(copy, lx->pos, k);
    copy[k] = 0;
    lx->pos += k;
    t->kind = TOK_FLOAT;
    t->real = strtod(copy, NULL);
    return;
  }
  unsigned base = 10;
  size_t start = 0;
  if (at(lx, 0) == '0') {
    int c = at(lx, 1);
    if (c == 'x' || c == 'X') base = 16, start = 2;
    else if (c == 'b' || c == 'B') base = 2, start = 2;
    else if (digit(c)) base = 8, start = 1;
  }
  uint64_t v = 0;
  bool over = false;
  for (k = start;; k++) {
    int h = hex_value(at(lx, k));
    if (h < 0 || (unsigned)h >= base) break;
    if (v > (UINT64_MAX - (unsigned)h) / base) over = true;
    v = v * base + (unsigned)h;
  }
  if (start == 2 && k == start) {
    bad_number(lx, diags, t, "digits are missing");
    return;
  }
  if (at(lx, k) == 'U' || at(lx, k) == 'u') {
    t->is_unsigned = true;
    k++;
  }
  if (word_char(at(lx, k))) {
    bad_number(lx, diags, t, "not a number");
    return;
  }
  if (over) {
    bad_number(lx, diags, t, "does not fit in 64 bits");
    return;
  }
  lx->pos += k;
  t->kind = TOK_INT;
  t->value = v;
  if (v >> 63) t->is_unsigned = true;
}

static void lex_string(struct lexer *lx, struct mx_diags *diags, struct token *t) {
  const char *p = ++lx->pos;
  while (p < lx->end && *p != '"' && *p != '\n') p += *p == '\\' && p + 1 < lx->end && p[1] != '\n' ? 2 : 1;
  if (p >= lx->end || *p != '"') {
    mx__diag(diags, MX_DIAG_ERROR, "open-string", place(lx, t->text, 1), NULL, "this string does not end on its line");
    mx__lex_skip_line(lx);
    t->kind = TOK_BAD;
    return;
  }
  size_t n = 0;
  char *out = mx__arena_alloc(diags->arena, (size_t)(p - lx->pos) + 1);
  for (const char *q = lx->pos; q < p; q++) {
    char c = *q;
    if (c == '\\') {
      c = *++q;
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c == 'r') c = '\r';
      else if (c == 'a') c = '\a';
      else if (c == 'x' && q + 1 < p && hex_value((unsigned char)q[1]) >= 0) {
        int v = 0;
        for (int k = 0; k < 2 && q + 1 < p && hex_value((unsigned char)q[1]) >= 0; k++)
          v = v * 16 + hex_value((unsigned char)*++q);
        c = (char)v;
      } else if (c >= '0' && c <= '7') {
        int v = c - '0';
        for (int k = 0; k < 2 && q + 1 < p && q[1] >= '0' && q[1] <= '7'; k++) v = v * 8 + (*++q - '0');
        c = (char)v;
      } else if (c != '\\' && c != '"' && c != '\'' && c != '?') {
        mx__diag(diags, MX_DIAG_ERROR, "bad-escape", place(lx, q - 1, 2),
                 "escapes are \\n \\t \\r \\a \\\\ \\\" \\xHH and octal", "unknown escape in a string");
      }
    }
    out[n++] = c;
  }
  lx->pos = p + 1;
  t->kind = TOK_STRING;
  t->bytes = out;
  t->nbytes = (uint32_t)n;
}

static int two_char_punct(int a, int b) {
  if (a == '<') return b == '<' ? P_SHL : b == '=' ? P_LE : 0;
  if (a == '>') return b == '>' ? P_SHR : b == '=' ? P_GE : 0;
  if (b == '=') return a == '=' ? P_EQ : a == '!' ? P_NE : 0;
  if (a == '&' && b == '&') return P_ANDAND;
  if (a == '|' && b == '|') return P_OROR;
  return 0;
}

struct token mx__lex(struct lexer *lx, struct mx_diags *diags) {
  struct token t = {.kind = TOK_END};
  t.spaced = skip_blanks(lx, diags);
  t.first_on_line = lx->at_line_start;
  lx->at_line_start = false;
  t.text = lx->pos;
  int c = at(lx, 0);
  if (c < 0) {
    t.loc = place(lx, lx->pos, 1);
    t.first_on_line = true;
    return t;
  }
  if (letter(c) || (c == '%' && (letter(at(lx, 1)) || digit(at(lx, 1)))) ||
      (c == '%' && at(lx, 1) == '.' && letter(at(lx, 2)))) {
    lx->pos += c == '%' && at(lx, 1) == '.' ? 2 : 1;
    while (word_char(at(lx, 0))) lx->pos++;
    t.kind = TOK_WORD;
  } else if (c == '.' && word_char(at(lx, 1))) {
    lx->pos++;
    while (word_char(at(lx, 0)) || (at(lx, 0) == ':' && at(lx, 1) == ':' && word_char(at(lx, 2))))
      lx->pos += at(lx, 0) == ':' ? 2 : 1;
    t.kind = TOK_DOT;
  } else if (digit(c)) {
    lex_number(lx, diags, &t);
  } else if (c == '"') {
    lex_string(lx, diags, &t);
  } else {
    t.kind = TOK_PUNCT;
    t.punct = two_char_punct(c, at(lx, 1));
    lx->pos += t.punct ? 2 : 1;
    if (!t.punct) t.punct = c;
    if (!strchr("{}()[]<>,;:|!@=+-*/%&^~?\\", c)) {
      while (at(lx, 0) >= 0x80) lx->pos++; /* the rest of a character beyond ASCII */
      t.kind = TOK_BAD;
      mx__diag(diags, MX_DIAG_ERROR, "bad-character", place(lx, t.text, 1),
               c == '#' ? "a comment begins with //" : NULL,
               c > 32 && c < 127 ? "unexpected character '%c'" : "unexpected character (code %d)", c);
    }
  }
  t.len = (uint32_t)(lx->pos - t.text);
  if (t.kind != TOK_BAD && (t.kind == TOK_WORD || t.kind == TOK_DOT) && t.len > LONGEST_WORD) {
    mx__diag(diags, MX_DIAG_ERROR, "long-name", place(lx, t.text, t.len), NULL,
             "a name of %u characters; %d are allowed", t.len, LONGEST_WORD);
    t.len = LONGEST_WORD;
  }
  t.loc = place(lx, t.text, t.len);
  return t;
}

/* Tokens of MX assembly. One lexer reads one buffer; tokens.c stacks them. */
#ifndef MX_ASM_LEXER_H
#define MX_ASM_LEXER_H
#include "asm/common/diag.h"

enum tok_kind {
  TOK_END,    /* of the text */
  TOK_WORD,   /* name: letters, digits, _ $, with a leading % for registers; also physical slots: %.r5 */
  TOK_DOT,    /* .word: directive or suffix, the dot included; :: may stand inside */
  TOK_INT,    /* value, is_unsigned */
  TOK_FLOAT,  /* real; bits = 32 or 64 for the exact forms 0f and 0d (value then holds the bits), 0 for a decimal one */
  TOK_STRING, /* bytes and nbytes, escapes resolved */
  TOK_PUNCT,  /* punct: the character, or one of P_* */
  TOK_BAD,    /* reported already */
};
enum { P_SHL = 256, P_SHR, P_LE, P_GE, P_EQ, P_NE, P_ANDAND, P_OROR };

struct token {
  uint8_t kind, bits;
  bool is_unsigned, first_on_line, spaced; /* spaced: something stands between the token before and this one */
  int punct;
  const char *text;
  uint32_t len; /* as written */
  uint64_t value;
  double real;
  const char *bytes;
  uint32_t nbytes;
  struct ir_loc loc;
};

struct lexer {
  const char *pos, *end, *line_start;
  uint32_t file, line;
  bool at_line_start;
};

void mx__lex_init(struct lexer *lx, const char *text, size_t size, uint32_t file, uint32_t line);
struct token mx__lex(struct lexer *lx, struct mx_diags *diags);
void mx__lex_skip_line(struct lexer *lx); /* to the end of the line, which is not taken */
bool mx__tok_is(const struct token *t, const char *text);
#endif

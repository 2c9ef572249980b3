/* The assembler: text in, module bytes out, and bytes back to text. Nothing here knows devices or needs one. The calls
 * share no state, so any thread may make any of them at any time; one result is for one thread at a time. */
#ifndef MX_ASM_H
#define MX_ASM_H
#include "mx/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_asm_options {
  size_t struct_size;     /* MX_ASM_OPTIONS_INIT sets it */
  const char *file_name;  /* for messages and for .include; NULL: "<text>" */
  bool allow_include;     /* .include may read files, whose names are relative to that of the text; false: an error */
  bool one_slot_per_name; /* each register keeps a slot of its own in the frame: for mx_debug_replace */
  bool warnings_are_errors;
  bool
      source_lines; /* the line table has the lines that .loc names, those of a compiler's source, not the text's own */
} mx_asm_options;
#define MX_ASM_OPTIONS_INIT \
  { sizeof(mx_asm_options), NULL, false, false, false, false }

typedef enum mx_asm_level { MX_ASM_ERROR, MX_ASM_WARNING, MX_ASM_NOTE } mx_asm_level;
typedef struct mx_asm_diagnostic {
  size_t struct_size; /* set by the library, to its own size of the struct; a newer one has more fields at the end */
  mx_asm_level level;
  const char *id; /* stable name, documented in docs/diagnostics.md */
  const char *file;
  uint32_t line, col, width;
  const char *text, *hint; /* hint may be NULL */
  const char *source_line; /* without its newline; NULL if there is none */
} mx_asm_diagnostic;

/* Assembles `size` bytes of text, which need no 0 at the end. options may be NULL. The result owns the module bytes and
 * the diagnostics, and mx_asm_free frees all of it. NULL: out of memory, no text, or options without struct_size. */
typedef struct mx_asm_result mx_asm_result;
MX_API mx_asm_result *mx_assemble(const char *text, size_t size, const mx_asm_options *options);
MX_API const uint8_t *mx_asm_bytes(const mx_asm_result *r, size_t *size); /* NULL when there were errors */
MX_API size_t mx_asm_diagnostic_count(const mx_asm_result *r);
/* Diagnostics are numbered from 0, in the order of their places in the text. NULL: there are not so many. */
MX_API const mx_asm_diagnostic *mx_asm_diagnostic_at(const mx_asm_result *r, size_t number);
MX_API void mx_asm_free(mx_asm_result *r); /* NULL: nothing happens */

/* One diagnostic in the usual form: file:line:col: error: text [id], source line, caret, hint; each line with its
 * newline. mx_text_free frees it. NULL: out of memory. */
MX_API char *mx_asm_format(const mx_asm_diagnostic *d, bool colour);

/* Turns the bytes of a module, which are checked as a device checks them, into text that assembles to the same bytes.
 * NULL: they were refused, or out of memory; *why, where why is not NULL, then gets a text that says what is wrong.
 * mx_text_free frees both texts. */
MX_API char *mx_disassemble(const void *bytes, size_t size, char **why);

#ifdef __cplusplus
}
#endif
#endif

/* Public: text in, module bytes out, and back. Knows nothing of the machine that runs them. */
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
  bool allow_include;     /* .include, relative to the file; off for text from memory unless asked */
  bool one_slot_per_name; /* for debuggers: registers share no slots */
  bool warnings_are_errors;
  bool source_lines; /* of a compiler's text: traps and debuggers speak of the lines that .loc names */
} mx_asm_options;
#define MX_ASM_OPTIONS_INIT \
  { sizeof(mx_asm_options), NULL, false, false, false, false }

typedef enum mx_asm_level { MX_ASM_ERROR, MX_ASM_WARNING, MX_ASM_NOTE } mx_asm_level;
typedef struct mx_asm_diagnostic {
  size_t struct_size; /* as the library knows it: later fields stand behind those that a program knows */
  mx_asm_level level;
  const char *id; /* stable name, documented in docs/diagnostics.md */
  const char *file;
  uint32_t line, col, width;
  const char *text, *hint; /* hint may be NULL */
  const char *source_line; /* without its newline; NULL if there is none */
} mx_asm_diagnostic;

/* The result of one assembly; it owns its bytes and diagnostics. options may be NULL. NULL: out of memory, no text, or
 * options without struct_size. */
typedef struct mx_asm_result mx_asm_result;
MX_API mx_asm_result *mx_assemble(const char *text, size_t size, const mx_asm_options *options);
MX_API const uint8_t *mx_asm_bytes(const mx_asm_result *r, size_t *size); /* NULL when there were errors */
MX_API size_t mx_asm_diagnostic_count(const mx_asm_result *r);
MX_API const mx_asm_diagnostic *mx_asm_diagnostic_at(const mx_asm_result *r,
                                                     size_t number); /* by place; NULL beyond the last */
MX_API void mx_asm_free(mx_asm_result *r);

/* One diagnostic in the usual form: file:line:col: error: text [id], source line, caret, hint; each line with its
 * newline. mx_text_free frees it. NULL: out of memory. */
MX_API char *mx_asm_format(const mx_asm_diagnostic *d, bool colour);

/* Text that assembles to the same bytes, from the bytes of a module, which are checked as a device checks them.
 * mx_text_free frees it, and *why, where why is not NULL: what is wrong with them. NULL: refused, or out of memory. */
MX_API char *mx_disassemble(const void *bytes, size_t size, char **why);

#ifdef __cplusplus
}
#endif
#endif

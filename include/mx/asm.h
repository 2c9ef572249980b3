/* Public: text in, module bytes out, and back. Knows nothing of the machine that runs them. */
#ifndef MX_ASM_H
#define MX_ASM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mx_image;

typedef struct {
  const char *file_name;      /* for messages and for .include; NULL: "<text>" */
  bool allow_include;         /* .include, relative to the file; off for text from memory unless asked */
  bool one_slot_per_name;     /* for debuggers: registers share no slots */
  bool warnings_are_errors;
} mx_asm_options;

typedef enum { MX_ASM_ERROR, MX_ASM_WARNING, MX_ASM_NOTE } mx_asm_level;
typedef struct {
  mx_asm_level level;
  const char *id;             /* stable name, documented in docs/diagnostics.md */
  const char *file; uint32_t line, col, width;
  const char *text, *hint;    /* hint may be NULL */
  const char *source_line;    /* without its newline; NULL if there is none */
} mx_asm_diagnostic;

/* The result of one assembly. bytes is NULL when there were errors. */
typedef struct mx_asm_result mx_asm_result;
mx_asm_result *mx_assemble(const char *text, size_t size, const mx_asm_options *options); /* NULL: out of memory */
const uint8_t *mx_asm_bytes(const mx_asm_result *r, size_t *size);
size_t mx_asm_diagnostics(const mx_asm_result *r, const mx_asm_diagnostic **list);
void mx_asm_free(mx_asm_result *r);

/* Prints one diagnostic in the usual form (file:line:col: error: text [id], source line, caret, hint) into a malloc'ed string. */
char *mx_asm_format(const mx_asm_diagnostic *d, bool colour);

/* Text that assembles to the same bytes, malloc'ed. `image` comes from mx__image_read (vm) or an assembly. NULL: out of memory. */
char *mx__disassemble(const struct mx_image *image);

#endif

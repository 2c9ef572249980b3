/* Diagnostics of one assembly: collected here, sorted by place in assemble.c, printed by the programs. */
#ifndef MX_ASM_DIAG_H
#define MX_ASM_DIAG_H
#include "ir.h"
#include "arena.h"

enum { MX_DIAG_HINTS = 50 }; /* errors that are worth the search for a nearest name */
enum mx_diag_level { MX_DIAG_ERROR, MX_DIAG_WARNING, MX_DIAG_NOTE };
struct mx_diag {
  uint8_t level;
  const char *id, *text, *hint;
  struct ir_loc loc;
};
struct mx_diags {
  struct mx_arena *arena;
  struct mx_diag *list;
  size_t count, capacity, errors;
};
/* `id` is a short stable name ("unknown-mnemonic"), one row of asm/common/diagnostics.def; text says what was expected
 * and what was found; hint may be NULL. */
void mx__diag(struct mx_diags *d, enum mx_diag_level level, const char *id, struct ir_loc loc, const char *hint,
              const char *fmt, ...) __attribute__((format(printf, 6, 7)));
#endif

/* From spelling and operands to a row of the table. Derived from the table alone: adding a row needs no change here. */
#ifndef MX_ASM_SELECT_H
#define MX_ASM_SELECT_H
#include "asm/common/diag.h"

/* Rows by the first word of their spelling, and what was matched before. */
struct select;
struct select *mx__select_new(struct mx_arena *arena, uint32_t lanes);

/* op: the opcode; MX_OP_COUNT: an intrinsic, whose row says what it expands to (expand.c). */
struct row_match {
  const struct mx_op_info *row;
  uint16_t op;
  uint8_t mod;
};
/* All opcodes that this mnemonic spells, in the table's order; if there are none, all intrinsics. For hidden rows
 * `hidden` must be true. */
uint32_t mx__select_rows(struct select *s, const char *mnemonic, bool hidden, const struct row_match **rows);

/* Reports why nothing matches: unknown first word, suffixes that do not combine, wrong number of lanes. */
void mx__select_report(struct select *s, struct mx_diags *diags, const char *mnemonic, struct ir_loc loc);

/* Whether the mnemonic begins with these words: `ld` begins ld.global, and not ldu. */
bool mx__base_is(const char *mnemonic, const char *base);
/* What other languages' word for a type or a comparison, such as `.int` or `.greater`, is here; NULL: unknown. */
const char *mx__suffix_meant(const char *suffix, size_t len);

/* The name of the group if it is one of those that are not supported, in the plural with its verb: "tensor maps are".
 */
const char *mx__refused_group(const char *mnemonic);
#endif

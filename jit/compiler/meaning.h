/* The instruction table's meanings, expanded into code that builds vector operations; the other expansion of
 * opcodes.def is the interpreter's. */
#ifndef MX_JITC_MEANING_H
#define MX_JITC_MEANING_H

#include "lanes.h"

/* Builds the result for one chunk of inputs in[], which have the row's types in its order, with modifier m. *q: the
 * second result of rows that have two. Sets j->bad if an operation of the meaning has no vector form. */
typedef jv jx_meaning(struct jx *j, unsigned m, const jv *in, jv *q);
/* By opcode; NULL for rows without an expression as meaning. */
extern jx_meaning *const jx_meanings[MX_OP_COUNT];
/* Builds what an atomic on one element leaves in a cell of shared or other memory that held `old`; b, c: the operands
 * behind the address. By opcode; NULL for all other rows. */
typedef jv jx_combine(struct jx *j, const jv *old, const jv *b, const jv *c, bool shared);
extern jx_combine *const jx_combines[MX_OP_COUNT];
/* shortcuts.c: the same result with fewer operations where operands are constants; false: use the meaning. */
bool jx_shortcut(struct jx *j, unsigned op, unsigned m, const jv *in, jv *out);

/* outline.c: the row's results for one chunk of operands in[], in the types of its registers, by one of the two above.
 * canon: NaNs are made canonical. Long ones become a call of a function of the object. *q stays empty if the row has
 * one result. lanes: the active lanes, if inactive ones may hold values that are slow to multiply (denormals.c); or
 * NULL. False: there is no vector form. */
bool jx_row(struct jx *j, unsigned op, unsigned modifier, bool canon, const jv *in, unsigned nin, gcc_jit_rvalue *lanes,
            jv *d, jv *q);
/* Whether jx_row() would succeed for operands of these types; in[] counts only where it is a constant. */
bool jx_row_exists(struct jx *j, unsigned op, unsigned modifier, const jv *in, unsigned nin);

#endif

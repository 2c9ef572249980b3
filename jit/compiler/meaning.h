/* The table's meanings as code that builds vectors: the second expansion of opcodes.def. */
#ifndef MX_JITC_MEANING_H
#define MX_JITC_MEANING_H

#include "lanes.h"

/* The result of one chunk for inputs in[] (of the row's types, in its order), modifier m; *q: the second result of rows
 * that have two. Sets j->bad when a word of the meaning has no vector form. */
typedef jv jx_meaning(struct jx *j, unsigned m, const jv *in, jv *q);
/* By opcode; NULL for rows whose meaning is not an expression. */
extern jx_meaning *const jx_meanings[MX_OP_COUNT];
/* shortcuts.c: the same result where operands are constants for which less will do; false: use the meaning. */
bool jx_shortcut(struct jx *j, unsigned op, unsigned m, const jv *in, jv *out);

#endif

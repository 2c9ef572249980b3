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

/* outline.c: the row's results for one chunk of its operands in[], in the types of its registers, as the two above make
 * them; canon: NaNs are made canonical. Long ones by a function of the object. *q stays empty where there is one
 * result. lanes: others may hold what is slow to multiply (denormals.c); or NULL. False: there is no vector form. */
bool jx_row(struct jx *j, unsigned op, unsigned modifier, bool canon, const jv *in, unsigned nin, gcc_jit_rvalue *lanes,
            jv *d, jv *q);
/* Whether that is so for operands of these types; of in[], values are looked at only where they are constants. */
bool jx_row_exists(struct jx *j, unsigned op, unsigned modifier, const jv *in, unsigned nin);

#endif

/* Calls that are inlined. Before anything is analysed, the code of small functions, and of those with few calls, is
 * copied to where they are called. The result is a function like any other for all analyses and instructions, except
 * for three kinds of instructions:
 *
 *   JA_CALLS    the call itself: it counts for the slice, and leaves compiled code where the slice would end, or where
 *               no frame or local memory is left
 *   JA_ADDED    moves of arguments and results: they count as no instruction
 *   JA_RETURNS  the return: after it, the interpreter's scheduler is asked who goes first, if other lanes may
 *
 * A copy's slots lie behind those of its caller, its blocks come, in the machine's order, between those before the call
 * and those behind it, since the deepest frame goes first. There is no frame while such code runs; where code is left
 * inside of a copy, the machine is told of the frames that there would be (vm/exec/enter.c), and goes on in the
 * function itself.
 *
 * What stays a call: recursion, calls through addresses, functions that spill registers or
 * allocate on the stack, what would need more slots or literals than a function can have, and what is over the
 * budget. */
#ifndef MX_JITC_INLINE_H
#define MX_JITC_INLINE_H

#include "analyse.h"

/* A copy costs compile time as any code does, some 0.5 to 1 ms for an instruction at v3, and saves 1 us for each call.
 * Functions of up to JI_SMALL words are copied wherever they are called. Longer ones are copied if all their copies
 * together have no more words than the second bound. The last bound is for all copies in one function. */
#define JI_SMALL 48u
#define JI_COPIES 1000u
#define JI_MOST 1500u

/* Makes a->f, origin and frames of function a->number. */
void ji_build(struct ja *a);
void ji_free(struct ja *a);

#endif

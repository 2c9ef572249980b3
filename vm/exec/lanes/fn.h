/* Lane functions: meanings too big for an expression. Both engines call them, by the names that the OPF rows give; the
 * files fn_*.c are compiled once per CPU level, MX_LEVEL being the suffix of that level's names. */
#ifndef MX_LANES_FN_H
#define MX_LANES_FN_H

#include "core/isa.h"

#ifdef MX_LEVEL
#define MX_FN__2(name_, level_) mx__fn_##name_##_##level_
#define MX_FN__1(name_, level_) MX_FN__2(name_, level_)
#define MX_FN(name_) MX_FN__1(name_, MX_LEVEL)
#else /* a test's own build */
#define MX_FN(name_) mx__fn_##name_
#endif

/* d, q: results; a, b, c, e: inputs in the row's order, raw operands left out; absent ones are NULL. Each points to
 * `lanes` slots: uint32_t for types of up to 32 bits (8- and 16-bit values zero-extended), uint64_t for 64 bits, two
 * such arrays one after the other for b128; to a uint64_t, the mask, for predicates. mod: the word's modifier. A result
 * may share its slots with an input. A third result (shape RRR2) goes to e, which then is no input. Every lane is
 * computed, whatever its input; there are no other effects. */
#define MX_FN_ARGS \
  void *d, void *q, const void *a, const void *b, const void *c, const void *e, unsigned lanes, unsigned mod
typedef void mx__fn(MX_FN_ARGS);
/* Says that there are 32 or 64 lanes, so that loops over them need no remainder. */
#define MX_WARP_OF(lanes_) \
  do { \
    if ((lanes_) != 32 && (lanes_) != 64) __builtin_unreachable(); \
  } while (0)

#define OP(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...)
#define OPF(id_, spelling_, shape_, cls_, mods_, flags_, doc_, name_) void MX_FN(name_)(MX_FN_ARGS);
#include "core/opcodes.def"

#endif

/* Between memory.c, which chooses the form of an access, and the files that build one form each. */
#ifndef MX_JITC_ACCESS_H
#define MX_JITC_ACCESS_H

#include "lowering.h"

struct lw_access {
  bool load, guarded;
  unsigned type, n, at, value, bytes; /* n elements of that type in memory, `bytes` in all; operands: address, value */
  gcc_jit_block *slow, *end;          /* where the interpreter's body does the access; where code goes on */
};

static inline bool lw_is_narrow(const struct lw_access *ac) { return jx_bitsof(ac->type) < 32; }
/* memory.c: puts a loaded element into result `out`, which is several elements if the access moves words of small ones.
 * lw_element_bits: the mask of a small one's bits. */
void lw_put_element(struct lw *l, unsigned out, unsigned c, unsigned type, jv v);
jv lw_element_bits(struct lw *l, unsigned type);
gcc_jit_rvalue *lw_byte_pointer(struct lw *l, gcc_jit_rvalue *host);
/* memory.c: the condition that an access cannot begin so many bytes behind its bounds' beginning: the address is
 * rotated, so that one that is not aligned becomes a large number. starts: of struct mx_bounds, in which lw_starts_form
 * is where that of a row of so many lanes is, or of one lane. */
gcc_jit_rvalue *lw_cannot_start(struct lw *l, gcc_jit_rvalue *at, unsigned bytes, gcc_jit_rvalue *starts);
uint64_t lw_starts_form(const struct lw *l, unsigned lanes);

/* elements.c. lw_has_elements: whether the access is made one by one, by numbers of 32 bits, where it is no row;
 * lw_has_narrow_elements: whether one with elements of 8 or 16 bits can be. lw_one_by_one: makes it, of longer
 * elements. */
bool lw_has_elements(const struct lw *l);
bool lw_has_narrow_elements(const struct lw *l);
void lw_one_by_one(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index,
                   unsigned scale, gcc_jit_rvalue *const *lanes);
/* The same of any elements, at host + index * scale, which are within bounds. */
void lw_element_by_element(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index,
                           unsigned scale, gcc_jit_rvalue *const *lanes);
gcc_jit_rvalue *lw_last_value(struct lw *l, const struct lw_access *ac, unsigned e, gcc_jit_rvalue *const *lanes);
/* A chunk of elements of 32 or 64 bits; all chunks of narrower ones, zero-extended to 32 bits. */
jv lw_gathered(struct lw *l, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *lanes,
               unsigned type);
void lw_gathered_narrow(struct lw *l, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index, unsigned scale,
                        gcc_jit_rvalue *const *lanes, unsigned type, jv *v);
/* Stores narrow elements of the active lanes, some of which may be missing, into rows that begin at rows[]. */
void lw_store_narrow_rows(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *const *rows, unsigned row_lanes,
                          gcc_jit_rvalue *const *lanes);
/* helpers.c: stores elements of so many bits for the lanes of `mask`, the lowest first: at host + index * scale, or, if
 * `index` is NULL, side by side. values, index: arrays of 32-bit numbers, the second with a sign. */
void lw_call_store_narrow(struct lw *l, unsigned bits, gcc_jit_rvalue *host, gcc_jit_rvalue *values,
                          gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *mask);
/* Stores all chunks of elements of 8 or 16 bits to local memory, by way of the words that contain them. */
void lw_scatter_narrow(struct lw *l, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index, gcc_jit_rvalue *const *lanes,
                       unsigned type, const jv *v);

/* quads.c: moves chunk c of pairs or quads, all of whose lanes are active if it is stored, from or to host address q.
 */
void lw_move_chunk(struct lw *l, const struct lw_access *ac, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes);

/* local.c: builds an access to local memory. lw_call_by_lane: the same by one call of a function of the object, which
 * also calls the body where it must; false: it has no such form, and nothing was built. */
void lw_by_lane(struct lw *l, const struct lw_access *ac, jv off, gcc_jit_rvalue *const *lanes);
bool lw_call_by_lane(struct lw *l, const struct lw_access *ac, jv off);
/* The addresses of an access to local memory, while they are checked. */
struct lw_local {
  gcc_jit_rvalue *all, *stride, /* where the block's local memory is; the bytes of a lane's piece */
      *most,                    /* the last address in bounds */
      *bad;                     /* a condition: the access cannot be made by code */
};
void lw_local_begin(struct lw *l, unsigned bytes, struct lw_local *p);
gcc_jit_rvalue *lw_local_of_warp(struct lw *l, const struct lw_local *p); /* where the first lane's piece is */
/* The lanes' addresses are index[] << shift, and `more` (NULL: 0); or `more` alone, if index[0] is NULL. They are
 * checked, and index[] is shifted. */
void lw_local_check(struct lw *l, struct lw_local *p, unsigned bytes, gcc_jit_rvalue *more, unsigned shift,
                    gcc_jit_rvalue **index, gcc_jit_rvalue *const *lanes);
/* Then: returns a host address, and makes of index[] the lanes' distances from it. */
gcc_jit_rvalue *lw_local_place(struct lw *l, const struct lw_local *p, gcc_jit_rvalue *more, gcc_jit_rvalue **index);

/* helpers.c: the function that lw_call_by_lane calls, and the call. */
struct lw_local_access {
  bool load, raw;           /* raw: the NaNs of the value that is stored are not canonical yet */
  unsigned type, to, bytes; /* in memory; of the result */
  uint32_t slot;            /* the value's */
  enum { LW_ONE_PLACE, LW_NUMBERS, LW_ADDRESSES } kind; /* what `cells` has, of 32 or 64 bits */
  unsigned shift;
};
/* Whether there may be one more such function: a kernel can have more combinations than any that a compiler writes. */
bool lw_has_functions_left(void);
gcc_jit_rvalue *lw_call_local_access(struct lw *l, const struct lw_local_access *ac, gcc_jit_rvalue *cells,
                                     gcc_jit_rvalue *more, uint32_t fallback);

/* helpers.c: atomics on one element of 32 or 64 bits. lw_atomic_helper: the function of the object that carries out
 * `step`, the table's name for what the rows do to a cell; NULL: the row's meaning has no form for one lane.
 * lw_call_atomic: calls it; it also calls the body, by that fallback, where it must. Addresses and operands are arrays
 * with an element for each lane, and so is what it leaves so many bytes behind the spill area's beginning, if old
 * values are wanted. */
struct lw_helper;
struct lw_atomic_access {
  unsigned op, type, noperands;                    /* type: of the element */
  bool wants_old, shared, wide_address, one_value; /* one_value: the first operand is a number, that of all lanes */
  const char *instruction; /* that exchanges a cell's value for a register's, having done the step; or NULL */
};
const struct lw_helper *lw_atomic_helper(struct lw *l, const struct lw_atomic_access *ac, const char *step);
gcc_jit_rvalue *lw_call_atomic(struct lw *l, const struct lw_helper *h, gcc_jit_rvalue *addresses, gcc_jit_rvalue *off,
                               gcc_jit_rvalue *const *operand, uint64_t old, gcc_jit_rvalue *const *lanes,
                               uint32_t fallback);

#endif

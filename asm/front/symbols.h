/* Names and scopes: interning, lookup through nested scopes, register ranges (%r<10>), nearest names for messages. */
#ifndef MX_ASM_SYMBOLS_H
#define MX_ASM_SYMBOLS_H
#include "asm/common/diag.h"

/* An interned spelling: equal text, equal pointer. */
struct name {
  const char *text;
  uint32_t len, hash;
  struct name *chain;
};
struct names {
  struct mx_arena *arena;
  struct name **buckets;
  uint32_t nbuckets, count;
};
struct name *mx__name(struct names *ns, const char *text, size_t len);

enum sym_kind {
  SYM_REG,     /* index: register of the function + 1 once it is used; type, or MX_T_none before an implicit one's first
                  write */
  SYM_VAR,     /* index: variable of the module */
  SYM_LOCAL,   /* offset in the frame's local bytes */
  SYM_PARAM,   /* formal parameter or result of the function: index into its list */
  SYM_CALLVAR, /* .param variable of a call scope */
  SYM_LABEL,
  SYM_TABLE,
  SYM_PROTO,
  SYM_FUNC,
  SYM_CONST, /* .equ */
};

struct sym {
  uint8_t kind, type, vec; /* vec: elements of a vector register, else 0 */
  bool implicit, write_in_error /* its write is in error: reads are not reported */, is_unsigned, is_float, is_array,
      used;
  uint32_t index;
  uint64_t value; /* constant, local offset */
  uint32_t elem;  /* bytes of one array element */
  void *detail;   /* what the parser knows beyond: struct callvar, proto, table, func */
  struct name *name;
  struct ir_loc loc;
  struct scope *scope; /* where it was declared */
  struct sym *chain;
};

struct range {
  struct name *prefix;
  uint32_t count;
  uint8_t type;
  struct ir_loc loc;
};

struct scope {
  struct scope *parent;
  struct sym **buckets;
  uint32_t nbuckets, count;
  struct range *ranges;
  uint32_t nranges, cap_ranges;
  uint32_t ncalls, nlabels; /* directly in it */
  uint32_t depth;
};

struct scope *mx__scope_new(struct names *ns, struct scope *parent);
struct sym *mx__scope_find_here(struct names *ns, struct scope *s, struct name *n); /* makes registers of ranges */
struct sym *mx__scope_find(struct names *ns, struct scope *s, struct name *n);      /* outwards; NULL: none */
struct sym *mx__scope_add(struct names *ns, struct scope *s, struct name *n, enum sym_kind kind, struct ir_loc loc);
void mx__scope_add_range(struct names *ns, struct scope *s, struct range r);

/* The best of the candidates offered one by one; none if all are too far away. */
struct nearest {
  const char *want, *best;
  uint32_t distance;
};
void mx__nearest(struct nearest *n, const char *candidate);
const char *mx__scope_nearest(struct scope *s, const char *want, int kind); /* of this kind; -1: of any */
#endif

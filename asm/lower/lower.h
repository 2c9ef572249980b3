/* What the files of this folder share, which together turn a parsed function into instructions of the table (ir.h). */
#ifndef MX_ASM_LOWER_H
#define MX_ASM_LOWER_H
#include "asm/front/parser.h"
#include "asm/front/select.h"

enum val_kind {
  V_BAD,
  V_REG,       /* reg; type MX_T_none: implicit and not yet written, sym */
  V_CONST,     /* expr: an integer or float literal */
  V_LIT,       /* lit: an address known when the kernel is prepared */
  V_LOCAL,     /* %local_base + offset */
  V_SREG,      /* sreg */
  V_DISCARDED, /* _ */
  V_OFF,       /* offset: what is added to the address before it */
  V_RAW,       /* offset: a raw field */
  V_BITS,      /* offset: a literal's bits, of whatever type */
};

/* One operand as the table counts them: each element of a group in braces is one, an address is two. */
struct val {
  uint8_t kind, type;
  bool is_address, minus, generic, in_braces;
  uint16_t number; /* in the text, from 1 */
  uint32_t reg, sreg;
  struct sym *sym;
  const char *selector; /* ".b0" of video instructions */
  struct mx_lit lit;
  uint64_t offset;
  const struct expr *expr;
  struct ir_loc loc;
};
struct vals {
  struct val *v;
  uint32_t n, cap;
};

struct code {
  struct ir_insn *v;
  uint32_t n, cap;
};

struct lower {
  struct front *f;
  struct select *select;
  struct func *fn;
  struct ir_func *out;
  uint32_t cap_regs, cap_labels, cap_tables, cap_protos, cap_shared;
  struct code prologue, body, *to;
  uint32_t local_base, local_top, carry; /* registers + 1 */
  uint64_t locals_at, frame;             /* where local variables begin; bytes of the frame so far */
  bool has_alloca;
  uint32_t *last_named_by; /* per variable: number of the last function that named it, + 1 */
  const struct row_match *overloads;
  uint32_t noverloads;  /* of the intrinsic being chosen, for messages */
  struct ir_loc loc;    /* of the statement, for what is made for it */
  const char *mnemonic; /* and its name */
  bool reads_unwritten; /* it reads what was never written: it is in error, said or not */
  struct scope *scope;
};

/* operand.c */
uint32_t mx__new_reg(struct lower *l, const char *name, int type, struct ir_loc loc);
uint32_t mx__reg_of(struct lower *l, struct sym *y);
struct ir_insn *mx__emit(struct lower *l, unsigned op, unsigned mod, uint32_t nopnds);
void mx__push_reg(struct lower *l, struct vals *vs, uint32_t reg);
void mx__push_const(struct lower *l, struct vals *vs, uint64_t v);
struct val *mx__push(struct lower *l, struct vals *vs);
bool mx__operand(struct lower *l, const struct opnd *o, struct vals *vs,
                 bool generic);                               /* adds values; false: reported */
bool mx__value_reg(struct lower *l, struct val *v, int type); /* makes it a register of this type, if it is none */
/* Reports that a register is read before it is written, unless an earlier error explains that. search: whether to look
 * for a similar name. */
void mx__unwritten(struct lower *l, const struct sym *y, struct ir_loc loc, bool search);
bool mx__guard_of(struct lower *l, const struct stmt *s, uint32_t *reg);
uint32_t mx__local_base(struct lower *l);
struct ir_insn *mx__emit_sreg(struct lower *l, uint32_t reg, unsigned sreg);
uint32_t mx__read_sreg(struct lower *l, unsigned sreg);
void mx__use_shared(struct lower *l, uint32_t var);
uint32_t mx__new_label(struct lower *l, const char *name, struct ir_loc loc);
void mx__bind_label(struct lower *l, uint32_t label);
void mx__branch(struct lower *l, uint32_t label, uint32_t guard, bool neg);
bool mx__find_sreg(const char *name, uint32_t lanes, int bits, uint32_t *number);

/* choose.c */
bool mx__emit_instruction(struct lower *l, const char *mnemonic, const char *row, struct vals *vs, uint32_t guard,
                          bool guard_neg, struct ir_loc loc);
int mx__last_type(const char *mnemonic, unsigned *count); /* last type suffix; MX_T_none */

/* call.c */
bool mx__is_param_access(const char *mnemonic); /* ld.param, st.param */
void mx__kernel_params(struct lower *l);        /* lays them out */
void mx__declare_slots(struct lower *l);        /* arguments and results of a .func */
void mx__scan_params(struct lower *l);          /* which of them must lie in memory */
void mx__store_arguments(struct lower *l);      /* stores these there */
void mx__place_call_vars(struct lower *l);      /* arrays that may lie where the callee looks for them */
void mx__load_results(struct lower *l);         /* from memory to their slots */
bool mx__lower_param_access(struct lower *l, const struct stmt *s,
                            uint32_t guard); /* false: as any other instruction */
void mx__lower_call(struct lower *l, const struct stmt *s, uint32_t guard);
void mx__lower_physical_call(struct lower *l, const struct stmt *s);

/* expand.c: an intrinsic whose operands have been chosen, as the instructions of its row */
bool mx__expand(struct lower *l, const struct row_match *m, const struct ir_opnd *opnds, uint32_t guard, bool guard_neg,
                struct ir_loc loc);
const char *mx__plain_spelling(struct mx_arena *a, const char *spelling);
const char *mx__signature(struct lower *l); /* a hint: what the overloads being chosen take; NULL for opcodes */

/* named.c: calls of functions that only the tables have; operands as a call's slots */
bool mx__is_named(struct lower *l, const char *name);
bool mx__lower_named(struct lower *l, const struct stmt *s, const char *name, const struct ir_opnd *res, uint32_t nres,
                     const struct ir_opnd *args, uint32_t nargs);

/* print.c: printf, whose operands are made */
void mx__lower_printf(struct lower *l, const struct stmt *s, struct vals *vs, uint32_t guard);

const char *mx__lower_hints(struct lower *l, const struct stmt *s, struct vals *vs); /* hints.c */

/* lower.c */
void mx__lower_func(struct front *f, struct select *select, uint32_t *last_named_by, struct func *fn,
                    struct ir_func *out);
#endif

/* What asm/lower hands to asm/back: instructions whose rows are chosen and whose operands are virtual registers or
 * literals. "The front" below is all that comes before the back. */
#ifndef MX_ASM_IR_H
#define MX_ASM_IR_H

#include "core/module.h"

struct mx_arena; /* asm/common/arena.h */

struct ir_loc {
  uint32_t file, line, col, width;
}; /* file indexes ir_module.files; line 0: none */

/* A virtual register. `fixed` >= 0: the author wrote the physical slot (disassembly); allocation leaves it alone. */
struct ir_reg {
  const char *name; /* with its %, as written; NULL for one that the assembler made */
  uint8_t type;     /* enum mx_type as declared or inferred; its slot class follows */
  int32_t fixed;
  struct ir_loc loc;
};

enum ir_opnd_kind { IR_REG, IR_LIT, IR_RAW };
struct ir_opnd {
  uint8_t kind;
  uint32_t reg;      /* IR_REG: index into ir_func.regs */
  struct mx_lit lit; /* IR_LIT */
  uint32_t raw;      /* IR_RAW: the field itself */
};

#define IR_NONE UINT32_MAX

/* Operands are in the order of the row's shape (results first). By kind of row:
 *   general   opnds[0..nopnds)
 *   MOVI      opnds[0] = result, opnds[1] = IR_LIT value. The front writes MOV rows with a literal source; the back
 *             turns those whose value fits into MOVI.
 *   BRA       target = label; reconvergence is the back's work
 *   BRX       opnds[0] = index; table = number in ir_func.tables
 *   CALL      callee = function number, opnds = nres results, then arguments
 *   CALLI     callee = prototype number, opnds = nres results, then target address, then arguments
 *   spills    made by the back only
 * The front never leaves a guard on a row flagged NOGUARD: it branches around it. */
struct ir_insn {
  uint16_t op;
  uint8_t mod;
  bool guard_neg;
  bool fixed_reconv; /* the author wrote the reconvergence label (disassembly): keep it */
  uint32_t guard;    /* register of type pred, or IR_NONE */
  uint32_t target;   /* label, or IR_NONE */
  uint32_t reconv;   /* label, IR_NONE: the back's work (fixed_reconv: it is the function's end) */
  uint32_t callee, nres, table;
  uint32_t nopnds;
  struct ir_opnd *opnds;
  struct ir_loc loc;
};

struct ir_label {
  const char *name;
  uint32_t insn; /* index of the instruction that follows; ninsns: the end */
  struct ir_loc loc;
};
struct ir_table {
  uint32_t *labels;
  uint32_t nlabels;
};
struct ir_scope_name {
  uint32_t reg;
  const char *name;
};

struct ir_func {
  const char *name;
  uint32_t flags; /* enum in module.h */
  bool declared_only;
  struct ir_reg *regs;
  uint32_t nregs;
  struct ir_insn *insns;
  uint32_t ninsns;
  struct ir_label *labels;
  uint32_t nlabels;
  struct ir_table *tables;
  uint32_t ntables;
  struct mx_proto *protos;
  uint32_t nprotos;
  struct mx_param *params;
  uint32_t nparams, param_bytes; /* kernels */
  uint32_t *args, *results;
  uint32_t nargs, nresults; /* device functions: registers, in order */
  uint32_t arg_bytes, local_bytes;
  uint32_t *shared;
  uint32_t nshared; /* shared variables named in this function itself; the back adds its callees' */
  uint32_t maxntid[3], reqntid[3], minnctapersm, reqncta[3], maxclusterrank;
  /* `.slots`: a disassembled function, taken as written. Every register is fixed; the back allocates, folds, moves and
   * inserts nothing; slots are n32, n64, npred, nspill32, nspill64, nspillpred; names come from here alone, and lines
   * from the instructions' loc (file, line; 0: none). Labels without a name are not recorded. */
  bool physical;
  uint16_t slots[6];
  struct mx_name *names;
  uint32_t nnames;
  struct mx_local *locals;
  uint32_t nlocals; /* in the frame */
  struct ir_loc loc;
};

struct ir_module {
  uint32_t lanes, sm, ptx_version, address_size;
  bool one_slot_per_name; /* debugger sessions: allocation shares no slots between names */
  struct ir_func *funcs;
  uint32_t nfuncs;
  struct mx_var *vars;
  uint32_t nvars;
  const char **files;
  uint32_t nfiles;
};

/* The back's one entry: lays out code, allocates slots, and fills `out` from the arena of `out`. Diagnostics (code too
 * long, too many predicates that cannot be spilled ...) go to the assembly's diagnostic list. False: errors. */
struct mx_diags; /* asm/common/diag.h */
bool mx__asm_back(struct mx_arena *arena, struct mx_diags *diags, const struct ir_module *m, struct mx_image *out);

#endif

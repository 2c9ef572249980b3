/* What the parts of the assembler's back share: one function being laid out, as a copy that may be rewritten.
 * Separate from ir.h because the front must not see it; nothing here outlives mx__asm_back. */
#ifndef MX_ASM_BACK_H
#define MX_ASM_BACK_H

#include "asm/common/arena.h"
#include "cfg.h"
#include "asm/common/diag.h"
#include "asm/common/ir.h"

/* Where a register lives. Spilled registers live in cells; what instructions touch are short-lived temporaries. */
enum back_file { BACK_PRED, BACK_R32, BACK_R64, BACK_CELL_PRED, BACK_CELL_32, BACK_CELL_64, BACK_FILES };
#define BACK_CELLS (BACK_CELL_PRED - BACK_PRED) /* from a file of slots to its file of cells */
#define BACK_MAX_CELLS 65535u

struct back_reg {
  const char *name;
  uint8_t type;
  uint8_t width;  /* slots it takes: 2 for .b128, else 1 */
  uint8_t file;   /* enum back_file */
  bool temporary; /* made by a spill: may not be spilled itself */
  bool one_write; /* made by the front for one instruction: written once, and never read by lanes that did not write it
                   */
  int32_t fixed;
  uint32_t slot; /* the answer of allocation */
};

/* In the operands of a body, `raw` of an IR_REG is 0, or 1 for the high half of a .b128 register. The cell operand
 * of a SPILL or FILL row stands as the spilled register itself, in the place of the cell's low ten bits. */
struct back_body {
  struct mx_arena *arena; /* scratch */
  struct mx_diags *diags;
  const struct ir_module *module;
  const struct ir_func *func;
  struct ir_insn *insns;
  uint32_t ninsns;
  struct back_reg *regs;
  uint32_t nregs, regs_capacity;
  uint32_t *labels;
  uint32_t nlabels;             /* instruction that follows each */
  uint32_t *args, *results;     /* func->nargs, func->nresults registers */
  uint32_t slots[BACK_FILES];   /* the answer of allocation: how many of each file */
  const struct back_live *live; /* of the final instructions */
};

bool mx__insn_ends(const struct ir_insn *in); /* control never reaches the next instruction */
bool mx__insn_is_spill(uint16_t op);
bool mx__insn_is_fill(uint16_t op);
/* Whether operand k is written. */
bool mx__insn_writes(const struct ir_insn *in, uint32_t k);
uint32_t mx__body_add_reg(struct back_body *b, struct back_reg reg);
uint8_t mx__type_file(uint8_t type);
uint8_t mx__type_width(uint8_t type);

/* Rewriting a body instruction by instruction: begin, then for every old instruction set place[i] = n and emit what
 * replaces it, then finish. What is emitted before place[0] is set runs once, before any label. */
struct back_rewrite {
  struct ir_insn *insns;
  uint32_t n, capacity;
  uint32_t *place;
};
struct back_rewrite mx__rewrite_begin(struct back_body *b);
void mx__rewrite_emit(struct back_body *b, struct back_rewrite *w, struct ir_insn in);
void mx__rewrite_finish(struct back_body *b, struct back_rewrite *w);
/* An unguarded instruction of the assembler's own. */
struct ir_insn mx__insn_make(struct back_body *b, uint16_t op, struct ir_loc loc, const struct ir_opnd *opnds,
                             uint32_t n);
struct ir_opnd mx__opnd_reg(uint32_t reg);
struct ir_opnd mx__opnd_value(uint64_t value);

/* ---- waits.c: while which blocks lanes may wait before a block. */
struct back_wait {
  uint32_t block, begin, end; /* while the blocks order[begin] .. order[end] run */
};
struct back_waits {
  uint32_t *order; /* of blocks */
  struct back_wait *at;
  uint32_t n;
  uint64_t work; /* how many blocks these are, together */
};
struct back_waits *mx__waits(struct mx_arena *arena, const struct cfg *g);

/* ---- liveness.c: for each register the ranges of instructions before which its value must be kept. */
struct back_range {
  uint32_t lo, hi;
};
struct back_live {
  uint32_t *at; /* ranges of register r: at[r] .. at[r + 1], ascending, disjoint, not touching */
  struct back_range *ranges;
  float *weight; /* reads and writes of r, each counted ten times per loop around it */
};
/* kept: of registers of these files, values that waiting lanes need count as alive as well. */
struct back_live *mx__liveness(const struct back_body *b, const struct cfg *g, const bool kept[BACK_FILES]);

/* ---- allocate.c. False: it does not fit, and there is a diagnostic. */
bool mx__allocate(struct back_body *b);

/* ---- spill.c: moves registers marked in `spilled` to cells and rewrites the instructions. */
void mx__spill(struct back_body *b, const bool *spilled);

/* ---- unwritten.c: warns of registers that are certainly read before they are written. */
void mx__warn_unwritten(const struct back_body *b);

/* ---- literals.c: MOV of constants becomes MOVI; literals that the pool cannot hold are made by instructions. */
bool mx__literals(struct back_body *b);

#endif

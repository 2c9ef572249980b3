/* The instruction set as data: types, classes, encoding, and the table's rows as structures.
 *
 * Lowest layer: knows neither text nor machine. Everything that must agree between assembler, verifier,
 * interpreter and JIT about the shape of an instruction stands here, once; what an instruction *does*
 * stands in opcodes.def. */
#ifndef MX_ISA_H
#define MX_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- value types -----------------------------------------------------------------------------------
 * X(name, slot class, bits, C type of one lane). 8- and 16-bit values live zero-extended in 32-bit slots.
 * f16, bf16 and the packed types are carried as bits; opcodes.def says what they mean. */
#define MX_TYPES(X) \
  X(pred, PRED, 1, uint8_t) \
  X(u8, R32, 8, uint8_t) \
  X(s8, R32, 8, int8_t) \
  X(b8, R32, 8, uint8_t) \
  X(u16, R32, 16, uint16_t) \
  X(s16, R32, 16, int16_t) \
  X(b16, R32, 16, uint16_t) \
  X(f16, R32, 16, uint16_t) \
  X(bf16, R32, 16, uint16_t) \
  X(u32, R32, 32, uint32_t) \
  X(s32, R32, 32, int32_t) \
  X(b32, R32, 32, uint32_t) \
  X(f32, R32, 32, float) \
  X(f16x2, R32, 32, uint32_t) \
  X(bf16x2, R32, 32, uint32_t) \
  X(u64, R64, 64, uint64_t) \
  X(s64, R64, 64, int64_t) X(b64, R64, 64, uint64_t) X(f64, R64, 64, double) X(b128, R128, 128, mx_b128)

typedef struct {
  uint64_t lo, hi;
} mx_b128;

enum mx_type {
#define X(n_, c_, b_, t_) MX_T_##n_,
  MX_TYPES(X)
#undef X
  /* operands that are not values of a lane */
  MX_T_raw, /* the 10-bit field itself, unsigned: special register number, barrier kind, byte selector */
  MX_T_off, /* an address offset: a literal, read as one s64, never a register */
  MX_T_none,
  MX_T_COUNT
};

#define X(n_, c_, b_, t_) typedef t_ mx_##n_;
MX_TYPES(X)
#undef X

/* ---- slots ------------------------------------------------------------------------------------------
 * A function has n32 32-bit slots, n64 64-bit slots and npred predicate slots, numbered from its frame.
 * A .b128 is an even pair of 64-bit slots (low half first). */
enum mx_slot_class { MX_PRED, MX_R32, MX_R64, MX_R128, MX_NOCLASS };
#define MX_MAX_SLOTS 512 /* of R32 and of R64 each, in one function; more live values are spilled */
#define MX_MAX_PREDS 31  /* predicate 31 in a guard field means "no guard" */
#define MX_MAX_LITS 512  /* literals of one function; a literal beyond that is made by MOVI */
#define MX_MAX_LANES 64

/* ---- an instruction word -----------------------------------------------------------------------------
 *
 *   bits 0..10 opcode   11..15 guard predicate (31: none)   16 guard negated   17..23 modifier
 *   general:  24..33, 34..43, 44..53, 54..63: operand fields 0..3
 *   branch:   24..43 target pc, 44..63 reconvergence pc       (MX_F_BRANCH)
 *   movi:     24..33 d, then 30 low bits of the value, its 2 high bits in modifier bits 0..1 (MX_F_MOVI)
 *   call:     24..43 function number, 44..53 number of results, 54..63 number of arguments (MX_F_CALL);
 *             extension words carry the result slots, then the argument operands
 *
 * An operand field of 10 bits is a slot number (below 512) or 512 + literal number. Which class the slot
 * belongs to follows from the operand's type in the table. More than four operands continue in extension
 * words, six fields of ten bits each from bit 0 (bits 60..63 zero). pcs count words from the start of the function. */
typedef uint64_t mx_word;
#define MX_LIT 512u /* operand fields from here on name literals */
#define MX_GUARD_NONE 31u
#define MX_PC_RET 0xFFFFFu /* as a reconvergence point: the lanes meet again where the function returns */
#define MX_MAX_CODE 0xFFFF0u

#define MX_EXT_FIELDS 6u

static inline unsigned mx_w_op(mx_word w) { return (unsigned)(w & 0x7FF); }
static inline unsigned mx_w_guard(mx_word w) { return (unsigned)(w >> 11 & 31); }
static inline bool mx_w_guard_neg(mx_word w) { return w >> 16 & 1; }
static inline unsigned mx_w_mod(mx_word w) { return (unsigned)(w >> 17 & 0x7F); }
static inline unsigned mx_w_field(mx_word w, unsigned k) { return (unsigned)(w >> (24 + 10 * k) & 0x3FF); }
static inline unsigned mx_w_ext_field(mx_word w, unsigned k) { return (unsigned)(w >> (10 * k) & 0x3FF); }
static inline uint32_t mx_w_target(mx_word w) { return (uint32_t)(w >> 24 & 0xFFFFF); }
static inline uint32_t mx_w_reconv(mx_word w) { return (uint32_t)(w >> 44 & 0xFFFFF); }
static inline uint32_t mx_w_movi(mx_word w) { return (uint32_t)(w >> 34) | (uint32_t)(w >> 17 & 3) << 30; }
static inline uint32_t mx_w_callee(mx_word w) { return mx_w_target(w); }
static inline unsigned mx_w_nres(mx_word w) { return mx_w_field(w, 2); }
static inline unsigned mx_w_narg(mx_word w) { return mx_w_field(w, 3); }

static inline mx_word mx_w_make(unsigned op, unsigned guard, bool neg, unsigned mod) {
  return (mx_word)op | (mx_word)guard << 11 | (mx_word)neg << 16 | (mx_word)mod << 17;
}
static inline mx_word mx_w_put(unsigned k, unsigned field) { return (mx_word)field << (24 + 10 * k); }
static inline mx_word mx_w_put_ext(unsigned k, unsigned field) { return (mx_word)field << (10 * k); }
static inline mx_word mx_w_put_branch(uint32_t target, uint32_t reconv) {
  return (mx_word)target << 24 | (mx_word)reconv << 44;
}
static inline mx_word mx_w_put_movi(unsigned d, uint32_t v) {
  return (mx_word)d << 24 | (mx_word)(v & 0x3FFFFFFF) << 34 | (mx_word)(v >> 30) << 17;
}

/* ---- classes and flags of a row ---------------------------------------------------------------------*/
enum mx_class {
  MX_LANE,  /* each lane by itself; no side effect; total: any input has a result */
  MX_CROSS, /* lanes of a warp see each other */
  MX_MEM,   /* touches memory */
  MX_CTRL,  /* moves the pc, the mask, the frame, or blocks */
};
/* What an instruction of a class adds to the clock of its warp, whatever its lanes. */
#define MX_TICKS_LANE 1u
#define MX_TICKS_CROSS 2u
#define MX_TICKS_MEM 4u
#define MX_TICKS_CTRL 1u
static inline uint32_t mx_ticks(uint8_t cls) {
  return cls == MX_MEM     ? MX_TICKS_MEM
         : cls == MX_CROSS ? MX_TICKS_CROSS
         : cls == MX_CTRL  ? MX_TICKS_CTRL
                           : MX_TICKS_LANE;
}

enum mx_flag {
  MX_F_BRANCH = 1 << 0,   /* word layout "branch" */
  MX_F_MOVI = 1 << 1,     /* word layout "movi" */
  MX_F_CALL = 1 << 2,     /* word layout "call" */
  MX_F_TRAP = 1 << 3,     /* may trap */
  MX_F_CANON = 1 << 4,    /* a NaN result is the type's canonical one */
  MX_F_SYNC = 1 << 5,     /* may block until other lanes arrive */
  MX_F_END = 1 << 6,      /* unguarded, control never reaches the next word */
  MX_F_VOLATILE = 1 << 7, /* ends a region: may not be reordered with other memory accesses */
  MX_F_UNIFORM = 1 << 8,  /* every lane gets the same value */
  MX_F_COMMUTE = 1 << 9,  /* operands A and B may be exchanged (commutative also in its NaN results) */
  MX_F_NOGUARD = 1 << 10, /* takes no guard: the assembler branches around it instead */
  MX_F_HIDDEN = 1 << 11,  /* made by the assembler only; not a spelling for people */
  MX_F_W32 = 1 << 12,     /* only in modules of 32 lanes */
  MX_F_W64 = 1 << 13,     /* only in modules of 64 lanes */
  MX_F_WHOLE = 1 << 14,   /* all lanes of the warp execute it together (SYNC, without a membermask) */
  /* OPX: the body needs operands, the mask and the block, but no splits, so compiled code can call it on its own
   * values; it ends with MX_EV_STALE_WARP, nothing done, where it needs more */
  MX_F_IN_PLACE = 1 << 15,
  MX_F_CANONICAL = 1 << 16, /* with CANON: the meaning's own NaN results are canonical, and need not be made so */
};

/* What an instruction does, as far as those want to know who look at instructions without executing them: verifier,
 * debugger, checkers, analyses. At most one for a row, written among its flags: DOES(FENCE). */
enum mx_effect {
  MX_DOES_NOTHING, /* that anybody asks for */
  MX_DOES_FENCE,   /* orders memory accesses */
  MX_DOES_ARRIVE,  /* arrives at a barrier of the block or the cluster; with MX_F_SYNC it waits there, too */
  MX_DOES_AWAIT,   /* waits at a barrier at which it has arrived before */
  MX_DOES_MEET,    /* waits for lanes of its warp, and does nothing else */
  MX_DOES_EXIT,    /* ends the thread */
  MX_DOES_RETURN,
  MX_DOES_ALLOCATE, /* local memory, until the function returns */
  MX_DOES_MALLOC,
  MX_DOES_FREE,
  MX_DOES_COPY,     /* bytes in memory, before the next instruction */
  MX_DOES_ASYNC,    /* issues copies, stores or reductions that land later, ends groups of them, or waits for them */
  MX_DOES_MBARRIER, /* works on an mbarrier */
  MX_DOES_IMAGE,    /* uses a texture, a surface or a sampler, whose number is an operand */
  MX_DOES_SHUFFLE,  /* reads a value of another lane */
  MX_DOES_BALLOT,   /* makes a mask of lanes */
  MX_DOES_VOTE,     /* asks whether a predicate holds in all lanes, any, or equally in all */
  MX_DOES_REDUCE,   /* joins the values of lanes */
  MX_DOES_ELECT,    /* names one of the lanes */
  MX_DOES_SPILL,
  MX_DOES_FILL,
  MX_DOES_SREG, /* reads a special register */
};
#define MX_EFFECT_SHIFT 17

enum mx_role { MX_IN, MX_OUT };
/* Operands that the text may leave out, in this order of preference; a text that gives all operands gives these too
 * (as disassembly does).
 *   MX_CARRY      the carry of extended-precision arithmetic: a predicate register `%cc` that the assembler declares,
 *                 one to a function, written by *.cc and read by addc, subc, madc
 *   MX_SELECTORS  a literal that packs what the text writes on operands of video instructions.
 *                 Scalar ones (vadd ...): 3 bits each for d (bit 0), a (3), b (6): 0 whole, 1 to 4 .b0 to .b3,
 *                 5 and 6 .h0 and .h1; bits 9, 10, 11: a, b, c negated (vmad).
 *                 Vector ones (vadd2, vadd4 ...): bits 0 to 3 the mask on d (all of its elements if none is written);
 *                 from bit 4 and from bit 16 the source of each element of a and of b, 3 bits each, lowest element
 *                 first (the last digit of .h10, .b3210); if none is written, elements 0, 1, ... for a and the
 *                 following ones for b
 *   MX_SAMPLER    literal 0: the texture is read as it says itself; the text has an operand there that is in no braces
 *   MX_ZERO       literal 0 (the third source of scalar video instructions, the count of barriers) */
enum mx_implicit { MX_EXPLICIT, MX_CARRY, MX_SELECTORS, MX_SAMPLER, MX_ZERO };
/* Which numbers an operand of type raw may be: X(name, least, most, step); step 0: powers of two. */
#define MX_RANGES(X) \
  X(FIELD, 0, 1023, 1) \
  X(COPY, 4, 16, 0) \
  X(COPY_16, 16, 16, 1) X(EVENT, 0, 15, 1) X(REGISTERS, 24, 256, 8) X(LANE, 0, 3, 1) X(PAIR, 0, 1, 1) X(ALL, 0, 0, 1)
enum mx_range_name {
#define X(n_, least_, most_, step_) MX_RANGE_##n_,
  MX_RANGES(X)
#undef X
};
/* Of the numbers of bytes that cp.async copies. */
static inline bool mx_is_copy_size(unsigned range) { return range == MX_RANGE_COPY || range == MX_RANGE_COPY_16; }
struct mx_range {
  uint16_t least, most, step;
};
extern const struct mx_range mx__ranges[];
static inline bool mx_in_range(unsigned range, uint64_t n) {
  return n >= mx__ranges[range].least && n <= mx__ranges[range].most &&
         (mx__ranges[range].step ? n % mx__ranges[range].step == 0 : !(n & (n - 1)));
}
/* vector: operands of one number stand in braces together; 0: none. Only rows where braces matter have it. */
struct mx_opnd {
  uint8_t role, type, implicit, range, vector;
};
#define MX_MAX_OPNDS 32

/* One row of the table. `spelling` is a pattern:
 *   {a|b=c|}  one of these (b and c are the same one, b is printed), its number is a digit of the modifier (first
 *             brace group least significant)
 *   <a|b>   one of these; they mean the same, the first is printed by the disassembler
 *   [a|b]   optional and without meaning here (cache hints); never printed
 * Groups do not nest; everything else is literal text. `mods` is the product of the brace groups' sizes. */
struct mx_op_info {
  const char *id;
  const char *spelling;
  uint8_t nopnds;
  struct mx_opnd opnd[MX_MAX_OPNDS];
  uint8_t cls;
  uint8_t mods;
  uint32_t flags;
  const char *doc;
  const char *meaning; /* its text, for the reference and the table's digest */
};

enum mx_op {
#define OP(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) MX_##id_,
#include "core/opcodes.def"
  MX_OP_COUNT
};

extern const struct mx_op_info mx__ops[MX_OP_COUNT];

struct mx_type_info {
  const char *name;
  uint8_t slot_class, bits;
};
extern const struct mx_type_info mx__types[MX_T_COUNT];

static inline enum mx_effect mx__effect(unsigned op) { return (enum mx_effect)(mx__ops[op].flags >> MX_EFFECT_SHIFT); }
/* Whether this is the outermost word of a row's meaning ("A": the operand itself), or the first word of its spelling.
 */
bool mx__means(unsigned op, const char *word);
bool mx__is_spelled(unsigned op, const char *word);

/* What a row computes of integers of 32 or 64 bits, modulo its result's width, where it is one of these: so analyses
 * follow an address or a loop's counter through instructions without executing them. It is read off the row's meaning
 * (mx__form in isa.c), so a new row that says ADD(u32, A, B) is followed as well. Where the result has 64 bits and a
 * factor 32, the factor is extended first, by the sign of its type. */
enum mx_form {
  MX_FORM_OTHER,
  MX_FORM_COPY,   /* A */
  MX_FORM_EXTEND, /* A, extended from 32 bits to 64 by the sign of its type */
  MX_FORM_ADD,    /* A + B */
  MX_FORM_SUB,    /* A - B */
  MX_FORM_MUL,    /* A * B */
  MX_FORM_MAD,    /* A * B + C */
  MX_FORM_SHIFT,  /* A * 2^B, and 0 where B is not below the width */
  MX_FORM_SELECT, /* A where the predicate C holds, else B */
  MX_FORM_CUT,    /* the low 32 bits of 64 */
  MX_FORM_FIT,    /* A of 64 bits, of which the low 32 are extended again by the sign of a type */
  MX_FORM_DOWN,   /* the signed A / 2^B, rounded down */
  MX_FORM_DOWN_U, /* the same without a sign, and 0 where B is not below the width */
  MX_FORM_AND,    /* A & B */
  MX_FORM_OR,     /* A | B */
};
enum mx_form mx__form(unsigned op, unsigned mod);
/* How an instruction of MX_FORM_EXTEND or MX_FORM_FIT makes 64 bits of 32. */
enum mx_extension { MX_EXTENDS_NOTHING, MX_EXTENDS_ZERO, MX_EXTENDS_SIGN };
enum mx_extension mx__extension(unsigned op, unsigned mod);

/* The memory that a row's instruction touches at its (first) address, where the row is one of OPM. */
enum mx_access_kind { MX_NO_ACCESS, MX_ACCESS_LOAD, MX_ACCESS_STORE, MX_ACCESS_ATOMIC };
struct mx_row_access {
  uint8_t kind, type, elements; /* type: in memory */
  const char *combine;          /* of an atomic on one element: how the table names what it does with it */
};
extern const struct mx_row_access mx__row_access[MX_OP_COUNT];

/* The canonical spelling of modifier `mod`, at most n bytes with the NUL. */
void mx__spell(const struct mx_op_info *o, unsigned mod, char *s, size_t n);
/* Of how many places an instruction remembers the bounds of the memory that it touched last: one for each address. */
static inline unsigned mx__bounds_count(const struct mx_op_info *o) {
  unsigned addresses = 0;
  for (unsigned k = 0; k < o->nopnds; k++) addresses += o->opnd[k].type == MX_T_off;
  return addresses ? addresses : o->cls == MX_MEM;
}

/* Words that the instruction takes, extension words included. */
static inline unsigned mx_w_length(mx_word w) {
  const struct mx_op_info *o = &mx__ops[mx_w_op(w)];
  unsigned n = o->flags & MX_F_CALL ? mx_w_nres(w) + mx_w_narg(w) + 4 : o->nopnds;
  return n <= 4 ? 1 : 1 + (n - 4 + MX_EXT_FIELDS - 1) / MX_EXT_FIELDS;
}

/* Sets operand field k of an instruction whose words begin at w; it was 0. */
static inline void mx_w_set_operand(mx_word *w, unsigned k, unsigned field) {
  if (k < 4) w[0] |= mx_w_put(k, field);
  else w[1 + (k - 4) / MX_EXT_FIELDS] |= mx_w_put_ext((k - 4) % MX_EXT_FIELDS, field);
}
/* Operand k of a general instruction whose first word is *w. */
static inline unsigned mx_w_operand(const mx_word *w, unsigned k) {
  return k < 4 ? mx_w_field(*w, k) : mx_w_ext_field(w[1 + (k - 4) / MX_EXT_FIELDS], (k - 4) % MX_EXT_FIELDS);
}

/* ---- special registers: X(id, name, type, varies, doc); numbers are their order in sregs.def -------- */
enum mx_sreg {
#define SREG(id_, name_, type_, varies_, doc_) MX_SR_##id_,
#include "core/sregs.def"
  MX_SR_COUNT
};
enum mx_varies {
  MX_PER_LANE,
  MX_PER_READ /* of a clock: moves with what the warp does */,
  MX_PER_WARP,
  MX_PER_BLOCK,
  MX_PER_LAUNCH
};
struct mx_sreg_info {
  const char *name;
  uint8_t type, varies;
  const char *doc;
};
extern const struct mx_sreg_info mx__sregs[MX_SR_COUNT];

/* Address spaces, in the order of the space digit of ld/st/atom spellings. */
enum mx_space { MX_GENERIC, MX_GLOBAL, MX_SHARED, MX_LOCAL, MX_CONST, MX_PARAM, MX_SPACES };

/* FNV-1a digest (this layer does not depend on xxHash) of the whole table (spelling, operands, meanings): part of
 * module headers and cache keys. Computed once from mx__ops; a module assembled with another table is refused. */
uint64_t mx__table_digest(void);

#endif

/* Values of lanes as the compiler builds them: chunks of lanes in explicit vectors, 16, 8 or 4 lanes where these have
 * 512, 256 or 128 bits.
 *
 * A value of up to 32 bits is one vector, of 64 bits two (its halves), a predicate a mask. Every operation is one
 * statement for each vector: GNU vector arithmetic where libgccjit 12 supports it, otherwise an asm of one instruction
 * (compare, blend, convert, gather), which is in the file of the CPU level (struct jx_isa). Nothing is left to the
 * auto-vectoriser: measured on Mandelbrot, 5.3 ms against 15 for fused scalar loops, and compile time grows evenly.
 * Knows nothing of slots, control flow or the machine. */
#ifndef MX_JITC_LANES_H
#define MX_JITC_LANES_H

#include "core/isa.h"

#include <libgccjit.h>

#define JX_MOST_LANES 16u /* of a chunk */

/* What is known of an integer of 64 bits: that it is a zero-extended or a sign-extended one of 32 bits. */
enum { JX_UNSIGNED_32 = 1, JX_SIGNED_32 = 2 };
/* One chunk of a value. u: the value is uniform, so that one chunk stands for all, and both halves of a 64-bit value
 * are the same vector. k: it is a constant, kv its bits (zero-extended from the type). canonical: its NaNs are.
 * number: of a mask, the floats of 64 bits of which it says whether they are numbers. */
typedef struct jv {
  uint8_t t, low; /* low: of JX_UNSIGNED_32 and JX_SIGNED_32, those that are known */
  bool u, k, canonical;
  uint64_t kv;
  gcc_jit_rvalue *r[2], *number;
  gcc_jit_rvalue *s, *s_of; /* s: the value as a number, of a uniform one whose vector is s_of; see jx_scalar() */
} jv;
/* The value as a number of 32 or 64 bits, if it is known without asking the vector; or NULL. */
static inline gcc_jit_rvalue *jx_scalar(jv v) { return v.s && v.s_of == v.r[0] ? v.s : NULL; }
static inline jv jx_with_scalar(jv v, gcc_jit_rvalue *s) {
  v.s = s, v.s_of = v.r[0];
  return v;
}

#define JX_CONSTS 512
#define JX_OWNS 64 /* there are fewer kinds of such functions */
#define JX_CASTS 256
struct jx {
  const struct jx_isa *isa;
  unsigned w, bytes; /* w: lanes of a chunk; bytes: of a vector */
  gcc_jit_context *c;
  gcc_jit_function *fn;
  gcc_jit_block *b; /* the block to which statements are added */
  gcc_jit_type *t_void, *t_bool, *t_int, *t_u8, *t_u16, *t_u32, *t_u64, *t_ptr, *t_pu8;
  gcc_jit_type *vu32, *vs32, *vf32, *vu64, *vs64, *vf64;
  gcc_jit_type *t_mask; /* a mask of the lanes of a chunk */
  unsigned mask_bytes;
  struct {
    char what[24];
    gcc_jit_function *f;
  } owns[JX_OWNS]; /* functions of the object, called by its code: lanes_v2v3.c */
  unsigned nowns;
  bool bad;        /* an operation was asked for that has no vector form here */
  bool multiplies; /* a float was multiplied or divided, or a square root taken */
  /* results need not be the table's where `doubtful`, a float of 64 bits, is a NaN: its user looks whether it is */
  bool may_doubt;
  gcc_jit_rvalue *doubtful;
  unsigned serial;
  struct {
    bool wide;
    uint64_t bits;
    gcc_jit_rvalue *r;
  } consts[JX_CONSTS];
  unsigned nconsts;
  struct {
    gcc_jit_rvalue *r, *of;
  } casts[JX_CASTS]; /* the latest vectors that were reinterpreted as another type */
  unsigned ncasts;
  jv values[1024]; /* the values of the meaning that is being built */
  unsigned nvalues;
};

void jx_init(struct jx *j, gcc_jit_context *c, const struct jx_isa *isa);

/* ---- statements ----------------------------------------------------------------------------------------*/
gcc_jit_lvalue *jx_local(struct jx *j, gcc_jit_type *t);
static inline gcc_jit_rvalue *jx_rv(gcc_jit_lvalue *l) { return gcc_jit_lvalue_as_rvalue(l); }
void jx_set(struct jx *j, gcc_jit_lvalue *l, gcc_jit_rvalue *r);
/* Puts r in a local variable: libgccjit evaluates an rvalue at each of its uses. */
gcc_jit_rvalue *jx_keep(struct jx *j, gcc_jit_rvalue *r);
gcc_jit_rvalue *jx_op(struct jx *j, enum gcc_jit_binary_op op, gcc_jit_type *t, gcc_jit_rvalue *x, gcc_jit_rvalue *y);
gcc_jit_rvalue *jx_int(struct jx *j, gcc_jit_type *t, uint64_t v);
gcc_jit_rvalue *jx_bits(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *r);
/* Adds one instruction: its text, the output's constraint and variable, then n pairs of constraint and input. */
gcc_jit_extended_asm *jx_asm(struct jx *j, const char *text, const char *oc, gcc_jit_lvalue *out, int n, ...);
/* As jx_asm, but the output is a new local variable of type t. */
gcc_jit_rvalue *jx_ask(struct jx *j, const char *text, const char *oc, gcc_jit_type *t, int n, ...);

/* ---- types ----------------------------------------------------------------------------------------------*/
static inline unsigned jx_bitsof(unsigned t) { return mx__types[t].bits; }
static inline bool jx_wide(unsigned t) { return mx__types[t].slot_class == MX_R64; }
static inline bool jx_signed(unsigned t) { return t == MX_T_s8 || t == MX_T_s16 || t == MX_T_s32 || t == MX_T_s64; }
static inline bool jx_float(unsigned t) { return t == MX_T_f32 || t == MX_T_f64; }
static inline unsigned jx_halves(const jv *v) { return jx_wide(v->t) ? 2 : 1; }
gcc_jit_type *jx_type(struct jx *j, unsigned t); /* of one vector, or of a mask */

/* ---- values -----------------------------------------------------------------------------------------------*/
enum jx_bin { JX_ADD, JX_SUB, JX_MUL, JX_DIV, JX_REM, JX_AND, JX_OR, JX_XOR, JX_SHL, JX_SHR, JX_MULHI };
enum jx_cmp { JX_EQ, JX_NE, JX_LT, JX_LE, JX_GT, JX_GE };
enum jx_un { JX_NEG, JX_NOT, JX_SQRT, JX_RINT, JX_FLOOR, JX_CEIL, JX_TRUNC, JX_POPC, JX_CLZ };
jv jv_k(struct jx *j, unsigned t, uint64_t bits);
jv jv_kf(struct jx *j, unsigned t, double v);
jv jv_as(struct jx *j, unsigned t, jv x); /* the same bits as another type of that width */
jv jv_cvt(struct jx *j, unsigned to, unsigned from, jv x);
jv jv_bin(struct jx *j, enum jx_bin op, unsigned t, jv x, jv y);
jv jv_cmp(struct jx *j, enum jx_cmp op, unsigned t, jv x, jv y);
jv jv_un(struct jx *j, enum jx_un op, unsigned t, jv x);
jv jv_sel(struct jx *j, unsigned t, jv c, jv x, jv y);
jv jv_fma(struct jx *j, unsigned t, jv x, jv y, jv z);
/* Operations on f64 with NaNs as the table says: by the processor's instruction and with the operands in this order,
 * the result is that of the first operand which is one, quieted, or else the default NaN. In an expression, gcc might
 * exchange the operands. In a fused sum the addend z counts before y. */
jv jv_first_nan(struct jx *j, enum jx_bin op, jv x, jv y);
jv jv_fma_first_nan(struct jx *j, jv x, jv y, jv z);
jv jv_only(struct jx *j, unsigned t, gcc_jit_rvalue *m, jv x); /* x, a float, in lanes of m, and 0 in all others */
jv jv_canon(struct jx *j, unsigned t, jv x);
jv jv_to_half(struct jx *j, jv x); /* of f32; as u16, NaNs are canonical. Only where the level has `to_half` */
/* A uniform value's first lane, as a scalar of type u32 or u64. */
gcc_jit_rvalue *jv_scalar(struct jx *j, jv x);
jv jv_broadcast(struct jx *j, unsigned t, gcc_jit_rvalue *scalar); /* u32 or u64 into b32, b64 types */
/* the same of a number that is in a variable, which stands for the value where a number is wanted */
jv jv_number(struct jx *j, unsigned t, gcc_jit_rvalue *kept);
uint8_t jx_low(jv x); /* which of JX_UNSIGNED_32 and JX_SIGNED_32 is known */
/* Masks are combined by jx_op with type t_mask. */
gcc_jit_rvalue *jx_mask_not(struct jx *j, gcc_jit_rvalue *m);

/* ---- what differs between CPU levels ------------------------------------------------------------------------*/
/* What differs between CPU levels. A vector holds a chunk's 32-bit lanes, or, with `wide`, half h of its 64-bit lanes.
 * Masks are of whole chunks. */
struct jx_isa {
  const char *name;           /* as the values of MX_LEVEL */
  const char *const *options; /* options for gcc, ended by NULL */
  unsigned lanes;             /* of a chunk */
  /* up to so many instructions, times a warp's chunks, slots are kept in registers rather than in memory: of functions
   * whose innermost loops all wait at barriers, and of others; see lw_slots_in_memory() */
  unsigned in_registers, in_registers_alone;
  const struct jx_isa *one; /* the table for chunks of one lane */
  bool three_operands;      /* vector instructions have three operands, and there is one for fused sums of f64 */
  /* masks are vectors of 0 and -1 in 32-bit lanes; otherwise integers with a bit for each lane */
  bool mask_is_vector;

  gcc_jit_rvalue *(*mask_any)(struct jx *j, gcc_jit_rvalue *m); /* a condition: the mask is not empty */
  /* the mask as a u64 in which bit 0 is the chunk's first lane */
  gcc_jit_rvalue *(*mask_bits)(struct jx *j, gcc_jit_rvalue *m);
  /* the same for four chunks at once; NULL: only one at a time */
  gcc_jit_rvalue *(*four_masks)(struct jx *j, gcc_jit_rvalue *const *m);
  /* the masks of n chunks, made of a u64's bits */
  void (*masks_of)(struct jx *j, gcc_jit_rvalue *bits, unsigned n, gcc_jit_rvalue **m);
  /* a mask of all lanes or of none, for a u64 that is 1 or 0 */
  gcc_jit_rvalue *(*mask_fill)(struct jx *j, gcc_jit_rvalue *bit);

  jv (*compare)(struct jx *j, enum jx_cmp op, unsigned t, jv x, jv y); /* of 32 and 64 bits */
  jv (*blend)(struct jx *j, unsigned t, jv c, jv x, jv y);
  jv (*widen)(struct jx *j, unsigned to, unsigned from, jv x); /* extends 32-bit integers to 64 bits */
  jv (*narrow)(struct jx *j, unsigned to, jv x);               /* cuts 64 bits to the low 32 */
  jv (*fit)(struct jx *j, jv x); /* cuts to 32 bits, too; numbers that do not fit become 2^31. NULL: composed */
  jv (*convert)(struct jx *j, unsigned to, unsigned from, jv x); /* from floats or to floats */
  /* f32 to the bits of f16, nearest-even, in 32-bit lanes; NaNs need not be canonical. NULL: composed, and so is the
   * conversion from f16 */
  gcc_jit_rvalue *(*to_half)(struct jx *j, gcc_jit_rvalue *x);
  /* n vectors of floats, in each what that instruction makes of nin ones (of three: vfmadd213ps), rounded towards zero,
   * down or up (0, 1, 2); NULL: the level has no instructions with three operands */
  void (*directed)(struct jx *j, const char *instruction, unsigned mode, unsigned nin, unsigned n,
                   gcc_jit_rvalue *(*in)[3], gcc_jit_rvalue **out);
  jv (*unary)(struct jx *j, enum jx_un op, unsigned t, jv x); /* square roots, roundings, counts of leading zeros */
  jv (*fma)(struct jx *j, unsigned t, jv x, jv y, jv z);
  /* The products of the low 32 bits of 64-bit lanes, unsigned or signed. */
  gcc_jit_rvalue *(*product)(struct jx *j, bool with_sign, gcc_jit_rvalue *x, gcc_jit_rvalue *y);

  gcc_jit_rvalue *(*broadcast)(struct jx *j, bool wide, gcc_jit_rvalue *scalar);
  /* the first lane's value, a u32 or u64 */
  gcc_jit_rvalue *(*first)(struct jx *j, bool wide, gcc_jit_rvalue *v);
  /* the first lane's value, broadcast to all lanes */
  gcc_jit_rvalue *(*first_everywhere)(struct jx *j, bool wide, gcc_jit_rvalue *v);

  gcc_jit_rvalue *(*above)(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y,
                           gcc_jit_rvalue *m); /* the lanes of m in which x > y, as unsigned 32-bit numbers */
  gcc_jit_rvalue *(*common)(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y,
                            gcc_jit_rvalue *m); /* the lanes of m in which x & y is not 0, of 32 bits */
  gcc_jit_rvalue *(*differ)(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *x, gcc_jit_rvalue *y,
                            gcc_jit_rvalue *m); /* x ^ y, or x if y is NULL, in the lanes of m, else 0 */
  void (*collect)(struct jx *j, bool wide, gcc_jit_lvalue *all, gcc_jit_rvalue *v, gcc_jit_rvalue *x,
                  gcc_jit_rvalue *y);                                     /* all |= v ^ (x + y) */
  gcc_jit_rvalue *(*any_bit)(struct jx *j, bool wide, gcc_jit_rvalue *v); /* a condition: the vector is not all zeros */

  /* Of 32-bit lanes; NULL: composed from other operations. logic: bit 4x + 2y + z of the table is the result. rotate:
   * to the right. */
  gcc_jit_rvalue *(*logic)(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y, gcc_jit_rvalue *z, unsigned table);
  gcc_jit_rvalue *(*rotate)(struct jx *j, gcc_jit_rvalue *x, unsigned n);
  /* The smaller or the larger of 32-bit floats: a number wins over a NaN, and -0 is less than +0. *canonical: whether
   * the result's NaNs are. NULL: composed from comparisons. */
  gcc_jit_rvalue *(*extreme)(struct jx *j, bool larger, gcc_jit_rvalue *x, gcc_jit_rvalue *y, bool *canonical);
  /* replaces NaNs of 32 bits by the canonical one; NULL: by a comparison */
  gcc_jit_rvalue *(*canon)(struct jx *j, gcc_jit_rvalue *x);
  /* the lanes in which x or y, of 32 bits, is a NaN; NULL: replacing a NaN costs no more than finding it */
  gcc_jit_rvalue *(*unordered)(struct jx *j, gcc_jit_rvalue *x, gcc_jit_rvalue *y);

  /* A permutation: each lane gets the element of the n chunks' lanes that its index names; NULL: the level has none. */
  gcc_jit_rvalue *(*choose)(struct jx *j, gcc_jit_rvalue *const *chunks, unsigned n, gcc_jit_rvalue *index);

  /* Of a chunk of 32-bit lanes: each lane gets the value of the lane whose number differs in bit `by`, which is less
   * than `lanes`. */
  gcc_jit_rvalue *(*exchange)(struct jx *j, gcc_jit_rvalue *v, unsigned by);

  /* Memory at any alignment. Lanes that are not in m are not accessed, and read as 0. */
  gcc_jit_rvalue *(*load)(struct jx *j, bool wide, gcc_jit_lvalue *cell);     /* all lanes */
  void (*store)(struct jx *j, gcc_jit_lvalue *cell, gcc_jit_rvalue *v);       /* all lanes */
  gcc_jit_rvalue *(*load_one)(struct jx *j, bool wide, gcc_jit_lvalue *cell); /* loads one element and broadcasts it */
  gcc_jit_rvalue *(*read)(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *m);
  gcc_jit_rvalue *(*read_one)(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *m);
  void (*write)(struct jx *j, bool wide, unsigned h, gcc_jit_lvalue *cell, gcc_jit_rvalue *v, gcc_jit_rvalue *m);
  /* Every second of the 32-bit words from `first` on; last: those that end with the chunk's last one. NULL: the level
   * gathers them as fast */
  gcc_jit_rvalue *(*every_second)(struct jx *j, gcc_jit_lvalue *first, gcc_jit_lvalue *last);
  /* Elements of 8 or 16 bits, zero-extended; of the lanes of m where masks are integers, otherwise of all lanes. */
  gcc_jit_rvalue *(*load_narrow)(struct jx *j, unsigned bits, gcc_jit_lvalue *cell);
  void (*write_narrow)(struct jx *j, unsigned bits, gcc_jit_lvalue *cell, gcc_jit_rvalue *v, gcc_jit_rvalue *m);
  /* Elements at base + index * scale, with a chunk's signed 32-bit indices. If lanes of a scatter write one address,
   * the highest lane's value stays. own: no other thread sees the memory, so that lanes that are not in the mask may
   * store, too, what others store. */
  gcc_jit_rvalue *(*gather)(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index,
                            unsigned scale, gcc_jit_rvalue *m);
  void (*scatter)(struct jx *j, bool wide, unsigned h, gcc_jit_rvalue *base, gcc_jit_rvalue *index, unsigned scale,
                  gcc_jit_rvalue *v, gcc_jit_rvalue *m, bool own);
  /* Quads of 32 bits: 16 bytes at base + number * scale for each lane, whose numbers lie in memory at `numbers`, into
   * four vectors one after the other, as a row of quads is loaded; zeros if `lanes`, a u32 of bits, is 0. NULL: the
   * level has no vectors for that. */
  void (*load_quads)(struct jx *j, gcc_jit_rvalue **v, gcc_jit_rvalue *base, gcc_jit_rvalue *numbers, unsigned scale,
                     gcc_jit_rvalue *lanes);
  /* As lw_deinterleave and lw_interleave; NULL: by `choose`, which takes elements of two vectors at once. */
  void (*deinterleave)(struct jx *j, gcc_jit_rvalue **v, unsigned n, bool wide);
  void (*interleave)(struct jx *j, gcc_jit_rvalue **v, unsigned n, bool wide);
};
extern const struct jx_isa jx_v2, jx_v3, jx_v4, jx_one, jx_one_v2;
const struct jx_isa *jx_isa_named(const char *name); /* NULL: no code is made for that level */

/* What the levels' files share with lanes.c. */
static inline jv jx_fresh(unsigned t, bool u) { return (jv){.t = (uint8_t)t, .u = u}; }
static inline gcc_jit_type *jx_vector(struct jx *j, bool wide) { return wide ? j->vu64 : j->vu32; }
jv jx_refuse(struct jx *j, unsigned t); /* marks that there is no vector form */
jv jx_spread(struct jx *j, jv x);       /* sign-extends values of 8 and 16 bits to full 32-bit lanes */
jv jx_trim(struct jx *j, jv v);         /* zero-extends results of 8 and 16 bits again */
/* A fused sum by one instruction with three operands; the constraints are for its registers, and for an operand that
 * may be in memory. */
jv jx_multiply_add(struct jx *j, unsigned t, jv x, jv y, jv z, const char *reg, const char *any);
void jx_touches_memory(gcc_jit_extended_asm *a);
/* The load_quads of a level: `insert` is its instruction that puts a quad into a vector, `letter` the modifier by which
 * an asm operand is written as a whole vector. */
void jx_load_quads(struct jx *j, gcc_jit_rvalue **v, gcc_jit_rvalue *base, gcc_jit_rvalue *numbers, unsigned scale,
                   gcc_jit_rvalue *lanes, const char *insert, char letter);
/* Prefetches the cache line of a cell, which need not exist. */
void jx_prefetch(struct jx *j, gcc_jit_lvalue *cell);

#endif

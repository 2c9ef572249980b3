/* Values of lanes as the compiler builds them: chunks of 16 lanes in explicit 512-bit vectors.
 *
 * A value of up to 32 bits is one vector, of 64 bits two, a predicate a 16-bit mask. Every operation is one statement
 * for each vector: GNU vector arithmetic where libgccjit 12 has it, else an asm of one instruction (compare, blend, convert,
 * gather). Nothing is left to the auto-vectoriser: measured on Mandelbrot, 5.3 ms against 15 for fused scalar
 * loops, and compile time grows evenly. Knows nothing of slots, control flow or the machine. */
#ifndef MX_JITC_LANES_H
#define MX_JITC_LANES_H

#include "mx/isa.h"

#include <libgccjit.h>

#define JX_W 16u /* lanes of a chunk */

/* One chunk of a value. u: all lanes of the warp have it, so that one chunk stands for all; then both halves of
 * a 64-bit value are the same vector. k: a constant, kv its bits (zero-extended from the type). */
typedef struct jv {
  uint8_t t;
  bool u, k;
  uint64_t kv;
  gcc_jit_rvalue *r[2];
} jv;

#define JX_CONSTS 512
struct jx {
  gcc_jit_context *c;
  gcc_jit_function *fn;
  gcc_jit_block *b; /* where statements go */
  gcc_jit_type *t_void, *t_bool, *t_int, *t_u8, *t_u16, *t_u32, *t_u64, *t_ptr, *t_pu8;
  gcc_jit_type *vu32, *vs32, *vf32, *vu64, *vs64, *vf64;
  gcc_jit_type *pv32, *pv64; /* pointers to vectors in memory */
  bool bad;         /* something was asked for that has no vector form here */
  unsigned serial;
  struct { bool wide; uint64_t bits; gcc_jit_rvalue *r; } consts[JX_CONSTS];
  unsigned nconsts;
};

void jx_init(struct jx *j, gcc_jit_context *c);

/* ---- statements ----------------------------------------------------------------------------------------*/
gcc_jit_lvalue *jx_local(struct jx *j, gcc_jit_type *t);
static inline gcc_jit_rvalue *jx_rv(gcc_jit_lvalue *l) { return gcc_jit_lvalue_as_rvalue(l); }
void jx_set(struct jx *j, gcc_jit_lvalue *l, gcc_jit_rvalue *r);
/* r in a local of its own: an rvalue that is used twice is evaluated twice */
gcc_jit_rvalue *jx_keep(struct jx *j, gcc_jit_rvalue *r);
gcc_jit_rvalue *jx_op(struct jx *j, enum gcc_jit_binary_op op, gcc_jit_type *t, gcc_jit_rvalue *x, gcc_jit_rvalue *y);
gcc_jit_rvalue *jx_int(struct jx *j, gcc_jit_type *t, uint64_t v);
gcc_jit_rvalue *jx_bits(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *r);
/* One instruction: template, output constraint and place, then n pairs of constraint and input. */
gcc_jit_extended_asm *jx_asm(struct jx *j, const char *text, const char *oc, gcc_jit_lvalue *out, int n, ...);
/* As jx_asm, into a new local of type t. */
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
jv jv_as(struct jx *j, unsigned t, jv x);   /* the same bits as another type of the same width */
jv jv_cvt(struct jx *j, unsigned to, unsigned from, jv x);
jv jv_bin(struct jx *j, enum jx_bin op, unsigned t, jv x, jv y);
jv jv_cmp(struct jx *j, enum jx_cmp op, unsigned t, jv x, jv y);
jv jv_un(struct jx *j, enum jx_un op, unsigned t, jv x);
jv jv_sel(struct jx *j, unsigned t, jv c, jv x, jv y);
jv jv_fma(struct jx *j, unsigned t, jv x, jv y, jv z);
jv jv_canon(struct jx *j, unsigned t, jv x);
/* Masks as plain rvalues. */
gcc_jit_rvalue *jx_mask_hi(struct jx *j, gcc_jit_rvalue *k);               /* k >> 8: of a 64-bit value's upper half */
gcc_jit_rvalue *jx_mask_join(struct jx *j, gcc_jit_rvalue *lo, gcc_jit_rvalue *hi);
/* A uniform value's first lane, as a scalar of type u32, u64, or 0 and not 0 for predicates. */
gcc_jit_rvalue *jv_scalar(struct jx *j, jv x);
jv jv_broadcast(struct jx *j, unsigned t, gcc_jit_rvalue *scalar); /* u32 or u64 into b32, b64 types */
gcc_jit_rvalue *jx_join_ymm(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *lo, gcc_jit_rvalue *hi);
gcc_jit_rvalue *jx_upper_ymm(struct jx *j, gcc_jit_type *t, gcc_jit_rvalue *v);

#endif

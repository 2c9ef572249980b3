/* Only the vocabulary of opcodes.def, expressed by functions of lanes.h; the expansion to C is core/vocab.h. */
#include "meaning.h"

#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wshadow"

/* Values of the meaning are passed by address: passing them by value makes this file take twice as long to compile. */
static const jv *keep(struct jx *j, jv v) {
  const unsigned most = sizeof j->values / sizeof *j->values - 1;
  j->bad |= j->nvalues > most;
  jv *copy = &j->values[j->nvalues++ & most];
  *copy = v;
  return copy;
}
static const jv *k(struct jx *j, unsigned t, uint64_t bits) { return keep(j, jv_k(j, t, bits)); }
static const jv *kf(struct jx *j, unsigned t, double v) { return keep(j, jv_kf(j, t, v)); }
static const jv *as(struct jx *j, unsigned t, const jv *x) { return keep(j, jv_as(j, t, *x)); }
static const jv *cvt(struct jx *j, unsigned to, unsigned from, const jv *x) { return keep(j, jv_cvt(j, to, from, *x)); }
static const jv *bin(struct jx *j, enum jx_bin op, unsigned t, const jv *x, const jv *y) {
  return keep(j, jv_bin(j, op, t, *x, *y));
}
static const jv *un(struct jx *j, enum jx_un op, unsigned t, const jv *x) { return keep(j, jv_un(j, op, t, *x)); }
static const jv *cmp(struct jx *j, enum jx_cmp op, unsigned t, const jv *x, const jv *y) {
  return keep(j, jv_cmp(j, op, t, *x, *y));
}
static const jv *sel(struct jx *j, unsigned t, const jv *c, const jv *x, const jv *y) {
  return keep(j, jv_sel(j, t, *c, *x, *y));
}
static const jv *fused(struct jx *j, unsigned t, const jv *x, const jv *y, const jv *z) {
  return keep(j, jv_fma(j, t, *x, *y, *z));
}
static const jv *first_nan(struct jx *j, enum jx_bin op, const jv *x, const jv *y) {
  return keep(j, jv_first_nan(j, op, *x, *y));
}
static const jv *fused_first_nan(struct jx *j, const jv *x, const jv *y, const jv *z) {
  return keep(j, jv_fma_first_nan(j, *x, *y, *z));
}

static const jv *to_half(struct jx *j, const jv *x) { return keep(j, jv_to_half(j, *x)); }

#define T_(t_) MX_T_##t_
#define K_INT(t_, v_) k(j_, T_(t_), (uint64_t)(v_))
#define K_u8(v_) K_INT(u8, v_)
#define K_s8(v_) K_INT(s8, v_)
#define K_b8(v_) K_INT(b8, v_)
#define K_u16(v_) K_INT(u16, v_)
#define K_s16(v_) K_INT(s16, v_)
#define K_b16(v_) K_INT(b16, v_)
#define K_f16(v_) K_INT(f16, v_)
#define K_bf16(v_) K_INT(bf16, v_)
#define K_u32(v_) K_INT(u32, v_)
#define K_s32(v_) K_INT(s32, v_)
#define K_b32(v_) K_INT(b32, v_)
#define K_f16x2(v_) K_INT(f16x2, v_)
#define K_bf16x2(v_) K_INT(bf16x2, v_)
#define K_u64(v_) K_INT(u64, v_)
#define K_s64(v_) K_INT(s64, v_)
#define K_b64(v_) K_INT(b64, v_)
#define K_pred(v_) K_INT(pred, (v_) != 0)
#define K_f32(v_) kf(j_, MX_T_f32, (double)(v_))
#define K_f64(v_) kf(j_, MX_T_f64, (double)(v_))
#define K(t_, v_) K_##t_(v_)
#define BITS(to_, from_, x_) as(j_, T_(to_), as(j_, T_(from_), (x_)))
#define CVT(to_, from_, x_) cvt(j_, T_(to_), T_(from_), (x_))
#define ADD(t_, x_, y_) bin(j_, JX_ADD, T_(t_), (x_), (y_))
#define SUB(t_, x_, y_) bin(j_, JX_SUB, T_(t_), (x_), (y_))
#define MUL(t_, x_, y_) bin(j_, JX_MUL, T_(t_), (x_), (y_))
#define DIV(t_, x_, y_) bin(j_, JX_DIV, T_(t_), (x_), (y_))
#define REM(t_, x_, y_) bin(j_, JX_REM, T_(t_), (x_), (y_))
#define MULHI(t_, x_, y_) bin(j_, JX_MULHI, T_(t_), (x_), (y_))
#define AND(t_, x_, y_) bin(j_, JX_AND, T_(t_), (x_), (y_))
#define OR(t_, x_, y_) bin(j_, JX_OR, T_(t_), (x_), (y_))
#define XOR(t_, x_, y_) bin(j_, JX_XOR, T_(t_), (x_), (y_))
#define SHL(t_, x_, n_) bin(j_, JX_SHL, T_(t_), (x_), (n_))
#define SHR(t_, x_, n_) bin(j_, JX_SHR, T_(t_), (x_), (n_))
#define NEG(t_, x_) un(j_, JX_NEG, T_(t_), (x_))
#define NOT(t_, x_) un(j_, JX_NOT, T_(t_), (x_))
#define SQRT(t_, x_) un(j_, JX_SQRT, T_(t_), (x_))
#define RINT(t_, x_) un(j_, JX_RINT, T_(t_), (x_))
#define FLOOR(t_, x_) un(j_, JX_FLOOR, T_(t_), (x_))
#define CEIL(t_, x_) un(j_, JX_CEIL, T_(t_), (x_))
#define TRUNC(t_, x_) un(j_, JX_TRUNC, T_(t_), (x_))
#define POPC(t_, x_) un(j_, JX_POPC, T_(t_), (x_))
#define CLZ(t_, x_) un(j_, JX_CLZ, T_(t_), (x_))
#define EQ(t_, x_, y_) cmp(j_, JX_EQ, T_(t_), (x_), (y_))
#define NE(t_, x_, y_) cmp(j_, JX_NE, T_(t_), (x_), (y_))
#define LT(t_, x_, y_) cmp(j_, JX_LT, T_(t_), (x_), (y_))
#define LE(t_, x_, y_) cmp(j_, JX_LE, T_(t_), (x_), (y_))
#define GT(t_, x_, y_) cmp(j_, JX_GT, T_(t_), (x_), (y_))
#define GE(t_, x_, y_) cmp(j_, JX_GE, T_(t_), (x_), (y_))
#define SEL(t_, c_, x_, y_) sel(j_, T_(t_), (c_), (x_), (y_))
#define FMA(t_, x_, y_, z_) fused(j_, T_(t_), (x_), (y_), (z_))
#undef NAN_FIRST2
#undef NAN_FIRST3
#define NAN_FIRST2(op_) first_nan(j_, JX_##op_, A, B)
#define NAN_FIRST3(op_) fused_first_nan(j_, A, B, C)
#undef H2F
#undef F2H
#define H2F(x_) (j_->isa->to_half ? cvt(j_, MX_T_f32, MX_T_f16, as(j_, MX_T_f16, (x_))) : H2F_BY_BITS(x_))
#define F2H(x_) (j_->isa->to_half ? to_half(j_, (x_)) : F2H_BY_BITS(x_))
#define LET(t_, name_, value_, body_) \
  (__extension__({ \
    const jv *const name_ = cvt(j_, T_(t_), T_(t_), (value_)); \
    (void)name_; \
    body_; \
  }))
#define TWO(x_, y_) (*q_ = *(y_), (x_))

#define OP(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) \
  static jv mean_ROW_##id_(struct jx *j_, unsigned M, const jv *in_, jv *q_) { \
    const jv *const A = in_, *const B = in_ + 1, *const C = in_ + 2, *const E = in_ + 3, *const G = in_ + 4; \
    (void)j_, (void)M, (void)q_, (void)A, (void)B, (void)C, (void)E, (void)G; \
    j_->nvalues = 0; \
    return *(__VA_ARGS__); \
  }
#define OPB(id_, spelling_, shape_, cls_, mods_, flags_, doc_, name_, ...) \
  OP(id_, spelling_, shape_, cls_, mods_, flags_, doc_, __VA_ARGS__)
#define OPF(...)
#define OPM(...)
#define OPX(...)
#include "core/opcodes.def"

jx_meaning *const jx_meanings[MX_OP_COUNT] = {
#define OP(id_, ...) [MX_##id_] = mean_ROW_##id_,
#define OPB OP
#define OPF(...)
#define OPM(...)
#define OPX(...)
#include "core/opcodes.def"
};

/* ---- what an atomic makes of a cell ------------------------------------------------------------------------------*/
#define CAS128(old_, b_, c_) (j_->bad = true, (old_)) /* no value has 128 bits */
#define COMBINES(id_, t_, ...) \
  static jv combine_##id_(struct jx *j_, const jv *OLD, const jv *B, const jv *C, bool shared_) { \
    j_->nvalues = 0; \
    const jv *const SHARED = k(j_, MX_T_pred, shared_); \
    (void)OLD, (void)B, (void)C, (void)SHARED; \
    return *(__VA_ARGS__); \
  }
#define ENTRY(id_, ...) [MX_##id_] = combine_##id_,
#define NOTHING(...)
#define LOAD(...) NOTHING, NOTHING, ()
#define STORE LOAD
#define PREFETCH LOAD
#define ATOMV LOAD
#define ATOM(step_, t_, ...) COMBINES, ENTRY, (t_, __VA_ARGS__)
#define BARE(...) __VA_ARGS__
#define WITH(macro_, ...) macro_(__VA_ARGS__)
#define OP(...)
#define OPB(...)
#define OPF(...)
#define OPX(...)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) OPM_(id_, __VA_ARGS__)
#define OPM_(id_, ...) OPM__(id_, __VA_ARGS__)
#define OPM__(id_, function_, entry_, args_) WITH(function_, id_, BARE args_)
#include "core/opcodes.def"

jx_combine *const jx_combines[MX_OP_COUNT] = {
#define OP(...)
#define OPB(...)
#define OPF(...)
#define OPX(...)
#undef OPM__
#define OPM__(id_, function_, entry_, args_) entry_(id_)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) OPM_(id_, __VA_ARGS__)
#include "core/opcodes.def"
};

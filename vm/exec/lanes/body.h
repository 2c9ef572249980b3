/* How a row of the table becomes a body of the interpreter. Each file of this folder includes this and then the family
 * of rows that it makes bodies for; it is compiled once for each CPU level (MX_LEVEL), and bodies.c gathers the
 * results.
 *
 * A body computes all lanes, also those that are not active: meanings are pure and total. With all lanes active results
 * go straight to the slot; otherwise to x->tmp, from where the active lanes are blended in. Files of the instructions
 * that are frequent define MX_HOT_FAMILY: theirs have a second loop that blends at once, where vectors are long. */
#ifndef MX_LANES_BODY_H
#define MX_LANES_BODY_H

#include "vm/exec/exec.h"
#include "fn.h"
#include "masks.h"
#include "core/vocab.h"

#define MX__CAT2(a_, b_) a_##_##b_
#define MX__CAT(a_, b_) MX__CAT2(a_, b_)
#define MX_LV(name_) MX__CAT(name_, MX_LEVEL) /* a name of this CPU level's own */
#define MX_BODY(id_) MX_LV(mx__body_##id_)

/* ---- one lane of a slot, by type ---------------------------------------------------------------------*/
/* mx__mix_T writes the slot of an active lane. An inactive lane keeps all bits of its slot, which may hold a register
 * of more bits than T. */
typedef int mx_none;
#if defined MX_HOT_FAMILY && defined MX__AVX512
#define BLENDS_IN_LOOP true
#else
#define BLENDS_IN_LOOP false
#endif
#define ACCESS(t_, slot_) \
  MX__INL mx_##t_ mx__get_##t_(const void *p, size_t l, unsigned n) { \
    (void)n; \
    return (mx_##t_)((const slot_ *)p)[l]; \
  } \
  MX__INL void mx__put_##t_(void *p, size_t l, unsigned n, mx_##t_ v) { \
    (void)n; \
    ((slot_ *)p)[l] = (slot_)v; \
  } \
  MX__INL void mx__mix_##t_(void *p, size_t l, unsigned n, bool on, mx_##t_ v) { \
    (void)n; \
    ((slot_ *)p)[l] = on ? (slot_)v : ((slot_ *)p)[l]; \
  }
#define ACCESS_NARROW(t_, zero_extended_) \
  MX__INL mx_##t_ mx__get_##t_(const void *p, size_t l, unsigned n) { \
    (void)n; \
    return (mx_##t_)((const uint32_t *)p)[l]; \
  } \
  MX__INL void mx__put_##t_(void *p, size_t l, unsigned n, mx_##t_ v) { \
    (void)n; \
    ((uint32_t *)p)[l] = (zero_extended_)v; \
  } \
  MX__INL void mx__mix_##t_(void *p, size_t l, unsigned n, bool on, mx_##t_ v) { \
    (void)n; \
    ((uint32_t *)p)[l] = on ? (zero_extended_)v : ((uint32_t *)p)[l]; \
  }
/* A predicate is a mask of up to 64 lanes, and a loop reads the 32-bit word of the half that it computes. A lane's bit
 * is tested in place (mx__bit), since not all processors can shift each lane by a count of its own. A result is a word
 * for each lane, 0 or 1, until PACK_HALF makes a mask of these. */
typedef uint32_t __attribute__((may_alias)) mx__half;
MX__INL mx_pred mx__get_pred(const void *p, size_t l, unsigned n) {
  (void)n;
  return (*(const mx__half *)p & mx__bit[l]) != 0;
}
MX__INL void mx__put_pred(void *p, size_t l, unsigned n, mx_pred v) {
  (void)n;
  ((uint32_t *)p)[l] = v;
}
MX__INL void mx__mix_pred(void *p, size_t l, unsigned n, bool on, mx_pred v) {
  (void)n, (void)on;
  ((uint32_t *)p)[l] = v;
}
ACCESS_NARROW(u8, uint8_t)
ACCESS_NARROW(s8, uint8_t)
ACCESS_NARROW(b8, uint8_t)
ACCESS_NARROW(u16, uint16_t)
ACCESS_NARROW(s16, uint16_t)
ACCESS_NARROW(b16, uint16_t)
ACCESS_NARROW(f16, uint16_t)
ACCESS_NARROW(bf16, uint16_t)
ACCESS(u32, uint32_t)
ACCESS(s32, int32_t)
ACCESS(b32, uint32_t)
ACCESS(f32, float)
ACCESS(f16x2, uint32_t)
ACCESS(bf16x2, uint32_t)
ACCESS(u64, uint64_t)
ACCESS(s64, int64_t)
ACCESS(b64, uint64_t)
ACCESS(f64, double)
#undef ACCESS
#undef ACCESS_NARROW
MX__INL mx_b128 mx__get_b128(const void *p, size_t l, unsigned n) {
  return (mx_b128){((const uint64_t *)p)[l], ((const uint64_t *)p)[n + l]};
}
MX__INL void mx__put_b128(void *p, size_t l, unsigned n, mx_b128 v) {
  ((uint64_t *)p)[l] = v.lo;
  ((uint64_t *)p)[n + l] = v.hi;
}
MX__INL int mx__get_none(const void *p, size_t l, unsigned n) {
  (void)p, (void)l, (void)n;
  return 0;
}
MX__INL void mx__mix_b128(void *p, size_t l, unsigned n, bool on, mx_b128 v) {
  if (on) mx__put_b128(p, l, n, v);
}
MX__INL void mx__put_none(void *p, size_t l, unsigned n, int v) { (void)p, (void)l, (void)n, (void)v; }
MX__INL void mx__mix_none(void *p, size_t l, unsigned n, bool on, int v) {
  (void)p, (void)l, (void)n, (void)on, (void)v;
}
MX__INL int mx__canon_none(int v) { return v; }

/* ---- operands of a body --------------------------------------------------------------------------------*/
/* Hides from the compiler how an address was computed. Otherwise it keeps base and offset of each operand in registers
 * of their own, and runs out of them. */
MX__INL void *mx__whole(void *p) {
  __asm__("" : "+r"(p));
  return p;
}
MX__INL void *mx__ref(const struct mx_exec *x, mx_ref r) { return mx__whole(x->base[r & 1] + r); }
MX__INL void *mx__slot(const struct mx_exec *x, mx_ref r) {
  return mx__whole(x->base[0] + r);
} /* results are slots of the frame */

MX__INL uint64_t mx__active(const struct mx_exec *x, const struct mx_insn *i) {
  if (i->guard == MX_GUARD_NONE) return x->mask;
  uint64_t p = ((const uint64_t *)x->base[0])[i->guard];
  return x->mask & (i->guard_neg ? ~p : p);
}
/* The number of lanes of a warp, so that the compiler knows that loops over them end at 32 or at 64. */
MX__INL unsigned mx__lanes(const struct mx_exec *x) {
  if (x->lanes != 32 && x->lanes != 64) __builtin_unreachable();
  return x->lanes;
}
MX__INL const void *mx__in(const struct mx_exec *x, mx_ref r, unsigned type) {
  return type == MX_T_none ? NULL : mx__ref(x, r);
}
/* Where a loop writes a result: a predicate to `mask`, other types to their slot if all lanes are written (`direct`),
 * else to tmp, from where mx__done blends the active lanes into the slot. */
MX__INL void *mx__out(const struct mx_exec *x, mx_ref r, unsigned type, uint64_t *mask, void *tmp, bool direct) {
  if (type == MX_T_none) return NULL;
  if (type == MX_T_pred) return mask;
  return direct ? mx__slot(x, r) : tmp;
}
MX__INL void mx__done(const struct mx_exec *x, mx_ref r, unsigned type, const void *from, uint64_t m, bool direct) {
  if (type == MX_T_none) return;
  if (type == MX_T_pred) {
    uint64_t *d = mx__slot(x, r);
    *d = (*d & ~m) | (*(const uint64_t *)from & m);
  } else if (!direct) {
    unsigned bits = type == MX_T_b128 ? 128 : type >= MX_T_u64 ? 64 : 32;
    if (bits == 32) mx__blend32(mx__slot(x, r), from, m, x->lanes);
    else mx__blend64(mx__slot(x, r), from, m, x->lanes);
    if (bits == 128) mx__blend64((uint64_t *)mx__slot(x, r) + x->lanes, (const uint64_t *)from + x->lanes, m, x->lanes);
  }
}

/* ---- shapes of lane rows: number of results, then types of D, Q, A, B, C, E, G ----------------------------*/
#define SH_R0(d_) 1, d_, none, none, none, none, none, none
#define SH_R1(d_, a_) 1, d_, none, a_, none, none, none, none
#define SH_R2(d_, a_, b_) 1, d_, none, a_, b_, none, none, none
#define SH_R3(d_, a_, b_, c_) 1, d_, none, a_, b_, c_, none, none
#define SH_R4(d_, a_, b_, c_, e_) 1, d_, none, a_, b_, c_, e_, none
#define SH_RR1(d_, q_, a_) 2, d_, q_, a_, none, none, none, none
#define SH_RR2(d_, q_, a_, b_) 2, d_, q_, a_, b_, none, none, none
#define SH_RR3(d_, q_, a_, b_, c_) 2, d_, q_, a_, b_, c_, none, none
#define SH_RR4(d_, q_, a_, b_, c_, e_) 2, d_, q_, a_, b_, c_, e_, none
#define SH_RR5(d_, q_, a_, b_, c_, e_, g_) 2, d_, q_, a_, b_, c_, e_, g_
#define SH_RRR2(d_, q_, p_, a_, b_) 3, d_, q_, a_, b_, none, none, none /* lane functions only; p_ is a predicate */
#define SH_RC2(d_, a_, b_) SH_RR2(d_, pred, a_, b_)
#define SH_R2C(d_, a_, b_) SH_R3(d_, a_, b_, pred)
#define SH_RC2C(d_, a_, b_) SH_RR3(d_, pred, a_, b_, pred)
#define SH_RC3(d_, a_, b_, c_) SH_RR3(d_, pred, a_, b_, c_)
#define SH_R3C(d_, a_, b_, c_) SH_R4(d_, a_, b_, c_, pred)
#define SH_RC3C(d_, a_, b_, c_) SH_RR4(d_, pred, a_, b_, c_, pred)
#define SH_VID(d_, a_, b_, c_) SH_R4(d_, a_, b_, c_, u32)
#define SH_VEC(d_, a_, b_, c_) SH_R4(d_, a_, b_, c_, u32)

#define F(x_) MX_F_##x_
#define DOES(x_) 0 /* bodies do not need this column */

#define RESULT_1(flags_, td_, tq_, ...) \
  const mx_##td_ result__ = (mx_##td_)(__VA_ARGS__); \
  D = ((flags_) & (MX_F_CANON | MX_F_CANONICAL)) == MX_F_CANON ? CANON(td_, result__) : result__;
#define RESULT_2(flags_, td_, tq_, ...) \
  (__VA_ARGS__); \
  if ((flags_)&MX_F_CANON) D = CANON(td_, D), Q = CANON(tq_, Q);

/* Of a predicate the word for lanes from `half` on; other operands unchanged. */
#define OPERAND_HALF(type_, p_, half_) \
  (MX_T_##type_ == MX_T_pred ? (const void *)((const mx__half *)(p_) + (half_) / 32) : (p_))
/* A predicate result is written as a word for each lane of a half first, then packed into its mask. */
#define RESULT_AT(type_, p_, words_) (MX_T_##type_ == MX_T_pred ? (void *)(words_) : (p_))
#define RESULT_LANE(type_) (MX_T_##type_ == MX_T_pred ? step__ : lane__)
#define PACK_HALF(type_, p_, words_) \
  if (MX_T_##type_ == MX_T_pred) *(uint64_t *)(p_) |= (uint64_t)mx__pack_half(words_) << half__;
/* The loop over lanes: all are written with `whole`, else those in `on`. A half without any lane in `on` is skipped. */
#define LANES(id_, flags_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, ...) \
  MX__INL void lanes_##id_(unsigned n, const bool whole, const uint64_t on, void *d, void *q, const void *a, \
                           const void *b, const void *c, const void *e, const void *g, const unsigned M) { \
    (void)M; \
    for (size_t half__ = 0; half__ < MX_MAX_LANES && half__ < n; half__ += 32) { \
      const uint32_t on__ = (uint32_t)(on >> half__); \
      if (!on__) continue; \
      _Alignas(64) uint32_t d__[MX_T_##td_ == MX_T_pred ? 32 : 1], q__[MX_T_##tq_ == MX_T_pred ? 32 : 1]; \
      (void)on__, (void)d__, (void)q__; \
      _Pragma("GCC ivdep") for (size_t step__ = 0; step__ < 32; step__++) { \
        const size_t lane__ = half__ + step__; \
        const mx_##ta_ A = mx__get_##ta_(OPERAND_HALF(ta_, a, half__), lane__, n); \
        const mx_##tb_ B = mx__get_##tb_(OPERAND_HALF(tb_, b, half__), lane__, n); \
        const mx_##tc_ C = mx__get_##tc_(OPERAND_HALF(tc_, c, half__), lane__, n); \
        const mx_##te_ E = mx__get_##te_(OPERAND_HALF(te_, e, half__), lane__, n); \
        const mx_##tg_ G = mx__get_##tg_(OPERAND_HALF(tg_, g, half__), lane__, n); \
        mx_##td_ D; \
        mx_##tq_ Q = {0}; \
        (void)A, (void)B, (void)C, (void)E, (void)G; \
        RESULT_##no_(flags_, td_, tq_, __VA_ARGS__) \
            mx__mix_##td_(RESULT_AT(td_, d, d__), RESULT_LANE(td_), n, whole || (on__ & mx__bit[lane__]), D); \
        mx__mix_##tq_(RESULT_AT(tq_, q, q__), RESULT_LANE(tq_), n, whole || (on__ & mx__bit[lane__]), Q); \
      } \
      PACK_HALF(td_, d, d__) PACK_HALF(tq_, q, q__) \
    } \
  }

#define LANES_OF(k_, id_) \
  if (all_) lanes_##id_(n_, true, preds_ || !BLENDS_IN_LOOP ? m_ : UINT64_MAX, d, q, a, b, c, e, g, k_); \
  else lanes_##id_(n_, false, m_, d, q, a, b, c, e, g, k_);
#define CASE(k_, mods_, id_) \
  case k_: \
    if (k_ >= (mods_)) break; \
    LANES_OF(k_, id_) \
    break;
#define CASES(mods_, id_) \
  CASE(1, mods_, id_) \
  CASE(2, mods_, id_) \
  CASE(3, mods_, id_) \
  CASE(4, mods_, id_) \
  CASE(5, mods_, id_) \
  CASE(6, mods_, id_) \
  CASE(7, mods_, id_) \
  CASE(8, mods_, id_) \
  CASE(9, mods_, id_) \
  CASE(10, mods_, id_) \
  CASE(11, mods_, id_) \
  CASE(12, mods_, id_) \
  CASE(13, mods_, id_) \
  CASE(14, mods_, id_) \
  CASE(15, mods_, id_) \
  CASE(16, mods_, id_) \
  CASE(17, mods_, id_) \
  CASE(18, mods_, id_) \
  CASE(19, mods_, id_) \
  CASE(20, mods_, id_) \
  CASE(21, mods_, id_) \
  CASE(22, mods_, id_) \
  CASE(23, mods_, id_) CASE(24, mods_, id_) CASE(25, mods_, id_) CASE(26, mods_, id_) CASE(27, mods_, id_)

/* Whether all results are predicates, whose masks are blended in any case. */
#define PREDICATES(td_, tq_) (MX_T_##td_ == MX_T_pred && (MX_T_##tq_ == MX_T_pred || MX_T_##tq_ == MX_T_none))
/* What a lane row does, for the lanes x->mask. Modifiers other than 0 have a function of their own: loops of many cases
 * in one would save and restore registers for all of them. */
#define LANE_FUNCTION(name_, first_, words_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, ...) \
  const struct mx_insn *name_(struct mx_exec *x, const struct mx_insn *i) { \
    first_ const uint64_t m_ = x->mask; \
    const bool whole_ = m_ == x->full; \
    const bool preds_ = PREDICATES(td_, tq_), all_ = !BLENDS_IN_LOOP || whole_ || !(words_) || preds_; \
    const bool direct_ = whole_ || !all_; \
    const unsigned n_ = mx__lanes(x); \
    uint64_t md_ = 0, mq_ = 0, mp_ = 0; /* masks of predicate results; a third result is always a predicate */ \
    void *d = mx__out(x, i->o[0], MX_T_##td_, &md_, x->tmp, direct_); \
    void *q = mx__out(x, i->o[1], MX_T_##tq_, &mq_, x->tmp + sizeof x->tmp / 2, direct_); \
    const void *a = mx__in(x, i->o[no_], MX_T_##ta_), *b = mx__in(x, i->o[no_ + 1], MX_T_##tb_); \
    const void *c = mx__in(x, i->o[no_ + 2], MX_T_##tc_), *e = mx__in(x, i->o[no_ + 3], MX_T_##te_); \
    const void *g = \
        mx__in(x, i->o[no_ + 4 < 7 ? no_ + 4 : 0], MX_T_##tg_); /* rows with three results do not have this operand */ \
    (void)preds_, (void)a, (void)b, (void)c, (void)e, (void)g; \
    __VA_ARGS__ \
    mx__done(x, i->o[0], MX_T_##td_, d, m_, direct_); \
    mx__done(x, i->o[1], MX_T_##tq_, q, m_, direct_); \
    if (no_ > 2) mx__done(x, i->o[2], MX_T_pred, &mp_, m_, true); \
    return i + 1; \
  }
#define OP_(id_, mods_, flags_, ...) OP_ROW(IS_ONE(mods_), id_, mods_, flags_, __VA_ARGS__)
#define IS_ONE(mods_) SECOND(IS_ONE_##mods_, 0, )
#define IS_ONE_1 , 1
#define SECOND(...) SECOND_(__VA_ARGS__)
#define SECOND_(first_, second_, ...) second_
#define OP_ROW(one_, ...) OP_ROW_(one_, __VA_ARGS__)
#define OP_ROW_(one_, ...) OP_ROW_##one_(__VA_ARGS__)
/* one modifier */
#define OP_ROW_1(id_, mods_, flags_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, ...) \
  LANES(id_, flags_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, __VA_ARGS__) \
  LANE_FUNCTION(MX_BODY(id_), , true, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, LANES_OF(0, id_))
/* Each value of a modifier has loops of its own, except under sanitizers, where the time to compile them matters more
 * than the speed of the loops. */
#ifdef __SANITIZE_ADDRESS__
#define OP_ROW_0(id_, mods_, flags_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, ...) \
  LANES(id_, flags_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, __VA_ARGS__) \
  LANE_FUNCTION(MX_BODY(id_), , true, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, LANES_OF(i->mod, id_))
#else
#define OP_ROW_0(id_, mods_, flags_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, ...) \
  _Static_assert((mods_) <= 28, #id_ ": more modifier values than a lane body has cases"); \
  LANES(id_, flags_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, __VA_ARGS__) \
  static __attribute__((noinline)) \
  LANE_FUNCTION(others_##id_, , true, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, switch (i->mod){CASES(mods_, id_)}) \
      LANE_FUNCTION(MX_BODY(id_), if (i->mod) return others_##id_(x, i); \
                    , true, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, LANES_OF(0, id_))
#endif
/* The id is joined to a prefix immediately, so that a helper macro of the same name in a .def file is not expanded. */
#define OP(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) \
  OP_(ROW_##id_, mods_, flags_, SH_##shape_, __VA_ARGS__)

/* Lane functions are in the files fn_*.c. A file that defines MX_FN_OF_BODY chooses which function a body calls when
 * all lanes are active. */
#ifndef MX_FN_OF_BODY
#define MX_FN_OF_BODY(name_) MX_FN(name_)
#endif
#define OPF_(id_, fn_, ...) OPF__(id_, fn_, __VA_ARGS__)
/* Calls a lane function when some lanes are inactive. It is one function for all rows, not a part of each body, because
 * blending needs registers and stack space that the usual case would have to reserve as well. types: a byte each for
 * the number of results, then the row's types in the order D, Q, A, B, C, E. */
static __attribute__((noinline, unused)) const struct mx_insn *mx__masked(struct mx_exec *x, const struct mx_insn *i,
                                                                          mx__fn *fn, uint64_t types) {
#define TYPE(k_) ((unsigned)(types >> (k_)*8) & 255)
  const unsigned results = TYPE(0);
  uint64_t md = 0, mq = 0, mp = 0;
  void *d = mx__out(x, i->o[0], TYPE(1), &md, x->tmp, false),
       *q = mx__out(x, i->o[1], TYPE(2), &mq, x->tmp + sizeof x->tmp / 2, false);
  const mx_ref *in = i->o + results;
  fn(d, q, mx__in(x, in[0], TYPE(3)), mx__in(x, in[1], TYPE(4)), mx__in(x, in[2], TYPE(5)),
     results > 2 ? &mp : mx__in(x, in[3], TYPE(6)), x->lanes, i->mod);
  mx__done(x, i->o[0], TYPE(1), d, x->mask, false);
  mx__done(x, i->o[1], TYPE(2), q, x->mask, false);
  if (results > 2) mx__done(x, i->o[2], MX_T_pred, &mp, x->mask, false);
  return i + 1;
#undef TYPE
}
#define TYPE_AT(k_, type_) (uint64_t) MX_T_##type_ << (k_)*8
#define OPF__(id_, fn_, no_, td_, tq_, ta_, tb_, tc_, te_, tg_) \
  LANE_FUNCTION(MX_BODY(id_), if (!PREDICATES(td_, tq_) && x->mask != x->full) return mx__masked( \
                                  x, i, MX_FN(fn_), \
                                  no_ | TYPE_AT(1, td_) | TYPE_AT(2, tq_) | TYPE_AT(3, ta_) | TYPE_AT(4, tb_) | \
                                      TYPE_AT(5, tc_) | TYPE_AT(6, te_)); \
                , false, no_, td_, tq_, ta_, tb_, tc_, te_, tg_, \
                MX_FN_OF_BODY(fn_)(d, q, a, b, c, no_ > 2 ? &mp_ : e, n_, i->mod);)
#define OPF(id_, spelling_, shape_, cls_, mods_, flags_, doc_, fn_) OPF_(ROW_##id_, fn_, SH_##shape_)

#define OPB(id_, spelling_, shape_, cls_, mods_, flags_, doc_, fn_, ...) \
  OPF(id_, spelling_, shape_, cls_, mods_, flags_, doc_, fn_)

/* Rows whose bodies are made in other files. */
#define OPM(...)
#define OPX(...)

#endif

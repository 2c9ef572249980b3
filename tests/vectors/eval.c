/* The table as functions of one lane: every meaning expanded with the C vocabulary, selected by opcode number. Separate
 * from the conformance test so that oracles and generators can use it too. Knows no machine. */
#include "tests/vectors/eval.h"

#include "mx/isa.h"
#include "vm/exec.h"
#include "vm/lanes/vocab.h"

/* Predicates and halves travel in the same 64-bit cells. */
typedef uint8_t mx__bits_pred;
static inline mx_pred mx__raw_pred(mx_pred x) { return x; }
static inline mx_pred mx__of_pred(uint8_t x) { return x; }
/* 128-bit rows are only compiled: no vector has such values, and a cell holds half of one. */
typedef uint64_t mx__bits_b128;
static inline uint64_t mx__raw_b128(mx_b128 x) { return x.lo; }
static inline mx_b128 mx__of_b128(uint64_t x) { return (mx_b128){x, 0}; }
#define LDV(t_, k_) mx__of_##t_((mx__bits_##t_)in[k_])
#define STV(t_, x_) ((uint64_t)(mx__bits_##t_)mx__raw_##t_(x_))

#define IN_R1(d_, a_) mx_##d_ D; const mx_##a_ A = LDV(a_, 0); (void)A;
#define IN_R2(d_, a_, b_) IN_R1(d_, a_) const mx_##b_ B = LDV(b_, 1); (void)B;
#define IN_R3(d_, a_, b_, c_) IN_R2(d_, a_, b_) const mx_##c_ C = LDV(c_, 2); (void)C;
#define IN_R4(d_, a_, b_, c_, e_) IN_R3(d_, a_, b_, c_) const mx_##e_ E = LDV(e_, 3); (void)E;
#define IN_RR1(d_, q_, a_) mx_##q_ Q; IN_R1(d_, a_)
#define IN_RR2(d_, q_, a_, b_) mx_##q_ Q; IN_R2(d_, a_, b_)
#define IN_RR3(d_, q_, a_, b_, c_) mx_##q_ Q; IN_R3(d_, a_, b_, c_)
#define IN_RR4(d_, q_, a_, b_, c_, e_) mx_##q_ Q; IN_R4(d_, a_, b_, c_, e_)
#define IN_RR5(d_, q_, a_, b_, c_, e_, g_) mx_##q_ Q; IN_R4(d_, a_, b_, c_, e_) const mx_##g_ G = LDV(g_, 4); (void)G;
#define SET_RR5(...)
#define OUT_RR5(d_, q_, ...) OUT_RR(d_, q_)
/* shapes with implicit operands are these */
#define IN_RC2(d_, a_, b_) IN_RR2(d_, pred, a_, b_)
#define IN_R2C(d_, a_, b_) IN_R3(d_, a_, b_, pred)
#define IN_RC2C(d_, a_, b_) IN_RR3(d_, pred, a_, b_, pred)
#define IN_RC3(d_, a_, b_, c_) IN_RR3(d_, pred, a_, b_, c_)
#define IN_R3C(d_, a_, b_, c_) IN_R4(d_, a_, b_, c_, pred)
#define IN_RC3C(d_, a_, b_, c_) IN_RR4(d_, pred, a_, b_, c_, pred)
#define SET_RC2(...)
#define SET_R2C(...) D = (__typeof__(D))
#define SET_RC2C(...)
#define SET_RC3(...)
#define SET_R3C(...) D = (__typeof__(D))
#define SET_RC3C(...)
#define SET_R1(...) D = (__typeof__(D))
#define SET_R2(...) D = (__typeof__(D))
#define SET_R3(...) D = (__typeof__(D))
#define SET_R4(...) D = (__typeof__(D))
#define SET_RR1(...)
#define SET_RR2(...)
#define SET_RR3(...)
#define SET_RR4(...)
#define OUT_R(d_) if (canon) D = CANON(d_, D); out[0] = STV(d_, D);
#define OUT_RR(d_, q_) OUT_R(d_) if (canon) Q = CANON(q_, Q); out[1] = STV(q_, Q);
#define OUT_RC2(d_, ...) OUT_RR(d_, pred)
#define OUT_R2C(d_, ...) OUT_R(d_)
#define OUT_RC2C(d_, ...) OUT_RR(d_, pred)
#define OUT_RC3(d_, ...) OUT_RR(d_, pred)
#define OUT_R3C(d_, ...) OUT_R(d_)
#define OUT_RC3C(d_, ...) OUT_RR(d_, pred)
#define OUT_R1(d_, ...) OUT_R(d_)
#define OUT_R2(d_, ...) OUT_R(d_)
#define OUT_R3(d_, ...) OUT_R(d_)
#define OUT_R4(d_, ...) OUT_R(d_)
#define OUT_RR1(d_, q_, ...) OUT_RR(d_, q_)
#define OUT_RR2(d_, q_, ...) OUT_RR(d_, q_)
#define OUT_RR3(d_, q_, ...) OUT_RR(d_, q_)
#define OUT_RR4(d_, q_, ...) OUT_RR(d_, q_)

#define F(x_) MX_F_##x_
#define OP(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) \
  static void ev_##id_(unsigned M, const uint64_t *in, uint64_t *out) { \
    const bool canon = (flags_) & MX_F_CANON; \
    (void)M; \
    IN_##shape_ SET_##shape_ (__VA_ARGS__); \
    OUT_##shape_ \
  }
#define OPF(...)
#define OPX(...)
/* Atomics: the cell is OLD, the operands B and C; loads and stores have nothing to say here. */
#define AT_AT1(t_, p_) const mx_##t_ OLD = LDV(t_, 0), B = LDV(t_, 1); (void)B;
#define AT_AT2(t_, p_) AT_AT1(t_, p_) const mx_##t_ C = LDV(t_, 2); (void)C;
#define AT_RE1(t_, p_) AT_AT1(t_, p_)
#define AT_AV2(t_, p_) AT_AT1(t_, p_)
#define AT_AV4(t_, p_) AT_AT1(t_, p_)
#define AT_AV8(t_, p_) AT_AT1(t_, p_)
#define AT_RV2(t_, p_) AT_AT1(t_, p_)
#define AT_RV4(t_, p_) AT_AT1(t_, p_)
#define AT_RV8(t_, p_) AT_AT1(t_, p_)
#define AT_PF(...)
#define AT_LD1(...)
#define AT_LD2(...)
#define AT_LD4(...)
#define AT_ST1(...)
#define AT_ST2(...)
#define AT_ST4(...)
#define ATOM(t_, new_) out[0] = STV(t_, OLD); { const mx_##t_ after = (new_); out[1] = STV(t_, after); }
#define ATOMV(t_, n_, new_) ATOM(t_, new_)
#define PREFETCH()
#define SHARED (M == 2)
#define LOAD(...)
#define STORE(...)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) \
  static void ev_##id_(unsigned M, const uint64_t *in, uint64_t *out) { \
    (void)M, (void)in, (void)out; \
    AT_##shape_ __VA_ARGS__ \
  }
#include "mx/opcodes.def"

typedef void eval_fn(unsigned M, const uint64_t *in, uint64_t *out);
static eval_fn *const by_expression[MX_OP_COUNT] = {
#define OP(id_, ...) [MX_##id_] = ev_##id_,
#define OPF(...)
#define OPX(...)
#include "mx/opcodes.def"
};
static const struct mx_level *level;
bool mx__eval_level(const char *name) {
  level = mx__level(name);
  return level;
}

/* A lane function sees whole slots; unused lanes hold other bits, so that reading across lanes shows. */
enum { LANES = 5, LANE = 3 };
static void put(uint64_t *slots, unsigned type, uint64_t v) {
  memset(slots, 0xA5, 16 * LANES);
  switch (mx__types[type].slot_class) {
    case MX_PRED: for (int l = 0; l < LANES; l++) ((uint8_t *)slots)[l] = 0; ((uint8_t *)slots)[LANE] = (uint8_t)v; break;
    case MX_R64: slots[LANE] = v; break;
    default: ((uint32_t *)slots)[LANE] = (uint32_t)v; break;
  }
}
static uint64_t get(const uint64_t *slots, unsigned type) {
  switch (mx__types[type].slot_class) {
    case MX_PRED: return ((const uint8_t *)slots)[LANE];
    case MX_R64: return slots[LANE];
    default: return ((const uint32_t *)slots)[LANE];
  }
}

bool mx__eval(unsigned op, unsigned mod, const uint64_t *in, uint64_t *out) {
  if (by_expression[op]) {
    by_expression[op](mod, in, out);
    return true;
  }
  if (!level && !mx__eval_level(NULL)) return false;
  if (!level->fns[op]) return false;
  const struct mx_op_info *o = &mx__ops[op];
  uint64_t slots[8][2 * LANES], *d[3] = {0}, *a[5] = {0};
  unsigned nout = 0, nin = 0, type[3] = {0};
  for (unsigned k = 0; k < o->nopnds; k++) {
    if (o->opnd[k].type == MX_T_raw) continue;
    if (o->opnd[k].role == MX_OUT) {
      type[nout] = o->opnd[k].type;
      d[nout] = slots[k];
      put(slots[k], o->opnd[k].type, 0xEE);
      nout++;
    } else {
      a[nin] = slots[k];
      put(slots[k], o->opnd[k].type, in[nin]);
      nin++;
    }
  }
  level->fns[op](d[0], d[1], a[0], a[1], a[2], d[2] ? d[2] : a[3], LANES, mod);
  for (unsigned k = 0; k < nout; k++) out[k] = get(d[k], type[k]);
  return true;
}

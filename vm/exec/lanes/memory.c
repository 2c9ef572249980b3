/* Bodies of the rows in core/ops/memory.def: loads, stores, atomics.
 *
 * reach.h finds the places. Conflicts inside one instruction resolve in lane order, the highest lane last.
 *
 * A body is one call of load(), store() or atom(), which find the places, with a loop that does one element of every
 * lane. Rows that differ in the address's width or in the number of elements share that loop: each is made where the
 * first of them stands. */
#include "body.h"
#include "quads.h"
#include "reach.h"

#undef OP
#undef OPF
#undef OPM
#define OP(...)
#define OPF(...)

/* Types as they lie in memory; assignment to and from register types widens by their sign, or keeps the low bits. */
#define CELL(t_, c_) typedef c_ cell_##t_;
CELL(u8, uint8_t)
CELL(s8, int8_t)
CELL(b8, uint8_t)
CELL(u16, uint16_t)
CELL(s16, int16_t)
CELL(b16, uint16_t)
CELL(f16, uint16_t)
CELL(bf16, uint16_t)
CELL(u32, uint32_t)
CELL(s32, int32_t)
CELL(b32, uint32_t)
CELL(f32, float)
CELL(f16x2, uint32_t)
CELL(bf16x2, uint32_t)
CELL(u64, uint64_t)
CELL(s64, int64_t)
CELL(b64, uint64_t)
CELL(f64, double)
CELL(b128, mx_b128)
#define CELL_AT(t_, r_, lane_, at_) (*(cell_##t_ *)place(r_, lane_, at_))

/* ---- loads and stores
   ------------------------------------------------------------------------------------------*/
typedef void mover(struct mx_exec *x, void *slot, const struct reach *r, uint64_t m, size_t at);

/* All lanes' places are good, also those of lanes that are not active: of more than a few, all are read, and blended.
 */
#define MAKE_LOADER(mt_, dt_) \
  static void load_##mt_##_##dt_(struct mx_exec *x, void *d, const struct reach *r, uint64_t m, size_t at) { \
    const unsigned n = mx__lanes(x); \
    const bool all = m == x->full; \
    if (r->shape == POINT) { \
      const mx_##dt_ v = CELL_AT(mt_, r, 0, at); \
      if (all) \
        for (size_t l = 0; l < n; l++) mx__put_##dt_(d, l, n, v); \
      else \
        MX_FOR_LANES (l, m) mx__put_##dt_(d, l, n, v); \
      return; \
    } \
    if (!all && (sizeof(mx_##dt_) > 8 || __builtin_popcountll(m) <= FEW_LANES)) { \
      MX_FOR_LANES (l, m) mx__put_##dt_(d, l, n, CELL_AT(mt_, r, l, at)); \
      return; \
    } \
    void *to = all ? d : (void *)x->tmp; \
    if (r->shape == ROW && r->bytes == sizeof(cell_##mt_)) { \
      const cell_##mt_ *row = (const cell_##mt_ *)(uintptr_t)r->origin; \
      _Pragma("GCC ivdep") for (size_t l = 0; l < n; l++) mx__put_##dt_(to, l, n, row[l]); \
    } else if (r->shape == NEAR) { \
      const unsigned char *from = (const unsigned char *)(uintptr_t)r->origin + at; \
      for (size_t l = 0; l < n; l++) mx__put_##dt_(to, l, n, *(const cell_##mt_ *)(const void *)(from + r->far[l])); \
    } else \
      for (size_t l = 0; l < n; l++) mx__put_##dt_(to, l, n, *(const cell_##mt_ *)(uintptr_t)(r->at[l] + at)); \
    if (all) return; \
    if (sizeof(mx_##dt_) <= 4) mx__blend32(d, to, m, n); \
    else mx__blend64(d, to, m, n); \
  }
#define MAKE_STORER(mt_, vt_) \
  static void store_##mt_##_##vt_(struct mx_exec *x, void *v, const struct reach *r, uint64_t m, size_t at) { \
    const unsigned n = mx__lanes(x); \
    cell_##mt_ *row = (cell_##mt_ *)(uintptr_t)r->origin; \
    if (r->shape == POINT) /* the highest lane is last */ \
      CELL_AT(mt_, r, 0, at) = mx__get_##vt_(v, lane_of(r, 2, 63u - (unsigned)__builtin_clzll(m)), n); \
    else if (r->uniform_operands >> 2 & 1) { \
      const mx_##vt_ one = mx__get_##vt_(v, 0, n); \
      MX_FOR_LANES (l, m) CELL_AT(mt_, r, l, at) = one; \
    } else if (m != x->full) \
      MX_FOR_LANES (l, m) CELL_AT(mt_, r, l, at) = mx__get_##vt_(v, l, n); \
    else if (r->shape == ROW && r->bytes == sizeof *row) \
      _Pragma("GCC ivdep") for (size_t l = 0; l < n; l++) row[l] = mx__get_##vt_(v, l, n); \
    else if (r->shape == NEAR) { \
      unsigned char *to = (unsigned char *)(uintptr_t)r->origin + at; \
      for (size_t l = 0; l < n; l++) *(cell_##mt_ *)(void *)(to + r->far[l]) = mx__get_##vt_(v, l, n); \
    } else \
      for (size_t l = 0; l < n; l++) *(cell_##mt_ *)(uintptr_t)(r->at[l] + at) = mx__get_##vt_(v, l, n); \
  }

/* Pairs and quads of words and pairs of long words, all lanes: each lane's bytes at once, turned into one vector of
 * each element. */
#ifdef MX__TURNS
MX__INL unsigned char *lane_at(const struct reach *r, size_t l) { return place(r, l, 0); }
static bool load_whole(struct mx_exec *x, const struct mx_insn *i, size_t elements, unsigned bytes,
                       const struct reach *r, unsigned n) {
  unsigned char *d[4];
  if (elements > 4 || (bytes == 8 && elements > 2)) return false;
  for (size_t k = 0; k < elements; k++) d[k] = mx__ref(x, mx__operand_ref(i, k));
  if (bytes == 8)
    for (size_t l = 0; l < n; l += 2) {
      const mx__longs a = *(const mx__longs *)lane_at(r, l), b = *(const mx__longs *)lane_at(r, l + 1);
      *(mx__longs *)(d[0] + 8 * l) = __builtin_shuffle(a, b, (mx__longs){0, 2});
      *(mx__longs *)(d[1] + 8 * l) = __builtin_shuffle(a, b, (mx__longs){1, 3});
    }
  else if (elements == 2)
    for (size_t l = 0; l < n; l += 4) {
      const mx__words a = PAIR(lane_at(r, l), lane_at(r, l + 1)), b = PAIR(lane_at(r, l + 2), lane_at(r, l + 3));
      *(mx__words *)(d[0] + 4 * l) = __builtin_shuffle(a, b, (mx__words){0, 2, 4, 6});
      *(mx__words *)(d[1] + 4 * l) = __builtin_shuffle(a, b, (mx__words){1, 3, 5, 7});
    }
  else
    for (size_t l = 0; l < n; l += 4) {
      mx__words v[4];
      for (size_t k = 0; k < 4; k++) v[k] = *(const mx__words *)lane_at(r, l + k);
      turn_quads(v);
      for (size_t k = 0; k < 4; k++) *(mx__words *)(d[k] + 4 * l) = v[k];
    }
  return true;
}
static bool store_whole(struct mx_exec *x, const struct mx_insn *i, size_t elements, unsigned bytes,
                        const struct reach *r, unsigned n) {
  const unsigned char *v[4];
  if (elements > 4 || (bytes == 8 && elements > 2)) return false;
  for (size_t k = 0; k < elements; k++) v[k] = mx__ref(x, mx__operand_ref(i, 2 + k));
  if (bytes == 8)
    for (size_t l = 0; l < n; l++)
      *(mx__longs *)lane_at(r, l) = (mx__longs){((const uint64_t *)v[0])[l], ((const uint64_t *)v[1])[l]};
  else if (elements == 2)
    for (size_t l = 0; l < n; l++)
      *(uint64_t *)lane_at(r, l) = ((const uint32_t *)v[0])[l] | (uint64_t)((const uint32_t *)v[1])[l] << 32;
  else
    for (size_t l = 0; l < n; l += 4) {
      mx__words q[4];
      for (size_t k = 0; k < 4; k++) q[k] = *(const mx__words *)(v[k] + 4 * l);
      turn_quads(q);
      for (size_t k = 0; k < 4; k++) *(mx__words *)lane_at(r, l + k) = q[k];
    }
  return true;
}
#else
#define load_whole(...) false
#define store_whole(...) false
#endif

/* whole: elements lie in memory as they do in their slots */
static const struct mx_insn *load(struct mx_exec *x, const struct mx_insn *i, size_t elements, bool narrow,
                                  unsigned bytes, bool whole, mover *move) {
  const uint64_t m = mx__active(x, i);
  const unsigned n = mx__lanes(x);
  struct reach r;
  if (!m) return i + 1;
  if (!reach(x, i, m, elements, narrow, bytes * (unsigned)elements, i->mod >> 2, false, &r)) return NULL;
  if (elements > 1 && whole && m == x->full && load_whole(x, i, elements, bytes, &r, n)) return i + 1;
  for (size_t k = 0; k < elements; k++) move(x, mx__ref(x, mx__operand_ref(i, k)), &r, m, k * bytes);
  return i + 1;
}
static const struct mx_insn *store(struct mx_exec *x, const struct mx_insn *i, size_t elements, bool narrow,
                                   unsigned bytes, bool whole, mover *move) {
  const uint64_t m = mx__active(x, i);
  const unsigned n = mx__lanes(x);
  struct reach r;
  if (!m) return i + 1;
  if (!reach(x, i, m, 0, narrow, bytes * (unsigned)elements, i->mod >> 2, true, &r)) return NULL;
  if (elements > 1 && whole && m == x->full && r.shape != POINT && store_whole(x, i, elements, bytes, &r, n))
    return i + 1;
  for (size_t k = 0; k < elements; k++) move(x, mx__ref(x, mx__operand_ref(i, 2 + k)), &r, m, k * bytes);
  return i + 1;
}
#define BODY(id_, ...) \
  const struct mx_insn *MX_BODY(id_)(struct mx_exec * x, const struct mx_insn *i) { __VA_ARGS__ }
#define WHOLE(mt_, rt_) (sizeof(cell_##mt_) == sizeof(mx_##rt_) && (sizeof(cell_##mt_) == 4 || sizeof(cell_##mt_) == 8))
#define DO_LOAD(id_, make_, elements_, narrow_, dt_, mt_) \
  make_(MAKE_LOADER, mt_, dt_) \
      BODY(id_, return load(x, i, elements_, narrow_, sizeof(cell_##mt_), WHOLE(mt_, dt_), load_##mt_##_##dt_);)
#define DO_STORE(id_, make_, elements_, narrow_, vt_, mt_) \
  make_(MAKE_STORER, mt_, vt_) \
      BODY(id_, return store(x, i, elements_, narrow_, sizeof(cell_##mt_), WHOLE(mt_, vt_), store_##mt_##_##vt_);)

/* ---- atomics ----------------------------------------------------------------------------------------------------*/
/* The steps of all lanes, one after the other; d NULL: nobody wants the old values. */
typedef void stepper(void *d, const void *b, const void *c, const struct reach *r, uint64_t m, unsigned n, size_t at);

/* In memory that only this worker can see, plain; elsewhere by compare and exchange, which also a host thread observes
 * as one step. */
#define MAKE_STEPPER(step_, t_, ...) \
  MX__INL mx_##t_ step_##step_(const mx_##t_ OLD, const mx_##t_ B, const mx_##t_ C, const bool SHARED) { \
    (void)OLD, (void)B, (void)C, (void)SHARED; \
    return (__VA_ARGS__); \
  } \
  static void steps_##step_(void *d, const void *b, const void *c, const struct reach *r, uint64_t m, unsigned n, \
                            size_t at) { \
    MX_FOR_LANES (l, m) { \
      const mx_##t_ B = mx__get_##t_(b, lane_of(r, 0, l), n), C = mx__get_##t_(c, lane_of(r, 1, l), n); \
      void *cell = place(r, l, at); \
      mx_##t_ old; \
      if (r->shared) { \
        old = *(cell_##t_ *)cell; \
        *(cell_##t_ *)cell = step_##step_(old, B, C, true); \
      } else { \
        IN_ONE_STEP(SECOND(STEP_##step_, SWAP_LOOP, ), step_, t_, cell) \
      } \
      if (d) mx__put_##t_(d, l, n, old); \
    } \
  }
#define IN_ONE_STEP(how_, ...) how_(__VA_ARGS__)
/* What processors have instructions for that leave the old value; what they do is what the rows say. */
#define STEP_ADD_U32 , FETCH_ADD
#define STEP_ADD_U64 , FETCH_ADD
#define STEP_EXCH_B32 , EXCHANGE
#define STEP_EXCH_B64 , EXCHANGE
#define FETCH_ADD(step_, t_, at_) old = __atomic_fetch_add((cell_##t_ *)(at_), B, __ATOMIC_SEQ_CST);
#define EXCHANGE(step_, t_, at_) old = __atomic_exchange_n((cell_##t_ *)(at_), B, __ATOMIC_SEQ_CST);
#define SWAP_LOOP(step_, t_, at_) \
  union { \
    mx_##t_ v; \
    unsigned __int128 w16; \
    uint64_t w8; \
    uint32_t w4; \
    uint16_t w2; \
  } was, now; \
  if (sizeof(cell_##t_) == 16) { \
    unsigned __int128 seen = *(volatile uint64_t *)(at_); /* a guess; the exchange tells */ \
    do was.w16 = seen, now.v = step_##step_(was.v, B, C, false); \
    while ((seen = __sync_val_compare_and_swap((unsigned __int128 *)(at_), was.w16, now.w16)) != was.w16); \
  } else if (sizeof(cell_##t_) == 8) { \
    was.w8 = __atomic_load_n((uint64_t *)(at_), __ATOMIC_SEQ_CST); \
    do now.v = step_##step_(was.v, B, C, false); \
    while ( \
        !__atomic_compare_exchange_n((uint64_t *)(at_), &was.w8, now.w8, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
  } else if (sizeof(cell_##t_) == 4) { \
    was.w4 = __atomic_load_n((uint32_t *)(at_), __ATOMIC_SEQ_CST); \
    do now.v = step_##step_(was.v, B, C, false); \
    while ( \
        !__atomic_compare_exchange_n((uint32_t *)(at_), &was.w4, now.w4, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
  } else { \
    was.w2 = __atomic_load_n((uint16_t *)(at_), __ATOMIC_SEQ_CST); \
    do now.v = step_##step_(was.v, B, C, false); \
    while ( \
        !__atomic_compare_exchange_n((uint16_t *)(at_), &was.w2, now.w2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
  } \
  old = was.v;

static const struct mx_insn *atom(struct mx_exec *x, const struct mx_insn *i, size_t results, size_t elements,
                                  size_t operands, bool narrow, unsigned bytes, stepper *steps) {
  const uint64_t m = mx__active(x, i);
  struct reach r;
  if (!m) return i + 1;
  if (!reach(x, i, m, results, narrow, bytes * (unsigned)elements, i->mod, true, &r)) return NULL;
  const unsigned n = mx__lanes(x);
  r.uniform_operands >>= results + 2;
  /* A step by exchange lets no later access begin, so lanes would wait for cells that are in no cache one behind the
   * other: these are asked for together. Half a million steps in 64 MB take 27 ms instead of 85, in 4 kB 5 as ever. */
  if (!r.shared && r.shape != POINT)
    MX_FOR_LANES (l, m) __builtin_prefetch(place(&r, l, 0), 1);
  for (size_t k = 0; k < elements; k++) { /* a result's slot may be that of an operand still to come */
    const void *b = mx__ref(x, mx__operand_ref(i, results + 2 + k)),
               *c = operands == 1 ? b : mx__ref(x, mx__operand_ref(i, results + 3));
    steps(results == 1 ? mx__ref(x, i->o[0]) : results ? x->tmp + k * n * 4 : NULL, b, c, &r, m, n, k * bytes);
  }
  for (size_t k = 0; results > 1 && k < results; k++)
    mx__blend32(mx__ref(x, mx__operand_ref(i, k)), (const uint32_t *)(const void *)(x->tmp + k * n * 4), m, n);
  return i + 1;
}
#define DO_ATOM(id_, make_, results_, elements_, operands_, narrow_, step_, t_, ...) \
  make_(MAKE_STEPPER, step_, t_, __VA_ARGS__) \
      BODY(id_, return atom(x, i, results_, elements_, operands_, narrow_, sizeof(cell_##t_), steps_##step_);)

#define DO_PREFETCH(id_, ...) BODY(id_, (void)x; return i + 1;)

/* ---- rows -------------------------------------------------------------------------------------------------------*/
/* SH_ of a memory shape: whether the loop is made here, what the access function wants to know, and the register type.
 */
#undef SH_R0
#define HERE(make_, ...) make_(__VA_ARGS__)
#define ELSEWHERE(...)
#define HERE_u64 HERE
#define HERE_u32 ELSEWHERE
#define NARROW_u32 true
#define NARROW_u64 false
#define SH_LD1(t_, p_) HERE_##p_, 1, NARROW_##p_, t_
#define SH_LD2(t_, p_) ELSEWHERE, 2, NARROW_##p_, t_
#define SH_LD4(t_, p_) ELSEWHERE, 4, NARROW_##p_, t_
#define SH_LD8(t_, p_) ELSEWHERE, 8, NARROW_##p_, t_
#define SH_ST1 SH_LD1
#define SH_ST2 SH_LD2
#define SH_ST4 SH_LD4
#define SH_ST8 SH_LD8
#define SH_AT1(t_, p_) HERE_##p_, 1, 1, 1, NARROW_##p_
#define SH_AT2(t_, p_) HERE_##p_, 1, 1, 2, NARROW_##p_
#define SH_RE1(t_, p_) ELSEWHERE, 0, 1, 1, NARROW_##p_
#define SH_AV2(t_, p_) HERE_##p_, 2, 2, 1, NARROW_##p_
#define SH_AV4(t_, p_) ELSEWHERE, 4, 4, 1, NARROW_##p_
#define SH_AV8(t_, p_) ELSEWHERE, 8, 8, 1, NARROW_##p_
#define SH_RV2(t_, p_) ELSEWHERE, 0, 2, 1, NARROW_##p_
#define SH_RV4(t_, p_) ELSEWHERE, 0, 4, 1, NARROW_##p_
#define SH_RV8(t_, p_) ELSEWHERE, 0, 8, 1, NARROW_##p_
#define SH_PF(p_) 0
#define SH_PFN(p_) 0

/* OPM's last argument says what the access is: unpack it. */
#define LOAD(mt_, dt_, n_) DO_LOAD, (mt_)
#define STORE(mt_, n_) DO_STORE, (mt_)
#define ATOM(step_, t_, ...) DO_ATOM, (step_, t_, __VA_ARGS__)
#define ATOMV(step_, t_, n_, ...) DO_ATOM, (step_, t_, __VA_ARGS__)
#define PREFETCH() DO_PREFETCH, ()
#define BARE(...) __VA_ARGS__
#define OPM_(id_, shape_, do_, args_) OPM__(do_, id_, shape_, BARE args_)
#define OPM__(do_, id_, ...) do_(id_, __VA_ARGS__)
#define OPM___(id_, shape_, ...) OPM_(id_, BARE shape_, __VA_ARGS__)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) OPM___(ROW_##id_, (SH_##shape_), __VA_ARGS__)

#include "core/ops/memory.def"

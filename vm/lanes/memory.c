/* Bodies of the rows in mx/ops/memory.def: loads, stores, atomics.
 *
 * Every lane's address is checked against the instruction's cached bounds before anything is touched; lanes that miss
 * send the whole instruction to vm/access.c, which knows all allocations. Conflicts inside one instruction resolve in
 * lane order, the highest lane last. */
#include "vm/access.h"
#include "vm/lanes/body.h"

#undef OP
#undef OPF
#undef OPM
#define OP(...)
#define OPF(...)

struct reach {
  uint64_t addr[MX_MAX_LANES];       /* as the program computed them; of inactive lanes: the first active one's */
  unsigned char *host[MX_MAX_LANES]; /* where the bytes are */
  bool contiguous, uniform;          /* all lanes active, and one element after the other; every lane at one place */
  bool shared;                       /* nobody else can see the bytes while this block runs */
};

/* Finds the host addresses of an access of `bytes` bytes. False: trapped. One function for all bodies: inlined, it made
 * this file six times as slow to compile for no measurable gain. */
static __attribute__((noinline)) bool reach(struct mx_exec *x, const struct mx_insn *i, uint64_t m, mx_ref base, bool narrow, unsigned bytes,
                   unsigned space, bool write, struct reach *r) {
  const unsigned n = mx__lanes(x);
  const void *p = mx__ref(x, base);
  const uint64_t off = (uint64_t)i->off;
  if (narrow)
    for (size_t l = 0; l < n; l++) r->addr[l] = ((const uint32_t *)p)[l] + (uint32_t)off; /* wraps at 32 bits, as addresses of that width do */
  else
    for (size_t l = 0; l < n; l++) r->addr[l] = ((const uint64_t *)p)[l] + off;
  if (m != x->full) {
    const uint64_t first = r->addr[__builtin_ctzll(m)];
    uint8_t on[MX_MAX_LANES];
    mx__expand01(m, on);
    for (size_t l = 0; l < n; l++) r->addr[l] = on[l] ? r->addr[l] : first;
  }
  const struct mx_bounds *b = &x->bounds[i->aux];
  const uint64_t lo = b->lo, limit = b->span - bytes, start = r->addr[0];
  uint64_t bad = 0, spread = 0, gaps = 0;
  for (size_t l = 0; l < n; l++) {
    const uint64_t a = r->addr[l];
    bad |= (uint64_t)(a - lo > limit) | (a & (bytes - 1));
    spread |= a ^ start;
    gaps |= a ^ (start + l * bytes);
  }
  r->uniform = spread == 0;
  r->contiguous = gaps == 0 && m == x->full;
  if (__builtin_expect(bad || b->span < bytes || (write && !b->writable), 0)) {
    r->contiguous = r->uniform = false;
    if (!mx__access_find(x, i, m, r->addr, bytes, space, write, r->host)) return false;
    const unsigned char *first = r->host[__builtin_ctzll(m)];
    for (size_t l = 0; l < n; l++)
      if (!(m >> l & 1)) r->host[l] = (unsigned char *)first;
    r->shared = x->bounds[i->aux].kind == MX_SHARED || x->bounds[i->aux].kind == MX_LOCAL;
    return true;
  }
  unsigned char *host = x->window[b->kind] + b->off - lo;
  r->shared = b->kind == MX_SHARED || b->kind == MX_LOCAL;
  if (b->kind == MX_LOCAL) {
    r->contiguous = r->uniform = false;
    for (size_t l = 0; l < n; l++) r->host[l] = host + r->addr[l] + l * x->local_stride;
  } else if (r->contiguous || r->uniform)
    r->host[0] = host + start;
  else
    for (size_t l = 0; l < n; l++) r->host[l] = host + r->addr[l];
  return true;
}

/* Types as they lie in memory; assignment to and from register types widens by their sign, or keeps the low bits. */
#define CELL(t_, c_) typedef c_ cell_##t_;
CELL(u8, uint8_t) CELL(s8, int8_t) CELL(b8, uint8_t) CELL(u16, uint16_t) CELL(s16, int16_t) CELL(b16, uint16_t)
CELL(f16, uint16_t) CELL(bf16, uint16_t)
CELL(u32, uint32_t) CELL(s32, int32_t) CELL(b32, uint32_t) CELL(f32, float) CELL(f16x2, uint32_t) CELL(bf16x2, uint32_t)
CELL(u64, uint64_t) CELL(s64, int64_t) CELL(b64, uint64_t) CELL(f64, double) CELL(b128, mx_b128)

/* SH_ of a memory shape: elements, register type, whether the address is in a 32-bit register. */
#undef SH_R0
#define NARROW_u32 true
#define NARROW_u64 false
#define SH_LD1(t_, p_) 1, t_, NARROW_##p_
#define SH_LD2(t_, p_) 2, t_, NARROW_##p_
#define SH_LD4(t_, p_) 4, t_, NARROW_##p_
#define SH_LD8(t_, p_) 8, t_, NARROW_##p_
#define SH_ST1(t_, p_) 1, t_, NARROW_##p_
#define SH_ST2(t_, p_) 2, t_, NARROW_##p_
#define SH_ST4(t_, p_) 4, t_, NARROW_##p_
#define SH_ST8(t_, p_) 8, t_, NARROW_##p_
#define SH_AT1(t_, p_) 1, 1, t_, NARROW_##p_ /* results, operands */
#define SH_AT2(t_, p_) 1, 2, t_, NARROW_##p_
#define SH_RE1(t_, p_) 0, 1, t_, NARROW_##p_
#define SH_AV2(t_, p_) 1
#define SH_AV4(t_, p_) 1
#define SH_AV8(t_, p_) 1
#define SH_RV2(t_, p_) 0
#define SH_RV4(t_, p_) 0
#define SH_RV8(t_, p_) 0
#define SH_PF(p_) 0

#define REF(i_, k_) ((k_) < 7 ? (i_)->o[(k_) < 7 ? (k_) : 0] : (i_)->more[k_])

#define DO_LOAD(id_, el_, dt_, narrow_, mt_) \
  const struct mx_insn *MX_BODY(id_)(struct mx_exec *x, const struct mx_insn *i) { \
    const uint64_t m = mx__active(x, i); \
    if (!m) return i + 1; \
    const unsigned n = mx__lanes(x); \
    struct reach r; \
    if (!reach(x, i, m, REF(i, el_), narrow_, sizeof(cell_##mt_) * (el_), i->mod >> 2, false, &r)) return NULL; \
    for (unsigned k = 0; k < (el_); k++) { \
      void *d = m == x->full ? mx__ref(x, REF(i, k)) : x->tmp; \
      if (r.contiguous && (el_) == 1) \
        _Pragma("GCC ivdep") for (size_t l = 0; l < n; l++) mx__put_##dt_(d, l, n, ((const cell_##mt_ *)r.host[0])[l]); \
      else if (r.uniform) { \
        const mx_##dt_ v = ((const cell_##mt_ *)r.host[0])[k]; \
        for (size_t l = 0; l < n; l++) mx__put_##dt_(d, l, n, v); \
      } else if (r.contiguous) \
        for (size_t l = 0; l < n; l++) mx__put_##dt_(d, l, n, ((const cell_##mt_ *)r.host[0])[(el_) * l + k]); \
      else \
        for (size_t l = 0; l < n; l++) mx__put_##dt_(d, l, n, ((const cell_##mt_ *)r.host[l])[k]); \
      mx__done(x, REF(i, k), MX_T_##dt_, false, NULL, x->tmp, m); \
    } \
    return i + 1; \
  }

#define DO_STORE(id_, el_, vt_, narrow_, mt_) \
  const struct mx_insn *MX_BODY(id_)(struct mx_exec *x, const struct mx_insn *i) { \
    const uint64_t m = mx__active(x, i); \
    if (!m) return i + 1; \
    const unsigned n = mx__lanes(x); \
    struct reach r; \
    if (!reach(x, i, m, REF(i, 0), narrow_, sizeof(cell_##mt_) * (el_), i->mod >> 2, true, &r)) return NULL; \
    if (r.contiguous && (el_) == 1) { \
      const void *v = mx__ref(x, REF(i, 2)); \
      _Pragma("GCC ivdep") for (size_t l = 0; l < n; l++) ((cell_##mt_ *)r.host[0])[l] = mx__get_##vt_(v, l, n); \
    } else if (r.uniform) { /* all lanes write one place: the highest is last */ \
      const size_t last = 63u - (unsigned)__builtin_clzll(m); \
      for (unsigned k = 0; k < (el_); k++) \
        ((cell_##mt_ *)r.host[0])[k] = mx__get_##vt_(mx__ref(x, REF(i, 2 + k)), last, n); \
    } else { \
      if (r.contiguous) \
        for (size_t l = 1; l < n; l++) r.host[l] = r.host[0] + l * sizeof(cell_##mt_) * (el_); \
      const void *v[el_]; \
      for (unsigned k = 0; k < (el_); k++) v[k] = mx__ref(x, REF(i, 2 + k)); \
      MX_FOR_LANES(l, m) \
        for (unsigned k = 0; k < (el_); k++) ((cell_##mt_ *)r.host[l])[k] = mx__get_##vt_(v[k], l, n); \
    } \
    return i + 1; \
  }

/* One lane's atomic step. In memory that only this worker can see, plain; elsewhere by compare and exchange, which also
 * a host thread observes as one step. */
#define DO_ATOM(id_, res_, ops_, t_, narrow_, ...) \
  MX__INL mx_##t_ step_##id_(const mx_##t_ OLD, const mx_##t_ B, const mx_##t_ C, const bool SHARED) { \
    (void)OLD, (void)B, (void)C, (void)SHARED; \
    return (__VA_ARGS__); \
  } \
  const struct mx_insn *MX_BODY(id_)(struct mx_exec *x, const struct mx_insn *i) { \
    const uint64_t m = mx__active(x, i); \
    if (!m) return i + 1; \
    const unsigned n = mx__lanes(x); \
    struct reach r; \
    if (!reach(x, i, m, i->o[res_], narrow_, sizeof(cell_##t_), i->mod, true, &r)) return NULL; \
    if (r.uniform || r.contiguous) \
      for (size_t l = 1; l < n; l++) r.host[l] = r.host[0] + (r.contiguous ? l * sizeof(cell_##t_) : 0); \
    const void *b = mx__ref(x, i->o[(res_) + 2]), *c = mx__ref(x, i->o[(res_) + 1 + (ops_)]); \
    void *d = (res_) ? mx__ref(x, i->o[0]) : NULL; \
    MX_FOR_LANES(l, m) { \
      const mx_##t_ B = mx__get_##t_(b, l, n), C = mx__get_##t_(c, l, n); \
      mx_##t_ old; \
      if (r.shared) { \
        old = *(cell_##t_ *)r.host[l]; \
        *(cell_##t_ *)r.host[l] = step_##id_(old, B, C, true); \
      } else { \
        SWAP_LOOP(id_, t_, r.host[l]) \
      } \
      if (res_) mx__put_##t_(d, l, n, old); \
    } \
    return i + 1; \
  }
#define SWAP_LOOP(id_, t_, at_) \
  union { mx_##t_ v; unsigned __int128 w16; uint64_t w8; uint32_t w4; uint16_t w2; } was, now; \
  if (sizeof(cell_##t_) == 16) { \
    unsigned __int128 seen = *(volatile uint64_t *)(at_); /* a guess; the exchange tells */ \
    do was.w16 = seen, now.v = step_##id_(was.v, B, C, false); \
    while ((seen = __sync_val_compare_and_swap((unsigned __int128 *)(at_), was.w16, now.w16)) != was.w16); \
  } else if (sizeof(cell_##t_) == 8) { \
    was.w8 = __atomic_load_n((uint64_t *)(at_), __ATOMIC_SEQ_CST); \
    do now.v = step_##id_(was.v, B, C, false); \
    while (!__atomic_compare_exchange_n((uint64_t *)(at_), &was.w8, now.w8, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
  } else if (sizeof(cell_##t_) == 4) { \
    was.w4 = __atomic_load_n((uint32_t *)(at_), __ATOMIC_SEQ_CST); \
    do now.v = step_##id_(was.v, B, C, false); \
    while (!__atomic_compare_exchange_n((uint32_t *)(at_), &was.w4, now.w4, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
  } else { \
    was.w2 = __atomic_load_n((uint16_t *)(at_), __ATOMIC_SEQ_CST); \
    do now.v = step_##id_(was.v, B, C, false); \
    while (!__atomic_compare_exchange_n((uint16_t *)(at_), &was.w2, now.w2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
  } \
  old = was.v;

/* A vector: its elements one after the other. */
#define DO_ATOMV(id_, res_, t_, el_, ...) \
  MX__INL mx_##t_ step_##id_(const mx_##t_ OLD, const mx_##t_ B, const mx_##t_ C, const bool SHARED) { \
    (void)OLD, (void)B, (void)C, (void)SHARED; \
    return (__VA_ARGS__); \
  } \
  const struct mx_insn *MX_BODY(id_)(struct mx_exec *x, const struct mx_insn *i) { \
    const uint64_t m = mx__active(x, i); \
    if (!m) return i + 1; \
    const unsigned n = mx__lanes(x), first = (res_) * (el_); \
    struct reach r; \
    if (!reach(x, i, m, REF(i, first), false, sizeof(cell_##t_) * (el_), i->mod, true, &r)) return NULL; \
    if (r.uniform || r.contiguous) \
      for (size_t l = 1; l < n; l++) r.host[l] = r.host[0] + (r.contiguous ? l * sizeof(cell_##t_) * (el_) : 0); \
    MX_FOR_LANES(l, m) \
      for (unsigned k = 0; k < (el_); k++) { \
        const mx_##t_ B = mx__get_##t_(mx__ref(x, REF(i, first + 2 + k)), l, n), C = B; \
        unsigned char *at = r.host[l] + k * sizeof(cell_##t_); \
        mx_##t_ old; \
        SWAP_LOOP(id_, t_, at) \
        if (res_) mx__put_##t_(mx__ref(x, REF(i, k)), l, n, old); \
      } \
    return i + 1; \
  }
#define DO_PREFETCH(id_, ...) \
  const struct mx_insn *MX_BODY(id_)(struct mx_exec *x, const struct mx_insn *i) { \
    (void)x; \
    return i + 1; \
  }

/* OPM's last argument says what the access is: unpack it. */
#define LOAD(mt_, dt_, n_) DO_LOAD, (mt_)
#define STORE(mt_, n_) DO_STORE, (mt_)
#define ATOM(t_, ...) DO_ATOM, (__VA_ARGS__)
#define ATOMV(t_, n_, ...) DO_ATOMV, (t_, n_, __VA_ARGS__)
#define PREFETCH() DO_PREFETCH, ()
#define BARE(...) __VA_ARGS__
#define OPM_(id_, shape_, do_, args_) OPM__(do_, id_, shape_, BARE args_)
#define OPM__(do_, id_, ...) do_(id_, __VA_ARGS__)
#define OPM___(id_, shape_, ...) OPM_(id_, BARE shape_, __VA_ARGS__)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) OPM___(ROW_##id_, (SH_##shape_), __VA_ARGS__)

#include "mx/ops/memory.def"

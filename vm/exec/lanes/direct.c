/* Loads and stores of compiled code by lanes that lie apart, at whatever addresses, of elements of 8 to 64 bits, also
 * in local memory: what is left to do where code has found that lanes are in no row. Values come from and go to cells
 * of the spill area. All lanes are checked against the bounds of what the instruction touched last before anything is
 * moved; what misses them is left to the interpreter's body, which knows all allocations and traps. So nothing here
 * knows instructions, frames or traps, and a call costs little more than its moves. */
#include "addresses.h"
#include "quads.h"
#include "vm/exec/compiled_block.h"
#include "vm/exec/jitabi.h"

#if defined __AVX2__ && !defined __clang__ && !defined __SANITIZE_THREAD__
#define HAS_GATHER 1
#include <immintrin.h>
#endif

/* Where local memory of the current warp begins, also while x->warp is not that warp. */
MX__INL uint64_t local_memory(const struct mx_exec *x) {
  return (uint64_t)(uintptr_t)x->block->local + mx__compiled_block_warp(x) * x->lanes * x->local_stride;
}

/* Host addresses of the lanes m, all of which are checked; other lanes get that of one of them. */
MX__INL bool find_places(const struct mx_exec *x, const struct mx_jit_access *a, const void *p, bool narrow,
                         bool one_address, bool all, uint64_t m, uint64_t *at) {
  const struct mx_bounds *b = &x->bounds[a->bounds];
  if (b->span < a->bytes || b->span > INT64_MAX || (a->is_store && !b->writable)) return false;
  const bool local = b->kind == MX_LOCAL;
  if (local && !x->block->local) return false;
  const uint64_t limit = b->span - a->bytes, stride = local ? x->local_stride : 0, off = (uint64_t)a->off;
  const uint64_t host = (local ? local_memory(x) : (uint64_t)(uintptr_t)x->window[b->kind]) + b->off;
  const unsigned n = mx__lanes(x);
  const size_t one = one_address ? 0 : (size_t)__builtin_ctzll(m);
  const uint64_t far = (narrow ? ((const uint32_t *)p)[one] + (uint32_t)off : ((const uint64_t *)p)[one] + off) - b->lo;
  mx__v64 bad = {0}, odd = {0}, bit = *(const mx__v64 *)(const void *)lanes_bits,
          lanes = *(const mx__v64 *)(const void *)lanes_numbers * stride;
  for (unsigned l = 0; l < n; l += LANES_A_VECTOR) {
    mx__v64 f;
    if (one_address) f = (mx__v64){0} + far;
    else if (narrow) {
      const lanes_h w = *(const lanes_h *)(const void *)((const uint32_t *)p + l) + (uint32_t)off;
      f = __builtin_convertvector(w, mx__v64) - b->lo;
    } else f = *(const mx__v64 *)(const void *)((const uint64_t *)p + l) + (off - b->lo);
    if (!all) {
      const mx__v64 on = (mx__v64)((bit & m) == bit);
      f = (f & on) | (far & ~on);
      bit <<= LANES_A_VECTOR;
    }
    bad |= f | (limit - f); /* the sign: outside; a limit has none */
    odd |= f;
    f += host;
    if (local) f += lanes, lanes += LANES_A_VECTOR * stride;
    *(mx__v64 *)(void *)(at + l) = f;
  }
  return !lanes_any((bad >> 63) | (odd & (a->bytes - 1)));
}

/* ---- loads ------------------------------------------------------------------------------------------------------*/
#ifdef HAS_GATHER
/* Words and long words at LANES_A_VECTOR addresses. */
#if MX__VECTOR == 64
#define GATHER32(at_) ((lanes_h)_mm512_i64gather_epi32(*(const __m512i *)(const void *)(at_), NULL, 1))
#define GATHER64(at_) ((mx__v64)_mm512_i64gather_epi64(*(const __m512i *)(const void *)(at_), NULL, 1))
#else
#define GATHER32(at_) ((lanes_h)_mm256_i64gather_epi32((const int *)NULL, *(const __m256i *)(const void *)(at_), 1))
#define GATHER64(at_) \
  ((mx__v64)_mm256_i64gather_epi64((const long long *)NULL, *(const __m256i *)(const void *)(at_), 1))
#endif
/* One behind the other. */
#if MX__VECTOR == 64
#define BOTH(x_, y_) __builtin_shufflevector(x_, y_, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define BOTH(x_, y_) __builtin_shufflevector(x_, y_, 0, 1, 2, 3, 4, 5, 6, 7)
#endif
typedef int32_t lanes_signed __attribute__((vector_size(MX__VECTOR)));
/* Elements of `bits` bits into slots of 32: narrow ones are in the aligned words that they lie in, which are in the
 * same page. `cut`: signed elements go into 16 bits. */
MX__INL void gather_words(uint32_t *to, const uint64_t *at, uint64_t add, uint64_t m, unsigned n, unsigned bits,
                          bool with_sign, bool cut) {
  for (unsigned l = 0; l < n; l += 2 * LANES_A_VECTOR) {
    mx__v64 low = *(const mx__v64 *)(const void *)(at + l) + add,
            high = *(const mx__v64 *)(const void *)(at + l + LANES_A_VECTOR) + add;
    lanes_words shift = {0};
    if (bits < 32) {
      shift = (EVEN_WORDS(low, high) & 3) << 3;
      low &= ~UINT64_C(3), high &= ~UINT64_C(3);
    }
    const lanes_h first = GATHER32(&low), second = GATHER32(&high);
    lanes_words v = BOTH(first, second);
    if (bits < 32) {
      v = v >> shift << (32 - bits);
      v = with_sign ? (lanes_words)((lanes_signed)v >> (int)(32 - bits)) : v >> (32 - bits);
      if (cut) v &= 0xFFFF;
    }
    const mx__v32 bit = *(const mx__v32 *)(const void *)(mx__bit + l);
    const lanes_words on = (lanes_words)((bit & (uint32_t)(m >> (l & 32))) == bit);
    mx__v32 *slot = (mx__v32 *)(void *)(to + l);
    *slot = (mx__v32)((v & on) | ((lanes_words)*slot & ~on));
  }
}
MX__INL void gather_longs(uint64_t *to, const uint64_t *at, uint64_t add, uint64_t m, unsigned n) {
  mx__v64 bit = *(const mx__v64 *)(const void *)lanes_bits;
  for (unsigned l = 0; l < n; l += LANES_A_VECTOR, bit <<= LANES_A_VECTOR) {
    const mx__v64 from = *(const mx__v64 *)(const void *)(at + l) + add, v = GATHER64(&from),
                  on = (mx__v64)((bit & m) == bit);
    mx__v64 *slot = (mx__v64 *)(void *)(to + l);
    *slot = (v & on) | (*slot & ~on);
  }
}
#endif

#define EACH(slot_, value_, cell_) \
  MX_FOR_LANES (l, m) ((slot_ *)to)[l] = (slot_)(value_) * (const cell_ *)(uintptr_t)(at[l] + add)
typedef uint16_t __attribute__((may_alias)) cell16;
typedef int16_t __attribute__((may_alias)) signed16;
typedef uint32_t __attribute__((may_alias)) cell32;
typedef int32_t __attribute__((may_alias)) signed32;
typedef uint64_t __attribute__((may_alias)) cell64;
static void load_element(void *to, const uint64_t *at, uint64_t add, uint64_t m, unsigned n,
                         enum mx_jit_access_form form) {
  (void)n;
  switch (form) {
#ifdef HAS_GATHER
  case MX_JIT_U8_32: gather_words(to, at, add, m, n, 8, false, false); return;
  case MX_JIT_S8_16: gather_words(to, at, add, m, n, 8, true, true); return;
  case MX_JIT_S8_32: gather_words(to, at, add, m, n, 8, true, false); return;
  case MX_JIT_U16_32: gather_words(to, at, add, m, n, 16, false, false); return;
  case MX_JIT_S16_32: gather_words(to, at, add, m, n, 16, true, false); return;
  case MX_JIT_B32: gather_words(to, at, add, m, n, 32, false, false); return;
  case MX_JIT_B64: gather_longs(to, at, add, m, n); return;
#else
  case MX_JIT_U8_32: EACH(cell32, uint32_t, uint8_t); return;
  case MX_JIT_S8_16: EACH(cell32, uint16_t, int8_t); return;
  case MX_JIT_S8_32: EACH(cell32, int32_t, int8_t); return;
  case MX_JIT_U16_32: EACH(cell32, uint32_t, cell16); return;
  case MX_JIT_S16_32: EACH(cell32, int32_t, signed16); return;
  case MX_JIT_B32: EACH(cell32, uint32_t, cell32); return;
  case MX_JIT_B64: EACH(cell64, uint64_t, cell64); return;
#endif
  case MX_JIT_U8_64: EACH(cell64, uint64_t, uint8_t); return;
  case MX_JIT_S8_64: EACH(cell64, int64_t, int8_t); return;
  case MX_JIT_U16_64: EACH(cell64, uint64_t, cell16); return;
  case MX_JIT_S16_64: EACH(cell64, int64_t, signed16); return;
  case MX_JIT_U32_64: EACH(cell64, uint64_t, cell32); return;
  case MX_JIT_S32_64: EACH(cell64, int64_t, signed32); return;
  }
}

/* ---- stores: the highest lane is last ---------------------------------------------------------------------------*/
#define MAKE_STORE(name_, cell_, slot_) \
  MX__INL void name_(const void *v, const uint64_t *at, uint64_t add, uint64_t m, unsigned n, bool all, bool one) { \
    const slot_ *from = v; \
    if (one) \
      MX_FOR_LANES (l, m) *(cell_ *)(uintptr_t)(at[l] + add) = (cell_)from[0]; \
    else if (all) \
      for (size_t l = 0; l < n; l++) *(cell_ *)(uintptr_t)(at[l] + add) = (cell_)from[l]; \
    else \
      MX_FOR_LANES (l, m) *(cell_ *)(uintptr_t)(at[l] + add) = (cell_)from[l]; \
  }
MAKE_STORE(store_8, uint8_t, cell32)
MAKE_STORE(store_8_of_64, uint8_t, cell64)
MAKE_STORE(store_16, cell16, cell32)
MAKE_STORE(store_16_of_64, cell16, cell64)
MAKE_STORE(store_32, cell32, cell32)
MAKE_STORE(store_32_of_64, cell32, cell64)
MAKE_STORE(store_64, cell64, cell64)
static void store_element(const void *v, const uint64_t *at, uint64_t add, uint64_t m, unsigned n, bool all, bool one,
                          enum mx_jit_access_form form) {
  switch (form) {
  case MX_JIT_U8_32: store_8(v, at, add, m, n, all, one); return;
  case MX_JIT_U8_64: store_8_of_64(v, at, add, m, n, all, one); return;
  case MX_JIT_U16_32: store_16(v, at, add, m, n, all, one); return;
  case MX_JIT_U16_64: store_16_of_64(v, at, add, m, n, all, one); return;
  case MX_JIT_B32: store_32(v, at, add, m, n, all, one); return;
  case MX_JIT_U32_64: store_32_of_64(v, at, add, m, n, all, one); return;
  case MX_JIT_B64: store_64(v, at, add, m, n, all, one); return;
  default: return; /* signs are nothing to a store */
  }
}

/* ---- quads of words, each lane's at once ------------------------------------------------------------------------*/
#ifdef MX__TURNS
static void load_quads(const struct mx_jit_access *a, unsigned char *spill_area, const uint64_t *at, uint64_t m,
                       unsigned n) {
  for (unsigned l = 0; l < n; l += 4) {
    mx__words v[4];
    for (unsigned k = 0; k < 4; k++) v[k] = *(const mx__words *)(uintptr_t)at[l + k];
    turn_quads(v);
    const mx__words bit = *(const mx__words *)(const void *)(mx__bit + l),
                    on = (mx__words)((bit & (uint32_t)(m >> (l & 32))) == bit);
    for (unsigned k = 0; k < 4; k++) {
      mx__words *slot = (mx__words *)(void *)(spill_area + a->value[k] + 4 * l);
      *slot = (v[k] & on) | (*slot & ~on);
    }
  }
}
static void store_quads(const struct mx_jit_access *a, const unsigned char *const *base, const uint64_t *at, uint64_t m,
                        unsigned n) {
  const unsigned char *from[4];
  for (unsigned k = 0; k < 4; k++) from[k] = base[a->value[k] & 1] + a->value[k];
  for (unsigned l = 0; l < n; l += 4) {
    mx__words v[4];
    if (!(m >> l & 15)) continue;
    for (unsigned k = 0; k < 4; k++) v[k] = *(const mx__words *)(const void *)(from[k] + 4 * l);
    turn_quads(v);
    for (unsigned k = 0; k < 4; k++)
      if (m >> (l + k) & 1) *(mx__words *)(uintptr_t)at[l + k] = v[k];
  }
}
#else
#define load_quads(...)
#define store_quads(...)
#define MX__TURNS 0
#endif

bool MX_LV(mx__jit_access)(struct mx_exec *x, const struct mx_jit_access *a, unsigned char *spill_area, uint64_t m);
bool MX_LV(mx__jit_access)(struct mx_exec *x, const struct mx_jit_access *a, unsigned char *spill_area, uint64_t m) {
  _Alignas(64) uint64_t at[MX_MAX_LANES];
  const unsigned n = mx__lanes(x);
  const unsigned char *const base[2] = {spill_area, a->pool};
  const void *p = base[a->address & 1] + a->address;
  if (!m) return true;
#define FIND(one_, all_) \
  (a->narrow ? find_places(x, a, p, true, one_, all_, m, at) : find_places(x, a, p, false, one_, all_, m, at))
  if (a->one_address ? !FIND(true, false) : m == x->full ? !FIND(false, true) : !FIND(false, false)) return false;
#undef FIND
  if (MX__TURNS && a->n == 4 && a->form == MX_JIT_B32) {
    if (a->is_store) store_quads(a, base, at, m, n);
    else load_quads(a, spill_area, at, m, n);
    return true;
  }
  for (unsigned e = 0; e < a->n; e++) {
    const uint64_t add = (uint64_t)e * a->cell;
    if (a->is_store)
      store_element(base[a->value[e] & 1] + a->value[e], at, add, m, n, m == x->full, a->one_value, a->form);
    else load_element(spill_area + a->value[e], at, add, m, n, a->form);
  }
  return true;
}

/* Loads and stores of compiled code at scattered addresses, of elements of 8 to 64 bits, also in local memory: what is
 * left to do where code has found that lanes are in no row. Values come from and go to cells of the spill area. All
 * lanes are checked against the bounds of what the instruction touched last before anything is moved; what misses them
 * is left to the interpreter's body, which knows all allocations and traps. So nothing here knows instructions, frames
 * or traps, and a call costs little more than its moves. */
#include "addresses.h"
#include "quads.h"
#include "vm/exec/compiled_block.h"
#include "vm/exec/jitabi.h"

/* Where local memory of the current warp begins, also while x->warp is not that warp. */
MX__INL uint64_t local_memory(const struct mx_exec *x) {
  return (uint64_t)(uintptr_t)x->block->local + mx__chain_warp(x) * x->lanes * x->local_stride;
}

/* Whether the mask names so few of n lanes that each is looked at alone. Of 32 lanes, at v3 on Zen 5, a load by one
 * takes 5 ns and by eight 14, by all together 17 to 21; a store by one 6, by four 10, together 11 to 17. */
MX__INL bool are_few(uint64_t m, unsigned n, bool is_store) {
  return (unsigned)__builtin_popcountll(m) <= n / (is_store ? 8 : 4);
}

/* Host addresses of the lanes m, all of which are checked; other lanes get that of one of them, or, where `few` run,
 * none. */
MX__INL bool find_places(const struct mx_exec *x, const struct mx_jit_access *a, const void *p, bool narrow,
                         bool one_address, bool all, bool few, uint64_t m, uint64_t *at) {
  const struct mx_bounds *b = &x->bounds[a->bounds];
  if (b->span < a->bytes || b->span > INT64_MAX || (a->is_store && !b->writable)) return false;
  const bool local = b->kind == MX_LOCAL;
  if (local && !x->block->local) return false;
  const uint64_t limit = b->span - a->bytes, stride = local ? x->local_stride : 0, off = (uint64_t)a->off;
  const uint64_t host = (local ? local_memory(x) : (uint64_t)(uintptr_t)x->window[b->kind]) + b->off;
  const unsigned n = mx__lanes(x);
#define FAR(l_) ((narrow ? ((const uint32_t *)p)[l_] + (uint32_t)off : ((const uint64_t *)p)[l_] + off) - b->lo)
  if (few) {
    uint64_t outside = 0, low = 0;
    MX_FOR_LANES (l, m) {
      const uint64_t f = FAR(one_address ? 0 : l);
      outside |= f | (limit - f);
      low |= f;
      at[l] = host + f + l * stride;
    }
    return !(outside >> 63 | (low & (a->bytes - 1)));
  }
  const uint64_t far = FAR(one_address ? 0 : (size_t)__builtin_ctzll(m));
#undef FAR
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
    bad |= f | (limit - f); /* the top bit is set for a lane outside; a limit is below 2^63 */
    odd |= f;
    f += host;
    if (local) f += lanes, lanes += LANES_A_VECTOR * stride;
    *(mx__v64 *)(void *)(at + l) = f;
  }
  return !any_bit((bad >> 63) | (odd & (a->bytes - 1)));
}

/* ---- adjacent lanes ----------------------------------------------------------------------------------------------*/
/* A warp whose lanes are in no row as a whole may still consist of vectors whose lanes are: a tile of 16 lanes by two,
 * say; or of vectors whose lanes all have one address. */
enum places { SCATTERED, ROWS, POINTS };
/* For vectors of `at_once` lanes and elements of so many bytes. The first vector's last lane is asked first: lanes that
 * are scattered hardly ever pass that. Where not all lanes run, others have the address of one that does. */
MX__INL enum places find_vectors(const uint64_t *at, unsigned n, unsigned at_once, uint64_t bytes, bool all) {
  const uint64_t far = at[at_once - 1] - at[0], step = far ? bytes : 0;
  if (far != (at_once - 1) * step || (far && !all)) return SCATTERED;
  const mx__v64 numbers = *(const mx__v64 *)(const void *)lanes_numbers;
  mx__v64 differ = {0};
  for (unsigned l = 0; l < n; l += at_once)
    for (unsigned k = 0; k < at_once; k += LANES_A_VECTOR)
      differ |= *(const mx__v64 *)(const void *)(at + l + k) ^ (at[l] + (numbers + k) * step);
  return any_bit(differ) ? SCATTERED : far ? ROWS : POINTS;
}
/* As many cells in memory as there are slots in a vector. */
#define CELLS(cell_, slot_, vector_) \
  cell_ __attribute__((vector_size(sizeof(cell_) * (sizeof(vector_) / sizeof(slot_))), aligned(1), may_alias))

/* ---- loads -------------------------------------------------------------------------------------------------------*/
/* Several lanes' elements become one vector, put together from loads of their own: on Zen 5, at v3 and v4, this takes
 * half as long as gathers, 6 ns against 12 for 32 words. A loop of stores to the slot would take 10, and a vector load
 * behind it would wait for them. */
#if MX__VECTOR == 64
#define LONGS(v_, c_) \
  { E(v_, c_, 0), E(v_, c_, 1), E(v_, c_, 2), E(v_, c_, 3), E(v_, c_, 4), E(v_, c_, 5), E(v_, c_, 6), E(v_, c_, 7) }
#define WORDS(v_, c_) \
  { \
    E(v_, c_, 0), E(v_, c_, 1), E(v_, c_, 2), E(v_, c_, 3), E(v_, c_, 4), E(v_, c_, 5), E(v_, c_, 6), E(v_, c_, 7), \
        E(v_, c_, 8), E(v_, c_, 9), E(v_, c_, 10), E(v_, c_, 11), E(v_, c_, 12), E(v_, c_, 13), E(v_, c_, 14), \
        E(v_, c_, 15) \
  }
#elif MX__VECTOR == 32
#define LONGS(v_, c_) \
  { E(v_, c_, 0), E(v_, c_, 1), E(v_, c_, 2), E(v_, c_, 3) }
#define WORDS(v_, c_) \
  { E(v_, c_, 0), E(v_, c_, 1), E(v_, c_, 2), E(v_, c_, 3), E(v_, c_, 4), E(v_, c_, 5), E(v_, c_, 6), E(v_, c_, 7) }
#else
#define LONGS(v_, c_) \
  { E(v_, c_, 0), E(v_, c_, 1) }
#define WORDS(v_, c_) \
  { E(v_, c_, 0), E(v_, c_, 1), E(v_, c_, 2), E(v_, c_, 3) }
#endif
typedef uint16_t __attribute__((may_alias)) cell16;
typedef int16_t __attribute__((may_alias)) signed16;
typedef uint32_t __attribute__((may_alias)) cell32;
typedef int32_t __attribute__((may_alias)) signed32;
typedef uint64_t __attribute__((may_alias)) cell64;

MX__INL mx__v32 words_on(uint64_t m, unsigned l) {
  const mx__v32 bit = *(const mx__v32 *)(const void *)(mx__bit + l);
  return (mx__v32)((bit & (uint32_t)(m >> (l & 32))) == bit);
}
MX__INL mx__v64 longs_on(uint64_t m, unsigned l) {
  const mx__v64 bit = *(const mx__v64 *)(const void *)lanes_bits;
  return (mx__v64)((bit & m >> l) == bit);
}
/* The element of lane l + k_, of type cell_ in memory, as value_. */
#define E(value_, cell_, k_) (value_) * (const cell_ *)(uintptr_t)(at[l + (k_)] + add)
#define MAKE_LOAD(name_, slot_, value_, cell_, vector_, elements_, on_) \
  MX__INL void name_(void *to, const uint64_t *at, uint64_t add, uint64_t m, unsigned n, bool all, bool few) { \
    if (few) { \
      MX_FOR_LANES (l, m) ((slot_ *)to)[l] = (slot_)E(value_, cell_, 0); \
      return; \
    } \
    enum { AT_ONCE = sizeof(vector_) / sizeof(slot_) }; \
    typedef CELLS(cell_, slot_, vector_) cells; \
    typedef value_ values __attribute__((vector_size(sizeof(value_) * AT_ONCE))); \
    const enum places places = find_vectors(at, n, AT_ONCE, sizeof(cell_), all); \
    for (unsigned l = 0; places == ROWS && l < n; l += AT_ONCE) \
      *(vector_ *)(void *)((slot_ *)to + l) = \
          __builtin_convertvector(__builtin_convertvector(*(const cells *)(uintptr_t)(at[l] + add), values), vector_); \
    for (unsigned l = 0; places != ROWS && l < n; l += AT_ONCE) { \
      vector_ *slot = (vector_ *)(void *)((slot_ *)to + l), v; \
      if (places == POINTS) v = (vector_){0} + (slot_)E(value_, cell_, 0); \
      else v = (vector_)elements_(value_, cell_); \
      if (!all) { \
        const vector_ on = on_(m, l); \
        v = (v & on) | (*slot & ~on); \
      } \
      *slot = v; \
    } \
  }
#define MAKE_WORDS(name_, value_, cell_) MAKE_LOAD(name_, cell32, value_, cell_, mx__v32, WORDS, words_on)
#define MAKE_LONGS(name_, value_, cell_) MAKE_LOAD(name_, cell64, value_, cell_, mx__v64, LONGS, longs_on)
MAKE_WORDS(load_u8_32, uint32_t, uint8_t)
MAKE_WORDS(load_s8_16, uint16_t, int8_t)
MAKE_WORDS(load_s8_32, int32_t, int8_t)
MAKE_WORDS(load_u16_32, uint32_t, cell16)
MAKE_WORDS(load_s16_32, int32_t, signed16)
MAKE_WORDS(load_b32, uint32_t, cell32)
MAKE_LONGS(load_u8_64, uint64_t, uint8_t)
MAKE_LONGS(load_s8_64, int64_t, int8_t)
MAKE_LONGS(load_u16_64, uint64_t, cell16)
MAKE_LONGS(load_s16_64, int64_t, signed16)
MAKE_LONGS(load_u32_64, uint64_t, cell32)
MAKE_LONGS(load_s32_64, int64_t, signed32)
MAKE_LONGS(load_b64, uint64_t, cell64)
MX__INL void load_element(void *to, const uint64_t *at, uint64_t add, uint64_t m, unsigned n, bool all, bool few,
                          enum mx_jit_access_form form) {
  switch (form) {
  case MX_JIT_U8_32: load_u8_32(to, at, add, m, n, all, few); return;
  case MX_JIT_S8_16: load_s8_16(to, at, add, m, n, all, few); return;
  case MX_JIT_S8_32: load_s8_32(to, at, add, m, n, all, few); return;
  case MX_JIT_U16_32: load_u16_32(to, at, add, m, n, all, few); return;
  case MX_JIT_S16_32: load_s16_32(to, at, add, m, n, all, few); return;
  case MX_JIT_B32: load_b32(to, at, add, m, n, all, few); return;
  case MX_JIT_U8_64: load_u8_64(to, at, add, m, n, all, few); return;
  case MX_JIT_S8_64: load_s8_64(to, at, add, m, n, all, few); return;
  case MX_JIT_U16_64: load_u16_64(to, at, add, m, n, all, few); return;
  case MX_JIT_S16_64: load_s16_64(to, at, add, m, n, all, few); return;
  case MX_JIT_U32_64: load_u32_64(to, at, add, m, n, all, few); return;
  case MX_JIT_S32_64: load_s32_64(to, at, add, m, n, all, few); return;
  case MX_JIT_B64: load_b64(to, at, add, m, n, all, few); return;
  }
}

/* ---- stores: the highest lane is last ---------------------------------------------------------------------------*/
#define MAKE_STORE(name_, cell_, slot_, vector_) \
  MX__INL void name_(const void *v, const uint64_t *at, uint64_t add, uint64_t m, unsigned n, bool all, bool one) { \
    const slot_ *from = v; \
    enum { AT_ONCE = sizeof(vector_) / sizeof(slot_) }; \
    typedef CELLS(cell_, slot_, vector_) cells; \
    if (one) \
      MX_FOR_LANES (l, m) *(cell_ *)(uintptr_t)(at[l] + add) = (cell_)from[0]; \
    else if (all && find_vectors(at, n, AT_ONCE, sizeof(cell_), true) == ROWS) \
      for (size_t l = 0; l < n; l += AT_ONCE) \
        *(cells *)(uintptr_t)(at[l] + add) = \
            __builtin_convertvector(*(const vector_ *)(const void *)(from + l), cells); \
    else if (all) \
      for (size_t l = 0; l < n; l++) *(cell_ *)(uintptr_t)(at[l] + add) = (cell_)from[l]; \
    else \
      MX_FOR_LANES (l, m) *(cell_ *)(uintptr_t)(at[l] + add) = (cell_)from[l]; \
  }
MAKE_STORE(store_8, uint8_t, cell32, mx__v32)
MAKE_STORE(store_8_of_64, uint8_t, cell64, mx__v64)
MAKE_STORE(store_16, cell16, cell32, mx__v32)
MAKE_STORE(store_16_of_64, cell16, cell64, mx__v64)
MAKE_STORE(store_32, cell32, cell32, mx__v32)
MAKE_STORE(store_32_of_64, cell32, cell64, mx__v64)
MAKE_STORE(store_64, cell64, cell64, mx__v64)
MX__INL void store_element(const void *v, const uint64_t *at, uint64_t add, uint64_t m, unsigned n, bool all, bool one,
                           enum mx_jit_access_form form) {
  switch (form) {
  case MX_JIT_U8_32: store_8(v, at, add, m, n, all, one); return;
  case MX_JIT_U8_64: store_8_of_64(v, at, add, m, n, all, one); return;
  case MX_JIT_U16_32: store_16(v, at, add, m, n, all, one); return;
  case MX_JIT_U16_64: store_16_of_64(v, at, add, m, n, all, one); return;
  case MX_JIT_B32: store_32(v, at, add, m, n, all, one); return;
  case MX_JIT_U32_64: store_32_of_64(v, at, add, m, n, all, one); return;
  case MX_JIT_B64: store_64(v, at, add, m, n, all, one); return;
  default: return; /* forms that extend by a sign are loads */
  }
}

/* ---- quads of words, each lane's at once ------------------------------------------------------------------------*/
#ifdef MX__TURNS
#define EACH_OF_FOUR _Pragma("GCC unroll 4") for (unsigned k = 0; k < 4; k++)
static void load_quads(const struct mx_jit_access *a, unsigned char *spill_area, const uint64_t *at, uint64_t m,
                       unsigned n) {
  for (unsigned l = 0; l < n; l += 4) {
    mx__words v[4];
    EACH_OF_FOUR v[k] = *(const mx__words *)(uintptr_t)at[l + k];
    turn_quads(v);
    const mx__words bit = *(const mx__words *)(const void *)(mx__bit + l),
                    on = (mx__words)((bit & (uint32_t)(m >> (l & 32))) == bit);
    EACH_OF_FOUR {
      mx__words *slot = (mx__words *)(void *)(spill_area + a->value[k] + 4 * l);
      *slot = (v[k] & on) | (*slot & ~on);
    }
  }
}
/* Rows of quads stream through memory: what the blocks behind this one will store is prefetched, since the processor's
 * own prefetcher stops at the end of a page, which is often the end of a block's part. Loads of rows are compiled, with
 * a prefetch of their own (jit/compiler/memory.c). */
enum { QUADS_AHEAD = 4096 };
static void store_quads(const struct mx_jit_access *a, const unsigned char *const *base, const uint64_t *at, uint64_t m,
                        unsigned n, bool all) {
  const unsigned char *from[4];
  for (unsigned k = 0; k < 4; k++) from[k] = base[a->value[k] & 1] + a->value[k];
  if (all && at[n - 1] - at[0] == 16 * (n - 1))
    for (unsigned l = 0; l < n; l += 4) __builtin_prefetch((const void *)(uintptr_t)(at[l] + QUADS_AHEAD), 1);
  for (unsigned l = 0; l < n; l += 4) {
    mx__words v[4];
    if (!(m >> l & 15)) continue;
    EACH_OF_FOUR v[k] = *(const mx__words *)(const void *)(from[k] + 4 * l);
    turn_quads(v);
    if (all) EACH_OF_FOUR *(mx__words *)(uintptr_t)at[l + k] = v[k];
    else EACH_OF_FOUR
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
#define FIND(one_, all_, few_) \
  (a->narrow ? find_places(x, a, p, true, one_, all_, few_, m, at) \
             : find_places(x, a, p, false, one_, all_, few_, m, at))
  const bool all = m == x->full, quads = MX__TURNS && a->n == 4 && a->form == MX_JIT_B32,
             few = !quads && are_few(m, n, a->is_store);
  if (few              ? a->one_address ? !FIND(true, false, true) : !FIND(false, false, true)
                   : a->one_address ? !FIND(true, false, false)
      : all            ? !FIND(false, true, false)
                       : !FIND(false, false, false))
    return false;
#undef FIND
  if (quads) {
    if (a->is_store) store_quads(a, base, at, m, n, all);
    else load_quads(a, spill_area, at, m, n);
    return true;
  }
  for (unsigned e = 0; e < a->n; e++) {
    const uint64_t add = (uint64_t)e * a->cell;
    if (a->is_store) store_element(base[a->value[e] & 1] + a->value[e], at, add, m, n, all, a->one_value, a->form);
    else load_element(spill_area + a->value[e], at, add, m, n, all, few, a->form);
  }
  return true;
}

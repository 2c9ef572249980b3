/* Reductions of one element in memory, as functions: what the atomic rows of memory.def say, for copies that combine
 * when they land. Separate because it expands these rows' meanings and nothing else. */
#include "async.h"
#include "core/ops/derived.h"
#include "core/ops/reductions.h"
#include "core/vocab.h"

#include <string.h>

/* SHARED holds where only the cluster can access the cell. Global memory may be changed concurrently: there a
 * compare-and-exchange loop is used. */
#define IN_ONE_STEP(step_, w_) \
  do now.v = value_##step_(was.v, b.v, shared); \
  while (!__atomic_compare_exchange_n((cell_##w_ *)at, &was.w_, now.w_, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
typedef uint64_t __attribute__((may_alias)) cell_w8;
typedef uint32_t __attribute__((may_alias)) cell_w4;
typedef uint16_t __attribute__((may_alias)) cell_w2;
#define MAKE(step_, t_, ...) \
  __attribute__((unused)) static mx_##t_ value_##step_(const mx_##t_ OLD, const mx_##t_ B, const bool SHARED) { \
    (void)OLD, (void)SHARED; \
    return (__VA_ARGS__); \
  } \
  __attribute__((unused)) static void cell_##step_(void *at, const void *with, bool shared) { \
    union __attribute__((may_alias)) { \
      mx_##t_ v; \
      uint64_t w8; \
      uint32_t w4; \
      uint16_t w2; \
    } was, now, b; \
    memcpy(&b.v, with, sizeof b.v); \
    memcpy(&was.v, at, sizeof was.v); /* a first guess, which the exchange verifies */ \
    if (sizeof b.v == 8) { \
      IN_ONE_STEP(step_, w8) \
    } else if (sizeof b.v == 4) { \
      IN_ONE_STEP(step_, w4) \
    } else { \
      IN_ONE_STEP(step_, w2) \
    } \
  }

/* The rows that define each operation: those with a 64-bit address and a result. */
#define HERE(make_, ...) make_(__VA_ARGS__)
#define ELSEWHERE(...)
#define NOTHING(...)
#define ADDRESS_u64 HERE
#define ADDRESS_u32 ELSEWHERE
#define SH_AT1(t_, p_) ADDRESS_##p_
#define SH_AV2(t_, p_) ADDRESS_##p_
#define SH_LD1(...) ELSEWHERE
#define SH_LD2 SH_LD1
#define SH_LD4 SH_LD1
#define SH_ST1 SH_LD1
#define SH_ST2 SH_LD1
#define SH_ST4 SH_LD1
#define SH_AT2 SH_LD1
#define SH_RE1 SH_LD1
#define SH_AV4 SH_LD1
#define SH_AV8 SH_LD1
#define SH_RV2 SH_LD1
#define SH_RV4 SH_LD1
#define SH_RV8 SH_LD1
#define SH_PF SH_LD1
#define SH_PFN SH_LD1
#define LOAD(...) NOTHING, ()
#define STORE(...) NOTHING, ()
#define PREFETCH(...) NOTHING, ()
#define ATOM(step_, t_, ...) MAKE, (step_, t_, __VA_ARGS__)
#define ATOMV(step_, t_, n_, ...) MAKE, (step_, t_, __VA_ARGS__)
#define BARE(...) __VA_ARGS__
#define OPX(...)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) OPM_((SH_##shape_), __VA_ARGS__)
#define OPM_(which_, ...) OPM__(BARE which_, __VA_ARGS__)
#define OPM__(which_, ...) OPM___(which_, __VA_ARGS__)
#define OPM___(which_, do_, args_) which_(do_, BARE args_)
#include "core/ops/memory.def"

#define ENTRY(spelling_, step_, t_) {cell_##step_, sizeof(mx_##t_)},
const struct mx_reduction mx__reductions[] = {MX_REDUCTIONS_32(ENTRY, ENTRY) MX_REDUCTIONS_64(ENTRY, ENTRY)
                                                  MX_REDUCTIONS_FLOAT(ENTRY, ENTRY)};

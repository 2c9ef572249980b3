/* Where the bytes of a load, store or atomic lie, for all lanes at once: one pass over the addresses checks them
 * against the instruction's cached bounds and finds out whether they lie in a row or at one place. Every lane is
 * checked before anything is touched; lanes that miss send the whole instruction to vm/exec/access.c, which knows all
 * allocations. */
#ifndef MX_LANES_REACH_H
#define MX_LANES_REACH_H

#include "addresses.h"
#include "vm/exec/access.h"
#include "vm/exec/compiled_block.h"

enum { FEW_LANES = 4 };
enum shape {
  ROW,   /* all of the warp's lanes, one behind the other */
  POINT, /* all at one place */
  SCATTERED,
  NEAR /* scattered, and places are given by their distances from the first byte of an allocation */
};
struct reach {
  enum shape shape;
  bool shared;               /* nobody else can see the bytes while this block runs */
  uint32_t uniform_operands; /* operands of which only lane 0's value is there, which is that of all lanes */
  unsigned bytes;            /* of a lane */
  uint64_t origin;           /* of a ROW: host address of lane 0's bytes, active or not; NEAR: of the allocation */
  _Alignas(64) uint32_t far[MX_MAX_LANES]; /* NEAR only; those of lanes that are not active are 0 */
  _Alignas(64) uint64_t at[MX_MAX_LANES];  /* host addresses; where more than a few lanes are active, those that are not
                                              have that of one that is */
};
MX__INL void *place(const struct reach *r, size_t lane, size_t at) {
  return (void *)(uintptr_t)((r->shape == NEAR ? r->origin + r->far[lane] : r->at[lane]) + at);
}
/* The lane of which operand k has lane l's value. */
MX__INL size_t lane_of(const struct reach *r, unsigned k, size_t l) { return r->uniform_operands >> k & 1 ? 0 : l; }

/* The address of lane l, as the program computed it; 32-bit ones wrap, as addresses of that width do. */
MX__INL uint64_t address(const void *p, bool narrow, uint64_t off, size_t l) {
  return narrow ? ((const uint32_t *)p)[l] + (uint32_t)off : ((const uint64_t *)p)[l] + off;
}

/* The slow way: all allocations are asked. Where the warp's state is older than that of compiled code, nothing is
 * done: the caller brings it up to date and calls again. */
static __attribute__((noinline)) bool search(struct mx_exec *x, const struct mx_insn *i, uint64_t m, const void *p,
                                             bool narrow, unsigned bytes, unsigned space, bool write, struct reach *r) {
  unsigned char *host[MX_MAX_LANES];
  if (mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, false;
  for (size_t l = 0; l < x->lanes; l++) r->at[l] = address(p, narrow, (uint64_t)i->off, l);
  if (!mx__access_find(x, i, m, r->at, bytes, space, write, host)) return false;
  const uint64_t some = (uint64_t)(uintptr_t)host[__builtin_ctzll(m)];
  for (size_t l = 0; l < x->lanes; l++) r->at[l] = m >> l & 1 ? (uint64_t)(uintptr_t)host[l] : some;
  r->shape = SCATTERED;
  r->bytes = bytes;
  r->shared = x->bounds[i->index].kind == MX_SHARED || x->bounds[i->index].kind == MX_LOCAL;
  return true;
}

/* An instruction tends to go on as it did before: from one row to the next, in a loop or warp after warp. Each of these
 * instructions takes long enough for the processor to lose sight of that, and too short to hide a miss. */
MX__INL void fetch_ahead(struct mx_bounds *b, uint64_t begin, uint64_t bytes) {
  if (b->kind != MX_GLOBAL) return;
  const uint64_t next = begin + (begin - b->last);
  b->last = begin;
  for (uint64_t l = 0; l <= bytes; l += 64) __builtin_prefetch((const void *)(uintptr_t)(next + l));
}

/* The same for a few lanes, one by one; of the others nothing is known. */
MX__INL bool reach_few(struct mx_exec *x, const struct mx_insn *i, uint64_t m, const void *p, bool narrow,
                       unsigned bytes, const struct mx_bounds *b, struct reach *r) {
  const uint64_t limit = b->span - bytes, off = (uint64_t)i->off, lo = b->lo,
                 stride = b->kind == MX_LOCAL ? x->local_stride : 0;
  const uint64_t host = (uint64_t)(uintptr_t)x->window[b->kind] + b->off;
  MX_FOR_LANES (l, m) {
    const uint64_t far = address(p, narrow, off, l) - lo;
    if (far > limit || far & (bytes - 1)) return false;
    r->at[l] = host + far + l * stride;
  }
  r->shape = SCATTERED;
  r->bytes = bytes;
  return true;
}
MX__INL bool reach_lanes(struct mx_exec *x, const struct mx_insn *i, uint64_t m, bool all, const void *p, bool narrow,
                         unsigned bytes, const struct mx_bounds *b, struct reach *r) {
  const unsigned n = mx__lanes(x);
  const uint64_t limit = b->span - bytes, off = (uint64_t)i->off, lo = b->lo,
                 stride = b->kind == MX_LOCAL ? x->local_stride : 0;
  const uint64_t host = (uint64_t)(uintptr_t)x->window[b->kind] + b->off; /* of the bounds' first byte */
  const size_t one = all ? 0 : (size_t)__builtin_ctzll(m);
  const uint64_t far = address(p, narrow, off, one) - lo,
                 row =
                     far -
                     one * bytes; /* from the bounds' first byte on: of a lane that runs, of lane 0 if this is a row */
  const mx__v64 numbers = *(const mx__v64 *)(const void *)lanes_numbers;
  mx__v64 bad = {0}, odd = {0}, bent = {0}, differ = {0}, in_row = numbers * bytes + row,
          bit = *(const mx__v64 *)(const void *)lanes_bits, local = numbers * stride;
  for (unsigned l = 0; l < n; l += LANES_A_VECTOR) {
    mx__v64 f;
    if (narrow) {
      const lanes_h a = *(const lanes_h *)(const void *)((const uint32_t *)p + l) + (uint32_t)off;
      f = __builtin_convertvector(a, mx__v64) - lo;
    } else f = *(const mx__v64 *)(const void *)((const uint64_t *)p + l) + (off - lo);
    if (!all) {
      const mx__v64 on = (mx__v64)((bit & m) == bit);
      f = (f & on) | (far & ~on);
      bent |= (f ^ in_row) & on;
      bit <<= LANES_A_VECTOR;
    } else bent |= f ^ in_row;
    bad |= f | (limit - f); /* the top bit is set for a lane outside; a limit is below 2^63 */
    odd |= f;
    differ |= f ^ far;
    in_row += (uint64_t)LANES_A_VECTOR * bytes;
    f += host;
    if (stride) f += local, local += LANES_A_VECTOR * stride;
    *(mx__v64 *)(void *)(r->at + l) = f;
  }
  if (any_bit((bad >> 63) | (odd & (bytes - 1)))) return false;
  r->shape = SCATTERED;
  r->bytes = bytes;
  if (stride) return true;
  if (!any_bit(differ)) r->shape = POINT;
  else if (!any_bit(bent) && (all || (row <= limit && (n - 1) * bytes <= limit - row)))
    r->shape = ROW, r->origin = host + row;
  return true;
}
/* The same where lanes are most likely scattered, as they were the last time: in vectors of 32 bits, and nothing is
 * asked but whether all are within bounds. False also of bounds that do not fit. */
MX__INL bool reach_near(struct mx_exec *x, const struct mx_insn *i, uint64_t m, bool all, const void *p, bool narrow,
                        unsigned bytes, const struct mx_bounds *b, struct reach *r) {
  enum { WORDS = 2 * LANES_A_VECTOR };
  const unsigned n = mx__lanes(x);
  const uint64_t from = (uint64_t)i->off - b->lo;
  const uint32_t limit = (uint32_t)(b->span - bytes), stride = b->kind == MX_LOCAL ? (uint32_t)x->local_stride : 0;
  if (b->span > INT32_MAX || (narrow && b->lo > INT32_MAX) ||
      (b->kind == MX_LOCAL && x->local_stride * MX_MAX_LANES > INT32_MAX))
    return false;
#ifdef __SANITIZE_THREAD__ /* reads for lanes that are not active would be reported */
  if (!all) return false;
#endif
  mx__v32 bad = {0}, odd = {0}, high = {0};
  for (unsigned l = 0; l < n; l += WORDS) {
    mx__v32 w, h = {0};
    if (narrow) w = *(const mx__v32 *)(const void *)((const uint32_t *)p + l) + (uint32_t)i->off - (uint32_t)b->lo;
    else {
      const mx__v32 low = (mx__v32)(*(const mx__v64 *)(const void *)((const uint64_t *)p + l) + from),
                    up = (mx__v32)(*(const mx__v64 *)(const void *)((const uint64_t *)p + l + LANES_A_VECTOR) + from);
      w = EVEN_WORDS(low, up), h = ODD_WORDS(low, up);
    }
    if (!all) {
      const mx__v32 bit = *(const mx__v32 *)(const void *)(mx__bit + l),
                    on = (mx__v32)((bit & (uint32_t)(m >> (l & 32))) == bit);
      w &= on, h &= on;
    }
    bad |= w | (limit - w); /* the sign: outside */
    high |= h;
    odd |= w;
    if (stride)
      for (unsigned k = 0; k < WORDS; k++) w[k] += (l + k) * stride;
    *(mx__v32 *)(void *)(r->far + l) = w;
  }
  if (any_bit((mx__v64)((bad >> 31) | (odd & (bytes - 1)) | high))) return false;
  r->shape = NEAR;
  r->bytes = bytes;
  r->origin = (uint64_t)(uintptr_t)x->window[b->kind] + b->off;
  return true;
}
enum { TIMES_SCATTERED = 16 };

/* The addresses of all lanes, where lane 0's is that of all, in x->tmp. */
static const void *same_address(struct mx_exec *x, const void *p, bool narrow) {
  for (size_t l = 0; l < x->lanes; l++)
    if (narrow) ((uint32_t *)(void *)x->tmp)[l] = *(const uint32_t *)p;
    else ((uint64_t *)(void *)x->tmp)[l] = *(const uint64_t *)p;
  return x->tmp;
}
/* Finds the places of an access of `bytes` bytes by the lanes m, operand k being the address; false: trapped.
 * Allocations begin at multiples of every access's size: what is odd from their beginning on, is odd. */
static bool reach(struct mx_exec *x, const struct mx_insn *i, uint64_t m, size_t k, bool narrow, unsigned bytes,
                  unsigned space, bool write, struct reach *r) {
  const void *p = mx__ref(x, mx__operand_ref(i, k));
  if (x->uniform_operands >> k & 1) p = same_address(x, p, narrow);
  struct mx_bounds *b = &x->bounds[i->index];
  r->uniform_operands = x->uniform_operands;
  if (b->span < bytes || b->span > INT64_MAX || (write && !b->writable) ||
      (b->kind == MX_LOCAL && mx__chain_is_stale(x)))
    return search(x, i, m, p, narrow, bytes, space, write, r);
  bool found;
  if (b->scattered && __builtin_popcountll(m) > FEW_LANES) {
    b->scattered--;
    if (m == x->full)
      found =
          narrow ? reach_near(x, i, m, true, p, true, bytes, b, r) : reach_near(x, i, m, true, p, false, bytes, b, r);
    else
      found =
          narrow ? reach_near(x, i, m, false, p, true, bytes, b, r) : reach_near(x, i, m, false, p, false, bytes, b, r);
    if (found) {
      r->shared = b->kind == MX_SHARED || b->kind == MX_LOCAL;
      return true;
    }
  }
  if (__builtin_popcountll(m) <= FEW_LANES) found = reach_few(x, i, m, p, narrow, bytes, b, r);
  else if (m == x->full && narrow) found = reach_lanes(x, i, m, true, p, true, bytes, b, r);
  else if (m == x->full) found = reach_lanes(x, i, m, true, p, false, bytes, b, r);
  else if (narrow) found = reach_lanes(x, i, m, false, p, true, bytes, b, r);
  else found = reach_lanes(x, i, m, false, p, false, bytes, b, r);
  if (!found) return search(x, i, m, p, narrow, bytes, space, write, r);
  r->shared = b->kind == MX_SHARED || b->kind == MX_LOCAL;
  b->scattered = r->shape == SCATTERED ? TIMES_SCATTERED : 0;
  if (r->shape == ROW) {
    const size_t first = (size_t)__builtin_ctzll(m), last = 63 - (size_t)__builtin_clzll(m);
    fetch_ahead(b, r->origin + first * bytes, (last - first) * bytes);
  }
  return true;
}

#endif

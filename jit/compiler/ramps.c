/* Ramps: slots whose values increase by a constant, the stride, from lane to lane of each row of lanes, where that is
 * certain: %tid.x, sums of ramps and uniform values, multiples by constants, and conversions. A row is the whole warp
 * or, where blocks are narrower, the lanes that have the same %tid.y. Code keeps one number of a ramp for each row,
 * that of its first lane, as it keeps one value of a uniform slot; vectors are made of it where lanes are needed one by
 * one. A ramp may be flat: %tid.y, where a warp has several rows, and what is computed of it.
 *
 * The same analysis as of uniform slots, and with the same rule for lanes that wait elsewhere: what these will read is
 * blended lane by lane, and is no ramp any more. Where a number is extended from 32 bits to 64, or shifted down, the
 * result is a ramp only if no lane's number wraps: there code is left, which is rare. Entries check ramps as they check
 * uniform slots. */
#include "analyse.h"

#include "vm/exec/jitabi.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EXTENDED = 1 << 12 }; /* the longest stride of numbers that hardly ever wrap in 32 bits */
#define MOST_STRIDE (INT64_C(1) << 44)
#define MOST_ALIGNED 256      /* constants that are multiples of this are multiples of rows, whatever the stride */
#define MOST_CELLS (1u << 20) /* of functions in which ramps are looked for: blocks times slots */
#define ANY INT64_MIN         /* a slot of which nothing is known yet */

static bool is_small(int64_t stride, int64_t most) { return stride <= most && stride >= -most; }
/* How the numbers of a row's lanes differ: not at all, in the whole warp; or by a stride, and from row to row. */
struct spread {
  bool ramp;
  int64_t stride;
};
/* That of operand k. False: it is neither uniform nor a ramp. */
static bool operand(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *uni, const int64_t *ramps,
                    struct spread *by) {
  const unsigned f = mx_w_operand(i->w, k), cls = mx__types[i->o->opnd[k].type].slot_class;
  *by = (struct spread){false, 0};
  if (f >= MX_LIT) return true;
  if (cls != MX_R32 && cls != MX_R64) return false;
  const uint32_t slot = ja_slot(a, cls, f);
  if (ja_has(uni, slot)) return true;
  *by = (struct spread){true, ja_stride(ramps[slot])};
  return ramps[slot] && ramps[slot] != ANY;
}
/* A constant, as a signed number. */
static bool constant(const struct ja *a, const struct ja_ins *i, unsigned k, int64_t *v) {
  uint64_t value;
  if (!ja_constant(a, i, k, &value)) return false;
  *v = mx__types[i->o->opnd[k].type].bits == 32 ? (int64_t)(int32_t)value : (int64_t)value;
  return true;
}
bool ja_extends_sign(const struct ja_ins *i) {
  return i->form == MX_FORM_EXTEND || i->form == MX_FORM_FIT ? mx__extension(i->op, mx_w_mod(*i->w)) == MX_EXTENDS_SIGN
                                                             : mx__types[i->o->opnd[1].type].name[0] == 's';
}
/* Whether a ramp stays one when it is extended to 64 bits, but for numbers that wrap. */
static bool extends(const struct ja_ins *i, int64_t stride) {
  return !stride || (is_small(stride, MOST_EXTENDED) && (ja_extends_sign(i) || i->of_places));
}
/* The product of operands 1 and 2: one of them is a constant, or both are flat or uniform. */
static bool product(const struct ja *a, const struct ja_ins *i, const uint64_t *uni, const int64_t *ramps,
                    struct spread *by) {
  struct spread x, y;
  int64_t factor;
  if (!operand(a, i, 1, uni, ramps, &x) || !operand(a, i, 2, uni, ramps, &y)) return false;
  *by = (struct spread){x.ramp || y.ramp, 0};
  if (!x.stride && !y.stride) return true;
  if ((x.ramp && y.ramp) || !constant(a, i, x.ramp ? 2 : 1, &factor) || !is_small(factor, 1 << 20)) return false;
  if (!is_small(x.stride + y.stride, MOST_STRIDE >> 20)) return false;
  if (ja_multiplies_wide(i) && (!extends(i, x.stride + y.stride) || factor < 0)) return false;
  by->stride = (x.stride + y.stride) * factor;
  return true;
}
bool ja_ramp_leaves(const struct ja_ins *i) {
  return i->form == MX_FORM_EXTEND || i->form == MX_FORM_FIT || i->form == MX_FORM_DOWN || i->form == MX_FORM_DOWN_U ||
         i->form == MX_FORM_AND || ja_multiplies_wide(i);
}
bool ja_and_bits(const struct ja *a, const struct ja_ins *i, struct ja_bits *bits) {
  const unsigned k = mx_w_operand(i->w, 1) >= MX_LIT ? 1 : 2;
  uint64_t mask;
  if (!ja_constant(a, i, k, &mask)) return false;
  if (ja_result_bits(i) == 32) mask = (uint32_t)mask;
  if (!mask) return false;
  bits->low = (unsigned)__builtin_ctzll(mask);
  const uint64_t above = ~(mask >> bits->low);
  bits->end = above ? bits->low + (unsigned)__builtin_ctzll(above) : 64;
  return bits->end >= ja_result_bits(i) || !(mask >> bits->end);
}
/* Whether the numbers of a row most likely differ in their lowest n bits only: this depends on where it begins. Code is
 * left where they do not. Notes how long rows may be at most if these are too long. */
static bool fits_in(const struct ja *a, const struct ja_ins *i, int64_t stride, uint64_t n) {
  if (stride <= 0 || !is_small(stride, 1 << 20) || n >= 44 || !i->of_multiples) return false;
  const uint64_t lanes = ((UINT64_C(1) << n) + (uint64_t)stride - 1) / (uint64_t)stride;
  if (lanes >= a->row_lanes) return true;
  if (lanes < *a->shorter_rows) *a->shorter_rows = (uint32_t)lanes;
  return false;
}
/* The result of an instruction whose form the table gives. */
static bool computed(const struct ja *a, const struct ja_ins *i, const uint64_t *uni, const int64_t *ramps,
                     struct spread *by) {
  struct spread more;
  int64_t n;
  switch (i->form) {
  case MX_FORM_COPY:
  case MX_FORM_CUT: return operand(a, i, 1, uni, ramps, by);
  case MX_FORM_EXTEND:
  case MX_FORM_FIT: return operand(a, i, 1, uni, ramps, by) && extends(i, by->stride);
  case MX_FORM_ADD:
  case MX_FORM_SUB:
    if (!operand(a, i, 1, uni, ramps, by) || !operand(a, i, 2, uni, ramps, &more)) return false;
    by->ramp |= more.ramp;
    by->stride += i->form == MX_FORM_ADD ? more.stride : -more.stride;
    return true;
  case MX_FORM_MUL: return product(a, i, uni, ramps, by);
  case MX_FORM_MAD:
    if (!product(a, i, uni, ramps, by) || !operand(a, i, 3, uni, ramps, &more)) return false;
    by->ramp |= more.ramp;
    by->stride += more.stride;
    return true;
  case MX_FORM_SHIFT:
    if (!operand(a, i, 1, uni, ramps, by) || !constant(a, i, 2, &n) || n < 0 || n >= ja_result_bits(i) ||
        !is_small(by->stride, MOST_STRIDE >> n))
      return false;
    by->stride = (int64_t)((uint64_t)by->stride << n);
    return true;
  case MX_FORM_DOWN:
  case MX_FORM_DOWN_U:
    if (!operand(a, i, 1, uni, ramps, by) || !constant(a, i, 2, &n) || n < 0 || n >= ja_result_bits(i)) return false;
    if (fits_in(a, i, by->stride, n)) by->stride = 0; /* the row stays within 2^n */
    if (!by->stride) return true;
    if (i->form == MX_FORM_DOWN_U || n >= 44 || (uint64_t)by->stride & ((UINT64_C(1) << n) - 1) ||
        (ja_result_bits(i) == 32 && !is_small(by->stride, 1 << 20)))
      return false;
    by->stride >>= n;
    return true;
  case MX_FORM_AND: {
    struct ja_bits bits;
    if (!operand(a, i, 1, uni, ramps, by) || !operand(a, i, 2, uni, ramps, &more)) return false;
    by->ramp |= more.ramp, by->stride += more.stride;
    if (!by->stride) return true;
    if (!ja_and_bits(a, i, &bits)) return false;
    if ((uint64_t)by->stride & ((UINT64_C(1) << bits.low) - 1))
      by->stride = fits_in(a, i, by->stride, bits.low) ? 0 : ANY;
    else if (bits.end < ja_result_bits(i) && !fits_in(a, i, by->stride, bits.end)) by->stride = ANY;
    return by->stride != ANY;
  }
  case MX_FORM_OR: { /* with a constant whose bits are the same in all lanes of the ramp: these bits are set in all */
    if (!operand(a, i, 1, uni, ramps, by) || !operand(a, i, 2, uni, ramps, &more)) return false;
    const uint64_t stride = (uint64_t)(by->stride + more.stride), lowest = stride & -stride;
    const bool both = by->stride && more.stride;
    if (stride && (both || !constant(a, i, by->stride ? 2 : 1, &n) || n < 0 || (uint64_t)n >= lowest)) return false;
    by->ramp |= more.ramp, by->stride += more.stride;
    return !both;
  }
  default: return false;
  }
}
/* The result as a ramp; 0: it is none, or uniform. */
static int64_t ramp_of(const struct ja *a, const struct ja_ins *i, const uint64_t *uni, const int64_t *ramps) {
  struct spread by;
  if (mx_w_guard(*i->w) != MX_GUARD_NONE || i->kind != JA_PLAIN) return 0;
  if (i->op == MX_SREG_32) {
    const unsigned sreg = mx_w_operand(i->w, 1);
    if (sreg == MX_SR_TID_X || sreg == MX_SR_LANEID) return 1;
    return (sreg == MX_SR_TID_Y || sreg == MX_SR_TID_Z) && a->unit->rows > 1 ? JA_FLAT : 0;
  }
  if (i->o->cls != MX_LANE || !computed(a, i, uni, ramps, &by) || !by.ramp) return 0;
  if (ja_result_bits(i) == 32) by.stride = (int32_t)by.stride;
  return !by.stride ? JA_FLAT : is_small(by.stride, MOST_STRIDE) ? by.stride : 0;
}
void ja_ramp_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, const uint64_t *uni,
                  int64_t *ramps) {
  if (!a->ramps) return;
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
  if (!n) return;
  const int64_t by = n == 1 && i->o->opnd[0].role == MX_OUT ? ramp_of(a, i, uni, ramps) : 0;
  for (uint32_t k = 0; k < n; k++) ramps[s[k]] = ja_has(preserved, s[k]) ? 0 : by;
}

/* ---- places in the grid, and multiples ----------------------------------------------------------------------------*/
/* Numbers that are not negative: special registers, and what is computed of these and of constants by additions,
 * multiplications and cuts. Others may be, even if a program extends them without their sign: at the border of a grid,
 * say. A wrong guess costs time only. */
static bool are_places(const struct ja *a, const struct ja_ins *i, const uint64_t *places) {
  for (unsigned k = 1; k < i->o->nopnds; k++) {
    const unsigned f = mx_w_operand(i->w, k), cls = mx__types[i->o->opnd[k].type].slot_class;
    int64_t v;
    if (cls == MX_R64) continue; /* what is added to a wider product */
    if (f < MX_LIT ? cls != MX_R32 || !ja_has(places, ja_slot(a, cls, f)) : !constant(a, i, k, &v) || v < 0)
      return false;
  }
  return true;
}
static bool makes_place(const struct ja *a, const struct ja_ins *i, const uint64_t *places) {
  if (mx_w_guard(*i->w) != MX_GUARD_NONE || i->kind != JA_PLAIN || ja_result_bits(i) != 32) return false;
  if (i->o->flags & MX_F_MOVI) return (int32_t)mx_w_movi(*i->w) >= 0;
  return i->op == MX_SREG_32 || ((i->form == MX_FORM_COPY || i->form == MX_FORM_ADD || i->form == MX_FORM_MUL ||
                                  i->form == MX_FORM_MAD || i->form == MX_FORM_SHIFT || i->form == MX_FORM_DOWN ||
                                  i->form == MX_FORM_DOWN_U || i->form == MX_FORM_AND || i->form == MX_FORM_OR) &&
                                 are_places(a, i, places));
}
/* Numbers whose value in a row's first lane is a multiple of the row's lanes, times the stride if it is a ramp: %tid.x,
 * %ntid.x as a rule, and what is computed of these. */
static bool is_multiple(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *multiples) {
  const unsigned f = mx_w_operand(i->w, k), cls = mx__types[i->o->opnd[k].type].slot_class;
  int64_t v;
  if (f < MX_LIT) return (cls == MX_R32 || cls == MX_R64) && ja_has(multiples, ja_slot(a, cls, f));
  return constant(a, i, k, &v) && v % MOST_ALIGNED == 0;
}
static bool makes_multiple(const struct ja *a, const struct ja_ins *i, const uint64_t *multiples) {
  if (mx_w_guard(*i->w) != MX_GUARD_NONE || i->kind != JA_PLAIN) return false;
  if (i->o->flags & MX_F_MOVI) return mx_w_movi(*i->w) % MOST_ALIGNED == 0;
  if (i->op == MX_SREG_32) {
    const unsigned sreg = mx_w_operand(i->w, 1);
    return sreg == MX_SR_TID_X || sreg == MX_SR_LANEID || sreg == MX_SR_NTID_X;
  }
#define IS(k_) is_multiple(a, i, k_, multiples)
  switch (i->form) {
  case MX_FORM_COPY:
  case MX_FORM_CUT:
  case MX_FORM_EXTEND:
  case MX_FORM_FIT:
  case MX_FORM_SHIFT: return IS(1);
  case MX_FORM_ADD:
  case MX_FORM_SUB: return IS(1) && IS(2);
  case MX_FORM_MUL: return IS(1) || IS(2);
  case MX_FORM_MAD: return (IS(1) || IS(2)) && IS(3);
  case MX_FORM_AND: return IS(1) || IS(2);
  default: return false;
  }
#undef IS
}
/* Which slots hold such numbers on all ways: finds of_places or of_multiples. */
static void find_numbers(struct ja *a, bool places) {
  uint64_t *in = ja_get(a, 8 * (size_t)a->words * (a->nblocks + 1u)), *now = in + (size_t)a->words * a->nblocks;
  memset(in + a->words, 0xFF, 8 * (size_t)a->words * (a->nblocks - 1u));
  uint32_t s[JA_MAX_TOUCH];
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      const struct ja_block *bl = &a->blocks[b];
      memcpy(now, in + (size_t)b * a->words, 8 * a->words);
      for (uint32_t k = bl->first; k < bl->end; k++) {
        struct ja_ins *i = &a->ins[k];
        if (places && (i->form == MX_FORM_EXTEND || ja_multiplies_wide(i))) i->of_places = are_places(a, i, now);
        if (!places && (i->form == MX_FORM_AND || i->form == MX_FORM_DOWN || i->form == MX_FORM_DOWN_U))
          i->of_multiples = is_multiple(a, i, 1, now) || (i->form == MX_FORM_AND && is_multiple(a, i, 2, now));
        const uint32_t n = ja_defs(a, i, s);
        const bool is = n == 1 && (places ? makes_place(a, i, now) : makes_multiple(a, i, now));
        for (uint32_t m = 0; m < n; m++) (is ? ja_add : ja_del)(now, s[m]);
      }
      for (uint32_t k = 0; k < bl->nthen; k++)
        for (uint32_t w = 0; w < a->words; w++) {
          uint64_t *to = &in[(size_t)bl->then[k] * a->words + w];
          again |= (*to & ~now[w]) != 0;
          *to &= now[w];
        }
    }
  }
}

/* ---- ramps --------------------------------------------------------------------------------------------------------*/
static bool meet(int64_t *to, int64_t v) {
  const int64_t was = *to;
  if (was == ANY) *to = v;
  else if (was != v && v != ANY) *to = 0;
  return *to != was;
}
/* The address operand of a load or store. */
static int64_t of_address(const struct ja *a, const struct ja_ins *i, const uint64_t *uni, const int64_t *ramps) {
  const struct mx_row_access ac = i->o->cls == MX_MEM ? mx__row_access[i->op] : (struct mx_row_access){0};
  struct spread by;
  if ((ac.kind != MX_ACCESS_LOAD && ac.kind != MX_ACCESS_STORE) ||
      !operand(a, i, ac.kind == MX_ACCESS_LOAD ? ac.elements : 0, uni, ramps, &by) || !by.ramp)
    return 0;
  return by.stride ? by.stride : JA_FLAT;
}
bool ja_is_row(const struct ja *a, uint32_t k) {
  const struct mx_row_access ac = mx__row_access[a->ins[k].op];
  return a->address_ramp[k] && a->address_ramp[k] == (int64_t)mx__types[ac.type].bits / 8 * ac.elements;
}
bool ja_is_flat(const struct ja *a, uint32_t k) {
  return a->address_ramp[k] == JA_FLAT && mx__row_access[a->ins[k].op].kind == MX_ACCESS_LOAD && !a->ins[k].local;
}
bool ja_is_strided(const struct ja *a, uint32_t k) {
  const int64_t stride = a->address_ramp[k];
  const struct mx_row_access ac = mx__row_access[a->ins[k].op];
  const int64_t bytes = (int64_t)mx__types[ac.type].bits / 8 * ac.elements;
  return stride && stride != JA_FLAT && stride != bytes && bytes && stride % bytes == 0 &&
         is_small(stride, MOST_EXTENDED) && !a->ins[k].local;
}
/* Finds the ramps in rows of a->row_lanes. Returned: how many loads and stores access rows, or one place for a row. */
static uint32_t find_ramps(struct ja *a) {
  const size_t bytes = sizeof(int64_t) * (a->nslots + 1u);
  memset(a->address_ramp, 0, sizeof *a->address_ramp * a->nins);
  int64_t *ramps = ja_get(a, bytes);
  uint64_t *uni = ja_get(a, 8 * a->words);
  for (uint32_t b = 0; b < a->nblocks; b++) {
    a->blocks[b].ramp_in = ja_get(a, bytes);
    for (uint32_t s = 0; s < a->nslots && b; s++) a->blocks[b].ramp_in[s] = ANY;
  }
  for (uint32_t b = 0; b < a->nblocks; b++)
    if (a->blocks[b].leaves && a->ins[a->blocks[b].end - 1].op == MX_BRX)
      JA_FOR_SUCC(a, b, s, memset(a->blocks[s].ramp_in, 0, bytes));
  uint32_t unreached = 0;
  for (bool again = true; again && a->nslots;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      struct ja_block *bl = &a->blocks[b];
      if (bl->ramp_in[0] == ANY) continue; /* control has not come there yet */
      memcpy(ramps, bl->ramp_in, bytes);
      memcpy(uni, bl->uni_in, 8 * a->words);
      for (uint32_t k = bl->first; k < bl->end; k++) {
        a->address_ramp[k] = of_address(a, &a->ins[k], uni, ramps);
        ja_ramp_step(a, &a->ins[k], bl->preserved, uni, ramps);
        ja_uniform_step(a, &a->ins[k], bl->preserved, uni);
      }
      for (uint32_t s = 0; s < a->nslots; s++) /* uniform slots are no ramps */
        if (ja_has(uni, s) && ramps[s] != ANY) ramps[s] = 0;
      for (uint32_t k = 0; k < bl->nthen; k++)
        for (uint32_t s = 0; s < a->nslots; s++) again |= meet(&a->blocks[bl->then[k]].ramp_in[s], ramps[s]);
    }
    while (!again && unreached < a->nblocks) /* blocks to which only the machine goes have no ramps at first */
      if (a->blocks[unreached++].ramp_in[0] == ANY) memset(a->blocks[unreached - 1].ramp_in, 0, bytes), again = true;
  }
  for (uint32_t b = 0; b < a->nblocks; b++)
    for (uint32_t s = 0; s < a->nslots; s++)
      if (a->blocks[b].ramp_in[s] == ANY || ja_has(a->blocks[b].uni_in, s)) a->blocks[b].ramp_in[s] = 0;
  uint32_t n = 0;
  for (uint32_t k = 0; k < a->nins; k++) n += ja_is_row(a, k) || ja_is_flat(a, k);
  return n;
}
void ja_find_ramps(struct ja *a) {
  a->address_ramp = ja_get(a, sizeof *a->address_ramp * (a->nins + 1u));
  a->ramps = a->row_lanes && (uint64_t)a->nblocks * a->nslots <= MOST_CELLS;
  if (!a->ramps) {
    int64_t *none = ja_get(a, sizeof *none * (a->nslots + 1u));
    for (uint32_t b = 0; b < a->nblocks; b++) a->blocks[b].ramp_in = none;
    return;
  }
  find_numbers(a, true), find_numbers(a, false);
  a->shorter_rows = ja_get(a, sizeof *a->shorter_rows);
  *a->shorter_rows = a->row_lanes;
  const uint32_t n = find_ramps(a), longer = a->row_lanes;
  uint32_t shorter = *a->shorter_rows;
  while (shorter & (shorter - 1)) shorter &= shorter - 1;
  /* where parts of %tid.x are computed, as in tiles of 16 words, shorter rows may have more ramps */
  if (shorter == longer || shorter < MX_JIT_LEAST_LANES || shorter * JA_MOST_ROWS < a->lanes) return;
  a->row_lanes = shorter;
  if (find_ramps(a) > n) return;
  a->row_lanes = longer;
  find_ramps(a);
}

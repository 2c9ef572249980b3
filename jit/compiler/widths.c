/* Which operands of 8 and 16 bits lie in slots that may hold more: a verified module may write 32 bits and read some of
 * them. The interpreter's bodies read only the low bits. Compiled code assumes that narrow values are zero-extended,
 * and trims only the operands found here. */
#include "analyse.h"

#include <stdlib.h>
#include <string.h>

/* Sets of slots that may hold more than 8, more than 16 bits. */
enum { OVER8, OVER16, WIDTHS };

static void note(uint64_t *const over[WIDTHS], uint32_t slot, uint64_t bits, bool always) {
  for (unsigned w = 0; w < WIDTHS; w++) {
    if (bits > (w == OVER8 ? 8 : 16)) ja_add(over[w], slot);
    else if (always) ja_del(over[w], slot);
  }
}

static void transfer(const struct ja *a, const struct ja_ins *i, uint64_t *const over[WIDTHS]) {
  const bool always = mx_w_guard(*i->w) == MX_GUARD_NONE;
  if (i->o->flags & MX_F_CALL) { /* a call's results may be anything */
    uint32_t slots[JA_MAX_TOUCH], n = ja_defs(a, i, slots);
    for (uint32_t k = 0; k < n; k++) note(over, slots[k], 32, always);
    return;
  }
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    const unsigned type = i->o->opnd[k].type;
    if (i->o->opnd[k].role != MX_OUT || type >= MX_T_raw || mx__types[type].slot_class != MX_R32) continue;
    const bool known = i->o->flags & MX_F_MOVI;
    const uint32_t slot = ja_slot(a, MX_R32, known ? mx_w_field(*i->w, 0) : mx_w_operand(i->w, k)),
                   value = known ? (uint32_t)mx_w_movi(*i->w) : 0;
    note(over, slot, known ? value > 0xFFFF ? 32 : value > 0xFF ? 16 : 8 : mx__types[type].bits, always);
  }
}

/* The operands that have to be trimmed, as a bit mask. */
static uint64_t wide_operands(const struct ja *a, const struct ja_ins *i, uint64_t *const over[WIDTHS]) {
  uint64_t wide = 0;
  if (i->o->flags & (MX_F_CALL | MX_F_MOVI | MX_F_BRANCH)) return 0;
  for (unsigned k = 0; k < i->o->nopnds && k < 64; k++) {
    const unsigned type = i->o->opnd[k].type;
    if (i->o->opnd[k].role == MX_OUT || type >= MX_T_raw || mx__types[type].slot_class != MX_R32 ||
        mx__types[type].bits >= 32)
      continue;
    const unsigned field = mx_w_operand(i->w, k);
    if (field < MX_LIT && ja_has(over[mx__types[type].bits <= 8 ? OVER8 : OVER16], ja_slot(a, MX_R32, field)))
      wide |= 1ull << k;
  }
  return wide;
}

void ja_widths(struct ja *a) {
  const size_t set = a->words * sizeof(uint64_t);
  uint64_t *in = calloc(a->nblocks + 1u, WIDTHS * set); /* the last one is the set that moves through a block */
  if (!in) abort(); /* a process of its own: its caller goes on without compiled code */
  uint64_t *const over[WIDTHS] = {in + WIDTHS * a->words * a->nblocks, in + WIDTHS * a->words * a->nblocks + a->words};
  if (a->nblocks) memset(in, 0xFF, WIDTHS * set); /* at the function's beginning anything may be in the slots */
  for (bool again = true; again;) {
    again = false;
    for (uint32_t k = 0; k < a->norder; k++) {
      const uint32_t b = a->order[k];
      memcpy(over[0], in + (size_t)WIDTHS * a->words * b, WIDTHS * set);
      for (uint32_t n = a->blocks[b].first; n < a->blocks[b].end; n++) transfer(a, &a->ins[n], over);
      JA_FOR_SUCC(a, b, s, {
        uint64_t *to = in + (size_t)WIDTHS * a->words * s;
        for (uint32_t w = 0; w < WIDTHS * a->words; w++)
          if (over[0][w] & ~to[w]) to[w] |= over[0][w], again = true;
      });
    }
  }
  for (uint32_t b = 0; b < a->nblocks; b++) {
    memcpy(over[0], in + (size_t)WIDTHS * a->words * b, WIDTHS * set);
    for (uint32_t n = a->blocks[b].first; n < a->blocks[b].end; n++) {
      a->ins[n].wide = wide_operands(a, &a->ins[n], over);
      transfer(a, &a->ins[n], over);
    }
  }
  free(in);
}

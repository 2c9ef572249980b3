/* Which generic addresses lead to local memory, as far as pointers stay within what they point to: those that are made
 * of an address of that space on every way to the access, as where a function gets the address of its caller's array.
 * Code tests at run time whether they do, and leaves other accesses to the interpreter's body; so an address that may
 * as well be one of global memory is not counted, since for such there are faster forms. */
#include "analyse.h"

#include <stdlib.h>
#include <string.h>

static bool is_access(const struct ja_ins *i) {
  const unsigned kind = mx__row_access[i->op].kind;
  return kind == MX_ACCESS_LOAD || kind == MX_ACCESS_STORE;
}
/* Whether 64-bit operand k of the instruction is a register in that set. */
static bool is_in(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *set) {
  const unsigned type = i->o->opnd[k].type, f = mx_w_operand(i->w, k);
  return type < MX_T_raw && mx__types[type].slot_class == MX_R64 && f < MX_LIT && ja_has(set, ja_slot(a, MX_R64, f));
}
/* Whether the instruction's result is such an address: of local memory, or at a distance from one. */
static bool makes(const struct ja *a, const struct ja_ins *i, const uint64_t *set) {
  if (i->op == MX_CVTA_64) return mx_w_mod(*i->w) == MX_LOCAL - 1;
  switch (i->form) {
  case MX_FORM_COPY: return is_in(a, i, 1, set);
  case MX_FORM_ADD: return is_in(a, i, 1, set) != is_in(a, i, 2, set);
  case MX_FORM_SUB: return is_in(a, i, 1, set) && !is_in(a, i, 2, set);
  case MX_FORM_MAD: return is_in(a, i, 3, set);
  case MX_FORM_SELECT: return is_in(a, i, 1, set) && is_in(a, i, 2, set);
  case MX_FORM_AND:
  case MX_FORM_OR: return is_in(a, i, 1, set) && mx_w_operand(i->w, 2) >= MX_LIT;
  default: return false;
  }
}
static void step(const struct ja *a, const struct ja_ins *i, uint64_t *set) {
  uint32_t s[JA_MAX_TOUCH];
  const bool made = makes(a, i, set), guarded = mx_w_guard(*i->w) != MX_GUARD_NONE;
  for (uint32_t n = ja_defs(a, i, s); n--;)
    if (!made || ja_class(a, s[n]) != MX_R64) ja_del(set, s[n]);
    else if (!guarded) ja_add(set, s[n]);
}
void ja_find_local_pointers(struct ja *a) {
  bool some = false;
  for (uint32_t k = 0; k < a->nins; k++) {
    a->ins[k].local = is_access(&a->ins[k]) && mx_w_mod(*a->ins[k].w) >> 2 == MX_LOCAL;
    some |= a->ins[k].op == MX_CVTA_64 && mx_w_mod(*a->ins[k].w) == MX_LOCAL - 1;
  }
  if (!some) return;
  uint64_t *in = calloc((size_t)a->words * (a->nblocks + 1u), 8), *set = in + (size_t)a->words * a->nblocks;
  if (!in) abort(); /* a process of its own: its caller goes on without compiled code */
  if (a->nblocks) memset(in + a->words, 0xFF, 8 * (size_t)a->words * (a->nblocks - 1));
  for (bool again = true; again;) {
    again = false;
    for (uint32_t k = 0; k < a->norder; k++) {
      const uint32_t b = a->order[k];
      memcpy(set, in + (size_t)a->words * b, 8 * a->words);
      for (uint32_t n = a->blocks[b].first; n < a->blocks[b].end; n++) step(a, &a->ins[n], set);
      JA_FOR_SUCC(a, b, s, {
        uint64_t *to = in + (size_t)a->words * s;
        for (uint32_t w = 0; w < a->words; w++)
          if (to[w] & ~set[w]) to[w] &= set[w], again = true;
      });
    }
  }
  for (uint32_t b = 0; b < a->nblocks; b++) {
    memcpy(set, in + (size_t)a->words * b, 8 * a->words);
    for (uint32_t n = a->blocks[b].first; n < a->blocks[b].end; n++) {
      struct ja_ins *i = &a->ins[n];
      const unsigned at = mx__row_access[i->op].kind == MX_ACCESS_LOAD ? mx__row_access[i->op].elements : 0;
      i->local |= is_access(i) && mx_w_mod(*i->w) >> 2 == MX_GENERIC && is_in(a, i, at, set) &&
                  a->f->lits[mx_w_operand(i->w, at + 1) - MX_LIT].kind == MX_LIT_VALUE;
      step(a, i, set);
    }
  }
  free(in);
}
uint64_t ja_local_window(const struct ja_ins *i) {
  return mx_w_mod(*i->w) >> 2 == MX_LOCAL ? 0 : MX_WINDOW(MX_WINDOW_LOCAL);
}

/* The lanes tool: finds code that assumes warps of 32 lanes in a module of 64, or the reverse. Suspicions come from the
 * text; they are confirmed when a warp runs the code with lanes for which it makes a difference.
 *
 * Suspicious are: a lane's or thread's number (special registers, and sums of them) that is masked to five (six) bits
 * or divided by 32 (64); masks of lanes that are narrower than a warp; shuffles whose segments or clamps end at the
 * other warp size's last lane; ballots of which only half is used. */
#include "check.h"

#include "vm/exec/flow.h"

#include <stdlib.h>
#include <string.h>

/* Values of a site's lane_rule: the number of a text, from 1. */
enum { RULE_NONE, RULE_MODULO, RULE_DIVIDE, RULE_MASK, RULE_CLAMP, RULE_BALLOT };
static const char *const kinds[] = {"", "lane-modulo", "lane-divide", "lane-mask", "lane-clamp", "lane-ballot"};

static const struct mx_insn *insn_at(const struct mx_pfunc *fn, uint32_t pc) {
  const struct mx_insn *i = &fn->insns[fn->index_of_pc[pc]];
  return i->kind == MX_INSN_JOIN ? i + 1 : i;
}
static bool literal(const struct mx_pfunc *fn, const struct mx_insn *i, unsigned k, uint64_t *value) {
  const unsigned field = mx_w_operand(&fn->func->code[i->pc], k);
  if (field < MX_LIT || fn->func->lits[field - MX_LIT].kind != MX_LIT_VALUE) return false;
  *value = fn->func->lits[field - MX_LIT].value;
  return true;
}

/* Whether operand k is computed from what `is` recognises, through copies, conversions and sums. */
typedef bool source(const struct mx_insn *i, const struct mx_insn *wanted);
static bool comes_of(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i, unsigned k,
                     source *is, const struct mx_insn *target, unsigned depth) {
  uint32_t writer[4];
  if (depth > 6 || mx_w_operand(&fn->func->code[i->pc], k) >= MX_LIT) return false;
  const size_t n = mx__writers(fn, c->code->prep->lanes, i->pc, mx__operand_ref(i, k), writer, 4);
  for (size_t w = 0; w < n; w++) {
    const struct mx_insn *at = insn_at(fn, writer[w]);
    const struct mx_op_info *o = &mx__ops[at->op];
    if (is(at, target)) return true;
    const bool passes = mx__means(at->op, "A") || mx__means(at->op, "CVT") || mx__means(at->op, "ADD") ||
                        mx__means(at->op, "SUB") || mx__means(at->op, "XOR");
    for (unsigned p = 0; passes && p < o->nopnds; p++)
      if (o->opnd[p].role == MX_IN && comes_of(c, fn, at, p, is, target, depth + 1)) return true;
  }
  return false;
}
static bool is_lane(const struct mx_insn *i, const struct mx_insn *wanted) {
  (void)wanted;
  return mx__effect(i->op) == MX_DOES_SREG && i->o[1] == MX_SR_LANEID;
}
static bool is_thread(const struct mx_insn *i, const struct mx_insn *wanted) {
  (void)wanted;
  return mx__effect(i->op) == MX_DOES_SREG && (i->o[1] == MX_SR_LANEID || i->o[1] == MX_SR_TID_X);
}
static bool is_it(const struct mx_insn *i, const struct mx_insn *wanted) { return i == wanted; }
static bool is_ballot(const struct mx_insn *i, const struct mx_insn *wanted) {
  (void)wanted;
  return mx__effect(i->op) == MX_DOES_BALLOT;
}

/* Whether the function has instructions with which lanes of a warp communicate; otherwise masking a number may mean
 * anything. */
static bool sees_lanes(const struct mx_pfunc *fn) {
  for (uint32_t k = 0; k < fn->ninsns; k++)
    if (fn->insns[k].kind == MX_INSN_OP && mx__ops[fn->insns[k].op].cls == MX_CROSS) return true;
  return false;
}
/* Whether the result of i selects a lane somewhere. */
static bool picks_lane(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i) {
  for (uint32_t n = 0; n < fn->ninsns; n++) {
    const struct mx_insn *j = &fn->insns[n];
    if (j->kind != MX_INSN_OP || mx__ops[j->op].cls != MX_CROSS) continue;
    for (unsigned k = 0; k < mx__ops[j->op].nopnds; k++)
      if (mx__ops[j->op].opnd[k].role == MX_IN && comes_of(c, fn, j, k, is_it, i, 0)) return true;
  }
  return false;
}
/* Whether it is a thread's number masked to a warp's lanes; a group of 64 threads may also be meant as two warps of 32
 * lanes. */
static bool is_number(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i, unsigned k) {
  if (comes_of(c, fn, i, k, is_lane, NULL, 0)) return true;
  return comes_of(c, fn, i, k, is_thread, NULL, 0) && (c->code->prep->lanes == 64 || picks_lane(c, fn, i));
}

static uint32_t rule_of(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i) {
  const struct mx_op_info *o = &mx__ops[i->op];
  const uint32_t lanes = c->code->prep->lanes, wrong = lanes == 64 ? 32 : 64;
  const bool and = mx__means(i->op, "AND"), shift = mx__is_spelled(i->op, "shr"), rest = mx__is_spelled(i->op, "rem"),
             quotient = mx__is_spelled(i->op, "div"),
             narrow = o->cls == MX_LANE && o->nopnds > 1 && mx__types[o->opnd[0].type].slot_class == MX_R32 &&
                      mx__types[o->opnd[o->nopnds - 1].type].slot_class == MX_R64 &&
                      (mx__is_spelled(i->op, "cvt") || mx__is_spelled(i->op, "mov"));
  uint64_t v;
  for (unsigned k = 1; k < o->nopnds && (and || shift || rest || quotient); k++) {
    if (o->opnd[k].role != MX_IN || o->opnd[k].type >= MX_T_raw || !literal(fn, i, k, &v)) continue;
    const unsigned other = k == 1 ? 2 : 1;
    const bool cuts = (and&&v == wrong - 1) || (rest && k == 2 && v == wrong),
               divides = (shift && k == 2 && v == (wrong == 32 ? 5 : 6)) || (quotient && k == 2 && v == wrong);
    if ((cuts || divides) && other < o->nopnds && is_number(c, fn, i, other)) return cuts ? RULE_MODULO : RULE_DIVIDE;
    if (and&&lanes == 64 && v == UINT32_MAX && comes_of(c, fn, i, other, is_ballot, NULL, 0)) return RULE_BALLOT;
  }
  if (lanes == 64 && narrow && comes_of(c, fn, i, o->nopnds - 1u, is_ballot, NULL, 0)) return RULE_BALLOT;
  if (o->cls == MX_CROSS && o->flags & MX_F_SYNC && !(o->flags & MX_F_WHOLE) && o->nopnds && lanes == 64 &&
      literal(fn, i, o->nopnds - 1u, &v) && v == UINT32_MAX)
    return RULE_MASK;
  if (mx__effect(i->op) == MX_DOES_SHUFFLE) {
    const unsigned clamp = (o->opnd[1].role == MX_OUT ? 2u : 1u) + 2u;
    if (literal(fn, i, clamp, &v) && lanes == 64 && ((v & 63) == 31 || (v & 63) == 0) && !(v >> 8 & 32) &&
        !(v >> 8 & 31) && ((i->mod == 0) ? false : (v & 63) == 31))
      return RULE_CLAMP;
  }
  return RULE_NONE;
}

void mx__lanes_find(struct mx_check *c) {
  for (uint32_t f = 0; f < c->code->prep->nfuncs; f++) {
    const struct mx_pfunc *fn = &c->code->prep->funcs[f];
    if (!fn->insns || !sees_lanes(fn)) continue;
    for (uint32_t k = 0; k < fn->ninsns; k++)
      if (fn->insns[k].kind == MX_INSN_OP)
        c->code->sites[c->code->first_site[f] + k].lane_rule = rule_of(c, fn, &fn->insns[k]);
  }
}

/* confirmed: lanes m, for which it makes a difference, have run it. */
static void report(struct mx_check *c, uint32_t site, uint64_t warp, uint64_t m, bool confirmed) {
  const uint32_t rule = c->code->sites[site].lane_rule;
  const bool wide = c->code->prep->lanes == 64;
  struct finding *f = mx__found_at(c, MX_CHECK_LANES, kinds[rule], site, warp, m, 0, 0);
  if (!f) return;
  static const char *const wide_text[] = {
      "",
      "the number of a lane is cut to five bits (& 31), in warps of 64 lanes",
      "a thread's number is divided by 32 (>> 5), as if warps had 32 lanes, in warps of 64",
      "the mask names 32 lanes, in warps of 64",
      "the shuffle's clamp ends at lane 31, in warps of 64 lanes",
      "a ballot is cut to 32 bits, in warps of 64 lanes"};
  static const char *const narrow_text[] = {
      "",
      "the number of a lane is cut to six bits (& 63), in warps of 32 lanes",
      "a thread's number is divided by 64 (>> 6), as if warps had 64 lanes, in warps of 32",
      "",
      "",
      ""};
  if (!confirmed) f->info.count = 0;
  mx__found_story(f, strdup(!confirmed ? "found in the text; the run did not confirm it"
                            : wide     ? "confirmed by the run: lanes of the upper half execute it"
                                       : "confirmed by the run: blocks have threads beyond the first 32"));
  mx__found_end(f, mx__format("%s", (wide ? wide_text : narrow_text)[rule]));
}

void mx__lanes_before(struct mx_exec *x, uint32_t site, uint64_t m) {
  struct mx_check *c = check_of(x);
  const uint64_t upper = m >> 32 << 32;
  const bool wide = x->lanes == 64;
  const bool matters = wide ? upper != 0 || c->code->sites[site].lane_rule == RULE_MASK : x->launch->threads > x->lanes;
  if (!m || !matters || c->confirmed[site]) return;
  c->confirmed[site] = true;
  report(c, site, warp_state(x)->number, wide && upper ? upper : m, true);
}

void mx__lanes_end(struct mx_check *c) {
  for (uint32_t n = 0; n < c->code->nsites; n++)
    if (c->code->sites[n].lane_rule && !c->confirmed[n]) report(c, n, 0, 0, false);
}

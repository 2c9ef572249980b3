/* What registers hold in each lane, whatever the launch: constants, the lane's number, masks of lanes, and what rows of
 * integers compute from these. So the member mask of a tile of n lanes, (2^n - 1) << (lane & -n), is a constant of the
 * code, and so is the lane from which a shuffle takes its value: cross.c need neither compute nor compare them.
 *
 * What is found is true of a lane that executes the instruction, because of the way that this lane has taken through
 * the graph; of lanes that wait elsewhere it says nothing. The interpreter's bodies compute the values. Functions
 * without operations that name lanes by masks are not analysed, nor are debugging sessions, in which registers may be
 * set by hand. */
#include "analyse.h"

#include "meaning.h"

#include "vm/exec/exec.h"

#include <stdlib.h>
#include <string.h>

/* Values are numbered; 0 stands for one that is not known, UNSEEN for one in a block not reached so far. A function
 * with more values is one whose constants are not worth following. */
enum { MOST = 1000, UNSEEN = UINT16_MAX, CELL = 8 * MX_MAX_LANES, OPERANDS = 7 };
struct facts {
  struct ja *a;
  uint64_t *value[MOST];
  uint16_t n;
  const mx_body *bodies;
  struct mx_exec x;
  _Alignas(64) unsigned char cells[OPERANDS * CELL];
};

static uint16_t number_of(struct facts *f, const uint64_t *lanes) {
  const size_t bytes = f->x.lanes * sizeof *lanes;
  for (uint16_t k = 1; k < f->n; k++)
    if (f->value[k][0] == lanes[0] && !memcmp(f->value[k], lanes, bytes)) return k;
  if (f->n == MOST) return 0;
  f->value[f->n] = ja_get(f->a, sizeof *lanes * MX_MAX_LANES);
  memcpy(f->value[f->n], lanes, bytes);
  return f->n++;
}
static uint16_t number_of_constant(struct facts *f, uint64_t v) {
  uint64_t lanes[MX_MAX_LANES];
  for (uint32_t l = 0; l < f->x.lanes; l++) lanes[l] = v;
  return number_of(f, lanes);
}
static uint16_t number_of_register(struct facts *f, unsigned sreg, bool wide) {
  uint64_t lanes[MX_MAX_LANES];
  const unsigned mask = sreg - (wide ? MX_SR_LANEMASK_EQ_64 : MX_SR_LANEMASK_EQ);
  if (sreg != MX_SR_LANEID && mask >= MX_LANE_MASKS) return 0;
  for (uint32_t l = 0; l < f->x.lanes; l++) {
    lanes[l] = sreg == MX_SR_LANEID ? l : mx__lane_mask(mask, l);
    if (!wide) lanes[l] = (uint32_t)lanes[l];
  }
  return number_of(f, lanes);
}

static bool is_wide(unsigned type) { return mx__types[type].slot_class == MX_R64; }
static bool is_integer(unsigned type) {
  return (type >= MX_T_u32 && type <= MX_T_b32) || (type >= MX_T_u64 && type <= MX_T_b64);
}
/* Operand k of the instruction, at[] being the numbers of what slots hold before it. */
static uint16_t operand(struct facts *f, const struct ja_ins *i, unsigned k, const uint16_t *at) {
  const unsigned field = mx_w_operand(i->w, k), type = i->o->opnd[k].type;
  if (!is_integer(type)) return 0;
  if (field < MX_LIT) return at[ja_slot(f->a, mx__types[type].slot_class, field)];
  const struct mx_lit *lit = &f->a->f->lits[field - MX_LIT];
  if (lit->kind != MX_LIT_VALUE) return 0;
  return number_of_constant(f, is_wide(type) ? lit->value : (uint32_t)lit->value);
}
/* Whether the row computes integers of 32 and 64 bits from such integers. */
static bool is_of_integers(const struct ja_ins *i) {
  if (i->kind == JA_CALLS || i->kind == JA_RETURNS || i->o->cls != MX_LANE || !jx_meanings[i->op] ||
      i->o->nopnds > OPERANDS)
    return false;
  for (unsigned k = 0; k < i->o->nopnds; k++)
    if (!is_integer(i->o->opnd[k].type)) return false;
  return true;
}
static void by_body(struct facts *f, const struct ja_ins *i, const uint16_t *in, uint16_t *out) {
  struct mx_insn insn = {.op = i->op, .mod = (uint8_t)mx_w_mod(*i->w), .guard = MX_GUARD_NONE};
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    insn.o[k] = (mx_ref)(k * CELL);
    unsigned char *cell = f->cells + k * CELL;
    for (uint32_t l = 0; i->o->opnd[k].role != MX_OUT && l < f->x.lanes; l++)
      if (is_wide(i->o->opnd[k].type)) ((uint64_t *)(void *)cell)[l] = f->value[in[k]][l];
      else ((uint32_t *)(void *)cell)[l] = (uint32_t)f->value[in[k]][l];
  }
  f->bodies[i->op](&f->x, &insn);
  for (unsigned k = 0; i->o->opnd[k].role == MX_OUT; k++) {
    const void *cell = f->cells + k * CELL;
    uint64_t lanes[MX_MAX_LANES];
    for (uint32_t l = 0; l < f->x.lanes; l++)
      lanes[l] = is_wide(i->o->opnd[k].type) ? ((const uint64_t *)cell)[l] : ((const uint32_t *)cell)[l];
    out[k] = number_of(f, lanes);
  }
}
/* The numbers of the instruction's results. */
static void results(struct facts *f, const struct ja_ins *i, const uint16_t *at, uint16_t out[OPERANDS]) {
  uint16_t in[OPERANDS];
  memset(out, 0, sizeof *out * OPERANDS);
  if (i->o->flags & MX_F_MOVI) {
    const int64_t v = (int32_t)mx_w_movi(*i->w);
    out[0] = number_of_constant(f, is_wide(i->o->opnd[0].type) ? (uint64_t)v : (uint32_t)v);
  } else if (i->op == MX_SREG_32 || i->op == MX_SREG_64) {
    out[0] = number_of_register(f, mx_w_operand(i->w, 1), i->op == MX_SREG_64);
  } else if (is_of_integers(i)) {
    for (unsigned k = 0; k < i->o->nopnds; k++)
      if (i->o->opnd[k].role != MX_OUT && !(in[k] = operand(f, i, k, at))) return;
    by_body(f, i, in, out);
  }
}
/* Updates at[] from before the instruction to behind it. */
static void step(struct facts *f, const struct ja_ins *i, uint16_t *at) {
  uint32_t s[JA_MAX_TOUCH];
  uint16_t out[OPERANDS];
  results(f, i, at, out);
  const uint32_t n = ja_defs(f->a, i, s);
  for (uint32_t k = 0; k < n; k++) {
    const uint16_t now = k < OPERANDS ? out[k] : 0;
    at[s[k]] = mx_w_guard(*i->w) == MX_GUARD_NONE || at[s[k]] == now ? now : 0;
  }
}
/* Notes what is known of the operands for the compiler: of results, and of what warp operations read. */
static void note(struct facts *f, struct ja_ins *i, const uint16_t *at) {
  const bool names_lanes = i->o->flags & MX_F_SYNC && i->o->cls == MX_CROSS;
  uint16_t out[OPERANDS];
  results(f, i, at, out);
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    const bool result = i->o->opnd[k].role == MX_OUT;
    const uint16_t number = result ? k < OPERANDS ? out[k] : 0 : names_lanes ? operand(f, i, k, at) : 0;
    if (!number) continue;
    if (!i->known) i->known = ja_get(f->a, sizeof *i->known * i->o->nopnds);
    i->known[k] = f->value[number];
  }
}

void ja_find_known(struct ja *a) {
  const struct mx_level *level = mx__level(NULL);
  bool asked = false;
  for (uint32_t k = 0; k < a->nins; k++) asked |= a->ins[k].o->flags & MX_F_SYNC && a->ins[k].o->cls == MX_CROSS;
  if (!asked || a->stops || !level) return;
  struct facts *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
  uint16_t *in = malloc(sizeof *in * a->nslots * (a->nblocks + 1u)), *at = in + (size_t)a->nslots * a->nblocks;
  if (!f || !in) abort(); /* a process of its own: its caller goes on without compiled code */
  memset(f, 0, sizeof *f);
  f->a = a, f->n = 1, f->bodies = level->unguarded;
  f->x.lanes = a->image->lanes;
  f->x.mask = f->x.full = UINT64_MAX >> (64 - a->image->lanes);
  f->x.base[0] = f->cells;
  memset(in, 0xFF, sizeof *in * a->nslots * a->nblocks);
  memset(in + (size_t)a->nslots * a->order[0], 0, sizeof *in * a->nslots);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t k = 0; k < a->norder; k++) {
      const uint32_t b = a->order[k];
      memcpy(at, in + (size_t)a->nslots * b, sizeof *in * a->nslots);
      for (uint32_t n = a->blocks[b].first; n < a->blocks[b].end; n++) step(f, &a->ins[n], at);
      JA_FOR_SUCC(a, b, s, {
        uint16_t *to = in + (size_t)a->nslots * s;
        for (uint32_t slot = 0; slot < a->nslots; slot++) {
          const uint16_t met = to[slot] == UNSEEN || to[slot] == at[slot] ? at[slot] : 0;
          again |= met != to[slot];
          to[slot] = met;
        }
      });
    }
  }
  for (uint32_t k = 0; k < a->norder; k++) {
    const uint32_t b = a->order[k];
    memcpy(at, in + (size_t)a->nslots * b, sizeof *in * a->nslots);
    for (uint32_t n = a->blocks[b].first; n < a->blocks[b].end; n++) {
      note(f, &a->ins[n], at);
      step(f, &a->ins[n], at);
    }
  }
  free(in);
  free(f);
}

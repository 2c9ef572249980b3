/* Operations on values chunk by chunk, so that intermediate values take few registers. Where slots live in memory, this
 * is a loop over the chunks, and each operation is built once instead of once for each chunk. Uniform values are
 * computed before. */
#include "lowering.h"

#include "meaning.h"

#include <stdlib.h>
#include <string.h>

struct lw_loop {
  gcc_jit_rvalue *(*v)[2]; /* by slot: the vectors of the current chunk; NULL: not loaded or computed yet */
  gcc_jit_lvalue *chunk;   /* the loop's counter, in bytes of a 32-bit slot */
  bool unrolled;           /* unrolled: chunk after chunk is built, now number `number` */
  unsigned number;
  /* state->spill_area, advanced to the current chunk's part of a mask, of a 32-bit slot, of a 64-bit slot; or NULL */
  gcc_jit_rvalue *at[3];
};

/* ---- runs -------------------------------------------------------------------------------------------------------*/
/* Describes an instruction's operands without building them. False: one of them cannot be used in a loop. */
static bool operands(struct lw *l, const struct ja_ins *i, const uint64_t *uni, unsigned nout, jv *in) {
  for (unsigned k = nout; k < i->o->nopnds; k++, in++) {
    const unsigned type = i->o->opnd[k].type, field = mx_w_operand(i->w, k);
    if (type >= MX_T_raw) *in = jv_k(&l->j, MX_T_u32, field);
    else if (field < MX_LIT) *in = jx_fresh(type, ja_has(uni, ja_slot(l->a, mx__types[type].slot_class, field)));
    else {
      const struct mx_lit *lit = &l->a->f->lits[field - MX_LIT];
      if (lit->kind == MX_LIT_VALUE) *in = jv_k(&l->j, type, type == MX_T_pred ? lit->value & 1 : lit->value);
      else if (k >= 6 || type == MX_T_pred) return false;
      else *in = jx_fresh(type, true);
    }
  }
  return true;
}
static bool fits(struct lw *l, const struct ja_ins *i, const uint64_t *uni) {
  if (lw_run_in_loop(l, (uint32_t)(i - l->a->ins))) return !i->keep && !l->counters;
  if (i->o->cls != MX_LANE || i->keep || i->by_checker || (l->counters && mx_w_guard(*i->w) != MX_GUARD_NONE))
    return false;
  if (i->o->flags & MX_F_MOVI) return true;
  unsigned nout = 0;
  while (nout < i->o->nopnds && i->o->opnd[nout].role == MX_OUT) nout++;
  const unsigned nin = i->o->nopnds - nout;
  jv in[8];
  return jx_meanings[i->op] && nin <= 8 && operands(l, i, uni, nout, in) &&
         jx_row_exists(&l->j, i->op, mx_w_mod(*i->w), in, nin);
}
/* Whether an instruction's results are varying, kept as one value (uniform, or a ramp), or some of each. */
enum results { VARYING, SAME, MIXED };
static enum results results_of(const struct ja *a, const struct ja_ins *i, const uint64_t *uni_after,
                               const int64_t *ramps_after) {
  uint32_t s[JA_MAX_TOUCH], same = 0;
  const uint32_t n = ja_defs(a, i, s);
  for (uint32_t k = 0; k < n; k++) same += ja_has(uni_after, s[k]) || ramps_after[s[k]];
  return same == n ? SAME : same ? MIXED : VARYING;
}
/* Adds the slots that the instruction reads, including those of which a part is kept. */
static void add_reads(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *set) {
  uint32_t s[JA_MAX_TOUCH], n = ja_uses(a, i, s);
  while (n) ja_add(set, s[--n]);
  n = ja_defs(a, i, s);
  while (n--)
    if (mx_w_guard(*i->w) != MX_GUARD_NONE || ja_has(preserved, s[n])) ja_add(set, s[n]);
}

/* Where slots live in registers, chunk after chunk of so many instructions is built: what is used up within them takes
 * one register instead of one for each chunk. In longer runs the processor would not reach the next chunk before it
 * waits for this one's results. */
#define MOST_IN_REGISTERS 8
uint32_t lw_loop_end(struct lw *l, const struct ja_block *b, uint32_t from, const uint64_t *live) {
  const struct ja *a = l->a;
  const struct lw_run *rows = &l->runs[l->block];
  const bool in_registers = !l->slots_spilled;
  if (l->one_lane) return from;
  uint64_t *uni = lw_need(32 * a->words), *after = uni + a->words, *read = after + a->words, *reads = read + a->words;
  memcpy(uni, l->uni, 8 * a->words);
  int64_t *ramps = lw_need(sizeof *ramps * (a->nslots + 1u));
  memcpy(ramps, l->ramps, sizeof *ramps * a->nslots);
  const uint32_t most = l->run ? rows->end : b->end;
  uint32_t k = b->first + from, varying = 0;
  for (; k < most; k++) {
    const struct ja_ins *i = &a->ins[k];
    if (in_registers && (varying == MOST_IN_REGISTERS || lw_would_note_sides(l, i))) break;
    if ((!l->run && rows->n && k >= rows->first && k < rows->end) || !fits(l, i, uni) || lw_can_defer(l, k, b, live))
      break;
    uint32_t s[JA_MAX_TOUCH];
    memset(reads, 0, 8 * a->words);
    add_reads(a, i, b->preserved, reads);
    for (uint32_t slot = 0; slot < a->nslots; slot++) /* what is kept as one value */
      if (!ja_has(uni, slot) && !ramps[slot]) ja_del(reads, slot);
    memcpy(after, uni, 8 * a->words);
    ja_ramp_step(a, i, b->preserved, uni, ramps);
    ja_uniform_step(a, i, b->preserved, after);
    const enum results r = results_of(a, i, after, ramps);
    uint32_t n = ja_defs(a, i, s);
    if (n && r == SAME && ramps[s[0]] && ja_ramp_leaves(i)) break; /* code may be left there, as it stands */
    bool overtakes = false; /* a uniform value would be computed too early, before the loop reads the old one */
    while (n) overtakes |= ja_has(read, s[--n]);
    if (r == MIXED || (r == SAME && overtakes)) break;
    if (r == VARYING) {
      varying++;
      for (uint32_t w = 0; w < a->words; w++) read[w] |= reads[w];
    }
    memcpy(uni, after, 8 * a->words);
    if (l->addend[k].wanted && !l->addend[k].moves) { /* the shape of its result is computed behind the loop */
      k++;
      break;
    }
  }
  free(uni), free(ramps);
  return varying > (in_registers ? 1 : 0) ? k - b->first : from;
}

/* ---- building them ----------------------------------------------------------------------------------------------*/
/* The address of the current chunk's part in slots of that class. */
static gcc_jit_rvalue *part_at(struct lw *l, unsigned cls) {
  struct jx *j = &l->j;
  struct lw_loop *o = l->loop;
  gcc_jit_rvalue *by = jx_rv(o->chunk), *from = cls == MX_R64 ? part_at(l, MX_R32) : jx_rv(l->spill_area);
  if (cls == MX_PRED && j->mask_bytes == j->bytes) return part_at(l, MX_R32);
  if (cls == MX_PRED) by = jx_op(j, GCC_JIT_BINARY_OP_DIVIDE, j->t_u64, by, lw_u64(l, j->bytes / j->mask_bytes));
  return o->at[cls] ? o->at[cls] : (o->at[cls] = jx_keep(j, lw_add(l, from, by)));
}
gcc_jit_rvalue **lw_loop_value(struct lw *l, uint32_t slot, unsigned h) { return &l->loop->v[slot][h]; }
/* Part h of a slot's cell for the current chunk. */
static gcc_jit_lvalue *cell_here(struct lw *l, uint32_t slot, unsigned h) {
  const struct lw_loop *o = l->loop;
  const unsigned cls = lw_class(l->a, slot);
  return o->unrolled ? lw_var(l, slot, (cls == MX_R64 ? 2 : 1) * o->number + h)
                     : lw_cell_at(l, part_at(l, cls), slot, h);
}
gcc_jit_rvalue *lw_loop_get(struct lw *l, uint32_t slot, unsigned h) {
  gcc_jit_rvalue **v = lw_loop_value(l, slot, h);
  return *v ? *v : (*v = jx_keep(&l->j, jx_rv(cell_here(l, slot, h))));
}
bool lw_loop_unrolled(const struct lw *l, unsigned *chunk) {
  *chunk = l->loop->number;
  return l->loop->unrolled;
}
gcc_jit_rvalue *lw_loop_lane(struct lw *l) { /* the counter is in bytes of a slot of 32 bits */
  return jx_op(&l->j, GCC_JIT_BINARY_OP_RSHIFT, l->j.t_u64, jx_rv(l->loop->chunk), lw_u64(l, 2));
}
gcc_jit_rvalue *lw_loop_first(struct lw *l, uint32_t slot) {
  struct jx *j = &l->j;
  const unsigned cls = lw_class(l->a, slot);
  gcc_jit_lvalue *cell = lw_cell_at(l, part_at(l, cls), slot, 0);
  gcc_jit_rvalue *at = gcc_jit_context_new_cast(j->c, NULL, gcc_jit_lvalue_get_address(cell, NULL), j->t_pu8);
  return jx_rv(lw_field(l, at, 0, cls == MX_R64 ? j->t_u64 : j->t_u32));
}
gcc_jit_rvalue *lw_loop_row_get(struct lw *l, unsigned row) {
  return jx_keep(&l->j, jx_rv(lw_loop_row(l, part_at(l, MX_R32), row, 0)));
}
/* Whether an instruction of the loop needs the active lanes' masks. */
static bool asks_lanes(const struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end) {
  const struct ja *a = l->a;
  uint32_t s[JA_MAX_TOUCH];
  for (uint32_t k = from; k < end; k++)
    if (lw_stale_floats(l, &a->ins[b->first + k]) || lw_run_asks_lanes(l, b->first + k)) return true;
  for (uint32_t k = from; k < end; k++)
    for (uint32_t n = ja_defs(a, &a->ins[b->first + k], s); n--;)
      if (ja_has(b->preserved, s[n])) return true;
  return false;
}
/* Slots that must be in memory behind the loop: live ones, and those through which later accesses go whose address is
 * computed from them. */
static uint64_t *wanted(const struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end,
                        const uint64_t *live) {
  const struct ja *a = l->a;
  const struct lw_run *rows = &l->runs[l->block];
  uint64_t *set = lw_need(8 * a->words);
  memcpy(set, live + (size_t)end * a->words, 8 * a->words);
  for (uint32_t k = b->first + end; k < b->end; k++)
    if (l->based[k].steady || l->based[k].indexed) ja_add(set, l->based[k].slot);
  for (unsigned r = 0; r < rows->n; r++) ja_add(set, rows->row[r].slot);
  /* their shapes are computed behind the loop */
  for (uint32_t k = b->first + from, s[JA_MAX_TOUCH]; k < b->first + end; k++)
    for (uint32_t n = l->addend[k].wanted && !l->addend[k].moves ? ja_defs(a, &a->ins[k], s) : 0; n--;)
      ja_add(set, s[n]);
  return set;
}
/* Updates the analyses' sets past an instruction that is built elsewhere. */
static void pass_over(struct lw *l, const struct ja_block *b, const struct ja_ins *i, const uint64_t *uni_after) {
  ja_float_step(l->a, i, b->preserved, l->flt, l->raw);
  ja_ramp_step(l->a, i, b->preserved, l->uni, l->ramps);
  memcpy(l->uni, uni_after, 8 * l->a->words);
}
/* The results of an instruction that is built next. */
static enum results results_here(struct lw *l, const struct ja_block *b, const struct ja_ins *i,
                                 const uint64_t *uni_after) {
  memcpy(l->ramps_after, l->ramps, sizeof *l->ramps * l->a->nslots);
  ja_ramp_step(l->a, i, b->preserved, l->uni, l->ramps_after);
  return results_of(l->a, i, uni_after, l->ramps_after);
}
/* Builds the loop's uniform instructions before it, and the values that others add to addresses. */
static void build_same(struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end, uint64_t *live) {
  uint64_t *after = lw_need(8 * l->a->words);
  for (uint32_t k = from; k < end; k++) {
    const struct ja_ins *i = &l->a->ins[b->first + k];
    memcpy(after, l->uni, 8 * l->a->words);
    ja_uniform_step(l->a, i, b->preserved, after);
    if (results_here(l, b, i, after) == SAME) lw_instruction(l, b, k, live);
    else {
      l->ins = i;
      lw_addend(l);
      pass_over(l, b, i, after);
    }
  }
  free(after);
}
/* Updates the shapes of addresses behind the loop. */
static void update_shapes(struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end, const uint64_t *made) {
  uint32_t s[JA_MAX_TOUCH];
  for (uint32_t k = from; k < end; k++) {
    l->ins = &l->a->ins[b->first + k];
    l->moving = l->addend[b->first + k].moves;
    for (uint32_t n = ja_defs(l->a, l->ins, s); n--;)
      if (ja_has(made, s[n]) && !ja_has(l->uni, s[n]) && !l->ramps[s[n]]) lw_shape_update(l, s[n]);
  }
  l->moving = false;
}
/* A result of the loop for the current chunk. Lanes that do not run keep what the slot had before the loop, when the
 * sets of uniform and raw slots were `before` and ramps those: within the loop, nobody asks what they have. */
static jv result_for_all(struct lw *l, const struct ja_block *b, uint32_t slot, uint64_t *before, int64_t *ramps) {
  const unsigned cls = lw_class(l->a, slot), type = lw_bits_type(cls);
  const jv made = {.t = (uint8_t)type, .r = {*lw_loop_value(l, slot, 0), *lw_loop_value(l, slot, cls == MX_R64)}};
  if (!ja_has(b->preserved, slot)) return made;
  uint64_t *const uni = l->uni, *const raw = l->raw;
  int64_t *const ramps_now = l->ramps;
  const bool is_raw = ja_has(raw, slot);
  l->uni = before, l->raw = before + 2 * (size_t)l->a->words, l->ramps = ramps;
  *lw_loop_value(l, slot, 0) = *lw_loop_value(l, slot, 1) = NULL;
  jv old = lw_get(l, slot, type, 0);
  if (!is_raw) old = lw_clean(l, slot, old);
  l->uni = uni, l->raw = raw, l->ramps = ramps_now;
  gcc_jit_rvalue *m = jx_rv(l->cm[0]);
  return jv_as(&l->j, type, jv_sel(&l->j, type, (jv){.t = MX_T_pred, .r = {m, m}}, made, old));
}
/* Builds the varying instructions for one chunk, and stores the results that are needed behind the loop; these are
 * added to `made`. */
static void build_chunk(struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end, uint64_t *live,
                        uint64_t *before, int64_t *ramps, uint64_t *made) {
  const struct ja *a = l->a;
  const size_t bytes = 8 * a->words;
  memcpy(l->uni, before, bytes), memcpy(l->flt, before + a->words, bytes);
  memcpy(l->raw, before + 2 * a->words, bytes);
  memcpy(l->ramps, ramps, sizeof *ramps * a->nslots);
  uint64_t *after = lw_need(bytes);
  lw_run_chunk(l);
  for (uint32_t k = from; k < end; k++) {
    const struct ja_ins *i = &a->ins[b->first + k];
    memcpy(after, l->uni, bytes);
    ja_uniform_step(a, i, b->preserved, after);
    if (results_here(l, b, i, after) == SAME) {
      pass_over(l, b, i, after);
      continue;
    }
    lw_instruction(l, b, k, live);
    uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
    while (n) ja_add(made, s[--n]);
  }
  uint64_t *at_end = wanted(l, b, from, end, live);
  for (uint32_t s = 0; s < a->nslots; s++) {
    if (!ja_has(made, s) || ja_has(l->uni, s) || l->ramps[s] || !ja_has(at_end, s)) continue;
    const jv v = result_for_all(l, b, s, before, ramps);
    for (unsigned h = 0; h < (lw_class(a, s) == MX_R64 ? 2u : 1u); h++) jx_set(&l->j, cell_here(l, s, h), v.r[h]);
  }
  free(after), free(at_end);
}
#define SHORT 8 /* fewer instructions are not worth a loop, except memory accesses, which are many statements each */
void lw_loop(struct lw *l, const struct ja_block *b, uint32_t from, uint32_t end, uint64_t *live) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  const size_t bytes = 8 * a->words;
  uint64_t *before = lw_need(4 * bytes), *made = before + 3 * (size_t)a->words;
  memcpy(before, l->uni, bytes), memcpy(before + a->words, l->flt, bytes);
  memcpy(before + 2 * (size_t)a->words, l->raw, bytes);
  int64_t *ramps = lw_need(sizeof *ramps * (a->nslots + 1u));
  memcpy(ramps, l->ramps, sizeof *ramps * a->nslots);
  build_same(l, b, from, end, live);

  struct lw_loop loop = {.v = lw_need(sizeof *loop.v * (a->nslots + 1)),
                         .unrolled = !l->slots_spilled || (l->run && end - from < SHORT)};
  gcc_jit_lvalue *const first = l->cm[0];
  const unsigned nc = l->nc;
  if (loop.unrolled) {
    l->loop = &loop;
    l->nc = 1;
    for (; loop.number < nc; loop.number++) {
      l->cm[0] = loop.number ? l->cm[loop.number] : first;
      memset(loop.v, 0, sizeof *loop.v * (a->nslots + 1));
      build_chunk(l, b, from, end, live, before, ramps, made);
    }
  } else {
    gcc_jit_lvalue *const chunk = loop.chunk = jx_local(j, j->t_u64);
    const bool masked = asks_lanes(l, b, from, end);
    if (masked) lw_store_block_masks(l);
    lw_run_loop_begin(l, b->first + from, b->first + end);
    jx_set(j, chunk, lw_u64(l, 0));
    gcc_jit_block *turn = lw_new_block(l, "chunk"), *behind = lw_new_block(l, "behind");
    lw_go(l, turn);
    j->b = turn;
    l->loop = &loop;
    l->nc = 1;
    if (masked) {
      l->cm[0] = jx_local(j, j->t_mask);
      jx_set(j, l->cm[0], jx_rv(lw_block_mask(l, part_at(l, MX_PRED), 0)));
    }
    build_chunk(l, b, from, end, live, before, ramps, made);
    jx_set(j, chunk, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(chunk), lw_u64(l, j->bytes)));
    lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(chunk), lw_u64(l, (uint64_t)nc * j->bytes)), turn, behind);
    j->b = behind;
  }
  l->loop = NULL;
  l->nc = nc;
  l->cm[0] = first;
  update_shapes(l, b, from, end, made);
  free(before), free(loop.v), free(ramps);
}

/* Loops whose lanes run one by one. Where lanes leave a loop at different times, diverge in it and gather what they
 * read, most lanes are inactive, but a vector step costs the same as with all of them. Scalar code that runs one lane
 * after another does only what is needed. A loop that does nothing but compute and make weak memory accesses has no
 * visible order of lanes if its stores are delayed until all lanes are through, so code may choose either form when the
 * loop begins.
 *
 * 1. A lane's turn ends where it leaves the loop, or where the slice would end. Then its slots go to the lane's part of
 * the chunks in state->spill_area, and when all lanes have had their turns, everything is as if the warp had run as
 * many iterations as the longest turn: instructions and iterations are counted from that. Lanes that are still in the
 * loop go on in the vector form, to the slice's end.
 * 2. A bailout (at an access outside of its cached bounds, or at a NaN in a minimum or maximum) has no effects: the
 * vector form then runs the loop from the start.
 * 3. No address may depend on what an earlier round loaded: otherwise a lane waits for the latency of each load,
 * whereas the vector form overlaps the loads of all lanes. Local memory, where stacks are, is near.
 * 4. In a round each block runs once for all lanes that come to it, as the machine's order has it. Every round comes to
 * some blocks; how often these were run follows from the length of the longest turn. Which others were run by some lane
 * is recorded for each round.
 * 5. Stores are recorded, and made in the machine's order when all lanes have had their turns (vm/exec/lane_loops.h).
 * No load may read what they write: what the loop loads from and stores to must be different allocations. A lane's
 * local memory is its own, so stores there are made at once; before the first turn all lanes' is copied, for a bailout.
 * 6. Costs are estimated, in quarters of a cycle, to decide whether both forms are built at all. Which one runs is
 * decided by measuring both (vm/exec/lane_loops.h); after a bailout the vector form runs the next few times. */
#include "scalar_loops.h"

#include "divergence.h"
#include "graph.h"
#include "meaning.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { /* estimated costs */
       LANE_OP = 1,
       LANE_LOAD = 3,
       LANE_ANYWHERE = 6,
       LANE_STORE = 30,
       LANE_GUESS = 20,    /* a branch that depends on loaded data: sometimes mispredicted */
       LANE_ITERATION = 3, /* an address that is not a sum with a 32-bit number costs more to check */
       ROUND = 80,
       WARP_OP = 3,
       WARP_PART = 8,    /* of a chunk: an operation; an operation in a conditional block, whose results are blended */
       WARP_BLOCK = 120, /* of a chunk: computing the masks of a conditional block */
       GATHERED = 10,
       IN_ROWS = 1,
       UNKNOWN = 2,   /* of a round; of a chunk; of a lane's load */
       BY_BODY = 1000 /* a load or store that the interpreter's body does */
};

/* ---- which loops ------------------------------------------------------------------------------------------------*/
/* Whether every lane's round comes to block b. */
static bool comes_always(const struct ja *a, const struct lw_scalar_loop *p, uint32_t b) {
  for (uint32_t k = 0; k < p->nblocks; k++)
    for (uint32_t n = 0; n < a->blocks[p->block[k]].nsucc; n++)
      if (a->blocks[p->block[k]].succ[n] == p->head && !jg_dominates(a, b, p->block[k])) return false;
  return true;
}
/* Finds at which exits lanes wait while others are in the loop. False: lanes meet elsewhere than the code knows. */
static bool waits_at_exits(const struct ja *a, struct lw_scalar_loop *p) {
  const struct ja_block *h = &a->blocks[p->head];
  if (p->nexits == 1 && p->join == JA_NONE) p->join = p->exit[0]; /* all lanes leave together */
  for (unsigned e = 0; e < p->nexits; e++) p->waits[e] = p->nexits == 1 || ja_has(h->pending, p->exit[e]);
  return p->nexits == 1 ? p->join == p->exit[0] : p->join == JA_NONE || ja_has(h->open, p->join);
}
/* Gives bits to the blocks and backward branches of a round to which not every lane comes. The others are run once more
 * by a turn that is longer: if a round leaves the loop, they have been run up to the block from which it does, since
 * the blocks are in topological order, and each path back to the header leads through those to which all lanes come. */
static void number_bits(const struct ja *a, struct lw_scalar_loop *p) {
  unsigned latches = 0;
  for (uint32_t k = 0; k < p->nblocks; k++) {
    p->bit[k] = comes_always(a, p, p->block[k]) ? NO_BIT : p->nbits++;
    for (uint32_t n = 0; n < a->blocks[p->block[k]].nsucc; n++) latches += a->blocks[p->block[k]].succ[n] == p->head;
  }
  const bool ends_round = p->nbacks == 1 && latches == 1 && sl_branches_back(a, p->backward[0], p->head);
  for (uint32_t k = 0; k < p->nbacks; k++) p->back_bit[k] = p->chain || ends_round ? NO_BIT : p->nbits++;
}
/* Lists the loop's blocks in the order of a round: the header, then the others in the machine's order. All exits of the
 * loop must lead to blocks that come later, and where lanes leave at different times, all must meet at one place. */
static bool find_round(const struct ja *a, const struct ja_loop *loop, struct lw_scalar_loop *p) {
  uint32_t parts = 0;
  p->head = loop->head, p->join = JA_NONE;
  if (!p->head) return false;
  p->block[p->nblocks++] = p->head;
  for (uint32_t k = 0; k < a->nblocks; k++) {
    const uint32_t b = a->by_turn[k];
    if (!ja_has(loop->body, b) || b == p->head) continue;
    if (p->nblocks == MOST_BLOCKS || a->blocks[b].turn > a->blocks[p->head].turn) return false;
    p->block[p->nblocks++] = b;
  }
  p->chain = true;
  for (uint32_t k = 0; k < p->nblocks; k++) {
    const uint32_t b = p->block[k];
    const struct ja_block *bl = &a->blocks[b];
    unsigned inside = 0;
    if (bl->leaves || !bl->nsucc || (bl->divergent && !bl->hidden) || ja_frame_of(a, b) != ja_frame_of(a, p->head))
      return false;
    for (uint32_t n = 0; n < bl->nsucc; n++) {
      const uint32_t to = bl->succ[n];
      if (sl_branches_back(a, b, to)) p->backward[p->nbacks++] = b, p->back = k;
      if (!ja_has(loop->body, to)) {
        if (sl_exit_to(p, to) == MOST_EXITS) {
          if (p->nexits == MOST_EXITS || a->blocks[to].turn <= a->blocks[p->head].turn) return false;
          p->exit[p->nexits++] = to;
        }
        p->chain &= !sl_branches_back(a, b, to);
        continue;
      }
      inside++;
      if (to != p->head && sl_number_of(p, to) <= k) return false; /* an inner loop */
      p->chain &= to == p->block[(k + 1) % p->nblocks];
    }
    p->chain &= inside == 1;
    parts += bl->divergent;
  }
  for (uint32_t k = 0; k < p->nblocks; k++) { /* lanes that diverge must meet again in the loop, or behind it */
    const uint32_t b = p->block[k], join = a->blocks[b].divergent ? ja_join_of(a, b) : p->head;
    if (join < a->nblocks && ja_has(loop->body, join)) continue;
    if (join >= a->nblocks || (p->join != JA_NONE && join != p->join)) return false;
    p->join = join;
    p->inner_exits |= !comes_always(a, p, b);
  }
  p->chain &= p->nbacks == 1;
  number_bits(a, p);
  return parts && p->nbacks && p->nexits && waits_at_exits(a, p) && p->nbits <= MOST_BITS;
}

/* Whether a row's meaning has a form for one lane. It is built in a scratch context that is never compiled. */
static bool has_form(gcc_jit_context *scratch, const struct jx_isa *isa, const struct ja_ins *i) {
  const struct mx_op_info *o = i->o;
  unsigned nout = 0;
  if (!jx_meanings[i->op] || o->nopnds > 6) return false;
  while (nout < o->nopnds && o->opnd[nout].role == MX_OUT) nout++;
  struct jx *j = lw_need(sizeof *j);
  jx_init(j, scratch, isa);
  j->fn = gcc_jit_context_new_function(scratch, NULL, GCC_JIT_FUNCTION_INTERNAL, j->t_void, o->id, 0, NULL, 0);
  j->b = gcc_jit_function_new_block(j->fn, NULL);
  jv in[8] = {{0}}, second = {0};
  for (unsigned k = nout; k < o->nopnds; k++) {
    const unsigned t = o->opnd[k].type;
    if (t >= MX_T_raw) in[k - nout] = jv_k(j, MX_T_u32, mx_w_operand(i->w, k));
    else
      in[k - nout] = jv_broadcast(j, t, jx_rv(jx_local(j, t == MX_T_pred ? j->t_mask : jx_vector(j, jx_wide(t))))),
             in[k - nout].t = (uint8_t)t;
  }
  jv first = jx_meanings[i->op](j, mx_w_mod(*i->w), in, &second);
  jv_canon(j, o->opnd[0].type, jv_cvt(j, o->opnd[0].type, first.t, first));
  if (nout > 1) jv_canon(j, o->opnd[1].type, jv_cvt(j, o->opnd[1].type, second.t, second));
  const bool has = !j->bad;
  free(j);
  return has;
}
/* Whether code for one lane can access these operands. */
static bool has_operands(const struct ja *a, const struct ja_ins *i) {
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    const unsigned t = i->o->opnd[k].type, f = mx_w_operand(i->w, k);
    if (t == MX_T_b128) return false;
    if (t == MX_T_pred && f >= MX_LIT && a->f->lits[f - MX_LIT].kind != MX_LIT_VALUE) return false;
  }
  return true;
}
/* The slot through which an access reaches its allocation: the uniform part of the sum that is its address, or the
 * address itself if the loop advances it. */
static uint32_t root_of(const struct lw *l, const struct ja_ins *i, unsigned at) {
  const struct ja *a = l->a;
  const unsigned f = mx_w_operand(i->w, at);
  if (f >= MX_LIT) return JA_NONE;
  const uint32_t slot = ja_slot(a, mx__types[i->o->opnd[at].type].slot_class, f);
  uint32_t k = (uint32_t)(i - a->ins);
  if (!lw_last_write(a, &k, slot)) return slot;
  const bool product = a->ins[k].op == MX_MAD_WIDE_U32 || a->ins[k].op == MX_MAD_WIDE_S32;
  const unsigned plus = product && lw_uniform_at(a, i->block, k, 3) ? 3 : lw_uniform_addend(a, k, JA_NONE),
                 of = plus ? mx_w_operand(a->ins[k].w, plus) : MX_LIT;
  return of < MX_LIT ? ja_slot(a, mx__types[a->ins[k].o->opnd[plus].type].slot_class, of) : JA_NONE;
}
static bool add_access(const struct lw *l, struct lw_scalar_loop *p, uint32_t b, const struct ja_ins *i) {
  const struct mx_row_access ac = mx__row_access[i->op];
  const unsigned space = mx_w_mod(*i->w) >> 2, weak = !(mx_w_mod(*i->w) & 3);
  const bool store = ac.kind == MX_ACCESS_STORE;
  const unsigned bytes = jx_bitsof(ac.type) / 8 * ac.elements, at = store ? 0 : ac.elements;
  if ((ac.kind != MX_ACCESS_LOAD && !store) || !weak || ac.elements > 4 || ac.type == MX_T_b128 || space == MX_PARAM ||
      (store && (bytes > 16 || space == MX_CONST)) || i->o->nopnds != ac.elements + 2u || p->naccesses == MOST_ACCESSES)
    return false;
  if (i->local) {
    p->nlocal++, p->nlocal_stores += store;
    p->access[p->naccesses++] = (struct access){
        .ins = i, .block = b, .store = store, .local = true, .at = at, .bytes = bytes, .root = MOST_ROOTS};
    return true;
  }
  const uint32_t slot = space == MX_SHARED ? l->a->nslots : root_of(l, i, at);
  unsigned root = 0;
  for (; root < p->nroots; root++)
    if (slot != JA_NONE && p->roots[root].slot == slot) {
      if (p->roots[root].store != store) return false; /* most likely they are the same allocation */
      if (!store || p->roots[root].bytes == bytes) break;
    }
  if (root == MOST_ROOTS) return false;
  if (root == p->nroots)
    p->roots[p->nroots].slot = slot, p->roots[p->nroots].store = store, p->roots[p->nroots++].bytes = bytes;
  p->nstores += store;
  p->access[p->naccesses++] = (struct access){
      .ins = i, .block = b, .store = store, .always = comes_always(l->a, p, b), .at = at, .bytes = bytes, .root = root};
  return true;
}
static bool has_instructions(struct lw *l, struct lw_scalar_loop *p) {
  const struct ja *a = l->a;
  unsigned n = 0;
  bool good = true;
  gcc_jit_context *scratch = gcc_jit_context_acquire();
  for (uint32_t k = 0; k < p->nblocks && good; k++)
    for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end && good; m++) {
      const struct ja_ins *i = &a->ins[m];
      good = !i->keep && ++n <= MOST_INSTRUCTIONS && (i->op == MX_BRA || has_operands(a, i));
      if (!good || i->op == MX_BRA || i->o->flags & MX_F_MOVI) continue;
      if (mx__effect(i->op) == MX_DOES_SREG) /* predicates are read by the body */
        good = i->op != MX_SREG_PRED && mx__sregs[mx_w_operand(i->w, 1)].varies >= MX_PER_BLOCK;
      else if (i->o->cls == MX_MEM) good = add_access(l, p, p->block[k], i);
      else good = i->o->cls == MX_LANE && has_form(scratch, l->j.isa->one, i);
    }
  gcc_jit_context_release(scratch);
  return good && p->naccesses;
}

/* Whether no address depends on what an earlier round loaded. Fills in `through`: by access, whether its address
 * depends on any load, of its own round or an earlier one. */
static bool finds_its_way(const struct ja *a, struct lw_scalar_loop *p, bool *through) {
  uint64_t *sets = lw_need(8 * 3 * (size_t)a->words), *carried = sets, *now = sets + a->words, *old = now + a->words;
  uint32_t s[JA_MAX_TOUCH];
  bool good = true;
  for (bool again = true; again && good;) {
    unsigned access = 0;
    p->nguesses = 0;
    memcpy(now, carried, 8 * a->words), memcpy(old, carried, 8 * a->words);
    for (uint32_t k = 0; k < p->nblocks; k++)
      for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end; m++) {
        const struct ja_ins *i = &a->ins[m];
        const bool guarded = mx_w_guard(*i->w) != MX_GUARD_NONE;
        bool from_now = false, from_old = false;
        for (uint32_t n = ja_uses(a, i, s); n--;) from_now |= ja_has(now, s[n]), from_old |= ja_has(old, s[n]);
        if (i->op == MX_BRA) p->nguesses += from_now;
        if (i->o->cls == MX_MEM) {
          const struct access *ac = &p->access[access];
          if (ac->store) { /* what it stores does not become part of an address */
            const unsigned f = mx_w_operand(i->w, ac->at);
            from_now = f < MX_LIT && ja_has(now, ja_slot(a, mx__types[i->o->opnd[ac->at].type].slot_class, f));
          } else if (!ac->local) good &= !from_old;
          through[access++] = from_now, from_now |= !ac->local;
        }
        for (uint32_t n = ja_defs(a, i, s); n--;) {
          const bool stays = guarded || !comes_always(a, p, p->block[k]);
          if (from_now) ja_add(now, s[n]);
          else if (!stays) ja_del(now, s[n]);
          if (from_old) ja_add(old, s[n]);
          else if (!stays) ja_del(old, s[n]);
        }
      }
    again = false;
    for (uint32_t w = 0; w < a->words; w++) {
      const uint64_t at_head = now[w] & a->blocks[p->head].live_in[w];
      again |= (at_head & ~carried[w]) != 0;
      carried[w] |= at_head;
    }
  }
  free(sets);
  return good;
}

static unsigned gathered(const struct lw *l, const struct access *ld) {
  const struct lw_base *base = &l->based[ld->ins - l->a->ins];
  if (base->steady && (base->pre_scale != 1 || base->slot >= l->a->f->npred + l->a->f->n32)) return BY_BODY;
  const unsigned cost = GATHERED * l->a->lanes * (ld->bytes > 4 ? ld->bytes / 4 : 1);
  return cost < BY_BODY ? cost : BY_BODY;
}
/* What an access costs the warp if nothing is known at compile time. *steady: its slot will have a shape, which tells
 * at run time whether it is a row or a gather. */
static unsigned access_cost(const struct lw *l, const struct access *ld, bool through, bool *steady) {
  const struct ja *a = l->a;
  const uint32_t k = (uint32_t)(ld->ins - a->ins);
  const struct mx_row_access ac = mx__row_access[ld->ins->op];
  const struct lw_base *base = &l->based[k];
  const unsigned lanes = a->lanes;
  *steady = base->steady && !l->run_member[k] && !ld->local;
  if (ld->local) return gathered(l, ld);
  if (lw_uniform_at(a, ld->block, k, ld->at)) return WARP_OP;
  if (ja_is_row(a, k)) return IN_ROWS * lanes;
  if (ja_is_flat(a, k)) return WARP_OP * ja_rows(a);
  if (jx_bitsof(ac.type) < 32) return BY_BODY;
  if (ac.elements > 1) return gathered(l, ld);
  if (l->run_member[k] && l->runs[ld->block].row[l->run_member[k] - 1].kind == LW_SCATTERED) return gathered(l, ld);
  if (*steady || l->run_member[k]) return IN_ROWS * lanes;
  if (through) return base->indexed ? gathered(l, ld) : BY_BODY;
  return UNKNOWN * lanes;
}
/* Whether the scalar form is cheaper with half of the lanes active, assuming that all lanes which may diverge do. */
static bool is_worth_it(struct lw *l, struct lw_scalar_loop *p, const bool *through) {
  const struct ja *a = l->a;
  unsigned most = 0;
  bool any = !p->chain, steady;
  p->cost = ROUND, p->lane_cost = LANE_ITERATION + p->nguesses * LANE_GUESS;
  for (uint32_t k = 0; k < p->nblocks; k++) {
    const bool always = comes_always(a, p, p->block[k]);
    p->cost += always ? 0 : WARP_BLOCK * l->nc;
    for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end; m++)
      if (a->ins[m].o->cls != MX_MEM) p->cost += (always ? WARP_OP : WARP_PART) * l->nc, p->lane_cost += LANE_OP;
  }
  for (unsigned k = 0; k < p->naccesses; k++) {
    const struct access *ac = &p->access[k];
    const unsigned cost = access_cost(l, ac, through[k], &steady);
    const struct lw_base *base = &l->based[ac->ins - a->ins];
    /* lanes that fill a tile together access rows, which only a vector form can make use of */
    const bool row = p->chain && l->looks_like_row[ac->ins - a->ins];
    any |= through[k] || cost == BY_BODY || (ac->store && !row);
    p->cost += cost;
    p->lane_cost += ac->local                       ? LANE_LOAD
                    : ac->store                     ? LANE_STORE
                    : base->steady || base->indexed ? LANE_LOAD
                                                    : LANE_ANYWHERE;
    if (steady && !row) most += gathered(l, ac);
  }
  return any && 2 * (p->cost + most) > p->lane_cost * a->lanes;
}

/* ---- floats -----------------------------------------------------------------------------------------------------*/
/* A slot may hold an integer here and a float there. Each value gets a register of the kind that its readers want, so
 * that none moves between the two kinds in each round. What is known backwards from a place: which slots are read as
 * floats next, and which as integers. */
struct wanted {
  uint64_t *floats, *integers;
};
static uint32_t operand_slot(const struct ja *a, const struct ja_ins *i, unsigned k) {
  const unsigned t = i->o->opnd[k].type, f = mx_w_operand(i->w, k);
  if (t >= MX_T_raw || f >= MX_LIT || i->o->flags & MX_F_BRANCH) return JA_NONE;
  const unsigned cls = mx__types[t].slot_class;
  return cls == MX_R32 || cls == MX_R64 ? ja_slot(a, cls, f) : JA_NONE;
}
static bool moves_bits(const struct ja_ins *i) {
  return i->o->flags & MX_F_MOVI || (i->form == MX_FORM_COPY && ja_result_bits(i) >= 32);
}
/* Whether result k becomes a float: what computes one makes it in such a register; what only moves bits goes by the
 * readers, and so does what computes an integer. */
static bool makes_a_float(const struct ja_ins *i, unsigned k, uint32_t slot, const struct wanted *w) {
  const bool asked = ja_has(w->floats, slot), otherwise = ja_has(w->integers, slot);
  const unsigned t = i->o->opnd[k].type, loaded = mx__row_access[i->op].type;
  if (i->o->cls == MX_MEM && jx_bitsof(loaded) != (jx_wide(t) ? 64u : 32u)) return false;
  return jx_float(t) ? asked || !otherwise : asked && !otherwise;
}
/* One step backwards. */
static void want_step(const struct ja *a, const struct ja_ins *i, struct wanted *w, uint8_t *results) {
  const bool guarded = mx_w_guard(*i->w) != MX_GUARD_NONE, memory = i->o->cls == MX_MEM, moves = moves_bits(i);
  const unsigned noutputs = memory && mx__row_access[i->op].kind == MX_ACCESS_STORE ? 0 : i->o->nopnds;
  bool copy_float = false, copy_integer = false;
  *results = 0;
  for (unsigned k = 0; k < noutputs && i->o->opnd[k].role == MX_OUT; k++) {
    const uint32_t s = operand_slot(a, i, k);
    if (s == JA_NONE) continue;
    copy_float = ja_has(w->floats, s), copy_integer = ja_has(w->integers, s);
    *results |= (uint8_t)(makes_a_float(i, k, s, w) << k);
    if (!guarded) ja_del(w->floats, s), ja_del(w->integers, s);
    else if (!memory && !moves) ja_add(jx_float(i->o->opnd[k].type) ? w->floats : w->integers, s);
  }
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    const uint32_t s = i->o->opnd[k].role == MX_OUT ? JA_NONE : operand_slot(a, i, k);
    if (s == JA_NONE) continue;
    const bool stored = memory && k >= 2 && jx_bitsof(mx__row_access[i->op].type) >= 32,
               is_float = jx_float(i->o->opnd[k].type);
    if (moves ? copy_float : !stored && is_float) ja_add(w->floats, s);
    if (moves ? copy_integer : !stored && !is_float) ja_add(w->integers, s);
  }
}
void sl_float_step(const struct ja *a, const struct lw_scalar_loop *p, const struct ja_ins *i, uint64_t *floats) {
  for (unsigned k = 0; k < i->o->nopnds && i->o->opnd[k].role == MX_OUT; k++) {
    const uint32_t s = operand_slot(a, i, k);
    if (s == JA_NONE || mx_w_guard(*i->w) != MX_GUARD_NONE) continue;
    if (p->float_results[i - a->ins] >> k & 1) ja_add(floats, s);
    else ja_del(floats, s);
  }
}
static void find_floats(const struct ja *a, struct lw_scalar_loop *p) {
  uint64_t *sets = lw_need(8 * (3u * p->nblocks + 4u) * (size_t)a->words);
  struct wanted in[MOST_BLOCKS], now = {sets, sets + a->words};
  uint64_t *out = sets + 2 * a->words;
  p->floats_out = sets + 3 * a->words;
  p->float_results = lw_need(a->nins);
  for (uint32_t n = 0; n < p->nblocks; n++) {
    p->floats_in[n] = sets + (4u + 3 * n) * a->words;
    in[n] = (struct wanted){p->floats_in[n] + a->words, p->floats_in[n] + 2 * a->words};
  }
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = p->nblocks; n--;) {
      const struct ja_block *b = &a->blocks[p->block[n]];
      memset(sets, 0, 8 * 2 * a->words);
      for (uint32_t k = 0; k < b->nsucc; k++) {
        const uint32_t to = sl_number_of(p, b->succ[k]);
        for (uint32_t w = 0; to < p->nblocks && w < a->words; w++)
          now.floats[w] |= in[to].floats[w], now.integers[w] |= in[to].integers[w];
      }
      for (uint32_t k = b->end; k-- > b->first;) want_step(a, &a->ins[k], &now, &p->float_results[k]);
      for (uint32_t w = 0; w < a->words; w++) {
        again |= now.floats[w] != in[n].floats[w] || now.integers[w] != in[n].integers[w];
        in[n].floats[w] = now.floats[w], in[n].integers[w] = now.integers[w];
      }
    }
  }
  /* a value that comes from several blocks is a float if it is one in all of them */
  for (uint32_t n = 0; n < p->nblocks; n++)
    for (uint32_t w = 0; w < a->words; w++) p->floats_in[n][w] = in[n].floats[w] | ~in[n].integers[w];
  memset(p->floats_out, 0xFF, 8 * a->words);
  for (uint32_t n = 0; n < p->nblocks; n++)
    for (uint32_t s = 0; s < a->f->npred; s++) ja_del(p->floats_in[n], s), ja_del(p->floats_out, s);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t n = 0; n < p->nblocks; n++) {
      const struct ja_block *b = &a->blocks[p->block[n]];
      memcpy(out, p->floats_in[n], 8 * a->words);
      for (uint32_t k = b->first; k < b->end; k++) sl_float_step(a, p, &a->ins[k], out);
      for (uint32_t k = 0; k < b->nsucc; k++) {
        const uint32_t to = sl_number_of(p, b->succ[k]);
        uint64_t *const there = to < p->nblocks ? p->floats_in[to] : p->floats_out;
        for (uint32_t w = 0; w < a->words; w++) again |= (there[w] & ~out[w]) != 0, there[w] &= out[w];
      }
    }
  }
}

/* ---- NaNs -------------------------------------------------------------------------------------------------------*/
/* Which slots' NaNs need not be canonical where a block begins, whatever it expects: on each way through the rest of
 * the round they are written anew, and before that are only read by what makes its own NaNs. So a sum that goes from
 * round to round waits for nothing but its additions. */
static void find_unclean(const struct ja *a, struct lw_scalar_loop *p) {
  uint64_t *sets = lw_need(8 * (size_t)p->nblocks * a->words);
  uint32_t s[JA_MAX_TOUCH];
  for (uint32_t n = p->nblocks; n--;) {
    const struct ja_block *b = &a->blocks[p->block[n]];
    uint64_t *now = p->unclean[n] = sets + (size_t)n * a->words;
    memset(now, 0xFF, 8 * a->words);
    for (uint32_t k = 0; k < b->nsucc; k++) {
      const uint32_t to = sl_number_of(p, b->succ[k]);
      for (uint32_t w = 0; w < a->words; w++) now[w] &= to && to < p->nblocks ? p->unclean[to][w] : 0;
    }
    for (uint32_t m = b->end; m-- > b->first;) {
      const struct ja_ins *i = &a->ins[m];
      const bool guarded = mx_w_guard(*i->w) != MX_GUARD_NONE;
      for (uint32_t k = ja_defs(a, i, s); k--;) (guarded ? ja_del : ja_add)(now, s[k]);
      for (unsigned k = 0; k < i->o->nopnds; k++) {
        const uint32_t slot = i->o->opnd[k].role == MX_OUT ? JA_NONE : operand_slot(a, i, k);
        if (slot != JA_NONE && (i->form == MX_FORM_COPY || !ja_any_nan(a, i, k, NULL))) ja_del(now, slot);
      }
    }
  }
}

/* ---- slots ------------------------------------------------------------------------------------------------------*/
static void find_slots(const struct ja *a, struct lw_scalar_loop *p) {
  const struct ja_block *h = &a->blocks[p->head];
  uint64_t *sets = lw_need(8 * 4 * (size_t)a->words), *written = sets;
  uint32_t s[JA_MAX_TOUCH];
  p->in = sets + a->words, p->out = p->in + a->words, p->moved = p->out + a->words;
  for (uint32_t k = 0; k < p->nblocks; k++)
    for (uint32_t m = a->blocks[p->block[k]].first; m < a->blocks[p->block[k]].end; m++) {
      for (uint32_t n = ja_uses(a, &a->ins[m], s); n--;) ja_add(p->in, s[n]);
      for (uint32_t n = ja_defs(a, &a->ins[m], s); n--;) ja_add(written, s[n]);
    }
  for (uint32_t w = 0; w < a->words; w++) {
    p->in[w] = (p->in[w] | written[w]) & h->live_in[w];
    for (unsigned e = 0; e < p->nexits; e++) p->out[w] |= written[w] & a->blocks[p->exit[e]].live_in[w];
    p->out[w] |= written[w] & h->live_in[w];
    p->moved[w] = written[w] & h->live_in[w] & h->uni_in[w];
  }
}
/* Whether the loop uses slots that this form does not support. */
static bool has_odd_slots(const struct lw *l, const struct lw_scalar_loop *p) {
  const struct ja_block *head = &l->a->blocks[p->head];
  for (uint32_t s = 0; s < l->a->nslots; s++) {
    if (!ja_has(p->out, s)) continue;
    if (ja_has(head->live_in, s) && head->ramp_in[s]) return true;
    for (unsigned e = 0; e < p->nexits; e++) {
      const struct ja_block *end = &l->a->blocks[p->exit[e]];
      if (ja_has(end->live_in, s) &&
          (ja_has(end->uni_in, s) || ja_has(p->moved, s) || end->ramp_in[s] || lw_shape_asked(l, s, p->exit[e])))
        return true;
    }
  }
  return false;
}

void lw_scalar_loops_find(struct lw *l) {
  const struct ja *a = l->a;
  for (uint32_t g = 0; g < a->nloops && !l->counters && !a->checked;
       g++) { /* it would not be known which lanes ran together */
    struct lw_scalar_loop *p = lw_need(sizeof *p);
    bool through[MOST_ACCESSES];
    if (l->head[a->loops[g].head] && find_round(a, &a->loops[g], p) && has_instructions(l, p) &&
        finds_its_way(a, p, through) && is_worth_it(l, p, through)) {
      find_slots(a, p);
      find_floats(a, p);
      find_unclean(a, p);
      if (!has_odd_slots(l, p)) {
        l->scalar_loops[p->head] = p, p->start = lw_new_block(l, "lanes");
        p->since = jx_local(&l->j, l->j.t_u64), p->slice = jx_local(&l->j, l->j.t_u64);
        p->ask_at = jx_local(&l->j, l->j.t_int);
        l->j.b = l->prologue; /* in the prologue, since code may be entered in the middle of the loop */
        jx_set(&l->j, p->since, lw_u64(l, 0)), jx_set(&l->j, p->ask_at, jx_int(&l->j, l->j.t_int, (uint64_t)INT_MIN));
      }
    }
    if (l->scalar_loops[a->loops[g].head] != p) free(p);
  }
}
gcc_jit_block *lw_start(const struct lw *l, uint32_t block) {
  return l->scalar_loops[block] ? l->scalar_loops[block]->start : l->head[block];
}

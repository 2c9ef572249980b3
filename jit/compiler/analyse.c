/* analyse.h says what this does. */
#include "analyse.h"

#include "divergence.h"
#include "graph.h"
#include "inline.h"
#include "meaning.h"
#include "breakpoints.h"

#include "vm/load/order.h"
#include "vm/load/prepare.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory: freed whole --------------------------------------------------------------------------------*/
struct chunk {
  struct chunk *next;
};
void *ja_get(struct ja *a, size_t n) {
  struct chunk *c = calloc(1, sizeof *c + 8 + n);
  if (!c) abort(); /* this process may abort: libmx then goes on without compiled code */
  c->next = a->memory;
  a->memory = c;
  return (char *)(c + 1) + 8;
}
static uint64_t *set_new(struct ja *a, uint32_t words) { return ja_get(a, 8 * (size_t)(words ? words : 1)); }
void ja_free(struct ja *a) {
  if (!a) return;
  for (uint32_t b = 0; b < a->nblocks; b++) free(a->blocks[b].then);
  for (struct chunk *c = a->memory, *n; c; c = n) n = c->next, free(c);
  ji_free(a);
  free(a);
}

/* ---- what instructions touch ----------------------------------------------------------------------------*/
static uint32_t add_field(const struct ja *a, unsigned field, unsigned cls, uint32_t *slots, uint32_t n) {
  if (field >= MX_LIT || cls == MX_NOCLASS || n + 2 > JA_MAX_TOUCH) return n;
  slots[n++] = ja_slot(a, cls == MX_R128 ? MX_R64 : cls, field);
  if (cls == MX_R128) slots[n++] = ja_slot(a, MX_R64, field + 1);
  return n;
}
static uint32_t touch(const struct ja *a, const struct ja_ins *i, bool out, uint32_t *slots) {
  uint32_t n = 0;
  const mx_word w = *i->w;
  if (i->kind == JA_CALLS) { /* moves pass arguments and results; the frame begins with zeros */
    for (uint32_t s = 0; out && i->zero && s < a->nslots; s++)
      if (ja_has(i->zero, s)) slots[n++] = s;
    return n;
  }
  if (i->kind == JA_RETURNS) return 0;
  if (!out && mx_w_guard(w) != MX_GUARD_NONE) slots[n++] = ja_slot(a, MX_PRED, mx_w_guard(w));
  if (i->o->flags & MX_F_BRANCH) return n;
  if (i->op == MX_RET) { /* the machine takes results from their slots */
    for (uint32_t k = 0; !out && k < a->f->nresults; k++)
      n = add_field(a, a->f->results[k].slot, a->f->results[k].cls, slots, n);
    return n;
  }
  if (i->o->flags & MX_F_MOVI)
    return out ? add_field(a, mx_w_field(w, 0), mx__types[i->o->opnd[0].type].slot_class, slots, n) : n;
  if (i->o->flags & MX_F_CALL) {
    const struct mx_func *callee = i->op == MX_CALL ? &a->image->funcs[mx_w_callee(w)] : NULL;
    const struct mx_proto *proto = callee ? NULL : &a->f->protos[mx_w_callee(w)];
    for (unsigned k = 0; k < mx_w_nres(w) + mx_w_narg(w); k++) {
      const bool result = k < mx_w_nres(w);
      const unsigned j = result ? k : k - mx_w_nres(w);
      if (result != out) continue;
      const unsigned cls =
          callee ? (result ? callee->results[j].cls : callee->args[j].cls) : (result ? proto->res[j] : proto->arg[j]);
      n = add_field(a, mx_w_ext_field(i->w[1 + k / MX_EXT_FIELDS], k % MX_EXT_FIELDS), cls, slots, n);
    }
    return n;
  }
  for (unsigned k = 0; k < i->o->nopnds; k++)
    if ((i->o->opnd[k].role == MX_OUT) == out && i->o->opnd[k].type < MX_T_raw)
      n = add_field(a, mx_w_operand(i->w, k), mx__types[i->o->opnd[k].type].slot_class, slots, n);
  return n;
}
uint32_t ja_uses(const struct ja *a, const struct ja_ins *i, uint32_t *slots) { return touch(a, i, false, slots); }
uint32_t ja_defs(const struct ja *a, const struct ja_ins *i, uint32_t *slots) { return touch(a, i, true, slots); }

void ja_live_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *live) {
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
  if (mx_w_guard(*i->w) == MX_GUARD_NONE)
    for (uint32_t k = 0; k < n; k++)
      if (!preserved || !ja_has(preserved, s[k])) ja_del(live, s[k]);
  n = ja_uses(a, i, s);
  for (uint32_t k = 0; k < n; k++) ja_add(live, s[k]);
  for (uint32_t w = 0; i->keep && w < a->words; w++) live[w] |= i->keep[w];
}

bool ja_uniform_inputs(const struct ja *a, const struct ja_ins *i, const uint64_t *uni) {
  uint32_t s[JA_MAX_TOUCH], n = ja_uses(a, i, s);
  for (uint32_t k = 0; k < n; k++)
    if (!ja_has(uni, s[k])) return false;
  return true;
}
/* Whether the results are uniform if the inputs are. */
static bool keeps_uniform(const struct ja *a, const struct ja_ins *i) {
  if (i->o->flags & MX_F_MOVI || i->kind == JA_CALLS) return true;
  if (ja_local(a, i)) return true;
  if (i->op == MX_SREG_32 && mx_w_operand(i->w, 1) == MX_SR_WARPID) return true;
  if (mx__effect(i->op) == MX_DOES_SREG) {
    const unsigned sreg = mx_w_operand(i->w, 1);
    return mx__sregs[sreg].varies >= MX_PER_BLOCK ||
           (a->row_lanes && a->unit->rows == 1 && (sreg == MX_SR_TID_Y || sreg == MX_SR_TID_Z));
  }
  if (i->o->cls == MX_LANE) return jx_meanings[i->op] != NULL;
  /* A load from one address gives one value; but local memory is another one for each lane. */
  if (i->o->cls == MX_MEM && mx__row_access[i->op].kind == MX_ACCESS_LOAD) {
    const unsigned space = mx_w_mod(*i->w) >> 2;
    return space != MX_GENERIC && space != MX_LOCAL;
  }
  return ja_waits_at_mbarrier(i); /* lanes that wait in vain all do */
}
/* Whether half h of a .b128 that is packed, unpacked or copied comes from a uniform one. */
static bool half_uniform(const struct ja *a, const struct ja_ins *i, unsigned h, const uint64_t *uni) {
  const bool joins = i->op == MX_PACK_128;
  const unsigned from = mx_w_operand(i->w, joins ? 1 + h : i->op == MX_UNPACK_128 ? 2 : 1);
  return from >= MX_LIT || ja_has(uni, ja_slot(a, MX_R64, joins ? from : from + h));
}
void ja_uniform_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *uni) {
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
  const bool halves = ja_moves_halves(i),
             half[2] = {halves && half_uniform(a, i, 0, uni), halves && half_uniform(a, i, 1, uni)};
  const bool same = keeps_uniform(a, i) && ja_uniform_inputs(a, i, uni);
  const unsigned guard = mx_w_guard(*i->w);
  const bool guarded = guard != MX_GUARD_NONE,
             by_some = guarded && !ja_has(uni, ja_slot(a, MX_PRED, guard)); /* only some lanes get the result */
  for (uint32_t k = 0; k < n; k++) {
    const bool blend = preserved && ja_has(preserved, s[k]);
    if ((halves ? half[k & 1] : same) && !blend && !by_some && (!guarded || ja_has(uni, s[k]))) ja_add(uni, s[k]);
    else ja_del(uni, s[k]);
  }
}

/* ---- where slots are written ----------------------------------------------------------------------------*/
/* By slot, since each access asks for the last write of one, in blocks of thousands of instructions. */
static void list_writes(struct ja *a) {
  uint32_t s[JA_MAX_TOUCH];
  a->first_write = ja_get(a, sizeof *a->first_write * (a->nslots + 2u));
  uint32_t *next = a->first_write + 1; /* by slot: where the next write goes */
  for (uint32_t k = 0; k < a->nins; k++)
    for (uint32_t n = ja_defs(a, &a->ins[k], s); n--;) next[s[n] + 1]++;
  for (uint32_t slot = 1; slot <= a->nslots; slot++) next[slot] += next[slot - 1];
  a->writes = ja_get(a, sizeof *a->writes * (next[a->nslots] + 1u));
  uint64_t *uni = set_new(a, a->words);
  for (uint32_t b = 0; b < a->nblocks; b++) {
    const struct ja_block *bl = &a->blocks[b];
    memcpy(uni, bl->uni_in, 8 * a->words);
    for (uint32_t k = bl->first; k < bl->end; k++) {
      ja_uniform_step(a, &a->ins[k], bl->preserved, uni);
      for (uint32_t n = ja_defs(a, &a->ins[k], s), m = 0; m < n; m++)
        a->writes[next[s[m]]++] = (struct ja_write){k, ja_has(uni, s[m])};
    }
  }
}
const struct ja_write *ja_last_write(const struct ja *a, uint32_t from, uint32_t before, uint32_t slot) {
  const struct ja_write *low = a->writes + a->first_write[slot], *const begin = low;
  for (const struct ja_write *high = a->writes + a->first_write[slot + 1]; low < high;) {
    const struct ja_write *middle = low + (high - low) / 2;
    if (middle->ins < before) low = middle + 1;
    else high = middle;
  }
  return low > begin && low[-1].ins >= from ? low - 1 : NULL;
}

/* ---- NaNs -----------------------------------------------------------------------------------------------*/
static bool makes_float(const struct ja_ins *i) {
  return i->o->flags & MX_F_CANON && i->o->opnd[0].type == MX_T_f32 && jx_meanings[i->op] && i->o->nopnds > 1 &&
         i->o->opnd[1].role == MX_IN;
}
static bool is_nan(uint32_t v) { return (v & 0x7FFFFFFF) > 0x7F800000; }
/* The slot that the instruction copies; JA_NONE: a constant, and *harmless whether it is no NaN. */
static uint32_t copied(const struct ja *a, const struct ja_ins *i, bool *harmless) {
  *harmless = false;
  if (ja_result_bits(i) != 32) return JA_NONE;
  if (i->o->flags & MX_F_MOVI) *harmless = !is_nan(mx_w_movi(*i->w));
  if (i->form != MX_FORM_COPY) return JA_NONE;
  const unsigned f = mx_w_operand(i->w, 1);
  if (f < MX_LIT) return ja_slot(a, MX_R32, f);
  const struct mx_lit *lit = &a->f->lits[f - MX_LIT];
  *harmless = lit->kind == MX_LIT_VALUE && !is_nan((uint32_t)lit->value);
  return JA_NONE;
}
uint32_t ja_number_slot(const struct ja *a, const struct ja_ins *i, unsigned k) {
  const unsigned type = i->o->opnd[k].type, cls = type < MX_T_raw ? mx__types[type].slot_class : MX_PRED;
  if (cls != MX_R32 && cls != MX_R64) return JA_NONE;
  const unsigned f = i->o->flags & MX_F_MOVI ? mx_w_field(*i->w, 0) : mx_w_operand(i->w, k);
  return f < MX_LIT ? ja_slot(a, cls, f) : JA_NONE;
}
void ja_float_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *flt,
                   uint64_t *raw) {
  uint32_t s[JA_MAX_TOUCH], n = ja_defs(a, i, s);
  bool harmless;
  const uint32_t from = copied(a, i, &harmless);
  const bool made = makes_float(i), guarded = mx_w_guard(*i->w) != MX_GUARD_NONE;
  const bool f = made || harmless || (from != JA_NONE && ja_has(flt, from)),
             r = made || (from != JA_NONE && ja_has(raw, from));
  for (uint32_t k = 0; k < n; k++) {
    const bool mixed = guarded || (preserved && ja_has(preserved, s[k]));
    const bool now_f = f && (!mixed || ja_has(flt, s[k])), now_r = now_f && (r || (mixed && ja_has(raw, s[k])));
    if (now_f) ja_add(flt, s[k]);
    else ja_del(flt, s[k]);
    if (now_r) ja_add(raw, s[k]);
    else ja_del(raw, s[k]);
  }
}
bool ja_any_nan(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *raw_after) {
  if (i->form == MX_FORM_COPY && ja_result_bits(i) == 32)
    return ja_has(raw_after, ja_slot(a, MX_R32, mx_w_operand(i->w, 0)));
  if (i->o->opnd[k].type != MX_T_f32) return false;
  if (strstr(i->o->spelling, ".xorsign")) { /* the other operand gets the NaN's sign */
    char name[64];
    mx__spell(i->o, mx_w_mod(*i->w), name, sizeof name);
    if (strstr(name, ".xorsign")) return false;
  }
  /* Other rows with canonical NaN results only distinguish NaNs from numbers; so do comparisons. */
  return makes_float(i) || (i->o->opnd[0].type == MX_T_pred && mx__is_spelled(i->op, "setp"));
}

/* ---- branches through tables ---------------------------------------------------------------------------------*/
/* Code for lanes that go to several targets has a comparison for each run of indices, and grows with the square of the
 * number of targets: of one table, and of all tables of a function. */
enum { MOST_TARGETS = 24, MOST_RUNS = 64, MOST_RUNS_OF_ALL = 128 };
static bool jumps_apart(const struct mx_table *t, uint32_t *runs_of_all) {
  uint32_t targets = 0, runs = 0;
  for (uint32_t k = 0; k < t->ntargets && runs <= MOST_RUNS; k++) {
    if (k && t->targets[k] == t->targets[k - 1]) continue;
    runs++, targets += ja_leads_first(t, k);
  }
  if (targets > MOST_TARGETS || runs > MOST_RUNS || *runs_of_all + runs > MOST_RUNS_OF_ALL) return false;
  *runs_of_all += runs;
  return true;
}

/* ---- blocks -----------------------------------------------------------------------------------------------*/
static void find_blocks(struct ja *a) {
  const struct mx_func *f = a->f;
  bool *lead = ja_get(a, f->ncode + 1), *back = ja_get(a, f->ncode + 1);
  a->ins = ja_get(a, sizeof *a->ins * (f->ncode + 1));
  uint8_t *listed = a->checked ? ja_check_list(a) : NULL;
  uint32_t runs = 0; /* of tables */
  lead[0] = true;
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    const mx_word w = f->code[pc];
    struct ja_ins *i = &a->ins[a->nins++];
    const struct ja_origin *from = &a->origin[pc];
    *i = (struct ja_ins){.pc = pc,
                         .op = (uint16_t)mx_w_op(w),
                         .w = &f->code[pc],
                         .o = &mx__ops[mx_w_op(w)],
                         .form = (uint8_t)mx__form(mx_w_op(w), mx_w_mod(w)),
                         .frame = from->frame,
                         .into = from->into,
                         .kind = from->kind,
                         .counts = from->counts,
                         .bounds = from->bounds};
    if (listed) i->by_checker = listed[pc] != JA_UNCHECKED, i->left = listed[pc] == JA_LEFT;
    lead[pc] |= from->lead;
    const uint32_t next = pc + mx_w_length(w);
    if (i->o->flags & MX_F_BRANCH) {
      lead[mx_w_target(w)] = lead[next] = true;
      if (mx_w_target(w) <= pc) back[mx_w_target(w)] = true;
    }
    if (i->op == MX_BRX) {
      const struct mx_table *t = &f->tables[mx_w_operand(i->w, 1)];
      i->jumps = ja_jumps(a, t);
      i->jumps_apart = i->jumps && jumps_apart(t, &runs);
      for (uint32_t k = 0; k < t->ntargets; k++) {
        lead[t->targets[k]] = true;
        if (t->targets[k] <= pc) back[t->targets[k]] = true;
      }
    }
    const uint32_t rc = mx__reconvergence(f, pc);
    if (rc < f->ncode) lead[rc] = true;
    if (ja_always_leaves(i) || i->jumps) lead[next] = true;
  }
  free(listed);
  for (uint32_t pc = 0; pc < f->ncode; pc++) a->nblocks += lead[pc];
  a->bwords = (a->nblocks + 1 + 63) / 64; /* one bit more, for the function's return */
  a->blocks = ja_get(a, sizeof *a->blocks * (a->nblocks + 1));
  a->block_of_pc = ja_get(a, sizeof *a->block_of_pc * (f->ncode + 1));
  memset(a->block_of_pc, 0xFF, sizeof *a->block_of_pc * (f->ncode + 1));
  uint32_t b = 0;
  for (uint32_t k = 0; k < a->nins; k++) {
    struct ja_ins *i = &a->ins[k];
    if (lead[i->pc]) {
      if (b) a->blocks[b - 1].end = k;
      a->block_of_pc[i->pc] = b;
      a->blocks[b++] = (struct ja_block){.pc = i->pc, .first = k, .back_target = back[i->pc]};
    }
    i->block = b - 1;
    struct ja_block *bl = &a->blocks[b - 1];
    i->steps = bl->steps, i->ticks = bl->ticks;
    if (i->counts) bl->steps++, bl->ticks += mx_ticks(i->o->cls);
  }
  if (b) a->blocks[b - 1].end = a->nins;
  for (uint32_t k = 0; k < a->nblocks; k++) {
    struct ja_block *bl = &a->blocks[k];
    const struct ja_ins *last = &a->ins[bl->end - 1];
    bl->leaves = ja_always_leaves(last);
    const bool guarded = mx_w_guard(*last->w) != MX_GUARD_NONE;
    if (last->op == MX_BRA) {
      if (guarded && k + 1 < a->nblocks) bl->succ[bl->nsucc++] = k + 1;
      bl->succ[bl->nsucc++] = a->block_of_pc[mx_w_target(*last->w)];
    } else if (last->op == MX_BRX || ((last->o->flags & MX_F_END) && !guarded && last->kind == JA_PLAIN)) {
    } else if (k + 1 < a->nblocks) bl->succ[bl->nsucc++] = k + 1;
  }
}
/* ---- liveness ---------------------------------------------------------------------------------------------*/
/* Slots that lanes still read in their own block; then also those that lanes pending elsewhere read. */
static void liveness(struct ja *a) {
  uint64_t *live = set_new(a, a->words);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = a->nblocks; b--;) {
      struct ja_block *bl = &a->blocks[b];
      memset(live, 0, 8 * a->words);
      JA_FOR_SUCC(a, b, s, for (uint32_t w = 0; w < a->words; w++) live[w] |= a->blocks[s].flow_in[w]);
      for (uint32_t k = bl->end; k-- > bl->first;) ja_live_step(a, &a->ins[k], NULL, live);
      for (uint32_t w = 0; w < a->words; w++) {
        if (live[w] & ~bl->flow_in[w]) again = true;
        bl->flow_in[w] |= live[w];
      }
    }
  }
}
/* Whether a slot belongs to that frame. */
static bool owns(const struct ja *a, uint32_t frame, uint32_t slot) {
  const struct mx_func *f = &a->image->funcs[a->frames[frame].func];
  const uint32_t of[] = {[MX_PRED] = f->npred, [MX_R32] = f->n32, [MX_R64] = f->n64};
  const unsigned cls = ja_class(a, slot);
  return ja_number(a, slot) - a->frames[frame].first[cls] < of[cls];
}
/* Finds slots of copies that are read before they are written: they must read as 0. False: there are none. */
static bool find_zeros(struct ja *a) {
  uint64_t *live = set_new(a, a->words);
  bool any = false;
  for (uint32_t b = 0; b < a->nblocks && a->nframes > 1; b++) {
    memset(live, 0, 8 * a->words);
    JA_FOR_SUCC(a, b, s, for (uint32_t w = 0; w < a->words; w++) live[w] |= a->blocks[s].flow_in[w]);
    for (uint32_t k = a->blocks[b].end; k-- > a->blocks[b].first;) {
      struct ja_ins *i = &a->ins[k];
      for (uint32_t s = 0; i->kind == JA_CALLS && s < a->nslots; s++) {
        if (!ja_has(live, s) || !owns(a, i->into, s)) continue;
        if (!i->zero) i->zero = set_new(a, a->words);
        ja_add(i->zero, s);
        any = true;
      }
      ja_live_step(a, i, NULL, live);
    }
  }
  return any;
}
static void find_preserved(struct ja *a) {
  for (uint32_t b = 0; b < a->nblocks; b++) {
    struct ja_block *bl = &a->blocks[b];
    memset(bl->preserved, 0, 8 * a->words);
    for (uint32_t v = 0; v < a->bwords; v++)
      for (uint64_t m = bl->pending[v]; m; m &= m - 1) {
        const struct ja_block *p = &a->blocks[64 * v + (uint32_t)__builtin_ctzll(m)];
        for (uint32_t w = 0; w < a->words; w++) bl->preserved[w] |= p->flow_in[w];
      }
    for (uint32_t w = 0; w < a->words; w++) bl->live_in[w] = bl->flow_in[w] | bl->preserved[w];
  }
}

void ja_live_out(const struct ja *a, uint32_t b, uint64_t *live) {
  for (uint32_t w = 0; w < a->words; w++) live[w] |= a->blocks[b].preserved[w];
  JA_FOR_SUCC(a, b, s, for (uint32_t w = 0; w < a->words; w++) live[w] |= a->blocks[s].flow_in[w]);
}

/* ---- uniform slots -------------------------------------------------------------------------------------------*/
/* The branch at block b's end, if lanes may go to different blocks there. */
static const struct ja_ins *branch_of(const struct ja *a, uint32_t b) {
  const struct ja_ins *i = &a->ins[a->blocks[b].end - 1];
  return i->jumps || (i->op == MX_BRA && mx_w_guard(*i->w) != MX_GUARD_NONE) ? i : NULL;
}
static void uniformity(struct ja *a) {
  uint64_t *uni = set_new(a, a->words);
  for (uint32_t b = 0; b < a->nblocks; b++) memset(a->blocks[b].uni_in, b ? 0xFF : 0, 8 * a->words);
  /* the machine sets the slots of blocks that tables lead to, and of those behind calls */
  for (uint32_t b = 0; b < a->nblocks; b++) {
    const struct ja_ins *last = &a->ins[a->blocks[b].end - 1];
    if (last->op == MX_BRX && a->blocks[b].leaves) JA_FOR_SUCC(a, b, s, memset(a->blocks[s].uni_in, 0, 8 * a->words));
  }
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      struct ja_block *bl = &a->blocks[b];
      memcpy(uni, bl->uni_in, 8 * a->words);
      for (uint32_t k = bl->first; k < bl->end; k++) ja_uniform_step(a, &a->ins[k], bl->preserved, uni);
#define MEET(s_) \
  for (uint32_t w = 0; w < a->words; w++) { \
    const uint64_t was = a->blocks[s_].uni_in[w], now = was & uni[w]; \
    if (now != was) a->blocks[s_].uni_in[w] = now, again = true; \
  }
      for (uint32_t k = 0; k < bl->nthen; k++) MEET(bl->then[k]);
      const struct ja_ins *br = branch_of(a, b);
      if (br && !ja_uniform_inputs(a, br, uni)) bl->divergent = true;
    }
  }
}

static void floats(struct ja *a) {
  uint64_t *flt = set_new(a, a->words), *raw = set_new(a, a->words);
  for (uint32_t b = 0; b < a->nblocks; b++) {
    memset(a->blocks[b].float_in, b ? 0xFF : 0, 8 * a->words);
    memset(a->blocks[b].raw_in, 0, 8 * a->words);
  }
  for (int second = 0; second < 2; second++) /* float first: raw is computed from it */
    for (bool again = true; again;) {
      again = false;
      for (uint32_t b = 0; b < a->nblocks; b++) {
        struct ja_block *bl = &a->blocks[b];
        memcpy(flt, bl->float_in, 8 * a->words);
        memcpy(raw, bl->raw_in, 8 * a->words);
        for (uint32_t k = bl->first; k < bl->end; k++) ja_float_step(a, &a->ins[k], bl->preserved, flt, raw);
#define FLOW(s_) \
  for (uint32_t w = 0; w < a->words; w++) { \
    struct ja_block *to = &a->blocks[s_]; \
    const uint64_t f = to->float_in[w] & flt[w], r = second ? to->raw_in[w] | (raw[w] & f) : 0; \
    if (f != to->float_in[w] || r != to->raw_in[w]) again = true; \
    to->float_in[w] = f, to->raw_in[w] = r; \
  }
        if (bl->leaves && a->ins[bl->end - 1].op == MX_BRX) JA_FOR_SUCC(a, b, s, FLOW(s));
        else
          for (uint32_t k = 0; k < bl->nthen; k++) FLOW(bl->then[k]);
      }
    }
}

/* ---- entries --------------------------------------------------------------------------------------------------*/
static void enter_pending(struct ja *a, const struct ja_block *bl) {
  for (uint32_t p = 0; p < a->nblocks; p++)
    if (ja_has(bl->pending, p)) a->blocks[p].entry = true;
}
static void find_entries(struct ja *a) {
  for (uint32_t b = 0; b < a->nblocks; b++) {
    struct ja_block *bl = &a->blocks[b];
    const struct ja_ins *last = &a->ins[bl->end - 1];
    bl->entry |= b == 0 || bl->back_target || (bl->meets && bl->converged) || a->origin[bl->pc].lead;
    if (bl->leaves && !ja_goes_on(last)) {
      JA_FOR_SUCC(a, b, s, a->blocks[s].entry = true);
      enter_pending(a, bl);
    }
    if (bl->divergent && !bl->hidden) {
      JA_FOR_SUCC(a, b, s, a->blocks[s].entry = true);
      enter_pending(a, bl);
    }
    if (last->op == MX_BRX && b + 1 < a->nblocks && a->blocks[b + 1].meets) a->blocks[b + 1].entry = true;
  }
  /* inside copies nothing can be entered: the machine enters the function's own code */
  for (uint32_t b = 0; b < a->nblocks; b++) a->blocks[b].entry &= !ja_frame_of(a, b);
}

static void find_loops(struct ja *a) {
  a->loops = ja_get(a, sizeof *a->loops * (a->nblocks + 1));
  uint64_t *body = set_new(a, a->bwords);
  for (uint32_t h = 0; h < a->nblocks; h++) {
    if (!jg_loop(a, h, body)) {
      memset(body, 0, 8 * a->bwords);
      continue;
    }
    a->loops[a->nloops++] = (struct ja_loop){h, body};
    body = set_new(a, a->bwords);
  }
}

bool ja_unit_make(struct ja_unit *u, const struct mx_image *image, uint32_t kernel, const char *stops, unsigned counts,
                  uint32_t lanes) {
  *u = (struct ja_unit){.image = image,
                        /* the checker keeps shadows by frame, which inlined calls do not have */
                        .stops = stops,
                        .counts = counts,
                        .lanes = lanes,
                        .clocks = stops || mx_keeps_clocks(image),
                        .in_line = counts == MX_COUNT_CHECKED ? 0 : JI_SMALL,
                        .reachable = mx__reachable(image, kernel),
                        .wanted = calloc(image->nfuncs + 1u, sizeof *u->wanted),
                        .calls = calloc(image->nfuncs + 1u, sizeof *u->calls),
                        .first_bounds = calloc(image->nfuncs + 1u, sizeof *u->first_bounds)};
  if (!u->reachable || !u->wanted || !u->calls || !u->first_bounds) return false;
  mx__first_bounds(image, u->reachable, u->first_bounds);
  bool indirect = false;
  for (uint32_t k = 0; k < image->nfuncs; k++) {
    const struct mx_func *f = &image->funcs[k];
    for (uint32_t pc = 0; u->reachable[k] && pc < f->ncode; pc += mx_w_length(f->code[pc])) {
      if (mx_w_op(f->code[pc]) == MX_CALL) u->calls[mx_w_callee(f->code[pc])]++;
      indirect |= mx_w_op(f->code[pc]) == MX_CALLI;
      if (mx__ops[mx_w_op(f->code[pc])].cls == MX_CROSS) u->lanes = image->lanes;
    }
  }
  for (uint32_t k = 0; k < image->nfuncs; k++) u->wanted[k] = u->reachable[k] && (k == kernel || indirect);
  return true;
}

struct ja *ja_analyse(const struct ja_unit *unit, uint32_t func) {
  struct ja *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  a->unit = unit;
  a->image = unit->image;
  a->lanes = unit->lanes;
  a->number = func;
  a->stops = unit->stops;
  a->checked = unit->counts == MX_COUNT_CHECKED;
  a->counts = a->checked ? 0 : unit->counts;
  a->clocks = unit->clocks;
  a->row_lanes = a->checked || a->counts || a->stops || !unit->rows ? 0 : a->lanes / unit->rows;
  ji_build(a);
  a->nslots = a->f->npred + a->f->n32 + a->f->n64;
  a->words = a->nslots / 64 + 1;
  find_blocks(a);
  a->order = ja_get(a, sizeof *a->order * (a->nblocks + 1));
  a->by_turn = ja_get(a, sizeof *a->by_turn * (a->nblocks + 1));
  jg_find(a);
  find_loops(a);
  for (uint32_t b = 0; b < a->nblocks; b++) {
    struct ja_block *bl = &a->blocks[b];
    bl->live_in = set_new(a, a->words), bl->flow_in = set_new(a, a->words);
    bl->float_in = set_new(a, a->words), bl->raw_in = set_new(a, a->words);
    bl->uni_in = set_new(a, a->words), bl->preserved = set_new(a, a->words);
    bl->pending = set_new(a, a->bwords), bl->open = set_new(a, a->bwords);
  }
  if (!ja_order(a)) return ja_free(a), NULL;
  if (a->stops) bp_keep(a);
  ja_widths(a);
  liveness(a);
  if (find_zeros(a)) {
    for (uint32_t b = 0; b < a->nblocks; b++) memset(a->blocks[b].flow_in, 0, 8 * a->words);
    liveness(a);
  }
  /* Hiding a branch makes slots differ between lanes, which may make more branches divergent: repeated until nothing
   * changes. */
  for (uint32_t before = JA_NONE, now = 0; before != now;) {
    before = now;
    ja_plan_divergence(a);
    find_preserved(a);
    uniformity(a);
    now = 1;
    for (uint32_t b = 0; b < a->nblocks; b++) now += a->blocks[b].divergent;
  }
  floats(a);
  list_writes(a);
  find_entries(a);
  ja_find_known(a);
  ja_find_local_pointers(a);
  ja_find_ramps(a);
  return a;
}

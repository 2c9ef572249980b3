/* Shapes of addresses that a loop does not change, or changes by the same step for all lanes. A shape is the least and
 * the greatest address, their low bits, and whether the lanes of each chunk have one address or addresses at equal
 * distances. The address of an access is analysed, within its block, as such a slot, constant factors, and addends that
 * are the same for all lanes. The shape of a slot is computed wherever the slot is written, for the lanes that are
 * active there. An access may use it if these lanes include all lanes that are active at the access: if control cannot
 * come to the access, without another write, from a place at which other lanes may stand at the time of the write. */
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"
#include "vm/exec/launch.h"

#include <stdlib.h>
#include <string.h>

bool lw_last_write(const struct ja *a, uint32_t *k, uint32_t slot) {
  const struct ja_write *last = ja_last_write(a, a->blocks[a->ins[*k].block].first, *k, slot);
  if (last) *k = last->ins;
  return last;
}
bool lw_written_between(const struct ja *a, const struct ja_ins *from, const struct ja_ins *to, uint32_t slot) {
  return ja_last_write(a, (uint32_t)(from - a->ins), (uint32_t)(to - a->ins), slot);
}
/* Whether block b may be the next one to run after block p. */
static bool precedes(const struct ja *a, uint32_t p, uint32_t b) {
  for (uint32_t k = 0; k < a->blocks[p].nthen; k++)
    if (a->blocks[p].then[k] == b) return true;
  return false;
}
bool lw_uniform_slot(const struct ja *a, uint32_t b, uint32_t k, uint32_t slot) {
  const struct ja_write *last = ja_last_write(a, a->blocks[b].first, k, slot);
  return last ? last->uniform : ja_has(a->blocks[b].uni_in, slot);
}
bool lw_uniform_at(const struct ja *a, uint32_t b, uint32_t k, unsigned o) {
  const struct ja_ins *i = &a->ins[k];
  const unsigned f = mx_w_operand(i->w, o);
  return f >= MX_LIT || lw_uniform_slot(a, b, k, ja_slot(a, mx__types[i->o->opnd[o].type].slot_class, f));
}
static uint32_t slot_of(const struct ja *a, const struct ja_ins *i, unsigned o) {
  const unsigned f = mx_w_operand(i->w, o);
  return f >= MX_LIT ? JA_NONE : ja_slot(a, mx__types[i->o->opnd[o].type].slot_class, f);
}
static bool is_sum(const struct ja_ins *i) { return i->form == MX_FORM_ADD && mx_w_guard(*i->w) == MX_GUARD_NONE; }
unsigned lw_uniform_addend(const struct ja *a, uint32_t k, uint32_t slot) {
  const struct ja_ins *i = &a->ins[k];
  for (unsigned o = 2; is_sum(i) && o; o--) {
    const uint32_t other = slot_of(a, i, 3 - o);
    if (other == JA_NONE || (slot == JA_NONE ? lw_uniform_at(a, i->block, k, 3 - o) : other != slot)) continue;
    if (lw_uniform_at(a, i->block, k, o)) return o;
  }
  return 0;
}
/* The same for an instruction that adds a uniform value to a slot in place. */
static unsigned step_operand(const struct ja *a, uint32_t k) {
  return is_sum(&a->ins[k]) ? lw_uniform_addend(a, k, slot_of(a, &a->ins[k], 0)) : 0;
}
/* Whether block b writes the slot other than by such steps. */
static bool writes_anew(const struct ja *a, uint32_t b, uint32_t slot) {
  const struct ja_write *last;
  for (uint32_t k = a->blocks[b].end; (last = ja_last_write(a, a->blocks[b].first, k, slot)); k = last->ins)
    if (!step_operand(a, last->ins)) return true;
  return false;
}
/* Whether all lanes that are active in block `use` were also active when block `def`, which writes the slot, last
 * ran. */
static bool covers(const struct ja *a, uint32_t def, uint32_t use, uint32_t slot) {
  if (a->blocks[def].converged) return true;
  uint64_t *seen = lw_need(8 * a->bwords);
  uint32_t *work = lw_need(sizeof *work * (a->nblocks + 1u)), n = 0;
  for (uint32_t p = 0; p < a->nblocks; p++)
    if (ja_has(a->blocks[def].pending, p)) ja_add(seen, p), work[n++] = p;
  while (n && !ja_has(seen, use)) {
    const uint32_t b = work[--n];
    if (!writes_anew(a, b, slot))
      JA_FOR_SUCC(
          a, b, s, if (!ja_has(seen, s)) {
            ja_add(seen, s);
            work[n++] = s;
          });
  }
  const bool good = !ja_has(seen, use);
  free(seen), free(work);
  return good;
}
static bool seen_writes_cover(const struct ja *a, uint32_t use, uint32_t slot) {
  bool *seen = calloc(a->nblocks, sizeof *seen), good = true;
  uint32_t *work = malloc(sizeof *work * (a->nblocks + 1u)), n = 0;
  if (!seen || !work) abort(); /* a process of its own */
  work[n++] = use;
  while (n && good) {
    const uint32_t b = work[--n];
    for (uint32_t p = 0; p < a->nblocks && good; p++) {
      if (seen[p] || !precedes(a, p, b)) continue;
      seen[p] = true;
      good = !ja_last_write(a, a->blocks[p].first, a->blocks[p].end, slot) || covers(a, p, use, slot);
      if (!writes_anew(a, p, slot)) work[n++] = p; /* also before it: a value that is only advanced keeps its shape */
    }
  }
  free(seen);
  free(work);
  return good;
}
static bool steady_in_a_loop(const struct ja *a, uint32_t use, uint32_t slot) {
  for (uint32_t k = 0; k < a->nloops; k++) {
    bool steady = ja_has(a->loops[k].body, use);
    for (uint32_t m = 0; m < a->nblocks && steady; m++)
      steady = !ja_has(a->loops[k].body, m) || !writes_anew(a, m, slot);
    if (steady) return true;
  }
  return false;
}

bool lw_match_addressing(const struct ja *a, uint32_t b, uint32_t k, struct lw_addressing *s) {
  const struct ja_ins *i = &a->ins[k];
  *s = (struct lw_addressing){.factor = 1};
  if (mx_w_guard(*i->w) != MX_GUARD_NONE) return false;
  if (is_sum(i)) {
    const bool first = lw_uniform_at(a, b, k, 1), second = lw_uniform_at(a, b, k, 2);
    s->from = first ? 2 : 1, s->plus = first ? 1 : 2;
    return first != second;
  }
  if (i->form == MX_FORM_SHIFT)
    return s->from = 1, ja_constant(a, i, 2, &s->factor) && s->factor < 16 && (s->factor = 1ull << s->factor);
  if (i->form == MX_FORM_EXTEND) return s->from = 1, s->sign_extends = true;
  if (!ja_multiplies_wide(i)) return false;
  const bool sum = i->form == MX_FORM_MAD;
  s->sign_extends = true;
  s->from = ja_constant(a, i, 2, &s->factor) ? 1 : 2;
  if (s->from == 2 && !ja_constant(a, i, 1, &s->factor)) return false;
  if (!s->factor || s->factor >= 1u << 16) return false;
  s->plus = sum ? 3 : 0;
  return !sum || lw_uniform_at(a, b, k, 3);
}

/* The address of instruction k in block b is slot `at` there. known: slots whose shapes are computed in any case, so
 * that no loop is needed for one of these to be worth it; NULL: there are none. */
static bool find_base(struct lw *l, uint32_t b, uint32_t k, uint32_t at, const uint64_t *known, struct lw_base *base) {
  const struct ja *a = l->a;
  const struct ja_block *bl = &a->blocks[b];
  *base = (struct lw_base){.slot = at, .pre_scale = 1, .post_scale = 1};
  const uint32_t use = k;
  for (;;) {
    uint32_t def = k;
    if (known && ja_has(known, base->slot)) break;
    if (!lw_last_write(a, &def, base->slot)) break;
    struct lw_addressing t;
    if (base->n == LW_ADDENDS || !lw_match_addressing(a, b, def, &t)) return false;
    const uint32_t from = slot_of(a, &a->ins[def], t.from);
    if (from == JA_NONE) return false;
    base->add[base->n].ins = t.plus ? def : JA_NONE;
    base->add[base->n].operand = t.plus;
    base->add[base->n].factor = base->pre_scale * base->post_scale; /* the factor of this instruction's addend */
    base->add[base->n++].wide = !base->sign_extends;
    if (base->sign_extends) base->pre_scale *= t.factor;
    else base->post_scale *= t.factor;
    if (t.sign_extends && base->sign_extends) return false;
    base->sign_extends |= t.sign_extends;
    base->slot = from;
    k = def;
  }
  if (base->pre_scale * base->post_scale > 1u << 20) return false;
  if (known) {
    /* the shape is of the slot's last value, computed where that is written, in this block, for the same lanes */
    const struct ja_write *last = ja_last_write(a, bl->first, k, base->slot);
    return base->steady = ja_has(known, base->slot) && last && !last->uniform && a->blocks[b].converged &&
                          !ja_last_write(a, k, use, base->slot);
  }
  if (ja_last_write(a, bl->first, use, base->slot)) return false; /* at the access it is still what it was */
  if (ja_has(bl->uni_in, base->slot) || ja_has(bl->raw_in, base->slot)) return false;
  return base->steady = steady_in_a_loop(a, b, base->slot) && seen_writes_cover(a, b, base->slot);
}

/* Whether the slot's last write in the block loads it from memory: such values hardly ever form a row. */
static bool loaded(const struct ja *a, uint32_t k, uint32_t slot) {
  return lw_last_write(a, &k, slot) && a->ins[k].o->cls == MX_MEM;
}
/* The address of instruction k in block b is slot `at` there: of 32 bits, or a sum with a widened slot of 32 bits. Its
 * factor is one that gathers have or, of several elements of each lane, their bytes. */
static bool find_index(struct lw *l, uint32_t b, uint32_t k, uint32_t at, const struct mx_row_access *ac,
                       struct lw_base *base) {
  const struct ja *a = l->a;
  *base = (struct lw_base){.slot = at, .pre_scale = 1, .post_scale = 1};
  const uint32_t use = k;
  if (at < a->f->npred + a->f->n32) return base->index_loaded = loaded(a, use, at), base->indexed = true;
  while (!base->sign_extends) {
    uint32_t def = k;
    struct lw_addressing t;
    if (!lw_last_write(a, &def, base->slot) || base->n == LW_ADDENDS || !lw_match_addressing(a, b, def, &t))
      return false;
    const uint32_t from = slot_of(a, &a->ins[def], t.from);
    if (from == JA_NONE) return false;
    base->add[base->n].ins = t.plus ? def : JA_NONE;
    base->add[base->n].operand = t.plus;
    base->add[base->n].factor = base->post_scale;
    base->add[base->n++].wide = true;
    base->post_scale *= t.factor;
    base->sign_extends = t.sign_extends;
    base->slot = from;
    k = def;
  }
  if (lw_uniform_at(a, b, k, slot_of(a, &a->ins[k], 1) == base->slot ? 1 : 2)) return false;
  if (ja_last_write(a, k, use, base->slot)) return false; /* at the access it is still what it was */
  base->index_loaded = loaded(a, use, base->slot);
  const uint64_t bytes = (uint64_t)jx_bitsof(ac->type) / 8 * ac->elements;
  return base->indexed = base->post_scale == 1 || base->post_scale == 2 || base->post_scale == 4 ||
                         base->post_scale == 8 || (ac->elements > 1 && base->post_scale == bytes);
}

/* Determines which slots' shapes are used later, since computing one takes a call, and slots hold many values in
 * turn. */
static bool is_addend_asked(struct lw *l, uint32_t k, uint64_t *asked) {
  const struct ja *a = l->a;
  uint32_t s[JA_MAX_TOUCH];
  const uint32_t n = ja_defs(a, &a->ins[k], s);
  bool wanted = false;
  for (uint32_t m = 0; m < n; m++) {
    wanted |= ja_has(asked, s[m]);
    if (!l->addend[k].moves) ja_del(asked, s[m]);
  }
  if (l->based[k].steady) ja_add(asked, l->based[k].slot);
  if (l->copies[k]) ja_add(asked, l->copies[k]->to.slot), ja_add(asked, l->copies[k]->from.slot);
  return wanted;
}
static void find_asked(struct lw *l) {
  const struct ja *a = l->a;
  uint64_t *asked = calloc(a->words, 8);
  if (!asked) abort();
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = a->nblocks; b--;) {
      uint64_t *in = l->asked_in + (size_t)b * a->words;
      memset(asked, 0, 8 * a->words);
      for (uint32_t next = 0; next < a->nblocks; next++)
        for (uint32_t w = 0; w < a->words && precedes(a, b, next); w++)
          asked[w] |= l->asked_in[(size_t)next * a->words + w];
      for (uint32_t k = a->blocks[b].end; k-- > a->blocks[b].first;) l->addend[k].wanted = is_addend_asked(l, k, asked);
      again |= memcmp(in, asked, 8 * a->words) != 0;
      memcpy(in, asked, 8 * a->words);
    }
  }
  free(asked);
}

/* Keeps the values of the address's addends, and the slot's shape if it has one. */
static void keep_parts(struct lw *l, const struct lw_base *base) {
  for (unsigned n = 0; n < base->n; n++)
    if (base->add[n].ins != JA_NONE && !l->addend[base->add[n].ins].value)
      l->addend[base->add[n].ins].value = jx_local(&l->j, l->j.t_u64),
      l->addend[base->add[n].ins].operand = base->add[n].operand;
  struct lw_shape *sh = &l->shapes[base->slot];
  if (!base->steady || sh->min) return;
  sh->min = jx_local(&l->j, l->j.t_u64), sh->max = jx_local(&l->j, l->j.t_u64);
  sh->low = jx_local(&l->j, l->j.t_u64), sh->kind = jx_local(&l->j, l->j.t_u64);
}
bool lw_copies_whole(unsigned op) {
  const struct mx_op_info *o = &mx__ops[op];
  /* the last operand is a cache policy; a count or a predicate could reduce what is copied */
  return mx__effect(op) == MX_DOES_ASYNC && o->nopnds > 4 && mx_is_copy_size(o->opnd[4].range) &&
         (o->nopnds == 5 || o->opnd[5].type == MX_T_b64);
}
static void find_copy(struct lw *l, uint32_t b, uint32_t k, const uint64_t *known) {
  const struct ja_ins *i = &l->a->ins[k];
  const uint32_t to = slot_of(l->a, i, 0), from = slot_of(l->a, i, 2);
  struct lw_copy c;
  if (to == JA_NONE || from == JA_NONE || mx_w_guard(*i->w) != MX_GUARD_NONE || !find_base(l, b, k, to, known, &c.to) ||
      !find_base(l, b, k, from, known, &c.from))
    return;
  keep_parts(l, &c.to), keep_parts(l, &c.from);
  l->shapes[c.to.slot].steps = l->shapes[c.from.slot].steps = true;
  l->copies[k] = lw_need(sizeof c);
  *l->copies[k] = c;
}

/* Copies before a loop, as of the first tile, through slots from which copies in loops have their addresses. */
static void find_first_copies(struct lw *l) {
  const struct ja *a = l->a;
  uint64_t *known = lw_need(8 * a->words);
  bool any = false;
  for (uint32_t k = 0; k < a->nins; k++)
    if (l->copies[k]) ja_add(known, l->copies[k]->to.slot), ja_add(known, l->copies[k]->from.slot), any = true;
  for (uint32_t b = 0; any && b < a->nblocks; b++)
    for (uint32_t k = a->blocks[b].first; k < a->blocks[b].end; k++)
      if (lw_copies_whole(a->ins[k].op) && !l->copies[k]) find_copy(l, b, k, known);
  free(known);
}

#define MOST_BLOCKS 200u /* of functions in which shapes are looked for */
void lw_shapes_find(struct lw *l) {
  const struct ja *a = l->a;
  if (a->nblocks > MOST_BLOCKS) return;
  for (uint32_t b = 0; b < a->nblocks; b++)
    for (uint32_t k = a->blocks[b].first; k < a->blocks[b].end; k++) {
      const struct ja_ins *i = &a->ins[k];
      const struct mx_row_access ac = i->o->cls == MX_MEM ? mx__row_access[i->op] : (struct mx_row_access){0};
      const unsigned bits = jx_bitsof(ac.type);
      struct lw_base *base = &l->based[k];
      if (lw_copies_whole(i->op)) find_copy(l, b, k, NULL);
      if (l->run_member[k] || ja_is_row(a, k) || ja_is_flat(a, k) || lw_is_strided(l, k) ||
          (ac.kind != MX_ACCESS_LOAD && ac.kind != MX_ACCESS_STORE) ||
          (ac.elements == 1 ? bits > 64 : !lw_is_packed(&ac) && (bits < 32 || bits > 64 || ac.elements > 4)))
        continue;
      const uint32_t at = slot_of(a, i, ac.kind == MX_ACCESS_LOAD ? ac.elements : 0);
      if (at == JA_NONE) continue;
      /* lanes' local memories are apart: their accesses form no pattern */
      const bool steady = (ac.elements == 1 || lw_is_packed(&ac)) && !i->local && find_base(l, b, k, at, NULL, base);
      if (!steady && !find_index(l, b, k, at, &ac, base)) continue;
      const uint64_t scale = base->pre_scale * base->post_scale;
      base->bounds_checked = !a->checked && steady && bits >= 32 && mx_w_mod(*i->w) >> 2 == MX_SHARED &&
                             !base->sign_extends && base->slot < a->f->npred + a->f->n32 &&
                             (scale == 1 || scale == 2 || scale == 4 || scale == 8);
      for (unsigned n = 0; n < base->n; n++) /* addends whose values are known at the beginning of the block */
        base->bounds_checked &=
            base->add[n].ins == JA_NONE || slot_of(a, &a->ins[base->add[n].ins], base->add[n].operand) == JA_NONE;
      keep_parts(l, base);
    }
  find_first_copies(l);
  for (uint32_t b = 0; b < a->nblocks; b++)
    for (uint32_t k = a->blocks[b].first; k < a->blocks[b].end; k++)
      if (is_sum(&a->ins[k]) && l->shapes[slot_of(a, &a->ins[k], 0)].min && step_operand(a, k)) {
        l->addend[k].moves = true;
        l->addend[k].operand = step_operand(a, k);
        if (!l->addend[k].value) l->addend[k].value = jx_local(&l->j, l->j.t_u64);
      }
  find_asked(l);
}
const struct lw_base *lw_base(struct lw *l) {
  const struct lw_base *b = &l->based[l->ins - l->a->ins];
  return b->steady || b->indexed ? b : NULL;
}

static bool same_sum(const struct ja *a, const struct lw_base *x, const struct lw_base *y) {
  if (x->slot != y->slot || x->n != y->n || x->post_scale != y->post_scale) return false;
  for (unsigned n = 0; n < x->n; n++) {
    if (x->add[n].ins == JA_NONE || y->add[n].ins == JA_NONE) {
      if (x->add[n].ins != y->add[n].ins) return false;
    } else if (mx_w_operand(a->ins[x->add[n].ins].w, x->add[n].operand) !=
                   mx_w_operand(a->ins[y->add[n].ins].w, y->add[n].operand) ||
               x->add[n].factor != y->add[n].factor)
      return false;
  }
  return true;
}
static uint64_t offset_of(const struct lw *l, const struct ja_ins *i) {
  const unsigned at = mx__row_access[i->op].kind == MX_ACCESS_LOAD ? mx__row_access[i->op].elements : 0;
  return l->a->f->lits[mx_w_operand(i->w, at + 1) - MX_LIT].value;
}
/* Whether the instruction loads from a variable's name plus a constant, in a space that all lanes share. */
static bool reads_variable(const struct ja *a, const struct ja_ins *i) {
  if (i->o->cls != MX_MEM || mx__row_access[i->op].kind != MX_ACCESS_LOAD || mx_w_guard(*i->w) != MX_GUARD_NONE)
    return false;
  const unsigned bits = jx_bitsof(mx__row_access[i->op].type), space = mx_w_mod(*i->w) >> 2,
                 field = mx_w_operand(i->w, mx__row_access[i->op].elements);
  if ((bits != 32 && bits != 64) || mx__row_access[i->op].elements > 4 ||
      (space != MX_SHARED && space != MX_CONST && space != MX_GLOBAL))
    return false;
  return field >= MX_LIT && a->f->lits[field - MX_LIT].kind == MX_LIT_VAR;
}
/* Bounds for accesses that are checked together, by their offsets. Sums with offsets are computed in 64 bits and must
 * not wrap, so all offsets are small. */
#define FAR (INT64_C(1) << 30)
struct span {
  int64_t least, most; /* the last byte's end */
  uint64_t low;        /* bits that must not be set in the address */
  bool odd, far;
};
static void extend(struct span *s, int64_t off, uint64_t size) {
  s->low |= size - 1;
  s->odd |= ((uint64_t)off & (size - 1)) != 0;
  s->far |= off < -FAR || off > FAR - (int64_t)size;
  if (s->far) return;
  if (off < s->least) s->least = off;
  if (off + (int64_t)size > s->most) s->most = off + (int64_t)size;
}
gcc_jit_rvalue *lw_check_block(struct lw *l, const struct ja_block *b) {
  const struct ja *a = l->a;
  struct jx *j = &l->j;
  gcc_jit_rvalue *bad = NULL, *bytes = NULL;
#define U64(v_) jx_int(j, j->t_u64, v_)
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->t_u64, x_, y_)
#define OR_IF(op_, x_, y_) bad = lw_either(l, bad, lw_compare(l, GCC_JIT_COMPARISON_##op_, x_, y_))
  const struct ja_ins *here = l->ins;
  if (a->checked) return NULL;                   /* accesses are reported one by one */
  for (uint32_t k = b->first; k < b->end; k++) { /* variables by name: one check covers all loads from one of them */
    if (!reads_variable(a, &a->ins[k]) || l->fixed[k]) continue;
    const unsigned field = mx_w_operand(a->ins[k].w, mx__row_access[a->ins[k].op].elements);
    struct span all = {.least = INT64_MAX, .most = INT64_MIN};
    gcc_jit_lvalue *host = jx_local(j, j->t_u64);
    uint32_t loads = 0;
    for (uint32_t m = k; m < b->end; m++) {
      const struct ja_ins *i = &a->ins[m];
      const struct mx_row_access ac = mx__row_access[i->op];
      if (!reads_variable(a, i) || mx_w_operand(i->w, ac.elements) != field ||
          mx_w_mod(*i->w) >> 2 != mx_w_mod(*a->ins[k].w) >> 2)
        continue;
      extend(&all, (int64_t)offset_of(l, i), jx_bitsof(ac.type) / 8 * ac.elements);
      loads++;
    }
    if (loads < 2 || all.odd || all.far) continue;
    for (uint32_t m = k; m < b->end; m++)
      if (reads_variable(a, &a->ins[m]) && mx_w_operand(a->ins[m].w, mx__row_access[a->ins[m].op].elements) == field &&
          mx_w_mod(*a->ins[m].w) >> 2 == mx_w_mod(*a->ins[k].w) >> 2)
        l->fixed[m] = host;
    l->ins = &a->ins[k];
    gcc_jit_rvalue *lo, *limit, *base, *at = jx_rv(lw_late(l, mx__row_access[l->ins->op].elements));
    gcc_jit_rvalue *missed = lw_bounds(l, (unsigned)(all.most - all.least), false, &lo, &limit, &base);
    bad = lw_either(l, bad, missed);
    OR_IF(GT, OP(MINUS, OP(PLUS, at, U64((uint64_t)all.least)), lo), limit);
    OR_IF(NE, OP(BITWISE_AND, at, U64(all.low)), U64(0));
    jx_set(j, host, OP(PLUS, base, at));
    l->ins = here;
  }
  for (uint32_t k = b->first; k < b->end; k++) {
    const struct lw_base *base = &l->based[k];
    if (!base->steady || !base->bounds_checked) continue;
    bool first = true;
    for (uint32_t m = b->first; m < k && first; m++)
      first = !(l->based[m].steady && l->based[m].bounds_checked && same_sum(a, base, &l->based[m]));
    if (!first) continue;
    struct span all = {.least = INT64_MAX, .most = INT64_MIN};
    for (uint32_t m = k; m < b->end; m++)
      if (l->based[m].steady && l->based[m].bounds_checked && same_sum(a, base, &l->based[m]))
        extend(&all, (int64_t)offset_of(l, &a->ins[m]), jx_bitsof(mx__row_access[a->ins[m].op].type) / 8);
    if (all.odd || all.far) return jx_int(j, j->t_bool, 1);
    if (!bytes) {
      gcc_jit_rvalue *launch = jx_rv(lw_field(l, l->x, MX_AT(exec, launch), j->t_pu8));
      bytes = jx_keep(j, gcc_jit_context_new_cast(
                             j->c, NULL, jx_rv(lw_field(l, launch, MX_AT(launch, shared_bytes), j->t_u32)), j->t_u64));
    }
    const struct lw_shape *sh = &l->shapes[base->slot];
    gcc_jit_rvalue *sum = U64(0);
    for (unsigned n = 0; n < base->n; n++) {
      if (base->add[n].ins == JA_NONE) continue;
      const jv addend = lw_operand_of(l, &a->ins[base->add[n].ins], base->add[n].operand);
      sum =
          OP(PLUS, sum,
             OP(MULT, gcc_jit_context_new_cast(j->c, NULL, jv_scalar(j, addend), j->t_u64), U64(base->add[n].factor)));
    }
    sum = jx_keep(j, sum); /* each term is below 2^32, so that no sum wraps */
    OR_IF(GT, jx_rv(sh->max), U64(FAR));
    OR_IF(GT, jx_rv(sh->min), jx_rv(sh->max)); /* the step made some lanes' numbers wrap */
    OR_IF(GT, OP(PLUS, OP(PLUS, OP(MULT, jx_rv(sh->max), U64(base->post_scale)), sum), U64((uint64_t)all.most)), bytes);
    if (all.least < 0)
      OR_IF(LT, OP(PLUS, OP(MULT, jx_rv(sh->min), U64(base->post_scale)), sum), U64((uint64_t)-all.least));
    gcc_jit_rvalue *least = OP(PLUS, OP(MULT, jx_rv(sh->min), U64(base->post_scale)), sum);
    OR_IF(NE, OP(BITWISE_AND, OP(BITWISE_OR, OP(MULT, jx_rv(sh->low), U64(base->post_scale)), least), U64(all.low)),
          U64(0));
  }
#undef U64
#undef OP
#undef OR_IF
  return bad;
}

void lw_addend(struct lw *l) {
  struct jx *j = &l->j;
  const struct lw_addend *to = &l->addend[l->ins - l->a->ins];
  if (!to->value) return;
  gcc_jit_rvalue *v = jv_scalar(j, lw_operand(l, to->operand, 0));
  if (l->ins->form == MX_FORM_ADD && ja_result_bits(l->ins) == 32) { /* as a signed number */
    gcc_jit_type *s64 = gcc_jit_context_get_type(j->c, GCC_JIT_TYPE_LONG_LONG);
    v = gcc_jit_context_new_cast(
        j->c, NULL, gcc_jit_context_new_cast(j->c, NULL, gcc_jit_context_new_cast(j->c, NULL, v, j->t_int), s64),
        j->t_u64);
  }
  jx_set(j, to->value, v);
}

/* A condition: a chunk's first lane is inactive while others of the chunk advance. The others' addresses are computed
 * from the first lane's, which then would be wrong. */
static gcc_jit_rvalue *leaves_first_behind(struct lw *l) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *m[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) m[c] = jx_rv(l->cm[c]);
  gcc_jit_rvalue *move = lw_pack(l, m), *some = move;
  for (unsigned by = 1; by < j->w; by *= 2)
    some = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u64, some,
                            jx_op(j, GCC_JIT_BINARY_OP_RSHIFT, j->t_u64, some, jx_int(j, j->t_u64, by))));
  uint64_t firsts = 0;
  for (unsigned c = 0; c < l->nc; c++) firsts |= 1ull << (c * j->w);
  gcc_jit_rvalue *not_first =
      jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, some,
            jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_u64, move, jx_int(j, j->t_u64, UINT64_MAX)));
  return lw_compare(l, GCC_JIT_COMPARISON_NE,
                    jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, not_first, jx_int(j, j->t_u64, firsts)),
                    jx_int(j, j->t_u64, 0));
}
/* Advances a shape by one step of all active lanes. If the addresses wrap, nothing is known about them any more. */
static void move(struct lw *l, const struct lw_shape *sh, uint32_t slot, bool wide) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *by = jx_rv(l->addend[l->ins - l->a->ins].value);
  gcc_jit_rvalue *width = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, jx_rv(sh->max), jx_rv(sh->min)));
  jx_set(j, sh->min, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(sh->min), by));
  jx_set(j, sh->max, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(sh->max), by));
  gcc_jit_rvalue *most = wide ? jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, jx_int(j, j->t_u64, UINT64_MAX), width)
                              : jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, jx_int(j, j->t_u64, UINT32_MAX), width);
  gcc_jit_rvalue *good = lw_compare(l, GCC_JIT_COMPARISON_LE, jx_rv(sh->min), most);
  if (ja_has(l->a->blocks[l->block].preserved, slot)) /* otherwise inactive lanes' values are advanced, too */
    good = jx_op(
        j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_bool, good,
        gcc_jit_context_new_unary_op(j->c, NULL, GCC_JIT_UNARY_OP_LOGICAL_NEGATE, j->t_bool, leaves_first_behind(l)));
  good = jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, jx_int(j, j->t_u64, 0),
               gcc_jit_context_new_cast(j->c, NULL, good, j->t_u64));
  jx_set(j, sh->kind, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, jx_rv(sh->kind), good));
}

static void update(struct lw *l, uint32_t slot) {
  struct lw_shape *sh = &l->shapes[slot];
  struct jx *j = &l->j;
  const bool wide = slot >= l->a->f->npred + l->a->f->n32;
  if (l->moving) {
    move(l, sh, slot, wide);
    return;
  }
  gcc_jit_rvalue *tmp = jx_keep(j, lw_at(l, l->x, MX_AT(exec, tmp))), *m[LW_CHUNKS];
  for (unsigned k = 0; k < lw_vectors(l, slot); k++)
    jx_set(j, lw_vector(l, tmp, j->bytes * k, wide),
           l->ramp_built ? lw_ramp_vector(l, slot, k) : jx_rv(lw_var(l, slot, k)));
  for (unsigned c = 0; c < l->nc; c++) m[c] = jx_rv(l->cm[c]);
  const uint32_t form = j->w * 2 + wide + (sh->steps ? MX_JIT_WANTS_STEPS : 0);
  gcc_jit_rvalue *args[] = {jx_int(j, j->t_u32, form), lw_pack(l, m)};
  gcc_jit_block_add_eval(j->b, NULL, LW_HELP(l, shape, args));
#define TAKE(m_) jx_set(j, sh->m_, jx_rv(lw_field(l, tmp, MX_AT(jit_shape, m_), j->t_u64)))
  TAKE(min), TAKE(max), TAKE(low), TAKE(kind);
#undef TAKE
  gcc_jit_rvalue *cell = lw_shape_cell(l, slot);
  for (unsigned k = 0; sh->steps && k < MX_JIT_STEPS; k += 2)
    jx_set(j, lw_field(l, cell, MX_AT(jit_shape, step) + 4 * k, j->t_u64),
           jx_rv(lw_field(l, tmp, MX_AT(jit_shape, step) + 4 * k, j->t_u64)));
}
void lw_shape_update(struct lw *l, uint32_t slot) {
  if (!l->loop && l->shapes[slot].min && l->addend[l->ins - l->a->ins].wanted) update(l, slot);
}
bool lw_shape_asked(const struct lw *l, uint32_t slot, uint32_t block) {
  return l->shapes[slot].min && ja_has(l->asked_in + (size_t)block * l->a->words, slot);
}
void lw_shape_enter(struct lw *l, uint32_t slot, uint32_t block) {
  if (lw_shape_asked(l, slot, block)) update(l, slot);
}

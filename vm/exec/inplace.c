/* Fallbacks are instructions that the interpreter's bodies execute on behalf of compiled code. Here they work directly
 * on compiled code's values: copies of the instructions have cells of state->spill_area as operands. A cell holds lane
 * after lane, as a slot of the frame does. Values in other forms (uniform ones, masks of predicates, NaNs that are not
 * canonical yet, halves of 128 bits) are converted to scratch cells behind the others, and results are converted back.
 * So a fallback costs little more than its body.
 *
 * This works for bodies that are generated from table rows, which use operands, masks and memory only. Bodies written
 * by hand (OPX) may use frames and splits, so their fallbacks go through the frame (enter.c), except rows marked
 * MX_F_IN_PLACE and, if all lanes are active, matrix instructions, which the whole warp executes together. */
#include "jitabi.h"
#include "launch.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

enum how { ONE32, ONE64, RAW, RAW_ONE, MASK, MASK_ONE, COPY32, COPY64 };
struct move {
  uint32_t from, to;
  enum how how;
};
struct mx_jit_inplace {
  struct mx_insn *insns;
  uint32_t n;                /* 0: it has to go through the frame */
  mx_ref *more;              /* an instruction's operands, of more than seven */
  bool needs_all_lanes;      /* it works only if all lanes are active */
  uint32_t uniform_operands; /* as in struct mx_exec */
  struct move *in, *out;
  uint32_t nin, nout;
  bool alone; /* it is a single memory access, or another body that reports when it needs more: MX_F_IN_PLACE */
  uint32_t guard;
  bool negated; /* of the last instruction: where its guard's mask is in scratch; 0: it is unguarded */
};

static const bool by_table[MX_OP_COUNT] = {
#define OP(id_, ...) [MX_##id_] = true,
#define OPX(...)
#include "core/opcodes.def"
};

static const bool of_memory[MX_OP_COUNT] = {
#define OP(...)
#define OPM(id_, ...) [MX_##id_] = true,
#define OPX(...)
#include "core/opcodes.def"
};

/* What rows of memory accesses do: the element's type in memory, and the register's type. */
static const struct row {
  enum { OTHER, LOADS, STORES, ATOMIC } kind;
  uint8_t memory, slot, n;
} rows[MX_OP_COUNT] = {
#define LOAD(mt_, dt_, n_) LOADS, MX_T_##mt_, MX_T_##dt_, n_
#define STORE(mt_, n_) STORES, MX_T_##mt_, MX_T_none, n_
#define ATOM(step_, t_, ...) ATOMIC, MX_T_##t_, MX_T_##t_, 1
#define ATOMV(step_, t_, n_, ...) ATOMIC, MX_T_##t_, MX_T_##t_, n_
#define PREFETCH() OTHER, MX_T_none, MX_T_none, 0
#define OP(...)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) [MX_##id_] = {__VA_ARGS__},
#define OPX(...)
#include "core/opcodes.def"
#undef LOAD
#undef STORE
#undef ATOM
#undef ATOMV
#undef PREFETCH
};

static bool runs_in_place(unsigned op) { return mx__ops[op].flags & MX_F_IN_PLACE; }

/* ---- making them ------------------------------------------------------------------------------------------------*/
enum { MOST = 48, MOST_INSNS = 4 };
struct making {
  const struct mx_pfunc *fn;
  const struct mx_jit_code *code;
  struct mx_insn insns[MOST_INSNS];
  uint32_t n;
  struct move in[MOST], out[MOST];
  uint32_t nin, nout;
  mx_ref more[MX_MAX_OPNDS]; /* for the one instruction that has so many */
  struct at {
    unsigned cls;
    uint32_t slot, offset;
    bool scratch, one;
    bool between; /* the value was left by an earlier instruction of the fallback: inactive lanes have none */
  } at[MOST];
  uint32_t nat; /* at: by slot, its cells; one: only lane 0's exists */
  uint32_t end; /* of scratch */
  bool bad;
};
static uint32_t scratch(struct making *k, unsigned cls) {
  const uint32_t lanes = k->code->lanes, at = k->end;
  k->end += cls == MX_PRED ? 64 : cls == MX_R32 ? 4 * lanes : 8 * lanes;
  k->end = (k->end + 63) / 64 * 64;
  return at;
}
/* The newest cell of a slot's value; `whole`: one that also has inactive lanes' values. */
static struct at *find_place(struct making *k, unsigned cls, uint32_t slot, bool whole) {
  for (uint32_t n = k->nat; n--;)
    if (k->at[n].cls == cls && k->at[n].slot == slot && !(whole && k->at[n].between)) return &k->at[n];
  return NULL;
}
static struct at *find(struct making *k, unsigned cls, uint32_t slot) { return find_place(k, cls, slot, false); }
static struct at *add(struct making *k, unsigned cls, uint32_t slot, uint32_t offset, bool is_scratch) {
  static struct at none;
  if (k->nat == MOST) return k->bad = true, &none;
  k->at[k->nat] = (struct at){.cls = cls, .slot = slot, .offset = offset, .scratch = is_scratch};
  return &k->at[k->nat++];
}
static void move(struct making *k, bool in, uint32_t from, uint32_t to, enum how how) {
  uint32_t *n = in ? &k->nin : &k->nout;
  if (*n == MOST) k->bad = true;
  else (in ? k->in : k->out)[(*n)++] = (struct move){from, to, how};
}
static enum how form_of(const struct mx_jit_location *p) {
  const unsigned cls = p->slot >> MX_JIT_CLASS;
  if (cls == MX_PRED) return p->slot & MX_JIT_ONE ? MASK_ONE : MASK;
  if (p->slot & MX_JIT_RAW) return p->slot & MX_JIT_ONE ? RAW_ONE : RAW;
  if (p->slot & MX_JIT_ONE) return cls == MX_R32 ? ONE32 : ONE64;
  return cls == MX_R32 ? COPY32 : COPY64;
}
/* Halves of a 128-bit operand have to be adjacent: they are copied to scratch. */
static bool is_half(const struct making *k, uint32_t slot) {
  for (uint32_t n = 0; n < k->n; n++) {
    const struct mx_insn *i = &k->insns[n];
    const struct mx_op_info *o = &mx__ops[i->op];
    const mx_word *w = &k->fn->func->code[i->pc];
    for (unsigned m = 0; m < o->nopnds; m++) {
      const unsigned field = mx_w_operand(w, m);
      if (o->opnd[m].type < MX_T_raw && mx__types[o->opnd[m].type].slot_class == MX_R128 && field < MX_LIT &&
          (field == slot || field + 1 == slot))
        return true;
    }
  }
  return false;
}
/* Whether a slot is only used as the address or the leading dimension of a matrix in memory. */
static bool is_of_matrix(const struct making *k, unsigned cls, uint32_t slot) {
  const struct mx_insn *i = &k->insns[0];
  const struct mx_op_info *o = &mx__ops[i->op];
  const mx_word *w = &k->fn->func->code[i->pc];
  bool found = false;
  if (!(o->flags & MX_F_WHOLE) || !mx__bounds_count(o)) return false;
  for (unsigned m = 0; m < o->nopnds; m++) {
    const struct mx_opnd *at = &o->opnd[m];
    if (at->type >= MX_T_raw || mx__types[at->type].slot_class != cls || mx_w_operand(w, m) != slot) continue;
    const bool address = m + 1u < o->nopnds && at[1].type == MX_T_off,
               dimension = m + 1u == o->nopnds && at->type == MX_T_u32;
    if (at->role == MX_OUT || at->vector || !(address || dimension)) return false;
    found = true;
  }
  return found;
}
/* Whether a slot is only used as the address of a memory access, as a value that it stores, or as an operand of an
 * atomic. */
static bool is_read_once(const struct making *k, unsigned cls, uint32_t slot) {
  const struct mx_insn *i = &k->insns[0];
  const struct mx_op_info *o = &mx__ops[i->op];
  const mx_word *w = &k->fn->func->code[i->pc];
  unsigned inputs = 0, results = 0, at = 0;
  bool address = false;
  if (k->n != 1 || !rows[i->op].n || o->nopnds > 7) return false;
  for (unsigned m = 0; m < o->nopnds; m++) {
    const unsigned type = o->opnd[m].type;
    results += o->opnd[m].role == MX_OUT;
    if (type == MX_T_off) at = m;
    if (type >= MX_T_raw || mx__types[type].slot_class != cls || mx_w_operand(w, m) != slot) continue;
    if (o->opnd[m].role == MX_OUT) return false;
    address |= !at;
    inputs++;
  }
  const unsigned operands = o->nopnds - at - 1; /* of one element */
  if (!inputs || (address && inputs > 1)) return false;
  return address || (results <= 1 && (operands == 1 || (operands == 2 && results == 1)));
}
/* Whether a slot is only used as the number of a texture, a surface or a sampler. */
static bool is_object(const struct making *k, unsigned cls, uint32_t slot) {
  const struct mx_insn *i = &k->insns[0];
  const struct mx_op_info *o = &mx__ops[i->op];
  const mx_word *w = &k->fn->func->code[i->pc];
  bool found = false;
  if (k->n != 1 || i->op < MX_FIRST_OF_IMAGES || i->op > MX_LAST_OF_IMAGES) return false;
  for (unsigned m = 0; m < o->nopnds; m++) {
    const struct mx_opnd *at = &o->opnd[m];
    if (at->type >= MX_T_raw || mx__types[at->type].slot_class != cls || mx_w_operand(w, m) != slot) continue;
    const bool has_offset = m + 1u < o->nopnds && at[1].type == MX_T_off;
    if (at->role == MX_OUT || !(has_offset || at->implicit == MX_SAMPLER)) return false;
    found = true;
  }
  return found;
}
static void take_input(struct making *k, const struct mx_jit_location *p) {
  const unsigned cls = p->slot >> MX_JIT_CLASS;
  const uint32_t slot = mx__jit_slot_number(p);
  const enum how how = form_of(p);
  if (find(k, cls, slot)) return; /* as half of a pair */
  /* the guard of the access, which is applied to the mask instead */
  if (cls == MX_PRED && rows[k->insns[k->n - 1].op].n) return;
  if (cls == MX_R64 && is_half(k, slot)) return;
  if ((how == ONE32 || how == ONE64) &&
      (is_of_matrix(k, cls, slot) || is_read_once(k, cls, slot) || is_object(k, cls, slot))) {
    add(k, cls, slot, p->offset, false)->one = true;
    return;
  }
  const bool direct = how == COPY32 || how == COPY64;
  const uint32_t to = direct ? p->offset : scratch(k, cls);
  add(k, cls, slot, to, !direct);
  if (!direct) move(k, true, p->offset, to, how);
}
static const struct mx_jit_location *place_of(const struct making *k, const struct mx_jit_fallback *s, bool out,
                                              uint32_t slot) {
  const struct mx_jit_location *p = k->code->locations + s->first + (out ? s->nin : 0);
  for (uint32_t n = 0; n < (out ? s->nout : s->nin); n++)
    if (p[n].slot >> MX_JIT_CLASS == MX_R64 && mx__jit_slot_number(&p[n]) == slot) return &p[n];
  return NULL;
}
static void pair_back(struct making *k, const struct mx_jit_fallback *s, uint32_t slot, uint32_t from) {
  for (uint32_t h = 0; h < 2; h++) {
    const struct mx_jit_location *out = place_of(k, s, true, slot + h);
    if (out) move(k, false, from + 8 * h * k->code->lanes, out->offset, out->slot & MX_JIT_ONE ? ONE64 : COPY64);
  }
}
/* A 128-bit register: its halves are copied to scratch and, for a result, back, whatever their form. (Half of an
 * operand may also be another result.) */
static mx_ref pair(struct making *k, const struct mx_jit_fallback *s, uint32_t slot, bool result) {
  struct at *known = find(k, MX_R128, slot);
  if (known && result) pair_back(k, s, slot, known->offset);
  if (known) return (mx_ref)known->offset;
  for (uint32_t h = 0; h < 2; h++)
    if (find(k, MX_R64, slot + h) || (h && find(k, MX_R128, slot + 1)) || (slot && find(k, MX_R128, slot - 1)))
      k->bad = true; /* its halves are also used separately */
  const uint32_t at = k->end;
  add(k, MX_R128, slot, at, true);
  for (uint32_t h = 0; h < 2; h++) {
    const uint32_t to = scratch(k, MX_R64);
    const struct mx_jit_location *in = place_of(k, s, false, slot + h);
    if (in) move(k, true, in->offset, to, in->slot & MX_JIT_ONE ? ONE64 : COPY64);
  }
  if (result) pair_back(k, s, slot, at);
  return (mx_ref)at;
}
/* Where an instruction, the last one or an earlier one, leaves a result. */
static uint32_t take_result(struct making *k, const struct mx_jit_fallback *s, bool last, unsigned cls, uint32_t slot) {
  const struct mx_jit_location *p = NULL;
  for (uint32_t n = 0; last && n < s->nout; n++) {
    const struct mx_jit_location *q = &k->code->locations[s->first + s->nin + n];
    if (q->slot >> MX_JIT_CLASS == cls && mx__jit_slot_number(q) == slot) p = q;
  }
  if (last && !p) return k->bad = true, 0;
  if (!last) { /* only the fallback's other instructions read it; the slot itself keeps its old value */
    struct at *between = add(k, cls, slot, scratch(k, cls), true);
    between->between = true;
    return between->offset;
  }
  const enum how how = form_of(p);
  const bool as_it_is = how == COPY32 || how == COPY64;
  struct at *known = find_place(k, cls, slot, true);
  if (!known) known = add(k, cls, slot, as_it_is ? p->offset : scratch(k, cls), !as_it_is);
  if (known->scratch || known->offset != p->offset) {
    for (uint32_t n = 0; n < k->nout; n++)
      if (k->out[n].from == known->offset) return known->offset; /* both results of an instruction may be one slot */
    move(k, false, known->offset, p->offset, how);
  }
  return known->offset;
}
static void take_instruction(struct making *k, const struct mx_jit_fallback *s, uint32_t n,
                             struct mx_jit_inplace *prepared) {
  struct mx_insn *i = &k->insns[n];
  const struct mx_op_info *o = &mx__ops[i->op];
  const mx_word *w = &k->fn->func->code[i->pc];
  if (i->guard != MX_GUARD_NONE && !rows[i->op].n) {
    const struct at *p = find(k, MX_PRED, i->guard);
    if (!p || n + 1 < k->n) k->bad = true;
    else prepared->guard = p->offset, prepared->negated = i->guard_neg;
  }
  i->guard = MX_GUARD_NONE;
  mx_ref *refs = i->more ? memcpy(k->more, i->more, i->nopnds * sizeof *k->more) : i->o;
  if (o->flags & MX_F_MOVI) {
    i->o[0] = (mx_ref)take_result(k, s, n + 1 == k->n, mx__types[o->opnd[0].type].slot_class, mx_w_field(*w, 0));
    return;
  }
  for (int results = 0; results < 2; results++) /* operands are at their old places */
    for (unsigned m = 0; m < o->nopnds && !k->bad; m++) {
      const unsigned type = o->opnd[m].type, field = mx_w_operand(w, m);
      if (type >= MX_T_raw || (o->opnd[m].role == MX_OUT) != results) continue;
      const unsigned cls = mx__types[type].slot_class;
      if (field >= MX_LIT) continue; /* a literal, in the pool as before */
      if (cls == MX_R128) refs[m] = pair(k, s, field, results);
      else if (results) refs[m] = (mx_ref)take_result(k, s, n + 1 == k->n, cls, field);
      else {
        const struct at *p = find(k, cls, field);
        if (!p) k->bad = true;
        else {
          refs[m] = (mx_ref)p->offset;
          if (p->one) prepared->uniform_operands |= 1u << m;
        }
      }
    }
  if (i->more) memcpy(i->o, refs, sizeof i->o);
}
/* Prepares the last instruction for lanes/direct.c, if it loads or stores elements of up to 64 bits. If a tool watches
 * the launch, its bodies must see the access. */
static struct mx_jit_access access_of(const struct making *k, const struct mx_jit_inplace *prepared,
                                      const struct mx_level *level) {
  const struct mx_insn *i = &k->insns[k->n - 1];
  const struct row row = rows[i->op];
  const struct mx_op_info *o = &mx__ops[i->op];
  const bool is_store = row.kind == STORES;
  if (i->fn != level->bodies[i->op] || (row.kind != LOADS && !is_store) || row.n > 4 || i->more ||
      o->nopnds != row.n + 2u)
    return (struct mx_jit_access){0};
  const unsigned bits = mx__types[row.memory].bits, first = is_store ? 2 : 0, at = is_store ? 0 : row.n;
  const unsigned type = is_store ? o->opnd[first].type : row.slot;
  const bool wide = mx__types[type].slot_class == MX_R64,
             with_sign = row.memory == MX_T_s8 || row.memory == MX_T_s16 || row.memory == MX_T_s32;
  if (bits > 64) return (struct mx_jit_access){0};
  struct mx_jit_access a = {.bytes = bits / 8 * row.n,
                            .bounds = i->index,
                            .off = i->off,
                            .pool = k->fn->pool,
                            .address = i->o[at],
                            .n = row.n,
                            .cell = (uint8_t)(bits / 8),
                            .is_store = is_store,
                            .narrow = mx__types[o->opnd[at].type].slot_class == MX_R32,
                            .one_address = prepared->uniform_operands >> at & 1,
                            .one_value = prepared->uniform_operands >> first & is_store,
                            .at_once = k->n == 1 && !k->nin && !k->nout};
  for (unsigned e = 0; e < row.n; e++) a.value[e] = i->o[first + e];
  switch (bits) {
  case 8:
    a.form = with_sign ? wide                         ? MX_JIT_S8_64
                         : mx__types[type].bits == 16 ? MX_JIT_S8_16
                                                      : MX_JIT_S8_32
             : wide    ? MX_JIT_U8_64
                       : MX_JIT_U8_32;
    break;
  case 16: a.form = with_sign ? wide ? MX_JIT_S16_64 : MX_JIT_S16_32 : wide ? MX_JIT_U16_64 : MX_JIT_U16_32; break;
  case 32: a.form = !wide ? MX_JIT_B32 : with_sign ? MX_JIT_S32_64 : MX_JIT_U32_64; break;
  default: a.form = MX_JIT_B64;
  }
  return a;
}
static void *copy_of(const void *p, size_t bytes, bool *good) {
  void *q = malloc(bytes ? bytes : 1);
  if (q) memcpy(q, p, bytes);
  else *good = false;
  return q;
}
/* fn: the code's own function. */
static bool make(struct mx_jit_code *code, const struct mx_pfunc *fn, uint32_t number, struct mx_jit_inplace *prepared,
                 const struct mx_level *level) {
  const struct mx_jit_fallback *s = &code->fallbacks[number];
  fn = fn - fn->number + code->frames[s->frame].func;
  struct making k = {.fn = fn, .code = code, .end = (code->table->spill_bytes + 63) / 64 * 64};
  for (uint32_t n = fn->index_of_pc[s->from]; n < fn->ninsns && fn->insns[n].pc <= s->pc; n++) {
    const struct mx_insn *i = &fn->insns[n];
    if (i->kind == MX_INSN_JOIN) continue;
    const bool needs_all_lanes = mx__ops[i->op].flags & MX_F_WHOLE;
    if (k.n == MOST_INSNS || (!by_table[i->op] && !needs_all_lanes && !runs_in_place(i->op)) || (i->more && k.n))
      return true;
    prepared->needs_all_lanes |= needs_all_lanes;
    k.insns[k.n] = *i;
    k.insns[k.n++].fn = fn->body_of[n];
  }
  for (uint32_t n = 0; n < s->nin; n++) take_input(&k, &code->locations[s->first + n]);
  for (uint32_t n = 0; n < k.n && !k.bad; n++) take_instruction(&k, s, n, prepared);
  if (k.bad) return true;
  code->accesses[number] = access_of(&k, prepared, level);
  bool good = true;
  prepared->insns = copy_of(k.insns, k.n * sizeof *k.insns, &good);
  prepared->in = copy_of(k.in, k.nin * sizeof *k.in, &good);
  prepared->out = copy_of(k.out, k.nout * sizeof *k.out, &good);
  prepared->alone = k.n == 1 && (of_memory[k.insns[0].op] || runs_in_place(k.insns[0].op));
  if (good && prepared->insns[0].more)
    prepared->insns[0].more = prepared->more = copy_of(k.more, prepared->insns[0].nopnds * sizeof *k.more, &good);
  prepared->n = k.n, prepared->nin = k.nin, prepared->nout = k.nout;
  if (k.end > code->spill_bytes) code->spill_bytes = k.end;
  return good;
}

void mx__jit_inplace_free(struct mx_jit_code *code) {
  for (uint32_t n = 0; code->inplace && n < code->table->nfallbacks; n++)
    free(code->inplace[n].insns), free(code->inplace[n].more), free(code->inplace[n].in), free(code->inplace[n].out);
  free(code->inplace);
  free(code->accesses);
  code->inplace = NULL;
  code->accesses = NULL;
}
bool mx__jit_inplace_make(struct mx_jit_code *code, const struct mx_pfunc *fn, uint32_t lanes,
                          const struct mx_level *level) {
  if (code->inplace) return true;
  code->lanes = lanes;
  code->inplace = calloc(code->table->nfallbacks ? code->table->nfallbacks : 1, sizeof *code->inplace);
  code->accesses = calloc(code->table->nfallbacks ? code->table->nfallbacks : 1, sizeof *code->accesses);
  bool good = code->inplace && code->accesses;
  for (uint32_t n = 0; good && n < code->table->nfallbacks; n++) good = make(code, fn, n, &code->inplace[n], level);
  if (!good) mx__jit_inplace_free(code);
  return good;
}

/* ---- doing them -------------------------------------------------------------------------------------------------*/
typedef uint32_t words __attribute__((vector_size(16), may_alias));
typedef int32_t numbers __attribute__((vector_size(16), may_alias));
static words canonical(words v) {
  const words nan = (words)((numbers)(v & 0x7FFFFFFF) > 0x7F800000);
  return (nan & 0x7FFFFFFF) | (~nan & v);
}
/* Copies a uniform value, of which a vector is full, to all lanes of the warp. */
#if defined __x86_64__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
__attribute__((target_clones("default", "avx512f"))) /* used for addresses of matrices */
#endif
static void
spread(unsigned char *to, const unsigned char *from, uint32_t bytes) {
  typedef uint64_t line __attribute__((vector_size(64), may_alias));
  uint64_t v;
  memcpy(&v, from, sizeof v);
  for (uint32_t k = 0; k < bytes; k += 64) *(line *)(void *)(to + k) = (line){0} + v;
}
static void bring(const struct mx_exec *x, const struct mx_jit_table *t, unsigned char *spill_area,
                  const struct move *m) {
  const words *from = (const words *)(const void *)(spill_area + m->from); /* cells are aligned to 64 bytes */
  words *to = (words *)(void *)(spill_area + m->to);
  const uint32_t n = x->lanes;
  uint64_t mask;
  switch (m->how) {
  case ONE32: spread(spill_area + m->to, spill_area + m->from, 4 * n); break;
  case ONE64: spread(spill_area + m->to, spill_area + m->from, 8 * n); break;
  case RAW:
    for (uint32_t k = 0; k < n / 4; k++) to[k] = canonical(from[k]);
    break;
  case RAW_ONE:
    for (uint32_t k = 0; k < n / 4; k++) to[k] = canonical(from[0]);
    break;
  case MASK: mask = mx__jit_mask(t, spill_area + m->from), memcpy(to, &mask, sizeof mask); break;
  case MASK_ONE: mask = spill_area[m->from] & 1 ? x->full : 0, memcpy(to, &mask, sizeof mask); break;
  case COPY32: memcpy(to, from, 4 * n); break;
  case COPY64: memcpy(to, from, 8 * n); break;
  }
}
/* For a uniform result: the value of the first active lane. */
static void bring_back(const struct mx_exec *x, const struct mx_jit_table *t, unsigned char *spill_area,
                       const struct move *m) {
  const unsigned char *from = spill_area + m->from;
  unsigned char *to = spill_area + m->to;
  const size_t first = (size_t)__builtin_ctzll(x->mask);
  uint64_t mask;
  switch (m->how) {
  case ONE32:
  case RAW_ONE:
    for (size_t k = 0; k < 64; k += 4) memcpy(to + k, from + 4 * first, 4);
    break;
  case ONE64:
    for (size_t k = 0; k < 64; k += 8) memcpy(to + k, from + 8 * first, 8);
    break;
  case MASK: memcpy(&mask, from, sizeof mask), mx__jit_put_mask(x, t, to, mask); break;
  case MASK_ONE: memcpy(&mask, from, sizeof mask), mx__jit_put_mask(x, t, to, mask >> first & 1 ? x->full : 0); break;
  case COPY32:
  case RAW: memcpy(to, from, 4 * x->lanes); break;
  case COPY64: memcpy(to, from, 8 * x->lanes); break;
  }
}
bool mx__jit_inplace_alone(const struct mx_jit_code *code, uint32_t number) { return code->inplace[number].alone; }
bool mx__jit_inplace(struct mx_exec *x, const struct mx_jit_code *code, unsigned char *spill_area, uint32_t number,
                     uint64_t mask, bool *done) {
  const struct mx_jit_inplace *s = &code->inplace[number];
  if (!s->n || (s->needs_all_lanes && mask != x->full)) return false;
  *done = true;
  for (uint32_t k = 0; k < s->nin; k++) bring(x, code->table, spill_area, &s->in[k]);
  if (s->guard) {
    uint64_t guard;
    memcpy(&guard, spill_area + s->guard, sizeof guard);
    mask &= s->negated ? ~guard : guard;
  }
  unsigned char *const frame = x->base[0];
  const uint64_t all = x->mask;
  if (mask) {
    x->base[0] = spill_area;
    x->mask = mask;
    x->uniform_operands = s->uniform_operands;
    const struct mx_insn *next = s->insns;
    const struct mx_jit_access *a = &code->accesses[number];
    for (uint32_t k = 0; k + 1 < s->n && next; k++) next = s->insns[k].fn(x, &s->insns[k]);
    if (next && !(a->bytes && !a->at_once && x->prep->level->access(x, a, spill_area, mask)))
      next = s->insns[s->n - 1].fn(x, &s->insns[s->n - 1]);
    *done = next != NULL;
    x->base[0] = frame;
    x->uniform_operands = 0;
  }
  if (*done && s->nout) {
    if (!mask) x->mask = all;
    for (uint32_t k = 0; k < s->nout; k++) bring_back(x, code->table, spill_area, &s->out[k]);
  }
  x->mask = all;
  return true;
}

/* Changes of an image's fields, each by one kind of mistake; see mutate.h. The images are the reader's own, and
 * writable. */
#include "mutate.h"

#include <string.h>

static uint64_t state;
void seed_set(uint64_t seed) { state = seed; }
uint64_t rnd(void) { /* splitmix64 */
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
uint64_t below(uint64_t n) { return n ? rnd() % n : 0; }
uint64_t interesting(void) {
  static const uint64_t ends[] = {0,          1,          2,          4,          8,          16,          32,
                                  64,         128,        256,        512,        1024,       4096,        16384,
                                  65536,      232448,     1u << 24,   1u << 31,   1ull << 32, 0x100001000, 1ull << 40,
                                  2ull << 40, 3ull << 40, 4ull << 40, 5ull << 40, 1ull << 63};
  const uint64_t end = ends[below(sizeof ends / sizeof *ends)];
  switch (below(5)) {
  case 0: return end + below(64);
  case 1: return end - 1 - below(64);
  case 2: return rnd() >> below(64);
  default: return end;
  }
}

/* ---- where ------------------------------------------------------------------------------------------------------*/
struct place {
  struct mx_image *m;
  struct mx_func *f;
  mx_word *code, *w;
  const struct mx_op_info *o;
  uint32_t pc, nstarts, starts[4096];
};
static uint32_t some_start(const struct place *p) { return p->starts[below(p->nstarts)]; }
/* An instruction of some function; false: there is none. */
static bool find_place(struct place *p, struct mx_image *m) {
  p->m = m;
  p->nstarts = 0;
  if (!m->nfuncs) return false;
  p->f = (struct mx_func *)(uintptr_t)&m->funcs[below(m->nfuncs)];
  p->code = (mx_word *)(uintptr_t)p->f->code;
  for (uint32_t pc = 0; pc < p->f->ncode && p->nstarts < 4096 && mx_w_op(p->code[pc]) < MX_OP_COUNT;
       pc += mx_w_length(p->code[pc]))
    if (mx_w_length(p->code[pc]) <= p->f->ncode - pc) p->starts[p->nstarts++] = pc;
  if (!p->nstarts) return false;
  p->pc = some_start(p);
  p->w = &p->code[p->pc];
  p->o = &mx__ops[mx_w_op(*p->w)];
  return true;
}
static void put_field(mx_word *w, unsigned k, unsigned value) {
  mx_word *to = k < 4 ? w : &w[1 + (k - 4) / MX_EXT_FIELDS];
  const unsigned shift = k < 4 ? 24 + 10 * k : (k - 4) % MX_EXT_FIELDS * 10;
  *to = (*to & ~((mx_word)0x3FF << shift)) | (mx_word)(value & 0x3FF) << shift;
}
static void put_op(mx_word *w, unsigned op, unsigned mod) {
  *w = (*w & ~(mx_word)0x7FF & ~((mx_word)0x7F << 17)) | op | (mx_word)mod << 17;
}
static void put_guard(mx_word *w, unsigned guard, unsigned negated) {
  *w = (*w & ~((mx_word)63 << 11)) | (mx_word)guard << 11 | (mx_word)negated << 16;
}
static unsigned operands(const struct place *p) {
  return p->o->flags & MX_F_CALL ? 4 + mx_w_nres(*p->w) + mx_w_narg(*p->w) : p->o->nopnds;
}
#define WRITABLE(type_, pointer_) ((type_ *)(uintptr_t)(pointer_))

/* ---- that mostly verify -----------------------------------------------------------------------------------------*/
static void other_operand(struct place *p) {
  if (p->o->flags & (MX_F_BRANCH | MX_F_MOVI | MX_F_CALL) || !p->o->nopnds) return;
  const unsigned k = (unsigned)below(p->o->nopnds), type = p->o->opnd[k].type;
  if (type == MX_T_raw) return put_field(p->w, k, (unsigned)below(4));
  const unsigned cls = mx__types[type].slot_class;
  const bool literal = type == MX_T_off || (p->o->opnd[k].role == MX_IN && p->f->nlits && !below(3));
  const unsigned n = literal ? p->f->nlits : cls == MX_PRED ? p->f->npred : cls == MX_R32 ? p->f->n32 : p->f->n64;
  const unsigned slot = (unsigned)below(n);
  put_field(p->w, k, literal ? MX_LIT + slot : cls == MX_R128 ? slot & ~1u : slot);
}
static void other_branch(struct place *p) {
  for (uint32_t s = 0, first = (uint32_t)below(p->nstarts); s < p->nstarts; s++) {
    mx_word *b = &p->code[p->starts[(first + s) % p->nstarts]];
    const uint32_t reconv = below(3) ? some_start(p) : below(2) ? MX_PC_RET : mx_w_reconv(*b);
    if (mx_w_op(*b) == MX_BRX) {
      put_field(b, 1, (unsigned)below(p->f->ntables));
      put_field(b, 2, reconv & 1023);
      put_field(b, 3, reconv >> 10);
    } else if (mx__ops[mx_w_op(*b)].flags & MX_F_BRANCH) {
      *b = (*b & 0xFFFFFF) | mx_w_put_branch(below(2) ? mx_w_target(*b) : some_start(p), reconv);
      if (p->f->npred && !below(3)) put_guard(b, (unsigned)below(p->f->npred), (unsigned)below(2));
    } else continue;
    return;
  }
}
static bool same_shape(const struct mx_op_info *x, const struct mx_op_info *y) {
  if (x->nopnds != y->nopnds || ((x->flags ^ y->flags) & (MX_F_BRANCH | MX_F_MOVI | MX_F_CALL))) return false;
  for (unsigned k = 0; k < x->nopnds; k++) {
    const unsigned a = x->opnd[k].type, b = y->opnd[k].type;
    if (x->opnd[k].role != y->opnd[k].role || mx__types[a].slot_class != mx__types[b].slot_class ||
        (a == MX_T_raw) != (b == MX_T_raw))
      return false;
  }
  return true;
}
static void other_opcode(struct place *p) {
  for (unsigned k = 0, first = (unsigned)below(MX_OP_COUNT); k < MX_OP_COUNT; k++) {
    const unsigned op = (first + k) % MX_OP_COUNT;
    const struct mx_op_info *o = &mx__ops[op];
    if (o == p->o || !same_shape(o, p->o) || o->flags & (p->m->lanes == 32 ? MX_F_W64 : MX_F_W32)) continue;
    return put_op(p->w, op, o->flags & MX_F_MOVI ? mx_w_mod(*p->w) : (unsigned)below(o->mods));
  }
}
static void other_modifier(struct place *p) {
  if (!(p->o->flags & MX_F_MOVI)) put_op(p->w, mx_w_op(*p->w), (unsigned)below(p->o->mods));
}
static void other_guard(struct place *p) {
  if (!(p->o->flags & MX_F_NOGUARD) && p->f->npred) put_guard(p->w, (unsigned)below(p->f->npred), (unsigned)below(2));
}
static void other_literal(struct place *p) {
  struct mx_lit *l = WRITABLE(struct mx_lit, p->f->nlits ? &p->f->lits[below(p->f->nlits)] : NULL);
  if (!l || l->kind == MX_LIT_FUNC) return;
  const uint64_t v = interesting();
  l->value = l->kind != MX_LIT_VALUE ? v & 0xFFFF : l->value >> 32 ? v : l->value >> 16 ? v & 0xFFFFFFFF : v & 0xFF;
}
static void copied_instruction(struct place *p) {
  const uint32_t to = some_start(p), n = mx_w_length(*p->w);
  if (mx_w_length(p->code[to]) == n && to + n < p->f->ncode) memmove(&p->code[to], p->w, n * sizeof *p->w);
}
static void other_table(struct place *p) {
  struct mx_table *t = WRITABLE(struct mx_table, p->f->ntables ? &p->f->tables[below(p->f->ntables)] : NULL);
  if (t && t->ntargets) WRITABLE(uint32_t, t->targets)[below(t->ntargets)] = some_start(p);
}

/* ---- that mostly do not -----------------------------------------------------------------------------------------*/
static void any_operand(struct place *p) {
  if (operands(p))
    put_field(p->w, (unsigned)below(operands(p) < 4u + 6 * (mx_w_length(*p->w) - 1) ? operands(p) : 4),
              (unsigned)below(1024));
}
static void one_bit(struct place *p) { *p->w ^= (mx_word)1 << below(64); }
static void any_branch(struct place *p) {
  const uint32_t t = (uint32_t)(below(2) ? below(p->f->ncode + 3u) : interesting() & 0xFFFFF),
                 r = (uint32_t)(below(2) ? below(p->f->ncode + 3u) : interesting() & 0xFFFFF);
  *p->w = (*p->w & 0xFFFFFF) | mx_w_put_branch(t, r);
}
static void any_word(struct place *p) { p->code[below(p->f->ncode)] = rnd(); }
static void frame_size(struct place *p) {
  struct mx_func *f = p->f;
  uint16_t *const all[] = {&f->n32, &f->n64, &f->npred, &f->nspill32, &f->nspill64, &f->nspillpred},
                  *one = all[below(6)];
  *one = (uint16_t)(below(2) ? *one + below(5) - 2 : interesting());
}
static void function_number(struct place *p) {
  struct mx_func *f = p->f;
  uint32_t *const all[] = {&f->local_bytes,  &f->arg_bytes,         &f->param_bytes,      &f->flags,
                           &f->minnctapersm, &f->maxntid[below(3)], &f->reqntid[below(3)]},
                  *one = all[below(7)];
  *one = (uint32_t)(below(2) ? *one + (below(7) - 3) * 16 : interesting());
}
static void shorter_list(struct place *p) {
  struct mx_func *f = p->f;
  uint32_t *const all[] = {&f->nlits,   &f->nargs, &f->nresults, &f->ntables, &f->nprotos, &f->nparams,
                           &f->nshared, &f->ncode, &f->nnames,   &f->nlabels, &f->nlines},
                  *one = all[below(11)];
  *one = (uint32_t)below(*one + 1ull);
}
static void any_literal(struct place *p) {
  if (p->f->nlits)
    *WRITABLE(struct mx_lit, &p->f->lits[below(p->f->nlits)]) =
        (struct mx_lit){.kind = (uint8_t)below(5),
                        .index = (uint32_t)(below(3) ? below(6) : interesting()),
                        .value = below(2) ? 0 : interesting()};
}
static void other_argument(struct place *p) {
  const struct mx_slot_ref *of = p->f->nargs && below(2) ? &p->f->args[below(p->f->nargs)]
                                 : p->f->nresults        ? &p->f->results[below(p->f->nresults)]
                                                         : NULL;
  struct mx_slot_ref *r = WRITABLE(struct mx_slot_ref, of);
  if (r && below(2)) r->cls = (uint8_t)below(6);
  else if (r) r->slot = (uint16_t)(below(2) ? below(40) : interesting());
}
static void other_prototype(struct place *p) {
  struct mx_proto *t = WRITABLE(struct mx_proto, p->f->nprotos ? &p->f->protos[below(p->f->nprotos)] : NULL);
  if (t && t->narg && below(2)) WRITABLE(uint8_t, t->arg)[below(t->narg)] = (uint8_t)below(6);
  else if (t && t->nres) WRITABLE(uint8_t, t->res)[below(t->nres)] = (uint8_t)below(6);
}
static void other_shared(struct place *p) {
  if (p->f->nshared) WRITABLE(uint32_t, p->f->shared)
  [below(p->f->nshared)] = (uint32_t)(below(2) ? below(p->m->nvars + 1u) : interesting());
}
static void other_variable(struct place *p) {
  struct mx_var *v = WRITABLE(struct mx_var, p->m->nvars ? &p->m->vars[below(p->m->nvars)] : NULL);
  if (!v) return;
  switch (below(5)) {
  case 0: v->size = below(3) ? v->size + below(9) - 4 : interesting(); break;
  case 1: v->align = below(2) ? 1u << below(18) : (uint32_t)interesting(); break;
  case 2: v->space = (uint8_t)below(7); break;
  case 3: v->flags = (uint8_t)below(18); break;
  default: v->ninit = below(v->ninit + 1); break;
  }
}
static void other_relocation(struct place *p) {
  for (uint32_t k = 0, first = (uint32_t)below(p->m->nvars); k < p->m->nvars; k++) {
    const struct mx_var *v = &p->m->vars[(first + k) % p->m->nvars];
    if (!v->nrelocs) continue;
    struct mx_reloc *r = WRITABLE(struct mx_reloc, &v->relocs[below(v->nrelocs)]);
    switch (below(6)) {
    case 0: r->offset = below(2) ? below(v->size + 9) : interesting(); break;
    case 1: r->size = (uint8_t)below(16); break;
    case 2: r->kind = (uint8_t)below(5); break;
    case 3: r->index = (uint32_t)(below(2) ? below(9) : interesting()); break;
    case 4: r->addend = interesting(); break;
    default: r->byte = (uint8_t)below(16); break;
    }
    return;
  }
}
static void other_parameter(struct place *p) {
  struct mx_param *q = WRITABLE(struct mx_param, p->f->nparams ? &p->f->params[below(p->f->nparams)] : NULL);
  if (!q) return;
  switch (below(5)) {
  case 0: q->offset = (uint32_t)(below(2) ? q->offset + below(17) - 8 : interesting()); break;
  case 1: q->size = (uint32_t)(below(2) ? q->size + below(9) - 4 : interesting()); break;
  case 2: q->align = (uint16_t)(1u << below(17)); break;
  case 3: q->type = (uint8_t)below(64); break;
  default: q->is_pointer = !q->is_pointer; break;
  }
}
static void other_name(struct place *p) {
  struct mx_name *n = WRITABLE(struct mx_name, p->f->nnames ? &p->f->names[below(p->f->nnames)] : NULL);
  struct mx_line *l = WRITABLE(struct mx_line, p->f->nlines ? &p->f->lines[below(p->f->nlines)] : NULL);
  if (l && !below(3)) l->pc = (uint32_t)interesting(), l->file = (uint32_t)below(5);
  if (!n) return;
  switch (below(5)) {
  case 0: n->slot = (uint16_t)interesting(); break;
  case 1: n->lo = (uint32_t)interesting(); break;
  case 2: n->hi = (uint32_t)interesting(); break;
  case 3: n->spilled = !n->spilled; break;
  default:
    n->type = (uint8_t)below(32);
    n->cls = (uint8_t)below(6);
    break;
  }
}
static void other_call(struct place *p) {
  if (!(p->o->flags & MX_F_CALL)) return put_op(p->w, (unsigned)below(MX_OP_COUNT), mx_w_mod(*p->w));
  *p->w = (*p->w & ~((mx_word)0xFFFFF << 24)) | (mx_word)below(p->m->nfuncs + 2u) << 24;
  if (!below(3)) *p->w ^= (mx_word)1 << (44 + below(20));
}
static void other_machine(struct place *p) {
  if (below(3)) p->m->lanes = p->m->lanes == 32 ? 64 : 32, p->m->sm = p->m->lanes == 32 ? 90 : 0;
  else p->m->address_size = (uint32_t)(below(2) ? 32 : interesting() & 127);
}

#define GENTLE(X) \
  X(other_operand) \
  X(other_branch) X(other_opcode) X(other_modifier) X(other_guard) X(other_literal) X(copied_instruction) X(other_table)
#define ROUGH(X) \
  X(any_operand) \
  X(one_bit) \
  X(any_branch) \
  X(any_word) \
  X(frame_size) \
  X(function_number) \
  X(shorter_list) \
  X(any_literal) \
  X(other_argument) \
  X(other_prototype) \
  X(other_shared) X(other_variable) X(other_relocation) X(other_parameter) X(other_name) X(other_call) X(other_machine)
static const struct {
  const char *name;
  void (*apply)(struct place *p);
} all[] = {
#define X(name_) {#name_, name_},
    GENTLE(X) ROUGH(X)
#undef X
};
#define X(name_) +1
const unsigned ngentle = 0 GENTLE(X), nmutations = 0 GENTLE(X) ROUGH(X);
#undef X
const char *mutation_name(unsigned number) { return all[number].name; }
void mutation_apply(unsigned number, struct mx_image *image) {
  static struct place p;
  if (find_place(&p, image)) all[number].apply(&p);
}

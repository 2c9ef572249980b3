/* The uninit tool: use of undefined values, that is, of registers and memory that were never written. They are reported
 * where they have consequences: in a branch, an address, a count, or a store whose value the host reads.
 *
 * A bit for each lane of each register (in a shadow behind the frame's slots) and for each byte of memory (shadow.c)
 * says whether the value is defined. A result is defined if all operands are; a selection's, if the selected operand
 * is. With each register and each stored word goes a number that says where the undefined value came from (struct
 * origin_note). Device memory counts as written unless it was allocated while the tool was on.
 *
 * As long as a warp has met no undefined value, only those registers are followed that may be read before they are
 * written (definite.c), since all others are defined. The first undefined value taints the warp, and all are
 * followed. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- notes ------------------------------------------------------------------------------------------------------*/
static uint32_t note(struct mx_check *c, uint32_t site, enum undefined_what what, bool hole, uint64_t address) {
  const uint32_t key = (site * 2u + hole) * NOTE_KINDS + (uint32_t)what;
  if (!c->notes) {
    c->notes = calloc((c->code->nsites + (size_t)1) * 2 * NOTE_KINDS, sizeof *c->notes);
    if (!c->notes) return 0;
  }
  if (!c->notes[key].known)
    c->notes[key] =
        (struct origin_note){.address = address, .site = site, .what = (uint8_t)what, .hole = hole, .known = true};
  return key + 1;
}
static const struct origin_note *note_at(const struct mx_check *c, uint32_t from) {
  return from && c->notes ? &c->notes[from - 1] : NULL;
}
/* A mask of lanes is the result, and the bits of these lanes are undefined. */
static uint32_t note_mask(struct mx_check *c, uint32_t site, uint64_t lanes, uint32_t from) {
  const uint32_t to = note(c, site, NOTE_MASK, false, lanes);
  if (to) c->notes[to - 1].address = lanes, c->notes[to - 1].from = from;
  return to;
}

/* ---- the shadow of a frame's registers
 * ------------------------------------------------------------------------------*/
static uint64_t *defined_of(const struct mx_check *c, struct mx_frame *f) {
  return (uint64_t *)(void *)(f->slots + c->code->shadow_at[f->fn->number]);
}
static uint32_t *notes_of(const struct mx_check *c, struct mx_frame *f) {
  return (uint32_t *)(void *)(f->slots + c->code->shadow_at[f->fn->number] +
                              (size_t)c->code->nslots[f->fn->number] * 8);
}

/* The second half of the text: where the undefined value came from. */
static void tell_origin(const struct mx_check *c, struct finding *f, uint32_t from, uint64_t warp) {
  const struct origin_note *n = note_at(c, from);
  if (n && n->what == NOTE_MASK) n = note_at(c, n->from);
  static const char *const texts[] = {[NOTE_REGISTER] = "a register that was not written before, read",
                                      [NOTE_SHARED] = "shared memory that nobody wrote, read",
                                      [NOTE_LOCAL] = "local memory that nobody wrote, read",
                                      [NOTE_GLOBAL] = "new memory of the device that nobody wrote, read",
                                      [NOTE_HEAP] = "memory of the heap that nobody wrote, read"};
  if (n) {
    const char *text = texts[n->what];
    char *where = n->what == NOTE_REGISTER || n->what == NOTE_LOCAL ? NULL : mx__where_of(c, n->address, 1);
    mx__found_other(f, c, where ? mx__format("%s (%s)", text, where) : strdup(text), n->site, warp, 0);
    free(where);
  }
}

static void decides(struct mx_exec *x, uint32_t site, uint64_t lanes, uint32_t from, const char *kind,
                    const char *what) {
  struct mx_check *c = check_of(x);
  struct finding *f = mx__finding(x, MX_CHECK_UNINIT, kind, site, lanes, from, 0);
  if (!f) return;
  tell_origin(c, f, from, warp_state(x)->number);
  mx__found_end(f, mx__format("%s depends on a value that was never written", what));
}

/* From here on all values of the current warp are followed; registers that were not followed so far are defined. */
static void taint(struct mx_exec *x) {
  struct mx_check *c = check_of(x);
  warp_state(x)->tainted = true;
  c->light = false;
  for (uint32_t n = 0; n < x->warp->nsplits; n++)
    for (struct mx_frame *f = x->warp->splits[n].frame; f; f = f->parent)
      for (uint32_t slot = 0; slot < c->code->nslots[f->fn->number]; slot++)
        if (!mx__is_tracked(c, f->fn->number, slot)) defined_of(c, f)[slot] = UINT64_MAX;
}
const struct mx_insn *mx__uninit_leave(struct mx_exec *x, const struct mx_insn *i) {
  taint(x);
  x->steps--; /* the instruction is executed again */
  return mx__leave(x, i->pc, MX_EV_RESCHED);
}
static bool is_followed(const struct mx_check *c, const struct mx_frame *f, uint32_t slot) {
  return !c->light || mx__is_tracked(c, f->fn->number, slot);
}
/* The lanes of m in which a register is undefined. */
static uint64_t missing(const struct mx_check *c, struct mx_frame *f, const struct reg *r, uint64_t m, uint32_t *from) {
  uint64_t bad = 0;
  for (unsigned k = 0; r->slot != NO_SLOT && k <= r->pair; k++)
    if (is_followed(c, f, r->slot + k)) bad |= m & ~defined_of(c, f)[r->slot + k];
  if (bad) *from = notes_of(c, f)[r->slot];
  return bad;
}
static void put(struct mx_exec *x, struct mx_frame *f, const struct reg *r, uint64_t m, uint64_t defined,
                uint32_t from) {
  struct mx_check *c = check_of(x);
  for (unsigned k = 0; k <= r->pair; k++) {
    if (!is_followed(c, f, r->slot + k)) {
      if (!(m & ~defined)) continue;
      taint(x);
    }
    uint64_t *d = &defined_of(c, f)[r->slot + k];
    *d = (*d & ~m) | (defined & m);
    if (m & ~defined) notes_of(c, f)[r->slot + k] = from;
  }
}

/* The undefined lanes of SEL(type, C, A, B): which operands are selected from which is read from the row's text. */
static uint64_t chosen(struct mx_exec *x, uint64_t m, const uint64_t *bad) {
  const struct mx_insn *i = check_of(x)->insn;
  const struct mx_op_info *o = &mx__ops[i->op];
  uint64_t a = 0;
  if (o->nopnds != 4) return bad[0] | bad[1] | bad[2];
  if (o->opnd[3].type == MX_T_pred) a = *(const uint64_t *)mx__operand(x, i->o[3]);
  else return bad[2] | (bad[0] & bad[1]); /* selected by the sign of a number */
  return (bad[2] | (bad[0] & a) | (bad[1] & ~a)) & m;
}

/* The lanes of m in which operand k has no bit of `bits` that is `one`. */
static uint64_t without(const struct mx_exec *x, unsigned k, uint64_t m, bool one, uint64_t bits) {
  const struct mx_insn *i = check_of(x)->insn;
  const struct mx_op_info *o = &mx__ops[i->op];
  const struct mx_type_info *t = &mx__types[o->opnd[k].type];
  const void *p = mx__operand(x, mx__operand_ref(i, k));
  uint64_t lanes = 0;
  if (t->slot_class == MX_PRED) return m & (one ? ~*(const uint64_t *)p : *(const uint64_t *)p);
  if (t->slot_class != MX_R32 && t->slot_class != MX_R64) return 0;
  if (t->bits < 64) bits &= (UINT64_C(1) << t->bits) - 1;
  MX_FOR_LANES (l, m) {
    const uint64_t at = x->uniform_operands >> k & 1 ? 0 : (uint64_t)l,
                   v = t->slot_class == MX_R32 ? ((const uint32_t *)p)[at] : ((const uint64_t *)p)[at];
    lanes |= (uint64_t)(!((one ? v : ~v) & bits)) << l;
  }
  return lanes;
}
/* The lanes of m in which another operand decides the result of `and` or `or`: it is 0, or all ones; or at least where
 * a mask of lanes has undefined bits. */
static uint64_t decided(const struct mx_exec *x, const struct site *s, uint64_t m, const uint64_t *bad, uint32_t from) {
  const struct mx_check *c = check_of(x);
  const struct mx_op_info *o = &mx__ops[s->insn->op];
  const bool and = s->logic == LOGIC_AND;
  const struct origin_note *n = note_at(c, from);
  unsigned first = 0;
  while (o->opnd[first].role == MX_OUT) first++;
  if (s->nin == 3) return without(x, first + 2, bad[0] | bad[1], and, 1) & ~bad[2];
  if (s->nin != 2) return 0;
  const uint64_t bits = n && n->what == NOTE_MASK ? n->address : UINT64_MAX;
  return without(x, first + 1, m & bad[0] & ~bad[1], and, bits) | without(x, first, m & bad[1] & ~bad[0], and, bits);
}

/* The lanes of m whose result of a warp operation is undefined; bad: those that have an undefined operand. */
static uint64_t from_others(struct mx_exec *x, uint32_t site, uint64_t m, const uint64_t *bad_of, uint64_t bad,
                            uint32_t *from) {
  const struct site *s = &check_of(x)->code->sites[site];
  const struct mx_insn *i = check_of(x)->insn;
  const struct mx_op_info *o = &mx__ops[i->op];
  const unsigned first = o->opnd[1].role == MX_OUT ? 2 : 1;
  if (s->effect == MX_DOES_SHUFFLE) {
    const uint32_t *b = mx__operand(x, i->o[first + 1]), *clamp = mx__operand(x, i->o[first + 2]);
    uint64_t result = m & (bad_of[1] | bad_of[2] | bad_of[3]);
    MX_FOR_LANES (l, m & ~result) {
      bool in_range;
      const unsigned j = mx__shuffle_source(i->mod, (unsigned)l, x->lanes, b[l], clamp[l], &in_range);
      result |= (bad_of[0] >> (in_range ? j : (unsigned)l) & 1) << l;
    }
    return result;
  }
  if (s->effect == MX_DOES_REDUCE) return m;
  if (s->effect == MX_DOES_VOTE) { /* lanes whose predicates are defined may decide */
    const uint64_t p = *(const uint64_t *)mx__operand(x, i->o[first]), yes = p & m & ~bad, no = ~p & m & ~bad;
    return (i->mod == 0 ? no : i->mod == 1 ? yes : yes && no) ? 0 : m;
  }
  /* ballots and matches: the bits of some lanes are undefined, and may be masked off */
  if (bad != m) *from = note_mask(check_of(x), site, bad, *from);
  return m;
}

void mx__uninit_before(struct mx_exec *x, uint32_t site, uint64_t m) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const struct mx_op_info *o = &mx__ops[s->insn->op];
  struct mx_frame *f = x->frame;
  const struct reg *in = &c->code->regs[s->first_in];
  c->result = m, c->result_from = 0;
  c->loaded = m, c->loaded_from = 0;
  for (unsigned k = 0; k < s->elements; k++) c->element[k] = m;
  if (c->light && !s->tracked) return;
  if (s->guard != NO_SLOT) {
    const struct reg guard = {s->guard, 0, 1, 0, 0};
    uint32_t from = 0;
    const uint64_t bad = missing(c, f, &guard, x->mask, &from);
    if (bad && o->cls != MX_LANE) {
      if (!from) from = note(c, site, NOTE_REGISTER, false, 0);
      decides(x, site, bad, from, o->flags & MX_F_BRANCH ? "branch" : "guard",
              o->flags & MX_F_BRANCH ? "a branch" : "whether the instruction is executed");
      put(x, f, &guard, bad, bad, 0);
    }
  }
  if (!m || o->flags & (MX_F_CALL | MX_F_MOVI)) return;
  uint64_t bad_of[4] = {0}, bad = 0;
  uint32_t from = 0, first = 0, holes = 0;
  for (unsigned k = 0; k < s->nin; k++) {
    uint64_t b = missing(c, f, &in[k], m, &from);
    if (!b) continue;
    if (!from) from = note(c, site, NOTE_REGISTER, false, 0);
    if (in[k].address || (o->cls == MX_CTRL && s->effect != MX_DOES_RETURN) || s->effect == MX_DOES_FREE ||
        s->effect == MX_DOES_MALLOC) {
      decides(x, site, b, from, in[k].address ? "address" : "control",
              in[k].address ? "an address" : "what the instruction does");
      put(x, f, &in[k], b, b, 0);
      b = 0;
    }
    if (k < 4) bad_of[k] = b;
    if (s->writes && s->elements > 1 && !in[k].address) {
      const struct origin_note *n = note_at(c, from);
      c->element[in[k].element] &= ~b;
      if (n && n->hole) holes |= UINT32_C(1) << in[k].element;
    }
    bad |= b;
    if (b && !first) first = from;
  }
  if (s->selects && s->nin == 3) bad = chosen(x, m, bad_of);
  if (s->logic && bad) bad &= ~decided(x, s, m, bad_of, first);
  if (o->cls == MX_CROSS && bad) bad = from_others(x, site, m, bad_of, bad, &first);
  if (holes) { /* a structure is copied, and takes its holes along */
    uint64_t some = 0;
    for (unsigned k = 0; k < s->elements; k++) some |= c->element[k];
    bad = 0;
    for (unsigned k = 0; k < s->elements; k++) {
      if (holes >> k & 1) c->element[k] |= some;
      bad |= m & ~c->element[k];
    }
  }
  c->result = m & ~bad;
  c->result_from = first;
}

void mx__uninit_after(struct mx_exec *x, uint32_t site, uint64_t m, struct mx_frame *f) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const struct reg *out = &c->code->regs[s->first_out];
  uint64_t defined = c->result;
  uint32_t from = c->result_from;
  if (c->light && !s->tracked && !(s->access && m & ~c->loaded)) return;
  if (s->access) {
    defined &= c->loaded;
    if (m & ~c->loaded) from = c->loaded_from;
  }
  for (unsigned k = 0; k < s->nout; k++) /* the predicate of a shuffle depends on lanes only */
    put(x, f, &out[k], m,
        s->effect == MX_DOES_SHUFFLE && out[k].predicate ? m
        : s->elements > 1                                ? c->result & c->element[out[k].element]
                                                         : defined,
        from);
}

void mx__uninit_call(struct mx_exec *x, uint32_t site, struct mx_frame *caller, struct mx_frame *callee) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const struct mx_func *f = callee->fn->func;
  const bool indirect = s->insn->op != MX_CALL;
  for (uint32_t k = 0; k < f->nargs && k + indirect < s->nin; k++) {
    const struct reg *arg = &c->code->regs[s->first_in + k + indirect];
    const uint32_t base = f->args[k].cls == MX_PRED  ? 0u
                          : f->args[k].cls == MX_R32 ? f->npred
                                                     : (uint32_t)f->npred + f->n32;
    struct reg to = {base + f->args[k].slot, arg->pair, arg->predicate, 0, 0};
    uint32_t from = 0;
    const uint64_t bad = missing(c, caller, arg, x->mask, &from);
    put(x, callee, &to, x->mask, ~bad, from);
  }
  struct block_state *b = block_state(x->block);
  const uint64_t lo = callee->local_base + f->arg_bytes, hi = callee->local_base + f->local_bytes;
  if (b->local && hi > lo && hi <= b->local_top)
    MX_FOR_LANES (l, x->mask)
      mx__defined_set(b->local + (x->warp->number * x->lanes + l) * b->local_stride + lo, hi - lo, false);
}

/* The lanes of x->mask return: the caller's results become defined or not, and are not read before that. */
void mx__uninit_return(struct mx_exec *x) {
  struct mx_check *c = check_of(x);
  struct mx_frame *callee = x->frame, *caller = callee->parent;
  const struct mx_func *f = callee->fn->func, *g = caller->fn->func;
  const struct mx_insn *call = &caller->fn->insns[callee->call];
  for (uint32_t k = 0; k < f->nresults; k++) {
    const unsigned cls = f->results[k].cls;
    const bool pair = cls == MX_R128;
    const uint32_t from_base = cls == MX_PRED ? 0u : cls == MX_R32 ? f->npred : (uint32_t)f->npred + f->n32;
    const uint32_t lanes = x->lanes, at = (uint32_t)call->more[k];
    const uint32_t slot = cls == MX_PRED  ? at / 8
                          : cls == MX_R32 ? g->npred + (at - caller->fn->off_r32) / (lanes * 4)
                                          : g->npred + g->n32 + (at - caller->fn->off_r64) / (lanes * 8);
    const struct reg r = {from_base + f->results[k].slot, pair, cls == MX_PRED, 0, 0},
                     to = {slot, pair, r.predicate, 0, 0};
    uint32_t from = 0;
    const uint64_t bad = missing(c, callee, &r, x->mask, &from);
    put(x, caller, &to, x->mask, ~bad, from);
  }
}

/* ---- memory -------------------------------------------------------------------------------------------------------*/
static struct undefined *region_at(struct mx_check *c, uint64_t address) {
  if (c->recent < c->nundefined && address - c->undefined[c->recent].lo < c->undefined[c->recent].size)
    return &c->undefined[c->recent];
  for (size_t k = 0; k < c->nundefined; k++)
    if (address - c->undefined[k].lo < c->undefined[k].size) return c->recent = k, &c->undefined[k];
  return NULL;
}

unsigned char *mx__uninit_bytes(struct mx_check *c, const struct mx_exec *x, uint64_t lane, uint64_t address,
                                uint64_t bytes, enum undefined_what *what) {
  const uint64_t window = address >> MX_WINDOW_SHIFT, in = address & (MX_WINDOW(1) - 1);
  if (window == MX_WINDOW_SHARED) {
    uint64_t lo;
    const struct block_state *b = mx__shared_of(x, address, &lo);
    *what = NOTE_SHARED;
    return b && address - lo + bytes <= c->launch->shared_bytes ? (unsigned char *)b->cells.wrote + (address - lo)
                                                                : NULL;
  }
  if (window == MX_WINDOW_LOCAL) {
    struct block_state *b = block_state(x->block);
    const size_t all = b->local_stride * x->lanes * b->nwarps;
    *what = NOTE_LOCAL;
    if (!b->local) {
      b->local = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (b->local == MAP_FAILED) return b->local = NULL;
    }
    if (in + bytes > c->launch->local_bytes) return NULL;
    if (in + bytes > b->local_top) b->local_top = in + bytes;
    return b->local + (x->warp->number * x->lanes + lane) * b->local_stride + in;
  }
  if (window != MX_WINDOW_GLOBAL) return NULL;
  *what = NOTE_HEAP;
  if (address >= MX_HEAP_START) return mx__shadow_wrote(c, address, bytes);
  const struct undefined *u = c->nundefined ? region_at(c, address) : NULL;
  *what = NOTE_GLOBAL;
  return u && address - u->lo + bytes <= u->size ? mx__shadow_wrote(c, address, bytes) : NULL;
}

static struct stored *stored_at(struct mx_check *c, uint64_t address, bool make) {
  if (!make && !c->nstored) return NULL;
  if (make && c->nstored * 2 >= c->stored_size) {
    const size_t size = c->stored_size ? c->stored_size * 2 : 256;
    struct stored *more = calloc(size, sizeof *more);
    if (!more) return NULL;
    for (size_t k = 0; k < c->stored_size; k++) {
      if (!c->stored[k].used) continue;
      size_t at = c->stored[k].address * 0x9E3779B97F4A7C15u >> 24 & (size - 1);
      while (more[at].used) at = (at + 1) & (size - 1);
      more[at] = c->stored[k];
    }
    free(c->stored);
    c->stored = more, c->stored_size = size;
  }
  size_t at = address * 0x9E3779B97F4A7C15u >> 24 & (c->stored_size - 1);
  for (; c->stored[at].used; at = (at + 1) & (c->stored_size - 1))
    if (c->stored[at].address == address) return &c->stored[at];
  if (!make) return NULL;
  c->stored[at] = (struct stored){.address = address, .used = true};
  c->nstored++;
  return &c->stored[at];
}

/* From now on, device memory in which an undefined value is stored is followed. */
static void look_after(struct mx_check *c, uint64_t address) {
  const struct mx_alloc *a = mx__memory_record(c->launch->memory, address, NULL);
  if (a) mx__undefined_add(c, a->lo, a->size, true);
}

/* The elements of a vector, or the one value, that were never written, as bits. Copies of structures include their
 * padding, so an element with any defined byte counts as defined. */
static uint32_t undefined_in(const struct site *s, const unsigned char *wrote, uint64_t bytes) {
  const unsigned n = s->elements > 1 ? s->elements : 1;
  uint32_t bits = 0;
  for (unsigned k = 0; wrote && k < n; k++) bits |= (uint32_t)mx__defined_none(wrote + bytes / n * k, bytes / n) << k;
  return bits;
}
/* Whether some lane reads memory that was never written. */
static bool reads_undefined(struct mx_check *c, const struct mx_exec *x, const struct site *s,
                            const struct mx_access *a) {
  MX_FOR_LANES (l, a->lanes) {
    enum undefined_what what;
    const unsigned char *wrote = mx__uninit_bytes(c, x, l, a->address[l] + a->base, a->bytes, &what);
    if (undefined_in(s, wrote, a->bytes)) return true;
  }
  return false;
}
bool mx__uninit_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  if (s->effect == MX_DOES_COPY) return false; /* see mx__uninit_copy */
  if (x->in_compiled && s->nout && !s->object && (!a->write || s->access == ACCESS_ATOMIC) &&
      reads_undefined(c, x, s, a))
    return true;
  const bool object = s->object, atomic = s->access == ACCESS_ATOMIC && !object;
  MX_FOR_LANES (l, a->lanes) {
    const uint64_t address = a->address[l] + a->base;
    enum undefined_what what = NOTE_GLOBAL;
    bool defined = c->result >> l & 1;
    unsigned char *wrote = mx__uninit_bytes(c, x, l, address, a->bytes, &what);
    if ((!a->write || atomic) && !object) {
      const uint32_t none = undefined_in(s, wrote, a->bytes);
      if (none) {
        const bool hole = s->elements > 1 && none + 1 != 1u << s->elements;
        const uint64_t first = address + a->bytes / (s->elements ? s->elements : 1) * (unsigned)__builtin_ctz(none);
        const struct stored *kept = c->nstored && what == NOTE_GLOBAL ? stored_at(c, first & ~3ull, false) : NULL;
        c->loaded &= ~(1ull << l);
        for (uint32_t k = none; k; k &= k - 1) c->element[__builtin_ctz(k)] &= ~(1ull << l);
        c->loaded_from = kept ? kept->origin : note(c, site, what, hole, first);
        defined &= !a->write;
      }
      if (!a->write) continue;
    }
    if (!defined && !wrote && address >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL && address < MX_HEAP_START) {
      look_after(c, address);
      wrote = mx__uninit_bytes(c, x, l, address, a->bytes, &what);
    }
    if (!wrote) continue;
    mx__defined_set(wrote, a->bytes, defined);
    if (defined) continue;
    const unsigned elements = s->elements > 1 ? s->elements : 1;
    const uint64_t each = a->bytes / elements;
    for (unsigned k = 0; elements > 1 && k < elements; k++)
      mx__defined_set(wrote + k * each, each, c->element[k] >> l & 1);
    for (uint64_t k = address & ~3ull; k < address + a->bytes && what == NOTE_GLOBAL; k += 4) {
      if (elements > 1 && each >= 4 && c->element[(k - address) / each] >> l & 1) continue;
      struct stored *kept = stored_at(c, k, true);
      if (!kept) continue;
      kept->origin = c->result_from ? c->result_from : c->loaded_from;
      kept->site = site, kept->warp = warp_state(x)->number, kept->lane = (uint8_t)l;
    }
  }
  return false;
}

void mx__uninit_copy(struct mx_exec *x, const struct mx_insn *i, uint64_t m) {
  struct mx_check *c = check_of(x);
  const uint64_t *to = mx__operand(x, i->o[1]), *from = mx__operand(x, i->o[2]), *n = mx__operand(x, i->o[3]);
  MX_FOR_LANES (l, m) {
    enum undefined_what what;
    unsigned char *t = n[l] ? mx__uninit_bytes(c, x, l, to[l], n[l], &what) : NULL;
    const unsigned char *f = n[l] ? mx__uninit_bytes(c, x, l, from[l], n[l], &what) : NULL;
    if (!t && f && !mx__defined_all(f, n[l]) && to[l] >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL && to[l] < MX_HEAP_START) {
      look_after(c, to[l]);
      t = mx__uninit_bytes(c, x, l, to[l], n[l], &what);
    }
    if (!t) continue;
    for (uint64_t k = 0; k < n[l]; k++) mx__defined_set(t + k, 1, !f || mx__defined_all(f + k, 1));
  }
}

void mx__uninit_set_register(struct mx_check *c, struct mx_frame *f, unsigned cls, uint32_t slot, bool spilled,
                             uint64_t lanes) {
  const struct mx_func *fn = f->fn->func;
  if (!(c->tools & MX_CHECK_UNINIT) || !c->code) return;
  uint32_t at = slot + (cls == MX_PRED ? 0u : cls == MX_R32 ? fn->npred : (uint32_t)fn->npred + fn->n32);
  if (spilled)
    at = slot + (uint32_t)fn->npred + fn->n32 + fn->n64 +
         (cls == MX_PRED  ? 0u
          : cls == MX_R32 ? fn->nspillpred
                          : (uint32_t)fn->nspillpred + fn->nspill32);
  for (unsigned k = 0; k <= (cls == MX_R128); k++) defined_of(c, f)[at + k] |= lanes;
}
void mx__uninit_set_memory(struct mx_check *c, const struct mx_block *b, uint32_t warp, uint32_t lane, uint64_t address,
                           uint64_t bytes) {
  struct block_state *s = block_state(b);
  const uint64_t window = address >> MX_WINDOW_SHIFT, in = address & (MX_WINDOW(1) - 1);
  if (!(c->tools & MX_CHECK_UNINIT) || !c->code) return;
  unsigned char *wrote = NULL;
  if (window == MX_WINDOW_GLOBAL && address >= MX_HEAP_START) wrote = mx__shadow_wrote(c, address, bytes);
  else if (window == MX_WINDOW_GLOBAL) mx__undefined_written(c, address, bytes);
  else if (window == MX_WINDOW_SHARED && s && in + bytes <= c->launch->shared_bytes)
    wrote = (unsigned char *)s->cells.wrote + in;
  else if (window == MX_WINDOW_LOCAL && s && s->local && in + bytes <= c->launch->local_bytes)
    wrote = s->local + (warp * c->launch->lanes + lane) * s->local_stride + in;
  if (wrote) mx__defined_set(wrote, bytes, true);
}

static void set(struct mx_check *c, uint64_t address, uint64_t bytes, bool to) {
  unsigned char *wrote = mx__shadow_wrote(c, address, bytes);
  if (wrote) mx__defined_set(wrote, bytes, to);
}
void mx__uninit_heap(struct mx_check *c, uint64_t address, uint64_t bytes) { set(c, address, bytes, false); }

/* ---- the host -----------------------------------------------------------------------------------------------------*/
/* Bytes that are reused are undefined again; bytes that were never used need not be marked. */
static void undefine(struct mx_check *c, uint64_t address, uint64_t bytes) {
  enum { PAGE = 4096 };
  unsigned char *at = mx__shadow_wrote(c, address, bytes), *end = at + bytes;
  unsigned char *first = (unsigned char *)(((uintptr_t)at + PAGE - 1) & ~(uintptr_t)(PAGE - 1)),
                *last = (unsigned char *)((uintptr_t)end & ~(uintptr_t)(PAGE - 1));
  if (!at) return;
  if (c->launch || last <= first || madvise(first, (size_t)(last - first), MADV_DONTNEED)) {
    mx__defined_set(at, bytes, false);
    return;
  }
  mx__defined_set(at, (uint64_t)(first - at), false);
  mx__defined_set(last, (uint64_t)(end - last), false);
}
void mx__undefined_add(struct mx_check *c, uint64_t lo, uint64_t size, bool defined) {
  if (!mx__check_grow(c, (void **)&c->undefined, c->nundefined, &c->undefined_room, sizeof *c->undefined)) return;
  if (defined) set(c, lo, size, true);
  else undefine(c, lo, size);
  c->undefined[c->nundefined++] = (struct undefined){lo, size};
}
static void undefined_drop(struct mx_check *c, size_t k) { c->undefined[k] = c->undefined[--c->nundefined]; }
void mx__undefined_freed(struct mx_check *c, uint64_t address) {
  for (size_t k = 0; k < c->nundefined; k++)
    if (c->undefined[k].lo == address) return undefined_drop(c, k);
}
void mx__undefined_written(struct mx_check *c, uint64_t address, uint64_t bytes) {
  for (size_t k = 0; k < c->nundefined; k++) {
    const struct undefined *u = &c->undefined[k];
    if (address - u->lo >= u->size) continue;
    if (bytes > u->size - (address - u->lo)) bytes = u->size - (address - u->lo);
    if (address == u->lo && bytes == u->size) return undefined_drop(c, k); /* all of it has been written */
    return set(c, address, bytes, true);
  }
}
void mx__undefined_copied(struct mx_check *c, uint64_t to, uint64_t from, uint64_t bytes) {
  const struct undefined *f = region_at(c, from);
  if (!f) return mx__undefined_written(c, to, bytes);
  const uint64_t left = f->size - (from - f->lo), n = bytes < left ? bytes : left;
  const struct undefined *t = region_at(c, to);
  if (!t) return;
  const unsigned char *source = mx__shadow_wrote(c, from, n);
  for (uint64_t k = 0; k < n && to - t->lo + k < t->size; k++)
    set(c, to + k, 1, !source || mx__defined_all(source + k, 1));
}

/* ---- what the host reads ------------------------------------------------------------------------------------------
 * At the end of a launch, while its sites are known, words that hold undefined values get a hidden finding, which is
 * reported when the host reads one of them. */
static int by_address(const void *a, const void *b) {
  const uint64_t x = ((const struct stored *)a)->address, y = ((const struct stored *)b)->address;
  return x < y ? -1 : x > y;
}
static bool still_undefined(struct mx_check *c, uint64_t address) {
  const struct undefined *u = region_at(c, address);
  if (!u) return false;
  const uint64_t left = u->size - (address - u->lo), n = left < 4 ? left : 4;
  const unsigned char *wrote = mx__shadow_wrote(c, address, n);
  return wrote && !mx__defined_all(wrote, n);
}
static void keep_stored(struct mx_check *c) {
  size_t n = 0;
  for (size_t k = 0; k < c->stored_size; k++)
    if (c->stored[k].used && still_undefined(c, c->stored[k].address)) c->stored[n++] = c->stored[k];
  if (n) qsort(c->stored, n, sizeof *c->stored, by_address);
  for (size_t k = 0; k < n; k++) {
    const struct stored *s = &c->stored[k];
    struct finding *f = mx__found_at(c, MX_CHECK_UNINIT, "stored", s->site, s->warp, 1ull << s->lane, s->origin, 1);
    if (f) {
      f->hidden = true;
      c->nfindings--;
      f->info.count = 0;
      mx__found_address(f, c, s->address, 4, mx__where_of(c, s->address, 4));
      tell_origin(c, f, s->origin, s->warp);
      mx__found_end(f, mx__format("the host reads a value that was never written, stored here"));
    } else f = c->again;
    if (!f || !mx__check_grow(c, (void **)&c->kept, c->nkept, &c->kept_room, sizeof *c->kept)) continue;
    c->kept[c->nkept++] = (struct kept){s->address, f};
  }
}
void mx__undefined_read(struct mx_check *c, uint64_t address, uint64_t bytes) {
  for (size_t k = 0; k < c->nkept; k++) {
    struct kept *s = &c->kept[k];
    if (!s->finding || s->address < address || s->address >= address + bytes || !still_undefined(c, s->address))
      continue;
    s->finding->info.count++;
    if (s->finding->hidden) s->finding->hidden = false, c->nfindings++;
    s->finding = NULL; /* each word is reported once */
  }
}

/* ---- life ---------------------------------------------------------------------------------------------------------*/
void mx__uninit_begin(struct mx_check *c) {
  c->heap_bytes = c->launch->heap ? mx__heap_size(c->launch->heap) : 0;
  c->nkept = 0; /* the launch may write what was undefined */
}
void mx__uninit_end(struct mx_check *c) {
  keep_stored(c);
  free(c->stored);
  free(c->notes);
  c->stored = NULL;
  c->notes = NULL;
  c->nstored = c->stored_size = 0;
}
void mx__uninit_block(struct mx_check *c, struct block_state *b) {
  if (b->local && b->local_top)
    for (uint32_t l = 0; l < b->nwarps * c->launch->lanes; l++) memset(b->local + l * b->local_stride, 0, b->local_top);
  b->local_top = 0;
}
void mx__uninit_block_end(struct mx_check *c, struct block_state *b) {
  if (b->local) munmap(b->local, b->local_stride * c->launch->lanes * b->nwarps);
}
void mx__uninit_forget(struct mx_check *c) {
  c->nundefined = 0;
  free(c->undefined);
  free(c->kept);
  c->undefined = NULL;
  c->kept = NULL;
  c->undefined_room = c->nkept = c->kept_room = 0;
}

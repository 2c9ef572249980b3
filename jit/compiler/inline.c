/* inline.h says what this does. */
#include "inline.h"

#include "vm/exec/jitabi.h"
#include "vm/load/order.h"

#include <stdlib.h>
#include <string.h>

struct inliner {
  struct ja *a;
  const struct mx_image *image;
  struct mx_func *f; /* the function that is being built */
  mx_word *code;
  struct mx_lit *lits;
  struct mx_table *tables;
  uint32_t room, added, nframes_room;
  bool lead; /* the next word begins a block and an entry */
};

static void *grown(void *p, size_t bytes) {
  p = realloc(p, bytes);
  if (!p) abort(); /* a process of its own: its caller goes on without compiled code */
  return p;
}
static unsigned ext(const mx_word *w, unsigned k) {
  return mx_w_ext_field(w[1 + k / MX_EXT_FIELDS], k % MX_EXT_FIELDS);
}

/* ---- which calls ----------------------------------------------------------------------------------------------*/
static bool has_fixed_stack(const struct mx_func *f) {
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc]))
    if (mx__effect(mx_w_op(f->code[pc])) == MX_DOES_ALLOCATE) return false;
  return true;
}
static bool may_be_copied(const struct ja *a, const struct mx_func *f) {
  bool returns = false;
  if (f->flags & MX_FUNC_KERNEL || f->nspill32 || f->nspill64 || f->nspillpred || !has_fixed_stack(f)) return false;
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    const unsigned op = mx_w_op(f->code[pc]);
    if (op == MX_CALLI || (op == MX_BRX && !ja_jumps(a, &f->tables[mx_w_operand(&f->code[pc], 1)]))) return false;
    returns |= op == MX_RET;
  }
  return returns;
}
/* Finds slots for a copy in frame `parent`, by class: the number of the first one. False: a function cannot have so
 * many. */
static bool find_slots(const struct inliner *t, uint32_t parent, const struct mx_func *f, uint32_t *first) {
  const struct ja_frame *p = &t->a->frames[parent];
  const struct mx_func *pf = &t->image->funcs[p->func];
  first[MX_PRED] = p->first[MX_PRED] + pf->npred, first[MX_R32] = p->first[MX_R32] + pf->n32,
  first[MX_R64] = p->first[MX_R64] + pf->n64;
  first[MX_R64] += first[MX_R64] & 1; /* halves of 128 bits must be at an even number */
  return first[MX_PRED] + f->npred <= MX_MAX_PREDS && first[MX_R32] + f->n32 <= MX_MAX_SLOTS &&
         first[MX_R64] + f->n64 <= MX_MAX_SLOTS && f->npred + f->n32 + f->n64 <= JA_MAX_TOUCH;
}
static bool has_arguments(const struct inliner *t, uint32_t frame, const struct mx_func *f, const mx_word *w) {
  const struct mx_func *from = &t->image->funcs[t->a->frames[frame].func];
  for (uint32_t k = 0; k < f->nargs; k++) {
    const unsigned field = ext(w, f->nresults + k);
    if (field >= MX_LIT && (f->args[k].cls == MX_R128 || from->lits[field - MX_LIT].kind != MX_LIT_VALUE)) return false;
  }
  return true;
}
static bool is_worth(const struct ja_unit *unit, uint32_t callee) {
  const uint64_t words = unit->image->funcs[callee].ncode, calls = unit->calls[callee];
  return words <= unit->in_line || (unit->in_line && words * calls <= JI_COPIES);
}
static bool wanted(const struct inliner *t, uint32_t frame, const mx_word *w, uint32_t *first) {
  const struct ja *a = t->a;
  const uint32_t callee = mx_w_callee(*w);
  const struct mx_func *f = &t->image->funcs[callee];
  if (a->stops || !a->fixed_stack || a->frames[frame].level + 1 > MX_JIT_LEVELS || !may_be_copied(a, f)) return false;
  for (uint32_t k = frame;; k = a->frames[k].parent) {
    if (a->frames[k].func == callee) return false;
    if (!k) break;
  }
  if (!is_worth(a->unit, callee)) return false;
  return t->added + f->ncode <= JI_MOST && t->f->nlits + f->nlits + f->nargs <= MX_MAX_LITS &&
         t->f->ntables + f->ntables <= 0x3FF && find_slots(t, frame, f, first) && has_arguments(t, frame, f, w);
}

/* ---- words ----------------------------------------------------------------------------------------------------*/
static uint32_t emit(struct inliner *t, const mx_word *w, unsigned n, struct ja_origin origin) {
  struct mx_func *f = t->f;
  if (f->ncode + n > t->room) {
    t->room = 2 * t->room + n + 64;
    t->code = grown(t->code, sizeof *t->code * t->room);
    t->a->origin = grown(t->a->origin, sizeof *t->a->origin * (t->room + 1));
  }
  const uint32_t at = f->ncode;
  origin.lead = t->lead, t->lead = false;
  for (unsigned k = 0; k < n; k++) t->code[at + k] = w[k], t->a->origin[at + k] = origin;
  f->ncode += n;
  return at;
}
static unsigned literal(struct inliner *t, struct mx_lit lit) {
  for (uint32_t k = 0; k < t->f->nlits; k++)
    if (t->lits[k].kind == lit.kind && t->lits[k].index == lit.index && t->lits[k].value == lit.value)
      return MX_LIT + k;
  t->lits[t->f->nlits] = lit;
  return MX_LIT + t->f->nlits++;
}
/* Renumbers a field of the frame's own function, of a class or MX_NOCLASS, for the function that is being built. */
static unsigned moved(struct inliner *t, uint32_t frame, unsigned field, unsigned cls) {
  const struct ja_frame *fr = &t->a->frames[frame];
  if (!frame) return field;
  if (field >= MX_LIT) return literal(t, t->image->funcs[fr->func].lits[field - MX_LIT]);
  return cls == MX_NOCLASS ? field : field + fr->first[cls == MX_R128 ? MX_R64 : cls];
}
/* Copies the instruction at w of a frame's function with its operands renumbered; branch targets stay as they are. */
static void rename_operands(struct inliner *t, uint32_t frame, const mx_word *w, mx_word *to) {
  const struct mx_op_info *o = &mx__ops[mx_w_op(*w)];
  const unsigned n = mx_w_length(*w), guard = mx_w_guard(*w);
  memcpy(to, w, n * sizeof *w);
  if (!frame) return;
  if (guard != MX_GUARD_NONE)
    to[0] = (to[0] & ~((mx_word)31 << 11)) | (mx_word)(guard + t->a->frames[frame].first[MX_PRED]) << 11;
  if (o->flags & MX_F_BRANCH) return;
  if (o->flags & MX_F_MOVI) {
    to[0] = (to[0] & ~mx_w_put(0, 0x3FF)) |
            mx_w_put(0, moved(t, frame, mx_w_field(*w, 0), mx__types[o->opnd[0].type].slot_class));
    return;
  }
  if (o->flags & MX_F_CALL) {
    const struct mx_func *f = &t->image->funcs[mx_w_callee(*w)];
    memset(to + 1, 0, (n - 1) * sizeof *to);
    for (unsigned k = 0; k < mx_w_nres(*w) + mx_w_narg(*w); k++) {
      const unsigned cls = k < f->nresults ? f->results[k].cls : f->args[k - f->nresults].cls;
      to[1 + k / MX_EXT_FIELDS] |= mx_w_put_ext(k % MX_EXT_FIELDS, moved(t, frame, ext(w, k), cls));
    }
    return;
  }
  to[0] &= ((mx_word)1 << 24) - 1;
  memset(to + 1, 0, (n - 1) * sizeof *to);
  for (unsigned k = 0; k < o->nopnds; k++) {
    const unsigned type = o->opnd[k].type, field = mx_w_operand(w, k);
    mx_w_set_operand(
        to, k,
        type == MX_T_raw ? field : moved(t, frame, field, type < MX_T_raw ? mx__types[type].slot_class : MX_NOCLASS));
  }
}
/* Adds a move between two slots of a class; both fields are in the new function's numbering. */
static void move(struct inliner *t, unsigned cls, unsigned to, unsigned from, struct ja_origin origin) {
  origin.kind = JA_ADDED, origin.counts = false;
  const unsigned op = cls == MX_PRED ? MX_MOV_PRED : cls == MX_R32 ? MX_MOV_32 : MX_MOV_64;
  for (unsigned h = 0; h < (cls == MX_R128 ? 2u : 1u); h++) {
    const mx_word w = mx_w_make(op, MX_GUARD_NONE, false, 0) | mx_w_put(0, to + h) | mx_w_put(1, from + h);
    emit(t, &w, 1, origin);
  }
}

/* ---- a function, and those that it calls ------------------------------------------------------------------------*/
static uint32_t add_frame(struct inliner *t, struct ja_frame f) {
  struct ja *a = t->a;
  if (a->nframes == t->nframes_room)
    a->frames = grown(a->frames, sizeof *a->frames * (t->nframes_room = 2 * t->nframes_room + 8));
  const struct mx_func *of = &t->image->funcs[f.func];
  if (t->f->npred < f.first[MX_PRED] + of->npred) t->f->npred = (uint16_t)(f.first[MX_PRED] + of->npred);
  if (t->f->n32 < f.first[MX_R32] + of->n32) t->f->n32 = (uint16_t)(f.first[MX_R32] + of->n32);
  if (t->f->n64 < f.first[MX_R64] + of->n64) t->f->n64 = (uint16_t)(f.first[MX_R64] + of->n64);
  a->frames[a->nframes] = f;
  return a->nframes++;
}
static bool jumps_back(const struct mx_table *t, uint32_t pc) {
  bool back = false;
  for (uint32_t k = 0; k < t->ntargets; k++) back |= t->targets[k] <= pc;
  return back;
}
/* Whether code between two pcs may run for long: it contains a loop, or something that the machine does. */
static bool stays_long(const struct inliner *t, uint32_t from, uint32_t end) {
  for (uint32_t pc = from; pc < end; pc += mx_w_length(t->code[pc])) {
    const unsigned op = mx_w_op(t->code[pc]);
    const struct ja_ins i = {
        .op = (uint16_t)op, .w = &t->code[pc], .o = &mx__ops[op], .kind = t->a->origin[pc].kind, .jumps = op == MX_BRX};
    if (op == MX_BRX   ? jumps_back(&t->tables[mx_w_operand(i.w, 1)], pc)
        : op == MX_BRA ? mx_w_target(t->code[pc]) <= pc
                       : ja_always_leaves(&i) && op != MX_RET && op != MX_EXIT && op != MX_TRAP)
      return true;
  }
  return false;
}
static void copy_function(struct inliner *t, uint32_t frame);

static void call_in_line(struct inliner *t, uint32_t frame, uint32_t pc, const uint32_t *first) {
  struct ja *a = t->a;
  const struct mx_func *from = &t->image->funcs[a->frames[frame].func];
  const mx_word *w = &from->code[pc];
  const struct mx_func *f = &t->image->funcs[mx_w_callee(*w)];
  struct ja_origin origin = {.frame = frame, .pc = pc, .kind = JA_CALLS, .counts = true, .into = a->nframes};
  mx_word words[64 + 2048 / MX_EXT_FIELDS];
  rename_operands(t, frame, w, words);
  emit(t, words, mx_w_length(*w), origin);
  const uint32_t callee = add_frame(t, (struct ja_frame){.func = mx_w_callee(*w),
                                                         .parent = frame,
                                                         .level = a->frames[frame].level + 1,
                                                         .call = pc,
                                                         .first = {first[MX_PRED], first[MX_R32], first[MX_R64]},
                                                         .local = a->frames[frame].local + from->local_bytes});
  for (uint32_t k = 0; k < f->nargs; k++) {
    const unsigned cls = f->args[k].cls;
    move(t, cls, f->args[k].slot + first[cls == MX_R128 ? MX_R64 : cls], moved(t, frame, ext(w, f->nresults + k), cls),
         origin);
  }
  t->added += f->ncode;
  const uint32_t begin = t->f->ncode;
  a->frames[callee].begin = begin;
  copy_function(t, callee);
  const bool behind = stays_long(t, begin, t->f->ncode);
  if (behind) a->unit->wanted[mx_w_callee(*w)] = true;
  for (uint32_t k = 0; k < f->nresults; k++) {
    const unsigned cls = f->results[k].cls;
    move(t, cls, moved(t, frame, ext(w, k), cls), f->results[k].slot + first[cls == MX_R128 ? MX_R64 : cls],
         (struct ja_origin){.frame = frame, .pc = pc});
  }
  t->lead = behind;
}
/* Whether the copy's only return is its last word, and no lane waits there for others. */
static bool returns_once(const struct mx_func *f) {
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    const mx_word w = f->code[pc];
    if (mx_w_op(w) == MX_RET && pc + 1 != f->ncode) return false;
    if (mx__ops[mx_w_op(w)].flags & MX_F_BRANCH && mx_w_guard(w) != MX_GUARD_NONE && mx_w_reconv(w) == MX_PC_RET)
      return false;
  }
  return mx_w_op(f->code[f->ncode - 1]) == MX_RET;
}
/* Adds the tables of function f, whose code is at at[] now. Returned: the number of the first one. */
static unsigned add_tables(struct inliner *t, const struct mx_func *f, const uint32_t *at) {
  const unsigned first = t->f->ntables;
  t->tables = grown(t->tables, sizeof *t->tables * (first + f->ntables + 1u));
  for (uint32_t k = 0; k < f->ntables; k++) {
    uint32_t *to = grown(NULL, sizeof *to * (f->tables[k].ntargets + 1u));
    for (uint32_t n = 0; n < f->tables[k].ntargets; n++) to[n] = at[f->tables[k].targets[n]];
    t->tables[first + k] = (struct mx_table){to, f->tables[k].ntargets};
  }
  t->f->ntables = first + f->ntables;
  return first;
}
static void copy_function(struct inliner *t, uint32_t frame) {
  struct ja *a = t->a;
  const struct mx_func *f = &t->image->funcs[a->frames[frame].func];
  const uint32_t begin = t->f->ncode;
  uint32_t *at = grown(NULL, sizeof *at * (f->ncode + 1u)), bounds = a->unit->first_bounds[a->frames[frame].func],
           first[3];
  const bool once = frame && returns_once(f);
  for (uint32_t pc = 0, n; pc < f->ncode; pc += n) {
    const mx_word *w = &f->code[pc];
    n = mx_w_length(*w);
    at[pc] = t->f->ncode;
    struct ja_origin origin = {.frame = frame, .pc = pc, .kind = JA_PLAIN, .counts = true};
    if (mx__bounds_count(&mx__ops[mx_w_op(*w)]))
      origin.bounds = bounds, bounds += mx__bounds_count(&mx__ops[mx_w_op(*w)]);
    if (mx_w_op(*w) == MX_RET) a->frames[frame].last = pc;
    if (mx_w_op(*w) == MX_CALL && wanted(t, frame, w, first)) {
      call_in_line(t, frame, pc, first);
      continue;
    }
    if (mx_w_op(*w) == MX_CALL) a->unit->wanted[mx_w_callee(*w)] = true;
    if (frame && mx_w_op(*w) == MX_RET) { /* a branch to the common return point, whose address is filled in later */
      const mx_word to = once ? *w : mx_w_make(MX_BRA, MX_GUARD_NONE, false, 0) | mx_w_put_branch(MX_PC_RET, 0);
      if (once) origin.kind = JA_RETURNS;
      emit(t, &to, 1, origin);
      continue;
    }
    mx_word words[64 + 2048 / MX_EXT_FIELDS];
    rename_operands(t, frame, w, words);
    emit(t, words, n, origin);
  }
  const uint32_t end = t->f->ncode;
  if (frame && !once) {
    const mx_word w = mx_w_make(MX_RET, MX_GUARD_NONE, false, 0);
    emit(t, &w, 1, (struct ja_origin){.frame = frame, .pc = a->frames[frame].last, .kind = JA_RETURNS});
  }
  const unsigned tables = add_tables(t, f, at);
  for (uint32_t pc = begin; pc < end; pc += mx_w_length(t->code[pc])) {
    const mx_word w = t->code[pc];
    if (a->origin[pc].frame != frame || a->origin[pc].kind != JA_PLAIN) continue;
    if (mx__ops[mx_w_op(w)].flags & MX_F_BRANCH) {
      const uint32_t to = mx_w_target(w), meet = mx_w_reconv(w);
      t->code[pc] =
          (w & (((mx_word)1 << 24) - 1)) | mx_w_put_branch(to == MX_PC_RET ? end : at[to], meet < f->ncode ? at[meet]
                                                                                           : frame         ? end
                                                                                                           : meet);
    }
    if (mx_w_op(w) == MX_BRX) {
      const uint32_t meet = mx__reconvergence(f, a->origin[pc].pc), to = meet < f->ncode ? at[meet]
                                                                         : frame         ? end
                                                                                         : meet;
      t->code[pc] = (w & ~(mx_w_put(1, 0x3FF) | mx_w_put(2, 0x3FF) | mx_w_put(3, 0x3FF))) |
                    mx_w_put(1, tables + mx_w_operand(&w, 1)) | mx_w_put(2, to & 0x3FF) | mx_w_put(3, to >> 10);
    }
  }
  free(at);
}

void ji_build(struct ja *a) {
  const struct mx_func *f = &a->image->funcs[a->number];
  struct mx_func *built = grown(NULL, sizeof *built);
  *built = *f;
  built->ncode = built->nlits = built->ntables = 0;
  struct inliner t = {.a = a, .image = a->image, .f = built, .lits = grown(NULL, sizeof *t.lits * MX_MAX_LITS)};
  for (uint32_t k = 0; k < f->nlits; k++)
    t.lits[built->nlits++] = f->lits[k]; /* the function's own literals keep their numbers */
  a->fixed_stack = has_fixed_stack(f);
  add_frame(&t, (struct ja_frame){.func = a->number});
  copy_function(&t, 0);
  built->code = t.code, built->lits = t.lits, built->tables = t.tables;
  a->f = built;
}
void ji_free(struct ja *a) {
  for (uint32_t k = 0; a->f && k < a->f->ntables; k++) free((void *)(uintptr_t)a->f->tables[k].targets);
  if (a->f)
    free((void *)(uintptr_t)a->f->tables), free((void *)(uintptr_t)a->f->code), free((void *)(uintptr_t)a->f->lits);
  free((void *)(uintptr_t)a->f), free(a->origin), free(a->frames);
}

/* Decoding of verified code into what the interpreter runs. Trusts the verifier completely. */
#include "prepare.h"

#include "order.h"

#include "vm/exec/interp.h"

#include <stdlib.h>
#include <string.h>

#define POOL_HEAD 63 /* bytes before the pool; the literals one byte behind its start are aligned */

static size_t align_up(size_t n, size_t a) { return (n + a - 1) / a * a; }

void mx__prepared_free(struct mx_prepared *p) {
  if (!p) return;
  for (uint32_t f = 0; p->funcs && f < p->nfuncs; f++) {
    struct mx_pfunc *fn = &p->funcs[f];
    free(fn->insns);
    free(fn->index_of_pc);
    if (fn->pool) free(fn->pool - POOL_HEAD);
    free(fn->more);
    free(fn->body_of);
    free(fn->entry_of);
    free(fn->rank);
    free(fn->join_pc);
  }
  free(p->funcs);
  free(p->lane_costs);
  free(p->shared_offset);
  free(p);
}

/* ---- literals -------------------------------------------------------------------------------------------*/
/* The value of a literal in this kernel. */
static uint64_t literal_value(const struct mx_prepared *p, const struct mx_lit *lit) {
  if (lit->kind == MX_LIT_VALUE) return lit->value;
  if (lit->kind == MX_LIT_FUNC) return MX_WINDOW(MX_WINDOW_FUNC) + ((uint64_t)lit->index + 1) * 16;
  const struct mx_var *v = &p->image->vars[lit->index];
  uint64_t a = (v->space == MX_SHARED ? p->shared_offset[lit->index] : p->var_address[lit->index]) + lit->value;
  return lit->kind == MX_LIT_GENERIC ? a + mx_space_window(v->space) : a;
}

/* Where a literal's copies for a slot class begin in the pool: each class has its own, since they differ in width. */
static uint32_t pool_offset(uint32_t nlits, uint32_t lanes, uint32_t lit, unsigned cls) {
  if (cls == MX_R32) return lit * lanes * 4;
  if (cls == MX_R64) return nlits * lanes * 4 + lit * lanes * 8;
  return nlits * lanes * 12 + lit * 8;
}
static size_t pool_bytes(uint32_t nlits, uint32_t lanes) { return align_up((size_t)nlits * (lanes * 12 + 8), 64); }

static bool make_pool(struct mx_prepared *p, struct mx_pfunc *fn) {
  uint32_t n = fn->func->nlits, lanes = p->lanes;
  unsigned char *room = aligned_alloc(64, POOL_HEAD + 1 + pool_bytes(n, lanes)), *literals = room + POOL_HEAD + 1;
  if (!room) return false;
  fn->pool = room + POOL_HEAD;
  for (uint32_t k = 0; k < n; k++) {
    uint64_t v = literal_value(p, &fn->func->lits[k]);
    uint32_t *r32 = (uint32_t *)(literals + pool_offset(n, lanes, k, MX_R32));
    uint64_t *r64 = (uint64_t *)(literals + pool_offset(n, lanes, k, MX_R64));
    for (uint32_t l = 0; l < lanes; l++) r32[l] = (uint32_t)v, r64[l] = v;
    *(uint64_t *)(literals + pool_offset(n, lanes, k, MX_PRED)) = v & 1 ? UINT64_MAX : 0;
  }
  return true;
}

/* ---- operands -------------------------------------------------------------------------------------------*/
static mx_ref ref_of(const struct mx_prepared *p, const struct mx_pfunc *fn, unsigned field, unsigned cls) {
  uint32_t lanes = p->lanes;
  if (field >= MX_LIT) return (mx_ref)(pool_offset(fn->func->nlits, lanes, field - MX_LIT, cls) | 1);
  if (cls == MX_PRED) return (mx_ref)(field * 8);
  if (cls == MX_R32) return (mx_ref)(fn->off_r32 + field * lanes * 4);
  return (mx_ref)(fn->off_r64 + field * lanes * 8);
}

/* Frame: predicates, 32-bit slots, 64-bit slots, then spill cells in the same order. */
static void lay_out_frame(const struct mx_prepared *p, struct mx_pfunc *fn) {
  const struct mx_func *f = fn->func;
  size_t at = align_up((size_t)f->npred * 8, 64);
  fn->off_r32 = (uint32_t)at, at += (size_t)f->n32 * p->lanes * 4;
  fn->off_r64 = (uint32_t)(at = align_up(at, 64)), at += (size_t)f->n64 * p->lanes * 8;
  fn->off_spred = (uint32_t)at, at = align_up(at + (size_t)f->nspillpred * 8, 64);
  fn->off_s32 = (uint32_t)at, at += (size_t)f->nspill32 * p->lanes * 4;
  fn->off_s64 = (uint32_t)(at = align_up(at, 64)), at += (size_t)f->nspill64 * p->lanes * 8;
  fn->off_joins = (uint32_t)at, at += (size_t)fn->njoins * 8;
  fn->frame_bytes = (uint32_t)align_up(at ? at : 64, 64);
}

/* ---- code -----------------------------------------------------------------------------------------------*/
struct worklist {
  bool *seen;
  uint32_t *work, n;
};
static void visit(struct worklist *r, uint32_t func) {
  if (r->seen[func]) return;
  r->seen[func] = true;
  r->work[r->n++] = func;
}
static void visit_literals(struct worklist *r, const struct mx_func *f) {
  for (uint32_t k = 0; k < f->nlits; k++)
    if (f->lits[k].kind == MX_LIT_FUNC) visit(r, f->lits[k].index);
}
/* All whose address is taken somewhere, by other kernels too: who calls through memory may find any of them there. */
static void visit_taken(struct worklist *r, const struct mx_image *image) {
  for (uint32_t f = 0; f < image->nfuncs; f++) visit_literals(r, &image->funcs[f]);
  for (uint32_t v = 0; v < image->nvars; v++)
    for (uint32_t k = 0; k < image->vars[v].nrelocs; k++)
      if (image->vars[v].relocs[k].kind == MX_LIT_FUNC) visit(r, image->vars[v].relocs[k].index);
}
bool *mx__reachable(const struct mx_image *image, uint32_t kernel) {
  struct worklist r = {calloc(image->nfuncs, sizeof *r.seen), malloc(sizeof *r.work * image->nfuncs), 0};
  bool indirect = false;
  if (!r.seen || !r.work) {
    free(r.seen);
    free(r.work);
    return NULL;
  }
  visit(&r, kernel);
  while (r.n) {
    const struct mx_func *f = &image->funcs[r.work[--r.n]];
    const bool before = indirect;
    for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
      if (mx_w_op(f->code[pc]) == MX_CALL) visit(&r, mx_w_callee(f->code[pc]));
      indirect |= mx_w_op(f->code[pc]) == MX_CALLI;
    }
    visit_literals(&r, f);
    if (indirect && !before) visit_taken(&r, image);
  }
  free(r.work);
  return r.seen;
}

/* How much local memory the frames of the kernel and of all functions in which it may be at one time take together;
 * UINT64_MAX: that is not known, since the stack can grow by other means, or functions call one another too deeply,
 * perhaps in circles. */
static uint64_t stack_bytes(const struct mx_image *image, uint32_t kernel, const bool *reachable, uint64_t *need) {
  enum { MOST_LEVELS = 16 };
  memset(need, 0, sizeof *need * image->nfuncs);
  for (unsigned level = 0; level < MOST_LEVELS; level++) {
    bool changed = false;
    for (uint32_t n = 0; n < image->nfuncs; n++) {
      const struct mx_func *f = &image->funcs[n];
      uint64_t below = 0;
      for (uint32_t pc = 0; reachable[n] && pc < f->ncode; pc += mx_w_length(f->code[pc])) {
        const unsigned op = mx_w_op(f->code[pc]);
        if (op == MX_CALLI || mx__effect(op) == MX_DOES_ALLOCATE) return UINT64_MAX;
        if (op == MX_CALL && need[mx_w_callee(f->code[pc])] > below) below = need[mx_w_callee(f->code[pc])];
      }
      changed |= need[n] != f->local_bytes + below;
      need[n] = f->local_bytes + below;
    }
    if (!changed) return need[kernel];
  }
  return UINT64_MAX;
}

static int by_pc(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}
/* Where branches reconverge; a kernel's lanes that end do not wait for one another. */
static bool find_joins(struct mx_pfunc *fn) {
  const struct mx_func *f = fn->func;
  uint32_t n = 0, kept = 0;
  fn->join_pc = malloc(sizeof *fn->join_pc * (f->ncode + 1u));
  if (!fn->join_pc) return false;
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    const uint32_t r = mx__reconvergence(f, pc);
    if (r != MX_NO_JOIN && (r < f->ncode || !(f->flags & MX_FUNC_KERNEL))) fn->join_pc[n++] = r;
  }
  qsort(fn->join_pc, n, sizeof *fn->join_pc, by_pc);
  for (uint32_t k = 0; k < n; k++)
    if (!kept || fn->join_pc[kept - 1] != fn->join_pc[k]) fn->join_pc[kept++] = fn->join_pc[k];
  fn->njoins = kept;
  return true;
}
static bool decode(struct mx_prepared *p, struct mx_pfunc *fn, const struct mx_level *level) {
  const struct mx_func *f = fn->func;
  struct mx_order order;
  fn->index_of_pc = malloc(sizeof *fn->index_of_pc * (f->ncode ? f->ncode : 1));
  if (!fn->index_of_pc || !mx__order_find(f, &order)) return false;
  const bool *join = order.meets;
  fn->rank = order.rank;
  if (!find_joins(fn)) return free(order.meets), false;
  lay_out_frame(p, fn);

  size_t nmore = 0;
  uint32_t n = 0;
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    mx_word w = f->code[pc];
    const struct mx_op_info *o = &mx__ops[mx_w_op(w)];
    nmore += o->flags & MX_F_CALL ? mx_w_nres(w) + mx_w_narg(w) : o->nopnds > 7 ? o->nopnds : 0;
    n++;
  }
  for (uint32_t pc = 0; pc < f->ncode; pc++) n += join[pc];

  fn->insns = calloc(n ? n : 1, sizeof *fn->insns);
  fn->body_of = calloc(n ? n : 1, sizeof *fn->body_of);
  fn->more = malloc(sizeof *fn->more * (nmore ? nmore : 1));
  if (!fn->insns || !fn->body_of || !fn->more || !make_pool(p, fn)) return free(order.meets), false;
  fn->ninsns = n;
  memset(fn->index_of_pc, 0xFF, sizeof *fn->index_of_pc * f->ncode);

  mx_ref *more = fn->more;
  uint32_t at = 0;
  for (uint32_t pc = 0; pc < f->ncode; pc += mx_w_length(f->code[pc])) {
    const mx_word *w = &f->code[pc];
    const struct mx_op_info *o = &mx__ops[mx_w_op(*w)];
    fn->index_of_pc[pc] = at;
    if (join[pc])
      fn->insns[at++] = (struct mx_insn){.fn = mx__op_join,
                                         .kind = MX_INSN_JOIN,
                                         .pc = pc,
                                         .guard = MX_GUARD_NONE,
                                         .index = mx__join_at(fn, pc),
                                         .rank = order.rank[pc]};
    struct mx_insn *i = &fn->insns[at++];
    *i = (struct mx_insn){.fn = (mx_w_guard(*w) == MX_GUARD_NONE ? level->unguarded : level->bodies)[mx_w_op(*w)],
                          .op = (uint16_t)mx_w_op(*w),
                          .mod = (uint8_t)mx_w_mod(*w),
                          .guard = (uint8_t)mx_w_guard(*w),
                          .guard_neg = mx_w_guard_neg(*w),
                          .pc = pc,
                          .nopnds = o->nopnds};
    if (o->flags & MX_F_MOVI) {
      i->o[0] = ref_of(p, fn, mx_w_field(*w, 0), mx__types[o->opnd[0].type].slot_class);
      i->off = (int32_t)mx_w_movi(*w);
    } else if (o->flags & MX_F_BRANCH) {
      i->index = mx_w_target(*w); /* a pc for now */
      i->reconv = mx_w_reconv(*w);
    } else if (o->flags & MX_F_CALL) {
      const struct mx_func *callee = mx_w_op(*w) == MX_CALL ? &p->image->funcs[mx_w_callee(*w)] : NULL;
      const struct mx_proto *proto = callee ? NULL : &f->protos[mx_w_callee(*w)];
      i->index = mx_w_callee(*w);
      i->more = more;
      for (unsigned k = 0; k < mx_w_nres(*w) + mx_w_narg(*w); k++) {
        bool result = k < mx_w_nres(*w);
        unsigned j = result ? k : k - mx_w_nres(*w);
        unsigned cls =
            callee ? (result ? callee->results[j].cls : callee->args[j].cls) : (result ? proto->res[j] : proto->arg[j]);
        *more++ = ref_of(p, fn, mx_w_ext_field(w[1 + k / MX_EXT_FIELDS], k % MX_EXT_FIELDS), cls);
      }
    } else {
      mx_ref *refs = o->nopnds > 7 ? more : i->o;
      if (o->nopnds > 7) i->more = more, more += o->nopnds;
      for (unsigned k = 0; k < o->nopnds; k++) {
        unsigned field = mx_w_operand(w, k), type = o->opnd[k].type;
        if (type == MX_T_raw) refs[k] = (mx_ref)field;
        else if (type == MX_T_off)
          refs[k] = ref_of(p, fn, field, MX_R64), i->off = (int64_t)literal_value(p, &f->lits[field - MX_LIT]);
        else refs[k] = ref_of(p, fn, field, mx__types[type].slot_class);
      }
      if (i->more) memcpy(i->o, i->more, sizeof i->o);
      p->crosses |= o->cls == MX_CROSS;
      if (mx__bounds_count(o)) i->index = fn->first_bounds + fn->nbounds, fn->nbounds += mx__bounds_count(o);
    }
  }
  for (uint32_t k = 0; k < n; k++) {
    struct mx_insn *i = &fn->insns[k];
    if (i->kind == MX_INSN_OP && mx__ops[i->op].flags & MX_F_BRANCH) i->index = fn->index_of_pc[i->index];
    fn->body_of[k] = i->fn;
  }
  free(order.meets);
  return true;
}

/* Shared variables of the kernel, in the order of its list; dynamic shared memory begins behind them. */
static void lay_out_shared(struct mx_prepared *p, uint32_t gap) {
  const struct mx_func *k = &p->image->funcs[p->kernel];
  uint64_t at = 0;
  uint32_t dynamic_align = 16;
  for (uint32_t i = 0; i < k->nshared; i++) {
    const struct mx_var *v = &p->image->vars[k->shared[i]];
    if (v->flags & MX_VAR_EXTERN_SHARED) {
      if (v->align > dynamic_align) dynamic_align = v->align;
      continue;
    }
    at = align_up(at ? at + gap : 0, v->align ? v->align : 1);
    p->shared_offset[k->shared[i]] = (uint32_t)at;
    at += v->size;
  }
  bool dynamic = false;
  for (uint32_t i = 0; i < k->nshared; i++) dynamic |= p->image->vars[k->shared[i]].flags & MX_VAR_EXTERN_SHARED;
  if (dynamic) at = align_up(at ? at + gap : 0, dynamic_align);
  for (uint32_t i = 0; i < k->nshared; i++)
    if (p->image->vars[k->shared[i]].flags & MX_VAR_EXTERN_SHARED) p->shared_offset[k->shared[i]] = (uint32_t)at;
  p->shared_static = at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
}

uint32_t mx__first_bounds(const struct mx_image *image, const bool *reachable, uint32_t *first) {
  uint32_t n = 0;
  for (uint32_t f = 0; f < image->nfuncs; f++) {
    const struct mx_func *of = &image->funcs[f];
    first[f] = n;
    for (uint32_t pc = 0; reachable[f] && pc < of->ncode; pc += mx_w_length(of->code[pc]))
      n += mx__bounds_count(&mx__ops[mx_w_op(of->code[pc])]);
  }
  return n;
}

struct mx_prepared *mx__prepare_with_gaps(const struct mx_image *image, uint32_t kernel, const uint64_t *var_address,
                                          const struct mx_level *level, uint32_t gap) {
  struct mx_prepared *p = calloc(1, sizeof *p);
  bool *seen = mx__reachable(image, kernel);
  uint32_t *first = NULL;
  uint64_t *need = malloc(sizeof *need * (image->nfuncs ? image->nfuncs : 1));
  if (!p || !seen || !need) goto fail;
  p->image = image;
  p->kernel = kernel;
  p->lanes = image->lanes;
  p->level = level;
  p->clocks = mx_keeps_clocks(image);
  p->var_address = var_address;
  p->nfuncs = image->nfuncs;
  p->funcs = calloc(image->nfuncs, sizeof *p->funcs);
  p->shared_offset = calloc(image->nvars ? image->nvars : 1, sizeof *p->shared_offset);
  first = malloc(sizeof *first * (image->nfuncs ? image->nfuncs : 1));
  if (!p->funcs || !p->shared_offset || !first) goto fail;
  lay_out_shared(p, gap);
  p->crosses = false;
  p->nbounds = mx__first_bounds(image, seen, first);
  p->lane_costs = calloc(2 * ((size_t)p->nbounds + 1), sizeof *p->lane_costs);
  if (!p->lane_costs) goto fail;
  p->stack_bytes = stack_bytes(image, kernel, seen, need);
  for (uint32_t f = 0; f < image->nfuncs; f++) {
    p->funcs[f].func = &image->funcs[f];
    p->funcs[f].number = f;
    p->funcs[f].first_bounds = first[f];
    if (seen[f] && !decode(p, &p->funcs[f], level)) goto fail;
  }
  free(seen);
  free(first);
  free(need);
  return p;
fail:
  mx__prepared_free(p);
  free(seen);
  free(first);
  free(need);
  return NULL;
}

struct mx_prepared *mx__prepare(const struct mx_image *image, uint32_t kernel, const uint64_t *var_address,
                                const struct mx_level *level) {
  return mx__prepare_with_gaps(image, kernel, var_address, level, 0);
}

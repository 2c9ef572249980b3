/* A device's checker, and launches under its tools. Such a launch has prepared code of its own, in which the function
 * of every instruction calls the tools first. */
#include "check.h"

#include "vm/exec/access.h"
#include "vm/load/module.h"
#include "vm/load/prepare.h"

#include <stdlib.h>
#include <string.h>

/* To be called before the block's warps learn about accesses of others: the reads that were only noted go to their
 * cells. */
static void settle(const struct mx_exec *x) { mx__quick_settle(check_of(x), block_state(x->block)); }

/* ---- an instruction -------------------------------------------------------------------------------------------*/
static void arrive(struct mx_exec *x, uint32_t site) {
  struct mx_check *c = check_of(x);
  const struct mx_insn *i = c->insn;
  const struct mx_op_info *o = &mx__ops[i->op];
  const unsigned red = o->nopnds && o->opnd[0].role == MX_OUT;
  const uint32_t *number = o->nopnds ? mx__operand(x, i->o[red]) : NULL;
  const uint32_t n = number ? number[__builtin_ctzll(x->mask)] : MX_CLUSTER_BARRIER;
  struct warp_state *w = warp_state(x);
  if ((w->together = x->mask) == x->full)
    for (unsigned l = 0; l < MX_MAX_LANES; l++) w->barrier_site[l] = site;
  else
    MX_FOR_LANES (l, x->mask) w->barrier_site[l] = site;
  if (n > MX_CLUSTER_BARRIER || !(c->tools & (MX_CHECK_RACE | MX_CHECK_SYNC))) return;
  if (w->pending[0] || w->pending[1]) settle(x);
  mx__race_arrive(x, n);
}

/* The instruction's own action. It runs without cached bounds, so that it reports all its accesses to the checker. */
static const struct mx_insn *own(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_bounds *const real = x->bounds;
  x->bounds = check_of(x)->bounds;
  check_of(x)->real_bounds = real;
  const struct mx_level *level = check_of(x)->level; /* a debugging session's code is of another level */
  const struct mx_insn *next = (i->guard == MX_GUARD_NONE ? level->unguarded : level->bodies)[i->op](x, i);
  x->bounds = real;
  return next;
}

static const struct mx_insn *step(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_check *c = check_of(x);
  const uint32_t number = site_number(c, x, i);
  const struct site *s = &c->code->sites[number];
  const uint64_t m = mx__lanes_of(x, i);
  const uint32_t flags = mx__ops[i->op].flags;
  struct mx_frame *f = x->frame;
  const bool uninit = c->tools & MX_CHECK_UNINIT;
  if (c->failed) return own(x, i);
  c->insn = i;
  c->steps++;
  c->light = !warp_state(x)->tainted;
  if (warp_state(x)->waits & x->mask) settle(x), mx__race_woken(x);
  if (s->lane_rule && c->tools & MX_CHECK_LANES) mx__lanes_before(x, number, m);
  if (c->tools & MX_CHECK_SYNC && mx__ops[i->op].cls == MX_CROSS && m) mx__sync_before(x, number, m);
  if (uninit) mx__uninit_before(x, number, m);
  if (uninit && x->in_compiled && c->light && s->nout && m & ~c->result) return mx__uninit_leave(x, i);
  switch (s->effect) {
  case MX_DOES_FENCE:
    if (m && c->tools & (MX_CHECK_RACE | MX_CHECK_SYNC)) settle(x), mx__race_fence(x, s);
    break;
  case MX_DOES_ARRIVE: arrive(x, number); break;
  case MX_DOES_AWAIT:
    if (c->tools & (MX_CHECK_RACE | MX_CHECK_SYNC)) settle(x), mx__race_await(x);
    break;
  case MX_DOES_COPY: /* the result may overwrite an operand */
    if (uninit) mx__uninit_copy(x, i, m);
    break;
  case MX_DOES_EXIT: mx__sync_exit(x, number, m); break;
  case MX_DOES_RETURN:
    if (!f->parent) mx__sync_exit(x, number, m);
    else if (uninit) mx__uninit_return(x);
    break;
  case MX_DOES_FREE:
    if (c->tools & MX_CHECK_MEMORY && m) {
      const uint64_t left = mx__heap_freed(x, number, m), all = x->mask;
      if (!left) return i + 1;
      x->mask = left;
      const struct mx_insn *next = own(x, i);
      x->mask = all;
      return next;
    }
    break;
  default: break;
  }
  const struct mx_insn *next = own(x, i);
  if (flags & MX_F_CALL) {
    struct mx_frame *callee = x->event == MX_EV_TRAP ? f : x->split->frame;
    if (uninit && callee != f && callee->parent == f) mx__uninit_call(x, number, f, callee);
    return next;
  }
  if (s->effect == MX_DOES_MALLOC && m) mx__memory_malloc(x, number, m);
  if (uninit && s->nout && m) mx__uninit_after(x, number, m, f);
  return next;
}

static bool wanted(const void *user, const struct mx_insn *i) { return user || i; }

/* Compiled code checks most accesses against bounds by itself, so it needs the bounds that an access has found. */
static void keep_bounds(struct mx_exec *x, const struct mx_insn *i, uint32_t site, uint64_t address) {
  struct mx_check *c = check_of(x);
  struct mx_bounds *const none = x->bounds;
  x->bounds = c->real_bounds;
  mx__access_keep(x, i, address, c->code->sites[site].space);
  x->bounds = none;
}
static bool touches(struct mx_exec *x, const struct mx_insn *i, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  if (c->failed || !a->lanes || !a->bytes) return true;
  const uint32_t site = site_number(c, x, i);
  if (x->in_compiled && c->code->sites[site].bytes) keep_bounds(x, i, site, a->address[__builtin_ctzll(a->lanes)]);
  const uint32_t tools = mx__quick(x, site, a->lanes, a->address, a->base, a->bytes, a->write);
  if (tools & MX_CHECK_UNINIT && mx__uninit_touch(x, site, a)) return mx__uninit_leave(x, i);
  if (tools & MX_CHECK_MEMORY) mx__memory_touch(x, site, a);
  if (tools & MX_CHECK_RACE) mx__copies_touch(x, site, a);
  if (!(tools & (MX_CHECK_RACE | MX_CHECK_SYNC))) return true;
  for (uint32_t k = 0; k < x->block->leader->nmembers; k++) { /* the address may belong to any block of the cluster */
    struct block_state *of = block_state(x->block->leader->members[k]);
    if (of) mx__quick_settle(c, of);
  }
  mx__race_touch(x, site, a);
  return true;
}
/* Whether compiled code may go on: it handles only values that are all defined. A warp that goes on at a barrier has
 * learned about others. */
static bool stays(struct mx_exec *x) {
  const struct warp_state *w = warp_state(x);
  if (w->waits & x->mask) settle(x), mx__race_woken(x);
  return w->tainted;
}
static void barrier(struct mx_block *b, uint32_t number) {
  struct mx_check *c = b->launch->observed;
  if (c->failed) return;
  if (c->tools & MX_CHECK_SYNC) mx__sync_barrier(c, b, number);
  if (!(c->tools & (MX_CHECK_RACE | MX_CHECK_SYNC))) return;
  uint64_t waited[MX_MAX_BLOCK_THREADS / 32];
  const bool all = number != MX_CLUSTER_BARRIER && mx__race_waits(c, b, number, waited);
  if (all) block_state(b)->ledger.nlater = 0; /* all warps know about these reads now */
  else mx__quick_settle(c, block_state(b));
  mx__race_barrier(c, b, number, waited, all);
}
static void meets(struct mx_exec *x, const struct mx_insn *i, uint64_t group) {
  if (mx__effect(i->op) == MX_DOES_MEET) settle(x), mx__race_meet(x, group);
  else if (check_of(x)->in_step) mx__race_step(x);
}

/* ---- blocks -----------------------------------------------------------------------------------------------------*/
static void block_ends(struct mx_block *b) {
  struct block_state *s = b->observed;
  struct mx_check *c = b->launch->observed;
  if (!s) return;
  mx__race_block_end(s);
  mx__uninit_block_end(c, s);
  for (uint32_t w = 0; w < s->nwarps; w++) free(s->warps[w].memo);
  free(s->warps);
  mx__shadow_block_end(s);
  free(s);
  b->observed = NULL;
}
static struct block_state *block_new(struct mx_check *c, struct mx_block *b) {
  const struct mx_launch *l = b->launch;
  struct block_state *s = b->observed = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->warps = calloc(b->nwarps, sizeof *s->warps);
  s->local_stride = (l->local_bytes + 15u) & ~(size_t)7;
  if (!s->warps) return NULL;
  s->nwarps = b->nwarps;
  for (uint32_t w = 0; w < b->nwarps; w++)
    if (!(s->warps[w].memo = calloc(c->code->nsites + 1u, sizeof *s->warps[w].memo))) return NULL;
  return s;
}
static void block_begins(struct mx_block *b) {
  struct mx_check *c = b->launch->observed;
  struct block_state *s = b->observed ? b->observed : block_new(c, b);
  if (!s || !mx__shadow_block(c, s)) {
    c->failed = true;
    return;
  }
  const uint32_t *grid = c->launch->grid;
  s->number = b->ctaid[0] + (uint64_t)grid[0] * (b->ctaid[1] + (uint64_t)grid[1] * b->ctaid[2]);
  for (uint32_t w = 0; w < s->nwarps; w++) {
    s->warps[w].number = s->number * b->nwarps + w;
    s->warps[w].begun = mx__block_lanes(b, w);
    s->warps[w].ended = 0;
    s->warps[w].tainted = false;
  }
  mx__race_block(c, s);
  mx__uninit_block(c, s);
}

static const struct mx_probe probe = {
    .touches = touches,
    .accessed = mx__quick_compiled,
    .stays = stays,
    .released = barrier,
    .meets = meets,
    .block_starts = block_begins,
    .block_free = block_ends,
};

/* ---- a launch -----------------------------------------------------------------------------------------------------*/
static int by_place(const void *a, const void *b) {
  const struct variable *x = a, *y = b;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}
static bool shared_variables(struct mx_check *c) {
  const struct mx_func *k = &c->code->prep->image->funcs[c->code->prep->kernel];
  c->nshared = 0;
  if (!(c->shared = calloc(k->nshared + 1u, sizeof *c->shared))) return false;
  for (uint32_t n = 0; n < k->nshared; n++) {
    const struct mx_var *v = &c->code->prep->image->vars[k->shared[n]];
    const bool dynamic = v->flags & MX_VAR_EXTERN_SHARED;
    c->shared[c->nshared++] = (struct variable){c->code->prep->shared_offset[k->shared[n]],
                                                dynamic ? c->launch->shared_dynamic : v->size, v->name};
  }
  qsort(c->shared, c->nshared, sizeof *c->shared, by_place);
  return true;
}

static void drop_launch(struct mx_check *c) {
  if (c->code == &c->own) mx__code_drop(c->code);
  free(c->shared);
  free(c->confirmed);
  free(c->bounds);
  c->shared = NULL;
  c->confirmed = NULL;
  c->bounds = NULL;
  c->code = NULL;
  c->launch = NULL;
  c->tools = c->device_tools;
}

/* While the memory tool is on, shared variables are laid out with gaps, as wide as there is memory for. The code is
 * that of launches with so much shared memory. */
enum { GAP = 256 };
static bool fits(const struct mx_prepared *p, const struct mx_launch *l) {
  return (uint64_t)p->shared_static + l->shared_dynamic <= MX_MAX_SHARED;
}
/* A session has code of its own, which does not call the tools: it calls step. */
static struct mx_prepared *prepare(mx_kernel *k, const struct mx_level *level, uint32_t shared_dynamic) {
  for (uint32_t gap = GAP;; gap /= 4) {
    struct mx_prepared *p =
        mx__prepare_with_gaps(&k->module->image->image, k->func, k->module->var_address, level, gap < 16 ? 0 : gap);
    if (!p || gap < 16 || (uint64_t)p->shared_static + shared_dynamic <= MX_MAX_SHARED) return p;
    mx__prepared_free(p);
  }
}
static bool take_code(struct mx_check *c, struct mx_launch *l) {
  c->code = &c->own;
  c->own.prep = l->prep;
  c->own.borrowed = true;
  l->jit = MX_JIT_OFF;
  l->helpers = 0;
  return mx__sites_make(c);
}
static bool make_code(struct mx_check *c, mx_kernel *k, struct mx_check_code *code, uint32_t gap) {
  c->code = code;
  code->prep = mx__prepare_with_gaps(&k->module->image->image, k->func, k->module->var_address, k->prep->level, gap);
  if (!code->prep || !mx__sites_make(c)) return mx__code_drop(code), false;
  mx__observe(code->prep, step, wanted, c);
  return true;
}
static bool find_code(struct mx_check *c, mx_kernel *k, struct mx_launch *l) {
  if (!k->checked) {
    if (!(k->checked = calloc(1, sizeof *k->checked))) return false;
    if (!make_code(c, k, k->checked, GAP)) return free(k->checked), k->checked = NULL, false;
  }
  c->code = k->checked;
  if (fits(c->code->prep, l)) return true;
  l->jit = MX_JIT_OFF;
  for (uint32_t gap = GAP / 4;; gap /= 4) {
    if (!make_code(c, k, &c->own, gap)) return false;
    if (gap < 16 || fits(c->own.prep, l)) return true;
    mx__code_drop(&c->own);
  }
}
static void forget(struct mx_check_code *code) {
  mx__code_drop(code);
  free(code);
}

static void begin(struct mx_check *c, mx_kernel *k, struct mx_launch *l, uint32_t tools) {
  if (tools) c->tools = tools;
  if (!c->tools) return;
  c->failed = false;
  c->launch = l;
  c->launches++;
  c->level = k->prep->level;
  if (!(l->debug ? take_code(c, l) : find_code(c, k, l)) || !(c->confirmed = calloc(c->code->nsites + 1u, 1)) ||
      !(c->bounds = calloc(c->code->prep->nbounds + 1u, sizeof *c->bounds)) || !shared_variables(c) ||
      !mx__shadow_begin(c)) {
    mx__shadow_end(c);
    drop_launch(c);
    mx__device_note(c->device, "a launch of '%s' was not checked: the host is out of memory",
                    k->module->image->image.funcs[k->func].name);
    return;
  }
  for (uint32_t n = 0; n < c->code->nsites; n++) c->code->sites[n].known_range = c->code->sites[n].unraced = false;
  l->prep = c->code->prep;
  l->shared_static = c->code->prep->shared_static;
  l->shared_bytes = l->shared_static + l->shared_dynamic;
  l->counts = MX_COUNT_CHECKED;
  l->check_list = c->code->check_list;
  l->jit_stress = 0;
  l->workers = 1;
  l->probe = &probe;
  l->observed = c;
  if (c->tools & (MX_CHECK_RACE | MX_CHECK_SYNC)) mx__race_begin(c);
  if (c->tools & MX_CHECK_UNINIT) mx__uninit_begin(c);
  for (uint32_t v = 0; v < c->nshared; v++)
    if (c->shared[v].lo == l->shared_static) c->shared[v].size = l->shared_dynamic;
}

static void end(struct mx_check *c, struct mx_launch *l) {
  if (!c->launch) return;
  if (l->trapped) mx__memory_trap(c, &l->trap);
  if (c->tools & MX_CHECK_LANES) mx__lanes_end(c);
  mx__memory_end(c);
  if (c->tools & MX_CHECK_UNINIT) mx__uninit_end(c);
  mx__race_end(c);
  mx__shadow_end(c);
  if (c->failed)
    mx__device_note(c->device, "a launch of '%s' was checked in part only: the host is out of memory",
                    l->image->funcs[l->func].name);
  drop_launch(c);
}

/* ---- the device
 * -----------------------------------------------------------------------------------------------------*/
static void allocated(struct mx_check *c, uint64_t address, uint64_t bytes) {
  if (c->device_tools & MX_CHECK_UNINIT) mx__undefined_add(c, address, bytes, false);
}
static void written(struct mx_check *c, uint64_t address, uint64_t bytes) {
  if (c->device_tools & MX_CHECK_UNINIT) mx__undefined_written(c, address, bytes);
}
static void reset(struct mx_check *c) {
  mx__findings_free(c);
  mx__sources_free(c);
  mx__memory_forget(c);
  mx__uninit_forget(c);
  mx__shadow_forget(c);
}
static void done(struct mx_check *c) {
  reset(c);
  free(c);
}
static bool is_on(const struct mx_check *c) { return c->device_tools != 0; }
static size_t found(const struct mx_check *c) { return c->nfindings; }
static struct mx_check *make(struct mx_device *d) {
  struct mx_check *c = calloc(1, sizeof *c);
  if (c) c->device = d, c->last = &c->first;
  return c;
}
const struct mx_checker mx__checker = {
    .make = make,
    .is_on = is_on,
    .begin = begin,
    .end = end,
    .prepare = prepare,
    .step = step,
    .found = found,
    .set_register = mx__uninit_set_register,
    .set_memory = mx__uninit_set_memory,
    .forget = forget,
    .allocated = allocated,
    .written = written,
    .copied = mx__undefined_copied,
    .read = mx__undefined_read,
    .freed = mx__undefined_freed,
    .reset = reset,
    .done = done,
};

mx_status mx_device_check(mx_device *d, uint32_t tools) {
  if (!d) return MX_INVALID_VALUE;
  if (tools & ~(uint32_t)MX_CHECK_ALL) return mx__fail(d, MX_INVALID_VALUE, "mx_device_check: no such tools");
  mx_status s = mx__streams_drain(d);
  if (s == MX_OK) s = mx__device_take(d, "mx_device_check");
  if (s != MX_OK) return s;
  if (!d->check && tools) {
    d->checker = &mx__checker;
    if (!(d->check = make(d))) s = mx__fail_plain(d, MX_OUT_OF_MEMORY);
  }
  if (d->check) d->check->tools = d->check->device_tools = tools;
  mx__unlock(&d->run);
  return s;
}

uint32_t mx_device_checks(mx_device *d) { return d && d->check ? d->check->device_tools : 0; }

size_t mx_device_findings(mx_device *d) { return d && d->check ? d->check->nfindings : 0; }

mx_status mx_device_finding(mx_device *d, size_t number, mx_finding *out) {
  if (!d) return MX_INVALID_VALUE;
  if (!out) return mx__fail(d, MX_INVALID_VALUE, "mx_device_finding: no place for the answer");
  struct finding *f = d->check ? d->check->first : NULL;
  for (; f; f = f->next)
    if (!f->hidden && !number--) return mx__finding_text(f), mx__struct_out(out, &f->info, sizeof f->info);
  return mx__fail(d, MX_NOT_FOUND, "mx_device_finding: there are not so many");
}

mx_status mx_device_check_end(mx_device *d) {
  if (!d) return MX_INVALID_VALUE;
  mx_status s = mx__streams_drain(d);
  if (d->check) mx__memory_leaks(d->check);
  return s;
}

mx_status mx_findings_clear(mx_device *d) {
  if (!d) return MX_INVALID_VALUE;
  if (d->check) mx__findings_free(d->check), d->check->nkept = 0;
  return MX_OK;
}

/* New code for a kernel in the middle of its launch: a session needs it for text that was just typed. The old code is
 * kept until the session ends, since texts and places that were given to the caller refer to it. */
#include "session.h"

#include "vm/exec/interp.h"
#include "vm/exec/warp.h"
#include "vm/load/module.h"
#include "vm/load/prepare.h"
#include "vm/load/verify.h"

#include <stdlib.h>
#include <string.h>

struct mx_replaced {
  struct mx_replaced *next;
  struct mx__image *image;  /* given to mx_debug_replace; it may contain the current code */
  struct mx_prepared *prep; /* that it replaced */
};

void mx__debug_forget(struct mx_debug *g) {
  while (g->replaced) {
    struct mx_replaced *r = g->replaced;
    g->replaced = r->next;
    mx__prepared_free(r->prep);
    mx__image_free(r->image);
    free(r);
  }
}

/* A frame is moved at most once: its old place leads to the new one through `parent`. */
struct moved {
  struct mx_frame *from, *to;
  struct moved *next;
};

static struct mx_frame *moved_to(const struct moved *list, const struct mx_frame *from) {
  for (; list; list = list->next)
    if (list->from == from) return list->to;
  return NULL;
}

/* The end of the code that must stay: the highest pc at which lanes wait or are expected, including an instruction that
 * waits. False: some lanes are in a called function. */
static bool end_of_kept(const struct mx_block *b, uint32_t *end) {
  for (uint32_t w = 0; w < b->nwarps; w++)
    for (uint32_t n = 0; n < b->warps[w].nsplits; n++) {
      const struct mx_split *s = &b->warps[w].splits[n];
      if (s->frame->parent) return false;
      uint32_t pc = s->pc + (s->state == MX_RUNNABLE ? 0 : mx_w_length(s->frame->fn->func->code[s->pc]));
      if (pc > *end) *end = pc;
      struct mx_frame *f;
      for (uint32_t k = 0, join; (join = mx__join_above(s, k, &f)) != MX_NO_JOIN; k++)
        if (f->fn->join_pc[join] != MX_PC_RET && f->fn->join_pc[join] > *end) *end = f->fn->join_pc[join];
    }
  return true;
}

static bool same_literal(const struct mx_func *a, const struct mx_func *b) {
  if (b->nlits < a->nlits) return false;
  for (uint32_t k = 0; k < a->nlits; k++)
    if (a->lits[k].kind != b->lits[k].kind || a->lits[k].index != b->lits[k].index ||
        a->lits[k].value != b->lits[k].value)
      return false;
  return true;
}

static mx_status check(struct mx_debug *g, const struct mx_image *image, uint32_t kernel,
                       struct mx_block *const *blocks, size_t n) {
  const struct mx_image *old = g->prep->image;
  const struct mx_func *a = &old->funcs[g->prep->kernel], *b = &image->funcs[kernel];
  uint32_t pc = 0;
  for (size_t k = 0; k < n; k++)
    if (!end_of_kept(blocks[k], &pc))
      return mx__fail(g->device, MX_BUSY, "mx_debug_replace: lanes stand in a called function");
  if (image->lanes != old->lanes)
    return mx__fail(g->device, MX_INVALID_MODULE, "mx_debug_replace: the warps' sizes differ");
  if (pc > b->ncode || pc > a->ncode || memcmp(a->code, b->code, pc * sizeof *a->code) || !same_literal(a, b))
    return mx__fail(g->device, MX_INVALID_MODULE,
                    "mx_debug_replace: the code differs before pc %u, up to where lanes stand", pc);
  if (b->n32 < a->n32 || b->n64 < a->n64 || b->npred < a->npred || b->nspill32 < a->nspill32 ||
      b->nspill64 < a->nspill64 || b->nspillpred < a->nspillpred)
    return mx__fail(g->device, MX_INVALID_MODULE, "mx_debug_replace: the new code has fewer registers");
  if (b->param_bytes != a->param_bytes || image->nvars != old->nvars || b->local_bytes > g->launch->local_bytes)
    return mx__fail(g->device, MX_INVALID_MODULE, "mx_debug_replace: parameters or variables differ");
  for (uint32_t k = 0; k < image->nvars; k++)
    if (image->vars[k].space != old->vars[k].space || image->vars[k].size != old->vars[k].size)
      return mx__fail(g->device, MX_INVALID_MODULE, "mx_debug_replace: parameters or variables differ");
  return MX_OK;
}

/* Lanes that stand at the very end of what stays need an instruction there. */
static bool still_starts(const struct mx_debug *g, const struct mx_prepared *prep, struct mx_block *const *blocks,
                         size_t n) {
  const struct mx_pfunc *fn = &prep->funcs[prep->kernel], *was = &g->prep->funcs[g->prep->kernel];
  uint32_t end = 0;
  for (size_t k = 0; k < n; k++) end_of_kept(blocks[k], &end);
  return end >= was->func->ncode || (end < fn->func->ncode && fn->index_of_pc[end] != UINT32_MAX);
}

static void copy_slots(const struct mx_frame *from, struct mx_frame *to, const struct mx_pfunc *fn, uint32_t lanes) {
  const struct mx_pfunc *was = from->fn;
  const struct mx_func *f = was->func;
  memset(to->slots, 0, fn->frame_bytes);
  memcpy(to->slots, from->slots, f->npred * 8u);
  memcpy(to->slots + fn->off_r32, from->slots + was->off_r32, (size_t)f->n32 * lanes * 4);
  memcpy(to->slots + fn->off_r64, from->slots + was->off_r64, (size_t)f->n64 * lanes * 8);
  memcpy(to->slots + fn->off_spred, from->slots + was->off_spred, f->nspillpred * 8u);
  memcpy(to->slots + fn->off_s32, from->slots + was->off_s32, (size_t)f->nspill32 * lanes * 4);
  memcpy(to->slots + fn->off_s64, from->slots + was->off_s64, (size_t)f->nspill64 * lanes * 8);
}

/* A new frame for every old one of the blocks. NULL in *out and false: out of memory. */
static bool make_frames(struct mx_debug *g, struct mx_prepared *prep, struct mx_block *const *blocks, size_t n,
                        struct moved **out) {
  const struct mx_pfunc *fn = &prep->funcs[prep->kernel];
  size_t size = (sizeof(struct mx_frame) + fn->frame_bytes + 63) / 64 * 64;
  for (size_t k = 0; k < n; k++)
    for (uint32_t w = 0; w < blocks[k]->nwarps; w++)
      for (uint32_t s = 0; s < blocks[k]->warps[w].nsplits; s++) {
        struct mx_frame *from = blocks[k]->warps[w].splits[s].frame;
        if (moved_to(*out, from)) continue;
        struct moved *m = malloc(sizeof *m);
        struct mx_frame *to = m ? aligned_alloc(64, size) : NULL;
        if (!to) {
          free(m);
          return false;
        }
        *to = *from;
        to->fn = fn;
        to->size = size;
        copy_slots(from, to, fn, prep->lanes);
        to->open = 0;
        for (uint32_t j = 0; j < from->fn->njoins; j++)
          mx__expect_lanes(to, from->fn->join_pc[j], mx__expected_at(from, j));
        *m = (struct moved){from, to, *out};
        *out = m;
        atomic_fetch_add(&g->launch->frame_bytes, size);
      }
  return true;
}

static void move_warp(struct mx_warp *w, const struct moved *list) {
  for (uint32_t s = 0; s < w->nsplits; s++) w->splits[s].frame = moved_to(list, w->splits[s].frame);
}

static void commit(struct mx_debug *g, struct mx_prepared *prep, struct mx_bounds *bounds,
                   struct mx_block *const *blocks, size_t n, struct moved *list) {
  struct mx_exec *x = g->x;
  for (size_t k = 0; k < n; k++)
    for (uint32_t w = 0; w < blocks[k]->nwarps; w++) move_warp(&blocks[k]->warps[w], list);
  while (list) {
    struct moved *m = list;
    list = m->next;
    atomic_fetch_sub(&g->launch->frame_bytes, m->from->size);
    free(m->from);
    free(m);
  }
  free(x->bounds);
  x->bounds = bounds;
  x->prep = g->prep = g->launch->prep = prep;
  g->launch->image = prep->image;
  g->launch->func = prep->kernel;
}

/* Breakpoints that have no instruction any more go; the others stay, by function name and pc. */
static void keep_breaks(struct mx_debug *g, const struct mx_image *old, uint32_t old_funcs) {
  for (uint32_t f = 0; g->marks && f < old_funcs; f++) free(g->marks[f]);
  free(g->marks);
  g->marks = NULL;
  for (size_t b = 0; b < g->nbreaks; b++) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < g->breaks[b].nplaces; k++) {
      struct mx_place p = g->breaks[b].places[k];
      uint32_t f = 0;
      while (f < g->prep->nfuncs && strcmp(g->prep->image->funcs[f].name, old->funcs[p.func].name)) f++;
      if (f < g->prep->nfuncs && g->prep->funcs[f].insns && p.pc < g->prep->image->funcs[f].ncode &&
          g->prep->funcs[f].index_of_pc[p.pc] != UINT32_MAX)
        g->breaks[b].places[kept++] = (struct mx_place){f, p.pc};
    }
    g->breaks[b].nplaces = kept;
  }
}

mx_status mx_debug_replace(mx_debug *g, const void *bytes, size_t size) {
  mx_status s = mx__debug_ready(g, "mx_debug_replace");
  if (s != MX_OK) return s;
  struct mx_device *d = g->device;
  if (g->stop.reason == MX_DEBUG_AT_TRAP) return mx__fail(d, MX_TRAPPED, "mx_debug_replace: the launch has trapped");
  if (g->step) return mx__fail(d, MX_UNSUPPORTED, "mx_debug_replace: tools watch the launch");
  struct mx_replaced *r = calloc(1, sizeof *r);
  if (!r) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  char *why = NULL;
  enum mx__load l = mx__image_read(bytes, size, &r->image, &why);
  if (l == MX__LOAD_OK) l = mx__verify(&r->image->image, &why);
  const struct mx_image *image = l == MX__LOAD_OK ? &r->image->image : NULL, *old = g->prep->image;
  uint32_t kernel = 0, old_funcs = g->prep->nfuncs;
  while (image && kernel < image->nfuncs &&
         (strcmp(image->funcs[kernel].name, old->funcs[g->prep->kernel].name) ||
          !(image->funcs[kernel].flags & MX_FUNC_KERNEL)))
    kernel++;
  struct mx_block **blocks;
  size_t n = mx__debug_blocks(g, &blocks);
  struct mx_prepared *prep = NULL;
  struct mx_bounds *bounds = NULL;
  struct moved *list = NULL;
  if (l == MX__LOAD_OOM || !blocks) s = mx__fail_plain(d, MX_OUT_OF_MEMORY);
  else if (l != MX__LOAD_OK) s = mx__fail(d, MX_INVALID_MODULE, "%s", why ? why : mx_status_text(MX_INVALID_MODULE));
  else if (kernel >= image->nfuncs)
    s = mx__fail(d, MX_NOT_FOUND, "mx_debug_replace: the new module has no such kernel");
  else s = check(g, image, kernel, blocks, n);
  if (s == MX_OK) {
    prep = mx__prepare(image, kernel, g->prep->var_address, &g->level);
    if (prep) prep->clocks = true;
    bounds = prep ? calloc(prep->nbounds + 1u, sizeof *bounds) : NULL;
    if (prep && !still_starts(g, prep, blocks, n))
      s = mx__fail(d, MX_INVALID_MODULE, "mx_debug_replace: no instruction begins where lanes stand");
    else if (prep && prep->shared_static != g->prep->shared_static)
      s = mx__fail(d, MX_INVALID_MODULE, "mx_debug_replace: shared memory differs");
    else if (!bounds || !make_frames(g, prep, blocks, n, &list)) s = mx__fail_plain(d, MX_OUT_OF_MEMORY);
  }
  if (s == MX_OK) {
    r->prep = g->prep;
    r->next = g->replaced;
    g->replaced = r;
    commit(g, prep, bounds, blocks, n, list);
    keep_breaks(g, old, old_funcs);
    g->moved_code = true;
    mx__record_forget(g);
    s = mx__debug_mark(g);
  } else {
    while (list) {
      struct moved *m = list;
      list = m->next;
      atomic_fetch_sub(&g->launch->frame_bytes, m->to->size);
      free(m->to);
      free(m);
    }
    free(bounds);
    mx__prepared_free(prep);
    mx__image_free(r->image);
    free(r);
  }
  free(why);
  free(blocks);
  return s;
}

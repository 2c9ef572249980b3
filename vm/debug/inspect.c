/* What a debugger reads and changes while a session is stopped: blocks, warps, splits, joins, frames, registers,
 * memory. session.c runs and stops the launch. */
#include "session.h"

#include "vm/exec/async.h"
#include "vm/exec/flow.h"
#include "vm/exec/interp.h"
#include "vm/exec/queue.h"
#include "vm/exec/warp.h"
#include "vm/host/checker.h"
#include "vm/load/module.h"
#include "vm/memory/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mx__mnemonic(unsigned op) { return op < MX_OP_COUNT ? mx__ops[op].id : NULL; }

/* ---- blocks ---------------------------------------------------------------------------------------------*/

static int by_number(const void *a, const void *b) {
  const struct mx_block *const *x = a, *const *y = b;
  return (*x)->index < (*y)->index ? -1 : (*x)->index > (*y)->index;
}

size_t mx__debug_blocks(struct mx_debug *g, struct mx_block ***list) {
  *list = malloc((g->launch->resident + MX_MAX_CLUSTER) * sizeof **list);
  if (!*list) return 0;
  size_t n = mx__queue_list_parked(g->launch, *list), running = !g->over;
  for (size_t k = 0; k < n; k++)
    if ((*list)[k] == g->x->block) running = 0;
  if (running) n += mx__block_members(g->x->block, *list + n);
  size_t begun = 0;
  for (size_t k = 0; k < n; k++)
    if ((*list)[k]->started) (*list)[begun++] = (*list)[k];
  n = begun;
  qsort(*list, n, sizeof **list, by_number);
  return n;
}

struct mx_block *mx__debug_block(struct mx_debug *g, uint64_t number) {
  struct mx_block **list, *found = NULL;
  size_t n = mx__debug_blocks(g, &list);
  for (size_t k = 0; k < n; k++)
    if (list[k]->index == number && list[k]->started) found = list[k];
  free(list);
  return found;
}

size_t mx_debug_block_count(mx_debug *g) {
  if (mx__debug_ready(g, "mx_debug_block_count") != MX_OK) return 0;
  struct mx_block **list;
  size_t n = mx__debug_blocks(g, &list);
  free(list);
  return n;
}

mx_status mx_debug_block_at(mx_debug *g, size_t n, mx_debug_block *out) {
  mx_status s = mx__debug_ready(g, "mx_debug_block_at");
  if (s != MX_OK) return s;
  struct mx_block **list;
  size_t all = mx__debug_blocks(g, &list);
  if (n >= all) {
    free(list);
    return mx__fail(g->device, MX_NOT_FOUND, "%zu blocks are resident", all);
  }
  const struct mx_block *b = list[n];
  mx_debug_block o = {.number = b->index, .ctaid = {b->ctaid[0], b->ctaid[1], b->ctaid[2]}, .warps = b->nwarps};
  for (uint32_t w = 0; w < b->nwarps; w++) {
    o.live_threads += (uint32_t)__builtin_popcountll(b->warps[w].live);
    o.cluster_arrived += (uint32_t)__builtin_popcountll(b->barriers[MX_CLUSTER_BARRIER].arrived[w]);
  }
  o.cluster = b->unit, o.cluster_rank = b->rank, o.cluster_size = b->nmembers;
  free(list);
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

/* ---- warps and splits -----------------------------------------------------------------------------------*/

static mx_status find_warp(struct mx_debug *g, const char *call, uint64_t block, uint32_t warp, struct mx_block **b,
                           struct mx_warp **w) {
  mx_status s = mx__debug_ready(g, call);
  if (s != MX_OK) return s;
  *b = mx__debug_block(g, block);
  if (!*b) return mx__fail(g->device, MX_NOT_FOUND, "block %llu is not resident", (unsigned long long)block);
  if (warp >= (*b)->nwarps)
    return mx__fail(g->device, MX_NOT_FOUND, "block %llu has warps 0 to %u", (unsigned long long)block,
                    (*b)->nwarps - 1);
  *w = &(*b)->warps[warp];
  return MX_OK;
}

/* The splits that run first; of splits at the same place, the one with the lowest lane. */
static bool follows(const struct mx_split *s, const struct mx_split *before) {
  if (mx__goes_before(before, s)) return true;
  return !mx__goes_before(s, before) && __builtin_ctzll(before->mask) < __builtin_ctzll(s->mask);
}
/* The running split first, then the others in the order in which they would run, without those that wait at joins. */
struct mx_split *mx__debug_split(struct mx_debug *g, struct mx_block *b, struct mx_warp *w, uint32_t n) {
  const bool runs =
      b == g->x->block && w == g->x->warp && g->x->split >= w->splits && g->x->split < w->splits + w->nsplits;
  struct mx_split *last = NULL;
  for (uint32_t k = 0; k <= n; k++) {
    struct mx_split *best = runs && !k ? g->x->split : NULL;
    for (uint32_t m = 0; m < w->nsplits && !(runs && !k); m++) {
      struct mx_split *s = &w->splits[m];
      if ((runs && s == g->x->split) || mx__waits_at_join(s)) continue;
      if (last && last != (runs ? g->x->split : NULL) && !follows(s, last)) continue;
      if (!best || follows(best, s)) best = s;
    }
    if (!best) return NULL;
    last = best;
  }
  return last;
}

static uint32_t splits_of(struct mx_debug *g, struct mx_block *b, struct mx_warp *w) {
  uint32_t n = 0;
  while (mx__debug_split(g, b, w, n)) n++;
  return n;
}

static mx_status find_split(struct mx_debug *g, const char *call, uint64_t block, uint32_t warp, uint32_t split,
                            struct mx_block **b, struct mx_warp **w, struct mx_split **sp) {
  mx_status s = find_warp(g, call, block, warp, b, w);
  if (s != MX_OK) return s;
  *sp = mx__debug_split(g, *b, *w, split);
  if (*sp) return MX_OK;
  return mx__fail(g->device, MX_NOT_FOUND, "warp %u of block %llu has %u splits", warp, (unsigned long long)block,
                  splits_of(g, *b, *w));
}

mx_status mx_debug_get_warp(mx_debug *g, uint64_t block, uint32_t warp, mx_debug_warp *out) {
  struct mx_block *b;
  struct mx_warp *w;
  mx_status s = find_warp(g, "mx_debug_get_warp", block, warp, &b, &w);
  if (s != MX_OK) return s;
  mx_debug_warp o = {.live = w->live, .splits = splits_of(g, b, w), .clock = w->clock};
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

mx_status mx_debug_get_split(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, mx_debug_split *out) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  mx_status s = find_split(g, "mx_debug_get_split", block, warp, split, &b, &w, &sp);
  if (s != MX_OK) return s;
  const struct mx_pfunc *fn = sp->frame->fn;
  mx_debug_split o = {
      .lanes = sp->mask,
      .state = sp->state == MX_WAIT_SYNC       ? MX_DEBUG_WAITS_FOR_LANES
               : sp->state == MX_WAIT_BAR      ? MX_DEBUG_WAITS_AT_BARRIER
               : sp->state == MX_WAIT_MBARRIER ? MX_DEBUG_WAITS_AT_MBARRIER
                                               : MX_DEBUG_RUNNABLE,
      .sync_mask = sp->state == MX_WAIT_MBARRIER ? 0 : sp->sync_mask,
      .mbarrier =
          sp->state == MX_WAIT_MBARRIER ? sp->sync_mask - (uintptr_t)b->shared + MX_WINDOW(MX_WINDOW_SHARED) : 0,
      .barrier = sp->barrier,
      .function = fn->func->name,
      .instruction = mx__mnemonic(mx_w_op(fn->func->code[sp->pc])),
      .pc = sp->pc,
  };
  mx__line_of(g->prep->image, fn->number, sp->pc, &o.file, &o.line);
  for (const struct mx_frame *f = sp->frame; f; f = f->parent) o.depth++;
  struct mx_frame *at;
  while (mx__join_above(sp, o.joins, &at) != MX_NO_JOIN) o.joins++;
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

static mx_addr in_shared(const struct mx_block *b, const unsigned char *at) {
  const struct mx_block *of = at ? mx__shared_owner((struct mx_block *)(uintptr_t)b, at) : NULL;
  if (!of) return 0;
  const mx_addr address = (uint64_t)(at - of->shared) + MX_WINDOW(MX_WINDOW_SHARED);
  return of == b ? address : mx__shared_at_rank(address, of->rank);
}

mx_status mx_debug_get_copy(mx_debug *g, uint64_t block, size_t n, mx_debug_copy *out) {
  struct mx_block *b;
  struct mx_warp *w;
  mx_status s = find_warp(g, "mx_debug_get_copy", block, 0, &b, &w);
  if (s != MX_OK) return s;
  for (uint32_t k = 0; b->async && k < b->nwarps; k++) {
    const struct mx_warp_copies *of = &b->async->warp[k];
    if (n >= of->n) {
      n -= of->n;
      continue;
    }
    const struct mx_copy *c = of->list[n];
    const bool arrives = c->kind == MX_COPY_ARRIVE, bulk = c->kind == MX_COPY_BULK;
    const unsigned lowest = (unsigned)__builtin_ctzll(c->lanes);
    const uint32_t committed = bulk ? of->bulk_groups[lowest] : of->committed + of->groups[lowest];
    const struct mx_pfunc *fn = &g->prep->funcs[c->func];
    mx_debug_copy o = {
        .warp = k,
        .lanes = c->lanes,
        .function = fn->func->name,
        .instruction = mx__mnemonic(mx_w_op(fn->func->code[c->pc])),
        .pc = c->pc,
        .bytes = arrives ? 0
                 : bulk  ? c->size
                         : c->bytes,
        .target = arrives          ? 0
                  : bulk && !c->of ? c->address
                                   : in_shared(b, c->to[bulk ? 0 : lowest]),
        .mbarrier = in_shared(b, arrives ? c->to[lowest] : c->signal),
        .groups = arrives || c->signal ? 0 : committed - c->group,
    };
    mx__line_of(g->prep->image, c->func, c->pc, &o.file, &o.line);
    return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
  }
  return MX_NOT_FOUND;
}

mx_status mx_debug_get_join(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t join,
                            mx_debug_join *out) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  mx_status s = find_split(g, "mx_debug_get_join", block, warp, split, &b, &w, &sp);
  if (s != MX_OK) return s;
  struct mx_frame *f;
  const uint32_t j = mx__join_above(sp, join, &f);
  if (j == MX_NO_JOIN) return mx__fail(g->device, MX_NOT_FOUND, "the split has no join number %u", join);
  const struct mx_pfunc *fn = f->fn;
  const uint32_t pc = fn->join_pc[j];
  mx_debug_join o = {.function = fn->func->name,
                     .pc = pc,
                     .at_return = pc == MX_PC_RET,
                     .expected = mx__expected_at(f, j),
                     .arrived = mx__arrived_at(w, f, j)};
  if (!o.at_return) mx__line_of(g->prep->image, fn->number, pc, &o.file, &o.line);
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

/* Frame n of a split, and the pc at which it stands. */
static mx_status find_frame(struct mx_debug *g, const struct mx_split *sp, uint32_t n, struct mx_frame **frame,
                            uint32_t *pc) {
  struct mx_frame *f = sp->frame;
  *pc = sp->pc;
  for (uint32_t k = 0; f && k < n; k++) {
    if (f->parent) *pc = f->parent->fn->insns[f->call].pc;
    f = f->parent;
  }
  *frame = f;
  return f ? MX_OK : mx__fail(g->device, MX_NOT_FOUND, "the split has no frame number %u", n);
}

mx_status mx_debug_get_frame(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                             mx_debug_frame *out) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  struct mx_frame *f;
  mx_debug_frame o = {0};
  mx_status s = find_split(g, "mx_debug_get_frame", block, warp, split, &b, &w, &sp);
  if (s == MX_OK) s = find_frame(g, sp, frame, &f, &o.pc);
  if (s != MX_OK) return s;
  o.function = f->fn->func->name;
  o.lanes = f->lanes;
  mx__line_of(g->prep->image, f->fn->number, o.pc, &o.file, &o.line);
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

/* ---- registers ------------------------------------------------------------------------------------------*/

uint32_t mx__debug_offset(const struct mx_pfunc *fn, uint32_t lanes, const struct mx_register_place *p, uint32_t slot) {
  if (p->cls == MX_PRED) return (p->spilled ? fn->off_spred : 0) + slot * 8;
  if (p->cls == MX_R32) return (p->spilled ? fn->off_s32 : fn->off_r32) + slot * lanes * 4;
  return (p->spilled ? fn->off_s64 : fn->off_r64) + slot * lanes * 8;
}

static unsigned char *cells(const struct mx_debug *g, struct mx_frame *f, const struct mx_register_place *p,
                            uint32_t slot) {
  return f->slots + mx__debug_offset(f->fn, g->prep->lanes, p, slot);
}

static bool exists(const struct mx_func *f, const struct mx_register_place *p) {
  uint32_t end = p->slot + (p->cls == MX_R128 ? 2u : 1u);
  if (p->cls == MX_PRED) return end <= (p->spilled ? f->nspillpred : f->npred);
  if (p->cls == MX_R32) return end <= (p->spilled ? f->nspill32 : f->n32);
  return end <= (p->spilled ? f->nspill64 : f->n64);
}

static void read_cells(struct mx_debug *g, struct mx_frame *f, uint32_t pc, const struct mx_register_place *p,
                       mx_debug_register *out) {
  uint32_t lanes = g->prep->lanes;
  out->known = mx__compiled_known(g, f, pc, mx__debug_offset(f->fn, lanes, p, p->slot), p->cls);
  const unsigned char *c = cells(g, f, p, p->slot);
  out->type = mx__types[p->type].name;
  out->bits = mx__types[p->type].bits;
  out->lanes = lanes;
  for (uint32_t l = 0; l < lanes; l++) {
    uint32_t narrow;
    if (p->cls == MX_PRED) {
      uint64_t all;
      memcpy(&all, c, 8);
      out->low[l] = all >> l & 1;
    } else if (p->cls == MX_R32) {
      memcpy(&narrow, c + l * 4, 4);
      out->low[l] = narrow;
    } else {
      memcpy(&out->low[l], c + l * 8, 8);
      if (p->cls == MX_R128) memcpy(&out->high[l], cells(g, f, p, p->slot + 1u) + l * 8, 8);
    }
  }
}

static void write_cells(const struct mx_debug *g, struct mx_frame *f, const struct mx_register_place *p, uint64_t m,
                        uint64_t low, uint64_t high) {
  unsigned char *c = cells(g, f, p, p->slot);
  unsigned bits = mx__types[p->type].bits;
  if (bits < 64) low &= (1ull << bits) - 1;
  if (p->cls == MX_PRED) {
    uint64_t all;
    memcpy(&all, c, 8);
    all = low ? all | m : all & ~m;
    memcpy(c, &all, 8);
    return;
  }
  MX_FOR_LANES (l, m) {
    if (p->cls == MX_R32) memcpy(c + l * 4, &(uint32_t){(uint32_t)low}, 4);
    else memcpy(c + l * 8, &low, 8);
    if (p->cls == MX_R128) memcpy(cells(g, f, p, p->slot + 1u) + l * 8, &high, 8);
  }
}

/* "%.r5": a slot by its number. */
static bool physical(const char *name, struct mx_register_place *p) {
  char kind;
  unsigned slot;
  int end = 0;
  if (sscanf(name, "%%.%c%5u%n", &kind, &slot, &end) != 2 || name[end]) return false;
  const char *k = memchr("prdq", kind, 4);
  if (!k) return false;
  static const struct mx_register_place of[] = {{MX_PRED, MX_T_pred, false, 0},
                                                {MX_R32, MX_T_b32, false, 0},
                                                {MX_R64, MX_T_b64, false, 0},
                                                {MX_R128, MX_T_b128, false, 0}};
  *p = of[kind == 'p' ? 0 : kind == 'r' ? 1 : kind == 'd' ? 2 : 3];
  p->slot = (uint16_t)slot;
  return slot < MX_MAX_SLOTS;
}

static const struct mx_name *named(const struct mx_func *f, const char *name, uint32_t pc) {
  for (uint32_t k = 0; k < f->nnames; k++)
    if (f->names[k].lo <= pc && pc < f->names[k].hi && !strcmp(f->names[k].name, name)) return &f->names[k];
  return NULL;
}

static struct mx_register_place place_of(const struct mx_name *n) {
  return (struct mx_register_place){n->cls, n->type, n->spilled, n->slot};
}

_Static_assert(MX_SR_TID_X == 0, "the thread numbers come first");

static bool special(const struct mx_debug *g, const struct mx_block *b, const struct mx_warp *w, const char *name,
                    mx_debug_register *out) {
  uint32_t lanes = g->prep->lanes, sr = MX_SR_COUNT;
  for (uint32_t k = 0; name[0] == '%' && k < MX_SR_COUNT; k++)
    if (!strcmp(mx__sregs[k].name, name + 1) && (sr == MX_SR_COUNT || lanes == 64))
      sr = k; /* the 64-lane rows come last */
  if (sr == MX_SR_COUNT) return false;
  const struct mx_exec *x = g->x;
  out->name = name;
  out->type = mx__types[mx__sregs[sr].type].name;
  out->bits = mx__types[mx__sregs[sr].type].bits;
  out->lanes = lanes;
  for (uint32_t l = 0; l < lanes; l++) {
    uint64_t v = x->sreg[sr];
    if (sr <= MX_SR_TID_Z) v = w->tid[sr - MX_SR_TID_X][l];
    else if (sr >= MX_SR_CTAID_X && sr <= MX_SR_CTAID_Z) v = b->ctaid[sr - MX_SR_CTAID_X];
    else if (sr >= MX_SR_CLUSTERID_X && sr <= MX_SR_CLUSTERID_Z)
      v = b->ctaid[sr - MX_SR_CLUSTERID_X] / b->launch->cluster[sr - MX_SR_CLUSTERID_X];
    else if (sr >= MX_SR_CLUSTER_CTAID_X && sr <= MX_SR_CLUSTER_CTAID_Z)
      v = b->ctaid[sr - MX_SR_CLUSTER_CTAID_X] % b->launch->cluster[sr - MX_SR_CLUSTER_CTAID_X];
    else if (sr == MX_SR_CLUSTER_CTARANK) v = b->rank;
    else if (sr == MX_SR_WARPID) v = w->number;
    else if (sr == MX_SR_CLOCK || sr == MX_SR_GLOBALTIMER_LO) v = (uint32_t)w->clock;
    else if (sr == MX_SR_CLOCK_HI || sr == MX_SR_GLOBALTIMER_HI) v = w->clock >> 32;
    else if (sr == MX_SR_CLOCK64 || sr == MX_SR_GLOBALTIMER) v = w->clock;
    else if (x->sreg_lanes64[sr]) v = x->sreg_lanes64[sr][l];
    else if (x->sreg_lanes32[sr]) v = x->sreg_lanes32[sr][l];
    out->low[l] = v;
  }
  return true;
}

/* Whether nothing has written the register on any path to here: no instruction, no caller through an argument, no
 * debugger. */
static bool is_unset(const struct mx_debug *g, const struct mx_frame *f, uint32_t pc,
                     const struct mx_register_place *p) {
  const struct mx_func *fn = f->fn->func;
  const mx_ref ref = (mx_ref)mx__debug_offset(f->fn, g->prep->lanes, p, p->slot);
  uint32_t writer;
  if (g->jumped) return false;
  for (uint32_t k = 0; k < fn->nargs && !p->spilled; k++)
    if (fn->args[k].cls == p->cls && fn->args[k].slot == p->slot) return false;
  for (size_t k = 0; k < g->nby_hand; k++)
    if (g->by_hand[k].func == f->fn->number && g->by_hand[k].ref == ref) return false;
  return !mx__writers(f->fn, g->prep->lanes, pc, ref, &writer, 1);
}

static void note_by_hand(struct mx_debug *g, const struct mx_frame *f, const struct mx_register_place *p) {
  const struct mx_by_hand one = {f->fn->number, (mx_ref)mx__debug_offset(f->fn, g->prep->lanes, p, p->slot)};
  struct mx_by_hand *more = realloc(g->by_hand, (g->nby_hand + 1) * sizeof *more);
  if (more) g->by_hand = more, g->by_hand[g->nby_hand++] = one;
  else g->jumped = true;
}

size_t mx_debug_register_count(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  struct mx_frame *f;
  uint32_t pc;
  size_t n = 0;
  if (find_split(g, "mx_debug_register_count", block, warp, split, &b, &w, &sp) != MX_OK) return 0;
  if (find_frame(g, sp, frame, &f, &pc) != MX_OK) return 0;
  const struct mx_func *fn = f->fn->func;
  for (uint32_t k = 0; k < fn->nnames; k++) n += fn->names[k].lo <= pc && pc < fn->names[k].hi;
  return n;
}

mx_status mx_debug_register_at(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame, size_t n,
                               mx_debug_register *out) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  struct mx_frame *f;
  uint32_t pc;
  mx_status s = find_split(g, "mx_debug_register_at", block, warp, split, &b, &w, &sp);
  if (s == MX_OK) s = find_frame(g, sp, frame, &f, &pc);
  if (s != MX_OK) return s;
  const struct mx_func *fn = f->fn->func;
  for (uint32_t k = 0; k < fn->nnames; k++) {
    if (fn->names[k].lo > pc || pc >= fn->names[k].hi || n--) continue;
    mx_debug_register o = {.name = fn->names[k].name};
    struct mx_register_place p = place_of(&fn->names[k]);
    read_cells(g, f, pc, &p, &o);
    o.unset = is_unset(g, f, pc, &p);
    return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
  }
  return mx__fail(g->device, MX_NOT_FOUND, "fewer names are live there");
}

bool mx__debug_place(const struct mx_func *fn, uint32_t pc, const char *name, struct mx_register_place *p) {
  const struct mx_name *n = named(fn, name, pc);
  if (n) *p = place_of(n);
  return n || (physical(name, p) && exists(fn, p));
}

static mx_status find_place(struct mx_debug *g, struct mx_frame *f, uint32_t pc, const char *name,
                            struct mx_register_place *p) {
  if (mx__debug_place(f->fn->func, pc, name, p)) return MX_OK;
  return mx__fail(g->device, MX_NOT_FOUND, "'%s' holds nothing at pc %u of '%s'", name, pc, f->fn->func->name);
}

mx_status mx__debug_frame(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t n,
                          struct mx_frame **frame, uint32_t *pc) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  mx_status s = find_split(g, "mx_debug", block, warp, split, &b, &w, &sp);
  return s == MX_OK ? find_frame(g, sp, n, frame, pc) : s;
}

mx_status mx_debug_get_register(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                const char *name, mx_debug_register *out) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  struct mx_frame *f;
  uint32_t pc;
  mx_status s = find_split(g, "mx_debug_get_register", block, warp, split, &b, &w, &sp);
  if (s == MX_OK) s = find_frame(g, sp, frame, &f, &pc);
  if (s != MX_OK) return s;
  if (!name) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_get_register: no name");
  mx_debug_register o = {.name = name, .known = UINT64_MAX};
  struct mx_register_place p;
  if (named(f->fn->func, name, pc) || !special(g, b, w, name, &o)) {
    s = find_place(g, f, pc, name, &p);
    if (s != MX_OK) return s;
    read_cells(g, f, pc, &p, &o);
    o.unset = mx__debug_asking != g && is_unset(g, f, pc, &p);
  }
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

mx_status mx_debug_set_register(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                                const char *name, uint64_t lanes, uint64_t low, uint64_t high) {
  struct mx_block *b;
  struct mx_warp *w;
  struct mx_split *sp;
  struct mx_frame *f;
  struct mx_register_place p;
  uint32_t pc;
  mx_status s = find_split(g, "mx_debug_set_register", block, warp, split, &b, &w, &sp);
  if (s == MX_OK) s = find_frame(g, sp, frame, &f, &pc);
  if (s == MX_OK && !name) s = mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_set_register: no name");
  if (s == MX_OK) s = find_place(g, f, pc, name, &p);
  if (s != MX_OK) return s;
  if (is_unset(g, f, pc, &p)) note_by_hand(g, f, &p);
  mx__edit_register(g, block, warp, split, frame, name, lanes, low, high);
  write_cells(g, f, &p, lanes & g->x->full, low, high);
  if (g->step) g->device->checker->set_register(g->device->check, f, p.cls, p.slot, p.spilled, lanes & g->x->full);
  mx__compiled_wrote(g, f, pc, mx__debug_offset(f->fn, g->prep->lanes, &p, p.slot), p.cls, lanes);
  return MX_OK;
}

mx_status mx_debug_find_cell(mx_debug *g, const char *function, uint32_t pc, const char *name, mx_debug_cell *out) {
  mx_status s = mx__debug_ready(g, "mx_debug_find_cell");
  if (s != MX_OK) return s;
  const struct mx_pfunc *fn = mx__debug_function(g, function);
  struct mx_register_place p;
  if (!fn || !name || !mx__debug_place(fn->func, pc, name, &p) || p.cls == MX_R128)
    return mx__fail(g->device, MX_NOT_FOUND, "'%s' holds nothing at pc %u of '%s'", name ? name : "", pc,
                    fn ? fn->func->name : function);
  mx_debug_cell o = {.type = mx__types[p.type].name,
                     .bits = mx__types[p.type].bits,
                     .lanes = g->prep->lanes,
                     .place = {fn->number, mx__debug_offset(fn, g->prep->lanes, &p, p.slot), p.type}};
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

const void *mx_debug_cell_lanes(mx_debug *g, const mx_debug_cell *c) {
  if (!g || mx__debug_asking != g || g->x->fn->number != c->place[0] || c->place[1] >= g->x->fn->frame_bytes)
    return NULL;
  return g->x->frame->slots + c->place[1];
}

/* ---- code -----------------------------------------------------------------------------------------------*/

const struct mx_pfunc *mx__debug_function(const struct mx_debug *g, const char *name) {
  for (uint32_t f = 0; f < g->prep->nfuncs; f++)
    if (g->prep->funcs[f].insns && (name ? !strcmp(g->prep->funcs[f].func->name, name) : f == g->prep->kernel))
      return &g->prep->funcs[f];
  return NULL;
}

size_t mx_debug_function_count(mx_debug *g) {
  size_t n = 0;
  if (mx__debug_code_ready(g, "mx_debug_function_count") != MX_OK) return 0;
  for (uint32_t f = 0; f < g->prep->nfuncs; f++) n += g->prep->funcs[f].insns != NULL;
  return n;
}

mx_status mx_debug_function_at(mx_debug *g, size_t n, mx_debug_function *out) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_function_at");
  if (s != MX_OK) return s;
  const struct mx_pfunc *fn = n ? NULL : &g->prep->funcs[g->prep->kernel];
  for (uint32_t f = 0; f < g->prep->nfuncs && !fn; f++)
    if (g->prep->funcs[f].insns && f != g->prep->kernel && !--n) fn = &g->prep->funcs[f];
  if (!fn) return mx__fail(g->device, MX_NOT_FOUND, "the kernel has fewer functions");
  mx_debug_function o = {.name = fn->func->name, .kernel = fn->func->flags & MX_FUNC_KERNEL, .words = fn->func->ncode};
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

mx_status mx_debug_code(mx_debug *g, const char *function, uint32_t pc, mx_debug_instruction *out) {
  mx_status s = mx__debug_code_ready(g, "mx_debug_code");
  if (s != MX_OK) return s;
  const struct mx_pfunc *fn = mx__debug_function(g, function);
  if (!fn) return mx__fail(g->device, MX_NOT_FOUND, "the kernel does not use a function '%s'", function);
  if (pc >= fn->func->ncode || fn->index_of_pc[pc] == UINT32_MAX)
    return mx__fail(g->device, MX_NOT_FOUND, "no instruction of '%s' begins at pc %u", fn->func->name, pc);
  mx_word w = fn->func->code[pc];
  mx_debug_instruction o = {.instruction = mx__mnemonic(mx_w_op(w)), .words = mx_w_length(w)};
  mx__line_of(g->prep->image, fn->number, pc, &o.file, &o.line);
  for (uint32_t k = 0; k < fn->func->nlabels && !o.label; k++)
    if (fn->func->labels[k].pc == pc) o.label = fn->func->labels[k].name;
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

const char *mx_debug_name_at(mx_debug *g, const char *function, size_t n) {
  if (mx__debug_code_ready(g, "mx_debug_name_at") != MX_OK) return NULL;
  const struct mx_pfunc *fn = mx__debug_function(g, function);
  return fn && n < fn->func->nnames ? fn->func->names[n].name : NULL;
}

/* ---- memory ---------------------------------------------------------------------------------------------*/

mx_addr mx_debug_generic(unsigned space, uint64_t address) { return address + mx_space_window(space + MX_GLOBAL); }

/* Host pointer for a lane's access; d->mem is held. */
static unsigned char *lane_range(struct mx_debug *g, const struct mx_block *b, const struct mx_warp *w, uint32_t lane,
                                 mx_addr address, size_t bytes) {
  const struct mx_launch *l = g->launch;
  uint64_t off = address & ((1ull << MX_WINDOW_SHIFT) - 1), size = 0, lo;
  unsigned char *base = NULL;
  switch (address >> MX_WINDOW_SHIFT) {
  case MX_WINDOW_SHARED: base = b->shared, size = l->shared_bytes; break;
  case MX_WINDOW_LOCAL: base = w->local + (size_t)lane * l->local_bytes, size = l->local_bytes; break;
  case MX_WINDOW_PARAM: base = (unsigned char *)(uintptr_t)l->params, size = l->param_bytes; break;
  default:
    if (address >= MX_HEAP_START && g->device->heap && mx__heap_find(g->device->heap, address, &lo, &size))
      return size - (address - lo) >= bytes ? g->device->memory.heap.map + (address - MX_HEAP_START) : NULL;
    return mx__memory_host(&g->device->memory, address, bytes);
  }
  return off <= size && size - off >= bytes ? base + off : NULL;
}

static mx_status transfer(struct mx_debug *g, const char *call, uint64_t block, uint32_t warp, uint32_t lane,
                          mx_addr address, void *host, size_t bytes, bool write) {
  struct mx_block *b;
  struct mx_warp *w;
  mx_status s = find_warp(g, call, block, warp, &b, &w);
  if (s != MX_OK) return s;
  if (lane >= g->prep->lanes || (bytes && !host))
    return mx__fail(g->device, MX_INVALID_VALUE, "%s: no such lane, or no buffer", call);
  const bool held = mx__debug_asking == g;
  if (!held) mx__lock_read(&g->device->mem);
  unsigned char *p = lane_range(g, b, w, lane, address, bytes);
  if (p && bytes && write) mx__edit_memory(g, block, warp, lane, address, host, bytes);
  if (p && bytes) memcpy(write ? (void *)p : host, write ? host : (void *)p, bytes);
  if (p && bytes && write && g->step) g->device->checker->set_memory(g->device->check, b, warp, lane, address, bytes);
  if (!held) mx__rwunlock(&g->device->mem);
  if (p || !bytes) return MX_OK;
  return mx__fail(g->device, MX_INVALID_ADDRESS, "%s: lane %u cannot reach %zu bytes at 0x%llx", call, lane, bytes,
                  (unsigned long long)address);
}

mx_status mx_debug_read(mx_debug *g, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address, void *to,
                        size_t bytes) {
  return transfer(g, "mx_debug_read", block, warp, lane, address, to, bytes, false);
}

mx_status mx_debug_write(mx_debug *g, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address, const void *from,
                         size_t bytes) {
  return transfer(g, "mx_debug_write", block, warp, lane, address, (void *)(uintptr_t)from, bytes, true);
}

static bool uses_variable(const struct mx_debug *g, uint32_t number) {
  const struct mx_func *k = &g->prep->image->funcs[g->prep->kernel];
  bool used = g->prep->image->vars[number].space != MX_SHARED;
  for (uint32_t n = 0; n < k->nshared && !used; n++) used = k->shared[n] == number;
  return used;
}

static void describe_variable(const struct mx_debug *g, uint32_t number, mx_debug_variable *out) {
  const struct mx_var *v = &g->prep->image->vars[number];
  const uint64_t at = v->space == MX_SHARED ? g->prep->shared_offset[number] : g->prep->var_address[number];
  *out = (mx_debug_variable){.name = v->name,
                             .space = v->space - MX_GLOBAL,
                             .address = at + mx_space_window(v->space),
                             .bytes = v->flags & MX_VAR_EXTERN_SHARED ? g->launch->shared_dynamic : v->size};
}

mx_status mx_debug_variable_at(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame, size_t n,
                               mx_debug_variable *out) {
  mx_status s = mx__debug_ready(g, "mx_debug_variable_at");
  if (s != MX_OK) return s;
  const struct mx_image *image = g->prep->image;
  mx_debug_variable o;
  struct mx_frame *f;
  uint32_t pc;
  for (uint32_t k = 0; k < image->nvars; k++) {
    if (!uses_variable(g, k) || n--) continue;
    describe_variable(g, k, &o);
    return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
  }
  if (mx__debug_frame(g, block, warp, split, frame, &f, &pc) != MX_OK || n >= f->fn->func->nlocals)
    return mx__fail(g->device, MX_NOT_FOUND, "there are fewer variables");
  const struct mx_local *v = &f->fn->func->locals[n];
  o = (mx_debug_variable){.name = v->name,
                          .space = MX_DEBUG_LOCAL,
                          .bytes = v->size,
                          .address = MX_WINDOW(MX_WINDOW_LOCAL) + f->local_base + v->offset};
  return mx__fail_plain(g->device, mx__struct_out(out, &o, sizeof o));
}

mx_status mx_debug_symbol(mx_debug *g, const char *name, mx_addr *address, uint64_t *bytes) {
  mx_status s = mx__debug_ready(g, "mx_debug_symbol");
  if (s != MX_OK) return s;
  if (!name) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_symbol: no name");
  const struct mx_image *image = g->prep->image;
  for (uint32_t k = 0; k < image->nvars; k++) {
    if (strcmp(image->vars[k].name, name)) continue;
    mx_debug_variable v;
    describe_variable(g, k, &v);
    if (address) *address = v.address;
    if (bytes) *bytes = v.bytes;
    return MX_OK;
  }
  return mx__fail(g->device, MX_NOT_FOUND, "the module has no variable '%s'", name);
}

/* Asynchronous copies: an instruction checks a copy and puts it into its warp's list; the copy is carried out later,
 * when it lands; see async.h. */
#include "async.h"
#include "core/format.h"
#include "vm/exec/access.h"
#include "vm/exec/compiled_block.h"
#include "vm/exec/hooks.h"
#include "vm/exec/warp.h"

#include <stdlib.h>
#include <string.h>

enum {
  SPARE = 8, /* of a warp */
  SOON = 16 /* MX_ASYNC_RANDOM: events until a copy lands */,
  MOST_PASSES = 1024
};

/* ---- lists ----------------------------------------------------------------------------------------------*/
/* Appends a copy to the list. NULL: out of memory. */
static struct mx_copy *add(struct mx_async *a, struct mx_warp_copies *w) {
  if (w->n == w->list_room) {
    const uint32_t room = w->list_room ? w->list_room * 2 : 16;
    struct mx_copy **list = realloc(w->list, room * sizeof *list);
    if (!list) return NULL;
    memset(list + w->list_room, 0, (room - w->list_room) * sizeof *list);
    w->list = list, w->list_room = room;
  }
  if (!w->list[w->n]) w->list[w->n] = malloc(sizeof **w->list);
  struct mx_copy *c = w->list[w->n];
  if (c) a->n++, w->n++;
  return c;
}
/* Moves the ring's copies to the end of the list, behind which any kind of copy may follow. False: out of memory. */
static bool settle(struct mx_async *a, struct mx_warp_copies *w, const struct mx_exec *x) {
  for (; w->landed != w->issued; w->landed++) {
    const struct mx_row_copy *r = &w->rows[w->landed & w->mask];
    struct mx_copy *c = add(a, w);
    if (!c) return false;
    c->kind = r->row ? MX_COPY_LANES : MX_COPY_ARRIVE;
    c->whole = true;
    c->row = (uint8_t)r->row, c->bytes = (uint8_t)r->bytes;
    c->func = r->func, c->pc = r->pc, c->group = r->group;
    c->lanes = x->full;
    c->signal = NULL;
    if (r->row) mx__row_places(r, x->lanes, c->to, c->from);
    for (unsigned l = 0; !r->row && l < x->lanes; l++) c->to[l] = r->at[0].to;
    a->arrivals -= !r->row;
  }
  return true;
}
bool mx__async_put(struct mx_block *b, uint32_t warp, const struct mx_copy *copy) {
  struct mx_async *a = mx__async_of(b);
  struct mx_copy *c = a ? add(a, &a->warp[warp]) : NULL;
  if (c) *c = *copy;
  return c != NULL;
}
/* Removes copies that have landed for all of their lanes from the list; they are kept behind its end for reuse. */
static void sweep(struct mx_async *a, struct mx_warp_copies *w) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < w->n; k++) {
    struct mx_copy *c = w->list[k];
    if (c->lanes) w->list[k] = w->list[kept], w->list[kept++] = c;
  }
  for (uint32_t k = kept + SPARE; k < w->n; k++) free(w->list[k]), w->list[k] = NULL;
  a->n -= w->n - kept;
  w->n = kept;
}
struct mx_trap mx__async_blame(const struct mx_block *b, uint32_t warp, const struct mx_copy *c, uint64_t lanes) {
  struct mx_trap t = {.kind = MX_TRAP_MBARRIER, .func = c->func, .pc = c->pc, .warp = warp, .lanes = lanes};
  memcpy(t.block, b->ctaid, sizeof t.block);
  return t;
}

bool mx__async_end(struct mx_block *b) {
  const struct mx_async *a = b->async;
  if (!a || !a->n || atomic_load_explicit(b->launch->stop, memory_order_relaxed) != MX_STOP_NOT) return true;
  for (uint32_t w = 0; w < b->nwarps; w++)
    for (uint32_t k = 0; k < a->warp[w].n; k++) {
      const struct mx_copy *c = a->warp[w].list[k];
      if (c->kind != MX_COPY_BULK || c->of == b || mx__shared_owner(b, c->from[0]) != b) continue;
      struct mx_trap t = mx__async_blame(b, w, c, c->lanes);
      t.kind = MX_TRAP_ASYNC;
      t.detail = mx__format("the block has ended, and its shared memory with it, before this copy has read it: nobody "
                            "has waited (cp.async.bulk.wait_group)");
      mx__trap_raise(b->launch, &t);
      return false;
    }
  return true;
}
void mx__async_clear(struct mx_block *b) {
  struct mx_async *a = b->async;
  b->timeouts = 0;
  b->time_over = false;
  if (!a) return;
  for (uint32_t w = 0; w < b->nwarps; w++) {
    for (uint32_t k = 0; k < a->warp[w].n; k++) a->warp[w].list[k]->lanes = 0;
    sweep(a, &a->warp[w]);
    a->warp[w].landed = a->warp[w].issued;
    a->warp[w].committed = 0;
    if (a->warp[w].groups_differ) memset(a->warp[w].groups, 0, sizeof a->warp[w].groups);
    if (a->warp[w].has_bulk_groups) memset(a->warp[w].bulk_groups, 0, sizeof a->warp[w].bulk_groups);
    a->warp[w].groups_differ = a->warp[w].has_bulk_groups = false;
    mx__copies_capacity(&a->warp[w]);
  }
  a->nwanted = a->passes = a->arrivals = 0;
  a->events = 0;
  a->random = b->launch->async_seed ^ b->index * 0x9E3779B97F4A7C15u;
}
void mx__async_free(struct mx_block *b) {
  struct mx_async *a = b->async;
  if (!a) return;
  mx__async_clear(b);
  for (uint32_t w = 0; w < b->nwarps; w++) {
    for (uint32_t k = 0; k < a->warp[w].list_room; k++) free(a->warp[w].list[k]);
    free(a->warp[w].list);
    free(a->warp[w].rows);
  }
  free(a);
  b->async = NULL, b->copies = NULL;
}

/* ---- landing --------------------------------------------------------------------------------------------*/
static void copy_lane(const struct mx_copy *c, uint64_t l) {
  unsigned char bytes[16] = {0};
  if (c->read[l]) memcpy(bytes, c->from[l], c->read[l]);
  memcpy(c->to[l], bytes, c->bytes);
}
/* Turns a row copy into one with an address for each lane. */
static void spread(struct mx_copy *c, unsigned lanes) {
  for (unsigned l = lanes; l--;) { /* the address of a row's piece is at an index no greater than its last lane */
    const size_t at = (size_t)(l % c->row) * c->bytes;
    c->to[l] = c->to[l / c->row] + at, c->from[l] = c->from[l / c->row] + at;
  }
  c->row = 0;
}
/* Copies whole elements; where both sources and targets are adjacent, several at once. */
static void copy_rows(const struct mx_copy *c, uint64_t m) {
  const size_t bytes = c->bytes;
  while (m) {
    const size_t first = (size_t)__builtin_ctzll(m),
                 end = ~(m >> first) ? first + (size_t)__builtin_ctzll(~(m >> first)) : 64;
    for (size_t from = first, l = first; from < end; from = l) {
      for (l++; l < end && c->to[l] == c->to[l - 1] + bytes && c->from[l] == c->from[l - 1] + bytes;) l++;
      memmove(c->to[from], c->from[from], (l - from) * bytes);
    }
    m &= end == 64 ? 0 : UINT64_MAX << end;
  }
}

static void note_write(struct mx_exec *x, const struct mx_copy *c) {
  const struct mx_launch *l = x->launch;
  unsigned char *to = c->to[0];
  if (c->of) mx__shared_write(x, c->of, to, c->size);
  else if (l->debug && l->hooks->sees_writes(l->debug)) l->hooks->writes(x, 1, &c->address, 0, c->size, &to);
}
static bool land_bulk(struct mx_exec *x, struct mx_block *b, uint32_t warp, struct mx_copy *c, uint64_t m) {
  const void *from = c->from[0] ? (const void *)c->from[0] : (const void *)c->value;
  c->lanes = 0;
  if (c->of && c->of->ended) {
    struct mx_trap t = mx__async_blame(b, warp, c, m);
    t.kind = MX_TRAP_ASYNC;
    t.detail = mx__format("it lands in the shared memory of block (%u,%u,%u), which has ended", c->of->ctaid[0],
                          c->of->ctaid[1], c->of->ctaid[2]);
    return mx__trap_raise(b->launch, &t), false;
  }
  note_write(x, c);
  if (!c->reduce) memmove(c->to[0], from, c->size);
  else
    for (uint32_t at = 0; at < c->size; at += c->reduce->bytes)
      c->reduce->cell(c->to[0] + at, (const unsigned char *)from + at, c->of != NULL);
  if (!c->signal) return true;
  const struct mx_trap t = mx__async_blame(b, warp, c, m);
  return mx__mbarrier_bytes(x, c->of, c->signal, -(int64_t)c->size, true, &t);
}

static bool land_before(struct mx_exec *x, struct mx_block *b, uint32_t warp, uint32_t end, uint64_t m);
/* Copy number k of the warp's list lands for its lanes among m. False: trapped. */
static bool land(struct mx_exec *x, struct mx_block *b, uint32_t warp, uint32_t k, uint64_t m) {
  struct mx_copy *c = b->async->warp[warp].list[k];
  m &= c->lanes;
  if (!m) return true;
  if (c->kind == MX_COPY_ARRIVE) {
    if (!land_before(x, b, warp, k, m)) return false;
    c->lanes &= ~m;
    MX_FOR_LANES (l, m) {
      const struct mx_trap t = mx__async_blame(b, warp, c, 1ull << l);
      if (!(c->bytes ? mx__mbarrier_bytes(x, b, c->to[l], -1, true, &t) : mx__mbarrier_arrive(x, b, c->to[l], 1, &t)))
        return false;
    }
    return true;
  }
  if (c->kind == MX_COPY_BULK) return land_bulk(x, b, warp, c, m);
  if (c->row) spread(c, x->lanes);
  c->lanes &= ~m;
  if (b->launch->debug)
    MX_FOR_LANES (l, m) mx__shared_write(x, b, c->to[l], c->bytes);
  if (c->whole) copy_rows(c, m);
  else
    MX_FOR_LANES (l, m) copy_lane(c, l);
  return true;
}
/* Copies that lanes m issued before number `end` land. */
static bool land_before(struct mx_exec *x, struct mx_block *b, uint32_t warp, uint32_t end, uint64_t m) {
  bool good = true;
  for (uint32_t k = 0; good && k < end; k++) good = land(x, b, warp, k, m);
  return good;
}

static bool is_wanted(const struct mx_async *a, const unsigned char *at) {
  if (a->nwanted > MX_WANTED) return true;
  for (uint32_t k = 0; k < a->nwanted; k++)
    if (a->wanted[k] == at) return true;
  return false;
}
static void want_of_splits(struct mx_async *a, const struct mx_block *b) {
  for (uint32_t w = 0; w < b->nwarps; w++)
    for (uint32_t k = 0; k < b->warps[w].nsplits; k++) {
      const struct mx_split *s = &b->warps[w].splits[k];
      if (s->state != MX_WAIT_MBARRIER || is_wanted(a, (unsigned char *)(uintptr_t)s->sync_mask)) continue;
      if (a->nwanted < MX_WANTED) a->wanted[a->nwanted] = (unsigned char *)(uintptr_t)s->sync_mask;
      a->nwanted++;
    }
}
/* The cells of the ring up to the last arrival that is wanted land, as far as that can be done at once; what is left
 * of them then, or is behind older copies in the list, is moved there. True: something has landed. */
static bool land_ring(struct mx_exec *x, struct mx_block *b, struct mx_warp_copies *of, const struct mx_async *wanted) {
  struct mx_async *a = b->async;
  uint32_t end = of->landed;
  for (uint32_t k = of->landed; k != of->issued; k++) {
    const struct mx_row_copy *c = &of->rows[k & of->mask];
    if (!c->row && is_wanted(wanted, c->at[0].to)) end = k + 1;
  }
  const uint32_t before = of->landed;
  bool good = true;
  while (of->landed != end && !of->n && good) {
    uint32_t k = of->landed;
    while (of->rows[k & of->mask].row) k++;
    x->prep->level->land_rows(of->rows, of->mask, of->landed, k, x->lanes);
    of->landed = k;
    const struct mx_row_copy *c = &of->rows[k & of->mask];
    good = c->bytes ? mx__mbarrier_at_once(x, b, c->at[0].to, 0, -(int64_t)x->lanes, true)
                    : mx__mbarrier_at_once(x, b, c->at[0].to, x->lanes, 0, true);
    a->arrivals -= good, of->landed += good;
  }
  const bool landed = of->landed != before;
  if (of->landed != end && !settle(a, of, x)) mx__launch_stop(x->launch, MX_STOP_HOST_MEMORY);
  mx__copies_capacity(of);
  return landed;
}
/* A block's copies land that signal an mbarrier which is waited for. */
static bool land_wanted_of(struct mx_exec *x, struct mx_block *b, const struct mx_async *wanted) {
  struct mx_async *a = b->async;
  bool landed = false, good = true;
  for (uint32_t w = 0; w < b->nwarps; w++) {
    struct mx_warp_copies *of = &a->warp[w];
    if (a->arrivals) landed |= land_ring(x, b, of, wanted);
    for (uint32_t k = 0; good && k < of->n; k++) {
      uint64_t m = 0;
      if (of->list[k]->kind == MX_COPY_BULK && of->list[k]->signal && is_wanted(wanted, of->list[k]->signal))
        m = of->list[k]->lanes;
      if (of->list[k]->kind == MX_COPY_ARRIVE)
        MX_FOR_LANES (l, of->list[k]->lanes) m |= (uint64_t)is_wanted(wanted, of->list[k]->to[l]) << l;
      landed |= m != 0;
      good = land(x, b, w, k, m);
    }
    sweep(a, of);
  }
  return landed;
}
static bool any_copies(const struct mx_block *leader) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < leader->nmembers; k++)
    if (leader->members[k]->async) n += leader->members[k]->async->n + leader->members[k]->async->arrivals;
  return n != 0;
}
bool mx__async_land_wanted(struct mx_exec *x, struct mx_block *leader) {
  if (!any_copies(leader)) return false;
  struct mx_async *a = mx__async_of(leader);
  if (!a) return mx__launch_stop(x->launch, MX_STOP_HOST_MEMORY), true;
  for (uint32_t k = 0; k < leader->nmembers; k++) want_of_splits(a, leader->members[k]);
  bool landed = false;
  for (uint32_t k = 0; k < leader->nmembers && a->nwanted; k++)
    if (leader->members[k]->async) landed |= land_wanted_of(x, leader->members[k], a);
  a->nwanted = a->passes = 0;
  return landed;
}
void mx__async_round(struct mx_exec *x, struct mx_block *leader) {
  if (leader->async && any_copies(leader) && ++leader->async->passes >= MOST_PASSES) mx__async_land_wanted(x, leader);
}

/* To be called for each asynchronous instruction of the block: in random order, copies that are due land. False:
 * trapped. */
static bool event(struct mx_exec *x) {
  struct mx_block *b = x->block;
  struct mx_async *a = b->async;
  a->events++;
  bool good = true;
  for (uint32_t w = 0; w < b->nwarps && x->launch->async == MX_ASYNC_RANDOM && a->n; w++) {
    for (uint32_t k = 0; good && k < a->warp[w].n; k++)
      if (a->warp[w].list[k]->due <= a->events) good = land(x, b, w, k, UINT64_MAX);
    sweep(a, &a->warp[w]);
  }
  return good;
}
static uint64_t due(struct mx_async *a) {
  uint64_t z = a->random += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return a->events + (z ^ z >> 31) % SOON;
}

/* ---- issuing --------------------------------------------------------------------------------------------*/
const struct mx_insn *mx__async_no_memory(struct mx_exec *x, const struct mx_insn *i) {
  return mx__trap_at(x, i, MX_TRAP_HOST_MEMORY, x->mask, NULL);
}
/* The same if compiled code may have made the call; then it is asked again for room. */
static const struct mx_insn *no_memory(struct mx_exec *x, const struct mx_insn *i) {
  return mx__chain_is_stale(x) ? (x->event = MX_EV_STALE_WARP, NULL) : mx__async_no_memory(x, i);
}
static const struct mx_insn *trapped(struct mx_exec *x, const struct mx_insn *i) {
  return mx__leave(x, i->pc, MX_EV_TRAP);
}
/* To be called when copies may have landed: lanes of this warp that waited for them may go on. */
static const struct mx_insn *go_on(struct mx_exec *x, const struct mx_insn *i, bool good) {
  if (!good) return trapped(x, i);
  mx__find_resched_rank(x);
  return i + 1;
}

struct mx_copy *mx__async_issue(struct mx_exec *x, const struct mx_insn *i, enum mx_copy_kind kind, uint64_t m,
                                uint64_t *taken) {
  struct mx_async *a = x->block->async;
  struct mx_warp_copies *w = &a->warp[x->warp->number];
  const uint32_t *groups = kind == MX_COPY_BULK ? w->bulk_groups : w->groups, group = groups[__builtin_ctzll(m)];
  *taken = w->groups_differ ? 0 : m;
  if (w->groups_differ)
    MX_FOR_LANES (l, m) *taken |= (uint64_t)(groups[l] == group) << l;
  struct mx_copy *c = settle(a, w, x) ? add(a, w) : NULL;
  mx__copies_capacity(w);
  if (!c) return NULL;
  c->kind = kind;
  c->func = x->fn->number, c->pc = i->pc;
  c->group = group + (kind == MX_COPY_BULK ? 0 : w->committed);
  c->row = 0;
  c->lanes = *taken;
  c->signal = NULL;
  c->due = x->launch->async == MX_ASYNC_RANDOM ? due(a) : 0;
  return c;
}
const struct mx_insn *mx__async_issued(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_async *a = x->block->async;
  struct mx_warp_copies *w = &a->warp[x->warp->number];
  const uint32_t number = x->warp->number;
  bool good = true;
  if (x->launch->async == MX_ASYNC_NOW) good = land_before(x, x->block, number, w->n, UINT64_MAX), sweep(a, w);
  else if (w->n > MX_MOST_COPIES) good = land_before(x, x->block, number, MX_MOST_COPIES / 2, UINT64_MAX), sweep(a, w);
  mx__copies_capacity(w);
  return go_on(x, i, good && event(x));
}

/* How many bytes each lane reads; false: trapped. Operand 5 is that number, or a predicate that lanes read none. */
static bool bytes_read(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned size, uint8_t *read) {
  const struct mx_op_info *o = &mx__ops[i->op];
  const unsigned type = o->nopnds > 5 ? o->opnd[5].type : MX_T_none;
  uint64_t odd = 0;
  MX_FOR_LANES (l, m) {
    uint32_t n = size;
    if (type == MX_T_u32) n = ((const uint32_t *)mx__operand(x, i->o[5]))[l];
    if (type == MX_T_pred && *(const uint64_t *)mx__operand(x, i->o[5]) >> l & 1) n = 0;
    odd |= (uint64_t)(n > size) << l;
    read[l] = (uint8_t)n;
  }
  if (!odd) return true;
  mx__trap_at(x, i, MX_TRAP_ASYNC, odd, mx__format("they copy more bytes than the %u that land", size));
  return false;
}
/* The addresses that lanes m read; a lane that reads fewer bytes than it copies may be at the end of an allocation. */
static bool sources(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned size, const uint8_t *read,
                    unsigned char **from) {
  uint64_t whole = 0, part = 0;
  MX_FOR_LANES (l, m) {
    whole |= (uint64_t)(read[l] == size) << l;
    part |= (uint64_t)(read[l] && read[l] < size) << l;
  }
  if (whole && !mx__async_places(x, i, whole, 2, size, MX_GLOBAL, false, 1, from)) return false;
  const uint64_t *base = mx__operand(x, i->o[2]), off = *(const uint64_t *)mx__operand(x, i->o[3]);
  MX_FOR_LANES (l, part)
    if (!mx__access_range(x, i, l, base[l] + off, read[l], size, MX_GLOBAL, false, &from[l])) return false;
  return true;
}
/* ---- rows, and what compiled code does by itself -----------------------------------------------------------------*/
/* Whether only the program's waits decide when copies land, and nobody observes that. */
static bool goes_by_itself(const struct mx_exec *x) { return x->launch->async != MX_ASYNC_RANDOM && !x->launch->debug; }
/* Called when the ring is full: enlarges or empties it; or when the list is too long. */
static void make_room(struct mx_exec *x, struct mx_async *a, struct mx_warp_copies *w) {
  if (!w->rows || w->groups_differ || w->issued - w->landed <= w->mask) return;
  if (mx__copies_lengthen(w) || settle(a, w, x)) mx__copies_capacity(w);
}
/* A copy of all bytes by all lanes, in rows, and within the cached bounds. True: it has been issued, or has landed. */
static bool issue_rows(struct mx_exec *x, const struct mx_insn *i) {
  const unsigned type = mx__ops[i->op].nopnds > 5 ? mx__ops[i->op].opnd[5].type : MX_T_none;
  struct mx_async *a = x->block->async;
  struct mx_warp_copies *w = &a->warp[mx__chain_warp(x)];
  if (type == MX_T_u32 || type == MX_T_pred) return false;
  struct mx_row_copy at_once, *c = &at_once;
  const bool now = x->launch->async == MX_ASYNC_NOW && !x->launch->debug;
  if (!now) {
    if (!mx__copies_fit(w)) make_room(x, a, w);
    if (!mx__copies_fit(w)) return false;
    c = &w->rows[w->issued & w->mask];
  }
  if (!x->prep->level->copy_rows(x, i, c)) return false;
  c->func = x->fn->number, c->pc = i->pc, c->group = w->committed;
  c->row = MX_COPY_ROW, c->steps = false, c->bytes = (uint16_t)i->o[4];
  if (now) x->prep->level->land_rows(c, 0, 0, 1, x->lanes);
  else w->issued++;
  return true;
}
/* Mostly the oldest copies are waited for, and later ones are not. */
uint32_t mx__async_wait_of_all(struct mx_exec *x, uint32_t n) {
  struct mx_async *a = x->block->async;
  if (!a) return 1;
  struct mx_warp_copies *w = &a->warp[mx__chain_warp(x)];
  if (!x->block->copies || w->n) return !w->n && goes_by_itself(x);
  uint32_t end = w->landed;
  for (; end != w->issued && w->committed - w->rows[end & w->mask].group > n; end++)
    if (!w->rows[end & w->mask].row) return 0; /* an arrival before them */
  x->prep->level->land_rows(w->rows, w->mask, w->landed, end, x->lanes);
  w->landed = end;
  mx__copies_capacity(w);
  return 1;
}

const struct mx_insn *mx__op_cp_async(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const unsigned size = (unsigned)i->o[4];
  unsigned char *to[MX_MAX_LANES], *from[MX_MAX_LANES];
  uint8_t read[MX_MAX_LANES];
  if (!m) return i + 1;
  if (!mx__async_of(x->block)) return mx__async_no_memory(x, i);
  if (m == x->full && issue_rows(x, i)) return i + 1;
  if (mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, NULL;
  if (!bytes_read(x, i, m, size, read)) return NULL;
  if (!sources(x, i, m, size, read, from) || !mx__async_places(x, i, m, 0, size, MX_SHARED, true, 0, to)) return NULL;
  for (uint64_t left = m, taken; left; left &= ~taken) {
    struct mx_copy *c = mx__async_issue(x, i, MX_COPY_LANES, left, &taken);
    if (!c) return mx__async_no_memory(x, i);
    c->bytes = (uint8_t)size;
    c->whole = true;
    MX_FOR_LANES (l, m) c->whole &= read[l] == size;
    memcpy(c->to, to, sizeof to[0] * x->lanes);
    memcpy(c->from, from, sizeof from[0] * x->lanes);
    memcpy(c->read, read, x->lanes);
  }
  return mx__async_issued(x, i);
}

/* Lanes that have ended neither commit nor issue anything. False: out of memory. */
static bool commit(const struct mx_exec *x, struct mx_warp_copies *w, uint64_t m) {
  if (m == x->full || (!mx__chain_is_stale(x) && m == x->warp->live)) w->committed++;
  else {
    if (!settle(x->block->async, w, x)) return false;
    w->groups_differ = true;
    w->capacity = 0;
    MX_FOR_LANES (l, m) w->groups[l]++;
  }
  return true;
}
const struct mx_insn *mx__op_cp_async_commit(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  if (!m) return i + 1;
  if (!goes_by_itself(x) && mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, NULL;
  struct mx_async *a = mx__async_of(x->block);
  if (!a) return no_memory(x, i);
  if (!commit(x, &a->warp[mx__chain_warp(x)], m)) return no_memory(x, i);
  return goes_by_itself(x) ? i + 1 : go_on(x, i, event(x));
}

/* Whether a copy in the ring has to land before its lanes' last n groups. Otherwise the ring stays as it is: moved to
 * the list behind older copies, it would be followed by the next ones, and the list would never become empty in a
 * program that always leaves a group open. */
static bool is_due_in_ring(const struct mx_warp_copies *w, uint32_t n) {
  return w->landed != w->issued && w->committed - w->rows[w->landed & w->mask].group > n;
}
const struct mx_insn *mx__async_wait(struct mx_exec *x, const struct mx_insn *i, uint64_t m, bool bulk, uint32_t n) {
  struct mx_async *a = x->block->async;
  const uint32_t warp = mx__chain_warp(x);
  struct mx_warp_copies *w = a ? &a->warp[warp] : NULL;
  if (!m || !w || !(w->n | (w->issued ^ w->landed))) return i + 1;
  if (!bulk && m == x->full && mx__async_wait_of_all(x, n)) return i + 1;
  if (!bulk && is_due_in_ring(w, n) && !settle(a, w, x)) return no_memory(x, i);
  const uint32_t *groups = bulk ? w->bulk_groups : w->groups, committed = bulk ? 0 : w->committed;
  bool good = true;
  for (uint32_t k = 0; good && k < w->n; k++) {
    const struct mx_copy *c = w->list[k];
    uint64_t now = 0;
    if (c->kind != (bulk ? MX_COPY_BULK : MX_COPY_LANES) || c->signal) continue;
    if (!bulk && !w->groups_differ) now = committed + groups[0] - c->group > n ? m : 0;
    else
      MX_FOR_LANES (l, m & c->lanes) now |= (uint64_t)(committed + groups[l] - c->group > n) << l;
    if (now) good = land(x, x->block, warp, k, now);
  }
  sweep(a, w);
  mx__copies_capacity(w);
  return !bulk && goes_by_itself(x) ? i + 1 : go_on(x, i, good && event(x));
}
/* A wait never suspends lanes, since copies land during it. If only copies land that are waited for here, no other
 * split is affected. */
const struct mx_insn *mx__op_cp_async_wait(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  struct mx_async *a = x->block->async;
  if (!goes_by_itself(x) && mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, NULL;
  if (i->op != MX_CP_ASYNC_WAIT_ALL) return mx__async_wait(x, i, m, false, (uint32_t)i->o[0]);
  if (a && !commit(x, &a->warp[mx__chain_warp(x)], m)) return no_memory(x, i);
  return mx__async_wait(x, i, m, false, 0);
}

/* All lanes at one mbarrier, while their copies are in the ring or have landed. */
static bool arrive_in_ring(struct mx_exec *x, const struct mx_insn *i) {
  struct mx_async *a = x->block->async;
  struct mx_warp_copies *w = &a->warp[mx__chain_warp(x)];
  const bool expected = i->mod & 1;
  if (!x->block->copies || w->n) return false;
  if (!mx__copies_fit(w)) make_room(x, a, w);
  unsigned char *const at = mx__copies_fit(w) ? mx__mbarrier_of_all(x, i, x->full, 0, true) : NULL;
  if (!at || (!expected && !mx__mbarrier_at_once(x, x->block, at, 0, x->lanes, false))) return false;
  struct mx_row_copy *c = &w->rows[w->issued & w->mask];
  c->func = x->fn->number, c->pc = i->pc, c->group = w->committed;
  c->row = 0, c->steps = false, c->bytes = !expected;
  c->at[0].to = at;
  w->issued++;
  a->arrivals++;
  return true;
}
/* Modifier: whether this is one of the arrivals that the phase expects. Otherwise the phase expects one more byte until
 * then, which the states that arrivals return do not show, as on recorded devices. */
const struct mx_insn *mx__op_cp_async_arrive(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  unsigned char *at[MX_MAX_LANES];
  if (!m) return i + 1;
  if (!mx__async_of(x->block)) return mx__async_no_memory(x, i);
  if (m == x->full && arrive_in_ring(x, i)) return i + 1;
  if (mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, NULL;
  if (!mx__mbarrier_places(x, i, m, 0, true, true, at)) return NULL;
  if (!(i->mod & 1))
    MX_FOR_LANES (l, m) {
      const struct mx_trap t = mx__trap_of(x, i, MX_TRAP_MBARRIER, 1ull << l);
      if (!mx__mbarrier_bytes(x, x->block, at[l], 1, false, &t)) return trapped(x, i);
    }
  for (uint64_t left = m, taken; left; left &= ~taken) {
    struct mx_copy *c = mx__async_issue(x, i, MX_COPY_ARRIVE, left, &taken);
    if (!c) return mx__async_no_memory(x, i);
    c->bytes = !(i->mod & 1);
    memcpy(c->to, at, sizeof at[0] * x->lanes);
  }
  return mx__async_issued(x, i);
}

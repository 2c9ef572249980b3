/* Races: two accesses to a byte, one of them a write, not both atomic (or strong, with scopes that include each other),
 * with nothing that orders them. Between lanes of one warp that is the sync tool's: warp-synchronous code.
 *
 * Every four bytes of global and shared memory have a cell that knows who wrote last and who has read since. An access
 * is a record: warp, time of the warp, site; cells add the lane, by byte. An access is ordered behind another one if
 * its warp knows the other's time (clocks.c), or within a warp, if lanes have met since. Warps learn of others at
 * barriers, and where they read what others published with a strong write: what these knew then (release and acquire),
 * or at their last fence, to be known at the reader's next fence. What has block scope is published to the own block
 * only.
 *
 * A write of the value that is there already is not reported against another write: neither order can be told. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- what warps know ------------------------------------------------------------------------------------------*/
/* The set of what the warp knows, including its own accesses so far. */
static struct clocks *publish(struct warp_state *w) {
  return mx__clocks_with(mx__clocks_keep(w->known), w->number, w->time++);
}
/* The warp learns the set. What it says about the warp itself becomes known to all its lanes: one of them published it,
 * and another one has read it. */
static void learn(struct warp_state *w, struct clocks *c) {
  const uint32_t own = mx__clocks_time(c, w->number);
  if (own > w->lane_floor) w->lane_floor = own;
  w->known = mx__clocks_join(w->known, mx__clocks_keep(c));
}

static void lanes_meet(struct mx_check *c, struct warp_state *w, uint64_t m, uint64_t live) {
  if (!(live & ~m)) {
    w->lane_floor = w->time++;
    return;
  }
  if (!w->lane_time && !(w->lane_time = calloc(64, sizeof *w->lane_time))) {
    c->failed = true;
    return;
  }
  uint32_t all[64] = {0};
  MX_FOR_LANES (l, m)
    for (unsigned k = 0; k < 64; k++) all[k] = w->lane_time[l][k] > all[k] ? w->lane_time[l][k] : all[k];
  MX_FOR_LANES (l, m) all[l] = w->time;
  MX_FOR_LANES (l, m) memcpy(w->lane_time[l], all, sizeof all);
  w->time++;
}

static bool lane_knows(const struct warp_state *w, unsigned lane, unsigned other, uint32_t time) {
  if (time <= w->lane_floor || lane == other) return true;
  if (!w->lane_time) return false;
  if (other < 64) return w->lane_time[lane][other] >= time;
  MX_FOR_LANES (l, w->begun)
    if (l != lane && w->lane_time[lane][l] < time) return false;
  return true;
}

static struct sync_cell *sync_cell(struct mx_check *c, uint64_t address, uint64_t block, bool make) {
  if (!make && !c->nsyncs) return NULL;
  if (make && c->nsyncs * 2 >= c->syncs_size) {
    const size_t size = c->syncs_size ? c->syncs_size * 2 : 256;
    struct sync_cell *more = calloc(size, sizeof *more);
    if (!more) return c->failed = true, NULL;
    for (size_t k = 0; k < c->syncs_size; k++) {
      if (!c->syncs[k].used) continue;
      size_t at = (c->syncs[k].address * 0x9E3779B97F4A7C15u + c->syncs[k].block) >> 20 & (size - 1);
      while (more[at].used) at = (at + 1) & (size - 1);
      more[at] = c->syncs[k];
    }
    free(c->syncs);
    c->syncs = more, c->syncs_size = size;
  }
  size_t at = (address * 0x9E3779B97F4A7C15u + block) >> 20 & (c->syncs_size - 1);
  for (; c->syncs[at].used; at = (at + 1) & (c->syncs_size - 1))
    if (c->syncs[at].address == address && c->syncs[at].block == block) return &c->syncs[at];
  if (!make) return NULL;
  c->syncs[at] = (struct sync_cell){.address = address, .block = block, .used = true};
  c->nsyncs++;
  uint64_t *lo = &c->syncs_lo[block == UINT64_MAX], *hi = &c->syncs_hi[block == UINT64_MAX];
  if (!*hi || address < *lo) *lo = address;
  if (address >= *hi) *hi = address + 1;
  return &c->syncs[at];
}
bool mx__race_syncs_between(const struct mx_check *c, uint64_t lo, uint64_t hi) {
  const unsigned global = lo >> MX_WINDOW_SHIFT != MX_WINDOW_SHARED;
  return c->nsyncs && lo < c->syncs_hi[global] && hi > c->syncs_lo[global];
}

/* Several blocks may name the same byte of shared memory by different addresses. */
static uint64_t key_of(uint64_t address, uint64_t of_block) {
  return address & (MX_WINDOW(8) - 1 - (UINT64_C(0xFF) << MX_RANK_SHIFT) * (of_block != UINT64_MAX));
}

/* A lane's strong access, or its weak write to a place through which warps may have synchronised. release: the set that
 * it publishes. */
static void synchronise(struct mx_check *c, struct warp_state *w, const struct site *s, uint64_t block,
                        uint64_t address, uint64_t of_block, bool reads, bool writes, struct clocks **released) {
  const bool strong = s->access == ACCESS_STRONG || s->access == ACCESS_ATOMIC;
  struct sync_cell *cell = sync_cell(c, address, of_block, false);
  if (cell && reads && strong) {
    struct clocks *all = s->block_scope ? NULL : cell->all, *own = cell->own_block == block ? cell->own : NULL;
    if (s->acquires) learn(w, all), learn(w, own);
    w->pending[0] = mx__clocks_join(w->pending[0], mx__clocks_keep(all));
    w->pending[1] = mx__clocks_join(w->pending[1], mx__clocks_keep(own));
  }
  if (!writes) return;
  struct clocks *all = NULL, *own = NULL;
  if (strong && s->releases) {
    if (!*released) *released = publish(w);
    own = *released;
    all = s->block_scope ? w->fence[0] : own;
  } else if (strong) all = s->block_scope ? NULL : w->fence[0], own = w->fence[1];
  if (!cell && !own && !all) return;
  if (!cell && !(cell = sync_cell(c, address, of_block, true))) return;
  /* an atomic's write also publishes what the previous write there had published */
  const bool goes_on = reads && strong;
  if (!goes_on) mx__clocks_drop(cell->all), cell->all = NULL;
  if (!goes_on || cell->own_block != block) mx__clocks_drop(cell->own), cell->own = NULL;
  cell->own_block = block;
  cell->all = mx__clocks_join(cell->all, mx__clocks_keep(all));
  cell->own = mx__clocks_join(cell->own, mx__clocks_keep(own));
}

void mx__race_woken(struct mx_exec *x) {
  struct warp_state *w = warp_state(x);
  const struct sync_cell *cell = sync_cell(check_of(x), w->wait_address, block_state(x->block)->number, false);
  w->waits &= ~x->mask;
  if (cell) learn(w, cell->all), learn(w, cell->own);
}

void mx__race_fence(struct mx_exec *x, const struct site *s) {
  struct warp_state *w = warp_state(x);
  learn(w, w->pending[1]);
  if (!s->block_scope) learn(w, w->pending[0]);
  w->step_floor = w->time;
  struct clocks *now = publish(w);
  mx__clocks_drop(w->fence[1]);
  w->fence[1] = now;
  if (s->block_scope) return;
  mx__clocks_drop(w->fence[0]);
  w->fence[0] = mx__clocks_keep(now);
}

void mx__race_step(struct mx_exec *x) {
  struct warp_state *w = warp_state(x);
  w->step_floor = w->time++;
}
void mx__race_meet(struct mx_exec *x, uint64_t group) { lanes_meet(check_of(x), warp_state(x), group, x->warp->live); }

/* Lanes arrive at a barrier: what they know is what the others will know when it completes. */
void mx__race_arrive(struct mx_exec *x, uint32_t number) {
  struct block_state *b = block_state(x->block);
  struct warp_state *w = warp_state(x);
  learn(w, w->pending[0]); /* a barrier counts as the second fence: the guides' own last-block pattern relies on that */
  learn(w, w->pending[1]);
  b->arrived[number] = mx__clocks_join(b->arrived[number], publish(w));
}

/* All blocks of the cluster arrive at its barrier; the leader is released first. */
static void join_cluster(struct mx_block *leader) {
  struct clocks *all = NULL;
  for (uint32_t k = 0; k < leader->nmembers; k++)
    if (block_state(leader->members[k]))
      all = mx__clocks_join(all, mx__clocks_keep(block_state(leader->members[k])->arrived[MX_CLUSTER_BARRIER]));
  for (uint32_t k = 0; k < leader->nmembers; k++) {
    struct block_state *s = block_state(leader->members[k]);
    if (!s) continue;
    mx__clocks_drop(s->arrived[MX_CLUSTER_BARRIER]);
    s->arrived[MX_CLUSTER_BARRIER] = mx__clocks_keep(all);
  }
  mx__clocks_drop(all);
}

/* Warps that wait at the cluster's barrier go on; those that have arrived but do not wait yet learn when they do. */
static void cluster_barrier(struct mx_block *b) {
  struct block_state *s = block_state(b);
  if (b->leader == b) join_cluster(b);
  mx__clocks_drop(s->passed);
  s->passed = s->arrived[MX_CLUSTER_BARRIER];
  s->arrived[MX_CLUSTER_BARRIER] = NULL;
  for (uint32_t w = 0; w < b->nwarps; w++) {
    const struct mx_warp *of = &b->warps[w];
    bool waits = false;
    for (uint32_t k = 0; k < of->nsplits; k++)
      waits |= of->splits[k].state == MX_WAIT_BAR && of->splits[k].barrier == MX_CLUSTER_BARRIER;
    if (waits) learn(&s->warps[w], s->passed);
  }
}
void mx__race_await(struct mx_exec *x) { learn(warp_state(x), block_state(x->block)->passed); }

bool mx__race_waits(const struct mx_check *c, const struct mx_block *b, uint32_t number, uint64_t *waited) {
  const struct block_state *s = block_state(b);
  bool all = b->leader->nmembers == 1; /* otherwise other blocks access its shared memory, too */
  for (uint32_t w = 0; w < b->nwarps; w++) {
    const struct warp_state *of = &s->warps[w];
    const uint64_t arrived = b->barriers[number].arrived[w], one = arrived & -arrived;
    waited[w] = 0;
    MX_FOR_LANES (l, arrived & ~of->together ? arrived : one) /* for each lane, or by the first lane for all */
      waited[w] |= (uint64_t)((mx__ops[c->code->sites[of->barrier_site[l]].insn->op].flags & MX_F_SYNC) != 0) << l;
    if (waited[w] && !(arrived & ~of->together)) waited[w] = arrived;
    all &= waited[w] && !(b->warps[w].live & ~waited[w]);
  }
  return all;
}
void mx__race_barrier(struct mx_check *c, struct mx_block *b, uint32_t number, const uint64_t *waited, bool all) {
  struct block_state *s = block_state(b);
  if (number == MX_CLUSTER_BARRIER) return cluster_barrier(b);
  for (uint32_t w = 0; w < b->nwarps; w++) {
    if (!waited[w]) continue;
    learn(&s->warps[w], s->arrived[number]);
    lanes_meet(c, &s->warps[w], waited[w], b->warps[w].live);
  }
  if (all && s->ledger.nrecords) s->records_before = (uint32_t)s->ledger.nrecords;
  if (all && s->ledger.n) s->lists_before = (uint32_t)s->ledger.n;
  mx__clocks_drop(s->arrived[number]);
  s->arrived[number] = NULL;
}

/* ---- one access -----------------------------------------------------------------------------------------------*/
struct touch {
  struct mx_exec *x;
  struct mx_check *c;
  struct warp_state *w;
  const struct site *site;
  const struct mx_access *a;
  uint32_t number, record; /* number: of the site; record: of the access */
  uint64_t block, of;      /* of: the block whose shared memory is accessed; UINT64_MAX: other memory */
  bool strong;
  struct ledger *ledger; /* of the cells that are accessed; the number of the cell: */
  uint32_t cell;
  uint32_t memo; /* another warp's record that is known to be ordered before this access */
  /* the record that was looked up last: what many lanes access was mostly accessed by few warps before */
  uint32_t looked;
  struct record found;
  bool told; /* a finding has been made */
  /* A finding counts a lane once for each access, however many bytes or readers it concerns. Reported for this lane: */
  unsigned told_lane, ntold;
  uint64_t told_of[8]; /* the other accesses: site, and whether it is of this warp */
};
static bool has_been_told(struct touch *t, unsigned lane, uint32_t site, bool same_warp) {
  const uint64_t other = (uint64_t)site << 1 | same_warp;
  if (t->told_lane != lane) t->told_lane = lane, t->ntold = 0;
  for (unsigned k = 0; k < t->ntold; k++)
    if (t->told_of[k] == other) return true;
  if (t->ntold < sizeof t->told_of / sizeof *t->told_of) t->told_of[t->ntold++] = other;
  return false;
}

static struct record record_of(struct touch *t, uint32_t number) {
  if (t->looked != number) t->found = mx__record(t->ledger, number), t->looked = number;
  return t->found;
}
/* The list `next` with one more reader in front. */
static uint32_t list_of(const struct touch *t, uint32_t record, uint8_t lane, uint32_t next) {
  const uint32_t list = mx__race_list(t->c, t->ledger, (struct reader){.record = record, .next = next, .lane = lane});
  return list ? list : next;
}
static struct reader reader_of(const struct touch *t, uint32_t list) {
  struct reader r = t->ledger->readers[list & ~READER_LIST];
  if (r.lane == LANE_ROW) r.lane = (uint8_t)(t->cell - r.origin + 1);
  return r;
}
static uint64_t block_of(const struct mx_check *c, uint64_t warp) { return warp / c->launch->warps; }

bool mx__race_knows(struct ledger *l, const struct warp_state *w, uint32_t record) {
  const struct record r = mx__record(l, record);
  return r.time <= (r.warp == w->number ? w->lane_floor : mx__clocks_time(w->known, r.warp));
}
/* r: what the record says, which takes time to look up. */
static bool is_ordered(struct touch *t, uint32_t record, struct record r, uint8_t lane, unsigned mine) {
  if (r.warp == t->w->number) return lane_knows(t->w, mine, lane == LANE_MANY ? 64 : (unsigned)lane - 1, r.time);
  if (mx__clocks_time(t->w->known, r.warp) < r.time) return false;
  t->memo = record;
  return true;
}
static bool ordered(struct touch *t, uint32_t record, uint8_t lane, unsigned mine) {
  return record == t->memo || is_ordered(t, record, record_of(t, record), lane, mine);
}
/* Whether both accesses are strong, and each is within the other's scope. Volatile ones of lanes that are taken to keep
 * step do not agree, though PTX's memory model has no race there: what is read is not determined. */
static bool agrees(const struct touch *t, struct record r) {
  const struct site *s = &t->c->code->sites[r.site];
  if (!t->strong || !mx__is_strong(s)) return false;
  if (!t->a->write && t->site->in_step && s->in_step && s->writes && r.warp == t->w->number &&
      r.time > t->w->step_floor)
    return false;
  return (!t->site->block_scope && !s->block_scope) || block_of(t->c, r.warp) == t->block;
}
static bool agree(struct touch *t, uint32_t record) { return agrees(t, record_of(t, record)); }

/* Whether lane l stores the value that is there already, or that `other`, a lane of the same instruction, stores
 * there. */
static bool same_value(const struct touch *t, unsigned l, int other) {
  const struct site *s = t->site;
  if (!s->elements) return false;
  const struct mx_op_info *o = &mx__ops[s->insn->op];
  const size_t bytes = t->a->bytes / s->elements;
  for (unsigned k = 0; k < s->elements; k++) {
    const unsigned cls = mx__types[o->opnd[s->first_value + k].type].slot_class;
    if (cls != MX_R32 && cls != MX_R64) return false;
    const size_t step = cls == MX_R32 ? 4 : 8;
    const unsigned char *v = mx__operand(t->x, mx__operand_ref(t->c->insn, s->first_value + k));
    /* the operand is uniform, and only lane 0's copy exists */
    const bool one = t->x->uniform_operands >> (s->first_value + k) & 1;
    const unsigned char *there = other >= 0 ? v + (size_t)(one ? 0 : other) * step : t->a->host[l] + k * bytes;
    if (memcmp(v + (one ? 0 : l) * step, there, bytes)) return false;
  }
  return true;
}

static const char *how(const struct site *s, bool write) {
  return s->access == ACCESS_ATOMIC ? "atomic access" : write ? "write" : "read";
}
static void conflict(struct touch *t, unsigned l, uint64_t address, uint32_t record, uint8_t lane, bool was_write) {
  const struct record r = record_of(t, record);
  const bool same_warp = r.warp == t->w->number, write = t->a->write;
  const int other = lane == LANE_MANY ? -1 : lane - 1;
  if (write && was_write && t->site->access != ACCESS_ATOMIC) {
    const bool together =
        record == t->record && other >= 0 && t->a->lanes >> other & 1 && t->a->address[other] == t->a->address[l];
    if (same_value(t, l, together ? other : -1)) return;
  }
  t->told = true;
  if (has_been_told(t, l, r.site, same_warp)) return;
  const struct site *os = &t->c->code->sites[r.site];
  const char *kind = !write ? "write-read" : was_write ? "write-write" : "read-write";
  struct finding *f = mx__finding(t->x, same_warp ? MX_CHECK_SYNC : MX_CHECK_RACE,
                                  same_warp ? "warp-synchronous" : kind, t->number, 1ull << l, r.site, FOUND_PAIR);
  if (!f) return;
  mx__found_address(f, t->c, address, t->a->bytes, mx__where_of(t->c, address, t->a->bytes));
  char *lanes = other >= 0 ? mx__format("lane %d", other) : mx__format("several lanes");
  mx__found_other(f, t->c, mx__format("%s by %s", how(os, was_write), lanes), r.site, r.warp,
                  other >= 0 ? 1ull << other : 0);
  free(lanes);
  const bool far = block_of(t->c, r.warp) != t->block;
  const bool scope = t->strong && mx__is_strong(os);
  mx__found_end(f, mx__format(same_warp ? "%s of what another lane of the warp %s, and they have not met in between"
                                          "%s"
                              : scope   ? "%s of what %s: both are strong, but of block scope, which does "
                                          "not reach another block%s"
                                        : "%s of what %s, and nothing orders the two%s",
                              how(t->site, write),
                              same_warp   ? was_write ? "wrote" : "read"
                              : far       ? was_write ? "another block wrote" : "another block read"
                              : was_write ? "another warp wrote"
                                          : "another warp read",
                              same_warp ? " (no bar.warp.sync)" : ""));
}

static const struct site *site_of(struct touch *t, uint32_t record) {
  return &t->c->code->sites[record_of(t, record).site];
}
/* ---- what has been observed ---------------------------------------------------------------------------------------
 * A write that a strong read has read is ordered before all that the read is ordered before, even without a fence:
 * PTX's observation order is a part of causality order, and it goes on through atomic accesses from one to the next.
 * An atomic access of which the code does not use what it read comes by chance behind those that it has replaced, so
 * it only passes on. */
static size_t observer_slot(const struct sync_cell *s, uint64_t warp) {
  size_t lo = 0, n = s->nobservers;
  while (n) {
    const size_t half = n / 2;
    if (s->observers[lo + half].warp < warp) lo += half + 1, n -= half + 1;
    else n = half;
  }
  return lo;
}
static void add_observer(const struct touch *t, unsigned l, uint64_t address) {
  struct sync_cell *s = sync_cell(t->c, key_of(address, t->of), t->of, true);
  if (!s) return;
  const size_t at = observer_slot(s, t->w->number);
  if (at == s->nobservers || s->observers[at].warp != t->w->number) {
    if (!mx__check_grow(t->c, (void **)&s->observers, s->nobservers, &s->room, sizeof *s->observers)) return;
    memmove(s->observers + at + 1, s->observers + at, (s->nobservers++ - at) * sizeof *s->observers);
    s->observers[at] = (struct observer){.warp = t->w->number, .time = t->w->time, .lane = (uint8_t)l};
  }
  s->observers[at].lanes |= 1ull << l;
  t->c->observed = true;
}
/* Whether some read of what was written last to the address is ordered before lane l's access, or is its own. */
static bool is_observed(const struct touch *t, unsigned l, uint64_t address) {
  const struct sync_cell *s = t->c->observed ? sync_cell(t->c, key_of(address, t->of), t->of, false) : NULL;
  for (size_t k = 0; s && k < s->nobservers; k++) {
    const struct observer *o = &s->observers[k];
    if (o->warp == t->w->number ? o->lanes >> l & 1 || lane_knows(t->w, l, o->lane, o->time)
                                : mx__clocks_time(t->w->known, o->warp) >= o->time)
      return true;
  }
  return false;
}
/* Lane l writes to the address: nobody has observed that yet. What its own atomic access replaced stays observed. */
static void forget_observers(const struct touch *t, unsigned l, uint64_t address) {
  struct sync_cell *s = t->c->observed ? sync_cell(t->c, key_of(address, t->of), t->of, false) : NULL;
  if (!s || !s->nobservers) return;
  const bool stays = t->site->access == ACCESS_ATOMIC && !t->site->observes && is_observed(t, l, address);
  s->nobservers = 0;
  if (stays) add_observer(t, l, address);
}

/* Whether the access agrees with all in the list, as far as the list tells by itself. */
static bool agrees_with_all(const struct touch *t, const struct reader *list) {
  if (!t->strong || !list->all_strong || t->site->in_step) return false;
  return list->all_wide ? !t->site->block_scope : t->of == t->block && t->x->block->leader->nmembers == 1;
}
/* Compares lane l's access with those in a list of readers and strong writers, the last one first. */
static void check_list(struct touch *t, unsigned l, uint64_t address, const struct cell *cell, unsigned b,
                       bool writers_only) {
  if (agrees_with_all(t, &t->ledger->readers[cell->readers & ~READER_LIST])) return;
  const struct site *last = cell->writer ? site_of(t, cell->writer) : NULL;
  bool observed = last && last->access == ACCESS_ATOMIC &&
                  ((last->observes && ordered(t, cell->writer, cell->wrote[b], l)) || is_observed(t, l, address));
  for (uint32_t r = cell->readers; r & READER_LIST;) {
    const struct reader n = reader_of(t, r);
    const struct record by = record_of(t, n.record);
    const struct site *s = &t->c->code->sites[by.site];
    r = n.next;
    if (writers_only && !s->writes) continue;
    const bool before = n.record == t->memo || is_ordered(t, n.record, by, n.lane, l);
    if (!before && !(s->writes && observed) && !agrees(t, by)) conflict(t, l, address, n.record, n.lane, s->writes);
    if (s->writes) observed = s->access == ACCESS_ATOMIC && (observed || (before && s->observes));
  }
}
static void check_readers(struct touch *t, unsigned l, uint64_t address, const struct cell *cell, unsigned b) {
  if (cell->readers & READER_LIST) check_list(t, l, address, cell, b, false);
  else if (!ordered(t, cell->readers, cell->read[b], l) && !agree(t, cell->readers))
    conflict(t, l, address, cell->readers, cell->read[b], site_of(t, cell->readers)->writes);
}

/* Whether an earlier reader of the same warp and time stands for this one, too, being as weak. */
static bool stands(struct touch *t, uint32_t record) {
  const struct record r = record_of(t, record);
  return r.warp == t->w->number && r.time == t->w->time && (t->strong || !mx__is_strong(&t->c->code->sites[r.site]));
}
/* Adds lane l to the cell's readers, and drops those that are ordered before it. */
static void add_reader(struct touch *t, unsigned l, struct cell *cell, unsigned first, unsigned last) {
  const uint8_t lane = (uint8_t)(l + 1);
  if (cell->readers && !(cell->readers & READER_LIST) && stands(t, cell->readers)) {
    for (unsigned b = first; b < last; b++) cell->read[b] = !cell->read[b] || cell->read[b] == lane ? lane : LANE_MANY;
    return;
  }
  uint32_t next = 0, record = t->record;
  uint8_t front = lane;
  if (cell->readers && !(cell->readers & READER_LIST)) {
    const uint8_t was = cell->read[first];
    if (was && record_of(t, cell->readers).warp == t->w->number) {
      if (!ordered(t, cell->readers, was, l)) front = LANE_MANY;
    } else if (was && !ordered(t, cell->readers, was, l)) next = list_of(t, cell->readers, was, 0);
  } else if (cell->readers) {
    const struct reader head = reader_of(t, cell->readers);
    const bool stays = stands(t, head.record);
    if (stays && (head.lane == lane || head.lane == LANE_MANY)) return;
    next = cell->readers;
    if (record_of(t, head.record).warp == t->w->number) { /* one reader of each warp is enough, the last one */
      front = head.lane == lane || ordered(t, head.record, head.lane, l) ? lane : LANE_MANY;
      next = head.next;
      if (stays) record = head.record;
    } else if (ordered(t, head.record, head.lane, l)) next = head.next;
    if (next && t->ledger->readers[next & ~READER_LIST].length >= MX_LONGEST_LIST) next = 0;
  }
  if (next) cell->readers = list_of(t, record, front, next), memset(cell->read, front, sizeof cell->read);
  else {
    cell->readers = record;
    for (unsigned b = first; b < last; b++) cell->read[b] = front;
  }
}

/* Unordered strong writes are no race, and none of them stands for the others: all but the last one are kept in the
 * list of readers, to be compared with reads and writes that are not strong. */
static void add_strong_writer(struct touch *t, unsigned l, struct cell *cell, unsigned b) {
  const uint32_t record = cell->writer, list = cell->readers & READER_LIST ? cell->readers : 0;
  if (record == t->record || ordered(t, record, cell->wrote[b], l)) return;
  const bool full = list && t->ledger->readers[list & ~READER_LIST].length >= MX_LONGEST_LIST;
  cell->readers = list_of(t, record, cell->wrote[b], full ? 0 : list);
  memset(cell->read, LANE_MANY, sizeof cell->read);
}
/* Reports what is wrong with lane l's access to the bytes of a cell. Returns a byte with a strong writer that is not
 * ordered before this access, or `last`. */
static unsigned check_bytes(struct touch *t, unsigned l, uint64_t address, const struct cell *cell, unsigned first,
                            unsigned last) {
  const uint8_t lane = (uint8_t)(l + 1);
  unsigned strong = last;
  if (cell->writer && !(cell->writer == t->record && cell->wrote[first] == lane))
    for (unsigned b = first; b < last; b++) {
      if (!cell->wrote[b] || ordered(t, cell->writer, cell->wrote[b], l)) continue;
      if (agree(t, cell->writer)) {
        strong = b;
        continue;
      }
      if (mx__is_strong(site_of(t, cell->writer)) && is_observed(t, l, address)) continue;
      conflict(t, l, address, cell->writer, cell->wrote[b], true);
      break;
    }
  if (!t->a->write) {
    const bool list = cell->readers & READER_LIST && cell->writer && mx__is_strong(site_of(t, cell->writer));
    if (list) check_list(t, l, address, cell, first, true);
    if (t->strong && (list || strong < last) && agree(t, cell->writer)) add_observer(t, l, address);
  } else if (cell->readers)
    for (unsigned b = first; b < last; b++)
      if (cell->readers & READER_LIST || cell->read[b]) {
        check_readers(t, l, address, cell, b);
        break;
      }
  return strong;
}
static void touch_bytes(struct touch *t, unsigned l, uint64_t address, struct cell *cell, unsigned first,
                        unsigned last) {
  const uint8_t lane = (uint8_t)(l + 1);
  const unsigned strong = check_bytes(t, l, address, cell, first, last);
  if (t->a->write) forget_observers(t, l, address);
  else {
    add_reader(t, l, cell, first, last);
    return;
  }
  if (t->strong && strong < last) add_strong_writer(t, l, cell, strong);
  else if (!t->strong || !(cell->readers & READER_LIST)) cell->readers = 0, memset(cell->read, 0, sizeof cell->read);
  const bool again = cell->writer == t->record;
  if (!again) memset(cell->wrote, 0, sizeof cell->wrote);
  cell->writer = t->record;
  for (unsigned b = first; b < last; b++)
    cell->wrote[b] =
        t->strong && !t->site->observes && again && cell->wrote[b] && cell->wrote[b] != lane ? LANE_MANY : lane;
}

/* Whether other bytes of the cell belong to another record, which must not be lost. */
static bool crowded(const struct cell *c, uint32_t record, bool write, unsigned first, unsigned last) {
  for (unsigned b = 0; b < 4; b++) {
    if (b >= first && b < last) continue;
    if (c->wrote[b] && c->writer && c->writer != record && write) return true;
    if (c->readers && (c->readers & READER_LIST || c->read[b]) && (write || c->readers != record)) return true;
  }
  return false;
}
static struct cell *take_apart(struct mx_check *c, struct cell *cell) {
  while (c->byte_cells_room < c->nbyte_cells + 5)
    if (!mx__check_grow(c, (void **)&c->byte_cells, c->byte_cells_room, &c->byte_cells_room, sizeof *c->byte_cells))
      return NULL;
  if (!c->nbyte_cells) c->nbyte_cells = 1;
  struct cell *four = &c->byte_cells[c->nbyte_cells];
  for (unsigned b = 0; b < 4; b++) {
    memset(&four[b], 0, sizeof four[b]);
    if (cell->wrote[b]) four[b].writer = cell->writer, four[b].wrote[b] = cell->wrote[b];
    if (cell->readers & READER_LIST || cell->read[b]) four[b].readers = cell->readers, four[b].read[b] = cell->read[b];
  }
  cell->writer = BY_BYTE;
  cell->readers = (uint32_t)c->nbyte_cells;
  c->nbyte_cells += 4;
  return four;
}

static void touch_cell(struct touch *t, unsigned l, uint64_t address, const struct cells *cells, uint64_t number,
                       unsigned first, unsigned last) {
  t->cell = (uint32_t)number;
  struct cell cell = {cells->writer[number], cells->readers[number], {0}, {0}};
  const uint32_t wrote = cells->wrote[number] & ~DEFINED, defined = cells->wrote[number] & DEFINED;
  memcpy(cell.wrote, &wrote, 4);
  mx__read_unpack(cells->read[number], cell.read);
  struct cell *four = cell.writer == BY_BYTE ? &t->c->byte_cells[cell.readers] : NULL;
  if (!four && last - first < 4 && crowded(&cell, t->record, t->a->write, first, last))
    if (!(four = take_apart(t->c, &cell))) return;
  if (!four) touch_bytes(t, l, address, &cell, first, last);
  for (unsigned b = first; four && b < last; b++) touch_bytes(t, l, address - first + b, &four[b], b, b + 1);
  if (!mx__read_pack(cell.read, &cells->read[number]) && !take_apart(t->c, &cell)) return;
  cells->writer[number] = cell.writer, cells->readers[number] = cell.readers;
  memcpy(&cells->wrote[number], cell.wrote, 4);
  cells->wrote[number] |= defined;
}

/* Records an access by lanes from l on, each to all four bytes of a cell of its own, so that the cell need not be split
 * into bytes: everything in it is checked before any of it is replaced. False: the cell's readers must be kept, and
 * nothing was done. */
static bool touch_whole(struct touch *t, unsigned l, uint64_t address, const struct cells *cells, uint64_t number) {
  const unsigned bytes = (unsigned)t->a->bytes;
  const uint32_t record = cells->readers[number];
  struct cell cell = {cells->writer[number], record, {0}, {0}};
  const uint32_t wrote = cells->wrote[number] & ~DEFINED, defined = cells->wrote[number] & DEFINED;
  memcpy(cell.wrote, &wrote, 4);
  mx__read_unpack(cells->read[number], cell.read);
  t->cell = (uint32_t)number;
  if (cell.writer == BY_BYTE) return false;
  const bool same = !t->a->write && record && !(record & READER_LIST) && stands(t, record);
  for (unsigned b = 0; b < 4 && record && !t->a->write && !same; b++)
    if (record & READER_LIST || (cell.read[b] && !ordered(t, record, cell.read[b], l + b / bytes))) return false;
  uint8_t wrote_by[4], read_by[4];
  uint16_t packed;
  for (unsigned b = 0; b < 4; b++) {
    const uint8_t lane = (uint8_t)(l + b / bytes + 1);
    wrote_by[b] = t->a->write ? lane : cell.wrote[b];
    read_by[b] = t->a->write ? 0 : !same || !cell.read[b] || cell.read[b] == lane ? lane : LANE_MANY;
  }
  if (!mx__read_pack(read_by, &packed)) return false;
  for (unsigned b = 0; b < 4; b += bytes) check_bytes(t, l + b / bytes, address + b, &cell, b, b + bytes);
  if (t->a->write) cells->writer[number] = t->record, cells->readers[number] = 0;
  else if (!same) cells->readers[number] = t->record;
  memcpy(&cells->wrote[number], wrote_by, 4);
  cells->wrote[number] |= defined;
  cells->read[number] = packed;
  return true;
}
/* The lanes from l on that access a whole cell like this; 0: not even l does. */
static uint64_t whole_cell(const struct mx_access *a, unsigned l, uint64_t address) {
  const unsigned n = 4 / (unsigned)a->bytes;
  if (address & 3 || l + n > MX_MAX_LANES) return 0;
  const uint64_t m = ((UINT64_C(1) << n) - 1) << l;
  if (m & ~a->lanes) return 0;
  for (unsigned k = 1; k < n; k++)
    if (a->address[l + k] + a->base != address + k * a->bytes) return 0;
  return m;
}

void mx__race_read(struct mx_check *c, struct warp_state *w, const struct cells *cells, uint64_t cell, unsigned lane,
                   uint32_t record) {
  const uint32_t site = mx__record(cells->ledger, record).site;
  const struct mx_access a = {.bytes = 4};
  struct touch t = {.c = c,
                    .w = w,
                    .site = &c->code->sites[site],
                    .a = &a,
                    .number = site,
                    .record = record,
                    .block = block_of(c, w->number),
                    .ledger = cells->ledger};
  touch_cell(&t, lane, 0, cells, cell, 0, 4);
}

/* The cells that cover a generic address, and the address of the first one; NULL: there are none. of: the block whose
 * shared memory it is; UINT64_MAX: not shared. */
static const struct cells *cells_at(const struct mx_check *c, const struct mx_exec *x, uint64_t address, uint64_t bytes,
                                    uint64_t *lo, uint64_t *of) {
  if (address >> MX_WINDOW_SHIFT == MX_WINDOW_SHARED) {
    const struct block_state *b = mx__shared_of(x, address, lo);
    if (!b || address - *lo + bytes > c->launch->shared_bytes) return NULL;
    *of = b->number;
    return &b->cells;
  }
  *of = UINT64_MAX;
  for (unsigned k = 0; k < 2; k++)
    if (c->cells[k].writer && address - c->cells_lo[k] < c->cells_bytes[k] &&
        bytes <= c->cells_bytes[k] - (address - c->cells_lo[k]))
      return *lo = c->cells_lo[k], &c->cells[k];
  return NULL;
}

/* ---- buffers that are only read -----------------------------------------------------------------------------------
 * Where all writes of a launch are known to be of variables and buffers (origin.c), reads of other buffers need not be
 * recorded, as long as no write leaves the object that it was meant for. */
static bool is_inside(const struct site *s, uint64_t address, uint64_t bytes) {
  return s->has_range && address - s->lo < s->size && s->size - (address - s->lo) >= bytes;
}
static bool may_write(const struct site *s) {
  const struct mx_op_info *o = &mx__ops[s->insn->op];
  const enum mx_access_kind kind = mx__row_access[s->insn->op].kind;
  if (s->insn->kind != MX_INSN_OP || kind == MX_ACCESS_LOAD) return false;
  return s->access != ACCESS_NONE || mx__bounds_count(o) || o->cls == MX_MEM;
}
static void find_unraced(struct mx_check *c) {
  struct site *sites = c->code->sites;
  c->unraced = false;
  for (uint32_t n = 0; n < c->code->nsites; n++) {
    struct site *s = &sites[n];
    if (!may_write(s) || (mx__row_access[s->insn->op].kind && (s->space == MX_SHARED || s->space == MX_LOCAL)))
      continue;
    if (s->origin.kind != ORIGIN_FRAME && s->origin.kind != ORIGIN_VARIABLE && s->origin.kind != ORIGIN_PARAM) return;
    if (s->origin.kind != ORIGIN_FRAME && !mx__memory_range(c, s)) return;
  }
  for (uint32_t n = 0; n < c->code->nsites; n++) {
    struct site *s = &sites[n];
    if (s->insn->kind != MX_INSN_OP || mx__row_access[s->insn->op].kind != MX_ACCESS_LOAD || s->access != ACCESS_WEAK ||
        s->origin.kind != ORIGIN_PARAM || !mx__memory_range(c, s))
      continue;
    s->unraced = true;
    for (uint32_t m = 0; m < c->code->nsites && s->unraced; m++)
      s->unraced = !(may_write(&sites[m]) && sites[m].has_range && sites[m].lo < s->lo + s->size &&
                     s->lo < sites[m].lo + sites[m].size);
    c->unraced |= s->unraced;
  }
}
static void race_all(struct mx_check *c) {
  for (uint32_t n = 0; n < c->code->nsites; n++) c->code->sites[n].unraced = false;
  c->unraced = false;
}

void mx__race_atomic_again(const struct site *s, uint32_t *wrote, unsigned lane) {
  const uint32_t by = (lane + 1u) * 0x01010101u;
  if (s->observes) *wrote = by | (*wrote & DEFINED);
  else if ((*wrote & ~DEFINED) != by) *wrote |= LANE_MANY * 0x01010101u;
}
void mx__race_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  struct touch t = {.x = x,
                    .c = c,
                    .w = warp_state(x),
                    .site = &c->code->sites[site],
                    .a = a,
                    .number = site,
                    .block = block_state(x->block)->number,
                    .strong = mx__is_strong(&c->code->sites[site])};
  if (t.site->access == ACCESS_ASYNC || a->lanes == 0) return;
  struct clocks *released = NULL;
  const bool atomic = t.site->access == ACCESS_ATOMIC;
  const bool syncs = t.strong || (a->write && c->nsyncs), relaxed = atomic && a->bytes == 4 && !t.site->object &&
                                                                    !t.site->acquires && !t.site->releases &&
                                                                    !t.w->fence[0] && !t.w->fence[1];
  if (a->write && c->unraced && t.site->known_range)
    MX_FOR_LANES (l, a->lanes)
      if (!is_inside(t.site, a->address[l] + a->base, a->bytes)) race_all(c);
  uint64_t before = 0; /* the previous lane's address */
  unsigned same = 0;   /* how many lanes had this address */
  const bool narrow = a->bytes < 4 && !t.strong && !syncs && !t.site->waits;
  uint64_t done = 0; /* lanes that were handled together with an earlier one */
  MX_FOR_LANES (l, a->lanes) {
    if (done >> l & 1) continue;
    const uint64_t address = a->address[l] + a->base;
    uint64_t lo, of;
    same = same && address == before ? same + 1 : 1;
    before = address;
    if (t.site->unraced && is_inside(t.site, address, a->bytes)) continue;
    /* several lanes read this address, and nothing was found */
    if (same > 2 && !a->write && !t.strong && !t.told) continue;
    const struct cells *cells = cells_at(c, x, address, a->bytes, &lo, &of);
    if (!cells) continue;
    if (cells->ledger != t.ledger) {
      t.ledger = cells->ledger, t.memo = t.looked = 0;
      if (!(t.record = mx__race_record(c, t.ledger, t.w, site))) break;
    }
    if (relaxed && !(address & 3) && cells->writer[(address - lo) / 4] == t.record &&
        !mx__race_syncs_between(c, address, address + a->bytes)) { /* other accesses were examined then */
      mx__race_atomic_again(t.site, &cells->wrote[(address - lo) / 4], (unsigned)l);
      continue;
    }
    const uint64_t whole = narrow ? whole_cell(a, (unsigned)l, address) : 0;
    if (whole && touch_whole(&t, (unsigned)l, address, cells, (address - lo) / 4)) {
      done |= whole;
      continue;
    }
    if (t.site->waits) t.w->waits |= 1ull << l, t.w->wait_address = address;
    if (syncs) synchronise(c, t.w, t.site, t.block, key_of(address, of), of, !a->write || atomic, a->write, &released);
    t.of = of;
    for (uint64_t at = address, end = address + a->bytes; at < end;) {
      const unsigned first = (unsigned)(at & 3), last = end - (at - first) < 4 ? (unsigned)(end - (at - first)) : 4;
      touch_cell(&t, (unsigned)l, at, cells, (at - lo) / 4, first, last);
      at += last - first;
    }
  }
  mx__clocks_drop(released);
}

/* ---- life ---------------------------------------------------------------------------------------------------------*/
void mx__race_begin(struct mx_check *c) {
  mx__ledger_begin(&c->ledger);
  find_unraced(c);
  c->in_step = false;
  for (uint32_t n = 0; n < c->code->nsites; n++) c->in_step |= c->code->sites[n].in_step && !c->code->sites[n].writes;
}
void mx__race_end(struct mx_check *c) {
  for (size_t k = 0; k < c->syncs_size; k++) {
    mx__clocks_drop(c->syncs[k].all), mx__clocks_drop(c->syncs[k].own);
    free(c->syncs[k].observers);
  }
  mx__ledger_free(&c->ledger);
  free(c->byte_cells);
  free(c->syncs);
  c->byte_cells = NULL;
  c->syncs = NULL;
  c->nbyte_cells = c->byte_cells_room = c->nsyncs = c->syncs_size = 0;
  c->observed = false;
  memset(c->syncs_lo, 0, sizeof c->syncs_lo), memset(c->syncs_hi, 0, sizeof c->syncs_hi);
}

static void warp_end(struct warp_state *w) {
  for (unsigned k = 0; k < 2; k++) {
    mx__clocks_drop(w->fence[k]);
    mx__clocks_drop(w->pending[k]);
    w->fence[k] = w->pending[k] = NULL;
  }
  mx__clocks_drop(w->known);
  free(w->lane_time);
  w->known = NULL;
  w->lane_time = NULL;
}
void mx__race_block(struct mx_check *c, struct block_state *s) {
  for (uint32_t w = 0; w < s->nwarps; w++) {
    warp_end(&s->warps[w]);
    s->warps[w].time = 1;
    s->warps[w].waits = 0;
    s->warps[w].lane_floor = s->warps[w].step_floor = 0;
  }
  for (unsigned n = 0; n <= MX_BARRIERS; n++) mx__clocks_drop(s->arrived[n]), s->arrived[n] = NULL;
  mx__clocks_drop(s->passed);
  s->passed = NULL;
  mx__ledger_begin(&s->ledger);
  for (uint32_t w = 0; w < s->nwarps; w++) memset(s->warps[w].memo, 0, (c->code->nsites + 1u) * sizeof(struct memo));
  s->records_before = s->lists_before = 1;
}
void mx__race_block_end(struct block_state *s) {
  for (uint32_t w = 0; w < s->nwarps; w++) warp_end(&s->warps[w]);
  for (unsigned n = 0; n <= MX_BARRIERS; n++) mx__clocks_drop(s->arrived[n]);
  mx__clocks_drop(s->passed);
  mx__ledger_free(&s->ledger);
}

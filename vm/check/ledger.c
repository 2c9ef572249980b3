/* Records of accesses and lists of readers, to which cells refer by number. Cells take up to three and a half bytes for
 * each byte of memory, so little may be kept for each access of a warp: a warp mostly does what the one before it did,
 * and the records of all such warps are one run. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- records ------------------------------------------------------------------------------------------------------*/
static uint32_t sites_of(const struct ledger *l, const struct run *r) {
  return r->each == OPEN_RUN ? (uint32_t)l->nsites - r->sites : r->each;
}
/* The last run is complete. It becomes part of the one before it if it continues that one; else they may at least share
 * their list of sites. */
static void close_run(struct ledger *l) {
  struct run *open = &l->runs[l->nruns - 1], *last = open - 1;
  const uint32_t each = sites_of(l, open);
  open->each = each;
  if (l->nruns < 2 || last->each != each ||
      memcmp(l->sites + last->sites, l->sites + open->sites, each * sizeof *l->sites))
    return;
  if (last->sites != open->sites) l->nsites -= each, open->sites = last->sites;
  if (last->time == open->time && open->warp == last->warp + (open->first - last->first) / each) l->nruns--;
}
/* Makes a record with the next number, for the warp at its present time. */
static bool add_record(struct mx_check *c, struct ledger *l, const struct warp_state *w, uint32_t site) {
  if (!l->nrecords) l->nrecords = 1; /* 0 is nobody */
  const struct run *open = l->nruns ? &l->runs[l->nruns - 1] : NULL;
  if (!open || open->each != OPEN_RUN || open->warp != w->number || open->time != w->time) {
    if (open && open->each == OPEN_RUN) close_run(l);
    if (!mx__check_grow(c, (void **)&l->runs, l->nruns, &l->runs_room, sizeof *l->runs)) return false;
    l->runs[l->nruns++] = (struct run){.warp = w->number,
                                       .time = w->time,
                                       .first = (uint32_t)l->nrecords,
                                       .sites = (uint32_t)l->nsites,
                                       .each = OPEN_RUN};
  }
  if (!mx__check_grow(c, (void **)&l->sites, l->nsites, &l->sites_room, sizeof *l->sites)) return false;
  l->sites[l->nsites++] = site;
  return true;
}
struct record mx__record(struct ledger *l, uint32_t number) {
  size_t k = l->last_run;
  if (k >= l->nruns || number < l->runs[k].first || (k + 1 < l->nruns && number >= l->runs[k + 1].first)) {
    size_t lo = 0, hi = l->nruns;
    while (hi - lo > 1) {
      const size_t mid = (lo + hi) / 2;
      if (l->runs[mid].first <= number) lo = mid;
      else hi = mid;
    }
    l->last_run = k = lo;
  }
  const struct run *r = &l->runs[k];
  const uint32_t at = number - r->first;
  return (struct record){r->warp + at / r->each, r->time, l->sites[r->sites + at % r->each]};
}

uint32_t mx__race_record(struct mx_check *c, struct ledger *l, struct warp_state *w, uint32_t site) {
  struct memo *memo = &w->memo[site];
  if (l->turn_warp != w->number || l->turn_time != w->time) {
    l->turn_warp = w->number, l->turn_time = w->time;
    l->turn_first = l->nrecords ? (uint32_t)l->nrecords : 1;
    l->turn_lists = l->n ? (uint32_t)l->n : 1;
    l->turn_strong = false;
  }
  if (memo->of == l && memo->time == w->time) return memo->record;
  if (l->nrecords >= READER_LIST - 1 || !add_record(c, l, w, site)) return c->failed = true, 0;
  l->strong_writes |= c->code->sites[site].writes && mx__is_strong(&c->code->sites[site]);
  if (c->code->sites[site].writes) l->last_write = (uint32_t)l->nrecords;
  l->turn_strong |= mx__is_strong(&c->code->sites[site]);
  *memo = (struct memo){l, (uint32_t)l->nrecords++, w->time};
  return memo->record;
}

/* ---- lists of readers ---------------------------------------------------------------------------------------------*/
static size_t reader_slot(const struct ledger *l, const struct reader *r) {
  uint64_t h = ((uint64_t)r->record << 32 | r->next) * 0x9E3779B97F4A7C15u + ((uint64_t)r->origin << 8 | r->lane);
  h ^= h >> 29;
  size_t at = (size_t)(h * 0xBF58476D1CE4E5B9u >> 32) & (l->hash_size - 1);
  for (; l->hash[at]; at = (at + 1) & (l->hash_size - 1)) {
    const struct reader *o = &l->readers[l->hash[at]];
    if (o->record == r->record && o->next == r->next && o->lane == r->lane && o->origin == r->origin) break;
  }
  return at;
}
uint32_t mx__race_list(struct mx_check *c, struct ledger *l, struct reader r) {
  if (l->n * 2 + 2 >= l->hash_size) {
    const size_t size = l->hash_size ? l->hash_size * 2 : 1024;
    uint32_t *more = calloc(size, sizeof *more);
    if (!more) return c->failed = true, 0;
    free(l->hash);
    l->hash = more, l->hash_size = size;
    for (size_t k = 1; k < l->n; k++) more[reader_slot(l, &l->readers[k])] = (uint32_t)k;
  }
  if (!l->n) l->n = 1;
  const size_t at = reader_slot(l, &r);
  if (l->hash[at]) return l->hash[at] | READER_LIST;
  if (!mx__check_grow(c, (void **)&l->readers, l->n, &l->room, sizeof r)) return 0;
  const struct reader none = {.all_strong = true, .all_wide = true},
                      *next = r.next & READER_LIST ? &l->readers[r.next & ~READER_LIST] : &none;
  const struct site *s = &c->code->sites[mx__record(l, r.record).site];
  r.length = next->length + 1;
  r.all_strong = next->all_strong && mx__is_strong(s);
  r.all_wide = next->all_wide && !s->block_scope;
  l->readers[l->n] = r;
  return (l->hash[at] = (uint32_t)l->n++) | READER_LIST;
}

/* ---- which lanes have read a cell ---------------------------------------------------------------------------------*/
/* By how much the number of the lane that read byte b exceeds that of byte `first`. */
static int lanes_behind(unsigned step, unsigned first, unsigned b) {
  const int bytes = (int)b - (int)first, halves = (int)(b / 2) - (int)(first / 2);
  return step == STEP_BYTE        ? bytes
         : step == STEP_HALF      ? halves
         : step == STEP_BYTE_BACK ? -bytes
         : step == STEP_HALF_BACK ? -halves
                                  : 0;
}
void mx__read_unpack(uint16_t from, uint8_t lane[4]) {
  const unsigned bytes = from / READ_BYTES & 0xF, first = bytes ? (unsigned)__builtin_ctz(bytes) : 0;
  for (unsigned b = 0; b < 4; b++)
    lane[b] = (uint8_t)(bytes >> b & 1 ? (from & READ_LANE) + lanes_behind(from / READ_STEP, first, b) : 0);
}
/* False: it cannot be expressed, and *to is 0. */
bool mx__read_pack(const uint8_t lane[4], uint16_t *to) {
  unsigned bytes = 0;
  for (unsigned b = 0; b < 4; b++) bytes |= (lane[b] != 0) << b;
  *to = 0;
  if (!bytes) return true;
  const unsigned first = (unsigned)__builtin_ctz(bytes);
  for (unsigned step = 0; step < READ_STEPS; step++) {
    bool fits = true;
    for (unsigned b = first; b < 4; b++)
      fits &= !lane[b] || (lane[b] == lane[first] + lanes_behind(step, first, b) && (!step || lane[b] != LANE_MANY));
    if (fits) return *to = (uint16_t)(step * READ_STEP + bytes * READ_BYTES + lane[first]), true;
  }
  return false;
}

/* ---- life ---------------------------------------------------------------------------------------------------------*/
void mx__ledger_begin(struct ledger *l) {
  if (l->n > 1) memset(l->hash, 0, l->hash_size * sizeof *l->hash);
  l->n = l->nrecords = 1;
  l->nruns = l->nsites = 0;
  l->turn_warp = UINT64_MAX;
  l->turn_strong = l->strong_writes = false;
  l->last_write = 0;
  l->nlater = 0;
}
void mx__ledger_free(struct ledger *l) {
  free(l->runs);
  free(l->sites);
  free(l->later);
  free(l->readers);
  free(l->hash);
  *l = (struct ledger){0};
}

/* A fast path for accesses about which there is nothing to report, which are nearly all: it handles all lanes at once,
 * mostly as a row of words. Accesses that it cannot handle (quick_... returns false) go through the tools lane by lane.
 * These record the same, so it does no harm if a part has been recorded here already.
 *
 * A cell's writer or reader is of one of three kinds here: known to all warps, since it was before a barrier of the
 * whole block; own, that is, of the current warp, its current time, and the same lane; or another one, which has to be
 * looked up. */
#include "check.h"

#include "vm/exec/access.h"

#include <string.h>

#if defined __x86_64__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
#define CLONES __attribute__((target_clones("default", "avx2")))
#else
#define CLONES
#endif

#define ALL_MANY (LANE_MANY * 0x01010101u)

/* ---- addresses --------------------------------------------------------------------------------------------------*/
struct lanes_at {
  uint64_t address[MX_MAX_LANES + 5]; /* generic; the last lane's is repeated behind it, for vectors */
  uint8_t lane[MX_MAX_LANES];
  unsigned n;
  uint64_t lo, hi;         /* the range of all bytes */
  uint64_t steps, stays;   /* steps: bit k: lane k + 1 touches the bytes just behind lane k's; stays: the same bytes */
  bool row, point, rising; /* rising: no two lanes touch the same bytes */
};

/* Vectors of eight cells. Arrays may end anywhere, so the rest is handled one by one. */
typedef uint32_t words __attribute__((vector_size(32), may_alias, aligned(4)));
typedef uint64_t longs __attribute__((vector_size(32), may_alias, aligned(8)));
typedef uint16_t shorts __attribute__((vector_size(16), may_alias, aligned(2)));
enum { WORDS = 8, LONGS = 4 };
static bool any(words v) {
  const longs w = (longs)v;
  return (w[0] | w[1] | w[2] | w[3]) != 0;
}

/* Classifies the pattern of the lanes' addresses in one pass: every access begins with this, and it is most of the time
 * of a launch under tools. False: some address is not a multiple of a word. Addresses are never negative. */
typedef int64_t numbers __attribute__((vector_size(32), may_alias, aligned(8)));
CLONES static bool is_row(const uint64_t *a, unsigned n, uint64_t bytes) {
  longs next = a[0] + (longs){0, 1, 2, 3} * bytes;
  unsigned k = 0;
  for (; k + LONGS <= n; k += LONGS, next += LONGS * bytes) {
    const longs bent = *(const longs *)(const void *)(a + k) ^ next;
    if (bent[0] | bent[1] | bent[2] | bent[3]) return false;
  }
  while (k < n && a[k] == a[0] + k * bytes) k++;
  return k == n;
}
CLONES static bool compare(struct lanes_at *p, uint64_t bytes) {
  uint64_t *a = p->address;
  const uint64_t pairs = (UINT64_C(1) << (p->n - 1)) - 1;
  if (is_row(a, p->n, bytes)) {
    p->row = true, p->rising = false, p->point = p->n == 1;
    p->lo = a[0], p->hi = a[p->n - 1] + bytes, p->steps = pairs, p->stays = 0;
    return !((p->lo | bytes) & 3);
  }
  for (unsigned k = 0; k < LONGS + 1; k++) a[p->n + k] = a[p->n - 1];
  longs bit = {1, 2, 4, 8}, steps = {0}, stays = {0}, down = {0}, odd = {0};
  numbers low = (numbers)((longs){0} + a[0]), high = low;
  for (unsigned k = 0; k < p->n; k += LONGS, bit <<= LONGS) {
    const longs v = *(const longs *)(const void *)(a + k), next = *(const longs *)(const void *)(a + k + 1),
                by = next - v;
    const numbers less = (numbers)((numbers)v < low), more = (numbers)((numbers)v > high);
    low = ((numbers)v & less) | (low & ~less), high = ((numbers)v & more) | (high & ~more);
    steps |= (longs)(by == bytes) & bit, stays |= (longs)(by == 0) & bit;
    down |= (by - bytes) & (longs)((bit & pairs) != 0);
    odd |= v;
  }
  int64_t least = low[0], most = high[0];
  for (unsigned j = 1; j < LONGS; j++) least = low[j] < least ? low[j] : least, most = high[j] > most ? high[j] : most;
  p->lo = (uint64_t)least, p->hi = (uint64_t)most + bytes;
  p->steps = (steps[0] | steps[1] | steps[2] | steps[3]) & pairs;
  p->stays = (stays[0] | stays[1] | stays[2] | stays[3]) & pairs;
  p->row = p->steps == pairs, p->point = p->stays == pairs;
  p->rising = !p->row && !p->point && !((down[0] | down[1] | down[2] | down[3]) >> 63);
  return !((odd[0] | odd[1] | odd[2] | odd[3]) & 3);
}
CLONES static void add_base(uint64_t *to, const uint64_t *from, uint64_t base, unsigned n) {
  unsigned k = 0;
  for (; k + LONGS <= n; k += LONGS) *(longs *)(void *)(to + k) = *(const longs *)(const void *)(from + k) + base;
  for (; k < n; k++) to[k] = from[k] + base;
}
static uint8_t lane_numbers[MX_MAX_LANES];
/* The same for 32-bit addresses, which wrap before the base is added. */
typedef uint32_t halves __attribute__((vector_size(16), may_alias, aligned(4)));
CLONES static void widen(uint64_t *to, const uint32_t *from, uint32_t off, uint64_t base, unsigned n) {
  unsigned k = 0;
  for (; k + LONGS <= n; k += LONGS)
    *(longs *)(void *)(to + k) = __builtin_convertvector(*(const halves *)(const void *)(from + k) + off, longs) + base;
  for (; k < n; k++) to[k] = (uint32_t)(from[k] + off) + base;
}
/* Whether lanes are missing between those of m; *first: the first of them. */
static bool has_gaps(struct lanes_at *p, uint64_t m, unsigned *first) {
  *first = (unsigned)__builtin_ctzll(m);
  const uint64_t run = m >> *first;
  p->n = (unsigned)__builtin_popcountll(m);
  return run & (run + 1);
}
/* Classifies the pattern of its lanes' addresses; false: this path cannot handle it. gaps: the lanes are not
 * adjacent. */
static bool place(struct lanes_at *p, uint64_t bytes, bool gaps) {
  if (!compare(p, bytes)) return false;
  if (gaps) {
    for (unsigned k = 0; k + 1 < p->n; k++)
      if (p->lane[k + 1] != p->lane[k] + 1) p->steps &= ~(UINT64_C(1) << k);
    p->row = false;
  }
  return p->lo < p->hi && p->lo >> MX_WINDOW_SHIFT == (p->hi - 1) >> MX_WINDOW_SHIFT;
}
static bool gather(struct lanes_at *p, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes) {
  unsigned first;
  const bool gaps = has_gaps(p, m, &first);
  if (gaps) {
    unsigned n = 0;
    MX_FOR_LANES (l, m) p->address[n] = address[l] + base, p->lane[n++] = (uint8_t)l;
  } else {
    add_base(p->address, address + first, base, p->n);
    memcpy(p->lane, lane_numbers + first, p->n);
  }
  return place(p, bytes, gaps);
}

/* ---- definedness ------------------------------------------------------------------------------------------------*/
/* The bytes that say whether those from lo to hi are defined, NULL: all of them are; false: they are not in one
 * piece. */
static bool bytes_between(struct mx_check *c, const struct mx_exec *x, const struct lanes_at *p, uint32_t **wrote) {
  *wrote = NULL;
  if (p->lo >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL && p->lo < MX_HEAP_START) {
    for (size_t k = 0; k < c->nundefined; k++) {
      const struct undefined *u = &c->undefined[k];
      if (p->hi <= u->lo || p->lo >= u->lo + u->size) continue;
      if (p->lo < u->lo || p->hi > u->lo + u->size) return false;
      *wrote = (uint32_t *)(void *)mx__shadow_wrote(c, p->lo, p->hi - p->lo);
      return true;
    }
    return p->hi <= MX_HEAP_START;
  }
  enum undefined_what what;
  *wrote = (uint32_t *)(void *)mx__uninit_bytes(c, x, 0, p->lo, p->hi - p->lo, &what);
  return true;
}
CLONES static bool all_defined(const uint32_t *wrote, unsigned n) {
  words all = ~(words){0};
  uint32_t one = UINT32_MAX;
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS) all &= *(const words *)(const void *)(wrote + k);
  for (; k < n; k++) one &= wrote[k];
  return !any(~all & DEFINED) && !(~one & DEFINED);
}
CLONES static void define(uint32_t *wrote, unsigned n) {
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS) *(words *)(void *)(wrote + k) |= DEFINED;
  for (; k < n; k++) wrote[k] |= DEFINED;
}
static bool quick_uninit(struct mx_check *c, const struct mx_exec *x, const struct lanes_at *p, uint64_t bytes,
                         bool write, bool atomic) {
  uint32_t *wrote;
  if (!bytes_between(c, x, p, &wrote)) return false;
  if (!wrote) return true;
  const uint64_t all = p->hi - p->lo;
  if (write && p->row && !atomic) return define(wrote, (unsigned)(all / 4)), true;
  if (all <= 64 * bytes * 4 && all_defined(wrote, (unsigned)(all / 4))) return true;
  for (unsigned k = 0; k < p->n; k++) {
    uint32_t *one = wrote + (p->address[k] - p->lo) / 4;
    if (write && !atomic) define(one, (unsigned)bytes / 4);
    else if (!all_defined(one, (unsigned)bytes / 4)) return false;
  }
  return true;
}

/* ---- races ------------------------------------------------------------------------------------------------------*/
struct quick {
  struct mx_check *c;
  const struct warp_state *w;
  struct cells cells;
  /* own: the first record of the current warp and time; numbers up to the lists' are own */
  uint32_t record, before, lists, own;
  /* the first list node whose first reader is the current warp, with the lane that cells remember */
  uint32_t own_lists;
};
/* Adjacent cells that lanes touch, `words` of them each; or cells that one lane touches alone, or several lanes
 * each. */
struct stretch {
  uint64_t first;
  unsigned n, words;
  const uint32_t *lanes; /* by cell, in the form in which cells remember lanes */
};
/* By the number of words in an access: what a cell remembers of its lane, for each cell of a row. */
static uint32_t lanes_of_rows[3][4 * MX_MAX_LANES], many_lanes[4];
static __attribute__((constructor)) void make_lanes(void) {
  for (unsigned n = 0; n < 4; n++) many_lanes[n] = ALL_MANY;
  for (unsigned n = 0; n < MX_MAX_LANES; n++) lane_numbers[n] = (uint8_t)n;
  for (unsigned k = 0; k < 3; k++)
    for (unsigned n = 0; n < (unsigned)MX_MAX_LANES << k; n++) lanes_of_rows[k][n] = ((n >> k) + 1) * 0x01010101u;
}

/* Classifies who has accessed n cells, by lanes[]: 1: some are not own, 2: some are not known, 4: some are neither.
 * many: another value that counts as the own lane. */
#define KINDS(t_, who_, lane_, own_lane_, k_) \
  do { \
    const t_ w__ = *(const t_ *)(const void *)((who_) + (k_)), \
             l__ = *(const t_ *)(const void *)((lane_) + (k_)) & ~DEFINED, known__ = (t_)(w__ < before), \
             lane__ = (t_)(l__ == *(const t_ *)(const void *)((own_lane_) + (k_))) | (t_)(l__ == many), \
             mine__ = ((t_)(w__ - own < span) | (t_)(w__ - lists < span_of_lists)) & lane__; \
    not_own |= ~mine__, not_known |= ~known__, neither |= ~(mine__ | known__); \
  } while (0)
static unsigned kinds_of_few(const uint32_t *who, const uint32_t *lanes, unsigned n, const uint32_t *own_lane,
                             const struct quick *q, uint32_t many) {
  unsigned kinds = 0;
  for (unsigned k = 0; k < n; k++) {
    const uint32_t is = lanes[k] & ~DEFINED;
    const bool known = who[k] < q->before, lane = is == own_lane[k] || is == many,
               mine =
                   lane && (who[k] - q->own < READER_LIST - q->own || who[k] - q->own_lists < BY_BYTE - q->own_lists);
    kinds |= (mine ? 0u : 1u) | (known ? 0u : 2u) | (mine || known ? 0u : 4u);
  }
  return kinds;
}
CLONES static unsigned kinds_of_many(const uint32_t *who, const uint32_t *lanes, unsigned n, const uint32_t *own_lane,
                                     const struct quick *q, uint32_t many) {
  const uint32_t before = q->before, own = q->own, span = READER_LIST - own, lists = q->own_lists,
                 span_of_lists = BY_BYTE - lists;
  words not_own = {0}, not_known = {0}, neither = {0};
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS) KINDS(words, who, lanes, own_lane, k);
  if (k < n) { /* the vector's unused elements repeat the first of the rest */
    uint32_t w[WORDS], l[WORDS], o[WORDS];
    for (unsigned j = 0; j < WORDS; j++) {
      const unsigned at = k + j < n ? k + j : k;
      w[j] = who[at], l[j] = lanes[at], o[j] = own_lane[at];
    }
    KINDS(words, w, l, o, 0);
  }
  return any(not_own) | (unsigned)any(not_known) << 1 | (unsigned)any(neither) << 2;
}
/* Whether nobody has accessed any of them; only reads, so that pages which nobody has written stay unallocated. */
CLONES static bool is_nobody(const uint32_t *who, unsigned n) {
  words all = {0};
  uint32_t one = 0;
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS) all |= *(const words *)(const void *)(who + k);
  for (; k < n; k++) one |= who[k];
  return !one && !any(all);
}
enum { NOT_OWN = 1, NOT_KNOWN = 2, NEITHER = 4, NOBODY = 8 };
static unsigned kinds_of_all(const uint32_t *who, const uint32_t *lanes, unsigned n, const uint32_t *own_lane,
                             const struct quick *q, uint32_t many) {
  return (n < WORDS ? kinds_of_few : kinds_of_many)(who, lanes, n, own_lane, q, many);
}
static unsigned kinds_of(const uint32_t *who, const uint32_t *lanes, unsigned n, const uint32_t *own_lane,
                         const struct quick *q, uint32_t many) {
  return is_nobody(who, n) ? NOT_OWN | NOBODY : kinds_of_all(who, lanes, n, own_lane, q, many);
}
/* What a cell's `read` says, with a byte for each byte as in `wrote`. Where these differ it is BYTES_DIFFER, which
 * equals no lane's and not even itself from byte to byte. */
#define BYTES_DIFFER 0x00010002u
static uint32_t reader_at(uint16_t read) {
  return read / READ_BYTES == READ_WORD / READ_BYTES ? (read & READ_LANE) * 0x01010101u : read ? BYTES_DIFFER : 0;
}
CLONES static void readers_at(uint32_t *to, const uint16_t *read, unsigned n) {
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS) {
    const words r = __builtin_convertvector(*(const shorts *)(const void *)(read + k), words),
                word = (words)(r >> 8 == 0xF);
    words lane = r & READ_LANE;
    lane |= lane << 8, lane |= lane << 16;
    *(words *)(void *)(to + k) = (lane & word) | (BYTES_DIFFER & ~word & (words)(r != 0));
  }
  for (; k < n; k++) to[k] = reader_at(read[k]);
}
CLONES static void set_readers(uint16_t *read, const uint32_t *lanes, unsigned n) {
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS)
    *(shorts *)(void *)(read + k) =
        __builtin_convertvector((*(const words *)(const void *)(lanes + k) & READ_LANE) | READ_WORD, shorts);
  for (; k < n; k++) read[k] = mx__read_word(lanes[k] & READ_LANE);
}
/* Replaces those that are known to all by the record, with its lane. */
CLONES static void follow(uint32_t *who, uint16_t *read, unsigned n, const uint32_t *own_lane, uint32_t before,
                          uint32_t record) {
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS) {
    words *w = (words *)(void *)(who + k);
    shorts *r = (shorts *)(void *)(read + k);
    const words known = (words)(*w < before),
                own = (*(const words *)(const void *)(own_lane + k) & READ_LANE) | READ_WORD;
    const shorts keep = __builtin_convertvector(~known, shorts);
    *w = (record & known) | (*w & ~known);
    *r = (__builtin_convertvector(own & known, shorts)) | (*r & keep);
  }
  for (; k < n; k++)
    if (who[k] < before) who[k] = record, read[k] = mx__read_word(own_lane[k] & READ_LANE);
}
CLONES static void fill(uint32_t *to, uint32_t v, unsigned n) {
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS) *(words *)(void *)(to + k) = v - (words){0};
  for (; k < n; k++) to[k] = v;
}

/* Marks what was written as defined; if the value is not, uninit.c corrects that later. */
CLONES static void write_lanes(uint32_t *wrote, const uint32_t *lanes, unsigned n) {
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS)
    *(words *)(void *)(wrote + k) = *(const words *)(const void *)(lanes + k) | DEFINED;
  for (; k < n; k++) wrote[k] = lanes[k] | DEFINED;
}

static bool is_own(const struct quick *q, uint32_t who) { return who >= q->own && who < READER_LIST; }
static bool is_known(const struct quick *q, uint32_t who) {
  return who < q->before || (who < READER_LIST && mx__race_knows(q->cells.ledger, q->w, who));
}
static bool is_strong_writer(const struct quick *q, uint32_t who) {
  return who && q->c->code->sites[mx__record(q->cells.ledger, who).site].access != ACCESS_WEAK;
}
/* Whether a cell's writer is known to all lanes, or is the lane itself; *knows: the last record for which that was
 * established. */
static bool writer_is_before(const struct quick *q, uint64_t k, uint32_t lane, uint32_t *knows) {
  const uint32_t writer = q->cells.writer[k];
  if (writer == *knows || (is_own(q, writer) && (q->cells.wrote[k] & ~DEFINED) == lane)) return true;
  if (!is_known(q, writer)) return false;
  *knows = writer;
  return true;
}
static bool write_one(const struct quick *q, uint64_t k, uint32_t lane, uint32_t *knows) {
  const uint32_t reader = q->cells.readers[k];
  if (!writer_is_before(q, k, lane, knows)) return false;
  if (reader & READER_LIST ? (reader & ~READER_LIST) >= q->lists
                           : !(is_own(q, reader) && reader_at(q->cells.read[k]) == lane) && !is_known(q, reader))
    return false;
  q->cells.writer[k] = q->record, q->cells.wrote[k] = lane | DEFINED;
  q->cells.readers[k] = 0, q->cells.read[k] = 0;
  return true;
}

/* What n cells remember of lanes, as one reader of a list that serves for all; false: bytes of a cell differ. */
static bool reader_of(uint32_t record, uint64_t k, const uint32_t *lanes, unsigned n, struct reader *r) {
  const uint32_t lane = lanes[0] & 0xFF;
  if (!lane || lanes[0] != lane * 0x01010101u) return false;
  *r = (struct reader){.record = record, .lane = (uint8_t)lane};
  if (lane != LANE_MANY && n > 1) r->lane = LANE_ROW, r->origin = (uint32_t)k - (lane - 1);
  return true;
}
/* How many of n numbers equal the first one. */
CLONES static unsigned run_of(const uint32_t *v, unsigned n) {
  unsigned k = 1;
  for (; k + WORDS <= n; k += WORDS)
    if (any(*(const words *)(const void *)(v + k) ^ v[0])) break;
  while (k < n && v[k] == v[0]) k++;
  return k;
}
/* How many lanes are equal or form a row, each being the one before plus one. */
CLONES static unsigned alike(const uint32_t *lanes, unsigned n) {
  const uint32_t step = lanes[0] == ALL_MANY ? 0 : 0x01010101u;
  words next = lanes[0] + (words){0, 1, 2, 3, 4, 5, 6, 7} * step;
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS, next += WORDS * step)
    if (any(*(const words *)(const void *)(lanes + k) ^ next)) break;
  while (k < n && lanes[k] == lanes[0] + k * step) k++;
  return k;
}
/* How many cells have an own record as their only reader. */
CLONES static unsigned run_of_own(const uint32_t *who, unsigned n, uint32_t own) {
  const uint32_t span = READER_LIST - own;
  unsigned k = 0;
  for (; k + WORDS <= n; k += WORDS)
    if (any(~(words)(*(const words *)(const void *)(who + k) - own < span))) break;
  while (k < n && who[k] - own < span) k++;
  return k;
}
/* The current warp reads what other lanes of it have read: cells remember that there were several. False: nothing was
 * done, since bytes of some cell have had different readers. */
CLONES static bool read_own(uint16_t *at, const uint32_t *lanes, unsigned n) {
  uint32_t read[4 * MX_MAX_LANES];
  words bad = {0};
  unsigned k = 0;
  readers_at(read, at, n);
  for (; k + WORDS <= n; k += WORDS) {
    words *r = (words *)(void *)(read + k);
    const words l = *(const words *)(const void *)(lanes + k), other = (words)(*r != l);
    bad |= other & ((words)(*r != (*r & 0xFF) * 0x01010101u) | (words)(*r == 0));
    *r |= other & ALL_MANY;
  }
  if (any(bad)) return false;
  for (; k < n; k++)
    if (read[k] != lanes[k]) {
      if (!read[k] || read[k] != (read[k] & 0xFF) * 0x01010101u) return false;
      read[k] = ALL_MANY;
    }
  set_readers(at, read, n);
  return true;
}
/* How many cells from k on have the same readers, with their lanes in the same pattern, or are read only by this
 * warp. */
static unsigned same_readers(const struct quick *q, uint64_t k, unsigned n) {
  const uint32_t *who = q->cells.readers + k;
  if (is_own(q, *who) && *who >= q->before) return run_of_own(who, n, q->own > q->before ? q->own : q->before);
  const unsigned same = run_of(who, n);
  if (*who & READER_LIST) return same;
  uint32_t read[4 * MX_MAX_LANES];
  readers_at(read, q->cells.read + k, same);
  return alike(read, same);
}
static bool same_lanes(const struct reader *head, const struct reader *mine, uint64_t k) {
  if (head->lane == LANE_MANY) return true;
  if (head->lane == LANE_ROW && mine->lane == LANE_ROW) return head->origin == mine->origin;
  if (mine->lane == LANE_MANY) return false;
  const uint8_t was = head->lane == LANE_ROW ? (uint8_t)(k - head->origin + 1) : head->lane,
                is = mine->lane == LANE_ROW ? (uint8_t)(k - mine->origin + 1) : mine->lane;
  return was == is;
}
static bool read_first(const struct quick *q, uint64_t k, unsigned n, const uint32_t *lanes) {
  fill(q->cells.readers + k, q->record, n);
  set_readers(q->cells.read + k, lanes, n);
  return true;
}
/* Records a read of n cells that have the same readers. */
static bool read_alike(const struct quick *q, uint64_t k, unsigned n, const uint32_t *lanes) {
  struct ledger *lists = q->cells.ledger;
  uint16_t *read = q->cells.read + k;
  const uint32_t was = q->cells.readers[k];
  struct reader head, mine;
  if (was & READER_LIST ? (was & ~READER_LIST) < q->lists : is_known(q, was)) return read_first(q, k, n, lanes);
  if (!(was & READER_LIST) && is_own(q, was)) return read_own(read, lanes, n);
  if (!reader_of(q->record, k, lanes, n, &mine)) return false;
  if (!(was & READER_LIST)) {
    const uint32_t by[] = {reader_at(*read)};
    if (mx__record(q->cells.ledger, was).warp == q->w->number || !reader_of(was, k, by, n, &head)) return false;
    mine.next = mx__race_list(q->c, lists, head);
  } else {
    head = lists->readers[was & ~READER_LIST];
    for (unsigned j = 0; j < n && q->cells.ledger->strong_writes; j++)
      if (is_strong_writer(q, q->cells.writer[k + j])) return false;
    if (is_own(q, head.record)) {
      if (same_lanes(&head, &mine, k)) return true;
      mine = (struct reader){.record = head.record, .next = head.next, .lane = LANE_MANY};
    } else {
      if (mx__record(q->cells.ledger, head.record).warp == q->w->number || head.length >= MX_LONGEST_LIST) return false;
      mine.next = is_known(q, head.record) ? head.next : was;
      if (!mine.next) return read_first(q, k, n, lanes);
    }
  }
  const uint32_t made = mine.next ? mx__race_list(q->c, lists, mine) : 0;
  if (!made) return false;
  fill(q->cells.readers + k, made, n);
  if (mine.lane != LANE_MANY) return set_readers(read, lanes, n), true;
  for (unsigned j = 0; j < n; j++) read[j] = mx__read_word(LANE_MANY);
  return true;
}

static bool touch(const struct quick *q, const struct stretch *s, bool write) {
  uint32_t *writer = q->cells.writer + s->first, *wrote = q->cells.wrote + s->first,
           *readers = q->cells.readers + s->first, knows = 0;
  uint16_t *read = q->cells.read + s->first;
  const unsigned n = s->n, writers = kinds_of(writer, wrote, n, s->lanes, q, 0);
  unsigned others = NOT_OWN | NOBODY;
  if (!is_nobody(readers, n)) {
    uint32_t read_by[4 * MX_MAX_LANES];
    readers_at(read_by, read, n);
    others = kinds_of_all(readers, read_by, n, s->lanes, q, write ? 0 : ALL_MANY);
  }
  if (!((writers | others) & NEITHER)) {
    if (write) {
      fill(writer, q->record, n);
      if (!(others & NOBODY)) fill(readers, 0, n), memset(read, 0, n * sizeof *read);
      write_lanes(wrote, s->lanes, n);
    } else if (others & NOT_OWN) follow(readers, read, n, s->lanes, q->before, q->record);
    return true;
  }
  for (unsigned k = 0; k < n && (write || writers & NEITHER); k++)
    if (!(write ? write_one : writer_is_before)(q, s->first + k, s->lanes[k], &knows)) return false;
  for (unsigned k = 0, run; k < n && !write; k += run) {
    run = same_readers(q, s->first + k, s->words > 1 ? 1 : n - k); /* list nodes describe rows of words */
    if (!read_alike(q, s->first + k, run, s->lanes + k)) return false;
  }
  return true;
}
/* Records an access by lanes whose cells are scattered and all different; at[]: the first cell by lane. False: it
 * cannot be handled here, and nothing was done. */
static bool touch_apart(const struct quick *q, const uint32_t *at, const uint8_t *lane, unsigned n, unsigned each,
                        bool write) {
  const struct cells *c = &q->cells;
  uint32_t writer[MX_MAX_LANES], wrote[MX_MAX_LANES], reader[MX_MAX_LANES], read[MX_MAX_LANES], own[MX_MAX_LANES];
  bool first = false, read_before = false; /* a reader is new; there were readers before */
  for (unsigned k = 0; k < n; k++) own[k] = (lane[k] + 1u) * 0x01010101u;
  for (unsigned w = 0; w < each; w++) {
    for (unsigned k = 0; k < n; k++) {
      writer[k] = c->writer[at[k] + w], wrote[k] = c->wrote[at[k] + w];
      reader[k] = c->readers[at[k] + w], read[k] = reader_at(c->read[at[k] + w]);
    }
    const unsigned writers = kinds_of(writer, wrote, n, own, q, 0),
                   readers = kinds_of(reader, read, n, own, q, write ? 0 : ALL_MANY);
    if ((writers | readers) & NEITHER) return false;
    first |= readers & NOT_OWN, read_before |= !(readers & NOBODY);
  }
  for (unsigned w = 0; w < each && write; w++)
    for (unsigned k = 0; k < n; k++) {
      c->writer[at[k] + w] = q->record, c->wrote[at[k] + w] = own[k] | DEFINED;
      if (read_before) c->readers[at[k] + w] = 0, c->read[at[k] + w] = 0;
    }
  for (unsigned w = 0; w < each && first && !write; w++)
    for (unsigned k = 0; k < n; k++)
      if (c->readers[at[k] + w] < q->before)
        c->readers[at[k] + w] = q->record, c->read[at[k] + w] = mx__read_word(lane[k] + 1u);
  return true;
}

/* From lane k of p on: how many lanes touch adjacent bytes, one lane after another, or, in a read, the same bytes. */
static unsigned stretch_of(const struct lanes_at *p, unsigned k, bool write, bool *same) {
  *same = !write && p->stays >> k & 1;
  if (p->row || p->point) return p->n - k;
  const uint64_t others = ~((*same ? p->stays : p->steps) >> k);
  return (unsigned)__builtin_ctzll(others) + 1;
}
/* Records an access by the lanes of p in the cells, which begin at lo. False: this path cannot handle it; a part may
 * have been recorded. */
static bool touch_all(const struct quick *q, const struct lanes_at *p, uint64_t lo, unsigned log, bool write) {
  if (p->rising) {
    uint32_t at[MX_MAX_LANES];
    for (unsigned k = 0; k < p->n; k++) at[k] = (uint32_t)((p->address[k] - lo) / 4);
    if (touch_apart(q, at, p->lane, p->n, 1u << log, write)) return true;
  }
  unsigned alike = 0; /* how many earlier stretches equal this one: of equal reads, two are enough */
  for (unsigned k = 0, n, before = 0; k < p->n; k += n) {
    bool same;
    n = stretch_of(p, k, write, &same);
    alike = k && n == before && p->address[k] == p->address[k - n] ? alike + 1 : 0;
    before = n;
    if (alike > 1 && !write) continue;
    const struct stretch s = {.first = (p->address[k] - lo) / 4,
                              .n = (same ? 1 : n) << log,
                              .words = 1u << log,
                              .lanes = same ? many_lanes : lanes_of_rows[log] + ((size_t)p->lane[k] << log)};
    if (!touch(q, &s, write)) return false;
  }
  return true;
}

/* ---- reads of shared memory that nobody has written since a barrier of the whole block -----------------------------
 * Such a read cannot race with anything before it, and its record is needed only if somebody writes before the next
 * such barrier. So it is only noted in ledger->later, and dropped at that barrier. Before anything else changes the
 * cells, or what a warp knows about others, the noted reads are entered into the cells in order (mx__quick_settle). */
/* POINT: several lanes read one place, and two are noted; CELLS: arrays of cells and lanes follow. */
enum { LATER_ROW, LATER_POINT, LATER_CELLS };
enum { LATER_HEAD = 5, LATER_MOST = 1 << 14 };
struct later {
  uint32_t record, own, first; /* own: as in struct quick; first: the first cell */
  uint8_t kind, log, n, unused;
  uint8_t lane[4]; /* the first lane; for POINT also the second */
};
_Static_assert(sizeof(struct later) == LATER_HEAD * sizeof(uint32_t), "it is so many numbers");
static size_t later_size(const struct later *e) {
  return LATER_HEAD + (e->kind == LATER_CELLS ? e->n + (e->n + 3u) / 4 : 0);
}

static bool may_wait(const struct block_state *b) {
  const struct ledger *l = &b->ledger;
  return l->last_write < b->records_before && !l->strong_writes;
}
/* Where the cells and lanes of a noted read are to be put; NULL: there is no room. */
static uint32_t *note_later(struct mx_check *c, struct block_state *b, const struct later *e) {
  struct ledger *l = &b->ledger;
  if (l->nlater + later_size(e) > LATER_MOST) mx__quick_settle(c, b);
  while (l->nlater + later_size(e) > l->later_room)
    if (!mx__check_grow(c, (void **)&l->later, l->later_room, &l->later_room, sizeof *l->later)) return NULL;
  uint32_t *at = l->later + l->nlater;
  memcpy(at, e, sizeof *e);
  l->nlater += later_size(e);
  return at + LATER_HEAD;
}
static bool read_later(const struct quick *q, struct block_state *b, const struct lanes_at *p, uint64_t lo,
                       unsigned log) {
  const bool point = p->point && p->n > 1;
  const struct later e = {.record = q->record,
                          .own = q->own,
                          .first = (uint32_t)((p->address[0] - lo) / 4),
                          .kind = point    ? LATER_POINT
                                  : p->row ? LATER_ROW
                                           : LATER_CELLS,
                          .log = (uint8_t)log,
                          .n = (uint8_t)(point ? 2 : p->n),
                          .lane = {p->lane[0], p->lane[point]}};
  uint32_t *at = note_later(q->c, b, &e);
  if (!at || e.kind != LATER_CELLS) return at;
  for (unsigned k = 0; k < p->n; k++) at[k] = (uint32_t)((p->address[k] - lo) / 4);
  memcpy(at + p->n, p->lane, p->n);
  return true;
}

void mx__quick_settle(struct mx_check *c, struct block_state *b) {
  struct ledger *l = &b->ledger;
  const size_t all = l->nlater;
  const uint64_t lo = MX_WINDOW(MX_WINDOW_SHARED);
  uint32_t turn = 0;
  struct quick q = {.c = c, .cells = b->cells, .before = b->records_before, .lists = b->lists_before};
  l->nlater = 0;
  for (size_t at = 0; at < all && !c->failed;) {
    struct later e;
    struct lanes_at p;
    memcpy(&e, l->later + at, sizeof e);
    const uint32_t *cells = l->later + at + LATER_HEAD;
    const uint8_t *lanes = (const uint8_t *)(cells + e.n);
    at += later_size(&e);
    p.n = e.n;
    for (unsigned k = 0; k < e.n; k++) {
      p.lane[k] = e.kind == LATER_CELLS ? lanes[k] : e.kind == LATER_POINT ? e.lane[k] : (uint8_t)(e.lane[0] + k);
      p.address[k] = lo + 4ull * (e.kind == LATER_CELLS ? cells[k] : e.first + (e.kind == LATER_ROW ? k << e.log : 0));
    }
    struct warp_state *w = &b->warps[mx__record(l, e.record).warp - b->number * b->nwarps];
    q.w = w;
    q.record = e.record, q.own = e.own;
    if (turn != e.own) q.own_lists = READER_LIST | (l->n ? (uint32_t)l->n : 1);
    turn = e.own;
    if (place(&p, 4ull << e.log, true) && touch_all(&q, &p, lo, e.log, false)) continue;
    for (unsigned k = 0; k < e.n; k++)
      for (unsigned word = 0; word < 1u << e.log; word++)
        mx__race_read(c, w, &b->cells, (p.address[k] - lo) / 4 + word, p.lane[k], e.record);
  }
}

/* the logarithm of the number of words */
static unsigned log_of(uint64_t bytes) { return bytes == 4 ? 0 : bytes == 8 ? 1 : 2; }
static bool quick_race(struct mx_check *c, struct mx_exec *x, uint32_t site, const struct lanes_at *p, uint64_t bytes,
                       bool write) {
  struct block_state *b = block_state(x->block);
  struct quick q = {.c = c, .w = warp_state(x), .before = 1, .lists = 1};
  uint64_t lo;
  if (c->code->sites[site].unraced) return true;
  if (p->lo >> MX_WINDOW_SHIFT == MX_WINDOW_SHARED) {
    lo = MX_WINDOW(MX_WINDOW_SHARED);
    if (p->hi - lo > c->launch->shared_bytes) return false; /* it is in another block of the cluster */
    q.cells = b->cells, q.before = b->records_before, q.lists = b->lists_before;
  } else if (p->lo >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL) {
    lo = c->cells_lo[0];
    if (!c->cells[0].writer || p->lo - lo >= c->cells_bytes[0] || p->hi - lo > c->cells_bytes[0]) return false;
    q.cells = c->cells[0];
  } else return true;
  if ((write && p->point && p->n > 1) || (write && mx__race_syncs_between(c, p->lo, p->hi))) return false;
  if (!(q.record = mx__race_record(c, q.cells.ledger, warp_state(x), site))) return true;
  const struct ledger *l = q.cells.ledger;
  q.own = l->turn_strong ? READER_LIST : l->turn_first;
  q.own_lists = l->strong_writes || l->turn_strong || write ? BY_BYTE : READER_LIST | l->turn_lists;
  const unsigned log = log_of(bytes);
  if (l == &b->ledger && may_wait(b) && !l->turn_strong && !write && read_later(&q, b, p, lo, log)) return true;
  if (l == &b->ledger) mx__quick_settle(c, b);
  return touch_all(&q, p, lo, log, write);
}

/* Atomic accesses to cells that this instruction has written earlier in this turn: other accesses to them were examined
 * then. */
static bool quick_atomic(struct mx_check *c, struct mx_exec *x, uint32_t site, const struct lanes_at *p,
                         uint64_t bytes) {
  const struct site *s = &c->code->sites[site];
  struct warp_state *w = warp_state(x);
  const bool shared = p->lo >> MX_WINDOW_SHIFT == MX_WINDOW_SHARED;
  const uint64_t lo = shared ? MX_WINDOW(MX_WINDOW_SHARED) : c->cells_lo[0];
  const struct cells *cells = shared ? &block_state(x->block)->cells : &c->cells[0];
  if (shared) mx__quick_settle(c, block_state(x->block));
  if (s->acquires || s->releases || w->fence[0] || w->fence[1] || mx__race_syncs_between(c, p->lo, p->hi)) return false;
  if (!cells->writer || p->lo < lo || p->hi - lo > (shared ? c->launch->shared_bytes : c->cells_bytes[0])) return false;
  const uint32_t record = mx__race_record(c, cells->ledger, w, site);
  for (unsigned k = 0; k < p->n; k++)
    for (uint64_t at = (p->address[k] - lo) / 4, end = at + bytes / 4; at < end; at++)
      if (cells->writer[at] != record) return false;
  for (unsigned k = 0; k < p->n; k++)
    for (uint64_t at = (p->address[k] - lo) / 4, end = at + bytes / 4; at < end; at++)
      mx__race_atomic_again(s, &cells->wrote[at], p->lane[k]);
  return record;
}
/* Returns the tools that have to look at the access lane by lane. */
static uint32_t quick(struct mx_exec *x, uint32_t site, uint64_t m, const struct lanes_at *p, uint64_t bytes,
                      bool write) {
  struct mx_check *c = check_of(x);
  const bool atomic = c->code->sites[site].access == ACCESS_ATOMIC;
  uint32_t rest = c->tools;
  if (p->lo >> MX_WINDOW_SHIFT == MX_WINDOW_LOCAL) return rest;
  if ((rest & MX_CHECK_MEMORY || c->unraced) && !mx__memory_inside(x, site, p->lo, p->hi)) return rest;
  rest &= ~(uint32_t)(MX_CHECK_MEMORY | MX_CHECK_LANES);
  if (rest & MX_CHECK_UNINIT && c->light && !(m & ~c->result) && quick_uninit(c, x, p, bytes, write, atomic))
    rest &= ~(uint32_t)MX_CHECK_UNINIT;
  if (!(rest & (MX_CHECK_RACE | MX_CHECK_SYNC))) return rest;
  return (atomic ? quick_atomic(c, x, site, p, bytes) : quick_race(c, x, site, p, bytes, write))
             ? rest & ~(uint32_t)(MX_CHECK_RACE | MX_CHECK_SYNC)
             : rest;
}
static bool is_atomic(const struct mx_exec *x, const struct site *s, uint64_t bytes) {
  return s->access == ACCESS_ATOMIC && !s->object && (bytes == 4 || bytes == 8) &&
         !(x->block->async && x->block->async->n);
}
static bool is_plain(const struct mx_exec *x, const struct site *s, uint64_t bytes) {
  return s->access == ACCESS_WEAK && !s->object && s->effect == MX_DOES_NOTHING &&
         (bytes == 4 || bytes == 8 || bytes == 16) && !(x->block->async && x->block->async->n);
}

uint32_t mx__quick(struct mx_exec *x, uint32_t site, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes,
                   bool write) {
  struct lanes_at p;
  const struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  return (is_plain(x, s, bytes) || is_atomic(x, s, bytes)) && gather(&p, m, address, base, bytes)
             ? quick(x, site, m, &p, bytes, write)
             : c->tools;
}

/* For compiled code, which asks before it has checked the addresses: whether they are within the instruction's cached
 * bounds. lo: of the first byte, generic; hi: behind the last. */
static bool is_there(struct mx_exec *x, const struct mx_insn *i, const struct site *s, uint64_t lo, uint64_t hi) {
  const uint64_t base = mx_space_window(s->space);
  for (bool again = false;; again = true) {
    const struct mx_bounds *b = &x->bounds[i->index];
    const uint64_t span = s->writes ? b->writes : b->reads, from = lo - base - b->lo;
    if (from <= span && hi - lo <= span - from) return true;
    if (again || !mx__access_keep(x, i, lo - base, s->space)) return false;
  }
}

/* Classifies the pattern of n lanes' addresses, where n is a multiple of WORDS; false: some are negative or not
 * multiples of a word. */
typedef int32_t integers __attribute__((vector_size(32), may_alias, aligned(4)));
CLONES static bool span_of(const uint32_t *a, uint32_t off, unsigned n, uint32_t bytes, uint32_t *lo, uint32_t *hi,
                           bool *row) {
  words next = a[0] + off + (words){0, 1, 2, 3, 4, 5, 6, 7} * bytes, bent = {0}, odd = {0};
  integers low = (integers)((words){0} + (a[0] + off)), high = low;
  for (unsigned k = 0; k < n; k += WORDS, next += WORDS * bytes) {
    const words v = *(const words *)(const void *)(a + k) + off;
    const integers less = (integers)((integers)v < low), more = (integers)((integers)v > high);
    low = ((integers)v & less) | (low & ~less), high = ((integers)v & more) | (high & ~more);
    bent |= v ^ next, odd |= v;
  }
  int32_t least = low[0], most = high[0];
  uint32_t some = odd[0];
  for (unsigned j = 1; j < WORDS; j++) {
    least = low[j] < least ? low[j] : least, most = high[j] > most ? high[j] : most;
    some |= odd[j];
  }
  *lo = (uint32_t)least, *hi = (uint32_t)most, *row = !any(bent);
  return !(some >> 31) && !((some | bytes) & 3);
}
CLONES static void to_cells(uint32_t *to, const uint32_t *a, uint32_t off, unsigned n) {
  for (unsigned k = 0; k < n; k += WORDS)
    *(words *)(void *)(to + k) = (*(const words *)(const void *)(a + k) + off) >> 2;
}
/* Notes a read of shared memory by the lanes from `first` on, at 32-bit addresses as compiled code has them, where
 * quick() would only note it. False: nothing was done. */
static bool quick_shared(struct mx_exec *x, const struct mx_insn *i, uint32_t site, unsigned first, unsigned n) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  struct block_state *b = block_state(x->block);
  struct warp_state *w = warp_state(x);
  const uint32_t *a = (const uint32_t *)(const void *)x->tmp + first, off = (uint32_t)i->off;
  uint32_t from, to;
  bool row;
  if (s->space != MX_SHARED || !s->narrow || s->writes || n % WORDS || !may_wait(b) || w->tainted) return false;
  if (!span_of(a, off, n, s->bytes, &from, &to, &row) || to + s->bytes > c->launch->shared_bytes) return false;
  const uint64_t lo = MX_WINDOW(MX_WINDOW_SHARED) + from, hi = MX_WINDOW(MX_WINDOW_SHARED) + to + s->bytes;
  if (!is_there(x, i, s, lo, hi)) return false;
  if ((c->tools & MX_CHECK_MEMORY || c->unraced) && !mx__memory_inside(x, site, lo, hi)) return false;
  if (c->tools & MX_CHECK_UNINIT && !all_defined(b->cells.wrote + from / 4, (unsigned)(hi - lo) / 4)) return false;
  if (!(c->tools & (MX_CHECK_RACE | MX_CHECK_SYNC))) return true;
  const uint32_t record = mx__race_record(c, &b->ledger, w, site);
  if (!record || b->ledger.turn_strong) return false;
  const bool point = from == to;
  const struct later e = {.record = record,
                          .own = b->ledger.turn_first,
                          .first = from / 4,
                          .kind = point ? LATER_POINT
                                  : row ? LATER_ROW
                                        : LATER_CELLS,
                          .log = (uint8_t)log_of(s->bytes),
                          .n = (uint8_t)(point ? 2 : n),
                          .lane = {(uint8_t)first, (uint8_t)(first + point)}};
  uint32_t *at = note_later(c, b, &e);
  if (!at || e.kind != LATER_CELLS) return at;
  to_cells(at, a, off, n);
  memcpy(at + n, lane_numbers + first, n);
  return true;
}

uint32_t mx__quick_compiled(struct mx_exec *x, const struct mx_jit_state *state, uint32_t pc, uint64_t m,
                            uint64_t number, uint32_t one) {
  (void)state;
  struct mx_check *c = check_of(x);
  const struct mx_insn *i = mx__at(x->fn, pc);
  if (i->kind == MX_INSN_JOIN) i++;
  const uint32_t site = c->code->first_site[x->fn->number] + (uint32_t)(i - x->fn->insns);
  const struct site *s = &c->code->sites[site];
  if (!m) return 1;
  if (c->failed || s->tracked || !(is_plain(x, s, s->bytes) || is_atomic(x, s, s->bytes))) return 0;
  struct lanes_at p;
  const uint64_t base = mx_space_window(s->space), off = (uint64_t)i->off;
  if (one) {
    p.n = (unsigned)__builtin_popcountll(m);
    p.row = p.n == 1, p.point = true, p.rising = false, p.steps = p.stays = 0;
    p.lane[0] = (uint8_t)__builtin_ctzll(m), p.lane[1] = (uint8_t)(p.n > 1 ? __builtin_ctzll(m & (m - 1)) : 0);
    if (p.n > 2) p.n = 2;
    p.stays = p.n - 1;
    p.address[0] = p.address[1] = p.lo = (s->narrow ? (uint32_t)(number + off) : number + off) + base;
    p.hi = p.lo + s->bytes;
    if (p.lo & 3 || p.lo >> MX_WINDOW_SHIFT != (p.hi - 1) >> MX_WINDOW_SHIFT) return 0;
  } else {
    unsigned first;
    const bool gaps = has_gaps(&p, m, &first);
    const unsigned from = gaps ? 0 : first, n = gaps ? x->lanes : p.n;
    if (!gaps && quick_shared(x, i, site, first, n)) return 1;
    if (s->narrow) widen(p.address, (const uint32_t *)(const void *)x->tmp + from, (uint32_t)off, base, n);
    else add_base(p.address, (const uint64_t *)(const void *)x->tmp + from, off + base, n);
    unsigned k = 0;
    if (!gaps) memcpy(p.lane, lane_numbers + first, n);
    else /* elements move to the front, so none is overwritten before it is read */
      MX_FOR_LANES (l, m) p.address[k] = p.address[l], p.lane[k++] = (uint8_t)l;
    if (!place(&p, s->bytes, gaps)) return 0;
  }
  if (!is_there(x, i, s, p.lo, p.hi)) return 0;
  c->light = !warp_state(x)->tainted;
  c->result = m;
  return !quick(x, site, m, &p, s->bytes, s->writes);
}

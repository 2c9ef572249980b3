/* Counts what one access of a warp touches: sectors, passes over banks, addresses that lanes have in common. Both
 * engines call this function, so both count the same. Three ways, the quickest first:
 *
 * 1. The lanes' addresses have the same distances as at the instruction's last execution (struct mx_access_pattern): so
 *    the counts are the same, too. This is the usual case.
 * 2. The addresses are evenly spaced: the counts are computed from the first address and the distance.
 * 3. Otherwise they are computed from all addresses (places.c). */
#include "profile.h"

#include "facts.h"
#include "places.h"

#include <string.h>

/* Evenly spaced addresses: of n consecutive lanes from `lane` on, or, with distance 0, of any set of lanes. */
struct even {
  uint64_t first, lanes;
  int64_t distance;
  unsigned lane, n;
};

#if defined __x86_64__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
#define CLONES __attribute__((target_clones("default", "avx2")))
#else
#define CLONES
#endif
/* Numbers of 32 and of 64 bits, of as many lanes as a vector register of AVX2 has room for. */
typedef uint32_t narrow_row __attribute__((vector_size(32), may_alias, aligned(4)));
typedef uint64_t wide_row __attribute__((vector_size(32), may_alias, aligned(8)));
enum { NARROW = 8, WIDE = 4 }; /* lanes of a row */
static bool any(const wide_row *v) { return ((*v)[0] | (*v)[1] | (*v)[2] | (*v)[3]) != 0; }

/* Whether the n numbers at p are first, first + distance and so on; narrow: they have 32 bits. */
CLONES static bool are_even(const void *p, bool narrow, uint64_t first, uint64_t distance, unsigned n) {
  wide_row wrong = {0};
  unsigned k = 0;
  if (narrow) {
    const uint32_t *a = p, begin = (uint32_t)first, by = (uint32_t)distance;
    narrow_row next = begin + (narrow_row){0, 1, 2, 3, 4, 5, 6, 7} * by;
    for (; k + NARROW <= n; k += NARROW, next += NARROW * by) wrong |= (wide_row)(*(const narrow_row *)(a + k) ^ next);
    for (; k < n; k++) wrong[0] |= a[k] ^ (begin + k * by);
    return !any(&wrong);
  }
  const uint64_t *a = p;
  wide_row next = first + (wide_row){0, 1, 2, 3} * distance;
  for (; k + WIDE <= n; k += WIDE, next += WIDE * distance) wrong |= *(const wide_row *)(a + k) ^ next;
  for (; k < n; k++) wrong[0] |= a[k] ^ (first + k * distance);
  return !any(&wrong);
}
static uint64_t number_at(const void *p, bool narrow, unsigned lane) {
  return narrow ? ((const uint32_t *)p)[lane] : ((const uint64_t *)p)[lane];
}
/* False: the addresses of lanes m are not evenly spaced. */
static bool find_even(const struct mx_insn *i, const struct mx_fact *f, uint64_t m, const void *p, bool one,
                      struct even *e) {
  const uint64_t off = (uint64_t)i->off;
  *e = (struct even){.lanes = m, .lane = (unsigned)__builtin_ctzll(m), .n = (unsigned)__builtin_popcountll(m)};
  const uint64_t first = number_at(p, f->narrow, one ? 0 : e->lane);
  e->first = f->narrow ? (uint32_t)(first + off) : first + off;
  if (one || e->n == 1) return true;
  const uint64_t in_row = e->n == 64 ? UINT64_MAX : (1ull << e->n) - 1,
                 distance = number_at(p, f->narrow, e->lane + 1) - first;
  if (m >> e->lane != in_row) return false;
  const unsigned char *at = (const unsigned char *)p + (size_t)e->lane * (f->narrow ? 4 : 8);
  if (!are_even(at, f->narrow, first, distance, e->n)) return false;
  e->distance = f->narrow ? (int32_t)distance : (int64_t)distance;
  const uint64_t last = e->first + (e->n - 1) * (uint64_t)e->distance;
  return !f->narrow || last <= UINT32_MAX; /* they wrap at 32 bits */
}

static struct mx_places even_places(const struct even *e, unsigned bytes) {
  const uint64_t distance = (uint64_t)(e->distance < 0 ? -e->distance : e->distance);
  const unsigned n = distance ? e->n : 1, span = bytes ? bytes - 1u : 0;
  const uint64_t least = e->first + (e->distance < 0 ? (n - 1) * (uint64_t)e->distance : 0);
  struct mx_places p = {.addresses = n};
  if (distance <= MX_SECTOR) { /* none is left out */
    p.sectors = (uint32_t)((least + (n - 1) * distance + span) / MX_SECTOR - least / MX_SECTOR + 1);
    return p;
  }
  uint64_t next = least / MX_SECTOR; /* the first sector that has not been counted */
  for (uint64_t k = 0, a = least; k < n; k++, a += distance) {
    const uint64_t begin = a / MX_SECTOR, end = (a + span) / MX_SECTOR;
    p.sectors += (uint32_t)(end + 1 - (begin > next ? begin : next));
    next = end + 1;
  }
  return p;
}

/* The greatest common divisor of a and a power of two. */
static unsigned common_divisor(uint64_t a, uint64_t power) {
  return a ? (unsigned)((a & -a) < power ? (a & -a) : power) : (unsigned)power;
}
/* As mx__bank_passes, for evenly spaced addresses; false: lanes want several words each, or their words begin at
 * distances that are no multiple of 4, so all addresses have to be looked at. */
static bool even_passes(const struct even *e, unsigned bytes, unsigned banks, uint32_t *passes, uint32_t *least) {
  const unsigned words = bytes < 4 ? 1 : bytes / 4, group = banks / words ? banks / words : 1, end = e->lane + e->n;
  const uint64_t lanes = group == 64 ? UINT64_MAX : (1ull << group) - 1;
  *least = 0;
  for (unsigned k = 0; k < MX_MAX_LANES; k += group) *least += (e->lanes >> k & lanes) != 0;
  *passes = *least;
  if (!e->distance || (e->distance == bytes && e->first % 4 == 0)) return true;
  if (words != 1 || e->distance % 4) return false;
  const unsigned cycle =
      banks / common_divisor((uint64_t)(e->distance / 4), banks); /* lanes until a bank comes again */
  *passes = 0;
  for (unsigned from = e->lane; from < end;) {
    const unsigned to = from / group * group + group < end ? from / group * group + group : end;
    *passes += (to - from + cycle - 1) / cycle;
    from = to;
  }
  return true;
}

/* ---- patterns -----------------------------------------------------------------------------------------------------*/
/* Whether the lanes of the last mask have the same distances from the first address as then. */
CLONES static bool is_like(const struct mx_access_pattern *last, const void *p, bool narrow, uint64_t first,
                           unsigned lanes) {
  wide_row wrong = {0};
  if (narrow) {
    const uint32_t *a = p, *behind = last->lanes.narrow[0], *on = last->lanes.narrow[1];
    for (unsigned l = 0; l < lanes; l += NARROW)
      wrong |= (wide_row)(((*(const narrow_row *)(a + l) - (uint32_t)first) ^ *(const narrow_row *)(behind + l)) &
                          *(const narrow_row *)(on + l));
  } else {
    const uint64_t *a = p, *behind = last->lanes.wide[0], *on = last->lanes.wide[1];
    for (unsigned l = 0; l < lanes; l += WIDE)
      wrong |= ((*(const wide_row *)(a + l) - first) ^ *(const wide_row *)(behind + l)) & *(const wide_row *)(on + l);
  }
  return !any(&wrong);
}
CLONES static void remember(struct mx_access_pattern *last, const void *p, bool narrow, uint64_t first, uint64_t m,
                            unsigned lanes) {
  if (narrow) {
    const uint32_t *a = p;
    uint32_t *behind = last->lanes.narrow[0], *on = last->lanes.narrow[1];
    const narrow_row bit = {1, 2, 4, 8, 16, 32, 64, 128};
    for (unsigned l = 0; l < lanes; l += NARROW) {
      *(narrow_row *)(behind + l) = *(const narrow_row *)(a + l) - (uint32_t)first;
      *(narrow_row *)(on + l) = (narrow_row)(((uint32_t)(m >> l) & bit) != 0);
    }
  } else {
    const uint64_t *a = p;
    uint64_t *behind = last->lanes.wide[0], *on = last->lanes.wide[1];
    const wide_row bit = {1, 2, 4, 8};
    for (unsigned l = 0; l < lanes; l += WIDE) {
      *(wide_row *)(behind + l) = *(const wide_row *)(a + l) - first;
      *(wide_row *)(on + l) = (wide_row)(((m >> l) & bit) != 0);
    }
  }
}

/* ---- an access ----------------------------------------------------------------------------------------------------*/
static unsigned space_at(uint64_t generic) {
  switch (generic >> MX_WINDOW_SHIFT) {
  case MX_WINDOW_SHARED: return MX_SHARED;
  case MX_WINDOW_LOCAL: return MX_LOCAL;
  case MX_WINDOW_PARAM: return MX_PARAM;
  default: return MX_GLOBAL;
  }
}
/* The addresses of an access: evenly spaced, or listed by lane. */
struct addresses {
  bool is_even;
  struct even even;
  uint64_t address[MX_MAX_LANES];
  uint8_t lane[MX_MAX_LANES];
  unsigned n;
};
static void collect(const struct mx_insn *i, const struct mx_fact *f, uint64_t m, const void *p, bool one,
                    struct addresses *a) {
  a->n = 0;
  MX_FOR_LANES (l, m) {
    const uint64_t number = number_at(p, f->narrow, one ? 0 : (unsigned)l) + (uint64_t)i->off;
    a->address[a->n] = f->narrow ? (uint32_t)number : number;
    a->lane[a->n++] = (uint8_t)l;
  }
}
/* Local memory is counted as devices interleave it: the lanes' copies of one piece lie side by side. The machine has it
 * lane after lane, so addresses are converted. */
static void move_to_local(struct addresses *a, uint64_t m, uint32_t lanes, unsigned bytes) {
  struct even *e = &a->even;
  const bool in_row = m >> e->lane == (e->n == 64 ? UINT64_MAX : (1ull << e->n) - 1);
  a->is_even &= in_row;
  e->first = e->first * lanes + e->lane * (uint64_t)bytes;
  e->distance = e->distance * (int64_t)lanes + (int64_t)bytes;
  for (unsigned k = 0; k < a->n; k++) a->address[k] = a->address[k] * lanes + a->lane[k] * (uint64_t)bytes;
}
static void find_addresses(const struct mx_exec *x, const struct mx_insn *i, const struct mx_fact *f, uint64_t m,
                           const void *p, bool one, unsigned space, struct addresses *a) {
  a->is_even = find_even(i, f, m, p, one, &a->even);
  a->n = 0;
  if (!a->is_even || space == MX_SHARED || space == MX_LOCAL) collect(i, f, m, p, one, a);
  if (space == MX_LOCAL) move_to_local(a, m, x->lanes, f->bytes);
}
static struct mx_places places_of(const struct addresses *a, unsigned bytes) {
  return a->is_even ? even_places(&a->even, bytes) : mx__places(a->address, a->n, bytes);
}
static uint32_t passes_of(const struct addresses *a, unsigned bytes, unsigned banks, uint32_t *least) {
  uint32_t passes;
  return a->is_even && even_passes(&a->even, bytes, banks, &passes, least)
             ? passes
             : mx__bank_passes(a->address, a->lane, a->n, bytes, banks, least);
}

void mx__profile_access(const struct mx_exec *x, const struct mx_insn *i, const struct mx_fact *f, uint64_t m,
                        const void *p, bool one, struct mx_access_pattern *last, struct mx_count *c) {
  if (!m) return;
  const unsigned bytes = f->bytes, n = (unsigned)__builtin_popcountll(m);
  const uint64_t number = number_at(p, f->narrow, one ? 0 : (unsigned)__builtin_ctzll(m)),
                 first = f->narrow ? (uint32_t)(number + (uint64_t)i->off) : number + (uint64_t)i->off;
  unsigned space = mx__space_of(f, i->mod);
  if (space == MX_GENERIC) space = space_at(first);
  if (space == MX_PARAM) return;
  const bool shared = space == MX_SHARED;
  uint8_t *sectors = &last->sectors[(space == MX_LOCAL ? first * x->lanes : first) % MX_SECTOR];
  const bool like = last->mask == m && last->space == space && last->one == one && first % 4 == last->first % 4 &&
                    (one || is_like(last, p, f->narrow, number, x->lanes));
  if (!like || (!*sectors && !shared)) {
    struct addresses a;
    find_addresses(x, i, f, m, p, one, space, &a);
    if (!like) {
      memset(last->sectors, 0, sizeof last->sectors);
      if (!one) remember(last, p, f->narrow, number, m, x->lanes);
    }
    last->mask = m, last->space = (uint8_t)space, last->one = one, last->first = first;
    struct mx_places places = {0, 0};
    struct mx_word_banks w;
    const bool scattered = shared && !a.is_even && bytes == 4 && mx__word_banks(a.address, a.lane, a.n, &w);
    if (scattered) places.addresses = w.addresses;
    else if (!shared || f->kind == MX_ACCESS_ATOMIC) places = places_of(&a, bytes);
    last->addresses = (uint8_t)places.addresses;
    *sectors = (uint8_t)places.sectors;
    if (shared) {
      if (!scattered) {
        w.passes[0] = passes_of(&a, bytes, 32, &w.least[0]);
        w.passes[1] = passes_of(&a, bytes, 64, &w.least[1]);
      }
      last->least = (uint8_t)w.least[0];
      for (unsigned k = 0; k < 2; k++) last->conflicts[k] = (uint8_t)(w.passes[k] - w.least[k]);
    }
  }
  if (f->kind == MX_ACCESS_ATOMIC) c->atomics += n, c->same_address += n - last->addresses;
  if (shared) {
    c->passes_least += last->least;
    c->conflicts32 += last->conflicts[0];
    c->conflicts64 += last->conflicts[1];
    return;
  }
  c->bytes += (uint64_t)n * bytes;
  c->sectors += *sectors;
  c->sectors_least += ((uint64_t)last->addresses * bytes + MX_SECTOR - 1) / MX_SECTOR;
}

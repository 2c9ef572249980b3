/* Sectors and bank conflicts. Most accesses have ascending or equal addresses: that is tested first. Otherwise distinct
 * addresses and sectors are counted in a bit map, if they lie near one another, or in a hash set. */
#include "places.h"

#include <string.h>

/* A set of at most 128 numbers. */
enum { ROOM = 256 };
struct set {
  uint64_t key[ROOM];
  uint64_t used[ROOM / 64];
};
static bool add(struct set *s, uint64_t key) { /* true: it is new */
  unsigned at = (unsigned)((key * 0x9E3779B97F4A7C15u) >> 56);
  for (;; at = (at + 1) % ROOM) {
    if (!(s->used[at / 64] >> at % 64 & 1)) break;
    if (s->key[at] == key) return false;
  }
  s->used[at / 64] |= 1ull << at % 64;
  s->key[at] = key;
  return true;
}

/* Numbers that lie near one another are counted as bits of a map. The bits are counted by arithmetic, since no CPU
 * level may be assumed here. */
enum { MAP = 64 }; /* words of 64 bits */
static unsigned bits_of(uint64_t w) {
  w -= w >> 1 & 0x5555555555555555u;
  w = (w & 0x3333333333333333u) + (w >> 2 & 0x3333333333333333u);
  return (unsigned)(((w + (w >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}
/* Counts the different numbers in all the ranges from a[k] >> shift to (a[k] + span) >> shift, where all a[k] lie
 * between least and most. False: they are too far apart for the map. */
static bool count_near(const uint64_t *a, unsigned n, unsigned span, unsigned shift, uint64_t least, uint64_t most,
                       uint32_t *different) {
  uint64_t map[MAP];
  const uint64_t first = least >> shift, words = (((most + span) >> shift) - first) / 64 + 1;
  if (words > MAP) return false;
  memset(map, 0, words * sizeof *map);
  for (unsigned k = 0; k < n; k++)
    for (uint64_t at = (a[k] >> shift) - first; at <= ((a[k] + span) >> shift) - first; at++)
      map[at / 64] |= 1ull << at % 64;
  *different = 0;
  for (uint64_t w = 0; w < words; w++) *different += map[w] ? bits_of(map[w]) : 0;
  return true;
}

struct mx_places mx__places(const uint64_t *a, unsigned n, unsigned bytes) {
  struct mx_places p = {n ? 1 : 0, 0};
  if (!n) return p;
  const uint64_t span = bytes ? bytes - 1u : 0;
  uint64_t last = (a[0] + span) / MX_SECTOR;
  p.sectors = (uint32_t)(last - a[0] / MX_SECTOR + 1);
  unsigned k = 1;
  for (; k < n && a[k] >= a[k - 1]; k++) {
    p.addresses += a[k] != a[k - 1];
    const uint64_t first = a[k] / MX_SECTOR, end = (a[k] + span) / MX_SECTOR;
    if (end > last) p.sectors += (uint32_t)(end - (first > last ? first - 1 : last)), last = end;
  }
  if (k == n) return p;
  uint64_t least = a[0], most = a[0], odd = 0;
  for (k = 0; k < n; k++) {
    least = a[k] < least ? a[k] : least, most = a[k] > most ? a[k] : most;
    odd |= a[k];
  }
  /* addresses of elements, as a rule multiples of their size */
  const unsigned shift = bytes && !(bytes & (bytes - 1)) && !(odd & span) ? (unsigned)__builtin_ctz(bytes) : 0;
  const bool near = count_near(a, n, 0, shift, least, most, &p.addresses) &&
                    count_near(a, n, (unsigned)span, 5, least, most, &p.sectors);
  _Static_assert(MX_SECTOR == 1 << 5, "the shift of a sector's number");
  if (near) return p;
  struct set addresses, sectors;
  memset(addresses.used, 0, sizeof addresses.used);
  memset(sectors.used, 0, sizeof sectors.used);
  p = (struct mx_places){0, 0};
  for (k = 0; k < n; k++) {
    if (!add(&addresses, a[k])) continue;
    p.addresses++;
    for (uint64_t s = a[k] / MX_SECTOR; s <= (a[k] + span) / MX_SECTOR; s++) p.sectors += add(&sectors, s);
  }
  return p;
}

/* Whether all lanes have one address, or adjacent ones, and so no bank is asked for two words. */
static bool is_plain(const uint64_t *a, const uint8_t *lane, unsigned n, unsigned bytes) {
  uint64_t differ = 0, gaps = 0;
  for (unsigned k = 1; k < n; k++) {
    differ |= a[k] ^ a[0];
    gaps |= (a[k] - a[0]) ^ (uint64_t)(lane[k] - lane[0]) * bytes;
  }
  return !differ || (!gaps && a[0] % 4 == 0);
}

/* Whether no two lanes of the group [k, end) want different words of one bank. */
static bool is_free(const uint64_t *a, unsigned k, unsigned end, unsigned words, unsigned banks) {
  uint64_t used = 0, word[MX_MAX_LANES];
  for (; k < end; k++)
    for (unsigned w = 0; w < words; w++) {
      const uint64_t at = a[k] / 4 + w, bit = 1ull << at % banks;
      if (!(used & bit)) used |= bit, word[at % banks] = at;
      else if (word[at % banks] != at) return false;
    }
  return true;
}
/* The most different words that the group [k, end) wants of any one bank. */
static uint8_t most_wanted(const uint64_t *a, unsigned k, unsigned end, unsigned words, unsigned banks) {
  enum { NONE = 0xFF, MOST = MX_MAX_LANES };
  uint8_t last[MOST], wanted[MOST], before[MOST], used = 0, most = 1; /* by bank; by word: the one before it there */
  uint64_t word[MOST];
  memset(last, NONE, banks);
  memset(wanted, 0, banks);
  for (; k < end; k++)
    for (unsigned w = 0; w < words; w++) {
      const uint64_t at = a[k] / 4 + w;
      const unsigned bank = (unsigned)(at % banks);
      uint8_t same = last[bank];
      while (same != NONE && word[same] != at) same = before[same];
      if (same != NONE) continue;
      word[used] = at, before[used] = last[bank], last[bank] = used++;
      if (++wanted[bank] > most) most = wanted[bank];
    }
  return most;
}

uint32_t mx__bank_passes(const uint64_t *a, const uint8_t *lane, unsigned n, unsigned bytes, unsigned banks,
                         uint32_t *least) {
  const unsigned words = bytes < 4 ? 1 : bytes / 4, group = banks / words ? banks / words : 1;
  const bool plain = is_plain(a, lane, n, bytes);
  uint32_t passes = 0;
  *least = 0;
  for (unsigned k = 0, end; k < n; k = end) {
    for (end = k; end < n && lane[end] / group == lane[k] / group;) end++;
    passes += plain || is_free(a, k, end, words, banks) ? 1 : most_wanted(a, k, end, words, banks);
    ++*least;
  }
  return passes;
}

bool mx__word_banks(const uint64_t *a, const uint8_t *lane, unsigned n, struct mx_word_banks *w) {
  enum { HALF = MX_MAX_LANES / 2, WORDS = 4 * MAP };
  uint64_t least = a[0], most = a[0], odd = 0, map[2][WORDS];    /* by half of the warp: the words that are wanted */
  uint8_t in_half[2][HALF] = {{0}}, in_warp[MX_MAX_LANES] = {0}; /* by bank: how many */
  uint32_t wanted[2] = {0};
  for (unsigned k = 0; k < n; k++) {
    least = a[k] < least ? a[k] : least, most = a[k] > most ? a[k] : most;
    odd |= a[k];
  }
  const uint64_t first = least / 4, size = (most / 4 - first) / 64 + 1;
  if (odd % 4 || size > WORDS) return false;
  for (unsigned k = 0; k < 2; k++) memset(map[k], 0, size * sizeof *map[k]);
  *w = (struct mx_word_banks){.least[1] = 1};
  for (unsigned k = 0; k < n; k++) {
    const uint64_t word = a[k] / 4, at = (word - first) / 64, bit = 1ull << (word - first) % 64;
    const unsigned half = lane[k] / HALF, is_new = !(map[half][at] & bit),
                   new_in_warp = !((map[0][at] | map[1][at]) & bit);
    map[half][at] |= bit;
    const uint8_t by_half = in_half[half][word % HALF] += (uint8_t)is_new,
                  by_warp = in_warp[word % MX_MAX_LANES] += (uint8_t)new_in_warp;
    if (by_half > wanted[half]) wanted[half] = by_half;
    if (by_warp > w->passes[1]) w->passes[1] = by_warp;
    w->addresses += new_in_warp;
  }
  w->passes[0] = wanted[0] + wanted[1];
  w->least[0] = (wanted[0] != 0) + (wanted[1] != 0);
  return true;
}

/* Sectors and conflicts of banks. Addresses of one access mostly ascend or are all the same: that is looked at first.
 */
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

/* Lanes that want one place, or places beside one another, want no two words of a bank. */
static bool is_plain(const uint64_t *a, const uint8_t *lane, unsigned n, unsigned bytes) {
  uint64_t apart = 0, bent = 0;
  for (unsigned k = 1; k < n; k++) {
    apart |= a[k] ^ a[0];
    bent |= (a[k] - a[0]) ^ (uint64_t)(lane[k] - lane[0]) * bytes;
  }
  return !apart || (!bent && a[0] % 4 == 0);
}

uint32_t mx__bank_passes(const uint64_t *a, const uint8_t *lane, unsigned n, unsigned bytes, unsigned banks,
                         uint32_t *least) {
  enum { NONE = 0xFF, MOST = MX_MAX_LANES };
  const unsigned words = bytes < 4 ? 1 : bytes / 4, group = banks / words ? banks / words : 1;
  const bool plain = is_plain(a, lane, n, bytes);
  uint32_t passes = 0;
  *least = 0;
  for (unsigned k = 0; k < n;) {
    const unsigned of = lane[k] / group;
    uint8_t last[MOST], wanted[MOST], before[MOST], used = 0, most = 1; /* by bank; by word: the one before it there */
    uint64_t word[MOST];
    memset(last, NONE, banks);
    memset(wanted, 0, banks);
    for (; k < n && lane[k] / group == of; k++)
      for (unsigned w = 0; w < words && !plain; w++) {
        const uint64_t at = a[k] / 4 + w;
        const unsigned bank = (unsigned)(at % banks);
        uint8_t same = last[bank];
        while (same != NONE && word[same] != at) same = before[same];
        if (same != NONE) continue;
        word[used] = at, before[used] = last[bank], last[bank] = used++;
        if (++wanted[bank] > most) most = wanted[bank];
      }
    passes += most;
    ++*least;
  }
  return passes;
}

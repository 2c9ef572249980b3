/* Device malloc; see heap.h. Granules of 16 bytes; a piece is a run of them, free or live. Per granule: `run` holds the
 * length at both ends of a piece, `next` and `prev` link free pieces of a size class from their first granule. `starts`
 * has a bit for the first granule of each live piece, so that a look-up walks back over words, not granules. */
#include "heap.h"

#include "lock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRANULE 16u
#define CLASSES 33u
#define NONE UINT32_MAX

struct mx_heap {
  struct mx_lock lock;
  uint64_t start; /* generic address of granule 0 */
  uint32_t granules;
  uint64_t live;
  void *tables;
  size_t tables_bytes;
  uint32_t *run, *next, *prev;
  uint64_t *bytes_of; /* asked for, by first granule; 0: not live */
  uint64_t *starts;
  uint32_t classes[CLASSES];
};

static unsigned class_of(uint32_t run) { return 31u - (unsigned)__builtin_clz(run); }

static void link_free(struct mx_heap *h, uint32_t g, uint32_t run) {
  unsigned c = class_of(run);
  h->run[g] = h->run[g + run - 1] = run;
  h->next[g] = h->classes[c];
  h->prev[g] = NONE;
  if (h->classes[c] != NONE) h->prev[h->classes[c]] = g;
  h->classes[c] = g;
}

static void unlink_free(struct mx_heap *h, uint32_t g) {
  if (h->prev[g] != NONE) h->next[h->prev[g]] = h->next[g];
  else h->classes[class_of(h->run[g])] = h->next[g];
  if (h->next[g] != NONE) h->prev[h->next[g]] = h->prev[g];
}

mx_status mx__heap_new(struct mx_memory *m, uint64_t bytes, struct mx_heap **heap) {
  *heap = NULL;
  mx_status s = mx__memory_heap_range(m, bytes);
  if (s != MX_OK) return s;
  struct mx_heap *h = calloc(1, sizeof *h);
  if (!h) return MX_OUT_OF_MEMORY;
  uint32_t n = (uint32_t)(bytes / GRANULE);
  /* mapped, not calloc'ed: untouched parts of large tables must cost nothing */
  h->tables_bytes = (size_t)n * (3 * sizeof(uint32_t) + sizeof(uint64_t)) + ((size_t)n / 64 + 1) * sizeof(uint64_t);
  h->tables = mmap(NULL, h->tables_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (h->tables == MAP_FAILED) {
    free(h);
    return MX_OUT_OF_MEMORY;
  }
  mx__lock_init(&h->lock, MX_LOCK_HEAP);
  h->start = m->heap.start;
  h->granules = n;
  h->bytes_of = h->tables;
  h->starts = h->bytes_of + n;
  h->run = (uint32_t *)(h->starts + n / 64 + 1);
  h->next = h->run + n;
  h->prev = h->next + n;
  for (unsigned c = 0; c < CLASSES; c++) h->classes[c] = NONE;
  if (n) link_free(h, 0, n);
  *heap = h;
  return MX_OK;
}

void mx__heap_free(struct mx_heap *h) {
  if (!h) return;
  munmap(h->tables, h->tables_bytes);
  mx__lock_done(&h->lock);
  free(h);
}

uint64_t mx__heap_size(const struct mx_heap *h) { return (uint64_t)h->granules * GRANULE; }

bool mx__heap_in_use(struct mx_heap *h) {
  mx__lock(&h->lock);
  bool used = h->live != 0;
  mx__unlock(&h->lock);
  return used;
}

/* A free piece of at least `need` granules: the first that fits of its own class, else any of a larger class. */
static uint32_t find_free(const struct mx_heap *h, uint32_t need) {
  unsigned c = class_of(need);
  for (uint32_t g = h->classes[c]; g != NONE; g = h->next[g])
    if (h->run[g] >= need) return g;
  while (++c < 32)
    if (h->classes[c] != NONE) return h->classes[c];
  return NONE;
}

uint64_t mx__heap_alloc(struct mx_heap *h, uint64_t bytes, uint64_t align) {
  const uint64_t all = (uint64_t)h->granules * GRANULE;
  if (!bytes || bytes > all || !align || align & (align - 1) || align > all) return 0;
  /* one byte more at least: the end of a piece is never the start of the next */
  uint32_t need = (uint32_t)(bytes / GRANULE + 1), step = align > GRANULE ? (uint32_t)(align / GRANULE) : 1;
  uint64_t address = 0;
  mx__lock(&h->lock);
  uint32_t g = find_free(h, need + step - 1);
  if (g != NONE) {
    uint32_t run = h->run[g];
    unlink_free(h, g);
    uint32_t before = (uint32_t)(-(h->start / GRANULE + g) & (step - 1)); /* granules up to the next multiple */
    if (before) link_free(h, g, before);
    g += before;
    run -= before;
    if (run > need) link_free(h, g + need, run - need);
    h->run[g] = h->run[g + need - 1] = need;
    h->bytes_of[g] = bytes;
    h->starts[g / 64] |= 1ull << g % 64;
    h->live += bytes;
    address = h->start + (uint64_t)g * GRANULE;
  }
  mx__unlock(&h->lock);
  return address;
}

/* First granule of the live piece around an address; NONE. */
static uint32_t piece_at(const struct mx_heap *h, uint64_t address) {
  uint64_t off = address - h->start;
  if (off >= (uint64_t)h->granules * GRANULE) return NONE;
  uint32_t g = (uint32_t)(off / GRANULE), w = g / 64;
  uint64_t bits = h->starts[w] & (~0ull >> (63 - g % 64));
  while (!bits && w) bits = h->starts[--w];
  if (!bits) return NONE;
  uint32_t first = w * 64 + 63 - (uint32_t)__builtin_clzll(bits);
  return off - (uint64_t)first * GRANULE < h->bytes_of[first] ? first : NONE;
}

bool mx__heap_release(struct mx_heap *h, uint64_t address) {
  if (!address) return true;
  mx__lock(&h->lock);
  uint32_t g = piece_at(h, address);
  bool good = g != NONE && h->start + (uint64_t)g * GRANULE == address;
  if (good) {
    uint32_t run = h->run[g];
    h->live -= h->bytes_of[g];
    h->bytes_of[g] = 0;
    h->starts[g / 64] &= ~(1ull << g % 64);
    /* neighbours: a live one's first granule has its bit, and bytes_of is 0 for free ones */
    uint32_t after = g + run;
    if (after < h->granules && !(h->starts[after / 64] >> after % 64 & 1)) {
      unlink_free(h, after);
      run += h->run[after];
    }
    if (g) {
      uint32_t before = g - h->run[g - 1];
      if (!(h->starts[before / 64] >> before % 64 & 1)) {
        unlink_free(h, before);
        run += g - before;
        g = before;
      }
    }
    link_free(h, g, run);
  }
  mx__unlock(&h->lock);
  return good;
}

bool mx__heap_find(struct mx_heap *h, uint64_t address, uint64_t *lo, uint64_t *bytes) {
  mx__lock(&h->lock);
  uint32_t g = piece_at(h, address);
  if (g != NONE) {
    *lo = h->start + (uint64_t)g * GRANULE;
    *bytes = h->bytes_of[g];
  }
  mx__unlock(&h->lock);
  return g != NONE;
}

void mx__heap_parts(struct mx_heap *h, unsigned char *part[2], size_t bytes[2]) {
  part[0] = (unsigned char *)h, bytes[0] = sizeof *h;
  part[1] = h->tables, bytes[1] = h->tables_bytes;
}

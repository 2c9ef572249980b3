/* Reserving, allocating, freeing and finding device memory; see memory.h. */
#include "memory.h"

#include "core/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ull /* granularity of our own bookkeeping; host pages may be larger: see page_size */
#define COMMIT_STEP (16ull << 20)
#define DEFAULT_BYTES (64ull << 30)
#define LEAST_BYTES (64ull << 20)
#define MOST_BYTES (MX_HEAP_START - MX_GLOBAL_START)
#define LARGE_PAGE (2ull << 20)

static uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) & ~(to - 1); }

static uint64_t page_size(void) {
  long p = sysconf(_SC_PAGESIZE);
  return p > 0 ? (uint64_t)p : PAGE;
}

/* ---- regions --------------------------------------------------------------------------------------------*/

/* at: where, if nothing lies there; 0: anywhere. */
static void *reserve(uint64_t at, uint64_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *p = at ? mmap((void *)(uintptr_t)at, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0) : MAP_FAILED;
  if (at && p != MAP_FAILED && (uintptr_t)p != at) { /* a kernel that does not know the flag */
    munmap(p, bytes);
    p = MAP_FAILED;
  }
  if (p == MAP_FAILED) p = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* PROT_NONE costs neither memory nor the kernel's commit limit, so a generous range is free. A host that limits address
 * space still refuses it; then half as much is tried, down to `least`. Where there is a choice, a quarter as much again
 * stays free, for threads and all else. Where nothing else lies there, the memory lies at its device addresses: then
 * managed memory has one address on both sides, which programs count on that keep pointers in it (cxx/runtime). Among
 * the devices of a process only one can have this, and the devices beside it, whose ranges mx__memory_place chooses. */
static mx_status region_reserve(struct mx_region *r, uint64_t start, uint64_t bytes, uint64_t least) {
  const uint64_t at = start == MX_GLOBAL_START ? start : 0;
  r->start = start;
  for (bytes = round_up(bytes, page_size()); bytes >= least && bytes; bytes = round_up(bytes / 2, page_size())) {
    void *p = reserve(at, bytes);
    if (!p) continue;
    const uint64_t spare = bytes / 4 > LEAST_BYTES ? round_up(bytes / 4, page_size()) : LEAST_BYTES;
    void *more = bytes / 2 >= least ? reserve(0, spare) : p;
    if (more && more != p) munmap(more, spare);
    if (more) {
      r->map = p;
      r->capacity = bytes;
      return MX_OK;
    }
    munmap(p, bytes);
  }
  return MX_HOST_FAILURE;
}

void mx__memory_place(struct mx_region *r, uint64_t start) {
  if (r->start == start) return;
  r->start = start;
  uint8_t *p = reserve(start, r->capacity);
  if (!p) return; /* it stays where it lies */
  munmap(r->map, r->capacity);
  r->map = p;
}

static struct mx_alloc_table *table_of(const struct mx_region *r) {
  return atomic_load_explicit(&r->table, memory_order_acquire);
}

/* Asks for large pages where an allocation fills them: fewer faults, and lanes that read far apart miss fewer
 * translations. */
static void prefer_large_pages(const struct mx_region *r, uint64_t at, uint64_t bytes) {
  const uintptr_t lo = round_up((uintptr_t)r->map + at, LARGE_PAGE),
                  hi = ((uintptr_t)r->map + at + bytes) & ~(uintptr_t)(LARGE_PAGE - 1);
  if (lo < hi) madvise((void *)lo, hi - lo, MADV_HUGEPAGE);
}

static void region_forget(struct mx_region *r) {
  struct mx_alloc_table *t = table_of(r);
  size_t n = atomic_load(&r->count);
  for (size_t i = 0; i < n; i++) free(t->at[i].name);
  while (t) {
    struct mx_alloc_table *older = t->older;
    free(t);
    t = older;
  }
  atomic_store(&r->table, NULL);
  atomic_store(&r->count, 0);
  r->top = r->in_use = 0;
}

static void region_done(struct mx_region *r) {
  region_forget(r);
  if (r->map) munmap(r->map, r->capacity);
  r->map = NULL;
}

/* Mapping anew gives the pages back and makes them zero and inaccessible in one step. */
static mx_status region_reset(struct mx_region *r) {
  region_forget(r);
  if (!r->committed) return MX_OK;
  void *p = mmap(r->map, r->committed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (p == MAP_FAILED) return MX_HOST_FAILURE;
  r->committed = 0;
  return MX_OK;
}

static mx_status region_commit(struct mx_region *r, uint64_t top) {
  if (top <= r->committed) return MX_OK;
  uint64_t want = round_up(top, COMMIT_STEP);
  if (want > r->capacity) want = r->capacity;
  if (mprotect(r->map + r->committed, want - r->committed, PROT_READ | PROT_WRITE)) return MX_OUT_OF_MEMORY;
  r->committed = want;
  return MX_OK;
}

mx_status mx__memory_init(struct mx_memory *m, uint64_t memory_bytes) {
  memset(m, 0, sizeof *m);
  uint64_t bytes = memory_bytes, least = memory_bytes;
  if (!bytes) {
    long pages = sysconf(_SC_PHYS_PAGES);
    bytes = DEFAULT_BYTES;
    if (pages > 0 && (uint64_t)pages < bytes / page_size()) bytes = (uint64_t)pages * page_size();
    least = LEAST_BYTES;
  }
  if (bytes > MOST_BYTES) return MX_INVALID_VALUE;
  m->next_number = 1;
  m->global.device_writable = true;
  m->heap.device_writable = true;
  m->heap.start = MX_HEAP_START;
  mx_status s = region_reserve(&m->constant, MX_CONST_START, MX_CONST_BYTES, MX_CONST_BYTES);
  if (s == MX_OK) s = region_reserve(&m->global, MX_GLOBAL_START, bytes, least);
  if (s != MX_OK) mx__memory_done(m);
  return s;
}

void mx__memory_done(struct mx_memory *m) {
  region_done(&m->global);
  region_done(&m->constant);
  region_done(&m->heap);
}

mx_status mx__memory_heap_range(struct mx_memory *m, uint64_t bytes) {
  struct mx_region *r = &m->heap;
  bytes = round_up(bytes, page_size());
  mx_status s = MX_OK;
  if (r->map && r->capacity >= bytes) {
    s = region_reset(r);
  } else {
    region_done(r);
    r->committed = r->capacity = 0;
    if (bytes) s = region_reserve(r, MX_HEAP_START, bytes, bytes);
  }
  return s == MX_OK && bytes ? region_commit(r, bytes) : s;
}

mx_status mx__memory_reset(struct mx_memory *m) {
  mx_status a = region_reset(&m->global), b = region_reset(&m->constant), c = region_reset(&m->heap);
  m->next_number = 1;
  return a != MX_OK ? a : b != MX_OK ? b : c;
}

/* ---- records --------------------------------------------------------------------------------------------*/

/* Makes room for one more record at the end. The old table stays: a lookup may be reading it (invariant 1). */
static bool table_reserve(struct mx_region *r) {
  struct mx_alloc_table *t = table_of(r);
  size_t n = atomic_load(&r->count), capacity = t ? t->capacity : 0;
  if (n < capacity) return true;
  size_t want = capacity ? capacity * 2 : 32;
  struct mx_alloc_table *bigger = malloc(sizeof *bigger + want * sizeof bigger->at[0]);
  if (!bigger) return false;
  bigger->older = t;
  bigger->capacity = want;
  if (n) memcpy(bigger->at, t->at, n * sizeof t->at[0]);
  atomic_store_explicit(&r->table, bigger, memory_order_release);
  return true;
}

/* Records at or below an address; the last of them is the only one that can hold it. count is read before the table:
 * every later table holds at least the records counted then. */
static size_t records_upto(const struct mx_region *r, uint64_t address, const struct mx_alloc **at) {
  size_t lo = 0, hi = atomic_load_explicit(&r->count, memory_order_acquire);
  const struct mx_alloc_table *t = table_of(r);
  *at = t ? t->at : NULL;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (t->at[mid].lo <= address) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static struct mx_region *region_of(struct mx_memory *m, uint64_t address) {
  struct mx_region *r = address >> MX_WINDOW_SHIFT == MX_WINDOW_CONST    ? &m->constant
                        : address >> MX_WINDOW_SHIFT != MX_WINDOW_GLOBAL ? NULL
                        : address >= MX_HEAP_START                       ? &m->heap
                                                                         : &m->global;
  return r;
}

const struct mx_alloc *mx__memory_record(struct mx_memory *m, uint64_t address, struct mx_region **region) {
  struct mx_region *r = region_of(m, address);
  const struct mx_alloc *at;
  if (!r) return NULL;
  size_t n = records_upto(r, address, &at);
  if (!n) return NULL;
  const struct mx_alloc *a = &at[n - 1];
  if (a->flags & MX_ALLOC_FREED || address - a->lo >= a->size) return NULL;
  if (region) *region = r;
  return a;
}

void *mx__memory_host(struct mx_memory *m, uint64_t address, uint64_t bytes) {
  struct mx_region *r;
  const struct mx_alloc *a = mx__memory_record(m, address, &r);
  if (!a || a->size - (address - a->lo) < bytes) return NULL;
  return r->map + (address - r->start);
}

/* ---- allocating and freeing -----------------------------------------------------------------------------*/

/* Whole pages go back to the system, which hands out zero pages; the edges are cleared by hand. */
static void clear(uint8_t *p, uint64_t bytes) {
  uint64_t page = page_size();
  uint8_t *lo = (uint8_t *)(uintptr_t)round_up((uintptr_t)p, page);
  uint8_t *hi = (uint8_t *)((uintptr_t)(p + bytes) & ~(uintptr_t)(page - 1));
  if (lo >= hi || madvise(lo, (size_t)(hi - lo), MADV_DONTNEED)) {
    memset(p, 0, bytes);
    return;
  }
  memset(p, 0, (size_t)(lo - p));
  memset(hi, 0, (size_t)(p + bytes - hi));
}

/* Opens a cell before record i; exclusive. NULL: out of memory. */
static struct mx_alloc *insert(struct mx_region *r, size_t i) {
  if (!table_reserve(r)) return NULL;
  struct mx_alloc *at = table_of(r)->at;
  size_t n = atomic_load(&r->count);
  memmove(&at[i + 1], &at[i], (n - i) * sizeof *at);
  atomic_store(&r->count, n + 1);
  return &at[i];
}

/* Merges neighbouring freed records into one, so that traps can no longer tell them apart; exclusive. */
static void coalesce(struct mx_region *r) {
  struct mx_alloc *at = table_of(r)->at;
  size_t n = atomic_load(&r->count), kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (kept && at[i].flags & at[kept - 1].flags & MX_ALLOC_FREED) {
      struct mx_alloc *a = &at[kept - 1];
      free(a->name);
      free(at[i].name);
      a->name = NULL;
      a->number = 0;
      a->size = a->room = a->room + at[i].room;
    } else {
      at[kept++] = at[i];
    }
  }
  atomic_store(&r->count, kept);
}

/* A cell for an allocation in freed memory, lowest address first; exclusive. *oom tells lack of host memory from lack
 * of space. */
static struct mx_alloc *reuse(struct mx_region *r, uint64_t room, uint64_t align, bool *oom) {
  *oom = false;
  if (!atomic_load(&r->count)) return NULL;
  coalesce(r);
  for (size_t i = 0; i < atomic_load(&r->count); i++) {
    const struct mx_alloc *f = &table_of(r)->at[i];
    uint64_t lo = f->lo, have = f->room, shift = round_up(lo, align) - lo;
    if (!(f->flags & MX_ALLOC_FREED) || have < room || have - room < shift) continue;
    struct mx_alloc *a;
    *oom = true;
    if (shift) {
      if (!insert(r, i)) return NULL;
      a = &table_of(r)->at[i++];
      a->size = a->room = shift;
    }
    if (have - shift - room) {
      if (!insert(r, i + 1)) return NULL;
      a = &table_of(r)->at[i + 1];
      *a = (struct mx_alloc){
          .lo = lo + shift + room, .size = have - shift - room, .room = have - shift - room, .flags = MX_ALLOC_FREED};
    }
    *oom = false;
    a = &table_of(r)->at[i];
    free(a->name);
    *a = (struct mx_alloc){.lo = lo + shift, .room = room};
    return a;
  }
  return NULL;
}

mx_status mx__memory_alloc(struct mx_memory *m, struct mx_region *r, uint64_t bytes, uint64_t align, uint32_t flags,
                           const char *name, bool exclusive, uint64_t *address) {
  if (!r->map || bytes > r->capacity) return MX_OUT_OF_DEVICE_MEMORY;
  if (align < MX_ALLOC_ALIGN) align = MX_ALLOC_ALIGN;
  /* allocations of no bytes have an address of their own, which nothing may touch */
  uint64_t room = round_up(bytes + MX_ALLOC_GUARD, MX_ALLOC_ALIGN);
  uint64_t at = round_up(r->start + r->top, align) - r->start;
  bool fresh = at <= r->capacity && r->capacity - at >= room;
  if (!fresh && !exclusive) return MX_BUSY;
  char *copy = NULL;
  if (name && !(copy = strdup(name))) return MX_OUT_OF_MEMORY;
  struct mx_alloc a = {.size = bytes, .flags = flags, .name = copy};
  if (fresh) {
    mx_status s = table_reserve(r) ? region_commit(r, at + room) : MX_OUT_OF_MEMORY;
    if (s != MX_OK) {
      free(copy);
      return s;
    }
    a.lo = r->start + at;
    a.room = room;
    prefer_large_pages(r, at, bytes);
    if (!(flags & (MX_ALLOC_VARIABLE | MX_ALLOC_INTERNAL))) a.number = m->next_number++;
    size_t n = atomic_load(&r->count);
    table_of(r)->at[n] = a;
    r->top = at + room;
    atomic_store_explicit(&r->count, n + 1, memory_order_release);
  } else {
    bool oom;
    struct mx_alloc *cell = reuse(r, room, align, &oom);
    if (!cell) {
      free(copy);
      return oom ? MX_OUT_OF_MEMORY : MX_OUT_OF_DEVICE_MEMORY;
    }
    a.lo = cell->lo;
    a.room = cell->room;
    if (!(flags & (MX_ALLOC_VARIABLE | MX_ALLOC_INTERNAL))) a.number = m->next_number++;
    *cell = a;
  }
  r->in_use += bytes;
  *address = a.lo;
  return MX_OK;
}

mx_status mx__memory_skip(struct mx_memory *m, uint64_t address) {
  struct mx_region *r = &m->global;
  if (address < r->start + r->top || address - r->start > r->capacity) return MX_INVALID_ADDRESS;
  r->top = address - r->start;
  return MX_OK;
}

const struct mx_alloc *mx__memory_next(struct mx_memory *m, uint64_t address) {
  const struct mx_region *regions[] = {&m->global, &m->constant};
  for (unsigned k = 0; k < 2; k++) {
    const struct mx_alloc *at;
    const size_t count = atomic_load(&regions[k]->count);
    size_t n = records_upto(regions[k], address, &at);
    for (n -= n > 0; n < count; n++)
      if (!(at[n].flags & MX_ALLOC_FREED) && at[n].lo + at[n].size > address) return &at[n];
  }
  return NULL;
}

mx_status mx__memory_free(struct mx_memory *m, uint64_t address) {
  struct mx_region *r = region_of(m, address);
  const struct mx_alloc *at;
  size_t n = r ? records_upto(r, address, &at) : 0;
  if (!n) return MX_INVALID_ADDRESS;
  struct mx_alloc *a = &table_of(r)->at[n - 1];
  if (a->lo != address || a->flags & MX_ALLOC_FREED) return MX_INVALID_ADDRESS;
  clear(r->map + (a->lo - r->start), a->size);
  a->flags |= MX_ALLOC_FREED;
  r->in_use -= a->size;
  return MX_OK;
}

mx_status mx__memory_name(struct mx_memory *m, uint64_t address, const char *name) {
  struct mx_alloc *a = (struct mx_alloc *)(uintptr_t)mx__memory_record(m, address, NULL);
  if (!a) return MX_INVALID_ADDRESS;
  char *copy = name ? strdup(name) : NULL;
  if (name && !copy) return MX_OUT_OF_MEMORY;
  free(a->name);
  a->name = copy;
  return MX_OK;
}

/* ---- for traps ------------------------------------------------------------------------------------------*/

static char *record_text(const struct mx_alloc *a) {
  const char *freed = a->flags & MX_ALLOC_FREED ? "freed " : "";
  const char *s = a->size == 1 ? "" : "s";
  unsigned long long bytes = a->size, lo = a->lo, number = a->number;
  if (a->flags & MX_ALLOC_TEXELS)
    return mx__format("%sarray of texels (%llu byte%s at 0x%llx), which only textures and surfaces reach", freed, bytes,
                      s, lo);
  if (a->flags & MX_ALLOC_VARIABLE)
    return mx__format("%svariable '%s' (%llu byte%s at 0x%llx)", freed, a->name ? a->name : "?", bytes, s, lo);
  if (!number) return mx__format("%smemory (%llu byte%s at 0x%llx)", freed, bytes, s, lo);
  if (a->name) return mx__format("%sbuffer #%llu '%s' (%llu byte%s at 0x%llx)", freed, number, a->name, bytes, s, lo);
  return mx__format("%sbuffer #%llu (%llu byte%s at 0x%llx)", freed, number, bytes, s, lo);
}

char *mx__memory_nearest(struct mx_memory *m, uint64_t address, uint64_t bytes, uint64_t *base) {
  *base = 0;
  if (address < 0x10000)
    return address ? mx__format("null pointer plus %llu", (unsigned long long)address) : mx__format("null pointer");
  struct mx_region *r = region_of(m, address);
  if (!r) {
    static const char *const windows[] = {[MX_WINDOW_SHARED] = "an address of shared memory",
                                          [MX_WINDOW_LOCAL] = "an address of local memory",
                                          [MX_WINDOW_PARAM] = "an address of parameters",
                                          [MX_WINDOW_FUNC] = "the address of a function"};
    const uint64_t window = address >> MX_WINDOW_SHIFT;
    const char *what = window < sizeof windows / sizeof *windows ? windows[window] : NULL;
    return mx__format("%s", what ? what : "an address in no memory window");
  }
  if (r == &m->heap) return mx__format("not in a live piece of the kernels' heap");
  const struct mx_alloc *at;
  size_t n = records_upto(r, address, &at), count = atomic_load(&r->count);
  const struct mx_alloc *below = n ? &at[n - 1] : NULL, *above = n < count ? &at[n] : NULL;
  if (!below && !above) return mx__format("nothing is allocated there");
  uint64_t past = below ? address - below->lo : 0;
  bool inside = below && past < below->size;
  /* outside of both: the nearer one, and the one below when as near, since loops run upwards */
  bool upper = !inside && above && (!below || above->lo - address < past - below->size);
  const struct mx_alloc *a = upper ? above : below;
  char *what = record_text(a), *text;
  if (!what) return NULL;
  *base = a->lo;
  if (inside && (a->flags & MX_ALLOC_FREED || a->size - past >= bytes))
    text = past ? mx__format("%llu byte%s into %s", (unsigned long long)past, past == 1 ? "" : "s", what)
                : mx__format("at the start of %s", what);
  else if (inside)
    text = mx__format("the last %llu of %llu bytes are past the end of %s",
                      (unsigned long long)(bytes - (a->size - past)), (unsigned long long)bytes, what);
  else if (upper)
    text = mx__format("%llu byte%s before the start of %s", (unsigned long long)(above->lo - address),
                      above->lo - address == 1 ? "" : "s", what);
  else if (past == a->size) text = mx__format("right past the end of %s", what);
  else
    text = mx__format("%llu byte%s past the end of %s", (unsigned long long)(past - a->size),
                      past - a->size == 1 ? "" : "s", what);
  free(what);
  return text;
}

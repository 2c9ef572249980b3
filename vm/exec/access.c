/* Memory accesses off the fast path: which allocation an address belongs to, and traps. See access.h. */
#include "access.h"

#include "vm/memory/heap.h"
#include "async.h"
#include "block.h"
#include "hooks.h"
#include "interp.h"
#include "launch.h"

#include <string.h>
#include <sys/mman.h>

/* Local memory of a block. Most kernels use none, and asking the system for it costs as much as a block. Zero pages:
 * what a lane does not write costs nothing, and it never sees the host's leftovers. calloc() clears them itself once
 * such memory has been freed: forty microseconds a launch. */
bool mx__block_map_local(struct mx_block *b) {
  const struct mx_launch *l = b->launch;
  const size_t of_warp = (size_t)l->local_bytes * l->lanes;
  void *local =
      mmap(NULL, of_warp * b->nwarps, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (local == MAP_FAILED) return false;
  b->local = local;
  b->local_bytes = of_warp * b->nwarps;
  for (uint32_t w = 0; w < b->nwarps; w++) b->warps[w].local = b->local + w * of_warp;
  return true;
}
bool mx__block_local(struct mx_exec *x) {
  if (x->block->local) return true;
  if (!mx__block_map_local(x->block)) return false;
  x->window[MX_LOCAL] = x->warp->local;
  atomic_store_explicit(&x->launch->uses_local, true, memory_order_relaxed);
  return true;
}

/* Windows that belong to the block or the warp: their bounds are the same everywhere in a launch. */
static void window_bounds(const struct mx_exec *x, unsigned kind, uint64_t base, struct mx_bounds *b) {
  const struct mx_launch *l = x->launch;
  uint64_t span = kind == MX_SHARED ? l->shared_bytes : kind == MX_LOCAL ? l->local_bytes : l->param_bytes;
  *b = (struct mx_bounds){.lo = base, .span = span, .off = 0, .kind = kind, .writable = kind != MX_PARAM};
}

/* Among the allocations of this device or of its peers. */
static const struct mx_alloc *find_record(const struct mx_launch *l, uint64_t address, struct mx_region **region) {
  const struct mx_alloc *a = mx__memory_record(l->memory, address, region);
  const bool shared = address >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL && address < MX_HEAP_START;
  for (uint32_t k = 0; !a && shared && k < l->nbeside; k++) {
    a = mx__memory_record(l->beside[k].memory, address, region);
    if (a && !l->beside[k].open && !(a->flags & MX_ALLOC_MANAGED)) return NULL;
  }
  return a;
}

bool mx__access_bounds(struct mx_exec *x, unsigned space, uint64_t addr, struct mx_bounds *b, bool *keep) {
  uint64_t base = 0;
  *keep = true;
  if (space == MX_GENERIC || space == MX_GLOBAL) {
    unsigned window = (unsigned)(addr >> MX_WINDOW_SHIFT);
    if (space == MX_GENERIC && (window == MX_WINDOW_SHARED || window == MX_WINDOW_LOCAL || window == MX_WINDOW_PARAM)) {
      base = MX_WINDOW(window);
      space = window == MX_WINDOW_SHARED ? MX_SHARED : window == MX_WINDOW_LOCAL ? MX_LOCAL : MX_PARAM;
    } else if (window == MX_WINDOW_CONST ? space == MX_GLOBAL : window != MX_WINDOW_GLOBAL) return false;
  }
  if (space == MX_SHARED || space == MX_LOCAL || space == MX_PARAM) {
    window_bounds(x, space, base, b);
    if (space == MX_SHARED && addr - base >= b->span && mx__cluster_bounds(x, addr, base, b))
      return *keep = false, true;
    return addr - base < b->span && (space != MX_LOCAL || mx__block_local(x));
  }
  /* offsets in the constant window become generic addresses for the lookup, and back */
  uint64_t shift = space == MX_CONST ? MX_WINDOW(MX_WINDOW_CONST) : 0;
  const struct mx_launch *l = x->launch;
  struct mx_region *region;
  const struct mx_alloc *a = find_record(l, addr + shift, &region);
  uint64_t lo, size;
  if (a && a->flags & MX_ALLOC_TEXELS) return false;
  if (a) lo = a->lo, size = a->size;
  else if (l->heap && mx__heap_find(l->heap, addr, &lo, &size)) region = &l->memory->heap, *keep = false;
  else return false;
  *b = (struct mx_bounds){.lo = lo - shift,
                          .span = size,
                          .off = (uint64_t)(uintptr_t)(region->map + (lo - region->start)),
                          .kind = region->device_writable ? MX_GLOBAL : MX_CONST,
                          .writable = region->device_writable};
  return true;
}

void mx__access_starts(const struct mx_exec *x, uint64_t span, uint64_t bytes, uint64_t *starts) {
  const uint64_t all = span / bytes;
  starts[0] = all;
  for (unsigned k = 0; k < MX_ROWS; k++) starts[1 + k] = all < x->lanes >> k ? 0 : all - (x->lanes >> k) + 1;
}
/* What an instruction's cache holds, and how compiled code uses it. */
static void keep_bounds(const struct mx_exec *x, const struct mx_insn *i, struct mx_bounds *cache,
                        const struct mx_bounds *b) {
  const struct mx_row_access ac = mx__row_access[i->op];
  *cache = *b;
  cache->host = (uint64_t)(uintptr_t)x->window[b->kind] + b->off - b->lo;
  cache->reads = b->kind == MX_LOCAL ? 0 : b->span;
  cache->writes = b->writable ? cache->reads : 0;
  if (ac.kind != MX_ACCESS_LOAD && ac.kind != MX_ACCESS_STORE) return;
  const uint64_t bytes = (uint64_t)mx__types[ac.type].bits / 8 * ac.elements;
  if (b->lo % bytes == 0)
    mx__access_starts(x, ac.kind == MX_ACCESS_LOAD ? cache->reads : cache->writes, bytes, cache->starts);
}

bool mx__access_keep(struct mx_exec *x, const struct mx_insn *i, uint64_t addr, unsigned space) {
  struct mx_bounds b;
  bool keep;
  if (!mx__access_bounds(x, space, addr, &b, &keep) || !keep) return false;
  keep_bounds(x, i, &x->bounds[i->index], &b);
  return true;
}

static bool inside(const struct mx_bounds *b, uint64_t addr, unsigned bytes) {
  return b->span >= bytes && addr - b->lo <= b->span - bytes;
}

static bool trap_access(struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, uint64_t lanes, uint64_t addr,
                        unsigned space, uint32_t bytes, bool write) {
  struct mx_trap t = {.kind = kind,
                      .func = x->fn->number,
                      .pc = i->pc,
                      .warp = x->warp->number,
                      .lanes = lanes,
                      .has_address = true,
                      .is_write = write,
                      .bytes = bytes};
  t.address = addr + mx_space_window(space);
  t.space = space == MX_GENERIC && t.address >> MX_WINDOW_SHIFT == MX_WINDOW_SHARED  ? MX_SHARED
            : space == MX_GENERIC && t.address >> MX_WINDOW_SHIFT == MX_WINDOW_LOCAL ? MX_LOCAL
                                                                                     : (uint8_t)space;
  t.offset = t.address - mx_space_window(t.space);
  t.local_base = x->frame->local_base;
  memcpy(t.block, x->block->ctaid, sizeof t.block);
  if (t.space == MX_SHARED && kind == MX_TRAP_OUT_OF_BOUNDS) t.detail = mx__cluster_wrong(x, t.offset);
  mx__trap_raise(x->launch, &t);
  mx__leave(x, i->pc, MX_EV_TRAP);
  return false;
}

static bool notify(struct mx_exec *x, const struct mx_insn *i, uint64_t m, const uint64_t *addr, uint64_t bytes,
                   unsigned space, bool write, unsigned char *const *host) {
  const struct mx_access a = {m, addr, mx_space_window(space), bytes, host, write};
  return x->launch->probe->touches(x, i, &a);
}

bool mx__access_range(struct mx_exec *x, const struct mx_insn *i, uint64_t lane, uint64_t addr, uint32_t bytes,
                      unsigned align, unsigned space, bool write, unsigned char **host) {
  struct mx_bounds b;
  bool keep;
  const bool there = mx__access_bounds(x, space, addr, &b, &keep) && b.span >= bytes && addr - b.lo <= b.span - bytes;
  if (there && !(addr & (align - 1)) && (b.writable || !write)) {
    *host = mx__bounds_host(x, &b, addr, lane);
    if (mx__sees_accesses(x->launch)) {
      uint64_t of[MX_MAX_LANES];
      unsigned char *at[MX_MAX_LANES];
      of[lane] = addr, at[lane] = *host;
      return notify(x, i, 1ull << lane, of, bytes, space, write, at);
    }
    return true;
  }
  return trap_access(x, i,
                     !there               ? MX_TRAP_OUT_OF_BOUNDS
                     : addr & (align - 1) ? MX_TRAP_MISALIGNED
                                          : MX_TRAP_READ_ONLY,
                     1ull << lane, addr, space, bytes, write);
}

bool mx__access_find(struct mx_exec *x, const struct mx_insn *i, uint64_t m, const uint64_t *addr, unsigned bytes,
                     unsigned space, bool write, unsigned char **host) {
  struct mx_bounds *cache = &x->bounds[i->index], b = *cache, first = {0};
  bool seen = write && x->launch->debug && x->launch->hooks->sees_writes(x->launch->debug);
  if (seen) b.span = 0; /* a session must see this write, so the cache allows reading only: see below */
  uint64_t outside = 0, misaligned = 0, read_only = 0;
  bool have = false, keep = true, unmapped = false;
  MX_FOR_LANES (l, m) {
    uint64_t a = addr[l];
    if (a & (bytes - 1)) misaligned |= 1ull << l;
    if (!inside(&b, a, bytes) && (!mx__access_bounds(x, space, a, &b, &keep) || !inside(&b, a, bytes))) {
      outside |= 1ull << l;
      unmapped |= b.kind == MX_LOCAL && !x->block->local && inside(&b, a, bytes);
      continue;
    }
    if (write && !b.writable) read_only |= 1ull << l;
    host[l] = mx__bounds_host(x, &b, a, l);
    if (!have && keep) first = b, have = true;
  }
  uint64_t wrong = outside ? outside : misaligned ? misaligned : read_only;
  if (!wrong) {
    if (seen) {
      x->launch->hooks->writes(x, m, addr, mx_space_window(space), bytes, host);
      first.writable = false; /* so that the next write comes here, too */
    }
    if (mx__sees_accesses(x->launch)) /* nothing is cached, so the next access comes here, too */
      return notify(x, i, m, addr, bytes, space, write, host);
    if (have) keep_bounds(x, i, cache, &first);
    return true;
  }
  return trap_access(x, i,
                     unmapped     ? MX_TRAP_HOST_MEMORY
                     : outside    ? MX_TRAP_OUT_OF_BOUNDS
                     : misaligned ? MX_TRAP_MISALIGNED
                                  : MX_TRAP_READ_ONLY,
                     wrong, addr[__builtin_ctzll(wrong)], space, bytes, write);
}

/* What a debugging session does when memory is about to be written: keeps the old bytes for going back, triggers
 * watchpoints, and notices whether any value changes. Sessions that need none of this do not get called. */
#include "session.h"

#include "vm/exec/async.h"
#include "vm/exec/launch.h"
#include "vm/memory/heap.h"

#include <string.h>

#define PAGE 4096u

/* The range of host memory that contains the address and belongs to its space alone. */
static void owner(const struct mx_exec *x, uint64_t address, unsigned char *host, uint64_t bytes, unsigned char **lo,
                  unsigned char **hi) {
  const struct mx_launch *l = x->launch;
  switch (address >> MX_WINDOW_SHIFT) {
  case MX_WINDOW_SHARED: *lo = mx__shared_owner(x->block, host)->shared, *hi = *lo + l->shared_bytes; break;
  case MX_WINDOW_LOCAL: *lo = x->block->local, *hi = *lo + (size_t)l->local_bytes * l->lanes * x->block->nwarps; break;
  default: /* whole pages of the arena */
    *lo = (unsigned char *)((uintptr_t)host & ~(uintptr_t)(PAGE - 1));
    *hi = (unsigned char *)(((uintptr_t)host + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
  }
}

static uint64_t overlap(const struct mx_exec *x, const struct mx_breakpoint *b, uint64_t m, const uint64_t *address,
                        uint64_t base, uint64_t bytes, unsigned char *const *host, mx_addr *first) {
  uint64_t window = b->address >> MX_WINDOW_SHIFT, hit = 0;
  if (window == MX_WINDOW_LOCAL && x->block->index != b->block) return 0;
  MX_FOR_LANES (l, m) {
    uint64_t a = address[l] + base;
    if (window == MX_WINDOW_SHARED) { /* which may be another block's of the cluster */
      const struct mx_block *of = mx__shared_owner(x->block, host[l]);
      if (!of || of->index != b->block) continue;
      a = (uint64_t)(host[l] - of->shared) + MX_WINDOW(MX_WINDOW_SHARED);
    }
    if (a >= b->address + b->bytes || a + bytes <= b->address) continue;
    if (!hit) *first = a > b->address ? a : b->address;
    hit |= 1ull << l;
  }
  return hit;
}

static void tell_watchpoints(struct mx_debug *g, struct mx_exec *x, uint64_t m, const uint64_t *address, uint64_t base,
                             uint64_t bytes, unsigned char *const *host) {
  for (size_t n = 0; n < g->nbreaks; n++) {
    struct mx_breakpoint *b = &g->breaks[n];
    mx_addr first = 0;
    uint64_t hit = b->enabled && b->write ? overlap(x, b, m, address, base, bytes, host, &first) : 0;
    if (!hit) continue;
    if (!g->search.on) b->hits++;
    if (g->pending) continue;
    g->pending = b->number;
    g->pending_address = first;
    mx__debug_culprit(g, x, g->at, hit, &g->pending_writer);
  }
}

static void keep_values(struct mx_debug *g, uint64_t m, uint64_t bytes, unsigned char *const *host) {
  if (bytes > sizeof g->written->old) {
    g->value_changed = true;
    return;
  }
  MX_FOR_LANES (l, m) {
    if (g->nwritten == MX_MAX_LANES) return;
    struct mx_written *w = &g->written[g->nwritten++];
    w->at = host[l];
    w->bytes = (uint8_t)bytes;
    memcpy(w->old, host[l], bytes);
  }
}

void mx__debug_compare(struct mx_debug *g) {
  for (uint32_t n = 0; n < g->nwritten; n++)
    g->value_changed |= memcmp(g->written[n].at, g->written[n].old, g->written[n].bytes) != 0;
  g->nwritten = 0;
}

void mx__debug_writes(struct mx_exec *x, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes,
                      unsigned char *const *host) {
  struct mx_debug *g = x->launch->debug;
  if (g->record)
    MX_FOR_LANES (l, m) {
      unsigned char *lo, *hi;
      owner(x, address[l] + base, host[l], bytes, &lo, &hi);
      mx__record_writes(g, lo, hi, host[l], bytes);
    }
  if (g->checks_values) keep_values(g, m, bytes, host);
  if (g->search.on && g->search.what == MX_SEARCH_WRITE) {
    struct mx_breakpoint b = {.address = g->search.address, .bytes = g->search.bytes, .block = g->block};
    mx_addr first;
    const uint64_t hit = overlap(x, &b, m, address, base, bytes, host, &first);
    if (hit && !g->search.hit && bytes <= sizeof g->search.old) {
      g->search.place = host[__builtin_ctzll(hit)];
      g->search.held = (uint8_t)bytes;
      memcpy(g->search.old, g->search.place, bytes);
    }
    g->search.hit |= hit;
  }
  if (g->writes) tell_watchpoints(g, x, m, address, base, bytes, host);
}

void mx__debug_heap(struct mx_exec *x) {
  unsigned char *part[2];
  size_t bytes[2];
  if (!x->launch->heap) return;
  mx__heap_parts(x->launch->heap, part, bytes);
  for (int k = 0; k < 2; k++) mx__record_writes(x->launch->debug, part[k], part[k] + bytes[k], part[k], bytes[k]);
}

void mx__debug_clears(struct mx_debug *g, struct mx_block *b) {
  uint64_t bytes = b->launch->shared_bytes;
  if (g->record && bytes) mx__record_writes(g, b->shared, b->shared + bytes, b->shared, bytes);
}

/* Copies slots between the frame, where the interpreter has them lane by lane, and the cells of the spill area, where
 * compiled code has them as vectors. Done once here instead of by code at every entry and exit of every kernel. */
#include "jitabi.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif
#include <string.h>

#define VECTOR 64u /* bytes of the longest one */
#define CANONICAL 0x7FFFFFFFu

static unsigned class_of(const struct mx_jit_location *p) { return p->slot >> MX_JIT_CLASS; }
static unsigned char *slot_in(const struct mx_exec *x, const struct mx_jit_location *p, unsigned char *slots,
                              const struct mx_pfunc *fn) {
  const uint32_t n = mx__jit_slot_number(p);
  switch (class_of(p)) {
  case MX_PRED: return slots + 8u * n;
  case MX_R32: return slots + fn->off_r32 + 4u * (size_t)x->lanes * n;
  default: return slots + fn->off_r64 + 8u * (size_t)x->lanes * n;
  }
}

uint64_t mx__jit_mask(const struct mx_jit_table *t, const unsigned char *spill_area) {
  uint64_t m = 0;
  if (t->vector_masks)
#ifdef __SSE2__
    for (uint32_t l = 0; l < t->lanes; l += 4)
      m |= (uint64_t)(unsigned)_mm_movemask_ps(_mm_load_ps((const float *)(const void *)(spill_area + 4 * l))) << l;
#else
    for (uint32_t l = 0; l < t->lanes; l++) m |= (uint64_t)(spill_area[4 * l] & 1) << l;
#endif
  else memcpy(&m, spill_area, t->lanes / 8); /* chunks' integers, one behind the other */
  return m;
}
void mx__jit_put_mask(const struct mx_exec *x, const struct mx_jit_table *t, unsigned char *spill_area, uint64_t m) {
  if (!t->vector_masks) memcpy(spill_area, &m, x->lanes / 8);
  else
    for (uint32_t l = 0; l < x->lanes; l++) memset(spill_area + 4 * l, m >> l & 1 ? 0xFF : 0, 4);
}

/* ---- into the spill area
 * ------------------------------------------------------------------------------------------------*/
/* Whether lanes of `size` bytes agree where the mask says so. */
static bool one_value(const struct mx_exec *x, const unsigned char *slot, size_t size, uint32_t first) {
  if (x->mask == x->full) return !memcmp(slot, slot + size, (x->lanes - 1) * size);
  for (uint64_t m = x->mask; m; m &= m - 1)
    if (memcmp(slot + (uint32_t)__builtin_ctzll(m) * size, slot + first * size, size)) return false;
  return true;
}
/* Makes the first lanes' numbers of the active lanes' numbers, if these are a ramp. A row without active lanes gets an
 * active row's number, which is as good as any, and most likely within bounds if it is an address. */
static bool bring_ramp(const struct mx_exec *x, const unsigned char *slot, size_t size, uint64_t stride, uint32_t first,
                       const struct mx_jit_table *t, unsigned char *to) {
  const uint32_t row_lanes = t->row_lanes; /* a power of two */
  uint64_t v = 0, lane = 0;
  memcpy(&v, slot + first * size, size);
  v -= (first & (row_lanes - 1)) * stride;
  for (uint32_t row = 0; row < t->lanes; row += row_lanes) {
    const uint64_t in_row = row_lanes == 64 ? UINT64_MAX : ((UINT64_C(1) << row_lanes) - 1) << row;
    uint64_t m = x->mask & in_row;
    if (m) {
      const uint32_t l = (uint32_t)__builtin_ctzll(m);
      memcpy(&v, slot + l * size, size);
      v -= (l - row) * stride;
    }
    for (; m; m &= m - 1) {
      const uint32_t l = (uint32_t)__builtin_ctzll(m);
      const uint64_t want = v + (l - row) * stride;
      memcpy(&lane, slot + l * size, size);
      if (memcmp(&lane, &want, size)) return false;
    }
    memcpy(to + row * size, &v, size);
  }
  return true;
}
static bool bring(struct mx_exec *x, const struct mx_jit_table *t, const struct mx_jit_location *p,
                  unsigned char *spill_area, uint32_t first, bool sure) {
  const unsigned char *slot = slot_in(x, p, x->base[0], x->fn);
  const unsigned cls = class_of(p);
  unsigned char *to = spill_area + p->offset;
  if (cls == MX_PRED) {
    uint64_t m;
    memcpy(&m, slot, sizeof m);
    if (p->slot & MX_JIT_ONE) {
      m &= x->mask;
      if (!sure && m && m != x->mask) return false;
      m = m >> first & 1 ? x->full : 0;
    }
    mx__jit_put_mask(x, t, to, m);
    return true;
  }
  const size_t size = cls == MX_R32 ? 4 : 8;
  if (p->slot & MX_JIT_ONE) {
    if (!sure && !one_value(x, slot, size, first)) return false;
    for (size_t k = 0; k < VECTOR; k += size) memcpy(to + k, slot + first * size, size);
    return true;
  }
  if (!(p->slot & MX_JIT_RAMP)) memcpy(to, slot, x->lanes * size);
  else if (!bring_ramp(x, slot, size, mx__jit_stride(p), first, t, to)) return false;
  if (p->slot & MX_JIT_SHAPED) {
    memcpy(x->tmp, slot, x->lanes * size);
    x->prep->level->shape(x, MX_JIT_WANTS_STEPS + 2 * t->chunk + (cls == MX_R64), x->mask);
    memcpy(spill_area + p->shape, x->tmp, sizeof(struct mx_jit_shape));
  }
  return true;
}
bool mx__jit_frame_to_spill(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                            unsigned char *spill_area) {
  const uint32_t lane = (uint32_t)__builtin_ctzll(x->mask);
  for (uint32_t k = 0; k < n; k++)
    if (!bring(x, code->table, &code->locations[first + k], spill_area, lane, false)) return false;
  return true;
}
void mx__jit_results_to_spill(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                              unsigned char *spill_area) {
  const uint32_t lane = (uint32_t)__builtin_ctzll(x->mask);
  for (uint32_t k = 0; k < n; k++) bring(x, code->table, &code->locations[first + k], spill_area, lane, true);
}

/* ---- out of the spill area
 * ------------------------------------------------------------------------------------------------*/
static uint32_t canonical(uint32_t v) { return (v & 0x7FFFFFFF) > 0x7F800000 ? CANONICAL : v; }
static void fetch32(const struct mx_exec *x, uint32_t *slot, const uint32_t *from, bool one, bool raw) {
  const uint32_t step = one ? 0 : 1;
  if (x->mask == x->full && !one && !raw) memcpy(slot, from, 4 * x->lanes);
  else if (x->mask == x->full)
    for (uint32_t l = 0; l < x->lanes; l++) slot[l] = raw ? canonical(from[l * step]) : from[l * step];
  else
    for (uint64_t m = x->mask; m; m &= m - 1) {
      const uint32_t l = (uint32_t)__builtin_ctzll(m);
      slot[l] = raw ? canonical(from[l * step]) : from[l * step];
    }
}
static void fetch64(const struct mx_exec *x, uint64_t *slot, const uint64_t *from, bool one) {
  const uint32_t step = one ? 0 : 1;
  if (x->mask == x->full && !one) memcpy(slot, from, 8 * x->lanes);
  else
    for (uint64_t m = x->mask; m; m &= m - 1) {
      const uint32_t l = (uint32_t)__builtin_ctzll(m);
      slot[l] = from[l * step];
    }
}
static void fetch_ramp(const struct mx_exec *x, unsigned char *slot, const unsigned char *from, size_t size,
                       uint64_t stride, uint32_t row_lanes) {
  uint64_t v = 0;
  for (uint64_t m = x->mask; m; m &= m - 1) {
    const uint32_t l = (uint32_t)__builtin_ctzll(m), behind = l & (row_lanes - 1);
    memcpy(&v, from + (l - behind) * size, size);
    const uint64_t lane = v + behind * stride;
    memcpy(slot + l * size, &lane, size);
  }
}
void mx__jit_spill_to_frame(struct mx_exec *x, const struct mx_jit_code *code, uint32_t first, uint32_t n,
                            const unsigned char *spill_area, struct mx_frame *const *frames) {
  for (uint32_t k = 0; k < n; k++) {
    const struct mx_jit_location *p = &code->locations[first + k];
    const void *from = spill_area + p->offset;
    struct mx_frame *f = frames ? frames[mx__jit_slot_level(p)] : NULL;
    void *slot = f ? slot_in(x, p, f->slots, f->fn) : slot_in(x, p, x->base[0], x->fn);
    const bool one = p->slot & MX_JIT_ONE;
    if (p->slot & MX_JIT_RAMP)
      fetch_ramp(x, slot, from, class_of(p) == MX_R32 ? 4 : 8, mx__jit_stride(p), code->table->row_lanes);
    else if (class_of(p) == MX_R32) fetch32(x, slot, from, one, p->slot & MX_JIT_RAW);
    else if (class_of(p) == MX_R64) fetch64(x, slot, from, one);
    else {
      const uint64_t m = one ? (spill_area[p->offset] & 1 ? x->full : 0) : mx__jit_mask(code->table, from);
      *(uint64_t *)slot = (*(uint64_t *)slot & ~x->mask) | (m & x->mask);
    }
  }
}
/* The numbers may lie in the cell itself, each in the place of its row's first lane. */
void mx__jit_spread(const struct mx_jit_code *code, uint32_t first, uint32_t n, unsigned char *spill_area) {
  for (uint32_t k = 0; k < n; k++) {
    const struct mx_jit_location *p = &code->locations[first + k];
    const uint64_t stride = mx__jit_stride(p);
    const uint32_t lanes = code->table->row_lanes;
    for (uint32_t lane = 0; lane < code->table->lanes; lane += lanes) {
      if (class_of(p) == MX_R32) {
        uint32_t v, *to = (uint32_t *)(void *)(spill_area + p->offset) + lane;
        memcpy(&v, spill_area + p->numbers + 4 * lane, 4);
        for (uint32_t l = 0; l < lanes; l++) to[l] = v + l * (uint32_t)stride;
      } else {
        uint64_t v, *to = (uint64_t *)(void *)(spill_area + p->offset) + lane;
        memcpy(&v, spill_area + p->numbers + 8 * lane, 8);
        for (uint32_t l = 0; l < lanes; l++) to[l] = v + l * stride;
      }
    }
  }
}
void mx__jit_settle(struct mx_exec *x, struct mx_warp *warp) {
  if (!warp->live || !warp->resume) return;
  const struct mx_pfunc *const fn = x->fn;
  unsigned char *const base = x->base[0];
  const uint64_t mask = x->mask;
  struct mx_frame *f = warp->splits[0].frame;
  const struct mx_jit_code *code = atomic_load_explicit(&f->fn->jit, memory_order_acquire);
  const struct mx_jit_entry *at = &code->entries[warp->resume];
  x->fn = f->fn;
  x->base[0] = f->slots;
  x->mask = warp->splits[0].mask;
  mx__jit_spill_to_frame(x, code, at->first, at->n, mx__jit_spill_in_frame(f), NULL);
  warp->resume = 0;
  x->fn = fn;
  x->base[0] = base;
  x->mask = mask;
}

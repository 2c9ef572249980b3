/* Watchpoints of a debugging session: bytes of memory that are written, registers that change. Each instruction of a
 * session with watchpoints is looked at before and after. */
#include "vm/debug.h"

#include "vm/effects.h"
#include "vm/interp.h"

#include <stdlib.h>
#include <string.h>

struct mx_watch {
  bool memory;
  /* memory: generic addresses; those of shared and local memory belong to one block, or lane */
  mx_addr address;
  uint64_t bytes, block;
  uint32_t warp, lane;
  bool of_block, of_lane;
  /* a register of a function in one warp */
  const struct mx_pfunc *fn;
  struct mx_reg_place place;
  mx_debug_watch what;
  uint64_t lanes;
  /* between before and after */
  bool near;
  uint64_t hit;
  struct mx_frame *frame;
  uint64_t low[64], high[64];
};

void mx__watch_free(struct mx_watch *w) { free(w); }

static bool counts(const struct mx_debug *g, const struct mx_breakpoint *b) {
  return b->watch && (b->enabled || b->number == mx__back_only(g));
}

void mx__watch_count(struct mx_debug *g) {
  g->nwatches = 0;
  for (size_t n = 0; n < g->nbreaks; n++) g->nwatches += counts(g, &g->breaks[n]);
}

/* ---- looking ----------------------------------------------------------------------------------------------*/

static void memory_before(struct mx_watch *w, struct mx_exec *x, const struct mx_write *list, unsigned n) {
  if (w->of_block && x->block->index != w->block) return;
  if (w->of_lane && x->warp->number != w->warp) return;
  for (unsigned k = 0; k < n; k++)
    if (list[k].address < w->address + w->bytes && w->address < list[k].address + list[k].bytes && (!w->of_lane || list[k].lane == w->lane))
      w->hit |= 1ull << list[k].lane;
  w->near = w->hit != 0;
}

void mx__watch_before(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  struct mx_write list[MX_MAX_LANES];
  unsigned nlist = 0;
  bool listed = false;
  for (size_t n = 0; n < g->nbreaks; n++) {
    struct mx_watch *w = g->breaks[n].watch;
    if (!counts(g, &g->breaks[n])) continue;
    w->near = false;
    w->hit = 0;
    if (w->memory) {
      if (!listed) nlist = mx__op_writes(i->op) ? mx__writes(x, i, list) : 0;
      listed = true;
      memory_before(w, x, list, nlist);
    } else if (x->fn == w->fn && x->block->index == w->block && x->warp->number == w->warp) {
      w->near = true;
      w->frame = x->frame;
      mx__debug_cells(g, x->frame, &w->place, w->low, w->high);
    }
  }
}

static bool is_nan(unsigned type, uint64_t v) {
  switch (type) {
    case MX_T_f16: return (v & 0x7FFF) > 0x7C00;
    case MX_T_bf16: return (v & 0x7FFF) > 0x7F80;
    case MX_T_f32: return (v & 0x7FFFFFFF) > 0x7F800000;
    case MX_T_f64: return (v & INT64_MAX) > 0x7FF0000000000000;
    default: return false;
  }
}

static uint64_t register_after(struct mx_debug *g, struct mx_watch *w) {
  uint64_t low[64], high[64], changed = 0, first = w->lanes & w->frame->lanes;
  if (!first) return 0;
  unsigned f = (unsigned)__builtin_ctzll(first);
  mx__debug_cells(g, w->frame, &w->place, low, high);
  MX_FOR_LANES(l, w->lanes) {
    bool same = low[l] == w->low[l] && (w->place.cls != MX_R128 || high[l] == w->high[l]);
    bool wanted = w->what == MX_DEBUG_WATCH_CHANGE || (w->what == MX_DEBUG_WATCH_NAN ? is_nan(w->place.type, low[l]) : low[l] != low[f]);
    if (!same && wanted) changed |= 1ull << l;
  }
  return changed;
}

bool mx__watch_after(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  bool hit = false;
  for (size_t n = 0; n < g->nbreaks; n++) {
    struct mx_watch *w = g->breaks[n].watch;
    if (!counts(g, &g->breaks[n]) || !w->near) continue;
    if (!w->memory) w->hit = register_after(g, w);
    if (!w->hit) continue;
    if (!g->back) g->breaks[n].hits++;
    if (hit) continue;
    hit = true;
    g->hit = &g->breaks[n];
    g->stop.hit_lanes = w->hit;
    g->stop.hit_block = x->block->index;
    g->stop.hit_warp = x->warp->number;
    g->stop.hit_pc = i->pc;
    uint32_t func = (w->memory ? x->fn : w->fn)->number;
    g->stop.hit_function = g->prep->image->funcs[func].name;
    mx__line_of(g->prep->image, func, i->pc, &g->stop.hit_file, &g->stop.hit_line);
  }
  return hit;
}

/* ---- making ------------------------------------------------------------------------------------------------*/

static mx_status add(struct mx_debug *g, const struct mx_watch *watch, int *number) {
  struct mx_watch *w = malloc(sizeof *w);
  if (!w) return mx__fail_plain(g->device, MX_OUT_OF_MEMORY);
  *w = *watch;
  mx_status s = mx__debug_add(g, (struct mx_breakpoint){.watch = w}, number);
  mx__watch_count(g);
  return s;
}

mx_status mx_debug_watch_memory(mx_debug *g, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address, size_t bytes, int *number) {
  mx_status s = mx__debug_ready(g, "mx_debug_watch_memory");
  if (s != MX_OK) return s;
  if (!number || !bytes || address + bytes < address) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_watch_memory: no bytes, or no place for the number");
  char byte;
  s = mx_debug_read(g, block, warp, lane, address, &byte, 1);
  if (s == MX_OK) s = mx_debug_read(g, block, warp, lane, address + bytes - 1, &byte, 1);
  if (s != MX_OK) return s;
  uint64_t window = address >> MX_WINDOW_SHIFT;
  bool local = window == MX_WINDOW_LOCAL;
  return add(g, &(struct mx_watch){.memory = true, .address = address, .bytes = bytes, .block = block, .warp = warp, .lane = lane,
                                   .of_block = local || window == MX_WINDOW_SHARED, .of_lane = local}, number);
}

mx_status mx_debug_watch_register(mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame, const char *name,
                                  mx_debug_watch what, uint64_t lanes, int *number) {
  struct mx_watch w = {.block = block, .warp = warp, .what = what};
  struct mx_frame *f;
  mx_status s = mx__debug_ready(g, "mx_debug_watch_register");
  if (s != MX_OK) return s;
  if (!number || !name || (unsigned)what > MX_DEBUG_WATCH_DIFFERS) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_watch_register: no name, no such kind, or no place for the number");
  s = mx__debug_register(g, block, warp, split, frame, name, &f, &w.place);
  if (s != MX_OK) return s;
  w.fn = f->fn;
  w.lanes = lanes & g->x->full;
  if (!w.lanes) return mx__fail(g->device, MX_INVALID_VALUE, "mx_debug_watch_register: no lanes");
  return add(g, &w, number);
}

/* The memory tool: accesses that are within bounds of some allocation, but not of the object they were meant for, and
 * use of memory that has been freed. What the machine itself rejects (out of all bounds, misaligned, null) is a trap,
 * which becomes a finding.
 *
 * The object is known where the address was certainly made of it (origin.c). While the tool is on, shared variables
 * also have gaps between them, so that an index that leaves one meets no other, whatever its address was made of. Freed
 * pieces of the heap are not reused until a quarter of the heap has been freed, so that their use is noticed. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

/* ---- variables --------------------------------------------------------------------------------------------------*/
struct range {
  uint64_t lo, size; /* generic addresses */
  char what[160];
};

/* The range that an address of this origin may reach; false: it is not known. */
static bool range_of(const struct mx_check *c, const struct mx_exec *x, const struct site *s, struct range *r) {
  const struct mx_image *image = c->code->prep->image;
  const struct origin *o = &s->origin;
  if (o->kind == ORIGIN_VARIABLE) {
    const struct mx_var *v = &image->vars[o->index];
    const bool dynamic = v->flags & MX_VAR_EXTERN_SHARED;
    r->lo = v->space == MX_SHARED ? MX_WINDOW(MX_WINDOW_SHARED) + c->code->prep->shared_offset[o->index]
                                  : c->code->prep->var_address[o->index] + mx_space_window(v->space);
    r->size = v->space == MX_SHARED && dynamic ? c->launch->shared_dynamic : v->size;
    return v->space == MX_SHARED || v->size;
  }
  if (o->kind == ORIGIN_FRAME) {
    const struct mx_func *f = &image->funcs[s->func];
    for (uint32_t n = 0; n < f->nlocals; n++) {
      if (o->offset - f->locals[n].offset >= f->locals[n].size) continue;
      r->lo = MX_WINDOW(MX_WINDOW_LOCAL) + x->frame->local_base + f->locals[n].offset;
      r->size = f->locals[n].size;
      return true;
    }
  }
  if (o->kind == ORIGIN_PARAM) {
    const struct mx_param *p = &image->funcs[c->code->prep->kernel].params[o->index];
    uint64_t value;
    memcpy(&value, c->launch->params + p->offset, sizeof value);
    const struct mx_alloc *a = mx__memory_record(c->launch->memory, value, NULL);
    if (!a || value >> MX_WINDOW_SHIFT != MX_WINDOW_GLOBAL) return false;
    r->lo = a->lo, r->size = a->size;
    return true;
  }
  return false;
}
/* The same, computed once if it does not change during the launch. */
bool mx__memory_range(struct mx_check *c, struct site *s) {
  struct range r = {0};
  if (s->origin.kind == ORIGIN_FRAME || s->origin.kind == ORIGIN_TOP) return false;
  if (s->known_range) return s->has_range;
  s->known_range = true;
  s->has_range = range_of(c, NULL, s, &r);
  s->lo = r.lo, s->size = r.size;
  return s->has_range;
}
static bool known_range(struct mx_check *c, const struct mx_exec *x, struct site *s, struct range *r) {
  if (s->origin.kind == ORIGIN_FRAME || s->origin.kind == ORIGIN_TOP) return range_of(c, x, s, r);
  mx__memory_range(c, s);
  r->lo = s->lo, r->size = s->size;
  return s->has_range;
}
/* Builds the range's description. */
static void describe(const struct mx_check *c, const struct site *s, struct range *r) {
  const struct mx_image *image = c->code->prep->image;
  const unsigned long long size = r->size;
  if (s->origin.kind == ORIGIN_VARIABLE) {
    const struct mx_var *v = &image->vars[s->origin.index];
    const char *what = v->space != MX_SHARED             ? ""
                       : v->flags & MX_VAR_EXTERN_SHARED ? " of dynamic shared memory"
                                                         : " of shared memory";
    snprintf(r->what, sizeof r->what, "variable '%.60s' (%llu byte%s%s)", v->name, size, plural(size), what);
  } else if (s->origin.kind == ORIGIN_FRAME) {
    const struct mx_func *f = &image->funcs[s->func];
    uint32_t n = 0;
    while (s->origin.offset - f->locals[n].offset >= f->locals[n].size) n++;
    snprintf(r->what, sizeof r->what, "variable '%.60s' (%llu byte%s of local memory)", f->locals[n].name, size,
             plural(size));
  } else {
    const struct mx_param *p = &image->funcs[c->code->prep->kernel].params[s->origin.index];
    const struct mx_alloc *a = mx__memory_record(c->launch->memory, r->lo, NULL);
    const char *name = a ? a->name : NULL;
    snprintf(r->what, sizeof r->what, "%s%.60s%s, argument %u '%.40s' (%llu byte%s)", name ? "buffer '" : "the buffer",
             name ? name : "", name ? "'" : "", s->origin.index + 1, p->name ? p->name : "", size, plural(size));
  }
}

static void outside(struct mx_exec *x, uint32_t site, uint64_t lanes, uint64_t address, const struct mx_access *a,
                    struct range *r) {
  struct mx_check *c = check_of(x);
  struct finding *f = mx__finding(x, MX_CHECK_MEMORY, "outside-variable", site, lanes, r->lo, 0);
  if (!f) return;
  describe(c, &c->code->sites[site], r);
  mx__found_address(f, c, address, a->bytes, mx__where_from(address, r->lo, r->size, r->what));
  char *lies = mx__where_of(c, address, a->bytes);
  mx__found_story(f, lies ? mx__format("what lies there: %s", lies) : NULL);
  free(lies);
  mx__found_end(
      f, mx__format("%s outside of the variable or buffer that its address was made of", a->write ? "write" : "read"));
}

/* Reports lanes whose shared address is between variables. */
static void between(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  uint64_t wrong = 0;
  const struct variable *v = NULL;
  MX_FOR_LANES (l, a->lanes) {
    const uint64_t at = a->address[l] + a->base - MX_WINDOW(MX_WINDOW_SHARED);
    if (at >= c->launch->shared_bytes) continue;
    if (v && at - v->lo < v->size && v->size - (at - v->lo) >= a->bytes) continue;
    v = NULL;
    for (uint32_t k = 0; k < c->nshared && c->shared[k].lo <= at; k++) v = &c->shared[k];
    if (!v || at - v->lo >= v->size || v->size - (at - v->lo) < a->bytes) wrong |= 1ull << l;
  }
  if (!wrong) return;
  const uint64_t address = a->address[__builtin_ctzll(wrong)] + a->base;
  struct finding *f = mx__finding(x, MX_CHECK_MEMORY, "outside-variable", site, wrong, 0, 0);
  if (!f) return;
  mx__found_address(f, c, address, a->bytes, mx__where_of(c, address, a->bytes));
  mx__found_end(f, mx__format("%s of shared memory outside of every variable", a->write ? "write" : "read"));
}

/* ---- frames -----------------------------------------------------------------------------------------------------*/
static void dead_frame(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const uint64_t top = mx__local_top(x->frame);
  uint64_t gone = 0;
  if (s->origin.kind == ORIGIN_TOP || s->origin.kind == ORIGIN_FRAME)
    return; /* arguments of calls are behind the top of the frame */
  MX_FOR_LANES (l, a->lanes) {
    const uint64_t at = a->address[l] + a->base;
    if (at >> MX_WINDOW_SHIFT == MX_WINDOW_LOCAL && at - MX_WINDOW(MX_WINDOW_LOCAL) + a->bytes > top) gone |= 1ull << l;
  }
  if (!gone) return;
  struct finding *f = mx__finding(x, MX_CHECK_MEMORY, "dead-frame", site, gone, 0, 0);
  if (!f) return;
  const uint64_t at = a->address[__builtin_ctzll(gone)] + a->base;
  mx__found_address(f, c, at, a->bytes, NULL);
  mx__found_story(f,
                  mx__format("the live frames of the lane end at 0x%llx in its local memory", (unsigned long long)top));
  mx__found_end(f, mx__format("%s of local memory of a function that has returned, or that nobody has",
                              a->write ? "write" : "read"));
}

/* ---- the heap ---------------------------------------------------------------------------------------------------*/
static struct piece *piece_at(const struct mx_check *c, uint64_t address, bool dead) {
  for (size_t k = c->npieces; k--;) {
    struct piece *p = &c->pieces[k];
    if (address - p->address < p->bytes && (dead || !p->gone) && !p->given_back) return p;
  }
  return NULL;
}

void mx__memory_malloc(struct mx_exec *x, uint32_t site, uint64_t m) {
  struct mx_check *c = check_of(x);
  const struct mx_insn *i = c->insn;
  const uint64_t *address = mx__operand(x, i->o[0]);
  MX_FOR_LANES (l, m) {
    if (!address[l]) continue;
    uint64_t lo, bytes;
    if (!mx__heap_find(x->launch->heap, address[l], &lo, &bytes)) continue;
    for (size_t k = 0; k < c->npieces; k++) /* its memory is in use again */
      if (c->pieces[k].gone && c->pieces[k].address < lo + bytes && lo < c->pieces[k].address + c->pieces[k].bytes)
        c->pieces[k].given_back = true;
    if (!mx__check_grow(c, (void **)&c->pieces, c->npieces, &c->pieces_room, sizeof *c->pieces)) return;
    c->pieces[c->npieces++] = (struct piece){.address = lo,
                                             .bytes = bytes,
                                             .made = {site, warp_state(x)->number, (uint8_t)l, c->launches},
                                             .func = c->launch->func};
    if (c->tools & MX_CHECK_UNINIT) mx__uninit_heap(c, lo, bytes);
  }
}

static void release_oldest(struct mx_check *c, uint64_t most) {
  for (size_t k = 0; k < c->npieces && c->quarantine > most; k++) {
    struct piece *p = &c->pieces[k];
    if (!p->gone || !p->held) continue;
    mx__heap_release(c->launch->heap, p->address);
    p->held = false;
    c->quarantine -= p->bytes;
  }
}

uint64_t mx__heap_freed(struct mx_exec *x, uint32_t site, uint64_t m) {
  struct mx_check *c = check_of(x);
  const uint64_t *address = mx__operand(x, c->insn->o[0]);
  uint64_t left = 0;
  MX_FOR_LANES (l, m) {
    struct piece *p = piece_at(c, address[l], true);
    if (!p || p->address != address[l]) {
      left |= 1ull << l; /* the machine reports what is wrong, if anything is */
      continue;
    }
    if (p->gone) {
      struct finding *f = mx__finding(x, MX_CHECK_MEMORY, "double-free", site, 1ull << l, p->made.site, 0);
      if (!f) continue;
      mx__found_address(f, c, address[l], p->bytes, mx__where_of_piece(c, p, address[l]));
      if (p->freed.launch == c->launches)
        mx__found_other(f, c, strdup("freed before"), p->freed.site, p->freed.warp, 1ull << p->freed.lane);
      mx__found_end(f, mx__format("free of a piece of the heap that has been freed"));
      continue;
    }
    p->gone = p->held = true;
    p->freed = (struct moment){site, warp_state(x)->number, (uint8_t)l, c->launches};
    c->quarantine += p->bytes;
    release_oldest(c, c->heap_bytes / 4);
  }
  return left;
}

char *mx__where_of_piece(const struct mx_check *c, const struct piece *p, uint64_t address) {
  char what[96];
  (void)c;
  snprintf(what, sizeof what, "a piece of the heap (%llu byte%s at 0x%llx)", (unsigned long long)p->bytes,
           plural(p->bytes), (unsigned long long)p->address);
  return mx__where_from(address, p->address, p->bytes, what);
}

static void freed_piece(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  MX_FOR_LANES (l, a->lanes) {
    const uint64_t at = a->address[l] + a->base;
    if (at < MX_HEAP_START || at >> MX_WINDOW_SHIFT != MX_WINDOW_GLOBAL) continue;
    const struct piece *p = piece_at(c, at, true);
    if (!p || !p->gone) continue;
    struct finding *f = mx__finding(x, MX_CHECK_MEMORY, "use-after-free", site, 1ull << l, p->made.site, p->freed.site);
    if (!f) continue;
    mx__found_address(f, c, at, a->bytes, mx__where_of_piece(c, p, at));
    if (p->freed.launch == c->launches)
      mx__found_other(f, c, strdup("freed"), p->freed.site, p->freed.warp, 1ull << p->freed.lane);
    mx__found_end(f, mx__format("%s of a piece of the heap that has been freed", a->write ? "write" : "read"));
  }
}

bool mx__memory_inside(struct mx_exec *x, uint32_t site, uint64_t lo, uint64_t hi) {
  struct mx_check *c = check_of(x);
  struct site *s = &c->code->sites[site];
  struct range r;
  const uint64_t window = lo >> MX_WINDOW_SHIFT;
  if ((c->npieces && hi >= MX_HEAP_START && window == MX_WINDOW_GLOBAL) || window == MX_WINDOW_LOCAL) return false;
  if (s->known_range && s->has_range) return lo - s->lo < s->size && hi - s->lo <= s->size;
  if (s->origin.kind > ORIGIN_NONE && known_range(c, x, s, &r)) return lo - r.lo < r.size && hi - r.lo <= r.size;
  if (window != MX_WINDOW_SHARED || !c->nshared) return true;
  const struct variable *v = NULL;
  const uint64_t at = lo - MX_WINDOW(MX_WINDOW_SHARED);
  for (uint32_t k = 0; k < c->nshared && c->shared[k].lo <= at; k++) v = &c->shared[k];
  return v && at - v->lo < v->size && at + (hi - lo) - v->lo <= v->size;
}

void mx__memory_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  struct site *s = &c->code->sites[site];
  const uint64_t one = (uint64_t)__builtin_ctzll(a->lanes), window = (a->address[one] + a->base) >> MX_WINDOW_SHIFT;
  struct range r;
  if (c->npieces) freed_piece(x, site, a);
  if (window == MX_WINDOW_LOCAL) dead_frame(x, site, a);
  if (s->origin.kind > ORIGIN_NONE && known_range(c, x, s, &r)) {
    uint64_t wrong = 0;
    const uint64_t rank = window == MX_WINDOW_SHARED ? UINT64_C(0xFF) << MX_RANK_SHIFT : 0;
    MX_FOR_LANES (l, a->lanes) {
      const uint64_t at = ((a->address[l] + a->base) & ~rank) - r.lo;
      wrong |= (uint64_t)(at >= r.size || r.size - at < a->bytes) << l;
    }
    /* Addresses in a space are offsets in its window; generic ones contain the window. */
    if (wrong) {
      outside(x, site, wrong, a->address[__builtin_ctzll(wrong)] + a->base, a, &r);
      return;
    }
  }
  if (window == MX_WINDOW_SHARED && c->nshared) between(x, site, a);
}

/* ---- ends -------------------------------------------------------------------------------------------------------*/
static void drop_place(const mx_check_place *p) {
  free((void *)(uintptr_t)p->kernel);
  free((void *)(uintptr_t)p->function);
  free((void *)(uintptr_t)p->file);
}
void mx__memory_end(struct mx_check *c) {
  release_oldest(c, 0);
  size_t kept = 0; /* living pieces are kept for the next launch */
  for (size_t k = 0; k < c->npieces; k++)
    if (!c->pieces[k].gone) {
      if (!c->pieces[k].place.kernel) {
        mx__place_of(c, &c->pieces[k].place, c->pieces[k].made.site, c->pieces[k].made.warp,
                     1ull << c->pieces[k].made.lane);
        c->pieces[k].place.kernel = strdup(c->pieces[k].place.kernel);
        c->pieces[k].place.function = strdup(c->pieces[k].place.function);
        if (c->pieces[k].place.file) c->pieces[k].place.file = strdup(c->pieces[k].place.file);
      }
      c->pieces[kept++] = c->pieces[k];
    } else drop_place(&c->pieces[k].place);
  c->npieces = kept;
}
void mx__memory_forget(struct mx_check *c) {
  for (size_t k = 0; k < c->npieces; k++) drop_place(&c->pieces[k].place);
  free(c->pieces);
  c->pieces = NULL;
  c->npieces = c->pieces_room = 0;
  c->quarantine = 0;
}

void mx__memory_leaks(struct mx_check *c) {
  if (!(c->tools & MX_CHECK_MEMORY)) return;
  for (size_t k = 0; k < c->npieces; k++) {
    const struct piece *p = &c->pieces[k];
    mx__found_leak(c, &p->place, p->address, p->bytes, mx__where_of_piece(c, p, p->address));
  }
}

/* Makes a finding of a trap. */
void mx__memory_trap(struct mx_check *c, const struct mx_trap *t) {
  const bool sync = t->kind == MX_TRAP_SYNC || t->kind == MX_TRAP_BARRIER || t->kind == MX_TRAP_DEADLOCK;
  const bool memory = t->kind == MX_TRAP_OUT_OF_BOUNDS || t->kind == MX_TRAP_MISALIGNED ||
                      t->kind == MX_TRAP_READ_ONLY || t->kind == MX_TRAP_BAD_FREE;
  if (!(memory || sync) || t->func >= c->code->prep->nfuncs) return;
  const struct mx_pfunc *fn = &c->code->prep->funcs[t->func];
  if (!fn->insns || t->pc >= fn->func->ncode) return;
  const struct mx_insn *i = mx__at(fn, t->pc);
  if (i->kind == MX_INSN_JOIN) i++;
  const uint32_t site = c->code->first_site[t->func] + (uint32_t)(i - fn->insns);
  const uint64_t block =
      t->block[0] + (uint64_t)c->launch->grid[0] * (t->block[1] + (uint64_t)c->launch->grid[1] * t->block[2]);
  const char *kind = memory ? t->kind == MX_TRAP_MISALIGNED  ? "misaligned"
                              : t->kind == MX_TRAP_READ_ONLY ? "read-only"
                              : t->kind == MX_TRAP_BAD_FREE  ? "bad-free"
                              : t->address < 0x10000         ? "null"
                                                             : "outside"
                            : "stuck";
  struct finding *f = mx__found_at(c, memory ? MX_CHECK_MEMORY : MX_CHECK_SYNC, kind, site,
                                   block * c->launch->warps + t->warp, t->lanes, 0, 0);
  if (!f) return;
  f->info.trap = true;
  if (t->has_address) {
    const struct piece *p = piece_at(c, t->address, true);
    char *where = p ? mx__where_of_piece(c, p, t->address) : mx__nearest_of_trap(c->launch, t);
    mx__found_address(f, c, t->address, t->bytes, where);
  }
  if (t->detail) mx__found_story(f, strdup(t->detail));
  const bool accesses = t->has_address && t->kind != MX_TRAP_BAD_FREE;
  mx__found_end(f, mx__format("%s%s", mx_trap_kind_text(t->kind), !accesses ? "" : t->is_write ? ": write" : ": read"));
}

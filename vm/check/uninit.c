/* The uninit tool: values that nobody wrote, reported where they decide something: a branch, an address, a count, or a
 * store whose value the host reads.
 *
 * A bit for each lane of each register (in a shadow behind the frame's slots) and for each byte of memory says whether
 * the value is defined. A result is defined where all operands are; a choice, where what it chose is. With each
 * register and each stored word goes a number that says where the undefined value came from (struct origin_note).
 * Memory of the device is taken as written unless it was allocated while the tool was on and nobody has written it.
 *
 * As long as a warp has met no undefined value, registers are followed only that may be read before they are written
 * (definite.c): all others are defined. The first undefined value taints the warp, and all are followed. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- bits -------------------------------------------------------------------------------------------------------*/
bool mx__bits_all_set(const unsigned char *bits, uint64_t at, uint64_t n) {
  for (; n && at & 7; at++, n--)
    if (!(bits[at / 8] >> (at & 7) & 1)) return false;
  for (uint64_t word; n >= 64; at += 64, n -= 64)
    if (memcpy(&word, bits + at / 8, 8), word != UINT64_MAX) return false;
  for (; n >= 8; at += 8, n -= 8)
    if (bits[at / 8] != 0xFF) return false;
  for (; n; at++, n--)
    if (!(bits[at / 8] >> (at & 7) & 1)) return false;
  return true;
}
static bool none_set(const unsigned char *bits, uint64_t at, uint64_t n) {
  for (; n; at++, n--)
    if (bits[at / 8] >> (at & 7) & 1) return false;
  return true;
}
void mx__bits_set(unsigned char *bits, uint64_t at, uint64_t n, bool to) {
  for (; n && at & 7; at++, n--)
    bits[at / 8] = (unsigned char)((bits[at / 8] & ~(1u << (at & 7))) | (unsigned)to << (at & 7));
  if (n >= 8) memset(bits + at / 8, to ? 0xFF : 0, n / 8), at += n & ~7ull, n &= 7;
  for (; n; at++, n--) bits[at / 8] = (unsigned char)((bits[at / 8] & ~(1u << (at & 7))) | (unsigned)to << (at & 7));
}

/* ---- notes ------------------------------------------------------------------------------------------------------*/
static uint32_t note(struct mx_check *c, uint32_t site, enum undefined_what what, uint64_t address) {
  const uint32_t key = site * 5u + (uint32_t)what;
  if (!c->notes) {
    c->notes = calloc((size_t)c->code->nsites * 5 + 5, sizeof *c->notes);
    if (!c->notes) return 0;
  }
  if (!c->notes[key].known) c->notes[key] = (struct origin_note){address, site, (uint8_t)what, true};
  return key + 1;
}

/* ---- the shadow of a frame's registers
 * ------------------------------------------------------------------------------*/
static uint64_t *defined_of(const struct mx_check *c, struct mx_frame *f) {
  return (uint64_t *)(void *)(f->slots + c->code->shadow_at[f->fn->number]);
}
static uint32_t *notes_of(const struct mx_check *c, struct mx_frame *f) {
  return (uint32_t *)(void *)(f->slots + c->code->shadow_at[f->fn->number] +
                              (size_t)c->code->nslots[f->fn->number] * 8);
}

/* The other half: where the undefined value came from. */
static void tell_origin(const struct mx_check *c, struct finding *f, uint32_t from, uint64_t warp) {
  const struct origin_note *n = from && c->notes ? &c->notes[from - 1] : NULL;
  static const char *const texts[] = {[NOTE_REGISTER] = "a register that was not written before, read",
                                      [NOTE_SHARED] = "shared memory that nobody wrote, read",
                                      [NOTE_LOCAL] = "local memory that nobody wrote, read",
                                      [NOTE_GLOBAL] = "new memory of the device that nobody wrote, read",
                                      [NOTE_HEAP] = "memory of the heap that nobody wrote, read"};
  if (n) {
    const char *text = texts[n->what];
    char *where = n->what == NOTE_REGISTER || n->what == NOTE_LOCAL ? NULL : mx__where_of(c, n->address, 1);
    mx__found_other(f, c, where ? mx__format("%s (%s)", text, where) : strdup(text), n->site, warp, 0);
    free(where);
  }
}

static void decides(struct mx_exec *x, uint32_t site, uint64_t lanes, uint32_t from, const char *kind,
                    const char *what) {
  struct mx_check *c = check_of(x);
  struct finding *f = mx__finding(x, MX_CHECK_UNINIT, kind, site, lanes, from, 0);
  if (!f) return;
  tell_origin(c, f, from, warp_state(x)->number);
  mx__found_end(f, mx__format("%s depends on a value that was never written", what));
}

/* From here on values are followed in the current warp; all registers that have not been until now are defined. */
static void taint(struct mx_exec *x) {
  struct mx_check *c = check_of(x);
  warp_state(x)->tainted = true;
  c->light = false;
  for (uint32_t n = 0; n < x->warp->nsplits; n++)
    for (struct mx_frame *f = x->warp->splits[n].frame; f; f = f->parent)
      for (uint32_t slot = 0; slot < c->code->nslots[f->fn->number]; slot++)
        if (!mx__is_tracked(c, f->fn->number, slot)) defined_of(c, f)[slot] = UINT64_MAX;
}
const struct mx_insn *mx__uninit_leave(struct mx_exec *x, const struct mx_insn *i) {
  taint(x);
  x->steps--; /* it is executed again */
  return mx__leave(x, i->pc, MX_EV_RESCHED);
}
static bool is_followed(const struct mx_check *c, const struct mx_frame *f, uint32_t slot) {
  return !c->light || mx__is_tracked(c, f->fn->number, slot);
}
/* A register's lanes that are not defined, of m. */
static uint64_t missing(const struct mx_check *c, struct mx_frame *f, const struct reg *r, uint64_t m, uint32_t *from) {
  uint64_t bad = 0;
  for (unsigned k = 0; r->slot != NO_SLOT && k <= r->pair; k++)
    if (is_followed(c, f, r->slot + k)) bad |= m & ~defined_of(c, f)[r->slot + k];
  if (bad) *from = notes_of(c, f)[r->slot];
  return bad;
}
static void put(struct mx_exec *x, struct mx_frame *f, const struct reg *r, uint64_t m, uint64_t defined,
                uint32_t from) {
  struct mx_check *c = check_of(x);
  for (unsigned k = 0; k <= r->pair; k++) {
    if (!is_followed(c, f, r->slot + k)) {
      if (!(m & ~defined)) continue;
      taint(x);
    }
    uint64_t *d = &defined_of(c, f)[r->slot + k];
    *d = (*d & ~m) | (defined & m);
    if (m & ~defined) notes_of(c, f)[r->slot + k] = from;
  }
}

/* Of SEL(type, C, A, B): which operands stand behind; the row's own text says it. */
static uint64_t chosen(struct mx_exec *x, uint64_t m, const uint64_t *bad) {
  const struct mx_insn *i = check_of(x)->insn;
  const struct mx_op_info *o = &mx__ops[i->op];
  uint64_t a = 0;
  if (o->nopnds != 4) return bad[0] | bad[1] | bad[2];
  if (o->opnd[3].type == MX_T_pred) a = *(const uint64_t *)mx__operand(x, i->o[3]);
  else return bad[2] | (bad[0] & bad[1]); /* by the sign of a number */
  return (bad[2] | (bad[0] & a) | (bad[1] & ~a)) & m;
}

void mx__uninit_before(struct mx_exec *x, uint32_t site, uint64_t m) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const struct mx_op_info *o = &mx__ops[s->insn->op];
  struct mx_frame *f = x->frame;
  const struct reg *in = &c->code->regs[s->first_in];
  c->result = m, c->result_from = 0;
  c->loaded = m, c->loaded_from = 0;
  if (c->light && !s->tracked) return;
  if (s->guard != NO_SLOT) {
    const struct reg guard = {s->guard, 0, 1, 0};
    uint32_t from = 0;
    const uint64_t bad = missing(c, f, &guard, x->mask, &from);
    if (bad && o->cls != MX_LANE) {
      if (!from) from = note(c, site, NOTE_REGISTER, 0);
      decides(x, site, bad, from, o->flags & MX_F_BRANCH ? "branch" : "guard",
              o->flags & MX_F_BRANCH ? "a branch" : "whether the instruction is executed");
      put(x, f, &guard, bad, bad, 0);
    }
  }
  if (!m || o->flags & (MX_F_CALL | MX_F_MOVI)) return;
  uint64_t bad_of[4] = {0}, bad = 0;
  uint32_t from = 0, first = 0;
  for (unsigned k = 0; k < s->nin; k++) {
    uint64_t b = missing(c, f, &in[k], m, &from);
    if (!b) continue;
    if (!from) from = note(c, site, NOTE_REGISTER, 0);
    if (in[k].address || (o->cls == MX_CTRL && s->effect != MX_DOES_RETURN) || s->effect == MX_DOES_FREE ||
        s->effect == MX_DOES_MALLOC) {
      decides(x, site, b, from, in[k].address ? "address" : "control",
              in[k].address ? "an address" : "what the instruction does");
      put(x, f, &in[k], b, b, 0);
      b = 0;
    }
    if (k < 4) bad_of[k] = b;
    bad |= b;
    if (b && !first) first = from;
  }
  if (s->selects && s->nin == 3) bad = chosen(x, m, bad_of);
  if (o->cls == MX_CROSS && bad != m) bad = 0; /* some lane has a value that others may get */
  c->result = m & ~bad;
  c->result_from = first;
}

void mx__uninit_after(struct mx_exec *x, uint32_t site, uint64_t m, struct mx_frame *f) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const struct reg *out = &c->code->regs[s->first_out];
  uint64_t defined = c->result;
  uint32_t from = c->result_from;
  if (c->light && !s->tracked && !(s->access && m & ~c->loaded)) return;
  if (s->access) {
    defined &= c->loaded;
    if (m & ~c->loaded) from = c->loaded_from;
  }
  for (unsigned k = 0; k < s->nout; k++) put(x, f, &out[k], m, defined, from);
}

void mx__uninit_call(struct mx_exec *x, uint32_t site, struct mx_frame *caller, struct mx_frame *callee) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const struct mx_func *f = callee->fn->func;
  const bool indirect = s->insn->op != MX_CALL;
  for (uint32_t k = 0; k < f->nargs && k + indirect < s->nin; k++) {
    const struct reg *arg = &c->code->regs[s->first_in + k + indirect];
    const uint32_t base = f->args[k].cls == MX_PRED  ? 0u
                          : f->args[k].cls == MX_R32 ? f->npred
                                                     : (uint32_t)f->npred + f->n32;
    struct reg to = {base + f->args[k].slot, arg->pair, arg->predicate, 0};
    uint32_t from = 0;
    const uint64_t bad = missing(c, caller, arg, x->mask, &from);
    put(x, callee, &to, x->mask, ~bad, from);
  }
  struct block_state *b = block_state(x->block);
  const uint64_t lo = callee->local_base + f->arg_bytes, hi = callee->local_base + f->local_bytes;
  if (b->local && hi > lo && hi <= b->local_top)
    MX_FOR_LANES (l, x->mask)
      mx__bits_set(b->local + (x->warp->number * x->lanes + l) * b->local_stride, lo, hi - lo, false);
}

/* The lanes of x->mask return: the caller's results, which nobody reads before they are there. */
void mx__uninit_return(struct mx_exec *x) {
  struct mx_check *c = check_of(x);
  struct mx_frame *callee = x->frame, *caller = callee->parent;
  const struct mx_func *f = callee->fn->func, *g = caller->fn->func;
  const struct mx_insn *call = &caller->fn->insns[callee->call];
  for (uint32_t k = 0; k < f->nresults; k++) {
    const unsigned cls = f->results[k].cls;
    const bool pair = cls == MX_R128;
    const uint32_t from_base = cls == MX_PRED ? 0u : cls == MX_R32 ? f->npred : (uint32_t)f->npred + f->n32;
    const uint32_t lanes = x->lanes, at = (uint32_t)call->more[k];
    const uint32_t slot = cls == MX_PRED  ? at / 8
                          : cls == MX_R32 ? g->npred + (at - caller->fn->off_r32) / (lanes * 4)
                                          : g->npred + g->n32 + (at - caller->fn->off_r64) / (lanes * 8);
    const struct reg r = {from_base + f->results[k].slot, pair, cls == MX_PRED, 0}, to = {slot, pair, r.predicate, 0};
    uint32_t from = 0;
    const uint64_t bad = missing(c, callee, &r, x->mask, &from);
    put(x, caller, &to, x->mask, ~bad, from);
  }
}

/* ---- memory -------------------------------------------------------------------------------------------------------*/
static struct undefined *region_at(struct mx_check *c, uint64_t address) {
  if (c->recent < c->nundefined && address - c->undefined[c->recent].lo < c->undefined[c->recent].size)
    return &c->undefined[c->recent];
  for (size_t k = 0; k < c->nundefined; k++)
    if (address - c->undefined[k].lo < c->undefined[k].size) return c->recent = k, &c->undefined[k];
  return NULL;
}

unsigned char *mx__uninit_bits(struct mx_check *c, const struct mx_exec *x, uint64_t lane, uint64_t address,
                               uint64_t bytes, uint64_t *at, enum undefined_what *what) {
  const uint64_t window = address >> MX_WINDOW_SHIFT, in = address & (MX_WINDOW(1) - 1);
  if (window == MX_WINDOW_SHARED) {
    uint64_t lo;
    const struct block_state *b = mx__shared_of(x, address, &lo);
    *at = address - lo, *what = NOTE_SHARED;
    return b && *at + bytes <= c->launch->shared_bytes ? b->defined : NULL;
  }
  if (window == MX_WINDOW_LOCAL) {
    struct block_state *b = block_state(x->block);
    const size_t all = b->local_stride * x->lanes * b->nwarps;
    *at = in, *what = NOTE_LOCAL;
    if (!b->local) {
      b->local = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (b->local == MAP_FAILED) return b->local = NULL;
    }
    if (in + bytes > c->launch->local_bytes) return NULL;
    if (in + bytes > b->local_top) b->local_top = in + bytes;
    return b->local + (x->warp->number * x->lanes + lane) * b->local_stride;
  }
  if (window != MX_WINDOW_GLOBAL) return NULL;
  if (address >= MX_HEAP_START) {
    *at = address - MX_HEAP_START, *what = NOTE_HEAP;
    return c->heap_defined && *at + bytes <= c->heap_bytes ? c->heap_defined : NULL;
  }
  struct undefined *u = c->nundefined ? region_at(c, address) : NULL;
  if (!u || address - u->lo + bytes > u->size) return NULL;
  *at = address - u->lo, *what = NOTE_GLOBAL;
  return u->defined;
}

static struct stored *stored_at(struct mx_check *c, uint64_t address, bool make) {
  if (!make && !c->nstored) return NULL;
  if (make && c->nstored * 2 >= c->stored_size) {
    const size_t size = c->stored_size ? c->stored_size * 2 : 256;
    struct stored *more = calloc(size, sizeof *more);
    if (!more) return NULL;
    for (size_t k = 0; k < c->stored_size; k++) {
      if (!c->stored[k].used) continue;
      size_t at = c->stored[k].address * 0x9E3779B97F4A7C15u >> 24 & (size - 1);
      while (more[at].used) at = (at + 1) & (size - 1);
      more[at] = c->stored[k];
    }
    free(c->stored);
    c->stored = more, c->stored_size = size;
  }
  size_t at = address * 0x9E3779B97F4A7C15u >> 24 & (c->stored_size - 1);
  for (; c->stored[at].used; at = (at + 1) & (c->stored_size - 1))
    if (c->stored[at].address == address) return &c->stored[at];
  if (!make) return NULL;
  c->stored[at] = (struct stored){.address = address, .used = true};
  c->nstored++;
  return &c->stored[at];
}

/* Device memory in which an undefined value is stored gets bits of its own, if it had none. */
static void add_bits(struct mx_check *c, uint64_t address) {
  const struct mx_alloc *a = mx__memory_record(c->launch->memory, address, NULL);
  if (a) mx__undefined_add(c, a->lo, a->size, true);
}

/* Whether some lane reads what nobody wrote. */
static bool reads_undefined(struct mx_check *c, const struct mx_exec *x, const struct mx_access *a) {
  MX_FOR_LANES (l, a->lanes) {
    uint64_t at;
    enum undefined_what what;
    const unsigned char *bits = mx__uninit_bits(c, x, l, a->address[l] + a->base, a->bytes, &at, &what);
    if (bits && none_set(bits, at, a->bytes)) return true;
  }
  return false;
}
bool mx__uninit_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  if (s->effect == MX_DOES_COPY) return false; /* mx__uninit_copy */
  if (x->in_compiled && s->nout && !s->object && (!a->write || s->access == ACCESS_ATOMIC) && reads_undefined(c, x, a))
    return true;
  const bool object = s->object, atomic = s->access == ACCESS_ATOMIC && !object;
  MX_FOR_LANES (l, a->lanes) {
    const uint64_t address = a->address[l] + a->base;
    uint64_t at = 0;
    enum undefined_what what = NOTE_GLOBAL;
    bool defined = c->result >> l & 1;
    unsigned char *bits = mx__uninit_bits(c, x, l, address, a->bytes, &at, &what);
    if ((!a->write || atomic) && !object) {
      /* copies of structures take holes along: what has a defined byte counts as defined */
      if (bits && !mx__bits_all_set(bits, at, a->bytes) && none_set(bits, at, a->bytes)) {
        const struct stored *kept = c->nstored && what == NOTE_GLOBAL ? stored_at(c, address & ~3ull, false) : NULL;
        c->loaded &= ~(1ull << l);
        c->loaded_from = kept ? kept->origin : note(c, site, what, address);
        defined &= !a->write;
      }
      if (!a->write) continue;
    }
    if (!defined && !bits && address >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL && address < MX_HEAP_START) {
      add_bits(c, address);
      bits = mx__uninit_bits(c, x, l, address, a->bytes, &at, &what);
    }
    if (!bits) continue;
    mx__bits_set(bits, at, a->bytes, defined);
    if (defined || what != NOTE_GLOBAL) continue;
    for (uint64_t k = address & ~3ull; k < address + a->bytes; k += 4) {
      struct stored *kept = stored_at(c, k, true);
      if (!kept) continue;
      kept->origin = c->result_from ? c->result_from : c->loaded_from;
      kept->site = site, kept->warp = warp_state(x)->number, kept->lane = (uint8_t)l;
    }
  }
  return false;
}

void mx__uninit_copy(struct mx_exec *x, const struct mx_insn *i, uint64_t m) {
  struct mx_check *c = check_of(x);
  const uint64_t *to = mx__operand(x, i->o[1]), *from = mx__operand(x, i->o[2]), *n = mx__operand(x, i->o[3]);
  MX_FOR_LANES (l, m) {
    uint64_t t = 0, f = 0;
    enum undefined_what what;
    unsigned char *tb = n[l] ? mx__uninit_bits(c, x, l, to[l], n[l], &t, &what) : NULL,
                  *fb = n[l] ? mx__uninit_bits(c, x, l, from[l], n[l], &f, &what) : NULL;
    if (!tb && fb && !mx__bits_all_set(fb, f, n[l]) && to[l] >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL &&
        to[l] < MX_HEAP_START) {
      add_bits(c, to[l]);
      tb = mx__uninit_bits(c, x, l, to[l], n[l], &t, &what);
    }
    if (!tb) continue;
    for (uint64_t k = 0; k < n[l]; k++) mx__bits_set(tb, t + k, 1, !fb || (fb[(f + k) / 8] >> ((f + k) & 7) & 1));
  }
}

void mx__uninit_set_register(struct mx_check *c, struct mx_frame *f, unsigned cls, uint32_t slot, bool spilled,
                             uint64_t lanes) {
  const struct mx_func *fn = f->fn->func;
  if (!(c->tools & MX_CHECK_UNINIT) || !c->code) return;
  uint32_t at = slot + (cls == MX_PRED ? 0u : cls == MX_R32 ? fn->npred : (uint32_t)fn->npred + fn->n32);
  if (spilled)
    at = slot + (uint32_t)fn->npred + fn->n32 + fn->n64 +
         (cls == MX_PRED  ? 0u
          : cls == MX_R32 ? fn->nspillpred
                          : (uint32_t)fn->nspillpred + fn->nspill32);
  for (unsigned k = 0; k <= (cls == MX_R128); k++) defined_of(c, f)[at + k] |= lanes;
}
void mx__uninit_set_memory(struct mx_check *c, const struct mx_block *b, uint32_t warp, uint32_t lane, uint64_t address,
                           uint64_t bytes) {
  struct block_state *s = block_state(b);
  const uint64_t window = address >> MX_WINDOW_SHIFT, in = address & (MX_WINDOW(1) - 1);
  if (!(c->tools & MX_CHECK_UNINIT) || !c->code) return;
  if (window == MX_WINDOW_GLOBAL && address >= MX_HEAP_START) {
    if (c->heap_defined) mx__bits_set(c->heap_defined, address - MX_HEAP_START, bytes, true);
  } else if (window == MX_WINDOW_GLOBAL) mx__undefined_written(c, address, bytes);
  else if (window == MX_WINDOW_SHARED && s && in + bytes <= c->launch->shared_bytes)
    mx__bits_set(s->defined, in, bytes, true);
  else if (window == MX_WINDOW_LOCAL && s && s->local && in + bytes <= c->launch->local_bytes)
    mx__bits_set(s->local + (warp * c->launch->lanes + lane) * s->local_stride, in, bytes, true);
}

void mx__uninit_heap(struct mx_check *c, uint64_t address, uint64_t bytes) {
  if (c->heap_defined) mx__bits_set(c->heap_defined, address - MX_HEAP_START, bytes, false);
}

/* ---- the host -----------------------------------------------------------------------------------------------------*/
void mx__undefined_add(struct mx_check *c, uint64_t lo, uint64_t size, bool defined) {
  if (!mx__check_grow(c, (void **)&c->undefined, c->nundefined, &c->undefined_room, sizeof *c->undefined)) return;
  struct undefined u = {lo, size, NULL};
  u.defined = mmap(NULL, size / 8 + 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (u.defined == MAP_FAILED) return;
  if (defined) memset(u.defined, 0xFF, size / 8 + 1);
  c->undefined[c->nundefined++] = u;
}
static void undefined_drop(struct mx_check *c, size_t k) {
  munmap(c->undefined[k].defined, c->undefined[k].size / 8 + 8);
  c->undefined[k] = c->undefined[--c->nundefined];
}
void mx__undefined_freed(struct mx_check *c, uint64_t address) {
  for (size_t k = 0; k < c->nundefined; k++)
    if (c->undefined[k].lo == address) return undefined_drop(c, k);
}
void mx__undefined_written(struct mx_check *c, uint64_t address, uint64_t bytes) {
  for (size_t k = 0; k < c->nundefined; k++) {
    struct undefined *u = &c->undefined[k];
    if (address - u->lo >= u->size) continue;
    if (bytes > u->size - (address - u->lo)) bytes = u->size - (address - u->lo);
    if (!(address - u->lo) && bytes == u->size) return undefined_drop(c, k); /* all of it is written */
    return mx__bits_set(u->defined, address - u->lo, bytes, true);
  }
}
void mx__undefined_copied(struct mx_check *c, uint64_t to, uint64_t from, uint64_t bytes) {
  const struct undefined *f = region_at(c, from);
  if (!f) return mx__undefined_written(c, to, bytes);
  struct undefined *t = region_at(c, to);
  if (!t) return;
  f = region_at(c, from);
  for (uint64_t k = 0; k < bytes && to - t->lo + k < t->size && from - f->lo + k < f->size; k++)
    mx__bits_set(t->defined, to - t->lo + k, 1, f->defined[(from - f->lo + k) / 8] >> ((from - f->lo + k) & 7) & 1);
}

/* ---- what the host reads ------------------------------------------------------------------------------------------
 * At the end of a launch, while its sites are known, words that hold undefined values get a finding that nobody sees
 * before the host reads one of them. */
static int by_address(const void *a, const void *b) {
  const uint64_t x = ((const struct stored *)a)->address, y = ((const struct stored *)b)->address;
  return x < y ? -1 : x > y;
}
static bool still_undefined(struct mx_check *c, uint64_t address) {
  const struct undefined *u = region_at(c, address);
  if (!u) return false;
  const uint64_t at = address - u->lo, left = u->size - at;
  return !mx__bits_all_set(u->defined, at, left < 4 ? left : 4);
}
static void keep_stored(struct mx_check *c) {
  size_t n = 0;
  for (size_t k = 0; k < c->stored_size; k++)
    if (c->stored[k].used && still_undefined(c, c->stored[k].address)) c->stored[n++] = c->stored[k];
  if (n) qsort(c->stored, n, sizeof *c->stored, by_address);
  for (size_t k = 0; k < n; k++) {
    const struct stored *s = &c->stored[k];
    struct finding *f = mx__found_at(c, MX_CHECK_UNINIT, "stored", s->site, s->warp, 1ull << s->lane, s->origin, 1);
    if (f) {
      f->hidden = true;
      c->nfindings--;
      f->info.count = 0;
      mx__found_address(f, c, s->address, 4, mx__where_of(c, s->address, 4));
      tell_origin(c, f, s->origin, s->warp);
      mx__found_end(f, mx__format("the host reads a value that was never written, stored here"));
    } else f = c->again;
    if (!f || !mx__check_grow(c, (void **)&c->kept, c->nkept, &c->kept_room, sizeof *c->kept)) continue;
    c->kept[c->nkept++] = (struct kept){s->address, f};
  }
}
void mx__undefined_read(struct mx_check *c, uint64_t address, uint64_t bytes) {
  for (size_t k = 0; k < c->nkept; k++) {
    struct kept *s = &c->kept[k];
    if (!s->finding || s->address < address || s->address >= address + bytes || !still_undefined(c, s->address))
      continue;
    s->finding->info.count++;
    if (s->finding->hidden) s->finding->hidden = false, c->nfindings++;
    s->finding = NULL; /* a word is told of once */
  }
}

/* ---- life ---------------------------------------------------------------------------------------------------------*/
void mx__uninit_begin(struct mx_check *c) {
  const uint64_t bytes = c->launch->heap ? mx__heap_size(c->launch->heap) : 0;
  c->nkept = 0; /* the launch may write what was undefined */
  if (c->heap_defined && bytes == c->heap_bytes) return;
  if (c->heap_defined) munmap(c->heap_defined, c->heap_bytes / 8 + 8);
  c->heap_bytes = bytes;
  c->heap_defined =
      mmap(NULL, bytes / 8 + 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (c->heap_defined == MAP_FAILED) c->heap_defined = NULL;
}
void mx__uninit_end(struct mx_check *c) {
  keep_stored(c);
  free(c->stored);
  free(c->notes);
  c->stored = NULL;
  c->notes = NULL;
  c->nstored = c->stored_size = 0;
}
void mx__uninit_block(struct mx_check *c, struct block_state *b) {
  memset(b->defined, 0, c->launch->shared_bytes / 8 + 1);
  if (b->local && b->local_top)
    for (uint32_t l = 0; l < b->nwarps * c->launch->lanes; l++)
      memset(b->local + l * b->local_stride, 0, b->local_top / 8 + 1);
  b->local_top = 0;
}
void mx__uninit_block_end(struct mx_check *c, struct block_state *b) {
  if (b->local) munmap(b->local, b->local_stride * c->launch->lanes * b->nwarps);
}
void mx__uninit_forget(struct mx_check *c) {
  while (c->nundefined) undefined_drop(c, c->nundefined - 1);
  if (c->heap_defined) munmap(c->heap_defined, c->heap_bytes / 8 + 8);
  free(c->undefined);
  free(c->kept);
  c->undefined = NULL;
  c->kept = NULL;
  c->heap_defined = NULL;
  c->undefined_room = c->nkept = c->kept_room = 0;
}

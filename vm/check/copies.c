/* Asynchronous copies that have not landed: their destinations may not be read or written, nor their sources written,
 * before a thread has waited for them. The machine lets them land as late as possible (vm/exec/async.h), which makes
 * more such errors visible. */
#include "check.h"

#include "vm/exec/async.h"

#include <stdlib.h>

struct range {
  const unsigned char *lo, *hi;
};
static bool meet(struct range x, struct range y) { return x.lo < y.hi && y.lo < x.hi; }
static struct range target_of(const struct mx_copy *c, uint64_t lane) {
  if (c->kind == MX_COPY_BULK) return (struct range){c->to[0], c->to[0] + c->size};
  return (struct range){c->to[lane], c->to[lane] + c->bytes};
}
static struct range source_of(const struct mx_copy *c, uint64_t lane) {
  if (c->kind == MX_COPY_BULK) return c->from[0] ? (struct range){c->from[0], c->from[0] + c->size} : (struct range){0};
  const uint32_t bytes = c->whole ? c->bytes : c->read[lane];
  return bytes ? (struct range){c->from[lane], c->from[lane] + bytes} : (struct range){0};
}
/* The range that contains all ranges of a copy's lanes. */
static struct range around(const struct mx_copy *c, struct range (*of)(const struct mx_copy *c, uint64_t lane)) {
  struct range all = {0};
  MX_FOR_LANES (l, c->lanes) {
    const struct range r = of(c, l);
    if (!r.lo) continue;
    if (!all.lo || r.lo < all.lo) all.lo = r.lo;
    if (!all.hi || r.hi > all.hi) all.hi = r.hi;
  }
  return all;
}
static uint32_t site_of(const struct mx_check *c, const struct mx_copy *copy) {
  const struct mx_pfunc *fn = &c->code->prep->funcs[copy->func];
  const struct mx_insn *i = mx__at(fn, copy->pc);
  return c->code->first_site[copy->func] + (uint32_t)(i - fn->insns) + (i->kind == MX_INSN_JOIN);
}

/* An access to be compared with the copies of warp `warp` of its block. */
struct look {
  struct mx_exec *x;
  const struct mx_access *access;
  uint32_t site, warp;
};
static void found(const struct look *k, const struct mx_copy *copy, uint64_t lane, uint64_t of, bool source) {
  struct mx_check *c = check_of(k->x);
  const uint32_t other = site_of(c, copy);
  struct finding *f = mx__finding(k->x, MX_CHECK_RACE, source ? "copy-source" : "copy-target", k->site, 1ull << lane,
                                  other, FOUND_PAIR);
  if (!f) return;
  const uint64_t address = k->access->address[lane] + k->access->base;
  mx__found_address(f, c, address, k->access->bytes, mx__where_of(c, address, k->access->bytes));
  mx__found_other(f, c, mx__format("copied by lane %u", (unsigned)of), other,
                  warp_state(k->x)->number - k->x->warp->number + k->warp, 1ull << of);
  mx__found_end(f, mx__format("%s of what an asynchronous copy %s, for which nobody has waited yet",
                              k->access->write ? "write" : "read", source ? "reads" : "writes"));
}
static void look_at(const struct look *k, const struct mx_copy *copy, bool source) {
  struct range (*const of)(const struct mx_copy *c, uint64_t lane) = source ? source_of : target_of;
  const struct mx_access *a = k->access;
  const struct range all = around(copy, of);
  MX_FOR_LANES (l, a->lanes) {
    const struct range r = {a->host[l], a->host[l] + a->bytes};
    if (!meet(r, all)) continue;
    MX_FOR_LANES (o, copy->lanes)
      if (meet(r, of(copy, o))) {
        found(k, copy, l, o, source);
        break;
      }
  }
}
void mx__copies_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a) {
  const struct mx_async *under_way = x->block->async;
  if (!under_way || !under_way->n) return;
  for (uint32_t w = 0; w < x->block->nwarps; w++)
    for (uint32_t n = 0; n < under_way->warp[w].n; n++) {
      const struct mx_copy *copy = under_way->warp[w].list[n];
      const struct look k = {x, a, site, w};
      if (copy->kind == MX_COPY_ARRIVE || (copy->kind == MX_COPY_BULK && copy->reduce)) continue;
      look_at(&k, copy, false);
      if (a->write) look_at(&k, copy, true);
    }
}

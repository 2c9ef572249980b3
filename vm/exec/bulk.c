/* Bulk copies, stores that land later, and their reductions: pieces of one lane, of any size. Copies to shared memory
 * signal an mbarrier of the target's block when they land; those to global memory are in bulk groups. */
#include "async.h"
#include "core/format.h"
#include "vm/exec/access.h"
#include "vm/exec/hooks.h"
#include "vm/exec/warp.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_64 = 11 }; /* the first 64-bit operation in reductions.h */

/* ---- issuing --------------------------------------------------------------------------------------------*/
static bool is_narrow(const struct mx_insn *i, unsigned k) { return mx__types[mx__ops[i->op].opnd[k].type].bits == 32; }
/* The address that operand k and the offset in operand k + 1 make. */
static uint64_t address(const struct mx_exec *x, const struct mx_insn *i, unsigned k, uint64_t lane) {
  const void *base = mx__operand(x, mx__operand_ref(i, k));
  const uint64_t off = *(const uint64_t *)mx__operand(x, mx__operand_ref(i, k + 1));
  return is_narrow(i, k) ? ((const uint32_t *)base)[lane] + (uint32_t)off : ((const uint64_t *)base)[lane] + off;
}
static const struct mx_insn *wrong(struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, uint64_t lane,
                                   char *detail) {
  return mx__trap_at(x, i, kind, 1ull << lane, detail);
}
/* The block whose shared memory contains both addresses; NULL: there is none. */
static struct mx_block *in_one_block(struct mx_exec *x, const unsigned char *to, const unsigned char *signal) {
  struct mx_block *of = mx__shared_owner(x->block, to);
  return of && of == mx__shared_owner(x->block, signal) ? of : NULL;
}

static struct mx_copy *piece(struct mx_exec *x, const struct mx_insn *i, uint64_t lane, unsigned char *to,
                             const unsigned char *from, uint32_t size) {
  uint64_t taken;
  struct mx_copy *c = mx__async_issue(x, i, MX_COPY_BULK, 1ull << lane, &taken);
  if (!c) return NULL;
  c->to[0] = to;
  c->from[0] = from;
  c->of = NULL;
  c->address = 0;
  c->size = size;
  c->reduce = NULL;
  return c;
}

/* The common part of bulk copies' rows. A space named as shared memory may also be given by a generic address, if its
 * register has 64 bits. */
struct form {
  bool to_shared, from_shared, cast;
  unsigned mask;
};
static struct form form_of(unsigned op) {
  const char *s = mx__ops[op].spelling;
  struct form f = {.to_shared = strstr(s, "mbarrier") != NULL,
                   .from_shared = strstr(s, ".shared::cta") && !strstr(s, "}.global"),
                   .cast = strstr(s, "multicast") != NULL};
  return f;
}
/* In 64-bit registers, shared addresses may be generic ones. */
static unsigned shared_space(uint64_t a) { return a >> MX_WINDOW_SHIFT == MX_WINDOW_SHARED ? MX_GENERIC : MX_SHARED; }

/* One lane's copy to one block. False: it stopped, and *next is what the body returns. */
static bool copy_to(struct mx_exec *x, const struct mx_insn *i, const struct form *f, uint64_t lane, uint64_t to,
                    uint64_t from, uint64_t signal, uint32_t size, const struct mx_insn **next) {
  unsigned char *target, *source, *mbarrier = NULL;
  *next = NULL;
  if (!mx__access_range(x, i, lane, from, size, 16, f->from_shared ? shared_space(from) : MX_GLOBAL, false, &source))
    return false;
  if (f->from_shared && mx__shared_owner(x->block, source) != x->block)
    return *next = wrong(x, i, MX_TRAP_ASYNC, lane, mx__format("the source must lie in the own block's shared memory")),
           false;
  if (!mx__access_range(x, i, lane, to, size, 16, f->to_shared ? shared_space(to) : MX_GLOBAL, true, &target))
    return false;
  if (f->to_shared && !mx__access_range(x, i, lane, signal, 8, 8, shared_space(signal), true, &mbarrier)) return false;
  struct mx_block *of = f->to_shared ? in_one_block(x, target, mbarrier) : NULL;
  if (f->to_shared && !of)
    return *next = wrong(x, i, MX_TRAP_ASYNC, lane,
                         mx__format("the target and its mbarrier must lie in the shared memory of one block")),
           false;
  struct mx_copy *c = piece(x, i, lane, target, source, size);
  if (!c) return *next = mx__async_no_memory(x, i), false;
  c->of = of;
  c->address = to;
  c->signal = mbarrier;
  if (mx__ops[i->op].mods > 2) c->reduce = &mx__reductions[i->mod];
  return true;
}

const struct mx_insn *mx__op_bulk(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const struct form f = form_of(i->op);
  if (!m) return i + 1;
  if (!mx__async_of(x->block)) return mx__async_no_memory(x, i);
  const uint32_t *sizes = mx__operand(x, mx__operand_ref(i, 4)),
                 *masks = f.cast ? mx__operand(x, mx__operand_ref(i, 7)) : NULL;
  MX_FOR_LANES (l, m) {
    const uint64_t to = address(x, i, 0, l), from = address(x, i, 2, l), signal = f.to_shared ? address(x, i, 5, l) : 0;
    const struct mx_insn *next;
    if (sizes[l] % 16)
      return wrong(x, i, MX_TRAP_ASYNC, l, mx__format("%u bytes: bulk copies are multiples of 16 bytes", sizes[l]));
    if (!f.cast) {
      if (!copy_to(x, i, &f, l, to, from, signal, sizes[l], &next)) return next;
      continue;
    }
    for (unsigned rank = 0; rank < 16; rank++)
      if (masks[l] >> rank & 1 &&
          !copy_to(x, i, &f, l, mx__shared_at_rank(to, rank), from, mx__shared_at_rank(signal, rank), sizes[l], &next))
        return next;
  }
  return mx__async_issued(x, i);
}

const struct mx_insn *mx__op_bulk_commit(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  struct mx_async *a = m ? mx__async_of(x->block) : NULL;
  if (m && !a) return mx__async_no_memory(x, i);
  if (!m) return i + 1;
  struct mx_warp_copies *w = &a->warp[x->warp->number];
  w->has_bulk_groups = true;
  MX_FOR_LANES (l, m) w->bulk_groups[l]++;
  return i + 1;
}
/* The modifier says to wait only until sources have been read; here they are read when the copies land. */
const struct mx_insn *mx__op_bulk_wait(struct mx_exec *x, const struct mx_insn *i) {
  return mx__async_wait(x, i, mx__lanes_of(x, i), true, (uint32_t)i->o[0]);
}

/* st.async and red.async store or combine values of one, two or four registers. Modifiers: the group for the space
 * comes first, then that for the operation. */
const struct mx_insn *mx__op_st_async(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_op_info *o = &mx__ops[i->op];
  const uint64_t m = mx__lanes_of(x, i);
  const unsigned n = o->nopnds - 4u, each = mx__types[o->opnd[2].type].bits / 8u, size = n * each,
                 space = i->mod & 1 ? MX_SHARED : MX_GENERIC;
  const bool reduces = o->mods > 2;
  if (!m) return i + 1;
  if (!mx__async_of(x->block)) return mx__async_no_memory(x, i);
  MX_FOR_LANES (l, m) {
    const uint64_t to = address(x, i, 0, l);
    unsigned char *target, *mbarrier;
    if (!mx__access_range(x, i, l, to, size, size, space, true, &target)) return NULL;
    if (!mx__access_range(x, i, l, address(x, i, 2 + n, l), 8, 8, space, true, &mbarrier)) return NULL;
    struct mx_block *of = in_one_block(x, target, mbarrier);
    if (!of)
      return wrong(x, i, MX_TRAP_ASYNC, l,
                   mx__format("the target and its mbarrier must lie in the shared memory of one block"));
    struct mx_copy *c = piece(x, i, l, target, NULL, size);
    if (!c) return mx__async_no_memory(x, i);
    c->of = of;
    c->signal = mbarrier;
    for (unsigned k = 0; k < n; k++)
      memcpy((unsigned char *)c->value + k * each,
             (const unsigned char *)mx__operand(x, mx__operand_ref(i, 2 + k)) + l * each, each);
    if (reduces) c->reduce = &mx__reductions[i->mod / 2 + (each == 8 ? FIRST_64 : 0)];
  }
  return mx__async_issued(x, i);
}

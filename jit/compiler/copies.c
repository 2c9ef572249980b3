/* Asynchronous copies of all lanes of a warp. Where both addresses have shapes (shapes.c) and chunks lie in rows, as in
 * copies of tiles, a copy is recorded as two addresses for each chunk in the warp's ring of copies (vm/exec/async.h).
 * The bytes are copied when the program waits for them, by one call for all pending copies. Other copies, and other
 * orders of landing than at the wait, are left to the interpreter's bodies. */
#include "lowering.h"

#include "core/mbarrier.h"
#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

/* How many pieces of a copy are loaded before the first is stored; how many copies are prefetched; how many land in
 * line. */
enum { LAND_AT_ONCE = 4, PREFETCHED = 16, LANDED_IN_LINE = 16 };

/* A field of the instruction's bounds cache number n. */
static gcc_jit_rvalue *bound(struct lw *l, unsigned n, uint64_t field) {
  const uint64_t at = (uint64_t)(l->ins->bounds + n) * sizeof(struct mx_bounds);
  return jx_keep(&l->j, jx_rv(lw_field(l, jx_rv(l->bounds), at + field, l->j.t_u64)));
}
static gcc_jit_lvalue *counter(struct lw *l, gcc_jit_rvalue *of, uint64_t at) {
  return lw_field(l, of, at, l->j.t_u32);
}
static gcc_jit_rvalue *u32_op(struct lw *l, enum gcc_jit_binary_op op, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return jx_op(&l->j, op, l->j.t_u32, x, y);
}
static gcc_jit_rvalue *is_zero(struct lw *l, gcc_jit_rvalue *x) {
  return lw_compare(l, GCC_JIT_COMPARISON_EQ, x, jx_int(&l->j, l->j.t_u32, 0));
}
static gcc_jit_rvalue *is_null(struct lw *l, gcc_jit_rvalue *p) {
  return lw_compare(l, GCC_JIT_COMPARISON_EQ, p, gcc_jit_context_null(l->j.c, l->j.t_pu8));
}
gcc_jit_rvalue *lw_lanes_lack(struct lw *l) {
  gcc_jit_rvalue *lanes[LW_CHUNKS], *here = jx_rv(l->emask);
  if (!l->a->blocks[l->block].converged) {
    for (unsigned c = 0; c < l->nc; c++) lanes[c] = lw_lanes(l, c);
    here = lw_pack(l, lanes);
  }
  return lw_compare(l, GCC_JIT_COMPARISON_NE, here, lw_all_lanes(l));
}
/* The warp's ring of copies, if code may use it and all lanes are active; otherwise code goes on at `slow`. The test is
 * made once in a block, and in each version of a run of accesses. */
static gcc_jit_rvalue *copies(struct lw *l, gcc_jit_block *slow) {
  struct jx *j = &l->j;
  const uint32_t place = lw_place(l);
  if (!l->copies_of || l->copies_in != place) {
    if (!l->copies_of) l->copies_of = jx_local(j, j->t_pu8);
    l->copies_in = place;
    gcc_jit_block *all = lw_new_block(l, "all"), *some = lw_new_block(l, "copies"), *on = lw_new_block(l, "asked");
    jx_set(j, l->copies_of, gcc_jit_context_null(j->c, j->t_pu8));
    lw_split(l, lw_rare(l, lw_lanes_lack(l)), on, all);
    j->b = all;
    gcc_jit_rvalue *block = jx_rv(lw_field(l, l->x, MX_AT(exec, block), j->t_pu8)),
                   *first = jx_keep(j, jx_rv(lw_field(l, block, MX_AT(block, copies), j->t_pu8))),
                   *number = jx_rv(lw_field(l, l->x, MX_AT(exec, sreg) + 8 * MX_SR_WARPID, j->t_u64));
    lw_split(l, lw_rare(l, is_null(l, first)), on, some);
    j->b = some;
    jx_set(j, l->copies_of,
           lw_add(l, first, lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, number, lw_u64(l, sizeof(struct mx_warp_copies)))));
    lw_go(l, on);
    j->b = on;
  }
  gcc_jit_block *here = lw_new_block(l, "here");
  lw_split(l, lw_rare(l, is_null(l, jx_rv(l->copies_of))), slow, here);
  j->b = here;
  return jx_rv(l->copies_of);
}

/* How many lanes fill one vector: a piece of a copy, if their elements are adjacent. */
static unsigned row_of(const struct lw *l, unsigned bytes) { return l->j.bytes / bytes; }
/* An operand's addresses: the host address for number 0, and the scale of the numbers. */
struct rows {
  uint32_t slot;
  uint64_t scale;
  gcc_jit_rvalue *host;
};
/* *wrong and *odd: as of lw_shape_misses(), which also say if the addresses are not made of such pieces. */
static struct rows rows(struct lw *l, const struct lw_base *base, unsigned k, unsigned bytes, gcc_jit_rvalue **wrong,
                        gcc_jit_rvalue **odd) {
  struct jx *j = &l->j;
  const struct lw_shape *sh = &l->shapes[base->slot];
  const uint64_t scale = base->pre_scale * base->post_scale;
  gcc_jit_rvalue *variable, *lo = bound(l, k / 2, MX_AT(bounds, lo)), *host = bound(l, k / 2, MX_AT(bounds, host)),
                            *span = bound(l, k / 2, k ? MX_AT(bounds, reads) : MX_AT(bounds, writes));
  const uint64_t off_k = lw_offset(l, k + 1, &variable);
  gcc_jit_rvalue *off = variable ? variable : lw_u64(l, off_k),
                 *limit = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, span, lw_u64(l, bytes)));
  uint64_t needs = (uint64_t)MX_JIT_STEP1 << __builtin_ctzll(bytes / scale);
  if (row_of(l, bytes) > 2) needs |= (uint64_t)MX_JIT_RUN << (__builtin_ctz(row_of(l, bytes)) - 1);
  gcc_jit_rvalue *lacks = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, jx_rv(sh->kind), lw_u64(l, needs));
  lacks = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_XOR, lacks, lw_u64(l, needs));
  *wrong = lw_shape_misses(l, base, lo, limit, bytes, &off, odd);
  *odd = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_OR, *odd, lacks);
  return (struct rows){base->slot, scale, jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, off))};
}
static gcc_jit_rvalue *first_of(struct lw *l, const struct rows *r) {
  return lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, r->host,
                   lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, jx_rv(l->shapes[r->slot].min), lw_u64(l, r->scale)));
}
static gcc_jit_rvalue *step(struct lw *l, const struct rows *r, unsigned bit) {
  gcc_jit_rvalue *s = jx_rv(lw_field(l, lw_shape_cell(l, r->slot), MX_AT(jit_shape, step) + 4 * bit, l->j.t_u32));
  s = gcc_jit_context_new_cast(l->j.c, NULL, s, l->j.t_u64);
  return r->scale == 1 ? s : lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, s, lw_u64(l, r->scale));
}
static gcc_jit_rvalue *cell(struct lw *l, gcc_jit_rvalue *of, gcc_jit_rvalue *number) {
  gcc_jit_rvalue *at =
      u32_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, number, jx_rv(counter(l, of, MX_AT(warp_copies, mask))));
  at = lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, gcc_jit_context_new_cast(l->j.c, NULL, at, l->j.t_u64),
                 lw_u64(l, sizeof(struct mx_row_copy)));
  return jx_keep(&l->j, lw_add(l, jx_rv(lw_field(l, of, MX_AT(warp_copies, rows), l->j.t_pu8)), at));
}
/* How a copy describes itself in the ring: size and kind. */
static uint32_t form(const struct lw *l, unsigned bytes) { return row_of(l, bytes) | 1u << 8 | (uint32_t)bytes << 16; }
_Static_assert(MX_AT(row_copy, pc) == MX_AT(row_copy, func) + 4 && MX_AT(row_copy, row) == MX_AT(row_copy, group) + 4,
               "each two are stored at once");
/* A field of a copy in the ring: an address, or the step between addresses. */
static gcc_jit_lvalue *place(struct lw *l, gcc_jit_rvalue *c, unsigned k, bool from) {
  return lw_field(l, c, MX_AT(row_copy, at) + 16 * k + (from ? 8 : 0), l->j.t_u64);
}
static gcc_jit_rvalue *pointer(struct lw *l, gcc_jit_rvalue *address) {
  return gcc_jit_context_new_bitcast(l->j.c, NULL, address, l->j.t_pu8);
}
/* Computes the addresses of all pieces, doubling their number with each step. */
static unsigned all_places(struct lw *l, unsigned bytes, gcc_jit_rvalue *first, gcc_jit_rvalue *const *steps,
                           gcc_jit_rvalue **at) {
  const unsigned n = l->a->lanes / row_of(l, bytes);
  at[0] = first;
  for (unsigned bit = 1, b = 0; bit < n; bit *= 2, b++)
    for (unsigned k = 0; k < bit; k++)
      at[bit + k] = jx_keep(&l->j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, at[k], steps[b]));
  return n;
}
/* The number of the next copy, if it fits into the ring; otherwise code goes on at `slow`. */
static gcc_jit_rvalue *next_number(struct lw *l, gcc_jit_rvalue *of, gcc_jit_block *slow) {
  struct jx *j = &l->j;
  gcc_jit_block *fits = lw_new_block(l, "fits");
  gcc_jit_rvalue *before = jx_keep(j, jx_rv(counter(l, of, MX_AT(warp_copies, issued)))),
                 *waiting =
                     u32_op(l, GCC_JIT_BINARY_OP_MINUS, before, jx_rv(counter(l, of, MX_AT(warp_copies, landed))));
  lw_split(
      l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_GE, waiting, jx_rv(counter(l, of, MX_AT(warp_copies, capacity))))),
      slow, fits);
  j->b = fits;
  return before;
}
/* The copy with that number is issued: its cell gets its place in the program, its group, and `form`. */
static gcc_jit_rvalue *issue(struct lw *l, gcc_jit_rvalue *of, gcc_jit_rvalue *number, uint32_t form) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *c = cell(l, of, number);
  jx_set(j, counter(l, of, MX_AT(warp_copies, issued)),
         u32_op(l, GCC_JIT_BINARY_OP_PLUS, number, jx_int(j, j->t_u32, 1)));
  jx_set(j, lw_field(l, c, MX_AT(row_copy, func), j->t_u64),
         lw_u64(l, l->a->frames[l->ins->frame].func | (uint64_t)l->a->origin[l->ins->pc].pc << 32));
  jx_set(j, counter(l, c, MX_AT(row_copy, group)), jx_rv(counter(l, of, MX_AT(warp_copies, committed))));
  jx_set(j, counter(l, c, MX_AT(row_copy, row)), jx_int(j, j->t_u32, form));
  return c;
}
static bool copy(struct lw *l) {
  struct jx *j = &l->j;
  const struct lw_copy *copy = l->copies[l->ins - l->a->ins];
  const unsigned bytes = mx_w_operand(l->ins->w, 4);
  if (!copy || !lw_shape_bit(&copy->to, bytes) || !lw_shape_bit(&copy->from, bytes)) return false;
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done"), *near = lw_new_block(l, "near");
  gcc_jit_rvalue *of = copies(l, slow), *wrong, *wrong_too, *odd, *odd_too;
  const struct rows to = rows(l, &copy->to, 0, bytes, &wrong, &odd),
                    from = rows(l, &copy->from, 2, bytes, &wrong_too, &odd_too);
  wrong = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_OR, wrong, wrong_too);
  odd = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_OR, odd, odd_too);
  lw_split(l, lw_rare(l, lw_wrong_or_odd(l, wrong, odd)), slow, near);
  j->b = near;
  gcc_jit_rvalue *c = issue(l, of, next_number(l, of, slow), form(l, bytes));
  gcc_jit_rvalue *source = jx_keep(j, first_of(l, &from)), *steps[MX_JIT_STEPS], *at[MX_MAX_LANES];
  jx_set(j, place(l, c, 0, false), first_of(l, &to));
  jx_set(j, place(l, c, 0, true), source);
  const unsigned low = (unsigned)__builtin_ctz(row_of(l, bytes));
  for (unsigned b = low; 1u << b < l->a->lanes; b++) {
    jx_set(j, place(l, c, 1 + b - low, false), step(l, &to, b));
    jx_set(j, place(l, c, 1 + b - low, true), steps[b - low] = jx_keep(j, step(l, &from, b)));
  }
  const unsigned n = all_places(l, bytes, source, steps, at);
  for (unsigned k = 0; k < n && n <= PREFETCHED; k++) jx_prefetch(j, lw_vector(l, pointer(l, at[k]), 0, false));
  lw_end_with_fallback(l, slow, end);
  return true;
}

static void commit(struct lw *l, gcc_jit_rvalue *of) {
  gcc_jit_lvalue *groups = counter(l, of, MX_AT(warp_copies, committed));
  jx_set(&l->j, groups, u32_op(l, GCC_JIT_BINARY_OP_PLUS, jx_rv(groups), jx_int(&l->j, l->j.t_u32, 1)));
}
/* Copy c of the ring lands: several pieces are loaded before the first of them is stored. */
static void land(struct lw *l, gcc_jit_rvalue *c, unsigned bytes) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *to[MX_MAX_LANES], *from[MX_MAX_LANES], *to_steps[MX_JIT_STEPS], *from_steps[MX_JIT_STEPS],
      *v[LAND_AT_ONCE];
  for (unsigned b = 1; row_of(l, bytes) << (b - 1) < l->a->lanes; b++) {
    to_steps[b - 1] = jx_keep(j, jx_rv(place(l, c, b, false)));
    from_steps[b - 1] = jx_keep(j, jx_rv(place(l, c, b, true)));
  }
  const unsigned n = all_places(l, bytes, jx_keep(j, jx_rv(place(l, c, 0, false))), to_steps, to);
  all_places(l, bytes, jx_keep(j, jx_rv(place(l, c, 0, true))), from_steps, from);
  for (unsigned k = 0; k < n; k += LAND_AT_ONCE) {
    for (unsigned m = 0; m < LAND_AT_ONCE && k + m < n; m++)
      v[m] = j->isa->load(j, false, lw_vector(l, pointer(l, from[k + m]), 0, false));
    for (unsigned m = 0; m < LAND_AT_ONCE && k + m < n; m++)
      j->isa->store(j, lw_vector(l, pointer(l, to[k + m]), 0, false), v[m]);
  }
  jx_touches_memory(gcc_jit_block_add_extended_asm(j->b, NULL, "")); /* gathers do not say which memory they read */
}
/* The set of sizes of copies that the function may issue natively. */
static unsigned sizes(const struct lw *l) {
  unsigned all = 0;
  for (uint32_t k = 0; k < l->a->nins; k++)
    if (l->copies[k]) all |= mx_w_operand(l->a->ins[k].w, 4);
  return all;
}
/* The ring's oldest copies land in line, as far as this wait demands and as this function issued them; a call does what
 * is left. */
static void wait(struct lw *l, gcc_jit_rvalue *of, uint32_t groups, gcc_jit_block *slow, gcc_jit_block *end) {
  struct jx *j = &l->j;
  gcc_jit_block *next = lw_new_block(l, "next"), *some = lw_new_block(l, "some"), *due = lw_new_block(l, "due"),
                *ring = lw_new_block(l, "ring"), *good = lw_new_block(l, "good");
  gcc_jit_rvalue *one = jx_int(j, j->t_u32, 1);
  lw_split(l, is_zero(l, jx_rv(counter(l, of, MX_AT(warp_copies, n)))), ring, some);
  j->b = ring;
  lw_go(l, next);
  j->b = next;
  gcc_jit_lvalue *landed = counter(l, of, MX_AT(warp_copies, landed));
  gcc_jit_rvalue *at = jx_keep(j, jx_rv(landed));
  gcc_jit_block *left = lw_new_block(l, "left");
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, at, jx_rv(counter(l, of, MX_AT(warp_copies, issued)))), end, left);
  j->b = left;
  gcc_jit_rvalue *c = cell(l, of, at),
                 *since = u32_op(l, GCC_JIT_BINARY_OP_MINUS, jx_rv(counter(l, of, MX_AT(warp_copies, committed))),
                                 jx_rv(counter(l, c, MX_AT(row_copy, group))));
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_LE, since, jx_int(j, j->t_u32, groups)), end, due);
  j->b = due;
  for (unsigned bytes = 4, all = sizes(l); bytes <= 16; bytes *= 2) {
    if (!(all & bytes) || l->a->lanes / row_of(l, bytes) > LANDED_IN_LINE) continue;
    gcc_jit_block *lands = lw_new_block(l, "lands"), *other = lw_new_block(l, "other");
    lw_split(l,
             lw_compare(l, GCC_JIT_COMPARISON_EQ, jx_rv(counter(l, c, MX_AT(row_copy, row))),
                        jx_int(j, j->t_u32, form(l, bytes))),
             lands, other);
    j->b = lands;
    land(l, c, bytes);
    jx_set(j, landed, u32_op(l, GCC_JIT_BINARY_OP_PLUS, at, one));
    lw_go(l, next);
    j->b = other;
  }
  lw_go(l, some);
  j->b = some;
  gcc_jit_rvalue *arg[] = {jx_int(j, j->t_u32, groups)}, *done = jx_keep(j, LW_HELP(l, wait, arg));
  lw_split(l, lw_rare(l, is_zero(l, done)), slow, good);
  j->b = good;
}
static void commit_or_wait(struct lw *l, unsigned op) {
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done");
  gcc_jit_rvalue *of = copies(l, slow);
  if (op == MX_CP_ASYNC_COMMIT) commit(l, of);
  else wait(l, of, mx_w_operand(l->ins->w, 0), slow, end);
  lw_end_with_fallback(l, slow, end);
}
/* The arrival of all lanes at one mbarrier, as arrive_in_ring() in vm/exec/async.c makes it. */
static bool arrive(struct lw *l) {
  struct jx *j = &l->j;
  if (!lw_operand_uniform(l, 0)) return false;
  const bool expected = mx_w_mod(*l->ins->w) & 1;
  const uint32_t bytes = expected ? 0 : 1;
  const uint64_t one_byte = UINT64_C(1) << MX_MBARRIER_BYTES_BIT;
  gcc_jit_block *slow = lw_new_block(l, "slow"), *end = lw_new_block(l, "done"), *empty = lw_new_block(l, "empty"),
                *issued = lw_new_block(l, "issued");
  gcc_jit_rvalue *of = copies(l, slow), *one = jx_int(j, j->t_u32, 1);
  lw_split(l, is_zero(l, jx_rv(counter(l, of, MX_AT(warp_copies, n)))), empty, slow);
  j->b = empty;
  gcc_jit_rvalue *number = next_number(l, of, slow), *at = jx_keep(j, lw_uniform_address(l, 0, 8, true, NULL, slow));
  if (expected) lw_go(l, issued);
  else {
    gcc_jit_block *good = lw_new_block(l, "good");
    gcc_jit_lvalue *word = lw_field(l, at, 0, j->t_u64);
    gcc_jit_rvalue *w = jx_keep(j, jx_rv(word)), *left = lw_mbarrier_bytes(l, w);
    lw_split(
        l,
        lw_rare(l, lw_either(l, lw_mbarrier_is_none(l, w),
                             lw_compare(l, GCC_JIT_COMPARISON_GT, left, lw_u64(l, MX_MBARRIER_MOST - l->a->lanes)))),
        slow, good);
    j->b = good;
    jx_set(j, word, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, w, lw_u64(l, one_byte * l->a->lanes)));
    lw_go(l, issued);
  }
  j->b = issued;
  gcc_jit_rvalue *c = issue(l, of, number, bytes << 16);
  jx_set(j, lw_field(l, c, MX_AT(row_copy, at), j->t_pu8), at);
  gcc_jit_rvalue *block = jx_rv(lw_field(l, l->x, MX_AT(exec, block), j->t_pu8)),
                 *async = jx_rv(lw_field(l, block, MX_AT(block, async), j->t_pu8));
  gcc_jit_lvalue *arrivals = counter(l, async, MX_AT(async, arrivals));
  jx_set(j, arrivals, u32_op(l, GCC_JIT_BINARY_OP_PLUS, jx_rv(arrivals), one));
  lw_end_with_fallback(l, slow, end);
  return true;
}
static bool arrives(const struct ja_ins *i) { return i->op == MX_CP_ASYNC_ARRIVE || i->op == MX_CP_ASYNC_ARRIVE_A32; }
static bool is_native(const struct ja *a, const struct ja_ins *i) {
  /* The ring holds copies by all lanes of a full warp, which blocks with fewer threads do not have. */
  return mx_w_guard(*i->w) == MX_GUARD_NONE && a->lanes == a->image->lanes &&
         (lw_copies_whole(i->op) || arrives(i) || i->op == MX_CP_ASYNC_COMMIT || i->op == MX_CP_ASYNC_WAIT);
}
bool lw_has_async(const struct ja *a) {
  for (uint32_t k = 0; k < a->nins; k++)
    if (is_native(a, &a->ins[k])) return true;
  return false;
}
bool lw_async(struct lw *l) {
  if (!is_native(l->a, l->ins)) return false;
  if (lw_copies_whole(l->ins->op)) return copy(l);
  if (arrives(l->ins)) return arrive(l);
  commit_or_wait(l, l->ins->op);
  return true;
}

/* Loads and stores in compiled code.
 *
 * All lanes are checked against the instruction's cached bounds before memory is touched. Four access patterns have
 * native code: one address for all lanes; a row, in which each lane's element lies behind that of the lane before,
 * moved as vectors; where a loop does not change the address, chunks that are each uniform or a row, which is
 * determined outside of the loop (shapes.c); and scattered elements, pairs and quads whose addresses are a 32-bit
 * number of each lane, or a distance of 32 bits from the beginning of the bounds, by gathers and scatters. Local memory
 * is a piece for each lane, so that all its accesses are gathers and scatters; its bounds are the launch's. All other
 * accesses, and those that miss the bounds, are left to the interpreter's body, which also refills the cache.
 * vm/exec/lanes/memory.c defines what an access does; this file must agree with it bit for bit. */
#include "access.h"
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#include <stdio.h>

struct memory_bounds {
  gcc_jit_rvalue *lo, *span, *limit,
      /* all scalars. limit: the last address in bounds, counted from lo; host: what is added to a device address to get
       * the host's */
      *host;
};

static gcc_jit_rvalue *cached(struct lw *l, uint64_t member, gcc_jit_type *t) {
  return jx_rv(lw_field(l, jx_rv(l->bounds), (uint64_t)l->ins->bounds * sizeof(struct mx_bounds) + member, t));
}
/* Reads the cached bounds. limit() then tells whether they allow any access of that size; if not, the slow path
 * runs. */
static void read_cache(struct lw *l, struct memory_bounds *p, bool write) {
  struct jx *j = &l->j;
  p->span = jx_keep(j, cached(l, write ? MX_AT(bounds, writes) : MX_AT(bounds, reads), j->t_u64));
  p->lo = jx_keep(j, cached(l, MX_AT(bounds, lo), j->t_u64));
  p->host = jx_keep(j, cached(l, MX_AT(bounds, host), j->t_u64));
}
/* The last address in bounds for so many bytes: negative if there is none. */
static void last_address(struct lw *l, struct memory_bounds *p, unsigned bytes) {
  p->limit = jx_keep(&l->j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, p->span, lw_u64(l, bytes)));
}
static gcc_jit_rvalue *limit(struct lw *l, struct memory_bounds *p, unsigned bytes) {
  last_address(l, p, bytes);
  return jx_keep(&l->j, lw_compare(l, GCC_JIT_COMPARISON_LT, p->span, lw_u64(l, bytes)));
}

gcc_jit_rvalue *lw_bounds(struct lw *l, unsigned bytes, bool write, gcc_jit_rvalue **lo, gcc_jit_rvalue **most,
                          gcc_jit_rvalue **host) {
  struct memory_bounds p;
  read_cache(l, &p, write);
  gcc_jit_rvalue *bad = limit(l, &p, bytes);
  *lo = p.lo, *most = p.limit, *host = p.host;
  return bad;
}

/* Addresses in 32-bit registers wrap at 32 bits. */
jv lw_address(struct lw *l, unsigned k, unsigned c, jv off) {
  struct jx *j = &l->j;
  const jv a = lw_operand(l, k, c);
  const bool wide = a.t != MX_T_u32;
  jv sum = off.k && !off.kv ? a
           : wide           ? jv_bin(j, JX_ADD, MX_T_u64, jv_cvt(j, MX_T_u64, a.t, a), off)
                            : jv_bin(j, JX_ADD, MX_T_u32, a, jv_cvt(j, MX_T_u32, MX_T_u64, off));
  sum = jv_cvt(j, MX_T_u64, sum.t, sum);
  gcc_jit_rvalue *s = jx_scalar(a), *more = off.k ? jx_int(j, j->t_u64, off.kv) : jx_scalar(off);
  if (!s || !more || jx_scalar(sum)) return sum;
  gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
  s = jx_op(j, GCC_JIT_BINARY_OP_PLUS, t, s, gcc_jit_context_new_cast(j->c, NULL, more, t));
  return jx_with_scalar(sum, jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, s, j->t_u64)));
}
gcc_jit_rvalue *lw_byte_pointer(struct lw *l, gcc_jit_rvalue *host) {
  return jx_keep(&l->j, gcc_jit_context_new_bitcast(l->j.c, NULL, host, l->j.t_pu8));
}

/* A vector of first * bytes, (first + 1) * bytes, and so on: each lane's offset in a row of elements of that size. */
gcc_jit_rvalue *lw_ramp(struct lw *l, unsigned first, uint64_t bytes, bool wide) {
  gcc_jit_rvalue *e[JX_MOST_LANES];
  const unsigned n = wide ? l->j.w / 2 : l->j.w;
  for (unsigned k = 0; k < n; k++) {
    const uint64_t v = (first + k) * bytes;
    e[k] = jx_int(&l->j, wide ? l->j.t_u64 : l->j.t_u32, wide ? v : (uint32_t)v);
  }
  return gcc_jit_context_new_rvalue_from_vector(l->j.c, NULL, jx_vector(&l->j, wide), (int)n, e);
}
/* Puts an element just loaded into result `out`; elements of 8 and 16 bits arrive zero-extended to 32 bits. */
static void put_one(struct lw *l, unsigned out, unsigned c, unsigned type, jv v) {
  const unsigned to = l->ins->o->opnd[out].type;
  if (!v.r[1]) v.r[1] = v.r[0];
  v.t = jx_bitsof(type) < 32 || jx_wide(to) != jx_wide(type) ? (uint8_t)type : jx_wide(type) ? MX_T_u64 : MX_T_u32;
  lw_put(l, out, c, v.t == type ? jv_cvt(&l->j, to, type, v) : v);
}
jv lw_element_bits(struct lw *l, unsigned type) { return jv_k(&l->j, MX_T_u32, jx_bitsof(type) == 8 ? 0xFF : 0xFFFF); }
/* The same of word number `out`, which consists of l->parts elements, if the access moves such words. */
void lw_put_element(struct lw *l, unsigned out, unsigned c, unsigned type, jv v) {
  struct jx *j = &l->j;
  if (!l->parts) {
    put_one(l, out, c, type, v);
    return;
  }
  gcc_jit_rvalue *word = jx_keep(j, v.r[0]);
  for (unsigned e = 0; e < l->parts; e++) {
    jv part = {.t = MX_T_u32, .r = {word, word}};
    if (e) part = jv_bin(j, JX_SHR, MX_T_u32, part, jv_k(j, MX_T_u32, e * jx_bitsof(l->part_type)));
    put_one(l, out * l->parts + e, c, l->part_type,
            jv_bin(j, JX_AND, MX_T_u32, part, lw_element_bits(l, l->part_type)));
  }
}
static gcc_jit_type *cell_type(const struct jx *j, unsigned type) {
  const unsigned bits = jx_bitsof(type);
  return bits == 8 ? j->t_u8 : bits == 16 ? j->t_u16 : bits == 32 ? j->t_u32 : j->t_u64;
}
/* Loads one element and broadcasts it to all lanes. */
static jv load_cell(struct lw *l, gcc_jit_rvalue *q, uint64_t off, unsigned type) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *v = jx_rv(lw_field(l, q, off, cell_type(j, type)));
  if (jx_bitsof(type) < 32) v = gcc_jit_context_new_cast(j->c, NULL, v, j->t_u32);
  v = jx_keep(j, v);
  return jv_number(j, jx_wide(type) ? MX_T_u64 : MX_T_u32, v);
}
/* Loads chunk c from host address q: all of its lanes, or those of mask `lanes` unless that is NULL. same: one element
 * for all lanes. */
void lw_load_chunk(struct lw *l, unsigned out, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes, unsigned type,
                   bool same) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(type);
  jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
  if (jx_bitsof(type) < 32) {
    if (same) v = load_cell(l, q, 0, type);
    else v.r[0] = j->isa->load_narrow(j, jx_bitsof(type), lw_vector(l, q, 0, false));
    lw_put_element(l, out, c, type, v);
    return;
  }
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
    v.r[h] = same && lanes ? j->isa->read_one(j, wide, h, lw_field(l, q, 0, wide ? j->t_u64 : j->t_u32), lanes)
             : same        ? (h ? v.r[0] : j->isa->load_one(j, wide, lw_field(l, q, 0, wide ? j->t_u64 : j->t_u32)))
             : lanes       ? j->isa->read(j, wide, h, lw_vector(l, q, j->bytes * h, wide), lanes)
                           : j->isa->load(j, wide, lw_vector(l, q, j->bytes * h, wide));
  lw_put_element(l, out, c, type, v);
}
enum { STORED = 2 }; /* a store's first value, behind the address and its offset */
/* Operand k as an element of 8 or 16 bits, zero-extended to 32. */
static jv narrow_source(struct lw *l, unsigned k, unsigned c, unsigned type) {
  const jv in = lw_operand(l, k, c), v = jv_cvt(&l->j, type, in.t, in);
  return v.k ? jv_k(&l->j, MX_T_u32, v.kv) : (jv){.t = MX_T_u32, .u = v.u, .r = {v.r[0], v.r[0]}};
}
/* The value to be stored as an element of that type: operand k, or word number k - STORED of several operands; elements
 * of 8 and 16 bits are zero-extended to 32 bits. */
jv lw_source(struct lw *l, unsigned k, unsigned c, unsigned type) {
  struct jx *j = &l->j;
  if (l->parts) {
    const unsigned first = STORED + (k - STORED) * l->parts;
    jv word = narrow_source(l, first, c, l->part_type);
    for (unsigned e = 1; e < l->parts; e++) {
      const jv part = jv_bin(j, JX_SHL, MX_T_u32, narrow_source(l, first + e, c, l->part_type),
                             jv_k(j, MX_T_u32, e * jx_bitsof(l->part_type)));
      word = jv_bin(j, JX_OR, MX_T_u32, word, part);
    }
    return word;
  }
  if (jx_bitsof(type) < 32) return narrow_source(l, k, c, type);
  const jv v = lw_operand(l, k, c);
  if (jx_wide(v.t) && !jx_wide(type)) return jv_cvt(j, MX_T_u32, MX_T_u64, jv_as(j, MX_T_u64, v));
  return jv_as(j, jx_wide(type) ? MX_T_u64 : MX_T_u32, v);
}
/* Stores chunk c under mask `lanes`. Elements of 8 and 16 bits are stored for all lanes where the CPU level has no
 * masked stores for them. own: no other thread reads the bytes of inactive lanes meanwhile, so these may be loaded and
 * stored again unchanged. Where masks are vectors that is faster: a masked move takes up to forty cycles, and its
 * result is not forwarded to a load that follows. */
void lw_store_chunk(struct lw *l, unsigned in, unsigned c, gcc_jit_rvalue *q, gcc_jit_rvalue *lanes, unsigned type,
                    bool own) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(type);
  jv v = lw_source(l, in, c, type);
  if (jx_bitsof(type) < 32) {
    j->isa->write_narrow(j, jx_bitsof(type), lw_vector(l, q, 0, false), v.r[0], lanes);
    return;
  }
  if (!v.r[1]) v.r[1] = v.r[0];
  if (own && j->isa->mask_is_vector) { /* where masks are integers, a masked store costs no more than a plain one */
    jv old = {.t = v.t};
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
      old.r[h] = j->isa->load(j, wide, lw_vector(l, q, j->bytes * h, wide));
    if (!wide) old.r[1] = old.r[0];
    v = jv_sel(j, v.t, (jv){.t = MX_T_pred, .r = {lanes, lanes}}, v, old);
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++) j->isa->store(j, lw_vector(l, q, j->bytes * h, wide), v.r[h]);
    return;
  }
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++)
    j->isa->write(j, wide, h, lw_vector(l, q, j->bytes * h, wide), v.r[h], lanes);
}

static gcc_jit_rvalue *times(struct lw *l, gcc_jit_rvalue *v, uint64_t n) {
  return n == 1 ? v : lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, v, lw_u64(l, n));
}
gcc_jit_rvalue *lw_sum_of_addends(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *off) {
  for (unsigned n = 0; n < base->n; n++)
    if (base->add[n].ins != JA_NONE)
      off = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, off,
                      times(l, jx_rv(l->addend[base->add[n].ins].value), base->add[n].factor));
  return jx_keep(&l->j, off);
}

/* A condition: some lane of the warp is missing from these masks. */
static gcc_jit_rvalue *not_all(struct lw *l, bool guarded, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  if (!guarded && l->a->blocks[l->ins->block].converged)
    return lw_compare(l, GCC_JIT_COMPARISON_NE, jx_rv(l->emask), lw_all_lanes(l));
  gcc_jit_rvalue *all = lanes[0];
  for (unsigned c = 1; c < l->nc; c++) all = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_mask, all, lanes[c]);
  return lw_compare(l, GCC_JIT_COMPARISON_NE, j->isa->mask_bits(j, all), lw_u64(l, UINT64_MAX >> (64 - j->w)));
}
unsigned lw_shape_bit(const struct lw_base *base, unsigned bytes) {
  const uint64_t scale = base->pre_scale * base->post_scale, stride = bytes % scale ? 0 : bytes / scale;
  return stride == 1    ? MX_JIT_ROWS1
         : stride == 2  ? MX_JIT_ROWS2
         : stride == 4  ? MX_JIT_ROWS4
         : stride == 8  ? MX_JIT_ROWS8
         : stride == 16 ? MX_JIT_ROWS16
                        : 0;
}
/* A condition: in each chunk some lane is active, or, if it does not hold, perhaps. Accesses of one block share it. */
static gcc_jit_rvalue *in_all_chunks(struct lw *l, bool guarded, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const uint32_t place = lw_place(l);
  if (!guarded && l->full && l->full_in == place) return jx_rv(l->full);
  if (!guarded && l->a->blocks[l->block].converged) /* of converged warps, few lack lanes */
    return jx_keep(j, lw_compare(l, GCC_JIT_COMPARISON_EQ, jx_rv(l->emask), lw_all_lanes(l)));
  gcc_jit_rvalue *each = NULL;
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *any = j->isa->mask_any(j, lanes[c]);
    each = each ? gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_bool, each, any) : any;
  }
  if (guarded) return jx_keep(j, each);
  if (!l->full) l->full = jx_local(j, j->t_bool);
  l->full_in = place;
  jx_set(j, l->full, each);
  return jx_rv(l->full);
}
/* Host address q of a chunk of narrow elements; if no lane of the chunk is active, the address `there` instead, which
 * is within bounds. */
static gcc_jit_rvalue *where_lanes_run(struct lw *l, gcc_jit_rvalue *q, gcc_jit_rvalue *there, gcc_jit_rvalue *lanes) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *any = gcc_jit_context_new_cast(j->c, NULL, j->isa->mask_any(j, lanes), j->t_u64);
  gcc_jit_rvalue *all = lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, lw_u64(l, 0), any);
  return lw_u64_op(
      l, GCC_JIT_BINARY_OP_PLUS, there,
      lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, q, there), jx_keep(j, all)));
}
/* Where a block of threads is narrower than a warp, and has several rows, each chunk of lanes is often in a row, if the
 * warp as a whole is not. Such chunks, of elements at host + index * scale, are moved as vectors; code goes on where
 * elements are moved one by one. */
static void row_by_row(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *host, gcc_jit_rvalue *const *index,
                       unsigned scale, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  if (!l->has_rows_of_threads || lw_is_narrow(ac) || ac->n > 1 || ac->bytes % scale) return;
  gcc_jit_block *narrow = lw_new_block(l, "narrow"), *rows = lw_new_block(l, "rows"),
                *others = lw_new_block(l, "others");
  lw_split(l, lw_tid_consecutive(l), others, narrow);
  j->b = narrow;
  gcc_jit_rvalue *scattered = NULL;
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *want =
        jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->vu32, j->isa->first_everywhere(j, false, index[c]),
                         lw_ramp(l, 0, ac->bytes / scale, false)));
    gcc_jit_rvalue *d = j->isa->differ(j, false, 0, index[c], want, lanes[c]);
    scattered = jx_keep(j, scattered ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->vu32, scattered, d) : d);
  }
  lw_split(l, j->isa->any_bit(j, false, scattered), others, rows);
  j->b = rows;
  gcc_jit_rvalue *q[LW_CHUNKS]; /* all before anything is loaded, since a result may overwrite the address's slot */
  for (unsigned c = 0; c < l->nc; c++)
    q[c] =
        lw_byte_pointer(l, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, times(l, lw_first_number(l, index[c]), scale)));
  for (unsigned c = 0; c < l->nc; c++)
    if (ac->load) lw_load_chunk(l, 0, c, q[c], lanes[c], ac->type, false);
    else lw_store_chunk(l, ac->value, c, q[c], lanes[c], ac->type, false);
  lw_go(l, ac->end);
  j->b = others;
}
/* Whether elements through a slot with a shape have this form. Not in shared memory, where such slots are rows or the
 * same in all lanes, and loops have dozens of accesses through them: lu_corner would take 1.4 times as long to compile.
 */
static bool has_distances(struct lw *l) {
  const struct lw_base *base = lw_base(l);
  const bool long_slot = base->slot >= l->a->f->npred + l->a->f->n32;
  const uint64_t scale = base->pre_scale * base->post_scale;
  return (scale == 1 || scale == 2 || scale == 4 || scale == 8) && (long_slot || base->pre_scale == 1) &&
         mx_w_mod(*l->ins->w) >> 2 != MX_SHARED && lw_has_elements(l);
}
/* Elements through a slot with a shape, whose bounds are checked: the slot's distances from its least value are
 * numbers of 32 bits, unless the greatest one is too large. */
static void by_distance_from_least(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *host,
                                   gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const struct lw_base *base = lw_base(l);
  const struct lw_shape *sh = &l->shapes[base->slot];
  const bool long_slot = base->slot >= l->a->f->npred + l->a->f->n32;
  const unsigned type = long_slot ? MX_T_u64 : MX_T_u32, scale = (unsigned)(base->pre_scale * base->post_scale);
  gcc_jit_block *by_distance = lw_new_block(l, "by_distance");
  lw_split(l,
           lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_GT,
                                 lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, jx_rv(sh->max), jx_rv(sh->min)),
                                 lw_u64(l, (INT32_MAX - 3) / scale))),
           ac->slow, by_distance);
  j->b = by_distance;
  gcc_jit_rvalue *min = long_slot ? jx_rv(sh->min) : gcc_jit_context_new_cast(j->c, NULL, jx_rv(sh->min), j->t_u32);
  const jv least = jv_broadcast(j, type, jx_keep(j, min));
  gcc_jit_rvalue *index[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) {
    const jv v = jv_bin(j, JX_SUB, type, lw_get(l, base->slot, type, c), least);
    index[c] = jx_keep(j, (long_slot ? jv_cvt(j, MX_T_u32, MX_T_u64, v) : v).r[0]);
  }
  gcc_jit_rvalue *from = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, times(l, jx_rv(sh->min), scale));
  lw_element_by_element(l, ac, jx_keep(j, from), index, scale, lanes);
  lw_go(l, ac->end);
}
/* Accesses through a slot with a shape, chunk by chunk: a row, a uniform address, or else element by element. full: for
 * loads of narrow elements, in_all_chunks(). */
static void by_chunks(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *host, gcc_jit_rvalue *const *lanes,
                      gcc_jit_rvalue *full) {
  struct jx *j = &l->j;
  const struct lw_base *base = lw_base(l);
  const struct lw_shape *sh = &l->shapes[base->slot];
  const bool long_slot = base->slot >= l->a->f->npred + l->a->f->n32;
  const uint64_t scale = base->pre_scale * base->post_scale;
  const unsigned bit = lw_shape_bit(base, ac->bytes);
  const bool scalable = scale == 1 || scale == 2 || scale == 4 || scale == 8;
  gcc_jit_rvalue *index[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) index[c] = lw_get(l, base->slot, long_slot ? MX_T_u64 : MX_T_u32, c).r[0];
  gcc_jit_rvalue *there =
      full ? jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, times(l, jx_rv(sh->min), scale))) : NULL;
  for (int form = 0; form < 2; form++) {
    if (form ? !ac->load : !bit) continue;
    gcc_jit_block *this = lw_new_block(l, "chunks"), *others = lw_new_block(l, "others");
    gcc_jit_rvalue *is = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, jx_rv(sh->kind),
                                   lw_u64(l, form ? MX_JIT_SAME : bit)),
                   *q[LW_CHUNKS];
    lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_NE, is, lw_u64(l, 0)), this, others);
    j->b = this;
    /* all indices are read before anything is loaded, since a result may overwrite the address's slot */
    for (unsigned c = 0; c < l->nc; c++) {
      gcc_jit_rvalue *a = long_slot ? j->isa->first(j, true, index[c]) : lw_first_number(l, index[c]);
      q[c] = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host,
                       scale == 1 ? a : lw_u64_op(l, GCC_JIT_BINARY_OP_MULT, a, lw_u64(l, scale)));
      if (!full) q[c] = lw_byte_pointer(l, q[c]);
    }
    if (full && !form) {
      gcc_jit_lvalue *place[LW_CHUNKS];
      for (unsigned c = 0; c < l->nc; c++) jx_set(j, place[c] = jx_local(j, j->t_u64), q[c]);
      gcc_jit_block *missing = lw_new_block(l, "missing"), *all = lw_new_block(l, "full");
      lw_split(l, full, all, missing);
      j->b = missing;
      for (unsigned c = 0; c < l->nc; c++) jx_set(j, place[c], where_lanes_run(l, jx_rv(place[c]), there, lanes[c]));
      lw_go(l, all);
      j->b = all;
      for (unsigned c = 0; c < l->nc; c++) q[c] = lw_byte_pointer(l, jx_rv(place[c]));
    } else if (full)
      for (unsigned c = 0; c < l->nc; c++)
        q[c] = lw_byte_pointer(l, where_lanes_run(l, jx_keep(j, q[c]), there, lanes[c]));
    if (!form && ac->load)
      lw_fetch_ahead(l, jx_keep(j, gcc_jit_context_new_bitcast(j->c, NULL, q[0], j->t_u64)), q, 0, true);
    for (unsigned c = 0; c < l->nc; c++)
      if (ac->load) lw_load_chunk(l, 0, c, q[c], lanes[c], ac->type, form == 1);
      else lw_store_chunk(l, ac->value, c, q[c], lanes[c], ac->type, false);
    lw_go(l, ac->end);
    j->b = others;
  }
  if (scalable && !long_slot && !lw_is_narrow(ac) && base->pre_scale == 1) {
    lw_one_by_one(l, ac, host, index, (unsigned)scale, lanes);
    lw_go(l, ac->end);
  } else if (has_distances(l)) by_distance_from_least(l, ac, host, lanes);
  else lw_go(l, ac->slow);
}

gcc_jit_rvalue *lw_shape_place(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *host, unsigned c) {
  const bool long_slot = base->slot >= l->a->f->npred + l->a->f->n32;
  gcc_jit_rvalue *index = lw_get(l, base->slot, long_slot ? MX_T_u64 : MX_T_u32, c).r[0];
  gcc_jit_rvalue *first = long_slot ? l->j.isa->first(&l->j, true, index) : lw_first_number(l, index);
  return lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, times(l, first, base->pre_scale * base->post_scale));
}
/* Comparisons are done by subtracting and looking at the highest bit of the difference. OR-ing these bits together
 * needs no flags; with comparisons, gcc runs short of registers and spills masks instead. */
gcc_jit_rvalue *lw_shape_misses(struct lw *l, const struct lw_base *base, gcc_jit_rvalue *lo, gcc_jit_rvalue *limit,
                                unsigned bytes, gcc_jit_rvalue **offset, gcc_jit_rvalue **odd) {
  struct jx *j = &l->j;
  const struct lw_shape *sh = &l->shapes[base->slot];
  const uint64_t scale = base->pre_scale * base->post_scale;
  const bool narrow = base->slot < l->a->f->npred + l->a->f->n32;
  gcc_jit_rvalue *off = *offset, *wrong;
#define TIMES(v_, n_) times(l, v_, n_)
#define PLUS(x_, y_) lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, x_, y_)
#define MINUS(x_, y_) lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, x_, y_)
#define OR(x_, y_) lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_OR, x_, y_)
  gcc_jit_rvalue *early = NULL; /* the addends before the widening */
  for (unsigned n = 0; n < base->n; n++) {
    if (base->add[n].ins == JA_NONE) continue;
    gcc_jit_rvalue *v = jx_rv(l->addend[base->add[n].ins].value);
    off = PLUS(off, TIMES(v, base->add[n].factor));
    if (!base->sign_extends || base->add[n].wide) continue;
    v = TIMES(v, base->add[n].factor / base->post_scale);
    early = early ? PLUS(early, v) : v;
  }
  *offset = off = jx_keep(j, off);
  gcc_jit_rvalue *here = jx_keep(j, MINUS(off, lo)), *least = jx_keep(j, PLUS(TIMES(jx_rv(sh->min), scale), here)),
                 *most = jx_keep(j, PLUS(TIMES(jx_rv(sh->max), scale), here));
  wrong =
      OR(OR(OR(least, most), limit), MINUS(limit, most)); /* the difference of two that are not negative cannot wrap */
  if (narrow) wrong = OR(wrong, MINUS(lw_u64(l, INT32_MAX), jx_rv(sh->max)));
  else { /* the products with the scale must not wrap */
    gcc_jit_rvalue *reach = jx_keep(j, MINUS(jx_rv(sh->max), jx_rv(sh->min)));
    unsigned bits = 0;
    while (scale >> bits) bits++;
    wrong = OR(wrong, OR(reach, MINUS(lw_u64(l, UINT64_MAX >> bits), reach)));
  }
  /* the numbers must be the same whether they are sign- or zero-extended, and must not have wrapped */
  if (base->sign_extends) {
    least = TIMES(jx_rv(sh->min), base->pre_scale), most = TIMES(jx_rv(sh->max), base->pre_scale);
    if (early) early = jx_keep(j, early), least = PLUS(least, early), most = PLUS(most, early);
    wrong = OR(wrong, least);
    if (early || base->pre_scale > 1) wrong = OR(wrong, MINUS(lw_u64(l, INT32_MAX), most));
  }
  *odd = bytes == 1 ? lw_u64(l, 0)
                    : lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND,
                                OR(TIMES(jx_rv(sh->low), scale), PLUS(TIMES(jx_rv(sh->min), scale), off)),
                                lw_u64(l, bytes - 1));
  return wrong;
#undef TIMES
#undef PLUS
#undef MINUS
#undef OR
}
gcc_jit_rvalue *lw_wrong_or_odd(struct lw *l, gcc_jit_rvalue *wrong, gcc_jit_rvalue *odd) {
  odd = lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, lw_u64(l, 0), odd);
  return lw_is_negative(l, lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_OR, wrong, odd));
}
gcc_jit_rvalue *lw_is_negative(struct lw *l, gcc_jit_rvalue *v) {
  gcc_jit_type *s64 = gcc_jit_context_get_type(l->j.c, GCC_JIT_TYPE_LONG_LONG);
  return lw_compare(l, GCC_JIT_COMPARISON_LT, gcc_jit_context_new_cast(l->j.c, NULL, v, s64),
                    gcc_jit_context_zero(l->j.c, s64));
}
/* A condition: an address up to `more` bytes below the least or above the greatest of the lanes' addresses may be out
 * of bounds. */
static gcc_jit_rvalue *may_reach_out(struct lw *l, const struct memory_bounds *p, gcc_jit_rvalue *off, uint64_t more) {
  const struct lw_base *base = lw_base(l);
  const struct lw_shape *sh = &l->shapes[base->slot];
  const uint64_t scale = base->pre_scale * base->post_scale;
  gcc_jit_rvalue *from = jx_keep(&l->j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, off, p->lo));
  gcc_jit_rvalue *least = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, times(l, jx_rv(sh->min), scale), from),
                 *most = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, times(l, jx_rv(sh->max), scale), from);
  return lw_either(
      l, lw_compare(l, GCC_JIT_COMPARISON_LT, least, lw_u64(l, more)),
      lw_compare(l, GCC_JIT_COMPARISON_GT, most, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, p->limit, lw_u64(l, more))));
}
/* The address's slot has a shape (shapes.c): chunks are accessed one by one. */
static void by_shape(struct lw *l, const struct lw_access *ac, struct memory_bounds *p, gcc_jit_rvalue *off,
                     gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  gcc_jit_block *near = lw_new_block(l, "near");
  last_address(l, p, ac->bytes);
  gcc_jit_rvalue *odd, *wrong = lw_shape_misses(l, lw_base(l), p->lo, p->limit, ac->bytes, &off, &odd),
                       *bad = lw_wrong_or_odd(l, wrong, odd);
  gcc_jit_rvalue *full = NULL;
  if (lw_is_narrow(ac) && ac->load) {
    full = in_all_chunks(l, ac->guarded, lanes);
    gcc_jit_block *within = lw_new_block(l, "within"), *edge = lw_new_block(l, "edge");
    lw_split(l, lw_rare(l, bad), ac->slow, within);
    j->b = within;
    lw_split(l, lw_rare(l, may_reach_out(l, p, off, (j->w - 1) * ac->bytes)), edge, near);
    j->b = edge;
    bad = not_all(l, ac->guarded, lanes);
  }
  lw_split(l, lw_rare(l, bad), ac->slow, near);
  j->b = near;
  if (lw_is_narrow(ac) && !ac->load) { /* chunks are moved whole */
    gcc_jit_block *some = lw_new_block(l, "some"), *all = lw_new_block(l, "all");
    lw_split(l, not_all(l, ac->guarded, lanes), some, all);
    j->b = some;
    if (has_distances(l)) by_distance_from_least(l, ac, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, off), lanes);
    else lw_go(l, ac->slow);
    j->b = all;
  }
  by_chunks(l, ac, jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, off)), lanes, full);
}

/* Accesses to shared memory whose bounds were checked at the beginning of the block. */
static void sure(struct lw *l, const struct lw_access *ac, uint64_t off_k, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const struct lw_base *base = lw_base(l);
  gcc_jit_rvalue *host =
      lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, jx_rv(lw_field(l, l->x, MX_AT(exec, window) + 8 * MX_SHARED, j->t_u64)),
                lw_u64(l, off_k));
  by_chunks(l, ac, lw_sum_of_addends(l, base, host), lanes, NULL);
  j->b = ac->end;
}

/* Whether rows of single elements are prefetched: in kernels that use images, of which one instruction is a thousand of
 * the processor's, so that it is far from the next warp's loads while it waits for these. Where the next row is loaded
 * at once, the prefetch costs as much as it saves (saxpy of make bench-foreign took a fifth longer). */
static bool is_far_from_next(const struct lw *l, const struct lw_access *ac) {
  const unsigned space = mx_w_mod(*l->ins->w) >> 2;
  return l->uses_images && ac->load && (space == MX_GLOBAL || space == MX_GENERIC) && !lw_is_in_loop(l);
}
/* Stores single elements at a level that has no masked stores, or slow ones: whether all lanes are active is asked
 * once. */
static void store_pieces(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *const *pieces, unsigned piece_lanes,
                         gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const unsigned vectors = jx_wide(ac->type) ? 2 : 1;
  gcc_jit_rvalue *v[LW_CHUNKS][2];
  for (unsigned c = 0; c < l->nc; c++) {
    const jv source = lw_source(l, ac->value, c, ac->type);
    for (unsigned h = 0; h < vectors; h++) v[c][h] = jx_keep(j, source.r[h] ? source.r[h] : source.r[0]);
  }
  gcc_jit_block *some = lw_new_block(l, "some"), *all = lw_new_block(l, "all"), *stored = lw_new_block(l, "stored");
  lw_split(l, not_all(l, ac->guarded, lanes), some, all);
  for (unsigned masked = 0; masked < 2; masked++) {
    j->b = masked ? some : all;
    const bool rows = masked && lw_is_narrow(ac);
    if (rows) lw_store_narrow_rows(l, ac, pieces, piece_lanes, lanes);
    for (unsigned c = 0; c < l->nc && !rows; c++)
      for (unsigned h = 0; h < vectors; h++) {
        const uint64_t at = (uint64_t)(j->w * c % piece_lanes) * ac->bytes + j->bytes * h;
        gcc_jit_lvalue *cell = lw_vector(l, pieces[j->w * c / piece_lanes], at, vectors > 1);
        if (lw_is_narrow(ac)) j->isa->write_narrow(j, jx_bitsof(ac->type), cell, v[c][h], NULL);
        else if (masked) j->isa->write(j, vectors > 1, h, cell, v[c][h], lanes[c]);
        else j->isa->store(j, cell, v[c][h]);
      }
    lw_go(l, stored);
  }
  j->b = stored;
}
/* Moves rows that begin at q[], n elements for each of so many lanes. own: as of lw_store_chunk(). Kernels that access
 * pairs and quads stream through memory, so for these the bytes that the blocks behind this one will need are
 * prefetched: the processor's prefetcher stops at the end of a page, which is often the end of a block's part. */
static void in_pieces(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *const *pieces, unsigned piece_lanes,
                      gcc_jit_rvalue *const *lanes, bool own) {
  struct jx *j = &l->j;
  const bool far = ac->n == 1 && is_far_from_next(l, ac);
  if (!ac->load && ac->n == 1 && (!own || lw_is_narrow(ac)) && j->isa->mask_is_vector) {
    store_pieces(l, ac, pieces, piece_lanes, lanes);
    return;
  }
  for (unsigned c = 0; c < l->nc; c++) {
    const uint64_t at = (uint64_t)(j->w * c % piece_lanes) * ac->bytes;
    gcc_jit_rvalue *q = pieces[j->w * c / piece_lanes];
    if (ac->n == 1) {
      if (far && at % 64 == 0) jx_prefetch(j, lw_vector(l, q, at + LW_PREFETCH, false));
      if (ac->load) lw_load_chunk(l, 0, c, lw_at(l, q, at), NULL, ac->type, false);
      else lw_store_chunk(l, ac->value, c, lw_at(l, q, at), lanes[c], ac->type, own);
      continue;
    }
    for (uint64_t line = at; !own && line < at + j->w * ac->bytes; line += 64)
      jx_prefetch(j, lw_vector(l, q, line + LW_PREFETCH, false));
    lw_move_chunk(l, ac, c, lw_at(l, q, at), lanes[c]);
  }
}

uint64_t lw_starts_form(const struct lw *l, unsigned lanes) {
  unsigned k = 0;
  while (lanes > 1 && lanes << k != l->a->image->lanes) k++;
  return 8 * (lanes > 1 ? 1 + k : 0);
}
gcc_jit_rvalue *lw_cannot_start(struct lw *l, gcc_jit_rvalue *at, unsigned bytes, gcc_jit_rvalue *starts) {
  const unsigned shift = (unsigned)__builtin_ctz(bytes);
  if (shift)
    at = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_OR, lw_u64_op(l, GCC_JIT_BINARY_OP_RSHIFT, at, lw_u64(l, shift)),
                   lw_u64_op(l, GCC_JIT_BINARY_OP_LSHIFT, at, lw_u64(l, 64 - shift)));
  return lw_compare(l, GCC_JIT_COMPARISON_GE, at, starts);
}
/* A condition: at some of the n device's addresses a row of so many lanes cannot begin, or a single lane's access. */
static gcc_jit_rvalue *outside(struct lw *l, bool in_shared, gcc_jit_rvalue *const *start, unsigned n, unsigned lanes,
                               unsigned bytes) {
  struct jx *j = &l->j;
  _Static_assert(1 << (MX_ACCESS_SIZES - 1) == 4 * 8, "the longest access: four elements of 64 bits");
  const uint64_t form = lw_starts_form(l, lanes), size = 8 * (1 + MX_ROWS) * (uint64_t)__builtin_ctz(bytes);
  gcc_jit_rvalue *some = NULL, *lo = in_shared ? NULL : cached(l, MX_AT(bounds, lo), j->t_u64);
  gcc_jit_rvalue *starts = in_shared ? jx_rv(lw_field(l, l->x, MX_AT(exec, shared_starts) + size + form, j->t_u64))
                                     : cached(l, MX_AT(bounds, starts) + form, j->t_u64);
  for (unsigned k = 0; k < n; k++) {
    gcc_jit_rvalue *at = in_shared ? start[k] : jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, start[k], lo));
    some = lw_either(l, some, lw_cannot_start(l, at, bytes, starts));
  }
  return some;
}
/* The stride between the numbers of adjacent lanes if the access is a row; 0: it is most likely none. */
static unsigned row_stride(const struct lw_base *base, unsigned bytes) {
  return bytes % base->post_scale || base->index_loaded ? 0 : (unsigned)(bytes / base->post_scale);
}
/* The address is made of a 32-bit number: a row is accessed as one, if all of the warp's lanes, active or not, would be
 * within bounds; otherwise lanes are checked one by one and gathered or scattered. */
static void by_index(struct lw *l, const struct lw_access *ac, struct memory_bounds *p, gcc_jit_rvalue *off,
                     gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const struct lw_base *base = lw_base(l);
  const bool wide_elements = ac->n > 2 && jx_wide(ac->type); /* rows of these have no form of their own */
  const unsigned scale = (unsigned)base->post_scale, stride = wide_elements ? 0 : row_stride(base, ac->bytes),
                 more = l->a->lanes - 1;
  off = lw_sum_of_addends(l, base, off);
  gcc_jit_rvalue *index[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) index[c] = jx_keep(j, lw_get(l, base->slot, MX_T_u32, c).r[0]);
  if (stride) {
    const struct lw_known_row row = lw_number_row(l, base->slot, stride, index, lanes, ac->guarded);
    const bool elements = ac->n > 1 ? lw_has_elements(l) : !lw_is_narrow(ac) || lw_has_narrow_elements(l);
    gcc_jit_block *in_row = lw_new_block(l, "piece"), *others = elements ? lw_new_block(l, "others") : ac->slow;
    gcc_jit_rvalue *start = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, times(l, row.first, scale), off));
    /* the last number is not negative either, so that signed and unsigned agree */
    gcc_jit_rvalue *room = lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, lw_u64(l, INT32_MAX - more * stride), row.first),
                   *wrong = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_OR, row.first, room);
    gcc_jit_rvalue *no = lw_either(l, row.scattered, lw_is_negative(l, wrong));
    no = lw_either(l, no, outside(l, false, &start, 1, l->a->lanes, ac->bytes));
    if (ac->n > 1 && !ac->load) no = lw_either(l, no, not_all(l, ac->guarded, lanes));
    lw_split(l, lw_rare(l, no), others, in_row);
    j->b = in_row;
    gcc_jit_rvalue *host = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, start));
    if (ac->n == 1 && ac->load) lw_fetch_ahead(l, host, NULL, (more + 1ull) * ac->bytes, true);
    gcc_jit_rvalue *q = lw_byte_pointer(l, host);
    in_pieces(l, ac, &q, l->a->lanes, lanes, false);
    lw_go(l, ac->end);
    if (others == ac->slow) return;
    j->b = others;
  }
  gcc_jit_rvalue *bad = limit(l, p, ac->bytes),
                 *rel =
                     jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, off, p->lo)); /* of number 0, counted from lo */
  gcc_jit_rvalue *most =
      jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_RSHIFT, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, p->limit, rel),
                           lw_u64(l, (uint64_t)__builtin_ctz(scale))));
  bad = lw_either(l, bad, lw_compare(l, GCC_JIT_COMPARISON_GT, rel, p->limit));
  /* narrow elements are gathered by their distances in bytes; a gather multiplies by 8 at most */
  const unsigned step = lw_is_narrow(ac) ? 1 : scale < 8 ? scale : 8;
  bad = lw_either(l, bad,
                  lw_compare(l, GCC_JIT_COMPARISON_GT, most,
                             lw_u64(l, (INT32_MAX - (lw_is_narrow(ac) ? 3 : 0)) / (int)(scale / step))));
  bad = lw_either(l, bad,
                  lw_compare(l, GCC_JIT_COMPARISON_NE,
                             lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, off, lw_u64(l, ac->bytes - 1)), lw_u64(l, 0)));
  gcc_jit_rvalue *cells = lw_cells_to_pass(l, base->slot);
  most = gcc_jit_context_new_cast(j->c, NULL, most, j->t_u32);
  const uint32_t low = scale % ac->bytes ? (uint32_t)((ac->bytes - 1) / scale) : 0;
  bad = lw_either(l, bad,
                  cells ? lw_call_numbers_outside(l, cells, most, low, lanes)
                        : lw_numbers_outside(l, index, most, low, lanes));
  gcc_jit_block *fast = lw_new_block(l, "fast");
  lw_split(l, lw_rare(l, bad), ac->slow, fast);
  j->b = fast;
  gcc_jit_rvalue *host = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, off));
  for (unsigned c = 0; scale > 8 && c < l->nc; c++)
    index[c] = jx_op(j, GCC_JIT_BINARY_OP_MULT, j->vu32, index[c], jv_k(j, MX_T_u32, scale / 8).r[0]);
  if (stride) row_by_row(l, ac, host, index, scale < 8 ? scale : 8, lanes);
  lw_element_by_element(l, ac, host, index, scale < 8 ? scale : 8, lanes);
  lw_go(l, ac->end);
}

/* Where the row begins through whose address nothing is known at compile time. */
static gcc_jit_rvalue *row_start(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *off,
                                 gcc_jit_rvalue **scattered) {
  const unsigned cls = mx__types[l->ins->o->opnd[ac->at].type].slot_class;
  const struct lw_known_row row = lw_address_row(l, ja_slot(l->a, cls, mx_w_operand(l->ins->w, ac->at)), ac->bytes);
  gcc_jit_rvalue *start = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, row.first, off);
  if (cls == MX_R32) start = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, start, lw_u64(l, UINT32_MAX));
  *scattered = row.scattered;
  return jx_keep(&l->j, start);
}
/* Does the whole access by one call of a function of the object, which also calls the body where it must; false: it has
 * no such form, and nothing was built. */
static bool call_row_access(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *off) {
  const unsigned k = ac->load ? 0 : ac->value, type = l->ins->o->opnd[k].type, cls = mx__types[type].slot_class;
  struct lw_row_access row = {.load = ac->load, .wide = cls == MX_R64};
  if (!l->slots_spilled || l->one_lane || l->a->checked || lw_is_in_loop(l) || (ac->load && ac->guarded) ||
      lw_is_narrow(ac) || ac->n > 1 || l->parts || jx_wide(ac->type) != row.wide ||
      (ja_rows(l->a) > 1 && ja_is_row(l->a, (uint32_t)(l->ins - l->a->ins))) ||
      !lw_operand_has_cells(l, k, ac->load, &row.raw, &row.slot))
    return false;
  gcc_jit_rvalue *scattered, *start = row_start(l, ac, off, &scattered);
  const uint32_t fallback = lw_spill_for_fallback(l);
  if (!scattered) scattered = jx_int(&l->j, l->j.t_bool, 0);
  lw_behind_body(l, fallback, lw_call_row_access(l, &row, start, scattered, fallback));
  if (ac->load) l->lows[row.slot] = (struct lw_low){0};
  return true;
}
/* Addresses of 64 bits that are in no row: their distances from the beginning of the bounds are numbers of 32 bits,
 * unless the bounds are wider. */
static void by_distance(struct lw *l, const struct lw_access *ac, const struct memory_bounds *p, uint32_t slot,
                        gcc_jit_rvalue *off, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *from = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, off, p->lo)), *index[LW_CHUNKS],
                 *most = gcc_jit_context_new_cast(j->c, NULL, p->limit, j->t_u32), *numbers = NULL;
  if (!lw_is_in_loop(l) && !l->has_rows_of_threads) { /* lanes in several rows come here, and a call costs run time */
    numbers = jx_keep(j, lw_at(l, l->x, MX_AT(exec, tmp) + 8 * MX_MAX_LANES));
    lw_call_numbers_32(l, lw_cells_or_copy(l, slot), from, numbers);
  }
  const jv more = numbers ? (jv){0} : jv_broadcast(j, MX_T_u64, from);
  for (unsigned c = 0; c < l->nc; c++)
    index[c] =
        jx_keep(j, numbers ? jx_rv(lw_vector(l, numbers, j->bytes * c, false))
                           : lw_number_32(l, jv_bin(j, JX_ADD, MX_T_u64, lw_get(l, slot, MX_T_u64, c), more)).r[0]);
  gcc_jit_rvalue *bad = lw_compare(l, GCC_JIT_COMPARISON_LT, p->span, lw_u64(l, ac->bytes));
  bad = lw_either(l, bad, lw_compare(l, GCC_JIT_COMPARISON_GT, p->limit, lw_u64(l, INT32_MAX - 3)));
  if (ac->bytes > 1) /* then distances tell whether addresses are aligned */
    bad = lw_either(l, bad,
                    lw_compare(l, GCC_JIT_COMPARISON_NE,
                               lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, p->lo, lw_u64(l, ac->bytes - 1)),
                               lw_u64(l, 0)));
  bad = lw_either(l, bad,
                  numbers ? lw_call_numbers_outside(l, numbers, most, ac->bytes - 1, lanes)
                          : lw_numbers_outside(l, index, most, ac->bytes - 1, lanes));
  gcc_jit_block *within = lw_new_block(l, "by_distance");
  lw_split(l, lw_rare(l, bad), ac->slow, within);
  j->b = within;
  gcc_jit_rvalue *host = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, p->lo));
  row_by_row(l, ac, host, index, 1, lanes);
  lw_element_by_element(l, ac, host, index, 1, lanes);
  lw_go(l, ac->end);
}
/* What is added to an address to get the host's. The bounds of all of the block's shared memory need not be found
 * first. */
static gcc_jit_rvalue *host_of(struct lw *l, bool in_shared) {
  return jx_keep(&l->j, in_shared ? jx_rv(lw_field(l, l->x, MX_AT(exec, window) + 8 * MX_SHARED, l->j.t_u64))
                                  : cached(l, MX_AT(bounds, host), l->j.t_u64));
}
/* The rows of an access through a ramp: where they begin. */
static void rows_start(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *off, gcc_jit_rvalue **start) {
  const bool wide = mx__types[l->ins->o->opnd[ac->at].type].slot_class == MX_R64;
  const uint32_t slot = ja_slot(l->a, wide ? MX_R64 : MX_R32, mx_w_operand(l->ins->w, ac->at));
  for (unsigned row = 0; row < ja_rows(l->a); row++) {
    gcc_jit_rvalue *first = jx_keep(&l->j, jx_rv(lw_ramp_first(l, slot, row)));
    if (!wide) first = gcc_jit_context_new_cast(l->j.c, NULL, first, l->j.t_u64);
    first = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, first, off);
    if (!wide) first = lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, first, lw_u64(l, UINT32_MAX));
    start[row] = jx_keep(&l->j, first);
  }
}
/* Elements through any other ramp: all lanes of a row are within bounds if its ends are. */
static void by_stride(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *off, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const int64_t stride = l->a->address_ramp[l->ins - l->a->ins];
  const unsigned rows = ja_rows(l->a), row_lanes = l->a->row_lanes;
  const bool in_shared = mx_w_mod(*l->ins->w) >> 2 == MX_SHARED;
  gcc_jit_rvalue *end[2 * JA_MOST_ROWS], *bad = NULL, *index[LW_CHUNKS], *apart[JA_MOST_ROWS];
  rows_start(l, ac, off, end);
  for (unsigned row = 0; row < rows; row++) {
    end[rows + row] =
        jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, end[row], lw_u64(l, (uint64_t)stride * (row_lanes - 1))));
    if (!row) continue; /* the others' distances from it must leave room for a row in numbers of 32 bits */
    apart[row] = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, end[row], end[0]));
    gcc_jit_rvalue *from_least = lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, apart[row], lw_u64(l, UINT64_C(1) << 29));
    bad = lw_either(l, bad, lw_compare(l, GCC_JIT_COMPARISON_GT, from_least, lw_u64(l, UINT64_C(1) << 30)));
  }
  gcc_jit_rvalue *host = host_of(l, in_shared);
  bad = lw_either(l, bad, outside(l, in_shared, end, 2 * rows, 1, ac->bytes));
  gcc_jit_block *fast = lw_new_block(l, "fast");
  lw_split(l, lw_rare(l, bad), ac->slow, fast);
  j->b = fast;
  for (unsigned c = 0; c < l->nc; c++) {
    const unsigned row = j->w * c / row_lanes;
    index[c] = lw_ramp(l, j->w * c % row_lanes, (uint64_t)stride, false);
    if (!row) continue;
    const jv more = jv_broadcast(j, MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, apart[row], j->t_u32));
    index[c] = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->vu32, index[c], more.r[0]));
  }
  if (ac->load && ac->n == 1 && ac->bytes == 4 && stride == 8 && j->isa->every_second && !l->parts) {
    for (unsigned c = 0; c < l->nc; c++) {
      gcc_jit_rvalue *q = lw_byte_pointer(l, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, end[j->w * c / row_lanes]));
      const uint64_t at = 8 * (uint64_t)(j->w * c % row_lanes);
      gcc_jit_rvalue *v =
          j->isa->every_second(j, lw_vector(l, q, at, false), lw_vector(l, q, at + j->bytes - 4, false));
      lw_put_element(l, 0, c, ac->type, (jv){.t = MX_T_u32, .r = {v, v}});
    }
    lw_go(l, ac->end);
    return;
  }
  host = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, end[0]));
  lw_element_by_element(l, ac, host, index, 1, lanes);
  lw_go(l, ac->end);
}
/* A load through a flat ramp: one place for each row of lanes. */
static void by_flat_rows(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *off) {
  struct jx *j = &l->j;
  const unsigned bytes = ac->bytes / ac->n;
  gcc_jit_rvalue *start[JA_MOST_ROWS];
  const bool in_shared = mx_w_mod(*l->ins->w) >> 2 == MX_SHARED;
  rows_start(l, ac, off, start);
  gcc_jit_rvalue *host = host_of(l, in_shared);
  gcc_jit_block *fast = lw_new_block(l, "fast");
  lw_split(l, lw_rare(l, outside(l, in_shared, start, ja_rows(l->a), 1, ac->bytes)), ac->slow, fast);
  j->b = fast;
  jv v[JA_MOST_ROWS][4];
  for (unsigned row = 0; row < ja_rows(l->a); row++) {
    gcc_jit_rvalue *q = lw_byte_pointer(l, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, start[row]));
    for (unsigned e = 0; e < ac->n; e++) v[row][e] = load_cell(l, q, (uint64_t)e * bytes, ac->type);
  }
  for (unsigned c = 0; c < l->nc; c++)
    for (unsigned e = 0; e < ac->n; e++) lw_put_element(l, e, c, ac->type, v[j->w * c / l->a->row_lanes][e]);
  lw_go(l, ac->end);
}
/* Rows: all lanes of the warp in one piece, or in several, if the address is a ramp. */
static void by_piece(struct lw *l, const struct lw_access *ac, gcc_jit_rvalue *off, gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  const unsigned cls = mx__types[l->ins->o->opnd[ac->at].type].slot_class;
  const uint32_t slot = ja_slot(l->a, cls, mx_w_operand(l->ins->w, ac->at));
  struct memory_bounds p;
  if (ac->n > 2 && jx_wide(ac->type)) { /* as in by_index() */
    read_cache(l, &p, !ac->load);
    last_address(l, &p, ac->bytes);
    by_distance(l, ac, &p, slot, off, lanes);
    return;
  }
  const bool certain = ja_is_row(l->a, (uint32_t)(l->ins - l->a->ins));
  const unsigned n = certain ? ja_rows(l->a) : 1;
  gcc_jit_rvalue *scattered = NULL, *start[JA_MOST_ROWS], *q[JA_MOST_ROWS];
  const bool in_shared = certain && mx_w_mod(*l->ins->w) >> 2 == MX_SHARED;
  if (certain) rows_start(l, ac, off, start);
  else start[0] = row_start(l, ac, off, &scattered), read_cache(l, &p, !ac->load);
  gcc_jit_rvalue *host = host_of(l, in_shared);
  const uint64_t reach = (uint64_t)l->a->lanes / n * ac->bytes;
  gcc_jit_rvalue *bad = lw_either(l, scattered, outside(l, in_shared, start, n, l->a->lanes / n, ac->bytes));
  if (ac->n > 1 && !ac->load) bad = lw_either(l, bad, not_all(l, ac->guarded, lanes));
  gcc_jit_block *fast = lw_new_block(l, "fast"),
                *others = cls == MX_R64 && !certain && lw_has_elements(l) ? lw_new_block(l, "others") : ac->slow;
  lw_split(l, lw_rare(l, bad), others, fast);
  if (others != ac->slow) {
    j->b = others;
    last_address(l, &p, ac->bytes);
    by_distance(l, ac, &p, slot, off, lanes);
  }
  j->b = fast;
  for (unsigned k = 0; k < n; k++) {
    gcc_jit_rvalue *at = jx_keep(j, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, host, start[k]));
    if (ac->n == 1 && ac->load && n == 1) lw_fetch_ahead(l, at, NULL, reach, false);
    q[k] = lw_byte_pointer(l, at);
  }
  /* where lanes are inactive the row is within bounds, too */
  in_pieces(l, ac, q, l->a->lanes / n, lanes, in_shared);
  lw_go(l, ac->end);
}

/* A kernel parameter at an offset that is known to be within bounds. */
static bool parameter(struct lw *l, unsigned at, uint64_t off, gcc_jit_rvalue *variable, unsigned bytes) {
  const struct mx_func *f = l->a->f;
  const unsigned field = mx_w_operand(l->ins->w, at);
  if (variable || field < MX_LIT || !l->kernel || f->lits[field - MX_LIT].kind != MX_LIT_VALUE) return false;
  const uint64_t offset = f->lits[field - MX_LIT].value + off;
  return offset < f->param_bytes && bytes <= f->param_bytes - offset && !(offset & (bytes - 1));
}

/* Code goes on where the address, one for all lanes, is within bounds; `bad`: a condition that it is not. Returns the
 * host's address. */
static gcc_jit_rvalue *within(struct lw *l, gcc_jit_rvalue *address, const struct memory_bounds *p, gcc_jit_rvalue *bad,
                              gcc_jit_block *slow) {
  gcc_jit_block *fast = lw_new_block(l, "fast");
  lw_split(l, lw_rare(l, bad), slow, fast);
  l->j.b = fast;
  return lw_byte_pointer(l, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, p->host, address));
}
gcc_jit_rvalue *lw_uniform_address(struct lw *l, unsigned at, unsigned bytes, bool write, gcc_jit_rvalue *bad,
                                   gcc_jit_block *slow) {
  struct jx *j = &l->j;
  struct memory_bounds p;
  read_cache(l, &p, write);
  bad = lw_either(l, bad, limit(l, &p, bytes));
  gcc_jit_rvalue *variable;
  const uint64_t off = lw_offset(l, at + 1, &variable);
  const jv more = variable ? jv_number(j, MX_T_u64, variable) : jv_k(j, MX_T_u64, off);
  gcc_jit_rvalue *a = jx_keep(j, jv_scalar(j, lw_address(l, at, 0, more)));
  bad =
      lw_either(l, bad, lw_compare(l, GCC_JIT_COMPARISON_GT, lw_u64_op(l, GCC_JIT_BINARY_OP_MINUS, a, p.lo), p.limit));
  bad = lw_either(l, bad,
                  lw_compare(l, GCC_JIT_COMPARISON_NE,
                             lw_u64_op(l, GCC_JIT_BINARY_OP_BITWISE_AND, a, lw_u64(l, bytes - 1)), lw_u64(l, 0)));
  return within(l, a, &p, bad, slow);
}

bool lw_is_strided(const struct lw *l, uint32_t k) {
  const struct ja_ins *i = &l->a->ins[k];
  const struct mx_row_access ac = mx__row_access[i->op];
  const unsigned bits = jx_bitsof(ac.type);
  return l->j.isa->choose && ja_is_strided(l->a, k) &&
         (bits < 32 || mx__types[i->o->opnd[ac.kind == MX_ACCESS_LOAD ? 0 : STORED].type].bits == bits);
}
static bool build_access(struct lw *l) {
  struct jx *j = &l->j;
  if (lw_run_access(l)) return true;
  const struct mx_row_access ac = mx__row_access[l->ins->op];
  const struct mx_op_info *o = l->ins->o;
  const unsigned bits = jx_bitsof(ac.type), space = mx_w_mod(*l->ins->w) >> 2;
  if ((ac.kind != MX_ACCESS_LOAD && ac.kind != MX_ACCESS_STORE) || bits > 64 || ac.elements > 4 ||
      (l->ins->local && l->a->checked))
    return false;
  const bool load = ac.kind == MX_ACCESS_LOAD, local = l->ins->local;
  const unsigned at = load ? ac.elements : 0, value = load ? 0 : STORED;
  /* the elements in memory have the registers' full width */
  const bool full_width = bits >= 32 && mx__types[o->opnd[value].type].bits == bits;
  if (o->nopnds != ac.elements + 2u) return false;
  const unsigned bytes = bits / 8 * ac.elements;
  const bool guarded = mx_w_guard(*l->ins->w) != MX_GUARD_NONE;
  gcc_jit_rvalue *variable;
  const uint64_t off_k = lw_offset(l, at + 1, &variable) - (local ? ja_local_window(l->ins) : 0);
  const bool one_address = lw_operand_uniform(l, at);
  const bool uniform = one_address && !local;

  struct memory_bounds p = {0};
  if (load && space == MX_PARAM && !guarded && parameter(l, at, off_k, variable, bytes)) {
    for (unsigned e = 0; e < ac.elements; e++) {
      gcc_jit_rvalue *q = jx_rv(lw_field(l, l->x, MX_AT(exec, window) + 8 * MX_PARAM, j->t_pu8));
      const uint64_t offset =
          l->a->f->lits[mx_w_operand(l->ins->w, at) - MX_LIT].value + off_k + (uint64_t)e * (bits / 8);
      const jv v = load_cell(l, q, offset, ac.type);
      for (unsigned c = 0; c < l->nc; c++) lw_put_element(l, e, c, ac.type, v);
    }
    return true;
  }
  if (l->fixed[l->ins - l->a->ins]) {
    gcc_jit_rvalue *q =
        lw_byte_pointer(l, lw_u64_op(l, GCC_JIT_BINARY_OP_PLUS, jx_rv(l->fixed[l->ins - l->a->ins]), lw_u64(l, off_k)));
    for (unsigned e = 0; e < ac.elements; e++) {
      const jv v = load_cell(l, q, (uint64_t)e * (bits / 8), ac.type);
      for (unsigned c = 0; c < l->nc; c++) lw_put_element(l, e, c, ac.type, v);
    }
    return true;
  }
  const struct lw_base *base = lw_base(l);
  /* pairs and quads of small elements are moved as words */
  const unsigned word = bytes == 2 ? MX_T_u16 : MX_T_u32, words = bytes == 8 ? 2 : 1;
  const bool packed = !uniform && ac.elements > 1 && bits < 32, gathers = j->isa->choose,
             no_row = base && base->indexed && !row_stride(base, bytes), several = packed ? words > 1 : ac.elements > 1,
             narrow = bytes < 4 || (bits < 32 && !packed),
             wide_address = mx__types[o->opnd[at].type].slot_class == MX_R64,
             by_body = (several && !((full_width || packed) && gathers && (base || wide_address || local))) ||
                       (narrow && !gathers && (local || no_row));
  const uint32_t number = (uint32_t)(l->ins - l->a->ins);
  const bool flat = ja_is_flat(l->a, number), strided = lw_is_strided(l, number);
  if (!uniform && !flat && by_body) {
    lw_interpret(l);
    return true;
  }
  struct lw_access access = {load, guarded, ac.type, ac.elements, at, value, bytes, NULL, NULL};
  if (packed) access.type = word, access.n = words, l->parts = ac.elements / words, l->part_type = ac.type;
  if (!uniform && !flat && !strided && !base && !local &&
      call_row_access(l, &access, variable ? variable : lw_u64(l, off_k)))
    return true;
  const jv off = variable ? jv_number(j, MX_T_u64, variable) : jv_k(j, MX_T_u64, off_k);
  if (local && lw_call_by_lane(l, &access, off)) return true;
  gcc_jit_block *end = access.end = lw_new_block(l, "done");
  if (!uniform && base && base->bounds_checked) {
    gcc_jit_rvalue *lanes[LW_CHUNKS];
    for (unsigned c = 0; c < l->nc; c++) lanes[c] = lw_lanes(l, c);
    sure(l, &access, off_k, lanes);
    return true;
  }
  gcc_jit_block *slow = access.slow = lw_new_block(l, "slow");
  gcc_jit_rvalue *lanes[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) lanes[c] = lw_lanes(l, c);
  if (guarded && uniform)
    lw_if_any(l, lw_any(l, lanes), load ? ac.elements : 0, end); /* otherwise empty masks make each step do nothing */
  lw_checked_access(l, at, bytes, slow);
  if (uniform || (lw_base(l) && !local)) read_cache(l, &p, !load);
  if (uniform) {
    gcc_jit_rvalue *a = jx_keep(j, jv_scalar(j, lw_address(l, at, 0, off)));
    gcc_jit_rvalue *q = within(l, a, &p, outside(l, false, &a, 1, 1, bytes), slow);
    gcc_jit_type *t = cell_type(j, ac.type);
    jv v[4];
    for (unsigned e = 0; e < ac.elements; e++) {
      const uint64_t offset = (uint64_t)e * (bits / 8);
      if (load) v[e] = load_cell(l, q, offset, ac.type);
      else
        jx_set(j, lw_field(l, q, offset, t),
               gcc_jit_context_new_cast(j->c, NULL, lw_last_value(l, &access, e, lanes), t));
    }
    for (unsigned e = 0; load && e < ac.elements; e++)
      for (unsigned c = 0; c < l->nc; c++) lw_put_element(l, e, c, ac.type, v[e]);
    lw_go(l, end);
  } else if (flat) by_flat_rows(l, &access, variable ? variable : lw_u64(l, off_k));
  else if (strided) by_stride(l, &access, variable ? variable : lw_u64(l, off_k), lanes);
  else if (local) lw_by_lane(l, &access, off, lanes);
  else if (lw_base(l) && lw_base(l)->indexed) by_index(l, &access, &p, variable ? variable : lw_u64(l, off_k), lanes);
  else if (lw_base(l)) by_shape(l, &access, &p, variable ? variable : lw_u64(l, off_k), lanes);
  else by_piece(l, &access, variable ? variable : lw_u64(l, off_k), lanes);
  j->b = slow;
  lw_interpret(l);
  lw_go(l, end);
  j->b = end;
  return true;
}
bool lw_memory(struct lw *l) {
  const struct mx_row_access ac = mx__row_access[l->ins->op];
  for (unsigned e = 0; ac.kind == MX_ACCESS_STORE && jx_bitsof(ac.type) == 32 && e < ac.elements; e++)
    lw_clean_slot(l, STORED + e);
  const bool built = build_access(l);
  l->parts = 0;
  return built;
}

/* Warp operations in compiled code, where all lanes that live are here and the mask names them all, as it mostly does:
 * votes and ballots from the predicate's bits, shuffles as choices from all the chunks, reductions by exchanging
 * neighbours, then pairs, and so on. Where lanes name different member masks, these must be tiles: groups of adjacent
 * lanes of one size, a power of two, and all lanes of the warp must be active. All other cases, and the other warp
 * operations, are left to vm/exec/sync.c, whose functions eval_... define the results with which this file must
 * agree. */
#include "lowering.h"

#include "vm/exec/warp.h"

#include <stdio.h>

enum shuffle { UP, DOWN, BUTTERFLY, INDEX }; /* the numbers that modifiers have for them */

static unsigned results_of(const struct mx_op_info *o) {
  unsigned n = 0;
  while (n < o->nopnds && o->opnd[n].role == MX_OUT) n++;
  return n;
}

/* (lane number & keep) | set */
jv lw_lane_numbers(struct lw *l, unsigned c, unsigned keep, unsigned set) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *e[JX_MOST_LANES];
  if (!keep) return jv_k(j, MX_T_u32, set);
  for (unsigned k = 0; k < j->w; k++) e[k] = jx_int(j, j->t_u32, ((j->w * c + k) & keep) | set);
  gcc_jit_rvalue *v = gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, (int)j->w, e);
  return (jv){.t = MX_T_u32, .r = {v, v}};
}

/* In tiles: the bits in which the numbers of lanes of different tiles differ. */
static jv other_tile(struct lw *l, gcc_jit_rvalue *tile) {
  struct jx *j = &l->j;
  return jv_broadcast(j, MX_T_u32, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u32, jx_int(j, j->t_u32, 0), tile));
}

/* ---- shuffles -----------------------------------------------------------------------------------------------*/
/* Where each lane takes its value from, and whether that lane is in range. */
struct sources {
  unsigned from[MX_MAX_LANES];
  bool good[MX_MAX_LANES];
};
/* Finds them where the code itself says by which distance values move, and in which tiles. n: the number of results. */
static bool known_sources(const struct lw *l, unsigned n, const struct lw_tile *tile, struct sources *s) {
  const uint64_t *by = ja_known(l->ins, n + 1), *limits = ja_known(l->ins, n + 2);
  const unsigned lanes = l->a->image->lanes;
  if (!by || !limits || (tile && !tile->known)) return false;
  for (unsigned lane = 0; lane < lanes; lane++) {
    const unsigned from = mx__shuffle_source(mx_w_mod(*l->ins->w), lane, lanes, (uint32_t)by[lane],
                                             (uint32_t)limits[lane], &s->good[lane]);
    s->from[lane] = tile && (from ^ lane) / tile->known ? lane : from;
  }
  return true;
}
/* The values for chunk c. Lanes of few chunks are exchanged or permuted among these alone. */
static gcc_jit_rvalue *take(struct lw *l, const struct sources *s, gcc_jit_rvalue *const *all, unsigned c) {
  struct jx *j = &l->j;
  const unsigned *from = s->from + c * j->w, by = (from[0] ^ c * j->w) % j->w;
  gcc_jit_rvalue *of[LW_CHUNKS], *index[JX_MOST_LANES];
  unsigned place[LW_CHUNKS], n = 0; /* place: where a chunk is in of[] */
  bool exchanged = true;
  for (unsigned chunk = 0; chunk < l->nc; chunk++)
    for (unsigned k = 0; k < j->w; k++)
      if (from[k] / j->w == chunk) {
        place[chunk] = n, of[n++] = all[chunk];
        break;
      }
  for (unsigned k = 0; k < j->w; k++) exchanged &= n == 1 && from[k] % j->w == (k ^ by);
  if (exchanged && !by) return of[0];
  if (exchanged && !(by & (by - 1))) return j->isa->exchange(j, of[0], by);
  while (n & (n - 1)) of[n] = of[0], n++; /* a permutation takes a power of two */
  for (unsigned k = 0; k < j->w; k++) index[k] = jx_int(j, j->t_u32, place[from[k] / j->w] * j->w + from[k] % j->w);
  return j->isa->choose(j, of, n, gcc_jit_context_new_rvalue_from_vector(j->c, NULL, j->vu32, (int)j->w, index));
}
static void shuffle_as_known(struct lw *l, unsigned n, const struct sources *s) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *all[LW_CHUNKS], *out[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) all[c] = jx_keep(j, jx_bits(j, j->vu32, lw_operand(l, n, c).r[0]));
  for (unsigned c = 0; c < l->nc; c++) out[c] = take(l, s, all, c); /* the result may overwrite the operand */
  for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, (jv){.t = MX_T_b32, .r = {out[c], out[c]}});
  for (unsigned c = 0; n > 1 && c < l->nc; c++) {
    uint64_t good = 0;
    for (unsigned k = 0; k < j->w; k++) good |= (uint64_t)s->good[c * j->w + k] << k;
    gcc_jit_rvalue *m;
    j->isa->masks_of(j, lw_u64(l, good), 1, &m);
    lw_put(l, 1, c, (jv){.t = MX_T_pred, .r = {m, m}});
  }
}

/* What a shuffle works on, by chunk: its operands, and then which lane's value is chosen, and whether that lane exists.
 * other_tile: see the function of that name; NULL: there is one group. */
struct shuffle_of {
  unsigned mode;
  const jv *other_tile;
  jv by[LW_CHUNKS], good[LW_CHUNKS];
  gcc_jit_rvalue *all[LW_CHUNKS], *out[LW_CHUNKS];
};
static void choose_lanes(struct lw *l, struct shuffle_of *s, unsigned c, jv limits) {
  struct jx *j = &l->j;
  const unsigned wrap = l->a->image->lanes - 1;
  const jv lane = lw_lane_numbers(l, c, wrap, 0);
  /* the bits within the segment */
  jv by = jv_bin(j, JX_AND, MX_T_u32, s->by[c], jv_k(j, MX_T_u32, wrap)), last, outside;
  if (limits.k) {
    const unsigned segment = limits.kv >> 8 & wrap;
    outside = jv_k(j, MX_T_u32, ~segment & wrap);
    last = lw_lane_numbers(l, c, segment, limits.kv & ~segment & wrap);
  } else {
    jv segment =
        jv_bin(j, JX_AND, MX_T_u32, jv_bin(j, JX_SHR, MX_T_u32, limits, jv_k(j, MX_T_u32, 8)), jv_k(j, MX_T_u32, wrap));
    outside = jv_bin(j, JX_XOR, MX_T_u32, segment, jv_k(j, MX_T_u32, wrap));
    last = jv_bin(j, JX_OR, MX_T_u32, jv_bin(j, JX_AND, MX_T_u32, lane, segment),
                  jv_bin(j, JX_AND, MX_T_u32, limits, outside));
  }
  jv from;
  switch (s->mode) {
  case UP: from = jv_bin(j, JX_SUB, MX_T_u32, lane, by); break;
  case DOWN: from = jv_bin(j, JX_ADD, MX_T_u32, lane, by); break;
  case BUTTERFLY: from = jv_bin(j, JX_XOR, MX_T_u32, lane, by); break;
  default: { /* the lane is in the same segment, and exists */
    jv low = jv_bin(j, JX_AND, MX_T_u32, lane, jv_bin(j, JX_XOR, MX_T_u32, outside, jv_k(j, MX_T_u32, wrap)));
    from = jv_bin(j, JX_OR, MX_T_u32, low, jv_bin(j, JX_AND, MX_T_u32, by, outside));
  }
  }
  s->good[c] = jv_cmp(j, s->mode == UP ? JX_GE : JX_LE, MX_T_s32, from, last);
  from = jv_sel(j, MX_T_u32, s->good[c], from, lane);
  if (s->other_tile) {
    jv differ = jv_bin(j, JX_AND, MX_T_u32, jv_bin(j, JX_XOR, MX_T_u32, from, lane), *s->other_tile);
    from = jv_sel(j, MX_T_u32, jv_cmp(j, JX_EQ, MX_T_u32, differ, jv_k(j, MX_T_u32, 0)), from, lane);
  }
  s->out[c] = j->isa->choose(j, s->all, l->nc, from.r[0]);
}

/* Where slots live in memory, a shuffle calls a function of the object, built once for each kind, which takes operands
 * from their cells and leaves results there. In line it would be some hundred statements. */
#define BY_LANE UINT64_MAX /* the limit differs from lane to lane */
static gcc_jit_function *shuffle_function(struct lw *l, unsigned mode, uint64_t limits, bool wanted, bool same,
                                          bool tiles) {
  static struct {
    gcc_jit_function *f;
    uint64_t limits;
    unsigned mode;
    bool wanted, same, tiles;
  } known[32];
  static unsigned n;
  struct jx *j = &l->j;
  for (unsigned k = 0; k < n; k++)
    if (known[k].mode == mode && known[k].limits == limits && known[k].wanted == wanted && known[k].same == same &&
        known[k].tiles == tiles)
      return known[k].f;
  if (n == sizeof known / sizeof *known) return NULL;
  char name[32];
  snprintf(name, sizeof name, "shuffle_%u", n);
  gcc_jit_param *p[6] = {gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "out"),
                         gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "good"),
                         gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "in"),
                         gcc_jit_context_new_param(j->c, NULL, same ? j->t_u32 : j->t_pu8, "by"),
                         gcc_jit_context_new_param(j->c, NULL, j->t_pu8, "limits"),
                         gcc_jit_context_new_param(j->c, NULL, j->t_u32, "tile")};
  gcc_jit_function *const caller = j->fn, *f = gcc_jit_context_new_function(j->c, NULL, GCC_JIT_FUNCTION_INTERNAL,
                                                                            j->t_void, name, 6, p, 0);
  gcc_jit_block *const here = j->b;
  gcc_jit_rvalue *out = gcc_jit_param_as_rvalue(p[0]), *good = gcc_jit_param_as_rvalue(p[1]),
                 *in = gcc_jit_param_as_rvalue(p[2]), *by = gcc_jit_param_as_rvalue(p[3]),
                 *each = gcc_jit_param_as_rvalue(p[4]);
  struct shuffle_of s = {.mode = mode};
  j->fn = f, j->b = gcc_jit_function_new_block(f, "begin");
  const jv one = same ? jv_broadcast(j, MX_T_u32, by) : (jv){0},
           other = tiles ? other_tile(l, gcc_jit_param_as_rvalue(p[5])) : (jv){0};
  if (tiles) s.other_tile = &other;
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *v = same ? NULL : jx_keep(j, jx_rv(lw_vector(l, by, c * j->bytes, false)));
    s.by[c] = same ? one : (jv){.t = MX_T_u32, .r = {v, v}};
    s.all[c] = jx_keep(j, jx_rv(lw_vector(l, in, c * j->bytes, false)));
  }
  jv limit[LW_CHUNKS]; /* read before any result is written, which may overwrite it */
  for (unsigned c = 0; c < l->nc; c++) {
    limit[c] = jv_k(j, MX_T_u32, limits);
    if (limits != BY_LANE) continue;
    gcc_jit_rvalue *v = jx_keep(j, jx_rv(lw_vector(l, each, c * j->bytes, false)));
    limit[c] = (jv){.t = MX_T_u32, .r = {v, v}};
  }
  for (unsigned c = 0; c < l->nc; c++) {
    choose_lanes(l, &s, c, limit[c]);
    jx_set(j, lw_vector(l, out, c * j->bytes, false), s.out[c]);
    if (wanted) jx_set(j, lw_field(l, good, c * j->mask_bytes, j->t_mask), s.good[c].r[0]);
  }
  gcc_jit_block_end_with_void_return(j->b, NULL);
  j->fn = caller, j->b = here;
  known[n].f = f, known[n].mode = mode, known[n].limits = limits, known[n].wanted = wanted, known[n].same = same;
  known[n++].tiles = tiles;
  return f;
}
static bool call_shuffle(struct lw *l, unsigned n, const struct lw_tile *tile) {
  struct jx *j = &l->j;
  const bool same = lw_operand_uniform(l, n + 1);
  if (!l->slots_spilled || l->one_lane || mx_w_guard(*l->ins->w) != MX_GUARD_NONE) return false;
  const jv limits = lw_operand(l, n + 2, 0);
  gcc_jit_rvalue *arg[6] = {lw_operand_cells(l, 0, true),
                            n > 1 ? lw_operand_cells(l, 1, true) : gcc_jit_context_null(j->c, j->t_pu8),
                            lw_operand_cells(l, n, false),
                            same ? NULL : lw_operand_cells(l, n + 1, false),
                            limits.k ? gcc_jit_context_null(j->c, j->t_pu8) : lw_operand_cells(l, n + 2, false),
                            tile ? tile->lanes : jx_int(j, j->t_u32, 0)};
  if (!arg[4] || !arg[0] || !arg[1] || !arg[2] || (!same && !arg[3])) return false;
  if (same) arg[3] = jv_scalar(j, jv_as(j, MX_T_u32, lw_operand(l, n + 1, 0)));
  gcc_jit_function *f =
      shuffle_function(l, mx_w_mod(*l->ins->w), limits.k ? limits.kv : BY_LANE, n > 1, same, tile != NULL);
  if (!f) return false;
  gcc_jit_block_add_eval(j->b, NULL, gcc_jit_context_new_call(j->c, NULL, f, 6, arg));
  for (unsigned k = 0; k < n; k++)
    lw_shape_update(l, ja_slot(l->a, mx__types[l->ins->o->opnd[k].type].slot_class, mx_w_operand(l->ins->w, k)));
  return true;
}

static void shuffle(struct lw *l, const struct lw_tile *tile) {
  struct jx *j = &l->j;
  const unsigned n = results_of(l->ins->o);
  struct sources known;
  if (known_sources(l, n, tile, &known)) return shuffle_as_known(l, n, &known);
  if (call_shuffle(l, n, tile)) return;
  struct shuffle_of s = {.mode = mx_w_mod(*l->ins->w)};
  const jv other = tile ? other_tile(l, tile->lanes) : (jv){0};
  if (tile) s.other_tile = &other;
  for (unsigned c = 0; c < l->nc; c++) { /* the result may overwrite the operand */
    s.all[c] = jx_keep(j, jx_bits(j, j->vu32, lw_operand(l, n, c).r[0]));
    s.by[c] = lw_operand(l, n + 1, c);
  }
  jv limits[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) limits[c] = lw_operand(l, n + 2, c);
  for (unsigned c = 0; c < l->nc; c++) choose_lanes(l, &s, c, limits[c]), s.out[c] = jx_keep(j, s.out[c]);
  for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, (jv){.t = MX_T_b32, .r = {s.out[c], s.out[c]}});
  for (unsigned c = 0; n > 1 && c < l->nc; c++) lw_put(l, 1, c, s.good[c]);
}

static gcc_jit_rvalue *equal(struct lw *l, gcc_jit_rvalue *x, gcc_jit_rvalue *y) {
  return lw_compare(l, GCC_JIT_COMPARISON_EQ, x, y);
}
static void vote(struct lw *l, bool ballot, const struct lw_tile *tile) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *m[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) m[c] = lw_operand(l, 1, c).r[0];
  gcc_jit_rvalue *bits = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, lw_pack(l, m), jx_rv(l->emask)));
  const unsigned mode = mx_w_mod(*l->ins->w), mask = l->ins->o->nopnds - 1u; /* all, any, uni */
  const bool wide = jx_wide(l->ins->o->opnd[mask].type);
  const unsigned type = wide ? MX_T_u64 : MX_T_u32;
  const jv all = jv_broadcast(j, type, wide ? bits : gcc_jit_context_new_cast(j->c, NULL, bits, j->t_u32));
  if (tile) {
    for (unsigned c = 0; c < l->nc; c++) {
      jv named = lw_operand(l, mask, c), v = jv_bin(j, JX_AND, type, all, named);
      if (!ballot) {
        jv every = jv_cmp(j, JX_EQ, type, v, named), some = jv_cmp(j, JX_NE, type, v, jv_k(j, type, 0));
        v = mode == 0   ? every
            : mode == 1 ? some
                        : jv_bin(j, JX_OR, MX_T_pred, every, jv_bin(j, JX_XOR, MX_T_pred, some, jv_k(j, MX_T_pred, 1)));
      }
      lw_put(l, 0, c, v);
    }
    return;
  }
  jv v = all;
  if (!ballot) {
    gcc_jit_rvalue *none = equal(l, bits, lw_u64(l, 0)), *every = equal(l, bits, jx_rv(l->emask)), *yes;
    yes = mode == 0   ? every
          : mode == 1 ? gcc_jit_context_new_unary_op(j->c, NULL, GCC_JIT_UNARY_OP_LOGICAL_NEGATE, j->t_bool, none)
                      : lw_either(l, every, none);
    gcc_jit_rvalue *filled = jx_keep(j, j->isa->mask_fill(j, gcc_jit_context_new_cast(j->c, NULL, yes, j->t_u64)));
    v = (jv){.t = MX_T_pred, .u = true, .r = {filled, filled}};
  }
  for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, v);
}

/* One step of a reduction; modifiers count and, or, xor, or else add, min, max. */
static jv joined(struct lw *l, unsigned type, jv x, jv y) {
  struct jx *j = &l->j;
  static const enum jx_bin of_bits[] = {JX_AND, JX_OR, JX_XOR};
  const unsigned mode = mx_w_mod(*l->ins->w);
  if (type == MX_T_b32) return jv_bin(j, of_bits[mode], MX_T_u32, x, y);
  if (mode == 0) return jv_bin(j, JX_ADD, MX_T_u32, x, y);
  return jv_sel(j, type, jv_cmp(j, mode == 1 ? JX_LT : JX_GT, type, x, y), x, y);
}
/* Within a chunk, joins each lane's value with that of the lane whose number differs in bit `by`. */
static jv joined_inside(struct lw *l, unsigned type, jv x, unsigned by) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *other = j->isa->exchange(j, jx_bits(j, j->vu32, x.r[0]), by);
  return joined(l, type, x, jv_as(j, type, (jv){.t = MX_T_u32, .r = {other, other}}));
}
static void reduce(struct lw *l, const struct lw_tile *tile) {
  struct jx *j = &l->j;
  const unsigned type = l->ins->o->opnd[0].type;
  jv v[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) v[c] = lw_operand(l, 1, c);
  if (!tile) {
    for (unsigned n = l->nc / 2; n; n /= 2)
      for (unsigned c = 0; c < n; c++) v[c] = joined(l, type, v[c], v[c + n]);
    v[0].u = false;
    for (unsigned by = j->w / 2; by; by /= 2) v[0] = joined_inside(l, type, v[0], by);
    v[0].u = true;
    for (unsigned c = 0; c < l->nc; c++) lw_put(l, 0, c, v[0]);
    return;
  }
  gcc_jit_lvalue *sum[LW_CHUNKS];
  gcc_jit_block *end = lw_new_block(l, "reduced");
  for (unsigned c = 0; c < l->nc; c++) jx_set(j, sum[c] = jx_local(j, j->vu32), jx_bits(j, j->vu32, v[c].r[0]));
  for (unsigned by = 1; by < (tile->known ? tile->known : l->a->lanes); by *= 2) {
    if (!tile->known) {
      gcc_jit_block *step = lw_new_block(l, "step");
      lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_LE, tile->lanes, jx_int(j, j->t_u32, by)), end, step);
      j->b = step;
    }
    for (unsigned c = 0; c < l->nc; c++)
      v[c] = jv_as(j, type, (jv){.t = MX_T_u32, .r = {jx_rv(sum[c]), jx_rv(sum[c])}});
    for (unsigned c = 0; c < l->nc; c++) {
      if (by >= j->w && (c & by / j->w)) continue;
      jv s = by < j->w ? joined_inside(l, type, v[c], by) : joined(l, type, v[c], v[c | by / j->w]);
      gcc_jit_rvalue *kept = jx_keep(j, jx_bits(j, j->vu32, s.r[0]));
      jx_set(j, sum[c], kept);
      if (by >= j->w) jx_set(j, sum[c | by / j->w], kept);
    }
  }
  lw_go(l, end);
  j->b = end;
  for (unsigned c = 0; c < l->nc; c++)
    lw_put(l, 0, c, jv_as(j, type, (jv){.t = MX_T_u32, .r = {jx_rv(sum[c]), jx_rv(sum[c])}}));
}
/* The lowest lane of the mask, and whether the current lane is it. */
static void elect(struct lw *l, const struct lw_tile *tile) {
  struct jx *j = &l->j;
  const unsigned wrap = l->a->image->lanes - 1;
  for (unsigned c = 0; c < l->nc; c++) {
    const jv lane = lw_lane_numbers(l, c, wrap, 0);
    const jv first = tile ? jv_bin(j, JX_AND, MX_T_u32, lane, other_tile(l, tile->lanes)) : jv_k(j, MX_T_u32, 0);
    lw_put(l, 0, c, first);
    lw_put(l, 1, c, jv_cmp(j, JX_EQ, MX_T_u32, lane, first));
  }
}

/* The warp operations that have native forms. whole: it needs all lanes of the warp, not only all that live. */
static void no_result(struct lw *l, const struct lw_tile *tile) { (void)l, (void)tile; }
static void vote_yes(struct lw *l, const struct lw_tile *tile) { vote(l, false, tile); }
static void vote_ballot(struct lw *l, const struct lw_tile *tile) { vote(l, true, tile); }
static const struct native {
  enum mx_effect does;
  void (*build)(struct lw *l, const struct lw_tile *tile);
  bool whole, chooses;
} natives[] = {{MX_DOES_MEET, no_result, false, false},     {MX_DOES_VOTE, vote_yes, false, false},
               {MX_DOES_BALLOT, vote_ballot, false, false}, {MX_DOES_SHUFFLE, shuffle, true, true},
               {MX_DOES_REDUCE, reduce, true, false},       {MX_DOES_ELECT, elect, true, false}};
static const struct native *native_of(const struct lw *l) {
  for (size_t k = 0; k < sizeof natives / sizeof *natives; k++)
    if (mx__effect(l->ins->op) == natives[k].does && (l->j.isa->choose || !natives[k].chooses)) return &natives[k];
  return NULL;
}

/* The number of lanes of each tile, where the masks are known to name tiles; 0: they are known to name none. */
static unsigned known_tiles(const struct lw *l, const uint64_t *masks) {
  const unsigned n = (unsigned)__builtin_popcountll(masks[0]);
  if (!n || n & (n - 1)) return 0;
  for (unsigned lane = 0; lane < l->a->image->lanes; lane++)
    if (masks[lane] != UINT64_MAX >> (64 - n) << (lane & ~(n - 1))) return 0;
  return n;
}
/* A condition: the lanes' masks are not tiles of *tile lanes each, a number that is computed here. */
static gcc_jit_rvalue *masks_of_tiles(struct lw *l, unsigned mask, gcc_jit_rvalue **tile) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(l->ins->o->opnd[mask].type);
  const unsigned type = wide ? MX_T_u64 : MX_T_u32;
  jv first = jv_as(j, type, lw_operand(l, mask, 0)), differ = {0};
  gcc_jit_rvalue *word = jx_keep(j, j->isa->first(j, wide, first.r[0])),
                 *bits = jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, word, j->t_u64)), *one = lw_u64(l, 1);
  *tile = jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, lw_count(l, bits), j->t_u32));
  const jv tile_bits = other_tile(l, *tile), mask_of_first = jv_broadcast(j, type, word);
  for (unsigned c = 0; c < l->nc; c++) {
    jv from = jv_bin(j, JX_AND, MX_T_u32, lw_lane_numbers(l, c, l->a->image->lanes - 1, 0), tile_bits);
    jv d = jv_bin(j, JX_XOR, type, jv_bin(j, JX_SHL, type, mask_of_first, from), lw_operand(l, mask, c));
    differ = c ? jv_bin(j, JX_OR, type, differ, d) : d;
  }
  gcc_jit_rvalue *any = jx_keep(j, jx_bits(j, jx_vector(j, wide), differ.r[0]));
  if (wide) any = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->vu64, any, jx_bits(j, j->vu64, differ.r[1]));
  /* in the first mask: gaps between its lanes, a number of lanes that is no power of two, or a missing first lane */
  gcc_jit_rvalue *holes = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, bits,
                                jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, bits, one)),
                 *odd = lw_but_lowest(l, jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, *tile, j->t_u64))),
                 *outside = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_u64, one,
                                  jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, bits, one));
  gcc_jit_rvalue *wrong = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u64, holes,
                                jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u64, odd, outside));
  return lw_either(l, j->isa->any_bit(j, wide, jx_keep(j, any)),
                   lw_compare(l, GCC_JIT_COMPARISON_NE, wrong, lw_u64(l, 0)));
}

gcc_jit_rvalue *lw_cross_lacks(struct lw *l, gcc_jit_rvalue *alive, struct lw_tile *tile) {
  struct jx *j = &l->j;
  const unsigned mask = l->ins->o->nopnds - 1u;
  const struct native *native = l->ins->o->flags & MX_F_SYNC && !l->a->checked ? native_of(l) : NULL;
  const uint64_t *masks = ja_known(l->ins, mask);
  *tile = (struct lw_tile){0};
  if (!native) return NULL;
  bool same = lw_operand_uniform(l, mask);
  if (masks && !same) {
    tile->known = known_tiles(l, masks);
    if (!tile->known) return NULL;
    same = tile->known == l->a->image->lanes;
  }
  gcc_jit_rvalue *here = !same || native->whole ? lw_all_lanes(l) : alive;
  gcc_jit_rvalue *missing = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_u64, here, jx_rv(l->emask)), *other = NULL;
  if (tile->known) tile->lanes = same ? NULL : jx_int(j, j->t_u32, tile->known);
  else if (!same) other = masks_of_tiles(l, mask, &tile->lanes);
  else if (!masks || ~masks[0] & UINT64_MAX >> (64 - l->a->lanes)) { /* some lane may not be named */
    gcc_jit_rvalue *named = gcc_jit_context_new_cast(j->c, NULL, jv_scalar(j, lw_operand(l, mask, 0)), j->t_u64);
    missing = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u64, missing,
                    jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64, jx_rv(l->emask),
                          jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, j->t_u64, named, lw_u64(l, UINT64_MAX))));
  }
  gcc_jit_rvalue *lacks = lw_compare(l, GCC_JIT_COMPARISON_NE, missing, lw_u64(l, 0));
  return other ? lw_either(l, lacks, other) : lacks;
}
void lw_cross(struct lw *l, const struct lw_tile *tile) { native_of(l)->build(l, tile->lanes ? tile : NULL); }

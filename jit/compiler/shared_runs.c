/* Runs of accesses to shared memory through a few registers and constant offsets, as kernels read the elements of a
 * tile. How the values of these registers differ from lane to lane is guessed from how they were computed of %tid.x. A
 * run is compiled in two versions, or in three where it looks like a tile's, and one test before it chooses. Where the
 * guess holds for all lanes, active or not, and all are in bounds, the address of a chunk is one scalar, and an access
 * is a load, store or broadcast of a chunk, or a permutation of two. Otherwise all accesses are gathers, whose bounds
 * are checked once for the active lanes; if one of these is outside, the interpreter takes over. A wrong guess costs
 * time only. */
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/launch.h"

#include <stdlib.h>

/* ---- by how much numbers differ from lane to lane ---------------------------------------------------------------*/
/* The stride of a slot: by how much it grows when %tid.x grows by one; 0: it does not depend on %tid.x. */
enum { UNKNOWN = INT32_MIN, UNSET = INT32_MIN + 1 };

static int32_t meet(int32_t x, int32_t y) { return x == UNSET ? y : y == UNSET || x == y ? x : UNKNOWN; }
static int32_t of_operand(const struct ja *a, const struct ja_ins *i, unsigned k, const int32_t *at) {
  const unsigned f = mx_w_operand(i->w, k), cls = mx__types[i->o->opnd[k].type].slot_class;
  if (f >= MX_LIT || cls == MX_R128) return f >= MX_LIT ? 0 : UNKNOWN;
  const int32_t v = at[ja_slot(a, cls, f)];
  return v == UNSET ? 0 : v;
}
static int32_t sum(int32_t x, int32_t y) {
  return x == UNKNOWN || y == UNKNOWN || labs((long)x + y) > 1 << 24 ? UNKNOWN : x + y;
}
/* The product of operands k and m, where one is a known constant. */
static int32_t product(const struct ja *a, const struct ja_ins *i, unsigned k, unsigned m, const int32_t *at) {
  const int32_t x = of_operand(a, i, k, at), y = of_operand(a, i, m, at);
  if (!x && !y) return 0;
  const unsigned by = y ? k : m, f = mx_w_operand(i->w, by);
  if ((x && y) || f < MX_LIT || a->f->lits[f - MX_LIT].kind != MX_LIT_VALUE) return UNKNOWN;
  const int64_t n = (int32_t)a->f->lits[f - MX_LIT].value, v = x ? x : y;
  return v == UNKNOWN || n > 1 << 16 || n < -(1 << 16) || llabs(v * n) > 1 << 24 ? UNKNOWN : (int32_t)(v * n);
}
static int32_t result(const struct ja *a, const struct ja_ins *i, const int32_t *at) {
  if (mx__effect(i->op) == MX_DOES_SREG && ja_result_bits(i) == 32) {
    const unsigned number = mx_w_operand(i->w, 1);
    return number == MX_SR_TID_X || number == MX_SR_LANEID;
  }
  switch (i->form) {
  case MX_FORM_COPY:
  case MX_FORM_EXTEND: return of_operand(a, i, 1, at);
  case MX_FORM_ADD: return sum(of_operand(a, i, 1, at), of_operand(a, i, 2, at));
  case MX_FORM_SUB: {
    const int32_t y = of_operand(a, i, 2, at);
    return sum(of_operand(a, i, 1, at), y == UNKNOWN ? y : -y);
  }
  case MX_FORM_MUL: return product(a, i, 1, 2, at);
  case MX_FORM_MAD: return sum(product(a, i, 1, 2, at), of_operand(a, i, 3, at));
  case MX_FORM_SHIFT: {
    const unsigned f = mx_w_operand(i->w, 2);
    const int64_t x = of_operand(a, i, 1, at);
    if (f < MX_LIT || a->f->lits[f - MX_LIT].kind != MX_LIT_VALUE || a->f->lits[f - MX_LIT].value > 8) break;
    const int64_t v = x * (1 << a->f->lits[f - MX_LIT].value);
    return x == UNKNOWN || llabs(v) > 1 << 24 ? UNKNOWN : (int32_t)v;
  }
  default: break;
  }
  if (i->o->flags & MX_F_MOVI) return 0;
  uint32_t s[JA_MAX_TOUCH];
  for (uint32_t n = ja_uses(a, i, s); n--;)
    if (at[s[n]] != 0 && at[s[n]] != UNSET) return UNKNOWN;
  return 0;
}
static void transfer(const struct ja *a, const struct ja_ins *i, int32_t *at) {
  uint32_t s[JA_MAX_TOUCH];
  const uint32_t n = ja_defs(a, i, s);
  if (!n) return;
  const int32_t v = result(a, i, at);
  for (uint32_t k = 0; k < n; k++) at[s[k]] = mx_w_guard(*i->w) == MX_GUARD_NONE ? v : meet(at[s[k]], v);
}
/* The strides of all slots at the beginning of each block: by block, then by slot. */
static int32_t *find_strides(const struct ja *a) {
  int32_t *in = lw_need(sizeof *in * a->nslots * (a->nblocks + 1u)), *at = in + (size_t)a->nblocks * a->nslots;
  for (size_t k = 0; k < (size_t)a->nblocks * a->nslots; k++) in[k] = UNSET;
  for (bool again = true; again;) {
    again = false;
    for (uint32_t b = 0; b < a->nblocks; b++) {
      const struct ja_block *bl = &a->blocks[b];
      for (uint32_t s = 0; s < a->nslots; s++) at[s] = in[(size_t)b * a->nslots + s];
      for (uint32_t k = bl->first; k < bl->end; k++) transfer(a, &a->ins[k], at);
      JA_FOR_SUCC(
          a, b, succ, for (uint32_t s = 0; s < a->nslots; s++) {
            int32_t *to = &in[(size_t)succ * a->nslots + s];
            const int32_t v = meet(*to, at[s]);
            again |= v != *to;
            *to = v;
          });
    }
  }
  return in;
}

/* ---- runs -------------------------------------------------------------------------------------------------------*/
/* the most instructions of a run; the most blocks of a function in which runs are looked for; how many loads make a
 * tile */
enum { MOST = 400, MOST_BLOCKS = 200, TILE = 8 };
/* From so many guessed rows on, functions decide whether the guesses are right. In line that takes a hundred statements
 * a row, which are half of what some tiled kernels consist of; calls take longer to run where runs are short. */
enum { MANY_GUESSES = 3 };

static int64_t offset_of(const struct ja *a, const struct ja_ins *i) {
  const struct mx_lit *lit =
      &a->f->lits[mx_w_operand(i->w, mx__row_access[i->op].kind == MX_ACCESS_LOAD ? 2 : 1) - MX_LIT];
  return lit->kind == MX_LIT_VALUE ? (int64_t)lit->value : INT64_MAX;
}
/* What the address of access k is made of: a slot, and the constant or variable's name that was added to it just
 * before, if any. */
struct number {
  uint32_t slot;
  const struct ja_ins *sum;
  unsigned operand, bytes;
};
static bool find_number(const struct ja *a, const struct ja_block *b, uint32_t k, struct number *n) {
  const struct ja_ins *i = &a->ins[k];
  const struct mx_row_access ac = i->o->cls == MX_MEM ? mx__row_access[i->op] : (struct mx_row_access){0};
  if ((ac.kind != MX_ACCESS_LOAD && ac.kind != MX_ACCESS_STORE) || ac.elements != 1 ||
      mx_w_mod(*i->w) >> 2 != MX_SHARED || mx_w_guard(*i->w) != MX_GUARD_NONE)
    return false;
  const unsigned at = ac.kind == MX_ACCESS_LOAD ? 1 : 0, field = mx_w_operand(i->w, at), bits = jx_bitsof(ac.type);
  *n = (struct number){.bytes = bits / 8};
  const unsigned cls = mx__types[i->o->opnd[at].type].slot_class, add = cls == MX_R64 ? MX_ADD_U64 : MX_ADD_U32;
  if ((bits != 32 && bits != 64) || field >= MX_LIT) return false;
  if (mx__types[i->o->opnd[ac.kind == MX_ACCESS_LOAD ? 0 : 2].type].slot_class != (bits == 64 ? MX_R64 : MX_R32))
    return false;
  const int64_t off = offset_of(a, i);
  if (off % n->bytes || off > 1 << 20 || off < -(1 << 20)) return false;
  n->slot = ja_slot(a, cls, field);
  uint32_t s[JA_MAX_TOUCH];
  if (k == b->first || i[-1].op != add || mx_w_guard(*i[-1].w) != MX_GUARD_NONE || !ja_defs(a, &i[-1], s) ||
      s[0] != n->slot)
    return true;
  const unsigned literal = mx_w_operand(i[-1].w, 1) >= MX_LIT ? 1 : 2, other = mx_w_operand(i[-1].w, 3 - literal);
  if (mx_w_operand(i[-1].w, literal) < MX_LIT || other >= MX_LIT || ja_slot(a, cls, other) == n->slot) return true;
  n->slot = ja_slot(a, cls, other), n->sum = &i[-1], n->operand = literal;
  return true;
}
static struct lw_row *row_of(struct lw_run *run, const struct number *n) {
  for (unsigned g = 0; g < run->n; g++) {
    struct lw_row *r = &run->row[g];
    if (r->slot == n->slot && r->bytes == n->bytes && !r->sum == !n->sum &&
        (!n->sum || mx_w_operand(r->sum->w, r->operand) == mx_w_operand(n->sum->w, n->operand)))
      return r;
  }
  return NULL;
}
static void find_run(struct lw *l, uint32_t b, int32_t *at) {
  const struct ja *a = l->a;
  const struct ja_block *bl = &a->blocks[b];
  struct lw_run *run = &l->runs[b];
  struct number n;
  for (uint32_t k = bl->first; k < bl->end; transfer(a, &a->ins[k], at), k++) {
    const struct ja_ins *i = &a->ins[k];
    if (run->n && (i->kind == JA_CALLS || i->kind == JA_RETURNS || i->o->flags & MX_F_SYNC || ja_always_leaves(i)))
      break; /* an instruction that is not built like others ends the run */
    if (!find_number(a, bl, k, &n) || ja_is_row(a, k) || ja_is_flat(a, k) || (run->n && k - run->first > MOST))
      continue;
    const int32_t stride = at[n.slot] == UNSET ? 0 : at[n.slot];
    const bool load = mx__row_access[i->op].kind == MX_ACCESS_LOAD, uniform = lw_uniform_at(a, b, k, load ? 1 : 0),
               near = stride == UNKNOWN && n.bytes == 4 && l->j.isa->choose && !a->address_ramp[k];
    if (uniform && !load) continue;
    const enum lw_run_pattern kind = uniform                      ? LW_UNIFORM
                                     : a->address_ramp[k]         ? LW_SCATTERED
                                     : stride == 0 && load        ? LW_SAME
                                     : stride == (int32_t)n.bytes ? LW_IN_ROWS
                                     : near                       ? LW_NEAR
                                                                  : LW_SCATTERED;
    struct lw_row *row = row_of(run, &n);
    if (run->n && lw_written_between(a, &a->ins[run->first], i, n.slot)) continue;
    if (!row) {
      if (run->n == LW_ROWS) continue;
      if (!run->n) run->first = k;
      row = &run->row[run->n++];
      *row = (struct lw_row){.slot = n.slot,
                             .sum = n.sum,
                             .operand = n.operand,
                             .bytes = n.bytes,
                             .kind = kind,
                             .least = INT64_MAX,
                             .most = INT64_MIN};
    } else if (row->kind != kind) row->kind = LW_SCATTERED;
    row->loads |= load, row->stores |= !load;
    const int64_t off = offset_of(a, i);
    if (off < row->least) row->least = off;
    if (off + n.bytes > row->most) row->most = off + n.bytes;
    l->run_member[k] = (unsigned char)(row - run->row + 1);
    run->end = k + 1;
  }
}
/* Notes the accesses of a block whose addresses look like a row; `at` is of its beginning, and is changed. */
static void guess_rows(struct lw *l, uint32_t b, int32_t *at) {
  const struct ja *a = l->a;
  for (uint32_t k = a->blocks[b].first; k < a->blocks[b].end; transfer(a, &a->ins[k], at), k++) {
    const struct ja_ins *i = &a->ins[k];
    const struct mx_row_access ac = i->o->cls == MX_MEM ? mx__row_access[i->op] : (struct mx_row_access){0};
    if (ac.kind == MX_ACCESS_LOAD || ac.kind == MX_ACCESS_STORE)
      l->looks_like_row[k] = of_operand(a, i, ac.kind == MX_ACCESS_LOAD ? ac.elements : 0, at) ==
                             (int32_t)(jx_bitsof(ac.type) / 8 * ac.elements);
  }
}
/* Whether threads are numbered in one dimension; else rows may end in the middle of a warp. */
static bool is_flat(const struct ja *a) {
  for (uint32_t k = 0; k < a->nins; k++)
    if (mx__effect(a->ins[k].op) == MX_DOES_SREG && mx_w_operand(a->ins[k].w, 1) == MX_SR_TID_Y) return false;
  return true;
}
void lw_runs_find(struct lw *l) {
  const struct ja *a = l->a;
  if (a->nblocks > MOST_BLOCKS) return;
  int32_t *in = find_strides(a), *at = lw_need(sizeof *at * (a->nslots + 1u));
  const bool flat = is_flat(a);
  for (uint32_t b = 0; b < a->nblocks; b++) {
    memcpy(at, in + (size_t)b * a->nslots, sizeof *at * a->nslots);
    if (flat) guess_rows(l, b, at);
    find_run(l, b, in + (size_t)b * a->nslots);
  }
  free(at);
  free(in);
  for (uint32_t b = 0; b < a->nblocks; b++) {
    struct lw_run *run = &l->runs[b];
    unsigned same = 0, rows = 0; /* accesses of each pattern */
    for (unsigned g = 0; g < run->n; g++)
      run->guesses |= run->row[g].kind != LW_SCATTERED && run->row[g].kind != LW_UNIFORM;
    for (uint32_t k = run->first; k < run->end; k++) {
      const struct lw_row *row = l->run_member[k] ? &run->row[l->run_member[k] - 1] : NULL;
      if (row && row->bytes == 4 && mx__row_access[a->ins[k].op].kind == MX_ACCESS_LOAD)
        same += row->kind == LW_SAME, rows += row->kind == LW_IN_ROWS;
    }
    run->tile = l->nc > 1 && same >= TILE && rows >= TILE; /* all chunks share the row */
  }
}

jv lw_number_32(struct lw *l, jv v) {
  struct jx *j = &l->j;
  if (j->isa->fit && !v.u) return j->isa->fit(j, v);
  const jv high = jv_cvt(j, MX_T_u32, MX_T_u64, jv_bin(j, JX_SHR, MX_T_u64, v, jv_k(j, MX_T_u64, 32)));
  /* a high half that is not 0 becomes the sign bit */
  const jv some = jv_bin(j, JX_OR, MX_T_u32, high, jv_bin(j, JX_SUB, MX_T_u32, jv_k(j, MX_T_u32, 0), high));
  const jv beyond = jv_bin(j, JX_SHR, MX_T_s32, jv_as(j, MX_T_s32, some), jv_k(j, MX_T_u32, 31));
  const jv low = jv_bin(j, JX_OR, MX_T_u32, jv_cvt(j, MX_T_u32, MX_T_u64, v), jv_as(j, MX_T_u32, beyond));
  const jv lower = jv_bin(j, JX_AND, MX_T_u32, jv_as(j, MX_T_u32, beyond), jv_k(j, MX_T_u32, INT32_MAX));
  return jv_bin(j, JX_XOR, MX_T_u32, low, lower);
}
/* A row's numbers in a chunk, in 32 bits. */
static gcc_jit_rvalue *number_of(struct lw *l, const struct lw_row *row, unsigned c, jv more) {
  struct jx *j = &l->j;
  const unsigned t = lw_class(l->a, row->slot) == MX_R64 ? MX_T_u64 : MX_T_u32;
  jv v = lw_get(l, row->slot, t, c);
  if (row->sum) v = jv_bin(j, JX_ADD, t, v, more);
  return jx_keep(j, (t == MX_T_u64 ? lw_number_32(l, v) : v).r[0]);
}

/* ---- building them ----------------------------------------------------------------------------------------------*/
/* A lane's number as a scalar, from its value of the slot; what is added wraps as the slot's width does. */
static gcc_jit_rvalue *scalar_number(struct lw *l, const struct lw_row *row, gcc_jit_rvalue *v) {
  struct jx *j = &l->j;
  const bool wide = lw_class(l->a, row->slot) == MX_R64;
  gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
  v = gcc_jit_context_new_cast(j->c, NULL, v, t);
  if (row->sum)
    v = jx_op(j, GCC_JIT_BINARY_OP_PLUS, t, v,
              gcc_jit_context_new_cast(j->c, NULL, jv_scalar(j, lw_operand_of(l, row->sum, row->operand)), t));
  return jx_keep(j, wide ? v : gcc_jit_context_new_cast(j->c, NULL, v, j->t_u64));
}
/* What is added to a row's slot, as 64 bits. */
static gcc_jit_rvalue *addend(struct lw *l, const struct lw_row *row) {
  struct jx *j = &l->j;
  if (!row->sum) return lw_u64(l, 0);
  gcc_jit_rvalue *v = jv_scalar(j, lw_operand_of(l, row->sum, row->operand));
  v = gcc_jit_context_new_cast(j->c, NULL, v, lw_class(l->a, row->slot) == MX_R64 ? j->t_u64 : j->t_u32);
  return jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, v, j->t_u64));
}
/* Where loops over the chunks look for a row's numbers or elements. */
static gcc_jit_rvalue *loop_cells(struct lw *l, unsigned row) {
  return gcc_jit_context_new_cast(
      l->j.c, NULL, gcc_jit_lvalue_get_address(lw_loop_row(l, jx_rv(l->spill_area), row, 0), NULL), l->j.t_pu8);
}
void lw_run_numbers(struct lw *l, struct lw_run *run, bool as_guessed) {
  for (unsigned g = 0; g < run->n; g++) {
    struct lw_row *row = &run->row[g];
    if (row->number[0] || row->kind == LW_UNIFORM ||
        (as_guessed && row->kind != LW_SCATTERED && !(row->kind == LW_NEAR && row->stores)))
      continue;
    /* after a wrong guess, which is rare, by a function: it takes fewer statements than doing it in line */
    gcc_jit_rvalue *cells =
        !run->guesses || as_guessed || lw_class(l->a, row->slot) == MX_R32 ? NULL : lw_cells_address(l, row->slot);
    if (cells) {
      lw_call_numbers_32(l, cells, addend(l, row), loop_cells(l, g));
      row->numbers_in_cells = true;
      for (unsigned c = 0; c < l->nc; c++) row->number[c] = jx_rv(lw_loop_row(l, jx_rv(l->spill_area), g, c));
      continue;
    }
    jv more = {0};
    if (row->sum) more = lw_operand_of(l, row->sum, row->operand);
    for (unsigned c = 0; c < l->nc; c++) row->number[c] = number_of(l, row, c, more);
  }
}
/* The greatest value, a multiple of the elements' size, that a chunk's first number plus the least offset may have with
 * all lanes in bounds; negative as a signed number: none is in bounds. */
static gcc_jit_rvalue *greatest_first(struct lw *l, const struct lw_run *run, const struct lw_row *row) {
  struct jx *j = &l->j;
  const uint64_t reach =
      (uint64_t)(row->most - row->least) + (row->kind == LW_IN_ROWS ? (uint64_t)(j->w - 1) * row->bytes : 0);
  gcc_jit_rvalue *size = gcc_jit_context_new_cast(j->c, NULL, run->size, j->t_u64);
  return jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u64,
                          jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, size, lw_u64(l, reach)),
                          lw_u64(l, ~(uint64_t)(row->bytes - 1))));
}
static void collect(struct lw *l, gcc_jit_rvalue **into, gcc_jit_type *t, gcc_jit_rvalue *v) {
  *into = jx_keep(&l->j, *into ? jx_op(&l->j, GCC_JIT_BINARY_OP_BITWISE_OR, t, *into, v) : v);
}
/* Collects the sum of a first number and the least offset, and the sum's distance from `limit`: bounds and alignment
 * are right if neither has its sign bit or any of its low bits set, which only_bad() picks out. Returns the
 * distance. */
static gcc_jit_rvalue *check_first(struct lw *l, const struct lw_row *row, gcc_jit_rvalue *number,
                                   gcc_jit_rvalue *limit, gcc_jit_rvalue **out) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *least = number;
  if (row->least)
    least = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, number, lw_u64(l, (uint64_t)row->least)));
  gcc_jit_rvalue *left = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, limit, least));
  collect(l, out, j->t_u64, jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_u64, least, left));
  return left;
}
static gcc_jit_rvalue *only_bad(struct lw *l, const struct lw_row *row, gcc_jit_rvalue *out) {
  return jx_op(&l->j, GCC_JIT_BINARY_OP_BITWISE_AND, l->j.t_u64, out, lw_u64(l, UINT64_C(1) << 63 | (row->bytes - 1)));
}
void lw_run_begin(struct lw *l, struct lw_run *run) {
  struct jx *j = &l->j;
  run->window = jx_keep(j, jx_rv(lw_field(l, l->x, MX_AT(exec, window) + 8 * MX_SHARED, j->t_pu8)));
  gcc_jit_rvalue *launch = jx_rv(lw_field(l, l->x, MX_AT(exec, launch), j->t_pu8));
  run->size = jx_keep(j, jx_rv(lw_field(l, launch, MX_AT(launch, shared_bytes), j->t_u32)));
  lw_run_numbers(l, run, run->guesses);
  for (unsigned g = 0; g < run->n; g++) {
    struct lw_row *row = &run->row[g];
    if (row->kind != LW_UNIFORM) continue;
    const jv v = lw_get(l, row->slot, lw_class(l->a, row->slot) == MX_R64 ? MX_T_u64 : MX_T_u32, 0);
    gcc_jit_rvalue *number = scalar_number(l, row, jv_scalar(j, v)), *limit = greatest_first(l, run, row), *out = limit;
    check_first(l, row, number, limit, &out);
    collect(l, &run->uniform_out, j->t_u64, only_bad(l, row, out));
    row->address[0] = jx_keep(j, lw_add(l, run->window, number));
  }
}

/* Bits that must not be set, OR-ed over all numbers and chunks: from vectors of 32-bit lanes, and from scalars. */
struct collected {
  gcc_jit_rvalue *lanes, *scalars;
};
#define OP(op_, t_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, t_, x_, y_)
void lw_guess_lanes(struct lw *l, enum lw_run_pattern kind, unsigned bytes, jv v, gcc_jit_rvalue *left,
                    gcc_jit_rvalue **wrong, gcc_jit_rvalue **element) {
  struct jx *j = &l->j;
  const bool wide = jx_wide(v.t);
  gcc_jit_type *t = jx_vector(j, wide);
  gcc_jit_rvalue *first = j->isa->first_everywhere(j, wide, v.r[0]);
  jv behind = {.t = v.t};
  for (unsigned h = 0; h < (wide ? 2u : 1u); h++) {
    gcc_jit_rvalue *d;
    if (kind == LW_NEAR) {
      behind.r[h] = jx_keep(j, OP(MINUS, t, v.r[h], first));
      d = OP(BITWISE_AND, t, behind.r[h],
             jv_k(j, behind.t, ~(uint64_t)(2 * j->bytes - 1) | (uint64_t)(bytes - 1)).r[0]);
    } else
      d = OP(BITWISE_XOR, t, v.r[h],
             kind == LW_IN_ROWS ? OP(PLUS, t, first, lw_ramp(l, h * j->w / 2, bytes, wide)) : first);
    collect(l, wrong, j->vu32, jx_bits(j, j->vu32, d));
  }
  if (kind != LW_NEAR) return;
  if (wide) behind = jv_cvt(j, MX_T_u32, MX_T_u64, behind);
  else behind.r[1] = behind.r[0];
  behind.r[0] = behind.r[1] = jx_keep(j, behind.r[0]);
  *element = jx_keep(j, jv_bin(j, JX_SHR, MX_T_u32, behind, jv_k(j, MX_T_u32, 2)).r[0]);
  const jv most = jv_broadcast(j, MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, left, j->t_u32));
  collect(l, wrong, j->vu32,
          OP(BITWISE_AND, j->vu32, OP(MINUS, j->vu32, most.r[0], behind.r[0]), jv_k(j, MX_T_u32, 0x80000000u).r[0]));
}
/* A chunk that is guessed to be a row, uniform, or near: the first lane's number and the other lanes' distances from it
 * decide whether that is right. */
static void guess_chunk(struct lw *l, struct lw_run *run, struct lw_row *row, unsigned c, gcc_jit_rvalue *limit,
                        gcc_jit_rvalue **out, struct collected *wrong) {
  struct jx *j = &l->j;
  const bool wide = lw_class(l->a, row->slot) == MX_R64;
  const jv v = lw_get(l, row->slot, wide ? MX_T_u64 : MX_T_u32, c);
  gcc_jit_rvalue *number = scalar_number(l, row, j->isa->first(j, wide, v.r[0]));
  gcc_jit_rvalue *left = check_first(l, row, number, limit, out);
  row->address[c] = jx_keep(j, lw_add(l, run->window, number));
  lw_guess_lanes(l, row->kind, row->bytes, v, left, &wrong->lanes, &row->element[c]);
}
/* All chunks of such a row by a function of the object, from the slot's cells on. Elements are left in the cells where
 * loops over the chunks look for them. */
static void call_guess(struct lw *l, struct lw_run *run, unsigned number, gcc_jit_rvalue *cells,
                       struct collected *wrong) {
  struct jx *j = &l->j;
  struct lw_row *row = &run->row[number];
  const bool wide = lw_class(l->a, row->slot) == MX_R64;
  gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
  row->elements_in_cells = row->kind == LW_NEAR;
  collect(l, &wrong->scalars, j->t_u64,
          lw_call_guess(l, row->kind, row->bytes, wide, cells, addend(l, row), greatest_first(l, run, row),
                        lw_u64(l, (uint64_t)row->least), row->elements_in_cells ? loop_cells(l, number) : NULL));
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *first = jx_rv(lw_field(l, cells, (uint64_t)c * j->w * (wide ? 8 : 4), t));
    row->address[c] = jx_keep(j, lw_add(l, run->window, scalar_number(l, row, first)));
    if (row->elements_in_cells) row->element[c] = jx_rv(lw_loop_row(l, jx_rv(l->spill_area), number, c));
  }
}
/* A row whose lanes are checked one by one: all of them or, with `active`, the active ones. A number with its sign bit
 * set may still be in bounds with all offsets, if the sum wraps in 32 bits; only the latter check lets it pass. */
static void check_numbers(struct lw *l, const struct lw_run *run, struct lw_row const *row, bool active,
                          gcc_jit_rvalue **wrong) {
  struct jx *j = &l->j;
  /* The greatest number, or sum of one and the least offset, with which the greatest offset is in bounds, a multiple of
   * the elements' size; negative: there is none. */
  const int64_t before = active ? row->least : 0;
  gcc_jit_rvalue *greatest = OP(MINUS, j->t_u32, run->size, jx_int(j, j->t_u32, (uint64_t)(row->most - before)));
  greatest = OP(BITWISE_AND, j->t_u32, greatest, jx_int(j, j->t_u32, ~(uint64_t)(row->bytes - 1) & UINT32_MAX));
  gcc_jit_rvalue *limit = jx_keep(j, jv_broadcast(j, MX_T_u32, greatest).r[0]), *out = limit;
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *v = row->number[c], *low = v;
    if (active ? row->least != 0 : row->least < 0)
      low = jx_keep(j, OP(PLUS, j->vu32, v, jv_k(j, MX_T_u32, (uint64_t)row->least).r[0]));
    /* the sign bits show numbers that are out of bounds, the low bits those that are not aligned */
    gcc_jit_rvalue *bits = OP(BITWISE_OR, j->vu32, low, OP(MINUS, j->vu32, limit, active ? low : v));
    if (active) bits = j->isa->differ(j, false, 0, jx_keep(j, bits), NULL, jx_rv(l->cm[c]));
    collect(l, &out, j->vu32, bits);
  }
  collect(l, wrong, j->vu32, OP(BITWISE_AND, j->vu32, out, jv_k(j, MX_T_u32, 0x80000000u | (row->bytes - 1)).r[0]));
}
gcc_jit_rvalue *lw_run_wrong(struct lw *l, struct lw_run *run) {
  struct jx *j = &l->j;
  struct collected wrong = {NULL, run->uniform_out};
  unsigned guesses = 0;
  for (unsigned g = 0; g < run->n; g++) guesses += run->row[g].kind != LW_SCATTERED && run->row[g].kind != LW_UNIFORM;
  for (unsigned g = 0; g < run->n; g++) {
    struct lw_row *row = &run->row[g];
    if (row->kind == LW_UNIFORM) continue;
    if (row->kind == LW_SCATTERED) {
      check_numbers(l, run, row, false, &wrong.lanes);
      continue;
    }
    gcc_jit_rvalue *cells = guesses < MANY_GUESSES ? NULL : lw_cells_address(l, row->slot);
    if (cells) {
      call_guess(l, run, g, cells, &wrong);
      continue;
    }
    gcc_jit_rvalue *limit = greatest_first(l, run, row), *out = limit;
    for (unsigned c = 0; c < l->nc; c++) guess_chunk(l, run, row, c, limit, &out, &wrong);
    collect(l, &wrong.scalars, j->t_u64, only_bad(l, row, out));
  }
  gcc_jit_rvalue *bad = lw_compare(l, GCC_JIT_COMPARISON_NE, wrong.scalars, lw_u64(l, 0));
  return wrong.lanes ? lw_either(l, j->isa->any_bit(j, false, wrong.lanes), bad) : bad;
}

gcc_jit_rvalue *lw_run_outside(struct lw *l, const struct lw_run *run) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *out = NULL, *any = NULL, *masks[LW_CHUNKS];
  for (unsigned c = 0; c < l->nc; c++) masks[c] = jx_rv(l->cm[c]);
  for (unsigned g = 0; g < run->n; g++) {
    const struct lw_row *row = &run->row[g];
    if (row->kind == LW_UNIFORM) continue;
    gcc_jit_rvalue *cells = NULL; /* of numbers to which nothing is added; by a function where this is rare */
    if (run->guesses && !row->least) {
      if (row->numbers_in_cells) cells = loop_cells(l, g);
      else if (lw_class(l->a, row->slot) == MX_R32 && !row->sum) cells = lw_cells_address(l, row->slot);
    }
    if (!cells) {
      check_numbers(l, run, row, true, &out);
      continue;
    }
    gcc_jit_rvalue *reach = jx_int(j, j->t_u32, (uint64_t)row->most);
    any = lw_either(l, any, lw_compare(l, GCC_JIT_COMPARISON_LT, run->size, reach));
    gcc_jit_rvalue *most = jx_keep(j, OP(MINUS, j->t_u32, run->size, reach));
    any = lw_either(l, any, lw_call_numbers_outside(l, cells, most, row->bytes - 1, masks));
  }
#undef OP
  if (run->uniform_out) any = lw_either(l, any, lw_compare(l, GCC_JIT_COMPARISON_NE, run->uniform_out, lw_u64(l, 0)));
  return out ? lw_either(l, any, j->isa->any_bit(j, false, out)) : any;
}

gcc_jit_rvalue *lw_run_rows_differ(struct lw *l, const struct lw_run *run) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *differ = NULL;
  for (unsigned g = 0; g < run->n; g++)
    for (unsigned c = 1; c < l->nc && run->row[g].kind == LW_IN_ROWS; c++) {
      gcc_jit_rvalue *other = gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, run->row[g].address[c],
                                                             run->row[g].address[0]);
      differ = differ
                   ? gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_OR, j->t_bool, differ, other)
                   : other;
    }
  return differ;
}

/* Loads chunk c of a LW_NEAR row: two vectors from the first lane's element on, permuted. */
static void load_near(struct lw *l, gcc_jit_rvalue *address, gcc_jit_rvalue *element, unsigned c, uint64_t off) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *two[2];
  for (unsigned n = 0; n < 2; n++) two[n] = j->isa->load(j, false, lw_vector(l, address, off + n * j->bytes, false));
  gcc_jit_rvalue *v = j->isa->choose(j, two, 2, element);
  lw_put(l, 0, c, (jv){.t = MX_T_u32, .r = {v, v}});
}
static bool is_scattered(const struct lw *l, const struct lw_row *row, bool load) {
  return row->kind != LW_UNIFORM &&
         (l->version == LW_OTHERWISE || row->kind == LW_SCATTERED || (row->kind == LW_NEAR && !load));
}
bool lw_run_in_loop(const struct lw *l, uint32_t k) {
  return l->run && l->version != LW_TILE && l->run_member[k] && mx__row_access[l->a->ins[k].op].kind == MX_ACCESS_LOAD;
}
bool lw_run_asks_lanes(const struct lw *l, uint32_t k) {
  return l->run && l->run_member[k] && is_scattered(l, &l->run->row[l->run_member[k] - 1], true);
}
/* What a loop over the chunks needs of the row besides an address: the numbers of a scattered row, the elements of a
 * near one; NULL: nothing, or the slot itself. */
static gcc_jit_rvalue *const *for_loops(const struct lw *l, const struct lw_row *row) {
  if (!row->loads) return NULL;
  if (is_scattered(l, row, true)) return row->sum || lw_class(l->a, row->slot) == MX_R64 ? row->number : NULL;
  return row->kind == LW_NEAR ? row->element : NULL;
}
void lw_run_version_begin(struct lw *l) {
  for (unsigned g = 0; g < l->run->n; g++) {
    struct lw_row *row = &l->run->row[g];
    row->in_cells = l->version == LW_OTHERWISE ? row->numbers_in_cells : row->elements_in_cells;
  }
}
void lw_run_loop_begin(struct lw *l, uint32_t from, uint32_t end) {
  struct jx *j = &l->j;
  for (uint32_t k = from; l->run && k < end; k++) {
    const unsigned member = l->run_member[k];
    struct lw_row *row = member ? &l->run->row[member - 1] : NULL;
    gcc_jit_rvalue *const *v = row && !row->in_cells ? for_loops(l, row) : NULL;
    for (unsigned c = 0; v && c < l->nc; c++) jx_set(j, lw_loop_row(l, jx_rv(l->spill_area), member - 1, c), v[c]);
    if (v) row->in_cells = true;
  }
}
void lw_run_chunk(struct lw *l) {
  for (unsigned g = 0; l->run && g < l->run->n; g++) l->run->row[g].here_address = l->run->row[g].here = NULL;
}
static bool load_in_loop(struct lw *l, unsigned number, uint64_t off, unsigned type) {
  struct jx *j = &l->j;
  struct lw_row *row = &l->run->row[number];
  const bool scattered = is_scattered(l, row, true);
  unsigned chunk;
  if (lw_loop_unrolled(l, &chunk)) {
    row->here_address = row->address[chunk];
    row->here = scattered ? row->number[chunk] : row->element[chunk];
  }
  if (row->kind == LW_UNIFORM) row->here_address = row->address[0]; /* lanes that are not active keep their values */
  if (!scattered && !row->here_address)
    row->here_address = jx_keep(j, lw_add(l, l->run->window, scalar_number(l, row, lw_loop_first(l, row->slot))));
  if (!row->here && (scattered || row->kind == LW_NEAR))
    row->here = for_loops(l, row) ? lw_loop_row_get(l, number) : lw_get(l, row->slot, MX_T_u32, 0).r[0];
  if (scattered) lw_gather(l, 0, jx_keep(j, lw_at(l, l->run->window, off)), row->here, 1, 0, jx_rv(l->cm[0]), type);
  else if (row->kind == LW_NEAR) load_near(l, row->here_address, row->here, 0, off);
  else
    lw_load_chunk(l, 0, 0, lw_at(l, row->here_address, off), NULL, type,
                  row->kind == LW_SAME || row->kind == LW_UNIFORM);
  return true;
}
bool lw_run_access(struct lw *l) {
  struct jx *j = &l->j;
  const unsigned number = l->run_member[l->ins - l->a->ins];
  if (!number) return false;
  struct lw_row *row = &l->run->row[number - 1];
  const unsigned type = mx__row_access[l->ins->op].type;
  const bool load = mx__row_access[l->ins->op].kind == MX_ACCESS_LOAD, wide = row->bytes == 8;
  const uint64_t off = (uint64_t)offset_of(l->a, l->ins); /* 64 bits, as the host's addresses */
  const bool scattered = is_scattered(l, row, load);
  if (l->loop) return load_in_loop(l, number - 1, off, type);
  gcc_jit_rvalue *row_of_all = l->version == LW_TILE && load && row->kind == LW_IN_ROWS && !wide
                                   ? j->isa->load(j, false, lw_vector(l, row->address[0], off, false))
                                   : NULL;
  gcc_jit_rvalue *base = scattered ? jx_keep(j, lw_at(l, l->run->window, off)) : NULL;
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *lanes = jx_rv(l->cm[c]);
    if (row_of_all) lw_put(l, 0, c, (jv){.t = MX_T_u32, .r = {row_of_all, row_of_all}});
    else if (!scattered && load && row->kind == LW_NEAR) load_near(l, row->address[c], row->element[c], c, off);
    else if (!scattered && load)
      lw_load_chunk(l, 0, c, lw_at(l, row->address[row->kind == LW_UNIFORM ? 0 : c], off), NULL, type,
                    row->kind == LW_SAME || row->kind == LW_UNIFORM);
    else if (!scattered) lw_store_chunk(l, 2, c, lw_at(l, row->address[c], off), lanes, type, true);
    else if (load) lw_gather(l, 0, base, row->number[c], 1, c, lanes, type);
    else lw_scatter(l, 2, base, row->number[c], 1, c, lanes, type);
  }
  return true;
}

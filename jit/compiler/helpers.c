/* Steps that many instructions of a kernel have in common, as functions of the object that are built once and called.
 * In line, each would take tens of statements at every memory access, and compile time grows with the number of
 * statements. Masks are passed in registers; values as addresses of the cells in which they lie. */
#include "access.h"
#include "lowering.h"
#include "meaning.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_HELPERS = 256, MOST_OTHERS = 64, MOST_ARGUMENTS = 9 }; /* others: than those that are counted */
static struct lw_helper {
  char name[64];
  gcc_jit_function *f;
  gcc_jit_type *results; /* a structure, if there are two results */
  gcc_jit_field *field[2];
} known[MOST_HELPERS]; /* the functions of the one object that this process makes */
static unsigned nknown;

/* A function that is being built, and what is restored when it is finished. */
struct building {
  struct lw_helper *helper;
  gcc_jit_function *caller;
  gcc_jit_block *here;
  gcc_jit_rvalue *arg[MOST_ARGUMENTS], *lanes[LW_CHUNKS];
};
static struct lw_helper *find(const char *name) {
  for (unsigned k = 0; k < nknown; k++)
    if (!strcmp(known[k].name, name)) return &known[k];
  return NULL;
}
/* Begins a function of n arguments and, if it is `masked`, the chunks' masks. It returns one value of type `result`,
 * or, if that is NULL, two values of 64 bits. */
static struct building begin(struct lw *l, const char *name, bool masked, gcc_jit_type *result, unsigned n,
                             gcc_jit_type *const *types) {
  struct jx *j = &l->j;
  /* a bug in this process, which is mx-jitc alone: there are fewer kinds of functions than that */
  if (nknown == MOST_HELPERS) abort();
  const unsigned masks = masked ? l->nc : 0;
  struct lw_helper *h = &known[nknown++];
  struct building b = {.helper = h, .caller = j->fn, .here = j->b};
  gcc_jit_param *param[MOST_ARGUMENTS + LW_CHUNKS];
  char text[64];
  for (unsigned k = 0; k < n + masks; k++) {
    snprintf(text, sizeof text, "arg%u", k);
    param[k] = gcc_jit_context_new_param(j->c, NULL, k < n ? types[k] : j->t_mask, text);
    *(k < n ? &b.arg[k] : &b.lanes[k - n]) = gcc_jit_param_as_rvalue(param[k]);
  }
  snprintf(h->name, sizeof h->name, "%s", name);
  if (!result) {
    h->field[0] = gcc_jit_context_new_field(j->c, NULL, j->t_u64, "first");
    h->field[1] = gcc_jit_context_new_field(j->c, NULL, j->t_u64, "second");
    snprintf(text, sizeof text, "results_of_%s", name);
    result = h->results = gcc_jit_struct_as_type(gcc_jit_context_new_struct_type(j->c, NULL, text, 2, h->field));
  }
  h->f = j->fn =
      gcc_jit_context_new_function(j->c, NULL, GCC_JIT_FUNCTION_INTERNAL, result, name, (int)(n + masks), param, 0);
  j->b = gcc_jit_function_new_block(j->fn, "begin");
  return b;
}
static struct lw_helper *end(struct lw *l, const struct building *b, gcc_jit_rvalue *first, gcc_jit_rvalue *second) {
  struct jx *j = &l->j;
  if (second) {
    gcc_jit_lvalue *all = jx_local(j, b->helper->results);
    jx_set(j, gcc_jit_lvalue_access_field(all, NULL, b->helper->field[0]), first);
    jx_set(j, gcc_jit_lvalue_access_field(all, NULL, b->helper->field[1]), second);
    first = jx_rv(all);
  }
  gcc_jit_block_end_with_return(j->b, NULL, first);
  j->fn = b->caller, j->b = b->here;
  return b->helper;
}
static gcc_jit_rvalue *call(struct lw *l, const struct lw_helper *h, unsigned n, gcc_jit_rvalue *const *args,
                            gcc_jit_rvalue *const *lanes) {
  gcc_jit_rvalue *all[MOST_ARGUMENTS + LW_CHUNKS];
  const unsigned masks = lanes ? l->nc : 0;
  memcpy(all, args, n * sizeof *all);
  for (unsigned c = 0; c < masks; c++) all[n + c] = lanes[c];
  return gcc_jit_context_new_call(l->j.c, NULL, h->f, (int)(n + masks), all);
}

/* ---- an interpreter's body for some lanes ------------------------------------------------------------------------*/
gcc_jit_rvalue *lw_call_help(struct lw *l, uint64_t member, gcc_jit_type *type, unsigned n,
                             gcc_jit_rvalue *const *args) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *help = jx_rv(lw_field(l, l->state, MX_AT(jit_state, help), j->t_pu8)),
                 *f = jx_rv(lw_field(l, help, member, type)), *all[6];
  assert(n < sizeof all / sizeof *all);
  all[0] = gcc_jit_context_new_cast(j->c, NULL, l->x, j->t_ptr);
  for (unsigned k = 0; k < n; k++) all[k + 1] = args[k];
  return gcc_jit_context_new_call_through_ptr(j->c, NULL, f, (int)n + 1, all);
}
/* Where a function finds the masks of the lanes that an instruction acts on. */
enum masks_from { WHOLE_SPLIT, BLOCK_CELLS, ARGUMENTS };
static const char *const from_name[] = {"_of_all", "_of_block", ""};
/* Accesses to memory act on the lanes whose guard holds; all other bodies look at the guard by themselves. */
static bool by_guard(const struct lw *l) {
  return mx__row_access[l->ins->op].elements && mx_w_guard(*l->ins->w) != MX_GUARD_NONE;
}
static enum masks_from masks_from(const struct lw *l) {
  return by_guard(l)                             ? ARGUMENTS
         : l->a->blocks[l->ins->block].converged ? WHOLE_SPLIT
         : l->block_masks_stored                 ? BLOCK_CELLS
                                                 : ARGUMENTS;
}
/* In a function that is being built, whose first arguments are state and spill area: the masks. */
static void take_masks(struct lw *l, struct building *b, enum masks_from from) {
  for (unsigned c = 0; from == BLOCK_CELLS && c < l->nc; c++)
    b->lanes[c] = jx_keep(&l->j, jx_rv(lw_block_mask(l, b->arg[1], c)));
}
/* Calls the interpreter's body from such a function. */
static gcc_jit_rvalue *fall_back(struct lw *l, const struct building *b, enum masks_from from, gcc_jit_rvalue *number) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *const x = l->x, *const state = l->state;
  l->state = b->arg[0];
  l->x = jx_keep(j, jx_rv(lw_field(l, l->state, MX_AT(jit_state, exec), j->t_pu8)));
  gcc_jit_rvalue *mask =
                     from == WHOLE_SPLIT ? jx_rv(lw_field(l, l->x, MX_AT(exec, mask), j->t_u64)) : lw_pack(l, b->lanes),
                 *args[] = {gcc_jit_context_new_cast(j->c, NULL, l->state, j->t_ptr),
                            gcc_jit_context_new_cast(j->c, NULL, b->arg[1], j->t_ptr), number, mask};
  gcc_jit_rvalue *left = jx_keep(j, LW_HELP(l, fallback, args));
  l->x = x, l->state = state;
  return left;
}
static void active_lanes(struct lw *l, gcc_jit_rvalue **lanes) {
  for (unsigned c = 0; c < l->nc; c++) lanes[c] = by_guard(l) ? lw_lanes(l, c) : jx_rv(l->cm[c]);
}
gcc_jit_rvalue *lw_fallback(struct lw *l, uint32_t number) {
  struct jx *j = &l->j;
  const enum masks_from from = masks_from(l);
  char name[40];
  snprintf(name, sizeof name, "fallback%s", from_name[from]);
  struct lw_helper *h = find(name);
  if (!h) {
    struct building b =
        begin(l, name, from == ARGUMENTS, j->t_u32, 3, (gcc_jit_type *[]){j->t_pu8, j->t_pu8, j->t_u32});
    take_masks(l, &b, from);
    h = end(l, &b, fall_back(l, &b, from, b.arg[2]), NULL);
  }
  gcc_jit_rvalue *lanes[LW_CHUNKS];
  if (from == ARGUMENTS) active_lanes(l, lanes);
  return call(l, h, 3, (gcc_jit_rvalue *[]){l->state, jx_rv(l->spill_area), jx_int(j, j->t_u32, number)},
              from == ARGUMENTS ? lanes : NULL);
}

/* ---- whether lanes' values are in a row -------------------------------------------------------------------------*/
gcc_jit_rvalue *lw_cells_address(struct lw *l, uint32_t slot) {
  if (!l->slots_spilled || l->loop || l->one_lane || ja_has(l->uni, slot) || l->ramps[slot]) return NULL;
  return gcc_jit_context_new_cast(l->j.c, NULL, gcc_jit_lvalue_get_address(lw_cell(l, slot, false, 0), NULL),
                                  l->j.t_pu8);
}
/* The row's start is lane 0's value, or, if lanes are inactive, that of the lowest active lane, less `stride` for each
 * lane before it. */
gcc_jit_rvalue *lw_row_start(struct lw *l, gcc_jit_rvalue *cells, bool wide, unsigned stride,
                             gcc_jit_rvalue *const *lanes, gcc_jit_rvalue **scattered) {
  struct jx *j = &l->j;
  gcc_jit_type *vector = jx_vector(j, wide), *element = wide ? j->t_u64 : j->t_u32;
  gcc_jit_rvalue *at = cells, *before = NULL;
  if (lanes) {
    gcc_jit_rvalue *lane = lw_lowest(l, lw_pack(l, lanes));
    at = jx_keep(j, lw_add(l, cells, jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, lw_u64(l, wide ? 8 : 4))));
    before = jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, lw_u64(l, stride));
  }
  gcc_jit_rvalue *first = gcc_jit_context_new_cast(j->c, NULL, jx_rv(lw_field(l, at, 0, element)), j->t_u64);
  first = jx_keep(j, lanes ? jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_u64, first, before) : first);
  gcc_jit_rvalue *everywhere =
      jv_broadcast(j, wide ? MX_T_u64 : MX_T_u32, gcc_jit_context_new_cast(j->c, NULL, first, element)).r[0];
  gcc_jit_rvalue *differences = NULL;
  const unsigned parts = wide ? 2 : 1;
  for (unsigned c = 0; c < l->nc; c++)
    for (unsigned h = 0; h < parts; h++) {
      gcc_jit_rvalue *v = jx_rv(lw_vector(l, cells, j->bytes * (parts * c + h), wide));
      gcc_jit_rvalue *want =
          jx_op(j, GCC_JIT_BINARY_OP_PLUS, vector, everywhere, lw_ramp(l, j->w * c + j->w / 2 * h, stride, wide));
      gcc_jit_rvalue *d = lanes ? j->isa->differ(j, wide, h, v, want, lanes[c])
                                : jx_op(j, GCC_JIT_BINARY_OP_BITWISE_XOR, vector, v, want);
      differences = jx_keep(j, differences ? jx_op(j, GCC_JIT_BINARY_OP_BITWISE_OR, vector, differences, d) : d);
    }
  *scattered = jx_keep(j, j->isa->any_bit(j, wide, differences));
  return first;
}
gcc_jit_rvalue *lw_call_row_start(struct lw *l, gcc_jit_rvalue *cells, bool wide, unsigned stride,
                                  gcc_jit_rvalue *const *lanes, gcc_jit_rvalue **scattered) {
  struct jx *j = &l->j;
  char name[40];
  snprintf(name, sizeof name, "in_row_%u_%u%s", wide ? 64 : 32, stride, lanes ? "_masked" : "");
  struct lw_helper *h = find(name);
  if (!h) {
    struct building b = begin(l, name, lanes, NULL, 1, &j->t_pu8);
    gcc_jit_rvalue *no, *first = lw_row_start(l, b.arg[0], wide, stride, lanes ? b.lanes : NULL, &no);
    h = end(l, &b, first, gcc_jit_context_new_cast(j->c, NULL, no, j->t_u64));
  }
  gcc_jit_lvalue *all = jx_local(j, h->results);
  jx_set(j, all, call(l, h, 1, &cells, lanes));
  *scattered = jx_keep(j, lw_compare(l, GCC_JIT_COMPARISON_NE,
                                     jx_rv(gcc_jit_lvalue_access_field(all, NULL, h->field[1])), lw_u64(l, 0)));
  return jx_keep(j, jx_rv(gcc_jit_lvalue_access_field(all, NULL, h->field[0])));
}

gcc_jit_rvalue *lw_call_guess(struct lw *l, enum lw_run_pattern kind, unsigned bytes, bool wide, gcc_jit_rvalue *cells,
                              gcc_jit_rvalue *more, gcc_jit_rvalue *limit, gcc_jit_rvalue *least,
                              gcc_jit_rvalue *element) {
  struct jx *j = &l->j;
  char name[40];
  snprintf(name, sizeof name, "guess_%u_%u_%u", (unsigned)kind, bytes, wide ? 64 : 32);
  struct lw_helper *h = find(name);
  const unsigned nargs = element ? 5 : 4;
  if (!h) {
    struct building b =
        begin(l, name, false, j->t_u64, nargs, (gcc_jit_type *[]){j->t_pu8, j->t_u64, j->t_u64, j->t_u64, j->t_pu8});
    const unsigned parts = wide ? 2 : 1;
    gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
    gcc_jit_rvalue *out = b.arg[2], *wrong = NULL;
#define OP(op_, t_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, t_, x_, y_)
    for (unsigned c = 0; c < l->nc; c++) {
      jv v = {.t = wide ? MX_T_u64 : MX_T_u32};
      for (unsigned k = 0; k < parts; k++)
        v.r[k] = jx_keep(j, jx_rv(lw_vector(l, b.arg[0], j->bytes * (parts * c + k), wide)));
      gcc_jit_rvalue *first = gcc_jit_context_new_cast(j->c, NULL, j->isa->first(j, wide, v.r[0]), t);
      gcc_jit_rvalue *number = OP(PLUS, t, first, gcc_jit_context_new_cast(j->c, NULL, b.arg[1], t));
      gcc_jit_rvalue *low =
          jx_keep(j, OP(PLUS, j->t_u64, gcc_jit_context_new_cast(j->c, NULL, number, j->t_u64), b.arg[3]));
      gcc_jit_rvalue *left = jx_keep(j, OP(MINUS, j->t_u64, b.arg[2], low)), *elements = NULL;
      out = jx_keep(j, OP(BITWISE_OR, j->t_u64, out, OP(BITWISE_OR, j->t_u64, low, left)));
      lw_guess_lanes(l, kind, bytes, v, left, &wrong, &elements);
      if (element) jx_set(j, lw_vector(l, b.arg[4], j->bytes * c, false), elements);
    }
    /* the sign bit shows a number that is out of bounds, the low bits one that is not aligned */
    gcc_jit_rvalue *bad = OP(BITWISE_AND, j->t_u64, out, lw_u64(l, UINT64_C(1) << 63 | (bytes - 1)));
    wrong = gcc_jit_context_new_cast(j->c, NULL, j->isa->any_bit(j, false, wrong), j->t_u64);
    h = end(l, &b, OP(BITWISE_OR, j->t_u64, bad, wrong), NULL);
#undef OP
  }
  return jx_keep(j, call(l, h, nargs, (gcc_jit_rvalue *[]){cells, more, limit, least, element}, NULL));
}

void lw_call_numbers_32(struct lw *l, gcc_jit_rvalue *cells, gcc_jit_rvalue *more, gcc_jit_rvalue *to) {
  struct jx *j = &l->j;
  struct lw_helper *h = find("numbers_32");
  if (!h) {
    struct building b = begin(l, "numbers_32", false, j->t_bool, 3, (gcc_jit_type *[]){j->t_pu8, j->t_u64, j->t_pu8});
    const jv add = jv_broadcast(j, MX_T_u64, b.arg[1]);
    for (unsigned c = 0; c < l->nc; c++) {
      jv v = {.t = MX_T_u64};
      for (unsigned k = 0; k < 2; k++) v.r[k] = jx_rv(lw_vector(l, b.arg[0], j->bytes * (2 * c + k), true));
      jx_set(j, lw_vector(l, b.arg[2], j->bytes * c, false), lw_number_32(l, jv_bin(j, JX_ADD, MX_T_u64, v, add)).r[0]);
    }
    h = end(l, &b, jx_int(j, j->t_bool, 0), NULL);
  }
  jx_keep(j, call(l, h, 3, (gcc_jit_rvalue *[]){cells, more, to}, NULL));
}

/* ---- whether lanes' numbers are within bounds -------------------------------------------------------------------*/
gcc_jit_rvalue *lw_numbers_outside(struct lw *l, gcc_jit_rvalue *const *index, gcc_jit_rvalue *most, uint32_t low,
                                   gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->vu32, x_, y_)
  /* neither number nor limit has its sign bit set, so that of the number, or of its distance from the limit, shows
   * numbers that are greater; a limit with low bits is as good as the next one without */
  if (low) most = jx_op(j, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_u32, most, jx_int(j, j->t_u32, ~(uint32_t)low));
  gcc_jit_rvalue *limit = jv_broadcast(j, MX_T_u32, most).r[0], *out = NULL;
  for (unsigned c = 0; c < l->nc; c++) {
    gcc_jit_rvalue *bits = jx_keep(j, OP(BITWISE_OR, index[c], OP(MINUS, limit, index[c])));
    bits = j->isa->differ(j, false, 0, bits, NULL, lanes[c]);
    out = jx_keep(j, out ? OP(BITWISE_OR, out, bits) : bits);
  }
  return j->isa->any_bit(j, false, jx_keep(j, OP(BITWISE_AND, out, jv_k(j, MX_T_u32, 0x80000000u | low).r[0])));
#undef OP
}
gcc_jit_rvalue *lw_call_numbers_outside(struct lw *l, gcc_jit_rvalue *cells, gcc_jit_rvalue *most, uint32_t low,
                                        gcc_jit_rvalue *const *lanes) {
  struct jx *j = &l->j;
  char name[40];
  snprintf(name, sizeof name, "numbers_miss_%u", low);
  struct lw_helper *h = find(name);
  if (!h) {
    struct building b = begin(l, name, true, j->t_bool, 2, (gcc_jit_type *[]){j->t_pu8, j->t_u32});
    gcc_jit_rvalue *index[LW_CHUNKS];
    for (unsigned c = 0; c < l->nc; c++) index[c] = jx_keep(j, jx_rv(lw_vector(l, b.arg[0], c * j->bytes, false)));
    h = end(l, &b, lw_numbers_outside(l, index, b.arg[1], low, b.lanes), NULL);
  }
  return jx_keep(j, call(l, h, 2, (gcc_jit_rvalue *[]){cells, most}, lanes));
}

/* ---- rows between memory and cells --------------------------------------------------------------------------------*/
bool lw_operand_has_cells(struct lw *l, unsigned k, bool result, bool *raw, uint32_t *slot) {
  const unsigned field = mx_w_operand(l->ins->w, k), cls = mx__types[l->ins->o->opnd[k].type].slot_class;
  if (field >= MX_LIT) return false;
  *slot = ja_slot(l->a, cls, field);
  *raw = !result && ja_has(l->raw, *slot);
  return result ? !lw_result_uniform(l, k) && !ja_has(l->a->blocks[l->block].preserved, *slot)
                : !ja_has(l->uni, *slot) && !l->ramps[*slot];
}
gcc_jit_rvalue *lw_operand_cells(struct lw *l, unsigned k, bool result) {
  uint32_t slot;
  bool raw;
  if (!lw_operand_has_cells(l, k, result, &raw, &slot) || raw) return NULL;
  return gcc_jit_context_new_cast(l->j.c, NULL, gcc_jit_lvalue_get_address(lw_cell(l, slot, false, 0), NULL),
                                  l->j.t_pu8);
}
/* The function's last argument is a constant: the fallback's number and the cells' offset in the spill area. */
gcc_jit_rvalue *lw_call_row_access(struct lw *l, const struct lw_row_access *ac, gcc_jit_rvalue *start,
                                   gcc_jit_rvalue *scattered, uint32_t fallback) {
  struct jx *j = &l->j;
  enum masks_from from = masks_from(l);
  if (!ac->load && from == WHOLE_SPLIT) from = ARGUMENTS; /* it needs them as vectors */
  char name[40];
  snprintf(name, sizeof name, "%s_row_%u%s%s", ac->load ? "load" : "store", ac->wide ? 64 : 32, ac->raw ? "_raw" : "",
           from_name[from]);
  struct lw_helper *h = find(name);
  if (!h) {
    struct building b = begin(l, name, from == ARGUMENTS, j->t_u32, 6,
                              (gcc_jit_type *[]){j->t_pu8, j->t_pu8, j->t_pu8, j->t_u64, j->t_bool, j->t_u64});
    const unsigned element = ac->wide ? 8 : 4, parts = ac->wide ? 2 : 1;
    gcc_jit_rvalue *at = b.arg[3];
#define FIELD(name_, at_) jx_rv(lw_field(l, b.arg[2], MX_AT(bounds, name_) + (at_), j->t_u64))
    gcc_jit_rvalue *lo = FIELD(lo, 0), *host = jx_keep(j, FIELD(host, 0)),
                   *starts = FIELD(starts, lw_starts_form(l, l->a->lanes));
#undef FIELD
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->t_u64, x_, y_)
    gcc_jit_rvalue *no = lw_either(l, b.arg[4], lw_cannot_start(l, jx_keep(j, OP(MINUS, at, lo)), element, starts));
    gcc_jit_block *out = lw_new_block(l, "out"), *in = lw_new_block(l, "in");
    lw_split(l, lw_rare(l, no), out, in);
    j->b = out;
    take_masks(l, &b, from);
    gcc_jit_block_end_with_return(j->b, NULL,
                                  fall_back(l, &b, from, gcc_jit_context_new_cast(j->c, NULL, b.arg[5], j->t_u32)));
    j->b = in;
    gcc_jit_rvalue *memory = jx_keep(j, gcc_jit_context_new_bitcast(j->c, NULL, OP(PLUS, host, at), j->t_pu8));
    gcc_jit_rvalue *cells = jx_keep(j, lw_add(l, b.arg[1], OP(RSHIFT, b.arg[5], lw_u64(l, 32))));
#undef OP
    if (!ac->load) take_masks(l, &b, from);
    for (unsigned k = 0; k < parts * l->nc; k++) {
      gcc_jit_lvalue *cell = lw_vector(l, cells, j->bytes * k, ac->wide),
                     *q = lw_vector(l, memory, j->bytes * k, ac->wide);
      if (ac->load) jx_set(j, cell, j->isa->load(j, ac->wide, q));
      else {
        jv v = {.t = ac->wide ? MX_T_u64 : MX_T_u32, .r = {jx_keep(j, jx_rv(cell))}};
        if (ac->raw) v = jv_as(j, v.t, jv_canon(j, MX_T_f32, jv_as(j, MX_T_f32, v)));
        j->isa->write(j, ac->wide, k % parts, q, v.r[0], b.lanes[k / parts]);
      }
    }
    h = end(l, &b, jx_int(j, j->t_u32, 0), NULL);
  }
  gcc_jit_rvalue *lanes[LW_CHUNKS],
      *args[] = {l->state,
                 jx_rv(l->spill_area),
                 lw_at(l, jx_rv(l->bounds), (uint64_t)l->ins->bounds * sizeof(struct mx_bounds)),
                 start,
                 scattered,
                 lw_u64(l, fallback | (uint64_t)lw_cell_offset(l, ac->slot) << 32)};
  if (from == ARGUMENTS) active_lanes(l, lanes);
  return call(l, h, 6, args, from == ARGUMENTS ? lanes : NULL);
}

/* ---- elements of 8 and 16 bits ------------------------------------------------------------------------------------*/
struct narrow_step {
  gcc_jit_rvalue *host, *values, *index; /* index: NULL: the elements lie side by side */
  unsigned bits, scale;
};
static void store_narrow_of_lane(struct lw *l, gcc_jit_rvalue *lane, const void *with) {
  struct jx *j = &l->j;
  const struct narrow_step *s = with;
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->t_u64, x_, y_)
  gcc_jit_rvalue *four = jx_keep(j, OP(MULT, lane, lw_u64(l, 4))), *at = lane;
  if (s->index)
    at = gcc_jit_context_new_cast(j->c, NULL, jx_rv(lw_field(l, lw_add(l, s->index, four), 0, j->t_int)), j->t_u64);
  at = OP(MULT, at, lw_u64(l, s->scale));
#undef OP
  gcc_jit_type *t = s->bits == 8 ? j->t_u8 : j->t_u16;
  jx_set(j, lw_field(l, lw_add(l, s->host, at), 0, t),
         gcc_jit_context_new_cast(j->c, NULL, jx_rv(lw_field(l, lw_add(l, s->values, four), 0, j->t_u32)), t));
}
void lw_call_store_narrow(struct lw *l, unsigned bits, gcc_jit_rvalue *host, gcc_jit_rvalue *values,
                          gcc_jit_rvalue *index, unsigned scale, gcc_jit_rvalue *mask) {
  struct jx *j = &l->j;
  char name[40];
  snprintf(name, sizeof name, "store_narrow_%u%s_%u", bits, index ? "_scattered" : "", scale);
  struct lw_helper *h = find(name);
  if (!h) {
    struct building b = begin(l, name, false, j->t_bool, 4, (gcc_jit_type *[]){j->t_pu8, j->t_pu8, j->t_u64, j->t_pu8});
    const struct narrow_step step = {b.arg[0], b.arg[1], index ? b.arg[3] : NULL, bits, index ? scale : bits / 8};
    lw_for_lanes(l, b.arg[2], store_narrow_of_lane, &step);
    h = end(l, &b, jx_int(j, j->t_bool, 0), NULL);
  }
  gcc_jit_rvalue *args[] = {host, values, mask, index ? index : gcc_jit_context_null(j->c, j->t_pu8)};
  gcc_jit_block_add_eval(j->b, NULL, call(l, h, 4, args, NULL));
}

/* ---- local memory ------------------------------------------------------------------------------------------------*/
bool lw_has_functions_left(void) { return nknown < MOST_HELPERS - MOST_OTHERS; }
/* The last argument is the same as above. */
static struct lw_helper *make_local_access(struct lw *l, const struct lw_local_access *ac, const char *name,
                                           enum masks_from from) {
  struct jx *j = &l->j;
  struct building b = begin(l, name, from == ARGUMENTS, j->t_u32, 5,
                            (gcc_jit_type *[]){j->t_pu8, j->t_pu8, j->t_pu8, j->t_u64, j->t_u64});
  gcc_jit_rvalue *const x = l->x, *more = b.arg[3], *index[LW_CHUNKS] = {NULL};
  const bool wide = jx_wide(ac->type), narrow = jx_bitsof(ac->type) < 32;
  struct lw_local p;
  l->x = jx_keep(j, jx_rv(lw_field(l, b.arg[0], MX_AT(jit_state, exec), j->t_pu8)));
  take_masks(l, &b, from);
  lw_local_begin(l, ac->bytes, &p);
  const jv all_more = ac->kind == LW_ADDRESSES ? jv_broadcast(j, MX_T_u64, more) : (jv){0};
  if (ac->kind == LW_ADDRESSES) more = NULL;
  for (unsigned c = 0; ac->kind != LW_ONE_PLACE && c < l->nc; c++) {
    const unsigned parts = ac->kind == LW_ADDRESSES ? 2 : 1;
    jv v = {.t = parts > 1 ? MX_T_u64 : MX_T_u32};
    for (unsigned h = 0; h < parts; h++)
      v.r[h] = jx_keep(j, jx_rv(lw_vector(l, b.arg[2], j->bytes * (parts * c + h), parts > 1)));
    if (parts > 1) v = lw_number_32(l, jv_bin(j, JX_ADD, MX_T_u64, v, all_more));
    index[c] = jx_keep(j, v.r[0]);
  }
  lw_local_check(l, &p, ac->bytes, more, ac->shift, index, b.lanes);
  gcc_jit_block *out = lw_new_block(l, "out"), *in = lw_new_block(l, "by_lane");
  lw_split(l, lw_rare(l, p.bad), out, in);
  j->b = out;
  gcc_jit_block_end_with_return(j->b, NULL,
                                fall_back(l, &b, from, gcc_jit_context_new_cast(j->c, NULL, b.arg[4], j->t_u32)));
  j->b = in;
  gcc_jit_rvalue *host = lw_local_place(l, &p, more, index),
                 *memory = jx_keep(j, gcc_jit_context_new_bitcast(j->c, NULL, host, j->t_pu8)),
                 *cells = jx_keep(
                     j, lw_add(l, b.arg[1], jx_op(j, GCC_JIT_BINARY_OP_RSHIFT, j->t_u64, b.arg[4], lw_u64(l, 32))));
  jv v[LW_CHUNKS];
  if (narrow && ac->load) lw_gathered_narrow(l, host, index, 1, b.lanes, ac->type, v);
  for (unsigned c = 0; c < l->nc; c++) {
    if (ac->load && narrow) v[c].t = (uint8_t)ac->type, v[c] = jv_cvt(j, ac->to, ac->type, v[c]);
    else if (ac->load) v[c] = lw_gathered(l, memory, index[c], 1, b.lanes[c], ac->type);
    for (unsigned h = 0; h < (wide ? 2u : 1u); h++) {
      gcc_jit_lvalue *cell = lw_vector(l, cells, j->bytes * (wide ? 2 * c + h : c), wide);
      if (ac->load) {
        jx_set(j, cell, v[c].r[h]);
        continue;
      }
      gcc_jit_rvalue *value = jx_keep(j, jx_rv(cell));
      v[c] = (jv){.t = wide ? MX_T_u64 : MX_T_u32, .r = {value, value}};
      if (ac->raw) v[c] = jv_as(j, v[c].t, jv_canon(j, MX_T_f32, jv_as(j, MX_T_f32, v[c])));
      if (!narrow) j->isa->scatter(j, wide, h, memory, index[c], 1, v[c].r[0], b.lanes[c], true);
    }
  }
  if (narrow && !ac->load) lw_scatter_narrow(l, host, index, b.lanes, ac->type, v);
  l->x = x;
  return end(l, &b, jx_int(j, j->t_u32, 0), NULL);
}
gcc_jit_rvalue *lw_call_local_access(struct lw *l, const struct lw_local_access *ac, gcc_jit_rvalue *cells,
                                     gcc_jit_rvalue *more, uint32_t fallback) {
  static const char *const kind_name[] = {"", "_by_number", "_by_address"};
  enum masks_from from = masks_from(l);
  if (from == WHOLE_SPLIT) from = ARGUMENTS; /* it needs them as vectors */
  char name[64];
  snprintf(name, sizeof name, "local_%s%s_%u_%u_%u%s%s", ac->load ? "load" : "store", kind_name[ac->kind], ac->type,
           ac->load ? ac->to : 0, ac->shift, ac->raw ? "_raw" : "", from_name[from]);
  struct lw_helper *h = find(name);
  if (!h) h = make_local_access(l, ac, name, from);
  gcc_jit_rvalue *lanes[LW_CHUNKS], *args[] = {l->state, jx_rv(l->spill_area), cells, more,
                                               lw_u64(l, fallback | (uint64_t)lw_cell_offset(l, ac->slot) << 32)};
  if (from == ARGUMENTS) active_lanes(l, lanes);
  return call(l, h, 5, args, from == ARGUMENTS ? lanes : NULL);
}

/* ---- atomics -----------------------------------------------------------------------------------------------------*/
/* A number in one register. */
static jv number_of(struct lw *l, unsigned type, gcc_jit_rvalue *v) {
  return jv_as(&l->one_j, type, jv_broadcast(&l->one_j, jx_wide(type) ? MX_T_u64 : MX_T_u32, v));
}
static gcc_jit_rvalue *combined_as(struct lw *l, const struct lw_atomic_access *ac, gcc_jit_rvalue *old, const jv *b,
                                   const jv *c, bool may_doubt) {
  struct jx *j = &l->one_j;
  j->may_doubt = may_doubt, j->doubtful = NULL;
  const jv was = number_of(l, ac->type, old), now = jx_combines[ac->op](j, &was, b, c, ac->shared);
  j->may_doubt = false;
  return jx_keep(j, jv_as(j, jx_wide(ac->type) ? MX_T_u64 : MX_T_u32, now).r[0]);
}
static gcc_jit_rvalue *combined(struct lw *l, const struct lw_atomic_access *ac, gcc_jit_rvalue *old, const jv *b,
                                const jv *c) {
  struct jx *j = &l->one_j;
  gcc_jit_rvalue *now = combined_as(l, ac, old, b, c, true), *doubtful = j->doubtful;
  if (!doubtful) return now;
  /* which NaN the result is, is only asked if it is one */
  gcc_jit_lvalue *result = jx_local(j, gcc_jit_rvalue_get_type(now));
  jx_set(j, result, now);
  gcc_jit_block *nan = gcc_jit_function_new_block(j->fn, NULL), *done = gcc_jit_function_new_block(j->fn, NULL);
  doubtful = jx_bits(j, j->vf64, doubtful);
  gcc_jit_rvalue *is_nan = gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, doubtful, doubtful);
  gcc_jit_block_end_with_conditional(j->b, NULL, lw_rare(l, is_nan), nan, done);
  j->b = nan;
  jx_set(j, result, combined_as(l, ac, old, b, c, false));
  gcc_jit_block_end_with_jump(j->b, NULL, done);
  j->b = done;
  return jx_rv(result);
}
/* Changes one cell, which only this worker reaches or which others may change meanwhile; returns what it held. */
static gcc_jit_rvalue *change_cell(struct lw *l, const struct lw_atomic_access *ac, gcc_jit_lvalue *cell, const jv *b,
                                   const jv *c) {
  struct jx *j = &l->one_j;
  gcc_jit_type *t = jx_wide(ac->type) ? j->t_u64 : j->t_u32;
  if (ac->shared) {
    gcc_jit_rvalue *old = jx_keep(j, jx_rv(cell));
    jx_set(j, cell, combined(l, ac, old, b, c));
    return old;
  }
  if (ac->instruction) {
    gcc_jit_lvalue *value = jx_local(j, t);
    jx_set(j, value, b->r[0]);
    gcc_jit_extended_asm *a = jx_asm(j, ac->instruction, "+r", value, 0);
    gcc_jit_extended_asm_add_output_operand(a, NULL, "+m", cell);
    jx_touches_memory(a);
    return jx_rv(value);
  }
  gcc_jit_block *again = gcc_jit_function_new_block(j->fn, NULL), *done = gcc_jit_function_new_block(j->fn, NULL);
  gcc_jit_lvalue *old = jx_local(j, t), *is = jx_local(j, j->t_u8);
  jx_set(j, old, jx_rv(cell)); /* a guess, which the exchange verifies */
  gcc_jit_block_end_with_jump(j->b, NULL, again);
  j->b = again;
  gcc_jit_rvalue *now = combined(l, ac, jx_rv(old), b, c);
  gcc_jit_extended_asm *a = jx_asm(j, "lock cmpxchg %3, %1\n\tsete %2", "+&a", old, 0);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "+m", cell);
  gcc_jit_extended_asm_add_output_operand(a, NULL, "=&q", is);
  gcc_jit_extended_asm_add_input_operand(a, NULL, "r", now);
  gcc_jit_extended_asm_add_clobber(a, "cc");
  jx_touches_memory(a);
  gcc_jit_block_end_with_conditional(
      j->b, NULL, gcc_jit_context_new_comparison(j->c, NULL, GCC_JIT_COMPARISON_NE, jx_rv(is), jx_int(j, j->t_u8, 0)),
      done, again);
  j->b = done;
  return jx_rv(old);
}
struct atomic_step {
  const struct lw_atomic_access *ac;
  gcc_jit_rvalue *at, *from, *operand[2], *old; /* 32-bit distances from the host address `from`; arrays of lanes */
  gcc_jit_rvalue *number;                       /* the first operand's, if all lanes have one */
};
static gcc_jit_rvalue *place_of_lane(struct lw *l, const struct atomic_step *s, gcc_jit_rvalue *lane) {
  struct jx *j = &l->j;
  gcc_jit_rvalue *four = jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, lw_u64(l, 4));
  return jx_keep(j, lw_add(l, s->from,
                           gcc_jit_context_new_cast(j->c, NULL, jx_rv(lw_field(l, lw_add(l, s->at, four), 0, j->t_u32)),
                                                    j->t_u64)));
}
static void fetch_cell(struct lw *l, gcc_jit_rvalue *lane, const void *with) {
  jx_prefetch(&l->j, lw_field(l, place_of_lane(l, with, lane), 0, l->j.t_u8));
}
static void step_of_lane(struct lw *l, gcc_jit_rvalue *lane, const void *with) {
  struct jx *j = &l->j;
  const struct atomic_step *s = with;
  const bool wide = jx_wide(s->ac->type);
  gcc_jit_type *t = wide ? j->t_u64 : j->t_u32;
  gcc_jit_lvalue *cell = lw_field(l, place_of_lane(l, s, lane), 0, t);
  gcc_jit_rvalue *far = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MULT, j->t_u64, lane, lw_u64(l, wide ? 8 : 4)));
  jv operand[2];
  l->one_j.fn = j->fn, l->one_j.b = j->b;
  for (unsigned k = 0; k < 2; k++) {
    gcc_jit_rvalue *v = k ? NULL : s->number;
    if (s->operand[k]) v = jx_keep(j, jx_rv(lw_field(l, lw_add(l, s->operand[k], far), 0, t)));
    operand[k] = v ? number_of(l, s->ac->type, v) : (jv){0};
  }
  gcc_jit_rvalue *old = change_cell(l, s->ac, cell, &operand[0], &operand[1]);
  j->b = l->one_j.b;
  if (s->ac->wants_old) jx_set(j, lw_field(l, lw_add(l, s->old, far), 0, t), old);
}
/* If no lane is missing, several short steps in a row need no look at the mask; code goes on where some are. */
static void steps_of_all(struct lw *l, gcc_jit_rvalue *mask, const struct atomic_step *s, gcc_jit_block *behind) {
  enum { IN_A_ROW = 4 };
  struct jx *j = &l->j;
  gcc_jit_block *all = lw_new_block(l, "all"), *some = lw_new_block(l, "some"), *next = lw_new_block(l, "next");
  gcc_jit_lvalue *lane = jx_local(j, j->t_u64);
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_EQ, mask, lw_all_lanes(l)), all, some);
  j->b = all;
  jx_set(j, lane, lw_u64(l, 0));
  lw_go(l, next);
  j->b = next;
  for (unsigned k = 0; k < IN_A_ROW; k++) {
    step_of_lane(l, jx_rv(lane), s);
    jx_set(j, lane, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, jx_rv(lane), lw_u64(l, 1)));
  }
  lw_split(l, lw_compare(l, GCC_JIT_COMPARISON_LT, jx_rv(lane), lw_u64(l, l->a->lanes)), next, behind);
  j->b = some;
}
static struct lw_helper *make_atomic(struct lw *l, const struct lw_atomic_access *ac, const char *name) {
  struct jx *j = &l->j;
  enum { STATE, AREA, BOUNDS, BOUNDS_AT, ADDRESSES, OFFSET, FIRST, SECOND, PACKED, ARGUMENTS_IN_ALL };
  struct building b = begin(
      l, name, true, j->t_u32, ARGUMENTS_IN_ALL,
      (gcc_jit_type *[]){j->t_pu8, j->t_pu8, j->t_pu8, j->t_u64, j->t_u64, j->t_u64, j->t_u64, j->t_u64, j->t_u64});
#define CELLS(k_) jx_keep(j, lw_add(l, b.arg[AREA], b.arg[k_]))
  gcc_jit_rvalue *bounds = jx_keep(j, lw_add(l, b.arg[BOUNDS], b.arg[BOUNDS_AT])), *addresses = CELLS(ADDRESSES);
  const unsigned bytes = jx_bitsof(ac->type) / 8;
#define OP(op_, x_, y_) jx_op(j, GCC_JIT_BINARY_OP_##op_, j->t_u64, x_, y_)
#define FIELD(name_) jx_keep(j, jx_rv(lw_field(l, bounds, MX_AT(bounds, name_), j->t_u64)))
  gcc_jit_rvalue *lo = FIELD(lo), *span = FIELD(writes), *most = jx_keep(j, OP(MINUS, span, lw_u64(l, bytes))),
                 *from = jx_keep(j, OP(MINUS, b.arg[OFFSET], lo));
  gcc_jit_rvalue *bad = lw_compare(l, GCC_JIT_COMPARISON_LT, span, lw_u64(l, bytes)),
                 *odd = OP(BITWISE_AND, lo, lw_u64(l, ac->wide_address ? bytes - 1 : UINT64_MAX << 32 | (bytes - 1)));
  bad = lw_either(l, bad, lw_compare(l, GCC_JIT_COMPARISON_GT, most, lw_u64(l, INT32_MAX - 3)));
  bad = lw_either(l, bad, lw_compare(l, GCC_JIT_COMPARISON_NE, odd, lw_u64(l, 0)));
  gcc_jit_rvalue *index[LW_CHUNKS];
  const jv more = jv_broadcast(j, ac->wide_address ? MX_T_u64 : MX_T_u32,
                               ac->wide_address ? from : gcc_jit_context_new_cast(j->c, NULL, from, j->t_u32));
  const unsigned parts = ac->wide_address ? 2 : 1;
  for (unsigned c = 0; c < l->nc; c++) {
    jv v = {.t = more.t};
    for (unsigned k = 0; k < parts; k++)
      v.r[k] = jx_keep(j, jx_rv(lw_vector(l, addresses, j->bytes * (parts * c + k), ac->wide_address)));
    v = jv_bin(j, JX_ADD, v.t, v, more);
    index[c] = jx_keep(j, (ac->wide_address ? lw_number_32(l, v) : v).r[0]);
  }
  bad = lw_either(
      l, bad, lw_numbers_outside(l, index, gcc_jit_context_new_cast(j->c, NULL, most, j->t_u32), bytes - 1, b.lanes));
  gcc_jit_block *out = lw_new_block(l, "out"), *in = lw_new_block(l, "in");
  lw_split(l, lw_rare(l, bad), out, in);
  j->b = out;
  gcc_jit_block_end_with_return(
      j->b, NULL, fall_back(l, &b, ARGUMENTS, gcc_jit_context_new_cast(j->c, NULL, b.arg[PACKED], j->t_u32)));
  j->b = in;
  gcc_jit_rvalue *host = gcc_jit_context_new_bitcast(j->c, NULL, OP(PLUS, FIELD(host), lo), j->t_pu8);
#undef FIELD
  gcc_jit_rvalue *old = jx_keep(j, lw_add(l, b.arg[AREA], OP(RSHIFT, b.arg[PACKED], lw_u64(l, 32)))),
                 *first = ac->one_value ? NULL : CELLS(FIRST), *second = ac->noperands > 1 ? CELLS(SECOND) : NULL;
#undef OP
#undef CELLS
  gcc_jit_type *t = jx_wide(ac->type) ? j->t_u64 : j->t_u32;
  gcc_jit_rvalue *number = ac->one_value ? jx_keep(j, gcc_jit_context_new_cast(j->c, NULL, b.arg[FIRST], t)) : NULL;
  const struct atomic_step step = {ac,    lw_in_memory(l, index, l->nc, false), jx_keep(j, host), {first, second}, old,
                                   number};
  gcc_jit_rvalue *mask = jx_keep(j, lw_pack(l, b.lanes));
  /* a step in one piece lets no later access begin, so lanes would wait for their cells one behind the other */
  if (!ac->shared) lw_for_lanes(l, mask, fetch_cell, &step);
  gcc_jit_block *behind = lw_new_block(l, "behind");
  if (ac->shared && ac->instruction) steps_of_all(l, mask, &step, behind);
  lw_for_lanes(l, mask, step_of_lane, &step);
  lw_go(l, behind);
  j->b = behind;
  struct lw_helper *h = end(l, &b, jx_int(j, j->t_u32, 0), NULL);
  if (l->one_j.bad) h->f = NULL;
  l->one_j.bad = false;
  return h;
}
const struct lw_helper *lw_atomic_helper(struct lw *l, const struct lw_atomic_access *ac, const char *step) {
  char name[64];
  snprintf(name, sizeof name, "atomic_%s%s%s%s%s", step, ac->wants_old ? "_old" : "", ac->shared ? "_shared" : "",
           ac->wide_address ? "" : "_a32", ac->one_value ? "_one" : "");
  const struct lw_helper *h = find(name);
  if (!h && lw_has_functions_left()) h = make_atomic(l, ac, name);
  return h && h->f ? h : NULL;
}
gcc_jit_rvalue *lw_call_atomic(struct lw *l, const struct lw_helper *h, gcc_jit_rvalue *addresses, gcc_jit_rvalue *off,
                               gcc_jit_rvalue *const *operand, uint64_t old, gcc_jit_rvalue *const *lanes,
                               uint32_t fallback) {
  gcc_jit_rvalue *args[] = {l->state,
                            jx_rv(l->spill_area),
                            jx_rv(l->bounds),
                            lw_u64(l, (uint64_t)l->ins->bounds * sizeof(struct mx_bounds)),
                            addresses,
                            off,
                            operand[0],
                            operand[1] ? operand[1] : lw_u64(l, 0),
                            lw_u64(l, fallback | old << 32)};
  return call(l, h, sizeof args / sizeof *args, args, lanes);
}

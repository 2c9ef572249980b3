/* Calls of functions that a text declares and does not define, by their names in the tables: `.extern .func __nv_expf`,
 * `.extern .func __syncthreads_or`, vprintf. Separate from call.c: nothing is called, an instruction replaces the call.
 *
 * What a C compiler passes is made into what the row takes: integers below 32 bits come in 32, truth values are
 * integers, addresses are registers, and results beyond the first go through pointers behind the other arguments. */
#include "lower.h"

#include <string.h>

/* ---- names ----------------------------------------------------------------------------------------------------*/
/* Functions of libdevice whose rows are called otherwise than __nv_NAME, __nv_fast_NAME: NAME or __NAME. */
static const char *const libdevice[][2] = {{"max", "max.s32"},
                                           {"min", "min.s32"},
                                           {"finitef", "isfinite.f32"},
                                           {"isfinited", "isfinite.f64"},
                                           {"isinff", "isinf.f32"},
                                           {"isinfd", "isinf.f64"},
                                           {"isnanf", "isnan.f32"},
                                           {"isnand", "isnan.f64"},
                                           {"signbitf", "signbit.f32"},
                                           {"signbitd", "signbit.f64"},
                                           {"powi", "__powi.f64"},
                                           {"powif", "__powi.f32"},
                                           {"rcp64h", "rcp.approx.ftz.f64"},
                                           {"hadd", "__hadd.s32"},
                                           {"float2half_rn", "__float2half_rn.f16.f32"},
                                           {"half2float", "__half2float.f32.f16"}};

/* The mnemonic that stands for a function's name, and its rows. A type suffix begins with '$': names have no dots. */
static const char *mnemonic_of(struct lower *l, const char *name, const struct row_match **rows, uint32_t *n) {
  struct mx_arena *a = l->f->arena;
  char *spelled = mx__arena_strndup(a, name, strlen(name));
  for (char *p = spelled; (p = strchr(p, '$')); p++) *p = '.';
  const char *found = spelled;
  if ((*n = mx__select_rows(l->select, found, false, rows))) return found;
  if (strncmp(name, "__nv_", 5)) return NULL;
  const char *own = name + 5, *plain = strncmp(own, "fast_", 5) ? own : own + 5;
  for (size_t k = 0; k < sizeof libdevice / sizeof *libdevice; k++)
    if (!strcmp(own, libdevice[k][0]) && (*n = mx__select_rows(l->select, libdevice[k][1], false, rows)))
      return libdevice[k][1];
  if (own == plain && (*n = mx__select_rows(l->select, own, false, rows))) return own;
  found = mx__arena_printf(a, "__%s", plain);
  return (*n = mx__select_rows(l->select, found, false, rows)) ? found : NULL;
}

bool mx__is_named(struct lower *l, const char *name) {
  const struct row_match *rows;
  uint32_t n;
  return mnemonic_of(l, name, &rows, &n) != NULL;
}

/* ---- what C passes, as the row takes it -------------------------------------------------------------------------*/
struct passed {
  const struct ir_opnd *res, *args;
  uint32_t nres, nargs;
};

static unsigned bits_of(const struct lower *l, const struct ir_opnd *o) {
  return o->kind == IR_REG ? mx__types[l->out->regs[o->reg].type].bits : 0;
}

/* What it costs to convert a value from one type to the other; -1: it would not be the same value. Literals fit all. */
static int cost(unsigned have, unsigned want) {
  if (!have || have == want) return 0;
  if (have < 64 && want < 32) return want == 1 ? 1 : have >= want || want == 8 ? 2 : -1;
  return -1;
}

/* How far the row is from what is passed; -1: it takes something else. */
static int misfit(const struct lower *l, const struct passed *p, const struct mx_op_info *row) {
  uint32_t outs = 0, at = 0;
  int sum = 0;
  while (outs < row->nopnds && row->opnd[outs].role == MX_OUT) outs++;
  if (p->nres > outs) return -1;
  uint32_t pointers = outs - p->nres;
  for (uint32_t k = 0; k < row->nopnds; k++) {
    const struct mx_opnd *o = &row->opnd[k];
    if (o->type == MX_T_off) continue;
    if (o->type >= MX_T_raw || o->implicit || o->vector) return -1;
    if (k >= p->nres && k < outs) continue;
    if (k >= outs && at + pointers >= p->nargs) return -1;
    int c = cost(bits_of(l, k < outs ? &p->res[k] : &p->args[at++]), mx__types[o->type].bits);
    if (c < 0) return -1;
    sum += c;
  }
  if (at + pointers != p->nargs) return -1;
  for (; at < p->nargs; at++)
    if (cost(bits_of(l, &p->args[at]), 64)) return -1;
  return sum;
}

static void push_passed(struct lower *l, struct vals *vs, const struct ir_opnd *o) {
  if (o->kind == IR_REG) mx__push_reg(l, vs, o->reg);
  else if (o->lit.kind == MX_LIT_VALUE) mx__push_const(l, vs, o->lit.value);
  else *mx__push(l, vs) = (struct val){.kind = V_LIT, .type = MX_T_none, .lit = o->lit, .loc = l->loc};
}

static bool is_signed(int type) { return type == MX_T_s8 || type == MX_T_s16; }

/* Instruction with a result, an input, and perhaps numbers behind it. */
static bool emit(struct lower *l, const char *mnemonic, uint32_t to, uint32_t from, const char *numbers) {
  struct vals vs = {0};
  mx__push_reg(l, &vs, to);
  if (*numbers == '1') mx__push_const(l, &vs, 1), mx__push_const(l, &vs, 0);
  mx__push_reg(l, &vs, from);
  if (*numbers == '0') mx__push_const(l, &vs, 0);
  return mx__emit_instruction(l, mnemonic, NULL, &vs, IR_NONE, false, l->loc);
}

/* A register of the row's type from the one that holds what was passed. */
static bool narrow(struct lower *l, uint32_t *reg, int type) {
  unsigned have = mx__types[l->out->regs[*reg].type].bits, want = mx__types[type].bits;
  if (have == want) return true;
  uint32_t from = *reg, to = *reg = mx__new_reg(l, NULL, want == 1 ? MX_T_pred : MX_T_b16, l->loc);
  if (want == 1) return emit(l, have == 32 ? "setp.ne.u32" : "setp.ne.u16", to, from, "0");
  return have == 32 ? emit(l, want == 8 ? "cvt.u8.u32" : "cvt.u16.u32", to, from, "")
                    : emit(l, "mov.b16", to, from, "");
}

/* The other way: what the row wrote, in the register that C takes it from. */
static bool widen(struct lower *l, uint32_t to, uint32_t from, int type) {
  unsigned have = mx__types[type].bits, want = mx__types[l->out->regs[to].type].bits;
  if (have == 1) return emit(l, want == 32 ? "selp.b32" : "selp.b16", to, from, "1");
  if (want != 32) return emit(l, "mov.b16", to, from, "");
  return emit(l,
              is_signed(type) ? (have == 8 ? "cvt.s32.s8" : "cvt.s32.s16")
              : have == 8     ? "cvt.u32.u8"
                              : "cvt.u32.u16",
              to, from, "");
}

/* Stores a result through the pointer that C passed for it; truth values are int. */
static bool store(struct lower *l, const struct ir_opnd *pointer, uint32_t reg, int type) {
  unsigned bits = mx__types[type].bits;
  if (bits == 1) {
    uint32_t number = mx__new_reg(l, NULL, MX_T_b32, l->loc);
    if (!widen(l, number, reg, type)) return false;
    reg = number;
    bits = 32;
  }
  struct vals vs = {0};
  push_passed(l, &vs, pointer);
  vs.v[0].is_address = true;
  mx__push(l, &vs)->kind = V_OFF;
  mx__push_reg(l, &vs, reg);
  return mx__emit_instruction(l, mx__arena_printf(l->f->arena, "st.b%u", bits), NULL, &vs, IR_NONE, false, l->loc);
}

bool mx__lower_named(struct lower *l, const struct stmt *s, const char *name, const struct ir_opnd *res, uint32_t nres,
                     const struct ir_opnd *args, uint32_t nargs) {
  const struct row_match *rows;
  uint32_t nrows, best = UINT32_MAX;
  const char *mnemonic = mnemonic_of(l, name, &rows, &nrows);
  const struct passed p = {res, args, nres, nargs};
  int least = 0;
  for (uint32_t r = 0; r < nrows; r++) {
    int n = misfit(l, &p, rows[r].row);
    if (n < 0 || (best != UINT32_MAX && n >= least)) continue;
    best = r;
    least = n;
  }
  struct vals vs = {0};
  if (best == UINT32_MAX) { /* what does not fit is said as of any instruction */
    for (uint32_t k = 0; k < nres + nargs; k++)
      push_passed(l, &vs, k < nres ? &res[k] : &args[k - nres]), vs.v[k].number = (uint16_t)(k + 1);
    return mx__emit_instruction(l, mnemonic, NULL, &vs, IR_NONE, false, s->loc);
  }
  const struct mx_op_info *row = rows[best].row;
  struct {
    uint32_t reg;
    int type;
  } out[MX_MAX_OPNDS];
  uint32_t outs = 0, at = 0;
  bool fine = true;
  for (uint32_t k = 0; k < row->nopnds && fine; k++) {
    const struct mx_opnd *o = &row->opnd[k];
    const unsigned bits = mx__types[o->type].bits;
    if (o->role == MX_OUT) {
      const bool direct = k < nres && bits_of(l, &res[k]) == bits;
      out[outs].type = o->type;
      out[outs].reg = direct ? res[k].reg
                             : mx__new_reg(l, NULL,
                                           bits == 1    ? MX_T_pred
                                           : bits <= 16 ? MX_T_b16
                                           : bits == 32 ? MX_T_b32
                                                        : MX_T_b64,
                                           l->loc);
      mx__push_reg(l, &vs, out[outs++].reg);
    } else if (o->type == MX_T_off) {
      vs.v[vs.n - 1].is_address = true;
      mx__push(l, &vs)->kind = V_OFF;
    } else {
      struct ir_opnd arg = args[at++];
      if (arg.kind == IR_REG) fine = narrow(l, &arg.reg, o->type);
      push_passed(l, &vs, &arg);
    }
    vs.v[vs.n - 1].number = (uint16_t)vs.n;
  }
  if (!fine || !mx__emit_instruction(l, mnemonic, NULL, &vs, IR_NONE, false, s->loc)) return false;
  for (uint32_t k = 0; k < outs && fine; k++) {
    if (k >= nres) fine = store(l, &args[at++], out[k].reg, out[k].type);
    else if (out[k].reg != res[k].reg) fine = widen(l, res[k].reg, out[k].reg, out[k].type);
  }
  return fine;
}

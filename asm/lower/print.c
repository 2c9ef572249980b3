/* printf under its own name: the values behind the format go into the frame's memory, as C passes them (floats as f64, small
 * integers as 32 bits, each at a multiple of its size), and vprintf gets their address. Separate from expand.c: the one
 * function of the guides with any number of arguments. */
#include "lower.h"

/* The value in a register of the type that C passes it as; 0: none of those. */
static unsigned promote(struct lower *l, struct val *v) {
  if (v->kind == V_CONST) {
    const bool wide = v->expr->kind == EX_FLOAT || (v->expr->value + 0x80000000u) >> 32;
    const int type = v->expr->kind == EX_FLOAT ? MX_T_f64 : wide ? MX_T_s64 : MX_T_s32;
    struct vals vs = {0};
    mx__push_reg(l, &vs, mx__new_reg(l, NULL, type, v->loc));
    *mx__push(l, &vs) = *v;
    if (!mx__select_emit(l, type == MX_T_f64 ? "mov.f64" : wide ? "mov.s64" : "mov.s32", NULL, &vs, IR_NONE, false, v->loc)) return 0;
    *v = vs.v[0];
    return mx__types[type].bits;
  }
  if (v->kind != V_REG && !mx__value_reg(l, v, MX_T_u64)) return 0;
  const char *how = v->type == MX_T_f32                             ? "cvt.f64.f32"
                    : v->type == MX_T_f16                           ? "cvt.f32.f16"
                    : v->type == MX_T_bf16                          ? "cvt.f32.bf16"
                    : v->type == MX_T_s16 || v->type == MX_T_s8     ? "cvt.s32.s16"
                    : v->type < MX_T_raw && mx__types[v->type].bits < 32 && v->type != MX_T_pred ? "cvt.u32.u16"
                                                                    : NULL;
  if (v->type >= MX_T_raw || v->type == MX_T_pred || mx__types[v->type].bits > 64) return 0;
  if (!how) return mx__types[v->type].bits;
  const int to = v->type == MX_T_f32 ? MX_T_f64 : v->type == MX_T_f16 || v->type == MX_T_bf16 ? MX_T_f32 : MX_T_s32;
  struct vals vs = {0};
  mx__push_reg(l, &vs, mx__new_reg(l, NULL, to, v->loc));
  *mx__push(l, &vs) = *v;
  if (!mx__select_emit(l, how, NULL, &vs, IR_NONE, false, v->loc)) return 0;
  *v = vs.v[0];
  return to == MX_T_f32 ? promote(l, v) : mx__types[to].bits;
}

void mx__lower_printf(struct lower *l, const struct stmt *s, struct vals *vs, uint32_t guard) {
  if (vs->n < 2) {
    ERR(l->f, "operand-count", s->loc, "signature: printf d:s32, format:u64, values", "printf: takes 2 operands or more, found %u", vs->n);
    return;
  }
  const uint64_t base = (l->frame + 7) & ~(uint64_t)7;
  uint64_t at = base;
  for (uint32_t k = 2; k < vs->n; k++) {
    struct val *v = &vs->v[k];
    unsigned bits = promote(l, v);
    if (!bits) {
      ERR(l->f, "operand-type", v->loc, NULL, "printf: operand %u is no number of 8 to 64 bits", v->number);
      return;
    }
    at = (at + bits / 8 - 1) & ~(uint64_t)(bits / 8 - 1);
    struct vals st = {0};
    mx__push_reg(l, &st, mx__local_base(l));
    st.v[0].is_address = true;
    struct val *off = mx__push(l, &st);
    off->kind = V_OFF;
    off->offset = at;
    *mx__push(l, &st) = *v;
    if (!mx__select_emit(l, bits == 64 ? "st.local.b64" : "st.local.b32", NULL, &st, IR_NONE, false, s->loc)) return;
    at += bits / 8;
  }
  l->frame = at;
  struct vals call = {0};
  *mx__push(l, &call) = vs->v[0];
  *mx__push(l, &call) = vs->v[1];
  if (at == base) {
    mx__push_const(l, &call, 0);
  } else {
    struct val *v = mx__push(l, &call);
    v->kind = V_LOCAL;
    v->offset = base;
    if (!mx__value_reg(l, v, MX_T_u64)) return;
    struct vals generic = {0};
    mx__push_reg(l, &generic, mx__new_reg(l, NULL, MX_T_u64, s->loc));
    *mx__push(l, &generic) = *v;
    if (!mx__select_emit(l, "cvta.local.u64", NULL, &generic, IR_NONE, false, s->loc)) return;
    *v = generic.v[0];
  }
  mx__select_emit(l, "vprintf", NULL, &call, guard, s->guard_neg, s->loc);
}

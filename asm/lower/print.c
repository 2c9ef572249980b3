/* printf under its own name: the values behind the format go into the frame's memory, as C passes them (floats as f64,
 * small integers as 32 bits, each at a multiple of its size), and vprintf gets their address. Separate from expand.c:
 * the one vendor device function with any number of arguments. */
#include "lower.h"

#include <string.h>

/* What of a format's text is still to be read; NULL: it is not known. */
struct format {
  const char *at, *end;
  bool star;
};

/* The format, where it is a text in the call or a variable's initial value. */
static struct format format_of(const struct lower *l, const struct opnd *o, const struct val *v) {
  if (o && o->e.kind == EX_STRING) return (struct format){o->e.bytes, o->e.bytes + o->e.nbytes, false};
  const bool variable = v->kind == V_LIT && (v->lit.kind == MX_LIT_VAR || v->lit.kind == MX_LIT_GENERIC) &&
                        v->lit.index < l->f->nvars && !v->lit.value;
  const struct mx_var *x = variable ? &l->f->vars[v->lit.index] : NULL;
  return x && x->init && !x->nrelocs ? (struct format){(const char *)x->init, (const char *)x->init + x->ninit, false}
                                     : (struct format){0};
}

/* How wide the integer is that the format expects next: 32 or 64 bits; 0: it does not say. */
static unsigned next_integer(struct format *f) {
  while (f->at && f->at < f->end && *f->at) {
    if (!f->star && *f->at++ != '%') continue;
    unsigned longs = 0;
    for (f->star = false; f->at < f->end && *f->at && strchr("#0- +.123456789hljzt*", *f->at); f->at++) {
      longs += *f->at == 'l' || *f->at == 'j' || *f->at == 'z' || *f->at == 't';
      if (*f->at != '*') continue;
      f->at++;
      f->star = true; /* a width of its own; the specifier goes on behind it */
      return 32;
    }
    if (f->at == f->end || *f->at == '%') {
      f->at += f->at < f->end;
      continue;
    }
    const char type = *f->at++;
    return strchr("diouxXc", type) ? (longs ? 64 : 32) : type == 'p' || type == 's' ? 64 : 0;
  }
  return 0;
}

/* The value in a register of the type that C passes it as; 0: none of those. expected: what the format says of an
 * integer's width. */
static unsigned promote(struct lower *l, struct val *v, unsigned expected) {
  if (v->kind == V_CONST) {
    const bool real = v->expr->kind == EX_FLOAT,
               fits = v->expr->value <= UINT32_MAX || !((v->expr->value + 0x80000000u) >> 32);
    const bool wide = expected ? expected == 64 : !fits;
    const int type = real ? MX_T_f64 : wide ? MX_T_b64 : MX_T_b32;
    struct vals vs = {0};
    mx__push_reg(l, &vs, mx__new_reg(l, NULL, type, v->loc));
    *mx__push(l, &vs) = *v;
    if (!mx__emit_instruction(l, real ? "mov.f64" : wide ? "mov.b64" : "mov.b32", NULL, &vs, IR_NONE, false, v->loc))
      return 0;
    *v = vs.v[0];
    return mx__types[type].bits;
  }
  if (v->kind != V_REG && !mx__value_reg(l, v, MX_T_u64)) return 0;
  const char *how = v->type == MX_T_f32                                                          ? "cvt.f64.f32"
                    : v->type == MX_T_f16                                                        ? "cvt.f32.f16"
                    : v->type == MX_T_bf16                                                       ? "cvt.f32.bf16"
                    : v->type == MX_T_s16 || v->type == MX_T_s8                                  ? "cvt.s32.s16"
                    : v->type < MX_T_raw && mx__types[v->type].bits < 32 && v->type != MX_T_pred ? "cvt.u32.u16"
                                                                                                 : NULL;
  if (v->type >= MX_T_raw || v->type == MX_T_pred || mx__types[v->type].bits > 64) return 0;
  if (!how) return mx__types[v->type].bits;
  const int to = v->type == MX_T_f32 ? MX_T_f64 : v->type == MX_T_f16 || v->type == MX_T_bf16 ? MX_T_f32 : MX_T_s32;
  struct vals vs = {0};
  mx__push_reg(l, &vs, mx__new_reg(l, NULL, to, v->loc));
  *mx__push(l, &vs) = *v;
  if (!mx__emit_instruction(l, how, NULL, &vs, IR_NONE, false, v->loc)) return 0;
  *v = vs.v[0];
  return to == MX_T_f32 ? promote(l, v, expected) : mx__types[to].bits;
}

void mx__lower_printf(struct lower *l, const struct stmt *s, struct vals *vs, uint32_t guard) {
  if (s->nopnds && s->opnds[0].e.kind == EX_STRING) {
    ERR(l->f, "operand-type", s->opnds[0].e.loc,
        "the first operand gets how many values were printed: printf _, \"...\"",
        "printf: operand 1 is a text, expected a register");
    return;
  }
  if (vs->n < 2) {
    ERR(l->f, "operand-count", s->loc, "signature: printf d:s32, format:u64, values",
        "printf: takes 2 operands or more, found %u", vs->n);
    return;
  }
  const uint64_t base = (l->frame + 7) & ~(uint64_t)7;
  struct format format = format_of(l, s->nopnds > 1 ? &s->opnds[1] : NULL, &vs->v[1]);
  uint64_t at = base;
  for (uint32_t k = 2; k < vs->n; k++) {
    struct val *v = &vs->v[k];
    unsigned bits = promote(l, v, next_integer(&format));
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
    if (!mx__emit_instruction(l, bits == 64 ? "st.local.b64" : "st.local.b32", NULL, &st, IR_NONE, false, s->loc))
      return;
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
    if (!mx__emit_instruction(l, "cvta.local.u64", NULL, &generic, IR_NONE, false, s->loc)) return;
    *v = generic.v[0];
  }
  mx__emit_instruction(l, "vprintf", NULL, &call, guard, s->guard_neg, s->loc);
}

/* Guarded set and testp as compilers for 32-lane hardware translate them. Recorded results show that there a false guard
 * does not leave the destination alone: the guard holds back the comparison only, and a conversion of its integer result
 * (0 or -1) to the destination's type follows unguarded, working on whatever the register held; testp loses its guard
 * altogether. Modules of 32 lanes do the same, so that programs agree with the hardware; modules of 64 lanes keep the plain
 * meaning of a guard. Separate, because nothing else in the assembler knows such habits. Knows no rows, only spellings. */
#include "lower.h"

#include <string.h>

static void convert(struct lower *l, const char *how, uint32_t d, uint32_t s, const struct stmt *at, uint32_t guard) {
  struct vals vs = {0};
  mx__push_reg(l, &vs, d);
  mx__push_reg(l, &vs, s);
  mx__select_emit(l, how, NULL, &vs, guard, !at->guard_neg, at->loc);
}

/* The bits of d, or its low half, in a register without a type, for conversions to read as integers. */
static uint32_t bits_of(struct lower *l, uint32_t d, const struct stmt *s, bool low, uint32_t guard) {
  const bool half = mx__types[l->out->regs[d].type].bits == 16;
  uint32_t whole = mx__new_reg(l, NULL, half ? MX_T_b16 : MX_T_b32, s->loc);
  convert(l, half ? "mov.b16" : "mov.b32", whole, d, s, guard);
  if (half || !low) return whole;
  uint32_t t = mx__new_reg(l, NULL, MX_T_b16, s->loc);
  convert(l, "cvt.u16.u32", t, whole, s, guard);
  return t;
}

static bool is_half(const char *t) { return !strcmp(t, "f16") || !strcmp(t, "bf16"); }

/* What happens to d in the lanes where the guard is false. */
static void leave(struct lower *l, const struct stmt *s, uint32_t guard, uint32_t d) {
  const char *m = s->mnemonic->text, *from = strrchr(m, '.');
  const char *to = from;
  while (to > m && *--to != '.') {}
  if (!from || to == m) return;
  const size_t n = (size_t)(from - to);
  char result[8] = "";
  if (n > sizeof result) return;
  memcpy(result, to + 1, n - 1);
  const char *source = from + 1;
  const bool short_source = !strcmp(source, "u16") || !strcmp(source, "s16") || !strcmp(source, "b16");
  if (!strcmp(result, "u32") || !strcmp(result, "s32")) {
    if (short_source || is_half(source)) convert(l, "cvt.s32.s16", d, d, s, guard);
  } else if (!strcmp(result, "f32")) {
    if (is_half(source)) return;
    uint32_t t = bits_of(l, d, s, short_source, guard);
    convert(l, short_source ? "abs.s16" : "abs.s32", t, t, s, guard);
    convert(l, short_source ? "cvt.rn.f32.s16" : "cvt.rn.f32.s32", d, t, s, guard);
  } else if (is_half(result) && !is_half(source) && strcmp(source, "f32")) {
    uint32_t bits = bits_of(l, d, s, short_source, guard), t = mx__new_reg(l, NULL, MX_T_f32, s->loc);
    if (short_source) convert(l, "abs.s16", bits, bits, s, guard);
    convert(l, short_source ? "cvt.rn.f32.s16" : "cvt.rn.f32.u16", t, bits, s, guard);
    convert(l, result[0] == 'b' ? "cvt.rn.bf16.f32" : "cvt.rn.f16.f32", d, t, s, guard);
  }
}

void mx__lower_guarded_habits(struct lower *l, const struct stmt *s, const struct vals *vs, uint32_t *guard) {
  if (*guard == IR_NONE || l->fn->physical || l->f->lanes != 32 || !vs->n || vs->v[0].kind != V_REG) return;
  if (mx__base_is(s->mnemonic->text, "testp"))
    *guard = IR_NONE;
  else if (mx__base_is(s->mnemonic->text, "set") && vs->v[0].type != MX_T_none)
    leave(l, s, *guard, vs->v[0].reg);
}
